"""The MaxSim kernel: exact blocked matrix products over token vectors.

Score(q, d) is the sum over the query tokens of the largest dot product with a document token (Khattab and Zaharia 2020;
WIPO-AT section 3.3.4, equation 3). Documents of similar length are padded and scored together: one matrix product with
the tokens of many queries, the maximum over the tokens of each document while the products are in the cache, and the
sum over the tokens of each query. In bfloat16, token vectors and dot products are rounded; sums are in float32.

**Maximum.** The bits of floating-point numbers of the same sign, read as integers, order like the numbers (negative
ones in reverse). Processors find the largest integer much faster (ten times for bfloat16, which torch converts first).
If the largest integer is negative, all numbers are, and the smallest integer belongs to the largest number. Numbers
that are not finite would break this, so token vectors that could lead to one are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.search.vectors import slices_of
from patent_mteb.store.space import slices, spread

if TYPE_CHECKING:
    import torch

ScoreDtype = Literal["float32", "bfloat16"]
MEMORY_BUDGET = 1 << 30  # default bytes of a search: document tokens, products, scores

# Similarities of one matrix product (measured in benchmarks/maxsim.py): on a CPU they should stay in the cache between
# the product and the maximum; a GPU wants them large.
_BLOCK_ELEMENTS = {"cpu": 614_400, "cuda": 1 << 27}
_BAG_VECTORS = {"cpu": 1_200, "cuda": 1 << 16}
_QUERY_VECTORS = 1 << 15  # of a product (benchmarks/README.md)
_LANES = 64  # a width that is a multiple of it is faster (benchmarks/README.md)
_PADDING = 1.04  # documents of up to 4% more tokens are padded to one length
_LARGEST = 1e17  # products of such values fit into single precision for any model width


@dataclass(frozen=True)
class Bag:
    """Documents of similar length: positions in the input, and padded vectors (documents, length, dim)."""

    positions: torch.Tensor
    vectors: torch.Tensor


@dataclass(frozen=True)
class Queries:
    """Consecutive queries: input rows, token counts, and concatenated vectors (tokens, dim)."""

    rows: slice
    lengths: NDArray[np.int64]
    vectors: torch.Tensor


def _spans(lengths: Sequence[int], limit: int, padding: float) -> Iterator[slice]:
    """Spans of ascending lengths, of at most ``limit`` tokens if padded to the longest, ``padding`` x the shortest."""
    start = 0
    while start < len(lengths):
        stop = start + 1
        longest = padding * lengths[start]
        while stop < len(lengths) and lengths[stop] <= min(longest, limit / (stop - start + 1)):
            stop += 1
        yield slice(start, stop)
        start = stop


def _padded(tokens: Sequence[NDArray[np.float32]], length: int) -> NDArray[np.float32]:
    """(documents, length, dim): a short document repeats its first token, which changes no maximum."""
    padded = np.empty((len(tokens), length, tokens[0].shape[1]), dtype=np.float32)
    for row, vectors in zip(padded, tokens, strict=True):
        row[: len(vectors)] = vectors
        row[len(vectors) :] = vectors[0]
    return padded


class Scorer:
    """MaxSim of many queries and documents."""

    def __init__(self, dtype: ScoreDtype, device: str, memory_budget: int) -> None:
        import torch

        from patent_mteb.search.nearest import Product

        kind = "cpu" if device.startswith("cpu") else "cuda"
        self.device = device
        self._dtype = getattr(torch, dtype)
        self._bits = {torch.float32: torch.int32, torch.bfloat16: torch.int16}[self._dtype]
        self._on_cpu = kind == "cpu"
        self._block = max(1, min(_BLOCK_ELEMENTS[kind], memory_budget // (4 * self._dtype.itemsize)))
        self._limit = min(_BAG_VECTORS[kind], self._block)
        self._product = Product()

    def queries(self, tokens: Sequence[NDArray[np.float32]]) -> list[Queries]:
        """Queries in order, in matrices of a bounded number of token vectors."""
        limit = max(1, min(_QUERY_VECTORS, self._block))
        ends = np.cumsum([len(vectors) for vectors in tokens])
        return [self.joined(tokens[first:last], first) for first, last in slices(ends, 0, len(tokens), limit)]

    def joined(self, tokens: Sequence[NDArray[np.float32]], first: int = 0) -> Queries:
        """All queries in one matrix; ``first`` is the input row of the first."""
        lengths = np.array([len(vectors) for vectors in tokens], np.int64)
        return Queries(slice(first, first + len(tokens)), lengths, self._tensor(np.concatenate(tokens)))

    def bags(self, tokens: Sequence[NDArray[np.float32]]) -> list[Bag]:
        """Documents grouped by length, with little padding."""
        import torch

        lengths = np.array([len(vectors) for vectors in tokens], np.int64)
        order = np.argsort(lengths, kind="stable")
        bags = []
        for span in _spans(lengths[order].tolist(), self._limit, _PADDING):
            members = order[span]
            vectors = self._tensor(_padded([tokens[member] for member in members], int(lengths[members[-1]])))
            bags.append(Bag(torch.from_numpy(members).to(self.device), vectors))
        return bags

    def __call__(self, queries: Queries, documents: Sequence[Bag], n_documents: int) -> NDArray[np.float32]:
        """Scores of the queries against all documents: (queries, n_documents) float32."""
        import torch

        scores = torch.empty((len(queries.lengths), n_documents), dtype=torch.float32, device=self.device)
        for bag in documents:
            best = self._best(bag.vectors, queries.vectors)
            scores[:, bag.positions] = self._sums(best, np.tile(queries.lengths, len(best))).view(len(best), -1).T
        return _finite(scores)

    def of_document(
        self, document: NDArray[np.float32], queries: Queries, which: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Scores of one document for the queries ``which``, by position: float32."""
        import torch

        starts = np.cumsum(queries.lengths) - queries.lengths
        lengths = queries.lengths[which]
        tokens = torch.from_numpy(spread(starts[which], lengths)).to(self.device)
        best = self._best(self._tensor(document)[None], queries.vectors, tokens)
        return _finite(self._sums(best, lengths))

    def width(self, rows: int) -> int:
        """Query tokens of one matrix product with ``rows`` document tokens."""
        width: int = max(1, self._block // rows)
        return width - width % _LANES if width > _LANES else width

    def _best(self, documents: torch.Tensor, queries: torch.Tensor, chosen: torch.Tensor | None = None) -> torch.Tensor:
        """(documents, tokens) largest dot product of each (chosen) query token with each document."""
        import torch

        count, length, dimension = documents.shape
        size = len(queries) if chosen is None else len(chosen)
        best = torch.empty((count, size), dtype=self._dtype, device=self.device)
        width = self.width(count * length)
        for part in slices_of(size, width):
            block = queries[part] if chosen is None else queries[chosen[part]]
            similarities = self._product(documents.view(-1, dimension), block)
            self._largest(similarities.view(count, length, len(block)), best[:, part])
        return best

    def _largest(self, similarities: torch.Tensor, best: torch.Tensor) -> None:
        """Maximum over the tokens, by bits where that is faster (see the module)."""
        import torch

        if not self._on_cpu:
            torch.amax(similarities, dim=1, out=best)
            return
        bits, found = similarities.view(self._bits), best.view(self._bits)
        torch.amax(bits, dim=1, out=found)
        if int(found.min()) < 0:
            found.copy_(torch.where(found < 0, torch.amin(bits, dim=1), found))

    def _tensor(self, vectors: NDArray[np.float32]) -> torch.Tensor:
        import torch

        if not -_LARGEST <= vectors.min() <= vectors.max() <= _LARGEST:
            problem = f"the model returned token vectors with NaN or values beyond {_LARGEST:g}"
            raise ModelError(f"a MaxSim score is not a finite number: {problem}.")
        return torch.from_numpy(vectors).to(device=self.device, dtype=self._dtype)

    def _sums(self, best: torch.Tensor, lengths: NDArray[np.int64]) -> torch.Tensor:
        """Sums in float32 of consecutive groups of numbers."""
        import torch

        counts = torch.from_numpy(lengths).to(self.device)
        sums: torch.Tensor = torch.segment_reduce(best.view(-1).float(), "sum", lengths=counts)
        return sums


def _finite(scores: torch.Tensor) -> NDArray[np.float32]:
    found: NDArray[np.float32] = scores.cpu().numpy()
    if not np.isfinite(found).all():
        problem = "the model returned token vectors with NaN or infinity"
        raise ModelError(f"a MaxSim score is not a finite number: {problem}.")
    return found


def check_tokens(tokens: Sequence[NDArray[np.float32]], what: str, first: int = 0) -> None:
    """Refuse texts without token vectors."""
    for position, vectors in enumerate(tokens):
        if vectors.ndim != 2 or not len(vectors):
            problem = f"{what} number {first + position + 1} has no token vectors (shape {vectors.shape})"
            raise ModelError(f"{problem}, so it has no score.")


def maxsim(
    queries: Sequence[NDArray[np.float32]],
    documents: Sequence[NDArray[np.float32]],
    *,
    dtype: ScoreDtype = "float32",
    device: str = "cpu",
    memory_budget: int = MEMORY_BUDGET,
) -> NDArray[np.float32]:
    """Exact MaxSim of every query with every document (WIPO-AT equation 3)."""
    check_tokens(queries, "query")
    check_tokens(documents, "document")
    scores = np.empty((len(queries), len(documents)), dtype=np.float32)
    scorer = Scorer(dtype, device, memory_budget)
    bags = scorer.bags(documents)
    for part in scorer.queries(queries):
        scores[part.rows] = scorer(part, bags, len(documents))
    return scores
