"""The gate: a result, checked before any command prints, writes or compares its numbers.

A result is held against

* itself: its main score is the task's, all its numbers are finite;
* its evidence (:mod:`patent_mteb.tasks.evidence`), which must be there: the seal over its numbers, and the model, the
  task and the data that they were measured with, which must be those of the place where it was found;
* the version of the scoring: numbers that are computed in another way now are stale;
* the per-query scores next to it, where they are: their means, the queries, the ranking;
* the model, where one is loaded (:func:`check_model`): what it does, its weights, and the libraries that made the
  score.

Digests are not signatures. A forger who writes new seals is caught by the per-query scores or, if these are forged or
deleted, by computing a sample again: ``patent-mteb doctor RESULTS --recompute 5%``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from patent_mteb.errors import DataError
from patent_mteb.store.canaries import difference
from patent_mteb.tasks.evidence import KEY, seal

TOLERANCE = 1e-5
"""mteb rounds its scores to five decimals."""
_NO_REVISION = "no_revision_available"
_AGAIN = "run the task again"
_COUNTS = ("n_queries", "_n_pairs", "n_test", "n_classes")
_MOST = 2.0**53
_OF_MODEL = ("modules", "tokenizer")
"""Digests that libraries of other versions write in another form."""
_FORMS = ("transformers", "tokenizers", "sentence-transformers", "torch")
_LEXICAL = ("bm25s", "PyStemmer", "Snowball")


class ContradictionError(DataError):
    """A result that its evidence, its place, its per-query scores or its model contradict."""


@dataclass(frozen=True)
class Place:
    """Where a result was found: what it must be a result of.

    Attributes:
        path: the file.
        task: name with the state of the data (``.sample``).
        main_score, scoring: of the task as it is now.
        model, revision, experiment: as mteb's folders say; ``experiment`` is empty without settings.
        data_revision, subset: the data.
    """

    path: Path
    task: str
    main_score: str
    scoring: str
    model: str
    revision: str
    experiment: str
    data_revision: str
    subset: str


def evidence_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The evidence in an entry of scores, empty where there is none."""
    found = entry.get(KEY)
    return found if isinstance(found, dict) else {}


def part_of(evidence: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of the evidence, empty where there is none."""
    found = evidence.get(name)
    return found if isinstance(found, dict) else {}


def check_entry(entry: Mapping[str, Any], place: Place) -> dict[str, float]:
    """The numbers of an entry of scores."""
    found = evidence_of(entry)
    scores = _numbers(entry, place)
    if not found:
        raise _contradiction(
            place, "no evidence of what it was computed from: it is of an older version, or was changed"
        )
    if found.get("seal") != seal(entry):
        raise _contradiction(
            place, "the scores are not those that were measured: the result or its evidence was changed afterwards"
        )
    if differing := list(_misplaced(found, place)):
        raise _contradiction(place, f"a result of another place ({'; '.join(differing)})")
    if (scoring := found.get("scoring")) != place.scoring:
        raise _contradiction(place, f"scored by {scoring!r}, which is {place.scoring!r} now: its numbers may differ")
    return scores


def _contradiction(place: Place, problem: str) -> ContradictionError:
    return ContradictionError(problem, path=place.path, remedy=_AGAIN)


def _numbers(entry: Mapping[str, Any], place: Place) -> dict[str, float]:
    try:
        scores = {
            key: float(value)
            for key, value in entry.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
    except OverflowError:
        raise _contradiction(place, "a score is too large for a number") from None
    for key, value in scores.items():
        if key.endswith(_COUNTS) and not (0 <= value <= _MOST and value == int(value)):
            raise _contradiction(place, f"{key} is {value}, not a count")
        if math.isinf(value) and not key.startswith("nauc_"):
            raise _contradiction(place, f"{key} is {value}, not a score")
    main = entry.get("main_score")
    if not math.isfinite(scores.get("main_score", math.nan)):
        raise _contradiction(place, f"the main score is {main!r}, not a number")
    if not abs(scores.get(place.main_score, math.nan) - scores["main_score"]) <= TOLERANCE:
        raise _contradiction(
            place,
            f"the main score is not {place.main_score}, the present one of the task (it was changed, or is older)",
        )
    return scores


def _misplaced(found: Mapping[str, Any], place: Place) -> Iterator[str]:
    """What the evidence says otherwise than the place of the file."""
    model, data = part_of(found, "model"), part_of(found, "data")
    pairs = {
        "model": (_as_folder(str(model.get("name"))), _as_folder(place.model)),
        "model_revision": (model.get("revision") or _NO_REVISION, place.revision or _NO_REVISION),
        "task": (data.get("task"), place.task),
        "dataset_revision": (data.get("revision"), place.data_revision),
    }
    if "data_revision" not in place.experiment:  # where a run moves a result on other data to
        pairs["settings"] = (model.get("experiment") or "", place.experiment)
    for what, (measured, found_at) in pairs.items():
        if measured != found_at:
            yield f"{what} {measured!r}, found at {found_at!r}"


def _as_folder(model: str) -> str:
    return model.replace("/", "__").replace(" ", "_")


def check_model(found: Mapping[str, Any], live: Mapping[str, Any]) -> str:
    """Why a score was not made by a model that is at hand, empty where nothing speaks against it."""
    ours, theirs = part_of(live, "model"), part_of(found, "model")
    libraries, of_then = part_of(live, "libraries"), part_of(found, "libraries")
    digests = ["weights"]
    if all(libraries.get(name) == of_then.get(name) for name in _FORMS):
        digests += _OF_MODEL
    for name in digests:
        if ours.get(name) and theirs.get(name) and ours[name] != theirs[name]:
            return f"it was made by other {name} under this name and revision"
    if ours.get("lexical"):
        moved = [name for name in _LEXICAL if libraries.get(name) != of_then.get(name)]
        if moved:
            told = ", ".join(f"{name} {of_then.get(name)}, now {libraries.get(name)}" for name in moved)
            return f"it was made with other libraries ({told})"
    pairs = zip(ours.get("behaviour") or (), theirs.get("behaviour") or (), strict=False)
    return next(filter(None, (difference(now, then) for now, then in pairs)), "")


def per_query_measure(main_score: str) -> str:
    """Column of the per-query scores that belongs to a main score: ``ndcg_at_10`` -> ``ndcg@10``."""
    return main_score.replace("_at_", "@")


def queries_path(place: Place) -> Path:
    """The file of per-query scores next to a result, which need not be there."""
    return place.path.with_name(f"{place.task}.queries.parquet")


def check_queries(entry: Mapping[str, Any], place: Place, path: Path | None = None) -> Path | None:
    """Hold a result against its per-query scores, and return their file; None if there is none."""
    path = path or queries_path(place)
    if not path.exists() and not path.is_symlink():
        return None
    measure = per_query_measure(place.main_score)
    try:
        if not path.is_file():
            raise ValueError("not a regular file")
        with pq.ParquetFile(path) as file:
            identity = json.loads((file.schema_arrow.metadata or {}).get(b"patent_mteb", b"null"))
            if not isinstance(identity, dict):
                raise ValueError("it does not say which run it is of")
            if not _is_text(file.schema_arrow.field("query").type):
                raise ValueError("query ids that are not text")
            columns = [name for name in file.schema_arrow.names if "@" in name or name.startswith("score:")]
            if not pa.types.is_floating(file.schema_arrow.field(measure).type):
                raise ValueError(f"column '{measure}' does not hold numbers")
            table = file.read(columns=["query", *columns])
        queries = table["query"].to_pylist()
        means = {name: _mean(table[name]) for name in columns}
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DataError(
            f"damaged per-query scores ({error}); not used", path=path, remedy="delete the file and run the task again"
        ) from error
    remedy = "delete result and per-query scores and run the task again"
    if problem := _not_its_own(place, identity):
        raise DataError(f"{problem}; not used", path=path, remedy=remedy)
    problem = _incomplete(entry, queries) or _other_mean(entry, place, means) or _other_ranking(entry, identity)
    if problem:
        raise ContradictionError(problem, path=path, remedy=remedy)
    return path


def _mean(column: Any) -> float:
    values = column.drop_null().to_numpy().astype(np.float64)
    return float(values.mean()) if len(values) else math.nan


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _not_its_own(place: Place, identity: dict[str, Any]) -> str:
    expected = {
        "task": place.task,
        "main_score": place.main_score,
        "model": place.model,
        "model_revision": place.revision or _NO_REVISION,
        "experiment": place.experiment or None,
        "dataset_revision": place.data_revision,
        "subset": place.subset,
    }
    found = identity | {"model_revision": identity.get("model_revision") or _NO_REVISION}
    differing = [
        f"{key} {found.get(key)!r} instead of {value!r}" for key, value in expected.items() if found.get(key) != value
    ]
    return f"per-query scores of another run ({'; '.join(differing)})" if differing else ""


def _incomplete(entry: Mapping[str, Any], queries: list[str]) -> str:
    expected, distinct = entry.get("n_queries", len(queries)), len(set(queries))
    if len(queries) == expected and distinct == expected:
        return ""
    lacking = expected - distinct
    what = (
        f"{lacking:.0f} of {expected:.0f} queries are missing" if lacking > 0 else "queries occur twice or are too many"
    )
    return f"incomplete per-query scores: {what}"


def _other_mean(entry: Mapping[str, Any], place: Place, means: Mapping[str, float]) -> str:
    """Which mean of the per-query scores is not the number of the result: of the main score, of the others, of
    slices.
    """
    stated = {per_query_measure(place.main_score): "main_score"}
    stated |= {name: name.replace("@", "_at_") for name in means if "@" in name and name not in stated}
    stated |= {name: f"{name.removeprefix('score:')}_{place.main_score}" for name in means if name.startswith("score:")}
    for name, key in stated.items():
        value, mean = entry.get(key), means[name]
        if isinstance(value, (int, float)) and math.isfinite(mean) and not abs(mean - value) <= TOLERANCE:
            what = "the result's main score" if key == "main_score" else f"{key} of the result"
            return f"the mean of {name} is {mean:.6f}, but {what} is {value:.6f}"
    return ""


def _other_ranking(entry: Mapping[str, Any], identity: dict[str, Any]) -> str:
    ours, theirs = part_of(evidence_of(entry), "ranking").get("digest"), identity.get("ranking")
    if ours == theirs or None in (ours, theirs):
        return ""
    return f"per-query scores of another ranking ({theirs} instead of {ours})"
