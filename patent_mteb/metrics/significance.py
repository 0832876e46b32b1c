"""Is one model better than another? The paired bootstrap of WIPO-AT (section 3.7), intervals, corrections, tiers.

The queries are resampled ``resamples`` times with replacement, each time the same queries for all models, and every model's
mean is taken over each resample. The one-sided p value of a pair is the fraction of resamples in which the model with the
lower observed mean has the higher one.

Resamples are held as counts (how often is query q drawn), so that the means of all models are one matrix product. The counts
of n draws with replacement are multinomial. Drawing them one by one is slow; instead, every query gets an independent
Poisson count of a rate a little under 1, and the rest up to n is drawn one by one. Given their total, independent Poisson
counts of equal rate are multinomial, so the sum is the multinomial asked for; a row whose Poisson counts alone exceed n is
drawn again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "RESAMPLES",
    "SEED",
    "Bootstrap",
    "bonferroni",
    "bootstrap",
    "checked_scores",
    "counts",
    "difference_interval",
    "fixed_points",
    "holm",
    "letters",
    "stars",
    "tiers",
]

RESAMPLES = 10_000
SEED = 42
_BLOCK_ENTRIES = 1 << 21
_CHUNK = 512
_KEPT = 1 << 24
"""Draws that are kept for the next task, at most: of 1,677 queries with 10,000 resamples."""
_REFINE = 255


def _poisson_table(rate: float) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Poisson counts by the first 16 bits of a uniform number, _REFINE where they do not settle it; and the distribution function."""
    mass = [np.exp(-rate)]
    for count in range(1, 40):
        mass.append(mass[-1] * rate / count)
    cdf = np.cumsum(mass)
    edges = np.searchsorted(cdf, np.arange(2**16 + 1) / 2**16, side="right")
    table = np.where(edges[:-1] == edges[1:], edges[:-1], _REFINE).astype(np.uint8)
    return table, cdf


def _draw(n: int, rows: int, seed: np.random.SeedSequence) -> NDArray[np.uint8]:
    """[rows, n]: how often each of n queries is drawn in n draws with replacement."""
    bits = np.random.SFC64(seed)
    rng = np.random.Generator(bits)
    rate = max(0.0, 1 - 3 / np.sqrt(n))
    table, cdf = _poisson_table(rate)

    def poisson(rows: int) -> NDArray[np.uint8]:
        words = bits.random_raw(-(-rows * n // 4)).view(np.uint16)[: rows * n]
        drawn = table.take(words, mode="clip")
        unsettled = np.flatnonzero(drawn == _REFINE)
        uniform = (words[unsettled] + rng.random(len(unsettled))) / 2**16
        drawn[unsettled] = np.searchsorted(cdf, uniform, side="right")
        return drawn.reshape(rows, n)

    drawn = poisson(rows)
    totals = drawn.sum(axis=1, dtype=np.int64)
    while len(over := np.flatnonzero(totals > n)):
        drawn[over] = poisson(len(over))
        totals[over] = drawn[over].sum(axis=1, dtype=np.int64)
    row = np.repeat(np.arange(rows), n - totals)
    drawn += np.bincount(row * n + rng.integers(0, n, len(row)), minlength=rows * n).reshape(rows, n).astype(np.uint8)
    return drawn


def _blocks(n: int, resamples: int, seed: int) -> list[tuple[int, np.random.SeedSequence]]:
    rows = max(1, min(resamples, _BLOCK_ENTRIES // n))
    sizes = [min(rows, resamples - start) for start in range(0, resamples, rows)]
    return list(zip(sizes, np.random.SeedSequence(seed).spawn(len(sizes)), strict=True))


@lru_cache(maxsize=4)
def _kept(n: int, resamples: int, seed: int) -> tuple[NDArray[np.uint8], ...]:
    """The resamples of few queries: the same for every task and slice of as many."""
    return tuple(_draw(n, *block) for block in _blocks(n, resamples, seed))


def counts(n: int, resamples: int = RESAMPLES, seed: int = SEED) -> Iterator[NDArray[np.uint8]]:
    """The resamples that :func:`bootstrap` uses, in blocks: [rows, n], how often each of n queries is drawn; rows sum to n.

    Example:
        >>> from patent_mteb.metrics.significance import counts
        >>> next(counts(5, resamples=3)).sum(axis=1).tolist()  # three resamples of five queries
        [5, 5, 5]
    """
    for rows, child in _blocks(n, resamples, seed):
        yield _draw(n, rows, child)


@dataclass(frozen=True)
class Bootstrap:
    """Means of every model, observed and over every resample.

    Attributes:
        means: [m] observed means.
        resampled: [resamples, m] mean of each model over each resample of the queries.
    """

    means: NDArray[np.float64]
    resampled: NDArray[np.float64]

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """[m, 2]: the percentile interval of each model's mean."""
        tail = 50 * (1 - level)
        return np.percentile(self.resampled, [tail, 100 - tail], axis=0).T

    def p_values(self, *, ties: bool = False) -> NDArray[np.float64]:
        """[m, m], symmetric: the one-sided p value of each pair; the diagonal is 1.

        As in the paper, a resample with equal means does not speak against the higher-ranked model; ``ties`` counts it as
        doing so, which is the cautious reading for models that differ in few queries. Where the observed means are equal
        there is no higher-ranked model, and p is 1 (the paper is silent).
        """
        every = np.arange(len(self.means))
        return np.stack([self.p_pairs(every, np.full(len(every), base), ties=ties) for base in every])

    def p_pairs(self, first: NDArray[np.intp], second: NDArray[np.intp], *, ties: bool = False) -> NDArray[np.float64]:
        """[k]: the p value of each of k pairs of models, as of :meth:`p_values`."""
        sides = np.sign(self.means[second] - self.means[first])
        gap = (self.resampled[:, first] - self.resampled[:, second]) * sides
        return np.where(sides == 0, 1.0, (gap >= 0 if ties else gap > 0).mean(axis=0))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """[m]: the models from the highest mean to the lowest, equal means in the order given."""
        return np.argsort(-self.means, kind="stable")


def checked_scores(scores: ArrayLike) -> NDArray[np.float64]:
    """Scores as a matrix of finite numbers, [queries, models].

    Raises:
        ValueError: they are none.

    Example:
        >>> from patent_mteb.metrics.significance import checked_scores
        >>> checked_scores([[0, 1]]).shape
        (1, 2)
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"scores must be [queries, models] with at least one of each, got shape {values.shape}")
    bad = ~np.isfinite(values)
    if bad.any():
        query, model = np.argwhere(bad)[0]
        raise ValueError(
            f"{bad.sum()} scores are NaN or infinite, first that of model {model} for query {query}; every model needs every query"
        )
    return values


def fixed_points(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Scores as whole numbers, and their scale, such that the sum of all queries of a model is exact.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.significance import fixed_points
        >>> points, scale = fixed_points(np.array([[0.5], [0.25]]))
        >>> (points / scale).tolist()
        [[0.5], [0.25]]
    """
    largest = len(values) * np.abs(values).max()
    scale = float(2.0 ** np.floor(52 - np.log2(largest))) if largest else 1.0
    return np.rint(values * scale), scale


def bootstrap(scores: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED, threads: int | None = None) -> Bootstrap:
    """Resample the queries of all models together (WIPO-AT, section 3.7: 10,000 resamples, seed 42).

    The scores are rounded to a fixed binary point, at least 2^-36 for up to 65,536 queries with scores within [-1, 1], so
    that every sum is exact: means that tie do so exactly, and the result is the same on any machine and number of threads.

    Args:
        scores: [n queries, m models], the score of each model for the same queries.
        threads: of the drawing; None for the number of cores, at most 8. Memory is about 10 MB each.

    Raises:
        ValueError: not a matrix, no queries or no models, or a score that is NaN or infinite.

    Example:
        >>> from patent_mteb.metrics.significance import bootstrap
        >>> result = bootstrap([[0.25, 0.5], [0.75, 1.0]], resamples=100)  # the second model is better on both queries
        >>> result.means.tolist(), float(result.p_values()[1, 0])
        ([0.5, 0.75], 0.0)
    """
    values = checked_scores(scores)
    points, scale = fixed_points(values)
    n = len(points)

    def sums(drawn: NDArray[np.uint8]) -> NDArray[np.float64]:
        total = np.zeros((len(drawn), values.shape[1]))
        for start in range(0, n, _CHUNK):
            total += drawn[:, start : start + _CHUNK].astype(np.float64) @ points[start : start + _CHUNK]
        return total

    if n * resamples <= _KEPT:
        resampled = np.concatenate([sums(drawn) for drawn in _kept(n, resamples, seed)])
    else:
        with ThreadPoolExecutor(threads or min(os.cpu_count() or 1, 8)) as pool:
            resampled = np.concatenate(list(pool.map(lambda block: sums(_draw(n, *block)), _blocks(n, resamples, seed))))
    return Bootstrap(points.sum(axis=0) / scale / n, resampled / scale / n)


def difference_interval(
    first: float, first_limits: tuple[float, float], second: float, second_limits: tuple[float, float]
) -> tuple[float, float]:
    """The interval of a difference of two scores from their own intervals (Zou and Donner 2008, "MOVER").

    It takes the two for independent. Scores on the same documents rise and fall together, so that it is then too wide, not too narrow.

    Example:
        >>> from patent_mteb.metrics.significance import difference_interval
        >>> low, high = difference_interval(0.75, (0.625, 0.875), 0.5, (0.375, 0.625))
        >>> round(low, 3), round(high, 3)
        (0.073, 0.427)
    """
    below = np.hypot(first - first_limits[0], second_limits[1] - second)
    above = np.hypot(first_limits[1] - first, second - second_limits[0])
    return float(first - second - below), float(first - second + above)


def _checked(p: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p values must be a vector of numbers from 0 to 1")
    return values


def bonferroni(p: ArrayLike) -> NDArray[np.float64]:
    """[k] p values of a family of k tests -> [k] adjusted: times k, at most 1.

    Example:
        >>> from patent_mteb.metrics.significance import bonferroni
        >>> bonferroni([0.01, 0.04, 0.5])
        array([0.03, 0.12, 1.  ])
    """
    values = _checked(p)
    return np.minimum(values * len(values), 1.0)


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """[k] p values of a family of k tests -> [k] adjusted by Holm's step-down method, at most 1.

    Example:
        >>> from patent_mteb.metrics.significance import holm
        >>> holm([0.01, 0.04, 0.5])  # times 3, 2 and 1
        array([0.03, 0.08, 0.5 ])
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def tiers(means: ArrayLike, p_values: ArrayLike, alpha: float = 0.05) -> list[list[int]]:
    """Models grouped by adjacent non-significance, best tier first: for presentation only.

    Models are ranked by mean; a new tier starts where a model differs significantly (p < alpha) from the one ranked just
    above it. Not being significant is not transitive, so the first and last of a tier may well differ significantly, and two
    neighbours across a border may both be indistinguishable from a third. Conclusions belong to the pairs.

    Args:
        means: [m]; p_values: [m, m] as of :meth:`Bootstrap.p_values`.

    Example:
        >>> from patent_mteb.metrics.significance import tiers
        >>> tiers([0.7, 0.6, 0.3], [[1, 0.4, 0.01], [0.4, 1, 0.02], [0.01, 0.02, 1]])
        [[0, 1], [2]]
    """
    observed, p = np.asarray(means), np.asarray(p_values)
    order = np.argsort(-observed, kind="stable")
    groups = [[int(order[0])]]
    for above, model in pairwise(order):
        if p[above, model] < alpha:
            groups.append([])
        groups[-1].append(int(model))
    return groups


def letters(means: ArrayLike, p_values: ArrayLike, *, alpha: float = 0.05, against: Sequence[int] | None = None) -> list[str]:
    """For each model, the letters of the models that it is significantly better than (p < alpha), in alphabetical order.

    Args:
        means: [m]; p_values: [m, m] as of :meth:`Bootstrap.p_values`.
        against: the models that get a letter, the first of them "a", and so on; all of them by default. One chosen baseline:
            ``against=[baseline]``.

    Raises:
        ValueError: more than 26 models would need a letter.

    Example:
        >>> from patent_mteb.metrics.significance import letters
        >>> letters([0.7, 0.6, 0.3], [[1, 0.4, 0.01], [0.4, 1, 0.2], [0.01, 0.2, 1]])  # only the first and the last differ
        ['c', '', '']
    """
    observed, p = np.asarray(means), np.asarray(p_values)
    lettered = range(len(observed)) if against is None else against
    if len(lettered) > 26:
        raise ValueError(f"{len(lettered)} models need a letter and there are 26; name fewer in 'against'")
    return [
        "".join(
            chr(ord("a") + place) for place, other in enumerate(lettered) if observed[model] > observed[other] and p[model, other] < alpha
        )
        for model in range(len(observed))
    ]


def stars(p: float) -> str:
    """*** for p < 0.001, ** for p < 0.01, * for p < 0.05, else nothing (WIPO-AT, section 3.7).

    Example:
        >>> from patent_mteb.metrics.significance import stars
        >>> stars(0.004), stars(0.2)
        ('**', '')
    """
    return "*" * sum(p < bound for bound in (0.001, 0.01, 0.05))
