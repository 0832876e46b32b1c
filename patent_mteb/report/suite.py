"""The tasks that a report knows: those of every registered benchmark, at the time of asking."""

from __future__ import annotations

from dataclasses import dataclass

from patent_mteb.data.sources import DataSet
from patent_mteb.tasks import catalogue

__all__ = ["SuiteTask", "suite_tasks"]


@dataclass(frozen=True)
class SuiteTask:
    """What a report needs to know of a task.

    Attributes:
        name: of the task on the real data.
        benchmark: its benchmark, the first registered one if it is in several.
        group: its group there.
        kind: mteb's task type.
        main_score: name of its main score.
        split: the split it is scored on.
        data: its data set, at the revision that it stands for now.
        order: its place among all tasks, from 0.
    """

    name: str
    benchmark: str
    group: str
    kind: str
    main_score: str
    split: str
    data: DataSet
    order: int


def suite_tasks() -> dict[str, SuiteTask]:
    """The tasks by name, in the order of benchmarks, groups and tasks. Made anew by every call, so that it knows what was registered.

    Example:
        >>> from patent_mteb.report.suite import suite_tasks
        >>> task = suite_tasks()["PatentCitationRetrieval"]
        >>> task.benchmark, task.group, task.main_score
        ('WIPO-AT', 'Retrieval', 'ndcg_at_10')
    """
    tasks: dict[str, SuiteTask] = {}
    for benchmark in catalogue.benchmarks():
        for group, members in benchmark.groups.items():
            for task in members:
                meta = task.metadata
                tasks.setdefault(
                    meta.name,
                    SuiteTask(meta.name, benchmark.name, group, meta.type, meta.main_score, task.facts.split, task.data, len(tasks)),
                )
    return tasks
