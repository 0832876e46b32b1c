"""A lock on a directory for writers, released when the process ends in any way."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError

fcntl: Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextlib.contextmanager
def guarded(folder: Path, *, shared: bool = False, what: str = "import") -> Iterator[None]:
    """Lock a folder, which is created if it is missing, while the block runs.

    Several ``shared`` locks are possible at a time. Windows and some network file systems do not support such locks;
    then the block runs without one. ``what`` describes the writer in the error.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataError(f"another {what} writes here", path=folder, remedy="wait until it has ended") from error
        except OSError:
            pass  # the file system has no such locks
        yield
    finally:
        os.close(descriptor)
