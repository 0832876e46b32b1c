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
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl
import pyarrow as pa

from patent_mteb.files import write_parquet, write_rows
from patent_mteb.patents import ipc, views
from patent_mteb.patents.claims import claims_text, first_independent_claim
from patent_mteb.patents.on_disk import DiskList, publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.tables import frame_of
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes.graph import family_graph
from patent_mteb.recipes.parameters import Count, Positive
from patent_mteb.recipes.sampling import sample_others, sample_queries
from patent_mteb.recipes.steps import MATCH_THEM, BuildLog, Filter, Funnel, Need, filters_of
from patent_mteb.recipes.tfidf import tfidf_vectorizer, tfidf_words


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


_OUTLINE = {
    "earliest_claim": pl.Date,
    "ipc3": pl.List(pl.String),
    **dict.fromkeys(_TEXTS, pl.Boolean),
    "claim1": pl.Boolean,  # whether its claims could be split
}
"""What filters and draws use of a family."""

_HAS = {**{name: pl.col(name) for name in _TEXTS}, "ipc": pl.col("ipc3").list.len() > 0}


def _outline(members: Sequence[Patent]) -> tuple[Any, ...]:
    columns = consolidate(members)
    claims = next(filter(None, (one.claims for one in _newest_first(members))), ())
    day = columns["earliest_claim_date"]
    return (
        day and dt.date.fromisoformat(day),
        columns["classifications_ipcr_list_first_three_chars_list"],
        *(bool(columns[column]) for column, _ in _TEXTS.values()),
        bool(first_independent_claim(claims)),
    )


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write the three tables below ``root/datalyes/DAPFAM_patent``."""
    log = BuildLog("DAPFAM")
    publications_read, cleaned = publications(patents), DiskList(map(clean_patent, patents))
    log.step("bronze: publications", len(patents), len(patents))

    def members(rows: Iterable[int]) -> list[Patent]:
        return [cleaned[row] for row in rows]

    families = publications_read.group_by("family").agg(rows="row").sort("family")
    families = families.hstack(frame_of((_outline(members(rows)) for rows in families["rows"]), _OUTLINE))
    log.step("silver: families", len(patents), len(families))
    funnel = Funnel(log, "families", params.require, "silver: ")
    complete = funnel(families, filters_of(NEEDS, params.require, _HAS)).with_row_index("place")

    graph = family_graph(citations, publications_read)
    note = f"pairs of families, either direction; {graph.dropped}"
    log.step("silver: citation links", len(citations), graph.n_pairs, note)

    linked = graph.links.join(complete.select(other="family"), on="other", maintain_order="left")
    n_linked = graph.links.group_by("family").agg(n_linked=pl.len())
    complete = complete.join(n_linked, on="family", how="left", maintain_order="left").with_columns(
        pl.col("n_linked").fill_null(0), has_target=pl.col("family").is_in(linked["family"].implode())
    )
    candidates = funnel(complete, _query_filters(complete, params))
    draw = random.Random(params.seed)
    queries = _queries(candidates, params, draw, log)
    relations = _relations(queries, complete, linked, params, draw)
    targets = sorted({key for _, key, _, _ in relations})
    n_positive = sum(score > 0 for _, _, score, _ in relations)
    note = f"{n_positive} positive, {len(relations) - n_positive} negative"
    log.step("gold: relations", len(queries), len(relations), note)
    log.step("gold: targets", len(complete), len(targets))
    if unsplit := len(complete.filter(pl.col("family").is_in(targets), pl.col("claims"), ~pl.col("claim1"))):
        note = "the claims of the others could not be split: they have no text in the view Claim1"
        log.step("gold: with a first claim", len(targets), len(targets) - unsplit, note)

    folder = root / DATA_SET
    written = complete.filter(pl.col("family").is_in([*queries, *targets]))
    rows_of = dict(written.select("family", "rows").iter_rows())
    columns = {key: consolidate(members(rows_of[key])) for key in queries}
    words = keywords_of(
        columns, lambda: (consolidate(members(rows))["abstract_en"] for rows in complete["rows"]), params.keywords
    )
    targets_of = ({"relevant_id": key, **consolidate(members(rows_of[key]))} for key in targets)
    write_rows(folder / "corpus.parquet", targets_of, _TARGETS)
    rows = ({"query_id": key, **of_family, "abstract_keywords": words[key]} for key, of_family in columns.items())
    write_rows(folder / "queries.parquet", rows, _QUERIES)
    names = ("query_id", "relevant_id", "relevance_score", "domain_rel")
    judgements = [dict(zip(names, relation, strict=True)) for relation in relations]
    write_parquet(folder / "qrels_all.parquet", pa.Table.from_pylist(judgements))
    log.record_files(root, DATA_SET)
    return log


def _query_filters(complete: pl.DataFrame, params: Params) -> list[Filter]:
    """Return the filters of query families (§3.3, §4.2)."""
    most = max(complete["n_linked"], default=0)
    lower = f"lower min_citations (the most that a family has is {most})"
    claimed, since = pl.col("earliest_claim"), params.earliest_claim
    return [
        *filters_of(NEEDS, params.require, {"filing_date": claimed.is_not_null()}),
        Filter(
            f"with an earliest claim since {since}",
            claimed.is_null() | (claimed >= since),
            "set earliest_claim to an earlier day",
        ),
        Filter(
            f"with at least {params.min_citations} citations",
            pl.col("has_target") & (pl.col("n_linked") >= params.min_citations),
            lower if most else MATCH_THEM,
        ),
    ]


def _queries(candidates: pl.DataFrame, params: Params, draw: random.Random, log: BuildLog) -> list[str]:
    """Draw candidates of each IPC3 domain."""
    domains = candidates.group_by(domain=pl.col("ipc3").list.first()).agg("family").sort("domain")
    queries = sorted(
        family
        for families in domains["family"].to_list()
        for family in draw.sample(families, min(params.queries_per_domain, len(families)))
    )
    step = f"gold: {params.queries_per_domain} queries a domain"
    log.step(step, len(candidates), len(queries), f"{len(domains)} IPC3 domains")
    drawn = candidates.filter(pl.col("family").is_in(queries)).select("family", "earliest_claim", "ipc3")
    strata = {family: (str(day.year) if day else "", ipc3[0][0]) for family, day, ipc3 in drawn.iter_rows()}
    return sample_queries(strata, params.queries, params.seed, log)


def _relations(
    queries: Sequence[str], complete: pl.DataFrame, linked: pl.DataFrame, params: Params, draw: random.Random
) -> list[tuple[str, str, float, str]]:
    """Return (query, target, score, domain relation) of linked and unlinked families.

    ``linked`` has each complete ``other`` that is linked to a ``family``, in order.
    """
    of_queries = linked.filter(pl.col("family").is_in(queries)).group_by("family", maintain_order=True).agg("other")
    linked_of: dict[str, list[str]] = dict(of_queries.iter_rows())
    judged = complete.filter(pl.col("family").is_in([*queries, *chain(*linked_of.values())]))
    known = {family: others for family, *others in judged.select("family", "place", "n_linked", "ipc3").iter_rows()}
    families = complete["family"]
    relations: list[tuple[str, str, float, str]] = []
    for query in queries:
        cited = linked_of[query]
        positives = sorted(draw.sample(cited, min(params.positives, len(cited))))
        _, n_linked, domains = known[query]
        excluded = sorted(known[key][0] for key in (query, *cited))
        if len(complete) <= n_linked + 1 + params.negatives:
            places: Iterable[int] = sorted(set(range(len(complete))).difference(excluded))
        else:
            places = sorted(sample_others(draw, len(complete), excluded, params.negatives))
        for key in positives:
            relations.append((query, key, 1.0, "OUT" if set(domains).isdisjoint(known[key][2]) else "IN"))
        relations += [(query, families[place], 0.0, "NC") for place in places]
    return relations
