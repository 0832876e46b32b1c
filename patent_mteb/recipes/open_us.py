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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Literal

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import CATEGORIES, degree
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.locations import locations_in, paragraphs_in
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.records import Citation, Description, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes import Common
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.open_citations import (
    Header,
    Judgement,
    Rules,
    documents_of,
    filing_days,
    headers_of,
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

ByClaim = Mapping[str, Sequence[Judgement]]  # judgements of each claim that is a query

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
    write_more: Callable[[Path, Sequence[Patent], Sequence[Header], ByClaim, BuildLog], None] | None = None,
) -> BuildLog:
    """Write ``root/<name>``. Only headers and the citations that count are in memory.

    Citations have categories and claims if they are ``graded``; otherwise examiners' citations on grants count, in one
    grade. Citations of search ``reports`` have the date of their publication. ``write_more`` writes further files.
    """
    log = BuildLog(name)
    headers = headers_of(patents)
    documents = documents_of(headers)
    families = len({one.family for one in headers})
    log.step("families", families, len(documents), f"{families - len(documents)} without a dated text")
    rules = Rules(params.offices, graded, params.last, reports, params.gate == "effective")
    filed = filing_days(headers, documents, rules)
    judgements, reasons = usable_citations(citations, headers, documents, rules)
    # an order that does not depend on that of the input, with one text of a citation in memory at a time
    judgements.sort(key=_pair_and_category)
    equal = (group for _, group in groupby(judgements, key=_pair_and_category))
    judgements = [one for group in equal for one in sorted(group, key=lambda one: repr(one.citation))]
    log.step("citations", len(citations), len(judgements), counts_note(dict(sorted(reasons.items()))))
    known = {one.number: one for one in headers}
    queries = _queries(judgements, known, params, rules, log)
    chosen = set(queries)
    judgements = [one for one in judgements if one.query in chosen]
    corpus = _corpus(judgements, documents.values(), filed, [known[query] for query in queries], params, log)
    folder, rows = root / name, {number: row for row, number in enumerate(sorted({*corpus, *queries}))}
    cleaned = DiskList(
        replace(clean_patent(patents[known[number].position]), description=_NO_DESCRIPTION) for number in rows
    )
    texts = Composed(rows, cleaned.__getitem__)
    layout.write_documents(folder, texts, corpus, queries, judgements, filed)
    if graded and (by_claim := _write_claims(folder, texts, judgements, log)):
        in_corpus = [known[number] for number in corpus]
        _write_passages(folder, patents, in_corpus, by_claim, params.passages == "all", log)
        if write_more:
            write_more(folder, patents, in_corpus, by_claim, log)
    log.record_files(root, name)
    return log


def _pair_and_category(one: Judgement) -> tuple[str, str, str]:
    return one.query, one.document, one.category


def _queries(
    judgements: Sequence[Judgement], known: Mapping[str, Header], params: Params, rules: Rules, log: BuildLog
) -> list[str]:
    """Draw the queries among the applications with a citation in the window."""

    earliest, latest = params.first or dt.date.min, params.last or dt.date.max
    unlimited = params.first is None and params.last is None

    def makes_query(one: Judgement) -> bool:
        inside = earliest <= one.day <= latest if one.day else unlimited
        return inside and (one.first or not params.first_action) and (not rules.graded or degree(one.category) == "xy")

    cited = sorted({one.query for one in judgements})
    strata = {one.query: known[one.query].stratum for one in judgements if makes_query(one)}
    report = "search report" if rules.reports else "office action"
    article = "their first" if params.first_action else "a" if rules.reports else "an"
    what = f"an X or Y citation in {article} {report}" if rules.graded else "a citation by the examiner"
    window = f"applications with {what} of the window {params.first or ''} to {params.last or ''}"
    log.step("queries", len(cited), len(strata), window)
    if not strata:
        problem = f"no application has {what} of the window ({len(judgements)} usable citations in all)"
        raise DataError(problem, remedy=_ADD)
    return sample_queries(strata, params.queries, params.seed, log)


def _corpus(
    judgements: Sequence[Judgement],
    documents: Collection[Header],
    filed: Mapping[str, dt.date],
    queries: Sequence[Header],
    params: Params,
    log: BuildLog,
) -> list[str]:
    """Return the judged documents and a sample of others that a query may find."""
    latest = max(query.limit or dt.date.min for query in queries)
    judged = {one.document for one in judgements}
    public = [one for one in documents if one.public and filed.get(one.number, one.public) < latest]
    others = fill_up((one.number for one in public), judged, params.documents, params.seed)
    note = (
        f"{len(judged)} judged; {len(documents) - len(public)} were not {'filed' if filed else 'public'} before the"
        " latest priority date of a query"
    )
    log.step("corpus", len(documents), len(judged) + len(others), note)
    return sorted([*judged, *others])


def _write_claims(folder: Path, texts: Mapping[str, Patent], judgements: Sequence[Judgement], log: BuildLog) -> ByClaim:
    """Write the rejected claims as queries; return the judgements of each."""
    counts: Counter[str] = Counter()
    found: list[tuple[str, tuple[Judgement, ...]]] = []
    unjudged: dict[str, tuple[str, ...]] = {}
    only_a = n_parent = n_other = 0
    for query, judged_pairs in groupby(judgements, key=lambda one: one.query):
        parents = {claim.number: claim.depends_on for claim in texts[query].claims}
        against: dict[int, list[Judgement]] = {}
        unspecific: set[str] = set()  # documents cited without a claim
        for one in judged_pairs:
            if not one.citation.claims:
                counts["citations without a claim"] += 1
                unspecific.add(one.document)
            for claim in one.citation.claims:
                if claim in parents:
                    against.setdefault(claim, []).append(one)
                else:
                    counts["rejected claims that the application did not have as filed"] += 1
        for claim, group in against.items():
            if all(degree(one.category) != "xy" for one in group):
                only_a += 1
                continue
            found.append((claim_id := layout.numbered_id(query, claim), tuple(group)))
            cited = {one.document for one in group}
            parent = {one.document for above in ancestors(parents, claim) for one in against.get(above, ())} - cited
            other = unspecific - parent - cited
            n_parent += len(parent)
            n_other += len(other)
            if parent or other:
                unjudged[claim_id] = (*parent, *other)
    counts["claims with A citations only"] = only_a
    counts["documents of a parent claim, unjudged"] = n_parent
    counts["documents cited without a claim, unjudged"] = n_other
    by_claim = dict(sorted(found))
    log.step("claims", len(judgements), len(by_claim), counts_note(counts))
    if by_claim:
        layout.write_claims(folder, texts, by_claim, judgements, unjudged)
        _log_locations(judgements, log)
    return by_claim


def _write_passages(
    folder: Path,
    patents: Sequence[Patent],
    corpus: Sequence[Header],
    by_claim: ByClaim,
    every_document: bool,
    log: BuildLog,
) -> None:
    """Write the paragraphs of the judged documents, or of all, as documents."""
    judged = {one.document for group in by_claim.values() for one in group}
    positions = {one.number: one.position for one in corpus if every_document or one.number in judged}
    named: dict[str, set[int]] = {}
    for one in chain.from_iterable(by_claim.values()):
        named.setdefault(one.document, set()).update(paragraphs_in(one.citation.passages))
    paragraphs: dict[str, tuple[int, ...]] = {}  # the cited ones of each document with numbered paragraphs
    n_paragraphs = 0
    for number, row in positions.items():
        if numbered := layout.numbered_paragraphs(patents[row]).keys():
            n_paragraphs += len(numbered)
            paragraphs[number] = tuple(named.pop(number, set()) & numbered)
    passages, unnamed = _cited_paragraphs(by_claim, paragraphs)
    note = (
        f"claims with a cited paragraph; of {n_paragraphs} numbered paragraphs of {len(paragraphs)} documents;"
        f" {unnamed} citations name none of them"
    )
    log.step("passages", len(by_claim), len(passages), note)
    if passages:
        texts = (
            (number, layout.numbered_paragraphs(patents[row]))
            for number, row in sorted(positions.items())
            if number in paragraphs
        )
        layout.write_passages(folder, texts, passages)


def ancestors(parents: Mapping[int, Sequence[int]], claim: int) -> set[int]:
    """Return the claims that a claim depends on, directly or through others."""
    found: set[int] = set()
    waiting = [claim]
    while waiting:
        new = set(parents.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found - {claim}


def _log_locations(judgements: Sequence[Judgement], log: BuildLog) -> None:
    """Log what the passages of citations name, and the share that names paragraphs."""
    found: Counter[str] = Counter()
    for one in judgements:
        if one.citation.passages:
            named = {location.unit for passage in one.citation.passages for location in locations_in(passage)}
            units = (f"{unit}s" for unit in ("paragraph", "column", "page") if unit in named)
            found[next(units, "neither paragraph, column nor page")] += 1
    share = found["paragraphs"] / max(1, found.total())
    note = f"citations with passages, {share:.0%} of them with paragraphs: {counts_note(dict(sorted(found.items())))}"
    log.step("locations", found.total(), found["paragraphs"], note)


def _cited_paragraphs(
    by_claim: ByClaim, paragraphs: Mapping[str, Collection[int]]
) -> tuple[Mapping[str, dict[str, int]], int]:
    """Return grades of cited paragraphs by claim, from a temporary file, and the citations that name none."""
    grades: DiskList[dict[str, int]] = DiskList()
    rows: dict[str, int] = {}
    unnamed: set[Judgement] = set()
    for claim, group in by_claim.items():
        judged: dict[str, int] = {}
        for one in group:
            # a citation of another publication of the family names paragraphs of that one
            numbered = paragraphs.get(one.document, ()) if one.citation.cited == one.document else ()
            numbers = [number for number in paragraphs_in(one.citation.passages) if number in numbered]
            if not numbers:
                unnamed.add(one)
            for number in numbers:
                key = layout.numbered_id(one.document, number)
                judged[key] = max(one.grade, judged.get(key, 0))
        if max(judged.values(), default=0) > CATEGORIES["A"].gain:
            rows[claim] = len(grades)
            grades.append(judged)
    return Composed(rows, grades.__getitem__), len(unnamed)
