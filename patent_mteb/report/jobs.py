"""The table to decide with: for each job of a patent searcher the models to use, their gap to BM25, and their cost.

A benchmark says which of its tasks stands for a job (:attr:`patent_mteb.tasks.benchmark.Facts.jobs`). A job is shown on
one benchmark: the one that most models were run on, of several the first of the suite. Scores of different measures are
never averaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from patent_mteb.report.cells import Cell, Column, Score, Table, number_columns, slug, supported_digits, text_columns
from patent_mteb.report.comparison import Comparison, compare_runs
from patent_mteb.report.series import Cost, cost_of_a_million, is_bm25, names_in_text
from patent_mteb.report.statistics import Statistics
from patent_mteb.report.view import BenchmarkView, DataSourceView, MeasuredTask
from patent_mteb.report.words import measure_title
from patent_mteb.tasks.benchmark import JOBS

_NAMED = 3  # names of a group, at most; the others are counted


@dataclass(frozen=True)
class Job:
    """What the results say on a job. ``best`` are the models tied with the best, best first; empty if not compared."""

    title: str
    view: BenchmarkView
    task: MeasuredTask
    part: str
    scores: Mapping[str, Cell]  # by run
    statistics: Mapping[str, Score | None]  # by run
    best: tuple[str, ...] = ()
    baseline: str = ""  # BM25, or the baseline of the report; empty if it was not run
    pairs: tuple[Comparison, ...] = ()  # of the runs with enough data
    costs: Mapping[str, Cost] = field(default_factory=dict)  # of the group, or of the highest score

    @property
    def gap(self) -> Comparison | None:
        """The best other model against the baseline."""
        ours = (pair for pair in self.pairs if self.baseline in (pair.first, pair.second))
        first = next(ours, None)  # pairs are in the order of scores
        return first.turned() if first and first.first == self.baseline else first

    @property
    def measure(self) -> str:
        """Name of the main score in the slice."""
        return f"{self.part}_{self.task.measure}" if self.part else self.task.measure

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% interval of the score of :attr:`first`; None if it is unknown."""
        score = self.statistics[self.first]
        return self.scores[self.first].interval or ((score.low, score.high) if score else None)

    @property
    def searches(self) -> int | None:
        """Queries of the score of :attr:`first`; None where it is not of a search."""
        rows = self.view.scores.filter(task=self.task.name, run=self.first, slice=self.part, main=True)
        return rows["n_queries"].first() if self.is_search else None  # type: ignore[return-value]

    @property
    def is_search(self) -> bool:
        return self.view.results.filter(task=self.task.name)["kind"][0] in ("Retrieval", "Reranking")

    def repeats(self, other: Job) -> bool:
        """Whether this is a slice with the scores of the whole: of a list in one field, all citations are in it."""
        values = [{run: cell.value for run, cell in job.scores.items()} for job in (self, other)]
        return self.task == other.task and values[0] == values[1]

    @property
    def first(self) -> str:
        """The best of the compared models, else the highest score."""
        order = {run: (not cell.small, float(cell.value or 0), run) for run, cell in self.scores.items()}
        return self.best[0] if self.best else max(order, key=order.__getitem__)

    @property
    def cheapest(self) -> tuple[str, str]:
        """The cheapest model of the group, and by what; empty where models were not compared."""
        devices = {tuple(cost.hours) for cost in self.costs.values()}
        if not self.best:
            return "", ""
        if len(devices) == 1 and len(*devices) == 1:
            return min(self.best, key=lambda run: [*self.costs[run].hours.values()]), "time"
        sizes = {run: cost.gigabytes for run, cost in self.costs.items() if cost.gigabytes is not None}
        return (min(self.best, key=sizes.__getitem__), "memory") if len(sizes) == len(self.best) else ("", "")


def jobs(source: DataSourceView, statistics: Statistics) -> list[Job]:
    """Return the jobs of a data source in the order of reports.

    Where no benchmark has a task of a job, they are the headline tasks, under their own names. A slice with the same
    scores as the whole task is left out.
    """
    found: dict[str, tuple[BenchmarkView, MeasuredTask, str]] = {}
    runs: dict[str, int] = {}
    for view in source.benchmarks:
        tasks = {task.plain: task for task in view.tasks}
        for title, (plain, part) in view.facts.jobs.items():
            count = view.run_counts[tasks[plain].name, part] if plain in tasks else 0
            if count > runs.get(title, 0):
                found[title], runs[title] = (view, tasks[plain], part), count
    if not found:
        heads = ((view, view.headline) for view in source.benchmarks)
        found = {f"{view.name}: {head.short}": (view, head, "") for view, head in heads if head}
    order = [*(title for title in JOBS if title in found), *(title for title in found if title not in JOBS)]
    made: list[Job] = []
    for job in (_job(title, *found[title], statistics) for title in order):
        if not any(job.repeats(other) for other in made):
            made.append(job)
    return made


def _job(title: str, view: BenchmarkView, task: MeasuredTask, part: str, statistics: Statistics) -> Job:
    cells = {run: view.cells.get((task.name, run, part), Cell()) for run in view.runs}
    scores = {run: cell for run, cell in cells.items() if cell.value is not None}
    known = {run: statistics.of(view.data_source.name, task.name, run, part) for run in scores}
    compared = {run: score for run, score in known.items() if score and score.tied_with_best is not None}
    usable = {run: score for run, score in compared.items() if not scores[run].small}
    tied = (run for run, score in usable.items() if score.tied_with_best)
    best = sorted(tied, key=lambda run: usable[run].position or 0)
    pairs = compare_runs(view, task, part, list(usable), statistics.test)
    baseline = _baseline(view, scores, statistics)
    job = Job(title, view, task, part, scores, known, tuple(best), baseline, tuple(pairs))
    return replace(job, costs={run: cost_of_a_million(view.results, run) for run in best or [job.first]})


def _baseline(view: BenchmarkView, scores: Mapping[str, Cell], statistics: Statistics) -> str:
    """Return the baseline of the report, else the BM25 with the highest score; empty if there is none."""
    if statistics.baseline:
        return statistics.baseline
    models = dict(view.results.select("run", "model").iter_rows())
    return max(filter(lambda run: is_bm25(models[run]), scores), key=lambda run: scores[run].value or 0, default="")


def table(source: DataSourceView, found: Sequence[Job], statistics: Statistics) -> Table:
    """Return one row a job."""
    runs = list(source.main_scores)
    names = names_in_text(source.results)
    other = statistics.baseline or "BM25"
    columns = (
        *text_columns(job="Job", best="Best models"),
        Column("models", "Models", marked=False, folded=True),
        Column("score", "Score", marked=False, further=("too_small", "low", "high", "n")),
        Column("gap", f"Gap to {names.get(other, other)}", marked=False, further=("interval_low", "interval_high")),
        *number_columns(helped="Helps", hurt="Hurts"),
        Column("queries", "Searches", marked=False, folded=True),
        *number_columns(cpu_hours="CPU hours", gpu_hours="GPU hours", gigabytes="GB"),
        *text_columns(gap_of="Gap of"),
        Column("against", "Gap to", numeric=False, folded=True),
        *text_columns(cheapest="Cheapest", task="Task", part="Slice", measure="Measure"),
    )
    several = (
        len({job.baseline for job in found if job.baseline}) > 1
        or sum(map(is_bm25, source.results["model"].unique())) > 1
    )
    rows = tuple(tuple(_cells(job, names, names.get(other, other), several=several)) for job in found)
    name = slug(source.data_source.name, "jobs")
    title = source.data_source.titled("Which model for which job" if len(runs) > 1 else "What the model does")
    notes = _notes(found, other, len(runs))
    return Table(name, title, columns, rows, source.data_source.banner, tuple(notes))


def _cells(job: Job, names: Mapping[str, str], other: str, *, several: bool) -> Iterator[Cell]:
    first, gap = job.first, job.gap
    score, cell = job.statistics[first], job.scores[first]
    interval = job.interval
    cost, (cheapest, by) = job.costs[first], job.cheapest
    yield from (Cell(job.title), Cell("; ".join(job.best), title=_group(job, names)))
    yield Cell(len(job.scores), 0)
    score = score and replace(score, tied_with_best=None)  # that the best is tied with itself needs no mark
    digits = supported_digits(interval)
    yield Cell(cell.value, digits, small=cell.small, interval=interval, score=score, title=f"{cell.value:.{digits}f}")
    if gap:
        shown = f"{gap.difference:+z.{gap.digits}f}"
        yield Cell(gap.difference, gap.digits_of_ends, interval=gap.interval, title=shown)
        counts = ((count, f"{100 * count / gap.queries:.0f} of 100") for count in (gap.higher, gap.lower))
        yield from (Cell(count, 0, title=share) for count, share in counts)
    else:
        yield from [Cell()] * 3
    yield Cell(job.searches, 0, title=f"{job.searches:,}" if job.searches else "")
    for amount in (cost.hours.get("CPU"), cost.hours.get("GPU"), cost.gigabytes):
        yield Cell(amount, 1, title="" if amount is None else f"{amount:.2g}" if amount < 100 else f"{amount:.0f}")
    yield Cell(gap.first if gap else "", title=names[gap.first] if gap else _why_no_gap(job, other))
    against = gap.second if gap and several else ""
    yield Cell(against, title=names.get(against, ""))
    yield Cell(cheapest or None, title=f"{names[cheapest]} (by {by})" if cheapest else "")
    yield from (Cell(job.task.name), Cell(job.part), Cell(job.measure, title=measure_title(job.measure)))


def _why_no_gap(job: Job, other: str) -> str:
    if not job.is_search and job.baseline not in job.scores:
        return f"{other} does not do this"
    if not job.baseline:
        return f"{other} was not run"
    return "nothing to compare with" if len(job.scores) == 1 else "not compared"


def _group(job: Job, names: Mapping[str, str]) -> str:
    """Return the best models in words."""
    if len(job.scores) == 1:
        return f"{names[job.first]} (the only model)"
    if job.scores[job.first].small:
        return f"not ranked: {job.scores[job.first].small}"
    if not job.best:
        return f"not compared; highest: {names[job.first]}"
    more = len(job.best) - _NAMED
    untested = sum(score is None or score.tied_with_best is None for score in job.statistics.values())
    named = ", ".join(names[run] for run in job.best[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return named + (f" ({untested} not compared)" if untested else "")


def _notes(found: Sequence[Job], baseline: str, runs: int) -> Iterator[str]:
    yield (
        "A job is shown on one benchmark: the one that most models were run on, of several the first of the suite."
        " Scores have as many digits as their 95% interval, in brackets, supports."
    )
    if runs > 1:
        yield (
            "Best models: the best and those not distinguishable from it on the same queries (95%, jointly over all"
            " pairs of models); not compared without scores by query. The interval of a gap is of this pair alone."
            " Cheapest: of these, the one with the fewest hours if all were timed on one kind of device, else the"
            " smallest vectors."
        )
    if any(job.baseline for job in found):
        yield (
            f"Gap: the best other model minus {baseline} on the same queries. Helps, hurts: the searches in which its"
            " score is higher, lower; in the others they are equal."
        )
    elif searched := [job.task.name for job in found if job.is_search]:
        names = " ".join(dict.fromkeys(searched))
        yield f"To compare with a keyword search, run it and report again: patent-mteb run -t {names} -m bm25"
    yield (
        "Hours and GB: of the best model for a million patents, from the texts of the benchmark's tasks that reached"
        " it on its machine, and of the index or its vectors; a fusion costs what its parts cost. A dash was not"
        " measured, as where the store held all vectors."
    )
