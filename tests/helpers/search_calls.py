"""Small models of somebody else, and calls of a search model as mteb does, or as our systems call each other."""

from __future__ import annotations

import mteb
import numpy as np
from datasets import Dataset
from mteb.mocks.mock_tasks import (
    MockInstructionRetrieval,
    MockRerankingTask,
    MockRetrievalDialogTask,
    MockRetrievalTask,
)
from mteb.models.model_meta import ModelMeta

from patent_mteb.search.base import SearchContext
from patent_mteb.search.engine import engine

METADATA = MockRetrievalTask.metadata


def corpus_of(texts: dict, **columns) -> Dataset:
    return Dataset.from_dict({"id": list(texts), "text": list(texts.values()), **columns})


def ranking(model, corpus, queries, top_k=10, top_ranked=None, **encode_kwargs):
    """The model's ranking; corpus and queries are dictionaries id -> text or data sets."""
    corpus = corpus_of(corpus) if isinstance(corpus, dict) else corpus
    queries = corpus_of(queries) if isinstance(queries, dict) else queries
    context = {
        "task_metadata": METADATA,
        "hf_split": "test",
        "hf_subset": "default",
        "encode_kwargs": {"show_progress_bar": False, **encode_kwargs},
        "num_proc": None,
    }
    model.index(corpus, **context)
    return model.search(queries, top_k=top_k, top_ranked=top_ranked, **context)


def context_of(hidden=None, top_ranked=None, **encode_kwargs) -> SearchContext:
    return SearchContext(
        METADATA, "test", "default", {"show_progress_bar": False, **encode_kwargs}, top_ranked, None, hidden or {}
    )


def run_of(model, corpus, queries, top_k=10, *, hidden=None, top_ranked=None, **encode_kwargs):
    """The run of any mteb model as a search on arrays; corpus and queries as for :func:`ranking`."""
    corpus = corpus_of(corpus) if isinstance(corpus, dict) else corpus
    queries = corpus_of(queries) if isinstance(queries, dict) else queries
    system, context = engine(model), context_of(hidden, top_ranked, **encode_kwargs)
    system.ensure_indexed(corpus, context)
    return system.rank(queries, top_k, context)


def left_out(results, hidden, top_k) -> dict:
    """What remains of deep rankings without hidden documents, worked out on dictionaries."""
    kept = {
        query: {name: score for name, score in found.items() if name not in hidden.get(query, ())}
        for query, found in results.items()
    }
    return {
        query: dict(sorted(found.items(), key=lambda one: one[::-1], reverse=True)[:top_k])
        for query, found in kept.items()
    }


def failures(result) -> dict:
    """Mock tasks of ``mteb.mock_run`` that did not pass, with their messages; asserts that retrieval tasks ran at
    all.
    """
    ran = {name: status for name, status in result.items() if status is not None}
    assert {
        "MockRetrievalTask",
        "MockRerankingTask",
        "MockInstructionRetrieval",
        "MockRetrievalDialogTask",
    } <= ran.keys()
    return {name: status.exception for name, status in ran.items() if hasattr(status, "exception")}


def mock_scores(model, *more) -> dict[str, float]:
    """The scores of mteb's mock tasks of retrieval, and of ``more``, by a model that keeps to its protocol."""
    tasks = [MockRetrievalTask, MockRerankingTask, MockInstructionRetrieval, MockRetrievalDialogTask, *more]
    found = mteb.evaluate(model, [task() for task in tasks], cache=None, show_progress_bar=False)
    assert len(found.task_results) == len(tasks)
    return {one.task_name: one.get_score() for one in found.task_results}


class Counting:
    """A foreign search model: the number of words in common, ties by id; records the requested depths."""

    mteb_model_meta = ModelMeta.create_empty({"name": "tests/counting", "revision": "1"})

    def __init__(self, change=dict):
        self.asked, self.indexed, self.change = [], 0, change

    def index(self, corpus, **context):
        self.corpus = dict(zip(corpus["id"], corpus["text"], strict=True))
        self.indexed += 1

    def search(self, queries, *, top_k, top_ranked=None, **context):
        self.asked.append(top_k)
        found = {}
        for query, text in zip(queries["id"], queries["text"], strict=True):
            seen = self.corpus if top_ranked is None else top_ranked.get(query, ())
            scores = {name: float(sum(self.corpus[name].split().count(word) for word in text.split())) for name in seen}
            found[query] = dict(sorted(scores.items(), key=lambda one: one[::-1], reverse=True)[:top_k])
        return self.change(found)


class Cross:
    """A cross-encoder that prefers short documents."""

    mteb_model_meta = ModelMeta.create_empty({"name": "tests/cross", "revision": "1", "model_type": ["cross-encoder"]})

    def predict(self, inputs1, inputs2, **kwargs):
        return np.array([-float(len(text)) for batch in inputs2 for text in batch["text"]])
