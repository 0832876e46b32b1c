"""Every read and write of files: lines, JSON lines, parquet tables, JSON documents; the folder of the caches."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from patent_mteb.errors import DataError

__all__ = [
    "cache_root",
    "check_columns",
    "json_digest",
    "read_json",
    "read_jsonl",
    "read_parquet",
    "replacing",
    "table_rows",
    "text_lines",
    "write_json",
    "write_jsonl",
    "write_parquet",
    "write_text",
]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of ``path`` when the block ends well: whoever reads finds the old or the new, whole.

    The folder is made if it is missing; a block that fails leaves nothing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write a text file, UTF-8, and return its path."""
    with replacing(path) as partial:
        partial.write_text(text, "utf-8")
    return path


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write one parquet file; the same table gives the same bytes."""
    with replacing(path) as partial:
        pq.write_table(table, partial)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]], **options: Any) -> None:
    """Write one JSON object a line, UTF-8, keys in the order given; ``options`` are those of ``json.dumps``."""
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False, **options) + "\n")


def cache_root() -> Path:
    """The user cache of the suite: ``PATENT_MTEB_CACHE``, else ``$XDG_CACHE_HOME/patent_mteb``, else ``~/.cache/patent_mteb``."""
    if explicit := os.environ.get("PATENT_MTEB_CACHE"):
        return Path(explicit).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "patent_mteb"


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


def table_rows(table: pa.Table | None) -> dict[str, dict[str, Any]]:
    """The rows of a keyed table as ``{_id: {column: value}}``."""
    return {} if table is None else {row.pop("_id"): row for row in table.to_pylist()}


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1, without line ends; a byte order mark is passed over.

    Raises:
        DataError: the file is missing, or a line is not valid UTF-8.
    """
    if not path.is_file():
        raise DataError("the file is missing", path=path, remedy="see 'Your own data' in the README for the layout")
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at column {error.start + 1})",
                    path=path,
                    row=number,
                    remedy="save the file as UTF-8, for example with: iconv -f latin1 -t utf-8",
                ) from error
            yield number, line.rstrip("\r\n")


def json_digest(document: Any) -> str:
    """Hash (32 hexadecimal digits) of a JSON document, whatever the order of its keys."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


def read_json(path: Path) -> Any:
    """The document in a file, None if it is missing or no JSON."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, document: Any) -> None:
    """Replace a file by a document in one step."""
    write_text(path, json.dumps(document, indent=2, sort_keys=True) + "\n")
