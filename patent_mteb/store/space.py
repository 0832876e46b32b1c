"""A space: the vectors of one model under one set of settings, found by the keys of their texts.

A space is a directory of shards (see :mod:`patent_mteb.store.shards`). Several processes may read and write it at once: each appends
to shards of its own, and takes in what the others wrote when it next looks for a key. A block whose checksum is wrong is reported
and not used. Nothing is unpickled.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.keys import Keys, halves
from patent_mteb.store.shards import INDEX_SUFFIX, Block, BlockKeys, Damage, Shard, ShardWriter

__all__ = ["DTYPES", "Allocate", "Space"]

logger = logging.getLogger(__name__)

DTYPES = ("float32", "float16")
"""Element types that vectors can be kept in."""

Allocate = Callable[[tuple[int, int], np.dtype[Any]], NDArray[Any]]
"""Makes an array of a shape and a type to be filled."""

_BLOCK_BYTES = 4 << 20
_SLICE_BYTES = 16 << 20


@dataclass
class _Table:
    """One entry a stored key, sorted by the high half of the key."""

    high: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    low: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    block: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    row: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    length: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))

    def __len__(self) -> int:
        return len(self.high)

    def take(self, which: NDArray[Any]) -> _Table:
        return _Table(self.high[which], self.low[which], self.block[which], self.row[which], self.length[which])

    @staticmethod
    def joined(tables: Sequence[_Table]) -> _Table:
        """Entries of equal keys stay in the order of the tables."""
        names = ("high", "low", "block", "row", "length")
        whole = _Table(*(np.concatenate([getattr(table, name) for table in tables]) for name in names))
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


class Space:
    """Vectors of one model under one set of settings; made by :meth:`patent_mteb.store.EmbeddingStore.space`.

    Memory: 28 bytes a stored key, about twice that while they are sorted or looked up, one mapped shard at a time, 16 MiB for
    copying, and the result itself.

    Args:
        directory: the space's own; its name is the digest that its shards carry.
        dtype: one of :data:`DTYPES`.
        ragged: whether a text has any number of vectors instead of one.
        shard_bytes: size above which a new shard is begun.
        allocate: makes the arrays that are handed out.
    """

    def __init__(self, directory: Path, dtype: str, ragged: bool, *, shard_bytes: int, allocate: Allocate) -> None:
        self.directory = directory
        self.dtype: np.dtype[Any] = np.dtype(dtype).newbyteorder("<")
        self.ragged = ragged
        self.damages: list[Damage] = []
        self._shard_bytes = shard_bytes
        self._allocate = allocate
        self._table = _Table()
        self._unsorted: list[_Table] = []
        self._shards: dict[str, Shard] = {}
        self._blocks: list[tuple[Shard, Block]] = []
        self._writer: ShardWriter | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Entries; a text that two processes encoded at the same time has two."""
        self.refresh()
        return len(self._table) + sum(map(len, self._unsorted))

    @property
    def width(self) -> int:
        """Dimensions of the vectors, 0 while the space is empty."""
        self.refresh()
        return self._width()

    def _width(self) -> int:
        return next((shard.width for shard in self._shards.values() if shard.blocks), 0)

    def refresh(self) -> None:
        """Take in what this and other processes have written since the last time."""
        for path in sorted(self.directory.glob(f"*{INDEX_SUFFIX}")):
            shard = self._shards.get(path.name)
            if shard is None:
                shard = self._shards[path.name] = Shard(path, self.directory.name, self.dtype, self.ragged)
            blocks, damages = shard.read_new()
            if blocks and shard.width != self._width():
                damages = [Damage(path, f"vectors of {shard.width} dimensions in a space of {self._width()}", fatal=True)]
                blocks = []
            for damage in damages:
                self._report(damage)
            self._unsorted += [self._entries(shard, block) for block in blocks]

    def _entries(self, shard: Shard, block: BlockKeys) -> _Table:
        high, low = halves(block.keys)
        number = np.full(len(high), len(self._blocks), np.int32)
        self._blocks.append((shard, block.block))
        return _Table(high, low, number, block.first_rows.astype(np.uint32), block.lengths.astype(np.uint32))

    def _report(self, damage: Damage) -> None:
        self.damages.append(damage)
        if damage.fatal:
            logger.warning("Damaged embedding store, the vectors concerned will be encoded again: %s", damage)
        else:
            logger.debug("%s", damage)

    def contains(self, keys: Keys) -> NDArray[np.bool_]:
        """[n] mask of the keys whose vectors are there and whole; the blocks that hold them are checked at their first use."""
        return self._locate(keys) >= 0

    def gather(self, keys: Keys, dtype: str | None = None) -> NDArray[Any]:
        """The vectors of the keys, [n, width], in their order.

        Args:
            keys: [n, 16], repetitions allowed.
            dtype: element type of the result, by default the space's.

        Returns:
            An array of the store's making: in memory, or a map of a temporary file if it is above the ``memory_limit``.

        Raises:
            KeyError: a key is not there.
            ValueError: the space is ragged.
        """
        if self.ragged:
            raise ValueError("a ragged space is read with gather_ragged")
        positions = self._located(keys)
        out = self._allocate((len(keys), self._width()), self.dtype if dtype is None else np.dtype(dtype))
        self._copy(positions, np.arange(len(keys)), None, out)
        return out

    def gather_ragged(self, keys: Keys) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The vectors of the keys one after the other, [total rows, width], and [n + 1] offsets: key i has rows [o[i], o[i + 1]).

        Raises:
            KeyError: a key is not there.
            ValueError: the space is not ragged.
        """
        if not self.ragged:
            raise ValueError("a space with one vector a text is read with gather")
        positions = self._located(keys)
        lengths = self._table.length[positions].astype(np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        out = self._allocate((int(offsets[-1]), self._width()), self.dtype)
        self._copy(positions, offsets[:-1], lengths, out)
        return out, offsets

    def append(self, keys: Keys, vectors: NDArray[Any]) -> None:
        """Write vectors [n, width] of the keys [n, 16]; on return they survive the end of the process.

        Raises:
            ValueError: a shape does not fit, the width is not the space's, or a value is not finite (in the space's type).
        """
        if self.ragged:
            raise ValueError("a ragged space is written with append_ragged")
        vectors = np.asarray(vectors)
        if len(vectors) != len(keys):
            raise ValueError(f"{len(vectors)} vectors for {len(keys)} keys")
        self._append(keys, vectors, None)

    def append_ragged(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64]) -> None:
        """Write ``lengths[i]`` vectors a key, one after the other in ``values`` [total, width].

        Raises:
            ValueError: as :meth:`append`.
        """
        if not self.ragged:
            raise ValueError("a space with one vector a text is written with append")
        lengths = np.asarray(lengths, np.int64)
        if len(lengths) != len(keys) or (lengths < 0).any() or lengths.sum() != len(values):
            raise ValueError(f"{len(lengths)} lengths adding up to {lengths.sum()} for {len(keys)} keys and {len(values)} vectors")
        self._append(keys, np.asarray(values), lengths)

    def _append(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64] | None) -> None:
        halves(keys)
        if values.ndim != 2 or values.shape[1] < 1:
            raise ValueError(f"vectors must be an [n, width] array, got shape {values.shape}")
        width = values.shape[1]
        if (space_width := self.width) not in (0, width):
            raise ValueError(f"vectors of {width} dimensions for a space of {space_width}")
        with np.errstate(over="ignore"):
            values = values.astype(self.dtype, copy=False)
        if not np.isfinite(values).all():
            raise ValueError(f"NaN, infinity, or a value beyond {self.dtype.name}")
        with self._lock:
            try:
                for chosen, rows in _blocks(len(keys), lengths, width * self.dtype.itemsize):
                    vectors = values[rows]
                    writer = self._ready_writer(width, vectors.nbytes)
                    writer.append(keys[chosen], vectors, None if lengths is None else lengths[chosen])
                if self._writer is not None:
                    self._writer.sync()
            except BaseException:
                self.close()
                raise

    def _ready_writer(self, width: int, nbytes: int) -> ShardWriter:
        writer = self._writer
        if writer is not None and writer.pid != os.getpid():
            writer = self._writer = None  # a forked child must not append to its parent's shard
        if writer is not None and (writer.rows and writer.nbytes + nbytes > self._shard_bytes):
            writer.sync()
            self.close()
            writer = None
        if writer is None:
            writer = self._writer = ShardWriter(self.directory, self.directory.name, self.dtype, width, self.ragged)
        return writer

    def close(self) -> None:
        """Finish the shard being written; the next append starts another."""
        if self._writer is not None and self._writer.pid == os.getpid():
            self._writer.close()
        self._writer = None

    def _located(self, keys: Keys) -> NDArray[np.int64]:
        positions = self._locate(keys)
        if missing := int((positions < 0).sum()):
            raise KeyError(f"{missing} of {len(keys)} keys are not in {self.directory}")
        return positions

    def _locate(self, keys: Keys) -> NDArray[np.int64]:
        """Table position of each key whose block has passed its checksum, -1 for the others."""
        self.refresh()
        if self._unsorted:
            self._table = _Table.joined([self._table, *self._unsorted])
            self._unsorted = []
        while True:
            positions = self._table.search(keys)
            counts = np.bincount(self._table.block[positions[positions >= 0]], minlength=len(self._blocks))
            damaged = self._check(np.flatnonzero(counts))
            if not damaged:
                return positions
            self._table = self._table.take(~np.isin(self._table.block, damaged))

    def _check(self, numbers: NDArray[np.intp]) -> list[int]:
        """Those of the blocks that fail their checksum."""
        damaged: list[int] = []
        by_shard: dict[Shard, list[int]] = {}
        for number in numbers.tolist():
            shard, block = self._blocks[number]
            if not block.verified:
                by_shard.setdefault(shard, []).append(number)
        for shard, unverified in by_shard.items():
            try:
                view = shard.map()
            except FileNotFoundError:
                damaged += unverified
                continue
            for number in unverified:
                block = self._blocks[number][1]
                if not shard.verify(block, view):
                    damaged.append(number)
                    self._report(shard.wrong_checksum(block))
        return damaged

    def _copy(self, positions: NDArray[np.int64], targets: NDArray[np.int64], lengths: NDArray[np.int64] | None, out: NDArray[Any]) -> None:
        """Copy the rows of table positions to ``out`` from row ``targets[i]`` on, shard by shard in the order of the files."""
        if not len(positions):
            return
        numbers = {shard: number for number, shard in enumerate(self._shards.values())}
        shards = list(numbers)
        shard_of_block = np.array([numbers[shard] for shard, _ in self._blocks], np.int64)
        rows = self._table.row[positions].astype(np.int64)
        shard = shard_of_block[self._table.block[positions]]
        order = np.argsort((shard << 32) | rows)
        row_bytes = max(1, out.shape[1] * out.itemsize)
        ends = np.cumsum(np.ones(len(order), np.int64) if lengths is None else lengths[order])
        for first, last in _runs(shard[order]):
            view = shards[int(shard[order[first]])].map()
            for begin, end in _slices(ends, first, last, max(1, _SLICE_BYTES // row_bytes)):
                chosen = order[begin:end]
                if lengths is None:
                    out[targets[chosen]] = view[rows[chosen]]
                else:
                    out[_spread(targets[chosen], lengths[chosen])] = view[_spread(rows[chosen], lengths[chosen])]
            del view


def _runs(values: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Bounds of the runs of equal values in a sorted array that is not empty."""
    bounds = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return itertools.pairwise(bounds)


def _slices(ends: NDArray[np.int64], first: int, last: int, rows: int) -> Iterator[tuple[int, int]]:
    """Cut entries [first, last), whose rows add up to ``ends``, into pieces of at most ``rows`` rows, or of one entry."""
    while first < last:
        before = int(ends[first - 1]) if first else 0
        stop = min(last, max(first + 1, int(np.searchsorted(ends, before + rows, "right"))))
        yield first, stop
        first = stop


def _spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """All integers of the ranges [start, start + length), one range after the other."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


def _blocks(texts: int, lengths: NDArray[np.int64] | None, row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Cut texts into blocks of bounded size: the texts of each, and their rows."""
    ends = np.arange(1, texts + 1) if lengths is None else np.cumsum(lengths)
    for first, last in _slices(ends, 0, texts, max(1, _BLOCK_BYTES // row_bytes)):
        yield slice(first, last), slice(int(ends[first - 1]) if first else 0, int(ends[last - 1]))
