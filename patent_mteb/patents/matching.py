"""Match cited numbers to records: by number, without the kind code, or through the patent family.

A collection may spell a cited number differently, may contain another publication of the same application only (the B2
of a cited A1), or another member of its family only. Each of these is a step (:data:`STEPS`): later steps match more
citations but less exactly. The caller chooses the last step; the report counts the citations that need each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import DEGREES, degree
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import Publications, completed, parsed
from patent_mteb.patents.on_disk import publications, stored_like
from patent_mteb.patents.records import Citation
from patent_mteb.patents.tables import by_age, links_of
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
_EXAMPLES = 5  # cited numbers in a report, a choice


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


_SERIES = pl.when(pl.col("kind") != "").then("series")  # a number without kind code can be of any series


def _records_of(numbers: pl.Series, collection: Collection) -> pl.DataFrame:
    """Find the record of each distinct number.

    Returns:
        Each ``number`` with the rank of the step that it ``needs``, the ``row`` of its record and the ``family`` of the
        latter as a number (null without a record), and whether it ``is_read``.
    """
    known = Publications(collection.patents, collection.relations, collection.families)
    applications = known.by_application().rename({"group": "application"})
    read = known.numbers.head(len(known.records)).select("name", "key", series=_SERIES)
    records = known.records.drop("application").hstack(read)
    records = records.join(applications, on="publication", how="left", maintain_order="left")
    records = records.with_columns(office=pl.col("number").str.head(2).str.to_uppercase())

    asked = parsed(numbers.unique(maintain_order=True))
    ways = (("number", "number"), ("name", "number"), ("name", "name"))
    asked = asked.with_columns(row=pl.coalesce([_first(asked, records, {own: its}) for own, its in ways]))
    rest = asked.filter(pl.col("row").is_null())
    names = completed(rest, known.numbers)["name"].alias("publication")
    rest = rest.select("number", "key", names, office=pl.col("key").str.head(2), series=_SERIES)
    for further in (applications, known.own.select("publication", "family")):
        rest = rest.join(further, on="publication", how="left", maintain_order="left")
    records = by_age(records)
    rest = rest.join(_of_one_series(rest, records), on="number", how="left", maintain_order="left")
    by_kind = pl.coalesce("of_series", _nearest(rest, records, "application"))
    steps = rest.select("number", by_kind=by_kind, by_family=_nearest(rest, records, "family"))

    ranked = [(pl.col(one).is_not_null(), rank) for rank, one in enumerate(("row", "by_kind", "by_family"))]
    needs = pl.coalesce(*(pl.when(is_found).then(rank) for is_found, rank in ranked), _NOWHERE).cast(pl.UInt8)
    row = pl.coalesce("row", "by_kind", "by_family")
    found = asked.join(steps, on="number", how="left").select(
        "number", needs=needs, row=row, is_read=pl.col("key").is_not_null()
    )
    return found.join(records.select("row", pl.col("family").rank("dense")), on="row", how="left")


def _first(asked: pl.DataFrame, records: pl.DataFrame, columns: Mapping[str, str]) -> pl.Series:
    """Return the first record whose columns are equal to the named ones of each number, null if there is none."""
    own = (pl.col(of_record).alias(name) for name, of_record in columns.items())
    first = records.select(pl.col("row").alias("found"), *own).unique(list(columns), keep="first", maintain_order=True)
    return asked.select(*columns).join(first, on=list(columns), how="left", maintain_order="left")["found"]


def _nearest(asked: pl.DataFrame, records: pl.DataFrame, group: str) -> pl.Expr:
    """Prefer the same office, then the earliest record, in the group of each number."""
    same = {group: group}
    return pl.coalesce(_first(asked, records, {"office": "office"} | same), _first(asked, records, same))


def _of_one_series(asked: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """Return the nearest record with the same serial that can be of the same application, by ``number``.

    A number without kind code can be of any series, and is ambiguous if records of several series have its serial.
    """
    its = records.select("key", "row", its_office="office", its_series="series").with_row_index("age")
    alike = asked.select("number", "key", "office", "series").join(its, on="key")
    its_series = pl.col("its_series")
    can_be = its_series.is_null() | (its_series == pl.col("series"))
    one_series = its_series.drop_nulls().n_unique().over("number") <= 1
    of_one = alike.filter(pl.when(pl.col("series").is_null()).then(one_series).otherwise(can_be))
    nearest = of_one.sort(pl.col("its_office") != pl.col("office"), "age")
    return nearest.unique("number", keep="first", maintain_order=True).select("number", of_series="row")


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
    """The citations by their ``place``, with what :func:`_records_of` finds for both ends, and the records' numbers."""

    table: pl.DataFrame
    numbers: pl.Series
    unreadable: int


def _ends(citations: Iterable[Citation], collection: Collection) -> _Ends:
    links = links_of(citations)
    found = _records_of(pl.concat([links["citing"], links["cited"]]), collection)
    table = links.select("cited").with_row_index("place")
    for end in ("citing", "cited"):
        of_end = links.select(number=end).join(found, on="number", how="left", maintain_order="left")
        table = table.hstack([of_end[name].alias(f"{end}_{name}") for name in ("needs", "row", "family")])
    return _Ends(table, publications(collection.patents)["number"], int((~found["is_read"]).sum()))


_PAIR = ["citing_row", "cited_row"]


def _matched(
    citations: Sequence[Citation], found: _Ends, by: str, joined: bool = True
) -> tuple[Sequence[Citation], MatchReport]:
    ends = found.table
    known_citing, known_cited = (pl.col(f"{end}_needs") <= _RANK[by] for end in ("citing", "cited"))
    matched, unknown_cited = ends.filter(known_citing & known_cited), ends.filter(known_citing & ~known_cited)
    between = matched.filter(pl.col("citing_family") != pl.col("cited_family"))
    links = stored_like((_links if joined else _each)(citations, between, found.numbers), like=citations)
    needs = ends.select(pl.max_horizontal("citing_needs", "cited_needs")).to_series()
    exact, through_kind, through_family = (int((needs == rank).sum()) for rank in range(_NOWHERE))
    report = MatchReport(
        by=by,
        citations=len(citations),
        matched=len(matched),
        unknown_citing=len(ends) - len(matched) - len(unknown_cited),
        unknown_cited=len(unknown_cited),
        exact=exact,
        through_kind=through_kind,
        through_family=through_family,
        own_family=len(matched) - len(between),
        duplicates=len(between) - len(links),
        links=len(links),
        unreadable=found.unreadable,
        examples=tuple(unknown_cited["cited"].unique(maintain_order=True).head(_EXAMPLES)),
    )
    return links, report


def _links(citations: Sequence[Citation], between: pl.DataFrame, numbers: pl.Series) -> Iterator[Citation]:
    """Yield one citation for each pair, in the order of their first citations."""
    pairs = between.group_by(_PAIR, maintain_order=True).agg("place")
    is_first = np.zeros(len(citations), bool)
    is_first[pairs["place"].list.first().to_numpy()] = True
    for citation, (citing, cited, places) in zip(compress(citations, is_first), pairs.iter_rows(), strict=True):
        all_of_it = [citation, *(citations[other] for other in places[1:])]
        link = _joined(all_of_it) if len(all_of_it) > 1 else citation
        yield replace(link, citing=numbers[citing], cited=numbers[cited])


def _each(citations: Sequence[Citation], between: pl.DataFrame, numbers: pl.Series) -> Iterator[Citation]:
    """Yield the distinct citations between families.

    Passages are dropped if the matched record is another publication than the cited one.
    """
    seen: set[bytes] = set()
    is_exact, has_others = pl.col("cited_needs") == 0, pl.len().over(_PAIR) > 1
    rows = between.select("place", *_PAIR, is_exact.alias("is_exact"), has_others.alias("has_others"))
    for place, citing, cited, exact, others in rows.iter_rows():
        link = replace(citations[place], citing=numbers[citing], cited=numbers[cited])
        if not exact:
            link = replace(link, passages=())
        if others:
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
