"""Exchange documents of the EPO: answers of the open patent services (OPS) and DOCDB files.

They have bibliographic data, DOCDB families, and search reports with categories, claims and passages. OPS gives claims
and descriptions in answers of their own, which an import joins to the record of the same number. The members in a
family answer have numbers and priorities only; they become relations, not records. Namespaces are ignored, because OPS
and DOCDB have different ones for the same elements.

A DOCDB file is one document with thousands of exchange documents, which are split so that one at a time is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from lxml import etree

from patent_mteb.patents.records import Relation
from patent_mteb.readers.items import Item, Reader, Skipped
from patent_mteb.readers.ops_json import is_ops_json, read_ops_json
from patent_mteb.readers.publication import Cited, Published, Related, Texts, printed_paragraph, unmarked_claims
from patent_mteb.readers.values import application, claim_numbers, ipc_code, language, phase_and_origin, publication
from patent_mteb.readers.xml import Element, MalformedError, first_root, read_bulk, split_before, text_of

_ELEMENT = re.compile(rb"<(?:[\w.-]+:)?exchange-document(?=[\s/>])")
_CONTAINER = re.compile(rb"<((?:[\w.-]+:)?exchange-documents)(?=[\s/>])[^>]*>")
_CONTAINER_END = re.compile(rb"</(?:[\w.-]+:)?exchange-documents\s*>")


def _split(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield each exchange document of a DOCDB file as a document of its own.

    Each starts with the text of the file up to the tag of the container, so that encoding, namespaces and checks of the
    document type are the same. An element without an end tag ends at the start of the next one. Text behind the
    container is a document too.
    """
    head = tail = b""
    for piece in split_before(stream, _ELEMENT):
        rest = piece
        if _ELEMENT.match(piece):
            element, *after = _CONTAINER_END.split(piece, maxsplit=1)
            yield head + element.rstrip() + tail
            rest = b"".join(after)
        if opened := _CONTAINER.search(rest):
            head, tail = rest[: opened.end()].lstrip(), b"</" + opened[1] + b">"
        elif rest.strip():
            yield rest


_ROOTS = ("world-patent-data", "exchange-documents", "exchange-document")


def _read(path: Path) -> Iterator[Item]:
    if is_ops_json(path):
        return read_ops_json(path, _documents)
    if first_root(path) == "exchange-documents":
        return read_bulk(path, _documents, _split)
    return read_bulk(path, _documents)


READER = Reader(
    "ops",
    "EPO exchange documents: answers of OPS (XML, JSON), DOCDB (XML, zip)",
    sniff=lambda path: first_root(path) in _ROOTS or is_ops_json(path),
    read=_read,
)


def _documents(root: Element, place: str) -> Iterator[Item]:
    found = list(root.iter("{*}exchange-document", "{*}fulltext-document"))
    families = list(root.iter("{*}patent-family"))
    if not found and not families:
        yield Skipped("", place, f"no exchange document ({etree.QName(root).localname})")
    for family in families:
        yield from _family(family, place)
    for number, document in enumerate(found, start=1):
        where = f"{place}, exchange document {number}"
        try:
            yield from _document(document).items(where)
        except MalformedError as error:
            yield Skipped("", where, str(error), etree.tostring(document, encoding="unicode"))


def _any_namespace(path: str) -> str:
    return "/".join(f"{{*}}{step}" for step in path.split("/"))


def _text(element: Element, path: str) -> str:
    """The text of the first element at a path of local names."""
    return text_of(element.find(_any_namespace(path)))


def _all(element: Element, path: str) -> list[Element]:
    return list(element.iterfind(_any_namespace(path)))


def _identifier(element: Element) -> tuple[str, str, str, str]:
    """Number, office, kind and date of the identifier of an element: DOCDB's, else EPODOC's, else the first."""
    found = {
        one.get("document-id-type") or element.get("data-format") or "": one
        for one in reversed(_all(element, "document-id"))
    }
    one = next((found[form] for form in ("docdb", "epodoc", *found) if form in found), None)
    if one is None:
        return "", "", "", ""
    date = _text(one, "date") or next((text for other in found.values() if (text := _text(other, "date"))), "")
    return _text(one, "doc-number"), _text(one, "country"), _text(one, "kind"), date


def _document(document: Element) -> Published:
    biblio = document.find("{*}bibliographic-data")
    if biblio is None:
        raise MalformedError("no bibliographic data")
    texts = Texts("")
    for title in _all(biblio, "invention-title"):
        texts.titles.setdefault(language(title.get("lang")), text_of(title))
    for abstract in _all(document, "abstract"):
        texts.abstracts.setdefault(language(abstract.get("lang")), text_of(abstract))
    for claims in _all(document, "claims"):
        lines = ("".join(one.itertext()) for one in claims.iter("{*}claim-text"))
        texts.claims.setdefault(language(claims.get("lang")), unmarked_claims("\n".join(lines)))
    for description in _all(document, "description"):
        paragraphs = [printed_paragraph(text_of(one)) for one in _all(description, "p")]
        texts.descriptions.setdefault(language(description.get("lang")), paragraphs)
    eighth_edition = _all(biblio, "classifications-ipcr/classification-ipcr/text")
    ipc = eighth_edition or _all(biblio, "classification-ipc/text")
    serial, office, kind, date = _identifier_of(biblio, "publication-reference")
    applied, applied_at, applied_kind, filed = _identifier_of(biblio, "application-reference")
    return Published(
        source="ops",
        office=document.get("country") or office,
        serial=document.get("doc-number") or serial,
        kind=document.get("kind") or kind,
        date=document.get("date-publ") or date,
        application=application(applied, applied_at, applied_kind),
        filed=filed,
        family=document.get("family-id") or "",
        ipc=[ipc_code(text_of(one)) for one in ipc],
        cpc=[
            _cpc(one)
            for one in _all(biblio, "patent-classifications/patent-classification")
            if any((scheme.get("scheme") or "").startswith("CPC") for scheme in _all(one, "classification-scheme"))
        ],
        inventors=_names(biblio, "inventor"),
        applicants=_names(biblio, "applicant"),
        cited=(cited for one in _all(biblio, "references-cited/citation") for cited in _cited(one)),
        related=_priorities(biblio, "priority-claims/priority-claim"),
        texts=texts,
    )


def _identifier_of(element: Element, path: str) -> tuple[str, str, str, str]:
    """The identifier of the first reference at a path, DOCDB's own (``data-format="docdb"``) before others."""
    found = sorted(_all(element, path), key=lambda one: one.get("data-format") not in (None, "docdb"))
    return _identifier(found[0]) if found else ("", "", "", "")


def _priorities(element: Element, path: str) -> Iterator[Related]:
    for claim in _all(element, path):
        if claim.get("data-format") in (None, "docdb"):
            serial, office, kind, date = _identifier(claim)
            number = application(serial, office, kind)
            yield Related("priority", number, date, office or number[:2])


def _cpc(one: Element) -> str:
    parts = ("section", "class", "subclass", "main-group", "subgroup")
    section, cls, subclass, group, subgroup = (_text(one, part) for part in parts)
    symbol = _text(one, "classification-symbol")
    return ipc_code(symbol or f"{section}{cls}{subclass}{group}/{subgroup}")


_FORMS = ("original", "epodoc", "docdb", "")
_COUNTRY = re.compile(r"[\s,]*(?:\[[A-Z]{2}\])?$")


def _names(biblio: Element, role: str) -> list[str]:
    """The names as in the document, or else in EPODOC's or DOCDB's form; two spellings of a name are one."""
    forms: dict[str, list[str]] = {}
    for one in _all(biblio, f"parties/{role}s/{role}"):
        name = _COUNTRY.sub("", _text(one, f"{role}-name/name"))
        forms.setdefault(one.get("data-format") or "", []).append(name)
    found: dict[str, str] = {}
    for name in next((forms[form] for form in (*_FORMS, *forms) if form in forms), []):
        letters = "".join(filter(str.isalnum, name.casefold()))
        if letters and not any(letters.startswith(other) or other.startswith(letters) for other in found):
            found[letters] = name
    return list(found.values())


def _cited(citation: Element) -> Iterator[Cited]:
    """The citations of an entry of a search report, one for each category with claims."""
    phase, origin = phase_and_origin(citation.get("cited-phase") or "", citation.get("cited-by") or "")
    patent = citation.find("{*}patcit")
    if patent is None:
        yield Cited("", origin=origin, phase=phase, npl=True)
        return
    serial, office, kind, _ = _identifier(patent)
    cited = Cited(serial, office, kind, origin, phase=phase)
    # OPS writes category, claims and passage in a row, DOCDB in ``rel-passage``.
    findings: list[Cited] = []
    for one in citation.iter("{*}category", "{*}rel-claims", "{*}passage"):
        name, text = etree.QName(one).localname, text_of(one)
        if name == "category":
            findings.append(cited._replace(category=text))
            continue
        found = findings.pop() if findings else cited
        if name == "rel-claims":
            found = found._replace(claims=claim_numbers(text))
        elif text:
            found = found._replace(passages=(*found.passages, text))
        findings.append(found)
    yield from findings or [cited]


def _family(family: Element, place: str) -> Iterator[Item]:
    """The members of a family as relations of the requested publication."""
    serial, office, kind, _ = _identifier_of(family, "publication-reference")
    requested = publication(serial, office, kind)
    for number, member in enumerate(_all(family, "family-member"), start=1):
        serial, office, kind, _ = _identifier_of(member, "publication-reference")
        if not serial:
            yield Skipped("", f"{place}, family member {number}", "no publication number")
            continue
        its = publication(serial, office, kind)
        if requested and its != requested:
            yield Relation(requested, its, "member")
        applied, applied_at, applied_kind, _ = _identifier_of(member, "application-reference")
        if applied:
            yield Relation(its, application(applied, applied_at, applied_kind), "application")
        for priority in _priorities(member, "priority-claim"):
            yield Relation(its, priority.number, "priority")
