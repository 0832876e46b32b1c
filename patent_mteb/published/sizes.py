"""How many rows and classes a paper's task has, as data (``sizes.csv``), where nobody can look at the paper's data.

One row a count of a task: ``count`` as a result names it, ``least`` and ``most`` what it can be. The paper prints the patents of a whole
label set, of which a split by patent family puts a tenth into the test split, so that counts of test rows are a range; and a test
split need not hold every label of a fine-grained set. Retrieval has the number of queries of the benchmark's record instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import polars as pl

__all__ = ["Size", "sizes"]


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
