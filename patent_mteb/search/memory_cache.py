"""Caches in memory: values, rankings, and vectors of an encoder."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import xxhash

from patent_mteb.search.run import Run
from patent_mteb.search.vectors import checked_vectors, is_encoder
from patent_mteb.store.batches import text_loader
from patent_mteb.store.encoder import StoredEncoder

if TYPE_CHECKING:
    from mteb.models import MTEBModels

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class LRUCache(Generic[_Key, _Value]):
    """Values within a memory limit; the least recently used ones are dropped."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._values: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def put(self, key: _Key, value: _Value, size: int) -> None:
        """Store a value of ``size`` bytes, unless it exceeds the limit."""
        self._values.pop(key, None)
        if size > self.most_bytes:
            return
        self._values[key] = value, size
        while sum(n_bytes for _, n_bytes in self._values.values()) > self.most_bytes:
            self._values.popitem(last=False)

    def get(self, key: _Key) -> _Value | None:
        """The value of a key, None if missing."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def __iter__(self) -> Iterator[_Key]:
        """Keys, most recently used first."""
        return iter(list(reversed(self._values)))


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
        requested = tuple(
            (query, xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass")))
            for query, text in zip(query_ids, texts, strict=True)
        )
        with self._lock:
            known = self._known(corpus, requested, top_k)
        if known is not None:
            before, run = known
            place = {query: row for row, query in enumerate(before)}
            return _rows(run, [place[query] for query in requested], list(query_ids), top_k)
        found = search()
        with self._lock:
            self._runs.put((corpus, top_k, requested), found, found.nbytes)
        return found

    def _known(self, corpus: Hashable, requested: _Queries, top_k: int) -> tuple[_Queries, Run] | None:
        wanted = set(requested)
        for key in self._runs:
            where, depth, before = key
            if (
                where == corpus
                and depth >= top_k
                and wanted <= set(before)
                and (run := self._runs.get(key)) is not None
            ):
                return before, run
        return None


def _rows(run: Run, rows: list[int], query_ids: list[str], top_k: int) -> Run:
    """Some rankings of a run, as a search for them alone would return them."""
    docs = run.docs[rows, :top_k]
    width = int((docs >= 0).sum(axis=1).max(initial=0))
    return replace(
        run,
        query_ids=query_ids,
        docs=np.ascontiguousarray(docs[:, :width]),
        scores=np.ascontiguousarray(run.scores[rows, :width]),
    )


class CachedEncoder:
    """An encoder with a cache in memory; all but ``encode`` is the wrapped model's.

    For a task that searches the same texts twice without an embedding store. New texts are encoded in the batches of
    the unwrapped model.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._vectors: dict[tuple[Any, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def encode(self, inputs: Any, *, prompt_type: Any = None, **kwargs: Any) -> Any:
        """Vectors of the texts; arguments as in mteb's ``EncoderProtocol``."""
        task = getattr(kwargs.get("task_metadata"), "name", "")

        def encoded(loader: Any, count: int) -> Any:
            vectors = self.model.encode(loader, prompt_type=prompt_type, **kwargs)
            return checked_vectors(vectors, count, f"model {self.mteb_model_meta.name} on task {task}")

        texts = [text for batch in inputs for text in batch["text"]]
        new = [text for text in dict.fromkeys(texts) if (prompt_type, text) not in self._vectors]
        if len(new) == len(set(texts)):
            vectors = encoded(inputs, len(texts))
            if getattr(vectors, "ndim", 0) == 2:
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
