"""Retrieval tasks as data sets of PyTerrier: ``pt.get_dataset("patent_mteb:PatentCitationRetrieval")``.

PyTerrier finds :class:`TerrierProvider` by the entry point ``pyterrier.dataset_provider``. It has no documents that a
query must not see: :meth:`TerrierTask.seen` is a transformer that drops them, for the end of a pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyterrier as pt

from patent_mteb.errors import DataError
from patent_mteb.experiments.bridges import IrDataset
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.retrieval import PatentRetrieval


class TerrierProvider(pt.datasets.DatasetProvider):  # type: ignore[misc]
    """All retrieval tasks of the suite."""

    def get_dataset(self, name: str) -> TerrierTask:
        try:
            return TerrierTask(retrieval_task(name))
        except DataError as error:
            raise KeyError(str(error)) from error

    def list_dataset_names(self) -> list[str]:
        kinds = (*catalogue.tasks(), *catalogue.sample_tasks())
        return [kind.metadata.name for kind in kinds if issubclass(kind, PatentRetrieval)]


class TerrierTask(pt.datasets.Dataset):  # type: ignore[misc]
    """One task: documents with ``docno`` and ``text``, topics and qrels of the scored queries."""

    def __init__(self, task: PatentRetrieval) -> None:
        self.task, self._dataset = task, IrDataset(task)

    def get_corpus_iter(self, *, verbose: bool = True) -> Iterator[dict[str, str]]:
        return ({"docno": key, "text": text} for key, text in self._dataset.docs_iter())

    def get_topics(self, variant: str | None = None) -> pd.DataFrame:
        return pd.DataFrame(self._dataset.queries_iter()).set_axis(["qid", "query"], axis=1)

    def get_qrels(self, variant: str | None = None) -> pd.DataFrame:
        names = ["qid", "docno", "label", "iteration"]
        return pd.DataFrame(self._dataset.qrels_iter()).set_axis(names, axis=1)[names[:3]]

    def info_url(self) -> str | None:
        return self.task.metadata.reference

    def seen(self) -> Any:
        """Return a transformer that drops what a query must not see: its family, and later documents with a gate."""

        def drop(results: pd.DataFrame) -> pd.DataFrame:
            return pt.model.add_ranks(results[list(map(self._dataset.sees, results["qid"], results["docno"]))])

        return pt.apply.generic(drop)
