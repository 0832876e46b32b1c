"""Measures for collections that are judged in part only: how much of a ranking is judged, and what the judged documents alone say.

Nobody has looked at most documents of an open corpus; one that nobody cited may be relevant all the same.

* ``judged@k``: share of the first k documents that are judged, whatever the grade (of fewer than k, of as many as there are).
* ``bpref`` (Buckley & Voorhees 2004, doi 10.1145/1008992.1009000, as trec_eval computes it): of R relevant and N not relevant judged
  documents, the mean over the relevant ones of 1 - n / min(R, N), where n, at most R, counts the judged not relevant documents ranked
  above; 0 for one that was not retrieved, 1 for one with none above it. Unjudged documents play no part. Without a judged not relevant
  document it is the share of relevant ones that was retrieved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from patent_mteb.metrics.measures import Judgements, ranks_of

__all__ = ["bpref", "judged_share"]

Gains = Mapping[str, Mapping[str, int]]


def judged_share(docs: NDArray[np.integer], qrels: Gains, query_ids: Sequence[str], doc_ids: Sequence[str], k: int) -> NDArray[np.float64]:
    """[queries] ``judged@k``; 0 for an empty ranking.

    Args:
        docs: [queries, depth] numbers of documents, best first, -1 behind the last one.
        qrels: judgements of the queries, those that say not relevant (0) among them.
        query_ids: the queries of ``docs``.
        doc_ids: the documents that the numbers stand for.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.incomplete import judged_share
        >>> judged_share(np.array([[0, 1, 2]]), {"q": {"a": 1, "c": 0}}, ["q"], ["a", "b", "c"], 2)
        array([0.5])
    """
    judgements = Judgements.of(qrels, query_ids, {document: place for place, document in enumerate(doc_ids)})
    ranks = ranks_of(docs[:, :k], judgements)
    found = np.bincount(judgements.query[ranks > 0], minlength=len(docs)).astype(np.float64)
    shown = (docs[:, :k] >= 0).sum(axis=1)
    share: NDArray[np.float64] = np.divide(found, shown, out=np.zeros(len(docs)), where=shown > 0)
    return share


def bpref(docs: NDArray[np.integer], qrels: Gains, query_ids: Sequence[str], doc_ids: Sequence[str], least: int = 1) -> NDArray[np.float64]:
    """[queries] ``bpref``; 0 for a query without a relevant document.

    Args:
        docs, qrels, query_ids, doc_ids: as in :func:`judged_share`.
        least: the smallest grade that is relevant; judged documents below are not.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.incomplete import bpref
        >>> bpref(np.array([[2, 1, 0]]), {"q": {"a": 1, "c": 0}}, ["q"], ["a", "b", "c"])  # c is judged not relevant, and stands first
        array([0.])
    """
    judgements = Judgements.of(qrels, query_ids, {document: place for place, document in enumerate(doc_ids)})
    ranks = ranks_of(docs, judgements)
    scores, ends = np.zeros(len(docs)), np.searchsorted(judgements.query, np.arange(len(docs) + 1))
    for row in range(len(docs)):
        own = slice(ends[row], ends[row + 1])
        relevant, rank = judgements.gain[own] >= least, ranks[own]
        n_relevant, n_other = int(relevant.sum()), int((~relevant).sum())
        found, others = rank[relevant & (rank > 0)], np.sort(rank[~relevant & (rank > 0)])
        if not n_relevant:
            continue
        above = np.minimum(np.searchsorted(others, found), n_relevant)
        lost = above / min(n_relevant, n_other) if n_other else np.zeros(len(found))
        scores[row] = float((1 - lost).sum()) / n_relevant
    return scores
