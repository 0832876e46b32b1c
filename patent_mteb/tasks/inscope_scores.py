"""InScope@k as additional scores of a retrieval task whose data carries IPC codes (Sophia-Bench §4.3, eq. 1)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import chain

from patent_mteb import ipc
from patent_mteb.metrics import inscope

logger = logging.getLogger(__name__)

__all__ = ["inscope_scores"]


def inscope_scores(
    results: Mapping[str, Mapping[str, float]],
    document_codes: Mapping[str, Sequence[str]],
    query_codes: Mapping[str, Sequence[str]],
) -> dict[str, float]:
    """Mean InScope@k at section, subclass and subgroup for the paper's six depths.

    The denominator is k, also where a ranking is shorter. The mean is over the queries that have a code at the level; documents
    without one are out of scope. Codes that cannot be read, or that stop above the level, are counted and logged.

    Args:
        results: the rankings, ``{query id: {document id: score}}``.
        document_codes: IPC codes of documents as written; query_codes: those of queries.

    Returns:
        ``inscope_<level>_at_<k>`` and ``inscope_<level>_n_queries``; no score for a level that no query reaches.
    """
    queries = list(results)
    documents = list(dict.fromkeys(chain.from_iterable(results.values())))
    ranked = inscope.ranked_places(results, queries, documents)
    scores: dict[str, float] = {}
    for level in inscope.LEVELS:
        ours, lost_here = _truncated(query_codes, queries, level)
        theirs, lost_there = _truncated(document_codes, documents, level)
        if lost_here or lost_there:
            logger.warning("InScope: %d IPC codes of queries and %d of documents give no %s", lost_here, lost_there, level)
        known = [row for row, codes in enumerate(ours) if codes]
        scores[f"inscope_{level}_n_queries"] = len(known)
        if known:
            matrices = inscope.code_matrices([ours[row] for row in known], theirs)
            for k, values in inscope.in_scope_at(inscope.in_scope(ranked[known], *matrices)).items():
                scores[f"inscope_{level}_at_{k}"] = float(values.mean())
    return scores


def _truncated(codes: Mapping[str, Sequence[str]], keys: Sequence[str], level: ipc.Level) -> tuple[list[tuple[str, ...]], int]:
    cut = [ipc.codes_at(codes.get(key, ()), level, errors="skip") for key in keys]
    return [found.codes for found in cut], sum(len(found.unusable) for found in cut)
