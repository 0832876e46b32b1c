"""Two rankings matched document by document, and what each document gets under a fusion; the formulas are in :mod:`.fusion`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.search.run import Run

__all__ = ["RRF", "Fusion", "Linear", "Matched", "check_same", "min_max"]


@dataclass(frozen=True)
class Linear:
    """Interpolation; ``alpha`` from 0 (only the first system counts) to 1 (only the second)."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha is a weight from 0 to 1, not {self.alpha}")

    @property
    def tag(self) -> str:
        return f"linear-{self.alpha:g}"

    @property
    def settings(self) -> dict[str, Any]:
        return {"method": "linear", "alpha": float(self.alpha)}


@dataclass(frozen=True)
class RRF:
    """Reciprocal rank fusion; the larger ``k``, the less the first ranks stand out."""

    k: float = 60

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ValueError(f"k of reciprocal rank fusion is not negative, as {self.k} is")

    @property
    def tag(self) -> str:
        return f"rrf-{self.k:g}"

    @property
    def settings(self) -> dict[str, Any]:
        return {"method": "rrf", "k": float(self.k)}


Fusion = Linear | RRF


def min_max(run: Run) -> NDArray[np.float64]:
    """Scores [Q, depth] of each query on a scale from 0 (its worst returned document) to 1 (its best); 0 behind the last one.

    Where all scores of a query are equal, each is 1.

    Example:
        >>> from patent_mteb.search.fusion import min_max
        >>> from patent_mteb.search.run import Run
        >>> min_max(Run.from_dict({"q": {"a": 9.0, "b": 7.0, "c": 1.0}}))
        array([[1.  , 0.75, 0.  ]])
    """
    present, scores = run.docs >= 0, run.scores.astype(np.float64)
    worst = np.where(present, scores, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    best = np.where(present, scores, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    span = np.where(best > worst, best - worst, 1.0)
    scaled = np.where(best > worst, (scores - worst) / span, 1.0)
    return np.where(present, scaled, 0.0)


def check_same(first: Run, second: Run) -> None:
    """Whether two runs can be fused.

    Raises:
        ModelError: they are of different queries or corpora.

    Example:
        >>> from patent_mteb.search.matched import check_same
        >>> from patent_mteb.search.run import Run
        >>> check_same(Run.from_dict({"q": {"a": 9.0}}), Run.from_dict({"q": {"a": 0.5}}))
    """
    same_corpus = first.doc_ids is second.doc_ids or first.doc_ids == second.doc_ids
    if first.query_ids != second.query_ids or not same_corpus:
        raise ModelError("two rankings can only be fused if they are of the same queries over the same corpus")


Scores = Callable[[slice], NDArray[np.float64]]
"""Rows -> the fused scores of the documents of :attr:`Matched.docs`, which are not negative; -1 where there is none."""

_Parts = Callable[[slice, NDArray[np.float64], NDArray[np.float64]], None]
"""Fills in the scores of the first run's documents and of those that only the second holds."""


@dataclass(frozen=True)
class Matched:
    """Two runs with their documents matched, once for all settings.

    Attributes:
        first: the lexical run, whose weight is ``1 - alpha``.
        second: the dense run, whose weight is ``alpha``.
        at: [Q, depth of first] the position of a document of the first run in the second, whose depth if it is not there.
        lone: [Q, most of a query] positions of the documents that only the second run holds, its depth behind the last.

    Example:
        >>> from patent_mteb.search.matched import Linear, Matched
        >>> from patent_mteb.search.run import Run
        >>> first = Run.from_dict({"q": {"c": 3.0, "b": 1.0}}, doc_ids=["c", "b", "a"])
        >>> pair = Matched.of(first, Run.from_dict({"q": {"a": 0.9, "c": 0.1}}, doc_ids=["c", "b", "a"]))
        >>> pair.docs.tolist(), pair.at.tolist(), pair.lone.tolist()
        ([[0, 1, 2]], [[1, 2]], [[0]])
        >>> pair.scores(Linear(0.25))(slice(0, 1))
        array([[0.75, 0.  , 0.25]])
    """

    first: Run
    second: Run
    at: NDArray[np.intp]
    lone: NDArray[np.intp]

    @classmethod
    def of(cls, first: Run, second: Run) -> Matched:
        """Match two runs.

        Raises:
            ModelError: the runs are of different queries or corpora.
        """
        check_same(first, second)
        absent, ours, theirs = second.depth, first.docs.astype(np.intp), second.docs.astype(np.intp)
        at = np.full(ours.shape, absent, np.intp)
        # One slot more than there are documents: -1, behind the end of a ranking, is looked up there and found absent.
        position = np.full(len(first.doc_ids) + 1, absent, np.intp)
        ranks = np.arange(absent)
        for row, found in enumerate(theirs):
            position[found] = ranks
            position[-1] = absent
            position.take(ours[row], out=at[row], mode="wrap")
            position[found] = absent
        alone = np.pad(theirs >= 0, ((0, 0), (0, 1)))
        np.put_along_axis(alone, at, False, axis=1)
        counts = alone.sum(axis=1)
        lone = np.full((len(theirs), int(counts.max(initial=0))), absent, np.intp)
        lone[np.arange(lone.shape[1]) < counts[:, None]] = np.nonzero(alone)[1]
        return cls(first, second, at, lone)

    @cached_property
    def docs(self) -> NDArray[np.int32]:
        """[Q, depth of first + most of lone] the documents of both runs, each once, -1 where there is none."""
        return np.concatenate([self.first.docs, _looked_up(self.second.docs, self.lone, -1)], axis=1)

    @cached_property
    def _empty(self) -> NDArray[np.bool_]:
        return self.docs < 0

    def scores(self, setting: Fusion) -> Scores:
        """The fused scores under a setting, in double precision."""
        depth, parts = self.first.depth, self._by_rank(setting.k) if isinstance(setting, RRF) else self._weighted(setting.alpha)

        def fused(rows: slice) -> NDArray[np.float64]:
            values = np.empty(self.docs[rows].shape)
            parts(rows, values[:, :depth], values[:, depth:])
            np.copyto(values, -1.0, where=self._empty[rows])
            return values

        return fused

    @cached_property
    def _scaled(self) -> tuple[NDArray[np.float64], ...]:
        first, second = min_max(self.first), min_max(self.second)
        return first, _looked_up(second, self.at, 0.0), _looked_up(second, self.lone, 0.0)

    def _weighted(self, alpha: float) -> _Parts:
        first, matched, lone = self._scaled

        def fill(rows: slice, ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> None:
            np.multiply(first[rows], 1 - alpha, out=ours)
            ours += matched[rows] * alpha
            np.multiply(lone[rows], alpha, out=theirs)

        return fill

    def _by_rank(self, k: float) -> _Parts:
        first, second = (1 / (k + 1 + np.arange(run.depth)) for run in (self.first, self.second))
        found = np.append(second, 0.0)

        def fill(rows: slice, ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> None:
            np.add(found[self.at[rows]], first, out=ours)
            theirs[:] = found[self.lone[rows]]

        return fill


def _looked_up(values: NDArray[Any], places: NDArray[np.intp], absent: Any) -> Any:
    """[Q, places] the values of each query at places, ``absent`` behind its last one."""
    return np.take_along_axis(np.pad(values, ((0, 0), (0, 1)), constant_values=absent), places, axis=1)
