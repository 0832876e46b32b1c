"""A result as it was read, and the rows of the two tidy tables that it gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import polars as pl

from patent_mteb.data.worlds import World
from patent_mteb.metrics.sizes import too_small
from patent_mteb.models.prompt_report import prompt_used
from patent_mteb.report.names import visible
from patent_mteb.report.suite import SuiteTask

__all__ = ["RESULT_SCHEMA", "SCORE_SCHEMA", "ModelFolder", "Result", "ScoreRow", "is_amount", "result_row", "score_rows"]

_NOT_SCORES = ("main_score", "hf_subset", "languages", "mteb_version", "n_queries", "n_queries_in_corpus")
_MOST = 2**63
_SLICE_COUNTS = ("_n_queries", "_n_pairs")
_COUNTS = (*_SLICE_COUNTS, "_n_classes")

_RESULT_COLUMNS = (
    *("run", "world", "benchmark", "group", "task", "plain", "kind", "main_score", "value", "n_queries", "model", "revision"),
    *("experiment", "settings", "data", "data_revision", "subset", "split", "prompt", "versions", "date", "parameters", "dims"),
    *("path", "queries", "prompts", "computed", "small", "seconds_per_query", "calls", "tokens", "cost"),
)
RESULT_SCHEMA: dict[str, Any] = dict.fromkeys(_RESULT_COLUMNS, pl.String) | {
    "value": pl.Float64,
    "n_queries": pl.Int64,
    "parameters": pl.Float64,
    "dims": pl.Int64,
    "seconds_per_query": pl.Float64,
    "calls": pl.Int64,
    "tokens": pl.Int64,
    "cost": pl.Float64,
}
"""Columns of the table with one row a result (see :class:`patent_mteb.report.collect.Collected`)."""


class ScoreRow(NamedTuple):
    """One number of a result, in the columns of :data:`SCORE_SCHEMA`."""

    run: str
    world: str
    benchmark: str
    group: str
    task: str
    plain: str
    slice: str
    measure: str
    value: float
    n_queries: int | None
    main: bool
    small: str


SCORE_SCHEMA: dict[str, Any] = dict.fromkeys(ScoreRow._fields, pl.String) | {
    "value": pl.Float64,
    "n_queries": pl.Int64,
    "main": pl.Boolean,
}
"""Columns of the table with one row a number."""


@dataclass
class ModelFolder:
    """One folder of results: a model at a revision with settings.

    Attributes:
        folder: the folder.
        model, revision, experiment: as the folders are named; ``experiment`` is empty for a model without settings.
        meta: its ``model_meta.json``, empty if there is none or it is another model's.
        versions: versions of the libraries by task.
        label: what reports call it; set when all folders are known.
    """

    folder: Path
    model: str
    revision: str
    experiment: str
    meta: dict[str, Any]
    versions: dict[str, str]
    label: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the model, its parts among them."""
        return self.meta.get("experiment_kwargs") or {}


@dataclass
class Result:
    """One result of a model on a task, checked.

    Attributes:
        source: whose result it is.
        task: the task, as the suite knows it now.
        name: the task's name in the result.
        world: where it belongs.
        data_revision, subset: the data that it was measured on.
        scores: every number of the result, ``main_score`` among them.
        date: seconds since 1970, 0 if unknown.
        mteb_version: as noted in the file, or empty.
        path: the file.
        evidence: what the scores were computed from and with (:mod:`patent_mteb.tasks.evidence`); empty for older results.
        queries: its per-query scores, if they are there and are its own.
        prompts: what was put before its texts, as the result has it; None in results of before that was recorded.
    """

    source: ModelFolder
    task: SuiteTask
    name: str
    world: World
    data_revision: str
    subset: str
    scores: dict[str, float]
    date: float
    mteb_version: str
    path: Path
    evidence: Mapping[str, Any] = field(default_factory=dict)
    queries: Path | None = None
    prompts: Any = None


def result_row(result: Result) -> dict[str, Any]:
    """The row of a result, in the columns of :data:`RESULT_SCHEMA`.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.data.worlds import WORLDS
        >>> from patent_mteb.report.records import ModelFolder, Result, result_row
        >>> from patent_mteb.report.suite import suite_tasks
        >>> task, source = suite_tasks()["PatentCitationRetrieval"], ModelFolder(Path(), "my/model", "1", "", {}, {})
        >>> result = Result(source, task, task.name, WORLDS["sample"], "sample-1", "sample-1", {"main_score": 0.5}, 0, "", Path("my.json"))
        >>> result_row(result)["benchmark"], result_row(result)["value"]
        ('WIPO-AT', 0.5)
    """
    source, task = result.source, result.task
    versions = source.versions.get(result.name) or (f"mteb {result.mteb_version}" if result.mteb_version else "")
    parameters, dims = source.meta.get("n_parameters"), source.meta.get("embed_dim")
    return {
        "run": source.label,
        "world": result.world.name,
        "benchmark": task.benchmark,
        "group": task.group,
        "task": result.name,
        "plain": task.name,
        "kind": task.kind,
        "main_score": task.main_score,
        "value": result.scores["main_score"],
        "n_queries": int(result.scores["n_queries"]) if "n_queries" in result.scores else None,
        "model": source.model,
        "revision": source.revision,
        "experiment": source.experiment,
        "settings": json.dumps(source.settings, sort_keys=True),
        "data": task.data.key,
        "data_revision": result.data_revision,
        "subset": result.subset,
        "split": task.split,
        "prompt": visible(prompt_used(result.prompts, source.meta, result.name)),
        "versions": visible(versions),
        "date": datetime.fromtimestamp(result.date, UTC).isoformat(timespec="seconds") if result.date else "",
        "parameters": float(parameters) if isinstance(parameters, (int, float)) and 0 < parameters < _MOST else None,
        "dims": dims if isinstance(dims, int) and 0 < dims < _MOST else None,
        "path": str(result.path),
        "queries": None if result.queries is None else str(result.queries),
        "prompts": None if result.prompts is None else json.dumps(result.prompts, sort_keys=True),
        "computed": _computed(result),
        "small": too_small(result.scores),
        **_effort(result),
    }


def _effort(result: Result) -> dict[str, float | int | None]:
    """What a reranker or a scored run took, as its evidence says; no seconds where scores of some pairs were there already."""
    said = result.evidence.get("effort")
    known = {name: value for name, value in (said.items() if isinstance(said, Mapping) else ()) if is_amount(value)}
    queries = result.scores.get("n_queries")
    tokens = [known[name] for name in ("input_tokens", "output_tokens") if name in known]
    return {
        "seconds_per_query": known["seconds"] / queries if queries and "seconds" in known and not known.get("kept_pairs") else None,
        "calls": int(known["calls"]) if "calls" in known else None,
        "tokens": int(sum(tokens)) if tokens else None,
        "cost": known.get("cost"),
    }


def is_amount(value: Any) -> TypeGuard[float]:
    """Whether what a file says is a number that something can have cost.

    Example:
        >>> from patent_mteb.report.records import is_amount
        >>> [is_amount(value) for value in (0, 12.5, -1, float("nan"), float("inf"), True, "12", None)]
        [True, True, False, False, False, False, False, False]
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST


def _computed(result: Result) -> str | None:
    """What the evidence says of the model and the suite that computed a result, as JSON; None without evidence."""
    model = result.evidence.get("model")
    if not isinstance(model, Mapping):
        return None
    found = {"version": result.evidence.get("version"), **{name: model.get(name) for name in ("device", "dtype", "settings", "weights")}}
    return json.dumps({name: value for name, value in found.items() if isinstance(value, str) and value})


def score_rows(result: Result) -> Iterator[ScoreRow]:
    """One row for each number of a result.

    A score of a slice is named ``<slice>_<measure>``; a slice is known by its count, ``<slice>_n_queries`` or ``<slice>_n_pairs``. InScope
    counts the queries of each level, which is no slice.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.data.worlds import WORLDS
        >>> from patent_mteb.report.records import ModelFolder, Result, score_rows
        >>> from patent_mteb.report.suite import suite_tasks
        >>> task, source = suite_tasks()["PatentCitationRetrieval"], ModelFolder(Path(), "my/model", "1", "", {}, {})
        >>> scores = {"ndcg_at_10": 0.5, "in_ndcg_at_10": 0.75, "in_n_queries": 8}
        >>> result = Result(source, task, task.name, WORLDS["sample"], "sample-1", "sample-1", scores, 0, "", Path("my.json"))
        >>> [(row.slice, row.measure, row.value, row.n_queries) for row in score_rows(result)]
        [('', 'ndcg_at_10', 0.5, None), ('in', 'ndcg_at_10', 0.75, 8)]
    """
    counts = {key.removesuffix(end): int(value) for key, value in result.scores.items() for end in _SLICE_COUNTS if key.endswith(end)}
    inscope = {name: counts.pop(name) for name in tuple(counts) if name.startswith("inscope_")}
    longest_first = sorted(counts, key=len, reverse=True)
    whole = result.scores.get("n_queries")
    task = result.task
    common = (result.source.label, result.world.name, task.benchmark, task.group, result.name, task.name)
    small = {name: too_small(result.scores, name) for name in ("", *counts)}
    for key, value in result.scores.items():
        if key in _NOT_SCORES or key.endswith(_COUNTS) or key.startswith("nauc_"):
            continue
        name = next((name for name in longest_first if key.startswith(f"{name}_")), "")
        measure = key.removeprefix(f"{name}_") if name else key
        n_queries = counts[name] if name else inscope.get(measure.partition("_at_")[0], None if whole is None else int(whole))
        yield ScoreRow(*common, name, measure, value, n_queries, measure == task.main_score, small[name])
