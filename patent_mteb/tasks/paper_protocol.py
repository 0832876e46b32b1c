"""The papers' own protocol beside the suite's.

In the suite a patent never counts against itself: its own family has no place in its ranking and is no judgement. The
evaluators of the papers know no such rule: sentence-transformers' ``InformationRetrievalEvaluator`` (PatenTEB §5.1),
mteb's eighteen DAPFAM tasks, and the rankings over "all corpus embeddings" of WIPO-AT §3.3.1. Every retrieval task of a
paper therefore files, from the same search, the scores of the ranking with nothing hidden as ``paper_...``, always,
also where no query has a document to hide: what compares with a printed number reads one name in every result. They are
mteb's scores (:func:`patent_mteb.metrics.measures.mean_scores`, rounded as there) and the measures of each slice;
``paper_n_queries`` counts the queries. A report takes ``paper`` and ``paper_<slice>`` for slices, so that they are no
tasks and in no mean.

A query whose only relevant document is itself is scored by neither, because the suite has nothing to find for it and
never searches it; the papers' evaluators score it. The log counts such queries (:func:`only_themselves`): with any,
``paper_n_queries`` is less than the paper's by that number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patent_mteb.metrics.measures import Judged, mean_scores
from patent_mteb.metrics.slices import Qrels
from patent_mteb.search.run import Run

PREFIX = "paper"


def paper_scores(
    whole: Run, qrels: Qrels, slices: Mapping[str, Qrels], ks: Sequence[int], measures: Sequence[str]
) -> dict[str, float]:
    """``paper_<score>`` and ``paper_<slice>_<measure>`` of a ranking in which nothing is hidden."""
    judged = Judged(whole.docs, qrels, whole.query_ids, whole.doc_ids)
    found: dict[str, float] = {f"{PREFIX}_n_queries": len(whole.query_ids)}
    found |= {f"{PREFIX}_{name}": value for name, value in mean_scores(judged.all(), ks).items()}
    for name, part in slices.items():
        scores = judged.scores(measures, part)
        found[f"{PREFIX}_{name}_n_queries"] = len(scores.queries)
        found |= {f"{PREFIX}_{name}_{measure.replace('@', '_at_')}": mean for measure, mean in scores.means().items()}
    return found


def only_themselves(qrels: Qrels) -> list[str]:
    """The queries whose only relevant document is themselves, in order."""
    relevant = {query: {document for document, gain in judged.items() if gain > 0} for query, judged in qrels.items()}
    return sorted(query for query, documents in relevant.items() if documents == {query})


def without_self(qrels: Qrels) -> Qrels:
    """The judgements without those of a query on itself."""
    return {
        query: {document: gain for document, gain in judged.items() if document != query}
        for query, judged in qrels.items()
    }
