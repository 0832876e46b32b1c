"""MaxSim over a corpus whose token vectors pass by in chunks: every pair, or only the candidates of a first stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.search.maxsim import Queries, Scorer
from patent_mteb.search.run import TopK

__all__ = ["add_all", "add_pairs"]

Tokens = Sequence[NDArray[np.float32]]


def add_all(
    best: TopK,
    scorer: Scorer,
    queries: Sequence[Queries],
    documents: Tokens,
    numbers: NDArray[np.int64],
    eligible: Callable[[slice, Any], NDArray[np.bool_]] | None = None,
) -> None:
    """Offer every document of a chunk to every query.

    Args:
        documents: token vectors of each document.
        numbers: [documents] their numbers in ``best``.
        eligible: what a query may see, by rows and numbers (:meth:`~patent_mteb.search.base.SearchContext.eligible`).

    Example:
        >>> import numpy as np
        >>> from patent_mteb.search.maxsim import Scorer
        >>> from patent_mteb.search.run import TopK
        >>> from patent_mteb.search.token_search import add_all
        >>> best, scorer = TopK(["q"], ["b", "a"], 2), Scorer("float32", "cpu", 1 << 20)
        >>> add_all(best, scorer, scorer.queries([np.eye(2, dtype=np.float32)]), [np.eye(2, dtype=np.float32)], np.array([1]))
        >>> best.run().to_dict()
        {'q': {'a': 2.0}}
    """
    bags = scorer.bags(documents)
    for part in queries:
        best.add(part.rows, scorer(part, bags, len(documents)), numbers, eligible and eligible(part.rows, numbers))


def add_pairs(best: TopK, scorer: Scorer, queries: Queries, documents: Tokens, numbers: NDArray[np.int64], pairs: Any) -> None:
    """Offer given pairs. A document is multiplied by the queries that want it: their tokens are fewer than its own to bring together.

    Args:
        pairs: [queries, documents of the chunk], a boolean SciPy matrix.

    Example:
        >>> import numpy as np
        >>> import scipy.sparse
        >>> from patent_mteb.search.maxsim import Scorer
        >>> from patent_mteb.search.run import TopK
        >>> from patent_mteb.search.token_search import add_pairs
        >>> best, scorer, one = TopK(["p", "q"], ["b", "a"], 2), Scorer("float32", "cpu", 1 << 20), np.eye(2, dtype=np.float32)
        >>> add_pairs(best, scorer, scorer.joined([one, one]), [one], np.array([1]), scipy.sparse.csc_matrix([[False], [True]]))
        >>> best.run().to_dict()
        {'p': {}, 'q': {'a': 2.0}}
    """
    import scipy.sparse

    pairs = pairs.tocsc()
    pairs.sort_indices()
    scores = np.empty(pairs.nnz, np.float32)
    for document, vectors in enumerate(documents):
        own = slice(pairs.indptr[document], pairs.indptr[document + 1])
        scores[own] = scorer.of_document(vectors, queries, pairs.indices[own].astype(np.int64))
    by_query = scipy.sparse.csc_matrix((scores, pairs.indices, pairs.indptr), shape=pairs.shape).tocsr()
    for query in np.flatnonzero(np.diff(by_query.indptr)):
        own = slice(by_query.indptr[query], by_query.indptr[query + 1])
        best.add(slice(query, query + 1), by_query.data[None, own], numbers[by_query.indices[own]])
