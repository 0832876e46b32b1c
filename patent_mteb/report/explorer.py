"""Query by query: the queries on which each two models differ most, and the wins of each model by slice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.files import text_lines
from patent_mteb.report.statistics import Floats
from patent_mteb.report.view import BenchmarkView, MeasuredTask, QueryTable, read_queries
from patent_mteb.report.words import shortened, visible
from patent_mteb.search import trec
from patent_mteb.tasks.verification import per_query_measure

BUDGET = 2_400_000  # characters of JSON of the explorers of all tabs, at most
EACH = 5  # queries for each two models and each direction, of few models; of many one
_MANY = 10  # models whose scores a page holds for every query
_TOP = 5  # documents of a ranking that the page shows
_TENTHS_OF_A_MILLE = 10_000  # scores are whole numbers on the page: half the bytes
_QUERY, _DOCUMENT = 600, 160  # characters of a text, at most


@dataclass(frozen=True)
class TaskTexts:
    queries: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)


def outcomes(first: Floats, second: Floats) -> tuple[int, int]:
    """Count the queries that each of two models wins; the others are ties. NaN does not count."""
    return int((first > second).sum()), int((second > first).sum())


def chosen(values: Floats, each: int) -> list[int]:
    """Return the queries on which two models differ most, ``each`` for every two models and each direction."""
    kept: set[int] = set()
    for first, second in combinations(range(values.shape[1]), 2):
        difference = values[:, first] - values[:, second]
        order = np.argsort(difference, kind="stable")
        kept.update(int(query) for query in order[:each] if difference[query] < 0)
        kept.update(int(query) for query in order[::-1][:each] if difference[query] > 0)
    return sorted(kept)


def _relevant(path: Path, queries: Sequence[str]) -> set[tuple[str, str]]:
    """Read the relevant documents of some queries from qrels, as pairs of query and document."""
    wanted = set(queries)
    found: dict[tuple[str, str], int] = {}
    for _, line in text_lines(path):
        fields = trec.columns(line)
        if len(fields) == 4 and fields[0] in wanted and fields[3].lstrip("-").isdecimal():
            found[fields[0], fields[2]] = int(fields[3])
    return {pair for pair, gain in found.items() if gain > 0}


def first_documents(result: Path, task: str, queries: Sequence[str]) -> list[list[tuple[str, bool]]]:
    """Read the first documents of queries, and whether each is relevant, from the run next to a result.

    The lists are empty without a saved run.

    Raises:
        DataError: the run or its qrels are damaged.
    """
    saved, judged = (result.with_name(f"{task}{suffix}") for suffix in (".run", ".qrels"))
    ranked = trec.read_run(saved, first=_TOP) if saved.is_file() else {}
    relevant = _relevant(judged, queries) if ranked and judged.is_file() else set()
    return [[(one, (query, one) in relevant) for one in ranked.get(query, ())] for query in queries]


class Explorer:
    """Explorers of the tasks that have per-query scores of two models or more on the same queries.

    Headline tasks come first, and they alone have texts and documents. :data:`BUDGET` limits the others.
    """

    def __init__(
        self,
        numbers: Mapping[str, int],
        texts_of: Callable[[BenchmarkView, MeasuredTask], TaskTexts],
        views: Sequence[BenchmarkView],
    ) -> None:
        self.numbers = numbers
        self.texts_of = texts_of
        self.left = BUDGET
        self.excluded = 0
        self.messages: list[str] = []
        self._found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for first in (True, False):
            for view in views:
                for task in view.tasks:
                    if (task == view.headline) == first:
                        self._add(view, task, documents=first)

    def of(self, view: BenchmarkView) -> list[dict[str, Any]]:
        return self._found.get((view.data_source.name, view.name), [])

    def _add(self, view: BenchmarkView, task: MeasuredTask, *, documents: bool) -> None:
        read = self._read(view, task)
        if len(read) < 2:
            return
        made = self._task(view, task, read, documents=documents)
        cost = len(json.dumps(made, ensure_ascii=False))
        if cost > self.left:
            self.excluded += 1
            return
        self.left -= cost
        self._found.setdefault((view.data_source.name, view.name), []).append(made)

    def _read(self, view: BenchmarkView, task: MeasuredTask) -> dict[str, QueryTable]:
        """Read the per-query scores of the largest group of runs with the same queries."""
        rows = view.results.filter((pl.col("task") == task.name) & pl.col("queries").is_not_null())
        groups: dict[tuple[str, ...], dict[str, QueryTable]] = {}
        for run, path, main in rows.select("run", "queries", "main_score").iter_rows():
            table = read_queries(Path(path), per_query_measure(main))
            groups.setdefault(table.queries, {})[run] = table
        return max(groups.values(), key=len, default={})

    def _task(
        self, view: BenchmarkView, task: MeasuredTask, read: Mapping[str, QueryTable], *, documents: bool
    ) -> dict[str, Any]:
        """Make an explorer, with ``documents`` also with texts and first documents."""
        runs, tables = list(read), list(read.values())
        values = np.column_stack([table.parts[""] for table in tables])
        kept = chosen(values, EACH if len(runs) <= _MANY else 1)
        queries = [tables[0].queries[place] for place in kept]
        known = self.texts_of(view, task) if documents else TaskTexts()
        parts = [part for part in tables[0].parts if all(part in table.parts for table in tables)]
        groups = {part: [table.parts[part] for table in tables] for part in parts} | _by_length(tables, known.queries)
        top = self._top(view, task, runs, queries) if documents else []
        shown = sorted({document for ranked in top for found in ranked for document, _ in found})
        return {
            "task": task.name,
            "runs": [self.numbers[run] for run in runs],
            "groups": [
                {
                    "title": part,
                    "n": int(np.isfinite(columns).all(axis=0).sum()),
                    "wins": [outcomes(first, second) for first, second in combinations(columns, 2)],
                }
                for part, columns in groups.items()
            ],
            "queries": list(map(visible, queries)),
            "scores": np.rint(values[kept].T * _TENTHS_OF_A_MILLE).astype(int).tolist(),
            "texts": [_excerpt(known.queries.get(query, ""), _QUERY) for query in queries] if known.queries else [],
            "documents": {
                visible(one): _excerpt(known.documents[one], _DOCUMENT) for one in shown if one in known.documents
            },
            "top": top,
        }

    def _top(self, view: BenchmarkView, task: MeasuredTask, runs: Sequence[str], queries: Sequence[str]) -> list[Any]:
        """The first documents of each run and query, and whether each is relevant, if rankings were saved."""
        paths = dict(view.results.filter(pl.col("task") == task.name).select("run", "path").iter_rows())
        top: list[list[list[Any]]] = []
        for run in runs:
            try:
                found = first_documents(Path(paths[run]), task.name, queries)
            except DataError as error:
                found = [[] for _ in queries]
                self.messages.append(str(error))
            top.append([[[visible(one), int(good)] for one, good in documents] for documents in found])
        return top if any(any(ranked) for ranked in top) else []


def _by_length(tables: Sequence[QueryTable], texts: Mapping[str, str]) -> dict[str, list[Floats]]:
    """The scores of the shorter and of the longer half of the queries, if all texts are known."""
    queries = tables[0].queries
    if not all(query in texts for query in queries):
        return {}
    words = np.array([len(texts[query].split()) for query in queries])
    short = words <= np.median(words)
    if short.all():
        return {}
    halves = {"length_short": short, "length_long": ~short}
    return {name: [np.where(members, table.parts[""], np.nan) for table in tables] for name, members in halves.items()}


def _excerpt(text: str, length: int) -> str:
    return visible(shortened(" ".join(text.split()), length))
