"""Local checkpoints: a real name and a content-based revision, so that two of them never share a result."""

from __future__ import annotations

import re
from pathlib import Path

from patent_mteb.fingerprint import content_hash

__all__ = ["content_revision", "local_name"]


def content_revision(path: Path) -> str:
    """Revision of a checkpoint directory: hash of the names and bytes of all its files (16 hexadecimal digits)."""
    return content_hash(path, 16)


def local_name(path: Path) -> str:
    """Model name of a checkpoint directory, ``local/<directory>``, with characters that no file system minds.

    A directory called just ``model`` or ``checkpoint-500`` takes its parent's name in front.
    """
    parts = [path.resolve().name]
    if re.fullmatch(r"(model|checkpoint|checkpoint-\d+|final|best|\d+_\w+)", parts[0]):
        parts.insert(0, path.resolve().parent.name)
    return "local/" + re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(part for part in parts if part)).strip("-")
