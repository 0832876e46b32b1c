"""Embedding store: each text is encoded once for a model, its settings and prompt.

Tasks, processes and runs share the vectors.

* :func:`stored` wraps an mteb encoder and returns an mteb encoder.
* :class:`EmbeddingStore` stores any vectors, token vectors included.
"""

# mteb comes first: the registration that follows its import must not meet half-imported modules of this package.
import mteb  # noqa: F401

from patent_mteb.store.encoder import StoredEncoder, stored
from patent_mteb.store.keys import hash_texts
from patent_mteb.store.store import EmbeddingStore, default_path

__all__ = ["EmbeddingStore", "StoredEncoder", "default_path", "hash_texts", "stored"]
