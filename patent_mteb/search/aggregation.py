"""From the scores of passages to the score of a document (DAPFAM §5.4, equations 3 to 6; first-P of Dai and Callan 2019).

Every function takes ``scores`` [..., P] of all passages, document after document, and ``starts`` [D], the position of each
document's first passage (ascending, the first is 0, every document has at least one passage), and returns [..., D] in the type
of the scores; sums are formed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AGGREGATES", "aggregate"]

Scores = NDArray[np.floating[Any]]
Starts = NDArray[np.integer[Any]]


def _lengths(scores: Scores, starts: Starts) -> NDArray[np.int64]:
    return np.diff(starts, append=scores.shape[-1]).astype(np.int64)


def _max(scores: Scores, starts: Starts) -> Scores:
    """Equation 3: the best passage."""
    return np.maximum.reduceat(scores, starts, axis=-1)


def _sum(scores: Scores, starts: Starts) -> Scores:
    """Equation 6: all passages added up."""
    return np.add.reduceat(scores, starts, axis=-1, dtype=np.float64)


def _mean(scores: Scores, starts: Starts) -> Scores:
    """Equation 5: the mean of all passages."""
    return _sum(scores, starts) / _lengths(scores, starts)


def _mean_of_top3(scores: Scores, starts: Starts) -> Scores:
    """Equation 4: the mean of the three best passages; of two or one, where a document has no more.

    Equation 4 divides by three always, which would rank a document of one passage below one with three mediocre ones;
    averaging what there is follows the description beside it ("averages the three highest-scoring passages").
    """
    lengths = _lengths(scores, starts)
    best = np.full((3, *scores.shape[:-1], len(starts)), -np.inf, scores.dtype)
    for position in range(int(lengths.max(initial=0))):
        live = np.flatnonzero(lengths > position)
        rest = scores[..., starts[live] + position]
        for place in range(3):
            held = best[place][..., live]
            best[place][..., live] = np.maximum(held, rest)
            rest = np.minimum(held, rest)
    best[1][..., lengths < 2] = 0
    best[2][..., lengths < 3] = 0
    return best.sum(axis=0, dtype=np.float64) / np.minimum(lengths, 3)  # type: ignore[no-any-return]


def _first(scores: Scores, starts: Starts) -> Scores:
    """The first passage."""
    return scores[..., starts]


AGGREGATES: dict[str, Callable[[Scores, Starts], Scores]] = {
    "maxP": _max,
    "avg_top3": _mean_of_top3,
    "avgP": _mean,
    "sumP": _sum,
    "firstP": _first,
}
"""The aggregations by name."""


def aggregate(name: str, scores: Scores, starts: Starts) -> Scores:
    """Scores [..., D] of documents from the scores [..., P] of their passages.

    Raises:
        ValueError: an unknown aggregation, or a document without passages.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.search.aggregation import aggregate
        >>> aggregate("maxP", np.array([0.2, 0.9, 0.5]), starts=np.array([0, 2]))  # passages 0 and 1, then passage 2
        array([0.9, 0.5])
    """
    if name not in AGGREGATES:
        raise ValueError(f"unknown aggregation {name!r}: choose one of {', '.join(AGGREGATES)}")
    if len(starts) and (starts[0] != 0 or (_lengths(scores, starts) < 1).any()):
        raise ValueError("every document needs at least one passage, and the passages must start with those of the first document")
    if not len(starts):
        return np.empty((*scores.shape[:-1], 0), scores.dtype)
    return AGGREGATES[name](scores, starts).astype(scores.dtype, copy=False)
