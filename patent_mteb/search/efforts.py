"""What each query of a ranking took: JSON lines next to its run, ``<run>.effort.jsonl`` for ``<run>.run``.

A line has ``query`` (its id), one or more of the :data:`AMOUNTS`, the same in all lines, and as an option ``trace``: a
list of the steps of the system, in any form. Nothing reads the trace.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError, did_you_mean
from patent_mteb.files import json_lines, write_jsonl

logger = logging.getLogger(__name__)
AMOUNTS = ("calls", "input_tokens", "output_tokens", "seconds", "cost")
"""Whole numbers of calls and tokens, seconds, and cost in any currency; 0 or above."""
_COUNTS = AMOUNTS[:3]
_MOST = 2**53
Efforts = Mapping[str, Mapping[str, Any]]


def side_file(run: Path) -> Path:
    return run.with_suffix(".effort.jsonl")


def write_efforts(path: Path, efforts: Efforts) -> None:
    write_jsonl(path, ({"query": query, **effort} for query, effort in efforts.items()))


def read_efforts(path: Path) -> dict[str, dict[str, Any]]:
    """Read a side file, by query."""
    found: dict[str, dict[str, Any]] = {}
    named: set[str] = set()
    for row, line in json_lines(path):
        if problem := _problem(line):
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


def _problem(line: Mapping[str, Any]) -> str:
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


def of_queries(efforts: Efforts, queries: Sequence[str], path: Path) -> dict[str, Mapping[str, Any]]:
    """The efforts of the queries of a task, each of which needs a line; lines of other queries are counted."""
    if missing := [query for query in queries if query not in efforts]:
        problem = f"{len(missing)} of {len(queries)} queries of the task have no line, the first is '{missing[0]}'"
        raise DataError(problem, path=path, remedy="write one for each, with 0 where a query took nothing")
    if others := len(efforts) - len(queries):
        logger.warning("%s: %d lines are of other queries and do not count", path, others)
    return {query: efforts[query] for query in queries}


def total(efforts: Efforts) -> dict[str, float]:
    """The sums of the amounts."""
    names = [name for name in AMOUNTS if any(name in effort for effort in efforts.values())]
    return {name: round(sum(effort.get(name, 0) for effort in efforts.values()), 6) for name in names}
