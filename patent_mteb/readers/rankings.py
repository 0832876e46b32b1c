"""Rankings and hit lists of other systems in tables: CSV, TSV, workbooks, JSON lines.

Columns are recognised by their names, in English, German, French and Spanish (``[rankings]`` of ``codes.toml``). One
column may have the patents of a query as a list, separated by semicolons, bars or lines. A row with a query and
without a document is a query that found nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from patent_mteb.errors import DataError, readable
from patent_mteb.patents.numbers import read_number
from patent_mteb.readers.columns import Kind, types_of
from patent_mteb.readers.items import Skipped
from patent_mteb.readers.sheets import Sheet, form_of, lines_of, open_sheet
from patent_mteb.readers.values import CODES

Order = Literal["score", "rank", "-score", "none"]
_WORDS: Mapping[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in CODES["rankings"].items()}
_NAMES = "call the columns query, document, score and rank"
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DECIMAL_COMMA = re.compile(r"(-?\d+),(\d+)")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}[.,]\d{3}")  # or a decimal
_DECIMALS = re.compile(r"-?\d+[.,]\d+")
_START = 1 << 16  # bytes in which the first row that is filled must stand
_BETWEEN = re.compile(r"[;|\n]")


class Entry(NamedTuple):
    """A document that a query found, empty for none, with rank and score as written, and the row of the file."""

    row: int
    query: str
    document: str
    rank: str
    score: str


def is_table(path: Path) -> bool:
    """Whether a file is a table, and not a run in TREC form, whose columns are separated by blanks."""
    with readable(path), path.open("rb") as stream:
        words = next(filter(None, map(bytes.split, stream.read(_START).splitlines())), [])
    if len(words) == 6 and (words[1] in (b"Q0", b"0") or words[3].isdigit()):
        return False
    if (form := form_of(path)) != "text":
        return bool(form)
    first = next((line for _, line in lines_of(path) if line.strip()), "")
    return any(mark in first for mark in ",;\t|") or read_number(first) is not None  # a list of numbers alone


def _role(column: str) -> str:
    """What a column has by its name: a key of ``[rankings]``, or nothing."""
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", column).casefold())
    words = re.findall(r"[^\W_]+", "".join(one for one in plain if not unicodedata.combining(one)))
    rest = [word for word in words if word not in _WORDS["number"] and word not in _WORDS["patent"]]
    if not rest:
        return "patent" if _WORDS["patent"].intersection(words) else ""
    if _WORDS["query"].intersection(rest) and (_WORDS["query"] | _WORDS["also_of_a_query"]).issuperset(rest):
        return "query"
    return next((role for role in ("distance", "score", "rank", "document") if _WORDS[role].issuperset(rest)), "")


def _is_known(column: str) -> bool:
    return bool(_role(column))


def _columns(path: Path, sheet: Sheet) -> dict[str, str]:
    """The column of each role. What could be two columns is refused.

    If no name is that of the query, or of the document, it is the only other column with publication numbers.
    """
    roles: dict[str, list[str]] = {}
    for name in sheet.columns:
        roles.setdefault(_role(name), []).append(name)
    patents = roles.pop("patent", [])
    others = roles.pop("", [])
    if patents and "document" not in roles:  # a publication number is that of the document, or of the query
        roles["document"] = patents
    elif patents and "query" not in roles:
        roles["query"] = patents
    if others and len(missing := {"query", "document"} - roles.keys()) == 1:
        typed = types_of(open_sheet(path, _is_known))
        if len(numbers := [name for name in others if typed[name].kind is Kind.NUMBERS]) == 1:
            roles[missing.pop()] = numbers
    if several := [(role, found) for role, found in roles.items() if len(found) > 1]:
        role, found = several[0]
        problem = f"{len(found)} columns may have the {role}: {', '.join(map(repr, found))}"
        raise DataError(problem, path=path, remedy=f"keep one of them, or {_NAMES}")
    if "document" not in roles:
        listed = ", ".join(map(repr, sheet.columns))
        raise DataError(f"no column names the documents (columns: {listed})", path=path, remedy=_NAMES)
    return {role: found[0] for role, found in roles.items()}


def read_entries(path: Path, order: Order | None) -> tuple[Iterator[Entry], Order | None]:
    """Return the entries of a table, and the order that holds: the stated one, or the only one that it has.

    Without a rank the rows of a query are numbered. Without a column of queries, all rows are of the query ``""``.
    """
    sheet = open_sheet(path, _is_known)
    columns = _columns(path, sheet)
    score = columns.get("score") or columns.get("distance")
    if order is None and "distance" in columns:
        remedy = "state which are best: --order -score (small), --order score (great)"
        raise DataError(f"small or great values of '{columns['distance']}' may be best", path=path, remedy=remedy)
    if order in ("score", "-score") and not score:
        raise DataError("no column has scores", path=path, remedy=f"{_NAMES}, or use --order rank")
    if order is None and not score and "rank" not in columns:
        remedy = "state the order of the rows: --order none (a set), --order rank (best first); or name a column score"
        listed = ", ".join(map(repr, sheet.columns))
        raise DataError(f"no column is a score or a rank (columns: {listed})", path=path, remedy=remedy)
    if order is None and bool(score) != ("rank" in columns):
        order = "score" if score else "rank"
    return _entries(path, sheet.rows, columns, score or "", order != "rank"), order


def _entries(
    path: Path, rows: Iterator[tuple[str, Any]], columns: Mapping[str, str], score: str, by_score: bool
) -> Iterator[Entry]:
    seen = Counter[str]()
    separators = _Separators()
    for place, row in rows:
        found = re.search(r"\d+$", place)
        number = int(found[0]) if found else 0
        if isinstance(row, Skipped):
            raise DataError(row.reason, path=path, row=number, remedy="correct the row, or drop it")
        query = _text(row.get(columns.get("query", "")))
        cell = _text(row.get(columns["document"]))
        if not query and not cell:
            continue
        if not query and "query" in columns:
            raise DataError("the query is missing", path=path, row=number, remedy="write it in each row")
        documents = [text for part in _BETWEEN.split(cell) if (text := part.strip())]
        for document in documents or [""]:
            seen[query] += 1
            rank = _text(row.get(columns.get("rank", ""))).rstrip(".") if "rank" in columns else str(seen[query])
            separators.see(row.get(score), number)
            yield Entry(number, query, document, rank, _decimal(_text(row.get(score))) if score else "0")
    if by_score:
        separators.refuse(path)


class _Separators:
    """Whether ``1,010`` among scores is 1.010 or 1010: among whole numbers without a separator both are possible."""

    def __init__(self) -> None:
        self._grouped: tuple[int, str] | None = None
        self._has_whole = self._has_decimals = False

    def see(self, score: Any, row: int) -> None:
        if not isinstance(score, str):  # a number of a workbook or of JSON has no separators
            return
        text = score.removesuffix("%").strip()
        if _THOUSANDS.fullmatch(text):
            self._grouped = self._grouped or (row, text)
        self._has_whole |= text.removeprefix("-").isdecimal()
        self._has_decimals |= bool(_DECIMALS.fullmatch(text)) and not _THOUSANDS.fullmatch(text)

    def refuse(self, path: Path) -> None:
        if self._grouped and self._has_whole and not self._has_decimals:
            row, text = self._grouped
            remedy = "write the scores without separators of thousands, or state --order rank with a column of ranks"
            raise DataError(f"the score {text!r} is a thousand or a decimal", path=path, row=row, remedy=remedy)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else " ".join(str(value).replace("\n", " | ").split())


def _decimal(text: str) -> str:
    """A score with a decimal comma or a percent sign as a number."""
    text = text.removesuffix("%").strip()
    return f"{comma[1]}.{comma[2]}" if (comma := _DECIMAL_COMMA.fullmatch(text)) else text
