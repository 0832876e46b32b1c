"""Scores of queries over documents at two precisions, for :mod:`patent_mteb.search.nearest`, whose docstring says why they suffice."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DOCUMENTS_AT_ONCE", "Found", "Half", "Keys", "Scorer", "Single", "dots"]

DOCUMENTS_AT_ONCE = 4096
_HALF_STEP = 2.0**-8
_SINGLE_STEP = 2.0**-24
_SHORTEST = 1e-15

Keys = NDArray[Any]
"""Scores in a form that orders like them: float32, or the bits of bfloat16 as int16 where only positive ones count."""


class Scorer(Protocol):
    """Scores of queries over documents at one precision, and what they leave as candidates."""

    lowest: Any
    highest: Any
    final: bool
    """Whether the keys are the scores that rankings are made of."""

    def keys(self, rows: slice, documents: slice | NDArray[np.int64]) -> Keys:
        """[documents, queries of rows], valid until the next call."""
        ...

    def floor(self, rows: slice, reached: Keys) -> Keys:
        """[queries] the keys that candidates must reach if at least k documents reach ``reached`` [queries]; ``highest`` if none can."""
        ...

    def scores(self, rows: slice, found: Found) -> NDArray[np.float32]:
        """[pairs] in single precision; ``found`` counts its queries from the first of ``rows``."""
        ...


class _Product:
    """Inner products of the rows of two matrices, always written to the same memory: fresh pages cost a tenth of the time."""

    def __init__(self) -> None:
        self._memory: Tensor | None = None

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        import torch

        size = len(first) * len(second)
        if self._memory is None or len(self._memory) < size:
            self._memory = torch.empty(size, dtype=first.dtype)
        return torch.mm(first, second.T, out=self._memory[:size].view(len(first), len(second)))


class Single:
    """Single precision: the scores are the final ones.

    Example:
        >>> import torch
        >>> from patent_mteb.search.scorers import Single
        >>> Single(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.5, 0.5], [0.25, 1.0]])).keys(slice(0, 1), slice(0, 2)).tolist()
        [[0.5], [0.25]]
    """

    lowest, highest, final = np.float32(-np.inf), np.float32(np.inf), True

    def __init__(self, queries: Tensor, documents: Tensor) -> None:
        self.queries, self.documents = queries, documents
        self._product = _Product()

    def keys(self, rows: slice, documents: slice | NDArray[np.int64]) -> Keys:
        keys: Keys = self._product(self.documents[documents], self.queries[rows]).numpy()
        return keys

    def floor(self, rows: slice, reached: Keys) -> Keys:
        return reached

    def scores(self, rows: slice, found: Found) -> NDArray[np.float32]:
        return found.key


class Half:
    """bfloat16, of unit queries and of documents less their mean, scaled so that the longest has length 1.

    Example:
        >>> import torch
        >>> from patent_mteb.search.scorers import Half
        >>> Half(torch.eye(2), torch.eye(2)).keys(slice(0, 2), slice(0, 2)).dtype
        dtype('int16')
    """

    lowest, highest, final = np.int16(-32768), np.int16(32767), False

    def __init__(self, queries: Tensor, documents: Tensor) -> None:
        import torch

        self._exact = queries, documents
        self._product = _Product()
        width = queries.shape[1]
        self._mean = documents.mean(dim=0)
        span = max(float((block - self._mean).norm(dim=1).max()) for _, block in _blocks(documents)) or 1.0
        self.documents = torch.empty(documents.shape, dtype=torch.bfloat16)
        lost = [_round(self.documents, part, (block - self._mean) / span).max().item() for part, block in _blocks(documents)]
        self.queries = torch.empty(queries.shape, dtype=torch.bfloat16)
        units = ((part, torch.nn.functional.normalize(block, dim=1)) for part, block in _blocks(queries))
        lost_of_queries = torch.cat([_round(self.queries, part, unit) for part, unit in units]).numpy().astype(np.float64)
        longest = span + float(self._mean.norm())
        summing = 2 * (width + 8) * _SINGLE_STEP * (1 + longest / span) if span > _SHORTEST else np.inf
        self._error = lost_of_queries * (1 + max(lost)) + max(lost) + summing

    def keys(self, rows: slice, documents: slice | NDArray[np.int64]) -> Keys:
        import torch

        keys: Keys = self._product(self.documents[documents], self.queries[rows]).view(torch.int16).numpy()
        return keys

    def floor(self, rows: slice, reached: Keys) -> Keys:
        error = self._error[rows]
        sure = _value(reached) * (1 - _HALF_STEP) - error
        needed = (sure - error) / (1 + _HALF_STEP)
        keys = (needed.astype(np.float32).view(np.int32) >> 16).astype(np.int16)
        return np.where((reached > 0) & (needed > 0), keys, self.highest)

    def scores(self, rows: slice, found: Found) -> NDArray[np.float32]:
        queries, documents = self._exact
        starts = np.searchsorted(found.document, np.arange(len(documents) + 1))
        return dots(documents, queries[rows], starts, found.query)


def _value(keys: Keys) -> NDArray[np.float64]:
    """The numbers behind the bits of bfloat16."""
    return (keys.astype(np.int32) << 16).view(np.float32).astype(np.float64)


def _blocks(vectors: Tensor) -> Iterator[tuple[slice, Tensor]]:
    for start in range(0, len(vectors), DOCUMENTS_AT_ONCE):
        part = slice(start, min(start + DOCUMENTS_AT_ONCE, len(vectors)))
        yield part, vectors[part]


def _round(into: Tensor, part: slice, exact: Tensor) -> Tensor:
    """Write rounded vectors, and return the length of what each lost."""
    import torch

    rounded = exact.to(torch.bfloat16)
    into[part] = rounded
    lost: Tensor = (exact - rounded.float()).norm(dim=1)
    return lost


@dataclass(frozen=True)
class Found:
    """Pairs of a document and a query of the block, in the order of the documents, with their keys."""

    document: NDArray[np.int32]
    query: NDArray[np.int16]
    key: Keys

    def at(self, chosen: NDArray[np.int64]) -> Found:
        return Found(self.document[chosen], self.query[chosen], self.key[chosen])


def dots(first: Tensor, second: Tensor, starts: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.float32]:
    """Inner products of chosen pairs: row i of ``first`` with the rows ``columns[starts[i]:starts[i + 1]]`` of ``second``.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> from patent_mteb.search.scorers import dots
        >>> dots(torch.eye(2), 2 * torch.eye(2), np.array([0, 1, 2]), np.array([0, 1])).tolist()
        [2.0, 2.0]
    """
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
        index = torch.as_tensor(starts.astype(np.int64)), torch.as_tensor(columns.astype(np.int64))
        chosen = torch.sparse_csr_tensor(*index, torch.zeros(len(columns)), size=(len(first), len(second)), check_invariants=False)
        products: NDArray[np.float32] = torch.sparse.sampled_addmm(chosen, first, second.T, beta=0.0).values().numpy()
    return products
