"""Retrieval tasks for other tools: as a BEIR folder, and with the interface of ir_datasets, which is not needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from patent_mteb.errors import DataError
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.experiments.run import unloading
from patent_mteb.files import replacing_folders, text_lines, write_json, write_lines
from patent_mteb.identity import RELEASE
from patent_mteb.patents.corpus import Composed, Texts
from patent_mteb.recipes.beir import write_beir
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

NOTE = "task.json"
EXCLUDED = "excluded.tsv"
DATES = "dates.tsv"


def write_task(task: PatentRetrieval | str, folder: Path) -> dict[str, Any]:
    """Write the corpus, the scored queries and the judgements of a task as a BEIR folder.

    ``excluded.tsv`` lists the documents that a query must not see (its own patent family). Remove them from a ranking,
    and ``EvaluateRetrieval`` returns the scores of the task. ``task.json`` names task and data, with counts. With the
    priority gate, ``dates.tsv`` lists the dates: a document counts if its ``day`` is before that of the query.
    """
    found = retrieval_task(task)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / NOTE).is_file():
        raise DataError("the folder contains other files", path=folder, remedy="name a new folder")
    if (n := len(found.document_sections)) > 1:
        raise DataError(
            f"{found.metadata.name} ranks documents of {n} texts each by the best of them, a BEIR folder has one text a"
            " document",
            remedy="choose a task whose documents are one text",
        )
    with unloading(found):
        found.load_data()
        return _write(found, folder.resolve())


def without_excluded(results: Mapping[str, Mapping[str, float]], folder: Path | str) -> dict[str, dict[str, float]]:
    """Return rankings of BEIR without the documents that ``excluded.tsv`` of an exported folder names.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.bridges import without_excluded
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "excluded.tsv").write_text("query-id\\tcorpus-id\\nq\\tq\\n")
        >>> without_excluded({"q": {"q": 1.0, "d": 0.5}}, folder)
        {'q': {'d': 0.5}}
    """
    path = Path(folder) / EXCLUDED
    if not path.is_file():
        raise DataError("the file is missing", path=path, remedy="export the task: patent-mteb publish beir TASK DIR")
    hidden = {tuple(line.split("\t")) for _, line in text_lines(path)}
    return {
        query: {document: score for document, score in found.items() if (query, document) not in hidden}
        for query, found in results.items()
    }


def _write(task: PatentRetrieval, folder: Path) -> dict[str, Any]:
    tables = task.tables
    corpus = Texts.of(tables.corpus)
    qrels = (task.dataset or {})[task.source.subset][task.split]["relevant_docs"]
    excluded = [
        (query, document) for query in qrels for document in sorted(tables.hidden.get(query, ())) if document in corpus
    ]
    note = {
        "task": task.metadata.name,
        "data": task.source.data.key,
        "data_revision": task.source.revision,
        "main_score": task.metadata.main_score,
        "documents": len(corpus),
        "queries": len(qrels),
        "judgements": sum(map(len, qrels.values())),
        "excluded": len(excluded),
        "patent_mteb": RELEASE,
    }
    with replacing_folders(folder.parent, "beir") as building:
        place = building / folder.name
        write_beir(
            place, Composed(corpus, lambda text: ("", text)), {query: tables.queries[query] for query in qrels}, qrels
        )
        if tables.gate:
            by_role = {"document": tables.gate.documents, "query": tables.gate.queries}
            rows = (f"{role}\t{key}\t{day.isoformat()}" for role, days in by_role.items() for key, day in days.items())
            write_lines(place / DATES, ["role\tid\tday", *rows])
        write_lines(place / EXCLUDED, ("\t".join(row) for row in [("query-id", "corpus-id"), *excluded]))
        write_json(place / NOTE, note)
    return note


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
        >>> from patent_mteb.experiments.bridges import IrDataset
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
