"""Content fingerprints: what makes two local data sets, or two local checkpoints, the same."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["cache_root", "content_hash"]

_CHUNK = 1 << 20


def cache_root() -> Path:
    """The user cache of the suite: ``PATENT_MTEB_CACHE``, else ``$XDG_CACHE_HOME/patent_mteb``, else ``~/.cache/patent_mteb``."""
    if explicit := os.environ.get("PATENT_MTEB_CACHE"):
        return Path(explicit).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "patent_mteb"


def _files(folder: Path) -> Iterable[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in parts):
            yield path


def _digest(files: list[tuple[str, Path]]) -> str:
    total = hashlib.blake2b(digest_size=16)
    for name, path in files:
        content = hashlib.blake2b(digest_size=16)
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                content.update(chunk)
        total.update(name.encode() + b"\0" + content.digest())
    return total.hexdigest()


def content_hash(folder: Path, length: int = 12) -> str:
    """Hexadecimal hash of every file below a folder: relative names and bytes; hidden files and
    byte code are left out.

    The hash of an unchanged folder (same names, sizes and modification times) is remembered in the user cache, so that
    gigabytes are read once.
    """
    folder = folder.resolve()
    files = [(path.relative_to(folder).as_posix(), path) for path in _files(folder)]
    stats = [(name, path.stat()) for name, path in files]
    state = json.dumps([str(folder), [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]])
    memo = cache_root() / "hashes" / hashlib.blake2b(state.encode(), digest_size=16).hexdigest()
    try:
        remembered = memo.read_text()
    except OSError:
        remembered = ""
    if len(remembered) != 32:
        remembered = _digest(files)
        try:
            memo.parent.mkdir(parents=True, exist_ok=True)
            partial = memo.with_suffix(f".{os.getpid()}")
            partial.write_text(remembered)
            partial.replace(memo)
        except OSError:
            pass  # a read-only cache costs time, not correctness
    return remembered[:length]
