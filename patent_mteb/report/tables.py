"""The tables of a report: for each world one over all benchmarks, and for each benchmark its runs, its tasks and its domains.

What was not measured is missing: it shows as a dash (empty in csv), and a mean over it is missing too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import polars as pl

from patent_mteb.metrics.significance import difference_interval
from patent_mteb.report import query_types
from patent_mteb.report.cells import MISSING, Cell, Column, Table, mark, mean_cell, slug
from patent_mteb.report.collect import Collected
from patent_mteb.report.compared import TEST_NAMES
from patent_mteb.report.compared import tables as compared_tables
from patent_mteb.report.forms import COMPARED
from patent_mteb.report.statistics import LETTER, Statistics
from patent_mteb.report.view import BenchmarkView, MeasuredTask, WorldView, gap_percent
from patent_mteb.report.words import measure_title
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import PatentBenchmark, group_means, summary

__all__ = ["advantage", "build", "ranking"]

_RUNS_SIDE_BY_SIDE = 6
_MEAN = ("too_small",)
_DOMAIN_COLUMNS = (
    Column("in", "IN", further=COMPARED),
    Column("out", "OUT", further=COMPARED),
    Column("gap_percent", "Gap", marked=False, further=_MEAN),
)
_GAP_NOTE = "Gap is (IN − OUT) / IN."


def build(collected: Collected, statistics: Statistics) -> list[Table]:
    """All tables: for each world one over all benchmarks and several for each benchmark.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.statistics import Statistics
        >>> from patent_mteb.report.tables import build
        >>> [table.name for table in build(collect(Path("results")), Statistics())][:2]  # results of 'patent-mteb run'
        ['sample-overall', 'sample-wipo-at']
    """
    tables: list[Table] = []
    for world in collected.worlds.values():
        tables.append(replace(_overall(world), summary=True))
        for view in world.benchmarks:
            tables += _of_benchmark(view, statistics)
    return [table.marked() for table in tables]


def ranking(
    benchmark: PatentBenchmark,
    scores: Iterable[tuple[str, Mapping[str, float]]],
    small: Mapping[str, Collection[str]] = MappingProxyType({}),
    *,
    name: str,
    title: str,
    further: Sequence[PatentBenchmark] = (),
    banner: str = "",
    notes: Sequence[str] = (),
) -> Table:
    """Runs by their score over a benchmark, beside the mean of each of its groups.

    Args:
        benchmark: gives the overall score and the columns.
        scores: label of a run and its main scores by task, without ``.sample``.
        small: by label the tasks whose scores stand on too little; they are in no mean.
        further: benchmarks with a column of their own, which do not count in the overall score.

    Example:
        >>> from patent_mteb.report.tables import ranking
        >>> from patent_mteb.tasks.catalogue import find
        >>> scores = [("a", {"PatentMapAbsToAbsRetrieval": 0.3, "PatentMapClmToAllRetrieval": 0.5})]
        >>> table = ranking(find("PatentMap"), scores, name="patentmap", title="PatentMap")
        >>> [cell.text for cell in table.rows[0]]
        ['a', '–', '0.4000', '–', '2 of 3']
    """
    tasks = {name for one in (benchmark, *further) for name in _tasks(one)}
    rows: list[tuple[Cell, ...]] = []
    for label, measured in scores:
        own, left_out = {task: value for task, value in measured.items() if task in tasks}, small.get(label, ())
        overall = mean_cell(summary(benchmark, own, left_out)["Overall"], _tasks(benchmark), left_out)
        means = [
            *_means(benchmark, own, left_out),
            *(mean_cell(summary(one, own, left_out)["Overall"], _tasks(one), left_out) for one in further),
        ]
        rows.append((Cell(label), overall, *means, Cell(f"{len(own)} of {len(tasks)}")))
    columns = (
        Column("model", "Model", numeric=False),
        Column("overall", "Overall"),
        *(Column(slug(label), label) for label in (*benchmark.groups, *(one.name for one in further))),
        Column("tasks", "Tasks", numeric=False),
    )
    if further:
        notes = (*notes, f"Overall is the score of {benchmark.name}, in which {', '.join(one.name for one in further)} does not count.")
    return Table(name, title, columns, _best_first(rows), banner, tuple(notes))


def _tasks(benchmark: PatentBenchmark) -> list[str]:
    return [task.metadata.name for task in benchmark.task_classes]


def _means(benchmark: PatentBenchmark, scores: Mapping[str, float], small: Collection[str]) -> list[Cell]:
    """The mean of each group."""
    means = group_means(benchmark, scores, small)
    return [mean_cell(means[label], [task.metadata.name for task in tasks], small) for label, tasks in benchmark.groups.items()]


def _overall(world: WorldView) -> Table:
    """Means over the tasks of each benchmark, and their macro-average."""
    total = _total(world)
    note = (
        "A benchmark's score is the mean main score over all its tasks, Overall the macro-average over the benchmarks. "
        f"{MISSING} is missing: a task of the benchmark was not measured."
    )
    return ranking(
        total,
        world.main_scores.items(),
        world.small,
        name=slug(world.world.name, "overall"),
        title=world.world.titled("All benchmarks"),
        further=[view.benchmark for view in world.benchmarks if view.name not in total.groups],
        banner=world.world.banner,
        notes=(note,),
    )


def _total(world: WorldView) -> PatentBenchmark:
    """``PatentMTEB``; where all results are on own data sets, these."""
    total = catalogue.total()
    if any(view.name in total.groups for view in world.benchmarks) or not world.benchmarks:
        return total
    facts = replace(total.facts, name="all own data sets")
    return PatentBenchmark(facts, {view.name: view.benchmark.task_classes for view in world.benchmarks}, macro=True)


def _best_first(rows: Iterable[tuple[Cell, ...]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows by their first number, then by the next; missing last, equal ones by name."""

    def key(row: tuple[Cell, ...]) -> tuple[Any, ...]:
        return tuple((-cell.value if isinstance(cell.value, float) else float("inf")) for cell in row[1:]), str(row[0].value)

    return tuple(sorted(rows, key=key))


def _of_benchmark(view: BenchmarkView, statistics: Statistics) -> list[Table]:
    tables = [
        replace(_by_run(view, statistics), summary=True),
        *_by_task(view, statistics),
        *_by_domain(view, statistics),
        *advantage(view),
    ]
    tables += [*query_types.tables(view), *compared_tables(view, statistics)]
    states = view.results.select("data", "data_revision").unique(maintain_order=True)
    if view.world.name != "sample":
        note = "Data: " + "; ".join(f"{data} at {revision[:24]}" for data, revision in states.iter_rows()) + "."
        tables = [replace(table, notes=(*table.notes, note)) for table in tables]
    return tables


def _table(view: BenchmarkView, kind: str, title: str, columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]], **more: Any) -> Table:
    heading = view.world.titled(f"{view.name}{title}")
    name = slug(view.world.name, view.name, kind)
    return Table(name, heading, tuple(columns), tuple(rows), view.world.banner, benchmark=view.name, **more)


def _score(view: BenchmarkView, statistics: Statistics, task: MeasuredTask, run: str, mark: str = "") -> Cell:
    """The main score of a run on a task, with the letter if it is better than the baseline."""
    return replace(_compared(view, statistics, task, run), mark=mark)


def _compared(view: BenchmarkView, statistics: Statistics, task: MeasuredTask, run: str, part: str = "") -> Cell:
    """The main score of a run on a task or a slice of it, with what statistics say."""
    score = statistics.of(view.world.name, task.name, run, part)
    sides = view.facts.domain_tasks.get(task.plain, {})
    if score is None and part in sides:  # IN and OUT are tasks of their own
        score = statistics.of(view.world.name, task.name.replace(task.plain, sides[part]), run)
    better = score is not None and score.better
    return replace(view.cells.get((task.name, run, part), Cell()), score=score, letters=LETTER if better else "")


def _domain_cells(view: BenchmarkView, statistics: Statistics, task: MeasuredTask, run: str) -> tuple[Cell, ...]:
    inside, outside = (_compared(view, statistics, task, run, side) for side in ("in", "out"))
    gap = gap_percent(*(cell.value if isinstance(cell.value, float) else None for cell in (inside, outside)))
    return inside, outside, Cell(gap, 1, "%", small=_either(inside, outside) if gap is not None else "")


def _either(first: Cell, second: Cell) -> str:
    """What one side or the other of a difference has too little of."""
    return "; ".join(dict.fromkeys(filter(None, (first.small, second.small))))


def _baseline_notes(view: BenchmarkView, statistics: Statistics) -> tuple[str, ...]:
    keys = view.results.select("task", "run").iter_rows()
    scores = (statistics.of(view.world.name, task, run) for task, run in keys)
    if not any(score is not None and score.p is not None for score in scores):
        return ()
    return (
        f"{LETTER}: significantly better than {statistics.baseline} on the same queries ({TEST_NAMES[statistics.test]}, one-sided, "
        "Holm's correction over the models of a task, p < 0.05). Tasks without per-query scores are not tested.",
    )


def _by_run(view: BenchmarkView, statistics: Statistics) -> Table:
    """One row a run: the benchmark's overall score, the means of its groups, and the headline task with IN beside OUT."""
    benchmark, task = view.benchmark, view.domain_headline
    size = len(benchmark.task_classes)
    whole = tuple(summary(benchmark, {}))
    small = frozenset().union(*view.small.values())
    common = [
        task.plain for task in view.tasks if all(task.plain in scores for scores in view.main_scores.values()) and task.plain not in small
    ]
    shared = 1 < len(common) < size and len(view.runs) > 1
    rows: list[tuple[Cell, ...]] = []
    for run, scores in view.main_scores.items():
        left_out = view.small.get(run, frozenset())
        overall = summary(benchmark, scores, left_out)
        row = [Cell(run), *(mean_cell(overall[name], _tasks(benchmark), left_out) for name in whole)]
        if shared:
            row.append(Cell(sum(scores[name] for name in common) / len(common)))
        row += _means(benchmark, scores, left_out)
        if task:
            row += [_score(view, statistics, task, run), *_domain_cells(view, statistics, task, run)]
        rows.append((*row, Cell(f"{len(scores)} of {size}")))
    columns = (
        Column("model", "Model", numeric=False),
        *(Column(name.lower(), name, marked=name == "Overall", further=_MEAN) for name in whole),
        *((Column("mean_of_common", f"Mean of {len(common)} common"),) if shared else ()),
        *(Column(slug(group), group, further=_MEAN) for group in benchmark.groups),
        *(
            (
                Column("headline", task.short, further=COMPARED),
                *(replace(column, key=f"headline_{column.key}") for column in _DOMAIN_COLUMNS),
            )
            if task
            else ()
        ),
        Column("tasks", "Tasks", numeric=False),
    )
    over = f"{len(benchmark.groups)} groups, each the mean over its tasks" if benchmark.macro else f"{size} tasks"
    notes = [f"Overall is the mean over all {over}. {MISSING} is missing: a task of the mean was not measured."]
    if "Spread" in whole:
        notes.append("Spread is the largest minus the smallest task score.")
    if shared:
        notes.append(f"Mean of {len(common)} common: over the tasks that all models of this table have.")
    if task:
        notes.append(f"{task.short} is {task.name} ({measure_title(task.measure)}). {_GAP_NOTE}")
        if sides := view.facts.domain_tasks.get(task.plain):
            notes.append(f"IN and OUT are {sides['in']} and {sides['out']}, tasks with queries of their own.")
        notes += _baseline_notes(view, statistics)
    return _table(view, "", "", columns, _best_first(rows), notes=tuple(notes))


def _by_task(view: BenchmarkView, statistics: Statistics) -> list[Table]:
    """One row a task, one column a run."""
    runs = view.best_first
    marks = {task: mark([view.cells.get((task.name, run, ""), Cell()) for run in runs]) for task in view.tasks}
    notes = (f"{MISSING} is missing: not measured.", *_baseline_notes(view, statistics))
    rows = [
        (
            Cell(task.group),
            Cell(task.plain),
            Cell(task.measure, title=measure_title(task.measure)),
            *(_score(view, statistics, task, run, name) for run, name in zip(runs, marks[task], strict=True)),
        )
        for task in view.tasks
    ]
    columns = (
        Column("group", "Group", numeric=False),
        Column("task", "Task", numeric=False),
        Column("measure", "Measure", numeric=False),
        *(Column(run, run, marked=False, further=COMPARED) for run in runs),
    )
    return [_table(view, "tasks", ", by task", columns, rows, notes=notes, at_once=_RUNS_SIDE_BY_SIDE)]


def _by_domain(view: BenchmarkView, statistics: Statistics) -> list[Table]:
    """One row a task and run: all judgements, IN, OUT and the gap. No table if no task is sliced by domain."""
    sliced = set(view.scores.filter(pl.col("main") & pl.col("slice").is_in(["in", "out"]))["task"])
    rows: list[tuple[Cell, ...]] = []
    blocks: list[str] = []
    for task in view.tasks:
        measured = {run: scores[task.plain] for run, scores in view.main_scores.items() if task.name in sliced and task.plain in scores}
        for run in sorted(measured, key=measured.__getitem__, reverse=True):
            rows.append((Cell(task.plain), Cell(run), _score(view, statistics, task, run), *_domain_cells(view, statistics, task, run)))
            blocks.append(task.name)
    columns = (
        Column("task", "Task", numeric=False),
        Column("model", "Model", numeric=False),
        Column("all", "ALL", further=COMPARED),
        *_DOMAIN_COLUMNS,
    )
    notes = (f"{_GAP_NOTE} Best and second are marked for each task.", *_baseline_notes(view, statistics))
    return [_table(view, "domains", ", IN and OUT of domain", columns, rows, notes=notes, blocks=tuple(blocks))] if rows else []


def advantage(view: BenchmarkView) -> list[Table]:
    """What certain texts are worth: the main score of each task minus that of its twin without them (WIPO-AT eq. 4, the DWPI
    advantage), with an interval from those of both. No score of a task can be this: it takes two results, and a task sees one. No table
    if the benchmark has no such twins, or none was measured beside its task.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.tables import advantage
        >>> advantage(collect(Path("results")).worlds["sample"].benchmark("DAPFAM"))  # results of 'patent-mteb run'
        []
    """
    ending = view.facts.lacking
    names, full = {task.plain: task.short for task in view.tasks}, {task.plain: task.name for task in view.tasks}
    pairs = [name for name in names if ending and name + ending in names]
    rows: list[tuple[Cell, ...]] = []
    for run in view.best_first:
        found = {name: _difference(view, run, full[name], full[name + ending]) for name in pairs}
        if any(cell.value is not None for cell in found.values()):
            rows.append((Cell(run), *found.values()))
    columns = (
        Column("model", "Model", numeric=False),
        *(Column(name, names[name], further=("too_small", "interval_low", "interval_high")) for name in pairs),
    )
    note = (
        f"Main score of a task minus that of the task whose name ends with {ending}: above 0 the texts that it lacks help. In brackets the "
        "95% interval from those of both scores, as if they were independent: too wide rather than too narrow."
    )
    return [_table(view, "advantage", f", advantage over {ending.lstrip('.')}", columns, rows, notes=(note,))] if rows else []


def _difference(view: BenchmarkView, run: str, whole: str, lacking: str) -> Cell:
    """The score of one task minus that of another, missing where either is."""
    keys = (whole, run, ""), (lacking, run, "")
    first, second = (view.cells.get(key, Cell()) for key in keys)
    if not (isinstance(first.value, float) and isinstance(second.value, float)):
        return Cell()
    limits = [view.intervals[key] for key in keys if key in view.intervals]
    interval = difference_interval(first.value, limits[0], second.value, limits[1]) if len(limits) == 2 else None
    small = _either(first, second)
    return Cell(first.value - second.value, small=small, interval=interval, ranked=not small)
