"""USPTO enriched citations (Enriched Citation API v3): citations of office actions since 2017.

Files have one record of the API per line, or one answer with many records. Citations have categories, claims and
passages. The key is the application number, so the citing document is an application
(:func:`patent_mteb.patents.collection.citing_application`); a collection with its publications finds the publication.
The USPTO extracts the records automatically; those whose quality is not ``AOK`` are skipped. The phase of a citation is
the kind of the office action (``CTNF``, not final; ``CTFR``, final), its unit the technology centre.

The Office Action Citations API (v2) lists the references of an application with the statute that the action applied
(``legalSectionCode``), without categories, claims or dates. Recipes join the two by application and cited document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from patent_mteb.patents.collection import citing_application
from patent_mteb.patents.records import Citation
from patent_mteb.readers.answers import json_reader
from patent_mteb.readers.items import Item, Note, Skipped
from patent_mteb.readers.publication import NON_PATENT, NUMBERLESS, unread_days
from patent_mteb.readers.values import UNREAD, application, claim_numbers, day, has_digit, publication, reads, text_in

_KEY, _CITED = "patentApplicationNumber", "citedDocumentIdentifier"
_REFERENCE, _NUMBER = "referenceIdentifier", "parsedReferenceIdentifier"
_OFFICE_AND_KIND = re.compile(r"\b([A-Z]{2})[\s-]*[\d/,. ]*\d\s*([A-Z]\d?)?\s*$")
_STATUTE = re.compile(r"10[23]")


_FIELDS = {_KEY, _CITED, _REFERENCE, "passageLocationText", "citationCategoryCode", "relatedClaimNumberText"}
"""Members of which a record has at least two; one row in three has no cited document, and then no member for it."""

READER = json_reader(
    "uspto-citations",
    "USPTO enriched citations (JSON lines): X, Y, A with claims and passages; office action citations: 102, 103",
    lambda record: len(_FIELDS & record.keys()) > 1,
    lambda record, place: _listed(record, place) if _REFERENCE in record else _citation(record, place),
)


def _true(record: Mapping[str, Any], name: str) -> bool:
    return str(record.get(name)).strip().lower() in ("true", "y", "1")


def _skip_reason(record: Mapping[str, Any], citing: str) -> str:
    """The reason to skip a record, empty if it gives a citation."""
    if not has_digit(citing):
        return "no application number"
    if _true(record, "nplIndicator"):
        return NON_PATENT
    if (quality := text_in(record, "qualitySummaryText")) not in ("", "AOK"):
        return f"of insufficient quality ({quality})"
    return "" if has_digit(text_in(record, _CITED)) else NUMBERLESS


def _listed(record: Mapping[str, Any], place: str) -> Iterator[Item]:
    """The citation of a record of the Office Action Citations API."""
    citing, reference = application(text_in(record, _KEY), "US"), text_in(record, _REFERENCE)
    written = _OFFICE_AND_KIND.search(reference)
    if not has_digit(citing) or not written or not has_digit(text_in(record, _NUMBER)):
        yield Skipped(citing, place, "no application number" if not has_digit(citing) else NUMBERLESS)
        return
    rejected = text_in(record, "actionTypeCategory").lower() == "rejected"
    yield Citation(
        citing_application(citing),
        publication(text_in(record, _NUMBER), written[1], written[2] or ""),
        origin=_origin(record),
        phase="examination",
        office="US",
        unit=_centre(record),
        statutes=tuple(_STATUTE.findall(text_in(record, "legalSectionCode"))) if rejected else (),
    )


def _origin(record: Mapping[str, Any]) -> str:
    if _true(record, "examinerCitedReferenceIndicator"):
        return "examiner"
    return "applicant" if _true(record, "applicantCitedExaminerReferenceIndicator") else ""


def _citation(record: Mapping[str, Any], place: str) -> Iterator[Item]:
    citing = application(text_in(record, _KEY), "US")
    if reason := _skip_reason(record, citing):
        yield Skipped(citing, place, reason)
        return
    cited, office, kind = text_in(record, _CITED), text_in(record, "countryCode"), text_in(record, "kindCode")
    if not reads(cited, office, kind):
        yield Note(UNREAD, f"{place}: {cited}")
    yield from unread_days(place, date := text_in(record, "officeActionDate"))
    located = record.get("passageLocationText")
    passages = located if isinstance(located, list) else [located or ""]
    yield Citation(
        citing_application(citing),
        publication(cited, office, kind),
        text_in(record, "citationCategoryCode").upper(),
        _origin(record),
        claim_numbers(text_in(record, "relatedClaimNumberText")),
        tuple(filter(None, (part.strip() for text in passages for part in str(text).split("|")))),
        text_in(record, "officeActionCategory").upper() or "examination",
        "US",
        day(date),
        _centre(record),
    )


def _centre(record: Mapping[str, Any]) -> str:
    return text_in(record, "techCenter") or technology_centre(text_in(record, "groupArtUnitNumber"))


def technology_centre(unit: str) -> str:
    """Return the technology centre of an art unit (2853 belongs to 2800), empty if it is not one."""
    return f"{unit[:2]}00" if len(unit) == 4 and unit.isdecimal() else ""
