"""Per-query scores next to a result (:mod:`patent_mteb.tasks.perquery`).

A benchmark can have one set of queries in several representations, one task each (Sophia-Bench, section 3.3). A query
without a representation is not in its task; `common_queries` compares the tasks on the queries that all share.
"""

from __future__ import annotations

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
    """Query ids in alphabetical order, and their main scores by slice (empty for all judgements).

    Scores are NaN for queries outside the slice.
    """

    queries: tuple[str, ...]
    parts: dict[str, NDArray[np.float64]]

    def scored(self, part: str) -> bool:
        return bool(np.isfinite(self.parts[part]).any())

    def states(self, part: str, stated: float | None) -> bool:
        """Whether the mean of a slice's scores equals the result's; the whole task was checked before."""
        if not part or stated is None or not self.scored(part):
            return not part
        return abs(float(np.nanmean(self.parts[part])) - stated) <= TOLERANCE


def read_queries(path: Path, measure: str) -> QueryTable:
    """Read the per-query scores of a file, of the whole task and of its slices."""
    with pq.ParquetFile(path) as file:  # polars would read brackets and stars in the path as a pattern
        slices = [name for name in file.schema_arrow.names if name.startswith(_PART)]
        table = pl.DataFrame(pl.from_arrow(file.read(columns=["query", measure, *slices]))).sort("query")
    parts = {"": measure} | {name.removeprefix(_PART): name for name in slices}
    return QueryTable(
        tuple(table["query"]), {part: table[name].cast(pl.Float64).to_numpy() for part, name in parts.items()}
    )


def query_ids(path: Path) -> list[str]:
    with pq.ParquetFile(path) as file:
        return [str(query) for query in file.read(columns=["query"])["query"].to_pylist()]


SCHEMA = {"run": pl.String, "task": pl.String, "slice": pl.String, "value": pl.Float64, "n": pl.Int64}


def common_queries(results: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """Return mean main scores by run, task and slice over the queries that every task and run has.

    Columns as in :data:`SCHEMA`; ``slice`` is empty for all judgements, ``n`` counts the queries. Empty if fewer than
    two tasks have per-query scores, or if they share no query. Slices whose per-query scores contradict the result are
    excluded; :func:`patent_mteb.report.statistics.statistics` names them.
    """
    known = results.filter((pl.col("kind") == "Retrieval") & pl.col("queries").is_not_null())
    shared: frozenset[str] = frozenset()
    if known["task"].n_unique() > 1:
        shared = frozenset.intersection(*(frozenset(query_ids(Path(path))) for path in known["queries"]))
    main = scores.filter("main").select("run", "task", "slice", "value")
    stated = {(run, task, part): value for run, task, part, value in main.iter_rows()}
    rows = []
    for row in known.iter_rows(named=True) if shared else ():
        table = read_queries(Path(row["queries"]), per_query_measure(row["main_score"]))
        members = np.fromiter((query in shared for query in table.queries), bool, len(table.queries))
        own = row["run"], row["task"]
        for part, values in table.parts.items():
            scored = values[members & np.isfinite(values)]
            if len(scored) and table.states(part, stated.get((*own, part))):
                rows.append((*own, part, float(scored.mean()), len(scored)))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
