"""The table of a space: where the vectors of each key lie, as sorted arrays, and the arithmetic of copying them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.keys import Keys, halves

__all__ = ["Table", "pieces", "runs", "slices", "spread"]


@dataclass
class Table:
    """One entry a stored key, sorted by the high half of the key.

    Attributes:
        high, low: the halves of the key.
        block: number of the block that holds its vectors.
        row: first of its rows in the shard.
        length: how many there are.
    """

    high: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    low: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    block: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    row: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    length: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))

    def __len__(self) -> int:
        return len(self.high)

    def take(self, which: NDArray[Any]) -> Table:
        return Table(self.high[which], self.low[which], self.block[which], self.row[which], self.length[which])

    @staticmethod
    def joined(tables: Sequence[Table]) -> Table:
        """Entries of equal keys stay in the order of the tables."""
        names = ("high", "low", "block", "row", "length")
        whole = Table(*(np.concatenate([getattr(table, name) for table in tables]) for name in names))
        return whole.take(np.argsort(whole.high, kind="stable"))

    def search(self, keys: Keys) -> NDArray[np.int64]:
        """Position of the first entry of each key, -1 where there is none."""
        high, low = halves(keys)
        positions = np.full(len(keys), -1, np.int64)
        if not len(self):
            return positions
        pending = np.argsort(high)
        at = np.searchsorted(self.high, high[pending])
        while len(pending):
            inside = at < len(self)
            pending, at = pending[inside], at[inside]
            same = self.high[at] == high[pending]
            pending, at = pending[same], at[same]
            match = self.low[at] == low[pending]
            positions[pending[match]] = at[match]
            pending, at = pending[~match], at[~match] + 1
        return positions


def runs(values: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Bounds of the runs of equal values in a sorted array that is not empty.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.store.table import runs
        >>> list(runs(np.array([3, 3, 5])))
        [(0, 2), (2, 3)]
    """
    bounds = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return itertools.pairwise(bounds)


def slices(ends: NDArray[np.int64], first: int, last: int, rows: int) -> Iterator[tuple[int, int]]:
    """Cut entries [first, last), whose rows add up to ``ends``, into pieces of at most ``rows`` rows, or of one entry.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.store.table import slices
        >>> list(slices(np.array([1, 2, 9, 10]), 0, 4, rows=2))
        [(0, 2), (2, 3), (3, 4)]
    """
    while first < last:
        before = int(ends[first - 1]) if first else 0
        stop = min(last, max(first + 1, int(np.searchsorted(ends, before + rows, "right"))))
        yield first, stop
        first = stop


def spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """All integers of the ranges [start, start + length), one range after the other.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.store.table import spread
        >>> spread(np.array([10, 20]), np.array([2, 1])).tolist()
        [10, 11, 20]
    """
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


def pieces(texts: int, lengths: NDArray[np.int64] | None, rows: int) -> Iterator[tuple[slice, slice]]:
    """Cut texts into pieces of at most ``rows`` rows, or of one text: the texts of each, and their rows.

    Example:
        >>> from patent_mteb.store.table import pieces
        >>> list(pieces(3, None, rows=2))
        [(slice(0, 2, None), slice(0, 2, None)), (slice(2, 3, None), slice(2, 3, None))]
    """
    ends = np.arange(1, texts + 1) if lengths is None else np.cumsum(lengths)
    for first, last in slices(ends, 0, texts, rows):
        yield slice(first, last), slice(int(ends[first - 1]) if first else 0, int(ends[last - 1]))
