"""PatentsView's tables in their published columns, quoted as published; counts by hand."""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Patent, Relation, read_records
from patent_mteb.readers import recognise
from patent_mteb.readers.importing import import_files
from patent_mteb.readers.items import Skipped
from patent_mteb.readers.zipped import scan_zipped

TABLES = {
    "g_patent": [
        "patent_id patent_type patent_date patent_title wipo_kind num_claims withdrawn filename",
        ("8930553", "utility", "2015-01-06", 'A "quoted"\tpump', "B2", "2", "0", "ipg150106.xml"),
        ("D0712345", "design", "2014-09-02", "Chair", "S1", "1", "0", "ipg140902.xml"),
        ("8930554", "utility", "2015-01-06", "Valve", "B2", "1", "1", "ipg150106.xml"),
        ("8930555", "utility", "2015-01-06", "Seal", "B1", "1", "0", "ipg150106.xml"),
    ],
    "g_patent_abstract": ["patent_id patent_abstract", ("8930555", "Seals."), ("8930553", "Two\nlines.")],
    "g_application": [
        "application_id patent_id patent_application_type filing_date series_code rule_47_flag",
        ("13648029", "8930553", "utility", "2012-10-09", "13", "0"),
    ],
    "g_ipc_at_issue": [
        (
            "patent_id ipc_sequence classification_level section ipc_class subclass main_group subgroup"
            " classification_value"
        ),
        ("8930553", "1", "A", "G", "06", "F", "013", "/42", "I"),
        ("8930553", "0", "A", "A", "61", "F", "2", "06", "I"),
    ],
    "g_cpc_current": [
        "patent_id cpc_sequence cpc_section cpc_class cpc_subclass cpc_group cpc_type",
        ("8930553", "0", "A", "A61", "A61F", "A61F2/06", "inventional"),
    ],
    "g_claims_2015": [
        "patent_id claim_sequence claim_text dependent claim_number exemplary",
        ("8930553", "1", "2. The pump of claim 1.", "claim 1", "2", "0"),
        ("8930553", "0", "1. A pump.", "", "1", "1"),
    ],
    "g_brf_sum_text_2015": ["patent_id summary_text", ("8930553", "BACKGROUND\nPumps leak.")],
    "g_us_patent_citation": [
        "patent_id citation_sequence citation_patent_id citation_date record_name wipo_kind citation_category",
        ("8930553", "0", "7844851", "2010-11-01", "Cosmadopoulos", "B2", "cited by applicant"),
        ("8930555", "0", "8930553", "2015-01-01", "", "B2", "cited by examiner"),
        ("8930555", "1", "", "2015-01-01", "", "", "cited by third party"),
    ],
    "g_foreign_citation": [
        "patent_id citation_sequence citation_application_id citation_date citation_category citation_country",
        ("8930553", "0", "1095724", "2001-05-02", "cited by examiner", "EP"),
    ],
    "pg_published_application": [
        (
            "pgpub_id application_id filing_date patent_type filing_type published_date wipo_kind series_code"
            " application_title"
        ),
        ("20140101323", "13648029", "2012-10-09", "utility", "", "2014-04-10", "A1", "13", "Pump"),
    ],
    "pg_granted_pgpubs_crosswalk": ["pgpub_id patent_id application_id", ("20140101323", "8930553", "13648029")],
}


@pytest.fixture
def folder(tmp_path):
    for name, (header, *rows) in TABLES.items():
        with (tmp_path / f"{name}.tsv").open("w", encoding="utf-8", newline="") as out:
            csv.writer(out, delimiter="\t", quoting=csv.QUOTE_ALL).writerows([header.split(), *rows])
    return tmp_path


def read(folder, name):
    reader = recognise(folder / f"{name}.tsv")
    assert reader.name == "patentsview"
    return list(reader.read(folder / f"{name}.tsv"))


def test_the_tables_of_a_folder_are_joined(folder):
    items = read(folder, "g_patent")
    first, second = [item for item in items if isinstance(item, Patent)]
    assert (first.publication_number, first.title, first.abstract) == ("US8930553B2", 'A "quoted"\tpump', "Two\nlines.")
    assert (first.ipc, first.cpc, first.application_number) == (("A61F2/06", "G06F13/42"), ("A61F2/06",), "US13648029")
    assert [(claim.number, claim.text, claim.depends_on) for claim in first.claims] == [
        (1, "A pump.", ()),
        (2, "The pump of claim 1.", (1,)),
    ]
    assert first.description.background == "BACKGROUND\nPumps leak."
    got = (second.publication_number, second.abstract, second.claims, second.family_id)
    assert got == ("US8930555B1", "Seals.", (), "US8930555B1")
    assert [(item.number, item.place, item.reason) for item in items if isinstance(item, Skipped)] == [
        ("D0712345", "row 3", "not a utility patent (design)"),
        ("8930554", "row 4", "a withdrawn patent"),
    ]


def test_citations_keep_who_cited_and_take_kind_codes_from_the_patents(folder):
    assert [item for item in read(folder, "g_us_patent_citation") if isinstance(item, Citation)] == [
        Citation("US8930553B2", "US7844851B2", origin="applicant"),
        Citation("US8930555B1", "US8930553B2", origin="examiner"),
    ]
    assert read(folder, "g_foreign_citation") == [Citation("US8930553B2", "EP1095724", origin="examiner")]
    (folder / "g_patent.tsv").unlink()
    assert read(folder, "g_foreign_citation") == [Citation("US8930553", "EP1095724", origin="examiner")]


def test_a_folder_is_imported_as_a_whole(folder, tmp_path):
    done = import_files([folder], tmp_path / "out")
    assert not done.unknown
    counts = Counter()
    for account in done.accounts:
        counts.update(account.records)
    assert counts == {"patents": 3, "citations": 3, "relations": 3}
    assert read(folder, "pg_granted_pgpubs_crosswalk") == [Relation("US8930553", "US2014101323A1", "pre-grant")]


@pytest.mark.parametrize(
    "content, message",
    [
        ("patent_id\tpatent_type\n1\tutility\n", "column 'patent_date' is missing"),
        ("", "the file is empty"),
        (
            "patent_id\tpatent_type\tpatent_date\tpatent_title\twipo_kind\twithdrawn\n1\tutility\t2015-01-06\té\tB2\t0\n".encode(
                "latin-1"
            ),
            "UTF-8",
        ),
    ],
)
def test_a_table_that_cannot_be_used_gives_one_message(tmp_path, content, message):
    path = tmp_path / "g_patent.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message) as caught:
        list(recognise(path).read(path))
    assert caught.value.path == path


def with_wrong_sum(archive):
    """The first and only member's checksum is another, in both places where a zip file has it."""
    with zipfile.ZipFile(io.BytesIO(archive)) as one:
        right = one.infolist()[0].CRC.to_bytes(4, "little")
    return archive.replace(right, bytes(255 - byte for byte in right))


def test_an_invalid_header_is_one_message(tmp_path):
    with zipfile.ZipFile(path := tmp_path / "t.tsv.zip", "w") as archive:
        archive.writestr("t.tsv", "numéro\ttitle\n1\tPump\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"the table in the zip file cannot be read.*must be UTF-8"):
        scan_zipped(path, "\t").collect()


def test_zipped_tables_give_the_records_of_unpacked_ones(folder, tmp_path):
    import_files([folder], tmp_path / "unpacked")
    (zips := tmp_path / "zips").mkdir()
    for path in sorted(folder.glob("*.tsv")):
        with zipfile.ZipFile(zips / f"{path.name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(path, path.name)
    done = import_files([zips], tmp_path / "zipped")
    assert not done.unknown
    for name, kind in (("patents", Patent), ("citations", Citation), ("relations", Relation)):
        zipped, unpacked = (list(read_records(tmp_path / place / name, kind)) for place in ("zipped", "unpacked"))
        assert zipped == unpacked != []
    whole = (zips / "g_patent.tsv.zip").read_bytes()
    for content, said in (
        (whole[: len(whole) // 2], "not a complete zip file"),
        (with_wrong_sum(whole), "the table in the zip file cannot be read"),
    ):
        (zips / "g_patent.tsv.zip").write_bytes(content)
        with pytest.raises(DataError, match=said):
            import_files([zips], tmp_path / "broken", "patentsview")
