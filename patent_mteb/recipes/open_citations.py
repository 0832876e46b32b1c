"""The citations that are judgements of the open benchmark, and the reasons why the others are not.

A query is an application as filed: the first pre-grant publication of the citing application. A document is a patent
family, with the text of its earliest publication that has a text and a date; it is public from that day on. A citation
counts if query and document exist, belong to different families, the document was public before the priority date of
the query, and the category is X, Y or A. Where grants are the source, citations by the examiner count instead.

With the gate ``effective`` a document of the same office, or a PCT application, is prior art from the day it was
effectively filed, if it was published at all: 35 U.S.C. 102(a)(2), before the AIA 102(e), and Article 54(3) EPC.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from patent_mteb.patents.categories import CATEGORIES, UNGRADED, is_category, strongest
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.keyed import Keyed
from patent_mteb.patents.on_disk import publications, stored_like
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.tables import by_age, frame_of
from patent_mteb.recipes.sampling import stratum

EXAMINER = "E"  # the category of citations by the examiner where grants are the source, in one grade

_KIND = re.compile(r"[A-Z]\d?$")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A citation that counts: application as filed, document, category, and day of the office action.

    Reports, and grants, have the day of their publication. ``first`` says whether the first action on the application
    raised it. ``statutes`` are those of the citation, or else those that a list of the same application and document
    without claims gives.
    """

    query: str
    document: str
    category: str
    citation: Citation
    day: dt.date | None
    first: bool = False
    statutes: tuple[str, ...] = ()

    @property
    def grade(self) -> int:
        return CATEGORIES.get(self.category, UNGRADED).gain


_HEADER = {
    "application": pl.String,
    "office": pl.String,
    "stratum": pl.String,
    "limit": pl.Date,
    "is_pre_grant": pl.Boolean,
    "has_text": pl.Boolean,
}


def _header(patent: Patent) -> tuple[Any, ...]:
    kind = patent.kind or (last[0] if (last := _KIND.search(patent.publication_number)) else "")
    return (
        patent.application_number or f"\0{patent.family_id}\0{patent.jurisdiction}",
        patent.jurisdiction,
        "\0".join(stratum(patent)),
        patent.priority_date or patent.application_date,
        kind.startswith("A"),
        bool(patent.abstract or patent.claims or patent.description.lines()),
    )


def read_headers(patents: Sequence[Patent]) -> pl.DataFrame:
    """Return the bibliographic data that make publications queries or documents.

    Returns:
        A row for each publication: ``row`` among the patents, ``number``, ``family``, ``day`` of publication,
        ``application`` (family and office, where its number is missing), ``office``, ``stratum`` (year and IPC
        section), ``limit`` (priority date, else the filing date), ``filed``: the application as filed, which is its
        first pre-grant publication (kind A), and ``document``: the earliest publication of the family with a date and a
        text in addition to the title. Each is null if unknown.
    """
    table = publications(patents).drop("application").hstack(frame_of(map(_header, patents), _HEADER))
    earliest_first = by_age(table)
    filed = earliest_first.filter("is_pre_grant").group_by("application").agg(filed=pl.first("number"))
    documents = earliest_first.filter("has_text").drop_nulls("day").group_by("family").agg(document=pl.first("number"))
    for key, found in (("application", filed), ("family", documents)):
        table = table.join(found, on=key, how="left", maintain_order="left")
    return table.drop("is_pre_grant", "has_text")


@dataclass(frozen=True)
class Rules:
    """The rules that decide whether a citation counts.

    Citations need a category if they are ``graded``; otherwise those of examiners count, in one grade. Queries are
    applications of the ``offices`` (empty: all). Office actions after the ``last`` day do not count. ``reports`` are
    dated by their publication. With ``effective`` documents of the offices count from the day they were filed on.
    """

    offices: tuple[str, ...]
    graded: bool
    last: dt.date | None
    reports: bool = False
    effective: bool = False


def with_prior_art(headers: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Add the day from which on each document is ``prior_art``: that of its publication, or of its effective filing."""
    if not rules.effective:
        return headers.with_columns(prior_art="day")
    counts = pl.col("office").is_in([*rules.offices, "WO"]) if rules.offices else pl.lit(True)
    published = headers.select(document="number", published="day")
    filed = headers.filter(counts).join(published, on="document").filter(pl.col("limit") < pl.col("published"))
    filed = filed.group_by(number="document").agg(filed_first=pl.min("limit"))
    headers = headers.join(filed, on="number", how="left", maintain_order="left")
    return headers.with_columns(prior_art=pl.min_horizontal("day", "filed_first")).drop("filed_first")


class UsableCitations(Sequence[Judgement]):
    """The citations that count, as a table.

    A row has ``query``, ``document``, ``place`` of the citation, its ``day``, ``category``, ``grade``, whether that
    ``is_xy``, ``statutes``, and whether it is of the ``first`` action. In order (:meth:`in_order`), the citations are
    parallel to the rows.
    """

    def __init__(self, table: pl.DataFrame, citations: Sequence[Citation]) -> None:
        self.table, self.citations = table, citations

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, place: Any) -> Any:
        (judgement,) = self.of(self.table[[place]])
        return judgement

    def __iter__(self) -> Iterator[Judgement]:
        return self.of(self.table)

    def of(self, table: pl.DataFrame) -> Iterator[Judgement]:
        """Yield the judgements of some rows of the table."""
        columns = ("query", "document", "category", "place", "day", "first", "statutes")
        for query, document, category, place, day, first, statutes in table.select(columns).iter_rows():
            yield Judgement(query, document, category, self.citations[place], day, first, tuple(statutes))

    def in_order(self, queries: Collection[str]) -> UsableCitations:
        """Return the judgements of some queries in the order of query, document and category, then by citation."""
        keys = ("query", "document", "category")
        table = self.table.filter(pl.col("query").is_in(list(queries)))
        texts = [
            repr(self.citations[place]) if n_equal > 1 else ""
            for place, n_equal in table.select("place", pl.len().over(keys)).iter_rows()
        ]
        table = table.with_columns(text=pl.Series(texts, dtype=pl.String)).sort(*keys, "text", maintain_order=True)
        citations = stored_like((self.citations[place] for place in table["place"]), like=self.citations)
        return UsableCitations(table.drop("text", "place").with_row_index("place"), citations)

    @property
    def qrels(self) -> Mapping[str, dict[str, int]]:
        """The highest grade of each document by query, if the judgements are in order."""
        return grades_of(self.table, "query")


def grades_of(judgements: pl.DataFrame, query: str) -> Mapping[str, dict[str, int]]:
    """Return the highest grade of each document by the text in the column ``query``, both in order."""
    grades = judgements.group_by(query, "document").agg(pl.max("grade")).sort(query, "document")
    lists = grades.group_by(query, maintain_order=True).agg("document", "grade")
    documents, gains = lists["document"], lists["grade"]

    def judged(row: int) -> dict[str, int]:
        return dict(zip(documents[row], gains[row], strict=True))

    return Composed(Keyed(lists[query], range(len(lists))), judged)


_CITATION = {
    "citing": pl.String,
    "cited": pl.String,
    "written": pl.String,
    "by_examiner": pl.Boolean,
    "date": pl.Date,
    "has_claims": pl.Boolean,
    "statutes": pl.List(pl.String),
}


def _citation(one: Citation) -> tuple[Any, ...]:
    by_examiner = one.origin == "examiner"
    return one.citing, one.cited, one.category, by_examiner, one.date, bool(one.claims), one.statutes


def usable_citations(
    citations: Sequence[Citation], headers: pl.DataFrame, rules: Rules
) -> tuple[UsableCitations, dict[str, int]]:
    """Return the citations that count, and the number of the others by reason.

    ``headers`` are those of :func:`read_headers` with the days of :func:`with_prior_art`.
    """
    links = frame_of(map(_citation, citations), _CITATION).with_row_index("place")
    categories = ((name, strongest(name) if is_category(name) else None) for name in links["written"].unique())
    kinds = frame_of(categories, {"written": pl.String, "category": pl.String})
    known: dict[str, pl.DataFrame] = {
        "written": kinds,
        "citing": headers.select(citing="number", query="filed", citing_day="day"),
        "cited": headers.select("document", cited="number"),
        "query": headers.select(query="number", office="office", query_family="family", limit="limit"),
        "document": headers.select("family", "prior_art", document="number"),
    }
    for key, table in known.items():
        links = links.join(table, on=key, how="left", maintain_order="left")
    if not rules.graded:
        links = links.with_columns(category=pl.when("by_examiner").then(pl.lit(EXAMINER)).otherwise(pl.lit("")))
    dated_by_report = rules.reports or not rules.graded
    links = links.with_columns(day=pl.coalesce("date", "citing_day") if dated_by_report else pl.col("date"))
    first = pl.col("day") == pl.col("day").min().over("query")
    links = links.with_columns(reason=_reason(rules), first=first.fill_null(False) & rules.graded)
    counts = links.drop_nulls("reason").group_by("reason").len()
    gains = pl.DataFrame(
        [(name, row.gain, row.degree == "xy") for name, row in {**CATEGORIES, EXAMINER: UNGRADED}.items()],
        {"category": pl.String, "grade": pl.Int64, "is_xy": pl.Boolean},
        orient="row",
    )
    listed = (
        links.filter(~pl.col("has_claims"), pl.col("statutes").list.len() > 0)
        .drop_nulls(["query", "document"])
        .group_by("query", "document")
        .agg(pl.col("statutes").list.explode().unique().sort().alias("listed"))
    )
    usable = (
        links.filter(pl.col("reason").is_null())
        .join(gains, on="category", maintain_order="left")
        .join(listed, on=["query", "document"], how="left", maintain_order="left")
    )
    own = pl.when(pl.col("statutes").list.len() > 0).then("statutes")
    statutes = pl.coalesce(own, "listed", pl.lit([], pl.List(pl.String)))
    columns = ("query", "document", "place", "day", "category", "grade", "is_xy", "first")
    return UsableCitations(usable.select(*columns, statutes=statutes), citations), dict(counts.iter_rows())


def _reason(rules: Rules) -> pl.Expr:
    """Return the first reason why a citation does not count, null if it counts."""
    no_letter = "without a letter X, Y or A" if rules.graded else "that are not by the examiner"
    too_late = "neither public nor filed" if rules.effective else "not public"
    office, limit = pl.col("office"), pl.col("limit")
    reasons = {
        "of applications without a publication before grant": pl.col("query").is_null(),
        "of applications of other offices": ~office.is_in(rules.offices) if rules.offices else pl.lit(False),
        "of applications without a priority or filing date": limit.is_null(),
        "with a category that no search report uses": pl.col("category").is_null(),
        no_letter: pl.col("category") == "",
        "after the window": pl.col("date") > rules.last if rules.last else pl.lit(False),
        "of families without a dated text": pl.col("document").is_null(),
        "within a family": pl.col("family") == pl.col("query_family"),
        f"of documents that were {too_late} before the query's priority date": pl.col("prior_art") >= limit,
    }
    return pl.coalesce(pl.when(holds).then(pl.lit(f"citations {why}")) for why, holds in reasons.items())
