"""Registration in mteb: the only module that touches private names of mteb.

mteb has no plugin mechanism. Its registries are plain containers, which are extended here and nowhere else; every name used
is looked up by :func:`_private`, so that a name that mteb has moved stops with one clear error. ``tests/test_mteb_contract.py``
holds the contract.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from patent_mteb.errors import RegistrationError

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask
    from mteb.benchmarks.benchmark import Benchmark
    from mteb.models.model_meta import ModelMeta

__all__ = ["register", "register_benchmarks", "register_models", "register_tasks"]


def _private(module: str, name: str, kind: type) -> Any:
    from importlib.metadata import version

    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        found = None
    if not isinstance(found, kind):
        raise RegistrationError(
            f"patent-mteb cannot register its tasks: mteb {version('mteb')} has no {module}.{name} of type {kind.__name__}. "
            "Remedy: install a version of mteb that patent-mteb supports (mteb>=2.26,<3), or set PATENT_MTEB_AUTOLOAD=0 to "
            "use mteb without the suite."
        )
    return found


def _claim(registry: dict[str, Any], name: str, value: Any, what: str, same: bool) -> None:
    if name in registry and not same:
        owner = registry[name]
        owner = owner if isinstance(owner, type) else type(owner)
        raise RegistrationError(
            f"patent-mteb cannot register the {what} '{name}': the name is already owned by {owner.__module__}.{owner.__qualname__}. "
            "Remedy: uninstall the other package, or set PATENT_MTEB_AUTOLOAD=0 to use mteb without the suite."
        )
    registry[name] = value


def register_tasks(tasks: Iterable[type[AbsTask]], hidden: Iterable[type[AbsTask]] = ()) -> None:
    """Enter task classes. ``hidden`` ones resolve by name but appear in no list."""
    module = "mteb.get_tasks"
    registry: dict[str, type[AbsTask]] = _private(module, "_TASKS_REGISTRY", dict)
    listed: tuple[type[AbsTask], ...] = _private(module, "TASK_LIST", tuple)
    similar: dict[str, list[str]] = _private(module, "_SIMILAR_TASKS", dict)
    tasks = tuple(tasks)
    for task in (*tasks, *hidden):
        name = task.metadata.name
        _claim(registry, name, task, "task", registry.get(name) is task)
    for task in tasks:
        for parent in task.metadata.adapted_from or ():
            children = similar.setdefault(parent, [])
            if task.metadata.name not in children:
                children.append(task.metadata.name)
    fresh = tuple(task for task in tasks if task not in listed)
    importlib.import_module(module).TASK_LIST = listed + fresh  # type: ignore[attr-defined]


def register_benchmarks(benchmarks: Iterable[Benchmark]) -> None:
    """Enter benchmark objects under their names."""
    from collections.abc import Callable

    build = _private("mteb.benchmarks.get_benchmark", "_build_registry", Callable)  # type: ignore[arg-type]
    registry = build()
    if not isinstance(registry, dict) or build() is not registry:
        _private("mteb.benchmarks.get_benchmark", "_build_registry() as one cached dictionary", dict)
    for benchmark in benchmarks:
        _claim(registry, benchmark.name, benchmark, "benchmark", registry.get(benchmark.name) is benchmark)


def register_models(metas: Iterable[ModelMeta]) -> None:
    """Enter model metas under their names."""
    registry: dict[str, ModelMeta] = _private("mteb.models.model_implementations", "MODEL_REGISTRY", dict)
    for meta in metas:
        if meta.name is None:
            raise RegistrationError("a model of the suite has no name")
        _claim(registry, meta.name, meta, "model", registry.get(meta.name) is meta)


def _complete(module: str) -> bool:
    return hasattr(sys.modules[module], {"patent_mteb.tasks": "SAMPLE_TASKS", "patent_mteb.benchmarks": "BENCHMARKS"}[module])


def register() -> None:
    """Enter the whole suite: tasks first, because mteb drops model prompts that name an unknown task.

    While a module that defines part of the suite is still being imported (it imports mteb, which calls for the registration),
    nothing is done; those modules call it themselves at their end.
    """
    for name in ("patent_mteb.tasks", "patent_mteb.benchmarks"):
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False) and not _complete(name):
            return
    from patent_mteb.benchmarks import BENCHMARKS
    from patent_mteb.models import late_interaction, lexical, registry
    from patent_mteb.tasks import SAMPLE_TASKS, TASKS

    register_tasks(TASKS, SAMPLE_TASKS)
    register_benchmarks(BENCHMARKS)
    register_models((*registry.METAS, *lexical.BM25_METAS, *late_interaction.METAS))


def registered(kind: str) -> Mapping[str, Any]:
    """A registry of mteb as it stands: ``tasks``, ``benchmarks`` or ``models``, by name."""
    if kind == "tasks":
        return dict(_private("mteb.get_tasks", "_TASKS_REGISTRY", dict))
    if kind == "models":
        return dict(_private("mteb.models.model_implementations", "MODEL_REGISTRY", dict))
    return dict(importlib.import_module("mteb.benchmarks.get_benchmark")._build_registry())
