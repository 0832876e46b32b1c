"""Tables read with column maps: those of PATSTAT, one of a user, and files that are not tables."""

import csv
import json
from pathlib import Path

import pytest

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Claim, Label, Patent, Relation, read_records
from patent_mteb.readers import READERS, Note, Skipped, reader_named, recognise
from patent_mteb.readers.columns import parse_map
from patent_mteb.readers.records_directory import read_accounts
from patent_mteb.readers.tables import SHIPPED, read_table

PATSTAT = (
    "publn_auth,publn_nr,publn_kind,publn_date,appln_auth,appln_nr,docdb_family_id,appln_title,appln_title_lg,"
    "appln_filing_date,earliest_filing_date,ipc_class_symbol\n"
    "EP,1000000,A1,2000-05-17,EP,99203729,19768124,Apparatus,en,9999-12-31,1998-11-10,B28B   1/29;B28B   5/02\n"
    "EP,1000001,A1,2000-05-17,EP,99203729,0,Apparatus,en,9999-12-31,1998-11-10,\n"
)


def read(path, source=""):
    reader = reader_named(source) if source else recognise(path)
    found = list(reader.read(path))
    by_kind = {
        kind: [one for one in found if isinstance(one, kind)] for kind in (Patent, Citation, Relation, Skipped, Note)
    }
    return reader.name, by_kind


def test_patstat(tmp_path):
    (tmp_path / "p.csv").write_text(PATSTAT)
    name, found = read(tmp_path / "p.csv")
    assert name == "patstat"
    one, other = found[Patent]
    numbers = (one.publication_number, one.family_id, one.application_number, one.languages.title)
    assert numbers == ("EP1000000A1", "19768124", "EP99203729", "en")
    assert (one.application_date, str(one.priority_date)) == (None, "1998-11-10")
    assert one.ipc == ("B28B1/29", "B28B5/02")
    assert other.family_id == "EP1000001A1", "0 is none"
    citations = (
        "publn_auth,publn_nr,publn_kind,cited_publn_auth,cited_publn_nr,cited_publn_kind,citn_categ,citn_origin,relevant_claim,"
        "citn_gener_auth\n"
        "EP,1000000,A1,US,4218478,A,XY,SEA,1-3,EP\nEP,1000000,A1,,,0,A,APP,,EP\n"
    )
    (tmp_path / "c.csv").write_text(citations)
    name, found = read(tmp_path / "c.csv")
    assert name == "patstat-citations"
    assert found[Citation] == [
        Citation("EP1000000A1", "US4218478A", "XY", "examiner", (1, 2, 3), phase="search", office="EP")
    ]
    assert found[Skipped] == [Skipped("EP1000000A1", "row 3", "no citing or no cited number")]


MAP = """
name = "acme"
[fields]
publication_number = { column = "Acme No.", office = "US" }
title = ["Title (EN)", "Title"]
claims = "Claims"
publication_date = { column = "Pub", date = "%m/%d/%Y" }
keywords = { column = "Words", separator = "+" }
[citations]
cited = "Cites"
category = "Letters"
[[labels]]
landscape = { constant = "Topics" }
coarse = "Topic"
fine = "Detail"
"""
ROWS = (
    "Acme No.\tTitle\tTitle (EN)\tClaims\tPub\tWords\tCites\tLetters\tTopic\tDetail\n"
    "7,650,331\tPumpe\tPump\t['A pump.', 'The pump of claim 1.']\t01/19/2010\tseal + valve"
    "\tUS 2007/0140112 A1|EP0680812\tX|A\tFlow;Heat\tSlow;Warm\n"
    "D0982278\tLamp\t\t\t2010-01-19\t\tunpublished\tX|A\tLight\t\n"
)


def test_a_map_of_ones_own(tmp_path):
    (tmp_path / "acme.toml").write_text(MAP)
    (tmp_path / "acme.csv").write_text(ROWS)
    _, found = read(tmp_path / "acme.csv", str(tmp_path / "acme.toml"))
    one, other = found[Patent]
    got = (one.publication_number, one.title, str(one.publication_date), one.keywords)
    assert got == ("US7650331", "Pump", "2010-01-19", ("seal", "valve"))
    assert one.claims == (Claim(1, "A pump."), Claim(2, "The pump of claim 1.", (1,)))
    assert one.labels == (Label("Topics", "Flow", "Slow"), Label("Topics", "Heat", "Warm"))
    assert (other.title, other.publication_date, other.labels) == ("Lamp", None, (Label("Topics", "Light"),))
    assert [(edge.cited, edge.category) for edge in found[Citation]] == [
        ("US2007140112A1", "X"),
        ("EP0680812", "A"),
        ("unpublished", ""),
    ]
    said = {note.what: note.example for note in found[Note]}
    assert (
        said["publication_date cannot be read: left empty"] == "row 3: '2010-01-19' is not a date of the form %m/%d/%Y"
    )
    assert (
        said["a number cannot be read: stored as written (a map can set the office of numbers without one)"]
        == "row 3: unpublished"
    )
    assert said["category and cited numbers differ in length: category left empty"] == "row 3: 2 for 1"
    assert [note.count for note in found[Note] if note.what.startswith("no family is given")] == [1, 1]


def test_a_column_can_be_optional(tmp_path):
    (tmp_path / "acme.csv").write_text(ROWS.partition("\n")[0].replace("Cites", "Cited"))
    text = MAP.replace('cited = "Cites"', 'cited = { column = "Cites", optional = true }')
    notes = list(read_table(tmp_path / "acme.csv", parse_map(text, tmp_path / "m.toml")))
    assert [(note.what, note.example) for note in notes] == [
        ("columns of the map that are missing", "'Cites'"),
        ("columns not read", "'Cited'"),
    ]


def test_another_map_reads_the_file_again(tmp_path):
    (tmp_path / "t.csv").write_text("No,A,B\nUS7000001B2,first,second\n")
    root = tmp_path / "root"
    for title in ("A", "B"):
        (tmp_path / "m.toml").write_text(f"[fields]\npublication_number = 'No'\ntitle = '{title}'\n")
        assert cli.main(f"data import --map {tmp_path}/m.toml {tmp_path}/t.csv --out {root}".split()) == 0
    assert [one.title for one in read_records(root / "patents", Patent)] == ["second"]
    assert len(read_accounts(root)) == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.xml", b"<a/>", "the file is not a table"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "an old workbook"),
        ("t.parquet", b"PAR1nothing", "not a readable parquet file"),
        ("t.xlsx", b"PK\x03\x04nothing", "the file is not a table"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused_with_its_name(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said) as error:
        list(read_table(tmp_path / name, parse_map("[fields]\npublication_number = 'No'\n", tmp_path / "m.toml")))
    assert error.value.path == tmp_path / name
    assert recognise(tmp_path / name) is None


def test_every_shipped_map_is_a_reader_and_says_what_it_reads():
    assert [*SHIPPED, "table"] == [name for name in READERS if name in {*SHIPPED, "table"}]
    assert all(reader.what for reader in READERS.values())


def test_the_page_of_sources_names_each():
    page = (Path(__file__).parents[2] / "docs" / "readers.md").read_text("utf-8")
    ours = READERS.keys() - {*SHIPPED, "table"}
    assert {name for name in ours if f"| `{name}` |" not in page} == set()


def in_table(tmp_path, *rows):
    """The records and relations of a table."""
    with (tmp_path / "export.csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(rows)
    _, found = read(tmp_path / "export.csv")
    return found[Patent], found[Relation]


@pytest.mark.parametrize(
    "codes, expected",
    [
        (["G06F16/90,330@A", "F04B1/00@B,F16K1/00C", "F16K3/02"], ["G06F16/90", "F04B1/00 F16K1/00", "F16K3/02"]),
        (["A61K003150 | G06K000701", "G06K0019073", "F04B-001/00"], ["A61K31/50 G06K7/01", "G06K19/073", "F04B1/00"]),
        (["A61K 31/505 (Pyrimidines)", "F16K - Valves", "F04B 1/00"], ["A61K31/505", "F16K", "F04B1/00"]),
        (["B04; D16", "X22", "Q56"], ["", "", ""]),  # Derwent's own classes
    ],
    ids=["FI", "Derwent", "with titles", "classes of Derwent"],
)
def test_class_codes_are_known_by_their_values(codes, expected, tmp_path):
    rows = [[f"US1000000{n}B2", "Pump", code] for n, code in enumerate(codes)]
    patents, _ = in_table(tmp_path, ["Publication Number", "Title", "Codes"], *rows)
    assert [" ".join(one.ipc) for one in patents] == expected


@pytest.mark.parametrize("number, title", [("patent_id", "patent_title"), ("number", "title")])
def test_first_and_last_names_are_joined_behind_organisations(number, title, tmp_path):
    owner, inventor = "disambig_assignee_individual_name", "disambig_inventor_name"
    patents, _ = in_table(
        tmp_path,
        [number, title, "disambig_assignee_organization"]
        + [f"{name}_{which}" for name in (owner, inventor) for which in ("first", "last")],
        ["US9000001B2", "Pump", "ACME", "", "", "Ann", "Lee"],
        ["US9000001B2", "Pump", "ACME", "", "", "Bo", "Ray"],
        ["US9000002B2", "Rotor", "", "Jo", "Doe", "Jo", "Doe"],
    )
    assert [(one.applicants, one.inventors) for one in patents] == [
        (("ACME",), ("Ann Lee", "Bo Ray")),
        (("Jo Doe",), ("Jo Doe",)),
    ]


def test_the_publications_of_a_family_in_orbit_are_the_record_and_its_members(tmp_path):
    patents, relations = in_table(
        tmp_path,
        ["Title", "Family publication details"],
        ["Pump", "US10123456 B2 2018-11-13 [US10123456]\nEP3000000 A1 2017-03-01 [EP3000000]"],
        ["Rotor", "CN107823639 A  2018-03-23 [CN107823639]"],
    )
    assert [one.publication_number for one in patents] == ["US10123456B2", "CN107823639A"]
    assert relations == [Relation("US10123456B2", "EP3000000A1", "member")]


def test_a_list_of_web_addresses_is_a_list_of_patents(tmp_path):
    (tmp_path / "list.txt").write_text(
        "https://patents.google.com/patent/US9000001B2/en\nhttps://www.freepatentsonline.com/EP1000000A1.html\n"
    )
    _, found = read(tmp_path / "list.txt")
    assert [one.publication_number for one in found[Patent]] == ["US9000001B2", "EP1000000A1"]


def test_ids_of_lens_name_the_family_and_are_not_numbers(tmp_path):
    ids = "100-200-300-400-50X;;100-200-300-400-501"
    patents, relations = in_table(
        tmp_path,
        ["Lens ID", "Display Key", "Title", "Simple Family Members"],
        ["100-200-300-400-50X", "US 2013/0100000 A1", "Pump", ids],
        ["100-200-300-400-501", "EP 2000000 B1", "Pumpe", ids],
    )
    assert {one.family_id for one in patents} == {"100-200-300-400-501"}
    assert relations == []


def test_a_kind_code_in_its_own_column_belongs_to_the_number_of_the_row(tmp_path):
    """An answer of a search in OPS, stored with its number in parts and in one member."""
    (path := tmp_path / "search.json").write_text(
        json.dumps(
            [
                {
                    "country": number[:2],
                    "doc_number": number[2:9],
                    "kind": number[9:],
                    "docdb_number": number,
                    "family_id": "7",
                }
                for number in ("PL3398771T3", "US9984624B1", "EP3000000A1")
            ]
        )
    )
    items = list(recognise(path).read(path))
    assert [one.publication_number for one in items if isinstance(one, Patent)] == [
        "PL3398771T3",
        "US9984624B1",
        "EP3000000A1",
    ]
    assert not [one for one in items if isinstance(one, Relation)]
