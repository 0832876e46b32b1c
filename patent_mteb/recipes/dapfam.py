"""Recipe of DAPFAM: bronze, silver and gold layer (§3.2-3.5), from canonical records to the three published tables.

It writes ``datalyes/DAPFAM_patent/`` with ``corpus.parquet``, ``queries.parquet`` and ``qrels_all.parquet`` and the
published columns (Tables 3 and 4 of the paper).

Interpretations, where the paper gives no rule or is ambiguous:

* The date filter and the citation threshold apply to queries only (§4.2: targets may be older).
* Citations are counted between families of the input.
* The primary IPC code of a family is the first code of its earliest member.
* Target and negative families need complete English text, as query families do.
* Keywords come from the records. A record without keywords gets the words of its abstract with the highest tf-idf over
  all families.

Where ``require`` waives a text, a family without it stays with an empty text. Where it waives the date, families
without a date pass the date filter.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np
import pyarrow as pa

from patent_mteb.files import write_parquet, write_rows
from patent_mteb.patents import ipc, views
from patent_mteb.patents.claims import claims_text
from patent_mteb.patents.on_disk import DiskList, publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.needs import MATCH_THEM, Filter, Funnel, Need, deviations, filters_of
from patent_mteb.recipes.parameters import Count, Positive
from patent_mteb.recipes.sampling import AllBut, sample_queries


class HasKeywords(Protocol):
    @property
    def keywords(self) -> tuple[str, ...]: ...
    @property
    def abstract(self) -> str: ...


def keywords_of(
    queries: Mapping[str, HasKeywords], abstracts: Callable[[], Iterable[str]], number: int
) -> dict[str, str]:
    """Return the keywords of each query, separated by commas."""
    words = {key: ", ".join(family.keywords) for key, family in queries.items()}
    missing = {key: family.abstract for key, family in queries.items() if not family.keywords}
    if not any(missing.values()):
        return words
    from sklearn.feature_extraction.text import TfidfVectorizer

    analyse = TfidfVectorizer(stop_words="english").build_analyzer()
    frequency: Counter[str] = Counter({term: 0 for abstract in missing.values() for term in analyse(abstract)})
    if not frequency:  # no abstract holds a word
        return words
    n_abstracts = 0
    for abstract in filter(None, abstracts()):
        n_abstracts += 1
        frequency.update(frequency.keys() & analyse(abstract))
    terms = sorted(frequency)
    vectorizer = TfidfVectorizer(stop_words="english", vocabulary=terms)
    vectorizer.idf_ = np.log((1 + n_abstracts) / (1 + np.array([frequency[term] for term in terms], np.float64))) + 1
    for key, row in zip(missing, vectorizer.transform(missing.values()), strict=True):
        best = sorted(
            zip(row.data, [terms[column] for column in row.indices], strict=True), key=lambda item: (-item[0], item[1])
        )
        words[key] = ", ".join(term for _, term in best[:number])
    return words


DATA_SET = "datalyes/DAPFAM_patent"

NEEDS = (
    Need("title", "views Title, TA, TAC, FullText", drops="families"),
    Need("abstract", "views Abstract, TA, TAC, FullText", drops="families"),
    Need("claims", "views Claims, Claim1, TAC, FullText", drops="families"),
    Need("description", "views Description, FullText", drops="families"),
    Need("ipc", "every table; IN and OUT", drops="families", fixed=True),
    Need("filing_date", "queries", drops="queries"),
    Need("citations", "every table", drops="queries", fixed=True),
    Need("keywords", "view Keywords; words of the abstract where a record has none"),
)
"""Use of each field, and what the recipe drops where a family lacks it (§3.3, §4.2)."""


Required = Literal["title", "abstract", "claims", "description", "filing_date"]


@dataclass(frozen=True)
class Params:
    """Settings of the recipe; the defaults are the paper's.

    Attributes:
        earliest_claim: least date of a query's earliest claim.
        min_citations: least number of families that a query's family cites or is cited by.
        queries_per_domain: most queries of an IPC3 domain.
        positives: most relevant targets of a query.
        queries: most queries of all domains, stratified by year and IPC section; None: all of each domain's.
        negatives: most targets of a query that no citation links to it.
        keywords: number of words of the abstract that replace missing keywords.
        require: what a family must have, and for filing_date what a query must have; the others are waived.
        seed: seed of every draw.
    """

    earliest_claim: dt.date = dt.date(2000, 1, 1)
    min_citations: Count = 100
    queries_per_domain: Positive = 10
    positives: Positive = 20
    negatives: Count = 20
    keywords: Count = 10
    queries: Positive | None = None
    require: tuple[Required, ...] = get_args(Required)
    seed: int = 42


SAMPLE = Params(min_citations=4, queries_per_domain=10, positives=20, negatives=20)
"""Families of the built-in sample have few citations."""


@dataclass(frozen=True)
class FamilyRecord:
    """A simple family after consolidation (gold layer)."""

    id: str
    primary_jurisdiction: str
    jurisdictions: tuple[str, ...]
    ipcr_codes: tuple[str, ...]
    ipc3: tuple[str, ...]
    earliest_claim: dt.date | None
    title: str
    abstract: str
    claims: str
    description: str
    keywords: tuple[str, ...]


def consolidate(members: Sequence[Patent]) -> FamilyRecord:
    """Merge the publications of one family (§3.2, gold layer).

    Id, primary jurisdiction and date come from the member with the earliest claim date. List fields have the distinct
    values of all members, in their order. Each text comes from the most recent member that has it.
    """
    by_claim = sorted(members, key=lambda patent: (_claim_date(patent) or dt.date.max, patent.publication_number))
    newest_first = sorted(
        members, key=lambda patent: (patent.publication_date or dt.date.min, patent.publication_number), reverse=True
    )
    codes = tuple(dict.fromkeys(code for patent in by_claim for code in patent.ipc))
    texts = {name: next(filter(None, map(text_of, newest_first)), "") for name, text_of in _TEXTS.items()}
    return FamilyRecord(
        id=by_claim[0].family_id,
        primary_jurisdiction=by_claim[0].jurisdiction,
        jurisdictions=tuple(dict.fromkeys(patent.jurisdiction for patent in by_claim)),
        ipcr_codes=codes,
        ipc3=ipc.codes_at(codes, "ipc3", errors="skip").codes,
        earliest_claim=_claim_date(by_claim[0]),
        keywords=tuple(dict.fromkeys(word for patent in by_claim for word in patent.keywords)),
        **texts,
    )


def _claim_date(patent: Patent) -> dt.date | None:
    return patent.priority_date or patent.application_date


_TEXTS: Mapping[str, Callable[[Patent], str]] = {
    "title": views.VIEWS["Title"],
    "abstract": views.VIEWS["Abstract"],
    "claims": lambda patent: claims_text(patent.claims, "\n"),
    "description": views.VIEWS["Description"],
}


@dataclass(frozen=True, slots=True)
class _Outline:
    """The fields of a family that filters and draws use."""

    id: str
    earliest_claim: dt.date | None
    ipc3: tuple[str, ...]
    texts: frozenset[str]


_HAS: Mapping[str, Callable[[_Outline], bool]] = {
    **{name: lambda family, name=name: name in family.texts for name in _TEXTS},  # type: ignore[misc]
    "ipc": lambda family: bool(family.ipc3),
}


class _Families:
    """The families of some publications, consolidated on demand from a temporary file."""

    def __init__(self, patents: Sequence[Patent]) -> None:
        self._texts: DiskList[Patent] = DiskList()
        self._members: dict[str, list[int]] = {}
        for row, (patent, known) in enumerate(zip(patents, publications(patents), strict=True)):
            self._texts.append(clean_patent(patent))
            self._members.setdefault(known.family_id, []).append(row)

    def record(self, family: str) -> FamilyRecord:
        return consolidate([self._texts[row] for row in self._members[family]])

    def outlines(self) -> dict[str, _Outline]:
        """Return the outline of each family by its id."""
        shared: dict[object, Any] = {}
        found = {}
        for key in sorted(self._members):
            record = self.record(key)
            texts = frozenset(name for name in _TEXTS if getattr(record, name))
            ipc3, texts = (shared.setdefault(value, value) for value in (record.ipc3, texts))
            found[key] = _Outline(key, record.earliest_claim, ipc3, texts)
        return found


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write the three tables below ``root/datalyes/DAPFAM_patent``."""
    log = BuildLog("DAPFAM", deviations=deviations(params, NEEDS))
    families = _Families(patents)
    log.step("bronze: publications", len(patents), len(patents))

    outlines = families.outlines()
    log.step("silver: families", len(patents), len(outlines))
    funnel = Funnel(log, "families", params.require, "silver: ")
    complete = funnel(outlines, filters_of(NEEDS, params.require, _HAS))

    graph = family_graph(citations, {patent.publication_number: patent.family_id for patent in publications(patents)})
    note = f"pairs of families, either direction; {graph.dropped}"
    log.step("silver: citation links", len(citations), graph.n_pairs, note)

    candidates = list(funnel(complete, _query_filters(complete, graph, params)))
    draw = random.Random(params.seed)
    queries = _queries(candidates, complete, params, draw, log)
    keys = list(complete)
    position_of = {key: position for position, key in enumerate(keys)}
    relations = [
        one for query in queries for one in _relations(query, complete, keys, position_of, graph, params, draw)
    ]
    targets = sorted({key for _, key, _, _ in relations})
    n_positive = sum(score > 0 for _, _, score, _ in relations)
    note = f"{n_positive} positive, {len(relations) - n_positive} negative"
    log.step("gold: relations", len(queries), len(relations), note)
    log.step("gold: targets", len(complete), len(targets))

    folder = root / DATA_SET
    records = {key: families.record(key) for key in queries}
    words = keywords_of(records, lambda: (families.record(key).abstract for key in complete), params.keywords)
    targets_of = ({"relevant_id": key, **_row(families.record(key))} for key in targets)
    write_rows(folder / "corpus.parquet", targets_of, _schema("relevant_id"))
    rows = ({"query_id": key, **_row(one), "abstract_keywords": words[key]} for key, one in records.items())
    write_rows(folder / "queries.parquet", rows, _schema("query_id", "abstract_keywords"))
    names = ("query_id", "relevant_id", "relevance_score", "domain_rel")
    write_parquet(
        folder / "qrels_all.parquet", pa.table(dict(zip(names, map(list, zip(*relations, strict=True)), strict=True)))
    )
    log.record_files(root, DATA_SET)
    return log


def _query_filters(complete: Mapping[str, _Outline], graph: FamilyGraph, params: Params) -> list[Filter[_Outline]]:
    """Return the filters of query families (§3.3, §4.2)."""

    def late_enough(family: _Outline) -> bool:
        return family.earliest_claim is None or family.earliest_claim >= params.earliest_claim

    def cited(family: _Outline) -> bool:
        linked = graph.linked(family.id)
        return len(linked) >= params.min_citations and any(other in complete for other in linked)

    most = max((len(graph.linked(key)) for key in complete), default=0)
    lower = f"lower min_citations (the most that a family has is {most})"
    dated = filters_of(NEEDS, params.require, {"filing_date": lambda family: family.earliest_claim is not None})
    since = f"with an earliest claim since {params.earliest_claim}"
    return [
        *dated,
        Filter(since, late_enough, "set earliest_claim to an earlier day"),
        Filter(f"with at least {params.min_citations} citations", cited, lower if most else MATCH_THEM),
    ]


def _queries(
    candidates: Sequence[str], complete: Mapping[str, _Outline], params: Params, draw: random.Random, log: BuildLog
) -> list[str]:
    """Draw candidates of each IPC3 domain."""
    domains: dict[str, list[str]] = {}
    for key in candidates:
        domains.setdefault(complete[key].ipc3[0], []).append(key)
    queries = sorted(
        key
        for _, keys in sorted(domains.items())
        for key in draw.sample(keys, min(params.queries_per_domain, len(keys)))
    )
    step = f"gold: {params.queries_per_domain} queries a domain"
    log.step(step, len(candidates), len(queries), f"{len(domains)} IPC3 domains")
    strata = {}
    for key in queries:
        family = complete[key]
        strata[key] = str(family.earliest_claim.year) if family.earliest_claim else "", family.ipc3[0][0]
    return sample_queries(strata, params.queries, params.seed, log)


def _relations(
    query: str,
    complete: Mapping[str, _Outline],
    keys: Sequence[str],
    position_of: Mapping[str, int],
    graph: FamilyGraph,
    params: Params,
    draw: random.Random,
) -> list[tuple[str, str, float, str]]:
    """Return (query, target, score, domain relation) of linked and unlinked families."""
    linked = graph.linked(query)
    cited = sorted(linked & complete.keys())
    positives = sorted(draw.sample(cited, min(params.positives, len(cited))))
    others = AllBut(keys, sorted(position_of[key] for key in {query, *cited}))
    few = len(complete) <= len(linked) + 1 + params.negatives
    unlinked = list(others) if few else sorted(draw.sample(others, params.negatives))
    query_domains = set(complete[query].ipc3)
    return [
        *((query, key, 1.0, "IN" if query_domains & set(complete[key].ipc3) else "OUT") for key in positives),
        *((query, key, 0.0, "NC") for key in unlinked),
    ]


_COLUMNS: Mapping[str, tuple[pa.DataType, Callable[[FamilyRecord], Any]]] = {
    "earliest_claim_jurisdiction": (pa.string(), lambda one: one.primary_jurisdiction),
    "jurisdiction": (pa.list_(pa.string()), lambda one: list(one.jurisdictions)),
    "ipcr_codes_str": (pa.string(), lambda one: "; ".join(one.ipcr_codes)),
    "earliest_claim_date": (pa.string(), lambda one: one.earliest_claim and one.earliest_claim.isoformat()),
    "earliest_claim_year": (pa.int64(), lambda one: one.earliest_claim and one.earliest_claim.year),
    "classifications_ipcr_list_first_three_chars_list": (pa.list_(pa.string()), lambda one: list(one.ipc3)),
    "title_en": (pa.string(), lambda one: one.title),
    "abstract_en": (pa.string(), lambda one: one.abstract),
    "claims_text": (pa.string(), lambda one: one.claims),
    "description_en": (pa.string(), lambda one: one.description),
}
"""Published columns of a family, with type and value."""


def _schema(first: str, *last: str) -> pa.Schema:
    columns = {name: kind for name, (kind, _) in _COLUMNS.items()}
    return pa.schema({first: pa.string()} | columns | dict.fromkeys(last, pa.string()))


def _row(family: FamilyRecord) -> dict[str, Any]:
    return {name: value_of(family) for name, (_, value_of) in _COLUMNS.items()}
