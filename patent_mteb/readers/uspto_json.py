"""USPTO in JSON: documents of Patent Public Search (PPUBS), and file wrappers of the Open Data Portal (ODP).

``ppubs`` reads lists of results (without texts) and documents, as the web application gets them (``inventionTitle``)
or as the library ``patent_client`` stores them (``patent_title``). The paragraphs of applications have printed numbers
(``[0036]``). Those of grants (``(1)``) are not printed in the patent and are removed.

``odp`` reads file wrappers of the portal and of PEDS, its predecessor: title, parties, CPC, dates and relations of an
application, for its publication and for its grant. The kind code of a grant is not given: B2 if the application was
published, else B1, and A before 2001.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from itertools import chain, repeat, zip_longest
from typing import Any

from patent_mteb.patents.records import Relation
from patent_mteb.readers.answers import json_reader
from patent_mteb.readers.items import Item, Note, Skipped
from patent_mteb.readers.publication import (
    UNNAMED,
    Cited,
    Paragraph,
    Published,
    Related,
    Texts,
    printed_paragraph,
    unmarked_claims,
)
from patent_mteb.readers.uspto import not_utility
from patent_mteb.readers.values import CODES, application, flat, has_digit, publication
from patent_mteb.readers.xml import MalformedError

_Object = Mapping[str, Any]
_CHARACTER_RECOGNITION = "a text by character recognition, without sections"


def _all(row: _Object, *names: str) -> list[str]:
    """The texts at the first of several dotted names that has any; missing members are empty."""
    for name in names:
        found = ["" if one in (None, "N/A") else str(one).strip() for one in flat(row, name)]
        if any(found):
            return found
    return []


def _text(row: _Object, *names: str) -> str:
    return next(iter(_all(row, *names)), "")


_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_COUNTED = re.compile(r"\s*\(\d+\)\s+")
_PROVISIONAL = re.compile(r"6[0-3]/?\d{3},?\d{3}$")
_WORDS = re.compile(r"[a-z][a-z -]* (?=PCT|\d)")  # continuation PCT/US2015/027730
_DOCDB_FAMILY = re.compile(r"\d{1,11}")  # longer family numbers are of documents that DOCDB does not have yet


def _lines(row: _Object, *names: str) -> list[str]:
    """The lines of a text in HTML."""
    text = html.unescape(_TAG.sub("", _BREAK.sub("\n", _text(row, *names))))
    return [line for line in map(str.strip, text.split("\n")) if line]


def _search_items(row: _Object, place: str) -> Iterator[Item]:
    office, serial, kind = [*_text(row, "guid").split("-"), "", ""][:3]
    if other := not_utility(kind):
        yield Skipped(publication(serial, office, kind), place, other)
        return
    recognised, family = _text(row, "type") == "USOCR", _text(row, "familyIdentifierCur", "family_identifier_cur")
    title = " ".join(_lines(row, "inventionTitle", "patent_title"))
    texts = Texts.of(
        "en",
        "" if recognised and title.startswith("OCR ") else title,
        " ".join(_lines(row, "abstractHtml", "document.abstract_html")),
        unmarked_claims("\n".join(_lines(row, "claimsHtml", "document.claims_html"))),
        _paragraphs(row),
    )
    published = Published(
        source="ppubs",
        office=office,
        serial=serial,
        kind=kind,
        date=_text(row, "datePublished", "publication_date"),
        application=application(_text(row, "applicationNumber", "appl_id"), "US"),
        filed=_text(row, "applicationFilingDate", "app_filing_date"),
        family=family if _DOCDB_FAMILY.fullmatch(family) else "",
        texts=texts,
        ipc=_all(row, "ipcCodeFlattened", "intl_class_issued", "ipc_code"),
        cpc=_all(row, "cpcInventiveFlattened", "cpcInventive") + _all(row, "cpcAdditionalFlattened")
        or _joined_codes(row, "cpc_inventive") + _joined_codes(row, "cpc_additional"),
        inventors=[" ".join(reversed(name.split("; "))) for name in _all(row, "inventorsName", "inventors.name")],
        applicants=_all(row, "applicantName", "applicants.name", "applicant_names")
        or _all(row, "assigneeName", "assignees.name", "assignee_names"),
        cited=_search_cited(row),
        related=_search_related(row),
    )
    yield from published.items(place)
    if recognised:
        yield Note(_CHARACTER_RECOGNITION, published.number)


def _joined_codes(row: _Object, name: str) -> list[str]:
    parts = (_all(row, f"{name}.cpc_{part}") for part in ("class", "subclass"))
    return ["".join(both) for both in zip(*parts, strict=False)]


def _paragraphs(row: _Object) -> Iterator[Paragraph]:
    for name in ("background", "brief", "description"):
        raw = "backgroundTextHtml" if name == "background" else f"{name}Html"
        for line in _lines(row, raw, f"document.{name}_html"):
            counted = _COUNTED.match(line)
            yield printed_paragraph(line[counted.end() :] if counted else line)


def _search_cited(row: _Object) -> Iterator[Cited]:
    numbers = _all(row, "urpn", "us_references.publication_number")
    yield from _with_origins(row, numbers, [], "usRefGroup", "us_references")
    numbers = _all(row, "foreignRefPatentNumber", "foreign_references.patent_number")
    offices = _all(row, "foreignRefCountryCode", "foreign_references.country_code")
    yield from _with_origins(row, numbers, offices, "foreignRefGroup", "foreign_references")
    others = _lines(row, "otherRefPub") or _all(row, "npl_references.citation")
    yield from (Cited("", npl=True) for _ in others)


def _with_origins(row: _Object, numbers: list[str], offices: list[str], group: str, stored: str) -> Iterator[Cited]:
    said = _all(row, group) or [text.replace("True", "examiner") for text in _all(row, f"{stored}.cited_by_examiner")]
    for number, office, who in zip(numbers, chain(offices, repeat("US")), chain(said, repeat("")), strict=False):
        origin = next((one for one in ("examiner", "applicant") if one in who.lower()), "")
        yield Cited(number, office, origin=origin)


def _search_related(row: _Object) -> Iterator[Related]:
    numbers = _all(row, "priorityClaimsDocNumber", "foreign_priority.app_number")
    dates = _all(row, "priorityClaimsDate", "foreign_priority.app_filing_date")
    offices = _all(row, "priorityClaimsCountry", "foreign_priority.country")
    for number, date, office in zip_longest(numbers, dates, offices, fillvalue=""):
        yield Related("priority", application(number, office), date, office)
    numbers = _all(row, "relatedApplNumber", "related_apps.number")
    dates = _all(row, "relatedApplFilingDate", "related_apps.filing_date")
    for number, date in zip_longest(numbers, dates, fillvalue=""):
        kind = "provisional" if _PROVISIONAL.match(number) else "parent"
        yield Related(kind, application(_WORDS.sub("", number), "US"), date, "US")


_OFFICES = dict(pair.split("=") for pair in CODES["offices"].split())
_FIRST_GRANT_WITH_B = "2001-01-02"


_WRAPPER = {"applicationMetaData", "inventionTitle", "patentNumber", "earliestPublicationNumber"}


_PEDS = {
    "applId": "applicationNumberText",
    "patentTitle": "inventionTitle",
    "appFilingDate": "filingDate",
    "patentIssueDate": "grantDate",
    "appEarlyPubNumber": "earliestPublicationNumber",
    "appEarlyPubDate": "earliestPublicationDate",
    "appType": "applicationTypeLabelName",
}
"""Members of the Patent Examination Data System, the predecessor until 2025 -> those of the Open Data Portal."""


def _from_peds(row: _Object) -> dict[str, Any]:
    names = [
        {"inventorNameText": " ".join(_all(one, "nameLineTwo") + _all(one, "nameLineOne"))}
        for one in flat(row, "inventors")
        if one
    ]
    parents = [
        {
            "parentApplicationNumberText": _text(one, "claimApplicationNumberText"),
            "filingDate": "-".join((date[6:], date[:5])) if (date := _text(one, "filingDate")) else "",
            "claimParentageTypeCode": "PRO" if "Provisional" in _text(one, "applicationStatusDescription") else "",
        }
        for one in flat(row, "parentContinuity")
        if one
    ]
    renamed = {ours: row.get(theirs) for theirs, ours in _PEDS.items()}
    return {**row, **renamed, "inventorBag": names, "parentContinuityBag": parents}


def _is_wrapper(row: _Object) -> bool:
    """Whether an object is an application; its documents and its relatives have an application number too."""
    relations = {"continuityBag", "foreignPriorityBag"} & row.keys()
    return (
        bool(relations)
        or {"applId", "appType"} <= row.keys()
        or ("applicationNumberText" in row and bool(_WRAPPER & row.keys()))
    )


def _wrapper_items(row: _Object, place: str) -> Iterator[Item]:
    """Yield the publication and the grant of an application."""
    row = _from_peds(row) if "applId" in row else row
    meta = {**row, **(row.get("applicationMetaData") or {})}
    type_ = _text(meta, "applicationTypeLabelName")
    number = application(_text(meta, "applicationNumberText"), "US")
    if type_ not in ("", "Utility"):
        yield Skipped(number, place, f"not a utility patent ({type_.lower()})")
        return
    early, granted = _text(meta, "earliestPublicationNumber"), _text(meta, "patentNumber")
    grant_date = _text(meta, "grantDate")
    kind = "A" if grant_date and grant_date < _FIRST_GRANT_WITH_B else "B2" if early else "B1"
    publications = [(early, "", _text(meta, "earliestPublicationDate")), (granted, kind, grant_date)]
    found = [one for one in publications if has_digit(one[0])]
    if not found:
        raise MalformedError(UNNAMED)
    related = list(_wrapper_related(meta))
    for serial, its_kind, date in found:
        yield from Published(
            source="odp",
            office="US",
            serial=serial,
            kind=its_kind,
            date=date,
            application=number,
            filed=_text(meta, "filingDate"),
            texts=Texts.of("en", _text(meta, "inventionTitle"), "", [], ()),
            cpc=_all(meta, "cpcClassificationBag"),
            inventors=_all(meta, "inventorBag.inventorNameText"),
            applicants=_all(meta, "applicantBag.applicantNameText", "applicantBag.applicant", "firstApplicantName"),
            related=related,
        ).items(place)
    if len(found) == 2:
        grant, early = (publication(one[0], "US", one[1]) for one in reversed(found))
        yield Relation(grant, early, "pre-grant")


def _wrapper_related(meta: _Object) -> Iterator[Related]:
    for one in [*flat(meta, "continuityBag.parentContinuityBag"), *flat(meta, "parentContinuityBag")]:
        if one:
            kind = CODES["us_relations_odp"].get(_text(one, "claimParentageTypeCode"), "parent")
            number = application(_text(one, "parentApplicationNumberText"), "US")
            yield Related(kind, number, _text(one, "parentApplicationFilingDate", "filingDate"), "US")
    for one in flat(meta, "foreignPriorityBag"):
        if one:
            names = _text(one, "ipOfficeName", "countryName").upper()
            office = next((_OFFICES[word] for word in re.findall(r"[A-Z]+", names) if word in _OFFICES), "")
            number = application(_text(one, "priorityNumberText", "applicationNumberText"), office)
            yield Related("priority", number, _text(one, "filingDate"), office)


READERS = (
    json_reader(
        "ppubs",
        "USPTO Patent Public Search: results and documents in JSON",
        lambda one: "guid" in one and bool({"datePublished", "publication_date"} & one.keys()),
        _search_items,
        ("guid",),
    ),
    json_reader(
        "odp",
        "USPTO Open Data Portal: file wrappers of applications in JSON",
        _is_wrapper,
        _wrapper_items,
        ("applicationNumberText",),
    ),
)
