"""Shard files of the store: append-only, checksummed, memory-mapped.

They are readable after a kill at any moment. A shard is a pair of files with one writer:

* ``NAME.rows``: the vectors, row after row, little endian.
* ``NAME.index``: a header of 256 bytes (magic, a JSON description padded with spaces, checksum), then one record for
  each block of rows. A record is a fixed head (magic, number of keys, first row, number of rows, checksum of the rows,
  checksum of the head), the keys, for ragged spaces the number of rows of each key, and the checksum of all of it.

Rows are written before their record. If they do not reach the disk (power failure, a truncated file, flipped bytes),
the checksum in the record detects it. Rows without a record are ignored. Checksums are 64-bit XXH3.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest as checksum

from patent_mteb.store.keys import KEY_BYTES, Keys

INDEX_SUFFIX = ".index"
ROWS_SUFFIX = ".rows"
_MAGIC = b"PMSHARD1"
_BLOCK = b"BLK1"
_HEAD = struct.Struct("<4sIQQQ")
_LENGTH = struct.Struct("<I")
_HEADER_BYTES = 256  # of a shard, fixed by its format
_CHECK = struct.Struct("<Q")


def row_type(document: Mapping[str, Any]) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(document["dtype"]).newbyteorder("<")
    return kind


def _header(directory: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """What the header of a shard says of its space."""
    return {"space": directory.name, "dtype": row_type(document).str, "ragged": document["ragged"]}


@dataclass(frozen=True)
class Damage:
    """A file of a store that cannot be used."""

    path: Path
    problem: str
    texts: int = 0  # that lose their vectors, as far as known
    fatal: bool = True  # False for bytes without a record, of a stopped or running writer

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" + (f" ({self.texts} texts)" if self.texts else "")


@dataclass
class Block:
    """Consecutive rows of a shard with one checksum."""

    first_row: int
    rows: int
    checksum: int
    texts: int
    verified: bool = False


@dataclass(frozen=True)
class BlockKeys:
    """Keys of a block, with the first row and the number of rows of each."""

    block: Block
    keys: Keys
    first_rows: NDArray[np.int64]
    lengths: NDArray[np.int64]


class Shard:
    """Reader of one shard, which may still grow; ``document`` describes its space."""

    def __init__(self, index_path: Path, document: Mapping[str, Any]) -> None:
        self.index_path = index_path
        self.rows_path = index_path.with_suffix(ROWS_SUFFIX)
        self.blocks: list[Block] = []
        self.width = 0
        self._expected = _header(index_path.parent, document)
        self._dtype = row_type(document)
        self._ragged = document["ragged"]
        self._offset = 0
        self._seen_size = -1
        self._inode = -1
        self._needed_bytes = 0

    @property
    def row_bytes(self) -> int:
        return self.width * self._dtype.itemsize

    def read_new(self) -> tuple[list[BlockKeys], list[Damage]]:
        """Return the blocks recorded since the last call, and the damage found."""
        try:
            if self.index_path.stat().st_size == self._seen_size:
                return [], []
            with self.index_path.open("rb") as stream:
                self._inode = os.fstat(stream.fileno()).st_ino
                stream.seek(self._offset)
                data = stream.read()
            stored_rows = self.rows_path.stat().st_size if self.rows_path.exists() else 0
        except FileNotFoundError:
            return [], []  # pruned by another process
        self._seen_size = self._offset + len(data)
        blocks: list[BlockKeys] = []
        damages: list[Damage] = []
        position = self._read_header(data, damages) if self._offset == 0 else 0
        while self.width and position < len(data):
            record = self._parse(data, position)
            if isinstance(record, Damage):
                damages.append(record)
                break
            parsed, position = record
            block = parsed.block
            self.blocks.append(block)
            if (block.first_row + block.rows) * self.row_bytes > stored_rows:
                damages.append(
                    Damage(self.rows_path, f"cut off before row {block.first_row + block.rows}", block.texts)
                )
            else:
                blocks.append(parsed)
                self._needed_bytes = (block.first_row + block.rows) * self.row_bytes
        self._offset += position
        return blocks, damages

    def _read_header(self, data: bytes, damages: list[Damage]) -> int:
        """Return the length of the header, 0 if the shard cannot be used (yet)."""
        if len(data) < _HEADER_BYTES:
            damages.append(Damage(self.index_path, "unfinished header", fatal=False))
            return 0
        end = _HEADER_BYTES - _CHECK.size
        if data[: len(_MAGIC)] != _MAGIC or _CHECK.unpack_from(data, end)[0] != checksum(data[:end]):
            damages.append(Damage(self.index_path, "damaged header"))
            return 0
        header = json.loads(data[len(_MAGIC) : end])
        width = header.pop("width")
        if header != self._expected:
            damages.append(Damage(self.index_path, f"belongs to another space ({header} instead of {self._expected})"))
            return 0
        self.width = width
        return _HEADER_BYTES

    def _parse(self, data: bytes, position: int) -> tuple[BlockKeys, int] | Damage:
        """Return the record at a position and its end, or the damage."""
        at = self._offset + position
        unfinished = Damage(self.index_path, f"unfinished record at byte {at}", fatal=False)
        damaged = Damage(self.index_path, f"damaged record at byte {at}; it and the rest of the file are not used")
        head_end = position + _HEAD.size
        keys_at = head_end + _CHECK.size
        if len(data) < keys_at:
            return unfinished
        magic, texts, first_row, rows, rows_checksum = _HEAD.unpack_from(data, position)
        if magic != _BLOCK or _CHECK.unpack_from(data, head_end)[0] != checksum(data[position:head_end]):
            return damaged
        lengths_at = keys_at + texts * KEY_BYTES
        end = lengths_at + (texts * _LENGTH.size if self._ragged else 0)
        if len(data) < end + _CHECK.size:
            return unfinished
        if _CHECK.unpack_from(data, end)[0] != checksum(data[position:end]):
            return damaged
        keys = np.frombuffer(data, np.uint8, texts * KEY_BYTES, keys_at).reshape(-1, KEY_BYTES)
        lengths = (
            np.frombuffer(data, "<u4", texts, lengths_at).astype(np.int64) if self._ragged else np.ones(texts, np.int64)
        )
        first_rows = first_row + np.cumsum(lengths) - lengths
        block = Block(first_row, rows, rows_checksum, texts)
        return BlockKeys(block, keys, first_rows, lengths), end + _CHECK.size

    def intact(self) -> bool:
        """Whether no other process has removed, replaced or truncated the files."""
        try:
            state = self.index_path.stat()
            unchanged = state.st_ino == self._inode and state.st_size >= self._offset
            return unchanged and (not self._needed_bytes or self.rows_path.stat().st_size >= self._needed_bytes)
        except OSError:
            return False

    def map(self) -> NDArray[Any]:
        """Rows as a read-only memory map, [rows, width]."""
        rows = self.rows_path.stat().st_size // self.row_bytes
        if rows == 0:
            return np.empty((0, self.width), self._dtype)
        try:
            return np.memmap(self.rows_path, self._dtype, "r", shape=(rows, self.width))
        except ValueError as error:
            raise FileNotFoundError(f"{self.rows_path} was cut off") from error

    def verify(self, block: Block, view: NDArray[Any]) -> Damage | None:
        """Compare the rows of a block with their checksum, once; return the damage."""
        end = block.first_row + block.rows
        if not block.verified:
            rows = view[block.first_row : end]
            block.verified = len(rows) == block.rows and checksum(rows.data) == block.checksum
        if block.verified:
            return None
        return Damage(self.rows_path, f"wrong checksum of rows {block.first_row} to {end}", block.texts)

    def uncommitted_bytes(self) -> int:
        """Bytes at the end of the rows file without a record."""
        recorded = max((block.first_row + block.rows for block in self.blocks), default=0) * self.row_bytes
        try:
            return max(0, self.rows_path.stat().st_size - recorded)
        except FileNotFoundError:
            return 0


class Unwritten:
    """Rows in memory that could not be written to a shard."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self.rows = rows
        self.width = int(rows.shape[1])

    def map(self) -> NDArray[Any]:
        """The rows, as in :meth:`Shard.map`."""
        return self.rows


class ShardWriter:
    """Appends blocks to a new shard, of which it is the only writer."""

    def __init__(self, directory: Path, document: Mapping[str, Any], width: int) -> None:
        self.rows = 0
        self._index_bytes = 0
        self._row_bytes = width * row_type(document).itemsize
        stem = directory / f"{time.time_ns():016x}-{os.getpid()}-{secrets.token_hex(4)}"
        header = {**_header(directory, document), "width": width}
        text = json.dumps(header, sort_keys=True).encode()
        start = _MAGIC + text.ljust(_HEADER_BYTES - len(_MAGIC) - _CHECK.size)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._rows_path, self._index_path = stem.with_suffix(ROWS_SUFFIX), stem.with_suffix(INDEX_SUFFIX)
        self._rows_file = os.open(self._rows_path, flags, 0o644)
        try:
            self._index_file = os.open(self._index_path, flags, 0o644)
        except OSError:
            os.close(self._rows_file)
            self._rows_path.unlink(missing_ok=True)
            raise
        try:
            self._add(start + _CHECK.pack(checksum(start)))
        except OSError:
            self.discard()
            raise

    def _add(self, data: bytes) -> None:
        _write_all(self._index_file, data)
        self._index_bytes += len(data)

    @property
    def nbytes(self) -> int:
        return self.rows * self._row_bytes

    def append(self, keys: Keys, rows: NDArray[Any], lengths: NDArray[np.int64] | None) -> None:
        """Write a block: rows [r, width] of keys [n, 16]. In a ragged space ``lengths`` [n] add up to r."""
        body = np.ascontiguousarray(rows)
        _write_all(self._rows_file, body.data.cast("B") if body.size else b"")
        head = _HEAD.pack(_BLOCK, len(keys), self.rows, len(body), checksum(body.data))
        record = head + _CHECK.pack(checksum(head)) + keys.tobytes()
        if lengths is not None:
            record += lengths.astype("<u4").tobytes()
        self._add(record + _CHECK.pack(checksum(record)))
        self.rows += len(body)

    def sync(self) -> None:
        """Flush to the disk, so that a power failure loses nothing."""
        os.fsync(self._rows_file)
        os.fsync(self._index_file)

    def in_place(self) -> bool:
        """Whether no other process has removed or truncated the files."""
        try:
            for file, path, size in (
                (self._rows_file, self._rows_path, self.nbytes),
                (self._index_file, self._index_path, self._index_bytes),
            ):
                state = os.fstat(file)
                if state.st_size != size or not os.path.samestat(state, path.stat()):
                    return False
        except OSError:
            return False
        return True

    def discard(self) -> None:
        """Close after a failed write; remove the incomplete end, or the empty shard."""
        with contextlib.suppress(OSError):
            if self.rows:
                os.ftruncate(self._index_file, self._index_bytes)
                os.ftruncate(self._rows_file, self.nbytes)
            else:
                self._index_path.unlink(missing_ok=True)
                self._rows_path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        os.close(self._rows_file)
        os.close(self._index_file)


def _write_all(descriptor: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while len(view):
        view = view[os.write(descriptor, view) :]
