"""Retrieval evaluated on arrays: the same scores as by mteb's machinery, several times faster and in a fraction of the memory.

mteb holds a ranking as a dictionary of dictionaries, a Python object for each query and rank, and every step walks over them. Here
it stays a :class:`~patent_mteb.models.search.Run`; dictionaries are made of it, query by query, only where someone asks for one (a
TREC run file, the scores of a family). Search: :mod:`patent_mteb.models.dense` for encoders, the model itself where it
searches on arrays. Scores: :mod:`patent_mteb.metrics.scoring`.

``PATENT_MTEB_FAST=0`` leaves everything to mteb; so do predictions that mteb is asked to save, and models with a search of their
own. ``tests/test_fast_path.py`` holds both ways to the same results.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from patent_mteb.metrics import ranking, scoring
from patent_mteb.models.dense import DenseSearch, excluding, is_encoder
from patent_mteb.models.search import ArraySearch, Run, SearchContext

if TYPE_CHECKING:
    from patent_mteb.tasks.base import PatentRetrieval

__all__ = ["VARIABLE", "Rankings", "applies", "evaluate"]

logger = logging.getLogger(__name__)

VARIABLE = "PATENT_MTEB_FAST"


class Rankings(Mapping[str, Mapping[str, float]]):
    """A run as mteb's ``{query id: {document id: score}}``, each entry made when it is asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._row = {query: row for row, query in enumerate(run.query_ids)}

    def __getitem__(self, query: str) -> dict[str, float]:
        row = slice(self._row[query], self._row[query] + 1)
        return Run([query], self.run.doc_ids, self.run.docs[row], self.run.scores[row]).to_dict()[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self.run.query_ids)

    def __len__(self) -> int:
        return len(self.run.query_ids)


def applies(task: PatentRetrieval, model: Any, *, prediction_folder: Any = None, **kwargs: Any) -> bool:
    """Whether a task can be evaluated here, with the results that mteb's machinery would give."""
    return (
        os.environ.get(VARIABLE, "1") != "0"
        and prediction_folder is None
        and (is_encoder(model) or isinstance(model, ArraySearch))
        and not (task.skip_first_result or task.ignore_identical_ids)
        and 1 in task.k_values
    )


def evaluate(
    task: PatentRetrieval,
    model: Any,
    data_split: Any,
    *,
    encode_kwargs: Mapping[str, Any],
    hf_split: str,
    hf_subset: str,
    timer: Any,
    num_proc: int | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Scores of a task, as its ``_evaluate_subset`` gives them."""
    context = SearchContext(task.metadata, hf_split, hf_subset, dict(encode_kwargs), data_split["top_ranked"], num_proc)
    run = _search(task, model, data_split, context, timer)
    qrels = data_split["relevant_docs"]
    with timer("Scoring", split=hf_split, subset=hf_subset, log_message="Running retrieval task - Evaluating retrieval scores..."):
        judgements = scoring.Judgements.of(qrels, run.query_ids, run.doc_ids)
        scores: dict[str, Any] = scoring.retrieval_scores(run.docs, run.scores, judgements, task.k_values)
        ranks = _ranks(run, judgements)
    scores |= task.patent_scores(ranks, qrels, Rankings(run))
    logger.info("Running retrieval task - Finished.")
    return scores


def _search(task: PatentRetrieval, model: Any, data_split: Any, context: SearchContext, timer: Any) -> Run:
    """The ranking, with the phases of mteb's timer."""
    searched: ArraySearch = excluding(model, task.tables.exclusions)
    corpus, queries = data_split["corpus"], data_split["queries"]
    indexing = {**context.encoding(), "encode_kwargs": context.encode_kwargs, "num_proc": context.num_proc}
    depth = max(task.k_values)
    if isinstance(searched, DenseSearch):
        searched.timer = timer
        searched.index(corpus, **indexing)
        return searched.search_run(queries, depth, context)
    with timer("Encoding corpus", split=context.hf_split, subset=context.hf_subset):
        searched.index(corpus, **indexing)
    with timer("Encoding queries", split=context.hf_split, subset=context.hf_subset):
        return searched.search_run(queries, depth, context)


def _ranks(run: Run, judgements: scoring.Judgements) -> ranking.Ranks:
    """Ranks of the judged documents that were retrieved, in trec_eval's order."""
    found = scoring.ranks_of(scoring.trec_order(run.docs, run.scores), judgements)
    ranks: ranking.Ranks = {query: {} for query in run.query_ids}
    here = np.flatnonzero(found)
    columns = (judgements.query[here], judgements.document[here], found[here])
    for query, document, rank in zip(*(column.tolist() for column in columns), strict=True):
        ranks[run.query_ids[query]][run.doc_ids[document]] = rank
    return ranks
