"""Plan the families of the sample: field, problem, principle, labels, members and citations.

A family solves a problem of its field by a principle. Families with the same problem cite each other, preferably those
with the same principle (in-domain citations). Families of other fields are cited for the principle alone (cross-domain
citations). Other problems of the field and other uses of the principle are distractors with the same vocabulary.

A label names the device, the problem, or the function for people. The first two follow from field and problem, which
all texts mention, so a classifier finds them nearly always. The third is ambiguous, as in a real taxonomy: if a
principle serves the aids of another category, the family gets a label of that category in half of the cases. All texts
mention the principle, so no classifier of texts can predict all of these labels.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from patent_mteb.patents.records import Citation, Label
from sample_generator.offices import OFFICES, REGIONS
from sample_generator.random_choice import RandomGenerator
from sample_generator.vocabulary import Field, Principle, Problem, Vocabulary

SECOND_CATEGORY = 0.5  # probability of a label in the category that a principle of the family serves


def by_subject(
    family_field: Field, problem: Problem, also: Problem | None, also_field: Field, rng: RandomGenerator
) -> tuple[Label, ...]:
    """Return the labels of the field, the problem and the second problem in both landscapes.

    The labels of the coarse category of the field are always in the majority.
    """
    if not family_field.conventional or rng.chance(0.01):
        return ()
    modern = bool(family_field.emerging) and rng.chance(0.72 if problem.emerging else 0.5)
    classic = not modern or rng.chance(0.4)
    labels: list[Label] = []

    def add(landscape: str, coarse: str, fine: str) -> None:
        label = Label(landscape, coarse, fine)
        if fine and label not in labels:
            labels.append(label)

    for landscape, used, names, problem_fine in (
        ("Conventional", classic, family_field.conventional, problem.fine),
        ("Emerging", modern, family_field.emerging, problem.emerging),
    ):
        if used:
            coarse, fine = names
            add(landscape, coarse, fine)
            add(landscape, coarse, problem_fine)
    if also is not None and (also_field.coarse == family_field.coarse or len(labels) > 1):
        if classic:
            add("Conventional", also_field.coarse, also.fine)
        elif also_field.emerging:
            add("Emerging", also_field.coarse, also.emerging)
    return tuple(labels)


def by_function(
    labels: Sequence[Label], principles: Sequence[Principle], fields: Sequence[Field], rng: RandomGenerator
) -> tuple[Label, ...]:
    """Add labels of the categories that the principles serve, for half of the principles."""
    found = list(labels)
    for principle in principles:
        if not rng.chance(SECOND_CATEGORY) or not principle.serves or not labels:
            continue
        its_fields = [field for field in fields if principle.id in field.principles]
        for landscape in dict.fromkeys(label.landscape for label in labels):
            pairs = (field.emerging if landscape == "Emerging" else field.conventional for field in its_fields)
            fine = next((fine for coarse, fine in filter(None, pairs) if coarse == principle.serves), "")
            counts, first = Counter(label.coarse for label in found), labels[0].coarse
            if fine and principle.serves != first and counts[first] > counts[principle.serves] + 1:
                found.append(Label(landscape, principle.serves, fine))
    return tuple(dict.fromkeys(found))


FIRST_PRIORITY = dt.date(2003, 8, 15)
LAST_PRIORITY = dt.date(2024, 5, 31)
FIRST_PUBLICATION = dt.date(2005, 1, 1)
LAST_PUBLICATION = dt.date(2025, 12, 31)
CITING_FAMILIES = 0.86  # share of families that cite, among those with citable prior art

CROSS_DOMAIN = 0.24  # share of citations that leave the domain

SHARED_CLASS = 0.1  # share of the families of other domains that are citable although they share an IPC class


@dataclass(frozen=True)
class Member:
    """One publication of a family. ``variant`` 0 has the text of the family, others a rewording."""

    office: str
    kind: str
    application: dt.date
    publication: dt.date
    variant: int


@dataclass(frozen=True)
class Family:
    """One invention."""

    index: int
    field: Field
    problem: Problem
    also: Problem | None
    principle: Principle
    auxiliary: Principle
    voice: int
    priority: dt.date
    members: tuple[Member, ...]
    labels: tuple[Label, ...]
    ipc: tuple[str, ...]
    applicant: str
    style_seed: int
    inventors: tuple[str, ...]
    attraction: float
    bloom: str

    @property
    def key(self) -> str:
        return f"{52_000_000 + 37 * self.index}"

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(code[:3] for code in self.ipc)

    @cached_property
    def disclosed(self) -> dt.date:
        """Date of the first publication."""
        return min(member.publication for member in self.members)


@dataclass(frozen=True)
class Cited:
    """A citation between families."""

    family: Family
    category: str
    origin: str


def _after(day: dt.date, months: int, rng: RandomGenerator) -> dt.date:
    return day + dt.timedelta(days=round(30.44 * months) + rng.number(-12, 12))


def _member(
    office: str, priority: dt.date, first: bool, taken: Set[tuple[str, str]], rng: RandomGenerator
) -> Member | None:
    """A publication of a family, None if it exists or would be published outside the years of the sample."""
    kinds = [kind for kind in OFFICES[office].kinds if (office, kind[0]) not in taken]
    if not kinds:
        return None
    kind, _, granted = rng.weighted(kinds, [kind[1] for kind in kinds])
    application = priority if first and rng.chance(0.6) else _after(priority, rng.number(6, 11), rng)

    def published(months: int) -> dt.date:
        return _after(application, months, rng)

    if granted:
        publication = published(rng.number(26, 48))
    elif kind.startswith("U"):
        publication = published(rng.number(6, 11))
    else:
        publication = max(_after(priority, 18, rng), published(rng.number(6, 14)))
    if not FIRST_PUBLICATION <= publication <= LAST_PUBLICATION:
        if not first:
            return None
        kind, publication = OFFICES[office].kinds[0][0], _after(priority, 18, rng)
    variant = 0 if first or rng.chance(0.3 if granted else 0.6) else rng.number(1, 9)
    return Member(office, kind, application, publication, variant)


def _members(region_name: str, priority: dt.date, rng: RandomGenerator) -> tuple[Member, ...]:
    region = REGIONS[region_name]
    office = rng.weighted([*region.first], [*region.first.values()])
    wanted = 1 + (rng.weighted((1, 2, 3, 4), (0.62, 0.23, 0.11, 0.04)) if rng.chance(region.multiple) else 0)
    offices = [office, *rng.distinct([*region.further], [*region.further.values()], wanted - 1)]
    members: dict[tuple[str, str], Member] = {}
    for position, name in enumerate(offices):
        if member := _member(name, priority, position == 0, members.keys(), rng):
            members[member.office, member.kind] = member
    return tuple(members.values())


@dataclass
class _Firm:
    name: str
    style_seed: int
    people: tuple[str, ...]
    families: int = 0


@dataclass
class _Register:
    """Applicants and their inventors. Applicants of small regions are active in a whole coarse category."""

    vocabulary: Vocabulary
    firms: dict[tuple[str, str], list[_Firm]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, list[str]] = field(default_factory=dict)
    people: dict[str, list[str]] = field(default_factory=dict)

    def _next(self, store: dict[str, list[str]], region: str, first: str, second: str, pattern: str) -> str:
        if not store.get(region):
            words = self.vocabulary.names[region]
            pairs = [pattern.format(a, b) for a in words[first] for b in words[second]]
            store[region] = RandomGenerator(f"names/{region}/{first}").shuffled(pairs)
        return store[region].pop()

    def firm(self, region: str, family_field: Field, rng: RandomGenerator) -> _Firm:
        pool = self.firms[region, family_field.id if region in ("CN", "EN") else family_field.coarse]
        open_firms = [firm for firm in pool if firm.families < 10]
        if not open_firms:
            name = self._next(self.names, region, "stem", "suffix", "{} {}")
            people = tuple(self._next(self.people, region, "family", "given", "{}, {}") for _ in range(3))
            open_firms = [_Firm(name, rng.number(0, 1000), people)]
            pool.append(open_firms[0])
        firm = rng.pick(open_firms)
        firm.families += 1
        return firm


def _codes(family_field: Field, problem: Problem, also: Problem | None, rng: RandomGenerator) -> tuple[str, ...]:
    """The codes of the problem; half of the families have another code of a field or problem, or fewer."""
    codes = list(problem.ipc)
    if rng.chance(0.3):
        codes.append(rng.pick(family_field.extra))
    elif rng.chance(0.15) and also is not None:
        codes.extend(code for code in also.ipc[:1] if code not in codes)
    elif rng.chance(0.15) and len(codes) > 1:
        codes.pop()
    return tuple(codes)


def _second_problem(
    vocabulary: Vocabulary, family_field: Field, problem: Problem, rng: RandomGenerator
) -> tuple[Problem | None, Field]:
    if not rng.chance(0.3):
        return None, family_field
    near = [f for f in vocabulary.fields if f.coarse == family_field.coarse] if family_field.coarse else [family_field]
    labelled = [f for f in vocabulary.fields if f.coarse]
    other = rng.pick(near) if rng.chance(0.75) or not family_field.coarse else rng.pick(labelled)
    choices = [candidate for candidate in other.problems if candidate is not problem]
    return rng.pick(choices), other


def plan(vocabulary: Vocabulary, seed: str) -> list[Family]:
    """Return all families in the order of their priority dates, without texts."""
    rng = RandomGenerator(f"{seed}/plan")
    regions = rng.shuffled([name for name, region in REGIONS.items() for _ in range(region.families)])
    span = (LAST_PRIORITY - FIRST_PRIORITY).days
    days = sorted(max(rng.number(0, span), rng.number(0, span) if rng.chance(0.25) else 0) for _ in regions)
    neighbourhoods = [(f, position) for f in vocabulary.fields for position in range(len(f.problems))]
    deals: list[tuple[Field, int]] = []
    while len(deals) < len(regions):
        deals.extend(rng.shuffled(neighbourhoods))
    register = _Register(vocabulary)
    families = []
    for index, (region, day, (family_field, position)) in enumerate(zip(regions, days, deals, strict=False)):
        family_rng, function = RandomGenerator(f"{seed}/family/{index}"), RandomGenerator(f"{seed}/function/{index}")
        problem = family_field.problems[position]
        usual = [family_field.principles[(3 * position + step) % 8] for step in range(5)]
        principle_id = family_rng.weighted(usual, (4, 3, 2, 1, 0.6))
        auxiliary_id = family_rng.pick([name for name in family_field.principles if name != principle_id])
        principle, auxiliary = vocabulary.principles[principle_id], vocabulary.principles[auxiliary_id]
        also, also_field = _second_problem(vocabulary, family_field, problem, family_rng)
        priority = FIRST_PRIORITY + dt.timedelta(days=day)
        firm = register.firm(region, family_field, family_rng)
        team = family_rng.distinct(firm.people, (3, 1.6, 1.2), family_rng.weighted((1, 2, 3), (0.3, 0.45, 0.25)))
        leaning = {"early": (0.24, 0.03), "late": (0.03, 0.24)}.get(principle.bloom, (0.06, 0.06))
        voice = family_field.voice if family_rng.chance(0.85) else family_rng.number(0, 2)
        members = _members(region, priority, family_rng)
        labels = by_subject(family_field, problem, also, also_field, family_rng)
        family = Family(
            index=index,
            field=family_field,
            problem=problem,
            also=also,
            principle=principle,
            auxiliary=auxiliary,
            voice=voice,
            priority=priority,
            members=members,
            labels=by_function(labels, (principle, auxiliary), vocabulary.fields, function),
            ipc=_codes(family_field, problem, also, family_rng),
            applicant=firm.name,
            style_seed=firm.style_seed,
            inventors=tuple(team),
            attraction=family_rng.pick((0.3, 0.5, 0.7, 1.0, 1.0, 1.4, 2.0, 3.5, 7.0)),
            bloom=family_rng.weighted(("early", "late", "normal"), (*leaning, 1 - sum(leaning))),
        )
        families.append(family)
    return families


def _timing(cited: Family, citing: Family) -> float:
    """Weight of a citation by the age of the cited family."""
    years = (citing.priority - cited.priority).days / 365.25
    if cited.bloom == "early":
        return 5.0 if years < 4.5 else 0.3
    if cited.bloom == "late":
        return 0.0 if years < 5.5 else 5.0
    return 1.0 if years < 10 else 0.5


def _closeness(cited: Family, citing: Family) -> float:
    """Weight of an in-domain citation. Applicants know their own patents best."""
    known = 3.0 if cited.applicant == citing.applicant else 1.0
    same_principle = cited.principle is citing.principle
    if cited.problem is citing.problem:
        if same_principle:
            return 40.0 * known
        return known * (4.0 if citing.auxiliary is cited.principle else 1.5)
    return known * (0.4 if same_principle else 0.03)


def _likeness(cited: Family, citing: Family) -> float:
    """Weight of a cross-domain citation. Families that describe the principle in the same way cite each other more."""
    return (4.0 if cited.voice == citing.voice else 1.0) * (5.0 if cited.auxiliary is citing.auxiliary else 1.0)


def cite(families: list[Family], seed: str) -> dict[int, list[Cited]]:
    """Return the citations of each citing family, by its index. Cited families are published before its priority."""
    by_field: dict[str, list[Family]] = defaultdict(list)
    by_principle: dict[str, list[Family]] = defaultdict(list)
    for family in families:
        by_field[family.field.id].append(family)
        by_principle[family.principle.id].append(family)
    citations: dict[int, list[Cited]] = {}
    for family in families:
        rng = RandomGenerator(f"{seed}/cites/{family.index}")
        if not rng.chance(CITING_FAMILIES):
            continue
        near = [other for other in by_field[family.field.id] if other.disclosed < family.priority]
        far = [
            other
            for other in by_principle[family.principle.id]
            if other.disclosed < family.priority
            and other.field.coarse != family.field.coarse
            and (other.classes.isdisjoint(family.classes) or rng.chance(SHARED_CLASS))
        ]
        wanted = rng.pick((1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 9))
        crossing = sum(rng.chance(CROSS_DOMAIN) for _ in range(wanted))

        def draws(other: Family, citing: Family = family) -> float:
            return other.attraction * _timing(other, citing)

        chosen = rng.distinct(near, [_closeness(other, family) * draws(other) for other in near], wanted - crossing)
        chosen += rng.distinct(far, [_likeness(other, family) * draws(other) for other in far], crossing)
        if chosen:
            citations[family.index] = [_judged(family, other, rng) for other in chosen]
    return citations


def _judged(citing: Family, cited: Family, rng: RandomGenerator) -> Cited:
    """Draw category and origin of a citation. Closer inventions get stronger categories."""
    origin = rng.weighted(("examiner", "applicant", ""), (0.68, 0.28, 0.04))
    shares = (0.1, 0.5, 0.4)
    if cited.problem is citing.problem:
        shares = (0.6, 0.25, 0.15) if cited.principle is citing.principle else (0.12, 0.33, 0.55)
    category = rng.weighted(("X", "Y", "A"), shares)
    unknown = 0.25 if origin == "applicant" else 0.03
    return Cited(cited, "" if rng.chance(unknown) else category, origin)


def edges(
    families: list[Family], citations: dict[int, list[Cited]], numbers: dict[tuple[int, int], str], seed: str
) -> list[Citation]:
    """Return the citations between publications.

    The first member of a family cites nearly all of its prior art, the others some of it. ``numbers`` are publication
    numbers by (family index, position of the member).
    """
    reported: dict[tuple[str, str], Citation] = {}
    for family in families:
        rng = RandomGenerator(f"{seed}/edges/{family.index}")
        for position, member in enumerate(family.members):
            if position and not rng.chance(0.55):
                continue
            for cited in citations.get(family.index, ()):
                if not rng.chance(0.55 if position else 0.95):
                    continue
                known = [
                    numbers[cited.family.index, place]
                    for place, other in enumerate(cited.family.members)
                    if other.publication < member.publication
                ]
                named = known if rng.chance(0.3) else [known[0] if rng.chance(0.6) else rng.pick(known)]
                for number in named:
                    citing = numbers[family.index, position]
                    reported.setdefault((citing, number), Citation(citing, number, cited.category, cited.origin))
    return [reported[key] for key in sorted(reported)]
