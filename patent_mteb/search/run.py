"""A ranking as arrays (:class:`Run`), and the exact best k documents of a corpus.

**Order.** Scores are single precision, as trec_eval compares them, and documents with equal scores are ordered by id,
descending, as in mteb and trec_eval. Every run has this order, so that run files, measures and explanations agree.
Files of other systems are ordered in double precision when they are read (:func:`patent_mteb.search.trec.read_run`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from patent_mteb.errors import DataError, ModelError
from patent_mteb.search import trec

__all__ = ["FirstStage", "Results", "Run", "TopK", "pairs_matrix", "ranked_ids"]
Results = dict[str, dict[str, float]]
"""A ranking in mteb's form: ``{query id: {document id: score}}``."""

_TIE_BITS = 32  # of a key that order documents of one score; the score is in the others
_PAIRS_AT_ONCE = 4096  # of queries and hidden documents that are removed at a time
_QUERIES_AT_ONCE = 1024  # that are sorted at a time
_NOTHING = np.iinfo(np.int64).min


def ranked_ids(ids: Iterable[str]) -> list[str]:
    """Document ids in descending order, the order of equal scores.

    Raises:
        DataError: an id occurs twice.

    Example:
        >>> from patent_mteb.search.run import ranked_ids
        >>> ranked_ids(["d2", "d10", "d1"])
        ['d2', 'd10', 'd1']
    """
    ordered = sorted(ids, reverse=True)
    for first, second in pairwise(ordered):
        if first == second:
            problem = f"document id {first!r} occurs twice in the corpus"
            raise DataError(problem, remedy="remove one of the two documents")
    return ordered


@dataclass(frozen=True)
class FirstStage:
    """Run of the first stage of a two-stage search, and its requested depth ``k``."""

    run: Run
    k: int


@dataclass(frozen=True)
class Run:
    """Rankings of several queries over one corpus.

    Attributes:
        query_ids: Q query ids.
        doc_ids: the ids of the whole corpus in descending order (:func:`ranked_ids`).
        docs: [Q, depth] int32, numbers into ``doc_ids``, best first, -1 behind the last one.
        scores: [Q, depth] float32, descending, 0 where ``docs`` is -1; equal scores by document id, descending.
        parts: [Q, depth] int32, the section by which each document was found, where the search knows it.
        first_stage: the input of a reranker, where there was one.
        task: name of the task of these queries and corpus, where it is known.
        effort: cost of a paid ranking (pairs, calls, tokens, seconds, cost), and the model that answered.
        efforts: the same by query, where it is known (:mod:`patent_mteb.search.trec`).

    Example:
        >>> from patent_mteb.search.run import Run
        >>> run = Run.from_dict({"q": {"d1": 0.5, "d2": 0.5, "d3": 0.7}})
        >>> run.to_dict()["q"]
        {'d3': 0.699999988079071, 'd2': 0.5, 'd1': 0.5}
    """

    query_ids: list[str]
    doc_ids: list[str]
    docs: NDArray[np.int32]
    scores: NDArray[np.float32]
    parts: NDArray[np.int32] | None = None
    first_stage: FirstStage | None = None
    task: str = ""
    effort: Mapping[str, Any] = field(default_factory=dict)
    efforts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        task = f" of {self.task}" if self.task else ""
        return f"Run{task}: {len(self.query_ids)} queries, up to {self.depth} of {len(self.doc_ids)} documents each"

    @property
    def depth(self) -> int:
        return int(self.docs.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays of the run."""
        n_bytes = self.docs.nbytes + self.scores.nbytes + (0 if self.parts is None else self.parts.nbytes)
        return n_bytes if self.first_stage is None else n_bytes + self.first_stage.run.nbytes

    @classmethod
    def from_dict(
        cls,
        results: Mapping[str, Mapping[str, float]],
        query_ids: Sequence[str] | None = None,
        doc_ids: list[str] | None = None,
    ) -> Run:
        """Convert rankings from mteb's form.

        Args:
            results: ``{query id: {document id: score}}``, documents in any order.
            query_ids: the queries, in the order of the run; those of ``results`` by default.
            doc_ids: the corpus, as :func:`ranked_ids` orders it; the documents in ``results`` by default.

        Raises:
            ModelError: a query has no entry, a document is not in the corpus, or a score is not finite.
        """
        query_ids = list(results if query_ids is None else query_ids)
        doc_ids = ranked_ids(set(chain.from_iterable(results.values()))) if doc_ids is None else doc_ids
        if missing := [query for query in query_ids if query not in results]:
            count = f"{len(missing)} of {len(query_ids)} queries"
            raise ModelError(f"the model returned no ranking for {count}, the first is {missing[0]!r}")
        number = {document: position for position, document in enumerate(doc_ids)}
        rows = [results[query] for query in query_ids]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        total = int(lengths.sum())
        try:
            flat = np.fromiter((number[document] for row in rows for document in row), np.int32, total)
        except KeyError as error:
            raise ModelError(f"the model returned document {error.args[0]!r}, which is not in the corpus") from None
        with np.errstate(over="ignore"):
            values = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float32, total)
        values = checked(values)
        filled = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
        docs = np.full(filled.shape, -1, np.int32)
        scores = np.zeros(filled.shape, np.float32)
        docs[filled], scores[filled] = flat, values
        return cls(query_ids, doc_ids, docs, scores).ordered()

    @classmethod
    def load(cls, path: Path | str, *, order: trec.Order | None = None) -> Run:
        """Read a run in TREC form; see :func:`patent_mteb.search.trec.read_run` for order."""
        return cls.from_dict(trec.read_run(Path(path), order=order))

    def save(self, path: Path | str, tag: str = "run") -> None:
        """Write the run in TREC form, ``query Q0 document rank score tag``, ranks from 1."""
        trec.write_run(Path(path), self.to_dict(), tag)

    def ordered(self) -> Run:
        """The same documents in the order of a run; an ordered run is returned unchanged."""
        docs, scores = self.docs, self.scores
        if not docs.shape[1]:
            return self
        later = (scores[:, 1:] > scores[:, :-1]) | ((scores[:, 1:] == scores[:, :-1]) & (docs[:, 1:] < docs[:, :-1]))
        wrong = (later & (docs[:, 1:] >= 0)) | ((docs[:, :-1] < 0) & (docs[:, 1:] >= 0))
        rows = np.flatnonzero(wrong.any(axis=1))
        if not len(rows):
            return self
        order = np.stack([np.lexsort((docs[row], -scores[row], docs[row] < 0)) for row in rows])

        def reordered(array: NDArray[Any]) -> NDArray[Any]:
            found = array.copy()
            found[rows] = np.take_along_axis(array[rows], order, axis=1)
            return found

        return self._changed(reordered)

    def _changed(self, change: Callable[[NDArray[Any]], Any], **others: Any) -> Run:
        """The run with the same change of each of its arrays."""
        parts = None if self.parts is None else change(self.parts)
        return replace(self, docs=change(self.docs), scores=change(self.scores), parts=parts, **others)

    def top(self, k: int) -> Run:
        """The first k documents of each query."""
        return self if k >= self.depth else self._changed(lambda array: array[:, :k])

    def trimmed(self) -> Run:
        """The run without the places that no query has filled."""
        return self.top(int((self.docs >= 0).sum(axis=1).max(initial=0)))

    def without(self, hidden: Mapping[str, Set[str]]) -> Run:
        """The run without the given documents of each query; the next ones move up."""
        forbidden = pairs_matrix(hidden, self.query_ids, self.doc_ids).tocoo()
        kept = np.ones(self.docs.shape, np.bool_)
        for start in range(0, forbidden.nnz, _PAIRS_AT_ONCE):
            rows, documents = (ends[start : start + _PAIRS_AT_ONCE] for ends in (forbidden.row, forbidden.col))
            pair, place = np.nonzero(self.docs[rows] == documents[:, None])
            kept[rows[pair], place] = False
        return self.only(kept)

    def only(self, kept: NDArray[np.bool_]) -> Run:
        """The run with the places where ``kept`` [queries, depth] is True; the next documents move up."""
        kept = kept & (self.docs >= 0)
        changed = np.flatnonzero((kept != (self.docs >= 0)).any(axis=1))
        kept = kept[changed]
        left = np.arange(self.depth) < kept.sum(axis=1)[:, None]

        def moved(values: NDArray[Any], empty: int) -> Any:
            rows = np.full(kept.shape, empty, values.dtype)
            rows[left] = values[changed][kept]
            found = values.copy()
            found[changed] = rows
            return found

        parts = None if self.parts is None else moved(self.parts, -1)
        return replace(self, docs=moved(self.docs, -1), scores=moved(self.scores, 0), parts=parts)

    def rows(self, rows: NDArray[np.integer[Any]]) -> Run:
        """Some of the rankings, in the given order."""
        return self._changed(lambda array: array[rows], query_ids=[self.query_ids[row] for row in rows])

    def to_dict(self) -> Results:
        """mteb's form, best document first; a query without documents has an empty entry."""
        results: Results = {}
        for query, docs, scores in zip(self.query_ids, self.docs, self.scores, strict=True):
            length = int((docs >= 0).sum())
            found = map(self.doc_ids.__getitem__, docs[:length].tolist())
            results[query] = dict(zip(found, scores[:length].tolist(), strict=True))
        return results

    def ranking(self, query: str) -> list[tuple[str, float]]:
        """The documents of one query with their scores, best first.

        Raises:
            DataError: the run does not have the query.
        """
        if query not in self.query_ids:
            remedy = f"choose one of its {len(self.query_ids)} queries (query_ids)"
            raise DataError(f"the run has no query '{query}'", remedy=remedy)
        row = np.array([self.query_ids.index(query)])
        return list(self.rows(row).to_dict()[query].items())


def checked(scores: NDArray[np.float32], allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
    """Return scores as every ranking has them: finite where ``allowed``, and 0.0 for -0.0, which sorts otherwise.

    Every score that enters an order passes here: those of models by :class:`TopK`, those of files and other search
    systems by :meth:`Run.from_dict`.
    """
    finite = np.isfinite(scores)
    if not (finite if allowed is None else finite | ~allowed).all():
        raise ModelError("the model gave a score that is not a finite number")
    return scores + np.float32(0)


def _keys(scores: NDArray[np.float32], docs: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Integers that order pairs by score, then by document id.

    The bits of a float sort like integers once those of negative ones are flipped.
    """
    bits = scores.view(np.int32)
    ordered = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits).astype(np.int64)
    return (ordered << _TIE_BITS) | (np.int64(0x7FFFFFFF) - docs.astype(np.int64))


def _best(keys: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    return keys if keys.shape[-1] <= k else np.partition(keys, keys.shape[-1] - k, axis=-1)[..., -k:]


class TopK:
    """The exact best k documents of each query over a corpus in blocks.

    Memory: 8 bytes x queries x k, and twice that while a block is merged.

    Args:
        query_ids: the queries.
        doc_ids: the corpus in descending order of ids.
        k: documents of each query.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.search.run import TopK
        >>> best = TopK(["q"], ["c", "b", "a"], k=2)
        >>> best.add(slice(0, 1), np.array([[0.25, 1.0]], np.float32), np.array([0, 1]))
        >>> best.add(slice(0, 1), np.array([[0.5]], np.float32), np.array([2]))
        >>> best.run().ranking("q")
        [('b', 1.0), ('a', 0.5)]
    """

    def __init__(self, query_ids: Sequence[str], doc_ids: list[str], k: int) -> None:
        self.query_ids = list(query_ids)
        self.doc_ids = doc_ids
        self.k = min(k, len(doc_ids))
        self._kept = np.full((len(self.query_ids), self.k), _NOTHING, np.int64)

    def add(
        self,
        rows: slice,
        scores: NDArray[np.float32],
        docs: NDArray[np.integer[Any]],
        allowed: NDArray[np.bool_] | None = None,
    ) -> None:
        """Offer a block of documents.

        Args:
            rows: the queries of the block.
            scores: [queries of the block, documents of the block].
            docs: numbers into ``doc_ids``, [documents of the block], or as scores where documents differ by query.
            allowed: as scores; False excludes a document.

        Raises:
            ModelError: the score of an allowed document is not a finite number.
        """
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(scores, np.float32)
        keys = _keys(checked(single, allowed), docs)
        if allowed is not None:
            keys[~allowed] = _NOTHING
        kept, offered = self._kept[rows], _best(keys, self.k)
        if (kept == _NOTHING).all():
            kept[:, : offered.shape[1]] = offered
        else:
            kept[:] = _best(np.concatenate([kept, offered], axis=1), self.k)

    def run(self) -> Run:
        docs, scores = np.empty(self._kept.shape, np.int32), np.empty(self._kept.shape, np.float32)
        for start in range(0, len(docs), _QUERIES_AT_ONCE):
            rows = slice(start, start + _QUERIES_AT_ONCE)
            keys = np.sort(self._kept[rows], axis=1)[:, ::-1]
            empty = keys == _NOTHING
            docs[rows] = np.where(empty, -1, np.int64(0x7FFFFFFF) - (keys & np.int64(0xFFFFFFFF)))
            ordered = (keys >> _TIE_BITS).astype(np.int32)
            bits = np.where(ordered < 0, ordered ^ np.int32(0x7FFFFFFF), ordered)
            scores[rows] = np.where(empty, np.float32(0), bits.view(np.float32))
        return Run(self.query_ids, self.doc_ids, docs, scores).trimmed()


def pairs_matrix(pairs: Mapping[str, Iterable[str]], query_ids: Sequence[str], doc_ids: Sequence[str]) -> Any:
    """(query, document) pairs as a boolean SciPy matrix [queries, documents] (CSC).

    Documents outside the corpus are ignored.

    Example:
        >>> from patent_mteb.search.run import pairs_matrix
        >>> pairs_matrix({"q1": ["a"]}, ["q1", "q2"], ["b", "a"]).toarray().tolist()
        [[False, True], [False, False]]
    """
    number = {document: position for position, document in enumerate(doc_ids)}
    listed = [[number[document] for document in pairs.get(query) or () if document in number] for query in query_ids]
    columns = [column for numbers in listed for column in numbers]
    rows = np.repeat(np.arange(len(query_ids)), [len(numbers) for numbers in listed])
    shape = (len(query_ids), len(doc_ids))
    return scipy.sparse.csc_matrix((np.ones(len(columns), np.bool_), (rows, columns)), shape=shape, dtype=np.bool_)
