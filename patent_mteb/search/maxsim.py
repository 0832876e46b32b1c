"""The MaxSim kernel: blocked matrix products over token vectors of uneven length, exact, on CPU or CUDA.

Score(q, d) is the sum over the query tokens of the largest dot product with a document token (Khattab and Zaharia 2020;
WIPO-AT section 3.3.4, equation 3). Texts of similar length are padded to one length and scored together: one matrix product of all
their token vectors, the maximum over each document's tokens while the products are still in the cache, the sum over each
query's tokens in float32. ``benchmarks/maxsim.py`` measures it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from patent_mteb.errors import ModelError

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

__all__ = ["MEMORY_BUDGET", "Bag", "ScoreDtype", "Scorer", "check_tokens", "maxsim"]

ScoreDtype = Literal["float32", "bfloat16"]

MEMORY_BUDGET = 1 << 30
"""Default working memory of a search in bytes: document tokens in flight, similarities and scores."""

# Similarities of one matrix product. On a CPU they should stay in the cache between the product and the maximum; a GPU wants
# them large. Measured in benchmarks/maxsim.py.
_BLOCK_ELEMENTS = {"cpu": 1_250_000, "cuda": 1 << 27}
_BAG_VECTORS = {"cpu": 2_400, "cuda": 1 << 16}
_QUERY_VECTORS = 1 << 15
_PADDING = 1.1


@dataclass(frozen=True)
class Bag:
    """Texts of similar length, padded to one: vectors (texts, length, dim), and the texts' positions in the input."""

    positions: torch.Tensor
    vectors: torch.Tensor


def _bags(tokens: Sequence[NDArray[np.float32]], *, limit: int, pad_with_first: bool, dtype: ScoreDtype, device: str) -> Iterator[Bag]:
    """Group texts by length into bags of at most ``limit`` token vectors (at least one text) and little padding.

    Padding never changes a score: a document repeats its first token, which leaves a maximum alone; a query gets zero vectors,
    whose maximum adds zero.
    """
    import torch

    lengths = np.array([len(vectors) for vectors in tokens])
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        longest = _PADDING * lengths[order[start]]
        while stop < len(order) and lengths[order[stop]] <= min(longest, limit / (stop - start + 1)):
            stop += 1
        members = order[start:stop]
        padded = np.zeros((len(members), lengths[members[-1]], tokens[members[0]].shape[1]), dtype=np.float32)
        for row, member in enumerate(members):
            vectors = tokens[member]
            padded[row, : len(vectors)] = vectors
            if pad_with_first:
                padded[row, len(vectors) :] = vectors[0]
        yield Bag(torch.from_numpy(members).to(device), torch.from_numpy(padded).to(device=device, dtype=getattr(torch, dtype)))
        start = stop


class Scorer:
    """MaxSim of bags, with one reused buffer for the similarities.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.search.maxsim import Scorer
        >>> scorer, tokens = Scorer("float32", "cpu", 1 << 20), [np.array([[1.0, 0.0], [0.0, 2.0]], np.float32)]
        >>> (bag,) = scorer.query_bags(tokens)
        >>> scorer(bag, scorer.document_bags(tokens), 1)  # 1 * 1 + 2 * 2
        array([[5.]], dtype=float32)
    """

    def __init__(self, dtype: ScoreDtype, device: str, memory_budget: int) -> None:
        import torch

        kind = "cpu" if device.startswith("cpu") else "cuda"
        self.dtype: ScoreDtype = dtype
        self.device = device
        item = 4 if dtype == "float32" else 2
        self._block = max(1, min(_BLOCK_ELEMENTS[kind], memory_budget // (4 * item)))
        self._limit = min(_BAG_VECTORS[kind], self._block)
        self._buffer = torch.empty(0, dtype=getattr(torch, dtype), device=device)

    def query_bags(self, tokens: Sequence[NDArray[np.float32]]) -> list[Bag]:
        limit = max(1, min(_QUERY_VECTORS, self._block))
        return list(_bags(tokens, limit=limit, pad_with_first=False, dtype=self.dtype, device=self.device))

    def document_bags(self, tokens: Sequence[NDArray[np.float32]]) -> list[Bag]:
        return list(_bags(tokens, limit=self._limit, pad_with_first=True, dtype=self.dtype, device=self.device))

    def __call__(self, queries: Bag, documents: Sequence[Bag], n_documents: int) -> NDArray[np.float32]:
        """Scores of every query of a bag against all documents: (queries in the bag, n_documents) float32."""
        import torch

        n_queries, query_length, dimension = queries.vectors.shape
        query_tokens = queries.vectors.reshape(-1, dimension)
        scores = torch.empty((n_queries, n_documents), dtype=torch.float32, device=self.device)
        for bag in documents:
            count, length, _ = bag.vectors.shape
            document_tokens = bag.vectors.reshape(-1, dimension)
            best = torch.empty((count, len(query_tokens)), dtype=self._buffer.dtype, device=self.device)
            width = max(1, self._block // len(document_tokens))
            for start in range(0, len(query_tokens), width):
                part = query_tokens[start : start + width]
                similarities = self._view(len(document_tokens), len(part))
                torch.mm(document_tokens, part.T, out=similarities)
                torch.amax(similarities.view(count, length, len(part)), dim=1, out=best[:, start : start + width])
            scores[:, bag.positions] = best.view(count, n_queries, query_length).sum(-1, dtype=torch.float32).T
        if not bool(torch.isfinite(scores).all()):
            raise ModelError("a MaxSim score is not a finite number: the model returned token vectors with NaN or infinity.")
        return scores.cpu().numpy()

    def _view(self, rows: int, columns: int) -> torch.Tensor:
        if self._buffer.numel() < rows * columns:
            self._buffer = self._buffer.new_empty(rows * columns)
        return self._buffer[: rows * columns].view(rows, columns)


def check_tokens(tokens: Sequence[NDArray[np.float32]], what: str, first: int = 0) -> None:
    """Refuse texts without token vectors.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.search.maxsim import check_tokens
        >>> check_tokens([np.ones((3, 2), np.float32)], "query")
        >>> check_tokens([np.empty((0, 2), np.float32)], "query")
        Traceback (most recent call last):
        patent_mteb.errors.ModelError: query number 1 has no token vectors (shape (0, 2)), so it has no score.
    """
    for position, vectors in enumerate(tokens):
        if vectors.ndim != 2 or not len(vectors):
            raise ModelError(f"{what} number {first + position + 1} has no token vectors (shape {vectors.shape}), so it has no score.")


def maxsim(
    queries: Sequence[NDArray[np.float32]],
    documents: Sequence[NDArray[np.float32]],
    *,
    dtype: ScoreDtype = "float32",
    device: str = "cpu",
    memory_budget: int = MEMORY_BUDGET,
) -> NDArray[np.float32]:
    """Exact MaxSim of every query with every document (WIPO-AT equation 3).

    Args:
        queries: token vectors of each query, (tokens, dim); lengths may differ.
        documents: token vectors of each document.
        dtype: type of the dot products. "bfloat16" is about twice as fast on processors that have it, with scores good to
            about three digits; the sum over query tokens is always float32.
        device: torch device.
        memory_budget: bytes that similarities may take (a quarter of it at most is used for one block).

    Returns:
        Scores (queries, documents), float32.

    Raises:
        ModelError: a text without token vectors, or a score that is not finite.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.search.maxsim import maxsim
        >>> query, document = np.array([[1, 0], [0, 1]], np.float32), np.array([[1, 0], [0.5, 0.5]], np.float32)
        >>> maxsim([query], [document])  # 1 + 0.5
        array([[1.5]], dtype=float32)
    """
    check_tokens(queries, "query")
    check_tokens(documents, "document")
    scores = np.empty((len(queries), len(documents)), dtype=np.float32)
    scorer = Scorer(dtype, device, memory_budget)
    bags = scorer.document_bags(documents)
    for bag in scorer.query_bags(queries):
        scores[bag.positions.cpu().numpy()] = scorer(bag, bags, len(documents))
    return scores
