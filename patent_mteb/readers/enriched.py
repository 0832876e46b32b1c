"""USPTO enriched citations (Enriched Citation API v3): citations of office actions since 2017.

Files have one record of the API per line, or one answer with many records. Citations have categories, claims and
passages. The key is the application number, so the citing document is an application
(:func:`patent_mteb.patents.collection.citing_application`); a collection with its publications finds the publication.
The USPTO extracts the records automatically; those whose quality is not ``AOK`` are skipped. The phase of a citation is
the kind of the office action (``CTNF``, not final; ``CTFR``, final), its unit the technology centre.

``passageLocationText`` is a list of all locations that the text of the action names, of every document, of the claims
and of the law. They are passages of a citation only if the action cites no other document.

The Office Action Citations API (v2) lists the references of an application with the statute that the action applied
(``legalSectionCode``), without categories, claims or dates. Recipes join the two by application and cited document.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from patent_mteb.patents.collection import citing_application
from patent_mteb.patents.records import Citation
from patent_mteb.readers.answers import first_objects, json_reader, read_json_documents, records_in
from patent_mteb.readers.items import Item, Note, Reader, Skipped
from patent_mteb.readers.publication import NON_PATENT, NUMBERLESS, unread_days
from patent_mteb.readers.values import (
    CODES,
    UNREAD,
    application,
    claim_numbers,
    day,
    has_digit,
    publication,
    reads,
    text_in,
)

_KEY, _CITED = "patentApplicationNumber", "citedDocumentIdentifier"
_PASSAGES = "passageLocationText"
_REFERENCE, _NUMBER = "referenceIdentifier", "parsedReferenceIdentifier"
_OFFICE_AND_KIND = re.compile(r"\b([A-Z]{2})[\s-]*[\d/,. ]*\d\s*([A-Z]\d?)?\s*$")
_STATUTE = re.compile(r"10[23]")


_FIELDS = {_KEY, _CITED, _REFERENCE, _PASSAGES, "citationCategoryCode", "relatedClaimNumberText"}
"""Members of which a record has at least two; one row in three has no cited document, and then no member for it."""

_Action = tuple[str, str]


def _is_record(record: Mapping[str, Any]) -> bool:
    return len(_FIELDS & record.keys()) > 1


def _action(record: Mapping[str, Any]) -> _Action:
    """Return the application and the office action of a citation: the action's identifier, or else its date."""
    action = text_in(record, "obsoleteDocumentIdentifier") or text_in(record, "officeActionDate")
    return text_in(record, _KEY), action


def _read(path: Path) -> Iterator[Item]:
    """Yield the citations of a file, after a first pass that finds the actions which cite several documents."""
    cited: dict[_Action, str] = {}
    several: set[_Action] = set()

    def collect(record: Mapping[str, Any], place: str) -> tuple[()]:
        action, document = _action(record), text_in(record, _CITED) or text_in(record, "id") or place
        if cited.setdefault(action, document) != document:
            several.add(action)
        return ()

    deque(read_json_documents(path, collect, _is_record), maxlen=0)
    yield from _reader(several).read(path)


def _items(record: Mapping[str, Any], place: str, several: set[_Action]) -> Iterator[Item]:
    return _listed(record, place) if _REFERENCE in record else _citation(record, place, several)


def _reader(several: set[_Action]) -> Reader:
    return json_reader(
        "uspto-citations",
        "USPTO enriched citations (JSON lines): X, Y, A with claims and passages; office action citations: 102, 103",
        _is_record,
        partial(_items, several=several),
    )


READER = replace(_reader(set()), read=_read)


def refusal(path: Path) -> str:
    """Return what a file of the USPTO's office action services is, if no reader reads it; empty for other files."""
    records = (one for found in first_objects(path) for one in records_in(found, lambda record: _KEY in record))
    keys = {name for record in records if isinstance(record, dict) for name in record}
    return next((what for name, what in CODES["unsupported"].items() if name in keys), "")


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


def _citation(record: Mapping[str, Any], place: str, several: set[_Action]) -> Iterator[Item]:
    citing = application(text_in(record, _KEY), "US")
    if reason := _skip_reason(record, citing):
        yield Skipped(citing, place, reason)
        return
    cited, office, kind = text_in(record, _CITED), text_in(record, "countryCode"), text_in(record, "kindCode")
    if not reads(cited, office, kind):
        yield Note(UNREAD, f"{place}: {cited}")
    yield from unread_days(place, date := text_in(record, "officeActionDate"))
    located = record.get(_PASSAGES)
    passages = located if isinstance(located, list) else [located or ""]
    if any(passages) and _action(record) in several:
        yield Note(_OF_THE_ACTION, place)
        passages = []
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


_OF_THE_ACTION = "passages of an office action that cites several documents, which do not say of which one: left empty"


def _centre(record: Mapping[str, Any]) -> str:
    return text_in(record, "techCenter") or technology_centre(text_in(record, "groupArtUnitNumber"))


def technology_centre(unit: str) -> str:
    """Return the technology centre of an art unit (2853 belongs to 2800), empty if it is not one."""
    return f"{unit[:2]}00" if len(unit) == 4 and unit.isdecimal() else ""
