"""Measures of rankings, each once, on arrays: for every query, for slices, and all scores of mteb's retrieval tasks.

nDCG, recall, precision, average precision and reciprocal rank depend on nothing but the ranks at which judged documents stand.
:class:`Judged` finds them once for a run; any part of the judgements (a slice, other gains) is then scored without looking at the run
again. Documents that a slice does not judge keep their places in the ranking.

The definitions are trec_eval's: linear gains, ``log2(rank + 1)`` discount, ideal ranking over all positive judgements of the query,
the order of a :class:`~patent_mteb.search.run.Run` (scores as 32-bit floats, equal ones by document id, descending). Names and rounding
of :func:`retrieval_scores` are those of mteb 2.26 (means of nDCG, MAP, recall, precision and hit rate rounded to five decimals, MRR and
nAUC not rounded); a query without positive judgements counts as 0 there.

**PRES** (Magdy & Jones 2010, doi 10.1145/1835449.1835551): where the relevant documents of a query stand between the best ranking, all
of them first (1), and the worst, all of them behind the ``k`` documents that a searcher reads (0). What was not found within ``k`` counts
as in the worst ranking: the n-th relevant document at rank ``k + n``. Any positive gain is relevant.

**nAUC** (Gisserot-Boukhlef et al. 2024, arXiv 2402.12997): how well a confidence, computed from the scores of a query's ranking,
tells on which queries a model should abstain. The curve is the mean of a measure over the queries that remain when the least
confident 0 %, 10 %, ..., 90 % are left out; of the area under it 1 is what the best order gives and 0 what a random one gives. Three
confidences: the highest score (``max``), the standard deviation of the ranking's scores (``std``), and the distance between the
first two (``diff1``). Queries of equal confidence count with their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MEASURES",
    "Judged",
    "JudgedRanks",
    "Judgements",
    "QueryScores",
    "confidences",
    "mean_scores",
    "nauc",
    "ranks_of",
    "retrieval_scores",
]

MEASURES = ("ndcg", "recall", "precision", "map", "mrr", "hit_rate", "pres")
"""Those of single queries (:meth:`JudgedRanks.score`)."""

Floats = NDArray[np.float64]
Gains = Mapping[str, Mapping[str, int]]
"""Judgements as in trec_eval: ``{query id: {document id: gain}}``."""

_ABSTENTION = np.linspace(0, 1, 11)[:-1]
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
        if name == "hit_rate":
            return (self._sum(self.owner, inside.astype(float)) > 0).astype(np.float64)
        if name == "pres":
            missing = relevant - self._sum(self.owner, inside.astype(float))
            behind = missing * (depth + relevant) - missing * (missing - 1) / 2
            mean = _share(self._sum(self.owner, np.where(inside, self.rank, 0.0)) + behind, relevant)
            return np.where(relevant > 0, 1 - (mean - (relevant + 1) / 2) / depth, 0.0)
        if name == "map":
            precision = _position_within(self.owner) / self.rank
            return _share(self._sum(self.owner, np.where(inside, precision, 0.0)), relevant)
        if name == "mrr":
            first = _position_within(self.owner) == 1
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


def confidences(docs: NDArray[np.integer], scores: NDArray[np.floating]) -> dict[str, Floats]:
    """[queries] the confidences ``max``, ``std`` and ``diff1`` of each ranking; 0 for an empty one.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.measures import confidences
        >>> confidences(np.array([[0, 1]]), np.array([[3.0, 1.0]]))
        {'max': array([3.]), 'std': array([1.]), 'diff1': array([2.])}
    """
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

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.measures import nauc
        >>> nauc(np.array([0.1, 0.2, 0.9]), np.array([0.0, 0.5, 1.0]))  # the more confident, the better
        1.0
    """
    if not len(values):
        raise ValueError("nAUC needs at least one query")
    return _naucs({"": confidence}, {"": values})["nauc__"]


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
    return {**means, **_naucs(confidence, columns), **_naucs(confidence, reciprocal), **hits}


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
