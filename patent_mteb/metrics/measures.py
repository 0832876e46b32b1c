"""Retrieval measures on arrays: per query, for slices, and all scores of mteb's retrieval tasks.

The measures depend only on the ranks of judged documents. :class:`Judged` computes them once for a run; any subset of
the judgements, or other gains, is then scored without the run. Definitions are trec_eval's: linear gains, a discount of
``log2(rank + 1)``, and the ideal ranking of all positive judgements. Documents outside a slice keep their ranks.
Rankings are in the order of a :class:`~patent_mteb.search.run.Run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ABSTENTION = np.linspace(0, 1, 11)[:-1]


def starts_of_runs(values: NDArray[Any]) -> NDArray[np.int64]:
    return np.flatnonzero(np.diff(values, prepend=np.nan) != 0)


def confidences(docs: NDArray[np.integer], scores: NDArray[np.floating]) -> dict[str, Floats]:
    """Return the confidences ``max``, ``std`` and ``diff1`` of each ranking; 0 for an empty one."""
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
    """[measures, rates] mean of ``values`` [measures, queries] over the remaining queries at each rate of abstention.

    Queries are in ascending order of ``confidence``; those of equal confidence count with their mean.
    """
    starts = starts_of_runs(confidence)
    sizes = np.diff(starts, append=len(confidence))
    smooth = np.repeat(np.add.reduceat(values, starts, axis=1) / sizes, sizes, axis=1)
    left_out = [min(round(rate * len(confidence)), len(confidence) - 1) for rate in _ABSTENTION]
    return np.stack([smooth[:, first:].mean(axis=1) for first in left_out], axis=1)


def _areas(curves: Floats) -> Floats:
    return np.asarray((np.diff(_ABSTENTION) * (curves[:, 1:] + curves[:, :-1]) / 2.0).sum(axis=1))


def naucs(confidence: Mapping[str, Floats], values: Mapping[str, Floats]) -> dict[str, float]:
    """Return nAUC of each measure and confidence as ``nauc_<measure>_<confidence>``; NaN if all orders are equal.

    It evaluates a confidence as a criterion for abstention (Gisserot-Boukhlef et al. 2024, arXiv 2402.12997). The curve
    is the mean of a measure after the least confident 0 %, 10 %, ..., 90 % of the queries are excluded. Its area is
    scaled to 1 for the best order of queries and 0 for a random one.
    """
    columns = np.stack(list(values.values()))
    if not columns.size:
        raise ValueError("nAUC needs at least one query")
    best = np.concatenate([_curves(column, column[None]) for column in np.sort(columns, axis=1)])
    flat = best[:, 0] * (_ABSTENTION[-1] - _ABSTENTION[0])
    gains = _areas(best) - flat
    shares = {}
    for name, column in confidence.items():
        order = np.argsort(column, kind="stable")
        areas = _areas(_curves(column[order], np.ascontiguousarray(columns[:, order])))
        shares[name] = [
            (area - least) / gain if gain != 0 else np.nan for area, least, gain in zip(areas, flat, gains, strict=True)
        ]
    return {
        f"nauc_{measure}_{name}": float(shares[name][row]) for row, measure in enumerate(values) for name in confidence
    }


Gains = Mapping[str, Mapping[str, int]]  # judgements as in trec_eval: ``{query id: {document id: gain}}``
_PAIRS = 1 << 16  # of queries and ranks at a time


@dataclass(frozen=True)
class QueryScores:
    """Scores of the queries that have a positive judgement: ``scores[measure][i]`` belongs to ``queries[i]``."""

    queries: tuple[str, ...]
    scores: dict[str, Floats]

    def means(self) -> dict[str, float]:
        return {measure: float(values.mean()) for measure, values in self.scores.items()} if self.queries else {}


@dataclass(frozen=True)
class Judgements:
    """The judgements of a task or slice as arrays."""

    n_queries: int
    query: NDArray[np.int64]  # [pairs] index of the query
    document: NDArray[np.int64]  # [pairs] index of the document, -1 if it is not in the corpus
    gain: NDArray[np.int64]  # [pairs] only positive ones are relevant

    @classmethod
    def of(cls, qrels: Gains, query_ids: Sequence[str], number: Mapping[str, int]) -> Judgements:
        """Convert the judgements of these queries; ``number`` is the index of each document of the corpus."""
        judged = [qrels.get(query, {}) for query in query_ids]
        query = np.repeat(np.arange(len(judged)), [len(documents) for documents in judged])
        size = len(query)
        document = np.fromiter((number.get(name, -1) for documents in judged for name in documents), np.int64, size)
        gain = np.fromiter((gain for documents in judged for gain in documents.values()), np.int64, size)
        return cls(len(judged), query, document, gain)


def ranks_of(docs: NDArray[np.integer], judgements: Judgements) -> NDArray[np.int64]:
    """Return the rank of each judged document in its query's ranking, from 1; 0 if it is not retrieved."""
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


def _position_within(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Position of each entry among the entries of its owner, from 1. ``owner`` is sorted."""
    starts = starts_of_runs(owner)
    return np.arange(1, len(owner) + 1) - np.repeat(starts, np.diff(starts, append=len(owner)))


@dataclass(frozen=True)
class JudgedRanks:
    """Positive judgements as arrays: of the retrieved documents, and of all in the ideal order."""

    n_queries: int
    owner: NDArray[np.int64]  # index of the query of each retrieved document, by query, then rank
    rank: NDArray[np.int64]  # of each retrieved document, from 1
    gain: NDArray[np.int64]
    ideal_owner: NDArray[np.int64]  # index of the query of each document, by query, then descending gain
    ideal_gain: NDArray[np.int64]

    @classmethod
    def of(cls, judgements: Judgements, ranks: NDArray[np.int64]) -> JudgedRanks:
        """Select the positive judgements, given the ranks of all (:func:`ranks_of`)."""
        positive = np.flatnonzero(judgements.gain > 0)
        best = positive[np.lexsort((-judgements.gain[positive], judgements.query[positive]))]
        found = positive[ranks[positive] > 0]
        found = found[np.lexsort((ranks[found], judgements.query[found]))]
        return cls(
            judgements.n_queries,
            judgements.query[found],
            ranks[found],
            judgements.gain[found],
            judgements.query[best],
            judgements.gain[best],
        )

    def _sum(self, owner: NDArray[np.int64], values: Any) -> Floats:
        return np.bincount(owner, weights=values, minlength=self.n_queries).astype(np.float64)

    @cached_property
    def relevant(self) -> Floats:
        """[queries] number of relevant documents, retrieved or not."""
        return self._sum(self.ideal_owner, np.ones(len(self.ideal_owner)))

    @cached_property
    def nth(self) -> NDArray[np.int64]:
        """Number of each retrieved relevant document among those of its query, from 1."""
        return _position_within(self.owner)

    @cached_property
    def ideal_rank(self) -> NDArray[np.int64]:
        return _position_within(self.ideal_owner)

    def within(self, depth: int, values: Any) -> Floats:
        """[queries] sum of ``values`` over the relevant documents that are retrieved within ``depth``."""
        return self._sum(self.owner, np.where(self.rank <= depth, values, 0.0))

    def ideal(self, depth: int) -> Floats:
        """[queries] discounted gain of the ideal ranking."""
        place = self.ideal_rank
        return self._sum(self.ideal_owner, np.where(place <= depth, self.ideal_gain / np.log2(place + 1), 0.0))

    def score(self, measure: str) -> Floats:
        """Return a measure such as ``ndcg@10`` of each query, 0 for a query without positive judgements."""
        name, _, cut = measure.partition("@")
        if not cut.isdigit() or int(cut) < 1:
            raise ValueError(f"unknown measure {measure!r}: expected a name and a rank, such as ndcg@10")
        if name not in _FORMULAS:
            raise ValueError(f"unknown measure {measure!r}: expected one of {', '.join(MEASURES)}")
        return _FORMULAS[name](self, int(cut))


def _share(part: Floats, whole: Floats) -> Floats:
    """Quotient, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _pres(judged: JudgedRanks, k: int) -> Floats:
    """PRES (Magdy & Jones 2010, doi 10.1145/1835449.1835551): 1 if all relevant documents are ranked first.

    It is 0 if all are ranked below the ``k`` documents that a searcher reads. Relevant documents outside the first
    ``k`` count as in the worst ranking: the n-th relevant document at rank ``k + n``. Any positive gain is relevant.
    """
    relevant = judged.relevant
    missing = relevant - judged.within(k, 1.0)
    behind = missing * (k + relevant) - missing * (missing - 1) / 2
    mean = _share(judged.within(k, judged.rank) + behind, relevant)
    return np.where(relevant > 0, 1 - (mean - (relevant + 1) / 2) / k, 0.0)


_FORMULAS: dict[str, Callable[[JudgedRanks, int], Floats]] = {
    "ndcg": lambda judged, k: _share(judged.within(k, judged.gain / np.log2(judged.rank + 1)), judged.ideal(k)),
    "recall": lambda judged, k: _share(judged.within(k, 1.0), judged.relevant),
    "precision": lambda judged, k: judged.within(k, 1.0) / k,
    "map": lambda judged, k: _share(judged.within(k, judged.nth / judged.rank), judged.relevant),
    "mrr": lambda judged, k: judged.within(k, (judged.nth == 1) / judged.rank),
    "hit_rate": lambda judged, k: (judged.within(k, 1.0) > 0).astype(np.float64),
    "pres": _pres,
}

MEASURES = tuple(_FORMULAS)


class Judged:
    """The judged documents of a run, of any gain, with their ranks.

    ``docs`` [queries, depth] are indices into ``doc_ids``, best first, -1 behind the last one.
    """

    def __init__(
        self, docs: NDArray[np.integer], qrels: Gains, query_ids: Sequence[str], doc_ids: Sequence[str]
    ) -> None:
        self._docs, self._query_ids = docs, list(query_ids)
        self._number = {document: place for place, document in enumerate(doc_ids)}
        self._row = {query: row for row, query in enumerate(self._query_ids)}
        self.judgements = Judgements.of(qrels, self._query_ids, self._number)
        self.ranks = ranks_of(docs, self.judgements)
        keys = self._keys(self.judgements)
        order = np.argsort(keys, kind="stable")
        self._known, self._known_ranks = keys[order], self.ranks[order]

    def _keys(self, judgements: Judgements) -> NDArray[np.int64]:
        return judgements.query * (len(self._number) + 1) + judgements.document + 1

    @cached_property
    def all(self) -> JudgedRanks:
        return JudgedRanks.of(self.judgements, self.ranks)

    def scores(self, measures: Sequence[str], qrels: Gains | None = None) -> QueryScores:
        """Score each query of the run that has a positive judgement, by all judgements or those of a slice."""
        if qrels is None:
            positive = np.unique(self.judgements.query[self.judgements.gain > 0])
            queries = tuple(self._query_ids[row] for row in positive)
            return QueryScores(queries, {measure: self.all.score(measure)[positive] for measure in measures})
        queries = tuple(
            query for query, judged in qrels.items() if query in self._row and any(gain > 0 for gain in judged.values())
        )
        part = Judgements.of(qrels, queries, self._number)
        rows = np.array([self._row[query] for query in queries], np.int64)
        in_run = Judgements(len(self._query_ids), rows[part.query], part.document, part.gain)
        places = np.searchsorted(self._known, keys := self._keys(in_run)).clip(max=max(len(self._known) - 1, 0))
        known = bool(len(self._known)) and bool((self._known[places] == keys).all())
        ranks = self._known_ranks[places] if known else ranks_of(self._docs, in_run)
        judged = JudgedRanks.of(part, ranks)
        return QueryScores(queries, {measure: judged.score(measure) for measure in measures})

    def judged_share(self, k: int) -> Floats:
        """[queries] ``judged@k``: share of the first k documents, or of all of a shorter ranking, that are judged."""
        inside = (self.ranks > 0) & (self.ranks <= k)
        found = np.bincount(self.judgements.query[inside], minlength=len(self._docs)).astype(np.float64)
        return _share(found, (self._docs[:, :k] >= 0).sum(axis=1).astype(np.float64))

    def bpref(self, least: int = 1) -> Floats:
        """[queries] ``bpref`` (Buckley & Voorhees 2004, doi 10.1145/1008992.1009000, as in trec_eval).

        For R documents with a gain of ``least`` and N other judged documents, it is the mean over the former of 1 - n /
        min(R, N), where n, at most R, is the number of the latter above it. A relevant document that is not retrieved
        counts as 0. With N = 0 it is the share of relevant documents that is retrieved, without one 0.
        """
        judgements, ranks, n = self.judgements, self.ranks, len(self._docs)
        scores, ends = np.zeros(n), np.searchsorted(judgements.query, np.arange(n + 1))
        for row in range(n):
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


def _mean(values: Floats) -> float:
    """The mean by sequential summation as in mteb: a mean of simple fractions may be a tie for rounding."""
    total: float = sum(values.tolist())
    return total / len(values)


def retrieval_scores(
    docs: NDArray[np.integer], scores: NDArray[np.floating], judged: JudgedRanks, ks: Sequence[int]
) -> dict[str, float]:
    """The scores that mteb's ``AbsTaskRetrieval`` gives for a ranking, under its names and in its order.

    Names and rounding are those of mteb 2.26: means of nDCG, MAP, recall, precision and hit rate are rounded to five
    decimals, MRR and nAUC are not. Queries without positive judgements count as 0. mteb's accuracy is the recall at 1,
    so 1 must be among the cut-offs ``ks``.
    """
    if not len(docs) or 1 not in ks:
        raise ValueError("retrieval is scored over at least one query, and at rank 1 among others")
    return mean_scores(judged, ks, confidences(docs, scores))


def mean_scores(
    judged: JudgedRanks, ks: Sequence[int], confidence: Mapping[str, Floats] | None = None
) -> dict[str, float]:
    """The scores of :func:`retrieval_scores`, with the nAUC of confidences only."""
    names = ("ndcg", "map", "recall", "precision", "mrr")
    columns = {f"{name}_at_{k}": judged.score(f"{name}@{k}") for name in names for k in ks}
    means = {name: _mean(column) for name, column in columns.items()}
    means = {name: mean if name.startswith("mrr") else round(mean, 5) for name, mean in means.items()}
    return {
        **{name: mean for name, mean in means.items() if name.startswith(("ndcg", "map", "recall"))},
        "accuracy": means["recall_at_1"],
        **means,
        **(naucs(confidence, columns) if confidence else {}),
        **{f"hit_rate_at_{k}": round(_mean(judged.score(f"hit_rate@{k}")), 5) for k in ks},
    }
