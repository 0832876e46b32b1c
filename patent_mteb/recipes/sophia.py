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
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl
import pyarrow as pa

from patent_mteb.files import write_parquet, write_rows
from patent_mteb.patents import views
from patent_mteb.patents.categories import degree, is_category
from patent_mteb.patents.claims import claims_text, independent_claims
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.keyed import Keyed
from patent_mteb.patents.on_disk import DiskList, publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.summaries import read_summaries, source_of
from patent_mteb.patents.tables import by_age, frame_of, links_of, with_families_of_ends
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes.beir import title_and_text, write_beir
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


_SECTIONS = ("Title", "Abstract", "Claims", "Description")

_PUBLICATION = {
    "jurisdiction": pl.String,
    "filed": pl.String,
    "ipc": pl.List(pl.String),
    **dict.fromkeys(_SECTIONS, pl.Boolean),
}
"""What families, filters and draws use of a publication: offices of publication and first filing, codes, texts."""


def _publication(patent: Patent) -> tuple[Any, ...]:
    sections = (bool(views.VIEWS[name](patent)) for name in _SECTIONS)
    return patent.jurisdiction, patent.filing_jurisdiction, patent.ipc, *sections


def _families(publications_read: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each family: its document, and the office of first filing and IPC codes of its publications."""
    earliest_first = by_age(publications_read, "family").with_columns(
        n_sections=pl.sum_horizontal(_SECTIONS), earliest=pl.col("jurisdiction").first().over("family")
    )
    document_first = earliest_first.sort("family", -pl.col("n_sections").cast(pl.Int8), maintain_order=True)
    filed = pl.col("filed").filter(pl.col("filed") != "").first()
    families = document_first.group_by("family", maintain_order=True).agg(
        pl.first("row", "number", "n_sections", *_SECTIONS),
        pl.col("day").first().dt.year().alias("year"),
        pl.coalesce(filed, pl.first("earliest")).alias("jurisdiction"),
        pl.col("ipc").list.explode().drop_nulls().unique(maintain_order=True),
    )
    return families.with_columns(section=pl.Series(map(ipc_section, families["ipc"].to_list()), dtype=pl.String))


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write ``root/Sophia``."""
    log = BuildLog(NAME)
    cleaned = DiskList(map(clean_patent, patents))
    publications_read = publications(patents).hstack(frame_of(map(_publication, cleaned), _PUBLICATION))
    families = _families(publications_read)
    documents = families.filter(pl.col("n_sections") > 0).with_row_index("place")
    log.step("families", len(patents), len(families))
    log.step("families with text", len(families), len(documents))

    document_of = publications_read.select("number", "family").join(documents.select("family"), on="family")
    edges = _edges(citations, document_of, "category" in params.require, log)
    relevant = edges.group_by("family").agg(pl.col("other").n_unique().alias("n_relevant"), pl.any("is_xy"))
    documents = documents.join(relevant, on="family", how="left", maintain_order="left").with_columns(
        pl.col("n_relevant").fill_null(0), pl.col("is_xy").fill_null(False)
    )
    candidates = Funnel(log, "families", params.require, "queries: ")(documents, _query_filters(documents, params))
    queries = _draw(candidates, params)
    distinct = [queries[name].n_unique() for name in ("year", "section", "jurisdiction")]
    note = "{} years, {} sections, {} jurisdictions".format(*distinct)
    log.step("queries, stratified by year, IPC section and jurisdiction", len(candidates), len(queries), note)
    patents_of_queries = (cleaned[row] for row in queries["row"])
    query_patents = with_summaries_from(params.summaries, patents_of_queries, log)
    others = edges.join(documents.select("place", "number", other="family"), on="other")
    links = (
        queries.select("family", query="number")
        .join(others, on="family")
        .sort("query", "other", "direction", "category")
    )
    corpus = _corpus(documents, queries, links["place"].unique(), params)
    log.step("corpus", len(documents), len(corpus))

    folder = root / NAME
    judged = links.group_by("query", maintain_order=True).agg(pl.col("number").unique(maintain_order=True))
    qrels = {query: dict.fromkeys(numbers, 1) for query, numbers in judged.iter_rows()}
    rows = pl.concat([corpus, queries]).unique("number").sort("number")
    metadata = pa.table(
        {
            "_id": rows["number"].to_list(),
            "family_id": rows["family"].to_list(),
            "jurisdiction": rows["jurisdiction"].to_list(),
            "publication_year": pa.array(rows["year"].to_list(), pa.int64()),
            "ipc": pa.array(rows["ipc"].to_list(), pa.list_(pa.string())),
        }
    )
    texts = Composed(
        Keyed(corpus["number"], corpus["row"].to_list()),
        lambda row: title_and_text(cleaned[row], _SECTIONS[1:]),
    )
    row_of = {query: row for row, query in enumerate(queries["number"])}
    write_beir(folder, texts, Composed(row_of, lambda row: views.VIEWS["Tacd"](query_patents[row])), qrels, metadata)
    _write_representations(folder, query_patents, log)
    columns = {"query-id": "query", "corpus-id": "number", "direction": "direction", "category": "category"}
    written = [dict(zip(columns, row, strict=True)) for row in links.select(*columns.values()).iter_rows()]
    write_parquet(folder / "citations.parquet", pa.Table.from_pylist(written))
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


def _edges(citations: Sequence[Citation], document_of: pl.DataFrame, graded: bool, log: BuildLog) -> pl.DataFrame:
    """Return what links a ``family`` to each ``other``: ``direction``, ``category``, and whether that ``is_xy``.

    ``document_of`` has the publications of families with a document.
    """
    links = links_of(citations, "category")
    kinds = frame_of(
        ((name, degree(name), is_category(name)) for name in links["category"].unique()),
        {"category": pl.String, "degree": pl.String, "is_known": pl.Boolean},
    )
    links = with_families_of_ends(links.join(kinds, on="category"), document_of)
    citing, cited, ungraded = pl.col("citing_family"), pl.col("cited_family"), pl.col("degree") == ""
    reason = (
        pl.when(~pl.col("is_known"))
        .then(pl.lit("with a category that no search report uses"))
        .when(citing.is_null() | cited.is_null())
        .then(pl.lit("of or by publications that are not among the patents"))
        .when(citing == cited)
        .then(pl.lit("within a family"))
        .when(ungraded & graded)
        .then(pl.lit("without a category X, Y or A"))
    )
    links = links.with_columns(reason=reason)
    used = links.filter(pl.col("reason").is_null())
    dropped = links.drop_nulls("reason").group_by("reason").len().sort("reason")
    name = "citations with a category" if graded else "citations, with a category or not"
    log.step(name, len(citations), len(used), counts_note(dict(dropped.iter_rows())))
    note_ungraded(log, len(used.filter(ungraded)), len(used))
    rest = (pl.col("category"), (pl.col("degree") == "xy").alias("is_xy"))
    return pl.concat(
        [
            used.select(citing.alias("family"), cited.alias("other"), pl.lit("cited").alias("direction"), *rest),
            used.select(cited.alias("family"), citing.alias("other"), pl.lit("citing").alias("direction"), *rest),
        ]
    ).unique()


def _query_filters(documents: pl.DataFrame, params: Params) -> list[Filter]:
    """Return the filters of query families (§3.2)."""
    has = {name.lower(): pl.col(name) for name in _SECTIONS}
    has |= {"publication_date": pl.col("year").is_not_null(), "ipc": pl.col("section") != ""}
    graded = "category" in params.require
    most = max(documents["n_relevant"], default=0)
    remedy = f"set min_relevant={most}, the most that a family has" if most else CATEGORIES if graded else MATCH_THEM
    return [
        *filters_of(NEEDS, params.require, has),
        Filter(
            "published in the years",
            within(pl.col("year"), params.first_year, params.last_year),
            "set first_year=None and last_year=None, or widen them",
        ),
        Filter(f"with {params.min_relevant} relevant documents", pl.col("n_relevant") >= params.min_relevant, remedy),
        *([Filter("with an XY document", pl.col("is_xy"), CATEGORIES)] if graded else []),
    ]


def _draw(candidates: pl.DataFrame, params: Params) -> pl.DataFrame:
    """Draw the queries, evenly by year; within a year by IPC section and office of first filing."""
    cells = candidates.group_by(pl.col("year").fill_null(0), "section", "jurisdiction").agg("place", pl.len())
    per_year = dict(cells.group_by("year").agg(pl.sum("len")).iter_rows())
    draw = random.Random(params.seed)
    chosen: list[int] = []
    for year, quota in _even(per_year, params.queries):
        of_year = cells.filter(pl.col("year") == year)
        places = {(section, office): rows for _, section, office, rows, _ in of_year.iter_rows()}
        for cell, count in sorted(shares({cell: len(rows) for cell, rows in places.items()}, quota).items()):
            chosen += draw.sample(places[cell], count)
    return candidates.filter(pl.col("place").is_in(chosen)).sort("number")


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


def _corpus(documents: pl.DataFrame, queries: pl.DataFrame, relevant: pl.Series, params: Params) -> pl.DataFrame:
    """Return the relevant documents, and others by chance that are not queries."""
    excluded = sorted({*relevant, *queries["place"]})
    n_others = min(len(documents) - len(excluded), max(0, params.corpus - len(relevant)))
    others = sample_others(random.Random(params.seed + 1), len(documents), excluded, n_others)
    return documents.filter(pl.col("place").is_in([*relevant, *others])).sort("number")
