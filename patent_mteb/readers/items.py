"""Readers and the items that they yield: records, skipped documents and notes; and the rows of JSON files.

JSON files contain one object per line, a list of objects, or one object. They may be compressed with gzip. An invalid
line is skipped. An invalid list or object is refused with its file, because the next object cannot be located.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from patent_mteb.errors import DataError, parsed_json
from patent_mteb.files import text_lines
from patent_mteb.patents.records import Citation, Patent, Relation


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document or an entry that gives no record, with its position in the file (``row 17``).

    Skipped entries are counted by ``reason``. The ``text`` of a malformed document is saved for the user.
    """

    number: str
    place: str
    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something to report on ``count`` cases, counted by ``what``; ``example`` is a case with its position."""

    what: str
    example: str = ""
    count: int = 1


Item: TypeAlias = Patent | Citation | Relation | Skipped | Note


@dataclass(frozen=True)
class Reader:
    """One source of records: its name on the command line, and a description in a few words.

    ``sniff`` says whether the content of a file is of this source, ``read`` yields the items of a file. ``settings`` is
    anything else that changes the records (the text of a column map).
    """

    name: str
    what: str
    sniff: Callable[[Path], bool]
    read: Callable[[Path], Iterator[Item]]
    settings: str = ""


NO_OBJECT = "no JSON object (incomplete, malformed, or another value)"


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the objects of JSON lines, or the text of invalid lines, with their numbers from 1."""
    for number, line in text_lines(path):
        if not line.strip():
            continue
        try:
            found = parsed_json(line.removeprefix("\ufeff"), path, number, "correct the line")
        except DataError:
            found = None
        yield number, found if isinstance(found, dict) else line


def is_one_document(path: Path) -> bool:
    """Whether a file is one list, or one object: over several lines, or the only line of a ``.json``."""
    lines = (line.strip() for _, line in text_lines(path) if line.strip())
    first = next(lines, "")
    if first.startswith("[") or first.endswith(("{", "[", ",")):
        return True
    return path.suffix == ".json" and next(lines, None) is None


def without_repeats(items: Iterable[tuple[str, Item]]) -> Iterator[Item]:
    """Skip records whose publication number occurred before, and the citations, relations and notes after them."""
    first: dict[str, int] = {}
    repeated = ""
    for place, item in items:
        if isinstance(item, Patent):
            number, content = item.publication_number, hash(item)
            repeated = number if number in first else ""
            if repeated:
                same = first[number] == content
                reason = "the same document once more" if same else "another document of a number that was read before"
                yield Skipped(number, place, reason)
                continue
            first[number] = content
        if not repeated or (isinstance(item, Skipped) and item.number != repeated):
            yield item
