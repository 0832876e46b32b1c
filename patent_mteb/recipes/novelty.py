"""Recipe of PatSnap's novelty-search-bench: its published ground truth over a corpus of the user's own source.

The benchmark (569 queries, CC BY-NC 4.0) publishes numbers only; the user supplies the texts. ``truth`` is the path of
its ``data/test.jsonl``, with these fields:

========================================  ==============================================================================
field                                     content
========================================  ==============================================================================
``id``, ``pn``                            number of the sample; publication number of the query
``apdt``                                  application date of the query, ``YYYYMMDD``
``ipc``, ``ipc_main``                     IPC codes; section
``lang``, ``jurisdiction``                ``CN`` or ``EN``; office
``type``                                  ``family`` or ``public``
``pn_x``, ``pn_family_x``                 X citations of examiners against the query, and against its family elsewhere
``pn_x_family``, ``pn_family_x_family``   the same with all members of their families
``description``                           optional: the text of the query (in the copy on the hub)
========================================  ==============================================================================

Numbers are matched in any style (PatSnap writes ``US20100274144A1`` and ``JP2015519087A``). The recipe writes to
``root/PatSnapNovelty``:

* corpus, queries and judgements (``pn_x`` and ``pn_family_x`` with a record) in BEIR's format;
* ``metadata.parquet`` (``family_id``, ``public``, ``lang``, ``ipc``), ``views.parquet`` (``Description`` of queries);
* ``families/qrels/test.tsv``: the judgements of whole families;
* ``truth.parquet``: the published fields of every sample and the number of its X documents.

The corpus is all judged documents and, up to ``documents`` in total, others by hash of their number. Texts stay on
disk.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from patent_mteb.errors import DataError
from patent_mteb.files import json_lines, write_parquet, write_rows
from patent_mteb.patents import views
from patent_mteb.patents.corpus import Composed
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.on_disk import publications
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import clean, clean_patent
from patent_mteb.recipes import AS_GIVEN
from patent_mteb.recipes.beir import title_and_text, write_beir, write_qrels
from patent_mteb.recipes.parameters import Positive
from patent_mteb.recipes.sampling import fill_up
from patent_mteb.recipes.steps import BuildLog, Need

NAME = "PatSnapNovelty"
COMMON = AS_GIVEN
FAMILIES, TRUTH = "families/qrels/test.tsv", "truth.parquet"
NEEDS = (
    Need("title", "TAC"),
    Need("abstract", "TAC"),
    Need("claims", "TAC"),
    Need("description", "queries of Description"),
)
_LISTS = ("ipc", "pn_x", "pn_x_family", "pn_family_x", "pn_family_x_family")
_TEXTS = ("pn", "ipc_main", "jurisdiction")
_WORDS = {"lang": ("CN", "EN"), "type": ("family", "public")}
_REMEDY = "use the published data/test.jsonl; if you do, its layout has changed: open an issue"
_METADATA = pa.schema(
    dict.fromkeys(("_id", "family_id", "jurisdiction", "lang"), pa.string())
    | {"public": pa.date32(), "publication_year": pa.int64(), "ipc": pa.list_(pa.string())}
)
_TRUTH = pa.schema(
    dict.fromkeys(("_id", "pn", "lang", "jurisdiction", "type", "ipc_main"), pa.string())
    | {"apdt": pa.date32(), "n_x": pa.int64(), "n_x_family": pa.int64()}
)
_VIEWS = pa.schema({"_id": pa.string(), "Description": pa.string()})


@dataclass(frozen=True)
class Params:
    """Settings of the recipe.

    Attributes:
        truth: path of the benchmark's ``test.jsonl``.
        documents: size of the corpus: all judged documents, and others by hash of their number; None: all.
        seed: seed of the draw.
    """

    truth: str = ""
    documents: Positive | None = None
    seed: int = 42


SAMPLE = Params()


@dataclass(frozen=True)
class Sample:
    """A published sample with normalised numbers; ``text`` may be empty."""

    number: str
    apdt: dt.date
    fields: Mapping[str, Any]
    x: tuple[str, ...]
    x_family: tuple[str, ...]
    text: str


def _normal(number: str) -> str:
    """Return the DOCDB form of a number, or the number itself if it cannot be parsed."""
    found = read_number(number)
    return found.docdb if found else number.strip().upper()


def read_truth(path: Path) -> list[Sample]:
    samples: list[Sample] = []
    seen: dict[str, int] = {}
    for row, fields in json_lines(path):

        def refuse(problem: str, row: int = row) -> DataError:
            return DataError(problem, path=path, row=row, remedy=_REMEDY)

        for name in ("id", "apdt", *_TEXTS, *_WORDS, *_LISTS):
            value = fields.get(name)
            if value is None:
                raise refuse(f"'{name}' is missing")
            if name in _LISTS and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
                raise refuse(f"'{name}' is not a list of texts")
            if name in _TEXTS and not isinstance(value, str):
                raise refuse(f"'{name}' is not a text")
            if name in _WORDS and value not in _WORDS[name]:
                raise refuse(f"'{name}' is '{value}', not {' or '.join(_WORDS[name])}")
        try:
            day = dt.datetime.strptime(str(fields["apdt"]), "%Y%m%d").date()
        except ValueError:
            raise refuse(f"'apdt' is '{fields['apdt']}', not a date as YYYYMMDD") from None
        number = _normal(fields["pn"])
        if number in seen:
            raise refuse(f"'{fields['pn']}' is already the query of row {seen[number]}")
        seen[number] = row
        x = tuple(dict.fromkeys(map(_normal, fields["pn_x"] + fields["pn_family_x"])))
        families = tuple(dict.fromkeys(map(_normal, fields["pn_x_family"] + fields["pn_family_x_family"])))
        text = clean(str(fields.get("description") or ""), boilerplate=False)
        samples.append(Sample(number, day, fields, x, families, text))
    if not samples:
        raise DataError("there is no sample", path=path, remedy=_REMEDY)
    return samples


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = SAMPLE) -> BuildLog:
    """Write ``root/PatSnapNovelty``."""
    if not params.truth:
        problem = "the recipe needs the benchmark's test.jsonl"
        raise DataError(problem, remedy="fetch PatSnap/novelty-search-bench from the hub and give --set truth=PATH")
    log = BuildLog(NAME)
    samples = read_truth(Path(params.truth))
    row_of: dict[str, int] = dict(publications(patents).select("number", "row").iter_rows())
    known: dict[str, str] = {}  # from a normalised number to that of the record
    for number in row_of:
        known.setdefault(_normal(number), number)
    queries = {known[sample.number]: sample for sample in samples if sample.number in known}
    log.step("samples", len(samples), len(queries), f"{len(samples) - len(queries)} whose publication has no record")
    cited = [one for sample in queries.values() for one in sample.x]
    found = [known[one] for one in cited if one in known]
    relevant = set(found)
    note = f"{len(cited) - len(found)} X citations of documents without a record"
    log.step("X documents", len(cited), len(relevant), note)
    judged = {known[one] for sample in queries.values() for one in (*sample.x, *sample.x_family) if one in known}
    others = fill_up(row_of, judged, params.documents, params.seed)
    corpus = {number: row_of[number] for number in sorted([*judged, *others])}
    log.step("corpus", len(patents), len(corpus), f"{len(relevant)} of them relevant")
    if not relevant:
        problem = "no sample has an X document among the records"
        remedy = "import the cited documents too; their numbers are in the file"
        raise DataError(problem, path=Path(params.truth), remedy=remedy)
    query_rows = {number: row_of[number] for number in queries}
    _write(root / NAME, patents, corpus, query_rows, queries, known, log)
    truth = [
        {"_id": known.get(one.number, one.number), "apdt": one.apdt, "n_x": len(one.x), "n_x_family": len(one.x_family)}
        | {name: one.fields[name] for name in ("pn", "lang", "jurisdiction", "type", "ipc_main")}
        for one in samples
    ]
    write_parquet(root / NAME / TRUTH, pa.Table.from_pylist(truth, _TRUTH))
    log.record_files(root, NAME)
    return log


def _write(
    folder: Path,
    patents: Sequence[Patent],
    corpus: dict[str, int],
    query_rows: dict[str, int],
    queries: Mapping[str, Sample],
    known: Mapping[str, str],
    log: BuildLog,
) -> None:
    n_empty = 0

    def query(row: int) -> str:
        nonlocal n_empty
        text = views.VIEWS["TAC"](clean_patent(patents[row]))
        n_empty += not text
        return text

    def descriptions() -> Iterator[dict[str, str]]:
        for number, sample in queries.items():
            text = sample.text or " ".join(clean_patent(patents[query_rows[number]]).description.lines())
            yield {"_id": number, "Description": text}

    def judged(numbers_of: Callable[[Sample], Sequence[str]]) -> dict[str, dict[str, int]]:
        documents = {
            number: {known[one] for one in numbers_of(sample) if one in known} - {number}
            for number, sample in queries.items()
        }
        return {number: dict.fromkeys(sorted(of_query), 1) for number, of_query in documents.items()}

    texts = Composed(corpus, lambda row: title_and_text(clean_patent(patents[row])))
    write_beir(folder, texts, Composed(query_rows, query), judged(lambda sample: sample.x))
    write_qrels(folder / FAMILIES, judged(lambda sample: sample.x_family))
    rows = (_row(patents[row]) for _, row in sorted((corpus | query_rows).items()))
    write_rows(folder / "metadata.parquet", rows, _METADATA)
    write_rows(folder / "views.parquet", descriptions(), _VIEWS)
    note = f"{n_empty} queries without title, abstract and claims" if n_empty else ""
    log.step("queries", len(queries), len(queries) - n_empty, note)


def _row(patent: Patent) -> dict[str, Any]:
    languages = patent.languages
    return {
        "_id": patent.publication_number,
        "family_id": patent.family_id,
        "jurisdiction": patent.jurisdiction,
        "lang": languages.claims or languages.abstract or languages.title,
        "public": patent.publication_date,
        "publication_year": patent.publication_date.year if patent.publication_date else None,
        "ipc": list(patent.ipc),
    }
