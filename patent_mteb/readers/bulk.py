"""What every reader of XML does alike: documents one by one, each with its place, a number only once, broken ones set aside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers.items import Item, LeftOut, Noted
from patent_mteb.readers.xml import Document, Element, MalformedError, Split, documents, parse, shown, split_at_declarations

__all__ = ["read_bulk", "same_once"]


def read_bulk(path: Path, make: Callable[[Element, str], Iterator[Item]], split: Split = split_at_declarations) -> Iterator[Item]:
    """The records of the documents in an XML file or a zip file.

    Args:
        make: the items of a document, given its root and its place; raises
            :class:`~patent_mteb.readers.xml.MalformedError` for one that cannot be used.
        split: cuts a stream of bytes into documents.

    Raises:
        DataError: the file as a whole cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.readers.bulk import read_bulk
        >>> texts = ("<p>US1A</p>", "<p>US2", "<p>US3A</p>")
        >>> _ = Path("three.xml").write_text("".join(f"<?xml version='1.0'?>{text}" for text in texts))
        >>> for item in read_bulk(Path("three.xml"), lambda root, place: iter([Patent(root.text, "F")])):
        ...     print(getattr(item, "publication_number", None) or (item.place, item.reason))
        US1A
        ('document 2', 'not well-formed XML (ERR_TAG_NOT_FINISHED)')
        US3A
    """
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
            yield document.place, LeftOut("", document.place, str(error), shown(document.content))
            continue
        if mended:
            yield document.place, Noted("a sign & or < that stands for itself was mended", document.place)
        yield from ((document.place, item) for item in items)


def same_once(items: Iterable[tuple[str, Item]]) -> Iterator[Item]:
    """Pass items on, given with their places, of each publication number the first record only, with what is said of it.

    A second record is left out with the reason whether it says the same; so are the citations and relations that follow it.

    Example:
        >>> from patent_mteb.patents.records import Citation, Patent
        >>> from patent_mteb.readers.bulk import same_once
        >>> items = [Patent("US1A", "F"), Citation("US1A", "US2A"), Patent("US1A", "F"), Citation("US1A", "US2A"), Patent("US3A", "F")]
        >>> [type(item).__name__ for item in same_once(("here", item) for item in items)]
        ['Patent', 'Citation', 'LeftOut', 'Patent']
    """
    seen: dict[str, int] = {}
    dropping = ""
    for place, item in items:
        if isinstance(item, Patent):
            number, content = item.publication_number, hash(item)
            dropping = number if number in seen else ""
            if dropping:
                same = "the same document once more" if seen[number] == content else "another document of a number that was read before"
                yield LeftOut(number, place, same)
                continue
            seen[number] = content
        if not dropping or not _is_said_of(item, dropping):
            yield item


def _is_said_of(item: Item, number: str) -> bool:
    """Whether an item belongs to the record of a number that went before it."""
    return isinstance(item, Citation | Relation | Noted) or (isinstance(item, LeftOut) and item.number == number)
