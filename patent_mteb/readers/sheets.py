"""Read the rows of a table: CSV, TSV, XLSX, JSON lines, a JSON list of objects, or parquet. Text may be gzipped.

The content determines the form. A CSV or XLSX export may have other lines above its header: the header is the line with
the most wanted names.
"""

from __future__ import annotations

import csv
import itertools
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError, readable
from patent_mteb.files import load_json, parquet_schema, read_rows, text_lines
from patent_mteb.readers.items import NO_OBJECT, json_rows

_HEAD = 30
"""Lines that are searched for the header; objects of JSON lines whose names are the header."""
_DELIMITERS = "\t;,|"
_LONGEST_CELL = 1 << 30

_BROKEN_BOOK = (
    *(SyntaxError, ValueError, TypeError, LookupError, AttributeError, EOFError),  # SyntaxError: XML
    RuntimeError,  # an encrypted file in the zip
    *(zipfile.BadZipFile, zlib.error),
)

Cells = tuple[int, list[Any]]


@dataclass(frozen=True)
class BadRow:
    """An invalid row; ``text`` is saved for the user."""

    reason: str
    text: str = ""


Row = dict[str, Any] | BadRow


@dataclass(frozen=True)
class Sheet:
    """The names of the columns, and the rows with their numbers."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[int, Row]]


def form_of(path: Path) -> str:
    """Return ``parquet``, ``xlsx``, ``json``, ``jsonl`` or ``text`` by the content of a file, else an empty text."""
    with readable(path), path.open("rb") as stream:
        start = stream.read(4)
    if start == b"\xd0\xcf\x11\xe0":
        raise DataError("an old workbook (.xls)", path=path, remedy="open it and save it as .xlsx or CSV")
    if start == b"PAR1":
        return "parquet"
    if start == b"PK\x03\x04":
        return "xlsx" if zipfile.is_zipfile(path) and "xl/workbook.xml" in zipfile.ZipFile(path).namelist() else ""
    first = next((line.strip() for _, line in text_lines(path) if line.strip()), "")
    return {"{": "jsonl", "[": "json", "<": ""}.get(first[:1], "text")


def open_sheet(
    path: Path, wanted: Callable[[str], bool] = bool, preamble: int | None = None, delimiter: str = "", sheet: str = ""
) -> Sheet:
    """Open a table."""
    form = form_of(path)
    if form in ("jsonl", "json", "parquet"):
        return _objects(path, form)
    if not form:
        raise DataError("the file is not a table", path=path, remedy="give CSV, TSV, XLSX, JSON lines or parquet")
    mark = (delimiter or _delimiter(path, wanted)) if form == "text" else ""

    def lines() -> Iterator[Cells]:
        return _delimited(path, mark) if form == "text" else _workbook(path, sheet)

    head = list(itertools.islice(lines(), max(_HEAD, preamble or 0)))
    if not head:
        raise DataError("the table is empty", path=path, remedy="export it again")
    if preamble is None:
        above = max(range(len(head)), key=lambda line: _score(head[line][1], wanted))
    else:
        above = min(preamble, len(head) - 1)
    names = tuple(str(name).strip() if name is not None else "" for name in head[above][1])
    if repeated := sorted({name for name in names if name and names.count(name) > 1}):
        problem = f"two columns are called '{repeated[0]}'"
        raise DataError(problem, path=path, row=head[above][0], remedy="rename one of them")
    return Sheet(tuple(filter(None, names)), _rows(itertools.islice(lines(), above + 1, None), names))


def _objects(path: Path, form: str) -> Sheet:
    if form == "parquet":
        return Sheet(tuple(parquet_schema(path).names), iter(read_rows(path)))
    if form == "json":
        document = load_json(path)
        if not all(isinstance(row, dict) for row in document):
            raise DataError("the JSON list must contain objects", path=path, remedy="give one object per publication")

    def rows() -> Iterator[tuple[int, Row]]:
        found = enumerate(document, start=1) if form == "json" else json_rows(path)
        return ((number, row if isinstance(row, dict) else BadRow(NO_OBJECT, row)) for number, row in found)

    names = dict.fromkeys(name for _, row in itertools.islice(rows(), _HEAD) if isinstance(row, dict) for name in row)
    return Sheet(tuple(names), rows())


def _delimited(path: Path, delimiter: str) -> Iterator[Cells]:
    csv.field_size_limit(_LONGEST_CELL)
    lines: list[str] = []

    def read() -> Iterator[str]:
        for _, line in text_lines(path):
            lines.append(f"{line}\n")
            yield lines[-1]

    reader = csv.reader(read(), delimiter=delimiter)
    first, row, last = 1, 1, [""]
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            problem = f"the table cannot be read ({error})"
            raise DataError(problem, path=path, row=reader.line_num, remedy="export it again") from error
        if cells is None:
            break
        yield first, cells
        row, last, first = first, lines.copy(), reader.line_num + 1
        lines.clear()
    if not _is_closed(last, delimiter):
        remedy = "export it again, a quote within a quoted cell doubled"
        raise DataError("a quote that opens in this row is not closed", path=path, row=row, remedy=remedy)


def _is_closed(lines: list[str], delimiter: str) -> bool:
    """Whether the last row ends outside of quotes. An open quote would turn all following rows into one cell."""
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end of data" not in str(error)
    return True


def _delimiter(path: Path, wanted: Callable[[str], bool]) -> str:
    def score(mark: str) -> tuple[int, int]:
        head = list(itertools.islice(_delimited(path, mark), _HEAD))
        return max((_score(cells, wanted) for _, cells in head), default=(0, 0))

    return max(_DELIMITERS, key=score)


def _score(cells: Sequence[Any], wanted: Callable[[str], bool]) -> tuple[int, int]:
    names = [name.strip() for name in cells if isinstance(name, str) and name.strip()]
    return sum(map(wanted, names)), len(names)


def _workbook(path: Path, sheet: str) -> Iterator[Cells]:
    from openpyxl import load_workbook

    with readable(path), path.open("rb") as stream:
        try:
            book = load_workbook(stream, read_only=True, data_only=True)
            if sheet and sheet not in book.sheetnames:
                problem = f"there is no sheet '{sheet}' (sheets: {', '.join(book.sheetnames)})"
                raise DataError(problem, path=path, remedy="name one of them")
            page = book[sheet] if sheet else book.worksheets[0]
            page.reset_dimensions()
            for number, cells in enumerate(page.iter_rows(values_only=True), start=1):
                yield number, list(cells)
        except _BROKEN_BOOK as error:
            problem = f"not a readable workbook ({' '.join(str(error).split()) or type(error).__name__})"
            raise DataError(problem, path=path, remedy="save it again as .xlsx") from error


def _rows(lines: Iterable[Cells], names: Sequence[str]) -> Iterator[tuple[int, Row]]:
    for number, cells in lines:
        if all(cell is None or cell == "" for cell in cells):
            continue
        if any(cell not in (None, "") for cell in cells[len(names) :]):
            yield number, BadRow("the row has more cells than the header")
        else:
            yield number, {name: cell for name, cell in zip(names, cells, strict=False) if name}
