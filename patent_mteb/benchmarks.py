"""The benchmarks of the suite: one a family, and ``PatentMTEB`` over all of them.

Tasks are instantiated when a benchmark is first used, not when it is registered, because a task resolves its data when it is
created (:mod:`patent_mteb.sources`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from mteb.abstasks import AbsTask
from mteb.benchmarks.benchmark import Benchmark, BenchmarkAggregation, CustomGroup, CustomGrouping

import patent_mteb
from patent_mteb.sources import DATA_VARIABLE, SAMPLE_VARIABLE
from patent_mteb.tasks import FAMILIES
from patent_mteb.tasks.base import PatentTask

__all__ = ["BENCHMARKS", "PatentBenchmark", "group_means", "summary"]

_Item = TypeVar("_Item")


class _Lazy(Sequence[_Item]):
    """A sequence made at first use, and made anew when the data variables have changed since."""

    def __init__(self, make: Callable[[], Sequence[_Item]]) -> None:
        self._make = make
        self._made: tuple[tuple[str | None, ...], Sequence[_Item]] | None = None

    def _items(self) -> Sequence[_Item]:
        state = tuple(os.environ.get(name) for name in (DATA_VARIABLE, SAMPLE_VARIABLE))
        if self._made is None or self._made[0] != state:
            self._made = (state, self._make())
        return self._made[1]

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | Sequence[_Item]:
        return self._items()[index]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._items())


class PatentBenchmark(Benchmark):
    """A benchmark whose tasks and groups are made at first use.

    Args:
        groups: column title -> the classes of its tasks.
        column: what the groups are, as the name of mteb's grouping.
        macro: the overall score is the mean over the groups, each of which counts the same, instead of over the tasks.
        spread: report the largest minus the smallest task score as well.
    """

    groups: Mapping[str, Sequence[type[PatentTask]]]
    macro: bool
    spread: bool

    def __init__(
        self,
        name: str,
        groups: Mapping[str, Sequence[type[PatentTask]]],
        column: str,
        *,
        macro: bool = False,
        spread: bool = False,
        **fields: Any,
    ) -> None:
        self.groups, self.macro, self.spread = groups, macro, spread
        made: _Lazy[AbsTask] = _Lazy(lambda: tuple(task() for tasks in groups.values() for task in tasks))

        def aggregations() -> tuple[BenchmarkAggregation | CustomGrouping, ...]:
            by_class = {type(task): task for task in made}
            grouping = CustomGrouping(
                column, tuple(CustomGroup(label, tuple(by_class[task] for task in tasks)) for label, tasks in groups.items())
            )
            return (grouping,) if macro else (BenchmarkAggregation.MEAN_TASK, grouping)

        super().__init__(name, tasks=made, aggregations=_Lazy(aggregations), **fields)

    def __post_init__(self) -> None:
        """mteb checks the aggregations here, which would make the tasks."""

    def get_score(self, results: Any, *, raise_error: bool = False) -> dict[str, dict[str, float | None]]:
        """mteb's aggregated scores of each model, and our :func:`summary` of its main scores."""
        found = super().get_score(results, raise_error=raise_error)
        for model in results.join_revisions():
            mains = {result.task_name: result.get_score() for result in model.select_tasks(self.tasks).task_results}
            found[model.model_name] |= summary(self, mains)
        return found


def group_means(benchmark: PatentBenchmark, scores: Mapping[str, float]) -> dict[str, float | None]:
    """Mean main score of each group of a benchmark.

    Args:
        scores: main score by task name, with or without the suffix ``.sample``.

    Returns:
        one mean a group; None where a task of the group is missing (a missing task makes the mean missing, not smaller).
    """
    plain = {name.removesuffix(".sample"): score for name, score in scores.items()}
    means: dict[str, float | None] = {}
    for label, tasks in benchmark.groups.items():
        names = [task.metadata.name for task in tasks]
        means[label] = sum(plain[name] for name in names) / len(names) if all(name in plain for name in names) else None
    return means


def summary(benchmark: PatentBenchmark, scores: Mapping[str, float]) -> dict[str, float | None]:
    """``Overall`` of a benchmark (PatenTEB eq. 6: the mean over its tasks; over its groups if it is ``macro``), and ``Spread``, the
    largest minus the smallest task score, if it reports that. None where a task is missing.

    Args:
        scores: as :func:`group_means`.
    """
    plain = {name.removesuffix(".sample"): score for name, score in scores.items()}
    names = [task.metadata.name for tasks in benchmark.groups.values() for task in tasks]
    complete = all(name in plain for name in names)
    values = list(group_means(benchmark, scores).values()) if benchmark.macro else [plain.get(name) for name in names]
    known = [value for value in values if value is not None]
    found: dict[str, float | None] = {"Overall": sum(known) / len(known) if complete else None}
    if benchmark.spread:
        found["Spread"] = max(known) - min(known) if complete else None
    return found


def _family(module: Any) -> PatentBenchmark:
    family = module.FAMILY
    return PatentBenchmark(
        family.name,
        module.GROUPS,
        "Group",
        spread=family.spread,
        description=family.description,
        reference=family.reference,
        citation=family.bibtex,
    )


BENCHMARKS: tuple[PatentBenchmark, ...] = (
    *(_family(module) for module in FAMILIES),
    PatentBenchmark(
        "PatentMTEB",
        {module.FAMILY.name: module.TASKS for module in FAMILIES},
        "Family",
        macro=True,
        description="All patent benchmark families; the score of a model is the macro-average over the families.",
        reference="https://pypi.org/project/patent-mteb/",
        citation="\n\n".join(module.FAMILY.bibtex for module in FAMILIES),
    ),
)

patent_mteb.register()
