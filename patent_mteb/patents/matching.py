"""Match cited numbers to records: by number, without the kind code, or through the patent family.

A collection may spell a cited number differently, may contain another publication of the same application only (the B2
of a cited A1), or another member of its family only. Each of these is a step (:data:`STEPS`): later steps match more
citations but less exactly. The caller chooses the last step; the report counts the citations that need each.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import DEGREES, degree
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import application_groups, publication_names, series
from patent_mteb.patents.numbers import Number, read_number
from patent_mteb.patents.on_disk import publications, stored_like
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import text_key

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


class _Finder:
    """Finds the record of a number and the first step that matches it."""

    def __init__(self, collection: Collection) -> None:
        patents = publications(collection.patents)
        self._name = publication_names(chain((patent.publication_number for patent in patents), collection.families))
        self._exact = {patent.publication_number: patent for patent in patents}
        self._by_key: defaultdict[str, list[Patent]] = defaultdict(list)
        self._members: defaultdict[str, list[Patent]] = defaultdict(list)
        self._of_application: defaultdict[str, list[Patent]] = defaultdict(list)
        self._application = application_groups(patents, collection.relations)
        self._family = {self._name(number): family for number, family in collection.families.items()}
        for patent in patents:
            name, number = self._name(patent.publication_number), read_number(patent.publication_number)
            self._exact.setdefault(number.docdb if number else name, patent)
            if number:
                self._by_key[number.key].append(patent)
            self._members[patent.family_id].append(patent)
            self._family[name] = patent.family_id
            if name in self._application:
                self._of_application[self._application[name]].append(patent)

    def find(self, text: str, number: Number | None) -> tuple[int, Patent | None]:
        """Return the rank of the step and the record of a written number, None after the last step."""
        if exact := self._exact.get(text) or self._exact.get(number.docdb if number else text.strip()):
            return _RANK["number"], exact
        name = self._name(text)
        office = number.office if number else ""
        same = [patent for patent in self._by_key.get(number.key, ()) if _one_series(number, patent)] if number else []
        if same := same or self._of_application.get(self._application.get(name, ""), []):
            return _RANK["kind"], _nearest(same, office)
        if members := self._members.get(self._family.get(name, ""), []):
            return _RANK["family"], _nearest(members, office)
        return _NOWHERE, None


def _one_series(number: Number, patent: Patent) -> bool:
    """Whether a record with the same serial can be of the same application."""
    other = read_number(patent.publication_number)
    return not number.kind or other is None or not other.kind or series(number) == series(other)


def _nearest(patents: Iterable[Patent], office: str) -> Patent:
    """Prefer the same office, then the earliest date, then the lowest number."""

    def distance(one: Patent) -> tuple[bool, dt.date, str]:
        return one.jurisdiction != office, one.publication_date or dt.date.max, one.publication_number

    return min(patents, key=distance)


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


_Array = NDArray[np.int32]


@dataclass(frozen=True)
class _Ends:
    """The citing and cited ends of all citations: rank of the step that finds the record, and its place in ``known``.

    The place is -1 if there is no record. ``family`` is the family of each record in ``known``, as a number.
    """

    needs: tuple[_Array, _Array]
    place: tuple[_Array, _Array]
    known: list[Patent]
    family: _Array
    unreadable: int


def _ends(citations: Iterable[Citation], collection: Collection) -> _Ends:
    """Look up each distinct number once, and free the numbers and the lookup tables."""
    written: dict[str, int] = {}
    citing, cited = array("i"), array("i")
    for citation in citations:
        citing.append(written.setdefault(citation.citing, len(written)))
        cited.append(written.setdefault(citation.cited, len(written)))
    finder = _Finder(collection)
    needs, place, unreadable = array("i"), array("i"), 0
    places: dict[str, int] = {}
    known: list[Patent] = []
    for text in written:
        number = read_number(text)
        rank, patent = finder.find(text, number)
        needs.append(rank)
        unreadable += number is None
        if patent is None:
            place.append(-1)
            continue
        place.append(places.setdefault(patent.publication_number, len(known)))
        if place[-1] == len(known):
            known.append(patent)
    families: dict[str, int] = {}
    family = [families.setdefault(patent.family_id, len(families)) for patent in known]
    ends = [np.asarray(end, np.int32) for end in (citing, cited)]
    needs_of, place_of = (np.asarray(one, np.int32) for one in (needs, place))
    return _Ends(
        (needs_of[ends[0]], needs_of[ends[1]]),
        (place_of[ends[0]], place_of[ends[1]]),
        known,
        np.asarray(family, np.int32),
        unreadable,
    )


def _matched(
    citations: Sequence[Citation], ends: _Ends, by: str, joined: bool = True
) -> tuple[Sequence[Citation], MatchReport]:
    reached = np.maximum(*ends.needs)
    without_citing = ends.needs[0] > _RANK[by]
    without_cited = ~without_citing & (ends.needs[1] > _RANK[by])
    matched = np.flatnonzero(reached <= _RANK[by])
    citing, cited = (place[matched] for place in ends.place)
    own = ends.family[citing] == ends.family[cited]
    between, pairs = matched[~own], citing[~own].astype(np.int64) * len(ends.known) + cited[~own]
    if joined:
        _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
        found = _links(citations, ends, between, between[first[pair]])
    else:
        found = _each(citations, ends, between)
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
        citing, cited = (ends.known[place[number]].publication_number for place in ends.place)
        all_of_it = [citation, *(citations[other] for other in later.get(number, ()))]
        yield replace(_joined(all_of_it) if len(all_of_it) > 1 else citation, citing=citing, cited=cited)


def _each(citations: Sequence[Citation], ends: _Ends, between: NDArray[np.int64]) -> Iterator[Citation]:
    """Yield the distinct citations between families.

    Passages are dropped if the matched record is another publication than the cited one.
    """
    seen: set[bytes] = set()
    for number in between.tolist():
        citing, cited = (ends.known[place[number]].publication_number for place in ends.place)
        link = replace(citations[number], citing=citing, cited=cited)
        if ends.needs[1][number]:
            link = replace(link, passages=())
        if (key := text_key(repr(link))) not in seen:
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
    try:
        return DEGREES.index(degree(category)), bool(category)
    except ValueError:
        return 0, True
