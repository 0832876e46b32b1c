"""What statistics say of one score, and the columns by which every file says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["COLUMNS", "Score"]


@dataclass(frozen=True)
class Score:
    """Of the main score of one run on one task, or on a slice of it.

    Attributes:
        low, high: the 95% interval. A probe or a clustering brings it in the result (``<main score>_low`` and ``_high``) and is compared
            with nothing.
        p, p_holm: the one-sided p value of the pair with the baseline, and the same corrected for all comparisons with the baseline on
            the task; None without a baseline, or where the run is the baseline.
        better: a higher mean than the baseline's, and ``p_holm`` below 0.05.
        n: the queries that it stands on.
        p_best, p_best_holm: the same two for the pair with the best run; None for the best run.
        tied: is the best run, or not significantly different from it (``p_best_holm`` is not below 0.05), among several runs.
        tier: 1 for the runs that no significant step to the run ranked just below parts from the best, and so on
            (:func:`patent_mteb.metrics.significance.tiers`).
        effect: the difference to the best run in standard deviations of the differences by query (Cohen's d of paired samples).
    """

    low: float
    high: float
    p: float | None = None
    p_holm: float | None = None
    better: bool = False
    n: int | None = None
    p_best: float | None = None
    p_best_holm: float | None = None
    tied: bool = False
    tier: int | None = None
    effect: float | None = None


COLUMNS: dict[str, Callable[[Score], Any]] = {
    "low": lambda score: score.low,
    "high": lambda score: score.high,
    "p_best": lambda score: score.p_best,
    "p_best_holm": lambda score: score.p_best_holm,
    "p_baseline": lambda score: score.p,
    "p_baseline_holm": lambda score: score.p_holm,
    "tier": lambda score: score.tier,
    "effect": lambda score: score.effect,
    "tied_with_best": lambda score: score.tied if score.tier else None,
    "n": lambda score: score.n,
}
"""The columns of files, in this order."""
