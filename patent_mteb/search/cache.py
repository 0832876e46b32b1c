"""Caches of runs: each is computed once for the same model, data and depth."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from datasets import Dataset
from mteb.models import MTEBModels
from mteb.models.model_meta import ModelMeta

from patent_mteb.files import replacing
from patent_mteb.identity import digest, identity_of
from patent_mteb.patents.corpus import release_pages
from patent_mteb.search.base import ArraySearch, SearchContext, span_end, text_bytes
from patent_mteb.search.engine import engine
from patent_mteb.search.run import FirstStage, Run
from patent_mteb.store.settings import live_meta

logger = logging.getLogger(__name__)
_ROWS_AT_ONCE = 10_000
_BYTES_AT_ONCE = 1 << 26
_CONTENTS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # data sets are immutable, so hashes stay valid


def content_of(dataset: Any) -> str:
    """Hash of the rows of a data set: every column, in order."""
    if dataset in _CONTENTS:
        return _CONTENTS[dataset]
    total = hashlib.blake2b(json.dumps(sorted(dataset.column_names)).encode(), digest_size=16)
    columns = dataset.select_columns(sorted(dataset.column_names)).with_format("arrow")
    sizes, end = text_bytes(dataset), 0
    while end < len(dataset):
        start, end = end, span_end(sizes, end, _ROWS_AT_ONCE, _BYTES_AT_ONCE)
        for batch in columns[start:end].combine_chunks().to_batches():
            total.update(batch.serialize())
        release_pages()
    _CONTENTS[dataset] = total.hexdigest()
    return _CONTENTS[dataset]


class RunCache:
    """Runs in memory and, with a folder, on disk (one ``.npz`` file each); a damaged file is computed again."""

    def __init__(self, folder: Path | str | None = None, memory_mb: float = 4096) -> None:
        self.folder = None if folder is None else Path(folder)
        self.memory_mb = memory_mb
        self._runs: OrderedDict[str, tuple[int, Run]] = OrderedDict()

    def get(self, key: str, top_k: int) -> Run | None:
        """The cached run, if it was computed to depth ``top_k`` or deeper."""
        if key in self._runs:
            self._runs.move_to_end(key)
            depth, run = self._runs[key]
        elif (loaded := self._read(key)) is not None:
            depth, run = loaded
            self._put_in_memory(key, depth, run)
        else:
            return None
        return run.top(top_k) if depth >= top_k else None

    def put(self, key: str, depth: int, run: Run) -> None:
        self._put_in_memory(key, depth, run)
        if self.folder is None:
            return
        path = self.folder / f"{key}.npz"
        arrays: dict[str, Any] = {"asked": np.int64(depth), **_arrays_of(run)}
        checksum = np.uint64(_checksum(key, arrays))
        try:
            with replacing(path) as partial, partial.open("wb") as stream:
                np.savez(stream, checksum=checksum, **arrays)  # first: a truncated zip directory loses its end
        except OSError as error:
            logger.warning("the run %s cannot be stored (%s); it stays in memory", path, error)

    def _put_in_memory(self, key: str, depth: int, run: Run) -> None:
        self._runs[key] = (depth, run)
        self._runs.move_to_end(key)
        while len(self._runs) > 1 and sum(cached.nbytes for _, cached in self._runs.values()) > self.memory_mb * 1e6:
            forgotten, _ = self._runs.popitem(last=False)
            logger.info("run %s is no longer in memory (limit %s MB)", forgotten, self.memory_mb)

    def _read(self, key: str) -> tuple[int, Run] | None:
        if self.folder is None or not (path := self.folder / f"{key}.npz").is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            if int(arrays.pop("checksum")) != _checksum(key, arrays):
                raise ValueError("wrong checksum")
            return int(arrays.pop("asked")), _run_of(arrays)
        except Exception as error:  # any error of zipfile, zlib, NumPy or json, MemoryError included
            message = "the stored run %s cannot be used (%s: %s); it is computed again"
            logger.warning(message, path, type(error).__name__, error)
            return None


_NEXT = "first_"  # prefix of the arrays of a first stage, repeated for its own first stage


def _arrays_of(run: Run, known: Run | None = None) -> dict[str, Any]:
    """Arrays of a run and its first stages, without ids that equal those of ``known``."""
    arrays: dict[str, Any] = {"docs": run.docs, "scores": run.scores}
    if known is None or (run.query_ids, run.doc_ids) != (known.query_ids, known.doc_ids):
        arrays["ids"] = np.frombuffer(json.dumps([run.query_ids, run.doc_ids, run.task]).encode(), np.uint8)
    if run.parts is not None:
        arrays["parts"] = run.parts
    if run.first_stage is not None:
        below = {"k": np.int64(run.first_stage.k), **_arrays_of(run.first_stage.run, run)}
        arrays |= {f"{_NEXT}{name}": array for name, array in below.items()}
    return arrays


def _checksum(key: str, arrays: Mapping[str, Any]) -> int:
    """Checksum of the key and the names, types, shapes and bytes of the arrays."""
    total = hashlib.blake2b(key.encode(), digest_size=8)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"\0{name} {array.dtype.str} {np.shape(arrays[name])}\0".encode())
        total.update(array.data.cast("B") if array.size else b"")
    return int.from_bytes(total.digest(), "little")


def _run_of(arrays: Mapping[str, Any], known: Run | None = None) -> Run:
    """The run of :func:`_arrays_of`."""
    if "ids" in arrays or known is None:
        query_ids, doc_ids, task = json.loads(arrays["ids"].tobytes())
    else:
        query_ids, doc_ids, task = known.query_ids, known.doc_ids, known.task
    run = Run(query_ids, doc_ids, arrays["docs"], arrays["scores"], arrays.get("parts"), None, task)
    below = {name.removeprefix(_NEXT): array for name, array in arrays.items() if name.startswith(_NEXT)}
    return replace(run, first_stage=FirstStage(_run_of(below, run), int(below["k"]))) if below else run


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
        key = search_key(live_meta(self.model), self._corpus_content, queries, context)
        if (known := self.cache.get(key, top_k)) is not None:
            return known
        self._system.ensure_indexed(self.corpus, context)
        run = self._system.rank(queries, top_k, context)
        self.cache.put(key, top_k, run)
        return run

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        meta = live_meta(self.model)
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
