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
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from patent_mteb.files import write_parquet, write_rows
from patent_mteb.patents import ipc, views
from patent_mteb.patents.claims import claims_text, first_independent_claim
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.on_disk import DiskList, keyed_on_disk, publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.scripts import HAS_UNSPACED, UNSPACED, words_and_pieces
from patent_mteb.patents.text import clean_patent
from patent_mteb.patents.text_columns import Keyed, Members, Rows, values_of
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.parameters import Count, Positive
from patent_mteb.recipes.sampling import grouped, sample_others, sample_queries
from patent_mteb.recipes.steps import MATCH_THEM, BuildLog, Filter, Funnel, Need, filters_of

_RUN_OR_WORD = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")


def tfidf_words() -> Callable[[str], list[str]]:
    """Return scikit-learn's analyser for English; words of unspaced scripts become overlapping pairs of letters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    analyse = TfidfVectorizer(stop_words="english").build_analyzer()

    def words_of(text: str) -> list[str]:
        words = analyse(text)
        return words_and_pieces(" ".join(words), 2, _RUN_OR_WORD) if HAS_UNSPACED.search(text) else words

    return words_of


def tfidf_vectorizer(frequency: Mapping[str, int], n_texts: int, **options: Any) -> Any:
    """Return a fitted ``TfidfVectorizer``, given the number of texts with each word."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=tfidf_words(), vocabulary=list(frequency), **options)
    vectorizer.idf_ = np.log((1 + n_texts) / (1 + np.array(list(frequency.values()), np.float64))) + 1
    return vectorizer


def keywords_of(
    queries: Mapping[str, Mapping[str, Any]], abstracts: Callable[[], Iterable[str]], number: int
) -> dict[str, str]:
    """Return the keywords of each query, separated by commas, from its columns."""
    words: dict[str, str] = {key: family["abstract_keywords"] for key, family in queries.items()}
    missing = {key: family["abstract_en"] for key, family in queries.items() if not words[key]}
    if not any(missing.values()):
        return words
    analyse = tfidf_words()
    frequency: Counter[str] = Counter({term: 0 for abstract in missing.values() for term in analyse(abstract)})
    if not frequency:  # no abstract holds a word
        return words
    n_abstracts = 0
    for abstract in filter(None, abstracts()):
        n_abstracts += 1
        frequency.update(frequency.keys() & analyse(abstract))
    terms = sorted(frequency)
    vectorizer = tfidf_vectorizer({term: frequency[term] for term in terms}, n_abstracts)
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


SAMPLE = Params(min_citations=4)
"""Families of the built-in sample have few citations."""


_STRING, _STRINGS = pa.string(), pa.list_(pa.string())
_COLUMNS = {
    "earliest_claim_jurisdiction": _STRING,
    "jurisdiction": _STRINGS,
    "ipcr_codes_str": _STRING,
    "earliest_claim_date": _STRING,
    "earliest_claim_year": pa.int64(),
    "classifications_ipcr_list_first_three_chars_list": _STRINGS,
    "title_en": _STRING,
    "abstract_en": _STRING,
    "claims_text": _STRING,
    "description_en": _STRING,
}
"""Published columns of a family. Those of queries have also ``abstract_keywords``."""

_TARGETS = pa.schema({"relevant_id": _STRING, **_COLUMNS})
_QUERIES = pa.schema({"query_id": _STRING, **_COLUMNS, "abstract_keywords": _STRING})

_TEXTS: Mapping[str, tuple[str, Callable[[Patent], str]]] = {
    "title": ("title_en", views.VIEWS["Title"]),
    "abstract": ("abstract_en", views.VIEWS["Abstract"]),
    "claims": ("claims_text", lambda patent: claims_text(patent.claims, "\n")),
    "description": ("description_en", views.VIEWS["Description"]),
}
"""Column and text of each field."""


def _claim_date(patent: Patent) -> dt.date | None:
    return patent.priority_date or patent.application_date


def _newest_first(members: Sequence[Patent]) -> list[Patent]:
    return sorted(members, key=lambda one: (one.publication_date or dt.date.min, one.publication_number), reverse=True)


def consolidate(members: Sequence[Patent]) -> dict[str, Any]:
    """Merge the publications of one simple family to the columns of a query (§3.2, gold layer).

    Primary jurisdiction and date come from the member with the earliest claim date. List fields have the distinct
    values of all members, in their order. Each text comes from the most recent member that has it.
    """
    by_claim = sorted(members, key=lambda patent: (_claim_date(patent) or dt.date.max, patent.publication_number))
    codes = list(dict.fromkeys(code for patent in by_claim for code in patent.ipc))
    claimed = _claim_date(by_claim[0])
    return {
        "earliest_claim_jurisdiction": by_claim[0].jurisdiction,
        "jurisdiction": list(dict.fromkeys(patent.jurisdiction for patent in by_claim)),
        "ipcr_codes_str": "; ".join(codes),
        "earliest_claim_date": claimed and claimed.isoformat(),
        "earliest_claim_year": claimed and claimed.year,
        "classifications_ipcr_list_first_three_chars_list": list(ipc.codes_at(codes, "ipc3").codes),
        **{column: next(filter(None, map(text_of, _newest_first(members))), "") for column, text_of in _TEXTS.values()},
        "abstract_keywords": ", ".join(dict.fromkeys(word for patent in by_claim for word in patent.keywords)),
    }


@dataclass(frozen=True, slots=True)
class _Outline:
    """The fields of a family that filters and draws use."""

    id: str
    earliest_claim: dt.date | None
    ipc3: tuple[str, ...]
    texts: frozenset[str]  # names of the texts that it has; ``claim1`` if its claims could be split


_HAS: Mapping[str, Callable[[_Outline], bool]] = {
    **{name: lambda family, name=name: name in family.texts for name in _TEXTS},  # type: ignore[misc]
    "ipc": lambda family: bool(family.ipc3),
}


def _families(patents: Sequence[Patent]) -> Mapping[str, list[Patent]]:
    """Return the cleaned publications of each family, which are read from a temporary file on access."""
    cleaned, members = DiskList(map(clean_patent, patents)), Members(publications(patents).families)
    return Composed(Keyed(members.texts, members), lambda rows: [cleaned[row] for row in rows])


def _outline(family: str, members: Sequence[Patent]) -> _Outline:
    columns = consolidate(members)
    claims = next(filter(None, (one.claims for one in _newest_first(members))), ())
    day = columns["earliest_claim_date"]
    ipc3 = tuple(columns["classifications_ipcr_list_first_three_chars_list"])
    texts = frozenset(name for name, (column, _) in _TEXTS.items() if columns[column])
    texts |= {"claim1"} if first_independent_claim(claims) else set()
    return _Outline(family, day and dt.date.fromisoformat(day), ipc3, texts)


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write the three tables below ``root/datalyes/DAPFAM_patent``."""
    log = BuildLog("DAPFAM")
    families = _families(patents)
    log.step("bronze: publications", len(patents), len(patents))

    outlines = keyed_on_disk((key, _outline(key, members)) for key, members in families.items())
    log.step("silver: families", len(patents), len(outlines))
    funnel = Funnel(log, "families", params.require, "silver: ")
    complete = outlines.at(funnel(outlines.values(), filters_of(NEEDS, params.require, _HAS)))

    graph = family_graph(citations, publications(patents).family_of)
    note = f"pairs of families, either direction; {graph.dropped}"
    log.step("silver: citation links", len(citations), graph.n_pairs, note)

    candidates = funnel(complete.values(), _query_filters(complete, graph, params))
    draw = random.Random(params.seed)
    queries = _queries(candidates, complete, params, draw, log)
    relations = _relations(queries, complete, graph, params, draw)
    targets = sorted({key for _, key, _, _ in relations})
    n_positive = sum(score > 0 for _, _, score, _ in relations)
    note = f"{n_positive} positive, {len(relations) - n_positive} negative"
    log.step("gold: relations", len(queries), len(relations), note)
    log.step("gold: targets", len(complete), len(targets))
    unsplit = [key for key in targets if complete[key].texts & {"claims", "claim1"} == {"claims"}]
    if unsplit:
        note = "the claims of the others could not be split: they have no text in the view Claim1"
        log.step("gold: with a first claim", len(targets), len(targets) - len(unsplit), note)

    folder = root / DATA_SET
    columns = {key: consolidate(families[key]) for key in queries}
    words = keywords_of(
        columns, lambda: (consolidate(families[key])["abstract_en"] for key in complete), params.keywords
    )
    targets_of = ({"relevant_id": key, **consolidate(families[key])} for key in targets)
    write_rows(folder / "corpus.parquet", targets_of, _TARGETS)
    rows = ({"query_id": key, **of_family, "abstract_keywords": words[key]} for key, of_family in columns.items())
    write_rows(folder / "queries.parquet", rows, _QUERIES)
    names = ("query_id", "relevant_id", "relevance_score", "domain_rel")
    judgements = [dict(zip(names, relation, strict=True)) for relation in relations]
    write_parquet(folder / "qrels_all.parquet", pa.Table.from_pylist(judgements))
    log.record_files(root, DATA_SET)
    return log


def _query_filters(complete: Mapping[str, _Outline], graph: FamilyGraph, params: Params) -> list[Filter[_Outline]]:
    """Return the filters of query families (§3.3, §4.2)."""

    def cited(family: _Outline) -> bool:
        linked = graph.linked(family.id)
        return len(linked) >= params.min_citations and any(other in complete for other in linked)

    most = max((len(graph.linked(key)) for key in complete), default=0)
    lower = f"lower min_citations (the most that a family has is {most})"
    dated = filters_of(NEEDS, params.require, {"filing_date": lambda family: family.earliest_claim is not None})
    since = params.earliest_claim
    return [
        *dated,
        Filter(
            f"with an earliest claim since {since}",
            lambda family: family.earliest_claim is None or family.earliest_claim >= since,
            "set earliest_claim to an earlier day",
        ),
        Filter(f"with at least {params.min_citations} citations", cited, lower if most else MATCH_THEM),
    ]


def _queries(
    candidates: Rows, complete: Keyed[_Outline], params: Params, draw: random.Random, log: BuildLog
) -> list[str]:
    """Draw candidates of each IPC3 domain."""
    domains = grouped(values_of(candidates), lambda place: complete.by_row[place].ipc3[0])
    queries = sorted(
        complete.by_row[place].id
        for _, places in sorted(domains.items())
        for place in draw.sample(places, min(params.queries_per_domain, len(places)))
    )
    step = f"gold: {params.queries_per_domain} queries a domain"
    log.step(step, len(candidates), len(queries), f"{len(domains)} IPC3 domains")
    strata = {}
    for key in queries:
        family = complete[key]
        strata[key] = str(family.earliest_claim.year) if family.earliest_claim else "", family.ipc3[0][0]
    return sample_queries(strata, params.queries, params.seed, log)


def _relations(
    queries: Sequence[str], complete: Keyed[_Outline], graph: FamilyGraph, params: Params, draw: random.Random
) -> list[tuple[str, str, float, str]]:
    """Return (query, target, score, domain relation) of linked and unlinked families."""
    relations: list[tuple[str, str, float, str]] = []
    for query in queries:
        linked = graph.linked(query)
        cited = sorted(linked & complete.keys())
        positives = sorted(draw.sample(cited, min(params.positives, len(cited))))
        judged = {query, *cited}
        if len(complete) <= len(linked) + 1 + params.negatives:
            unlinked = [key for key in complete if key not in judged]
        else:
            excluded = sorted(map(complete.row_of, judged))
            places = sample_others(draw, len(complete), excluded, params.negatives)
            unlinked = [complete.column[place].as_py() for place in sorted(places)]
        domains = set(complete[query].ipc3)
        for key in positives:
            relations.append((query, key, 1.0, "OUT" if domains.isdisjoint(complete[key].ipc3) else "IN"))
        relations += [(query, key, 0.0, "NC") for key in unlinked]
    return relations
