"""k nearest neighbours on frozen embeddings, with one exact table of neighbours for every k.

:func:`majority_vote` is the classifier of WIPO-AT (section 3.3.2), :func:`class_shares` that of PatentMap (section
4.3), evaluated by :func:`patent_mteb.protocols.precision_at`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patent_mteb.metrics import embedding_matrix
from patent_mteb.protocols import Labels, Split, f1_per_label, label_matrix

WIPO_AT_KS = (1, 3, 5, 10, 20)
_BLOCK_ENTRIES = 1 << 24  # similarities in memory at a time: 64 MB
_PAIRS = 1 << 20  # values at a time


def _lengths(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """The length of each row, 1 for a row of zeros."""
    squares = np.einsum("ij,ij->i", x, x, dtype=np.float64)
    return np.sqrt(np.where(squares > 0, squares, 1))


def _lower_bound(similarities: NDArray[np.floating], k: int) -> NDArray[np.floating]:
    """[rows] a value that k entries of each row reach: the k-th largest of the maxima of groups of columns."""
    columns = similarities.shape[1]
    size = max(1, columns // max(32 * k, 512))
    groups = columns // size
    maxima = similarities[:, : groups * size].reshape(len(similarities), size, groups).max(axis=1)
    return np.partition(maxima, groups - k, axis=1)[:, groups - k]


def _scores(
    x: NDArray[np.floating], y: NDArray[np.floating], rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Inner products of pairs of rows in double precision; equal pairs have equal values at any position."""
    scores = np.empty(len(rows))
    step = max(1, _PAIRS // x.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        scores[part] = (x[rows[part]].astype(np.float64) * y[columns[part]]).sum(axis=1)
    return scores


def neighbours(train: ArrayLike, queries: ArrayLike, k: int) -> NDArray[np.intp]:
    """[n queries, k]: each query's nearest rows of ``train`` by cosine, nearest first, equally near ones by row.

    Exact: candidates come from a matrix product in the embeddings' precision, with its largest possible rounding error
    as margin, and are ordered by cosines in double precision. A row of zeros has a cosine of 0 with everything.
    """
    x = embedding_matrix(train, name="train embeddings")
    held = embedding_matrix(queries, name="query embeddings", width=x.shape[1])
    if not 1 <= k <= len(x):
        raise ValueError(f"k = {k} neighbours of {len(x)} training rows")
    size = min(len(held), max(1, _BLOCK_ENTRIES // len(x)))
    kind = np.result_type(held, x)
    lengths = _lengths(x)
    unit = x / lengths[:, None].astype(kind)
    rounding = (2 * x.shape[1] + 8) * np.finfo(kind).eps
    similarities, near = np.empty((size, len(x)), dtype=kind), np.empty((size, len(x)), dtype=bool)
    table = np.empty((len(held), k), dtype=np.intp)
    for start in range(0, len(held), size):
        block = held[start : start + size]
        values = np.matmul(block / _lengths(block)[:, None].astype(kind), unit.T, out=similarities[: len(block)])
        floor = _lower_bound(values, k) - rounding
        flags = np.greater_equal(values, floor[:, None], out=near[: len(block)])
        rows, columns = np.divmod(np.flatnonzero(flags), len(x))
        order = np.lexsort((columns, -_scores(block, x, rows, columns) / lengths[columns], rows))
        first = np.searchsorted(rows, np.arange(len(block)))
        table[start : start + size] = columns[order][first[:, None] + np.arange(k)]
    return table


def _carriers(table: NDArray[np.intp], labels: Labels, k: int) -> NDArray[np.int64]:
    """Return the number of the k nearest neighbours with each label, [n, L]."""
    carriers = np.zeros((len(table), labels.shape[1]), dtype=np.int64)
    for place in range(k):
        carriers += labels[table[:, place]]
    return carriers


def majority_vote(table: NDArray[np.intp], labels: Labels, ks: Sequence[int]) -> dict[int, Labels]:
    """Return, for each k, the labels of more than half of the k nearest neighbours. As in scikit-learn, ties fail."""
    return {k: 2 * _carriers(table, labels, k) > k for k in ks}


def class_shares(train: Split, queries: ArrayLike, ks: Sequence[int]) -> dict[int, NDArray[np.float64]]:
    """Return, for each k, the share of the k nearest neighbours with each label, [n queries, L]."""
    x = embedding_matrix(train[0], name="train embeddings")
    known = label_matrix(train[1], rows=len(x), name="train labels")
    table = neighbours(x, queries, max(ks))
    return {k: _carriers(table, known, k) / k for k in ks}


@dataclass(frozen=True)
class KNN:
    macro_f1: dict[int, float]  # by k
    best_k: int  # with the best macro F1, the smallest of equals
    predicted: Labels  # [n test, L] with the best k


def knn(train: Split, test: Split, classes: Sequence[str]) -> KNN:
    """Multi-label kNN by majority vote, macro F1 on the test split for every k (WIPO-AT, section 3.3.2).

    The best k is picked on the test split, as the paper's tables do not say otherwise: it is an upper bound, not a
    tuned score.
    """
    x, held = embedding_matrix(train[0], name="train embeddings"), embedding_matrix(test[0], name="test embeddings")
    known = label_matrix(train[1], rows=len(x), name="train labels", classes=len(classes))
    true = label_matrix(test[1], rows=len(held), name="test labels", classes=len(classes))
    votes = majority_vote(neighbours(x, held, max(WIPO_AT_KS)), known, WIPO_AT_KS)
    macro = {k: float(f1_per_label(true, predicted).mean()) for k, predicted in votes.items()}
    best = max(macro, key=lambda k: (macro[k], -k))
    return KNN(macro, best, votes[best])
