"""PatenTEB: fifteen tasks on text fragments and whole patents (``datalyes/*``; "PatenTEB", §3-5).

Each task reads one published table. The retrieval sets are released as rows; following the paper's evaluator and the one
independent harness that reproduced its scores, the corpus is the union of the documents of all rows by id, and every
(query, positive) row is a judgement.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset
from mteb.abstasks.sts import AbsTaskSTS

from patent_mteb import files
from patent_mteb.data.sources import Source
from patent_mteb.errors import DataError
from patent_mteb.metrics import slices
from patent_mteb.models.prompts import TASK_PROMPTS
from patent_mteb.protocols import multi_hot
from patent_mteb.protocols.clustering import minibatch_cluster
from patent_mteb.protocols.intervals import limits, macro_f1_interval, pearson_interval, v_measure_interval
from patent_mteb.protocols.linear_probe import logistic_regression_f1
from patent_mteb.tasks.base import PatentTask, make_task, task_metadata
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import (
    ids_of,
    label_names,
    refuse_constant,
    refuse_contradictions,
    refuse_trivial_clusters,
    refuse_truncated,
    refuse_unscorable,
    say,
    say_leakage,
    say_unseen,
    texts_of,
)
from patent_mteb.tasks.frozen import FrozenTask
from patent_mteb.tasks.pairs import PairTask
from patent_mteb.tasks.paper import without_self
from patent_mteb.tasks.patenteb_specs import (
    CLASSES,
    CLUSTERS,
    PARAPHRASES,
    RETRIEVAL,
    CitationSpec,
    ClassSpec,
    ClusterSpec,
    FragmentSpec,
    ParaphraseSpec,
    Spec,
)
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

logger = logging.getLogger(__name__)

FACTS = Facts(
    name="PatenTEB",
    description="Fifteen retrieval, classification, paraphrase and clustering tasks on patent texts and their fragments.",
    reference="https://arxiv.org/abs/2510.22264",
    bibtex=r"""@misc{ayaou2025patenteb,
  archiveprefix = {arXiv},
  author = {Iliass Ayaou and Denis Cavallucci},
  eprint = {2510.22264},
  primaryclass = {cs.CL},
  title = {PatenTEB: A Comprehensive Benchmark and Model Family for Patent Text Embedding},
  year = {2025},
}""",
    license="cc-by-nc-sa-4.0",
    date=("1980-01-01", "2023-06-20"),
    prefix="PatenTEB",
    headline="PatenTEBRetrievalMIXED",
    domain_tasks={"PatenTEBRetrievalMIXED": {"in": "PatenTEBRetrievalIN", "out": "PatenTEBRetrievalOUT"}},
    prompt_rows=tuple(TASK_PROMPTS.items()),
    paper="patenteb",
)


def _table(source: Source, split: str, required: Iterable[str]) -> tuple[Path, pa.Table]:
    """Path and table of a split.

    Raises:
        DataError: missing file or column, or no row.
    """
    path = source.path(f"{split}/data.parquet")
    table = files.read_parquet(path, list(required))
    if table.num_rows == 0:
        raise DataError("the table is empty", path=path, remedy="download the file again")
    refuse_truncated(source, f"{split}/data.parquet", table.num_rows)
    return path, table


class CitationRetrieval(PatentRetrieval):
    """Retrieval of cited patents inside, across and outside the query's IPC3 classes (§3).

    nDCG@10 is the main score. A patent is removed from its own ranking should it occur in the corpus. The paper's evaluator
    (sentence-transformers' ``InformationRetrievalEvaluator``) does not do so: ``paper_ndcg_at_10`` is its score.
    """

    facts = FACTS
    spec: CitationSpec
    slice_measures = ("ndcg@10",)

    def load_tables(self) -> RetrievalTables:
        path, table = _table(self.source, "test", ("q", "pos", "neg", "q_text", "pos_text", "neg_text"))
        ids = {role: ids_of(table, role, path, optional=role == "neg") for role in ("q", "pos", "neg")}
        alone = sum(query == document for query, document in zip(ids["q"], ids["pos"], strict=True))
        say(path, {f"of {table.num_rows} rows have no negative": ids["neg"].count(""), "rows judge a query by itself (ignored)": alone})
        queries: dict[str, str] = {}
        corpus: dict[str, str] = {}
        whole: slices.Qrels = {}
        changed: Counter[str] = Counter()
        for role, target in (("q", queries), ("pos", corpus), ("neg", corpus)):
            texts = texts_of(table, f"{role}_text", path) if any(ids[role]) else []
            for key, text in zip(ids[role], texts, strict=False):
                if key and not target.get(key):
                    target[key] = text
                changed[role] += bool(key and text and target[key] != text)
        for query, document in zip(ids["q"], ids["pos"], strict=True):
            whole.setdefault(query, {})[document] = 1
        qrels = without_self(whole)
        refuse_unscorable(qrels, path, "every row has the query itself as its positive")
        for role, number in changed.items():
            if number:
                logger.warning("%s: %d rows give another text for a known id in column %s; the first is kept", path, number, role)
        return RetrievalTables(
            corpus=corpus,
            queries=queries,
            qrels=qrels,
            hidden={query: frozenset((query,)) for query in queries if query in corpus},
            paper_qrels=whole,
        )


class FragmentRetrieval(PatentRetrieval):
    """Retrieval of the text that a fragment was taken from, or of its counterpart (§3): one document a row.

    nDCG@10 is the main score. Rows with the same id and the same text are one document; the same text under another id stays
    a document of its own, as in the paper's evaluator, and is counted, because no model can tell the two apart. Slices by the
    query's first IPC3 class where the data names it.
    """

    facts = FACTS
    spec: FragmentSpec
    slice_measures = ("ndcg@10",)

    def load_tables(self) -> RetrievalTables:
        spec = self.spec
        path, table = _table(self.source, "test", ("q", spec.query, spec.document))
        keys = ids_of(table, "q", path)
        fragments, documents = texts_of(table, spec.query, path), texts_of(table, spec.document, path)
        queries: dict[str, str] = {}
        corpus: dict[str, str] = {}
        qrels: slices.Qrels = {}
        ipc3: dict[str, str] = {}
        first = _ipc3_of(table) or [""] * len(keys)
        for key, fragment, text, code in zip(keys, fragments, documents, first, strict=True):
            query = _enter(queries, key, fragment)
            qrels.setdefault(query, {})[_enter(corpus, key, text)] = 1
            ipc3[query] = code
        repeated = len(corpus) - len(set(corpus.values()))
        if repeated:
            logger.warning("%s: %d of %d documents repeat the text of another one", path, repeated, len(corpus))
        parts = slices.by_query(qrels, lambda query: f"ipc3_{ipc3[query]}" if ipc3[query] else None)
        return RetrievalTables(corpus, queries, qrels, slices=dict(sorted(parts.items())))


def _enter(texts: dict[str, str], key: str, text: str) -> str:
    """Enter a text under its id, or, if the id has another text already, under the id with a number behind it."""
    name, number = key, 1
    while texts.setdefault(name, text) != text:
        number += 1
        name = f"{key}#{number}"
    return name


@dataclass(frozen=True)
class LabelledRows:
    """Texts by part, their labels by split, the prompt side of each part, and the IPC3 class of each test row if known."""

    texts: dict[str, list[str]]
    labels: dict[str, list[str]]
    roles: dict[str, str] = field(default_factory=dict)
    ipc3: tuple[str, ...] = ()


def _ipc3_of(table: pa.Table) -> tuple[str, ...]:
    if "first_ipcr3" not in table.column_names:
        return ()
    return tuple(str(code or "").lower() for code in table["first_ipcr3"].to_pylist())


class Classification(FrozenTask):
    """Logistic regression of Table 14, fitted on the ``train`` split; macro F1 (eq. 10) on ``test``.

    Of two texts the embeddings are concatenated, [u; v], each encoded with the prompt of its side. Where the data names the
    first IPC3 class, ``ipc3_<class>_macro_f1`` is the macro F1 within the class. ``macro_f1_low`` and ``macro_f1_high`` are its 95%
    interval over test rows (:mod:`patent_mteb.protocols.intervals`).
    """

    facts = FACTS
    spec: ClassSpec

    def load_split(self) -> LabelledRows:
        texts: dict[str, list[str]] = {}
        labels: dict[str, list[str]] = {}
        roles: dict[str, str] = {}
        ipc3: tuple[str, ...] = ()
        ids: dict[str, list[tuple[str, ...]]] = {}
        for split in ("train", "test"):
            path, table = _table(self.source, split, ("label", *self.spec.texts))
            labels[split] = label_names(table["label"].to_pylist(), "label", path)
            refuse_constant(labels[split], path, f"rows of the {split} split")
            keys = [ids_of(table, name, path) for name in ("q", "t")[: len(self.spec.texts)] if name in table.column_names]
            ids[split] = list(zip(*keys, strict=True))
            for column, role in zip(self.spec.texts, ("query", "document"), strict=False):
                texts[f"{split} {column}"] = texts_of(table, column, path)
                if len(self.spec.texts) > 1:
                    roles[f"{split} {column}"] = role
            ipc3 = _ipc3_of(table)
        rows = {split: list(zip(*(texts[f"{split} {column}"] for column in self.spec.texts), strict=True)) for split in labels}
        say_leakage({"id": (ids["train"], ids["test"]), "text": (rows["train"], rows["test"])}, path)
        say_unseen(set(labels["test"]), set(labels["train"]), path)
        return LabelledRows(texts, labels, roles, ipc3)

    def score(self, embeddings: Mapping[str, np.ndarray], data: LabelledRows) -> dict[str, Any]:
        from sklearn.metrics import accuracy_score, f1_score

        parts = {split: np.hstack([embeddings[f"{split} {column}"] for column in self.spec.texts]) for split in ("train", "test")}
        probe = logistic_regression_f1(parts["train"], data.labels["train"], parts["test"], data.labels["test"])
        if not probe.converged:
            logger.warning("%s: the logistic regression did not converge", self.metadata.name)
        true, predicted = np.array(data.labels["test"]), np.array(probe.predicted)
        scores: dict[str, Any] = {
            "macro_f1": probe.macro_f1,
            **limits("macro_f1", macro_f1_interval(*(multi_hot([[one] for one in names], list(probe.f1)) for names in (true, predicted)))),
            "n_test": len(true),
            "n_classes": len(set(data.labels["test"])),
            "accuracy": float(accuracy_score(true, predicted)),
            "converged": int(probe.converged),
            **{f"f1_{label}": value for label, value in probe.f1.items()},
        }
        if data.ipc3 and self.spec.texts != ("text",):
            codes = np.array(data.ipc3)
            for code in sorted(set(data.ipc3) - {""}):
                rows = codes == code
                scores[f"ipc3_{code}_macro_f1"] = float(f1_score(true[rows], predicted[rows], average="macro", zero_division=0))
                scores[f"ipc3_{code}_n_pairs"] = int(rows.sum())
                scores[f"ipc3_{code}_n_classes"] = len(set(true[rows]))
        return scores


class Paraphrase(PairTask, AbsTaskSTS):
    """Pearson correlation of cosine similarity and the binary label (eq. 9), computed by mteb's STS evaluation; its 95% interval over
    pairs is ``cosine_pearson_low`` and ``_high``.

    Where a first IPC3 class has pairs of both labels, ``ipc3_<class>_cosine_pearson`` is the correlation within it.
    """

    facts = FACTS
    spec: ParaphraseSpec
    min_score = 0
    max_score = 1

    def load_split(self) -> Dataset:
        path, table = _table(self.source, "test", ("text1", "text2", "label"))
        labels = label_names(table["label"].to_pylist(), "label", path)
        for row, label in enumerate(labels, start=1):
            if label not in ("0", "1"):
                raise DataError(f"label '{label}' is neither 0 nor 1", path=path, row=row, remedy="correct the label")
        refuse_constant(labels, path, "pairs")
        if {"q", "t"} <= set(table.column_names):
            pairs = list(zip(ids_of(table, "q", path), ids_of(table, "t", path), strict=True))
            refuse_contradictions(pairs, labels, path, "pair")
        first, second = texts_of(table, "text1", path), texts_of(table, "text2", path)
        self._ipc3 = np.array(_ipc3_of(table))
        return Dataset.from_dict({"sentence1": first, "sentence2": second, "score": [float(label) for label in labels]})

    def score_pairs(self, scores: Any, labels: list[float]) -> Any:
        found: dict[str, Any] = dict(super().score_pairs(scores, labels))
        of_pairs, cosines = np.array(labels), np.array(scores["cosine_scores"], dtype=float)
        found |= limits("cosine_pearson", pearson_interval(of_pairs, cosines))
        found |= {"n_test": len(labels), "n_classes": len(set(labels))}
        for code in sorted(set(self._ipc3.tolist()) - {""}):
            rows = self._ipc3 == code
            if of_pairs[rows].std() and cosines[rows].std():
                found[f"ipc3_{code}_cosine_pearson"] = float(np.corrcoef(of_pairs[rows], cosines[rows])[0, 1])
                found[f"ipc3_{code}_n_pairs"] = int(rows.sum())
        return found


class Clustering(FrozenTask):
    """V-measure (eq. 11) of MiniBatchKMeans with batches of 16,384, random state 42 and the true number of clusters (Table 14);
    ``v_measure_low`` and ``v_measure_high`` are its 95% interval over texts."""

    facts = FACTS
    spec: ClusterSpec

    def load_split(self) -> LabelledRows:
        path, table = _table(self.source, "test", ("text", "cluster_id"))
        labels = label_names(table["cluster_id"].to_pylist(), "cluster_id", path)
        refuse_trivial_clusters(labels, path)
        return LabelledRows({"test": texts_of(table, "text", path)}, {"test": labels})

    def score(self, embeddings: Mapping[str, np.ndarray], data: LabelledRows) -> dict[str, Any]:
        found = minibatch_cluster(embeddings["test"], data.labels["test"])
        return {
            "v_measure": found.v_measure,
            **limits("v_measure", v_measure_interval(data.labels["test"], found.assigned)),
            "ari": found.ari,
            "nmi": found.nmi,
            "n_clusters": found.clusters,
            "n_test": len(data.labels["test"]),
            "n_classes": found.classes,
        }


_KINDS: dict[type[Spec], tuple[type[PatentTask], str, str]] = {
    CitationSpec: (CitationRetrieval, "Retrieval", "ndcg_at_10"),
    FragmentSpec: (FragmentRetrieval, "Retrieval", "ndcg_at_10"),
    ClassSpec: (Classification, "Classification", "macro_f1"),
    ParaphraseSpec: (Paraphrase, "STS", "cosine_pearson"),
    ClusterSpec: (Clustering, "Clustering", "v_measure"),
}


def _task(spec: Spec) -> type[PatentTask]:
    base, kind, main_score = _KINDS[type(spec)]
    prompt = {"query": spec.instruction} if kind == "Retrieval" else spec.instruction
    metadata = task_metadata(FACTS, spec.data, spec.name, kind, spec.description, main_score, prompt=prompt, text_parts=spec.parts)
    return make_task(base, __name__, metadata, data=spec.data, spec=spec)


BENCHMARK = PatentBenchmark(
    FACTS,
    {
        title: tuple(_task(spec) for spec in specs)
        for title, specs in (("Retrieval", RETRIEVAL), ("Classification", CLASSES), ("Paraphrase", PARAPHRASES), ("Clustering", CLUSTERS))
    },
)
