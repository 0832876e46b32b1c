"""All benchmarks and tasks that the suite registers in mteb: its own, their samples, and those of own data.

``PatentMTEB+`` also contains patent tasks of mteb itself, with mteb's names, scores and data. These have no evidence,
and ``PATENT_MTEB_DATA`` does not apply to them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from patent_mteb import _mteb
from patent_mteb.data.loading import KEYS, DataSet, Root
from patent_mteb.errors import DataError, RegistrationError, did_you_mean
from patent_mteb.models import prompts
from patent_mteb.tasks import (
    clef_ip,
    dapfam,
    hupd,
    novelty,
    open_ep,
    open_us,
    own_data,
    panorama,
    patenteb,
    patentmap,
    patentmatch,
    phrases,
    sophia,
    wipo_at,
)
from patent_mteb.tasks.base import PatentTask, class_name, sample_task
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark, of_type
from patent_mteb.tasks.own_data import benchmark_of_results, own_data_set, task_of_result

__all__ = [
    "add",
    "benchmarks",
    "enter_own",
    "find",
    "get_tasks",
    "mteb_benchmarks",
    "own_benchmarks",
    "sample_tasks",
    "tasks",
    "total",
    "unlisted_tasks",
]

logger = logging.getLogger(__name__)

_MTEB_TASKS: Mapping[str, Sequence[str]] = {
    "BigPatent": ("BigPatentClustering.v2",),
    "Patent classes": ("PatentClassification.v2",),
    "Swedish CPC": ("SwedishPatentCPCSubclassClassification", "SwedishPatentCPCGroupClassification"),
}
"""Tasks of mteb by their group in ``PatentMTEB+``."""

_BENCHMARKS: dict[str, PatentBenchmark] = {}
_SAMPLE_TASKS: dict[type[PatentTask], type[PatentTask]] = {}
_VARIANTS: dict[str, tuple[PatentBenchmark, ...]] = {}
"""By benchmark: its tasks on the sample, and its retrieval tasks only if it has others."""
_OWN: list[tuple[Root, tuple[PatentBenchmark, ...]]] = []
"""The benchmarks of the last own data set: the same objects until the data set changes."""


def add(benchmark: PatentBenchmark) -> None:
    """Add a benchmark with its tasks, sample tasks, report tab and validation; a second call changes nothing."""
    known = _BENCHMARKS.setdefault(benchmark.name, benchmark)
    if known is not benchmark:
        raise RegistrationError(f"the benchmark '{benchmark.name}' is registered already", remedy="choose another name")
    KEYS.update((data.key, benchmark.facts.known_by) for data in benchmark.data_sets)
    _make_sample_tasks(benchmark.task_classes)
    if benchmark.name not in _VARIANTS:
        _VARIANTS[benchmark.name] = _variants(benchmark)
    prompts.add_rows(benchmark.facts.prompt_rows)


def _make_sample_tasks(tasks: Sequence[type[PatentTask]]) -> None:
    """Create the sample tasks of tasks whose data have a sample."""
    for task in tasks:
        if task not in _SAMPLE_TASKS:
            if task.data.recipe:
                _SAMPLE_TASKS[task] = sample_task(task)
            for kind in (task, _SAMPLE_TASKS.get(task, task)):
                setattr(sys.modules[task.__module__], class_name(kind.metadata.name), kind)


def _variants(benchmark: PatentBenchmark) -> tuple[PatentBenchmark, ...]:
    """Return the benchmark on the sample, and, for systems that only search, its retrieval tasks with their sample."""
    retrieval = of_type(benchmark, "Retrieval", f"{benchmark.name}(retrieval)")
    variants = [_sampled(benchmark), retrieval, _sampled(retrieval) if retrieval else None]
    return tuple(one for one in variants if one is not None)


def _sampled(benchmark: PatentBenchmark) -> PatentBenchmark | None:
    if not all(task in _SAMPLE_TASKS for task in benchmark.task_classes):
        return None
    description = (
        f"{benchmark.facts.description} On the built-in sample, for trying things out: its scores say nothing of the"
        " benchmark."
    )
    facts = replace(benchmark.facts, name=f"{benchmark.name}.sample", description=description)
    groups = {label: [_SAMPLE_TASKS[task] for task in tasks] for label, tasks in benchmark.groups.items()}
    return PatentBenchmark(facts, groups, column=benchmark.column, macro=benchmark.macro)


def benchmarks() -> tuple[PatentBenchmark, ...]:
    """Return all benchmarks, the five of the papers first.

    Example:
        >>> from patent_mteb.tasks.catalogue import benchmarks
        >>> [benchmark.name for benchmark in benchmarks()[:5]]
        ['WIPO-AT', 'DAPFAM', 'PatenTEB', 'Sophia', 'PatentMap']
    """
    return tuple(_BENCHMARKS.values())


def own_benchmarks() -> tuple[PatentBenchmark, ...]:
    """Return the benchmarks of the data set in ``PATENT_MTEB_DATA``; none without a ``dataset.json``."""
    root = own_data.own_data_root()
    if root is None or root.record is None:
        return ()
    if not _OWN or _OWN[0][0] != root:
        found = (own_data.own_data_benchmark(root, benchmark) for benchmark in benchmarks())
        _OWN[:] = [(root, tuple(benchmark for benchmark in found if benchmark is not None))]
    return _OWN[0][1]


def enter_own() -> None:
    """Register the tasks of the data set in ``PATENT_MTEB_DATA``.

    Those of the previous data set are removed. A name that is in use is a warning, because mteb itself must keep
    working.
    """
    with _mteb.REGISTERING:
        found = own_benchmarks()
        try:
            _mteb.replace_registered([task for benchmark in found for task in benchmark.task_classes], found)
        except RegistrationError as error:
            logger.warning("the tasks of the data set in PATENT_MTEB_DATA are not registered: %s", error)


def find(name: str) -> PatentBenchmark:
    """Return a benchmark by name, including ``PatentMTEB`` and those of own data.

    Raises:
        DataError: the name is unknown.

    Example:
        >>> from patent_mteb.tasks.catalogue import find
        >>> list(find("PatentMap").groups)
        ['Retrieval', 'Classification']
    """
    known = {benchmark.name: benchmark for benchmark in (*own_benchmarks(), *mteb_benchmarks())}
    if name not in known:
        problem = f"there is no benchmark '{name}'{did_you_mean(name, known)}"
        raise DataError(problem, remedy=f"choose among {', '.join(known)}")
    return known[name]


def tasks() -> tuple[type[PatentTask], ...]:
    """Return the classes of all tasks."""
    return tuple(task for benchmark in benchmarks() for task in benchmark.task_classes)


def sample_tasks() -> tuple[type[PatentTask], ...]:
    """Return the tasks ``<Task>.sample``, which always run on the built-in sample."""
    return tuple(_SAMPLE_TASKS[task] for task in tasks() if task in _SAMPLE_TASKS)


def listed_tasks() -> tuple[type[PatentTask], ...]:
    """Return the tasks that ``mteb.get_tasks()`` lists: those whose data are published, or in ``PATENT_MTEB_DATA``.

    Without data, a task would run on invented patents, and a mean over all tasks of a domain would contain its score.
    """
    root = own_data.own_data_root()
    return tuple(task for task in tasks() if task.data.released or (root and (root.folder / task.data.key).is_dir()))


def unlisted_tasks() -> tuple[type[PatentTask], ...]:
    """Return the tasks that mteb finds by name only: without data, on the sample, and variants ``<Task>.mteb``."""
    listed = listed_tasks()
    without_data = (task for task in tasks() if task not in listed)
    variants = (kind for task in dapfam.MTEB_TASKS for kind in (task, _SAMPLE_TASKS[task]))
    return (*without_data, *sample_tasks(), *variants)


def get_tasks(
    benchmark: str | Sequence[str] | None = None, *, types: Sequence[str] | None = None, sample: bool = False
) -> list[PatentTask]:
    """Return tasks of the suite for ``mteb.evaluate`` or :func:`patent_mteb.evaluate`.

    Args:
        benchmark: name or names of benchmarks; all if None.
        types: mteb's task types, such as ``["Retrieval"]``; all if None.
        sample: use the tasks on the built-in sample, whatever data are available. Without a benchmark, tasks without a
            sample are skipped.

    Raises:
        DataError: an unknown benchmark, or no task of these types.

    Example:
        >>> import patent_mteb
        >>> [task.metadata.name for task in patent_mteb.get_tasks("PatentMap", types=["Retrieval"], sample=True)]
        ['PatentMapAbsToAbsRetrieval.sample', 'PatentMapClmToAllRetrieval.sample']
    """
    names = (benchmark,) if isinstance(benchmark, str) else benchmark
    selected = benchmarks() if names is None else [find(name) for name in names]
    first_of = {task: benchmark for benchmark in reversed(selected) for task in benchmark.task_classes}
    ordered = dict.fromkeys(task for benchmark in selected for task in benchmark.task_classes)
    fitting = [task for task in ordered if types is None or task.metadata.type in types]
    chosen = [task for task in fitting if names or not sample or task in _SAMPLE_TASKS]
    if not chosen:
        known = ", ".join(sorted({task.metadata.type for task in ordered}))
        raise DataError(f"no task is of type {', '.join(types or ())}", remedy=f"choose among {known}")
    if sample and (without := [task for task in chosen if task not in _SAMPLE_TASKS and not task.force_sample]):
        raise DataError(f"{without[0].metadata.name} has no sample", remedy="remove sample=True")
    return [_SAMPLE_TASKS.get(task, task)() if sample else first_of[task].make(task) for task in chosen]


_PAPERS = tuple(module.BENCHMARK for module in (wipo_at, dapfam, patenteb, sophia, patentmap))
_OPEN = (open_us.BENCHMARK, open_us.GRANTS, open_ep.BENCHMARK)
_PUBLIC = (
    *(module.BENCHMARK for module in (panorama, patentmatch, novelty, clef_ip)),
    panorama.NOC4PC,
    *(module.BENCHMARK for module in (phrases, hupd)),
)
for _benchmark in (*_PAPERS, *_OPEN, *_PUBLIC):
    add(_benchmark)
_make_sample_tasks(dapfam.MTEB_TASKS)


def _average(
    name: str, description: str, members: Sequence[PatentBenchmark], mteb_tasks: Mapping[str, Sequence[str]]
) -> PatentBenchmark:
    """Return the macro-average over benchmarks and tasks of mteb."""
    entries = sorted((benchmark.facts.bibtex for benchmark in members), key=lambda entry: entry.partition("{")[2])
    bibtex = "\n\n".join(entries)  # as mteb does
    facts = Facts(name, description, None, bibtex, license="not specified", date=("1964-01-01", "2025-12-31"))
    return PatentBenchmark(
        facts,
        {benchmark.name: benchmark.task_classes for benchmark in members},
        column="Benchmark",
        macro=True,
        published=True,
        mteb_groups={label: tuple(map(_mteb.task_of_mteb, names)) for label, names in mteb_tasks.items()},
    )


_TOTAL = _average(
    "PatentMTEB",
    "The benchmarks of the five papers on the published data; the score of a model is the macro-average over them.",
    _PAPERS,
    {},
)
_PLUS = _average(
    "PatentMTEB+",
    "PatentMTEB and further public sets, each of which counts the same in the macro-average; on the published data"
    " only.",
    (*_PAPERS, *_PUBLIC),
    _MTEB_TASKS,
)
_VARIANTS |= {_TOTAL.name: _variants(_TOTAL), _PLUS.name: ()}


def total() -> PatentBenchmark:
    """Return ``PatentMTEB``: the benchmarks of the five papers, scored by the macro-average over them."""
    return _TOTAL


def mteb_benchmarks() -> tuple[PatentBenchmark, ...]:
    """Return the benchmarks in mteb's registry.

    These are all benchmarks, ``PatentMTEB`` and ``PatentMTEB+``, followed by their variants: retrieval only, sample.
    """
    registered = (*benchmarks(), _TOTAL, _PLUS)
    return (*registered, *(variant for benchmark in registered for variant in _VARIANTS[benchmark.name]))


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
    for benchmark in benchmarks():
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
        pair = task_of_result(record, benchmarks())
        if pair is None:
            return None
        task, published = pair
        self._found.setdefault(task.facts.name, {}).setdefault(task.metadata.name, pair)
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
            " Remedy: name its directory with --data."
            for name in sorted(self._found)
            if not self._declared(name)
        )

    def _declared(self, name: str) -> list[tuple[type[PatentTask], PatentBenchmark]]:
        """Return the tasks of the data set in ``PATENT_MTEB_DATA``, if it has the version of the results."""
        task, published = next(iter(self._found[name].values()))
        present = next((one for one in own_benchmarks() if one.name == name), None)
        declared = [one for one in present.task_classes if one.own] if present else []
        return [(one, published) for one in declared if _version(one) == _version(task)]


def _version(task: type[PatentTask]) -> tuple[str, str] | None:
    return (task.own.name, task.own.version) if task.own else None
