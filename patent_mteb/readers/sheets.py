"""Read the rows of a table: CSV, workbook, web page, JSON lines, a JSON list of objects, or parquet.

The content determines the form, and text may be gzipped. A text or a workbook may have other lines above its header:
the header is the line with the most wanted names. In a workbook, that line's sheet is read and all others with the same
columns; the names of the others are given, so that each can be read by its own header.

A text that is not UTF-8 is UTF-16, or in one of :data:`ENCODINGS`: the one in which the largest share of its non-ASCII
characters is in daily use. charset-normalizer is not used: with the few such characters of a short list it
names other encodings (``für Öl`` in Windows-1252: cp850, ``一种泵`` in GBK: Big5).
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import datetime as dt
import io
import itertools
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeGuard, TypeVar

from patent_mteb.errors import DataError, readable
from patent_mteb.files import load_json, open_binary, parquet_schema, read_rows, text_lines
from patent_mteb.patents.numbers import read_number
from patent_mteb.readers.items import NO_OBJECT, Note, Skipped, is_one_document, json_rows
from patent_mteb.readers.objects import holds_objects
from patent_mteb.readers.values import unpacked

_WESTERN = frozenset("äöüßÄÖÜéèêëàâçîïôùûœñáíóúåøæÅØÆÉÈÀÇÑãõ’‘“”„–—…•€£§°®™©±²³µ×½¼¾´·«»\u00a0")

_HANGUL = frozenset("는을를의에은하이로고가")  # the commonest syllables of Korean, rare bytes in Chinese


# The double-byte standards list the characters in daily use first.
ENCODINGS: dict[str, tuple[str, bytes]] = {
    "cp1252": ("Windows-1252", b"[" + re.escape("".join(_WESTERN).encode("cp1252")) + b"]"),
    "gb18030": ("GBK/GB 18030", rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xff]"),
    "cp932": ("Shift-JIS", rb"[\x81-\x83].|\x88[\x9f-\xff]|[\x89-\x97].|\x98[\x00-\x72]"),
    "cp949": ("EUC-KR", rb"[\xa1\xa3\xb0-\xc8][\xa1-\xff]"),
    "big5": ("Big5", rb"[\xa1\xa2].|\xa4[\x40-\xff]|[\xa5-\xc5].|\xc6[\x00-\x7e]"),
    "mac_roman": ("Mac Roman", b"[" + re.escape("".join(_WESTERN).encode("mac_roman", "ignore")) + b"]"),
}
"""Codec -> its name for the user, and a pattern of the characters in daily use. Of equal ones, the first is taken."""

_CLEAR = 0.8  # share of characters in daily use from which an encoding is taken, a choice
_SAMPLE = 1 << 20  # bytes by which an encoding is recognised
_CHUNK = 1 << 20  # bytes that are read at a time


def encoding_of(path: Path) -> tuple[str, str]:
    """Return the codec of a text file and its name for the user; UTF-8 if no other one is clear."""
    with readable(path):
        found = path.stat()
    return _encoding_of(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _encoding_of(path: Path, size: int, changed: int) -> tuple[str, str]:
    with readable(path), open_binary(path) as stream:
        start = stream.read(_CHUNK)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", "UTF-16"
        if half := _utf_16(start):
            return half, "UTF-16"
        decoder = codecs.getincrementaldecoder("utf-8")()
        sample, chunk, is_utf_8 = b"", start, True
        while chunk:
            if is_utf_8:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    is_utf_8 = False
            if not chunk.isascii():
                sample += b"\n".join(line for line in chunk.split(b"\n") if not line.isascii()) + b"\n"
            if not is_utf_8 and len(sample) > _SAMPLE:
                break
            if is_utf_8:
                sample = sample[-_SAMPLE:]
            chunk = stream.read(_CHUNK)
    return ("utf-8", "UTF-8") if is_utf_8 else _clearest(sample[:_SAMPLE])


def _utf_16(start: bytes) -> str:
    """Return the codec of UTF-16 without a byte order mark: every second byte of a Latin header is zero."""
    head = start[:200]
    zeros = head[1::2].count(0), head[::2].count(0)
    enough = len(head) // 4
    return "utf-16-le" if zeros[0] > enough >= zeros[1] else "utf-16-be" if zeros[1] > enough >= zeros[0] else ""


def _clearest(sample: bytes) -> tuple[str, str]:
    shares = {codec: _share(sample, codec, common) for codec, (_, common) in ENCODINGS.items()}
    best = max(shares, key=lambda codec: shares[codec])
    if best == "gb18030" and shares["cp949"] == shares[best]:  # all bytes of Hangul are bytes of Chinese too
        best = "cp949" if set(sample.decode("cp949", "ignore")) & _HANGUL else best
    return (best, ENCODINGS[best][0]) if shares[best] >= _CLEAR else ("utf-8", "UTF-8")


def _share(sample: bytes, codec: str, common: bytes) -> float:
    """The share of the non-ASCII characters that are in daily use; 0 if the sample cannot be decoded."""
    try:
        text = sample.decode(codec)
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 4:  # the end may be within a character
            return 0.0
        text = sample[: error.start].decode(codec)
    found = [character.encode(codec) for character in text if character > "\x7f"]
    return sum(bool(re.fullmatch(common, one, re.DOTALL)) for one in found) / len(found) if found else 0.0


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file in its encoding, from 1, as :func:`patent_mteb.files.text_lines`."""
    codec, name = encoding_of(path)
    with readable(path), open_binary(path) as stream:
        start = stream.read(_CHUNK)
    end = "\r" if b"\r" in start and b"\n" not in start else "\n"  # old Macs
    if codec == "utf-8" and end == "\n":
        yield from text_lines(path)
        return
    with readable(path), open_binary(path) as stream:
        try:
            for number, line in enumerate(io.TextIOWrapper(stream, codec, newline=end), start=1):
                yield number, line.removeprefix("\ufeff").rstrip("\r\n")
        except UnicodeError as error:
            raise DataError(f"not valid {name} ({error})", path=path, remedy="save the file as UTF-8") from error


_HEAD = 30  # lines that are searched for the header; objects of JSON lines whose names are the header
_DELIMITERS = "\t;,|"
_LONGEST_CELL = 1 << 30  # characters; the csv module's own limit, 131,072, is less than a description
_LONGEST_NAME = 1000  # characters of a column's name: longer cells are texts

_BROKEN_BOOK = (
    *(SyntaxError, ValueError, TypeError, LookupError, AttributeError, EOFError),  # SyntaxError: XML
    RuntimeError,  # an encrypted file in the zip
    *(zipfile.BadZipFile, zlib.error),
)

Cells = tuple[int, list[Any]]
_Kind = TypeVar("_Kind")


Row = dict[str, Any] | Skipped


@dataclass(frozen=True)
class Sheet:
    """The names of the columns, the rows with their places (``row 17``), and notes on how the file was read.

    ``days`` are those from 1899-12-30 to the day 0 of the workbook, ``width`` the cells of each row of a text.
    ``names`` are those of the sheets that are read, ``others`` those with other columns.
    """

    columns: tuple[str, ...]
    rows: Iterator[tuple[str, Row]]
    notes: tuple[Note, ...] = ()
    days: int = 0
    width: int = 0
    names: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


_WORKBOOKS = {"xl/workbook.xml": "xlsx", "xl/workbook.bin": "xlsb", "content.xml": "ods"}
"""A file in the zip -> the form of the workbook."""
EXPORT_AGAIN = "export it again"
_LAST_ROW = {"xls": 1 << 16, "xlsx": 1 << 20, "xlsb": 1 << 20}
MERGED = "merged cells: their value counts in each of their rows"
MERGED_UNREAD = (
    "merged cells: their value is read in their first row only; save the workbook as .xlsx to read it in all"
)
FORMULAS = "formulas without a stored value are read as empty: save the workbook once in Excel"
_WEB_PAGE = re.compile(rb"\s*<(?:!doctype html|html|head|meta|body|div|style|table)\b", re.IGNORECASE)


def form_of(path: Path) -> str:
    """Return ``parquet``, ``json``, ``jsonl``, ``text``, or the form of a workbook by content; else an empty text."""
    with readable(path), path.open("rb") as stream:
        start = stream.read(1 << 16)
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        return "xls"
    if start.startswith(b"PAR1"):
        return "parquet"
    if _WEB_PAGE.match(start.removeprefix(b"\xef\xbb\xbf")) and b"<table" in start.lower():
        return "html"
    if start.startswith(b"PK\x03\x04"):
        names = zipfile.ZipFile(path).namelist() if zipfile.is_zipfile(path) else []
        return next((form for name, form in _WORKBOOKS.items() if name in names), "")
    first = next((line.strip() for _, line in lines_of(path) if line.strip()), "")
    return {"{": "jsonl", "[": "json", "<": ""}.get(first[:1], "text")


def open_sheet(
    path: Path,
    wanted: Callable[[str], bool] = bool,
    preamble: int | None = None,
    delimiter: str = "",
    sheets: Collection[str] = (),
) -> Sheet:
    """Open the best sheet of a file, or of the named ones, with all others that have the same columns."""
    form = form_of(path)
    if form in ("jsonl", "json", "parquet"):
        return _objects(path, form, wanted)
    if not form:
        raise DataError("the file is not a table", path=path, remedy="give CSV, TSV, XLSX, JSON lines or parquet")
    size = max(_HEAD, (preamble or 0) + 2)
    notes: list[Note] = []
    mark = ""
    if form == "text":
        mark, sheets = delimiter or _delimiter(path, wanted), ()
        if (encoding := encoding_of(path)[1]) != "UTF-8":
            notes.append(Note("encoding", encoding))
    book = _book_of(path, form, mark, size)
    if missing := [name for name in sheets if name not in book.heads]:
        problem = f"there is no sheet '{missing[0]}' (sheets: {', '.join(book.heads)})"
        raise DataError(problem, path=path, remedy="name one of them")
    heads = {name: head for name, head in book.heads.items() if head and (name in sheets or not sheets)}
    if not heads:
        raise DataError("the table is empty", path=path, remedy=EXPORT_AGAIN)
    above = {name: _header_line(head, wanted, preamble) for name, head in heads.items()}
    best = max(heads, key=lambda name: _score(heads[name][above[name]][1], wanted))
    headers = {name: _names(head, above[name]) for name, head in heads.items()}
    written, height = headers[best]
    names = _distinct(written)
    for title, name in zip(written, names, strict=True):
        if name != title:
            notes.append(Note(f"a further column '{title}' is called '{name}'"))
    if height > 1:
        notes.append(Note("the header has two rows, which were joined", ", ".join(f"'{name}'" for name in names)))
    same = [name for name in heads if sorted(filter(None, headers[name][0])) == sorted(filter(None, written))]
    if len(same) > 1:
        notes.append(Note("sheets with the same columns, read together", ", ".join(f"'{name}'" for name in same)))
    if hidden := [name for name in same if name in book.hidden]:
        notes.append(Note("hidden sheets are read too", ", ".join(f"'{name}'" for name in hidden), len(hidden)))
    start = {name: above[name] + headers[name][1] for name in same}
    spans = {name: [one for one in book.merged.get(name, ()) if one[0] > start[name]] for name in same}
    if merged := sum(map(len, spans.values())):
        notes.append(Note(MERGED_UNREAD if form in ("ods", "xlsb") else MERGED, count=merged))
    if formulas := sum(book.formulas.get(name, 0) for name in same):
        notes.append(Note(FORMULAS, f"the first {size} rows", formulas))

    def rows() -> Iterator[tuple[str, Row]]:
        for name in same:
            where = f"sheet '{name}', " if len(book.heads) > 1 else ""
            lines = itertools.islice(_filled(_lines_of(path, name, form, mark), spans[name]), start[name], None)
            yield from _rows(lines, headers[name][0], _LAST_ROW.get(form), where)

    columns = tuple(filter(None, names))
    width = len(columns) if form == "text" else 0
    others = tuple(name for name in heads if name not in same)
    return Sheet(columns, rows(), tuple(notes), book.days, width, tuple(same), others)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, with the number of the column for a repeated name."""
    seen: set[str] = set()
    distinct = []
    for place, name in enumerate(names, start=1):
        distinct.append(f"{name} (column {place})" if name and name in seen else name)
        seen.add(name)
    return tuple(distinct)


def _header_line(head: Sequence[Cells], wanted: Callable[[str], bool], preamble: int | None) -> int:
    if preamble is not None:
        return min(preamble, len(head) - 1)
    return max(range(len(head)), key=lambda line: _score(head[line][1], wanted))


_NUMBERS_ALONE = "publication number"
"""The name of the only column of a list of numbers without header."""


def _names(head: Sequence[Cells], above: int) -> tuple[tuple[str, ...], int]:
    """Return the names of the columns and the rows of the header.

    A list of numbers has no header. A second row belongs to the header if it has a cell just below each span of merged
    cells, and nowhere else.
    """
    names = [str(name).strip() if name is not None else "" for name in head[above][1]]
    if len(names) == 1 and above == 0 and read_number(names[0]):
        return (_NUMBERS_ALONE,), 0
    alone = tuple(names), 1
    if above + 1 == len(head):
        return alone
    below = [str(cell).strip() if cell is not None else "" for cell in head[above + 1][1]]
    width = max(len(names), len(below))
    names, below = names + [""] * (width - len(names)), below + [""] * (width - len(below))
    spanned = [not names[n] or (n + 1 < width and not names[n + 1]) for n in range(width)]
    if not names[0] or all(names) or [bool(cell) for cell in below] != spanned:
        return alone
    joined, span = [], ""
    for name, cell in zip(names, below, strict=True):
        span = name or span
        joined.append(f"{span} {cell}".strip())
    return tuple(joined), 2


def _objects(path: Path, form: str, wanted: Callable[[str], bool]) -> Sheet:
    if form == "parquet":
        found_rows = ((f"row {number}", row) for number, row in read_rows(path))
        return Sheet(tuple(parquet_schema(path).names), found_rows)
    document = None
    if is_one_document(path):
        document = load_json(path)
        document = _table_in(document, wanted) if isinstance(document, dict) else document
        if not all(isinstance(row, dict) for row in document):
            raise DataError("the JSON list must contain objects", path=path, remedy="give one object per publication")

    def rows() -> Iterator[tuple[str, Row]]:
        for number, row in json_rows(path) if document is None else enumerate(document, start=1):
            place = f"row {number}"
            yield place, row if isinstance(row, dict) else Skipped("", place, NO_OBJECT, row)

    head = [row for _, row in itertools.islice(rows(), _HEAD)]
    if document is None and not any(map(wanted, _keys(head))):  # one answer a line
        document = [
            row for _, line in rows() for row in (_table_in(line, wanted) if isinstance(line, dict) else [line])
        ]
        head = document[:_HEAD]
    names = _keys(head)
    inner = _inner_columns(names, [row for row in head if isinstance(row, dict)], wanted)
    columns = (*names, *inner)
    return Sheet(columns, ((place, _with_inner(row, inner)) for place, row in rows()) if inner else rows())


_MOST_INNER = 60  # members of an object that is a group of columns; more are the keys of a dictionary
_DEPTH = 6  # levels of an answer around a table, as in answers.py
_UNSPECIFIC = {"id", "number", "no", "kind", "country", "office", "text", "date", "label", "labels"}


def _inner_columns(
    names: Iterable[str],
    rows: Sequence[Mapping[str, Any]],
    wanted: Callable[[str], bool],
) -> dict[str, tuple[str, ...]]:
    """Columns for the members of objects whose own names mean nothing -> the names that lead to the member.

    A member with a telling name has it as the name of its column (``title`` of ``data``), others have a dotted name.
    """
    inner: dict[str, tuple[str, ...]] = {}
    groups: list[tuple[str, ...]] = [(name,) for name in names if not wanted(name)]
    while groups:
        steps = groups.pop(0)
        values = [value for row in rows if (value := unpacked(_at(row, steps))) not in (None, "")]
        members = list(dict.fromkeys(key for value in values if isinstance(value, dict) for key in value))
        if not _all(values, dict) or not 0 < len(members) <= _MOST_INNER or len(steps) > _DEPTH:
            continue
        for member in members:
            telling = wanted(member) and member.casefold() not in _UNSPECIFIC | inner.keys() | set(names)
            inner[member if telling else ".".join((*steps, member))] = (*steps, member)
            if not telling:
                groups.append((*steps, member))
    return inner


def _at(row: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        row = unpacked(row.get(step)) if isinstance(row, dict) else None
    return row


def _with_inner(row: Row, inner: Mapping[str, Sequence[str]]) -> Row:
    if isinstance(row, Skipped):
        return row
    return row | {name: value for name, steps in inner.items() if (value := _at(row, steps)) is not None}


def _all(found: Any, kind: type[_Kind]) -> TypeGuard[list[_Kind]]:
    return isinstance(found, list) and all(isinstance(one, kind) for one in found)


def _table_in(found: Mapping[str, Any], wanted: Callable[[str], bool]) -> list[Any]:
    """Return the rows of a table in an object: a list of objects, or a form of pandas; else the object as one row."""
    columns, data, values = found.get("columns"), found.get("data"), list(found.values())
    if _all(columns, str) and _all(data, list):
        return [dict(zip(columns, row, strict=False)) for row in data]
    known = [found[name] for name in found if wanted(name)]
    if known and len(values) > 1:
        if all(isinstance(one, dict) and one.keys() == values[0].keys() for one in values):
            return [{column: found[column][row] for column in found} for row in values[0]]
        if all(isinstance(one, list) and len(one) == len(values[0]) > 1 for one in values):
            return [dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)]
    if not all(map(holds_objects, known)):
        return [found]
    if not known and all(isinstance(one, dict) and any(map(wanted, one)) for one in values):
        return [{"id": name, **one} for name, one in found.items()]
    # A list with more names of fields than the object has around it; of an unknown table the only list.
    lists = list(_lists_in(found))
    best = max(lists, key=lambda rows: sum(map(wanted, _keys(rows))), default=[])
    fit = sum(map(wanted, _keys(best)))
    return best if fit > len(known) or (len(lists) == 1 and not known) else [found]


def _lists_in(value: Any, depth: int = _DEPTH) -> Iterator[list[Any]]:
    """Yield the lists of objects in an answer of an API, but not the lists within their objects."""
    if _all(value, dict) and value:
        yield value
    elif depth:
        for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from _lists_in(member, depth - 1)


def _keys(rows: Iterable[Any]) -> dict[str, None]:
    """The names of the members of the first objects."""
    return dict.fromkeys(name for row in itertools.islice(rows, _HEAD) if isinstance(row, dict) for name in row)


def _quotes(path: Path, delimiter: str) -> str:
    """Return what marks quotes: ``"``, an apostrophe, or a backslash before each quote within quotes (MySQL)."""
    head = [line for _, line in itertools.islice(lines_of(path), _HEAD)]
    for cells in (line.split(delimiter) for line in head):
        if len(cells) > 1 and all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in map(str.strip, cells)):
            return "'"
    within = rf"[^{re.escape(delimiter)}\n]"
    text = "\n".join(head)
    escaped = re.search(rf'{within}\\"{within}', text) and not re.search(rf'{within}""{within}', text)
    return "\\" if escaped else '"'


def _delimited(path: Path, delimiter: str) -> Iterator[Cells]:
    csv.field_size_limit(_LONGEST_CELL)
    lines: list[str] = []
    quotes = _quotes(path, delimiter)

    def read() -> Iterator[str]:
        for _, line in lines_of(path):
            lines.append((line.replace('\\"', '""') if quotes == "\\" else line) + "\n")
            yield lines[-1]

    reader = csv.reader(read(), delimiter=delimiter, quotechar="'" if quotes == "'" else '"')
    first, row, last = 1, 1, [""]
    try:
        for cells in reader:
            yield first, cells
            row, last, first = first, lines.copy(), reader.line_num + 1
            lines.clear()
    except csv.Error as error:
        problem = f"the table cannot be read ({error})"
        raise DataError(problem, path=path, row=reader.line_num, remedy=EXPORT_AGAIN) from error
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


def all_cells(path: Path) -> Iterator[tuple[str, Cells]]:
    """Yield the rows of every sheet, headers included, with its name.

    A text is cut at tabs if each of the first lines has as many, else at the most frequent delimiter of the first line.
    """
    form, mark = form_of(path), ""
    if form == "text":
        head = [*itertools.islice((line for _, line in lines_of(path) if line.strip()), _HEAD)] or [""]
        tabs = {line.count("\t") for line in head}
        mark = "\t" if len(tabs) == 1 and tabs != {0} else max(_DELIMITERS, key=head[0].count)
    for name in _book_of(path, form, mark, _HEAD).heads:
        yield from ((name, cells) for cells in _lines_of(path, name, form, mark))


def _delimiter(path: Path, wanted: Callable[[str], bool]) -> str:
    def score(mark: str) -> tuple[int, int]:
        (head,) = _book_of(path, "text", mark, _HEAD).heads.values()
        return max((_score(cells, wanted) for _, cells in head), default=(0, 0))

    return max(_DELIMITERS, key=score)


def _score(cells: Sequence[Any], wanted: Callable[[str], bool]) -> tuple[int, int]:
    names = [name.strip() for name in cells if isinstance(name, str) and name.strip() and len(name) < _LONGEST_NAME]
    return sum(map(wanted, names)), len(names)


Span = tuple[int, int, int]  # first row (from 1), column (from 0) and last row of cells that are merged down
_MERGED_CELLS = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\bref="([A-Z]+)(\d+):[A-Z]+(\d+)"')
_SPANS, _WIDEST = ("colspan", "rowspan"), 1000
_MERGES, _MERGE = b"\xb1\x01\x04", re.compile(rb"\xb0\x01\x10(.{8})", re.DOTALL)
_TALL = re.compile(rb'number-rows-spanned="(?!1")\d')


@dataclass(frozen=True)
class _Book:
    """The first rows of each sheet of a workbook or of a text, and what its user should know."""

    heads: Mapping[str, list[Cells]] = field(default_factory=dict)
    hidden: Collection[str] = ()
    formulas: Mapping[str, int] = field(default_factory=dict)
    merged: Mapping[str, list[Span]] = field(default_factory=dict)
    days: int = 0


def _book_of(path: Path, form: str, mark: str, size: int) -> _Book:
    with readable(path):
        found = path.stat()
    return _read_book(path, form, mark, size, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _read_book(path: Path, form: str, mark: str, size: int, _bytes: int, _changed: int) -> _Book:
    """Read the start of a workbook, once for all readers that look at it."""
    if form == "text":
        return _Book({"": list(itertools.islice(_delimited(path, mark), size))})
    if form == "html":
        return _Book({name: lines[:size] for name, lines in _web_tables(path).items()})
    hidden, days = [], 0
    merged: dict[str, list[Span]] = {}
    with _book(path, form) as book:
        if form == "xlsx":
            merged = {page.title: _merged_in(path, page._worksheet_path) for page in book.worksheets}
            names = [page.title for page in book.worksheets]
            hidden = [page.title for page in book.worksheets if page.sheet_state != "visible"]
            days = (book.epoch - dt.datetime(1899, 12, 30)).days if book.epoch.year == 1904 else 0
        else:
            names = book.sheet_names
            if form == "xls":
                found = {name: book.get_sheet_by_name(name).merged_cell_ranges or [] for name in names}
                merged = {
                    name: [(top + 1, left, bottom + 1) for (top, left), (bottom, _) in ranges if bottom > top]
                    for name, ranges in found.items()
                }
            else:  # the reader does not give the ranges
                merged = {name: [(_HEAD, 0, _HEAD)] * _merged_down(path) for name in names[:1]}
            hidden = [one.name for one in book.sheets_metadata if "Visible" not in str(one.visible)]
    heads = {name: list(itertools.islice(_lines_of(path, name, form, mark), size)) for name in names}
    return _Book(heads, hidden, _formulas(path, heads) if form == "xlsx" else {}, merged, days)


def _merged_down(path: Path) -> int:
    """Count the cells that are merged down in .ods (an attribute) and .xlsb (records BrtMergeCell)."""
    with zipfile.ZipFile(path) as archive:
        pages = [name for name in archive.namelist() if name == "content.xml" or name.startswith("xl/worksheets/")]
        contents = [archive.read(name) for name in pages]
    binary = [struct.unpack("<II", rows) for page in contents if _MERGES in page for rows in _MERGE.findall(page)]
    return len([page for page in contents for _ in _TALL.findall(page)]) + len([1 for top, end in binary if end > top])


def _merged_in(path: Path, page: str) -> list[Span]:
    """Return the cells of a sheet of .xlsx that are merged down. They are listed after the rows."""
    from openpyxl.utils import column_index_from_string

    found: list[Span] = []
    rest = b""
    with zipfile.ZipFile(path) as archive, archive.open(page.lstrip("/")) as stream:
        while chunk := stream.read(1 << 20):
            text = rest + chunk
            for column, top, bottom in _MERGED_CELLS.findall(text):
                if int(bottom) > int(top):
                    found.append((int(top), column_index_from_string(column.decode()) - 1, int(bottom)))
            rest = text[max(text.rfind(b"<"), 0) :]
    return found


def _filled(lines: Iterable[Cells], spans: Sequence[Span]) -> Iterator[Cells]:
    """Yield rows with the value of a merged cell in each of its rows that has other cells."""
    waiting = sorted(spans)
    open_spans: list[tuple[int, int, Any]] = []
    for number, cells in lines:
        open_spans = [one for one in open_spans if one[0] >= number]
        if any(cell not in (None, "") for cell in cells):
            for _, left, value in open_spans:
                cells += [None] * (left + 1 - len(cells))
                cells[left] = value
        while waiting and waiting[0][0] <= number:
            top, left, bottom = waiting.pop(0)
            if top == number and left < len(cells):
                open_spans.append((bottom, left, cells[left]))
        yield number, cells


def _formulas(path: Path, heads: Mapping[str, list[Cells]]) -> dict[str, int]:
    """Count the formulas at the start of each sheet whose results were not stored."""
    with _book(path, "xlsx", data_only=False) as book:
        return {
            name: sum(
                isinstance(formula, str) and formula.startswith("=") and value is None
                for (_, values), formulas in zip(head, book[name].iter_rows(values_only=True), strict=False)
                for value, formula in zip(values, formulas, strict=False)
            )
            for name, head in heads.items()
        }


def _web_tables(path: Path) -> dict[str, list[Cells]]:
    """Return the rows of the tables of a web page, which many databases export as .xls."""
    from lxml import html

    with readable(path):
        parser = html.HTMLParser(encoding=encoding_of(path)[0], huge_tree=True)
        page = html.document_fromstring(path.read_bytes(), parser)
    for end in page.iter("br"):
        end.tail = f"\n{end.tail or ''}"
    tables: dict[str, list[Cells]] = {}
    for place, table in enumerate(page.iter("table"), start=1):
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
        tables[f"table {place}"] = list(enumerate(_grid(rows), start=1))
    return tables


def _grid(rows: Sequence[Any]) -> list[list[Any]]:
    """Return the texts of the rows of a web table, each in all rows that its cell spans."""
    grid: list[dict[int, str]] = [{} for _ in rows]
    for y, row in enumerate(rows):
        x = 0
        for cell in row.iterchildren("td", "th"):
            while x in grid[y]:
                x += 1
            wide, tall = (int(cell.get(name, "1")) if cell.get(name, "1").isdecimal() else 1 for name in _SPANS)
            for line in grid[y : y + max(tall, 1)]:
                line |= dict.fromkeys(range(x + 1, x + min(wide, _WIDEST)), "") | {x: cell.text_content().strip()}
    return [[line.get(x, "") for x in range(max(line, default=-1) + 1)] for line in grid]


def _lines_of(path: Path, sheet: str, form: str, mark: str) -> Iterator[Cells]:
    if form == "text":
        yield from _delimited(path, mark)
        return
    if form == "html":
        yield from _web_tables(path)[sheet]
        return
    with _book(path, form) as book:
        if form == "xlsx":
            book[sheet].reset_dimensions()
            found = book[sheet].iter_rows(values_only=True)
        else:
            found = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
        for number, cells in enumerate(found, start=1):
            yield number, list(cells)


@contextlib.contextmanager
def _book(path: Path, form: str, data_only: bool = True) -> Iterator[Any]:
    """Open a workbook: ``.xlsx`` row by row with openpyxl, ``.xls``, ``.xlsb`` and ``.ods`` with calamine."""
    from python_calamine import CalamineError, CalamineWorkbook

    with readable(path), path.open("rb") as stream:
        try:
            if form == "xlsx":
                yield _openpyxl_book(stream, data_only)
            else:
                yield CalamineWorkbook.from_filelike(stream)
        except (*_BROKEN_BOOK, CalamineError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            what = "an old workbook (.xls) that is not readable" if form == "xls" else "not a readable workbook"
            raise DataError(f"{what} ({reason})", path=path, remedy="save it again as .xlsx") from error


def _openpyxl_book(stream: IO[bytes], data_only: bool) -> Any:
    from openpyxl import load_workbook

    try:
        return load_workbook(stream, read_only=True, data_only=data_only)
    except ValueError as error:
        if "stylesheet" not in str(error):
            raise
    return load_workbook(_with_valid_colours(stream), read_only=True, data_only=data_only)


_INVALID_COLOUR = re.compile(rb'\brgb="(?![0-9A-Fa-f]{6}(?:[0-9A-Fa-f]{2})?")[^"]*"')


def _with_valid_colours(stream: IO[bytes]) -> IO[bytes]:
    """Copy a workbook with black for colours such as ``-1000000f`` (KIPRIS), because of which openpyxl refuses it."""
    copy = io.BytesIO()
    with zipfile.ZipFile(stream) as archive, zipfile.ZipFile(copy, "w") as out:
        for part in archive.infolist():
            content = archive.read(part)
            is_style = part.filename == "xl/styles.xml"
            out.writestr(part, _INVALID_COLOUR.sub(b'rgb="FF000000"', content) if is_style else content)
    return copy


def _rows(lines: Iterable[Cells], header: Sequence[str], last: int | None, where: str) -> Iterator[tuple[str, Row]]:
    names = _distinct(header)
    for number, cells in lines:
        place = f"{where}row {number}"
        if number == last:
            yield place, Skipped("", place, f"the sheet is full ({last:,} rows): rows after them are missing")
        texts = ["" if cell is None else str(cell).strip() for cell in cells]
        if not any(texts):
            continue
        if sum(map(bool, texts)) > 1 and texts[: len(header)] == list(header[: len(texts)]):
            yield place, Skipped("", place, "the header again")
        elif any(cell not in (None, "") for cell in cells[len(names) :]):
            yield place, Skipped("", place, "the row has more cells than the header")
        else:
            yield place, {name: cell for name, cell in zip(names, cells, strict=False) if name}
