"""Enriched citations, written by the test with the fields of the API."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation
from patent_mteb.readers import enriched, recognise
from patent_mteb.readers.importing import import_files
from patent_mteb.readers.items import Note, Skipped


def record(**values):
    usual = {
        "patentApplicationNumber": "16123456",
        "citedDocumentIdentifier": "US 2007/0261094  A1",
        "countryCode": "US",
        "kindCode": "A1",
        "citationCategoryCode": "X",
        "relatedClaimNumberText": "1-3,7",
        "passageLocationText": ["page 4 paragraphs [0036]-[0043] | claim 3", "figure 2"],
        "officeActionDate": "2019-05-17T00:00:00",
        "examinerCitedReferenceIndicator": True,
        "applicantCitedExaminerReferenceIndicator": False,
        "nplIndicator": False,
        "qualitySummaryText": "AOK",
    }
    return {"publicationNumber": None, "kindCode": None} | usual | values


ROWS = [
    record(),
    record(
        patentApplicationNumber="15000001",
        citationCategoryCode="Y",
        relatedClaimNumberText="1, 7",
        passageLocationText=None,
    ),
    record(nplIndicator=True, citedDocumentIdentifier="A book", officeActionDate="2020-01-01"),
    record(qualitySummaryText="FAIL", officeActionDate="2020-01-01"),
    record(citedDocumentIdentifier=" ", officeActionDate="2020-01-01"),
    record(patentApplicationNumber=None),
    record(
        citedDocumentIdentifier="Fictitious 99-X",
        countryCode="",
        kindCode="",
        examinerCitedReferenceIndicator=False,
        officeActionDate="2020-01-02",
    ),
]
FIRST = Citation(
    "application US16123456", "US2007261094A1", "X", "examiner", (1, 2, 3, 7), ("page 4 paragraphs [0036]-[0043]", "claim 3", "figure 2"),
    "examination", "US", dt.date(2019, 5, 17),
)  # fmt: skip


@pytest.mark.parametrize("answers", [False, True])
def test_records_become_citations_of_applications(tmp_path, answers):
    lines = [{"response": {"numFound": len(ROWS), "docs": ROWS}}] if answers else ROWS
    (path := tmp_path / "citations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert recognise(path).name == "uspto-citations"
    items = list(enriched.READER.read(path))
    first, second, third = [item for item in items if isinstance(item, Citation)]
    assert first == FIRST
    got = (second.citing, second.category, second.claims, second.passages)
    assert got == ("application US15000001", "Y", (1, 7), ())
    assert third.cited == "FICTITIOUS99X"
    assert [item.reason for item in items if isinstance(item, Skipped)] == [
        "a citation of other literature than patents",
        "of insufficient quality (FAIL)",
        "a citation without a number",
        "no application number",
    ]
    assert [item.what for item in items if isinstance(item, Note)] == [
        "a number that cannot be read, stored as written"
    ]


def listed(**values):
    """A record with the fields of the Office Action Citations API (v2), in the form that it publishes."""
    usual = {
        "patentApplicationNumber": "16123456",
        "referenceIdentifier": "Doe; Jane US 20070261094 A1 ",
        "parsedReferenceIdentifier": "20070261094",
        "actionTypeCategory": "rejected",
        "legalSectionCode": "103",
        "officeActionCitationReferenceIndicator": True,
        "examinerCitedReferenceIndicator": True,
        "applicantCitedExaminerReferenceIndicator": False,
        "techCenter": "2800",
    }
    return usual | values


def test_lists_of_office_actions_name_the_statute(tmp_path):
    rows = [
        listed(),
        listed(legalSectionCode="102", examinerCitedReferenceIndicator=False),
        listed(actionTypeCategory="allowed"),
        listed(legalSectionCode="112"),
        listed(referenceIdentifier="US 7,654,321 B2", parsedReferenceIdentifier="7654321"),
        listed(referenceIdentifier="", parsedReferenceIdentifier=""),
        listed(referenceIdentifier="Doe, A book, 1999", parsedReferenceIdentifier="1999"),
    ]
    (path := tmp_path / "citations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert recognise(path).name == "uspto-citations"
    items = list(enriched.READER.read(path))
    found = [item for item in items if isinstance(item, Citation)]
    assert found[0] == Citation(
        *("application US16123456", "US2007261094A1", "", "examiner"),
        phase="examination",
        office="US",
        unit="2800",
        statutes=("103",),
    )
    assert found[0].cited == FIRST.cited  # both sources name one document
    assert [(one.origin, one.statutes) for one in found] == [
        ("examiner", ("103",)),
        ("", ("102",)),
        ("examiner", ()),
        ("examiner", ()),
        ("examiner", ("103",)),
    ]
    assert found[-1].cited == "US7654321B2"
    assert [item.reason for item in items if isinstance(item, Skipped)] == ["a citation without a number"] * 2


def actual(application, action, document, text, **values):
    """A record as the service answers: one text of all locations; without a document, the field is missing."""
    row = record(patentApplicationNumber=application, obsoleteDocumentIdentifier=action, **values)
    row |= {"passageLocationText": [text], "id": f"{application}{action}{document}"}
    return row | {"citedDocumentIdentifier": document} if document else {**row, "citedDocumentIdentifier": None}


@pytest.mark.parametrize("shape", ["lines", "answer"])
def test_passages_of_an_action_that_cites_several_documents_are_left_empty(tmp_path, shape):
    bag = "paragraph [0076]|paragraphs 5-21|c. 103|f.3d|claim 2|claims 11-12"
    rows = [
        actual("16000001", "A1", "US 2013/0341529 A1", bag),
        actual("16000001", "A1", "US 2013/0065442 A1", bag),
        actual("16000002", "B1", "US 2013/0341529 A1", bag),
        actual("16000002", "B1", "US 2013/0341529 A1", bag, relatedClaimNumberText="9"),
        actual("16000002", "B2", "US 2013/0341529 A1", bag),
        actual("16000002", "B2", "", bag),  # another document, of which the service does not give the number
    ]
    lines = rows if shape == "lines" else [{"response": {"numFound": 6, "docs": rows}}]
    (path := tmp_path / "citations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    items = list(enriched.READER.read(path))
    found = [item for item in items if isinstance(item, Citation)]
    assert [bool(one.passages) for one in found] == [False, False, True, True, False]
    assert found[2].passages[:2] == ("paragraph [0076]", "paragraphs 5-21")
    assert sum("several documents" in item.what for item in items if isinstance(item, Note)) == 3


@pytest.mark.parametrize("first", range(3))
def test_a_first_row_without_a_cited_document_is_recognised(tmp_path, first):
    rows = [actual("16000001", "A1", number, "claim 1") for number in ("US 2013/0341529 A1", "", "US 2013/0065442 A1")]
    del rows[1]["citedDocumentIdentifier"]
    rows = [{**row, "publicationNumber": "20130341529"} for row in rows[first:] + rows[:first]]
    (path := tmp_path / "citations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert recognise(path).name == "uspto-citations"
    assert sum(isinstance(item, Citation) for item in enriched.READER.read(path)) == 2


@pytest.mark.parametrize(
    ("fields", "what"),
    [({"hasRej103": 1, "claimNumberArrayDocument": ["1"]}, "oa_rejections"), ({"bodyText": ["Dear"]}, "oa_actions")],
)
def test_other_answers_on_office_actions_are_named(tmp_path, fields, what):
    document = {"patentApplicationNumber": "12190351", "legacyDocumentCodeIdentifier": "CTNF", **fields}
    (path := tmp_path / "answer.json").write_text(json.dumps({"response": {"numFound": 1, "docs": [document]}}))
    with pytest.raises(DataError, match=what):
        import_files([path], tmp_path / "records")
