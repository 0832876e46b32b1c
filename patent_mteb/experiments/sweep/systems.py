"""The backends of a sweep, and every model that the matrix makes of them, with what they can share.

A corpus view is one data set for all query views, so that BM25 indexes it once (its passages once a length), and a text is tokenised
once for all lengths. An encoder encodes a corpus for each query view anew unless it has a store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patent_mteb._mteb import registered
from patent_mteb.experiments.sweep.matrix import Setting
from patent_mteb.identity import digest, identity_of
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.cache import Cached, RunCache, content_of
from patent_mteb.search.dense import is_encoder
from patent_mteb.search.engine import engine
from patent_mteb.search.fusion import Fusion, Hybrid
from patent_mteb.search.passages import Passages
from patent_mteb.search.phases import phase
from patent_mteb.search.run import Run
from patent_mteb.search.splitting import RememberedTokens, TokenWindows, WordTokenizer, tokenizer_of

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.models import EncoderProtocol, MTEBModels
    from mteb.models.model_meta import ModelMeta

__all__ = ["Corpora", "System", "Timed", "hybrids", "label_of"]


def label_of(*metas: ModelMeta) -> str:
    """Models as a table names them: name and revision, and a digest of all settings if they are not those that mteb knows it with.

    Example:
        >>> from patent_mteb.experiments.sweep.systems import label_of
        >>> from patent_mteb.models import bm25
        >>> label_of(bm25("dapfam").mteb_model_meta).partition("@")[0]
        'patent-mteb/bm25-dapfam'
    """

    def label(meta: ModelMeta) -> str:
        known = registered("models").get(meta.name or "")
        usual = known is not None and (known.experiment_kwargs or {}) == (meta.experiment_kwargs or {})
        settings = "" if usual or not meta.experiment_kwargs else f"#{digest(identity_of(meta))}"
        return f"{meta.name}@{meta.revision}{settings}"

    return " + ".join(map(label, metas))


class Corpora:
    """Equal data sets become one object; the last one is held.

    Example:
        >>> from datasets import Dataset
        >>> from patent_mteb.experiments.sweep.systems import Corpora
        >>> first, second = (Dataset.from_dict({"id": ["d"], "text": ["x"]}) for _ in range(2))
        >>> corpora = Corpora()
        >>> corpora.same(first) is corpora.same(second)
        True
    """

    def __init__(self) -> None:
        self._content = ""
        self._corpus: Any = None
        self._given: Any = None

    def same(self, corpus: Dataset) -> Dataset:
        """The data set that was given before if it has the same rows, else this one."""
        if corpus is not self._given:
            self._given = corpus
            if (content := content_of(corpus)) != self._content:
                self._content, self._corpus = content, corpus
        return self._corpus


class Timed(ArraySearch):
    """A search model whose phases are named, over corpora that are known again.

    Example:
        >>> import patent_mteb
        >>> from patent_mteb.experiments.sweep.systems import Corpora, Timed
        >>> from patent_mteb.models import bm25
        >>> from patent_mteb.search.phases import timed
        >>> with timed() as seconds:
        ...     run = patent_mteb.rank(Timed(bm25("dapfam"), Corpora()), "PatentMapAbsToAbsRetrieval.sample")
        >>> sorted(seconds)
        ['index', 'score']
    """

    hides = True
    gates = True

    def __init__(self, model: MTEBModels, corpora: Corpora) -> None:
        self.mteb_model_meta = model.mteb_model_meta
        self._corpora = corpora
        self._system = engine(model)
        self.cuts_documents = self._system.cuts_documents

    def prepare(self, context: SearchContext) -> None:
        with phase("index"):
            self.corpus = self._corpora.same(self.corpus)
            self._system.ensure_indexed(self.corpus, context)

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        with phase("score"):
            return self._system.rank(queries, top_k, context)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        with phase("score"):
            return self._system.rank_both(queries, top_k, context)


class _TimedEncoder:
    """An encoder whose time counts as a phase of its own."""

    def __init__(self, model: EncoderProtocol) -> None:
        self.model = model
        self.mteb_model_meta = model.mteb_model_meta

    def encode(self, *args: Any, **kwargs: Any) -> Any:
        with phase("encode"):
            return self.model.encode(*args, **kwargs)

    def similarity(self, first: Any, second: Any) -> Any:
        return self.model.similarity(first, second)

    def similarity_pairwise(self, first: Any, second: Any) -> Any:
        return self.model.similarity_pairwise(first, second)


@dataclass
class System:
    """One backend with its model, an encoder or BM25.

    Args:
        model: the model.
        cache: where rankings are kept.
        aggregates: all that any run asks for; they are computed together.
    """

    model: Any
    cache: RunCache
    aggregates: Sequence[str]
    _tokens: dict[str, RememberedTokens] = field(default_factory=dict, init=False)
    _passages: tuple[tuple[int, str], list[Passages]] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.meta: ModelMeta = self.model.mteb_model_meta
        if is_encoder(self.model):
            self.model = _TimedEncoder(self.model)

    def models(self, group: Sequence[Setting]) -> list[Any]:
        """One model a setting of a group without fusion."""
        if group[0].granularity == "document":
            return [Cached(self.model, self.cache) for _ in group]
        by_name = dict(zip(self.aggregates, self._by_passages(group[0].length, group[0].tokens), strict=True))
        return [by_name[setting.aggregate] for setting in group]

    def _by_passages(self, length: int, tokens: str) -> list[Passages]:
        if self._passages is None or self._passages[0] != (length, tokens):
            if tokens not in self._tokens:
                self._tokens[tokens] = RememberedTokens(WordTokenizer() if tokens == "words" else tokenizer_of(self.model))
            splitter = TokenWindows(length, None, self._tokens[tokens])
            self._passages = (length, tokens), Passages.sweep(self.model, aggregates=self.aggregates, cache=self.cache, splitter=splitter)
        return self._passages[1]


def hybrids(lexical: System, dense: System, group: Sequence[Setting], fusions: Mapping[str, Fusion]) -> list[Any]:
    """One model a setting of a group of fusions of the same two rankings.

    Example:
        >>> from patent_mteb.experiments.sweep import Matrix
        >>> from patent_mteb.experiments.sweep.systems import System, hybrids
        >>> from patent_mteb.models import bm25
        >>> from patent_mteb.search.cache import RunCache
        >>> first, second = (System(bm25(name), RunCache(), ["maxP"]) for name in ("dapfam", "bm25s"))
        >>> matrix = Matrix(["hybrid"], queries=["TA"], corpora=["TAC"], rrf=[30])
        >>> [model.mteb_model_meta.name for model in hybrids(first, second, matrix.settings(), matrix.fusions)]
        ['hybrid/rrf-30-bm25-dapfam+bm25-bm25s']
    """
    (first,), (second,) = lexical.models(group[:1]), dense.models(group[:1])
    return list(Hybrid.sweep(first, second, [fusions[setting.fusion] for setting in group], cache=lexical.cache))
