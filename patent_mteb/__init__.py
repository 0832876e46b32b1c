"""The five patent-embedding benchmarks of the recent papers as ordinary mteb tasks.

Importing this package registers the suite in mteb; installing it is enough (``patent_mteb_autoload``). If mteb is not
imported yet, the suite is registered when it is. Nothing else is imported, read or downloaded.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import patent_mteb_autoload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mteb.abstasks import AbsTask
    from mteb.benchmarks.benchmark import Benchmark

    from patent_mteb.experiments.evaluate import evaluate, explain, rank
    from patent_mteb.report.comparison import compare
    from patent_mteb.tasks.benchmark import PatentBenchmark
    from patent_mteb.tasks.catalogue import get_tasks

    __version__: str

__all__ = [
    "__version__",
    "compare",
    "evaluate",
    "explain",
    "get_tasks",
    "rank",
    "register",
    "register_benchmark",
    "register_benchmarks",
    "register_tasks",
]

_MODULES = {
    "compare": "report.comparison",
    "evaluate": "experiments.evaluate",
    "explain": "experiments.evaluate",
    "get_tasks": "tasks.catalogue",
    "rank": "experiments.evaluate",
}


def register() -> None:
    """Register the tasks, benchmarks and models of the suite in mteb.

    A second call only updates the tasks on the own data set that ``PATENT_MTEB_DATA`` names now.

    Raises:
        patent_mteb.errors.RegistrationError: mteb has renamed something that the registration needs, or a name of the
            suite belongs to mteb or to another package.

    Example:
        >>> import mteb
        >>> import patent_mteb
        >>> patent_mteb.register()  # the import has done so already
        >>> mteb.get_benchmark("PatentMap").name
        'PatentMap'
    """
    from patent_mteb import _mteb

    _mteb.check_contract()  # before the modules that import mteb's names

    from patent_mteb.models.registry import suite_metas
    from patent_mteb.tasks.catalogue import enter_own, listed_tasks, mteb_benchmarks, unlisted_tasks

    with _mteb.REGISTERING:
        _mteb.adapt_evaluate()
        # tasks first: mteb drops model prompts that name an unknown task
        _mteb.register_tasks(listed_tasks(), unlisted_tasks())
        _mteb.register_benchmarks(mteb_benchmarks())
        enter_own()
        _mteb.register_models(suite_metas())


def register_benchmark(benchmark: PatentBenchmark) -> None:
    """Register a benchmark with its tasks, its sample tasks, its tab in reports and its validation.

    Args:
        benchmark: see :class:`patent_mteb.tasks.benchmark.PatentBenchmark`; ``examples/add_a_benchmark.py`` is a
            complete example.

    Raises:
        patent_mteb.errors.RegistrationError: a name is in use, or mteb has renamed its registry.

    Example:
        >>> import mteb
        >>> import patent_mteb
        >>> from patent_mteb.tasks.catalogue import find
        >>> patent_mteb.register_benchmark(find("PatentMap"))  # a new benchmark in the same way
        >>> mteb.get_benchmark("PatentMap").name
        'PatentMap'
    """
    from patent_mteb import _mteb
    from patent_mteb.tasks import catalogue

    with _mteb.REGISTERING:
        catalogue.add(benchmark)
    register()


def register_tasks(tasks: Iterable[type[AbsTask]], hidden: Iterable[type[AbsTask]] = ()) -> None:
    """Register single task classes in mteb; ``hidden`` ones are found by name, but not listed.

    Raises:
        patent_mteb.errors.RegistrationError: a name is in use, or mteb has renamed its registry.

    Example:
        >>> import mteb
        >>> import patent_mteb
        >>> from patent_mteb.tasks.catalogue import find
        >>> patent_mteb.register_tasks(find("PatentMap").task_classes)  # new tasks in the same way
        >>> mteb.get_task("PatentMapIPCClassification").metadata.type
        'MultilabelClassification'
    """
    from patent_mteb import _mteb

    with _mteb.REGISTERING:
        _mteb.register_tasks(tasks, hidden)


def register_benchmarks(benchmarks: Iterable[Benchmark]) -> None:
    """Register benchmarks of mteb's own class.

    Raises:
        patent_mteb.errors.RegistrationError: a name is in use, or mteb has renamed its registry.

    Example:
        >>> import mteb
        >>> import patent_mteb
        >>> from patent_mteb.tasks.catalogue import find
        >>> patent_mteb.register_benchmarks([find("PatentMap")])  # any benchmark of mteb in the same way
        >>> mteb.get_benchmark("PatentMap").name
        'PatentMap'
    """
    from patent_mteb import _mteb

    with _mteb.REGISTERING:
        _mteb.register_benchmarks(benchmarks)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("patent_mteb.identity").version()
    if name in _MODULES:
        return getattr(importlib.import_module(f"patent_mteb.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if "mteb" in sys.modules:
    register()
else:
    patent_mteb_autoload.install()
