"""The weights of a BM25 index, a block of documents after the other.

An index takes 8 bytes for each distinct word of a document, 1.5 GB for a million abstracts with claims. Only the frequency of each term
and the mean length are of the whole corpus; with them the weights of some documents are worked out, and searched, without the others. What
is more than a given size lies in a temporary file and is read a block at a time. Scores and order do not depend on where the blocks end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.memory import portion
from patent_mteb.patents.spool import held_up_to

__all__ = ["TermWeights", "held_matrices"]

_AT_ONCE = 1 << 27
"""Bytes of the weights of a block."""

_IN_MEMORY = 1 << 28
"""Bytes of the weights, and before of the frequencies, that stay in memory."""

_ENTRY_BYTES = 8


def held_matrices(matrices: Iterable[Any]) -> Sequence[Any]:
    """SciPy CSR matrices, in memory as long as they are small together.

    Example:
        >>> import scipy.sparse
        >>> from patent_mteb.search.bm25_weights import held_matrices
        >>> len(held_matrices(scipy.sparse.csr_matrix([[number]]) for number in range(3)))
        3
    """
    return held_up_to(portion(1 / 8, _IN_MEMORY), matrices, _size)


def _size(matrix: Any) -> int:
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


class TermWeights:
    """The weights of a corpus in single precision, as bm25s keeps them: idf = ln(1 + (N - df + 0.5) / (df + 0.5)) times
    tf / (tf + k1 (1 - b + b length / mean length)).

    Args:
        counts: term frequencies of some documents after the other, SciPy CSR matrices [documents, terms met so far].
        n_terms: number of all terms.
        k1, b: as in :class:`~patent_mteb.search.bm25.BM25Settings`.

    Attributes:
        n_docs: number of all documents.
        nbytes: bytes of all weights, wherever they lie.

    Example:
        >>> import scipy.sparse
        >>> from patent_mteb.search.bm25_weights import TermWeights
        >>> counts = [scipy.sparse.csr_matrix([[2]]), scipy.sparse.csr_matrix([[1, 1]])]
        >>> [(first, block.shape, block.nnz) for first, block in TermWeights(counts, n_terms=2, k1=1.2, b=0.75)]
        [(0, (2, 2), 3)]
    """

    def __init__(self, counts: Sequence[Any], n_terms: int, k1: float, b: float) -> None:
        sums, frequency = [np.zeros(0)], np.zeros(n_terms, np.int64)
        for block in counts:
            sums.append(np.asarray(block.sum(axis=1, dtype=np.float64)).ravel())
            frequency += np.bincount(block.indices, minlength=n_terms)
        lengths = np.concatenate(sums)
        self.n_docs, self.nbytes = len(lengths), 0
        mean_length = (lengths.mean() if len(lengths) else 0.0) or 1.0
        idf = np.log(1 + (len(lengths) - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        saturation = k1 * ((1 - b) + b * lengths / mean_length)
        self._blocks = held_matrices(self._made(counts, idf, saturation))

    def _made(self, counts: Sequence[Any], idf: NDArray[np.float32], saturation: NDArray[np.float64]) -> Iterator[Any]:
        first = 0
        for group in _groups(counts):
            last = first + sum(block.shape[0] for block in group)
            weights = _weighted(group, idf, saturation[first:last])
            self.nbytes += _size(weights)
            yield weights
            first = last

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The number of the first document of a block, and its weights: a SciPy CSR matrix [terms, documents]."""
        first = 0
        for place in range(len(self._blocks)):
            weights = self._blocks[place]
            yield first, weights
            first += weights.shape[1]


def _groups(counts: Iterable[Any]) -> Iterator[list[Any]]:
    """Frequencies of neighbouring documents whose weights make a block; at least one group, so that an empty corpus has a block."""
    group: list[Any] = []
    entries, most = 0, portion(1 / 16, _AT_ONCE) // _ENTRY_BYTES
    for block in counts:
        if group and entries + block.nnz > most:
            yield group
            group, entries = [], 0
        group.append(block)
        entries += block.nnz
    yield group


def _weighted(counts: Sequence[Any], idf: NDArray[np.float32], saturation: NDArray[np.float64]) -> Any:
    """Weights [terms, documents] of the term frequencies of some documents after the other."""
    import scipy.sparse

    held = np.zeros(len(idf), np.int64)
    for block in counts:
        held += np.bincount(block.indices, minlength=len(idf))
    ends = np.concatenate([[0], np.cumsum(held)])
    numbers = np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64
    weights, documents, filled = np.empty(ends[-1], np.float32), np.empty(ends[-1], numbers), ends[:-1].copy()
    first = 0
    for block in counts:
        by_term = block.tocsc()
        held = np.diff(by_term.indptr)
        terms = np.repeat(np.arange(len(held)), held)
        places = np.arange(len(terms)) + (filled[: len(held)] - by_term.indptr[:-1])[terms]
        tf = by_term.data.astype(np.float64)
        weights[places] = idf[terms] * (tf / (saturation[first + by_term.indices] + tf))
        documents[places] = first + by_term.indices
        filled[: len(held)] += held
        first += block.shape[0]
    return scipy.sparse.csr_matrix((weights, documents, ends.astype(numbers)), shape=(len(idf), first))
