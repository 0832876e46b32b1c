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
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from textwrap import shorten
from typing import Any, get_type_hints

from patent_mteb.errors import DataError, readable
from patent_mteb.files import text_lines
from patent_mteb.patents.categories import is_category, split_category
from patent_mteb.patents.ipc import is_code, read_codes
from patent_mteb.patents.numbers import OFFICES, read_number
from patent_mteb.patents.records import RELATIONS, Citation, Description, ExpertSummary, Label, MachineSummaries, Patent
from patent_mteb.readers.items import Skipped
from patent_mteb.readers.sheets import Sheet, open_sheet
from patent_mteb.readers.values import (
    cleaned,
    dates_within,
    needs_order,
    numbers_in,
    read_date,
    text_of,
    unpacked,
)

_EMPTY = r"- -- --- – — ? NA N/A n/a N.A. n.a. k.A. #N/A nan NaN NaT <NA> null NULL (null) \N None none"
_EMPTY += " 无 暂无 不明 없음 該当なし"
EMPTY = frozenset({"", "k. A.", "정보 없음", *_EMPTY.split()})  # texts that mean an empty cell by default
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
    office_column: str = ""
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
            for name in (*column.column, *filter(None, [column.language_column, column.office_column])):
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
    DATED = "texts with dates"
    CLASSES = "classes"
    COUNT = "small whole numbers"
    YEARS = "years"
    OFFICES = "codes of offices"
    CLAIMS = "claims"
    TEXT = "texts"
    URL = "web addresses"
    NESTED = "lists or objects"
    CATEGORIES = "categories of citations"
    WORDS = "words"


@dataclass(frozen=True)
class Typed:
    """The kind of the values of a column, what they are in words, and the separators of lists.

    ``filled`` is the share of rows with a value, ``without_office`` says that they begin with a digit, and ``office``
    is then the one that they may be of. Prose has sentences, which addresses and references do not.
    """

    kind: Kind
    what: str
    separators: tuple[str, ...] = ()
    filled: float = 1.0
    without_office: bool = False
    office: str = ""
    is_prose: bool = False


_MOST = 0.8  # the share of the values that must be of a kind
_SEPARATORS = (";;", " | ", "|", ";", "；", "、", "\n")
_ALONG = (*_SEPARATORS, " / ")  # separators of which a list may have several
_WIDE = (*_ALONG, ", ", ",", " ")  # separators of lists whose members are known by their form
_LONG = 120  # characters, a choice: longer values are texts, not names or numbers
_LONGEST_CATEGORY = 5  # characters, as in "X,Y,P"
_START = 3000  # characters of a text that are typed
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[A-Z]{2}[ -]?[\dA-Z]|[特実再登]")
_SUBCLASS = re.compile(r"[A-HY]\d\d[A-Z](?![A-Z])")
_CPC = re.compile(r"Y\d\d[A-Z]|[A-H]\d\d[A-Z] *2\d\d\d/")
_CLAIMS = re.compile(
    r"\W*(?:\([A-Z]{2}\d+\)\s*)?"
    r"(?:what is claimed|(?:we|i) claim|claims?\b.{0,20}1|1\s*[.)．、](?!\d)|【請求項"
    r"|청구항\s*1|权利要求\s*1|\[?1\]\s)",
    re.IGNORECASE,
)


def _is_number(text: str) -> bool:
    if not _DIGIT.search(text):
        return False
    numbers = numbers_in(text, read_number)
    bare = split_category(text)[0] if numbers[0].category else text
    return len(numbers) == 1 and bool(numbers[0].number and (_NUMBER.match(bare) or _is_address(bare)))


def _is_class(text: str) -> bool:
    """Whether a text is a class code from the subclass on, or a list of them: IPC, CPC, FI, Derwent's forms."""
    return bool(_SUBCLASS.match(text)) and all(map(is_code, read_codes([text])))


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://", "www."))


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
    if _most(texts, _is_address) and not _most(texts, lambda text: read_number(text) is not None):
        return Typed(Kind.URL, "web addresses")
    if any(not isinstance(unpacked(value), str | int | float | dt.date) for value in values):
        return Typed(Kind.NESTED, "nested values")
    for is_one, kind, what in (
        (_is_number, Kind.NUMBERS, "publication numbers"),
        (_is_class, Kind.CLASSES, "IPC or CPC codes"),
    ):
        if (found := _separators(texts, is_one)) is not None:
            if kind is Kind.CLASSES and any(map(_CPC.search, texts)):
                what = "CPC codes"
            is_list = found or (kind is Kind.CLASSES and any(len(read_codes([text])) > 1 for text in texts))
            return Typed(kind, f"lists of {what}" if is_list else f"{what}, {each}", found)
    if _most(texts, lambda text: len(text) <= _LONG and len(dates_within(text)) > 0):
        return Typed(Kind.DATED, "texts with dates")
    if _most(texts, lambda text: len(text) <= _LONGEST_CATEGORY and is_category(text)):
        return Typed(Kind.CATEGORIES, f"categories of citations, {each}")
    if _most(texts, lambda text: bool(_CLAIMS.match(text))) and sum(lengths) > _LONG / 4 * len(texts):
        return Typed(Kind.CLAIMS, "texts that begin like claims")
    plain = [text.replace(";;", "") for text in texts]  # next to ";;", a ";" is within a value
    counts = {mark: sum(mark in text for text in (texts if mark == ";;" else plain)) for mark in _SEPARATORS}
    best = max(counts, key=lambda mark: counts[mark])
    separators = (best,) if counts[best] else ()
    if (length := sum(lengths) // len(texts)) > _LONG:
        what = f"texts of {length} characters"
        return Typed(Kind.TEXT, what, separators, is_prose=_most(texts, _is_prose))
    return Typed(Kind.WORDS, f"words, {each}", separators)


def _is_prose(text: str) -> bool:
    """Whether a text has sentences: an end of one, and more words in small letters than names, numbers and codes."""
    words = re.findall(r"\w+", text)
    small = sum(word[0].islower() for word in words)
    return bool(re.search(r"[.。．]", text)) and (2 * small > len(words) or bool(_CJK.search(text)))


def _most(values: Sequence[Any], is_one: Callable[[Any], bool]) -> bool:
    return sum(map(is_one, values)) >= _MOST * len(values)


def _separators(texts: Sequence[str], is_one: Callable[[str], bool]) -> tuple[str, ...] | None:
    """Return the separators that split most texts into what ``is_one`` accepts, empty if none is needed, or None."""
    there = [mark for mark in _WIDE if any(mark in text for text in texts)]
    several = tuple(mark for mark in there if mark in _ALONG)
    best, most = None, 0.0
    for marks in ((), *((mark,) for mark in there), *([several] if len(several) > 1 else [])):
        split = re.compile("|".join(map(re.escape, marks))).split if marks else lambda text: [text]
        members = [member.strip() for text in texts for member in split(text)[:_MEMBERS] if member.strip()]
        share = sum(map(is_one, members)) / len(members)
        if share > most:
            best, most = marks, share
    return best if most >= _MOST else None


_HEADERS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("headers.toml").read_text(encoding="utf-8")
)
_OFFICE_WORDS = {office: frozenset(words.split()) for office, words in _HEADERS.pop("offices").items()}
_TITLES = {"fields": "[fields]", "relations": "[relations]", "labels": "[[labels]]"}  # others are [[citations]]
_SEPARATED = LISTS | {"publication_number", "cited", "citing", "category", "member", "priority", "coarse", "fine"}
"""Fields whose column may hold several values."""
_WITH_OTHERS = ("title", "abstract", "claims")
_CLASSES = ("ipc", "cpc")  # may have a column of main and one of further classes
_NUMBERS = ("publication_number", "application_number")  # what a column of offices completes
_SAMPLE = 200  # rows by which columns are recognised, a choice
_MEMBERS = 20  # of a list, are enough to know its form; families of Lens have a thousand
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_KOREAN = re.compile(r"[12]0-?\d{4}-?\d{7}|[12]0-?\d{7}(?:-?\d{4})?")
_CJK = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CONTINUED = {"abstract", "claims", "description"}
_REPEATED = re.compile(r" \(column \d+\)$")
_quoted = partial(json.dumps, ensure_ascii=False)


def _folded(text: str) -> str:
    """Return a text without case and without the accents of Latin letters."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    if plain.isascii():
        return plain
    return "".join(unicodedata.normalize("NFKD", one)[0] if one < "\u0250" else one for one in plain)


_WORDS: dict[str, tuple[str, ...]] = {
    " ".join(_folded(form).split()): tuple(concept.split())
    for concept, forms in _HEADERS.pop("words").items()
    for form in forms.split(",")
}
_WORDS.pop("")
_PHRASE = max(len(form.split()) for form in _WORDS)
_LONGEST_WORD = max(map(len, _WORDS))
_LONGEST_NAME = 100
"""Characters of a name that is read. Longer ones are texts."""
_SHORTEST_IN_COMPOUND = 3  # letters; shorter words (ab, ti, de) are in many others
_JOINTS = ("", "s", "n", "en", "es")  # between the words of a German compound


@dataclass(frozen=True)
class _Meaning:
    """The concepts in the name of a column, and how many of its words are unknown."""

    concepts: Counter[str]
    unknown: int


def _meanings(column: str) -> tuple[_Meaning, ...]:
    """Return what a name says, and what each side of a slash, or the name without its brackets, says alone."""
    name = _REPEATED.sub("", column).strip()
    sides = name.split("/") if "/" in name and len(name) <= _LONGEST_NAME else []
    if _CJK.search(name):
        sides.append(re.sub(r"[()（）\[\]]", "", name))  # 发明(设计)人
    return tuple(map(_meaning, (name, *filter(str.strip, sides))))


@lru_cache(maxsize=1 << 12)
def _meaning(name: str) -> _Meaning:
    if len(name) > _LONGEST_NAME:
        return _Meaning(Counter(), 1)
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", unicodedata.normalize("NFKC", name))  # publicationNumber
    concepts: Counter[str] = Counter()
    unknown = 0
    # Words in brackets are often about the form, such as (YYYY-MM-DD): unknown ones do not count.
    for text, in_brackets in (
        (re.sub(r"[(\[].*?[)\]]", " ", apart), False),
        (" ".join(re.findall(r"[(\[](.*?)[)\]]", apart)), True),
    ):
        words = re.findall(r"[^\W_]+", _folded(text))
        if words and f"-{words[-1]}" in _WORDS and (in_brackets or len(words) > 1):
            words[-1] = f"-{words[-1]}"  # a word that means something else elsewhere, such as Title (DE)
        while words:
            size = next((n for n in range(min(_PHRASE, len(words)), 0, -1) if " ".join(words[:n]) in _WORDS), 0)
            said, odd = (_WORDS[" ".join(words[:size])], 0) if size else _split_word(words[0])
            concepts.update(said)
            unknown += odd and not in_brackets
            del words[: size or 1]
    del concepts["ignored"]
    return _Meaning(concepts, unknown)


def _split_word(word: str) -> tuple[tuple[str, ...], int]:
    """Return the concepts of the words of a compound, and the number of its unknown words."""
    if not _CJK.search(word):
        found = _WORDS.get(word.removesuffix("s")) or _compound(word)
        return (found, 0) if found else ((), 1)
    said: list[str] = []
    unknown = start = 0
    was_known = True
    while start < len(word):
        end = next((e for e in range(min(len(word), start + _LONGEST_WORD), start, -1) if word[start:e] in _WORDS), 0)
        if end:
            said += _WORDS[word[start:end]]
        else:
            unknown += was_known
        was_known, start = bool(end), end or start + 1
    return tuple(said), unknown


def _compound(word: str) -> tuple[str, ...]:
    """Return the concepts of a word that consists of known ones (Veröffentlichungsnummer), else nothing."""
    for end in range(len(word) - 1, _SHORTEST_IN_COMPOUND - 1, -1):
        first = _WORDS.get(word[:end])
        for joint in _JOINTS if first else ():
            rest = word[end:].removeprefix(joint)
            known = _WORDS.get(rest) if len(rest) >= _SHORTEST_IN_COMPOUND or rest in ("id", "nr", "no") else None
            if word[end:].startswith(joint) and first and (known := known or _compound(rest)):
                return first + known
    return ()


@dataclass(frozen=True)
class _Field:
    """A field, and the names and values that are its own, as in ``headers.toml``."""

    section: str
    name: str
    sets: tuple[frozenset[str], ...] = ()
    weak: tuple[frozenset[str], ...] = ()
    bare: tuple[frozenset[str], ...] = ()
    also: frozenset[str] = frozenset()
    rather_not: frozenset[str] = frozenset()
    fits: frozenset[Kind] = frozenset()
    unfit: frozenset[Kind] = frozenset()

    def score_of(self, meaning: _Meaning) -> tuple[float, bool]:
        """Return how well a name says the field, and whether the values must say it too; (0, False) if it does not.

        The weights are a choice: a full name is worth more than the values of a column, and an unknown word less than
        a word that makes the field less likely.
        """
        said, unknown = meaning.concepts, meaning.unknown
        if unknown > min(2, len(said)):
            return 0.0, False
        scores = [(0.0, False)]
        for sets, worth in ((self.sets, 6.0), (self.bare, 4.0), (self.weak, 3.0)):
            for place, needed in enumerate(sets):
                rest = said.keys() - needed
                if not needed <= said.keys() or rest - self.also - self.rather_not:
                    continue
                if sets is not self.sets and (unknown or (sets is self.bare and rest)):
                    continue
                against = sum(1.5 if one in self.rather_not else 0.2 for one in rest)
                scores.append((worth - 0.3 * place - against - unknown, sets is self.weak))
        return max(scores)


def _field(section: str, name: str, settings: Mapping[str, Any]) -> _Field:
    sets, weak, bare = (
        tuple(frozenset(one.split()) for one in settings.get(key, ())) for key in ("sets", "weak", "bare")
    )
    also, rather_not = (frozenset(settings.get(key, "").split()) for key in ("also", "rather_not"))
    also |= {"patent", "original", "current", "edited"}
    fits, unfit = (frozenset(map(Kind, settings.get(key, ()))) for key in ("fits", "unfit"))
    return _Field(section, name, sets, weak, bare, also, rather_not, fits, unfit)


_ALL = [_field(section, name, one) for section, fields in _HEADERS.items() for name, one in fields.items()]
_OF_FIELDS = frozenset().union(
    *(concepts for one in _ALL for concepts in (*one.sets, *one.weak, *one.bare, one.also, one.rather_not))
)
_SAYS_NOTHING = {"number", "id", "patent", "text", "name", "original", "current", "english", "foreign", "code", "class"}


def is_known(column: str) -> bool:
    """Whether the name of a column says a field. Long numbers are values, of a table without header."""
    if re.search(r"\d{5}", column):
        return False
    return any(one.score_of(meaning)[0] >= 4.0 for meaning in _meanings(column) for one in _ALL)


@dataclass
class _Guess:
    """Field -> columns, the best first; what the values of each column are; why a column is taken or is not."""

    typed: Mapping[str, Typed]
    columns: dict[_Field, list[str]] = field(default_factory=dict)
    by_values: dict[str, str] = field(default_factory=dict)
    continued: dict[str, list[str]] = field(default_factory=dict)
    unused: dict[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """The best column of a field, empty if there is none."""
        return next((columns[0] for one, columns in self.columns.items() if one.name == name), "")

    def kind(self, column: str) -> Kind | None:
        return self.typed[column].kind if column in self.typed else None

    def used(self) -> set[str]:
        lists = (*self.columns.values(), *self.continued.values())
        return {name for names in lists for name in names}


@dataclass(frozen=True)
class Suggestion:
    """A column map in TOML, and why columns were taken by their values or not used."""

    toml: str
    by_values: Mapping[str, str]
    unused: Mapping[str, str]


def suggest(
    path: Path, *, unfinished: bool = False, sheets: Collection[str] = (), without: Collection[str] = ()
) -> Suggestion:
    """Return a column map for a table, with unknown columns in comments, and the notes on each guess.

    Columns ``without`` are not used.
    """
    with readable(path):
        found = path.stat()
    return _suggest(path, unfinished, tuple(sheets), frozenset(without), found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=16)
def _suggest(
    path: Path, unfinished: bool, sheets: tuple[str, ...], without: frozenset[str], _bytes: int, _changed: int
) -> Suggestion:
    """Look at the columns once for the recognition, the preview and the reading of a file."""
    sheet = open_sheet(path, is_known, sheets=sheets)
    guess = _guess([name for name in sheet.columns if name not in without], types_of(sheet))
    sections = _sections(guess)
    numberless = not any(
        "publication_number" in fields or {"citing", "cited"} <= fields.keys() for _, fields in sections
    )
    named = [name for name in sheet.columns if read_number(name)]
    if len(named) > 1 and not unfinished:
        problem = f"the columns are named after patents ({', '.join(named[:2])}): rows and columns are swapped"
        remedy = "swap them, so that each patent is a row (Excel: copy, then paste special, transpose)"
        raise DataError(problem, path=path, remedy=remedy)
    if first := next((name for name in guess.by_values if read_number(name)), ""):
        remedy = "write a first row with the names of the columns, such as Publication Number and Title"
        raise DataError(f"the table has no header: '{first}' is a number", path=path, remedy=remedy)
    if numberless and not unfinished:
        raise DataError(_without_number(sheet.columns, guess), path=path, remedy=_MAP_BY_HAND.format(path.name))
    if numberless:
        sections = [
            ("fields", {"publication_number": [], **dict(sections).get("fields", {})}),
            *(one for one in sections if one[0] != "fields"),
        ]
    lines = [f"name = {_quoted(path.name.partition('.')[0])}"]
    for section, fields in sections:
        lines += ["", _TITLES.get(section, "[[citations]]")]
        if section == "labels":
            lines.append('landscape = { constant = "Topics" }')
        for ours, theirs in fields.items():
            first = theirs[0] if theirs else ""
            why = f"  # by its values: {guess.by_values[first]}" if first in guess.by_values else ""
            lines.append(
                f"{ours} = {_written(ours, theirs, guess)}{why}" if theirs else f'# {ours} = "name its column"'
            )
    placed = {name for _, fields in sections for names in fields.values() for name in names} | guess.used()
    if rest := [name for name in sheet.columns if name not in placed]:
        lines += ["", f"# not read: {', '.join(_quoted(name) for name in rest)}"]
        lines += [f"# {_quoted(name)}: {guess.unused[name]}" for name in rest if name in guess.unused]
    return Suggestion("\n".join(lines) + "\n", guess.by_values, guess.unused)


_MAP_BY_HAND = "patent-mteb data import --suggest {} > map.toml writes a map to be finished by hand; name it with --map"


def _without_number(columns: Sequence[str], guess: _Guess) -> str:
    """Why a table has no column of a number: which columns have numbers, or what the columns are called."""
    numbers = [name for name in columns if guess.kind(name) is Kind.NUMBERS]
    if numbers:
        names = ", ".join(map(repr, numbers[:3]))
        return f"no column looks like a publication number by its name: {names} have numbers, but not of what"
    return f"no column looks like a publication number (columns: {shorten(', '.join(columns), 200)})"


def types_of(sheet: Sheet) -> dict[str, Typed]:
    """Return the types of the columns of a table, by its first rows."""
    sample = [row for _, row in itertools.islice(sheet.rows, _SAMPLE) if not isinstance(row, Skipped)]
    empty = EMPTY | EXCEL_ERRORS
    types = {}
    for name in sheet.columns:
        values = [row[name] for row in sample if text_of(row.get(name)) not in empty]
        digits = bool(values) and _most(values, lambda value: text_of(value)[:1].isdigit())
        office = _office_in(name, values) if digits else ""
        filled = len(values) / max(len(sample), 1)
        types[name] = replace(kind_of(values), filled=filled, without_office=digits, office=office)
    return types


def _guess(columns: Sequence[str], typed: Mapping[str, Typed]) -> _Guess:
    """Assign columns to fields: the greatest total score, each column and each field once."""
    from scipy.optimize import linear_sum_assignment

    guess = _Guess(typed)
    pairs = not any(_says(column, "publication_number") for column in columns)
    offices = any(typed[column].kind is Kind.OFFICES and _says(column, "country") for column in columns)
    scores = {(column, one): _score(one, column, typed[column], pairs, offices) for column in columns for one in _ALL}
    table = [[max(scores[column, one], 0.0) for one in _ALL] for column in columns]
    if columns:
        for row, place in zip(*linear_sum_assignment(table, maximize=True), strict=True):
            if table[row][place] > 0:
                guess.columns.setdefault(_ALL[place], []).append(columns[row])
    _continue(columns, guess)
    _by_values(columns, guess)
    for one, chosen in list(guess.columns.items()):
        free = sorted(
            (name for name in columns if name not in guess.used()), key=lambda name: -scores.get((name, one), 0)
        )
        chosen += [name for name in free if _adds(one, name, chosen[0], scores, guess)]
    _explain(columns, guess)
    return guess


def _says(column: str, name: str) -> bool:
    (one,) = (one for one in _ALL if one.name == name)
    return any(one.score_of(meaning)[0] > 0 for meaning in _meanings(column))


def _name_score(one: _Field, column: str) -> tuple[float, bool]:
    """The score of a name; a side of a slash alone says less than the whole."""
    scores = [
        (score - 0.5 * bool(n), weak) for n, (score, weak) in enumerate(map(one.score_of, _meanings(column))) if score
    ]
    return max(scores, default=(0.0, False))


def _score(one: _Field, column: str, typed: Typed, pairs: bool = False, offices: bool = False) -> float:
    """How well a column is a field, by its name and its values; 0 or less if it is not.

    The table may be one of ``pairs``, or have a column of ``offices`` for the numbers without one.
    """
    by_name, weak = _name_score(one, column)
    kind = typed.kind
    is_empty = kind is Kind.EMPTY
    ids = pairs and kind is Kind.COUNT and one.name in ("citing", "cited")  # the ids of a table of pairs
    if not by_name or (kind in one.unfit and not ids):
        return 0.0
    if weak and not (kind in one.fits or (is_empty and {Kind.DATE, Kind.TEXT} & one.fits)):
        return 0.0
    if one.name == "family_id" and kind is Kind.COUNT and not _meanings(column)[0].concepts.keys() & {"id", "number"}:
        return 0.0  # the size of the family
    if one.name == "family_id" and kind is Kind.NUMBERS and typed.separators:
        return 0.0  # its members
    fits = kind in one.fits or (offices and typed.without_office and one.name in _NUMBERS)
    # Texts are read from the next column where the best one is empty, so the language counts more than gaps.
    score = by_name + 2.0 * fits + typed.filled * (0.1 if one.name in _WITH_OTHERS else 1.0)
    if one.name == "publication_number":
        running = kind is Kind.COUNT and "publication" not in _meanings(column)[0].concepts
        # A table has a number before it has other fields, and each row has it.
        score += 3.0 + typed.filled - 3.5 * running - 0.5 * bool(typed.separators)
    score -= 0.5 * bool(_REPEATED.search(column))
    return score / 10 if is_empty else score  # any full column is preferred to an empty one


def _adds(one: _Field, column: str, first: str, scores: Mapping[tuple[str, _Field], float], guess: _Guess) -> bool:
    """Whether a further column is of a field: another list of citations, or where the best column may be empty."""
    by_name, weak = _name_score(one, column)
    if not by_name or _REPEATED.search(column) or column in guess.by_values:
        return False
    kind, best = guess.kind(column), guess.kind(first)
    if one.name == "publication_number":
        same = (
            kind is best or Kind.EMPTY in (kind, best) or (kind is Kind.NUMBERS and not guess.typed[column].separators)
        )
        return by_name >= 4.0 and not weak and same and kind is not Kind.COUNT and kind not in one.unfit
    if one.section in ("citations", "forward"):
        return one.name != "category" and scores[column, one] > 0 and kind is Kind.NUMBERS
    if one.name == "publication_date":  # a grant may have the date of its registration only
        return scores[column, one] > 0 and kind is Kind.DATE and guess.typed[first].filled < 1
    if one.name in _CLASSES:
        says = [_meanings(name)[0].concepts for name in (first, column)]
        apart = "first" in says[0] or "further" in says[1]
        return apart and kind is Kind.CLASSES and scores[column, one] > 0
    if one.name in _WITH_OTHERS:
        return scores[column, one] > 0 and not weak and guess.typed[first].filled < 1
    return False


def _office_in(column: str, values: Sequence[Any]) -> str:
    """The office of numbers without one: that in the name of their column, such as ``US Patent Number``, or Korea.

    Korea is that of numbers in its form under a Korean name: thirteen digits are a number of Brazil, too.
    """
    words = re.findall(r"[^\W_]+", column.casefold())
    if office := next((office for office, names in _OFFICE_WORDS.items() for word in words if word in names), ""):
        return office
    is_korean = _HANGUL.search(column) and _most(values, lambda value: bool(_KOREAN.fullmatch(text_of(value))))
    return "KR" if is_korean else ""


def _continue(columns: Sequence[str], guess: _Guess) -> None:
    """Find the columns that continue a text, such as ``Claims (cont.)``, or a name, such as ``inventor_last``."""
    for one, chosen in list(guess.columns.items()):
        if one.name in ("inventors", "applicants"):
            _join_names(one, columns, guess)
        if one.name in _CONTINUED:
            name = re.escape(" ".join(re.findall(r"[^\W_]+", _folded(chosen[0]))))
            follow = re.compile(rf"{name} ?(?:cont|continued|continuation|part \d+|\d+|fortsetzung|suite|续)")
            rest = [name for name in columns if follow.fullmatch(" ".join(re.findall(r"[^\W_]+", _folded(name))))]
            if rest := [name for name in rest if name not in guess.used()]:
                guess.continued[chosen[0]] = rest


def _join_names(one: _Field, columns: Sequence[str], guess: _Guess) -> None:
    """Join first and last names in columns of their own, behind that of organisations. Lists of them are not read."""
    pairs = [(name, re.sub("first", "last", name, flags=re.IGNORECASE)) for name in columns]
    there = {_folded(name): name for name in columns}
    apart = [
        (first, there[_folded(last)])
        for first, last in pairs
        if last != first and _folded(last) in there and _name_score(one, first)[0]
    ]
    names = [name for pair in apart for name in pair]
    if not names:
        return
    whole = [name for name in columns if name not in names and name not in guess.used() and _name_score(one, name)[0]]
    chosen = [name for name in (*guess.columns[one], *whole) if name not in names][:1]
    if any(guess.typed[name].separators for name in names):
        guess.unused |= dict.fromkeys(names, "first and last names in lists of their own: not used")
    else:
        chosen += names
    if chosen:
        guess.columns[one] = chosen[:1]
        guess.continued[chosen[0]] = chosen[1:]
    else:
        del guess.columns[one]


def _by_values(columns: Sequence[str], guess: _Guess) -> None:
    """Assign columns whose names say nothing to the fields that only they fit."""
    fields = {one.name: one for one in _ALL if one.section == "fields"}
    nameless = [name for name in columns if not _meanings(name)[0].concepts.keys() - _SAYS_NOTHING]
    free = [name for name in nameless if name not in guess.used()]
    for ours, kind in (
        ("publication_number", Kind.NUMBERS),
        ("claims", Kind.CLAIMS),
        ("ipc", Kind.CLASSES),
        ("abstract", Kind.TEXT),
    ):
        fit = [name for name in free if guess.kind(name) is kind]
        what = {name: guess.typed[name].what for name in fit}
        if ours == "publication_number":
            fit = [name for name in fit if not guess.typed[name].separators and "each different" in what[name]]
            if len(fit) == 1 and guess.kind(guess.of(ours)) is Kind.COUNT:
                guess.unused[guess.columns.pop(fields[ours])[0]] = "a running number: not used"
        if ours == "abstract":
            fit = [name for name in fit if guess.typed[name].is_prose]
        if ours == "ipc" and len(fit) == 1 and "IPC" not in what[fit[0]]:
            ours = "cpc"
        if guess.of(ours) or len(fit) != 1 or (ours == "abstract" and guess.of("description")):
            continue
        guess.columns[fields[ours]] = fit
        guess.by_values[fit[0]] = what[fit[0]]


def _explain(columns: Sequence[str], guess: _Guess) -> None:
    """Say why columns are not used whose names say a field, or whose values could be one."""
    for column in columns:
        if column in guess.used() or column in guess.unused:
            continue
        typed = guess.typed[column]
        names = sorted(((_name_score(one, column)[0], one.name, one) for one in _ALL), key=lambda one: -one[0])
        by_name, ours, best = names[0]
        other = guess.of(ours)
        if by_name and ours == "family_id" and typed.kind is Kind.COUNT:
            guess.unused[column] = f"{typed.what}, looks like the size of the family: not used"
        elif by_name and typed.kind in best.unfit:
            guess.unused[column] = f"{typed.what}, not {ours}: not used"
        elif typed.kind in (Kind.NUMBERS, Kind.DATE, Kind.YEARS, Kind.CLASSES):
            if by_name and other:
                guess.unused[column] = f"{typed.what}; {ours} is read from '{other}': not used"
            elif not _meanings(column)[0].concepts.keys() - _OF_FIELDS:
                guess.unused[column] = f"{typed.what}; the name does not say of what: not used"


def _sections(guess: _Guess) -> list[tuple[str, dict[str, list[str]]]]:
    """Return the sections of a map with the columns of each field; those of citations may be several."""
    found: dict[str, dict[str, list[str]]] = {}
    for one in sorted(guess.columns, key=lambda one: (guess.columns[one][0] in guess.by_values, _ALL.index(one))):
        found.setdefault(one.section, {})[one.name] = guess.columns[one]
    found = {section: found[section] for section in _HEADERS if section in found}
    fields, cited = found.get("fields", {}), found.get("citations", {})
    number, citing = fields.get("publication_number", []), found.get("forward", {}).get("citing", [])
    pair = [*cited.get("cited", []), *(citing or number)]
    listed = any(guess.typed[name].separators for name in pair)
    only_pairs = (
        not listed and len(pair) > 1 and not fields.keys() - {"publication_number", "kind", "application_number"}
    )
    if only_pairs and (citing or "each different" not in guess.typed[number[0]].what):
        return [("citations", {"citing": (citing or number)[:1], **cited})]
    if "description" in fields:
        found["fields"] = {ours: theirs for ours, theirs in fields.items() if not ours.startswith("description.")}
    sections: list[tuple[str, dict[str, list[str]]]] = []
    for section, names in found.items():
        if section == "citations" and names.get("cited"):
            first, *others = names["cited"]
            sections += [(section, {**names, "cited": [first]}), *((section, {"cited": [name]}) for name in others)]
        elif section == "forward" and number:
            sections += [(section, {"citing": [name]}) for name in names["citing"]]
        elif section in ("fields", "relations") or (section == "labels" and "coarse" in names):
            sections.append((section, names))
    return sections


def _written(ours: str, theirs: Sequence[str], guess: _Guess) -> str:
    if len(theirs) == 1 and guess.continued.get(theirs[0]):
        return f'{{ column = {_quoted([theirs[0], *guess.continued[theirs[0]]])}, join = " " }}'
    settings = {"column": _quoted(theirs[0] if len(theirs) == 1 else list(theirs))}
    separators = tuple(dict.fromkeys(mark for name in theirs for mark in guess.typed[name].separators))
    if ours in _CLASSES and len(theirs) > 1:
        separators = tuple(dict.fromkeys(("\n", *separators)))
        settings["join"] = _quoted("\n")
    if separators and ours in _SEPARATED:
        settings["separator"] = _quoted(separators if len(separators) > 1 else separators[0])
    office = guess.of("country")
    numbers = [name for one in _NUMBERS for name in [guess.of(one)] if name]
    if office and ours in _NUMBERS and any(guess.typed[name].without_office for name in numbers):
        settings["office_column"] = _quoted(office)
    elif ours in _NUMBERS and (named := guess.typed[theirs[0]].office):
        settings["office"] = _quoted(named)
    if settings.keys() == {"column"}:
        return settings["column"]
    return f"{{ {', '.join(f'{name} = {value}' for name, value in settings.items())} }}"
