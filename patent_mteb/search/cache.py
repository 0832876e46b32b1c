"""Rankings that are kept: each is computed once for the same model, data and depth."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.models.model_meta import ModelMeta

from patent_mteb.files import replacing
from patent_mteb.identity import digest, identity_of
from patent_mteb.search.base import ArraySearch, SearchContext, span_end, text_bytes
from patent_mteb.search.engine import engine
from patent_mteb.search.run import FirstStage, Run, ranked_ids
from patent_mteb.store.settings import live_meta

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.models import MTEBModels

logger = logging.getLogger(__name__)

__all__ = ["Cached", "RunCache", "content_of", "search_key"]


_ROWS_AT_ONCE = 10_000
_BYTES_AT_ONCE = 1 << 28


def content_of(dataset: Any) -> str:
    """Hash of the rows of a data set: every column, in order.

    Example:
        >>> from datasets import Dataset
        >>> from patent_mteb.search.cache import content_of
        >>> content_of(Dataset.from_dict({"id": ["d"], "text": ["x"]})) == content_of(Dataset.from_dict({"text": ["x"], "id": ["d"]}))
        True
    """
    total = hashlib.blake2b(json.dumps(sorted(dataset.column_names)).encode(), digest_size=16)
    columns = dataset.select_columns(sorted(dataset.column_names)).with_format("arrow")
    sizes, end = text_bytes(dataset), 0
    while end < len(dataset):
        start, end = end, span_end(sizes, end, _ROWS_AT_ONCE, _BYTES_AT_ONCE)
        for batch in columns[start:end].combine_chunks().to_batches():
            total.update(batch.serialize())
    return total.hexdigest()


class RunCache:
    """Runs that were computed, in memory and, with a folder, on disk (one ``.npz`` a run, written whole or not at all).

    A file that is damaged, or that holds no run, is refused with a warning and the run computed again; one that cannot be written is
    kept in memory.

    Args:
        folder: where runs are kept between processes; None for memory only.
        memory_mb: runs in memory above this size are forgotten, oldest first (a run of 46,000 queries to depth 1,000 is 550 MB).

    Example:
        >>> from patent_mteb.search.cache import RunCache
        >>> from patent_mteb.search.run import Run
        >>> cache = RunCache()
        >>> cache.put("key", 10, Run.from_dict({"q": {"d1": 1.0, "d2": 0.5}}))
        >>> cache.get("key", 1).to_dict(), cache.get("key", 100)
        ({'q': {'d1': 1.0}}, None)
    """

    def __init__(self, folder: Path | str | None = None, memory_mb: float = 4096) -> None:
        self.folder = None if folder is None else Path(folder)
        self.memory_mb = memory_mb
        self._runs: OrderedDict[str, tuple[int, Run]] = OrderedDict()

    def get(self, key: str, top_k: int) -> Run | None:
        """The kept run, if it was computed to depth top_k or deeper."""
        if key in self._runs:
            self._runs.move_to_end(key)
            asked, run = self._runs[key]
        elif (loaded := self._read(key)) is not None:
            asked, run = loaded
            self._remember(key, asked, run)
        else:
            return None
        return run.top(top_k) if asked >= top_k else None

    def put(self, key: str, asked: int, run: Run) -> None:
        """Keep a run that was computed to depth ``asked``."""
        self._remember(key, asked, run)
        if self.folder is not None:
            self._write(key, self.folder / f"{key}.npz", asked, run)

    def _remember(self, key: str, asked: int, run: Run) -> None:
        self._runs[key] = (asked, run)
        self._runs.move_to_end(key)
        while len(self._runs) > 1 and sum(kept.nbytes for _, kept in self._runs.values()) > self.memory_mb * 1e6:
            forgotten, _ = self._runs.popitem(last=False)
            logger.info("run %s is no longer held in memory (limit %s MB)", forgotten, self.memory_mb)

    def _write(self, key: str, path: Path, asked: int, run: Run) -> None:
        ids = np.frombuffer(json.dumps([run.query_ids, run.doc_ids, run.task]).encode(), np.uint8)
        arrays: dict[str, Any] = {"asked": np.int64(asked), "ids": ids, "docs": run.docs, "scores": run.scores}
        if run.parts is not None:
            arrays["parts"] = run.parts
        if run.first_stage is not None:
            first = run.first_stage
            arrays |= {"first_k": np.int64(first.k), "first_docs": first.run.docs, "first_scores": first.run.scores}
        try:
            with replacing(path) as partial, partial.open("wb") as stream:
                np.savez(stream, checksum=np.uint64(_checksum(key, arrays)), **arrays)  # first: what is lost of a list is its end
        except OSError as error:
            logger.warning("the run %s cannot be stored (%s); it is kept in memory", path, error)

    def _read(self, key: str) -> tuple[int, Run] | None:
        if self.folder is None or not (path := self.folder / f"{key}.npz").is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                if "checksum" not in stored.files and any(entry.comment or entry.extra for entry in stored.zip.infolist()):
                    raise ValueError("its list of arrays is damaged")  # one of the first version; a comment can only be swallowed entries
                arrays = {name: stored[name] for name in stored.files}
            return _run_of(key, arrays)
        except Exception as error:  # whatever damaged bytes make zipfile, zlib, NumPy and json raise; MemoryError is among it
            logger.warning("the stored run %s cannot be used (%s: %s); it is computed again", path, type(error).__name__, error)
            return None


_ALWAYS = frozenset({"asked", "ids", "docs", "scores"})
_FIRST = frozenset({"first_k", "first_docs", "first_scores"})


def _checksum(key: str, arrays: Mapping[str, Any]) -> int:
    """Of a run's key and of the names, types, shapes and bytes of its arrays."""
    total = hashlib.blake2b(key.encode(), digest_size=8)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"\0{name} {array.dtype.str} {np.shape(arrays[name])}\0".encode())
        total.update(array.data.cast("B") if array.size else b"")
    return int.from_bytes(total.digest(), "little")


def _run_of(key: str, arrays: dict[str, Any]) -> tuple[int, Run]:
    """The run that arrays from a file hold, and the depth that it was computed to.

    Raises:
        ValueError: they are not what was written (files of the first version have no checksum), or no run.
        Exception: whatever damaged ids make json raise.
    """
    checksum = arrays.pop("checksum", None)
    if checksum is not None and int(checksum) != _checksum(key, arrays):
        raise ValueError("wrong checksum")
    names = set(arrays)
    if not names >= _ALWAYS or names - _ALWAYS - {"parts"} not in (set(), _FIRST):
        raise ValueError(f"it holds {', '.join(sorted(names)) or 'nothing'}")
    query_ids, doc_ids, task = json.loads(arrays["ids"].tobytes())
    words = [*query_ids, *doc_ids, task]
    if not all(isinstance(word, str) for word in words) or len(set(query_ids)) < len(query_ids) or ranked_ids(doc_ids) != doc_ids:
        raise ValueError("its ids are not those of queries and of a ranked corpus")
    asked = int(arrays["asked"])
    first = None
    if "first_k" in arrays:
        found = _checked(Run(query_ids, doc_ids, arrays["first_docs"], arrays["first_scores"], task=task), "first stage")
        first = FirstStage(found, int(arrays["first_k"]))
    run = _checked(Run(query_ids, doc_ids, arrays["docs"], arrays["scores"], arrays.get("parts"), first, task), "run")
    if asked < 0 or (first is not None and first.k < 0):
        raise ValueError("a depth below 0")
    return asked, run


def _checked(run: Run, what: str) -> Run:
    """The run, if it is one.

    Raises:
        ValueError: wrong shapes or types, a document that is not in the corpus or twice in a row, a score that is no finite number,
            or a row that is not in the order of a run.
    """
    docs, scores, parts = run.docs, run.scores, run.parts
    if (
        docs.ndim != 2
        or docs.shape != scores.shape
        or len(docs) != len(run.query_ids)
        or docs.dtype != np.int32
        or scores.dtype != np.float32
    ):
        raise ValueError(f"its {what} has {docs.dtype} documents {docs.shape} and {scores.dtype} scores {scores.shape}")
    if parts is not None and (parts.shape != docs.shape or parts.dtype != np.int32):
        raise ValueError(f"its {what} has {parts.dtype} parts {parts.shape}")
    if ((docs < -1) | (docs >= len(run.doc_ids))).any():
        raise ValueError(f"its {what} has a document that is not in the corpus")
    if not np.isfinite(scores).all():
        raise ValueError(f"its {what} has a score that is no number")
    if run.ordered() is not run:
        raise ValueError(f"its {what} is out of order")
    sorted_docs = np.sort(docs, axis=1)
    if ((sorted_docs[:, 1:] == sorted_docs[:, :-1]) & (sorted_docs[:, 1:] >= 0)).any():
        raise ValueError(f"its {what} has a document twice")
    return run


_NO_EFFECT = {"batch_size", "show_progress_bar"}


def _listed(pairs: Mapping[str, Iterable[str]] | None) -> dict[str, list[str]] | None:
    return None if pairs is None else {query: sorted(documents) for query, documents in pairs.items()}


def search_key(meta: ModelMeta, corpus_content: str, queries: Dataset, context: SearchContext) -> str:
    """What makes two searches the same: model, task, split, subset, every row of corpus and queries, candidates, hidden documents,
    and the encoding arguments other than batch size and progress bar.

    Example:
        >>> import mteb
        >>> from datasets import Dataset
        >>> from patent_mteb.models import bm25
        >>> from patent_mteb.search.base import SearchContext
        >>> from patent_mteb.search.cache import search_key
        >>> task, queries = mteb.get_task("PatentMapAbsToAbsRetrieval.sample"), Dataset.from_dict({"id": ["q"], "text": ["a pump"]})
        >>> contexts = [SearchContext(task.metadata, "test", "default", {"batch_size": size}) for size in (8, 64)]
        >>> len({search_key(bm25("dapfam").mteb_model_meta, "hash of the corpus", queries, context) for context in contexts})
        1
    """
    encoding = {name: value for name, value in context.encode_kwargs.items() if name not in _NO_EFFECT}
    pairs = [_listed(context.top_ranked), _listed(context.hidden)]
    task = [context.task_metadata.name, context.hf_split, context.hf_subset]
    return digest([identity_of(meta), task, corpus_content, content_of(queries), pairs, encoding], 32)


class Cached(ArraySearch):
    """A search model that computes each ranking once: the same task, data and depth (or a smaller one) is answered from a cache.

    The identity is that of the model itself, for the scores are the same.

    Args:
        model: any mteb model.
        cache: where the runs are kept; share one among models to bound their memory together.

    Example:
        >>> import patent_mteb
        >>> from patent_mteb.models import bm25
        >>> from patent_mteb.search.cache import Cached
        >>> model = Cached(bm25("dapfam"))
        >>> first, second = (patent_mteb.rank(model, "PatentMapAbsToAbsRetrieval.sample") for _ in range(2))
        >>> first.docs is second.docs
        True
    """

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
