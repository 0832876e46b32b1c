"""What all tables of PatenTEB share: simple families, the citations between them, filters, splits and draws (§3)."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from patent_mteb.errors import DataError
from patent_mteb.patents import ipc
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.views import SEPARATOR, join_sections
from patent_mteb.recipes.fragments import Fragments, Role, extract
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.patenteb.params import Params
from patent_mteb.recipes.sampling import random_key

__all__ = ["CLASS", "COUNT", "Family", "Relation", "Row", "World", "domain_relation", "make_world"]

Relation = Literal["IN", "OUT", "FULL_MIX", "PART_MIX"]
Row = dict[str, Any]

CLASS = "first_ipcr3"
COUNT = "first_ipcr3_count"
"""Columns with the dominant IPC3 of a row's family and the number of families that share it."""

SPLITS = ("train", "validation", "test")


def domain_relation(first: frozenset[str], second: frozenset[str]) -> Relation:
    """How two sets of IPC3 codes relate (§3): IN identical, OUT disjoint, FULL_MIX one contains the other, PART_MIX the rest.

    Example:
        >>> from patent_mteb.recipes.patenteb import domain_relation
        >>> water, both = frozenset({"C02"}), frozenset({"C02", "F04"})
        >>> domain_relation(water, both), domain_relation(both, frozenset({"F04", "H01"}))
        ('FULL_MIX', 'PART_MIX')
    """
    if first == second:
        return "IN"
    if not first & second:
        return "OUT"
    return "FULL_MIX" if first < second or second < first else "PART_MIX"


@dataclass(frozen=True)
class Family:
    """A simple family as the tables need it; texts are in lower case."""

    id: str
    title: str
    abstract: Fragments
    claim: str
    ipc3: frozenset[str]
    dominant: str
    codes: frozenset[str]
    inventors: tuple[str, ...]
    filed: dt.date

    def sections(self, without: Sequence[Role] = ()) -> tuple[str, str, str]:
        """Title, abstract without the named roles, first claim."""
        return self.title, self.abstract.text(without), self.claim

    @property
    def text(self) -> str:
        return join_sections(self.sections(), SEPARATOR)


@dataclass(frozen=True)
class World:
    """What all tables share.

    Attributes:
        params: settings of the recipe.
        families: the retained families, by id.
        filtered: these and those of the IPC3 classes that are too small.
        graph: citations between all families, retained or not.
        dated: day from which the citations of a family count, where it is known.
        split: split of each retained family.
        class_sizes: retained families by dominant IPC3.
        log: what was done.
    """

    params: Params
    families: dict[str, Family]
    filtered: dict[str, Family]
    graph: FamilyGraph
    dated: Mapping[str, dt.date]
    split: dict[str, str]
    class_sizes: Counter[str]
    log: BuildLog

    def members(self, split: str) -> list[str]:
        """The retained families of a split."""
        return [family for family in self.families if self.split[family] == split]

    def order(self, items: Iterable[str], purpose: str) -> list[str]:
        """The items in a random order that depends on the seed, the purpose and the items only."""
        return sorted(items, key=lambda item: (random_key(self.params.seed, purpose, item), item))

    def relation(self, first: str, second: str) -> Relation:
        """How the IPC3 codes of two retained families relate."""
        return domain_relation(self.families[first].ipc3, self.families[second].ipc3)

    def class_of(self, family: str) -> Row:
        """The two columns of a row that tell the dominant IPC3 of its family and how many families share it."""
        dominant = self.families[family].dominant
        return {CLASS: dominant, COUNT: self.class_sizes[dominant]}


def _lower(text: str) -> str:
    return " ".join(text.split()).lower()


def _day(date: dt.date | None) -> dt.date:
    return date or dt.date.max


def _first_day(members: Sequence[Patent]) -> dt.date | None:
    """When the citations of a family appear: its first publication, or its filing where no publication date is known."""
    published = [patent.publication_date for patent in members if patent.publication_date]
    filed = [day for patent in members if (day := patent.application_date or patent.priority_date)]
    return min(published or filed, default=None)


def _readable(codes: Iterable[str]) -> list[str]:
    """The distinct codes that reach the class at least, in normal form and in the order given."""
    codes = list(codes)
    unusable = set(ipc.codes_at(codes, "ipc3", errors="skip").unusable)
    return list(dict.fromkeys(ipc.normalise(code) for code in codes if code not in unusable))


def _family(members: Sequence[Patent]) -> Family | str:
    """The family of some publications, or the reason why it cannot be used."""
    members = sorted(members, key=lambda patent: (_day(patent.publication_date), patent.publication_number))
    complete = [patent for patent in members if patent.title.strip() and patent.abstract.strip() and patent.claims]
    filed = [patent.application_date or patent.priority_date for patent in members]
    known = [date for date in filed if date is not None]
    codes = _readable(code for patent in members for code in patent.ipc)
    classes = Counter(map(ipc.ipc3, codes))
    if not complete:
        return "no publication with title, abstract and claims"
    if not known:
        return "no filing date"
    if not classes:
        return "no IPC code"
    text = complete[-1]
    claim = min(text.claims, key=lambda claim: claim.number).text
    fragments = extract(text.abstract)
    return Family(
        id=members[0].family_id,
        title=_lower(text.title),
        abstract=replace(fragments, parts=tuple((role, _lower(words)) for role, words in fragments.parts)),
        claim=_lower(claim),
        ipc3=frozenset(classes),
        dominant=max(classes, key=lambda code: classes[code]),
        codes=frozenset(codes),
        inventors=tuple(dict.fromkeys(name for patent in members for name in patent.inventors)),
        filed=min(known),
    )


def _grouped(patents: Sequence[Patent]) -> dict[str, list[Patent]]:
    groups: dict[str, list[Patent]] = {}
    for patent in sorted(patents, key=lambda patent: (patent.family_id, patent.publication_number)):
        groups.setdefault(patent.family_id, []).append(patent)
    return groups


def _families(groups: Mapping[str, Sequence[Patent]], log: BuildLog) -> dict[str, Family]:
    codes = {code for members in groups.values() for patent in members for code in patent.ipc}
    log.step("IPC codes that can be read", len(codes), len([code for code in codes if _readable([code])]))
    families = {name: _family(members) for name, members in groups.items()}
    reasons = Counter(reason for reason in families.values() if isinstance(reason, str))
    usable = {name: family for name, family in families.items() if isinstance(family, Family)}
    note = ", ".join(f"{count} with {reason}" for reason, count in sorted(reasons.items()))
    log.step("usable families", len(groups), len(usable), note)
    return usable


def _splits(families: Mapping[str, Family], params: Params) -> dict[str, str]:
    """Split of every family, stratified by dominant IPC3; the rest of a rounding goes to train."""
    classes: dict[str, list[str]] = defaultdict(list)
    for name in families:
        classes[families[name].dominant].append(name)
    split: dict[str, str] = {}
    for members in classes.values():
        members.sort(key=lambda name: (random_key(params.seed, "split", name), name))
        test, validation = (round(len(members) * share) for share in (params.split[2], params.split[1]))
        for rank, name in enumerate(members):
            split[name] = SPLITS[2 if rank < test else 1 if rank < test + validation else 0]
    return split


def _graph(patents: Sequence[Patent], citations: Sequence[Citation], log: BuildLog) -> FamilyGraph:
    graph = family_graph(citations, {patent.publication_number: patent.family_id for patent in patents})
    log.step(
        "citations between families",
        len(citations),
        graph.n_edges,
        f"{graph.n_unknown} name an unknown publication, {graph.n_self} families cite themselves",
    )
    return graph


def _passing(
    usable: Mapping[str, Family], groups: Mapping[str, Sequence[Patent]], graph: FamilyGraph, params: Params, log: BuildLog
) -> dict[str, Family]:
    """The families that pass the filters of §3, one after the other."""
    filters: tuple[tuple[str, Callable[[Family], bool]], ...] = (
        (f"filed in {params.min_year} or later", lambda family: family.filed.year >= params.min_year),
        (f"at most {params.max_family_size} publications", lambda family: len(groups[family.id]) <= params.max_family_size),
        (f"at most {params.max_words} words", lambda family: len(family.text.split()) <= params.max_words),
        (f"cited by {params.min_cited_by} families", lambda family: len(graph.cited_by.get(family.id, ())) >= params.min_cited_by),
    )
    families = dict(usable)
    for name, keep in filters:
        kept = {key: family for key, family in families.items() if keep(family)}
        log.step(name, len(families), len(kept))
        families = kept
    return families


def make_world(patents: Sequence[Patent], citations: Sequence[Citation], params: Params, log: BuildLog) -> World:
    """Families, graph, filters and splits of some records.

    Raises:
        DataError: no family passes the filters.

    Example:
        >>> from patent_mteb import recipes, sample
        >>> from patent_mteb.recipes.patenteb import SAMPLE
        >>> from patent_mteb.recipes.patenteb.world import make_world
        >>> made = make_world(*sample.generate(), SAMPLE, recipes.BuildLog("PatenTEB"))
        >>> len(made.families) == sum(len(made.members(split)) for split in ("train", "validation", "test"))
        True
    """
    groups = _grouped(patents)
    log.step("publications into families", len(patents), len(groups))
    graph = _graph(patents, citations, log)
    usable = _families(groups, log)
    dated = {name: day for name, members in groups.items() if (day := _first_day(members)) is not None}
    filtered = _passing(usable, groups, graph, params, log)
    sizes = Counter(family.dominant for family in filtered.values())
    families = {name: family for name, family in filtered.items() if sizes[family.dominant] >= params.min_class_families}
    sizes = Counter(family.dominant for family in families.values())
    log.step(f"IPC3 classes of at least {params.min_class_families} families", len(filtered), len(families), f"{len(sizes)} classes")
    if not families:
        raise DataError("no family passes PatenTEB's filters", remedy="give more patents, or lower the bounds (patenteb.Params)")
    split = _splits(families, params)
    counts = Counter(split.values())
    log.step("split", len(families), len(families), ", ".join(f"{name} {counts[name]}" for name in SPLITS))
    return World(params, families, filtered, graph, dated, split, sizes, log)
