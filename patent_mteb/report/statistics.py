"""Intervals and significance of the main scores of tasks and slices, from the per-query scores next to results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from patent_mteb.errors import did_you_mean
from patent_mteb.metrics.significance import TESTS, Compared, bootstrap, detectable, effect_sizes, holm, holm_by_row
from patent_mteb.report.cells import COLUMNS, Score
from patent_mteb.report.collect import Collected, ReportError
from patent_mteb.report.queries import QueryTable, read_queries
from patent_mteb.tasks.verification import per_query_measure

LEVEL = 0.95
ALPHA = 0.05
LETTER = "a"
RESAMPLES = 1000
"""Resamples of a task's queries for intervals of ranks."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """All pairs of runs on one task.

    Attributes:
        runs: best first.
        means: [m].
        p: [m, m] the one-sided p value of each pair.
        effects: [m, m] the difference of row and column in standard deviations of the differences by query.
        n: the queries.
        detectable: the smallest difference that these queries find in four of five cases
            (:func:`patent_mteb.metrics.significance.detectable`); None for one run or query.
        resampled: [RESAMPLES, m] means over resampled queries, the same queries for all runs.
    """

    runs: tuple[str, ...]
    means: Floats
    p: Floats
    effects: Floats
    n: int
    detectable: float | None
    resampled: Floats

    @cached_property
    def corrected(self) -> Floats:
        """[m, m] the p values, corrected over the comparisons of a run with all below it."""
        return holm_by_row(self.p)

    def tied_with(self, row: int) -> str:
        """Positions of the other runs that are not significantly different from a run: ``1–4, 6``."""
        return _ranges(place for place in range(len(self.runs)) if place != row and self.corrected[row, place] >= ALPHA)

    def better_than(self, row: int) -> str:
        """Positions of the runs that a run is significantly better than."""
        return _ranges(place for place in range(row + 1, len(self.runs)) if self.corrected[row, place] < ALPHA)


def _ranges(places: Iterable[int]) -> str:
    """Return positions from 1 of places from 0, neighbours as one range."""
    found = []
    for _, neighbours in groupby(enumerate(places, start=1), key=lambda pair: pair[1] - pair[0]):
        members = [place + 1 for _, place in neighbours]
        found.append(str(members[0]) if len(members) == 1 else f"{members[0]}–{members[-1]}")
    return ", ".join(found)


@dataclass(frozen=True)
class Statistics:
    """The comparisons of a report.

    ``scores[data_source, task, slice, run]`` (slice empty for all judgements), ``pairs[data_source, task]``, the
    baseline's run (empty for none), what could not be compared, and the name of the test.
    """

    scores: Mapping[tuple[str, str, str, str], Score] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Pairs] = field(default_factory=dict)
    baseline: str = ""
    messages: tuple[str, ...] = ()
    test: str = "bootstrap"

    def of(self, data_source: str, task: str, run: str, part: str = "") -> Score | None:
        """Return the statistics of the main score of a run, None without per-query scores or an interval."""
        return self.scores.get((data_source, task, part, run))


def find_baseline(collected: Collected, name: str) -> str:
    """Return the run with a label or with the name of a model."""
    runs = collected.runs
    if name in runs:
        return name
    named = collected.results.filter(pl.col("model") == name)["run"].unique().sort().to_list()
    if len(named) == 1:
        return str(named[0])
    near = did_you_mean(name, [*collected.results["model"].unique().sort(), *runs])
    problem = (
        f"'{name}' may be any of these" if named else f"no results of a model '{name}' to compare with{near}; there are"
    )
    raise ReportError(f"{problem}: {'; '.join(named or runs)}. Remedy: give one of these to --baseline")


def statistics(collected: Collected, baseline: str | None = None, test: str = "bootstrap") -> Statistics:
    """Compare all runs of every task and slice in every data source, on the same queries only.

    If runs of one task were scored on different queries, those that agree with the baseline (else the largest group)
    are compared, and messages name the others.
    """
    if test not in TESTS:
        raise ReportError(f"no test '{test}'. Remedy: choose from {', '.join(TESTS)}")
    chosen = "" if baseline is None else find_baseline(collected, baseline)
    scores = _brought(collected)
    pairs: dict[tuple[str, str], Pairs] = {}
    messages: list[str] = []
    stated = _stated(collected)
    usable = collected.results.filter(pl.col("queries").is_not_null())
    for (data_source, task, main_score), rows in usable.group_by(
        "data_source", "task", "main_score", maintain_order=True
    ):
        measure, where = per_query_measure(str(main_score)), (str(data_source), str(task))
        read = {row["run"]: read_queries(Path(row["queries"]), measure) for row in rows.iter_rows(named=True)}
        runs, apart = _agreeing(read, chosen)
        if apart:
            messages.append(f"{task}: other queries than those of {runs[0]}, so not compared: {', '.join(apart)}.")
        contradicting: list[str] = []
        for part in dict.fromkeys(name for run in runs for name in read[run].parts):
            own = {run: stated.get((*where, part, run)) for run in runs if part in read[run].parts}
            known = [run for run, value in own.items() if read[run].states(part, value)]
            contradicting += [f"{part} of {run}" for run in own if run not in known and read[run].scored(part)]
            if not known:
                continue
            values = np.column_stack([read[run].parts[part] for run in known])
            values = values[np.isfinite(values).all(axis=1)]
            if len(values):
                compared = TESTS[test](values)
                found = _compare(known, values, compared, chosen)
                if not part:
                    pairs[where] = _pairs(known, values, compared)
                    for row, run in enumerate(pairs[where].runs):
                        found[run] = replace(found[run], tied_with=pairs[where].tied_with(row))
                scores |= {(*where, part, run): score for run, score in found.items()}
        if contradicting:
            messages.append(
                f"{task}: per-query scores that are not the result's, of {len(contradicting)}"
                f" slice{'s' * (len(contradicting) > 1)}, which are not compared: {', '.join(contradicting)}."
            )
    return Statistics(scores, pairs, chosen, tuple(messages), test)


def _agreeing(read: Mapping[str, QueryTable], chosen: str) -> tuple[list[str], list[str]]:
    """Return the runs that were scored on the same queries, and the others."""
    parties = Counter(table.queries for table in read.values())
    agreed = read[chosen].queries if chosen in read else parties.most_common(1)[0][0]
    runs = [run for run, table in read.items() if table.queries == agreed]
    return runs, sorted(set(read) - set(runs))


def _stated(collected: Collected) -> dict[tuple[str, str, str, str], float]:
    """Return the main scores of results, by data source, task, slice and run."""
    rows = collected.scores.filter("main").select("data_source", "task", "slice", "run", "value").iter_rows()
    return {(data_source, task, part, run): value for data_source, task, part, run, value in rows}


def _brought(collected: Collected) -> dict[tuple[str, str, str, str], Score]:
    """Return the intervals that results contain."""
    rows = collected.scores.select("data_source", "task", "slice", "run", "measure", "value", "n_queries")
    ends = rows.filter(pl.col("measure").str.ends_with("_low") | pl.col("measure").str.ends_with("_high"))
    values = {tuple(row[:5]): (row[5], row[6]) for row in ends.iter_rows()}
    main = dict(collected.results.select("task", "main_score").iter_rows())
    sizes = {row[:2]: int(row[2]) for row in _test_rows(collected)}
    found = {}
    for (data_source, task, part, run, measure), (low, n) in values.items():
        high = values.get((data_source, task, part, run, f"{main[task]}_high"))
        if measure == f"{main[task]}_low" and high is not None:
            found[data_source, task, part, run] = Score(
                low, high[0], n=n if n is not None or part else sizes.get((task, run))
            )
    return found


def _test_rows(collected: Collected) -> list[tuple[Any, ...]]:
    rows = collected.scores.filter((pl.col("slice") == "") & (pl.col("measure") == "n_test"))
    return rows.select("task", "run", "value").rows()


def _compare(runs: Sequence[str], values: Floats, compared: Compared, baseline: str) -> dict[str, Score]:
    """Compare [queries, runs] per-query scores with the best run, and with the baseline if there is one."""
    means = compared.means
    order = np.argsort(-means, kind="stable")
    best = int(order[0])
    p, corrected = _against(compared, best)
    position = np.argsort(order) + 1
    effects = effect_sizes(values, best)
    several = len(runs) > 1
    scores = {
        run: Score(
            float(limits[0]),
            float(limits[1]),
            n=len(values),
            p_best=None if place == best else float(p[place]),
            p_best_holm=None if place == best else float(corrected[place]),
            tied=place == best or bool(corrected[place] >= ALPHA) if several else None,
            position=int(position[place]),
            effect=float(effects[place]),
        )
        for place, (run, limits) in enumerate(zip(runs, compared.intervals(LEVEL), strict=True))
    }
    if baseline not in scores:
        return scores
    base = runs.index(baseline)
    p, corrected = _against(compared, base)
    for place, run in enumerate(runs):
        if place != base:
            better = bool(corrected[place] < ALPHA and means[place] > means[base])
            scores[run] = replace(scores[run], p=float(p[place]), p_holm=float(corrected[place]), better=better)
    return scores


def _against(compared: Compared, base: int) -> tuple[Floats, Floats]:
    """Return the [m] p values of all models against one of them, raw and corrected; its own are 1."""
    others = np.delete(np.arange(len(compared.means)), base)
    p, corrected = np.ones(len(compared.means)), np.ones(len(compared.means))
    p[others] = compared.p_pairs(others, np.full(len(others), base))
    corrected[others] = holm(p[others])
    return p, corrected


def _pairs(runs: Sequence[str], values: Floats, compared: Compared) -> Pairs:
    order = np.argsort(-compared.means, kind="stable")
    upper = np.triu_indices(len(order), 1)
    p, effects = np.ones((len(order), len(order))), np.zeros((len(order), len(order)))
    for row, base in enumerate(order[:-1]):  # a row at a time: all pairs at once would hold every resample of each
        below = order[row + 1 :]
        p[row, row + 1 :] = compared.p_pairs(below, np.full(len(below), base))
        effects[row, row + 1 :] = -effect_sizes(values[:, order[row:]], 0)[1:]
    p.T[upper], effects.T[upper] = p[upper], -effects[upper]
    resampled = bootstrap(values[:, order], resamples=RESAMPLES).resampled
    named = tuple(runs[place] for place in order)
    return Pairs(named, compared.means[order], p, effects, len(values), detectable(values), resampled)


def scores_with(collected: Collected, compared: Statistics) -> pl.DataFrame:
    """Return the tidy table of all numbers with the statistics of the main scores.

    It is :attr:`~patent_mteb.report.collect.Collected.scores` with further columns.
    """
    kinds: dict[str, Any] = dict.fromkeys(COLUMNS, pl.Float64)
    kinds |= {"position": pl.Int64, "tied_with_best": pl.Boolean, "tied_with": pl.String, "n": pl.Int64}
    key = ("data_source", "task", "slice", "run")
    rows = [(*where, True, *(found(score) for found in COLUMNS.values())) for where, score in compared.scores.items()]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(key, pl.String) | {"main": pl.Boolean} | kinds, orient="row")
    joined = collected.scores.join(frame, on=[*key, "main"], how="left", maintain_order="left")
    return joined.with_columns(n=pl.coalesce("n", "n_queries"))
