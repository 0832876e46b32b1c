"""Search in documents that are several vectors: each section is a row of its own, a document scores as its best section.

This is PatentMap's "Claims -> All" for every model that mteb can search with (encoders, BM25, late interaction), with the model's
own search. :class:`~patent_mteb.models.passages.Passages` with ``Sections`` gives encoders and BM25 the same scores; here the
section that a document was found by is kept too, and the model keeps its identity, for how documents are read is the task's
matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from datasets import Dataset
from mteb.models.model_meta import ModelMeta

from patent_mteb.models.exclusion import as_search

__all__ = ["BestSection"]


class BestSection:
    """A search model over the sections of documents.

    The corpus carries a column ``sections``, a list of texts a document, empty ones for what it lacks; a document without any
    section is never found. Of ``n`` sections a document the inner model is asked for ``n`` times as many rows, so the best
    ``top_k`` documents are exact.

    Attributes:
        best: after a search, ``{query id: {document id: number of its best section}}`` (the first of equals).
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.search_model = as_search(model)
        self.best: dict[str, dict[str, int]] = {}

    @property
    def mteb_model_meta(self) -> ModelMeta:
        return self.model.mteb_model_meta  # type: ignore[no-any-return]

    def index(self, corpus: Any, **kwargs: Any) -> None:
        texts: list[str] = []
        self._owner: dict[str, tuple[str, int]] = {}
        self._rows: dict[str, list[str]] = {}
        for document, sections in zip(corpus["id"], corpus["sections"], strict=True):
            for number, text in enumerate(sections):
                if text.strip():
                    row = f"{document}#{number}"
                    self._owner[row] = (document, number)
                    self._rows.setdefault(document, []).append(row)
                    texts.append(text)
        self._most = max(map(len, self._rows.values()), default=1)
        self.search_model.index(Dataset.from_dict({"id": list(self._owner), "text": texts}), **kwargs)

    def search(
        self, queries: Any, *, top_k: int, top_ranked: Mapping[str, Sequence[str]] | None = None, **kwargs: Any
    ) -> dict[str, dict[str, float]]:
        allowed = None
        if top_ranked is not None:
            allowed = {query: [row for key in documents for row in self._rows.get(key, ())] for query, documents in top_ranked.items()}
        found = self.search_model.search(queries, top_k=top_k * self._most, top_ranked=allowed, **kwargs)
        self.best = {}
        results: dict[str, dict[str, float]] = {}
        for query, scores in found.items():
            documents: dict[str, tuple[float, int]] = {}
            for row, score in scores.items():
                document, number = self._owner[row]
                documents[document] = max(documents.get(document, (float("-inf"), 0)), (score, -number))
            ranked = sorted(documents.items(), key=lambda item: (item[1][0], item[0]), reverse=True)[:top_k]
            results[query] = {document: score for document, (score, _) in ranked}
            self.best[query] = {document: -number for document, (_, number) in ranked}
        return results
