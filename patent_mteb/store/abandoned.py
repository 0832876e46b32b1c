"""What killed processes leave behind of :func:`patent_mteb.files.replacing` and :func:`patent_mteb.files.replacing_folders`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from patent_mteb.files import QUIET_SECONDS, process_runs

__all__ = ["abandoned", "quiet"]

_PARTIAL = re.compile(r"\..+?\.(\d+)(\.[0-9a-f]{8})?\.partial")
_BUILDING = re.compile(r"\.building-(\d+)-.+")


def abandoned(root: Path) -> list[Path]:
    """Files and folders below ``root`` that a process was writing which has ended.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.store.abandoned import abandoned
        >>> abandoned(Path("."))
        []
    """
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
    """Whether nothing was written to a file, or into a folder, within the last minute: what is young may belong to a process of another
    container, whose number says nothing here.

    Example:
        >>> import os
        >>> from pathlib import Path
        >>> from patent_mteb.store.abandoned import quiet
        >>> _ = Path("file").write_text("new")
        >>> before = quiet(Path("file"))
        >>> os.utime("file", (0, 0))
        >>> before, quiet(Path("file"))
        (False, True)
    """
    try:
        newest = max(entry.lstat().st_mtime for entry in (path, *path.rglob("*")))
    except OSError:
        return False
    return abs(time.time() - newest) > QUIET_SECONDS
