"""Other tests than the bootstrap on the same queries: paired t and sign-flip permutation; and what a task can tell apart at all.

A test is a function from scores, [queries, models], to what :class:`Compared` has, so that a report takes any of :data:`TESTS`. All p
values are one-sided, that of a pair speaks for the model with the higher mean, and models of equal mean have p = 1, as in
:mod:`patent_mteb.metrics.significance`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from patent_mteb.metrics.significance import RESAMPLES, SEED, bootstrap, checked_scores, fixed_points

__all__ = ["TESTS", "Compared", "Paired", "Permuted", "detectable", "effect_sizes", "paired_t", "permutation"]

_BLOCK = 256
"""Permutations drawn at a time."""


class Compared(Protocol):
    """What every test says of m models."""

    @property
    def means(self) -> NDArray[np.float64]:
        """[m] the observed means."""

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """[m, 2] the interval of each mean."""

    def p_pairs(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
        """[k] the p value of each of k pairs of models; 1 for a model and itself."""


@dataclass(frozen=True)
class Paired:
    """The paired t test.

    Attributes:
        scores: [n queries, m models].
    """

    scores: NDArray[np.float64]

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """[m] the observed means, sums free of rounding, so that equal ones are equal."""
        points, scale = fixed_points(self.scores)
        return np.asarray(points.sum(axis=0) / scale / len(points))

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """[m, 2]: the t interval of each model's mean; one query has none, and its ends are infinite."""
        n = len(self.scores)
        if n < 2:
            return np.tile([-np.inf, np.inf], (self.scores.shape[1], 1))
        half = stats.t.ppf((1 + level) / 2, n - 1) * self.scores.std(axis=0, ddof=1) / np.sqrt(n)
        return np.column_stack([self.means - half, self.means + half])

    def p_pairs(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
        """[k]: p of the paired t test of each of k pairs of models."""
        n = len(self.scores)
        gap = np.abs(self.means[first] - self.means[second])
        if n < 2:
            return np.ones(len(gap))
        spread = (self.scores[:, first] - self.scores[:, second]).std(axis=0, ddof=1) / np.sqrt(n)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap > 0, stats.t.sf(gap / spread, n - 1), 1.0)


@dataclass(frozen=True)
class Permuted:
    """The paired permutation test: for each query the two scores may be exchanged.

    Attributes:
        means: [m] the observed means.
        sums: [permutations, m] the sums of scores under the signs of each permutation, in fixed points, so that ties are exact.
        observed: [m] the sum under no exchange.
        rounding: by how much a difference of two sums may be off.
        exact: whether these are all permutations that there are, each once.
        resampled: gives the intervals, which the permutations do not.
    """

    means: NDArray[np.float64]
    sums: NDArray[np.float64]
    observed: NDArray[np.float64]
    rounding: float
    exact: bool
    resampled: Callable[[float], NDArray[np.float64]]

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """[m, 2]: the bootstrap interval of each model's mean."""
        return self.resampled(level)

    def p_pairs(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
        """[k]: the share of permutations whose difference is at least the observed one, within the rounding to fixed points; where they
        were drawn, the observed one counts as drawn too, so that p is never 0."""
        gap = self.observed[first] - self.observed[second]
        drawn = (self.sums[:, first] - self.sums[:, second]) * np.sign(gap)
        more = 0 if self.exact else 1
        p = ((drawn >= np.abs(gap) - self.rounding).sum(axis=0) + more) / (len(self.sums) + more)
        return np.where(gap == 0, 1.0, p)


def paired_t(scores: ArrayLike) -> Paired:
    """The paired t test of all models.

    Args:
        scores: [n queries, m models], the score of each model for the same queries.

    Raises:
        ValueError: see :func:`patent_mteb.metrics.significance.bootstrap`.

    Example:
        >>> from patent_mteb.metrics.paired import paired_t
        >>> paired_t([[0.25, 0.5], [0.5, 1.0], [0.0, 0.75]]).p_pairs([0], [1]).round(4)
        array([0.0371])
    """
    return Paired(checked_scores(scores))


def permutation(scores: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED) -> Permuted:
    """The paired permutation test of all models: all exchanges where there are no more than ``resamples``, else as many drawn ones.

    Args:
        scores: [n queries, m models].

    Raises:
        ValueError: see :func:`patent_mteb.metrics.significance.bootstrap`.

    Example:
        >>> from patent_mteb.metrics.paired import permutation
        >>> permutation([[0.25, 0.5], [0.5, 1.0], [0.0, 0.75]]).p_pairs([0], [1])  # one of the eight ways to exchange scores
        array([0.125])
    """
    values = checked_scores(scores)
    points, scale = fixed_points(values)
    n = len(points)
    exact = 2**n <= resamples
    rng = np.random.default_rng(seed)
    sums = []
    for start in range(0, count := 2**n if exact else resamples, _BLOCK):
        rows = min(_BLOCK, count - start)
        kept = (np.arange(start, start + rows)[:, None] >> np.arange(n) & 1) if exact else rng.integers(0, 2, (rows, n), dtype=np.int8)
        sums.append((2.0 * kept - 1) @ points)
    observed = points.sum(axis=0)
    return Permuted(observed / scale / n, np.concatenate(sums), observed, 2.0 * n, exact, lambda level: bootstrap(values).intervals(level))


TESTS: dict[str, Callable[[ArrayLike], Compared]] = {"bootstrap": bootstrap, "t": paired_t, "permutation": permutation}
"""Test by name."""


def effect_sizes(scores: ArrayLike, base: int) -> NDArray[np.float64]:
    """[m]: the mean difference of each model to model ``base`` in standard deviations of the differences by query (Cohen's d of paired
    samples); 0 for no difference, NaN for one query, infinite for a difference that is the same on all queries. What is no more than the
    rounding of the scores is no difference and no spread.

    Example:
        >>> from patent_mteb.metrics.paired import effect_sizes
        >>> effect_sizes([[0.0, 0.5], [0.0, 1.0]], 0).round(3)
        array([0.   , 2.121])
    """
    values = checked_scores(scores)
    rounding = 4 * np.finfo(np.float64).eps * float(np.abs(values).max())
    gaps = values - values[:, [base]]
    if len(gaps) < 2:
        return np.where((gaps == 0).all(axis=0), 0.0, np.nan)
    mean, spread = gaps.mean(axis=0), gaps.std(axis=0, ddof=1)
    spread = np.where(spread <= rounding, 0.0, spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(mean) <= rounding, 0.0, mean / spread)


def detectable(scores: ArrayLike, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest true difference of two models that a one-sided paired test on these queries finds with probability ``power``: the sum
    of the t quantiles of 1 - alpha and of power, in standard errors of a difference, the median over all pairs of models.

    None for fewer than two models or queries.

    Example:
        >>> from patent_mteb.metrics.paired import detectable
        >>> round(detectable([[0.0, 0.5], [0.0, 1.0], [0.5, 0.25], [1.0, 1.0]]), 3)
        0.923
    """
    values = checked_scores(scores)
    n, m = values.shape
    if n < 2 or m < 2:
        return None
    covariance = np.cov(values, rowvar=False)
    variance = np.diag(covariance)
    pairs = np.triu_indices(m, 1)
    spread = np.sqrt(np.maximum(variance[pairs[0]] + variance[pairs[1]] - 2 * covariance[pairs], 0))
    quantiles = stats.t.ppf(1 - alpha, n - 1) + stats.t.ppf(power, n - 1)
    return float(quantiles * np.median(spread) / np.sqrt(n))
