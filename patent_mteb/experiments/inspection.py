"""What is in some records, and what can be made of them, before anything is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from patent_mteb.experiments.dry_builds import Plan, connected_part, plans
from patent_mteb.patents.categories import degree
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.matching import STEPS, MatchReport, match_by_all
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.twins import twin_groups
from patent_mteb.recipes.needs import FIELDS

__all__ = ["EXACT_UP_TO", "Has", "Inspection", "Landscape", "Twins", "best_step", "inspect", "letters", "summary"]

EXACT_UP_TO = 3_000
"""Publications up to which benchmarks are tried on all; on more, on a connected part of so many."""

_DATES = ("application_date", "priority_date", "publication_date")


@dataclass(frozen=True)
class Has:
    """How many publications have something, and how many families of which at least one has."""

    what: str
    publications: int
    families: int


@dataclass(frozen=True)
class Landscape:
    """The labels of one landscape: publications with some, different coarse and fine labels."""

    name: str
    publications: int
    coarse: int
    fine: int


@dataclass(frozen=True)
class Twins:
    """Publications of different families with the same title and abstract: groups, publications and families in them, and how many of the
    families' citations a twin takes part in as the citing one."""

    groups: int
    publications: int
    families: int
    citing: int


@dataclass(frozen=True)
class Inspection:
    """What :func:`inspect` found.

    Attributes:
        family_definition: what a patent family is here.
        unreadable: publication numbers of records that are no patent numbers; they match only if written the same.
        dates: first and last day of each date.
        offices: publications by office, the most first.
        languages: publications by language of abstract, else title (``""``: not said), the most first.
        letters: citations by category letter as a search report gives it (``""``: none), the most first.
        matching: what matching by each step finds.
        step: the first step than which none links more.
        tried_on: publications on which the benchmarks were tried.
    """

    publications: int
    families: int
    family_definition: str
    citations: int
    relations: int
    members_without_record: int
    unreadable: int
    has: tuple[Has, ...]
    dates: Mapping[str, tuple[str, str]]
    offices: Mapping[str, int]
    languages: Mapping[str, int]
    landscapes: tuple[Landscape, ...]
    letters: Mapping[str, int]
    twins: Twins
    matching: Mapping[str, MatchReport]
    step: str
    plans: tuple[Plan, ...] = ()
    tried_on: int = 0

    def as_json(self) -> dict[str, Any]:
        """The same as plain values; what is computed of a plan or a task is there too."""
        document = asdict(self)
        for written, plan in zip(document["plans"], self.plans, strict=True):
            written |= {"possible": plan.possible, "queries": plan.queries, "few": plan.few}
            written["tasks"] = [{**asdict(task), "queries": task.queries} for task in plan.tasks]
        return document


def letters(citations: Sequence[Citation]) -> dict[str, int]:
    """Citations by what their category says: ``X``, ``Y``, ``A`` (the first of these that is in it), ``other``, or ``""`` without one.

    Example:
        >>> from patent_mteb.experiments.inspection import letters
        >>> from patent_mteb.patents.records import Citation
        >>> letters([Citation("a", "b", "XD"), Citation("a", "c", "A"), Citation("a", "d")])
        {'X': 1, 'A': 1, '': 1}
    """
    return dict(Counter(_letter(citation.category) for citation in citations).most_common())


def _letter(category: str) -> str:
    if not category.strip():
        return ""
    try:
        meaning = degree(category)
    except ValueError:
        return "other"
    if meaning == "xy":
        return "Y" if "Y" in category.upper() and "X" not in category.upper() else "X"
    return "A" if meaning == "a" else "other"


def best_step(matching: Mapping[str, MatchReport]) -> str:
    """The first step than which none links more.

    Example:
        >>> from patent_mteb.experiments.inspection import best_step
        >>> from patent_mteb.patents.collection import Collection
        >>> from patent_mteb.patents.matching import STEPS, match
        >>> best_step({step: match([], Collection([]), step)[1] for step in STEPS})
        'number'
    """
    return max(STEPS, key=lambda step: (matching[step].links, -list(STEPS).index(step)))


def _has(patents: Sequence[Patent]) -> tuple[Has, ...]:
    found = []
    for name, predicate in FIELDS.items():
        having = [patent.family_id for patent in patents if predicate(patent)]
        found.append(Has(name, len(having), len(set(having))))
    coded = [patent.family_id for patent in patents if patent.cpc]
    return (*found, Has("cpc", len(coded), len(set(coded))))


def _landscapes(patents: Sequence[Patent]) -> tuple[Landscape, ...]:
    names = dict.fromkeys(label.landscape for patent in patents for label in patent.labels)
    found = []
    for name in names:
        rows = [[label for label in patent.labels if label.landscape == name] for patent in patents]
        coarse = {label.coarse for row in rows for label in row}
        fine = {(label.coarse, label.fine) for row in rows for label in row if label.fine}
        found.append(Landscape(name, sum(map(bool, rows)), len(coarse), len(fine)))
    return tuple(found)


def _dates(patents: Sequence[Patent]) -> dict[str, tuple[str, str]]:
    days = {name: [day for patent in patents if (day := getattr(patent, name))] for name in _DATES}
    return {name: (min(there).isoformat(), max(there).isoformat()) for name, there in days.items() if there}


def _twins(patents: Sequence[Patent], links: Sequence[Citation]) -> Twins:
    groups = twin_groups(patents)
    families = {patent.family_id for group in groups for patent in group}
    family_of = {patent.publication_number: patent.family_id for patent in patents}
    citing = {family_of[link.citing] for link in links}
    return Twins(len(groups), sum(map(len, groups)), len(families), len(families & citing))


def summary(collection: Collection) -> Inspection:
    """What is in the records; no benchmark is tried.

    Example:
        >>> from patent_mteb.experiments.inspection import summary
        >>> from patent_mteb.patents.collection import Collection
        >>> from patent_mteb.patents.records import Citation, Patent
        >>> patents = [Patent("EP1000000A1", "F1", "Pump"), Patent("US8930553B2", "F2")]
        >>> found = summary(Collection(patents, [Citation("EP1000000B1", "US8930553B2")]))
        >>> found.has[0], found.matching["number"].links, found.matching["kind"].links, found.step
        (Has(what='title', publications=1, families=1), 0, 1, 'kind')
    """
    return _summary(collection)[0]


def _summary(collection: Collection) -> tuple[Inspection, Sequence[Citation]]:
    """What is in the records, and their citations as the best step matches them."""
    patents = collection.patents
    matched = match_by_all(collection.citations, collection)
    step = best_step({name: report for name, (_, report) in matched.items()})
    records = {patent.publication_number for patent in patents}
    spoken = Counter(patent.languages.abstract or patent.languages.title for patent in patents)
    found = Inspection(
        publications=len(patents),
        families=len({patent.family_id for patent in patents}),
        family_definition=collection.family_definition,
        citations=len(collection.citations),
        relations=len(collection.relations),
        members_without_record=sum(number not in records for number in collection.families),
        unreadable=sum(read_number(number) is None for number in records),
        has=_has(patents),
        dates=_dates(patents),
        offices=dict(Counter(patent.jurisdiction for patent in patents).most_common()),
        languages=dict(spoken.most_common()),
        landscapes=_landscapes(patents),
        letters=letters(collection.citations),
        twins=_twins(patents, matched[step][0]),
        matching={name: report for name, (_, report) in matched.items()},
        step=step,
    )
    return found, matched[step][0]


def inspect(collection: Collection, most: int = EXACT_UP_TO) -> Inspection:
    """What is in the records, and which benchmarks and tasks they make with which settings.

    Citations are matched by :attr:`Inspection.step`, which is a setting as well.

    Args:
        most: publications on which the benchmarks are tried; of more, a connected part is taken, and the numbers are those of the part.

    Example:
        >>> from patent_mteb.experiments.inspection import inspect
        >>> from patent_mteb.patents.collection import Collection
        >>> from patent_mteb.patents.records import Patent
        >>> found = inspect(Collection([Patent("US1B2", "F1", "Pump", "A pump."), Patent("US2B2", "F2")]))
        >>> found.tried_on, [plan.possible for plan in found.plans]
        (2, [False, False, False, False, False])
    """
    found, links = _summary(collection)
    part = connected_part(collection.patents, links, most)
    return replace(found, plans=tuple(plans(part, links)), tried_on=len(part))
