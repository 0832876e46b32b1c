"""A results folder as tidy tables: what was measured, on which data, by which model, and what had to be left out.

Read are mteb's result files (``<folder>/[results/]<org>__<model>/<revision>/[experiments/<settings>/]<Task>.json``), the
``model_meta.json`` and ``run_settings.jsonl`` beside them, and the per-query scores of :mod:`patent_mteb.tasks.perquery`.

Every result belongs to one of three *worlds*, which are never mixed in a table or a mean:

``real``    the published data at the pinned revision; for a family that nobody has released, a local directory
``local``   a local copy of a released data set that does not carry the pinned revision
``sample``  the built-in sample

Within a world a data set counts in one state only: where results were measured on several local states of one data set,
the state of the newest result counts. Whatever is left out is named in ``messages``, one sentence each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb.errors import DataError, PatentMTEBError

__all__ = ["WORLDS", "Collected", "ReportError", "SuiteTask", "collect", "per_query_measure", "suite_tasks"]

WORLDS = {
    "real": "",
    "local": "Local copies of released data sets that do not carry the pinned revision: not comparable with published scores.",
    "sample": "Built-in sample: these scores say nothing about the published benchmark.",
}
"""World -> what a reader must know before the numbers."""

_MEAN_TOLERANCE = 1e-5
"""mteb rounds its scores to five decimals."""

_NOT_SCORES = ("main_score", "hf_subset", "languages", "mteb_version", "n_queries")
_COUNTS = ("_n_queries", "_n_pairs")


class ReportError(PatentMTEBError):
    """A report or an export that cannot be made as asked."""


@dataclass(frozen=True)
class SuiteTask:
    """What a report needs to know of a task. ``pinned`` is the data revision it stands for, empty for an unreleased family."""

    name: str
    family: str
    group: str
    kind: str
    main_score: str
    split: str
    data: str
    pinned: str
    order: int


@lru_cache(maxsize=1)
def suite_tasks() -> dict[str, SuiteTask]:
    """The tasks of the suite by name, in the order of families, groups and tasks."""
    import mteb  # noqa: F401  importing mteb registers the suite, which must come before the tasks are imported

    from patent_mteb.tasks.catalogue import FAMILIES

    found: dict[str, SuiteTask] = {}
    for module in FAMILIES:
        for group, tasks in module.GROUPS.items():
            for task in tasks:
                meta = task.metadata
                found[meta.name] = SuiteTask(
                    meta.name,
                    module.FAMILY.name,
                    group,
                    meta.type,
                    meta.main_score,
                    module.FAMILY.split,
                    task.data.key,
                    task.data.revision,
                    len(found),
                )
    return found


@dataclass(frozen=True)
class Collected:
    """A results folder.

    Attributes:
        folder: the folder.
        results: one row a result. ``run`` is the label of model, settings and (where needed) revision; ``world``, ``family``, ``group``,
            ``task`` (as in the result), ``plain`` (without ``.sample``), ``kind`` (mteb's type), ``main_score`` (name), ``value``,
            ``n_queries``, ``model``, ``revision``, ``experiment``, ``settings`` (JSON), ``data``, ``data_revision``, ``subset``, ``split``,
            ``prompt``, ``versions``, ``date`` (ISO, UTC), ``parameters``, ``dims``, ``path``, ``queries`` (path of usable
            per-query scores).
        scores: one row a number: ``run``, ``world``, ``family``, ``group``, ``task``, ``plain``, ``slice`` (empty for all judgements),
            ``measure``, ``value``, ``n_queries`` of the slice, ``main`` (whether the measure is the task's main score).
        messages: what was left out or looks wrong.
    """

    folder: Path
    results: pl.DataFrame
    scores: pl.DataFrame
    messages: tuple[str, ...] = ()

    @cached_property
    def worlds(self) -> tuple[str, ...]:
        """The worlds that have results."""
        present = set(self.results["world"])
        return tuple(world for world in WORLDS if world in present)

    def in_world(self, world: str) -> Collected:
        """The part of one world."""
        return Collected(
            self.folder, self.results.filter(pl.col("world") == world), self.scores.filter(pl.col("world") == world), self.messages
        )

    @cached_property
    def families(self) -> tuple[str, ...]:
        return tuple(self.results["family"].unique(maintain_order=True))

    @cached_property
    def runs(self) -> tuple[str, ...]:
        return tuple(self.results["run"].unique(maintain_order=True).sort())


_RESULTS_SCHEMA: dict[str, Any] = {
    "run": pl.String,
    "world": pl.String,
    "family": pl.String,
    "group": pl.String,
    "task": pl.String,
    "plain": pl.String,
    "kind": pl.String,
    "main_score": pl.String,
    "value": pl.Float64,
    "n_queries": pl.Int64,
    "model": pl.String,
    "revision": pl.String,
    "experiment": pl.String,
    "settings": pl.String,
    "data": pl.String,
    "data_revision": pl.String,
    "subset": pl.String,
    "split": pl.String,
    "prompt": pl.String,
    "versions": pl.String,
    "date": pl.String,
    "parameters": pl.Float64,
    "dims": pl.Int64,
    "path": pl.String,
    "queries": pl.String,
}
_SCORES_SCHEMA: dict[str, Any] = {
    "run": pl.String,
    "world": pl.String,
    "family": pl.String,
    "group": pl.String,
    "task": pl.String,
    "plain": pl.String,
    "slice": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
    "n_queries": pl.Int64,
    "main": pl.Boolean,
}


@dataclass
class _Place:
    """One folder of results: a model at a revision with settings."""

    folder: Path
    model: str
    revision: str
    experiment: str
    meta: dict[str, Any]
    versions: dict[str, str]
    label: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        return self.meta.get("experiment_kwargs") or {}


@dataclass
class _Result:
    place: _Place
    task: SuiteTask
    name: str
    world: str
    data_revision: str
    subset: str
    scores: dict[str, float]
    date: float
    mteb_version: str
    path: Path
    queries: Path | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def _message(path: Path, problem: str, remedy: str) -> str:
    return str(DataError(problem, path=path, remedy=remedy))


def collect(folder: Path) -> Collected:
    """Read a results folder.

    Raises:
        DataError: the folder does not exist or holds no result of a model. Damaged or outdated files inside it are no error:
            they are named in the messages, and the rest is read.
    """
    if not folder.is_dir():
        raise DataError("there is no such folder", path=folder, remedy="name the folder that 'patent-mteb run' wrote its results to")
    root = folder / "results" if (folder / "results").is_dir() else folder
    messages: list[str] = []
    results: list[_Result] = []
    unknown: dict[str, int] = {}
    places = list(_places(root, messages))
    for place in places:
        for path in sorted(place.folder.glob("*.json")):
            if path.name != "model_meta.json":
                results += _read(path, place, unknown, messages)
    if not places:
        raise DataError(
            "no results (no folder <organisation>__<model>/<revision>)", path=folder, remedy="name the folder of 'patent-mteb run'"
        )
    for task, count in sorted(unknown.items()):
        messages.append(f"{count} result{'s' * (count > 1)} of {task} left out: the suite has no task of this name.")
    results = _one_state(results, messages)
    for result in results:
        _attach_queries(result, messages)
    without = sum(result.task.kind == "Retrieval" and result.queries is None for result in results)
    if without:
        messages.append(f"{without} retrieval results have no usable per-query scores: no intervals and no significance for them.")
    _label({id(result.place): result.place for result in results}.values())
    results.sort(key=lambda result: (list(WORLDS).index(result.world), result.task.order, result.place.label))
    return Collected(
        folder,
        pl.DataFrame([_row(result) for result in results], schema=_RESULTS_SCHEMA),
        pl.DataFrame([row for result in results for row in _score_rows(result)], schema=_SCORES_SCHEMA, orient="row"),
        tuple(messages),
    )


def _places(root: Path, messages: list[str]) -> Iterator[_Place]:
    for model_folder in sorted(path for path in root.iterdir() if path.is_dir() and "__" in path.name):
        for revision_folder in sorted(path for path in model_folder.iterdir() if path.is_dir()):
            experiments = sorted(path for path in (revision_folder / "experiments").glob("*") if path.is_dir())
            for folder in (revision_folder, *experiments):
                if any(path.name != "model_meta.json" for path in folder.glob("*.json")):
                    experiment = "" if folder is revision_folder else folder.name
                    yield _place(folder, model_folder.name, revision_folder.name, experiment, messages)


def _place(folder: Path, model: str, revision: str, experiment: str, messages: list[str]) -> _Place:
    meta: dict[str, Any] = {}
    path = folder / "model_meta.json"
    try:
        meta = json.loads(path.read_text("utf-8"))
        named = str(meta["name"]).replace("/", "__").replace(" ", "_"), str(meta["revision"])
        if named != (model, revision):
            problem = f"it describes {meta['name']} at revision {meta['revision']}, but lies with the results of {model} at {revision}"
            messages.append(_message(path, problem, "restore the file; until then the model is named after the folder"))
            meta = {}
    except FileNotFoundError:
        messages.append(_message(path, "the file is missing, so settings, size and prompts of the model are unknown", "restore the file"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        messages.append(_message(path, f"damaged ({error})", "restore the file; until then the model is named after the folder"))
        meta = {}
    name = str(meta.get("name") or model.replace("__", "/", 1))
    return _Place(folder, name, revision, experiment, meta, _versions(folder / "run_settings.jsonl"))


def _versions(path: Path) -> dict[str, str]:
    """Versions of the libraries by task, as mteb noted them in its last run of the task."""
    found: dict[str, str] = {}
    if path.is_file():
        for line in path.read_text("utf-8", errors="replace").splitlines():
            try:
                settings = json.loads(line)
                known = {name: version for name, version in settings["version"].items() if version}
                found[settings["task"]] = ", ".join(f"{name} {version}" for name, version in known.items())
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # a line cut off in writing costs the versions of one task, which the report then says are not recorded
    return found


def _read(path: Path, place: _Place, unknown: dict[str, int], messages: list[str]) -> Iterator[_Result]:
    again = "delete the file and run the task again"
    try:
        content = json.loads(path.read_text("utf-8"))
        name, revision, splits = str(content["task_name"]), str(content["dataset_revision"]), dict(content["scores"])
        date = float(content.get("date") or 0)
        entries = {split: [dict(entry) for entry in found] for split, found in splits.items()}
    except (OSError, ValueError, TypeError) as error:
        messages.append(_message(path, f"damaged result file ({error}); left out", again))
        return
    except KeyError as error:
        messages.append(_message(path, f"no result file of mteb ({error} is missing); left out", again))
        return
    if name != path.stem:
        messages.append(_message(path, f"holds a result of {name}; left out", "give the file the name of its task"))
        return
    task = suite_tasks().get(name.removesuffix(".sample"))
    if task is None:
        unknown[name] = unknown.get(name, 0) + 1
        return
    if not entries.get(task.split):
        messages.append(_message(path, f"has no scores of the split '{task.split}'; left out", again))
        return
    for entry in entries[task.split]:
        subset = str(entry.get("hf_subset", "default"))
        data_revision = revision if subset == "default" else subset
        world, problem = _world(task, name.endswith(".sample"), data_revision)
        scores = _numbers(entry)
        problem = problem or _wrong(entry, scores, task)
        if problem:
            messages.append(_message(path, f"{problem}; left out", "run the task again with the present version of patent-mteb"))
            continue
        version = str(content.get("mteb_version") or "")
        yield _Result(place, task, name, world, data_revision, subset, scores, date, version, path)


def _world(task: SuiteTask, sample: bool, revision: str) -> tuple[str, str]:
    from patent_mteb.sample import SAMPLE_VERSION

    if sample:
        present = f"sample-{SAMPLE_VERSION}"
        return "sample", "" if revision == present else f"measured on data revision {revision}, but the present sample is {present}"
    if revision.startswith("sample-"):
        return "", "measured on the built-in sample under the name of the real task"
    if task.pinned and revision == task.pinned:
        return "real", ""
    if revision.startswith("local-"):
        return ("local" if task.pinned else "real"), ""
    return (
        "",
        f"measured on data revision {revision}, but the task now stands for {task.pinned or 'a local directory'} (an older task version)",
    )


def _numbers(entry: Mapping[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in entry.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}


def _wrong(entry: Mapping[str, Any], scores: Mapping[str, float], task: SuiteTask) -> str:
    """Why an entry is no result of the present task, empty if it is one."""
    if "main_score" not in scores or not math.isfinite(scores["main_score"]):
        return f"the main score is {entry.get('main_score')!r}, not a number"
    if abs(scores.get(task.main_score, math.nan) - scores["main_score"]) <= _MEAN_TOLERANCE:
        return ""
    return f"the main score is not {task.main_score}, the present one of the task (an older task version)"


def _one_state(results: list[_Result], messages: list[str]) -> list[_Result]:
    """Of several local states of one data set, keep the one with the newest result."""
    newest: dict[tuple[str, str], _Result] = {}
    for result in results:
        key = (result.world, result.task.data)
        if key not in newest or result.date > newest[key].date:
            newest[key] = result
    kept: list[_Result] = []
    for result in results:
        state = newest[result.world, result.task.data].data_revision
        if result.data_revision == state:
            kept.append(result)
        else:
            problem = f"measured on {result.data_revision}, but newer results of {result.task.data} are on {state}; left out"
            messages.append(_message(result.path, problem, "run the task again on the present data, or report the results apart"))
    return kept


def per_query_measure(main_score: str) -> str:
    """Column of the per-query scores that belongs to a main score: ``ndcg_at_10`` -> ``ndcg@10``."""
    return main_score.replace("_at_", "@")


def _attach_queries(result: _Result, messages: list[str]) -> None:
    """Take the per-query scores beside a result, if they are there and are the result's own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = result.path.with_name(f"{result.name}.queries.parquet")
    if not path.is_file():
        return
    measure = per_query_measure(result.task.main_score)
    try:
        file = pq.ParquetFile(path)
        identity = json.loads(file.schema_arrow.metadata[b"patent_mteb"])
        table = file.read(columns=["query", measure])
        values, queries = table[measure].to_numpy(), table["query"].to_pylist()
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        messages.append(_message(path, f"damaged per-query scores ({error}); not used", "delete the file and run the task again"))
        return
    ours = {
        "task": result.name,
        "main_score": result.task.main_score,
        "model": result.place.model,
        "model_revision": result.place.revision,
        "experiment": result.place.experiment or None,
        "dataset_revision": result.data_revision,
        "subset": result.subset,
    }
    expected = result.scores.get("n_queries", len(queries))
    other = [f"{key} {identity.get(key)!r} instead of {value!r}" for key, value in ours.items() if identity.get(key) != value]
    problem = ""
    if other:
        problem = f"per-query scores of another run ({'; '.join(other)})"
    elif len(queries) != expected or len(set(queries)) != len(queries):
        lacking = expected - len(set(queries))
        what = f"{lacking:.0f} of {expected:.0f} queries are missing" if lacking > 0 else "queries occur twice or are too many"
        problem = f"incomplete per-query scores: {what}"
    elif not abs(float(values.mean()) - result.scores["main_score"]) <= _MEAN_TOLERANCE:
        problem = f"the mean of {measure} is {values.mean():.6f}, but the result's main score is {result.scores['main_score']:.6f}"
    if problem:
        messages.append(_message(path, f"{problem}; not used", "delete result and per-query scores and run the task again"))
    else:
        result.queries = path


def _label(places: Any) -> None:
    """Give every place its label: the model, its settings, and the revision where it is needed to tell two apart."""
    places = list(places)
    for place in places:
        settings = place.settings
        if "kind" in settings or not place.experiment:
            place.label = place.model  # the name of a composed model shows its settings
        elif settings:
            place.label = f"{place.model} ({', '.join(f'{key}={value}' for key, value in settings.items())})"
        else:
            place.label = f"{place.model} ({place.experiment})"
    shared = {label for label in (place.label for place in places) if sum(other.label == label for other in places) > 1}
    for place in places:
        if place.label in shared:
            place.label = f"{place.label} @{place.revision[:12]}"


def _row(result: _Result) -> dict[str, Any]:
    place, task = result.place, result.task
    versions = place.versions.get(result.name) or (f"mteb {result.mteb_version}" if result.mteb_version else "")
    parameters, dims = place.meta.get("n_parameters"), place.meta.get("embed_dim")
    return {
        "run": place.label,
        "world": result.world,
        "family": task.family,
        "group": task.group,
        "task": result.name,
        "plain": task.name,
        "kind": task.kind,
        "main_score": task.main_score,
        "value": result.scores["main_score"],
        "n_queries": int(result.scores["n_queries"]) if "n_queries" in result.scores else None,
        "model": place.model,
        "revision": place.revision,
        "experiment": place.experiment,
        "settings": json.dumps(place.settings, sort_keys=True),
        "data": task.data,
        "data_revision": result.data_revision,
        "subset": result.subset,
        "split": task.split,
        "prompt": _prompt(place.model, place.settings, place.meta, result.name),
        "versions": versions,
        "date": datetime.fromtimestamp(result.date, UTC).isoformat(timespec="seconds") if result.date else "",
        "parameters": float(parameters) if isinstance(parameters, (int, float)) and parameters > 0 else None,
        "dims": dims if isinstance(dims, int) else None,
        "path": str(result.path),
        "queries": None if result.queries is None else str(result.queries),
    }


def _prompt(model: str, settings: Mapping[str, Any], meta: Mapping[str, Any], task: str) -> str:
    """What is known about the prompt that a model put before the texts of a task."""
    from patent_mteb.models.checkpoints import CHECKPOINTS
    from patent_mteb.models.prompts import prompt_for

    if parts := settings.get("parts"):
        return "; ".join(f"{part['name']}: {_prompt(part['name'], part, {}, task)}" for part in parts)
    checkpoint = CHECKPOINTS.get(model)
    if checkpoint is not None:
        row = prompt_for(task) if settings.get("prompts", checkpoint.prompts) in ("table11", True) else None
        if row is None:
            return "none"
        sides = dict.fromkeys((row.side("query"), row.side("document")))
        return " / ".join(f'"{side}"' for side in sides)
    prompts = (meta.get("loader_kwargs") or {}).get("model_prompts") or {}
    used = [f'{key}: "{prompts[key]}"' for key in (f"{task}-query", f"{task}-document", task, "query", "document") if key in prompts]
    if used:
        return "; ".join(used)
    if meta.get("use_instructions") is False:
        return "none"
    return "the model's own instructions" if meta.get("use_instructions") else "not recorded"


def _score_rows(result: _Result) -> Iterator[tuple[Any, ...]]:
    counts = {key.removesuffix(end): int(value) for key, value in result.scores.items() for end in _COUNTS if key.endswith(end)}
    names = sorted(counts, key=len, reverse=True)
    common = (result.place.label, result.world, result.task.family, result.task.group, result.name, result.task.name)
    whole = result.scores.get("n_queries")
    for key, value in result.scores.items():
        if key in _NOT_SCORES or key.endswith(_COUNTS) or key.startswith("nauc_"):
            continue
        name = next((name for name in names if key.startswith(f"{name}_")), "")
        measure = key.removeprefix(f"{name}_") if name else key
        n_queries = counts[name] if name else None if whole is None else int(whole)
        yield (*common, name, measure, value, n_queries, measure == result.task.main_score)
