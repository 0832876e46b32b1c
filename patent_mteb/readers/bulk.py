"""What every reader of XML does alike: documents one by one, each with its place, a number only once, broken ones set
aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers.items import Item, Note, Skipped
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
    """The records of the documents in an XML file or a zip file."""
    return same_once(_items(path, make, split))


def _items(path: Path, make: Callable[[Element, str], Iterator[Item]], split: Split) -> Iterator[tuple[str, Item]]:
    for document in documents(path, split):
        if not isinstance(document, Document):
            yield document.place, document
            continue
        try:
            root, mended = parse(document.content)
            items = list(make(root, document.place))
        except MalformedError as error:
            yield document.place, Skipped("", document.place, str(error), shown(document.content))
            continue
        if mended:
            yield document.place, Note("a sign & or < that stands for itself was mended", document.place)
        yield from ((document.place, item) for item in items)


def same_once(items: Iterable[tuple[str, Item]]) -> Iterator[Item]:
    """Pass items on, given with their places, of each publication number the first record only, with what is said of
    it.

    A second record is left out with the reason whether it says the same; so are the citations and relations that follow
    it.
    """
    seen: dict[str, int] = {}
    dropping = ""
    for place, item in items:
        if isinstance(item, Patent):
            number, content = item.publication_number, hash(item)
            dropping = number if number in seen else ""
            if dropping:
                same = (
                    "the same document once more"
                    if seen[number] == content
                    else "another document of a number that was read before"
                )
                yield Skipped(number, place, same)
                continue
            seen[number] = content
        if not dropping or not _belongs_to(item, dropping):
            yield item


def _belongs_to(item: Item, number: str) -> bool:
    """Whether an item belongs to the record of a number that went before it."""
    return isinstance(item, Citation | Relation | Note) or (isinstance(item, Skipped) and item.number == number)
