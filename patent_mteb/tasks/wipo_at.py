"""WIPO-AT: citation retrieval over the assistive-technology landscape ("Benchmarking Patent Embeddings", §3).

The data set is unreleased: the tasks read the directory that :mod:`patent_mteb.build.wipo_at` describes and writes, from a
licensee's export or from anybody's own patents, and the built-in sample otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from patent_mteb import layout, slices, views
from patent_mteb.errors import DataError
from patent_mteb.sources import DataSet
from patent_mteb.tasks.base import Family, PatentRetrieval, PatentTask, RetrievalTables, make_task, task_metadata

DATA = DataSet("WIPO-AT", "wipo_at")

FAMILY = Family(
    name="WIPO-AT",
    description="Citation retrieval, multi-label classification and clustering on the WIPO assistive-technology landscape.",
    reference="https://arxiv.org/abs/2605.24297",
    bibtex=r"""@misc{yousefiramandi2026benchmarking,
  archiveprefix = {arXiv},
  author = {Amirhossein Yousefiramandi and Ciar{\'a}n Cooney},
  eprint = {2605.24297},
  primaryclass = {cs.IR},
  title = {Benchmarking Patent Embeddings: A Multi-Task Evaluation of 22 Models Across Retrieval, Classification, and Clustering},
  year = {2026},
}""",
    license=None,
    date=("1990-01-01", "2021-12-31"),
    annotations="expert-annotated",
)

QUERY_VIEWS = ("TA", "TAC", "Abstract", "Claim1", "Claims")
CORPUS_VIEWS = ("TA", "TAC", "Claim1", "Abstract", "DWPIFull", "DWPITA")


@dataclass(frozen=True)
class Cell:
    """One cell of the section grid (§3.4): the view of the query and the view of the corpus."""

    query: str
    corpus: str

    @property
    def name(self) -> str:
        if (self.query, self.corpus) == ("TAC", "TAC"):
            return "PatentCitationRetrieval"
        return f"WIPOAT{self.query}To{self.corpus}Retrieval"

    @property
    def description(self) -> str:
        headline = " This cell is the headline task of the family." if self.name == "PatentCitationRetrieval" else ""
        return (
            "Given a patent of the assistive-technology landscape, retrieve the patents that its family cites "
            f"(query text: {self.query}, corpus text: {self.corpus}).{headline}"
        )


CELLS = (
    *(Cell(query, corpus) for query in QUERY_VIEWS for corpus in CORPUS_VIEWS),
    Cell("DWPIFull", "DWPIFull"),
    Cell("DWPITA", "DWPITA"),
)
"""The 5 x 6 grid of §3.4 and the two symmetric DWPI cells: 32 tasks."""


@dataclass(frozen=True)
class Folder:
    """The family's directory with what the slices need, worked out once for all tasks."""

    tables: layout.BeirFolder
    family: dict[str, str]
    members: dict[str, frozenset[str]]
    slices: dict[str, slices.Qrels]
    unformed: dict[str, str]
    codes: dict[str, list[str]]


@lru_cache(maxsize=2)
def read_folder(folder: Path, revision: str) -> Folder:
    """Read the family's directory; ``revision`` keeps two states of one directory apart."""
    tables = layout.read_beir(folder)
    rows = layout.table_rows(tables.metadata)
    family = {key: row["family_id"] for key, row in rows.items() if row.get("family_id")}
    members: dict[str, set[str]] = {}
    for document in tables.corpus:
        if document in family:
            members.setdefault(family[document], set()).add(document)
    parts, unformed = _slices(tables, rows)
    return Folder(
        tables,
        family,
        {name: frozenset(documents) for name, documents in members.items()},
        parts,
        unformed,
        {key: list(row.get("ipc") or ()) for key, row in rows.items()},
    )


def _slices(tables: layout.BeirFolder, rows: dict[str, dict[str, Any]]) -> tuple[dict[str, slices.Qrels], dict[str, str]]:
    positive = {
        query: found
        for query, judged in tables.qrels.items()
        if (found := {document: gain for document, gain in judged.items() if gain > 0})
    }
    parts: dict[str, slices.Qrels] = {}
    unformed: dict[str, str] = {}
    domains = {key: slices.domain(row.get("coarse") or (), row.get("ipc") or ()) for key, row in rows.items()}
    split, dropped = slices.in_and_out(positive, domains, domains)
    if split:
        parts |= split
        if dropped:
            unformed["in/out for part of the judgements"] = f"{dropped} pairs have a side without coarse label and IPC code"
    else:
        unformed["in, out"] = "no document has a coarse label or an IPC code in metadata.parquet"
    groups = slices.by_query(positive, lambda query: slices.jurisdiction_group(rows.get(query, {}).get("jurisdiction") or ""))
    if groups:
        parts |= {f"jurisdiction_{name}": groups[name] for name in slices.JURISDICTION_GROUPS if name in groups}
        missing = [name for name in slices.JURISDICTION_GROUPS if name not in groups]
        if missing:
            unformed["jurisdiction_" + ", jurisdiction_".join(missing)] = "no query was filed there"
    else:
        unformed["jurisdiction_*"] = "no query has a jurisdiction in metadata.parquet"
    return parts, unformed


class CitationRetrieval(PatentRetrieval):
    """Citation retrieval (§3.3.1) of one cell of the section grid.

    Follows the paper in what is relevant (binary, from intra-corpus citation edges of the family), in the removal of the
    query's own family, in nDCG@10 as main score and in the IN/OUT rule; follows mteb in breaking ties (by score, then document
    id, both descending) and in cutting MAP and MRR at the ranks it reports (``map_at_1000``, ``mrr_at_10``), where the paper names
    no depth. IN and OUT compare the coarse domain of query and document; jurisdiction slices go by the query's filing office.
    """

    data = DATA
    family = FAMILY
    cell: Cell

    def load_tables(self) -> RetrievalTables:
        folder = read_folder(self.source.path(), self.source.revision)
        corpus = _view(folder.tables, self.cell.corpus, folder.tables.corpus, self.source.path())
        queries = _view(folder.tables, self.cell.query, folder.tables.queries, self.source.path())
        nobody: frozenset[str] = frozenset()
        return RetrievalTables(
            corpus=corpus,
            queries=queries,
            qrels=folder.tables.qrels,
            slices=folder.slices,
            exclusions={
                query: folder.members.get(folder.family.get(query, ""), nobody) | ({query} if query in corpus else nobody)
                for query in queries
            },
            unformed=folder.unformed,
            document_codes=folder.codes,
            query_codes=folder.codes,
        )


def _view(tables: layout.BeirFolder, name: str, keys: Any, folder: Path) -> dict[str, str]:
    if name == "TAC":
        if keys is tables.queries:
            return tables.queries
        return {key: views.join_sections(parts) for key, parts in tables.corpus.items()}
    path = folder / "views.parquet"
    if tables.views is None or name not in tables.views.column_names:
        raise DataError(f"the text view {name} is missing", path=path, remedy=f"write column '{name}', or leave out tasks that need it")
    texts = dict(zip(tables.views["_id"].to_pylist(), tables.views[name].to_pylist(), strict=True))
    missing = [key for key in keys if key not in texts]
    if missing:
        raise DataError(
            f"{len(missing)} documents or queries have no row, first '{missing[0]}'", path=path, remedy="write one row for each"
        )
    return {key: texts[key] or "" for key in keys}


RETRIEVAL_TASKS = tuple(
    make_task(
        CitationRetrieval,
        __name__,
        task_metadata(FAMILY, DATA, cell.name, "Retrieval", cell.description, "ndcg_at_10"),
        cell=cell,
    )
    for cell in CELLS
)

GROUPS: dict[str, tuple[type[PatentTask], ...]] = {"Retrieval": RETRIEVAL_TASKS}
TASKS: tuple[type[PatentTask], ...] = tuple(task for tasks in GROUPS.values() for task in tasks)
