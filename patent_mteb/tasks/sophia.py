"""Sophia-style retrieval: twelve query representations over one corpus.

The paper is "QaECTER and Sophia-Bench" (§3 and §4). The authors' data set is unpublished. The tasks read a directory
that :mod:`patent_mteb.recipes.sophia` builds from any patents, or the built-in sample.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from statistics import mean, median
from typing import Any

import pyarrow as pa

from patent_mteb import files
from patent_mteb.data.loading import DataSet
from patent_mteb.errors import DataError, NotThereError
from patent_mteb.metrics import slices
from patent_mteb.metrics.measures import Judged
from patent_mteb.patents import ipc
from patent_mteb.patents.categories import degree, is_category
from patent_mteb.patents.corpus import Texts
from patent_mteb.published import citation
from patent_mteb.recipes.sophia import REPRESENTATIONS
from patent_mteb.search.run import Run
from patent_mteb.tasks.base import make_task, sections_of
from patent_mteb.tasks.benchmark import PRIOR_ART, SUMMARY, Facts, PatentBenchmark
from patent_mteb.tasks.checks import log_counts
from patent_mteb.tasks.retrieval import PAPER_PREFIX, Folder, PatentRetrieval, RetrievalTables

logger = logging.getLogger(__name__)
DATA = DataSet("Sophia", "sophia")

FACTS = Facts(
    name="Sophia",
    description=(
        "Citation retrieval with twelve representations of the query, from patent fields and machine summaries, over"
        " one corpus."
    ),
    reference="https://hal.science/hal-05524063",
    bibtex=citation("djemmal2026citation"),
    license="not specified",
    date=("2016-01-01", "2025-12-31"),
    spread=True,
    prefix="Sophia",
    headline="SophiaTacdRetrieval",
    jobs={PRIOR_ART: ("SophiaTacdRetrieval", ""), SUMMARY: ("SophiaAiAbRetrieval", "")},
    prompt_rows=((r"Sophia\w+Retrieval", "retrieval_MIXED"),),
    paper="sophia",
    paper_queries=10_000,  # §3.2
    query_types=True,
)

K_VALUES = (1, 5, 10, 20, 50, 100, 200, 500, 1000)
MIN_QUERIES = 100  # jurisdictions with fewer queries are scored together as ``jurisdiction_row`` (§5.3)
JURISDICTIONS: dict[str, tuple[str, ...]] = {
    **slices.JURISDICTION_GROUPS,
    "pt": ("PT", "BR"),
    **{office.lower(): (office,) for office in ("KR", "IT", "NL", "NO", "CZ")},
}
"""Offices by filing jurisdiction, grouped by language as in the paper. Any other office is a group by itself."""

_GROUP_OF = {office: group for group, offices in JURISDICTIONS.items() for office in offices}
_SECTIONS = "ABCDEFGH"

STRUCTURED = {
    "Tacd": "title, abstract, claims and description",
    "Clms": "all claims",
    "Ab": "abstract",
    "Iclms": "independent claims",
    "Obj": "object of the invention, extracted from the description",
    "Desc": "description",
    "Adb": "advantages and disadvantages, extracted from the description",
}
SUMMARIES = {
    "AiAb": "machine-written abstract",
    "AiFeatures": "machine-written list of technical features",
    "AiClaimSummary": "machine-written summary of the claims",
    "AiAdv": "machine-written summary of the advantages",
    "AiObj": "machine-written object of the invention",
}
"""The two groups of query representations (§3.3)."""

PARTS = {"Clms": ("claim",), "Iclms": ("claim",), "Ab": ("abstract",), "Desc": ("invention",)}
"""Representations with one section of the patent."""


@lru_cache(maxsize=1)
def read_folder(folder: Path, revision: str) -> Folder:
    """Read and check the benchmark's directory; ``revision`` distinguishes two states of one directory."""
    found, counts = Folder.read(folder)
    path = folder / "queries.parquet"
    names = files.parquet_schema(path).names
    columns = {name: pa.string() for name in REPRESENTATIONS if name in names}
    keys = files.read_keyed(path, columns, without=set(names) - {"_id"})["_id"].to_pylist()
    for row, key in enumerate(keys, start=1):
        if key not in found.tables.queries:
            remedy = "add it to queries.jsonl or delete the row"
            raise DataError(f"unknown query '{key}'", path=path, row=row, remedy=remedy)
    counts["queries without a row in queries.parquet"] = len(found.tables.queries) - len(keys)
    parts, unformed = _slices(folder, slices.positive(found.tables.qrels), found.rows, counts)
    log_counts(folder, counts)
    return replace(found, slices=parts, unformed=unformed)


def _slices(
    folder: Path, positive: slices.Qrels, rows: Mapping[str, Mapping[str, Any]], counts: Counter[str]
) -> tuple[dict[str, slices.Qrels], dict[str, str]]:
    parts: dict[str, slices.Qrels] = {}
    unformed: dict[str, str] = {}
    degrees = _degrees(folder / "citations.parquet", positive, counts)
    found = slices.by_judgement(positive, lambda query, document: sorted(degrees.get((query, document), ())))
    for name in ("xy", "a"):
        if name in found:
            parts[name] = found[name]
        else:
            unformed[name] = "no judgement has a citation of this category in citations.parquet"
    row_of = {query: rows.get(query, {}) for query in positive}
    groups = {
        "ipc": {query: _section(row.get("ipc") or (), counts) for query, row in row_of.items()},
        "jurisdiction": jurisdictions({query: row.get("jurisdiction") or "" for query, row in row_of.items()}),
        "year": {query: str(row.get("publication_year") or "") or None for query, row in row_of.items()},
    }
    for kind, group in groups.items():
        formed = slices.by_query(positive, group.get)
        parts |= {f"{kind}_{name}": formed[name] for name in sorted(formed)}
        if not formed:
            unformed[f"{kind}_*"] = "no query has it in metadata.parquet"
        elif without := sum(name is None for name in group.values()):
            reason = f"{without} of {len(group)} queries lack it in metadata.parquet"
            unformed[f"{kind}_* for part of the queries"] = reason
    return parts, unformed


def _degrees(path: Path, positive: slices.Qrels, counts: Counter[str]) -> dict[tuple[str, str], set[str]]:
    """Return the degrees of relevance (``xy``, ``a``) of each judged pair by its citations."""
    if not path.exists():
        return {}
    columns = ("query-id", "corpus-id", "direction", "category")
    table = files.read_parquet(path, {name: pa.string() for name in columns})
    degrees: dict[tuple[str, str], set[str]] = {}
    edges = zip(*(table[name].to_pylist() for name in columns), strict=True)
    for row, (query, document, direction, category) in enumerate(edges, start=1):
        if direction not in ("cited", "citing"):
            problem = f"direction '{direction}' is neither 'cited' nor 'citing'"
            raise DataError(problem, path=path, row=row, remedy="correct the row")
        if document not in positive.get(query, {}):
            problem = f"the pair '{query}', '{document}' is not judged relevant"
            remedy = "add it to qrels/test.tsv with score 1, or delete the row"
            raise DataError(problem, path=path, row=row, remedy=remedy)
        if relevance := degree(category or ""):
            degrees.setdefault((query, document), set()).add(relevance)
        elif not is_category(category or ""):
            counts["citations with a category that no search report uses (in no category slice)"] += 1
        else:
            counts["citations without a category X, Y or A (in no category slice)"] += 1
    if without := sum((query, document) not in degrees for query, judged in positive.items() for document in judged):
        counts["judgements without a citation of category X, Y or A (in no category slice)"] = without
    return degrees


def _section(codes: Any, counts: Counter[str]) -> str | None:
    """Return the IPC section of the first valid code, such as ``a`` for ``A61F 2/06``."""
    read, unusable = ipc.codes_at(codes, "section")
    if unusable:
        counts["IPC codes of queries that cannot be read"] += len(unusable)
    return next((section.lower() for section in read if section in _SECTIONS), None)


def jurisdictions(offices: Mapping[str, str]) -> dict[str, str | None]:
    """Return the jurisdiction group of each query; ``row`` for small groups."""
    groups = {query: _GROUP_OF.get(office.upper(), office.lower()) or None for query, office in offices.items()}
    sizes = Counter(groups.values())
    return {query: group if group is None or sizes[group] >= MIN_QUERIES else "row" for query, group in groups.items()}


class SophiaRetrieval(PatentRetrieval):
    """Citation retrieval with one representation of the query (§4.2), over title, abstract, claims and description.

    The documents of all four citation relations (§3.2) are relevant, each with gain 1. A query without the
    representation is skipped in this task and its slices, and counted (``n_queries_left_out``). The IPC slice of a
    query is that of its first code, the main classification. The query's own family is hidden.
    """

    k_values = K_VALUES
    representation: str

    def load_tables(self) -> RetrievalTables:
        path = self.source.path()
        folder = read_folder(path, self.source.revision)
        queries = self._queries(folder, path / "queries.parquet")

        def restricted(qrels: slices.Qrels) -> slices.Qrels:
            return {query: judged for query, judged in qrels.items() if query in queries}

        tables = folder.retrieval_tables(folder.documents, queries)
        parts = {name: restricted(part) for name, part in folder.slices.items()}
        formed = {name: part for name, part in parts.items() if part}
        return replace(tables, qrels=restricted(folder.tables.qrels), slices=formed)

    def statistics(self) -> dict[str, Mapping[str, float]]:
        """Return the counts of §3.1 and §3.2."""
        folder = read_folder(self.source.path(), self.source.revision)
        relevant = [n for judged in folder.tables.qrels.values() if (n := sum(gain > 0 for gain in judged.values()))]
        sizes = {name: len(part) for name, part in folder.slices.items()}
        years = {name.removeprefix("year_"): n for name, n in sizes.items() if name.startswith("year_")}
        numbers = {"mean": mean(relevant), "median": median(relevant), "least": min(relevant), "most": max(relevant)}
        return {
            "documents and queries": {"documents": len(folder.documents), "queries": len(relevant)},
            "relevant documents of a query": numbers,
            "queries with a relevant document": {"X or Y": sizes.get("xy", 0), "A": sizes.get("a", 0)},
            "queries of a year": years,
        }

    def _queries(self, folder: Folder, path: Path) -> Texts:
        name, task = self.representation, self.metadata.name
        judged = [query for query, found in folder.tables.qrels.items() if any(gain > 0 for gain in found.values())]
        if name == "Tacd":
            texts = folder.tables.queries
        elif name in files.parquet_schema(path).names:
            rows = chain.from_iterable(batch.to_pylist() for batch in files.read_batches(path, ["_id", name]))
            texts = Texts.collected((row["_id"], row[name] or "") for row in rows)
        else:
            remedy = f"write column '{name}', or omit the task {task}"
            raise NotThereError(f"the query representation {name} is missing", path=path, remedy=remedy)
        queries = Texts.collected((query, text) for query in judged if (text := texts.get(query, "").strip()))
        if not queries:
            remedy = f"fill the column '{name}' (summaries: patent-mteb data summarise), or omit the task {task}"
            raise NotThereError(f"no query has the representation {name}", path=path, remedy=remedy)
        self.n_left_out = len(judged) - len(queries)
        if self.n_left_out:
            counts = (self.n_left_out, len(judged))
            logger.warning("%s: %d of %d queries have no %s and are skipped", task, *counts, name)
        return queries

    def benchmark_scores(self, run: Run, judged: Judged) -> dict[str, float]:
        return {"n_queries_left_out": self.n_left_out, **self.inscope(run)}

    def paper_scores(self, unfiltered: Run) -> dict[str, float]:
        """Add InScope as in eq. 1, in which queries without a code count as 0."""
        found = self.inscope(unfiltered)
        share = {key: value / len(unfiltered.query_ids) for key, value in found.items() if key.endswith("_n_queries")}
        scores = super().paper_scores(unfiltered)
        for key in (key for key in found if key not in share):
            scores[f"{PAPER_PREFIX}_{key}"] = found[key] * share[f"{key.rpartition('_at_')[0]}_n_queries"]
        return scores


def _task(name: str, text: str) -> type[SophiaRetrieval]:
    description = f"Given a patent by its {text}, retrieve the patents that it cites or that cite it as X, Y or A."
    prompt = {"query": f"Given a patent ({text}), retrieve patents that it cites or that cite it"}
    described = (f"Sophia{name}Retrieval", "Retrieval", description, "ndcg_at_10", {"representation": name})
    parts = sections_of(PARTS, query=name)
    return make_task(SophiaRetrieval, FACTS, DATA, *described, prompt=prompt, text_parts=parts)


BENCHMARK = PatentBenchmark(
    FACTS,
    {
        "Structured fields": tuple(_task(*item) for item in STRUCTURED.items()),
        "Machine summaries": tuple(_task(*item) for item in SUMMARIES.items()),
    },
)
