"""Runs and qrels, and what each query of a run took.

A run may be any table (:mod:`patent_mteb.readers.rankings`) or a TREC file, with the columns ``query Q0 document rank
score tag`` and ranks from 1; qrels have ``query 0 document gain``.

Next to a run ``<run>.run``, the lines of ``<run>.effort.jsonl`` have ``query`` (its id), one or more of the
:data:`AMOUNTS`, the same in all lines, and as an option ``trace``: a list of the steps of the system, in any form.
Nothing reads the trace.
"""

from __future__ import annotations

import logging
import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError, did_you_mean
from patent_mteb.files import json_lines, replacing, text_lines, write_jsonl
from patent_mteb.readers.rankings import Entry, is_table, read_entries
from patent_mteb.readers.rankings import Order as Order  # that of all readers of runs

logger = logging.getLogger(__name__)
Results = Mapping[str, Mapping[str, float]]
_FORBIDDEN = frozenset(" \t\n\r\v\f\0\ufeff")  # white space of ASCII, and a mark that is lost at the start of a file
_CONTRADICTING = 0.01  # share of neighbours whose ranks contradict their scores, a choice
_DIGITS = 19  # from which a rank may exceed 64 bits
_SMALLEST, _GREATEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max) / 2


def check_ids(names: Iterable[str], remedy: str = "use ids without spaces, tabs, line ends and zero bytes") -> None:
    """Refuse an id that :func:`columns` would cut, or that is empty; any other is read as it was written."""
    for name in names:
        if not name or not _FORBIDDEN.isdisjoint(name):
            raise DataError(f"the id {name!r} is not allowed in a TREC file", remedy=remedy)


def columns(line: str) -> list[str]:
    """Return the columns of a line. White space of ASCII separates them, as in trec_eval; an id may have any other."""
    if line.isascii() and line.isprintable():
        return line.split()
    return [column.decode() for column in line.encode().split()]


def write_run(path: Path, rankings: Mapping[str, Mapping[str, float]], tag: str) -> None:
    """Write rankings, best document first; a query without documents has no line, and is warned of."""
    check_ids([tag])
    if empty := [query for query, scores in rankings.items() if not scores]:
        message = "%s: %d of %d queries have no document, the first is %r, and no line in the file; "
        message += "trec_eval counts them as 0 with -c only"
        logger.warning(message, path, len(empty), len(rankings), empty[0])
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        for query, scores in rankings.items():
            check_ids([query, *scores])
            for rank, (document, score) in enumerate(scores.items(), start=1):
                out.write(f"{query} Q0 {document} {rank} {score!r} {tag}\n")


def read_run(path: Path, first: int | None = None, *, order: Order | None = None) -> dict[str, dict[str, float]]:
    """Read a run, whose scores are compared in double precision. With the order ``none`` it is a set of documents.

    Where single precision (:class:`~patent_mteb.search.run.Run`, mteb, trec_eval) would lose the order of scores, they
    are multiplied by a power of two, and those that are still too close are separated by the smallest steps.
    """
    results: dict[str, dict[str, float]] = {}
    places: dict[str, array[int]] = {}  # rank and row of each line of a query
    last = ""
    table = is_table(path)
    entries, order = read_entries(path, order) if table else (_lines(path), order)
    repeated = 0
    for number, query, document, written, text in entries:
        refused = partial(DataError, path=path, row=number)
        if not document or order == "none":
            repeated += bool(document) and document in results.setdefault(query, {})
            results.setdefault(query, {}).update({document: 0.0} if document else {})
            continue
        try:
            score = float(text if text.isascii() and "_" not in text else "")  # float() reads 1_0, digits of any script
        except ValueError:
            score = math.nan
        if not math.isfinite(score) and not (table and order == "rank"):
            raise refused(f"the score {text!r} is not a finite number", remedy="correct the score")
        rank = int(written) if written.isdecimal() and len(written) < _DIGITS else -1
        if order == "rank" and rank < 0:
            raise refused(f"the rank {written!r} is not a whole number", remedy="correct it, or use the scores")
        if not table and query != last and query in results and places[query][-2] >= rank:
            remedy = "keep one of the two, or sort the lines by query"
            raise refused(f"query '{query}' has a second ranking", remedy=remedy)
        last = query
        if document in results.setdefault(query, {}):
            raise refused(f"query '{query}' has document '{document}' twice", remedy="keep one of the two lines")
        if first is None or len(results[query]) < first:
            results[query][document] = score
            places.setdefault(query, array("q")).extend((rank, number))
    if repeated:
        logger.warning("%s: %d rows repeat a document of their query and do not count", path, repeated)
    if not order:
        _refuse_two_orders(path, results, places)
    elif order == "rank":
        results = {query: _by_rank(path, query, found, places.get(query, ())) for query, found in results.items()}
    elif order == "-score":
        results = {query: {document: -score for document, score in found.items()} for query, found in results.items()}
    return _in_single_precision(results)


def _lines(path: Path) -> Iterator[Entry]:
    """Yield the lines of a TREC file."""
    for number, line in text_lines(path):
        if not line.strip():
            continue
        fields = columns(line)
        if len(fields) != 6:
            remedy = "write: query Q0 document rank score tag"
            raise DataError(f"{len(fields)} columns instead of 6", path=path, row=number, remedy=remedy)
        query, _, document, written, text, _ = fields
        yield Entry(number, query, document, written, text)


def _by_rank(path: Path, query: str, found: Mapping[str, float], places: Sequence[int]) -> dict[str, float]:
    ranks = dict[int, int]()
    for rank, row in zip(places[::2], places[1::2], strict=True):
        if ranks.setdefault(rank, row) != row:
            problem = f"query '{query}' has two documents of rank {rank}, the first in row {ranks[rank]}"
            raise DataError(problem, path=path, row=row, remedy="correct the ranks, or use the scores")
    return {document: -float(rank) for document, rank in zip(found, places[::2], strict=True)}


def _refuse_two_orders(path: Path, results: Results, places: Mapping[str, Sequence[int]]) -> None:
    """Refuse a file whose neighbours by rank contradict their scores; a few places are a warning.

    If a query has neither ranks nor different scores, the order of its lines replaces its ranks.
    """
    pairs = opposite = tied = 0
    place = ("", sys.maxsize)
    for query, found in results.items():
        if not found:
            continue
        ranks, rows = np.array(places[query], np.int64).reshape(-1, 2).T
        by_rank = np.argsort(ranks, kind="stable")
        documents, scores = list(found), np.fromiter(found.values(), np.float64, len(found))[by_rank]
        ranked = (np.diff(ranks[by_rank]) > 0) & (ranks[by_rank[:-1]] >= 0)
        if not ranked.any() and (scores == scores[0]).all():
            ranked[:] = True
        turned = ranked & (scores[:-1] < scores[1:])
        equal = ranked & (scores[:-1] == scores[1:])
        for one in np.flatnonzero(equal):
            equal[one] = documents[by_rank[one]] < documents[by_rank[one + 1]]
        pairs += len(ranked)
        opposite += int(turned.sum())
        tied += int(equal.sum())
        if (turned | equal).any():
            place = min(place, (query, int(rows[by_rank[1:]][turned | equal].min())), key=itemgetter(1))
    if not opposite + tied:
        return
    problem = (
        f"ranks and scores disagree on {opposite + tied} of {pairs} pairs of neighbours ({opposite} have scores in the "
        f"opposite order, {tied} equal scores), first of query '{place[0]}'"
    )
    if opposite + tied > _CONTRADICTING * pairs:
        remedy = "say what decides: --order rank, --order score, or --order -score if small is best (in Python order=)"
        raise DataError(problem, path=path, row=place[1], remedy=remedy)
    logger.warning("%s, row %d: %s; the scores decide, unless --order says otherwise", path, place[1], problem)


def _in_single_precision(results: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Scores that keep their order in single precision, changed where needed."""
    doubles = {query: np.fromiter(found.values(), np.float64, len(found)) for query, found in results.items() if found}
    if not (lost := [query for query, scores in doubles.items() if not _keeps_order(scores)]):
        return results
    greatest, exponent = max(float(np.abs(scores).max()) for scores in doubles.values()), 0
    if not _SMALLEST < greatest < _GREATEST:
        lost, exponent = list(results), -math.frexp(greatest)[1]
    apart = ((query, _apart(doubles[query], exponent)) for query in lost)
    return results | {query: dict(zip(results[query], scores.tolist(), strict=True)) for query, scores in apart}


def _keeps_order(scores: NDArray[np.float64]) -> bool:
    ordered = np.sort(scores)
    with np.errstate(over="ignore"):
        single = ordered.astype(np.float32)
    return bool(np.isfinite(single).all() and ((single[1:] > single[:-1]) == (ordered[1:] > ordered[:-1])).all())


def _apart(scores: NDArray[np.float64], exponent: int) -> NDArray[np.float32]:
    """Scores times two to the exponent in single precision, in the same strict order."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    bits = (np.ldexp(ordered, exponent).astype(np.float32) + np.float32(0)).view(np.int32).astype(np.int64)
    steps = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)  # numbers floats in their order
    below = np.cumsum(np.append(False, ordered[1:] < ordered[:-1]))
    steps = np.minimum.accumulate(steps + below) - below
    single = np.empty(len(scores), np.float32)
    single[order] = np.where(steps < 0, -steps | 0x80000000, steps).astype(np.uint32).view(np.float32)
    return single


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        for query, judged in qrels.items():
            check_ids([query, *judged])
            for document, gain in judged.items():
                out.write(f"{query} 0 {document} {gain}\n")


AMOUNTS = ("calls", "input_tokens", "output_tokens", "seconds", "cost")
"""Whole numbers of calls and tokens, seconds, and cost in any currency; 0 or above."""
_COUNTS = AMOUNTS[:3]
_MOST = 2**53  # the largest whole number that a float keeps
Efforts = Mapping[str, Mapping[str, Any]]


def side_file(run: Path) -> Path:
    return run.with_suffix(".effort.jsonl")


def write_efforts(path: Path, efforts: Efforts) -> None:
    write_jsonl(path, ({"query": query, **effort} for query, effort in efforts.items()))


def read_efforts(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    named: set[str] = set()
    for row, line in json_lines(path):
        if problem := _invalid(line):
            raise DataError(problem, path=path, row=row, remedy=f"write query, trace and some of {', '.join(AMOUNTS)}")
        query, amounts = line.pop("query"), line.keys() - {"query", "trace"}
        if query in found:
            raise DataError(f"query '{query}' is there twice", path=path, row=row, remedy="keep one of the lines")
        if found and amounts != named:
            other = sorted(amounts ^ named)[0]
            remedy = "write it in every line, 0 where a query took nothing, or in none"
            raise DataError(f"'{other}' is in some lines only", path=path, row=row, remedy=remedy)
        found[query], named = line, set(amounts)
    return found


def _invalid(line: Mapping[str, Any]) -> str:
    if not isinstance(line.get("query"), str) or not line["query"]:
        return "'query' is not the id of a query"
    for name, value in line.items():
        if name in AMOUNTS:
            number = isinstance(value, int if name in _COUNTS else (int, float)) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or not 0 <= value < _MOST:
                return f"'{name}' is {value!r}, not a {'whole ' if name in _COUNTS else ''}number of 0 or above"
        elif name not in ("query", "trace"):
            return f"there is no amount '{name}'{did_you_mean(name, AMOUNTS)}"
    if not isinstance(line.get("trace", []), list):
        return "'trace' is not a list of steps"
    return "" if line.keys() & set(AMOUNTS) else "the line has no amount"


def efforts_of(efforts: Efforts, queries: Sequence[str], path: Path) -> dict[str, Mapping[str, Any]]:
    """The efforts of the queries of a task, each of which needs a line; lines of other queries are counted."""
    if missing := [query for query in queries if query not in efforts]:
        problem = f"{len(missing)} of {len(queries)} queries of the task have no line, the first is '{missing[0]}'"
        raise DataError(problem, path=path, remedy="write one for each, with 0 where a query took nothing")
    if others := len(efforts) - len(queries):
        logger.warning("%s: %d lines are of other queries and do not count", path, others)
    return {query: efforts[query] for query in queries}


def total_effort(efforts: Efforts) -> dict[str, float]:
    names = [name for name in AMOUNTS if any(name in effort for effort in efforts.values())]
    return {name: round(sum(effort.get(name, 0) for effort in efforts.values()), 6) for name in names}
