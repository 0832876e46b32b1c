"""What a paper states for a model on a task, as data: ``expected.csv``.

One row a number: ``model`` (its name in mteb, BM25 with the paper's own settings), ``task`` (several, joined by blanks, where the
paper prints their mean), ``metric`` as a result names it, ``protocol`` (``paper``: a paper's own evaluator, filed as
``paper_<metric>``, of all retrieval and of PatentMap's classification; ``same``: there is one protocol only), ``value`` as a
fraction, ``tolerance``, ``source``, and ``settings`` as far as the paper states what changes the number (``prompts=yes``,
``max_tokens=512``).

Only what joins exactly is here: one query text, one corpus, one protocol. The tolerance is half a unit of the last printed digit
and one percent of the value: other hardware, versions and precisions move a score that much (pateval reproduces PatenTEB's printed
scores of PaECTER within 2%).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import polars as pl

__all__ = ["Expected", "expected"]


@dataclass(frozen=True)
class Expected:
    """One number of a paper (see the module)."""

    model: str
    tasks: tuple[str, ...]
    metric: str
    protocol: str
    value: float
    tolerance: float
    source: str
    settings: dict[str, str]


@lru_cache
def expected() -> tuple[Expected, ...]:
    """All rows.

    Example:
        >>> from patent_mteb.published.expected import expected
        >>> rows = [row for row in expected() if row.model == "mpi-inno-comp/paecter" and row.tasks == ("PatenTEBRetrievalIN",)]
        >>> [(row.metric, row.protocol, row.value) for row in rows]
        [('ndcg_at_10', 'paper', 0.421)]
    """
    table = pl.read_csv(files("patent_mteb.published").joinpath("expected.csv").read_bytes(), infer_schema_length=None)
    return tuple(
        Expected(
            row["model"],
            tuple(row["task"].split()),
            row["metric"],
            row["protocol"],
            row["value"],
            row["tolerance"],
            row["source"],
            dict(setting.split("=", 1) for setting in (row["settings"] or "").split()),
        )
        for row in table.iter_rows(named=True)
    )
