"""Texts of a corpus, each held once: as columns of Arrow with 64-bit offsets, in chunks, whatever their size.

A corpus of full texts is several GiB. As Python strings it takes once or twice that again, and Arrow's plain strings end at 2 GiB;
here a text becomes a Python string only while somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import pyarrow as pa

from patent_mteb.patents.views import join_sections

__all__ = ["Composed", "Texts", "TitledTexts", "changed", "text_column"]

_Source = TypeVar("_Source")
_Value = TypeVar("_Value")
_ROWS_AT_ONCE = 10_000
_CHARACTERS_AT_ONCE = 1 << 24


def _blocks(texts: Iterable[str | None]) -> Iterator[list[str | None]]:
    """Texts a few at a time, by number and by size."""
    block: list[str | None] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text or "")
        if len(block) == _ROWS_AT_ONCE or size >= _CHARACTERS_AT_ONCE:
            yield block
            block, size = [], 0
    if block:
        yield block


def text_column(texts: Iterable[str | None]) -> pa.ChunkedArray:
    """Texts as a column, made a few at a time as they come.

    Example:
        >>> from patent_mteb.patents.corpus import text_column
        >>> text_column(f"text {number}" for number in range(3)).to_pylist()
        ['text 0', 'text 1', 'text 2']
    """
    return pa.chunked_array((pa.array(block, pa.large_string()) for block in _blocks(texts)), pa.large_string())


def changed(column: pa.ChunkedArray, change: Callable[[Any], str]) -> pa.ChunkedArray:
    """The column, with 64-bit offsets and every text changed; a chunk in which nothing changes is taken as it is, not copied.

    Example:
        >>> from patent_mteb.patents.corpus import changed, text_column
        >>> column = text_column(["one", "two"])
        >>> same = changed(column, str.strip)
        >>> same.chunk(0).buffers()[2].address == column.chunk(0).buffers()[2].address, changed(column, str.upper).to_pylist()
        (True, ['ONE', 'TWO'])
    """
    chunks: list[pa.Array] = []
    for chunk in column.cast(pa.large_string()).chunks:
        texts = chunk.to_pylist()
        after = [change(text) for text in texts]
        chunks += [chunk] if after == texts else text_column(after).chunks
    return pa.chunked_array(chunks, pa.large_string())


class Texts(Mapping[str, str]):
    """Texts by id, in order, held in one column.

    Args:
        ids: the ids, each once.
        column: their texts.

    Example:
        >>> from patent_mteb.patents.corpus import Texts
        >>> texts = Texts.collected([("d1", "A pump."), ("d2", "A lens.")])
        >>> texts["d2"], list(texts), texts == {"d1": "A pump.", "d2": "A lens."}
        ('A lens.', ['d1', 'd2'], True)
    """

    def __init__(self, ids: Iterable[str], column: pa.ChunkedArray) -> None:
        self._position = {key: position for position, key in enumerate(ids)}
        self.column = column

    @classmethod
    def collected(cls, rows: Iterable[tuple[str, str]]) -> Texts:
        """Texts from pairs of id and text, read once and not kept."""
        ids: list[str] = []

        def texts() -> Iterator[str]:
            for key, text in rows:
                ids.append(key)
                yield text

        column = text_column(texts())
        return cls(ids, column)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Texts:
        """The texts themselves if they are held so already."""
        return texts if isinstance(texts, cls) else cls.collected(texts.items())

    def ordered(self, ids: Collection[str]) -> Texts:
        """The texts of some ids in their order; the column is not copied where it is in that order already."""
        return self if list(ids) == list(self) else Texts.collected((key, self[key]) for key in ids)

    def position(self, key: str) -> int:
        """Number of an id, from 0."""
        return self._position[key]

    def __getitem__(self, key: str) -> str:
        return str(self.column[self._position[key]].as_py())

    def __iter__(self) -> Iterator[str]:
        return iter(self._position)

    def __len__(self) -> int:
        return len(self._position)


class TitledTexts(Mapping[str, tuple[str, str]]):
    """Titles and texts by id, held in one column: title, one blank, text; the text alone where there is no title.

    Args:
        rows: id, title and text of each document, read once and not kept.

    Example:
        >>> from patent_mteb.patents.corpus import TitledTexts
        >>> documents = TitledTexts([("d1", ("Pump", "It pumps.")), ("d2", ("", "A lens."))])
        >>> documents["d1"], dict(documents.joined())
        (('Pump', 'It pumps.'), {'d1': 'Pump It pumps.', 'd2': 'A lens.'})
    """

    def __init__(self, rows: Iterable[tuple[str, tuple[str, str]]]) -> None:
        self._titles: list[str] = []

        def joined() -> Iterator[tuple[str, str]]:
            for key, (title, text) in rows:
                self._titles.append(title)
                yield key, f"{title} {text}" if title else text

        self._texts = Texts.collected(joined())

    def __getitem__(self, key: str) -> tuple[str, str]:
        return self._parts(self._titles[self._texts.position(key)], self._texts[key])

    @staticmethod
    def _parts(title: str, joined: str) -> tuple[str, str]:
        return title, joined[len(title) + 1 :] if title else joined

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def joined(self) -> Texts:
        """The view of title and text (:func:`~patent_mteb.patents.views.join_sections`); what is so already is not copied."""
        titles = iter(self._titles)
        return Texts(self, changed(self._texts.column, lambda text: join_sections(self._parts(next(titles), text))))


class Composed(Mapping[str, _Value]):
    """Values by id, each composed when it is asked for and not kept.

    Args:
        sources: what each is composed of, in order.
        compose: makes a value.

    Example:
        >>> from patent_mteb.patents.corpus import Composed
        >>> list(Composed({"d1": 2, "d2": 3}, lambda length: "a" * length).items())
        [('d1', 'aa'), ('d2', 'aaa')]
    """

    def __init__(self, sources: Mapping[str, _Source], compose: Callable[[_Source], _Value]) -> None:
        self._sources, self._compose = sources, compose

    def __getitem__(self, key: str) -> _Value:
        return self._compose(self._sources[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)
