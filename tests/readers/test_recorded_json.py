"""Every recorded JSON file of ../shared is read a second time with ``json`` alone, and every field is compared.

A member that a reader neither reads nor is listed here as ignored fails the test: it may be a new field of the source.
The forms themselves, with invented details, are in ``test_json_sources.py`` and ``test_uspto_json.py``.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
import second_reading
from second_reading import dense

from patent_mteb.patents.records import Patent, Relation
from patent_mteb.readers import recognise
from tests.helpers.paths import SHARED

if not SHARED.exists():
    pytest.skip("../shared/data is missing", allow_module_level=True)

MEMBERS = {
    # form: (members that are read, members that are ignored)
    "odp": (
        """
        applicationNumberText filingDate inventionTitle applicationTypeLabelName
        earliestPublicationNumber earliestPublicationDate cpcClassificationBag inventorBag
        applicantBag firstApplicantName continuityBag foreignPriorityBag patentNumber grantDate
        """,
        """
        firstInventorToFileIndicator applicationStatusCode applicationTypeCode assignmentBag
        class/subclass recordAttorney nationalStageIndicator firstInventorName effectiveFilingDate
        publicationDateBag publicationSequenceNumberBag applicationStatusDate class
        applicationTypeCategory patentTermAdjustmentData transactionContentBag
        applicationStatusDescriptionText businessEntityStatusCategory customerNumber
        groupArtUnitNumber correspondenceAddressBag applicationConfirmationNumber
        smallEntityStatusIndicator subclass publicationCategoryBag docketNumber
        """,
    ),
    "peds": (
        """
        applId patentTitle appFilingDate patentIssueDate patentNumber appEarlyPubNumber
        appEarlyPubDate appType inventors parentContinuity
        """,
        """
        corrAddrCountryName totalPtoDays assignments appExamName appExamNameFacet publicInd APP_IND
        inventorName inventorNameFacet corrAddrGeoRegionCode appLocation id appGrpArtNumber
        appGrpArtNumberFacet applIdStr appl_id_txt appSubCls LAST_MOD_TS transactions
        LAST_INSERT_TIME appCls appStatus appStatusFacet appStatus_txt ptaPteInd ptaPteTranHistory
        applDelay cDelay appStatusDate appAttrDockNumber inventorsFacet ptoAdjustments
        corrAddrStreetLineOne firstInventorFile overlapDelay aDelay appTypeFacet corrAddrPostalCode
        appCustNumber appClsSubCls appClsSubClsFacet bDelay corrAddrNameLineOne attrnyAddr
        corrAddrCustNo corrAddrCountryCd ptoDelay corrAddrCity appEntityStatus appConfrNumber
        lastUpdatedTimestamp cmsData appAttrDockNumberFacet appEntityStatusFacet appCustNumberFacet
        _version_ firstInventorFileFacet appLocationFacet appEarlyPubNumberFacet patentNumberFacet
        """,
    ),
    "ppubs": (
        """
        guid datePublished inventionTitle type applicantName assigneeName ipcCodeFlattened
        cpcInventiveFlattened cpcAdditionalFlattened applicationFilingDate applicationNumber
        familyIdentifierCur urpn relatedApplFilingDate priorityClaimsDate
        """,
        """
        publicationReferenceDocumentNumber compositeId publicationReferenceDocumentNumber1
        datePublishedKwicHits mainClassificationCode uspcFullClassificationFlattened
        applicationFilingDateKwicHits primaryExaminer assistantExaminer frontPageStart frontPageEnd
        drawingsStart drawingsEnd specificationStart specificationEnd claimsStart claimsEnd
        abstractStart abstractEnd bibStart bibEnd certCorrectionStart certCorrectionEnd
        certReexaminationStart certReexaminationEnd supplementalStart supplementalEnd ptabStart
        ptabEnd amendStart amendEnd searchReportStart searchReportEnd pageCount pageCountDisplay
        previouslyViewed unused imageLocation imageFileName cpcCodes queryId tags inventorsShort
        familyIdentifierCurStr languageIndicator databaseName dwImageDoctypeList dwImageLocList
        dwPageCountList dwImageDocidList patentFamilyMembers patentFamilyCountry
        patentFamilySerialNumber documentIdWithDashesDw pfPublDate pfPublDateKwicHits
        priorityClaimsDateKwicHits pfApplicationSerialNumber pfApplicationDescriptor pfLanguage
        pfApplicationDate pfApplicationDateKwicHits clippedUri source documentId
        derwentAccessionNumber documentSize score governmentInterest kindCode urpnCode
        descriptionStart descriptionEnd publicationReferenceDocumentNumberOne
        """,
    ),
    "ppubs-client": (
        """
        guid publication_date appl_id patent_title app_filing_date family_identifier_cur
        related_apps foreign_priority type inventors applicants assignees applicant_names
        assignee_names document us_references foreign_references npl_references cpc_inventive
        cpc_additional intl_class_issued ipc_code
        """,
        """
        publication_number application_type inventors_short group_art_unit primary_examiner
        assistant_examiner legal_firm_name attorney_name document_structure image_file_name
        image_location composite_id database_name derwent_week_int intl_class_current_primary
        intl_class_currrent_secondary us_class_current us_class_issued field_of_search_us
        field_of_search_cpc main_classification_code uspc_full_classification
        related_appl_filing_date
        """,
    ),
    "ifi": (
        """
        publication_number title abstract claims description application_date priority_date
        publish_date inventors assignee citations
        """,
        """
        id ai_summary raw_source_url grant_date jurisdictions classifications application_events
        image_urls landscapes created_at updated_at citations_non_patent provenance
        attachment_urls
        """,
    ),
}
FILES = {
    "bulk/more/odp/application.json": ("odp", "odp", lambda found: found["patentBag"]),
    "bulk/more/odp/biblio.json": ("odp", "odp", lambda found: found["patentBag"]),
    "bulk/more/odp/search.json": ("odp", "odp", lambda found: found["patentBag"]),
    "bulk/more/odp/continuity.json": ("odp", "odp", lambda found: found["patentBag"]),
    "bulk/more/odp/foreign_priority.json": ("odp", "odp", lambda found: found["patentBag"]),
    "bulk/more/peds/app_1_input.json": (
        "odp", "peds", lambda found: found["queryResults"]["searchResponse"]["response"]["docs"],
    ),
    "bulk/more/ppubs/biblio.json": ("ppubs", "ppubs", lambda found: found["patents"]),
    "bulk/more/ppubs/biblio_output.json": ("ppubs", "ppubs-client", lambda found: found["docs"]),
    "bulk/more/ppubs/doc_output.json": ("ppubs", "ppubs-client", lambda found: found),
    "exports/ifi-claims.json": ("table", "ifi", lambda found: found),
}  # fmt: skip
"""Path -> source, form, and the records of the file."""

UNREAD = {
    "bulk/more/odp/adjustment.json": "terms of applications, without a number",
    "bulk/more/odp/assignment.json": "assignments, without a number",
    "bulk/more/odp/attorney.json": "attorneys, without a number",
    "bulk/more/odp/documents.json": "documents of a file wrapper",
    "bulk/more/odp/transactions.json": "events, without a number",
}


def us(number: str, kind: str = "") -> str:
    """A number of the United States in the form of DOCDB, without the first zero of the serial after a year."""
    found = re.fullmatch(r"(?:US)?(RE|PP|D|T|H)?(\d+)([A-Z]\d?)?", re.sub(r"\W", "", number))
    assert found, number
    digits = found[2]
    if len(digits) == 11 and digits[4] == "0":
        digits = digits[:4] + digits[5:]
    return f"US{found[1] or ''}{digits}{found[3] or kind}"


def iso(text: str) -> str:
    return text[:10]


def fields(patent: Patent) -> dict[str, Any]:
    dates = (patent.application_date, patent.publication_date, patent.priority_date)
    return {
        "title": patent.title,
        "dates": [str(date) if date else "" for date in dates],
        "inventors": list(patent.inventors),
        "applicants": list(patent.applicants),
        "cpc": list(patent.cpc),
        "application": patent.application_number,
        "ipc": list(patent.ipc),
        "abstract": _plain(patent.abstract),
    }


def wrapper(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The publications of a file wrapper, with their fields."""
    grant, early = row.get("patentNumber"), row.get("earliestPublicationNumber")
    filed = row.get("filingDate", "")
    parents = [one["filingDate"] for one in row.get("continuityBag", {}).get("parentContinuityBag", ())]
    priority = min([*parents, *(one["filingDate"] for one in row.get("foreignPriorityBag", ())), filed])
    common = {
        "title": row.get("inventionTitle", ""),
        "inventors": [one["inventorNameText"] for one in row.get("inventorBag", ())],
        "applicants": [one["applicant"] for one in row.get("applicantBag", ())] or [row.get("firstApplicantName", "")],
        "cpc": [code.replace(" ", "") for code in row.get("cpcClassificationBag", ())],
        "application": "US" + row.get("applicationNumberText", ""),
        "ipc": [],
        "abstract": "",
    }
    found = {}
    if early:
        found[us(early)] = common | {"dates": [filed, row.get("earliestPublicationDate", ""), priority]}
    if grant:
        found[us(grant, "B2" if early else "B1")] = common | {"dates": [filed, row.get("grantDate", ""), priority]}
    return found


def peds(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    filed = iso(row["appFilingDate"])
    days = [one["filingDate"] for one in row["parentContinuity"]]
    common = {
        "title": row["patentTitle"],
        "inventors": [f"{one['nameLineTwo']} {one['nameLineOne']}" for one in row["inventors"]],
        "applicants": [],
        "cpc": [],
        "application": "US" + row["applId"],
        "ipc": [],
        "abstract": "",
    }
    priority = min([filed, *(f"{day[6:]}-{day[:5]}" for day in days)])
    return {
        us(row["appEarlyPubNumber"]): common | {"dates": [filed, iso(row["appEarlyPubDate"]), priority]},
        us(row["patentNumber"], "B2"): common | {"dates": [filed, iso(row["patentIssueDate"]), priority]},
    }


def _plain(text: str) -> str:
    return " ".join(html.unescape(re.sub("<[^<>]*>", "", text)).split())


def _turned(name: str) -> str:
    return " ".join(reversed(name.split("; ")))


def search(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A result or document of Patent Public Search, as the office or as the library writes it."""
    office, number, kind = row["guid"].split("-")
    if "inventionTitle" in row:
        filed = iso((row["applicationFilingDate"] or [""])[0])
        earlier = [iso(day) for day in [*(row["relatedApplFilingDate"] or ()), *(row["priorityClaimsDate"] or ())]]
        inventors, published = [], iso(row["datePublished"])
        applicants = row["applicantName"] or row["assigneeName"] or []
        joined = [row["cpcInventiveFlattened"], row["cpcAdditionalFlattened"]]
        cpc = [code for text in joined for code in (text or "").split(";") if code]
        ipc = (row["ipcCodeFlattened"] or "").split(";")
        application, title = row["applicationNumber"], row["inventionTitle"]
    else:
        filed, published = row["app_filing_date"] or "", row["publication_date"]
        related = [*row.get("related_apps", ()), *row.get("foreign_priority", ())]
        earlier = [one.get("filing_date") or one.get("app_filing_date") for one in related]
        inventors = [_turned(one["name"]) for one in row.get("inventors", ())]
        applicants = [one["name"] for one in row.get("applicants", ())] or [
            one["name"] for one in row.get("assignees", ())
        ]
        applicants = applicants or row.get("applicant_names") or row.get("assignee_names") or []
        cpc = [
            one["cpc_class"] + one["cpc_subclass"] if isinstance(one, dict) else ""
            for name in ("cpc_inventive", "cpc_additional")
            for one in row.get(name, ())
        ]
        ipc = row.get("intl_class_issued") or row.get("ipc_code") or []
        application, title = row["appl_id"], row["patent_title"] or ""
    recognised = row["type"] == "USOCR" and title.startswith("OCR ")
    fields = {
        "title": "" if recognised else _plain(title),
        "dates": [filed, published, min(filter(None, [filed, *earlier]), default="")],
        "inventors": inventors,
        "applicants": list(dict.fromkeys(filter(None, applicants))),
        "cpc": list(dict.fromkeys(filter(None, cpc))),
        "application": "US" + re.sub(r"\W", "", application) if application else "",
        "ipc": list(dict.fromkeys(filter(None, ipc))),
        "abstract": _plain((row.get("document") or {}).get("abstract_html") or ""),
    }
    return {us(number, kind) if office == "US" else row["guid"]: fields}


def ifi(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    claims = [next(text for text in one.values() if " " in text) for one in json.loads(row["claims"])]
    names = [" ".join(filter(None, (one["first_name"], one["last_name"]))) for one in json.loads(row["inventors"])]
    fields = {
        "title": row["title"],
        "dates": [row["application_date"], row["publish_date"], row["priority_date"]],
        "inventors": list(dict.fromkeys(names)),
        "applicants": list(filter(None, row["assignee"].split(";"))),
        "cpc": [],
        "application": "",
        "ipc": [],
        "claims": [re.sub(r"^\d+\s*\.\s*", "", _plain(text)) for text in claims],
        "abstract": _plain(row["abstract"]),
    }
    return {us(row["publication_number"]): fields}


FORMS = {"odp": wrapper, "peds": peds, "ppubs": search, "ppubs-client": search, "ifi": ifi}


def cited(form: str, row: dict[str, Any]) -> set[str]:
    """The cited numbers."""
    if form == "ifi":
        groups = [one for one in json.loads(row["citations"] or "{}").values() if isinstance(one, list)]
        members = [member for group in groups for one in group for member in one.values()]
        numbers = [number for member in members if isinstance(member, dict) for number in member]
        return {second_reading.publication(*number.split("-")) for number in numbers}
    return {second_reading.publication("US", number) for number in row.get("urpn") or ()}


@pytest.mark.parametrize("path", FILES)
def test_each_field_of_each_recorded_answer_is_read(path, compared):
    source, form, records = FILES[path]
    reader = recognise(SHARED / path)
    assert reader.name == source
    items = list(reader.read(SHARED / path))
    rows = records(json.loads((SHARED / path).read_text("utf-8")))
    expected = {number: found for row in rows for number, found in FORMS[form](row).items()}
    patents = {one.publication_number: one for one in items if isinstance(one, Patent)}
    # Designs and plants are skipped and counted; everything else is a record.
    missing = {number for number in expected if number not in patents}
    assert all(re.match(r"US(?:D|PP)\d|US\d+(?:S1|P\d|E\d?)$|US(?:RE|T|H)", number) for number in missing)
    assert patents.keys() <= expected.keys()
    n_equal = n_fields = 0
    for number, patent in patents.items():
        found = fields(patent)
        if form == "ifi":
            found["claims"] = [one.text for one in patent.claims]
        n_fields += len(expected[number])
        n_equal += sum(found[field] == value for field, value in expected[number].items())
    compared(path, len(patents), n_fields, n_equal)
    assert n_equal == n_fields and all(fields(patents[number]).keys() <= expected[number].keys() for number in patents)


def document(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Texts, citations and relations of a document of Patent Public Search; the library has split its claims."""
    stored, origin = row["document"], {True: "examiner", False: ""}
    cited = [("US", one["publication_number"], one["cited_by_examiner"]) for one in row["us_references"]]
    cited += [
        (one["country_code"], one["patent_number"], one["cited_by_examiner"]) for one in row["foreign_references"]
    ]
    depends = {one["number"]: tuple(one["depends_on"]) for one in stored["claims"]}
    cancelled = r"\s+\d+\.?\s*(?:-\.?\d+\.?)?\s*\(cancel\w+\)"
    claims = re.split(r"(?:^|\n)\s*(\d+)\s*\. ", re.sub(cancelled, "", f" {stored['claims_text'] or ''}"))[1:]
    texts = (stored[f"{name}_html"] or "" for name in ("background", "brief", "description"))
    lines = (re.sub("<[^<>]*>", "", line) for text in texts for line in re.split(r"<br ?/?>|\n", text))
    numbered = [re.fullmatch(r"\s*(?:\[(\d{4})\] |\(\d+\) )?(.*)", html.unescape(line)) for line in lines]
    number, application = row["appl_id"] or "", second_reading.application
    relations = [("application", application("US", number))] if number else []
    relations += [
        (
            "provisional" if one["number"][:2] in ("60", "61", "62", "63") else "parent",
            application("US", one["number"].removeprefix("continuation "), one["filing_date"] or ""),
        )
        for one in row["related_apps"]
        if one["number"]
    ]
    relations += [
        ("priority", application(one["country"], one["app_number"], one["app_filing_date"]))
        for one in row["foreign_priority"]
    ]
    office, serial, kind = row["guid"].split("-")
    own = second_reading.publication(office, serial, kind)
    temporary = (row["family_identifier_cur"] or 10**12) >= 10**12  # of documents that DOCDB does not have yet
    return own, {
        "claims": [(int(n), dense(text), depends.get(int(n), ())) for n, text in zip(claims[::2], claims[1::2], strict=True)],
        "description": sorted((int(one[1] or 0), dense(one[2])) for one in numbered if dense(one[2])),
        "citations": sorted({(second_reading.publication(*one[:2]), "", origin[one[2]], "", "", (), ()) for one in cited}),
        "relations": sorted(set(relations)),
        "family": (application("US", number) if number else own) if temporary else str(row["family_identifier_cur"]),
        "kind": kind,
    }  # fmt: skip


SCANNED = "US3857398A"
"""A scanned patent: 12 claims are printed, but the scan lost the stop before claim 7; the library splits 10."""


def test_every_text_citation_and_relation_of_a_document_is_read(compared):
    path = SHARED / "bulk/more/ppubs/doc_output.json"
    found = second_reading.found(list(recognise(path).read(path)))
    rows = dict(map(document, json.loads(path.read_text("utf-8"))))
    expected = {number: fields for number, fields in rows.items() if number in found}
    for fields in found.values():
        fields["claims"] = fields["claims"].get("en", [])
        fields["description"] = sorted(line for lines in fields["description"].values() for line in lines)
    assert len(found[SCANNED].pop("claims")) == 11 and expected[SCANNED].pop("claims")
    pairs = [
        (number, name, found[number][name], value) for number, one in expected.items() for name, value in one.items()
    ]
    different = [pair for pair in pairs if pair[2] != pair[3]]
    compared("bulk/more/ppubs/doc_output.json, texts", len(expected), len(pairs), len(pairs) - len(different))
    assert not different
    assert len(found) == 27 and found.keys() <= rows.keys()


@pytest.mark.parametrize("path", ["bulk/more/ppubs/biblio.json", "exports/ifi-claims.json"])
def test_each_recorded_citation_is_read(path):
    _, form, records = FILES[path]
    found = second_reading.found(list(recognise(SHARED / path).read(SHARED / path)))
    compared = 0
    for row in records(json.loads((SHARED / path).read_text("utf-8"))):
        (number,) = FORMS[form](row)
        if number in found:
            numbers = {one for one, *_ in found[number]["citations"]}
            assert numbers == cited(form, row) - {number}
            compared += len(numbers)
    assert compared > 100


@pytest.mark.parametrize("path", FILES)
def test_no_recorded_member_is_unknown(path):
    _, form, records = FILES[path]
    read, ignored = (set(words.split()) for words in MEMBERS[form])
    assert not read & ignored
    rows = records(json.loads((SHARED / path).read_text("utf-8")))
    assert {member for row in rows for member in row} <= read | ignored


@pytest.mark.parametrize("path", UNREAD)
def test_answers_without_a_publication_are_not_recognised(path):
    assert recognise(SHARED / path) is None


def test_every_recorded_file_is_listed():
    folders = ("exports", "bulk/more/odp", "bulk/more/peds", "bulk/more/ppubs")
    there = {str(one.relative_to(SHARED)) for folder in folders for one in (SHARED / folder).glob("*.json")}
    assert there == FILES.keys() | UNREAD.keys()


def test_relations_of_the_recorded_wrappers():
    path = SHARED / "bulk/more/peds/app_1_input.json"
    found = {(one.related, one.kind) for one in recognise(path).read(path) if isinstance(one, Relation)}
    assert found == {("US12721698", "application"), ("US61159088", "provisional"), ("US2010235004A1", "pre-grant")}


def test_relations_of_the_recorded_answers_of_the_portal():
    path = SHARED / "bulk/more/odp/application.json"
    (row,) = json.loads(path.read_text("utf-8"))["patentBag"]
    kinds = {"NST": "parent", "PRO": "provisional"}
    parents = row["continuityBag"]["parentContinuityBag"]
    expected = {(second_reading.application("US", row["applicationNumberText"]), "application")} | {
        (second_reading.application("US", one["parentApplicationNumberText"]), kinds[one["claimParentageTypeCode"]])
        for one in parents
    }
    assert {(one.related, one.kind) for one in recognise(path).read(path) if isinstance(one, Relation)} == expected
    assert len(expected) == 3
