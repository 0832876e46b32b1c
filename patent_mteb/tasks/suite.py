"""The tasks of all registered benchmarks, as reports need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from patent_mteb.data.loading import DataSet
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.benchmark import PatentBenchmark
from patent_mteb.tasks.own_data import benchmark_of_results, own_data_set, task_of_result


@dataclass(frozen=True)
class SuiteTask:
    """A task on the real data as reports need it; ``kind`` is mteb's type, ``order`` the position among all tasks."""

    name: str
    benchmark: str
    group: str
    kind: str
    main_score: str
    scoring: str
    split: str
    data: DataSet
    order: int


def suite_tasks() -> dict[str, SuiteTask]:
    """Return the registered tasks by name, in the order of benchmarks, groups and tasks."""
    tasks: dict[str, SuiteTask] = {}
    for benchmark in catalogue.benchmarks():
        for group, members in benchmark.groups.items():
            for task in members:
                row = _suite_task(task, benchmark.name, group, task.data, len(tasks))
                tasks.setdefault(task.metadata.name, row)
    return tasks


def _suite_task(task: type[PatentTask], benchmark: str, group: str, data: DataSet, order: int) -> SuiteTask:
    meta, split = task.metadata, task.facts.split
    return SuiteTask(meta.name, benchmark, group, meta.type, meta.main_score, task.scoring, split, data, order)


class TasksOnOwnData:
    """The tasks on own data that have results; the record in a result is enough.

    If ``PATENT_MTEB_DATA`` names the data set, its benchmarks contain every task that it declares, so that a model
    without a result on one of them has no mean.
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, tuple[type[PatentTask], PatentBenchmark]]] = {}

    def task(self, record: Any) -> SuiteTask | None:
        """Return the task of a result with a record of its own data set; None for any other result."""
        pair = task_of_result(record, catalogue.benchmarks())
        if pair is None:
            return None
        task, published = pair
        known = self._found.setdefault(task.facts.name, {})
        known.setdefault(task.metadata.name, pair)
        original = task.published_as or task
        data = own_data_set(published.facts, task.data, str(record["name"]))
        order = [*published.task_classes, original].index(original)
        return _suite_task(task, task.facts.name, published.group_of(original), data, order)

    @property
    def benchmarks(self) -> tuple[PatentBenchmark, ...]:
        known = {name: [*self._found[name].values(), *self._declared(name)] for name in sorted(self._found)}
        return tuple(map(benchmark_of_results, known.values()))

    @property
    def messages(self) -> tuple[str, ...]:
        """A message for each data set that ``PATENT_MTEB_DATA`` does not name."""
        return tuple(
            f"{name}: the tasks of this data set are unknown here, so its means are over the tasks with results."
            " Remedy: set PATENT_MTEB_DATA to its directory."
            for name in sorted(self._found)
            if not self._declared(name)
        )

    def _declared(self, name: str) -> list[tuple[type[PatentTask], PatentBenchmark]]:
        """Return the tasks of the data set in ``PATENT_MTEB_DATA``, if it has the version of the results."""
        task, published = next(iter(self._found[name].values()))
        present = next((one for one in catalogue.own_benchmarks() if one.name == name), None)
        declared = [one for one in present.task_classes if one.own] if present else []
        return [(one, published) for one in declared if _version(one) == _version(task)]


def _version(task: type[PatentTask]) -> tuple[str, str] | None:
    return (task.own.name, task.own.version) if task.own else None
