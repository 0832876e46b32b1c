"""WIPO-AT: citation retrieval over the assistive-technology landscape ("Benchmarking Patent Embeddings", §3).

The data set is unreleased: the tasks read the directory that :mod:`patent_mteb.recipes.wipo_at` describes and writes, from a
licensee's export or from anybody's own patents, and the built-in sample otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from patent_mteb.data.sources import DataSet
from patent_mteb.errors import LAYOUT, DataError, NotThereError
from patent_mteb.metrics import slices
from patent_mteb.models.section_tags import reads_section_tags
from patent_mteb.patents.corpus import Composed, Texts
from patent_mteb.recipes import beir
from patent_mteb.recipes.dataset import FileRecord
from patent_mteb.recipes.label_sets import label_names
from patent_mteb.recipes.landscapes import camel_case
from patent_mteb.recipes.metadata import metadata_rows
from patent_mteb.recipes.wipo_at import DWPI_FIELDS, LABEL_SETS, PUBLIC_FIELDS, LabelSet, check
from patent_mteb.tasks.base import PatentTask, make_task, task_metadata
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark
from patent_mteb.tasks.checks import say
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables
from patent_mteb.tasks.tagged import tagged_by_ends, tagged_texts
from patent_mteb.tasks.wipo_at_labels import LabelClassification, LabelClustering, LabelTask

if TYPE_CHECKING:
    from mteb.models import MTEBModels

DATA = DataSet("WIPO-AT", "wipo_at")

PARTS_OF_VIEW = {"Abstract": ("abstract",), "Claim1": ("claim",), "Claims": ("claim",)}
BEHIND_THE_TITLE = {"TA": {"abstract": "Abstract"}, "TAC": {"abstract": "Abstract", "claim": "Claims"}}
"""View -> the sections behind its title, and the views that hold them alone."""
QUERY_VIEWS = ("TA", "TAC", "Abstract", "Claim1", "Claims")
CORPUS_VIEWS = ("TA", "TAC", "Claim1", "Abstract", "DWPIFull", "DWPITA")


@dataclass(frozen=True)
class Cell:
    """One cell of the section grid (§3.4): the view of the query and the view of the corpus."""

    query: str
    corpus: str

    @property
    def name(self) -> str:
        if self.query == self.corpus == "TAC":
            return "PatentCitationRetrieval"
        return f"WIPOAT{self.query}To{self.corpus}Retrieval"

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The views that are one section."""
        views = {"query": self.query, "document": self.corpus}
        return {role: PARTS_OF_VIEW[view] for role, view in views.items() if view in PARTS_OF_VIEW}

    @property
    def description(self) -> str:
        headline = " This cell is the headline task of the benchmark." if self.name == "PatentCitationRetrieval" else ""
        return (
            "Given a patent of the assistive-technology landscape, retrieve the patents that its family cites "
            f"(query text: {self.query}, corpus text: {self.corpus}).{headline}"
        )


FACTS = Facts(
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
    license="not specified",
    date=("1990-01-01", "2021-12-31"),
    annotations="expert-annotated",
    prefix="WIPOAT",
    headline="PatentCitationRetrieval",
    short_names={"PatentCitationRetrieval": "TAC→TAC"},
    lacking=".NoDWPI",  # §3.6
    prompt_rows=(
        (r"PatentCitationRetrieval|WIPOAT\w+Retrieval", "retrieval_MIXED"),
        (r"WIPOAT\w+Classification(\.\w+)?", "class_text2ipc3"),
        (r"WIPOAT\w+Clustering(\.\w+)?", "clusters_ext_full_ipc"),
    ),
    paper="wipo_at",
    paper_queries=46_069,  # §1
    section_grid={Cell(query, corpus).name: (query, corpus) for query in QUERY_VIEWS for corpus in CORPUS_VIEWS},  # §3.4
    replaced=("WIPOAT", "WIPO-AT", "Patent"),
    subject="assistive-technology ",
    known_by=("corpus.jsonl", "qrels", "labels"),
    check=check,
)

HEADLINE = Cell("TAC", "TAC")
CELLS = (
    HEADLINE,
    *(cell for query in QUERY_VIEWS for corpus in CORPUS_VIEWS if (cell := Cell(query, corpus)) != HEADLINE),
    Cell("DWPIFull", "DWPIFull"),
    Cell("DWPITA", "DWPITA"),
)
"""The 5 x 6 grid of §3.4 and the two symmetric DWPI cells: 32 tasks."""


@dataclass(frozen=True)
class Folder:
    """The benchmark's directory with the texts of its documents (title and text) and what the slices need, worked out once for all
    tasks."""

    tables: beir.BeirFolder
    documents: Texts
    hidden: dict[str, frozenset[str]]
    slices: dict[str, slices.Qrels]
    unformed: dict[str, str]
    codes: Mapping[str, list[str]]


@lru_cache(maxsize=1)
def read_folder(folder: Path, revision: str) -> Folder:
    """Read the benchmark's directory; ``revision`` keeps two states of one directory apart."""
    if label_names(folder) and not any((folder / name).exists() for name in ("corpus.jsonl", "queries.jsonl", "qrels")):
        raise NotThereError("there are label sets only: no corpus, queries and judgements", path=folder, remedy=LAYOUT)
    tables = beir.read_beir(folder)
    rows, counts = metadata_rows(folder, tables)
    documents = tables.corpus.joined()
    say(folder, counts | _without_claims(folder, tables.views, documents))
    parts, unformed = _slices(tables, rows)
    return Folder(
        tables,
        documents,
        slices.own_family({key: family or "" for key, family in rows.column("family_id")}, tables.queries, tables.corpus),
        parts,
        unformed,
        Composed(rows, lambda row: list(row.get("ipc") or ())),
    )


def _without_claims(folder: Path, names: Collection[str], documents: Texts) -> dict[str, int]:
    """The number of documents where none has claims, so that what is called TAC is title and abstract."""
    if "TA" not in names or {"Claims", "Claim1"} & set(names):
        return {}
    alike = all(documents.get(key, text) == text for key, text in beir.view_rows(folder, "TA"))
    return {"documents, of which none has claims: TAC, the headline's text, is title and abstract": len(documents) if alike else 0}


def _domain(row: Mapping[str, Any]) -> str:
    return slices.domain(row.get("coarse") or (), row.get("ipc") or ())


def _slices(tables: beir.BeirFolder, rows: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, slices.Qrels], dict[str, str]]:
    positive = slices.positive(tables.qrels)
    parts: dict[str, slices.Qrels] = {}
    unformed: dict[str, str] = {}
    judged = positive.keys() | {document for documents in positive.values() for document in documents}
    domains = {key: _domain(rows[key]) for key in judged if key in rows}
    split, dropped = slices.in_and_out(positive, domains, domains)
    if split:
        parts |= split
        if dropped:
            unformed["in/out for part of the judgements"] = f"{dropped} pairs have a side without coarse label and IPC code"
    else:
        known = sum(bool(_domain(row)) for row in rows.values())
        unformed["in, out"] = (
            f"no judged pair has a coarse label or an IPC code on both sides in metadata.parquet ({known} of {len(rows)} rows have one)"
        )
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

    Relevance is binary, ties go by document id, MAP and MRR are cut at mteb's ranks (the paper names none). The query's own family is
    removed, which §3.3.1 does not do (``paper_…``). IN and OUT compare coarse domains; jurisdictions are the query's filing office's.
    """

    data = DATA
    facts = FACTS
    cell: Cell

    def load_tables(self) -> RetrievalTables:
        folder = read_folder(self.source.path(), self.source.revision)
        corpus = _view(folder, self.cell.corpus, folder.tables.corpus, self.source.path())
        queries = _view(folder, self.cell.query, folder.tables.queries, self.source.path())
        return RetrievalTables(
            corpus=corpus,
            queries=queries,
            qrels=folder.tables.qrels,
            slices=folder.slices,
            hidden=folder.hidden,
            unformed=folder.unformed,
            document_codes=folder.codes,
            query_codes=folder.codes,
        )

    def texts_for(self, model: MTEBModels, data_split: Any) -> Any:
        """The data of the split, with section tags for the models that read them; DWPI's texts have none."""
        if not reads_section_tags(model.mteb_model_meta):
            return data_split
        corpus = self._tagged(self.tables.corpus, self.cell.corpus)
        return replace(self.tables, corpus=corpus, queries=self._tagged(self.tables.queries, self.cell.query)).split()

    def _tagged(self, texts: Mapping[str, str], view: str) -> dict[str, str]:
        if view in PARTS_OF_VIEW:
            return tagged_texts(texts, PARTS_OF_VIEW[view])
        place = self.source.path()
        folder = read_folder(place, self.source.revision)
        known = {
            name: _view(folder, column, texts, place)
            for name, column in BEHIND_THE_TITLE.get(view, {}).items()
            if column in folder.tables.views
        }
        return {key: tagged_by_ends(text, {name: part[key] for name, part in known.items()}) for key, text in texts.items()}


def _view(folder: Folder, name: str, keys: Collection[str], place: Path) -> Texts:
    """The texts of one view of documents or queries; no text of another view is held."""
    if name == "TAC":
        return folder.documents if keys is folder.tables.corpus else folder.tables.queries
    path = place / "views.parquet"
    if name not in folder.tables.views:
        raise NotThereError(f"the text view {name} is missing", path=path, remedy=f"write column '{name}', or leave out tasks that need it")
    texts = Texts.collected((key, text) for key, text in beir.view_rows(place, name) if key in keys)
    missing = [key for key in keys if key not in texts]
    if missing:
        raise DataError(
            f"{len(missing)} documents or queries have no row, first '{missing[0]}'", path=path, remedy="write one row for each"
        )
    say(path, {f"of {len(texts)} rows have an empty view {name}": sum(not text.strip() for text in texts.values())})
    return texts.ordered(keys)


INSTRUCTION = "Given a patent, retrieve patents that it cites"

RETRIEVAL_TASKS = tuple(
    make_task(
        CitationRetrieval,
        __name__,
        task_metadata(
            FACTS, DATA, cell.name, "Retrieval", cell.description, "ndcg_at_10", prompt={"query": INSTRUCTION}, text_parts=cell.parts
        ),
        cell=cell,
    )
    for cell in CELLS
)

# --- classification and clustering -------------------------------------------------------------------------------------------

VARIANTS: dict[str, tuple[str, ...]] = {
    "": (*DWPI_FIELDS, *PUBLIC_FIELDS),
    ".DWPIOnly": DWPI_FIELDS,
    ".NoDWPI": PUBLIC_FIELDS,
}
"""Suffix of the task name -> text fields (§3.6): Combined, DWPIonly and noDWPI."""

LABEL_VARIANTS = tuple((label_set, suffix, fields) for label_set in LABEL_SETS for suffix, fields in VARIANTS.items())


def _label_task(
    base: type[LabelTask], kind: str, what: str, main_score: str, variant: tuple[LabelSet, str, tuple[str, ...]]
) -> type[LabelTask]:
    label_set, suffix, fields = variant
    within = f"fine categories of {label_set.coarse}" if label_set.coarse else "coarse categories"
    of_which = f"{label_set.landscape} {FACTS.subject}patents by the {within}"
    if label_set not in LABEL_SETS:
        of_which = f"patents by the labels of the set {label_set.name}"
    description = f"{what} of {of_which} (text: {', '.join(fields)})."
    name = _label_task_name(label_set.name, kind, suffix)
    what_it_has = f"{FACTS.subject}categories" + (f" within {label_set.coarse}" if label_set.coarse else "")
    instruction = f"Given a patent, find {'its' if kind == 'Clustering' else 'all its'} {what_it_has}"
    metadata = task_metadata(FACTS, DATA, name, kind, description, main_score, prompt=instruction)
    return make_task(base, __name__, metadata, data=DATA, facts=FACTS, label_set=label_set, fields=fields)


_LABEL_KINDS: dict[str, tuple[type[LabelTask], str, str]] = {
    "MultilabelClassification": (LabelClassification, "Multi-label classification", "macro_f1"),
    "Clustering": (LabelClustering, "Clustering", "v_measure"),
}


def _label_task_name(label_set: str, kind: str, suffix: str) -> str:
    return f"WIPOAT{camel_case(label_set)}{kind.removeprefix('Multilabel')}{suffix}"


def _label_tasks(kind: str) -> tuple[type[LabelTask], ...]:
    base, what, main_score = _LABEL_KINDS[kind]
    return tuple(_label_task(base, kind, what, main_score, variant) for variant in LABEL_VARIANTS)


CLASSIFICATION_TASKS = _label_tasks("MultilabelClassification")
CLUSTERING_TASKS = _label_tasks("Clustering")


@lru_cache(maxsize=256)
def _task_named(name: str) -> type[PatentTask] | None:
    """The task of a label set that is not the paper's, made of its name: ``WIPOATTopicsClassification.NoDWPI``."""
    found = re.fullmatch(r"WIPOAT(\w+)(Classification|Clustering)(\.\w+)?", name)
    if found is None or (found[3] or "") not in VARIANTS:
        return None
    kind = next(kind for kind in _LABEL_KINDS if kind.endswith(found[2]))
    base, what, main_score = _LABEL_KINDS[kind]
    return _label_task(base, kind, what, main_score, (LabelSet(found[1], found[1]), found[3] or "", VARIANTS[found[3] or ""]))


def _names_in(files: Mapping[str, FileRecord]) -> list[str]:
    """The retrieval cells whose views have a text, and a classification and a clustering task a label set; those on expert texts only where
    there are any."""
    filled = {file: {name for name, count in (record.filled or {}).items() if count} for file, record in files.items()}
    held = {"TAC"} | filled.get("views.parquet", set())
    cells = [cell.name for cell in CELLS if {cell.query, cell.corpus} <= held and "qrels/test.tsv" in files]
    expert = bool(filled.get("fields.parquet", set()) & set(DWPI_FIELDS))
    sets = [PurePosixPath(file).stem for file in sorted(files) if PurePosixPath(file).match("labels/*.parquet")]
    suffixes = list(VARIANTS) if expert else [""]
    return cells + [_label_task_name(name, kind, suffix) for kind in _LABEL_KINDS for name in sets for suffix in suffixes]


BENCHMARK = PatentBenchmark(
    FACTS,
    {
        "Retrieval": RETRIEVAL_TASKS,
        "Classification": CLASSIFICATION_TASKS,
        "Clustering": CLUSTERING_TASKS,
    },
    names_in=_names_in,
    task_named=_task_named,
)
