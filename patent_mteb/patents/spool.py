"""Records in a temporary file: what grows with a collection is read one record at a time, only its place is in memory.

The file has no name, so that nothing of it stays behind whatever ends the process; it lies in the folder that ``TMPDIR`` names (``/tmp``),
or in one that is given, and takes about as much room as the records as text.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeVar, overload

from patent_mteb.errors import temporary_files

__all__ = ["Spool", "held", "held_up_to"]

_Record = TypeVar("_Record")
_BYTES_AT_ONCE = 1 << 20


class Spool(Sequence[_Record]):
    """Records in a temporary file, in the order in which they came; any of them can be read again, as an object of its own.

    Args:
        records: read once and not kept.
        folder: where the file lies; that of the system's temporary files without one.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.patents.spool import Spool
        >>> spool = Spool([Patent("US1A", "F1", title="Pump"), Patent("EP2A", "F2")])
        >>> spool.append(Patent("JP3A", "F3"))
        >>> len(spool), spool[0].title, [patent.publication_number for patent in spool]
        (3, 'Pump', ['US1A', 'EP2A', 'JP3A'])
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(one == its for one, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _read(self, start: int, end: int) -> bytes:
        with temporary_files():
            self._file.flush()
        return os.pread(self._file.fileno(), end - start, start)


def held(records: Iterable[_Record], like: Sequence[Any]) -> Sequence[_Record]:
    """Records as another sequence is held: in memory, or in a temporary file.

    Example:
        >>> from patent_mteb.patents.spool import Spool, held
        >>> type(held(iter("ab"), [])).__name__, type(held(iter("ab"), Spool())).__name__
        ('list', 'Spool')
    """
    return list(records) if isinstance(like, list | tuple) else Spool(records)


def held_up_to(most: int, records: Iterable[_Record], size: Callable[[_Record], int]) -> Sequence[_Record]:
    """Records in memory as long as they are small together, else in a temporary file.

    Args:
        most: bytes of all that are held in memory.
        size: bytes of a record.

    Example:
        >>> from patent_mteb.patents.spool import held_up_to
        >>> held_up_to(3, ["ab", "c"], len), type(held_up_to(3, ["ab", "cd"], len)).__name__
        (['ab', 'c'], 'Spool')
    """
    coming = iter(records)
    kept: list[_Record] = []
    total = 0
    for record in coming:
        kept.append(record)
        total += size(record)
        if total > most:
            return Spool(chain(_emptied(kept), coming))
    return kept


def _emptied(records: list[_Record]) -> Iterator[_Record]:
    """The records of a list in their order, none of which stays in it."""
    records.reverse()
    while records:
        yield records.pop()
