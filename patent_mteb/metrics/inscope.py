"""InScope@k: share of the first k patents with an IPC code of the query (Sophia-Bench, section 4.32, eq. 1).

Codes are compared after truncation to a level. The denominator is always k, as in the equation. The mean is over the
queries with a code at the level; the equation divides by all queries, each of which has a code in the paper.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from patent_mteb.patents import ipc

if TYPE_CHECKING:
    from scipy.sparse import csr_array

logger = logging.getLogger(__name__)
Level = Literal["section", "subclass", "subgroup"]
LEVELS: tuple[Level, ...] = ("section", "subclass", "subgroup")
KS = (1, 5, 10, 20, 50, 100)
_PAIRS = 1 << 18  # of queries and documents at a time


def code_matrices(
    queries: Sequence[Collection[str]], documents: Sequence[Collection[str]]
) -> tuple[csr_array, csr_array]:
    """Return codes of one level (:func:`patent_mteb.patents.ipc.codes_at`) as sparse matrices [rows, codes] of ones."""
    from scipy.sparse import csr_array
    from sklearn.preprocessing import MultiLabelBinarizer

    codes = MultiLabelBinarizer(sparse_output=True).fit([*queries, *documents])
    return csr_array(codes.transform(queries)), csr_array(codes.transform(documents))


def in_scope(ranked: ArrayLike, query_codes: csr_array, document_codes: csr_array) -> NDArray[np.bool_]:
    """[queries, depth] whether the document at each rank, -1 for none, shares a code with the query."""
    places = np.asarray(ranked)
    if places.ndim != 2 or len(places) != query_codes.shape[0]:
        raise ValueError(
            f"the ranking must be [{query_codes.shape[0]}, depth], a row for each query, got shape {places.shape}"
        )
    if query_codes.shape[1] != document_codes.shape[1]:
        raise ValueError(
            f"queries have {query_codes.shape[1]} codes and documents {document_codes.shape[1]}; both need the same"
            " columns"
        )
    if places.size and not (places.min() >= -1 and places.max() < document_codes.shape[0]):
        raise ValueError(
            f"the ranking has indices from {places.min()} to {places.max()} of {document_codes.shape[0]} documents"
        )
    rows, columns = np.nonzero(places >= 0)
    shared = np.zeros(places.shape, dtype=bool)
    for start in range(0, len(rows), _PAIRS):
        part = slice(start, start + _PAIRS)
        common = query_codes[rows[part]] * document_codes[places[rows[part], columns[part]]]
        shared[rows[part], columns[part]] = np.diff(common.indptr) > 0
    return shared


def in_scope_at(shared: NDArray[np.bool_], ks: Sequence[int] = KS) -> dict[int, NDArray[np.float64]]:
    """Return InScope@k of each query for each k, from the matrix of :func:`in_scope`. The mean is the paper's score."""
    if min(ks) < 1:
        raise ValueError(f"k must be at least 1, not {min(ks)}")
    return {k: shared[:, :k].sum(axis=1) / k for k in ks}


def inscope_scores(
    docs: NDArray[np.integer],
    query_ids: Sequence[str],
    doc_ids: Sequence[str],
    query_codes: Mapping[str, Sequence[str]],
    document_codes: Mapping[str, Sequence[str]],
) -> dict[str, float]:
    """Mean InScope@k of a run as ``inscope_<level>_at_<k>``, and ``inscope_<level>_n_queries``.

    ``docs`` [queries, depth] are indices into ``doc_ids``, and codes are as written. Documents without a code at the
    level are out of scope. Codes that are invalid, or that end above the level, are counted and logged. A level without
    a query has no score.
    """
    top = docs[:, : max(KS)]
    retrieved = np.unique(top[top >= 0])
    places = np.where(top >= 0, np.searchsorted(retrieved, top), -1)
    documents = [doc_ids[number] for number in retrieved]
    scores: dict[str, float] = {}
    for level in LEVELS:
        of_queries, lost_here = _truncated(query_codes, query_ids, level)
        of_documents, lost_there = _truncated(document_codes, documents, level)
        if lost_here or lost_there:
            logger.warning(
                "InScope: %d IPC codes of queries and %d of documents give no %s", lost_here, lost_there, level
            )
        known = [row for row, codes in enumerate(of_queries) if codes]
        scores[f"inscope_{level}_n_queries"] = len(known)
        if known:
            matrices = code_matrices([of_queries[row] for row in known], of_documents)
            for k, values in in_scope_at(in_scope(places[known], *matrices)).items():
                scores[f"inscope_{level}_at_{k}"] = float(values.mean())
    return scores


def _truncated(
    codes: Mapping[str, Sequence[str]], keys: Sequence[str], level: Level
) -> tuple[list[tuple[str, ...]], int]:
    cut = [ipc.codes_at(codes.get(key, ()), level) for key in keys]
    return [found.codes for found in cut], sum(len(found.unusable) for found in cut)
