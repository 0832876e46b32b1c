"""Read claims and descriptions from full texts, and choose the main language of texts in several languages.

Markup takes precedence; the wording counts only if there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from patent_mteb.patents.claims import referred_claims
from patent_mteb.patents.records import Claim, Description, TextLanguages, Translation
from patent_mteb.patents.sections import split_description

CANCELLED = "a cancelled claim"
UNNUMBERED = "a claim without a number, numbered by its position"


class ClaimText(NamedTuple):
    """One claim of a source: number (may be empty), text, and references in the markup (``CLM-00001``)."""

    number: str
    text: str
    refers: tuple[str, ...] = ()


_DIGITS = re.compile(r"\d+")

_CANCELLED = re.compile(
    r"(?:claims?)?[\d\s,.:–-]*(?:to \d+\.?\s*)?[(\[]?\s*(?:cancel\w*|deleted|withdrawn)(?: herein)?\s*[)\]]?[.;]?",
    re.IGNORECASE,
)

_LEADING = re.compile(r"(\d{1,4})\s*[.)]{1,2}\s+")
_MOST_DIGITS = 5


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
            notes.append(CANCELLED)
            continue
        leading = _LEADING.match(text.text)
        number = _last_number(text.number) or (int(leading[1]) if leading else None)
        if not number or number in numbered:
            notes.append(UNNUMBERED)
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
        text = "\n".join(paragraph.text for paragraph in group if paragraph.text)
        background, text = _background_of(text) if current == "summary" else ("", text)
        sections["background"] += filter(None, [background])
        sections[current] += filter(None, [text])
    return Description(**{name: "\n".join(texts) for name, texts in sections.items()})


def paragraph_numbers(paragraphs: Iterable[Paragraph], description: Description) -> tuple[int, ...]:
    """Return the number of each line of a description, 0 for a heading; empty if no paragraph has a number."""
    numbers: dict[str, list[int]] = {}
    for paragraph in paragraphs:
        numbers.setdefault(paragraph.text, []).append(paragraph.number)
    found = tuple(numbers[line].pop(0) if numbers.get(line) else 0 for line in description.lines())
    return found if any(found) else ()


def _background_of(text: str) -> tuple[str, str]:
    """Split a brief summary into its background and the rest."""
    found = split_description(text)
    rest = (found.summary, found.drawings, found.detailed)
    return found.background, "\n".join(filter(None, rest))


_ENGLISH = "en"


def main_language(available: Mapping[str, object], own: str) -> str:
    """Choose the language of the main text: English, else that of the document, else the first."""
    return next((language for language in (_ENGLISH, own) if language in available), next(iter(available), ""))


@dataclass
class Texts:
    """The texts of one publication by language."""

    own: str
    titles: dict[str, str] = field(default_factory=dict)
    abstracts: dict[str, str] = field(default_factory=dict)
    claims: dict[str, list[ClaimText]] = field(default_factory=dict)
    descriptions: dict[str, Description] = field(default_factory=dict)

    def main(self) -> tuple[dict[str, object], list[str]]:
        """Return the text fields of a record and notes on the claims."""
        claims: dict[str, tuple[Claim, ...]] = {}
        notes: list[str] = []
        for language, texts in self.claims.items():
            claims[language], found = read_claim_texts(texts)
            notes += found
        chosen = [main_language(texts, self.own) for texts in (self.titles, self.abstracts, claims, self.descriptions)]
        title, abstract, claim, description = chosen
        others = sorted({*self.titles, *self.abstracts, *claims, *self.descriptions})
        translations = [
            Translation(
                language,
                self.titles.get(language, "") if language != title else "",
                self.abstracts.get(language, "") if language != abstract else "",
                claims.get(language, ()) if language != claim else (),
                _joined(self.descriptions.get(language)) if language != description else "",
            )
            for language in others
        ]
        values: dict[str, object] = {
            "title": self.titles.get(title, ""),
            "abstract": self.abstracts.get(abstract, ""),
            "claims": claims.get(claim, ()),
            "description": self.descriptions.get(description, Description()),
            "languages": TextLanguages(*chosen),
            "translations": [one for one in translations if one != Translation(one.language)],
        }
        return values, notes


def _joined(description: Description | None) -> str:
    if description is None:
        return ""
    return "\n".join(
        filter(None, (description.background, description.summary, description.drawings, description.detailed))
    )
