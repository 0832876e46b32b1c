"""InScope@k: how many of the first k retrieved patents share an IPC code with the query (Sophia-Bench, section 4.32, eq. 1).

Codes are compared after truncation to a level. The paper measures section, subclass and subgroup at k in 1, 5, 10, 20, 50, 100.
The denominator is always k, as in the equation: places that a short ranking leaves empty count as out of scope, and so does
every place of a query without codes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["KS", "LEVELS", "code_matrices", "in_scope", "in_scope_at", "inscope", "ranked_places"]

Level = Literal["section", "subclass", "subgroup"]
LEVELS: tuple[Level, ...] = ("section", "subclass", "subgroup")
KS = (1, 5, 10, 20, 50, 100)
_PAIRS = 1 << 18


def code_matrices(queries: Sequence[Collection[str]], documents: Sequence[Collection[str]]) -> tuple[csr_array, csr_array]:
    """Which codes each query and each document carries, as sparse boolean matrices [n queries, codes] and [n documents, codes].

    Args:
        queries, documents: the codes of each, all truncated to one level (:func:`patent_mteb.ipc.codes_at`).
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


def ranked_places(
    results: Mapping[str, Mapping[str, float]], queries: Sequence[str], documents: Sequence[str], depth: int = max(KS)
) -> NDArray[np.int64]:
    """The first ``depth`` documents of each query in a run of scores, as places in ``documents``; -1 where the ranking has ended.

    Ranked as trec_eval does: by score in single precision, equal ones by document id, the higher id first.

    Args:
        results: {query: {document: score}}; a query that it lacks has an empty ranking.

    Raises:
        ValueError: a score that is NaN, or a retrieved document that is not among ``documents``.
    """
    place = {document: number for number, document in enumerate(documents)}
    ranked = np.full((len(queries), depth), -1, dtype=np.int64)
    for row, query in enumerate(queries):
        found = results.get(query, {})
        scores = np.fromiter(found.values(), dtype=np.float32, count=len(found))
        if np.isnan(scores).any():
            raise ValueError(f"query {query!r} has {np.isnan(scores).sum()} scores that are NaN")
        lowest = np.partition(scores, -depth)[-depth] if len(found) > depth else -np.inf
        pairs = sorted(((score, document) for score, document in zip(scores, found, strict=True) if score >= lowest), reverse=True)
        for position, (_, document) in enumerate(pairs[:depth]):
            if document not in place:
                raise ValueError(f"document {document!r}, retrieved for query {query!r}, is not in the corpus")
            ranked[row, position] = place[document]
    return ranked


def in_scope(ranked: ArrayLike, query_codes: csr_array, document_codes: csr_array) -> NDArray[np.bool_]:
    """[n queries, depth]: whether the document at each place shares a code with the query.

    Args:
        ranked: [n queries, depth] places of documents, -1 where the ranking has ended.
        query_codes: [n queries, codes]; document_codes: [n documents, codes]; of :func:`code_matrices`.

    Raises:
        ValueError: shapes that do not fit, or a place that is no document.
    """
    places = np.asarray(ranked)
    if places.ndim != 2 or len(places) != query_codes.shape[0]:
        raise ValueError(f"the ranking must be [{query_codes.shape[0]}, depth], a row for each query, got shape {places.shape}")
    if query_codes.shape[1] != document_codes.shape[1]:
        raise ValueError(f"queries have {query_codes.shape[1]} codes and documents {document_codes.shape[1]}; both need the same columns")
    if places.size and not (places.min() >= -1 and places.max() < document_codes.shape[0]):
        raise ValueError(f"the ranking holds places from {places.min()} to {places.max()} of {document_codes.shape[0]} documents")
    rows, columns = np.nonzero(places >= 0)
    shared = np.zeros(places.shape, dtype=bool)
    for start in range(0, len(rows), _PAIRS):
        part = slice(start, start + _PAIRS)
        common = query_codes[rows[part]] * document_codes[places[rows[part], columns[part]]]
        shared[rows[part], columns[part]] = np.diff(common.indptr) > 0
    return shared


def in_scope_at(shared: NDArray[np.bool_], ks: Sequence[int] = KS) -> dict[int, NDArray[np.float64]]:
    """k -> [n queries] InScope@k of each query, from the matrix of :func:`in_scope`; its mean is the paper's score."""
    if min(ks) < 1:
        raise ValueError(f"k must be at least 1, not {min(ks)}")
    return {k: shared[:, :k].sum(axis=1) / k for k in ks}


def inscope(
    ranked: ArrayLike,
    query_codes: Sequence[Collection[str]],
    document_codes: Sequence[Collection[str]],
    *,
    levels: Sequence[Level] = LEVELS,
    ks: Sequence[int] = KS,
) -> dict[tuple[Level, int], NDArray[np.float64]]:
    """(level, k) -> [n queries] InScope@k.

    Args:
        ranked: [n queries, depth] places of documents, best first, -1 where the ranking has ended.
        query_codes, document_codes: IPC codes of each query and document, in any form that :mod:`patent_mteb.ipc` reads.

    Raises:
        ValueError: a code that cannot be read or does not reach a level, with its owner; shapes that do not fit.
    """
    from patent_mteb import ipc

    def truncated(owner: str, codes: Sequence[Collection[str]], level: Level) -> list[tuple[str, ...]]:
        cut = []
        for number, own in enumerate(codes):
            try:
                cut.append(ipc.codes_at(own, level).codes)
            except ValueError as error:
                raise ValueError(f"{owner} {number}: {error}") from error
        return cut

    scores: dict[tuple[Level, int], NDArray[np.float64]] = {}
    for level in levels:
        shared = in_scope(ranked, *code_matrices(truncated("query", query_codes, level), truncated("document", document_codes, level)))
        scores |= {(level, k): values for k, values in in_scope_at(shared, ks).items()}
    return scores
