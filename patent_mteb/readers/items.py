"""What a reader gives: records, what it left out and what it noted; and what a reader is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from patent_mteb.patents.records import Citation, Patent, Relation

__all__ = ["Item", "LeftOut", "Noted", "Reader"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A document or an entry that gives no record.

    Attributes:
        number: its number as far as it is known, else empty.
        place: where it stands in the file (``row 17``).
        reason: one of few sentences, under which it is counted.
        text: the whole of a document that is malformed, to be set aside for the user.
    """

    number: str
    place: str
    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that was read, but of which the user is told how often it was so.

    Attributes:
        what: one of few sentences, under which it is counted.
        example: one case of it, with its place.
        count: how many cases this one stands for.
    """

    what: str
    example: str = ""
    count: int = 1


Item: TypeAlias = Patent | Citation | Relation | LeftOut | Noted


@dataclass(frozen=True)
class Reader:
    """One source of records.

    Attributes:
        name: what the user calls it.
        what: what it reads, in a few words.
        sniff: whether a file is of this source, by its content; a file that cannot be read is not.
        read: the records of a file as they come, in the order of the file; a :class:`~patent_mteb.errors.DataError` for a file that is
            broken as a whole.
        settings: whatever else decides on what is read (the text of a column map); another one gives other records.
    """

    name: str
    what: str
    sniff: Callable[[Path], bool]
    read: Callable[[Path], Iterator[Item]]
    settings: str = ""
