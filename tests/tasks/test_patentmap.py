"""The PatentMap tasks: texts and tags, best section, graded scores, section shares, classification, bad data."""

from __future__ import annotations

import json
import logging
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from searching import corpus_of, ranking, run_of
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from small_world import Words, evaluate, world

from patent_mteb.errors import AccessError, DataError, ModelError
from patent_mteb.models.section_tags import reads_section_tags, with_section_tags
from patent_mteb.recipes.patentmap import DATA_SET, Params, build
from patent_mteb.search.bm25 import BM25, BM25Settings
from patent_mteb.search.cache import Cached
from patent_mteb.search.engine import engine
from patent_mteb.search.passages import Passages
from patent_mteb.search.sections import BestSection
from patent_mteb.search.splitting import Sections
from patent_mteb.tasks import patentmap

TASKS = patentmap.BENCHMARK.task_classes
BY_NAME = {task.metadata.name: task for task in TASKS}
ABS, CLM, IPC = (f"PatentMap{name}" for name in ("AbsToAbsRetrieval", "ClmToAllRetrieval", "IPCClassification"))
FREE = {
    "query_offices": (), "query_first_year": None, "query_last_year": None,
    "ipc_offices": (), "ipc_first_year": None, "ipc_last_year": None,
}  # fmt: skip


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The family's directory in $PATENT_MTEB_DATA; documents lack abstract, claims or description here and there."""
    folder = tmp_path / "data"
    patents, citations = world(150)
    nothing = type(patents[0].description)()
    lacks = {1: {"claims": ()}, 2: {"description": nothing}, 3: {"abstract": ""}, 4: {"claims": (), "description": nothing}}
    for i, p in enumerate(patents[:100]):
        claims_for_abstract = {"abstract": " ".join(claim.text for claim in p.claims)} if i % 5 == 4 else {}
        patents[i] = _with(p, **(lacks.get(i % 5, {}) | claims_for_abstract))
    build(patents, citations, folder, Params(queries=30, small=3, mlt=40, same_subclass=5, **FREE))
    monkeypatch.setenv("PATENT_MTEB_DATA", str(folder))
    return folder / DATA_SET


def _with(record, **fields):
    return type(record)(**{name: fields.get(name, getattr(record, name)) for name in type(record).__slots__})


def run(name, model=None):
    return evaluate(BY_NAME[name](), model or Words())


def contents(root, file):
    path = root / "perf200" / "content" / f"{file}.json"
    return {row["dnum"]: row["Content"] for row in map(json.loads, path.read_text().splitlines())}


def gold(root):
    return json.loads((root / "perf200" / "mapping" / "gold.json").read_text())


def views(content, tags=False):
    """The three section texts of a patent, written anew."""
    tag = {name: f"[{name}] " if tags else "" for name in ("abstract", "claim", "invention")}
    claims = " ".join(text for name, text in sorted(content.items()) if name.startswith("c-en-"))
    description = " ".join(text for name, text in sorted(content.items()) if name.startswith("p0"))
    abstract = content["title"] + (f" [SEP] {tag['abstract']}{content['pa01']}" if "pa01" in content else "")
    return [abstract, claims and tag["claim"] + claims, description and tag["invention"] + description]


def naive(root, query_view, document_views, tags=False):
    """Full rankings by the best cosine, and the number of the best section."""
    model = Words()
    run_, best = {}, {}
    documents = {key: views(content, tags) for key, content in contents(root, "documents").items()}
    for query, content in contents(root, "queries").items():
        ours = model.vector(views(content, tags)[query_view])
        run_[query], best[query] = {}, {}
        for key, texts in documents.items():
            scores = {i: float(np.float32(ours @ model.vector(texts[i]))) for i in document_views if texts[i]}
            best[query][key] = max(scores, key=scores.get)
            run_[query][key] = max(scores.values())
    return run_, best


def test_three_tasks():
    assert list(BY_NAME) == [ABS, CLM, IPC]
    assert [task.metadata.main_score for task in TASKS] == ["recall_at_100", "recall_at_100", "knn_precision_at_1"]
    assert all(task.metadata.is_filled() for task in TASKS)
    assert {name: len(tasks) for name, tasks in patentmap.BENCHMARK.groups.items()} == {"Retrieval": 2, "Classification": 1}


@pytest.mark.parametrize("tags", [False, True])
@pytest.mark.parametrize(("name", "query", "sections"), [(ABS, 0, (0,)), (CLM, 1, (0, 1, 2))])
def test_retrieval_scores_are_those_of_a_naive_evaluation(root, name, query, sections, tags):
    run_, best = naive(root, query, sections, tags)
    model = with_section_tags(Words()) if tags else Words()
    scores = run(name, model)
    binary = {q: {entry["cited_id"]: 1 for entry in entries} for q, entries in gold(root).items()}
    graded = {q: {entry["cited_id"]: 1 + (entry["type"] != "A") for entry in entries} for q, entries in gold(root).items()}
    expected = pytrec_eval.RelevanceEvaluator(binary, {"recall.20,50,100"}).evaluate(run_)
    for k in (20, 50, 100):
        assert scores[f"recall_at_{k}"] == pytest.approx(np.mean([v[f"recall_{k}"] for v in expected.values()]), abs=1e-5)
    expected = pytrec_eval.RelevanceEvaluator(graded, {"ndcg_cut.10,20,50,100"}).evaluate(run_)
    for k in (10, 20, 50, 100):
        assert scores[f"graded_ndcg_at_{k}"] == pytest.approx(np.mean([v[f"ndcg_cut_{k}"] for v in expected.values()]), abs=1e-6)
    only_x = {q: kept for q, judged in graded.items() if (kept := {d: 1 for d, gain in judged.items() if gain == 2})}
    expected = pytrec_eval.RelevanceEvaluator(only_x, {"recall.20"}).evaluate(run_)
    assert scores["xy_recall_at_20"] == pytest.approx(np.mean([v["recall_20"] for v in expected.values()]), abs=1e-6)
    assert scores["main_score"] == scores["recall_at_100"] and 0.1 < scores["recall_at_20"] < 1
    if name == CLM:
        counts = np.zeros(3)
        for q, found in run_.items():
            for document in sorted(found, key=lambda d: (found[d], d), reverse=True)[:100]:
                counts[best[q][document]] += 1
        shares = [scores[f"section_share_{section}"] for section in ("abstract", "claim", "invention")]
        assert shares == pytest.approx(counts / counts.sum()) and (counts > 0).all()
    else:
        assert not any(key.startswith("section_share") for key in scores)


def test_texts_that_reach_the_encoder(root):
    model = Words()
    run(ABS, model)
    run(CLM, model)
    documents, queries = contents(root, "documents"), contents(root, "queries")
    expected = {text for content in documents.values() for text in views(content) if text}
    expected |= {views(content)[i] for content in queries.values() for i in (0, 1)}
    assert model.seen.keys() == expected
    assert not any("[claim]" in text for text in model.seen)
    tagged = Words()
    run(CLM, with_section_tags(tagged))
    expected = {text for content in documents.values() for text in views(content, True) if text}
    assert tagged.seen.keys() == expected | {views(content, True)[1] for content in queries.values()}


def test_sections_are_cut_to_500_words():
    row = {
        "title": "T",
        "pa01": "a " * 600,
        "c-en-0002": "d e",
        "c-en-0001": "b c\n" * 249 + "x",
        "p0010": "last",
        "p0002": "g " * 498,
        "p0001": "f",
        "other": "no",
        "page": "no",
    }
    content = _content(row)
    assert content.section("abstract", True) == "T [SEP] [abstract] " + " ".join(["a"] * 500)
    assert content.section("claim", False) == " ".join(["b c"] * 249 + ["x d"])
    assert content.section("invention", True) == "[invention] f " + " ".join(["g"] * 498) + " last"
    assert _content({"title": "T"}).section("abstract", True) == "T" and _content({"title": "T"}).section("claim", True) == ""
    assert _content({"pa01": "a", "title": None}).section("abstract", False) == "a"


def _content(row):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text(json.dumps({"dnum": "1", "Content": row}) + "\n\n")
        return patentmap.read_content(path)["1"]


def test_best_section_equals_the_passage_wrapper(root):
    expected = run(CLM, Passages(Words(), splitter=Sections("sections")))
    found = run(CLM)
    same = [key for key in found if key.startswith(("recall", "ndcg", "map", "graded", "xy_", "a_"))]
    assert len(same) > 30
    for key in same:
        assert found[key] == pytest.approx(expected[key], abs=1e-6), key
    lexical, by_passages = run(CLM, BM25(BM25Settings())), run(CLM, Passages(BM25(BM25Settings()), splitter=Sections("sections")))
    assert lexical["recall_at_20"] == pytest.approx(by_passages["recall_at_20"], abs=1e-5)
    assert "section_share_claim" in lexical


def test_passages_read_the_sections_in_a_cache_as_without_it(root):
    model = Passages(Words(), splitter=Sections("sections"))
    expected, found = run(CLM, model), run(CLM, Cached(model))
    assert found == pytest.approx(expected, nan_ok=True)


class Numbers:
    """A search model whose texts are their own scores; notes how many rows it is asked for."""

    mteb_model_meta = Words().mteb_model_meta

    def index(self, corpus, **kwargs):
        self.texts = dict(zip(corpus["id"], corpus["text"], strict=True))

    def search(self, queries, *, top_k, top_ranked=None, **kwargs):
        self.asked = top_k
        allowed = self.texts if top_ranked is None else top_ranked["q"]
        ranked = sorted(allowed, key=lambda row: float(self.texts[row]), reverse=True)[:top_k]
        return {"q": {row: float(self.texts[row]) for row in ranked}}


FOUR = corpus_of(
    dict.fromkeys("abcd", ""), sections=[["1", "5", "2"], ["4", "", "4"], ["3", " ", ""], ["", "", ""]]
)  # d has no text in any section


def test_best_section_by_hand():
    fixed = Numbers()
    search = BestSection(fixed)
    run = run_of(search, FOUR, {"q": "any"}, 2)
    assert run.to_dict() == {"q": {"a": 5.0, "b": 4.0}}
    assert fixed.asked == 6
    assert run.parts.tolist() == [[1, 0]]  # of the two best sections of b the first
    assert ranking(search, FOUR, {"q": "any"}, 9, {"q": ["b", "c", "d"]}) == {"q": {"b": 4.0, "c": 3.0}}
    assert search.mteb_model_meta is fixed.mteb_model_meta
    assert engine(search) is search


def test_best_section_leaves_hidden_documents_out_with_all_their_sections():
    fixed = Numbers()
    run = run_of(BestSection(fixed), FOUR, {"q": "any"}, 2, hidden={"q": {"a", "d", "nowhere"}})
    assert run.to_dict() == {"q": {"b": 4.0, "c": 3.0}}
    assert run.parts.tolist() == [[0, 0]]
    assert fixed.asked == 6 + 3  # the three sections of a
    candidates = {"q": ["a", "c"]}
    assert run_of(BestSection(Numbers()), FOUR, {"q": "any"}, 2, hidden={"q": {"a"}}, top_ranked=candidates).to_dict() == {"q": {"c": 3.0}}
    nothing = run_of(BestSection(Numbers()), FOUR, {"q": "any"}, 2, top_ranked={"q": ["d"]})
    assert nothing.to_dict() == {"q": {}}
    assert nothing.parts.shape == nothing.docs.shape


def test_winning_sections_are_those_of_a_loop_and_ties_go_by_document():
    draw = np.random.default_rng(0)
    sections = {f"d{i:02}": [str(draw.integers(0, 9)) if draw.random() < 0.7 else "" for _ in range(3)] for i in range(60)}
    corpus = corpus_of(dict.fromkeys(sections, ""), sections=list(sections.values()))
    run = run_of(BestSection(Numbers()), corpus, {"q": "any"}, 25)
    best = {key: max((float(text), -place) for place, text in enumerate(own) if text) for key, own in sections.items() if any(own)}
    expected = sorted(best, key=lambda key: (best[key][0], key), reverse=True)[:25]
    assert list(run.to_dict()["q"].items()) == [(key, best[key][0]) for key in expected]
    assert run.parts[0].tolist() == [-best[key][1] for key in expected]


def test_section_tags_are_part_of_the_identity():
    plain = Words()
    tagged, untagged = with_section_tags(plain), with_section_tags(plain, False)
    names = {model.mteb_model_meta.experiment_name for model in (plain, tagged, untagged)}
    assert len(names) == 3
    assert [reads_section_tags(model.mteb_model_meta) for model in (plain, tagged, untagged)] == [False, True, False]
    assert tagged.seen is plain.seen
    ours = Words("ZoeYou/PatentMap-V0-SecPair-Claim")
    assert reads_section_tags(ours.mteb_model_meta)
    with pytest.raises(ModelError, match="trained with section tags"):
        with_section_tags(ours, False)


def test_one_task_serves_models_with_and_without_tags(root):
    task = BY_NAME[CLM]()
    plain = evaluate(task, Words())
    tagged = evaluate(task, with_section_tags(Words()))
    again = evaluate(task, Words())
    assert plain["recall_at_20"] == again["recall_at_20"]
    assert plain["graded_ndcg_at_10"] != tagged["graded_ndcg_at_10"]


def test_odd_judgements_are_counted(root, caplog):
    path = root / "perf200" / "mapping" / "gold.json"
    found = gold(root)
    first, second, third = sorted(found)[:3]
    n = len(found[first])
    found[first] += [
        {"cited_id": "XX1", "type": "X"},
        {"cited_id": min(contents(root, "documents")), "type": "Q"},
        {"cited_id": second, "type": "L"},
    ]
    found[second] = [{"cited_id": "XX2", "type": "A"}]
    del found[third]
    path.write_text(json.dumps(found))
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        scores = run(ABS)
    for text in (
        "2 citations of documents that are not in the pool",
        "1 citations with a category that no search report uses",
        "1 citations without a category X, Y or A",
        "2 queries without a relevant document",
    ):
        assert text in caplog.text
    assert scores["n_queries"] == 28 and n > 0


def test_a_query_without_claims_leaves_claims_to_all_only(root, caplog):
    path = root / "perf200" / "content" / "queries.json"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["Content"] = {name: text for name, text in rows[0]["Content"].items() if not name.startswith("c-en")}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        assert run(CLM)["n_queries"] == 29
    assert "1 of 30 queries have no claim and are left out" in caplog.text
    assert run(ABS)["n_queries"] == 30


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"row 1: malformed JSON"),
        ('{"Content": {}}', "row 1: .*'dnum' is missing"),
        ('{"dnum": 7.5, "Content": {}}', "row 1: .*dnum is no text and no number"),
        ('{"dnum": "7", "Content": {"pa01": ["x"]}}', "row 1: .*'pa01' is no text"),
        ('{"dnum": "7", "Content": {}}\n{"dnum": "7", "Content": {"title": "x"}}', r"row 2: '7' occurs twice \(first in row 1\)"),
        ("", "the file is empty"),
    ],
)
def test_content_that_cannot_be_used(tmp_path, line, message):
    path = tmp_path / "documents.json"
    path.write_text(line + "\n")
    with pytest.raises(DataError, match=message):
        patentmap.read_content(path)


def test_gold_that_cannot_be_used(root):
    path = root / "perf200" / "mapping" / "gold.json"
    path.write_text(json.dumps({"XX9": [{"cited_id": "a", "type": "X"}]}))
    with pytest.raises(DataError, match="no judgement is positive"):
        run(ABS)
    path.write_text("[1]")
    with pytest.raises(DataError, match="not of the form"):
        run(ABS)


# --- classification ----------------------------------------------------------------------------------------------------------


def parts(root):
    return {name: pq.read_table(root / "IPC-Classification" / f"{name}.parquet").to_pylist() for name in ("train", "test")}


def test_classification_scores_are_those_of_scikit_learn(root):
    for name, rows in parts(root).items():  # more labels, two a patent for some
        for i, row in enumerate(rows):
            row["ipc"] = [*row["ipc"], "G06F 3/01"] if i % 3 == 0 else row["ipc"]
        pq.write_table(pa.Table.from_pylist(rows), root / "IPC-Classification" / f"{name}.parquet")
    scores = run(IPC)
    model = Words()
    texts = {name: [" [SEP] ".join((row["title"], row["abstract"])) for row in rows] for name, rows in parts(root).items()}
    x = {name: np.stack([model.vector(text) for text in own]) for name, own in texts.items()}
    labels = {name: [{code[:4] for code in row["ipc"]} for row in rows] for name, rows in parts(root).items()}
    binarizer = MultiLabelBinarizer().fit(labels["train"])
    y = {name: binarizer.transform(sets) for name, sets in labels.items()}

    def precision(decisions, k):
        return np.mean([y["test"][i][np.argsort(-row, kind="stable")[:k]].sum() / k for i, row in enumerate(decisions)])

    neighbours = KNeighborsClassifier(10, metric="cosine", algorithm="brute").fit(x["train"], y["train"])
    table = neighbours.kneighbors(x["test"], return_distance=False)
    logistic = OneVsRestClassifier(LogisticRegression(C=1.0, tol=1e-8, max_iter=5000)).fit(x["train"], y["train"])
    for k in (1, 3, 5):
        assert scores[f"knn_precision_at_{k}"] == pytest.approx(precision(y["train"][table].mean(axis=1), k), abs=1e-9)
        assert scores[f"linear_precision_at_{k}"] == pytest.approx(precision(logistic.decision_function(x["test"]), k), abs=1e-9)
        assert 0 < scores[f"mlp_precision_at_{k}"] <= 1 and 0 < scores[f"knn_tuned_precision_at_{k}"] <= 1
    assert scores["main_score"] == scores["knn_precision_at_1"] > 0.5
    assert scores["knn_tuned_k"] in (1, 3, 5, 10, 20)
    assert scores["n_classes"] == len(binarizer.classes_) == 7
    assert scores["n_train"] == len(x["train"]) and scores["n_test"] == len(x["test"]) and scores["n_unseen_labels"] == 0
    assert run(IPC) == scores


def test_labels_that_training_lacks_and_codes_that_cannot_be_read(root, caplog):
    rows = parts(root)["test"]
    rows[0]["ipc"] = ["A01B 1/00", "A01B 3/00", "B60T 8/17"]
    rows[1]["ipc"] = ["B60T 8/17", "no code", "B60"]
    rows[2]["ipc"] = ["no code"]
    pq.write_table(pa.Table.from_pylist(rows), root / "IPC-Classification" / "test.parquet")
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        scores = run(IPC)
    assert scores["n_unseen_labels"] == 1 and scores["n_test"] == len(rows) - 1
    assert "3 IPC codes of the test part cannot be read" in caplog.text
    assert "1 patents of the test part have no text or no subclass and are left out" in caplog.text
    assert "labels of the test split occur in no training row: A01B" in caplog.text


def test_classification_texts_carry_tags_for_models_that_read_them(root):
    model = Words()
    run(IPC, with_section_tags(model))
    with_abstract = [text for text in model.seen if "[SEP]" in text]
    assert with_abstract and all("[SEP] [abstract] " in text for text in with_abstract)


def test_classification_data_that_cannot_be_used(root):
    test = root / "IPC-Classification" / "test.parquet"
    rows = parts(root)
    pq.write_table(pa.Table.from_pylist([*rows["test"], rows["train"][0]]), test)
    with pytest.raises(DataError, match=r"occurs twice \(first in the train part\)"):
        run(IPC)
    pq.write_table(pa.Table.from_pylist(rows["test"]).drop_columns(["ipc"]), test)
    with pytest.raises(DataError, match="column 'ipc' is missing"):
        run(IPC)


def test_descriptive_statistics(root):
    task = BY_NAME[IPC]()
    (found,) = task.calculate_descriptive_statistics(overwrite_results=True).values()
    n = sum(map(len, parts(root).values()))
    assert found["num_samples"] == n


def test_hub_needs_a_connection(monkeypatch):
    monkeypatch.delenv("PATENT_MTEB_DATA", raising=False)
    for name in (ABS, IPC):
        with pytest.raises(AccessError, match="ZoeYou/downstream at revision main is not in the local cache"):
            BY_NAME[name]().load_data()
