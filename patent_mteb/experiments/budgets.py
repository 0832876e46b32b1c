"""The memory that a validation or a run takes, as far as it is known before it starts: what does not fit a budget is refused.

What was measured stands in ``benchmarks/README.md``: a fixed amount, and more for each document. What is left over goes to blocks, which
are the smaller the less there is (:mod:`patent_mteb.memory`). Not counted are a model's own weights, and data on the hub.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from mteb.abstasks import AbsTask

from patent_mteb.errors import DataError
from patent_mteb.files import text_lines
from patent_mteb.memory import refuse_beyond
from patent_mteb.tasks.base import PatentTask

__all__ = ["documents_in", "folders_of", "left_for_blocks"]

_LIBRARIES = {"validate": 600_000_000, "run": 900_000_000}
_A_DOCUMENT = 1_700
_LEAST = 200_000_000
"""Bytes of blocks without which nothing goes on."""


def documents_in(folder: Path) -> int:
    """Rows of the largest table below a folder; a file that cannot be read has none.

    Example:
        >>> from patent_mteb.data.sources import sample_root
        >>> from patent_mteb.experiments.budgets import documents_in
        >>> documents_in(sample_root("wipo_at")) > 100
        True
    """
    return max((_rows(path) for path in folder.rglob("*") if path.suffix in (".parquet", ".jsonl")), default=0)


def _rows(path: Path) -> int:
    with contextlib.suppress(OSError, pa.ArrowException, DataError):
        return int(pq.read_metadata(path).num_rows) if path.suffix == ".parquet" else sum(1 for _ in text_lines(path))
    return 0


def folders_of(tasks: Iterable[AbsTask]) -> list[Path]:
    """The folders of the local data that tasks read.

    Example:
        >>> import patent_mteb
        >>> from patent_mteb.experiments.budgets import folders_of
        >>> folders_of(patent_mteb.get_tasks("PatentMap", sample=True))
        []
    """
    found = (task.source.folder for task in tasks if isinstance(task, PatentTask))
    return list(dict.fromkeys(folder for folder in found if folder is not None))


def left_for_blocks(budget: float | None, what: Literal["validate", "run"], folders: Iterable[Path]) -> float | None:
    """Gigabytes of a budget that the documents leave, None if it is any.

    Raises:
        DataError: too little is left.

    Example:
        >>> from patent_mteb.experiments.budgets import left_for_blocks
        >>> left_for_blocks(4, "run", []) > 3
        True
    """
    if budget is None:
        return None
    documents = max(map(documents_in, folders), default=0)
    needed = (_LIBRARIES[what] + _A_DOCUMENT * documents + _LEAST) / 1e9
    refuse_beyond(budget, needed, f"{documents:,} documents take", f" to {what}")
    return budget - needed + _LEAST / 1e9
