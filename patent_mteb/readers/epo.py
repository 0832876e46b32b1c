"""EPO full text: XML of the European Publication Server (DTD 1.0 to 1.5.1) and *EP full text for text analytics* (TSV).

The XML has bibliographic data, texts and citations; ``Bxxx`` are INID codes of WIPO ST.9. Search reports are images:
only the list of documents (INID 56, ``B561``) is text, without categories and claims. ``patcit`` in the description are
citations of the applicant. The TSV has texts only: seven columns without a header, one text per row. The claims of a B1
are in three languages: the main text is English if it exists, else the language of the document; the others are
translations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.files import text_lines
from patent_mteb.readers.items import Item, Reader, Skipped, without_repeats
from patent_mteb.readers.publication import Cited, Paragraph, Published, Related, Texts, marked_claims, paragraph_of
from patent_mteb.readers.values import application, language, publication
from patent_mteb.readers.xml import Element, MalformedError, first_root, parse, read_bulk, text_at, text_of

FURTHER_CLAIMS = "a further set of claims in the same language (other contracting states)"
_FURTHER_TEXT = "a further text of one kind in the same language"
_APPLICATION = "L"  # `dnum-type` of a citation of an application
_ROOT = "ep-patent-document"
_CPC = "B500/B520EP/classifications-cpc"
_APPLICANTS = ("B700/B710/B711", "B700/B730/B731")


def _document(root: Element, place: str) -> Iterator[Item]:
    if root.tag != _ROOT:
        yield Skipped("", place, f"not a patent document ({root.tag})")
        return
    biblio = root.find("SDOBI")
    if biblio is None:
        raise MalformedError("no bibliographic data (SDOBI)")
    texts = Texts(language(root.get("lang")), titles=_titles(biblio))
    further = 0
    for part in root.iterfind("*"):
        its_language = language(part.get("lang"))
        if part.tag == "abstract":
            texts.abstracts.setdefault(its_language, text_of(part))
        elif part.tag == "description":
            texts.descriptions.setdefault(its_language, _paragraphs(part))
        elif part.tag == "claims":
            further += its_language in texts.claims
            texts.claims.setdefault(its_language, marked_claims(part.iterfind("claim")))
    published = Published(
        source="epo",
        office=root.get("country") or "EP",
        serial=root.get("doc-number") or text_at(biblio, "B100/B110"),
        kind=root.get("kind") or text_at(biblio, "B100/B130"),
        date=root.get("date-publ") or text_at(biblio, "B100/B140/date"),
        application=application(text_at(biblio, "B200/B210"), "EP"),
        filed=text_at(biblio, "B200/B220/date"),
        ipc=_classes(biblio),
        cpc=[text_of(one) for one in biblio.iterfind(f"{_CPC}/classification-cpc/text")],
        inventors=[text_at(one, "snm") for one in biblio.iterfind("B700/B720/B721")],
        applicants=[text_at(one, "snm") for path in _APPLICANTS for one in biblio.iterfind(path)],
        cited=[*_searched(biblio), *_in_description(root)],
        related=_related(biblio),
        texts=texts,
    )
    yield from published.items(place)
    for _ in range(further):
        yield Skipped(published.number, place, FURTHER_CLAIMS)


def _titles(biblio: Element) -> dict[str, str]:
    """The titles by language: pairs of ``B541`` (language) and ``B542``."""
    titles: dict[str, str] = {}
    its_language = ""
    for one in biblio.iterfind("B500/B540/*"):
        if one.tag == "B541":
            its_language = language(text_of(one))
        elif one.tag == "B542":
            titles.setdefault(its_language, text_of(one))
    return titles


def _paragraphs(description: Element) -> list[Paragraph]:
    return [paragraph_of(one) for one in description if isinstance(one.tag, str)]


def _classes(biblio: Element) -> Iterator[str]:
    for one in biblio.iterfind("B500/B510EP/classification-ipcr/text"):
        yield text_of(one)
    for one in biblio.iterfind("B500/B510/*"):
        if one.tag in ("B511", "B512", "B513", "B514"):
            yield _EDITION.sub("", text_of(one)).rstrip(" -")


_EDITION = re.compile(r"^\d ?(?=[A-H])")
"""The edition of the IPC in front of a code: ``7C 07C 29/44 A``."""
_GROUPED = re.compile(r"(?<=\d) (?=\d)|(?<=R) (?=E)")


def _searched(biblio: Element) -> Iterator[Cited]:
    """INID 56: patents as ``US-A- 5 948 634``, other literature."""
    for one in biblio.iterfind("B500/B560/*"):
        if one.tag == "B561":
            yield Cited(_GROUPED.sub("", text_at(one, "text")), origin="examiner", phase="search")
        elif one.tag == "B562":
            yield Cited("", origin="examiner", phase="search", npl=True)


def _in_description(root: Element) -> Iterator[Cited]:
    """Yield the documents in the description and in the list after it, which repeats them, once each."""
    found: dict[str, bool] = {}
    for part in ("description", "ep-reference-list"):
        for one in root.iterfind(f"{part}//patcit"):
            parts = (text_at(one, f"document-id/{name}") for name in ("country", "doc-number", "kind"))
            found.setdefault(one.get("dnum") or "".join(parts), one.get("dnum-type") == _APPLICATION)
    for number, unpublished in found.items():
        yield Cited(number, origin="applicant", unpublished=unpublished)


def _related(biblio: Element) -> Iterator[Related]:
    for claim in biblio.iterfind("B300"):  # one priority, or several with three elements each
        parts = (claim.findall(path) for path in ("B310", "B320/date", "B330/ctry"))
        for number, date, office in zip(*(map(text_of, found) for found in parts), strict=False):
            yield Related("priority", application(number, office, filed=date), date, office)
    for one in biblio.iterfind("B600/B620/parent/pdoc"):
        yield Related("division", application(text_at(one, "dnum/anum"), "EP"), text_at(one, "date"), "EP")
    for one in biblio.iterfind("B800/B860/B861"):
        yield Related("parent", application(text_at(one, "dnum/anum"), kind="W"), text_at(one, "date"), "WO")
    for one in biblio.iterfind("B800/B870/B871"):
        yield Related("member", publication(text_at(one, "dnum/pnum")))


_COLUMNS = 7  # of a row of the EP full-text data
_ROW = re.compile(r"[A-Z]{2}\t\d+\t[A-Z]\d?\t\d{4}-?\d\d-?\d\d\t[a-z]{2}\t[A-Z]{5}\t")


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in text_lines(path):
        columns = line.split("\t", _COLUMNS - 1)
        if line and len(columns) < _COLUMNS:
            problem = f"{len(columns)} columns where EP full text for text analytics has {_COLUMNS}"
            remedy = "keep authority, number, kind, date, language, kind of text, text"
            raise DataError(problem, path=path, row=number, remedy=remedy)
        if line:
            yield number, columns


def _publications(rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[str, Item]]:
    for (office, serial, kind, date), group in groupby(rows, key=lambda row: tuple(row[1][:4])):
        texts = Texts("")
        place = ""
        for number, (*_, code, type_, text) in group:
            place = place or f"row {number}"
            malformed = ""
            try:
                reason = _add(texts, type_, language(code), text)
            except MalformedError as error:
                reason, malformed = str(error), text
            if reason:
                yield place, Skipped(f"{office}{serial}{kind}", f"row {number}", reason, malformed)
        published = Published("epo-tsv", office, serial, kind, date, texts=texts)
        try:
            yield from ((place, item) for item in published.items(place))
        except MalformedError as error:
            yield place, Skipped("", place, str(error))


def _text_or_paragraphs(root: Element) -> list[Paragraph]:
    return _paragraphs(root) if len(root) else [Paragraph(text_of(root), "detailed")]


def _add(texts: Texts, type_: str, its_language: str, text: str) -> str:
    """Add a text of the TSV, or return the reason to skip it."""
    fields: dict[str, tuple[dict[str, Any], Callable[[Element], Any]]] = {
        "TITLE": (texts.titles, text_of),
        "ABSTR": (texts.abstracts, text_of),
        "DESCR": (texts.descriptions, _text_or_paragraphs),
        "CLAIM": (texts.claims, lambda root: marked_claims(root.iterfind("claim"))),
    }
    if type_ not in fields:
        return f"a text without a field in records ({type_})"
    known, read = fields[type_]
    if its_language in known:
        return FURTHER_CLAIMS if type_ == "CLAIM" else _FURTHER_TEXT
    known[its_language] = read(parse(f"<text>{text}</text>".encode())[0])
    if type_ == "DESCR":
        texts.language = its_language
    return ""


READERS = (
    Reader(
        "epo",
        "EPO full text: XML of the European Publication Server",
        sniff=lambda path: first_root(path) == _ROOT,
        read=lambda path: read_bulk(path, _document),
    ),
    Reader(
        "epo-tsv",
        "EP full text for text analytics (TSV)",
        sniff=lambda path: any(_ROW.match(line) for _, line in islice(text_lines(path), 1)),
        read=lambda path: without_repeats(_publications(_rows(path))),
    ),
)
