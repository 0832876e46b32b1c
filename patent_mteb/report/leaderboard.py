"""The tables of a leaderboard of one's own, in Markdown.

They hold published data, and own data with a declared name. Tables of own data are named after the data set and its
content, so that results on two states never share a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from patent_mteb.data.loading import plain_name
from patent_mteb.report.cells import slug
from patent_mteb.report.rendering import as_markdown
from patent_mteb.report.tables import ranking
from patent_mteb.report.words import visible
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import PatentBenchmark
from patent_mteb.tasks.suite import TasksOnOwnData


def boards(known: Sequence[Entry], damaged: Sequence[str] = ()) -> str:
    """Return one table over the benchmarks and one a benchmark; ``damaged`` names each result that is left out."""
    total, public = catalogue.total(), catalogue.benchmarks()
    measured = [one for one in public if any(one.name in entry.benchmarks for entry in known)]
    names = {one.name for one in public}
    shown = [entry for entry in known if entry.benchmarks & names]
    further = [one for one in measured if one.name not in total.groups]
    excluded = [f"Left out: {what}." for what in damaged]
    tables = [_board(total, shown, "Patent embedding leaderboard", further, excluded)]
    tables += [_board(one, [entry for entry in known if one.name in entry.benchmarks], one.name) for one in measured]
    return "\n".join([*tables, *_own_boards(known)])


def _own_boards(known: Sequence[Entry]) -> Iterable[str]:
    """Yield one table for each state of each own data set."""
    tasks = TasksOnOwnData()
    versions: dict[str, str] = {}
    for record in (record for entry in known for record in entry.own):
        tasks.task(record)
        versions[f".{record.get('revision', '')}"] = f"version {visible(record.get('version', '1'))}, "
    note = "Own data: these scores say nothing about the published benchmark whose rules they follow."
    for benchmark in tasks.benchmarks:
        names = {task.metadata.name for task in benchmark.task_classes}
        own = {task for entry in known for task in entry.scores if plain_name(task) in names}
        for state in sorted({task.removeprefix(plain_name(task)) for task in own}):
            mine = []
            for entry in known:
                measured = own & {task for task in entry.scores if task.endswith(state)}
                if measured:
                    scores = {plain_name(task): value for task, value in entry.scores.items() if task in measured}
                    mine.append(Entry(entry.label, entry.benchmarks, scores))
            title = f"{benchmark.name} (own data, {versions.get(state, '')}content {state.removeprefix('.local-')})"
            yield _board(benchmark, mine, title, more=(note,))


def _board(
    benchmark: PatentBenchmark,
    known: Iterable[Entry],
    title: str,
    further: Sequence[PatentBenchmark] = (),
    more: Sequence[str] = (),
) -> str:
    scores = [(entry.label, entry.scores) for entry in known]
    notes = ("A dash is a mean over tasks of which one or more were not measured.", *more)
    return as_markdown(ranking(benchmark, scores, name=slug(title), title=title, further=further, notes=notes).marked())


@dataclass(frozen=True)
class Entry:
    """The label of a model, its benchmarks, the main score of each task, and the records of own data."""

    label: str
    benchmarks: frozenset[str]
    scores: dict[str, float]
    own: tuple[Mapping[str, str], ...] = ()
