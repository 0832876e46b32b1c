"""Retrieval measures for each query, on the ranks of the judged documents.

nDCG, recall, precision, average precision and reciprocal rank depend on nothing but the ranks at which judged documents
stand. :func:`judged_ranks` reads them off a run once; :func:`per_query` then scores any part of the judgements (a slice)
without looking at the run again. Documents that a slice does not judge keep their places in the ranking.

The definitions are trec_eval's: linear gains, ``log2(rank + 1)`` discount, ideal ranking over all positive judgements of the
query, scores compared as 32-bit floats, ties broken by document id in descending order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["JudgedRanks", "QueryScores", "Ranks", "judged_ranks", "per_query"]

Ranks = dict[str, dict[str, int]]
"""``{query id: {judged document id: rank}}``, ranks from 1; a judged document that was not retrieved is absent."""


@dataclass(frozen=True)
class QueryScores:
    """Scores of the queries that have a positive judgement: ``scores[measure][i]`` belongs to ``queries[i]``."""

    queries: tuple[str, ...]
    scores: dict[str, NDArray[np.float64]]


def judged_ranks(results: Mapping[str, Mapping[str, float]], qrels: Mapping[str, Mapping[str, int]]) -> Ranks:
    """Ranks of the judged documents in a run.

    Args:
        results: ``{query id: {document id: score}}``, higher is better, in any order.
        qrels: judgements; a document counts as judged whatever its gain.
    """
    ranks: Ranks = {}
    for query, judged in qrels.items():
        found = results.get(query, {})
        present = [document for document in judged if document in found]
        if not present:
            ranks[query] = {}
            continue
        scores = np.fromiter(found.values(), dtype=np.float32, count=len(found))
        ours = np.array([found[document] for document in present], dtype=np.float32)
        better = (scores[None, :] > ours[:, None]).sum(axis=1)
        tied = (scores[None, :] == ours[:, None]).sum(axis=1) > 1
        if tied.any():
            names = list(found)
            for position in np.flatnonzero(tied):
                same = np.flatnonzero(scores == ours[position])
                better[position] += sum(names[other] > present[position] for other in same)
        ranks[query] = {document: int(above) + 1 for document, above in zip(present, better, strict=True)}
    return ranks


def per_query(ranks: Ranks, qrels: Mapping[str, Mapping[str, int]], measures: Sequence[str]) -> QueryScores:
    """Score each query that has at least one positive judgement in ``qrels``.

    Args:
        ranks: of :func:`judged_ranks`, for these judgements or for more; a query it lacks retrieved nothing.
        qrels: the judgements to score against, all or those of a slice.
        measures: names such as ``ndcg@10``, ``recall@100``, ``precision@5``, ``map@1000``, ``mrr@10``.

    Raises:
        ValueError: a measure is unknown.
    """
    queries = tuple(query for query, judged in qrels.items() if any(gain > 0 for gain in judged.values()))
    flat: list[tuple[int, int, int]] = []
    ideal: list[tuple[int, int]] = []
    for index, query in enumerate(queries):
        places = ranks.get(query, {})
        for document, gain in qrels[query].items():
            if gain > 0:
                ideal.append((index, gain))
                if document in places:
                    flat.append((index, places[document], gain))
    table = np.array(sorted(flat), dtype=np.int64).reshape(-1, 3)
    owner, rank, gains = table[:, 0], table[:, 1], table[:, 2]
    best = np.array(sorted(ideal, key=lambda pair: (pair[0], -pair[1])), dtype=np.int64).reshape(-1, 2)
    judgements = JudgedRanks(len(queries), owner, rank, gains, best[:, 0], best[:, 1])
    return QueryScores(queries, {measure: judgements.score(measure) for measure in measures})


def _position_within(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Position of each entry among the entries of its owner, from 1; ``owner`` is sorted."""
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]]) if len(owner) else np.zeros(0, np.int64)
    counts = np.diff(np.r_[starts, len(owner)])
    return np.arange(1, len(owner) + 1) - np.repeat(starts, counts)


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quotient; 0 for a query that has nothing to be found."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


@dataclass(frozen=True)
class JudgedRanks:
    """Positive judgements of ``n_queries`` queries as arrays.

    Attributes:
        owner, rank, gain: number of the query, rank from 1, and gain of each retrieved document, sorted by query, then rank.
        ideal_owner, ideal_gain: number of the query and gain of each document, retrieved or not, by query, then gain, descending.
    """

    n_queries: int
    owner: NDArray[np.int64]
    rank: NDArray[np.int64]
    gain: NDArray[np.int64]
    ideal_owner: NDArray[np.int64]
    ideal_gain: NDArray[np.int64]

    def _sum(self, owner: NDArray[np.int64], values: Any) -> NDArray[np.float64]:
        return np.bincount(owner, weights=values, minlength=self.n_queries).astype(np.float64)

    def score(self, measure: str) -> NDArray[np.float64]:
        """[n_queries] a measure such as ``ndcg@10``, 0 for a query without positive judgements.

        Raises:
            ValueError: the measure is unknown.
        """
        name, _, cut = measure.partition("@")
        if not cut.isdigit() or int(cut) < 1:
            raise ValueError(f"unknown measure {measure!r}: expected a name and a rank, such as ndcg@10")
        depth = int(cut)
        inside = self.rank <= depth
        relevant = self._sum(self.ideal_owner, np.ones(len(self.ideal_owner)))
        if name == "ndcg":
            place = _position_within(self.ideal_owner)
            ideal = self._sum(self.ideal_owner, np.where(place <= depth, self.ideal_gain / np.log2(place + 1), 0.0))
            return _share(self._sum(self.owner, np.where(inside, self.gain / np.log2(self.rank + 1), 0.0)), ideal)
        if name in ("recall", "precision"):
            hits = self._sum(self.owner, inside.astype(float))
            return _share(hits, relevant) if name == "recall" else hits / depth
        if name == "map":
            precision = _position_within(self.owner) / self.rank
            return _share(self._sum(self.owner, np.where(inside, precision, 0.0)), relevant)
        if name == "mrr":
            first = _position_within(self.owner) == 1
            return self._sum(self.owner, np.where(inside & first, 1 / self.rank, 0.0))
        raise ValueError(f"unknown measure {measure!r}: know ndcg, recall, precision, map and mrr")
