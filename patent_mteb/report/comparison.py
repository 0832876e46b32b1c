"""A against B on the same queries: the difference of each two runs in numbers, and in a sentence.

:func:`compare` is what ``patent-mteb compare`` prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.errors import did_you_mean
from patent_mteb.metrics.significance import TESTS, by_group, detectable, gap_intervals, needed_queries, p_text
from patent_mteb.report.cells import supported_digits
from patent_mteb.report.collect import Collected, ReportError, collect
from patent_mteb.report.explorer import chosen, first_documents, outcomes
from patent_mteb.report.series import Cost, cost_of_a_million, names_in_text
from patent_mteb.report.statistics import ALPHA, find_run
from patent_mteb.report.view import BenchmarkView, MeasuredTask, QueryTable, read_queries
from patent_mteb.report.words import measure_title
from patent_mteb.tasks.benchmark import PRIOR_ART
from patent_mteb.tasks.verification import per_query_measure


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same queries of a task, or of a slice of it.

    Attributes:
        first: a run.
        second: another one.
        scores: their main scores on these queries.
        interval: 95% interval of the first score minus the second, for this pair alone.
        p: two-sided p value, for all compared pairs together.
        pairs: number of these.
        higher: number of queries with a higher score of the first run.
        lower: number of queries with a lower one.
        queries: number of queries.
        needed: number of queries that a difference of this size needs (power 0.8); None if there is no difference.
        detectable: the smallest difference that these queries show with the same power; None for one query.
        measure: name of the main score.
    """

    first: str
    second: str
    scores: tuple[float, float]
    interval: tuple[float, float]
    p: float
    pairs: int
    higher: int
    lower: int
    queries: int
    needed: int | None
    detectable: float | None
    measure: str

    @property
    def difference(self) -> float:
        return self.scores[0] - self.scores[1]

    @property
    def distinguished(self) -> bool:
        """Whether the queries distinguish the two runs."""
        return self.p < ALPHA

    @property
    def digits(self) -> int:
        return supported_digits(self.interval)

    @property
    def digits_of_ends(self) -> int:
        """Digits of the interval: an end near 0 keeps its sign."""
        return self.digits + any(end and round(end, self.digits) == 0 for end in self.interval)

    @property
    def ends(self) -> tuple[str, str]:
        low, high = (f"{end:z.{self.digits_of_ends}f}" for end in self.interval)
        return low, high

    @property
    def shares(self) -> str:
        """How often the first score is higher and lower."""
        higher, lower = (f"{100 * count / self.queries:.0f}" for count in (self.higher, self.lower))
        return f"higher in {higher} and lower in {lower} of 100 searches"

    def turned(self) -> Comparison:
        """Return the second run against the first."""
        low, high = self.interval
        return replace(
            self, first=self.second, second=self.first, scores=self.scores[::-1], interval=(-high, -low),
            higher=self.lower, lower=self.higher,
        )  # fmt: skip

    def sentence(self, names: Mapping[str, str] | None = None) -> str:
        """Say which run is better and how sure that is, the one with the higher score first."""
        if self.difference < 0:
            return self.turned().sentence(names)
        first, second = ((names or {}).get(run, run) for run in (self.first, self.second))
        one, other = (f"{score:.{self.digits}f}" for score in self.scores)
        low, high = self.ends
        tied = f"{first} and {second} are not distinguishable"
        verdict = f"{first} is better than {second}" if self.distinguished else tied
        alone, together = (" for this pair alone", f" over all {self.pairs} pairs") if self.pairs > 1 else ("", "")
        said = (
            f"{verdict}: {measure_title(self.measure)} {one} against {other}, difference"
            f" {self.difference:.{self.digits}f} [{low}, {high}]{alone}, p {'' if self.p < 0.0001 else '= '}"
            f"{p_text(self.p)}{together}; {self.shares}."
        )
        if not self.distinguished and self.needed is not None and self.needed > self.queries:
            said += f" A difference of this size needs about {self.needed:,} searches; these are {self.queries:,}."
        return said

    def planning(self) -> str:
        """Say which difference these queries show, and how many queries others need."""
        if self.detectable is None:
            return "One search shows no difference."
        said = f"These {self.queries:,} searches show a difference of {self.detectable:.2g} in four of five cases."
        if self.needed is None:
            return said
        return f"{said} One of {abs(self.difference):.2g}, as here, needs about {self.needed:,} searches."


def compare_runs(
    view: BenchmarkView, task: MeasuredTask, part: str, runs: Sequence[str], test: str
) -> list[Comparison]:
    """Compare each two runs on a task or slice; the run with the higher score is the first of each pair.

    Runs without scores by query, or with those of other queries than most runs, are left out.
    """
    name, part = view.measured_as(task.name, part)
    measured = view.results.filter((pl.col("task") == name) & pl.col("queries").is_not_null())
    paths = {run: path for run, path in measured.select("run", "queries").iter_rows() if run in runs}
    read = {run: read_queries(Path(path), per_query_measure(task.measure)) for run, path in paths.items()}
    alike: dict[tuple[str, ...], list[str]] = {}
    for run, table in read.items():
        if part in table.parts:
            alike.setdefault(table.queries, []).append(run)
    return _pairs({run: read[run] for run in max(alike.values(), key=len, default=[])}, part, test, task.measure)


def _pairs(read: Mapping[str, QueryTable], part: str, test: str, measure: str) -> list[Comparison]:
    runs, tables = list(read), list(read.values())
    if len(runs) < 2:
        return []
    values = np.column_stack([table.parts[part] for table in tables])
    defined = np.isfinite(values).all(axis=1)
    if not defined.any():
        return []
    values = values[defined]
    rows = by_group(values, tables[0].groups[defined])
    compared = TESTS[test](rows)
    joint, means = compared.joint(), compared.means
    first, second = np.array(list(combinations(np.argsort(-means, kind="stable"), 2))).T
    intervals = gap_intervals(rows[:, first] - rows[:, second])
    found = []
    for one, other, (low, high) in zip(first.tolist(), second.tolist(), intervals.tolist(), strict=True):
        difference = float(means[one] - means[other])
        needed = needed_queries(rows[:, [one, other]], difference) if difference > 0 else None
        found.append(
            Comparison(
                runs[one],
                runs[other],
                (float(means[one]), float(means[other])),
                (low, high),
                float(joint[one, other]),
                len(first),
                *outcomes(values[:, one], values[:, other]),
                len(values),
                None if needed is None else ceil(needed * len(values) / len(rows)),
                detectable(rows[:, [one, other]]),
                measure,
            )
        )
    return found


@dataclass(frozen=True)
class Differing:
    """A query on which two runs differ, and what each of them found.

    ``found`` has the first documents of both runs with whether each is relevant; they are empty without saved runs.
    """

    query: str
    scores: tuple[float, float]
    found: tuple[Sequence[tuple[str, bool]], Sequence[tuple[str, bool]]]


@dataclass(frozen=True)
class ComparedModels:
    """The result of :func:`compare`.

    Attributes:
        task: name of the task, with the state of its data.
        part: slice of its judgements; empty for all.
        data_source: where the data come from; empty for the published ones.
        names: short name of each run, the highest score first.
        scores: main score of each run.
        pairs: the comparison of each two runs, the one with the higher score first.
        costs: what a million patents cost each run.
        differing: of two models, the queries on which they differ most, those of the first model first.
    """

    task: str
    part: str
    data_source: str
    names: Mapping[str, str]
    scores: Mapping[str, float]
    pairs: Sequence[Comparison]
    costs: Mapping[str, Cost]
    differing: Sequence[Differing] = ()

    def __str__(self) -> str:
        return "\n".join(pair.sentence(self.names) for pair in self.pairs)

    __repr__ = __str__

    def of(self, first: str, second: str) -> Comparison:
        """Return the comparison of one run with another."""
        found = next(pair for pair in self.pairs if {pair.first, pair.second} == {first, second})
        return found if found.first == first else found.turned()

    @property
    def table(self) -> pl.DataFrame:
        """One row a pair, with the fields of :class:`Comparison`."""
        return pl.DataFrame(
            [asdict(pair) | {"difference": pair.difference, "distinguished": pair.distinguished} for pair in self.pairs]
        )


def compare(
    results: Path | str | Collected, *models: str, task: str = "", part: str = "", test: str = "bootstrap"
) -> ComparedModels:
    """Compare models on the same queries of a task.

    Args:
        results: results folder of ``patent-mteb run``, or what :func:`.collect` read of it.
        models: two or more models with results there: names, or parts of names; all models if none is named.
        task: name of a task; by default the one for finding prior art, or the first headline.
        part: slice of its judgements, such as ``in`` or ``out``; by default all.
        test: of :data:`patent_mteb.metrics.significance.TESTS`.

    Raises:
        ReportError: a model or task has no results, or two models have no common scores by query.

    Example:
        >>> import patent_mteb
        >>> print(patent_mteb.compare("results", "bm25-dapfam", "mteb/baseline-random-encoder"))
        BM25 is better than baseline-random-encoder: nDCG@10 0.29 against 0.01, difference 0.28 [...
    """
    collected = results if isinstance(results, Collected) else collect(Path(results))
    if collected.results.is_empty():
        raise ReportError(
            f"there are no results in {collected.folder}", remedy="name the folder of --out of 'patent-mteb run'"
        )
    runs = [find_run(collected, name) for name in models] or list(collected.runs)
    if len(set(runs)) < 2:
        raise ReportError("a comparison needs two models", remedy=f"name two of: {'; '.join(collected.runs)}")
    view, measured, part = _chosen_task(collected, task, part)
    pairs = compare_runs(view, measured, part, runs, test)
    compared = dict.fromkeys(run for pair in pairs for run in (pair.first, pair.second))
    if missing := [run for run in dict.fromkeys(runs) if run not in compared]:
        problem = f"{measured.name} has no scores on the same queries of {'; '.join(missing)}"
        raise ReportError(problem, remedy="run it again with these models, or name another with --task")
    names = names_in_text(collected.results.filter(pl.col("run").is_in(list(compared))))
    scores = {run: score for pair in pairs for run, score in zip((pair.first, pair.second), pair.scores, strict=True)}
    return ComparedModels(
        measured.name,
        part,
        view.data_source.banner,
        {run: names[run] for run in compared},
        scores,
        pairs,
        {run: cost_of_a_million(view.results, run) for run in compared},
        _differing(view, measured, part, pairs[0]) if len(pairs) == 1 else (),
    )


def _chosen_task(collected: Collected, task: str, part: str) -> tuple[BenchmarkView, MeasuredTask, str]:
    """Return a task with results by its name, or the one for finding prior art, or the first headline."""
    views = [view for source in collected.data_sources.values() for view in source.benchmarks]
    known = {name: (view, one) for view in views for one in view.tasks for name in (one.plain, one.name)}
    if task and task not in known:
        near = did_you_mean(task, known)
        raise ReportError(f"there are no results on '{task}'{near}; there are: {', '.join(known)}")
    jobs = [(view, view.facts.jobs[PRIOR_ART][0]) for view in views if PRIOR_ART in view.facts.jobs]
    prior_art = [(view, one) for view, plain in jobs for one in view.tasks if one.plain == plain]
    heads = [(view, view.headline or view.tasks[0]) for view in views]
    view, found = known[task] if task else [*prior_art, *heads][0]
    if part and not view.run_counts[found.name, part]:
        parts = sorted({one for name, one in view.run_counts if name == found.name} - {""})
        raise ReportError(f"{found.name} has no slice '{part}'; it has: {', '.join(parts) or 'none'}")
    return view, found, part


_EACH = 3  # queries for each of two models


def _differing(view: BenchmarkView, task: MeasuredTask, part: str, pair: Comparison) -> list[Differing]:
    name, part = view.measured_as(task.name, part)
    rows = view.results.filter((pl.col("task") == name) & pl.col("run").is_in([pair.first, pair.second]))
    paths = {run: (queries, Path(path)) for run, queries, path in rows.select("run", "queries", "path").iter_rows()}
    ours = [paths[run] for run in (pair.first, pair.second)]
    tables = [read_queries(Path(queries), per_query_measure(task.measure)) for queries, _ in ours]
    values = np.nan_to_num(np.column_stack([table.parts[part] for table in tables]))
    gaps = values[:, 0] - values[:, 1]
    kept = sorted(chosen(values, _EACH), key=lambda query: (gaps[query] < 0, -abs(gaps[query]), query))
    queries = [tables[0].queries[query] for query in kept]
    found = [first_documents(path, name, queries) for _, path in ours]
    return [
        Differing(query, (float(values[row, 0]), float(values[row, 1])), (one, other))
        for query, row, one, other in zip(queries, kept, *found, strict=True)
    ]


def as_json(found: ComparedModels) -> dict[str, Any]:
    """Return the comparison as the result of ``--json`` (docs/commands.md)."""
    return {
        "task": found.task,
        "slice": found.part,
        "models": [
            {"run": run, "name": name, "score": found.scores[run], "cost": asdict(found.costs[run])}
            for run, name in found.names.items()
        ],
        "pairs": [
            {**asdict(pair), "difference": pair.difference, "said": pair.sentence(found.names)} for pair in found.pairs
        ],
        "differing": [asdict(one) for one in found.differing],
    }
