"""A space: the vectors of one model under one set of settings, by keys of texts.

A space is a folder of shards (:mod:`patent_mteb.store.shards`). Each process appends to its own shards and reads those
of the others when it looks up a key. Threads may share a :class:`Space`. A block with a wrong checksum is reported and
not used; blocks are verified at their first use only. Vectors that cannot be written stay in memory.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.keys import Keys, distinct, halves
from patent_mteb.store.locks import UseLock
from patent_mteb.store.shards import INDEX_SUFFIX, Block, BlockKeys, Damage, Shard, ShardWriter, Unwritten, row_type

if TYPE_CHECKING:
    from patent_mteb.store.store import EmbeddingStore

logger = logging.getLogger(__name__)


@dataclass
class Table:
    """One entry for each stored key, sorted by its high half: block, first row and number of rows of its vectors."""

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    block: NDArray[np.int32]
    row: NDArray[np.uint32]
    length: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.high)

    def take(self, which: NDArray[Any]) -> Table:
        return Table(*(column[which] for column in vars(self).values()))

    @staticmethod
    def joined(tables: Sequence[Table]) -> Table:
        """Concatenate and sort tables; entries of equal keys keep their order."""
        columns = zip(*(vars(table).values() for table in tables), strict=True)
        combined = Table(*map(np.concatenate, columns))
        return combined.take(np.argsort(combined.high, kind="stable"))

    def search(self, keys: Keys) -> NDArray[np.int64]:
        """Position of the first entry of each key, -1 for none."""
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


_EMPTY = Table(*(np.empty(0, kind) for kind in ("u8", "u8", "i4", "u4", "u4")))


def runs(values: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Bounds of the runs of equal values in a sorted, non-empty array."""
    bounds = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return itertools.pairwise(bounds)


def slices(ends: NDArray[np.int64], first: int, last: int, rows: int) -> Iterator[tuple[int, int]]:
    """Cut entries [first, last) into slices of at most ``rows`` rows or one entry; ``ends`` sums their rows up."""
    while first < last:
        before = int(ends[first - 1]) if first else 0
        stop = min(last, max(first + 1, int(np.searchsorted(ends, before + rows, "right"))))
        yield first, stop
        first = stop


def spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """All integers of the ranges [start, start + length), range after range."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


_SLICE_BYTES = 16 << 20  # of vectors that are copied at a time


def copy_rows(
    entries: Table,
    sources: Sequence[Shard | Unwritten],
    numbers: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Copy the rows of entry i, in ``sources[numbers[i]]``, to ``out[offsets[i] : offsets[i + 1]]``, shard by shard."""
    targets, lengths = offsets[:-1], np.diff(offsets)
    if not len(targets):
        return
    rows = entries.row.astype(np.int64)
    order = np.argsort((numbers << 32) | rows)
    row_bytes = max(1, out.shape[1] * out.itemsize)
    ends = np.cumsum(lengths[order])
    last_rows = rows + lengths
    for first, last in runs(numbers[order]):
        source = sources[int(numbers[order[first]])]
        view = source.map()
        if len(view) < last_rows[order[first:last]].max():
            raise FileNotFoundError(f"rows of {source} have been cut off")
        for begin, end in slices(ends, first, last, max(1, _SLICE_BYTES // row_bytes)):
            chosen = order[begin:end]
            out[spread(targets[chosen], lengths[chosen])] = view[spread(rows[chosen], lengths[chosen])]
        del view


DTYPES = ("float32", "float16", "int8")  # number types of stored vectors; ``int8`` is for codecs
_BLOCK_BYTES = 4 << 20  # of vectors that are written with one checksum
_ATTEMPTS = 3  # attempts of a read or write that fails because another process removes shards
_NOWHERE = Unwritten(np.empty((0, 0), np.float32))  # replaces a removed shard


class Space:
    """Vectors of one model and its settings; made by ``EmbeddingStore.space``. A stored key takes 28 bytes."""

    def __init__(self, directory: Path, document: Mapping[str, Any], store: EmbeddingStore) -> None:
        self.directory = directory
        self.dtype = row_type(document)
        self.ragged = bool(document["ragged"])
        self.damages: list[Damage] = []
        self._document = document
        self._store = store
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._table = _EMPTY
        self._unsorted: list[Table] = []
        self._shards: dict[str, Shard] = {}
        self._blocks: list[tuple[Shard | Unwritten, Block]] = []
        self._writer: ShardWriter | None = None
        self._hold: UseLock | None = None
        self.unwritten_bytes = 0
        self._pid = os.getpid()

    def _locked(self) -> AbstractContextManager[bool]:
        """Return the lock of this object. A forked child starts with a new state: the old one may be half changed."""
        if self._pid != os.getpid():
            self._begin()
        return self._lock

    def __len__(self) -> int:
        """Number of entries; a text that two processes encoded at once has two."""
        with self._locked():
            self.refresh()
            return len(self._table) + sum(map(len, self._unsorted))

    @property
    def width(self) -> int:
        """Dimensions of the vectors, 0 for an empty space."""
        with self._locked():
            self.refresh()
            return self._width()

    def _width(self) -> int:
        written = (shard.width for shard in self._shards.values() if shard.blocks)
        unwritten = (source.width for source, _ in self._blocks)
        return next(filter(None, itertools.chain(written, unwritten)), 0)

    def use(self) -> None:
        """Make the folder and its description if missing, and mark the space as used."""
        with self._locked():
            try:
                self._hold = self._store.prepare(self.directory, self._document)
            except OSError as error:
                self._store.unwritable(error)

    def refresh(self) -> None:
        """Read what all processes have written since the last call; drop removed shards."""
        with self._locked():
            if gone := [name for name, shard in self._shards.items() if not shard.intact()]:
                dropped = [self._shards.pop(name) for name in gone]
                if any(shard.blocks for shard in dropped):
                    logger.warning(
                        "Embeddings were removed from %s; those that are needed are encoded again", self.directory
                    )
                self._drop(dropped)
            paths: list[Path] = []
            with contextlib.suppress(OSError):
                paths = sorted(self.directory.glob(f"*{INDEX_SUFFIX}"))
            for path in paths:
                shard = self._shards.get(path.name)
                if shard is None:
                    shard = self._shards[path.name] = Shard(path, self._document)
                blocks, damages = shard.read_new()
                if blocks and (width := self._width()) != shard.width:
                    damages = [Damage(path, f"vectors of {shard.width} dimensions in a space of {width}", fatal=True)]
                    blocks = []
                for damage in damages:
                    self._report(damage)
                self._unsorted += [self._entries(shard, block) for block in blocks]

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
        """[n] mask of the keys with intact vectors; verifies blocks at their first use."""
        with self._locked():
            if self.unwritten_bytes > self._store.memory_limit:
                self._drop([source for source, _ in self._blocks if isinstance(source, Unwritten)])
                self.unwritten_bytes = 0
            return self._locate(keys) >= 0

    def filled(self, keys: Keys, encode: Callable[[NDArray[np.int64]], None], dtype: str | None = None) -> Any:
        """Return the vectors of keys; ``encode`` gets the positions of the missing ones, and appends them first."""
        first = distinct(keys)
        for attempt in range(_ATTEMPTS):
            missing = first[~self.contains(keys[first])]
            if len(missing):
                encode(missing)
            with contextlib.nullcontext() if attempt == _ATTEMPTS - 1 else contextlib.suppress(KeyError):
                return self.gather_ragged(keys) if self.ragged else self.gather(keys, dtype)
        raise AssertionError

    def gather(self, keys: Keys, dtype: str | None = None) -> NDArray[Any]:
        """Vectors of the keys, [n, width], in order."""
        if self.ragged:
            raise ValueError("a ragged space is read with gather_ragged")
        return self._gather(keys, self.dtype if dtype is None else np.dtype(dtype))[0]

    def gather_ragged(self, keys: Keys) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Vectors of the keys, [total rows, width], and [n + 1] offsets: key i has rows [o[i], o[i + 1])."""
        if not self.ragged:
            raise ValueError("a space with one vector a text is read with gather")
        return self._gather(keys, self.dtype)

    def _gather(self, keys: Keys, dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        for _ in range(_ATTEMPTS):
            with self._locked():
                positions = self._locate(keys)
                if missing := int((positions < 0).sum()):
                    raise KeyError(f"{missing} of {len(keys)} keys are not in {self.directory}")
                width, entries = self._width(), self._table.take(positions)
                blocks, of_block = np.unique(entries.block, return_inverse=True)
                owners = [self._blocks[number][0] for number in blocks.tolist()]
            sources = list(dict.fromkeys(owners))
            numbers = np.array([sources.index(owner) for owner in owners], np.int64)[of_block]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(entries.length, dtype=np.int64)])
            with contextlib.suppress(FileNotFoundError):  # another process removed a shard; the next attempt notices
                out = self._store.allocate((int(offsets[-1]), width), dtype)
                copy_rows(entries, sources, numbers, offsets, out)
                return out, offsets
        raise KeyError(f"shards of {self.directory} vanish while they are read")

    def append(self, keys: Keys, vectors: NDArray[Any], lengths: NDArray[np.int64] | None = None) -> None:
        """Write vectors [n, width] of the keys [n, 16]; in a ragged space the next ``lengths[i]`` vectors for key i.

        They survive the end of the process. If they cannot be written, they stay in memory.
        """
        halves(keys)
        values = np.asarray(vectors)
        if self.ragged != (lengths is not None):
            raise ValueError("a ragged space, and no other, is written with the number of vectors of each key")
        if lengths is None:
            if len(values) != len(keys):
                raise ValueError(f"{len(values)} vectors for {len(keys)} keys")
        else:
            lengths = np.asarray(lengths, np.int64)
            if len(lengths) != len(keys) or (lengths < 0).any() or lengths.sum() != len(values):
                raise ValueError(
                    f"{len(lengths)} lengths adding up to {lengths.sum()} for {len(keys)} keys and {len(values)}"
                    " vectors"
                )
        if values.ndim != 2 or values.shape[1] < 1:
            raise ValueError(f"vectors must be an [n, width] array, got shape {values.shape}")
        width = values.shape[1]
        with np.errstate(over="ignore"):
            converted = values.astype(self.dtype, copy=False)
        if not np.isfinite(converted).all():
            raise ValueError(f"NaN, infinity, or a value beyond {self.dtype.name}")
        with self._locked():
            if (space_width := self.width) not in (0, width):
                raise ValueError(f"vectors of {width} dimensions for a space of {space_width}")
            try:
                self._write(keys, converted, lengths)
            except OSError as error:
                if self._writer is not None:
                    self._writer.discard()
                    self._writer = None
                self._keep_in_memory(keys, converted, lengths)
                self._store.unwritable(error)
            except BaseException:
                self.close()
                raise

    def _write(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64] | None) -> None:
        """Write in blocks, again if another process removes the folder or the shard with the new rows meanwhile."""
        ends = np.cumsum(np.ones(len(keys), np.int64) if lengths is None else lengths)
        block_rows = max(1, _BLOCK_BYTES // (values.shape[1] * self.dtype.itemsize))
        for attempt in range(_ATTEMPTS):
            with contextlib.nullcontext() if attempt == _ATTEMPTS - 1 else contextlib.suppress(FileNotFoundError):
                self._hold = self._store.prepare(self.directory, self._document)
                for first, last in slices(ends, 0, len(keys), block_rows):
                    rows = values[ends[first - 1] if first else 0 : ends[last - 1]]
                    writer = self._ready_writer(values.shape[1], rows.nbytes)
                    writer.append(keys[first:last], rows, None if lengths is None else lengths[first:last])
                if self._writer is None:
                    return
                self._writer.sync()
                if self._writer.in_place():
                    return
            self.close()

    def _keep_in_memory(self, keys: Keys, values: NDArray[Any], lengths: NDArray[np.int64] | None) -> None:
        counts = np.ones(len(keys), np.int64) if lengths is None else lengths
        block = Block(0, len(values), 0, len(keys), verified=True)
        self._unsorted.append(
            self._entries(Unwritten(values.copy()), BlockKeys(block, keys, np.cumsum(counts) - counts, counts))
        )
        self.unwritten_bytes += values.nbytes

    def _ready_writer(self, width: int, nbytes: int) -> ShardWriter:
        writer = self._writer
        if writer is not None and writer.rows and writer.nbytes + nbytes > self._store.shard_bytes:
            writer.sync()
            self.close()
        if self._writer is None:
            self._writer = ShardWriter(self.directory, self._document, width)
        return self._writer

    def close(self) -> None:
        """Close the current shard; the next append starts another."""
        with self._locked():
            if self._writer is not None:
                self._writer.close()
            self._writer = None

    def _locate(self, keys: Keys) -> NDArray[np.int64]:
        """Table position of each key in a verified block, -1 for others."""
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

    def _check(self, numbers: NDArray[np.intp]) -> list[int]:
        """Return the blocks with a wrong checksum."""
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
                if damage := shard.verify(block, view):
                    damaged.append(number)
                    self._report(damage)
        return damaged
