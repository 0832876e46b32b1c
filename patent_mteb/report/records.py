"""Results as they were read, the rows of the two tidy tables, and comparisons of their evidence."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard

import polars as pl

from patent_mteb.data.data_source import DataSource
from patent_mteb.metrics.significance import too_small
from patent_mteb.models.behaviour import difference
from patent_mteb.report.words import visible
from patent_mteb.tasks.catalogue import SuiteTask
from patent_mteb.tasks.evidence import COST
from patent_mteb.tasks.verification import Place, part_of

UNKNOWN = "not recorded"


def prompt_used(recorded: Any) -> str:
    """Describe the recorded texts before the inputs of a model: by role, or by encoder and role."""
    if not isinstance(recorded, Mapping):
        return UNKNOWN
    if any(isinstance(texts, Mapping) for texts in recorded.values()):
        return "; ".join(f"{name}: {prompt_used(texts)}" for name, texts in recorded.items())
    sides = (f'"{text}"' if text else UNKNOWN if text is None else "none" for text in recorded.values())
    return " / ".join(dict.fromkeys(sides)) or "none"


_NOT_SCORES = ("main_score", "hf_subset", "languages", "mteb_version", "n_queries", "n_queries_in_corpus")
_MOST = 2**63  # beyond a column of 64 bits
_SLICE_COUNTS = ("_n_queries", "_n_pairs")
_COUNTS = (*_SLICE_COUNTS, "_n_classes")

_RESULT_COLUMNS = (
    "run data_source benchmark group task plain kind main_score value n_queries model revision experiment settings data"
    " data_revision data_version subset split prompt versions date parameters dims path queries prompts card computed"
    " spent small seconds_per_query calls tokens cost"
)
RESULT_SCHEMA: dict[str, Any] = (
    dict.fromkeys(_RESULT_COLUMNS.split(), pl.String)
    | dict.fromkeys(("value", "parameters", "seconds_per_query", "cost"), pl.Float64)
    | dict.fromkeys(("n_queries", "dims", "calls", "tokens"), pl.Int64)
)
"""Columns of the table with one row a result (see :class:`patent_mteb.report.collect.Collected`)."""
NOT_WRITTEN = ("card", "spent")  # columns with the model's card, and with the cost that the result records, as JSON


def state_of_data(revision: str, version: str) -> str:
    """Return a revision with the version that the owner of the data gave it, if any."""
    return f"{revision}, version {visible(version)}" if version else revision


_SCORE_COLUMNS = "run data_source benchmark group task plain slice measure value n_queries main small"
SCORE_SCHEMA: dict[str, Any] = dict.fromkeys(_SCORE_COLUMNS.split(), pl.String) | {
    "value": pl.Float64,
    "n_queries": pl.Int64,
    "main": pl.Boolean,
}
"""Columns of the table with one row a number."""


@dataclass
class ModelFolder:
    """A folder of results: a model at a revision with settings, as the folders are named."""

    model: str
    revision: str
    experiment: str  # empty for a model without settings
    meta: dict[str, Any]  # its model_meta.json, empty if it is missing or of another model
    versions: dict[str, str]  # of the libraries, by task
    label: str = ""  # in reports; set when all folders are known

    @property
    def settings(self) -> dict[str, Any]:
        return self.meta.get("experiment_kwargs") or {}


@dataclass
class Result:
    source: ModelFolder
    task: SuiteTask
    name: str  # of the task in the result
    data_source: DataSource
    data_revision: str
    subset: str
    scores: dict[str, float]  # every number, ``main_score`` among them
    date: float  # seconds since 1970, 0 if unknown
    mteb_version: str  # as recorded, or empty
    path: Path
    evidence: Mapping[str, Any]
    queries: Path | None = None  # per-query scores, if they are present and valid
    data_version: str = ""  # of own data, as its owner states it
    prompts: Any = None  # the recorded texts before the inputs
    seconds: Any = None  # of the evaluation, as mteb recorded them

    @property
    def place(self) -> Place:
        source, task = self.source, self.task
        model = (source.model, source.revision, source.experiment)
        return Place(self.path, self.name, task.main_score, task.scoring, *model, self.data_revision, self.subset)


def result_row(result: Result) -> dict[str, Any]:
    source, task, scores = result.source, result.task, result.scores
    versions = source.versions.get(result.name) or (f"mteb {result.mteb_version}" if result.mteb_version else "")
    parameters, dims = source.meta.get("n_parameters"), source.meta.get("embed_dim")
    return {
        "run": source.label,
        **{name: getattr(task, name) for name in ("benchmark", "group", "kind", "main_score", "split")},
        **{name: getattr(source, name) for name in ("model", "revision", "experiment")},
        "data_source": result.data_source.name,
        "task": result.name,
        "plain": task.name,
        "value": scores["main_score"],
        "n_queries": int(scores["n_queries"]) if "n_queries" in scores else None,
        "settings": json.dumps(source.settings, sort_keys=True),
        "data": task.data.key,
        "data_revision": result.data_revision,
        "data_version": result.data_version,
        "subset": result.subset,
        "prompt": visible(prompt_used(result.prompts)),
        "versions": visible(versions),
        "date": datetime.fromtimestamp(result.date, UTC).isoformat(timespec="seconds") if result.date else "",
        "parameters": float(parameters) if isinstance(parameters, (int, float)) and 0 < parameters < _MOST else None,
        "dims": dims if isinstance(dims, int) and 0 < dims < _MOST else None,
        "path": str(result.path),
        "queries": None if result.queries is None else str(result.queries),
        "prompts": None if result.prompts is None else json.dumps(result.prompts, sort_keys=True),
        "card": json.dumps(source.meta),
        "computed": _computed(result),
        "spent": _spent(result),
        "small": too_small(scores),
        **_effort(result),
    }


def _effort(result: Result) -> dict[str, float | int | None]:
    """Return the recorded effort of a reranker or a scored run; no seconds if some pairs were scored before."""
    known = {name: value for name, value in part_of(result.evidence, "effort").items() if is_amount(value)}
    queries = result.scores.get("n_queries")
    tokens = [known[name] for name in ("input_tokens", "output_tokens") if name in known]
    timed = queries and "seconds" in known and not known.get("kept_pairs")
    return {
        "seconds_per_query": known["seconds"] / queries if queries and timed else None,
        "calls": int(known["calls"]) if "calls" in known else None,
        "tokens": int(sum(tokens)) if tokens else None,
        "cost": known.get("cost"),
    }


def is_amount(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST


def _computed(result: Result) -> str:
    """Return model and version of a result's evidence as JSON."""
    model, found = part_of(result.evidence, "model"), {"version": result.evidence.get("version")}
    found |= {name: model.get(name) for name in ("device", "dtype", "max_tokens", "settings", "weights")}
    return json.dumps({name: value for name, value in found.items() if isinstance(value, str) and value})


def _spent(result: Result) -> str:
    """Return the cost in a result's evidence as JSON, with its effort, the distinct documents and mteb's seconds."""
    documents = part_of(part_of(result.evidence, "texts"), "document").get("n")
    found = {"documents": documents, "evaluation": result.seconds, "effort": part_of(result.evidence, "effort")}
    found |= part_of(result.evidence, COST)
    return json.dumps({name: value for name, value in found.items() if is_amount(value) or isinstance(value, dict)})


def score_rows(result: Result) -> Iterator[tuple[Any, ...]]:
    """Return one row for each number of a result, in the columns of :data:`SCORE_SCHEMA`.

    A score of a slice is named ``<slice>_<measure>``; a slice is identified by its count, ``<slice>_n_queries`` or
    ``<slice>_n_pairs``. InScope counts the queries of each level, which are not slices.
    """
    scores, task = result.scores, result.task
    counts = {key.removesuffix(end): int(scores[key]) for key in scores for end in _SLICE_COUNTS if key.endswith(end)}
    inscope = {name: counts.pop(name) for name in tuple(counts) if name.startswith("inscope_")}
    longest_first = sorted(counts, key=len, reverse=True)
    whole = int(scores["n_queries"]) if scores.get("n_queries") is not None else None
    common = (result.source.label, result.data_source.name, task.benchmark, task.group, result.name, task.name)
    small = {name: too_small(scores, name) for name in ("", *counts)}
    for key, value in scores.items():
        if key in _NOT_SCORES or key.endswith(_COUNTS) or key.startswith("nauc_"):
            continue
        name = next((name for name in longest_first if key.startswith(f"{name}_")), "")
        measure = key.removeprefix(f"{name}_") if name else key
        n_queries = counts[name] if name else inscope.get(measure.partition("_at_")[0], whole)
        yield *common, name, measure, value, n_queries, measure == task.main_score, small[name]


_ROUNDING = 1e-3  # relative difference of statistics of vectors that differ in their last bits only


def disagreements(results: Iterable[Result]) -> list[str]:
    """Return one sentence for each result that should equal another one and differs.

    Results of one task on the same data and texts are compared: rankings and vectors by models of the same settings and
    weights (of the same name and revision if they have no weights), and the weights of models of the same name and
    revision.
    """
    messages = []
    for same, differing in ((_decided, _other_outcome), (_named, _other_weights)):
        groups: dict[tuple[Any, ...], list[Result]] = defaultdict(list)
        for result in results:
            if (key := same(result)) is not None:
                groups[key].append(result)
        for first, *others in groups.values():
            unlike = [first]
            for result in others:
                problems = [differing(one, result) for one in unlike]
                if all(problems):
                    messages.append(_sentence(first, result, problems[0]))
                    unlike.append(result)
    return messages


def _decided(result: Result) -> tuple[Any, ...] | None:
    """Return the inputs that determine the ranking or the vectors of a result."""
    model, texts = part_of(result.evidence, "model"), part_of(result.evidence, "texts")
    digests = tuple(sorted((role, str(part_of(texts, role).get("digest"))) for role in texts))
    weights = model.get("weights")
    who = (weights,) if weights else (model.get("name"), model.get("revision"))
    read = part_of(result.evidence, "data").get("digest")
    return (result.task.name, read, digests, model.get("settings"), *who) if digests else None


def _other_outcome(first: Result, other: Result) -> str:
    """Return the unexpected difference of two results, empty if there is only rounding."""
    prefix = "have the same data, settings and weights, but other"
    for what, name in (("rankings", "ranking"), ("predictions", "predictions")):
        if part_of(first.evidence, name).get("digest") != part_of(other.evidence, name).get("digest"):
            return f"{prefix} {what}"
    ours, theirs = part_of(first.evidence, "embeddings"), part_of(other.evidence, "embeddings")
    close = all(_close(ours.get(name), theirs.get(name)) for name in ("length", "mean"))
    return "" if close and ours.get("width") == theirs.get("width") else f"{prefix} vectors"


def _close(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return abs(ours - theirs) <= _ROUNDING * max(abs(ours), abs(theirs))
    return bool(ours == theirs)


def _named(result: Result) -> tuple[Any, ...] | None:
    model = part_of(result.evidence, "model")
    return (model.get("name"), model.get("revision"), model.get("settings")) if model.get("weights") else None


def _other_weights(first: Result, other: Result) -> str:
    models = [part_of(result.evidence, "model") for result in (first, other)]
    if models[0].get("weights") != models[1].get("weights"):
        return "are of one model and revision, but of other weights"
    pairs = zip(*(model.get("behaviour") or () for model in models), strict=False)
    why = next(filter(None, (difference(one, two) for one, two in pairs)), "")
    return f"are of one model and revision, which did not behave the same ({why})" if why else ""


def _sentence(first: Result, other: Result, what: str) -> str:
    devices = {str(part_of(result.evidence, "model").get("device")) for result in (first, other)}
    where = f" (computed on {' and '.join(sorted(filter(None, devices)))})" if len(devices) > 1 else ""
    ours, theirs = (Path(*result.path.parts[-4:]) for result in (first, other))  # from the folder of the model on
    return (
        f"{ours} and {theirs} {what}{where}. Remedy: run both again on one machine; if they still differ, the model is"
        " not deterministic."
    )
