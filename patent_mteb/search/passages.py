"""Passage retrieval: documents are split, and passage scores are aggregated.

``Passages(model, 256, "maxP")`` is a search model over windows of 256 tokens (DAPFAM §5.4). :class:`BestSection` is one
over the sections of documents (PatentMap's Claims -> All), by any search model.

**Windows.** DAPFAM states no stride; by default windows do not overlap. The last window ends with the text. It may be
shorter, and is dropped only if the window before it has reached the end already. A passage is the original text between
the boundaries, so a boundary may be inside a word.

**BM25.** idf and mean length are those of the passages. DAPFAM's Table 18 has nDCG@100 of about 0.02 for avg_top3 over
BM25, a tenth of avgP and maxP (over dense vectors, Table 20, avg_top3 is close to maxP). Equation 4, as implemented
here, does not explain that.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from datasets import Dataset
from mteb.models import EncoderProtocol, MTEBModels
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.identity import compose_meta, count, digest
from patent_mteb.patents.corpus import text_column, text_dataset
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.scripts import MARKS, UNSPACED
from patent_mteb.search.analysers import BIGRAMS
from patent_mteb.search.base import ArraySearch, SearchContext, document_text, query_texts, span_end, text_bytes
from patent_mteb.search.bm25 import AUTO, BM25, BM25Index
from patent_mteb.search.cache import RunCache, content_of, search_key
from patent_mteb.search.dense import encoded, similarities
from patent_mteb.search.engine import engine
from patent_mteb.search.run import Run, TopK, ranked_ids
from patent_mteb.search.timing import phase
from patent_mteb.search.vectors import is_encoder, slices_of
from patent_mteb.store.batches import text_loader
from patent_mteb.store.keys import hash_texts

logger = logging.getLogger(__name__)
Row = Mapping[str, Any]


class WordTokenizer:
    """Tokens are runs of word characters (letters, digits, underscore)."""

    name = "words"  # part of a model's identity
    _word = re.compile(r"\w+")

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """For each text the position of the first character of each token, ascending."""
        return [np.array([match.start() for match in self._word.finditer(text)], np.int64) for text in texts]


class AnyScriptTokenizer(WordTokenizer):
    """The same with their combining marks, and each character of a script without blanks between words."""

    name = "words-and-characters"
    _word = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}](?:[^\W{UNSPACED}]|[{MARKS}])*")


class ModelTokenizer:
    """Tokens of a model's own tokenizer, without special tokens."""

    name = "model"

    def __init__(self, tokenizer: Any) -> None:
        if not (getattr(tokenizer, "is_fast", False) or hasattr(tokenizer, "encode_batch")):
            problem = f"the tokenizer {type(tokenizer).__name__} does not report the position of its tokens in the text"
            raise ModelError(problem, remedy="pass splitter=TokenWindows(tokens, tokenizer=WordTokenizer())")
        self._tokenizer = tokenizer

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        if getattr(self._tokenizer, "is_fast", False):
            whole = dict.fromkeys(("add_special_tokens", "truncation", "padding", "verbose"), False)
            encoded = self._tokenizer(list(texts), return_offsets_mapping=True, **whole)["offset_mapping"]
        else:
            copy = type(self._tokenizer).from_str(self._tokenizer.to_str())  # the model's own stays unchanged
            copy.no_truncation()
            copy.no_padding()
            encoded = [found.offsets for found in copy.encode_batch(list(texts), add_special_tokens=False)]
        return [np.maximum.accumulate(np.array([start for start, _ in offsets], np.int64)) for offsets in encoded]


class CachedTokenizer:
    """Caches token positions of each text, four bytes each, in a temporary file."""

    def __init__(self, tokenizer: WordTokenizer | ModelTokenizer) -> None:
        self.name = tokenizer.name
        self._tokenizer = tokenizer
        self._stored: DiskList[NDArray[np.int32]] = DiskList()
        self._places: dict[bytes, int] = {}

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        keys = [key.tobytes() for key in hash_texts(texts)]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._places}
        found = self._tokenizer.starts(list(missing.values())) if missing else []
        for key, starts in zip(missing, found, strict=True):
            self._places[key] = len(self._stored)
            self._stored.append(starts.astype(np.int32))
        return [self._stored[self._places[key]].astype(np.int64) for key in keys]


Tokenizer = WordTokenizer | ModelTokenizer | CachedTokenizer


def windows(n_tokens: int, size: int, stride: int) -> list[tuple[int, int]]:
    """Half-open token ranges of the windows over a text; a text without tokens has the empty window (0, 0)."""
    last = max(n_tokens - size, 0)
    n_windows = -(-last // stride) + 1
    return [(start, min(start + size, n_tokens)) for start in range(0, n_windows * stride, stride)]


@dataclass(frozen=True)
class TokenWindows:
    """Windows over the text of a document; they start every ``stride`` tokens, without overlap if None."""

    tokens: int
    stride: int | None = None
    tokenizer: Tokenizer = field(default_factory=WordTokenizer)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", count("the length of a window", self.tokens))
        if self.stride is not None and not count("the stride of a window", self.stride) <= self.tokens:
            allowed = f"the stride of windows of {self.tokens} tokens is 1 to {self.tokens}"
            raise ValueError(f"{allowed}, not {self.stride}: text would be skipped")

    @property
    def step(self) -> int:
        return self.stride or self.tokens

    @property
    def settings(self) -> dict[str, Any]:
        return {"tokens": self.tokens, "stride": self.step, "tokenizer": self.tokenizer.name}

    @property
    def tag(self) -> str:
        return f"{self.tokens}" if self.step == self.tokens else f"{self.tokens}s{self.step}"

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        """The passages of each row, at least one."""
        texts = [document_text(row) for row in rows]
        return [self._cut(text, starts) for text, starts in zip(texts, self.tokenizer.starts(texts), strict=True)]

    def _cut(self, text: str, starts: NDArray[np.int64]) -> list[str]:
        passages = []
        for first, end in windows(len(starts), self.tokens, self.step):
            begin = 0 if first == 0 else int(starts[first])
            stop = len(text) if end >= len(starts) else int(starts[end])
            passages.append(text[begin:stop].strip())
        return passages


def inner_models(model: Any) -> Iterator[Any]:
    """A model and the models that it wraps, from the outside in."""
    seen: set[int] = set()
    while model is not None and id(model) not in seen:
        seen.add(id(model))
        yield model
        model = getattr(model, "model", None)


def tokenizer_of(model: Any) -> WordTokenizer | ModelTokenizer:
    """Words for BM25, else the tokens of the model's own tokenizer."""
    if isinstance(model, BM25):
        return AnyScriptTokenizer() if model.settings.token_pattern in (AUTO, BIGRAMS) else WordTokenizer()
    for inner in inner_models(model):
        if (tokenizer := getattr(inner, "tokenizer", None)) is not None:
            return ModelTokenizer(tokenizer)
    remedy = "pass splitter=TokenWindows(tokens, tokenizer=...)"
    raise ModelError(f"{type(model).__name__} shows no tokenizer to measure windows with", remedy=remedy)


Scores = NDArray[np.floating[Any]]
Starts = NDArray[np.integer[Any]]


def _lengths(scores: Scores, starts: Starts) -> NDArray[np.int64]:
    return np.diff(starts, append=scores.shape[-1]).astype(np.int64)


def _sum(scores: Scores, starts: Starts) -> Scores:
    return np.add.reduceat(scores, starts, axis=-1, dtype=np.float64)


def _mean_of_top3(scores: Scores, starts: Starts) -> Scores:
    """Equation 4: the mean of the three best passages, or of all if fewer ("the three highest-scoring passages").

    Equation 4 always divides by three, which would rank a document of one passage below one with three mediocre ones.
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


AGGREGATES: dict[str, Callable[[Scores, Starts], Scores]] = {
    "maxP": lambda scores, starts: np.maximum.reduceat(scores, starts, axis=-1),
    "avg_top3": _mean_of_top3,
    "avgP": lambda scores, starts: _sum(scores, starts) / _lengths(scores, starts),
    "sumP": _sum,
    "firstP": lambda scores, starts: scores[..., starts],
}
"""Aggregations (DAPFAM §5.4, equations 3 to 6; first-P of Dai and Callan 2019).

They get ``scores`` [..., P] of all passages, ordered by document, and ``starts`` [D], the position of the first passage
of each document. Sums are in double precision.
"""


def aggregate(name: str, scores: Scores, starts: Starts) -> Scores:
    """Scores [..., D] of documents from the scores [..., P] of their passages."""
    if name not in AGGREGATES:
        raise ValueError(f"unknown aggregation {name!r}: choose one of {', '.join(AGGREGATES)}")
    if not len(starts):
        return np.empty((*scores.shape[:-1], 0), scores.dtype)
    if starts[0] != 0 or (_lengths(scores, starts) < 1).any():
        raise ValueError(
            "every document needs at least one passage, and the passages must start with those of the first document"
        )
    return AGGREGATES[name](scores, starts).astype(scores.dtype, copy=False)


_DOCUMENTS_AT_ONCE = 64  # that are cut into passages together
_BYTES_AT_ONCE = 1 << 24  # of their texts


def special_tokens(model: Any) -> int:
    count = getattr(getattr(model, "tokenizer", None), "num_special_tokens_to_add", None)
    return count(False) if count else 0  # (is_pair): tokenizers has no default for it


def _warn_of_truncation(model: Any, tokens: int) -> None:
    for inner in inner_models(model):
        if isinstance(limit := getattr(inner, "max_seq_length", None), int):
            special = special_tokens(inner)
            if tokens > limit - special:
                message = "%s reads %d tokens of a text: the rest of each window of %d is ignored"
                logger.warning(message, model.mteb_model_meta.name, limit - special, tokens)
            return


class _Dense:
    """Scores passages with an encoder's vectors and its own similarity."""

    def __init__(self, encoder: EncoderProtocol, score_mb: float) -> None:
        self.encoder, self.score_mb = encoder, score_mb

    def search(self, task: _Task, chunks: Iterator[_Chunk], corpus: Any, context: SearchContext) -> None:
        def vectors_of(texts: list[str], kind: PromptType) -> Any:
            loader = text_loader(texts, context.encode_kwargs.get("batch_size", 32))
            return encoded(self.encoder, loader, kind, len(texts), context)

        if not task.texts:
            return
        queries = vectors_of(task.texts, PromptType.query)
        for chunk in chunks:
            vectors = vectors_of(chunk.passages, PromptType.document)
            step = max(1, int(self.score_mb * 1e6 / 4 / len(chunk.passages)))
            for rows in slices_of(len(task.texts), step):
                task.take(rows, similarities(self.encoder, queries[rows], vectors), chunk)


class _Lexical:
    """Scores passages with BM25, with one index over the passages of a corpus."""

    def __init__(self, model: BM25, score_mb: float) -> None:
        self.model, self.score_mb = model, score_mb
        self._corpus: Any = None

    def _build(self, chunks: Iterator[_Chunk], corpus: Any) -> None:
        docs, lengths = [], []

        def passages() -> Iterator[str]:
            for chunk in chunks:
                docs.append(chunk.docs)
                lengths.append(np.diff(chunk.starts, append=len(chunk.passages)))
                yield from chunk.passages

        with phase("index"):
            self._index = BM25Index(passages(), self.model.named_for(corpus).settings)
        every = np.concatenate(lengths) if lengths else np.empty(0, np.int64)
        ranks = np.concatenate(docs) if docs else np.empty(0, np.int64)
        self._documents = _Chunk([], np.cumsum(every) - every, ranks)

    def search(self, task: _Task, chunks: Iterator[_Chunk], corpus: Any, context: SearchContext) -> None:
        if self._corpus is not corpus:
            self._build(chunks, corpus)
            self._corpus = corpus
        index = self._index
        step = max(1, int(self.score_mb * 1e6 / 4 / max(index.weights.n_docs, 1) / self.model.threads))

        def score(rows: slice) -> None:
            task.take(rows, index.scores(task.texts[rows]).toarray(), self._documents, positive_only=True)

        with ThreadPoolExecutor(self.model.threads) as pool:
            list(pool.map(score, slices_of(len(task.texts), step)))


@dataclass(frozen=True)
class _Chunk:
    """Passages, the position of the first one of each document, and the numbers of the documents."""

    passages: list[str]
    starts: NDArray[np.int64]
    docs: NDArray[np.int64]


class _Task:
    """Queries of one search, and the best documents so far under each aggregation."""

    def __init__(
        self, queries: Any, doc_ids: list[str], top_k: int, names: Sequence[str], context: SearchContext
    ) -> None:
        self.texts, query_ids = query_texts(queries), queries["id"][:]
        self.best = {name: TopK(query_ids, doc_ids, top_k) for name in names}
        self._visible = context.visible(query_ids, doc_ids)

    def take(self, rows: slice, scores: NDArray[np.float32], chunk: _Chunk, positive_only: bool = False) -> None:
        """Aggregate scores [queries, passages] and keep the best documents."""
        visible = self._visible and self._visible(rows, chunk.docs)
        for name, best in self.best.items():
            documents = aggregate(name, scores, chunk.starts)
            allowed = visible
            if positive_only:
                allowed = documents > 0 if visible is None else visible & (documents > 0)
            best.add(rows, documents, chunk.docs, allowed)


class Passages(ArraySearch):
    """A model searched passage by passage; see the module.

    Args:
        model: an mteb encoder, or :class:`~patent_mteb.search.bm25.BM25`.
        tokens: size of a window; 256 if neither this nor a splitter is given.
        aggregate: "maxP", "avg_top3", "avgP", "sumP" or "firstP" (:data:`~patent_mteb.search.passages.AGGREGATES`).
        stride: tokens between the starts of two windows; without overlap if None.
        splitter: windows by another tokenizer than the model's own.
        chunk_passages: passages that are encoded at a time. Scores do not depend on it.
        score_mb: size of the scores in memory. Scores do not depend on it.
    """

    cuts_documents = True

    def __init__(
        self,
        model: EncoderProtocol | BM25,
        tokens: int | None = None,
        aggregate: str = "maxP",
        *,
        stride: int | None = None,
        splitter: TokenWindows | None = None,
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
        _warn_of_truncation(model, splitter.tokens)
        self.model, self.splitter, self.aggregate = model, splitter, aggregate
        self.chunk_passages = chunk_passages
        self._together: tuple[str, ...] = (aggregate,)
        self._cache: RunCache | None = None
        kind, settings = "sparse" if isinstance(model, BM25) else "dense", {"aggregate": aggregate, **splitter.settings}
        tag = f"{splitter.tag}-{aggregate}"
        self.mteb_model_meta = compose_meta("passages", [model.mteb_model_meta], settings, tag=tag, model_type=kind)

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
        """One model an aggregation, each with its own identity; passages are encoded and scored once a task."""
        cache = cache or RunCache()
        models = [cls(model, tokens, name, **settings) for name in aggregates]
        for member in models:
            member._together, member._cache, member._scorer = tuple(aggregates), cache, models[0]._scorer
        return models

    def prepare(self, context: SearchContext) -> None:
        self._rank = self.corpus_numbers()
        self._bytes = text_bytes(self.corpus)
        self._corpus_content = "" if self._cache is None else content_of(self.corpus)

    def _chunks(self, wanted: NDArray[np.int64] | None) -> Iterator[_Chunk]:
        """Yield chunks of at least ``chunk_passages`` passages; the last one may have fewer."""
        visible = np.arange(len(self._rank)) if wanted is None else np.flatnonzero(np.isin(self._rank, wanted))
        passages, starts, docs = list[str](), list[int](), list[int]()
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
        candidates = context.candidates(queries["id"][:], self.doc_ids)
        every = isinstance(self._scorer, _Lexical) or candidates is None
        wanted = None if every else np.flatnonzero(np.diff(candidates.indptr))
        self._scorer.search(task, self._chunks(wanted), self.corpus, context)
        runs = {name: best.run() for name, best in task.best.items()}
        if self._cache is not None:
            for name, run in runs.items():
                self._cache.put(f"{key}-{name}", top_k, run)
        return runs[self.aggregate]


class BestSection(ArraySearch):
    """A search model over the column ``sections`` of a corpus, a list of texts; a document scores as its best section.

    Empty texts are skipped, and a document without sections is never retrieved. The ``parts`` of the run are the
    numbers of the best sections, the first of equals.
    """

    hides = True

    def __init__(self, model: MTEBModels, *, missing: bool = False) -> None:
        self.model, self.missing = model, missing
        self.mteb_model_meta = model.mteb_model_meta
        self._system = engine(model)

    def prepare(self, context: SearchContext) -> None:
        owner: dict[str, tuple[str, int]] = {}
        self._rows: dict[str, list[str]] = {}

        def texts() -> Iterator[str]:
            for document, sections in zip(self.corpus["id"], self.corpus["sections"], strict=True):
                for section, text in enumerate(sections):
                    if self.missing or text.strip():
                        row = f"{document}#{section}"
                        owner[row] = (document, section)
                        self._rows.setdefault(document, []).append(row)
                        yield text

        column = text_column(texts())
        self._most = max(map(len, self._rows.values()), default=1)
        self._sections = text_dataset({"id": list(owner), "text": column})
        number = {document: position for position, document in enumerate(self.doc_ids)}
        self._owners = {row: document for row, (document, _) in owner.items()}
        found = [owner[row] for row in ranked_ids(owner)]
        self._document = np.array([number[document] for document, _ in found] + [-1], np.int32)
        self._section = np.array([section for _, section in found] + [-1], np.int32)

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        rows = self._index_sections(context)
        return self._by_document(self._system.rank(queries, top_k * self._most, rows), top_k)

    def encode_ahead(self, queries: Dataset, context: SearchContext) -> None:
        self._system.encode_ahead(queries, self._index_sections(context))

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        rows = self._index_sections(context)
        seen, unfiltered = self._system.rank_both(queries, top_k * self._most, rows)
        return self._by_document(seen, top_k), self._by_document(unfiltered, top_k)

    def _index_sections(self, context: SearchContext) -> SearchContext:
        """Index the sections, and return the context with sections instead of documents."""

        def rows_of(pairs: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
            by_query = {query: [self._rows.get(key, []) for key in keys] for query, keys in pairs.items()}
            return {query: list(chain.from_iterable(rows)) for query, rows in by_query.items()}

        allowed = None if context.top_ranked is None else rows_of(context.top_ranked)
        hidden = {query: frozenset(rows) for query, rows in rows_of(context.hidden).items()}
        gate = context.gate.for_parts(self._owners) if context.gate else None
        sections = replace(context, top_ranked=allowed, hidden=hidden, gate=gate)
        self._system.ensure_indexed(self._sections, sections)
        return sections

    def _by_document(self, found: Run, top_k: int) -> Run:
        """The documents of a ranking of sections, each by its best one."""
        docs = np.full((len(found.query_ids), found.depth), -1, np.int32)
        scores, parts = np.zeros(docs.shape, np.float32), np.full(docs.shape, -1, np.int32)
        for query, rows in enumerate(found.docs):
            document, section = self._document[rows], self._section[rows]
            by_document = np.lexsort((section, -found.scores[query], document))
            first = by_document[np.flatnonzero(np.diff(document[by_document], prepend=-1))]
            docs[query, : len(first)] = document[first]
            scores[query, : len(first)] = found.scores[query, first]
            parts[query, : len(first)] = section[first]
        return Run(found.query_ids, self.doc_ids, docs, scores, parts).ordered().trimmed().top(top_k)
