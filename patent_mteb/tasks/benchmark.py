"""Benchmarks: their facts, their tasks in groups, and their mean scores.

Tasks are created when a benchmark is first used, not when it is registered, because creating a task searches its data
(:mod:`patent_mteb.data.loading`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mteb.abstasks import AbsTask
from mteb.benchmarks.benchmark import Benchmark, BenchmarkAggregation, CustomGroup, CustomGrouping

from patent_mteb.data.data_source import DATA_SOURCES, data_source_of_task
from patent_mteb.data.loading import DATA_VARIABLE, SAMPLE_VARIABLE, DataSet, plain_name
from patent_mteb.errors import DataError
from patent_mteb.metrics.significance import too_small
from patent_mteb.recipes.dataset import FileRecord
from patent_mteb.tasks.verification import ContradictionError, Place, check_entry

if TYPE_CHECKING:
    from patent_mteb.tasks.base import PatentTask

logger = logging.getLogger(__name__)
__all__ = ["Facts", "PatentBenchmark", "group_means", "of_type", "summary"]
_Item = TypeVar("_Item")

PRIOR_ART = "Find prior art"
SAME_FIELD = "Find prior art in the same field"
OTHER_FIELDS = "Find prior art in other fields"
ONE_CLAIM = "Find prior art from one claim"
SUMMARY = "Find prior art from a machine summary"
BY_TITLE = "Find a patent by its title"
SORTING = "Sort patents into classes"
LANDSCAPE = "Map a landscape"
JOBS = (PRIOR_ART, SAME_FIELD, OTHER_FIELDS, ONE_CLAIM, SUMMARY, BY_TITLE, SORTING, LANDSCAPE)
"""Jobs of people who work with patents, in the order of reports. A benchmark may have others."""


@dataclass(frozen=True)
class Facts:
    """All facts on a benchmark, for mteb, reports, prompts and validation.

    Attributes:
        name: of the benchmark, in mteb and in reports.
        description: one sentence.
        reference: address of the paper, if there is one.
        bibtex: citation of the paper.
        license: of the data, as mteb spells it.
        date: first and last day of the texts, ISO.
        annotations: mteb's ``annotations_creators``.
        sample_creation: mteb's ``sample_creation``.
        split: the split that the tasks are scored on.
        spread: whether to report the largest minus the smallest task score.
        prefix: prefix of the task names, which reports omit within the benchmark.
        headline: the main retrieval task.
        jobs: the task and the slice of it (empty for all judgements) that stand for a job (:data:`JOBS`).
        short_names: short task names that do not follow from the prefix.
        domain_tasks: tasks for citations inside and outside the domain: mixed task -> ``{"in": task, "out": task}``.
        lacking: suffix of tasks that lack certain texts; reports compare them with the same task without the suffix.
        prompt_rows: (pattern of task names, row of PatenTEB's Table 11) for the prompts of its tasks.
        paper: key of the published tables (:mod:`patent_mteb.published`); empty for none.
        paper_queries: number of queries in the paper, if its data are not available. A run over fewer queries is not
            comparable with the paper.
        section_grid: (query view, corpus view) by task, for a grid of text views.
        query_types: whether the retrieval tasks share their queries and corpus, and differ in the representation of the
            query.
        replaced: prefixes of task names that the name of an own data set replaces.
        subject: words on the subject of the paper's data in descriptions and instructions, removed on own data.
        known_by: files that identify a directory of this benchmark under another name.
        check: quality check of the recipe on a directory: finding -> count.
    """

    name: str
    description: str
    reference: str | None
    bibtex: str
    license: str | None
    date: tuple[str, str]
    annotations: str = "derived"
    sample_creation: str = "found"
    split: str = "test"
    spread: bool = False
    prefix: str = ""
    headline: str = ""
    jobs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    short_names: Mapping[str, str] = field(default_factory=dict)
    domain_tasks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    lacking: str = ""
    prompt_rows: tuple[tuple[str, str], ...] = ()
    paper: str = ""
    paper_queries: int = 0
    section_grid: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    query_types: bool = False
    replaced: tuple[str, ...] = ()
    subject: str = ""
    known_by: tuple[str, ...] = ()
    check: Callable[[Path], Mapping[str, int]] | None = None


class _Lazy(Sequence[_Item]):
    """A sequence that is created at first use, and again after a change of the data variables."""

    def __init__(self, make: Callable[[], Sequence[_Item]]) -> None:
        self._make = make
        self._made: tuple[tuple[str | None, ...], Sequence[_Item]] | None = None

    def _items(self) -> Sequence[_Item]:
        state = tuple(os.environ.get(name) for name in (DATA_VARIABLE, SAMPLE_VARIABLE))
        if self._made is None or self._made[0] != state:
            self._made = (state, self._make())
        return self._made[1]

    def __getitem__(self, index: Any) -> Any:
        return self._items()[index]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._items())


class PatentBenchmark(Benchmark):
    """A benchmark whose tasks and groups are created at first use.

    Args:
        facts: see :class:`Facts`.
        groups: column title -> the classes of its tasks.
        column: name of mteb's grouping.
        macro: compute the overall score as the mean over the groups, not over the tasks.
        names_in: returns the names of the tasks that the files of a data set support, including those of
            ``task_named``; all tasks if None.
        task_named: creates a task that the groups do not list from a valid name; returns None for any other name.
        published: accept the published data only, whatever the environment variables are.
        mteb_groups: further groups, of mteb's own tasks (:mod:`patent_mteb.tasks.catalogue`).

    Example:
        >>> from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
        >>> from patent_mteb.tasks.catalogue import tasks
        >>> facts = Facts(
        ...     name="Pair", description="Two tasks.", reference=None, bibtex="", license=None,
        ...     date=("2000-01-01", "2020-12-31"),
        ... )
        >>> benchmark = PatentBenchmark(facts, {"First": tasks()[:1], "Second": tasks()[1:2]})
        >>> benchmark.name, len(benchmark.task_classes)
        ('Pair', 2)
    """

    def __init__(
        self,
        facts: Facts,
        groups: Mapping[str, Sequence[type[PatentTask]]],
        *,
        column: str = "Group",
        macro: bool = False,
        names_in: Callable[[Mapping[str, FileRecord]], Sequence[str]] | None = None,
        task_named: Callable[[str], type[PatentTask] | None] | None = None,
        published: bool = False,
        mteb_groups: Mapping[str, Sequence[type[AbsTask]]] | None = None,
    ) -> None:
        self.facts, self.groups, self.macro, self.column, self.published = facts, groups, macro, column, published
        self.names_in, self._task_named = names_in, task_named
        self.columns: Mapping[str, Sequence[type[AbsTask]]] = {**groups, **(mteb_groups or {})}
        theirs = tuple(chain.from_iterable((mteb_groups or {}).values()))
        made: _Lazy[AbsTask] = _Lazy(lambda: (*map(self.make, self.task_classes), *(task() for task in theirs)))

        def aggregations() -> tuple[BenchmarkAggregation | CustomGrouping, ...]:
            """mteb's means: none of them is over tasks of two data sources."""
            by_class = dict(zip((*self.task_classes, *theirs), made, strict=True))
            groups: dict[str, list[AbsTask]] = {}
            for label, kinds in self.columns.items():
                for task in map(by_class.__getitem__, kinds):
                    data_source = DATA_SOURCES[data_source_of_task(task.metadata.name)]
                    groups.setdefault(data_source.titled(label), []).append(task)
            grouping = CustomGrouping(
                column, tuple(CustomGroup(label, tuple(tasks)) for label, tasks in groups.items())
            )
            mixed = len({data_source_of_task(task.metadata.name) for task in made}) > 1
            return (grouping,) if macro or mixed else (BenchmarkAggregation.MEAN_TASK, grouping)

        super().__init__(
            facts.name,
            tasks=made,
            aggregations=_Lazy(aggregations),
            description=facts.description,
            reference=facts.reference,
            citation=facts.bibtex,
        )

    def __post_init__(self) -> None:
        """Skip mteb's check of the aggregations, which would create the tasks."""

    @property
    def task_classes(self) -> tuple[type[PatentTask], ...]:
        """The classes of all tasks, group by group."""
        return tuple(task for tasks in self.groups.values() for task in tasks)

    def make(self, task: type[PatentTask]) -> PatentTask:
        """Create one of its tasks on the data of this benchmark."""
        return task(published=True) if self.published else task()

    @property
    def data_sets(self) -> tuple[DataSet, ...]:
        """The data sets that its tasks read, each once."""
        return tuple(dict.fromkeys(task.data for task in self.task_classes))

    def task_named(self, name: str) -> type[PatentTask] | None:
        """Return the class of a task by its plain name, or by a valid name that is not listed; None if unknown."""
        known = {task.metadata.name: task for task in self.task_classes}
        return known.get(name) or (self._task_named(name) if self._task_named else None)

    def group_of(self, task: type[PatentTask]) -> str:
        """Return the group of a task, else the first group with a task of the same type."""
        kind = task.metadata.type
        containing = [label for label, tasks in self.groups.items() if task in tasks]
        alike = [label for label, tasks in self.groups.items() if any(one.metadata.type == kind for one in tasks)]
        return next(iter([*containing, *alike]), "Tasks")

    def _trusted(self, results: Any) -> Any:
        """Return the results that pass verification (:mod:`patent_mteb.tasks.verification`), and log the others."""
        classes = {task.metadata.name: task for task in self.task_classes}

        def passes(model: Any, result: Any) -> bool:
            task = classes.get(plain_name(result.task_name))
            if task is None:
                return True
            named = (str(model.model_name), model.model_revision or "", model.experiment_name or "")
            where = Path(named[0]) / str(model.model_revision) / result.task_name
            expected = (where, result.task_name, task.metadata.main_score, task.scoring, *named)
            for entry in result.scores.get(task.facts.split, ()):
                subset = str(entry.get("hf_subset", "default"))
                revision = result.dataset_revision if subset == "default" else subset
                try:
                    check_entry(entry, Place(*expected, revision, subset))
                except ContradictionError as error:
                    problem = DataError(f"{error.problem}; not in the score", path=where, remedy=error.remedy)
                    logger.warning("%s", problem)
                    return False
            return True

        models = []
        for model in results.model_results:
            if passing := [result for result in model.task_results if passes(model, result)]:
                models.append(model.model_copy(update={"task_results": passing}))
        return results.model_copy(update={"model_results": models})

    def get_score(self, results: Any, *, raise_error: bool = False) -> dict[str, dict[str, float | None]]:
        """Return mteb's aggregated scores of each model and the :func:`summary`, without scores on too few items."""
        results = self._trusted(results)
        found = super().get_score(results, raise_error=raise_error)
        names = {task.metadata.name for task in self.tasks}
        for model in results.join_revisions():
            measured = [
                result
                for result in model.task_results
                if result.task_name in names and sum(map(len, result.scores.values())) == 1
            ]
            mains = {result.task_name: result.get_score() for result in measured}
            entries = ((result.task_name, entry) for result in measured for entry in chain(*result.scores.values()))
            small = {name for name, entry in entries if too_small(entry)}
            kinds = {data_source_of_task(name) for name in mains}
            data_source = DATA_SOURCES[kinds.pop() if len(kinds) == 1 else "real"]
            means = {f"{self.column}::{label}": mean for label, mean in group_means(self, mains, small).items()}
            means |= summary(self, mains, small)
            found[model.model_name] |= {data_source.titled(name): value for name, value in means.items()}
        return found


def of_type(benchmark: PatentBenchmark, kind: str, name: str) -> PatentBenchmark | None:
    """Return a benchmark of the tasks of one of mteb's types; None if all tasks have the type, or none has it."""
    groups: dict[str, list[type[PatentTask]]] = {}
    for label, tasks in benchmark.groups.items():
        if chosen := [task for task in tasks if task.metadata.type == kind]:
            groups[label] = chosen
    if not groups or sum(map(len, groups.values())) == len(benchmark.task_classes):
        return None
    described = f"{benchmark.facts.description} Its tasks of type {kind} only."
    facts = replace(benchmark.facts, name=name, description=described)
    return PatentBenchmark(facts, groups, column=benchmark.column, macro=benchmark.macro, published=benchmark.published)


def _counted(
    tasks: Iterable[type[AbsTask]], scores: Mapping[str, float], small: Collection[str]
) -> tuple[list[float], bool]:
    """Return the scores of tasks that are not in ``small``, and whether all tasks have one, of one data source."""
    names = [plain_name(task.metadata.name) for task in tasks]
    known = {name: score for name, score in scores.items() if plain_name(name) in names}
    if len({data_source_of_task(name) for name in known}) > 1:
        return [], False
    plain, ignored = {plain_name(name): score for name, score in known.items()}, set(map(plain_name, small))
    counted = [plain[name] for name in names if name in plain and name not in ignored]
    return counted, all(name in plain for name in names)


def group_means(
    benchmark: PatentBenchmark, scores: Mapping[str, float], small: Collection[str] = ()
) -> dict[str, float | None]:
    """Return the mean main score of each group of a benchmark; tasks in ``small`` are ignored."""
    means: dict[str, float | None] = {}
    for label, tasks in benchmark.columns.items():
        counted, complete = _counted(tasks, scores, small)
        means[label] = sum(counted) / len(counted) if counted and complete else None
    return means


def summary(
    benchmark: PatentBenchmark, scores: Mapping[str, float], small: Collection[str] = ()
) -> dict[str, float | None]:
    """Return ``Overall``, and ``Spread`` if the benchmark reports it.

    ``Overall`` is the mean over the tasks (PatenTEB eq. 6), or over the groups if the benchmark is ``macro``.
    ``Spread`` is the largest minus the smallest task score. Both are None if a task is missing, or if tasks are of
    several data sources.
    """
    known, complete = _counted(chain.from_iterable(benchmark.columns.values()), scores, small)
    if benchmark.macro:
        known = [value for value in group_means(benchmark, scores, small).values() if value is not None]
    complete = complete and bool(known)
    found: dict[str, float | None] = {"Overall": sum(known) / len(known) if complete else None}
    if benchmark.facts.spread:
        found["Spread"] = max(known) - min(known) if complete else None
    return found
