"""The directory layout of the open benchmarks: three BEIR folders in one.

Applications and claims share the corpus, claims and passages share the queries.

===============================  =======================================================================================
file                             content
===============================  =======================================================================================
``corpus.jsonl``                 documents: ``_id`` (publication number), ``title``, ``text`` (abstract and claims)
``queries.jsonl``                applications as filed: ``_id`` (publication number), ``text`` (title, abstract and
                                 claims)
``qrels/test.tsv``               grades of documents for applications
``metadata.parquet``             of documents and queries: ``_id``, ``family_id``, ``public`` (day of publication),
                                 ``prior_art`` (day from which on a document counts), ``priority``, ``jurisdiction``,
                                 ``publication_year``, ``ipc``, ``cpc``
``views.parquet``                of documents and queries: ``_id``, ``Abstract``, ``Claims``
``judgements.parquet``           one row a judged pair: ``query``, ``document``, ``letter``, ``origins``, ``phases``,
                                 ``units``, ``statutes``, ``first_action``
``claims/queries.jsonl``         rejected claims: ``_id`` (``<application>#<claim>``), ``text``;
                                 ``claims/qrels/test.tsv``, ``claims/judgements.parquet``: as above, over the same
                                 corpus
``passages/corpus.jsonl``        numbered paragraphs: ``_id`` (``<document>#<paragraph>``), ``text``;
                                 ``passages/qrels/test.tsv``: grades of paragraphs for rejected claims
===============================  =======================================================================================
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from patent_mteb.errors import DataError, NotThereError
from patent_mteb.files import read_jsonl, read_keyed, read_parquet, write_jsonl, write_rows
from patent_mteb.patents import views
from patent_mteb.patents.claims import claim_in_full
from patent_mteb.patents.corpus import Composed, Texts
from patent_mteb.patents.keyed import by_itself
from patent_mteb.patents.records import Patent
from patent_mteb.patents.text import clean_field
from patent_mteb.recipes import beir
from patent_mteb.recipes.beir import MetadataRows
from patent_mteb.recipes.open_citations import Judgement
from patent_mteb.recipes.sampling import grouped

CLAIMS, PASSAGES = "claims", "passages"
VIEWS = ("Abstract", "Claims")
Qrels = dict[str, dict[str, int]]
_STRING, _STRINGS, _DAY = pa.string(), pa.list_(pa.string()), pa.date32()
_DAYS = {"public": _DAY, "prior_art": _DAY, "priority": _DAY}
_METADATA = {"family_id": _STRING, **_DAYS, "ipc": _STRINGS, "cpc": _STRINGS}
_METADATA_SCHEMA = pa.schema(
    {"_id": _STRING, "family_id": _STRING, **_DAYS, "jurisdiction": _STRING}
    | {"publication_year": pa.int64(), "ipc": _STRINGS, "cpc": _STRINGS}
)
_VIEWS_SCHEMA = pa.schema([(name, _STRING) for name in ("_id", *VIEWS)])
_LISTS = ("origins", "phases", "units", "statutes")
_JUDGEMENTS = (
    dict.fromkeys(("query", "document", "letter"), _STRING)
    | dict.fromkeys(_LISTS, _STRINGS)
    | {"first_action": pa.bool_()}
)


def text_id(publication: str, name: int | str) -> str:
    """Return the id of a claim or a paragraph, by its number, or of a text in a language."""
    return f"{publication}#{name}"


def subset_folder(folder: Path, subset: str) -> Path:
    """Return the folder of :data:`CLAIMS` or :data:`PASSAGES`; it may be missing."""
    if not (folder / subset).is_dir():
        problem = f"the data have no {subset}: no citation names one"
        raise NotThereError(problem, path=folder / subset, remedy="build it from citations that do, or omit this task")
    return folder / subset


def document_of(key: str) -> str:
    """Return the publication of a claim or a paragraph; keep other ids."""
    return key.partition("#")[0]


def numbered_paragraphs(patent: Patent) -> dict[int, str]:
    """Return the numbered paragraphs of a description; the first of a number counts."""
    lines = patent.description.lines()
    if len(patent.paragraphs) != len(lines):
        return {}
    found: dict[int, str] = {}
    for number, line in sorted(zip(patent.paragraphs, lines, strict=True), key=lambda pair: pair[0]):
        if number and (text := clean_field(line, boilerplate=False)):
            found.setdefault(number, text)
    return found


def write_documents(
    folder: Path,
    texts: Mapping[str, Patent],
    corpus: Iterable[str],
    qrels: Mapping[str, Mapping[str, int]],
    judgements: Iterable[Judgement],
    filed: Mapping[str, dt.date] | None = None,
) -> None:
    """Write documents, applications and judgements.

    ``texts`` are those of the corpus and the queries, in the order of numbers. The judgements are in the order of
    queries and documents, and ``filed`` are the days of documents that count from filing on.
    """
    beir.write_beir(
        folder,
        Composed(by_itself(corpus), lambda number: beir.title_and_text(texts[number], VIEWS)),
        Composed(by_itself(qrels), lambda number: views.VIEWS["TAC"](texts[number])),
        qrels,
    )
    write_rows(folder / "metadata.parquet", (_metadata(one, filed or {}) for one in texts.values()), _METADATA_SCHEMA)
    texts_of = (
        {"_id": number, **{name: views.VIEWS[name](patent) for name in VIEWS}} for number, patent in texts.items()
    )
    write_rows(folder / "views.parquet", texts_of, _VIEWS_SCHEMA)
    _write_judgements(folder, groupby(judgements, key=lambda one: (one.query, one.document)))


def write_claims(
    folder: Path,
    texts: Mapping[str, Patent],
    qrels: Mapping[str, Mapping[str, int]],
    by_claim: Iterable[tuple[str, Iterable[tuple[str, Judgement]]]],
) -> None:
    """Write rejected claims, after those they depend on, as queries with their grades and judgements."""
    subset = folder / CLAIMS
    rows = (
        {"_id": claim, "text": claim_in_full(claims, int(claim.partition("#")[2]))}
        for query, its_claims in groupby(qrels, key=document_of)
        for claims in (texts[query].claims,)
        for claim in its_claims
    )
    write_jsonl(subset / "queries.jsonl", rows)
    beir.write_qrels(subset / "qrels" / "test.tsv", qrels)
    pairs = (
        ((claim, document), group)
        for claim, of_claim in by_claim
        for document, group in sorted(grouped((one for _, one in of_claim), lambda one: one.document).items())
    )
    _write_judgements(subset, pairs)


def write_passages(
    folder: Path, paragraphs: Iterable[tuple[str, Mapping[int, str]]], qrels: Mapping[str, Mapping[str, int]]
) -> None:
    """Write paragraphs as documents, with their judgements for claims, which are in order."""
    subset = folder / PASSAGES
    rows = (
        {"_id": text_id(document, number), "title": "", "text": text}
        for document, texts in paragraphs
        for number, text in sorted(texts.items())
    )
    write_jsonl(subset / "corpus.jsonl", rows)
    beir.write_qrels(subset / "qrels" / "test.tsv", Composed(qrels, lambda grades: dict(sorted(grades.items()))))


def _write_judgements(folder: Path, pairs: Iterable[tuple[tuple[str, str], Iterable[Judgement]]]) -> None:
    """Write a row for each pair of query and document."""
    rows = (
        {
            "query": query,
            "document": document,
            "letter": max(group, key=lambda one: one.grade).category,
            "origins": sorted({one.citation.origin for one in group} - {""}),
            "phases": sorted({one.citation.phase for one in group} - {""}),
            "units": sorted({one.citation.unit for one in group} - {""}),
            "statutes": sorted({statute for one in group for statute in one.statutes}),
            "first_action": any(one.first for one in group),
        }
        for (query, document), judged in pairs
        for group in (list(judged),)
    )
    write_rows(folder / "judgements.parquet", rows, pa.schema(_JUDGEMENTS))


def _metadata(patent: Patent, filed: Mapping[str, dt.date]) -> dict[str, object]:
    public = patent.publication_date
    return {
        "_id": patent.publication_number,
        "family_id": patent.family_id,
        "public": public,
        "prior_art": filed.get(patent.publication_number, public),
        "priority": patent.priority_date or patent.application_date,
        "jurisdiction": patent.jurisdiction,
        "publication_year": public.year if public else None,
        "ipc": list(patent.ipc),
        "cpc": list(patent.cpc),
    }


@dataclass(frozen=True)
class Subset:
    """Queries and judgements of claims or passages; documents if not the corpus."""

    queries: Texts
    qrels: Qrels
    documents: Texts | None = None


def read_subset(folder: Path, queries: Path | None = None) -> Subset:
    """Read claims or passages; queries may be in another folder."""
    path, corpus = folder / "qrels" / "test.tsv", folder / "corpus.jsonl"
    qrels, rows = beir.read_qrels(path)
    texts = _read_texts((queries or folder) / "queries.jsonl")
    documents = _read_texts(corpus, "title") if corpus.exists() else None
    for (query, document), row in rows.items():
        for key, known in ((query, texts), (document, documents)):
            if known is not None and key not in known:
                problem = f"judgement of the unknown '{key}'"
                raise DataError(problem, path=path, row=row, remedy="build the directory again")
    return Subset(texts, qrels, documents)


def _read_texts(path: Path, *optional: str) -> Texts:
    return Texts.collected((row["_id"], row["text"]) for _, row in read_jsonl(path, ("_id", "text"), optional))


@dataclass(frozen=True)
class Dates:
    """Publication date, first day as prior art and priority date, by id."""

    public: Mapping[str, dt.date]
    prior_art: Mapping[str, dt.date]
    priority: Mapping[str, dt.date]


def read_metadata(folder: Path) -> MetadataRows:
    return MetadataRows(read_keyed(folder / "metadata.parquet", _METADATA))


def read_dates(folder: Path) -> Dates:
    rows = read_metadata(folder)
    return Dates(*({key: day for key, day in rows.column(name) if day} for name in _DAYS))


def read_judgements(folder: Path, queries: Collection[str]) -> dict[tuple[str, str], Mapping[str, object]]:
    """Read rows of ``judgements.parquet`` by query and document; nulls become empty."""
    path = folder / "judgements.parquet"
    found: dict[tuple[str, str], Mapping[str, object]] = {}
    for number, row in enumerate(read_parquet(path, _JUDGEMENTS).to_pylist(), start=1):
        if not row["query"] or not row["document"]:
            raise DataError(
                "the judgement has no query or no document", path=path, row=number, remedy="build the directory again"
            )
        if row["query"] in queries:
            lists = {name: [one for one in row[name] or () if one] for name in _LISTS}
            found[row["query"], row["document"]] = {**row, **lists, "letter": row["letter"] or ""}
    return found
