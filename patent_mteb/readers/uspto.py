"""USPTO bulk full text: grants and applications in XML since 2001, as single documents or weekly files.

The DTDs are 4.0 to 4.7 since 2005 (``us-patent-grant``, ``us-patent-application``); before, 2.4 and 2.5 of grants
(``PATDOC``: WIPO ST.32, with INID codes of ST.9), 1.5 and 1.6 of applications (``patent-application-publication``).

Only grants have citations, with their origin (examiner, applicant). The USPTO has no families: publications of one
application (A1 and B2) have the application number as family id. The source ``uspto`` reads utility patents only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from patent_mteb.readers.items import Item, Reader, Skipped
from patent_mteb.readers.publication import (
    Cited,
    ClaimText,
    Paragraph,
    Published,
    Related,
    Texts,
    marked_claims,
    paragraph_of,
)
from patent_mteb.readers.values import CODES, application, language, publication
from patent_mteb.readers.xml import Element, first_root, read_bulk, text_at, text_of


def not_utility(kind: str) -> str:
    """Return the reason to skip a publication of a kind, empty for those of utility patents."""
    other = CODES["us_not_utility"].get(kind[:1])
    return f"not a utility patent ({other})" if other else ""


def _document(root: Element, place: str, every: bool) -> Iterator[Item]:
    tag = str(root.tag)
    if tag not in _MAKERS:
        yield Skipped("", place, f"not a patent document ({tag})")
        return
    published = _MAKERS[tag](root)
    if not every and (reason := not_utility(published.kind)):
        yield Skipped(published.number, place, reason)
    else:
        yield from published.items(place)


# Names of the elements with number, office, kind and date of a document.
_MODERN = ("doc-number", "country", "kind", "date")
_PATDOC = ("DNUM", "CTRY", "KIND", "DATE")
_OF_2001 = ("doc-number", "country-code", "", "document-date")


def _identifier(document: Element, names: tuple[str, ...] = _MODERN) -> tuple[str, str, str]:
    """Number, office and kind of a document."""
    number, office, kind = (text_at(document, name) if name else "" for name in names[:3])
    return number, office, kind


def _published(document: Element, kind: str, names: tuple[str, ...] = _MODERN) -> Related:
    return Related(kind, publication(*_identifier(document, names)))


def _filed(document: Element, kind: str, names: tuple[str, ...] = _MODERN, office: str = "") -> Related:
    number, country, its_kind = _identifier(document, names)
    office = country or office
    return Related(kind, application(number, office, its_kind), text_at(document, names[3]), office)


def _name(party: Element, organization: str, *parts: str) -> str:
    """The name of an organization, or the parts of the name of a person."""
    return text_at(party, organization) or " ".join(filter(None, (text_at(party, part) for part in parts)))


def _modern(root: Element) -> Published:
    """A grant or an application of 2005 and later."""
    biblio = next((one for one in root if str(one.tag).startswith("us-bibliographic-data")), None)
    if biblio is None:
        return Published("uspto", "US", "", "")
    published, filed = "publication-reference/document-id/", "application-reference/document-id/"
    return Published(
        source="uspto",
        office=text_at(biblio, published + "country") or "US",
        serial=text_at(biblio, published + "doc-number"),
        kind=text_at(biblio, published + "kind"),
        date=text_at(biblio, published + "date"),
        application=application(text_at(biblio, filed + "doc-number"), "US"),
        filed=text_at(biblio, filed + "date"),
        texts=Texts.of(
            language(root.get("lang")),
            text_at(biblio, "invention-title"),
            text_at(root, "abstract"),
            marked_claims(root.iterfind("claims/claim")),
            _paragraphs(root.find("description")),
        ),
        ipc=[*_classes(biblio, "classifications-ipcr/classification-ipcr"), *_old_classes(biblio)],
        cpc=_classes(biblio, "classifications-cpc/*/classification-cpc"),
        inventors=[_party(one) for path in _INVENTORS for one in biblio.iterfind(path)],
        applicants=[
            _party(one)
            for one in biblio.findall("us-parties/us-applicants/us-applicant") or biblio.iterfind("assignees/assignee")
        ],
        cited=_cited(biblio),
        related=_related(biblio),
        combinations=len(biblio.findall("classifications-cpc/*/combination-set")),
    )


def _paragraphs(description: Element | None) -> Iterator[Paragraph]:
    mark = ""
    for child in [] if description is None else description:
        if not isinstance(child.tag, str):
            target, text = str(getattr(child, "target", "")), child.text or ""
            if target in CODES["us_sections"]:
                mark = "" if 'end="tail"' in text else CODES["us_sections"][target]
        elif child.tag == "description-of-drawings":
            yield from (paragraph_of(one, "drawings") for one in child if isinstance(one.tag, str))
        else:
            yield paragraph_of(child, mark)


def _classes(biblio: Element, path: str) -> list[str]:
    parts = ("section", "class", "subclass", "main-group", "subgroup")
    codes = []
    for one in biblio.iterfind(path):
        section, cls, subclass, group, subgroup = (text_at(one, part) for part in parts)
        codes.append(f"{section}{cls}{subclass}" + (f"{group}/{subgroup}" if group else ""))
    return codes


def _old_classes(biblio: Element) -> list[str]:
    """The IPC codes of 2005, before the eighth edition of the IPC."""
    tags = ("main-classification", "further-classification")
    return [text_of(one) for one in biblio.iterfind("classification-ipc/*") if one.tag in tags]


_INVENTORS = ("us-parties/inventors/inventor", "parties/applicants/applicant[@app-type='applicant-inventor']")


def _party(party: Element) -> str:
    book = party.find("addressbook")
    return _name(party if book is None else book, "orgname", "first-name", "middle-name", "last-name")


def _cited(biblio: Element) -> Iterator[Cited]:
    for path in ("references-cited/citation", "us-references-cited/us-citation"):
        for one in biblio.iterfind(path):
            document = one.find("patcit/document-id")
            origin = CODES["us_origins"].get(text_at(one, "category").lower(), "")
            if document is None:
                yield Cited("", origin=origin, npl=one.find("nplcit") is not None)
            else:
                yield Cited(*_identifier(document), origin)


def _related(biblio: Element) -> Iterator[Related]:
    for claim in biblio.iterfind("priority-claims/priority-claim"):
        yield _filed(claim, "priority")
    for one in biblio.iterfind("us-related-documents/*"):
        tag = str(one.tag)
        kind = CODES["us_relations"].get(tag, "parent")
        for parent in one.iterfind("relation/parent-doc/document-id"):
            yield _filed(parent, kind)
        for document in one.iterfind("document-id"):
            if tag == "related-publication":
                yield _published(document, "pre-grant")
            else:
                yield _filed(document, "provisional" if tag == "us-provisional-application" else kind)
    for document in biblio.iterfind("pct-or-regional-filing-data/document-id"):
        yield _filed(document, "parent")
    for document in biblio.iterfind("pct-or-regional-publishing-data/document-id"):
        yield _published(document, "member")


def _patdoc(root: Element) -> Published:
    """A grant of 2001 to 2004."""
    claims = marked_claims(root.iterfind("SDOCL/CL/CLM"), "ID", "CLREF", "ID")
    return Published(
        source="uspto",
        office="US",
        serial=text_at(root, "SDOBI/B100/B110"),
        kind=text_at(root, "SDOBI/B100/B130"),
        date=text_at(root, "SDOBI/B100/B140"),
        application=application(text_at(root, "SDOBI/B200/B210"), "US"),
        filed=text_at(root, "SDOBI/B200/B220"),
        texts=Texts.of(
            "en", text_at(root, "SDOBI/B500/B540"), text_at(root, "SDOAB"), claims, _patdoc_paragraphs(root)
        ),
        ipc=[
            _columns("".join(one.itertext()).strip())
            for one in root.iterfind("SDOBI/B500/B510/*")
            if one.tag in ("B511", "B512")
        ],
        inventors=[_name(one, *_NAME) for one in root.iterfind("SDOBI/B700/B720/B721/PARTY-US")],
        applicants=[_name(one, *_NAME) for one in root.iterfind("SDOBI/B700/B730/B731/PARTY-US")],
        cited=_patdoc_cited(root),
        related=_patdoc_related(root),
    )


_NAME = ("NAM/ONM", "NAM/FNM", "NAM/SNM")


def _patdoc_paragraphs(root: Element) -> Iterator[Paragraph]:
    for part in root.iterfind("SDODE/*"):
        for text in part.iterfind("BTEXT/*"):
            yield Paragraph(text_of(text), CODES["us_sections"].get(str(part.tag), ""))


def _columns(code: str) -> str:
    """Read an IPC code in fixed columns: four for the subclass, three for the main group, the rest for the subgroup.

    If spaces are missing (``E03C 104``), the subgroup in its column has one digit; then the last two digits count.
    """
    subclass, group, subgroup = code[:4], code[4:7].strip(), code[7:].strip()
    if len(subgroup) < 2:
        digits = code[4:].strip()
        group, subgroup = digits[:-2], digits[-2:]
    if group.isdigit() and subgroup.isdigit():
        return f"{subclass}{group}/{subgroup}"
    return code


def _patdoc_cited(root: Element) -> Iterator[Cited]:
    for one in root.iterfind("SDOBI/B500/B560/*"):
        origin = "examiner" if one.find("CITED-BY-EXAMINER") is not None else ""
        document = one.find("PCIT/DOC")
        if document is not None:
            number, office, kind = _identifier(document, _PATDOC)
            yield Cited(number, office or "US", kind, origin)
        elif one.tag == "B562":
            yield Cited("", origin=origin, npl=True)


def _patdoc_related(root: Element) -> Iterator[Related]:
    for one in root.iterfind("SDOBI/B300"):
        office, date = text_at(one, "B330"), text_at(one, "B320")
        yield Related("priority", application(text_at(one, "B310"), office), date, office)
    for parent in root.iterfind("SDOBI/B600//PARENT-US/PDOC/DOC"):
        kinds = (CODES["us_relations_patdoc"].get(str(above.tag)) for above in parent.iterancestors())
        yield _filed(parent, next(filter(None, kinds), "parent"), _PATDOC, "US")
    for document in root.iterfind("SDOBI/B600/B680US/DOC"):
        yield _filed(document, "provisional", _PATDOC, "US")
    for document in root.iterfind("SDOBI/B600/B690US/DOC"):
        yield _published(document, "pre-grant", _PATDOC)
    for document in root.iterfind("SDOBI/B800/B860/B861/DOC"):
        yield _filed(document, "parent", _PATDOC)
    for document in root.iterfind("SDOBI/B800/B870/B871/DOC"):
        yield _published(document, "member", _PATDOC)


def _application_of_2001(root: Element) -> Published:
    """A publication of an application of 2001 to 2004."""
    biblio = root.find("subdoc-bibliographic-information")
    if biblio is None:
        return Published("uspto", "US", "", "")
    filed = "domestic-filing-data/"
    return Published(
        source="uspto",
        office="US",
        serial=text_at(biblio, "document-id/doc-number"),
        kind=text_at(biblio, "document-id/kind-code"),
        date=text_at(biblio, "document-id/document-date"),
        application=application(text_at(biblio, filed + "application-number/doc-number"), "US"),
        filed=text_at(biblio, filed + "filing-date"),
        texts=Texts.of(
            "en",
            text_at(biblio, "technical-information/title-of-invention"),
            text_of(root.find("subdoc-abstract"), without=("number", "heading")),
            [_claim_of_2001(claim) for claim in root.iterfind("subdoc-claims/claim")],
            _paragraphs_of_2001(root),
        ),
        ipc=[text_of(one) for one in biblio.iterfind("technical-information/classification-ipc/*/ipc")],
        inventors=[_name(one, *_NAME_OF_2001) for one in biblio.iterfind("inventors/*")],
        applicants=[_name(one, *_NAME_OF_2001) for one in biblio.iterfind("assignee")],
        related=_related_of_2001(biblio),
    )


def _claim_of_2001(claim: Element) -> ClaimText:
    refers = " ".join(one.get("depends_on", "") for one in claim.iter("dependent-claim-reference"))
    return ClaimText(claim.get("id", ""), text_of(claim), tuple(refers.split()))


def _paragraphs_of_2001(root: Element) -> Iterator[Paragraph]:
    for part in root.iterfind("subdoc-description/*"):
        section = CODES["us_sections"].get(str(part.tag), "")
        for text in part.iter("heading", "paragraph"):
            number = text_at(text, "number").strip("[] ") if text.tag == "paragraph" else ""
            words = text_of(text, without=() if text.tag == "heading" else ("number",))
            yield Paragraph(words, section, int(number) if number.isdecimal() else 0)


_NAME_OF_2001 = ("organization-name", "name/given-name", "name/middle-name", "name/family-name", "name/name-suffix")


def _related_of_2001(biblio: Element) -> Iterator[Related]:
    for one in biblio.iterfind("foreign-priority-data"):
        yield _filed(one, "priority", ("priority-application-number", "country-code", "", "filing-date"))
    for one in biblio.iterfind("continuity-data//*"):
        kind = CODES["us_relations_2001"].get(str(one.tag), "parent")
        documents = (
            one.findall("document-id") if kind == "provisional" else one.iterfind("parent-child/parent/document-id")
        )
        for document in documents:
            yield _filed(document, kind, _OF_2001)


_MAKERS: dict[str, Callable[[Element], Published]] = {
    "us-patent-grant": _modern,
    "us-patent-application": _modern,
    "PATDOC": _patdoc,
    "patent-application-publication": _application_of_2001,
}


def _reader(name: str, what: str, every: bool) -> Reader:
    return Reader(
        name,
        what,
        sniff=lambda path: not every and first_root(path) in _MAKERS,
        read=lambda path: read_bulk(path, partial(_document, every=every)),
    )


READERS = (
    _reader("uspto", "USPTO full text: grants and applications in XML or zip files", every=False),
    _reader("uspto-all-kinds", "the same with designs, plant patents, reissues", every=True),
)
