"""PatenTEB: fifteen tasks on text fragments and whole patents (``datalyes/*``; "PatenTEB", §3-5).

Each task reads one published table (§3, Table 1). The retrieval sets are published as rows. As in the paper's evaluator
and in the one independent harness that reproduced its scores, the corpus is the union of the documents of all rows by
id, and every (query, positive) row is a judgement.
"""

from __future__ import annotations

import csv
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset
from mteb.abstasks.sts import AbsTaskSTS

from patent_mteb import files
from patent_mteb._mteb import PairHooks
from patent_mteb.data.loading import DataSet, Source
from patent_mteb.errors import DataError
from patent_mteb.metrics import slices
from patent_mteb.models.prompts import TASK_PROMPTS
from patent_mteb.protocols import (
    effective_rows,
    limits,
    macro_f1_interval,
    multi_hot,
    pearson_interval,
    v_measure_interval,
)
from patent_mteb.protocols.clustering import SEEDS, minibatch_cluster
from patent_mteb.protocols.linear_probe import logistic_regression_f1
from patent_mteb.published import citation
from patent_mteb.search.vectors import Checked
from patent_mteb.tasks import checks
from patent_mteb.tasks.base import PatentTask, make_task
from patent_mteb.tasks.benchmark import (
    BY_TITLE,
    LANDSCAPE,
    OTHER_FIELDS,
    PRIOR_ART,
    SAME_FIELD,
    SORTING,
    Facts,
    PatentBenchmark,
)
from patent_mteb.tasks.evidence import KEY, predictions_record
from patent_mteb.tasks.frozen import FrozenTask, encode_texts
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

logger = logging.getLogger(__name__)

FULL = ("title", "abstract", "claim")  # the sections of the text of a whole patent, joined by ``[SEP]`` (§3)


@dataclass(frozen=True)
class Spec:
    """A row of ``patenteb.csv``; ``query`` and ``document`` are columns of fragments, ``texts`` those to classify.

    The revision is a pinned commit, if the data set's card names it, else the branch ``main``.
    """

    name: str
    table: str
    query: str = ""
    document: str = ""
    texts: tuple[str, ...] = ("text",)
    revision: str = "main"
    description: str = ""
    instruction: str = ""

    @property
    def data(self) -> DataSet:
        return DataSet(f"datalyes/{self.table}", "patenteb", self.revision, gated=True, file="test/data.parquet")

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The sections of the texts of each role, in order; a text whose title is the query is without it (§3)."""
        if self.table.startswith("para_"):
            return {"text": (self.table.removeprefix("para_"),)}
        if not self.query:
            return {"query": FULL, "document": FULL, "text": FULL}
        full_text = FULL[1:] if self.query == "title" else FULL
        return {"query": (self.query,), "document": full_text if self.document == "full_text" else (self.document,)}


_ROWS = csv.DictReader(Path(__file__).with_suffix(".csv").read_text("utf-8").splitlines())
_SPECS = [(row.pop("group"), Spec(**row | {"texts": tuple(row["texts"].split())})) for row in _ROWS]
RETRIEVAL, CLASSES, PARAPHRASES, CLUSTERS = (
    tuple(spec for its, spec in _SPECS if its == group)
    for group in ("Retrieval", "Classification", "Paraphrase", "Clustering")
)

FACTS = Facts(
    name="PatenTEB",
    description=(
        "Fifteen retrieval, classification, paraphrase and clustering tasks on patent texts and their fragments."
    ),
    reference="https://arxiv.org/abs/2510.22264",
    bibtex=citation("ayaou2025patenteb"),
    license="cc-by-nc-sa-4.0",
    date=("1980-01-01", "2023-06-20"),
    prefix="PatenTEB",
    headline="PatenTEBRetrievalMIXED",
    jobs={
        PRIOR_ART: ("PatenTEBRetrievalMIXED", ""),
        SAME_FIELD: ("PatenTEBRetrievalIN", ""),
        OTHER_FIELDS: ("PatenTEBRetrievalOUT", ""),
        BY_TITLE: ("PatenTEBTitle2Full", ""),
        SORTING: ("PatenTEBText2IPC3", ""),
        LANDSCAPE: ("PatenTEBFullIPCClustering", ""),
    },
    domain_tasks={"PatenTEBRetrievalMIXED": {"in": "PatenTEBRetrievalIN", "out": "PatenTEBRetrievalOUT"}},
    prompt_rows=tuple(TASK_PROMPTS.items()),
    paper="patenteb",
)


def _table(source: Source, split: str, required: Iterable[str]) -> tuple[Path, pa.Table]:
    path = source.path(f"{split}/data.parquet")
    table = files.read_parquet(path, list(required))
    if table.num_rows == 0:
        raise DataError("the table is empty", path=path, remedy="download the file again")
    checks.refuse_truncated(source, f"{split}/data.parquet", table.num_rows)
    return path, table


class CitationRetrieval(PatentRetrieval):
    """Retrieval of cited patents inside, across and outside the query's IPC3 classes (§3).

    The main score is nDCG@10. A query in the corpus is excluded from its own ranking. The paper's evaluator
    (sentence-transformers' ``InformationRetrievalEvaluator``) does not exclude it: ``paper_ndcg_at_10`` is its score.
    """

    spec: Spec
    slice_measures = ("ndcg@10",)

    def load_tables(self) -> RetrievalTables:
        path, table = _table(self.source, "test", ("q", "pos", "neg", "q_text", "pos_text", "neg_text"))
        ids = {role: checks.ids_of(table, role, path, optional=role == "neg") for role in ("q", "pos", "neg")}
        counts = Counter({f"of {table.num_rows} rows have no negative": ids["neg"].count("")})
        counts["rows judge a query by itself (ignored)"] = sum(map(eq, ids["q"], ids["pos"]))
        checks.log_counts(path, counts)
        queries: dict[str, str] = {}
        corpus: dict[str, str] = {}
        qrels: slices.Qrels = {}
        changed: Counter[str] = Counter()
        for role, target in (("q", queries), ("pos", corpus), ("neg", corpus)):
            texts = checks.texts_of(table, f"{role}_text", path) if any(ids[role]) else []
            for key, text in zip(ids[role], texts, strict=False):
                if key and not target.get(key):
                    target[key] = text
                changed[role] += bool(key and text and target[key] != text)
        for query, document in zip(ids["q"], ids["pos"], strict=True):
            qrels.setdefault(query, {})[document] = 1
        other = "rows have another text for a known id in column {}; the first is used"
        checks.log_counts(path, {other.format(role): number for role, number in changed.items()})
        hidden = {query: frozenset((query,)) for query in queries if query in corpus}
        return RetrievalTables(corpus, queries, qrels, hidden=hidden)


class FragmentRetrieval(PatentRetrieval):
    """Retrieval of the source text of a fragment, or of its counterpart (§3): one document per row.

    The main score is nDCG@10. Rows with the same id and text are one document. The same text under another id is
    another document, as in the paper's evaluator; these are counted, because no model can distinguish them. Slices are
    by the query's first IPC3 class, if the data have it.
    """

    spec: Spec
    slice_measures = ("ndcg@10",)

    def load_tables(self) -> RetrievalTables:
        spec = self.spec
        path, table = _table(self.source, "test", ("q", spec.query, spec.document))
        keys = checks.ids_of(table, "q", path)
        fragments, documents = checks.texts_of(table, spec.query, path), checks.texts_of(table, spec.document, path)
        queries: dict[str, str] = {}
        corpus: dict[str, str] = {}
        qrels: slices.Qrels = {}
        ipc3: dict[str, str] = {}
        first = _ipc3_of(table) or [""] * len(keys)
        for key, fragment, text, code in zip(keys, fragments, documents, first, strict=True):
            query = _enter(queries, key, fragment)
            qrels.setdefault(query, {})[_enter(corpus, key, text)] = 1
            ipc3[query] = code
        if repeated := len(corpus) - len(set(corpus.values())):
            logger.warning("%s: %d of %d documents repeat the text of another one", path, repeated, len(corpus))
        parts = slices.by_query(qrels, lambda query: f"ipc3_{ipc3[query]}" if ipc3[query] else None)
        return RetrievalTables(corpus, queries, qrels, slices=dict(sorted(parts.items())))


def _enter(texts: dict[str, str], key: str, text: str) -> str:
    """Add a text under its id, with a number appended if the id has another text already; return the id."""
    name, number = key, 1
    while texts.setdefault(name, text) != text:
        number += 1
        name = f"{key}#{number}"
    return name


@dataclass(frozen=True)
class LabelledRows:
    """Texts and roles by part, labels by split, and IPC3 classes of test rows."""

    texts: dict[str, list[str]]
    labels: dict[str, list[str]]
    roles: dict[str, str] = field(default_factory=dict)
    ipc3: tuple[str, ...] = ()


def _ipc3_of(table: pa.Table) -> tuple[str, ...]:
    codes = table["first_ipcr3"].to_pylist() if "first_ipcr3" in table.column_names else ()
    return tuple(str(code or "").lower() for code in codes)


Row = tuple[tuple[str, ...], str, tuple[str, ...]]  # ids, label and texts of a row


class Classification(FrozenTask):
    """Logistic regression of Table 14, fitted on the ``train`` split; macro F1 (eq. 10) on ``test``.

    The embeddings of two texts are concatenated, [u; v], each encoded with the prompt of its role. If the data have the
    first IPC3 class, ``ipc3_<class>_macro_f1`` is the macro F1 within the class. ``macro_f1_low`` and
    ``macro_f1_high`` are the 95% interval over test rows, ``n_effective`` the rows that decide it
    (:mod:`patent_mteb.protocols`).
    """

    scoring = "classification 2"  # since version 2 intervals are the jackknife's
    spec: Spec
    ipc3: tuple[str, ...] = ()

    def read_rows(self) -> Mapping[str, tuple[Path, Sequence[Row]]]:
        """Return the rows of the splits ``train`` and ``test``, each with the file that errors name."""
        parts = {}
        for split in ("train", "test"):
            path, table = _table(self.source, split, ("label", *self.spec.texts))
            labels = checks.label_names(table["label"].to_pylist(), "label", path)
            names = [name for name in ("q", "t")[: len(self.spec.texts)] if name in table.column_names]
            ids = list(zip(*(checks.ids_of(table, name, path) for name in names), strict=True)) or [()] * len(labels)
            texts = zip(*(checks.texts_of(table, column, path) for column in self.spec.texts), strict=True)
            parts[split] = path, list(zip(ids, labels, texts, strict=True))
        self.ipc3 = _ipc3_of(table)
        return parts

    def load_split(self) -> LabelledRows:
        parts, columns = self.read_rows(), self.spec.texts
        texts: dict[str, list[str]] = {}
        labels: dict[str, list[str]] = {}
        roles: dict[str, str] = {}
        for split, (path, rows) in parts.items():
            labels[split] = [label for _, label, _ in rows]
            checks.refuse_constant(labels[split], path, f"rows of the {split} split")
            texts |= {f"{split} {name}": [row[2][place] for row in rows] for place, name in enumerate(columns)}
            if len(columns) > 1:
                roles |= {f"{split} {columns[0]}": "query", f"{split} {columns[1]}": "document"}
        (_, train), (path, test) = parts["train"], parts["test"]
        for word, place in (("id", 0), ("text", 2)):
            checks.check_leakage([row[place] for row in train], [row[place] for row in test], word, path)
        checks.check_unseen_labels(set(labels["test"]), set(labels["train"]), path)
        return LabelledRows(texts, labels, roles, self.ipc3)

    def score(self, embeddings: Mapping[str, np.ndarray], data: LabelledRows) -> dict[str, Any]:
        from sklearn.metrics import accuracy_score, f1_score

        parts = {
            split: np.hstack([embeddings[f"{split} {column}"] for column in self.spec.texts])
            for split in ("train", "test")
        }
        probe = logistic_regression_f1(parts["train"], data.labels["train"], parts["test"], data.labels["test"])
        if not probe.converged:
            logger.warning("%s: the logistic regression did not converge", self.metadata.name)
        true, predicted = np.array(data.labels["test"]), np.array(probe.predicted)
        matrices = [multi_hot([[one] for one in names], list(probe.f1)) for names in (true, predicted)]
        scores: dict[str, Any] = {
            "macro_f1": probe.macro_f1,
            **limits("macro_f1", macro_f1_interval(*matrices)),
            "n_test": len(true),
            "n_classes": len(set(data.labels["test"])),
            "n_effective": effective_rows(matrices[0].sum(axis=0)),
            "accuracy": float(accuracy_score(true, predicted)),
            "converged": int(probe.converged),
            **{f"f1_{label}": value for label, value in probe.f1.items()},
        }
        if data.ipc3 and self.spec.texts != ("text",):
            codes = np.array(data.ipc3)
            for code in sorted(set(data.ipc3) - {""}):
                rows = codes == code
                found = f1_score(true[rows], predicted[rows], average="macro", zero_division=0)
                scores[f"ipc3_{code}_macro_f1"] = float(found)
                scores[f"ipc3_{code}_n_pairs"] = int(rows.sum())
                scores[f"ipc3_{code}_n_classes"] = len(set(true[rows]))
        return scores


class Paraphrase(PairHooks, PatentTask, AbsTaskSTS):
    """Pearson correlation of cosine similarity with a binary label (eq. 9), computed by mteb's STS evaluation.

    ``cosine_pearson_low`` and ``_high`` are its 95% interval over pairs, ``n_rarer_label`` the pairs of the rarer
    label. If an IPC3 class has pairs of both labels, ``ipc3_<class>_cosine_pearson`` is the correlation within it.
    """

    scoring = "similarity 3"  # since version 3 the result counts the pairs of the rarer label
    group = "ipc3"
    spec: Spec
    min_score = 0
    max_score = 1

    def texts_by_role(self, data_split: Any) -> Mapping[str, Iterable[str]]:
        return {"text": chain(data_split["sentence1"], data_split["sentence2"])}

    def evaluate_split(self, model: Any, data_split: Any, **arguments: Any) -> Any:
        scores = super().evaluate_split(Checked(model, single=True), data_split, **arguments)
        return {**scores, KEY: {"texts": self.texts_evidence(data_split), **scores[KEY]}}

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        for name in ("sentence1", "sentence2"):
            encode_texts(model, data_split[name], self.metadata, **arguments)

    def load_split(self) -> Dataset:
        path, table = _table(self.source, "test", ("text1", "text2", "label"))
        labels = checks.label_names(table["label"].to_pylist(), "label", path)
        for row, label in enumerate(labels, start=1):
            if label not in ("0", "1"):
                raise DataError(f"label '{label}' is neither 0 nor 1", path=path, row=row, remedy="correct the label")
        checks.refuse_constant(labels, path, "pairs")
        if {"q", "t"} <= set(table.column_names):
            pairs = list(zip(checks.ids_of(table, "q", path), checks.ids_of(table, "t", path), strict=True))
            checks.refuse_contradictions(pairs, labels, path, "pair")
        first, second = checks.texts_of(table, "text1", path), checks.texts_of(table, "text2", path)
        self._groups = np.array(_ipc3_of(table))
        return Dataset.from_dict({"sentence1": first, "sentence2": second, "score": [float(label) for label in labels]})

    def score_pairs(self, scores: Any, labels: list[float]) -> Any:
        found: dict[str, Any] = dict(super().score_pairs(scores, labels))
        found[KEY] = {"predictions": predictions_record(scores["cosine_scores"])}
        of_pairs, cosines = np.array(labels), np.array(scores["cosine_scores"], dtype=float)
        found |= limits("cosine_pearson", pearson_interval(of_pairs, cosines))
        _, pairs_of_label = np.unique(of_pairs, return_counts=True)
        found |= {"n_test": len(labels), "n_classes": len(pairs_of_label), "n_rarer_label": int(pairs_of_label.min())}
        for code in sorted(set(self._groups.tolist()) - {""}):
            rows = self._groups == code
            if of_pairs[rows].std() and cosines[rows].std():
                found[f"{self.group}_{code}_cosine_pearson"] = float(np.corrcoef(of_pairs[rows], cosines[rows])[0, 1])
                found[f"{self.group}_{code}_n_pairs"] = int(rows.sum())
        return found


class Clustering(FrozenTask):
    """V-measure (eq. 11) of MiniBatchKMeans with the true number of clusters.

    Batches have 16,384 texts, and the random state of the score is 42 (Table 14). ``v_measure_seeds_mean`` and
    ``v_measure_seeds_std`` are over ``n_seeds`` random states from 42 on. ``v_measure_low`` and ``v_measure_high`` are
    the 95% interval over texts and random states.
    """

    scoring = "clustering 3"  # since version 3 intervals hold the variation of random states
    spec: Spec

    def load_split(self) -> LabelledRows:
        path, table = _table(self.source, "test", ("text", "cluster_id"))
        labels = checks.label_names(table["cluster_id"].to_pylist(), "cluster_id", path)
        checks.refuse_trivial_clusters(labels, path)
        return LabelledRows({"test": checks.texts_of(table, "text", path)}, {"test": labels})

    def score(self, embeddings: Mapping[str, np.ndarray], data: LabelledRows) -> dict[str, Any]:
        found, *others = (minibatch_cluster(embeddings["test"], data.labels["test"], seed=seed) for seed in SEEDS)
        of_seeds = [found.v_measure, *(other.v_measure for other in others)]
        return {
            "v_measure": found.v_measure,
            **limits("v_measure", v_measure_interval(data.labels["test"], found.assigned, of_seeds)),
            "v_measure_seeds_mean": float(np.mean(of_seeds)),
            "v_measure_seeds_std": float(np.std(of_seeds, ddof=1)),
            "ari": found.ari,
            "nmi": found.nmi,
            "n_clusters": found.clusters,
            "n_test": len(data.labels["test"]),
            "n_classes": found.classes,
            "n_seeds": len(SEEDS),
        }


def _tasks(specs: Iterable[Spec], base: type[PatentTask], kind: str, main_score: str) -> tuple[type[PatentTask], ...]:
    tasks = []
    for spec in specs:
        prompt = {"query": spec.instruction} if kind == "Retrieval" else spec.instruction
        described = (spec.name, kind, spec.description, main_score, {"spec": spec})
        tasks.append(make_task(base, FACTS, spec.data, *described, prompt=prompt, text_parts=spec.parts))
    return tuple(tasks)


BENCHMARK = PatentBenchmark(
    FACTS,
    {
        "Retrieval": (
            *_tasks(RETRIEVAL[:3], CitationRetrieval, "Retrieval", "ndcg_at_10"),
            *_tasks(RETRIEVAL[3:], FragmentRetrieval, "Retrieval", "ndcg_at_10"),
        ),
        "Classification": _tasks(CLASSES, Classification, "Classification", "macro_f1"),
        "Paraphrase": _tasks(PARAPHRASES, Paraphrase, "STS", "cosine_pearson"),
        "Clustering": _tasks(CLUSTERS, Clustering, "Clustering", "v_measure"),
    },
)
