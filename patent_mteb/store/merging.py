"""Putting stores together: what one store lacks is copied from another, shard by shard.

Nothing is changed in the stores that are read, and the one that is written to is whole after each shard: a merge that was interrupted is
begun again and copies what is still missing. A damaged store is refused before anything of it is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from patent_mteb.errors import DataError
from patent_mteb.files import read_json, write_json
from patent_mteb.store.keys import distinct
from patent_mteb.store.shards import BlockKeys, Shard
from patent_mteb.store.space import Space
from patent_mteb.store.store import EmbeddingStore
from patent_mteb.store.table import spread
from patent_mteb.store.upkeep import directories, document_of, examine

__all__ = ["Merged", "merge"]


@dataclass
class Merged:
    """What a merge did: spaces that were read, texts that were copied, and texts that were there already."""

    spaces: int = 0
    copied: int = 0
    known: int = 0


def merge(store: EmbeddingStore, others: Sequence[Path]) -> Merged:
    """Copy to a store what it lacks of others.

    Raises:
        DataError: another is the store itself, no store or damaged; the store cannot be written.

    Example:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from patent_mteb.store import EmbeddingStore, hash_texts
        >>> from patent_mteb.store.merging import merge
        >>> other = EmbeddingStore("other")
        >>> other.space({"model": "my-encoder", "revision": "1"}).append(hash_texts(["a pump"]), np.ones((1, 2), np.float32))
        >>> merge(EmbeddingStore("store"), [Path("other")]), merge(EmbeddingStore("store"), [Path("other")])
        (Merged(spaces=1, copied=1, known=0), Merged(spaces=1, copied=0, known=1))
    """
    opened = [EmbeddingStore(other, create=False) for other in others]
    for other in opened:
        if other.path.resolve() == store.path.resolve():
            raise DataError("a store is not merged into itself", path=other.path, remedy="name another store")
        _refuse_damage(other)
    done = Merged()
    for other in opened:
        for directory in directories(other.path):
            _copy_space(store, directory, done)
        for facts in sorted((other.path / "models").glob("*.json")):
            if not (target := store.path / "models" / facts.name).exists():
                write_json(target, read_json(facts))
    return done


def _refuse_damage(other: EmbeddingStore) -> None:
    report = other.verify()
    if fatal := [damage for damage in report.damages if damage.fatal]:
        more = f" (and {len(fatal) - 1} more)" if len(fatal) > 1 else ""
        remedy = f"patent-mteb store prune --damaged --store {other.path} keeps what is whole; encode the rest again"
        raise DataError(f"a damaged store is not merged: {fatal[0].problem}{more}", path=fatal[0].path, remedy=remedy)


def _copy_space(store: EmbeddingStore, directory: Path, done: Merged) -> None:
    document = document_of(directory)
    if document is None:
        raise DataError("the description of this space has gone meanwhile", path=directory, remedy="merge again")
    space = store.space(document["identity"], document["dtype"], document["ragged"])
    done.spaces += 1
    for shard, whole, _ in examine(directory, document):
        if whole:
            _copy_shard(space, shard, whole, done)
    space.close()


def _copy_shard(space: Space, shard: Shard, blocks: Sequence[BlockKeys], done: Merged) -> None:
    """Copy what is not there, each key once."""
    keys = np.concatenate([keyed.keys for keyed in blocks])
    lengths = np.concatenate([keyed.lengths for keyed in blocks])
    first_rows = np.concatenate([keyed.first_rows for keyed in blocks])
    first = distinct(keys)
    new = first[~space.contains(keys[first])]
    done.copied += len(new)
    done.known += len(first) - len(new)
    if not len(new):
        return
    rows = shard.map()[spread(first_rows[new].astype(np.int64), lengths[new].astype(np.int64))]
    if space.ragged:
        space.append_ragged(keys[new], rows, lengths[new])
    else:
        space.append(keys[new], rows)
    if space.unwritten_bytes:
        raise DataError("the store cannot be written", path=space.directory, remedy="make room on the disk, then merge again")
