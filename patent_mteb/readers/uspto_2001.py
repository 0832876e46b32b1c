"""USPTO full text of 2001 to 2004: grants (``PATDOC``) and applications (``patent-application-publication``).

Grants follow WIPO ST.32 (DTD 2.4 and 2.5); ``B5xx`` and the like are INID codes of WIPO ST.9.
"""

from __future__ import annotations

from collections.abc import Iterator

from patent_mteb.patents.records import TextLanguages
from patent_mteb.readers.full_text import ClaimText, Paragraph, paragraph_numbers, read_claim_texts, read_sections
from patent_mteb.readers.publication import Cited, Published, Related
from patent_mteb.readers.values import application, ipc_code, publication
from patent_mteb.readers.xml import Element, text_at, text_of

_ENGLISH = TextLanguages("en", "en", "en", "en")


def patdoc(root: Element) -> Published:
    """A grant of 2001 to 2004."""
    claims, notes = read_claim_texts(_patdoc_claim(claim) for claim in root.iterfind("SDOCL/CL/CLM"))
    return Published(
        source="uspto",
        office="US",
        serial=text_at(root, "SDOBI/B100/B110"),
        kind=text_at(root, "SDOBI/B100/B130"),
        date=text_at(root, "SDOBI/B100/B140"),
        application=application(text_at(root, "SDOBI/B200/B210"), "US"),
        filed=text_at(root, "SDOBI/B200/B220"),
        title=text_at(root, "SDOBI/B500/B540"),
        abstract=text_at(root, "SDOAB"),
        claims=claims,
        description=read_sections(list(_patdoc_paragraphs(root))),
        ipc=[
            _columns("".join(one.itertext()).strip())
            for one in root.iterfind("SDOBI/B500/B510/*")
            if one.tag in ("B511", "B512")
        ],
        inventors=[_party(one) for one in root.iterfind("SDOBI/B700/B720/B721/PARTY-US")],
        applicants=[_party(one) for one in root.iterfind("SDOBI/B700/B730/B731/PARTY-US")],
        languages=_ENGLISH,
        cited=list(_patdoc_cited(root)),
        related=list(_patdoc_related(root)),
        notes=notes,
    )


def _patdoc_claim(claim: Element) -> ClaimText:
    refers = tuple(reference.get("ID", "") for reference in claim.iter("CLREF"))
    return ClaimText(claim.get("ID", ""), text_of(claim), refers)


_PATDOC_MARKS = {
    "RELAPP": "background",
    "GOVINT": "background",
    "BRFSUM": "summary",
    "DRWDESC": "drawings",
    "DETDESC": "detailed",
}


def _patdoc_paragraphs(root: Element) -> Iterator[Paragraph]:
    for part in root.iterfind("SDODE/*"):
        for text in part.iterfind("BTEXT/*"):
            yield Paragraph(text_of(text), _PATDOC_MARKS.get(str(part.tag), ""))


_SUBCLASS, _GROUP = 4, 7


def _columns(code: str) -> str:
    """Read an IPC code in fixed columns: four for the subclass, three for the main group, the rest for the subgroup.

    If spaces are missing (``E03C 104``), the subgroup in its column has one digit; then the last two digits count.
    """
    subclass, digits = code[:_SUBCLASS], code[_SUBCLASS:].strip()
    group, subgroup = code[_SUBCLASS:_GROUP].strip(), code[_GROUP:].strip()
    if len(subgroup) < 2:
        group, subgroup = digits[:-2], digits[-2:]
    if group.isdigit() and subgroup.isdigit():
        return ipc_code(f"{subclass}{group}/{subgroup}")
    return " ".join(code.split())


def _party(party: Element) -> str:
    name = party.find("NAM")
    if name is None:
        return ""
    return text_at(name, "ONM") or " ".join(filter(None, (text_at(name, "FNM"), text_at(name, "SNM"))))


def _patdoc_cited(root: Element) -> Iterator[Cited]:
    for one in root.iterfind("SDOBI/B500/B560/*"):
        origin = "examiner" if one.find("CITED-BY-EXAMINER") is not None else ""
        document = one.find("PCIT/DOC")
        if document is not None:
            yield Cited(text_at(document, "DNUM"), text_at(document, "CTRY") or "US", text_at(document, "KIND"), origin)
        elif one.tag == "B562":
            yield Cited("", origin=origin, npl=True)


_PATDOC_RELATIONS = {"B620": "division", "B631": "continuation", "B632": "continuation-in-part", "B640": "reissue"}
"""INID 62 to 64 as the DTD divides them -> kind. Others that name a parent are ``parent``."""


def _document(document: Element, kind: str, office: str = "") -> Related:
    office = text_at(document, "CTRY") or office
    date = text_at(document, "DATE")
    return Related(kind, application(text_at(document, "DNUM"), office, text_at(document, "KIND")), date, office)


def _patdoc_related(root: Element) -> Iterator[Related]:
    for one in root.iterfind("SDOBI/B300"):
        office, date = text_at(one, "B330"), text_at(one, "B320")
        yield Related("priority", application(text_at(one, "B310"), office), date, office)
    for parent in root.iterfind("SDOBI/B600//PARENT-US/PDOC/DOC"):
        kinds = (_PATDOC_RELATIONS.get(str(above.tag)) for above in parent.iterancestors())
        yield _document(parent, next(filter(None, kinds), "parent"), "US")
    for document in root.iterfind("SDOBI/B600/B680US/DOC"):
        yield _document(document, "provisional", "US")
    for document in root.iterfind("SDOBI/B600/B690US/DOC"):
        yield _published(document, "pre-grant")
    for document in root.iterfind("SDOBI/B800/B860/B861/DOC"):
        yield _document(document, "parent")
    for document in root.iterfind("SDOBI/B800/B870/B871/DOC"):
        yield _published(document, "member")


def _published(document: Element, kind: str) -> Related:
    return Related(kind, publication(text_at(document, "DNUM"), text_at(document, "CTRY"), text_at(document, "KIND")))


_SECTIONS = {
    "cross-reference-to-related-applications": "background",
    "federal-research-statement": "background",
    "background-of-invention": "background",
    "summary-of-invention": "summary",
    "brief-description-of-drawings": "drawings",
    "detailed-description": "detailed",
}


def publication_of_2001(root: Element) -> Published:
    """A publication of an application of 2001 to 2004."""
    biblio = root.find("subdoc-bibliographic-information")
    if biblio is None:
        return Published("uspto", "US", "", "")
    filed = "domestic-filing-data/"
    claims, notes = read_claim_texts(_claim(claim) for claim in root.iterfind("subdoc-claims/claim"))
    paragraphs = list(_paragraphs(root))
    description = read_sections(paragraphs)
    return Published(
        source="uspto",
        office="US",
        serial=text_at(biblio, "document-id/doc-number"),
        kind=text_at(biblio, "document-id/kind-code"),
        date=text_at(biblio, "document-id/document-date"),
        application=application(text_at(biblio, filed + "application-number/doc-number"), "US"),
        filed=text_at(biblio, filed + "filing-date"),
        title=text_at(biblio, "technical-information/title-of-invention"),
        abstract=text_of(root.find("subdoc-abstract"), without=("number",)),
        claims=claims,
        description=description,
        paragraphs=paragraph_numbers(paragraphs, description),
        ipc=[ipc_code(text_of(one)) for one in biblio.iterfind("technical-information/classification-ipc/*/ipc")],
        inventors=[_name(one) for one in biblio.iterfind("inventors/*")],
        applicants=[text_at(one, "organization-name") or _name(one) for one in biblio.iterfind("assignee")],
        languages=_ENGLISH,
        related=list(_related(biblio)),
        notes=notes,
    )


def _claim(claim: Element) -> ClaimText:
    refers = [
        one for reference in claim.iter("dependent-claim-reference") for one in reference.get("depends_on", "").split()
    ]
    return ClaimText(claim.get("id", ""), text_of(claim), tuple(refers))


def _paragraphs(root: Element) -> Iterator[Paragraph]:
    for part in root.iterfind("subdoc-description/*"):
        section = _SECTIONS.get(str(part.tag), "")
        for text in part.iter("heading", "paragraph"):
            number = text_at(text, "number").strip("[] ") if text.tag == "paragraph" else ""
            printed = int(number) if number.isdecimal() else 0
            yield Paragraph(text_of(text, without=() if text.tag == "heading" else ("number",)), section, printed)


def _name(party: Element) -> str:
    names = (text_at(party, f"name/{part}") for part in ("given-name", "middle-name", "family-name", "name-suffix"))
    return " ".join(filter(None, names))


_CONTINUITY = {
    "continuation-of": "continuation",
    "continuation-in-part-of": "continuation-in-part",
    "division-of": "division",
    "reissue-of": "reissue",
    "non-provisional-of-provisional": "provisional",
}


def _related(biblio: Element) -> Iterator[Related]:
    for one in biblio.iterfind("foreign-priority-data"):
        office, date = text_at(one, "country-code"), text_at(one, "filing-date")
        yield Related("priority", application(text_at(one, "priority-application-number"), office), date, office)
    for tag, kind in _CONTINUITY.items():
        for one in biblio.iterfind(f"continuity-data//{tag}"):
            for document in [*one.iterfind("parent-child/parent/document-id"), *one.iterfind("document-id")]:
                office, date = text_at(document, "country-code"), text_at(document, "document-date")
                yield Related(kind, application(text_at(document, "doc-number"), office), date, office)
