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
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed, write_parquet, write_rows, write_text
from patent_mteb.patents import views
from patent_mteb.patents.columns import equal_rows, first_of_connected
from patent_mteb.patents.corpus import Composed, Texts, TitledTexts
from patent_mteb.patents.families import age
from patent_mteb.patents.near_duplicates import leaking_near_duplicates, near_duplicate_key
from patent_mteb.patents.on_disk import DiskList, publications
from patent_mteb.patents.records import Citation, Description, Label, Patent
from patent_mteb.patents.text import clean_patent, text_key
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
from patent_mteb.recipes.sampling import grouped, sample_queries, stratum
from patent_mteb.recipes.steps import MATCH_THEM, BuildLog, Filter, Funnel, Need, counts_note

VIEWS = ("TA", "TAC", "Abstract", "Claim1", "Claims", "DWPIFull", "DWPITA")

_EXPERT = ["title", "detailed_description", "novelty", "use", "advantage", "technology_focus"]
DWPI_FIELDS = tuple(f"dwpi_{name}" for name in _EXPERT)
PUBLIC_FIELDS = ("claim1", "abstract", "title", "keywords")
_SECTIONS = tuple(dict.fromkeys(section for view in VIEWS for section in views.VIEW_SECTIONS[view]))
_NO_DESCRIPTION = Description()


@dataclass(frozen=True, slots=True)
class Document:
    """The fields of a document that stay in memory.

    ``texts`` are the cleaned patents of all documents, and ``position`` is the index of this one.
    ``sections`` names the sections of text views that are not empty. The digests are of family, title, abstract and
    claims; of title and abstract, ignoring case and white space; and of all fields of classification (empty if there
    are none).
    """

    publication: Patent
    texts: Sequence[Patent]
    position: int
    jurisdiction: str
    ipc: tuple[str, ...]
    labels: tuple[Label, ...]
    stratum: tuple[str, str]
    sections: frozenset[str]
    text_digest: bytes
    twin_digest: bytes
    fields_digest: bytes

    @property
    def number(self) -> str:
        return self.publication.publication_number

    @property
    def family(self) -> str:
        return self.publication.family_id

    @property
    def patent(self) -> Patent:
        return self.texts[self.position]

    def has_view(self, view: str) -> bool:
        """Whether a text view is not empty."""
        return not self.sections.isdisjoint(views.VIEW_SECTIONS[view])


def read_documents(patents: Sequence[Patent]) -> list[Document]:
    """Clean patents one after the other; the texts are in a temporary file if the patents are in one."""
    texts: list[Patent] | DiskList[Patent] = [] if isinstance(patents, list | tuple) else DiskList()
    rows: list[Document] = []
    labels: dict[Label, Label] = {}
    shared: dict[object, object] = {}
    for patent, publication in zip(patents, publications(patents), strict=True):
        cleaned = replace(clean_patent(patent), description=_NO_DESCRIPTION, translations=())
        sections = frozenset(name for name in _SECTIONS if views.SECTIONS[name](cleaned).strip())
        group = stratum(cleaned)
        labelled = field_texts(cleaned, (*DWPI_FIELDS, *PUBLIC_FIELDS))
        rows.append(
            Document(
                publication,
                texts,
                len(texts),
                sys.intern(cleaned.filing_jurisdiction or cleaned.jurisdiction),
                tuple(map(sys.intern, cleaned.ipc)),
                tuple(labels.setdefault(label, label) for label in cleaned.labels),
                shared.setdefault(group, group),  # type: ignore[arg-type]
                shared.setdefault(sections, sections),  # type: ignore[arg-type]
                text_key(cleaned.family_id, views.VIEWS["TAC"](cleaned)),
                near_duplicate_key(cleaned),
                text_key(*labelled) if any(labelled) else b"",
            )
        )
        texts.append(cleaned)
    return rows


def view_texts(patent: Patent, names: Sequence[str]) -> dict[str, str]:
    """Return text views of a patent by name, composing each section once."""
    wanted = dict.fromkeys(section for name in names for section in views.VIEW_SECTIONS[name])
    sections: Mapping[str, str] = {section: views.SECTIONS[section](patent) for section in wanted}
    return {name: views.join_sections(sections[section] for section in views.VIEW_SECTIONS[name]) for name in names}


def field_texts(patent: Patent, names: Sequence[str]) -> list[str]:
    """Return fields of the classification texts (§3.6)."""
    return [
        getattr(patent.expert, name.removeprefix("dwpi_"))
        if name in DWPI_FIELDS
        else views.VIEWS[name.capitalize()](patent)
        for name in names
    ]


def metadata_table(documents: Sequence[Document], split: Mapping[str, str]) -> pa.Table:
    strings = pa.list_(pa.string())
    return pa.table(
        {
            "_id": [document.number for document in documents],
            "family_id": [document.family for document in documents],
            "jurisdiction": [document.jurisdiction for document in documents],
            "ipc": pa.array([document.ipc for document in documents], strings),
            "coarse": pa.array([[label.coarse for label in document.labels] for document in documents], strings),
            "split": [split[document.family] for document in documents],
        }
    )


def write_retrieval(
    folder: Path,
    documents: Sequence[Document],
    qrels: Mapping[str, Mapping[str, int]],
    metadata: pa.Table,
    log: BuildLog,
) -> None:
    """Write corpus, queries, judgements and views."""
    names, absent = _available_views(documents)
    log.step("0.8 text views", len(documents), len(documents), f"left out: {', '.join(absent) or 'none'}")
    for name in names:
        if empty := [document.number for document in documents if not document.has_view(name)]:
            n_queries = sum(key in qrels for key in empty)
            note = f"{len(empty)} documents without text, {n_queries} of them queries, first '{empty[0]}'"
            log.step(f"0.8 view {name}", len(documents), len(documents) - len(empty), note)

    known = {document.number: document for document in documents}
    corpus = Composed(known, lambda document: title_and_text(document.patent))
    queries = Composed(
        {number: known[number] for number in qrels}, lambda document: views.VIEWS["TAC"](document.patent)
    )
    write_beir(folder, corpus, queries, qrels, metadata)
    views_of = ({"_id": document.number, **view_texts(document.patent, names)} for document in documents)
    write_rows(folder / "views.parquet", views_of, _texts_schema(names))
    n_relevant = len({document for relevant in qrels.values() for document in relevant})
    note = f"{len(qrels)} queries, {n_relevant} relevant documents"
    log.step("0.8 qrels", len(documents), sum(map(len, qrels.values())), note)


def _texts_schema(names: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in ("_id", *names)])


def _has_expert_text(documents: Sequence[Document]) -> bool:
    return any(document.has_view("DWPITA") for document in documents)


def _available_views(documents: Sequence[Document]) -> tuple[list[str], list[str]]:
    """Return the views that some document has, and the others with the reason."""
    with_expert = _has_expert_text(documents)
    available, absent = [], []
    for name in VIEWS:
        if name.startswith("DWPI") and not with_expert:
            absent.append(f"{name} (no document has text of DWPI)")
        elif name == "TAC" or any(document.has_view(name) for document in documents):
            available.append(name)
        else:
            absent.append(f"{name} (no document has it)")
    if "Claims" not in available:
        absent.append("claims in TAC, which is title and abstract here")
    return available, absent


def write_labels(
    folder: Path, sets: Sequence[LabelSet], documents: Sequence[Document], split: Mapping[str, str], log: BuildLog
) -> None:
    """Write fields, label sets and taxonomy, if there are labels."""
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for label_set in sets:
        rows: list[dict[str, Any]] = [
            {"_id": document.number, "split": split[document.family], "labels": labels}
            for document in documents
            if (labels := label_set.labels(document.labels))
        ]
        log.step(
            f"0.8b labels {label_set.name}",
            len(documents),
            len(rows),
            _split_note(Counter(row["split"] for row in rows)),
        )
        if rows:
            rows_of[label_set.name] = rows
    if not rows_of:
        note = "no document has a label: no tables for classification and clustering"
        log.step("0.8b labels", len(documents), 0, note)
        return
    names = (*DWPI_FIELDS, *PUBLIC_FIELDS) if _has_expert_text(documents) else PUBLIC_FIELDS
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
    families = {key: family or "" for key, family in rows.column("family_id")}
    refuse_straddling({key: split for key, split in rows.column("split") if split}, families, path)
    for name in tables.views:
        if empty := sum(not text.strip() for _, text in view_rows(folder, name)):
            counts[f"rows of view {name} without text"] = empty
    if other := _not_tac(folder, tables):
        what = "have another text in queries.jsonl (which TAC tasks read) than their TAC view"
        counts[f"of {len(tables.queries)} queries {what}"] = other
    return counts | _check_labels(folder, set(tables.corpus or rows), families)


def _not_tac(folder: Path, tables: BeirFolder) -> int:
    """Count queries with other words than TAC in the views or, without a view, the corpus; empty texts match."""
    texts = ((key, views.join_sections(tables.corpus[key])) for key in tables.queries if key in tables.corpus)
    tac_views = view_rows(folder, "TAC") if "TAC" in tables.views else ()
    other: dict[str, bool] = {}
    for key, text in chain(texts, tac_views):
        if key in tables.queries:
            other[key] = bool(text) and text.split() != tables.queries[key].split()
    return sum(other.values())


def _check_labels(folder: Path, known: set[str], families: Mapping[str, str]) -> dict[str, int]:
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
    family_of = {patent.publication_number: patent.family_id for patent in publications(patents)}
    log.step("0.1 id mapping", len(patents), len(family_of), f"{len(set(family_of.values()))} simple families")

    master = sorted(read_documents(patents), key=lambda document: age(document.publication))
    log.step("0.2-0.3 patent master", len(patents), len(master))
    if params.require:
        filters = [
            Filter(f"with {name}", lambda document, name=name: name in document.sections, field=name)  # type: ignore[misc]
            for name in params.require
        ]
        by_number = {document.number: document for document in master}
        master = list(Funnel(log, "documents", params.require, "0.3b ")(by_number, filters).values())

    n_labels = sum(len(document.labels) for document in master)
    n_without = sum(not document.labels for document in master)
    log.step("0.4 label extraction", len(master), n_labels, f"{n_without} without label")

    graph = family_graph(citations, family_of)
    note = f"directed edges between families of the corpus; {graph.dropped}"
    log.step("0.5 citation graph", len(citations), graph.n_edges, note)

    unique: dict[bytes, Document] = {}
    for document in master:
        unique.setdefault(document.text_digest, document)
    documents = sorted(unique.values(), key=lambda document: document.number)
    log.step("0.6 deduplication", len(master), len(documents), "identical text within a family")

    split = _split(documents, params)
    log.step("0.7 split", len({document.family for document in master}), len(split), "families, disjoint")

    twins = (document.twin_digest for document in documents)
    if leaks := leaking_near_duplicates(twins, [document.publication for document in documents], split):
        note = (
            "whose title and abstract are in train under another family: their labels can be looked up (twins=merge,"
            " twins=drop)"
        )
        log.step("0.7b twins over splits", len(documents), sum(leaks.values()), note)

    members = grouped(documents, lambda document: document.family)
    citing = [
        document
        for family, rows in members.items()
        if any(cited in members for cited in graph.cites.get(family, ()))
        for document in rows
    ]
    sets = label_sets([document.labels for document in documents], params.fine_documents, log)
    if not citing and not sets:
        counts = f"{len(citations)} citations: {graph.dropped}"
        problem = f"no citation connects two families of the corpus ({counts}), and no document has a label"
        raise DataError(problem, remedy=f"{MATCH_THEM}; or add labels")
    metadata = metadata_table(documents, split)
    if citing:
        qrels = _qrels(citing, members, graph, params, log)
        write_retrieval(folder, documents, qrels, metadata, log)
    else:
        log.step("0.8 qrels", graph.n_edges, 0, "no citation connects two families: no tables for retrieval")
        write_parquet(folder / "metadata.parquet", metadata)
    write_labels(folder, sets, documents, split, log)
    return len(documents)


def _split(documents: Sequence[Document], params: Params) -> dict[str, str]:
    """Assign families to splits; families with the same words are in one, so that splits share no text."""
    same = equal_rows(document.fields_digest for document in documents)
    first_family = first_of_connected([documents[row].family for row in rows] for rows in same)
    leader = {document.family: first_family.get(document.family, document.family) for document in documents}
    leaders = sorted(set(leader.values()))
    random.Random(params.seed).shuffle(leaders)
    first = round(len(leaders) * params.train)
    second = first + round(len(leaders) * params.validation)
    split = {family: SPLITS[(number >= first) + (number >= second)] for number, family in enumerate(leaders)}
    return {family: split[first] for family, first in leader.items()}


def _qrels(
    citing: Sequence[Document],
    members: Mapping[str, Sequence[Document]],
    graph: FamilyGraph,
    params: Params,
    log: BuildLog,
) -> dict[str, Mapping[str, int]]:
    """Draw the queries; return the relevant documents, one mapping for each family."""
    strata = {document.number: document.stratum for document in citing}
    chosen = set(sample_queries(strata, params.queries, params.seed, log))
    qrels: dict[str, Mapping[str, int]] = {}
    of_family: dict[str, dict[str, int]] = {}
    for document in citing:
        if document.number in chosen:
            if document.family not in of_family:
                cited = sorted(graph.cites[document.family])
                of_family = {document.family: {one.number: 1 for family in cited for one in members.get(family, ())}}
            qrels[document.number] = of_family[document.family]
    return qrels
