"""Recipe of WIPO-AT: the nine steps of the paper's §3.1.3, from canonical records to the benchmark's directory.

The data set is unreleased. The directory is the BEIR folder of :mod:`patent_mteb.recipes.beir` with these tables:

* ``metadata.parquet``: ``_id``, ``family_id``, ``jurisdiction`` (of first filing if known, else of the publication),
  ``ipc`` (codes of the document, as written), ``coarse`` (the coarse label of each taxonomy row, with repetitions),
  ``split``;
* ``views.parquet``: ``_id`` and one column for each text view (Table 1 and the five query sections of §3.4);
* ``fields.parquet``: ``_id`` and the ten fields of the classification texts (§3.6);
* ``labels/<Set>.parquet``: ``_id``, ``split``, ``labels`` for each label set (:mod:`patent_mteb.recipes.label_sets`;
  the paper's five, Table 2), and ``labels/taxonomy.json``, the labels that each set may use.

Without citations between families the recipe writes no corpus, queries, judgements and views; without labels, no fields
and label sets; without text of DWPI, no views and fields of DWPI. The log records missing tables, and the number of
documents without text in each view.

Interpretations, where the paper gives no rule:

* Citations are edges between families. Every remaining document of a citing family is a query, and every remaining
  document of a cited family is relevant for it.
* Of documents of one family with identical title, abstract and claims, the earliest publication stays.
* The split is a seeded shuffle of the families. Families that share a document word for word are in one split.

The cleaned texts of a large collection are in a temporary file, and tables are written document by document.
:func:`check` is the quality assurance of §3.1.3 (step 0.9), also for directories from other sources.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed, write_parquet, write_rows, write_text
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Composed, Texts, TitledTexts
from patent_mteb.patents.families import by_age
from patent_mteb.patents.near_duplicates import leaking_near_duplicates, near_duplicate_key
from patent_mteb.patents.on_disk import DiskList, publications
from patent_mteb.patents.records import Citation, Description, Label, Patent
from patent_mteb.patents.text import clean_patent, text_key
from patent_mteb.patents.text_columns import (
    Digests,
    Few,
    Groups,
    Keyed,
    Rows,
    RowsOf,
    TextIndex,
    TextMap,
    coded,
    coded_in_order,
    codes_of,
    column,
)
from patent_mteb.recipes.beir import BeirFolder, metadata_rows, read_beir, title_and_text, view_rows, write_beir
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.label_sets import (
    LABEL_COLUMNS,
    SPLITS,
    LabelSet,
    label_files,
    label_names,
    label_sets,
    read_labels,
    refuse_straddling,
)
from patent_mteb.recipes.parameters import Positive, Share
from patent_mteb.recipes.sampling import sample_queries, stratum
from patent_mteb.recipes.steps import MATCH_THEM, BuildLog, Filter, Funnel, Need, counts_note

VIEWS = ("TA", "TAC", "Abstract", "Claim1", "Claims", "DWPIFull", "DWPITA")

_EXPERT = ["title", "detailed_description", "novelty", "use", "advantage", "technology_focus"]
DWPI_FIELDS = tuple(f"dwpi_{name}" for name in _EXPERT)
PUBLIC_FIELDS = ("claim1", "abstract", "title", "keywords")
_SECTIONS = tuple(dict.fromkeys(section for view in VIEWS for section in views.VIEW_SECTIONS[view]))
_NO_DESCRIPTION = Description()


class Columns:
    """The fields of all documents that stay in memory, in the order of the patents.

    ``texts`` are the cleaned patents, in a temporary file if the patents are in one. ``sections`` names the sections of
    text views that are not empty. The digests are of family, title, abstract and claims; of title and abstract,
    ignoring case and white space; and of all fields of classification, empty if there are none.
    """

    def __init__(self, patents: Sequence[Patent]) -> None:
        self.outlines = publications(patents)
        self.texts: list[Patent] | DiskList[Patent] = [] if isinstance(patents, list | tuple) else DiskList()
        self.jurisdiction, self.strata = Few[str](), Few[str]()
        self.labels, self.sections = Few[tuple[Label, ...]](), Few[frozenset[str]]()
        self.text_digests, self.twin_digests, self.fields_digests = (Digests() for _ in range(3))
        for patent in patents:
            cleaned = replace(clean_patent(patent), description=_NO_DESCRIPTION, translations=())
            fields = field_texts(cleaned, (*DWPI_FIELDS, *PUBLIC_FIELDS))
            self.jurisdiction.append(cleaned.filing_jurisdiction or cleaned.jurisdiction)
            self.strata.append("\0".join(stratum(cleaned)))
            self.labels.append(cleaned.labels)
            self.sections.append(frozenset(name for name in _SECTIONS if views.SECTIONS[name](cleaned).strip()))
            self.text_digests.append(text_key(cleaned.family_id, views.VIEWS["TAC"](cleaned)))
            self.twin_digests.append(near_duplicate_key(cleaned))
            self.fields_digests.append(text_key(*fields) if any(fields) else b"")
            self.texts.append(cleaned)


@dataclass(frozen=True, slots=True)
class Document:
    """A document: a row of the columns."""

    _columns: Columns
    row: int

    @property
    def number(self) -> str:
        return str(self._columns.outlines.numbers[self.row])

    @property
    def family(self) -> str:
        return str(self._columns.outlines.families[self.row])

    @property
    def jurisdiction(self) -> str:
        return self._columns.jurisdiction[self.row]

    @property
    def labels(self) -> tuple[Label, ...]:
        return self._columns.labels[self.row]

    @property
    def sections(self) -> frozenset[str]:
        return self._columns.sections[self.row]

    @property
    def patent(self) -> Patent:
        return self._columns.texts[self.row]


class Documents(Sequence[Document]):
    """Some rows of the columns as documents."""

    def __init__(self, columns: Columns, rows: Rows) -> None:
        self.columns, self.rows = columns, rows
        self.publications = columns.outlines.at(rows)
        self.families = codes_of(self.publications.families)

    def __getitem__(self, place: Any) -> Any:
        return Document(self.columns, int(self.rows[place]))

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, places: NDArray[np.integer[Any]]) -> Documents:
        return Documents(self.columns, self.rows[places])

    def have(self, view: str) -> NDArray[np.bool_]:
        """Whether a text view of each document is not empty."""
        wanted = views.VIEW_SECTIONS[view]
        return self.columns.sections.map(self.rows, lambda sections: not sections.isdisjoint(wanted)).astype(bool)

    def n_labels(self) -> NDArray[np.int64]:
        return self.columns.labels.map(self.rows, len).astype(np.int64)

    def strata(self) -> Mapping[str, str]:
        """Return year and IPC section by number."""
        return TextMap(self.publications.numbers, self.columns.strata.coded(self.rows))


def field_texts(patent: Patent, names: Sequence[str]) -> list[str]:
    """Return fields of the classification texts (§3.6)."""
    return [
        getattr(patent.expert, name.removeprefix("dwpi_"))
        if name in DWPI_FIELDS
        else views.VIEWS[name.capitalize()](patent)
        for name in names
    ]


_STRING, _STRINGS = pa.string(), pa.list_(pa.string())
_METADATA = pa.schema(
    {
        "_id": _STRING,
        "family_id": _STRING,
        "jurisdiction": _STRING,
        "ipc": _STRINGS,
        "coarse": _STRINGS,
        "split": _STRING,
    }
)


def write_metadata(folder: Path, documents: Sequence[Document], split: Mapping[str, str]) -> None:
    rows = (
        {
            "_id": document.number,
            "family_id": document.family,
            "jurisdiction": document.jurisdiction,
            "ipc": document.patent.ipc,
            "coarse": [label.coarse for label in document.labels],
            "split": split[document.family],
        }
        for document in documents
    )
    write_rows(folder / "metadata.parquet", rows, _METADATA)


def write_retrieval(folder: Path, documents: Documents, qrels: Mapping[str, Mapping[str, int]], log: BuildLog) -> None:
    """Write corpus, queries, judgements and views."""
    names, absent = _available_views(documents)
    log.step("0.8 text views", len(documents), len(documents), f"left out: {', '.join(absent) or 'none'}")
    known = Keyed(documents.publications.numbers, documents)
    query_places = [known.index.row(number) for number in qrels]
    for name in names:
        have = documents.have(name)
        if not have.all():
            first = documents[int(np.argmin(have))].number
            n_queries = int((~have[query_places]).sum())
            note = f"{int((~have).sum())} documents without text, {n_queries} of them queries, first '{first}'"
            log.step(f"0.8 view {name}", len(documents), int(have.sum()), note)

    corpus = Composed(known, lambda document: title_and_text(document.patent))
    queries = Composed(
        {number: known[number] for number in qrels}, lambda document: views.VIEWS["TAC"](document.patent)
    )
    write_beir(folder, corpus, queries, qrels)
    views_of = (
        {"_id": patent.publication_number, **{name: views.VIEWS[name](patent) for name in names}}
        for patent in (document.patent for document in documents)
    )
    write_rows(folder / "views.parquet", views_of, _texts_schema(names))
    n_relevant = len({document for relevant in qrels.values() for document in relevant})
    note = f"{len(qrels)} queries, {n_relevant} relevant documents"
    log.step("0.8 qrels", len(documents), sum(map(len, qrels.values())), note)


def _texts_schema(names: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in ("_id", *names)])


def _available_views(documents: Documents) -> tuple[list[str], list[str]]:
    """Return the views that some document has, and the others with the reason."""
    with_expert = documents.have("DWPITA").any()
    available, absent = [], []
    for name in VIEWS:
        if name.startswith("DWPI") and not with_expert:
            absent.append(f"{name} (no document has text of DWPI)")
        elif name == "TAC" or documents.have(name).any():
            available.append(name)
        else:
            absent.append(f"{name} (no document has it)")
    if "Claims" not in available:
        absent.append("claims in TAC, which is title and abstract here")
    return available, absent


def write_labels(
    folder: Path, sets: Sequence[LabelSet], documents: Documents, split: Mapping[str, str], log: BuildLog
) -> None:
    """Write fields, label sets and taxonomy, if there are labels."""
    rows_of: dict[str, list[dict[str, Any]]] = {}
    labelled = documents.at(np.flatnonzero(documents.n_labels()))
    for label_set in sets:
        rows: list[dict[str, Any]] = [
            {"_id": document.number, "split": split[document.family], "labels": labels}
            for document in labelled
            if (labels := label_set.labels(document.labels))
        ]
        note = _split_note(Counter(row["split"] for row in rows))
        log.step(f"0.8b labels {label_set.name}", len(documents), len(rows), note)
        if rows:
            rows_of[label_set.name] = rows
    if not rows_of:
        note = "no document has a label: no tables for classification and clustering"
        log.step("0.8b labels", len(documents), 0, note)
        return
    names = (*DWPI_FIELDS, *PUBLIC_FIELDS) if documents.have("DWPITA").any() else PUBLIC_FIELDS
    if names == PUBLIC_FIELDS:
        log.step("0.8b fields of DWPI", len(documents), 0, "no document has text of DWPI: no fields of DWPI")
    fields_of = (
        {"_id": document.number, **dict(zip(names, field_texts(document.patent, names), strict=True))}
        for document in documents
    )
    write_rows(folder / "fields.parquet", fields_of, _texts_schema(names))
    for name, rows in rows_of.items():
        write_parquet(folder / "labels" / f"{name}.parquet", pa.Table.from_pylist(rows, pa.schema(LABEL_COLUMNS)))
    taxonomy = {name: sorted({label for row in rows for label in row["labels"]}) for name, rows in rows_of.items()}
    write_text(folder / "labels" / "taxonomy.json", json.dumps(taxonomy, indent=1, ensure_ascii=False) + "\n")


def _split_note(splits: Counter[str]) -> str:
    counts = ", ".join(f"{name} {splits[name]}" for name in SPLITS)
    empty = splits and not all(splits[name] for name in SPLITS)
    return f"{counts}: a split is empty, set train=0.5 and validation=0.2" if empty else counts


def check(folder: Path) -> dict[str, int]:
    """Check a directory (step 0.9); return counts of odd but usable rows."""
    path = folder / "metadata.parquet"
    if (folder / "corpus.jsonl").exists() or not label_names(folder):
        tables = read_beir(folder)
    else:  # only label sets
        tables = BeirFolder(TitledTexts(()), Texts.of({}), {}, read_keyed(path) if path.exists() else None)
    rows, odd = metadata_rows(folder, tables)
    counts = tables.counts | {what: number for what, number in odd.items() if number}
    families = TextMap(column(rows), coded(family or "" for _, family in rows.column("family_id")))
    refuse_straddling(rows, families.values(), (split or "" for _, split in rows.column("split")), path)
    for name in tables.views:
        if empty := sum(not text.strip() for _, text in view_rows(folder, name)):
            counts[f"rows of view {name} without text"] = empty
    if other := _not_tac(folder, tables):
        what = "have another text in queries.jsonl (which TAC tasks read) than their TAC view"
        counts[f"of {len(tables.queries)} queries {what}"] = other
    return counts | _check_labels(folder, tables.corpus or rows, families)


def _not_tac(folder: Path, tables: BeirFolder) -> int:
    """Count queries with other words than TAC in the views or, without a view, the corpus; empty texts match."""
    texts = ((key, views.join_sections(tables.corpus[key])) for key in tables.queries if key in tables.corpus)
    tac_views = view_rows(folder, "TAC") if "TAC" in tables.views else ()
    other: dict[str, bool] = {}
    for key, text in chain(texts, tac_views):
        if key in tables.queries:
            other[key] = bool(text) and text.split() != tables.queries[key].split()
    return sum(other.values())


def _check_labels(folder: Path, known: Container[str], families: Mapping[str, str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in label_files(folder).values():
        rows = read_labels(folder, name, families)
        seen = {split: {label for row in rows if row.split == split for label in row.labels} for split in SPLITS}
        if unknown := sum(row.key not in known for row in rows):
            counts[f"documents of {name} that are not in corpus.jsonl"] = unknown
        if untrained := (seen["test"] | seen["validation"]) - seen["train"]:
            counts[f"labels of {name} without a training example"] = len(untrained)
    return counts


NAME = "WIPO-AT"

NEEDS = (
    Need("title", "TA, TAC"),
    Need("abstract", "TA, TAC, Abstract"),
    Need("claims", "TAC, Claim1, Claims"),
    Need("citations", "retrieval"),
    Need("labels", "classification and clustering; IN and OUT"),
    Need("ipc", "IN and OUT where a document has no label"),
    Need("expert", "DWPIFull, DWPITA; classification and clustering .DWPIOnly"),
    Need("keywords", "DWPIFull; texts of classification and clustering"),
)
"""Use of each field. A document without a field stays, with an empty text."""


@dataclass(frozen=True)
class Params:
    """Settings of the recipe; the defaults are the paper's.

    Attributes:
        seed: seed of the split.
        train: share of the families in the training split.
        validation: share of the families in the validation split; the rest is the test split.
        require: texts that a document must have; documents without one of them are dropped.
        queries: most queries, stratified by year and IPC section; None: every document of a family that cites another.
        fine_documents: least number of documents of a set of fine labels, in landscapes other than the paper's.
    """

    seed: int = 42
    train: Share = 0.8
    validation: Share = 0.1
    require: tuple[Literal["title", "abstract", "claims"], ...] = ()
    queries: Positive | None = None
    fine_documents: Positive = 50

    def __post_init__(self) -> None:
        if self.train + self.validation > 1 + 1e-9:
            raise ValueError(f"train={self.train} and validation={self.validation} are more than one together")


SAMPLE = Params()


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write ``root/WIPO-AT``."""
    log = BuildLog(NAME)
    folder = root / NAME
    n_documents = _write(patents, citations, folder, params, log)  # frees its data before the check
    found = check(folder)
    notes = filter(None, ("splits disjoint, labels covered, corpus and queries aligned", counts_note(found)))
    log.step("0.9 quality assurance", n_documents, n_documents, "; ".join(notes))
    log.record_files(root, NAME)
    return log


def _write(
    patents: Sequence[Patent], citations: Sequence[Citation], folder: Path, params: Params, log: BuildLog
) -> int:
    """Write the tables (steps 0.1 to 0.8); return the number of documents."""
    known = publications(patents)
    n_families = len(np.unique(codes_of(known.families)))
    log.step("0.1 id mapping", len(patents), len(known), f"{n_families} simple families")

    columns = Columns(patents)
    master = Documents(columns, by_age(known))
    log.step("0.2-0.3 patent master", len(patents), len(master))
    if params.require:
        filters = [
            Filter(f"with {name}", lambda document, name=name: name in document.sections, field=name)  # type: ignore[misc]
            for name in params.require
        ]
        master = master.at(Funnel(log, "documents", params.require, "0.3b ")(master, filters))

    n_labels = master.n_labels()
    log.step("0.4 label extraction", len(master), int(n_labels.sum()), f"{int((n_labels == 0).sum())} without label")

    graph = family_graph(citations, known.family_of)
    note = f"directed edges between families of the corpus; {graph.dropped}"
    log.step("0.5 citation graph", len(citations), graph.n_edges, note)

    unique = columns.text_digests.distinct(master.rows)
    documents = Documents(columns, unique[pc.sort_indices(known.numbers.take(pa.array(unique))).to_numpy()])
    log.step("0.6 deduplication", len(master), len(documents), "identical text within a family")

    split = _split(documents, params)
    log.step("0.7 split", len(np.unique(master.families)), len(split), "families, disjoint")

    if leaks := leaking_near_duplicates(known, columns.twin_digests.equal(documents.rows), split):
        note = (
            "whose title and abstract are in train under another family: their labels can be looked up (twins=merge,"
            " twins=drop)"
        )
        log.step("0.7b twins over splits", len(documents), sum(leaks.values()), note)

    citing = _citing(documents, graph)
    sets = label_sets(
        [document.labels for document in documents.at(np.flatnonzero(documents.n_labels()))], params.fine_documents, log
    )
    if not citing and not sets:
        counts = f"{len(citations)} citations: {graph.dropped}"
        problem = f"no citation connects two families of the corpus ({counts}), and no document has a label"
        raise DataError(problem, remedy=f"{MATCH_THEM}; or add labels")
    if citing:
        write_retrieval(folder, documents, _qrels(citing, documents, graph, params, log), log)
    else:
        log.step("0.8 qrels", graph.n_edges, 0, "no citation connects two families: no tables for retrieval")
    write_metadata(folder, documents, split)
    write_labels(folder, sets, documents, split, log)
    return len(documents)


def _split(documents: Documents, params: Params) -> Mapping[str, str]:
    """Assign families to splits; families with the same words are in one, so that splits share no text."""
    families = coded_in_order(documents.columns.outlines.families)
    family, groups = codes_of(families), Groups(len(families.dictionary))
    for same in documents.columns.fields_digests.equal(documents.rows):
        groups.connect(*family[same].tolist())
    present = np.unique(family[documents.rows])
    leader = groups.of_all()[present]
    leaders = np.unique(leader).tolist()
    random.Random(params.seed).shuffle(leaders)
    first = round(len(leaders) * params.train)
    second = first + round(len(leaders) * params.validation)
    split = np.zeros(len(groups), np.int32)
    split[leaders[first:]] = 1
    split[leaders[second:]] = 2
    names = pa.DictionaryArray.from_arrays(split[leader], column(SPLITS))
    return TextMap(families.dictionary.take(pa.array(present)), names)


def _citing(documents: Documents, graph: FamilyGraph) -> Documents:
    """Return the documents of families that cite another of the documents, grouped by family."""
    n_families = len(documents.publications.families.dictionary)
    present, cites = (np.zeros(n_families, bool) for _ in range(2))
    present[documents.families] = True
    cites[graph.citing[present[graph.cited]]] = True
    _, first, family = np.unique(documents.families, return_index=True, return_inverse=True)
    order = np.argsort(first[family], kind="stable")
    return documents.at(order[cites[documents.families[order]]])


def _qrels(
    citing: Documents, documents: Documents, graph: FamilyGraph, params: Params, log: BuildLog
) -> dict[str, Mapping[str, int]]:
    """Draw the queries; return the relevant documents, one mapping for each family."""
    chosen = set(sample_queries(citing.strata(), params.queries, params.seed, log))
    members, family_code = RowsOf(documents.families), TextIndex(documents.publications.families.dictionary)
    qrels: dict[str, Mapping[str, int]] = {}
    of_family: dict[str, dict[str, int]] = {}
    for document in citing:
        if document.number in chosen:
            if document.family not in of_family:
                cited = map(family_code.row, sorted(graph.cites[document.family]))
                of_family = {document.family: {documents[place].number: 1 for code in cited for place in members(code)}}
            qrels[document.number] = of_family[document.family]
    return qrels
