"""One set of queries in several representations, one task each (Sophia-Bench, section 3.3): their scores on the queries that all of them
have.

A query that lacks a representation is left out of its task, so that the tasks of a benchmark have other queries each: means over all of
a task's queries differ in more than the representation.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import polars as pl

from patent_mteb.report.queries import QueryTable, per_query_measure, query_ids, read_queries

__all__ = ["SCHEMA", "common_queries"]

SCHEMA = {"run": pl.String, "task": pl.String, "slice": pl.String, "value": pl.Float64, "n": pl.Int64}


def common_queries(results: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """Mean main scores by run, task and slice (empty for all judgements), in the columns of :data:`SCHEMA`, over the queries that every
    task and run has; ``n`` counts them. Empty where fewer than two tasks have per-query scores or no query is common.

    Slices whose per-query scores are not the result's are left out, as :func:`patent_mteb.report.statistics.statistics` does and says.

    Args:
        results, scores: of one benchmark in one world (:class:`patent_mteb.report.view.BenchmarkView`).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.common_queries import common_queries
        >>> view = collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")  # results of 'patent-mteb run'
        >>> frame = common_queries(view.results, view.scores)
        >>> frame.filter(slice="")["task"].n_unique()
        2
    """
    known = results.filter((pl.col("kind") == "Retrieval") & pl.col("queries").is_not_null())
    shared = _shared(known["queries"]) if known["task"].n_unique() > 1 else frozenset()
    stated = {tuple(own): value for *own, value in scores.filter("main").select("run", "task", "slice", "value").iter_rows()}
    rows = []
    for row in known.iter_rows(named=True) if shared else ():
        table = read_queries(Path(row["queries"]), per_query_measure(row["main_score"]))
        own = row["run"], row["task"]
        rows += [(*own, part, value, n) for part, value, n in _means(table, shared) if table.states(part, stated.get((*own, part)))]
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
