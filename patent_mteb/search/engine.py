"""Convert any mteb model to a search on arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, cast

import numpy as np
from datasets import Dataset, concatenate_datasets
from mteb.models import (
    CrossEncoderProtocol,
    MTEBModels,
    SearchCrossEncoderWrapper,
    SearchEncoderWrapper,
    SearchProtocol,
)
from mteb.models.sentence_transformer_wrapper import SparseEncoderWrapper

from patent_mteb.data.loading import switched_on
from patent_mteb.errors import ModelError
from patent_mteb.search.base import ArraySearch, Gate, SearchContext
from patent_mteb.search.dense import DenseSearch
from patent_mteb.search.run import Results, Run
from patent_mteb.search.sparse import SparseSearch
from patent_mteb.search.vectors import Checked, is_encoder

FAST_VARIABLE = "PATENT_MTEB_FAST"
_DEEPER = 8  # times the depth at which queries with too few visible documents are asked again


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
        if on_arrays():
            return DenseSearch(model)
        checked = model if isinstance(model, SparseEncoderWrapper) else Checked(model)  # its vectors are sparse
        return MtebSearch(SearchEncoderWrapper(cast("Any", checked)))
    if isinstance(model, CrossEncoderProtocol):
        return MtebSearch(SearchCrossEncoderWrapper(model))
    if isinstance(model, SearchProtocol):
        return MtebSearch(model)
    problem = f"{type(model).__name__} is neither an encoder, nor a cross-encoder, nor a search model of mteb"
    raise ModelError(problem, remedy="load one with patent_mteb.models.load")


class MtebSearch(ArraySearch):
    """A search model of mteb whose rankings are converted to arrays."""

    def __init__(self, model: SearchProtocol) -> None:
        self.model = model
        self.mteb_model_meta = model.mteb_model_meta

    def ensure_indexed(self, corpus: Dataset, context: SearchContext) -> None:
        """Always index: mteb's wrapper of encoders drops its corpus after each search."""
        self.corpus = None
        super().ensure_indexed(corpus, context)

    def prepare(self, context: SearchContext) -> None:
        self.model.index(self.corpus, **context.as_kwargs())

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        """The model's ranking; with a gate, at increasing depths until every query has what it may see."""
        if (gate := context.gate) is None:
            return self._search(queries, top_k, context)
        allowed = None if context.top_ranked is None else gate.admitted(context.top_ranked)
        blind = replace(context, gate=None, top_ranked=allowed)
        results: Results = {}
        missing, depth = queries, top_k
        while True:
            depth = min(depth, len(self.doc_ids))
            found = self._search(missing, depth, blind)
            seen = gate.filter(found).top(top_k)
            results |= seen.to_dict()
            n_found, n_seen = ((run.docs >= 0).sum(axis=1) for run in (found, seen))
            too_few = np.flatnonzero((n_seen < top_k) & (n_found >= depth))
            if not len(too_few) or depth == len(self.doc_ids):
                return Run.from_dict(results, queries["id"][:], self.doc_ids)
            missing, depth = missing.select(too_few.tolist()), depth * _DEEPER
            self.ensure_indexed(self.corpus, blind)

    def _search(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        candidates: Any = context.top_ranked
        results = self.model.search(queries, top_k=top_k, top_ranked=candidates, **context.as_kwargs())
        return Run.from_dict(results, queries["id"][:], self.doc_ids)


def with_more(queries: Dataset, more: Dataset | None) -> Dataset:
    """Return two sets of queries as one."""
    return concatenate_datasets([queries, more]) if more is not None and len(more) else queries


def rank_with_more(
    system: ArraySearch, queries: Dataset, more: Dataset | None, top_k: int, context: SearchContext
) -> tuple[Run, Run]:
    """Rank queries without hidden documents, and these with ``more`` with nothing hidden."""
    asked = with_more(queries, more)
    run, unfiltered = system.rank_both(asked, top_k, context)
    return run if asked is queries else run.rows(np.arange(len(queries))), unfiltered


class AsMteb:
    """A search on arrays for mteb's evaluation; its last rankings, with and without hidden documents.

    ``more`` are queries that are ranked with nothing hidden only.
    """

    def __init__(
        self,
        system: ArraySearch,
        hidden: Mapping[str, Set[str]],
        gate: Gate | None = None,
        more: Dataset | None = None,
    ) -> None:
        self.system, self.hidden, self.gate, self.more = system, hidden, gate, more
        self.run: Run | None = None
        self.unfiltered: Run | None = None
        self.mteb_model_meta = system.mteb_model_meta

    def index(self, corpus: Dataset, **kwargs: Any) -> None:
        self.system.index(corpus, **kwargs)

    def search(self, queries: Dataset, *, top_k: int, **options: Any) -> Results:
        context = replace(SearchContext.of(**options), hidden=self.hidden, gate=self.gate)
        run, self.unfiltered = rank_with_more(self.system, queries, self.more, top_k, context)
        self.run = replace(run, task=context.task_metadata.name)
        return self.run.to_dict()
