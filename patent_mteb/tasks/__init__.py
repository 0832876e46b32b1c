"""The tasks of the suite: one module a family, each a table of specs."""

from __future__ import annotations

import sys

import patent_mteb
from patent_mteb.tasks import dapfam, patenteb, patentmap, sophia, wipo_at
from patent_mteb.tasks.base import PatentTask, class_name, sample_twin

__all__ = ["FAMILIES", "SAMPLE_TASKS", "TASKS"]

FAMILIES = (wipo_at, dapfam, patenteb, sophia, patentmap)

TASKS: tuple[type[PatentTask], ...] = tuple(task for family in FAMILIES for task in family.TASKS)
SAMPLE_TASKS: tuple[type[PatentTask], ...] = tuple(sample_twin(task) for task in TASKS)

for _task in (*TASKS, *SAMPLE_TASKS):
    setattr(sys.modules[_task.__module__], class_name(_task.metadata.name), _task)

patent_mteb.register()
