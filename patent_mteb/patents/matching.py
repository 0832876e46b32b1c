"""Match cited numbers to records: by number, without the kind code, or through the patent family.

A collection may spell a cited number differently, may contain another publication of the same application only (the B2
of a cited A1), or another member of its family only. Each of these is a step (:data:`STEPS`): later steps match more
citations but less exactly. The caller chooses the last step; the report counts the citations that need each.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import DEGREES, degree
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import Publications, series
from patent_mteb.patents.numbers import Number, key_of, normal_form, read_number
from patent_mteb.patents.on_disk import stored_like
from patent_mteb.patents.records import Citation
from patent_mteb.patents.text import text_key
from patent_mteb.patents.text_columns import Rows, TextIndex, coded, codes_of, column, values_of

STEPS = {
    "number": "the same publication, however its number is written",
    "kind": (
        "also another publication of the same application: its number without kind code, its pre-grant publication, its"
        " grant"
    ),
    "family": "also another member of its patent family",
}
"""Steps of matching; each includes the steps before it."""

_RANK = {step: rank for rank, step in enumerate(STEPS)}
_NOWHERE = len(STEPS)
_EXAMPLES = 5


@dataclass(frozen=True)
class MatchReport:
    """Counts of matched and unmatched citations.

    ``citations`` = ``matched`` + ``unknown_citing`` + ``unknown_cited`` and ``matched`` = ``links`` + ``own_family`` +
    ``duplicates``.

    ``by`` is the last step of the matching. ``exact``, ``through_kind`` and ``through_family`` count the citations that
    match by each step first, whatever ``by`` is. ``own_family`` and ``duplicates`` are matched but dropped: citations
    within a family, and of a pair that has one already. ``unreadable`` counts distinct numbers, which match only a
    record with the same text. ``examples`` are the first cited numbers without a record.
    """

    by: str
    citations: int
    matched: int
    unknown_citing: int
    unknown_cited: int
    exact: int
    through_kind: int
    through_family: int
    own_family: int
    duplicates: int
    links: int
    unreadable: int
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return one line for a log."""
        beyond = [f"{count} more with match={step}" for step, count in self.beyond().items() if count]
        parts = (
            f"{self.links} links of {self.citations} citations by {self.by}",
            f"{self.unknown_citing} of unknown documents",
            f"{self.unknown_cited} to unknown ones",
            f"{self.own_family} within a family",
            f"{self.duplicates} repeated",
            f"{self.unreadable} numbers unreadable",
        )
        return ", ".join((*parts, *beyond))

    def beyond(self) -> dict[str, int]:
        """Count the additional citations that each step after ``by`` would match."""
        further = {"kind": self.through_kind, "family": self.through_family}
        steps = list(STEPS)[_RANK[self.by] + 1 :]
        return {step: sum(further[one] for one in steps[: position + 1]) for position, step in enumerate(steps)}


class _RowsOf:
    """The rows of each number in an array, in order."""

    def __init__(self, numbers: Rows) -> None:
        self._rows = np.argsort(numbers, kind="stable").astype(np.int32)
        self._numbers = numbers[self._rows]

    def __call__(self, number: int) -> list[int]:
        first, last = (int(self._numbers.searchsorted(np.int32(number), side)) for side in ("left", "right"))
        rows: list[int] = self._rows[first:last].tolist()
        return rows


class _Finder:
    """Finds the record of a number, as a row of its table, and the first step that matches it."""

    def __init__(self, collection: Collection) -> None:
        known = Publications(collection.patents, collection.relations, collection.families)
        self.table, self.numbers, self._name = known.table, known.numbers, known.name
        self.by_number = TextIndex(self.numbers)
        numbers = [column(map(form, values_of(self.numbers))) for form in (normal_form, key_of)]
        self._by_normal_form, self._by_key, self._by_name = map(TextIndex, (*numbers, known.names))
        self._application = known.groups_of(known.by_application()[0])
        self._of_application = _RowsOf(self._application[known.of_records])
        self._family = known.own.copy()
        self._family[known.of_records] = known.family_of_records
        self._of_family = _RowsOf(known.family_of_records)

    def find(self, text: str, number: Number | None) -> tuple[int, int]:
        """Return the rank of the step and the row of the record of a number that is written differently.

        The row is -1 after the last step.
        """
        normal = normal_form(text)
        for index in (self.by_number, self._by_normal_form):
            if (row := index.row(normal)) >= 0:
                return _RANK["number"], row
        office = number.office if number else ""
        same = self._of_one_series(number) if number else []
        publication = self._by_name.row(self._name(text))
        if not same and publication >= 0:
            same = self._of_application(self._application[publication])
        if same:
            return _RANK["kind"], self._nearest(same, office)
        if publication >= 0 and (members := self._of_family(self._family[publication])):
            return _RANK["family"], self._nearest(members, office)
        return _NOWHERE, -1

    def _of_one_series(self, number: Number) -> list[int]:
        """Return the records with the same serial that can be of the same application.

        A number without kind code can be of any series, and is ambiguous if records of several series have its serial.
        """
        found: dict[str, list[int]] = {}
        for row in self._by_key.rows(number.key):
            other = read_number(self.numbers[row].as_py())
            found.setdefault(series(other) if other and other.kind else "", []).append(row)
        if number.kind:
            return [*found.get(series(number), ()), *found.get("", ())]
        return [row for rows in found.values() for row in rows] if len(found.keys() - {""}) <= 1 else []

    def _nearest(self, rows: Iterable[int], office: str) -> int:
        """Prefer the same office, then the earliest date, then the lowest number."""

        def distance(row: int) -> tuple[bool, dt.date, str]:
            number, day = self.table["number"][row], self.table["day"][row]
            return number[:2].upper() != office, day or dt.date.max, number

        return min(rows, key=distance)


def match(
    citations: Sequence[Citation], collection: Collection, by: str = "number", *, joined: bool = True
) -> tuple[Sequence[Citation], MatchReport]:
    """Return the citations between records and a report on the others.

    Citations within a family are dropped. With ``joined``, each pair has one citation: the first with the most relevant
    category, with the claims and passages of all. The result is in memory or on disk, as ``citations`` are.
    """
    if by not in STEPS:
        raise DataError(f"numbers cannot be matched by '{by}'", remedy=f"choose among {', '.join(STEPS)}")
    return _matched(citations, _ends(citations, collection), by, joined)


def match_by_all(
    citations: Sequence[Citation], collection: Collection
) -> dict[str, tuple[Sequence[Citation], MatchReport]]:
    """Return the result of :func:`match` for each of :data:`STEPS`."""
    ends = _ends(citations, collection)
    return {step: _matched(citations, ends, step) for step in STEPS}


@dataclass(frozen=True)
class _Ends:
    """The citing and cited ends of all citations: rank of the step that finds the record, and its row.

    The row is -1 if there is no record. ``numbers`` and ``family`` are those of all records.
    """

    needs: tuple[Rows, Rows]
    row: tuple[Rows, Rows]
    numbers: pa.LargeStringArray
    family: Rows
    unreadable: int


def _ends(citations: Iterable[Citation], collection: Collection) -> _Ends:
    """Look up each distinct number once."""
    written = coded(chain.from_iterable((citation.citing, citation.cited) for citation in citations))
    finder = _Finder(collection)
    rows = finder.by_number.rows_of(written.dictionary)
    needs, unreadable = np.zeros(len(rows), np.int32), 0
    for place, text in enumerate(values_of(written.dictionary)):
        number = read_number(text)
        unreadable += number is None
        if rows[place] < 0:
            needs[place], rows[place] = finder.find(text, number)
    citing, cited = codes_of(written).reshape(-1, 2).T
    return _Ends(
        (needs[citing], needs[cited]),
        (rows[citing], rows[cited]),
        finder.numbers,
        finder.table["family"].rank("dense").to_numpy(),
        unreadable,
    )


def _matched(
    citations: Sequence[Citation], ends: _Ends, by: str, joined: bool = True
) -> tuple[Sequence[Citation], MatchReport]:
    reached = np.maximum(*ends.needs)
    without_citing = ends.needs[0] > _RANK[by]
    without_cited = ~without_citing & (ends.needs[1] > _RANK[by])
    matched = np.flatnonzero(reached <= _RANK[by])
    citing, cited = (row[matched] for row in ends.row)
    own = ends.family[citing] == ends.family[cited]
    between, pairs = matched[~own], citing[~own].astype(np.int64) * len(ends.family) + cited[~own]
    if joined:
        _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
        found = _links(citations, ends, between, between[first[pair]])
    else:
        _, pair, sizes = np.unique(pairs, return_inverse=True, return_counts=True)
        found = _each(citations, ends, between, sizes[pair] > 1)
    links = stored_like(found, like=citations)
    needs = np.bincount(reached, minlength=_NOWHERE + 1)
    report = MatchReport(
        by=by,
        citations=len(citations),
        matched=len(matched),
        unknown_citing=int(without_citing.sum()),
        unknown_cited=int(without_cited.sum()),
        exact=int(needs[0]),
        through_kind=int(needs[1]),
        through_family=int(needs[2]),
        own_family=int(own.sum()),
        duplicates=len(between) - len(links),
        links=len(links),
        unreadable=ends.unreadable,
        examples=_first_unknown(citations, without_cited),
    )
    return links, report


def _first_unknown(citations: Sequence[Citation], unknown: NDArray[np.bool_]) -> tuple[str, ...]:
    examples: dict[str, None] = {}
    for number in np.flatnonzero(unknown):
        examples[citations[int(number)].cited] = None
        if len(examples) == _EXAMPLES:
            break
    return tuple(examples)


def _links(
    citations: Sequence[Citation], ends: _Ends, between: NDArray[np.int64], leads: NDArray[np.int64]
) -> Iterator[Citation]:
    """Yield one citation for each pair, in the order of their first citations (``leads``)."""
    later: dict[int, list[int]] = {}
    for number, lead in zip(between[between != leads].tolist(), leads[between != leads].tolist(), strict=True):
        later.setdefault(lead, []).append(number)
    is_lead = np.zeros(len(citations), bool)
    is_lead[leads] = True
    for number, citation in compress(enumerate(citations), is_lead):
        citing, cited = (ends.numbers[int(row[number])].as_py() for row in ends.row)
        all_of_it = [citation, *(citations[other] for other in later.get(number, ()))]
        yield replace(_joined(all_of_it) if len(all_of_it) > 1 else citation, citing=citing, cited=cited)


def _each(
    citations: Sequence[Citation], ends: _Ends, between: NDArray[np.int64], several: NDArray[np.bool_]
) -> Iterator[Citation]:
    """Yield the distinct citations between families; ``several`` says which pairs have other citations too.

    Passages are dropped if the matched record is another publication than the cited one.
    """
    seen: set[bytes] = set()
    for number, has_others in zip(values_of(between), values_of(several), strict=True):
        citing, cited = (ends.numbers[int(row[number])].as_py() for row in ends.row)
        link = replace(citations[number], citing=citing, cited=cited)
        if ends.needs[1][number]:
            link = replace(link, passages=())
        if has_others:
            if (key := text_key(repr(link))) in seen:
                continue
            seen.add(key)
        yield link


def _joined(citations: Sequence[Citation]) -> Citation:
    """Join the citations of a pair: the most relevant, with the claims and passages of all."""
    best = max(citations, key=lambda citation: _relevance(citation.category))
    return replace(
        best,
        claims=tuple(sorted({claim for citation in citations for claim in citation.claims})),
        passages=tuple(dict.fromkeys(passage for citation in citations for passage in citation.passages)),
    )


def _relevance(category: str) -> tuple[int, bool]:
    """Sort key: X and Y, then A, then other categories (known or not), then none."""
    return DEGREES.index(degree(category)), bool(category)
