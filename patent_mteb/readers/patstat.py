"""PATSTAT, raw CSV tables of one folder, zipped or unpacked (``tls201_appln.csv`` or ``tls201_part01.csv`` ...).

Publications (``tls211``) are joined with ``tls201`` (application, families), ``tls202`` (title), ``tls203`` (abstract),
``tls209`` (IPC) and ``tls224`` (CPC), as far as the folder has them. Citations (``tls212``) need ``tls211``, priorities
(``tls204``) also ``tls201``.

``tls215`` (categories and claims) is joined on ``pat_publn_id``, ``citn_replenished`` and ``citn_id``. Since 2019 it
has a row for each category and claim; the rows of a category become one citation. A citation with ``citn_replenished``
is of an international search report and repeated by the EPO for the European publication. It is skipped if the same
pair has a citation without it. Tables that users have joined are read with the column maps ``patstat`` and
``patstat-citations``. PATSTAT has no full text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import phase_and_origin
from patent_mteb.patents.ipc import read_codes
from patent_mteb.patents.records import Citation, Patent, Relation, TextLanguages
from patent_mteb.readers.items import Item, Skipped
from patent_mteb.readers.publication import NON_PATENT, UNNAMED, UNPUBLISHED, unread_days
from patent_mteb.readers.values import (
    application,
    claim_numbers,
    day,
    language,
    publication,
)
from patent_mteb.readers.zipped import joined_rows, reader_of_tables, sibling_tables, table, with_rows

REPLENISHED = "a citation of the international search report, repeated for the European publication"
_NUMBER = ("publn_auth", "publn_nr", "publn_kind")
_KEYS = ("pat_publn_id", "citn_replenished", "citn_id")
_with = partial(with_rows, separator=",")


def _required(path: Path, name: str, *columns: str) -> pl.LazyFrame:
    """Return a table of the same folder, in one part or several."""
    if found := sibling_tables(path, f"{name}*.csv"):
        return pl.concat(table(one, columns, ",") for one in found)
    raise DataError(f"{name} is missing in its folder", path=path, remedy=f"put {name}*.csv into the same folder")


_APPLICATION = (
    *("appln_auth", "appln_nr", "appln_kind", "appln_filing_date", "earliest_filing_date"),
    *("docdb_family_id", "inpadoc_family_id"),
)


def _publications(path: Path) -> Iterator[Item]:
    frame = table(path, ("pat_publn_id", *_NUMBER, "appln_id", "publn_date"), ",")
    frame = _with(frame, path, "tls201*.csv", ("appln_id",), _APPLICATION, "applications")
    frame = _with(frame, path, "tls202*.csv", ("appln_id",), ("appln_title_lg", "appln_title"), "titles")
    frame = _with(frame, path, "tls203*.csv", ("appln_id",), ("appln_abstract_lg", "appln_abstract"), "abstracts")
    frame = _with(frame, path, "tls209*.csv", ("appln_id",), ("ipc_class_symbol", "ipc_position"), "ipc")
    frame = _with(frame, path, "tls224*.csv", ("appln_id",), ("cpc_class_symbol",), "cpc")
    for number, row in enumerate(joined_rows(frame, path), start=2):
        if not row["publn_nr"].strip("0 "):
            yield Skipped("", f"row {number}", UNNAMED)
            continue
        yield from _patent(row)


def _number(row: dict[str, Any], before: str = "") -> str:
    office, serial, kind = (str(row[before + name] or "").strip() for name in _NUMBER)
    return publication(serial, office, kind)


def _application(row: dict[str, Any]) -> str:
    return application(*(row.get(name, "").strip() for name in ("appln_nr", "appln_auth", "appln_kind")))


def _patent(row: dict[str, Any]) -> Iterator[Item]:
    tables = ("applications", "titles", "abstracts")
    applied, title, abstract = (dict[str, Any](next(iter(row[name] or ()), {})) for name in tables)
    number, its = _number(row), _application(applied)
    families = (applied.get(name, "") for name in ("docdb_family_id", "inpadoc_family_id"))
    # The first IPC code has position F; the table has no order.
    codes = sorted(row["ipc"] or (), key=lambda one: (one["ipc_position"] != "F", one["ipc_class_symbol"]))
    yield Patent(
        number,
        next((family for family in families if family.strip("0")), its or number),
        title=title.get("appln_title", ""),
        abstract=abstract.get("appln_abstract", ""),
        kind=row["publn_kind"].strip(),
        application_date=day(applied.get("appln_filing_date")),
        publication_date=day(row["publn_date"]),
        priority_date=day(applied.get("earliest_filing_date")),
        ipc=read_codes(one["ipc_class_symbol"] for one in codes),
        cpc=tuple(sorted(read_codes(one["cpc_class_symbol"] for one in row["cpc"] or ()))),
        application_number=its,
        languages=TextLanguages(language(title.get("appln_title_lg")), language(abstract.get("appln_abstract_lg"))),
        source="patstat-tables",
    )
    days = (applied.get(name) for name in ("appln_filing_date", "earliest_filing_date"))
    yield from unread_days(number, row["publn_date"], *days)
    if its:
        yield Relation(number, its, "application")


def _citations(path: Path) -> Iterator[Item]:
    columns = (*_KEYS, "citn_origin", "cited_pat_publn_id", "cited_appln_id", "cited_npl_publn_id", "citn_gener_auth")
    publications = _required(path, "tls211", "pat_publn_id", *_NUMBER)
    cited = publications.rename({name: f"cited_{name}" for name in ("pat_publn_id", *_NUMBER)})
    frame = table(path, columns, ",").join(publications, on="pat_publn_id", how="left", maintain_order="left")
    frame = frame.join(cited, on="cited_pat_publn_id", how="left", maintain_order="left")
    frame = _with(frame, path, "tls215*.csv", _KEYS, ("citn_categ", "relevant_claim"), "categories")
    pair = ["pat_publn_id", "cited_pat_publn_id"]
    own = table(path, columns, ",").filter(pl.col("citn_replenished").is_in(["", "0"])).select(pair).unique()
    frame = frame.join(own.with_columns(own=pl.lit(True)), on=pair, how="left", maintain_order="left")
    for number, row in enumerate(joined_rows(frame, path), start=2):
        if reason := _refusal(row):
            yield Skipped(_number(row) if row["publn_nr"] else "", f"row {number}", reason)
        else:
            yield from _citation(row)


def _refusal(row: dict[str, Any]) -> str:
    if row["cited_pat_publn_id"].strip("0") == "":
        return NON_PATENT if row["cited_npl_publn_id"].strip("0") else UNPUBLISHED
    if row["publn_nr"] is None or row["cited_publn_nr"] is None:
        return "a citation of or by a publication that tls211 does not have"
    return REPLENISHED if row["citn_replenished"].strip("0") and row["own"] else ""


def _citation(row: dict[str, Any]) -> Iterator[Item]:
    """One citation for each category, with its claims."""
    categories: dict[str, set[int]] = {}
    for one in row["categories"] or ({"citn_categ": "", "relevant_claim": ""},):
        categories.setdefault(one["citn_categ"].strip(), set()).update(claim_numbers(one["relevant_claim"]))
    phase, origin = phase_and_origin(row["citn_origin"])
    office = row["citn_gener_auth"].strip()
    for category, claims in sorted(categories.items()):
        citing, cited = _number(row), _number(row, "cited_")
        yield Citation(citing, cited, category, origin, tuple(sorted(claims)), (), phase, office)


def _priorities(path: Path) -> Iterator[Item]:
    applications = _required(path, "tls201", "appln_id", "appln_auth", "appln_nr", "appln_kind")
    publications = _required(path, "tls211", "appln_id", *_NUMBER)
    prior = applications.rename({"appln_id": "prior_appln_id"})
    frame = table(path, ("appln_id", "prior_appln_id"), ",").join(
        prior, on="prior_appln_id", how="inner", maintain_order="left"
    )
    for row in joined_rows(frame.join(publications, on="appln_id", how="inner", maintain_order="left"), path):
        yield Relation(_number(row), _application(row), "priority")


_TABLES = {"tls211": _publications, "tls212": _citations, "tls204": _priorities}

_READ_WITH = ("tls201", "tls202", "tls203", "tls209", "tls215", "tls224")

READER = reader_of_tables(
    "patstat-tables",
    "PATSTAT: raw CSV tables of one folder (tls211_pat_publn.csv, tls212_citation.csv ...)",
    owner="PATSTAT",
    tables=_TABLES,
    read_with=_READ_WITH,
    name_of=lambda path: path.name[:6],
    suffix=".csv",
    others="publications or citations",
    expected=", ".join((*_TABLES, *_READ_WITH)),
)
