"""The benchmarks of own data sets: found by ``dataset.json`` in the directory of ``PATENT_MTEB_DATA``, or by what their
results say.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from patent_mteb.data.roots import Own, Root, data_root
from patent_mteb.errors import PatentMTEBError
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.benchmark import PatentBenchmark
from patent_mteb.tasks.own_names import owned

logger = logging.getLogger(__name__)


def root_or_none() -> Root | None:
    """The directory that ``PATENT_MTEB_DATA`` names, None where there is none that can be used: registering is no place
    to fail, and whoever asks for a task meets the error.
    """
    try:
        return data_root()
    except PatentMTEBError as error:
        _warn_once(f"{error} The tasks of this data set are not known to mteb.")
    except OSError as error:
        _warn_once(f"PATENT_MTEB_DATA cannot be read ({error}); the tasks of its data set are not known to mteb")
    return None


@cache
def _warn_once(message: str) -> None:
    """The directory is looked at whenever tasks are entered; one word on it is enough."""
    logger.warning("%s", message)


def in_root(root: Root, benchmarks: Sequence[PatentBenchmark]) -> list[PatentBenchmark]:
    """The benchmarks of the data set in a directory, under its name; empty without a ``dataset.json``. No table is
    opened.
    """
    made = (_of(root, benchmark) for benchmark in benchmarks if root.record)
    return [benchmark for benchmark in made if benchmark is not None]


def _of(root: Root, benchmark: PatentBenchmark) -> PatentBenchmark | None:
    held = [data for data in benchmark.data_sets if root.own(data.key) and (root.folder / data.key).is_dir()]
    if not held:
        return None
    if benchmark.names_in is None:
        tasks = [task for task in benchmark.task_classes if task.data in held]
    else:
        named = (benchmark.task_named(name) for data in held for name in benchmark.names_in(root.files(data.key)))
        tasks = [task for task in named if task is not None]
    classes = {task: owned(task, own, root.folder) for task in tasks if (own := root.own(task.data.key))}
    return _grouped(benchmark, classes) if classes else None


def _grouped(benchmark: PatentBenchmark, classes: Mapping[type[PatentTask], type[PatentTask]]) -> PatentBenchmark:
    """A benchmark of tasks on own data, in the groups of the published one."""
    groups: dict[str, list[type[PatentTask]]] = {label: [] for label in benchmark.groups}
    for task, mine in classes.items():
        groups.setdefault(benchmark.group_of(task), []).append(mine)
    facts = next(iter(classes.values())).facts
    return PatentBenchmark(facts, {label: tasks for label, tasks in groups.items() if tasks}, macro=benchmark.macro)


def task_of_result(
    record: Any, benchmarks: Iterable[PatentBenchmark]
) -> tuple[type[PatentTask], PatentBenchmark] | None:
    """The class of the task on own data that a result is of, and the published benchmark whose rules it follows; None
    if it does not say so or nobody knows the task any more.
    """
    if not isinstance(record, Mapping):
        return None
    words = {name: str(record.get(name) or "") for name in ("name", "version", "owner", "licence", "benchmark", "task")}
    benchmark = next((one for one in benchmarks if one.facts.name == words["benchmark"]), None)
    task = benchmark.task_named(words["task"]) if benchmark else None
    if benchmark is None or task is None or not words["name"]:
        return None
    return owned(task, Own(words["name"], words["version"], words["owner"], words["licence"]), None), benchmark


def benchmark_of_results(found: Iterable[tuple[type[PatentTask], PatentBenchmark]]) -> PatentBenchmark:
    """The benchmark of the tasks of one own data set that have results."""
    pairs = list(found)
    published = pairs[0][1]
    order = {task: place for place, task in enumerate(published.task_classes)}
    classes = {task.published_as: task for task, _ in pairs if task.published_as}
    return _grouped(published, dict(sorted(classes.items(), key=lambda pair: order.get(pair[0], len(order)))))
