"""Selection of tasks by names, benchmarks and filters."""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection, Sequence
from typing import get_args

import mteb
from mteb.abstasks import AbsTask
from mteb.abstasks.task_metadata import TaskCategory, TaskType
from mteb.benchmarks.benchmark import Benchmark

from patent_mteb import _mteb
from patent_mteb.data.loading import plain_name
from patent_mteb.errors import DataError, did_you_mean
from patent_mteb.tasks.catalogue import enter_own
from patent_mteb.tasks.retrieval import PatentRetrieval

logger = logging.getLogger(__name__)


def choose(
    *,
    names: Sequence[str] = (),
    benchmarks: Sequence[str] = (),
    types: Sequence[str] = (),
    categories: Sequence[str] = (),
    languages: Sequence[str] = (),
    splits: Sequence[str] = (),
) -> list[AbsTask]:
    """Return the tasks that satisfy all arguments: the named tasks of the benchmarks that pass every filter."""
    if not any((names, benchmarks, types, categories, languages, splits)):
        remedy = "name tasks with -t or a benchmark with -b; see 'patent-mteb list'"
        raise DataError("no task was chosen", remedy=remedy)
    enter_own()  # PATENT_MTEB_DATA may have changed since mteb was imported
    _refuse_unknown("task type", types, get_args(TaskType))
    _refuse_unknown("category", categories, get_args(TaskCategory))
    kinds = _mteb.registered("tasks").values()
    _refuse_unknown("language", languages, set().union(*map(_languages, kinds)) if languages else ())
    # copies, because filters change a task and the benchmark returns the same objects again
    candidates = [copy.copy(task) for name in benchmarks for task in _benchmark(name).tasks]
    if not benchmarks:
        candidates = [task_named(name) for name in names] if names else list(mteb.get_tasks())
    elif names:
        candidates = [task for name in names for task in _among(name, candidates)]
    fitting = [
        task
        for task in {task.metadata.name: task for task in candidates}.values()
        if (not types or task.metadata.type in types)
        and (not categories or task.metadata.category in categories)
        and (not languages or _languages(task) & set(languages))
        and (not splits or set(splits) & set(task.metadata.eval_splits))
    ]
    if not fitting:
        known_types = {task.metadata.type for task in candidates}
        known_splits = {split for task in candidates for split in task.metadata.eval_splits}
        available = f"there are tasks of type {_few(known_types)}, on the splits {_few(known_splits)}"
        raise DataError(f"none of {len(candidates)} tasks fits", remedy=f"{available}; remove a filter")
    if splits:
        _refuse_unknown("split", splits, {split for task in fitting for split in task.metadata.eval_splits})
        known = [[split for split in splits if split in task.metadata.eval_splits] for task in fitting]
        fitting = [task.filter_eval_splits(some) for task, some in zip(fitting, known, strict=True)]
    return [task.filter_languages(languages) for task in fitting] if languages else fitting


def limited(tasks: Sequence[AbsTask], queries: int) -> list[AbsTask]:
    """Return the retrieval tasks of the suite, limited to at most ``queries`` queries each."""
    retrieval = [task for task in tasks if isinstance(task, PatentRetrieval)]
    if not retrieval:
        raise DataError("only retrieval tasks of the suite have a number of queries", remedy="remove --limit")
    if skipped := len(tasks) - len(retrieval):
        logger.warning("%d of %d tasks are skipped: --limit applies to retrieval tasks", skipped, len(tasks))
    return [task.limit_to(queries) for task in retrieval]


def task_named(name: str) -> AbsTask:
    """Return mteb's task of this name."""
    _refuse_unknown("task", [name], _mteb.registered("tasks"), "see 'patent-mteb list' for the names")
    return mteb.get_task(name)


def _benchmark(name: str) -> Benchmark:
    _refuse_unknown("benchmark", [name], _mteb.registered("benchmarks"), "see 'patent-mteb list benchmarks'")
    return mteb.get_benchmark(name)


def _among(name: str, tasks: Sequence[AbsTask]) -> list[AbsTask]:
    """Return the tasks of this name, with or without the suffix for their data."""
    found = [task for task in tasks if name in (task.metadata.name, plain_name(task.metadata.name))]
    if not found:
        near = did_you_mean(name, [plain_name(task.metadata.name) for task in tasks])
        raise DataError(f"the benchmark has no task '{name}'{near}", remedy="remove -b or the task")
    return found


def _refuse_unknown(what: str, words: Sequence[str], known: Collection[str], remedy: str = "") -> None:
    for word in words:
        if word not in known:
            problem = f"there is no {what} '{word}'{did_you_mean(word, known)}"
            raise DataError(problem, remedy=remedy or f"choose among {_few(known)}")


def _few(words: Collection[str]) -> str:
    first = sorted(words)[:60]
    return ", ".join(first) + (", ..." if len(words) > len(first) else "")


def _languages(task: AbsTask | type[AbsTask]) -> set[str]:
    """Return the languages of a task, with and without their scripts."""
    return {*task.metadata.bcp47_codes, *task.metadata.languages}
