"""DAPFAM: family-level prior-art retrieval inside and outside the query's domain.

Documents, queries and relations are the published tables (``datalyes/DAPFAM_patent``). A pair is relevant iff its
``relevance_score`` is positive (WIPO-AT §3.8, the same as DAPFAM §3.4). Sampled negatives (``domain_rel`` = ``NC``) are
not relevant, like unjudged pairs. Rankings are over the full corpus. Instruction models get mteb's general instruction
for retrieval, as in mteb's own DAPFAM tasks, which name none.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from patent_mteb import files
from patent_mteb.data.loading import DataSet, Source
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.memory import LRUCache, portion
from patent_mteb.metrics import slices
from patent_mteb.models.variants import section_tags
from patent_mteb.patents import views
from patent_mteb.patents.claims import first_independent_claim, split_claims
from patent_mteb.patents.corpus import Texts
from patent_mteb.published import citation
from patent_mteb.search.base import document_text
from patent_mteb.tasks.base import make_task, sections_of
from patent_mteb.tasks.benchmark import ONE_CLAIM, OTHER_FIELDS, PRIOR_ART, SAME_FIELD, Facts, PatentBenchmark
from patent_mteb.tasks.checks import ids_of, is_text, log_counts, read_unique, refuse_truncated, refuse_unscorable
from patent_mteb.tasks.retrieval import PatentRetrieval, RetrievalTables

logger = logging.getLogger(__name__)
_CACHE_BYTES = 1 << 28  # of texts of families that tasks share
_CACHE: LRUCache[tuple[Hashable, ...], Texts] = LRUCache(_CACHE_BYTES)


DATA = DataSet("datalyes/DAPFAM_patent", "dapfam", "780f4011d60297fc6e97a4119b0c516d13afea2d")

FACTS = Facts(
    name="DAPFAM",
    replaced=("Patent",),
    description="Family-level patent retrieval with citations inside and outside the query's technical domain.",
    reference="https://arxiv.org/abs/2506.22141",
    bibtex=citation("ayaou2025dapfamdomainawarefamilyleveldataset"),
    license="cc-by-nc-sa-4.0",
    date=("1964-06-26", "2023-06-20"),
    split="train",
    prefix="PatentDAPFAM",
    headline="PatentDAPFAMTACToTACRetrieval",
    jobs={
        PRIOR_ART: ("PatentDAPFAMTACToTACRetrieval", ""),
        SAME_FIELD: ("PatentDAPFAMTACToTACRetrieval", "in"),
        OTHER_FIELDS: ("PatentDAPFAMTACToTACRetrieval", "out"),
        ONE_CLAIM: ("PatentDAPFAMClaim1ToClaim1Retrieval", ""),
    },
    prompt_rows=((r"PatentDAPFAM\w+Retrieval(\.mteb)?", "retrieval_MIXED"),),
    paper="dapfam",
)

SECTIONS: dict[str, tuple[str, ...]] = {
    "Title": ("title_en",),
    "TA": ("title_en", "abstract_en"),
    "TAC": ("title_en", "abstract_en", "claims_text"),
    "Abstract": ("abstract_en",),
    "Description": ("description_en",),
    "FullText": ("title_en", "abstract_en", "claims_text", "description_en"),
}
"""The columns of each text view, joined by a space.

``Claim1`` and ``Keywords`` come from ``claims_text`` and the keyword column."""

PARTS_OF_VIEW = {"Title": ("title",), "Abstract": ("abstract",), "Claim1": ("claim",), "Description": ("invention",)}

SECTION_OF_COLUMN = dict(zip(SECTIONS["FullText"], ("title", "abstract", "claim", "invention"), strict=True))

_KEYWORD_COLUMNS = ("abstract_keywords", "keywords", "keyword")


@dataclass(frozen=True)
class Pair:
    """Query view, corpus view and domain (empty for ALL) of a task; ``as_mteb`` selects the texts of mteb's own."""

    query: str
    corpus: str
    domain: str = ""
    as_mteb: bool = False

    @property
    def name(self) -> str:
        return f"PatentDAPFAM{self.query}To{self.corpus}{self.domain}Retrieval{'.mteb' * self.as_mteb}"

    @property
    def description(self) -> str:
        part = {
            "": "all citations; citations inside and outside the query's IPC-3 domains are reported as slices",
            "In": "citations that share an IPC-3 code with the query",
            "Out": "citations that share no IPC-3 code with the query",
        }[self.domain]
        views = f"query {self.query}, corpus {self.corpus}{', parts joined as in mteb' * self.as_mteb}"
        return f"Given a patent family, retrieve the families it cites or that cite it ({part}; {views})."


PAIRS = (
    *product(("TA", "TAC", "Abstract", "Keywords", "Title"), ("FullText", "TA", "Description", "TAC")),
    *((query, "Abstract") for query in ("TA", "TAC", "Abstract")),
    ("Claim1", "Claim1"),
)
"""The views of Tables 17 and 19, the title query of Fig. 6, and the remaining symmetric views of WIPO-AT §3.8."""

DOMAINS = ("", "In", "Out")
SPECS = tuple(Pair(*pair, domain) for domain in DOMAINS for pair in PAIRS)
AS_MTEB = tuple(
    Pair(*pair, domain, True) for domain in DOMAINS for pair in product(("TA", "TAC"), ("TA", "TAC", "FullText"))
)
"""mteb's own eighteen tasks, which join the columns of a query, and of a document without its title, by line breaks."""

_TEXT_COLUMNS = {name: pa.string() for name in SECTIONS["FullText"]}


@dataclass(frozen=True)
class Tables:
    """The published tables without their texts; ``judged`` maps query and document to (gain, domain_rel), in order."""

    corpus: pa.Table
    queries: pa.Table
    judged: Mapping[str, Mapping[str, tuple[int, str]]]


def _without_text(column: pa.ChunkedArray) -> int:
    """Count the rows that are null or empty, without creating Python strings."""
    lengths = pc.fill_null(pc.binary_length(column.cast(pa.large_string())), 0)
    return int(pc.sum(pc.equal(lengths, 0)).as_py() or 0)


@lru_cache(maxsize=1)
def read_tables(source: Source) -> Tables:
    paths = {name: source.path(f"{name}.parquet") for name in ("corpus", "queries", "qrels_all")}
    corpus, documents_again = read_unique(paths["corpus"], _TEXT_COLUMNS, "relevant_id", without=_TEXT_COLUMNS)
    queries, queries_again = read_unique(paths["queries"], _TEXT_COLUMNS, "query_id", without=_TEXT_COLUMNS)
    counts = Counter({"documents repeat an earlier one": documents_again})
    counts["queries repeat an earlier one"] = queries_again
    for name, table, again in (("corpus", corpus, documents_again), ("queries", queries, queries_again)):
        refuse_truncated(source, f"{name}.parquet", table.num_rows + again)
        for batch in files.read_batches(paths[name], list(_TEXT_COLUMNS)):
            for column in _TEXT_COLUMNS:
                counts[f"rows of {name} have no {column}"] += _without_text(batch[column])
    columns = {"query_id": None, "relevant_id": None, "relevance_score": None, "domain_rel": pa.string()}
    relations = files.read_parquet(paths["qrels_all"], columns)
    refuse_truncated(source, "qrels_all.parquet", relations.num_rows)
    documents, known_queries = set(corpus["relevant_id"].to_pylist()), set(queries["query_id"].to_pylist())
    judged: dict[str, dict[str, tuple[int, str]]] = {}
    row_of: dict[tuple[str, str], int] = {}
    pairs = (ids_of(relations, name, paths["qrels_all"]) for name in ("query_id", "relevant_id"))
    others = (relations[name].to_pylist() for name in ("relevance_score", "domain_rel"))
    for row, (query, document, score, domain) in enumerate(zip(*pairs, *others, strict=True), start=1):
        problem = ""
        if query not in known_queries:
            problem = f"unknown query '{query}'"
        elif document not in documents:
            problem = f"unknown document '{document}'"
        elif domain not in ("IN", "OUT", "NC"):
            problem = f"domain_rel is '{domain}', not IN, OUT or NC"
        elif not isinstance(score, (int, float)) or math.isnan(score):
            problem = f"relevance_score is {score!r}, not a number"
        elif score > 0 and domain == "NC":
            problem = "the relation is positive, but its domain_rel is NC"
        else:
            relation = (int(score > 0), domain)
            first = row_of.setdefault((query, document), row)
            counts["relations are repeated"] += first != row
            counts["relations of a query to itself (not relevant)"] += query == document
            if judged.setdefault(query, {}).setdefault(document, relation) != relation:
                problem = f"the relation of '{query}' and '{document}' has other values in row {first}"
        if problem:
            remedy = "correct the row, or download the file again"
            raise DataError(problem, path=paths["qrels_all"], row=row, remedy=remedy)
    log_counts(paths["qrels_all"].parent, counts)
    return Tables(corpus, queries, judged)


def _words(path: Path) -> NDArray[np.int64]:
    """Count the words in the full text of each row."""
    counts = [
        sum(pc.fill_null(pc.count_substring_regex(rows[name], r"\S+"), 0).to_numpy() for name in _TEXT_COLUMNS)
        for rows in files.read_batches(path, list(_TEXT_COLUMNS))
    ]
    return np.concatenate(counts) if counts else np.zeros(1, np.int64)


def tagged_texts(table: pa.Table, view: str) -> list[str]:
    """Return the texts of a view with section tags, for PatentMap's models."""
    sections = SECTIONS.get(view)
    if sections is None:
        return [section_tags(text, PARTS_OF_VIEW.get(view, ("",))) for text in texts(table, view)]
    tagged = (
        [section_tags(part or "", (SECTION_OF_COLUMN[column],)) for part in table[column].to_pylist()]
        for column in sections
    )
    return [views.join_sections(parts, views.SEPARATOR) for parts in zip(*tagged, strict=True)]


Compose = Callable[[pa.Table, str], list[str]]  # (rows, view) -> the text of each


def texts(table: pa.Table, view: str) -> list[str]:
    if view == "Keywords":
        column = next((name for name in _KEYWORD_COLUMNS if name in table.column_names), None)
        if column is None:
            problem = f"no keyword column among: {', '.join(table.column_names)}"
            raise DataError(problem, remedy=f"name it {_KEYWORD_COLUMNS[0]} in a local copy")
        kind = table.schema.field(column).type
        listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if not is_text(kind.value_type if listed else kind):
            remedy = "write it as strings, or lists of strings, in a local copy"
            raise DataError(f"column '{column}' has type {kind}", remedy=remedy)
        lists = ([value or ""] if not isinstance(value, list) else value for value in table[column].to_pylist())
        return [", ".join(word for word in words if word) for words in lists]
    if view == "Claim1":
        return [first_independent_claim(split_claims(text or "")) for text in table["claims_text"].to_pylist()]
    rows = zip(*(table[name].to_pylist() for name in SECTIONS[view]), strict=True)
    return [views.join_sections(part or "" for part in parts) for parts in rows]


def _mteb_queries(table: pa.Table, view: str, without: str = "") -> list[str]:
    """Return the texts of a view as mteb's own DAPFAM tasks join those of queries."""
    rows = zip(*(table[name].to_pylist() for name in SECTIONS[view] if name != without), strict=True)
    return ["\n".join(part for part in parts if part) for parts in rows]


def _mteb_documents(table: pa.Table, view: str) -> list[str]:
    """As :func:`_mteb_queries`, for documents, whose title is a separate field."""
    titles, texts = table["title_en"].to_pylist(), _mteb_queries(table, view, without="title_en")
    return [document_text({"title": title, "text": text}) for title, text in zip(titles, texts, strict=True)]


def view_texts(path: Path, key: str, view: str, compose: Compose = texts) -> Texts:
    """Read the texts of a view by id, in batches; the first row of an id counts."""
    columns = None if view == "Keywords" else [key, *(("claims_text",) if view == "Claim1" else SECTIONS[view])]
    batches = files.read_batches(path, columns)

    def first_rows() -> Iterator[tuple[str, str]]:
        seen: set[str] = set()
        for batch in batches:
            for name, text in zip(ids_of(batch, key, path), compose(batch, view), strict=True):
                if name not in seen:
                    seen.add(name)
                    yield name, text

    return Texts.collected(first_rows())


class DAPFAMRetrieval(PatentRetrieval):
    """Retrieval with one query view and one corpus view, for all relations or those of one domain.

    The main score is nDCG@100 (eq. 1, equal to trec_eval's for binary gains). IN and OUT are the data set's
    ``domain_rel``. A query in the corpus is excluded from its own ranking and judgements. The ``paper_...`` scores
    include it, as mteb's own tasks do. The texts of mteb's tasks have another separator: :data:`MTEB_TASKS`,
    ``<Task>.mteb``, read those, so that their ``paper_...`` scores equal mteb's.
    """

    pair: Pair

    def _set_source(self, source: Source) -> None:
        super()._set_source(source)
        if domain := self.pair.domain:  # the task on all relations has the same queries and documents
            unlimited = getattr(self.metadata, "whole", ())
            every = (*unlimited, self.metadata.name)[0].replace(f"{domain}Retrieval", "Retrieval")
            self.metadata = self.metadata.model_copy(update={"whole": (*unlimited, every)})

    def load_tables(self) -> RetrievalTables:
        tables = read_tables(self.source)
        names = tables.corpus["relevant_id"].to_pylist()
        query_ids = tables.queries["query_id"].to_pylist()
        corpus, queries = self._texts(*((_mteb_documents, _mteb_queries) if self.pair.as_mteb else (texts, texts)))
        self._refuse_without_first_claims("corpus.parquet", self.pair.corpus, corpus)
        self._refuse_without_first_claims("queries.parquet", self.pair.query, queries)
        judged = {
            query: {document: gain for document, (gain, _) in pairs.items() if gain}
            for query, pairs in tables.judged.items()
        }
        qrels, parts = self._domain(judged, tables)
        which = f" {self.pair.domain.upper()}" if self.pair.domain else ""
        refuse_unscorable(qrels, self.source.path("qrels_all.parquet"), f"no{which} relation is positive")
        return RetrievalTables(
            corpus=corpus,
            queries=queries,
            qrels=qrels,
            slices=parts,
            hidden={query: frozenset((query,)) for query in query_ids if query in corpus},
            document_codes=_codes(tables.corpus, names),
            query_codes=_codes(tables.queries, query_ids),
        )

    def _refuse_without_first_claims(self, name: str, view: str, found: Texts) -> None:
        """Refuse a view Claim1 without any text, and count the families whose claims could not be split."""
        empty = pc.sum(pc.equal(pc.binary_length(found.column), 0)).as_py() if view == "Claim1" else 0
        if empty and empty == len(found):
            problem = "no claim set could be split, so that no family has a first claim"
            raise NotThereError(problem, path=self.source.path(name), remedy="use the tasks on Claims or TAC")
        log_counts(self.source.path(name), {"families without a first claim have no text in the view Claim1": empty})

    def statistics(self) -> dict[str, dict[str, float]]:
        """Return the statistics of Tables 5 to 7; words are separated by white space."""
        tables = read_tables(self.source)
        rows = {"queries": tables.queries.num_rows, "targets": tables.corpus.num_rows}
        found: dict[str, dict[str, float]] = {
            "rows of the tables": {**rows, "relations": sum(map(len, tables.judged.values()))}
        }
        for what, name, table in (("query", "queries", tables.queries), ("target", "corpus", tables.corpus)):
            words = _words(self.source.path(f"{name}.parquet"))
            quartiles = {f"{share}%": np.percentile(words, share) for share in (25, 50, 75)}
            of_words = {"mean": words.mean(), "standard deviation": words.std(ddof=1), **quartiles}
            found[f"words of the full text of a {what}"] = {key: float(value) for key, value in of_words.items()}
            column = "earliest_claim_jurisdiction"
            if column in table.column_names and is_text(table.schema.field(column).type):
                offices = Counter(table[column].to_pylist())
                shares = {office: 100 * n / table.num_rows for office, n in offices.items()}
                found[f"jurisdiction of a {what} in percent"] = shares
        pairs = [(query, pair) for query, judged in tables.judged.items() for pair in judged.values()]
        relevant = {of: Counter(query for query, pair in pairs if pair == (1, of)) for of in ("IN", "OUT")}
        means = {domain: counts.total() / len(counts) for domain, counts in relevant.items() if counts}
        return found | {"relevant targets of a query that has any": means}

    def tagged_tables(self) -> RetrievalTables:
        corpus, queries = self._texts(tagged_texts, tagged_texts)
        return replace(self.tables, corpus=corpus, queries=queries)

    def _texts(self, of_documents: Compose, of_queries: Compose) -> tuple[Texts, Texts]:
        corpus = self._composed("corpus.parquet", "relevant_id", self.pair.corpus, of_documents)
        return corpus, self._composed("queries.parquet", "query_id", self.pair.query, of_queries)

    def _composed(self, name: str, key: str, view: str, compose: Compose) -> Texts:
        """Compose the texts of a view; a cache of at most 256 MB, and a sixteenth of the memory, has recent ones."""
        path = self.source.path(name)
        state = path.stat()
        place = (self.source, path, state.st_mtime_ns, state.st_size, view, compose)
        known = _CACHE.get(place)
        if known is None:
            known = view_texts(path, key, view, compose)
            _CACHE.most_bytes = portion(1 / 16, _CACHE_BYTES)
            _CACHE.put(place, known, known.column.nbytes)
        return known

    def _domain(self, judged: slices.Qrels, tables: Tables) -> tuple[slices.Qrels, dict[str, slices.Qrels]]:
        """Return the judgements of the task's domain, with IN and OUT as slices of a task on all relations."""
        parts = slices.by_judgement(judged, lambda query, document: tables.judged[query][document][1].lower())
        if self.pair.domain:
            return parts.get(self.pair.domain.lower(), {}), {}
        return judged, {name: parts[name] for name in ("in", "out") if name in parts}


def _codes(table: pa.Table, keys: Sequence[str]) -> dict[str, list[str]]:
    """Return IPC codes by id; empty, with a warning, if the column is not text: only InScope reads them."""
    if "ipcr_codes_str" not in table.column_names:
        return {}
    kind = table.schema.field("ipcr_codes_str").type
    if not is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        logger.warning("DAPFAM: column 'ipcr_codes_str' has type %s, not string: no IPC codes are known", kind)
        return {}
    return {
        key: [code for part in (value or "").split(";") if (code := part.strip())]
        for key, value in zip(keys, table["ipcr_codes_str"].to_pylist(), strict=True)
    }


def _task(spec: Pair) -> type[DAPFAMRetrieval]:
    described = (spec.name, "Retrieval", spec.description, "ndcg_at_100", {"pair": spec})
    parts = sections_of(PARTS_OF_VIEW, query=spec.query, document=spec.corpus)
    return make_task(DAPFAMRetrieval, FACTS, DATA, *described, text_parts=parts)


BENCHMARK = PatentBenchmark(
    FACTS,
    {domain.upper() or "ALL": tuple(_task(spec) for spec in SPECS if spec.domain == domain) for domain in DOMAINS},
)

MTEB_TASKS = tuple(map(_task, AS_MTEB))  # tasks that are found by name only: no benchmark or report contains them
