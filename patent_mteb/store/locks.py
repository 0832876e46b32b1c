"""Locks of the store: the processes of a space, and the texts they encode.

Both rest on file locks (:func:`patent_mteb.files.lock`), which end with their process.

* A process that has a space open holds a shared lock on its folder. A space is removed under an exclusive lock. Where
  the system has no locks, a space counts as in use for an hour after its last use, as far as the clocks agree.
* A process claims a group of batches before it encodes them: a locked file in ``claims`` that lists their keys. Other
  processes take other groups first and skip the claimed texts once they are stored. Without locks, or in a read-only
  store, nothing is claimed, and each process encodes what it misses.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from patent_mteb.files import lock
from patent_mteb.store.keys import KEY_BYTES, Keys

logger = logging.getLogger(__name__)
_IN_USE_SECONDS = 3600.0  # a space that was used within the hour is not pruned, a choice
_ATTEMPTS = 10  # at a claim that another process removes at the same moment


class UseLock:
    """A shared lock on the folder of a space, released with its last reference."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.descriptor)


_LOCKS: WeakValueDictionary[tuple[int, int, int], UseLock] = WeakValueDictionary()
"""(process, device, inode) -> the one lock that this process has on a folder."""


def _key(state: os.stat_result) -> tuple[int, int, int]:
    return os.getpid(), state.st_dev, state.st_ino


def use_lock(folder: Path) -> UseLock | None:
    """Return this process's shared lock on a folder, None without folder or locks."""
    for _ in range(_ATTEMPTS):
        try:
            if (known := _LOCKS.get(_key(folder.stat()))) is not None:
                return known
            new = UseLock(os.open(folder, os.O_RDONLY))
            lock(new.descriptor, shared=True)
            if os.path.samestat(os.fstat(new.descriptor), folder.stat()):  # not removed meanwhile
                return _LOCKS.setdefault(_key(os.fstat(new.descriptor)), new)
        except OSError:
            return None
    return None


@contextlib.contextmanager
def exclusive(folder: Path, last_used: float) -> Iterator[bool]:
    """Lock a folder exclusively during the block; yield False if it is in use."""
    known = None
    try:
        known = _LOCKS.get(_key(folder.stat()))
        own = known or UseLock(os.open(folder, os.O_RDONLY))
        lock(own.descriptor, wait=False)
        free = True
    except BlockingIOError:
        free = False
    except OSError:
        free = abs(time.time() - last_used) >= _IN_USE_SECONDS
    try:
        yield free
    finally:
        if known is not None:
            with contextlib.suppress(OSError):
                lock(known.descriptor, shared=True)


Group = list[NDArray[np.int64]]  # batches that are encoded and written together, each by the positions of its texts
_FOLDER = "claims"
_LOOK_AGAIN_SECONDS = 0.2  # between looks at texts that another process encodes


def grouped(batches: Sequence[NDArray[np.int64]], size: int) -> list[Group]:
    groups: list[Group] = []
    n_texts = size
    for batch in batches:
        if n_texts >= size:
            groups.append([])
            n_texts = 0
        groups[-1].append(batch)
        n_texts += len(batch)
    return groups


def claimed_groups(
    folder: Path,
    keys: Keys,
    groups: Sequence[Group],
    contains: Callable[[Keys], NDArray[np.bool_]],
    wait_seconds: float = _LOOK_AGAIN_SECONDS,
    *,
    full_batches: bool = False,
) -> Generator[Group]:
    """Yield the groups that this process encodes, each claimed until the next, without texts that others have stored.

    With ``full_batches`` a batch stays complete as long as one of its texts is missing.
    """
    left, logged = list(groups), False
    while left:
        chosen: Group | None = None
        with contextlib.ExitStack() as claim:
            with _claimed_keys(folder / _FOLDER) as claimed:
                free = (i for i, group in enumerate(left) if not claimed or claimed.isdisjoint(_bytes(group, keys)))
                if (position := next(free, None)) is not None:
                    missing = ((batch, ~contains(keys[batch])) for batch in left.pop(position))
                    chosen = [batch if full_batches else batch[absent] for batch, absent in missing if absent.any()]
                    if chosen and claimed is not None:
                        claim.enter_context(_claim(folder / _FOLDER, b"".join(_bytes(chosen, keys))))
            if chosen:
                yield chosen
        if chosen is None:
            if not logged:
                count = sum(len(batch) for group in left for batch in group)
                logger.info("%d texts are being encoded by another process; waiting for them", count)
                logged = True
            time.sleep(wait_seconds)


def _bytes(group: Group, keys: Keys) -> Iterator[bytes]:
    return (key.tobytes() for batch in group for key in keys[batch])


@contextlib.contextmanager
def _claimed_keys(folder: Path) -> Iterator[set[bytes] | None]:
    """Lock the folder and yield the keys that running processes have claimed. None where claims do not work."""
    with contextlib.ExitStack() as stack:
        locked = False
        with contextlib.suppress(OSError):  # a read-only store, or a system without locks
            folder.mkdir(exist_ok=True)
            stack.callback(os.close, descriptor := os.open(folder, os.O_RDONLY))
            lock(descriptor)
            locked = True
        yield {key for path in sorted(folder.iterdir()) for key in _keys_of(path)} if locked else None


def _keys_of(path: Path) -> list[bytes]:
    """Return the keys of a claim; remove the claim of a process that has ended."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return []
    try:
        lock(descriptor, shared=True, wait=False)
    except OSError:
        content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)  # its process may remove the file meanwhile
        return [content[start : start + KEY_BYTES] for start in range(0, len(content), KEY_BYTES)]
    else:
        path.unlink(missing_ok=True)
        return []
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _claim(folder: Path, content: bytes) -> Iterator[None]:
    """Claim keys during the block, if the claim can be written."""
    path = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
    descriptor = None
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        lock(descriptor)
        os.write(descriptor, content)
    try:
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            os.close(descriptor)
