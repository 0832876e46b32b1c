"""Which citations of office actions make a judgement of the open benchmark, and why the others do not.

A query is an application as filed: the first publication before grant of the citing application. A document is a patent
family in the words of its earliest publication with a text and a date, and public from that day on. A citation counts
if both are there, they are not of one family, the document was public before the query's priority date, and the
citation has a letter X, Y or A (or, where grants are the source, was made by the examiner).
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from patent_mteb.patents.categories import CATEGORIES, UNGRADED, strongest
from patent_mteb.patents.on_disk import publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes.sampling import stratum

EXAMINER = "E"
"""Stands for the letter where grants are the source: cited by the examiner, in one grade."""

_NUMBERED = re.compile(r"\[\s*0*(\d{1,5})\s*\](?:\s*(?:-|–|to|through)\s*\[\s*0*(\d{1,5})\s*\])?")
_LONGEST_RANGE = 200
_KIND = re.compile(r"[A-Z]\d?$")


@dataclass(frozen=True)
class Judgement:
    """A citation that counts: the application as filed, the document, the letter, and what the office said."""

    query: str
    document: str
    letter: str
    citation: Citation

    @property
    def grade(self) -> int:
        """Grade of relevance."""
        return CATEGORIES.get(self.letter, UNGRADED).gain


def paragraphs_in(passages: Iterable[str]) -> tuple[int, ...]:
    """The numbers of the paragraphs that passages name in square brackets, as publications before grant are cited."""
    found: set[int] = set()
    for passage in passages:
        for first, last in _NUMBERED.findall(passage):
            start, end = int(first), int(last or first)
            found |= set(range(start, end + 1)) if start <= end < start + _LONGEST_RANGE else {start}
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class Header:
    """What decides of a publication whether it asks or is a document, without its texts.

    Attributes:
        place: where its record is among the patents.
        application: its number, or family and office where it has none: publications of one application are told by it.
        before_grant: whether it is a publication before grant (kind A).
        limit: its priority date, else the day on which it was filed.
        text: whether it has a text besides the title.
        stratum: year and IPC section.
    """

    place: int
    number: str
    family: str
    application: tuple[str, ...]
    office: str
    before_grant: bool
    public: dt.date | None
    limit: dt.date | None
    text: bool
    stratum: tuple[str, str]

    @property
    def age(self) -> tuple[str, str]:
        """What orders publications from the earliest on."""
        return (self.public.isoformat() if self.public else "9999", self.number)


def headers_of(patents: Sequence[Patent]) -> list[Header]:
    """The names of patents, each read once and not kept."""
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    found = []
    for place, (patent, known) in enumerate(zip(patents, publications(patents), strict=True)):
        kind = patent.kind or (last[0] if (last := _KIND.search(patent.publication_number)) else "")
        application = (
            (patent.application_number,) if patent.application_number else (known.family_id, patent.jurisdiction)
        )
        group = stratum(patent)
        found.append(
            Header(
                place,
                known.publication_number,
                known.family_id,
                shared.setdefault(application, application),
                sys.intern(patent.jurisdiction),
                kind.startswith("A"),
                patent.publication_date,
                patent.priority_date or patent.application_date,
                bool(patent.abstract or patent.claims or patent.description.lines()),
                shared.setdefault(group, group),  # type: ignore[arg-type]
            )
        )
    return found


def as_filed(names: Iterable[Header]) -> dict[str, Header]:
    """The application as filed of each publication: the first publication before grant of its application, where there
    is one.
    """
    first: dict[tuple[str, ...], Header] = {}
    names = sorted(names, key=lambda name: name.age)
    for name in names:
        if name.before_grant:
            first.setdefault(name.application, name)
    return {name.number: first[name.application] for name in names if name.application in first}


def documents_of(names: Iterable[Header]) -> dict[str, Header]:
    """The document of each family: its earliest publication that has a date and a text besides the title."""
    documents: dict[str, Header] = {}
    for name in sorted(names, key=lambda name: name.age):
        if name.public and name.text:
            documents.setdefault(name.family, name)
    return documents


@dataclass(frozen=True)
class Rules:
    """What decides whether a citation counts.

    Attributes:
        offices: offices whose applications are queries; empty for all.
        graded: whether citations need a letter; else those of examiners count, in one grade.
        last: last day of the window; later office actions do not count.
    """

    offices: tuple[str, ...]
    graded: bool
    last: dt.date | None


def usable_citations(
    citations: Iterable[Citation], names: Sequence[Header], documents: Mapping[str, Header], rules: Rules
) -> tuple[list[Judgement], dict[str, int]]:
    """The citations that count, and why how many of the others do not."""
    family = {name.number: name.family for name in names}
    filed = as_filed(names)
    counts: Counter[str] = Counter()
    found = []
    for citation in citations:
        query, document = filed.get(citation.citing), documents.get(family[citation.cited])
        letter = _letter(citation, rules)
        reason = _reason(query, document, letter, citation, rules)
        if reason or query is None or document is None or letter is None:
            counts[reason] += 1
        else:
            found.append(Judgement(query.number, document.number, letter, citation))
    return found, dict(counts)


def _letter(citation: Citation, rules: Rules) -> str | None:
    """The category that counts; empty if none does, None if no search report uses it."""
    if not rules.graded:
        return EXAMINER if citation.origin == "examiner" else ""
    try:
        return strongest(citation.category)
    except ValueError:
        return None


def _reason(query: Header | None, document: Header | None, letter: str | None, citation: Citation, rules: Rules) -> str:
    """Why a citation does not count; empty if it does."""
    if query is None:
        return "citations of applications without a publication before grant"
    if rules.offices and query.office not in rules.offices:
        return "citations of applications of other offices"
    if query.limit is None:
        return "citations of applications without a priority or filing date"
    if letter is None:
        return "citations with a category that no search report uses"
    if not letter:
        return f"citations {'without a letter X, Y or A' if rules.graded else 'that are not by the examiner'}"
    if rules.last is not None and citation.date is not None and citation.date > rules.last:
        return "citations after the window"
    if document is None or document.public is None:
        return "citations of families without a dated text"
    if query.family == document.family:
        return "citations within a family"
    return (
        ""
        if document.public < query.limit
        else "citations of documents that were not public before the query's priority date"
    )
