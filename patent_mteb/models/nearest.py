"""The nearest documents of many queries by inner product: exact, in blocks, with the matrix product in half precision where that pays.

**How.** A block of queries is compared with a sample of the documents. From the sample each query gets a floor that more than k
documents of the corpus will reach. The corpus passes by in blocks; what reaches the floor is kept, about twice k documents a
query, and these few are ranked. Nothing of size queries x documents is ever held, and no block is sorted.

**Why it is exact.** If k documents or more reach the floor, the k best are among them, whatever the sample was. A query where
fewer do, or so many that the floor says nothing (equal scores by the thousand, a query without direction), is ranked over the
whole corpus instead.

**Half precision.** bfloat16 products are twice as fast on processors that have them, but order close documents wrongly. They are
used to find candidates only. Let ``t`` be the true product of a unit query and a document from which the mean of the documents was
taken (both leave a query's ranking as it is), ``a`` the computed one. Then ``|a - t| <= e + |a| / 256``, where ``e`` bounds what
rounding the two vectors costs (measured as the length of the difference, Cauchy-Schwarz) and what summing in single precision
costs, here and in the final scores. With ``a_k`` the k-th largest computed product, at least k documents have ``t >= a_k - e - |a_k| /
256``; so a document whose ``a`` lies below that by more than its own error is not among the best k. All others are scored in single
precision. Where the errors are too large to leave few candidates (vectors that differ little from their mean), the block is done
in single precision.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

    from patent_mteb.models.search import TopK

__all__ = ["add_nearest", "add_pairs", "has_fast_bfloat16"]

_QUERIES_AT_ONCE = 2048
_DOCUMENTS_AT_ONCE = 4096
_FULL_ROWS_MB = 64
_FEW_DOCUMENTS = 8192
_SAMPLED = 64
_LEAST_SAMPLE = 2048
_TOO_MANY = 4
_HALF_STEP = 2.0**-8
_SINGLE_STEP = 2.0**-24
_LARGEST = 1e38

Keys = NDArray[Any]
"""Scores in a form that orders like them: float32, or the bits of bfloat16 as int16 where only positive ones count."""


def has_fast_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 by itself."""
    import torch

    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any("bf16" in name and bool(there) for name, there in capabilities.items())


class _Scorer(Protocol):
    """Scores of queries over documents at one precision, and what they leave as candidates."""

    lowest: Any
    highest: Any

    def keys(self, rows: slice, documents: slice | NDArray[np.int64]) -> Keys:
        """[documents, queries of rows]."""
        ...

    def floor(self, rows: slice, reached: Keys) -> Keys:
        """[queries] the keys that candidates must reach if at least k documents reach ``reached`` [queries]; ``highest`` if none can."""
        ...


class _Single:
    """Single precision: the scores are the final ones."""

    lowest, highest = np.float32(-np.inf), np.float32(np.inf)

    def __init__(self, queries: Tensor, documents: Tensor) -> None:
        self.queries, self.documents = queries, documents

    def keys(self, rows: slice, documents: slice | NDArray[np.int64]) -> Keys:
        keys: Keys = (self.documents[documents] @ self.queries[rows].T).numpy()
        return keys

    def floor(self, rows: slice, reached: Keys) -> Keys:
        return reached


class _Half:
    """bfloat16, of unit queries and of documents less their mean, scaled so that the longest has length 1."""

    lowest, highest = np.int16(-32768), np.int16(32767)

    def __init__(self, queries: Tensor, documents: Tensor) -> None:
        import torch

        width = queries.shape[1]
        self._mean = documents.mean(dim=0, dtype=torch.float64).float()
        spans, lengths = zip(*(_norms(block, self._mean) for _, block in _blocks(documents)), strict=True)
        span = max(max(spans), float(np.finfo(np.float32).tiny))
        self.documents = torch.empty(documents.shape, dtype=torch.bfloat16)
        lost = [
            _round(self.documents, part, (block - self._mean) / span).max().item() for part, block in _blocks(documents)
        ]
        self.queries = torch.empty(queries.shape, dtype=torch.bfloat16)
        units = ((part, torch.nn.functional.normalize(block, dim=1)) for part, block in _blocks(queries))
        lost_of_queries = torch.cat([_round(self.queries, part, unit) for part, unit in units]).numpy().astype(np.float64)
        summing = 4 * (width + 8) * _SINGLE_STEP * max(1.0, max(lengths) / span)
        self._error = lost_of_queries * (1 + max(lost)) + max(lost) + summing

    def keys(self, rows: slice, documents: slice | NDArray[np.int64]) -> Keys:
        import torch

        keys: Keys = (self.documents[documents] @ self.queries[rows].T).view(torch.int16).numpy()
        return keys

    def floor(self, rows: slice, reached: Keys) -> Keys:
        error = self._error[rows]
        sure = _value(reached) * (1 - _HALF_STEP) - error
        needed = (sure - error) / (1 + _HALF_STEP)
        keys = np.floor(needed.astype(np.float32).view(np.int32) / 65536).astype(np.int16)
        return np.where((reached > 0) & (needed > 0), keys, self.highest)


def _value(keys: Keys) -> NDArray[np.float64]:
    """The numbers behind the bits of bfloat16."""
    return (keys.astype(np.int32) << 16).view(np.float32).astype(np.float64)


def _blocks(vectors: Tensor) -> Iterator[tuple[slice, Tensor]]:
    for start in range(0, len(vectors), _DOCUMENTS_AT_ONCE):
        part = slice(start, min(start + _DOCUMENTS_AT_ONCE, len(vectors)))
        yield part, vectors[part]


def _norms(block: Tensor, mean: Tensor) -> tuple[float, float]:
    """The largest length of a vector less the mean, and of a vector."""
    return (block - mean).norm(dim=1).max().item(), block.norm(dim=1).max().item()


def _round(into: Tensor, part: slice, exact: Tensor) -> Tensor:
    """Write rounded vectors, and return the length of what each lost."""
    import torch

    rounded = exact.to(torch.bfloat16)
    into[part] = rounded
    return (exact - rounded.float()).norm(dim=1)


@dataclass(frozen=True)
class _Found:
    """Pairs of a document and a query of the block, in the order of the documents, with their keys."""

    document: NDArray[np.int32]
    query: NDArray[np.int16]
    key: Keys

    @classmethod
    def join(cls, parts: list[_Found]) -> _Found:
        return cls(
            np.concatenate([part.document for part in parts]),
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.key for part in parts]),
        )

    def only(self, kept: NDArray[np.bool_]) -> _Found:
        return _Found(self.document[kept], self.query[kept], self.key[kept])


def _table(query: NDArray[np.int16], n_queries: int, empty: Any, *columns: NDArray[Any]) -> tuple[NDArray[np.bool_], list[NDArray[Any]]]:
    """Pairs as rows, one a query: which places are filled [queries, most pairs of a query], and each column in that form."""
    order = np.argsort(query, kind="stable")
    counts = np.bincount(query, minlength=n_queries)
    filled = np.arange(counts.max(initial=0)) < counts[:, None]
    tables = []
    for column in columns:
        table = np.full(filled.shape, empty, column.dtype)
        table[filled] = column[order]
        tables.append(table)
    return filled, tables


class _Search:
    """The queries and documents of one call, prepared."""

    def __init__(self, best: TopK, queries: Tensor, documents: Tensor, numbers: NDArray[np.int64], hidden: Any, half: bool) -> None:
        import torch

        self.best, self.numbers = best, numbers
        self.hidden = None if hidden is None or hidden.nnz == 0 else hidden.tocsr()
        self.single = _Single(queries, documents)
        self.threads = torch.get_num_threads()
        n = len(documents)
        self.sample: NDArray[np.int64] | None = None
        if n > _FEW_DOCUMENTS:
            size = max(_LEAST_SAMPLE, n // _SAMPLED)
            self.sample = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
            expected = best.k * size / n
            self.rank = int(np.ceil(expected + 4 * np.sqrt(expected) + 4))
            if self.rank * _TOO_MANY > size:
                self.sample = None
        self.half = _Half(queries, documents) if half and self.sample is not None else None

    def add(self, pool: ThreadPoolExecutor, rows: slice) -> None:
        hidden = None if self.hidden is None else self.hidden[rows].tocsc()
        done = np.zeros(rows.stop - rows.start, np.bool_)
        if self.half is not None and (found := self._candidates(pool, self.half, rows, hidden, patient=False)) is not None:
            done, candidates = self._settled(self.half, rows, found)
            self._rank(pool, rows, candidates, self._rescored(candidates, rows))
        elif self.sample is not None and (found := self._candidates(pool, self.single, rows, hidden)) is not None:
            done, candidates = self._settled(self.single, rows, found)
            self._rank(pool, rows, candidates, candidates.key)
        self._whole_rows(pool, rows, np.flatnonzero(~done), hidden)

    def _candidates(self, pool: ThreadPoolExecutor, scorer: _Scorer, rows: slice, hidden: Any, patient: bool = True) -> _Found | None:
        """What reaches the floor of its query, for queries where that is few; None if it is not for an eighth of them and no ``patient``."""
        assert self.sample is not None
        keys = scorer.keys(rows, self.sample)
        _hide(keys, hidden if hidden is None else hidden[:, self.sample], 0, scorer.lowest)
        by_query = np.ascontiguousarray(keys.T)
        place = by_query.shape[1] - self.rank
        floor = scorer.floor(rows, np.partition(by_query, place, axis=1)[:, place])
        useless = (by_query >= floor[:, None]).sum(axis=1) > _TOO_MANY * self.rank
        floor = np.where(useless | (floor == scorer.lowest), scorer.highest, floor)
        if not patient and (floor == scorer.highest).mean() > 1 / 8:
            return None
        parts: list[_Found] = []
        for start in range(0, len(self.numbers), _DOCUMENTS_AT_ONCE):
            block = slice(start, min(start + _DOCUMENTS_AT_ONCE, len(self.numbers)))
            keys = scorer.keys(rows, block)
            _hide(keys, hidden, start, scorer.lowest)
            step = -(-len(keys) // self.threads)
            parts += pool.map(lambda first, keys=keys, start=start: _reaching(keys[first : first + step], floor, start + first), range(0, len(keys), step))
        return _Found.join(parts)

    def _settled(self, scorer: _Scorer, rows: slice, found: _Found) -> tuple[NDArray[np.bool_], _Found]:
        """Which queries have all their candidates, and these."""
        k, size = self.best.k, rows.stop - rows.start
        filled, (keys,) = _table(found.query, size, scorer.lowest, found.key)
        enough = filled.sum(axis=1) >= k
        if not enough.any():
            return enough, found.only(np.zeros(len(found.key), np.bool_))
        place = keys.shape[1] - k
        kth = np.partition(keys, place, axis=1)[:, place]
        needed = scorer.floor(rows, kth)
        return enough, found.only((found.key >= needed[found.query]) & enough[found.query])
