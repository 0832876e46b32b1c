"""Values by text, such as the number of a patent, in a few bytes a text.

A Python string takes 60 bytes and an entry of a dictionary 100 more, which is too much for all numbers of ten million
patents. A column of polars holds the texts, and an index finds them by their hashes.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from patent_mteb.patents.tables import column_of

_Value = TypeVar("_Value")
Rows = NDArray[np.int32]


class Keyed(Mapping[str, _Value]):
    """Values by text, in the order of distinct texts."""

    def __init__(self, texts: Iterable[str], by_row: Sequence[_Value] | pl.Series) -> None:
        self.texts = texts if isinstance(texts, pl.Series) else column_of(texts)
        self.by_row = by_row
        self._next = 0

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], Rows]:
        """The sorted hashes of the texts, and their rows: 12 bytes a text."""
        hashes = np.fromiter(map(hash, self.texts), np.int64, len(self.texts))
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order.astype(np.int32)

    def row(self, key: str) -> int:
        """Return the row of a text, -1 if it has none."""
        following = self._next  # mostly the row, and five times faster; read once, as another thread may move it
        is_next = following < len(self.texts) and self.texts[following] == key
        row = following if is_next else self._look_up(key)
        self._next = row + 1
        return row

    def _look_up(self, key: str) -> int:
        hashes, rows = self._index
        value = hash(key)
        place = int(hashes.searchsorted(np.int64(value)))
        while place < len(hashes) and hashes[place] == value:  # two texts may have one hash
            if self.texts[row := int(rows[place])] == key:
                return row
            place += 1
        return -1

    def row_of(self, key: str) -> int:
        """Return the row of a text that has one."""
        if (row := self.row(key)) < 0:
            raise KeyError(key)
        return row

    def __getitem__(self, key: str) -> _Value:
        return self.by_row[self.row_of(key)]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.row(key) >= 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def items(self) -> ItemsView[str, _Value]:
        return _Items(self)

    def values(self) -> ValuesView[_Value]:
        return _Values(self)


class _Items(ItemsView[str, _Value]):
    """Keys and values in parallel, without looking up each key."""

    _mapping: Keyed[_Value]

    def __iter__(self) -> Iterator[tuple[str, _Value]]:
        return zip(self._mapping, self._mapping.by_row, strict=True)


class _Values(ValuesView[_Value]):
    _mapping: Keyed[_Value]

    def __iter__(self) -> Iterator[_Value]:
        return iter(self._mapping.by_row)


class Some(Sequence[_Value]):
    """Some items of a sequence, which is not copied."""

    def __init__(self, items: Sequence[_Value], rows: pl.Series) -> None:
        self._items, self._rows = items, rows

    def __getitem__(self, place: Any) -> Any:
        return self._items[self._rows[place]]

    def __iter__(self) -> Iterator[_Value]:
        return map(self._items.__getitem__, self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def by_itself(texts: Iterable[str]) -> Keyed[str]:
    """Return distinct texts, each by itself."""
    keys = column_of(texts)
    return Keyed(keys, keys)
