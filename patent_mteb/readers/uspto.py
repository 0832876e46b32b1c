"""USPTO bulk full text: grants and applications in XML since 2001, as single documents or weekly files.

=================================  ==========  ====================================================================
root element                       years       read by
=================================  ==========  ====================================================================
``us-patent-grant``                2005-       this module (DTD 4.0 to 4.7)
``us-patent-application``          2005-       this module (DTD 4.0 to 4.6)
``PATDOC``                         2001-2004   :mod:`patent_mteb.readers.uspto_2001` (ST.32, DTD 2.4 and 2.5)
``patent-application-publication`` 2001-2004   :mod:`patent_mteb.readers.uspto_2001` (DTD 1.5 and 1.6)
``sequence-cwu``                   2001-       skipped: sequence listings next to their documents
=================================  ==========  ====================================================================

Only grants have citations, with their origin (examiner, applicant). The USPTO has no families: publications of one
application (A1 and B2) have the application number as family id. The source ``uspto`` reads utility patents only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from patent_mteb.patents.records import TextLanguages
from patent_mteb.readers.bulk import read_bulk
from patent_mteb.readers.full_text import ClaimText, Paragraph, paragraph_numbers, read_claim_texts, read_sections
from patent_mteb.readers.items import Item, Reader, Skipped
from patent_mteb.readers.publication import US_ORIGINS, Cited, Published, Related
from patent_mteb.readers.uspto_2001 import patdoc, publication_of_2001
from patent_mteb.readers.values import application, ipc_code, language, publication
from patent_mteb.readers.xml import Element, first_root, text_at, text_of

_TYPES = {"S": "design", "P": "plant", "E": "reissue", "H": "statutory invention registration"}
"""First letter of the kind code -> kind of a patent that is not a utility patent (37 CFR 1.151 to 1.179)."""


def readers() -> Iterator[Reader]:
    """Yield the readers of utility patents and of all kinds."""
    yield Reader(
        "uspto", "USPTO full text: grants and applications in XML or zip files", _sniff, partial(_read, every=False)
    )
    yield Reader(
        "uspto-all-kinds",
        "the same with designs, plant patents, reissues",
        lambda path: False,
        partial(_read, every=True),
    )


def _sniff(path: Path) -> bool:
    return first_root(path) in _MAKERS


def _read(path: Path, every: bool) -> Iterator[Item]:
    return read_bulk(path, partial(_document, every=every))


def _document(root: Element, place: str, every: bool) -> Iterator[Item]:
    tag = str(root.tag)
    if tag not in _MAKERS:
        yield Skipped("", place, f"no patent document ({tag})")
        return
    published = _MAKERS[tag](root)
    other = _TYPES.get(published.kind[:1])
    if other and not every:
        yield Skipped(published.number, place, f"not a utility patent ({other})")
    else:
        yield from published.items(place)


def _texts(element: Element, path: str) -> list[str]:
    return [text_of(one) for one in element.iterfind(path)]


def _modern(root: Element) -> Published:
    """A grant or an application of 2005 and later."""
    biblio = root.find("us-bibliographic-data-grant")
    if biblio is None:
        biblio = root.find("us-bibliographic-data-application")
    if biblio is None:
        return Published("uspto", "US", "", "")
    own, filed = "publication-reference/document-id/", "application-reference/document-id/"
    spoken = language(root.get("lang"))
    claims, notes = read_claim_texts(_claim(claim) for claim in root.iterfind("claims/claim"))
    paragraphs = list(_paragraphs(root.find("description")))
    description = read_sections(paragraphs)
    return Published(
        source="uspto",
        office=text_at(biblio, own + "country") or "US",
        serial=text_at(biblio, own + "doc-number"),
        kind=text_at(biblio, own + "kind"),
        date=text_at(biblio, own + "date"),
        application=application(text_at(biblio, filed + "doc-number"), "US"),
        filed=text_at(biblio, filed + "date"),
        title=text_at(biblio, "invention-title"),
        abstract=text_at(root, "abstract"),
        claims=claims,
        description=description,
        paragraphs=paragraph_numbers(paragraphs, description),
        ipc=[*_classes(biblio, "classifications-ipcr/classification-ipcr"), *_old_classes(biblio)],
        cpc=_classes(biblio, "classifications-cpc/*/classification-cpc"),
        inventors=[_name(one) for one in _inventors(biblio)],
        applicants=[_name(one) for one in _applicants(biblio)],
        languages=TextLanguages(spoken, spoken, spoken, spoken),
        cited=list(_cited(biblio)),
        related=list(_related(biblio)),
        notes=notes,
    )


def _claim(claim: Element) -> ClaimText:
    refers = [reference.get("idref", "") for reference in claim.iter("claim-ref")]
    return ClaimText(claim.get("num", ""), text_of(claim), tuple(refers))


_MARKS = {
    "RELAPP": "background",
    "GOVINT": "background",
    "BRFSUM": "summary",
    "DETDESC": "detailed",
    "brief-description-of-drawings": "drawings",
    "cross-reference-to-related-applications": "background",
    "federal-research-statement": "background",
    "summary-of-invention": "summary",
    "detailed-description": "detailed",
}
"""Processing instruction (``<?BRFSUM ... end="lead"?>`` to ``end="tail"``) -> the section that it marks."""


def _paragraphs(description: Element | None) -> Iterator[Paragraph]:
    mark = ""
    for child in [] if description is None else description:
        if not isinstance(child.tag, str):
            target, text = str(getattr(child, "target", "")), child.text or ""
            if target in _MARKS:
                mark = "" if 'end="tail"' in text else _MARKS[target]
        elif child.tag == "description-of-drawings":
            yield from (Paragraph(text_of(one), "drawings", _number(one)) for one in child if isinstance(one.tag, str))
        else:
            yield Paragraph(text_of(child), mark, _number(child))


def _number(paragraph: Element) -> int:
    number = paragraph.get("num", "") if paragraph.tag == "p" else ""
    return int(number) if number.isdecimal() else 0


def _classes(biblio: Element, path: str) -> list[str]:
    parts = ("section", "class", "subclass", "main-group", "subgroup")
    codes = []
    for one in biblio.iterfind(path):
        section, cls, subclass, group, subgroup = (text_at(one, part) for part in parts)
        codes.append(ipc_code(f"{section}{cls}{subclass}{group}/{subgroup}" if group else f"{section}{cls}{subclass}"))
    return codes


def _old_classes(biblio: Element) -> list[str]:
    """The IPC codes of 2005, before the eighth edition of the IPC."""
    found = biblio.find("classification-ipc")
    tags = ("main-classification", "further-classification")
    return [] if found is None else [ipc_code(text_of(one)) for one in found if one.tag in tags]


def _name(party: Element) -> str:
    book = party.find("addressbook")
    book = party if book is None else book
    names = (text_at(book, name) for name in ("first-name", "middle-name", "last-name"))
    return text_at(book, "orgname") or " ".join(filter(None, names))


def _inventors(biblio: Element) -> list[Element]:
    paths = ("us-parties/inventors/inventor", "parties/applicants/applicant[@app-type='applicant-inventor']")
    return [one for path in paths for one in biblio.iterfind(path)]


def _applicants(biblio: Element) -> list[Element]:
    return list(biblio.iterfind("us-parties/us-applicants/us-applicant")) or list(biblio.iterfind("assignees/assignee"))


def _cited(biblio: Element) -> Iterator[Cited]:
    for path in ("references-cited/citation", "us-references-cited/us-citation"):
        for one in biblio.iterfind(path):
            document = one.find("patcit/document-id")
            origin = US_ORIGINS.get(text_at(one, "category").lower(), "")
            if document is None:
                yield Cited("", origin=origin, npl=one.find("nplcit") is not None)
            else:
                yield Cited(*_identifier(document), origin)


_KINDS = {
    "continuation": "continuation",
    "continuation-in-part": "continuation-in-part",
    "division": "division",
    "us-divisional-reissue": "division",
    "reissue": "reissue",
}
"""Element below ``us-related-documents`` -> kind. Others (substitution, addition, reexamination) are ``parent``."""


def _identifier(document: Element) -> tuple[str, str, str]:
    """Number, office and kind of a ``document-id``."""
    return text_at(document, "doc-number"), text_at(document, "country"), text_at(document, "kind")


def _related_application(document: Element, kind: str) -> Related:
    number, office, its_kind = _identifier(document)
    return Related(kind, application(number, office, its_kind), text_at(document, "date"), office)


def _related(biblio: Element) -> Iterator[Related]:
    for claim in biblio.iterfind("priority-claims/priority-claim"):
        yield _related_application(claim, "priority")
    for one in biblio.iterfind("us-related-documents/*"):
        tag = str(one.tag)
        for parent in one.iterfind("relation/parent-doc/document-id"):
            yield _related_application(parent, _KINDS.get(tag, "parent"))
        for document in one.iterfind("document-id"):
            if tag == "related-publication":
                yield Related("pre-grant", publication(*_identifier(document)))
            else:
                kind = "provisional" if tag == "us-provisional-application" else _KINDS.get(tag, "parent")
                yield _related_application(document, kind)
    for document in biblio.iterfind("pct-or-regional-filing-data/document-id"):
        yield _related_application(document, "parent")
    for document in biblio.iterfind("pct-or-regional-publishing-data/document-id"):
        yield Related("member", publication(*_identifier(document)))


_MAKERS: dict[str, Callable[[Element], Published]] = {
    "us-patent-grant": _modern,
    "us-patent-application": _modern,
    "PATDOC": patdoc,
    "patent-application-publication": publication_of_2001,
}
