"""Columns of short texts, such as the numbers and families of patents, in a few bytes a text.

A Python string takes 60 bytes and an entry of a dictionary 100 more, which is too much for all numbers of ten million
patents. An Arrow column holds the bytes of its texts, and an index finds them by their hashes.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_Value = TypeVar("_Value")
Rows = NDArray[np.int32]
_AT_ONCE = 10_000


def column(texts: Iterable[str]) -> pa.LargeStringArray:
    """Return texts as one array; few of them are Python strings at a time."""
    if isinstance(texts, pa.LargeStringArray):
        return texts
    if isinstance(texts, pl.Series):
        return texts.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.large_string())
    stream = iter(texts)
    blocks = iter(lambda: pa.array(islice(stream, _AT_ONCE), pa.large_string()), pa.array([], pa.large_string()))
    return pa.concat_arrays([pa.array([], pa.large_string()), *blocks])


def values_of(column: pa.Array | NDArray[Any]) -> Iterator[Any]:
    """Yield the values of an array; few of them are Python objects at a time."""
    for start in range(0, len(column), _AT_ONCE):
        some = column[start : start + _AT_ONCE]
        if isinstance(some, pa.DictionaryArray | pa.Date32Array) and not some.null_count:  # 15 times faster
            some = some.to_numpy(zero_copy_only=False)
        yield from some.tolist() if isinstance(some, np.ndarray) else some.to_pylist()


def coded(texts: Iterable[str]) -> pa.DictionaryArray:
    """Return texts as numbers of the distinct ones, which are in the order of their first use."""
    return column(texts).dictionary_encode()


def coded_in_order(texts: Iterable[str]) -> pa.DictionaryArray:
    """Return texts as numbers of the distinct ones, which are sorted."""
    found = texts if isinstance(texts, pa.DictionaryArray) else coded(texts)
    order = pc.sort_indices(found.dictionary)
    return pa.DictionaryArray.from_arrays(ranks_in(order)[codes_of(found)], found.dictionary.take(order))


def ranks_in(order: pa.Array) -> Rows:
    """Return the place of each row in an order of all rows."""
    ranks = np.empty(len(order), np.int32)
    ranks[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return ranks


def renamed(column: pa.DictionaryArray, names: Mapping[str, str]) -> pa.DictionaryArray:
    """Return a column with other texts for some; two that become equal get one number."""
    texts = coded(names.get(text, text) for text in values_of(column.dictionary))
    return pa.DictionaryArray.from_arrays(codes_of(texts)[codes_of(column)], texts.dictionary)


def codes_of(column: pa.DictionaryArray) -> Rows:
    codes: Rows = column.indices.to_numpy()
    return codes


def split_runs(values: NDArray[np.integer[Any]], as_before: NDArray[np.bool_]) -> list[NDArray[np.integer[Any]]]:
    """Return the runs of two values or more, given whether each value continues a run."""
    in_run = as_before | np.append(as_before, False)[1:]
    firsts = np.flatnonzero(~as_before[in_run])
    return np.split(values[in_run], firsts[1:]) if len(firsts) else []


def is_filled(column: pa.DictionaryArray) -> NDArray[np.bool_]:
    """Whether each text is not empty."""
    filled: NDArray[np.bool_] = pc.not_equal(column.dictionary, "").to_numpy(zero_copy_only=False)
    return filled[codes_of(column)]


class TextIndex:
    """Finds the rows of texts in a column, in 12 bytes a row."""

    def __init__(self, texts: pa.LargeStringArray) -> None:
        self.texts = texts
        hashes = _hashes(texts)
        order = np.argsort(hashes, kind="stable")
        self._rows, self._hashes = order.astype(np.int32), hashes[order]

    def rows(self, text: str) -> list[int]:
        """Return the rows of a text, in order."""
        value, found = hash(text), list[int]()
        place = int(self._hashes.searchsorted(np.int64(value)))
        while place < len(self._hashes) and self._hashes[place] == value:
            if self.texts[row := int(self._rows[place])].as_py() == text:
                found.append(row)
            place += 1
        return found

    def row(self, text: str) -> int:
        """Return the first row of a text, -1 if it has none."""
        return next(iter(self.rows(text)), -1)

    def rows_of(self, texts: pa.LargeStringArray) -> Rows:
        """Return the first row of each text, -1 if it has none."""
        if not len(self._rows):
            return np.full(len(texts), -1, np.int32)
        hashes = _hashes(texts)
        places = np.minimum(self._hashes.searchsorted(hashes), len(self._rows) - 1)
        rows = self._rows[places]
        equal = pc.equal(self.texts.take(pa.array(rows)), texts).to_numpy(zero_copy_only=False)
        found: Rows = np.where(equal, rows, np.int32(-1))
        for other in np.flatnonzero(~equal & (self._hashes[places] == hashes)).tolist():  # two texts with one hash
            found[other] = self.row(texts[other].as_py())
        return found


def _hashes(texts: pa.LargeStringArray) -> NDArray[np.int64]:
    return np.fromiter(map(hash, values_of(texts)), np.int64, len(texts))


class Keyed(Mapping[str, _Value]):
    """Values by text, in the order of a column of distinct texts."""

    def __init__(self, column: pa.LargeStringArray, by_row: Sequence[_Value]) -> None:
        self.column, self.by_row = column, by_row
        self._next = 0

    @cached_property
    def index(self) -> TextIndex:
        return TextIndex(self.column)

    def row(self, key: str) -> int:
        """Return the row of a text, -1 if it has none."""
        following = self._next  # mostly the row, and five times faster; read once, as another thread may move it
        if following < len(self.column) and self.column[following].as_py() == key:
            row = following
        else:
            row = self.index.row(key)
        self._next = row + 1
        return row

    def row_of(self, key: str) -> int:
        """Return the row of a text that has one."""
        if (row := self.row(key)) < 0:
            raise KeyError(key)
        return row

    def __getitem__(self, key: str) -> _Value:
        return self.by_row[self.row_of(key)]

    def at(self, rows: Rows) -> Keyed[_Value]:
        """Return some rows, in that order."""
        return Keyed(self.column.take(pa.array(rows)), _Some(self.by_row, rows))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.row(key) >= 0

    def __iter__(self) -> Iterator[str]:
        return values_of(self.column)

    def __len__(self) -> int:
        return len(self.column)

    def items(self) -> ItemsView[str, _Value]:
        return _Items(self)

    def values(self) -> ValuesView[_Value]:
        return _Values(self)


class _Some(Sequence[_Value]):
    """Some items of a sequence, which is not copied."""

    def __init__(self, items: Sequence[_Value], rows: Rows) -> None:
        self._items, self._rows = items, rows

    def __getitem__(self, place: Any) -> Any:
        return self._items[int(self._rows[place])]

    def __iter__(self) -> Iterator[_Value]:
        return map(self._items.__getitem__, values_of(self._rows))

    def __len__(self) -> int:
        return len(self._rows)


class _Items(ItemsView[str, _Value]):
    """Keys and values in parallel, without looking up each key."""

    _mapping: Keyed[_Value]

    def __iter__(self) -> Iterator[tuple[str, _Value]]:
        return zip(self._mapping, self._mapping.by_row, strict=True)


class _Values(ValuesView[_Value]):
    _mapping: Keyed[_Value]

    def __iter__(self) -> Iterator[_Value]:
        return iter(self._mapping.by_row)


def by_itself(texts: Iterable[str]) -> Keyed[str]:
    """Return distinct texts, each by itself."""
    keys = column(texts)
    return Keyed(keys, _Texts(keys))


class TextMap(Keyed[str]):
    """Texts by text, both as columns."""

    def __init__(self, column: pa.LargeStringArray, coded: pa.DictionaryArray) -> None:
        super().__init__(column, _Texts(coded))
        self.coded = coded

    @classmethod
    def of(cls, items: Mapping[str, str]) -> TextMap:
        return items if isinstance(items, cls) else cls(column(items), coded(items.values()))

    def in_order(self) -> TextMap:
        """Return the same with its keys sorted."""
        order = pc.sort_indices(self.column)
        return TextMap(self.column.take(order), self.coded.take(order))


class _Texts(Sequence[str]):
    def __init__(self, column: pa.Array) -> None:
        self._column = column

    def __getitem__(self, row: Any) -> Any:
        return self._column[row].as_py()

    def __iter__(self) -> Iterator[str]:
        return values_of(self._column)

    def __len__(self) -> int:
        return len(self._column)
