"""Embedding store: each text is encoded once for a model, its settings and prompt.

Tasks, processes and runs share the vectors.

* :func:`stored` wraps an mteb encoder and returns an mteb encoder.
* :class:`EmbeddingStore` stores any vectors, token vectors included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401

from patent_mteb.store.encoder import Stats
from patent_mteb.store.keys import hash_texts
from patent_mteb.store.shards import Damage
from patent_mteb.store.space import Space
from patent_mteb.store.store import EmbeddingStore, PruneReport, SpaceInfo, VerifyReport, default_path

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
    """Import the encoder wrapper on first use."""
    if name in ("StoredEncoder", "stored"):
        from patent_mteb.store import encoder

        return getattr(encoder, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
