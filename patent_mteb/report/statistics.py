"""Intervals and significance of the main scores of a results folder, from the per-query scores beside the results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from patent_mteb.metrics.significance import bootstrap, holm
from patent_mteb.report.collect import Collected, ReportError
from patent_mteb.report.queries import per_query_measure, read_queries

__all__ = ["LETTER", "Score", "Statistics", "find_baseline", "statistics"]

LEVEL = 0.95
ALPHA = 0.05
LETTER = "a"


@dataclass(frozen=True)
class Score:
    """Of one run on one task: the 95% bootstrap interval of its main score, and the comparison with the baseline. A probe or a clustering
    brings its interval in the result (``<main score>_low`` and ``_high``) and is not compared.

    ``p`` is the one-sided p value of the pair (None without a baseline, or where the run is the baseline), ``p_holm`` the same
    corrected for all comparisons with the baseline on this task; ``better`` means a higher mean and ``p_holm`` below 0.05.
    """

    low: float
    high: float
    p: float | None = None
    p_holm: float | None = None
    better: bool = False


@dataclass(frozen=True)
class Statistics:
    """``scores[world, task, run]``, the baseline's run (empty for none), and what could not be compared."""

    scores: dict[tuple[str, str, str], Score] = field(default_factory=dict)
    baseline: str = ""
    messages: tuple[str, ...] = ()

    def of(self, world: str, task: str, run: str) -> Score | None:
        """What is known of the main score of a run, None without per-query scores and without an interval in the result."""
        return self.scores.get((world, task, run))


def find_baseline(collected: Collected, name: str) -> str:
    """The run that a user means by a label or by the name of a model.

    Raises:
        ReportError: no run or more than one fits; names the runs.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.statistics import find_baseline
        >>> find_baseline(collect(Path("results")), "patent-mteb/bm25-dapfam").partition(" (")[0]  # results of 'patent-mteb run'
        'patent-mteb/bm25-dapfam'
    """
    runs = collected.runs
    if name in runs:
        return name
    named = collected.results.filter(pl.col("model") == name)["run"].unique().sort().to_list()
    if len(named) == 1:
        return str(named[0])
    problem = f"'{name}' may be any of these" if named else f"no results of a model '{name}' to compare with; there are"
    raise ReportError(f"{problem}: {'; '.join(named or runs)}. Remedy: give one of these to --baseline")


def statistics(collected: Collected, baseline: str | None = None) -> Statistics:
    """Resample the queries of every task in every world, for all runs together (:func:`patent_mteb.metrics.significance.bootstrap`).

    Runs are compared on the same queries only: where runs of one task were scored on different queries, those that agree with
    the baseline (else the larger party) are taken, and the others are named in the messages.

    Raises:
        ReportError: see :func:`find_baseline`.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.statistics import statistics
        >>> compared = statistics(collect(Path("results")), "mteb/baseline-random-encoder")  # results of 'patent-mteb run'
        >>> sorted({run.partition(" (")[0] for (world, task, run), score in compared.scores.items() if score.better})
        ['hybrid/linear-0.5-bm25-dapfam+baseline-random-encoder', 'patent-mteb/bm25-dapfam']
    """
    chosen = "" if baseline is None else find_baseline(collected, baseline)
    scores: dict[tuple[str, str, str], Score] = {}
    messages: list[str] = []
    usable = collected.results.filter(pl.col("queries").is_not_null())
    for (world, task, main_score), rows in usable.group_by("world", "task", "main_score", maintain_order=True):
        measure = per_query_measure(str(main_score))
        read = {row["run"]: read_queries(Path(row["queries"]), measure) for row in rows.iter_rows(named=True)}
        parties = Counter(queries for queries, _ in read.values())
        agreed = read[chosen][0] if chosen in read else parties.most_common(1)[0][0]
        runs = [run for run, (queries, _) in read.items() if queries == agreed]
        if apart := sorted(set(read) - set(runs)):
            messages.append(f"{task}: other queries than those of {runs[0]}, so not compared: {', '.join(apart)}.")
        compared = _compare(runs, np.column_stack([read[run][1] for run in runs]), chosen)
        scores |= {(str(world), str(task), run): score for run, score in compared.items()}
    return Statistics({**_brought(collected), **scores}, chosen, tuple(messages))


def _brought(collected: Collected) -> dict[tuple[str, str, str], Score]:
    """The intervals that results bring themselves."""
    rows = collected.scores.filter(pl.col("slice") == "").select("world", "task", "run", "measure", "value").iter_rows()
    values = {(world, task, run, measure): value for world, task, run, measure, value in rows}
    found = {}
    for world, task, run, main in collected.results.select("world", "task", "run", "main_score").iter_rows():
        low, high = (values.get((world, task, run, f"{main}_{end}")) for end in ("low", "high"))
        if low is not None and high is not None:
            found[world, task, run] = Score(low, high)
    return found


def _compare(runs: list[str], values: np.ndarray, baseline: str) -> dict[str, Score]:
    """Scores of runs from their per-query scores, an array of shape (queries, runs), against one of them if it is there."""
    resampled = bootstrap(values)
    intervals = resampled.intervals(LEVEL)
    if baseline not in runs:
        return {run: Score(float(low), float(high)) for run, (low, high) in zip(runs, intervals, strict=True)}
    base = runs.index(baseline)
    others = [column for column in range(len(runs)) if column != base]
    p = resampled.p_values()[base]
    corrected = dict(zip(others, holm(p[others]), strict=True)) if others else {}
    scores: dict[str, Score] = {}
    for column, run in enumerate(runs):
        low, high = map(float, intervals[column])
        if column == base:
            scores[run] = Score(low, high)
            continue
        better = corrected[column] < ALPHA and resampled.means[column] > resampled.means[base]
        scores[run] = Score(low, high, float(p[column]), float(corrected[column]), bool(better))
    return scores
