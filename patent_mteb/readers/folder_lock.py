"""Who writes to a directory: one import, or the shares of one side by side; a lock that goes with the process however
it ends.
"""

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
    """Keep others from writing to a folder, which is made if it is missing, while the block runs. Where the system has
    no locks of folders (Windows, some network file systems) nobody is kept from it.
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
            pass  # a file system without such locks
        yield
    finally:
        os.close(descriptor)
