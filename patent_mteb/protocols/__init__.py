"""Evaluation protocols for frozen embeddings: probes, neighbours, clustering, zero-shot scoring, and their intervals.

Intervals are by bootstrap over the test documents; the papers state none. Test documents are resampled
:data:`RESAMPLES` times with seed 42; nothing is fitted again. The limits are the 2.5 and 97.5 percentiles, shifted so
that the mean of the resamples is the observed score, and clipped to the range of the score. The shift removes a bias of
resampling: repeated documents make clusters look purer, and a resample without documents of a rare label scores 0 for
it.

Labels of n documents over L classes are a boolean matrix [n, L], made by :func:`multi_hot`. The package does not import
mteb, and torch only where needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from patent_mteb.metrics.significance import SEED, counts

Labels = NDArray[np.bool_]
Split = tuple[ArrayLike, ArrayLike]
"""Embeddings [n, d] and boolean labels [n, L]."""


def multi_hot(label_sets: Sequence[Collection[str]], classes: Sequence[str]) -> Labels:
    """Return the labels of each document as a boolean matrix [n, L]."""
    column = {name: number for number, name in enumerate(classes)}
    matrix = np.zeros((len(label_sets), len(classes)), dtype=bool)
    for row, labels in enumerate(label_sets):
        for label in labels:
            if label not in column:
                raise ValueError(f"label {label!r} of document {row} is not among the {len(classes)} classes")
            matrix[row, column[label]] = True
    return matrix


def label_matrix(values: ArrayLike, *, rows: int, name: str = "labels", classes: int | None = None) -> Labels:
    """Convert ``values`` to a boolean matrix [rows, L]. Raises ValueError."""
    matrix = np.asarray(values)
    if matrix.ndim != 2 or len(matrix) != rows or matrix.shape[1] == 0:
        raise ValueError(f"{name} must be [{rows}, classes], a row for each embedding, got shape {matrix.shape}")
    if classes is not None and matrix.shape[1] != classes:
        raise ValueError(f"{name} have {matrix.shape[1]} classes, expected {classes}")
    if matrix.dtype != np.bool_ and not np.isin(matrix, (0, 1)).all():
        raise ValueError(f"{name} must hold only 0 and 1")
    return matrix.astype(bool)


def f1_per_label(true: Labels, predicted: Labels) -> NDArray[np.float64]:
    """Return F1 of each class, 2 tp / (2 tp + fp + fn); 0 for a class without true or predicted labels."""
    hits = np.sum(true & predicted, axis=0)
    named = np.sum(true, axis=0) + np.sum(predicted, axis=0)
    f1 = np.zeros(true.shape[1])
    np.divide(2.0 * hits, named, out=f1, where=named > 0)
    return f1


def precision_at(true: Labels, scores: ArrayLike, k: int) -> NDArray[np.float64]:
    """Return |true and top k| / k of the classes of each document (PatentMap, P@k); ties are ordered by class."""
    top = np.argsort(-np.asarray(scores), axis=1, kind="stable")[:, :k]
    hits = np.take_along_axis(true, top, axis=1).sum(axis=1)
    return np.asarray(hits / k, dtype=np.float64)


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
