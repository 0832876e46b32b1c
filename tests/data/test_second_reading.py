"""A second reading of the released layouts, with its own BM25, vectors and measures, against mteb's tasks and ours.

Written from the layouts and the papers: pandas and json read the files, BM25 is that of bm25s, vectors are those of
sentence-transformers, measures those of ir-measures, scikit-learn and SciPy. It uses no reader, search or protocol of
the package.
"""

from __future__ import annotations

import importlib.util
import io
import json
import math
import re
import types
from pathlib import Path

import bm25s
import ir_measures
import mteb
import numpy as np
import pandas as pd
import pytest
import released_layouts
from datasets import Dataset, DatasetDict
from ir_measures import AP, R, nDCG
from scipy.stats import pearsonr
from sentence_transformers import SentenceTransformer
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, v_measure_score
from sklearn.neighbors import NearestNeighbors
from Stemmer import Stemmer

from patent_mteb.models.loading import load
from patent_mteb.report import upstream

pytestmark = pytest.mark.slow
CUTS = {"ndcg_at_10": nDCG @ 10, "ndcg_at_100": nDCG @ 100, "recall_at_20": R @ 20, "recall_at_100": R @ 100}
MORE = {"map_at_10": AP @ 10}


def patenteb(name, split="test"):
    return pd.read_parquet(io.BytesIO(released_layouts.files_of(f"datalyes/{name}")[f"{split}/data.parquet"]))


class BM25:
    """The library of the papers, k1 1.5 and b .75; a document without a word of the query is not found."""

    least = 0.0

    def words(self, texts):
        settings = {"stopwords": "en", "stemmer": Stemmer("english"), "show_progress": False}
        return bm25s.tokenize(list(texts), return_ids=False, **settings)

    def similarities(self, queries, documents):
        index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        index.index(self.words(documents), show_progress=False)
        return np.stack([index.get_scores(words) for words in self.words(queries)])


class Vectors:
    least = -math.inf

    def __init__(self, folder):
        self.model = SentenceTransformer(str(folder), device="cpu")

    def encode(self, texts):
        vectors = np.asarray(self.model.encode(list(texts)), np.float64)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def similarities(self, queries, documents):
        return self.encode(queries) @ self.encode(documents).T


def measured(system, queries, corpus, qrels, measures):
    """Return each score, and its bounds over all orders of documents whose similarities differ by single precision.

    ``corpus`` maps a document to its sections; the best one counts.
    """
    owners = [name for name, sections in corpus.items() for _ in sections]
    texts = [text for sections in corpus.values() for text in sections]
    asking = [query for query in queries if query in qrels]
    similarities = system.similarities([queries[query] for query in asking], texts)
    found = []
    for share in (0, -1e-6, 1e-6):
        run = {}
        for query, row in zip(asking, similarities, strict=True):
            run[query] = {}
            for owner, value in zip(owners, row.tolist(), strict=True):
                if value > system.least:
                    moved = value + (share if owner in qrels[query] else 0)
                    run[query][owner] = max(moved, run[query].get(owner, moved))
        found.append(ir_measures.calc_aggregate(list(measures.values()), qrels, run))
    return {name: tuple(scores[one] for scores in found) for name, one in measures.items()}


def dapfam(system, query_fields, corpus_fields, domain, query_join, title_join, join):
    """One pair of texts of DAPFAM; ``domain`` is empty for all relations."""
    files = released_layouts.files_of(released_layouts.DAPFAM)
    documents, asked, relations = (
        pd.read_parquet(io.BytesIO(files[f"{name}.parquet"])) for name in ("corpus", "queries", "qrels_all")
    )
    queries = {row.query_id: query_join.join(getattr(row, name) for name in query_fields) for row in asked.itertuples()}
    corpus = {
        row.relevant_id: [row.title_en + title_join + join.join(getattr(row, name) for name in corpus_fields[1:])]
        for row in documents.itertuples()
    }
    qrels = {}
    for row in relations[relations.relevance_score > 0].itertuples():
        if domain in ("", row.domain_rel):
            qrels.setdefault(row.query_id, {})[row.relevant_id] = 1
    return measured(system, queries, corpus, qrels, CUTS | MORE)


def citations(system, name):
    table, qrels = patenteb(name), {}
    queries = dict(zip(table.q, table.q_text, strict=True))
    corpus = {
        key: [text] for role in ("pos", "neg") for key, text in zip(table[role], table[f"{role}_text"], strict=True)
    }
    for row in table.itertuples():
        qrels.setdefault(row.q, {})[row.pos] = 1
    return measured(system, queries, corpus, qrels, CUTS | MORE)


def fragments(system, name, query, document):
    table = patenteb(name)
    queries = dict(zip(table.q, table[query], strict=True))
    corpus = {key: [text] for key, text in zip(table.q, table[document], strict=True)}
    return measured(system, queries, corpus, {key: {key: 1} for key in queries}, CUTS | MORE)


def patentmap(system, query_section, sections):
    files = released_layouts.files_of(released_layouts.PATENTMAP)

    def read(name):
        found = {}
        for line in files[f"perf200/content/{name}.json"].decode().splitlines():
            record = json.loads(line)
            content = record["Content"]

            def joined(start, separator, content=content):
                words = separator.join(text for name, text in sorted(content.items()) if name.startswith(start))
                return " ".join(words.split(" ")[:500])

            found[str(record["dnum"])] = {
                "abstract": f"{content['title']} [SEP] {content.get('pa01', '')}",
                "claim": joined("c-en-", "\n"),
                "invention": joined("p0", " "),
            }
        return found

    grades = {"X": 3, "Y": 2, "A": 1}
    gold = json.loads(files["perf200/mapping/gold.json"])
    graded = {query: {str(one["cited_id"]): grades[one["type"]] for one in cited} for query, cited in gold.items()}
    qrels = {query: dict.fromkeys(cited, 1) for query, cited in graded.items()}
    queries = {key: content[query_section] for key, content in read("queries").items()}
    corpus = {key: [content[name] for name in sections] for key, content in read("documents").items()}
    names = {"graded_ndcg_at_10": nDCG @ 10, "graded_ndcg_at_100": nDCG @ 100}
    return measured(system, queries, corpus, qrels, CUTS) | measured(system, queries, corpus, graded, names)


def retrieval(system):
    """(our task, measure) -> score; measures as the result names them."""
    found = {}
    fields = {"TA": ("title_en", "abstract_en"), "TAC": ("title_en", "abstract_en", "claims_text")}
    fields["FullText"] = (*fields["TAC"], "description_en")
    for query in ("TA", "TAC"):
        for corpus in ("TA", "TAC", "FullText"):
            for domain in ("", "In", "Out"):
                name = f"PatentDAPFAM{query}To{corpus}{domain}Retrieval"
                texts = fields[query], fields[corpus], domain.upper()
                found[name] = dapfam(system, *texts, " ", " ", " ")
                found[f"{name}.mteb"] = dapfam(system, *texts, "\n", " ", "\n")
    for name in ("IN", "MIXED", "OUT"):
        found[f"PatenTEBRetrieval{name}"] = citations(system, f"retrieval_{name}")
    for task, name, query, document in (
        ("Title2Full", "title2full", "title", "full_text"),
        ("Problem2Full", "problem2full", "problem", "full_text"),
        ("Problem2Solution", "problem2solution", "problem", "solution"),
        ("Effect2Full", "effect2full", "effect", "full_text"),
        ("Effect2Substance", "effect2substance", "effect", "substance"),
    ):
        found[f"PatenTEB{task}"] = fragments(system, name, query, document)
    found["PatentMapAbsToAbsRetrieval"] = patentmap(system, "abstract", ("abstract",))
    found["PatentMapClmToAllRetrieval"] = patentmap(system, "claim", ("abstract", "claim", "invention"))
    return {(task, f"paper_{name}"): value for task, scores in found.items() for name, value in scores.items()}


def frozen(vectors):
    """The scores of the tasks on frozen vectors."""
    found = {}
    for task, name in (("ParaProblem", "para_problem"), ("ParaSolution", "para_solution")):
        table = patenteb(name)
        cosines = (vectors.encode(table.text1) * vectors.encode(table.text2)).sum(axis=1)
        found[f"PatenTEB{task}", "cosine_pearson"] = pearsonr(cosines, table.label).statistic
    for task, name, columns in (
        ("Text2IPC3", "class_text2ipc3", ["text"]),
        ("Bloom", "class_bloom", ["text"]),
        ("NLIOldNew", "class_nli_oldnew", ["q_text", "t_text"]),
    ):
        train, test = patenteb(name, "train"), patenteb(name)
        left, right = (np.hstack([vectors.encode(table[column]) for column in columns]) for table in (train, test))
        model = LogisticRegression(C=1.0, max_iter=10_000, random_state=0).fit(left, train.label)
        found[f"PatenTEB{task}", "macro_f1"] = f1_score(test.label, model.predict(right), average="macro")
    for task, name in (("FullIPC", "clusters_ext_full_ipc"), ("Inventor", "clusters_inventor")):
        table = patenteb(name)
        model = MiniBatchKMeans(table.cluster_id.nunique(), batch_size=16_384, random_state=42, n_init="auto")
        found[f"PatenTEB{task}Clustering", "v_measure"] = v_measure_score(
            table.cluster_id, model.fit_predict(vectors.encode(table.text).astype(np.float32))
        )
    files = released_layouts.files_of(released_layouts.PATENTMAP)
    train, test = (pd.read_csv(io.BytesIO(files[f"IPC-Classification/{part}_512.csv"])) for part in ("train", "test"))
    train, test = (table[table.section == "abstract"] for table in (train, test))
    labels = [[set(re.findall(r"[A-H]\d\d[A-Z]", codes)) for codes in table.ipcr_labels] for table in (train, test)]
    classes = sorted(set().union(*labels[0]))
    known, true = (np.array([[name in row for name in classes] for row in rows], float) for rows in labels)
    neighbours = NearestNeighbors(n_neighbors=10, metric="cosine").fit(vectors.encode(train.text))
    shares = known[neighbours.kneighbors(vectors.encode(test.text), return_distance=False)].mean(axis=1)
    order = np.argsort(-shares, axis=1, kind="stable")
    for k in (1, 3, 5):
        hits = np.take_along_axis(true, order[:, :k], axis=1).sum(axis=1) / k
        found["PatentMapIPCClassification", f"paper_knn_precision_at_{k}"] = hits.mean()
    return found


def scores_of(model, names):
    tasks = mteb.get_tasks(tasks=list(names))
    report = mteb.evaluate(model, tasks, cache=None, co2_tracker=False, show_progress_bar=False)
    return {one.task_name: next(iter(one.scores.values()))[0] for one in report.task_results}


def theirs(name):
    """Our task on the texts of one of mteb's own."""
    views = {"TA": "TitlAbs", "TAC": "TitlAbsClm", "FullText": "FullText"}
    query, corpus, domain = re.fullmatch(r"PatentDAPFAM(\w+?)To(\w+?)(In|Out|)Retrieval\.mteb", name).groups()
    return f"DAPFAM{domain or 'All'}{views[query]}To{views[corpus]}Retrieval"


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """The word vectors of wordllama as a checkpoint."""
    pytest.importorskip("wordllama")
    example = Path(__file__).parents[2] / "examples" / "static_model.py"
    spec = importlib.util.spec_from_file_location("static_model", example)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("static")
    module.main(folder)
    return folder


@pytest.mark.parametrize("kind", ["BM25", "vectors"])
def test_a_second_reading_mteb_and_ours_agree(published, static, monkeypatch, kind):
    files = released_layouts.files_of(released_layouts.DAPFAM)
    tables = {"corpus": "corpus", "queries": "queries", "relations": "qrels_all"}
    monkeypatch.setattr(
        "mteb.tasks.retrieval.eng.dapfam_patent_retrieval.load_dataset",
        lambda path, config, **_: Dataset.from_pandas(pd.read_parquet(io.BytesIO(files[f"{tables[config]}.parquet"]))),
    )
    if kind == "BM25":
        second = retrieval(BM25())
        ours = their_model = load("patent-mteb/bm25-bm25s")  # mteb's own appends documents without a word
    else:
        vectors = Vectors(static)
        second = retrieval(vectors) | {name: (value,) * 3 for name, value in frozen(vectors).items()}
        ours, their_model = load(str(static), device="cpu"), SentenceTransformer(str(static), device="cpu")
    tasks = dict.fromkeys(task for task, _ in second)
    own = {task: theirs(task) for task in tasks if task.endswith(".mteb")}
    measured_here, measured_by_mteb = scores_of(ours, tasks), scores_of(their_model, own.values())
    pairs = [(measured_here[task][name], bounds) for (task, name), bounds in second.items()]
    pairs += [
        (measured_by_mteb[own[task]][name.removeprefix("paper_")], bounds)
        for (task, name), bounds in second.items()
        if task in own
    ]
    values = np.array([(value, *bounds) for value, bounds in pairs])
    value, plain, low, high = values.T
    assert not values[(value < low - 1e-5) | (value > high + 1e-5)].tolist()
    tied = np.abs(value - plain) > 1e-5
    assert tied.sum() <= (0.05 * len(values) if kind == "BM25" else 0)
    assert len(own) == 18 and len(values) == (36 + 8 + 18) * 5 + 2 * 6 + (0 if kind == "BM25" else 10)


@pytest.mark.parametrize("path", upstream.TASK_FILES)
def test_the_classes_for_mteb_give_the_papers_scores(static, published, monkeypatch, path):
    """The files of ``publish mteb``, run as mteb's own tasks, against our tasks and their ``paper_`` scores."""
    module = types.ModuleType("upstream_task")
    exec(compile(upstream.task_file(path), path, "exec"), module.__dict__)

    def load_dataset(path, revision, split=None, **_):
        rows = Dataset.from_pandas(patenteb(path.partition("/")[2]))
        return rows if split else DatasetDict(test=rows)

    for holder in (module, mteb.abstasks.abstask):
        monkeypatch.setattr(holder, "load_dataset", load_dataset, raising=False)
    ours = upstream.TASK_FILES[path][1]
    names = [kind.metadata.name for kind in ours]
    here = scores_of(load(str(static), device="cpu"), names)
    tasks = [getattr(module, name)() for name in names]
    assert all(task.metadata.is_filled() for task in tasks)
    model = SentenceTransformer(str(static), device="cpu")
    report = mteb.evaluate(model, tasks, cache=None, co2_tracker=False, show_progress_bar=False)
    for result in report.task_results:
        (theirs,) = result.scores["test"]
        main = theirs["main_score"]
        own = here[result.task_name]
        name = mteb.get_task(result.task_name).metadata.main_score
        assert 0 < abs(main) < 1 and main == pytest.approx(own.get(f"paper_{name}", own[name]), abs=1e-5)
    assert len(report.task_results) == len(names)
