"""Reranking tasks: each query has a few candidates of its own, and only these are ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData

from patent_mteb.search.run import Run
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

__all__ = ["CandidateTables", "Reranking", "best_of"]


@dataclass(frozen=True)
class CandidateTables(RetrievalTables):
    """Tables of a retrieval task with the documents that each query has to choose from, all of them judged."""

    candidates: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Reranking(PatentRetrieval):
    """A task of mteb's type Reranking: the candidates travel as mteb's ``top_ranked``, to models and to search systems alike.

    Example:
        >>> from patent_mteb.tasks.catalogue import find
        >>> {task.metadata.type for task in find("PANORAMA").task_classes}
        {'Reranking'}
    """

    tables: CandidateTables

    def load_tables(self) -> CandidateTables:
        raise NotImplementedError

    def load_split(self) -> RetrievalSplitData:
        split = super().load_split()
        split["top_ranked"] = {query: list(self.tables.candidates[query]) for query in split["relevant_docs"]}
        return split


def best_of(run: Run, numbers: Mapping[str, int]) -> dict[str, list[str]]:
    """The first documents of each ranking, as many as are asked for by query.

    Example:
        >>> from patent_mteb.search.run import Run
        >>> from patent_mteb.tasks.reranking import best_of
        >>> best_of(Run.from_dict({"q": {"A": 0.1, "B": 0.9, "C": 0.5}}), {"q": 2})
        {'q': ['B', 'C']}
    """
    rows = zip(run.query_ids, run.docs, strict=True)
    return {query: [run.doc_ids[place] for place in row[: numbers[query]] if place >= 0] for query, row in rows}
