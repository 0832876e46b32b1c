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
from collections.abc import Iterator, Mapping, Sequence
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
from patent_mteb.recipes.beir import title_and_text, write_beir, write_qrels
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.needs import Need, deviations
from patent_mteb.recipes.parameters import Positive
from patent_mteb.recipes.sampling import random_key

NAME = "PatSnapNovelty"
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
    [
        *((name, pa.string()) for name in ("_id", "family_id", "jurisdiction", "lang")),
        ("public", pa.date32()),
        ("publication_year", pa.int64()),
        ("ipc", pa.list_(pa.string())),
    ]
)
_TRUTH = pa.schema(
    [
        *((name, pa.string()) for name in ("_id", "pn", "lang", "jurisdiction", "type", "ipc_main")),
        ("apdt", pa.date32()),
        *((name, pa.int64()) for name in ("n_x", "n_x_family")),
    ]
)
_VIEWS = pa.schema([(name, pa.string()) for name in ("_id", "Description")])


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
    pn: str
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
    """Read the published samples."""
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
        x, families = (
            tuple(dict.fromkeys(map(_normal, (*fields[one], *fields[other]))))
            for one, other in (_LISTS[1::2], _LISTS[2::2])
        )
        samples.append(
            Sample(
                number,
                fields["pn"],
                day,
                fields,
                x,
                families,
                clean(str(fields.get("description") or ""), boilerplate=False),
            )
        )
    if not samples:
        raise DataError("there is no sample", path=path, remedy=_REMEDY)
    return samples


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = SAMPLE) -> BuildLog:
    """Write ``root/PatSnapNovelty``."""
    if not params.truth:
        problem = "the recipe needs the benchmark's test.jsonl"
        raise DataError(problem, remedy="fetch PatSnap/novelty-search-bench from the hub and give --set truth=PATH")
    log = BuildLog(NAME, deviations=deviations(params, NEEDS))
    samples = read_truth(Path(params.truth))
    known: dict[str, int] = {}
    records = publications(patents)
    for row, one in enumerate(records):
        known.setdefault(_normal(one.publication_number), row)
    queries = [sample for sample in samples if sample.number in known]
    log.step("samples", len(samples), len(queries), f"{len(samples) - len(queries)} whose publication has no record")
    judged = {sample.number: [known[one] for one in sample.x if one in known] for sample in queries}
    missing = sum(len(sample.x) for sample in queries) - sum(map(len, judged.values()))
    relevant = {row for rows in judged.values() for row in rows}
    log.step(
        "X documents",
        sum(len(sample.x) for sample in queries),
        len(relevant),
        f"{missing} X citations of documents without a record",
    )
    corpus = _corpus(
        records, {known[one] for sample in queries for one in (*sample.x, *sample.x_family) if one in known}, params
    )
    log.step("corpus", len(records), len(corpus), f"{len(relevant)} of them relevant")
    if not relevant:
        problem = "no sample has an X document among the records"
        raise DataError(
            problem, path=Path(params.truth), remedy="import the cited documents too; their numbers are in the file"
        )
    files = _write(root / NAME, patents, corpus, samples, queries, known, log)
    log.files = sorted(path.relative_to(root).as_posix() for path in files)
    return log


def _corpus(records: Sequence[Patent], judged: set[int], params: Params) -> list[int]:
    """Return the positions of the documents, sorted by publication number."""
    numbers = [record.publication_number for record in records]
    others = sorted(
        (row for row in range(len(records)) if row not in judged),
        key=lambda row: (random_key(params.seed, "documents", numbers[row]), numbers[row]),
    )
    if params.documents is not None:
        others = others[: max(params.documents - len(judged), 0)]
    return sorted([*judged, *others], key=numbers.__getitem__)


def _write(
    folder: Path,
    patents: Sequence[Patent],
    corpus: Sequence[int],
    samples: Sequence[Sample],
    queries: Sequence[Sample],
    known: Mapping[str, int],
    log: BuildLog,
) -> list[Path]:
    records = publications(patents)
    number_of = {row: records[row].publication_number for row in {*corpus, *(known[one.number] for one in queries)}}
    files = [folder / name for name in (FAMILIES, "metadata.parquet", TRUTH, "views.parquet")]
    n_empty = 0

    def query(row: int) -> str:
        nonlocal n_empty
        text = views.VIEWS["TAC"](clean_patent(patents[row]))
        n_empty += not text
        return text

    def descriptions() -> Iterator[dict[str, str]]:
        for sample in queries:
            text = sample.text or " ".join(clean_patent(patents[known[sample.number]]).description.lines())
            yield {"_id": number_of[known[sample.number]], "Description": text}

    def judged(members: str) -> dict[str, dict[str, int]]:
        found = {}
        for sample in queries:
            query_number = number_of[known[sample.number]]
            found[query_number] = dict.fromkeys(
                sorted({number_of[known[one]] for one in getattr(sample, members) if one in known} - {query_number}), 1
            )
        return found

    query_rows = {number_of[known[sample.number]]: known[sample.number] for sample in queries}
    written = write_beir(
        folder,
        Composed({number_of[row]: row for row in corpus}, lambda row: title_and_text(clean_patent(patents[row]))),
        Composed(query_rows, query),
        judged("x"),
    )
    write_qrels(files[0], judged("x_family"))
    write_rows(files[1], (_row(patents[row]) for row in sorted(number_of, key=number_of.__getitem__)), _METADATA)
    truth = [
        {"_id": number_of[known[one.number]] if one.number in known else one.number, "pn": one.pn, "apdt": one.apdt}
        | {name: one.fields[name] for name in ("lang", "jurisdiction", "type", "ipc_main")}
        | {"n_x": len(one.x), "n_x_family": len(one.x_family)}
        for one in samples
    ]
    write_parquet(files[2], pa.Table.from_pylist(truth, _TRUTH))
    write_rows(files[3], descriptions(), _VIEWS)
    log.step(
        "queries",
        len(queries),
        len(queries) - n_empty,
        f"{n_empty} queries without title, abstract and claims" if n_empty else "",
    )
    return [*written, *files]


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
