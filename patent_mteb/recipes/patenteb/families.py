"""Settings of the PatenTEB recipe, and the data that all its tables share (§3).

These data are the simple families, the citations between them, the filters, the splits and the random draws.
"""

from __future__ import annotations

import datetime as dt
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from patent_mteb.patents import ipc
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.families import age
from patent_mteb.patents.near_duplicates import Sketched
from patent_mteb.patents.on_disk import keyed_on_disk, publications
from patent_mteb.patents.records import Citation, Claim, Patent
from patent_mteb.patents.scripts import split_words
from patent_mteb.patents.text_columns import Few, Keyed, Members, Rows, values_of
from patent_mteb.patents.views import SEPARATOR, join_sections
from patent_mteb.recipes.fragments import Fragments, Role, extract
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.parameters import Bounds, Count, Positive, Share
from patent_mteb.recipes.sampling import random_key
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
BLOOM = ("early", "late", "normal")  # the times at which most citations of a family come
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


@dataclass(frozen=True, slots=True)
class Family:
    """A simple family, with lower-case texts."""

    id: str
    title: str
    abstract: Fragments
    claim: str
    ipc3: frozenset[str]
    dominant: str
    codes: str  # the sorted IPC codes, separated by blanks
    inventors: tuple[str, ...]
    filed: dt.date | None
    size: int  # number of publications

    def sections(self, without: Sequence[Role] = ()) -> tuple[str, str, str]:
        """Return title, abstract without the named roles, and first claim."""
        return self.title, self.abstract.text(without), self.claim

    @property
    def text(self) -> str:
        return join_sections(self.sections(), SEPARATOR)


@dataclass(frozen=True)
class TableData:
    """The data that all tables share.

    ``families`` are the retained families, in the order of their ids; the arrays have a row for each. ``filtered`` has
    also those of the IPC3 classes that are too small. ``graph`` has the citations between all families.

    Attributes:
        ipc3: the IPC3 codes.
        dominant: the dominant IPC3.
        split: number of the split in :data:`SPLITS`.
        filed: filing day as an ordinal (:meth:`datetime.date.toordinal`), 0 if unknown.
        citing: rows of the citing families of the citations between retained families.
        cited: rows of the cited families of these citations.
        n_early: number of citations in the early years, by the publication day of the citing family.
        n_known: number of citations up to the cutoff.
    """

    params: Params
    families: Keyed[Family]
    filtered: Keyed[Family]
    graph: FamilyGraph
    ipc3: Few[frozenset[str]]
    dominant: Few[str]
    split: Rows
    filed: Rows
    citing: Rows
    cited: Rows
    n_early: Rows
    n_known: Rows
    log: BuildLog

    def members(self, split: str) -> Rows:
        """The retained families of a split."""
        return np.flatnonzero(self.split == SPLITS.index(split)).astype(np.int32)

    def names(self, rows: NDArray[np.integer[Any]]) -> Iterator[str]:
        return values_of(self.families.column.take(pa.array(rows)))

    def name(self, row: int) -> str:
        return str(self.families.column[row])

    def first(self, items: Iterable[str], purpose: str, number: int | None = None) -> Rows:
        """Shuffle items by seed and purpose; return the places of the first ones, of equal keys in their order."""
        keys = np.fromiter((random_key(self.params.seed, purpose, item) for item in items), np.uint64)
        return np.argsort(keys, kind="stable")[:number].astype(np.int32)

    def linked(self, row: int) -> set[int]:
        """Return the rows of the retained families that cite the family or are cited by it."""
        return {found for name in self.graph.linked(self.name(row)) if (found := self.families.row(name)) >= 0}

    def relation(self, first: int, second: int) -> Relation:
        """Return the relation of the IPC3 codes of two retained families."""
        return domain_relation(self.ipc3[first], self.ipc3[second])

    @cached_property
    def citing_pairs(self) -> set[tuple[int, int]]:
        """The rows of both ends of the citations between retained families."""
        return set(zip(self.citing.tolist(), self.cited.tolist(), strict=True))

    @cached_property
    def class_sizes(self) -> Counter[str]:
        """The number of retained families of each dominant IPC3."""
        sizes = np.bincount(self.dominant.codes(), minlength=len(self.dominant.values))
        return Counter(dict(zip(self.dominant.values, sizes.tolist(), strict=True)))

    def class_of(self, family: str) -> Row:
        """Return the columns with the dominant IPC3 of a family and its frequency."""
        dominant = self.dominant[self.families.row_of(family)]
        return {CLASS: dominant, COUNT: self.class_sizes[dominant]}

    @cached_property
    def bloom(self) -> Rows:
        """The place in :data:`BLOOM` of the label in its class of each family filed before the cutoff, -1 of others."""
        labels = np.full(len(self.families), -1, np.int32)
        rows = np.flatnonzero((self.filed > 0) & (self.filed < self.params.cutoff.toordinal()))
        codes = self.dominant.codes(rows)
        for code in np.unique(codes):
            members = rows[codes == code]
            rank = math.ceil(self.params.decile * len(members)) - 1
            early, known = self.n_early[members], self.n_known[members]
            by_early, by_known = np.sort(early), np.sort(known)
            is_early = early >= max(by_early[-1 - rank], 1)
            is_late = (known >= max(by_known[-1 - rank], 1)) & (early <= by_early[rank])
            labels[members] = np.where(is_early, 0, np.where(is_late, 1, 2))
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
    """Return the latest of publications, in order, with most texts and the required ones; None if none has a text."""

    def n_texts(patent: Patent) -> int:
        return sum(has(patent) for has in _HAS_TEXT.values())

    required = [has for name, has in _HAS_TEXT.items() if name in require]
    complete = [patent for patent in members if all(has(patent) for has in required)]
    best = max(reversed(complete), key=n_texts, default=None)
    return best if best is not None and n_texts(best) else None


def _family(members: Sequence[Patent], known: Sketched, require: Sequence[str]) -> Family:
    """Build a family from its publications, in order, one of which has the required texts."""
    representative = _representative(members, require)
    assert representative is not None
    codes = _readable(code for patent in members for code in patent.ipc)
    classes = Counter(ipc.at(code, "ipc3") for code in codes)
    records = [known.record(patent.publication_number) for patent in members]
    text = records[members.index(representative)]
    claims = (claim for claim in text.claims if claim.number)
    claim = min(claims, key=lambda claim: claim.number, default=Claim(1, "")).text
    fragments = extract(text.abstract)
    return Family(
        id=members[0].family_id,
        title=_lower(text.title),
        abstract=replace(fragments, parts=tuple((role, _lower(words)) for role, words in fragments.parts)),
        claim=_lower(claim),
        ipc3=frozenset(classes),
        dominant=max(classes, key=lambda code: classes[code]),
        codes=" ".join(sorted(codes)),
        inventors=tuple(dict.fromkeys(name for record in records for name in record.inventors)),
        filed=_filed(members),
        size=len(members),
    )


def _groups(rows_of: Keyed[list[int]], known: Sketched) -> Mapping[str, list[Patent]]:
    """Return the publications of each family as sketches, the earliest first."""
    return Composed(rows_of, lambda rows: sorted((known.by_row[row] for row in rows), key=age))


def _families(rows_of: Keyed[list[int]], known: Sketched, funnel: Funnel, params: Params) -> Keyed[Family]:
    """Return the families that have all required fields."""
    codes = {code for patent in known.values() for code in patent.ipc}
    funnel.log.step("IPC codes that can be read", len(codes), len([code for code in codes if _readable([code])]))
    required = [name for name in _HAS_TEXT if name in params.require]
    together = Filter[Sequence[Patent]](
        f"with {', '.join(required) or 'a text'} in one publication",
        lambda members: _representative(members, params.require) is not None,
        "give one publication of a family all of them",
    )
    chosen = funnel(_groups(rows_of, known).values(), [*filters_of(NEEDS, params.require, _HAS), together])
    usable = _groups(rows_of.at(chosen), known)
    return keyed_on_disk((name, _family(members, known, params.require)) for name, members in usable.items())


def _splits(families: Keyed[Family], dominant: Few[str], params: Params) -> Rows:
    """Assign families to splits, stratified by dominant IPC3; rounding favours train."""
    keys = np.fromiter((random_key(params.seed, "split", name) for name in families), np.uint64)
    split = np.zeros(len(families), np.int32)
    order = np.argsort(keys, kind="stable")
    codes = dominant.codes(order)
    for code in np.unique(codes):
        members = order[codes == code]
        test, validation = (round(len(members) * share) for share in (params.split[2], params.split[1]))
        split[members[test : test + validation]] = 1
        split[members[:test]] = 2
    return split


def _filters(graph: FamilyGraph, params: Params) -> list[Filter[Family]]:
    """Return the filters of §3 in their order."""
    n_citing = dict(graph.edges.group_by("cited").len().iter_rows())
    return [
        Filter(
            f"filed in {params.min_year} or later",
            lambda family: family.filed is None or family.filed.year >= params.min_year,
            "lower min_year",
        ),
        Filter(
            f"of at most {params.max_family_size} publications",
            lambda family: family.size <= params.max_family_size,
            "raise max_family_size",
        ),
        Filter(
            f"of at most {params.max_words} words",
            lambda family: len(split_words(family.text)) <= params.max_words,
            "raise max_words",
        ),
        Filter(
            f"cited by {params.min_cited_by} families",
            lambda family: n_citing.get(family.id, 0) >= params.min_cited_by,
            f"set min_cited_by=0, or {MATCH_THEM}",
        ),
    ]


def _large_classes(families: Keyed[Family], least: int) -> Filter[Family]:
    sizes = Counter(family.dominant for family in families.values())
    return Filter(
        f"in an IPC3 class of at least {least} families",
        lambda family: sizes[family.dominant] >= least,
        f"lower min_class_families (the largest class has {max(sizes.values(), default=0)})",
    )


def _log_split(data: TableData) -> None:
    """Log the sizes of the splits and the number of links within each."""

    def counts(rows: NDArray[np.integer[Any]]) -> dict[str, int]:
        return dict(zip(SPLITS, np.bincount(data.split[rows], minlength=len(SPLITS)).tolist(), strict=True))

    sizes = counts(np.arange(len(data.families)))
    note = ", ".join(f"{name} {size}" for name, size in sizes.items())
    data.log.step("split", len(data.families), len(data.families), note)
    within = counts(data.citing[data.split[data.citing] == data.split[data.cited]])
    note = ", ".join(f"{name} {number}" for name, number in within.items())
    if len(data.citing) and within["test"] < _FEW_LINKS:
        note += f"; few are in the test split, which retrieval and pairs use: {SMALL_SPLIT} leaves more"
    data.log.step("links within one split", len(data.citing), sum(within.values()), note)


def table_data(patents: Sequence[Patent], citations: Sequence[Citation], params: Params, log: BuildLog) -> TableData:
    """Return the families, graph and splits that all tables are made from."""
    known = Sketched(patents)
    members = Members(known.families)
    rows_of = Keyed(members.texts, members)
    log.step("publications into families", len(patents), len(members))
    graph = family_graph(citations, publications(patents).table)
    log.step("citations between families", len(citations), len(graph.edges), graph.dropped)
    funnel = Funnel(log, "families", params.require)
    usable = _families(rows_of, known, funnel, params)
    filtered = usable.at(funnel(usable.values(), _filters(graph, params)))
    families = filtered.at(funnel(filtered.values(), [_large_classes(filtered, params.min_class_families)]))

    ipc3, dominant, filed, soon = Few[frozenset[str]](), Few[str](), array("i"), array("i")
    for family in families.values():
        ipc3.append(family.ipc3)
        dominant.append(family.dominant)
        filed.append(_ordinal(family.filed))
        soon.append(_ordinal(family.filed and min(_years_later(family.filed, params.early_years), params.cutoff)))
    groups = _groups(rows_of, known).values()
    days = np.fromiter((_ordinal(_published(group) or _filed(group)) for group in groups), np.int32)
    known_families = pl.DataFrame({"family": members.texts.to_pylist(), "day": days})
    retained_rows = pl.DataFrame({"family": list(families)}).with_row_index("row")
    known_families = known_families.join(retained_rows, on="family", how="left").with_columns(
        pl.col("row").cast(pl.Int32).fill_null(-1)
    )
    ends = graph.edges.join(known_families.rename({"family": "citing"}), on="citing", maintain_order="left")
    ends = ends.join(known_families.rename({"family": "cited"}), on="cited", suffix="_cited", maintain_order="left")
    citing, cited, day = (ends[name].to_numpy() for name in ("row", "row_cited", "day"))

    def counts(last: Rows) -> Rows:
        """Count the citations of each retained family up to a day."""
        counted = cited[(cited >= 0) & (day > 0) & (day <= last)]
        return np.bincount(counted, minlength=len(families)).astype(np.int32)

    retained = np.minimum(citing, cited) >= 0
    data = TableData(
        params,
        families,
        filtered,
        graph,
        ipc3,
        dominant,
        _splits(families, dominant, params),
        np.array(filed, np.int32),
        citing[retained],
        cited[retained],
        counts(np.array(soon, np.int32)[cited]),
        counts(np.full(len(day), params.cutoff.toordinal(), np.int32)),
        log,
    )
    _log_split(data)
    return data


def _ordinal(day: dt.date | None) -> int:
    return day.toordinal() if day else 0
