"""Two-stage search: a cross-encoder reranks the candidates of any search model.

WIPO-AT section 3.3.5 reranks the top 100 and truncates each pair of query and document at 512 tokens.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import Dataset
from mteb.models import CrossEncoderProtocol, CrossEncoderWrapper, MTEBModels, SearchCrossEncoderWrapper
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.identity import compose_meta, content_revision, local_name
from patent_mteb.search.base import ArraySearch, SearchContext
from patent_mteb.search.engine import MtebSearch, engine
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.passages import TokenWindows, WordTokenizer, inner_models, tokenizer_of
from patent_mteb.search.run import FirstStage, Results, Run
from patent_mteb.search.trec import total_effort
from patent_mteb.store.pair_scores import StoredPairs, one_score, row_loader, rows_of

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

logger = logging.getLogger(__name__)
_MANY = 20  # different pairs that a model does not give one score, unless it gives grades
_LENGTH_NAMES = ("max_seq_length", "max_length")


def as_cross_encoder(model: CrossEncoderProtocol | ModelMeta | CrossEncoder | Path | str) -> CrossEncoderProtocol:
    """Return a model as an mteb cross-encoder with an identity."""
    from sentence_transformers import CrossEncoder

    cross_encoder: Any = model.load_model() if isinstance(model, ModelMeta) else model
    if isinstance(cross_encoder, (str, Path)):
        if not Path(cross_encoder).is_dir():
            remedy = "load a model of the hub with patent_mteb.models.load"
            raise ModelError(f"there is no directory {cross_encoder}", remedy=remedy)
        cross_encoder = CrossEncoder(str(cross_encoder))
    if isinstance(cross_encoder, CrossEncoder):
        wrapped = CrossEncoderWrapper(cross_encoder)
        folder = Path(wrapped.mteb_model_meta.name or "")
        if folder.name and folder.is_dir():
            identity = {"name": local_name(folder), "revision": content_revision(folder)}
            wrapped.mteb_model_meta = wrapped.mteb_model_meta.model_copy(update=identity)
        cross_encoder = wrapped
    if not isinstance(cross_encoder, CrossEncoderProtocol):
        raise ModelError(
            f"{type(cross_encoder).__name__} is not a cross-encoder (mteb's protocol: predict(inputs1, inputs2))",
            remedy="give an mteb cross-encoder, its ModelMeta, a sentence_transformers.CrossEncoder or its directory",
        )
    return cross_encoder


def second_stage(model: Any) -> Any:
    """Return a late-interaction model or a ranker of lists unchanged, any other as a cross-encoder."""
    return model if _ranks_candidates(model) else as_cross_encoder(model)


def _ranks_candidates(model: Any) -> bool:
    return isinstance(model, LateInteraction) or getattr(model, "ranks_lists", False)


def _chunks(model: Any, tokens: int) -> TokenWindows:
    if _ranks_candidates(model):
        raise ModelError(
            f"{model.mteb_model_meta.name} compares whole documents, so they have no chunks",
            remedy="leave out chunk_tokens (--rerank-chunks)",
        )
    has_tokenizer = any(getattr(inner, "tokenizer", None) is not None for inner in inner_models(model))
    return TokenWindows(tokens, tokenizer=tokenizer_of(model) if has_tokenizer else WordTokenizer())


def _limit_pairs(model: CrossEncoderProtocol, max_length: int) -> None:
    """Truncate pairs at ``max_length`` tokens, or at the model's lower limit."""
    own_model: Any = model.model if isinstance(model, StoredPairs) else model
    wrapped = getattr(own_model, "model", own_model)
    for name in _LENGTH_NAMES:
        limit = getattr(wrapped, name, None)
        if isinstance(limit, int):
            setattr(wrapped, name, min(limit, max_length))
            return
    problem = f"{model.mteb_model_meta.name} shows no token limit (neither {' nor '.join(_LENGTH_NAMES)})"
    remedy = "max_length=None leaves its own limit in force"
    raise ModelError(f"{problem}, so its pairs cannot be cut at {max_length} tokens", remedy=remedy)


class _Scorer:
    """A cross-encoder that is checked to return one number a pair, the best of the chunks of a document."""

    def __init__(self, model: CrossEncoderProtocol, chunks: TokenWindows | None) -> None:
        self.model, self.chunks = model, chunks
        self.mteb_model_meta = model.mteb_model_meta
        self.n_pairs = 0

    def predict(self, inputs1: Any, inputs2: Any, **kwargs: Any) -> NDArray[np.float64]:
        if self.chunks is None:
            return self._scores(inputs1, inputs2, **kwargs)
        queries, documents = list(rows_of(inputs1)), list(rows_of(inputs2))
        if not documents:
            return np.zeros(0)
        texts = self.chunks([{"text": document["text"]} for document in documents])
        n_chunks = list(map(len, texts))
        parts = [{**row, "text": text} for row, of_row in zip(documents, texts, strict=True) for text in of_row]
        repeated = [query for query, n in zip(queries, n_chunks, strict=True) for _ in range(n)]
        sides = (row_loader(rows, inputs1.batch_size) for rows in (repeated, parts))
        return np.maximum.reduceat(self._scores(*sides, **kwargs), np.cumsum([0, *n_chunks[:-1]]))

    def _scores(self, inputs1: Any, inputs2: Any, **kwargs: Any) -> NDArray[np.float64]:
        name = self.mteb_model_meta.name
        scores = one_score(self.model.predict(inputs1, inputs2, **kwargs), name)
        self.n_pairs += len(scores)
        if len(scores) >= _MANY and (scores == scores[0]).all() and not getattr(self.model, "graded", False):
            sides = (rows_of(inputs, without="id") for inputs in (inputs1, inputs2))
            different = {json.dumps(pair) for pair in zip(*sides, strict=True)}
            if len(different) >= _MANY:
                problem = f"{name} gives each of {len(scores)} pairs of texts the score {scores[0]:g}"
                raise ModelError(problem, remedy="check its weights; they may be damaged, or not trained to rerank")
        return scores


class Reranked(ArraySearch):
    """A first stage reranked by a cross-encoder: ``Reranked(bm25("dapfam"), model)``.

    Only the top k documents of the first stage are returned, with the scores of the cross-encoder. In a reranking task
    the first stage ranks the given candidates. The run refers to that of the first stage, whose Recall@k a
    task reports.

    Args:
        first_stage: any mteb model that can search; encoders are wrapped as in mteb.
        cross_encoder: an argument of :func:`as_cross_encoder`, or a late-interaction model or a
            :class:`~patent_mteb.models.judge.ListJudge`, which truncate texts themselves.
        k: documents that are reranked for each query; 100 in the paper.
        max_length: tokens of a pair, special tokens included; 512 in the paper. It is set on the given cross-encoder.
            None leaves its own limit; a language model (:mod:`patent_mteb.models.judge`) truncates pairs itself.
        chunk_tokens: tokens of a chunk of a document, by the model's tokenizer, else words. The best chunk counts
            (MaxP), so that long texts are read to their ends. None reads their beginnings, as the paper does.
    """

    hides = True

    def __init__(
        self,
        first_stage: MTEBModels,
        cross_encoder: ArraySearch | CrossEncoderProtocol | ModelMeta | CrossEncoder | Path | str,
        k: int = 100,
        max_length: int | None = 512,
        chunk_tokens: int | None = None,
    ) -> None:
        if k < 1 or (max_length is not None and max_length < 1):
            raise ValueError(f"k and max_length must be positive, got k = {k} and max_length = {max_length}")
        self.k = k
        self._first = engine(first_stage)
        self._cross_encoder = second_stage(cross_encoder)
        cuts = _ranks_candidates(cross_encoder) or getattr(self._cross_encoder, "cuts_pairs", False)
        self.max_length = max_length = None if cuts else max_length
        if max_length is not None:
            _limit_pairs(self._cross_encoder, max_length)
        self._chunks = None if chunk_tokens is None else _chunks(self._cross_encoder, chunk_tokens)
        parts = [first_stage.mteb_model_meta, self._cross_encoder.mteb_model_meta]
        settings: dict[str, Any] = {"k": k, "max_length": max_length}
        if self._chunks is not None:
            settings["chunks"] = self._chunks.settings
        self.mteb_model_meta = compose_meta("reranked", parts, settings, tag=str(k))

    def search_run(self, queries: Dataset, top_k: int, context: SearchContext) -> Run:
        self._first.ensure_indexed(self.corpus, context)
        first = self._first.rank(queries, self.k, context)
        return self._with_tie_order(self._reranked(queries, first.to_dict(), self.k, context, first), first).top(top_k)

    def rank_both(self, queries: Dataset, top_k: int, context: SearchContext) -> tuple[Run, Run]:
        """Rank the first stage once, and score each pair of either ranking once.

        The answers of a model that ranks lists depend on all documents of a list, so hidden ones are not shown to it;
        with nothing hidden, they keep their places of the first stage.
        """
        if not context.hidden:
            run = self.search_run(queries, top_k, context)
            return run, run
        self._first.ensure_indexed(self.corpus, context)
        seen, unfiltered = self._first.rank_both(queries, self.k, context)
        if getattr(self._cross_encoder, "ranks_lists", False):
            run = self._reranked(queries, seen.to_dict(), self.k, context, seen)
            every = replace(_with_hidden(run, unfiltered), first_stage=FirstStage(unfiltered, self.k))
            return run.top(top_k), every.top(top_k)
        found = seen.to_dict(), unfiltered.to_dict()
        either = {query: found[0][query] | found[1][query] for query in seen.query_ids}
        scored = self._reranked(queries, either, 2 * self.k, context, seen)
        others = [{query: either[query].keys() - ranked[query].keys() for query in either} for ranked in found]
        every = replace(scored.without(others[1]), first_stage=FirstStage(unfiltered, self.k))
        depth = min(top_k, self.k)
        ordered = self._with_tie_order(scored.without(others[0]), seen)
        return ordered.top(depth), self._with_tie_order(every, unfiltered).top(depth)

    def _reranked(self, queries: Dataset, candidates: Results, k: int, context: SearchContext, first: Run) -> Run:
        """The candidates of each query in the order of the second stage."""
        pairs = {query: list(documents) for query, documents in candidates.items()}
        model = self._cross_encoder
        scorer = _Scorer(model, self._chunks)
        second = model if _ranks_candidates(model) else MtebSearch(SearchCrossEncoderWrapper(scorer))
        second.ensure_indexed(self.corpus, context)
        started = time.monotonic()
        run = second.rank(queries, k, replace(context, top_ranked=pairs, hidden={}, gate=None))
        n_pairs = scorer.n_pairs or sum(map(len, pairs.values()))
        effort = {"pairs": n_pairs, "seconds": time.monotonic() - started}
        efforts: dict[str, Any] = getattr(model, "efforts", dict)()
        effort |= getattr(model, "effort", dict)()  # counted by a paid reranker itself
        for problem in ("unreadable", "incomplete"):
            if effort.get(problem):
                logger.warning("%s: %d answers are %s", model.mteb_model_meta.name, effort[problem], problem)
        none = dict.fromkeys(total_effort(efforts), 0)
        efforts = {query: _rounded(none | efforts.get(query, {})) for query in pairs} if efforts else {}
        return replace(run, first_stage=FirstStage(first, self.k), effort=_rounded(effort), efforts=efforts)

    def _with_tie_order(self, run: Run, first: Run) -> Run:
        """Order documents of one grade, a whole number, by the first stage, if the reranker gives grades."""
        if not getattr(self._cross_encoder, "graded", False):
            return run
        scores = run.scores.astype(np.float64)
        for row, found in enumerate(run.docs):
            place = {int(document): position for position, document in enumerate(first.docs[row]) if document >= 0}
            for column, document in enumerate(found):
                if document >= 0:  # each gains less than 1 by its rank in the first stage
                    scores[row, column] += (first.depth - place[int(document)]) / (first.depth + 1)
        return replace(run, scores=scores.astype(np.float32)).ordered()


def _rounded(effort: Mapping[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in effort.items()}


def _with_hidden(run: Run, unfiltered: Run) -> Run:
    """The documents of ``unfiltered`` in the order of ``run``; those that ``run`` lacks keep their places."""
    merged: Results = {}
    for (query, ranked), found in zip(run.to_dict().items(), unfiltered.to_dict().values(), strict=True):
        order = iter([document for document in ranked if document in found])
        places = [next(order) if document in ranked else document for document in found]
        merged[query] = {document: float(len(places) - place) for place, document in enumerate(places)}
    return Run.from_dict(merged, run.query_ids, run.doc_ids)
