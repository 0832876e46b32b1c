"""Embedding store: every distinct (model, revision, settings, prompt, text) is encoded once, for all tasks, processes
and runs.

* :func:`stored` wraps any mteb encoder; the result is an mteb encoder like any other.
* :class:`EmbeddingStore` is the store itself, for everything else that has vectors to keep (token-level vectors too).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401

from patent_mteb.store.encoder import Stats
from patent_mteb.store.keys import hash_texts
from patent_mteb.store.shards import Damage
from patent_mteb.store.space import Space
from patent_mteb.store.store import EmbeddingStore, default_path
from patent_mteb.store.upkeep import PruneReport, SpaceInfo, VerifyReport

if TYPE_CHECKING:
    from patent_mteb.store.encoder import StoredEncoder, stored

__all__ = [
    "Damage",
    "EmbeddingStore",
    "PruneReport",
    "Space",
    "SpaceInfo",
    "Stats",
    "StoredEncoder",
    "VerifyReport",
    "default_path",
    "hash_texts",
    "stored",
]


def __getattr__(name: str) -> Any:
    """What wraps encoders is imported when it is first used."""
    if name in ("StoredEncoder", "stored"):
        from patent_mteb.store import encoder

        return getattr(encoder, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
