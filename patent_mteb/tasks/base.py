"""What the tasks of all families share: metadata from facts, resolution of the data, slices, exclusions, per-query scores."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from datasets import Dataset
from mteb.abstasks import AbsTask
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata

from patent_mteb import queryscores, sources
from patent_mteb.errors import DataError, ModelError
from patent_mteb.fingerprint import cache_root
from patent_mteb.metrics import ranking
from patent_mteb.models.exclusion import Excluding
from patent_mteb.slices import Qrels
from patent_mteb.tasks import fast
from patent_mteb.tasks.inscope_scores import inscope_scores

logger = logging.getLogger(__name__)

__all__ = [
    "Family",
    "PatentRetrieval",
    "PatentTask",
    "PatentTaskMetadata",
    "RetrievalTables",
    "class_name",
    "make_task",
    "sample_twin",
    "task_metadata",
]

SPLIT = "test"


class PatentTaskMetadata(TaskMetadata):
    """mteb's metadata, with descriptive statistics kept in the user cache (mteb would write them into its own installation)."""

    @property
    def descriptive_stat_path(self) -> Path:
        return cache_root() / "descriptive_stats" / f"{self.name}.json"


@dataclass(frozen=True)
class Family:
    """What all tasks of one family share. ``name`` and ``description`` are also those of the family's benchmark, which reports the
    spread of its task scores if ``spread``."""

    name: str
    description: str
    reference: str
    bibtex: str
    license: str | None
    date: tuple[str, str]
    annotations: str = "derived"
    sample_creation: str = "found"
    split: str = SPLIT
    spread: bool = False


def task_metadata(
    family: Family, data: sources.DataSet, name: str, kind: str, description: str, main_score: str, **more: Any
) -> PatentTaskMetadata:
    """Complete mteb metadata of one task.

    Args:
        kind: mteb's task type, such as ``Retrieval``.
        more: fields of mteb's ``TaskMetadata`` that differ from the family's, such as ``task_subtypes`` or ``adapted_from``.
    """
    fields: dict[str, Any] = {
        "name": name,
        "description": description,
        "reference": family.reference,
        "dataset": {"path": data.key, "revision": data.revision or "unreleased"},
        "type": kind,
        "category": "t2t" if kind in ("Retrieval", "STS") else "t2c",
        "modalities": ["text"],
        "eval_splits": [family.split],
        "eval_langs": ["eng-Latn"],
        "main_score": main_score,
        "date": family.date,
        "domains": ["Engineering", "Legal", "Written"],
        "task_subtypes": ["Patent retrieval"] if kind == "Retrieval" else [],
        "license": family.license,
        "annotations_creators": family.annotations,
        "dialect": [],
        "sample_creation": family.sample_creation,
        "bibtex_citation": family.bibtex,
    }
    return PatentTaskMetadata(**(fields | more))


@lru_cache(maxsize=64)
def _log_once(task_key: str, place: str) -> None:
    logger.info("%s: data from %s", task_key, place)


class PatentTask(AbsTask):
    """Resolves the task's data when it is created; the data itself is read when it is first needed.

    A task that was resolved to the sample is named ``<Task>.sample``; its data set revision and subset say which data it was
    (see :mod:`patent_mteb.sources`).
    """

    data: ClassVar[sources.DataSet]
    family: ClassVar[Family]
    force_sample: ClassVar[bool] = False

    def __init__(self, seed: int = 42, source: sources.Source | None = None, **kwargs: Any) -> None:
        kind = type(self)
        self.source = source or sources.resolve(kind.data, True if kind.force_sample else None)
        base = kind.metadata.name.removesuffix(".sample")
        languages: Any = ["eng-Latn"] if self.source.subset == "default" else {self.source.subset: ["eng-Latn"]}
        self.metadata = kind.metadata.model_copy(
            update={
                "name": base + self.source.task_suffix,
                "dataset": {**kind.metadata.dataset, "revision": self.source.revision},
                "eval_langs": languages,
            }
        )
        super().__init__(seed, **kwargs)

    @property
    def split(self) -> str:
        """The one split this task is scored on."""
        return type(self).family.split

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        """Read, check and prepare the data.

        Raises:
            DataError: the data cannot be had or cannot be used.
        """
        if self.data_loaded:
            return
        _log_once(self.source.data.key, self.source.place)
        self.dataset = {self.source.subset: {self.split: self.load_split()}}
        self.data_loaded = True

    def unload_data(self) -> None:
        """Let the data go. What the task was resolved to stays: mteb would fall back to the class's metadata here, and file the next
        score on the sample under the name of the real task."""
        resolved = self.metadata
        super().unload_data()
        self.metadata = resolved

    def load_split(self) -> Any:
        """The data of the task's split, in the form that ``_evaluate_subset`` takes."""
        raise NotImplementedError

    def _push_dataset_to_hub(self, *args: Any, **kwargs: Any) -> None:
        raise DataError("the suite does not upload data sets", remedy="publish data under their own licence, by hand")


def check_embeddings(embeddings: Any, n_texts: int, task: str, model: str) -> np.ndarray:
    """Embeddings as a float32 matrix of shape (n_texts, dims).

    Raises:
        ModelError: wrong shape, NaN or infinity; names the model and the task.
    """
    if hasattr(embeddings, "detach"):
        embeddings = embeddings.detach().cpu().float().numpy()
    matrix = np.asarray(embeddings)
    if matrix.ndim != 2 or len(matrix) != n_texts or matrix.shape[1] == 0:
        raise ModelError(f"model {model} gave embeddings of shape {matrix.shape} for the {n_texts} texts of task {task}")
    if matrix.dtype != np.float32:
        matrix = matrix.astype(np.float32)
    broken = int((~np.isfinite(matrix).all(axis=1)).sum())
    if broken:
        raise ModelError(f"model {model} gave NaN or infinite embeddings for {broken} of {n_texts} texts of task {task}")
    return matrix


@dataclass(frozen=True)
class RetrievalTables:
    """What a retrieval task is made of, as its family's loader gives it.

    ``exclusions`` holds the documents that a query must not retrieve (its own family), ``slices`` the judgements of each
    named slice, ``unformed`` the slices that the data cannot form, with the reason, and ``codes`` the IPC codes of documents and
    queries where they are known.
    """

    corpus: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Qrels
    slices: Mapping[str, Qrels] = field(default_factory=dict)
    exclusions: Mapping[str, Set[str]] = field(default_factory=dict)
    unformed: Mapping[str, str] = field(default_factory=dict)
    document_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    query_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    document_columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class PatentRetrieval(PatentTask, AbsTaskRetrieval):
    """Retrieval scored as mteb scores it (by its own machinery or, with the same results, by :mod:`.fast`), with slices.

    A query's excluded documents (its own family) are removed from its ranking before it is scored; the ranking still has full
    depth. Beside mteb's scores the result holds, for every slice, ``<slice>_<measure>_at_<k>`` and ``<slice>_n_queries``.
    """

    slice_measures: ClassVar[tuple[str, ...]] = ("ndcg@10", "ndcg@100", "recall@10", "recall@100", "map@1000", "mrr@10")
    tables: RetrievalTables

    def load_tables(self) -> RetrievalTables:
        """Read the family's tables and compose the texts of this task."""
        raise NotImplementedError

    def load_split(self) -> RetrievalSplitData:
        self.tables = tables = self.load_tables()
        for name, reason in tables.unformed.items():
            logger.warning("%s: slice %s cannot be formed: %s", self.source.data.key, name, reason)
        columns: dict[str, list[Any]] = {"id": list(tables.corpus), "text": list(tables.corpus.values())}
        for name, values in tables.document_columns.items():
            columns[name] = [values[key] for key in tables.corpus]
        scored = {query: judged for query, judged in tables.qrels.items() if any(gain > 0 for gain in judged.values())}
        return RetrievalSplitData(
            corpus=Dataset.from_dict(columns),
            queries=Dataset.from_dict({"id": list(scored), "text": [tables.queries[query] for query in scored]}),
            relevant_docs=scored,
            top_ranked=None,
        )

    def _evaluate_subset(self, model: Any, data_split: Any, **kwargs: Any) -> Any:
        self._model = model
        if fast.applies(self, model, **kwargs):
            return fast.evaluate(self, model, data_split, **kwargs)
        exclusions = self.tables.exclusions
        searched = model.excluding(exclusions) if hasattr(model, "excluding") else Excluding(model, exclusions)
        return super()._evaluate_subset(searched, data_split, **kwargs)

    def task_specific_scores(
        self, scores: Any, qrels: Any, results: dict[str, dict[str, float]], hf_split: str, hf_subset: str
    ) -> dict[str, float]:
        return self.patent_scores(ranking.judged_ranks(results, qrels), qrels, results)

    def patent_scores(self, ranks: ranking.Ranks, qrels: Qrels, results: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        """Scores beside mteb's, by slice and of the family's own kind; writes the per-query scores.

        Args:
            ranks: of the judged documents.
            results: the rankings, ``{query id: {document id: score}}``.
        """
        extra: dict[str, float] = {"n_queries": len(qrels)}
        memberships: dict[str, Set[str]] = {}
        for name, judged in self.tables.slices.items():
            values = ranking.per_query(ranks, judged, self.slice_measures)
            memberships[name] = set(values.queries)
            extra[f"{name}_n_queries"] = len(values.queries)
            for measure, column in values.scores.items():
                if len(column):
                    extra[f"{name}_{measure.replace('@', '_at_')}"] = float(column.mean())
        extra |= self.family_scores(results)
        stage: dict[str, dict[str, float]] | None = getattr(self._model, "first_stage", None)
        if stage:
            measure = f"recall@{self._model.k}"
            recall = ranking.per_query(ranking.judged_ranks(stage, qrels), qrels, (measure,)).scores[measure]
            extra[f"first_stage_{measure.replace('@', '_at_')}"] = float(recall.mean())
        queryscores.save(self, self._model, ranks, qrels, memberships, results)
        return extra

    def family_scores(self, results: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        """Scores of the family's own kind, computed on the same rankings: InScope@k if ``PATENT_MTEB_INSCOPE=1`` and the data has codes."""
        if os.environ.get("PATENT_MTEB_INSCOPE") != "1" or not self.tables.query_codes:
            return {}
        return inscope_scores(results, self.tables.document_codes, self.tables.query_codes)


_Task = TypeVar("_Task", bound=PatentTask)


def class_name(task_name: str) -> str:
    """Python class name of a task name."""
    return task_name.replace(".", "_")


def make_task(base: type[_Task], module: str, metadata: TaskMetadata, **attributes: Any) -> type[_Task]:
    """Create the class of one task of a family's table.

    Args:
        base: the family's task class for this kind of task.
        module: the family's module, where the class must be found again when it is unpickled.
    """
    return type(
        class_name(metadata.name),
        (base,),
        {"__module__": module, "__doc__": metadata.description, "metadata": metadata, **attributes},
    )


def sample_twin(task: type[_Task]) -> type[_Task]:
    """The task's twin that always runs on the built-in sample, under the name ``<Task>.sample``."""
    metadata = task.metadata.model_copy(update={"name": f"{task.metadata.name}.sample"})
    attributes = {"__module__": task.__module__, "__doc__": task.__doc__, "metadata": metadata, "force_sample": True}
    return type(class_name(metadata.name), (task,), attributes)
