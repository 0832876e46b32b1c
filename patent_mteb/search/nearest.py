"""Exact nearest documents by inner product, in blocks, partly in half precision.

**Algorithm.** From a sample of the documents, each query gets a floor that more than k documents of the corpus will
reach. The corpus is scored in blocks; only documents that reach the floor, about twice k a query, are ranked. If k
documents or more reach it, the k best are among them, whatever the sample was. A query with fewer, or with too many
(thousands of equal scores, a zero vector), is ranked over the whole corpus instead.

**Half precision.** bfloat16 products are twice as fast on processors with bfloat16 units, but misorder close documents,
so they only select candidates. Let ``t`` be the true product of a unit query and a document minus the mean of the
documents (neither changes the ranking of a query), and ``a`` the computed one. Then ``|a - t| <= e + |a| / 256``. Here
``e`` bounds the error of rounding the two vectors (measured as the length of the difference, Cauchy-Schwarz) and of
single-precision sums, here and in the final scores. With ``a_k`` the k-th largest computed product, at least k
documents have ``t >= a_k - e - |a_k| / 256``. So a document whose ``a`` is below that by more than its own error is not
among the best k. All others are scored in single precision. Where the errors leave too many candidates (vectors that
differ little from their mean), the block is computed in single precision.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from patent_mteb.errors import ModelError
from patent_mteb.search.run import TopK
from patent_mteb.search.vectors import joined, slices_of
from patent_mteb.store.space import runs

DOCUMENTS_AT_ONCE = 4096  # of a product (benchmarks/README.md)
_HALF_STEP = 2.0**-8  # greatest relative error of bfloat16, which has 8 bits
_SINGLE_STEP = 2.0**-24  # greatest relative error of float32, which has 24 bits
_SHORTEST = 1e-15  # a vector shorter than this has no direction in float32
Keys = NDArray[Any]  # sortable scores: float32, or the bits of positive bfloat16 as int16


class Product:
    """Matrix products in reused memory: new pages cost a tenth of the time."""

    def __init__(self) -> None:
        self._memory: Tensor | None = None

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        size = len(first) * len(second)
        if self._memory is None or len(self._memory) < size:
            self._memory = torch.empty(size, dtype=first.dtype, device=first.device)
        return torch.mm(first, second.T, out=self._memory[:size].view(len(first), len(second)))


class Single:
    """Single precision: the keys are the final scores."""

    lowest: Any = np.float32(-np.inf)
    highest: Any = np.float32(np.inf)
    final = True

    queries: Tensor

    def __init__(self, documents: Tensor) -> None:
        self.documents = documents
        self._product = Product()

    def ask(self, queries: Tensor) -> None:
        """Take the block of queries that all other methods are about."""
        self.queries = queries

    def keys(self, documents: slice | NDArray[np.int64]) -> Keys:
        """[documents, queries], valid until the next call."""
        keys: Keys = self._product(self.documents[documents], self.queries).numpy()
        return keys

    def floor(self, rows: slice, reached: Keys) -> Keys:
        """[queries] least keys of candidates if k documents reach ``reached``; ``highest`` if there is no floor."""
        return reached

    def scores(self, rows: slice, found: Pairs) -> NDArray[np.float32]:
        """[pairs] in single precision; ``found`` numbers its queries from the first of ``rows``."""
        return found.key


class Half:
    """bfloat16 of unit queries and of centred documents of length 1 at most."""

    lowest: Any = np.int16(-32768)
    highest: Any = np.int16(32767)
    final = False

    queries: Tensor

    def __init__(self, documents: Tensor) -> None:
        self._exact = documents
        self._product = Product()
        self._mean = documents.mean(dim=0)
        span = max(float((block - self._mean).norm(dim=1).max()) for _, block in _blocks(documents)) or 1.0
        self.documents = torch.empty(documents.shape, dtype=torch.bfloat16)
        centred = ((part, (block - self._mean) / span) for part, block in _blocks(documents))
        self._lost = max(_round(self.documents, part, block).max().item() for part, block in centred)
        longest = span + float(self._mean.norm())
        summing = 2 * (documents.shape[1] + 8) * _SINGLE_STEP * (1 + longest / span) if span > _SHORTEST else np.inf
        self._least_error = self._lost + summing

    def ask(self, queries: Tensor) -> None:
        self._exact_queries = queries
        self.queries = torch.empty(queries.shape, dtype=torch.bfloat16)
        lost = _round(self.queries, slice(None), torch.nn.functional.normalize(queries, dim=1)).double().numpy()
        self._error = lost * (1 + self._lost) + self._least_error

    def keys(self, documents: slice | NDArray[np.int64]) -> Keys:
        keys: Keys = self._product(self.documents[documents], self.queries).view(torch.int16).numpy()
        return keys

    def floor(self, rows: slice, reached: Keys) -> Keys:
        error = self._error[rows]
        sure = _value(reached) * (1 - _HALF_STEP) - error
        needed = (sure - error) / (1 + _HALF_STEP)
        keys = (needed.astype(np.float32).view(np.int32) >> 16).astype(np.int16)
        return np.where((reached > 0) & (needed > 0), keys, self.highest)

    def scores(self, rows: slice, found: Pairs) -> NDArray[np.float32]:
        starts = np.searchsorted(found.document, np.arange(len(self._exact) + 1))
        return dots(self._exact, self._exact_queries[rows], starts, found.query)


Scorer = Single | Half  # scores of documents at one precision, and the candidates that they leave


def _value(keys: Keys) -> NDArray[np.float64]:
    return (keys.astype(np.int32) << 16).view(np.float32).astype(np.float64)


def _blocks(vectors: Tensor) -> Iterator[tuple[slice, Tensor]]:
    return ((part, vectors[part]) for part in slices_of(len(vectors), DOCUMENTS_AT_ONCE))


def _round(into: Tensor, part: slice, exact: Tensor) -> Tensor:
    """Write rounded vectors, and return the length of each rounding error."""
    rounded = exact.to(torch.bfloat16)
    into[part] = rounded
    lost: Tensor = (exact - rounded.float()).norm(dim=1)
    return lost


@dataclass(frozen=True)
class Pairs:
    """Pairs of a document and a query of the block, by document, with their keys."""

    document: NDArray[np.int32]
    query: NDArray[np.int16]
    key: Keys

    def at(self, chosen: NDArray[np.int64]) -> Pairs:
        return Pairs(self.document[chosen], self.query[chosen], self.key[chosen])


def dots(first: Tensor, second: Tensor, starts: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float32]:
    """Inner products of row i of ``first`` with the rows ``columns[starts[i]:starts[i + 1]]`` of ``second``."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
        rows, where = torch.as_tensor(starts.astype(np.int64)), torch.as_tensor(columns.astype(np.int64))
        nothing, shape = torch.zeros(len(columns)), (len(first), len(second))
        chosen = torch.sparse_csr_tensor(rows, where, nothing, size=shape, check_invariants=False)
        products: NDArray[np.float32] = torch.sparse.sampled_addmm(chosen, first, second.T, beta=0.0).values().numpy()
    return products


_QUERIES_AT_ONCE = 2048  # of a product, shared by the threads
_FULL_ROWS_MB = 64  # of scores in memory where all documents are compared
_FEW_DOCUMENTS = 8192  # up to which no sample is drawn: it would cost more than it saves
_SAMPLED = 32  # one in 32 documents is in the sample that gives the floor
_LEAST_SAMPLE = 2048  # documents
_TOO_MANY = 4  # times as many documents above the floor as wanted: it saves too little
_MOST_WITHOUT_FLOOR = 1 / 8  # share of queries; with more, the floor is not used
_RANKED_AT_ONCE = 256  # queries that a thread ranks at a time
_LEAST_SPAN = 256  # queries of a thread, a choice
_MOST_SPAN = 1024  # queries of a thread, a choice
_KEYS_AT_ONCE = 1 << 20  # of scores and documents that are merged at a time: 8 MB
_LARGEST = 1e38  # the greatest float32 is 3.4e38


def has_fast_bfloat16() -> bool:
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any("bf16" in name and bool(there) for name, there in capabilities.items())


def _table(
    query: NDArray[np.int16], n_queries: int, *columns: NDArray[Any]
) -> tuple[NDArray[np.bool_], list[NDArray[Any]]]:
    """Pairs as one row for each query: a mask of filled places, and each column (0 where empty)."""
    order = np.argsort(query, kind="stable")
    counts = np.bincount(query, minlength=n_queries)
    filled = np.arange(counts.max(initial=0)) < counts[:, None]
    tables = []
    for column in columns:
        table = np.zeros(filled.shape, column.dtype)
        table[filled] = column[order]
        tables.append(table)
    return filled, tables


def _hide(keys: Keys, hidden: Any, start: int, lowest: Any) -> None:
    """Give excluded pairs (CSC matrix) the lowest key; ``start`` is the number of the first document."""
    if hidden is not None:
        ends = hidden.indptr[start : start + len(keys) + 1]
        documents = np.repeat(np.arange(len(keys)), np.diff(ends))
        keys[documents, hidden.indices[ends[0] : ends[-1]]] = lowest


def _hide_later(keys: Keys, seen: NDArray[np.int64], lowest: Any) -> None:
    """Give documents from position ``seen`` [queries] on the lowest key."""
    for query in np.flatnonzero((seen > 0) & (seen < len(keys))):
        keys[seen[query] :, query] = lowest


def _reaching(keys: Keys, floor: Keys, start: int) -> Pairs:
    """Pairs whose key reaches the floor of the query; ``start`` is the first document."""
    flat = np.flatnonzero(keys >= floor)
    document = flat // keys.shape[1]
    query = (flat - document * keys.shape[1]).astype(np.int16)
    return Pairs((document + start).astype(np.int32), query, keys.reshape(-1)[flat])


class _Search:
    """Prepared documents of one call."""

    def __init__(
        self,
        best: TopK,
        documents: Tensor,
        numbers: NDArray[np.int64],
        hidden: Any,
        half: bool,
        seen: NDArray[np.int64],
    ) -> None:
        self.best, self.numbers, self.seen = best, numbers, seen
        self.hidden = None if hidden is None or hidden.nnz == 0 else hidden.tocsr()
        self.single = Single(documents)
        self.threads = torch.get_num_threads()
        self.span = max(_LEAST_SPAN, min(_MOST_SPAN, _QUERIES_AT_ONCE // self.threads))
        self.sample: NDArray[np.int64] | None = None
        n = len(documents)
        if n > _FEW_DOCUMENTS:
            size = max(_LEAST_SAMPLE, n // _SAMPLED)
            expected = best.k * size / n
            self.rank = int(np.ceil(expected + 3 * np.sqrt(expected) + 3))
            if self.rank * _TOO_MANY < size:
                self.sample = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        self.scorers: list[Scorer] = []
        if self.sample is not None:
            self.scorers = [*([Half(documents)] if half else []), self.single]

    def add(self, pool: ThreadPoolExecutor, rows: slice, queries: Tensor) -> None:
        hidden = None if self.hidden is None else self.hidden[rows].tocsc()
        for scorer in self.scorers or [self.single]:  # the single one is their last
            scorer.ask(queries)
        done = np.zeros(rows.stop - rows.start, np.bool_)
        for scorer in self.scorers:
            if (floor := self._floor(scorer, rows, hidden)) is not None:
                done = self._rank_few(pool, scorer, rows, floor, hidden)
                break
        self._rank_all(pool, rows.start, np.flatnonzero(~done))

    def _floor(self, scorer: Scorer, rows: slice, hidden: Any) -> Keys | None:
        """Floor of each query, ``highest`` without one; None if too many have none."""
        assert self.sample is not None
        keys = scorer.keys(self.sample)
        _hide(keys, hidden if hidden is None else hidden[:, self.sample], 0, scorer.lowest)
        _hide_later(keys, np.searchsorted(self.sample, self.seen[rows]), scorer.lowest)
        by_query = np.ascontiguousarray(keys.T)
        place = by_query.shape[1] - self.rank
        floor = scorer.floor(slice(None), np.partition(by_query, place, axis=1)[:, place])
        useless = (by_query >= floor[:, None]).sum(axis=1) > _TOO_MANY * self.rank
        floor[useless] = scorer.highest
        return None if (floor == scorer.highest).mean() > _MOST_WITHOUT_FLOOR else floor

    def _rank_few(
        self, pool: ThreadPoolExecutor, scorer: Scorer, rows: slice, floor: Keys, hidden: Any
    ) -> NDArray[np.bool_]:
        """Rank the pairs above the floor; return the queries for which this suffices."""
        spans = list(slices_of(rows.stop - rows.start, self.span))
        floors = [floor[span] for span in spans]
        parts: list[list[Pairs]] = []
        for start in range(0, max(int(self.seen[rows].max()), 1), DOCUMENTS_AT_ONCE):
            keys = scorer.keys(slice(start, start + DOCUMENTS_AT_ONCE))
            _hide(keys, hidden, start, scorer.lowest)
            left = self.seen[rows] - start
            _hide_later(keys, left, scorer.lowest)
            here = np.where(left > 0, floor, scorer.highest)
            keys_of, floor_of = [keys[:, span] for span in spans], [here[span] for span in spans]
            parts.append(list(pool.map(_reaching, keys_of, floor_of, repeat(start))))
        selected = list(pool.map(self._selected, repeat(scorer), spans, floors, zip(*parts, strict=True)))
        scores = [scorer.scores(span, found) for span, (_, found) in zip(spans, selected, strict=True)]
        places = [slice(rows.start + span.start, rows.start + span.stop) for span in spans]
        list(pool.map(self._rank, places, [found for _, found in selected], scores))
        return np.concatenate([done for done, _ in selected])

    def _selected(
        self, scorer: Scorer, rows: slice, floor: Keys, parts: Sequence[Pairs]
    ) -> tuple[NDArray[np.bool_], Pairs]:
        """Queries whose k best reached the floor, and the pairs that can be among them."""
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("document", "query", "key"))
        found = Pairs(*columns)
        k, size = self.best.k, rows.stop - rows.start
        if scorer.final:
            done = np.bincount(found.query, minlength=size) >= k
            return done, found.at(np.flatnonzero(done[found.query]))
        filled, (keys,) = _table(found.query, size, found.key)
        keys[~filled] = scorer.lowest
        needed = np.full(size, scorer.highest)
        if filled.shape[1] >= k:
            needed = scorer.floor(rows, np.partition(keys, -k, axis=1)[:, -k])
        done = (needed >= floor) & (needed < scorer.highest)
        needed[~done] = scorer.highest
        return done, found.at(np.flatnonzero(found.key >= needed[found.query]))

    def _rank(self, rows: slice, found: Pairs, scores: NDArray[np.float32]) -> None:
        filled, (documents, values) = _table(found.query, rows.stop - rows.start, found.document, scores)
        for part in slices_of(len(filled), _RANKED_AT_ONCE):
            where = slice(rows.start + part.start, rows.start + part.stop)
            self.best.add(where, values[part], self.numbers[documents[part]], filled[part])

    def _rank_all(self, pool: ThreadPoolExecutor, first: int, queries: NDArray[np.int64]) -> None:
        """Rank the whole corpus for these queries of the block that begins with ``first``."""
        step = max(1, int(_FULL_ROWS_MB * 1e6 / 4 / len(self.numbers)))
        for start in range(0, len(queries), step):
            scores = (self.single.queries[queries[start : start + step]] @ self.single.documents.T).numpy()
            batch = first + queries[start : start + step]
            hidden = None if self.hidden is None else self.hidden[batch]

            def add(part: slice, batch: Any = batch, scores: Any = scores, hidden: Any = hidden) -> None:
                rows = batch[part]
                allowed = np.arange(len(self.numbers)) < self.seen[rows, None]
                if hidden is not None:
                    some = hidden[part]
                    allowed[np.repeat(np.arange(len(rows)), np.diff(some.indptr)), some.indices] = False
                self.best.add(slice(rows[0], rows[-1] + 1), scores[part], self.numbers, allowed)

            list(pool.map(add, _neighbours(batch, max(1, _KEYS_AT_ONCE // len(self.numbers)))))


def _neighbours(rows: NDArray[np.int64], most: int) -> list[slice]:
    """Slices of consecutive numbers in a sorted array, of at most ``most`` each."""
    spans = runs(rows - np.arange(len(rows)))
    return [slice(first, min(first + most, last)) for start, last in spans for first in range(start, last, most)]


def _largest(vectors: Tensor) -> float:
    return max(float(vectors.max()), -float(vectors.min()))


def _check(queries: Tensor, largest: float) -> None:
    """Refuse vectors whose products with documents of values up to ``largest`` may exceed single precision."""
    first = _largest(queries)
    if not first * largest * queries.shape[1] < _LARGEST:
        problem = f"vectors with values up to {first:g} and {largest:g} have inner products beyond single precision"
        raise ModelError(problem)


def add_nearest(
    best: TopK,
    queries: Any,
    documents: Tensor,
    numbers: NDArray[np.int64],
    hidden: Any = None,
    half: bool | None = None,
    seen: NDArray[np.int64] | None = None,
    kind: str = "dot",
) -> None:
    """Offer the documents of largest inner product with each query to ``best``; ``cosine`` normalises the queries."""
    if not len(queries) or not len(documents):
        return
    largest = _largest(documents)
    seen = np.full(len(queries), len(documents)) if seen is None else seen
    search = _Search(best, documents, numbers, hidden, has_fast_bfloat16() if half is None else half, seen)
    with ThreadPoolExecutor(search.threads) as pool:
        for rows in slices_of(len(queries), _QUERIES_AT_ONCE):
            block = joined([queries[rows]], kind)
            _check(block, largest)
            search.add(pool, rows, block)


def add_pairs(best: TopK, queries: Tensor, documents: Tensor, numbers: NDArray[np.int64], pairs: Any) -> None:
    """Offer candidate pairs to ``best``, with their inner products."""
    if not pairs.nnz:
        return
    _check(queries, _largest(documents))
    rows = pairs.tocsr()
    scores = dots(queries, documents, rows.indptr, rows.indices)
    for query in np.flatnonzero(np.diff(rows.indptr)):
        part = slice(rows.indptr[query], rows.indptr[query + 1])
        best.add(slice(query, query + 1), scores[None, part], numbers[rows.indices[part]])
