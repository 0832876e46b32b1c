"""Recipe of PatentOpenUS: a citation benchmark that anyone can rebuild from open bulk data of the USPTO.

Queries are applications as filed, the text that the examiner searched, with at least one usable X or Y citation in an
office action of the window. Documents are patent families in the words of their earliest publication
(:mod:`patent_mteb.recipes.open_citations`). The directory is ours (:mod:`patent_mteb.recipes.open_layout`), in BEIR's
form: documents and queries, the claims that were rejected as queries of their own, and the numbered paragraphs of cited
documents as documents of their own.

* **Grades**: X 3, Y 2, A 1, the strongest of all citations of a pair. All usable citations of a query count that were
  raised until the end of the window, whenever they were raised.
* **Claims**: one query a rejected claim of the application as filed, with the claims that it depends on; relevant is
  what was cited against it, not relevant (grade 0) what was cited against other claims of the application only. Claims
  are as filed, while a later office
  action may be on amended ones: the slices by kind of office action tell them apart.
* **Passages**: relevant to a claim are the paragraphs that were cited against it, where the cited publication is the
  document itself and numbers its paragraphs. Citations of columns and lines, of figures or of whole pages name no
  paragraph.
* **Sampling** to a stated size is by hash of the number: neither the order of files nor what else is there matters.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Literal

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import CATEGORIES, degree
from patent_mteb.patents.on_disk import Spool
from patent_mteb.patents.records import Citation, Description, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes import open_layout as layout
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.needs import Need, deviations
from patent_mteb.recipes.open_citations import Judgement, Header, Rules, documents_of, headers_of, paragraphs_in, usable
from patent_mteb.recipes.parameters import Positive
from patent_mteb.recipes.sampling import random_key, sample_queries
from patent_mteb.sample.office_actions import examined

NAME = "PatentOpenUS"
EACH_CITATION = True
"""An office action cites a document against some claims as X and against others as A: no citation of a pair is like
another."""

NEEDS = (
    Need("title", "TAC"),
    Need("abstract", "TAC, Abstract"),
    Need("claims", "TAC, Claims, Claim"),
    Need("description", "Passage"),
    Need("ipc", "IN and OUT, sampling"),
    Need("citations", "every table", drops="queries", fixed=True),
    Need("category", "every table", drops="queries", fixed=True),
)

Asking = Mapping[str, Sequence[Judgement]]
"""What was said against each claim that asks."""

_NO_DESCRIPTION = Description()
_ADD = "import enriched citations beside the publications of both sides, or widen the window (first, last)"


@dataclass(frozen=True)
class Params:
    """Settings of the recipe.

    Attributes:
        first: first day of the window of office actions; None: no limit.
        last: last day of the window; None: no limit.
        offices: offices whose applications are queries.
        queries: most queries, stratified by year and IPC section; None: all.
        documents: size of the corpus: all that is judged, and others by hash of their number; None: all.
        passages: whose paragraphs are documents: those of the documents that are judged for a claim, or of the whole
            corpus.
        seed: of every draw.
    """

    first: dt.date | None = None
    last: dt.date | None = None
    offices: tuple[str, ...] = ("US",)
    queries: Positive | None = None
    documents: Positive | None = None
    passages: Literal["judged", "all"] = "judged"
    seed: int = 42

    def __post_init__(self) -> None:
        if self.first and self.last and self.last < self.first:
            raise ValueError(f"the window ends on {self.last}, before it begins on {self.first}")


SAMPLE = Params()


def sample_records() -> tuple[list[Patent], list[Citation]]:
    """The records of the built-in sample, with what office actions say."""
    return examined()


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write ``root/PatentOpenUS``."""
    return build_as(NAME, patents, citations, root, params, Source())


@dataclass(frozen=True)
class Source:
    """What an open benchmark is made of.

    Attributes:
        graded: from citations with letters, claim by claim; else from what examiners cited on grants, in one grade.
        reports: citations are those of search reports, which are dated by the publication that they came with.
        parts: writes further files, from the folder, the patents, the corpus, the claims that ask and the log.
    """

    graded: bool = True
    reports: bool = False
    parts: Callable[[Path, Sequence[Patent], Sequence[Header], Asking, BuildLog], list[Path]] | None = None


def build_as(
    name: str, patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params, source: Source
) -> BuildLog:
    """Write ``root/<name>``. Of the patents only names are in memory, and what the office said in the citations that
    count.
    """
    log = BuildLog(name, deviations=deviations(params, NEEDS))
    names = headers_of(patents)
    documents = documents_of(names)
    families = len({one.family for one in names})
    log.step("families", families, len(documents), f"{families - len(documents)} without a dated text")
    judgements, reasons = usable_citations(citations, names, documents, Rules(params.offices, source.graded, params.last))
    judgements.sort(key=_order)
    log.step(
        "citations",
        len(citations),
        len(judgements),
        "; ".join(f"{number} {reason}" for reason, number in sorted(reasons.items())),
    )
    known = {one.number: one for one in names}
    queries = _queries(judgements, known, params, source, log)
    asking = set(queries)
    judgements = [one for one in judgements if one.query in asking]
    corpus = _corpus(judgements, documents.values(), [known[query] for query in queries], params, log)
    texts = Cleaned(patents, {number: known[number].place for number in (*corpus, *queries)})
    folder = root / name
    files = layout.write_documents(folder, texts, corpus, queries, judgements)
    if source.graded:
        files += _write_claims(
            folder, patents, [known[number] for number in corpus], texts, judgements, params, source, log
        )
    log.files = sorted(path.relative_to(root).as_posix() for path in files)
    return log


class Cleaned(Mapping[str, Patent]):
    """Cleaned patents by number, without their descriptions: each is read and cleaned once, and lies in a temporary
    file.
    """

    def __init__(self, patents: Sequence[Patent], places: Mapping[str, int]) -> None:
        self._places = {number: row for row, number in enumerate(sorted(places))}
        self._texts = Spool(
            replace(clean_patent(patents[places[number]]), description=_NO_DESCRIPTION) for number in self._places
        )

    def __getitem__(self, number: str) -> Patent:
        return self._texts[self._places[number]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _order(one: Judgement) -> tuple[str, ...]:
    """Not the order of the input."""
    return one.query, one.document, one.letter, repr(one.citation)


def _queries(
    judgements: Sequence[Judgement], known: Mapping[str, Header], params: Params, source: Source, log: BuildLog
) -> list[str]:
    """The applications with a citation that makes a query, by number."""

    def asks(one: Judgement) -> bool:
        by_publication = source.reports or not source.graded
        day = one.citation.date or (known[one.citation.citing].public if by_publication else None)
        inside = (params.first is None or (day is not None and day >= params.first)) and (
            params.last is None or (day is not None and day <= params.last)
        )
        return inside and (not source.graded or degree(one.letter) == "xy")

    cited = sorted({one.query for one in judgements})
    asking = {one.query: known[one.query].stratum for one in judgements if asks(one)}
    report = "a search report" if source.reports else "an office action"
    what = f"an X or Y citation in {report}" if source.graded else "a citation by the examiner"
    log.step(
        "queries",
        len(cited),
        len(asking),
        f"applications with {what} of the window {params.first or ''} to {params.last or ''}",
    )
    if not asking:
        raise DataError(
            f"no application has {what} of the window ({len(judgements)} usable citations in all)", remedy=_ADD
        )
    return sample_queries(asking, params.queries, params.seed, log)


def _corpus(
    judgements: Sequence[Judgement],
    documents: Collection[Header],
    queries: Sequence[Header],
    params: Params,
    log: BuildLog,
) -> list[str]:
    """The numbers of the documents that some query may see: those that are judged, and of the others as many as are
    asked for.
    """
    latest = max(query.limit or dt.date.min for query in queries)
    judged = {one.document for one in judgements}
    public = [one for one in documents if one.public and one.public < latest]
    others = sorted(
        (one.number for one in public if one.number not in judged),
        key=lambda number: (random_key(params.seed, "documents", number), number),
    )
    if params.documents is not None:
        others = others[: max(params.documents - len(judged), 0)]
    note = (
        f"{len(judged)} judged; {len(documents) - len(public)} were not public before the latest priority date of a"
        " query"
    )
    log.step("corpus", len(documents), len(judged) + len(others), note)
    return sorted([*judged, *others])


def _write_claims(
    folder: Path,
    patents: Sequence[Patent],
    corpus: Sequence[Header],
    texts: Mapping[str, Patent],
    judgements: Sequence[Judgement],
    params: Params,
    source: Source,
    log: BuildLog,
) -> list[Path]:
    """Write the claims as queries, and the paragraphs as documents."""
    counts: Counter[str] = Counter()
    against: dict[str, list[Judgement]] = {}
    for query, own in groupby(judgements, key=lambda one: one.query):
        claims = {claim.number for claim in texts[query].claims}
        for one in own:
            if not one.citation.claims:
                counts["citations without a claim"] += 1
            for claim in one.citation.claims:
                if claim in claims:
                    against.setdefault(layout.numbered_id(query, claim), []).append(one)
                else:
                    counts["rejected claims that the application did not have as filed"] += 1
    asking = {claim: own for claim, own in sorted(against.items()) if any(degree(one.letter) == "xy" for one in own)}
    counts["claims with A citations only"] = len(against) - len(asking)
    log.step(
        "claims",
        len(judgements),
        len(asking),
        "; ".join(f"{number} {what}" for what, number in counts.items() if number),
    )
    if not asking:
        return []
    files = layout.write_claims(folder, texts, asking, judgements)

    judged = {one.document for own in asking.values() for one in own}
    shown = {one.number: one.place for one in corpus if params.passages == "all" or one.number in judged}
    numbered = {number: frozenset(layout.numbered_paragraphs(patents[place])) for number, place in shown.items()}
    cited, unnamed = _cited_paragraphs(asking, numbered)
    n_paragraphs = sum(map(len, numbered.values()))
    note = (
        f"of {n_paragraphs} numbered paragraphs of {sum(map(bool, numbered.values()))} documents; {unnamed} citations"
        " name none of them"
    )
    log.step("passages", len(asking), len(cited), f"claims with a cited paragraph; {note}")
    if cited:
        rows = (
            (number, layout.numbered_paragraphs(patents[place])) for number, place in sorted(shown.items()) if numbered[number]
        )
        files += layout.write_passages(folder, rows, cited)
    return files + (source.parts(folder, patents, corpus, asking, log) if source.parts else [])


def _cited_paragraphs(asking: Asking, paragraphs: Mapping[str, Set[int]]) -> tuple[dict[str, dict[str, int]], int]:
    """Grade of each paragraph that was cited against a claim, by claim, and the number of citations that name none."""
    found: dict[str, dict[str, int]] = {}
    unnamed: set[Judgement] = set()
    for claim, own in asking.items():
        for one in own:
            same = one.citation.cited == one.document
            numbers = [
                number
                for number in paragraphs_in(one.citation.passages)
                if same and number in paragraphs.get(one.document, ())
            ]
            if not numbers:
                unnamed.add(one)
            for number in numbers:
                key = layout.numbered_id(one.document, number)
                held = found.setdefault(claim, {})
                held[key] = max(one.grade, held.get(key, 0))
    strong = {claim: judged for claim, judged in found.items() if max(judged.values()) > CATEGORIES["A"].gain}
    return strong, len(unnamed)
