"""The front page of a world: one headline a benchmark, and who stands where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from patent_mteb.report.cells import Table
from patent_mteb.report.scores import Score
from patent_mteb.report.statistics import Statistics
from patent_mteb.report.view import BenchmarkView, MeasuredTask, WorldView
from patent_mteb.report.words import measure_title

__all__ = ["common_mean", "front", "standing"]

_ABOUT = (
    "The headline of a benchmark is the score of the task that stands for its retrieval. Rank is by the mean of the headlines, among the "
    "models that have the most of them first. A mean of common tasks is over the tasks that all models of this table have. Overall is the "
    "macro-average over the benchmarks, each the mean over all its tasks; a dash is missing: a task of it was not measured."
)


def standing(headlines: Mapping[str, Sequence[float | None]]) -> dict[str, int]:
    """Rank of each run: by how many headlines it has, then by their mean; equal ones share a rank.

    Example:
        >>> from patent_mteb.report.front import standing
        >>> standing({"a": [0.5, 0.25], "b": [0.75, None], "c": [0.25, 0.5]})
        {'a': 1, 'b': 3, 'c': 1}
    """

    def key(run: str) -> tuple[int, float]:
        known = [value for value in headlines[run] if value is not None]
        return len(known), round(sum(known) / len(known), 9) if known else 0.0

    keys = {run: key(run) for run in headlines}
    return {run: 1 + sum(other > own for other in keys.values()) for run, own in keys.items()}


def common_mean(results: pl.DataFrame) -> tuple[int, dict[str, float]]:
    """How many tasks all runs have, without those that stand on too little, and the mean main score over them by run.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.front import common_mean
        >>> columns = {"run": ["a", "a", "b"], "plain": ["x", "y", "x"], "value": [0.5, 0.75, 0.25], "small": [""] * 3}
        >>> common_mean(pl.DataFrame(columns))
        (1, {'a': 0.5, 'b': 0.25})
    """
    small = set(results.filter(pl.col("small") != "")["plain"])
    runs = results["run"].n_unique()
    shared = results.filter(~pl.col("plain").is_in(list(small)) & (pl.col("run").n_unique().over("plain") == runs))
    means = shared.group_by("run", maintain_order=True).agg(pl.col("value").mean())
    return shared["plain"].n_unique(), dict(means.iter_rows())


def front(world: WorldView, overall: Table, statistics: Statistics, numbers: Mapping[str, int]) -> dict[str, Any]:
    """The front page as JSON-like values.

    Args:
        overall: the table over all benchmarks (:func:`patent_mteb.report.tables.build`).
        numbers: number of each run.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.front import front
        >>> from patent_mteb.report.statistics import Statistics
        >>> from patent_mteb.report.tables import build
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> table = build(collected, Statistics())[0]
        >>> made = front(collected.worlds["sample"], table, Statistics(), {run: at for at, run in enumerate(collected.runs)})
        >>> [column["title"] for column in made["headlines"]]
        ['WIPO-AT', 'DAPFAM']
    """
    runs = [str(row[0].value) for row in overall.rows]
    heads = [(view, task) for view in world.benchmarks if (task := view.headline or (view.tasks[0] if view.tasks else None))]
    values = {run: [_value(view, task, run) for view, task in heads] for run in runs}
    ranks = standing(values)
    ordered = sorted(runs, key=lambda run: (ranks[run], run))
    rows = {str(row[0].value): row for row in overall.rows}
    return {
        "notes": [_ABOUT],
        "runs": [numbers[run] for run in ordered],
        "ranks": [ranks[run] for run in ordered],
        "headlines": [_headline(view, task, statistics, ordered) for view, task in heads],
        "coverage": _coverage(world, ordered),
        "common": _common(world, ordered),
        "means": [
            {
                "title": column.title,
                "values": [rows[run][place].value for run in ordered],
                "without": [rows[run][place].small for run in ordered],
            }
            for place, column in enumerate(overall.columns)
            if column.numeric
        ],
    }


def _value(view: BenchmarkView, task: MeasuredTask, run: str) -> float | None:
    """The headline of a run, None where it stands on too little."""
    cell = view.cells.get((task.name, run, ""))
    return cell.value if cell is not None and isinstance(cell.value, float) and not cell.small else None


def _headline(view: BenchmarkView, task: MeasuredTask, statistics: Statistics, runs: Sequence[str]) -> dict[str, Any]:
    cells = [view.cells.get((task.name, run, "")) for run in runs]
    scores = [statistics.of(view.world.name, task.name, run) for run in runs]
    return {
        "title": view.name,
        "task": task.name,
        "short": task.short,
        "measure": measure_title(task.measure),
        "values": [None if cell is None else cell.value for cell in cells],
        "small": [cell.small if cell else "" for cell in cells],
        "tied": [score is not None and score.tied for score in scores],
        "intervals": [_ends(score) for score in scores],
    }


def _ends(score: Score | None) -> list[float] | None:
    """The interval of a score, None where it has none or an infinite one."""
    known = score is not None and math.isfinite(score.low) and math.isfinite(score.high)
    return [round(score.low, 5), round(score.high, 5)] if score is not None and known else None


def _coverage(world: WorldView, runs: Sequence[str]) -> list[dict[str, Any]]:
    """How many of the tasks of each benchmark a run has."""
    return [
        {
            "title": view.name,
            "of": len(view.benchmark.task_classes),
            "counts": [len(view.main_scores.get(run, ())) for run in runs],
        }
        for view in world.benchmarks
    ]


def _common(world: WorldView, runs: Sequence[str]) -> list[dict[str, Any]]:
    """Means of the tasks that all runs have: of all of them, and of retrieval alone where that is less."""
    found = []
    every, means = common_mean(world.results)
    retrieval, of_retrieval = common_mean(world.results.filter(pl.col("kind") == "Retrieval"))
    for count, kind, values in ((every, "tasks", means), (retrieval, "retrieval tasks", of_retrieval)):
        if count > 1 and (kind, count) != ("retrieval tasks", every):
            found.append({"title": f"Mean of {count} common {kind}", "values": [values.get(run) for run in runs]})
    return found
