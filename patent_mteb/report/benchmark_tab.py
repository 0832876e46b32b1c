"""A benchmark's tab: its scores by slice, run and task, how sure they are, and where each comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from patent_mteb.report.cells import Table
from patent_mteb.report.names import visible
from patent_mteb.report.page_charts import charts_of
from patent_mteb.report.statistics import Statistics
from patent_mteb.report.view import BenchmarkView, gap_percent
from patent_mteb.report.words import measure_title

__all__ = ["Texts", "benchmark_tab"]

_NOT_MEANS = {"model", "headline", "tasks", "headline_in", "headline_out", "headline_gap_percent"}
_DIGITS = 6

Matrix = list[list[Any]]
Cells = dict[tuple[str, str], Any]


class Texts:
    """Texts that are said once, and pointed to by their number.

    Example:
        >>> from patent_mteb.report.benchmark_tab import Texts
        >>> texts = Texts()
        >>> texts.number("one"), texts.number("two"), texts.number("one"), texts.all
        (0, 1, 0, ['one', 'two'])
    """

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, a new one if it was not said before."""
        if text not in self._numbers:
            self._numbers[text] = len(self.all)
            self.all.append(visible(text))
        return self._numbers[text]


def benchmark_tab(
    view: BenchmarkView,
    summary: Table,
    statistics: Statistics,
    texts: Texts,
    numbers: Mapping[str, int],
    seen: Mapping[str, frozenset[str]],
    geometries: pl.DataFrame | None = None,
) -> dict[str, Any]:
    """The tab of a benchmark in one world.

    Args:
        summary: its table of means (:func:`patent_mteb.report.tables.build`), which gives the order of the runs.
        texts: takes what many numbers share.
        numbers: number of each run.
        seen: by run the tasks that are in its training data.
        geometries: of :func:`patent_mteb.report.geometry.read`, those of the benchmark in this world.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.benchmark_tab import Texts, benchmark_tab
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.statistics import Statistics
        >>> from patent_mteb.report.tables import build
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> view, summary = collected.worlds["sample"].benchmark("WIPO-AT"), build(collected, Statistics())[1]
        >>> numbers = {run: number for number, run in enumerate(collected.runs)}
        >>> tab = benchmark_tab(view, summary, Statistics(), Texts(), numbers, {})
        >>> tab["tasks"][0]["short"], tab["tasks"][0]["measure"]
        ('TAC→TAC', 'nDCG@10')
    """
    runs = [str(row[0].value) for row in summary.rows]
    tasks = [task.name for task in view.tasks]

    def matrix(cells: Mapping[tuple[str, str], Any]) -> Matrix:
        """Values by run and task as a list of runs, None where there is none."""
        return [[cells.get((run, task)) for task in tasks] for run in runs]

    values, counts, small = _by_slice(view)
    slices = sorted(values, key=lambda name: (name not in ("", "in", "out"), name))
    shown = {name: matrix(values[name]) for name in slices}
    if {"in", "out"} <= values.keys():
        pairs = ((key, gap_percent(inside, values["out"].get(key))) for key, inside in values["in"].items())
        shown["gap"] = matrix({key: _number(gap) for key, gap in pairs})
    trained = {run: frozenset(task.name for task in view.tasks if task.plain in names) for run, names in seen.items()}
    return {
        "runs": [numbers[run] for run in runs],
        "about": visible(view.facts.description),
        "licence": view.facts.license or "not stated",
        "reference": view.facts.reference,
        "tasks": _tasks(view, texts),
        "means": _means(summary),
        "values": shown,
        "counts": {name: _counts(matrix(counts[name])) for name in slices},
        "small": {name: matrix(small[name]) for name in slices if name in small},
        "intervals": {name: matrix(cells) for name, cells in _intervals(view, statistics).items()},
        "found": matrix(_found(view, texts)),
        "trained": [[tasks.index(task) for task in tasks if task in trained.get(run, ())] for run in runs],
        "charts": charts_of(view, numbers, geometries),
    }


def _number(value: float | None) -> float | None:
    """A number as JSON can hold it, with as many decimals as results have; NaN and infinity are shown as missing."""
    return round(value, _DIGITS) if value is not None and math.isfinite(value) else None


def _by_slice(view: BenchmarkView) -> tuple[dict[str, Cells], dict[str, Cells], dict[str, Cells]]:
    """Main scores, numbers of queries, and marks of what stands on too little, by slice, run and task."""
    values: dict[str, Cells] = {}
    counts: dict[str, Cells] = {}
    small: dict[str, Cells] = {}
    for row in view.scores.filter(pl.col("main")).iter_rows(named=True):
        key = (row["run"], row["task"])
        values.setdefault(row["slice"], {})[key] = _number(row["value"])
        counts.setdefault(row["slice"], {})[key] = row["n_queries"]
    for (task, run, part), cell in view.cells.items():
        if cell.small:
            small.setdefault(part, {})[run, task] = cell.small
    return values, counts, small


def _counts(rows: Matrix) -> Matrix | list[Any]:
    """Numbers by task where all runs have the same, else by run and task."""
    columns = [{value for value in column if value is not None} for column in zip(*rows, strict=True)]
    return rows if any(len(column) > 1 for column in columns) else [next(iter(column), None) for column in columns]


def _intervals(view: BenchmarkView, statistics: Statistics) -> dict[str, Cells]:
    """By slice what statistics say of each score: the ends of its interval; whether it is tied with the best, Holm's p value of the pair
    with the best, and the tier; whether it is significantly better than the baseline, and Holm's p value of that pair. What is unknown at
    the end is left out."""
    found: dict[str, Cells] = {"": {}}
    for (world, task, part, run), score in statistics.scores.items():
        if world == view.world.name:
            said = [_number(score.low), _number(score.high), score.tied, _p(score.p_best_holm), score.tier, score.better, _p(score.p_holm)]
            while said and (said[-1] is None or said[-1] is False):
                said.pop()
            found.setdefault(part, {})[run, task] = said
    return found


def _p(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _tasks(view: BenchmarkView, texts: Texts) -> list[dict[str, Any]]:
    described = {task.metadata.name: task.metadata.description for task in view.benchmark.task_classes}
    first = view.results.unique("task", keep="first", maintain_order=True)
    data = {row["task"]: f"{row['data']} at {row['data_revision']}" for row in first.iter_rows(named=True)}
    kinds = dict(first.select("task", "kind").iter_rows())
    return [
        {
            "name": task.name,
            "short": task.short,
            "group": task.group,
            "measure": measure_title(task.measure),
            "kind": kinds[task.name],
            "data": texts.number(data[task.name]),
            "about": texts.number(described.get(task.plain, "")),
        }
        for task in view.tasks
    ]


def _found(view: BenchmarkView, texts: Texts) -> Cells:
    """Where a number comes from: the texts on the model as it was run, prompt and versions, and the date."""
    found: Cells = {}
    for row in view.results.iter_rows(named=True):
        settings = "" if row["settings"] == "{}" else f" {row['settings']}"
        day = (row["date"] or "")[:10]
        said = (f"{row['model']}{settings}", row["revision"], row["prompt"], row["versions"] or "not recorded", day or "not recorded")
        found[row["run"], row["task"]] = [texts.number(text) for text in said]
    return found


def _means(summary: Table) -> list[dict[str, Any]]:
    """The columns of means of a benchmark's table."""
    return [
        {
            "title": column.title,
            "marked": column.marked,
            "digits": summary.rows[0][position].digits,
            "values": [_number(value) if isinstance(value := row[position].value, float) else None for row in summary.rows],
            "without": [row[position].small for row in summary.rows],
        }
        for position, column in enumerate(summary.columns)
        if column.key not in _NOT_MEANS
    ]
