"""Column maps: which column of a table is which field of a record, as TOML.

    name = "acme"                                  # what its records say they come from
    what = "the list of our patent department"     # optional
    recognised_by = ["Acme No.", "Prio"]           # optional: columns that no other table has

    [fields]                                       # ours = theirs publication_number = "Acme No." title = ["Title
    (English)", "Title"]           # the first that is not empty description = "Text"                           # one
    text: split by its headings; description.summary and the like: as they are claims = "Claims"
    # one text: split; a list of claims: as it is ipc = {column = "IPC", separator = ";;"} publication_date = {column =
    "Pub", date = "%m/%d/%Y"} abstract = {column = "Abstract", language = "en"} expert.novelty = "Novelty"

    [citations]                                    # citing (this publication, if it is not named), cited, category,
    origin, phase, ... cited = {column = "Cited", separator = "|", office = "US"}

    [relations]                                    # member, pre-grant, priority, continuation, ... (records.RELATIONS)
    member = "Family"

    [[labels]]                                     # a landscape of your own; as often as there are label columns
    landscape = {constant = "Topics"}
    coarse = "Topic"

What a column may be told: ``column`` (a name, or several of which the first that is not empty is taken; a name with
dots leads into nested values), ``join`` (put between the values of several columns), ``separator`` (one or several;
without it lists are split at ``|``, ``;`` and line ends), ``date`` (forms of strptime; without it ISO 8601, 20190102,
2019-01 and 02.01.2019), ``constant``, ``language`` (code of the text), ``language_column`` (the column that says it),
``values`` (their value = ours; any other is empty), ``office`` (of numbers that name none), ``optional`` (the column
may be missing). Of the whole map: ``preamble`` (lines above the header; without it the header is looked for),
``delimiter``, ``sheet``, ``empty`` (texts that stand for nothing), ``optional`` (for all columns).
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from patent_mteb.errors import DataError
from patent_mteb.files import text_lines
from patent_mteb.patents.records import RELATIONS, Citation, Description, ExpertSummary, Label, MachineSummaries, Patent

EMPTY = frozenset({"", "-", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "null", "NULL", "None"})
"""Texts that stand for nothing, unless a map says others."""

_PARTS = {"description": Description, "expert": ExpertSummary, "summaries": MachineSummaries}
_WHOLE = {"description"}
"""Records within a patent that may be given as one text, too."""
_NOT_A_COLUMN = {"labels", "languages", "translations", "source", "paragraphs", *_PARTS} - _WHOLE
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
    """Where the values of one of our fields stand; see the module for the meaning of each."""

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


@dataclass(frozen=True)
class ColumnMap:
    """A column map; ``text`` is what it was read from."""

    name: str
    what: str = ""
    fields: Mapping[str, Column] = field(default_factory=dict)
    citations: Mapping[str, Column] = field(default_factory=dict)
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
        """The columns of fields, citations, relations, and of each kind of label."""
        return (self.fields, self.citations, self.relations, *self.labels)

    def names(self) -> dict[str, bool]:
        """The names of the table's columns -> whether the table must have it. Of several for one field any will do."""
        names: dict[str, bool] = {}
        for column in (column for section in self.sections() for column in section.values()):
            needed = not (self.optional or column.optional or (len(column.column) > 1 and column.join is None))
            for name in (*column.column, *filter(None, [column.language_column])):
                names[name] = names.get(name, False) or needed
        return names


def read_map(path: Path) -> ColumnMap:
    """Read a column map."""
    return parse_map("\n".join(line for _, line in text_lines(path)), path)


def parse_map(text: str, path: Path) -> ColumnMap:
    """A column map from its text; ``path`` is what errors name."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(
            f"not a column map in TOML ({error})", path=path, remedy="mend the file, see patent_mteb.readers.columns"
        ) from error
    sections: dict[str, Any] = {
        name: {ours: _column(name, ours, theirs, path) for ours, theirs in _flat(document.pop(name, {}), path)}
        for name in ("fields", "citations", "relations")
    }
    labels = document.pop("labels", [])
    sections["labels"] = tuple(
        {ours: _column("labels", ours, theirs, path) for ours, theirs in row.items()}
        for row in ([labels] if isinstance(labels, dict) else labels)
    )
    for name in ("recognised_by", "empty"):
        if name in document:
            document[name] = _words(document[name], name, path)
    _refuse_strangers(document, _OF_THE_MAP, path, "a map")
    if "empty" in document:
        document["empty"] = frozenset(document["empty"]) | {""}
    made = ColumnMap(**({"name": path.stem} | document | sections), text=text)
    if (
        "publication_number" not in made.fields
        and not {"citing", "cited"} <= made.citations.keys()
        and "number" not in made.relations
    ):
        remedy = "name the column of publication_number under [fields], or those of citing and cited under [citations]"
        raise DataError("the map names no column of a number", path=path, remedy=remedy)
    return made


_OF_THE_MAP = {"name", "what", "recognised_by", "preamble", "delimiter", "sheet", "empty", "optional"}
_OF_A_COLUMN = {one.name for one in dataclasses.fields(Column)}


def _flat(section: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """``expert.novelty = ...`` comes as a table in a table."""
    if not isinstance(section, dict):
        raise DataError(
            "fields, citations and relations are tables", path=path, remedy="write [fields] and the lines below it"
        )
    for ours, theirs in section.items():
        if ours in _PARTS and isinstance(theirs, dict) and not theirs.keys() & _OF_A_COLUMN:
            yield from ((f"{ours}.{part}", value) for part, value in theirs.items())
        else:
            yield ours, theirs


def _column(section: str, ours: str, theirs: Any, path: Path) -> Column:
    if ours not in _SECTIONS[section]:
        raise DataError(
            f"[{section}] has no field '{ours}'", path=path, remedy=f"choose of {', '.join(sorted(_SECTIONS[section]))}"
        )
    told = dict(theirs) if isinstance(theirs, dict) else {"column": theirs}
    _refuse_strangers(told, _OF_A_COLUMN, path, f"the column of {ours}")
    for name in ("column", "separator", "date"):
        if name in told:
            told[name] = _words(told[name], name, path)
    if not told.get("column") and not told.get("constant"):
        raise DataError(f"{ours} has neither a column nor a constant", path=path, remedy='write column = "its name"')
    return Column(**told)


def _words(value: Any, name: str, path: Path) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else (None,)
    if not all(isinstance(word, str) for word in words):
        raise DataError(f"{name} is {value!r}", path=path, remedy="write a text or a list of texts")
    return words


def _refuse_strangers(told: Mapping[str, Any], known: set[str], path: Path, what: str) -> None:
    if strangers := sorted(told.keys() - known):
        raise DataError(
            f"{what} has no setting '{strangers[0]}'", path=path, remedy=f"choose of {', '.join(sorted(known))}"
        )
