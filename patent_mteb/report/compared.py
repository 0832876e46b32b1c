"""All pairs of runs, tiers, and what a task can tell apart: tables to read, and all pairs as a tidy table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import polars as pl
from numpy.typing import NDArray

from patent_mteb.metrics.significance import holm
from patent_mteb.report.cells import Cell, Column, Table, slug
from patent_mteb.report.statistics import ALPHA, Pairs, Statistics
from patent_mteb.report.view import BenchmarkView, MeasuredTask
from patent_mteb.report.words import measure_title

__all__ = ["PAIRS_SCHEMA", "TEST_NAMES", "holm_of_pairs", "pairs_table", "tables"]

TEST_NAMES = {
    "bootstrap": "paired bootstrap, 10,000 resamples",
    "t": "paired t test",
    "permutation": "paired permutation test, 10,000 permutations or all there are",
}
"""How notes call a test."""

PAIRS_SCHEMA = {
    **dict.fromkeys(("world", "task", "first", "second"), pl.String),
    **dict.fromkeys(("difference", "p", "p_holm", "effect"), pl.Float64),
    "n": pl.Int64,
}
"""Columns of :func:`pairs_table`."""


def tables(view: BenchmarkView, statistics: Statistics) -> list[Table]:
    """For a benchmark its headline task with every slice, each run beside the best, and the smallest difference that each task can find;
    no table without statistics.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.compared import tables
        >>> from patent_mteb.report.statistics import statistics
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> [table.name for table in tables(collected.worlds["sample"].benchmark("WIPO-AT"), statistics(collected))]
        ['sample-wipo-at-statistics', 'sample-wipo-at-detectable']
    """
    head = view.headline
    found = [] if head is None else [_of_task(view, statistics, head)]
    return [table for table in (*found, _detectable(view, statistics)) if table.rows]


def _of_task(view: BenchmarkView, statistics: Statistics, task: MeasuredTask) -> Table:
    known = {
        (part, run): score for (world, name, part, run), score in statistics.scores.items() if (world, name) == (view.world.name, task.name)
    }
    pairs = statistics.pairs.get((view.world.name, task.name))
    place = {run: position for position, run in enumerate(pairs.runs, start=1)} if pairs else {}
    above = _above(pairs) if pairs else {}
    rows: list[tuple[Cell, ...]] = []
    blocks: list[str] = []
    for part in sorted({part for part, _ in known}, key=lambda name: (name not in ("", "in", "out"), name)):
        cells = {run: view.cells.get((task.name, run, part), Cell()) for run in view.runs if (part, run) in known}
        for run in sorted(cells, key=lambda run: (-float(cells[run].value or 0), run)):
            score = known[part, run]
            rows.append(
                (
                    Cell(part or "all"),
                    Cell(f"{place[run]} {run}" if run in place else run),
                    cells[run],
                    *map(_number, (score.low, score.high)),
                    Cell(score.n, 0),
                    *map(_number, (score.p_best, score.p_best_holm)),
                    *((Cell(score.p), Cell(score.p_holm)) if statistics.baseline else ()),
                    Cell(None if score.tier is None else str(score.tier)),
                    replace(_number(score.effect), digits=2),
                    Cell("" if part else above.get(run, "")),
                )
            )
            blocks.append(part)
    columns = (
        Column("slice", "Slice", numeric=False),
        Column("model", "Model", numeric=False),
        Column("score", task.short, further=("too_small",)),
        *(Column(key, title, marked=False) for key, title in (("low", "Low"), ("high", "High"), ("n", "n"))),
        *(Column(key, title, marked=False) for key, title in (("p_best", "p"), ("p_best_holm", "Holm p"))),
        *(
            (Column("p_baseline", "p base", marked=False), Column("p_baseline_holm", "Holm p base", marked=False))
            if statistics.baseline
            else ()
        ),
        Column("tier", "Tier", marked=False),
        Column("effect", "Effect", marked=False),
        Column("better_than", "Better than", numeric=False),
    )
    notes = (
        f"{task.name} ({measure_title(task.measure)}). Low and high: 95% interval. "
        "p: one-sided, against the best of the slice on the same queries "
        f"({TEST_NAMES[statistics.test]}); Holm p: corrected over the models. Effect: difference to the best in standard deviations of the "
        "differences by query (Cohen's d).",
        "Tier: a new one begins where a model differs significantly from the one ranked just above it; models of one tier can differ. "
        "Better than: all pairs, Holm's correction over all of them, by the numbers before the models.",
        *((f"p base: against {statistics.baseline}.",) if statistics.baseline else ()),
    )
    return Table(
        slug(view.world.name, view.name, "statistics"),
        view.world.titled(f"{view.name}: intervals, tests and tiers, {task.short}"),
        columns,
        tuple(rows),
        view.world.banner,
        notes,
        blocks=tuple(blocks),
        benchmark=view.name,
    )


def _number(value: float | None) -> Cell:
    return Cell(value if value is not None and np.isfinite(value) else None)


def holm_of_pairs(pairs: Pairs) -> NDArray[np.float64]:
    """[m, m]: the p values of all pairs, corrected over all of them.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.report.compared import holm_of_pairs
        >>> from patent_mteb.report.statistics import Pairs
        >>> p = np.array([[1, 0.01, 0.02], [0.01, 1, 0.5], [0.02, 0.5, 1]])
        >>> holm_of_pairs(Pairs(("a", "b", "c"), np.zeros(3), p, np.zeros((3, 3)), 9, None))[0]
        array([1.  , 0.03, 0.04])
    """
    corrected = np.ones_like(pairs.p)
    upper = np.triu_indices(len(pairs.runs), 1)
    corrected[upper] = corrected.T[upper] = holm(pairs.p[upper])
    return corrected


def _above(pairs: Pairs) -> dict[str, str]:
    """By run the places of the runs that it is significantly better than: ``3, 5–9``."""
    corrected = holm_of_pairs(pairs)
    found = {}
    for row, run in enumerate(pairs.runs):
        beaten = [column + 1 for column in range(row + 1, len(pairs.runs)) if corrected[row, column] < ALPHA]
        found[run] = ", ".join(_ranges(beaten))
    return found


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        yield str(members[0]) if len(members) == 1 else f"{members[0]}–{members[-1]}"


def _detectable(view: BenchmarkView, statistics: Statistics) -> Table:
    """One row a task: how far apart two models have to be for its queries to show it."""
    rows = []
    for task in view.tasks:
        pairs = statistics.pairs.get((view.world.name, task.name))
        if pairs is None or pairs.detectable is None:
            continue
        tied = sum(score.tied for run in pairs.runs if (score := statistics.of(view.world.name, task.name, run)))
        rows.append(
            (Cell(task.plain), Cell(pairs.n, 0), Cell(len(pairs.runs), 0), Cell(pairs.detectable), Cell(pairs.runs[0]), Cell(tied, 0))
        )
    columns = (
        Column("task", "Task", numeric=False),
        Column("n", "n", marked=False),
        Column("models", "Models", marked=False),
        Column("detectable", "Detectable", marked=False),
        Column("best", "Best", numeric=False),
        Column("tied", "Tied", marked=False),
    )
    note = (
        "Detectable: the smallest true difference of two models that a one-sided paired test at 0.05 finds in four of five cases, with the "
        "median spread of differences among the models here. Tied: models not significantly different from the best, itself included."
    )
    return Table(
        slug(view.world.name, view.name, "detectable"),
        view.world.titled(f"{view.name}: what each task can tell apart"),
        columns,
        tuple(rows),
        view.world.banner,
        (note,),
        benchmark=view.name,
    )


def pairs_table(statistics: Statistics) -> pl.DataFrame:
    """One row a pair of runs on a task, the better one first, in the columns of :data:`PAIRS_SCHEMA`.

    Example:
        >>> from patent_mteb.report.compared import pairs_table
        >>> from patent_mteb.report.statistics import Statistics
        >>> pairs_table(Statistics()).columns[-4:]
        ['p', 'p_holm', 'effect', 'n']
    """
    rows = []
    for (world, task), pairs in statistics.pairs.items():
        corrected = holm_of_pairs(pairs)
        for first, second in zip(*np.triu_indices(len(pairs.runs), 1), strict=True):
            numbers = (
                pairs.means[first] - pairs.means[second],
                pairs.p[first, second],
                corrected[first, second],
                pairs.effects[first, second],
            )
            rows.append((world, task, pairs.runs[first], pairs.runs[second], *map(float, numbers), pairs.n))
    return pl.DataFrame(rows, schema=PAIRS_SCHEMA, orient="row")
