"""PatentsView, granted patents and pre-grant publications: TSV tables of one folder, zipped or unpacked.

``g_patent`` and ``pg_published_application`` are joined with the tables of texts, classes and applications of the same
folder, citations with ``g_patent`` for the kind codes of the citing patents. A missing table leaves its fields empty.
Only utility patents are read. Citations have an origin but no category.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb.patents.records import Citation, Relation
from patent_mteb.readers.items import Item, Skipped
from patent_mteb.readers.publication import NUMBERLESS, UNNAMED, ClaimText, Paragraph, Published, Texts
from patent_mteb.readers.values import CODES, application, has_digit, publication
from patent_mteb.readers.zipped import joined_rows, reader_of_tables, sibling_tables, table, table_name, with_rows

_SECTIONS = {
    "summary": ("g_brf_sum_text_*.tsv", "summary_text", ""),
    "drawings": ("g_draw_desc_text_*.tsv", "draw_desc_text", "draw_desc_sequence"),
    "detailed": ("g_detail_desc_text_*.tsv", "description_text", ""),
}
"""Section of a description -> table, column, and column with the order of the rows."""

_IPC = ("section", "ipc_class", "subclass", "main_group", "subgroup")
_tsv = partial(table, separator="\t")
_with = partial(with_rows, separator="\t")


def _patents(path: Path) -> Iterator[Item]:
    key = "patent_id"
    frame = _tsv(path, (key, "patent_type", "patent_date", "patent_title", "wipo_kind", "withdrawn"))
    frame = _with(frame, path, "g_patent_abstract.tsv", (key,), ("patent_abstract",), "abstracts")
    frame = _with(frame, path, "g_application.tsv", (key,), ("application_id", "filing_date"), "applications")
    frame = _with(frame, path, "g_ipc_at_issue.tsv", (key,), ("ipc_sequence", *_IPC), "ipc")
    frame = _with(frame, path, "g_cpc_current.tsv", (key,), ("cpc_sequence", "cpc_group"), "cpc")
    frame = _with(frame, path, "g_claims_*.tsv", (key,), ("claim_sequence", "claim_text", "claim_number"), "claims")
    for section, (pattern, column, order) in _SECTIONS.items():
        frame = _with(frame, path, pattern, (key,), (column, order) if order else (column,), section)
    return _utility(frame, path, key, _grant)


def _utility(
    frame: pl.LazyFrame, path: Path, key: str, make: Callable[[dict[str, Any]], Iterator[Item]]
) -> Iterator[Item]:
    for number, row in enumerate(joined_rows(frame, path), start=2):
        if reason := _refusal(row, key):
            yield Skipped(row[key], f"row {number}", reason)
        else:
            yield from make(row)


def _refusal(row: dict[str, Any], key: str) -> str:
    if not has_digit(row[key]):
        return UNNAMED
    if row["patent_type"] != "utility":
        return f"not a utility patent ({row['patent_type']})"
    return "a withdrawn patent" if row.get("withdrawn") == "1" else ""


def _ordered(found: list[dict[str, str]] | None, order: str = "") -> list[dict[str, str]]:
    """Sort the joined rows of another table by the number in a column."""
    return sorted(found or (), key=lambda one: int(one[order]) if order and one[order].isdigit() else 0)


def _grant(row: dict[str, Any]) -> Iterator[Item]:
    applied = next(iter(_ordered(row["applications"])), {"application_id": "", "filing_date": ""})
    claims = [ClaimText(one["claim_number"], one["claim_text"]) for one in _ordered(row["claims"], "claim_sequence")]
    paragraphs = (
        Paragraph(one[column], section)
        for section, (_, column, order) in _SECTIONS.items()
        for one in _ordered(row[section], order)
    )
    return _items(row | applied, "patent", "patent_date", row["wipo_kind"], claims, paragraphs)


def _items(
    row: dict[str, Any], of: str, date: str, kind: str, claims: list[ClaimText], paragraphs: Iterable[Paragraph]
) -> Iterator[Item]:
    """The items of a row; ``of`` starts the names of its text columns, ``date`` is the column of its publication."""
    abstract = next((one[f"{of}_abstract"] for one in _ordered(row["abstracts"])), "")
    return Published(
        source="patentsview",
        office="US",
        serial=row["patent_id" if of == "patent" else "pgpub_id"],
        kind=kind,
        date=row[date],
        application=application(row["application_id"], "US"),
        filed=row["filing_date"],
        texts=Texts.of("en", row[f"{of}_title"], abstract, claims, paragraphs),
        ipc=_ipc(row["ipc"]),
        cpc=[one["cpc_group"] for one in _ordered(row["cpc"], "cpc_sequence")],
    ).items("")


def _ipc(found: list[dict[str, str]] | None) -> Iterator[str]:
    """Yield the IPC codes, some of which have the slash in the subgroup (``/42``)."""
    for one in _ordered(found, "ipc_sequence"):
        section, cls, subclass, group, subgroup = (one[part].strip() for part in _IPC)
        yield f"{section}{cls}{subclass}{group}/{subgroup.lstrip('/')}"


def _applications(path: Path) -> Iterator[Item]:
    key = "pgpub_id"
    columns = ("application_id", "filing_date", "patent_type", "published_date", "wipo_kind", "application_title")
    frame = _tsv(path, (key, *columns))
    frame = _with(frame, path, "pg_published_application_abstract.tsv", (key,), ("application_abstract",), "abstracts")
    frame = _with(frame, path, "pg_ipc_at_issue.tsv", (key,), ("ipc_sequence", *_IPC), "ipc")
    frame = _with(frame, path, "pg_cpc_current.tsv", (key,), ("cpc_sequence", "cpc_group"), "cpc")
    return _utility(
        frame, path, key, lambda row: _items(row, "application", "published_date", row["wipo_kind"] or "A1", [], ())
    )


def _citations(path: Path, cited: str, office: str = "") -> Iterator[Item]:
    """The citations of one table; ``cited`` and ``office`` are the columns of number and country (default: US)."""
    key, columns = "patent_id", [cited, "citation_category", *([office] if office else ["wipo_kind"])]
    frame = _tsv(path, (key, *columns))
    patents = sibling_tables(path, "g_patent.tsv")
    if patents:
        kinds = _tsv(patents[0], (key, "wipo_kind")).rename({"wipo_kind": "own_kind"})
        frame = frame.join(kinds, on=key, how="left", maintain_order="left")
    for number, row in enumerate(joined_rows(frame, path), start=2):
        citing = publication(row[key], "US", row.get("own_kind") or "")
        its = publication(row[cited], row[office] if office else "US", row.get("wipo_kind", ""))
        if not has_digit(row[key]):
            yield Skipped("", f"row {number}", UNNAMED)
        elif has_digit(its):
            yield Citation(citing, its, origin=CODES["us_origins"].get(row["citation_category"].lower(), ""))
        else:
            yield Skipped(citing, f"row {number}", NUMBERLESS)


def _crosswalk(path: Path) -> Iterator[Item]:
    for number, row in enumerate(joined_rows(_tsv(path, ("pgpub_id", "patent_id")), path), start=2):
        if has_digit(row["pgpub_id"]) and has_digit(row["patent_id"]):
            yield Relation(publication(row["patent_id"], "US"), publication(row["pgpub_id"], "US", "A1"), "pre-grant")
        else:
            yield Skipped(row["pgpub_id"] or row["patent_id"], f"row {number}", "a publication without its counterpart")


_TABLES = {
    "g_patent": _patents,
    "pg_published_application": _applications,
    "g_us_patent_citation": lambda path: _citations(path, "citation_patent_id"),
    "g_us_application_citation": lambda path: _citations(path, "citation_document_number"),
    "g_foreign_citation": lambda path: _citations(path, "citation_application_id", "citation_country"),
    "pg_granted_pgpubs_crosswalk": _crosswalk,
}

_READ_WITH = """
    g_patent_ g_application g_ipc_ g_cpc_ g_claims_ g_brf_ g_draw_ g_detail_ pg_published_application_ pg_ipc_ pg_cpc_
"""

READER = reader_of_tables(
    "patentsview",
    "PatentsView: TSV tables of one folder (g_patent.tsv and the tables next to it)",
    owner="PatentsView",
    tables=_TABLES,
    read_with=tuple(_READ_WITH.split()),
    name_of=lambda path: table_name(path, ".tsv"),
    suffix=".tsv",
    others="publications",
    expected=f"{', '.join(_TABLES)} or a table that is read with them",
)
