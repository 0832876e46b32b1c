"""Passage retrieval: documents are split, and passage scores are aggregated.

``Passages(model, 256, "maxP")`` is a search model over windows of 256 tokens (DAPFAM §5.4); ``model`` is any mteb
encoder, or BM25. ``Passages(model, splitter=Sections("sections"))`` uses the sections in the corpus, of which the best
counts (PatentMap's Claims -> All: title with abstract, claims, and description of a document are three vectors).
:class:`BestSection` gives the same scores for every search model, late interaction included. With it the model keeps
its identity, because the form of the documents belongs to the task, and the run states the section by which each
document was found.

**Windows.** A window has ``tokens`` tokens of the model's own tokenizer, without special tokens; for BM25 a token is a
run of word characters, stop words included. Windows start every ``stride`` tokens. DAPFAM states no stride; the default
is ``stride = tokens``, no overlap. The last window ends with the text. It may be shorter, and is dropped only if the
window before it has reached the end already. The passage is the original text between the boundaries, without outer
blanks, so a boundary may be inside a word. A passage cut there can have a few tokens more or fewer when it is tokenised
alone. A text without tokens is one passage. Prompts apply to each passage.

**Exactness and memory.** All passages of a document count, for every aggregation. The corpus is processed in chunks of
whole documents with about ``chunk_passages`` passages; an encoder encodes a chunk once for all aggregations. In memory
are texts and vectors of one chunk, ``score_mb`` MB of scores (a few times that during aggregation), and the best
``top_k`` documents of each query (8 bytes an entry). A document with more passages is a chunk of its own. BM25 holds
its index of all passages.

**BM25.** idf and mean length are those of the passages. A document without a passage that shares a term with the query
is not returned. DAPFAM's Table 18 has nDCG@100 of about 0.02 for avg_top3 over BM25, a tenth of avgP and maxP (over
dense vectors, Table 20, avg_top3 is close to maxP). Equation 4, as implemented here, does not explain that.

**Aggregation** (DAPFAM §5.4, equations 3 to 6; first-P of Dai and Callan 2019). Every function gets ``scores`` [..., P]
of all passages, ordered by document, and ``starts`` [D], the position of the first passage of each document (ascending,
the first is 0, every document has a passage). It returns [..., D] in the type of the scores; sums are in double
precision.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.identity import compose_meta, digest
from patent_mteb.search.base import ArraySearch, SearchContext, query_texts, span_end, text_bytes
from patent_mteb.search.bm25 import BM25, BM25Index
from patent_mteb.search.cache import RunCache, content_of, search_key
from patent_mteb.search.dense import is_encoder, score_array
from patent_mteb.search.run import Run, TopK
from patent_mteb.search.splitting import Splitter, TokenWindows, inner_models, tokenizer_of
from patent_mteb.search.timing import phase
from patent_mteb.search.vectors import checked_vectors

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol
    from torch.utils.data import DataLoader

__all__ = ["Passages"]

logger = logging.getLogger(__name__)


Scores = NDArray[np.floating[Any]]

Starts = NDArray[np.integer[Any]]


def _lengths(scores: Scores, starts: Starts) -> NDArray[np.int64]:
    return np.diff(starts, append=scores.shape[-1]).astype(np.int64)


def _max(scores: Scores, starts: Starts) -> Scores:
    """Equation 3: the best passage."""
    return np.maximum.reduceat(scores, starts, axis=-1)


def _sum(scores: Scores, starts: Starts) -> Scores:
    """Equation 6: the sum of all passages."""
    return np.add.reduceat(scores, starts, axis=-1, dtype=np.float64)


def _mean(scores: Scores, starts: Starts) -> Scores:
    """Equation 5: the mean of all passages."""
    return _sum(scores, starts) / _lengths(scores, starts)


def _mean_of_top3(scores: Scores, starts: Starts) -> Scores:
    """Equation 4: the mean of the three best passages, or of all if fewer.

    Equation 4 always divides by three, which would rank a document of one passage below one with three mediocre ones.
    This follows the description next to it ("averages the three highest-scoring passages").
    """
    lengths = _lengths(scores, starts)
    best = np.full((3, *scores.shape[:-1], len(starts)), -np.inf, scores.dtype)
    for position in range(int(lengths.max(initial=0))):
        live = np.flatnonzero(lengths > position)
        rest = scores[..., starts[live] + position]
        for place in range(3):
            held = best[place][..., live]
            best[place][..., live] = np.maximum(held, rest)
            rest = np.minimum(held, rest)
    best[1][..., lengths < 2] = 0
    best[2][..., lengths < 3] = 0
    return best.sum(axis=0, dtype=np.float64) / np.minimum(lengths, 3)  # type: ignore[no-any-return]


def _first(scores: Scores, starts: Starts) -> Scores:
    """The first passage."""
    return scores[..., starts]


AGGREGATES: dict[str, Callable[[Scores, Starts], Scores]] = {
    "maxP": _max,
    "avg_top3": _mean_of_top3,
    "avgP": _mean,
    "sumP": _sum,
    "firstP": _first,
}
"""Aggregations by name."""


def aggregate(name: str, scores: Scores, starts: Starts) -> Scores:
    """Scores [..., D] of documents from the scores [..., P] of their passages."""
    if name not in AGGREGATES:
        raise ValueError(f"unknown aggregation {name!r}: choose one of {', '.join(AGGREGATES)}")
    if len(starts) and (starts[0] != 0 or (_lengths(scores, starts) < 1).any()):
        raise ValueError(
            "every document needs at least one passage, and the passages must start with those of the first document"
        )
    if not len(starts):
        return np.empty((*scores.shape[:-1], 0), scores.dtype)
    return AGGREGATES[name](scores, starts).astype(scores.dtype, copy=False)


_DOCUMENTS_AT_ONCE = 64

_BYTES_AT_ONCE = 1 << 24


def _warn_of_truncation(model: Any, tokens: int) -> None:
    for inner in inner_models(model):
        if isinstance(limit := getattr(inner, "max_seq_length", None), int):
            special = getattr(getattr(inner, "tokenizer", None), "num_special_tokens_to_add", lambda: 0)()
            if tokens > limit - special:
                name = model.mteb_model_meta.name
                logger.warning(
                    "%s reads %d tokens of a text: the rest of each window of %d is ignored",
                    name,
                    limit - special,
                    tokens,
                )
            return


def _loader(texts: list[str], batch_size: int) -> DataLoader[Any]:
    from datasets import Dataset
    from torch.utils.data import DataLoader

    return DataLoader(Dataset.from_dict({"text": texts}), batch_size=batch_size)


class _Dense:
    """Scores passages with an encoder's vectors and its own similarity."""

    def __init__(self, encoder: EncoderProtocol, score_mb: float) -> None:
        self.encoder = encoder
        self.score_mb = score_mb

    def _encode(self, texts: list[str], kind: PromptType, context: SearchContext) -> Any:
        loader = _loader(texts, context.encode_kwargs.get("batch_size", 32))
        with phase("encode"):
            vectors = self.encoder.encode(loader, prompt_type=kind, **context.encoding(), **context.encode_kwargs)
        name, task = self.encoder.mteb_model_meta.name, context.task_metadata.name
        return checked_vectors(vectors, len(texts), f"model {name} on task {task}")

    def search(self, task: _Task, chunks: Iterator[_Chunk], corpus: Any, context: SearchContext) -> None:
        if not task.texts:
            return
        queries = self._encode(task.texts, PromptType.query, context)
        for chunk in chunks:
            vectors = self._encode(chunk.passages, PromptType.document, context)
            step = max(1, int(self.score_mb * 1e6 / 4 / len(chunk.passages)))
            for start in range(0, len(task.texts), step):
                rows = slice(start, min(start + step, len(task.texts)))
                task.take(rows, score_array(self.encoder.similarity(queries[rows], vectors)), chunk)


class _Lexical:
    """Scores passages with BM25, with one index over the passages of a corpus."""

    def __init__(self, model: BM25, score_mb: float) -> None:
        self.model = model
        self.score_mb = score_mb
        self._corpus: Any = None

    def _build(self, chunks: Iterator[_Chunk]) -> None:
        docs, lengths = [], []

        def passages() -> Iterator[str]:
            for chunk in chunks:
                docs.append(chunk.docs)
                lengths.append(np.diff(chunk.starts, append=len(chunk.passages)))
                yield from chunk.passages

        with phase("index"):
            self._index = BM25Index(passages(), self.model.settings)
        every = np.concatenate(lengths) if lengths else np.empty(0, np.int64)
        ranks = np.concatenate(docs) if docs else np.empty(0, np.int64)
        self._documents = _Chunk([], np.cumsum(every) - every, ranks)

    def search(self, task: _Task, chunks: Iterator[_Chunk], corpus: Any, context: SearchContext) -> None:
        if self._corpus is not corpus:
            self._build(chunks)
            self._corpus = corpus
        index = self._index
        step = max(1, int(self.score_mb * 1e6 / 4 / max(index.n_docs, 1) / self.model.threads))

        def score(start: int) -> None:
            rows = slice(start, min(start + step, len(task.texts)))
            task.take(rows, index.scores(task.texts[rows]).toarray(), self._documents, positive_only=True)

        with ThreadPoolExecutor(self.model.threads) as pool:
            for _ in pool.map(score, range(0, len(task.texts), step)):
                pass


@dataclass(frozen=True)
class _Chunk:
    """Passages of some documents.

    ``starts`` is the position of the first passage of each document, ``docs`` its number in the corpus.
    """

    passages: list[str]
    starts: NDArray[np.int64]
    docs: NDArray[np.int64]


class _Task:
    """Queries of one search, and the best documents so far under each aggregation."""

    def __init__(
        self, queries: Any, doc_ids: list[str], top_k: int, names: Sequence[str], context: SearchContext
    ) -> None:
        self.texts, query_ids = query_texts(queries), queries["id"][:]
        self._best = {name: TopK(query_ids, doc_ids, top_k) for name in names}
        self._allowed = context.candidates(query_ids, doc_ids)
        self._eligible = context.eligible(query_ids, doc_ids)

    def wanted(self) -> NDArray[np.int64] | None:
        """Numbers of the documents that some query may see; None for all."""
        return None if self._allowed is None else np.flatnonzero(np.diff(self._allowed.indptr))

    def take(self, rows: slice, scores: NDArray[np.float32], chunk: _Chunk, positive_only: bool = False) -> None:
        """Aggregate scores [queries, passages] and keep the best documents."""
        visible = None if self._allowed is None else self._allowed[:, chunk.docs][rows].toarray()
        if visible is None and self._eligible is not None:
            visible = self._eligible(rows, chunk.docs)
        for name, best in self._best.items():
            documents = aggregate(name, scores, chunk.starts)
            allowed = visible
            if positive_only:
                allowed = documents > 0 if visible is None else visible & (documents > 0)
            best.add(rows, documents, chunk.docs, allowed)

    def runs(self) -> dict[str, Run]:
        return {name: best.run() for name, best in self._best.items()}


class Passages(ArraySearch):
    """A model searched passage by passage; see the module.

    Args:
        model: an mteb encoder, or :class:`~patent_mteb.search.bm25.BM25`.
        tokens: size of a window; 256 if neither this nor a splitter is given.
        aggregate: "maxP", "avg_top3", "avgP", "sumP" or "firstP" (:data:`~patent_mteb.search.passages.AGGREGATES`).
        stride: tokens between the starts of two windows; without overlap if None.
        splitter: splits documents, instead of windows of the model's own tokens.
        chunk_passages: passages that are encoded at a time. Scores do not depend on it.
        score_mb: size of the scores in memory. Scores do not depend on it.

    Raises:
        ModelError: the model is neither an encoder nor BM25, or has no tokenizer.
        ValueError: contradictory or unknown settings.

    Example:
        >>> import patent_mteb
        >>> from patent_mteb.models import Passages, bm25
        >>> model = Passages(bm25("dapfam"), 32, "avg_top3", stride=16)
        >>> model.mteb_model_meta.name
        'passages/32s16-avg_top3-bm25-dapfam'
        >>> len(patent_mteb.rank(model, "PatentMapAbsToAbsRetrieval.sample").query_ids)
        25
    """

    cuts_documents = True
    gates = True

    def __init__(
        self,
        model: EncoderProtocol | BM25,
        tokens: int | None = None,
        aggregate: str = "maxP",
        *,
        stride: int | None = None,
        splitter: Splitter | None = None,
        chunk_passages: int = 16_384,
        score_mb: float = 128,
    ) -> None:
        if aggregate not in AGGREGATES:
            raise ValueError(f"unknown aggregation {aggregate!r}: choose one of {', '.join(AGGREGATES)}")
        if splitter is not None and (tokens is not None or stride is not None):
            raise ValueError("give either a splitter or the size and stride of windows, not both")
        if isinstance(model, BM25):
            self._scorer: _Dense | _Lexical = _Lexical(model, score_mb)
        elif is_encoder(model):
            self._scorer = _Dense(model, score_mb)
        else:
            raise ModelError(f"{type(model).__name__} cannot score passages: only encoders and BM25 can")
        if splitter is None:
            splitter = TokenWindows(256 if tokens is None else tokens, stride, tokenizer_of(model))
        if isinstance(splitter, TokenWindows):
            _warn_of_truncation(model, splitter.tokens)
        self.model = model
        self.splitter = splitter
        self.aggregate = aggregate
        self.chunk_passages = chunk_passages
        self._together: tuple[str, ...] = (aggregate,)
        self._cache: RunCache | None = None
        self.mteb_model_meta = compose_meta(
            "passages",
            [model.mteb_model_meta],
            {"aggregate": aggregate, **splitter.settings},
            tag=f"{splitter.tag}-{aggregate}",
            model_type="sparse" if isinstance(model, BM25) else "dense",
        )

    @classmethod
    def sweep(
        cls,
        model: EncoderProtocol | BM25,
        tokens: int | None = None,
        aggregates: Sequence[str] = ("maxP", "avg_top3", "avgP", "sumP"),
        *,
        cache: RunCache | None = None,
        **settings: Any,
    ) -> list[Passages]:
        """Return one model an aggregation; passages are encoded and scored once a task.

        Every model has its own identity. The rankings are in ``cache``, by default in memory; ``settings`` are further
        arguments of the class.
        """
        cache = cache or RunCache()
        models = [cls(model, tokens, name, **settings) for name in aggregates]
        for member in models:
            member._together, member._cache, member._scorer = tuple(aggregates), cache, models[0]._scorer
        return models

    def prepare(self, context: SearchContext) -> None:
        number = {document: position for position, document in enumerate(self.doc_ids)}
        self._rank = np.array([number[document] for document in self.corpus["id"][:]], np.int64)
        self._bytes = text_bytes(self.corpus)
        self._corpus_content = "" if self._cache is None else content_of(self.corpus)

    def _chunks(self, wanted: NDArray[np.int64] | None) -> Iterator[_Chunk]:
        """Split documents into chunks of at least ``chunk_passages`` passages.

        The last chunk may have fewer.
        """
        visible = np.arange(len(self._rank)) if wanted is None else np.flatnonzero(np.isin(self._rank, wanted))
        passages: list[str] = []
        starts: list[int] = []
        docs: list[int] = []
        sizes, end = self._bytes[visible], 0
        while end < len(visible):
            start, end = end, span_end(sizes, end, _DOCUMENTS_AT_ONCE, _BYTES_AT_ONCE)
            chosen = visible[start:end]
            columns = self.corpus[chosen.tolist()]
            rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
            with phase("split"):
                divided = self.splitter(rows)
            for position, cut in zip(chosen, divided, strict=True):
                starts.append(len(passages))
                docs.append(int(self._rank[position]))
                passages.extend(cut)
                if len(passages) >= self.chunk_passages:
                    yield _Chunk(passages, np.array(starts, np.int64), np.array(docs, np.int64))
                    passages, starts, docs = [], [], []
        if passages:
            yield _Chunk(passages, np.array(starts, np.int64), np.array(docs, np.int64))

    def search_run(self, queries: Any, top_k: int, context: SearchContext) -> Run:
        key = ""
        if self._cache is not None:
            parts = [self.model.mteb_model_meta, self._corpus_content, queries, context]
            key = digest([search_key(*parts), self.splitter.settings], 32)
            if (known := self._cache.get(f"{key}-{self.aggregate}", top_k)) is not None:
                return known
        task = _Task(queries, self.doc_ids, top_k, self._together, context)
        wanted = None if isinstance(self._scorer, _Lexical) else task.wanted()
        self._scorer.search(task, self._chunks(wanted), self.corpus, context)
        runs = task.runs()
        if self._cache is not None:
            for name, run in runs.items():
                self._cache.put(f"{key}-{name}", top_k, run)
        return runs[self.aggregate]
