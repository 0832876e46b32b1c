"""Read and join tables of one folder, in zip files of one table each or unpacked.

Only the wanted columns are read, lazily and in batches. Zip files are not unpacked to disk.
"""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import IO, Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
from polars.io.plugins import register_io_source

from patent_mteb.errors import DataError, readable, refuse_other_forms
from patent_mteb.files import LARGEST_RATIO, unpacks_too_far
from patent_mteb.readers.items import Item, Note, Reader

_BLOCK = 16 << 20  # bytes that are read at a time; no row may be longer

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
_AGAIN = "download it again"


def table_name(path: Path, suffix: str) -> str:
    """Return the name of a table, whose file may be compressed; empty for other files."""
    inside = path.with_suffix("") if path.suffix in (".zip", ".gz") else path
    if path.suffix == ".zip" and not inside.suffix:
        return inside.name
    return inside.stem if inside.suffix == suffix else ""


def scan_zipped(path: Path, separator: str) -> pl.LazyFrame:
    """Return a lazy frame of texts for a table in a zip file. Quotes in quoted fields are doubled."""
    names = _header(path, separator)

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
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
        include_columns=columns,
        column_types=dict.fromkeys(columns, pa.large_string()),
        strings_can_be_null=False,
        check_utf8=True,
    )
    try:
        with _opened(path) as stream, pc.open_csv(stream, read, parse, convert) as reader:
            for batch in reader:
                yield pl.DataFrame(pl.from_arrow(batch))
    except (pa.ArrowException, *_BROKEN) as error:
        problem = f"the table in the zip file cannot be read ({str(error).splitlines()[0]})"
        raise DataError(problem, path=path, remedy=f"{_AGAIN}; it must be UTF-8") from error


def _opened(path: Path) -> IO[bytes]:
    """Open the only table in a zip file."""
    try:
        archive = zipfile.ZipFile(path)
        members = [one for one in archive.infolist() if not one.is_dir()]
        if len(members) != 1:
            problem = f"{len(members)} files in a zip file where one table is expected"
            raise DataError(problem, path=path, remedy="unpack it")
        if unpacks_too_far(members[0].compress_size, members[0].file_size):
            problem = f"it unpacks to more than {LARGEST_RATIO} times its size: a zip bomb?"
            raise DataError(problem, path=path, remedy=_AGAIN)
        return archive.open(members[0])
    except _BROKEN as error:
        raise DataError(f"not a complete zip file ({error})", path=path, remedy=_AGAIN) from error


def refuse_other_files(path: Path) -> None:
    """Refuse a file that is neither text nor a zip file."""
    with readable(path), path.open("rb") as stream:
        start = stream.read(4)
    if path.suffix != ".zip":
        refuse_other_forms(path, start)


def table(path: Path, columns: Sequence[str], separator: str) -> pl.LazyFrame:
    """Return a lazy frame of columns as texts. Quotes in quoted fields are doubled."""
    refuse_other_files(path)
    if path.suffix == ".zip":
        frame = scan_zipped(path, separator)
    else:
        frame = pl.scan_csv(path, separator=separator, infer_schema=False)
    with _reading(path):
        names = frame.collect_schema().names()
    for name in columns:
        if name not in names:
            problem = f"column '{name}' is missing (columns: {shorten(', '.join(names), 200)})"
            raise DataError(problem, path=path, remedy="download or export the table with its published columns")
    return frame.select(pl.col(columns).fill_null(""))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of polars into errors that name the file."""
    try:
        yield
    except pl.exceptions.NoDataError as error:
        raise DataError("the file is empty", path=path, remedy="download it again") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        problem = f"the table cannot be read ({str(error).splitlines()[0]})"
        remedy = "download it again; it must be UTF-8, a quote within a quoted field doubled"
        raise DataError(problem, path=path, remedy=remedy) from error


def joined_rows(frame: pl.LazyFrame, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame in order, in batches; errors name ``path``."""
    with _reading(path):
        for batch in frame.collect_batches(chunk_size=1000, maintain_order=True):
            yield from batch.iter_rows(named=True)


def with_rows(
    frame: pl.LazyFrame,
    path: Path,
    pattern: str,
    keys: Sequence[str],
    columns: Sequence[str],
    name: str,
    *,
    separator: str,
) -> pl.LazyFrame:
    """Add the rows with the same keys in the tables of a pattern as a list of structs, null if there are none."""
    found = [table(one, (*keys, *columns), separator) for one in sibling_tables(path, pattern)]
    if not found:
        return frame.with_columns(pl.lit(None).alias(name))
    grouped = pl.concat(found).group_by(keys).agg(pl.struct(columns).alias(name))
    return frame.join(grouped, on=list(keys), how="left", maintain_order="left")


def sibling_tables(path: Path, pattern: str) -> list[Path]:
    """Return the tables in the folder of a file that match a pattern, sorted by name; unpacked tables come first."""
    suffix = Path(pattern).suffix
    stem = pattern.removesuffix(suffix)
    found = {
        table_name(one, suffix): one
        for form in (".zip", f"{suffix}.zip", suffix)
        for one in sorted(path.parent.glob(stem + form))
    }
    return [found[name] for name in sorted(found)]


def reader_of_tables(
    name: str,
    what: str,
    owner: str,
    tables: Mapping[str, Callable[[Path], Iterator[Item]]],
    read_with: tuple[str, ...],
    name_of: Callable[[Path], str],
    suffix: str,
    others: str,
    expected: str,
) -> Reader:
    """Return the reader of the tables of one folder; those that start with ``read_with`` are joined to others."""

    def sniff(path: Path) -> bool:
        its = name_of(path)
        return bool(table_name(path, suffix)) and (its in tables or its.startswith(read_with))

    def read(path: Path) -> Iterator[Item]:
        its = name_of(path)
        if its in tables:
            yield from tables[its](path)
        elif its.startswith(read_with):
            refuse_other_files(path)
            yield Note(f"a table that is read together with the table of {others}", path.name)
        else:
            raise DataError(f"not a table of {owner}", path=path, remedy=f"expected {expected}")

    return Reader(name, what, sniff, read)
