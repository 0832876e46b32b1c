"""Merge stores: copy missing vectors from other stores, shard by shard.

The other stores are only read, and an interrupted merge can be repeated. A damaged store, or one that was filled by
another model, is refused before anything is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.files import read_json, write_json
from patent_mteb.store.company import largest_distance, tolerance_of
from patent_mteb.store.keys import Keys, distinct
from patent_mteb.store.shards import BlockKeys, Shard
from patent_mteb.store.space import Space, spread
from patent_mteb.store.store import EmbeddingStore, directories, document_of, examine

_SAMPLE = 2048  # number of common texts of each shard whose vectors are compared


@dataclass
class Merged:
    """Spaces read, texts copied and known, spaces without a common text, and incomplete records of the other stores."""

    spaces: int = 0
    copied: int = 0
    known: int = 0
    uncompared: int = 0
    notes: list[str] = field(default_factory=list)


def merge(store: EmbeddingStore, others: Sequence[Path]) -> Merged:
    """Copy the vectors that a store lacks; texts that both have must have the same vectors, up to rounding."""
    opened = [EmbeddingStore(other, create=False) for other in others]
    for other in opened:
        if other.path.resolve() == store.path.resolve():
            raise DataError("a store is not merged into itself", path=other.path, remedy="name another store")
        _refuse_damage(other)
    done = Merged()
    for other in opened:
        spaces = list(_spaces(store, other))
        for space, directory, document in spaces:
            compared = sum(
                _compare(space, shard, intact, document) for shard, intact, _ in examine(directory, document) if intact
            )
            done.uncompared += not compared
        for space, directory, document in spaces:
            done.spaces += 1
            for shard, intact, damages in examine(directory, document):
                done.notes += [str(damage) for damage in damages]
                if intact:
                    _copy_shard(space, shard, intact, done)
            space.close()
        for facts in sorted((other.path / "models").glob("*.json")):
            target, known = store.path / "models" / facts.name, read_json(facts)
            if isinstance(known, dict) and not target.exists():
                write_json(target, known)
    return done


def _spaces(store: EmbeddingStore, other: EmbeddingStore) -> Iterator[tuple[Space, Path, Mapping[str, Any]]]:
    """Yield a space of the store for each space of the other, with the other's folder and description."""
    for directory in directories(other.path):
        document = document_of(directory)
        if document is None:
            raise DataError("the description of this space was removed meanwhile", path=directory, remedy="merge again")
        yield store.space(document["identity"], document["dtype"], document["ragged"]), directory, document


def _refuse_damage(other: EmbeddingStore) -> None:
    report = other.verify()
    if fatal := [damage for damage in report.damages if damage.fatal]:
        more = f" (and {len(fatal) - 1} more)" if len(fatal) > 1 else ""
        remedy = (
            f"patent-mteb store prune --damaged --store {other.path} keeps the intact vectors; encode the rest again"
        )
        raise DataError(f"a damaged store is not merged: {fatal[0].problem}{more}", path=fatal[0].path, remedy=remedy)


@dataclass(frozen=True)
class _Entries:
    """Distinct texts of a shard: keys and rows."""

    keys: Keys
    first_rows: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, blocks: Sequence[BlockKeys]) -> _Entries:
        keys = np.concatenate([keyed.keys for keyed in blocks])
        rows = np.concatenate([keyed.first_rows for keyed in blocks]).astype(np.int64)
        lengths = np.concatenate([keyed.lengths for keyed in blocks]).astype(np.int64)
        return cls(keys, rows, lengths).at(distinct(keys))

    def at(self, chosen: NDArray[Any]) -> _Entries:
        return _Entries(self.keys[chosen], self.first_rows[chosen], self.lengths[chosen])

    def rows(self, shard: Shard) -> NDArray[Any]:
        found: NDArray[Any] = shard.map()[spread(self.first_rows, self.lengths)]
        return found


def _compare(space: Space, shard: Shard, blocks: Sequence[BlockKeys], document: Mapping[str, Any]) -> int:
    """Compare the vectors of common texts, and return their number."""
    if space.width and space.width != shard.width:
        raise _refusal(shard, document, f"vectors of {shard.width} dimensions, where the store has {space.width}")
    theirs = _Entries.of(blocks)
    both = np.flatnonzero(space.contains(theirs.keys))
    if not len(both):
        return 0
    theirs = theirs.at(both[:: -(-len(both) // _SAMPLE)])
    if space.ragged:
        ours, offsets = space.gather_ragged(theirs.keys)
        if (np.diff(offsets) != theirs.lengths).any():
            raise _refusal(shard, document, "another number of vectors for the same texts")
    else:
        ours = space.gather(theirs.keys)
    known, found = np.asarray(ours, np.float64), theirs.rows(shard).astype(np.float64)
    if shard.width == 1:  # scores of pairs, compared with the largest of them
        largest = max(float(np.abs(known).max()), float(np.abs(found).max()), np.finfo(np.float64).tiny)
        distance = float(np.abs(known - found).max()) / largest
    else:
        distance = largest_distance(known, found)
    if distance > (tolerance := _tolerance(document)):
        problem = (
            f"other vectors for the same texts (relative distance up to {distance:.2g}; up to {tolerance:g} is"
            " rounding)"
        )
        raise _refusal(shard, document, problem)
    return len(theirs.keys)


def _refusal(shard: Shard, document: Mapping[str, Any], problem: str) -> DataError:
    identity = document["identity"]
    model = f"{identity.get('model')} at revision {identity.get('revision')}"
    remedy = (
        "keep the stores apart, or encode the texts of one of them again; a model with other weights needs a revision"
        " of its own"
    )
    problem = f"{model}: {problem}; nothing of this store was copied"
    return DataError(problem, path=shard.rows_path.parent, remedy=remedy)


def _tolerance(document: Mapping[str, Any]) -> float:
    """Tolerance of the number types in which the vectors were computed and stored."""
    settings = document["identity"].get("settings")
    settings = settings if isinstance(settings, dict) else {}
    core = settings.get("sentence_transformer")
    types = (document["dtype"], settings.get("weights"), core.get("weights") if isinstance(core, dict) else None)
    return tolerance_of(str(one) for one in types)


def _copy_shard(space: Space, shard: Shard, blocks: Sequence[BlockKeys], done: Merged) -> None:
    entries = _Entries.of(blocks)
    new = entries.at(~space.contains(entries.keys))
    done.copied += len(new.keys)
    done.known += len(entries.keys) - len(new.keys)
    if not len(new.keys):
        return
    space.append(new.keys, new.rows(shard), new.lengths if space.ragged else None)
    if space.unwritten_bytes:
        remedy = "free space on the disk, then merge again"
        raise DataError("the store cannot be written", path=space.directory, remedy=remedy)
