"""Sequences of records in temporary files, so that a collection of any size can be prepared.

A :class:`DiskList` keeps only the position of each record in memory. :class:`StoredPatents` also keeps an outline of
each patent: number, family, publication date and application number (:func:`publications`). Outlines are enough to
decide which publications exist, which families they belong to and who cites whom. Recipes read the texts one record at
a time.

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
from typing import Any, TypeVar, overload

from patent_mteb.errors import temporary_files
from patent_mteb.patents.records import Description, ExpertSummary, MachineSummaries, Patent, TextLanguages

_Record = TypeVar("_Record")
_Sortable = TypeVar("_Sortable", bound=tuple[Any, ...])
_BYTES_AT_ONCE = 1 << 20
_SORTED_AT_ONCE = 100_000


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
        with temporary_files():
            self._file.flush()
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


def outline(patent: Patent, family: str = "") -> Patent:
    """Return a record with the number, family, publication date and application number only."""
    return Patent(
        patent.publication_number,
        family or patent.family_id,
        publication_date=patent.publication_date,
        application_number=patent.application_number,
        **_EMPTY,
    )


class StoredPatents(_Stored[Patent]):
    """Patents in a temporary file. Their outlines, with the current families, are in ``publications``."""

    def __init__(self, records: DiskList[Patent], positions: Sequence[int], publications: list[Patent]) -> None:
        self.records, self.positions, self.publications = records, positions, publications

    def __len__(self) -> int:
        return len(self.positions)

    def _at(self, position: int) -> Patent:
        return _in_family(self.records[self.positions[position]], self.publications[position].family_id)

    def __iter__(self) -> Iterator[Patent]:
        # Reading in the order of the file is much faster; a range means that all records are in that order.
        in_order = isinstance(self.positions, range)
        records = self.records if in_order else map(self.records.__getitem__, self.positions)
        return map(_in_family, records, (one.family_id for one in self.publications))

    def at(self, positions: Sequence[int]) -> StoredPatents:
        """Return the patents at some positions, in that order."""
        return StoredPatents(
            self.records, [self.positions[one] for one in positions], [self.publications[one] for one in positions]
        )


def _in_family(patent: Patent, family: str) -> Patent:
    return patent if patent.family_id == family else replace(patent, family_id=family)


def stored(patents: Iterable[Patent]) -> StoredPatents:
    """Write patents to a temporary file as they are read."""
    outlines: list[Patent] = []
    families: dict[str, str] = {}

    def outlined() -> Iterator[Patent]:
        for patent in patents:
            outlines.append(outline(patent, families.setdefault(patent.family_id, patent.family_id)))
            yield patent

    records = DiskList(outlined())
    return StoredPatents(records, range(len(records)), outlines)


def publications(patents: Sequence[Patent]) -> Sequence[Patent]:
    """Return the outlines of stored patents, or the records themselves if they are in memory."""
    return patents.publications if isinstance(patents, StoredPatents) else patents


def with_family(patents: Sequence[Patent], family_of: Callable[[Patent], str]) -> Sequence[Patent]:
    """Return the patents with the families that a function assigns."""
    changed = [_in_family(patent, family_of(patent)) for patent in publications(patents)]
    return StoredPatents(patents.records, patents.positions, changed) if isinstance(patents, StoredPatents) else changed


def only(patents: Sequence[Patent], condition: Callable[[Patent], bool]) -> Sequence[Patent]:
    """Return the patents whose outlines meet a condition."""
    if isinstance(patents, StoredPatents):
        return patents.at([position for position, one in enumerate(patents.publications) if condition(one)])
    return [patent for patent in patents if condition(patent)]


def in_order(patents: Sequence[Patent], key: Callable[[Patent], str]) -> Sequence[Patent]:
    """Return the patents sorted by a key of their outlines."""
    if isinstance(patents, StoredPatents):
        outlines = patents.publications
        return patents.at(sorted(range(len(outlines)), key=lambda position: key(outlines[position])))
    return sorted(patents, key=key)
