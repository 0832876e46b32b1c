"""Compare the scores that the papers state with those measured here, number by number.

A stated score (:func:`patent_mteb.published.expected`) is compared with the same model on the same task, under the
paper's own protocol and on the paper's data. Results on the sample or on a local copy are not compared, nor are
composed or truncated models. Where a paper states a score with and without prompts, only the one of the result's
setting is. A mean over tasks needs a result of each. Each line names the recorded settings that may differ from the
paper's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from patent_mteb.published import Expected, expected, interval
from patent_mteb.report.cells import Cell, Table, number_columns, text_columns
from patent_mteb.report.collect import Collected
from patent_mteb.report.published import SETTINGS_OF_THE_PAPER, measured_scores, on_the_papers_data
from patent_mteb.report.words import measure_title

OKISH = 3.0
"""Times the tolerance up to which a difference is called OKISH."""

_VERDICTS = ("FAIL", "OKISH", "OK")
_COMPUTED = {"device": "device", "dtype": "type of number", "settings": "settings (digest)", "version": "patent-mteb"}
"""Keys of the evidence of a result, and their names in a line."""


@dataclass(frozen=True)
class Line:
    """One number: ``paper`` and ``here`` are fractions, ``settings`` could explain a difference."""

    model: str
    run: str
    tasks: tuple[str, ...]
    metric: str
    source: str
    paper: float
    here: float
    verdict: str  # OK, OKISH or FAIL
    settings: tuple[str, ...]
    interval: tuple[float, float] | None = None  # as the paper prints it

    @property
    def difference(self) -> float:
        return self.here - self.paper

    @property
    def inside(self) -> bool | None:
        """Whether the printed interval contains the measured number, None without any."""
        return None if self.interval is None else self.interval[0] <= self.here <= self.interval[1]


@dataclass(frozen=True)
class Reproduction:
    """The lines, in the order of the expected scores, and messages on excluded results."""

    lines: tuple[Line, ...]
    messages: tuple[str, ...]

    @property
    def failed(self) -> int:
        return sum(line.verdict == "FAIL" for line in self.lines)


def verdict(difference: float, tolerance: float) -> str:
    times = abs(difference) / tolerance - 1e-9
    return "OK" if times <= 1 else "OKISH" if times <= OKISH else "FAIL"


def reproduce(collected: Collected, model: str | None = None, rows: Iterable[Expected] | None = None) -> Reproduction:
    """Compare every stated score for which a results folder has a measured one."""
    folder = "" if model is None else model.replace("/", "__").replace(" ", "_")
    messages = [message for message in collected.excluded if folder in message]
    source = collected.data_sources.get("real")
    if source is None:
        return Reproduction((), (*messages, "No result on published data: nothing to compare with the papers."))
    results: dict[tuple[str, str], dict[str, Any]] = {}
    scores: dict[tuple[str, str, str], tuple[float, str]] = {}
    for view in source.benchmarks:
        view, excluded = on_the_papers_data(view)
        messages += excluded
        results |= {(row["run"], row["plain"]): row for row in view.results.iter_rows(named=True)}
        scores |= measured_scores(view)
    chosen = [row for row in results.values() if row["model"] == model or model is None]
    wanted = list(expected() if rows is None else rows)
    lines = tuple(
        line
        for run, name in sorted({(row["run"], row["model"]) for row in chosen})
        for line in _lines(run, [row for row in wanted if row.model == name], results, scores)
    )
    messages += [
        f"{run}: {count} result{'s' * (count > 1)} not compared: with settings of its own it is not the model of the"
        " paper."
        for run, count in sorted(Counter(row["run"] for row in chosen if not _plain(row)).items())
    ]
    if not lines:
        messages.append(
            "No stated number has a measured one: nothing to compare." + (f" The model is {model}." if model else "")
        )
    return Reproduction(lines, tuple(messages))


def as_json(found: Reproduction) -> dict[str, Any]:
    lines = [asdict(line) | {"difference": line.difference, "inside": line.inside} for line in found.lines]
    return {"lines": lines, "messages": list(found.messages)}


def table(found: Reproduction) -> Table | None:
    """Return a table with one row a number, FAIL first; None if nothing was compared."""
    if not found.lines:
        return None
    counts = Counter(line.verdict for line in found.lines)
    verdicts = ", ".join(f"{counts[name]} {name}" for name in _VERDICTS if counts[name])
    columns = (
        *text_columns(model="Model", task="Task", metric="Measure"),
        *number_columns(paper="Paper", here="Here", difference="Difference"),
        *text_columns(verdict="Verdict", printed_interval="Printed interval", inside="Inside", source="Source"),
        *text_columns(explains="Could explain"),
    )
    notes = [
        f"{verdicts}. OK: within half a unit of the last printed digit and 1% of the number; OKISH: within {OKISH:g}"
        " times that; FAIL: any other."
    ]
    if any(line.interval for line in found.lines):
        notes.append(
            "A printed interval is that of WIPO-AT's Table 23, which does not state the text of its queries and"
            " contradicts Table 10."
        )
    rows = tuple(map(_row, sorted(found.lines, key=lambda line: _VERDICTS.index(line.verdict))))
    title = "Reproduction: the papers' scores and those measured here"
    return Table("reproduction", title, columns, rows, notes=tuple(notes))


def _row(line: Line) -> tuple[Cell, ...]:
    tasks = line.tasks[0] + (f" and {len(line.tasks) - 1} more" if len(line.tasks) > 1 else "")
    return (
        *(Cell(value) for value in (line.run, tasks)),
        Cell(line.metric, title=measure_title(line.metric)),
        *(Cell(value) for value in (line.paper, line.here, line.difference, line.verdict)),
        Cell(f"{line.interval[0]:.4f} to {line.interval[1]:.4f}" if line.interval else None),
        Cell({True: "yes", False: "no", None: None}[line.inside]),
        Cell(line.source),
        Cell("; ".join(line.settings) if line.verdict != "OK" else None),
    )


def _lines(
    run: str,
    rows: list[Expected],
    results: Mapping[tuple[str, str], Mapping[str, Any]],
    scores: Mapping[tuple[str, str, str], tuple[float, str]],
) -> Iterator[Line]:
    stated: dict[tuple[tuple[str, ...], str], set[str]] = {}
    for row in rows:
        stated.setdefault((row.tasks, row.score), set()).add(row.settings.get("prompts", ""))
    for row in rows:
        measured = [results[run, task] for task in row.tasks if (run, task) in results]
        values = [scores[run, task, row.score][0] for task in row.tasks if (run, task, row.score) in scores]
        if not len(measured) == len(values) == len(row.tasks) or not all(map(_plain, measured)):
            continue
        prompted = set(map(_prompted, measured))
        if len(stated[row.tasks, row.score]) > 1 and "" not in prompted and prompted != {row.settings["prompts"]}:
            continue
        here = sum(values) / len(values)
        outcome = verdict(here - row.value, row.tolerance)
        names, settings = (row.model, run, row.tasks, row.metric, row.source), _settings(row, measured)
        yield Line(*names, row.value, here, outcome, settings, interval(row.model, row.tasks, row.metric))


def _plain(result: Mapping[str, Any]) -> bool:
    """Whether the model has no settings except its prompts."""
    return set(json.loads(result["settings"])) <= set(SETTINGS_OF_THE_PAPER)


def _prompted(result: Mapping[str, Any]) -> str:
    """Return ``yes`` or ``none``; empty where a result does not record it."""
    if result["prompts"] is None:
        return {"none": "none", "not recorded": ""}.get(result["prompt"], "yes")
    texts = list(_texts(json.loads(result["prompts"])))
    return "yes" if any(texts) else "" if None in texts else "none"


def _texts(prompts: Any) -> Iterator[str | None]:
    """Yield the recorded texts of all roles and encoders of a model; None for an unknown one."""
    if isinstance(prompts, Mapping):
        for nested in prompts.values():
            yield from _texts(nested)
    else:
        yield prompts


def _settings(row: Expected, results: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the recorded settings of the run and those that the paper states."""
    prompts = {result["plain"]: str(result["prompt"]) for result in results}
    same = len(set(prompts.values())) == 1
    here = results[0]["prompt"] if same else "; ".join(f"{task}: {prompt}" for task, prompt in prompts.items())
    found = [f"prompt here: {here}, in the paper: {row.settings.get('prompts', 'not stated')}"]
    others = {name: value for name, value in row.settings.items() if name not in SETTINGS_OF_THE_PAPER}
    found += [f"{name} in the paper: {value}" for name, value in others.items()]
    computed = [json.loads(result["computed"] or "{}") for result in results]
    for name, label in _COMPUTED.items():
        values = sorted({str(one[name]) for one in computed if one.get(name)})
        found += [f"{label} here: {', '.join(values)}"] if values else []
    data = sorted({(result["data"], result["data_revision"]) for result in results})
    found += [f"data {key}@{revision:.12}" for key, revision in data]
    return (*found, *sorted({result["versions"] for result in results if result["versions"]}))
