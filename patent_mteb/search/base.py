"""Base of search systems: texts, context, priority gate, search on arrays.

A document is prior art of a query only if it was public before the priority date of the query (35 U.S.C. 102, Art. 54
EPC). Only queries without a date see documents without a date.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow.compute as pc
from datasets import Dataset
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.errors import DataError, ModelError
from patent_mteb.identity import digest
from patent_mteb.memory import TEXTS_AT_ONCE
from patent_mteb.patents.corpus import release_pages
from patent_mteb.search.run import Results, Run, pairs_matrix, ranked_ids

_NEVER = np.iinfo(np.int32).max - 1
_WITHOUT_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Gate:
    """Publication dates of documents, and the priority dates that limit queries."""

    documents: Mapping[str, dt.date]  # first day on which a document was public
    queries: Mapping[str, dt.date]

    @cached_property
    def identity(self) -> str:
        """Digest of all dates: rankings under different gates differ."""
        both = (self.documents, self.queries)
        return digest([sorted((key, day.isoformat()) for key, day in dates.items()) for dates in both], 32)

    def days(self, documents: Sequence[str]) -> NDArray[np.int32]:
        """[documents] publication day of each as a number."""
        return _ordinals(self.documents, documents, _NEVER)

    def limits(self, queries: Sequence[str]) -> NDArray[np.int32]:
        """[queries] number that must exceed the day of a document."""
        return _ordinals(self.queries, queries, _WITHOUT_LIMIT)

    def admits(self, query: str, document: str) -> bool:
        limit, day = self.queries.get(query), self.documents.get(document)
        return limit is None or (day is not None and day < limit)

    def admitted(self, pairs: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        return {query: [key for key in found if self.admits(query, key)] for query, found in pairs.items()}

    def n_excluded(self, queries: Sequence[str], documents: Sequence[str]) -> NDArray[np.int64]:
        """[queries] number of documents that each may not see."""
        seen = np.searchsorted(np.sort(self.days(documents)), self.limits(queries), side="left")
        return (len(documents) - seen).astype(np.int64)

    def filter(self, run: Run) -> Run:
        """The run without documents that its queries may not see; the next ones move up."""
        days = np.append(self.days(run.doc_ids), np.int32(_WITHOUT_LIMIT))  # the last one is for -1, an empty place
        return run.only(days[run.docs] < self.limits(run.query_ids)[:, None])

    def for_parts(self, owners: Mapping[str, str]) -> Gate:
        """The gate of parts of documents, which became public with their document."""
        days = {part: self.documents[document] for part, document in owners.items() if document in self.documents}
        return Gate(days, self.queries)


def _ordinals(days: Mapping[str, dt.date], ids: Sequence[str], missing: int) -> NDArray[np.int32]:
    found = (days.get(name) for name in ids)
    return np.fromiter((missing if day is None else day.toordinal() for day in found), np.int32, len(ids))


def document_text(row: Mapping[str, Any]) -> str:
    """Text of a corpus row as mteb's encoders read it: title, blank, text; stripped."""
    title = row.get("title") or ""
    return str(f"{title} {row['text']}" if title else row["text"]).strip()


def _query_text(text: Any, instruction: str | None) -> str:
    if isinstance(text, str):
        return text if instruction is None else f"{text} {instruction}"
    turns = [turn if isinstance(turn, str) else f"{turn['role']}: {turn['content']}" for turn in text]
    conversation = "; ".join(turns)
    return conversation if instruction is None else f"{instruction} {conversation}"


def query_texts(queries: Dataset) -> list[str]:
    """Texts of queries as mteb's encoders read them: an instruction follows a text and precedes a conversation."""
    instructions = queries["instruction"][:] if "instruction" in queries.column_names else [None] * len(queries)
    return [_query_text(text, instruction) for text, instruction in zip(queries["text"][:], instructions, strict=True)]


def document_texts(corpus: Dataset) -> Iterator[str]:
    """Yield the text of every document (:func:`document_text`), one in memory."""
    names = [name for name in ("title", "text") if name in corpus.column_names]
    for block in corpus.select_columns(names).with_format("arrow").iter(TEXTS_AT_ONCE):
        for values in zip(*(block[name] for name in names), strict=True):
            yield document_text({name: value.as_py() for name, value in zip(names, values, strict=True)})
        release_pages()


def text_bytes(corpus: Dataset) -> NDArray[np.int64]:
    """[documents] bytes of each text, without copies; 0 for a conversation."""
    if getattr(corpus.features["text"], "dtype", "") not in ("string", "large_string"):
        return np.zeros(len(corpus), np.int64)
    rows = corpus.select_columns(["text"]).with_format("arrow").iter(TEXTS_AT_ONCE)
    sizes = [pc.fill_null(pc.binary_length(block["text"]), 0).to_numpy() for block in rows]
    return np.concatenate(sizes).astype(np.int64) if sizes else np.zeros(0, np.int64)


def span_end(sizes: NDArray[np.int64], start: int, most: int, most_bytes: int) -> int:
    """End of a span of at least one document from ``start``, limited in number and bytes."""
    within = int(np.searchsorted(np.cumsum(sizes[start : start + most]), most_bytes, side="right"))
    return start + max(within, 1)


Visible = Callable[[slice, Any], NDArray[np.bool_]]
"""A slice of the queries, numbers of documents -> [queries, documents] which they may see."""


@dataclass(frozen=True)
class SearchContext:
    """Arguments of a search other than its queries and depth, most of them as in mteb's search."""

    task_metadata: TaskMetadata
    hf_split: str
    hf_subset: str
    encode_kwargs: dict[str, Any]
    top_ranked: Mapping[str, Sequence[str]] | None = None  # a query without an entry has no candidates
    num_proc: int | None = None
    hidden: Mapping[str, Set[str]] = field(default_factory=dict)  # excluded documents (the query's own family)
    gate: Gate | None = None  # if a query may see earlier documents only

    @classmethod
    def of(
        cls,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: Any,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        num_proc: int | None = None,
        **unused: Any,
    ) -> SearchContext:
        return cls(task_metadata, hf_split, hf_subset, dict(encode_kwargs or {}), top_ranked, num_proc)

    def as_kwargs(self) -> dict[str, Any]:
        """Arguments of an index of mteb, and of a search without candidates."""
        return self.encoding() | {"encode_kwargs": self.encode_kwargs, "num_proc": self.num_proc}

    def encoding(self) -> dict[str, Any]:
        return {"task_metadata": self.task_metadata, "hf_split": self.hf_split, "hf_subset": self.hf_subset}

    def candidates(self, query_ids: Sequence[str], doc_ids: Sequence[str]) -> Any:
        """``top_ranked`` behind the gate, a boolean SciPy matrix [queries, documents] (CSC), or None."""
        if self.top_ranked is None:
            return None
        known = set(doc_ids)
        for query in query_ids:
            for document in self.top_ranked.get(query) or ():
                if document not in known:
                    raise DataError(f"candidate document {document!r} of a reranking task is not in the corpus")
        return pairs_matrix(self.gate.admitted(self.top_ranked) if self.gate else self.top_ranked, query_ids, doc_ids)

    def visible(self, query_ids: Sequence[str], doc_ids: Sequence[str]) -> Visible | None:
        """Which documents queries may see, hidden ones included; None if all may see all."""
        candidates = self.candidates(query_ids, doc_ids)
        if candidates is not None:
            allowed = candidates.tocsr()

            def among_candidates(rows: slice, numbers: Any) -> NDArray[np.bool_]:
                if rows.stop - rows.start == 1:  # three times as fast for one query
                    return np.isin(numbers, allowed[rows].indices)[None]
                return np.asarray(allowed[rows][:, numbers].toarray())

            return among_candidates
        if self.gate is None:
            return None
        days, limits = self.gate.days(doc_ids), self.gate.limits(query_ids)
        return lambda rows, numbers: days[numbers] < limits[rows, None]

    @property
    def most_hidden(self) -> int:
        return max(map(len, self.hidden.values()), default=0)


class ArraySearch(ABC):
    """A search model of mteb whose ranking is a :class:`Run`; subclasses compute it.

    Systems call each other through :meth:`rank`. A subclass that excludes hidden documents itself (it passes the
    context on, or never scores them) sets ``hides``; any other ranks more documents, which are then filtered.
    One that splits documents itself sets ``cuts_documents``.
    """

    mteb_model_meta: ModelMeta
    corpus: Any = None
    doc_ids: list[str]
    hides = False
    cuts_documents = False
    vector_bytes: int = 0

    @property
    def index_bytes(self) -> int:
        """Bytes of the index, of this system and of those inside it, where known."""
        return self.vector_bytes + sum(system.index_bytes for system in self._inner())

    @property
    def answers_any_query(self) -> bool:
        """Whether this system, and each inside it, ranks queries that the task does not score; a file has none."""
        return all(system.answers_any_query for system in self._inner())

    def _inner(self) -> Iterator[ArraySearch]:
        values = (value if isinstance(value, (list, tuple)) else [value] for value in vars(self).values())
        return (member for member in chain.from_iterable(values) if isinstance(member, ArraySearch))

    def index(self, corpus: Dataset, **options: Any) -> None:
        """Set the corpus, with the arguments of mteb; expensive steps wait for the search."""
        self.doc_ids = ranked_ids(corpus["id"][:])
        self.corpus = corpus
        try:
            self.prepare(SearchContext.of(**options))
        except BaseException:
            self.corpus = None  # a failed index is not an index
            del self.doc_ids
            raise

    def ensure_indexed(self, corpus: Dataset, context: SearchContext) -> None:
        """Index a corpus unless it is the current one: a system may be shared by several wrappers."""
        if self.corpus is not corpus:
            self.index(corpus, **context.as_kwargs())

    def prepare(self, context: SearchContext) -> None:  # noqa: B027
        """Process a new corpus."""

    def corpus_numbers(self) -> NDArray[np.int64]:
        """Numbers into ``doc_ids`` of the documents, in the order of the corpus."""
        number = {document: position for position, document in enumerate(self.doc_ids)}
        return np.array([number[document] for document in self.corpus["id"][:]], np.int64)

    @abstractmethod
    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        """Rank what every query may see of the corpus; without hidden documents if ``hides``."""

    def rank(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        """The best ``top_k`` documents of every query that it may see."""
        if self.hides or not context.hidden:
            return self.search_run(queries, top_k, context).top(top_k)
        return self.search_run(queries, top_k + context.most_hidden, context).without(context.hidden).top(top_k)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """Rankings without and with hidden documents; where scores depend on them, a subclass overrides this."""
        if not context.hidden:
            run = self.rank(queries, top_k, context)
            return run, run
        unfiltered = self.search_run(queries, top_k + context.most_hidden, replace(context, hidden={}))
        return unfiltered.without(context.hidden).top(top_k), unfiltered.top(top_k)

    def encode_ahead(self, queries: Dataset, context: SearchContext) -> None:
        """Encode all texts of a search in the same calls, without searching."""
        problem = f"{self.mteb_model_meta.name} does not search by one vector a text, so nothing can be encoded ahead"
        raise ModelError(problem, remedy="run it as it is")

    def search(self, queries: Dataset, *, top_k: int, **options: Any) -> Results:
        """The ranking in mteb's form, with the arguments of mteb."""
        if not hasattr(self, "doc_ids"):
            raise ModelError("search was called before index")
        return self.rank(queries, top_k, SearchContext.of(**options)).to_dict()
