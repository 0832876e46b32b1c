"""The directory layout of the unreleased benchmarks: a BEIR folder with two optional tables (docs/data.md).

BEIR's ``GenericDataLoader`` reads corpus, queries and judgements. ``metadata.parquet`` has a row for each document or
query with the columns that slices need, ``views.parquet`` one with a string column for each text view.

Reading checks everything that could make a score wrong: invalid data raise :class:`~patent_mteb.errors.DataError` with
file, row and remedy; usable but unexpected data are counted and logged.
"""

from __future__ import annotations

import logging
import sys
import unicodedata
from collections import ChainMap, Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from patent_mteb.errors import DataError, check_columns, refuse_repeat, unique
from patent_mteb.files import (
    parquet_schema,
    read_batches,
    read_jsonl,
    read_keyed,
    text_lines,
    write_jsonl,
    write_lines,
    write_parquet,
)
from patent_mteb.memory import ROWS_AT_ONCE
from patent_mteb.metrics.slices import Qrels
from patent_mteb.patents import views as text_views
from patent_mteb.patents.corpus import ById, Texts, TitledTexts
from patent_mteb.patents.keyed import Keyed
from patent_mteb.patents.records import Patent

logger = logging.getLogger(__name__)
_FILES = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")
_HEADER = ["query-id", "corpus-id", "score"]
_GREATEST_GAIN = 100  # of a graded scale, a choice: larger numbers are ids or scores


@dataclass(frozen=True)
class BeirFolder:
    """The tables of a directory.

    ``corpus`` maps a document id to (title, text), ``queries`` a query id to its text, both in file order. ``views``
    are the columns of ``views.parquet``, which :func:`view_rows` reads one at a time. ``counts`` has the number of rows
    that are unexpected but usable.
    """

    corpus: TitledTexts
    queries: Texts
    qrels: Qrels
    metadata: pa.Table | None = None
    views: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


def judgements(path: Path) -> Iterator[tuple[int, str, str, int]]:
    """Yield row, query, document and grade of each judgement in a BEIR qrels file."""
    for number, line in text_lines(path):
        if number == 1:
            if line.split("\t") != _HEADER:
                remedy = "the first line must be: query-id<TAB>corpus-id<TAB>score"
                raise DataError(f"the header is {line!r}", path=path, row=1, remedy=remedy)
            continue
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != 3:
            problem, remedy = f"{len(fields)} columns instead of 3", "separate the three columns with tabs"
            raise DataError(problem, path=path, row=number, remedy=remedy)
        query, document, score = fields
        remedy = "write 1 for relevant, 0 for not relevant"
        try:
            gain = int(
                score if score.isascii() and "_" not in score else ""
            )  # int() reads 1_0 and digits of any script
        except ValueError as error:
            raise DataError(f"the score {score!r} is not an integer", path=path, row=number, remedy=remedy) from error
        if abs(gain) > _GREATEST_GAIN:
            raise DataError(f"the score {score} is not a grade of relevance", path=path, row=number, remedy=remedy)
        yield number, query, document, gain


def read_qrels(path: Path) -> tuple[Qrels, dict[tuple[str, str], int]]:
    """Read a BEIR qrels file: the grades, and the row of each pair."""
    qrels: Qrels = {}
    rows: dict[tuple[str, str], int] = {}
    for number, *ids, gain in judgements(path):
        query, document = map(sys.intern, ids)  # ids repeat
        refuse_repeat(rows, (query, document), number, path=path, what="the pair", remedy="keep one judgement a pair")
        qrels.setdefault(query, {})[document] = gain
    return qrels, rows


def _texts(path: Path, what: str, optional: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    rows = read_jsonl(path, ("_id", "text"), optional)
    return unique(rows, itemgetter("_id"), path=path, what=f"{what} id", remedy="keep one of the two rows")


def _documents(path: Path, empty: Counter[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for number, row in _texts(path, "document", ("title",)):
        if not row["_id"]:
            raise DataError("the document id is empty", path=path, row=number, remedy="give the document an id")
        empty["document"] += not (row["title"] + row["text"]).strip()
        yield row["_id"], (row["title"], row["text"])


def _queries(path: Path, empty: Counter[str]) -> Iterator[tuple[str, str]]:
    for _, row in _texts(path, "query"):
        empty["query"] += not row["text"].strip()
        yield row["_id"], row["text"]


def _unicode_remedy(key: str, known: Iterable[str]) -> str:
    """Return the remedy for an id that is known in another Unicode normal form."""
    composed = unicodedata.normalize("NFC", key)
    alike = any(unicodedata.normalize("NFC", other) == composed for other in known)
    return "the id is known in another Unicode form: write all files in one, such as NFC" if alike else ""


def _keyed_table(path: Path, known: Container[str], counts: dict[str, int], without: Container[str] = ()) -> pa.Table:
    table = read_keyed(path, without=without)
    counts[f"rows of {path.name} for unknown ids"] = sum(key not in known for key in _values(table["_id"]))
    return table


def view_rows(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield ids and texts of a column of ``views.parquet``; null is an empty text."""
    path = folder / "views.parquet"
    for batch in read_batches(path, ["_id", name]):
        check_columns(batch, {name: pa.string()}, path)
        yield from zip(batch["_id"].to_pylist(), (text or "" for text in batch[name].to_pylist()), strict=True)


def read_beir(folder: Path) -> BeirFolder:
    """Read and check a directory."""
    corpus_path, queries_path, qrels_path = (folder / name for name in _FILES)
    empty: Counter[str] = Counter()
    corpus = TitledTexts(_documents(corpus_path, empty))
    if not corpus:
        raise DataError("the corpus is empty", path=corpus_path, remedy="write at least one document")
    queries = Texts.collected(_queries(queries_path, empty))
    if not queries:
        raise DataError("there are no queries", path=queries_path, remedy="write at least one query")
    qrels, rows = read_qrels(qrels_path)
    for (query, document), number in rows.items():
        if document not in corpus:
            remedy = _unicode_remedy(document, corpus) or f"add the document to {corpus_path.name} or delete the row"
            problem = f"judgement of the unknown document '{document}'"
            raise DataError(problem, path=qrels_path, row=number, remedy=remedy)
        if query not in queries:
            remedy = _unicode_remedy(query, queries) or f"add the query to {queries_path.name} or delete the row"
            raise DataError(f"judgement for the unknown query '{query}'", path=qrels_path, row=number, remedy=remedy)
    self_judged = [(query, document) for query, document in rows if query == document]
    for query, document in self_judged:
        del qrels[query][document]
    gains = [gain for judged in qrels.values() for gain in judged.values()]
    if not any(gain > 0 for gain in gains):
        problem = "no judgement is positive" + (" but those of a document for itself" if self_judged else "")
        raise DataError(problem, path=qrels_path, remedy="a relevant pair needs a score of at least 1")
    unscored = sum(not any(gain > 0 for gain in qrels.get(query, {}).values()) for query in queries)
    counts = {
        "judgements with a score above 1 (gains of graded relevance)": sum(gain > 1 for gain in gains),
        "judgements of a document for itself (ignored)": len(self_judged),
        "documents with an empty text": empty["document"],
        "queries with an empty text": empty["query"],
        "queries without a positive judgement (not scored)": unscored,
    }
    known = ChainMap[str, Any](corpus, queries)  # type: ignore[arg-type]
    metadata_path, views_path = folder / "metadata.parquet", folder / "views.parquet"
    metadata = _keyed_table(metadata_path, known, counts) if metadata_path.exists() else None
    views: tuple[str, ...] = ()
    if views_path.exists():
        views = tuple(name for name in parquet_schema(views_path).names if name != "_id")
        _keyed_table(views_path, known, counts, without=views)
    counts = {what: number for what, number in counts.items() if number}
    for what, number in counts.items():
        logger.warning("%s: %d %s", folder, number, what)
    return BeirFolder(corpus, queries, qrels, metadata, views, counts)


def title_and_text(patent: Patent, sections: Sequence[str] = ("Abstract", "Claims")) -> tuple[str, str]:
    """Return title and text of a patent as a document of the corpus."""
    return patent.title, text_views.join_sections(text_views.VIEWS[name](patent) for name in sections)


def write_beir(
    folder: Path,
    corpus: Mapping[str, tuple[str, str]],
    queries: Mapping[str, str],
    qrels: Mapping[str, Mapping[str, int]],
    metadata: pa.Table | None = None,
    views: pa.Table | None = None,
) -> None:
    """Write a directory that :func:`read_beir` reads."""
    _refuse_breaks(chain(corpus, queries), folder)
    corpus_path, queries_path, qrels_path = (folder / name for name in _FILES)
    write_qrels(qrels_path, qrels)
    write_jsonl(corpus_path, ({"_id": key, "title": title, "text": text} for key, (title, text) in corpus.items()))
    write_jsonl(queries_path, ({"_id": key, "text": text} for key, text in queries.items()))
    for name, table in (("metadata.parquet", metadata), ("views.parquet", views)):
        if table is not None:
            write_parquet(folder / name, table)


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write judgements that :func:`read_qrels` reads."""

    def lines() -> Iterator[str]:
        yield "\t".join(_HEADER)
        for query, judged in qrels.items():
            _refuse_breaks((query, *judged), path)
            yield from (f"{query}\t{document}\t{gain}" for document, gain in judged.items())

    write_lines(path, lines())


def _refuse_breaks(names: Iterable[str], path: Path) -> None:
    for name in names:
        if "\t" in name or "\n" in name or "\r" in name:
            raise DataError(f"the id {name!r} holds a tab or a line break", path=path, remedy="choose ids without them")


_METADATA = {
    "family_id": pa.string(),
    "jurisdiction": pa.string(),
    "publication_year": pa.int64(),
    "ipc": pa.list_(pa.string()),
    "coarse": pa.list_(pa.string()),
    "split": pa.string(),
}
"""Columns of ``metadata.parquet`` that the suite uses, each optional."""


class MetadataRows(ById[Mapping[str, Any]]):
    """Rows by id, created on access from columns; null items of lists are dropped."""

    def __init__(self, table: pa.Table) -> None:
        self._row = Keyed(_values(table["_id"]), range(len(table)))
        super().__init__(self._row)
        self._columns = {name: table[name].combine_chunks() for name in table.column_names if name != "_id"}

    def column(self, name: str) -> Iterator[tuple[str, Any]]:
        """Return ids and values of a column; without the column, values are None."""
        if name not in self._columns:
            return ((key, None) for key in self)
        return zip(self, map(_without_nulls, _values(self._columns[name])), strict=True)

    def __getitem__(self, key: str) -> Mapping[str, Any]:
        row = self._row[key]
        return {name: _without_nulls(column[row].as_py()) for name, column in self._columns.items()}


def _values(column: pa.Array | pa.ChunkedArray) -> Iterator[Any]:
    """Yield the values of a column; few of them are Python objects at a time."""
    blocks = (column[start : start + ROWS_AT_ONCE] for start in range(0, len(column), ROWS_AT_ONCE))
    return chain.from_iterable(block.to_pylist() for block in blocks)


def _without_nulls(value: Any) -> Any:
    return [item for item in value if item is not None] if isinstance(value, list) else value


def metadata_rows(folder: Path, tables: BeirFolder) -> tuple[MetadataRows, dict[str, int]]:
    """Return the checked rows of ``metadata.parquet``, and counts of odd values."""
    counts: dict[str, int] = {}
    table = tables.metadata
    if table is None:
        table = pa.table({"_id": pa.array([], pa.string())})
    present = {name: kind for name, kind in _METADATA.items() if name in table.column_names}
    check_columns(table, present, folder / "metadata.parquet")
    lists = [column for column in table.columns if isinstance(column.type, pa.ListType | pa.LargeListType)]
    if nulls := sum(pc.list_flatten(column).null_count for column in lists):
        counts["null items in lists of metadata.parquet (left out)"] = nulls
    rows = MetadataRows(table)
    n_texts = len(tables.corpus) + sum(query not in tables.corpus for query in tables.queries)
    if "family_id" not in table.column_names:
        what = f"queries whose own family is not removed: no family_id in {folder.name}/metadata.parquet"
        counts[what] = len(tables.queries)
    elif without := n_texts - sum(
        bool(family) and (key in tables.corpus or key in tables.queries) for key, family in rows.column("family_id")
    ):
        counts["documents and queries without family_id (their own family is not removed)"] = without
    return rows, counts
