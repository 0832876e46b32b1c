"""Tables read with column maps: the sample in the form of each source, and reports of unusual values."""

import csv
import gzip
import json

import polars as pl
import pytest

from patent_mteb import cli, sample
from patent_mteb.errors import DataError
from patent_mteb.patents.claims import claims_text
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Citation, Claim, Label, Patent, Relation, read_records
from patent_mteb.readers import READERS, Note, Skipped, reader_named, recognise
from patent_mteb.readers.columns import parse_map
from patent_mteb.readers.records_directory import read_accounts
from patent_mteb.readers.tables import SHIPPED, read_table

HEADERS = {
    "derwent": (
        "Publication Number,Title,Title - DWPI,Abstract,Abstract - DWPI Novelty,Abstract - DWPI Use,Claims,Priority"
        " Date,Publication Date,Inventor,Optimized Assignee,IPC - Current,Cited Refs - Patent,DWPI Family Members,Count"
        " of Cited Refs - Patent"
    ),
    "lens": (
        "#,Jurisdiction,Kind,Display Key,Lens ID,Publication Date,Application Number,Application Date,Earliest Priority"
        " Date,Title,Abstract,Applicants,Inventors,Cites Patent Count,Cited Patents,Simple Family Members,CPC"
        " Classifications,IPCR Classifications"
    ),
    "patentscope": (
        "Application Id,Application Number,Application Date,Publication Date,Country,Title,Abstract,I P"
        " C,Applicants,Inventors"
    ),
    "patstat": (
        "publn_auth,publn_nr,publn_kind,publn_date,appln_auth,appln_nr,docdb_family_id,appln_title,appln_title_lg,appln_abstract,"
        "appln_abstract_lg,appln_filing_date,earliest_filing_date,ipc_class_symbol"
    ),
}


@pytest.fixture(scope="module")
def world():
    """Publications of the sample, and the publications that each cites, in the normal form of numbers."""
    patents, citations = sample.load()
    patents = [patent for patent in patents if patent.publication_number[:2] in ("EP", "WO")][:40]
    cites = {patent.publication_number: set() for patent in patents}
    for one in citations:
        if one.citing in cites:
            cites[one.citing].add(read_number(one.cited).docdb)
    assert sum(map(len, cites.values())) == 40
    return patents, {number: sorted(cited) for number, cited in cites.items()}


def write_csv(path, header, rows, above=(), delimiter=","):
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerows([*above, header.split(",")])
        writer.writerows([row.get(name, "") for name in header.split(",")] for row in rows)
    return path


def read(path, source=""):
    reader = reader_named(source) if source else recognise(path)
    found = list(reader.read(path))
    by_kind = {
        kind: [one for one in found if isinstance(one, kind)] for kind in (Patent, Citation, Relation, Skipped, Note)
    }
    return reader.name, by_kind


def iso(date):
    return date.isoformat() if date else ""


def same_texts(found, patents, *fields):
    assert [one.publication_number for one in found] == [one.publication_number for one in patents]
    for field in fields:
        assert [getattr(one, field) for one in found] == [getattr(one, field) for one in patents], field


def test_derwent(world, tmp_path):
    patents, cites = world
    rows = [
        {
            "Publication Number": one.publication_number,
            "Title": one.title,
            "Title - DWPI": "Novel " + one.title,
            "Abstract": one.abstract,
            "Abstract - DWPI Novelty": one.expert.novelty,
            "Abstract - DWPI Use": one.expert.use,
            "Claims": claims_text(one.claims),
            "Publication Date": iso(one.publication_date),
            "Inventor": " | ".join(one.inventors),
            "Optimized Assignee": "NA",
            "IPC - Current": " | ".join(one.ipc),
            "Cited Refs - Patent": " | ".join(cites[one.publication_number]),
            "Count of Cited Refs - Patent": len(cites[one.publication_number]),
            "DWPI Family Members": " | ".join(
                other.publication_number for other in patents if other.family_id == one.family_id
            ),
        }
        for one in patents
    ]
    above = [["Derwent Innovation"], ["Query: ALL=(walking)"], ["2 January 2026"]]
    name, found = read(write_csv(tmp_path / "export.csv", HEADERS["derwent"], rows, above))
    assert name == "derwent"
    same_texts(found[Patent], patents, "title", "abstract", "publication_date", "inventors", "ipc", "claims")
    assert [one.expert.novelty for one in found[Patent]] == [one.expert.novelty for one in patents]
    assert {one.expert.title[:6] for one in found[Patent]} == {"Novel "}
    assert all(one.applicants == () and one.source == "derwent" for one in found[Patent])
    assert [(one.citing, one.cited) for one in found[Citation]] == [
        (one.publication_number, cited) for one in patents for cited in cites[one.publication_number]
    ]
    groups = {
        frozenset(other.publication_number for other in patents if other.family_id == one.family_id) for one in patents
    }
    assert len({one.family_id for one in found[Patent]}) == len(groups)
    assert len(found[Relation]) == sum(len(group) * (len(group) - 1) for group in groups)
    unread = next(one for one in found[Note] if one.what == "columns not read")
    assert unread.example == "'Count of Cited Refs - Patent'"


def test_lens(world, tmp_path):
    patents, cites = world
    rows = [
        {
            "Display Key": f"{one.publication_number[:2]} {one.publication_number[2:-2]} {one.publication_number[-2:]}",
            "Lens ID": f"000-000-{number:03}",
            "Publication Date": iso(one.publication_date),
            "Title": one.title,
            "Abstract": one.abstract,
            "Inventors": ";;".join(one.inventors),
            "IPCR Classifications": ";;".join(one.ipc),
            "Cited Patents": ";;".join(cites[one.publication_number]),
        }
        for number, one in enumerate(patents)
    ]
    name, found = read(write_csv(tmp_path / "lens-export.csv", HEADERS["lens"], rows))
    assert name == "lens"
    same_texts(found[Patent], patents, "title", "abstract", "publication_date", "inventors", "ipc")
    assert len(found[Citation]) == sum(map(len, cites.values()))
    assert sum(one.count for one in found[Note] if one.what.startswith("no family is given")) == len(patents)


def test_bigquery_as_parquet_and_as_json_lines(world, tmp_path):
    patents, cites = world
    rows = [
        {
            "publication_number": (
                f"{one.publication_number[:2]}-{one.publication_number[2:-2]}-{one.publication_number[-2:]}"
            ),
            "family_id": str(number),
            "title_localized": [{"text": "Titel", "language": "de"}, {"text": one.title, "language": "en"}],
            "abstract_localized": [{"text": one.abstract, "language": "en"}],
            "claims_localized": [{"text": claims_text(one.claims, "\n"), "language": "en"}],
            "description_localized": [{"text": "BACKGROUND\nPumps leak.\nSUMMARY\nOurs does not.", "language": "en"}],
            "publication_date": int(one.publication_date.strftime("%Y%m%d")),
            "priority_date": 0,
            "ipc": [{"code": code, "first": True} for code in one.ipc],
            "inventor_harmonized": [{"name": name, "country_code": "US"} for name in one.inventors],
            "citation": [
                *(
                    {"publication_number": cited, "type": "X", "category": "SEA", "npl_text": ""}
                    for cited in cites[one.publication_number]
                ),
                {"publication_number": "", "type": "", "category": "APP", "npl_text": "A book"},
            ],
        }
        for number, one in enumerate(patents)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "bq.parquet")
    with gzip.open(tmp_path / "bq.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(
            json.dumps({key: str(value) if isinstance(value, int) else value for key, value in row.items()}) + "\n"
            for row in rows
        )
    name, found = read(tmp_path / "bq.parquet")
    assert name == "bigquery"
    same_texts(found[Patent], patents, "title", "abstract", "publication_date", "inventors", "ipc", "claims")
    assert all(
        one.priority_date is None and one.languages.title == "en" and one.translations[0].title == "Titel"
        for one in found[Patent]
    )
    assert found[Patent][0].description.summary == "SUMMARY\nOurs does not."
    expected = [
        Citation(one.publication_number, cited, "X", "examiner", phase="SEA")
        for one in patents
        for cited in cites[one.publication_number]
    ]
    assert found[Citation] == expected
    assert read(tmp_path / "bq.jsonl.gz")[1] == found


def test_patstat(tmp_path):
    row = {
        "publn_auth": "EP",
        "publn_nr": "1000000",
        "publn_kind": "A1",
        "publn_date": "2000-05-17",
        "appln_auth": "EP",
        "appln_nr": "99203729",
        "docdb_family_id": 19768124,
        "appln_title": "Apparatus",
        "appln_title_lg": "en",
        "appln_abstract": "",
        "appln_filing_date": "9999-12-31",
        "earliest_filing_date": "1998-11-10",
        "ipc_class_symbol": "B28B   1/29;B28B   5/02",
    }
    name, found = read(
        write_csv(tmp_path / "p.csv", HEADERS["patstat"], [row, row | {"publn_nr": "1000001", "docdb_family_id": 0}])
    )
    assert name == "patstat"
    one, other = found[Patent]
    numbers = (one.publication_number, one.family_id, one.application_number, one.languages.title)
    assert numbers == (
        "EP1000000A1",
        "19768124",
        "EP99203729",
        "en",
    )
    assert (one.application_date, str(one.priority_date), one.ipc) == (
        None,
        "1998-11-10",
        ("B28B   1/29", "B28B   5/02"),
    )
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
        Citation("EP1000000A1", "US4218478A", "XY", "examiner", (1, 2, 3), phase="SEA", office="EP")
    ]
    assert found[Skipped] == [Skipped("EP1000000A1", "row 3", "no citing or no cited number")]


def test_patentscope(tmp_path):
    row = {
        "Application Id": "WO2019012345",
        "Title": "Pump",
        "Abstract": "It pumps.",
        "I P C": "F04B 1/00; F04B 3/00",
        "Application Date": "01.02.2019",
    }
    name, found = read(write_csv(tmp_path / "w.csv", HEADERS["patentscope"], [row], [["Results 1-1"], []]))
    assert name == "patentscope"
    one = found[Patent][0]
    assert (one.publication_number, one.ipc, str(one.application_date)) == (
        "WO2019012345",
        ("F04B 1/00", "F04B 3/00"),
        "2019-02-01",
    )


def test_a_workbook_with_lines_above_its_header(world, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    patents, cites = world
    book = openpyxl.Workbook()
    page = book.active
    for line in (
        ["Our list"],
        [],
        ["Patent No", "Title", "Abstract", "Claims", "IPCs", "Published", "Publication Date", "Cites", "Topic"],
    ):
        page.append(line)
    for one in patents:
        page.append(
            [
                one.publication_number,
                one.title,
                one.abstract,
                claims_text(one.claims),
                "; ".join(one.ipc),
                None,
                one.publication_date,
                "; ".join(cites[one.publication_number]),
                "Walking",
            ]
        )
    page.append([None] * 9)
    book.save(tmp_path / "list.xlsx")
    name, found = read(tmp_path / "list.xlsx")
    assert name == "table"
    same_texts(found[Patent], patents, "title", "abstract", "claims", "ipc", "publication_date")
    assert all(one.labels == (Label("Topics", "Walking"),) for one in found[Patent])
    assert len(found[Citation]) == sum(map(len, cites.values()))
    assert not found[Skipped]


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
COLUMNS = "Acme No.,Title,Title (EN),Claims,Pub,Words,Cites,Letters,Topic,Detail"


def test_a_map_of_ones_own(tmp_path):
    rows = [
        {
            "Acme No.": "7,650,331",
            "Title": "Pumpe",
            "Title (EN)": "Pump",
            "Claims": "['A pump.', 'The pump of claim 1.']",
            "Pub": "01/19/2010",
            "Words": "seal + valve",
            "Cites": "US 2007/0140112 A1|EP0680812",
            "Letters": "X|A",
            "Topic": "Flow;Heat",
            "Detail": "Slow;Warm",
        },
        {
            "Acme No.": "D0982278",
            "Title": "Lamp",
            "Pub": "2010-01-19",
            "Cites": "unpublished",
            "Letters": "X|A",
            "Topic": "Light",
        },
    ]
    (tmp_path / "acme.toml").write_text(MAP)
    write_csv(tmp_path / "acme.csv", COLUMNS, rows, delimiter="\t")
    _, found = read(tmp_path / "acme.csv", str(tmp_path / "acme.toml"))
    one, other = found[Patent]
    assert (one.publication_number, one.title, str(one.publication_date), one.keywords) == (
        "US7650331",
        "Pump",
        "2010-01-19",
        ("seal", "valve"),
    )
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


def test_a_map_that_names_a_missing_column_is_refused_with_the_columns_there_are(tmp_path, capsys):
    (tmp_path / "acme.toml").write_text(MAP)
    write_csv(tmp_path / "acme.csv", COLUMNS.replace("Cites", "Cited"), [])
    assert (
        cli.main(
            f"data import --map {tmp_path / 'acme.toml'} {tmp_path / 'acme.csv'} --out {tmp_path / 'root'}".split()
        )
        == 2
    )
    said = capsys.readouterr().err
    assert (
        "column 'Cites' is missing (columns: Acme No., Title, Title (EN), Claims, Pub, Words, Cited, Letters, Topic,"
        " Detail)" in said
    )
    columns = parse_map(
        MAP.replace('cited = "Cites"', 'cited = { column = "Cites", optional = true }'), tmp_path / "acme.toml"
    )
    notes = [one for one in read_table(tmp_path / "acme.csv", columns) if isinstance(one, Note)]
    assert [(note.what, note.example) for note in notes] == [
        ("columns of the map that are missing", "'Cites'"),
        ("columns not read", "'Cited'"),
    ]


def test_another_map_reads_the_file_again(tmp_path):
    (tmp_path / "t.csv").write_text("No,A,B\nUS7000001B2,first,second\n")
    root = tmp_path / "root"
    for title in ("A", "B"):
        (tmp_path / "m.toml").write_text(f"[fields]\npublication_number = 'No'\ntitle = '{title}'\n")
        assert cli.main(["data", "import", str(tmp_path / "m.toml"), str(tmp_path / "t.csv"), "--out", str(root)]) == 0
    assert [one.title for one in read_records(root / "patents", Patent)] == ["second"]
    assert len(read_accounts(root)) == 1


def test_torn_rows_are_counted(tmp_path):
    (tmp_path / "t.csv").write_text(
        'No,Title\nUS7000001B2,"A ""fine"" pump\nwith a seal"\nUS7000002B2,Lamp,more\nUS7000003B2\n'
    )
    columns = parse_map("[fields]\npublication_number = 'No'\ntitle = 'Title'\n", tmp_path / "m.toml")
    found = list(read_table(tmp_path / "t.csv", columns))
    assert [one.title for one in found if isinstance(one, Patent)] == ['A "fine" pump\nwith a seal', ""]
    assert [one for one in found if isinstance(one, Skipped)] == [
        Skipped("", "row 4", "the row has more cells than the header")
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", b"", "the table is empty"),
        ("t.xml", b"<a/>", "the file is not a table"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "an old workbook"),
        ("t.csv", b'No,Title\nUS1B2,"Pump\nUS2B2,Valve\n', "row 2: a quote that opens in this row is not closed"),
        ("t.json", b"[1, 2]", "the JSON list must contain objects"),
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
