"""Join two records of one publication: of two inputs, or of two sheets of a workbook.

A field of a table that is not empty replaces the earlier value, and labels are added. A source of the EPO
(:data:`FILL`) only fills empty fields.
"""

from __future__ import annotations

from typing import Any

ADDED = "fields joined to a publication of an earlier input"
CONFLICTS = "fields that differ from those of an earlier input: the later value is kept"
Row = dict[str, Any]

EXCHANGED = "the latest exchange of a DOCDB file"
"""A note whose example is the day. Of several files, the one that was exchanged last counts."""
DELETED = "a publication that DOCDB has deleted"
"""Why a document is skipped. The records of the publication in files that were exchanged earlier are removed."""

_TEXTS = ("title", "abstract", "claims", "description")
_KEPT = {"publication_number", "source", "languages", "paragraphs"}
_BY_FIELD = {"expert", "summaries"}
FILL = {"ops", "epo", "epo-tsv"}
"""Sources whose records are spread over several files: a later one fills the empty fields of an earlier one."""


def joined(earlier: Row, later: Row) -> tuple[Row, list[str], list[str]]:
    """Join two records: what the later one has replaces the earlier value, and its labels are added.

    Return the record, the fields that were empty before, and those that had another value. A family that is named after
    the publication itself is not stated.
    """
    record = dict(earlier)
    added: list[str] = []
    conflicts: list[str] = []
    for name, value in later.items():
        before = earlier[name]
        stated = name != "family_id" or value != later["publication_number"]
        if name in _KEPT or not stated or not _has_content(value) or value == before:
            continue
        unstated = name == "family_id" and before == earlier["publication_number"]
        conflict = _has_content(before) and not unstated
        if later["source"] in FILL and conflict:
            continue
        if name == "labels":
            value = before + [label for label in value if label not in before]
            conflict = False
        elif name in _BY_FIELD:
            value = {field: text or before[field] for field, text in value.items()}
            conflict = any(before[field] and before[field] != text for field, text in value.items())
        if value == before:
            continue
        (conflicts if conflict else added).append(name)
        record[name] = value
        if name in _TEXTS:
            record["languages"] = {**record["languages"], name: later["languages"][name]}
        if name == "description":
            record["paragraphs"] = later["paragraphs"]
    return record, added, conflicts


def _has_content(value: Any) -> bool:
    return any(value.values()) if isinstance(value, dict) else bool(value)
