"""mteb's metadata of a task, from the facts of its benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mteb.abstasks.task_metadata import TaskMetadata

from patent_mteb.data import sources
from patent_mteb.files import cache_root
from patent_mteb.tasks.benchmark import Facts
from patent_mteb.tasks.sizes import shipped

__all__ = ["SAMPLED", "PatentTaskMetadata", "task_metadata"]

_INSTRUCTIONS = {
    "Classification": "Given a patent, find its class",
    "MultilabelClassification": "Given a patent, find all categories that it belongs to",
    "Clustering": "Identify the technology that the given patent belongs to",
}
"""What an instruction model is told by a task that says nothing of its own, where mteb would tell it nothing."""


SAMPLED = {"sample_creation": "created", "annotations_creators": "derived", "license": "apache-2.0"}
"""What is true of the built-in sample, whose patents are invented with their labels."""


class PatentTaskMetadata(TaskMetadata):
    """mteb's metadata, with descriptive statistics kept in the user cache (mteb would write them into its own installation).

    Attributes:
        text_parts: the sections of the texts of a role (``query``, ``document`` or ``text``), in order, where they can be told apart: a
            text of one section, or of several with ``[SEP]`` between them. Section tags and input variants read them.
    """

    text_parts: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (pydantic gives each its own)

    @property
    def descriptive_stat_path(self) -> Path:
        return cache_root() / "descriptive_stats" / f"{self.name}.json"

    @property
    def descriptive_stats(self) -> Any:
        """Those that were computed here, else those that the package brings along (:mod:`patent_mteb.tasks.sizes`)."""
        return super().descriptive_stats or shipped().get(self.name)


def task_metadata(
    facts: Facts, data: sources.DataSet, name: str, kind: str, description: str, main_score: str, **more: Any
) -> PatentTaskMetadata:
    """Complete mteb metadata of one task.

    Args:
        kind: mteb's task type, such as ``Retrieval``.
        more: fields of mteb's ``TaskMetadata`` that differ from the benchmark's, such as ``task_subtypes`` or ``adapted_from``;
            ``prompt`` is the instruction for instruction models: ``{"query": ...}`` for retrieval, a sentence elsewhere.

    Example:
        >>> from patent_mteb.tasks.metadata import task_metadata
        >>> from patent_mteb.tasks.catalogue import find
        >>> benchmark = find("DAPFAM")
        >>> made = task_metadata(benchmark.facts, benchmark.data_sets[0], "MyRetrieval", "Retrieval", "Mine.", "ndcg_at_10")
        >>> made.name, made.eval_splits, made.task_subtypes
        ('MyRetrieval', ['train'], ['Patent retrieval'])
    """
    fields: dict[str, Any] = {
        "name": name,
        "description": description,
        "reference": facts.reference,
        "dataset": {"path": data.key, "revision": data.revision or "unreleased"},
        "type": kind,
        "prompt": _INSTRUCTIONS.get(kind),
        "category": "t2t" if kind in ("Retrieval", "STS") else "t2c",
        "modalities": ["text"],
        "eval_splits": [facts.split],
        "eval_langs": ["eng-Latn"],
        "main_score": main_score,
        "date": facts.date,
        "domains": ["Engineering", "Legal", "Written"],
        "task_subtypes": ["Patent retrieval"] if kind == "Retrieval" else [],
        "license": facts.license,
        "annotations_creators": facts.annotations,
        "dialect": [],
        "sample_creation": facts.sample_creation,
        "bibtex_citation": facts.bibtex,
    }
    return PatentTaskMetadata(**(fields | more))
