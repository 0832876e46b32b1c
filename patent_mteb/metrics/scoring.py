"""All scores of mteb's retrieval tasks, from rankings as arrays.

Names, definitions and rounding are those of mteb 2.26 (means of nDCG, MAP, recall, precision and hit rate rounded to five
decimals, MRR and nAUC not rounded), the order of documents too: trec_eval's measures compare scores as 32-bit floats and MRR as
64-bit ones; ties go by document id, descending. A query without positive judgements counts as 0.

**nAUC** (Gisserot-Boukhlef et al. 2024, arXiv 2402.12997): how well a confidence, computed from the scores of a query's ranking,
tells on which queries a model should abstain. The curve is the mean of a measure over the queries that remain when the least
confident 0 %, 10 %, ..., 90 % are left out; of the area under it 1 is what the best order gives and 0 what a random one gives. Three
confidences: the highest score (``max``), the standard deviation of the ranking's scores (``std``), and the distance between the
first two (``diff1``). Queries of equal confidence count with their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from patent_mteb.metrics.ranking import JudgedRanks

__all__ = ["Judgements", "confidences", "judged_ranks", "nauc", "per_query", "ranks_of", "retrieval_scores", "trec_order"]

Floats = NDArray[np.float64]

_ABSTENTION = np.linspace(0, 1, 11)[:-1]
_PAIRS = 1 << 16


@dataclass(frozen=True)
class Judgements:
    """Judged pairs, all of a task or those of a slice.

    Attributes:
        n_queries: number of queries.
        query: [pairs] number of the query.
        document: [pairs] number of the document, -1 if it is not in the corpus.
        gain: [pairs] as judged; what is not positive is not relevant.
    """

    n_queries: int
    query: NDArray[np.int64]
    document: NDArray[np.int64]
    gain: NDArray[np.int64]

    @classmethod
    def of(cls, qrels: Mapping[str, Mapping[str, int]], query_ids: Sequence[str], doc_ids: Sequence[str]) -> Judgements:
        """The judgements of these queries; a query that ``qrels`` lacks has none."""
        number = {document: place for place, document in enumerate(doc_ids)}
        judged = [qrels.get(query, {}) for query in query_ids]
        query = np.repeat(np.arange(len(judged)), [len(documents) for documents in judged])
        size = len(query)
        document = np.fromiter((number.get(name, -1) for documents in judged for name in documents), np.int64, size)
        gain = np.fromiter((gain for documents in judged for gain in documents.values()), np.int64, size)
        return cls(len(judged), query, document, gain)


def trec_order(docs: NDArray[np.integer], scores: Floats) -> NDArray[np.integer]:
    """Documents in the order of trec_eval: scores that are equal as 32-bit floats go by document.

    Args:
        docs: [queries, depth] numbers of documents in the descending order of their ids, -1 behind the last one; best first.
        scores: [queries, depth].
    """
    single = scores.astype(np.float32)
    swapped = (single[:, 1:] == single[:, :-1]) & (docs[:, 1:] < docs[:, :-1]) & (docs[:, 1:] >= 0)
    rows = np.flatnonzero(swapped.any(axis=1))
    if not len(rows):
        return docs
    ordered = docs.copy()
    for row in rows:
        length = int((docs[row] >= 0).sum())
        ordered[row, :length] = docs[row, np.lexsort((docs[row, :length], -single[row, :length]))]
    return ordered


def ranks_of(docs: NDArray[np.integer], judgements: Judgements) -> NDArray[np.int64]:
    """[pairs] the rank of each judged document in its query's ranking, from 1; 0 if it was not retrieved."""
    ranks = np.zeros(len(judgements.query), np.int64)
    if not docs.shape[1]:
        return ranks
    for start in range(0, len(ranks), _PAIRS):
        part = slice(start, start + _PAIRS)
        document = judgements.document[part]
        same = docs[judgements.query[part]] == document[:, None]
        place = same.argmax(axis=1)
        ranks[part] = np.where(same[np.arange(len(place)), place] & (document >= 0), place + 1, 0)
    return ranks


def judged_ranks(judgements: Judgements, ranks: NDArray[np.int64]) -> JudgedRanks:
    """The arrays that :class:`~patent_mteb.metrics.ranking.JudgedRanks` scores.

    Args:
        judgements: see there.
        ranks: of :func:`ranks_of`.
    """
    positive = np.flatnonzero(judgements.gain > 0)
    best = positive[np.lexsort((-judgements.gain[positive], judgements.query[positive]))]
    found = positive[ranks[positive] > 0]
    found = found[np.lexsort((ranks[found], judgements.query[found]))]
    return JudgedRanks(
        judgements.n_queries,
        judgements.query[found],
        ranks[found],
        judgements.gain[found],
        judgements.query[best],
        judgements.gain[best],
    )


def per_query(docs: NDArray[np.integer], scores: Floats, judgements: Judgements, measures: Sequence[str]) -> dict[str, Floats]:
    """[queries] each measure (``ndcg@10``, ``recall@100``, ``map@1000``, ``precision@5``, ``mrr@10``) for each query, by trec_eval's order.

    Args:
        docs, scores: as in :func:`trec_order`.
        judgements: those of the task, or of a slice: documents that it does not judge keep their places.

    Raises:
        ValueError: a measure is unknown.
    """
    judged = judged_ranks(judgements, ranks_of(trec_order(docs, scores), judgements))
    return {measure: judged.score(measure) for measure in measures}


def confidences(docs: NDArray[np.integer], scores: Floats) -> dict[str, Floats]:
    """[queries] the confidences ``max``, ``std`` and ``diff1`` of each ranking; 0 for an empty one."""
    lengths = (docs >= 0).sum(axis=1)
    found: dict[str, Floats] = {name: np.zeros(len(docs)) for name in ("max", "std", "diff1")}
    for length in np.unique(lengths[lengths > 0]):
        rows = lengths == length
        part = np.ascontiguousarray(scores[rows, :length])
        found["max"][rows] = part[:, 0]
        found["std"][rows] = part.std(axis=1)
        if length > 1:
            found["diff1"][rows] = part[:, 0] - part[:, 1]
    return found


def _curve(order: NDArray[np.int64], confidence: Floats, values: Floats) -> Floats:
    """Mean of ``values`` over the queries that remain at each rate of abstention; ``order`` sorts ``confidence``."""
    ordered = confidence[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(ordered)])
    smooth = np.repeat(np.add.reduceat(values[order], starts) / sizes, sizes)
    left_out = [min(round(rate * len(ordered)), len(ordered) - 1) for rate in _ABSTENTION]
    return np.array([smooth[first:].mean() for first in left_out])


def _area(curve: Floats) -> float:
    return float((np.diff(_ABSTENTION) * (curve[1:] + curve[:-1]) / 2.0).sum())


def _naucs(confidence: Mapping[str, Floats], values: Mapping[str, Floats]) -> dict[str, float]:
    """nAUC of each measure and each confidence, named ``nauc_<measure>_<confidence>``."""
    orders = {name: np.argsort(column, kind="stable") for name, column in confidence.items()}
    found: dict[str, float] = {}
    for measure, column in values.items():
        best = _curve(np.argsort(column, kind="stable"), column, column)
        flat = best[0] * (_ABSTENTION[-1] - _ABSTENTION[0])
        gain = _area(best) - flat
        for name, order in orders.items():
            area = _area(_curve(order, confidence[name], column))
            found[f"nauc_{measure}_{name}"] = float((area - flat) / gain) if gain != 0 else float("nan")
    return found


def nauc(confidence: Floats, values: Floats) -> float:
    """nAUC of one measure; NaN if all orders are equally good.

    Args:
        confidence: [queries]; values: [queries] the measure.

    Raises:
        ValueError: there is no query.
    """
    if not len(values):
        raise ValueError("nAUC needs at least one query")
    return _naucs({"": confidence}, {"": values})["nauc__"]


def _mean(values: Floats) -> float:
    """The mean, summed one by one as mteb does: a mean of simple fractions can lie on the border between two roundings."""
    total: float = sum(values.tolist())
    return total / len(values)


def retrieval_scores(docs: NDArray[np.integer], scores: Floats, judgements: Judgements, ks: Sequence[int]) -> dict[str, float]:
    """The scores that mteb's ``AbsTaskRetrieval`` gives for a ranking, under its names and in its order.

    Args:
        docs, scores: as in :func:`trec_order`, of as many queries as ``judgements``, and at least one.
        judgements: of all queries.
        ks: the task's cut-offs; 1 must be among them, which mteb's accuracy (recall at 1) takes for granted.

    Raises:
        ValueError: no query, or no cut-off 1.
    """
    if not len(docs) or 1 not in ks:
        raise ValueError("retrieval is scored over at least one query, and at rank 1 among others")
    ordered = trec_order(docs, scores)
    judged = judged_ranks(judgements, ranks_of(ordered, judgements))
    columns = {f"{name}_at_{k}": judged.score(f"{name}@{k}") for name in ("ndcg", "map", "recall", "precision") for k in ks}
    exact = judged if ordered is docs else judged_ranks(judgements, ranks_of(docs, judgements))
    reciprocal = {f"mrr_at_{k}": exact.score(f"mrr@{k}") for k in ks}
    means = {name: round(_mean(column), 5) for name, column in columns.items()}
    hits = {f"hit_rate_at_{k}": round(_mean((columns[f"recall_at_{k}"] > 0).astype(np.float64)), 5) for k in ks}
    confidence = confidences(docs, scores)
    return {
        **{name: mean for name, mean in means.items() if not name.startswith("precision")},
        "accuracy": means["recall_at_1"],
        **{name: mean for name, mean in means.items() if name.startswith("precision")},
        **{name: _mean(column) for name, column in reciprocal.items()},
        **_naucs(confidence, columns),
        **_naucs(confidence, reciprocal),
        **hits,
    }
