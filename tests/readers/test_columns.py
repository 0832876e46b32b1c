"""Column maps: valid and invalid settings, and suggestions for real and unusual headers."""

import pytest

from patent_mteb.errors import DataError
from patent_mteb.readers.columns import EMPTY, Column, parse_map, read_map, suggest
from patent_mteb.readers.tables import read_table


def test_a_map_in_full(tmp_path):
    (tmp_path / "all.toml").write_text("""
        optional = true
        empty = ["none"]
        preamble = 2
        [fields]
        publication_number = { column = ["office", "number"], join = "" }
        description = "Text"
        expert.novelty = "Novelty"
        [citations]
        origin = { column = "Who", values = { Examiner = "examiner" } }
        cited = "Cited"
        [relations]
        pre-grant = "A1"
        """)
    columns = read_map(tmp_path / "all.toml")
    assert columns.fields == {
        "publication_number": Column(("office", "number"), join=""),
        "description": Column(("Text",)),
        "expert.novelty": Column(("Novelty",)),
    }
    assert (columns.name, columns.empty, columns.preamble) == ("all", {"none", ""}, 2)
    assert columns.relations == {"pre-grant": Column(("A1",))}
    assert not any(columns.names().values())
    assert "NA" in EMPTY


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[fields", "not a column map in TOML"),
        ("[fields]\ntitle = 'T'", "names no column of a number"),
        ("[fields]\npublication_number = 'No'\ntitel = 'T'", "has no field 'titel'"),
        ("[fields]\npublication_number = 'No'\nlabels = 'T'", "has no field 'labels'"),
        ("[fields]\npublication_number = 'No'\ntitle = {colum = 'T'}", "has no setting 'colum'"),
        ("[fields]\npublication_number = 'No'\ntitle = {separator = ';'}", "neither a column nor a constant"),
        ("[fields]\npublication_number = 7", "column is 7"),
        ("fields = 3", "must be tables"),
        ("separator = ';'\n[fields]\npublication_number = 'No'", "a map has no setting 'separator'"),
        ("[relations]\nmember = 'M'", "names no column of a number"),
    ],
)
def test_invalid_maps_are_refused_with_their_file(tmp_path, text, said):
    with pytest.raises(DataError, match=said) as error:
        parse_map(text, tmp_path / "m.toml")
    assert error.value.path == tmp_path / "m.toml" and error.value.remedy


@pytest.mark.parametrize(
    ("header", "read"),
    [
        (
            "publication_number,family_id,title,abstract,claims,ipc",
            "publication_number family_id title abstract claims ipc",
        ),
        ("_id,title,text", "publication_number title abstract"),
        (
            "Patent No.;Title (English);Filing Date;Assignee/Applicant;Remarks",
            "publication_number title application_date applicants",
        ),
        ("query-id\tcorpus-id\tscore", "citing cited"),
        ("PN,TITLE,Simple Family Members,Cites", "publication_number title cited member"),
        (
            "Pat No.,Title of invention,DOCDB family,Filed,Published",
            "publication_number title family_id application_date publication_date",
        ),
        ("Number,Description,Background,Topic,Subtopic", "publication_number description coarse fine"),
    ],
)
def test_suggested_maps_can_be_read(tmp_path, header, read):
    (tmp_path / "t.csv").write_text(f"{header}\n")
    columns = parse_map(suggest(tmp_path / "t.csv").toml, tmp_path / "t.toml")
    assert sorted(ours for section in columns.sections() for ours in section if ours != "landscape") == sorted(
        read.split()
    )
    assert not [item for item in read_table(tmp_path / "t.csv", columns) if not hasattr(item, "count")]


def test_a_table_without_a_number_is_not_guessed_at(tmp_path):
    (tmp_path / "t.csv").write_text("Title,Abstract\nPump,It pumps.\n")
    with pytest.raises(DataError, match=r"no column looks like a publication number \(columns: Title, Abstract\)"):
        suggest(tmp_path / "t.csv")
    begun = suggest(tmp_path / "t.csv", unfinished=True).toml
    with pytest.raises(DataError, match="names no column of a number"):
        parse_map(begun, tmp_path / "t.toml")
    columns = parse_map(
        begun.replace('# publication_number = "name its column"', 'publication_number = "Title"'), tmp_path / "t.toml"
    )
    assert columns.fields.keys() == {"publication_number", "title", "abstract"}
