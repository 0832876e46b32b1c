"""The first screen of a report on a terminal: for each job the best model, how sure that is, then ranks and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from patent_mteb.metrics.significance import MARK
from patent_mteb.report.cells import MISSING, Cell, Table, supported_digits
from patent_mteb.report.jobs import Job
from patent_mteb.report.series import cost_of_a_million, names_in_text
from patent_mteb.report.view import DataSourceView
from patent_mteb.report.words import measure_title, visible
from patent_mteb.tasks.benchmark import JOBS

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

_DIGITS = 3
"""Of the scores in the table of models: their differences are in the lines above, with the digits that they support."""
_NAMED = 3
"""Models that are named as not distinguishable from the best, at most: more are counted."""


def answers(source: DataSourceView, jobs: Sequence[Job], overall: Table) -> RenderableType:
    """Return the answers of a data source; ``overall`` is its table over all benchmarks."""
    from rich.console import Group
    from rich.text import Text

    from patent_mteb.report.terminal import Hanging

    names = {run: visible(name) for run, name in names_in_text(source.results).items()}
    shown: list[RenderableType] = []
    if source.data_source.banner:
        shown += [Text(visible(source.data_source.banner), "bold yellow")]
    for number, job in enumerate(jobs):
        queries = f", {job.searches:,} searches" if job.searches else ""
        title = Text(visible(job.title), "bold")
        shown.append(
            title.append(visible(f" ({job.view.name}, {measure_title(job.measure)}{queries})"), "dim not bold")
        )
        shown += [Hanging(Text(f"  {line}")) for line in _lines(job, names, whole=not number)]
    costly = jobs[0].view if jobs else source  # of the first job, as on the page
    shown.append(_models(source, overall, names, costly.results))
    shown += [Hanging(Text(note, "dim")) for note in _notes(jobs, overall, names)]
    return Group(*shown, Text(""))


def _lines(job: Job, names: Mapping[str, str], *, whole: bool) -> Iterator[str]:
    """Yield the best model of a job, and its comparison: a sentence, or the difference alone."""
    first, cell, interval = job.first, job.scores[job.first], job.interval
    digits = supported_digits(interval)
    value = f"{cell.value:.{digits}f}{Cell(0.0, digits, small=cell.small, interval=interval).behind}"
    others = [names[run] for run in job.best if run != first]
    if len(others) > _NAMED:
        others = [*others[: _NAMED - 1], f"{len(others) - _NAMED + 1} more"]
    if job.best or len(job.scores) == 1:
        tied = f"; not distinguishable: {', '.join(others)}" if others else ""
        cheapest, by = job.cheapest
        tied += f"; cheapest of these: {names[cheapest]} (by {by})" if others and cheapest else ""
        yield f"best: {names[first]} {value}{tied}" if job.best else f"{names[first]} {value}"
    else:
        yield f"highest: {names[first]} {value}, {'too few searches' if cell.small else 'not compared'}"
    pair = job.gap or next(iter(job.pairs), None)
    if pair is None:
        return
    if whole:
        yield pair.sentence(names)
        return
    low, high = pair.ends
    verdict = "" if pair.distinguished else ", not distinguishable"
    two = f"{'' if pair.first == first else names[pair.first]} against {names[pair.second]}".strip()
    yield f"{two}: {pair.difference:+z.{pair.digits}f} [{low}, {high}]{verdict}; {pair.shares}"


def _models(source: DataSourceView, overall: Table, names: Mapping[str, str], costly: pl.DataFrame) -> RenderableType:
    """Return a row a model: its rank, its headlines and what a million patents cost it by some of the results."""
    from rich.text import Text

    from patent_mteb.report.terminal import Sheet

    heads = [(view, head) for view in source.benchmarks if (head := view.headline)]
    keys = [column.key for column in overall.columns]
    costs = {run: cost_of_a_million(costly, run) for run in source.main_scores}
    devices = sorted({device for cost in costs.values() for device in cost.hours})
    has_sizes = any(cost.gigabytes is not None for cost in costs.values())
    rows = []
    for row in overall.rows:
        run, rank = str(row[0].value), row[keys.index("rank")]
        cells = [view.cells.get((head.name, run, ""), Cell()) for view, head in heads]
        amounts = [costs[run].hours.get(device) for device in devices] + [costs[run].gigabytes] * has_sizes
        shown = [f"{replace(cell, digits=_DIGITS).text}{MARK * bool(cell.small)}" for cell in cells]
        shown += [MISSING if amount is None else f"{amount:.2g}" for amount in amounts]
        is_sure = rank.interval and rank.interval[0] == rank.interval[1]
        rows.append([Text(one) for one in (names[run], rank.text + ("" if is_sure else rank.behind), *shown)])
    titles = ["Model", "Rank", *(view.name for view, _ in heads), *(f"{device} hours" for device in devices)]
    titles += ["GB"] * has_sizes
    return Sheet(titles, rows, right=range(1, len(titles)), spare=range(2, 2 + len(heads)))


def _notes(jobs: Sequence[Job], overall: Table, names: Mapping[str, str]) -> Iterator[str]:
    runs = [str(row[0].value) for row in overall.rows]
    ranks = [note.partition(" In brackets")[0] for note in overall.notes if note.startswith("Rank:")]
    by = f" by {jobs[0].view.name}" if jobs else ""
    missing = "a dash was not measured, as where the store held all vectors"
    yield " ".join([*ranks, f"Hours and GB: of a million patents{by}; {missing}. In brackets: 95% intervals."])
    if any(job.pairs for job in jobs):
        yield (
            "Better, best and not distinguishable hold for all pairs of models together (95%); the interval of a"
            " difference is of its pair alone."
        )
    for run in runs if len(runs) <= len(JOBS) else ():
        _, bracket, settings = run.partition(" (")
        if bracket and settings.removesuffix(")") not in names[run]:
            yield visible(f"{names[run]}: {settings.removesuffix(')')}")
