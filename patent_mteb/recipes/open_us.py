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
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import CATEGORIES
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.locations import locations_in, paragraphs_in
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.records import Citation, Description, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.patents.text_columns import Keyed, Lists, Rows, RowsOf, TextMap, by_itself, column, values_of
from patent_mteb.recipes import Common
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.open_citations import (
    Headers,
    Rules,
    UsableCitations,
    days_as_prior_art,
    usable_citations,
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

ByClaim = Mapping[str, Rows]  # places of the judgements of each claim that is a query

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


def build_as(
    name: str,
    patents: Sequence[Patent],
    citations: Sequence[Citation],
    root: Path,
    params: Params,
    *,
    graded: bool = True,
    reports: bool = False,
    write_more: Callable[[Path, Sequence[Patent], Headers, Rows, Iterable[str], BuildLog], None] | None = None,
) -> BuildLog:
    """Write ``root/<name>``. Texts are read one at a time; the rest is in columns.

    Citations have categories and claims if they are ``graded``; otherwise examiners' citations on grants count, in one
    grade. Citations of search ``reports`` have the date of their publication. ``write_more`` writes further files from
    the rows of the corpus and the ids of the claims.
    """
    log = BuildLog(name)
    headers = Headers(patents)
    documents = headers.documents[headers.documents >= 0]
    families = len(np.unique(headers.families))
    log.step("families", families, len(documents), f"{families - len(documents)} without a dated text")
    rules = Rules(params.offices, graded, params.last, reports, params.gate == "effective")
    prior_art = days_as_prior_art(headers, rules)
    usable, reasons = usable_citations(citations, headers, prior_art, rules)
    log.step("citations", len(citations), len(usable), counts_note(dict(sorted(reasons.items()))))
    queries = _queries(usable, params, rules, log)
    judgements = usable.in_order(queries)
    corpus = _corpus(judgements, documents, prior_art, queries, params, log)
    rows, folder = headers.in_order(np.concatenate([corpus, queries])), root / name
    cleaned = DiskList(replace(clean_patent(patents[row]), description=_NO_DESCRIPTION) for row in values_of(rows))
    texts = Keyed(headers.numbers_of(rows), cleaned)
    qrels = Composed(judgements.by_query, judgements.grades)
    early = documents[prior_art[documents] < headers.public[documents]]
    filed = Keyed(headers.numbers_of(early), [dt.date.fromordinal(day) for day in values_of(prior_art[early])])
    layout.write_documents(folder, texts, values_of(headers.numbers_of(corpus)), qrels, judgements, filed)
    if graded and (by_claim := _write_claims(folder, texts, judgements, log)):
        _write_passages(folder, patents, corpus, judgements, by_claim, params.passages == "all", log)
        if write_more:
            write_more(folder, patents, headers, corpus, by_claim, log)
    log.record_files(root, name)
    return log


def _queries(judgements: UsableCitations, params: Params, rules: Rules, log: BuildLog) -> Rows:
    """Draw the queries among the applications with a citation in the window."""
    headers, rows = judgements.headers, judgements.rows
    earliest, latest = (params.first or dt.date.min).toordinal(), (params.last or dt.date.max).toordinal()
    unlimited = params.first is None and params.last is None
    makes_query = np.where(rows["day"] > 0, (earliest <= rows["day"]) & (rows["day"] <= latest), unlimited)
    if params.first_action:
        makes_query &= rows["first"]
    if rules.graded:
        makes_query &= judgements.is_xy
    report = "search report" if rules.reports else "office action"
    article = "their first" if params.first_action else "a" if rules.reports else "an"
    what = f"an X or Y citation in {article} {report}" if rules.graded else "a citation by the examiner"
    window = f"applications with {what} of the window {params.first or ''} to {params.last or ''}"
    found = np.unique(rows["query"][makes_query])
    log.step("queries", len(np.unique(rows["query"])), len(found), window)
    if not len(found):
        problem = f"no application has {what} of the window ({len(rows)} usable citations in all)"
        raise DataError(problem, remedy=_ADD)
    strata = TextMap(headers.numbers_of(found), headers.strata.coded(found))
    return headers.index.rows_of(column(sample_queries(strata, params.queries, params.seed, log)))


def _corpus(
    judgements: UsableCitations, documents: Rows, prior_art: Rows, queries: Rows, params: Params, log: BuildLog
) -> Rows:
    """Return the judged documents and a sample of others that a query may find."""
    headers = judgements.headers
    judged = np.unique(judgements.rows["document"])
    in_time = documents[prior_art[documents] < headers.limit[queries].max()]
    chosen = by_itself(headers.numbers_of(judged))
    others = fill_up(values_of(headers.numbers_of(in_time)), chosen, params.documents, params.seed)
    filed = "filed" if (prior_art < headers.public)[documents].any() else "public"
    note = (
        f"{len(judged)} judged; {len(documents) - len(in_time)} were not {filed} before the latest priority date of a"
        " query"
    )
    log.step("corpus", len(documents), len(judged) + len(others), note)
    return headers.in_order(np.concatenate([judged, headers.index.rows_of(column(others))]))


def _write_claims(folder: Path, texts: Mapping[str, Patent], judgements: UsableCitations, log: BuildLog) -> ByClaim:
    """Write the rejected claims as queries; return the places of the judgements of each."""
    counts: Counter[str] = Counter()
    documents = judgements.rows["document"]
    query_of, claim_of = array("i"), array("i")
    against_it, unjudged = Lists(), Lists()  # places of judgements, and rows of documents
    citations = iter(judgements.citations)
    for place, (query, places) in enumerate(judgements.by_query.items()):
        parents = {claim.number: claim.depends_on for claim in texts[query].claims}
        against: dict[int, list[int]] = {}
        unspecific: set[int] = set()  # documents cited without a claim
        for one, citation in zip(range(places.start, places.stop), citations, strict=False):
            if not citation.claims:
                counts["citations without a claim"] += 1
                unspecific.add(int(documents[one]))
            for claim in citation.claims:
                if claim in parents:
                    against.setdefault(claim, []).append(one)
                else:
                    counts["rejected claims that the application did not have as filed"] += 1
        for claim, group in against.items():
            if not judgements.is_xy[group].any():
                counts["claims with A citations only"] += 1
                continue
            cited = set(documents[group].tolist())
            above = [one for parent in ancestors(parents, claim) for one in against.get(parent, ())]
            of_parent = set(documents[above].tolist()) - cited
            unspecific_only = unspecific - of_parent - cited
            counts["documents of a parent claim, unjudged"] += len(of_parent)
            counts["documents cited without a claim, unjudged"] += len(unspecific_only)
            query_of.append(place)
            claim_of.append(claim)
            against_it.append(group)
            unjudged.append(of_parent | unspecific_only)
    ids = column(map(layout.text_id, values_of(judgements.queries.take(pa.array(query_of, pa.int32()))), claim_of))
    order = pc.sort_indices(ids).to_numpy()
    rows = Keyed(ids.take(pa.array(order)), order)

    def grades_of(row: int) -> dict[str, int]:
        others = set(documents[judgements.of_query(query_of[row])].tolist()).difference(unjudged[row].tolist())
        irrelevant = judgements.headers.numbers_of(np.array(list(others), np.int32)).to_pylist()
        return dict(sorted((dict.fromkeys(irrelevant, 0) | judgements.grades(against_it[row])).items()))

    by_claim = Composed(rows, against_it.__getitem__)
    log.step("claims", len(judgements), len(by_claim), counts_note(dict(sorted(counts.items()))))
    if by_claim:
        of_claim = Composed(by_claim, lambda places: [judgements[place] for place in places.tolist()])
        layout.write_claims(folder, texts, Composed(rows, grades_of), of_claim)
        _log_locations(judgements.citations, log)
    return by_claim


def _write_passages(
    folder: Path,
    patents: Sequence[Patent],
    corpus: Rows,
    judgements: UsableCitations,
    by_claim: ByClaim,
    every_document: bool,
    log: BuildLog,
) -> None:
    """Write the paragraphs of the judged documents, or of all, as documents."""
    documents = judgements.rows["document"]
    judged = np.zeros(len(judgements), bool)
    for places in by_claim.values():
        judged[places] = True
    of_document, with_paragraphs, n_paragraphs = RowsOf(documents), array("i"), 0
    cited, list_of = Lists(), np.full(len(judgements), -1, np.int32)  # cited paragraphs, and their list by judgement
    for row in values_of(corpus if every_document else corpus[np.isin(corpus, documents[judged])]):
        numbered = layout.numbered_paragraphs(patents[row]).keys()
        if not numbered:
            continue
        with_paragraphs.append(row)
        n_paragraphs += len(numbered)
        for place in filter(judged.__getitem__, of_document(row)):
            one = judgements[place]
            # a citation of another publication of the family names paragraphs of that one
            named = paragraphs_in(one.citation.passages) if one.citation.cited == one.document else ()
            if not numbered.isdisjoint(named):
                list_of[place] = len(cited)
                cited.append(number for number in named if number in numbered)
    qrels = _graded_paragraphs(judgements, by_claim, cited, list_of)
    note = (
        f"claims with a cited paragraph; of {n_paragraphs} numbered paragraphs of {len(with_paragraphs)} documents;"
        f" {int(judged.sum()) - len(cited)} citations name none of them"
    )
    log.step("passages", len(by_claim), len(qrels), note)
    if qrels:
        numbers = judgements.headers.numbers
        texts = ((numbers[row].as_py(), layout.numbered_paragraphs(patents[row])) for row in with_paragraphs)
        layout.write_passages(folder, texts, qrels)


def _graded_paragraphs(
    judgements: UsableCitations, by_claim: ByClaim, cited: Lists, list_of: Rows
) -> Mapping[str, dict[str, int]]:
    """Return the grades of cited paragraphs by claim, from a temporary file; some are more than background."""
    grades: DiskList[dict[str, int]] = DiskList()

    def claims() -> Iterator[str]:
        for claim, places in by_claim.items():
            found: dict[str, int] = {}
            for place in places[list_of[places] >= 0].tolist():
                one = judgements[place]
                for number in cited[list_of[place]].tolist():
                    key = layout.text_id(one.document, number)
                    found[key] = max(one.grade, found.get(key, 0))
            if max(found.values(), default=0) > CATEGORIES["A"].gain:
                grades.append(found)
                yield claim

    return Keyed(column(claims()), grades)


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
