"""Tables as users have them, each made as a file: what is read of it, and what is said of the rest."""

import base64
import csv
import io
import zipfile
import zlib

import openpyxl
import pytest

from patent_mteb import cli
from patent_mteb.patents.records import Citation, Patent, Relation, read_citations, read_patents
from patent_mteb.readers import Note, Skipped, recognise
from patent_mteb.readers.columns import parse_map
from patent_mteb.readers.tables import read_table

HEADER = ["Publication Number", "Title", "Abstract", "Claims", "IPC", "Publication Date", "Cited Patents", "Family ID"]
CLAIMS = "1. A pump comprising a valve. 2. The pump of claim 1, wherein the valve is steel."
ROWS = [
    ["US10123456B2", "Pump", "A pump.", CLAIMS, "F04B 1/00; F04B 3/00", "2018-11-13", "US9000001B2; EP3456789A1", "F1"],
    ["EP3456789A1", "Seal", "A seal for pumps.", "1. A seal.", "F16J 15/00", "2019-01-02", "US9000001B2", "F2"],
    ["US9000001B2", "Rotor", "A rotor.", "1. A rotor.", "F04D 29/00", "2015-04-07", "", "F3"],
]
NUMBERS = [row[0] for row in ROWS]
COUNT_OF_ROWS = 3


def with_column(name, cells):
    """The rows with other cells in a column."""
    place = HEADER.index(name)
    return [[*row[:place], cell, *row[place + 1 :]] for row, cell in zip(ROWS, cells, strict=True)]


def write(path, rows, encoding="utf-8", delimiter=",", end="\n"):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def workbook(path, sheets, merged=()):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
        for cells in merged:
            page.merge_cells(cells)
    book.save(path)
    return path


class Read:
    """The items that the recognised reader yields for a file, by kind."""

    def __init__(self, path, columns=""):
        found = list(read_table(path, parse_map(columns, path)) if columns else recognise(path).read(path))
        self.patents, self.citations, self.relations, self.skipped = (
            [one for one in found if isinstance(one, kind)] for kind in (Patent, Citation, Relation, Skipped)
        )
        self.edges = [(one.citing, one.cited) for one in self.citations]
        self.said = {}
        for note in found:
            if isinstance(note, Note):
                count, example = self.said.get(note.what, (0, note.example))
                self.said[note.what] = (count + note.count, example)

    def of(self, name):
        return [getattr(one, name) for one in self.patents]

    def dates(self):
        return [str(one.publication_date) for one in self.patents]


def test_the_plain_table(tmp_path):
    found = Read(write(tmp_path / "t.csv", [HEADER, *ROWS]))
    assert found.of("publication_number") == NUMBERS and found.of("family_id") == ["F1", "F2", "F3"]
    assert found.edges == [(NUMBERS[0], NUMBERS[2]), (NUMBERS[0], NUMBERS[1]), (NUMBERS[1], NUMBERS[2])]
    assert list(found.said) == ["columns read"] and not found.skipped


# Encodings and workbooks


@pytest.mark.parametrize(
    ("encoding", "name", "title"),
    [
        ("utf-16", "UTF-16", "Pumpe für Öl"),
        ("utf-16-le", "UTF-16", "Pumpe"),
        ("utf-16-be", "UTF-16", "Pumpe"),
        ("cp1252", "Windows-1252", "für Öl"),
        ("cp1252", "Windows-1252", "“Quoted” – €5"),
        ("cp1252", "Windows-1252", "A pump’s valve"),
        ("cp1252", "Windows-1252", "Soupape à régler, côté"),
        ("cp932", "Shift-JIS", "ポンプ"),
        ("cp932", "Shift-JIS", "弁を備えるポンプ"),
        ("gb18030", "GBK/GB 18030", "泵"),
        ("gb18030", "GBK/GB 18030", "一种泵，包括阀门"),
        ("cp949", "EUC-KR", "밸브를 포함하는 펌프"),
        ("big5", "Big5", "一種具有閥門的幫浦裝置"),
    ],
)
def test_encodings_are_detected_and_named(tmp_path, encoding, name, title):
    rows = with_column("Title", [title] * COUNT_OF_ROWS)
    found = Read(write(tmp_path / "t.csv", [HEADER, *rows], encoding, delimiter="\t"))
    assert found.of("title") == [title] * COUNT_OF_ROWS
    assert found.said["encoding"] == (1, name)


def test_an_unclear_encoding_is_refused(tmp_path, capsys):
    (tmp_path / "t.csv").write_bytes(b"Publication Number,Title\nUS7000001B2,\xff\x81\n")
    assert cli.main(["data", "import", str(tmp_path / "t.csv"), "--out", str(tmp_path / "root")]) == 2
    assert "not valid UTF-8" in capsys.readouterr().err


def test_sheets_with_the_same_columns_are_read_and_others_named(tmp_path):
    cover = [["Search report"], ["made by", "me"]]
    sheets = {
        "Cover": cover,
        "2018": [HEADER, *ROWS[:2]],
        "2019": [HEADER, ROWS[2]],
        "Tags": [["Publication Number", "Topic"]],
    }
    found = Read(workbook(tmp_path / "t.xlsx", sheets))
    assert found.of("publication_number") == NUMBERS
    assert found.said["sheets with the same columns, read together"][1] == "'2018', '2019'"
    assert found.said["sheets not read: they have other columns"] == (2, "'Cover', 'Tags'")


def test_a_header_of_two_rows(tmp_path):
    header = [
        ["Publication Number", "Title", None, "Abstract", "IPC", None],
        [None, "EN", "DE", None, "current", "all"],
    ]
    rows = [[row[0], row[1], "Pumpe", row[2], "F04B", "F04B 1/00"] for row in ROWS]
    path = workbook(tmp_path / "t.xlsx", {"S": [*header, *rows]}, merged=("B1:C1", "E1:F1"))
    columns = "[fields]\npublication_number = 'Publication Number'\ntitle = 'Title DE'\nipc = 'IPC all'\nabstract = 'Abstract'\n"
    found = Read(path, columns)
    assert found.of("title") == ["Pumpe"] * COUNT_OF_ROWS and found.of("ipc") == [("F04B 1/00",)] * COUNT_OF_ROWS
    assert found.of("abstract") == [row[2] for row in ROWS]
    assert found.said["the header has two rows, which were joined"][0] == 1


def test_a_first_row_with_gaps_is_not_a_header(tmp_path):
    rows = [
        ["Publication Number", "Title", "", "Abstract"],
        ["US7000001B2", "Pump", "x", ""],
        ["US7000002B2", "", "", "A"],
    ]
    assert len(Read(write(tmp_path / "t.csv", rows)).patents) == 2


# Dates


@pytest.mark.parametrize(
    ("cells", "dates", "said"),
    [
        (("11/13/2018", "01/02/2019", "04/07/2015"), ["2018-11-13", "2019-01-02", "2015-04-07"], ""),
        (("13/11/2018", "02/01/2019", "07/04/15"), ["2018-11-13", "2019-01-02", "2015-04-07"], "a year of two digits"),
        (
            ("13.11.2018", "02.01.19", "7. April 2015"),
            ["2018-11-13", "2019-01-02", "2015-04-07"],
            "a year of two digits",
        ),
        (("2018年11月13日", "平成31年1月2日", "H27.4.7"), ["2018-11-13", "2019-01-02", "2015-04-07"], ""),
        (("43417", "43467", "42101"), ["2018-11-13", "2019-01-02", "2015-04-07"], "a serial number of Excel"),
        (("0200-03-05", "2918-01-02", "2015-04-07"), ["None", "None", "2015-04-07"], "cannot be read: left empty"),
        (("01/02/2019", "03/04/2019", ""), ["None", "None", "None"], "cannot be read: left empty"),
    ],
)
def test_dates_by_the_whole_column(tmp_path, cells, dates, said):
    found = Read(write(tmp_path / "t.csv", [HEADER, *with_column("Publication Date", cells)]))
    assert found.dates() == dates
    notes = [what for what in found.said if what.startswith("publication_date")]
    assert len(notes) == bool(said) and all(said in what for what in notes)


def test_dates_of_cells_of_a_workbook(tmp_path):
    rows = with_column("Publication Date", (43417, 43467.0, 42101))
    found = Read(workbook(tmp_path / "t.xlsx", {"S": [HEADER, *rows]}))
    assert found.dates() == ["2018-11-13", "2019-01-02", "2015-04-07"]
    assert found.said["publication_date is a serial number of Excel"] == (3, "row 2: 43417 = 2018-11-13")


# What is lost or cleaned is counted


def test_texts_are_cleaned_and_cut_cells_counted(tmp_path):
    long = ("1. A pump comprising " + "a valve and " * 3000)[:32767]
    rows = [
        ["US1000001B2", "Pump &amp; valve", "<p>A <b>pump</b>.</p>", long, "", "", "", ""],
        ["US1000002B2", "Seal [Machine Translation]", "A seal.", long[:-1], "", "", "", ""],
    ]
    found = Read(workbook(tmp_path / "t.xlsx", {"S": [HEADER, *rows]}))
    assert found.of("title") == ["Pump & valve", "Seal"] and found.of("abstract") == ["A pump.", "A seal."]
    assert found.said["HTML tags and entities replaced"] == (2, "row 2: 'Title'")
    assert found.said["marks of machine translation removed"] == (1, "row 3: 'Title'")
    assert found.said["a cell has 32,767 characters, the limit of Excel: its text is cut"] == (1, "row 2: 'Claims'")


def test_entities_do_not_split_lists(tmp_path):
    (tmp_path / "t.csv").write_text("Publication Number,Applicants\nUS1000001B2,Smith &amp; Co; Doe Ltd\n")
    assert Read(tmp_path / "t.csv").of("applicants") == [("Smith & Co", "Doe Ltd")]


def test_scientific_notation_is_named(tmp_path):
    found = Read(
        write(tmp_path / "t.csv", [["Publication Number", "Title"], ["1.01235E+07", "Pump"], ["US9000001B2", "Seal"]])
    )
    (what,) = [what for what in found.said if "scientific notation" in what]
    assert found.said[what] == (1, "row 2: 1.01235E+07")


def test_several_numbers_in_a_cell_are_a_family(tmp_path):
    header = ["No", "Title", "Publication number", "Earliest priority", "Publication date", "Earliest publication"]
    rows = [["1", "Pump", "US2018123456A1 \nUS10123456B2", "2015-01-02", "2018-05-03 \n2018-11-13", "2018-05-03"]]
    found = Read(write(tmp_path / "t.csv", [header, *rows], delimiter=";"))
    assert found.of("publication_number") == ["US2018123456A1"]
    assert found.relations == [Relation("US2018123456A1", "US10123456B2", "member")]
    assert found.said["a further publication number in the cell: read as a member of the family"][0] == 1


def test_an_import_of_nothing_fails(tmp_path, capsys):
    path = write(
        tmp_path / "t.csv", [HEADER, ["", "A pump", "", "", "", "", "", ""], ["", "A seal", "", "", "", "", "", ""]]
    )
    assert cli.main(["data", "import", str(path), "--out", str(tmp_path / "root")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "no patent, citation or relation was read (2 × no publication number (row 2))" in said


# Citations


def test_every_citing_number_of_a_list_is_read(tmp_path):
    (tmp_path / "t.csv").write_text(
        "No,Cited By\nUS9000001B2,US10000001B2 | US10000002B2 | EP3456789A1\nEP3456789A1,\n"
    )
    columns = "[fields]\npublication_number = 'No'\n[citations]\nciting = { column = 'Cited By', separator = '|' }\n"
    found = Read(tmp_path / "t.csv", columns)
    assert found.edges == [(one, "US9000001B2") for one in ("US10000001B2", "US10000002B2", "EP3456789A1")]
    pair = "[citations]\nciting = 'Cited By'\ncited = 'No'\n"
    assert Read(tmp_path / "t.csv", pair).edges == found.edges


def test_backward_and_forward_citations_of_one_map(tmp_path):
    (tmp_path / "t.csv").write_text("No,Cites,By,How\nUS9000001B2,US8000001B2;US8000002B2,US9500001B2,X;A\n")
    columns = "[fields]\npublication_number = 'No'\n[[citations]]\ncited = 'Cites'\ncategory = 'How'\n[[citations]]\nciting = 'By'\n"
    found = [(one.citing, one.cited, one.category) for one in Read(tmp_path / "t.csv", columns).citations]
    assert found == [
        ("US9000001B2", "US8000001B2", "X"),
        ("US9000001B2", "US8000002B2", "A"),
        ("US9500001B2", "US9000001B2", ""),
    ]


def test_a_second_map_keeps_what_the_first_gave(tmp_path):
    (tmp_path / "t.csv").write_text("No,Name,By\nUS9000001B2,Pump,US9500001B2;US9500002B2\n")
    (tmp_path / "patents.toml").write_text("[fields]\npublication_number = 'No'\ntitle = 'Name'\n")
    (tmp_path / "forward.toml").write_text("[citations]\ncited = 'No'\nciting = 'By'\n")
    root = tmp_path / "root"
    for name in ("patents", "forward", "patents"):
        words = ["data", "import", str(tmp_path / f"{name}.toml"), str(tmp_path / "t.csv"), "--out", str(root)]
        assert cli.main(words) == 0
    assert [one.title for one in read_patents(root / "patents")] == ["Pump"]
    assert [one.citing for one in read_citations(root / "citations")] == ["US9500001B2", "US9500002B2"]


# What a column is taken for


def test_counts_are_never_content(tmp_path):
    header = ["Publication Number", "Title", "Claims", "Family", "Citations", "Cited By", "Pages"]
    rows = [[number, "Pump", "20", 5, "12", 3, 7] for number in NUMBERS]
    found = Read(write(tmp_path / "t.csv", [header, *rows]))
    assert found.of("family_id") == NUMBERS and not found.citations and not any(found.of("claims"))
    count, said = found.said["columns that a map could use"]
    assert count == 4
    assert said == (
        "'Family': small whole numbers, 1 different, looks like the size of the family: not used; "
        "'Claims': small whole numbers, 1 different, not claims: not used; "
        "'Citations': small whole numbers, 1 different, not cited: not used; "
        "'Cited By': small whole numbers, 1 different, not citing: not used"
    )


def test_a_map_decides_and_single_counts_are_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("No,Fam,Claims,Cites\nUS9000001B2,5,20,12\nUS9000002B2,5,1. A pump.,US8000001B2\n")
    columns = (
        "[fields]\npublication_number = 'No'\nfamily_id = 'Fam'\nclaims = 'Claims'\n[citations]\ncited = 'Cites'\n"
    )
    found = Read(tmp_path / "t.csv", columns)
    assert found.of("family_id") == ["5", "5"] and [len(claims) for claims in found.of("claims")] == [0, 1]
    assert found.edges == [("US9000002B2", "US8000001B2")]
    assert found.said["claims is a number, not a text: left empty"] == (1, "row 2: 20")
    assert found.said["a count of citations, not a number: not read"] == (1, "row 2: 12")


@pytest.mark.parametrize(
    "header",
    [
        "Publication Number,Title,Abstract,Claims,IPC,Publication Date,Cited Patents,Family ID",
        "Veröffentlichungsnummer,Titel,Zusammenfassung,Ansprüche,IPC-Klassen,Veröffentlichungsdatum,Zitierte Patente,Familien-ID",
        "Numéro de publication,Titre,Abrégé,Revendications,CIB,Date de publication,Brevets cités,Famille",
        "公开（公告）号,标题,摘要,权利要求,IPC分类号,公开（公告）日,引用专利,同族号",
        "文献番号,発明の名称,要約,請求項,国際特許分類,公開日,引用文献,ファミリーID",
        "공개번호,발명의 명칭,요약,청구항,IPC코드,공개일자,인용문헌,패밀리ID",
        "Alpha,Title,Beta,Gamma,Delta,Publication Date,Cited Patents,Family ID",
    ],
)
def test_names_in_six_languages_and_values(tmp_path, header):
    """The last header has four names that say nothing: the values do."""
    rows = [[*row[:2], f"{row[2]} {'It is made of steel and brass. ' * 6}", *row[3:]] for row in ROWS]
    found = Read(workbook(tmp_path / "t.xlsx", {"S": [header.split(","), *rows]}))
    plain = Read(write(tmp_path / "t.csv", [HEADER, *rows]))
    assert found.patents == plain.patents and found.edges == plain.edges and found.patents[0].claims


def test_a_column_of_unknown_name_says_why_it_was_taken(tmp_path):
    found = Read(
        write(
            tmp_path / "t.csv",
            [["No.", "Alpha", "Title", "Beta"], *[[n, *row[:2], row[4]] for n, row in enumerate(ROWS, 1)]],
        )
    )
    assert found.of("publication_number") == NUMBERS
    assert found.said["columns read"] == (
        3,
        "'Title' as title, 'Alpha' as publication_number (by its values: publication numbers, each different), "
        "'Beta' as ipc (by its values: lists of IPC or CPC codes)",
    )


def test_a_list_of_numbers_without_a_name_is_not_guessed_at(tmp_path):
    found = Read(
        write(tmp_path / "t.csv", [["Publication Number", "Refs"], ["US9000001B2", "US8000001B2; EP3456789A1"]])
    )
    assert not found.citations and not found.relations
    assert "'Refs': lists of publication numbers; the name does not say of what: not used" in str(found.said)


def test_a_workbook_of_unknown_columns_says_what_a_text_says(tmp_path, capsys):
    rows = [["Ref", "Title"], ["P-2019-001", "Pump"], ["P-2019-002", "Seal"]]
    said = []
    for path in (write(tmp_path / "t.csv", rows), workbook(tmp_path / "t.xlsx", {"S": rows})):
        assert cli.main(["data", "import", str(path), "--out", str(tmp_path / "root")]) == 2
        said.append(capsys.readouterr().err.replace(path.name, "t"))
    assert said[0] == said[1] and "(columns: Ref, Title)" in said[0] and "--map" in said[0]


@pytest.mark.parametrize(
    ("cell", "edges"),
    [
        ("US9000001B2, EP3456789A1", [("US9000001B2", ""), ("EP3456789A1", "")]),
        ("US 9,000,001 B2; EP 3 456 789 A1", [("US9000001B2", ""), ("EP3456789A1", "")]),
        ("US9000001B2 [X]; EP3456789A1 (A)", [("US9000001B2", "X"), ("EP3456789A1", "A")]),
        ("X US9000001B2", [("US9000001B2", "X")]),
        ("US9000001 B2 (Smith, 2015-04-07)", [("US9000001B2", "")]),
    ],
)
def test_cited_numbers_with_what_is_written_with_them(tmp_path, cell, edges):
    rows = [["Publication Number", "Title", "Cited Patents"], ["US10123456B2", "Pump", cell]]
    found = Read(write(tmp_path / "t.csv", rows))
    assert [(one.cited, one.category) for one in found.citations] == edges


def test_cited_by_is_a_forward_citation(tmp_path):
    rows = [["Publication Number", "Cites", "Cited By"], ["US9000001B2", "US8000001B2", "US9500001B2 | EP3456789A1"]]
    found = Read(write(tmp_path / "t.csv", rows))
    assert found.citations == [
        Citation("US9000001B2", "US8000001B2"),
        Citation("US9500001B2", "US9000001B2"),
        Citation("EP3456789A1", "US9000001B2"),
    ]


def test_texts_over_two_columns_are_joined(tmp_path):
    rows = [["Publication Number", "Claims", "Claims (cont.)"], ["US9000001B2", CLAIMS, "3. The pump of claim 2."]]
    found = Read(write(tmp_path / "t.csv", rows))
    assert [one.depends_on for one in found.patents[0].claims] == [(), (1,), (2,)]


def test_one_row_for_each_topic(tmp_path):
    rows = [
        ["Publication Number", "Topic"],
        ["US9000001B2", "Energy"],
        ["EP3456789A1", "Water"],
        ["US9000001B2", "Water"],
    ]
    found = Read(write(tmp_path / "t.csv", rows))
    assert [[label.coarse for label in labels] for labels in found.of("labels")] == [["Energy", "Water"], ["Water"]]


# Exports of databases, in the forms of their headers

EXPORTS = {
    "thomson": (
        "Publication Number,Title,Abstract,Assignee/Applicant,Inventor,IPC Class,Publication Date,Priority Date,Count of Cited Refs - Patent,Cited Refs - Patent",
        ["US10123456B2", "Pump", "A pump.", "ACME", "DOE J | ROE J", "F04B 1/00 | F04B 3/00", "2018-11-13", "2015-01-02", "1", "US9000001B2"],
    ),
    "orbit": (
        "Publication numbers,Publication dates,Title,Abstract,Claims,Current assignees,Inventors,IPC - International classification,Earliest priority date,Cited patents,Citing patents,Family number (FAN)",
        ["US10123456 B2\nEP3456789 A1", "2018-11-13\n2019-01-02", "(US10123456)\nPump", "(US10123456)\nA pump.", "(US10123456)\n1. A pump.", "ACME", "DOE J\nROE J", "F04B 1/00\nF04B 3/00", "2015-01-02", "US9000001 B2", "US11000000 B2", "57123"],
    ),
    "patsnap": (
        "Publication Number,Title,Abstract,Publication Date,Earliest Priority Date,Original Assignee,Inventor,IPC,Simple Family,Cites,Cited By,Count of Cited By",
        ["US10123456B2", "Pump", "A pump.", "2018-11-13", "2015-01-02", "ACME", "DOE J | ROE J", "F04B 1/00 | F04B 3/00", "US10123456B2 | EP3456789A1", "US9000001B2", "US11000000B2", "1"],
    ),
    "patsnap-chinese": (
        "公开(公告)号,标题,摘要,公开(公告)日,最早优先权日,[标]原始申请(专利权)人,发明人,IPC分类号,简单同族,引用专利,被引用专利",
        ["US10123456B2", "Pump", "A pump.", "2018-11-13", "2015-01-02", "ACME", "DOE J | ROE J", "F04B 1/00 | F04B 3/00", "US10123456B2 | EP3456789A1", "US9000001B2", "US11000000B2"],
    ),
    "incopat": (
        "标题 (中文),摘要 (中文),公开（公告）号,公开（公告）日,优先权日,IPC,申请人,发明人,引证专利,被引证专利,简单同族",
        ["Pump", "A pump.", "US10123456B2", "20181113", "20150102", "F04B 1/00; F04B 3/00", "ACME", "DOE J; ROE J", "US9000001B2", "US11000000B2", "EP3456789A1"],
    ),
    "google-patents": (
        "id,title,assignee,inventor/author,priority date,filing/creation date,publication date,grant date,result link",
        ["US-10123456-B2", "Pump", "ACME", "DOE J, ROE J", "2015-01-02", "2016-01-02", "2018-11-13", "2018-11-13", "https://patents.google.com/patent/US10123456B2/en"],
    ),
    "totalpatent": (
        "Publication Number,Publication Kind,Publication Date,Priority Date,Title (English),Abstract (English),Applicants/Assignees,Inventors,IPC (All),Family Id (Main),Citations - Backward,Citations - Forward",
        ["US10123456", "B2", "20181113", "20150102", "Pump", "A pump.", "ACME", "DOE J;ROE J", "F04B 1/00;F04B 3/00", "57123", "US9000001B2", "US11000000B2"],
    ),
    "patbase": (
        "Family Number,Publication Number,Title,Abstract,First Claim,Probable Assignees,Inventors,Int Class,Earliest Priority,Cited Refs (Backward)",
        ["57123", "US10123456 B2; EP3456789 A1", "Pump", "A pump.", "1. A pump", "ACME", "DOE J; ROE J", "F04B 1/00; F04B 3/00", "20150102", "US9000001 B2"],
    ),
    "jplatpat": (
        "文献番号,出願番号,出願日,公知日,発明の名称,出願人/権利者,FI,要約",
        ["US10123456B2", "特願2018-001234", "2018/01/09", "2018/11/13", "Pump", "ACME", "F04B 1/00,F04B 3/00", "A pump."],
    ),
    "depatisnet": (
        "Treffer,Veröffentlichungsnummer,Anmeldedatum,Veröffentlichungsdatum,Titel,Anmelder/Inhaber,Erfinder,IPC-Hauptklasse",
        ["1", "US10123456B2", "13.11.2016", "13.11.2018", "[DE] Pump", "ACME", "DOE J; ROE J", "F04B 1/00"],
    ),
    "uspto-search": (
        "Result #,Document/Patent number,Display,Title,Inventor name,Publication date,Pages",
        ["1", "US-10123456-B2", "Preview", "Pump", "DOE J", "2018-11-13", "12"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("source", EXPORTS)
def test_exports_of_databases(tmp_path, source):
    header, row = EXPORTS[source]
    path = workbook(tmp_path / "export.xlsx", {"S": [header.split(","), row]})
    assert recognise(path).name == source
    found = Read(path)
    (one,) = found.patents
    there = " ".join(row)
    assert (one.publication_number, one.title) == ("US10123456B2", "Pump")
    assert str(one.publication_date) == ("None" if source == "patbase" else "2018-11-13"), "PatBase exports none"
    assert one.abstract == ("A pump." if "A pump." in there else "")
    assert one.applicants == (("ACME",) if "ACME" in there else ())
    assert one.inventors == (("DOE J", "ROE J") if "ROE J" in there else ("DOE J",) if "DOE J" in there else ())
    assert one.ipc == (("F04B 1/00", "F04B 3/00") if "3/00" in there else ("F04B 1/00",) if "1/00" in there else ())
    assert str(one.priority_date) == ("2015-01-02" if "2015" in there else "None")
    forward = [("US11000000B2", "US10123456B2")] if "US11000000" in there else []
    assert found.edges == ([("US10123456B2", "US9000001B2")] if "US9000001" in there else []) + forward
    assert one.family_id == ("57123" if "57123" in there else "EP3456789A1" if "EP3456789" in there else "US10123456B2")
    members = [edge for edge in found.relations if edge.kind == "member"]
    assert members == ([Relation("US10123456B2", "EP3456789A1", "member")] if "EP3456789" in there else [])


def test_an_open_document_sheet(tmp_path):
    """Written by hand: openpyxl writes no .ods."""
    row = "<table:table-row>{}</table:table-row>".format
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'.format
    rows = "".join(row("".join(map(cell, cells))) for cells in (HEADER, *ROWS))
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body><office:spreadsheet>"
            f'<table:table table:name="S">{rows}</table:table></office:spreadsheet></office:body></office:document-content>',
        )
        book.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
    found = Read(tmp_path / "t.ods")
    assert found.patents == Read(write(tmp_path / "t.csv", [HEADER, *ROWS])).patents and len(found.edges) == 3


def test_a_table_without_rows_and_one_of_pairs(tmp_path, capsys):
    path = write(tmp_path / "t.csv", [HEADER])
    assert cli.main(["data", "import", str(path), "--out", str(tmp_path / "root")]) == 2
    assert "no patent, citation or relation was read (the file has no rows)" in capsys.readouterr().err
    pairs = write(tmp_path / "p.tsv", [["query-id", "corpus-id"], ["1", "2"], ["1", "3"]], delimiter="\t")
    assert cli.main(["data", "import", str(pairs), "--out", str(tmp_path / "root")]) == 0
    assert Read(pairs).edges == [("1", "2"), ("1", "3")], "ids of pairs are not counts"


OLD_WORKBOOK = """
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
"""An .xls of two patents, written with xlwt, compressed."""


def test_an_old_workbook(tmp_path):
    (tmp_path / "t.xls").write_bytes(zlib.decompress(base64.b64decode(OLD_WORKBOOK)))
    found = Read(tmp_path / "t.xls")
    assert found.of("publication_number") == ["US10123456B2", "EP3456789A1"]
    assert found.of("title") == ["Pumpe für Öl", "Seal"] and found.dates() == ["2018-11-13", "2019-01-02"]


def test_chinese_claims_are_known_by_their_first_words(tmp_path):
    claims = "权利要求1：一种泵，包括转子和壳体，其特征在于，所述转子由钢制成，并且所述壳体是封闭的，还包括阀门。"
    rows = [["No.", "X"], *([f"CN10000000{n}A", claims] for n in range(3))]
    found = Read(workbook(tmp_path / "t.xlsx", {"S": rows}))
    assert "'X' as claims (by its values: texts that begin like claims)" in found.said["columns read"][1]
