"""Compare the scores that the papers state with those measured here, number by number.

A stated score (:func:`patent_mteb.published.expected`) is compared with a run of the same model on the same task, under
the paper's own protocol, on the paper's data and with the stated settings: prompts, token limit, and every other
setting of the model. A run with any other setting is listed under "other settings" with the difference, and is never
OK. Results on the sample or on a local copy are not compared. A mean over tasks needs a result of each. Each line names
the recorded settings that may differ from the paper's.

Where a paper allows two readings of a number, the nearer one is judged. A number that differs from the print may still
agree with what another harness measured with the same settings (:func:`patent_mteb.published.independent`): within half
a unit of its last digit and 1% of it. The interval of such a number is one of the queries, which are the same here, so
it decides nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from patent_mteb.identity import model_folder
from patent_mteb.published import Expected, Independent, expected, independent, interval
from patent_mteb.report.cells import Cell, Table, number_columns, text_columns
from patent_mteb.report.collect import Collected
from patent_mteb.report.published import measured_scores, on_the_papers_data
from patent_mteb.report.words import measure_title

OKISH = 3.0  # times the tolerance up to which a difference is called OKISH
AS_OTHERS = "differs from print, agrees with"
"""Start of the verdict on a number that another harness measured too; its number of harnesses follows."""

OTHER_READING = "other reading"
OTHER_SETTINGS = "other settings"
_VERDICTS = ("FAIL", AS_OTHERS, "OKISH", "OK", OTHER_READING, OTHER_SETTINGS)
_PROMPTS, _TOKENS = "prompts", "max_tokens"
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
    verdict: str  # begins with one of _VERDICTS
    settings: tuple[str, ...]
    interval: tuple[float, float] | None = None  # as the paper prints it
    cell: str = ""  # of the printed table
    others: tuple[str, ...] = ()  # what other harnesses measured with the same settings

    @property
    def difference(self) -> float:
        return self.here - self.paper

    @property
    def inside(self) -> bool | None:
        """Whether the printed interval contains the measured number, None without any."""
        return None if self.interval is None else self.interval[0] <= self.here <= self.interval[1]


@dataclass(frozen=True)
class Reproduction:
    """The compared numbers in the order of the expected scores, those of other settings, and messages."""

    lines: tuple[Line, ...]
    messages: tuple[str, ...]
    other_settings: tuple[Line, ...] = ()

    @property
    def failed(self) -> int:
        return sum(line.verdict == "FAIL" for line in self.lines)


def verdict(difference: float, tolerance: float) -> str:
    times = abs(difference) / tolerance - 1e-9
    return "OK" if times <= 1 else "OKISH" if times <= OKISH else "FAIL"


def reproduce(
    collected: Collected, models: Collection[str] = (), rows: Iterable[Expected] | None = None
) -> Reproduction:
    """Compare every stated score for which a results folder has a measured one, of some models or of all."""
    folders = [model_folder(model) for model in models] or [""]
    messages = [message for message in collected.excluded if any(folder in message for folder in folders)]
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
    chosen = [row for row in results.values() if row["model"] in models or not models]
    wanted = list(expected() if rows is None else rows)
    lines, others = list[Line](), list[Line]()
    for run, name in sorted({(row["run"], row["model"]) for row in chosen}):
        judged, unlike = _lines(run, [row for row in wanted if row.model == name], results, scores)
        lines += judged
        others += unlike
        messages += [
            f"{run}: {count} number{'s' * (count > 1)} not compared, for other settings than the paper's:"
            f" {'; '.join(differences)}."
            for differences, count in Counter(line.settings for line in unlike).items()
        ]
    if not lines:
        messages.append(
            "No stated number has a measured one: nothing to compare."
            + (f" The model is {', '.join(models)}." if models else "")
        )
    return Reproduction(tuple(lines), tuple(messages), tuple(others))


def as_json(found: Reproduction) -> dict[str, Any]:
    lines, others = (
        [asdict(line) | {"difference": line.difference, "inside": line.inside} for line in some]
        for some in (found.lines, found.other_settings)
    )
    return {"lines": lines, "other_settings": others, "messages": list(found.messages)}


def table(found: Reproduction) -> Table | None:
    """Return a table with one row a number, FAIL first; None if nothing was compared."""
    lines = sorted((*found.lines, *found.other_settings), key=lambda line: _position(line.verdict))
    if not lines:
        return None
    counts = Counter(line.verdict for line in lines)
    verdicts = ", ".join(f"{count} {name}" for name, count in counts.items())
    columns = (
        *text_columns(model="Model", task="Task", metric="Measure"),
        *number_columns(paper="Paper", here="Here", difference="Difference"),
        *text_columns(verdict="Verdict", printed_interval="Printed interval", inside="Inside", source="Source"),
        *text_columns(others="Measured by others", explains="Could explain"),
    )
    notes = [
        f"{verdicts}. OK: within half a unit of the last printed digit and 1% of the number; OKISH: within {OKISH:g}"
        " times that; FAIL: any other."
    ]
    if any(line.others for line in lines):
        notes.append(
            "Measured by others: by another harness on the released data with the settings of the run, which agrees"
            " within half a unit of its last digit and 1% of it. Its interval is of the queries and decides nothing."
        )
    if any(line.verdict == OTHER_READING for line in lines):
        notes.append("Other reading: the paper allows two readings of this number, and the other one is nearer.")
    if any(line.interval for line in lines):
        notes.append(
            "A printed interval is that of WIPO-AT's Table 23, which does not state the text of its queries and"
            " contradicts Table 10."
        )
    rows = tuple(map(_row, lines))
    title = "Reproduction: the papers' scores and those measured here"
    return Table("reproduction", title, columns, rows, notes=tuple(notes))


def _position(verdict: str) -> int:
    return next(number for number, name in enumerate(_VERDICTS) if name == verdict or verdict.startswith(f"{name} "))


def _row(line: Line) -> tuple[Cell, ...]:
    tasks = line.tasks[0] + (f" and {len(line.tasks) - 1} more" if len(line.tasks) > 1 else "")
    return (
        *(Cell(value) for value in (line.run, tasks)),
        Cell(line.metric, title=measure_title(line.metric)),
        *(Cell(value) for value in (line.paper, line.here, line.difference, line.verdict)),
        Cell(f"{line.interval[0]:.4f} to {line.interval[1]:.4f}" if line.interval else None),
        Cell({True: "yes", False: "no", None: None}[line.inside]),
        Cell(line.source),
        Cell("; ".join(line.others) or None),
        Cell("; ".join(line.settings) if line.verdict != "OK" else None),
    )


def _lines(
    run: str,
    rows: list[Expected],
    results: Mapping[tuple[str, str], Mapping[str, Any]],
    scores: Mapping[tuple[str, str, str], tuple[float, str]],
) -> tuple[list[Line], list[Line]]:
    """Return the lines of a run with the stated settings, and those with others that fit no other row."""
    judged, unlike = list[Line](), list[Line]()
    for row in rows:
        measured = [results[run, task] for task in row.tasks if (run, task) in results]
        values = [scores[run, task, row.score][0] for task in row.tasks if (run, task, row.score) in scores]
        if not len(measured) == len(values) == len(row.tasks):
            continue
        here = sum(values) / len(values)
        what = (row.model, run, row.tasks, row.metric, row.source, row.value, here)
        line = Line(*what, OTHER_SETTINGS, (), interval(row.model, row.tasks, row.metric), row.cell)
        if found := (row.not_run,) if row.not_run else _differences(row.settings, row.here, measured):
            unlike.append(replace(line, settings=found))
            continue
        outcome = verdict(line.difference, row.tolerance)
        agreeing, others = _others(row, here, measured)
        if outcome != "OK" and agreeing:
            outcome = f"{AS_OTHERS} {agreeing} independent harness{'es' * (agreeing > 1)}"
        judged.append(replace(line, verdict=outcome, settings=_settings(row, measured), others=others))
    known = {(line.tasks, line.metric) for line in judged}
    return _nearer(judged), [line for line in unlike if (line.tasks, line.metric) not in known]


def _nearer(lines: list[Line]) -> list[Line]:
    """Judge only the nearer of two readings of a cell."""
    nearest: dict[str, Line] = {}
    for line in lines:
        if line.cell and abs(line.difference) < abs(nearest.setdefault(line.cell, line).difference):
            nearest[line.cell] = line
    return [line if nearest.get(line.cell, line) is line else replace(line, verdict=OTHER_READING) for line in lines]


def _others(row: Expected, here: float, measured: list[Mapping[str, Any]]) -> tuple[int, tuple[str, ...]]:
    """Return how many harnesses agree with a number, and what each measured with the settings of the run."""
    found = [
        one
        for one in independent()
        if (one.model, one.tasks, one.score) == (row.model, row.tasks, row.score)
        and not _differences(one.settings, {}, measured)
    ]
    agreeing = {one.harness for one in found if abs(here - one.value) <= one.tolerance}
    return len(agreeing), tuple(map(_said, found))


def _said(one: Independent) -> str:
    interval = f" [{one.interval[0]:.4f}, {one.interval[1]:.4f}]" if one.interval else ""
    return f"{one.harness} {one.value:.4f}{interval}"


def _differences(
    settings: Mapping[str, str], others: Mapping[str, str], results: list[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return the settings of results that are not the stated ones, nor the others that the model must have."""
    found = [line for result in results for line in _unlike(settings, others, result)]
    return tuple(dict.fromkeys(found))


def _unlike(settings: Mapping[str, str], others: Mapping[str, str], result: Mapping[str, Any]) -> Iterator[str]:
    here = {name: str(value) for name, value in json.loads(result["settings"]).items()}
    wanted = {**others, **settings}
    here.pop(_PROMPTS, None)  # the recorded texts say it, even of a model without a prompt setting
    prompts, tokens = wanted.pop(_PROMPTS, ""), wanted.pop(_TOKENS, "")
    if prompts and (used := _prompted(result) or "not recorded") != prompts:
        yield f"prompts here: {used}, in the paper: {prompts}"
    cap = here.pop(_TOKENS, None)
    read = cap or str(json.loads(result["computed"]).get(_TOKENS, "not recorded"))
    own_fits = cap is None and (not tokens or (read.isdigit() and int(read) <= int(tokens)))
    if cap != tokens and not own_fits:
        yield f"{_TOKENS} here: {read}, in the paper: {tokens or 'not stated'}"
    for name in sorted(here.keys() | wanted.keys()):
        if here.get(name) != wanted.get(name):
            stated = settings.get(name, "not stated") + (f" ({others[name]} here)" if name in others else "")
            yield f"{name} here: {here.get(name, 'not set')}, in the paper: {stated}"


def _prompted(result: Mapping[str, Any]) -> str:
    """Return ``yes`` or ``none``; empty where a result does not record it."""
    texts = list(_texts(json.loads(result["prompts"] or "null")))
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
    computed = [json.loads(result["computed"]) for result in results]
    read = ", ".join(sorted({str(one[_TOKENS]) for one in computed if one.get(_TOKENS)})) or "not recorded"
    if _TOKENS in row.settings:
        found.append(f"{_TOKENS} here: {read}, in the paper: {row.settings[_TOKENS]}")
    same_here = {name: value for name, value in row.settings.items() if name not in (_PROMPTS, _TOKENS)}
    found += [f"{name} here and in the paper: {value}" for name, value in same_here.items()]
    found += [f"{name} here: {value}, in the paper: not stated" for name, value in row.here.items()]
    for name, label in _COMPUTED.items():
        values = sorted({str(one[name]) for one in computed if one.get(name)})
        found += [f"{label} here: {', '.join(values)}"] if values else []
    data = sorted({(result["data"], result["data_revision"]) for result in results})
    found += [f"data {key}@{revision:.12}" for key, revision in data]
    return (*found, *sorted({result["versions"] for result in results if result["versions"]}))
