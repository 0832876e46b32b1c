"""Evaluation protocols for frozen embeddings: probes, neighbours, clustering, zero-shot scoring, and their intervals.

Intervals are over the test documents; the papers state none. Predictions are those of one fitted model. Clusters are
those of several random starts. An interval is for the score that test sets of as many documents have on average.
Macro F1 and V-measure depend on that number: a class without a test document has F1 0, and clusters of few documents
are pure by chance.

The standard error is the jackknife's, which is not too small on average (Efron and Stein 1981). Where few documents
decide a score, as with rare classes, resamples vary too little: a document that occurs once is either drawn or not, and
those that do not occur are never drawn (``benchmarks/calibration.py``).

Labels of n documents over L classes are a boolean matrix [n, L], made by :func:`multi_hot`. The package does not import
mteb, and torch only where needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit, xlogy

from patent_mteb.metrics.significance import jackknife_interval

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


_NORMAL = 1.959964  # the normal quantile of 97.5%
_CONSTANT = 1e-12  # standard deviation up to which values count as constant
Interval = tuple[float, float]
Floats = NDArray[np.float64]


def limits(name: str, interval: Interval) -> dict[str, float]:
    """Name the limits of an interval as in a result."""
    return {f"{name}_low": interval[0], f"{name}_high": interval[1]}


def effective_rows(of_classes: ArrayLike) -> float:
    """The test rows that decide a mean over classes, from the number of rows of each class.

    A class of c rows contributes a variance in proportion to 1 / c, and each of its rows 1 / c of that. The result is
    the number of equal contributions whose sum is as uncertain: all rows if classes are equally frequent, and few if a
    few rare classes decide. A class without a row counts as one with one row: other test sets may have it.
    """
    rare = 1 / np.maximum(np.asarray(of_classes, dtype=np.float64), 1)
    return float(rare.sum() ** 2 / (rare**3).sum())


def macro_f1_interval(true: ArrayLike, predicted: ArrayLike) -> Interval:
    gold = label_matrix(true, rows=len(np.asarray(true)), name="true labels")
    guessed = label_matrix(predicted, rows=len(gold), name="predicted labels", classes=gold.shape[1])
    hits, named = np.sum(gold & guessed, axis=0), np.sum(gold, axis=0) + np.sum(guessed, axis=0)

    def f1(hits: NDArray[np.int64], named: NDArray[np.int64]) -> Floats:
        return np.asarray(np.divide(2.0 * hits, named, out=np.zeros(len(named)), where=named > 0))

    whole = f1(hits, named)
    without_hit, without_miss = f1(hits - 1, named - 2) - whole, f1(hits, named - 1) - whole
    changed = (gold & guessed) @ without_hit + (gold ^ guessed) @ without_miss
    return jackknife_interval(float(whole.mean()), whole.mean() + changed / len(whole))


def v_measure_interval(classes: Sequence[object], assigned: Sequence[int], of_seeds: Sequence[float] = ()) -> Interval:
    """The 95% interval of V-measure over documents and, with the scores of several seeds, over random starts.

    Without ``of_seeds`` it is for these clusters. k-means from another start often scores so differently that such an
    interval is wrong in 30 to 77% of sets (``benchmarks/calibration.py``). The two half-widths are added as squares.
    """
    class_of = np.unique(np.asarray([str(name) for name in classes]), return_inverse=True)[1]
    cluster_of = np.unique(np.asarray(assigned), return_inverse=True)[1]
    (rows, columns), sizes = np.unique(np.stack([class_of, cluster_of]), axis=1, return_counts=True)
    n = float(len(classes))

    def log_sum(of_groups: NDArray[np.int64]) -> tuple[float, Floats]:
        """The sum of c log c over the sizes of groups, and this sum where one group has a document less."""
        c = of_groups.astype(np.float64)
        whole = xlogy(c, c).sum()
        return float(whole), whole - xlogy(c, c) + xlogy(c - 1, c - 1)

    def v_measure(n: float, of_rows: Any, of_columns: Any, of_cells: Any) -> Any:
        both = 2 * np.log(n) - (of_rows + of_columns) / n
        shared = np.log(n) - (of_rows + of_columns - of_cells) / n
        return np.where(both > _CONSTANT, 2 * np.maximum(shared, 0) / np.maximum(both, _CONSTANT), 1.0)

    in_rows, in_columns = np.bincount(rows, sizes), np.bincount(columns, sizes)
    (whole_rows, less_rows), (whole_columns, less_columns), (whole, less) = map(log_sum, (in_rows, in_columns, sizes))
    without = v_measure(max(n - 1, 1), less_rows[rows], less_columns[columns], less)
    observed = float(v_measure(n, whole_rows, whole_columns, whole))
    low, high = jackknife_interval(observed, np.repeat(without, sizes))
    by_start = stdtrit(len(of_seeds) - 1, 0.975) * np.std(of_seeds, ddof=1) if len(of_seeds) > 1 else 0.0
    below, above = np.hypot([observed - low, high - observed], by_start)
    return max(float(observed - below), 0.0), min(float(observed + above), 1.0)


def share_interval(hits: ArrayLike) -> Interval:
    """The 95% interval of a share of the test documents: P@1 (Wilson 1927)."""
    of_each = np.asarray(hits, dtype=np.float64)
    n, share, squared = len(of_each), of_each.mean(), _NORMAL**2
    centre, half = share + squared / (2 * n), _NORMAL * np.sqrt(share * (1 - share) / n + squared / (4 * n**2))
    low, high = np.clip(np.array([centre - half, centre + half]) / (1 + squared / n), 0, 1)
    return float(low), float(high)


def pearson_interval(first: ArrayLike, second: ArrayLike) -> Interval:
    """The 95% interval of Pearson's correlation over pairs, by Fisher's z; a constant variable counts as 0."""
    if len(np.asarray(first)) < 4:
        return -1.0, 1.0
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    x, y, n = x - x.mean(), y - y.mean(), len(x)

    def z(n: float, sums: Sequence[Floats]) -> Floats:
        mean_x, mean_y, mean_xy, mean_xx, mean_yy = (np.asarray(total) / n for total in sums)
        spread = np.sqrt(np.maximum(mean_xx - mean_x**2, 0) * np.maximum(mean_yy - mean_y**2, 0))
        shared = mean_xy - mean_x * mean_y
        r = np.divide(shared, spread, out=np.zeros_like(shared), where=spread > _CONSTANT)
        return np.asarray(np.arctanh(np.clip(r, _CONSTANT - 1, 1 - _CONSTANT)))

    columns = x, y, x * y, x * x, y * y
    sums = [column.sum() for column in columns]
    without = z(max(n - 1, 1), [total - column for total, column in zip(sums, columns, strict=True)])
    low, high = np.tanh(jackknife_interval(float(z(n, sums)), without, -np.inf, np.inf))
    return float(low), float(high)
