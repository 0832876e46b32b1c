"""What was computed last and may be asked for again, as far as it fits into a given amount of memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
import xxhash

from patent_mteb.search.run import Run

_Key = TypeVar("_Key", bound=Hashable)

_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """Values within a memory limit; the least recently used ones are dropped."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._held: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def keep(self, key: _Key, value: _Value, size: int) -> None:
        """Store a value of ``size`` bytes, unless it exceeds the limit."""
        self._held.pop(key, None)
        if size > self.most_bytes:
            return
        self._held[key] = value, size
        while sum(held for _, held in self._held.values()) > self.most_bytes:
            self._held.popitem(last=False)

    def get(self, key: _Key) -> _Value | None:
        """The value of a key, None if missing."""
        if key not in self._held:
            return None
        self._held.move_to_end(key)
        return self._held[key][0]

    def __iter__(self) -> Iterator[_Key]:
        """Keys, most recently used first."""
        return iter(list(reversed(self._held)))


_Queries = tuple[tuple[str, str], ...]


class RecentRuns:
    """Rankings of past queries, for systems that rank each query independently."""

    def __init__(self, most_bytes: int) -> None:
        self._held: Recent[tuple[Hashable, int, _Queries], Run] = Recent(most_bytes)
        self._lock = Lock()

    def run(
        self, corpus: Hashable, query_ids: Sequence[str], texts: Sequence[str], top_k: int, search: Callable[[], Run]
    ) -> Run:
        """Rankings from an earlier search of the same queries, else from ``search``.

        The earlier search must be as deep and cover all queries.
        """
        asked = tuple(
            (query, xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass")))
            for query, text in zip(query_ids, texts, strict=True)
        )
        with self._lock:
            known = self._known(corpus, asked, top_k)
        if known is not None:
            before, run = known
            place = {query: row for row, query in enumerate(before)}
            return _rows(run, [place[query] for query in asked], list(query_ids), top_k)
        found = search()
        with self._lock:
            self._held.keep((corpus, top_k, asked), found, found.nbytes)
        return found

    def _known(self, corpus: Hashable, asked: _Queries, top_k: int) -> tuple[_Queries, Run] | None:
        wanted = set(asked)
        for key in self._held:
            where, depth, before = key
            if (
                where == corpus
                and depth >= top_k
                and wanted <= set(before)
                and (run := self._held.get(key)) is not None
            ):
                return before, run
        return None


def _rows(run: Run, rows: list[int], query_ids: list[str], top_k: int) -> Run:
    """Some rankings of a run, as a search for them alone would return them."""
    docs = run.docs[rows, :top_k]
    width = int((docs >= 0).sum(axis=1).max(initial=0))
    return replace(
        run,
        query_ids=query_ids,
        docs=np.ascontiguousarray(docs[:, :width]),
        scores=np.ascontiguousarray(run.scores[rows, :width]),
    )
