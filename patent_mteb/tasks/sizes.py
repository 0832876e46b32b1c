"""How large a task is: counted where its data can be counted, from its paper where only that says it.

``descriptive_stats.json`` beside this module holds mteb's descriptive statistics of every task on the built-in sample, the data that is
here; ``python -m patent_mteb.experiments.describing`` computes them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.data.releases import rows_of
from patent_mteb.files import read_json
from patent_mteb.published.sizes import stated

if TYPE_CHECKING:
    from patent_mteb.tasks.base import PatentTask

__all__ = ["SHIPPED", "Sizes", "shipped", "sizes"]

SHIPPED = Path(__file__).with_name("descriptive_stats.json")


@dataclass(frozen=True)
class Sizes:
    """Queries of a retrieval task, and its texts in all: documents, or the texts of every part of a task of another type. None where
    nobody says it."""

    queries: int | None = None
    texts: int | None = None


@cache
def shipped() -> Mapping[str, Any]:
    """Descriptive statistics by the name of the task.

    Example:
        >>> from patent_mteb.tasks.sizes import shipped
        >>> shipped()["PatentMapAbsToAbsRetrieval.sample"]["test"]["num_queries"]
        25
    """
    found = read_json(SHIPPED)
    return found if isinstance(found, dict) else {}


def sizes(task: type[PatentTask], *, sample: bool = False) -> Sizes:
    """The size of a task: of its sample, or as far as it is known of the published data.

    Example:
        >>> from patent_mteb.tasks.catalogue import find
        >>> from patent_mteb.tasks.sizes import sizes
        >>> sizes(find("DAPFAM").task_classes[0])
        Sizes(queries=1247, texts=45336)
    """
    if sample or task.force_sample:
        name = task.metadata.name if task.force_sample else f"{task.metadata.name}.sample"
        return _counted(shipped().get(name, {}))
    if task.own is not None:
        return Sizes()
    files = ("queries.parquet", "corpus.parquet")
    queries, documents = (rows_of(task.data.key, file) for file in files)
    rows = [rows for part in ("test", "train") if (rows := rows_of(task.data.key, f"{part}/data.parquet"))]
    paper = stated(task.metadata.name)
    return Sizes(queries or paper.queries, documents or sum(rows) or paper.texts)


def _counted(stats: Mapping[str, Any]) -> Sizes:
    parts: Mapping[str, Any] = next(iter(stats.values()), {})
    documents = parts.get("num_documents")
    return Sizes(parts.get("num_queries"), parts.get("num_samples") if documents is None else documents)
