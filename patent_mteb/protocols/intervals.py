"""Confidence intervals of scores on frozen embeddings, by bootstrap over the test documents.

The papers state none. Test documents are resampled :data:`RESAMPLES` times with seed 42; nothing is fitted again. The
limits are the 2.5 and 97.5 percentiles, shifted so that the mean of the resamples is the observed score, and clipped to
the range of the score. The shift removes a bias of resampling: repeated documents make clusters look purer, and a
resample without documents of a rare label scores 0 for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from patent_mteb.metrics.significance import SEED, counts
from patent_mteb.protocols import label_matrix

RESAMPLES = 1_000
TAIL = 2.5
_CONSTANT = 1e-12  # standard deviation up to which values count as constant
Interval = tuple[float, float]
Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def limits(name: str, interval: Interval) -> dict[str, float]:
    """Name the limits of an interval as in a result."""
    return {f"{name}_low": interval[0], f"{name}_high": interval[1]}


def macro_f1_interval(true: ArrayLike, predicted: ArrayLike, **drawing: int) -> Interval:
    gold = label_matrix(true, rows=len(np.asarray(true)), name="true labels")
    guessed = label_matrix(predicted, rows=len(gold), name="predicted labels", classes=gold.shape[1])
    hits, named = (gold & guessed).astype(np.float64), gold.astype(np.float64) + guessed

    def macro_f1(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        tp, total = drawn @ hits, drawn @ named
        return np.asarray(np.divide(2 * tp, total, out=np.zeros_like(tp), where=total > 0).mean(axis=1))

    return _interval(macro_f1, len(gold), **drawing)


def v_measure_interval(classes: Sequence[object], assigned: Sequence[int], **drawing: int) -> Interval:
    if len(classes) != len(assigned):
        raise ValueError(f"{len(classes)} classes for {len(assigned)} assigned documents")
    class_of = np.unique(np.asarray([str(name) for name in classes]), return_inverse=True)[1]
    cluster_of = np.unique(np.asarray(assigned), return_inverse=True)[1]
    pairs, cell_of = np.unique(np.stack([class_of, cluster_of]), axis=1, return_inverse=True)
    order, starts = np.argsort(cell_of, kind="stable"), np.r_[0, np.cumsum(np.bincount(cell_of))[:-1]]
    rows, columns = (sparse.csr_array((np.ones(len(kind)), (np.arange(len(kind)), kind))) for kind in pairs)

    def v_measure(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        cells = np.add.reduceat(drawn[:, order], starts, axis=1) / len(classes)
        of_classes, of_clusters, together = _entropy(cells @ rows), _entropy(cells @ columns), _entropy(cells)
        both = of_classes + of_clusters
        shared = np.maximum(both - together, 0)
        return np.asarray(np.divide(2 * shared, both, out=np.ones_like(both), where=both > 0))

    return _interval(v_measure, len(classes), **drawing)


def mean_interval(values: ArrayLike, **drawing: int) -> Interval:
    """The 95% interval of the mean of a score from 0 to 1 over the test documents."""
    of_each = np.asarray(values, dtype=np.float64)
    return _interval(lambda drawn: np.asarray(drawn @ of_each / len(of_each)), len(of_each), **drawing)


def pearson_interval(first: ArrayLike, second: ArrayLike, **drawing: int) -> Interval:
    """The 95% interval of Pearson's correlation over pairs. A resample with a constant variable counts as 0."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"{len(x)} values for {len(y)} others")
    x, y = x - x.mean(), y - y.mean()

    def correlation(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = drawn / len(x)
        mean_x, mean_y, mean_xy, mean_xx, mean_yy = (shares @ column for column in (x, y, x * y, x * x, y * y))
        spread = np.sqrt(np.maximum(mean_xx - mean_x**2, 0) * np.maximum(mean_yy - mean_y**2, 0))
        shared = mean_xy - mean_x * mean_y
        return np.asarray(np.divide(shared, spread, out=np.zeros_like(shared), where=spread > _CONSTANT))

    return _interval(correlation, len(x), least=-1.0, **drawing)


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1))


def _interval(
    statistic: Statistic, n: int, resamples: int = RESAMPLES, seed: int = SEED, least: float = 0.0
) -> Interval:
    observed = float(statistic(np.ones((1, n)))[0])
    values = np.concatenate([statistic(drawn.astype(np.float64)) for drawn in counts(n, resamples, seed)])
    low, high = np.clip(observed + np.percentile(values - values.mean(), [TAIL, 100 - TAIL]), least, 1)
    return float(low), float(high)
