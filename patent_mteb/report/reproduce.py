"""What a paper states beside what was measured here, number by number.

A stated number (:mod:`patent_mteb.published.expected`) is compared with the same model on the same task, under the paper's own
protocol and on the paper's data; anything else is no reproduction: results on the sample or on a local copy, a composed or truncated
model, and, where a paper states a number with and without prompts, the one of the other setting. Of a mean over tasks all have to
be there.

``OK`` is a difference within the stated tolerance, ``OKISH`` one within three times that, ``FAIL`` any other; each line says which
recorded settings differ, or may differ, from the paper's: the prompts that the result recorded, and device, type of number and settings
of its evidence (:mod:`patent_mteb.tasks.evidence`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from patent_mteb.published.expected import Expected, expected
from patent_mteb.report.collect import Collected
from patent_mteb.report.published import SETTINGS_OF_THE_PAPER, not_the_papers, protocol_slice

__all__ = ["OKISH", "Line", "Reproduction", "reproduce", "verdict"]

OKISH = 3.0
"""Times the tolerance up to which a difference is called OKISH."""

_COMPUTED = {"device": "device", "dtype": "type of number", "settings": "settings (digest)", "version": "patent-mteb"}
"""What the evidence of a result says of its model, and how a line calls it."""


@dataclass(frozen=True)
class Line:
    """One number: ``paper`` and ``here`` as fractions, ``verdict`` OK, OKISH or FAIL, ``settings`` what could explain a difference."""

    model: str
    run: str
    tasks: tuple[str, ...]
    metric: str
    source: str
    paper: float
    here: float
    verdict: str
    settings: tuple[str, ...]

    @property
    def difference(self) -> float:
        """What was measured minus what is printed."""
        return self.here - self.paper


@dataclass(frozen=True)
class Reproduction:
    """The lines, in the order of the expected values, and what was left out and why."""

    lines: tuple[Line, ...]
    messages: tuple[str, ...]

    @property
    def failed(self) -> int:
        """How many lines are FAIL."""
        return sum(line.verdict == "FAIL" for line in self.lines)


def verdict(difference: float, tolerance: float) -> str:
    """OK, OKISH or FAIL.

    Example:
        >>> from patent_mteb.report.reproduce import verdict
        >>> [verdict(difference, tolerance=0.01) for difference in (-0.01, 0.02, 0.04)]
        ['OK', 'OKISH', 'FAIL']
    """
    times = abs(difference) / tolerance - 1e-9
    return "OK" if times <= 1 else "OKISH" if times <= OKISH else "FAIL"


def reproduce(collected: Collected, model: str | None = None, rows: Iterable[Expected] | None = None) -> Reproduction:
    """Every stated number that a results folder has a measured one for.

    Args:
        collected: the results.
        model: only this model; all if None.
        rows: stated numbers; those of the papers if None.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.reproduce import reproduce
        >>> reproduce(collect(Path("results"))).messages  # results of 'patent-mteb run' on the sample
        ('No result on published data: nothing to compare with the papers.',)
    """
    world = collected.worlds.get("real")
    if world is None:
        return Reproduction((), ("No result on published data: nothing to compare with the papers.",))
    messages = []
    results: dict[tuple[str, str], dict[str, Any]] = {}
    scores: dict[tuple[str, str, str], float] = {}
    for view in world.benchmarks:
        if reason := not_the_papers(view):
            messages.append(f"{view.name}: {reason}, so its results are not compared.")
            continue
        results |= {(row["run"], row["plain"]): row for row in view.results.iter_rows(named=True)}
        for run, task, name, measure, value in view.scores.select("run", "plain", "slice", "measure", "value").iter_rows():
            scores[run, task, f"{name}_{measure}" if name else measure] = value
    runs = {(row["run"], row["model"]) for row in results.values() if row["model"] == model or model is None}
    wanted = list(expected() if rows is None else rows)
    lines = tuple(line for run, name in sorted(runs) for line in _lines(run, [row for row in wanted if row.model == name], results, scores))
    messages += _other_settings(row for row in results.values() if row["model"] == model or model is None)
    if not lines:
        messages.append("No stated number has a measured one: nothing to compare." + (f" The model is {model}." if model else ""))
    return Reproduction(lines, tuple(messages))


def _other_settings(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Which runs are not compared because their settings make another model of them than the paper's."""
    counts = Counter(result["run"] for result in results if not _plain(result))
    return [
        f"{run}: {count} result{'s' * (count > 1)} not compared: with settings of its own it is not the model of the paper."
        for run, count in sorted(counts.items())
    ]


def _lines(
    run: str, rows: list[Expected], results: Mapping[tuple[str, str], Mapping[str, Any]], scores: Mapping[tuple[str, str, str], float]
) -> Iterator[Line]:
    stated: dict[tuple[tuple[str, ...], str], set[str]] = {}
    for row in rows:
        stated.setdefault((row.tasks, row.metric), set()).add(row.settings.get("prompts", ""))
    for row in rows:
        measured = [results.get((run, task)) for task in row.tasks]
        values = [scores.get((run, task, _name(row))) for task in row.tasks]
        if any(result is None or value is None or not _plain(result) for result, value in zip(measured, values, strict=True)):
            continue
        known = [result for result in measured if result is not None]
        both = len(stated[row.tasks, row.metric]) > 1
        if both and _prompted(known) not in ("", row.settings["prompts"]):
            continue
        here = sum(value for value in values if value is not None) / len(values)
        outcome = verdict(here - row.value, row.tolerance)
        yield Line(row.model, run, row.tasks, row.metric, row.source, row.value, here, outcome, _settings(row, known))


def _name(row: Expected) -> str:
    """Name of the score in a result."""
    prefix = protocol_slice("Retrieval", "") if row.protocol == "paper" else ""
    return "_".join(filter(None, (prefix, row.metric)))


def _plain(result: Mapping[str, Any]) -> bool:
    """Whether the model was used as it is: no setting but its prompts."""
    return set(json.loads(result["settings"])) <= set(SETTINGS_OF_THE_PAPER)


def _prompted(results: Iterable[Mapping[str, Any]]) -> str:
    """``yes`` or ``none``, ``mixed`` where results differ in that; empty where one does not say."""
    found = {_one_prompted(result) for result in results}
    return "" if "" in found else found.pop() if len(found) == 1 else "mixed"


def _one_prompted(result: Mapping[str, Any]) -> str:
    if result["prompts"] is None:
        return {"none": "none", "not recorded": ""}.get(result["prompt"], "yes")
    texts = list(_texts(json.loads(result["prompts"])))
    return "yes" if any(texts) else "" if None in texts else "none"


def _texts(prompts: Any) -> Iterator[str | None]:
    """The recorded texts of all roles, and of all encoders of a model; None for one that is not known."""
    if isinstance(prompts, Mapping):
        for inner in prompts.values():
            yield from _texts(inner)
    else:
        yield prompts


def _settings(row: Expected, results: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """What is recorded of the run beside what the paper states."""
    found = [f"prompt here: {_each(results, 'prompt')}, in the paper: {row.settings.get('prompts', 'not stated')}"]
    found += [f"{name} in the paper: {value}" for name, value in row.settings.items() if name not in SETTINGS_OF_THE_PAPER]
    computed = [json.loads(result["computed"] or "{}") for result in results]
    for name, told in _COMPUTED.items():
        values = sorted({str(one[name]) for one in computed if one.get(name)})
        found += [f"{told} here: {', '.join(values)}"] if values else []
    if not any(computed):
        found.append("device, type of number and settings here: not recorded")
    found += [f"data {key}@{revision:.12}" for key, revision in sorted({(each["data"], each["data_revision"]) for each in results})]
    return (*found, *sorted({each["versions"] for each in results if each["versions"]}))


def _each(results: list[Mapping[str, Any]], column: str) -> str:
    """The one value of all results, or that of each task."""
    values = {result["plain"]: str(result[column]) for result in results}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return "; ".join(f"{task}: {value}" for task, value in values.items())
