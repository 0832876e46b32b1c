"""InScope@k: how many of the first k retrieved patents share an IPC code with the query (Sophia-Bench, section 4.32,
eq. 1).

Codes are compared after truncation to a level. The paper measures section, subclass and subgroup at k in 1, 5, 10, 20,
50, 100. The denominator is always k, as in the equation: places that a short ranking leaves empty count as out of
scope. The mean is over the queries that have a code at the level; the equation divides by all of them, which is the
same where each has one, as in the paper (:func:`inscope_scores` gives both numbers of queries).
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

__all__ = ["KS", "LEVELS", "code_matrices", "in_scope", "in_scope_at", "inscope_scores"]

Level = Literal["section", "subclass", "subgroup"]
LEVELS: tuple[Level, ...] = ("section", "subclass", "subgroup")
KS = (1, 5, 10, 20, 50, 100)
_PAIRS = 1 << 18


def code_matrices(
    queries: Sequence[Collection[str]], documents: Sequence[Collection[str]]
) -> tuple[csr_array, csr_array]:
    """Which codes each query and each document carries, as sparse boolean matrices [n queries, codes] and [n documents,
    codes].

    Args:
        queries, documents: the codes of each, all truncated to one level (:func:`patent_mteb.patents.ipc.codes_at`).

    Example:
        >>> from patent_mteb.metrics.inscope import code_matrices
        >>> queries, documents = code_matrices([["G06F"]], [["A61K"], ["G06F", "H04L"]])
        >>> documents.toarray().astype(int).tolist()  # columns G06F, A61K, H04L
        [[0, 1, 0], [1, 0, 1]]
    """
    from scipy.sparse import csr_array

    column: dict[str, int] = {}

    for codes in (*queries, *documents):
        for code in codes:
            column.setdefault(code, len(column))

    def matrix(rows: Sequence[Collection[str]]) -> csr_array:
        sets = [sorted({column[code] for code in codes}) for codes in rows]
        columns = np.array([place for places in sets for place in places], dtype=np.int64)
        ends = np.cumsum([0, *map(len, sets)])
        return csr_array((np.ones(len(columns), dtype=bool), columns, ends), shape=(len(rows), max(1, len(column))))

    return matrix(queries), matrix(documents)


def in_scope(ranked: ArrayLike, query_codes: csr_array, document_codes: csr_array) -> NDArray[np.bool_]:
    """[n queries, depth]: whether the document at each place shares a code with the query.

    Args:
        ranked: [n queries, depth] places of documents, -1 where the ranking has ended.
        query_codes: [n queries, codes]; document_codes: [n documents, codes]; of :func:`code_matrices`.

    Raises:
        ValueError: shapes that do not fit, or a place that is no document.

    Example:
        >>> from patent_mteb.metrics.inscope import code_matrices, in_scope
        >>> in_scope([[1, 0, -1]], *code_matrices([["G06F"]], [["A61K"], ["G06F", "H04L"]]))
        array([[ True, False, False]])
    """
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
            f"the ranking holds places from {places.min()} to {places.max()} of {document_codes.shape[0]} documents"
        )
    rows, columns = np.nonzero(places >= 0)
    shared = np.zeros(places.shape, dtype=bool)
    for start in range(0, len(rows), _PAIRS):
        part = slice(start, start + _PAIRS)
        common = query_codes[rows[part]] * document_codes[places[rows[part], columns[part]]]
        shared[rows[part], columns[part]] = np.diff(common.indptr) > 0
    return shared


def in_scope_at(shared: NDArray[np.bool_], ks: Sequence[int] = KS) -> dict[int, NDArray[np.float64]]:
    """k -> [n queries] InScope@k of each query, from the matrix of :func:`in_scope`; its mean is the paper's score.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.inscope import in_scope_at
        >>> in_scope_at(np.array([[True, False]]), ks=(1, 2))
        {1: array([1.]), 2: array([0.5])}
    """
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
    """Mean InScope@k of a run at section, subclass and subgroup for the paper's six depths.

    The denominator is k, also where a ranking is shorter. The mean is over the queries that have a code at the level;
    documents without one are out of scope. Codes that cannot be read, or that stop above the level, are counted and
    logged.

    Args:
        docs: [queries, depth] numbers of documents, best first, -1 behind the last one.
        query_ids, doc_ids: what the rows and the numbers stand for.
        query_codes, document_codes: IPC codes as written.

    Returns:
        ``inscope_<level>_at_<k>`` and ``inscope_<level>_n_queries``; no score for a level that no query reaches.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.metrics.inscope import inscope_scores
        >>> codes = {"d0": ["A61K 31/00"], "d1": ["G06F 3/01"]}
        >>> scores = inscope_scores(np.array([[1, 0]]), ["q"], ["d0", "d1"], {"q": ["G06F 17/30"]}, codes)
        >>> scores["inscope_subclass_at_1"], scores["inscope_subclass_at_5"], scores["inscope_subgroup_at_1"]
        (1.0, 0.2, 0.0)
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
    cut = [ipc.codes_at(codes.get(key, ()), level, errors="skip") for key in keys]
    return [found.codes for found in cut], sum(len(found.unusable) for found in cut)
