"""Fusion of two rankings: interpolation of normalised scores, and RRF.

* :class:`Linear` (WIPO-AT §3.3.2, equation 1): ``alpha * second + (1 - alpha) * first`` of scores that are min-max
  normalised for each query over the documents that a system returned. ``second`` is the dense system.
* :class:`RRF`, reciprocal rank fusion (WIPO-AT equation 2; DAPFAM §5.5): the sum of ``1 / (k + rank)`` over both
  systems, ranks from 1. DAPFAM uses k = 60 for documents and k = 30 for passages, out of 10, 30, 60 and 100.

A document that only one system returned gets nothing from the other. If all documents of a system have the same score,
each gets 1, so that they differ from documents that were not found. (ranx gives 0, mteb's HybridSearch 0.5.) Each
system ranks ``depth`` documents regardless of the task, so that a score does not depend on the largest cut-off of the
task. Hidden documents are excluded before normalisation, because they would compress all other scores. Fused scores are
summed in double and stored in single precision, so that sums that differ only by rounding are equal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from datasets import Dataset
from mteb.models import MTEBModels
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.identity import compose_meta, count, number
from patent_mteb.metrics.measures import JudgedRanks, Judgements, QueryScores, ranks_of
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.cache import Cached, RunCache
from patent_mteb.search.engine import engine
from patent_mteb.search.run import Run
from patent_mteb.search.vectors import slices_of

MOST = 1e6
"""Largest k of RRF. Scores are single precision: above k + rank = 2**23, those of neighbouring ranks are equal."""


@dataclass(frozen=True)
class Linear:
    """Interpolation; ``alpha`` is the weight of the second system, 0 to 1."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", number("alpha", self.alpha, 1))

    @property
    def tag(self) -> str:
        return f"linear-{self.alpha:g}"

    @property
    def settings(self) -> dict[str, Any]:
        return {"method": "linear", "alpha": self.alpha}


@dataclass(frozen=True)
class RRF:
    """Reciprocal rank fusion; a larger ``k``, 0 to 1,000,000, gives less weight to the first ranks."""

    k: float = 60

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", number("k of reciprocal rank fusion", self.k, MOST))

    @property
    def tag(self) -> str:
        return f"rrf-{self.k:g}"

    @property
    def settings(self) -> dict[str, Any]:
        return {"method": "rrf", "k": self.k}


Fusion = Linear | RRF


def min_max(run: Run) -> NDArray[np.float64]:
    """Scores [Q, depth] of each query scaled to 0 (worst) to 1 (best, and all equal scores); 0 where empty."""
    present, scores = run.docs >= 0, run.scores.astype(np.float64)
    worst = np.where(present, scores, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    best = np.where(present, scores, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    span = np.where(best > worst, best - worst, 1.0)
    scaled = np.where(best > worst, (scores - worst) / span, 1.0)
    return np.where(present, scaled, 0.0)


def check_same(first: Run, second: Run) -> None:
    same_corpus = first.doc_ids is second.doc_ids or first.doc_ids == second.doc_ids
    if first.query_ids != second.query_ids or not same_corpus:
        raise ModelError("two rankings can only be fused if they are of the same queries over the same corpus")


@dataclass(frozen=True)
class Matched:
    """Two runs with their documents matched, once for all settings."""

    first: Run
    second: Run
    at: NDArray[np.intp]  # [Q, depth of first] position of each document in the second run, else the second's depth
    lone: NDArray[np.intp]  # [Q, most of a query] positions of the second run's other documents, else its depth

    @classmethod
    def of(cls, first: Run, second: Run) -> Matched:
        check_same(first, second)
        absent, ours, theirs = second.depth, first.docs.astype(np.intp), second.docs.astype(np.intp)
        at = np.full(ours.shape, absent, np.intp)
        # The extra slot is for -1, the empty places of a ranking, which are never found.
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
        """[Q, depth of first + most of lone] documents of both runs, -1 where empty."""
        return np.concatenate([self.first.docs, _looked_up(self.second.docs, self.lone, -1)], axis=1)

    def scores(self, setting: Fusion) -> Callable[[slice], NDArray[np.float64]]:
        """Rows -> fused scores of ``docs`` under a setting, in double precision; -1 where empty."""
        depth = self.first.depth
        if isinstance(setting, RRF):
            by_rank, second = (1 / (setting.k + 1 + np.arange(run.depth)) for run in (self.first, self.second))
            found = np.append(second, 0.0)
        else:
            alpha, (first, matched, lone) = setting.alpha, self._scaled

        def fused(rows: slice) -> NDArray[np.float64]:
            values = np.empty(self.docs[rows].shape)
            ours, theirs = values[:, :depth], values[:, depth:]
            if isinstance(setting, RRF):
                np.add(found[self.at[rows]], by_rank, out=ours)
                theirs[:] = found[self.lone[rows]]
            else:
                np.multiply(first[rows], 1 - alpha, out=ours)
                ours += matched[rows] * alpha
                np.multiply(lone[rows], alpha, out=theirs)
            np.copyto(values, -1.0, where=self.docs[rows] < 0)
            return values

        return fused

    @cached_property
    def _scaled(self) -> tuple[NDArray[np.float64], ...]:
        first, second = min_max(self.first), min_max(self.second)
        return first, _looked_up(second, self.at, 0.0), _looked_up(second, self.lone, 0.0)


def _looked_up(values: NDArray[Any], places: NDArray[np.intp], absent: Any) -> Any:
    """[Q, places] values of each query at places, ``absent`` beyond its last one."""
    return np.take_along_axis(np.pad(values, ((0, 0), (0, 1)), constant_values=absent), places, axis=1)


_ROWS_AT_ONCE = 64  # queries that a thread ranks at a time
_LAST = np.int32(0x7FFFFFFF)


def _ranked(pair: Matched, setting: Fusion, top_k: int, threads: int) -> Run:
    """Rank by one integer for each document."""
    width, fused = pair.docs.shape[1], pair.scores(setting)
    kept = min(top_k, width)
    docs = np.full((len(pair.docs), kept), -1, np.int32)
    scores = np.zeros(docs.shape, np.float32)

    def rank(rows: slice) -> None:
        keys = np.empty((len(docs[rows]), width), "<i8")  # upper half: bits of the score; lower half: inverted number
        np.subtract(_LAST, pair.docs[rows], out=keys.view("<i4")[:, ::2])
        keys.view("<f4")[:, 1::2] = fused(rows)
        if kept < width:
            keys.partition(width - kept, axis=1)
        best = np.ascontiguousarray(np.sort(keys[:, width - kept :], axis=1)[:, ::-1])
        np.subtract(_LAST, best.view("<i4")[:, ::2], out=docs[rows])
        scores[rows] = best.view("<f4")[:, 1::2]
        if (best[:, -1:] < 0).any():
            np.putmask(docs[rows], best < 0, -1)
            np.putmask(scores[rows], best < 0, 0.0)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(rank, slices_of(len(docs), _ROWS_AT_ONCE)))
    return Run(pair.first.query_ids, pair.first.doc_ids, docs, scores).trimmed()


def sweep(
    first: Run, second: Run, settings: Sequence[Fusion], top_k: int = 1000, threads: int | None = None
) -> Iterator[Run]:
    """Fuse two runs under many settings; common work is done once."""
    pair = Matched.of(first, second)
    for setting in settings:
        yield _ranked(pair, setting, top_k, threads or os.cpu_count() or 1)


def fuse(first: Run, second: Run, setting: Fusion, top_k: int = 1000) -> Run:
    return next(sweep(first, second, [setting], top_k))


def _setting(method: str, alpha: float | None, k: float | None) -> Fusion:
    if method == "linear" and k is not None:
        raise ValueError("k belongs to the method 'rrf', the method 'linear' has alpha")
    if method == "rrf" and alpha is not None:
        raise ValueError("alpha belongs to the method 'linear', the method 'rrf' has k")
    if method == "linear":
        return Linear() if alpha is None else Linear(alpha)
    if method == "rrf":
        return RRF() if k is None else RRF(k)
    raise ValueError(f"unknown fusion {method!r}: choose 'linear' or 'rrf'")


class Hybrid(ArraySearch):
    """Two search models fused: ``Hybrid(bm25("dapfam"), encoder, alpha=0.7)``.

    Args:
        first: any mteb model, the lexical one where there is one.
        second: any mteb model, the dense one; ``alpha`` is its weight.
        method: "linear" or "rrf".
        alpha: of the method "linear", 0.5 by default (0.7 is best for four of five models in WIPO-AT).
        k: of the method "rrf", 60 by default.
        depth: documents that each system ranks.
    """

    hides = True

    def __init__(
        self,
        first: MTEBModels,
        second: MTEBModels,
        method: str = "linear",
        *,
        alpha: float | None = None,
        k: float | None = None,
        depth: int = 1000,
    ) -> None:
        self.fusion = _setting(method, alpha, k)
        self.depth = count("depth", depth)
        self._systems = (engine(first), engine(second))
        parts, settings = [first.mteb_model_meta, second.mteb_model_meta], {**self.fusion.settings, "depth": depth}
        self.mteb_model_meta = compose_meta("hybrid", parts, settings, tag=self.fusion.tag)

    @classmethod
    def sweep(
        cls,
        first: MTEBModels,
        second: MTEBModels,
        settings: Sequence[Fusion],
        *,
        depth: int = 1000,
        cache: RunCache | None = None,
    ) -> list[Hybrid]:
        """One model a setting, each with its own identity; each system runs once a task (``cache``)."""
        cache = cache or RunCache()
        systems = Cached(first, cache), Cached(second, cache)
        return [cls(*systems, **setting.settings, depth=depth) for setting in settings]

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        for system in self._systems:
            system.ensure_indexed(self.corpus, context)
        first, second = (system.rank(queries, self.depth, context) for system in self._systems)
        return fuse(first, second, self.fusion, top_k)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """Rank each system once; fuse the rankings with and without hidden documents."""
        for system in self._systems:
            system.ensure_indexed(self.corpus, context)
        first, second = (system.rank_both(queries, self.depth, context) for system in self._systems)
        seen = fuse(first[0], second[0], self.fusion, top_k)
        return seen, fuse(first[1], second[1], self.fusion, top_k) if context.hidden else seen


def sweep_scores(
    first: Run,
    second: Run,
    settings: Sequence[Fusion],
    qrels: Mapping[str, Mapping[str, int]],
    measures: Sequence[str],
    top_k: int = 1000,
) -> list[QueryScores]:
    """Per-query scores of two runs under many settings, as of :func:`sweep`.

    Only the ranks of the judged documents are counted, without sorting: the documents with a higher fused score, and
    those with an equal score and a higher id.
    """
    number = {document: place for place, document in enumerate(first.doc_ids)}
    judged = Judgements.of(qrels, first.query_ids, number)
    scored = np.unique(judged.query[judged.gain > 0])
    queries = tuple(first.query_ids[row] for row in scored)
    ranked = [JudgedRanks.of(judged, ranks) for ranks in sweep_ranks(first, second, settings, judged, top_k)]
    return [QueryScores(queries, {measure: ranks.score(measure)[scored] for measure in measures}) for ranks in ranked]


def sweep_ranks(
    first: Run, second: Run, settings: Sequence[Fusion], judged: Judgements, top_k: int = 1000
) -> NDArray[np.int64]:
    """[settings, judged pairs] ranks of judged documents, from 1; 0 beyond ``top_k``."""
    check_same(first, second)
    second = replace(second, doc_ids=first.doc_ids)  # skips the comparison of equal lists
    ranks = np.zeros((len(settings), len(judged.query)), np.int64)
    order = np.argsort(judged.query, kind="stable")
    for start in range(0, len(first.query_ids), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        ends = np.searchsorted(judged.query[order], [start, start + _ROWS_AT_ONCE])
        pairs = order[slice(*ends)]
        part = Judgements(_ROWS_AT_ONCE, judged.query[pairs] - start, judged.document[pairs], judged.gain[pairs])
        some = (Run(run.query_ids[rows], run.doc_ids, run.docs[rows], run.scores[rows]) for run in (first, second))
        ranks[:, pairs] = _counted(Matched.of(*some), settings, part, top_k)
    return ranks


def _counted(pair: Matched, settings: Sequence[Fusion], judged: Judgements, top_k: int) -> NDArray[np.int64]:
    """[settings, pairs] ranks of the judged documents of a few queries."""
    place = ranks_of(pair.docs, judged) - 1
    found = np.flatnonzero(place >= 0)
    query, document, place = judged.query[found], judged.document[found], place[found]
    ranks = np.zeros((len(settings), len(judged.query)), np.int64)
    for row, setting in enumerate(settings):
        fused = pair.scores(setting)(slice(None)).astype(np.float32)
        own = fused[query, place]
        ordered = _by_row(np.sort(fused, axis=1), np.arange(len(fused))[:, None]).ravel()
        lower, not_higher = (np.searchsorted(ordered, _by_row(own, query), side) for side in ("left", "right"))
        above = (query + 1) * fused.shape[1] - not_higher
        tied = np.flatnonzero(not_higher - lower > 1)
        level = fused[query[tied]] == own[tied, None]
        above[tied] += (level & (pair.docs[query[tied]] < document[tied, None])).sum(axis=1)
        ranks[row, found] = np.where(above < top_k, above + 1, 0)
    return ranks


def _by_row(scores: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Integers that sort by row, then by score, which must not be negative."""
    return scores.view(np.int32) + (rows << 32)
