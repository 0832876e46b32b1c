"""The tables of a report: over all benchmarks, and of each benchmark its runs, tasks, domains, pairs and ranks.

A missing value is shown as a dash (empty in csv), and so is a mean over it. Ranks are by a benchmark's own score, among
runs of equal coverage, with intervals. The frames for machines (``--format csv``, ``--json``) have columns that depend
on the version of the package alone (``docs/report.md`` lists them), never on the results.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from patent_mteb.identity import version
from patent_mteb.metrics.significance import MARK, SEED, SMALL_DIFFERENCE, difference_interval, p_text, step_down
from patent_mteb.report import jobs
from patent_mteb.report.cells import (
    MISSING,
    Cell,
    Column,
    Score,
    Table,
    mark,
    mean_cell,
    number_columns,
    slug,
    text_columns,
)
from patent_mteb.report.collect import Collected
from patent_mteb.report.records import NOT_WRITTEN, state_of_data
from patent_mteb.report.rendering import COMPARED
from patent_mteb.report.series import headline_results, query_efforts
from patent_mteb.report.statistics import (
    ALPHA,
    LETTER,
    RESAMPLES,
    Floats,
    Pairs,
    Statistics,
    scores_with,
)
from patent_mteb.report.view import JUDGEMENTS, BenchmarkView, DataSourceView, MeasuredTask, gap_percent
from patent_mteb.report.words import measure_title
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import PatentBenchmark, group_means, summary
from patent_mteb.tasks.catalogue import suite_tasks

TEST_NAMES = {
    "bootstrap": "paired bootstrap, 10,000 resamples",
    "t": "paired t test",
    "permutation": "paired permutation test, 10,000 permutations or all there are",
}
"""Names of the tests in notes."""

PAIRS_SCHEMA = {
    **dict.fromkeys(("data_source", "task", "first", "second"), pl.String),
    **dict.fromkeys(("difference", "p", "p_joint", "paper_p", "effect"), pl.Float64),
    "n": pl.Int64,
    "tied": pl.Boolean,
}
"""Columns of :func:`pairs_table`."""


def _of_task(view: BenchmarkView, statistics: Statistics, task: MeasuredTask) -> Table:
    """Return the statistics of the headline task with every slice; each run is compared with the best."""
    known = {
        (part, run): score
        for (data_source, name, part, run), score in statistics.scores.items()
        if (data_source, name) == (view.data_source.name, task.name)
    }
    pairs = statistics.pairs.get((view.data_source.name, task.name))
    better_than = {run: pairs.better_than(row) for row, run in enumerate(pairs.runs)} if pairs else {}
    rows: list[tuple[Cell, ...]] = []
    blocks: list[str] = []
    for part in sorted({part for part, _ in known}, key=lambda name: (name not in ("", "in", "out"), name)):
        cells = {run: view.cells.get((task.name, run, part), Cell()) for run in view.runs if (part, run) in known}
        by_score = sorted(cells, key=lambda run: (-float(cells[run].value or 0), run))
        for run in sorted(by_score, key=lambda run: known[part, run].position or len(cells)):
            score = known[part, run]
            row = [Cell(part or "all"), Cell(run), Cell(score.position, 0), cells[run]]
            row += [_number(score.low), _number(score.high), Cell(score.n, 0), _p(score.p_best), _p(score.p_best_joint)]
            row += [_p(score.p_baseline), _p(score.p_baseline_joint)] if statistics.baseline else []
            row += [
                replace(_number(score.effect), digits=2),
                Cell({True: "yes", False: "no", None: None}[score.tied_with_best]),
            ]
            rows.append((*row, Cell(score.tied_with), Cell("" if part else better_than.get(run, ""))))
            blocks.append(part)
    columns = (
        *text_columns(slice="Slice", model="Model"),
        *number_columns(position="#"),
        Column("score", task.short, further=("too_small",)),
        *number_columns(low="Low", high="High", n="n", p_best="p", p_best_joint="Joint p"),
        *(number_columns(p_baseline="p base", p_baseline_joint="Joint p base") if statistics.baseline else ()),
        *number_columns(effect="Effect"),
        *text_columns(tied_with_best="Tied with best", tied_with="Tied with", better_than="Better than"),
    )
    notes = (
        f"{task.name} ({measure_title(task.measure)}). Low and high: 95% interval of this score alone. p: two-sided,"
        f" against the best of the slice on the same queries ({TEST_NAMES[statistics.test]}), for this pair alone."
        " Effect: difference to the best in standard deviations of the differences by query (Cohen's d).",
        f"Joint p, Tied with, Better than (models by their #) hold for all pairs of the slice together: the chance that"
        f" any model is called better than an equal one is about {100 * ALPHA:.0f}% or less. Tied are models that these"
        f" queries do not distinguish (joint p of {ALPHA} or more); they need not be equal.",
        *((f"p base: against {statistics.baseline}.",) if statistics.baseline else ()),
    )
    title = f": intervals and tests, {task.short}"
    return view.table("statistics", title, columns, rows, notes=notes, blocks=tuple(blocks))


def _number(value: float | None) -> Cell:
    return Cell(value if value is not None and np.isfinite(value) else None)


def _p(value: float | None) -> Cell:
    return Cell(value, title="" if value is None else p_text(value))


def _detectable(view: BenchmarkView, statistics: Statistics) -> Table:
    """Return one row a task: the difference of two models that its queries can show."""
    rows = []
    for task in view.tasks:
        pairs = statistics.pairs.get((view.data_source.name, task.name))
        if pairs is None or pairs.detectable is None:
            continue
        scores = (statistics.of(view.data_source.name, task.name, run) for run in pairs.runs)
        tied = sum(bool(score.tied_with_best) for score in scores if score is not None)
        needed = None if pairs.needed is None else np.ceil(pairs.needed * pairs.n / pairs.independent)
        numbers = Cell(pairs.n, 0), Cell(len(pairs.runs), 0), Cell(pairs.detectable), Cell(needed, 0)
        rows.append((Cell(task.plain), *numbers, Cell(pairs.runs[0]), Cell(tied, 0)))
    columns = (
        *text_columns(task="Task"),
        *number_columns(n="n", models="Models", detectable="Detectable", needed=f"n for {SMALL_DIFFERENCE}"),
        *text_columns(best="Best"),
        *number_columns(tied="Tied"),
    )
    note = (
        "Detectable: the smallest true difference of two models that a two-sided paired test at 0.05 of this pair alone"
        " finds in about four of five cases, with the median spread of differences among the models here; the joint"
        " comparison of all pairs finds fewer. n for"
        f" {SMALL_DIFFERENCE}: the queries that a difference of {SMALL_DIFFERENCE} needs. Tied: models that are not"
        " distinguishable from the best, itself included."
    )
    return view.table("detectable", ": what each task can tell apart", columns, rows, notes=(note,))


def pairs_table(statistics: Statistics) -> pl.DataFrame:
    """Return one row a pair of runs on a task, the better run first (:data:`PAIRS_SCHEMA`)."""
    rows = []
    for (data_source, task), pairs in statistics.pairs.items():
        for pair in zip(*np.triu_indices(len(pairs.runs), 1), strict=True):
            first, second = pair
            numbers = pairs.means[first] - pairs.means[second], pairs.p[pair], pairs.joint[pair]
            last = None if pairs.paper_p is None else float(pairs.paper_p[pair]), float(pairs.effects[pair])
            names = pairs.runs[first], pairs.runs[second]
            tied = bool(pairs.joint[pair] >= ALPHA)
            rows.append((data_source, task, *names, *map(float, numbers), *last, pairs.n, tied))
    return pl.DataFrame(rows, schema=PAIRS_SCHEMA, orient="row")


_DIGITS = 9  # decimals to which equal scores agree: means of the same numbers differ in the last bits


@dataclass(frozen=True)
class Ranking:
    """Runs ranked by the mean over tasks that all of them have; equal scores share a rank."""

    tasks: int = 0
    complete: bool = False  # whether the runs have every task of the benchmark
    basis: str = ""  # what the tasks are, if runs with other tasks are ranked too
    scores: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    # 95% intervals of the ranks of all runs together, and of each score; empty if a score cannot be resampled.
    intervals: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    ends: Mapping[str, Score] = field(default_factory=dict)


def rank_runs(
    benchmark: PatentBenchmark,
    scores: Mapping[str, Mapping[str, float]],
    small: Mapping[str, Collection[str]] = MappingProxyType({}),
    pairs: Mapping[str, Pairs] = MappingProxyType({}),
    limits: Mapping[str, Mapping[str, Score]] = MappingProxyType({}),
    shared: Collection[str] = (),
    basis: str = "headlines",
) -> Ranking:
    """Rank the runs that have the same tasks.

    If all runs have the same tasks, the score is that of the benchmark: the mean over the tasks, for a macro-average
    over the groups' means. Otherwise it is the mean over ``shared`` tasks, which ``basis`` names: so systems that only
    search are ranked with models that also classify. Of these tasks, those are taken that give most scores; a run
    without one of them has no rank. Without them, runs with fewer tasks than others have no rank. Tasks with few
    queries, rows or classes (:mod:`patent_mteb.metrics.significance`) do not count.

    ``pairs`` and ``limits`` are the scores by query and the intervals of the tasks, from which the score is resampled.
    The intervals of ranks hold together: from one more than the number of runs that are better in a joint comparison of
    all pairs, to the number of runs that are not worse (Mogstad, Romano, Shaikh and Wilhelm 2024, section 3).
    """
    names = {task.metadata.name: group for group, tasks in benchmark.groups.items() for task in tasks}
    measured = {run: frozenset(names.keys() & own) for run, own in scores.items()}
    order = {name: place for place, name in enumerate(names)}
    coverage = {run: (own - set(small.get(run, ())), own) for run, own in measured.items()}
    if not any(usable for usable, _ in coverage.values()):
        return Ranking()
    counts = Counter(coverage.values())
    heads = {run: usable & set(shared) for run, (usable, _) in coverage.items()}
    is_shared = len(counts) > 1 and any(heads.values())

    def preferred(cover: tuple[frozenset[str], frozenset[str]]) -> tuple[int, int, int, list[int]]:
        places = sorted(order[name] for name in cover[0])
        return len(cover[0]), len(cover[1]), counts[cover], [-place for place in places]

    if is_shared:
        having = {own: [run for run, others in heads.items() if own <= others] for own in heads.values() if own}
        chosen = max(having, key=lambda own: (len(own) * len(having[own]), len(own), sorted(own)))
        most, runs = (chosen, chosen), having[chosen]
    else:
        most = max(coverage.values(), key=preferred)
        runs = [run for run, cover in coverage.items() if cover == most]
    groups: dict[str, list[str]] = {}
    for name in sorted(most[0], key=order.__getitem__):
        groups.setdefault(names[name] if benchmark.macro else "", []).append(name)
    values = {name: np.array([[scores[run][name] for run in runs]]) for name in most[0]}
    means = _macro([np.concatenate([values[name] for name in group]).mean(axis=0) for group in groups.values()])
    ranks = _ranks(means[None])[0]
    intervals, ends = {}, {}
    known = {name: (pairs[name].runs if name in pairs else (), limits.get(name, {})) for name in most[0]}
    if len(runs) > 1 and all(run in own or run in ends_of for run in runs for own, ends_of in known.values()):
        drawn = {name: _resampled(name, values[name], runs, pairs.get(name), limits.get(name, {})) for name in most[0]}
        resampled = _macro([np.mean([drawn[name] for name in group], axis=0) for group in groups.values()])
        low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
        ends = {run: Score(float(low[at]), float(high[at])) for at, run in enumerate(runs)}
        if len(most[0]) == 1:  # percentiles are too low for a single task with few scores above zero
            ends |= {
                run: Score(one.low, one.high) for run, one in limits.get(next(iter(most[0])), {}).items() if run in ends
            }
        _, joint = step_down(np.round(means, _DIGITS), (resampled - means).T.astype(np.float32))
        better = (joint < ALPHA) & (means[:, None] > means)  # [run, run that it is better than]
        intervals = {
            run: (1 + int(better[:, at].sum()), len(runs) - int(better[at].sum())) for at, run in enumerate(runs)
        }
    by_run = dict(zip(runs, means.tolist(), strict=True)), dict(zip(runs, ranks.tolist(), strict=True))
    return Ranking(len(most[0]), most[1] == names.keys(), basis if is_shared else "", *by_run, intervals, ends)


def _macro(means: Sequence[Floats]) -> Floats:
    return np.asarray(sum(means) / len(means))


def _ranks(scores: Floats) -> NDArray[np.int64]:
    """Return the rank of each of [n, runs] scores in its row, 1 for the highest."""
    return np.asarray(rankdata(-np.round(scores, _DIGITS), method="min", axis=1), dtype=np.int64)


def _resampled(
    task: str, scores: Floats, runs: Sequence[str], pairs: Pairs | None, limits: Mapping[str, Score]
) -> Floats:
    """Return [RESAMPLES, runs] scores of a task, from its [1, runs] scores.

    Its queries are resampled; tasks with the same queries share the resamples. A score without scores by query varies
    by its own interval, independently of the other runs, which overstates differences.
    """
    rng = np.random.default_rng([SEED, pairs.queries if pairs else zlib.crc32(task.encode())])
    order, places = rng.permutation(RESAMPLES), {run: place for place, run in enumerate(pairs.runs if pairs else ())}
    found = np.repeat(scores, RESAMPLES, axis=0)
    for at, run in enumerate(runs):
        if pairs and run in places:
            widened = np.sqrt(pairs.independent / max(pairs.independent - 1, 1))  # a resampled variance lacks 1 / n
            found[:, at] += (pairs.resampled[order, places[run]] - pairs.means[places[run]]) * widened
        else:
            found[:, at] += rng.normal(0, (limits[run].high - limits[run].low) / (2 * _NORMAL), RESAMPLES)
    return found


_NORMAL = 1.96  # standard deviations to each end of a 95% interval
_RUNS_SIDE_BY_SIDE = 6  # columns of models, a choice
_MEAN = ("too_small",)

_DOMAIN_COLUMNS = (
    *(Column(side, side.upper(), further=COMPARED) for side in ("in", "out")),
    Column("gap_percent", "Gap", marked=False, further=_MEAN),
)

_GAP_NOTE = "Gap is (IN − OUT) / IN."
_ABSENT_NOTE = f"{MISSING}: not all tasks of this mean were run."


def build(
    collected: Collected, statistics: Statistics, found: Mapping[str, Sequence[jobs.Job]] = MappingProxyType({})
) -> list[Table]:
    """Return all tables: for each data source one over all benchmarks, and several a benchmark.

    ``found`` are the jobs of each data source if they are known.
    """
    tables: list[Table] = []
    for name, source in collected.data_sources.items():
        own = found.get(name) or jobs.jobs(source, statistics)
        tables += [jobs.table(source, own, statistics), _overall(source, statistics)]
        for view in source.benchmarks:
            tables += _of_benchmark(view, statistics)
    return [table.marked() for table in tables]


def ranking(
    benchmark: PatentBenchmark,
    scores: Iterable[tuple[str, Mapping[str, float]]],
    small: Mapping[str, Collection[str]] = MappingProxyType({}),
    pairs: Mapping[str, Pairs] = MappingProxyType({}),
    limits: Mapping[str, Mapping[str, Score]] = MappingProxyType({}),
    *,
    name: str,
    title: str,
    further: Sequence[PatentBenchmark] = (),
    shared: Collection[str] = (),
    basis: str = "headlines",
    banner: str = "",
    notes: Sequence[str] = (),
) -> Table:
    """Return runs by rank and score over a benchmark, with the mean of each of its groups (:func:`rank_runs`)."""
    tasks = {name for one in (benchmark, *further) for name in _tasks(one)}
    by_label: dict[str, Mapping[str, float]] = {}
    for label, measured in scores:
        copies = sum(known == label or known.startswith(f"{label} #") for known in by_label)
        name_of_row = f"{label} #{copies + 1}" if copies else label
        by_label[name_of_row] = {task: value for task, value in measured.items() if task in tasks}
    ranked = rank_runs(benchmark, by_label, small, pairs, limits, shared, basis)
    rows: list[tuple[Cell, ...]] = []
    for label in _order(ranked, by_label):
        own, excluded = by_label[label], small.get(label, ())

        def overall(one: PatentBenchmark, own: Any = own, excluded: Any = excluded) -> Cell:
            return mean_cell(summary(one, own, excluded)["Overall"], _tasks(one), excluded)

        whole = replace(overall(benchmark), score=ranked.ends.get(label) if ranked.complete else None)
        means = (whole, *_means(benchmark, own, excluded), *map(overall, further))
        rows.append((Cell(label), *_rank_cells(ranked, label), *means, Cell(f"{len(own)} of {len(tasks)}")))
    columns = (
        *text_columns(model="Model"),
        *_rank_columns(ranked),
        Column("overall", "Overall", further=("low", "high")),
        *(Column(slug(label), label) for label in benchmark.groups),
        *(Column(slug(one.name), one.name, folded=True) for one in further),
        *text_columns(tasks="Tasks"),
    )
    if further:
        *first, last = (one.name for one in further)
        do = f"{', '.join(first)} and {last} do" if first else f"{last} does"
        notes = (*notes, f"Overall is the {benchmark.name} score; {do} not count towards it.")
    return Table(name, title, columns, tuple(rows), banner, (*_rank_notes(ranked, len(by_label)), *notes))


def _order(ranked: Ranking, scores: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Sort ranked runs by rank, then the others by the number of their tasks; equal ones by name."""
    return sorted(scores, key=lambda run: (ranked.ranks.get(run, inf), -len(scores[run]), run))


def _rank_cells(ranked: Ranking, run: str) -> list[Cell]:
    """Return the rank with its interval, and its score if that is not the overall score."""
    place = ranked.ranks.get(run)
    title = "not ranked" if ranked.tasks and place is None else ""
    rank = Cell(place, 0, interval=ranked.intervals.get(run), ranked=False, title=title)
    score = Cell(ranked.scores.get(run), score=ranked.ends.get(run))
    return [rank] if ranked.complete or not ranked.tasks else [rank, score]


def _rank_columns(ranked: Ranking) -> list[Column]:
    rank = Column("rank", "Rank", marked=False, further=("interval_low", "interval_high"))
    if ranked.complete or not ranked.tasks:
        return [rank]
    what = f"Score, {_tasks_in_words(ranked.tasks)}"
    if ranked.basis:
        what = "Headline" if ranked.tasks == 1 else f"Mean of {ranked.tasks} {ranked.basis}"
    return [rank, Column("score", what, further=("low", "high"))]


def _tasks_in_words(count: int) -> str:
    return f"{count} task{'s' * (count > 1)}"


def _rank_notes(ranked: Ranking, runs: int) -> list[str]:
    """Return the note on the score of the ranks and the ranked runs."""
    count = len(ranked.ranks)
    if runs < 2 or not count:
        return []
    one = ranked.tasks == 1
    by = "Overall" if ranked.complete else f"the score on {_tasks_in_words(ranked.tasks)}"
    if ranked.basis:
        by = "the headline" if one else f"the mean of {ranked.tasks} {ranked.basis}"
    having = "all tasks" if ranked.complete else "this task" if one else "these tasks"
    others = runs - count
    return [
        f"Rank: by {by}, among {count} run{'s' * (count > 1)} with {having}."
        + (f" Not ranked: {others} run{'s' * (others > 1)} without one, or with {MARK} on one." if others else "")
        + (" In brackets: the 95% interval of all ranks together, over resampled queries." if ranked.intervals else "")
    ]


def _tasks(benchmark: PatentBenchmark) -> list[str]:
    return [task.metadata.name for task in benchmark.task_classes]


def _means(benchmark: PatentBenchmark, scores: Mapping[str, float], small: Collection[str]) -> list[Cell]:
    means = group_means(benchmark, scores, small)
    return [
        mean_cell(means[label], [task.metadata.name for task in tasks], small)
        for label, tasks in benchmark.groups.items()
    ]


def _overall(source: DataSourceView, statistics: Statistics) -> Table:
    """Return means over the tasks of each benchmark, and their macro-average."""
    total = _total(source)
    note = "The score of a benchmark is the mean main score over its tasks, Overall the macro-average over benchmarks."
    return ranking(
        total,
        source.main_scores.items(),
        source.small,
        {plain: pairs for view in source.benchmarks for plain, pairs in _pairs_of(view, statistics).items()},
        {plain: own for view in source.benchmarks for plain, own in _limits_of(view, statistics).items()},
        name=slug(source.data_source.name, "overall"),
        title=source.data_source.titled("All benchmarks"),
        further=[view.benchmark for view in source.benchmarks if view.name not in total.groups],
        shared={view.headline.plain for view in source.benchmarks if view.headline},
        banner=source.data_source.banner,
        notes=(f"{note} {_ABSENT_NOTE}",),
    )


def _total(source: DataSourceView) -> PatentBenchmark:
    """Return ``PatentMTEB``, or a benchmark of own data sets if all results are on these."""
    total = catalogue.total()
    if any(view.name in total.groups for view in source.benchmarks) or not source.benchmarks:
        return total
    facts = replace(total.facts, name="all own data sets")
    return PatentBenchmark(facts, {view.name: view.benchmark.task_classes for view in source.benchmarks}, macro=True)


def _pairs_of(view: BenchmarkView, statistics: Statistics) -> dict[str, Pairs]:
    """Return the comparisons by query of a benchmark's tasks, by plain task."""
    keys = {task.plain: (view.data_source.name, task.name) for task in view.tasks}
    return {plain: statistics.pairs[key] for plain, key in keys.items() if key in statistics.pairs}


def _limits_of(view: BenchmarkView, statistics: Statistics) -> dict[str, dict[str, Score]]:
    """Return the statistics of the scores of a benchmark's tasks, by plain task and run."""
    found: dict[str, dict[str, Score]] = {task.plain: {} for task in view.tasks}
    for task in view.tasks:
        for run in view.runs:
            if score := statistics.of(view.data_source.name, task.name, run):
                found[task.plain][run] = score
    return found


def _of_benchmark(view: BenchmarkView, statistics: Statistics) -> list[Table]:
    further = [_by_domain(view, statistics), delta_dwpi(view), _by_query_type(view), _costs(view)]
    further += [_of_task(view, statistics, view.headline)] if view.headline else []
    further.append(_detectable(view, statistics))
    tables = [_by_run(view, statistics), _by_task(view, statistics)]
    tables += [table for table in further if table.rows]
    states = view.results.select("data", "data_revision", "data_version").unique(maintain_order=True)
    if view.data_source.name != "sample":
        data = "; ".join(f"{key} at {state_of_data(at[:24], version)}" for key, at, version in states.iter_rows())
        tables = [replace(table, notes=(*table.notes, f"Data: {data}.")) for table in tables]
    return tables


def _score(view: BenchmarkView, statistics: Statistics, task: MeasuredTask, run: str, part: str = "") -> Cell:
    """Return the main score of a run on a task or a slice, with its statistics, and the letter if it is better."""
    measured, own_part = view.measured_as(task.name, part)
    score = statistics.of(view.data_source.name, measured, run, own_part)
    cell = view.cells.get((task.name, run, part), Cell())
    compared = score is not None and score.tied_with_best is not None
    untested = cell.value is not None and not cell.small and not compared and view.run_counts[task.name, part] > 1
    return replace(cell, score=score, letters=LETTER if score is not None and score.better else "", untested=untested)


def _domain_cells(view: BenchmarkView, statistics: Statistics, task: MeasuredTask, run: str) -> tuple[Cell, ...]:
    inside, outside = (_score(view, statistics, task, run, side) for side in ("in", "out"))
    gap = gap_percent(*(cell.value if isinstance(cell.value, float) else None for cell in (inside, outside)))
    return inside, outside, Cell(gap, 1, "%", small=_either(inside, outside) if gap is not None else "")


def _either(first: Cell, second: Cell) -> str:
    """Return why one of the two scores of a difference is small."""
    return "; ".join(dict.fromkeys(filter(None, (first.small, second.small))))


def _baseline_notes(view: BenchmarkView, statistics: Statistics) -> tuple[str, ...]:
    keys = view.results.select("task", "run").iter_rows()
    scores = (statistics.of(view.data_source.name, task, run) for task, run in keys)
    note = (
        f"{LETTER}: significantly better than {statistics.baseline} on the same queries"
        f" ({TEST_NAMES[statistics.test]}, two-sided, p < 0.05 jointly over all pairs of a task). Tasks without"
        " per-query scores are not tested."
    )
    return (note,) if any(score is not None and score.p_baseline is not None for score in scores) else ()


def _by_run(view: BenchmarkView, statistics: Statistics) -> Table:
    """Return one row a run: rank and overall score, the means of the groups, the headline task with IN and OUT."""
    benchmark, task = view.benchmark, view.domain_headline
    size = len(benchmark.task_classes)
    whole = tuple(summary(benchmark, {}))
    known = _pairs_of(view, statistics), _limits_of(view, statistics)
    shared = shared_tasks(view.main_scores, view.small, view.headline.plain if view.headline else "")
    ranked = rank_runs(benchmark, view.main_scores, view.small, *known, shared, SHARED)
    rows: list[tuple[Cell, ...]] = []
    for run in _order(ranked, view.main_scores):
        scores, excluded = view.main_scores[run], view.small.get(run, frozenset())
        overall = summary(benchmark, scores, excluded)
        row = [Cell(run), *_rank_cells(ranked, run)]
        row += [mean_cell(overall[name], _tasks(benchmark), excluded) for name in whole]
        row += _means(benchmark, scores, excluded)
        if task:
            row += [_score(view, statistics, task, run), *_domain_cells(view, statistics, task, run)]
        rows.append((*row, Cell(f"{len(scores)} of {size}")))
    columns = [*text_columns(model="Model"), *_rank_columns(ranked)]
    columns += [Column(name.lower(), name, marked=name == "Overall", further=_MEAN) for name in whole]
    columns += [Column(slug(group), group, further=_MEAN) for group in benchmark.groups]
    if task:
        columns.append(Column("headline", task.short, further=COMPARED))
        columns += [replace(column, key=f"headline_{column.key}") for column in _DOMAIN_COLUMNS]
    columns += text_columns(tasks="Tasks")
    over = f"{len(benchmark.groups)} groups, each the mean over its tasks" if benchmark.macro else f"{size} tasks"
    notes = [*_rank_notes(ranked, len(view.runs)), f"Overall is the mean over all {over}. {_ABSENT_NOTE}"]
    if "Spread" in whole:
        notes.append("Spread is the largest minus the smallest task score.")
    if task:
        notes.append(f"{task.short} is {task.name} ({measure_title(task.measure)}). {_GAP_NOTE}")
        if sides := view.facts.domain_tasks.get(task.plain):
            notes.append(f"IN and OUT are {sides['in']} and {sides['out']}, tasks with queries of their own.")
        notes += _baseline_notes(view, statistics)
    return view.table("", "", columns, rows, notes=tuple(notes))


SHARED = "shared tasks"


def shared_tasks(
    scores: Mapping[str, Mapping[str, float]], small: Mapping[str, Collection[str]], headline: str
) -> set[str]:
    """Return the tasks that all runs with the headline have, with enough data."""
    usable = [own.keys() - set(small.get(run, ())) for run, own in scores.items()]
    having = [own for own in usable if headline in own]
    return set.intersection(*map(set, having)) if having else set()


def _by_task(view: BenchmarkView, statistics: Statistics) -> Table:
    runs = view.best_first
    rows = []
    for task in view.tasks:
        scores = [_score(view, statistics, task, run) for run in runs]
        marked = [replace(cell, mark=name) for cell, name in zip(scores, mark(scores), strict=True)]
        rows.append(
            (Cell(task.group), Cell(task.plain), Cell(task.measure, title=measure_title(task.measure)), *marked)
        )
    columns = (
        *text_columns(group="Group", task="Task", measure="Measure"),
        *(Column(run, run, marked=False, further=COMPARED) for run in runs),
    )
    notes = (f"{MISSING}: not run.", *_baseline_notes(view, statistics))
    return view.table("tasks", ", by task", columns, rows, notes=notes, at_once=_RUNS_SIDE_BY_SIDE)


def _by_domain(view: BenchmarkView, statistics: Statistics) -> Table:
    """Return one row a run and task that is sliced by domain: all judgements, IN, OUT and the gap."""
    sliced = set(view.scores.filter(pl.col("main") & pl.col("slice").is_in(["in", "out"]))["task"])
    rows: list[tuple[Cell, ...]] = []
    blocks: list[str] = []
    for task in view.tasks if sliced else ():
        measured = {run: scores[task.plain] for run, scores in view.main_scores.items() if task.plain in scores}
        for run in sorted(measured, key=measured.__getitem__, reverse=True) if task.name in sliced else ():
            names = Cell(task.plain), Cell(run)
            score = _score(view, statistics, task, run)
            rows.append((*names, score, *_domain_cells(view, statistics, task, run)))
            blocks.append(task.name)
    columns = (*text_columns(task="Task", model="Model"), Column("all", "ALL", further=COMPARED), *_DOMAIN_COLUMNS)
    notes = (f"{_GAP_NOTE} Best and second are marked for each task.", *_baseline_notes(view, statistics))
    return view.table("domains", ", IN and OUT of domain", columns, rows, notes=notes, blocks=tuple(blocks))


def delta_dwpi(view: BenchmarkView) -> Table:
    """Return ΔDWPI (WIPO-AT eq. 4): a main score with the texts of DWPI minus that without them.

    In retrieval it is the headline's query view on the corpus view DWPIFull minus the headline (Table 15). It needs two
    results, so that no score of a task can state it. Without such pairs of measured tasks there are no rows.
    """
    ending, grid, headline = view.facts.lacking, view.facts.section_grid, view.facts.headline
    tasks = {task.plain: task for task in view.tasks}
    pairs = {name: name + ending for name in tasks if ending}
    expert = (grid.get(headline, ("",))[0], "DWPIFull")
    pairs |= {name: headline for name, views in grid.items() if views == expert}
    pairs = {whole: without for whole, without in pairs.items() if {whole, without} <= tasks.keys()}
    rows: list[tuple[Cell, ...]] = []
    for run in view.best_first:
        cells = [_difference(view, run, tasks[whole].name, tasks[without].name) for whole, without in pairs.items()]
        if any(cell.value is not None for cell in cells):
            rows.append((Cell(run), *cells))
    further = ("too_small", "interval_low", "interval_high")
    columns = (*text_columns(model="Model"), *(Column(name, tasks[name].short, further=further) for name in pairs))
    note = (
        f"ΔDWPI (WIPO-AT, eq. 4): main score of a task minus that of the task whose name ends with {ending}, and in"
        " retrieval of the corpus view DWPIFull minus that of the headline. Above 0 the texts of DWPI help. In brackets"
        " the 95% interval from those of both scores, as if they were independent: too wide rather than too narrow."
    )
    return view.table("delta-dwpi", ", ΔDWPI", columns, rows, notes=(note,))


def _by_query_type(view: BenchmarkView) -> Table:
    """Return a block of rows a kind of judgements, a column a representation of the query, and their mean."""
    frame = view.complete_queries
    tasks = [task for task in view.tasks if task.name in set(frame["task"])]
    values = {(run, task, part): (value, n) for run, task, part, value, n in frame.iter_rows()}
    rows: list[tuple[Cell, ...]] = []
    blocks: list[str] = []
    for part, title in JUDGEMENTS.items():
        for run in view.best_first if tasks else ():
            known = [values[run, task.name, part] for task in tasks if (run, task.name, part) in values]
            if len(known) < len(tasks):
                continue
            own, counts = [value for value, _ in known], [n for _, n in known]
            numbers = Cell(float(min(counts)), 0), *map(Cell, own), Cell(sum(own) / len(own))
            rows.append((Cell(run), Cell(title), *numbers))
            blocks.append(part)
    columns = (
        *text_columns(model="Model", judgements="Relevant"),
        *number_columns(n="n"),
        *(Column(task.plain, task.short) for task in tasks),
        Column("mean", "Mean"),
    )
    note = (
        f"Each query is represented in {len(tasks)} ways; the scores are over the queries that every representation and"
        f" model has ({rows[0][2].text if rows else 0} for all citations). X and Y, A: citations of these categories"
        " alone are relevant."
    )
    title = f": query types on common queries, {measure_title(tasks[0].measure) if tasks else ''}"
    return view.table("query-types", title, columns, rows, notes=(note,), blocks=tuple(blocks))


def _costs(view: BenchmarkView) -> Table:
    """Return what the queries of the headline task took of a paid ranking: means, and of some the spread."""
    known = pl.any_horizontal(pl.col("seconds_per_query", "calls", "tokens", "cost").is_not_null())
    rows: list[tuple[Cell, ...]] = []
    for row in headline_results(view).filter(known).sort("value", descending=True).iter_rows(named=True):
        each, n = query_efforts(row), row["n_queries"]
        cell = view.cells.get((row["task"], row["run"], ""), Cell())
        mean = {name: row[name] / n if row[name] is not None and n else None for name in ("calls", "tokens", "cost")}
        high = {name: float(np.quantile(amounts, 0.95)) for name, amounts in each.items() if len(amounts)}
        numbers = [Cell(mean["calls"], 1), Cell(mean["tokens"], 0), Cell(high.get("tokens"), 0)]
        numbers += [Cell(row["seconds_per_query"], 2), Cell(high.get("seconds"), 2)]
        numbers += [Cell(mean["cost"], 6), Cell(high.get("cost"), 6), Cell(row["cost"], 4)]
        rows.append((Cell(row["run"]), cell, *numbers))
    headline = view.headline
    columns = (
        *text_columns(model="Model"),
        Column("score", headline.short if headline else "", further=("too_small",)),
        *number_columns(calls="Calls", tokens="Tokens", tokens_95="95%", seconds="Seconds", seconds_95="95%"),
        *number_columns(cost="Cost", cost_95="95%", cost_all="Cost of all"),
    )
    note = (
        "Means a query of a reranker's second stage, a language model or a scored run. 95%: the quantile over the"
        " queries, where it is known what each took."
    )
    return view.table("costs", ": what the queries took", columns, rows, notes=(note,))


def _difference(view: BenchmarkView, run: str, whole: str, lacking: str) -> Cell:
    keys = (whole, run, ""), (lacking, run, "")
    first, second = (view.cells.get(key, Cell()) for key in keys)
    if not (isinstance(first.value, float) and isinstance(second.value, float)):
        return Cell()
    limits = [view.intervals[key] for key in keys if key in view.intervals]
    interval = difference_interval(first.value, limits[0], second.value, limits[1]) if len(limits) == 2 else None
    small = _either(first, second)
    return Cell(first.value - second.value, small=small, interval=interval, ranked=not small)


SCHEMA_VERSION = 1  # version of the JSON document; it changes with the meaning of a column or key
_RUN = ("data_source", "run", "model", "revision", "experiment", "settings", "parameters", "dims")


def tidy(collected: Collected, compared: Statistics) -> dict[str, pl.DataFrame]:
    """Return the frames by file name: a row is a number, a result, a run, or a pair of runs on a task."""
    results = collected.results.drop(NOT_WRITTEN)
    within = results.with_columns(pl.col("path", "queries").str.strip_prefix(f"{collected.folder}/"))
    scores = scores_with(collected, compared)
    return {"scores": scores, "results": within, "wide": wide(collected), "pairs": pairs_table(compared)}


def wide(collected: Collected) -> pl.DataFrame:
    """Return one row a run and data source, with the main score of each task as a column.

    The columns are all tasks of the suite, measured or not, then those of own data.
    """
    known = [*suite_tasks(), *collected.results["plain"].unique(maintain_order=True)]
    runs = collected.results.group_by(_RUN, maintain_order=True).agg()
    values = collected.results.pivot("plain", index=["data_source", "run"], values="value", aggregate_function="first")
    absent = [name for name in dict.fromkeys(known) if name not in values.columns]
    values = values.with_columns(pl.lit(None, pl.Float64).alias(name) for name in absent)
    return runs.join(values, on=["data_source", "run"], maintain_order="left").select(*_RUN, *dict.fromkeys(known))


def as_json(
    frames: Mapping[str, pl.DataFrame], lines: Sequence[Mapping[str, Any]], messages: Sequence[str]
) -> dict[str, Any]:
    """Return all data of a report as JSON-like values; numbers that are not finite are null."""

    def finite(value: Any) -> Any:
        return None if isinstance(value, float) and not isfinite(value) else value

    return {
        "schema": SCHEMA_VERSION,
        "version": version(),
        **{
            name: [{key: finite(value) for key, value in row.items()} for row in frames[name].iter_rows(named=True)]
            for name in ("results", "scores", "pairs")
        },
        "reproduction": lines,
        "messages": list(messages),
    }
