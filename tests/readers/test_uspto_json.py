"""Patent Public Search and the Open Data Portal in the forms of the office, written by the test; real files are in
``test_recorded_json.py``.
"""

from __future__ import annotations

import datetime as dt
import json

from patent_mteb.patents.records import Citation, Patent, Relation
from patent_mteb.readers import recognise
from patent_mteb.readers.items import Note, Skipped

DOCUMENT = {
    "guid": "US-20160009839-A1", "datePublished": "2016-01-14T00:00:00Z", "type": "US-PGPUB", "inventionTitle": "PUMP &amp; ROTOR",
    "applicationNumber": "14/775837", "applicationFilingDate": ["2014-02-21T00:00:00Z"], "familyIdentifierCur": 50240036,
    "inventorsName": ["PANNELL; Richard B.", "Kinney, Jr; James"], "applicantName": ["ACME, LLC"], "assigneeName": ["Other"],
    "ipcCodeFlattened": "F04B1/00;F04B1/02", "cpcInventiveFlattened": "F04B1/00;Y02E10/20", "cpcAdditionalFlattened": None,
    "abstractHtml": "A pump with <b>rotor</b> (area &lt; 3 m.sup.2).", "backgroundTextHtml": "CROSS-REFERENCE\n[0001] This claims more.",
    "briefHtml": "BACKGROUND<br />[0002] Pumps leak.<br />SUMMARY<br />[0003] This does not.",
    "descriptionHtml": "DETAILED DESCRIPTION<br />[0004] <figref idref=\"DRAWINGS\">FIG. <b>1</b></figref> shows it.",
    "claimsHtml": "<b>1</b>-<b>2</b>. (canceled) <br /> <b>3</b>. A pump.<br /> <b>4</b>. The pump of claim <b>3</b>.",
    "urpn": ["5826261", "20030037073"], "usRefGroup": ["5826261 A Li cited by examiner", "20030037073 A1 Wu cited by applicant"],
    "foreignRefCountryCode": ["EP"], "foreignRefPatentNumber": ["0 379 828"], "foreignRefGroup": ["EP 0 379 828 cited by examiner"],
    "otherRefPub": ["A book. cited by applicant<br />A talk. cited by examiner"],
    "priorityClaimsCountry": ["JP"], "priorityClaimsDate": ["2013-03-19T00:00:00Z"], "priorityClaimsDocNumber": ["2013-050222"],
    "relatedApplNumber": ["61790730", "PCT/US2014/017667"], "relatedApplFilingDate": ["2013-03-15T00:00:00Z", "2014-02-21T00:00:00Z"],
}  # fmt: skip
WRAPPER = {
    "applicationNumberText": "14412875",
    "applicationMetaData": {
        "inventionTitle": "PUMP", "filingDate": "2015-01-05", "applicationTypeLabelName": "Utility", "patentNumber": "9876543",
        "grantDate": "2018-01-23", "earliestPublicationNumber": "US20150157873A1", "earliestPublicationDate": "2015-06-11",
        "cpcClassificationBag": ["F04B1/00", "Y02E  10/20"], "inventorBag": [{"inventorNameText": "Min Li"}],
        "applicantBag": [{"applicantNameText": "ACME"}],
    },
    "parentContinuityBag": [
        {"claimParentageTypeCode": "CIP", "parentApplicationNumberText": "13000001", "parentApplicationFilingDate": "2011-01-03"}
    ],
    "foreignPriorityBag": [{"ipOfficeName": "REPUBLIC OF KOREA", "filingDate": "2010-02-01", "applicationNumberText": "10-2010-0012345"}],
}  # fmt: skip


def read(path, document):
    path.write_text(json.dumps(document, indent=1), "utf-8")
    reader = recognise(path)
    return reader.name, list(reader.read(path))


def of(items, kind):
    return [item for item in items if isinstance(item, kind)]


def test_a_document_of_the_public_search_keeps_its_texts_numbers_and_citations(tmp_path):
    name, items = read(tmp_path / "document.json", DOCUMENT)
    (patent,) = of(items, Patent)
    assert (name, patent.publication_number, patent.family_id) == ("ppubs", "US2016009839A1", "50240036")
    assert (patent.title, patent.abstract) == ("PUMP & ROTOR", "A pump with rotor (area < 3 m.sup.2).")
    assert patent.inventors == ("Richard B. PANNELL", "James Kinney, Jr")
    assert (patent.applicants, patent.ipc, patent.cpc) == (
        ("ACME, LLC",),
        ("F04B1/00", "F04B1/02"),
        ("F04B1/00", "Y02E10/20"),
    )
    assert [(claim.number, claim.text, claim.depends_on) for claim in patent.claims] == [
        (3, "A pump.", ()), (4, "The pump of claim 3.", (3,)),
    ]  # fmt: skip
    assert dict(zip(patent.description.lines(), patent.paragraphs, strict=True)) == {
        "CROSS-REFERENCE": 0, "This claims more.": 1, "BACKGROUND": 0, "Pumps leak.": 2, "SUMMARY": 0, "This does not.": 3,
        "DETAILED DESCRIPTION": 0, "FIG. 1 shows it.": 4,
    }  # fmt: skip
    assert of(items, Citation) == [
        Citation("US2016009839A1", "US5826261", origin="examiner"),
        Citation("US2016009839A1", "US2003037073", origin="applicant"),
        Citation("US2016009839A1", "EP0379828", origin="examiner"),
    ]
    assert {(one.kind, one.related) for one in of(items, Relation)} == {
        ("application", "US14775837"), ("priority", "JP2013050222"), ("provisional", "US61790730"), ("parent", "WO2014US017667"),
    }  # fmt: skip
    assert (patent.priority_date, patent.filing_jurisdiction) == (dt.date(2013, 3, 15), "JP")
    assert [one.what for one in of(items, Note)] == ["a cancelled claim"] * 2
    assert [one.reason for one in of(items, Skipped)] == ["a citation of other literature than patents"] * 2


def test_scanned_documents_and_other_kinds_are_said(tmp_path):
    scanned = {
        "guid": "US-4388879-A",
        "datePublished": "1983-06-21",
        "type": "USOCR",
        "inventionTitle": "OCR SCANNED DOCUMENT",
    }
    plant = scanned | {"guid": "US-PP03823-P"}
    _, items = read(tmp_path / "results.json", {"patents": [scanned, plant, "torn"]})
    assert [(one.publication_number, one.title) for one in of(items, Patent)] == [("US4388879A", "")]
    assert [one.what for one in of(items, Note)] == [
        "a document without any text",
        "a text by character recognition, without sections",
    ]
    assert [one.reason.partition(" (")[0] for one in of(items, Skipped)] == ["not a utility patent", "no JSON object"]


def test_a_file_wrapper_gives_the_publication_and_the_grant(tmp_path):
    other = WRAPPER | {"applicationMetaData": WRAPPER["applicationMetaData"] | {"applicationTypeLabelName": "Design"}}
    name, items = read(tmp_path / "wrapper.json", {"count": 2, "patentFileWrapperDataBag": [WRAPPER, other]})
    early, grant = of(items, Patent)
    assert (name, early.publication_number, grant.publication_number) == ("odp", "US2015157873A1", "US9876543B2")
    assert (early.publication_date, grant.publication_date) == (dt.date(2015, 6, 11), dt.date(2018, 1, 23))
    assert early.family_id == grant.family_id == "US14412875"
    assert grant.cpc == ("F04B1/00", "Y02E10/20")
    assert (grant.inventors, grant.applicants, grant.priority_date) == (("Min Li",), ("ACME",), dt.date(2010, 2, 1))
    assert {(one.kind, one.related) for one in of(items, Relation) if one.number == "US9876543B2"} == {
        ("application", "US14412875"), ("continuation-in-part", "US13000001"), ("priority", "KR20100012345"),
        ("pre-grant", "US2015157873A1"),
    }  # fmt: skip
    assert [one.reason for one in of(items, Skipped)] == ["not a utility patent (design)"]


def test_the_kind_of_a_grant_follows_from_its_date_and_publication(tmp_path):
    def kind(**facts):
        meta = {"inventionTitle": "PUMP", "patentNumber": "6103599", **facts}
        _, items = read(
            tmp_path / "one.json", {"patentFileWrapperDataBag": [{"applicationNumberText": "09089931", **meta}]}
        )
        return of(items, Patent)[-1].kind

    assert kind(grantDate="2000-08-15") == "A"
    assert kind(grantDate="2002-08-13") == "B1"
    assert kind(grantDate="2002-08-13", earliestPublicationNumber="US 2001-0000001 A1") == "B2"


def test_a_number_in_brackets_within_a_paragraph_is_text(tmp_path):
    """Only the number in front of a paragraph is not printed in the patent."""
    text = "(1) A unit <b>112</b>(<b>1</b>) moves a holder <b>114</b>(<b>2</b>) into place."
    related = {
        "relatedApplNumber": ["continuation PCT/US2015/027730"],
        "relatedApplFilingDate": ["2015-04-27T00:00:00Z"],
    }
    _, items = read(tmp_path / "one.json", DOCUMENT | {"descriptionHtml": text} | related)
    assert of(items, Patent)[0].description.lines()[-1] == "A unit 112(1) moves a holder 114(2) into place."
    assert Relation("US2016009839A1", "WO2015US027730", "parent") in items
