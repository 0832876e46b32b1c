"""Read the tables of any export with a column map (:mod:`patent_mteb.readers.columns`).

The folder ``maps/`` has the maps of this package.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import Any, get_type_hints

from patent_mteb.errors import DataError
from patent_mteb.patents.categories import phase_and_origin
from patent_mteb.patents.claims import split_claims
from patent_mteb.patents.ipc import read_codes
from patent_mteb.patents.numbers import Number, read_application, read_number
from patent_mteb.patents.records import (
    RELATED_PUBLICATIONS,
    RELATIONS,
    Citation,
    Claim,
    Description,
    Label,
    Patent,
    Relation,
    TextLanguages,
    Translation,
    record_reader,
    row_of,
)
from patent_mteb.patents.text import split_description
from patent_mteb.readers.columns import (
    EXCEL_ERRORS,
    LISTS,
    PARTS,
    Column,
    ColumnMap,
    Kind,
    Suggestion,
    is_known,
    kind_of,
    parse_map,
    read_map,
    suggest,
    types_of,
)
from patent_mteb.readers.items import Item, Note, Reader, Skipped
from patent_mteb.readers.joining import ADDED, CONFLICTS, joined
from patent_mteb.readers.objects import Wanted, as_text, holds_objects, member_text, texts_in
from patent_mteb.readers.publication import ClaimText, read_claim_texts
from patent_mteb.readers.sheets import Sheet, open_sheet
from patent_mteb.readers.values import (
    claim_numbers,
    cleaned,
    cut,
    dates_within,
    day_order,
    flat,
    has_day,
    has_digit,
    has_short_year,
    is_serial,
    language,
    listed,
    names_of,
    needs_order,
    numbers_in,
    read_date,
    text_of,
    unbroken,
    unpacked,
)

_TYPES = get_type_hints(Patent)
_READ_APART = {"publication_number", "family_id", "application_number", "title", "abstract", "source"}
_STRINGS = {name for name, type_ in _TYPES.items() if type_ is str} - _READ_APART
_DATES = [name for name, type_ in _TYPES.items() if type_ == dt.date | None]
_WITH_DATES = {*_DATES, "date"}
_CLASSES = {"ipc", "cpc"}
_NAMES = {"inventors", "applicants"}
_TEXTS = ("title", "abstract", "claims", "description")
_UNREADABLE = "a number cannot be read: stored as written (a map can set the office of numbers without one)"
_LENS_ID = re.compile(r"\d{3}(?:-\d{3}){3}-\d{2}[\dX]")
_LENS_IDS = "an id of Lens instead of a number: it names the family only"
_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?E\+\d+", re.IGNORECASE)
_DESTROYED = "Excel has turned a number into scientific notation, its last digits are lost: export it again as text"
_CELL_LIMIT = 32_767  # Excel's, by its specifications
_CUT = f"a cell has {_CELL_LIMIT:,} characters, the limit of Excel: its text is cut"
_COUNT = re.compile(r"\d{1,4}(?:\.0)?")
_TOTALS = {"total", "totals", "grand total", "sum", "summe", "gesamt", "somme", "合计", "总计", "合計", "総計", "합계"}
_SAMPLE = 1000  # rows that show whether publication numbers have digits
_AS_RECORD = record_reader(Patent)
_SHOWN_BY_A_VALUE = {Kind.NUMBERS, Kind.DATE, Kind.CLASSES, Kind.COUNT, Kind.YEARS, Kind.OFFICES, Kind.URL}
SHIFTED = "the row has fewer cells than the header, and its values are not in their columns"
_Read = Callable[..., Number | None]
_SENTENCE = 3  # words of a line that is a text, not a number


class _TableReader:
    def __init__(self, path: Path, columns: ColumnMap, sheets: Collection[str] = ()) -> None:
        self._path, self._columns, self._sheets = path, columns, sheets
        self._sheet = _sheet(path, columns, sheets)
        self._places, self._about_columns = _places(columns, self._sheet.columns, path)
        self._order = cache(self._day_order)
        self._number_columns = _number_columns(columns)
        self._class_columns = {name: _class_column(columns.fields[name]) for name in _CLASSES & columns.fields.keys()}
        self._place = ""
        self._notes: list[Note] = []
        self._more: dict[str, dict[str, tuple[Any, ...]]] = {}
        self._titles: dict[str, int] = {}

    def read(self) -> Iterator[Item]:
        yield from (*self._sheet.notes, *self._about_columns)
        if "publication_number" in self._columns.fields and (self._columns.labels or self._repeats()):
            self._read_lists()
        for place, row in self._sheet.rows:
            if isinstance(row, Skipped):
                yield row
            else:
                yield from self._items(place, row)

    @property
    def others(self) -> tuple[str, ...]:
        """The sheets that have other columns."""
        return () if self._columns.sheet else self._sheet.others

    def _rows(self) -> Iterator[dict[str, Any]]:
        return (row for _, row in _sheet(self._path, self._columns, self._sheets).rows if not isinstance(row, Skipped))

    def _day_order(self, *columns: Column) -> str:
        names = [self._places[name][0] for one in columns for name in one.column if name in self._places]
        return day_order(row.get(name) for row in self._rows() for name in names)

    @cached_property
    def _table_order(self) -> str:
        """The order of the dates of all columns, as one tool writes them."""
        dates = [one for part in self._columns.sections() for ours, one in part.items() if ours in _WITH_DATES]
        return self._day_order(*(one for one in dates if not one.date))

    @cached_property
    def _has_numbers(self) -> bool:
        """Whether most publication numbers of the table have a digit."""
        column = self._columns.fields["publication_number"].column
        names = [self._places[name][0] for name in column if name in self._places]
        found = [any(has_digit(text_of(row.get(name))) for name in names) for row in islice(self._rows(), _SAMPLE)]
        return 2 * sum(found) > len(found)

    def _read_lists(self) -> None:
        """Collect labels and lists of publications with several rows, such as one row for each topic or class."""
        found: dict[str, list[dict[str, tuple[Any, ...]]]] = {}
        for row in self._rows():
            found.setdefault(next(iter(self._publications(row)), ""), []).append(self._lists(row))
        self._more = {
            publication: {
                name: tuple(dict.fromkeys(one for lists in several for one in lists[name])) for name in several[0]
            }
            for publication, several in found.items()
            if len(several) > 1
        }

    def _repeats(self) -> bool:
        """Whether the first rows have a publication more than once."""
        numbers = [next(iter(self._publications(row)), "") for row in islice(self._rows(), _SAMPLE)]
        return len(set(numbers)) < len(numbers)

    def _lists(self, row: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        columns = self._columns.fields
        lists: dict[str, tuple[Any, ...]] = {
            name: tuple(dict.fromkeys(filter(None, self._list(row, columns[name]))))
            for name in (LISTS - _CLASSES - _NAMES) & columns.keys()
        }
        lists |= {name: names_of(self._list(row, columns[name], "name")) for name in _NAMES & columns.keys()}
        lists |= {name: read_codes(self._list(row, one, "code")) for name, one in self._class_columns.items()}
        return {**lists, "labels": tuple(self._labels(row))}

    def _items(self, place: str, row: Mapping[str, Any]) -> Iterator[Item]:
        """Yield the records and notes of a row, or the reason to skip it."""
        self._notes, self._place = [], place
        numbers = self._publications(row)
        publication = next(iter(numbers), "")
        if "publication_number" in self._columns.fields:
            if not publication:
                yield Skipped("", place, "no publication number")
                return
            if reason := self._not_a_record(publication, row):
                yield Skipped(shorten(publication, 60), place, reason)
                return
            if publication.startswith("WO") and publication.endswith("W"):
                self._note("an application, not a publication", publication)
            if len(row) < self._sheet.width:
                if self._is_shifted(row):
                    yield Skipped(publication, place, SHIFTED)
                    return
                self._note("the row has fewer cells than the header", publication)
            title = self._text(row, self._columns.fields.get("title"))
            if publication in self._titles:
                adds = self._more.get(publication, {}) != self._lists(row)
                what = "labels, citations" if self._columns.labels else "lists, citations" if adds else "citations"
                other = " with another title" if title and hash(title) != self._titles[publication] else ""
                example = f"{publication} '{shorten(title, 60)}'" if other else publication
                self._note(f"the publication is in an earlier row{other}: only {what} and relations are read", example)
            else:
                self._titles[publication] = hash(title)
                yield self._patent(publication, row)
            for other, where in numbers.items():
                if other != publication:
                    self._note(f"a further publication number in the {where}: read as a member of the family", other)
                    yield Relation(publication, other, "member")
        for section in self._columns.citations:
            yield from self._citations(section, publication, row)
        yield from self._relations(publication, row)
        yield from dict.fromkeys(self._notes)

    def _not_a_record(self, publication: str, row: Mapping[str, Any]) -> str:
        """Why a row without a readable number is not a record; empty if it is one."""
        if _TOTALS & {publication.rstrip(":.").casefold(), *publication.rstrip(":.").casefold().split()}:
            return "a row of totals"
        alone = len(self._places) > 1 and sum(bool(text_of(value)) for value in row.values()) == 1
        if alone and len(publication.split()) >= _SENTENCE:
            return "a line of text, not a record"
        if not has_digit(publication) and self._has_numbers:
            return "a publication number without a digit, not a record"
        return ""

    def _is_shifted(self, row: Mapping[str, Any]) -> bool:
        """Whether at least two cells of a row are of another kind than those of the complete rows.

        A cell is missing before them. In a row that lost its last cells, the others are in their columns.
        """
        unfit = (kind for name, kind in self._kinds.items() if row.get(name) and kind_of([row[name]]).kind is not kind)
        return len(list(islice(unfit, 2))) == 2

    @cached_property
    def _kinds(self) -> dict[str, Kind]:
        """Column -> the kind of its values, of those whose kind each value shows."""
        rows = list(islice((row for row in self._rows() if len(row) == self._sheet.width), _SAMPLE))
        filled = {name: [row[name] for row in rows if text_of(row[name])] for name in self._sheet.columns}
        kinds = {name: kind_of(values).kind for name, values in filled.items() if values}
        return {name: kind for name, kind in kinds.items() if kind in _SHOWN_BY_A_VALUE}

    def _note(self, what: str, example: str = "") -> None:
        example = cut(example)
        self._notes.append(Note(what, f"{self._place}: {example}" if example else self._place))

    def _cells(self, row: Mapping[str, Any], column: Column | None) -> list[Any]:
        """The values of the first non-empty column, with None for empty ones, or the one text of joined columns."""
        if column is None:
            return []
        if not column.column:
            return [column.constant]
        found = [self._values(row, name) for name in column.column]
        if column.join is not None:
            texts = [text_of(value) for values in found for value in values if value is not None]
            return [column.join.join(texts)] if texts else []
        return next((values for values in found if any(value is not None for value in values)), [])

    def _values(self, row: Mapping[str, Any], name: str) -> list[Any]:
        if name not in self._places:
            return []
        place, rest = self._places[name]
        value = row.get(place)
        return [self._value(one, name) for one in (flat(value, rest) if rest else [value])]

    def _value(self, value: Any, name: str) -> Any:
        """Return a cell without markup, None if it is empty."""
        if value is None or isinstance(value, list | dict):
            return value
        if holds_objects(objects := unpacked(value)):
            return objects
        text = text_of(value)
        if text in EXCEL_ERRORS:
            self._note("an error of Excel in a cell: read as empty", f"'{name}': {text}")
            return None
        if text in self._columns.empty:
            if text:
                self._note("words for an empty cell", f"'{name}': {text}")
            return None
        if not isinstance(value, str):
            return value
        if len(value) == _CELL_LIMIT:
            self._note(_CUT, f"'{name}'")
        text, what = cleaned(value)
        for one in what:
            self._note(one, f"'{name}'")
        return text or None

    def _text(self, row: Mapping[str, Any], column: Column | None) -> str:
        text = "\n".join(self._plain(value) for value in self._cells(row, column) if value is not None)
        return (column.values.get(text, "") if column and column.values is not None else text).strip()

    def _plain(self, value: Any) -> str:
        """The text of a cell; of an object the member that is a text."""
        text = as_text(value)
        if not text and value and holds_objects(value):
            self._unread("text", ", ".join(value) if isinstance(value, Mapping) else "")
        return text

    def _unread(self, wanted: str, keys: str) -> None:
        what = {"name": "a name", "code": "a class code", "number": "a number", "cited": "a number"}
        self._note(f"objects without {what.get(wanted, 'a text')} are left empty", keys)

    def _list(self, row: Mapping[str, Any], column: Column | None, wanted: Wanted = "word") -> list[str]:
        """The texts of a list. Empty texts of nested values stay, so that parallel lists stay aligned."""
        if column is None:
            return []
        cells = self._cells(row, column)
        empty = [""] if len(cells) > 1 else []
        unread: list[str] = []
        texts = [text for value in cells for text in texts_in(value, wanted, unread, column.separator) or empty]
        for keys in unread:
            self._unread(wanted, keys)
        return [column.values.get(text, "") if column.values is not None else text for text in texts]

    def _publications(self, row: Mapping[str, Any]) -> dict[str, str]:
        """The numbers of a row, the first of its first filled column first, each in that ``cell`` or in the ``row``."""
        columns, kind = self._number_columns, self._text(row, self._columns.fields.get("kind"))
        if len(columns) > 1:
            columns = [one for one in columns if self._text(row, one)]
            # The kind code of a granted patent is not that of its publication, which may come first.
            if len(columns) > 1 and not kind.startswith("A") and not self._is_written_whole(row, columns, kind):
                kind = ""
        numbers: dict[str, str] = {}
        for one in columns:
            where, of_first = ("row", "") if numbers else ("cell", kind)
            for number, _ in self._numbers_of(row, self._with_office(row, one), read_number, of_first):
                if number:
                    numbers.setdefault(number, where)
        return numbers

    def _is_written_whole(self, row: Mapping[str, Any], columns: Sequence[Column], kind: str) -> bool:
        """Whether a later column has the number of the first one with the kind code."""
        first, *later = ([number for number, _ in self._numbers_of(row, one)] for one in columns)
        return any(f"{number}{kind}" in others for number in first for others in later)

    def _offices_of_applications(self, rows: Iterable[Mapping[str, Any]]) -> set[str]:
        column = self._columns.fields["application_number"]
        texts = (text for row in rows for text in self._list(row, column))
        return {number.office for text in texts if (number := read_application(text, column.office))}

    @cached_property
    def _all_offices(self) -> set[str]:
        """The offices of the application numbers of the first rows."""
        return self._offices_of_applications(islice(self._rows(), _SAMPLE))

    def _with_office(self, row: Mapping[str, Any], column: Column) -> Column:
        """The column with the office of the row's application, where its number has no office."""
        cells = (text_of(row.get(self._places[name][0])) for name in column.column if name in self._places)
        if column.office or column.office_column or not any(cell[:1].isdigit() for cell in cells):
            return column
        text = self._text(row, column)
        if "application_number" not in self._columns.fields or not text[:1].isdigit() or read_number(text):
            return column
        offices = self._offices_of_applications([row]) or self._all_offices
        if len(offices) != 1 or "WO" in offices:
            return column
        (office,) = offices
        self._note("the office of a number is that of its application", f"{office} {text}")
        return replace(column, office=office)

    def _numbers_of(
        self,
        row: Mapping[str, Any],
        column: Column,
        read: _Read = read_number,
        kind: str = "",
        note: str = "a remark after a number is removed",
        wanted: Wanted = "number",
    ) -> Iterator[tuple[str, str]]:
        """Yield the normal form of each number of a cell and the category with it. Empty texts stay.

        A number without a kind code has that of another column, which has one for each number or one for the first.
        """
        texts = unbroken([text for text in self._list(row, column, wanted) if not text or any(map(str.isalnum, text))])
        kinds = listed(kind, column.separator)
        kinds = kinds if len(kinds) == len(texts) else kinds if len(kinds) == 1 else []
        offices = [column.office] * len(texts)
        if column.office_column:
            named = [
                one for value in self._values(row, column.office_column) for one in listed(value, column.separator)
            ]
            offices = named if len(named) == len(texts) else named * len(texts) if len(named) == 1 else offices
        for place, (text, office) in enumerate(zip(texts, offices, strict=True)):
            own_kind = kinds[place] if place < len(kinds) else ""
            reading = partial(read, office=office, kind=own_kind) if office or own_kind else read
            for written, number, category, has_more in numbers_in(text, reading):
                if number is None and _LENS_ID.fullmatch(written):
                    self._note(_LENS_IDS, written)
                elif number is None and written:
                    self._note(_DESTROYED if _SCIENTIFIC.fullmatch(written) else _UNREADABLE, written)
                if has_more:
                    self._note(note, written)
                normal = number and (number.key if read is read_application else number.docdb)
                yield normal or written, category

    def _date(self, row: Mapping[str, Any], ours: str, column: Column | None) -> dt.date | None:
        cells = [value for value in self._cells(row, column) if value is not None]
        if not cells or column is None:
            return None
        value = self._plain(cells[0]) if holds_objects(cells[0]) else cells[0]
        if isinstance(value, str) and not column.date:
            values = listed(value, column.separator)
            value = next(iter(values), "")
            if len(values) > 1 and ours == "priority_date":
                if not column.separator:
                    self._note(f"{ours} has several dates: the earliest is read", cells[0])
                dates = [date for one in values if (date := self._one_date(ours, column, one))]
                return min(dates, default=None)
            if len(values) > 1 and not column.separator:
                self._note(f"{ours} has several dates: the first is read", value)
        return self._one_date(ours, column, value)

    def _one_date(self, ours: str, column: Column, value: Any) -> dt.date | None:
        order = "" if column.date or not needs_order(value) else self._order(column) or self._table_order
        try:
            date = read_date(value, column.date, order)
        except ValueError as error:
            within = dates_within(value) if isinstance(value, str) and not column.date else []
            date = None
            with suppress(ValueError):
                several = [read_date(one) for one in within] if len(within) == 1 or ours == "priority_date" else []
                date = min((one for one in several if one), default=None)
            if date is None:
                why = str(error) if "'" in str(error) else f"'{text_of(value)}' is not a date"
                self._note(f"{ours} cannot be read: left empty", why)
                return None
            self._note(f"{ours} is a date within a text", value)
        if date is None or column.date:
            return date
        if is_serial(value):
            date += dt.timedelta(self._sheet.days)
            self._note(f"{ours} is a serial number of Excel", f"{text_of(value)} = {date}")
        if not has_day(value, order):
            self._note(f"{ours} has no day: the first of its month or year is taken", text_of(value))
        if has_short_year(value, order):
            self._note(f"{ours} has a year of two digits", f"{value} = {date}")
        return date

    def _patent(self, publication: str, row: Mapping[str, Any]) -> Patent:
        columns = self._columns.fields
        values: dict[str, Any] = {name: self._text(row, columns[name]) for name in _STRINGS & columns.keys()}
        values |= {name: self._date(row, name, columns[name]) for name in _DATES if name in columns}
        values |= self._more.get(publication) or self._lists(row)
        for name, kind in PARTS.items():
            dotted = {ours.partition(".")[2]: column for ours, column in columns.items() if ours.startswith(f"{name}.")}
            parts = {part: self._text(row, column) for part, column in dotted.items()}
            if parts:
                values[name] = kind(**parts)
        texts = {name: self._by_language(row, columns.get(name)) for name in _TEXTS}
        if texts["claims"] and _COUNT.fullmatch(text_of(texts["claims"][0][1])):
            self._note("claims is a number, not a text: left empty", text_of(texts["claims"][0][1]))
            texts["claims"] = []
        for name, found in texts.items():
            if found:
                values[name] = _parsed(name, found[0][1])
        if texts["claims"] and not values["claims"]:
            self._note("claims could not be split: left empty", publication)
        return Patent(
            publication,
            self._family(publication, row),
            **values,
            languages=TextLanguages(**{name: found[0][0] for name, found in texts.items() if found}),
            translations=_translations({name: found[1:] for name, found in texts.items()}),
            application_number=self._application(row),
            source=self._columns.name,
        )

    def _by_language(self, row: Mapping[str, Any], column: Column | None) -> list[tuple[str, Any]]:
        """The texts of a field with their languages, English first."""
        cells = self._cells(row, column)
        if column is None or not any(value is not None for value in cells):
            return []
        objects = [one for cell in cells for one in (cell if isinstance(cell, list) else [cell])]
        if all(isinstance(one, Mapping) and member_text(one, "language") for one in objects):
            by_language: dict[str, Any] = {}
            for one in objects:
                by_language.setdefault(language(member_text(one, "language")), []).append(one)
            return sorted(by_language.items(), key=lambda one: one[0] != "en")
        languages = []
        if column.language_column:
            languages = [text_of(value).lower() for value in self._values(row, column.language_column)]
        if len(languages) != len(cells):
            texts = [value for value in cells if value is not None]
            return [(languages[0] if languages else column.language, texts[0] if len(texts) == 1 else texts)]
        found = [(code, value) for code, value in zip(languages, cells, strict=True) if value is not None]
        return sorted(found, key=lambda one: one[0] != "en")

    def _family(self, publication: str, row: Mapping[str, Any]) -> str:
        """The family in its column, else the lowest number of its members, else the publication number."""
        if family := self._text(row, self._columns.fields.get("family_id")):
            return family
        if members := self._numbers(row, self._columns.relations.get("member")):
            self._note("no family id: the family is named after the first of its members")
            return min((publication, *members))
        self._note("no family is given: the publication number is used")
        return publication

    def _numbers(self, row: Mapping[str, Any], column: Column | None, kind: str = "member") -> list[str]:
        read = read_number if kind in RELATED_PUBLICATIONS else read_application
        return [number for number, _ in self._numbers_of(row, column, read) if number] if column else []

    def _application(self, row: Mapping[str, Any]) -> str:
        return next(iter(self._numbers(row, self._columns.fields.get("application_number"), "application")), "")

    def _labels(self, row: Mapping[str, Any]) -> Iterator[Label]:
        for section in self._columns.labels:
            landscape = self._text(row, section.get("landscape"))
            coarse, fine = self._list(row, section.get("coarse")), self._list(row, section.get("fine"))
            if len(coarse) == 1 and fine:
                coarse *= len(fine)
            names = fine if len(fine) == len(coarse) else [""] * len(coarse)
            pairs = dict.fromkeys(zip(coarse, names, strict=True))
            yield from (Label(landscape, one, name) for one, name in pairs if one)

    def _citations(self, columns: Mapping[str, Column], publication: str, row: Mapping[str, Any]) -> Iterator[Item]:
        """Yield the citations of a section. Its citing or its cited numbers are by default this publication."""
        (citing, _), (cited, marks) = (self._cited(row, columns.get(name), publication) for name in ("citing", "cited"))
        if not any(citing) or not any(cited):
            if "publication_number" not in self._columns.fields:
                yield Skipped(next(filter(None, citing), ""), self._place, "no citing or no cited number")
            return
        length = max(len(citing), len(cited))
        parallel = {
            ours: self._aligned(ours, self._list(row, columns.get(ours)), length)
            for ours in ("category", "origin", "phase", "office")
        }
        if any(marks) and not any(parallel["category"]):
            parallel["category"] = marks if length == len(cited) else marks * length
        phases = [phase_and_origin(code) for code in parallel["phase"]]
        parallel["phase"] = [phase for phase, _ in phases]
        parallel["origin"] = [own or origin for own, (_, origin) in zip(parallel["origin"], phases, strict=True)]
        claims = claim_numbers(self._text(row, columns.get("claims")))
        passages = tuple(self._list(row, columns.get("passages")))
        date = self._date(row, "date of a citation", columns.get("date"))
        if len(citing) > 1 and len(cited) > 1:
            self._note("several citing and several cited numbers: each pair is a citation")
        for first, one in enumerate(citing):
            for second, other in enumerate(cited):
                if one and other:
                    values: dict[str, Any] = {ours: texts[max(first, second)] for ours, texts in parallel.items()}
                    yield Citation(one, other, **values, claims=claims, passages=passages, date=date)

    def _cited(self, row: Mapping[str, Any], column: Column | None, publication: str) -> tuple[list[str], list[str]]:
        """Return the normal form of the numbers in a column and the categories written with them (``[X]``).

        Without a column it is the number of the row. Empty texts stay, and a count gives nothing.
        """
        if column is None:
            return [publication], [""]
        found = self._list(row, column, "cited")
        if len(found) == 1 and _COUNT.fullmatch(found[0]) and publication and not _COUNT.fullmatch(publication):
            self._note("a count of citations, not a number: not read", found[0])
            return [], []
        pairs = list(self._numbers_of(row, column, note="a category or remark is with a cited number", wanted="cited"))
        return [number for number, _ in pairs], [mark for _, mark in pairs]

    def _aligned(self, ours: str, values: list[str], length: int) -> list[str]:
        """One value for each cited number, if there is one for each or one for all."""
        if len(values) > 1 and len(values) != length:
            problem = f"{ours} and cited numbers differ in length: {ours} left empty"
            self._note(problem, f"{len(values)} for {length}")
            values = []
        return values if len(values) == length else (values or [""]) * length

    def _relations(self, publication: str, row: Mapping[str, Any]) -> Iterator[Item]:
        columns = self._columns.relations
        number = next(iter(self._numbers(row, columns.get("number"))), publication)
        for kind in RELATIONS:
            for related in dict.fromkeys(self._numbers(row, columns.get(kind), kind)):
                if number and related != number and not _LENS_ID.fullmatch(related):
                    yield Relation(number, related, kind)
        if publication and "application" not in columns and (application := self._application(row)):
            yield Relation(publication, application, "application")


def _number_columns(columns: ColumnMap) -> list[Column]:
    """The columns of publication numbers, each of which may have one of its own.

    Those of a map of this package are alternatives; PATENTSCOPE's second one is a number of its own.
    """
    column = columns.fields.get("publication_number")
    if column is None or column.join is not None or columns.name in SHIPPED:
        return [column] if column else []
    return [replace(column, column=(name,)) for name in column.column]


def _class_column(column: Column) -> Column:
    """The column without a comma as a separator, because a list of codes in one subclass has commas."""
    marks = tuple(mark for mark in column.separator if "," not in mark)
    return replace(column, separator=marks or ("\n",))


def _parsed(name: str, value: Any) -> Any:
    return {"claims": _claims, "description": _description, "title": _title}.get(name, as_text)(value)


def _title(value: Any) -> str:
    """The title in one line; spreadsheets break it."""
    return " ".join(as_text(value).split())


def _claims(value: Any) -> tuple[Claim, ...]:
    """Read claims from one text, a list of texts or objects with or without numbers, or the form of our records."""
    members = value if isinstance(value, list) else list(flat(value, ""))
    if members and all(isinstance(one, Mapping) for one in members):
        if all({"number", "depends_on"} <= one.keys() for one in members):
            return tuple(
                Claim(int(one["number"]), text_of(one.get("text")), tuple(one["depends_on"] or ())) for one in members
            )
        found = [ClaimText(member_text(one, "claim_number"), as_text(one)) for one in members]
        if len(found) > 1:
            return read_claim_texts(one for one in found if one.text)[0]
    texts = [text for one in members if (text := as_text(one))]
    if len(texts) > 1 and not all(re.match(r"\W*(?:claim )?\d+", text, re.IGNORECASE) for text in texts):
        texts = [f"{number}. {text}" for number, text in enumerate(texts, start=1)]
    return split_claims("\n".join(texts))


def _description(value: Any) -> Description:
    sections = [one.name for one in dataclasses.fields(Description)]
    if isinstance(value, Mapping) and value.keys() & set(sections):
        return Description(**{name: text_of(value.get(name)) for name in sections})
    return split_description(as_text(list(flat(value, ""))))


def _translations(others: Mapping[str, Iterable[tuple[str, Any]]]) -> tuple[Translation, ...]:
    found: dict[str, dict[str, Any]] = {}
    for name, texts in others.items():
        for code, value in texts:
            parsed = as_text(value) if name == "description" else _parsed(name, value)
            found.setdefault(code, {}).setdefault(name, parsed)
    return tuple(Translation(code, **texts) for code, texts in sorted(found.items()))


SHIPPED = (
    *("derwent", "thomson", "lens", "espacenet", "patentscope", "bigquery", "patstat-citations", "patstat"),
    *("orbit", "patsnap", "patsnap-chinese", "incopat", "google-patents", "totalpatent", "patbase", "jplatpat"),
    *("depatisnet", "uspto-search", "patentsview-columns", "derwent-index", "auspat"),
)
"""The maps of this package. A table is read with the first map whose columns it has."""


COLUMNS_READ = "columns read"  # a note that the preview makes superfluous on the terminal
GUESSED = "table"  # the source of tables whose map is guessed from their columns


def is_table(source: str) -> bool:
    """Whether a source is read with a column map."""
    return source in (*SHIPPED, GUESSED) or source.endswith(".toml")


def readers() -> list[Reader]:
    """Return the readers of the maps of this package and, at the end, of tables with self-explanatory columns."""
    maps = [read_map(Path(__file__).with_name("maps") / f"{name}.toml") for name in SHIPPED]
    what = "any table whose columns have the names of our fields or common names"
    guessed = Reader(GUESSED, what, lambda path: bool(_plans(path)), read_tables)
    return [*(dataclasses.replace(reader_of(one), read=partial(read_tables, columns=one)) for one in maps), guessed]


def reader_of(columns: ColumnMap) -> Reader:
    wanted = set(map(_folded, columns.recognised_by))

    def sniff(path: Path) -> bool:
        if not wanted:
            return False
        return wanted <= set(map(_folded, open_sheet(path, lambda name: _folded(name) in wanted).columns))

    return Reader(columns.name, columns.what, sniff, partial(read_table, columns=columns), columns.text)


@dataclass(frozen=True)
class _Plan:
    """Sheets with the same columns and the map that reads them; ``guess`` is what their columns were taken for."""

    columns: ColumnMap
    sheets: tuple[str, ...] = ()
    guess: Suggestion | None = None


NOT_UNDERSTOOD = "a sheet was not understood: not read"
UNUSED = "columns that a map could use"


def _plans(path: Path, columns: ColumnMap | None = None, notes: list[Note] | None = None) -> list[_Plan]:
    """Return how each sheet is read: the best one with the map, if one is given, the others by their own headers."""
    plans: list[_Plan] = []
    left: tuple[str, ...] = ()
    first: DataError | None = None
    while left or not (plans or first):
        known = columns if not (plans or first) else None
        sheet = _sheet(path, known, left) if known else open_sheet(path, is_known, sheets=left)
        left = sheet.others
        try:
            used = _used(known, sheet.columns) if known else ()
            guess = suggest(path, sheets=sheet.names, without=used) if known is None or sheet.names else None
            guessed = parse_map(guess.toml, path) if guess else None
        except DataError as error:
            first, guess, guessed = first or error, None, None
        if known:
            plans.append(_Plan(_completed(known, guessed, sheet.columns) if guessed else known, sheet.names))
        elif guessed:
            plans.append(_Plan(guessed, sheet.names, guess))
        elif notes is not None:
            names = ", ".join(f"'{name}'" for name in sheet.names)
            notes.append(Note(NOT_UNDERSTOOD, f"{names} (columns: {cut(', '.join(sheet.columns))})", len(sheet.names)))
    if not plans and first:
        raise first
    return plans


def _used(columns: ColumnMap, there: Sequence[str]) -> set[str]:
    """The columns of a table that a map reads, but for those of the publication number."""
    number = columns.fields.get("publication_number", Column()).column
    wanted = {_folded(one) for name in columns.names() for one in (name, name.partition(".")[0]) if name not in number}
    return {name for name in there if _folded(name) in wanted}


def _completed(columns: ColumnMap, guessed: ColumnMap, there: Sequence[str]) -> ColumnMap:
    """Complete a map of this package with fields that the table has under other names, and the offices of numbers."""
    names = set(map(_folded, there))

    def is_read(column: Column | None) -> bool:
        heads = [one for name in (column.column if column else ()) for one in (name, name.partition(".")[0])]
        return column is not None and (not column.column or any(_folded(name) in names for name in heads))

    fields = dict(columns.fields)
    for ours, column in guessed.fields.items():
        mine = fields.get(ours)
        if mine and is_read(mine) and column.office_column and not (mine.office or mine.join is not None):
            fields[ours] = replace(mine, office_column=column.office_column)
        elif ours != "publication_number" and not is_read(mine):
            fields[ours] = column
    directions = {name for section in columns.citations for name, column in section.items() if is_read(column)}
    more = tuple(section for section in guessed.citations if not {"citing", "cited"} & section.keys() & directions)
    relations = {name: column for name, column in columns.relations.items() if is_read(column)}
    return replace(
        columns,
        fields=fields,
        citations=(*columns.citations, *more),
        relations={**columns.relations, **guessed.relations, **relations},
    )


def read_tables(path: Path, columns: ColumnMap | None = None) -> Iterator[Item]:
    """Yield the items of all sheets of a file, each read by its own header and joined by publication number."""
    notes: list[Note] = []
    first, *others = _plans(path, columns, notes)
    yield from notes
    later: dict[str, Patent] = {}
    rest: list[Item] = []
    for plan in others:
        for item in _read_plan(path, plan):
            if isinstance(item, Patent) and item.publication_number not in later:
                later[item.publication_number] = item
            elif isinstance(item, Patent):
                later[item.publication_number] = _joined(later[item.publication_number], item)[0]
            else:
                rest.append(item)
    for item in _read_plan(path, first):
        if isinstance(item, Patent) and (other := later.pop(item.publication_number, None)):
            item, added, conflicts = _joined(item, other)
            for what, fields in ((ADDED, added), (CONFLICTS, conflicts)):
                if fields:
                    yield Note(what, f"{item.publication_number}: {', '.join(fields)}", len(fields))
        yield item
    yield from (*later.values(), *rest)


def _joined(earlier: Patent, later: Patent) -> tuple[Patent, list[str], list[str]]:
    row, added, conflicts = joined(row_of(earlier), row_of(later))
    return _AS_RECORD(row), added, conflicts


def _read_plan(path: Path, plan: _Plan) -> Iterator[Item]:
    if plan.guess:
        read = [(name, ours) for part in plan.columns.sections() for ours, one in part.items() for name in one.column]
        why = {column: f" (by its values: {what})" for column, what in plan.guess.by_values.items()}
        yield Note(COLUMNS_READ, ", ".join(f"'{name}' as {ours}{why.get(name, '')}" for name, ours in read), len(read))
        if plan.guess.unused:
            unused = "; ".join(f"'{name}': {what}" for name, what in plan.guess.unused.items())
            yield Note(UNUSED, unused, len(plan.guess.unused))
    yield from _TableReader(path, plan.columns, plan.sheets).read()


@dataclasses.dataclass(frozen=True)
class Preview:
    """The columns of a table: name, what the values are, what the column is read as and why. ``guessed``: by values."""

    columns: tuple[tuple[str, str, str, str], ...]
    guessed: bool = False


def preview(path: Path, reader: Reader) -> Preview:
    known = replace(parse_map(reader.settings, path), name=reader.name) if reader.name != GUESSED else None
    plans = _plans(path, known) if reader.name in (*SHIPPED, GUESSED) else [_Plan(known)] if known else []
    rows: list[tuple[str, str, str, str]] = []
    for place, plan in enumerate(plans):
        read: dict[str, list[str]] = {}
        for part in plan.columns.sections():
            for ours, column in part.items():
                for name in column.column:
                    read.setdefault(_folded(name), []).append("label" if ours in ("coarse", "fine") else ours)
        for name, typed in types_of(_sheet(path, plan.columns, plan.sheets)).items():
            ours = ", ".join(dict.fromkeys(read.get(_folded(name), read.get(_folded(name.partition(".")[0]), []))))
            why = "" if not ours else "its name" if plan.guess else f"the map {plan.columns.name}"
            if plan.guess:
                why = "its values" if name in plan.guess.by_values else plan.guess.unused.get(name, why)
            rows.append((f"{plan.sheets[0]}: {name}" if place else name, typed.what, ours or "not read", why))
    return Preview(tuple(rows), any(plan.guess and plan.guess.by_values for plan in plans))


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _sheet(path: Path, columns: ColumnMap, sheets: Collection[str] = ()) -> Sheet:
    wanted = {_folded(name) for name in (*columns.names(), *columns.recognised_by)}
    sheets = sheets or ((columns.sheet,) if columns.sheet else ())
    return open_sheet(path, lambda name: _folded(name) in wanted, columns.preamble, columns.delimiter, sheets)


def read_table(path: Path, columns: ColumnMap) -> Iterator[Item]:
    """Yield the items of the sheets that a map describes."""
    reader = _TableReader(path, columns)
    yield from reader.read()
    if others := reader.others:
        yield Note("sheets not read: the map does not name their columns", ", ".join(map(repr, others)), len(others))


def _places(columns: ColumnMap, there: Sequence[str], path: Path) -> tuple[Mapping[str, tuple[str, str]], list[Note]]:
    """Map each name to its column and to the rest of a dotted name within the values. Case and spaces do not matter."""
    by_name = {_folded(name): name for name in there}
    places: dict[str, tuple[str, str]] = {}
    missing: list[str] = []
    for name, needed in columns.names().items():
        head, _, rest = name.partition(".")
        if _folded(name) in by_name:
            places[name] = (by_name[_folded(name)], "")
        elif rest and _folded(head) in by_name:
            places[name] = (by_name[_folded(head)], rest)
        elif needed:
            missing.append(name)
    pair = next((section["cited"] for section in columns.citations if "cited" in section), None)
    number = columns.fields.get("publication_number") or pair or columns.relations["number"]
    if not any(name in places for name in number.column):
        missing += number.column
    if missing:
        problem = f"column '{missing[0]}' is missing (columns: {', '.join(there)})"
        raise DataError(problem, path=path, remedy="name one of these in the map, or set optional = true")
    read = {column for column, _ in places.values()}
    found = {
        "columns of the map that are missing": [name for name in columns.names() if name not in places],
        "columns not read": [name for name in there if name not in read],
    }
    notes = [Note(what, ", ".join(f"'{one}'" for one in names), len(names)) for what, names in found.items() if names]
    return places, notes
