"""What search systems share: the texts that mteb's encoders read, the context of a search, and the search on arrays."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import DataError, ModelError
from patent_mteb.search.run import Results, Run, pairs_matrix, ranked_ids

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.abstasks.task_metadata import TaskMetadata

__all__ = ["ArraySearch", "SearchContext", "document_text", "query_texts", "text_dataset"]

_ROWS_AT_ONCE = 10_000
_CHARACTERS_AT_ONCE = 1 << 26


def document_text(row: Mapping[str, Any]) -> str:
    """Text of a corpus row as mteb's encoders read it: title, blank, text; without a title the text alone; stripped.

    Example:
        >>> from patent_mteb.search.base import document_text
        >>> document_text({"title": "Pump", "text": "A pump is shown."})
        'Pump A pump is shown.'
    """
    title = row.get("title") or ""
    return str(f"{title} {row['text']}" if title else row["text"]).strip()


def _query_text(text: Any, instruction: str | None) -> str:
    if isinstance(text, str):
        return text if instruction is None else f"{text} {instruction}"
    turns = [turn if isinstance(turn, str) else f"{turn['role']}: {turn['content']}" for turn in text]
    conversation = "; ".join(turns)
    return conversation if instruction is None else f"{instruction} {conversation}"


def query_texts(queries: Dataset) -> list[str]:
    """Texts of queries as mteb's encoders read them: an instruction follows a text and precedes a conversation.

    Example:
        >>> from datasets import Dataset
        >>> from patent_mteb.search.base import query_texts
        >>> query_texts(Dataset.from_dict({"id": ["q"], "text": ["a pump"], "instruction": ["Find prior art."]}))
        ['a pump Find prior art.']
    """
    instructions = queries["instruction"][:] if "instruction" in queries.column_names else [None] * len(queries)
    return [_query_text(text, instruction) for text, instruction in zip(queries["text"][:], instructions, strict=True)]


def text_dataset(columns: Mapping[str, Sequence[Any]]) -> Dataset:
    """Columns as a data set whose texts may be larger than 2 GiB together (64-bit offsets), converted a few at a time.

    Args:
        columns: name -> values; those that begin with a string are texts.

    Example:
        >>> text_dataset({"id": ["a", "b"], "text": ["one", "two"]})["text"][:]
        ['one', 'two']
    """
    import pyarrow as pa
    from datasets import Dataset

    table: dict[str, pa.ChunkedArray] = {}
    same: dict[int, pa.ChunkedArray] = {}  # columns that are one list are one array
    for name, values in columns.items():
        if id(values) in same:
            table[name] = same[id(values)]
            continue
        kind = pa.large_string() if len(values) and isinstance(values[0], str) else None
        blocks = [pa.array(block, kind) for block in _blocks(values, texts=kind is not None)]
        table[name] = same[id(values)] = pa.chunked_array(blocks or [pa.array([], pa.large_string())])
    return Dataset(pa.table(table), fingerprint=secrets.token_hex(8))  # datasets would make one by copying the whole table


def _blocks(values: Sequence[Any], texts: bool) -> Iterator[Sequence[Any]]:
    """Values a few at a time: by number and, for texts, by size."""
    start = size = 0
    for position, value in enumerate(values):
        size += len(value or "") if texts else 0
        if size >= _CHARACTERS_AT_ONCE or position + 1 - start == _ROWS_AT_ONCE:
            yield values[start : position + 1]
            start, size = position + 1, 0
    if start < len(values):
        yield values[start:]


@dataclass(frozen=True)
class SearchContext:
    """What belongs to a search beside its queries and the length of its rankings.

    Attributes:
        task_metadata, hf_split, hf_subset, encode_kwargs, num_proc: as in mteb's search.
        top_ranked: the documents that a reranking task lets each query see; a query without entry sees none.
        hidden: the documents that each query must not see (its own family), which also take no place in its ranking.
    """

    task_metadata: TaskMetadata
    hf_split: str
    hf_subset: str
    encode_kwargs: dict[str, Any]
    top_ranked: Mapping[str, Sequence[str]] | None = None
    num_proc: int | None = None
    hidden: Mapping[str, Set[str]] = field(default_factory=dict)

    def as_kwargs(self) -> dict[str, Any]:
        """The arguments of mteb's ``search``, which knows nothing of hidden documents."""
        return {**self.encoding(), "encode_kwargs": self.encode_kwargs, "top_ranked": self.top_ranked, "num_proc": self.num_proc}

    def encoding(self) -> dict[str, Any]:
        """The arguments of mteb's ``encode``."""
        return {"task_metadata": self.task_metadata, "hf_split": self.hf_split, "hf_subset": self.hf_subset}

    def candidates(self, query_ids: Sequence[str], doc_ids: Sequence[str]) -> Any:
        """``top_ranked`` as a boolean SciPy matrix [queries, documents] (CSC), None if every query sees the whole corpus.

        Raises:
            DataError: a candidate is not in the corpus.
        """
        if self.top_ranked is None:
            return None
        known = set(doc_ids)
        for query in query_ids:
            for document in self.top_ranked.get(query) or ():
                if document not in known:
                    raise DataError(f"candidate document {document!r} of a reranking task is not in the corpus")
        return pairs_matrix(self.top_ranked, query_ids, doc_ids)

    @property
    def most_hidden(self) -> int:
        """The largest number of documents hidden from one query."""
        return max(map(len, self.hidden.values()), default=0)


class ArraySearch(ABC):
    """A search model of mteb whose ranking is a :class:`Run`; a subclass says how the run comes about.

    :meth:`rank` is what one system calls on another: it leaves hidden documents out. A subclass that hides them itself (because it
    passes the context on, or never scores them) says so with ``hides``; of any other more documents are asked for, and filtered.
    One that divides documents itself says so with ``cuts_documents``.
    """

    mteb_model_meta: ModelMeta
    corpus: Any = None
    doc_ids: list[str]
    hides = False
    cuts_documents = False

    def index(
        self,
        corpus: Dataset,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: Any,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Take the corpus; what must be computed from it is computed when it is searched."""
        self.doc_ids = ranked_ids(corpus["id"][:])
        self.corpus = corpus
        try:
            self.prepare(SearchContext(task_metadata, hf_split, hf_subset, dict(encode_kwargs or {}), None, num_proc))
        except BaseException:
            self.corpus = None  # what could not be indexed must not be taken for indexed
            raise

    def ensure_indexed(self, corpus: Dataset, context: SearchContext) -> None:
        """Index a corpus unless it is the one at hand: a system that several wrappers share may have been given another since."""
        if self.corpus is not corpus:
            self.index(corpus, **context.encoding(), encode_kwargs=context.encode_kwargs, num_proc=context.num_proc)

    def prepare(self, context: SearchContext) -> None:  # noqa: B027
        """What a subclass does with a new corpus."""

    @abstractmethod
    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        """The ranking of every query over the indexed corpus; without hidden documents if ``hides``."""

    def rank(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        """The best ``top_k`` documents of every query that it may see."""
        if self.hides or not context.hidden:
            return self.search_run(queries, top_k, context).top(top_k)
        return self.search_run(queries, top_k + context.most_hidden, context).without(context.hidden).top(top_k)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """The ranking of the documents that every query may see, as :meth:`rank` gives it, and the one with nothing hidden.

        Both are read off one search. A subclass whose scores of a document depend on other documents (fusion normalises them,
        reranking chooses candidates by them) replaces this.
        """
        if not context.hidden:
            run = self.rank(queries, top_k, context)
            return run, run
        whole = self.search_run(queries, top_k + context.most_hidden, replace(context, hidden={}))
        return whole.without(context.hidden).top(top_k), whole.top(top_k)

    def search(
        self,
        queries: Dataset,
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
        return self.rank(queries, top_k, context).to_dict()
