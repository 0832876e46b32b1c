"""mteb's descriptive statistics of tasks; ``python -m patent_mteb.experiments.describing`` writes those that the package brings along."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from patent_mteb.files import write_text
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.sizes import SHIPPED

__all__ = ["describe"]


def describe(tasks: Iterable[type[PatentTask]]) -> dict[str, Any]:
    """mteb's descriptive statistics of tasks, by name, as their data are now.

    Example:
        >>> import mteb
        >>> from patent_mteb.experiments.describing import describe
        >>> found = describe([type(mteb.get_task("PatentMapIPCClassification.sample"))])
        >>> found["PatentMapIPCClassification.sample"]["test"]["num_samples"] > 100
        True
    """
    found: dict[str, Any] = {}
    for kind in tasks:
        task = kind()
        task.load_data()
        ((subset, splits),) = (task.dataset or {}).items()
        found[task.metadata.name] = {split: task.describe_split(split, hf_subset=subset) for split in splits}
        task.unload_data()
    return found


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}:{json.dumps(stats, separators=(',', ':'))}" for name, stats in describe(catalogue.sample_tasks()).items()]
    write_text(SHIPPED, "{\n" + ",\n".join(lines) + "\n}\n")
