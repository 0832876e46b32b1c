"""Column maps in TOML: which column of a table is which field of a record (docs/own-patents.md has all settings)."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from patent_mteb.errors import DataError
from patent_mteb.files import text_lines
from patent_mteb.patents.records import RELATIONS, Citation, Description, ExpertSummary, Label, MachineSummaries, Patent

_EMPTY = r"- -- --- – — ? NA N/A n/a N.A. n.a. k.A. #N/A nan NaN NaT <NA> null NULL (null) \N None none"
EMPTY = frozenset({"", "k. A.", *_EMPTY.split()})  # texts that mean an empty cell by default
EXCEL_ERRORS = frozenset({"#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!"})

_PARTS = {"description": Description, "expert": ExpertSummary, "summaries": MachineSummaries}
LISTS = {name for name, type_ in get_type_hints(Patent).items() if type_ == tuple[str, ...]}
"""Fields of a record that are lists of texts."""
_NOT_A_COLUMN = {"labels", "languages", "translations", "source", "paragraphs", "expert", "summaries"}
_FIELDS = {one.name for one in dataclasses.fields(Patent)} - _NOT_A_COLUMN | {
    f"{name}.{one.name}" for name, part in _PARTS.items() for one in dataclasses.fields(part)
}
_SECTIONS: dict[str, set[str]] = {
    "fields": _FIELDS,
    "citations": {one.name for one in dataclasses.fields(Citation)},
    "relations": {"number", *RELATIONS},
    "labels": {one.name for one in dataclasses.fields(Label)},
}


@dataclass(frozen=True)
class Column:
    """The settings of one column, as in docs/own-patents.md."""

    column: tuple[str, ...] = ()
    join: str | None = None
    separator: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    constant: str = ""
    language: str = ""
    language_column: str = ""
    values: Mapping[str, str] | None = None
    office: str = ""
    optional: bool = False


_COLUMN_SETTINGS = {one.name for one in dataclasses.fields(Column)}
_MAP_SETTINGS = {"name", "what", "recognised_by", "preamble", "delimiter", "sheet", "empty", "optional"}


@dataclass(frozen=True)
class ColumnMap:
    """A column map; ``text`` is its TOML."""

    name: str
    what: str = ""
    fields: Mapping[str, Column] = field(default_factory=dict)
    citations: tuple[Mapping[str, Column], ...] = ()
    relations: Mapping[str, Column] = field(default_factory=dict)
    labels: tuple[Mapping[str, Column], ...] = ()
    recognised_by: tuple[str, ...] = ()
    preamble: int | None = None
    delimiter: str = ""
    sheet: str = ""
    empty: frozenset[str] = EMPTY
    optional: bool = False
    text: str = ""

    def sections(self) -> tuple[Mapping[str, Column], ...]:
        """Return the columns of fields, relations and each section of citations and labels."""
        return (self.fields, *self.citations, self.relations, *self.labels)

    def names(self) -> dict[str, bool]:
        """Return the column names, and whether the table must have each. Any one of several for a field is enough."""
        names: dict[str, bool] = {}
        for column in (column for section in self.sections() for column in section.values()):
            needed = not (self.optional or column.optional or (len(column.column) > 1 and column.join is None))
            for name in (*column.column, *filter(None, [column.language_column])):
                names[name] = names.get(name, False) or needed
        return names


def read_map(path: Path) -> ColumnMap:
    return parse_map("\n".join(line for _, line in text_lines(path)), path)


def parse_map(text: str, path: Path) -> ColumnMap:
    """Parse a column map; ``path`` is used in errors."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        remedy = "correct the file; docs/own-patents.md explains maps"
        raise DataError(f"not a column map in TOML ({error})", path=path, remedy=remedy) from error

    def section(name: str, columns: Any) -> dict[str, Column]:
        return {ours: _column(name, ours, theirs, path) for ours, theirs in _flat(columns, path)}

    sections: dict[str, Any] = {name: section(name, document.pop(name, {})) for name in ("fields", "relations")}
    for name in ("citations", "labels"):
        rows = document.pop(name, [])
        sections[name] = tuple(section(name, row) for row in (rows if isinstance(rows, list) else [rows]))
    for name in ("recognised_by", "empty"):
        if name in document:
            document[name] = _words(document[name], name, path)
    _refuse_unknown(document, _MAP_SETTINGS, path, "a map")
    if "empty" in document:
        document["empty"] = frozenset(document["empty"]) | {""}
    column_map = ColumnMap(**({"name": path.stem} | document | sections), text=text)
    pair = any({"citing", "cited"} <= section.keys() for section in column_map.citations)
    if not (pair or "publication_number" in column_map.fields or "number" in column_map.relations):
        remedy = "name the column of publication_number under [fields], or those of citing and cited under [citations]"
        raise DataError("the map names no column of a number", path=path, remedy=remedy)
    return column_map


def _flat(section: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """Flatten ``expert.novelty = ...``, which TOML reads as a nested table."""
    if not isinstance(section, dict):
        remedy = "write [fields] and the lines below it"
        raise DataError("fields, citations and relations must be tables", path=path, remedy=remedy)
    for ours, theirs in section.items():
        if ours in _PARTS and isinstance(theirs, dict) and not theirs.keys() & _COLUMN_SETTINGS:
            yield from ((f"{ours}.{part}", value) for part, value in theirs.items())
        else:
            yield ours, theirs


def _column(section: str, ours: str, theirs: Any, path: Path) -> Column:
    if ours not in _SECTIONS[section]:
        remedy = f"choose among {', '.join(sorted(_SECTIONS[section]))}"
        raise DataError(f"[{section}] has no field '{ours}'", path=path, remedy=remedy)
    settings = dict(theirs) if isinstance(theirs, dict) else {"column": theirs}
    _refuse_unknown(settings, _COLUMN_SETTINGS, path, f"the column of {ours}")
    for name in ("column", "separator", "date"):
        if name in settings:
            settings[name] = _words(settings[name], name, path)
    if not settings.get("column") and not settings.get("constant"):
        raise DataError(f"{ours} has neither a column nor a constant", path=path, remedy='write column = "its name"')
    return Column(**settings)


def _words(value: Any, name: str, path: Path) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else (None,)
    if not all(isinstance(word, str) for word in words):
        raise DataError(f"{name} is {value!r}", path=path, remedy="write a text or a list of texts")
    return words


def _refuse_unknown(settings: Mapping[str, Any], known: set[str], path: Path, what: str) -> None:
    if unknown := sorted(settings.keys() - known):
        remedy = f"choose among {', '.join(sorted(known))}"
        raise DataError(f"{what} has no setting '{unknown[0]}'", path=path, remedy=remedy)
