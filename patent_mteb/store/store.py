"""The embedding store as a whole: its spaces, what they hold, checking and pruning them.

Layout of a store::

    store.json                      format of the store
    spaces/<digest>/space.json      identity of a space: model, revision, settings, element type; the digest is its hash
    spaces/<digest>/*.index *.rows  shards (see :mod:`patent_mteb.store.shards`)
    models/<digest>.json            what a model said about itself when it was last loaded (see :mod:`patent_mteb.store.resolve`)
    tmp/                            results too big for memory, deleted as soon as they are mapped
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.files import cache_root, read_json, write_json
from patent_mteb.identity import json_digest
from patent_mteb.store.keys import Keys, distinct
from patent_mteb.store.shards import INDEX_SUFFIX, ROWS_SUFFIX, BlockKeys, Damage, Shard
from patent_mteb.store.space import DTYPES, Space

__all__ = ["EmbeddingStore", "PruneReport", "SpaceInfo", "VerifyReport", "default_path"]

_FORMAT = 1
"""Version of the layout and of the shards."""


def default_path() -> Path:
    """``PATENT_MTEB_STORE``, else ``store`` in the suite's user cache.

    Example:
        >>> import os
        >>> from patent_mteb.store import default_path
        >>> os.environ["PATENT_MTEB_STORE"] = "/data/store"
        >>> default_path().as_posix()
        '/data/store'
    """
    if explicit := os.environ.get("PATENT_MTEB_STORE"):
        return Path(explicit).expanduser()
    return cache_root() / "store"


@dataclass(frozen=True)
class SpaceInfo:
    """What a space holds.

    Attributes:
        directory: where it lies.
        identity: model, revision and settings as they were given.
        dtype, ragged: element type, and whether a text has many vectors.
        width: dimensions, 0 while it is empty.
        texts: distinct texts with usable records (their rows are not read; see ``verify``).
        rows: vectors, more than texts in ragged spaces.
        nbytes: size on disk.
        last_used: when a process last opened it, seconds since the epoch.
    """

    directory: Path
    identity: Mapping[str, Any]
    dtype: str
    ragged: bool
    width: int
    texts: int
    rows: int
    nbytes: int
    last_used: float

    @property
    def model(self) -> str:
        return str(self.identity.get("model", ""))

    @property
    def revision(self) -> str:
        return str(self.identity.get("revision", ""))


@dataclass(frozen=True)
class VerifyReport:
    """Result of reading everything in a store.

    Attributes:
        spaces, texts, nbytes: how much was read.
        damages: what is wrong; those that are not ``fatal`` are leftovers of stopped or running writers.
    """

    spaces: int
    texts: int
    nbytes: int
    damages: tuple[Damage, ...]

    @property
    def ok(self) -> bool:
        return not any(damage.fatal for damage in self.damages)


@dataclass(frozen=True)
class PruneReport:
    """What was removed, one line each, and the bytes that it freed."""

    freed_bytes: int
    removed: tuple[str, ...]


class EmbeddingStore:
    """A directory of embeddings, each text encoded once for every model, revision, setting and prompt.

    Args:
        path: the directory; made if it is not there. Default: :func:`default_path`.
        shard_bytes: size above which a new shard is begun.
        memory_limit: size above which a result is a mapped temporary file (in the store's file system) instead of an array in
            memory.

    Raises:
        DataError: the directory holds something else, or a store of a later format.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.store import EmbeddingStore, hash_texts
        >>> store = EmbeddingStore("store")
        >>> store.space({"model": "my-encoder", "revision": "1"}).append(hash_texts(["a pump"]), np.ones((1, 2), np.float32))
        >>> [(info.model, info.texts, info.width) for info in store.info()], store.verify().ok
        ([('my-encoder', 1, 2)], True)
    """

    def __init__(self, path: Path | str | None = None, *, shard_bytes: int = 256 << 20, memory_limit: int = 4 << 30) -> None:
        self.path = (default_path() if path is None else Path(path).expanduser()).absolute()
        self.shard_bytes = shard_bytes
        self.memory_limit = memory_limit
        self._open: dict[str, Space] = {}
        marker = self.path / "store.json"
        if not marker.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            if any(not entry.name.startswith("store.json") for entry in self.path.iterdir()) and not marker.exists():
                raise DataError("directory is not empty and no embedding store", path=self.path, remedy="give another directory")
            write_json(marker, {"format": _FORMAT})
        description = read_json(marker)
        if description != {"format": _FORMAT}:
            raise DataError(
                f"embedding store of format {description}, this version writes {_FORMAT}",
                path=self.path,
                remedy="give another directory, or delete this one",
            )

    def space(self, identity: Mapping[str, Any], dtype: str = "float32", ragged: bool = False) -> Space:
        """The space of an identity (anything that JSON can hold), made if it is not there.

        Two identities, element types or shapes never share a vector: their hash names the directory.

        Raises:
            ValueError: an element type other than float32 and float16.
        """
        if dtype not in DTYPES:
            raise ValueError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
        document = {"format": _FORMAT, "identity": dict(identity), "dtype": dtype, "ragged": ragged}
        digest = json_digest(document)
        space = self._open.get(digest)
        if space is None:
            space = self._open[digest] = self._make(self.path / "spaces" / digest, dtype, ragged)
        described = space.directory / "space.json"
        if read_json(described) != json.loads(json.dumps(document)):
            write_json(described, document)
        else:
            with contextlib.suppress(OSError):
                os.utime(described)
        return space

    def _make(self, directory: Path, dtype: str, ragged: bool) -> Space:
        return Space(directory, dtype, ragged, shard_bytes=self.shard_bytes, allocate=self.allocate)

    def allocate(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """An array to fill: in memory, or above ``memory_limit`` a map of a temporary file that goes with it."""
        if shape[0] * shape[1] * dtype.itemsize <= self.memory_limit:
            return np.empty(shape, dtype)
        folder = self.path / "tmp"
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            return np.memmap(file, dtype, "w+", shape=shape)

    def info(self) -> list[SpaceInfo]:
        """Every space, the biggest first."""
        return sorted((self._info(directory) for directory in self._directories()), key=lambda info: -info.nbytes)

    def verify(self) -> VerifyReport:
        """Read everything and compare it with its checksums."""
        damages: list[Damage] = []
        texts = nbytes = 0
        directories = self._directories()
        for directory in directories:
            nbytes += _size(directory)
            document = read_json(directory / "space.json")
            if document is None or json_digest(document) != directory.name:
                damages.append(Damage(directory / "space.json", "missing or damaged; the space is unknown until it is used again"))
                continue
            for _, whole, wrong in _examine(directory, document):
                texts += sum(keyed.block.texts for keyed in whole)
                damages += wrong
        return VerifyReport(len(directories), texts, nbytes, tuple(damages))

    def prune(
        self, *, model: str | None = None, older_than_days: float | None = None, damaged: bool = False, dry_run: bool = False
    ) -> PruneReport:
        """Remove spaces, or with ``damaged`` only damaged shards after their whole blocks were saved to a new one.

        Args:
            model: only spaces of this model.
            older_than_days: only spaces that nobody has opened for so many days.
            damaged: remove damaged shards in these spaces (all spaces if none of the above is given) instead of the spaces.
            dry_run: say what would be removed, and leave it.

        Raises:
            ValueError: no criterion at all.
        """
        if model is None and older_than_days is None and not damaged:
            raise ValueError("say what to prune: a model, an age, or damaged shards")
        removed: list[str] = []
        freed = 0
        for info in self.info():
            if model is not None and info.model != model:
                continue
            if older_than_days is not None and time.time() - info.last_used < older_than_days * 86400:
                continue
            if damaged:
                lines, size = self._prune_shards(info.directory, dry_run)
                removed += lines
                freed += size
                continue
            removed.append(f"{info.model} {info.revision} {info.dtype}: {info.texts} texts, {info.nbytes} bytes ({info.directory})")
            freed += info.nbytes
            if not dry_run:
                self._open.pop(info.directory.name, None)
                doomed = info.directory.with_name(f"{info.directory.name}.{secrets.token_hex(4)}.pruned")
                info.directory.rename(doomed)
                shutil.rmtree(doomed)
        return PruneReport(freed, tuple(removed))

    def _prune_shards(self, directory: Path, dry_run: bool) -> tuple[list[str], int]:
        document = read_json(directory / "space.json")
        if document is None or json_digest(document) != directory.name:
            return [], 0
        before = _size(directory)
        removed: list[str] = []
        freed = 0
        space = self._make(directory, document["dtype"], document["ragged"])
        for shard, whole, damages in _examine(directory, document):
            fatal = [str(damage) for damage in damages if damage.fatal]
            if not fatal:
                continue
            removed += fatal
            freed += sum(path.stat().st_size for path in (shard.index_path, shard.rows_path) if path.exists())
            if dry_run:
                continue
            view = shard.map() if whole else None
            for keyed in whole:
                assert view is not None
                rows = view[keyed.block.first_row : keyed.block.first_row + keyed.block.rows]
                if document["ragged"]:
                    space.append_ragged(keyed.keys, rows, keyed.lengths)
                else:
                    space.append(keyed.keys, rows)
            shard.index_path.unlink(missing_ok=True)
            shard.rows_path.unlink(missing_ok=True)
        space.close()
        if not dry_run:
            self._open.pop(directory.name, None)
            freed = before - _size(directory)
        return removed, freed

    def _directories(self) -> list[Path]:
        spaces = self.path / "spaces"
        return sorted(entry for entry in spaces.iterdir() if len(entry.name) == 32) if spaces.is_dir() else []

    def _info(self, directory: Path) -> SpaceInfo:
        described = directory / "space.json"
        document = read_json(described) or {"identity": {}, "dtype": "float32", "ragged": False}
        texts = rows = width = 0
        keys: list[Keys] = []
        for path in sorted(directory.glob(f"*{INDEX_SUFFIX}")):
            shard = Shard(path, directory.name, np.dtype(document["dtype"]).newbyteorder("<"), document["ragged"])
            blocks, _ = shard.read_new()
            keys += [keyed.keys for keyed in blocks]
            rows += sum(keyed.block.rows for keyed in blocks)
            width = width or shard.width
        if keys:
            texts = len(distinct(np.concatenate(keys)))
        used = described.stat().st_mtime if described.exists() else directory.stat().st_mtime
        return SpaceInfo(directory, document["identity"], document["dtype"], document["ragged"], width, texts, rows, _size(directory), used)


def _examine(directory: Path, document: Mapping[str, Any]) -> Iterator[tuple[Shard, list[BlockKeys], list[Damage]]]:
    """Every shard of a space with its whole blocks, read through, and what is wrong with it."""
    dtype = np.dtype(document["dtype"]).newbyteorder("<")
    for path in sorted({entry.with_suffix(INDEX_SUFFIX) for entry in directory.iterdir() if entry.suffix in (INDEX_SUFFIX, ROWS_SUFFIX)}):
        shard = Shard(path, directory.name, dtype, document["ragged"])
        if not path.exists():
            yield shard, [], [Damage(shard.rows_path, "rows without an index", fatal=False)]
            continue
        blocks, damages = shard.read_new()
        whole: list[BlockKeys] = []
        if blocks:
            view = shard.map()
            whole = [keyed for keyed in blocks if shard.verify(keyed.block, view)]
            damages += [shard.wrong_checksum(keyed.block) for keyed in blocks if not keyed.block.verified]
        if left := shard.uncommitted_bytes():
            damages.append(Damage(shard.rows_path, f"{left} bytes at its end that no record vouches for", fatal=False))
        yield shard, whole, damages


def _size(directory: Path) -> int:
    total = 0
    for entry in directory.iterdir():
        with contextlib.suppress(FileNotFoundError):
            total += entry.stat().st_size
    return total
