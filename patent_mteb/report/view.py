"""The results of one data source, and of one benchmark in it, as tables, plots and the page read them.

Per-query scores are next to a result (:mod:`patent_mteb.tasks.perquery`). A benchmark can have one set of queries in
several representations, one task each (Sophia-Bench, section 3.3). A query without a representation is not in its task;
:func:`common_queries` compares the tasks on the queries that all share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from patent_mteb.data.data_source import DataSource
from patent_mteb.report.cells import Cell, Column, Table, short, slug
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.verification import TOLERANCE, per_query_measure

JUDGEMENTS = {"": "all citations", "xy": "X and Y", "a": "A"}
"""Slices of judgements, with the citations that are relevant in them."""


def gap_percent(inside: float | None, outside: float | None) -> float | None:
    """Return the relative loss from IN to OUT of domain in percent, None if a side is missing or IN is 0."""
    return None if not inside or outside is None else 100 * (inside - outside) / inside


@dataclass(frozen=True)
class MeasuredTask:
    """A task with results: ``name`` as in the results, ``plain`` without ``.sample``, ``measure`` of the main score."""

    name: str
    plain: str
    short: str
    group: str
    measure: str


@dataclass(frozen=True)
class _View:
    """Results and scores as in :class:`patent_mteb.report.collect.Collected`, of one data source."""

    data_source: DataSource
    results: pl.DataFrame
    scores: pl.DataFrame

    @cached_property
    def main_scores(self) -> dict[str, dict[str, float]]:
        """Main score by run and plain task, runs in alphabetical order."""
        scores: dict[str, dict[str, float]] = {run: {} for run in self.results["run"].unique().sort()}
        for run, plain, value in self.results.select("run", "plain", "value").iter_rows():
            scores[run][plain] = value
        return scores

    @cached_property
    def small(self) -> dict[str, frozenset[str]]:
        """The plain tasks with small scores (:mod:`patent_mteb.metrics.significance`), by run."""
        rows = self.results.filter(pl.col("small") != "").group_by("run").agg("plain")
        return {run: frozenset(plain) for run, plain in rows.iter_rows()}


@dataclass(frozen=True)
class BenchmarkView(_View):
    """The results of one benchmark in one data source, with the benchmark's groups, in the order of its tasks."""

    benchmark: PatentBenchmark

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def facts(self) -> Facts:
        return self.benchmark.facts

    @property
    def runs(self) -> tuple[str, ...]:
        return tuple(self.main_scores)

    @cached_property
    def best_first(self) -> tuple[str, ...]:
        """The runs with the most tasks first, among these the highest mean main score, then the name."""
        means = self.results.group_by("run").agg(pl.len(), pl.col("value").mean())
        return tuple(means.sort("len", "value", "run", descending=[True, True, False])["run"])

    @cached_property
    def tasks(self) -> tuple[MeasuredTask, ...]:
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
        values: dict[tuple[str, str, str], Cell] = {}
        rows = self.scores.filter("main").select("task", "run", "slice", "value", "small")
        for task, run, part, value, small in rows.iter_rows():
            interval = self.intervals.get((task, run, part)) if small else None
            values[task, run, part] = Cell(value, small=small, interval=interval, ranked=not small)
        for (whole, side), task in self._sides.items():
            values |= {(whole, run, side): values[task, run, ""] for run in self.runs if (task, run, "") in values}
        return values

    @cached_property
    def _sides(self) -> dict[tuple[str, str], str]:
        """The IN and OUT tasks of mixed tasks, by mixed task and slice."""
        names = {task.plain: task.name for task in self.tasks}
        sides = [(mixed, *one) for mixed, both in self.facts.domain_tasks.items() for one in both.items()]
        found = ((names[plain], plain, mixed, side) for mixed, side, plain in sides if plain in names)
        return {(task.replace(plain, mixed), side): task for task, plain, mixed, side in found}

    def measured_as(self, task: str, part: str) -> tuple[str, str]:
        """Return the task and slice that a slice of a task was measured as: its own, or an IN or OUT task."""
        side = self._sides.get((task, part))
        return (side, "") if side else (task, part)

    @cached_property
    def intervals(self) -> dict[tuple[str, str, str], tuple[float, float]]:
        """The 95% intervals of main scores in results, by task, run and slice."""
        main = pl.col("task").replace_strict({task.name: task.measure for task in self.tasks}, return_dtype=pl.String)
        key = ["task", "run", "slice"]
        low, high = (
            self.scores.filter(pl.col("measure") == main + end).select(*key, "value") for end in ("_low", "_high")
        )
        both = low.join(high, on=key, suffix="_high", maintain_order="left")
        return {(task, run, part): (start, end) for task, run, part, start, end in both.iter_rows()}

    @cached_property
    def common_queries(self) -> pl.DataFrame:
        """Scores on common queries, if the tasks are representations of the same queries; else no row."""
        return common_queries(self.results if self.facts.query_types else self.results.clear(), self.scores)

    @cached_property
    def complete_queries(self) -> pl.DataFrame:
        """Scores on common queries of the runs that have every representation of the queries."""
        frame = self.common_queries
        tasks = frame["task"].n_unique()
        return frame.filter(pl.col("task").n_unique().over("run") == tasks) if tasks > 1 else frame.clear()

    @cached_property
    def run_counts(self) -> Counter[tuple[str, str]]:
        """Number of runs that have a task, or a slice of it."""
        return Counter((task, part) for task, _, part in self.cells)

    @cached_property
    def slice_scores(self) -> dict[tuple[str, str, str], float]:
        return {key: cell.value for key, cell in self.cells.items() if isinstance(cell.value, float)}

    @cached_property
    def headline(self) -> MeasuredTask | None:
        """The headline task if it was measured, else the retrieval task of most runs; None without any."""
        return self._standing(self.results.filter(pl.col("kind") == "Retrieval"))

    @cached_property
    def domain_headline(self) -> MeasuredTask | None:
        """The headline task among those with scores IN and OUT of domain."""
        domains = pl.col("slice").is_in(["in", "out"]) | pl.col("plain").is_in(list(self.facts.domain_tasks))
        return self._standing(self.scores.filter(pl.col("main") & domains))

    def _standing(self, rows: pl.DataFrame) -> MeasuredTask | None:
        runs = dict(rows.group_by("task").agg(pl.col("run").n_unique()).iter_rows())
        candidates = (task for task in self.tasks if task.name in runs)
        return max(candidates, key=lambda task: (task.plain == self.facts.headline, runs[task.name]), default=None)

    def table(
        self, kind: str, title: str, columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]], **more: Any
    ) -> Table:
        """Return a table of the benchmark; ``title`` follows its name."""
        name, heading = slug(self.data_source.name, self.name, kind), self.data_source.titled(f"{self.name}{title}")
        banner = self.data_source.banner
        return Table(name, heading, tuple(columns), tuple(rows), banner, benchmark=self.name, **more)


@dataclass(frozen=True)
class DataSourceView(_View):
    """The results of one data source; ``own`` are the benchmarks of own data."""

    own: tuple[PatentBenchmark, ...] = ()

    @cached_property
    def benchmarks(self) -> tuple[BenchmarkView, ...]:
        """The benchmarks with results: registered ones in order of registration, then those of own data."""
        views = (self._view(benchmark) for benchmark in (*catalogue.benchmarks(), *self.own))
        return tuple(view for view in views if len(view.results))

    def benchmark(self, name: str) -> BenchmarkView:
        return {view.name: view for view in self.benchmarks}[name]

    def _view(self, benchmark: PatentBenchmark) -> BenchmarkView:
        groups = {task.metadata.name: label for label, tasks in benchmark.groups.items() for task in tasks}
        order = {name: position for position, name in enumerate(groups)}
        plain = pl.col("plain")
        place = plain.replace_strict(order, return_dtype=pl.Int64)
        group = plain.replace_strict(groups, return_dtype=pl.String)
        results, scores = (
            frame.filter(plain.is_in(list(groups)))
            .sort(place, maintain_order=True)
            .with_columns(benchmark=pl.lit(benchmark.name), group=group)
            for frame in (self.results, self.scores)
        )
        return BenchmarkView(self.data_source, results, scores, benchmark)


_PART = "score:"


@dataclass(frozen=True)
class QueryTable:
    """Query ids in alphabetical order, and their main scores by slice (empty for all judgements).

    Scores are NaN for queries outside the slice. ``groups`` numbers the family or application of each query.
    """

    queries: tuple[str, ...]
    parts: dict[str, NDArray[np.float64]]
    groups: NDArray[np.int64]

    def scored(self, part: str) -> bool:
        return bool(np.isfinite(self.parts[part]).any())

    def states(self, part: str, stated: float | None) -> bool:
        """Whether the mean of a slice's scores equals the result's; the whole task was checked before."""
        if not part or stated is None or not self.scored(part):
            return not part
        return abs(float(np.nanmean(self.parts[part])) - stated) <= TOLERANCE


def read_queries(path: Path, measure: str) -> QueryTable:
    """Read the per-query scores of a file, of the whole task and of its slices."""
    with pq.ParquetFile(path) as file:  # polars would read brackets and stars in the path as a pattern
        slices = [name for name in file.schema_arrow.names if name.startswith(_PART)]
        more = [name for name in ("group",) if name in file.schema_arrow.names]
        table = pl.DataFrame(pl.from_arrow(file.read(columns=["query", measure, *slices, *more]))).sort("query")
    parts = {"": measure} | {name.removeprefix(_PART): name for name in slices}
    scores = {part: table[name].cast(pl.Float64).to_numpy() for part, name in parts.items()}
    groups = table["group"].cast(pl.Int64).to_numpy() if more else np.arange(len(table))
    return QueryTable(tuple(table["query"]), scores, groups)


def query_ids(path: Path) -> list[str]:
    with pq.ParquetFile(path) as file:
        return [str(query) for query in file.read(columns=["query"])["query"].to_pylist()]


SCHEMA = {"run": pl.String, "task": pl.String, "slice": pl.String, "value": pl.Float64, "n": pl.Int64}


def common_queries(results: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """Return mean main scores by run, task and slice over the queries that every task and run has.

    Columns as in :data:`SCHEMA`; ``slice`` is empty for all judgements, ``n`` counts the queries. Empty if fewer than
    two tasks have per-query scores, or if they share no query. Slices whose per-query scores contradict the result are
    excluded; :func:`patent_mteb.report.statistics.statistics` names them.
    """
    known = results.filter((pl.col("kind") == "Retrieval") & pl.col("queries").is_not_null())
    shared: frozenset[str] = frozenset()
    if known["task"].n_unique() > 1:
        shared = frozenset.intersection(*(frozenset(query_ids(Path(path))) for path in known["queries"]))
    main = scores.filter("main").select("run", "task", "slice", "value")
    stated = {(run, task, part): value for run, task, part, value in main.iter_rows()}
    rows = []
    for row in known.iter_rows(named=True) if shared else ():
        table = read_queries(Path(row["queries"]), per_query_measure(row["main_score"]))
        members = np.fromiter((query in shared for query in table.queries), bool, len(table.queries))
        own = row["run"], row["task"]
        for part, values in table.parts.items():
            scored = values[members & np.isfinite(values)]
            if len(scored) and table.states(part, stated.get((*own, part))):
                rows.append((*own, part, float(scored.mean()), len(scored)))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
