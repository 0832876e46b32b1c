"""Measures of rankings, each once, on arrays: for every query, for slices, and all scores of mteb's retrieval tasks.

nDCG, recall, precision, average precision and reciprocal rank depend on nothing but the ranks at which judged documents stand.
:class:`Judged` finds them once for a run; any part of the judgements (a slice, other gains) is then scored without looking at the run
again. Documents that a slice does not judge keep their places in the ranking.

The definitions are trec_eval's: linear gains, ``log2(rank + 1)`` discount, ideal ranking over all positive judgements of the query,
the order of a :class:`~patent_mteb.search.run.Run` (scores as 32-bit floats, equal ones by document id, descending). Names and rounding
of :func:`retrieval_scores` are those of mteb 2.26 (means of nDCG, MAP, recall, precision and hit rate rounded to five decimals, MRR and
nAUC, of :mod:`patent_mteb.metrics.abstention`, not rounded); a query without positive judgements counts as 0 there.

**PRES** (Magdy & Jones 2010, doi 10.1145/1835449.1835551): where the relevant documents of a query stand between the best ranking, all
of them first (1), and the worst, all of them behind the ``k`` documents that a searcher reads (0). What was not found within ``k`` counts
as in the worst ranking: the n-th relevant document at rank ``k + n``. Any positive gain is relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.metrics.abstention import confidences, naucs, starts_of_runs

__all__ = [
    "MEASURES",
    "Judged",
    "JudgedRanks",
    "Judgements",
    "QueryScores",
    "mean_scores",
    "ranks_of",
    "retrieval_scores",
]

MEASURES = ("ndcg", "recall", "precision", "map", "mrr", "hit_rate", "pres")
"""Those of single queries (:meth:`JudgedRanks.score`)."""

Floats = NDArray[np.float64]
Gains = Mapping[str, Mapping[str, int]]
"""Judgements as in trec_eval: ``{query id: {document id: gain}}``."""

_PAIRS = 1 << 16


@dataclass(frozen=True)
class QueryScores:
    """Scores of the queries that have a positive judgement: ``scores[measure][i]`` belongs to ``queries[i]``."""

    queries: tuple[str, ...]
    scores: dict[str, Floats]

    def means(self) -> dict[str, float]:
        """The mean of each measure over the queries; none without a query."""
        return {measure: float(values.mean()) for measure, values in self.scores.items()} if self.queries else {}


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
    def of(cls, qrels: Gains, query_ids: Sequence[str], number: Mapping[str, int]) -> Judgements:
        """The judgements of these queries; a query that ``qrels`` lacks has none.

        Args:
            number: of each document of the corpus.
        """
        judged = [qrels.get(query, {}) for query in query_ids]
        query = np.repeat(np.arange(len(judged)), [len(documents) for documents in judged])
        size = len(query)
        document = np.fromiter((number.get(name, -1) for documents in judged for name in documents), np.int64, size)
        gain = np.fromiter((gain for documents in judged for gain in documents.values()), np.int64, size)
        return cls(len(judged), query, document, gain)


def ranks_of(docs: NDArray[np.integer], judgements: Judgements) -> NDArray[np.int64]:
    """[pairs] the rank of each judged document in its query's ranking, from 1; 0 if it was not retrieved.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.measures import Judgements, ranks_of
        >>> judged = Judgements.of({"q": {"a": 1, "b": 0, "c": 1}}, ["q"], {"a": 0, "b": 1, "c": 2})
        >>> ranks_of(np.array([[2, 0]]), judged)  # found: c, then a
        array([2, 0, 1])
    """
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
    """Position of each entry among the entries of its owner, from 1; ``owner`` is sorted."""
    starts = starts_of_runs(owner)
    return np.arange(1, len(owner) + 1) - np.repeat(starts, np.diff(starts, append=len(owner)))


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

    @classmethod
    def of(cls, judgements: Judgements, ranks: NDArray[np.int64]) -> JudgedRanks:
        """The positive judgements, with the ranks that :func:`ranks_of` gives for all."""
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

    def _sum(self, owner: NDArray[np.int64], values: Any) -> NDArray[np.float64]:
        return np.bincount(owner, weights=values, minlength=self.n_queries).astype(np.float64)

    @cached_property
    def _relevant(self) -> NDArray[np.float64]:
        return self._sum(self.ideal_owner, np.ones(len(self.ideal_owner)))

    @cached_property
    def _nth(self) -> NDArray[np.int64]:
        """Each found one is its query's so-and-so-many-th."""
        return _position_within(self.owner)

    @cached_property
    def _ideal_rank(self) -> NDArray[np.int64]:
        return _position_within(self.ideal_owner)

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
        relevant = self._relevant
        if name == "ndcg":
            place = self._ideal_rank
            ideal = self._sum(self.ideal_owner, np.where(place <= depth, self.ideal_gain / np.log2(place + 1), 0.0))
            return _share(self._sum(self.owner, np.where(inside, self.gain / np.log2(self.rank + 1), 0.0)), ideal)
        if name in ("recall", "precision"):
            hits = self._sum(self.owner, inside.astype(float))
            return _share(hits, relevant) if name == "recall" else hits / depth
        if name == "hit_rate":
            return (self._sum(self.owner, inside.astype(float)) > 0).astype(np.float64)
        if name == "pres":
            missing = relevant - self._sum(self.owner, inside.astype(float))
            behind = missing * (depth + relevant) - missing * (missing - 1) / 2
            mean = _share(self._sum(self.owner, np.where(inside, self.rank, 0.0)) + behind, relevant)
            return np.where(relevant > 0, 1 - (mean - (relevant + 1) / 2) / depth, 0.0)
        if name == "map":
            precision = self._nth / self.rank
            return _share(self._sum(self.owner, np.where(inside, precision, 0.0)), relevant)
        if name == "mrr":
            first = self._nth == 1
            return self._sum(self.owner, np.where(inside & first, 1 / self.rank, 0.0))
        raise ValueError(f"unknown measure {measure!r}: know {', '.join(MEASURES)}")


class Judged:
    """The judged documents of a run with their ranks.

    Args:
        docs: [queries, depth] numbers of documents, best first, -1 behind the last one.
        qrels: judgements of the queries; a document counts as judged whatever its gain.
        query_ids: the queries of ``docs``.
        doc_ids: the documents that the numbers stand for.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.measures import Judged
        >>> judged = Judged(np.array([[1, 0]]), {"q": {"a": 1, "b": 0}}, ["q"], ["b", "a"])
        >>> judged.scores(["ndcg@10", "mrr@10"]).means()
        {'ndcg@10': 1.0, 'mrr@10': 1.0}
    """

    def __init__(self, docs: NDArray[np.integer], qrels: Gains, query_ids: Sequence[str], doc_ids: Sequence[str]) -> None:
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

    def all(self) -> JudgedRanks:
        """The judgements of all queries."""
        return self._all

    @cached_property
    def _all(self) -> JudgedRanks:
        return JudgedRanks.of(self.judgements, self.ranks)

    def scores(self, measures: Sequence[str], qrels: Gains | None = None) -> QueryScores:
        """Score each query of the run that has at least one positive judgement.

        Args:
            measures: names such as ``ndcg@10``, ``recall@100``, ``precision@5``, ``map@1000``, ``mrr@10``.
            qrels: the judgements to score against, such as those of a slice; all if None.

        Raises:
            ValueError: a measure is unknown.
        """
        if qrels is None:
            positive = np.unique(self.judgements.query[self.judgements.gain > 0])
            queries = tuple(self._query_ids[row] for row in positive)
            return QueryScores(queries, {measure: self.all().score(measure)[positive] for measure in measures})
        queries = tuple(query for query, judged in qrels.items() if query in self._row and any(gain > 0 for gain in judged.values()))
        part = Judgements.of(qrels, queries, self._number)
        rows = np.array([self._row[query] for query in queries], np.int64)
        in_run = Judgements(len(self._query_ids), rows[part.query], part.document, part.gain)
        places = np.searchsorted(self._known, keys := self._keys(in_run)).clip(max=max(len(self._known) - 1, 0))
        known = bool(len(self._known)) and bool((self._known[places] == keys).all())
        ranks = self._known_ranks[places] if known else ranks_of(self._docs, in_run)
        judged = JudgedRanks.of(part, ranks)
        return QueryScores(queries, {measure: judged.score(measure) for measure in measures})


def _mean(values: Floats) -> float:
    """The mean, summed one by one as mteb does: a mean of simple fractions can lie on the border between two roundings."""
    total: float = sum(values.tolist())
    return total / len(values)


def retrieval_scores(docs: NDArray[np.integer], scores: NDArray[np.floating], judged: JudgedRanks, ks: Sequence[int]) -> dict[str, float]:
    """The scores that mteb's ``AbsTaskRetrieval`` gives for a ranking, under its names and in its order.

    Args:
        docs: [queries, depth] numbers of documents, best first, -1 behind the last one; at least one query.
        scores: [queries, depth].
        judged: the judgements of all these queries (:meth:`Judged.all`).
        ks: the task's cut-offs; 1 must be among them, which mteb's accuracy (recall at 1) takes for granted.

    Raises:
        ValueError: no query, or no cut-off 1.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.measures import Judged, retrieval_scores
        >>> docs, scores = np.array([[0, 1]]), np.array([[0.9, 0.4]])
        >>> found = retrieval_scores(docs, scores, Judged(docs, {"q": {"b": 1}}, ["q"], ["a", "b"]).all(), ks=[1, 2])
        >>> found["recall_at_1"], found["recall_at_2"], found["mrr_at_2"]
        (0.0, 1.0, 0.5)
    """
    if not len(docs) or 1 not in ks:
        raise ValueError("retrieval is scored over at least one query, and at rank 1 among others")
    columns, reciprocal = _by_query(judged, ks)
    confidence = confidences(docs, scores)
    means = _means(columns, reciprocal)
    hits = {name: means.pop(name) for name in list(means) if name.startswith("hit_rate")}
    return {**means, **naucs(confidence, columns), **naucs(confidence, reciprocal), **hits}


def mean_scores(judged: JudgedRanks, ks: Sequence[int]) -> dict[str, float]:
    """The scores of :func:`retrieval_scores` without the nAUC, which alone needs the scores of the ranking.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.measures import Judged, mean_scores
        >>> found = mean_scores(Judged(np.array([[0, 1]]), {"q": {"b": 1}}, ["q"], ["a", "b"]).all(), ks=[1, 2])
        >>> found["accuracy"], found["hit_rate_at_2"]
        (0.0, 1.0)
    """
    return _means(*_by_query(judged, ks))


def _by_query(judged: JudgedRanks, ks: Sequence[int]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """[queries] every measure at every cut-off, reciprocal rank apart."""
    columns = {f"{name}_at_{k}": judged.score(f"{name}@{k}") for name in ("ndcg", "map", "recall", "precision") for k in ks}
    return columns, {f"mrr_at_{k}": judged.score(f"mrr@{k}") for k in ks}


def _means(columns: Mapping[str, Floats], reciprocal: Mapping[str, Floats]) -> dict[str, float]:
    means = {name: round(_mean(column), 5) for name, column in columns.items()}
    hits = {name: round(_mean((column > 0).astype(np.float64)), 5) for name, column in columns.items() if name.startswith("recall")}
    return {
        **{name: mean for name, mean in means.items() if not name.startswith("precision")},
        "accuracy": means["recall_at_1"],
        **{name: mean for name, mean in means.items() if name.startswith("precision")},
        **{name: _mean(column) for name, column in reciprocal.items()},
        **{name.replace("recall", "hit_rate"): mean for name, mean in hits.items()},
    }
