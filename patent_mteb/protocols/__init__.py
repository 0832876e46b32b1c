"""Evaluation protocols for frozen embeddings: probes, neighbours, clustering, zero-shot scoring, and their intervals.

Labels of n documents over L classes are a boolean matrix [n, L], made by :func:`multi_hot`. The package does not import
mteb, and torch only where needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Labels = NDArray[np.bool_]


def multi_hot(label_sets: Sequence[Collection[str]], classes: Sequence[str]) -> Labels:
    """Return the labels of each document as a boolean matrix [n, L]."""
    column = {name: number for number, name in enumerate(classes)}
    if len(column) < len(classes):
        raise ValueError("the classes are not distinct")
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
