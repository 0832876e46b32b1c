"""BM25 as in the papers, and with the analyser of a corpus' language, as an mteb search model over any text view.

``bm25("auto")`` chooses its analyser by the corpus (:mod:`patent_mteb.search.analysers`). In English it is
``bm25("bm25s")``. ``bm25("german")`` is fixed.

``bm25("dapfam")`` has k1 = 1.2 and b = 0.75 (DAPFAM §5.3), ``bm25("bm25s")`` k1 = 1.5 and b = 0.75 (the defaults of the
bm25s library). Both use the library's method "lucene" and its documented tokenisation; the papers do not state theirs.
The WIPO-AT paper used the rank-bm25 package (§3.10) with another idf, so its figures are reproduced closely, not
exactly.

Scores are those of the library, up to the last digit of sums in single precision. mteb's own wrapper differs: it
appends documents without a term of the query in arbitrary order, scores only candidates among the top k of the corpus,
and takes the language from the task.

An index takes 8 bytes for each distinct word of a document. Its weights are computed and searched in blocks; blocks
beyond a limit are in a temporary file.
"""

from __future__ import annotations

import logging
import os
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
import Stemmer
from datasets import Dataset
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.identity import number
from patent_mteb.memory import LRUCache, portion
from patent_mteb.model_identity.loaded import NamedModel
from patent_mteb.patents.on_disk import in_memory_up_to
from patent_mteb.search.analysers import (
    BIGRAMS,
    ENGLISH,
    LANGUAGES,
    RULES,
    WORDS,
    analyser_of_corpus,
    languages_of,
    settings_of,
    terms_of,
)
from patent_mteb.search.base import ArraySearch, SearchContext, document_texts, query_texts
from patent_mteb.search.cache import content_of
from patent_mteb.search.memory_cache import RankingCache
from patent_mteb.search.run import Run, TopK
from patent_mteb.search.timing import phase

logger = logging.getLogger(__name__)
_AT_ONCE = 1 << 27  # bytes of the weights of a block
_IN_MEMORY = 1 << 28  # bytes of weights, and of frequencies before, that stay in memory
_ENTRY_BYTES = 8  # of a weight: a number of a document and a float32


def buffered_matrices(matrices: Iterable[Any]) -> Sequence[Any]:
    """SciPy CSR matrices; beyond the limit of memory they are in a temporary file."""
    return in_memory_up_to(portion(1 / 8, _IN_MEMORY), matrices, _size)


def _size(matrix: Any) -> int:
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


class TermWeights:
    """BM25 weights of a corpus in single precision, as in bm25s."""

    def __init__(self, counts: Sequence[Any], n_terms: int, k1: float, b: float) -> None:
        sums, frequency = [np.zeros(0)], np.zeros(n_terms, np.int64)
        for block in counts:
            sums.append(np.asarray(block.sum(axis=1, dtype=np.float64)).ravel())
            frequency += np.bincount(block.indices, minlength=n_terms)
        lengths = np.concatenate(sums)
        self.n_docs, self.nbytes = len(lengths), 0  # of all weights, in memory or in a file
        mean_length = (lengths.mean() if len(lengths) else 0.0) or 1.0
        idf = np.log(1 + (len(lengths) - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        saturation = k1 * ((1 - b) + b * lengths / mean_length)

        def blocks() -> Iterator[Any]:
            first = 0
            for group in _groups(counts):
                last = first + sum(block.shape[0] for block in group)
                weights = _weighted(group, idf, saturation[first:last])
                self.nbytes += _size(weights)
                yield weights
                first = last

        self._blocks = buffered_matrices(blocks())

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield blocks: the number of the first document, and weights [terms, documents] (SciPy CSR)."""
        first = 0
        for weights in self._blocks:
            yield first, weights
            first += weights.shape[1]


def _groups(counts: Iterable[Any]) -> Iterator[list[Any]]:
    """Groups of neighbouring documents whose weights make a block, at least one."""
    group: list[Any] = []
    entries, most = 0, portion(1 / 16, _AT_ONCE) // _ENTRY_BYTES
    for block in counts:
        if group and entries + block.nnz > most:
            yield group
            group, entries = [], 0
        group.append(block)
        entries += block.nnz
    yield group


def _weighted(counts: Sequence[Any], idf: NDArray[np.float32], saturation: NDArray[np.float64]) -> Any:
    """Weights [terms, documents] from term frequencies [documents, terms]."""
    sizes = np.zeros(len(idf), np.int64)
    for block in counts:
        sizes += np.bincount(block.indices, minlength=len(idf))
    ends = np.concatenate([[0], np.cumsum(sizes)])
    numbers = np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64
    weights, documents, filled = np.empty(ends[-1], np.float32), np.empty(ends[-1], numbers), ends[:-1].copy()
    first = 0
    for block in counts:
        by_term = block.tocsc()
        sizes = np.diff(by_term.indptr)
        terms = np.repeat(np.arange(len(sizes)), sizes)
        places = np.arange(len(terms)) + (filled[: len(sizes)] - by_term.indptr[:-1])[terms]
        tf = by_term.data.astype(np.float64)
        weights[places] = idf[terms] * (tf / (saturation[first + by_term.indices] + tf))
        documents[places] = first + by_term.indices
        filled[: len(sizes)] += sizes
        first += block.shape[0]
    return scipy.sparse.csr_matrix((weights, documents, ends.astype(numbers)), shape=(len(idf), first))


TOKEN_PATTERN = r"\w\w+"  # finds the same tokens as the library's ``(?u)\b\w\w+\b``, but faster
_MOST_K1 = 1e6  # far above any use, and far below the largest number of single precision
_QUERIES_AT_ONCE = 32  # that a thread takes
_DOCUMENTS_AT_ONCE = 2048  # that are tokenised together
_CHARACTERS_AT_ONCE = 1 << 24  # 16 MB of texts that are tokenised together
_INDEX_BYTES, _RUN_BYTES = 1 << 31, 1 << 29


@dataclass(frozen=True)
class BM25Settings:
    k1: float = 1.5  # saturation of repeated terms; higher is slower
    b: float = 0.75  # length normalisation, 0 to 1
    stopwords: str | None = "en"  # a list of bm25s by its short name
    stemmer: str | None = "english"  # a Snowball algorithm
    token_pattern: str = TOKEN_PATTERN  # applied to the lower-cased text; or "bigrams", see analysers.terms_of

    def __post_init__(self) -> None:
        for name, most in (("k1", _MOST_K1), ("b", 1)):
            checked, given = number(f"{name} of BM25", getattr(self, name), most), getattr(self, name)
            if type(given) is not int:  # a whole number keeps the form in which it is part of the identity
                object.__setattr__(self, name, checked)


_LISTS = {
    "en": "EN",
    "de": "GERMAN",
    "fr": "FRENCH",
    "es": "SPANISH",
    "it": "ITALIAN",
    "nl": "DUTCH",
    "pt": "PORTUGUESE",
    "da": "DANISH",
    "no": "NORWEGIAN",
    "sv": "SWEDISH",
    "tr": "TURKISH",
    "ru": "RUSSIAN",
}
"""Stop words of a language -> name of the list in bm25s."""

AUTO = "auto"
SETTINGS: dict[str, BM25Settings] = {
    "dapfam": BM25Settings(k1=1.2),
    "bm25s": BM25Settings(),
    AUTO: BM25Settings(stopwords=AUTO, stemmer=AUTO, token_pattern=AUTO),
    **{name: BM25Settings(**settings_of(name)) for name in (BIGRAMS, WORDS, *LANGUAGES) if name != ENGLISH},
}
"""Named settings: DAPFAM §5.3, the defaults of bm25s, the choice by corpus, and the analysers that it chooses among."""


def _stop_words(name: str | None) -> frozenset[str]:
    import bm25s.tokenization as lists

    if name is None:
        return frozenset()
    if name not in _LISTS:
        raise ValueError(f"no stop words {name!r}: choose one of {', '.join(_LISTS)}, or None")
    return frozenset(getattr(lists, f"STOPWORDS_{_LISTS[name]}"))


def _stem(algorithm: str | None) -> Callable[[str], str]:
    if algorithm is None:
        return str
    if algorithm not in Stemmer.algorithms():
        raise ValueError(f"no stemmer {algorithm!r}: choose one of {', '.join(Stemmer.algorithms())}, or None")
    return Stemmer.Stemmer(algorithm).stemWord  # type: ignore[no-any-return]


class _Terms(dict[str, int]):
    """Word -> number of its stem, -1 for a stop word; filled on first use."""

    def __init__(self, settings: BM25Settings) -> None:
        super().__init__()
        self._stop = _stop_words(settings.stopwords)
        self._stem = _stem(settings.stemmer)
        self.stems: dict[str, int] = {}
        self.growing = True
        """If not, a word with an unknown stem is -1."""

    def __missing__(self, word: str) -> int:
        if not self.growing:
            return -1 if word in self._stop else self.stems.get(self._stem(word), -1)
        self[word] = -1 if word in self._stop else self.stems.setdefault(self._stem(word), len(self.stems))
        return self[word]


def _splitter(pattern: str) -> Callable[[str], list[str]]:
    """Tokens of a lower-cased text by ``re.findall``; ASCII takes half the time."""
    if pattern == BIGRAMS:
        return terms_of
    find = re.compile(pattern).findall
    if pattern != TOKEN_PATTERN:
        return find
    blank = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}

    def split(text: str) -> list[str]:
        if not text.isascii():
            return find(text)
        return [word for word in text.translate(blank).split() if len(word) > 1]

    return split


class BM25Index:
    """Term weights of a corpus; a score is the sum of the weights of query terms."""

    def __init__(self, texts: Iterable[str], settings: BM25Settings) -> None:
        self._split = _splitter(settings.token_pattern)
        self._is_turkish = settings.stemmer == "turkish"  # whose lower case of I is ı
        self._terms = _Terms(settings)
        counts = buffered_matrices(self._counted(texts))
        self._terms.growing = False
        self.weights = TermWeights(counts, len(self._terms.stems), settings.k1, settings.b)

    def _numbers(self, text: str) -> NDArray[np.int32]:
        words = self._split((text.replace("I", "ı") if self._is_turkish else text).lower())
        numbers = np.fromiter(map(self._terms.__getitem__, words), np.int32, len(words))
        return numbers[numbers >= 0]

    def terms(self, texts: Iterable[str]) -> Any:
        """Term frequencies of texts, a SciPy CSR matrix [texts, terms met so far]."""
        rows = [self._numbers(text) for text in texts]
        ends = np.cumsum([0, *map(len, rows)])
        flat = np.concatenate(rows) if rows else np.empty(0, np.int32)
        shape = (len(rows), len(self._terms.stems))
        matrix = scipy.sparse.csr_matrix((np.ones(len(flat), np.float32), flat, ends), shape=shape)
        matrix.sum_duplicates()
        return matrix

    def _counted(self, texts: Iterable[str]) -> Iterator[Any]:
        pending: list[str] = []
        size = 0
        for text in texts:
            pending.append(text)
            size += len(text)
            if len(pending) == _DOCUMENTS_AT_ONCE or size >= _CHARACTERS_AT_ONCE:
                yield _narrow(self.terms(pending))
                pending, size = [], 0
        if pending:
            yield _narrow(self.terms(pending))

    def scores(self, texts: Sequence[str]) -> Any:
        """Scores as a SciPy CSR matrix [queries, documents], without zeros."""
        terms = self.terms(texts)
        return scipy.sparse.hstack([terms @ weights for _, weights in self.weights], "csr")


def _narrow(counts: Any) -> Any:
    counts.data = counts.data.astype(np.min_scalar_type(int(counts.data.max(initial=0))))
    return counts


class BM25(NamedModel, ArraySearch):
    """BM25 over the texts of a corpus; see the module. Scores do not depend on the number of threads."""

    usual_settings: ClassVar[Mapping[str, Any]] = {"token_pattern": TOKEN_PATTERN}
    _corpus: weakref.ref[Any] | None = None

    def __init__(self, settings: BM25Settings, name: str = "patent-mteb/bm25", threads: int | None = None) -> None:
        self.settings = settings
        self.threads = threads or os.cpu_count() or 1
        self._indices: LRUCache[tuple[str, BM25Settings], BM25Index] = LRUCache(portion(1 / 4, _INDEX_BYTES))
        self._runs = RankingCache(_RUN_BYTES)
        self._named: dict[str, BM25] = {}  # by analyser, for a model that chooses it by corpus
        self.mteb_model_meta = _meta(name, settings)

    @property
    def corpus(self) -> Any:
        """The indexed corpus while others refer to it; the index does not need its texts."""
        return None if self._corpus is None else self._corpus()

    @corpus.setter
    def corpus(self, corpus: Any) -> None:
        self._corpus = None if corpus is None else weakref.ref(corpus)

    def prepare(self, context: SearchContext) -> None:
        vars(self).pop("_index", None)  # free the last index first, unless it is cached
        with phase("index"):
            settings = self.named_for(self.corpus).settings
            self._content = (content_of(self.corpus), settings)
            index = self._indices.get(self._content)
            self._index = BM25Index(document_texts(self.corpus), settings) if index is None else index
        self.vector_bytes = self._index.weights.nbytes
        self._indices.put(self._content, self._index, self.vector_bytes)
        self._rank = self.corpus_numbers()

    def named_for(self, corpus: Dataset) -> BM25:
        """Return the model with the analyser of a corpus, under its name, where the analyser is chosen by corpus."""
        if self.settings.stemmer != AUTO:
            return self
        analyser = analyser_of_corpus(corpus)
        name = str(self.mteb_model_meta.name)
        logger.info("%s: the analyser of this corpus is '%s'", name, analyser)
        if analyser not in self._named:
            settings = replace(self.settings, **_analyser(SETTINGS[analyser]))
            self._named[analyser] = BM25(settings, name.replace(AUTO, analyser, 1), self.threads)
        return self._named[analyser]

    def search_run(self, queries: Any, top_k: int, context: SearchContext) -> Run:
        texts, query_ids = query_texts(queries), queries["id"][:]
        if context.top_ranked is not None:
            return self._search(texts, query_ids, top_k, context)
        place = (*self._content, context.gate.identity if context.gate else "")
        search = partial(self._search, texts, query_ids, top_k, context)
        return self._runs.get_or_search(place, query_ids, texts, top_k, search)

    def _search(self, texts: list[str], query_ids: list[str], top_k: int, context: SearchContext) -> Run:
        best = TopK(query_ids, self.doc_ids, top_k)
        visible = context.visible(query_ids, self.doc_ids)
        terms = self._index.terms(texts)

        def search(start: int, first: int, weights: Any) -> None:
            found = terms[start : start + _QUERIES_AT_ONCE] @ weights
            for row in range(found.shape[0]):
                entries = slice(found.indptr[row], found.indptr[row + 1])
                docs, scores = self._rank[first + found.indices[entries]], found.data[entries]
                place = slice(start + row, start + row + 1)
                if visible:
                    seen = visible(place, docs)[0]
                    docs, scores = docs[seen], scores[seen]
                best.add(place, scores[None], docs)

        with ThreadPoolExecutor(self.threads) as pool:
            for first, weights in self._index.weights:
                block = partial(search, first=first, weights=weights)
                list(pool.map(block, range(0, len(texts), _QUERIES_AT_ONCE)))
        return best.run()


def _analyser(settings: BM25Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in ("stopwords", "stemmer", "token_pattern")}


def _meta(name: str, settings: BM25Settings) -> ModelMeta:
    versions = [f"snowball-{Stemmer.version()}"]
    analyser = name.removeprefix("patent-mteb/bm25-")
    if settings.token_pattern in (AUTO, BIGRAMS):
        versions.append(RULES)
    about = {
        "loader": _load,
        "name": name,
        "revision": "_".join([f"bm25s-{version('bm25s')}", f"pystemmer-{version('PyStemmer')}", *versions]),
        "experiment_kwargs": {"method": "lucene", **asdict(settings)},
        "model_type": ["sparse"],
        "languages": languages_of(analyser) if analyser in SETTINGS else None,
        "license": "apache-2.0",
        "training_datasets": set(),
        "use_instructions": False,
        "open_weights": True,
        "reference": "https://github.com/xhluca/bm25s",
    }
    sizes = dict.fromkeys(("n_parameters", "n_embedding_parameters", "memory_usage_mb"), 0)
    return ModelMeta.create_empty(overwrites=about | sizes)


def _load(name: str, revision: Any = None, device: Any = None, *, method: str = "lucene", **settings: Any) -> BM25:
    settings.pop("digest", None)
    if method != "lucene":
        raise ValueError(f"BM25 is offered with the method 'lucene', not {method!r}")
    return BM25(BM25Settings(**settings), name)


def bm25(setting: str = "bm25s", **overrides: Any) -> BM25:
    """BM25 with a named setting: ``bm25("dapfam")``, ``bm25("dapfam", stemmer=None)``."""
    if setting not in SETTINGS:
        raise ValueError(f"unknown BM25 setting {setting!r}: choose one of {', '.join(SETTINGS)}")
    if unknown := overrides.keys() - asdict(SETTINGS[setting]).keys():
        known = ", ".join(asdict(SETTINGS[setting]))
        raise ValueError(f"BM25 has no parameter {', '.join(sorted(unknown))}: it has {known}")
    values = {key: re.sub(r"[^A-Za-z0-9.]+", "", str(value)) for key, value in sorted(overrides.items())}
    changed = "".join(f"-{key}-{value or 'custom'}" for key, value in values.items())
    return BM25(replace(SETTINGS[setting], **overrides), f"patent-mteb/bm25-{setting}{changed}")


BM25_METAS = tuple(_meta(f"patent-mteb/bm25-{setting}", settings) for setting, settings in SETTINGS.items())
