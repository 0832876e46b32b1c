"""The tables of a report, and their forms: terminal, markdown, csv, LaTeX.

A :class:`Table` holds values; marks (best bold, second underlined), letters and ranks are part of its cells, so all forms
show the same. What was not measured is missing: it shows as a dash (empty in csv), and a mean over it is missing too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from patent_mteb.report.collect import WORLDS, Collected
from patent_mteb.report.statistics import LETTER, Statistics

if TYPE_CHECKING:
    pass
from patent_mteb.report.cells import MISSING, Cell, Column, Table, mark, short, slug, titled

__all__ = ["build", "domain_scores", "headline"]

_HEADLINES = ("PatentCitationRetrieval", "PatentDAPFAMTACToTACRetrieval", "PatenTEBRetrievalMIXED", "SophiaTacdRetrieval")

_DOMAIN_TASKS = {"PatenTEBRetrievalMIXED": {"in": "PatenTEBRetrievalIN", "out": "PatenTEBRetrievalOUT"}}
"""PatenTEB asks about IN and OUT of domain in tasks of their own, not in slices of one."""

_RUNS_A_TABLE = 6


def headline(scores: pl.DataFrame, *, domains: bool = True) -> str:
    """The task that stands for a family's retrieval: the paper's headline task if it was measured, else the one that most runs have.

    Args:
        scores: of one family in one world.
        domains: only tasks with IN and OUT scores.

    Returns:
        the task's name as in the results, empty if there is none.
    """
    found = scores.filter("main")
    if domains:
        found = found.filter(pl.col("slice").is_in(["in", "out"]) | pl.col("plain").is_in(list(_DOMAIN_TASKS)))
    else:
        found = found.filter(pl.col("plain").str.contains("Retrieval"))
    names = found.group_by("task", "plain", maintain_order=True).agg(pl.col("run").n_unique().alias("runs"))
    if names.is_empty():
        return ""
    preferred = names.filter(pl.col("plain").is_in(_HEADLINES))
    return str((preferred if len(preferred) else names.sort("runs", descending=True, maintain_order=True))["task"][0])


def build(collected: Collected, statistics: Statistics) -> list[Table]:
    """All tables: for each world one a family (with its tasks and its domains in detail) and one over all families."""
    tables: list[Table] = []
    for world in collected.worlds:
        part = collected.in_world(world)
        tables.append(_overall(part, world))
        for family in part.families:
            tables += _family(part, family, world, statistics)
    return [table.marked() for table in tables]


def domain_scores(scores: pl.DataFrame) -> dict[tuple[str, str, str], float]:
    """Main scores by task, run and slice; where IN and OUT are tasks of their own, they count as slices of the mixed one."""
    rows = scores.filter("main").select("task", "run", "slice", "value").iter_rows()
    values = {(task, run, name): value for task, run, name, value in rows}
    for whole, parts in _DOMAIN_TASKS.items():
        for name, part in parts.items():
            for task, run, _ in [key for key in values if key[0].removesuffix(".sample") == part]:
                values[task.replace(part, whole), run, name] = values[task, run, ""]
    return values


def _benchmark(name: str) -> Any:
    from patent_mteb.tasks.catalogue import BENCHMARKS

    return next(benchmark for benchmark in BENCHMARKS if benchmark.name == name)


def _plain_scores(collected: Collected) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {run: {} for run in collected.runs}
    for run, plain, value in collected.results.select("run", "plain", "value").iter_rows():
        found[run][plain] = value
    return found


def _overall(collected: Collected, world: str) -> Table:
    """Means over the tasks of each family, and their macro-average."""
    from patent_mteb.tasks.benchmark import group_means, summary

    benchmark = _benchmark("PatentMTEB")
    families = tuple(benchmark.groups)
    rows: list[tuple[Cell, ...]] = []
    for run, scores in _plain_scores(collected).items():
        means = group_means(benchmark, scores)
        rows.append(
            (
                Cell(run),
                Cell(summary(benchmark, scores)["Overall"]),
                *(Cell(means[name]) for name in families),
                Cell(f"{len(scores)} of {_size(benchmark)}"),
            )
        )
    columns = (
        Column("model", "Model", numeric=False),
        Column("overall", "Overall"),
        *(Column(slug(name), name) for name in families),
        Column("tasks", "Tasks", numeric=False),
    )
    notes = (
        "A family's score is the mean main score over all its tasks, Overall the macro-average over the families. "
        f"{MISSING} is missing: a task of the family was not measured.",
    )
    return Table(slug(world, "overall"), titled(world, "All families"), columns, _best_first(rows), WORLDS[world], notes)


def _size(benchmark: Any) -> int:
    return sum(map(len, benchmark.groups.values()))


def _best_first(rows: list[tuple[Cell, ...]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows by their first number that is there, missing last."""

    def key(row: tuple[Cell, ...]) -> tuple[Any, ...]:
        return tuple((-cell.value if isinstance(cell.value, float) else float("inf")) for cell in row[1:]), str(row[0].value)

    return tuple(sorted(rows, key=key))


def _family(collected: Collected, family: str, world: str, statistics: Statistics) -> list[Table]:
    results = collected.results.filter(pl.col("family") == family)
    scores = collected.scores.filter(pl.col("family") == family)
    part = Collected(collected.folder, results, scores)
    tables = [_summary(part, family, world, statistics), *_tasks(part, family, world, statistics)]
    if not scores.filter(pl.col("slice").is_in(["in", "out"])).is_empty():
        tables.append(_domains(part, family, world, statistics))
    states = results.select("data", "data_revision").unique(maintain_order=True)
    if world != "sample":
        note = "Data: " + "; ".join(f"{data} at {revision[:24]}" for data, revision in states.iter_rows()) + "."
        tables = [replace(table, notes=(*table.notes, note)) for table in tables]
    return tables


def _letters(statistics: Statistics, task: str, run: str) -> str:
    score = statistics.scores.get((task, run))
    return LETTER if score is not None and score.better else ""


def _baseline_notes(statistics: Statistics, part: Collected) -> tuple[str, ...]:
    keys = part.results.select("task", "run").iter_rows()
    if not any(key in statistics.scores and statistics.scores[key].p is not None for key in keys):
        return ()
    return (
        f"{LETTER}: significantly better than {statistics.baseline} on the same queries (one-sided paired bootstrap, 10,000 resamples, "
        "Holm's correction over the models of a task, p < 0.05). Tasks without per-query scores are not tested.",
    )


def _gap(inside: float | None, outside: float | None) -> Cell:
    """Relative loss from IN to OUT in percent; missing where a side is missing or IN is 0."""
    if not inside or outside is None:
        return Cell(None, 1, "%")
    return Cell(100 * (inside - outside) / inside, 1, "%")


_DOMAIN_COLUMNS = (Column("in", "IN"), Column("out", "OUT"), Column("gap_percent", "Gap", marked=False))

_GAP_NOTE = "Gap is (IN − OUT) / IN."


def _domain_cells(values: Mapping[tuple[str, str, str], float], task: str, run: str) -> tuple[Cell, ...]:
    inside, outside = values.get((task, run, "in")), values.get((task, run, "out"))
    return Cell(inside), Cell(outside), _gap(inside, outside)


def _summary(part: Collected, family: str, world: str, statistics: Statistics) -> Table:
    """One row a run: the family's overall score, the means of its groups, and the headline task with IN beside OUT."""
    from patent_mteb.tasks.benchmark import group_means, summary

    benchmark = _benchmark(family)
    whole = tuple(summary(benchmark, {}))
    values = domain_scores(part.scores)
    task = headline(part.scores)
    plain = _plain_scores(part)
    common = set.intersection(*(set(scores) for scores in plain.values()))
    shared = 1 < len(common) < _size(benchmark) and len(plain) > 1
    rows: list[tuple[Cell, ...]] = []
    for run, scores in plain.items():
        means, overall = group_means(benchmark, scores), summary(benchmark, scores)
        row = [Cell(run), *(Cell(overall[name]) for name in whole)]
        if shared:
            row.append(Cell(sum(scores[name] for name in common) / len(common)))
        row += [Cell(means[group]) for group in benchmark.groups]
        if task:
            row += [Cell(values.get((task, run, "")), letters=_letters(statistics, task, run)), *_domain_cells(values, task, run)]
        rows.append((*row, Cell(f"{len(scores)} of {_size(benchmark)}")))
    headed = (Column("headline", short(task)), *_DOMAIN_COLUMNS) if task else ()
    columns = (
        Column("model", "Model", numeric=False),
        *(Column(name.lower(), name, marked=name == "Overall") for name in whole),
        *((Column(f"mean_of_{len(common)}_common", f"Mean of {len(common)} common"),) if shared else ()),
        *(Column(slug(group), group) for group in benchmark.groups),
        *headed,
        Column("tasks", "Tasks", numeric=False),
    )
    notes = [f"Overall is the mean over all {_size(benchmark)} tasks. {MISSING} is missing: a task of the mean was not measured."]
    if "Spread" in whole:
        notes.append("Spread is the largest minus the smallest task score.")
    if shared:
        notes.append(f"Mean of {len(common)} common: over the tasks that all models of this table have.")
    if task:
        measure = part.results.filter(pl.col("task") == task)["main_score"][0]
        notes += [f"{short(task)} is {task} ({measure}). {_GAP_NOTE}"]
        if parts := _DOMAIN_TASKS.get(task.removesuffix(".sample")):
            notes.append(f"IN and OUT are {parts['in']} and {parts['out']}, tasks with queries of their own.")
        notes += _baseline_notes(statistics, part)
    return Table(slug(world, family), titled(world, family), columns, _best_first(rows), WORLDS[world], tuple(notes))


def _tasks(part: Collected, family: str, world: str, statistics: Statistics) -> list[Table]:
    """One row a task, one column a run; several tables where there are many runs."""
    values = domain_scores(part.scores)
    tasks = part.results.select("task", "plain", "group", "main_score").unique(maintain_order=True).rows()
    runs = [str(row[0].value) for row in _best_first([_sorting_row(part, run) for run in part.runs])]
    marks = {task: mark([Cell(values.get((task, run, ""))) for run in runs]) for task, *_ in tasks}
    tables: list[Table] = []
    for start in range(0, len(runs), _RUNS_A_TABLE):
        some = runs[start : start + _RUNS_A_TABLE]
        rows = tuple(
            (
                Cell(group),
                Cell(plain),
                Cell(measure),
                *(
                    Cell(values.get((task, run, "")), mark=marks[task][start + place], letters=_letters(statistics, task, run))
                    for place, run in enumerate(some)
                ),
            )
            for task, plain, group, measure in tasks
        )
        columns = (
            Column("group", "Group", numeric=False),
            Column("task", "Task", numeric=False),
            Column("measure", "Measure", numeric=False),
            *(Column(run, run, marked=False) for run in some),
        )
        several = len(runs) > _RUNS_A_TABLE
        which = f", models {start + 1} to {start + len(some)} of {len(runs)}" if several else ""
        name = slug(world, family, "tasks", str(start // _RUNS_A_TABLE + 1) if several else "")
        notes = (f"{MISSING} is missing: not measured.", *_baseline_notes(statistics, part))
        tables.append(Table(name, titled(world, f"{family}, by task{which}"), columns, rows, WORLDS[world], notes))
    return tables


def _sorting_row(part: Collected, run: str) -> tuple[Cell, ...]:
    mine = part.results.filter(pl.col("run") == run)
    return Cell(run), Cell(float(len(mine))), Cell(float(mine["value"].to_numpy().mean()))


def _domains(part: Collected, family: str, world: str, statistics: Statistics) -> Table:
    """One row a task and run: all judgements, IN, OUT and the gap."""
    values = domain_scores(part.scores)
    sliced = part.scores.filter(pl.col("main") & pl.col("slice").is_in(["in", "out"]))
    rows: list[tuple[Cell, ...]] = []
    blocks: list[str] = []
    for task in sliced["task"].unique(maintain_order=True):
        measured = [run for run in part.runs if (task, run, "") in values]
        for run in sorted(measured, key=lambda run: -values[task, run, ""]):
            whole = Cell(values[task, run, ""], letters=_letters(statistics, task, run))
            rows.append((Cell(str(task).removesuffix(".sample")), Cell(run), whole, *_domain_cells(values, task, run)))
            blocks.append(str(task))
    columns = (
        Column("task", "Task", numeric=False),
        Column("model", "Model", numeric=False),
        Column("all", "ALL"),
        *_DOMAIN_COLUMNS,
    )
    notes = (f"{_GAP_NOTE} Best and second are marked for each task.", *_baseline_notes(statistics, part))
    title = titled(world, f"{family}, IN and OUT of domain")
    return Table(slug(world, family, "domains"), title, columns, tuple(rows), WORLDS[world], notes, tuple(blocks))
