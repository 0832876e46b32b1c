"""Settings of the PatenTEB recipe, and the data that all its tables share (§3).

These data are the simple families, the citations between them, the filters, the splits and the random draws.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from patent_mteb.patents import ipc
from patent_mteb.patents.keyed import Keyed, Rows, Some
from patent_mteb.patents.on_disk import DiskList, publications
from patent_mteb.patents.records import Citation, Claim, Patent
from patent_mteb.patents.scripts import split_words
from patent_mteb.patents.tables import by_age, frame_of
from patent_mteb.patents.views import SEPARATOR, join_sections
from patent_mteb.recipes.fragments import Fragments, Role, extract
from patent_mteb.recipes.graph import family_graph
from patent_mteb.recipes.parameters import Bounds, Count, Positive, Share
from patent_mteb.recipes.sampling import random_key
from patent_mteb.recipes.steps import FIELDS, MATCH_THEM, BuildLog, Filter, Funnel, Need, filters_of, within

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

_FEW_LINKS = 50  # in the test split, below which a note is written, a choice


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

    def sections(self, without: Sequence[Role] = ()) -> tuple[str, str, str]:
        """Return title, abstract without the named roles, and first claim."""
        return self.title, self.abstract.text(without), self.claim

    @property
    def text(self) -> str:
        return join_sections(self.sections(), SEPARATOR)


@dataclass(frozen=True)
class TableData:
    """The data that all tables share.

    ``families`` are the retained families, in the order of their ids; ``filtered`` has also those of the IPC3 classes
    that are too small. A row is the place of a retained family.

    Attributes:
        table: a row for each retained family: ``family``, ``dominant`` IPC3, ``filed``, ``split`` (place in
            :data:`SPLITS`), and its citations up to the cutoff (``n_known``) and in the early years (``n_early``), by
            the publication day of the citing family.
        ipc3: the IPC3 codes of each.
        citing: rows of the citing families of the citations between retained families.
        cited: rows of the cited families of these citations.
    """

    params: Params
    families: Keyed[Family]
    filtered: Keyed[Family]
    table: pl.DataFrame
    ipc3: Sequence[frozenset[str]]
    citing: Rows
    cited: Rows
    log: BuildLog

    @cached_property
    def names(self) -> list[str]:
        return self.table["family"].to_list()

    @cached_property
    def dominant(self) -> list[str]:
        return self.table["dominant"].to_list()

    @cached_property
    def split(self) -> Rows:
        return self.table["split"].to_numpy()

    def members(self, split: str) -> Rows:
        """The retained families of a split."""
        return np.flatnonzero(self.split == SPLITS.index(split)).astype(np.int32)

    def first(self, items: Iterable[str], purpose: str, number: int | None = None) -> Rows:
        """Shuffle items by seed and purpose; return the places of the first ones, of equal keys in their order."""
        keys = np.fromiter((random_key(self.params.seed, purpose, item) for item in items), np.uint64)
        return np.argsort(keys, kind="stable")[:number].astype(np.int32)

    @cached_property
    def _citations(self) -> tuple[csr_array, csr_array]:
        size, ones = len(self.families), np.ones(len(self.citing), bool)
        ends = (self.citing, self.cited), (self.cited, self.citing)
        cites, cited_by = (csr_array((ones, end), shape=(size, size)) for end in ends)
        return cites, cited_by

    def cites(self, row: int) -> set[int]:
        """Return the rows of the retained families that the family cites."""
        return _neighbours(self._citations[0], row)

    def linked(self, row: int) -> set[int]:
        """Return the rows of the retained families that cite the family or are cited by it."""
        return self.cites(row) | _neighbours(self._citations[1], row)

    def relation(self, first: int, second: int) -> Relation:
        """Return the relation of the IPC3 codes of two retained families."""
        return domain_relation(self.ipc3[first], self.ipc3[second])

    @cached_property
    def class_sizes(self) -> Counter[str]:
        """The number of retained families of each dominant IPC3."""
        return Counter(self.dominant)

    def class_of(self, family: str) -> Row:
        """Return the columns with the dominant IPC3 of a family and its frequency."""
        dominant = self.dominant[self.families.row_of(family)]
        return {CLASS: dominant, COUNT: self.class_sizes[dominant]}

    @cached_property
    def bloom(self) -> Rows:
        """The place in :data:`BLOOM` of the label in its class of each family filed before the cutoff, -1 of others."""
        labels = np.full(len(self.families), -1, np.int32)
        n_early, n_known = (self.table[name].to_numpy() for name in ("n_early", "n_known"))
        known = self.table.with_row_index("row").filter(pl.col("filed") < self.params.cutoff)
        for rows in known.group_by("dominant").agg("row")["row"]:
            members = rows.to_numpy()
            rank = math.ceil(self.params.decile * len(members)) - 1
            early, until_cutoff = n_early[members], n_known[members]
            by_early, by_known = np.sort(early), np.sort(until_cutoff)
            is_early = early >= max(by_early[-1 - rank], 1)
            is_late = (until_cutoff >= max(by_known[-1 - rank], 1)) & (early <= by_early[rank])
            labels[members] = np.where(is_early, 0, np.where(is_late, 1, 2))
        return labels


def _neighbours(citations: csr_array, row: int) -> set[int]:
    return set(citations.indices[citations.indptr[row] : citations.indptr[row + 1]].tolist())


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

_HAS = {
    **{name: pl.col(name) for name in _HAS_TEXT},
    "filing_date": pl.col("filed").is_not_null(),
    "ipc": pl.col("codes").list.len() > 0,
}

_PUBLICATION = {
    "filed": pl.Date,
    "codes": pl.List(pl.String),
    "inventors": pl.List(pl.String),
    **dict.fromkeys(_HAS_TEXT, pl.Boolean),
}


def _publications(patents: Sequence[Patent], log: BuildLog) -> pl.DataFrame:
    """Return what families, filters and draws use of each publication."""
    codes = set[str]()

    def rows() -> Iterator[tuple[Any, ...]]:
        for patent in patents:
            its_codes = _readable(patent.ipc)
            codes.update(patent.ipc)
            filed = patent.application_date or patent.priority_date
            yield filed, its_codes, patent.inventors, *(has(patent) for has in _HAS_TEXT.values())

    table = publications(patents).hstack(frame_of(rows(), _PUBLICATION))
    log.step("IPC codes that can be read", len(codes), sum(bool(_readable([code])) for code in codes))
    return table


def _merged(publications_read: pl.DataFrame, require: Sequence[str]) -> pl.DataFrame:
    """Return a row for each family: what its publications have together, in order of publication.

    ``representative`` is the row of the latest of the publications with most texts and the required ones; null if none
    has a text.
    """
    earliest_first = by_age(publications_read, "family")
    n_texts = pl.sum_horizontal(*_HAS_TEXT)
    required = [name for name in _HAS_TEXT if name in require]
    complete = earliest_first.filter(n_texts > 0, *required).sort("family", n_texts, maintain_order=True)
    representative = complete.group_by("family").agg(representative=pl.last("row"))
    families = earliest_first.group_by("family", maintain_order=True).agg(
        pl.any(*_HAS_TEXT),
        pl.min("filed"),
        pl.min("day").alias("published"),
        pl.col("codes", "inventors").list.explode().drop_nulls().unique(maintain_order=True),
        pl.len().alias("size"),
    )
    return families.join(representative, on="family", how="left", maintain_order="left")


def _family(row: Mapping[str, Any], text: Patent) -> Family:
    """Build a family from its row and the publication that has its texts."""
    classes = Counter(ipc.at(code, "ipc3") for code in row["codes"])
    claims = (claim for claim in text.claims if claim.number)
    claim = min(claims, key=lambda claim: claim.number, default=Claim(1, "")).text
    fragments = extract(text.abstract)
    return Family(
        id=row["family"],
        title=_lower(text.title),
        abstract=replace(fragments, parts=tuple((role, _lower(words)) for role, words in fragments.parts)),
        claim=_lower(claim),
        ipc3=frozenset(classes),
        dominant=max(classes, key=lambda code: classes[code]),
        codes=" ".join(sorted(row["codes"])),
        inventors=tuple(row["inventors"]),
    )


def _usable(
    families: pl.DataFrame, patents: Sequence[Patent], params: Params, funnel: Funnel
) -> tuple[pl.DataFrame, DiskList[Family]]:
    """Return the families that have all required fields, as rows with their ``place`` in the list of their texts."""
    required = [name for name in _HAS_TEXT if name in params.require]
    together = Filter(
        f"with {', '.join(required) or 'a text'} in one publication",
        pl.col("representative").is_not_null(),
        "give one publication of a family all of them",
    )
    usable = funnel(families, [*filters_of(NEEDS, params.require, _HAS), together])
    texts = DiskList[Family]()

    def rows() -> Iterator[tuple[str, int]]:
        for row in usable.iter_rows(named=True):
            family = _family(row, patents[row["representative"]])
            texts.append(family)
            yield family.dominant, len(split_words(family.text))

    usable = usable.hstack(frame_of(rows(), {"dominant": pl.String, "n_words": pl.Int64}))
    return usable.with_row_index("place"), texts


def _splits(families: pl.DataFrame, params: Params) -> pl.Series:
    """Assign families to splits, stratified by dominant IPC3; rounding favours train."""
    keys = np.fromiter((random_key(params.seed, "split", name) for name in families["family"]), np.uint64)
    split = np.zeros(len(families), np.int32)
    order = np.argsort(keys, kind="stable")
    in_order = families.select("dominant").with_row_index("row")[order]
    for (rows,) in in_order.group_by("dominant").agg("row").select("row").iter_rows():
        test, validation = (round(len(rows) * share) for share in (params.split[2], params.split[1]))
        split[rows[test : test + validation]] = 1
        split[rows[:test]] = 2
    return pl.Series("split", split)


def _filters(params: Params) -> list[Filter]:
    """Return the filters of §3 in their order."""
    year = pl.col("filed").dt.year()
    return [
        Filter(f"filed in {params.min_year} or later", within(year, params.min_year, None), "lower min_year"),
        Filter(
            f"of at most {params.max_family_size} publications",
            pl.col("size") <= params.max_family_size,
            "raise max_family_size",
        ),
        Filter(f"of at most {params.max_words} words", pl.col("n_words") <= params.max_words, "raise max_words"),
        Filter(
            f"cited by {params.min_cited_by} families",
            pl.col("n_citing") >= params.min_cited_by,
            f"set min_cited_by=0, or {MATCH_THEM}",
        ),
    ]


def _large_classes(families: pl.DataFrame, least: int) -> Filter:
    largest = max(Counter(families["dominant"]).values(), default=0)
    return Filter(
        f"in an IPC3 class of at least {least} families",
        pl.len().over("dominant") >= least,
        f"lower min_class_families (the largest class has {largest})",
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
    known = publications(patents)
    log.step("publications into families", len(patents), known["family"].n_unique())
    graph = family_graph(citations, known)
    log.step("citations between families", len(citations), len(graph.edges), graph.dropped)
    every = _merged(_publications(patents, log), params.require)
    funnel = Funnel(log, "families", params.require)
    usable, texts = _usable(every, patents, params, funnel)
    n_citing = graph.edges.group_by("cited").agg(n_citing=pl.len())
    usable = usable.join(n_citing, left_on="family", right_on="cited", how="left", maintain_order="left")
    filtered = funnel(usable.with_columns(pl.col("n_citing").fill_null(0)), _filters(params))
    retained = funnel(filtered, [_large_classes(filtered, params.min_class_families)])

    day = pl.coalesce("published", "filed")
    years = f"{params.early_years}y"  # from 29 February to 28 February
    early = pl.min_horizontal(pl.col("filed").dt.offset_by(years), params.cutoff)
    early = pl.when(pl.col("filed").is_not_null()).then(early)
    rows = retained.select("family", early=early, row=pl.int_range(pl.len(), dtype=pl.Int32))
    edges = (
        graph.edges.join(every.select(citing="family", day=day), on="citing", maintain_order="left")
        .join(rows.select(citing="family", citing_row="row"), on="citing", how="left", maintain_order="left")
        .join(rows.rename({"family": "cited"}), on="cited", maintain_order="left")
    )
    counts = edges.group_by("row").agg(
        n_early=(pl.col("day") <= pl.col("early")).sum(), n_known=(pl.col("day") <= params.cutoff).sum()
    )
    counts = rows.select("row").join(counts, on="row", how="left", maintain_order="left").fill_null(0)
    table = retained.select("family", "dominant", "filed").hstack([_splits(retained, params), *counts.drop("row")])
    between = edges.drop_nulls("citing_row")
    families, filtered_families = (Keyed(some["family"], Some(texts, some["place"])) for some in (retained, filtered))
    ipc3 = [family.ipc3 for family in families.values()]
    data = TableData(
        params,
        families,
        filtered_families,
        table,
        ipc3,
        between["citing_row"].to_numpy(),
        between["row"].to_numpy(),
        log,
    )
    _log_split(data)
    return data
