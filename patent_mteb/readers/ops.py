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
from patent_mteb.readers import xml
from patent_mteb.readers.items import Item, Reader, Skipped
from patent_mteb.readers.publication import Cited, Published, Related, Texts, printed_paragraph, unmarked_claims
from patent_mteb.readers.values import CODES, application, claim_numbers, ipc_code, language, publication
from patent_mteb.readers.xml import Element, MalformedError, first_root, read_bulk, text_of

_CHUNK = 1 << 20
_LONGEST_TAG = 4096
_NAME = rb"<%s(?:[\w.-]+:)?%s(?=[\s/>])[^>]*>"


class _Splitter:
    """Splits a stream of XML into a document for each element of a name in a container.

    Each document starts with the text of the file up to the tag of the container, so that encoding, namespaces and
    checks of the document type are the same. Text between elements is a document too. An element without an end tag
    ends at the start of the next one.
    """

    def __init__(self, container: str, name: str) -> None:
        outer, inner = container.encode(), name.encode()
        self._container_start = re.compile(_NAME % (b"", outer))
        self._container_end = re.compile(_NAME % (b"/", outer))
        self._start = re.compile(_NAME % (b"", inner))
        self._start_or_end = re.compile(rb"(?P<end>" + _NAME % (b"/", inner) + rb")|" + _NAME % (b"", inner))
        self._head = b""
        self._tail = b""

    def documents(self, stream: IO[bytes]) -> Iterator[bytes]:
        buffer = bytearray()
        searched = 0
        while chunk := stream.read(_CHUNK):
            buffer += chunk
            while (found := self._next(buffer, searched)) is not None:
                documents, end = found
                yield from documents
                del buffer[:end]
                searched = 0
            if len(buffer) > xml.LONGEST_DOCUMENT:
                yield self._head + bytes(buffer)
                buffer.clear()
            searched = max(0, len(buffer) - _LONGEST_TAG)
        if self._start.match(buffer):
            yield self._document(self._container_end.sub(b"", bytes(buffer)))
        else:
            yield from self._between(bytes(buffer))

    def _next(self, buffer: bytearray, searched: int) -> tuple[list[bytes], int] | None:
        """The complete documents at the start of the buffer and their end, None if there are none."""
        first = self._start.match(buffer)
        if first is None:
            start = self._start.search(buffer, searched)
            return None if start is None else (self._between(bytes(buffer[: start.start()])), start.start())
        if first[0].endswith(b"/>"):
            return [self._document(first[0])], first.end()
        stop = self._start_or_end.search(buffer, max(first.end(), searched))
        if stop is None:
            return None
        end = stop.end() if stop["end"] else stop.start()
        return [self._document(bytes(buffer[:end]))], end

    def _document(self, element: bytes) -> bytes:
        return self._head + element + self._tail

    def _between(self, text: bytes) -> list[bytes]:
        """The documents in the text between two elements. The start of a container becomes the head of the next."""
        opened = list(self._container_start.finditer(text))
        if not opened:
            rest = self._container_end.sub(b"", text).strip()
            return [rest] if rest else []
        before = []
        if self._head and self._container_end.search(text):
            before = self._between(self._container_end.split(text, maxsplit=1)[0])
        start = 0 if not self._head else text.rfind(b"<?xml", 0, opened[-1].start())
        self._head = text[max(start, 0) : opened[-1].end()].strip()
        tag = re.match(rb"<([\w.:-]+)", opened[-1][0])
        assert tag is not None
        self._tail = b"</" + tag[1] + b">"
        return before


_ROOTS = ("world-patent-data", "exchange-documents", "exchange-document")


def _read(path: Path) -> Iterator[Item]:
    if first_root(path) == "exchange-documents":
        return read_bulk(path, _documents, _Splitter("exchange-documents", "exchange-document").documents)
    return read_bulk(path, _documents)


READER = Reader(
    "ops",
    "EPO exchange documents: answers of OPS, DOCDB (XML, zip)",
    sniff=lambda path: first_root(path) in _ROOTS,
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


_ORIGINS = {"examiner": "examiner", "applicant": "applicant", "app": "applicant"}
BY_OFFICE = ("search", "international-search", "examination")  # phases in which an examiner cites


def _cited(citation: Element) -> Iterator[Cited]:
    """The citations of an entry of a search report, one for each category with claims."""
    code = (citation.get("cited-phase") or "").lower()
    phase = CODES["phases"].get(code, code)
    origin = _ORIGINS.get((citation.get("cited-by") or code).lower(), "examiner" if phase in BY_OFFICE else "")
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
