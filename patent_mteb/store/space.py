"""A space: the vectors of one model under one set of settings, found by the keys of their texts.

A space is a directory of shards (see :mod:`patent_mteb.store.shards`). Several processes may read and write it at once:
each appends to shards of its own, and takes in what the others wrote when it next looks for a key; shards that another
process has removed are forgotten. Many threads may share one :class:`Space`. A block whose checksum is wrong is
reported and not used; blocks are checked when they are first used and not again, so bytes that change on the disk
afterwards are noticed by the next process only. Nothing is unpickled. Vectors that cannot be written stay in memory.

What a space needs of the store that it belongs to.

Copying the vectors of keys out of shards, as they lay at one moment.

The table of a space: where the vectors of each key lie, as sorted arrays, and the arithmetic of copying them.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.keys import Keys, distinct, halves
from patent_mteb.store.locks import UseLock
from patent_mteb.store.shards import INDEX_SUFFIX, Block, BlockKeys, Damage, Shard, ShardWriter, Unwritten

logger = logging.getLogger(__name__)


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
    """Bounds of the runs of equal values in a sorted array that is not empty."""
    bounds = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return itertools.pairwise(bounds)


def slices(ends: NDArray[np.int64], first: int, last: int, rows: int) -> Iterator[tuple[int, int]]:
    """Cut entries [first, last), whose rows add up to ``ends``, into pieces of at most ``rows`` rows, or of one
    entry.
    """
    while first < last:
        before = int(ends[first - 1]) if first else 0
        stop = min(last, max(first + 1, int(np.searchsorted(ends, before + rows, "right"))))
        yield first, stop
        first = stop


def spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """All integers of the ranges [start, start + length), one range after the other."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


def pieces(texts: int, lengths: NDArray[np.int64] | None, rows: int) -> Iterator[tuple[slice, slice]]:
    """Cut texts into pieces of at most ``rows`` rows, or of one text: the texts of each, and their rows."""
    ends = np.arange(1, texts + 1) if lengths is None else np.cumsum(lengths)
    for first, last in slices(ends, 0, texts, rows):
        yield slice(first, last), slice(int(ends[first - 1]) if first else 0, int(ends[last - 1]))


class Home(Protocol):
    """The store that a space belongs to."""

    shard_bytes: int
    memory_limit: int

    def allocate(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """An array of a shape and a type to be filled."""

    def prepare(self, directory: Path, document: Mapping[str, Any]) -> UseLock | None:
        """Make the space's directory and its description if they are not there, and mark it as used."""

    def unwritable(self, error: OSError) -> None:
        """Say that something cannot be written."""


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
    """Copy the rows of entries to ``out`` from row ``targets[i]`` on, shard by shard in the order of the files."""
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


DTYPES = ("float32", "float16", "int8")
"""Element types that vectors can be kept in; ``int8`` for those of a codec (:mod:`patent_mteb.store.codecs`)."""


_Result = TypeVar("_Result")


_BLOCK_BYTES = 4 << 20


_ATTEMPTS = 3
"""How often a read or a write is begun again because another process has removed what it needs."""


_NOWHERE = Unwritten(np.empty((0, 1), np.float32))
"""Takes the place of a shard that is gone."""


class Space:
    """Vectors of one model under one set of settings; made by :meth:`patent_mteb.store.EmbeddingStore.space`.

    Memory: 28 bytes a stored key, about twice that while they are sorted or looked up, one mapped shard at a time, 16
    MiB for copying, the result itself, and what could not be written (up to the store's ``memory_limit`` from call to
    call).
    """

    def __init__(self, directory: Path, document: Mapping[str, Any], home: Home) -> None:
        self.directory = directory
        self.dtype: np.dtype[Any] = np.dtype(document["dtype"]).newbyteorder("<")
        self.ragged = bool(document["ragged"])
        self.damages: list[Damage] = []
        self._document = document
        self._home = home
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._table = Table()
        self._unsorted: list[Table] = []
        self._shards: dict[str, Shard] = {}
        self._blocks: list[tuple[Shard | Unwritten, Block]] = []
        self._writer: ShardWriter | None = None
        self._hold: UseLock | None = None
        self.unwritten_bytes = 0
        self._pid = os.getpid()

    def _alone(self) -> AbstractContextManager[bool]:
        """The lock over all that changes. A forked child begins anew: another thread of its parent may have been
        changing something.
        """
        if self._pid != os.getpid():
            self._begin()
        return self._lock

    def __len__(self) -> int:
        """Entries; a text that two processes encoded at the same time has two."""
        with self._alone():
            self.refresh()
            return len(self._table) + sum(map(len, self._unsorted))

    @property
    def width(self) -> int:
        """Dimensions of the vectors, 0 while the space is empty."""
        with self._alone():
            self.refresh()
            return self._width()

    def _width(self) -> int:
        written = (shard.width for shard in self._shards.values() if shard.blocks)
        return next(written, 0) or next(
            (source.width for source, _ in self._blocks if isinstance(source, Unwritten) and source is not _NOWHERE), 0
        )

    def use(self) -> None:
        """Make directory and description if they are not there, and mark the space as used; the store says so if it
        cannot.
        """
        with self._alone():
            try:
                self._hold = self._home.prepare(self.directory, self._document)
            except OSError as error:
                self._home.unwritable(error)

    def refresh(self) -> None:
        """Take in what this and other processes have written since the last time, and drop what they have removed."""
        with self._alone():
            if gone := [name for name, shard in self._shards.items() if not shard.intact()]:
                dropped = [self._shards.pop(name) for name in gone]
                if any(shard.blocks for shard in dropped):
                    logger.warning(
                        "Embeddings were removed from %s; those that are needed are encoded again", self.directory
                    )
                self._drop(dropped)
            for path in self._index_paths():
                shard = self._shards.get(path.name)
                if shard is None:
                    shard = self._shards[path.name] = Shard(path, self.directory.name, self.dtype, self.ragged)
                blocks, damages = shard.read_new()
                if blocks and (width := self._width()) != shard.width:
                    damages = [Damage(path, f"vectors of {shard.width} dimensions in a space of {width}", fatal=True)]
                    blocks = []
                for damage in damages:
                    self._report(damage)
                self._unsorted += [self._entries(shard, block) for block in blocks]

    def _index_paths(self) -> list[Path]:
        try:
            return sorted(self.directory.glob(f"*{INDEX_SUFFIX}"))
        except OSError:
            return []

    def _entries(self, source: Shard | Unwritten, block: BlockKeys) -> Table:
        high, low = halves(block.keys)
        number = np.full(len(high), len(self._blocks), np.int32)
        self._blocks.append((source, block.block))
        return Table(high, low, number, block.first_rows.astype(np.uint32), block.lengths.astype(np.uint32))

    def _drop(self, sources: Sequence[Shard | Unwritten]) -> None:
        numbers = [number for number, (source, _) in enumerate(self._blocks) if source in sources]
        for number in numbers:
            self._blocks[number] = (_NOWHERE, self._blocks[number][1])
        self._table, *self._unsorted = (
            table.take(~np.isin(table.block, numbers)) if len(table) else table
            for table in (self._table, *self._unsorted)
        )

    def _report(self, damage: Damage) -> None:
        self.damages.append(damage)
        if damage.fatal:
            logger.warning("Damaged embedding store, the vectors concerned will be encoded again: %s", damage)
        else:
            logger.debug("%s", damage)

    def contains(self, keys: Keys) -> NDArray[np.bool_]:
        """[n] mask of the keys whose vectors are there and whole; the blocks that hold them are checked at their first
        use.
        """
        with self._alone():
            if self.unwritten_bytes > self._home.memory_limit:
                self._drop([source for source, _ in self._blocks if isinstance(source, Unwritten)])
                self.unwritten_bytes = 0
            return self._locate(keys) >= 0

    def filled(self, keys: Keys, encode: Callable[[NDArray[np.int64]], None], dtype: str | None = None) -> Any:
        """The vectors of the keys as :meth:`gather` or :meth:`gather_ragged` gives them, those that are not there
        having been made first.
        """
        first = distinct(keys)
        for attempt in range(_ATTEMPTS):
            missing = first[~self.contains(keys[first])]
            if len(missing):
                encode(missing)
            with contextlib.nullcontext() if attempt == _ATTEMPTS - 1 else contextlib.suppress(KeyError):
                return self.gather_ragged(keys) if self.ragged else self.gather(keys, dtype)
        raise AssertionError

    def gather(self, keys: Keys, dtype: str | None = None) -> NDArray[Any]:
        """The vectors of the keys, [n, width], in their order."""
        if self.ragged:
            raise ValueError("a ragged space is read with gather_ragged")

        def read(found: Found, width: int) -> NDArray[Any]:
            out = self._home.allocate((len(keys), width), self.dtype if dtype is None else np.dtype(dtype))
            copy_rows(found, np.arange(len(keys)), None, out)
            return out

        return self._read(keys, read)

    def gather_ragged(self, keys: Keys) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The vectors of the keys one after the other, [total rows, width], and [n + 1] offsets: key i has rows [o[i],
        o[i + 1]).
        """
        if not self.ragged:
            raise ValueError("a space with one vector a text is read with gather")

        def read(found: Found, width: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(found.lengths)])
            out = self._home.allocate((int(offsets[-1]), width), self.dtype)
            copy_rows(found, offsets[:-1], found.lengths, out)
            return out, offsets

        return self._read(keys, read)

    def _read(self, keys: Keys, read: Callable[[Found, int], _Result]) -> _Result:
        for _ in range(_ATTEMPTS):
            with self._alone():
                positions = self._locate(keys)
                missing, width = int((positions < 0).sum()), self._width()
                found = None if missing else self._found(positions)
            if found is None:
                raise KeyError(f"{missing} of {len(keys)} keys are not in {self.directory}")
            with contextlib.suppress(
                FileNotFoundError
            ):  # another process has removed a shard since; the next look sees it
                return read(found, width)
        raise KeyError(f"shards of {self.directory} vanish while they are read")

    def append(self, keys: Keys, vectors: NDArray[Any]) -> None:
        """Write vectors [n, width] of the keys [n, 16]; on return they survive the end of the process.

        What cannot be written (a full disk, a read-only store) stays in memory, and the store says so once.
        """
        if self.ragged:
            raise ValueError("a ragged space is written with append_ragged")
        vectors = np.asarray(vectors)
        if len(vectors) != len(keys):
            raise ValueError(f"{len(vectors)} vectors for {len(keys)} keys")
        self._append(keys, vectors, None)

    def append_ragged(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64]) -> None:
        """Write ``lengths[i]`` vectors a key, one after the other in ``values`` [total, width]."""
        if not self.ragged:
            raise ValueError("a space with one vector a text is written with append")
        lengths = np.asarray(lengths, np.int64)
        if len(lengths) != len(keys) or (lengths < 0).any() or lengths.sum() != len(values):
            raise ValueError(
                f"{len(lengths)} lengths adding up to {lengths.sum()} for {len(keys)} keys and {len(values)} vectors"
            )
        self._append(keys, np.asarray(values), lengths)

    def _append(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64] | None) -> None:
        halves(keys)
        if values.ndim != 2 or values.shape[1] < 1:
            raise ValueError(f"vectors must be an [n, width] array, got shape {values.shape}")
        width = values.shape[1]
        with np.errstate(over="ignore"):
            kept = values.astype(self.dtype, copy=False)
        if not np.isfinite(kept).all():
            raise ValueError(f"NaN, infinity, or a value beyond {self.dtype.name}")
        with self._alone():
            if (space_width := self.width) not in (0, width):
                raise ValueError(f"vectors of {width} dimensions for a space of {space_width}")
            try:
                self._write(keys, kept, lengths)
            except OSError as error:
                if self._writer is not None:
                    self._writer.abandon()
                    self._writer = None
                self._keep(keys, kept, lengths)
                self._home.unwritable(error)
            except BaseException:
                self.close()
                raise

    def _write(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64] | None) -> None:
        for attempt in range(_ATTEMPTS):
            with contextlib.nullcontext() if attempt == _ATTEMPTS - 1 else contextlib.suppress(FileNotFoundError):
                if self._written(keys, values, lengths):
                    return
            self.close()  # another process has removed the directory or the shard, with what was just written

    def _written(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64] | None) -> bool:
        """Write and say whether it is still there."""
        self._hold = self._home.prepare(self.directory, self._document)
        for chosen, rows in pieces(len(keys), lengths, max(1, _BLOCK_BYTES // (values.shape[1] * self.dtype.itemsize))):
            writer = self._ready_writer(values.shape[1], values[rows].nbytes)
            writer.append(keys[chosen], values[rows], None if lengths is None else lengths[chosen])
        if self._writer is None:
            return True
        self._writer.sync()
        return self._writer.in_place()

    def _keep(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64] | None) -> None:
        counts = np.ones(len(keys), np.int64) if lengths is None else lengths
        block = Block(0, len(values), 0, len(keys), verified=True)
        self._unsorted.append(
            self._entries(Unwritten(values.copy()), BlockKeys(block, keys, np.cumsum(counts) - counts, counts))
        )
        self.unwritten_bytes += values.nbytes

    def _ready_writer(self, width: int, nbytes: int) -> ShardWriter:
        writer = self._writer
        if writer is not None and writer.rows and writer.nbytes + nbytes > self._home.shard_bytes:
            writer.sync()
            self.close()
        if self._writer is None:
            self._writer = ShardWriter(self.directory, self.directory.name, self.dtype, width, self.ragged)
        return self._writer

    def close(self) -> None:
        """Finish the shard being written; the next append starts another."""
        with self._alone():
            if self._writer is not None:
                self._writer.close()
            self._writer = None

    def _locate(self, keys: Keys) -> NDArray[np.int64]:
        """Table position of each key whose block has passed its checksum, -1 for the others."""
        self.refresh()
        if self._unsorted:
            self._table = Table.joined([self._table, *self._unsorted])
            self._unsorted = []
        while True:
            positions = self._table.search(keys)
            counts = np.bincount(self._table.block[positions[positions >= 0]], minlength=len(self._blocks))
            damaged = self._check(np.flatnonzero(counts))
            if not damaged:
                return positions
            self._table = self._table.take(~np.isin(self._table.block, damaged))

    def _found(self, positions: NDArray[np.int64]) -> Found:
        entries = self._table.take(positions)
        numbers, block = np.unique(entries.block, return_inverse=True)
        sources = list(dict.fromkeys(self._blocks[number][0] for number in numbers.tolist()))
        source = np.array([sources.index(self._blocks[number][0]) for number in numbers.tolist()], np.int64)
        return Found(entries, sources, source[block])

    def _check(self, numbers: NDArray[np.intp]) -> list[int]:
        """Those of the blocks that fail their checksum."""
        damaged: list[int] = []
        by_shard: dict[Shard, list[int]] = {}
        for number in numbers.tolist():
            shard, block = self._blocks[number]
            if isinstance(shard, Shard) and not block.verified:
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
