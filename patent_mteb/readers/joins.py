"""Tables that lie side by side in a folder and are joined: only the columns that are wanted, lazily, some rows at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import polars as pl

from patent_mteb.errors import DataError, readable, refuse_other_forms
from patent_mteb.readers.zipped import is_zipped, scan_zipped, table_name

__all__ = ["beside", "joined_rows", "refuse_no_table", "table", "with_rows"]

_ROWS_AT_ONCE = 1000


def refuse_no_table(path: Path) -> None:
    """Stop at a file that is no table at all, neither as it is nor in a zip file.

    Raises:
        DataError: it is missing, unreadable, compressed otherwise, or UTF-16.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.joins import refuse_no_table
        >>> _ = Path("t.csv.gz").write_bytes(b"\\x1f\\x8b\\x08\\x00")
        >>> refuse_no_table(Path("t.csv.gz"))
        Traceback (most recent call last):
        patent_mteb.errors.DataError: t.csv.gz: the file is compressed (gzip). Remedy: unpack it.
    """
    with readable(path), path.open("rb") as stream:
        start = stream.read(4)
    if not is_zipped(path):
        refuse_other_forms(path, start)


def table(path: Path, columns: Sequence[str], separator: str) -> pl.LazyFrame:
    """Columns of a table as text, an empty cell as empty text; fields may be quoted, quotes in them doubled.

    Raises:
        DataError: the file is missing, empty or unreadable, or a column is missing.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.joins import table
        >>> _ = Path("t.csv").write_text('id,text,more\\n1,"a pump, new",\\n')
        >>> table(Path("t.csv"), ["text", "more"], ",").collect().rows()
        [('a pump, new', '')]
    """
    refuse_no_table(path)
    frame = scan_zipped(path, separator) if is_zipped(path) else pl.scan_csv(path, separator=separator, infer_schema=False)
    with _reading(path):
        names = frame.collect_schema().names()
    for name in columns:
        if name not in names:
            problem = f"column '{name}' is missing (columns: {shorten(', '.join(names), 200)})"
            raise DataError(problem, path=path, remedy="download or export the table with its published columns")
    return frame.select(pl.col(columns).fill_null(""))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What polars cannot read, as an error that names the file."""
    try:
        yield
    except pl.exceptions.NoDataError as error:
        raise DataError("the file is empty", path=path, remedy="download it again") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        problem = f"the table cannot be read ({str(error).splitlines()[0]})"
        raise DataError(problem, path=path, remedy="download it again; it must be UTF-8, a quote within a quoted field doubled") from error


def joined_rows(frame: pl.LazyFrame, path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a frame in its order, a thousand in memory; ``path`` is named if it cannot be computed.

    Example:
        >>> from pathlib import Path
        >>> import polars as pl
        >>> from patent_mteb.readers.joins import joined_rows
        >>> list(joined_rows(pl.LazyFrame({"a": [1, 2]}), Path("t.tsv")))
        [{'a': 1}, {'a': 2}]
    """
    with _reading(path):
        batches = frame.collect_batches(chunk_size=_ROWS_AT_ONCE, maintain_order=True)
    while True:
        with _reading(path):
            batch = next(batches, None)
        if batch is None:
            return
        yield from batch.iter_rows(named=True)


def with_rows(frame: pl.LazyFrame, other: pl.LazyFrame | None, keys: Sequence[str], columns: Sequence[str], name: str) -> pl.LazyFrame:
    """A frame, in its order, with the rows of another of the same keys as a list of structs; null where there are none, or no other frame.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.readers.joins import with_rows
        >>> other = pl.LazyFrame({"key": ["a", "a"], "code": ["A61H", "G06F"]})
        >>> with_rows(pl.LazyFrame({"key": ["a", "b"]}), other, ["key"], ["code"], "codes").collect()["codes"].to_list()
        [[{'code': 'A61H'}, {'code': 'G06F'}], None]
    """
    if other is None:
        return frame.with_columns(pl.lit(None).alias(name))
    grouped = other.group_by(keys).agg(pl.struct(columns).alias(name))
    return frame.join(grouped, on=list(keys), how="left", maintain_order="left")


def beside(path: Path, pattern: str) -> list[Path]:
    """The tables in the folder of a file that match a pattern, by name; of one that is there zipped and unpacked, the unpacked one.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.readers.joins import beside
        >>> _ = Path("g_patent.tsv").write_text("patent_id\\n")
        >>> [path.name for path in beside(Path("g_patent.tsv"), "g_pat*.tsv")]
        ['g_patent.tsv']
    """
    suffix = Path(pattern).suffix
    found = {table_name(one, suffix): one for form in (".zip", f"{suffix}.zip", "") for one in _matching(path.parent, pattern, form)}
    return [found[name] for name in sorted(found)]


def _matching(folder: Path, pattern: str, form: str) -> list[Path]:
    return sorted(folder.glob(pattern if not form else pattern.removesuffix(Path(pattern).suffix) + form))
