"""The local directory layout of the unreleased families: a BEIR folder with two optional tables beside it.

====================  =========================================================================================
file                  content
====================  =========================================================================================
``corpus.jsonl``      one object a document: ``_id``, ``title``, ``text`` (title + one blank + text is the corpus view)
``queries.jsonl``     one object a query: ``_id``, ``text``
``qrels/test.tsv``    header ``query-id<TAB>corpus-id<TAB>score``, then one judgement a line; score > 0 is relevant
``metadata.parquet``  optional: one row a document or query, ``_id`` and what slices need (see the family's recipe)
``views.parquet``     optional: one row a document or query, ``_id`` and one string column a text view
====================  =========================================================================================

BEIR's ``GenericDataLoader`` reads the first three as they are. Reading checks everything that would make a score silently
wrong; what cannot be used raises :class:`~patent_mteb.errors.DataError` with file, row and remedy, what is merely odd is
counted and logged.
"""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from patent_mteb.build import write_jsonl, write_parquet
from patent_mteb.errors import DataError, refuse_repeat
from patent_mteb.lines import text_lines
from patent_mteb.slices import Qrels

logger = logging.getLogger(__name__)

__all__ = ["BeirFolder", "check_columns", "read_beir", "read_jsonl", "read_parquet", "read_qrels", "write_beir"]

_HEADER = ["query-id", "corpus-id", "score"]


@dataclass(frozen=True)
class BeirFolder:
    """The tables of one local directory.

    ``corpus`` maps a document id to (title, text), ``queries`` a query id to its text, both in file order. ``metadata`` and
    ``views`` are None where the directory has none. ``counts`` holds what was found odd but usable.
    """

    corpus: dict[str, tuple[str, str]]
    queries: dict[str, str]
    qrels: Qrels
    metadata: pa.Table | None = None
    views: pa.Table | None = None
    counts: dict[str, int] = field(default_factory=dict)


def read_jsonl(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a JSON-lines file whose named fields are strings.

    Yields:
        (row, {field: text}) for every line that is not blank; an optional field that is missing or null is ``""``.

    Raises:
        DataError: missing file, UTF-8 error, malformed JSON, missing field or wrong type, each with its row.
    """
    for number, line in text_lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(
                f"malformed JSON ({error.msg} at column {error.colno})", path=path, row=number, remedy="mend the line"
            ) from error
        if not isinstance(row, dict):
            raise DataError(f"a JSON {type(row).__name__} where an object is expected", path=path, row=number, remedy="mend the line")
        values = {}
        for name in (*required, *optional):
            value = row.get(name)
            if value is None and name in optional:
                value = ""
            elif value is None:
                raise DataError(f"field '{name}' is missing", path=path, row=number, remedy=f'add "{name}": "..."')
            if not isinstance(value, str):
                raise DataError(
                    f"field '{name}' is a {type(value).__name__} ({value!r}), not a string",
                    path=path,
                    row=number,
                    remedy="write it in double quotes",
                )
            values[name] = value
        yield number, values


def read_qrels(path: Path) -> tuple[Qrels, dict[tuple[str, str], int]]:
    """Read a BEIR qrels file.

    Returns:
        the judgements, and the row of each (query, document) pair.

    Raises:
        DataError: missing file, missing header, wrong number of columns, a score that is no integer, or a pair judged twice.
    """
    qrels: Qrels = {}
    rows: dict[tuple[str, str], int] = {}
    for number, line in text_lines(path):
        if number == 1:
            if line.split("\t") != _HEADER:
                raise DataError(
                    f"the header is {line!r}", path=path, row=1, remedy="the first line must be: query-id<TAB>corpus-id<TAB>score"
                )
            continue
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != 3:
            raise DataError(f"{len(fields)} columns instead of 3", path=path, row=number, remedy="separate the three columns with tabs")
        query, document, score = fields
        try:
            gain = int(score)
        except ValueError as error:
            raise DataError(
                f"the score {score!r} is not an integer", path=path, row=number, remedy="write 1 for relevant, 0 for not relevant"
            ) from error
        first = rows.setdefault((query, document), number)
        if first != number:
            raise DataError(
                f"the pair '{query}', '{document}' is judged twice (first in row {first})",
                path=path,
                row=number,
                remedy="keep one judgement a pair",
            )
        qrels.setdefault(query, {})[document] = gain
    return qrels, rows


def read_parquet(path: Path, columns: Mapping[str, pa.DataType] | Iterable[str] = ()) -> pa.Table:
    """Read a parquet file and check its columns.

    Args:
        columns: names that must exist; with types given, a column of another kind is an error (integer and string widths do
            not matter).

    Raises:
        DataError: missing or unreadable file, missing column, or wrong column type.
    """
    if not path.is_file():
        raise DataError("the file is missing", path=path, remedy="see 'Your own data' in the README for the layout")
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"not a readable parquet file ({error})", path=path, remedy="write or download the file again") from error
    check_columns(table, columns, path)
    return table


def check_columns(table: pa.Table, columns: Mapping[str, pa.DataType] | Iterable[str], path: Path) -> None:
    """Check the columns of a table that was read from ``path``; arguments and errors as in :func:`read_parquet`."""
    types = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns)
    for name, expected in types.items():
        if name not in table.column_names:
            raise DataError(f"column '{name}' is missing (columns: {', '.join(table.column_names)})", path=path, remedy="add the column")
        if expected is not None and not _same_kind(table.schema.field(name).type, expected):
            raise DataError(
                f"column '{name}' has type {table.schema.field(name).type}, expected {expected}",
                path=path,
                remedy="write the column with the right type",
            )


def _same_kind(found: pa.DataType, expected: pa.DataType) -> bool:
    for test in (
        lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or _is_string_dictionary(t),
        pa.types.is_integer,
        pa.types.is_floating,
    ):
        if test(expected):
            return bool(test(found))
    if pa.types.is_list(expected):
        return (pa.types.is_list(found) or pa.types.is_large_list(found)) and _same_kind(found.value_type, expected.value_type)
    return bool(found == expected)


def _is_string_dictionary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))


def _unique(rows: Iterable[tuple[int, dict[str, str]]], path: Path, what: str) -> Iterator[tuple[int, dict[str, str]]]:
    seen: dict[str, int] = {}
    for number, row in rows:
        refuse_repeat(seen, row["_id"], number, path=path, what=f"{what} id", remedy="keep one of the two rows")
        yield number, row


def _keyed_table(path: Path, known: set[str]) -> tuple[pa.Table | None, int]:
    if not path.exists():
        return None, 0
    table = read_parquet(path, {"_id": pa.string()})
    seen: dict[str, int] = {}
    for row, key in enumerate(table["_id"].to_pylist(), start=1):
        refuse_repeat(seen, key, row, path=path, what="_id", remedy="keep one row an id")
    return table, sum(key not in known for key in seen)


def read_beir(folder: Path) -> BeirFolder:
    """Read and check one local directory (see the module's table for its files).

    Raises:
        DataError: anything that cannot be used: a missing file, malformed or wrongly typed rows, duplicate ids, an empty corpus or
            no queries, a judgement of an unknown document or query, no positive judgement at all.
    """
    corpus_path, queries_path, qrels_path = folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv"
    counts: dict[str, int] = {}
    corpus = {}
    for number, row in _unique(read_jsonl(corpus_path, ("_id", "text"), ("title",)), corpus_path, "document"):
        if not row["_id"]:
            raise DataError("the document id is empty", path=corpus_path, row=number, remedy="give the document an id")
        corpus[row["_id"]] = (row["title"], row["text"])
    if not corpus:
        raise DataError("the corpus is empty", path=corpus_path, remedy="write at least one document")
    queries = {row["_id"]: row["text"] for _, row in _unique(read_jsonl(queries_path, ("_id", "text")), queries_path, "query")}
    if not queries:
        raise DataError("there are no queries", path=queries_path, remedy="write at least one query")
    qrels, rows = read_qrels(qrels_path)
    for (query, document), number in rows.items():
        if document not in corpus:
            raise DataError(
                f"judgement of the unknown document '{document}'",
                path=qrels_path,
                row=number,
                remedy=f"add the document to {corpus_path.name} or delete the row",
            )
        if query not in queries:
            raise DataError(
                f"judgement for the unknown query '{query}'",
                path=qrels_path,
                row=number,
                remedy=f"add the query to {queries_path.name} or delete the row",
            )
    if not any(gain > 0 for judged in qrels.values() for gain in judged.values()):
        raise DataError("no judgement is positive", path=qrels_path, remedy="a relevant pair needs a score of at least 1")
    self_judged = [(query, document) for query, document in rows if query == document]
    for query, document in self_judged:
        del qrels[query][document]
    counts["judgements of a document for itself (ignored)"] = len(self_judged)
    counts["documents with an empty text"] = sum(not (title + text).strip() for title, text in corpus.values())
    counts["queries with an empty text"] = sum(not text.strip() for text in queries.values())
    counts["queries without a positive judgement (not scored)"] = sum(
        not any(gain > 0 for gain in qrels.get(query, {}).values()) for query in queries
    )
    known = corpus.keys() | queries.keys()
    metadata, strangers = _keyed_table(folder / "metadata.parquet", known)
    counts["rows of metadata.parquet for unknown ids"] = strangers
    views, strangers = _keyed_table(folder / "views.parquet", known)
    counts["rows of views.parquet for unknown ids"] = strangers
    counts = {what: number for what, number in counts.items() if number}
    for what, number in counts.items():
        logger.warning("%s: %d %s", folder, number, what)
    return BeirFolder(corpus, queries, qrels, metadata, views, counts)


def write_beir(
    folder: Path,
    corpus: Mapping[str, tuple[str, str]],
    queries: Mapping[str, str],
    qrels: Mapping[str, Mapping[str, int]],
    metadata: pa.Table | None = None,
    views: pa.Table | None = None,
) -> list[Path]:
    """Write one local directory; :func:`read_beir` gives the same tables back.

    Returns:
        the files written.

    Raises:
        DataError: an id that holds a tab or a line break, which the qrels file cannot carry.
    """
    for name in (*corpus, *queries):
        if any(character in name for character in "\t\r\n"):
            raise DataError(f"the id {name!r} holds a tab or a line break", path=folder, remedy="choose ids without them")
    files = [folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv"]
    write_jsonl(files[0], ({"_id": key, "title": title, "text": text} for key, (title, text) in corpus.items()))
    write_jsonl(files[1], ({"_id": key, "text": text} for key, text in queries.items()))
    files[2].parent.mkdir(parents=True, exist_ok=True)
    with files[2].open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
        writer.writerow(_HEADER)
        writer.writerows((query, document, gain) for query, judged in qrels.items() for document, gain in judged.items())
    for name, table in (("metadata.parquet", metadata), ("views.parquet", views)):
        if table is not None:
            write_parquet(folder / name, table)
            files.append(folder / name)
    return files


def table_rows(table: pa.Table | None) -> dict[str, dict[str, Any]]:
    """The rows of a keyed table as ``{_id: {column: value}}``."""
    return {} if table is None else {row.pop("_id"): row for row in table.to_pylist()}
