"""Readers of JSON: records in a list, one per line, alone, or within the answers of an API.

A source is recognised by a record anywhere near the start of a file, so the names and the order of what an answer has
around its records do not matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from patent_mteb.errors import readable, refuse_other_forms
from patent_mteb.files import load_json, open_binary
from patent_mteb.readers.items import NO_OBJECT, Item, Reader, Skipped, is_one_document, json_rows, without_repeats
from patent_mteb.readers.xml import MalformedError

IsRecord = Callable[[Mapping[str, Any]], bool]

NO_RECORD = "no record of this source (an empty answer, an error message, or another object)"
WRONG_TYPE = "a field has another type than the documentation of the source says"
_DEPTH = 6  # levels around a record; the deepest known answers have five (PEDS: queryResults … docs)
_HEAD = 1 << 22  # bytes that are searched for the first objects
_FIRST = 30  # objects at the start of a file that show its source: the first row may lack the telling field
_INNER = re.compile(r"[\[:]\s*(?=\{)")


def records_in(value: Any, is_record: IsRecord, depth: int = _DEPTH) -> list[Any]:
    """Return the records of a source within a value: the value itself, or the members of the lists that hold records.

    A list with one record is a list of records: its other members are returned too, to be counted.
    """
    members: Iterable[Any] = ()
    if isinstance(value, dict):
        if is_record(value):
            return [value]
        members = value.values()
    elif isinstance(value, list):
        if any(isinstance(one, dict) and is_record(one) for one in value):
            return value
        members = value
    return [one for member in members for one in records_in(member, is_record, depth - 1)] if depth else []


def first_objects(path: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the first objects of a file, or those within an answer that is too long to be parsed for recognition."""
    with readable(path):
        found = path.stat()
    return _first_objects(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=4)
def _first_objects(path: Path, size: int, changed: int) -> tuple[Mapping[str, Any], ...]:
    with readable(path), open_binary(path) as stream:
        start = stream.read(_HEAD)
    refuse_other_forms(path, start)
    text = start.decode("utf-8-sig", "ignore").lstrip().removeprefix("[").lstrip()
    if not text.startswith("{"):
        return ()
    return tuple(_decoded(text, re.compile(r"[\s,]*"))) or tuple(_decoded(text, _INNER))


def _decoded(text: str, between: re.Pattern[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the first objects of a text; ``between`` is what precedes the next one."""
    decoder, position = json.JSONDecoder(), 0
    for _ in range(_FIRST):
        before = between.search(text, position)
        if before is None:
            return
        position = before.end()
        try:
            found, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            if between is not _INNER:
                return
            continue
        if isinstance(found, dict):
            yield found


def holds(path: Path, is_record: IsRecord) -> bool:
    """Whether a JSON file has a record of a source near its start."""
    return any(records_in(one, is_record) for one in first_objects(path))


def read_json_documents(
    path: Path, make: Callable[[dict[str, Any], str], Iterable[Item]], is_record: IsRecord = bool
) -> Iterator[Item]:
    """Yield the items that ``make`` gives for each record and its position; other values are skipped."""

    def items() -> Iterator[tuple[str, Item]]:
        what, found = "row", json_rows(path)
        if is_one_document(path):
            document = load_json(path)
            what, found = "document", enumerate(document if isinstance(document, list) else [document], start=1)
        for number, one in found:
            place = f"{what} {number}"
            yield from _made(one, place, make, is_record)

    return without_repeats(items())


def _made(
    one: Any, place: str, make: Callable[[dict[str, Any], str], Iterable[Item]], is_record: IsRecord
) -> Iterator[tuple[str, Item]]:
    """Yield the items of each record of a line or document, with its position."""
    records = records_in(one, is_record)
    if not records:
        yield place, Skipped("", place, NO_RECORD if isinstance(one, dict) else NO_OBJECT, str(one))
    alone = len(records) == 1 and records[0] is one
    for number, record in enumerate(records, start=1):
        where = place if alone else f"{place}, entry {number}"
        if isinstance(record, dict):
            yield from ((where, item) for item in make(record, where))
        else:
            yield where, Skipped("", where, NO_OBJECT, str(record))


def json_reader(
    name: str,
    what: str,
    is_record: IsRecord,
    make: Callable[[dict[str, Any], str], Iterable[Item]],
    keys: tuple[str, ...] = (),
) -> Reader:
    """Return the reader of a source of JSON records; ``keys`` are the members that name a record that is skipped."""

    def items(record: dict[str, Any], place: str) -> Iterator[Item]:
        number = next((str(record[key]) for key in keys if record.get(key)), "")
        try:
            yield from list(make(record, place))
        except MalformedError as error:
            yield Skipped(number, place, str(error), str(record))
        except (AttributeError, TypeError):
            yield Skipped(number, place, WRONG_TYPE, str(record))

    return Reader(
        name, what, lambda path: holds(path, is_record), lambda path: read_json_documents(path, items, is_record)
    )
