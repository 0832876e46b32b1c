"""PatentsView in JSON: patents, publications and citations of the PatentSearch API and its predecessor.

The fields have the names of search.patentsview.org (``patent_id``, ``cpc_current``) or of the API until 2025
(``patent_number``, ``cpcs``). Numbers are of the United States. Citations have an origin but no category. The texts of
claims and descriptions have an entry for each claim or section; the TSV tables have them for whole patents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from patent_mteb.patents.records import Citation, Relation
from patent_mteb.readers.answers import json_reader
from patent_mteb.readers.items import Item, Note, Skipped
from patent_mteb.readers.objects import texts_in
from patent_mteb.readers.publication import NUMBERLESS, Cited, Published, Related, Texts
from patent_mteb.readers.values import CODES, application, has_digit, publication, text_in

_Row = Mapping[str, Any]
_LISTS = set(CODES["patentsview_members"].split())
_OTHERS = {"wipo_kind", "document_number", "rule_47_flag", "series_code", "withdrawn", "detail_desc_length"}
_TEXTS = {"claim_text", "summary_text", "draw_desc_text", "description_text", "related_text"}
_TEXT_ENTRY = "an entry of one claim or section (the TSV tables of PatentsView have the texts of whole patents)"
_DIGITS = re.compile(r"(?:RE|PP|AI|[DHTX])?\d+")
_PUBLICATION = re.compile(r"(?:US)?20\d\d/?\d{7}")  # an application number has eight digits


def _serial(row: _Row) -> str:
    return next((text for key in ("patent_id", "patent_number", "document_number") if (text := text_in(row, key))), "")


def _is_record(row: _Row) -> bool:
    """Whether all members of an object have names of PatentsView, and its number has no office."""
    if not _DIGITS.fullmatch(_serial(row)):
        return False
    if _cited_number(row) or _TEXTS & row.keys():
        return True
    known = all(key in _LISTS | _OTHERS or key.startswith(("patent_", "publication_")) for key in row)
    return known and bool({"patent_title", "patent_date", "publication_title", "publication_date"} & row.keys())


def _cited_number(row: _Row) -> str:
    names = ("citation_patent_id", "citation_document_number", "citation_number", "citation_application_id")
    return next((text for name in (*names, "cited_patent_number") if (text := text_in(row, name))), "")


def _items(row: dict[str, Any], place: str) -> Iterator[Item]:
    if _TEXTS & row.keys():
        yield Skipped(publication(_serial(row), "US"), place, _TEXT_ENTRY)
    elif _cited_number(row):
        yield from _citation(row, place)
    else:
        yield from _publication(row, place)


def _citation(row: _Row, place: str) -> Iterator[Item]:
    """The citation of an entry of a citation endpoint."""
    cited = _cited(row)
    citing, its = publication(_serial(row), "US"), publication(cited.number, cited.office, cited.kind)
    if has_digit(its):
        yield Citation(citing, its, origin=cited.origin)
    else:
        yield Skipped(citing, place, NUMBERLESS)


def _publication(row: _Row, place: str) -> Iterator[Item]:
    of = "patent" if "patent_title" in row or "patent_date" in row else "publication"
    serial, type_ = _serial(row), text_in(row, f"{of}_type")
    if type_ not in ("", "utility"):
        yield Skipped(publication(serial, "US"), place, f"not a utility patent ({type_})")
        return
    unread: list[str] = []
    applied: _Row = next(iter(_objects(row, "application", "applications")), {})
    yield from Published(
        source="patentsview-api",
        office="US",
        serial=serial,
        kind=text_in(row, "wipo_kind") or text_in(row, "patent_kind") or ("A1" if of == "publication" else ""),
        date=text_in(row, f"{of}_date"),
        application=application(text_in(applied, "application_id") or text_in(applied, "app_number"), "US"),
        filed=text_in(applied, "filing_date") or text_in(applied, "app_date"),
        texts=Texts.of("en", text_in(row, f"{of}_title"), text_in(row, f"{of}_abstract"), [], ()),
        ipc=_codes(row, unread, "ipcr", "IPCs"),
        cpc=_codes(row, unread, "cpc_current", "cpc_at_issue", "cpcs"),
        inventors=texts_in(_objects(row, "inventors"), "name", unread),
        applicants=texts_in(_objects(row, "applicants", "us_parties", "assignees"), "name", unread),
        cited=[_cited(one) for name in _CITED_LISTS for one in _objects(row, name) if any(one.values())],
        related=list(_related(row)),
    ).items(place)
    yield from (Note("objects without a name or a class code are left out", f"{place}: {keys}") for keys in unread)
    number = publication(serial, "US", text_in(row, "wipo_kind"))
    for one in _objects(row, "granted_pregrant_crosswalk"):
        if of == "patent" and (early := text_in(one, "document_number")):
            yield Relation(number, publication(early, "US", "A1"), "pre-grant")
        elif of == "publication" and (grant := text_in(one, "patent_id")):
            yield Relation(publication(grant, "US"), number, "pre-grant")


_CITED_LISTS = (
    *("us_patent_citations", "us_application_citations", "foreign_citations"),
    *("cited_patents", "application_citations"),
)


def _objects(row: _Row, *names: str) -> list[Any]:
    """The objects at the first of several names that has any."""
    for name in names:
        value = row.get(name)
        if found := [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]:
            return found
    return []


def _codes(row: _Row, unread: list[str], *names: str) -> list[str]:
    return texts_in(_objects(row, *names), "code", unread)


def _cited(one: _Row) -> Cited:
    origin = CODES["us_origins"].get(
        next((text for key in one if key.endswith("category") and (text := text_in(one, key).lower())), ""), ""
    )
    if early := text_in(one, "appcit_app_number"):
        return Cited(early, "US", "", origin, unpublished=not _PUBLICATION.fullmatch(early))
    kind = text_in(one, "citation_wipo_kind") or text_in(one, "cited_patent_kind")
    return Cited(_cited_number(one), text_in(one, "citation_country") or "US", kind, origin)


def _related(row: _Row) -> Iterator[Related]:
    for one in _objects(row, "foreign_priority"):
        number = text_in(one, "foreign_application_id") or text_in(one, "forprior_docnumber")
        office = text_in(one, "foreign_country_filed") or text_in(one, "forprior_country")
        date = text_in(one, "filing_date") or text_in(one, "forprior_date")
        yield Related("priority", application(number, office), date, office)
    for one in _objects(row, "us_related_documents"):
        type_ = text_in(one, "related_doc_type").lower().replace("us-", "").replace("_", "-")
        kind = "provisional" if "provisional" in type_ else CODES["us_relations"].get(type_, "parent")
        yield Related(kind, application(text_in(one, "related_doc_number"), "US"), "", "US")


READER = json_reader(
    "patentsview-api",
    "PatentsView: answers of the PatentSearch API and its predecessor in JSON",
    _is_record,
    _items,
    ("patent_id", "patent_number", "document_number"),
)
