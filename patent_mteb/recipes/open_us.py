"""Recipe of PatentOpenUS: a citation benchmark that anyone can rebuild from open bulk data of the USPTO.

Queries are applications as filed, the text that the examiner searched, with at least one usable X or Y citation in an
office action of the window. Documents are patent families with the text of their earliest publication
(:mod:`patent_mteb.recipes.open_citations`). The directory has the layout of :mod:`patent_mteb.recipes.open_layout`, in
BEIR's format: documents and queries, the rejected claims as further queries, and the numbered paragraphs of cited
documents as further documents.

* **Grades**: X 3, Y 2, A 1, the strongest of all citations of a pair. All usable citations of a query count that were
  raised until the end of the window, whenever they were raised.
* **Claims**: a query is a rejected claim of the application as filed, with the claims that it depends on. Documents
  cited against it are relevant; documents cited only against other claims of the application have grade 0. Documents
  cited against a claim that it depends on are unjudged, if they are not cited against it: a dependent claim includes
  all features of its parent (35 U.S.C. 112(d)), so they are not irrelevant, but how relevant they are to the further
  feature the examiner did not say. Documents cited without a claim are unjudged as well. The claims are those as filed,
  but a later office action may concern amended claims: the slices ``first_action`` and by kind of action separate them.
* **First action**: with ``first_action`` an application is a query only in the window of its first office action, and
  only if that action cites an X or Y. Editions of windows that do not overlap then share no query.
* **Gate**: see :mod:`patent_mteb.recipes.open_citations`.
* **Passages**: the paragraphs cited against a claim are relevant, if the cited publication is the document itself and
  numbers its paragraphs (:mod:`patent_mteb.patents.locations`). Citations of columns and lines, figures or whole pages
  do not name a paragraph.
* **Sampling** to a given size is by hash of the number: neither the order of files nor other records matter.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal

import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import CATEGORIES
from patent_mteb.patents.keyed import Keyed
from patent_mteb.patents.locations import locations_in, paragraphs_in
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.records import Citation, Description, Patent
from patent_mteb.patents.tables import frame_of
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes import Common
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.open_citations import (
    Rules,
    UsableCitations,
    grades_of,
    read_headers,
    usable_citations,
    with_prior_art,
)
from patent_mteb.recipes.parameters import Positive
from patent_mteb.recipes.sampling import fill_up, sample_queries
from patent_mteb.recipes.steps import BuildLog, Need, counts_note
from patent_mteb.sample import load_examined

NAME = "PatentOpenUS"
COMMON = Common(match="number", families="extended")
"""A fifth of US publications continue an earlier application, with its description: one family."""
EACH_CITATION = True  # an office action may cite a document as X against some claims and as A against others

NEEDS = (
    Need("title", "TAC"),
    Need("abstract", "TAC, Abstract"),
    Need("claims", "TAC, Claims, Claim"),
    Need("description", "Passage"),
    Need("ipc", "IN and OUT, sampling"),
    Need("citations", "every table", drops="queries", fixed=True),
    Need("category", "every table", drops="queries", fixed=True),
)

_NO_DESCRIPTION = Description()
_ADD = "import enriched citations and the publications of both sides, or widen the window (first, last)"


@dataclass(frozen=True)
class Params:
    """Settings of the recipe.

    Attributes:
        first: first day of the window of office actions; None: no limit.
        last: last day of the window; None: no limit.
        offices: offices whose applications are queries.
        first_action: whether an application is a query only in the window of its first office action.
        gate: documents count from the day they were ``published`` or, of the same office, ``effective``ly filed.
        queries: most queries, stratified by year and IPC section; None: all.
        documents: size of the corpus: all judged documents, and others by hash of their number; None: all.
        passages: the documents whose paragraphs are searched: those judged for a claim, or the whole corpus.
        seed: seed of every draw.
    """

    first: dt.date | None = None
    last: dt.date | None = None
    offices: tuple[str, ...] = ("US",)
    first_action: bool = False
    gate: Literal["published", "effective"] = "published"
    queries: Positive | None = None
    documents: Positive | None = None
    passages: Literal["judged", "all"] = "judged"
    seed: int = 42

    def __post_init__(self) -> None:
        if self.first and self.last and self.last < self.first:
            raise ValueError(f"the window ends on {self.last}, before it begins on {self.first}")


SAMPLE = Params()
sample_records = load_examined


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write ``root/PatentOpenUS``."""
    return build_as(NAME, patents, citations, root, params)


WriteMore = Callable[[Path, Sequence[Patent], pl.DataFrame, pl.DataFrame, pl.DataFrame, BuildLog], None]


def build_as(
    name: str,
    patents: Sequence[Patent],
    citations: Sequence[Citation],
    root: Path,
    params: Params,
    *,
    graded: bool = True,
    reports: bool = False,
    write_more: WriteMore | None = None,
) -> BuildLog:
    """Write ``root/<name>``. Texts are read one at a time; the rest is in columns.

    Citations have categories and claims if they are ``graded``; otherwise examiners' citations on grants count, in one
    grade. Citations of search ``reports`` have the date of their publication. ``write_more`` writes further files from
    the headers, those of the corpus, and the claims.
    """
    log = BuildLog(name)
    rules = Rules(params.offices, graded, params.last, reports, params.gate == "effective")
    headers = with_prior_art(read_headers(patents), rules)
    documents = headers.filter(pl.col("number") == pl.col("document"))
    families = headers["family"].n_unique()
    log.step("families", families, len(documents), f"{families - len(documents)} without a dated text")
    usable, reasons = usable_citations(citations, headers, rules)
    log.step("citations", len(citations), len(usable), counts_note(dict(sorted(reasons.items()))))
    queries = _queries(usable, headers, params, rules, log)
    judgements = usable.in_order(queries)
    corpus = _corpus(judgements, documents, headers, queries, params, log)
    chosen, folder = headers.filter(pl.col("number").is_in([*corpus["number"], *queries])).sort("number"), root / name
    cleaned = DiskList(replace(clean_patent(patents[row]), description=_NO_DESCRIPTION) for row in chosen["row"])
    texts = Keyed(chosen["number"], cleaned)
    early = documents.filter(pl.col("prior_art") < pl.col("day"))
    filed = dict(early.select("number", "prior_art").iter_rows())
    layout.write_documents(folder, texts, corpus["number"], judgements.qrels, judgements, filed)
    if graded and len(claims := _write_claims(folder, texts, judgements, log)):
        _write_passages(folder, patents, corpus, judgements, claims, params.passages == "all", log)
        if write_more:
            write_more(folder, patents, headers, corpus, claims, log)
    log.record_files(root, name)
    return log


def _queries(usable: UsableCitations, headers: pl.DataFrame, params: Params, rules: Rules, log: BuildLog) -> list[str]:
    """Draw the queries among the applications with a citation in the window."""
    day, unlimited = pl.col("day"), params.first is None and params.last is None
    in_window = day.is_between(params.first or dt.date.min, params.last or dt.date.max).fill_null(unlimited)
    wanted = in_window & (pl.col("first") | (not params.first_action)) & (pl.col("is_xy") | (not rules.graded))
    found = usable.table.filter(wanted).select(number="query").unique()
    report = "search report" if rules.reports else "office action"
    article = "their first" if params.first_action else "a" if rules.reports else "an"
    what = f"an X or Y citation in {article} {report}" if rules.graded else "a citation by the examiner"
    window = f"applications with {what} of the window {params.first or ''} to {params.last or ''}"
    log.step("queries", usable.table["query"].n_unique(), len(found), window)
    if found.is_empty():
        problem = f"no application has {what} of the window ({len(usable)} usable citations in all)"
        raise DataError(problem, remedy=_ADD)
    strata = dict(headers.join(found, on="number", how="semi").select("number", "stratum").iter_rows())
    return sample_queries(strata, params.queries, params.seed, log)


def _corpus(
    judgements: UsableCitations,
    documents: pl.DataFrame,
    headers: pl.DataFrame,
    queries: Sequence[str],
    params: Params,
    log: BuildLog,
) -> pl.DataFrame:
    """Return the judged documents and a sample of others that a query may find, in the order of their numbers."""
    judged = set(judgements.table["document"])
    latest = headers.filter(pl.col("number").is_in(queries))["limit"].max()
    in_time = documents.filter(pl.col("prior_art") < latest)
    others = fill_up(in_time["number"], judged, params.documents, params.seed)
    filed = "public" if documents.filter(pl.col("prior_art") < pl.col("day")).is_empty() else "filed"
    note = (
        f"{len(judged)} judged; {len(documents) - len(in_time)} were not {filed} before the latest priority date of a"
        " query"
    )
    log.step("corpus", len(documents), len(judged) + len(others), note)
    return documents.filter(pl.col("number").is_in([*judged, *others])).sort("number")


_CLAIM = {"claim": pl.String, "query": pl.String, "places": pl.List(pl.Int64), "unjudged": pl.List(pl.String)}


def _write_claims(
    folder: Path, texts: Mapping[str, Patent], judgements: UsableCitations, log: BuildLog
) -> pl.DataFrame:
    """Write the rejected claims as queries.

    Returns:
        A row for each ``claim`` in order: its application (``query``), the ``places`` of the judgements against it, and
        the documents that are ``unjudged`` for it.
    """
    counts: Counter[str] = Counter()

    def rejected() -> Iterator[tuple[str, str, list[int], list[str]]]:
        rows = zip(judgements.table.select("query", "document", "is_xy").iter_rows(), judgements.citations, strict=True)
        for query, group in groupby(enumerate(rows), key=lambda item: item[1][0][0]):
            cited_by = {place: (document, is_xy, citation.claims) for place, ((_, document, is_xy), citation) in group}
            parents = {claim.number: claim.depends_on for claim in texts[query].claims}
            against: dict[int, list[int]] = {}
            unspecific: set[str] = set()  # documents cited without a claim
            for place, (document, _, claims) in cited_by.items():
                if not claims:
                    counts["citations without a claim"] += 1
                    unspecific.add(document)
                for claim in claims:
                    if claim in parents:
                        against.setdefault(claim, []).append(place)
                    else:
                        counts["rejected claims that the application did not have as filed"] += 1
            for claim, places in against.items():
                if not any(cited_by[place][1] for place in places):
                    counts["claims with A citations only"] += 1
                    continue
                cited = {cited_by[place][0] for place in places}
                above = (place for parent in ancestors(parents, claim) for place in against.get(parent, ()))
                of_parent = {cited_by[place][0] for place in above} - cited
                unspecific_only = unspecific - of_parent - cited
                counts["documents of a parent claim, unjudged"] += len(of_parent)
                counts["documents cited without a claim, unjudged"] += len(unspecific_only)
                yield layout.text_id(query, claim), query, places, sorted(of_parent | unspecific_only)

    claims = frame_of(rejected(), _CLAIM).sort("claim")
    log.step("claims", judgements.table["query"].n_unique(), len(claims), counts_note(dict(sorted(counts.items()))))
    if len(claims):
        against_it = _against(claims, judgements)
        others = claims.join(judgements.table.select("query", "document").unique(), on="query")
        others = others.filter(~pl.col("document").is_in(pl.col("unjudged")))
        judged = [against_it.select("claim", "document", "grade"), others.select("claim", "document", grade=pl.lit(0))]
        of_claims = zip(against_it["claim"], judgements.of(against_it), strict=True)
        qrels = grades_of(pl.concat(judged, how="vertical_relaxed"), "claim")
        layout.write_claims(folder, texts, qrels, groupby(of_claims, key=itemgetter(0)))
        _log_locations(judgements.citations, log)
    return claims


def _against(claims: pl.DataFrame, judgements: UsableCitations) -> pl.DataFrame:
    """Return a row for each claim and each judgement against it."""
    each = claims.select("claim", place="places").explode("place")
    return each.join(judgements.table.with_columns(pl.col("place").cast(pl.Int64)), on="place", maintain_order="left")


def _write_passages(
    folder: Path,
    patents: Sequence[Patent],
    corpus: pl.DataFrame,
    judgements: UsableCitations,
    claims: pl.DataFrame,
    every_document: bool,
    log: BuildLog,
) -> None:
    """Write the paragraphs of the judged documents, or of all, as documents."""
    against = _against(claims, judgements)
    judged = dict(against.group_by("document").agg(pl.col("place").unique()).iter_rows())
    searched = corpus.filter(every_document | pl.col("number").is_in(list(judged)))
    with_paragraphs: list[tuple[str, int]] = []
    n_paragraphs = 0

    def cited() -> Iterator[tuple[int, str]]:
        nonlocal n_paragraphs
        for document, row in searched.select("number", "row").iter_rows():
            numbered = layout.numbered_paragraphs(patents[row]).keys()
            if not numbered:
                continue
            with_paragraphs.append((document, row))
            n_paragraphs += len(numbered)
            for place in judged.get(document, ()):
                citation = judgements.citations[place]
                # a citation of another publication of the family names paragraphs of that one
                named = paragraphs_in(citation.passages) if citation.cited == document else ()
                yield from ((place, layout.text_id(document, number)) for number in named if number in numbered)

    paragraphs = frame_of(cited(), {"place": pl.Int64, "paragraph": pl.String})
    graded = against.join(paragraphs, on="place").select("claim", "grade", document="paragraph")
    graded = graded.filter(pl.col("grade").max().over("claim") > CATEGORIES["A"].gain)
    qrels = grades_of(graded, "claim")
    n_judged, n_naming = sum(map(len, judged.values())), paragraphs["place"].n_unique()
    note = (
        f"claims with a cited paragraph; of {n_paragraphs} numbered paragraphs of {len(with_paragraphs)} documents;"
        f" {n_judged - n_naming} citations name none of them"
    )
    log.step("passages", len(claims), len(qrels), note)
    if qrels:
        texts = ((document, layout.numbered_paragraphs(patents[row])) for document, row in with_paragraphs)
        layout.write_passages(folder, texts, qrels)


def ancestors(parents: Mapping[int, Sequence[int]], claim: int) -> set[int]:
    """Return the claims that a claim depends on, directly or through others."""
    found: set[int] = set()
    waiting = [claim]
    while waiting:
        new = set(parents.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found - {claim}


def _log_locations(citations: Iterable[Citation], log: BuildLog) -> None:
    """Log what the passages of citations name, and the share that names paragraphs."""
    found: Counter[str] = Counter()
    chained = 0
    for citation in citations:
        if citation.passages:
            locations = [one for passage in citation.passages for one in locations_in(passage)]
            named = {one.unit for one in locations}
            chained += any(one.chained for one in locations)
            units = (f"{unit}s" for unit in ("paragraph", "column", "page") if unit in named)
            found[next(units, "neither paragraph, column nor page")] += 1
    share = found["paragraphs"] / max(1, found.total())
    note = f"citations with passages, {share:.0%} of them with paragraphs: {counts_note(dict(sorted(found.items())))}"
    if chained:
        note += f"; {chained} with chains of dashes, which are unclear and read as single numbers"
    log.step("locations", found.total(), found["paragraphs"], note)
