"""Intervals and significance of the main scores of tasks and slices, from the per-query scores next to results."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from patent_mteb.errors import did_you_mean
from patent_mteb.metrics.significance import (
    TESTS,
    Bootstrap,
    Compared,
    bootstrap,
    by_group,
    compare,
    detectable,
    effect_sizes,
    needed_queries,
)
from patent_mteb.report.cells import COLUMNS, Score
from patent_mteb.report.collect import Collected, ReportError
from patent_mteb.report.series import COMPOSITIONS, without_organisation
from patent_mteb.report.view import read_queries
from patent_mteb.tasks.verification import per_query_measure

LEVEL = 0.95  # of intervals, as in the papers
ALPHA = 0.05  # of all statements of a table together
LETTER = "a"
RESAMPLES = 1000  # resamples of a task's queries for intervals of ranks
_TABLES = 16  # resampled at once: 32 MB of means for 25 runs

Floats = NDArray[np.float64]
Place = tuple[str, str, str, str]  # data source, task, measure, slice


@dataclass(frozen=True)
class Pairs:
    """All pairs of m runs on one task."""

    runs: tuple[str, ...]  # best first
    means: Floats  # [m]
    p: Floats  # [m, m], two-sided
    joint: Floats  # [m, m], the same for all pairs together
    paper_p: Floats | None  # [m, m], one-sided, of the bootstrap (WIPO-AT, section 3.7)
    effects: Floats  # [m, m], differences of row and column in standard deviations of the differences by query
    n: int
    independent: int  # groups of queries that were resampled
    queries: int  # checksum of their ids
    detectable: float | None  # smallest difference that these queries find in four of five cases; None for one query
    needed: int | None  # groups that find a difference of SMALL_DIFFERENCE in four of five cases
    resampled: Floats  # [RESAMPLES, m] means over resampled queries, the same queries for all runs

    def tied_with(self, row: int) -> str:
        """Positions of the other runs that are not significantly different from a run: ``1–4, 6``."""
        return _ranges(place for place in range(len(self.runs)) if place != row and self.joint[row, place] >= ALPHA)

    def better_than(self, row: int) -> str:
        """Positions of the runs that a run is significantly better than."""
        return _ranges(place for place in range(row + 1, len(self.runs)) if self.joint[row, place] < ALPHA)


def _ranges(places: Iterable[int]) -> str:
    """Return positions from 1 of places from 0, neighbours as one range."""
    found = []
    for _, neighbours in groupby(enumerate(places, start=1), key=lambda pair: pair[1] - pair[0]):
        members = [place + 1 for _, place in neighbours]
        found.append(str(members[0]) if len(members) == 1 else f"{members[0]}–{members[-1]}")
    return ", ".join(found)


@dataclass(frozen=True)
class Statistics:
    """The comparisons of a report; the slice of ``scores`` is empty for all judgements."""

    scores: Mapping[tuple[str, str, str, str], Score] = field(default_factory=dict)  # [data_source, task, slice, run]
    pairs: Mapping[tuple[str, str], Pairs] = field(default_factory=dict)  # [data_source, task]
    baseline: str = ""  # its run
    messages: tuple[str, ...] = ()
    test: str = "bootstrap"

    def of(self, data_source: str, task: str, run: str, part: str = "") -> Score | None:
        return self.scores.get((data_source, task, part, run))


def find_run(collected: Collected, name: str) -> str:
    """Return the run with a label, with the name of a model, or with a part of it that no other run has.

    A composition is not meant where a model alone has the name.
    """
    models = dict(collected.results.select("run", "model").unique().sort("run").iter_rows())
    wanted = name.lower()
    steps: tuple[Callable[[str, str], bool], ...] = (
        lambda run, model: run == name,
        lambda run, model: model == name,
        lambda run, model: without_organisation(model) == name,
        lambda run, model: wanted in run.lower() and not model.startswith(COMPOSITIONS),
        lambda run, model: wanted in run.lower(),
    )
    named = next((found for step in steps if (found := [run for run in models if step(run, models[run])])), [])
    if len(named) == 1:
        return str(named[0])
    near = did_you_mean(name, [*sorted(set(models.values())), *models])
    problem = f"there are no results of a model '{name}'{near}; there are"
    problem = f"'{name}' may be any of these" if named else problem
    raise ReportError(f"{problem}: {'; '.join(named or models)}", remedy="name one of these")


def statistics(collected: Collected, baseline: str | None = None, test: str = "bootstrap") -> Statistics:
    """Compare all runs of every task and slice in every data source, on the same queries only.

    If runs of one task were scored on different queries, those that agree with the baseline (else the largest group)
    are compared, and messages name the others.
    """
    if test not in TESTS:
        raise ReportError(f"no test '{test}'", remedy=f"choose from {', '.join(TESTS)}")
    chosen = "" if baseline is None else find_run(collected, baseline)
    key = ["data_source", "task", "slice", "run"]
    stated = {tuple(own): value for *own, value in collected.scores.filter("main").select(*key, "value").iter_rows()}
    scores = _recorded(collected)
    tables: dict[Place, tuple[list[str], Floats]] = {}  # runs, and their scores [independent groups of queries, runs]
    sizes: dict[Place, int] = {}  # queries
    queries_of: dict[tuple[str, str], int] = {}
    messages: list[str] = []
    usable = collected.results.filter(pl.col("queries").is_not_null())
    for names, rows in usable.group_by("data_source", "task", "main_score", maintain_order=True):
        data_source, task, main_score = map(str, names)
        measure, where = per_query_measure(main_score), (data_source, task)
        read = {run: read_queries(Path(path), measure) for run, path in rows.select("run", "queries").iter_rows()}
        groups = Counter(table.queries for table in read.values())
        agreed = read[chosen].queries if chosen in read else groups.most_common(1)[0][0]
        queries_of[where] = zlib.crc32("\n".join(agreed).encode())
        runs = [run for run, table in read.items() if table.queries == agreed]
        if others := sorted(set(read) - set(runs)):
            messages.append(f"{task}: other queries than those of {runs[0]}, so not compared: {', '.join(others)}.")
        contradicting: list[str] = []
        for part in dict.fromkeys(name for run in runs for name in read[run].parts):
            own = [run for run in runs if part in read[run].parts]
            known = [run for run in own if read[run].states(part, stated.get((*where, part, run)))]
            contradicting += [f"{part} of {run}" for run in own if run not in known and read[run].scored(part)]
            if not known:
                continue
            values = np.column_stack([read[run].parts[part] for run in known])
            defined = np.isfinite(values).all(axis=1)
            if defined.any():
                sizes[data_source, task, main_score, part] = int(defined.sum())
                independent = by_group(values[defined], read[known[0]].groups[defined])
                tables[data_source, task, main_score, part] = known, independent
        if contradicting:
            messages.append(
                f"{task}: per-query scores that are not the result's, of {len(contradicting)}"
                f" slice{'s' * (len(contradicting) > 1)}, which are not compared: {', '.join(contradicting)}."
            )
    found: dict[Place, dict[str, Score]] = {}
    pairs_of: dict[Place, Pairs] = {}
    for group in _alike(tables):
        for place, compared in zip(group, compare(test, [tables[place][1] for place in group]), strict=True):
            found[place] = _compare(*tables[place], compared, chosen, sizes[place])
            if not place[-1]:
                pairs_of[place] = _pairs(*tables[place], compared, sizes[place], queries_of[place[:2]])
                for row, run in enumerate(pairs_of[place].runs):
                    found[place][run] = replace(found[place][run], tied_with=pairs_of[place].tied_with(row) or None)
    for place in tables:
        data_source, task, _, part = place
        scores |= {(data_source, task, part, run): score for run, score in found[place].items()}
    pairs = {place[:2]: pairs_of[place] for place in tables if place in pairs_of}
    return Statistics(scores, pairs, chosen, tuple(messages), test)


def _alike(tables: Mapping[Place, tuple[list[str], Floats]]) -> Iterator[list[Place]]:
    """Yield a few tables of equally many queries at a time."""
    by_size = groupby(sorted(tables, key=lambda place: len(tables[place][1])), lambda place: len(tables[place][1]))
    for places in (list(group) for _, group in by_size):
        yield from (places[start : start + _TABLES] for start in range(0, len(places), _TABLES))


def _recorded(collected: Collected) -> dict[tuple[str, str, str, str], Score]:
    rows = collected.scores.select("data_source", "task", "slice", "run", "measure", "value", "n_queries")
    ends = {tuple(key): (value, n) for *key, value, n in rows.iter_rows() if key[-1].endswith(("_low", "_high"))}
    main = dict(collected.results.select("task", "main_score").iter_rows())
    tests = rows.filter((pl.col("slice") == "") & (pl.col("measure") == "n_test")).select("task", "run", "value")
    sizes = {(task, run): int(value) for task, run, value in tests.iter_rows()}
    found = {}
    for (*where, measure), (low, n) in ends.items():
        _, task, part, run = where
        high = ends.get((*where, f"{main[task]}_high"))
        if measure == f"{main[task]}_low" and high is not None:
            n = n if n is not None or part else sizes.get((task, run))
            found[where[0], task, part, run] = Score(low, high[0], n=n)
    return found


def _compare(runs: Sequence[str], values: Floats, compared: Compared, baseline: str, n: int) -> dict[str, Score]:
    """Compare [queries, runs] per-query scores with the best run, and with the baseline if there is one."""
    means, p, joint = compared.means, compared.p_values(), compared.joint()
    order = np.argsort(-means, kind="stable")
    best = int(order[0])
    position = np.argsort(order) + 1
    effects = effect_sizes(values, best)
    base = runs.index(baseline) if baseline in runs else None
    scores = {}
    for place, (run, (low, high)) in enumerate(zip(runs, compared.intervals(LEVEL), strict=True)):
        scores[run] = Score(
            float(low),
            float(high),
            n=n,
            tied_with_best=bool(joint[place, best] >= ALPHA) if len(runs) > 1 else None,
            position=int(position[place]),
            effect=float(effects[place]),
        )
        if place != best:
            scores[run] = replace(scores[run], p_best=float(p[place, best]), p_best_joint=float(joint[place, best]))
        if base is not None and place != base:
            own, together = float(p[place, base]), float(joint[place, base])
            better = together < ALPHA and bool(means[place] > means[base])
            scores[run] = replace(scores[run], better=better, p_baseline=own, p_baseline_joint=together)
    return scores


def _pairs(runs: Sequence[str], values: Floats, compared: Compared, n: int, queries: int) -> Pairs:
    order = np.argsort(-compared.means, kind="stable")
    both = np.ix_(order, order)
    effects, paper_p = np.zeros((len(order), len(order))), np.ones((len(order), len(order)))
    for row, base in enumerate(order[:-1]):  # a row at a time: all pairs at once would hold every resample of each
        below = order[row + 1 :]
        effects[row, row + 1 :] = -effect_sizes(values[:, order[row:]], 0)[1:]
        effects[row + 1 :, row] = -effects[row, row + 1 :]
        if isinstance(compared, Bootstrap):
            paper_p[row, row + 1 :] = paper_p[row + 1 :, row] = compared.paper_p(below, np.full(len(below), base))
    return Pairs(
        tuple(runs[place] for place in order),
        compared.means[order],
        compared.p_values()[both],
        compared.joint()[both],
        paper_p if isinstance(compared, Bootstrap) else None,
        effects,
        n,
        len(values),
        queries,
        detectable(values),
        needed_queries(values),
        bootstrap(values[:, order], resamples=RESAMPLES).resampled,
    )


def scores_with(collected: Collected, compared: Statistics) -> pl.DataFrame:
    """Return :attr:`~patent_mteb.report.collect.Collected.scores` with the statistics of the main scores."""
    kinds: dict[str, Any] = dict.fromkeys(COLUMNS, pl.Float64)
    kinds |= {"position": pl.Int64, "tied_with_best": pl.Boolean, "tied_with": pl.String, "n": pl.Int64}
    key = ("data_source", "task", "slice", "run")
    rows = [(*where, True, *(getattr(score, name) for name in COLUMNS)) for where, score in compared.scores.items()]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(key, pl.String) | {"main": pl.Boolean} | kinds, orient="row")
    joined = collected.scores.join(frame, on=[*key, "main"], how="left", maintain_order="left")
    return joined.with_columns(n=pl.coalesce("n", "n_queries"))
