"""Shared steps of readers: yield the documents of XML and JSON files, and skip repeated publications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers.items import Item, Note, Skipped, json_documents
from patent_mteb.readers.xml import (
    Document,
    Element,
    MalformedError,
    Split,
    documents,
    parse,
    shown,
    split_at_declarations,
)


def read_bulk(
    path: Path, make: Callable[[Element, str], Iterator[Item]], split: Split = split_at_declarations
) -> Iterator[Item]:
    """Yield the items of the documents in an XML file or a zip file."""
    return without_repeats(_items(path, make, split))


def _items(path: Path, make: Callable[[Element, str], Iterator[Item]], split: Split) -> Iterator[tuple[str, Item]]:
    for document in documents(path, split):
        if not isinstance(document, Document):
            yield document.place, document
            continue
        try:
            root, repaired = parse(document.content)
            items = list(make(root, document.place))
        except MalformedError as error:
            yield document.place, Skipped("", document.place, str(error), shown(document.content))
            continue
        if repaired:
            yield document.place, Note("an unescaped & or < was escaped", document.place)
        yield from ((document.place, item) for item in items)


def read_json_documents(path: Path, make: Callable[[dict[str, Any], str], Iterable[Item]]) -> Iterator[Item]:
    """Yield the items of the JSON objects in a file."""

    def items() -> Iterator[tuple[str, Item]]:
        for found in json_documents(path):
            if isinstance(found, Skipped):
                yield found.place, found
            else:
                place, row = found
                yield from ((place, item) for item in make(row, place))

    return without_repeats(items())


def without_repeats(items: Iterable[tuple[str, Item]]) -> Iterator[Item]:
    """Skip records whose publication number occurred before, and the citations, relations and notes after them.

    ``items`` are pairs of position and item.
    """
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
        if not repeated or not _belongs_to(item, repeated):
            yield item


def _belongs_to(item: Item, number: str) -> bool:
    """Whether an item after the record of a number belongs to that record."""
    return isinstance(item, Citation | Relation | Note) or (isinstance(item, Skipped) and item.number == number)
