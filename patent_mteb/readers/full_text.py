"""Claims and descriptions out of marked-up full texts: what the markup says counts, the wording only where it says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from patent_mteb.patents.claims import referred_claims
from patent_mteb.patents.records import Claim, Description
from patent_mteb.patents.sections import split_description

__all__ = ["CANCELLED", "UNNUMBERED", "ClaimText", "Paragraph", "paragraph_numbers", "read_claim_texts", "read_sections"]

CANCELLED = "a cancelled claim"
UNNUMBERED = "a claim without a number of its own, numbered by its place"


class ClaimText(NamedTuple):
    """One claim as it stands: its number (may be empty), its text, and the claims that markup says it refers to (``CLM-00001``)."""

    number: str
    text: str
    refers: tuple[str, ...] = ()


_DIGITS = re.compile(r"\d+")
_CANCELLED = re.compile(
    r"(?:claims?)?[\d\s,.:–-]*(?:to \d+\.?\s*)?[(\[]?\s*(?:cancel\w*|deleted|withdrawn)(?: herein)?\s*[)\]]?[.;]?", re.IGNORECASE
)
_LEADING = re.compile(r"(\d{1,4})\s*[.)]{1,2}\s+")
_MOST_DIGITS = 5


def _last_number(text: str) -> int | None:
    found = _DIGITS.findall(text)
    return int(found[-1]) if found and len(found[-1]) <= _MOST_DIGITS and int(found[-1]) else None


def read_claim_texts(texts: Iterable[ClaimText]) -> tuple[tuple[Claim, ...], list[str]]:
    """Claims with their numbers and dependence, and a note for each that was cancelled or had no number.

    Dependence is read from the markup; from the wording if no claim of the set has any.

    Example:
        >>> from patent_mteb.readers.full_text import ClaimText, read_claim_texts
        >>> texts = [ClaimText("00001", "1. A pump."), ClaimText("00002", "2. The pump of claim 1.", ("CLM-00001",))]
        >>> claims, notes = read_claim_texts([*texts, ClaimText("3", "(canceled)")])
        >>> claims[1], notes
        (Claim(number=2, text='The pump of claim 1.', depends_on=(1,)), ['a cancelled claim'])
    """
    kept: dict[int, ClaimText] = {}
    notes = []
    for text in texts:
        if not text.text or _CANCELLED.fullmatch(text.text):
            notes.append(CANCELLED)
            continue
        leading = _LEADING.match(text.text)
        number = _last_number(text.number) or (int(leading[1]) if leading else None)
        if not number or number in kept:
            notes.append(UNNUMBERED)
            number = max(kept, default=0) + 1
        bare = text.text[leading.end() :] if leading else text.text
        kept[number] = text._replace(text=bare)
    known = sorted(kept)
    marked = any(text.refers for text in kept.values())
    claims = []
    for number, text in kept.items():
        if marked:
            refers = {_last_number(reference) for reference in text.refers} - {None, number}
            depends = tuple(sorted(one for one in refers if one))
        else:
            depends = referred_claims(text.text, number, known)
        claims.append(Claim(number, text.text, depends))
    return tuple(claims), notes


class Paragraph(NamedTuple):
    """A paragraph or heading, the section that markup puts it in (one of ``Description``'s, or empty), and its number, 0 for none."""

    text: str
    section: str = ""
    number: int = 0


def read_sections(paragraphs: Sequence[Paragraph]) -> Description:
    """A description by its sections: those of the markup, or those that its headings begin if there is none.

    ``summary`` in the markup of the USPTO holds background and summary: its headings tell them apart. A paragraph without a mark between
    marked ones belongs to the section before.

    Example:
        >>> from patent_mteb.readers.full_text import Paragraph, read_sections
        >>> texts = ("BACKGROUND", "Pumps leak.", "SUMMARY", "This one does not.")
        >>> read_sections([*(Paragraph(text, "summary") for text in texts), Paragraph("FIG. 1 shows it.", "drawings")])
        Description(background='BACKGROUND\\nPumps leak.', summary='SUMMARY\\nThis one does not.', drawings='FIG. 1 shows it.', detailed='')
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
    """The number of each line of a description that was read from these paragraphs, 0 for a heading; empty where none has a number.

    Example:
        >>> from patent_mteb.readers.full_text import Paragraph, paragraph_numbers, read_sections
        >>> texts = [Paragraph("FIG. 1 shows it.", "drawings", 2), Paragraph("SUMMARY", "summary"), Paragraph("It pumps.", "summary", 1)]
        >>> paragraph_numbers(texts, read_sections(texts))
        (0, 1, 2)
    """
    numbers: dict[str, list[int]] = {}
    for paragraph in paragraphs:
        numbers.setdefault(paragraph.text, []).append(paragraph.number)
    found = tuple(numbers[line].pop(0) if numbers.get(line) else 0 for line in description.lines())
    return found if any(found) else ()


def _background_of(text: str) -> tuple[str, str]:
    """The background in a brief summary, and the rest of it."""
    found = split_description(text)
    rest = (found.summary, found.drawings, found.detailed)
    return found.background, "\n".join(filter(None, rest))
