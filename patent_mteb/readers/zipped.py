"""Tables in zip files of one table each, read as they are unpacked: a few megabytes are in memory, nothing is written to disk."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
from polars.io.plugins import register_io_source

from patent_mteb.errors import DataError, readable, refuse_other_forms

__all__ = ["is_zipped", "scan_zipped", "table_name"]

_BLOCK = 16 << 20
"""Bytes that are read at a time; a row must fit into them."""
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
_AGAIN = "download it again"


def is_zipped(path: Path) -> bool:
    """Whether a file is a zip file, by its name.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.zipped import is_zipped
        >>> is_zipped(Path("g_patent.tsv.zip")), is_zipped(Path("g_patent.tsv"))
        (True, False)
    """
    return path.suffix == ".zip"


def table_name(path: Path, suffix: str) -> str:
    """The name of a table, whether its file is compressed or not; empty for a file of another kind.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.zipped import table_name
        >>> [table_name(Path(name), ".tsv") for name in ("g_patent.tsv", "g_patent.tsv.zip", "g_patent.zip", "g_patent.csv")]
        ['g_patent', 'g_patent', 'g_patent', '']
    """
    inside = path.with_suffix("") if path.suffix in (".zip", ".gz") else path
    if is_zipped(path) and not inside.suffix:
        return inside.name
    return inside.stem if inside.suffix == suffix else ""


def scan_zipped(path: Path, separator: str) -> pl.LazyFrame:
    """A table in a zip file as a frame of texts, read when it is collected; fields may be quoted, quotes in them doubled.

    Raises:
        DataError: it is no whole zip file of one table, or the table is empty.

    Example:
        >>> import zipfile
        >>> from pathlib import Path
        >>> from patent_mteb.readers.zipped import scan_zipped
        >>> with zipfile.ZipFile("t.csv.zip", "w") as archive:
        ...     archive.writestr("t.csv", 'id,text\\n1,"a pump, new"\\n')
        >>> scan_zipped(Path("t.csv.zip"), ",").collect().rows()
        [('1', 'a pump, new')]
    """
    names = _header(path, separator)

    def read(columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_size: int | None) -> Iterator[pl.DataFrame]:
        for batch in _batches(path, separator, columns or names):
            frame = batch if rows is None else batch.head(rows)
            rows = None if rows is None else rows - len(frame)
            yield frame if predicate is None else frame.filter(predicate)
            if rows == 0:
                return

    return register_io_source(read, schema=dict.fromkeys(names, pl.String()))


def _header(path: Path, separator: str) -> list[str]:
    try:
        with readable(path), _opened(path) as stream:
            first = stream.readline(_BLOCK)
    except _BROKEN as error:
        raise DataError(f"the table in the zip file cannot be read ({error})", path=path, remedy=_AGAIN) from error
    refuse_other_forms(path, first)
    if not first.strip():
        raise DataError("the table in the zip file is empty", path=path, remedy=_AGAIN)
    return list(pl.read_csv(first, separator=separator, infer_schema=False).columns)


def _batches(path: Path, separator: str, columns: list[str]) -> Iterator[pl.DataFrame]:
    read = pc.ReadOptions(block_size=_BLOCK)
    parse = pc.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = pc.ConvertOptions(
        include_columns=columns, column_types=dict.fromkeys(columns, pa.large_string()), strings_can_be_null=False, check_utf8=True
    )
    try:
        with _opened(path) as stream, pc.open_csv(stream, read, parse, convert) as reader:
            for batch in reader:
                yield pl.DataFrame(pl.from_arrow(batch))
    except (pa.ArrowException, *_BROKEN) as error:
        problem = f"the table in the zip file cannot be read ({str(error).splitlines()[0]})"
        raise DataError(problem, path=path, remedy=f"{_AGAIN}; it must be UTF-8") from error


def _opened(path: Path) -> IO[bytes]:
    """The one table in a zip file."""
    try:
        archive = zipfile.ZipFile(path)
        members = [one for one in archive.infolist() if not one.is_dir()]
        if len(members) != 1:
            raise DataError(f"{len(members)} files in a zip file where one table is expected", path=path, remedy="unpack it")
        return archive.open(members[0])
    except _BROKEN as error:
        raise DataError(f"not a whole zip file ({error})", path=path, remedy=_AGAIN) from error
