"""What search models share: texts as mteb's encoders read them, rankings as arrays, exact top-k, and runs that are kept.

A ranking of mteb is a dictionary of dictionaries. Wrappers that combine rankings work on a :class:`Run` (arrays) instead and
convert once at the end. Ties are broken as mteb does: by score, then by document id, both descending.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zipfile
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.errors import DataError, ModelError
from patent_mteb.models.exclusion import as_search
from patent_mteb.models.identity import digest, identity_of

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models.models_protocols import SearchProtocol

__all__ = [
    "ArraySearch",
    "Cached",
    "Run",
    "RunCache",
    "SearchContext",
    "TopK",
    "as_search",
    "candidates",
    "content_of",
    "document_text",
    "ensure_indexed",
    "query_texts",
    "ranked_ids",
    "run_of",
    "search_key",
]

logger = logging.getLogger(__name__)

Results = dict[str, dict[str, float]]
_TIE_BITS = 32
_NOTHING = np.iinfo(np.int64).min


def document_text(row: Mapping[str, Any]) -> str:
    """Text of a corpus row as mteb's encoders read it: title, blank, text; without a title the text alone; stripped."""
    title = row.get("title") or ""
    return str(f"{title} {row['text']}" if title else row["text"]).strip()


def _query_text(text: Any, instruction: str | None) -> str:
    if isinstance(text, str):
        return text if instruction is None else f"{text} {instruction}"
    turns = [turn if isinstance(turn, str) else f"{turn['role']}: {turn['content']}" for turn in text]
    conversation = "; ".join(turns)
    return conversation if instruction is None else f"{instruction} {conversation}"


def query_texts(queries: Any) -> list[str]:
    """Texts of queries as mteb's encoders read them: an instruction follows a text and precedes a conversation."""
    instructions = queries["instruction"][:] if "instruction" in queries.column_names else [None] * len(queries)
    return [_query_text(text, instruction) for text, instruction in zip(queries["text"][:], instructions, strict=True)]


def ranked_ids(ids: Iterable[str]) -> list[str]:
    """Document ids in descending order, so that of two documents with one score the one with the smaller number comes first.

    Raises:
        DataError: an id occurs twice.
    """
    ordered = sorted(ids, reverse=True)
    for first, second in pairwise(ordered):
        if first == second:
            raise DataError(f"document id {first!r} occurs twice in the corpus", remedy="remove one of the two documents")
    return ordered


@dataclass(frozen=True)
class Run:
    """Rankings of several queries over one corpus, as arrays.

    Attributes:
        query_ids: Q query ids.
        doc_ids: the ids of the whole corpus in descending order (:func:`ranked_ids`).
        docs: [Q, depth] int32, numbers into ``doc_ids``, best first, -1 behind the last one.
        scores: [Q, depth] float64, descending, 0 where ``docs`` is -1.
    """

    query_ids: list[str]
    doc_ids: list[str]
    docs: NDArray[np.int32]
    scores: NDArray[np.float64]

    @property
    def depth(self) -> int:
        return int(self.docs.shape[1])

    @classmethod
    def from_dict(cls, results: Mapping[str, Mapping[str, float]], query_ids: Sequence[str], doc_ids: list[str]) -> Run:
        """Rankings of mteb's form as arrays.

        Raises:
            ModelError: a query has no entry, a document is not in the corpus, or a score is not finite.
        """
        if missing := [query for query in query_ids if query not in results]:
            raise ModelError(f"the model returned no ranking for {len(missing)} of {len(query_ids)} queries, the first is {missing[0]!r}")
        number = {document: position for position, document in enumerate(doc_ids)}
        rows = [results[query] for query in query_ids]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        total = int(lengths.sum())
        try:
            flat = np.fromiter((number[document] for row in rows for document in row), np.int32, total)
        except KeyError as error:
            raise ModelError(f"the model returned document {error.args[0]!r}, which is not in the corpus") from None
        values = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float64, total)
        if not np.isfinite(values).all():
            raise ModelError("the model returned a score that is not a finite number")
        query = np.repeat(np.arange(len(rows)), lengths)
        order = np.lexsort((flat, -values, query))
        depth = int(lengths.max(initial=0))
        filled = np.arange(depth) < lengths[:, None]
        docs = np.full(filled.shape, -1, np.int32)
        scores = np.zeros(filled.shape)
        docs[filled], scores[filled] = flat[order], values[order]
        return cls(list(query_ids), doc_ids, docs, scores)

    def top(self, k: int) -> Run:
        """The first k documents of each query."""
        return self if k >= self.depth else Run(self.query_ids, self.doc_ids, self.docs[:, :k], self.scores[:, :k])

    def to_dict(self) -> Results:
        """mteb's form, best document first; a query without documents has an empty entry."""
        results: Results = {}
        for query, docs, scores in zip(self.query_ids, self.docs, self.scores, strict=True):
            length = int((docs >= 0).sum())
            results[query] = dict(zip(map(self.doc_ids.__getitem__, docs[:length].tolist()), scores[:length].tolist(), strict=True))
        return results


def _keys(scores: NDArray[np.float32], docs: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """One integer for each pair that orders by score, then by document id: the bits of a float sort like integers once
    those of the negative ones are flipped; adding zero turns -0.0 into 0.0."""
    bits = (scores + np.float32(0)).view(np.int32)
    ordered = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits).astype(np.int64)
    return (ordered << _TIE_BITS) | (np.int64(0x7FFFFFFF) - docs.astype(np.int64))


def _best(keys: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    return keys if keys.shape[-1] <= k else np.partition(keys, keys.shape[-1] - k, axis=-1)[..., -k:]


class TopK:
    """The best k documents of each query over a corpus that passes by in blocks: exact, also among equal scores.

    Scores are compared in single precision. Memory: 8 bytes x queries x k, and twice that while a block is merged.

    Args:
        query_ids: the queries.
        doc_ids: the corpus in descending order of ids.
        k: documents to keep for each query.
    """

    def __init__(self, query_ids: Sequence[str], doc_ids: list[str], k: int) -> None:
        self.query_ids = list(query_ids)
        self.doc_ids = doc_ids
        self.k = min(k, len(doc_ids))
        self._kept = np.full((len(self.query_ids), self.k), _NOTHING, np.int64)

    def add(
        self, rows: slice, scores: NDArray[np.float32], docs: NDArray[np.integer[Any]], allowed: NDArray[np.bool_] | None = None
    ) -> None:
        """Offer a block.

        Args:
            rows: the queries of the block.
            scores: [queries of the block, documents of the block].
            docs: numbers into ``doc_ids``, [documents of the block], or as scores where each query has documents of its own.
            allowed: as scores; what is False is left out.

        Raises:
            ModelError: a score is not a number.
        """
        if np.isnan(scores).any():
            raise ModelError("the model gave a score that is not a number")
        keys = _keys(np.ascontiguousarray(scores, np.float32), docs)
        if allowed is not None:
            keys[~allowed] = _NOTHING
        kept, offered = self._kept[rows], _best(keys, self.k)
        if (kept == _NOTHING).all():
            kept[:, : offered.shape[1]] = offered
        else:
            kept[:] = _best(np.concatenate([kept, offered], axis=1), self.k)

    def run(self) -> Run:
        keys = np.sort(self._kept, axis=1)[:, ::-1]
        docs = (np.int64(0x7FFFFFFF) - (keys & np.int64(0xFFFFFFFF))).astype(np.int32)
        ordered = (keys >> _TIE_BITS).astype(np.int32)
        scores = np.where(ordered < 0, ordered ^ np.int32(0x7FFFFFFF), ordered).view(np.float32).astype(np.float64)
        empty = keys == _NOTHING
        docs[empty], scores[empty] = -1, 0.0
        depth = int((~empty).sum(axis=1).max(initial=0))
        return Run(self.query_ids, self.doc_ids, np.ascontiguousarray(docs[:, :depth]), np.ascontiguousarray(scores[:, :depth]))


def candidates(top_ranked: Mapping[str, Sequence[str]], query_ids: Sequence[str], doc_ids: Sequence[str]) -> Any:
    """The documents that a reranking task lets each query see, as a boolean SciPy matrix [queries, documents] (CSC).

    A query without candidates sees none, as in mteb.

    Raises:
        DataError: a candidate is not in the corpus.
    """
    import scipy.sparse

    number = {document: position for position, document in enumerate(doc_ids)}
    listed = [list(top_ranked.get(query) or ()) for query in query_ids]
    try:
        columns = [number[document] for documents in listed for document in documents]
    except KeyError as error:
        raise DataError(f"candidate document {error.args[0]!r} of a reranking task is not in the corpus") from None
    rows = np.repeat(np.arange(len(query_ids)), [len(documents) for documents in listed])
    shape = (len(query_ids), len(doc_ids))
    return scipy.sparse.csc_matrix((np.ones(len(columns), np.bool_), (rows, columns)), shape=shape, dtype=np.bool_)


@dataclass(frozen=True)
class SearchContext:
    """The arguments of mteb's search that do not concern the ranking's length."""

    task_metadata: TaskMetadata
    hf_split: str
    hf_subset: str
    encode_kwargs: dict[str, Any]
    top_ranked: Mapping[str, Sequence[str]] | None = None
    num_proc: int | None = None

    def as_kwargs(self) -> dict[str, Any]:
        return {**self.encoding(), "encode_kwargs": self.encode_kwargs, "top_ranked": self.top_ranked, "num_proc": self.num_proc}

    def encoding(self) -> dict[str, Any]:
        return {"task_metadata": self.task_metadata, "hf_split": self.hf_split, "hf_subset": self.hf_subset}


class ArraySearch(ABC):
    """A search model of mteb whose ranking is a :class:`Run`; a subclass says how the run comes about."""

    mteb_model_meta: ModelMeta
    corpus: Any = None
    doc_ids: list[str]

    def index(
        self,
        corpus: Any,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: Any,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Take the corpus; what must be computed from it is computed when it is searched."""
        self.corpus = corpus
        self.doc_ids = ranked_ids(corpus["id"][:])
        context = SearchContext(task_metadata, hf_split, hf_subset, dict(encode_kwargs or {}), None, num_proc)
        self.prepare(context)

    def prepare(self, context: SearchContext) -> None:  # noqa: B027
        """What a subclass does with a new corpus."""

    @abstractmethod
    def search_run(self, queries: Any, top_k: int, context: SearchContext) -> Run:
        """The ranking of every query over the indexed corpus."""

    def search(
        self,
        queries: Any,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        top_k: int,
        encode_kwargs: Any,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> Results:
        """The ranking in mteb's form.

        Raises:
            ModelError: no corpus was indexed.
        """
        if self.corpus is None:
            raise ModelError("search was called before index")
        context = SearchContext(task_metadata, hf_split, hf_subset, dict(encode_kwargs or {}), top_ranked, num_proc)
        return self.search_run(queries, top_k, context).to_dict()


def ensure_indexed(model: SearchProtocol, corpus: Any, context: SearchContext) -> None:
    """Index a corpus, unless one of our own models holds it already.

    A model that several wrappers share may have been given another corpus since, and mteb's wrapper of encoders lets its corpus
    go after each search, so that whoever searches indexes first.
    """
    if not (isinstance(model, ArraySearch) and model.corpus is corpus):
        model.index(corpus, **context.encoding(), encode_kwargs=context.encode_kwargs, num_proc=context.num_proc)  # type: ignore[arg-type]


def run_of(model: SearchProtocol, queries: Any, top_k: int, context: SearchContext, doc_ids: list[str]) -> Run:
    """The ranking of any search model as a :class:`Run` of at most top_k documents."""
    if isinstance(model, ArraySearch):
        return model.search_run(queries, top_k, context)
    results = model.search(queries, top_k=top_k, **context.as_kwargs())
    return Run.from_dict(results, list(queries["id"]), doc_ids).top(top_k)


def content_of(dataset: Any) -> str:
    """Hash of the rows of a data set: every column, in order."""
    total = hashlib.blake2b(json.dumps(sorted(dataset.column_names)).encode(), digest_size=16)
    columns = dataset.select_columns(sorted(dataset.column_names)).with_format("arrow")
    for table in columns.iter(10_000):
        for batch in table.combine_chunks().to_batches():
            total.update(batch.serialize())
    return total.hexdigest()


class RunCache:
    """Runs that were computed, in memory and, with a folder, on disk (one ``.npz`` a run, written whole or not at all).

    Args:
        folder: where runs are kept between processes; None for memory only.
        memory_mb: runs in memory above this size are forgotten, oldest first (a run of 46,000 queries to depth 1,000 is 550 MB).
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
            self._write(self.folder / f"{key}.npz", asked, run)

    def _remember(self, key: str, asked: int, run: Run) -> None:
        self._runs[key] = (asked, run)
        self._runs.move_to_end(key)
        while len(self._runs) > 1 and sum(kept.docs.nbytes + kept.scores.nbytes for _, kept in self._runs.values()) > self.memory_mb * 1e6:
            forgotten, _ = self._runs.popitem(last=False)
            logger.info("run %s is no longer held in memory (limit %s MB)", forgotten, self.memory_mb)

    @staticmethod
    def _write(path: Path, asked: int, run: Run) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        ids = np.frombuffer(json.dumps([run.query_ids, run.doc_ids]).encode(), np.uint8)
        with partial.open("wb") as stream:
            np.savez(stream, asked=np.int64(asked), ids=ids, docs=run.docs, scores=run.scores)
        partial.replace(path)

    def _read(self, key: str) -> tuple[int, Run] | None:
        if self.folder is None or not (path := self.folder / f"{key}.npz").is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                query_ids, doc_ids = json.loads(stored["ids"].tobytes())
                return int(stored["asked"]), Run(query_ids, doc_ids, stored["docs"], stored["scores"])
        except (zipfile.BadZipFile, ValueError, KeyError, OSError) as error:
            logger.warning("the stored run %s cannot be read (%s); it is computed again", path, error)
            return None


_NO_EFFECT = {"batch_size", "show_progress_bar"}


def search_key(meta: ModelMeta, corpus_content: str, queries: Any, context: SearchContext) -> str:
    """What makes two searches the same: model, task, split, subset, every row of corpus and queries, candidates, and the
    encoding arguments other than batch size and progress bar."""
    encoding = {name: value for name, value in context.encode_kwargs.items() if name not in _NO_EFFECT}
    candidates_given = None if context.top_ranked is None else digest({query: list(docs) for query, docs in context.top_ranked.items()}, 32)
    task = [context.task_metadata.name, context.hf_split, context.hf_subset]
    return digest([identity_of(meta), task, corpus_content, content_of(queries), candidates_given, encoding], 32)


class Cached(ArraySearch):
    """A search model that computes each ranking once: the same task, data and depth (or a smaller one) is answered from a cache.

    The identity is that of the model itself, for the scores are the same.

    Args:
        model: any mteb model.
        cache: where the runs are kept; share one among models to bound their memory together.
        variant: what sets the rankings apart from those of another model of the same identity, such as the documents it leaves out.
    """

    def __init__(self, model: Any, cache: RunCache | None = None, variant: str = "") -> None:
        self.model = model
        self.variant = variant
        self.search_model = as_search(model)
        self.cache = cache or RunCache()
        self.mteb_model_meta = model.mteb_model_meta

    def prepare(self, context: SearchContext) -> None:
        self._corpus_content = content_of(self.corpus)

    def search_run(self, queries: Any, top_k: int, context: SearchContext) -> Run:
        key = search_key(self.model.mteb_model_meta, self._corpus_content, queries, context) + self.variant
        if (known := self.cache.get(key, top_k)) is not None:
            return known
        ensure_indexed(self.search_model, self.corpus, context)
        run = run_of(self.search_model, queries, top_k, context, self.doc_ids)
        self.cache.put(key, top_k, run)
        return run
