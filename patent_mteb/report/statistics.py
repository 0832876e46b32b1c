"""Intervals and significance of the main scores of a results folder, from the per-query scores beside the results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from patent_mteb.metrics.significance import bootstrap, holm
from patent_mteb.report.collect import Collected, ReportError, per_query_measure

__all__ = ["LETTER", "Score", "Statistics", "find_baseline", "statistics"]

LEVEL = 0.95
ALPHA = 0.05
LETTER = "a"


@dataclass(frozen=True)
class Score:
    """Of one run on one task: the 95% bootstrap interval of its main score, and the comparison with the baseline.

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
    """``scores[task, run]``, the baseline's run (empty for none), and what could not be compared."""

    scores: dict[tuple[str, str], Score] = field(default_factory=dict)
    baseline: str = ""
    messages: tuple[str, ...] = ()


def find_baseline(collected: Collected, name: str) -> str:
    """The run that a user means by a label or by the name of a model.

    Raises:
        ReportError: no run or more than one fits; names the runs.
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
    """Resample the queries of every task, for all runs together (:func:`patent_mteb.metrics.significance.bootstrap`).

    Runs are compared on the same queries only: where runs of one task were scored on different queries, those that agree with
    the baseline (else the larger party) are taken, and the others are named in the messages.

    Raises:
        ReportError: see :func:`find_baseline`.
    """
    chosen = "" if baseline is None else find_baseline(collected, baseline)
    scores: dict[tuple[str, str], Score] = {}
    messages: list[str] = []
    usable = collected.results.filter(pl.col("queries").is_not_null())
    for (task, main_score), rows in usable.group_by("task", "main_score", maintain_order=True):
        measure = per_query_measure(str(main_score))
        read = {row["run"]: _read(Path(row["queries"]), measure) for row in rows.iter_rows(named=True)}
        parties = Counter(queries for queries, _ in read.values())
        agreed = read[chosen][0] if chosen in read else parties.most_common(1)[0][0]
        runs = [run for run, (queries, _) in read.items() if queries == agreed]
        if apart := sorted(set(read) - set(runs)):
            messages.append(f"{task}: other queries than those of {runs[0]}, so not compared: {', '.join(apart)}.")
        found = bootstrap(np.column_stack([read[run][1] for run in runs]))
        intervals = found.intervals(LEVEL)
        others = [place for place, run in enumerate(runs) if run != chosen]
        p = corrected = np.ones(len(runs))
        if chosen in runs and others:
            p = found.p_values()[runs.index(chosen)]
            corrected = np.ones(len(runs))
            corrected[others] = holm(p[others])
        for place, run in enumerate(runs):
            compared = chosen in runs and run != chosen
            better = compared and corrected[place] < ALPHA and found.means[place] > found.means[runs.index(chosen)]
            scores[str(task), run] = Score(
                low=float(intervals[place, 0]),
                high=float(intervals[place, 1]),
                p=float(p[place]) if compared else None,
                p_holm=float(corrected[place]) if compared else None,
                better=bool(better),
            )
    return Statistics(scores, chosen, tuple(messages))


def _read(path: Path, measure: str) -> tuple[tuple[str, ...], np.ndarray]:
    table = pl.read_parquet(path, columns=["query", measure]).sort("query")
    return tuple(table["query"]), table[measure].to_numpy()
