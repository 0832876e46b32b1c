"""The embedding store as a whole: its spaces, what they hold, checking and pruning them.

Layout of a store::

    store.json                      format of the store spaces/<digest>/space.json      identity of a space: model,
    revision, settings, element type; the digest is its hash spaces/<digest>/*.index *.rows  shards (see
    :mod:`patent_mteb.store.shards`) models/<digest>.json            what a model said about itself when it was last
    loaded (see :mod:`patent_mteb.store.resolve`) tmp/                            results too big for memory, deleted as
    soon as they are mapped
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.files import cache_root, read_json, write_json
from patent_mteb.identity import json_digest
from patent_mteb.store import upkeep
from patent_mteb.store.locks import UseLock, use_lock
from patent_mteb.store.space import DTYPES, Space
from patent_mteb.store.upkeep import PruneReport, SpaceInfo, VerifyReport

__all__ = ["EmbeddingStore", "default_path"]

logger = logging.getLogger(__name__)

_FORMAT = 1
"""Version of the layout and of the shards."""
_MARKER = "store.json"
_ELSEWHERE = "name a directory that can be written with --store or PATENT_MTEB_STORE, or go without with --no-store"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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


class EmbeddingStore:
    """A directory of embeddings, each text encoded once for every model, revision, setting and prompt.

    A store that cannot be written any more (read-only, a full disk) goes on with what it has, and says so once: new
    vectors stay in memory.

    Args:
        path: the directory. Default: :func:`default_path`.
        create: make the store if it is not there.
        shard_bytes: size above which a new shard is begun.
        memory_limit: size above which a result is a mapped temporary file (in the store's file system) instead of an
            array in memory.

    Raises:
        DataError: the directory cannot be made, is not there (without ``create``), or holds something else, or a store
            of a later format.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.store import EmbeddingStore, hash_texts
        >>> store = EmbeddingStore("store")
        >>> space = store.space({"model": "my-encoder", "revision": "1"})
        >>> space.append(hash_texts(["a pump"]), np.ones((1, 2), np.float32))
        >>> [(info.model, info.texts, info.width) for info in store.info()], store.verify().ok
        ([('my-encoder', 1, 2)], True)
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
        self._said = False
        try:
            self._check(create)
        except OSError as error:
            raise DataError(
                f"the embedding store cannot be opened or made here ({error.strerror or error})",
                path=self.path,
                remedy=_ELSEWHERE,
            ) from error

    def _check(self, create: bool) -> None:
        """See that the directory is a store of this format, or make it one."""
        if self.path.exists() and not self.path.is_dir():
            raise DataError("a file, and no embedding store", path=self.path, remedy=_ELSEWHERE)
        marker = self.path / _MARKER
        if not marker.exists():
            strange = (
                [entry.name for entry in self.path.iterdir() if not _belongs(entry.name)] if self.path.is_dir() else []
            )
            if strange and not marker.exists():
                raise DataError(
                    "directory is not empty and no embedding store", path=self.path, remedy="give another directory"
                )
            if not create and not (self.path / "spaces").is_dir():
                raise DataError(
                    "there is no embedding store", path=self.path, remedy="give the directory of one with --store"
                )
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
            raise DataError(
                f"embedding store of format {later}, this version writes {_FORMAT}",
                path=self.path,
                remedy=(
                    "use the version of patent-mteb that wrote it, or another directory; if no later version did,"
                    f" delete {marker}, which says the format and nothing else: the embeddings are kept"
                ),
            )
        logger.warning(
            "%s is damaged and is written anew; it says the format and nothing else, so nothing is lost", marker
        )
        self.keep(marker, {"format": _FORMAT})

    def space(self, identity: Mapping[str, Any], dtype: str = "float32", ragged: bool = False) -> Space:
        """The space of an identity (anything that JSON can hold), made if it is not there.

        Two identities, element types or shapes never share a vector: their hash names the directory.

        Raises:
            ValueError: an element type other than those of :data:`~patent_mteb.store.space.DTYPES`.
        """
        if dtype not in DTYPES:
            raise ValueError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
        document = {"format": _FORMAT, "identity": dict(identity), "dtype": dtype, "ragged": ragged}
        digest = json_digest(document)
        with self._lock:
            space = self._open.get(digest)
            if space is None:
                space = self._open[digest] = Space(self.path / "spaces" / digest, document, self)
        space.use()
        return space

    def prepare(self, directory: Path, document: Mapping[str, Any]) -> UseLock | None:
        """Make the directory of a space and its description if they are not there, mark it as used, and hold it against
        removal.

        Raises:
            OSError: they cannot be written.
        """
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

    def keep(self, path: Path, document: Any) -> None:
        """Write a JSON document that the store can do without for now."""
        try:
            write_json(path, document)
        except OSError as error:
            self.unwritable(error)

    def unwritable(self, error: OSError) -> None:
        """Say, once, that the store cannot be written."""
        if not self._said:
            self._said = True
            logger.warning(
                "The embedding store %s cannot be written (%s): what is not there is encoded and not kept. This is said"
                " once.",
                self.path,
                error.strerror or error,
            )

    def allocate(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """An array to fill: in memory, or above ``memory_limit`` a map of a temporary file that goes with it.

        The file lies in the store, else (no room, read-only) with the system's temporary files; its room is reserved
        first, for a map of a file that the disk has no room for ends the process when it is written to.
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
        """Every space, the biggest first."""
        return upkeep.infos(self.path)

    def leftovers(self) -> list[Path]:
        """What killed processes left in the store; :meth:`prune` removes it."""
        return upkeep.leftovers(self.path)

    def verify(self) -> VerifyReport:
        """Read everything and compare it with its checksums."""
        return upkeep.read(self.path)

    def prune(
        self,
        *,
        model: str | None = None,
        older_than_days: float | None = None,
        damaged: bool = False,
        dry_run: bool = False,
        force: bool = False,
    ) -> PruneReport:
        """Remove spaces, or with ``damaged`` only damaged shards after their whole blocks were saved to a new one; and
        leftovers.

        A space that another process has open is left, and named in the report.

        Args:
            model: only spaces of this model.
            older_than_days: only spaces that nobody has opened for so many days, by the clock of this machine: if that
                has jumped, so have their ages.
            damaged: remove damaged shards in these spaces (all spaces if none of the above is given) instead of the
                spaces.
            dry_run: say what would be removed, and leave it.
            force: remove what another process uses too; it notices, and encodes again what it needs.

        Raises:
            ValueError: no criterion at all.
            DataError: what is whole in damaged shards cannot be saved.
        """
        if model is None and older_than_days is None and not damaged:
            raise ValueError("say what to prune: a model, an age, or damaged shards")
        return upkeep.prune(
            self.path, self, model=model, older_than_days=older_than_days, damaged=damaged, dry_run=dry_run, force=force
        )


def _belongs(name: str) -> bool:
    """Whether an entry of a directory is one that a store has."""
    return name in ("spaces", "models", "tmp") or name.startswith((_MARKER, f".{_MARKER}"))
