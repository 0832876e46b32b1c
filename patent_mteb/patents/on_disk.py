"""Sequences of records in temporary files, so that a collection of any size can be prepared.

A :class:`DiskList` keeps only the position of each record in memory. :class:`StoredPatents` also keeps an outline of
each patent: number, family, publication date and application number (:func:`publications`). Outlines are enough to
decide which publications exist, which families they belong to and who cites whom. Recipes read the texts one record at
a time.

The temporary files have no name, so nothing is left when a process is killed. They are created in the folder that
``TMPDIR`` names and are about as large as the records as text.
"""

from __future__ import annotations

import datetime as dt
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
import pyarrow as pa
import pyarrow.compute as pc

from patent_mteb.errors import temporary_files
from patent_mteb.patents.records import Description, ExpertSummary, MachineSummaries, Patent, TextLanguages
from patent_mteb.patents.text_columns import Rows, TextMap, coded, values_of

_Record = TypeVar("_Record")
_Sortable = TypeVar("_Sortable", bound=tuple[Any, ...])
_BYTES_AT_ONCE = 1 << 20
_SORTED_AT_ONCE = 100_000
_OUTLINES_AT_ONCE = 10_000


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
    return _outline(patent.publication_number, patent.family_id, patent.application_number, patent.publication_date)


class Outlines(_Stored[Patent]):
    """Outlines of patents as columns, in about 60 bytes a patent. An item is a new record on each access."""

    def __init__(self, numbers: pa.Array, families: pa.DictionaryArray, applications: pa.Array, days: pa.Array) -> None:
        self.numbers, self.families, self.applications, self.days = numbers, families, applications, days

    @classmethod
    def of(cls, patents: Iterable[Patent]) -> Outlines:
        """Read outlines from patents, with one of these in memory at a time."""
        fields = attrgetter("publication_number", "family_id", "application_number", "publication_date")
        rows = map(fields, patents)
        kinds = (pa.large_string(), pa.large_string(), pa.large_string(), pa.date32())
        blocks = [[pa.array([], kind)] for kind in kinds]
        while some := list(islice(rows, _OUTLINES_AT_ONCE)):
            for block, values, kind in zip(blocks, zip(*some, strict=True), kinds, strict=True):
                block.append(pa.array(values, kind))
        numbers, families, applications, days = map(pa.concat_arrays, blocks)
        return cls(numbers, coded(families), applications, days)

    @property
    def table(self) -> pl.DataFrame:
        """A row for each patent: its place ``row``, ``number``, ``family``, ``application`` and ``day``."""
        columns = (self.numbers, self.families, self.applications, self.days)
        names = ("number", "family", "application", "day")
        table = pl.DataFrame([pl.from_arrow(one) for one in columns], names)
        return table.with_columns(pl.col("family").cast(pl.String)).with_row_index("row")

    @property
    def family_of(self) -> TextMap:
        return TextMap(self.numbers, self.families)

    def __len__(self) -> int:
        return len(self.numbers)

    def _at(self, row: int) -> Patent:
        return _outline(*(one[row].as_py() for one in (self.numbers, self.families, self.applications, self.days)))

    def __iter__(self) -> Iterator[Patent]:
        return map(_outline, *map(values_of, (self.numbers, self.families, self.applications, self.days)))

    def at(self, rows: Sequence[int] | Rows) -> Outlines:
        """Return some rows, in that order."""
        taken = pa.array(rows, pa.int32())
        return Outlines(*(one.take(taken) for one in (self.numbers, self.families, self.applications, self.days)))


def _outline(number: str, family: str, application: str, day: dt.date | None) -> Patent:
    return Patent(number, family, publication_date=day, application_number=application, **_EMPTY)


class StoredPatents(_Stored[Patent]):
    """Patents in a temporary file. Their outlines, with the current families, are in ``publications``."""

    def __init__(self, records: DiskList[Patent], rows: Rows | range, publications: Outlines) -> None:
        self.records, self.rows, self.publications = records, rows, publications

    def __len__(self) -> int:
        return len(self.rows)

    def _at(self, row: int) -> Patent:
        return _in_family(self.records[int(self.rows[row])], self.publications.families[row].as_py())

    def __iter__(self) -> Iterator[Patent]:
        # Reading in the order of the file is much faster; a range means that all records are in that order.
        records = self.records if isinstance(self.rows, range) else map(self.records.__getitem__, self.rows.tolist())
        return map(_in_family, records, values_of(self.publications.families))

    def at(self, rows: Rows) -> StoredPatents:
        """Return the patents at some rows, in that order."""
        return StoredPatents(self.records, np.asarray(self.rows, np.int32)[rows], self.publications.at(rows))


def _in_family(patent: Patent, family: str) -> Patent:
    return patent if patent.family_id == family else replace(patent, family_id=family)


def stored(patents: Iterable[Patent]) -> StoredPatents:
    """Write patents to a temporary file as they are read."""
    records: DiskList[Patent] = DiskList()

    def written() -> Iterator[Patent]:
        for patent in patents:
            records.append(patent)
            yield patent

    outlines = Outlines.of(written())
    return StoredPatents(records, range(len(records)), outlines)


def publications(patents: Sequence[Patent]) -> Outlines:
    if isinstance(patents, Outlines):
        return patents
    return patents.publications if isinstance(patents, StoredPatents) else Outlines.of(patents)


def with_family(patents: Sequence[Patent], families: pa.DictionaryArray) -> Sequence[Patent]:
    """Return the patents with other families, one a patent."""
    if isinstance(patents, StoredPatents):
        known = patents.publications
        outlines = Outlines(known.numbers, families, known.applications, known.days)
        return StoredPatents(patents.records, patents.rows, outlines)
    return list(map(_in_family, patents, values_of(families)))


def only(patents: Sequence[Patent], condition: Callable[[Patent], bool]) -> Sequence[Patent]:
    """Return the patents whose outlines meet a condition."""
    if isinstance(patents, StoredPatents):
        chosen = np.fromiter(map(condition, patents.publications), bool, len(patents))
        return patents.at(np.flatnonzero(chosen).astype(np.int32))
    return [patent for patent in patents if condition(patent)]


def by_number(patents: Sequence[Patent]) -> Sequence[Patent]:
    """Return the patents sorted by their publication numbers."""
    if isinstance(patents, StoredPatents):
        return patents.at(pc.sort_indices(patents.publications.numbers).to_numpy().astype(np.int32))
    return sorted(patents, key=lambda patent: patent.publication_number)
