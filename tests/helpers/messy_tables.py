"""Messy tables as users have them: how each is made, what its import must give, and what it must say.

docs/generate.py makes a table of docs/own-patents.md from :data:`CASES`; tests/readers/test_messy_cases.py imports each.
"""

from __future__ import annotations

import base64
import csv
import datetime as dt
import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl

Rows = Sequence[Sequence[Any]]

HEADER = ["Publication Number", "Title", "Abstract", "Claims", "IPC", "Publication Date", "Cited Patents", "Family ID"]
CLAIMS = "1. A pump comprising a valve. 2. The pump of claim 1, wherein the valve is steel."
ROWS = [
    ["US10123456B2", "Pump", "A pump.", CLAIMS, "F04B 1/00; F04B 3/00", "2018-11-13", "US9000001B2; EP3456789A1", "F1"],
    ["EP3456789A1", "Seal", "A seal for pumps.", "1. A seal.", "F16J 15/00", "2019-01-02", "US9000001B2", "F2"],
    ["US9000001B2", "Rotor", "A rotor.", "1. A rotor.", "F04D 29/00", "2015-04-07", "", "F3"],
]
PLAIN = {
    "publication_number": ["US10123456B2", "EP3456789A1", "US9000001B2"],
    "title": ["Pump", "Seal", "Rotor"],
    "abstract": ["A pump.", "A seal for pumps.", "A rotor."],
    "depends_on": [[[], [1]], [[]], [[]]],
    "ipc": [["F04B1/00", "F04B3/00"], ["F16J15/00"], ["F04D29/00"]],
    "publication_date": ["2018-11-13", "2019-01-02", "2015-04-07"],
    "family_id": ["F1", "F2", "F3"],
    "cited": ["US10123456B2 US9000001B2", "US10123456B2 EP3456789A1", "EP3456789A1 US9000001B2"],
}
"""What the plain table gives."""
NUMBERS = PLAIN["publication_number"]


@dataclass(frozen=True)
class Case:
    """One case: ``make`` writes its files, ``gives`` is what the records hold, ``said`` is in a note or in the error.

    A case with a ``remedy`` is refused. ``source`` is the database whose export it is recognised as.
    """

    group: str
    name: str
    make: Callable[[Path], Path | list[Path]]
    gives: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""
    remedy: str = ""
    columns: str = ""
    source: str = ""

    @property
    def outcome(self) -> str:
        return "refused" if self.remedy else "noted" if self.said else "right"


OLD_XLS = """
eNrtWF9IU1EY/52zTbc13WYaaCBDyMo0mvbHHnQpM59mK4v+ENSmVxjOTcZ8qIeybI9B0FPRi2BFL1Yv/aEe6q2HQCkoCIJZjz0FBT2ot+98u7NpBg5K
WNzf5XznO985v3u+e/6fOzvjzU4+rJvDCnTCgkXdgbICm6DgyCc8oHxdV2o+tlPQTZQUHHbqyDIbnlW8Lld9qPp7DhIPrC9JAp8onMYo+pIJzbeO6GYf
IkL50EFS4BZZKlHLXlWxHGC5keV9Lvmc5QG2XGXZQWWz4hRmAn1N7cYoPiEbOK8S6r2PmfOBLX7U4JUaxReviVxZG7pSsUi8xDLqrS5MgTq0V0toKZV2
4zacwElCSyjUEgxmUU2dPYXvug/4lp/VL3ymfX3tAmT/sdxe/ge7nTpxpf26tALj0M/yJMnQAn3ImhsL/fMYVmOAQxUQHovGYwORdCyZ8PWNjUS1lA04
GkvHNc/yzGAkrbmAY/3+Xf7Wtt179na3ulSJkVHNNzSf8r2LbwB6wipnX/v+Lj/V169F4k61PfBy4lm2nFTwNHORHISbdS9PNg99z/y9r29C0XDgDFvG
eQvJbTRb1HdBxyXFIHIl51iWZBMzdrC8zG/dzHody2qaCRQ3hmsM5eAEl7nCuY1UTxvjbWBrgb6N9MyXw0/qM58D20mf7p07Xz39PjCJBmrXQeKrZwLN
olncvKHwNJCPhbEofWRZ+9sCZZcew3fd2E3dWFBTkuBlmUup1hFLKWm0lWKLVdiC2RajvGC2arcLUqUk+TR0RzJbrsKWzLYZ7FzPlBlsyeyddyU6ZRUe
qaK0sP6CEyZMmDBhwoQJEyZKEIIPmbkjtTo42oxDe7nxX2eBwqL5m+S/xREk6UnTpbIHCYpTOFfU+NkEm8i/S6yRk/9fqHCcak/RPTXKfgwXPX7p0iUK
v2fNRM/fm0LF1r9YjJ//uP6fi0vppA==
"""
"""A workbook of two patents, written with xlwt and compressed."""
FULL_XLS = """
eNrtWE1oE0EU/maTzZ9pmtRUaIUSClatPTSpih7qakB7MqStUhFBkzaH0DQpIT3oxWrNURA8KV4KvXipevEHPejNg1DRgyAIiR49FRQ8tFnfvOxiWntoRI
vKfMu8efvmm5m3O/NmZvf1Uqgy/6CzinU4AgdqpheuBpug5LVvgqBy05SqnXsomQr/FLweGkiXjqctr9xyDOV4V6HhvvMFSeAjpXOYRqKQz0S2EHH2ISWk
D4MkBe6QJYAO9qqN5TjL7SzvMfMZy6Nsuc5ykLgVcRZLRqL3kDWLz2jdXBaAbPcR13nPlija8VLO4ss3RJ2r41gxm8r9nQVdTj8WQOM2lMlniqlcBWEawA
V8NSPAFztSn0eUfWvtAmT/ttbu3sB+U3MCszAv8AQv0+K67KgP8OgKhjkWXTzbkZxJ57LjqVK2kI8kZqbSmaIOnMqWchk/cHo02h+NDew/cDAec0ru1PQ2
aT3cLxGNx4g7UigVij65gHPAB9cEfAsHgp/kBFpZD3E4BGlJX7m7/OZkOmmcZ8ssL/L1rWCX9B4mrsgaVDnQsE1Ibi/LfSyvcqs7We9kGaZJTHlPst1STs
wx5xqX9lA/A4y3xu4GfQ/p5c/Dj7vKn4y9pC8OVS+FF98Z8+imtzdB9eU1hz7RJ27fknhi2Lmwlo0PLDt+WkI8WpD912BaD9KKVfhYDbGs38m3Iyy+2IAv
mK9ZfMF8h8WXG+V6vrSF4LT4pin5utyCtTY8lM3QgvYDPigoKCgoKCgoKCj8MuzDujygyiOobn0SuK3/OquUauo3yX+LERToKtGH6XHkKS/iYlPzZwd0Yb
clNlnH/l8oMUa9FzGJNPsx2fT8pU860fg8m64Y/H0h1Gz/tWb8/MP9fwdmbdYJ
"""
"""A workbook with a cell in its last row, as above."""

CASES: list[Case] = []
_group = ""


def group(name: str) -> None:
    global _group
    _group = name


def case(
    name: str,
    make: Callable[[Path], Path | list[Path]],
    said: str = "",
    remedy: str = "",
    columns: str = "",
    source: str = "",
    only: Mapping[str, Any] | None = None,
    **changed: Any,
) -> None:
    """Add a case that gives what the plain table does but for ``changed``, or ``only`` that."""
    CASES.append(Case(_group, name, make, PLAIN | changed if only is None else only, said, remedy, columns, source))


def with_column(name: str, cells: Sequence[Any]) -> list[list[Any]]:
    """The rows with other cells in a column."""
    place = HEADER.index(name)
    return [[*row[:place], cell, *row[place + 1 :]] for row, cell in zip(ROWS, cells, strict=True)]


def table(*rows: Sequence[Any]) -> list[Sequence[Any]]:
    """A header, comma-separated, and rows."""
    return [str(rows[0]).split(",") if isinstance(rows[0], str) else rows[0], *rows[1:]]


def text(
    rows: Rows,
    name: str = "t.csv",
    encoding: str = "utf-8",
    delimiter: str = ",",
    end: str = "\n",
    above: str = "",
    below: str = "",
    quoting: int = csv.QUOTE_MINIMAL,
) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
        content = (above + out.getvalue() + below).encode(encoding)
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return folder / name

    return make


def raw(content: bytes | str, name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder / name

    return make


def cells_of(column: str, cells: Sequence[Any]) -> Callable[[Path], Path]:
    return text([HEADER, *with_column(column, cells)])


def book(
    sheets: Mapping[str, Rows] | Rows, setup: Callable[[Any], None] = lambda pages: None, name: str = "t.xlsx"
) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        made = openpyxl.Workbook()
        made.remove(made.active)
        for title, rows in (sheets if isinstance(sheets, Mapping) else {"S": sheets}).items():
            page = made.create_sheet(title)
            for row in rows:
                page.append(list(row))
        setup(made)
        made.save(folder / name)
        return folder / name

    return make


def merged(*spans: str) -> Callable[[Any], None]:
    def setup(made: Any) -> None:
        for span in spans:
            made.worksheets[0].merge_cells(span)

    return setup


def files(*makes: Callable[[Path], Any]) -> Callable[[Path], list[Path]]:
    return lambda folder: [made for make in makes for made in (make(folder),)]


def zipped(content: Mapping[str, bytes | str], name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as out:
            for member, data in content.items():
                out.writestr(member, data)
        return folder / name

    return make


def as_csv(rows: Rows) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def ole(*streams: str) -> bytes:
    """A compound file of Microsoft (.xls, .doc) with empty streams of these names."""
    free, end = 0xFFFFFFFF, 0xFFFFFFFE
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<HHHHH6xIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, end, 0, end, 0)
    head += struct.pack("<109I", 0, *[free] * 108)
    fat = struct.pack("<128I", 0xFFFFFFFD, end, *[free] * 126)
    entries = b""
    for place, name in enumerate(("Root Entry", *streams)):
        coded = (name + "\0").encode("utf-16-le")
        child = 1 if place == 0 else free
        after = place + 1 if 0 < place < len(streams) else free
        entries += coded.ljust(64, b"\0") + struct.pack("<HBBIII", len(coded), 2 if place else 5, 1, free, after, child)
        entries += bytes(36) + struct.pack("<IQ", end, 0)
    return head + fat + entries.ljust(512, b"\0")


def xlsb(rows: Rows, *merged: tuple[int, int, int, int]) -> dict[str, bytes | str]:
    """The files of a binary workbook (.xlsb) with one sheet of texts: [MS-XLSB], only the records that readers need."""

    def record(kind: int, data: bytes = b"") -> bytes:
        coded = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
        size, length = b"", len(data)
        while True:
            size += bytes([length & 0x7F | (0x80 if length > 127 else 0)])
            length >>= 7
            if not length:
                return coded + size + data

    def wide(word: str) -> bytes:
        return struct.pack("<I", len(word)) + word.encode("utf-16-le")

    width = max(map(len, rows))
    sheet = record(129) + record(148, struct.pack("<IIII", 0, len(rows) - 1, 0, width - 1)) + record(145)
    for number, row in enumerate(rows):
        sheet += record(0, struct.pack("<IIHBBBI", number, 0, 300, 0, 0, 0, 0))
        for place, cell in enumerate(row):
            sheet += record(6, struct.pack("<II", place, 0) + wide(str(cell)))
    spans = b"".join(record(176, struct.pack("<IIII", *span)) for span in merged)
    sheet += record(146) + (record(177, struct.pack("<I", len(merged))) + spans + record(178) if merged else b"")
    sheet += record(130)
    bundle = struct.pack("<II", 0, 1) + wide("rId1") + wide("S")
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = '<Relationships xmlns="{}"><Relationship Id="rId1" Type="{}/{}" Target="{}"/></Relationships>'.format
    return {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="bin" ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/></Types>',
        "_rels/.rels": link(relations, kinds, "officeDocument", "xl/workbook.bin"),
        "xl/_rels/workbook.bin.rels": link(relations, kinds, "worksheet", "worksheets/sheet1.bin"),
        "xl/workbook.bin": record(131) + record(143) + record(156, bundle) + record(144) + record(132),
        "xl/worksheets/sheet1.bin": sheet,
    }


def open_document(rows: Rows) -> dict[str, bytes | str]:
    """The files of an OpenDocument sheet."""
    row = "<table:table-row>{}</table:table-row>".format
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'.format
    lines = "".join(row("".join(map(cell, cells))) for cells in rows)
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    return {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="S">{lines}</table:table></office:spreadsheet></office:body></office:document-content>',
        "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{manifest}"/>',
    }


def web_page(rows: Rows) -> str:
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<html><head><meta charset="utf-8"><style>td {{color: red}}</style></head><body><table>{lines}</table></body></html>'


group("Text files")
case("comma", text([HEADER, *ROWS]))
case("semicolon", text([HEADER, *ROWS], delimiter=";"))
case("tab in a file called .csv", text([HEADER, *ROWS], delimiter="\t"))
case("tab in a file called .txt", text([HEADER, *ROWS], "t.txt", delimiter="\t"))
case("comma in a file called .tsv", text([HEADER, *ROWS], "t.tsv"))
case("vertical bar", text([HEADER, *ROWS], delimiter="|"))
case("every cell quoted", text([HEADER, *ROWS], quoting=csv.QUOTE_ALL))
case("a first line sep=;", text([HEADER, *ROWS], delimiter=";", above="sep=;\n"))
case("byte order mark", text([HEADER, *ROWS], encoding="utf-8-sig"))
case(
    "line ends within cells, CRLF",
    text([HEADER, *with_column("Abstract", ['A pump.\r\nSecond, "quoted".', "A seal.", "A rotor."])], end="\r\n"),
    abstract=['A pump.\nSecond, "quoted".', "A seal.", "A rotor."],
)
case("line ends of old Macs (CR)", text([HEADER, *ROWS], end="\r"))
case("lines above the header", text([HEADER, *ROWS], above="Search of 2 January 2026\n1,234 results\n\n"))
case("blank lines between the rows", text([HEADER, ROWS[0], [], [], ROWS[1], [""] * 8, ROWS[2]]))
case("rows that end in empty cells", text([HEADER, *[[*row, "", ""] for row in ROWS]]))
case("a delimiter at the end of each line", text([[*HEADER, ""], *[[*row, ""] for row in ROWS]]))
case("compressed (.csv.gz)", text([HEADER, *ROWS], "t.csv.gz"))
case("JSON lines", raw("".join(f"{json.dumps(dict(zip(HEADER, row, strict=True)))}\n" for row in ROWS), "t.jsonl"))
case("a zip file of a CSV", zipped({"t.csv": as_csv([HEADER, *ROWS])}, "t.zip"), "(t.csv)", "unpack it")
case(
    "compressed, but called .csv",
    raw(gzip.compress(as_csv([HEADER, *ROWS]).encode()), "t.csv"),
    "compressed (gzip)",
    "unpack it",
)
case(
    "a quote that is not closed",
    raw(f'{",".join(HEADER[:2])}\nUS10123456B2,"Pump\nUS9000001B2,Rotor\n', "t.csv"),
    "a quote that opens in this row is not closed",
    "a quote within a quoted cell doubled",
)
case(
    "inches, a quote within a cell that is not quoted",
    raw('Publication Number,Title\nUS10123456B2,Pump of 5" or 6"\nUS9000001B2,Rotor\n', "t.csv"),
    only={"publication_number": [NUMBERS[0], NUMBERS[2]], "title": ['Pump of 5" or 6"', "Rotor"]},
)
case(
    "a comma in a title that is not quoted",
    raw("Publication Number,Title\nUS10123456B2,Pump, with valve\nUS9000001B2,Rotor\n", "t.csv"),
    "the row has more cells than the header",
    only={"publication_number": [NUMBERS[2]]},
)
case("an empty file", raw(b"", "t.csv"), "the file is empty", "get it again")
case("zero bytes", raw(bytes(100), "t.csv"), "zero bytes where data should be", "get it again")
case("a header without rows", text([HEADER]), "the file has no rows", "correct the file")
case("no header", text(ROWS), "no column looks like a publication number", "--map")

case("a byte order mark twice", raw("\ufeff\ufeff" + as_csv([HEADER, *ROWS]), "t.csv"))
case("line ends of two kinds", raw(as_csv([HEADER, *ROWS]).replace("\n", "\r\n", 2), "t.csv"))
case("line ends CR CR LF", raw(as_csv([HEADER, *ROWS]).replace("\n", "\r\r\n"), "t.csv"))
case("semicolons within quoted cells", text([HEADER, *with_column("Title", ["Pump; valve", "Seal", "Rotor"])], delimiter=";"), title=["Pump; valve", "Seal", "Rotor"])  # fmt: skip
case("cells in apostrophes", raw("\n".join(",".join(f"'{cell}'" for cell in row) for row in [HEADER, *ROWS]), "t.csv"))
case(
    "a backslash before each quote (MySQL)",
    raw('Publication Number,Title\n"US10123456B2","A \\"pump\\", small"\n"US9000001B2","Rotor"\n', "t.csv"),
    only={"publication_number": [NUMBERS[0], NUMBERS[2]], "title": ['A "pump", small', "Rotor"]},
)
OBJECTS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
COLUMNS = {name: [row[place] for row in ROWS] for place, name in enumerate(HEADER)}
for name, content in (
    ("a JSON list", OBJECTS),
    ("a JSON list under a name", {"total": 3, "results": OBJECTS}),
    ("JSON of pandas, by columns", {name: dict(enumerate(cells)) for name, cells in COLUMNS.items()}),
    ("JSON of pandas, orient=list", COLUMNS),
    ("JSON of pandas, orient=split", {"columns": HEADER, "index": [0, 1, 2], "data": ROWS}),
    ("JSON of pandas, orient=index", {row[0]: dict(zip(HEADER[1:], row[1:], strict=True)) for row in ROWS}),
):
    case(name, raw(json.dumps(content), "t.json"))
case(
    "JSON over several lines, with a byte order mark", raw("\ufeff" + json.dumps({"hits": OBJECTS}, indent=2), "t.json")
)
case("JSON lines with a byte order mark", raw("\ufeff" + "\n".join(map(json.dumps, OBJECTS)), "t.jsonl"))
case(
    "JSON lines with NaN",
    raw("\n".join(json.dumps({**one, "Abstract": float("nan")}) for one in OBJECTS), "t.jsonl"),
    abstract=[""] * 3,
)
case("a JSON list of numbers", raw("[1, 2]", "t.json"), "must contain objects", "one object per publication")
case("XML of an unknown kind", raw("<patents><patent/></patents>", "t.xml"), "XML, <patents>", "name its source")
case("the lock file of an open workbook", raw(b"\x05Lead", "~$t.xlsx"), "the lock file", "name the workbook itself")


def with_hidden_files(folder: Path) -> Path:
    """A folder as macOS and Windows leave it."""
    (folder / "list").mkdir()
    for name in ("._t.csv", ".DS_Store", "Thumbs.db", "desktop.ini", "~$t.xlsx"):
        (folder / "list" / name).write_bytes(b"\x00\x05\x16\x07")
    return text([HEADER, *ROWS])(folder / "list").parent


case("a folder with hidden files of macOS and Windows", with_hidden_files)
case(
    "the table of an R data frame",
    text([["", *HEADER], *[[n, *row] for n, row in enumerate(ROWS, 1)]], quoting=csv.QUOTE_ALL),
)

group("Encodings")
for codec, name, title in (
    ("utf-16", "UTF-16", "Pumpe für Öl"),
    ("utf-16-le", "UTF-16", "Pumpe"),
    ("cp1252", "Windows-1252", "“Pump” – €5, für Öl"),
    ("cp932", "Shift-JIS", "弁を備えるポンプ"),
    ("gb18030", "GBK/GB 18030", "一种泵，包括阀门"),
    ("cp949", "EUC-KR", "밸브를 포함하는 펌프"),
    ("big5", "Big5", "一種具有閥門的幫浦裝置"),
):
    label = f"{name} without a mark" if codec == "utf-16-le" else name
    case(
        label,
        text([HEADER, *with_column("Title", [title] * 3)], encoding=codec, delimiter="\t"),
        f"encoding: {name}",
        title=[title] * 3,
    )
case(
    "no known encoding",
    raw(b"Publication Number,Title\nUS7000001B2,\xff\x81\n", "t.csv"),
    "not valid UTF-8",
    "save the file as UTF-8",
)
case(
    "UTF-8 read as Windows-1252 and saved as UTF-8 again",
    cells_of("Title", ["Pumpe fÃ¼r Ã–l", "Seal", "Rotor"]),
    "UTF-8 that was read as Windows-1252",
    title=["Pumpe fÃ¼r Ã–l", "Seal", "Rotor"],
)
case(
    "characters that were lost (U+FFFD)",
    cells_of("Title", ["Pumpe f\ufffdr \ufffdl", "Seal", "Rotor"]),
    "characters were lost in an earlier conversion (U+FFFD)",
    title=["Pumpe f\ufffdr \ufffdl", "Seal", "Rotor"],
)

group("Workbooks")
case("one sheet (.xlsx)", book([HEADER, *ROWS]))
case("an OpenDocument sheet (.ods)", zipped(open_document([HEADER, *ROWS]), "t.ods"))
case("a binary workbook (.xlsb)", zipped(xlsb([HEADER, *ROWS]), "t.xlsb"))
case("a workbook with macros (.xlsm)", book([HEADER, *ROWS], name="t.xlsm"))
case("a workbook called .csv", book([HEADER, *ROWS], name="t.csv"))
case("a CSV called .xlsx", text([HEADER, *ROWS], "t.xlsx"))
case("a web page called .xls", raw(web_page([HEADER, *ROWS]), "t.xls"))
case(
    "a web page without a table",
    raw("<!DOCTYPE html><html><body>Session expired</body></html>", "t.xls"),
    "a web page, not data",
    "get it again",
)
case(
    "an XML workbook of 2003, called .xls",
    raw(
        '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>'
        '<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet/></Workbook>',
        "t.xls",
    ),
    "an XML workbook of Excel 2003",
    "save it as .xlsx",
)
case(
    "a workbook with a password",
    raw(ole("EncryptionInfo", "EncryptedPackage"), "t.xlsx"),
    "the workbook has a password",
    "save it without the password",
)
case("a Word document (.doc)", raw(ole("WordDocument"), "t.doc"), "a Word document", "copy its table")
case("a Word document (.docx)", zipped({"word/document.xml": "<a/>"}, "t.docx"), "a Word document", "copy its table")
case("a PDF", raw(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "t.pdf"), "a PDF", "export the list as")
case(
    "a damaged workbook",
    lambda folder: raw(book([HEADER, *ROWS])(folder).read_bytes()[:3000], "t.xlsx")(folder),
    "not a complete zip file",
    "get it again",
)
case(
    "a banner above the header, merged",
    book([["Bibliographic data", *[None] * 7], HEADER, *ROWS], merged("A1:D1", "E1:H1")),
)
TWO_ROWS = [
    ["Publication Number", "Title", None, "Abstract", "IPC", None],
    [None, "EN", "DE", None, "current", "all"],
    *[[row[0], row[1], "Pumpe", row[2], "F04B", "F04B 1/00"] for row in ROWS],
]
case(
    "a header of two rows with merged cells",
    book(TWO_ROWS, merged("B1:C1", "E1:F1")),
    "the header has two rows, which were joined",
    only={"publication_number": NUMBERS, "title": PLAIN["title"], "abstract": PLAIN["abstract"]},
)
case(
    "two sheets with the same columns",
    book({"2018": [HEADER, *ROWS[:2]], "2019": [HEADER, *ROWS[2:]]}),
    "sheets with the same columns, read together: '2018', '2019'",
)
case(
    "two sheets with the same columns in another order",
    book({"2018": [HEADER, *ROWS[:2]], "2019": [HEADER[::-1], *[row[::-1] for row in ROWS[2:]]]}),
    "sheets with the same columns, read together: '2018', '2019'",
)
case(
    "a cover sheet",
    book({"Cover": [["Search report"], ["date", dt.date(2024, 1, 1)]], "Data": [HEADER, *ROWS]}),
    "a sheet was not understood: not read: 'Cover' (columns: Search report",
)


def hidden(made: Any) -> None:
    made.worksheets[0].row_dimensions[3].hidden = True
    made.worksheets[0].column_dimensions["C"].hidden = True
    if len(made.worksheets) > 1:
        made.worksheets[1].sheet_state = "hidden"


case("hidden rows and columns are read", book([HEADER, *ROWS], hidden))
case(
    "a hidden sheet with the same columns",
    book({"A": [HEADER, *ROWS[:2]], "Old": [HEADER, *ROWS[2:]]}, hidden),
    "hidden sheets are read too: 'Old'",
)
case(
    "an empty first column, and empty columns between",
    book([[None, *HEADER[:3], None, *HEADER[3:]], *[[None, *row[:3], None, *row[3:]] for row in ROWS]]),
)
case("an empty sheet", book({"S": []}), "the table is empty", "export it again")
case(
    "formulas without stored values",
    book([HEADER, *with_column("Publication Number", [f'=HYPERLINK("x","{one}")' for one in NUMBERS])]),
    "no publication number",
    "save the workbook once in Excel",
)
case(
    "merged cells down: the number of several rows",
    book(
        [
            ["Publication Number", "Title", "Topic"],
            ["US10123456B2", "Pump", "Energy"],
            [None, None, "Water"],
            ["US9000001B2", "Rotor", "Air"],
        ],
        merged("A2:A3", "B2:B3"),
    ),
    "merged cells: their value counts in each of their rows",
    only={"publication_number": [NUMBERS[0], NUMBERS[2]], "labels": [["Energy", "Water"], ["Air"]]},
)
case(
    "merged cells down: a family of two rows",
    book([HEADER, ROWS[0], [*ROWS[1][:7], None], ROWS[2]], merged("H2:H3")),
    "merged cells: their value counts in each of their rows",
    family_id=["F1", "F1", "F3"],
)


def ods_with_merged_cells(folder: Path) -> Path:
    files_of = open_document([HEADER, *ROWS])
    tall = str(files_of["content.xml"]).replace(
        '"string"><text:p>F1', '"string" table:number-rows-spanned="2"><text:p>F1'
    )
    covered = tall.replace(
        '<table:table-cell office:value-type="string"><text:p>F2</text:p></table:table-cell>',
        "<table:covered-table-cell/>",
    )
    return zipped({**files_of, "content.xml": covered}, "t.ods")(folder)


case(
    "merged cells down in an OpenDocument sheet",
    ods_with_merged_cells,
    "merged cells: their value is read in their first row only; save the workbook as .xlsx",
    family_id=["F1", "EP3456789A1", "F3"],
)
case(
    "merged cells down in a binary workbook",
    zipped(xlsb([HEADER, ROWS[0], [*ROWS[1][:7], ""], ROWS[2]], (0, 0, 0, 1), (1, 2, 7, 7)), "t.xlsb"),
    "merged cells: their value is read in their first row only; save the workbook as .xlsx",
    family_id=["F1", "EP3456789A1", "F3"],
)
SPANNED = web_page([HEADER, *ROWS]).replace("<td>F1<", "<td rowspan=2>F1<").replace("<td>F2</td>", "")
case("merged cells of a web page called .xls", raw(SPANNED, "t.xls"), family_id=["F1", "F1", "F3"])
case("a web page with a banner over all columns", raw(SPANNED.replace("<table>", "<table><tr><td colspan=8>List</td></tr>"), "t.xls"), family_id=["F1", "F1", "F3"])  # fmt: skip


def linked(made: Any) -> None:
    for row in range(2, 5):
        made.worksheets[0].cell(row, 1).hyperlink = "https://example.org"


case("cells with links", book([HEADER, *ROWS], linked))
for name, form, mark in (
    ('=HYPERLINK("..","US10123456B2")', '=HYPERLINK("https://example.org","{}")', ","),
    ('=HYPERLINK("..";"US10123456B2")', '=HYPERLINK("https://example.org";"{}")', ";"),
    ('="US10123456B2"', '="{}"', ","),
):
    case(
        f"a formula in a CSV: {name}",
        text([HEADER, *with_column("Publication Number", [form.format(one) for one in NUMBERS])], delimiter=mark),
        "formulas of a text replaced by the text",
    )
case(
    "rows and columns swapped: one column for each patent",
    book([[name, *[row[place] for row in ROWS]] for place, name in enumerate(HEADER)]),
    "the columns are named after patents",
    "paste special, transpose",
)
case(
    "a copy of a sheet",
    book({"List": [HEADER, *ROWS], "Copy of List": [HEADER, *ROWS]}),
    "the publication is in an earlier row",
    cited=PLAIN["cited"] * 2,
)
NOT_A_RECORD = "a publication number without a digit, not a record"
for name, row in (
    ("a row of comments below the header", ["(please fill in)", "(English)", "", "", "", "(ISO)", "", ""]),
    ("a row of types below the header", ["string", "string", "string", "string", "list", "date", "list", "string"]),
    ("an example below the header", ["e.g. US1234567B2", "the title", "", "", "", "yyyy-mm-dd", "", ""]),
    ("a row of filters below the header", ["(All)", "(All)", "", "", "", "", "", ""]),
    ("a heading of a group of rows", ["Pumps"]),
):
    case(name, text([HEADER, row, *ROWS]), NOT_A_RECORD)
case("a short note below the table", text([HEADER, *ROWS], below="\nSource: Espacenet\n"), NOT_A_RECORD)
case("a count below the table", text([HEADER, *ROWS, ["Anzahl", 3]]), NOT_A_RECORD)
case("a second table below", text([HEADER, *ROWS, [], ["Inventor", "Count"], ["Doe", 2]]), NOT_A_RECORD)
case(
    "totals within the table",
    text([HEADER, *ROWS[:2], ["US Total", *[""] * 5, "2", ""], *ROWS[2:]]),
    "a row of totals: row 4 US Total",
)
case(
    "a row without one of its cells",
    raw(as_csv([HEADER, *ROWS]).replace("US10123456B2,Pump,", "US10123456B2,"), "t.csv"),
    "the row has fewer cells than the header, and its values are not in their columns",
    only={"publication_number": NUMBERS[1:]},
)
case(
    "a file that ends within its last row",
    raw(as_csv([HEADER, *ROWS])[:-20], "t.csv"),
    "the row has fewer cells than the header",
    only={"publication_number": NUMBERS},
)
case(
    "a second sheet of labels",
    book({"Patents": [HEADER, *ROWS], "Labels": [["Publication Number", "Topic"], [NUMBERS[0], "Energy"]]}),
    "fields joined to a publication of an earlier input: US10123456B2: labels",
    labels=[["Energy"], [], []],
)
case("page numbers", text([HEADER, *ROWS[:2], ["Page 1 of 2"], *ROWS[2:]]), "a line of text, not a record")
case(
    "a legend to the right",
    book([[*HEADER, None, "Legend"], *[[*row, None, "red = relevant"] for row in ROWS]]),
    "columns not read: 'Legend'",
)
case(
    "a pivot table pasted as values",
    text(table("Row Labels,Count of Publication Number", ["ACME", 12], ["Doe", 3], ["Grand Total", 15])),
    "no column looks like a publication number",
    "--map",
)
case(
    "a note below the table",
    text([HEADER, *ROWS], below="\n© 2026 Example Ltd. All rights reserved.\n"),
    "a line of text, not a record: row 6 © 2026 Example Ltd. All rights reserved.",
)
case("the header again on each page", text([HEADER, *ROWS[:2], HEADER, *ROWS[2:]]), "the header again")
case(
    "two columns of the same name",
    text([["Publication Number", "Title", "Title", "Abstract"], *[[row[0], row[1], "Pumpe", row[2]] for row in ROWS]]),
    "a further column 'Title' is called 'Title (column 3)'",
    only={"publication_number": NUMBERS, "title": PLAIN["title"], "abstract": PLAIN["abstract"]},
)
case(
    "two columns of the same name, the first empty",
    text([["Publication Number", "Title", "Title"], *[[row[0], "", row[1]] for row in ROWS]]),
    "a further column 'Title' is called 'Title (column 3)'",
    only={"publication_number": NUMBERS, "title": PLAIN["title"]},
)
case(
    "number cells as floats",
    book([HEADER, *with_column("Publication Number", [10123456.0, 10123457.0, 9000001.0])]),
    "a number cannot be read: stored as written (a map can set the office of numbers without one)",
    only={"publication_number": ["10123456", "10123457", "9000001"]},
)
case(
    "number cells as floats, and a map with the office",
    book([HEADER, *with_column("Publication Number", [10123456.0, 10123457.0, 9000001.0])]),
    "columns not read",
    columns="[fields]\npublication_number = { column = 'Publication Number', office = 'US' }\ntitle = 'Title'\n",
    only={"publication_number": ["US10123456", "US10123457", "US9000001"]},
)
case(
    "a cell of 32,767 characters",
    book([HEADER, *with_column("Abstract", ["A pump. " * 4095 + "A pump.", "A seal.", "A rotor."])]),
    "a cell has 32,767 characters, the limit of Excel: its text is cut",
    abstract=["A pump. " * 4095 + "A pump.", "A seal.", "A rotor."],
)
case(
    "an .xls of 65,536 rows",
    lambda folder: raw(zlib.decompress(base64.b64decode(FULL_XLS)), "t.xls")(folder),
    "the sheet is full (65,536 rows): rows after them are missing",
    only={"publication_number": ["US10123456B2", "US9000001B2"]},
)
case(
    "an .xls of 2003",
    lambda folder: raw(zlib.decompress(base64.b64decode(OLD_XLS)), "t.xls")(folder),
    only={
        "publication_number": ["US10123456B2", "EP3456789A1"],
        "title": ["Pumpe für Öl", "Seal"],
        "publication_date": ["2018-11-13", "2019-01-02"],
    },
)

group("Empty cells")
for word in (
    "n/a",
    "-",
    "NULL",
    "#N/A",
    "nan",
    "(null)",
    "--",
    "none",
    "N.A.",
    "k.A.",
    "\u2014",
    "#REF!",
    "#VALUE!",
    "\u00a0",
    "?",
    "NaT",
    "<NA>",
    "\\N",
):
    broken = word.startswith("#") and word != "#N/A"
    case(
        {"\u00a0": "a non-breaking space", "\u2014": "a dash"}.get(word, word),
        text([HEADER, *[[*row[:2], word, *row[3:6], word, row[7]] for row in ROWS]]),
        "an error of Excel in a cell: read as empty" if broken else "words for an empty cell" if word.strip() else "",
        abstract=[""] * 3,
        cited=[],
    )

group("Publication numbers")
WRITTEN = {
    "US 10,123,456 B2": "US10123456B2",
    "US-10123456-B2": "US10123456B2",
    "US10123456 (B2)": "US10123456B2",
    "EP 3 456 789 A1": "EP3456789A1",
    "EP3456789 (A1)": "EP3456789A1",
    "US 2018/0123456 A1": "US2018123456A1",
    "WO/2019/123456 A1": "WO2019123456A1",
    "WO 2019/123456 A1": "WO2019123456A1",
    "WO 99/12345 A1": "WO1999012345A1",
    "JP2019-123456A": "JP2019123456A",
    "JP H09-508542 A": "JPH09508542A",
    "特開2019-123456": "JP2019123456A",
    "特開平9-508542": "JPH09508542A",
    "特表2019-512345": "JP2019512345A",
    "再表2019/123456": "JPWO2019123456A1",
    "特許第6543210号": "JP6543210B",
    "実登3212345": "JP3212345U",
    "KR 10-2019-0012345 A": "KR20190012345A",
    "KR101234567B1": "KR101234567B1",
    "DE 10 2018 123 456 B4": "DE102018123456B4",
    "TW I612345 B": "TWI612345B",
    "USD812,345 S": "USD812345S",
    "USRE46828E1": "USRE46828E1",
    "CN 109999999 A": "CN109999999A",
    "BR 11 2018 012345-6 A2": "BR112018012345A2",
    "BR112018012345A2": "BR112018012345A2",
    "BR PI0612345-8 A2": "BRPI0612345A2",
    "ＵＳ１０１２３４５６Ｂ２": "US10123456B2",
    "\u200eUS10123456B2\u200f": "US10123456B2",
    "US10123456\u200bB2": "US10123456B2",
    "US\u00a010123456\u00a0B2": "US10123456B2",
    "US10123456B2*": "US10123456B2",
    "US10123456B2.": "US10123456B2",
    "us10123456b2": "US10123456B2",
}
WRITTEN |= {
    "US١٠١٢٣٤٥٦B2": "US10123456B2",
    "EP۳۴۵۶۷۸۹A1": "EP3456789A1",
    "特開２０１９－１２３４５６": "JP2019123456A",
    "US10123456\nB2": "US10123456B2",
    "IT 10 2018 000012345 A1": "IT201800012345A1",
    "AT E 512345 T1": "ATE512345T1",
}
WRITTEN |= {
    "Patent US10123456B2": "US10123456B2",
    "Patent No. US 10,123,456 B2": "US10123456B2",
    "US10123456 B 2": "US10123456B2",
    "EP03456789A1": "EP3456789A1",
    "US0010123456B2": "US10123456B2",
    "https://worldwide.espacenet.com/patent/search?q=pn%3DUS10123456B2": "US10123456B2",
    "https://worldwide.espacenet.com/publicationDetails/biblio?CC=EP&NR=3456789A1&KC=A1": "EP3456789A1",
}
for written, normal in WRITTEN.items():
    shown = (
        written.replace("\u200e", "[LRM]")
        .replace("\u200f", "[RLM]")
        .replace("\u200b", "[ZWSP]")
        .replace("\u00a0", "[NBSP]")
    )
    case(shown, text(table("Publication Number,Title", [written, "Pump"])), only={"publication_number": [normal]})
for written in (
    "US10123456B2 (13.11.2018)",
    "US10123456B2 (expired)",
    "US10123456B2 - see also EP3456789A1",
    "US 10,123,456 B2, withdrawn",
):
    case(
        f"a remark after the number: {written}",
        text(table("Publication Number,Title", [written, "Pump"], ["US9000001B2", "Rotor"])),
        "a remark after a number is removed",
        only={"publication_number": ["US10123456B2", "US9000001B2"]},
    )
case(
    "a date after the number: US10123456B2 2018-11-13",
    text(table("Publication Number,Title", ["US10123456B2 2018-11-13", "Pump"])),
    only={"publication_number": ["US10123456B2"]},
)
case(
    "a link in Markdown",
    text(table("Publication Number,Title", ["[US10123456B2](https://example.org)", "Pump"])),
    "a remark after a number is removed",
    only={"publication_number": ["US10123456B2"]},
)
case(
    "kinds in brackets, one number a line",
    text(
        table(
            "Patent numbers,Title,Cited patents",
            ["US10123456 (B2)\nEP3456789 (A1)", "Pump", "US9000001 (B2)\nEP1234567 (A1)"],
        )
    ),
    "a further publication number in the cell",
    only={
        "publication_number": ["US10123456B2"],
        "members": ["US10123456B2 EP3456789A1"],
        "cited": ["US10123456B2 EP1234567A1", "US10123456B2 US9000001B2"],
    },
)
case(
    "an apostrophe before the number",
    text(table("Publication Number,Title", ["'US10123456B2", "Pump"])),
    "apostrophes before a text removed",
    only={"publication_number": ["US10123456B2"]},
)
for written in ("1.01235E+07", "1,01235E+07"):
    case(
        f"scientific notation ({written})",
        text(table("Publication Number,Title", [written, "Pump"], ["US9000001B2", "Rotor"])),
        "Excel has turned a number into scientific notation",
        only={"publication_number": [written, "US9000001B2"]},
    )
case(
    "two patents in one row",
    text(table("Publication Number,Title", ["US2018123456A1; US10123456B2", "Pump"], ["US9000001B2", "Rotor"])),
    "a further publication number in the cell: read as a member of the family",
    only={"publication_number": ["US2018123456A1", "US9000001B2"], "members": ["US2018123456A1 US10123456B2"]},
)
case(
    "web addresses of Google Patents",
    text(table("Publication Number,Title", ["https://patents.google.com/patent/US10123456B2/en", "Pump"])),
    only={"publication_number": ["US10123456B2"]},
)
case(
    "own case numbers as ids",
    text(table("Patent Number,Title,Abstract", ["P-2019-001", "Pump", "A pump."], ["P-2019-002", "Seal", "A seal."])),
    "a number cannot be read: stored as written",
    only={"publication_number": ["P-2019-001", "P-2019-002"]},
)
case(
    "office, number and kind in three columns",
    text(table("Country,Number,Kind,Title", ["US", "10123456", "B2", "Pump"], ["EP", "3456789", "A1", "Seal"])),
    only={"publication_number": NUMBERS[:2]},
)
case(
    "numbers with .0 next to their country and kind",
    text(table("Country,Number,Kind,Title", ["US", "10123456.0", "B2", "Pump"], ["EP", "3456789.0", "A1", "Seal"])),
    only={"publication_number": NUMBERS[:2]},
)
case(
    "numbers as number cells next to their country",
    book(
        table(
            "Country,Publication Number,Kind Code,Title",
            ["US", 10123456.0, "B2", "Pump"],
            ["EP", 3456789, "A1", "Seal"],
        )
    ),
    only={"publication_number": NUMBERS[:2]},
)
case(
    "a kind code in its own column, and in the number too",
    text(table("Publication Number,Kind,Title", ["US10123456", "B2", "Pump"], ["EP3456789A1", "A1", "Seal"])),
    only={"publication_number": NUMBERS[:2]},
)
case(
    "names of countries next to the numbers",
    text(
        table("Country,Publication Number,Title", ["United States", "10123456", "Pump"], ["Germany", "3456789", "Seal"])
    ),
    "a number cannot be read: stored as written",
    only={"publication_number": ["10123456", "3456789"]},
)
case(
    "no column of a number",
    text(table("Ref,Title,Abstract", ["P-2019-001", "Pump", "A pump."], ["P-2019-002", "Seal", "A seal."])),
    "no column looks like a publication number (columns: Ref, Title, Abstract)",
    "--map",
)
case(
    "an application number where a publication is expected",
    text(table("Publication Number,Title", ["PCT/US2018/065432", "Pump"], ["US9000001B2", "Rotor"])),
    "an application, not a publication",
    only={"publication_number": ["WO2018US065432W", "US9000001B2"]},
)
case(
    "a repeated row",
    text([HEADER, *ROWS, ROWS[0]]),
    "the publication is in an earlier row",
    cited=[*PLAIN["cited"], *PLAIN["cited"][:2]],
)
case(
    "a repeated number with another title",
    text([HEADER, *ROWS, [ROWS[1][0], "Gasket", *ROWS[1][2:]]]),
    "the publication is in an earlier row with another title: only citations",
    cited=[*PLAIN["cited"], PLAIN["cited"][2]],
)

case(
    "a publication number or a grant number, without office, next to the office",
    text(
        table(
            "국가코드,공개번호/공표/재공표,등록번호,발명의 명칭,Original IPC All",
            ["US", "2012-0010000", "", "Pump", "F04B-001/00 | F04B-053/10"],
            ["US", "", "9000205", "Seal", "F16J-015/00"],
            ["US", "2012-0010001", "9000206", "Rotor", "F04D-029/00"],
        )
    ),
    "a further publication number in the row: read as a member of the family",
    only={
        "publication_number": ["US2012010000", "US9000205", "US2012010001"],
        "members": ["US2012010001 US9000206"],
        "title": PLAIN["title"],
        "ipc": [["F04B1/00", "F04B53/10"], ["F16J15/00"], ["F04D29/00"]],
    },
)
case(
    "one row for each class",
    text(
        table(
            "Publication Number,IPC", [NUMBERS[0], "F04B 1/00"], [NUMBERS[1], "F16J 15/00"], [NUMBERS[0], "F04B 3/00"]
        )
    ),
    "only lists, citations and relations are read",
    only={"publication_number": NUMBERS[:2], "ipc": [["F04B1/00", "F04B3/00"], ["F16J15/00"]]},
)

group("Dates")
for name, cells, dates, said in (
    ("2018-11-13", ("2018-11-13", "2019-01-02", "2015-04-07"), None, ""),
    ("2018-11-13 00:00:00", ("2018-11-13 00:00:00", "2019-01-02T00:00:00Z", "2015-04-07"), None, ""),
    ("20181113", ("20181113", "20190102", "20150407"), None, ""),
    ("13.11.2018", ("13.11.2018", "02.01.2019", "7.4.2015"), None, ""),
    ("2018/11/13", ("2018/11/13", "2019/1/2", "2015/04/07"), None, ""),
    ("11/13/2018 and 01/02/2019: the month first", ("11/13/2018", "01/02/2019", "04/07/2015"), None, ""),
    ("13/11/2018 and 02/01/2019: the day first", ("13/11/2018", "02/01/2019", "07/04/2015"), None, ""),
    ("13-11-2018", ("13-11-2018", "02-01-2019", "07-04-2015"), None, ""),
    ("13.11.18", ("13.11.18", "02.01.19", "07.04.15"), None, "a year of two digits"),
    ("11/13/18", ("11/13/18", "1/2/19", "4/7/15"), None, "a year of two digits"),
    (
        "991131 or 991301, the only form of all",
        ("181113", "190102", "990407"),
        ["2018-11-13", "2019-01-02", "1999-04-07"],
        "a year of two digits",
    ),
    (
        "181113, of which the order is unclear",
        ("181113", "190102", "150407"),
        ["", "", ""],
        "is ambiguous: a map can set its form",
    ),
    ("201811", ("201811", "201901", "201504"), ["2018-11-01", "2019-01-01", "2015-04-01"], "has no day"),
    ("2018", ("2018", "2019", "2015"), ["2018-01-01", "2019-01-01", "2015-01-01"], "has no day"),
    ("7. April 2015, 13 Nov 2018", ("13 Nov 2018", "2. Januar 2019", "7. April 2015"), None, ""),
    ("November 13, 2018", ("November 13, 2018", "January 2, 2019", "Apr 7, 2015"), None, ""),
    ("13 novembre 2018, 2 de enero de 2019", ("13 novembre 2018", "2 de enero de 2019", "7 avril 2015"), None, ""),
    ("2018年11月13日", ("2018年11月13日", "2019年1月2日", "2015年4月7日"), None, ""),
    ("平成30年11月13日, H27.4.7", ("平成30年11月13日", "平成31年1月2日", "H27.4.7"), None, ""),
    ("43417 (Excel)", ("43417", "43467", "42101"), None, "a serial number of Excel"),
    ("43417,5 (Excel, decimal comma)", ("43417,5", "43467,5", "42101,5"), None, "a serial number of Excel"),
    ("Tue Nov 13 2018", ("Tue Nov 13 2018", "Wed Jan 02 2019", "Tue Apr 07 2015"), None, ""),
    ("years 0200 and 2918", ("0200-03-05", "2918-01-02", "2015-04-07"), ["", "", "2015-04-07"], "is before 1790"),
    ("01/02/2019 without a day above 12", ("01/02/2019", "03/04/2019", ""), ["", "", ""], "date = '%d/%m/%Y'"),
    ("1900-01-00, a zero that Excel shows", ("1900-01-00", "00.01.1900", "2015-04-07"), ["", "", "2015-04-07"], ""),
    ("two dates in a cell", ("2018-11-13; 2018-05-03", "2019-01-02", "2015-04-07"), None, "has several dates"),
    ("a date within a text", ("US 13.11.2018 B2", "2019-01-02", "2015-04-07"), None, "a date within a text"),
    ("pending", ("pending", "2019-01-02", "2015-04-07"), ["", "2019-01-02", "2015-04-07"], "left empty"),
    ("Nov-18 (Excel)", ("Nov-18", "Jan-19", "Apr-15"), ["2018-11-01", "2019-01-01", "2015-04-01"], "has no day"),
    (
        "November 2018",
        ("November 2018", "Jan. 2019", "avril 2015"),
        ["2018-11-01", "2019-01-01", "2015-04-01"],
        "has no day",
    ),
    ("13-NOV-18", ("13-NOV-18", "02-JAN-19", "07-APR-15"), None, "a year of two digits"),
    ("20181113.0", ("20181113.0", "20190102.0", "20150407.0"), None, ""),
    ("1542067200000 (JSON of pandas)", ("1542067200000", "1546387200000", "1428364800000"), None, ""),
    ("２０１８／１１／１３", ("２０１８／１１／１３", "２０１９／０１／０２", "２０１５／０４／０７"), None, ""),
    ("٢٠١٨-١١-١٣", ("٢٠١٨-١١-١٣", "٢٠١٩-٠١-٠٢", "٢٠١٥-٠٤-٠٧"), None, ""),
    ("民國107年11月13日", ("民國107年11月13日", "民國108年1月2日", "民國104年4月7日"), None, ""),
    ("13/NOV/2018", ("13/NOV/2018", "02/JAN/2019", "07/APR/2015"), None, ""),
    ("2018 Nov 13", ("2018 Nov 13", "2019 Jan 02", "2015 Apr 07"), None, ""),
    ("2018. 11. 13.", ("2018. 11. 13.", "2019. 1. 2.", "2015. 4. 7."), None, ""),
    (
        "2018-13-11",
        ("2018-13-11", "2019-01-02", "2015-04-07"),
        ["", "2019-01-02", "2015-04-07"],
        "'2018-13-11' is not a date",
    ),
    (
        "1440/03/05 (Hijri)",
        ("1440/03/05", "2019-01-02", "2015-04-07"),
        ["", "2019-01-02", "2015-04-07"],
        "is before 1790",
    ),
    ("Di, 13.11.2018", ("Di, 13.11.2018", "Mi, 02.01.2019", "Di, 07.04.2015"), None, "a date within a text"),
):
    case(name, cells_of("Publication Date", cells), said, publication_date=dates or PLAIN["publication_date"])
EXCEL_DATES = (dt.datetime(2018, 11, 13), dt.date(2019, 1, 2), dt.datetime(2015, 4, 7, 10, 0))
case("date cells of a workbook", book([HEADER, *with_column("Publication Date", EXCEL_DATES)]))
case(
    "serial numbers of a workbook",
    book([HEADER, *with_column("Publication Date", (43417, 43467.0, 42101))]),
    "a serial number of Excel: row 2: 43417 = 2018-11-13",
)


def of_1904(made: Any) -> None:
    made.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904


case(
    "date cells of a workbook that counts from 1904",
    book([HEADER, *with_column("Publication Date", EXCEL_DATES)], of_1904),
)
case(
    "serial numbers of a workbook that counts from 1904",
    book([HEADER, *with_column("Publication Date", (43417 - 1462, 43467 - 1462, 42101 - 1462))], of_1904),
    "a serial number of Excel",
)

group("Lists")
LISTED = "Publication Number,Title,Cited Patents,IPC,Applicants"
for name, mark in (
    ("semicolon and blank", "; "),
    ("vertical bar", " | "),
    ("line end", "\n"),
    ("comma", ", "),
    ("two semicolons", ";;"),
    ("full-width semicolon", "；"),
    ("Chinese comma", "、"),
    ("semicolon and line end", ";\n"),
    ("carriage return in cells", "_x000D_\n"),
):
    case(
        name,
        text(
            table(
                LISTED,
                [
                    "US10123456B2",
                    "Pump",
                    mark.join(["US9000001B2", "EP3456789A1"]),
                    mark.join(["F04B 1/00", "F04B 3/00"]),
                    "ACME",
                ],
                ["US9000001B2", "Rotor", "EP3456789A1", "F04D 29/00", "Doe"],
            )
        ),
        only={
            "cited": ["US10123456B2 US9000001B2", "US10123456B2 EP3456789A1", "US9000001B2 EP3456789A1"],
            "ipc": [["F04B1/00", "F04B3/00"], ["F04D29/00"]],
        },
    )
case("blanks between cited numbers", cells_of("Cited Patents", ["US9000001B2 EP3456789A1", "US9000001B2", ""]))
case(
    "mixed separators in one column",
    cells_of("Cited Patents", ["US9000001B2; EP3456789A1", "US9000001B2 | US9000002B2\nUS9000003B2", ""]),
    cited=[*PLAIN["cited"], "EP3456789A1 US9000002B2", "EP3456789A1 US9000003B2"],
)
case(
    "separators of thousands in cited numbers",
    cells_of("Cited Patents", ["US 9,000,001 B2; EP 3 456 789 A1", "US 9,000,001 B2", ""]),
)
case(
    "a list in brackets, as Python writes it",
    cells_of("Cited Patents", ["['US9000001B2', 'EP3456789A1']", "['US9000001B2']", "[]"]),
)

group("Citations")
case(
    "categories: US9000001B2 [X], EP3456789A1 (A)",
    cells_of("Cited Patents", ["US9000001B2 [X]; EP3456789A1 (A)", "X US9000001B2", ""]),
    "a category or remark is with a cited number",
    category=["X", "A", "X"],
)
case(
    "categories next to numbers without kind code: US20120088689 [Y]",
    cells_of("Cited Patents", ["US9000001 [N]; EP3456789A1 [&]", "I US9000001B2", ""]),
    "a category or remark is with a cited number",
    category=["N", "&", "I"],
    cited=["US10123456B2 US9000001", *PLAIN["cited"][1:]],
)
case(
    "authors and dates: US9000001 B2 (Smith, 2015-04-07)",
    cells_of("Cited Patents", ["US9000001 B2 (Smith, 2015-04-07); EP3456789A1", "US9000001B2", ""]),
    "a category or remark is with a cited number",
)
case(
    "papers among the cited numbers",
    cells_of("Cited Patents", ["US9000001B2; EP3456789A1; Smith et al., Pumps, 2015", "US9000001B2", ""]),
    "a number cannot be read: stored as written",
    cited=[*PLAIN["cited"][:2], "US10123456B2 Smith et al., Pumps, 2015", PLAIN["cited"][2]],
)
case(
    "a count of citations",
    cells_of("Cited Patents", ["12", "3", "0"]),
    "'Cited Patents': small whole numbers",
    cited=[],
)
case(
    "Cited By",
    text(table("Publication Number,Title,Cited By", ["US9000001B2", "Rotor", "US10123456B2 | EP3456789A1"])),
    only={"cited": ["US10123456B2 US9000001B2", "EP3456789A1 US9000001B2"]},
)
case(
    "a table of pairs",
    text(table("query-id,corpus-id", ["US10123456B2", "US9000001B2"], ["US10123456B2", "EP3456789A1"])),
    only={"publication_number": [], "cited": PLAIN["cited"][:2]},
)
case(
    "a map with a list of citing numbers",
    text(table("No,By", ["US9000001B2", "US10123456B2;EP3456789A1"])),
    columns="[fields]\npublication_number = 'No'\n[[citations]]\nciting = 'By'\n",
    only={"cited": ["US10123456B2 US9000001B2", "EP3456789A1 US9000001B2"]},
)

LIST = [["Veröffentlichungsnummer", "Titel"], ["EP3456789A1", "Dichtung"], ["US10123456B2", "Pumpe"]]
case(
    "a second sheet of citations with a header of its own",
    book(
        {
            "Liste": LIST,
            "Zitate": table(
                "Anmeldung/Schrift,Entgegenhaltung,Kategorie,Fundstelle",
                ["EP3456789A1", "US9000001B2", "X", "Sp. 3"],
                ["EP3456789A1", "DE4000000A1", "A", "Fig. 1"],
                ["US10123456B2", "US9000001B2", "Y", ""],
            ),
        }
    ),
    "columns not read: 'Fundstelle'",
    only={
        "publication_number": ["EP3456789A1", "US10123456B2"],
        "title": ["Dichtung", "Pumpe"],
        "cited": ["EP3456789A1 US9000001B2", "EP3456789A1 DE4000000A1", "US10123456B2 US9000001B2"],
        "category": ["X", "A", "Y"],
    },
)
case(
    "Zitierte Schriften: EP 3000000 A1 (X); US 2014/0100003 A1 (Y)",
    text(
        [
            ["Schrift", "Titel", "Zitierte Schriften"],
            ["EP3456789A1", "Dichtung", "EP 3000000 A1 (X); US 2014/0100003 A1 (Y)"],
        ]
    ),
    "a category or remark is with a cited number",
    only={"cited": ["EP3456789A1 EP3000000A1", "EP3456789A1 US2014100003A1"], "category": ["X", "Y"]},
)
case(
    "commas in a column separated by semicolons",
    cells_of("Cited Patents", ["US9000001B2, EP3456789A1", "US9000001B2; US9000002B2", ""]),
    cited=[*PLAIN["cited"], "EP3456789A1 US9000002B2"],
)
case(
    "separators within a remark: US9000001B2 (Smith, Jones; 2015)",
    cells_of("Cited Patents", ["US9000001B2 (Smith, Jones; 2015); EP3456789A1", "US9000001B2", ""]),
    "a category or remark is with a cited number",
)
case(
    "cited_patent_numbers and citing_patent_numbers",
    text(
        table(
            "publication_number,title_original_english_cleaned,cited_patent_numbers,citing_patent_numbers",
            ["US9000001B2", "Rotor", "EP1234567A1", "US10123456B2"],
        )
    ),
    only={"title": ["Rotor"], "cited": ["US9000001B2 EP1234567A1", "US10123456B2 US9000001B2"]},
)

group("Texts")
NPL = "Smith J et al., Journal of Pumps, vol. 12, pp. 34-56, 2010; Jones K, Proc. Conf. Fluid Machinery, 2012, pages 12-18, paper 3."
case(
    "the longest texts are citations of literature",
    text([["Publication Number", "Title", "NPL Citations"], *[[row[0], row[1], NPL] for row in ROWS]]),
    "columns not read: 'NPL Citations'",
    only={"title": PLAIN["title"], "abstract": [""] * 3},
)
case(
    "the longest texts are addresses",
    text(
        [
            ["Publication Number", "Title", "Place"],
            *[
                [
                    row[0],
                    row[1],
                    "ACME Pumps Incorporated, 1200 Main Street, Suite 300, Building 4, Springfield, Illinois 62701, United States of America, US",
                ]
                for row in ROWS
            ],
        ]
    ),
    "columns not read: 'Place'",
    only={"title": PLAIN["title"], "abstract": [""] * 3},
)
case(
    "entities and tags",
    text(
        [
            HEADER,
            *[[row[0], f"{row[1]} &amp; valve &lt;5 &#176;C", f"<p>A <b>{row[1]}</b>.</p>", *row[3:]] for row in ROWS],
        ]
    ),
    "HTML tags and entities replaced",
    title=[f"{one} & valve <5 °C" for one in PLAIN["title"]],
    abstract=["A Pump.", "A Seal.", "A Rotor."],
)
for name, texts in (
    ("No abstract available", ("No abstract available", "[No abstract available]", "Abstract not available.")),
    ("Not available", ("Not available", "(not available)", "No abstract")),
):
    case(name, cells_of("Abstract", texts), "texts such as 'No abstract available' are read", abstract=[""] * 3)
case(
    "&nbsp; and names of letters",
    cells_of("Abstract", ["A pump,&nbsp;5&nbsp;mm, of M&uuml;ller", "A seal.", "A rotor."]),
    "HTML tags and entities replaced",
    abstract=["A pump, 5 mm, of Müller", "A seal.", "A rotor."],
)
case(
    "[Machine Translation]",
    cells_of("Title", [f"{one} [Machine Translation]" for one in PLAIN["title"]]),
    "marks of machine translation removed",
)
case(
    "control characters in texts",
    cells_of("Abstract", ["A\x00pump.", "A\u2028seal.", "A\x0brotor."]),
    abstract=["A pump.", "A seal.", "A rotor."],
)
case(
    "claims as a list of objects in JSON",
    raw(
        '{"publication_number": "US10123456B2", "claims": [{"num": 1, "text": "A pump."}, {"num": 2, "text": "The pump of claim 1."}]}\n',
        "t.jsonl",
    ),
    only={"depends_on": [[[], [1]]]},
)
case(
    "claims over two columns",
    text(table("Publication Number,Claims,Claims (cont.)", ["US9000001B2", CLAIMS, "3. The pump of claim 2."])),
    only={"depends_on": [[[], [1], [2]]]},
)
case("missing abstracts", cells_of("Abstract", ["", "", "A rotor."]), abstract=["", "", "A rotor."])
case(
    "titles in several languages, one column each",
    text(table("Publication Number,Title (DE),Title (EN),Title (FR)", ["EP3456789A1", "Dichtung", "Seal", "Joint"])),
    "'Title (DE)', 'Title (FR)'",
    only={"title": ["Seal"]},
)
case(
    "titles in several languages in one cell",
    text(table("Publication Number,Title", ["EP3456789A1", "[EN] Seal [FR] Joint [DE] Dichtung"])),
    "texts in several languages: the English one is read",
    only={"title": ["Seal"]},
)
case(
    "non-breaking spaces and zero-width characters in texts",
    cells_of("Title", ["Pump\u00a0with\u200b valve", "Seal", "Rotor"]),
    title=["Pump with valve", "Seal", "Rotor"],
)
CLAIM_SETS = {
    "German claims": (
        "1. Pumpe mit einem Ventil. 2. Pumpe nach Anspruch 1, dadurch gekennzeichnet, dass das Ventil aus Stahl ist.",
        [[], [1]],
    ),
    "French claims": (
        "1. Pompe comprenant une soupape. 2. Pompe selon la revendication 1, caractérisée en ce que la soupape est en acier.",
        [[], [1]],
    ),
    "Chinese claims in one line": (
        "1. 一种泵，包括阀门。2. 根据权利要求1所述的泵，其特征在于，所述阀门为钢制。",
        [[], [1]],
    ),
    "Japanese claims": (
        "【請求項１】弁を備えるポンプ。【請求項２】前記弁が鋼製である請求項１に記載のポンプ。",
        [[], [1]],
    ),
    "Korean claims": ("청구항 1. 밸브를 포함하는 펌프. 청구항 2. 제1항에 있어서, 상기 밸브는 강철인 펌프.", [[], [1]]),
    "a claim that depends on several": (
        "1. A pump. 2. A method. 3. A system as claimed in any one of claims 1 or 2.",
        [[], [], [1, 2]],
    ),
    "any preceding claim": ("1. A pump. 2. A valve. 3. The pump according to any preceding claim.", [[], [], [1, 2]]),
    "one claim without a number": ("A pump comprising a valve, wherein the valve is steel.", [[]]),
}
for name, (claims, depends_on) in CLAIM_SETS.items():
    case(name, cells_of("Claims", [claims, "1. A seal.", "1. A rotor."]), depends_on=[depends_on, [[]], [[]]])
case(
    "amended and cancelled claims",
    cells_of(
        "Claims",
        [
            "1. (Currently amended) A pump. 2. (Canceled) 3. (Original) The pump of claim 1.",
            "1. A seal.",
            "1. A rotor.",
        ],
    ),
    claims=[["A pump.", "The pump of claim 1."], ["A seal."], ["A rotor."]],
    depends_on=[[[], [1]], [[]], [[]]],
)
case(
    "all claims cancelled",
    cells_of("Claims", ["1-20. (Canceled)", "1. A seal.", "1. A rotor."]),
    "claims could not be split: left empty",
    depends_on=[[], [[]], [[]]],
)

group("Columns")
LONG = [[*row[:2], f"{row[2]} {'It is made of steel and brass. ' * 6}".strip(), *row[3:]] for row in ROWS]
for language, header in (
    (
        "German",
        "Veröffentlichungsnummer,Titel,Zusammenfassung,Ansprüche,IPC-Klassen,Veröffentlichungsdatum,Zitierte Patente,Familien-ID",
    ),
    ("French", "Numéro de publication,Titre,Abrégé,Revendications,CIB,Date de publication,Brevets cités,Famille"),
    ("Chinese", "公开（公告）号,标题,摘要,权利要求,IPC分类号,公开（公告）日,引用专利,同族号"),
    ("Japanese", "文献番号,発明の名称,要約,請求項,国際特許分類,公開日,引用文献,ファミリーID"),
    ("Korean", "공개번호,발명의 명칭,요약,청구항,IPC코드,공개일자,인용문헌,패밀리ID"),
    ("unknown, known by their values:", "Alpha,Title,Beta,Gamma,Delta,Publication Date,Cited Patents,Family ID"),
):
    case(f"{language} names", book([header.split(","), *LONG]), abstract=[row[2] for row in LONG])
for language, header in (
    (
        "Spanish",
        "Número de publicación,Título,Resumen,Reivindicaciones,CIP,Fecha de publicación,Documentos citados,Familia",
    ),
    (
        "Italian",
        "Numero di pubblicazione,Titolo,Riassunto,Rivendicazioni,Classificazione IPC,Data di pubblicazione,Brevetti citati,Famiglia",
    ),
    (
        "Russian",
        "Номер публикации,Название,Реферат,Формула изобретения,МПК,Дата публикации,Цитируемые документы,Семейство",
    ),
    ("publicationNumber", "publicationNumber,title,abstract,claims,ipc,publicationDate,citedPatents,familyId"),
    ("PUBLICATION_NUMBER", "PUBLICATION_NUMBER,TITLE,ABSTRACT,CLAIMS,IPC,PUBLICATION_DATE,CITED_PATENTS,FAMILY_ID"),
    ("Publication.Number", "Publication.Number,Title,Abstract,Claims,IPC,Publication.Date,Cited.Patents,Family.ID"),
    (
        "Publication Date (YYYY-MM-DD)",
        "Publication Number (DOCDB),Title [EN],Abstract*,Claims (text),IPC (8),Publication Date (YYYY-MM-DD),Cited Patents (list),Family ID (simple)",
    ),
    ("line ends in", "Publication\nNumber,Title,Abstract,Claims,IPC,Publication\nDate,Cited\nPatents,Family\nID"),
):
    case(f"{language} names", text([header.split(","), *ROWS]))
case(
    "Family is a size",
    text([[*HEADER[:7], "Family"], *with_column("Family ID", [5, 5, 3])]),
    "'Family': small whole numbers",
    family_id=NUMBERS,
)
case("Claims is a count", cells_of("Claims", [20, 5, 7]), "'Claims': small whole numbers", depends_on=[[]] * 3)
case(
    "Year instead of a date",
    text([[*HEADER[:5], "Year", *HEADER[6:]], *with_column("Publication Date", [2018, 2019, 2015])]),
    "'Year': years, each different; the name does not say of what: not used",
    publication_date=[""] * 3,
)
case(
    "a label column yes/no",
    text(table("Publication Number,Topic", [NUMBERS[0], "yes"], [NUMBERS[1], "no"])),
    only={"labels": [["yes"], ["no"]]},
)
case(
    "one column for each label (1 or 0)",
    text(table("Publication Number,Title,Energy,Water", [NUMBERS[0], "Pump", 1, 0], [NUMBERS[1], "Seal", 0, 1])),
    "columns not read: 'Energy', 'Water'",
    only={"publication_number": NUMBERS[:2]},
)
case(
    "one column for each label, and a map",
    text(table("Publication Number,Title,Energy,Water", [NUMBERS[0], "Pump", 1, 0], [NUMBERS[1], "Seal", 0, 1])),
    columns="[fields]\npublication_number = 'Publication Number'\ntitle = 'Title'\n"
    + "".join(
        f"[[labels]]\nlandscape = {{ constant = 'T' }}\ncoarse = {{ column = '{one}', values = {{ '1' = '{one}' }} }}\n"
        for one in ("Energy", "Water")
    ),
    only={"labels": [["Energy"], ["Water"]]},
)
case(
    "one row for each topic",
    text(table("Publication Number,Topic", [NUMBERS[0], "Energy"], [NUMBERS[1], "Water"], [NUMBERS[0], "Water"])),
    "the publication is in an earlier row",
    only={"labels": [["Energy", "Water"], ["Water"]]},
)
case(
    "designs and utility models",
    text(
        [
            HEADER,
            ["USD812345S", "Chair", *ROWS[0][2:]],
            ["DE202018123456U1", "Stuhl", *ROWS[1][2:]],
            ["CN201234567U", *ROWS[2][1:]],
        ]
    ),
    only={"publication_number": ["USD812345S", "DE202018123456U1", "CN201234567U"]},
)
case(
    "a number column of running numbers",
    text([["No.", *HEADER], *[[n, *row] for n, row in enumerate(ROWS, 1)]]),
    "columns not read: 'No.'",
)
case(
    "family members in a column",
    text(
        [
            [*HEADER[:7], "INPADOC Family Members"],
            *with_column("Family ID", ["US10123456B2; WO2018000001A1", "EP3456789A1; WO2018000001A1", ""]),
        ]
    ),
    "no family id: the family is named after the first of its members",
    family_id=["US10123456B2", "EP3456789A1", "US9000001B2"],
    members=["US10123456B2 WO2018000001A1", "EP3456789A1 WO2018000001A1"],
    families=[2, 1],
)
case(
    "A1 and B1 of one application, no family",
    text(table("Publication Number,Title", ["EP3456789A1", "Seal"], ["EP3456789B1", "Seal"], ["US9000001B2", "Rotor"])),
    only={"families": [2, 1]},
)
case(
    "a column map that names a missing column",
    text([HEADER, *ROWS]),
    "column 'Titel' is missing (columns: Publication Number, Title,",
    "name one of these in the map, or set optional = true",
    columns="[fields]\npublication_number = 'Publication Number'\ntitle = 'Titel'\n",
)

group("Several tables")
case(
    "two files that share publications",
    files(text([HEADER, *ROWS[:2]], "a.csv"), text([HEADER, *ROWS[1:]], "b.csv")),
    "the publication number is in an input that was imported before",
    cited=[*PLAIN["cited"], PLAIN["cited"][2]],
)
case(
    "labels in a second table",
    files(text([HEADER, *ROWS], "a.csv"), text(table("Publication Number,Topic", [NUMBERS[0], "Energy"]), "b.csv")),
    "fields joined to a publication of an earlier input: US10123456B2: labels",
    labels=[["Energy"], [], []],
)
case(
    "corrected texts under another file name",
    files(
        text([HEADER, *ROWS], "a.csv"),
        text(table("Publication Number,Title", [NUMBERS[0], "Pump, corrected"]), "b.csv"),
    ),
    "the later value is kept: US10123456B2: title",
    title=["Pump, corrected", "Seal", "Rotor"],
)

group("Exports of databases")
EXPORTED = {
    "title": ["Pump"],
    "publication_number": ["US10123456B2"],
    "publication_date": ["2018-11-13"],
    "priority_date": ["2015-01-02"],
    "ipc": [["F04B1/00", "F04B3/00"]],
    "applicants": [["ACME"]],
    "inventors": [["DOE J", "ROE J"]],
}
CITED = ["US10123456B2 US9000001B2"]
BOTH = [*CITED, "US11000000B2 US10123456B2"]


def exported(
    name: str,
    header: str,
    row: Sequence[Any],
    said: str = "",
    above: Rows = (),
    as_text: str = "",
    source: str = "",
    **gives: Any,
) -> None:
    """A case of one row; ``as_text`` is the delimiter of a CSV, without it a workbook is made."""
    rows = [*above, header.split(","), row]
    make = text(rows, "export.csv", delimiter=as_text) if as_text else book(rows, name="export.xlsx")
    wanted = {field: value for field, value in {**EXPORTED, **gives}.items() if value is not None}
    case(name, make, said, source=source, only=wanted)


exported(
    "Derwent Innovation",
    "Publication Number,Title,Title - DWPI,Abstract,Abstract - DWPI Novelty,Claims,Priority Date,Publication Date,Inventor,Optimized Assignee,IPC - Current,"
    "Cited Refs - Patent,DWPI Family Members,INPADOC Family ID",
    ["US10123456B2", "Pump", "Novel pump", "A pump.", "new", "1. A pump.", "2015-01-02 | 2016-01-02", "2018-11-13", "DOE J | ROE J", "ACME", "F04B 1/00 | F04B 3/00", "US9000001B2", "US10123456B2 | EP3456789A1", "57123"],
    "",
    [["Derwent Innovation"], ["Query: ALL=(pump)"], ["2 January 2026"]],
    ",",
    cited=CITED, family_id=["57123"], members=["US10123456B2 EP3456789A1"], novelty=["new"], source="derwent",
)  # fmt: skip
exported(
    "Derwent workbook of families (Basic Patent Number)",
    "Accession Number,Basic Patent Number,Basic Patent Date,Title - DWPI,Abstract - DWPI,Assignee - DWPI,Inventor - DWPI,IPC - Current - DWPI,DWPI Family Members,Priority Date - Earliest",
    ["2018-123456", "US10123456B2", "2018-11-13", "Pump", "A pump.", "ACME", "DOE J | ROE J", "F04B 1/00 | F04B 3/00", "US10123456B2 | EP3456789A1", "2015-01-02"],
    "columns not read: 'Accession Number'",
    members=["US10123456B2 EP3456789A1"], abstract=["A pump."],
)  # fmt: skip
exported(
    "Thomson Innovation (before Derwent Innovation)",
    "Publication Number,Title,Abstract,Assignee/Applicant,Inventor,IPC Class,Publication Date,Priority Date,Count of Cited Refs - Patent,Cited Refs - Patent",
    ["US10123456B2", "Pump", "A pump.", "ACME", "DOE J | ROE J", "F04B 1/00 | F04B 3/00", "2018-11-13", "2015-01-02", "1", "US9000001B2"],
    "columns not read: 'Count of Cited Refs - Patent'", as_text=",", cited=CITED, source="thomson",
)  # fmt: skip
exported(
    "Lens.org",
    "#,Jurisdiction,Kind,Display Key,Lens ID,Publication Date,Application Number,Earliest Priority Date,Title,Abstract,Applicants,Inventors,Cited Patents,Cites Patent Count,"
    "Simple Family Members,CPC Classifications,IPCR Classifications",
    ["1", "US", "B2", "US 10123456 B2", "000-001", "2018-11-13", "US 201615123456 A", "2015-01-02", "Pump", "A pump.", "ACME", "DOE J;;ROE J", "US 9000001 B2", "1", "EP 3456789 A1", "F04B1/00", "F04B 1/00;;F04B 3/00"],
    "columns not read: '#', 'Jurisdiction', 'Lens ID', 'Cites Patent Count'", as_text=",", cited=CITED, members=["US10123456B2 EP3456789A1"], source="lens",
)  # fmt: skip
exported(
    "Espacenet, two numbers in a cell",
    "No,Title,Inventors,Applicants,Publication number,Earliest priority,IPC,CPC,Publication date,Earliest publication,Family number",
    ["1", "Pump", "DOE J\nROE J", "ACME", "US2018123456A1 \nUS10123456B2", "2015-01-02", "F04B 1/00 \nF04B 3/00", "F04B1/00", "2018-05-03 \n2018-11-13", "2018-05-03", "57123"],
    "a further publication number in the cell: read as a member of the family", [["Smart search"], ["1 results"], []], ";",
    publication_number=["US2018123456A1"], publication_date=["2018-05-03"], members=["US2018123456A1 US10123456B2"], family_id=["57123"], source="espacenet",
)  # fmt: skip
exported(
    "WIPO PATENTSCOPE",
    "Application Id,Application Number,Application Date,Country,Title,Abstract,I P C,Applicants,Inventors,Priorities Data,Image",
    ["WO2019123456", "PCT/US2018/065432", "13.12.2018", "WO", "Pump", "A pump.", "F04B 1/00; F04B 3/00", "ACME", "DOE J; ROE J", "62/600,123 02.01.2015 US", ""],
    "priority_date is a date within a text", [["Query: EN_TI:(pump)"], []],
    publication_number=["WO2019123456"], publication_date=[""], source="patentscope",
)  # fmt: skip
exported(
    "Google Patents",
    "id,title,assignee,inventor/author,priority date,filing/creation date,publication date,grant date,result link",
    ["US-10123456-B2", "Pump", "ACME", "DOE J, ROE J", "2015-01-02", "2016-01-02", "2018-11-13", "2018-11-13", "https://patents.google.com/patent/US10123456B2/en"],
    "columns not read: 'grant date', 'result link'", [["search URL:", "https://patents.google.com/?q=pump"]], ",", ipc=None, source="google-patents",
)  # fmt: skip
exported(
    "Google BigQuery as a CSV",
    "publication_number,title_localized,family_id,publication_date,priority_date,inventor,assignee,ipc",
    ["US-10123456-B2", "[{'text': 'Pump', 'language': 'en'}]", "57123", "20181113", "20150102", "['DOE J', 'ROE J']", "['ACME']", "[{'code': 'F04B1/00'}]"],
    as_text=",", ipc=[["F04B1/00"]], family_id=["57123"], source="bigquery",
)  # fmt: skip
exported(
    "Questel Orbit",
    "Publication numbers,Publication dates,Title,Abstract,Claims,Current assignees,Inventors,IPC - International classification,Earliest priority date,Cited patents,Citing patents,Family number (FAN)",
    ["US10123456 B2\nEP3456789 A1", "2018-11-13\n2019-01-02", "(US10123456)\nPump", "(US10123456)\nA pump.", "(US10123456)\n1. A pump.", "ACME", "DOE J\nROE J", "F04B 1/00\nF04B 3/00", "2015-01-02", "US9000001 B2", "US11000000 B2", "57123"],
    "numbers before a text removed", cited=BOTH, members=["US10123456B2 EP3456789A1"], family_id=["57123"], abstract=["A pump."], source="orbit",
)  # fmt: skip
exported(
    "PatSnap",
    "Publication Number,Title,Abstract,Publication Date,Earliest Priority Date,Original Assignee,Inventor,IPC,Simple Family,Cites,Cited By,Count of Cited By",
    ["US10123456B2", "Pump", "A pump.", "2018-11-13", "2015-01-02", "ACME", "DOE J | ROE J", "F04B 1/00 | F04B 3/00", "US10123456B2 | EP3456789A1", "US9000001B2", "US11000000B2", "1"],
    "columns not read: 'Count of Cited By'", cited=BOTH, members=["US10123456B2 EP3456789A1"], source="patsnap",
)  # fmt: skip
exported(
    "PatSnap, Chinese",
    "公开(公告)号,标题,摘要,公开(公告)日,最早优先权日,[标]原始申请(专利权)人,发明人,IPC分类号,简单同族,引用专利,被引用专利",
    ["US10123456B2", "Pump", "A pump.", "2018-11-13", "2015-01-02", "ACME", "DOE J | ROE J", "F04B 1/00 | F04B 3/00", "US10123456B2 | EP3456789A1", "US9000001B2", "US11000000B2"],
    cited=BOTH, members=["US10123456B2 EP3456789A1"], source="patsnap-chinese",
)  # fmt: skip
exported(
    "incoPat",
    "标题 (中文),摘要 (中文),公开（公告）号,公开（公告）日,优先权日,IPC,申请人,发明人,引证专利,被引证专利,简单同族",
    ["Pump", "A pump.", "US10123456B2", "20181113", "20150102", "F04B 1/00; F04B 3/00", "ACME", "DOE J; ROE J", "US9000001B2", "US11000000B2", "EP3456789A1"],
    cited=BOTH, members=["US10123456B2 EP3456789A1"], source="incopat",
)  # fmt: skip
exported(
    "TotalPatent One",
    "Publication Number,Publication Kind,Publication Date,Priority Date,Title (English),Abstract (English),Applicants/Assignees,Inventors,IPC (All),Family Id (Main),Citations - Backward,Citations - Forward",
    ["US10123456", "B2", "20181113", "20150102", "Pump", "A pump.", "ACME", "DOE J;ROE J", "F04B 1/00;F04B 3/00", "57123", "US9000001B2", "US11000000B2"],
    as_text=",", cited=BOTH, family_id=["57123"], source="totalpatent",
)  # fmt: skip
exported(
    "PatBase",
    "Family Number,Publication Number,Title,Abstract,First Claim,Probable Assignees,Inventors,Int Class,Earliest Priority,Cited Refs (Backward)",
    ["57123", "US10123456 B2; EP3456789 A1", "Pump", "A pump.", "1. A pump", "ACME", "DOE J; ROE J", "F04B 1/00; F04B 3/00", "20150102", "US9000001 B2"],
    "a further publication number in the cell: read as a member of the family", as_text=",",
    publication_date=[""], cited=CITED, family_id=["57123"], members=["US10123456B2 EP3456789A1"], source="patbase",
)  # fmt: skip
exported(
    "J-PlatPat",
    "文献番号,出願番号,出願日,公知日,発明の名称,出願人/権利者,FI,要約",
    ["特開2019-123456", "特願2018-001234", "2018/01/09", "2018/11/13", "ポンプ", "ACME", "F04B 1/00,F04B 3/00", "ポンプ。"],
    as_text=",", publication_number=["JP2019123456A"], title=["ポンプ"], inventors=None, priority_date=None, application_number=["JP2018001234"], source="jplatpat",
)  # fmt: skip
exported(
    "DEPATISnet",
    "Treffer,Veröffentlichungsnummer,Anmeldedatum,Veröffentlichungsdatum,Titel,Anmelder/Inhaber,Erfinder,IPC-Hauptklasse",
    ["1", "US000010123456B2", "13.11.2016", "13.11.2018", "[DE] Pump", "ACME", "DOE J; ROE J", "F04B 1/00"],
    "languages before a text removed", as_text=";", ipc=[["F04B1/00"]], priority_date=None, source="depatisnet",
)  # fmt: skip
exported(
    "USPTO Patent Public Search",
    "Result #,Document/Patent number,Display,Title,Inventor name,Publication date,Pages",
    ["1", "US-10123456-B2", "Preview", "Pump", "Doe; John", "2018-11-13", "12"],
    "columns not read: 'Result #', 'Display', 'Pages'", as_text=",", ipc=None, applicants=None, priority_date=None, inventors=[["Doe; John"]], source="uspto-search",
)  # fmt: skip
case(
    "inventors as objects in JSON",
    raw(
        '{"publication_number": "US6103599A", "patent_title": "Wafer", "inventors": [{"name": "Henley; Francois J.", "city": "Los Gatos"}, '
        '{"name": "Cheung; Nathan", "city": "Albany"}]}\n',
        "t.jsonl",
    ),
    only={
        "publication_number": ["US6103599A"],
        "title": ["Wafer"],
        "inventors": [["Henley; Francois J.", "Cheung; Nathan"]],
    },
)
