"""Which citations of office actions make a judgement of the open benchmark, and why the others do not.

A query is an application as filed: the first publication before grant of the citing application. A document is a patent family in the
words of its earliest publication with a text and a date, and public from that day on. A citation counts if both are there, they are not
of one family, the document was public before the query's priority date, and the citation has a letter X, Y or A (or, where grants are
the source, was made by the examiner).
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from patent_mteb.patents.categories import degree
from patent_mteb.patents.families import age
from patent_mteb.patents.records import Citation, Patent

__all__ = ["EXAMINER", "GRADES", "Judgement", "Rules", "as_filed", "documents_of", "paragraphs_in", "strongest", "usable"]

GRADES = {"X": 3, "Y": 2, "A": 1}
"""Grade of relevance by the letter of an office action."""

EXAMINER = "E"
"""Stands for the letter where grants are the source: cited by the examiner, in one grade."""

_NUMBERED = re.compile(r"\[\s*0*(\d{1,5})\s*\](?:\s*(?:-|–|to|through)\s*\[\s*0*(\d{1,5})\s*\])?")
_LONGEST_RANGE = 200


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
        return GRADES.get(self.letter, 1)


def strongest(category: str) -> str:
    """The strongest of X, Y and A in a category (I and N count as X); empty for none, or for a letter that no search report uses.

    Example:
        >>> from patent_mteb.recipes.open_citations import strongest
        >>> strongest("X"), strongest("Y; A"), strongest("N"), strongest("P"), strongest("Q")
        ('X', 'Y', 'X', '', '')
    """
    try:
        degree(category)
    except ValueError:
        return ""
    letters = set(category.upper())
    return next((letter for letter, known in (("X", "XIN"), ("Y", "Y"), ("A", "A")) if letters & set(known)), "")


def paragraphs_in(passages: Iterable[str]) -> tuple[int, ...]:
    """The numbers of the paragraphs that passages name in square brackets, as publications before grant are cited.

    Example:
        >>> from patent_mteb.recipes.open_citations import paragraphs_in
        >>> paragraphs_in(["page 4 paragraphs [0036]-[0038], [0041]", "claim 3", "col. 5, lines 10-20"])
        (36, 37, 38, 41)
    """
    found: set[int] = set()
    for passage in passages:
        for first, last in _NUMBERED.findall(passage):
            start, end = int(first), int(last or first)
            found |= set(range(start, end + 1)) if start <= end < start + _LONGEST_RANGE else {start}
    return tuple(sorted(found))


def as_filed(patents: Iterable[Patent]) -> dict[str, Patent]:
    """The application as filed of each publication: the first publication before grant of its application, where there is one.

    Publications of one application are told by its number; where they have none, by family and office.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.open_citations import as_filed
        >>> patents = [Patent(number, "F1", application_number="US16000001") for number in ("US2020000001A1", "US11000001B2")]
        >>> as_filed(patents)["US11000001B2"].publication_number
        'US2020000001A1'
    """
    first: dict[tuple[str, ...], Patent] = {}
    patents = sorted(patents, key=age)
    for patent in patents:
        if _kind(patent).startswith("A"):
            first.setdefault(_application(patent), patent)
    return {one.publication_number: first[_application(one)] for one in patents if _application(one) in first}


def _kind(patent: Patent) -> str:
    found = re.search(r"[A-Z]\d?$", patent.publication_number)
    return patent.kind or (found[0] if found else "")


def _application(patent: Patent) -> tuple[str, ...]:
    return (patent.application_number,) if patent.application_number else (patent.family_id, patent.jurisdiction)


def documents_of(patents: Iterable[Patent]) -> dict[str, Patent]:
    """The document of each family: its earliest publication that has a date and a text besides the title.

    Example:
        >>> import datetime as dt
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.open_citations import documents_of
        >>> first = Patent("US1A1", "F1", abstract="A pump.", publication_date=dt.date(2001, 1, 1))
        >>> documents_of([Patent("US2B2", "F1", abstract="A pump.", publication_date=dt.date(2003, 1, 1)), first])["F1"].publication_number
        'US1A1'
    """
    documents: dict[str, Patent] = {}
    for patent in sorted(patents, key=age):
        if patent.publication_date and (patent.abstract or patent.claims or patent.description.lines()):
            documents.setdefault(patent.family_id, patent)
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


def usable(
    citations: Iterable[Citation], patents: Sequence[Patent], documents: Mapping[str, Patent], rules: Rules
) -> tuple[list[Judgement], dict[str, int]]:
    """The citations that count, and why how many of the others do not.

    Args:
        citations: between records.
        documents: by family.

    Example:
        >>> import datetime as dt
        >>> from patent_mteb.patents.records import Citation, Patent
        >>> from patent_mteb.recipes.open_citations import Rules, documents_of, usable
        >>> old = Patent("US1A1", "F1", abstract="A pump.", publication_date=dt.date(2001, 1, 1))
        >>> new = Patent("US2A1", "F2", abstract="A pump.", publication_date=dt.date(2003, 1, 1), priority_date=dt.date(2001, 1, 1))
        >>> usable([Citation("US2A1", "US1A1", "X")], [old, new], documents_of([old, new]), Rules((), True, None))
        ([], {"citations of documents that were not public before the query's priority date": 1})
    """
    known = {patent.publication_number: patent for patent in patents}
    filed = as_filed(patents)
    counts: Counter[str] = Counter()
    found = []
    for citation in citations:
        query, document = filed.get(citation.citing), documents.get(known[citation.cited].family_id)
        letter = strongest(citation.category) if rules.graded else EXAMINER if citation.origin == "examiner" else ""
        reason = _reason(query, document, letter, citation, rules)
        if reason or query is None or document is None:
            counts[reason] += 1
        else:
            found.append(Judgement(query.publication_number, document.publication_number, letter, citation))
    return found, dict(counts)


def _reason(query: Patent | None, document: Patent | None, letter: str, citation: Citation, rules: Rules) -> str:
    """Why a citation does not count; empty if it does."""
    if query is None:
        return "citations of applications without a publication before grant"
    if rules.offices and query.jurisdiction not in rules.offices:
        return "citations of applications of other offices"
    limit = query.priority_date or query.application_date
    if limit is None:
        return "citations of applications without a priority or filing date"
    if not letter:
        return f"citations {'without a letter X, Y or A' if rules.graded else 'that are not by the examiner'}"
    if rules.last is not None and citation.date is not None and citation.date > rules.last:
        return "citations after the window"
    if document is None or document.publication_date is None:
        return "citations of families without a dated text"
    if query.family_id == document.family_id:
        return "citations within a family"
    return "" if document.publication_date < limit else "citations of documents that were not public before the query's priority date"
