"""Read training data in the forms in which data sets are published.

A row is whatever the file has as a row: an object or a list of JSON, a row of Parquet, Arrow, CSV or a workbook, a line
of plain text. Every string in it is read, however deeply it is nested: the lists of ``pos`` and ``neg``, the turns of a
chat, structs, bytes that are UTF-8, and the keys of objects.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa

from patent_mteb.errors import DataError, parsed_json, readable
from patent_mteb.files import ARROW_STARTS, load_json, open_binary, read_arrow, text_lines
from patent_mteb.patents.collection import read_collection, table_of
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import SCHEMAS, Patent
from patent_mteb.readers.sheets import all_cells, encoding_of, form_of, lines_of
from patent_mteb.readers.values import listed, numbers_in
from patent_mteb.training.leaks import Item, is_comparable, read_identifiers

_BINARY = (".parquet", ".arrow", ".feather", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_SUFFIXES = frozenset((*_BINARY, ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt"))
"""Suffixes of the files that are read in a folder, in any case, before ``.gz`` too. A named file is read by content."""
_FORMS = "Parquet, Arrow, JSON, JSON lines, CSV, TSV, lines of text or a workbook"
_ABOUT = frozenset(("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"))
"""Files of the library datasets that describe a data set."""
COMPARED = ("texts", "numbers", "without office")
"""What values are compared as: texts, publication numbers, and ids that name no patent office."""
_TABLES = ("patents", "citations", "relations", "families")
_LONGEST_NUMBER = 200
"""Characters of a text that may be a publication number, or an address that contains it."""
_LONGEST_NAME = 40
"""Characters of a column's name: the first row of a table without a header is long."""
_LONGEST_LINE = 200
"""Characters of the lines of a paragraph. Programs break lines at 72 to 132; an abstract in a line has more."""
_LONGEST_PARAGRAPH = 1 << 20  # characters, a choice: a longer one is of another form
_FEWEST_DIGITS = 0.1
"""Share of digits in a list of numbers: half in ``US 9,876,543 B2``. A text with fewer is not searched for numbers."""
_HEAD = 1 << 12
"""Characters of a text, or bytes of a file, that show what it is."""
_NUMBERED = re.compile(r"(?:id|number|publication|patent|pn)s?$", re.IGNORECASE)
"""Names of columns whose strings and whole numbers are compared as numbers even if they name no patent office."""
_BETWEEN = re.compile(r"[\s,;|/]+")
_BETWEEN_IDS = re.compile(r"\s*[;|\n]\s*|,\s+|,(?!\d{3}(?:\D|$))")  # not within 10,123,456
_TOKENS = re.compile(r"(?:input|token|token_type|position|label)_?ids$", re.IGNORECASE)


@dataclass
class TrainingData:
    """The texts and publication numbers of a file or a folder. The counts are complete once :meth:`items` has ended."""

    path: Path
    rows: Counter[str] = field(default_factory=Counter)  # by file
    columns: dict[str, Counter[str]] = field(default_factory=dict)  # values of each sort by column
    skipped: Counter[str] = field(default_factory=Counter)  # files that were not read, by suffix

    def items(self) -> Iterator[Item]:
        """Yield the publications of records, or of other data each text and each distinct number of each row."""
        known: set[str] = set()
        for path in self._files():
            name = str(path.relative_to(self.path)) if path != self.path else path.name
            if path.is_dir() or _is_records(path):
                for patent in read_collection(path, definition="joined").patents:
                    self._count(name, "publication_number", "numbers")
                    yield Item.of(patent)
                continue
            for number, row in self._rows(path):
                self.rows[name] += 1
                for place, column, value in _values(row):
                    what, texts = _read(column, value)
                    self.columns.setdefault(column, Counter())[what] += len(texts)
                    if what == "texts":
                        yield Item(f"{name}, row {number}, {place}", "", texts[0])
                    elif what in COMPARED:
                        yield from (Item(text, "", "") for text in dict.fromkeys(texts) if text not in known)
                        known.update(texts)
        if not any(counts[what] for counts in self.columns.values() for what in COMPARED):
            problem = f"{self.rows.total()} rows of {len(self.rows)} files hold no text of five words and no number"
            raise DataError(f"{problem} ({self.unread})", path=self.path, remedy=f"give records, or texts as {_FORMS}")

    @property
    def unread(self) -> str:
        """A clause on the files that were not read."""
        found = [f"{number} {suffix}" for suffix, number in self.skipped.most_common()]
        return f"files not read: {', '.join(found) or 'none'}"

    def _count(self, file: str, column: str, what: str) -> None:
        self.rows[file] += 1
        self.columns.setdefault(column, Counter())[what] += 1

    def _files(self) -> Iterator[Path]:
        """Yield the files of a folder in the order of their names, and count the others."""
        if not self.path.is_dir():
            yield self.path
            return
        is_collection = table_of(self.path, "patents") is not None
        if is_collection:
            yield self.path
        for path in _below(self.path):
            inner = path.relative_to(self.path)
            suffixes = [suffix.lower() for suffix in path.suffixes]
            suffix = next((one for one in reversed(suffixes) if one != ".gz"), "")
            if is_collection and inner.parts[0].partition(".")[0] in _TABLES:
                continue
            if suffix not in _SUFFIXES or path.name in _ABOUT or inner.parts[0].startswith(".") or is_collection:
                self.skipped[suffix or path.name] += 1
            else:
                yield path

    def _rows(self, path: Path) -> Iterator[tuple[int, Any]]:
        with readable(path), open_binary(path) as stream:
            start = stream.read(_HEAD)
        if start.startswith(ARROW_STARTS):
            for before, table in read_arrow(path):
                timeless = [one.name for one in table.schema if not pa.types.is_temporal(one.type)]
                yield from enumerate(table.select(timeless).to_pylist(), start=before + 1)
            return
        form = form_of(path)
        if form in ("json", "jsonl", "text") and b"\0" in start and encoding_of(path)[1] != "UTF-16":
            form = ""  # a pickle, a tar archive, an array of NumPy, a database
        if form and path.suffix.lower() == ".txt":
            yield from _with_paragraphs(lines_of(path))
        elif form in ("json", "jsonl"):
            yield from _json_values(path)
        elif form:
            yield from _cells(path)
        else:
            problem = "the file is in none of the forms that are read as training data"
            raise DataError(problem, path=path, remedy=f"give {_FORMS}")


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, also those behind links to other folders, each folder once."""
    seen = {os.path.realpath(folder)}
    for place, folders, files in os.walk(folder, followlinks=True):
        real = {name: os.path.realpath(Path(place, name)) for name in sorted(folders)}
        folders[:] = [name for name in real if real[name] not in seen]
        seen.update(real.values())
        yield from (Path(place, name) for name in sorted(files))


def _is_records(path: Path) -> bool:
    """Whether a table has the columns of publications only: the reader of records knows no other ones."""
    with readable(path), path.open("rb") as stream:
        start = stream.read(8)
    if start.startswith(b"PAR1"):
        names = {name for _, table in islice(read_arrow(path), 1) for name in table.column_names}
    elif not start.startswith(ARROW_STARTS) and path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        names = {name for _, row in _json_values(path) for name in (row if isinstance(row, dict) else [""])}
    else:
        return False
    return {"publication_number", "family_id"} <= names <= set(SCHEMAS[Patent].names)


def _json_values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON lines, or of the list in a document, with their numbers."""
    lines = ((number, line) for number, line in text_lines(path) if line.strip())
    first = next(lines, None)
    if first is None:
        return
    try:
        value = parsed_json(first[1], path, first[0], "correct the line")
    except DataError as error:
        if not isinstance(error.__cause__, json.JSONDecodeError):
            raise
        value = load_json(path)
        yield from enumerate(value if isinstance(value, list) else [value], start=1)
        return
    second = next(lines, None)
    if second is None and isinstance(value, list):
        yield from enumerate(value, start=1)
        return
    yield first[0], value
    for number, line in chain([second] if second else [], lines):
        yield number, parsed_json(line, path, number, "correct the line")


def _cells(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a table of cells by the names in its first row, which is a row too: MS MARCO has no header."""
    sheet, names = None, list[str]()
    for found, (number, cells) in all_cells(path):
        if found != sheet:
            sheet, names = found, [str(cell)[:_LONGEST_NAME] for cell in cells]
            yield number, {"(first row)": cells}
            continue
        names += [f"column {place}" for place in range(len(names) + 1, len(cells) + 1)]
        yield number, dict(zip(names, cells, strict=False))


def _with_paragraphs(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield lines, and the paragraphs of several lines, which end at an empty line or after a long one."""
    first, paragraph = 0, list[str]()
    for number, line in chain(lines, [(0, "")]):
        if line.strip():
            yield number, line
        if line.strip() and len(line) <= _LONGEST_LINE and len(paragraph) * _LONGEST_LINE < _LONGEST_PARAGRAPH:
            first = first if paragraph else number
            paragraph.append(line)
            continue
        if len(paragraph) > 1:
            yield first, "\n".join(paragraph)
        paragraph = []


def _values(row: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the strings and numbers in a row, each with its place (``pos[1]``) and its column (``pos``)."""
    waiting: list[tuple[str, str, Any]] = [("", "", row)]
    while waiting:
        place, column, value = waiting.pop()
        if isinstance(value, dict):
            dot = "." if place else ""
            for number, (key, one) in reversed([*enumerate(value.items())]):
                if _is_data(str(key)):
                    waiting.append((f"{place}[{number}]", f"{column}[*]", one))
                    waiting.append((f"{place} (key {number})".lstrip(), f"{column} (keys)".lstrip(), key))
                else:
                    waiting.append((f"{place}{dot}{key}", f"{column}{dot}{key}", one))
        elif isinstance(value, list | tuple):
            is_id = _NUMBERED.search(column) and not _TOKENS.search(column)
            if is_id or not (isinstance(next(iter(value), None), float | bool) or _TOKENS.search(column)):
                waiting += [(f"{place}[{number}]", column, one) for number, one in reversed([*enumerate(value)])]
        elif isinstance(value, str | bytes | int | Decimal) and not isinstance(value, bool):
            yield place or "text", column or "text", value
        elif isinstance(value, float) and _NUMBERED.search(column):
            yield place, column, value


@lru_cache(maxsize=1 << 12)
def _is_data(key: str) -> bool:
    """Whether the key of an object is a number or a text, and not the name of a member."""
    return bool(read_identifiers(key)[1]) or is_comparable(key)


def _read(column: str, value: str | bytes | float | Decimal) -> tuple[str, list[str]]:
    """Return what a value is (a name of :data:`COMPARED`, ``short`` or ``other``) and its text, or all its numbers."""
    if isinstance(value, float | Decimal):  # an integer column with missing values is one of floats in pandas
        value = int(value) if isfinite(value) and value == int(value) else ""
    try:
        text = value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        return "other", [""]
    if any(map(str.isdigit, text[:_HEAD])):
        if isinstance(value, str | bytes) and (numbers := _numbers_in(text)):
            return "numbers", numbers
        if len(text) <= _LONGEST_NUMBER and _NUMBERED.search(column) and not is_comparable(text):
            return "without office", [one for one in _BETWEEN_IDS.split(text.strip()) if one]
    if isinstance(value, int):
        return "other", [text]
    return ("texts" if is_comparable(text) else "short"), [text]


def _numbers_in(text: str) -> list[str]:
    """Return the publication numbers of a cell, half of which are such; none of a text that mentions some."""
    if len(text) <= _LONGEST_NUMBER and read_identifiers(text)[1]:
        return [text.strip()]
    head = text[:_HEAD]
    if sum(map(str.isdigit, head)) < _FEWEST_DIGITS * len(head):
        return []
    words = [one for one in _BETWEEN.split(text.strip("[](){} \n")) if one]
    if all(map(read_number, words)):
        return words
    pieces = [piece for member in listed(text.strip("{}")) for piece in numbers_in(member, read_number)]
    written = [one.text if one.number is None or read_identifiers(one.text)[1] else one.number.docdb for one in pieces]
    numbers = [one for one in written if read_identifiers(one)[1]]
    return numbers if 2 * len(numbers) >= len(pieces) else []
