"""Looking after a store from outside: what its spaces hold, whether everything is whole, and removing what is not
needed.

Ages are differences of clocks: on a machine whose clock jumps, ``older_than_days`` is as wrong as the jump. Whether a
space is in use is asked of its lock (:mod:`patent_mteb.store.locks`), which knows no clock.

What killed processes leave behind of :func:`patent_mteb.files.replacing` and
:func:`patent_mteb.files.replacing_folders`.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from patent_mteb.errors import DataError
from patent_mteb.files import QUIET_SECONDS, process_runs, read_json
from patent_mteb.identity import json_digest
from patent_mteb.store.keys import Keys, distinct
from patent_mteb.store.locks import exclusive
from patent_mteb.store.shards import INDEX_SUFFIX, ROWS_SUFFIX, BlockKeys, Damage, Shard
from patent_mteb.store.space import Home, Space

_PARTIAL = re.compile(r"\..+?\.(\d+)(\.[0-9a-f]{8})?\.partial")

_BUILDING = re.compile(r"\.building-(\d+)-.+")


def abandoned(root: Path) -> list[Path]:
    """Files and folders below ``root`` that a process was writing which has ended."""
    return sorted(_abandoned(root))


def _abandoned(root: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(root):
        for names, pattern in ((files, _PARTIAL), (folders, _BUILDING)):
            for name in list(names):
                if match := pattern.fullmatch(name):
                    names.remove(name)
                    path = Path(place) / name
                    if not process_runs(int(match[1])) and quiet(path):
                        yield path


def quiet(path: Path) -> bool:
    """Whether nothing was written to a file, or into a folder, within the last minute: what is young may belong to a
    process of another container, whose number says nothing here.
    """
    try:
        newest = max(entry.lstat().st_mtime for entry in (path, *path.rglob("*")))
    except OSError:
        return False
    return abs(time.time() - newest) > QUIET_SECONDS


_PRUNED = ".pruned"

_DIGEST_LENGTH = 32


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
        last_used: when a process last opened or wrote it, seconds since the epoch, by the clock of its machine.
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
    """What was removed, one line each, and the bytes that it freed; ``kept`` is what was left because a process uses
    it.
    """

    freed_bytes: int
    removed: tuple[str, ...]
    kept: tuple[str, ...] = ()


def directories(store: Path) -> list[Path]:
    """The directories of a store's spaces."""
    spaces = store / "spaces"
    return sorted(entry for entry in spaces.iterdir() if len(entry.name) == _DIGEST_LENGTH) if spaces.is_dir() else []


def leftovers(store: Path) -> list[Path]:
    """What killed processes left: spaces that were about to be removed, files that were being written."""
    return sorted([*store.glob(f"spaces/*{_PRUNED}"), *abandoned(store)])


def infos(store: Path) -> list[SpaceInfo]:
    """Every space of a store, the biggest first."""
    return sorted((_info(directory) for directory in directories(store)), key=lambda info: -info.nbytes)


def _info(directory: Path) -> SpaceInfo:
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
    return SpaceInfo(
        directory,
        document["identity"],
        document["dtype"],
        document["ragged"],
        width,
        texts,
        rows,
        size_of(directory),
        used,
    )


def read(store: Path) -> VerifyReport:
    """Read everything in a store and compare it with its checksums."""
    damages = [
        Damage(path, "left by a process that was stopped; prune removes it", fatal=False) for path in leftovers(store)
    ]
    texts = nbytes = 0
    spaces = directories(store)
    for directory in spaces:
        nbytes += size_of(directory)
        document = document_of(directory)
        if document is None:
            damages.append(
                Damage(directory / "space.json", "missing or damaged; the space is unknown until it is used again")
            )
            continue
        for _, whole, wrong in examine(directory, document):
            texts += sum(keyed.block.texts for keyed in whole)
            damages += wrong
    return VerifyReport(len(spaces), texts, nbytes, tuple(damages))


def prune(
    store: Path,
    home: Home,
    *,
    model: str | None = None,
    older_than_days: float | None = None,
    damaged: bool = False,
    dry_run: bool = False,
    force: bool = False,
) -> PruneReport:
    """Remove spaces or damaged shards, and leftovers; arguments and errors as
    :meth:`patent_mteb.store.EmbeddingStore.prune`.
    """
    removed: list[str] = []
    kept: list[str] = []
    freed = 0
    for info in infos(store):
        if model is not None and info.model != model:
            continue
        if older_than_days is not None and time.time() - info.last_used < older_than_days * 86400:
            continue
        line = f"{info.model} {info.revision} {info.dtype}: {info.texts} texts, {info.nbytes} bytes ({info.directory})"
        with exclusive(info.directory, info.last_used) as free:
            if not free and not force:
                kept.append(line)
            elif damaged:
                lines, size = _prune_shards(info.directory, home, dry_run)
                removed += lines
                freed += size
            else:
                removed.append(line)
                freed += info.nbytes
                if not dry_run:
                    doomed = info.directory.with_name(f"{info.directory.name}.{secrets.token_hex(4)}{_PRUNED}")
                    info.directory.rename(doomed)
                    shutil.rmtree(doomed)
    for path in leftovers(store):
        removed.append(f"{path}: left by a process that was stopped")
        freed += size_of(path)
        if not dry_run:
            _remove(path)
    return PruneReport(freed, tuple(removed), tuple(kept))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _prune_shards(directory: Path, home: Home, dry_run: bool) -> tuple[list[str], int]:
    document = document_of(directory)
    if document is None:
        return [], 0
    before = size_of(directory)
    removed: list[str] = []
    freed = 0
    space = Space(directory, document, home)
    for shard, whole, damages in examine(directory, document):
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
        if space.unwritten_bytes:
            raise DataError(
                "what is whole cannot be saved, so nothing was removed",
                path=shard.rows_path,
                remedy="make room on the disk",
            )
        shard.index_path.unlink(missing_ok=True)
        shard.rows_path.unlink(missing_ok=True)
    space.close()
    return removed, freed if dry_run else before - size_of(directory)


def document_of(directory: Path) -> Any:
    """The description of a space; None if it is not the one that the directory is named after."""
    document = read_json(directory / "space.json")
    try:
        return document if isinstance(document, dict) and json_digest(document) == directory.name else None
    except (TypeError, ValueError):
        return None


def examine(directory: Path, document: Mapping[str, Any]) -> Iterator[tuple[Shard, list[BlockKeys], list[Damage]]]:
    """Every shard of a space with its whole blocks, read through, and what is wrong with it."""
    dtype = np.dtype(document["dtype"]).newbyteorder("<")
    for path in sorted(
        {
            entry.with_suffix(INDEX_SUFFIX)
            for entry in directory.iterdir()
            if entry.suffix in (INDEX_SUFFIX, ROWS_SUFFIX)
        }
    ):
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


def size_of(path: Path) -> int:
    """Bytes of a file, or of the files of a folder."""
    total = 0
    for entry in path.iterdir() if path.is_dir() else [path]:
        with contextlib.suppress(FileNotFoundError):
            total += entry.stat().st_size
    return total
