"""USPTO Office Action Research Dataset (Lu et al. 2017): office actions from 2008 to mid-2017, three CSV tables.

=====================  =================================================================================================
table                  columns that are read
=====================  =================================================================================================
``citations.csv``      ``app_id``, ``citation_pat_pgpub_id``, ``parsed``, ``ifw_number``, ``action_type``, ``form892``,
                       ``form1449``
``rejections.csv``     ``ifw_number``, ``action_type``, ``claim_numbers``
``office_actions.csv`` ``ifw_number``, ``document_cd``, ``mail_dt``, ``art_unit``
=====================  =================================================================================================

The dataset names sections of 35 U.S.C., not categories. A document of a rejection under section 102 is an X citation,
under 103 a Y citation, and a document of the examiner's list (form 892) without a rejection an A citation. Documents of
the applicant's lists and of other rejections (double patenting) have no category.

``rejections.csv`` unites the claims of all rejections under one section in an action. They are the claims of a document
only where the action cites no other under this section; other citations have no claims. Passages are not in the data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.patents.collection import citing_application
from patent_mteb.patents.records import Citation
from patent_mteb.readers.enriched import technology_centre
from patent_mteb.readers.items import Item, Note, Skipped
from patent_mteb.readers.publication import NUMBERLESS, unread_days
from patent_mteb.readers.values import UNREAD, application, claim_numbers, day, has_digit, publication, reads
from patent_mteb.readers.zipped import joined_rows, reader_of_tables, sibling_tables, table, table_name

_TABLES = {
    "citations": (
        *("app_id", "citation_pat_pgpub_id", "parsed", "ifw_number", "action_type"),
        *("form892", "form1449"),
    ),
    "rejections": ("ifw_number", "action_type", "claim_numbers"),
    "office_actions": ("ifw_number", "document_cd", "mail_dt", "art_unit"),
}
_CATEGORIES = {"102": "X", "103": "Y"}
_TRUE = frozenset({"1", "1.0", "t", "true"})


def _table_of(path: Path) -> str:
    """Return the table that the columns of a file are of; empty for other files."""
    for name, columns in _TABLES.items() if table_name(path, ".csv") else ():
        with contextlib.suppress(DataError):
            table(path, columns, ",")
            return name
    return ""


def _sibling(path: Path, name: str) -> pl.LazyFrame:
    found = next((one for one in sibling_tables(path, f"*{name}*.csv") if _table_of(one) == name), None)
    if found is None:
        problem = f"{name}.csv of the Office Action Research Dataset is missing in its folder"
        raise DataError(problem, path=path, remedy=f"put {name}.csv into the same folder")
    return table(found, _TABLES[name], ",")


def _citations(path: Path) -> Iterator[Item]:
    frame = table(path, _TABLES["citations"], ",")
    section, rejected = ["ifw_number", "action_type"], pl.col("action_type").is_in(list(_CATEGORIES))
    number = pl.when(pl.col("parsed") == "").then("citation_pat_pgpub_id").otherwise("parsed")
    cited = frame.filter(rejected).group_by(section).agg(number.n_unique().alias("documents"))
    actions = _sibling(path, "office_actions").unique("ifw_number", keep="any").with_columns(known=pl.lit(value=True))
    rejections = _sibling(path, "rejections").filter(rejected).group_by(section).agg("claim_numbers")
    frame = frame.join(actions, on="ifw_number", how="left", maintain_order="left")
    for other in (cited, rejections):
        frame = frame.join(other, on=section, how="left", maintain_order="left")
    for row, found in enumerate(joined_rows(frame, path), start=2):
        yield from _citation(found, f"row {row}")


def _citation(row: dict[str, Any], place: str) -> Iterator[Item]:
    citing, cited = application(row["app_id"], "US"), row["parsed"] or row["citation_pat_pgpub_id"]
    if not has_digit(citing) or not has_digit(cited):
        yield Skipped(citing, place, NUMBERLESS if has_digit(citing) else "no application number")
        return
    if not reads(cited, "US", ""):
        yield Note(UNREAD, f"{place}: {cited}")
    if row["ifw_number"] and not row["known"]:
        yield Note("a citation of an office action that office_actions.csv does not have, without a date", place)
    yield from unread_days(place, row["mail_dt"] or "")
    examiner, applicant = (row[form].strip().lower() in _TRUE for form in ("form892", "form1449"))
    section = row["action_type"].strip()
    category = _CATEGORIES.get(section, "A" if examiner and not section else "")
    claims: set[int] = set()
    if row["documents"] == 1:
        claims.update(*map(claim_numbers, row["claim_numbers"] or ()))
    elif row["documents"]:
        yield Note("a citation without claims, because the action cites several documents under the section", place)
    yield Citation(
        citing_application(citing),
        publication(cited, "US", ""),
        category,
        "examiner" if examiner else "applicant" if applicant else "",
        tuple(sorted(claims)),
        (),
        (row["document_cd"] or "").strip().upper() or "examination",
        "US",
        day(row["mail_dt"] or ""),
        technology_centre((row["art_unit"] or "").strip()),
        (section,) if section in _CATEGORIES else (),
    )


READER = reader_of_tables(
    "uspto-office-actions",
    "USPTO Office Action Research Dataset: citations.csv, rejections.csv and office_actions.csv of one folder",
    owner="the Office Action Research Dataset",
    tables={"citations": _citations},
    read_with=("rejections", "office_actions"),
    name_of=_table_of,
    suffix=".csv",
    others="citations",
    expected=f"citations.csv with {', '.join(_TABLES['citations'])}",
)
