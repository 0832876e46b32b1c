"""Views of the results: of one data source, and of one benchmark in a data source.

Tables, plots and the page read them; each is built once for the whole report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from patent_mteb.data.data_source import DataSource
from patent_mteb.report.cells import Cell, short
from patent_mteb.report.queries import common_queries
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark


def gap_percent(inside: float | None, outside: float | None) -> float | None:
    """Return the relative loss from IN to OUT of domain in percent, None if a side is missing or IN is 0."""
    return None if not inside or outside is None else 100 * (inside - outside) / inside


def _main_scores(results: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return the main score by run and task (without ``.sample``), runs in alphabetical order."""
    scores: dict[str, dict[str, float]] = {run: {} for run in results["run"].unique().sort()}
    for run, plain, value in results.select("run", "plain", "value").iter_rows():
        scores[run][plain] = value
    return scores


def _small(results: pl.DataFrame) -> dict[str, frozenset[str]]:
    """Return the plain tasks with small scores by run (:mod:`patent_mteb.metrics.significance`)."""
    rows = results.filter(pl.col("small") != "").group_by("run").agg("plain")
    return {run: frozenset(plain) for run, plain in rows.iter_rows()}


def _intervals(scores: pl.DataFrame, measures: Mapping[str, str]) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return the intervals of main scores in results, by task, run and slice."""
    main = pl.col("task").replace_strict(measures, return_dtype=pl.String)
    ends = []
    for end in ("low", "high"):
        rows = scores.filter(pl.col("measure") == main + f"_{end}").select("task", "run", "slice", "value").iter_rows()
        ends.append({(task, run, name): value for task, run, name, value in rows})
    return {key: (low, ends[1][key]) for key, low in ends[0].items() if key in ends[1]}


@dataclass(frozen=True)
class MeasuredTask:
    """A task with results.

    ``name`` is as in the results, ``plain`` without ``.sample``, ``measure`` the name of the main score.
    """

    name: str
    plain: str
    short: str
    group: str
    measure: str


@dataclass(frozen=True)
class BenchmarkView:
    """The results of one benchmark in one data source.

    Attributes:
        benchmark: the benchmark, with its facts.
        data_source: the data source.
        results, scores: as in :class:`patent_mteb.report.collect.Collected`, with the benchmark's own groups, in the
            order of its tasks.
    """

    benchmark: PatentBenchmark
    data_source: DataSource
    results: pl.DataFrame
    scores: pl.DataFrame

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.facts.name

    @property
    def facts(self) -> Facts:
        """The benchmark's record."""
        return self.benchmark.facts

    @cached_property
    def main_scores(self) -> dict[str, dict[str, float]]:
        """Main score by run and plain task."""
        return _main_scores(self.results)

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """The runs in alphabetical order."""
        return tuple(self.main_scores)

    @cached_property
    def best_first(self) -> tuple[str, ...]:
        """The runs with the most tasks first, among these the highest mean main score, then the name."""
        means = self.results.group_by("run").agg(pl.len(), pl.col("value").mean())
        return tuple(means.sort("len", "value", "run", descending=[True, True, False])["run"])

    @cached_property
    def tasks(self) -> tuple[MeasuredTask, ...]:
        """The tasks that have results."""
        rows = self.results.unique("task", keep="first", maintain_order=True).iter_rows(named=True)
        return tuple(
            MeasuredTask(row["task"], row["plain"], short(row["task"], self.facts), row["group"], row["main_score"])
            for row in rows
        )

    @cached_property
    def cells(self) -> dict[tuple[str, str, str], Cell]:
        """Main score by task, run and slice (empty for all judgements); a small one has mark and interval.

        IN and OUT tasks count as slices of the mixed task.
        """
        rows = self.scores.filter("main").select("task", "run", "slice", "value", "small").iter_rows()
        values = {
            (task, run, name): Cell(
                value, small=small, interval=self.intervals.get((task, run, name)) if small else None, ranked=not small
            )
            for task, run, name, value, small in rows
        }
        names = {task.plain: task.name for task in self.tasks}
        for mixed, sides in self.facts.domain_tasks.items():
            for side, plain in sides.items():
                task = names.get(plain, "")
                whole = task.replace(plain, mixed)
                values |= {(whole, run, side): values[task, run, ""] for run in self.runs if (task, run, "") in values}
        return values

    @cached_property
    def intervals(self) -> dict[tuple[str, str, str], tuple[float, float]]:
        """The 95% intervals of main scores in results, by task, run and slice."""
        return _intervals(self.scores, {task.name: task.measure for task in self.tasks})

    @cached_property
    def common_queries(self) -> pl.DataFrame:
        """Scores on common queries, if the tasks are representations of the same queries; else no row."""
        return common_queries(self.results if self.facts.query_types else self.results.clear(), self.scores)

    def several(self, task: str, part: str = "") -> bool:
        """Whether several runs have a task, or a slice of it."""
        return self._counts[task, part] > 1

    @cached_property
    def _counts(self) -> Counter[tuple[str, str]]:
        return Counter((task, part) for task, _, part in self.cells)

    @cached_property
    def slice_scores(self) -> dict[tuple[str, str, str], float]:
        """The values of :attr:`cells`."""
        return {key: cell.value for key, cell in self.cells.items() if isinstance(cell.value, float)}

    @cached_property
    def small(self) -> dict[str, frozenset[str]]:
        """The plain tasks with small scores, by run."""
        return _small(self.results)

    @cached_property
    def headline(self) -> MeasuredTask | None:
        """The headline task if it was measured, else the retrieval task of most runs; None without any."""
        return self._standing(self.results.filter(pl.col("kind") == "Retrieval"))

    @cached_property
    def domain_headline(self) -> MeasuredTask | None:
        """The same among the tasks with scores IN and OUT of domain."""
        domains = pl.col("slice").is_in(["in", "out"]) | pl.col("plain").is_in(list(self.facts.domain_tasks))
        return self._standing(self.scores.filter(pl.col("main") & domains))

    def _standing(self, rows: pl.DataFrame) -> MeasuredTask | None:
        runs = dict(rows.group_by("task").agg(pl.col("run").n_unique()).iter_rows())
        candidates = (task for task in self.tasks if task.name in runs)
        return max(candidates, key=lambda task: (task.plain == self.facts.headline, runs[task.name]), default=None)


@dataclass(frozen=True)
class DataSourceView:
    """The results of one data source; ``results``, ``scores`` and ``own`` as in
    :class:`patent_mteb.report.collect.Collected`.
    """

    data_source: DataSource
    results: pl.DataFrame
    scores: pl.DataFrame
    own: tuple[PatentBenchmark, ...] = ()

    @cached_property
    def main_scores(self) -> dict[str, dict[str, float]]:
        """Main score by run and plain task, over all benchmarks."""
        return _main_scores(self.results)

    @cached_property
    def small(self) -> dict[str, frozenset[str]]:
        """The plain tasks with small scores by run, over all benchmarks."""
        return _small(self.results)

    @cached_property
    def benchmarks(self) -> tuple[BenchmarkView, ...]:
        """The benchmarks with results: registered ones in order of registration, then those of own data."""
        views = (self._view(benchmark) for benchmark in (*catalogue.benchmarks(), *self.own))
        return tuple(view for view in views if len(view.results))

    def benchmark(self, name: str) -> BenchmarkView:
        """Return the view of a benchmark with results."""
        return {view.name: view for view in self.benchmarks}[name]

    def _view(self, benchmark: PatentBenchmark) -> BenchmarkView:
        groups = {task.metadata.name: label for label, tasks in benchmark.groups.items() for task in tasks}
        order = {name: position for position, name in enumerate(groups)}

        def own(frame: pl.DataFrame) -> pl.DataFrame:
            plain = pl.col("plain")
            rows = frame.filter(plain.is_in(list(groups))).sort(
                plain.replace_strict(order, return_dtype=pl.Int64), maintain_order=True
            )
            return rows.with_columns(
                benchmark=pl.lit(benchmark.name), group=plain.replace_strict(groups, return_dtype=pl.String)
            )

        return BenchmarkView(benchmark, self.data_source, own(self.results), own(self.scores))
