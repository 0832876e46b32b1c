"""Retrieval tasks with the interface of ir_datasets, which is not needed: documents, queries and qrels as tuples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.patents.corpus import Texts
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables


class Document(NamedTuple):
    doc_id: str
    text: str


class Query(NamedTuple):
    query_id: str
    text: str


class Judgement(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


class IrDataset:
    """One task: its documents, the scored queries, their judgements, and what a query must not see.

    Example:
        >>> from patent_mteb.experiments.ir_dataset import IrDataset
        >>> dataset = IrDataset("PatentMapAbsToAbsRetrieval.sample")
        >>> len(list(dataset.queries_iter())), next(dataset.qrels_iter()).relevance
        (25, 1)
    """

    def __init__(self, task: PatentRetrieval | str) -> None:
        self.task = retrieval_task(task)

    @cached_property
    def tables(self) -> RetrievalTables:
        self.task.load_data()
        return self.task.tables

    def docs_iter(self) -> Iterator[Document]:
        return (Document(key, text) for key, text in Texts.of(self.tables.corpus).items())

    def queries_iter(self) -> Iterator[Query]:
        return (Query(query, self.tables.queries[query]) for query in self.tables.scored)

    def qrels_iter(self) -> Iterator[Judgement]:
        scored = self.tables.scored.items()
        return (Judgement(query, key, gain, "0") for query, judged in scored for key, gain in judged.items())

    def sees(self, query: str, document: str) -> bool:
        """Whether a ranking may have a document: not of its query's family, and public before it with a gate."""
        tables = self.tables
        return document not in tables.hidden.get(query, ()) and (not tables.gate or tables.gate.admits(query, document))
