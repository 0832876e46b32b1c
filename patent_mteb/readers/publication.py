"""A publication as read from a full-text document of any markup, and its records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from patent_mteb.patents.records import (
    RELATED_PUBLICATIONS,
    Citation,
    Claim,
    Description,
    Patent,
    Relation,
    TextLanguages,
    Translation,
)
from patent_mteb.readers.items import Item, Note, Skipped
from patent_mteb.readers.values import UNREAD, UNREAD_DAY, day, has_digit, publication, reads, unread_day
from patent_mteb.readers.xml import MalformedError

NON_PATENT = "a citation of other literature than patents"
UNPUBLISHED = "a citation of an application that names no publication"
NUMBERLESS = "a citation without a number"
UNNAMED = "no publication number"
OWN = "a citation of the publication itself"
US_ORIGINS = {"cited by examiner": "examiner", "cited by applicant": "applicant"}
"""Category of a citation by the USPTO -> origin. Other categories have no known origin: ``cited by other`` (2005-12:
applicant or third party), ``cited by third party``, ``imported from ...``."""

_REPEATED = "a repeated citation"
_NO_TEXT = "a document without any text"


def unread_days(where: str, *texts: str | int | None) -> Iterator[Note]:
    """Yield a note for each invalid date."""
    return (Note(UNREAD_DAY, f"{where}: {text}") for text in texts if unread_day(text))


class Cited(NamedTuple):
    """One entry of a list of citations: a publication, other literature (``npl``) or an ``unpublished`` application."""

    number: str
    office: str = ""
    kind: str = ""
    origin: str = ""
    category: str = ""
    claims: tuple[int, ...] = ()
    passages: tuple[str, ...] = ()
    phase: str = ""
    npl: bool = False
    unpublished: bool = False


class Related(NamedTuple):
    """One relation: kind (``RELATIONS``), number in normal form, date as written, and office."""

    kind: str
    number: str
    date: str = ""
    office: str = ""


@dataclass
class Published:
    """One publication. ``serial``, cited numbers and dates are as written; other fields are normalised."""

    source: str
    office: str
    serial: str
    kind: str
    date: str = ""
    application: str = ""
    filed: str = ""
    family: str = ""
    title: str = ""
    abstract: str = ""
    claims: tuple[Claim, ...] = ()
    description: Description = field(default_factory=Description)
    ipc: Sequence[str] = ()
    cpc: Sequence[str] = ()
    inventors: Sequence[str] = ()
    applicants: Sequence[str] = ()
    languages: TextLanguages = field(default_factory=TextLanguages)
    translations: Sequence[Translation] = ()
    cited: Sequence[Cited] = ()
    related: Sequence[Related] = ()
    notes: Sequence[str] = ()
    paragraphs: Sequence[int] = ()

    @property
    def number(self) -> str:
        return publication(self.serial, self.office, self.kind)

    def items(self, place: str) -> Iterator[Item]:
        """Yield the patent, its relations and citations, skipped citations and notes."""
        if not has_digit(self.serial):
            raise MalformedError(UNNAMED)
        number = self.number
        yield self._patent(number)
        if not reads(self.serial, self.office, self.kind):
            yield Note(UNREAD, number)
        if not (self.title or self.abstract or self.claims):
            yield Note(_NO_TEXT, number)
        for note in self.notes:
            yield Note(note, number)
        yield from unread_days(number, self.date, self.filed, *(related.date for related in self.related))
        if self.application:
            yield Relation(number, self.application, "application")
        seen = {(self.application, "application"), (number, "member")}
        for related in self.related:
            if related.number and (related.number, related.kind) not in seen:
                seen.add((related.number, related.kind))
                yield Relation(number, related.number, related.kind)
        yield from self._citations(number, place)

    def _patent(self, number: str) -> Patent:
        filed = day(self.filed)
        earlier = [
            (date, one) for one in self.related if one.kind not in RELATED_PUBLICATIONS and (date := day(one.date))
        ]
        foreign = sorted((date, one.office) for date, one in earlier if one.office and one.kind == "priority")
        return Patent(
            publication_number=number,
            family_id=self.family or self.application or number,
            title=self.title,
            abstract=self.abstract,
            claims=self.claims,
            description=self.description,
            kind=self.kind,
            filing_jurisdiction=foreign[0][1] if foreign else "",
            application_date=filed,
            publication_date=day(self.date),
            priority_date=min([*(date for date, _ in earlier), *filter(None, [filed])], default=None),
            ipc=tuple(dict.fromkeys(filter(None, self.ipc))),
            cpc=tuple(dict.fromkeys(filter(None, self.cpc))),
            inventors=tuple(filter(None, self.inventors)),
            applicants=tuple(dict.fromkeys(filter(None, self.applicants))),
            application_number=self.application,
            languages=self.languages,
            translations=tuple(self.translations),
            source=self.source,
            paragraphs=tuple(self.paragraphs),
        )

    def _citations(self, number: str, place: str) -> Iterator[Item]:
        seen: set[Citation] = set()
        for entry in self.cited:
            cited = publication(entry.number, entry.office, entry.kind)
            if reason := _skip_reason(entry, cited, number):
                yield Skipped(number, place, reason)
                continue
            if not reads(entry.number, entry.office, entry.kind):
                yield Note(UNREAD, f"{number} cites {entry.office} {entry.number} {entry.kind}".strip())
            citation = Citation(
                number,
                cited,
                entry.category,
                entry.origin,
                entry.claims,
                entry.passages,
                entry.phase,
                self.office if entry.phase else "",
            )
            if citation in seen:
                yield Skipped(number, place, _REPEATED)
                continue
            seen.add(citation)
            yield citation


def _skip_reason(entry: Cited, cited: str, number: str) -> str:
    """The reason to skip a citation, empty if it cites a publication."""
    if entry.npl:
        return NON_PATENT
    if entry.unpublished:
        return UNPUBLISHED
    if not has_digit(cited):
        return NUMBERLESS
    return OWN if cited == number else ""
