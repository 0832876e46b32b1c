"""A cache of runs: each is computed once for the same model, data and depth."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from datasets import Dataset
from mteb.models import MTEBModels
from mteb.models.model_meta import ModelMeta

from patent_mteb.identity import digest, identity_of
from patent_mteb.memory import ROWS_AT_ONCE, LRUCache
from patent_mteb.patents.corpus import release_pages
from patent_mteb.search.base import ArraySearch, SearchContext, span_end, text_bytes
from patent_mteb.search.engine import engine
from patent_mteb.search.run import Run

_BYTES_AT_ONCE = 1 << 26  # of texts whose digest is computed at a time
_CONTENTS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # data sets are immutable, so hashes stay valid


def content_of(dataset: Any) -> str:
    """Hash of the rows of a data set: every column, in order."""
    if dataset in _CONTENTS:
        return _CONTENTS[dataset]
    total = hashlib.blake2b(json.dumps(sorted(dataset.column_names)).encode(), digest_size=16)
    columns = dataset.select_columns(sorted(dataset.column_names)).with_format("arrow")
    sizes, end = text_bytes(dataset), 0
    while end < len(dataset):
        start, end = end, span_end(sizes, end, ROWS_AT_ONCE, _BYTES_AT_ONCE)
        for batch in columns[start:end].combine_chunks().to_batches():
            total.update(batch.serialize())
        release_pages()
    _CONTENTS[dataset] = total.hexdigest()
    return _CONTENTS[dataset]


class RunCache:
    """Runs in memory, each with the depth that it was searched to."""

    def __init__(self, most_bytes: int = 1 << 32) -> None:
        self._runs: LRUCache[str, tuple[int, Run]] = LRUCache(most_bytes)

    def get(self, key: str, top_k: int) -> Run | None:
        depth, run = self._runs.get(key) or (0, None)
        return None if run is None or depth < top_k else run.top(top_k)

    def put(self, key: str, depth: int, run: Run) -> None:
        self._runs.put(key, (depth, run), run.nbytes)


_NO_EFFECT = {"batch_size", "batch_tokens", "show_progress_bar"}


def search_key(meta: ModelMeta, corpus_content: str, queries: Dataset, context: SearchContext) -> str:
    """Identity of a search; searches with the same key have the same result."""
    encoding = {name: value for name, value in context.encode_kwargs.items() if name not in _NO_EFFECT}
    candidates = context.top_ranked and {query: sorted(listed) for query, listed in context.top_ranked.items()}
    pairs = [candidates, {query: sorted(listed) for query, listed in context.hidden.items()}]
    task = [context.task_metadata.name, context.hf_split, context.hf_subset]
    gate = context.gate and context.gate.identity
    return digest([identity_of(meta), task, corpus_content, content_of(queries), pairs, encoding, gate], 32)


class Cached(ArraySearch):
    """A search model with a cache: the same task and data are searched once, to the greatest depth so far."""

    hides = True

    def __init__(self, model: MTEBModels, cache: RunCache | None = None) -> None:
        self.model = model
        self.cache = cache or RunCache()
        self.mteb_model_meta = model.mteb_model_meta
        self._system = engine(model)
        self.cuts_documents = self._system.cuts_documents

    def prepare(self, context: SearchContext) -> None:
        self._corpus_content = content_of(self.corpus)

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        key = search_key(self.model.mteb_model_meta, self._corpus_content, queries, context)
        if (known := self.cache.get(key, top_k)) is not None:
            return known
        self._system.ensure_indexed(self.corpus, context)
        run = self._system.rank(queries, top_k, context)
        self.cache.put(key, top_k, run)
        return run

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        meta = self.model.mteb_model_meta
        contexts = context, replace(context, hidden={})
        keys = [search_key(meta, self._corpus_content, queries, each) for each in contexts]
        seen, unfiltered = (self.cache.get(key, top_k) for key in keys)
        if seen is not None and unfiltered is not None:
            return seen, unfiltered
        self._system.ensure_indexed(self.corpus, context)
        runs = self._system.rank_both(queries, top_k, context)
        missing = {key: run for key, run, known in zip(keys, runs, (seen, unfiltered), strict=True) if known is None}
        for key, run in missing.items():  # both keys are the same if nothing is hidden
            self.cache.put(key, top_k, run)
        return runs
