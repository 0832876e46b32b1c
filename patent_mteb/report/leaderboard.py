"""A leaderboard for a repository of one's own: one small file a model, and a page of tables from all of them.

It needs no server and grows model by model. It accepts published data, and own data with a declared name. Tables of own
data are named after the data set and its content, so that results on two states never share a table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patent_mteb.data.loading import plain_name
from patent_mteb.errors import DataError
from patent_mteb.identity import json_digest
from patent_mteb.report.cells import slug
from patent_mteb.report.folders import read_document
from patent_mteb.report.rendering import as_markdown
from patent_mteb.report.tables import ranking
from patent_mteb.report.words import visible
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import PatentBenchmark
from patent_mteb.tasks.suite import TasksOnOwnData

_SEAL = "seal"
__all__ = ["Entry", "boards", "entries", "leaderboard", "summary"]


def summary(rows: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, str]] = (), name: str = "") -> dict[str, Any]:
    """Return the main scores of one model, by benchmark and task.

    Args:
        rows: of :attr:`patent_mteb.report.collect.Collected.results`.
        own: the records of own data in results (:mod:`patent_mteb.tasks.own_data`), with their revision.
        name: what a leaderboard calls a local checkpoint.

    Example:
        >>> from patent_mteb.report.leaderboard import summary
        >>> row = {"model": "org/name", "revision": "abc", "settings": "{}", "data": "WIPO-AT"}
        >>> row |= {"data_revision": "local-0123456789ab"}
        >>> score = {"benchmark": "WIPO-AT", "task": "PatentCitationRetrieval"}
        >>> score |= {"main_score": "ndcg_at_10", "value": 0.5}
        >>> summary([row | score])["scores"]
        {'WIPO-AT': {'PatentCitationRetrieval': {'ndcg_at_10': 0.5}}}
    """
    first = rows[0]
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        scores.setdefault(row["benchmark"], {})[row["task"]] = {row["main_score"]: row["value"]}
    found = {
        "model": first["model"],
        "revision": first["revision"],
        "settings": json.loads(first["settings"]),
        "data_revisions": dict(sorted({row["data"]: row["data_revision"] for row in rows}.items())),
        "scores": scores,
        **({"name": name} if name else {}),
        **({"own": [dict(record) for record in own]} if own else {}),
    }
    return {**found, _SEAL: json_digest(found)}


def leaderboard(summaries: Path) -> str:
    """A markdown leaderboard from all summaries below a folder: one table over the benchmarks and one a benchmark.

    A damaged summary is excluded, and a note of the first table names it.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.export import prepare
        >>> from patent_mteb.report.leaderboard import leaderboard
        >>> done = prepare(Path("results"), Path("out"))  # results of 'patent-mteb run'
        >>> leaderboard(Path("out/summaries")).splitlines()[0]
        '## Patent embedding leaderboard'
    """
    return boards(*entries(summaries))


def entries(summaries: Path) -> tuple[list[Entry], list[str]]:
    """Return the summaries below a folder, and one clause for each that cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.leaderboard import entries
        >>> entries(Path("nowhere"))
        ([], [])
    """
    found: list[Entry] = []
    damaged: list[str] = []
    for path in sorted(summaries.rglob("summary.json")):
        try:
            found.append(_read(path))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError) as error:
            why = "a symbolic link" if path.is_symlink() else f"not a summary of an export ({error!r:.200})"
            damaged.append(f"{path.relative_to(summaries)} is {why}")
    return found, damaged


def boards(known: Sequence[Entry], damaged: Sequence[str] = ()) -> str:
    """Return the tables of some summaries in Markdown.

    Example:
        >>> from patent_mteb.report.leaderboard import boards
        >>> boards([]).splitlines()[0]
        '## Patent embedding leaderboard'
    """
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
    """A summary: the label of its model, its benchmarks, the main score of each task, and the records of own data."""

    label: str
    benchmarks: frozenset[str]
    scores: dict[str, float]
    own: tuple[Mapping[str, str], ...] = ()


def _read(path: Path) -> Entry:
    if path.is_symlink():
        raise ValueError("a symbolic link")
    found = read_document(path)
    if found.pop(_SEAL, "") != json_digest(found):
        raise ValueError(
            "its scores are not those that were exported: it was changed afterwards, or is of an older version"
        )
    settings = ", ".join(f"{key}={value}" for key, value in found["settings"].items() if key not in ("kind", "parts"))
    model = f"{found['name']} (local checkpoint)" if found.get("name") else found["model"]
    label = f"{model} @{found['revision'][:12]}" + (f" ({settings})" if settings else "")
    scores: dict[str, float] = {}
    for task, measures in (item for tasks in found["scores"].values() for item in tasks.items()):
        (value,) = measures.values()
        if not isinstance(value, float | int) or not math.isfinite(value):
            raise ValueError(f"the score of {task} is {value!r}")
        scores[task] = float(value)
    own = tuple({str(key): str(value) for key, value in record.items()} for record in found.get("own", ()))
    return Entry(label, frozenset(found["scores"]), scores, own)
