"""Column maps in TOML: which column of a table is which field of a record (docs/own-patents.md has all settings).

A map is read, or suggested for a table from the names and the values of its columns (:func:`suggest`). A name of
``headers.toml`` proposes a field, and the values decide: a count is never a text, a number or a family. A column with
an unknown name gets the only field that its values fit.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import itertools
import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any, get_type_hints

from patent_mteb.errors import DataError
from patent_mteb.files import text_lines
from patent_mteb.patents.numbers import OFFICES, read_number
from patent_mteb.patents.records import RELATIONS, Citation, Description, ExpertSummary, Label, MachineSummaries, Patent
from patent_mteb.readers.items import Skipped
from patent_mteb.readers.sheets import Sheet, open_sheet
from patent_mteb.readers.values import cleaned, needs_order, read_date, text_of, unpacked

_EMPTY = r"- -- --- – — ? NA N/A n/a N.A. n.a. k.A. #N/A nan NaN NaT <NA> null NULL (null) \N None none"
EMPTY = frozenset({"", "k. A.", *_EMPTY.split()})  # texts that mean an empty cell by default
EXCEL_ERRORS = frozenset({"#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!"})

PARTS = {"expert": ExpertSummary, "summaries": MachineSummaries, "description": Description}
LISTS = {name for name, type_ in get_type_hints(Patent).items() if type_ == tuple[str, ...]}
"""Fields of a record that are lists of texts."""
_NOT_A_COLUMN = {"labels", "languages", "translations", "source", "paragraphs", "expert", "summaries"}
_FIELDS = {one.name for one in dataclasses.fields(Patent)} - _NOT_A_COLUMN | {
    f"{name}.{one.name}" for name, part in PARTS.items() for one in dataclasses.fields(part)
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
        if ours in PARTS and isinstance(theirs, dict) and not theirs.keys() & _COLUMN_SETTINGS:
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


class Kind(enum.Enum):
    EMPTY = "no values"
    NUMBERS = "publication numbers"
    DATE = "dates"
    CLASSES = "classes"
    COUNT = "small whole numbers"
    YEARS = "years"
    OFFICES = "codes of offices"
    CLAIMS = "claims"
    TEXT = "texts"
    URL = "web addresses"
    NESTED = "lists or objects"
    WORDS = "words"


@dataclass(frozen=True)
class Typed:
    """The kind of the values of a column, what they are in words, and the separators of lists."""

    kind: Kind
    what: str
    separators: tuple[str, ...] = ()


_MOST = 0.8  # the share of the values that must be of a kind
_SEPARATORS = (";;", " | ", "|", ";", "；", "、", "\n")
_WIDE = (*_SEPARATORS, ", ", ",", " ")  # separators of lists whose members are known by their form
_LONG = 120
_START = 3000  # characters of a text that are typed
_NUMBER = re.compile(r"[A-Z]{2}[ -]?[\dA-Z]")
_CLASS = re.compile(r"[A-HY]\d\d[A-Z](?:[ -]*\d{1,4}(?:/\d{2,6})?)?\s*(?:\([^)]*\))?")
_CPC = re.compile(r"Y\d\d[A-Z]|[A-H]\d\d[A-Z] *2\d\d\d/")
_CLAIMS = re.compile(
    r"\W*(?:\([A-Z]{2}\d+\)\s*)?"
    r"(?:what is claimed|(?:we|i) claim|claims?\b.{0,20}1|1\s*[.)．、]\s|【請求項|청구항\s*1|权利要求\s*1|\[?1\]\s)",
    re.IGNORECASE,
)


def _is_number(text: str) -> bool:
    return bool(_NUMBER.match(text)) and read_number(text) is not None


def _is_date(value: Any) -> bool:
    if isinstance(value, dt.date):
        return True
    text = text_of(value)
    if re.fullmatch(r"\d+", text) and not re.fullmatch(r"(?:1[789]|20)\d\d[01]\d[0-3]\d", text):
        return False
    try:
        return needs_order(value) or read_date(value) is not None
    except ValueError:
        return False


def kind_of(values: Sequence[Any]) -> Typed:
    """Return the kind of the values of a column; ``values`` are those that are not empty."""
    lengths = [len(text_of(value)) for value in values]
    texts = [text for value in values if (text := cleaned(text_of(value)[:_START])[0])]
    if not texts:
        return Typed(Kind.EMPTY, "no values")
    different = len(set(texts))
    each = "each different" if different == len(texts) else f"{different} different"
    if _most(values, _is_date):
        return Typed(Kind.DATE, "dates")
    if _most(texts, lambda text: bool(re.fullmatch(r"1[89]\d\d|20\d\d", text))):
        return Typed(Kind.YEARS, f"years, {each}")
    if _most(texts, lambda text: text in OFFICES):
        return Typed(Kind.OFFICES, f"codes of offices, {each}")
    if _most(texts, lambda text: bool(re.fullmatch(r"\d{1,4}", text))):
        return Typed(Kind.COUNT, f"small whole numbers, {each}")
    if _most(texts, lambda text: text.startswith(("http://", "https://", "www."))):
        return Typed(Kind.URL, "web addresses")
    if any(not isinstance(unpacked(value), str | int | float) for value in values):
        return Typed(Kind.NESTED, "nested values")
    for is_one, kind, what in (
        (_is_number, Kind.NUMBERS, "publication numbers"),
        (lambda text: bool(_CLASS.fullmatch(text)), Kind.CLASSES, "IPC or CPC codes"),
    ):
        if (found := _separators(texts, is_one)) is not None:
            if kind is Kind.CLASSES and any(map(_CPC.search, texts)):
                what = "CPC codes"
            return Typed(kind, f"lists of {what}" if found else f"{what}, {each}", found)
    if _most(texts, lambda text: bool(_CLAIMS.match(text))) and sum(lengths) > _LONG / 4 * len(texts):
        return Typed(Kind.CLAIMS, "texts that begin like claims")
    counts = {mark: sum(mark in text for text in texts) for mark in _SEPARATORS}
    best = max(counts, key=lambda mark: counts[mark])
    separators = (best,) if counts[best] else ()
    if (length := sum(lengths) // len(texts)) > _LONG:
        return Typed(Kind.TEXT, f"texts of {length} characters", separators)
    return Typed(Kind.WORDS, f"words, {each}", separators)


def _most(values: Sequence[Any], is_one: Callable[[Any], bool]) -> bool:
    return sum(map(is_one, values)) >= _MOST * len(values)


def _separators(texts: Sequence[str], is_one: Callable[[str], bool]) -> tuple[str, ...] | None:
    """Return the separators that split most texts into what ``is_one`` accepts, empty if none is needed, or None."""
    there = [mark for mark in _WIDE if any(mark in text for text in texts)]
    several = tuple(mark for mark in there if mark in _SEPARATORS)
    best, most = None, 0.0
    for marks in ((), *((mark,) for mark in there), *([several] if len(several) > 1 else [])):
        split = re.compile("|".join(map(re.escape, marks))).split if marks else lambda text: [text]
        members = [member.strip() for text in texts for member in split(text) if member.strip()]
        share = sum(map(is_one, members)) / len(members)
        if share > most:
            best, most = marks, share
    return best if most >= _MOST else None


_HEADERS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("headers.toml").read_text(encoding="utf-8"))
_COUNTRY = set(_HEADERS.pop("country"))
_NEVER = {ours: {Kind(kind) for kind in kinds} for ours, kinds in _HEADERS.pop("unfit").items()}
_KNOWN = {name for fields in _HEADERS.values() for names in fields.values() for name in names}
_TITLES = {"fields": "[fields]", "relations": "[relations]", "labels": "[[labels]]"}  # others are [[citations]]
_SEPARATED = LISTS | {"publication_number", "cited", "category", "member", "priority", "coarse", "fine"}
"""Fields whose column may hold several values."""
_SAMPLE = 200
_CJK = r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"

_CONTINUED = {"abstract", "claims", "description"}
_IDS = re.compile(r"\b(?:id|number|no|nr|nummer|fan)\b|id$|号$")
_IN_BRACKETS = re.compile(r"\s*[(\[（](?![^)]*\b(?:forward|citing|by|npl|non)\b).*?[)\]）]\s*$", re.IGNORECASE)
"""A remark on a column, such as its form (YYYY-MM-DD); not the direction of citations."""
_REPEATED = re.compile(r" \(column \d+\)$")
_quoted = partial(json.dumps, ensure_ascii=False)


def _plain(column: str) -> str:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", unicodedata.normalize("NFKC", column))  # publicationNumber
    words = " ".join(re.findall(r"[^\W_]+", apart.casefold()))
    return re.sub(rf"(?<={_CJK}) | (?={_CJK})", "", words)


@dataclass
class _Guess:
    """Section -> our field -> column; what the values of each column are; why a column is taken or is not."""

    typed: Mapping[str, Typed]
    office: str = ""
    found: dict[str, dict[str, str]] = field(default_factory=dict)
    by_values: dict[str, str] = field(default_factory=dict)
    continued: dict[str, list[str]] = field(default_factory=dict)
    unused: dict[str, str] = field(default_factory=dict)

    def kind(self, column: str) -> Kind | None:
        return self.typed[column].kind if column in self.typed else None

    def used(self) -> set[str]:
        first = {self.office, *(name for fields in self.found.values() for name in fields.values())}
        return first | {name for names in self.continued.values() for name in names}


@dataclass(frozen=True)
class Suggestion:
    """A column map in TOML, and why columns were taken by their values or not used."""

    toml: str
    by_values: Mapping[str, str]
    unused: Mapping[str, str]


def suggest(path: Path, *, unfinished: bool = False) -> Suggestion:
    """Return a column map for a table, with unknown columns in comments, and the notes on each guess."""
    sheet = open_sheet(path, lambda column: _plain(column) in _KNOWN)
    guess = _guess(sheet.columns, types_of(sheet))
    found = guess.found
    numberless = "publication_number" not in found.get("fields", {})
    if numberless and {"citing", "cited"} <= found.get("citations", {}).keys():
        found = {"citations": found["citations"]}
    elif len(named := [name for name in sheet.columns if read_number(name)]) > 1 and not unfinished:
        problem = f"the columns are named after patents ({', '.join(named[:2])}): rows and columns are swapped"
        remedy = "swap them, so that each patent is a row (Excel: copy, then paste special, transpose)"
        raise DataError(problem, path=path, remedy=remedy)
    elif numberless and not unfinished:
        names = shorten(", ".join(sheet.columns), 200)
        problem = f"no column looks like a publication number (columns: {names})"
        remedy = f"patent-mteb data import --suggest {path.name} > map.toml writes a map to be finished by hand"
        raise DataError(problem, path=path, remedy=f"{remedy}; name it with --map")
    elif numberless:
        found = {**found, "fields": {"publication_number": "", **found.get("fields", {})}}
    lines = [f"name = {_quoted(path.name.partition('.')[0])}"]
    for section, fields in found.items():
        lines += ["", _TITLES.get(section, "[[citations]]")]
        if section == "labels":
            lines.append('landscape = { constant = "Topics" }')
        for ours, theirs in fields.items():
            why = f"  # by its values: {guess.by_values[theirs]}" if theirs in guess.by_values else ""
            written = f"{ours} = {_written(section, ours, theirs, guess)}{why}"
            lines.append(written if theirs else f'# {ours} = "name its column"')
    placed = guess.used() if found is guess.found else {name for fields in found.values() for name in fields.values()}
    if rest := [name for name in sheet.columns if name not in placed]:
        lines += ["", f"# not read: {', '.join(_quoted(name) for name in rest)}"]
        lines += [f"# {_quoted(name)}: {guess.unused[name]}" for name in rest if name in guess.unused]
    return Suggestion("\n".join(lines) + "\n", guess.by_values, guess.unused)


def types_of(sheet: Sheet) -> dict[str, Typed]:
    """Return the types of the columns of a table, by its first rows."""
    sample = [row for _, row in itertools.islice(sheet.rows, _SAMPLE) if not isinstance(row, Skipped)]
    empty = EMPTY | EXCEL_ERRORS
    return {
        name: kind_of([row[name] for row in sample if text_of(row.get(name)) not in empty]) for name in sheet.columns
    }


def _guess(columns: Sequence[str], typed: Mapping[str, Typed]) -> _Guess:
    guess = _Guess(typed)
    by_name: dict[str, str] = {}
    short: dict[str, str] = {}
    for column in sorted(columns, key=lambda name: typed[name].kind is Kind.EMPTY):
        by_name.setdefault(_plain(_REPEATED.sub("", column)), column)
        short.setdefault(_plain(_IN_BRACKETS.sub("", column)), column)
    for section, fields in _HEADERS.items():
        hits = {}
        for ours, names in fields.items():
            for column in (found[name] for found in (by_name, short) for name in names if name in found):
                why = _unfit(section, ours, column, guess)
                if not why and column not in guess.used():
                    hits[ours] = column
                    break
                if why:
                    guess.unused[column] = why
        if hits:
            guess.found[section] = hits
    for ours in sorted(_CONTINUED & guess.found.get("fields", {}).keys()):
        column = guess.found["fields"][ours]
        follow = re.compile(
            rf"{re.escape(_plain(column))} ?(?:cont|continued|continuation|part \d+|\d+|fortsetzung|suite|续)"
        )
        if rest := [name for name in columns if follow.fullmatch(_plain(name)) and name not in guess.used()]:
            guess.continued[column] = rest
    _by_values(columns, guess)
    offices = [name for name in columns if guess.kind(name) is Kind.OFFICES and _plain(name) in _COUNTRY]
    number = guess.found.get("fields", {}).get("publication_number", "")
    if len(offices) == 1 and guess.kind(number) in (Kind.WORDS, Kind.COUNT, Kind.YEARS):
        guess.office = offices[0]
    return _consistent(guess)


def _unfit(section: str, ours: str, column: str, guess: _Guess) -> str:
    """Why the values of a column cannot be the field that its name says; empty if they can."""
    kind, what = guess.typed[column].kind, guess.typed[column].what
    if ours == "family_id" and kind is Kind.NUMBERS and guess.typed[column].separators:
        guess.found.setdefault("relations", {}).setdefault("member", column)
        return f"{what}: read as the members of the family"
    if ours == "family_id" and kind is Kind.COUNT and not _IDS.search(_plain(column)):
        return f"{what}, looks like the size of the family: not used"
    if section == "citations" and kind is Kind.COUNT and "publication_number" not in guess.found.get("fields", {}):
        return ""  # the ids of a table of pairs
    return f"{what}, not {ours}: not used" if kind in _NEVER.get(ours, ()) else ""


def _by_values(columns: Sequence[str], guess: _Guess) -> None:
    """Assign columns of unknown names to the fields that only they fit."""
    fields = guess.found.get("fields", {})
    free = [name for name in columns if name not in guess.used()]
    what = {name: one.what for name, one in guess.typed.items()}
    for ours, kind in (
        ("publication_number", Kind.NUMBERS),
        ("claims", Kind.CLAIMS),
        ("ipc", Kind.CLASSES),
        ("abstract", Kind.TEXT),
    ):
        fit = [name for name in free if guess.kind(name) is kind and name not in guess.unused]
        if ours == "publication_number":
            fit = [name for name in fit if not guess.typed[name].separators and "each different" in what[name]]
            if guess.kind(fields.get(ours, "")) is Kind.COUNT and len(fit) == 1:  # a running number
                guess.unused[fields.pop(ours)] = "a running number: not used"
        if ours == "ipc" and len(fit) == 1 and "IPC" not in what[fit[0]]:
            ours = "cpc"
        if ours in fields or len(fit) != 1 or (ours == "abstract" and "description" in fields):
            continue
        fields[ours] = fit[0]
        guess.by_values[fit[0]] = what[fit[0]]
    if fields:
        guess.found = {"fields": fields, **guess.found}
    for name in free:
        if name not in guess.used() and guess.kind(name) in (Kind.NUMBERS, Kind.DATE, Kind.YEARS, Kind.CLASSES):
            guess.unused.setdefault(name, f"{what[name]}; the name does not say of what: not used")


def _consistent(guess: _Guess) -> _Guess:
    """Drop sections that lack what they need: labels need coarse ones; citations need cited numbers."""
    found = guess.found
    fields = found.get("fields", {})
    for section, needed in (("citations", {"cited"}), ("labels", {"coarse"}), ("relations", {"member", "priority"})):
        if section in found and not needed & found[section].keys():
            del found[section]
    if "description" in fields:
        found["fields"] = {ours: theirs for ours, theirs in fields.items() if not ours.startswith("description.")}
    if "publication_number" not in fields:
        found.pop("forward", None)
    guess.found = {section: found[section] for section in _HEADERS if section in found}
    return guess


def _written(section: str, ours: str, theirs: str, guess: _Guess) -> str:
    name = _quoted(theirs)
    if theirs in guess.continued:
        return f'{{ column = {_quoted([theirs, *guess.continued[theirs]])}, join = " " }}'
    if ours == "publication_number" and guess.office:
        return f'{{ column = [{_quoted(guess.office)}, {name}], join = " " }}'
    separators = guess.typed[theirs].separators if theirs in guess.typed else ()
    if separators and (ours in _SEPARATED or section == "forward"):
        written = _quoted(separators if len(separators) > 1 else separators[0])
        return f"{{ column = {name}, separator = {written} }}"
    return name
