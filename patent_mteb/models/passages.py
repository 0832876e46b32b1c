"""Passage-level retrieval: documents are split, passages are scored, and their scores are aggregated to documents.

``Passages(model, 256, "maxP")`` is a search model over windows of 256 tokens (DAPFAM §5.4); ``model`` is any mteb encoder, or BM25.
``Passages(model, splitter=Sections("sections"))`` takes the sections that the corpus brings along as they are, the best one
counting (PatentMap's Claims -> All: title with abstract, claims, and description of a document are three vectors).

**Windows.** A window holds ``tokens`` tokens of the model's own tokenizer, without its special tokens; for BM25 a token is a run of
word characters, stop words included. Windows start every ``stride`` tokens. DAPFAM gives no stride; taken is ``stride = tokens``, no
overlap. The last window ends with the text: it may be shorter, is kept however short it is, and is left out only if the window
before it has reached the end already. The passage is the original text between the boundaries (no character is lost or changed,
outer blanks aside), so a boundary may fall inside a word, and a passage cut there can have a few tokens more or fewer when it is
tokenised by itself. A text without tokens is one passage. Prompts apply to each passage.

**Exactness and memory.** All passages of a document count, for every aggregation. A corpus passes by in chunks of whole documents
with about ``chunk_passages`` passages; an encoder encodes a chunk once for all aggregations and forgets it. Held at a time: texts and
vectors of one chunk, ``score_mb`` MB of scores (a few times that while they are aggregated), and the best ``top_k`` documents of each
query (8 bytes an entry). A single document with more passages is a chunk of its own. BM25 holds its index of all passages.

**BM25.** idf and mean length are those of the passages. A document of which no passage shares a term with the query is not
returned. DAPFAM's Table 18 has nDCG@100 of about 0.02 for avg_top3 over BM25, a tenth of avgP and maxP (over dense vectors, Table 20,
avg_top3 is close to maxP). Equation 4 does not explain that; it is implemented as it stands.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from mteb.models import EncoderProtocol, SearchProtocol
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb.errors import DataError, ModelError
from patent_mteb.models.aggregation import AGGREGATES, aggregate
from patent_mteb.models.identity import compose_meta, digest
from patent_mteb.models.lexical import BM25, BM25Index
from patent_mteb.models.search import (
    ArraySearch,
    Run,
    RunCache,
    SearchContext,
    TopK,
    candidates,
    content_of,
    document_text,
    query_texts,
    search_key,
)

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

__all__ = ["ModelTokenizer", "Passages", "Sections", "Splitter", "TokenWindows", "Tokenizer", "WordTokenizer", "windows"]

logger = logging.getLogger(__name__)

Row = Mapping[str, Any]


class Tokenizer(Protocol):
    """Finds the tokens of texts; ``name`` stands for it in a model's identity."""

    name: str

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """For each text the position of the first character of every token, ascending."""
        ...


class WordTokenizer:
    """Tokens are runs of word characters (letters, digits, underscore)."""

    name = "words"
    _word = re.compile(r"\w+")

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        return [np.array([match.start() for match in self._word.finditer(text)], np.int64) for text in texts]


class ModelTokenizer:
    """Tokens of a model's own tokenizer, without special tokens.

    Args:
        tokenizer: a fast tokenizer of transformers, or one of the tokenizers library.

    Raises:
        ModelError: the tokenizer cannot say where in the text its tokens are.
    """

    name = "model"

    def __init__(self, tokenizer: Any) -> None:
        if not (getattr(tokenizer, "is_fast", False) or hasattr(tokenizer, "encode_batch")):
            raise ModelError(
                f"the tokenizer {type(tokenizer).__name__} does not report the position of its tokens in the text. "
                "Remedy: pass splitter=TokenWindows(tokens, tokenizer=WordTokenizer())"
            )
        self._tokenizer = tokenizer

    def starts(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        if getattr(self._tokenizer, "is_fast", False):
            encoded = self._tokenizer(
                list(texts), add_special_tokens=False, truncation=False, padding=False, return_offsets_mapping=True, verbose=False
            )["offset_mapping"]
        else:
            encoded = [encoding.offsets for encoding in self._untruncated().encode_batch(list(texts), add_special_tokens=False)]
        return [np.maximum.accumulate(np.array([start for start, _ in offsets], np.int64)) for offsets in encoded]

    def _untruncated(self) -> Any:
        """A copy that neither truncates nor pads: the settings of the model's own tokenizer must stay as they are."""
        copy = type(self._tokenizer).from_str(self._tokenizer.to_str())
        copy.no_truncation()
        copy.no_padding()
        return copy


def windows(n_tokens: int, size: int, stride: int) -> list[tuple[int, int]]:
    """Half-open token ranges of the windows over a text: they start every ``stride`` tokens and stop when one reaches the end.

    A text without tokens has the one empty window (0, 0).
    """
    last = max(n_tokens - size, 0)
    n_windows = -(-last // stride) + 1
    return [(start, min(start + size, n_tokens)) for start in range(0, n_windows * stride, stride)]


class Splitter(Protocol):
    """Splits corpus rows into passages; ``settings`` and ``tag`` enter the model's identity, in full and in its name."""

    @property
    def settings(self) -> dict[str, Any]: ...

    @property
    def tag(self) -> str: ...

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        """For each row its passages, at least one."""
        ...


@dataclass(frozen=True)
class TokenWindows:
    """Windows over the text of a document (title, blank, text), as described for the module.

    Attributes:
        tokens: tokens of a window.
        stride: tokens between the starts of two windows, at most ``tokens``; without overlap if None.
        tokenizer: what counts as a token.
    """

    tokens: int
    stride: int | None = None
    tokenizer: Tokenizer = field(default_factory=WordTokenizer)

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(f"a window holds at least one token, not {self.tokens}")
        if self.stride is not None and not 1 <= self.stride <= self.tokens:
            raise ValueError(
                f"the stride of windows of {self.tokens} tokens is 1 to {self.tokens}, not {self.stride}: text would be skipped"
            )

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
        texts = [document_text(row) for row in rows]
        return [self._cut(text, starts) for text, starts in zip(texts, self.tokenizer.starts(texts), strict=True)]

    def _cut(self, text: str, starts: NDArray[np.int64]) -> list[str]:
        passages = []
        for first, end in windows(len(starts), self.tokens, self.step):
            begin = 0 if first == 0 else int(starts[first])
            stop = len(text) if end >= len(starts) else int(starts[end])
            passages.append(text[begin:stop].strip())
        return passages


@dataclass(frozen=True)
class Sections:
    """Sections that the corpus gives: a column with a list of texts, or the document's text cut at a separator.

    Blank sections are left out; a document without any other is one empty passage.

    Attributes:
        column: name of the column with the list.
        separator: where to cut the text (title, blank, text) instead.
    """

    column: str = "sections"
    separator: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {"column": self.column} if self.separator is None else {"separator": self.separator}

    @property
    def tag(self) -> str:
        return "sections"

    def __call__(self, rows: Sequence[Row]) -> list[list[str]]:
        return [[text for section in self._sections(row) if (text := section.strip())] or [""] for row in rows]

    def _sections(self, row: Row) -> Sequence[str]:
        if self.separator is not None:
            return document_text(row).split(self.separator)
        sections = row.get(self.column)
        if sections is None or isinstance(sections, str):
            raise DataError(
                f"document {row.get('id')!r} has no list of texts in column {self.column!r}",
                remedy="name the column that holds the sections, or give a separator",
            )
        return list(sections)


def _inner_models(model: Any) -> Iterator[Any]:
    """A model and what it wraps, from the outside in."""
    seen: set[int] = set()
    while model is not None and id(model) not in seen:
        seen.add(id(model))
        yield model
        model = getattr(model, "model", None)


def _tokenizer_of(model: Any) -> Tokenizer:
    if isinstance(model, BM25):
        return WordTokenizer()
    for inner in _inner_models(model):
        if (tokenizer := getattr(inner, "tokenizer", None)) is not None:
            return ModelTokenizer(tokenizer)
    raise ModelError(
        f"{type(model).__name__} shows no tokenizer to measure windows with. Remedy: pass splitter=TokenWindows(tokens, tokenizer=...)"
    )


def _warn_of_truncation(model: Any, tokens: int) -> None:
    for inner in _inner_models(model):
        if isinstance(limit := getattr(inner, "max_seq_length", None), int):
            special = getattr(getattr(inner, "tokenizer", None), "num_special_tokens_to_add", lambda: 0)()
            if tokens > limit - special:
                name = model.mteb_model_meta.name
                logger.warning("%s reads %d tokens of a text: the rest of each window of %d is ignored", name, limit - special, tokens)
            return


def _loader(texts: list[str], batch_size: int) -> DataLoader[Any]:
    from datasets import Dataset
    from torch.utils.data import DataLoader

    return DataLoader(Dataset.from_dict({"text": texts}), batch_size=batch_size)


def _array(values: Any) -> NDArray[np.float32]:
    """Scores as a NumPy array, from NumPy or from torch on any device and in any precision."""
    if hasattr(values, "detach"):
        values = values.detach().float().cpu().numpy()
    return np.asarray(values, np.float32)


class _Dense:
    """Scores passages with an encoder's vectors and its own similarity."""

    def __init__(self, encoder: Any, score_mb: float) -> None:
        self.encoder = encoder
        self.score_mb = score_mb

    def _encode(self, texts: list[str], kind: PromptType, context: SearchContext) -> Any:
        loader = _loader(texts, context.encode_kwargs.get("batch_size", 32))
        return self.encoder.encode(loader, prompt_type=kind, **context.encoding(), **context.encode_kwargs)

    def search(self, task: _Task, chunks: Iterator[_Chunk], corpus: Any, context: SearchContext) -> None:
        if not task.texts:
            return
        queries = self._encode(task.texts, PromptType.query, context)
        for chunk in chunks:
            vectors = self._encode(chunk.passages, PromptType.document, context)
            step = max(1, int(self.score_mb * 1e6 / 4 / len(chunk.passages)))
            for start in range(0, len(task.texts), step):
                rows = slice(start, min(start + step, len(task.texts)))
                task.take(rows, _array(self.encoder.similarity(queries[rows], vectors)), chunk)


class _Lexical:
    """Scores passages with BM25: one index over the passages of all documents, built once for a corpus."""

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
    """Passages of some documents: ``starts`` is the position of each document's first passage, ``docs`` its number in the corpus."""

    passages: list[str]
    starts: NDArray[np.int64]
    docs: NDArray[np.int64]


class _Task:
    """Queries of one search and the best documents so far under each aggregation."""

    def __init__(self, queries: Any, doc_ids: list[str], top_k: int, names: Sequence[str], context: SearchContext) -> None:
        self.texts, query_ids = query_texts(queries), list(queries["id"])
        self._best = {name: TopK(query_ids, doc_ids, top_k) for name in names}
        self._allowed = None if context.top_ranked is None else candidates(context.top_ranked, query_ids, doc_ids)

    def wanted(self) -> NDArray[np.int64] | None:
        """Numbers of the documents that some query may see; None for all."""
        return None if self._allowed is None else np.flatnonzero(np.diff(self._allowed.indptr))

    def take(self, rows: slice, scores: NDArray[np.float32], chunk: _Chunk, positive_only: bool = False) -> None:
        """Aggregate scores [queries of rows, passages of the chunk] and keep the best documents."""
        visible = None if self._allowed is None else self._allowed[:, chunk.docs][rows].toarray()
        for name, best in self._best.items():
            documents = aggregate(name, scores, chunk.starts)
            allowed = visible
            if positive_only:
                allowed = documents > 0 if visible is None else visible & (documents > 0)
            best.add(rows, documents, chunk.docs, allowed)

    def runs(self) -> dict[str, Run]:
        return {name: best.run() for name, best in self._best.items()}


class Passages(ArraySearch):
    """A model searched passage by passage; see the module for what counts.

    Args:
        model: an mteb encoder, or :class:`~patent_mteb.models.lexical.BM25`.
        tokens: size of a window; 256 if neither this nor a splitter is given.
        aggregate: "maxP", "avg_top3", "avgP", "sumP" or "firstP" (:data:`~patent_mteb.models.aggregation.AGGREGATES`).
        stride: tokens between the starts of two windows; without overlap if None.
        splitter: what cuts documents, instead of windows of the model's own tokens.
        chunk_passages: passages that are encoded at a time. Scores do not depend on it.
        score_mb: size of the scores held at a time. Scores do not depend on it.

    Raises:
        ModelError: the model is neither an encoder nor BM25, or shows no tokenizer.
        ValueError: contradictory or unknown settings.
    """

    def __init__(
        self,
        model: Any,
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
        elif isinstance(model, EncoderProtocol) and not isinstance(model, SearchProtocol):
            self._scorer = _Dense(model, score_mb)
        else:
            raise ModelError(f"{type(model).__name__} cannot score passages: only encoders and BM25 can")
        if splitter is None:
            splitter = TokenWindows(256 if tokens is None else tokens, stride, _tokenizer_of(model))
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
        model: Any,
        tokens: int | None = None,
        aggregates: Sequence[str] = ("maxP", "avg_top3", "avgP", "sumP"),
        *,
        cache: RunCache | None = None,
        **settings: Any,
    ) -> list[Passages]:
        """One model an aggregation, each with its own identity, that share one pass: every passage is encoded and scored once a task.

        Args:
            model: see the class.
            tokens: see the class.
            aggregates: names of aggregations.
            cache: where the rankings are kept; by default in memory, as long as the models live.
            settings: further arguments of the class.
        """
        cache = cache or RunCache()
        models = [cls(model, tokens, name, **settings) for name in aggregates]
        for member in models:
            member._together, member._cache, member._scorer = tuple(aggregates), cache, models[0]._scorer
        return models

    def prepare(self, context: SearchContext) -> None:
        number = {document: position for position, document in enumerate(self.doc_ids)}
        self._rank = np.array([number[document] for document in self.corpus["id"]], np.int64)
        self._corpus_content = "" if self._cache is None else content_of(self.corpus)

    def _chunks(self, wanted: NDArray[np.int64] | None) -> Iterator[_Chunk]:
        """Split the documents, a few at a time, into chunks of at least ``chunk_passages`` passages (the last one excepted)."""
        visible = np.arange(len(self._rank)) if wanted is None else np.flatnonzero(np.isin(self._rank, wanted))
        passages: list[str] = []
        starts: list[int] = []
        docs: list[int] = []
        for start in range(0, len(visible), 64):
            chosen = visible[start : start + 64]
            columns = self.corpus[chosen.tolist()]
            rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
            for position, cut in zip(chosen, self.splitter(rows), strict=True):
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
