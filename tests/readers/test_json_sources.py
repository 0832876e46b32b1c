"""Lens.org, HUPD and Google's publications in JSON: synthetic rows in the published fields."""

from __future__ import annotations

import datetime as dt
import gzip
import json

import polars as pl
import pytest

from patent_mteb.patents.records import Citation, Claim, Patent, Relation
from patent_mteb.readers import recognise
from patent_mteb.readers.items import Skipped

LENS = {
    "lens_id": "031-156-664-106-04X",
    "jurisdiction": "US",
    "doc_number": "2007/0140112",
    "kind": "A1",
    "date_published": "2007-06-21",
    "docdb_id": 1,
    "lang": "en",
    "biblio": {
        "publication_reference": {"jurisdiction": "US", "doc_number": "20070140112", "kind": "A1", "date": "2007-06-21"},
        "application_reference": {"jurisdiction": "US", "doc_number": "11303211", "kind": "A", "date": "2005-12-16"},
        "priority_claims": {"claims": [{"jurisdiction": "JP", "doc_number": "2004-365432", "kind": "A", "date": "2004-12-17"}]},
        "invention_title": [{"text": "Pump", "lang": "en"}, {"text": "Pompe", "lang": "fr"}],
        "classifications_ipcr": {"classifications": [{"symbol": "F04B 1/00"}, {"symbol": "F04B 1/00"}]},
        "classifications_cpc": {"classifications": [{"symbol": "F04B1/02"}]},
        "parties": {"inventors": [{"extracted_name": {"value": "LI MIN"}}], "applicants": [{"extracted_name": {"value": "ACME"}}]},
        "references_cited": {
            "citations": [
                {"sequence": 1, "patcit": {"document_id": {"jurisdiction": "EP", "doc_number": "0680812", "kind": "A1"}},
                 "cited_phase": "SEA", "category": ["X", "Y"]},
                {"sequence": 2, "nplcit": {"text": "A book"}, "cited_phase": "APP"},
            ]
        },
    },
    "abstract": [{"text": "A pump.", "lang": "en"}],
    "claims": [{"claims": [{"claim_text": ["1. A pump."]}, {"claim_text": ["2. The pump", "of claim 1."]}], "lang": "en"}],
    "description": {"text": "Pumps leak.", "lang": "en"},
    "families": {"simple_family": {"size": 2, "members": [
        {"document_id": {"jurisdiction": "US", "doc_number": "20070140112", "kind": "A1"}},
        {"document_id": {"jurisdiction": "EP", "doc_number": "1234567", "kind": "A1"}}]}},
}  # fmt: skip
HUPD = {
    "application_number": "15001122", "publication_number": "US20160212345A1-20160721", "title": "PUMP", "decision": "ACCEPTED",
    "date_produced": "20160705", "date_published": "20160721", "main_cpc_label": "F04B102", "cpc_labels": ["F04B102", "G06F1730"],
    "main_ipcr_label": "F04B100", "ipcr_labels": ["F04B100"], "patent_number": "", "filing_date": "20160119", "patent_issue_date": "",
    "abandon_date": "", "uspc_class": "", "uspc_subclass": "", "examiner_id": "", "examiner_name_last": "",
    "inventor_list": [{"inventor_name_last": "Li", "inventor_name_first": "Min"}], "abstract": "A pump.",
    "claims": "1. A pump. 2. The pump of claim 1, being green.", "background": "Pumps leak.", "summary": "This one does not.",
    "full_description": "Pumps leak.\nThis one does not.\nFIG. 1 shows it.",
}  # fmt: skip


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def read(path, name):
    reader = recognise(path)
    assert reader.name == name
    return list(reader.read(path))


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


def test_lens_rows_become_records(tmp_path):
    items = read(
        lines(tmp_path / "lens.jsonl", LENS, LENS, LENS | {"doc_number": ""}, LENS | {"biblio": "?"}), "lens-json"
    )
    (patent,) = of(items, Patent)
    assert (patent.publication_number, patent.family_id, patent.keywords) == (
        "US2007140112A1",
        "EP1234567A1",
        ("lens:031-156-664-106-04X",),
    )
    assert patent.claims == (Claim(1, "A pump."), Claim(2, "The pump of claim 1.", (1,)))
    assert (patent.title, patent.translations[0].title, patent.description.detailed) == ("Pump", "Pompe", "Pumps leak.")
    assert (patent.ipc, patent.cpc, patent.inventors, patent.applicants) == (
        ("F04B1/00",),
        ("F04B1/02",),
        ("LI MIN",),
        ("ACME",),
    )
    assert (patent.priority_date, patent.filing_jurisdiction) == (dt.date(2004, 12, 17), "JP")
    assert [(one.cited, one.category, one.origin, one.phase) for one in of(items, Citation)] == [
        ("EP0680812A1", "X", "examiner", "search"),
        ("EP0680812A1", "Y", "examiner", "search"),
    ]
    assert [(one.related, one.kind) for one in of(items, Relation)] == [
        ("US11303211", "application"), ("JP2004365432", "priority"), ("EP1234567A1", "member"),
    ]  # fmt: skip
    assert [one.reason for one in of(items, Skipped)] == [
        "a citation of other literature than patents",
        "the same document once more",
        "no publication number",
        "a field has another type than the documentation of the source says",
    ]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_hupd_applications_become_records(tmp_path, form):
    (path := tmp_path / f"15001122.{form}").write_text(json.dumps(HUPD, indent=1 if form == "json" else None))
    items = read(path, "hupd")
    (patent,) = of(items, Patent)
    assert (patent.publication_number, patent.application_number) == ("US2016212345A1", "US15001122")
    assert (patent.ipc, patent.cpc, patent.inventors) == (("F04B",), ("F04B", "G06F"), ("Min Li",))
    assert [claim.depends_on for claim in patent.claims] == [(), (1,)]
    sections = patent.description
    got = (sections.background, sections.summary, sections.detailed)
    assert got == ("Pumps leak.", "This one does not.", "FIG. 1 shows it.")


GOOGLE = {
    "publication_number": "US-8930553-B2", "application_number": "US-201213648029-A", "country_code": "US", "kind_code": "B2",
    "family_id": "50432300", "title_localized": [{"text": "Pumpe", "language": "de"}, {"text": "Pump", "language": "en"}],
    "abstract_localized": [{"text": "A pump.", "language": "en", "truncated": False}],
    "claims_localized": [{"text": "1. A pump. 2. The pump of claim 1.", "language": "en", "truncated": False}],
    "description_localized": [{"text": "BACKGROUND\nPumps leak.\nSUMMARY\nOurs does not.", "language": "en", "truncated": False}],
    "inventor_harmonized": [{"name": "LI MIN", "country_code": "US"}], "publication_date": 20150106, "filing_date": 20121009, "grant_date": 20150106, "priority_date": 0,
    "ipc": [{"code": "G06F15/16", "inventive": True, "first": True, "tree": []}], "cpc": [{"code": "H04L65/1066", "inventive": True}],
    "citation": [
        {"publication_number": "US-7844851-B2", "application_number": "", "npl_text": "", "type": "X", "category": "SEA", "filing_date": 0},
        {"publication_number": "", "application_number": "", "npl_text": "A book", "type": "", "category": "APP", "filing_date": 0},
    ],
}  # fmt: skip


@pytest.mark.parametrize("form", ["parquet", "jsonl", "jsonl.gz"])
def test_google_publications_are_read_nested(tmp_path, form):
    path = tmp_path / f"publications.{form}"
    if form == "parquet":
        pl.DataFrame([GOOGLE]).write_parquet(path)
    else:
        lines(path, {name: str(value) if isinstance(value, int) else value for name, value in GOOGLE.items()})
    if form.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    items = read(path, "bigquery")
    (patent,) = of(items, Patent)
    assert (patent.publication_number, patent.family_id, patent.title) == ("US8930553B2", "50432300", "Pump")
    assert (patent.languages.title, patent.translations[0].title, patent.inventors) == ("en", "Pumpe", ("LI MIN",))
    assert patent.description.summary == "SUMMARY\nOurs does not."
    assert (str(patent.publication_date), patent.priority_date, patent.ipc) == ("2015-01-06", None, ("G06F15/16",))
    assert [claim.depends_on for claim in patent.claims] == [(), (1,)]
    (citation,) = of(items, Citation)
    got = (citation.cited, citation.category, citation.phase, citation.origin)
    assert got == ("US7844851B2", "X", "search", "examiner")
