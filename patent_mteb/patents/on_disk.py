"""Patents of which only the names are in memory: number, family, day and application; the whole record is read when it
is asked for.

What decides which publications there are, of which families, and who cites whom needs their names only
(:func:`publications`), so that a collection of any size can be prepared, and a recipe reads the texts as often as it
has to, one record at a time.

Records in a temporary file: what grows with a collection is read one record at a time, only its place is in memory.

The file has no name, so that nothing of it stays behind whatever ends the process; it lies in the folder that
``TMPDIR`` names (``/tmp``), or in one that is given, and takes about as much room as the records as text.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeVar, overload

from patent_mteb.errors import temporary_files
from patent_mteb.patents.records import Description, ExpertSummary, MachineSummaries, Patent, TextLanguages

_Record = TypeVar("_Record")

_BYTES_AT_ONCE = 1 << 20


class _Compared(Sequence[_Record]):
    """A sequence that equals any other of equal items."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(one == its for one, its in zip(self, other, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]


class DiskList(_Compared[_Record]):
    """Records in a temporary file, in the order in which they came; any of them can be read again, as an object of its
    own.
    """

    def __init__(self, records: Iterable[_Record] = (), folder: Path | None = None) -> None:
        with temporary_files():
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (as long as the records are needed)
        self._ends = array("q", [0])
        for record in records:
            self.append(record)

    def append(self, record: _Record) -> None:
        """Write one more record."""
        content = pickle.dumps(record, pickle.HIGHEST_PROTOCOL)
        with temporary_files():
            written = self._file.write(content)
        self._ends.append(self._ends[-1] + written)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> _Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[_Record]: ...
    def __getitem__(self, place: int | slice) -> _Record | list[_Record]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        number = range(len(self))[place]
        record: _Record = pickle.loads(self._read(self._ends[number], self._ends[number + 1]))
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
    """Records as another sequence is held: in memory, or in a temporary file."""
    return list(records) if isinstance(like, list | tuple) else DiskList(records)


def in_memory_up_to(most: int, records: Iterable[_Record], size: Callable[[_Record], int]) -> Sequence[_Record]:
    """Records in memory as long as they are small together, else in a temporary file."""
    coming = iter(records)
    kept: list[_Record] = []
    total = 0
    for record in coming:
        kept.append(record)
        total += size(record)
        if total > most:
            return DiskList(chain(_emptied(kept), coming))
    return kept


def _emptied(records: list[_Record]) -> Iterator[_Record]:
    """The records of a list in their order, none of which stays in it."""
    records.reverse()
    while records:
        yield records.pop()


_EMPTY = {
    "description": Description(),
    "expert": ExpertSummary(),
    "summaries": MachineSummaries(),
    "languages": TextLanguages(),
}


def outline(patent: Patent, family: str = "") -> Patent:
    """The record with nothing but its number, family, day of publication and application number."""
    return Patent(
        patent.publication_number,
        family or patent.family_id,
        publication_date=patent.publication_date,
        application_number=patent.application_number,
        **_EMPTY,  # type: ignore[arg-type]
    )


class StoredPatents(_Compared[Patent]):
    """Patents in a temporary file, as :func:`stored` makes them.

    Attributes:
        publications: their outlines, which say what their families are.
    """

    def __init__(self, spool: DiskList[Patent], places: Sequence[int], publications: list[Patent]) -> None:
        self._spool, self._places, self.publications = spool, places, publications

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Patent: ...
    @overload
    def __getitem__(self, place: slice) -> list[Patent]: ...
    def __getitem__(self, place: int | slice) -> Patent | list[Patent]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        return _of(self._spool[self._places[place]], self.publications[place])

    def __iter__(self) -> Iterator[Patent]:
        in_place = isinstance(self._places, range)  # all of them, as they came
        return map(_of, self._spool if in_place else map(self._spool.__getitem__, self._places), self.publications)

    def reassigned(self, family_of: Callable[[Patent], str]) -> StoredPatents:
        """The same patents in other families."""
        return StoredPatents(self._spool, self._places, [outline(one, family_of(one)) for one in self.publications])

    def ordered(self, key: Callable[[Patent], str]) -> StoredPatents:
        """The same patents in the order of a key."""
        order = sorted(range(len(self.publications)), key=lambda place: key(self.publications[place]))
        return StoredPatents(
            self._spool, [self._places[place] for place in order], [self.publications[place] for place in order]
        )

    def chosen(self, keeps: Callable[[Patent], bool]) -> StoredPatents:
        """Some of the patents."""
        kept = [place for place, one in enumerate(self.publications) if keeps(one)]
        return StoredPatents(
            self._spool, [self._places[place] for place in kept], [self.publications[place] for place in kept]
        )


def _of(patent: Patent, known: Patent) -> Patent:
    """The record in the family that is known of it."""
    return patent if patent.family_id == known.family_id else replace(patent, family_id=known.family_id)


def stored(patents: Iterable[Patent]) -> StoredPatents:
    """Patents in a temporary file, read once and not kept."""
    known: list[Patent] = []
    families: dict[str, str] = {}

    def noted() -> Iterator[Patent]:
        for patent in patents:
            known.append(outline(patent, families.setdefault(patent.family_id, patent.family_id)))
            yield patent

    spool = DiskList(noted())
    return StoredPatents(spool, range(len(spool)), known)


def publications(patents: Sequence[Patent]) -> Sequence[Patent]:
    """What is in memory of some patents: their outlines, or the records themselves."""
    return patents.publications if isinstance(patents, StoredPatents) else patents


def with_family(patents: Sequence[Patent], family_of: Callable[[Patent], str]) -> Sequence[Patent]:
    """The patents in other families."""
    if isinstance(patents, StoredPatents):
        return patents.reassigned(family_of)
    return [
        patent if patent.family_id == (family := family_of(patent)) else replace(patent, family_id=family)
        for patent in patents
    ]


def only(patents: Sequence[Patent], keeps: Callable[[Patent], bool]) -> Sequence[Patent]:
    """Some of the patents."""
    return (
        patents.chosen(keeps) if isinstance(patents, StoredPatents) else [patent for patent in patents if keeps(patent)]
    )


def in_order(patents: Sequence[Patent], key: Callable[[Patent], str]) -> Sequence[Patent]:
    """The patents in the order of a key, which is told from the outline of a patent."""
    return patents.ordered(key) if isinstance(patents, StoredPatents) else sorted(patents, key=key)
