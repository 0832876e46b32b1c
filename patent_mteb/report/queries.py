"""The per-query scores next to a result (:mod:`patent_mteb.tasks.perquery`).

One set of queries in several representations, one task each (Sophia-Bench, section 3.3): their scores on the queries
that all of them have.

A query that lacks a representation is left out of its task, so that the tasks of a benchmark have other queries each:
means over all of a task's queries differ in more than the representation.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from patent_mteb.tasks.verification import TOLERANCE, per_query_measure

_PART = "score:"


@dataclass(frozen=True)
class QueryTable:
    """Query ids in alphabetical order, and by slice (empty for all judgements) their main scores, NaN for queries
    outside the slice.
    """

    queries: tuple[str, ...]
    parts: dict[str, NDArray[np.float64]]

    def scored(self, part: str) -> bool:
        """Whether a query of a slice has a score."""
        return bool(np.isfinite(self.parts[part]).any())

    def states(self, part: str, stated: float | None) -> bool:
        """Whether the mean of a slice's scores is what the result states; that of the whole task was checked before."""
        if not part:
            return True
        return (
            stated is not None and self.scored(part) and abs(float(np.nanmean(self.parts[part])) - stated) <= TOLERANCE
        )


def read_queries(path: Path, measure: str) -> QueryTable:
    """The per-query scores of a file, of the whole task and of the slices that it has scores of."""
    with pq.ParquetFile(path) as file:  # by its literal path: polars takes brackets and stars in it for a pattern
        slices = [name for name in file.schema_arrow.names if name.startswith(_PART)]
        table = pl.DataFrame(pl.from_arrow(file.read(columns=["query", measure, *slices]))).sort("query")
    parts = {"": measure} | {name.removeprefix(_PART): name for name in slices}
    return QueryTable(
        tuple(table["query"]), {part: table[name].cast(pl.Float64).to_numpy() for part, name in parts.items()}
    )


def query_ids(path: Path) -> list[str]:
    """The queries of a file of per-query scores."""
    with pq.ParquetFile(path) as file:
        return [str(query) for query in file.read(columns=["query"])["query"].to_pylist()]


SCHEMA = {"run": pl.String, "task": pl.String, "slice": pl.String, "value": pl.Float64, "n": pl.Int64}


def common_queries(results: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """Mean main scores by run, task and slice (empty for all judgements), in the columns of :data:`SCHEMA`, over the
    queries that every task and run has; ``n`` counts them. Empty where fewer than two tasks have per-query scores or no
    query is common.

    Slices whose per-query scores are not the result's are left out, as :func:`patent_mteb.report.statistics.statistics`
    does and says.
    """
    known = results.filter((pl.col("kind") == "Retrieval") & pl.col("queries").is_not_null())
    shared = _shared(known["queries"]) if known["task"].n_unique() > 1 else frozenset()
    stated = {
        tuple(own): value for *own, value in scores.filter("main").select("run", "task", "slice", "value").iter_rows()
    }
    rows = []
    for row in known.iter_rows(named=True) if shared else ():
        table = read_queries(Path(row["queries"]), per_query_measure(row["main_score"]))
        own = row["run"], row["task"]
        rows += [
            (*own, part, value, n)
            for part, value, n in _means(table, shared)
            if table.states(part, stated.get((*own, part)))
        ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _shared(paths: Collection[str]) -> frozenset[str]:
    """The queries of all files."""
    found = (frozenset(query_ids(Path(path))) for path in paths)
    return frozenset.intersection(*found)


def _means(table: QueryTable, shared: Collection[str]) -> list[tuple[str, float, int]]:
    """By slice the mean over its queries among the shared ones, and how many these are."""
    members = np.fromiter((query in shared for query in table.queries), bool, len(table.queries))
    found = []
    for part, values in table.parts.items():
        scored = values[members & np.isfinite(values)]
        if len(scored):
            found.append((part, float(scored.mean()), len(scored)))
    return found
