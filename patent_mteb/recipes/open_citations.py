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
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from patent_mteb.patents.categories import CATEGORIES, UNGRADED, is_category, strongest
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.families import by_age
from patent_mteb.patents.on_disk import publications, stored_like
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text_columns import (
    Few,
    Keyed,
    Rows,
    TextIndex,
    coded,
    codes_of,
    ranks_in,
    split_runs,
    values_of,
)
from patent_mteb.recipes.graph import ends_of
from patent_mteb.recipes.sampling import stratum

EXAMINER = "E"  # the category of citations by the examiner where grants are the source, in one grade

_KIND = re.compile(r"[A-Z]\d?$")
_NAMES = sorted([*CATEGORIES, EXAMINER])
_GAINS = np.array([CATEGORIES.get(name, UNGRADED).gain for name in _NAMES], np.int8)
_IS_XY = np.array([CATEGORIES.get(name, UNGRADED).degree == "xy" for name in _NAMES])


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


class Headers:
    """The bibliographic data that make publications queries or documents, as columns with a row for each patent.

    Days are ordinals (:meth:`datetime.date.toordinal`), 0 if unknown.

    Attributes:
        numbers: publication numbers.
        families: codes of the families.
        applications: codes of the application numbers, or of family and office, where the number is missing.
        offices: office of each publication.
        strata: year and IPC section.
        public: publication date.
        limit: priority date, else the filing date.
        filed: row of the application as filed, which is its first pre-grant publication (kind A), by application; -1
            without one.
        documents: row of the earliest publication with a date and a text in addition to the title, by family; -1
            without one.
    """

    def __init__(self, patents: Sequence[Patent]) -> None:
        outlines = publications(patents)
        self.numbers, self.families = outlines.numbers, codes_of(outlines.families)
        self.offices, self.strata = Few[str](), Few[str]()
        public, limit, pre_grant, with_text = (array(kind) for kind in "iibb")

        def applications() -> Iterator[str]:
            for patent, family in zip(patents, values_of(outlines.families), strict=True):
                kind = patent.kind or (last[0] if (last := _KIND.search(patent.publication_number)) else "")
                self.offices.append(patent.jurisdiction)
                self.strata.append("\0".join(stratum(patent)))
                public.append(_ordinal(patent.publication_date))
                limit.append(_ordinal(patent.priority_date or patent.application_date))
                pre_grant.append(kind.startswith("A"))
                with_text.append(bool(patent.abstract or patent.claims or patent.description.lines()))
                yield patent.application_number or f"\0{family}\0{patent.jurisdiction}"

        self.applications = codes_of(coded(applications()))
        self.public, self.limit = np.array(public, np.int32), np.array(limit, np.int32)
        order = by_age(outlines)
        self.filed = _firsts(self.applications, order[np.array(pre_grant, bool)[order]])
        dated_text = np.array(with_text, bool) & (self.public > 0)
        self.documents = _firsts(self.families, order[dated_text[order]])

    @cached_property
    def index(self) -> TextIndex:
        return TextIndex(self.numbers)

    @cached_property
    def ranks(self) -> Rows:
        """The place of each row in the order of all numbers."""
        return ranks_in(pc.sort_indices(self.numbers))

    def in_order(self, rows: Rows) -> Rows:
        """Return the distinct ones among some rows in the order of their numbers."""
        distinct = np.unique(rows)
        return distinct[np.argsort(self.ranks[distinct])]

    def numbers_of(self, rows: Rows) -> pa.LargeStringArray:
        return self.numbers.take(pa.array(rows))


def _ordinal(day: dt.date | None) -> int:
    return day.toordinal() if day else 0


def _firsts(codes: Rows, order: Rows) -> Rows:
    """Return the first row in the given order by code, -1 without one."""
    first = np.full(codes.max(initial=-1) + 1, -1, np.int32)
    first[codes[order][::-1]] = order[::-1]
    return first


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


def days_as_prior_art(headers: Headers, rules: Rules) -> Rows:
    """Return the day from which on each document is prior art: that of its publication, or of its effective filing."""
    days = headers.public.copy()
    if rules.effective:
        offices = (*rules.offices, "WO")
        every_row = np.arange(len(days), dtype=np.int32)
        counts = headers.offices.map(every_row, lambda office: not rules.offices or office in offices).astype(bool)
        document = headers.documents[headers.families]
        filed_before = counts & (document >= 0) & (headers.limit > 0) & (headers.limit < headers.public[document])
        np.minimum.at(days, document[filed_before], headers.limit[filed_before])
    return days


_ROW = np.dtype(
    [(name, "i4") for name in ("query", "document", "citation", "day", "category", "statutes")] + [("first", "?")]
)


class UsableCitations(Sequence[Judgement]):
    """The citations that count, as columns.

    ``rows`` has the rows of query and document, the place of the citation, its day (an ordinal, 0 if unknown), and the
    codes of category and statutes. In order (:meth:`in_order`), the citations are parallel to the rows.
    """

    def __init__(
        self, headers: Headers, citations: Sequence[Citation], rows: NDArray[Any], statutes: Few[tuple[str, ...]]
    ) -> None:
        self.headers, self.rows, self.citations = headers, rows, citations
        self._statutes = statutes
        self.gains, self.is_xy = _GAINS[rows["category"]], _IS_XY[rows["category"]]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        query, document, citation, day, category, statutes, first = self.rows[place].item()
        return Judgement(
            self.headers.numbers[query].as_py(),
            self.headers.numbers[document].as_py(),
            _NAMES[category],
            self.citations[citation],
            dt.date.fromordinal(day) if day else None,
            first,
            self._statutes.values[statutes],
        )

    def in_order(self, queries: Rows) -> UsableCitations:
        """Return the judgements of some queries in the order of query, document and category, then by citation."""
        rows = self.rows[np.isin(self.rows["query"], queries)]
        ranks = (self.headers.ranks[rows[end]] for end in ("document", "query"))
        rows = rows[np.lexsort((rows["category"], *ranks))]
        keys, as_before = rows[["query", "document", "category"]], np.zeros(len(rows), bool)
        as_before[1:] = keys[1:] == keys[:-1]
        for run in split_runs(np.arange(len(rows)), as_before):
            rows[run] = sorted(rows[run], key=lambda row: repr(self.citations[int(row["citation"])]))
        citations = stored_like((self.citations[place] for place in values_of(rows["citation"])), like=self.citations)
        rows["citation"] = np.arange(len(rows))
        return UsableCitations(self.headers, citations, rows, self._statutes)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.diff(self.rows["query"], prepend=-1, append=-1))

    @property
    def queries(self) -> pa.LargeStringArray:
        """The distinct queries, if the judgements are in order."""
        return self.headers.numbers_of(self.rows["query"][self._starts[:-1]])

    def of_query(self, place: int) -> slice:
        """Return the places of the judgements of a query, which is given by its own place."""
        return slice(int(self._starts[place]), int(self._starts[place + 1]))

    @property
    def by_query(self) -> Mapping[str, slice]:
        """The places of the judgements of each query."""
        queries = self.queries
        return Composed(Keyed(queries, range(len(queries))), self.of_query)

    def grades(self, places: slice | Rows) -> dict[str, int]:
        """Return the highest grade of each document among some judgements."""
        found: dict[str, int] = {}
        documents = self.headers.numbers_of(self.rows["document"][places]).to_pylist()
        for document, gain in zip(documents, self.gains[places].tolist(), strict=True):
            found[document] = max(gain, found.get(document, 0))
        return found


def usable_citations(
    citations: Sequence[Citation], headers: Headers, prior_art: Rows, rules: Rules
) -> tuple[UsableCitations, dict[str, int]]:
    """Return the citations that count, and the number of the others by reason."""
    first_action = np.full(len(headers.numbers), dt.date.max.toordinal(), np.int32)
    counts: Counter[str] = Counter()
    listed: dict[tuple[int, int], set[str]] = {}
    statutes = Few[tuple[str, ...]]()
    found, place = [np.empty(0, _ROW)], -1
    for some, citing, cited in ends_of(citations, headers.index):
        queries = np.where(citing >= 0, headers.filed[headers.applications[citing]], -1)
        documents = np.where(cited >= 0, headers.documents[headers.families[cited]], -1)
        days = np.array([_ordinal(citation.date) for citation in some], np.int32)
        if rules.reports or not rules.graded:
            days = np.where((days == 0) & (citing >= 0), headers.public[citing], days)
        dated = (queries >= 0) & (days > 0)
        np.minimum.at(first_action, queries[dated], days[dated])
        all_ends, rows = zip(queries.tolist(), documents.tolist(), strict=True), []
        for citation, ends, day in zip(some, all_ends, days.tolist(), strict=True):
            place += 1
            if min(ends) >= 0 and citation.statutes and not citation.claims:
                listed.setdefault(ends, set()).update(citation.statutes)
            category = _category(citation, rules)
            reason = _reason(*ends, category, citation, rules, headers, prior_art)
            if reason or not category:
                counts[reason] += 1
            else:
                rows.append((*ends, place, day, _NAMES.index(category), statutes.code(citation.statutes), False))
        found.append(np.array(rows, _ROW))
    usable = np.concatenate(found)
    if rules.graded:
        usable["first"] = usable["day"] == first_action[usable["query"]]
    for row in np.flatnonzero(usable["statutes"] == statutes.code(())) if listed else ():
        ends = usable[["query", "document"]][row].item()
        usable["statutes"][row] = statutes.code(tuple(sorted(listed.get(ends, ()))))
    return UsableCitations(headers, citations, usable, statutes), dict(counts)


def _category(citation: Citation, rules: Rules) -> str | None:
    """Return the strongest category, empty if none counts, None if it is unknown."""
    if not rules.graded:
        return EXAMINER if citation.origin == "examiner" else ""
    return strongest(citation.category) if is_category(citation.category) else None


def _reason(
    query: int, document: int, category: str | None, citation: Citation, rules: Rules, headers: Headers, prior_art: Rows
) -> str:
    """Return the reason why a citation does not count, empty if it counts."""
    if query < 0:
        return "citations of applications without a publication before grant"
    if rules.offices and headers.offices[query] not in rules.offices:
        return "citations of applications of other offices"
    if not headers.limit[query]:
        return "citations of applications without a priority or filing date"
    if category is None:
        return "citations with a category that no search report uses"
    if not category:
        return f"citations {'without a letter X, Y or A' if rules.graded else 'that are not by the examiner'}"
    if rules.last is not None and citation.date is not None and citation.date > rules.last:
        return "citations after the window"
    if document < 0:
        return "citations of families without a dated text"
    if headers.families[query] == headers.families[document]:
        return "citations within a family"
    if prior_art[document] >= headers.limit[query]:
        what = "neither public nor filed" if rules.effective else "not public"
        return f"citations of documents that were {what} before the query's priority date"
    return ""
