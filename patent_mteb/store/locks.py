"""Who uses a space: a shared lock on its directory, which goes with the process however it ends.

A process that has a space open holds a shared lock (``flock``) on its directory; whoever wants to remove the space asks
for the lock for himself alone. Locks need no clock and leave no file. Where the system has none (Windows, some network
file systems), a space counts as in use for an hour after it was last used, which is only as right as the clocks of the
machines are.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

fcntl: Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


_IN_USE_SECONDS = 3600.0

_ATTEMPTS = 10


class Hold:
    """A shared lock on a directory, given back when nobody refers to it any more; made by :func:`hold`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.descriptor)


_HOLDS: WeakValueDictionary[tuple[int, int, int], Hold] = WeakValueDictionary()
"""(process, device, inode) -> the one lock that this process has on a directory."""


def _key(state: os.stat_result) -> tuple[int, int, int]:
    return os.getpid(), state.st_dev, state.st_ino


def hold(directory: Path) -> Hold | None:
    """A shared lock on a directory, the same for all of a process; None where there is no directory or no locks."""
    if fcntl is None:
        return None
    for _ in range(_ATTEMPTS):
        try:
            if (held := _HOLDS.get(_key(directory.stat()))) is not None:
                return held
            made = Hold(os.open(directory, os.O_RDONLY))
            fcntl.flock(made.descriptor, fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(made.descriptor), directory.stat()):  # nobody has removed it meanwhile
                return _HOLDS.setdefault(_key(os.fstat(made.descriptor)), made)
        except OSError:
            return None
    return None


@contextlib.contextmanager
def alone(directory: Path, last_used: float) -> Iterator[bool]:
    """Whether no other process uses a directory; while the block runs, none begins to."""
    lately = abs(time.time() - last_used) < _IN_USE_SECONDS
    mine: Hold | None = None
    held = None
    try:
        if fcntl is not None:
            held = _HOLDS.get(_key(directory.stat()))
            mine = held or Hold(os.open(directory, os.O_RDONLY))
            fcntl.flock(mine.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = fcntl is not None or not lately
    except BlockingIOError:
        free = False
    except OSError:
        free = not lately
    try:
        yield free
    finally:
        if held is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(held.descriptor, fcntl.LOCK_SH)
