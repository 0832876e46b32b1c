"""Calls a search model as mteb does, on rows written in a test."""

from __future__ import annotations

from datasets import Dataset
from mteb.mocks.mock_tasks.retrieval import MockRetrievalTask

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


def failures(result) -> dict:
    """Mock tasks of ``mteb.mock_run`` that did not pass, with their messages; asserts that retrieval tasks ran at all."""
    ran = {name: status for name, status in result.items() if status is not None}
    assert {"MockRetrievalTask", "MockRerankingTask", "MockInstructionRetrieval", "MockRetrievalDialogTask"} <= ran.keys()
    return {name: status.exception for name, status in ran.items() if hasattr(status, "exception")}
