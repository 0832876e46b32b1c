"""A publication as read from a full-text document of any markup: its texts, citations and relations, and its records.

Markup takes precedence; the wording of claims and descriptions counts only if there is none. Of texts in several
languages the English one is the main text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from patent_mteb.patents.claims import named_claims, read_claims, referred_claims
from patent_mteb.patents.ipc import read_codes
from patent_mteb.patents.numbers import read_application, read_number
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
from patent_mteb.patents.text import plain_lines, split_description
from patent_mteb.readers.items import Item, Note, Skipped
from patent_mteb.readers.values import UNREAD, UNREAD_DAY, day, has_digit, publication, reads, unread_day
from patent_mteb.readers.xml import Element, MalformedError, text_of


class ClaimText(NamedTuple):
    """One claim of a source: number (may be empty), text, and references in the markup (``CLM-00001``)."""

    number: str
    text: str
    refers: tuple[str, ...] = ()


def marked_claims(
    claims: Iterable[Element], number: str = "num", reference: str = "claim-ref", target: str = "idref"
) -> list[ClaimText]:
    """Return claims and their references: attribute of the number, element and attribute of a reference."""
    return [
        ClaimText(
            claim.get(number) or "", text_of(claim), tuple(one.get(target) or "" for one in claim.iter(reference))
        )
        for claim in claims
    ]


def unmarked_claims(text: str) -> list[ClaimText]:
    """Split a claim set in one text; cancelled claims have no text, and claims that cannot be split number 0."""
    read = read_claims(text)
    claims = [ClaimText(str(claim.number), claim.text) for claim in read.claims]
    return claims + [ClaimText(str(number), "") for number in read.cancelled]


_DIGITS = re.compile(r"\d+")

_CANCELLED = re.compile(
    r"(?:claims?)?(?:[\d\s,.:&–-]|and|to|through)*[(\[]?\s*(?:cancel\w*|deleted|withdrawn)(?: herein)?\s*[)\]]?[.;]?",
    re.IGNORECASE,
)

_LEADING = re.compile(r"(\d{1,4})\s*[.)]{1,2}\s+")
_MOST_DIGITS = 5  # a number of a claim has fewer


def _last_number(text: str) -> int | None:
    found = _DIGITS.findall(text)
    return int(found[-1]) if found and len(found[-1]) <= _MOST_DIGITS and int(found[-1]) else None


def read_claim_texts(texts: Iterable[ClaimText]) -> tuple[tuple[Claim, ...], list[str]]:
    """Return the claims, and a note for each claim that is cancelled or has no number.

    Dependence comes from the markup, or from the wording if no claim of the set has references in the markup.
    """
    numbered: dict[int, ClaimText] = {}
    notes = []
    for text in texts:
        if not text.text or _CANCELLED.fullmatch(text.text):
            notes += ["a cancelled claim"] * _cancelled(text)
            continue
        if text.number == "0":
            numbered[0] = text
            continue
        leading = _LEADING.match(text.text)
        number = _last_number(text.number) or (int(leading[1]) if leading else None)
        if not number or number in numbered:
            notes.append("a claim without a number, numbered by its position")
            number = max(numbered, default=0) + 1
        bare = text.text[leading.end() :] if leading else text.text
        numbered[number] = text._replace(text=bare)
    known = sorted(numbered)
    marked = any(text.refers for text in numbered.values())
    claims = []
    for number, text in numbered.items():
        if marked:
            refers = {_last_number(reference) for reference in text.refers} - {None, number}
            depends = tuple(sorted(one for one in refers if one))
        else:
            depends = referred_claims(text.text, number, known)
        claims.append(Claim(number, text.text, depends))
    return tuple(claims), notes


def _cancelled(claim: ClaimText) -> int:
    """The number of claims that one entry cancels, such as ``1-24. (canceled)``."""
    named = (named_claims(claim.text) or named_claims(claim.number)) if claim.text else ()
    return max(1, len(named))


class Paragraph(NamedTuple):
    """A paragraph or heading, its section in the markup (empty if unknown), and its number (0 if it has none)."""

    text: str
    section: str = ""
    number: int = 0


def read_sections(paragraphs: Sequence[Paragraph]) -> Description:
    """Split a description into the sections of the markup, or by its headings if there is no markup.

    ``summary`` in the markup of the USPTO contains background and summary, which are split by headings. An unmarked
    paragraph after a marked one belongs to the same section.
    """
    if not any(paragraph.section for paragraph in paragraphs):
        return split_description("\n".join(paragraph.text for paragraph in paragraphs))
    sections: dict[str, list[str]] = {"background": [], "summary": [], "drawings": [], "detailed": []}
    current = "background"
    for section, group in groupby(paragraphs, key=lambda paragraph: paragraph.section):
        current = section or current
        text = _joined(group)
        if current == "summary":
            found = split_description(text, detailed_follows=True)
            sections["background"] += filter(None, [found.background])
            text = "\n".join(filter(None, (found.summary, found.drawings, found.detailed)))
        sections[current] += filter(None, [text])
    return Description(**{name: "\n".join(texts) for name, texts in sections.items()})


def paragraph_of(element: Element, section: str = "") -> Paragraph:
    """Return a heading, or a paragraph with its printed number (``num``), which passages of citations name."""
    number = element.get("num", "") if element.tag == "p" else ""
    return Paragraph(text_of(element), section, int(number) if number.isdecimal() else 0)


_PRINTED = re.compile(r"\s*\[(\d{4,5})\]\s*")


def printed_paragraph(text: str) -> Paragraph:
    """Return a paragraph whose number is printed before it (``[0036] The pump``)."""
    number = _PRINTED.match(text)
    return Paragraph(text[number.end() :], number=int(number[1])) if number else Paragraph(text)


def _numbers(paragraphs: Iterable[Paragraph], description: Description) -> tuple[int, ...]:
    """Return the number of each line of a description, 0 for a heading; empty if no paragraph has a number."""
    numbers: dict[str, list[int]] = {}
    for paragraph in paragraphs:
        numbers.setdefault("".join(plain_lines(paragraph.text)), []).append(paragraph.number)
    lines = ("".join(plain_lines(line)) for line in description.lines())
    found = tuple(numbers[line].pop(0) if numbers.get(line) else 0 for line in lines)
    return found if any(found) else ()


@dataclass
class Texts:
    """The texts of one publication by language; ``language`` is that of the document."""

    language: str = ""
    titles: dict[str, str] = field(default_factory=dict)
    abstracts: dict[str, str] = field(default_factory=dict)
    claims: dict[str, list[ClaimText]] = field(default_factory=dict)
    descriptions: dict[str, list[Paragraph]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, language: str, title: str, abstract: str, claims: list[ClaimText], description: Iterable[Paragraph]
    ) -> Texts:
        one = language
        return cls(one, {one: title}, {one: abstract}, {one: claims}, {one: list(description)})

    def fields(self) -> tuple[dict[str, Any], list[str]]:
        """Return the text fields of a record and notes on the claims."""
        read = {language: read_claim_texts(texts) for language, texts in self.claims.items()}
        claims = {language: found for language, (found, _) in read.items()}
        texts = (self.titles, self.abstracts, claims, self.descriptions)
        # English, else the language of the document, else the first
        main = TextLanguages(*(next((one for one in ("en", self.language, *of) if one in of), "") for of in texts))
        paragraphs = self.descriptions.get(main.description, [])
        description = read_sections(paragraphs)
        translations = [
            Translation(
                one,
                "" if one == main.title else self.titles.get(one, ""),
                "" if one == main.abstract else self.abstracts.get(one, ""),
                () if one == main.claims else claims.get(one, ()),
                "" if one == main.description else _joined(self.descriptions.get(one, ())),
            )
            for one in sorted(set().union(*texts))
        ]
        fields = dict[str, Any](
            title=self.titles.get(main.title, ""),
            abstract=self.abstracts.get(main.abstract, ""),
            claims=claims.get(main.claims, ()),
            description=description,
            paragraphs=_numbers(paragraphs, description),
            languages=main,
            translations=tuple(one for one in translations if one != Translation(one.language)),
        )
        return fields, [note for _, notes in read.values() for note in notes]


def _joined(paragraphs: Iterable[Paragraph]) -> str:
    return "\n".join(filter(None, (paragraph.text for paragraph in paragraphs)))


NON_PATENT = "a citation of other literature than patents"
UNPUBLISHED = "a citation of an application that names no publication"
NUMBERLESS = "a citation without a number"
UNNAMED = "no publication number"
OWN = "a citation of the publication itself"
COMBINATION = "a combination set of CPC codes, not read"


def unread_days(where: str, *texts: str | int | None) -> Iterator[Note]:
    """Yield a note for each invalid date."""
    return (Note(UNREAD_DAY, f"{where}: {text}") for text in texts if unread_day(text))


class Cited(NamedTuple):
    """One entry of a list of citations: a publication, other literature (``npl``) or an ``unpublished`` application.

    ``date`` is the day of the search as written, ``by`` the office that searched (by default that of the publication).
    """

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
    date: str = ""
    by: str = ""


class Related(NamedTuple):
    """One relation: kind (``RELATIONS``), number in normal form, date as written, and office."""

    kind: str
    number: str
    date: str = ""
    office: str = ""


@dataclass
class Published:
    """One publication. ``serial``, cited numbers, dates and class codes are as written; other fields are normalised.

    ``combinations`` is the number of its combination sets of the CPC. They classify combinations of features, and the
    databases that give a flat list of codes do not have them.
    """

    source: str
    office: str
    serial: str
    kind: str
    date: str = ""
    application: str = ""
    filed: str = ""
    family: str = ""
    texts: Texts = field(default_factory=Texts)
    ipc: Iterable[str] = ()
    cpc: Iterable[str] = ()
    inventors: Sequence[str] = ()
    applicants: Sequence[str] = ()
    cited: Iterable[Cited] = ()
    related: Iterable[Related] = ()
    keywords: tuple[str, ...] = ()
    combinations: int = 0

    @property
    def number(self) -> str:
        return publication(self.serial, self.office, self.kind)

    def items(self, place: str) -> Iterator[Item]:
        """Yield the patent, its relations and citations, skipped citations and notes."""
        if not has_digit(self.serial):
            raise MalformedError(UNNAMED)
        number, related = self.number, list(self.related)
        fields, notes = self.texts.fields()
        yield self._patent(number, related, fields)
        if not reads(self.serial, self.office, self.kind):
            notes.insert(0, UNREAD)
        named = [(self.application, "application"), *((one.number, one.kind) for one in related)]
        for text, kind in dict.fromkeys(named):
            if text and not (read_number if kind in RELATED_PUBLICATIONS else read_application)(text):
                yield Note(UNREAD, f"{number}, {kind}: {text}")
        if not any(fields.get(name) for name in ("title", "abstract", "claims", "paragraphs")):
            notes.append("a document without any text")
        notes += [COMBINATION] * self.combinations
        yield from (Note(note, number) for note in notes)
        yield from unread_days(number, self.date, self.filed, *(one.date for one in related))
        if self.application:
            yield Relation(number, self.application, "application")
        seen = {(self.application, "application"), (number, "member")}
        for one in related:
            if one.number and (one.number, one.kind) not in seen:
                seen.add((one.number, one.kind))
                yield Relation(number, one.number, one.kind)
        yield from self._citations(number, place)

    def _patent(self, number: str, related: Iterable[Related], texts: dict[str, Any]) -> Patent:
        filed = day(self.filed)
        dated = ((day(one.date), one) for one in related if one.kind not in RELATED_PUBLICATIONS)
        earlier = [(date, one) for date, one in dated if date]
        foreign = sorted((date, one.office) for date, one in earlier if one.office and one.kind == "priority")
        return Patent(
            publication_number=number,
            family_id=self.family or self.application or number,
            kind=self.kind,
            filing_jurisdiction=foreign[0][1] if foreign else "",
            application_date=filed,
            publication_date=day(self.date),
            priority_date=min([*(date for date, _ in earlier), *filter(None, [filed])], default=None),
            ipc=read_codes(self.ipc),
            cpc=read_codes(self.cpc),
            inventors=tuple(filter(None, self.inventors)),
            applicants=tuple(dict.fromkeys(filter(None, self.applicants))),
            application_number=self.application,
            keywords=self.keywords,
            source=self.source,
            **texts,
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
            yield from unread_days(f"{number} cites {cited}", entry.date)
            citation = Citation(
                number,
                cited,
                entry.category,
                entry.origin,
                entry.claims,
                entry.passages,
                entry.phase,
                entry.by or (self.office if entry.phase else ""),
                day(entry.date),
            )
            if citation in seen:
                yield Skipped(number, place, "a repeated citation")
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
