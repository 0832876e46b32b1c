"""Search in documents that are several vectors: each section is a row of its own, a document scores as its best
section.

This is PatentMap's "Claims -> All" for every model that mteb can search with (encoders, BM25, late interaction), with
the model's own search. :class:`~patent_mteb.search.passages.Passages` with ``Sections`` gives encoders and BM25 the
same scores under an identity of its own; here the model keeps its identity, for how documents are read is the task's
matter, and the run says which section each document was found by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from patent_mteb.patents.corpus import text_column, text_dataset
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.engine import engine
from patent_mteb.search.run import Run, ranked_ids

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.models import MTEBModels


class BestSection(ArraySearch):
    """A search model over the sections of documents, each scored by its best section.

    The corpus has a column ``sections``, a list of texts for each document. Empty texts are skipped, and a document
    without sections is never found. With ``n`` sections a document, the inner model is asked for ``n`` times as many
    rows, so the best ``top_k`` documents are exact. The ``parts`` of the run are the numbers of the best sections, the
    first of equals.
    """

    hides = True
    gates = True

    def __init__(self, model: MTEBModels, *, missing: bool = False) -> None:
        self.model = model
        self.missing = missing
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
        rows = self._rows_context(context)
        self._system.ensure_indexed(self._sections, rows)
        return self._by_document(self._system.rank(queries, top_k * self._most, rows), top_k)

    def encode_ahead(self, queries: Dataset, context: SearchContext) -> None:
        rows = self._rows_context(context)
        self._system.ensure_indexed(self._sections, rows)
        self._system.encode_ahead(queries, rows)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """Both rankings of sections, by document."""
        rows = self._rows_context(context)
        self._system.ensure_indexed(self._sections, rows)
        seen, whole = self._system.rank_both(queries, top_k * self._most, rows)
        return self._by_document(seen, top_k), self._by_document(whole, top_k)

    def _rows_context(self, context: SearchContext) -> SearchContext:
        """The context with sections instead of documents."""
        allowed = context.top_ranked
        return replace(
            context,
            top_ranked=(
                None if allowed is None else {query: self._rows_of(documents) for query, documents in allowed.items()}
            ),
            hidden={query: frozenset(self._rows_of(documents)) for query, documents in context.hidden.items()},
            gate=context.gate.of_parts(self._owners) if context.gate else None,
        )

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
        run = Run(found.query_ids, self.doc_ids, docs, scores, parts).ordered()
        depth = int((run.docs >= 0).sum(axis=1).max(initial=0))
        return run.top(min(depth, top_k))

    def _rows_of(self, documents: Iterable[str]) -> list[str]:
        return [row for document in documents for row in self._rows.get(document, ())]
