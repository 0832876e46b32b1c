"""Recipe of Sophia-style data (Sophia-Bench §3): twelve query representations of a patent over one fixed corpus.

The authors' data set is unreleased. The directory is the BEIR folder of :mod:`patent_mteb.recipes.beir` with three
further tables:

* ``corpus.jsonl``: ``title`` and ``text`` (abstract, claims, description), together the paper's ``tacd``;
  ``queries.jsonl``: the ``tacd`` of each query; ``qrels/test.tsv``: the union of the four citation relations of §3.2,
  each with score 1;
* ``queries.parquet``: ``_id`` and one string column for each of the other eleven representations
  (:data:`REPRESENTATIONS`), null or empty where a query has none;
* ``metadata.parquet``: ``_id``, ``family_id``, ``jurisdiction`` (of first filing), ``publication_year`` (integer) and
  ``ipc`` (codes as written, the main one first), one row for each document and query;
* ``citations.parquet``: ``query-id``, ``corpus-id``, ``direction`` (``cited`` by the query, or ``citing`` it) and
  ``category`` (as in the search report, such as ``X``, ``Y`` or ``A``), one row an edge; the slices ``xy`` and ``a``
  come from it.

Interpretations, where the paper gives no rule:

* A family is one document: the earliest of the members with most of title, abstract, claims and description.
* Citations connect families.
* A query needs the four texts, a year, an IPC code and at least one XY and two relevant documents. (In §3.2 all queries
  have an XY document, and at least two relevant ones.)
* The same number of queries is drawn for each year. Within a year, each combination of IPC section (of the first code)
  and filing jurisdiction gets one query; the rest is allocated in proportion to its size.
* The corpus is every relevant document and, up to its size, others drawn at random, none of them a query.
* ``obj`` and ``adb`` (§3.3) are "extracted via regular expressions" that the paper does not print. Here they are the
  sentences of the description that :data:`OBJECT_PATTERNS` and :data:`ADVANTAGE_PATTERNS` match, in their order.

``require`` waives requirements on queries. Without ``category``, citations without a category count too, in the one
grade "cited". They are in ``citations.parquet`` with an empty category and in neither slice, and a query needs no XY
document.
"""

from __future__ import annotations

import random
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from patent_mteb.files import write_parquet, write_rows
from patent_mteb.patents import views
from patent_mteb.patents.categories import degree, is_category
from patent_mteb.patents.claims import claims_text, independent_claims
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.families import age
from patent_mteb.patents.near_duplicates import Sketched
from patent_mteb.patents.on_disk import DiskList, keyed_on_disk
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.summaries import read_summaries, source_of
from patent_mteb.patents.text import clean_patent
from patent_mteb.patents.text_columns import Few, Keyed, Members, Rows, TextIndex, by_itself, values_of
from patent_mteb.recipes.beir import title_and_text, write_beir
from patent_mteb.recipes.graph import SparseRows, each_with_ends
from patent_mteb.recipes.parameters import Count, Positive
from patent_mteb.recipes.sampling import grouped, ipc_section, sample_others, shares
from patent_mteb.recipes.steps import (
    CATEGORIES,
    MATCH_THEM,
    BuildLog,
    Filter,
    Funnel,
    Need,
    counts_note,
    filters_of,
    note_ungraded,
    within,
)

_INVENTION = (
    r"(?:present |instant |subject |claimed )?(?:inventions?|disclosures?|applications?|technolog(?:y|ies)|utility"
    r" model)"
)

_AIM = r"(?:objects?|objectives?|aims?|goals?|purposes?|intentions?)"
_PROBLEM = r"(?:problems?|tasks?)"

OBJECT_PATTERNS = (
    rf"\b{_AIM}(?: \w+){{0,2}} (?:of|behind|underlying|for) (?:the |this |an? )?(?:\w+ ){{0,2}}?{_INVENTION}\b",
    rf"\b(?:it is|it was|there is) (?:\w+ ){{0,2}}?(?:an?|the|one|another) (?:\w+ ){{0,2}}?{_AIM}\b",
    rf"\b(?:an?|the|one|another|a further|still another|yet another) (?:\w+ )?{_AIM} (?:is|are|was|consists)\b",
    rf"\b{_INVENTION} (?:\w+ )?(?:aims?|seeks?|is aimed|is intended) (?:at|to)\b",
    rf"\b{_PROBLEM} (?:\w+ ){{0,3}}?(?:to be solved|addressed|solved|underlying)\b",
    rf"\b{_INVENTION} (?:is|was) based on the (?:problem|task|{_AIM})\b",
)
"""A sentence that matches one of these, ignoring case, states an object of the invention."""

ADVANTAGE_PATTERNS = (
    r"\b(?:dis)?advantag(?:es?|eous|eously)\b",
    r"\bdrawbacks?\b",
    r"\bshortcomings?\b",
    r"(?<!having the )\bbenefits?\b(?! of (?:priority|the filing|u\.?s))",
    r"\bbeneficial(?:ly)?\b",
    r"\bdeficienc(?:y|ies)\b",
    r"\bdownsides?\b",
    r"\bmerits?\b",
)
"""A sentence that matches one of these, ignoring case, states an advantage or a disadvantage of the prior art."""

_OBJECT = re.compile("|".join(OBJECT_PATTERNS), re.IGNORECASE)
_ADVANTAGE = re.compile("|".join(ADVANTAGE_PATTERNS), re.IGNORECASE)
_NO_END = "".join(
    rf"(?<!\b{word}\.)" for word in (r"e\.g", r"i\.e", r"U\.S", "Fig", "Figs", "No", "Nos", "al", "vs", "approx")
)
_SENTENCE_END = re.compile(rf"(?<=[.!?]){_NO_END}\s+(?=[A-Z(\[\"“])")


_description = views.VIEWS["Description"]


def sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(text) if text else []


def _sentences_with(pattern: re.Pattern[str], text: str) -> str:
    return " ".join(sentence for sentence in sentences(text) if pattern.search(sentence))


def object_of_invention(description: str) -> str:
    """Return the sentences that state an object of the invention (query type ``obj``)."""
    return _sentences_with(_OBJECT, description)


def advantages_and_disadvantages(description: str) -> str:
    """Return the sentences on advantages or disadvantages (query type ``adb``)."""
    return _sentences_with(_ADVANTAGE, description)


REPRESENTATIONS: Mapping[str, Callable[[Patent], str]] = {
    "Clms": views.VIEWS["Claims"],
    "Ab": views.VIEWS["Abstract"],
    "Iclms": lambda patent: claims_text(independent_claims(patent.claims)),
    "Obj": lambda patent: object_of_invention(_description(patent)),
    "Desc": _description,
    "Adb": lambda patent: advantages_and_disadvantages(_description(patent)),
    "AiAb": lambda patent: patent.summaries.abstract,
    "AiFeatures": lambda patent: patent.summaries.features,
    "AiClaimSummary": lambda patent: patent.summaries.claims,
    "AiAdv": lambda patent: patent.summaries.advantages,
    "AiObj": lambda patent: patent.summaries.objectives,
}
"""Columns of ``queries.parquet`` (§3.3); the twelfth representation, ``Tacd``, is the text of ``queries.jsonl``."""

NAME = "Sophia"

NEEDS = (
    Need("title", "Tacd, corpus", drops="queries"),
    Need("abstract", "Tacd, Ab, corpus", drops="queries"),
    Need("claims", "Tacd, Clms, Iclms, corpus", drops="queries"),
    Need("description", "Tacd, Desc, Obj, Adb, corpus", drops="queries"),
    Need("publication_date", "years of the queries", drops="queries"),
    Need("ipc", "IPC sections of the queries; InScope", drops="queries"),
    Need("citations", "every table", drops="queries", fixed=True),
    Need("category", "slices xy and a", drops="citations, and queries without X or Y"),
    Need("summaries", "AiAb, AiFeatures, AiClaimSummary, AiAdv, AiObj"),
)
"""Use of each field, and what the recipe drops where it is missing (§3.2)."""


Required = Literal["title", "abstract", "claims", "description", "publication_date", "ipc", "category"]


@dataclass(frozen=True)
class Params:
    """Settings of the recipe; the defaults are the paper's.

    Attributes:
        first_year: least publication year of a query; None: any.
        last_year: greatest publication year of a query; None: any.
        queries: most queries.
        corpus: most documents, but never fewer than the relevant ones.
        min_relevant: least number of relevant documents of a query.
        seed: seed of every draw.
        summaries: file of ``patent-mteb data summarise`` with summaries that query patents lack.
        require: fields that a query must have; without category, citations need none. The others are waived.
    """

    first_year: int | None = 2016
    last_year: int | None = 2025
    queries: Positive = 10_000
    corpus: Count = 75_050
    min_relevant: Count = 2
    seed: int = 42
    require: tuple[Required, ...] = get_args(Required)
    summaries: str = ""


SAMPLE = Params(queries=120, corpus=500)


@dataclass(frozen=True, slots=True)
class _Family:
    id: str
    document: Patent
    jurisdiction: str
    ipc: tuple[str, ...]

    @property
    def number(self) -> str:
        return self.document.publication_number

    @property
    def year(self) -> int | None:
        return self.document.publication_date.year if self.document.publication_date else None

    @property
    def section(self) -> str:
        return ipc_section(self.ipc)


_SECTIONS = ("Title", "Abstract", "Claims", "Description")


def _n_sections(patent: Patent) -> int:
    return sum(bool(views.VIEWS[name](patent)) for name in _SECTIONS)


def _family(members: Sequence[Patent]) -> _Family:
    dated = sorted(members, key=age)
    document = max(dated, key=_n_sections)
    in_order = (document, *dated)
    filed = next((one.filing_jurisdiction for one in in_order if one.filing_jurisdiction), dated[0].jurisdiction)
    codes = dict.fromkeys(code for patent in in_order for code in patent.ipc)
    return _Family(document.family_id, document, filed, tuple(codes))


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write ``root/Sophia``."""
    log = BuildLog(NAME)
    known = Sketched(patents, clean_patent)
    members = Members(known.families)
    families = (_family([known.by_row[row] for row in rows]) for rows in members)
    documents = keyed_on_disk((family.id, family) for family in families if _n_sections(family.document))
    log.step("families", len(patents), len(members))
    log.step("families with text", len(members), len(documents))

    document_of = documents.index.rows_of(members.texts)[members.of_rows]
    edges = _edges(citations, known.index, document_of, documents, "category" in params.require, log)
    filters = _query_filters(edges, params)
    candidates = Funnel(log, "families", params.require, "queries: ")(documents.values(), filters)
    queries = _draw(candidates, documents.by_row, params)
    distinct = [len({getattr(family, name) for family in queries}) for name in ("year", "section", "jurisdiction")]
    note = "{} years, {} sections, {} jurisdictions".format(*distinct)
    log.step("queries, stratified by year, IPC section and jurisdiction", len(candidates), len(queries), note)
    patents_of_queries = (known.record(family.number) for family in queries)
    query_patents = with_summaries_from(params.summaries, patents_of_queries, log)
    corpus = _corpus(documents, queries, edges, params)
    log.step("corpus", len(documents), len(corpus))

    folder = root / NAME
    qrels = {query.number: {documents[other].number: 1 for other in sorted(edges[query.id])} for query in queries}
    rows = sorted({family.id: family for family in (*corpus, *queries)}.values(), key=lambda family: family.number)
    metadata = pa.table(
        {
            "_id": [family.number for family in rows],
            "family_id": [family.id for family in rows],
            "jurisdiction": [family.jurisdiction for family in rows],
            "publication_year": pa.array([family.year for family in rows], pa.int64()),
            "ipc": pa.array([list(family.ipc) for family in rows], pa.list_(pa.string())),
        }
    )
    numbers = by_itself(family.number for family in corpus)
    texts = Composed(numbers, lambda number: title_and_text(known.record(number), _SECTIONS[1:]))
    row_of = {query.number: row for row, query in enumerate(queries)}
    write_beir(folder, texts, Composed(row_of, lambda row: views.VIEWS["Tacd"](query_patents[row])), qrels, metadata)
    _write_representations(folder, query_patents, log)
    links = [
        {"query-id": query.number, "corpus-id": documents[other].number, "direction": direction, "category": category}
        for query in queries
        for other in sorted(edges[query.id])
        for direction, category in sorted(edges[query.id][other])
    ]
    write_parquet(folder / "citations.parquet", pa.Table.from_pylist(links))
    log.step("relevance judgements", len(citations), sum(map(len, qrels.values())), f"from {len(links)} edges")
    log.record_files(root, NAME)
    return log


def _write_representations(folder: Path, queries: Sequence[Patent], log: BuildLog) -> None:
    """Write ``queries.parquet`` and log the queries without each representation."""
    missing: Counter[str] = Counter()

    def representations(patent: Patent) -> dict[str, str | None]:
        texts = {name: text_of(patent) or None for name, text_of in REPRESENTATIONS.items()}
        missing.update(name for name, text in texts.items() if text is None)
        return {"_id": patent.publication_number, **texts}

    schema = pa.schema([(name, pa.string()) for name in ("_id", *REPRESENTATIONS)])
    write_rows(folder / "queries.parquet", map(representations, queries), schema)
    for name in REPRESENTATIONS:
        without = f"{missing[name]} queries without" if missing[name] else ""
        log.step(f"representation {name}", len(queries), len(queries) - missing[name], without)


_Link = tuple[str, str]
_Edges = Mapping[str, dict[str, set[_Link]]]
"""(direction, category) of the citations that link a family to each other one."""


def _edges(
    citations: Sequence[Citation],
    numbers: TextIndex,
    document_of: Rows,
    documents: Keyed[_Family],
    graded: bool,
    log: BuildLog,
) -> _Edges:
    """Return the links; ``document_of`` is the place of the document of each publication, -1 without one."""
    document_of = np.append(document_of, np.int32(-1))  # of an unknown publication, whose row is -1
    ends = array("i")  # for each link the places of a document, of the other one, and of the kind of link
    links = Few[_Link]()
    dropped: Counter[str] = Counter()
    used = ungraded = 0
    for citation, *rows in each_with_ends(citations, numbers):
        citing, cited = (int(document_of[row]) for row in rows)
        relevance = degree(citation.category)
        if not is_category(citation.category):
            dropped["with a category that no search report uses"] += 1
        elif min(citing, cited) < 0:
            dropped["of or by publications that are not among the patents"] += 1
        elif citing == cited:
            dropped["within a family"] += 1
        elif not relevance and graded:
            dropped["without a category X, Y or A"] += 1
        else:
            used += 1
            ungraded += not relevance
            for query, other, direction in ((citing, cited, "cited"), (cited, citing, "citing")):
                ends.extend((query, other, links.code((direction, citation.category))))
    name = "citations with a category" if graded else "citations, with a category or not"
    log.step(name, len(citations), used, counts_note(dict(sorted(dropped.items()))))
    note_ungraded(log, ungraded, used)

    def linked(others: Iterable[tuple[int, int]]) -> dict[str, set[_Link]]:
        found: dict[str, set[_Link]] = {}
        for other, link in others:
            found.setdefault(documents.column[other].as_py(), set()).add(links.values[link])
        return found

    table = np.asarray(ends, np.int32).reshape(-1, 3)
    return SparseRows(documents, table[:, 0], table[:, 1:], linked)


def _query_filters(edges: _Edges, params: Params) -> list[Filter[_Family]]:
    """Return the filters of query families (§3.2)."""
    has: dict[str, Callable[[_Family], bool]] = {
        name.lower(): lambda family, view=views.VIEWS[name]: bool(view(family.document))  # type: ignore[misc]
        for name in _SECTIONS
    }
    has |= {"publication_date": lambda family: family.year is not None, "ipc": lambda family: bool(family.section)}
    graded = "category" in params.require
    most = max(map(len, edges.values()), default=0)
    remedy = CATEGORIES if graded else MATCH_THEM
    if most:
        remedy = f"set min_relevant={most}, the most that a family has"

    def linked(family: _Family) -> bool:
        return len(edges.get(family.id, ())) >= params.min_relevant

    def has_xy(family: _Family) -> bool:
        return any(degree(category) == "xy" for links in edges.get(family.id, {}).values() for _, category in links)

    def in_years(family: _Family) -> bool:
        return within(family.year, params.first_year, params.last_year)

    return [
        *filters_of(NEEDS, params.require, has),
        Filter("published in the years", in_years, "set first_year=None and last_year=None, or widen them"),
        Filter(f"with {params.min_relevant} relevant documents", linked, remedy),
        *([Filter("with an XY document", has_xy, CATEGORIES)] if graded else []),
    ]


def _draw(candidates: Rows, documents: Sequence[_Family], params: Params) -> list[_Family]:
    years: dict[int, dict[tuple[str, str], list[int]]] = {}
    for place in values_of(candidates):
        family = documents[place]
        cells = years.setdefault(family.year or 0, {})
        cells.setdefault((family.section, family.jurisdiction), []).append(place)
    draw = random.Random(params.seed)
    chosen: list[int] = []
    for year, quota in _even({year: sum(map(len, cells.values())) for year, cells in years.items()}, params.queries):
        sizes = {cell: len(places) for cell, places in years[year].items()}
        for cell, count in sorted(shares(sizes, quota).items()):
            chosen += draw.sample(years[year][cell], count)
    return sorted((documents[place] for place in chosen), key=lambda family: family.number)


def _even(available: Mapping[int, int], total: int) -> list[tuple[int, int]]:
    """Allocate the total evenly to years, in order; those with more candidates fill the gaps of others."""
    quotas: dict[int, int] = {}
    rest = total
    by_size = sorted(available, key=lambda year: (available[year], year))
    for rank, year in enumerate(by_size):
        quotas[year] = min(available[year], rest // (len(by_size) - rank))
        rest -= quotas[year]
    return sorted(quotas.items())


def with_summaries_from(path: str, queries: Iterable[Patent], log: BuildLog) -> Sequence[Patent]:
    """Add the summaries of a file to the queries and log their origin."""
    if not path:
        return DiskList(queries)
    rows = read_summaries(Path(path))
    rows_of = grouped(rows, lambda row: row.publication_number)
    unused, origins = Counter({"already in the records": 0, "of a text that has changed since": 0}), Counter[str]()

    def filled(patent: Patent) -> Patent:
        its_rows, new = rows_of.get(patent.publication_number, []), {}
        source = source_of(patent) if its_rows else ""
        for row in its_rows:
            if getattr(patent.summaries, row.kind).strip():
                unused["already in the records"] += 1
            elif row.source != source:
                unused["of a text that has changed since"] += 1
            else:
                new[row.kind] = row.text
                origins[row.origin] += 1
        return replace(patent, summaries=replace(patent.summaries, **new)) if new else patent

    found = DiskList(map(filled, queries))
    unused["of patents that are not queries"] = len(rows) - origins.total() - unused.total()
    log.step("summaries from a file that queries lack", len(rows), origins.total(), counts_note(unused))
    for origin, number in sorted(origins.items()):
        log.deviate(f"the AI queries hold {number} {origin}")
    return found


def _corpus(documents: Keyed[_Family], queries: Sequence[_Family], edges: _Edges, params: Params) -> list[_Family]:
    relevant = {documents.row_of(other) for query in queries for other in edges[query.id]}
    excluded = sorted(relevant | {documents.row_of(query.id) for query in queries})
    n_others = min(len(documents) - len(excluded), max(0, params.corpus - len(relevant)))
    others = sample_others(random.Random(params.seed + 1), len(documents), excluded, n_others)
    return sorted((documents.by_row[place] for place in (*relevant, *others)), key=lambda family: family.number)
