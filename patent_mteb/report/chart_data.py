"""From the results of a benchmark to the tidy tables of the further figures of the papers (:mod:`patent_mteb.report.comparisons`); a frame
without rows means that there is nothing to draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from patent_mteb.report.frames import group_means, headline_slices, named, sections
from patent_mteb.report.queries import per_query_measure, read_queries
from patent_mteb.report.view import BenchmarkView

__all__ = [
    "by_task",
    "distribution",
    "labels",
    "overlap",
    "profile",
    "query_sections",
    "section_advantage",
    "task_advantage",
    "task_groups",
    "years",
]

_MOST_TASKS = 20
"""Tasks side by side, at most; of more the means of groups are drawn."""


def by_task(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: the main score of each task (PatenTEB Fig. 2), of at most twenty.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import by_task
        >>> from patent_mteb.report.collect import collect
        >>> view = collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")  # results of 'patent-mteb run'
        >>> sorted(set(by_task(view)["group"]))
        ['Abstract→TA', 'TAC→TAC']
    """
    names = {task.plain: task.short for task in view.tasks}
    rows = view.results if 1 < len(names) <= _MOST_TASKS else view.results.clear()
    return named(rows.select(model="run", group=pl.col("plain").replace(names), value="value"))


def task_groups(view: BenchmarkView) -> pl.DataFrame:
    """``model, series, value``: the mean of each group of tasks over the tasks that all models of the group have (PatenTEB Fig. 4).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import task_groups
        >>> from patent_mteb.report.collect import collect
        >>> view = collect(Path("results")).worlds["sample"].benchmark("DAPFAM")  # results of 'patent-mteb run'
        >>> sorted(set(task_groups(view)["series"]))
        ['ALL', 'IN']
    """
    parts = [group_means(part, part["run"].unique()) for part in view.results.partition_by("group", maintain_order=True)]
    rows = pl.concat(parts) if len(parts) > 1 else view.results.select("run", "group", "value").clear()
    return named(rows.select(model="run", series="group", value="value"))


def profile(view: BenchmarkView) -> pl.DataFrame:
    """``model, series, value``: the same, each group as a share of its best model (WIPO-AT Fig. 18).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import profile
        >>> from patent_mteb.report.collect import collect
        >>> view = collect(Path("results")).worlds["sample"].benchmark("DAPFAM")  # results of 'patent-mteb run'
        >>> profile(view)["value"].max()
        1.0
    """
    return task_groups(view).with_columns(value=pl.col("value") / pl.col("value").max().over("series"))


def overlap(view: BenchmarkView) -> pl.DataFrame:
    """``model, series, value``: IN, MIXED and OUT, where they are tasks of their own (PatenTEB Fig. 5).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import overlap
        >>> from patent_mteb.report.collect import collect
        >>> overlap(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")).rows()  # results of 'patent-mteb run'
        []
    """
    task, values = view.domain_headline, view.slice_scores
    name = task.name if task and task.plain in view.facts.domain_tasks else ""
    series = (("in", "IN"), ("", "MIXED"), ("out", "OUT"))
    rows = [(run, shown, values[name, run, part]) for part, shown in series for run in view.runs if (name, run, part) in values]
    return named(pl.DataFrame(rows, schema={"model": pl.String, "series": pl.String, "value": pl.Float64}, orient="row"))


def query_sections(view: BenchmarkView) -> pl.DataFrame:
    """``model, series, value``: the sections that queries are made of, on the corpus view of the headline task (WIPO-AT Fig. 5).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import query_sections
        >>> from patent_mteb.report.collect import collect
        >>> view = collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")  # results of 'patent-mteb run'
        >>> sorted(set(query_sections(view)["series"]))
        ['TAC']
    """
    corpus = view.facts.section_grid.get(view.facts.headline, ("", ""))[1]
    return sections(view).filter(corpus=corpus).select("model", series="query", value="value")


def years(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value`` of the headline task by year of publication (Sophia-Bench Fig. 6).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import years
        >>> from patent_mteb.report.collect import collect
        >>> years(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")).columns  # results of 'patent-mteb run'
        ['model', 'x', 'value']
    """
    rows = headline_slices(view, "year_")
    return rows.with_columns(x=pl.col("group").cast(pl.Int64, strict=False)).drop_nulls("x").select("model", "x", "value")


def section_advantage(view: BenchmarkView, expert: str = "DWPIFull", public: str = "TAC") -> pl.DataFrame:
    """``model, group, value``: by query section what one corpus view gives over another (WIPO-AT Fig. 8 for the headline's section, Fig. 15
    for all).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import section_advantage
        >>> from patent_mteb.report.collect import collect
        >>> section_advantage(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")).rows()  # results of 'patent-mteb run'
        []
    """
    grid = sections(view)
    both = grid.filter(corpus=expert).join(grid.filter(corpus=public), on=["model", "query"], suffix="_public", maintain_order="left")
    return both.select("model", group="query", value=pl.col("value") - pl.col("value_public"))


def task_advantage(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: each task minus its twin without certain texts (WIPO-AT Fig. 16 and 17).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import task_advantage
        >>> from patent_mteb.report.collect import collect
        >>> task_advantage(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")).rows()  # results of 'patent-mteb run'
        []
    """
    ending, names = view.facts.lacking, {task.plain: task.short for task in view.tasks}
    rows = [
        (run, names[task], value - scores[task + ending])
        for run, scores in view.main_scores.items()
        for task, value in scores.items()
        if ending and task + ending in scores
    ]
    return named(pl.DataFrame(rows, schema={"model": pl.String, "group": pl.String, "value": pl.Float64}, orient="row"))


def labels(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: F1 of each label of the classification task with the most labels (WIPO-AT Fig. 13).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import labels
        >>> from patent_mteb.report.collect import collect
        >>> labels(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")).rows()  # results of 'patent-mteb run'
        []
    """
    rows = view.scores.filter((pl.col("slice") == "") & pl.col("measure").str.starts_with("f1_"))
    counts = rows.group_by("task").agg(pl.col("measure").n_unique()).sort("measure", "task")
    rows = rows.filter(task=counts["task"][-1]) if len(counts) else rows
    return named(rows.select(model="run", group=pl.col("measure").str.strip_prefix("f1_"), value="value"))


def distribution(view: BenchmarkView) -> pl.DataFrame:
    """``model, part, value``: the main score of each query of the headline task, of all queries and, where they were filed, IN and OUT of
    domain (WIPO-AT Fig. 20 and 21).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.chart_data import distribution
        >>> from patent_mteb.report.collect import collect
        >>> view = collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")  # results of 'patent-mteb run'
        >>> distribution(view)["part"].unique(maintain_order=True).to_list()
        ['ALL', 'IN', 'OUT']
    """
    head = view.headline.name if view.headline else ""
    rows = view.results.filter((pl.col("task") == head) & pl.col("queries").is_not_null()).sort("value", descending=True)
    empty = pl.DataFrame(schema={"model": pl.String, "part": pl.String, "value": pl.Float64})
    found = []
    for row in rows.iter_rows(named=True):
        table = read_queries(Path(row["queries"]), per_query_measure(row["main_score"]))
        for part, shown in (("", "ALL"), ("in", "IN"), ("out", "OUT")):
            values = table.parts.get(part, np.array([]))
            values = values[np.isfinite(values)]
            found.append(
                pl.DataFrame({"model": [row["run"]] * len(values), "part": [shown] * len(values), "value": values}, schema=empty.schema)
            )
    return named(pl.concat([empty, *found]).sort(pl.col("part"), maintain_order=True))
