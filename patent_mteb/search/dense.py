"""Exact search with the vectors of an encoder, on arrays.

Texts, batches, vectors and similarity are those of mteb's ``SearchEncoderWrapper``, and so is the ranking, up to the
last bits of single-precision sums. A similarity that is cosine or inner product, as verified on vectors of the model,
is a matrix product (:mod:`patent_mteb.search.nearest`); any other is called block by block. Tasks with the same queries
and corpus (ALL, IN and OUT of DAPFAM) share rankings by the content of the vectors.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash
from datasets import Dataset
from mteb.models import EncoderProtocol
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.memory import portion
from patent_mteb.patents.corpus import changed, text_column, text_dataset
from patent_mteb.search.base import (
    ArraySearch,
    SearchContext,
    document_text,
    document_texts,
    query_texts,
    span_end,
    text_bytes,
)
from patent_mteb.search.memory_cache import RankingCache
from patent_mteb.search.run import Run, TopK, pairs_matrix
from patent_mteb.search.vectors import (
    as_tensor,
    encode_checked,
    is_encoder,
    joined,
    parts,
    slices_of,
)
from patent_mteb.store.batches import as_array

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger(__name__)
CHUNK_DOCUMENTS = 50_000  # encoded in one call, as in mteb: the last bits depend on the batch
CHUNK_BYTES = 1 << 30  # of texts; corpora of ordinary documents stay below it
_VECTOR_BYTES = 2_048_000_000  # 500,000 vectors of 1,024 dimensions; more are searched in blocks
_SCORES_MB = 32  # of similarities at a time
_PROBED = 8  # texts by which a model is asked for its similarity, short to long
_AGREEMENT = 1e-5  # of a model's similarity with the cosine: above rounding, below any other measure
_SINGLE = 4  # bytes of a single-precision number, the type of all vectors in a search
RANKINGS = RankingCache(1 << 28)  # of this process, by the content of their vectors


class DenseSearch(ArraySearch):
    hides = True
    way = "exact"

    timer: Any = None

    def __init__(self, model: EncoderProtocol, *, vectors_mb: float | None = None) -> None:
        if not is_encoder(model):
            problem = f"{type(model).__name__} is not an encoder, or has its own search"
            raise ModelError(problem, remedy="search with the model itself")
        self.model = model
        self.vectors_mb = portion(1 / 3, _VECTOR_BYTES) / 1e6 if vectors_mb is None else vectors_mb
        self.mteb_model_meta = model.mteb_model_meta

    def prepare(self, context: SearchContext) -> None:
        self._number = self.corpus_numbers()
        self._bytes = text_bytes(self.corpus)

    def search_run(self, queries: Any, top_k: int, context: SearchContext) -> Run:
        query_ids = queries["id"][:]
        best = TopK(query_ids, self.doc_ids, top_k)
        if not query_ids or not self.doc_ids:
            return best.run()
        hidden = pairs_matrix(context.hidden, query_ids, self.doc_ids)
        allowed = context.candidates(query_ids, self.doc_ids)
        gate = context.gate
        dates = None if gate is None else (gate.days(self.doc_ids), gate.limits(query_ids))
        with self._phase("Encoding queries", context):
            theirs = self._encode(_query_table(queries), PromptType.query, context)
        self.vector_bytes = 0
        for numbers, vectors in self._blocks(context):
            self.vector_bytes += sum(_SINGLE * int(np.prod(chunk.shape)) for chunk in vectors)
            with self._phase("Computing similarity", context):
                block = DocumentBlock(np.arange(len(self.doc_ids)), hidden, allowed, dates).select(numbers)
                kind = self._kind(theirs, vectors)
                if kind is not None and allowed is None and len(numbers) == len(self._number):
                    content = _digest_of_corpus(self.corpus["id"][:], vectors)
                    place = (kind, self.way, content, gate.identity if gate else "")
                    search = partial(self._ranked, best, theirs, vectors, block, kind)
                    digests = _digests(theirs, hidden.tocsr())
                    return RANKINGS.get_or_search(place, query_ids, digests, top_k, search)
                self.rank_block(best, theirs, vectors, block, kind)
        return best.run()

    def _ranked(self, best: TopK, queries: Any, chunks: list[Any], block: DocumentBlock, kind: str) -> Run:
        self.rank_block(best, queries, chunks, block, kind)
        return best.run()

    def encode_ahead(self, queries: Dataset, context: SearchContext) -> None:
        if not len(queries) or not self.doc_ids:
            return
        self._encode(_query_table(queries), PromptType.query, context)
        for part in self._chunks(0):
            self._encode(_corpus_table(self.corpus.select(part)), PromptType.document, context)

    def _chunks(self, first: int) -> Iterator[range]:
        """Yield the documents of each encoding call, starting at a position."""
        while first < len(self._number):
            part = range(first, span_end(self._bytes, first, CHUNK_DOCUMENTS, CHUNK_BYTES))
            yield part
            first = part.stop

    def _phase(self, name: str, context: SearchContext) -> Any:
        if self.timer is None:
            return contextlib.nullcontext()
        return self.timer(name, split=context.hf_split, subset=context.hf_subset)

    def _blocks(self, context: SearchContext) -> Iterator[tuple[NDArray[np.int64], list[Any]]]:
        """Yield numbers and vectors (in chunks) of as many documents as fit into memory."""
        first, size, most = 0, len(self._number), self.vectors_mb * 1e6
        while first < size:
            chunks: list[Any] = []
            with self._phase("Encoding corpus", context):
                for part in self._chunks(first):
                    if chunks and sum(chunk.nbytes for chunk in chunks) >= most:
                        break
                    chunks.append(self._encode(_corpus_table(self.corpus.select(part)), PromptType.document, context))
                    last = part.stop
            yield self._number[first:last], chunks
            first = last

    def _encode(self, table: Dataset, kind: PromptType, context: SearchContext) -> Any:
        from torch.utils.data import DataLoader

        workers = context.num_proc if context.num_proc is not None and context.num_proc > 1 else 0
        loader = DataLoader(table, batch_size=context.encode_kwargs.get("batch_size", 32), num_workers=workers)
        return encoded(self.model, loader, kind, len(table), context)

    def rank_block(self, best: TopK, queries: Any, chunks: list[Any], block: DocumentBlock, kind: str | None) -> None:
        """Offer documents to ``best``; ``kind`` is the similarity, None for the model's own."""
        from patent_mteb.search.nearest import add_nearest, add_pairs  # needs torch

        if kind is None:
            start = 0
            for vectors in chunks:
                self._rank_by_model(best, queries, vectors, block.select(slice(start, start + len(vectors))))
                start += len(vectors)
            return
        if block.allowed is not None:
            pairs = block.allowed > block.hidden
            add_pairs(best, joined([queries], kind), joined(chunks, kind), block.numbers, pairs)
        elif block.dates is None:
            add_nearest(best, queries, joined(chunks, kind), block.numbers, block.hidden, kind=kind)
        else:  # in the order by date, the documents that a query may see are a prefix
            days, limits = block.dates
            by_day = np.argsort(days, kind="stable")
            seen = np.searchsorted(days[by_day], limits, side="left")
            ours = joined(chunks, kind, np.argsort(by_day))
            hidden = block.hidden[:, by_day]
            add_nearest(best, queries, ours, block.numbers[by_day], hidden, seen=seen, kind=kind)

    def _kind(self, queries: Any, chunks: list[Any]) -> str | None:
        """``cosine`` or ``dot``, the closer one, if that is the model's similarity on some vectors; else None."""
        ours, theirs = _chosen([queries]), _chosen(chunks)
        if ours.shape[1] != theirs.shape[1]:
            widths = f"{ours.shape[1]} dimensions for queries and {theirs.shape[1]} for documents"
            raise ModelError(f"model {self.mteb_model_meta.name} gave vectors of {widths}")
        found = similarities(self.model, ours, theirs)
        distances: dict[str, float] = {}
        for kind in ("cosine", "dot"):
            first, second = joined([ours], kind), joined([theirs], kind)
            with np.errstate(invalid="ignore"):
                difference = np.abs(found - (first @ second.T).numpy())
            if (difference <= _AGREEMENT * (first.norm(dim=1)[:, None] * second.norm(dim=1)).numpy()).all():
                distances[kind] = float(difference.max())
        return min(distances, key=distances.__getitem__, default=None)

    def _rank_by_model(self, best: TopK, queries: Any, vectors: Any, block: DocumentBlock) -> None:
        """Rank by the model's own similarity."""
        size, numbers = len(best.query_ids), block.numbers
        step = max(1, int(_SCORES_MB * 1e6 / 4 / len(numbers)))
        for rows in slices_of(size, step):
            scores = similarities(self.model, queries[rows] if step < size else queries, vectors)
            best.add(rows, scores, numbers, block.visible(rows))


@dataclass(frozen=True)
class DocumentBlock:
    """Documents with vectors in memory, and which of them each query may see."""

    numbers: NDArray[np.int64]  # of the documents in the ranking
    hidden: Any  # sparse [queries, documents] excluded pairs
    allowed: Any  # sparse [queries, documents] candidate pairs; None for all
    dates: tuple[NDArray[np.int32], NDArray[np.int32]] | None  # [documents] days, [queries] limits of days

    def select(self, documents: slice | NDArray[np.int64]) -> DocumentBlock:
        allowed = None if self.allowed is None else self.allowed[:, documents]
        dates = None if self.dates is None else (self.dates[0][documents], self.dates[1])
        return DocumentBlock(self.numbers[documents], self.hidden[:, documents], allowed, dates)

    def visible(self, rows: slice) -> NDArray[np.bool_]:
        """[queries of rows, documents] which documents may be found."""
        visible: NDArray[np.bool_] = ~self.hidden[rows].toarray()
        if self.allowed is not None:
            visible &= self.allowed[rows].toarray()
        if self.dates is not None:
            visible &= self.dates[0] < self.dates[1][rows, None]
        return visible


def _digest_of_corpus(ids: Iterable[str], chunks: list[Any]) -> str:
    total = xxhash.xxh3_128("\0".join(ids).encode("utf-8", "surrogatepass"))
    for chunk in chunks:
        for block in parts(chunk):
            total.update(as_tensor(block).numpy().data)
    return total.hexdigest()


def _digests(queries: Any, hidden: Any) -> list[str]:
    """Digests of the vector and the hidden documents (SciPy CSR) of each query."""
    rows = (row for block in parts(queries) for row in as_tensor(block).numpy())
    pairs = zip(hidden.indptr, hidden.indptr[1:], strict=False)
    unseen = (hidden.indices[start:end].tobytes() for start, end in pairs)
    return [xxhash.xxh3_128_hexdigest(row.tobytes() + documents) for row, documents in zip(rows, unseen, strict=True)]


def _chosen(chunks: list[Any]) -> Any:
    """Some rows of each chunk as the model returned them, the shortest and longest vectors included."""
    rows = []
    for chunk in chunks:
        lengths = np.concatenate([as_tensor(block).norm(dim=1).numpy() for block in parts(chunk)])
        even = np.linspace(0, len(lengths) - 1, _PROBED).astype(np.int64)
        chosen = np.unique([lengths.argmin(), lengths.argmax(), *even])
        rows.append(chunk[chosen.tolist()])
    if isinstance(rows[0], np.ndarray):
        return np.concatenate(rows)
    import torch

    return torch.cat(rows)


def encoded(model: EncoderProtocol, loader: Any, kind: PromptType, n_texts: int, context: SearchContext) -> Any:
    """Checked vectors of texts, in the form that the model returns."""
    return encode_checked(model, loader, n_texts, prompt_type=kind, **context.encoding(), **context.encode_kwargs)


def similarities(model: Any, queries: Any, documents: Any) -> NDArray[np.float32]:
    """The model's own similarities, [queries, documents].

    Raises:
        ModelError: they are not finite numbers of this shape.
    """
    name, found = model.mteb_model_meta.name, model.similarity(queries, documents)
    try:
        scores = np.asarray(as_array(found), np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"model {name} gave a {type(found).__name__} instead of similarities ({error})") from error
    if scores.shape != (expected := (len(queries), len(documents))):
        raise ModelError(f"model {name} gave similarities of shape {scores.shape} instead of {expected}")
    if not np.isfinite(scores).all():
        raise ModelError(f"model {name} gave a similarity that is not a finite number")
    return scores


def _corpus_table(corpus: Dataset) -> Dataset:
    """The columns of documents that mteb passes to encoders; unchanged texts are not copied."""
    given = corpus.with_format("arrow")[:]
    body = given["text"]
    titled = "title" in given.column_names
    text = text_column(document_texts(corpus)) if titled else changed(body, lambda text: document_text({"text": text}))
    table = {"id": given["id"], "text": text, "body": body}
    if titled and not given["title"].null_count:
        table["title"] = given["title"]
    return text_dataset(table)


def _query_table(queries: Dataset) -> Dataset:
    """The columns of queries that mteb passes to encoders."""
    bare = query_texts(queries.select_columns(["text"]))
    table = {"id": queries["id"][:], "text": query_texts(queries), "query": bare}
    if "instruction" in queries.column_names and None not in (instructions := queries["instruction"][:]):
        table["instruction"] = instructions
    return text_dataset(table)


_CHECKED = 100  # queries by which approximate search is compared with exact search
_QUERIES_AT_ONCE = 1024  # of a search, a choice
_CENTRES = 4  # times the root of the number of vectors, as FAISS recommends for IVF
_TRAINED_ON = 64  # documents for each centre in k-means


class Approximate(DenseSearch):
    """Approximate search by an inverted file of faiss (the extra ``ann``), on request.

    A query is compared with the documents of its ``probes`` nearest out of 4 * sqrt(documents) centres. Each search
    logs its recall@k against the exact ranking of up to 100 queries. A task with a priority gate is refused.
    """

    def __init__(self, model: EncoderProtocol, probes: int = 16) -> None:
        super().__init__(model)
        if find_spec("faiss") is None:
            raise ModelError("approximate search needs faiss", remedy="pip install -e '.[ann]', or omit --ann")
        if probes < 1:
            raise ModelError(f"cannot search {probes} groups of documents", remedy="give a positive number")
        self.probes = probes
        self.way = f"faiss-ivf-{probes}"
        meta = model.mteb_model_meta
        experiment = {**(meta.experiment_kwargs or {}), "ann": self.way}
        self.mteb_model_meta = meta.model_copy(update={"experiment_kwargs": experiment})

    def rank_block(self, best: TopK, queries: Any, chunks: list[Any], block: DocumentBlock, kind: str | None) -> None:
        name = self.mteb_model_meta.name
        if kind is None:
            raise ModelError(f"{name} has a similarity of its own, which no index supports", remedy="omit --ann")
        if block.dates is not None:
            raise ModelError(f"{name} cannot be searched approximately behind a priority gate", remedy="omit --ann")
        if block.allowed is not None:
            super().rank_block(best, queries, chunks, block, kind)
            return
        queries, documents = joined([queries], kind), joined(chunks, kind)
        index = _inverted(documents.numpy(), self.probes)
        hidden = block.hidden.tocsr()
        depth = min(best.k + int(np.diff(hidden.indptr).max(initial=0)), len(documents))
        for rows in slices_of(len(queries), _QUERIES_AT_ONCE):
            scores, found = index.search(queries[rows].numpy(), depth)
            seen = found >= 0
            for row, query in enumerate(range(rows.start, rows.stop)):
                seen[row] &= ~np.isin(found[row], hidden.indices[hidden.indptr[query] : hidden.indptr[query + 1]])
            best.add(rows, np.where(seen, scores, 0).astype(np.float32), block.numbers[found], seen)
        self._check(best, queries, documents, block)

    def _check(self, best: TopK, queries: Tensor, documents: Tensor, block: DocumentBlock) -> None:
        """Log the recall against the exact ranking of some queries."""
        from patent_mteb.search.nearest import add_nearest

        rows = np.unique(np.linspace(0, len(queries) - 1, _CHECKED).astype(np.int64))
        exact = TopK([best.query_ids[row] for row in rows], best.doc_ids, best.k)
        add_nearest(exact, queries[rows.tolist()], documents, block.numbers, block.hidden.tocsr()[rows])
        found, wanted = best.run().rows(rows).docs, exact.run().docs
        pairs = [(one[one >= 0], other) for one, other in zip(wanted, found, strict=True) if (one >= 0).any()]
        share = np.mean([np.isin(one, other).mean() for one, other in pairs])
        message = "recall@%d of the approximate search (%s): %.4f of the exact ranking, "
        message += "on %d of %d queries and %d documents"
        logger.warning(message, best.k, self.way, share, len(rows), len(queries), len(documents))


def _inverted(documents: NDArray[np.float32], probes: int) -> Any:
    import faiss

    count, width = documents.shape
    centres = max(1, min(int(_CENTRES * count**0.5), count))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, centres, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, _TRAINED_ON
    index.train(documents)
    index.add(documents)
    index.nprobe = min(probes, centres)
    return index
