"""The tables of WIPO-AT, written document by document."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from patent_mteb.files import write_parquet, write_rows, write_text
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Composed
from patent_mteb.recipes.beir import write_beir
from patent_mteb.recipes.label_sets import SPLITS
from patent_mteb.recipes.landscapes import LabelSet
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.wipo_at_documents import DWPI_FIELDS, PUBLIC_FIELDS, VIEWS, Document, Documents, field_texts, view_texts

__all__ = ["metadata_table", "write_labels", "write_retrieval"]


def metadata_table(documents: Sequence[Document], split: Mapping[str, str]) -> pa.Table:
    """``metadata.parquet``.

    Args:
        split: split by patent family.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.wipo_at_documents import read_documents
        >>> from patent_mteb.recipes.wipo_at_tables import metadata_table
        >>> metadata_table(read_documents([Patent("US1A", "F1")]).rows, {"F1": "train"}).column_names
        ['_id', 'family_id', 'jurisdiction', 'ipc', 'coarse', 'split']
    """
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
    folder: Path, documents: Documents, qrels: Mapping[str, Mapping[str, int]], metadata: pa.Table, log: BuildLog
) -> list[Path]:
    """Write corpus, queries, judgements and views; return the files.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.log import BuildLog
        >>> from patent_mteb.recipes.wipo_at_documents import read_documents
        >>> from patent_mteb.recipes.wipo_at_tables import metadata_table, write_retrieval
        >>> documents = read_documents([Patent("US1A", "F1", "Pump"), Patent("US2A", "F2", "Valve")])
        >>> metadata = metadata_table(documents.rows, {"F1": "train", "F2": "test"})
        >>> files = write_retrieval(Path("mine"), documents, {"US1A": {"US2A": 1}}, metadata, BuildLog("mine"))
        >>> [path.name for path in files]
        ['corpus.jsonl', 'queries.jsonl', 'test.tsv', 'metadata.parquet', 'views.parquet']
    """
    names, left_out = _views_there(documents)
    log.step("0.8 text views", len(documents), len(documents), f"left out: {', '.join(left_out) or 'none'}")
    _log_empty_views(documents.rows, names, qrels, log)

    def document(row: Document) -> tuple[str, str]:
        patent = documents.patent(row)
        return patent.title, views.join_sections(view_texts(patent, ("Abstract", "Claims")).values())

    def query(row: Document) -> str:
        return views.VIEWS["TAC"](documents.patent(row))

    rows = {row.number: row for row in documents.rows}
    corpus, queries = Composed(rows, document), Composed({number: rows[number] for number in qrels}, query)
    files = write_beir(folder, corpus, queries, qrels, metadata)
    views_of = ({"_id": patent.publication_number, **view_texts(patent, names)} for patent in documents.patents())
    write_rows(folder / "views.parquet", views_of, _texts_schema(names))
    n_relevant = len({document for relevant in qrels.values() for document in relevant})
    log.step("0.8 qrels", len(documents), sum(map(len, qrels.values())), f"{len(qrels)} queries, {n_relevant} relevant documents")
    return [*files, folder / "views.parquet"]


def _texts_schema(names: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in ("_id", *names)])


def _has_expert_text(documents: Documents) -> bool:
    return any(row.has_view("DWPITA") for row in documents.rows)


def _views_there(documents: Documents) -> tuple[list[str], list[str]]:
    """The views that there are, and those that no document has, with the reason."""
    with_expert = _has_expert_text(documents)
    there, left_out = [], []
    for name in VIEWS:
        if name.startswith("DWPI") and not with_expert:
            left_out.append(f"{name} (no document has text of DWPI)")
        elif name == "TAC" or any(row.has_view(name) for row in documents.rows):
            there.append(name)
        else:
            left_out.append(f"{name} (no document has it)")
    if "Claims" not in there:
        left_out.append("claims in TAC, which is title and abstract here")
    return there, left_out


def _log_empty_views(documents: Sequence[Document], names: Sequence[str], queries: Collection[str], log: BuildLog) -> None:
    """A step for each view that some document lacks."""
    for name in names:
        empty = [row.number for row in documents if not row.has_view(name)]
        if empty:
            asking = sum(key in queries for key in empty)
            note = f"{len(empty)} documents without text, {asking} of them queries, first '{empty[0]}'"
            log.step(f"0.8 view {name}", len(documents), len(documents) - len(empty), note)


def write_labels(folder: Path, sets: Sequence[LabelSet], documents: Documents, split: Mapping[str, str], log: BuildLog) -> list[Path]:
    """Write the fields, the tables of the label sets and the taxonomy, nothing if there is no set; return the files.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.log import BuildLog
        >>> from patent_mteb.recipes.wipo_at_documents import read_documents
        >>> from patent_mteb.recipes.wipo_at_tables import write_labels
        >>> write_labels(Path("mine"), [], read_documents([Patent("US1A", "F1", "Pump")]), {"F1": "train"}, BuildLog("mine"))
        []
    """
    taxonomy: dict[str, list[str]] = {}
    tables: dict[Path, pa.Table] = {}
    for label_set in sets:
        rows = [(document.number, split[document.family], label_set.labels(document)) for document in documents.rows]
        rows = [row for row in rows if row[2]]
        log.step(f"0.8b labels {label_set.name}", len(documents), len(rows), _split_note([row[1] for row in rows]))
        if not rows:
            continue
        taxonomy[label_set.name] = sorted({label for _, _, labels in rows for label in labels})
        ids, splits, labels = (list(column) for column in zip(*rows, strict=True))
        table = pa.table({"_id": ids, "split": splits, "labels": pa.array(labels, pa.list_(pa.string()))})
        tables[folder / "labels" / f"{label_set.name}.parquet"] = table
    if not tables:
        log.step("0.8b labels", len(documents), 0, "no document has a label: no tables for classification and clustering")
        return []
    names = (*DWPI_FIELDS, *PUBLIC_FIELDS) if _has_expert_text(documents) else PUBLIC_FIELDS
    if names == PUBLIC_FIELDS:
        log.step("0.8b fields of DWPI", len(documents), 0, "no document has text of DWPI: no fields of DWPI")
    fields_of = (
        {"_id": patent.publication_number, **dict(zip(names, field_texts(patent, names), strict=True))} for patent in documents.patents()
    )
    write_rows(folder / "fields.parquet", fields_of, _texts_schema(names))
    for path, table in tables.items():
        write_parquet(path, table)
    taxonomy_file = write_text(folder / "labels" / "taxonomy.json", json.dumps(taxonomy, indent=1, ensure_ascii=False) + "\n")
    return [folder / "fields.parquet", *tables, taxonomy_file]


def _split_note(splits: Sequence[str]) -> str:
    sizes = {name: splits.count(name) for name in SPLITS}
    counts = ", ".join(f"{name} {number}" for name, number in sizes.items())
    return counts if not splits or all(sizes.values()) else f"{counts}: a split is empty, set train=0.5 and validation=0.2"
