"""How well a model knows on which queries it should abstain.

**nAUC** (Gisserot-Boukhlef et al. 2024, arXiv 2402.12997): how well a confidence, computed from the scores of a query's ranking,
tells on which queries a model should abstain. The curve is the mean of a measure over the queries that remain when the least
confident 0 %, 10 %, ..., 90 % are left out; of the area under it 1 is what the best order gives and 0 what a random one gives. Three
confidences: the highest score (``max``), the standard deviation of the ranking's scores (``std``), and the distance between the
first two (``diff1``). Queries of equal confidence count with their mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["confidences", "nauc", "naucs", "starts_of_runs"]

Floats = NDArray[np.float64]

_ABSTENTION = np.linspace(0, 1, 11)[:-1]


def starts_of_runs(values: NDArray[Any]) -> NDArray[np.int64]:
    """Where a run of equal numbers begins.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.abstention import starts_of_runs
        >>> starts_of_runs(np.array([4, 4, 7, 7, 7, 1]))
        array([0, 2, 5])
    """
    return np.flatnonzero(np.diff(values, prepend=np.nan) != 0)


def confidences(docs: NDArray[np.integer], scores: NDArray[np.floating]) -> dict[str, Floats]:
    """[queries] the confidences ``max``, ``std`` and ``diff1`` of each ranking; 0 for an empty one.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.abstention import confidences
        >>> confidences(np.array([[0, 1]]), np.array([[3.0, 1.0]]))
        {'max': array([3.]), 'std': array([1.]), 'diff1': array([2.])}
    """
    lengths = (docs >= 0).sum(axis=1)
    found: dict[str, Floats] = {name: np.zeros(len(docs)) for name in ("max", "std", "diff1")}
    for length in np.unique(lengths[lengths > 0]):
        rows = lengths == length
        part = scores[rows, :length].astype(np.float64)
        found["max"][rows] = part[:, 0]
        found["std"][rows] = part.std(axis=1)
        if length > 1:
            found["diff1"][rows] = part[:, 0] - part[:, 1]
    return found


def _curves(confidence: Floats, values: Floats) -> Floats:
    """[measures, rates] mean of ``values`` [measures, queries] over the queries that remain at each rate of abstention.

    ``confidence`` [queries] is in ascending order, and ``values`` is in the same.
    """
    starts = starts_of_runs(confidence)
    sizes = np.diff(starts, append=len(confidence))
    smooth = np.repeat(np.add.reduceat(values, starts, axis=1) / sizes, sizes, axis=1)
    left_out = [min(round(rate * len(confidence)), len(confidence) - 1) for rate in _ABSTENTION]
    return np.stack([smooth[:, first:].mean(axis=1) for first in left_out], axis=1)


def _areas(curves: Floats) -> Floats:
    return np.asarray((np.diff(_ABSTENTION) * (curves[:, 1:] + curves[:, :-1]) / 2.0).sum(axis=1))


def naucs(confidence: Mapping[str, Floats], values: Mapping[str, Floats]) -> dict[str, float]:
    """nAUC of each measure [queries] and each confidence [queries], named ``nauc_<measure>_<confidence>``; NaN where all orders are equally
    good.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.abstention import naucs
        >>> naucs({"max": np.array([0.1, 0.2, 0.9])}, {"ndcg_at_10": np.array([0.0, 0.5, 1.0])})
        {'nauc_ndcg_at_10_max': 1.0}
    """
    columns = np.stack(list(values.values()))
    best = np.concatenate([_curves(column, column[None]) for column in np.sort(columns, axis=1)])
    flat = best[:, 0] * (_ABSTENTION[-1] - _ABSTENTION[0])
    gains = _areas(best) - flat
    shares = {}
    for name, column in confidence.items():
        order = np.argsort(column, kind="stable")
        areas = _areas(_curves(column[order], np.ascontiguousarray(columns[:, order])))
        shares[name] = [(area - least) / gain if gain != 0 else np.nan for area, least, gain in zip(areas, flat, gains, strict=True)]
    return {f"nauc_{measure}_{name}": float(shares[name][row]) for row, measure in enumerate(values) for name in confidence}


def nauc(confidence: Floats, values: Floats) -> float:
    """nAUC of one measure; NaN if all orders are equally good.

    Args:
        confidence: [queries]; values: [queries] the measure.

    Raises:
        ValueError: there is no query.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.abstention import nauc
        >>> nauc(np.array([0.1, 0.2, 0.9]), np.array([0.0, 0.5, 1.0]))  # the more confident, the better
        1.0
    """
    if not len(values):
        raise ValueError("nAUC needs at least one query")
    return naucs({"": confidence}, {"": values})["nauc__"]
