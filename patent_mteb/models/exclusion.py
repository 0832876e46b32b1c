"""Search with forbidden pairs: a document never counts against itself."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from mteb.models import CrossEncoderProtocol, EncoderProtocol, SearchCrossEncoderWrapper, SearchEncoderWrapper, SearchProtocol
from mteb.models.model_meta import ModelMeta

__all__ = ["Excluding", "as_search"]


def as_search(model: Any) -> SearchProtocol:
    """The model as a search model: encoders and cross-encoders are wrapped as mteb's own evaluation wraps them.

    Raises:
        TypeError: the model follows none of mteb's protocols.
    """
    if isinstance(model, EncoderProtocol) and not isinstance(model, SearchProtocol):
        return SearchEncoderWrapper(model)
    if isinstance(model, CrossEncoderProtocol):
        return SearchCrossEncoderWrapper(model)
    if isinstance(model, SearchProtocol):
        return model
    raise TypeError(f"{type(model).__name__} is neither an encoder, nor a cross-encoder, nor a search model of mteb")


class Excluding:
    """A search model whose rankings leave out given documents, and still hold ``top_k`` others.

    The inner model is asked for as many more documents as the largest exclusion of one query has, so that what remains is the
    exact top ``top_k`` of the allowed documents.

    Args:
        model: any mteb model.
        exclusions: for each query id the document ids that must not appear; queries without an entry lose nothing.
    """

    def __init__(self, model: Any, exclusions: Mapping[str, Set[str]]) -> None:
        self.model = model
        self.search_model = as_search(model)
        self.exclusions = exclusions

    @property
    def mteb_model_meta(self) -> ModelMeta:
        return self.model.mteb_model_meta  # type: ignore[no-any-return]

    def index(self, corpus: Any, **kwargs: Any) -> None:
        self.search_model.index(corpus, **kwargs)

    def search(self, queries: Any, *, top_k: int, **kwargs: Any) -> dict[str, dict[str, float]]:
        spare = max((len(documents) for documents in self.exclusions.values()), default=0)
        found = self.search_model.search(queries, top_k=top_k + spare, **kwargs)
        nothing: frozenset[str] = frozenset()
        kept: dict[str, dict[str, float]] = {}
        for query, scores in found.items():
            forbidden = self.exclusions.get(query, nothing)
            allowed = [(score, document) for document, score in scores.items() if document not in forbidden]
            if len(allowed) > top_k:
                allowed = sorted(allowed, reverse=True)[:top_k]
            kept[query] = {document: score for score, document in allowed}
        return kept
