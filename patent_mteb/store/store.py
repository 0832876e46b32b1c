"""The embedding store: its spaces, and their inspection, verification and pruning.

Layout of a store::

    store.json                       format of the store
    spaces/<digest>/space.json       identity of a space (model, revision, settings, number type), hashed to the digest
    spaces/<digest>/*.index *.rows   shards (:mod:`patent_mteb.store.shards`)
    spaces/<digest>/claims/          claims of running processes (:mod:`patent_mteb.store.locks`)
    models/<digest>.json             facts about a model when it was last loaded (:mod:`.prompts`)
    tmp/                             results above the memory limit, deleted once they are mapped
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.files import cache_root, leftover_files, read_json, write_json
from patent_mteb.identity import json_digest
from patent_mteb.store.keys import distinct
from patent_mteb.store.locks import UseLock, exclusive, use_lock
from patent_mteb.store.shards import INDEX_SUFFIX, ROWS_SUFFIX, BlockKeys, Damage, Shard
from patent_mteb.store.space import DTYPES, Space

logger = logging.getLogger(__name__)
_FORMAT = 1  # version of the layout and of the shards
_MARKER = "store.json"
_ELSEWHERE = "name a directory that can be written with --store or PATENT_MTEB_STORE, or go without with --no-store"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PRUNED = ".pruned"
_DIGEST_LENGTH = 32  # letters of the digest that names a space


@dataclass(frozen=True)
class SpaceInfo:
    directory: Path
    identity: Mapping[str, Any]
    dtype: str
    ragged: bool
    texts: int  # distinct texts with intact records (``verify`` reads their rows)
    nbytes: int  # size on disk
    last_used: float  # when a process last opened or wrote it, seconds since the epoch

    @property
    def model(self) -> str:
        return str(self.identity.get("model", ""))

    @property
    def revision(self) -> str:
        return str(self.identity.get("revision", ""))


@dataclass(frozen=True)
class VerifyReport:
    """The scan and the damage it found; damage that is not ``fatal`` comes from stopped or running writers."""

    spaces: int
    texts: int
    nbytes: int
    damages: tuple[Damage, ...]

    @property
    def ok(self) -> bool:
        return not any(damage.fatal for damage in self.damages)


@dataclass(frozen=True)
class PruneReport:
    """Removed items, one line each, and freed bytes; ``kept`` are spaces in use."""

    freed_bytes: int
    removed: tuple[str, ...]
    kept: tuple[str, ...] = ()


def default_path() -> Path:
    """``PATENT_MTEB_STORE``, else ``store`` in the user cache of the suite."""
    if explicit := os.environ.get("PATENT_MTEB_STORE"):
        return Path(explicit).expanduser()
    return cache_root() / "store"


class EmbeddingStore:
    """A folder of vectors, one for each text, model, revision, setting and prompt.

    A shard is closed at ``shard_bytes``. Above ``memory_limit``, a result is a mapped temporary file instead of an
    array in memory. A store that cannot be written (read-only, a full disk) continues with its content and logs this
    once; new vectors stay in memory.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        create: bool = True,
        shard_bytes: int = 256 << 20,
        memory_limit: int = 4 << 30,
    ) -> None:
        self.path = (default_path() if path is None else Path(path).expanduser()).absolute()
        self.shard_bytes = shard_bytes
        self.memory_limit = memory_limit
        self._open: dict[str, Space] = {}
        self._lock = threading.Lock()
        self._logged = False
        try:
            self._check(create)
        except OSError as error:
            problem = f"the embedding store cannot be opened or made here ({error.strerror or error})"
            raise DataError(problem, path=self.path, remedy=_ELSEWHERE) from error

    def _check(self, create: bool) -> None:
        """Refuse a folder that is not a store of this format; make a new store."""
        if self.path.exists() and not self.path.is_dir():
            raise DataError("a file, not an embedding store", path=self.path, remedy=_ELSEWHERE)
        marker = self.path / _MARKER
        if not marker.exists():
            names = [entry.name for entry in self.path.iterdir()] if self.path.is_dir() else []
            ours = ("spaces", "models", "tmp")
            strange = [name for name in names if name not in ours and not name.startswith((_MARKER, f".{_MARKER}"))]
            if strange and not marker.exists():
                problem = "directory is not empty and not an embedding store"
                raise DataError(problem, path=self.path, remedy="give another directory")
            if not create and not (self.path / "spaces").is_dir():
                remedy = "give the directory of one with --store"
                raise DataError("there is no embedding store", path=self.path, remedy=remedy)
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                write_json(marker, {"format": _FORMAT})
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                self.unwritable(error)
            return
        description = read_json(marker)
        if description == {"format": _FORMAT}:
            return
        later = description.get("format") if isinstance(description, dict) else None
        if isinstance(later, int) and later > _FORMAT:
            problem = f"embedding store of format {later}, this version writes {_FORMAT}"
            remedy = "use the version of patent-mteb that wrote it, or another directory; if no later version did,"
            remedy += f" delete {marker}, which holds the format only: the embeddings stay"
            raise DataError(problem, path=self.path, remedy=remedy)
        logger.warning("%s is damaged and is written again; it holds the format only, so nothing is lost", marker)
        self.write_document(marker, {"format": _FORMAT})

    def space(self, identity: Mapping[str, Any], dtype: str = "float32", ragged: bool = False) -> Space:
        """Return the space of an identity (any JSON value), made if missing.

        Different identities, number types or shapes never share a vector: their hash is the name of the folder.
        """
        if dtype not in DTYPES:
            raise ValueError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
        document = {"format": _FORMAT, "identity": dict(identity), "dtype": dtype, "ragged": ragged}
        digest = json_digest(document)
        with self._lock:
            space = self._open.setdefault(digest, Space(self.path / "spaces" / digest, document, self))
        space.use()
        return space

    def prepare(self, directory: Path, document: Mapping[str, Any]) -> UseLock | None:
        """Make the folder and description of a space, mark it as used, and lock it."""
        directory.mkdir(parents=True, exist_ok=True)
        in_use = use_lock(directory)
        if not (marker := self.path / _MARKER).exists():
            write_json(marker, {"format": _FORMAT})
        described = directory / "space.json"
        if read_json(described) != json.loads(json.dumps(document)):
            write_json(described, document)
        else:
            with contextlib.suppress(OSError):
                os.utime(described)
        return in_use

    def write_document(self, path: Path, document: Any) -> None:
        """Write a JSON document; only log a failure."""
        try:
            write_json(path, document)
        except OSError as error:
            self.unwritable(error)

    def unwritable(self, error: OSError) -> None:
        """Log once that the store cannot be written."""
        if not self._logged:
            self._logged = True
            logger.warning(
                "The embedding store %s cannot be written (%s): missing texts are encoded and not stored. This is"
                " logged once.",
                self.path,
                error.strerror or error,
            )

    def allocate(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Allocate an array: in memory, or above ``memory_limit`` as a temporary file, in the store if that has space.

        Its space is reserved first: writing to a mapped file on a full disk kills the process.
        """
        nbytes = shape[0] * shape[1] * dtype.itemsize
        if nbytes <= self.memory_limit:
            return np.empty(shape, dtype)
        for folder in (self.path / "tmp", Path(tempfile.gettempdir())):
            with contextlib.suppress(OSError):
                folder.mkdir(exist_ok=True)
                with tempfile.TemporaryFile(dir=folder) as file:
                    if hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(file.fileno(), 0, nbytes)
                    return np.memmap(file, dtype, "w+", shape=shape)
        return np.empty(shape, dtype)

    def info(self) -> list[SpaceInfo]:
        return sorted(map(_info, directories(self.path)), key=lambda info: -info.nbytes)

    def leftovers(self) -> list[Path]:
        """Remains of killed processes, which :meth:`prune` removes."""
        return sorted([*self.path.glob(f"spaces/*{_PRUNED}"), *leftover_files(self.path)])

    def verify(self) -> VerifyReport:
        """Read everything and verify its checksums."""
        damages = [
            Damage(path, "left by a process that was stopped; prune removes it", fatal=False)
            for path in self.leftovers()
        ]
        texts = nbytes = 0
        spaces = directories(self.path)
        for directory in spaces:
            nbytes += size_of(directory)
            document = document_of(directory)
            if document is None:
                damages.append(
                    Damage(directory / "space.json", "missing or damaged; the space is unknown until it is used again")
                )
                continue
            for _, intact, damage_found in examine(directory, document):
                texts += sum(keyed.block.texts for keyed in intact)
                damages += damage_found
        return VerifyReport(len(spaces), texts, nbytes, tuple(damages))

    def prune(
        self,
        *,
        model: str | None = None,
        older_than_days: float | None = None,
        damaged: bool = False,
        dry_run: bool = False,
        force: bool = False,
    ) -> PruneReport:
        """Remove spaces, or damaged shards only, and remains of killed processes.

        ``model`` and ``older_than_days`` (since a process last opened a space) select spaces. With ``damaged``, only
        their damaged shards are removed, after their intact blocks are saved to a new one. A space in use by another
        process is skipped and reported, unless ``force``: its processes encode again what they need.
        """
        if model is None and older_than_days is None and not damaged:
            raise ValueError("state what to prune: a model, an age, or damaged shards")
        removed: list[str] = []
        kept: list[str] = []
        freed = 0
        for info in self.info():
            recent = older_than_days is not None and time.time() - info.last_used < older_than_days * 86400
            if recent or (model is not None and info.model != model):
                continue
            line = (
                f"{info.model} {info.revision} {info.dtype}: {info.texts} texts, {info.nbytes} bytes ({info.directory})"
            )
            with exclusive(info.directory, info.last_used) as free:
                if not free and not force:
                    kept.append(line)
                elif damaged:
                    lines, size = self._prune_shards(info.directory, dry_run)
                    removed += lines
                    freed += size
                else:
                    if not dry_run:
                        doomed = info.directory.with_name(f"{info.directory.name}.{secrets.token_hex(4)}{_PRUNED}")
                        try:
                            info.directory.rename(doomed)
                        except PermissionError:  # Windows: a process has mapped one of its files
                            kept.append(line)
                            continue
                        shutil.rmtree(doomed)
                    removed.append(line)
                    freed += info.nbytes
        for path in self.leftovers():
            removed.append(f"{path}: left by a process that was stopped")
            freed += size_of(path)
            if not dry_run and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif not dry_run:
                path.unlink(missing_ok=True)
        return PruneReport(freed, tuple(removed), tuple(kept))

    def _prune_shards(self, directory: Path, dry_run: bool) -> tuple[list[str], int]:
        document = document_of(directory)
        if document is None:
            return [], 0
        before = size_of(directory)
        removed: list[str] = []
        freed = 0
        space = Space(directory, document, self)
        for shard, intact, damages in examine(directory, document):
            fatal = [str(damage) for damage in damages if damage.fatal]
            if not fatal:
                continue
            removed += fatal
            freed += sum(path.stat().st_size for path in (shard.index_path, shard.rows_path) if path.exists())
            if dry_run:
                continue
            for keyed in intact:
                rows = shard.map()[keyed.block.first_row : keyed.block.first_row + keyed.block.rows]
                space.append(keyed.keys, rows, keyed.lengths if space.ragged else None)
            if space.unwritten_bytes:
                problem = "intact blocks cannot be saved, so nothing was removed"
                raise DataError(problem, path=shard.rows_path, remedy="free space on the disk")
            shard.index_path.unlink(missing_ok=True)
            shard.rows_path.unlink(missing_ok=True)
        space.close()
        return removed, freed if dry_run else before - size_of(directory)


def open_store(store: EmbeddingStore | Path | str | None) -> EmbeddingStore:
    return store if isinstance(store, EmbeddingStore) else EmbeddingStore(store)


def _info(directory: Path) -> SpaceInfo:
    described = directory / "space.json"
    document = document_of(directory) or {"identity": {}, "dtype": "float32", "ragged": False}
    shards = [Shard(path, document) for path in sorted(directory.glob(f"*{INDEX_SUFFIX}"))]
    blocks = [keyed for shard in shards for keyed in shard.read_new()[0]]
    return SpaceInfo(
        directory,
        document["identity"],
        document["dtype"],
        document["ragged"],
        texts=len(distinct(np.concatenate([keyed.keys for keyed in blocks]))) if blocks else 0,
        nbytes=size_of(directory),
        last_used=(described if described.exists() else directory).stat().st_mtime,
    )


def directories(store: Path) -> list[Path]:
    spaces = store / "spaces"
    return sorted(entry for entry in spaces.iterdir() if len(entry.name) == _DIGEST_LENGTH) if spaces.is_dir() else []


def document_of(directory: Path) -> Any:
    """Description of a space; None if it does not match the name of the folder."""
    document = read_json(directory / "space.json")
    try:
        return document if isinstance(document, dict) and json_digest(document) == directory.name else None
    except (TypeError, ValueError):
        return None


def examine(directory: Path, document: Mapping[str, Any]) -> Iterator[tuple[Shard, list[BlockKeys], list[Damage]]]:
    """Yield every shard of a space with its intact blocks and its damages."""
    files = {
        path.with_suffix(INDEX_SUFFIX) for path in directory.iterdir() if path.suffix in (INDEX_SUFFIX, ROWS_SUFFIX)
    }
    for path in sorted(files):
        shard = Shard(path, document)
        if not path.exists():
            yield shard, [], [Damage(shard.rows_path, "rows without an index", fatal=False)]
            continue
        blocks, damages = shard.read_new()
        if blocks:
            view = shard.map()
            damages += filter(None, (shard.verify(keyed.block, view) for keyed in blocks))
        if left := shard.uncommitted_bytes():
            damages.append(Damage(shard.rows_path, f"{left} bytes at its end without a record", fatal=False))
        yield shard, [keyed for keyed in blocks if keyed.block.verified], damages


def size_of(path: Path) -> int:
    total = 0
    for entry in path.iterdir() if path.is_dir() else [path]:
        with contextlib.suppress(FileNotFoundError):
            total += entry.stat().st_size
    return total
