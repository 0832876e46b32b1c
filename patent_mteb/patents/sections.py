"""Split a description into the sections of an application by its headings (37 CFR 1.77(b); PCT Rule 5, section 204)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from patent_mteb.patents.records import Description
from patent_mteb.patents.text import WORDING, heading_kind, lines_at_headings, plain_lines

_SECTIONS = {name: re.compile(words, re.IGNORECASE) for name, words in WORDING["sections"].items()}
_IN_CAPITALS = {name: re.compile(words) for name, words in WORDING["sections_in_capitals"].items()}
_LONGEST_IN_CAPITALS = 100
_LEADING = re.compile(r"^[\W\d]+")
_OTHER_HEADING = re.compile(r"(?!fig)[^a-z]*[A-Z][^.;:,]{2,90}:?", re.IGNORECASE)
_FIGURE = re.compile(r"\bfig(?:ure|s|\.)?\b", re.IGNORECASE)


def split_description(text: str) -> Description:
    """Split a description into background, summary, drawings and detailed description.

    A section starts with its heading and ends at the next one. Text before the first heading (title, related
    applications) is background. The list of drawings also ends at any other heading. An ambiguous heading
    (``DISCLOSURE OF THE INVENTION``) starts the summary if a detailed description follows. A text without headings is
    detailed. Every line is in exactly one section; markup is removed.
    """
    lines = plain_lines(text)
    if len(lines) <= 2:
        lines = [part for line in lines for part in lines_at_headings(line)]
    headings = {place: section for place, line in enumerate(lines) if (section := _section(line))}
    parts: dict[str, list[str]] = {"background": [], "summary": [], "drawings": [], "detailed": []}
    now = "background" if any(section in parts or section == "either" for section in headings.values()) else "detailed"
    for place, line in enumerate(lines):
        now = _next(now, place, headings, lines)
        parts[now].append(line)
    return Description(**{section: "\n".join(part) for section, part in parts.items()})


def _section(line: str) -> str:
    """The section that a line starts, empty if it starts none."""
    if heading_kind(line) in ("formal", "label"):
        return next((section for section, pattern in _SECTIONS.items() if pattern.search(line)), "")
    if line.isupper() and len(line) <= _LONGEST_IN_CAPITALS and not line.endswith("."):
        return next((section for section, pattern in _IN_CAPITALS.items() if pattern.match(_LEADING.sub("", line))), "")
    return ""


def _next(now: str, place: int, headings: dict[int, str], lines: Sequence[str]) -> str:
    """The section of a line, given that of the line before."""
    section = headings.get(place, "")
    if section == "either":
        return "summary" if any(place < other and its == "detailed" for other, its in headings.items()) else "detailed"
    if section == "whole":
        return "detailed" if now in ("summary", "drawings") else now
    if section or now != "drawings" or headings.get(place - 1) == "drawings":
        return section or now
    ends_drawings = _OTHER_HEADING.fullmatch(lines[place]) and not _FIGURE.search(lines[place])
    return "detailed" if ends_drawings else now
