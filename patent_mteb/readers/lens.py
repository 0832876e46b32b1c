"""Lens.org, answers of its API or JSON lines: texts, classes, families and citations with categories.

Fields have the names of docs.api.lens.org; missing fields are ignored. ``lens_id`` becomes a keyword of the record
(``lens:031-156-664-106-04X``), because published data sets use it to name patents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from patent_mteb.patents.categories import phase_and_origin
from patent_mteb.readers.answers import json_reader
from patent_mteb.readers.publication import Cited, ClaimText, Paragraph, Published, Related, Texts, unmarked_claims
from patent_mteb.readers.values import application, language, publication

_Object = Mapping[str, Any]


def _list(value: Any, *names: str) -> list[Any]:
    """The list at a path of names, empty if it is missing."""
    for name in names:
        value = (value or {}).get(name)
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: _Object, name: str) -> str:
    return " ".join(str(value.get(name) or "").split())


def _published(row: _Object, lens_id: str) -> Published:
    biblio: _Object = row.get("biblio") or {}
    texts = Texts(language(row.get("lang")))
    for one in _list(biblio, "invention_title"):
        texts.titles.setdefault(language(one.get("lang")), _text(one, "text"))
    for one in _list(row, "abstract"):
        texts.abstracts.setdefault(language(one.get("lang")), _text(one, "text"))
    for one in _list(row, "claims"):
        texts.claims.setdefault(language(one.get("lang")), _claims(one))
    for one in _list(row, "description"):
        text = Paragraph(str(one.get("text") or "").strip(), "detailed")
        texts.descriptions.setdefault(language(one.get("lang")), [text])
    reference = biblio.get("application_reference")
    applied: _Object = reference if isinstance(reference, dict) else {}
    members = [publication(*_identifier(one)) for one in _list(row, "families", "simple_family", "members")]
    return Published(
        source="lens-json",
        office=_text(row, "jurisdiction"),
        serial=_text(row, "doc_number"),
        kind=_text(row, "kind"),
        date=_text(row, "date_published"),
        application=application(_text(applied, "doc_number"), _text(applied, "jurisdiction"), _text(applied, "kind")),
        filed=_text(applied, "date"),
        family=min((member for member in members if member), default=""),
        ipc=[_text(one, "symbol") for one in _list(biblio, "classifications_ipcr", "classifications")],
        cpc=[_text(one, "symbol") for one in _list(biblio, "classifications_cpc", "classifications")],
        inventors=[_name(one) for one in _list(biblio, "parties", "inventors")],
        applicants=[_name(one) for one in _list(biblio, "parties", "applicants")],
        cited=[cited for one in _list(biblio, "references_cited", "citations") for cited in _cited(one)],
        related=[*_priorities(biblio), *(Related("member", member) for member in members)],
        keywords=(f"lens:{lens_id}",) if lens_id else (),
        texts=texts,
    )


def _claims(one: _Object) -> list[ClaimText]:
    """The claims of one language; ``claim_text`` is a list of lines."""
    lines = ["\n".join(map(str, _list(claim, "claim_text"))) for claim in _list(one, "claims")]
    if len(lines) == 1:
        return unmarked_claims(lines[0])
    return [ClaimText("", " ".join(text.split())) for text in lines]


def _name(party: _Object) -> str:
    extracted = party.get("extracted_name")
    return _text(extracted, "value") if isinstance(extracted, dict) else str(extracted or "")


def _identifier(one: _Object) -> tuple[str, str, str]:
    document: _Object = one.get("document_id") or one
    return _text(document, "doc_number"), _text(document, "jurisdiction"), _text(document, "kind")


def _cited(one: _Object) -> Iterator[Cited]:
    phase, origin = phase_and_origin(str(one.get("cited_phase") or ""))
    patent = one.get("patcit")
    if not patent:
        yield Cited("", origin=origin, phase=phase, npl=bool(one.get("nplcit")))
        return
    serial, office, kind = _identifier(patent)
    for category in _list(one, "category") or [""]:
        yield Cited(serial, office, kind, origin, str(category), phase=phase)


def _priorities(biblio: _Object) -> Iterator[Related]:
    for one in _list(biblio, "priority_claims", "claims"):
        number, office, kind = _identifier(one)
        yield Related("priority", application(number, office, kind), _text(one, "date"), office)


_PATENT = {"biblio", "jurisdiction", "doc_number", "doc_key"}
"""Members of patents; the scholarly works of Lens have a ``lens_id`` too."""

READER = json_reader(
    "lens-json",
    "Lens.org: answers of the API or JSON lines",
    lambda row: bool(_PATENT & row.keys()) and ("lens_id" in row or {"biblio", "doc_key"} <= row.keys()),
    lambda row, place: _published(row, str(row.get("lens_id") or "")).items(place),
    ("lens_id",),
)
