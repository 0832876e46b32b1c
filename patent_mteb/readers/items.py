"""What a reader gives: records, what it left out and what it noted; and what a reader is.

Objects out of JSON: lines of one object each, a list of objects, or one object a file; text also compressed (gzip).

A line that is no object costs only itself. A file of another form than UTF-8 is refused as a whole, and so is a list or
an object that is malformed anywhere: where it goes on cannot be known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from patent_mteb.errors import DataError, parsed_json, readable, refuse_other_forms
from patent_mteb.files import load_json, open_binary, text_lines
from patent_mteb.patents.records import Citation, Patent, Relation


@dataclass(frozen=True, slots=True)
class Skipped:
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
class Note:
    """Something that was read, but of which the user is told how often it was so.

    Attributes:
        what: one of few sentences, under which it is counted.
        example: one case of it, with its place.
        count: how many cases this one stands for.
    """

    what: str
    example: str = ""
    count: int = 1


Item: TypeAlias = Patent | Citation | Relation | Skipped | Note


@dataclass(frozen=True)
class Reader:
    """One source of records.

    Attributes:
        name: what the user calls it.
        what: what it reads, in a few words.
        sniff: whether a file is of this source, by its content; a file that cannot be read is not.
        read: the records of a file as they come, in the order of the file; a :class:`~patent_mteb.errors.DataError` for
            a file that is broken as a whole.
        settings: whatever else decides on what is read (the text of a column map); another one gives other records.
    """

    name: str
    what: str
    sniff: Callable[[Path], bool]
    read: Callable[[Path], Iterator[Item]]
    settings: str = ""


NO_OBJECT = "no JSON object (cut off, malformed, or another value)"

_HEAD = 1 << 22
"""Bytes in which the first object is looked for."""


def first_object(path: Path) -> Mapping[str, Any]:
    """The first object of a file, empty if there is none; no more than the start of the file is read."""
    with readable(path), open_binary(path) as stream:
        start = stream.read(_HEAD)
    refuse_other_forms(path, start)
    text = start.decode("utf-8-sig", "ignore").lstrip().removeprefix("[").lstrip()
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The objects of JSON lines with their numbers, from 1; of a line that is no object the line. Blank lines are
    passed over.
    """
    for number, line in text_lines(path):
        if not line.strip():
            continue
        try:
            found = parsed_json(line.removeprefix("\ufeff"), path, number, "mend the line")
        except DataError:
            found = None
        yield number, found if isinstance(found, dict) else line


def json_documents(path: Path) -> Iterator[tuple[str, dict[str, Any]] | Skipped]:
    """The objects of a file of any of the three forms with their places; what is no object is left out."""
    if _is_one_document(path):
        document = load_json(path)
        rows = enumerate(document if isinstance(document, list) else [document], start=1)
        found = ((f"document {number}", one) for number, one in rows)
    else:
        found = ((f"row {number}", row) for number, row in json_rows(path))
    for place, one in found:
        yield (place, one) if isinstance(one, dict) else Skipped("", place, NO_OBJECT, str(one))


def _is_one_document(path: Path) -> bool:
    """Whether a file is a list, or an object over several lines."""
    first = next((line.strip() for _, line in text_lines(path) if line.strip()), "")
    if first.startswith("["):
        return True
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return path.suffix == ".json"
    return False
