"""PATSTAT's raw tables in their published columns; the join on three keys against one written row by row."""

from __future__ import annotations

import csv

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import recognise
from patent_mteb.readers.importing import import_files
from patent_mteb.readers.items import Skipped

TABLES = {
    "tls201_appln": [
        (
            "appln_id appln_auth appln_nr appln_kind appln_filing_date earliest_filing_date docdb_family_id"
            " inpadoc_family_id granted"
        ),
        ("1", "EP", "99203729", "A", "1999-11-08", "1998-11-12", "19768124", "77", "Y"),
        ("2", "US", "07000001", "A", "1990-01-01", "9999-12-31", "0", "78", "N"),
        ("3", "NL", "1010536", "A", "1998-11-12", "1998-11-12", "19768124", "77", "N"),
    ],
    "tls202_appln_title": ["appln_id appln_title_lg appln_title", ("1", "en", 'Bricks, "green"')],
    "tls203_appln_abstr": ["appln_id appln_abstract_lg appln_abstract", ("1", "fr", "Des briques")],
    "tls209_appln_ipc": [
        "appln_id ipc_class_symbol ipc_class_level ipc_version ipc_value ipc_position ipc_gener_auth",
        ("1", "A01D  57/24", "A", "2006-01-01", "I", "L", "EP"),
        ("1", "B28B   5/02", "A", "2006-01-01", "I", "F", "EP"),
    ],
    "tls224_appln_cpc": ["appln_id cpc_class_symbol", ("1", "B28B   5/022")],
    "tls211_part01": [
        "pat_publn_id publn_auth publn_nr publn_nr_original publn_kind appln_id publn_date publn_lg",
        ("10", "EP", "1000000", "1000000", "A1", "1", "2000-05-17", "en"),
        ("11", "EP", "1000000", "1000000", "B1", "1", "2003-02-12", "en"),
    ],
    "tls211_part02": [
        "pat_publn_id publn_auth publn_nr publn_nr_original publn_kind appln_id publn_date publn_lg",
        ("20", "US", "5000000", "5000000", "A", "2", "1991-03-19", "en"),
        ("21", "DE", "3546191", "3546191", "A1", "9", "1987-07-02", "de"),
        ("0", "", "0", "", "", "0", "9999-12-31", ""),
    ],
    "tls212_citation": [
        (
            "pat_publn_id citn_replenished citn_id citn_origin cited_pat_publn_id cited_appln_id pat_citn_seq_nr"
            " cited_npl_publn_id npl_citn_seq_nr citn_gener_auth"
        ),
        ("10", "0", "1", "SEA", "20", "0", "1", "0", "0", "EP"),
        ("10", "0", "2", "SEA", "21", "0", "2", "0", "0", "EP"),
        ("10", "0", "3", "SEA", "0", "0", "0", "55", "1", "EP"),
        ("10", "99", "1", "ISR", "20", "0", "1", "0", "0", "EP"),
        ("11", "99", "1", "ISR", "21", "0", "1", "0", "0", "EP"),
        ("11", "0", "1", "FOP", "20", "0", "1", "0", "0", "EP"),
        ("11", "0", "2", "EXA", "0", "2", "2", "0", "0", "EP"),
        ("11", "0", "3", "EXA", "404", "0", "2", "0", "0", "EP"),
    ],
    "tls215_citn_categ": [
        "pat_publn_id citn_replenished citn_id citn_categ relevant_claim",
        ("10", "0", "1", "X", "1"),
        ("10", "0", "1", "X", "2"),
        ("10", "0", "1", "Y", "3"),
        ("10", "0", "2", "A", ""),
        ("10", "99", "1", "AD", "9"),
        ("11", "99", "1", "XD", "4"),
    ],
    "tls204_appln_prior": ["appln_id prior_appln_id prior_appln_seq_nr", ("1", "3", "1")],
}


@pytest.fixture
def folder(tmp_path):
    for name, (header, *rows) in TABLES.items():
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([header.split(), *rows])
    return tmp_path


def read(folder, name, kind):
    reader = recognise(folder / f"{name}.csv")
    assert reader.name == "patstat-tables"
    return [item for item in reader.read(folder / f"{name}.csv") if isinstance(item, kind)]


def test_publications_take_texts_codes_and_families_of_their_application(folder):
    first, second = read(folder, "tls211_part01", Patent)
    got = (first.publication_number, second.publication_number, first.family_id)
    assert got == ("EP1000000A1", "EP1000000B1", "19768124")
    assert (first.title, first.abstract, first.languages.abstract) == ('Bricks, "green"', "Des briques", "fr")
    assert (first.ipc, first.cpc, first.application_number) == (("B28B5/02", "A01D57/24"), ("B28B5/022",), "EP99203729")
    other, alone = read(folder, "tls211_part02", Patent)
    assert (other.family_id, other.priority_date, alone.family_id) == ("78", None, "DE3546191A1")
    assert [item.reason for item in read(folder, "tls211_part02", Skipped)] == ["no publication number"]


def test_citations_are_joined_on_three_keys(folder):
    found = read(folder, "tls212_citation", Citation)
    assert found == [
        Citation("EP1000000A1", "US5000000A", "X", "examiner", (1, 2), (), "search", "EP"),
        Citation("EP1000000A1", "US5000000A", "Y", "examiner", (3,), (), "search", "EP"),
        Citation("EP1000000A1", "DE3546191A1", "A", "examiner", (), (), "search", "EP"),
        Citation("EP1000000B1", "DE3546191A1", "XD", "examiner", (4,), (), "international-search", "EP"),
        Citation("EP1000000B1", "US5000000A", "", "", (), (), "opposition", "EP"),  # by an opponent
    ]
    naive = 0
    _, *citations = TABLES["tls212_citation"]
    for row in citations:
        letters = {categ for *key, categ, _ in TABLES["tls215_citn_categ"][1:] if tuple(key) == row[:3]}
        naive += (len(letters) or 1) if row[4] in ("20", "21") and row[:3] != ("10", "99", "1") else 0
    assert len(found) == naive
    assert [item.reason for item in read(folder, "tls212_citation", Skipped)] == [
        "a citation of other literature than patents",
        "a citation of the international search report, repeated for the European publication",
        "a citation of an application that names no publication",
        "a citation of or by a publication that tls211 does not have",
    ]


def test_priorities_and_a_whole_folder(folder, tmp_path):
    assert read(folder, "tls204_appln_prior", Relation) == [
        Relation(f"EP1000000{kind}", "NL1010536", "priority") for kind in ("A1", "B1")
    ]
    done = import_files([folder], tmp_path / "out")
    assert not done.unknown
    assert sum(account.records["patents"] for account in done.accounts) == 4
    assert {account.source for account in done.accounts} == {"patstat-tables"}


def test_what_is_missing_is_named(folder):
    (folder / "tls211_part01.csv").unlink()
    (folder / "tls211_part02.csv").unlink()
    with pytest.raises(DataError, match="tls211 is missing in its folder"):
        read(folder, "tls212_citation", Citation)
    (folder / "tls204_appln_prior.csv").write_text("appln_id,prior\n1,2\n")
    (folder / "tls211_x.csv").write_text("appln_id,publn_auth,publn_nr,publn_kind\n")
    with pytest.raises(DataError, match="column 'prior_appln_id' is missing"):
        read(folder, "tls204_appln_prior", Relation)
