"""Verification of results, before any command prints, writes or compares their numbers.

A result is compared with itself, its evidence (:mod:`patent_mteb.tasks.evidence`), its place, the version of the
scoring, the per-query scores next to it, and the model, if one is loaded. Digests are not signatures: the per-query
scores detect a forged checksum. If they are forged or deleted as well, the scores of a sample of queries do:
``patent-mteb doctor RESULTS --recompute 5%``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.identity import NO_REVISION, model_folder
from patent_mteb.models.behaviour import difference
from patent_mteb.tasks.evidence import KEY, ROWS, checksum, identity_of, rows_digest

TOLERANCE = 1e-5  # mteb rounds its scores to five decimals
_COUNTS = ("n_queries", "_n_pairs", "n_test", "n_classes")
_VERSIONS = ("transformers", "tokenizers", "sentence-transformers", "torch")
_LEXICAL = ("bm25s", "PyStemmer", "Snowball")
_SHARE = re.compile(r"(^|_)(accuracy|ap|bpref|custom_score|exact_match|f1|nmi|v_measure)$|_at_\d+$")
_CORRELATION = re.compile(r"(^|_)(ari|pearson|silhouette|spearman)$")


class ContradictionError(DataError):
    """A result that contradicts its evidence, its place, its per-query scores or its model."""


@dataclass(frozen=True)
class Place:
    """The place of a result, which determines what it must be a result of."""

    path: Path
    task: str  # with the state of the data (``.sample``)
    main_score: str  # of the task as it is now
    scoring: str  # likewise
    model: str  # from mteb's folders, as are revision and experiment
    revision: str
    experiment: str  # empty without settings
    data_revision: str
    subset: str


def evidence_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return part_of(entry, KEY)


def part_of(evidence: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = evidence.get(name)
    return found if isinstance(found, dict) else {}


def check_entry(entry: Mapping[str, Any], place: Place) -> dict[str, float]:
    for problem in _contradictions(entry, place):
        # a new run replaces the file, unless the model has another name or other settings by now
        raise ContradictionError(problem, path=place.path, remedy="run the task again; if the file remains, delete it")
    return _numbers(entry)


def _numbers(entry: Mapping[str, Any]) -> dict[str, float]:
    numbers = {key: value for key, value in entry.items() if isinstance(value, (int, float))}
    return {key: float(value) for key, value in numbers.items() if not isinstance(value, bool)}


def _outside(name: str, value: float) -> bool:
    """Whether a score is outside the range of its measure, up to rounding; a measure that is not listed has none."""
    if name.startswith("nauc_") or not (_SHARE.search(name) or _CORRELATION.search(name)):
        return False
    least = 0 if _SHARE.search(name) else -1
    return value < least - TOLERANCE or value > 1 + TOLERANCE


def _contradictions(entry: Mapping[str, Any], place: Place) -> Iterator[str]:
    """Yield how an entry contradicts itself, its evidence, or the place of its file; only the first is used."""
    try:
        scores = _numbers(entry)
    except OverflowError:
        yield "a score is too large for a number"
        return
    for key in sorted(entry.keys() - scores.keys()):
        if key.endswith(_COUNTS):
            yield f"{key} is {entry[key]!r}, not a count"
    for key, value in scores.items():
        if key.endswith(_COUNTS) and not (0 <= value <= 2.0**53 and value == int(value)):
            yield f"{key} is {value}, not a count"
        if math.isinf(value) and not key.startswith("nauc_"):
            yield f"{key} is {value}, not a score"
        if _outside(key, value):
            yield f"{key} is {value}, outside the range of its measure"
    if not math.isfinite(scores.get("main_score", math.nan)):
        yield f"the main score is {entry.get('main_score')!r}, not a number"
    if not abs(scores.get(place.main_score, math.nan) - scores["main_score"]) <= TOLERANCE:
        what = f"{place.main_score}, the task's main score (the result was changed, or is older)"
        yield f"the main score is not {what}"
    found = evidence_of(entry)
    if not found:
        yield "the evidence is missing: the result is of an older version, or was changed"
    if (scoring := found.get("scoring")) != place.scoring:  # before the seal, which other versions may make otherwise
        by = f"patent-mteb {found.get('version') or 'of an unknown version'}"
        by = f"{scoring!r} of {by}" if scoring else f"an earlier scoring of {by}"
        yield f"scored by {by}, which is {place.scoring!r} now"
    if found.get("seal") != checksum(entry):
        yield "the scores are not those that were measured: the result or its evidence was changed afterwards"
    model, data = part_of(found, "model"), part_of(found, "data")
    pairs = {
        "model": (model_folder(str(model.get("name"))), model_folder(place.model)),
        "model_revision": (model.get("revision") or NO_REVISION, place.revision or NO_REVISION),
        "task": (data.get("task"), place.task),
        "dataset_revision": (data.get("revision"), place.data_revision),
    }
    if "data_revision" not in place.experiment:  # a run moves a result on other data to such an experiment
        pairs["settings"] = (model.get("experiment") or "", place.experiment)
    differing = [f"{what} {ours!r}, found at {theirs!r}" for what, (ours, theirs) in pairs.items() if ours != theirs]
    if differing:
        yield f"a result of another place ({'; '.join(differing)})"


def check_model(found: Mapping[str, Any], live: Mapping[str, Any]) -> str:
    """Return why a loaded model cannot have produced a score; empty if it can."""
    ours, theirs = part_of(live, "model"), part_of(found, "model")
    now, then = part_of(live, "libraries"), part_of(found, "libraries")
    same_versions = all(now.get(name) == then.get(name) for name in _VERSIONS)
    digests = ("weights", "modules", "tokenizer") if same_versions else ("weights",)  # the others differ by version
    for name in digests:
        if ours.get(name) and theirs.get(name) and ours[name] != theirs[name]:
            return f"it was made by other {name} under this name and revision"
    if ours.get("lexical") and (changed := [name for name in _LEXICAL if now.get(name) != then.get(name)]):
        versions = ", ".join(f"{name} {then.get(name)}, now {now.get(name)}" for name in changed)
        return f"it was made with other libraries ({versions})"
    pairs = zip(ours.get("behaviour") or (), theirs.get("behaviour") or (), strict=False)
    return next(filter(None, (difference(one, other) for one, other in pairs)), "")


def per_query_measure(main_score: str) -> str:
    """Return the column of the per-query scores for a main score: ``ndcg@10`` for ``ndcg_at_10``."""
    return main_score.replace("_at_", "@")


def check_queries(entry: Mapping[str, Any], place: Place, path: Path | None = None) -> Path | None:
    """Compare a result with its per-query scores, and return their file; None if there is none."""
    path = path or place.path.with_name(f"{place.task}.queries.parquet")
    if not path.exists() and not path.is_symlink():
        return None
    try:
        if not path.is_file():
            raise ValueError("not a regular file")
        with pq.ParquetFile(path) as file:
            identity = identity_of(file.schema_arrow)
            if file.schema_arrow.field("query").type not in (pa.string(), pa.large_string()):
                raise ValueError("query ids that are not text")
            table = file.read()
        queries, rows = table["query"].to_pylist(), rows_digest(table)
        names = _score_columns(table.schema, per_query_measure(place.main_score))
        columns = {name: table[name].to_numpy().astype(np.float64) for name in names}
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        problem = f"corrupt per-query scores ({error}); not used"
        raise DataError(problem, path=path, remedy="delete the file and run the task again") from error
    remedy = "delete result and per-query scores and run the task again"
    if problem := _other_run(place, identity):
        raise DataError(f"{problem}; not used", path=path, remedy=remedy)
    problem = _incomplete(entry, queries) or _other_scores(entry, place, columns) or _other_ranking(entry, identity)
    if identity.get(ROWS, rows) != rows:  # earlier versions wrote none; a board asks for it
        problem = problem or "the per-query scores are not those that were measured: values or queries were changed"
    if problem:
        raise ContradictionError(problem, path=path, remedy=remedy)
    return path


def _score_columns(schema: pa.Schema, main: str) -> list[str]:
    """Return the names of the columns of scores and slices; one of another type, or a second one, counts as missing."""
    kinds = [(field.name, pa.types.is_floating(field.type), pa.types.is_boolean(field.type)) for field in schema]
    found = [
        name for name, floating, _ in kinds if floating and (name == main or "@" in name or name.startswith("score:"))
    ]
    found += [name for name, _, boolean in kinds if boolean and name.startswith("slice:")]
    return [name for name in found if schema.names.count(name) == 1]


def _other_run(place: Place, identity: dict[str, Any]) -> str:
    expected = {
        "task": place.task,
        "main_score": place.main_score,
        "model": place.model,
        "model_revision": place.revision or NO_REVISION,
        "experiment": place.experiment or None,
        "dataset_revision": place.data_revision,
        "subset": place.subset,
    }
    found = identity | {"model_revision": identity.get("model_revision") or NO_REVISION}
    pairs = [(key, found.get(key), value) for key, value in expected.items()]
    differing = [f"{key} {theirs!r} instead of {ours!r}" for key, theirs, ours in pairs if theirs != ours]
    return f"per-query scores of another run ({'; '.join(differing)})" if differing else ""


def _incomplete(entry: Mapping[str, Any], queries: list[str]) -> str:
    expected, distinct = entry.get("n_queries", math.nan), len(set(queries))
    if len(queries) == distinct == expected:
        return ""
    problem = "queries occur twice, or do not belong to the result"
    if math.isnan(expected):
        problem = "the result states no number of queries"
    elif distinct < expected:
        problem = f"{expected - distinct:.0f} of {expected:.0f} queries are missing"
    return f"incomplete per-query scores: {problem}"


def _other_scores(entry: Mapping[str, Any], place: Place, columns: Mapping[str, NDArray[np.float64]]) -> str:
    """Describe the first column of the per-query scores that does not bear out the result; empty if all do.

    Every score of the result that has a column needs a value of each query, in the range of the measure, and is their
    mean. The score of a slice needs those of its queries, and no others. Null is NaN in ``columns``.
    """
    main = place.main_score
    stated = {per_query_measure(main): "main_score"}
    stated |= {name: name.replace("@", "_at_") for name in columns if "@" in name and name not in stated}
    sizes = {key.removesuffix("_n_queries"): size for key, size in entry.items() if key.endswith("_n_queries")}
    parts = [key.removesuffix(f"_{main}") for key in entry if key.endswith(f"_{main}") and not key.startswith("paper_")]
    parts += [name.removeprefix("score:") for name in columns if name.startswith("score:")]
    stated |= {f"score:{part}": f"{part}_{main}" for part in parts}
    for name, key in stated.items():
        part = name.removeprefix("score:")
        needed = (name,) if part == name else (name, f"slice:{part}")
        if missing := [column for column in needed if column not in columns]:
            return f"the column '{missing[0]}' is missing, but the result has {key}"
        values = columns[name]
        if part != name:
            members = columns[f"slice:{part}"] == 1
            if not np.isnan(values[~members]).all() or members.sum() != sizes.get(part, members.sum()):
                return f"'{name}' is not of the {sizes.get(part)} queries of the slice"
            values = values[members]
        if bad := int((~np.isfinite(values)).sum()):
            return f"{bad} of {len(values)} values of '{name}' are missing or not numbers"
        if any(_outside(main if part != name else name.replace("@", "_at_"), value) for value in values):
            return f"'{name}' has values outside the range of its measure"
        value, mean = entry.get(key), float(values.mean()) if len(values) else math.nan
        if isinstance(value, (int, float)) and not abs(mean - value) <= TOLERANCE:
            score = "the result's main score" if key == "main_score" else f"{key} of the result"
            return f"the mean of {name} is {mean:.6f}, but {score} is {value:.6f}"
    return ""


def _other_ranking(entry: Mapping[str, Any], identity: dict[str, Any]) -> str:
    ours, theirs = part_of(evidence_of(entry), "ranking").get("digest"), identity.get("ranking")
    if ours == theirs or None in (ours, theirs):
        return ""
    return f"per-query scores of another ranking ({theirs} instead of {ours})"
