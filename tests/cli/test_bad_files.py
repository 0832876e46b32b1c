"""Kinds of bad files x sources, through ``patent-mteb data import``: each is one message, a counted reason, or read whole;
nothing is lost.

What cannot happen to a form of file is said where the table says nothing of it.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import pytest
from broken_files import FORMS, SOURCES, Source, zipped
from classes import one_of_each

from patent_mteb import cli
from patent_mteb.patents.records import Patent, read_records
from patent_mteb.readers import records_directory
from patent_mteb.readers.records_directory import read_accounts

NUMBERS = ("8930551", "8930552", "8930553")
WIDEST = 330
"""Characters of a message, its path apart."""


class Expected(NamedTuple):
    """What becomes of a file: the exit status, what is said of it, and how many of its documents are read."""

    status: int
    said: str
    read: int


def stops(said: str) -> Expected:
    return Expected(2, said, 0)


def counted(said: str, read: int) -> Expected:
    return Expected(0, said, read)


def cannot(why: str) -> str:
    return why


WHOLE = Expected(0, "", 3)
Files = dict[str, str | bytes]
Spoil = Callable[[Source], Files]
Outcomes = dict[str, Expected | str]
NO_MARKUP, NO_TABLE, NO_ZIP = (
    cannot("it has no markup"),
    cannot("it is no table"),
    cannot("it is not read out of zip files"),
)
OBJECT = "no JSON object"
UNTOLD = cannot("it does not say its encoding")


def good(source: Source) -> list[str]:
    return [source.document(number) for number in NUMBERS]


def one_file(spoil: Callable[[str], str | bytes]) -> Spoil:
    return lambda source: {source.file: spoil(source.whole(good(source)))}


def second(**fields: str) -> Spoil:
    """The second of three documents has other fields."""

    def spoil(source: Source) -> Files:
        documents = good(source)
        documents[1] = source.document(NUMBERS[1], **fields)
        return {source.file: source.whole(documents)}

    return spoil


def encoded(name: str, declared: str) -> Spoil:
    def spoil(source: Source) -> Files:
        (text,) = second(title="Pompe à eau")(source).values()
        assert isinstance(text, str)
        return {source.file: text.replace('encoding="UTF-8"', f'encoding="{declared}"').encode(name)}

    return spoil


def packed(make: Callable[[str, str], bytes], suffix: str) -> Spoil:
    return lambda source: {source.file + suffix: make(source.file, source.whole(good(source)))}


def of_a_later_format(name: str, text: str) -> bytes:
    content = bytearray(zipped([(name, text)]))
    content[content.index(b"PK\1\2") + 6] = 90
    return bytes(content)


def damaged_member(name: str, text: str) -> bytes:
    content = bytearray(zipped([(f"whole-{name}", text), (name, text)]))
    content[content.index(name.encode(), 60 + len(name)) + len(name) + 40] ^= 0xFF
    return bytes(content)


def cut(source: Source) -> Files:
    last = source.document(NUMBERS[2])
    return {
        source.file: source.whole(good(source)).partition(last[: len(last) // 3 * 2])[0] + last[: len(last) // 3 * 2]
    }


def one_cell_more(source: Source) -> Files:
    *before, last = good(source)
    return {source.file: source.whole([*before, last.rstrip() + ("\tx\n" if "\t" in last else ",x\n")])}


def nested(source: Source) -> Files:
    if source.form == "json":
        return {source.file: "".join((*good(source)[:2], "[" * 99_999, "\n"))}
    return second(title="<a>" * 9000)(source)


def all_forms(expected: Expected, **others: Expected | str) -> Outcomes:
    return {form: others.get(form, expected) for form in FORMS}


BOMB = '<!DOCTYPE g [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
IN_ZIP = "no reader recognises the content of this zip file"
OF_FILES: dict[str, tuple[Spoil, Outcomes]] = {
    "an empty file": (one_file(lambda text: ""), all_forms(stops("the file is empty"))),
    "zeros only": (one_file(lambda text: b"\0" * 100), all_forms(stops("zero bytes where data should be"))),
    "a web page": (one_file(lambda text: "<!DOCTYPE html><html>503</html>"), all_forms(stops("a web page, not data"))),
    "UTF-16": (one_file(lambda text: text.encode("utf-16")), all_forms(stops("UTF-16"), csv=counted("encoding", 3))),
    "a byte order mark": (one_file(lambda text: "\ufeff" + text), all_forms(WHOLE)),
    "a byte order mark between joined files": (
        lambda source: {source.file: "\ufeff".join(map(source.whole, ([one] for one in good(source))))},
        all_forms(WHOLE, csv=cannot("joined tables have two headers"), tables=cannot("joined tables have two headers"),
                  rows=cannot("its files are published in one piece")),
    ),
    "lines that end as on Windows": (one_file(lambda text: text.replace("\n", "\r\n")), all_forms(WHOLE)),
    "the sign that ends a file of DOS": (
        one_file(lambda text: text + "\x1a"),
        all_forms(WHOLE, json=counted(OBJECT, 3), csv=counted("no publication number", 3), tables=counted("no publication number", 3),
                  rows=stops("1 columns where EP full text")),
    ),
    "a zero byte in a text": (
        second(title="Pu\0mp"),
        all_forms(counted("not well-formed XML", 2), json=WHOLE, csv=WHOLE, tables=WHOLE, rows=counted("not well-formed XML", 3)),
    ),
    "zeros behind the end": (
        one_file(lambda text: text + "\0" * 50),
        all_forms(counted("zero bytes where text should be", 3), json=counted(OBJECT, 3), csv=counted("no publication number", 3),
                  tables=counted("no publication number", 3), rows=stops("1 columns where EP full text")),
    ),
    "Windows-1252 that says UTF-8": (
        encoded("cp1252", "UTF-8"),
        all_forms(stops("UTF-8"), csv=counted("encoding", 3), xml=counted("not well-formed XML", 2), docdb=counted("not well-formed XML", 2)),
    ),
    "Windows-1252 that says so": (
        encoded("cp1252", "windows-1252"), all_forms(WHOLE, json=UNTOLD, csv=UNTOLD, tables=UNTOLD, rows=UNTOLD),
    ),
    "a file that is cut off": (
        cut,
        all_forms(counted("not well-formed XML", 2), json=counted(OBJECT, 2), csv=cannot("a last row without its last cells is a row"),
                  tables=cannot("a last row without its last cells is a row"), rows=stops("columns where EP full text")),
    ),
    "a zip file that is cut off": (packed(lambda name, text: zipped([(name, text)])[:-30], ".zip"), all_forms(stops("not a complete zip"))),
    "a zip file of a later format": (packed(of_a_later_format, ".zip"), all_forms(stops("unpack it, and name its files"))),
    "a zip file without a file": (packed(lambda name, text: zipped([]), ".zip"), all_forms(stops("a zip file without any file"))),
    "a zip file in a zip file": (
        packed(lambda name, text: zipped([("inner.zip", zipped([(name, text)]))]), ".zip"),
        all_forms(stops(IN_ZIP), tables=stops("the file is compressed (zip)")),
    ),
    "two files of one name in a zip file": (
        packed(lambda name, text: zipped([(name, text)] * 2), ".zip"),
        all_forms(stops(IN_ZIP), xml=counted("the same document once more", 3), docdb=counted("the same document once more", 3),
                  tables=stops("2 files in a zip file")),
    ),
    "a damaged file in a zip file": (
        packed(damaged_member, ".zip"),
        all_forms(counted("the rest of a file in the zip cannot be read", 3), tables=stops("2 files in a zip file"),
                  json=NO_ZIP, csv=NO_ZIP, rows=NO_ZIP),
    ),
    "a gzip file": (
        packed(lambda name, text: gzip.compress(text.encode()), ".gz"),
        all_forms(WHOLE, xml=stops("of this compressed file"), docdb=stops("of this compressed file"), tables=stops("compressed (gzip)")),
    ),
    "a gzip file that is cut off": (
        packed(lambda name, text: gzip.compress(text.encode())[:-10], ".gz"),
        all_forms(stops("the compressed file is incomplete"), tables=stops("compressed (gzip)")),
    ),
    "a name of a gzip file": (packed(lambda name, text: text.encode(), ".gz"), all_forms(stops("not compressed, although its name ends with .gz"))),
    "a directory of its name": (lambda source: {f"{source.file}/{source.file}": source.whole(good(source))}, all_forms(WHOLE)),
    "an entity bomb": (
        one_file(lambda text: text.replace("?>\n", f"?>\n{BOMB}", 1)),
        all_forms(counted("entity bomb", 2), docdb=stops("entity bomb"), json=NO_MARKUP, csv=NO_MARKUP, tables=NO_MARKUP,
                  rows=cannot("its texts have no document type")),
    ),
    "nested beyond all measure": (
        nested,
        all_forms(counted("not well-formed XML", 2), json=counted(OBJECT, 2), csv=NO_MARKUP, tables=NO_MARKUP,
                  rows=counted("not well-formed XML", 3)),
    ),
    "a quote that stays open": (
        lambda source: {source.file: source.whole(good(source)[:2]) + good(source)[2].replace("Pump", '"Pump')},
        all_forms(cannot("quotes mean nothing in it"), csv=stops("row 4: a quote that opens in this row is not closed"),
                  tables=stops("the table cannot be read")),
    ),
    "a table with a missing column": (
        one_file(lambda text: text.replace("publication_number", "whatever").replace("patent_date", "whatever")),
        all_forms(NO_TABLE, csv=counted("columns read", 3), tables=stops("column 'patent_date' is missing"),
                  rows=cannot("its columns have no names")),
    ),
    "a row with a cell too many": (
        one_cell_more,
        all_forms(NO_TABLE, csv=counted("the row has more cells than the header", 2), tables=stops("the table cannot be read"),
                  rows=cannot("what stands behind the sixth tab is the text")),
    ),
    "no line ends": (
        one_file(lambda text: text.replace("\n", "")),
        all_forms(WHOLE, json=stops(OBJECT), csv=stops("the file has no rows"), tables=stops("column 'withdrawn' is missing"),
                  rows=cannot("one row whose text goes on")),
    ),
}  # fmt: skip
ONE_OF = {SOURCES[name].form: name for name in ("uspto", "ops", "lens-json", "table", "patentsview", "epo-tsv")}
CELLS = [
    (kind, form)
    for kind, (_, outcomes) in OF_FILES.items()
    for form in sorted(FORMS)
    if isinstance(outcomes[form], Expected)
]


def run(tmp_path, capsys, files: Files, source: Source) -> tuple[int, str, int, dict[str, int]]:
    """Import the one file: the exit status, the message, the records read, and how often what was said of the rest."""
    for name, content in files.items():
        (path := tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    place = tmp_path / "in" / next(iter(files)).partition("/")[0]
    status = cli.main(["data", "import", str(place), "--out", str(tmp_path / "out"), "--workers", "1"])
    message = capsys.readouterr().err.replace(str(tmp_path), "")
    accounts = read_accounts(tmp_path / "out").values()
    said = {
        what: tally.count
        for one in accounts
        for tallies in (one.left_out, one.notes)
        for what, tally in tallies.items()
    }
    return status, message, sum(one.records[source.kind] for one in accounts), said


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "form"), one_of_each(CELLS, lambda cell: (cell[0], OF_FILES[cell[0]][1][cell[1]])))
def test_a_bad_file_is_one_message_or_a_counted_reason(tmp_path, capsys, kind, form):
    spoil, outcomes = OF_FILES[kind]
    expected, source = outcomes[form], SOURCES[ONE_OF[form]]
    assert isinstance(expected, Expected)
    status, message, read, said = run(tmp_path, capsys, spoil(source), source)
    assert status == expected.status, (message, said)
    if status:
        assert expected.said in message and message.count("Remedy") == 1 and message.count("\n") == 1, message
        assert len(message) < WIDEST and "Traceback" not in message
        return
    assert message == ""
    assert read == expected.read, said
    shown = {what: count for what, count in said.items() if expected.said in what} if expected.said else {}
    assert bool(shown) == bool(expected.said), said
    assert read >= 3 or kind == "no line ends" or read + sum(shown.values()) == 3, "each document is read or counted"


def twice(**fields: str) -> Spoil:
    """The first document stands there once more at the end, with other fields perhaps."""
    return lambda source: {source.file: source.whole([*good(source)[:2], source.document(NUMBERS[0], **fields)])}


def of_all(expected: Expected, **others: Expected) -> dict[str, Expected]:
    return {name: others.get(name.replace("-", "_"), expected) for name in SOURCES}


LATER = counted("the publication number is in an input that was imported before", 2)
IN_ROW = counted("the publication is in an earlier row", 2)
BOTH = WHOLE
"""Citations are joined by a build, which knows all of them."""
NO_DAY, NO_DATE = counted("publication_date has no day", 3), counted("publication_date cannot be read", 3)
OF_DOCUMENTS: dict[str, tuple[Spoil, dict[str, Expected]]] = {
    "without a number": (
        lambda source: {source.file: source.whole([good(source)[0], source.document(""), good(source)[2]])},
        of_all(counted("no publication number", 2), uspto_citations=counted("no application number", 2)),
    ),
    "a document twice": (
        twice(),
        of_all(counted("the same document once more", 2), table=IN_ROW, patentsview=LATER, patstat_tables=LATER, uspto_citations=BOTH,
               bigquery=IN_ROW),
    ),
    "two documents of one number": (
        twice(title="US7000002B2"),
        of_all(counted("another document of a number that was read before", 2), table=IN_ROW, patentsview=LATER, patstat_tables=LATER,
               uspto_citations=BOTH, bigquery=IN_ROW),
    ),
    "a day 00": (second(date="20150100"), of_all(WHOLE, table=NO_DAY, bigquery=NO_DAY)),
    "a day that is none": (second(date="20150132"), of_all(counted("a date that cannot be read", 3), table=NO_DATE, bigquery=NO_DATE)),
}  # fmt: skip


def read_alike(cell):
    """Each source finds numbers and dates by itself; what is there twice is found behind the sources."""
    kind, name = cell
    return kind, name if kind in ("without a number", "a day that is none") else OF_DOCUMENTS[kind][1][name]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), one_of_each(product(OF_DOCUMENTS, SOURCES), read_alike))
def test_a_bad_document_is_counted(tmp_path, capsys, kind, name):
    spoil, outcomes = OF_DOCUMENTS[kind]
    expected, source = outcomes[name], SOURCES[name]
    status, message, read, said = run(tmp_path, capsys, spoil(source), source)
    assert (status, message, read) == (0, "", expected.read), said
    shown = sum(count for what, count in said.items() if expected.said and expected.said in what)
    assert shown == bool(expected.said), said
    if kind == "a day 00" and source.kind == "patents":
        assert {str(one.publication_date) for one in read_records(tmp_path / "out" / "patents", Patent)} == {
            "2015-01-06",
            "2015-01-01",
        }


ANSWER = """<ops:world-patent-data xmlns:ops="http://ops.epo.org"><ftxt:fulltext-documents xmlns="http://www.epo.org/fulltext"
 xmlns:ftxt="http://www.epo.org/fulltext"><ftxt:fulltext-document><bibliographic-data>
<publication-reference data-format="docdb"><document-id><country>EP</country><doc-number>1000000</doc-number><kind>A1</kind></document-id>
</publication-reference></bibliographic-data><claims lang="RU"><claim>
<claim-text>Насос с ротором. Насос по п. 1.</claim-text></claim></claims></ftxt:fulltext-document></ftxt:fulltext-documents></ops:world-patent-data>"""


def test_what_is_known_and_not_read_is_named(tmp_path, capsys):
    status, _, read, said = run(tmp_path, capsys, {"claims.xml": ANSWER}, SOURCES["ops"])
    assert (status, read, said) == (0, 1, {"claims that could not be split (ru): one text without a first claim": 1})
    status, message, *_ = run(
        tmp_path, capsys, {"pftaps19760106.txt": "HHHHHT APS1 ISSUE - 760106\nPATN\nWKU  039304271\n"}, SOURCES["ops"]
    )
    assert status == 2 and "USPTO text before 2001 (APS), which is not supported" in message


@pytest.mark.parametrize("name", ["uspto", "uspto of 2001", "epo", "lens-json"])
def test_claims_without_numbers_are_numbered_and_counted(tmp_path, capsys, name):
    source = SOURCES[name]
    status, _, read, said = run(tmp_path, capsys, {source.file: source.document(NUMBERS[0], claims=2)}, source)
    assert (status, read, said["a claim without a number, numbered by its position"]) == (0, 1, 2)
    assert [claim.number for claim in next(read_records(tmp_path / "out" / "patents", Patent)).claims] == [1, 2]


def test_files_of_a_directory_that_cannot_be_read_are_reported_and_change_the_exit_status(tmp_path, capsys):
    folder = tmp_path / "in"
    (folder / "week.xml").mkdir(parents=True)
    (folder / "week.xml" / "ipg.xml").write_text("".join(good(SOURCES["uspto"])))
    mixed = [("b/us.xml", "uspto", "8930560"), ("a.xml", "uspto of 2001", "6500001"), ("ep.xml", "epo", "1000001")]
    (folder / "mixed.zip").write_bytes(
        zipped([(name, SOURCES[source].document(serial)) for name, source, serial in mixed])
    )
    (folder / "list.txt").write_text("8930551\n")
    words = ["data", "import", str(folder), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert cli.main(words) == 0
    said = capsys.readouterr().err.replace(f"{folder}/", "")
    assert (
        said.startswith("list.txt: left out, no reader recognises this file (no column looks like")
        and said.count("\n") == 1
    )
    (account,) = [one for one in read_accounts(tmp_path / "out").values() if one.path.endswith("mixed.zip")]
    assert account.records["patents"] == 2 and account.left_out["not a patent document (ep-patent-document)"].count == 1
    (folder / "cut.zip").write_bytes(zipped([("ipg.xml", "x" * 99)])[:-9])
    (folder / "empty.xml").touch()
    (folder / "nowhere.xml").symlink_to("gone.xml")
    (folder / "loop.xml").symlink_to("loop.xml")
    (folder / "above").symlink_to("..")
    os.mkfifo(folder / "pipe.xml")
    assert cli.main(words) == 1
    _, *shown, last = capsys.readouterr().err.replace(f"{folder}/", "").splitlines()
    assert shown == [
        "above: left out, a link to a directory, which is not followed",
        "cut.zip: left out, not a complete zip file (File is not a zip file)",
        "empty.xml: left out, the file is empty",
        "loop.xml: left out, the file cannot be read (Too many levels of symbolic links)",
        "nowhere.xml: left out, the file is missing",
        "pipe.xml: left out, neither a file nor a directory",
    ]
    assert last == "6 of the files could not be read: get them again, and import them again"
    assert len(list(read_records(tmp_path / "out" / "patents", Patent))) == 5


def test_a_file_that_grows_while_it_is_read_is_not_imported(tmp_path, capsys, monkeypatch):
    source = SOURCES["uspto"]
    (path := tmp_path / "ipg.xml").write_text("".join(good(source)[:2]))
    write = records_directory.PartWriter.write

    def growing(self: records_directory.PartWriter, record: object) -> None:
        write(self, record)
        with path.open("a") as out:
            out.write(good(source)[2])

    words = ["data", "import", str(path), "--out", str(tmp_path / "out"), "--workers", "1"]
    with monkeypatch.context() as patch:
        patch.setattr(records_directory.PartWriter, "write", growing)
        assert cli.main(words) == 2
    assert (
        "ipg.xml: the file changed while it was read. Remedy: import it again when it is complete"
        in capsys.readouterr().err
    )
    assert not list((tmp_path / "out").rglob("*.parquet"))
    assert cli.main(words) == 0
    assert len(list(read_records(tmp_path / "out" / "patents", Patent))) == 3


def test_a_file_that_goes_while_it_is_read_is_one_message(tmp_path, capsys, monkeypatch):
    (path := tmp_path / "ipg.xml").write_text("".join(good(SOURCES["uspto"])[:2]))
    write = records_directory.PartWriter.write

    def going(self: records_directory.PartWriter, record: object) -> None:
        write(self, record)
        path.unlink(missing_ok=True)

    monkeypatch.setattr(records_directory.PartWriter, "write", going)
    assert cli.main(["data", "import", str(path), "--out", str(tmp_path / "out"), "--workers", "1"]) == 2
    assert "ipg.xml: the file is missing" in capsys.readouterr().err
    assert not list((tmp_path / "out").rglob("*.parquet"))
