"""Claims and descriptions out of marked-up full texts: what the markup says counts, the wording only where it says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from patent_mteb.patents.claims import referred_claims
from patent_mteb.patents.records import Claim, Description

__all__ = ["CANCELLED", "UNNUMBERED", "ClaimText", "Paragraph", "read_claim_texts", "read_sections"]

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
    """A paragraph or heading, and the section that markup puts it in: one of ``Description``'s, or empty."""

    text: str
    heading: bool = False
    section: str = ""


_ART = r"(?:prior|related|relevant|conventional|known) (?:art|technology)"
_HEADINGS = (
    ("drawings", r"(?:brief |short |general )*(?:description|explanation)s? (?:of|to) (?:the )?(?:\w+ )*(?:drawings?|figures?|views?)\b"),
    ("drawings", r"(?:drawings?|figures?)$"),
    ("detailed", r"detailed|best modes?|(?:preferred |exemplary |specific )*(?:embodiments?|examples?)\b|modes? for|ways? of carrying"),
    ("detailed", r"description of (?:the )?(?:\w+ )*embodiments?\b|description of (?:the )?invention$|working example"),
    ("summary", r"(?:brief |general )*summary|disclosure of|(?:brief |general )*description of the invention\b|objects? (?:of|and)"),
    ("summary", r"(?:technical )?solution|means for solving|problems? to be solved|advantage"),
    ("background", rf"(?:technical )?fields?\b|background|(?:description of )?(?:the )?{_ART}|citation list|technical background"),
    ("background", r"cross[- ]?references?|related (?:patent |u\.?s\.? )*applications?|priority|statement"),
)
_SECTION_OF_HEADING = [
    (section, re.compile(rf"[\W\d]*(?:[ivx]+\.\s+)?(?:the )?{wording}", re.IGNORECASE)) for section, wording in _HEADINGS
]
_FORMAL = re.compile(r"\(?\b[a-z0-9]{1,4}[.)]\s+", re.IGNORECASE)


def _section(heading: str) -> str:
    text = _FORMAL.sub("", heading, count=1) if _FORMAL.match(heading) else heading
    return next((section for section, wording in _SECTION_OF_HEADING if wording.match(text)), "")


def read_sections(paragraphs: Sequence[Paragraph]) -> Description:
    """A description by its sections: those of the markup, else those that its headings begin (37 CFR 1.77(b)).

    ``summary`` in the markup of the USPTO holds background and summary: its headings tell them apart. A text without any mark or known
    heading is ``detailed``; what stands before the first known heading is ``background``.

    Example:
        >>> from patent_mteb.readers.full_text import Paragraph, read_sections
        >>> read_sections([Paragraph("Background", True), Paragraph("Pumps leak."), Paragraph("SUMMARY", True), Paragraph("Not this.")])
        Description(background='Background\\nPumps leak.', summary='SUMMARY\\nNot this.', drawings='', detailed='')
    """
    told = any(paragraph.section or (paragraph.heading and _section(paragraph.text)) for paragraph in paragraphs)
    current = "background" if told else "detailed"
    mark = ""
    sections: dict[str, list[str]] = {"background": [], "summary": [], "drawings": [], "detailed": []}
    for paragraph in paragraphs:
        if paragraph.section != mark:
            mark = paragraph.section
            current = mark or current
        if paragraph.heading and mark in ("", "summary"):
            found = _section(paragraph.text)
            current = found if found and (not mark or found in ("background", "summary")) else current
        if paragraph.text:
            sections[current].append(paragraph.text)
    return Description(**{name: "\n".join(texts) for name, texts in sections.items()})
