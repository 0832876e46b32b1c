"""Copying the vectors of keys out of shards, as they lay at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.shards import Shard, Unwritten
from patent_mteb.store.table import Table, runs, slices, spread

__all__ = ["Found", "copy_rows"]

_SLICE_BYTES = 16 << 20


@dataclass(frozen=True)
class Found:
    """Where the vectors of some keys lay at one moment: what other threads take in or drop later changes nothing in it.

    Attributes:
        entries: one a key, in their order.
        sources: what holds their rows.
        source: number of the source of each entry.
    """

    entries: Table
    sources: list[Shard | Unwritten]
    source: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many rows each entry has."""
        return self.entries.length.astype(np.int64)


def copy_rows(found: Found, targets: NDArray[np.int64], lengths: NDArray[np.int64] | None, out: NDArray[Any]) -> None:
    """Copy the rows of entries to ``out`` from row ``targets[i]`` on, shard by shard in the order of the files.

    Raises:
        FileNotFoundError: a shard has been removed or cut off.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.store.copying import Found, copy_rows
        >>> from patent_mteb.store.shards import Unwritten
        >>> from patent_mteb.store.table import Table
        >>> keys, rows = np.zeros(2, np.uint64), np.array([1, 0], np.uint32)
        >>> entries = Table(keys, keys, np.zeros(2, np.int32), rows, np.ones(2, np.uint32))
        >>> out = np.empty((2, 1))
        >>> copy_rows(Found(entries, [Unwritten(np.array([[0.5], [2.0]]))], np.zeros(2, np.int64)), np.arange(2), None, out)
        >>> out.tolist()
        [[2.0], [0.5]]
    """
    if not len(targets):
        return
    rows = found.entries.row.astype(np.int64)
    order = np.argsort((found.source << 32) | rows)
    row_bytes = max(1, out.shape[1] * out.itemsize)
    ends = np.cumsum(np.ones(len(order), np.int64) if lengths is None else lengths[order])
    last_rows = rows + found.lengths
    for first, last in runs(found.source[order]):
        source = found.sources[int(found.source[order[first]])]
        view = source.map()
        if len(view) < last_rows[order[first:last]].max():
            raise FileNotFoundError(f"rows of {source} have been cut off")
        for begin, end in slices(ends, first, last, max(1, _SLICE_BYTES // row_bytes)):
            chosen = order[begin:end]
            if lengths is None:
                out[targets[chosen]] = view[rows[chosen]]
            else:
                out[spread(targets[chosen], lengths[chosen])] = view[spread(rows[chosen], lengths[chosen])]
        del view
