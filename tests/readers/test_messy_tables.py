"""What the notes on a table say in full, and what maps decide; messy_tables.py in tests/helpers holds the other cases."""

import pytest
from messy_tables import HEADER, NUMBERS, ROWS, TWO_ROWS, book, merged, text, with_column

from patent_mteb import cli
from patent_mteb.patents.records import Citation, Patent, Relation, read_records
from patent_mteb.readers import Note, Skipped, recognise
from patent_mteb.readers.columns import parse_map
from patent_mteb.readers.tables import read_table


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


# Encodings and workbooks


@pytest.mark.parametrize(
    ("encoding", "name", "title"),
    [
        ("utf-16-be", "UTF-16", "Pumpe"),
        ("cp1252", "Windows-1252", "für Öl"),
        ("cp1252", "Windows-1252", "A pump’s valve"),
        ("cp1252", "Windows-1252", "Soupape à régler, côté"),
        ("cp932", "Shift-JIS", "ポンプ"),
        ("gb18030", "GBK/GB 18030", "泵"),
    ],
)
def test_encodings_are_known_by_few_letters(tmp_path, encoding, name, title):
    rows = with_column("Title", [title] * len(ROWS))
    found = Read(text([HEADER, *rows], encoding=encoding, delimiter="\t")(tmp_path))
    assert found.of("title") == [title] * len(ROWS)
    assert found.said["encoding"] == (1, name)


def test_a_map_names_columns_of_a_header_of_two_rows(tmp_path):
    columns = "[fields]\npublication_number = 'Publication Number'\ntitle = 'Title DE'\nipc = 'IPC all'\n"
    found = Read(book(TWO_ROWS, merged("B1:C1", "E1:F1"))(tmp_path), columns)
    assert found.of("title") == ["Pumpe"] * len(ROWS) and found.of("ipc") == [("F04B1/00",)] * len(ROWS)
    assert found.said["the header has two rows, which were joined"][0] == 1


def test_a_first_row_with_gaps_is_not_a_header(tmp_path):
    rows = [
        ["Publication Number", "Title", "", "Abstract"],
        ["US7000001B2", "Pump", "x", ""],
        ["US7000002B2", "", "", "A"],
    ]
    assert len(Read(text(rows)(tmp_path)).patents) == 2


# What is lost or cleaned is counted


def test_entities_do_not_split_lists(tmp_path):
    (tmp_path / "t.csv").write_text("Publication Number,Applicants\nUS1000001B2,Smith &amp; Co; Doe Ltd\n")
    assert Read(tmp_path / "t.csv").of("applicants") == [("Smith & Co", "Doe Ltd")]


def test_an_import_of_nothing_fails(tmp_path, capsys):
    path = text([HEADER, *with_column("Publication Number", [""] * len(ROWS))])(tmp_path)
    assert cli.main(["data", "import", str(path), "--out", str(tmp_path / "root")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "no patent, citation or relation was read (3 × no publication number (row 2))" in said


# Citations


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
    assert [one.title for one in read_records(root / "patents", Patent)] == ["Pump"]
    assert [one.citing for one in read_records(root / "citations", Citation)] == ["US9500001B2", "US9500002B2"]


# What a column is taken for


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


def test_a_column_of_unknown_name_says_why_it_was_taken(tmp_path):
    rows = [[n, *row[:2], row[4]] for n, row in enumerate(ROWS, 1)]
    found = Read(text([["No.", "Alpha", "Title", "Beta"], *rows])(tmp_path))
    assert found.of("publication_number") == NUMBERS
    assert found.said["columns read"] == (
        3,
        "'Title' as title, 'Alpha' as publication_number (by its values: publication numbers, each different), "
        "'Beta' as ipc (by its values: lists of IPC or CPC codes)",
    )


def test_a_list_of_numbers_without_a_name_is_not_guessed_at(tmp_path):
    found = Read(text([["Publication Number", "Refs"], ["US9000001B2", "US8000001B2; EP3456789A1"]])(tmp_path))
    assert not found.citations and not found.relations
    assert "'Refs': lists of publication numbers; the name does not say of what: not used" in str(found.said)


def test_ids_of_pairs_are_not_counts(tmp_path):
    pairs = text([["query-id", "corpus-id"], ["1", "2"], ["1", "3"]], "p.tsv", delimiter="\t")(tmp_path)
    assert Read(pairs).edges == [("1", "2"), ("1", "3")]


def test_chinese_claims_are_known_by_their_first_words(tmp_path):
    claims = "权利要求1：一种泵，包括转子和壳体，其特征在于，所述转子由钢制成，并且所述壳体是封闭的，还包括阀门。"
    rows = [["No.", "X"], *([f"CN10000000{n}A", claims] for n in range(3))]
    found = Read(book(rows)(tmp_path))
    assert "'X' as claims (by its values: texts that begin like claims)" in found.said["columns read"][1]
