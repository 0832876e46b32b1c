"""All uses of mteb's private names: its registries, and the steps and random generators of its tasks.

mteb has no plugin mechanism. Its registries are plain containers, which only this module extends; :func:`_private`
looks up every name. :data:`METHODS` lists the private methods that the suite replaces, and :data:`NAMES` all names
that it imports. :class:`TaskHooks` and :class:`PairHooks` give the methods public names. :func:`check_contract`
compares both with mteb's: a name that mteb has moved is one clear error, not a step that is silently skipped.

The module does not depend on the rest of the suite, and imports mteb only when it is called.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any

from patent_mteb.errors import RegistrationError

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask
    from mteb.benchmarks.benchmark import Benchmark
    from mteb.models.model_meta import ModelMeta


_SUBSET = ("model", "data_split", "encode_kwargs", "hf_split", "hf_subset", "timer")
METHODS: dict[tuple[str, str, str], tuple[str, ...]] = {
    ("mteb.abstasks.abstask", "AbsTask", "_evaluate_subset"): _SUBSET,
    ("mteb.abstasks.retrieval", "AbsTaskRetrieval", "_evaluate_subset"): (*_SUBSET, "prediction_folder", "num_proc"),
    ("mteb.abstasks.abstask", "AbsTask", "_push_dataset_to_hub"): (),
    ("mteb.abstasks.abstask", "AbsTask", "_calculate_descriptive_statistics_from_split"): ("split",),
    ("mteb.abstasks.sts", "AbsTaskSTS", "_calculate_scores"): ("scores", "normalized_scores"),
}
"""Module, class and method of mteb that a hook replaces, with the parameters that the hook needs."""

NAMES = {
    "mteb._set_seed": "_set_seed",
    "mteb": "HybridSearch evaluate get_benchmark get_model_meta get_model_metas get_task get_tasks",
    "mteb.abstasks": "AbsTask AbsTaskClustering AbsTaskMultilabelClassification",
    "mteb.abstasks.retrieval": "AbsTaskRetrieval",
    "mteb.abstasks.retrieval_dataset_loaders": "RetrievalSplitData",
    "mteb.abstasks.sts": "AbsTaskSTS",
    "mteb.abstasks.task_metadata": "TaskCategory TaskMetadata TaskType",
    "mteb.benchmarks.benchmark": "Benchmark BenchmarkAggregation CustomGroup CustomGrouping",
    "mteb.cache": "ResultCache",
    "mteb.models": "CompressionWrapper CrossEncoderProtocol CrossEncoderWrapper EncoderProtocol MTEBModels "
    "SearchCrossEncoderWrapper SearchEncoderWrapper SearchProtocol SentenceTransformerEncoderWrapper",
    "mteb.models.abs_encoder": "AbsEncoder PromptSource get_prompt",
    "mteb.models.instruct_wrapper": "InstructSentenceTransformerModel",
    "mteb.models.model_implementations.random_baseline": "RandomEncoderBaseline",
    "mteb.models.model_meta": "ModelMeta ScoringFunction",
    "mteb.models.sentence_transformer_wrapper": "CrossEncoderWrapper SparseEncoderWrapper",
    "mteb.results": "TaskResult",
    "mteb.similarity_functions": "cos_sim pairwise_cos_sim",
    "mteb.types": "Array BatchedInput EncodeKwargs Licenses PromptType",
}
"""All names of mteb that the suite imports, by module."""


class TaskHooks:
    """mteb's private steps of a task under public names; a base class before mteb's."""

    before_lookup: Any  # prepares the task before mteb looks for a stored score
    check_model: Any  # rejects a model whose scores could be confused with another's
    with_cost: Any  # returns the scores that a function computes, with their cost
    with_settings: Any  # adds the prompts and settings of the model to the scores
    with_evidence: Any  # adds the evidence to the scores, or rejects them
    upload: Any  # pushes the task's data to the hub

    def evaluate_split(self, model: Any, data_split: Any, **arguments: Any) -> Any:
        """Return the scores of a model on the data of one split and subset."""
        return super()._evaluate_subset(model, data_split, **arguments)  # type: ignore[misc]

    def describe_split(self, split: str, **arguments: Any) -> Any:
        return super()._calculate_descriptive_statistics_from_split(split, **arguments)  # type: ignore[misc]

    @property
    def eval_splits(self) -> Any:
        """The splits; mteb reads them, and then the subsets, when it looks for a stored score."""
        self.before_lookup()
        return super().eval_splits  # type: ignore[misc]

    def _evaluate_subset(self, model: Any, data_split: Any, **arguments: Any) -> Any:
        scores = self.with_cost(model, lambda: self.evaluate_split(model, data_split, **arguments))
        self.check_model(model, **arguments)
        return self.with_evidence(self.with_settings(scores, model, data_split, **arguments), model)

    def _calculate_descriptive_statistics_from_split(self, split: str, **arguments: Any) -> Any:
        return self.describe_split(split, **arguments)

    def _push_dataset_to_hub(self, *args: Any, **arguments: Any) -> None:
        self.upload(*args, **arguments)


class PairHooks:
    """As :class:`TaskHooks`, for the scores of a task on pairs of texts."""

    def score_pairs(self, scores: Any, labels: list[float]) -> Any:
        """Return the scores from the similarities of all pairs and their labels, scaled to 0 to 1."""
        return super()._calculate_scores(scores, labels)  # type: ignore[misc]

    def _calculate_scores(self, scores: Any, normalized_scores: list[float]) -> Any:
        return self.score_pairs(scores, normalized_scores)


def check_contract() -> None:
    """Look for every name of mteb that the suite imports, and for the methods that it replaces."""
    for module, names in NAMES.items():
        for name in names.split():
            _private(module, name, object)
    for (module, kind, method), parameters in METHODS.items():
        owner = _private(module, kind, type)
        found = inspect.getattr_static(owner, method, None)
        known = inspect.signature(found).parameters if callable(found) else {}
        if not found:
            raise _moved(f"{module}.{kind}.{method}")
        if missing := [name for name in parameters if name not in known]:
            raise _moved(f"{module}.{kind}.{method} with the parameter {missing[0]}")


def adapt_evaluate() -> None:
    """Let ``mteb.evaluate`` ask tasks of the suite about a model before it looks up a score, and do without torch.

    It looks up scores by name, so a model that was changed after it was loaded would get its former score. It requires
    torch for any model, also for BM25, and imports it only to recognise the classes of sentence-transformers.
    """
    module: Any = importlib.import_module("mteb.evaluate")
    evaluate = _private("mteb.evaluate", "_evaluate_resolved", Callable)  # type: ignore[arg-type]
    if evaluate.__module__ != __name__:

        def evaluated(model: Any, meta: Any, name: Any, revision: Any, tasks: Any, **options: Any) -> Any:
            if isinstance(tasks, TaskHooks):
                tasks.check_model(model, **options)
            return evaluate(model, meta, name, revision, tasks, **options)

        module._evaluate_resolved = evaluated
    recognise = _private("mteb.evaluate", "_sanitize_model", Callable)  # type: ignore[arg-type]
    if recognise.__module__ != __name__:

        def recognised(model: Any) -> Any:
            return recognise(model) if "sentence_transformers" in sys.modules else _named_model(model)

        module._sanitize_model = recognised
    _private("mteb.evaluate", "_requires_full_installation", Callable)  # type: ignore[arg-type]
    if not all(importlib.util.find_spec(name) for name in ("torch", "sentence_transformers")):
        module._requires_full_installation = lambda package, what: None


def _named_model(model: Any) -> tuple[Any, ModelMeta, str | None, str | None]:
    from mteb.models.model_meta import ModelMeta

    meta = model if isinstance(model, ModelMeta) else getattr(model, "mteb_model_meta", None)
    if not isinstance(meta, ModelMeta):
        meta = model = ModelMeta.create_empty()
    return model, meta, meta.name, meta.revision


def restart_generators(task: AbsTask) -> None:
    """Let a task draw as a new object does: its random generators, those of its subtasks, and the global ones.

    mteb creates them with the task. Its clustering and multi-label tasks draw their documents from them, and go on
    where the previous evaluation stopped, so that a score would depend on the models before.
    """
    from mteb._set_seed import _set_seed

    for subtask in getattr(task.metadata, "tasks", ()):
        restart_generators(subtask)
    task.rng_state, task.np_rng = _set_seed(task.seed)


def _moved(what: str) -> RegistrationError:
    from importlib.metadata import version

    return RegistrationError(
        f"patent-mteb cannot register its tasks: mteb {version('mteb')} has no {what}",
        remedy="install a version of mteb that patent-mteb supports (mteb>=2.26.11,<3), or set PATENT_MTEB_AUTOLOAD=0"
        " to use mteb without the suite",
    )


def _private(module: str, name: str, kind: type) -> Any:
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise _moved(f"{module}.{name}") from None
    if not isinstance(found, kind):
        raise _moved(f"{module}.{name} of type {kind.__name__}")
    return found


REGISTERING = RLock()
"""Held while a registry of mteb is created or changed. A fork waits for it, so that no child has half a registry."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=REGISTERING.acquire, after_in_parent=REGISTERING.release, after_in_child=REGISTERING.release
    )

_TASKS = ("mteb.get_tasks", "_TASKS_REGISTRY", dict)
_MODELS = ("mteb.models.model_implementations", "MODEL_REGISTRY", dict)


def _enter(registry: dict[str, Any], name: str, value: Any, what: str) -> None:
    if name in registry and registry[name] is not value:
        owner = registry[name]
        owner = owner if isinstance(owner, type) else type(owner)
        raise RegistrationError(
            f"patent-mteb cannot register the {what} '{name}': the name already belongs to"
            f" {owner.__module__}.{owner.__qualname__}",
            remedy="uninstall the other package, or set PATENT_MTEB_AUTOLOAD=0 to use mteb without the suite",
        )
    registry[name] = value


def register_tasks(tasks: Iterable[type[AbsTask]], hidden: Iterable[type[AbsTask]] = ()) -> None:
    """Register task classes; ``hidden`` ones are found by name, but not listed."""
    module = "mteb.get_tasks"
    registry: dict[str, type[AbsTask]] = _private(*_TASKS)
    listed: tuple[type[AbsTask], ...] = _private(module, "TASK_LIST", tuple)
    similar: dict[str, list[str]] = _private(module, "_SIMILAR_TASKS", dict)
    tasks = tuple(tasks)
    for task in (*tasks, *hidden):
        _enter(registry, task.metadata.name, task, "task")
    for task in tasks:
        for parent in task.metadata.adapted_from or ():
            children = similar.setdefault(parent, [])
            if task.metadata.name not in children:
                children.append(task.metadata.name)
    fresh = tuple(task for task in tasks if task not in listed)
    importlib.import_module(module).TASK_LIST = listed + fresh  # type: ignore[attr-defined]


_WAITING: list[Benchmark] = []
"""Benchmarks to register when mteb creates its own, which takes as long as importing a third of mteb."""


def _benchmarks() -> dict[str, Benchmark]:
    """Return mteb's registry of benchmarks with those of the suite."""
    registry: dict[str, Benchmark] = importlib.import_module("mteb.benchmarks.get_benchmark")._build_registry()
    return registry


def _create_late() -> bool:
    """Let mteb add the waiting benchmarks when it creates its own; return whether it still has to create them."""
    module: Any = importlib.import_module("mteb.benchmarks.get_benchmark")
    build = _private("mteb.benchmarks.get_benchmark", "_build_registry", Callable)  # type: ignore[arg-type]
    if not hasattr(build, "cache_info"):
        _private("mteb.benchmarks.get_benchmark", "_build_registry with a cache", Callable)  # type: ignore[arg-type]
    if build.__module__ != __name__ and not build.cache_info().currsize:

        def built() -> dict[str, Benchmark]:
            with REGISTERING:  # mteb's cache lets several threads create a registry each
                registry: dict[str, Benchmark] = build()
                while _WAITING:
                    _enter(registry, _WAITING[0].name, _WAITING[0], "benchmark")
                    _WAITING.pop(0)
            return registry

        module._build_registry = built
        module._build_registry.cache_info = build.cache_info
    return not module._build_registry.cache_info().currsize


def register_benchmarks(benchmarks: Iterable[Benchmark]) -> None:
    """Register benchmarks under their names, without creating those of mteb."""
    if _create_late():
        _WAITING.extend(one for one in benchmarks if all(one is not known for known in _WAITING))
        return
    for benchmark in benchmarks:
        _enter(_benchmarks(), benchmark.name, benchmark, "benchmark")


_REPLACEABLE: dict[str, dict[str, Any]] = {"tasks": {}, "benchmarks": {}}
"""What the last call of :func:`replace_registered` registered, by name."""


def replace_registered(tasks: Iterable[type[AbsTask]], benchmarks: Iterable[Benchmark]) -> None:
    """Register tasks and benchmarks instead of those of the last call: all of them, or none."""
    module = importlib.import_module("mteb.get_tasks")
    registry: dict[str, Any] = _private(*_TASKS)
    wanted: dict[str, dict[str, Any]] = {
        "tasks": {task.metadata.name: task for task in tasks},
        "benchmarks": {benchmark.name: benchmark for benchmark in benchmarks},
    }
    if wanted == _REPLACEABLE:
        return
    known = _benchmarks()
    removed = [registry.pop(name, None) for name in _REPLACEABLE["tasks"]]
    module.TASK_LIST = tuple(task for task in module.TASK_LIST if task not in removed)  # type: ignore[attr-defined]
    for name in _REPLACEABLE["benchmarks"]:
        known.pop(name, None)
    _REPLACEABLE.update(tasks={}, benchmarks={})
    conflicts = [name for name in wanted["tasks"] if name in registry]
    conflicts += [name for name in wanted["benchmarks"] if name in known]
    if conflicts:
        raise RegistrationError(
            f"the name '{conflicts[0]}' belongs to another task or benchmark", remedy="give the data set another name"
        )
    register_tasks(wanted["tasks"].values())
    register_benchmarks(wanted["benchmarks"].values())
    _REPLACEABLE.update(wanted)


def register_models(metas: Iterable[ModelMeta]) -> None:
    registry: dict[str, ModelMeta] = _private(*_MODELS)
    for meta in metas:
        if meta.name is None:
            raise RegistrationError("a model of the suite has no name")
        _enter(registry, meta.name, meta, "model")


def task_of_mteb(name: str) -> type[AbsTask]:
    known = _private(*_TASKS)
    if name not in known:
        raise _moved(f"task {name}")
    found: type[AbsTask] = known[name]
    return found


def registered(kind: str) -> Mapping[str, Any]:
    """Return a copy of a registry of mteb: ``tasks``, ``benchmarks`` or ``models``, by name."""
    if kind == "benchmarks":
        return dict(_benchmarks())
    return dict(_private(*(_TASKS if kind == "tasks" else _MODELS)))
