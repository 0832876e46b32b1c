"""From cited numbers to records: by number, without the kind code, or through the patent family.

A citation names a publication; the collection may have it under another spelling, may have only another publication of the same
application (an A1 is cited, its B2 is there), or only another member of its family. Each is a step of its own
(:data:`STEPS`), because each links more and means less; the step is chosen, and how many citations need which is counted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import degree
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import application_groups, publication_names
from patent_mteb.patents.numbers import Number, read_number
from patent_mteb.patents.records import Citation, Patent

__all__ = ["STEPS", "MatchReport", "match", "match_by_all"]

STEPS = {
    "number": "the same publication, however its number is written",
    "kind": "also another publication of the same application: its number without kind code, its pre-grant publication, its grant",
    "family": "also another member of its patent family",
}
"""How a number may find its record, each step with those before it."""

_RANK = {step: rank for rank, step in enumerate(STEPS)}
_NOWHERE = len(STEPS)
_EXAMPLES = 5


@dataclass(frozen=True)
class MatchReport:
    """What became of citations. ``citations`` = ``matched`` + ``unknown_citing`` + ``unknown_cited``;
    ``matched`` = ``links`` + ``own_family`` + ``duplicates``.

    Attributes:
        by: the step up to which numbers were matched.
        citations: citations that were read.
        matched: those of which both ends have records.
        unknown_citing: those whose citing number has none (whatever the cited one has).
        unknown_cited: those of which only the cited number has none.
        exact: citations that match by number, whatever ``by`` is.
        through_kind: those that match without kind code only.
        through_family: those that match through members of a family only.
        own_family: matched citations within one family; they are left out.
        duplicates: matched citations of a pair that was there before; the best category is kept.
        links: citations that are left.
        unreadable: distinct numbers that are none; they match only if a record is written the same.
        examples: the first cited numbers that have no record.
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
        """One line for a log."""
        beyond = [f"{count} more with match={step}" for step, count in self.beyond().items() if count]
        parts = [
            f"{self.links} links of {self.citations} citations by {self.by}",
            f"{self.unknown_citing} of unknown documents",
            f"{self.unknown_cited} to unknown ones",
            f"{self.own_family} within a family",
            f"{self.duplicates} repeated",
            f"{self.unreadable} numbers unreadable",
            *beyond,
        ]
        return ", ".join(parts)

    def beyond(self) -> dict[str, int]:
        """Citations that a later step than ``by`` would match in addition, by that step.

        Example:
            >>> from patent_mteb.patents.collection import Collection
            >>> from patent_mteb.patents.matching import match
            >>> from patent_mteb.patents.records import Citation, Patent
            >>> world = Collection([Patent("EP1000000A1", "F1"), Patent("EP2000000B1", "F2")])
            >>> match([Citation("EP1000000A1", "EP2000000A1")], world)[1].beyond()
            {'kind': 1, 'family': 1}
        """
        kind, family = self.through_kind, self.through_kind + self.through_family
        return {"number": {"kind": kind, "family": family}, "kind": {"family": self.through_family}, "family": {}}[self.by]


class _Finder:
    """Finds the record of a number, and the first step that does."""

    def __init__(self, collection: Collection) -> None:
        self._name = publication_names([*(patent.publication_number for patent in collection.patents), *collection.families])
        self._exact: dict[str, Patent] = {}
        self._by_key: dict[str, list[tuple[Number, Patent]]] = {}
        self._members: dict[str, list[Patent]] = {}
        self._of_application: dict[str, list[Patent]] = {}
        self._application = application_groups(collection.patents, collection.relations)
        self._family = {self._name(number): family for number, family in collection.families.items()}
        for patent in collection.patents:
            self._exact[patent.publication_number] = patent
        for patent in collection.patents:
            name, number = self._name(patent.publication_number), read_number(patent.publication_number)
            self._exact.setdefault(number.docdb if number else name, patent)
            if number:
                self._by_key.setdefault(number.key, []).append((number, patent))
            self._members.setdefault(patent.family_id, []).append(patent)
            self._family[name] = patent.family_id
            if name in self._application:
                self._of_application.setdefault(self._application[name], []).append(patent)
        self._found: dict[str, tuple[int, Patent | None]] = {}
        self.unreadable = 0

    def find(self, text: str) -> tuple[int, Patent | None]:
        """Rank of the step, and the record; past the last step there is none."""
        if text not in self._found:
            number = read_number(text)
            self.unreadable += number is None
            self._found[text] = self._search(text, number)
        return self._found[text]

    def _search(self, text: str, number: Number | None) -> tuple[int, Patent | None]:
        if same := self._exact.get(text) or self._exact.get(number.docdb if number else text.strip()):
            return _RANK["number"], same
        name = self._name(text)
        office = number.office if number else ""
        alike = [patent for other, patent in self._by_key.get(number.key, ()) if _one_series(number, other)] if number else []
        if alike := alike or self._of_application.get(self._application.get(name, ""), []):
            return _RANK["kind"], _nearest(alike, office)
        if members := self._members.get(self._family.get(name, ""), []):
            return _RANK["family"], _nearest(members, office)
        return _NOWHERE, None


def _one_series(number: Number, other: Number) -> bool:
    """Whether equal serials with other kinds mean one document: Japan numbered A and B documents apart by imperial years."""
    if number.office != "JP" or not number.serial[0].isalpha() or not number.kind or not other.kind:
        return True
    return number.kind[0] == other.kind[0]


def _nearest(patents: Iterable[Patent], office: str) -> Patent:
    """Of the same office if there is one, then the earliest, then the first by number."""
    return min(
        patents,
        key=lambda patent: (patent.jurisdiction != office, patent.publication_date or dt.date.max, patent.publication_number),
    )


def match(
    citations: Iterable[Citation], collection: Collection, by: str = "number", *, joined: bool = True
) -> tuple[list[Citation], MatchReport]:
    """Citations between records, each pair once, and what became of the others.

    Citations within a family are left out. Of several citations of one pair that with the most relevant category stays (the first, if
    equal), with the claims and passages of all.

    Args:
        by: one of :data:`STEPS`; an earlier step goes before a later one for each number.
        joined: whether a pair is one citation. Else each citation stays that says something of its own, without its passages where
            another publication than the cited one was found: they point into that one.

    Raises:
        DataError: an unknown step.

    Example:
        >>> from patent_mteb.patents.collection import Collection
        >>> from patent_mteb.patents.matching import match
        >>> from patent_mteb.patents.records import Citation, Patent
        >>> world = Collection([Patent("EP1000000A1", "F1"), Patent("US8930553B2", "F2")])
        >>> links, report = match([Citation("EP 1 000 000 A1", "US-8930553-B2"), Citation("EP1000000A1", "US9999999B2")], world)
        >>> [(link.citing, link.cited) for link in links], report.unknown_cited
        ([('EP1000000A1', 'US8930553B2')], 1)
    """
    if by not in STEPS:
        raise DataError(f"numbers cannot be matched by '{by}'", remedy=f"choose among {', '.join(STEPS)}")
    return _match(citations, _Finder(collection), by, joined)


def match_by_all(citations: Sequence[Citation], collection: Collection) -> dict[str, tuple[list[Citation], MatchReport]]:
    """What :func:`match` gives by each of :data:`STEPS`.

    Example:
        >>> from patent_mteb.patents.collection import Collection
        >>> from patent_mteb.patents.matching import match_by_all
        >>> list(match_by_all([], Collection([])))
        ['number', 'kind', 'family']
    """
    finder = _Finder(collection)
    return {step: _match(citations, finder, step) for step in STEPS}


def _match(citations: Iterable[Citation], finder: _Finder, by: str, joined: bool = True) -> tuple[list[Citation], MatchReport]:
    needs = [0] * (_NOWHERE + 1)
    unknown_citing = unknown_cited = own = matched = 0
    examples: dict[str, None] = {}
    pairs: dict[object, Citation] = {}
    for citation in citations:
        (citing_rank, citing), (cited_rank, cited) = finder.find(citation.citing), finder.find(citation.cited)
        needs[max(citing_rank, cited_rank)] += 1
        if citing is None or citing_rank > _RANK[by]:
            unknown_citing += 1
        elif cited is None or cited_rank > _RANK[by]:
            unknown_cited += 1
            if len(examples) < _EXAMPLES:
                examples[citation.cited] = None
        else:
            matched += 1
            if citing.family_id == cited.family_id:
                own += 1
                continue
            linked = replace(citation, citing=citing.publication_number, cited=cited.publication_number)
            if not joined and cited_rank:
                linked = replace(linked, passages=())
            pair = (linked.citing, linked.cited) if joined else linked
            pairs[pair] = _joined([pairs[pair], linked]) if pair in pairs else linked
    report = MatchReport(
        by=by,
        citations=sum(needs),
        matched=matched,
        unknown_citing=unknown_citing,
        unknown_cited=unknown_cited,
        exact=needs[0],
        through_kind=needs[1],
        through_family=needs[2],
        own_family=own,
        duplicates=matched - own - len(pairs),
        links=len(pairs),
        unreadable=finder.unreadable,
        examples=tuple(examples),
    )
    return list(pairs.values()), report


def _joined(citations: Sequence[Citation]) -> Citation:
    """One citation of a pair: the most relevant, with the claims and passages of all."""
    best = max(citations, key=lambda citation: _relevance(citation.category))
    return replace(
        best,
        claims=tuple(sorted({claim for citation in citations for claim in citation.claims})),
        passages=tuple(dict.fromkeys(passage for citation in citations for passage in citation.passages)),
    )


def _relevance(category: str) -> int:
    """X and Y before A before other letters before none; what is no category counts as another letter, and is refused elsewhere."""
    try:
        return {"xy": 3, "a": 2, "": 1 if category else 0}[degree(category)]
    except ValueError:
        return 1
