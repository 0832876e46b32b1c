"""The citations that are judgements of the open benchmark, and the reasons why the others are not.

A query is an application as filed: the first pre-grant publication of the citing application. A document is a patent
family, with the text of its earliest publication that has a text and a date; it is public from that day on. A citation
counts if query and document exist, belong to different families, the document was public before the priority date of
the query, and the category is X, Y or A. Where grants are the source, citations by the examiner count instead.

With the gate ``effective`` a document of the same office, or a PCT application, is prior art from the day it was
effectively filed, if it was published at all: 35 U.S.C. 102(a)(2), before the AIA 102(e), and Article 54(3) EPC.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

from patent_mteb.patents.categories import CATEGORIES, UNGRADED, strongest
from patent_mteb.patents.on_disk import publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes.sampling import stratum

EXAMINER = "E"  # the category of citations by the examiner where grants are the source, in one grade

_KIND = re.compile(r"[A-Z]\d?$")
_values = attrgetter(*(one.name for one in fields(Citation)[2:]))  # without the two numbers


@dataclass(frozen=True, slots=True)
class Judgement:
    """A citation that counts: application as filed, document, category, and day of the office action.

    Reports, and grants, have the day of their publication. ``first`` says whether the first action on the application
    raised it. ``statutes`` are those of the citation, or else those that a list of the same application and document
    without claims gives.
    """

    query: str
    document: str
    category: str
    citation: Citation
    day: dt.date | None
    first: bool = False
    statutes: tuple[str, ...] = ()

    @property
    def grade(self) -> int:
        return CATEGORIES.get(self.category, UNGRADED).gain


@dataclass(frozen=True, slots=True)
class Header:
    """The bibliographic data that make a publication a query or a document.

    Attributes:
        position: index of its record among the patents.
        application: the application number, or family and office, each after a zero, where it is missing.
        before_grant: whether it is a pre-grant publication (kind A).
        limit: the priority date, else the filing date.
        text: whether it has a text in addition to the title.
        stratum: year and IPC section.
    """

    position: int
    number: str
    family: str
    application: str
    office: str
    before_grant: bool
    public: dt.date | None
    limit: dt.date | None
    text: bool
    stratum: tuple[str, str]

    @property
    def age(self) -> tuple[dt.date, str]:
        """The sort key from the earliest publication on, unknown dates last."""
        return self.public or dt.date.max, self.number


def headers_of(patents: Sequence[Patent]) -> list[Header]:
    """Read the headers of patents, one record at a time."""
    shared: dict[Any, Any] = {}
    found = []
    for position, (patent, known) in enumerate(zip(patents, publications(patents), strict=True)):
        kind = patent.kind or (last[0] if (last := _KIND.search(patent.publication_number)) else "")
        application = patent.application_number or f"\0{known.family_id}\0{patent.jurisdiction}"
        group = stratum(patent)
        found.append(
            Header(
                position,
                known.publication_number,
                known.family_id,
                shared.setdefault(application, application),
                sys.intern(patent.jurisdiction),
                kind.startswith("A"),
                shared.setdefault(patent.publication_date, patent.publication_date),
                shared.setdefault(limit := patent.priority_date or patent.application_date, limit),
                bool(patent.abstract or patent.claims or patent.description.lines()),
                shared.setdefault(group, group),
            )
        )
    return found


def as_filed(headers: Iterable[Header]) -> dict[str, Header]:
    """Return the application as filed (first pre-grant publication) by application."""
    first: dict[str, Header] = {}
    for header in sorted(headers, key=lambda header: header.age):
        if header.before_grant:
            first.setdefault(header.application, header)
    return first


def documents_of(headers: Iterable[Header]) -> dict[str, Header]:
    """Return the earliest publication with a date and a text of each family."""
    documents: dict[str, Header] = {}
    for header in sorted(headers, key=lambda header: header.age):
        if header.public and header.text:
            documents.setdefault(header.family, header)
    return documents


@dataclass(frozen=True)
class Rules:
    """The rules that decide whether a citation counts.

    Citations need a category if they are ``graded``; otherwise those of examiners count, in one grade. Queries are
    applications of the ``offices`` (empty: all). Office actions after the ``last`` day do not count. ``reports`` are
    dated by their publication. With ``effective`` documents of the offices count from the day they were filed on.
    """

    offices: tuple[str, ...]
    graded: bool
    last: dt.date | None
    reports: bool = False
    effective: bool = False


def filing_days(headers: Iterable[Header], documents: Mapping[str, Header], rules: Rules) -> dict[str, dt.date]:
    """Return the day from which on a document is prior art, where that is the day it was effectively filed on."""
    days: dict[str, dt.date] = {}
    for header in headers if rules.effective else ():
        document = documents.get(header.family)
        if document is None or header.limit is None or document.public is None or header.limit >= document.public:
            continue
        if not rules.offices or header.office in (*rules.offices, "WO"):
            days[document.number] = min(header.limit, days.get(document.number, header.limit))
    return days


def usable_citations(
    citations: Iterable[Citation], headers: Sequence[Header], documents: Mapping[str, Header], rules: Rules
) -> tuple[list[Judgement], dict[str, int]]:
    """Return the citations that count, and the number of the others by reason."""
    known = {header.number: header for header in headers}
    filed, days = as_filed(headers), filing_days(headers, documents, rules)
    counts: Counter[str] = Counter()
    first: dict[str, dt.date] = {}
    listed: dict[tuple[str, str], set[str]] = {}
    shared: dict[Any, Any] = {}  # one object for each value of citations
    found: list[Judgement] = []
    for citation in citations:
        citing, cited = known.get(citation.citing), known[citation.cited]
        query, document = filed.get(citing.application) if citing else None, documents.get(cited.family)
        category = _category(citation, rules)
        by_publication = rules.reports or not rules.graded
        day = citation.date or (citing.public if by_publication and citing else None)
        if query and day:
            first[query.number] = min(day, first.get(query.number, day))
        if query and document and citation.statutes and not citation.claims:
            listed.setdefault((query.number, document.number), set()).update(citation.statutes)
        reason = _reason(query, document, category, citation, rules, days)
        if reason or citing is None or query is None or document is None or category is None:
            counts[reason] += 1
        else:
            values = (shared.setdefault(value, value) for value in _values(citation))
            citation = Citation(citing.number, cited.number, *values)
            found.append(Judgement(query.number, document.number, category, citation, day))
    for row, one in enumerate(found):
        found[row] = replace(
            one,
            first=rules.graded and one.day is not None and one.day == first[one.query],
            statutes=one.citation.statutes or tuple(sorted(listed.get((one.query, one.document), ()))),
        )
    return found, dict(counts)


def _category(citation: Citation, rules: Rules) -> str | None:
    """Return the strongest category, empty if none counts, None if it is unknown."""
    if not rules.graded:
        return EXAMINER if citation.origin == "examiner" else ""
    try:
        return strongest(citation.category)
    except ValueError:
        return None


def _reason(
    query: Header | None,
    document: Header | None,
    category: str | None,
    citation: Citation,
    rules: Rules,
    days: Mapping[str, dt.date],
) -> str:
    """Return the reason why a citation does not count, empty if it counts."""
    if query is None:
        return "citations of applications without a publication before grant"
    if rules.offices and query.office not in rules.offices:
        return "citations of applications of other offices"
    if query.limit is None:
        return "citations of applications without a priority or filing date"
    if category is None:
        return "citations with a category that no search report uses"
    if not category:
        return f"citations {'without a letter X, Y or A' if rules.graded else 'that are not by the examiner'}"
    if rules.last is not None and citation.date is not None and citation.date > rules.last:
        return "citations after the window"
    if document is None or document.public is None:
        return "citations of families without a dated text"
    if query.family == document.family:
        return "citations within a family"
    if days.get(document.number, document.public) >= query.limit:
        prior_art = "neither public nor filed" if rules.effective else "not public"
        return f"citations of documents that were {prior_art} before the query's priority date"
    return ""
