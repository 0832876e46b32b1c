"""TREC files: runs (``query Q0 document rank score tag``, ranks from 1) and qrels (``query 0 document gain``)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path

from patent_mteb.errors import DataError
from patent_mteb.files import replacing, text_lines

logger = logging.getLogger(__name__)

__all__ = ["read_run", "write_qrels", "write_run"]


def _check(*names: str) -> None:
    for name in names:
        if not name or any(character.isspace() or character in "\0\ufeff" for character in name):
            raise DataError(f"the id {name!r} cannot stand in a TREC file", remedy="use ids without white space and zero bytes")


def write_run(path: Path, rankings: Mapping[str, Mapping[str, float]], tag: str) -> None:
    """Write rankings, ``{query id: {document id: score}}``, documents in the order given, which is best first.

    A query without a document has no line in a TREC file: how many are lost to whoever reads it is said in a warning.

    Raises:
        DataError: an id or a tag with white space.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.search.trec import write_run
        >>> write_run(Path("bm25.run"), {"q": {"d2": 2.5, "d1": 1.0}}, tag="bm25")
        >>> print(Path("bm25.run").read_text(), end="")
        q Q0 d2 1 2.5 bm25
        q Q0 d1 2 1.0 bm25
    """
    _check(tag)
    if empty := [query for query, scores in rankings.items() if not scores]:
        logger.warning(
            "%s: %d of %d queries have no document, the first is %r, and no line in the file; trec_eval counts them as 0 with -c only",
            path,
            len(empty),
            len(rankings),
            empty[0],
        )
    with replacing(path) as partial, partial.open("w", encoding="utf-8") as out:
        for query, scores in rankings.items():
            _check(query, *scores)
            for rank, (document, score) in enumerate(scores.items(), start=1):
                out.write(f"{query} Q0 {document} {rank} {score!r} {tag}\n")


def read_run(path: Path, first: int | None = None) -> dict[str, dict[str, float]]:
    """Read a run; the ranks of the file do not matter, its scores do.

    Args:
        first: keep so many lines of each query only, for files whose documents stand best first.

    Raises:
        DataError: a line of another form, a score that is no finite number, a document that a query has twice, or a second ranking
            of a query (its ranks begin again further down), as in files that were joined.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.search.trec import read_run, write_run
        >>> write_run(Path("bm25.run"), {"q": {"d2": 2.5, "d1": 1.0}}, tag="bm25")
        >>> read_run(Path("bm25.run"))
        {'q': {'d2': 2.5, 'd1': 1.0}}
    """
    results: dict[str, dict[str, float]] = {}
    ranks: dict[str, int] = {}
    last = ""
    for number, line in text_lines(path):
        if not line.strip():
            continue
        fields = line.split()
        if len(fields) != 6:
            raise DataError(f"{len(fields)} columns instead of 6", path=path, row=number, remedy="write: query Q0 document rank score tag")
        query, _, document, rank, text, _ = fields
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise DataError(f"the score {text!r} is no finite number", path=path, row=number, remedy="correct the score")
        if query != last and query in results and ranks[query] >= _rank(rank):
            raise DataError(f"query '{query}' has a second ranking", path=path, row=number, remedy="keep one of the two")
        last, ranks[query] = query, _rank(rank)
        if document in results.setdefault(query, {}):
            raise DataError(f"query '{query}' has document '{document}' twice", path=path, row=number, remedy="keep one of the two lines")
        if first is None or len(results[query]) < first:
            results[query][document] = score
    return results


def _rank(text: str) -> int:
    """A rank, 0 if it is none."""
    return int(text) if text.isdecimal() else 0


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write judgements.

    Raises:
        DataError: an id with white space.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.search.trec import write_qrels
        >>> write_qrels(Path("my.qrels"), {"q": {"d1": 1, "d2": 0}})
        >>> print(Path("my.qrels").read_text(), end="")
        q 0 d1 1
        q 0 d2 0
    """
    with replacing(path) as partial, partial.open("w", encoding="utf-8") as out:
        for query, judged in qrels.items():
            _check(query, *judged)
            for document, gain in judged.items():
                out.write(f"{query} 0 {document} {gain}\n")
