"""What embedding stores hold, read shard by shard."""

from __future__ import annotations

from pathlib import Path

from patent_mteb.store import EmbeddingStore
from patent_mteb.store.shards import Shard


def vectors(store: Path) -> dict[tuple[str, bytes], bytes]:
    """Space and key -> bits of the vector."""
    found = {}
    opened = EmbeddingStore(store)
    for info in opened.info():
        space = opened.space(info.identity, info.dtype)
        for path in info.directory.glob("*.index"):
            for block in Shard(path, {"dtype": info.dtype, "ragged": False}).read_new()[0]:
                rows = space.gather(block.keys)
                found |= {
                    (info.directory.name, key.tobytes()): row.tobytes()
                    for key, row in zip(block.keys, rows, strict=True)
                }
    return found


def entries(store: Path) -> int:
    """Entries of all spaces; a text that was encoded twice has two."""
    opened = EmbeddingStore(store)
    return sum(len(opened.space(info.identity, info.dtype)) for info in opened.info())
