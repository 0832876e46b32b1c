"""Recipe of DAPFAM: bronze, silver and gold layer (§3.2-3.5), from canonical records to the three published tables.

Writes ``datalyes/DAPFAM_patent/`` with ``corpus.parquet``, ``queries.parquet`` and ``qrels_all.parquet``, columns as published
(Tables 3 and 4 of the paper).

Readings where the paper is silent or can be read in two ways: the date filter and the citation threshold apply to queries
only (§4.2: targets may be older); citations are counted between families of the input; a family's primary IPC code is the
first code of its earliest member; target and negative families must have complete English text as query families do;
keywords are taken from the records, and where a record has none they are the words of the abstract with the highest tf-idf
over the input.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import write_parquet
from patent_mteb.patents import ipc, views
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.recipes.graph import FamilyGraph, family_graph
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.parameters import Count, Positive

__all__ = ["DATA_SET", "SAMPLE", "FamilyRecord", "Params", "build", "consolidate"]

DATA_SET = "datalyes/DAPFAM_patent"


@dataclass(frozen=True)
class Params:
    """Settings of the recipe; the defaults are the paper's.

    Attributes:
        earliest_claim: least date of a query's earliest claim.
        min_citations: least number of families that a query's family cites or is cited by.
        queries_per_domain: most queries of an IPC3 domain.
        positives: most relevant targets of a query.
        negatives: most targets of a query that no citation links to it.
        keywords: words of an abstract that stand for the keywords of a record without any.
        seed: seed of every draw.
    """

    earliest_claim: dt.date = dt.date(2000, 1, 1)
    min_citations: Count = 100
    queries_per_domain: Positive = 10
    positives: Positive = 20
    negatives: Count = 20
    keywords: Count = 10
    seed: int = 42


SAMPLE = Params(min_citations=4, queries_per_domain=10, positives=20, negatives=20)
"""The built-in sample's families have a handful of citations each."""


@dataclass(frozen=True)
class FamilyRecord:
    """One simple family after consolidation (gold layer)."""

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

    @property
    def complete(self) -> bool:
        """Whether all four texts are there (the English-completeness filter of the silver layer)."""
        return all((self.title, self.abstract, self.claims, self.description))


def consolidate(members: Sequence[Patent]) -> FamilyRecord:
    """Merge the publications of one family (§3.2, gold layer).

    Id, primary jurisdiction and date come from the member with the earliest claim date, list fields keep their distinct
    values in the order of the members, each text is the most recent member's that has it.

    Example:
        >>> from patent_mteb.patents.records import Patent
        >>> from patent_mteb.recipes.dapfam import consolidate
        >>> family = consolidate([Patent("EP1A", "F1", title="Pump"), Patent("US2A", "F1", title="Pump with a valve")])
        >>> family.jurisdictions, family.title
        (('EP', 'US'), 'Pump with a valve')
    """
    by_claim = sorted(members, key=lambda patent: (_claim_date(patent) or dt.date.max, patent.publication_number))
    by_publication = sorted(members, key=lambda patent: (patent.publication_date or dt.date.min, patent.publication_number))
    codes = tuple(dict.fromkeys(code for patent in by_claim for code in patent.ipc))

    def newest(view: str) -> str:
        return next((text for patent in reversed(by_publication) if (text := _text(patent, view))), "")

    return FamilyRecord(
        id=by_claim[0].family_id,
        primary_jurisdiction=by_claim[0].jurisdiction,
        jurisdictions=tuple(dict.fromkeys(patent.jurisdiction for patent in by_claim)),
        ipcr_codes=codes,
        ipc3=ipc.codes_at(codes, "ipc3", errors="skip").codes,
        earliest_claim=_claim_date(by_claim[0]),
        title=newest("Title"),
        abstract=newest("Abstract"),
        claims=newest("Claims"),
        description=newest("Description"),
        keywords=tuple(dict.fromkeys(word for patent in by_claim for word in patent.keywords)),
    )


def _claim_date(patent: Patent) -> dt.date | None:
    return patent.priority_date or patent.application_date


def _text(patent: Patent, view: str) -> str:
    if view == "Claims":
        return "\n".join(f"{claim.number}. {claim.text}" for claim in patent.claims)
    return views.VIEWS[view](patent)


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = Params()) -> BuildLog:
    """Write the three tables below ``root/datalyes/DAPFAM_patent``.

    Raises:
        DataError: no family qualifies as a query.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb import sample
        >>> from patent_mteb.recipes import dapfam
        >>> patents, citations = sample.generate()
        >>> log = dapfam.build(patents[:400], citations, Path("tables"), dapfam.SAMPLE)
        >>> log.files[0]
        'datalyes/DAPFAM_patent/corpus.parquet'
    """
    log = BuildLog("DAPFAM")
    members: dict[str, list[Patent]] = {}
    for patent in patents:
        members.setdefault(patent.family_id, []).append(clean_patent(patent))
    log.step("bronze: publications", len(patents), sum(map(len, members.values())))

    families = {key: consolidate(group) for key, group in sorted(members.items())}
    log.step("silver: families", len(patents), len(families))
    complete = {key: family for key, family in families.items() if family.complete and family.ipc3}
    log.step("silver: complete English text and an IPC code", len(families), len(complete))

    graph = family_graph(citations, {patent.publication_number: patent.family_id for patent in patents})
    log.step("silver: citation links", len(citations), graph.n_pairs, "pairs of families, either direction")

    candidates = _candidates(complete, graph, params, log)
    if not candidates:
        raise DataError(
            f"no family has {params.min_citations} citations within the {len(families)} families",
            path=root,
            remedy="lower min_citations, or add citations",
        )
    draw = random.Random(params.seed)
    queries = _queries(candidates, complete, params, draw, log)
    relations = [relation for query in queries for relation in _relations(query, complete, graph, params, draw)]
    targets = sorted({key for _, key, _, _ in relations})
    n_positive = sum(score > 0 for _, _, score, _ in relations)
    log.step("gold: relations", len(queries), len(relations), f"{n_positive} positive, {len(relations) - n_positive} negative")
    log.step("gold: targets", len(complete), len(targets))

    folder = root / DATA_SET
    words = _keywords({key: complete[key] for key in queries}, complete, params.keywords)
    write_parquet(folder / "corpus.parquet", _table("relevant_id", [complete[key] for key in targets]))
    write_parquet(
        folder / "queries.parquet",
        _table("query_id", [complete[key] for key in queries]).append_column(
            "abstract_keywords", pa.array([words[key] for key in queries])
        ),
    )
    columns = list(zip(*relations, strict=True))
    names = ("query_id", "relevant_id", "relevance_score", "domain_rel")
    write_parquet(folder / "qrels_all.parquet", pa.table(dict(zip(names, map(list, columns), strict=True))))
    log.files = [f"{DATA_SET}/{name}.parquet" for name in ("corpus", "qrels_all", "queries")]
    return log


def _candidates(complete: Mapping[str, FamilyRecord], graph: FamilyGraph, params: Params, log: BuildLog) -> list[str]:
    """Families that can be queries (§3.3, §4.2)."""
    recent = [
        key for key, family in complete.items() if family.earliest_claim is not None and family.earliest_claim >= params.earliest_claim
    ]
    log.step(f"silver: earliest claim since {params.earliest_claim}", len(complete), len(recent))
    candidates = [key for key in recent if len(linked := graph.linked(key)) >= params.min_citations and not linked.isdisjoint(complete)]
    log.step(f"silver: at least {params.min_citations} citations", len(recent), len(candidates))
    return candidates


def _queries(
    candidates: Sequence[str], complete: Mapping[str, FamilyRecord], params: Params, draw: random.Random, log: BuildLog
) -> list[str]:
    """Some candidates of each IPC3 domain."""
    domains: dict[str, list[str]] = {}
    for key in candidates:
        domains.setdefault(complete[key].ipc3[0], []).append(key)
    queries = sorted(key for _, keys in sorted(domains.items()) for key in draw.sample(keys, min(params.queries_per_domain, len(keys))))
    log.step(f"gold: {params.queries_per_domain} queries a domain", len(candidates), len(queries), f"{len(domains)} IPC3 domains")
    return queries


def _relations(
    query: str, complete: Mapping[str, FamilyRecord], graph: FamilyGraph, params: Params, draw: random.Random
) -> list[tuple[str, str, float, str]]:
    """(query, target, score, domain relation) of one query: cited or citing families, and others that are neither."""
    linked = graph.linked(query)
    cited = sorted(linked & complete.keys())
    positives = sorted(draw.sample(cited, min(params.positives, len(cited))))
    unlinked = [key for key in complete if key != query and key not in linked]
    if len(complete) > len(linked) + 1 + params.negatives:
        unlinked = sorted(draw.sample(unlinked, params.negatives))
    query_domains = set(complete[query].ipc3)
    return [
        *((query, key, 1.0, "IN" if query_domains & set(complete[key].ipc3) else "OUT") for key in positives),
        *((query, key, 0.0, "NC") for key in unlinked),
    ]


def _keywords(queries: Mapping[str, FamilyRecord], families: Mapping[str, FamilyRecord], number: int) -> dict[str, str]:
    missing = [key for key, family in queries.items() if not family.keywords]
    words = {key: ", ".join(family.keywords) for key, family in queries.items()}
    if missing:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(stop_words="english").fit(family.abstract for family in families.values())
        terms = vectorizer.get_feature_names_out()
        for key, row in zip(missing, vectorizer.transform(queries[key].abstract for key in missing), strict=True):
            best = sorted(zip(row.data, terms[row.indices], strict=True), key=lambda item: (-item[0], item[1]))
            words[key] = ", ".join(term for _, term in best[:number])
    return words


def _table(key: str, families: Sequence[FamilyRecord]) -> pa.Table:
    strings = pa.list_(pa.string())
    dates = [family.earliest_claim for family in families]
    return pa.table(
        {
            key: [family.id for family in families],
            "earliest_claim_jurisdiction": [family.primary_jurisdiction for family in families],
            "jurisdiction": pa.array([list(family.jurisdictions) for family in families], strings),
            "ipcr_codes_str": ["; ".join(family.ipcr_codes) for family in families],
            "earliest_claim_date": pa.array([date.isoformat() if date else None for date in dates], pa.string()),
            "earliest_claim_year": pa.array([date.year if date else None for date in dates], pa.int64()),
            "classifications_ipcr_list_first_three_chars_list": pa.array([list(family.ipc3) for family in families], strings),
            "title_en": [family.title for family in families],
            "abstract_en": [family.abstract for family in families],
            "claims_text": [family.claims for family in families],
            "description_en": [family.description for family in families],
        }
    )
