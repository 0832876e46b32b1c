"""Recipe of PatenTEB (Ayaou and Cavallucci 2025, §3): canonical records in, the 15 published tables out.

Written below the root as ``datalyes/<task>/test/data.parquet``, and ``train/data.parquet`` for the three classification sets,
with exactly the published columns (:data:`COLUMNS`). Ids are family ids.

**Families.** The unit is the simple family, put together as in DAPFAM (to which §3 refers): texts come from one publication,
the latest that has title, abstract and claims; codes and inventors are merged over all members in order of publication; the
earliest application date counts as filing date. The text is title, abstract, first claim (the lowest number), each in lower
case, joined by ``" [SEP] "``. The abstract goes in without its section markers (:mod:`patent_mteb.recipes.fragments`), as
published.

**Readings**, where the paper gives no rule or two:

* The dominant IPC3 is the one with most distinct codes of the family; the first listed wins a tie. ``first_ipcr3_count`` is
  the number of families retained in that class.
* The splits are drawn by family, and every pair lies in one split as a whole: no family of the test rows occurs in training.
* The citation graph is used in both directions (the published ``pos_link_type`` is ``CITES`` or ``CITED_BY``). A hard negative
  is linked neither to the query nor to the positive; within its domain category it is drawn at random. A MIXED query without
  any PART_MIX candidate (always so for a query with a single IPC3) takes a FULL_MIX one; a row for which there is no candidate at
  all is left out and counted.
* A title is removed from its target by leaving the title section out *and* wherever its words stand in the rest; a target that
  would be empty is left out and counted.
* Bloom: a citation counts from the publication date of the citing family (filing date where that is unknown). The top decile
  of a class are the families that reach the value of rank ceil(n/10), if it is above zero; the bottom decile likewise from
  below. Early takes precedence over late. Of the rest, as many are kept as the larger of early and late has, per split.
* Old/new: each link gives one row, turned one way or the other at random; links in both directions are left out. ``newer`` says
  that the query cites the target.
* Clusters draw on all families that pass the filters, of any split and class (the published sets are larger than the test
  split). A family with inventors of several clusters goes with the one it names first.

Every draw depends on the seed and the ids only, not on the order of the input: the same records give the same bytes.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import write_parquet
from patent_mteb.patents import ipc
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes import BuildLog
from patent_mteb.recipes.fragments import Fragments, Role, extract, remove_fragment

logger = logging.getLogger(__name__)

__all__ = ["COLUMNS", "SAMPLE", "Params", "build", "domain_relation"]

Relation = Literal["IN", "OUT", "FULL_MIX", "PART_MIX"]
Row = dict[str, Any]
SEPARATOR = " [SEP] "


@dataclass(frozen=True)
class Params:
    """Bounds of the recipe; the defaults are the paper's unless marked "ours".

    Attributes:
        seed: seed of every draw (Table 3).
        min_year: earliest filing year of a family.
        min_cited_by: least number of citing families (§8.3).
        max_family_size: most publications of a family; ours, the paper says "manageable".
        max_words: most words of a text; the paper's 8,192 are tokens of an unnamed tokenizer, which are never fewer.
        min_class_families: least number of families with the same dominant IPC3.
        split: shares of train, validation and test.
        max_positives: most positives of a query.
        max_retrieval_rows: most rows of a symmetric retrieval set ("roughly 15,000"); whole queries are left out.
        max_train_rows: most training rows of a classification set, before the released share is taken.
        released_train: share of the training rows that is released.
        cutoff: last day whose citations are known.
        early_years: years after filing that count as early.
        decile: share of a class that counts as top, and as bottom.
        positive_share: share of positives in the paraphrase sets.
        max_paraphrase_rows: most rows of a paraphrase set (Table 1).
        ipc_clusters: least and greatest size of a cluster by IPC list.
        inventor_clusters: least and greatest size of a cluster by inventor.
    """

    seed: int = 42
    min_year: int = 1980
    min_cited_by: int = 1
    max_family_size: int = 100
    max_words: int = 8192
    min_class_families: int = 100
    split: tuple[float, float, float] = (0.8, 0.1, 0.1)
    max_positives: int = 100
    max_retrieval_rows: int = 16_000
    max_train_rows: int = 150_000
    released_train: float = 0.2
    cutoff: dt.date = dt.date(2023, 6, 20)
    early_years: int = 5
    decile: float = 0.1
    positive_share: float = 0.14
    max_paraphrase_rows: int = 18_750
    ipc_clusters: tuple[int, int] = (200, 1000)
    inventor_clusters: tuple[int, int] = (100, 1000)


SAMPLE = replace(
    Params(),
    min_cited_by=0,
    min_class_families=8,
    split=(0.3, 0.1, 0.6),
    released_train=0.8,
    ipc_clusters=(3, 100),
    inventor_clusters=(3, 100),
)
"""Bounds for a world of about a thousand families: lower minima, and most families in the one split that is evaluated."""

_TRIPLET = ("q", "neg", "pos", "pos_link_type", "neg_computed_domain", "objective", "q_text", "pos_text", "neg_text")
_CLASS = "first_ipcr3"
_COUNT = "first_ipcr3_count"
_PAIR = (_CLASS, "label", "q", "t", "text1", "text2", _COUNT)

COLUMNS: dict[str, tuple[str, ...]] = {
    "retrieval_IN": _TRIPLET,
    "retrieval_MIXED": _TRIPLET,
    "retrieval_OUT": _TRIPLET,
    "title2full": (_CLASS, "q", "title", "full_text", _COUNT),
    "problem2full": (_CLASS, "q", "problem", "full_text", _COUNT),
    "problem2solution": (_CLASS, "q", "problem", "solution", _COUNT),
    "effect2full": ("q", "effect", "full_text"),
    "effect2substance": ("q", "effect", "substance"),
    "class_text2ipc3": (_CLASS, "label", "q", "text", _COUNT),
    "class_bloom": ("q", "text", "label"),
    "class_nli_oldnew": (_CLASS, "label", "q", "t", "q_text", "t_text", _COUNT),
    "para_problem": _PAIR,
    "para_solution": _PAIR,
    "clusters_ext_full_ipc": ("q", "text", "cluster_id"),
    "clusters_inventor": ("q", "text", "cluster_id"),
}
"""Columns of the published tables, by repository below ``datalyes/``."""

_SPLITS = ("train", "validation", "test")
_RELEASED_TRAIN = ("class_text2ipc3", "class_bloom", "class_nli_oldnew")
_OBJECTIVES: dict[str, tuple[frozenset[Relation], tuple[frozenset[Relation], ...]]] = {
    "IN": (frozenset({"IN"}), (frozenset({"FULL_MIX", "PART_MIX"}),)),
    "MIXED": (frozenset({"FULL_MIX", "PART_MIX"}), (frozenset({"PART_MIX"}), frozenset({"FULL_MIX"}))),
    "OUT": (frozenset({"OUT"}), (frozenset({"OUT"}),)),
}
"""Objective -> relations of its positives, relations of its negatives in order of preference (§3, hard negative mining)."""
_DRAWS = 64


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
        return self.title, self.abstract.text(without), self.claim

    @property
    def text(self) -> str:
        return _joined(self.sections())


@dataclass(frozen=True)
class World:
    """What all tasks share: the retained families, the citation graph between all families, splits and class sizes."""

    params: Params
    families: dict[str, Family]
    filtered: dict[str, Family]
    cites: Mapping[str, frozenset[str]]
    cited_by: Mapping[str, frozenset[str]]
    dated: Mapping[str, dt.date]
    split: dict[str, str]
    class_sizes: Counter[str]
    log: BuildLog

    def linked(self, family: str) -> frozenset[str]:
        """Families that cite the family or are cited by it."""
        return self.cites.get(family, frozenset()) | self.cited_by.get(family, frozenset())

    def members(self, split: str) -> list[str]:
        return [family for family in self.families if self.split[family] == split]

    def order(self, items: Iterable[str], purpose: str) -> list[str]:
        """The items in a random order that depends on the seed, the purpose and the items only."""
        return sorted(items, key=lambda item: (_draw(self.params.seed, purpose, item), item))

    def class_of(self, family: str) -> Row:
        dominant = self.families[family].dominant
        return {_CLASS: dominant, _COUNT: self.class_sizes[dominant]}


def domain_relation(first: frozenset[str], second: frozenset[str]) -> Relation:
    """How two sets of IPC3 codes relate (§3): IN identical, OUT disjoint, FULL_MIX one contains the other, PART_MIX the rest."""
    if first == second:
        return "IN"
    if not first & second:
        return "OUT"
    return "FULL_MIX" if first < second or second < first else "PART_MIX"


def _draw(seed: int, *parts: str) -> int:
    digest = hashlib.blake2b("\0".join((str(seed), *parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _lower(text: str) -> str:
    return " ".join(text.split()).lower()


def _joined(sections: Iterable[str]) -> str:
    return SEPARATOR.join(section for section in sections if section)


# --- families and their graph -------------------------------------------------------------------------------------------


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
        abstract=replace(fragments, parts=tuple((role, _lower(part)) for role, part in fragments.parts)),
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
    made = {family: _family(members) for family, members in groups.items()}
    reasons = Counter(family for family in made.values() if isinstance(family, str))
    usable = {name: family for name, family in made.items() if isinstance(family, Family)}
    note = ", ".join(f"{count} with {reason}" for reason, count in sorted(reasons.items()))
    log.step("usable families", len(groups), len(usable), note)
    return usable


def _links(patents: Sequence[Patent], citations: Sequence[Citation], log: BuildLog) -> set[tuple[str, str]]:
    family = {patent.publication_number: patent.family_id for patent in patents}
    known = [edge for edge in citations if edge.citing in family and edge.cited in family]
    links = {(family[edge.citing], family[edge.cited]) for edge in known}
    between = {(citing, cited) for citing, cited in links if citing != cited}
    log.step(
        "citations between families",
        len(citations),
        len(between),
        f"{len(citations) - len(known)} name an unknown publication, {len(links) - len(between)} families cite themselves",
    )
    return between


def _neighbours(links: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for source, target in links:
        found[source].add(target)
    return {source: frozenset(targets) for source, targets in found.items()}


def _splits(families: Mapping[str, Family], params: Params) -> dict[str, str]:
    """Split of every family, stratified by dominant IPC3; the rest of a rounding goes to train."""
    classes: dict[str, list[str]] = defaultdict(list)
    for name in families:
        classes[families[name].dominant].append(name)
    split: dict[str, str] = {}
    for members in classes.values():
        members.sort(key=lambda name: (_draw(params.seed, "split", name), name))
        test, validation = (round(len(members) * share) for share in (params.split[2], params.split[1]))
        for at, name in enumerate(members):
            split[name] = _SPLITS[2 if at < test else 1 if at < test + validation else 0]
    return split


def _world(patents: Sequence[Patent], citations: Sequence[Citation], params: Params, log: BuildLog) -> World:
    groups = _grouped(patents)
    log.step("publications into families", len(patents), len(groups))
    links = _links(patents, citations, log)
    cites, cited_by = _neighbours(links), _neighbours((cited, citing) for citing, cited in links)
    families = _families(groups, log)
    dated = {name: day for name, members in groups.items() if (day := _first_day(members)) is not None}
    filters: tuple[tuple[str, Callable[[Family], bool]], ...] = (
        (f"filed in {params.min_year} or later", lambda family: family.filed.year >= params.min_year),
        (f"at most {params.max_family_size} publications", lambda family: len(groups[family.id]) <= params.max_family_size),
        (f"at most {params.max_words} words", lambda family: len(family.text.split()) <= params.max_words),
        (f"cited by {params.min_cited_by} families", lambda family: len(cited_by.get(family.id, ())) >= params.min_cited_by),
    )
    for name, keep in filters:
        kept = {key: family for key, family in families.items() if keep(family)}
        log.step(name, len(families), len(kept))
        families = kept
    filtered = families
    sizes = Counter(family.dominant for family in filtered.values())
    families = {name: family for name, family in filtered.items() if sizes[family.dominant] >= params.min_class_families}
    sizes = Counter(family.dominant for family in families.values())
    log.step(f"IPC3 classes of at least {params.min_class_families} families", len(filtered), len(families), f"{len(sizes)} classes")
    if not families:
        raise DataError("no family passes PatenTEB's filters", remedy="give more patents, or lower the bounds (patenteb.Params)")
    split = _splits(families, params)
    counts = Counter(split.values())
    log.step("split", len(families), len(families), ", ".join(f"{name} {counts[name]}" for name in _SPLITS))
    return World(params, families, filtered, cites, cited_by, dated, split, sizes, log)


# --- retrieval ----------------------------------------------------------------------------------------------------------


class _Negatives:
    """Draws hard negatives for the queries of one split."""

    def __init__(self, world: World, split: str) -> None:
        self.world = world
        self.members = world.members(split)
        self.by_class: dict[str, list[str]] = defaultdict(list)
        for name in self.members:
            for code in world.families[name].ipc3:
                self.by_class[code].append(name)

    def draw(self, query: str, positive: str, relations: frozenset[Relation]) -> str | None:
        """A family of the split with one of the relations to the query, outside the citations of query and positive."""
        world = self.world
        own = world.families[query].ipc3
        if relations == {"PART_MIX"} and len(own) == 1:
            return None  # a single class is contained in every set that it meets
        excluded = world.linked(query) | world.linked(positive) | {query, positive}
        pools = [self.members] if "OUT" in relations else [self.by_class[code] for code in sorted(own)]

        def fits(name: str) -> bool:
            return name not in excluded and domain_relation(own, world.families[name].ipc3) in relations

        rng = random.Random(_draw(world.params.seed, "negative", query, positive, *sorted(relations)))
        for _ in range(_DRAWS):
            if fits(name := rng.choice(rng.choice(pools))):
                return name
        rest = [name for name in sorted({name for pool in pools for name in pool}) if fits(name)]
        return rng.choice(rest) if rest else None


def _positives(world: World, query: str, relations: frozenset[Relation]) -> list[str]:
    own, split = world.families[query].ipc3, world.split[query]
    found = [
        name
        for name in world.linked(query)
        if world.split.get(name) == split and domain_relation(own, world.families[name].ipc3) in relations
    ]
    return sorted(world.order(found, f"positives {query}")[: world.params.max_positives])


def _retrieval(world: World, objective: str, split: str = "test") -> list[Row]:
    relations, preferences = _OBJECTIVES[objective]
    positives = {query: _positives(world, query, relations) for query in world.members(split)}
    chosen: list[str] = []
    rows_left = world.params.max_retrieval_rows
    for query in world.order((query for query in positives if positives[query]), f"queries {objective}"):
        if len(positives[query]) <= rows_left:
            chosen.append(query)
            rows_left -= len(positives[query])
    negatives = _Negatives(world, split)
    rows: list[Row] = []
    fallbacks = missing = 0
    for query in sorted(chosen):
        for positive in positives[query]:
            drawn = ((at, negatives.draw(query, positive, wanted)) for at, wanted in enumerate(preferences))
            at, negative = next(((at, name) for at, name in drawn if name is not None), (0, None))
            if negative is None:
                missing += 1
                continue
            fallbacks += at > 0
            families = world.families
            rows.append(
                {
                    "q": query,
                    "neg": negative,
                    "pos": positive,
                    "pos_link_type": "CITES" if positive in world.cites.get(query, ()) else "CITED_BY",
                    "neg_computed_domain": domain_relation(families[query].ipc3, families[negative].ipc3),
                    "objective": objective,
                    "q_text": families[query].text,
                    "pos_text": families[positive].text,
                    "neg_text": families[negative].text,
                }
            )
    world.log.step(
        f"retrieval_{objective}",
        sum(map(len, positives.values())),
        len(rows),
        f"{len(chosen)} queries, {missing} pairs without a negative, {fallbacks} negatives of second choice",
    )
    return rows


def _fragment_rows(world: World, task: str, query: Role | Literal["title"], target: Role | None) -> list[Row]:
    """One row a family of the test split that has the query fragment; the target is a fragment, or (None) the full text."""
    rows: list[Row] = []
    members = world.members("test")
    absent = emptied = 0
    for name in members:
        family = world.families[name]
        fragment = family.title if query == "title" else family.abstract.get(query)
        if not fragment or (target is not None and not family.abstract.get(target)):
            absent += 1
            continue
        if target is not None:
            sections: Sequence[str] = (family.abstract.get(target),)
        elif query == "title":
            sections = family.sections()[1:]
        else:
            sections = family.sections(without=(query,))
        rest = _joined(remove_fragment(section, fragment) for section in sections)
        if not rest:
            emptied += 1
            continue
        rows.append({**world.class_of(name), "q": name, query: fragment, target or "full_text": rest})
    world.log.step(task, len(members), len(rows), f"{absent} without the fragments, {emptied} without anything else")
    return rows


# --- classification -----------------------------------------------------------------------------------------------------


def _stratified(world: World, rows: Sequence[Row], label: str, share: float, purpose: str) -> list[Row]:
    """A share of the rows of each label, at least one, in the rows' order."""
    labels: dict[Any, dict[str, int]] = defaultdict(dict)
    for at, row in enumerate(rows):
        labels[row[label]]["\t".join((row["q"], row.get("t", "")))] = at
    kept = [
        at
        for places in labels.values()
        for at in map(places.__getitem__, world.order(places, purpose)[: max(1, round(share * len(places)))])
    ]
    return [rows[at] for at in sorted(kept)]


def _released(world: World, task: str, rows: list[Row]) -> list[Row]:
    share = min(1.0, world.params.max_train_rows / max(1, len(rows))) * world.params.released_train
    kept = _stratified(world, rows, "label", share, f"train {task}")
    world.log.step(f"{task} train, released share", len(rows), len(kept))
    return kept


def _text2ipc3(world: World, split: str) -> list[Row]:
    return [
        {**world.class_of(name), "label": world.families[name].dominant, "q": name, "text": world.families[name].text}
        for name in world.members(split)
    ]


def _years_later(day: dt.date, years: int) -> dt.date:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # 29 February
        return day.replace(year=day.year + years, day=28)


def _bloom_labels(world: World) -> dict[str, str]:
    """``early``, ``late`` or ``normal`` for every retained family filed before the cutoff, within its dominant IPC3."""
    params = world.params
    counts: dict[str, tuple[int, int]] = {}
    for name, family in world.families.items():
        if family.filed < params.cutoff:
            soon = min(_years_later(family.filed, params.early_years), params.cutoff)
            days = [world.dated[citing] for citing in world.cited_by.get(name, ()) if citing in world.dated]
            counts[name] = sum(day <= soon for day in days), sum(day <= params.cutoff for day in days)
    classes: dict[str, list[str]] = defaultdict(list)
    for name in counts:
        classes[world.families[name].dominant].append(name)
    labels: dict[str, str] = {}
    for members in classes.values():
        rank = math.ceil(params.decile * len(members)) - 1
        early, lifetime = (sorted((counts[name][at] for name in members), reverse=True) for at in (0, 1))
        for name in members:
            five_years, total = counts[name]
            if five_years >= max(early[rank], 1):
                labels[name] = "early"
            elif total >= max(lifetime[rank], 1) and five_years <= early[-1 - rank]:
                labels[name] = "late"
            else:
                labels[name] = "normal"
    return labels


def _bloom(world: World, labels: Mapping[str, str], split: str) -> list[Row]:
    members = [name for name in world.members(split) if name in labels]
    sizes = Counter(labels[name] for name in members)
    normal = world.order((name for name in members if labels[name] == "normal"), "bloom")
    kept = {*normal[: max(sizes["early"], sizes["late"])], *(name for name in members if labels[name] != "normal")}
    rows = [{"q": name, "text": world.families[name].text, "label": labels[name]} for name in members if name in kept]
    note = ", ".join(f"{label} {count}" for label, count in sorted(Counter(row["label"] for row in rows).items()))
    world.log.step(f"class_bloom {split}", len(members), len(rows), note)
    return rows


def _old_new(world: World, split: str) -> list[Row]:
    members = set(world.members(split))
    links = sorted((citing, cited) for citing in members for cited in world.cites.get(citing, ()) if cited in members)
    rows: list[Row] = []
    mutual = 0
    for citing, cited in links:
        if citing in world.cites.get(cited, ()):
            mutual += 1
            continue
        newer = _draw(world.params.seed, "direction", citing, cited) % 2 == 0
        query, target = (citing, cited) if newer else (cited, citing)
        rows.append(
            {
                **world.class_of(query),
                "label": "newer" if newer else "older",
                "q": query,
                "t": target,
                "q_text": world.families[query].text,
                "t_text": world.families[target].text,
            }
        )
    world.log.step(f"class_nli_oldnew {split}", len(links), len(rows), f"{mutual} links go both ways")
    return rows


# --- paraphrase ---------------------------------------------------------------------------------------------------------


def _unlike_pairs(world: World, names: Sequence[str], wanted: int, purpose: str) -> list[tuple[str, str]]:
    """Up to ``wanted`` different pairs of unlinked families from disjoint domains, drawn at random."""
    rng = random.Random(_draw(world.params.seed, purpose))
    pairs: dict[tuple[str, str], None] = {}
    for _ in range(_DRAWS * wanted if len(names) > 1 else 0):
        if len(pairs) == wanted:
            break
        first, second = rng.sample(names, 2)
        unlike = domain_relation(world.families[first].ipc3, world.families[second].ipc3) == "OUT"
        if unlike and second not in world.linked(first) and (second, first) not in pairs:
            pairs[first, second] = None
    return list(pairs)


def _paraphrase(world: World, task: str, role: Role) -> list[Row]:
    share = world.params.positive_share
    names = [name for name in world.members("test") if world.families[name].abstract.get(role)]
    having = set(names)
    links = sorted(
        (name, other)
        for name in names
        for other in world.cites.get(name, ())
        if other in having
        and domain_relation(world.families[name].ipc3, world.families[other].ipc3) == "IN"
        and not (other < name and name in world.cites.get(other, ()))
    )
    named = {"\t".join(link): link for link in links}
    chosen = world.order(named, f"{task} positives")[: round(world.params.max_paraphrase_rows * share)]
    negatives = _unlike_pairs(world, names, round(len(chosen) * (1 - share) / share), f"{task} negatives")
    chosen = chosen[: round(len(negatives) * share / (1 - share))]
    labelled = [(*named[name], 1) for name in chosen] + [(*pair, 0) for pair in negatives]
    rows = [
        {
            **world.class_of(query),
            "label": label,
            "q": query,
            "t": target,
            "text1": world.families[query].abstract.get(role),
            "text2": world.families[target].abstract.get(role),
        }
        for query, target, label in sorted(labelled)
    ]
    world.log.step(task, len(links), len(rows), f"{len(names)} families have a {role}; {len(chosen)} positives")
    return rows


# --- clustering ---------------------------------------------------------------------------------------------------------


def _clusters(world: World, task: str, bounds: tuple[int, int], keys: Callable[[Family], Sequence[str]]) -> list[Row]:
    """Rows of the families whose first key of an admissible size is shared by enough of them; ids count the sorted keys."""
    sizes = Counter(key for family in world.filtered.values() for key in keys(family))
    admitted = {key for key, size in sizes.items() if bounds[0] <= size <= bounds[1]}
    first = {name: key for name, family in world.filtered.items() if (key := next(filter(admitted.__contains__, keys(family)), ""))}
    final = Counter(first.values())
    kept = sorted(key for key in final if final[key] >= bounds[0])
    number = {key: at for at, key in enumerate(kept)}
    rows = [{"q": name, "text": world.filtered[name].text, "cluster_id": number[key]} for name, key in first.items() if key in number]
    world.log.step(task, len(world.filtered), len(rows), f"{len(kept)} clusters of {bounds[0]} to {bounds[1]} families")
    return rows


def _ipc_list(family: Family) -> Sequence[str]:
    return (" ".join(sorted(family.codes)),) if family.codes else ()


# --- tables -------------------------------------------------------------------------------------------------------------


def _tables(world: World) -> Iterator[tuple[str, str, list[Row]]]:
    for objective in _OBJECTIVES:
        yield f"retrieval_{objective}", "test", _retrieval(world, objective)
    fragments: tuple[tuple[str, Role | Literal["title"], Role | None], ...] = (
        ("title2full", "title", None),
        ("problem2full", "problem", None),
        ("problem2solution", "problem", "solution"),
        ("effect2full", "effect", None),
        ("effect2substance", "effect", "substance"),
    )
    for task, query, target in fragments:
        yield task, "test", _fragment_rows(world, task, query, target)
    labels = _bloom_labels(world)
    makers: dict[str, Callable[[str], list[Row]]] = {
        "class_text2ipc3": lambda split: _text2ipc3(world, split),
        "class_bloom": lambda split: _bloom(world, labels, split),
        "class_nli_oldnew": lambda split: _old_new(world, split),
    }
    for task in _RELEASED_TRAIN:
        yield task, "test", makers[task]("test")
        yield task, "train", _released(world, task, makers[task]("train"))
    yield "para_problem", "test", _paraphrase(world, "para_problem", "problem")
    yield "para_solution", "test", _paraphrase(world, "para_solution", "solution")
    yield (
        "clusters_ext_full_ipc",
        "test",
        _clusters(world, "clusters_ext_full_ipc", world.params.ipc_clusters, _ipc_list),
    )
    yield (
        "clusters_inventor",
        "test",
        _clusters(world, "clusters_inventor", world.params.inventor_clusters, lambda family: family.inventors),
    )


def _schema(task: str) -> pa.Schema:
    numbers = {_COUNT, "cluster_id"} | ({"label"} if task.startswith("para_") else set())
    return pa.schema([(name, pa.int64() if name in numbers else pa.string()) for name in COLUMNS[task]])


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write the 15 PatenTEB tables below ``root``.

    A table without rows (say, effects where no abstract is segmented) is not written; the log says so.

    Raises:
        DataError: no family passes the filters.
        ValueError: the shares of the split do not add up to one.
    """
    if not math.isclose(sum(params.split), 1.0) or min(params.split) < 0:
        raise ValueError(f"the shares of the split {params.split} do not add up to one")
    log = BuildLog("PatenTEB")
    world = _world(patents, citations, params, log)
    for task, split, rows in _tables(world):
        if not rows:
            log.step(f"{task} {split}", 0, 0, "no rows: the file is not written")
            continue
        schema = _schema(task)
        name = f"datalyes/{task}/{split}/data.parquet"
        write_parquet(root / name, pa.table({key: [row[key] for row in rows] for key in schema.names}, schema=schema))
        log.files.append(name)
    log.files.sort()
    return log
