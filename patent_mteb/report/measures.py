"""The other measures of a benchmark's headline task, models by measure."""

from __future__ import annotations

import polars as pl

from patent_mteb.report.cells import Cell, Column, Table, slug
from patent_mteb.report.view import BenchmarkView
from patent_mteb.report.words import measure_title

__all__ = ["KEPT", "measures"]

KEPT = r"^((ndcg|recall|map|mrr|pres|graded_ndcg)_at_(10|20|100)|inscope.*|section_share.*)$"
"""Names of the measures that are shown, among the thirty to sixty of a retrieval result."""


def measures(view: BenchmarkView) -> list[Table]:
    """A table of the headline task's measures, best first by the main score; none without a headline.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.measures import measures
        >>> table, = measures(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT"))  # of 'patent-mteb run'
        >>> [column.title for column in table.columns][:3]
        ['Model', 'nDCG@10', 'nDCG@20']
    """
    head = view.headline
    if head is None:
        return []
    rows = view.scores.filter((pl.col("task") == head.name) & (pl.col("slice") == "") & pl.col("measure").str.contains(KEPT))
    names = rows["measure"].unique(maintain_order=True).to_list()
    values = {(run, name): value for run, name, value in rows.select("run", "measure", "value").iter_rows()}
    scored = view.results.filter(pl.col("task") == head.name).sort("value", "run", descending=[True, False])
    table = Table(
        slug(view.world.name, view.name, "measures"),
        view.world.titled(f"{view.name}: other measures, {head.short}"),
        (Column("model", "Model", numeric=False), *(Column(name, measure_title(name)) for name in names)),
        tuple((Cell(run), *(Cell(values.get((run, name))) for name in names)) for run in scored["run"]),
        view.world.banner,
        (f"{head.name}, all judgements.",),
        benchmark=view.name,
    )
    return [table.marked()] if names else []
