"""Parse the values of exports and bulk files: dates, numbers, languages, codes, lists, nested values and texts."""

from __future__ import annotations

import ast
import contextlib
import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from patent_mteb.patents.numbers import read_application, read_number

UNREAD = "a number that cannot be read, stored as written"
UNREAD_DAY = "a date that cannot be read, left empty"
_NO_DAY = re.compile(r"[0-]*|9999-?12-?31")
_DAY = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ].*)?")


def day(text: str | int | None) -> dt.date | None:
    """Parse ``YYYYMMDD`` or ``YYYY-MM-DD``; return None for ``0``, ``9999-12-31`` and invalid dates.

    A day or month 00 (USPTO's cited documents) means the first.
    """
    match = _DAY.fullmatch(str(text or "").strip())
    if not match or not 1700 <= int(match[1]) < 2200:
        return None
    with contextlib.suppress(ValueError):
        return dt.date(int(match[1]), int(match[2]) or 1, int(match[3]) or 1)
    return None


def unread_day(text: str | int | None) -> bool:
    """Whether a text is an invalid date for :func:`day`, and not a value for an unknown date."""
    return day(text) is None and not _NO_DAY.fullmatch(str(text or "").strip())


def has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _as_written(text: str, office: str, kind: str) -> str:
    bare = "".join(character for character in text.upper() if character.isalnum())
    if not bare:
        return ""
    return (bare if bare.startswith(office.upper()) else office.upper() + bare) + (kind if kind.isalnum() else "")


def publication(text: str, office: str = "", kind: str = "") -> str:
    """Return the normal form of a publication number, or its text without separators if it cannot be read."""
    number = read_number(text, office, kind)
    return number.docdb if number else _as_written(text, office, kind)


def application(text: str, office: str = "", kind: str = "") -> str:
    """Return the normal form of an application number, or its text without separators if it cannot be read."""
    number = read_application(text, office, kind)
    return number.key if number else _as_written(text, office, "")


def reads(text: str, office: str = "", kind: str = "") -> bool:
    """Whether a publication number can be read."""
    return read_number(text, office, kind) is not None


_CODE = re.compile(r"([A-H]\s?\d\d\s?[A-Z])\s*(\d{1,4})\s*/\s*(\d{2,6})")


def ipc_code(text: str) -> str:
    """Return an IPC or CPC code without the spaces of fixed columns and qualifiers; other text is only trimmed."""
    match = _CODE.search(text)
    return f"{match[1].replace(' ', '')}{int(match[2])}/{match[3]}" if match else " ".join(text.split())


def language(text: str | None) -> str:
    """Return the ISO 639-1 code of a language (``EN``, ``en``), empty if it is unknown (``xx``)."""
    code = (text or "").strip().lower()[:2]
    return "" if code == "xx" or not code.isalpha() else code


_NO_DATE = {"", "0", "00000000", "0000-00-00", "99991231", "9999-12-31"}

_DATE = re.compile(
    r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})|(?P<y2>\d{4})(?:[-/.](?P<m2>\d{1,2})(?:[-/.](?P<d2>\d{1,2})(?:[T ].*)?)?)?"
    r"|(?P<d3>\d{1,2})\.(?P<m3>\d{1,2})\.(?P<y3>\d{4})"
)

_WORDED = ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y")
_SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})")
_SEPARATOR = re.compile(r"\s*(?:\||;|\n)\s*")
_QUOTED_WITHOUT_COMMAS = re.compile(r"\[\s*(?:'[^']*'\s*)+\]")
_CLAIM_RANGE = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")


def read_date(value: Any, forms: Sequence[str] = ()) -> dt.date | None:
    """Parse a date of an export; return None for 0 and 9999-12-31, and raise ValueError for invalid dates.

    The forms are ISO 8601 with or without a time, 20190102, 2019-01 and 2019 (their first day), 19980800, 02.01.2019,
    31/12/2019 and 12/31/2019 if one of the numbers exceeds 12, and English names of months.
    """
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return None if value.year == 9999 else value
    text = text_of(value)
    if text in _NO_DATE:
        return None
    if date := _of_form(text, forms):
        return date
    if forms:
        raise ValueError(f"'{text}' is not a date of the form {' or '.join(forms)}")
    if found := _DATE.fullmatch(text):
        part = {name.rstrip("23"): int(number) for name, number in found.groupdict().items() if number}
        return dt.date(part["y"], part.get("m") or 1, part.get("d") or 1)
    if found := _SLASHED.fullmatch(text):
        first, second, year = map(int, found.groups())
        if first > 12 >= second or first == second:
            return dt.date(year, second, first)
        if second > 12 >= first:
            return dt.date(year, first, second)
        raise ValueError(f"'{text}' is ambiguous")
    if date := _of_form(text, _WORDED):
        return date
    raise ValueError(f"'{text}' is not a date")


def _of_form(text: str, forms: Sequence[str]) -> dt.date | None:
    for form in forms:
        with contextlib.suppress(ValueError):
            return dt.datetime.strptime(text, form).date()
    return None


def has_day(value: Any) -> bool:
    """Whether a value that :func:`read_date` accepts includes the day."""
    return isinstance(value, dt.date) or not re.fullmatch(r"\d{4}(?:[-/.]\d{1,2})?|\d{6}00", text_of(value))


def text_of(value: Any) -> str:
    """Return the text of a cell: whole numbers without ``.0``, dates in ISO 8601, lists with one line per member."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "" if value != value else str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat()
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(text_of, value)))
    return str(value).strip()


def text_in(row: Mapping[str, Any], name: str) -> str:
    """Return the value of a field as trimmed text, empty if it is missing."""
    value = row.get(name)
    return "" if value is None else str(value).strip()


def unpacked(value: Any) -> Any:
    """Parse a cell with a list or an object in JSON, Python or NumPy syntax; return any other value unchanged."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text or (text[0], text[-1]) not in (("[", "]"), ("{", "}")):
        return value
    if _QUOTED_WITHOUT_COMMAS.fullmatch(text):
        return re.findall(r"'([^']*)'", text)
    for read in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            if isinstance(found := read(text), list | tuple | dict):
                return found
    return value


def flat(row: Any, name: str) -> Iterator[Any]:
    """Yield the values of a dotted name in nested objects and lists, None for objects without it."""
    value = unpacked(row)
    if isinstance(value, list | tuple):
        for member in value:
            yield from flat(member, name)
    elif not name:
        yield value
    elif isinstance(value, Mapping):
        if name in value:
            yield from flat(value[name], "")
        else:
            step, _, rest = name.partition(".")
            yield from flat(value.get(step), rest)
    else:
        yield None


def listed(value: Any, separators: Sequence[str] = ()) -> list[str]:
    """Return the texts of a list, or of a text with separators (default: ``|``, ``;`` and line ends)."""
    value = unpacked(value)
    if isinstance(value, list | tuple):
        return [text for member in value for text in listed(member, separators)]
    pattern = re.compile("|".join(map(re.escape, separators))) if separators else _SEPARATOR
    return [text.strip() for text in pattern.split(text_of(value)) if text.strip()]


def claim_numbers(text: str) -> tuple[int, ...]:
    """Return the claims of a search report, such as ``1-3,7``."""
    ranges = [(int(first), int(last or first)) for first, last in _CLAIM_RANGE.findall(text)]
    return tuple(sorted({number for first, last in ranges for number in range(first, min(last, first + 999) + 1)}))
