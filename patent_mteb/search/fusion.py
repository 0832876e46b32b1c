"""Fusion of two rankings: linear interpolation of min-max normalised scores, and reciprocal rank fusion (RRF).

* :class:`Linear` (WIPO-AT §3.3.2, equation 1): ``alpha * second + (1 - alpha) * first``. ``first`` is the lexical system, ``second``
  the dense one, so alpha is the weight of the dense system. Each system's scores are normalised query by query over the documents
  that it returned: its best document gets 1, its worst 0.
* :class:`RRF` (WIPO-AT equation 2; DAPFAM §5.5): the sum of ``1 / (k + rank)`` over both systems, ranks from 1. DAPFAM takes
  k = 60 for documents and k = 30 for passages, out of 10, 30, 60 and 100.

**A document that only one system returned** gets nothing from the other: no summand in RRF, 0 in the interpolation, which is what
the worst returned document gets too. If all documents that a system returned have one score (a single one, for example), each gets
1: they are its best, and being found must not count as little as not being found. (ranx gives them 0, mteb's HybridSearch 0.5.)
Ranks among equal scores go by document id, descending, as in mteb.

**Depth.** Each system ranks ``depth`` documents (1,000 by default), however many the task asks for, so that a score does not depend
on the task's largest cut-off; the minimum of the normalisation is thus the score at that depth. The papers state none. A task that
asks for more than ``depth`` documents gets those that either system returned.

**A query's own family**, where it must not be ranked, has to be left out before normalisation (it would be the best document of
both systems and compress all others): both systems get the search's context, which hides it.

Fused scores are summed in double and kept in single precision, as those of every run, so that sums which differ only by rounding
count as equal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from patent_mteb.identity import compose_meta
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.cache import Cached, RunCache
from patent_mteb.search.engine import engine
from patent_mteb.search.matched import RRF, Fusion, Linear, Matched, min_max
from patent_mteb.search.run import Run

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.models import MTEBModels

__all__ = ["RRF", "Fusion", "Hybrid", "Linear", "fuse", "min_max", "sweep"]

_ROWS_AT_ONCE = 64
_LAST = np.int32(0x7FFFFFFF)


def _ranked(pair: Matched, setting: Fusion, top_k: int, threads: int) -> Run:
    """Rank by one integer for each document: the bits of its score, which sort like the score itself, then its number, reversed.

    Above are the bits of the score (of -1 for what does not count, which is below all others), below the number.
    """
    width, fused = pair.docs.shape[1], pair.scores(setting)
    kept = min(top_k, width)
    docs = np.full((len(pair.docs), kept), -1, np.int32)
    scores = np.zeros(docs.shape, np.float32)

    def rank(start: int) -> None:
        rows = slice(start, start + _ROWS_AT_ONCE)
        keys = np.empty((len(docs[rows]), width), "<i8")
        np.subtract(_LAST, pair.docs[rows], out=_numbers(keys))
        _scores(keys)[:] = fused(rows)
        if kept < width:
            keys.partition(width - kept, axis=1)
        best = np.ascontiguousarray(np.sort(keys[:, width - kept :], axis=1)[:, ::-1])
        np.subtract(_LAST, _numbers(best), out=docs[rows])
        scores[rows] = _scores(best)
        if (best[:, -1:] < 0).any():
            np.putmask(docs[rows], best < 0, -1)
            np.putmask(scores[rows], best < 0, 0.0)

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(rank, range(0, len(docs), _ROWS_AT_ONCE)):
            pass
    filled = int((docs >= 0).sum(axis=1).max(initial=0))
    return Run(pair.first.query_ids, pair.first.doc_ids, docs[:, :filled], scores[:, :filled])


def _numbers(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """The lower halves of keys, to be read and written."""
    return keys.view("<i4")[:, ::2]


def _scores(keys: NDArray[np.int64]) -> NDArray[np.float32]:
    """Their upper halves as single precision."""
    return keys.view("<f4")[:, 1::2]


def sweep(first: Run, second: Run, settings: Sequence[Fusion], top_k: int = 1000, threads: int | None = None) -> Iterator[Run]:
    """Fuse two runs under many settings; what the settings have in common is computed once.

    Where only measures are asked for, :func:`patent_mteb.search.swept_ranks.sweep_scores` gives them without the rankings.

    Args:
        first: the lexical run, whose weight is ``1 - alpha``.
        second: the dense run, whose weight is ``alpha``.
        settings: :class:`Linear` and :class:`RRF` in any order.
        top_k: documents to keep for each query.
        threads: all cores by default.

    Yields:
        One run a setting, in the order of the settings.

    Raises:
        ModelError: the runs are of different queries or corpora.

    Example:
        >>> from patent_mteb.search.fusion import Linear, sweep
        >>> from patent_mteb.search.run import Run
        >>> lexical, dense = Run.from_dict({"q": {"a": 9.0, "b": 1.0}}), Run.from_dict({"q": {"a": 0.1, "b": 0.9}})
        >>> [run.ranking("q")[0] for run in sweep(lexical, dense, [Linear(0.25), Linear(0.75)])]
        [('a', 0.75), ('b', 0.75)]
    """
    pair = Matched.of(first, second)
    for setting in settings:
        yield _ranked(pair, setting, top_k, threads or os.cpu_count() or 1)


def fuse(first: Run, second: Run, setting: Fusion, top_k: int = 1000) -> Run:
    """Fuse two runs under one setting; see :func:`sweep`.

    Example:
        >>> from patent_mteb.search.fusion import Linear, fuse
        >>> from patent_mteb.search.run import Run
        >>> lexical, dense = Run.from_dict({"q": {"a": 9.0, "b": 1.0}}), Run.from_dict({"q": {"a": 0.1, "b": 0.9}})
        >>> fuse(lexical, dense, Linear(0.75)).ranking("q")
        [('b', 0.75), ('a', 0.25)]
    """
    return next(sweep(first, second, [setting], top_k))


def _setting(method: str, alpha: float | None, k: float | None) -> Fusion:
    if method == "linear":
        if k is not None:
            raise ValueError("k belongs to the method 'rrf', the method 'linear' has alpha")
        return Linear() if alpha is None else Linear(alpha)
    if method == "rrf":
        if alpha is not None:
            raise ValueError("alpha belongs to the method 'linear', the method 'rrf' has k")
        return RRF() if k is None else RRF(k)
    raise ValueError(f"unknown fusion {method!r}: choose 'linear' or 'rrf'")


class Hybrid(ArraySearch):
    """Two search models fused into one: ``Hybrid(bm25("dapfam"), encoder, alpha=0.7)``.

    Args:
        first: any mteb model, the lexical one where there is one; encoders are wrapped as mteb does.
        second: any mteb model, the dense one; ``alpha`` is its weight.
        method: "linear" or "rrf".
        alpha: of the method "linear", 0.5 if not given (WIPO-AT finds 0.7 best for four of five models).
        k: of the method "rrf", 60 if not given.
        depth: documents that each system ranks.

    Example:
        >>> import patent_mteb
        >>> from patent_mteb.models import Hybrid, bm25
        >>> model = Hybrid(bm25("dapfam"), bm25("bm25s"), alpha=0.7)
        >>> model.mteb_model_meta.name
        'hybrid/linear-0.7-bm25-dapfam+bm25-bm25s'
        >>> len(patent_mteb.rank(model, "PatentMapAbsToAbsRetrieval.sample").query_ids)
        25
    """

    hides = True
    gates = True

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
        if depth < 1:
            raise ValueError(f"depth is a number of documents, not {depth}")
        self.fusion = _setting(method, alpha, k)
        self.depth = depth
        self._systems = (engine(first), engine(second))
        parts = [first.mteb_model_meta, second.mteb_model_meta]
        self.mteb_model_meta = compose_meta("hybrid", parts, {**self.fusion.settings, "depth": depth}, tag=self.fusion.tag)

    @classmethod
    def sweep(
        cls, first: MTEBModels, second: MTEBModels, settings: Sequence[Fusion], *, depth: int = 1000, cache: RunCache | None = None
    ) -> list[Hybrid]:
        """One model a setting, each with its own identity, that share the rankings of the two systems: each system runs once a task.

        Args:
            first: see the class.
            second: see the class.
            settings: :class:`Linear` and :class:`RRF`.
            depth: see the class.
            cache: where the rankings are kept; by default in memory, as long as the models live.
        """
        cache = cache or RunCache()
        systems = Cached(first, cache), Cached(second, cache)
        return [cls(*systems, **setting.settings, depth=depth) for setting in settings]

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        for system in self._systems:
            system.ensure_indexed(self.corpus, context)
        first, second = (system.rank(queries, self.depth, context) for system in self._systems)
        return fuse(first, second, self.fusion, top_k)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """Each system ranks once; its rankings with and without hidden documents are fused apart."""
        for system in self._systems:
            system.ensure_indexed(self.corpus, context)
        first, second = (system.rank_both(queries, self.depth, context) for system in self._systems)
        seen = fuse(first[0], second[0], self.fusion, top_k)
        return seen, fuse(first[1], second[1], self.fusion, top_k) if context.hidden else seen
