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
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import read_keyed, write_parquet, write_rows, write_text
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Composed, Texts, TitledTexts
from patent_mteb.patents.keyed import Keyed
from patent_mteb.patents.near_duplicates import leaking_near_duplicates, near_duplicate_key
from patent_mteb.patents.on_disk import DiskList, publications
from patent_mteb.patents.records import Citation, Description, Label, Patent
from patent_mteb.patents.tables import by_age, column_of, first_of_connected, frame_of
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
from patent_mteb.recipes.sampling import sample_queries, stratum
from patent_mteb.recipes.steps import MATCH_THEM, BuildLog, Filter, Funnel, Need, counts_note

VIEWS = ("TA", "TAC", "Abstract", "Claim1", "Claims", "DWPIFull", "DWPITA")

_EXPERT = ["title", "detailed_description", "novelty", "use", "advantage", "technology_focus"]
DWPI_FIELDS = tuple(f"dwpi_{name}" for name in _EXPERT)
PUBLIC_FIELDS = ("claim1", "abstract", "title", "keywords")
_SECTIONS = tuple(dict.fromkeys(section for view in VIEWS for section in views.VIEW_SECTIONS[view]))
_NO_DESCRIPTION = Description()


_DOCUMENT = {
    "jurisdiction": pl.String,
    "stratum": pl.String,
    "labels": pl.UInt32,
    "n_labels": pl.UInt32,
    "text_key": pl.Binary,
    "near_duplicate_key": pl.Binary,
    "fields_key": pl.Binary,
    **dict.fromkeys(_SECTIONS, pl.Boolean),
}


@dataclass(frozen=True)
class Documents:
    """Documents as a table with a row for each. Their texts are on disk, without description and translations.

    Attributes:
        table: ``row`` in the texts, ``number``, ``family``, ``day`` of publication, ``jurisdiction``, ``stratum`` (year
            and IPC section), ``labels`` (place in the lists of labels) and their number ``n_labels``, whether each
            section of the views has a text, and keys that are equal for equal texts: ``text_key`` of family, title,
            abstract and claims; ``near_duplicate_key``; ``fields_key`` of the fields of classification. A key of no
            text is null.
        texts: the cleaned records.
        labels: the distinct lists of labels.
    """

    table: pl.DataFrame
    texts: DiskList[Patent]
    labels: Sequence[tuple[Label, ...]]

    def __len__(self) -> int:
        return len(self.table)

    def have(self, view: str) -> pl.Series:
        """Whether a text view of each document is not empty."""
        return self.table.select(pl.any_horizontal(views.VIEW_SECTIONS[view])).to_series()

    def records(self) -> Iterator[Patent]:
        return map(self.texts.__getitem__, self.table["row"])


def read_documents(patents: Sequence[Patent]) -> Documents:
    """Clean the records, write them to a temporary file and note what the steps of the recipe need of them."""
    texts = DiskList[Patent]()
    labels: dict[tuple[Label, ...], int] = {}

    def rows() -> Iterator[tuple[Any, ...]]:
        for patent in patents:
            cleaned = replace(clean_patent(patent), description=_NO_DESCRIPTION, translations=())
            texts.append(cleaned)
            fields = field_texts(cleaned, (*DWPI_FIELDS, *PUBLIC_FIELDS))
            yield (
                cleaned.filing_jurisdiction or cleaned.jurisdiction,
                "\0".join(stratum(cleaned)),
                labels.setdefault(cleaned.labels, len(labels)),
                len(cleaned.labels),
                text_key(cleaned.family_id, views.VIEWS["TAC"](cleaned)),
                near_duplicate_key(cleaned) or None,
                text_key(*fields) if any(fields) else None,
                *(bool(views.SECTIONS[name](cleaned).strip()) for name in _SECTIONS),
            )

    table = publications(patents).hstack(frame_of(rows(), _DOCUMENT))
    return Documents(table, texts, list(labels))


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


def write_metadata(folder: Path, documents: Documents) -> None:
    known = documents.table.select("number", "family", "jurisdiction", "labels", "split").iter_rows()
    rows = (
        {
            "_id": number,
            "family_id": family,
            "jurisdiction": jurisdiction,
            "ipc": patent.ipc,
            "coarse": [label.coarse for label in documents.labels[labels]],
            "split": split,
        }
        for (number, family, jurisdiction, labels, split), patent in zip(known, documents.records(), strict=True)
    )
    write_rows(folder / "metadata.parquet", rows, _METADATA)


def write_retrieval(folder: Path, documents: Documents, qrels: Mapping[str, Mapping[str, int]], log: BuildLog) -> None:
    """Write corpus, queries, judgements and views."""
    names, absent = _available_views(documents)
    log.step("0.8 text views", len(documents), len(documents), f"left out: {', '.join(absent) or 'none'}")
    numbers = documents.table["number"]
    for name in names:
        without = numbers.filter(~documents.have(name))
        if len(without):
            n_queries = sum(number in qrels for number in without)
            note = f"{len(without)} documents without text, {n_queries} of them queries, first '{without[0]}'"
            log.step(f"0.8 view {name}", len(documents), len(documents) - len(without), note)

    known = Keyed[int](numbers, documents.table["row"].to_list())
    corpus = Composed(known, lambda row: title_and_text(documents.texts[row]))
    queries = Composed(
        {number: known[number] for number in qrels}, lambda row: views.VIEWS["TAC"](documents.texts[row])
    )
    write_beir(folder, corpus, queries, qrels)
    views_of = (
        {"_id": patent.publication_number, **{name: views.VIEWS[name](patent) for name in names}}
        for patent in documents.records()
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


def write_labels(folder: Path, sets: Sequence[LabelSet], documents: Documents, log: BuildLog) -> None:
    """Write fields, label sets and taxonomy, if there are labels."""
    rows_of: dict[str, list[dict[str, Any]]] = {}
    labelled = documents.table.filter(pl.col("n_labels") > 0).select("number", "split", "labels")
    for label_set in sets:
        rows: list[dict[str, Any]] = [
            {"_id": number, "split": split, "labels": in_set}
            for number, split, labels in labelled.iter_rows()
            if (in_set := label_set.labels(documents.labels[labels]))
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
        {"_id": patent.publication_number, **dict(zip(names, field_texts(patent, names), strict=True))}
        for patent in documents.records()
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
    families = Keyed[str](rows, column_of(family or "" for _, family in rows.column("family_id")))
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
    publications_read = publications(patents)
    n_families = publications_read["family"].n_unique()
    log.step("0.1 id mapping", len(patents), len(publications_read), f"{n_families} simple families")

    documents = read_documents(patents)
    table = by_age(documents.table)
    log.step("0.2-0.3 patent master", len(patents), len(table))
    if params.require:
        filters = [Filter(f"with {name}", pl.col(name), field=name) for name in params.require]
        table = Funnel(log, "documents", params.require, "0.3b ")(table, filters)

    without = int((table["n_labels"] == 0).sum())
    log.step("0.4 label extraction", len(table), int(table["n_labels"].sum()), f"{without} without label")

    graph = family_graph(citations, publications_read)
    note = f"directed edges between families of the corpus; {graph.dropped}"
    log.step("0.5 citation graph", len(citations), len(graph.edges), note)

    n_master, n_families = len(table), table["family"].n_unique()
    table = table.unique("text_key", keep="first", maintain_order=True).sort("number")
    log.step("0.6 deduplication", n_master, len(table), "identical text within a family")

    split = _split(table, params)
    log.step("0.7 split", n_families, len(split), "families, disjoint")
    table = table.join(split, on="family", how="left", maintain_order="left")
    documents = replace(documents, table=table)

    if leaks := leaking_near_duplicates(table):
        note = (
            "whose title and abstract are in train under another family: their labels can be looked up (twins=merge,"
            " twins=drop)"
        )
        log.step("0.7b twins over splits", len(documents), leaks, note)

    citing = _citing(table, graph)
    labelled = table.filter(pl.col("n_labels") > 0)
    sets = label_sets([documents.labels[place] for place in labelled["labels"]], params.fine_documents, log)
    if citing.is_empty() and not sets:
        counts = f"{len(citations)} citations: {graph.dropped}"
        problem = f"no citation connects two families of the corpus ({counts}), and no document has a label"
        raise DataError(problem, remedy=f"{MATCH_THEM}; or add labels")
    if len(citing):
        write_retrieval(folder, documents, _qrels(citing, table, graph, params, log), log)
    else:
        log.step("0.8 qrels", len(graph.edges), 0, "no citation connects two families: no tables for retrieval")
    write_metadata(folder, documents)
    write_labels(folder, sets, documents, log)
    return len(documents)


def _split(documents: pl.DataFrame, params: Params) -> pl.DataFrame:
    """Return the split of each family; families with the same words are in one, so that splits share no text."""
    alike = documents.drop_nulls("fields_key").select(group="fields_key", member="family")
    families = documents.select(pl.col("family").unique().sort())
    families = families.join(first_of_connected(alike), left_on="family", right_on="member", how="left")
    families = families.select("family", first=pl.coalesce("first", "family"))
    groups = families["first"].unique().sort().to_list()
    random.Random(params.seed).shuffle(groups)
    validation = round(len(groups) * params.train)
    test = validation + round(len(groups) * params.validation)
    sizes = (validation, test - validation, len(groups) - test)
    splits = [name for name, size in zip(SPLITS, sizes, strict=True) for _ in range(size)]
    return families.join(pl.DataFrame({"first": groups, "split": splits}), on="first").drop("first")


def _citing(documents: pl.DataFrame, graph: FamilyGraph) -> pl.DataFrame:
    """Return the documents of families that cite another of the documents, grouped by family."""
    edges = graph.edges.join(documents, left_on="cited", right_on="family", how="semi")
    citing = documents.join(edges, left_on="family", right_on="citing", how="semi", maintain_order="left")
    return citing.sort(pl.col("number").first().over("family"), "number")


def _qrels(
    citing: pl.DataFrame, documents: pl.DataFrame, graph: FamilyGraph, params: Params, log: BuildLog
) -> dict[str, Mapping[str, int]]:
    """Draw the queries; return the relevant documents, one mapping for each family."""
    strata = dict(citing.select("number", "stratum").iter_rows())
    chosen = sample_queries(strata, params.queries, params.seed, log)
    queries = citing.filter(pl.col("number").is_in(chosen))
    relevant = (
        graph.edges.join(queries, left_on="citing", right_on="family", how="semi")
        .join(documents.select("number", cited="family"), on="cited")
        .sort("citing", "cited", "number")
        .group_by("citing")
        .agg("number")
    )
    judged = {family: dict.fromkeys(numbers, 1) for family, numbers in relevant.iter_rows()}
    return {number: judged[family] for number, family in queries.select("number", "family").iter_rows()}
