"""Vectors that depend on the other texts of a call, of encoders that mix up, share or cut texts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patent_mteb.errors import ModelError
from patent_mteb.store.batches import as_array, as_matrix

LARGEST = 0.1  # largest relative distance within a run that may be noise
TOLERANCES = {"torch.float16": 0.01, "torch.bfloat16": 0.05, "float16": 0.01, "int8": 0.05}
"""Largest relative distance that is rounding, by number type."""
_TOLERANCE = 1e-3  # between a text alone and in a batch, of number types without an entry in TOLERANCES
_LARGE = 64  # texts of a call, a usual batch; the fixed texts of the canaries show the faults of smaller ones
_AGAIN = 4  # texts that are encoded again
_COMPARED = 512  # texts whose vectors are compared with each other
logger = logging.getLogger(__name__)


def tolerance_of(types: Iterable[str]) -> float:
    """Relative distance that is rounding for vectors in these number types."""
    return max(TOLERANCES.get(one, _TOLERANCE) for one in types)


def largest_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return the largest relative distance of two encodings, [texts, width] each."""
    ours, theirs = np.asarray(first, np.float64), np.asarray(second, np.float64)
    longer = np.maximum(np.linalg.norm(ours, axis=1), np.linalg.norm(theirs, axis=1))
    apart = np.linalg.norm(ours - theirs, axis=1)
    return float((apart / np.where(longer > 0, longer, 1.0)).max(initial=0))


def refuse_company(distance: float, name: str) -> None:
    """Refuse an encoder that gives a text another vector, at a relative distance, in another call."""
    if distance > LARGEST:
        raise ModelError(
            f"{name} gives a text another vector in another call, with other texts or in another order (relative"
            f" distance up to {distance:.2g})",
            remedy=(
                "return new arrays in the order of the texts, each vector computed from its own text without"
                " chance (model.eval())"
            ),
        )


def check_company(
    vectors: Any,
    texts: Callable[[NDArray[np.int64]], Sequence[str]],
    encode: Callable[[NDArray[np.int64]], Any],
    name: str,
) -> None:
    """Encode some texts of a large call again, by their rows, and compare: the last, two between, and the first.

    A warning says how many different texts have the same vector, as with a cache by a part of the text.
    """
    if len(vectors) <= _LARGE:
        return
    shown = np.unique(np.linspace(0, len(vectors) - 1, _COMPARED).astype(np.int64))
    different = len(set(texts(shown)))
    distinct = len({row.tobytes() for row in as_array(vectors[shown.tolist()])})
    if different - distinct > LARGEST * different:
        message = "%s gave %d different vectors for %d different texts: its score may be meaningless"
        logger.warning(message, name, distinct, different)
    rows = np.linspace(len(vectors) - 1, 0, _AGAIN).astype(np.int64)
    kept = np.array(as_array(vectors[rows.tolist()]))
    if kept.dtype.kind != "f":  # codes of quantised vectors may differ where vectors are equal but for rounding
        return
    again = as_array(as_matrix(encode(rows), len(rows), name))
    if again.shape != kept.shape:
        raise ModelError(f"{name} gave vectors of {kept.shape[1]} dimensions, and of {again.shape[1]} in another call")
    refuse_company(largest_distance(kept, again), name)
