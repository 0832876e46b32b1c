"""How sure a comparison of models is: intervals of means, p values of pairs, and statements that hold together.

The scores are those of single queries, [queries, models]. A test of :data:`TESTS` makes a :class:`Compared` of them:

* ``intervals``: the 95% interval of each mean. The bootstrap's is BCa (Efron 1987): measures of retrieval are skewed,
  with many zeros, and percentiles cover too little (``benchmarks/calibration.py``).
* ``p_values``: the two-sided p value of each pair, for a pair that was chosen before looking.
* ``joint``: the same for all pairs together. If all models are equal, the chance that any p is below 0.05 is about 5%
  or less.

The bootstrap resamples the queries with replacement, each time the same for all models. Resamples are held as counts,
so that the means of all models are one matrix product. Counts of n draws are multinomial. Every query gets an
independent Poisson count of a rate a little under 1, and the rest up to n is drawn one by one: given their total, such
counts are multinomial. A row whose Poisson counts alone exceed n is drawn again.

:meth:`Bootstrap.paper_p` is the one-sided test of WIPO-AT (section 3.7). Its side is that of the model with the higher
mean, so two equal models have p < 0.05 in 10% of cases and, with few queries above zero, in up to 15%.

Scores on fewer than 50 queries, 30 test rows, 12 effective test rows, 2 pairs of one label or 2 classes are too small
(:func:`too_small`).
Tables show them with a mark and their interval, never rank them first or second, and exclude them from means.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtr, ndtri, stdtr, stdtrit
from threadpoolctl import ThreadpoolController

RESAMPLES = 10_000  # of WIPO-AT section 3.7
SEED = 42  # WIPO-AT's
_BLOCK_ENTRIES = 1 << 21  # counts of one byte that are drawn at a time: 2 MB
_CHUNK = 512  # queries of a product, see _ROWS
_ROWS = 128  # resamples of a product: with _CHUNK queries as much as the cache of a core holds
_KEPT = 1 << 24  # draws that are kept for the next task, at most: of 1,677 queries with 10,000 resamples
_REFINE = 255  # no count of a Poisson variable of mean 1 is as large
_ROUNDING = 1e-6  # relative, of differences in single precision
_EQUAL = 1e-9  # relative; scores of a query are sums of up to 1,000 gains, which double precision knows to 1e-13
_TAIL = 0.025  # each side of a 95% interval
_CONSTANT = 1e-12  # standard deviation up to which values count as constant
_FEW = 20  # scores above zero; with fewer, resamples alone may cover less than 94% (benchmarks/calibration.py)


@lru_cache(maxsize=1)
def _poisson_table(rate: float) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Poisson counts by 16 bits of a uniform number (_REFINE where unsettled), and the distribution function."""
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
    np.add.at(drawn.reshape(-1), row * n + rng.integers(0, n, len(row)), np.uint8(1))
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
    """The resamples of :func:`bootstrap` in blocks [rows, n]: how often each of n queries is drawn; rows sum to n."""
    for rows, child in _blocks(n, resamples, seed):
        yield _draw(n, rows, child)


@dataclass(frozen=True)
class Compared(ABC):
    """The scores [n queries, m models] of a test. All its p values are 1 for two models of equal mean."""

    scores: NDArray[np.float64]

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """[m] the observed means, sums free of rounding, so that equal ones are equal."""
        points, scale = fixed_points(self.scores)
        return np.asarray(points.sum(axis=0) / scale / len(points))

    @abstractmethod
    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """[m, 2]: the interval of each model's mean."""

    @abstractmethod
    def p_values(self) -> NDArray[np.float64]:
        """[m, m], symmetric: the two-sided p value of each pair; 1 on the diagonal."""

    def joint(self) -> NDArray[np.float64]:
        """[m, m], symmetric: p values that hold for all pairs together, by Holm's method."""
        p = self.p_values()
        upper = np.triu_indices(len(p), 1)
        return _symmetric(upper, holm(p[upper]), len(p))


def _symmetric(upper: tuple[NDArray[np.intp], ...], values: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """[m, m] of the values of the pairs above the diagonal; 1 on it."""
    square = np.ones((m, m))
    square[upper] = square.T[upper] = values
    return square


@dataclass(frozen=True)
class Bootstrap(Compared):
    """Means of m models over every resample of the queries [resamples, m]."""

    resampled: NDArray[np.float64]

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """[m, 2]: the BCa interval of each model's mean (Efron 1987, sections 4 and 6).

        The percentiles follow the skewness of the scores, and the share of the resamples below the observed mean.
        Resamples of few scores above zero know too little of the queries that are not there. The upper end is then at
        least that of the share of such scores (Clopper and Pearson 1934), times the mean of them and of one more, which
        is 1. So is the lower end where few scores are below 1. Scores of other measures than those from 0 to 1 are left
        as they are.
        """
        gaps = (self.scores - self.scores.mean(axis=0)) / self._largest
        squares = (gaps**2).sum(axis=0)
        acceleration = (gaps**3).sum(axis=0) / np.where(squares > 0, 6 * squares**1.5, 1.0)
        ends = ndtri([(1 - level) / 2, (1 + level) / 2])
        found = []
        for deviations, observed, skewed in zip(self._deviations, self.means, acceleration, strict=True):
            below = (np.count_nonzero(deviations < 0) + np.count_nonzero(deviations <= 0)) / (2 * len(deviations))
            least = 0.5 / len(deviations)
            bias = ndtri(np.clip(below, least, 1 - least))
            shifted = bias + ends
            limits = np.quantile(deviations, ndtr(bias + shifted / (1 - skewed * shifted)))
            found.append(observed + limits * self._largest)
        rounding = _EQUAL * self._largest
        within = ((self.scores >= -rounding) & (self.scores <= 1 + rounding)).all(axis=0)
        limits = np.array(found)
        few, highest = self._few(self.scores, level, rounding)
        limits[few & within, 1] = np.maximum(limits[few & within, 1], highest[few & within])
        few, highest = self._few(1 - self.scores, level, rounding)
        limits[few & within, 0] = np.minimum(limits[few & within, 0], 1 - highest[few & within])
        return limits

    @staticmethod
    def _few(
        values: NDArray[np.float64], level: float, rounding: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether few of the values of each column are above 0, and the upper end of its mean if one more, of 1, is."""
        n, above = len(values), (values > rounding).sum(axis=0)
        share = betaincinv(above + 1.0, np.maximum(n - above, 1), (1 + level) / 2)
        return above < _FEW, share * (values.sum(axis=0) + 1) / (above + 1)

    def p_values(self) -> NDArray[np.float64]:
        """The share of resamples whose difference is as far from the observed one as this is from 0 (b + 1) / (B + 1).

        A p value is at least 2^(1 - k) where the scores of k queries differ: no exchange of the two models within
        queries could show more.
        """
        return self._pairs[0]

    def joint(self) -> NDArray[np.float64]:
        """[m, m], symmetric: p values that hold for all pairs together (Romano and Wolf 2005, algorithm 4.1).

        The pairs step down from the largest difference. Each is compared with the largest difference of itself and all
        smaller ones, in the same resamples. The differences are not divided by their standard errors: with 50 queries
        and 22 equal models, that calls some pair different in 14% of cases instead of 5%.
        """
        return self._pairs[1]

    @cached_property
    def _largest(self) -> float:
        return float(np.abs(self.scores).max()) or 1.0

    @cached_property
    def _deviations(self) -> NDArray[np.float32]:
        """[m, resamples] from the observed means, in units of the largest score.

        Single precision halves the time of quantiles and pairs.
        """
        return np.ascontiguousarray(((self.resampled - self.means) / self._largest).T, dtype=np.float32)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        n, m = self.scores.shape
        rounding = _EQUAL * self._largest
        of_model = np.ascontiguousarray(self.scores.T)
        differing = np.zeros((m, m))
        for model, own in enumerate(of_model):
            apart = np.abs(of_model[model + 1 :] - own) > rounding
            differing[model, model + 1 :] = differing[model + 1 :, model] = np.count_nonzero(apart, axis=1)
        widened = np.float32(np.sqrt(n / max(n - 1, 1)))  # a resampled variance lacks (n - 1) / n
        single, joint = step_down(self.means / self._largest, self._deviations * widened)
        least = np.minimum(0.5 ** (differing - 1), 1.0)
        return np.maximum(single, least), np.maximum(joint, least)

    def paper_p(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
        """[k]: the one-sided p value of each of k pairs (WIPO-AT, section 3.7); 1 for equal observed means.

        It is (b + 1) / (B + 1): b of the B resamples give the model with the lower observed mean at least the mean of
        the other, and the observed scores count as one more. The paper divides the strict reversals by B, which makes p
        0 for two models that differ on a single query.
        """
        sides = np.sign(self.means[second] - self.means[first])
        gap = (self.resampled[:, first] - self.resampled[:, second]) * sides
        p = ((gap >= 0).sum(axis=0) + 1) / (len(gap) + 1)
        return np.where(sides == 0, 1.0, p)


def step_down(
    means: NDArray[np.float64], deviations: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The two-sided p values of all pairs of m means, each for itself and for all together: two of [m, m].

    ``deviations`` [m, resamples] from the means have the distribution of these. The method is that of
    :meth:`Bootstrap.joint`.
    """
    first, second = np.triu_indices(len(means), 1)
    gaps = np.abs(means[first] - means[second])
    order = np.argsort(gaps, kind="stable")
    largest, apart = np.zeros((2, deviations.shape[1]), dtype=np.float32)
    single, joint = np.where(gaps > 0, 1 / (len(apart) + 1), np.ones((2, len(gaps))))
    beyond = np.ptp(deviations, axis=0).max(initial=0)  # no resample has a larger difference
    for pair in order[: np.searchsorted(gaps[order] * (1 - _ROUNDING), beyond, side="right")]:
        np.abs(np.subtract(deviations[first[pair]], deviations[second[pair]], out=apart), out=apart)
        np.maximum(largest, apart, out=largest)
        if gaps[pair] > 0:
            gap = np.float32(gaps[pair] * (1 - _ROUNDING))
            single[pair] = (np.count_nonzero(apart >= gap) + 1) / (len(apart) + 1)
            joint[pair] = (np.count_nonzero(largest >= gap) + 1) / (len(apart) + 1)
    joint[order] = np.maximum.accumulate(joint[order][::-1])[::-1]
    return _symmetric((first, second), single, len(means)), _symmetric((first, second), joint, len(means))


def checked_scores(scores: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"scores must be [queries, models] with at least one of each, got shape {values.shape}")
    bad = ~np.isfinite(values)
    if bad.any():
        query, model = np.argwhere(bad)[0]
        raise ValueError(
            f"{bad.sum()} scores are NaN or infinite, first that of model {model} for query {query}; every model needs"
            " every query"
        )
    return values


def by_group(scores: NDArray[np.float64], groups: ArrayLike | Sequence[int]) -> NDArray[np.float64]:
    """Scores [queries, m] whose groups are not independent -> [groups, m], one row a group, with the same means.

    Groups are the claims of an application, or the members of a family. A row is the mean plus the group's part of it:
    the sum of its differences to the mean, by the mean number of queries a group. So the tests resample groups, and a
    mean stays one over queries.
    """
    _, of_query = np.unique(np.asarray(groups), return_inverse=True)
    n_groups = int(of_query.max()) + 1
    if n_groups == len(scores):
        return scores
    means = Paired(scores).means
    parts = np.zeros((n_groups, scores.shape[1]))
    np.add.at(parts, of_query, scores - means)
    return np.asarray(means + parts * (n_groups / len(scores)))


def fixed_points(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Scores as whole numbers, and their scale, such that the sum of all queries of a model is exact."""
    largest = len(values) * np.abs(values).max()
    scale = float(2.0 ** np.floor(52 - np.log2(largest))) if largest else 1.0
    return np.rint(values * scale), scale


@lru_cache(maxsize=1)
def _products() -> ThreadpoolController:
    return ThreadpoolController()


def bootstrap(
    scores: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED, threads: int | None = None
) -> Bootstrap:
    """Resample the queries of all models together (WIPO-AT, section 3.7: 10,000 resamples, seed 42).

    The scores [queries, models] are rounded to a fixed binary point, at least 2^-36 for up to 65,536 queries with
    scores within [-1, 1], so that every sum is exact: means that tie do so exactly, and the result is the same on any
    machine and number of threads.
    """
    return bootstraps([scores], resamples=resamples, seed=seed, threads=threads)[0]


def bootstraps(
    tables: Sequence[ArrayLike], *, resamples: int = RESAMPLES, seed: int = SEED, threads: int | None = None
) -> list[Bootstrap]:
    """:func:`bootstrap` of several tables of scores of equally many queries, whose resamples are drawn once."""
    fixed = [fixed_points(checked_scores(scores)) for scores in tables]
    points = np.concatenate([table for table, _ in fixed], axis=1)
    n = len(points)

    def sums(drawn: NDArray[np.uint8]) -> NDArray[np.float64]:
        total = np.zeros((len(drawn), points.shape[1]))
        for row in range(0, len(drawn), _ROWS):
            for start in range(0, n, _CHUNK):
                part = drawn[row : row + _ROWS, start : start + _CHUNK].astype(np.float64)
                total[row : row + _ROWS] += part @ points[start : start + _CHUNK]
        return total

    with _products().limit(limits=1):  # a second thread of OpenBLAS waits longer than such a product takes
        if n * resamples <= _KEPT:
            resampled = np.concatenate([sums(drawn) for drawn in _kept(n, resamples, seed)])
        else:
            with ThreadPoolExecutor(threads or min(os.cpu_count() or 1, 8)) as pool:
                resampled = np.concatenate(
                    list(pool.map(lambda block: sums(_draw(n, *block)), _blocks(n, resamples, seed)))
                )
    ends = np.cumsum([table.shape[1] for table, _ in fixed])
    return [
        Bootstrap(table / scale, part / scale / n)
        for (table, scale), part in zip(fixed, np.split(resampled, ends[:-1], axis=1), strict=True)
    ]


def jackknife_interval(
    observed: float, without: NDArray[np.float64], least: float = 0.0, most: float = 1.0
) -> tuple[float, float]:
    """The 95% interval of a score from the scores without each of the n documents or queries.

    The quantile is that of t. Its degrees of freedom are n - 1 if the documents contribute as normal ones do, and fewer
    if a few decide (Satterthwaite 1946). If none decides, as where all are right, documents of another kind may still
    be up to 1 - 0.025^(1 / n) of all, and change the score by as much.
    """
    n = len(without)
    parts = (without - without.mean()) ** 2
    total, uneven = parts.sum(), ((parts - parts.mean()) ** 2).sum()
    if np.sqrt(total) <= _CONSTANT:
        half = 1 - _TAIL ** (1 / n)
    else:
        freedom = min(2 * total**2 / uneven, n - 1) if uneven > 0 else n - 1
        half = stdtrit(freedom, 1 - _TAIL) * np.sqrt((n - 1) / n * total)
    low, high = np.clip([observed - half, observed + half], least, most)
    return float(low), float(high)


def gap_intervals(differences: ArrayLike) -> NDArray[np.float64]:
    """[k, 2]: the 95% intervals of the means of differences [n queries, k pairs] of two models' scores from 0 to 1.

    Where two models differ on few queries, resamples miss the mean far more often than in 5% of cases.
    """
    values = checked_scores(differences)
    n, sums = len(values), values.sum(axis=0)
    without = (sums - values) / max(n - 1, 1)
    most = max(1.0, float(np.abs(values).max()))
    pairs = zip(sums / n, without.T, strict=True)
    return np.array([jackknife_interval(mean, column, -most, most) for mean, column in pairs])


def difference_interval(
    first: float, first_limits: tuple[float, float], second: float, second_limits: tuple[float, float]
) -> tuple[float, float]:
    """The interval of a difference of two independent scores from their intervals (Zou and Donner 2008, "MOVER").

    It is too wide for scores on the same documents.
    """
    below = np.hypot(first - first_limits[0], second_limits[1] - second)
    above = np.hypot(first_limits[1] - first, second - second_limits[0])
    return float(first - second - below), float(first - second + above)


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """[k] p values of a family of k tests -> [k] adjusted by Holm's step-down method, at most 1."""
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p values must be a vector of numbers from 0 to 1")
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def p_text(p: float) -> str:
    """Return a p value as it is printed: four decimals, or ``< 0.0001``."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


_BLOCK = 256  # permutations drawn at a time


@dataclass(frozen=True)
class Paired(Compared):
    """The paired t test."""

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """[m, 2]: the t interval of each model's mean; one query has none, and its ends are infinite."""
        n = len(self.scores)
        if n < 2:
            return np.tile([-np.inf, np.inf], (self.scores.shape[1], 1))
        half = stdtrit(n - 1, (1 + level) / 2) * self.scores.std(axis=0, ddof=1) / np.sqrt(n)
        return np.column_stack([self.means - half, self.means + half])

    def p_values(self) -> NDArray[np.float64]:
        n, m = self.scores.shape
        first, second = np.triu_indices(m, 1)
        gaps, p = np.abs(self.means[first] - self.means[second]), np.ones(len(first))
        for pair in np.flatnonzero(gaps if n > 1 else []):
            spread = (self.scores[:, first[pair]] - self.scores[:, second[pair]]).std(ddof=1) / np.sqrt(n)
            p[pair] = 2 * stdtr(n - 1, -gaps[pair] / spread) if spread > 0 else 0.0
        return _symmetric((first, second), p, m)


@dataclass(frozen=True)
class Permuted(Compared):
    """The paired permutation test: for each query the two scores may be exchanged.

    ``sums`` [permutations, m] are the sums of the scores with the drawn signs, as :func:`fixed_points`.
    """

    sums: NDArray[np.float64]
    exact: bool

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """[m, 2]: the bootstrap interval of each model's mean."""
        return bootstrap(self.scores).intervals(level)

    def p_values(self) -> NDArray[np.float64]:
        """The share of permutations whose difference is at least as far from 0 as the observed one.

        Where they were drawn, the observed one counts as drawn too, so that p is never 0.
        """
        points, _ = fixed_points(self.scores)
        observed, rounding, more = points.sum(axis=0), 2.0 * len(points), 0 if self.exact else 1
        first, second = np.triu_indices(len(observed), 1)
        gaps, p = np.abs(observed[first] - observed[second]), np.ones(len(first))
        for pair in np.flatnonzero(gaps):
            drawn = np.abs(self.sums[:, first[pair]] - self.sums[:, second[pair]])
            p[pair] = ((drawn >= gaps[pair] - rounding).sum() + more) / (len(drawn) + more)
        return _symmetric((first, second), p, len(observed))


def paired_t(scores: ArrayLike) -> Paired:
    return Paired(checked_scores(scores))


def permutation(scores: ArrayLike, *, resamples: int = RESAMPLES) -> Permuted:
    """The paired permutation test: all exchanges, or ``resamples`` drawn ones if there are more."""
    values = checked_scores(scores)
    points, _ = fixed_points(values)
    n = len(points)
    exact = 2**n <= resamples
    rng = np.random.default_rng(SEED)
    sums = []
    for start in range(0, count := 2**n if exact else resamples, _BLOCK):
        rows = min(_BLOCK, count - start)
        kept = (
            (np.arange(start, start + rows)[:, None] >> np.arange(n) & 1)
            if exact
            else rng.integers(0, 2, (rows, n), dtype=np.int8)
        )
        sums.append((2.0 * kept - 1) @ points)
    return Permuted(values, np.concatenate(sums), exact)


TESTS: dict[str, Callable[[ArrayLike], Compared]] = {"bootstrap": bootstrap, "t": paired_t, "permutation": permutation}


def compare(test: str, tables: Sequence[ArrayLike]) -> Sequence[Compared]:
    """Apply a test to several tables of scores of equally many queries."""
    return bootstraps(tables) if test == "bootstrap" else [TESTS[test](scores) for scores in tables]


def effect_sizes(scores: ArrayLike, base: int) -> NDArray[np.float64]:
    """Return Cohen's d of paired samples, the mean difference in standard deviations, for each model against ``base``.

    It is 0 without a difference, NaN for one query, and infinite for an equal difference on all queries. Differences
    within the rounding of scores count as 0.
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


SPREAD = 0.25
"""The assumed :func:`spread` where no scores are known, in nDCG@10: about the median of real pairs of models.

Measured: 0.23 for BM25 and all-MiniLM-L6-v2 on the 1,102 queries of ``PatentCitationRetrieval.sample``, and the medians
0.21, 0.25, 0.25 and 0.32 over the pairs of BM25, MiniLM, wordllama and two fusions on Pap2Pat, USPTO grants (two tasks)
and rejected claims of PANORAMA. Single pairs have 0.12 to 0.49.
"""
SMALL_DIFFERENCE = 0.01
"""A choice: one search in a hundred that finds all instead of nothing."""


def spread(scores: ArrayLike) -> float | None:
    """The standard deviation of the difference of two models from row to row, the median over all pairs of models.

    None for fewer than two models or rows.
    """
    values = checked_scores(scores)
    if min(values.shape) < 2:
        return None
    covariance = np.cov(values, rowvar=False)
    variance = np.diag(covariance)
    first, second = np.triu_indices(len(variance), 1)
    return float(np.median(np.sqrt(np.maximum(variance[first] + variance[second] - 2 * covariance[first, second], 0))))


def detectable(scores: ArrayLike, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest true difference of two models that a two-sided paired test finds with probability ``power``.

    ``scores`` are [queries, models]; queries that are not independent are first joined by :func:`by_group`. It is the
    sum of the t quantiles of 1 - alpha / 2 and of power, in standard errors of a difference with the :func:`spread` of
    the scores. None for fewer than two models or queries.
    """
    deviation = spread(scores)
    return None if deviation is None else smallest_difference(len(np.asarray(scores)), deviation, alpha, power)


def needed_queries(
    scores: ArrayLike, of: float = SMALL_DIFFERENCE, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """The number of rows of ``scores`` for which :func:`detectable` is at most ``of``.

    ``scores`` are as there. If a row is a group of queries (:func:`by_group`), it is the number of groups. None for
    fewer than two models or queries, and if a difference is the same for all queries.
    """
    deviation = spread(scores)
    return rows_for(of, deviation, alpha, power) if deviation else None


def smallest_difference(n: int, deviation: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """As :func:`detectable`, for ``n`` queries whose differences have this standard deviation."""
    quantiles = stdtrit(n - 1, 1 - alpha / 2) + stdtrit(n - 1, power)
    return float(quantiles * deviation / np.sqrt(n))


def rows_for(of: float, deviation: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """As :func:`needed_queries`, for differences of this standard deviation."""
    n = max(2, int(((ndtri(1 - alpha / 2) + ndtri(power)) * deviation / of) ** 2))  # the t quantiles need a few more
    while smallest_difference(n, deviation, alpha, power) > of:
        n += 1
    return n


MARK = "†"  # marks a score on too few items, and a mean without such scores


_LEAST = {
    "n_queries": ("query", "queries", 50),
    "n_query_groups": ("family of queries", "families of queries", 50),  # or applications, whose claims are queries
    "n_test": ("test row", "test rows", 30),
    "n_pairs": ("test row", "test rows", 30),
    "n_effective": ("effective test row", "effective test rows", 12),  # patent_mteb.protocols.effective_rows
    "n_rarer_label": ("pair of one label", "pairs of one label", 2),
    "n_classes": ("class", "classes", 2),
}
"""Minimum of each count of a result, and its words for one and for several."""


def explained() -> str:
    *first, last = dict.fromkeys(f"{many} (< {least})" for _, many, least in _LEAST.values())
    return (
        f"{MARK}: too few {', '.join(first)} or {last}; effective test rows are few where a few rare classes decide a "
        f"score. Such scores are not ranked; a mean marked {MARK} leaves them out. In brackets: the 95% interval, "
        "where one can be computed."
    )


def too_small(scores: Mapping[str, Any], part: str = "") -> str:
    """Name the counts that are too small for a score; empty if none is. Missing counts are ignored.

    The counts of a slice (``part``) follow its name and ``_``.
    """
    lacking = []
    for name, (one, many, least) in _LEAST.items():
        count = scores.get(f"{part}_{name}" if part else name)
        if count is not None and count < least:
            lacking.append(f"{int(count)} {one if int(count) == 1 else many}")
    return ", ".join(lacking)
