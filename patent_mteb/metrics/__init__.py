"""Metrics as pure functions on NumPy arrays: retrieval measures, slices, InScope, geometry, significance.

No module imports mteb or torch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def embedding_matrix(values: ArrayLike, *, name: str = "embeddings", width: int | None = None) -> NDArray[np.floating]:
    """Convert ``values`` to a matrix of finite floating-point rows. Raises ValueError."""
    matrix = np.asarray(values)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float32 if matrix.dtype == np.float16 else np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{name} must be a matrix of at least one row and one column, got shape {matrix.shape}")
    if width is not None and matrix.shape[1] != width:
        raise ValueError(f"{name} have {matrix.shape[1]} dimensions, expected {width}")
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{name} have NaN or infinite values in {np.sum(~finite)} of {len(matrix)} rows, first in row"
            f" {np.argmin(finite)}"
        )
    return matrix
