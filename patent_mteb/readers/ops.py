"""Exchange documents of the EPO: answers of the open patent services (OPS) and DOCDB files.

They have bibliographic data, DOCDB families, and search reports with categories, claims and passages. OPS gives claims
and descriptions in answers of their own, which an import joins to the record of the same number. The members in a
family answer have numbers and priorities only; they become relations, not records. Namespaces are ignored, because OPS
and DOCDB have different ones for the same elements.

A DOCDB file is one document with thousands of exchange documents, which are split so that one at a time is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from lxml import etree

from patent_mteb.patents.categories import phase_and_origin
from patent_mteb.patents.records import Relation
from patent_mteb.readers.items import Item, Note, Reader, Skipped
from patent_mteb.readers.joining import DELETED, EXCHANGED
from patent_mteb.readers.ops_json import is_ops_json, read_ops_json
from patent_mteb.readers.publication import Cited, Published, Related, Texts, printed_paragraph, unmarked_claims
from patent_mteb.readers.values import CODES, application, claim_numbers, language, publication
from patent_mteb.readers.xml import (
    Element,
    MalformedError,
    documents,
    first_root,
    first_roots,
    read_bulk,
    split_before,
    text_of,
)

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


_ROOTS = {"world-patent-data", "exchange-documents", "exchange-document", "fulltext-documents", "fulltext-document"}


_TAG = re.compile(rb"<(?:[\w.-]+:)?exchange-document\s[^>]*>")
_ATTRIBUTE = re.compile(rb"([\w-]+)\s*=\s*[\"\']([^\"\']*)")


def _latest_exchanges(path: Path) -> tuple[dict[tuple[str, ...], str], str]:
    """Return the last day of exchange of each publication that a DOCDB file repeats, and of the file."""
    latest: dict[tuple[str, ...], str] = {}
    repeated = set()
    for document in documents(path, _split):
        if not isinstance(document, Skipped) and (tag := _TAG.search(document[1])):
            attributes = {name.decode(): value.decode("utf-8", "replace") for name, value in _ATTRIBUTE.findall(tag[0])}
            number, day = _exchange(attributes)
            repeated |= {number} & latest.keys()
            latest[number] = max(day, latest.get(number, ""))
    return {number: latest[number] for number in repeated}, max(latest.values(), default="")


def _exchange(attributes: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """Office, number and kind of an exchange document, and the day on which it was exchanged."""
    number = tuple(attributes.get(name) or "" for name in ("country", "doc-number", "kind"))
    return number, attributes.get("date-of-last-exchange") or ""


def _read(path: Path) -> Iterator[Item]:
    if _ROOTS.isdisjoint(first_roots(path)):
        return read_ops_json(path, _documents)
    if first_root(path) == "exchange-documents":
        return _read_docdb(path)
    return read_bulk(path, _documents)


def _read_docdb(path: Path) -> Iterator[Item]:
    latest, day = _latest_exchanges(path)
    if day:
        yield Note(EXCHANGED, day)
    yield from read_bulk(path, partial(_documents, latest=latest), _split)


READER = Reader(
    "ops",
    "EPO exchange documents: answers of OPS (XML, JSON), DOCDB, national full texts (XML, zip)",
    sniff=lambda path: not _ROOTS.isdisjoint(first_roots(path)) or is_ops_json(path),
    read=_read,
)


_DELETED = ("D", "DV")
_WITHDRAWN = "CV"


def _documents(root: Element, place: str, latest: Mapping[tuple[str, ...], str] | None = None) -> Iterator[Item]:
    found = list(root.iter("{*}exchange-document", "{*}fulltext-document"))
    families = list(root.iter("{*}patent-family", "{*}equivalents-inquiry"))
    results = [one for result in root.iter("{*}search-result") for one in _all(result, "publication-reference")]
    if not found and not families and not results:
        content = next((_name(one) for one in root if _name(one) != "meta"), "")
        yield Skipped("", place, f"no exchange document ({_name(root)}{', ' if content else ''}{content})")
    for family in families:
        yield from _family(family, place)
    for number, result in enumerate(results, start=1):
        where = f"{place}, search result {number}"
        try:
            yield from _search_result(result).items(where)
        except MalformedError as error:
            yield Skipped("", where, str(error))
    for number, document in enumerate(found, start=1):
        where = f"{place}, exchange document {number}"
        status = document.get("status") or ""
        exchanged, day = _exchange(document.attrib)
        if status in _DELETED or day < (latest or {}).get(exchanged, ""):
            office, serial, kind = exchanged
            reason = DELETED if status in _DELETED else "an earlier exchange of a document"
            yield Skipped(publication(serial, office, kind), where, reason)
            continue
        if status == _WITHDRAWN:
            yield Note("a publication that was withdrawn (DOCDB: CV)", "".join(exchanged))
        try:
            yield from _document(document).items(where)
        except MalformedError as error:
            yield Skipped("", where, str(error), etree.tostring(document, encoding="unicode"))


def _search_result(reference: Element) -> Published:
    """A publication in the answer to a search without bibliographic data: number and family."""
    serial, office, kind, date = _identifier(reference)
    family = reference.get("family-id") or ""
    return Published(source="ops", office=office, serial=serial, kind=kind, date=date, family=family, texts=Texts(""))


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
        application=application(applied, applied_at, applied_kind, filed),
        filed=filed,
        family=document.get("family-id") or "",
        ipc=map(text_of, ipc),
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
        combinations=len(_all(biblio, "patent-classifications/combination-set")),
    )


def _identifier_of(element: Element, path: str) -> tuple[str, str, str, str]:
    """The identifier of the first reference at a path, DOCDB's own (``data-format="docdb"``) before others."""
    found = sorted(_all(element, path), key=lambda one: one.get("data-format") not in (None, "docdb"))
    return _identifier(found[0]) if found else ("", "", "", "")


def _priorities(element: Element, path: str) -> Iterator[Related]:
    for claim in _all(element, path):
        if claim.get("data-format") in (None, "docdb"):
            serial, office, kind, date = _identifier(claim)
            number = application(serial, office, kind, date)
            yield Related("priority", number, date, office or number[:2])


def _cpc(one: Element) -> str:
    parts = ("section", "class", "subclass", "main-group", "subgroup")
    section, cls, subclass, group, subgroup = (_text(one, part) for part in parts)
    symbol = _text(one, "classification-symbol")
    return symbol or f"{section}{cls}{subclass}{group}/{subgroup}"


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
    """The citations of an entry of a search report, one for each category with its claims."""
    phase, origin = phase_and_origin(citation.get("cited-phase") or "", citation.get("cited-by") or "")
    patent = citation.find("{*}patcit")
    if patent is None:
        yield Cited("", origin=origin, phase=phase, npl=True)
        return
    serial, office, kind, _ = _identifier(patent)
    searched, by = citation.get("cited-date") or "", citation.get("srep-office") or citation.get("office") or ""
    cited = Cited(serial, office, kind, origin, phase=phase, date=searched, by=by)
    for (category, claims), passages in _findings(citation).items():
        yield cited._replace(category=category, claims=claims, passages=tuple(passages))


_Finding = tuple[str, tuple[int, ...]]
"""A category and the claims that it concerns."""


def _findings(citation: Element) -> dict[_Finding, list[str]]:
    """The categories with claims of a citation, and the passages of each.

    A block of passages belongs to all categories of its document. The three sources order them differently:

    * DOCDwrites blocks (``rel-passage``) of passages, then categories, and behind them all categories in one element;
    * OPS writes the categories in front of a block, so it belongs to those since the previous block;
    * the order of the schema is a block in front of its categories, which are not in it.
    """
    parts = [part for child in citation if _name(child) != "corresponding-docs" for part in child.iter("{*}*")]
    blocks = [part for part in parts if _name(part) == "rel-passage"]
    if with_categories := [block for block in blocks if block.find("{*}category") is not None]:
        groups = [[part for part in block.iter("{*}*") if part is not block] for block in with_categories]
        alone = [text for block in blocks if block not in with_categories for text in _passages(block)]
    else:
        groups, alone = [parts], []
    found: dict[_Finding, list[str]] = {}
    for group in groups:
        for finding, passages in _in_order(group):
            found.setdefault(finding, []).extend(text for text in passages if text not in found[finding])
    for passages in found.values():
        passages.extend(text for text in alone if text not in passages)
    return found


def _in_order(parts: Iterable[Element]) -> Iterator[tuple[_Finding, list[str]]]:
    """Yield categories with the passages of the block that follows them, or precedes them if a block comes first."""
    names = ("passage", "category", "rel-claims")
    sequence = [(_name(part), part) for part in parts if _name(part) in names]
    passages_first = bool(sequence) and sequence[0][0] == "passage"
    pairs: list[tuple[str, str]] = []
    passages: list[str] = []
    previous = ""
    for name, part in sequence:
        is_new = name == "passage" if passages_first else previous == "passage"
        if is_new and name != previous and pairs:
            yield from _paired(pairs, passages)
            pairs, passages = [], []
        if name == "passage":
            passages += filter(None, [_passage(part)])
        elif name == "category":
            pairs.append((text_of(part), ""))
        elif pairs:
            pairs[-1] = (pairs[-1][0], text_of(part))
        previous = name
    yield from _paired(pairs or [("", "")], passages)


def _paired(pairs: Iterable[tuple[str, str]], passages: list[str]) -> Iterator[tuple[_Finding, list[str]]]:
    return (((category, claim_numbers(claims)), passages) for category, claims in pairs)


def _passages(block: Element) -> list[str]:
    return [text for one in block.iterfind("{*}passage") if (text := _passage(one))]


def _passage(passage: Element) -> str:
    """The words of a passage; DOCDB has elements for pages, columns, lines, paragraphs and others."""
    words, previous = passage.text or "", ""
    for part in passage.iterchildren("{*}*"):
        name, text = _name(part), text_of(part)
        whole = CODES["passages_of_codes"].get(text) if name == "pp" else None
        joint = "" if not words.strip() else " - " if name in _ENDS and previous not in _ENDS else ", "
        unit = CODES["passages"].get(name, name)
        words = f"{words.rstrip()}{joint}{whole or f'{unit} {text}'} {part.tail or ''}"
        previous = name
    return " ".join(words.split())


_ENDS = ("ppl", "coll", "paral", "linel")
"""Elements of the last page, column, paragraph or line of a range."""


def _name(element: Element) -> str:
    return str(etree.QName(element).localname)


def _family(family: Element, place: str) -> Iterator[Item]:
    """The members of a family as relations of the requested publication. Equivalents have no kind codes."""
    serial, office, kind, _ = _identifier_of(family, "publication-reference")
    requested, own = publication(serial, office, kind), {publication(serial, office, one) for one in (kind, "")}
    members = _all(family, "family-member") or _all(family, "inquiry-result")
    for number, member in enumerate(members, start=1):
        serial, office, kind, _ = _identifier_of(member, "publication-reference")
        if not serial:
            yield Skipped("", f"{place}, family member {number}", "no publication number")
            continue
        its = publication(serial, office, kind)
        if requested and its not in own:
            yield Relation(requested, its, "member")
        applied, applied_at, applied_kind, filed = _identifier_of(member, "application-reference")
        if applied:
            yield Relation(its, application(applied, applied_at, applied_kind, filed), "application")
        for priority in _priorities(member, "priority-claim"):
            yield Relation(its, priority.number, "priority")
