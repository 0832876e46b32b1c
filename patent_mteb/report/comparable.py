"""Which results are on a paper's data, task by task: what is compared with printed numbers, and ranked among them.

A result on the pinned revision of a released data set is. Of a local directory every task must have the counts of the paper: its queries,
or its test rows and classes (:mod:`patent_mteb.published.sizes`); what has others, or cannot be told from other data, is left out and
named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from patent_mteb.published.sizes import sizes
from patent_mteb.report.view import BenchmarkView

__all__ = ["on_the_papers_data"]


def on_the_papers_data(view: BenchmarkView) -> tuple[BenchmarkView, tuple[str, ...]]:
    """A view without the results on other data than the paper's, and one message for each reason.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.comparable import on_the_papers_data
        >>> view = collect(Path("results")).worlds["sample"].benchmark("DAPFAM")  # results of 'patent-mteb run'
        >>> on_the_papers_data(view)[1]
        ()
    """
    reasons: dict[str, list[str]] = {}
    left_out: list[tuple[str, str]] = []
    counts = _counts(view)
    for row in view.results.filter(pl.col("data_revision").str.starts_with("local-")).iter_rows(named=True):
        reason = next(_reasons(view, row, counts.get((row["run"], row["plain"]), {})), "")
        if reason:
            left_out.append((row["run"], row["plain"]))
            reasons.setdefault(reason, []).append(f"{row['plain']} of {row['run']}")
    if not left_out:
        return view, ()
    apart = pl.DataFrame(left_out, schema={"run": pl.String, "plain": pl.String}, orient="row")
    kept = replace(view, results=_without(view.results, apart), scores=_without(view.scores, apart))
    return kept, tuple(
        f"{view.name}: {reason}, so {_many(names)} is not compared with the published scores." for reason, names in reasons.items()
    )


def _without(frame: pl.DataFrame, apart: pl.DataFrame) -> pl.DataFrame:
    return frame.join(apart, on=["run", "plain"], how="anti", maintain_order="left")


def _many(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _counts(view: BenchmarkView) -> dict[tuple[str, str], dict[str, float]]:
    """What each result counts of its whole task, by run and plain task."""
    rows = view.scores.filter((pl.col("slice") == "") & pl.col("measure").str.starts_with("n_"))
    counts: dict[tuple[str, str], dict[str, float]] = {}
    for run, plain, measure, value in rows.select("run", "plain", "measure", "value").iter_rows():
        counts.setdefault((run, plain), {})[measure] = value
    return counts


def _reasons(view: BenchmarkView, row: Mapping[str, object], counts: Mapping[str, float]) -> Iterator[str]:
    """Why a result on local data is not on the paper's."""
    if row["kind"] == "Retrieval":
        expected, found = view.facts.paper_queries, row["n_queries"]
        if not expected:
            yield "the local data cannot be told from other data"
        elif found != expected:
            yield f"the local data has {found or 0:,} queries, the paper's {expected:,}"
        return
    stated = sizes().get(str(row["plain"]).partition(".")[0], ())
    if not stated:
        yield "the paper states no size by which the local data could be told from other data"
    for size in stated:
        value = counts.get(size.count)
        if value is None or not size.least <= value <= size.most:
            printed = f"{size.least:,}" + (f" to {size.most:,}" if size.most != size.least else "")
            yield f"{size.count} is {'not recorded' if value is None else format(value, ',.0f')}, by the paper {printed} ({size.source})"
