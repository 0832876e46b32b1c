"""Who encodes what: several processes on one space share its texts out while they work, and none is encoded twice.

A process claims a group of batches before it encodes them: a file in the space's folder ``claims`` that lists their
keys and carries an exclusive lock (``flock``) until they are written. Who comes to a group that holds a claimed text
takes another one first, and the claimed one last, if its texts are not there by then: the lock of a process that was
killed is gone with it, and its group is free again.

Claims are made and looked at one process at a time (a lock on the folder). Where the system has no locks, or the folder
cannot be written, nothing is claimed, and processes encode what they miss as if they were alone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.keys import KEY_BYTES, Keys

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


logger = logging.getLogger(__name__)

Group = list[NDArray[np.int64]]
"""Batches that are encoded and written together, each by the positions of its texts."""

_FOLDER = "claims"
_LOOK_AGAIN_SECONDS = 0.2


def groups_of(batches: Sequence[NDArray[np.int64]], size: int) -> list[Group]:
    """Batches in groups of at least so many texts."""
    groups: list[Group] = []
    room = 0
    for batch in batches:
        if room <= 0:
            groups.append([])
            room = size
        groups[-1].append(batch)
        room -= len(batch)
    return groups


def shared_out(
    folder: Path,
    keys: Keys,
    groups: Sequence[Group],
    there: Callable[[Keys], NDArray[np.bool_]],
    waiting: float = _LOOK_AGAIN_SECONDS,
    *,
    whole: bool = False,
) -> Generator[Group]:
    """The groups that this process is to encode, each claimed until the next is asked for; what others encode meanwhile
    is left out.
    """
    left, told = list(groups), False
    while left:
        chosen: Group | None = None
        claim: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        with _claims(folder / _FOLDER) as taken:
            free = (place for place, group in enumerate(left) if not taken or taken.isdisjoint(_bytes(group, keys)))
            if (place := next(free, None)) is not None:
                chosen = _missing(left.pop(place), keys, there, whole)
                if chosen and taken is not None:
                    claim = _claim(folder / _FOLDER, b"".join(_bytes(chosen, keys)))
        if chosen:
            with claim:
                yield chosen
        elif chosen is None:
            if not told:
                count = sum(len(batch) for group in left for batch in group)
                logger.info("%d texts are being encoded by another process; waiting for them", count)
                told = True
            time.sleep(waiting)


def _missing(group: Group, keys: Keys, there: Callable[[Keys], NDArray[np.bool_]], whole: bool) -> Group:
    """The batches of a group with a text that is not there yet, less the texts that are unless they come whole."""
    missing = ((batch, ~there(keys[batch])) for batch in group)
    return [batch if whole else batch[absent] for batch, absent in missing if absent.any()]


def _bytes(group: Group, keys: Keys) -> Iterator[bytes]:
    return (key.tobytes() for batch in group for key in keys[batch])


@contextlib.contextmanager
def _claims(folder: Path) -> Iterator[set[bytes] | None]:
    """The keys that living processes have claimed, while nobody else claims any; None where there are no claims."""
    descriptor = None
    try:
        if fcntl is not None:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        pass
    else:
        if descriptor is not None:
            taken = {key for path in sorted(folder.iterdir()) for key in _keys_of(path)}
            try:
                yield taken
            finally:
                os.close(descriptor)
            return
    if descriptor is not None:
        os.close(descriptor)
    yield None


def _keys_of(path: Path) -> list[bytes]:
    """The keys of a claim; of one whose process is gone none, and the file goes too."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return []
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)  # its process may take the file away meanwhile
        return [content[start : start + KEY_BYTES] for start in range(0, len(content), KEY_BYTES)]
    else:
        path.unlink(missing_ok=True)
        return []
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _held(descriptor: int, path: Path) -> Iterator[None]:
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _claim(folder: Path, content: bytes) -> contextlib.AbstractContextManager[None]:
    """A claim of these keys, until the block that it stands over ends; nothing where it cannot be written."""
    path = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, content)
    except OSError:
        return contextlib.nullcontext()
    return _held(descriptor, path)
