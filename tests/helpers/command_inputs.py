"""Small files, folders and models for the names in documented commands, made when first asked for."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import open_us_patents
import openpyxl
from paths import SHARED
from report_folders import add, model_folder
from small_bases import write_bert, write_static
from small_patents import world
from tiny_checkpoints import write_cross_encoder

from patent_mteb import cli
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.patents.records import Citation, Patent, write_records

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
RANKED = "PatentDAPFAMTACToTACRetrieval.sample"
HEADER = ("Publication Number", "Title", "Abstract", "Claims", "IPC", "Cited Patents", "Topic")


def quietly(*words: object) -> None:
    """A command that has to succeed."""
    assert cli.main([*map(str, words), "-q"]) == 0, words


def _records(folder: Path) -> None:
    patents, citations = world()
    write_records(folder / "patents" / "a.parquet", Patent, patents)
    write_records(folder / "citations" / "a.parquet", Citation, citations)


def _acted_upon(folder: Path) -> None:
    """Records of the open benchmark with office actions in both windows that the pages name."""
    write_records(folder / "patents" / "a.parquet", Patent, open_us_patents.PATENTS)
    days = (dt.date(2023, 2, 1), dt.date(2026, 8, 1))
    citations = [dataclasses.replace(one, date=day) for one in open_us_patents.CITATIONS for day in days]
    write_records(folder / "citations" / "a.parquet", Citation, citations)


def _built(folder: Path) -> None:
    _records(folder.with_suffix(".records"))
    quietly("data", "build", "wipo_at", folder.with_suffix(".records"), folder, "--name", "Mine")


def _grants(folder: Path) -> None:
    """A benchmark of another recipe, under the name that docs/readers.md gives it."""
    _records(folder.with_suffix(".records"))
    sizes = ("min_cited_by=0", "min_class_families=1", "split=0.3,0.1,0.6")
    settings = [word for one in sizes for word in ("--set", one)]
    quietly("data", "build", "patenteb", folder.with_suffix(".records"), folder, "--name", "Grants", *settings)


def _edition(folder: Path) -> None:
    _acted_upon(folder.with_suffix(".records"))
    quietly("edition", "build", "open-us", folder.with_suffix(".records"), folder, "--window", "2023Q1")


def _manifest(folder: Path) -> None:
    _edition(folder.with_suffix(".built"))
    (folder.with_suffix(".built") / "manifest").rename(folder)


def _rows() -> list[tuple[str, ...]]:
    patents, citations = world(20)
    cited = {one.citing: one.cited for one in citations}
    return [
        (
            one.publication_number,
            one.title,
            one.abstract,
            "\n".join(f"{claim.number}. {claim.text}" for claim in one.claims),
            one.ipc[0],
            cited.get(one.publication_number, ""),
            one.ipc[0][:1],
        )
        for one in patents
    ]


def _csv(path: Path) -> None:
    path.write_text("".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in (HEADER, *_rows())), "utf-8")


def _xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (HEADER, *_rows()):
        book.active.append(row)
    book.save(path)


def _export(folder: Path) -> None:
    folder.mkdir()
    _csv(folder / "export.csv")


def _map(path: Path) -> None:
    fields = "".join(
        f'{field} = "{column}"\n' for field, column in (("publication_number", HEADER[0]), ("title", "Title"))
    )
    path.write_text(f'name = "mine"\n[fields]\n{fields}[citations]\ncited = "Cited Patents"\n', "utf-8")


def _week(path: Path, inner: str) -> None:
    """A zip file of the office, of one real document."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(SHARED / "bulk" / "uspto" / inner, f"{path.stem}.xml")


_ACTION = {
    "patentApplicationNumber": "17437086",
    "citedDocumentIdentifier": "US 2005/0004437  A1",
    "countryCode": "US",
    "kindCode": "A1",
    "citationCategoryCode": "X",
    "relatedClaimNumberText": "1-3",
    "passageLocationText": ["page 2 paragraphs [0010]-[0012]"],
    "officeActionDate": "2023-02-01T00:00:00",
    "officeActionCategory": "CTNF",
}
"""A row with the names of the enriched citations as they are published."""
_STATUTE = {
    "patentApplicationNumber": "17437086",
    "referenceIdentifier": "US 2005/0004437 A1",
    "parsedReferenceIdentifier": "20050004437",
    "legalSectionCode": "103",
    "actionTypeCategory": "rejected",
    "examinerCitedReferenceIndicator": True,
}
"""A row with the names of the office action citations as they are published."""


def _row(path: Path, row: Mapping[str, object]) -> None:
    path.write_text(json.dumps(row) + "\n", "utf-8")


def _shares(folder: Path) -> None:
    """What an import of the whole leaves behind when it was done as one share."""
    _export(folder.with_suffix(".export"))
    quietly("data", "import", folder.with_suffix(".export"), "--out", folder, "--shard", "1/1", "--workers", "1")


def _store(folder: Path) -> None:
    """A store with the vectors of one task."""
    _STATIC(folder.with_suffix(".model"))
    quietly(
        "store",
        "encode",
        "-t",
        "PatentMapAbsToAbsRetrieval.sample",
        "-m",
        folder.with_suffix(".model"),
        "--store",
        folder,
    )


def _ranking(path: Path, seed: int = 0) -> None:
    """A hundred documents for each query in any order, as TREC writes it."""
    task = retrieval_task(RANKED)
    task.load_data()
    documents, rng = list(task.tables.corpus), np.random.default_rng(seed)
    lines = (
        f"{query} Q0 {documents[place]} {rank} {1 / rank} drawn\n"
        for query in task.tables.queries
        for rank, place in enumerate(rng.choice(len(documents), 100, replace=False), 1)
    )
    path.write_text("".join(lines), "utf-8")


def _results(folder: Path) -> None:
    """Published data measured with a model that mteb implements."""
    one = model_folder(folder, MINILM, "8b3219a92973c328a8e22fadcfa821b5dc75636a")
    add(one, "PatentDAPFAMTACToTACRetrieval", kind="real", queries=[0.2, 0.4, 0.9])


def _board(folder: Path) -> None:
    _results(folder.with_suffix(".results"))
    quietly("publish", "board", folder.with_suffix(".results"), folder)


_OTHER_RANKING = functools.partial(_ranking, seed=1)
_STATIC = functools.partial(write_static, width=256)
_LAYERED = functools.partial(write_bert, layers=13, hidden=8)

FILES = {
    **dict.fromkeys(("MODEL", "ORG/NAME", "path/to/checkpoint"), _STATIC),
    "LAYERED": _LAYERED,
    "CROSS_ENCODER": write_cross_encoder,
    **dict.fromkeys(("RECORDS", "records"), _records),
    "patents.parquet": lambda path: write_records(path, Patent, world()[0]),
    "citations.parquet": lambda path: write_records(path, Citation, world()[1]),
    **dict.fromkeys(("mine", "DIR", "ROOT"), _built),
    "ACTED-UPON": _acted_upon,
    "GRANTS": _grants,
    "edition": _edition,
    **dict.fromkeys(("BOARD", "board"), _board),
    **dict.fromkeys(("manifest", "published-manifest"), _manifest),
    "export.csv": _csv,
    **dict.fromkeys(("export", "grants", "grants/"), _export),
    "mine.xlsx": _xlsx,
    "mine.toml": _map,
    "bulk/ipa230105.zip": functools.partial(_week, inner="go_application_v4-5-A1.xml"),
    "bulk/ipg230103.zip": functools.partial(_week, inner="go_grant_v4-5-B2.xml"),
    "office-actions.jsonl": functools.partial(_row, row=_ACTION),
    "statutes.jsonl": functools.partial(_row, row=_STATUTE),
    **dict.fromkeys(("a", "b", "c", "d", "OTHER", "other-store"), _store),
    **dict.fromkeys(("one", "two"), _shares),
    **dict.fromkeys(("BM25.run", "bm25.run", "vendor.run"), _ranking),
    **dict.fromkeys(("DENSE.run", "dense.run"), _OTHER_RANKING),
    **dict.fromkeys(("results", "RESULTS"), _results),
}
"""What makes the thing of each name that commands read, at a path that it is given."""
