"""Harvard USPTO Patent Dataset (HUPD): one JSON document per application, or JSON lines; without citations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from patent_mteb.readers.answers import json_reader
from patent_mteb.readers.publication import Paragraph, Published, Texts, unmarked_claims
from patent_mteb.readers.values import application, text_in

_NUMBER = re.compile(r"(US\d+[A-Z]\d?)(?:-\d{8})?")


def _published(row: Mapping[str, Any]) -> Published:
    number = _NUMBER.fullmatch(text_in(row, "publication_number"))
    return Published(
        source="hupd",
        office="US",
        serial=number[1] if number else text_in(row, "publication_number"),
        kind="",
        date=text_in(row, "date_published"),
        application=application(text_in(row, "application_number"), "US"),
        filed=text_in(row, "filing_date"),
        texts=Texts.of(
            "en",
            text_in(row, "title"),
            text_in(row, "abstract"),
            unmarked_claims(text_in(row, "claims")),
            _paragraphs(row),
        ),
        ipc=_codes(row, "main_ipcr_label", "ipcr_labels"),
        cpc=_codes(row, "main_cpc_label", "cpc_labels"),
        inventors=[_inventor(one) for one in row.get("inventor_list") or ()],
    )


def _paragraphs(row: Mapping[str, Any]) -> Iterator[Paragraph]:
    """Yield background, summary, and the rest of the full description, which contains them."""
    full = text_in(row, "full_description")
    for section in ("background", "summary"):
        text = text_in(row, section)
        full = full.replace(text, "", 1) if text else full
        yield Paragraph(text, section)
    yield Paragraph(full.strip(), "detailed")


def _codes(row: Mapping[str, Any], main: str, others: str) -> list[str]:
    """Return subclasses: labels have no slash (``G06F1730``), so their groups are ambiguous."""
    labels = [text_in(row, main), *map(str, row.get(others) or ())]
    return [label[:4] if re.match(r"[A-H]\d\d[A-Z]", label) else label for label in labels]


def _inventor(one: Any) -> str:
    if not isinstance(one, dict):
        return str(one)
    names = (one.get(name) for name in ("inventor_name_first", "inventor_name_last"))
    return " ".join(str(name).strip() for name in names if name)


READER = json_reader(
    "hupd",
    "Harvard USPTO Patent Dataset: one JSON document per application, or JSON lines",
    lambda row: row.keys() >= {"application_number", "decision"},
    lambda row, place: _published(row).items(place),
    ("application_number",),
)
