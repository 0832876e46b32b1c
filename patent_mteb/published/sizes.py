"""How many rows and classes a paper's task has, as data (``sizes.csv``), where nobody can look at the paper's data.

One row a count of a task: ``count`` as a result names it, ``least`` and ``most`` what it can be. The paper prints the patents of a whole
label set, of which a split by patent family puts a tenth into the test split, so that counts of test rows are a range; and a test
split need not hold every label of a fine-grained set. Retrieval has the number of queries of the benchmark's record instead.

``stated.csv`` is what readers are told of sizes: queries and texts of the published data as a paper or a release says them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from typing import Any

import polars as pl

__all__ = ["Size", "Stated", "sizes", "stated"]


@dataclass(frozen=True)
class Size:
    """One row (see the module)."""

    task: str
    count: str
    least: int
    most: int
    source: str


@lru_cache
def sizes() -> dict[str, tuple[Size, ...]]:
    """The rows by task.

    Example:
        >>> from patent_mteb.published.sizes import sizes
        >>> [(size.count, size.least, size.most) for size in sizes()["WIPOATEmergingClassification"]]
        [('n_test', 1203, 1531), ('n_classes', 6, 6)]
    """
    table = pl.read_csv(files("patent_mteb.published").joinpath("sizes.csv").read_bytes())
    found: dict[str, list[Size]] = {}
    for row in table.iter_rows(named=True):
        found.setdefault(row["task"], []).append(Size(**row))
    return {task: tuple(rows) for task, rows in found.items()}


@dataclass(frozen=True)
class Stated:
    """What a source says of how large a task is; None for what it does not say."""

    queries: int | None = None
    texts: int | None = None
    source: str = ""


def stated(task: str) -> Stated:
    """The first row of ``stated.csv`` that a task fits, empty where no source says anything.

    Example:
        >>> from patent_mteb.published.sizes import stated
        >>> found = stated("SophiaObjRetrieval")
        >>> found.queries, found.texts
        (None, 75050)
    """
    rows = (row for row in _stated() if fnmatchcase(task, row["tasks"]))
    return next((Stated(row["queries"], row["texts"], row["source"]) for row in rows), Stated())


@lru_cache
def _stated() -> list[dict[str, Any]]:
    return pl.read_csv(files("patent_mteb.published").joinpath("stated.csv").read_bytes()).to_dicts()
