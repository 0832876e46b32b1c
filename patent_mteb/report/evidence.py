"""The evidence of a result (:mod:`patent_mteb.tasks.evidence`), checked: against the result's own numbers, against the place where it was
found, and against the evidence of other results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.report.records import Result
from patent_mteb.tasks.evidence import KEY, seal

__all__ = ["ContradictionError", "check_evidence", "disagreements", "evidence_of"]

_NO_REVISION = "no_revision_available"
_ROUNDING = 1e-3
"""Share by which the figures of vectors may differ where only their last bits do."""


class ContradictionError(DataError):
    """A result that its own evidence, or the per-query scores beside it, contradict."""


def evidence_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The evidence in an entry of scores, empty where there is none.

    Example:
        >>> from patent_mteb.report.evidence import evidence_of
        >>> evidence_of({"main_score": 0.5, "evidence": {"version": "0.1.0"}}), evidence_of({"main_score": 0.5})
        ({'version': '0.1.0'}, {})
    """
    found = entry.get(KEY)
    return found if isinstance(found, dict) else {}


def check_evidence(entry: Mapping[str, Any], result: Result) -> None:
    """Hold an entry of scores against its evidence; one without passes.

    Args:
        entry: as the file holds it.
        result: the same, as the report takes it.

    Raises:
        ContradictionError: a number is not the one that was measured, or the evidence is that of another task, model or state of the data.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.data.worlds import WORLDS
        >>> from patent_mteb.report.evidence import check_evidence
        >>> from patent_mteb.report.records import ModelFolder, Result
        >>> from patent_mteb.report.suite import suite_tasks
        >>> task, source = suite_tasks()["PatentCitationRetrieval"], ModelFolder(Path(), "my/model", "1", "", {}, {})
        >>> result = Result(source, task, task.name, WORLDS["sample"], "sample-1", "sample-1", {}, 0, "", Path("my.json"))
        >>> check_evidence({"ndcg_at_10": 0.99, "evidence": {"seal": "of 0.5"}}, result)
        Traceback (most recent call last):
        patent_mteb.report.evidence.ContradictionError: my.json: the scores are not those that were measured: ...
    """
    found = evidence_of(entry)
    if not found:
        return
    problem = ""
    if found.get("seal") != seal(entry):
        problem = "the scores are not those that were measured: the result or its evidence was changed afterwards"
    elif differing := _misplaced(found, result):
        problem = f"a result of another place ({'; '.join(differing)})"
    if problem:
        raise ContradictionError(f"{problem}; left out", path=result.path, remedy="delete the file and run the task again")


def _misplaced(found: Mapping[str, Any], result: Result) -> list[str]:
    """What the evidence says otherwise than the place of the file."""
    model, data = _part(found, "model"), _part(found, "data")
    pairs = {
        "model": (_as_folder(str(model.get("name"))), _as_folder(result.source.model)),
        "model_revision": (model.get("revision") or _NO_REVISION, result.source.revision),
        "task": (data.get("task"), result.name),
        "dataset_revision": (data.get("revision"), result.data_revision),
    }
    return [f"{what} {measured!r}, found at {place!r}" for what, (measured, place) in pairs.items() if measured != place]


def _part(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = found.get(name)
    return part if isinstance(part, dict) else {}


def _as_folder(model: str) -> str:
    return model.replace("/", "__").replace(" ", "_")


def disagreements(results: Iterable[Result]) -> list[str]:
    """One sentence for each result that has in common with another what should decide it, and differs all the same.

    Compared are results of one task on the same data and texts: rankings and vectors by models of the same settings and weights (of the
    same name and revision where they have no weights); and the weights of models of the same name and revision.

    Example:
        >>> from patent_mteb.report.evidence import disagreements
        >>> disagreements([])
        []
    """
    known = [result for result in results if result.evidence]
    messages = []
    for same, differing in ((_decided, _other_outcome), (_named, _other_weights)):
        for group in _groups(known, same):
            unlike = group[:1]
            for result in group[1:]:
                problems = [differing(one, result) for one in unlike]
                if all(problems):
                    messages.append(_sentence(unlike[0], result, problems[0]))
                    unlike.append(result)
    return messages


def _groups(results: Sequence[Result], same: Callable[[Result], tuple[Any, ...] | None]) -> list[list[Result]]:
    groups: dict[tuple[Any, ...], list[Result]] = defaultdict(list)
    for result in results:
        if (key := same(result)) is not None:
            groups[key].append(result)
    return list(groups.values())


def _decided(result: Result) -> tuple[Any, ...] | None:
    """What decides the ranking or the vectors of a result."""
    model, texts = _part(result.evidence, "model"), _part(result.evidence, "texts")
    digests = tuple(sorted((role, str(_part(texts, role).get("digest"))) for role in texts))
    weights = model.get("weights")
    who = (weights,) if weights else (model.get("name"), model.get("revision"))
    read = _part(result.evidence, "data").get("digest")
    return (result.task.name, read, digests, model.get("settings"), *who) if digests else None


def _other_outcome(first: Result, other: Result) -> str:
    """What two results differ in that should not, empty for nothing but rounding."""
    told = "have the same data, settings and weights, but other"
    for what, name in (("rankings", "ranking"), ("predictions", "predictions")):
        if _part(first.evidence, name).get("digest") != _part(other.evidence, name).get("digest"):
            return f"{told} {what}"
    ours, theirs = _part(first.evidence, "embeddings"), _part(other.evidence, "embeddings")
    close = all(_close(ours.get(name), theirs.get(name)) for name in ("length", "mean")) and ours.get("width") == theirs.get("width")
    return "" if close else f"{told} vectors"


def _close(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return abs(ours - theirs) <= _ROUNDING * max(abs(ours), abs(theirs))
    return bool(ours == theirs)


def _named(result: Result) -> tuple[Any, ...] | None:
    model = _part(result.evidence, "model")
    return (model.get("name"), model.get("revision"), model.get("settings")) if model.get("weights") else None


def _other_weights(first: Result, other: Result) -> str:
    ours, theirs = (_part(result.evidence, "model").get("weights") for result in (first, other))
    return "" if ours == theirs else "are of one model and revision, but of other weights"


def _sentence(first: Result, other: Result, what: str) -> str:
    devices = {str(_part(result.evidence, "model").get("device")) for result in (first, other)}
    where = f" (computed on {' and '.join(sorted(filter(None, devices)))})" if len(devices) > 1 else ""
    files = f"{_short(first.path)} and {_short(other.path)}"
    return f"{files} {what}{where}. Remedy: run both again on one machine; if they still differ, the model is not deterministic."


def _short(path: Path) -> Path:
    """Where a result lies, from the folder of its model on."""
    return Path(*path.parts[-4:])
