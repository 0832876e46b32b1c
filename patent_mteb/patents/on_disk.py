"""Sequences of records in temporary files, so that a collection of any size can be prepared.

A :class:`DiskList` keeps only the position of each record in memory. :class:`StoredPatents` also keeps a table of the
patents: number, family, publication date and application number (:func:`publications`). The table is enough to decide
which publications exist, which families they belong to and who cites whom. Recipes read the texts one record at a time.

The temporary files have no name, so nothing is left when a process is killed. They are created in the folder that
``TMPDIR`` names and are about as large as the records as text.
"""

from __future__ import annotations

import heapq
import os
import pickle
import tempfile
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from operator import attrgetter
from typing import Any, TypeVar, overload

import numpy as np
import polars as pl

from patent_mteb.errors import temporary_files
from patent_mteb.patents.records import Description, ExpertSummary, MachineSummaries, Patent, TextLanguages
from patent_mteb.patents.tables import frame_of

_Record = TypeVar("_Record")
_Sortable = TypeVar("_Sortable", bound=tuple[Any, ...])
_BYTES_AT_ONCE = 1 << 20  # of records that are read together
_SORTED_AT_ONCE = 100_000  # digests of 16 bytes: some 10 MB as Python objects


class _Stored(Sequence[_Record]):
    """A sequence whose items are read from a file."""

    @abstractmethod
    def _at(self, position: int) -> _Record:
        """Return the item at a position from 0."""

    @overload
    def __getitem__(self, position: int) -> _Record: ...
    @overload
    def __getitem__(self, position: slice) -> list[_Record]: ...
    def __getitem__(self, position: int | slice) -> _Record | list[_Record]:
        if isinstance(position, slice):
            return [self._at(one) for one in range(len(self))[position]]
        return self._at(range(len(self))[position])


class DiskList(_Stored[_Record]):
    """An append-only list of records in a temporary file. Each access unpickles a new object."""

    def __init__(self, records: Iterable[_Record] = ()) -> None:
        with temporary_files():
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the records are needed)
        self._ends = array("q", [0])
        self._readable = 0  # bytes that have left the buffer of the writer
        for record in records:
            self.append(record)

    def append(self, record: _Record) -> None:
        content = pickle.dumps(record, pickle.HIGHEST_PROTOCOL)
        with temporary_files():
            written = self._file.write(content)
        self._ends.append(self._ends[-1] + written)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def _at(self, position: int) -> _Record:
        record: _Record = pickle.loads(self._read(self._ends[position], self._ends[position + 1]))
        return record

    def __iter__(self) -> Iterator[_Record]:
        first = 0
        while first < len(self):
            last = first + 1
            while last < len(self) and self._ends[last + 1] - self._ends[first] <= _BYTES_AT_ONCE:
                last += 1
            block = memoryview(self._read(self._ends[first], self._ends[last]))
            ends = [end - self._ends[first] for end in self._ends[first : last + 1]]
            for start, end in pairwise(ends):
                yield pickle.loads(block[start:end])
            first = last

    def _read(self, start: int, end: int) -> bytes:
        if end > self._readable:
            with temporary_files():
                self._file.flush()
            self._readable = self._ends[-1]
        return os.pread(self._file.fileno(), end - start, start)


def stored_like(records: Iterable[_Record], like: Sequence[Any]) -> Sequence[_Record]:
    """Return a list if ``like`` is in memory, else a :class:`DiskList`."""
    return list(records) if isinstance(like, list | tuple) else DiskList(records)


def sorted_on_disk(records: Iterable[_Sortable]) -> Iterator[_Sortable]:
    """Yield records in order; at most 100,000 are in memory at a time."""
    stream = iter(records)
    runs = [DiskList(run) for run in iter(lambda: sorted(islice(stream, _SORTED_AT_ONCE)), [])]
    return heapq.merge(*runs)


def in_memory_up_to(limit: int, records: Iterable[_Record], size: Callable[[_Record], int]) -> Sequence[_Record]:
    """Return a list if the sizes of all records sum to at most ``limit``, else a :class:`DiskList`."""
    remaining = iter(records)
    in_memory: list[_Record] = []
    total = 0
    for record in remaining:
        in_memory.append(record)
        total += size(record)
        if total > limit:
            in_memory.reverse()
            emptied = (in_memory.pop() for _ in range(len(in_memory)))  # frees each record as it is written
            return DiskList(chain(emptied, remaining))
    return in_memory


_PARTS = (Description(), ExpertSummary(), MachineSummaries(), TextLanguages())
_EMPTY: dict[str, Any] = dict(zip(("description", "expert", "summaries", "languages"), _PARTS, strict=True))
"""The same empty objects for all outlines."""


def outline(patent: Patent) -> Patent:
    """Return a record with the number, family, publication date and application number only."""
    number, family, application, day = _fields(patent)
    return Patent(number, family, publication_date=day, application_number=application, **_EMPTY)


_COLUMNS = {"number": pl.String, "family": pl.String, "application": pl.String, "day": pl.Date}
_fields = attrgetter("publication_number", "family_id", "application_number", "publication_date")


class StoredPatents(_Stored[Patent]):
    """Patents in a temporary file. Their table, with the current families, is in ``publications``."""

    def __init__(self, records: DiskList[Patent], places: Sequence[int], publications: pl.DataFrame) -> None:
        self.records, self.places, self.publications = records, places, publications

    def __len__(self) -> int:
        return len(self.places)

    def _at(self, row: int) -> Patent:
        return _in_family(self.records[self.places[row]], self.publications["family"][row])

    def __iter__(self) -> Iterator[Patent]:
        # Reading in the order of the file is much faster; a range means that all records are in that order.
        in_order = isinstance(self.places, range)
        records = self.records if in_order else map(self.records.__getitem__, self.places)
        return map(_in_family, records, self.publications["family"])


def _in_family(patent: Patent, family: str) -> Patent:
    return patent if patent.family_id == family else replace(patent, family_id=family)


def stored(patents: Iterable[Patent]) -> StoredPatents:
    """Write patents to a temporary file as they are read."""
    records: DiskList[Patent] = DiskList()

    def written() -> Iterator[Patent]:
        for patent in patents:
            records.append(patent)
            yield patent

    table = _table(written())
    return StoredPatents(records, range(len(records)), table)


def _table(patents: Iterable[Patent]) -> pl.DataFrame:
    return frame_of(map(_fields, patents), _COLUMNS).with_row_index("row")


def publications(patents: Sequence[Patent]) -> pl.DataFrame:
    """Return the bibliographic data of patents that decide what becomes of them.

    Returns:
        A row for each patent: its place ``row``, ``number``, ``family``, ``application`` number and ``day`` of
        publication, null if unknown.
    """
    return patents.publications if isinstance(patents, StoredPatents) else _table(patents)


def with_family(patents: Sequence[Patent], families: pl.Series) -> Sequence[Patent]:
    """Return the patents with other families, one a patent."""
    if isinstance(patents, StoredPatents):
        table = patents.publications.with_columns(families.alias("family"))
        return StoredPatents(patents.records, patents.places, table)
    return list(map(_in_family, patents, families))


def _at(patents: Sequence[Patent], chosen: pl.DataFrame) -> Sequence[Patent]:
    """Return the patents of some rows of their table, in that order."""
    if isinstance(patents, StoredPatents):
        places = np.asarray(patents.places)[chosen["row"].to_numpy()]
        return StoredPatents(patents.records, places.tolist(), chosen.drop("row").with_row_index("row"))
    return [patents[row] for row in chosen["row"]]


def only(patents: Sequence[Patent], condition: pl.Expr) -> Sequence[Patent]:
    """Return the patents whose rows (:func:`publications`) meet a condition."""
    return _at(patents, publications(patents).filter(condition))


def by_number(patents: Sequence[Patent]) -> Sequence[Patent]:
    """Return the patents sorted by their publication numbers."""
    return _at(patents, publications(patents).sort("number", maintain_order=True))
