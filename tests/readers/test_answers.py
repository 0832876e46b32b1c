"""Answers of APIs in the forms of their documentation, written by the test, and objects in the cells of tables."""

from __future__ import annotations

import json

import pytest

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import answers, recognise
from patent_mteb.readers.items import Note, Skipped
from patent_mteb.readers.objects import as_text, texts_in
from tests.readers.test_enriched import record
from tests.readers.test_json_sources import HUPD, LENS
from tests.readers.test_uspto_json import DOCUMENT, WRAPPER

RECORDS = {"lens-json": LENS, "hupd": HUPD, "ppubs": DOCUMENT, "odp": WRAPPER}
ENVELOPES = {
    "data last": lambda one: {"total": 1, "results": 1, "data": [one]},
    "data first": lambda one: {"data": [one], "max_score": 1.0, "facets": [{"name": "x", "count": 2}]},
    "Solr": lambda one: {"responseHeader": {"status": 0}, "response": {"numFound": 1, "docs": [one]}},
    "Elasticsearch": lambda one: {"took": 1, "hits": {"total": {"value": 1}, "hits": [{"_id": "1", "_source": one}]}},
    "deep": lambda one: {"a": {"b": {"c": {"d": {"e": [one]}}}}},
    "one object": lambda one: {"status": "success", "record": one},
    "list of answers": lambda one: [{"total": 0, "data": []}, {"total": 1, "data": [one]}],
}


def read(path):
    reader = recognise(path)
    return reader.name if reader else None, list(reader.read(path)) if reader else []


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")
    return path


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


@pytest.mark.parametrize("source", RECORDS)
@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize("form", ["json", "jsonl", "indented"])
def test_a_record_is_the_same_within_any_answer(tmp_path, source, envelope, form):
    alone = of(read(written(tmp_path / "alone.jsonl", RECORDS[source]))[1], Patent)
    answer = ENVELOPES[envelope](RECORDS[source])
    path = tmp_path / f"answer.{'json' if form == 'indented' else form}"
    written(path, json.dumps(answer, indent=1 if form == "indented" else None))
    name, items = read(path)
    assert (name, of(items, Patent)) == (source, alone)


def test_answers_one_a_line_count_empty_ones_errors_and_other_objects(tmp_path):
    lines = [{"total": 1, "data": [LENS]}, {"total": 0, "data": []}, {"message": "rate limit"}, {"data": [LENS, "?"]}]
    path = written(tmp_path / "answers.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
    name, items = read(path)
    assert (name, len(of(items, Patent))) == ("lens-json", 1)
    assert [(one.place, one.reason) for one in of(items, Skipped) if "citation" not in one.reason] == [
        ("row 2", answers.NO_RECORD),
        ("row 3", answers.NO_RECORD),
        ("row 4, entry 1", "the same document once more"),
        ("row 4, entry 2", "no JSON object (incomplete, malformed, or another value)"),
    ]


def test_an_answer_that_is_longer_than_the_start_of_the_file_is_recognised(tmp_path):
    long = LENS | {"description": {"text": "Pumps leak. " * 1000, "lang": "en"}}
    answer = {
        "total": 500,
        "facets": [{"name": "x"}],
        "data": [long | {"doc_number": str(9000000 + n)} for n in range(500)],
    }
    path = written(tmp_path / "answer.json", answer)
    assert path.stat().st_size > answers._HEAD
    name, items = read(path)
    assert (name, len(of(items, Patent))) == ("lens-json", 500)


def test_scholarly_works_of_lens_are_not_patents(tmp_path):
    work = {
        "lens_id": "000-000-000-000-001",
        "title": "Pumps",
        "authors": [{"last_name": "Li"}],
        "year_published": 2020,
    }
    assert recognise(written(tmp_path / "works.json", {"data": [work]})) is None


def test_enriched_citations_are_recognised_although_the_first_has_no_document(tmp_path):
    cited = record()
    first = {key: value for key, value in cited.items() if key != "citedDocumentIdentifier"}
    path = written(tmp_path / "pull.jsonl", "\n".join(map(json.dumps, (first, cited))) + "\n")
    name, items = read(path)
    assert (name, len(of(items, Citation)), len(of(items, Skipped))) == ("uspto-citations", 1, 1)


def docdb(country, number, kind, date=""):
    names = {"country": country, "doc-number": number, "kind": kind, "date": date}
    return {"@document-id-type": "docdb", **{name: {"$": text} for name, text in names.items() if text}}


OPS = {
    "ops:world-patent-data": {
        "@xmlns": {"ops": "http://ops.epo.org", "$": "http://www.epo.org/exchange"},
        "ops:meta": {"@name": "elapsed-time", "@value": "3"},
        "exchange-documents": {
            "exchange-document": {
                "@system": "ops.epo.org", "@family-id": "19768124", "@country": "EP", "@doc-number": "3000500", "@kind": "A1",
                "bibliographic-data": {
                    "publication-reference": {"document-id": [docdb("EP", "3000500", "A1", "20160330"), {"@document-id-type": "epodoc", "doc-number": {"$": "EP3000500"}}]},
                    "application-reference": {"@doc-id": "1", "document-id": docdb("EP", "14789012", "A", "20141001")},
                    "classifications-ipcr": {"classification-ipcr": [{"@sequence": "1", "text": {"$": "F04B   1/    00            A I                    "}}]},
                    "patent-classifications": {"patent-classification": {"@sequence": "1", "classification-scheme": {"@office": "EP", "@scheme": "CPCI"}, "section": {"$": "F"}, "class": {"$": "04"}, "subclass": {"$": "B"}, "main-group": {"$": "1"}, "subgroup": {"$": "02"}}},
                    "parties": {"inventors": {"inventor": [{"@sequence": "1", "@data-format": "epodoc", "inventor-name": {"name": {"$": "LEE ANN [GB]"}}}, {"@sequence": "1", "@data-format": "original", "inventor-name": {"name": {"$": "Lee, Ann"}}}]}},
                    "invention-title": [{"@lang": "de", "$": "Pumpe"}, {"@lang": "en", "$": "Pump & valve"}],
                    "references-cited": {"citation": [
                        {"@cited-phase": "search", "@cited-by": "examiner", "@sequence": "1", "patcit": {"@num": "1", "document-id": docdb("US", "9000001", "B2")}, "category": [{"$": "X"}, {"$": "A"}], "rel-claims": [{"$": "1-3"}, {"$": "4"}]},
                        {"@cited-phase": "search", "@sequence": "2", "nplcit": {"text": {"$": "A book"}}},
                    ]},
                },
                "abstract": {"@lang": "en", "p": [{"$": "A pump."}, {"$": "It has a valve."}]},
            }
        },
    }
}  # fmt: skip


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_ops_in_json_is_read_as_its_xml(tmp_path, form):
    name, items = read(written(tmp_path / f"answer.{form}", OPS))
    (patent,) = of(items, Patent)
    assert (name, patent.publication_number, patent.family_id) == ("ops", "EP3000500A1", "19768124")
    assert (patent.title, patent.translations[0].title) == ("Pump & valve", "Pumpe")
    assert patent.abstract.split() == ["A", "pump.", "It", "has", "a", "valve."]
    assert (patent.ipc, patent.cpc, patent.inventors) == (("F04B1/00",), ("F04B1/02",), ("Lee, Ann",))
    assert (str(patent.publication_date), str(patent.application_date)) == ("2016-03-30", "2014-10-01")
    assert [(one.cited, one.category, one.claims) for one in of(items, Citation)] == [
        ("US9000001B2", "X", (1, 2, 3)),
        ("US9000001B2", "A", (4,)),
    ]


API = {
    "patent_id": "10100840", "patent_title": "Pump", "patent_abstract": "A pump.", "patent_date": "2018-10-16", "patent_type": "utility", "wipo_kind": "B2",
    "application": [{"application_id": "15/123456", "filing_date": "2016-01-02"}],
    "inventors": [{"inventor_name_first": "Ann", "inventor_name_last": "Lee", "inventor_sequence": 0}, {"inventor_country": "JP"}],
    "assignees": [{"assignee_organization": "Acme", "assignee_individual_name_first": None}],
    "cpc_current": [{"cpc_sequence": 0, "cpc_section": "F", "cpc_class_id": "F04", "cpc_subclass_id": "F04B", "cpc_group_id": "F04B1/02"}],
    "ipcr": [{"ipc_section": "F", "ipc_class": "04", "ipc_subclass": "B", "ipc_main_group": "1", "ipc_subgroup": "00"}],
    "us_patent_citations": [{"citation_patent_id": "9000001", "citation_category": "cited by examiner"}],
    "us_application_citations": [{"citation_document_number": 20120012345, "citation_category": "cited by applicant"}],
    "foreign_citations": [{"citation_number": "3000500", "citation_country": "EP"}],
    "foreign_priority": [{"foreign_application_id": "2013-050222", "foreign_country_filed": "JP", "filing_date": "2013-03-19"}],
    "us_related_documents": [{"related_doc_type": "us-provisional-application", "related_doc_number": "61790730"}],
    "granted_pregrant_crosswalk": [{"document_number": 20170012345}],
}  # fmt: skip
LEGACY = {
    "patent_number": "8000002", "patent_title": "Valve", "patent_date": "2011-08-16", "patent_kind": "B2",
    "inventors": [{"inventor_first_name": "Bo", "inventor_last_name": "Ray", "inventor_key_id": "1"}],
    "assignees": [{"assignee_organization": None, "assignee_first_name": "Cy", "assignee_last_name": "Orr"}],
    "applications": [{"app_number": "12345678", "app_date": "2009-01-02", "app_id": "12/345678"}],
    "cpcs": [{"cpc_section_id": "F", "cpc_group_id": "F16K", "cpc_subgroup_id": "F16K3/02"}],
    "IPCs": [{"ipc_section": "F", "ipc_class": "16", "ipc_subclass": "K", "ipc_main_group": "3", "ipc_subgroup": "02"}],
    "cited_patents": [{"cited_patent_number": "7000003", "cited_patent_category": "cited by applicant"}, {"cited_patent_number": None}],
    "application_citations": [{"appcit_app_number": "20050012345"}, {"appcit_app_number": "10123456"}],
    "citedby_patents": [{"citedby_patent_number": "9000004"}],
}  # fmt: skip


def test_the_patent_search_api_and_its_predecessor_are_read(tmp_path):
    design = API | {"patent_id": "D900000", "patent_type": "design"}
    path = written(tmp_path / "answer.json", {"error": False, "count": 3, "patents": [API, LEGACY, design]})
    name, items = read(path)
    first, second = of(items, Patent)
    assert (name, first.publication_number, first.title, first.abstract) == (
        "patentsview-api",
        "US10100840B2",
        "Pump",
        "A pump.",
    )
    assert (first.ipc, first.cpc, first.inventors, first.applicants) == (
        ("F04B1/00",),
        ("F04B1/02",),
        ("Ann Lee",),
        ("Acme",),
    )
    assert (str(first.publication_date), str(first.application_date), str(first.priority_date)) == (
        "2018-10-16",
        "2016-01-02",
        "2013-03-19",
    )
    assert (second.publication_number, second.ipc, second.cpc) == ("US8000002B2", ("F16K3/02",), ("F16K3/02",))
    assert (second.inventors, second.applicants, second.application_number) == (("Bo Ray",), ("Cy Orr",), "US12345678")
    assert [(one.citing, one.cited, one.origin) for one in of(items, Citation)] == [
        ("US10100840B2", "US9000001", "examiner"),
        ("US10100840B2", "US2012012345", "applicant"),
        ("US10100840B2", "EP3000500", ""),
        ("US8000002B2", "US7000003", "applicant"),
        ("US8000002B2", "US2005012345", ""),
    ]
    assert {(one.related, one.kind) for one in of(items, Relation) if one.number == "US10100840B2"} == {
        ("US15123456", "application"), ("JP2013050222", "priority"), ("US61790730", "provisional"), ("US2017012345A1", "pre-grant"),
    }  # fmt: skip
    assert [one.reason for one in of(items, Skipped)] == [
        "a citation of an application that names no publication",
        "not a utility patent (design)",
    ]
    assert [one.example for one in of(items, Note)] == ["document 1, entry 1: inventor_country"]


def test_entries_of_citations_and_of_claims_of_the_api(tmp_path):
    cited = {
        "patent_id": "10100840",
        "citation_sequence": 0,
        "citation_patent_id": "9000001",
        "citation_category": "cited by examiner",
    }
    claim = {"patent_id": "10100840", "claim_sequence": 0, "claim_text": "1. A pump.", "claim_number": "00001"}
    _, items = read(written(tmp_path / "c.json", {"us_patent_citations": [cited], "total_hits": 1}))
    assert items == [Citation("US10100840", "US9000001", origin="examiner")]
    name, items = read(written(tmp_path / "t.json", {"g_claims": [claim]}))
    assert (name, [type(one) for one in items]) == ("patentsview-api", [Skipped])


def test_publications_of_the_api_name_their_grant(tmp_path):
    row = {
        "document_number": 20170012345, "publication_title": "Pump", "publication_date": "2017-01-12", "publication_type": "utility",
        "granted_pregrant_crosswalk": [{"patent_id": 10100840}],
    }  # fmt: skip
    _, items = read(written(tmp_path / "p.json", {"publications": [row]}))
    assert of(items, Patent)[0].publication_number == "US2017012345A1"
    assert of(items, Relation)[-1] == Relation("US10100840", "US2017012345", "pre-grant")


def test_a_table_with_its_own_columns_next_to_names_of_the_api_stays_a_table(tmp_path):
    rows = [{"patent_number": "US9000001B2", "patent_title": "Pump", "claims": "1. A pump."}]
    name, items = read(written(tmp_path / "own.json", rows))
    assert (name, len(of(items, Patent)[0].claims)) == ("table", 1)


OBJECTS = [
    ("name", {"name": "Ann Lee", "country": "US"}, ["Ann Lee"]),
    ("name", {"first_name": "Ann", "last_name": "Lee"}, ["Ann Lee"]),
    ("name", {"first_name": "", "last_name": "LEE, ANN"}, ["LEE, ANN"]),
    ("name", {"extracted_name": {"value": "LEE ANN"}, "sequence": 1}, ["LEE ANN"]),
    ("name", {"assignee_organization": "Acme", "assignee_id": "7"}, ["Acme"]),
    ("name", {"country": "JP", "id": "7"}, [""]),
    ("code", {"code": "F04B1/00", "inventive": True}, ["F04B1/00"]),
    ("code", {"symbol": "F04B1/00", "name": "Pumps"}, ["F04B1/00"]),
    ("code", {"classification_symbol": "F04B1/00"}, ["F04B1/00"]),
    ("code", {"section": "F", "class": "04", "subclass": "B", "main_group": "1", "subgroup": "00"}, ["F04B1/00"]),
    ("code", {"lime": "F04B 1/00", "x": 2}, ["F04B 1/00"]),
    ("number", {"publication_number": "US9000001B2", "title": "X"}, ["US9000001B2"]),
    ("number", {"document_id": {"jurisdiction": "EP", "doc_number": "3000500", "kind": "A1"}}, ["EP3000500A1"]),
    ("number", {"country": "US", "number": "9000001", "kind": "B2"}, ["US9000001B2"]),
    ("number", {"US-9000001-B2": {"date": "20150407"}, "EP-3000500-A1": {}}, ["US-9000001-B2", "EP-3000500-A1"]),
    ("number", {"title": "A pump of steel", "lens_id": "1"}, [""]),
    ("cited", {"publication_number": "US9000001B2", "category": "X"}, ["US9000001B2 [X]"]),
    ("cited", {"publication_number": "US9000001B2", "type": "patent"}, ["US9000001B2"]),
    ("cited", {"original": [{"publication_number": "US9000001B2"}], "family": []}, ["US9000001B2"]),
    ("text", {"text": "A pump.", "lang": "en"}, ["A pump."]),
    ("text", {"raku": "1. A pump of steel.", "tud": "00001"}, ["1. A pump of steel."]),
    ("text", {"a": 1, "b": 2}, [""]),
]


@pytest.mark.parametrize(("wanted", "value", "expected"), OBJECTS)
@pytest.mark.parametrize("packed", [False, True])
def test_of_an_object_the_member_that_fits_is_read(wanted, value, expected, packed):
    unread: list[str] = []
    assert texts_in([json.dumps(value)] if packed else [value], wanted, unread) == expected
    assert unread == ([", ".join(value)] if expected == [""] else [])


def test_no_json_text_enters_a_field_of_a_table(tmp_path):
    odd = {"x": {"y": 1}}
    row = {
        "publication_number": "US9000001B2", "title": odd, "abstract": [odd], "inventors": [odd, {"name": "Ann Lee"}], "assignee": odd,
        "ipc": [odd, {"code": "F04B1/00"}], "cpc": odd, "keywords": [odd], "publication_date": odd, "citations": [odd],
    }  # fmt: skip
    name, items = read(written(tmp_path / "rows.json", [row, row | {"publication_number": "US9000002B2"}]))
    assert name == "table"
    first = of(items, Patent)[0]
    assert not any(mark in repr(first) for mark in ("{'x'", '{"x"', "{'y'", '{"y"'))
    assert (first.inventors, first.ipc, of(items, Citation)) == (("Ann Lee",), ("F04B1/00",), [])
    noted = {one.what for one in of(items, Note)}
    assert {
        f"objects without {what} are left empty" for what in ("a name", "a class code", "a number", "a text")
    } <= noted


def test_texts_in_several_languages_and_numbered_claims_in_objects(tmp_path):
    row = {
        "publication_number": "EP3000500A1",
        "title": [{"lang": "de", "text": "Pumpe"}, {"lang": "en", "text": "Pump"}],
        "claims": [
            {"num": "00001", "text": "1. A pump."},
            {"num": "00003", "text": "The pump of claim 1, with 2. a valve."},
        ],
    }
    _, items = read(written(tmp_path / "rows.json", [row]))
    (patent,) = of(items, Patent)
    assert (patent.title, patent.translations[0].title, patent.languages.title) == ("Pump", "Pumpe", "en")
    assert [(one.number, one.depends_on) for one in patent.claims] == [(1, ()), (3, (1,))]


def test_the_table_of_an_answer_is_its_list_with_most_known_names(tmp_path):
    answer = {
        "search_metadata": {"id": "1"},
        "summary": {"assignee": [{"key": "Total", "percentage": 100}]},
        "organic_results": [
            {"position": 1, "publication_number": "US9000001B2", "title": "Pump", "inventor": "Ann Lee"}
        ],
    }
    _, items = read(written(tmp_path / "answer.json", answer))
    assert [(one.publication_number, one.title, one.inventors) for one in of(items, Patent)] == [
        ("US9000001B2", "Pump", ("Ann Lee",))
    ]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_records_in_an_object_of_a_row_are_read(tmp_path, form):
    row = {
        "publication_number": "US9000001B2",
        "success": True,
        "data": {"publication_number": "US9000001B2", "title": "Pump", "inventors": [{"name": "Ann Lee"}]},
    }
    _, items = read(written(tmp_path / f"row.{form}", row))
    (patent,) = of(items, Patent)
    assert (patent.title, patent.inventors) == ("Pump", ("Ann Lee",))


def test_a_text_is_not_the_text_of_an_object():
    assert as_text('{"text": "A pump."}') == '{"text": "A pump."}'
    assert as_text([{"text": "A pump."}, {"text": "A valve."}]) == "A pump.\nA valve."
