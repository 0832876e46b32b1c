"""Everything that the suite enters in mteb: its benchmarks, their tasks, the sample twins of these, and the benchmarks
of own data.

Public patent tasks that mteb brings along: taken into ``PatentMTEB+`` as they are, with mteb's names, scores and
data.

=====================================  =================================================================================
task                                   content
=====================================  =================================================================================
``BigPatentClustering.v2``             US descriptions by CPC section (Sharma et al. 2019, CC BY 4.0); V-measure
``SwedishPatentCPC{Subclass,Group}…``  claims of Swedish patents of 1885-1972, by optical character recognition, and
                                       their CPC classes, several each (KTH and PRV, MIT); accuracy of mteb's
                                       multi-label protocol
=====================================  =================================================================================

They know neither the suite's evidence nor its data resolution: mteb loads them, and ``PATENT_MTEB_DATA`` says nothing
to them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mteb.abstasks import AbsTask

from patent_mteb import _mteb
from patent_mteb.data.roots import KEYS, Root
from patent_mteb.errors import DataError, RegistrationError, did_you_mean
from patent_mteb.models import prompts
from patent_mteb.tasks import (
    clef_ip,
    dapfam,
    novelty,
    open_ep,
    open_us,
    own_datasets,
    panorama,
    patenteb,
    patentmap,
    patentmatch,
    sophia,
    wipo_at,
)
from patent_mteb.tasks.base import PatentTask, class_name, sample_twin
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark, of_type

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


NAMES: Mapping[str, Sequence[str]] = {
    "BigPatent": ("BigPatentClustering.v2",),
    "Swedish CPC": ("SwedishPatentCPCSubclassClassification", "SwedishPatentCPCGroupClassification"),
}
"""mteb's names by the benchmark that they stand for."""


def taken() -> dict[str, tuple[type[AbsTask], ...]]:
    """mteb's task classes by the benchmark that they stand for."""
    return {label: tuple(map(_mteb.task_of_mteb, names)) for label, names in NAMES.items()}


_BENCHMARKS: dict[str, PatentBenchmark] = {}

_TWINS: dict[type[PatentTask], type[PatentTask]] = {}

_VARIANTS: dict[str, tuple[PatentBenchmark, ...]] = {}
"""By benchmark: its tasks on the sample, and its retrieval tasks only if it has others."""

_OWN: list[tuple[Root, tuple[PatentBenchmark, ...]]] = []
"""The benchmarks of the data set that was last asked for: the same objects as long as it stays as it is."""


def add(benchmark: PatentBenchmark) -> None:
    """Enter a benchmark: from now on its tasks, its samples, its report tab and its validation are known. Again changes
    nothing.
    """
    known = _BENCHMARKS.setdefault(benchmark.name, benchmark)
    if known is not benchmark:
        raise RegistrationError(f"the benchmark '{benchmark.name}' is registered already. Remedy: choose another name")
    KEYS.update((data.key, benchmark.facts.known_by) for data in benchmark.data_sets)
    _make_twins(benchmark.task_classes)
    if benchmark.name not in _VARIANTS:
        _VARIANTS[benchmark.name] = _variants(benchmark)
    prompts.add_rows(benchmark.facts.prompt_rows)


def _make_twins(tasks: Sequence[type[PatentTask]]) -> None:
    """Those of tasks whose data have a sample."""
    for task in tasks:
        if task not in _TWINS:
            if task.data.recipe:
                _TWINS[task] = sample_twin(task)
            for kind in (task, _TWINS.get(task, task)):
                setattr(sys.modules[task.__module__], class_name(kind.metadata.name), kind)


def _variants(benchmark: PatentBenchmark) -> tuple[PatentBenchmark, ...]:
    """``<Benchmark>(retrieval)`` where it has tasks of other types, so that systems that only search have complete
    scores; and both on the sample, ``<Benchmark>.sample``, where each of its tasks has one.
    """
    searched = of_type(benchmark, "Retrieval", f"{benchmark.name}(retrieval)")
    wholes = [whole for whole in (benchmark, searched) if whole is not None]
    variants = (one for whole in wholes for one in (whole, _sampled(whole)) if one is not None)
    return tuple(variants)[1:]


def _sampled(benchmark: PatentBenchmark) -> PatentBenchmark | None:
    if not all(task in _TWINS for task in benchmark.task_classes):
        return None
    description = (
        f"{benchmark.facts.description} On the built-in sample, for trying things out: its scores say nothing of the"
        " benchmark."
    )
    facts = replace(benchmark.facts, name=f"{benchmark.name}.sample", description=description)
    groups = {label: [_TWINS[task] for task in tasks] for label, tasks in benchmark.groups.items()}
    return PatentBenchmark(facts, groups, column=benchmark.column, macro=benchmark.macro)


def benchmarks() -> tuple[PatentBenchmark, ...]:
    """All benchmarks, the five of the papers first.

    Example:
        >>> from patent_mteb.tasks.catalogue import benchmarks
        >>> [benchmark.name for benchmark in benchmarks()[:5]]
        ['WIPO-AT', 'DAPFAM', 'PatenTEB', 'Sophia', 'PatentMap']
    """
    return tuple(_BENCHMARKS.values())


def own_benchmarks() -> tuple[PatentBenchmark, ...]:
    """The benchmarks of the data set in ``PATENT_MTEB_DATA``, under its name; none if no ``dataset.json`` says one.
    Only that is read.
    """
    root = own_datasets.root_or_none()
    if root is None or root.record is None:
        return ()
    if not _OWN or _OWN[0][0] != root:
        _OWN[:] = [(root, tuple(own_datasets.in_root(root, benchmarks())))]
    return _OWN[0][1]


def enter_own() -> None:
    """Let mteb know the tasks of the data set that ``PATENT_MTEB_DATA`` names now, in place of those it named before. A
    name that is taken is a warning: mteb itself must go on.
    """
    mine = own_benchmarks()
    try:
        _mteb.enter_instead([task for benchmark in mine for task in benchmark.task_classes], mine)
    except RegistrationError as error:
        logger.warning("the tasks of the data set in PATENT_MTEB_DATA are not registered: %s", error)


def find(name: str) -> PatentBenchmark:
    """The benchmark of this name, ``PatentMTEB`` and those of own data included.

    Raises:
        DataError: there is none.

    Example:
        >>> from patent_mteb.tasks.catalogue import find
        >>> list(find("PatentMap").groups)
        ['Retrieval', 'Classification']
    """
    known = {benchmark.name: benchmark for benchmark in (*own_benchmarks(), *mteb_benchmarks())}
    if name in known:
        return known[name]
    raise DataError(
        f"there is no benchmark '{name}'{did_you_mean(name, known)}", remedy=f"choose among {', '.join(known)}"
    )


def tasks() -> tuple[type[PatentTask], ...]:
    """The classes of all tasks."""
    return tuple(task for benchmark in benchmarks() for task in benchmark.task_classes)


def sample_tasks() -> tuple[type[PatentTask], ...]:
    """The twins of tasks that always run on the built-in sample: of all whose data have one."""
    return tuple(_TWINS[task] for task in tasks() if task in _TWINS)


def unlisted_tasks() -> tuple[type[PatentTask], ...]:
    """What mteb finds by name only: the twins of :func:`sample_tasks`, and variants of tasks (``<Task>.mteb``) with
    their twins.
    """
    return (*sample_tasks(), *(kind for task in dapfam.MTEB_TASKS for kind in (task, _TWINS[task])))


def get_tasks(
    benchmark: str | Sequence[str] | None = None, *, types: Sequence[str] | None = None, sample: bool = False
) -> list[PatentTask]:
    """Tasks of the suite, ready for ``mteb.evaluate`` or :func:`patent_mteb.evaluate`.

    Args:
        benchmark: name or names of benchmarks; all if None.
        types: mteb's task types, such as ``["Retrieval"]``; all if None.
        sample: the tasks' twins on the built-in sample, whatever data there is; without a benchmark those that have
            one.

    Raises:
        DataError: an unknown benchmark, or no task of these types.

    Example:
        >>> import patent_mteb
        >>> [task.metadata.name for task in patent_mteb.get_tasks("PatentMap", types=["Retrieval"], sample=True)]
        ['PatentMapAbsToAbsRetrieval.sample', 'PatentMapClmToAllRetrieval.sample']
    """
    names = (benchmark,) if isinstance(benchmark, str) else benchmark
    homes = benchmarks() if names is None else [find(name) for name in names]
    held = {task: benchmark for benchmark in reversed(homes) for task in benchmark.task_classes}
    order = dict.fromkeys(task for benchmark in homes for task in benchmark.task_classes)
    chosen = [
        task
        for task in order
        if (types is None or task.metadata.type in types) and (names or not sample or task in _TWINS)
    ]
    if not chosen:
        known = ", ".join(sorted({task.metadata.type for task in held}))
        raise DataError(f"no task is of type {', '.join(types or ())}", remedy=f"choose among {known}")
    if sample and (without := [task for task in chosen if task not in _TWINS and not task.force_sample]):
        raise DataError(f"{without[0].metadata.name} has no sample", remedy="leave out sample=True")
    return [_TWINS.get(task, task)() if sample else held[task].make(task) for task in chosen]


for _module in (wipo_at, dapfam, patenteb, sophia, patentmap):
    add(_module.BENCHMARK)

_make_twins(dapfam.MTEB_TASKS)


_PAPERS = benchmarks()

for _benchmark in (open_us.BENCHMARK, open_us.GRANTS, open_ep.BENCHMARK):
    add(_benchmark)


def _bibliography(those: Iterable[PatentBenchmark]) -> str:
    """The citations of benchmarks by key, as mteb writes several."""
    return "\n\n".join(
        sorted((benchmark.facts.bibtex for benchmark in those), key=lambda entry: entry.partition("{")[2])
    )


_PUBLIC = tuple(module.BENCHMARK for module in (panorama, patentmatch, novelty, clef_ip))

for _benchmark in _PUBLIC:
    add(_benchmark)

_TOTAL = PatentBenchmark(
    Facts(
        name="PatentMTEB",
        description=(
            "The benchmarks of the five papers on the published data; the score of a model is the macro-average over"
            " them."
        ),
        reference=None,
        bibtex=_bibliography(_PAPERS),
        license="not specified",
        date=("1964-01-01", "2025-12-31"),
    ),
    {benchmark.name: benchmark.task_classes for benchmark in _PAPERS},
    column="Benchmark",
    macro=True,
    published=True,
)

_VARIANTS[_TOTAL.name] = _variants(_TOTAL)

_PLUS = PatentBenchmark(
    Facts(
        name="PatentMTEB+",
        description=(
            "PatentMTEB and further public sets, each of which counts the same in the macro-average; on the published"
            " data only."
        ),
        reference=None,
        bibtex=_bibliography((*_PAPERS, *_PUBLIC)),
        license="not specified",
        date=_TOTAL.facts.date,
    ),
    {**_TOTAL.groups, **{benchmark.name: benchmark.task_classes for benchmark in _PUBLIC}},
    column="Benchmark",
    macro=True,
    published=True,
    taken=taken(),
)

_VARIANTS[_PLUS.name] = ()


def total() -> PatentBenchmark:
    """``PatentMTEB``: the five papers' benchmarks, whose score is the macro-average over them."""
    return _TOTAL


def mteb_benchmarks() -> tuple[PatentBenchmark, ...]:
    """What mteb gets to know: every benchmark, ``PatentMTEB`` and ``PatentMTEB+``, and behind them their retrieval
    tasks and their samples.
    """
    whole = (*benchmarks(), _TOTAL, _PLUS)
    return (*whole, *(variant for benchmark in whole for variant in _VARIANTS[benchmark.name]))
