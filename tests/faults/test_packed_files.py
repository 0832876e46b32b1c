"""Compressed files that unpack to far too much, and workbooks that cannot be parsed: one clear message."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile

import openpyxl
import pytest

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.files import LARGEST_RATIO, SMALL_MEMBER, text_lines
from patent_mteb.readers.answers import first_objects, read_json_documents
from patent_mteb.readers.sheets import open_sheet
from patent_mteb.readers.zipped import scan_zipped

MESSAGE = rf"unpacks to more than {LARGEST_RATIO} times its size: a (gzip|zip) bomb\? Remedy: "
BOMB = SMALL_MEMBER * 8


def packed(content: bytes, times: int) -> bytes:
    """The gzip of a content many times over, without having it in memory."""
    with gzip.GzipFile(fileobj=(stream := io.BytesIO()), mode="wb") as out:
        for _ in range(times):
            out.write(content)
    return stream.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("line", [b"x" * (1 << 20), b"x" * (1 << 16) + b"\n"], ids=["one line", "many lines"])
@pytest.mark.parametrize("read", [text_lines, lambda path: read_json_documents(path, lambda document, place: ())])
def test_a_gzip_bomb_ends_where_it_is_one(tmp_path, line, read):
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(packed(line, BOMB // len(line)))
    tracemalloc.start()
    with pytest.raises(DataError, match=f"bomb.jsonl.gz: it {MESSAGE}"):
        list(read(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < BOMB / 2


def test_small_and_ordinary_gzip_files_are_read(tmp_path):
    path = tmp_path / "small.txt.gz"
    path.write_bytes(packed(b"x" * 1023 + b"\n", SMALL_MEMBER // 1024))
    assert path.stat().st_size * LARGEST_RATIO < SMALL_MEMBER
    assert sum(len(line) + 1 for _, line in text_lines(path)) == SMALL_MEMBER
    path.write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert first_objects(path) == ({"a": 1},)


@pytest.mark.slow
def test_import_says_it_in_one_line(tmp_path, capsys):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"No,Title\n") + packed(b"US1A," + b"x" * 65530 + b"\n", BOMB // 65536))
    (tmp_path / "m.toml").write_text("[fields]\npublication_number = 'No'\n")
    assert (
        cli.main(["data", "import", "--map", str(tmp_path / "m.toml"), str(path), "--out", str(tmp_path / "root")]) != 0
    )
    said = " ".join(capsys.readouterr().err.split())
    assert "a gzip bomb?" in said and "Traceback" not in said and "please report it" not in said


def test_a_table_in_a_zip_bomb_is_refused(tmp_path):
    path = tmp_path / "g_patent.tsv.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("g_patent.tsv", b"no\ttitle\n" + b"1\tx\n" * (SMALL_MEMBER // 4))
    with pytest.raises(DataError, match=MESSAGE):
        scan_zipped(path, "\t")


def workbook(path, part, change):
    """A workbook with one part changed."""
    book = openpyxl.Workbook()
    book.active.append(["publication_number", "title"])
    book.active.append(["US1A", "Pump"])
    book.save(whole := io.BytesIO())
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name in archive.namelist():
            out.writestr(name, change(archive.read(name)) if name == part else archive.read(name))


def with_entities(content: bytes) -> bytes:
    """A document type whose entity grows to a gigabyte, used in the text."""
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    declared = f'<!DOCTYPE x [<!ENTITY e0 "{"a" * 10}">{levels}]>'.encode()
    end = content.find(b"?>") + 2 if content.startswith(b"<?xml") else 0
    used = content[end:].replace(b"US1A", b"&e8;").replace(b"Pump", b"&e8;").replace(b"Sheet", b"&e8;")
    return content[:end] + declared + used


def with_external(content: bytes) -> bytes:
    declared = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
    return declared + content.partition(b"?>")[2].replace(b"US1A", b"&e;")


PARTS = ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml", "[Content_Types].xml"]
CHANGES = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "not XML": lambda content: b"\0" * 99,
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_workbook_is_refused(tmp_path, part, change):
    workbook(path := tmp_path / "list.xlsx", part, CHANGES[change])
    with pytest.raises(DataError, match=r"list.xlsx: not a readable workbook \(.+\). Remedy: save it again as .xlsx"):
        list(open_sheet(path, lambda name: name == "title").rows)


@pytest.mark.parametrize("change", [with_entities, with_external])
@pytest.mark.parametrize("part", PARTS[:2])
def test_a_document_type_in_a_workbook_is_read_as_nothing_or_refused(tmp_path, part, change):
    workbook(path := tmp_path / "list.xlsx", part, change)
    try:
        rows = list(open_sheet(path, lambda name: name == "title").rows)
    except DataError as error:
        assert "not a readable workbook" in str(error)
    else:
        assert len(str(rows)) < 1000 and "US1A" in str(rows)
