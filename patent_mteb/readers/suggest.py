"""Suggest a column map for a table from the names and values of its columns."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.readers.sheets import BadRow, open_sheet
from patent_mteb.readers.values import unpacked

_SYNONYMS: dict[str, dict[str, tuple[str, ...]]] = {
    "fields": {
        "publication_number": (
            "publication number", "publication no", "publication nr", "pub no", "pub number", "publication id",
            "patent number", "patent no", "patent nr", "patent id", "pat no", "pat nr", "pat number", "document number",
            "doc number", "document id", "doc id", "docid", "display key", "pn", "paper id", "number", "id",
        ),
        "kind": ("kind", "kind code", "publication kind", "publication kind code", "wipo kind"),
        "family_id": (
            "family id", "family number", "family", "simple family id", "docdb family id", "inpadoc family id",
            "docdb family", "inpadoc family", "simple family",
        ),
        "application_number": ("application number", "application no", "application id", "appln nr"),
        "filing_jurisdiction": ("filing jurisdiction", "priority country", "country of first filing"),
        "title": (
            "title", "title english", "title of invention", "title of the invention", "invention title", "patent title",
            "application title", "appln title",
        ),
        "abstract": ("abstract", "abstract english", "abstract text", "patent abstract", "appln abstract", "text"),
        "claims": ("claims", "claims english", "claim", "claim text", "claims text", "first claim"),
        "description": ("description", "description english", "full description", "description text", "specification"),
        "description.background": ("background",),
        "description.summary": ("summary", "summary of the invention", "brief summary"),
        "description.drawings": ("drawings", "brief description of the drawings"),
        "description.detailed": ("detailed description",),
        "application_date": ("application date", "filing date", "date filed", "filed", "filed on", "appln filing date"),
        "publication_date": (
            "publication date", "pub date", "date published", "published date", "published", "published on",
            "publn date", "patent date",
        ),
        "priority_date": ("priority date", "earliest priority date", "earliest priority", "priority"),
        "ipc": (
            "ipc", "ipcs", "ipcr", "ipc current", "ipc codes", "ipc classes", "ipc classification",
            "ipc classifications", "ipcr classifications", "ipcr labels", "international classification",
        ),
        "cpc": (
            "cpc", "cpcs", "cpc current", "cpc codes", "cpc classes", "cpc classification", "cpc classifications",
            "cpc labels",
        ),
        "inventors": ("inventors", "inventor", "inventor names", "inventor list"),
        "applicants": ("applicants", "applicant", "assignee", "assignees", "assignee applicant", "owners", "owner"),
        "keywords": ("keywords", "key words"),
    },
    "citations": {
        "citing": ("citing", "citing number", "citing publication", "citing patent", "query id"),
        "cited": (
            "cited", "cites", "cited patents", "cites patents", "cited numbers", "cited number", "cited publication",
            "cited publications", "cited references", "references cited", "cited refs patent", "backward citations",
            "citations", "corpus id",
        ),
        "category": ("citation category", "citation categories", "category of citation"),
        "origin": ("origin", "citation origin", "cited by"),
    },
    "relations": {
        "member": (
            "family members", "simple family members", "dwpi family members", "inpadoc family members", "members",
        ),
    },
    "labels": {
        "coarse": ("coarse", "topic", "topics", "label", "labels", "class label", "class labels"),
        "fine": ("fine", "subtopic", "subtopics", "fine label", "fine labels"),
    },
}  # fmt: skip
"""Section of a map -> our field -> names of columns in lower case, the most likely first."""

_LISTS = {"ipc", "cpc", "inventors", "applicants", "keywords", "cited", "category", "member", "coarse", "fine"}
_SEPARATORS = (";;", " | ", "|", ";", "\n")
_SAMPLE = 200


def _plain(column: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", column.lower()))


_KNOWN = {name for fields in _SYNONYMS.values() for names in fields.values() for name in names}


def suggest(path: Path, *, unfinished: bool = False) -> str:
    """Return a column map in TOML for a table. Unknown columns are in comments."""
    sheet = open_sheet(path, lambda column: _plain(column) in _KNOWN)
    found = _found(sheet.columns)
    numberless = "publication_number" not in found.get("fields", {})
    if numberless and {"citing", "cited"} <= found.get("citations", {}).keys():
        found = {"citations": found["citations"]}
    elif numberless and not unfinished:
        problem = f"no column looks like a publication number (columns: {', '.join(sheet.columns)})"
        remedy = f"patent-mteb data import --suggest {path.name} > map.toml writes a map to be finished by hand"
        raise DataError(problem, path=path, remedy=f"{remedy}; name it with --map")
    elif numberless:
        found = {**found, "fields": {"publication_number": "", **found.get("fields", {})}}
    sample = [row for _, row in itertools.islice(sheet.rows, _SAMPLE) if not isinstance(row, BadRow)]
    lines = [f"name = {json.dumps(path.name.partition('.')[0], ensure_ascii=False)}"]
    for section, fields in found.items():
        lines += ["", f"[[{section}]]" if section == "labels" else f"[{section}]"]
        if section == "labels":
            lines.append('landscape = { constant = "Topics" }')
        lines += [
            f"{ours} = {_written(ours, theirs, sample)}" if theirs else f'# {ours} = "name its column"'
            for ours, theirs in fields.items()
        ]
    placed = {name for fields in found.values() for name in fields.values()}
    if rest := [name for name in sheet.columns if name not in placed]:
        lines += ["", f"# not read: {', '.join(json.dumps(name, ensure_ascii=False) for name in rest)}"]
    return "\n".join(lines) + "\n"


def _found(columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return section -> our field -> its most likely column. Labels need coarse ones; citations need cited numbers."""
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(_plain(column), column)
    found = {}
    for section, fields in _SYNONYMS.items():
        known = {ours: [by_name[name] for name in names if name in by_name] for ours, names in fields.items()}
        hits = {ours: names[0] for ours, names in known.items() if names}
        if hits and {"citations": "cited", "labels": "coarse"}.get(section, next(iter(hits))) in hits:
            found[section] = hits
    own = found.get("fields", {})
    if "description" in own:
        found["fields"] = {ours: theirs for ours, theirs in own.items() if not ours.startswith("description.")}
    return found


def _written(ours: str, theirs: str, sample: Iterable[dict[str, Any]]) -> str:
    name = json.dumps(theirs, ensure_ascii=False)
    if ours not in _LISTS:
        return name
    texts = [value for row in sample if isinstance(value := unpacked(row.get(theirs)), str)]
    counts = {mark: sum(mark in text for text in texts) for mark in _SEPARATORS}
    best = max(counts, key=lambda mark: counts[mark])
    return f"{{ column = {name}, separator = {json.dumps(best)} }}" if counts[best] else name
