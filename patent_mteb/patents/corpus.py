"""Texts of a corpus as chunked Arrow columns with 64-bit offsets.

The full texts of a corpus are several GiB. Python strings need two to three times as much, and Arrow's plain strings
end at 2 GiB. Here a text becomes a Python string only while it is read. A column of more than 64 MiB is a temporary
file that is mapped into memory. Its pages are loaded when they are read and freed by :func:`release_pages`, or by the
system when memory is short.
"""

from __future__ import annotations

import mmap
import secrets
import tempfile
import weakref
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from patent_mteb.errors import temporary_files
from patent_mteb.memory import ROWS_AT_ONCE, TEXTS_AT_ONCE, portion
from patent_mteb.patents.keyed import Keyed
from patent_mteb.patents.tables import column_of
from patent_mteb.patents.views import join_sections

if TYPE_CHECKING:
    from datasets import Dataset


_Source = TypeVar("_Source")
_Value = TypeVar("_Value")
_CHARACTERS_AT_ONCE = 1 << 24  # of texts in a block
_BYTES_IN_MEMORY = 1 << 26  # a larger column is mapped from a file
_READS_PER_RELEASE = 1 << 10  # texts that are read one by one before their pages are released

_MAPPED: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def _blocks(texts: Iterable[str | None]) -> Iterator[list[str | None]]:
    """Yield batches of texts, limited in number and in characters."""
    block: list[str | None] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text or "")
        if len(block) == ROWS_AT_ONCE or size >= _CHARACTERS_AT_ONCE:
            yield block
            block, size = [], 0
    if block:
        yield block


def text_column(texts: Iterable[str | None]) -> pa.ChunkedArray:
    """Build a column from texts as they are read; a large column is stored in a temporary file."""
    chunks = (pa.array(block, pa.large_string()) for block in _blocks(texts))
    in_memory: list[pa.Array] = []
    size = 0
    for chunk in chunks:
        in_memory.append(chunk)
        size += chunk.nbytes
        if size > portion(1 / 16, _BYTES_IN_MEMORY):
            return _memory_mapped(chain(in_memory, chunks))
    return pa.chunked_array(in_memory, pa.large_string())


def text_dataset(columns: Mapping[str, Any]) -> Dataset:
    """Build a data set whose texts may exceed 2 GiB in total (64-bit offsets)."""
    from datasets import Dataset

    table = pa.table(
        {name: values if isinstance(values, pa.ChunkedArray) else _column(values) for name, values in columns.items()}
    )
    return Dataset(table, fingerprint=secrets.token_hex(8))  # without one, datasets copies the table to compute it


def _column(values: Sequence[Any]) -> pa.ChunkedArray:
    if not len(values) or isinstance(values[0], str):
        return text_column(values)
    return pa.chunked_array(
        [pa.array(values[start : start + TEXTS_AT_ONCE]) for start in range(0, len(values), TEXTS_AT_ONCE)]
    )


def _memory_mapped(chunks: Iterable[pa.Array]) -> pa.ChunkedArray:
    """Write the chunks of a column to a file without a name and map it into memory."""
    schema = pa.schema([("text", pa.large_string())])
    with temporary_files(), tempfile.TemporaryFile() as file:
        with pa.ipc.new_file(file, schema) as out:
            for chunk in chunks:
                out.write_batch(pa.record_batch([chunk], schema))
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _MAPPED.add(mapped)
    batches = pa.ipc.open_file(pa.py_buffer(mapped))
    return pa.chunked_array(
        [batches.get_batch(number).column(0) for number in range(batches.num_record_batches)], pa.large_string()
    )


def release_pages() -> None:
    """Free the memory of all mapped columns; their pages are loaded again when they are read."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for mapped in list(_MAPPED):
            mapped.madvise(mmap.MADV_DONTNEED)


def changed(column: pa.ChunkedArray, change: Callable[[Any], str]) -> pa.ChunkedArray:
    """Apply a function to every text of a column. Chunks that stay equal are not copied."""
    chunks: list[pa.Array] = []
    for chunk in column.cast(pa.large_string()).chunks:
        texts = chunk.to_pylist()
        after = [change(text) for text in texts]
        chunks += [chunk] if after == texts else text_column(after).chunks
        release_pages()
    return pa.chunked_array(chunks, pa.large_string())


class ById(Mapping[str, _Value]):
    """A mapping with the keys of another."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._keys = keys

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Texts(ById[str]):
    """Texts by id, in order, in one column."""

    def __init__(self, ids: Iterable[str], column: pa.ChunkedArray) -> None:
        keys = column_of(ids)
        self._position = Keyed(keys, range(len(keys)))
        super().__init__(self._position)
        self.column = column
        self._reads = 0

    @classmethod
    def collected(cls, rows: Iterable[tuple[str, str]]) -> Texts:
        """Build from pairs of id and text as they are read."""
        ids: list[str] = []

        def texts() -> Iterator[str]:
            for key, text in rows:
                ids.append(key)
                yield text

        column = text_column(texts())  # fills the ids
        return cls(ids, column)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Texts:
        """Return the mapping itself if it is of this class, else a copy."""
        return texts if isinstance(texts, cls) else cls.collected(texts.items())

    def ordered(self, ids: Collection[str]) -> Texts:
        """Return the texts of some ids in that order; the column is not copied if it has that order."""
        return self if list(ids) == list(self) else Texts.collected((key, self[key]) for key in ids)

    def position(self, key: str) -> int:
        return self._position[key]

    def __getitem__(self, key: str) -> str:
        self._reads += 1
        if self._reads % _READS_PER_RELEASE == 0:
            release_pages()
        return str(self.column[self._position[key]].as_py())


class TitledTexts(ById[tuple[str, str]]):
    """Titles and texts by id, in one column: title, one space, text; or the text alone if there is no title."""

    def __init__(self, rows: Iterable[tuple[str, tuple[str, str]]]) -> None:
        self._title_lengths = array("i")

        def joined() -> Iterator[tuple[str, str]]:
            for key, (title, text) in rows:
                self._title_lengths.append(len(title))
                yield key, f"{title} {text}" if title else text

        self._texts = Texts.collected(joined())
        super().__init__(self._texts)

    def __getitem__(self, key: str) -> tuple[str, str]:
        return self._parts(self._title_lengths[self._texts.position(key)], self._texts[key])

    @staticmethod
    def _parts(title_length: int, joined: str) -> tuple[str, str]:
        return joined[:title_length], joined[title_length + 1 :] if title_length else joined

    def joined(self) -> Texts:
        """Join title and text (:func:`~patent_mteb.patents.views.join_sections`); equal chunks are not copied."""
        lengths = iter(self._title_lengths)
        return Texts(self, changed(self._texts.column, lambda text: join_sections(self._parts(next(lengths), text))))


class Composed(ById[_Value]):
    """Values by id, each computed on every access."""

    def __init__(self, sources: Mapping[str, _Source], compose: Callable[[_Source], _Value]) -> None:
        super().__init__(sources)
        self._sources, self._compose = sources, compose

    def __getitem__(self, key: str) -> _Value:
        return self._compose(self._sources[key])
