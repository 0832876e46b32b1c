"""Settings of the PatenTEB recipe, and the data that all its tables share (§3).

These data are the simple families, the citations between them, the filters, the splits and the random draws.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, get_args

from patent_mteb.patents import ipc
from patent_mteb.patents.near_duplicates import Sketched
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.records import Citation, Claim, Patent
from patent_mteb.patents.views import SEPARATOR, join_sections
from patent_mteb.recipes.fragments import Fragments, Role, extract
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.parameters import Bounds, Count, Positive, Share
from patent_mteb.recipes.sampling import grouped, random_key
from patent_mteb.recipes.steps import FIELDS, MATCH_THEM, BuildLog, Filter, Funnel, Need, filters_of

NEEDS = (
    Need("title", "every text; title2full", drops="families"),
    Need(
        "abstract",
        "every text; problem2full, problem2solution, effect2full, effect2substance, para_*",
        drops="families",
    ),
    Need("claims", "every text", drops="families"),
    Need("ipc", "every table (dominant IPC3, relations of domains)", drops="families", fixed=True),
    Need("filing_date", "class_bloom", drops="families"),
    Need("citations", "retrieval_*, class_bloom, class_nli_oldnew, para_*"),
    Need("inventors", "clusters_inventor"),
)
"""Use of each field, and what the recipe drops where a family lacks it (§3)."""


Required = Literal["title", "abstract", "claims", "filing_date"]


@dataclass(frozen=True)
class Params:
    """Bounds of the recipe; the defaults are the paper's unless marked "ours".

    Attributes:
        seed: seed of every draw (Table 3).
        min_year: earliest filing year of a family; one without a date passes, where filing_date is not required.
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
        require: what a family must have, the texts in one publication; the others are waived.
    """

    seed: int = 42
    min_year: int = 1980
    min_cited_by: Count = 1
    max_family_size: Positive = 100
    max_words: Positive = 8192
    min_class_families: Count = 100
    split: tuple[Share, Share, Share] = (0.8, 0.1, 0.1)
    max_positives: Positive = 100
    max_retrieval_rows: Count = 16_000
    max_train_rows: Count = 150_000
    released_train: Share = 0.2
    cutoff: dt.date = dt.date(2023, 6, 20)
    early_years: Annotated[int, Bounds(0, 100)] = 5
    decile: Share = 0.1
    positive_share: Share = 0.14
    max_paraphrase_rows: Count = 18_750
    ipc_clusters: tuple[Count, Count] = (200, 1000)
    inventor_clusters: tuple[Count, Count] = (100, 1000)
    require: tuple[Required, ...] = get_args(Required)

    def __post_init__(self) -> None:
        if not math.isclose(sum(self.split), 1.0) or min(self.split) < 0:
            raise ValueError(f"the shares of the split {self.split} do not add up to one")
        if not 0 < self.positive_share < 1 or not 0 < self.decile <= 1:
            raise ValueError(f"positive_share={self.positive_share} and decile={self.decile} must be between 0 and 1")


PAPER = Params()  # the settings of the paper

SAMPLE = replace(
    PAPER,
    min_cited_by=0,
    min_class_families=8,
    split=(0.3, 0.1, 0.6),
    released_train=0.8,
    ipc_clusters=(3, 100),
    inventor_clusters=(3, 100),
)
"""Settings for about a thousand families: lower minima, and most families in the test split."""

Relation = Literal["IN", "OUT", "FULL_MIX", "PART_MIX"]
Row = dict[str, Any]
CLASS = "first_ipcr3"  # the dominant IPC3 of the row's family
COUNT = "first_ipcr3_count"  # families with the dominant IPC3 of the row's family

SPLITS = ("train", "validation", "test")
SMALL_SPLIT = "split=0.3,0.1,0.6"  # the setting with which a small set keeps links within its test split

_FEW_LINKS = 50


def domain_relation(first: frozenset[str], second: frozenset[str]) -> Relation:
    """Return the relation of two sets of IPC3 codes (§3).

    ``IN``: identical; ``OUT``: disjoint; ``FULL_MIX``: one contains the other; ``PART_MIX``: any other overlap.
    """
    if first == second:
        return "IN"
    if not first & second:
        return "OUT"
    return "FULL_MIX" if first < second or second < first else "PART_MIX"


class _Texts(NamedTuple):
    title: str
    abstract: Fragments
    claim: str


@dataclass(frozen=True, slots=True)
class Family:
    """A simple family; its lower-case texts are in a temporary file."""

    id: str
    texts: DiskList[_Texts]  # the texts of all families
    position: int  # the position of this family among the texts
    ipc3: frozenset[str]
    dominant: str
    codes: str  # the sorted IPC codes, separated by blanks
    inventors: tuple[str, ...]
    filed: dt.date | None

    @property
    def title(self) -> str:
        return self.texts[self.position].title

    @property
    def abstract(self) -> Fragments:
        return self.texts[self.position].abstract

    def sections(self, without: Sequence[Role] = ()) -> tuple[str, str, str]:
        """Return title, abstract without the named roles, and first claim."""
        texts = self.texts[self.position]
        return texts.title, texts.abstract.text(without), texts.claim

    @property
    def text(self) -> str:
        return join_sections(self.sections(), SEPARATOR)


@dataclass(frozen=True)
class TableData:
    """The data that all tables share.

    ``families`` are the retained families; ``filtered`` has also those of the IPC3 classes that are too small.
    ``graph`` has the citations between all families, and ``dated`` the first day on which the citations of a family
    count, where known. ``class_sizes`` counts the retained families of each dominant IPC3.
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
        """Shuffle the items by seed and purpose, independently of their order."""
        return sorted(items, key=lambda item: (random_key(self.params.seed, purpose, item), item))

    def relation(self, first: str, second: str) -> Relation:
        """Return the relation of the IPC3 codes of two retained families."""
        return domain_relation(self.families[first].ipc3, self.families[second].ipc3)

    def class_of(self, family: str) -> Row:
        """Return the columns with the dominant IPC3 of a family and its frequency."""
        dominant = self.families[family].dominant
        return {CLASS: dominant, COUNT: self.class_sizes[dominant]}

    @cached_property
    def bloom_labels(self) -> dict[str, str]:
        """Label families filed before the cutoff as early, late or normal in their class."""
        params = self.params
        counts: dict[str, tuple[int, int]] = {}
        for name, family in self.families.items():
            if family.filed is not None and family.filed < params.cutoff:
                soon = min(_years_later(family.filed, params.early_years), params.cutoff)
                days = [self.dated[citing] for citing in self.graph.cited_by.get(name, ()) if citing in self.dated]
                counts[name] = sum(day <= soon for day in days), sum(day <= params.cutoff for day in days)
        classes = grouped(counts, lambda name: self.families[name].dominant)
        labels: dict[str, str] = {}
        for members in classes.values():
            rank = math.ceil(params.decile * len(members)) - 1
            early, lifetime = (sorted((counts[name][which] for name in members), reverse=True) for which in (0, 1))
            for name in members:
                five_years, total = counts[name]
                if five_years >= max(early[rank], 1):
                    labels[name] = "early"
                elif total >= max(lifetime[rank], 1) and five_years <= early[-1 - rank]:
                    labels[name] = "late"
                else:
                    labels[name] = "normal"
        return labels


def _years_later(day: dt.date, years: int) -> dt.date:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # 29 February
        return day.replace(year=day.year + years, day=28)


def _lower(text: str) -> str:
    return " ".join(text.split()).lower()


def _readable(codes: Iterable[str]) -> list[str]:
    """Return the distinct normalised codes of class level or below, in order."""
    codes = list(codes)
    unusable = set(ipc.codes_at(codes, "ipc3").unusable)
    return list(dict.fromkeys(ipc.parse(code)[-1] for code in codes if code not in unusable))


def _sorted(members: Sequence[Patent]) -> list[Patent]:
    return sorted(members, key=lambda one: (one.publication_date or dt.date.max, one.publication_number))


_HAS_TEXT: Mapping[str, Callable[[Patent], bool]] = {
    "title": FIELDS["title"],
    "abstract": FIELDS["abstract"],
    "claims": lambda patent: any(claim.number for claim in patent.claims),  # 0: a text that cannot be split
}

_HAS: Mapping[str, Callable[[Sequence[Patent]], bool]] = {
    **{name: lambda members, has=has: any(map(has, members)) for name, has in _HAS_TEXT.items()},  # type: ignore[misc]
    "filing_date": lambda members: _filed(members) is not None,
    "ipc": lambda members: bool(_readable(code for patent in members for code in patent.ipc)),
}


def _filed(members: Sequence[Patent]) -> dt.date | None:
    return min((day for patent in members if (day := patent.application_date or patent.priority_date)), default=None)


def _published(members: Sequence[Patent]) -> dt.date | None:
    return min((patent.publication_date for patent in members if patent.publication_date), default=None)


def _representative(members: Sequence[Patent], require: Sequence[str]) -> Patent | None:
    """Return the latest publication with most texts, including the required ones.

    The result is None if no publication has a text.
    """

    def n_texts(patent: Patent) -> int:
        return sum(has(patent) for has in _HAS_TEXT.values())

    required = [has for name, has in _HAS_TEXT.items() if name in require]
    complete = [patent for patent in _sorted(members) if all(has(patent) for has in required)]
    best = max(reversed(complete), key=n_texts, default=None)
    return best if best is not None and n_texts(best) else None


def _family(
    members: Sequence[Patent],
    known: Sketched,
    require: Sequence[str],
    texts: DiskList[_Texts],
    shared: dict[frozenset[str], frozenset[str]],
) -> Family:
    """Build a family from its publications, one of which has the required texts."""
    members = _sorted(members)
    representative = _representative(members, require)
    assert representative is not None
    codes = _readable(code for patent in members for code in patent.ipc)
    classes = Counter(ipc.at(code, "ipc3") for code in codes)
    text = known.record(representative.publication_number)
    claims = (claim for claim in text.claims if claim.number)
    claim = min(claims, key=lambda claim: claim.number, default=Claim(1, "")).text
    fragments = extract(text.abstract)
    abstract = replace(fragments, parts=tuple((role, _lower(words)) for role, words in fragments.parts))
    texts.append(_Texts(_lower(text.title), abstract, _lower(claim)))
    names = (name for one in members for name in known.record(one.publication_number).inventors)
    ipc3 = frozenset(classes)
    return Family(
        id=members[0].family_id,
        texts=texts,
        position=len(texts) - 1,
        ipc3=shared.setdefault(ipc3, ipc3),
        dominant=max(classes, key=lambda code: classes[code]),
        codes=sys.intern(" ".join(sorted(codes))),
        inventors=tuple(dict.fromkeys(map(sys.intern, names))),
        filed=_filed(members),
    )


_Groups = Mapping[str, Sequence[Patent]]


def _families(groups: _Groups, known: Sketched, funnel: Funnel, params: Params) -> dict[str, Family]:
    """Return the families that have all required fields."""
    codes = {code for members in groups.values() for patent in members for code in patent.ipc}
    funnel.log.step("IPC codes that can be read", len(codes), len([code for code in codes if _readable([code])]))
    required = [name for name in _HAS_TEXT if name in params.require]
    together = Filter[Sequence[Patent]](
        f"with {', '.join(required) or 'a text'} in one publication",
        lambda members: _representative(members, params.require) is not None,
        "give one publication of a family all of them",
    )
    usable = funnel(groups, [*filters_of(NEEDS, params.require, _HAS), together])
    texts: DiskList[_Texts] = DiskList()
    shared: dict[frozenset[str], frozenset[str]] = {}
    return {name: _family(members, known, params.require, texts, shared) for name, members in usable.items()}


def _splits(families: Mapping[str, Family], params: Params) -> dict[str, str]:
    """Assign families to splits, stratified by dominant IPC3; rounding favours train."""
    classes = grouped(families, lambda name: families[name].dominant)
    split: dict[str, str] = {}
    for members in classes.values():
        members.sort(key=lambda name: (random_key(params.seed, "split", name), name))
        test, validation = (round(len(members) * share) for share in (params.split[2], params.split[1]))
        for rank, name in enumerate(members):
            split[name] = SPLITS[2 if rank < test else 1 if rank < test + validation else 0]
    return split


def _filters(groups: _Groups, graph: FamilyGraph, params: Params) -> list[Filter[Family]]:
    """Return the filters of §3 in their order."""
    return [
        Filter(
            f"filed in {params.min_year} or later",
            lambda family: family.filed is None or family.filed.year >= params.min_year,
            "lower min_year",
        ),
        Filter(
            f"of at most {params.max_family_size} publications",
            lambda family: len(groups[family.id]) <= params.max_family_size,
            "raise max_family_size",
        ),
        Filter(
            f"of at most {params.max_words} words",
            lambda family: len(family.text.split()) <= params.max_words,
            "raise max_words",
        ),
        Filter(
            f"cited by {params.min_cited_by} families",
            lambda family: len(graph.cited_by.get(family.id, ())) >= params.min_cited_by,
            f"set min_cited_by=0, or {MATCH_THEM}",
        ),
    ]


def _large_classes(families: Mapping[str, Family], least: int) -> Filter[Family]:
    sizes = Counter(family.dominant for family in families.values())
    return Filter(
        f"in an IPC3 class of at least {least} families",
        lambda family: sizes[family.dominant] >= least,
        f"lower min_class_families (the largest class has {max(sizes.values(), default=0)})",
    )


def _log_split(data: TableData) -> None:
    """Log the sizes of the splits and the number of links within each."""
    counts = Counter(data.split.values())
    note = ", ".join(f"{name} {counts[name]}" for name in SPLITS)
    data.log.step("split", len(data.families), len(data.families), note)
    split = data.split
    links = Counter(
        (split[one], split[other]) for one in split for other in data.graph.cites.get(one, ()) if other in split
    )
    within = {name: links[name, name] for name in SPLITS}
    note = ", ".join(f"{name} {within[name]}" for name in SPLITS)
    if links and within["test"] < _FEW_LINKS:
        note += f"; few are in the test split, which retrieval and pairs use: {SMALL_SPLIT} leaves more"
    data.log.step("links within one split", links.total(), sum(within.values()), note)


def table_data(patents: Sequence[Patent], citations: Sequence[Citation], params: Params, log: BuildLog) -> TableData:
    """Return the families, graph and splits that all tables are made from."""
    known = Sketched(patents)
    in_order = sorted(known.values(), key=lambda patent: (patent.family_id, patent.publication_number))
    groups = grouped(in_order, lambda patent: patent.family_id)
    log.step("publications into families", len(patents), len(groups))
    graph = family_graph(citations, {number: patent.family_id for number, patent in known.items()})
    log.step("citations between families", len(citations), graph.n_edges, graph.dropped)
    funnel = Funnel(log, "families", params.require)
    usable = _families(groups, known, funnel, params)
    dated = {name: day for name, members in groups.items() if (day := _published(members) or _filed(members))}
    filtered = funnel(usable, _filters(groups, graph, params))
    families = funnel(filtered, [_large_classes(filtered, params.min_class_families)])
    sizes = Counter(family.dominant for family in families.values())
    data = TableData(params, families, filtered, graph, dated, _splits(families, params), sizes, log)
    _log_split(data)
    return data
