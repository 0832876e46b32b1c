"""Caches in memory: values, rankings, and vectors of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any

import numpy as np
import xxhash
from mteb.models import MTEBModels

from patent_mteb.memory import LRUCache
from patent_mteb.search.run import Run
from patent_mteb.search.vectors import encode_checked, is_encoder
from patent_mteb.store.batches import text_loader
from patent_mteb.store.encoder import StoredEncoder

_Queries = tuple[tuple[str, str], ...]


class RankingCache:
    """Rankings of past queries, for systems that rank each query independently."""

    def __init__(self, most_bytes: int) -> None:
        self._runs: LRUCache[tuple[Hashable, int, _Queries], Run] = LRUCache(most_bytes)
        self._lock = Lock()

    def get_or_search(
        self, corpus: Hashable, query_ids: Sequence[str], texts: Sequence[str], top_k: int, search: Callable[[], Run]
    ) -> Run:
        """Rankings from an earlier search of these queries that was as deep, else from ``search``."""
        digests = (xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass")) for text in texts)
        requested = tuple(zip(query_ids, digests, strict=True))
        wanted = set(requested)
        with self._lock:
            for key in self._runs:
                where, depth, before = key
                deep_enough = where == corpus and depth >= top_k and wanted <= set(before)
                if deep_enough and (run := self._runs.get(key)):
                    place = {query: row for row, query in enumerate(before)}
                    return run.rows(np.array([place[query] for query in requested], np.int64)).top(top_k).trimmed()
        found = search()
        with self._lock:
            self._runs.put((corpus, top_k, requested), found, found.nbytes)
        return found


class CachedEncoder:
    """An encoder with a cache, for a task that searches the same texts twice; all but ``encode`` is the model's."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._vectors: dict[tuple[Any, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def encode(self, inputs: Any, *, prompt_type: Any = None, **kwargs: Any) -> Any:
        def encoded(loader: Any, count: int) -> Any:
            return encode_checked(self.model, loader, count, prompt_type=prompt_type, **kwargs)

        texts = [text for batch in inputs for text in batch["text"]]
        new = [text for text in dict.fromkeys(texts) if (prompt_type, text) not in self._vectors]
        if len(new) == len(set(texts)):
            vectors = encoded(inputs, len(texts))
            self._vectors |= {(prompt_type, text): vectors[row] for row, text in enumerate(texts)}
            return vectors
        if new:
            vectors = encoded(text_loader(new, inputs.batch_size or 32), len(new))
            self._vectors |= {(prompt_type, text): vectors[row] for row, text in enumerate(new)}
        rows = [self._vectors[prompt_type, text] for text in texts]
        if isinstance(rows[0], np.ndarray):
            return np.stack(rows)
        import torch

        return torch.stack(rows)


def cached_encoder(model: MTEBModels) -> Any:
    """Wrap an encoder without a store in a cache; return other models unchanged."""
    return CachedEncoder(model) if is_encoder(model) and not isinstance(model, StoredEncoder) else model
