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

from patent_mteb import published

__all__ = ["Expected", "expected", "interval"]


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


def interval(model: str, tasks: tuple[str, ...], metric: str) -> tuple[float, float] | None:
    """The 95% interval that a paper prints for a model on a task, None without any.

    Only WIPO-AT's Table 23 prints intervals, for nDCG@10 on the TAC corpus. It does not state the text of the query: they are taken as
    those of ``PatentCitationRetrieval``, whose numbers are the nearest.

    Example:
        >>> from patent_mteb.published.expected import interval
        >>> interval("BAAI/bge-m3", ("PatentCitationRetrieval",), "ndcg_at_10")
        (0.1301, 0.1344)
    """
    if (tasks, metric) != (("PatentCitationRetrieval",), "ndcg_at_10"):
        return None
    rows = published.printed("wipo_at", 23).filter(model_id=model).select("ci_lower", "ci_upper").rows()
    return rows[0] if rows else None
