"""Convert any mteb model to a search on arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from mteb.models import CrossEncoderProtocol, SearchCrossEncoderWrapper, SearchEncoderWrapper, SearchProtocol
from mteb.models.sentence_transformer_wrapper import SparseEncoderWrapper

from patent_mteb.data.roots import switched_on
from patent_mteb.search.base import ArraySearch, Gate, SearchContext
from patent_mteb.search.dense import DenseSearch
from patent_mteb.search.run import Results, Run
from patent_mteb.search.sparse import SparseSearch
from patent_mteb.search.vectors import Checked, is_encoder

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.models import MTEBModels


FAST_VARIABLE = "PATENT_MTEB_FAST"


def on_arrays() -> bool:
    """Whether searches run on arrays; ``PATENT_MTEB_FAST=0`` leaves them to mteb."""
    return switched_on(FAST_VARIABLE, default=True)


def engine(model: MTEBModels) -> ArraySearch:
    """Any mteb model as a search on arrays: encoders by their vectors, others by their own search."""
    if isinstance(model, ArraySearch):
        return model
    if isinstance(model, SparseEncoderWrapper) and on_arrays():
        return SparseSearch(model)
    if is_encoder(model):
        return DenseSearch(model) if on_arrays() else MtebSearch(SearchEncoderWrapper(cast("Any", Checked(model))))
    if isinstance(model, CrossEncoderProtocol):
        return MtebSearch(SearchCrossEncoderWrapper(model))
    if isinstance(model, SearchProtocol):
        return MtebSearch(model)
    raise TypeError(f"{type(model).__name__} is neither an encoder, nor a cross-encoder, nor a search model of mteb")


class MtebSearch(ArraySearch):
    """A search model of mteb whose rankings are converted to arrays."""

    def __init__(self, model: SearchProtocol) -> None:
        self.model = model
        self.mteb_model_meta = model.mteb_model_meta

    def ensure_indexed(self, corpus: Dataset, context: SearchContext) -> None:
        """Always index: mteb's wrapper of encoders drops its corpus after each search."""
        self.index(corpus, **context.encoding(), encode_kwargs=context.encode_kwargs, num_proc=context.num_proc)

    def prepare(self, context: SearchContext) -> None:
        options: Any = {"encode_kwargs": context.encode_kwargs, "num_proc": context.num_proc}
        self.model.index(self.corpus, **context.encoding(), **options)

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        options: Any = context.as_kwargs()
        return Run.from_dict(self.model.search(queries, top_k=top_k, **options), queries["id"][:], self.doc_ids)


class AsMteb:
    """A search on arrays for mteb's evaluation; its last rankings, with and without hidden documents."""

    def __init__(self, system: ArraySearch, hidden: Mapping[str, Set[str]], gate: Gate | None = None) -> None:
        self.system = system
        self.hidden = hidden
        self.gate = gate
        self.run: Run | None = None
        self.unfiltered: Run | None = None
        self.mteb_model_meta = system.mteb_model_meta

    def index(self, corpus: Dataset, **kwargs: Any) -> None:
        self.system.index(corpus, **kwargs)

    def search(
        self,
        queries: Dataset,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        top_k: int,
        encode_kwargs: Any,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> Results:
        context = SearchContext(task_metadata, hf_split, hf_subset, dict(encode_kwargs or {}), top_ranked, num_proc)
        run, self.unfiltered = self.system.rank_both(
            queries, top_k, replace(context, hidden=self.hidden, gate=self.gate)
        )
        self.run = replace(run, task=task_metadata.name)
        return self.run.to_dict()
