"""What a sweep over fusion settings is read for: where the relevant documents stand under each, without ranking all the others.

A measure depends on nothing but the ranks of the judged documents, and such a rank is a count: of the documents whose fused score is
higher, and of those with an equal score and a higher id. So one setting takes a few passes over the fused scores, not a sorting of
them; the ranks are those of :func:`~patent_mteb.search.fusion.sweep`, exactly. nAUC needs the scores of whole rankings, and a run that
is kept or shown needs the rankings: for these there is the sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from patent_mteb.metrics.measures import JudgedRanks, Judgements, QueryScores, ranks_of
from patent_mteb.search.matched import Fusion, Matched, check_same
from patent_mteb.search.run import Run

__all__ = ["sweep_ranks", "sweep_scores"]

_ROWS_AT_ONCE = 64


def sweep_scores(
    first: Run, second: Run, settings: Sequence[Fusion], qrels: Mapping[str, Mapping[str, int]], measures: Sequence[str], top_k: int = 1000
) -> list[QueryScores]:
    """Per-query scores of two runs fused under many settings, as of the rankings that :func:`~patent_mteb.search.fusion.sweep` gives.

    Args:
        first: the lexical run, whose weight is ``1 - alpha``.
        second: the dense run, whose weight is ``alpha``.
        settings: :class:`~patent_mteb.search.fusion.Linear` and :class:`~patent_mteb.search.fusion.RRF` in any order.
        qrels: the judgements; a query without a positive one has no score.
        measures: names such as ``ndcg@10`` (:data:`patent_mteb.metrics.measures.MEASURES`).
        top_k: documents of a fused ranking; what stands behind counts as not found.

    Returns:
        the scores under each setting, in the order of the settings.

    Raises:
        ModelError: the runs are of different queries or corpora.
        ValueError: a measure is unknown.

    Example:
        >>> from patent_mteb.search.fusion import Linear
        >>> from patent_mteb.search.run import Run
        >>> from patent_mteb.search.swept_ranks import sweep_scores
        >>> lexical, dense = Run.from_dict({"q": {"a": 9.0, "b": 1.0}}), Run.from_dict({"q": {"a": 0.1, "b": 0.9}})
        >>> found = sweep_scores(lexical, dense, [Linear(0.25), Linear(0.75)], {"q": {"a": 1}}, ["mrr@10"])
        >>> [scores.means()["mrr@10"] for scores in found]
        [1.0, 0.5]
    """
    number = {document: place for place, document in enumerate(first.doc_ids)}
    judged = Judgements.of(qrels, first.query_ids, number)
    scored = np.unique(judged.query[judged.gain > 0])
    queries = tuple(first.query_ids[row] for row in scored)
    ranked = [JudgedRanks.of(judged, ranks) for ranks in sweep_ranks(first, second, settings, judged, top_k)]
    return [QueryScores(queries, {measure: ranks.score(measure)[scored] for measure in measures}) for ranks in ranked]


def sweep_ranks(first: Run, second: Run, settings: Sequence[Fusion], judged: Judgements, top_k: int = 1000) -> NDArray[np.int64]:
    """[settings, judged pairs] the rank of each judged document under each setting, from 1; 0 if it is not among the first ``top_k``.

    Args:
        first: see :func:`sweep_scores`.
        second: see there.
        settings: see there.
        judged: pairs of numbers of queries and documents of the runs, in any order.
        top_k: see there.

    Raises:
        ModelError: the runs are of different queries or corpora.

    Example:
        >>> from patent_mteb.metrics.measures import Judgements
        >>> from patent_mteb.search.fusion import RRF
        >>> from patent_mteb.search.run import Run
        >>> from patent_mteb.search.swept_ranks import sweep_ranks
        >>> run = Run.from_dict({"q": {"a": 9.0, "b": 1.0}})
        >>> sweep_ranks(run, run, [RRF(60)], Judgements.of({"q": {"b": 1}}, ["q"], {"b": 0, "a": 1})).tolist()
        [[2]]
    """
    check_same(first, second)
    second = replace(second, doc_ids=first.doc_ids)  # the same list is not compared again
    ranks = np.zeros((len(settings), len(judged.query)), np.int64)
    order = np.argsort(judged.query, kind="stable")
    for start in range(0, len(first.query_ids), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        ends = np.searchsorted(judged.query[order], [start, start + _ROWS_AT_ONCE])
        pairs = order[slice(*ends)]
        part = Judgements(_ROWS_AT_ONCE, judged.query[pairs] - start, judged.document[pairs], judged.gain[pairs])
        ranks[:, pairs] = _counted(Matched.of(_some(first, rows), _some(second, rows)), settings, part, top_k)
    return ranks


def _some(run: Run, rows: slice) -> Run:
    return replace(run, query_ids=run.query_ids[rows], docs=run.docs[rows], scores=run.scores[rows], parts=None, first_stage=None)


def _counted(pair: Matched, settings: Sequence[Fusion], judged: Judgements, top_k: int) -> NDArray[np.int64]:
    """[settings, pairs] as :func:`sweep_ranks`, of a few queries."""
    place = ranks_of(pair.docs, judged) - 1
    found = np.flatnonzero(place >= 0)
    query, document, place = judged.query[found], judged.document[found], place[found]
    ranks = np.zeros((len(settings), len(judged.query)), np.int64)
    for number, setting in enumerate(settings):
        fused = pair.scores(setting)(slice(None)).astype(np.float32)
        own = fused[query, place]
        ordered = _by_row(np.sort(fused, axis=1), np.arange(len(fused))[:, None]).ravel()
        lower, not_higher = (np.searchsorted(ordered, _by_row(own, query), side) for side in ("left", "right"))
        above = (query + 1) * fused.shape[1] - not_higher
        tied = np.flatnonzero(not_higher - lower > 1)
        level = fused[query[tied]] == own[tied, None]
        above[tied] += (level & (pair.docs[query[tied]] < document[tied, None])).sum(axis=1)
        ranks[number, found] = np.where(above < top_k, above + 1, 0)
    return ranks


def _by_row(scores: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers that sort by row, then by score: the bits of a score that is not negative sort like the score."""
    return scores.view(np.int32) + (rows << 32)
