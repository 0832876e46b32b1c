"""What stands in a cell: dates, lists, nested values, texts, in the forms that exports write them."""

from __future__ import annotations

import ast
import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["claim_numbers", "flat", "is_whole_date", "listed", "read_date", "text_in", "text_of", "unpacked"]

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
    """A date as an export writes it; None for the values that stand for none (0, 9999-12-31).

    Read are ISO 8601 with or without a time, 20190102, 2019-01 and 2019 (their first day), 19980800, 02.01.2019, 31/12/2019 and
    12/31/2019 where one of the numbers can be no month, and English names of months.

    Args:
        forms: of strptime; only these are read if there are any.

    Raises:
        ValueError: the value is no date, or 01/02/2019.

    Example:
        >>> from patent_mteb.readers.values import read_date
        >>> [str(read_date(value)) for value in (20190102, "02.01.2019", "2019-01", 0)]
        ['2019-01-02', '2019-01-02', '2019-01-01', 'None']
    """
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return None if value.year == 9999 else value
    text = text_of(value)
    if text in _NO_DATE:
        return None
    for form in forms:
        try:
            return dt.datetime.strptime(text, form).date()
        except ValueError:
            continue
    if forms:
        raise ValueError(f"'{text}' is no date of the form {' or '.join(forms)}")
    if found := _DATE.fullmatch(text):
        part = {name.rstrip("23"): int(number) for name, number in found.groupdict().items() if number}
        return dt.date(part["y"], part.get("m") or 1, part.get("d") or 1)
    if found := _SLASHED.fullmatch(text):
        first, second, year = map(int, found.groups())
        if first > 12 >= second or first == second:
            return dt.date(year, second, first)
        if second > 12 >= first:
            return dt.date(year, first, second)
        raise ValueError(f"'{text}' may be two dates")
    for form in _WORDED:
        try:
            return dt.datetime.strptime(text, form).date()
        except ValueError:
            continue
    raise ValueError(f"'{text}' is no date")


def is_whole_date(value: Any) -> bool:
    """Whether a date that :func:`read_date` reads names its day.

    Example:
        >>> from patent_mteb.readers.values import is_whole_date
        >>> is_whole_date("2019-01"), is_whole_date(20190102)
        (False, True)
    """
    return isinstance(value, dt.date) or not re.fullmatch(r"\d{4}(?:[-/.]\d{1,2})?|\d{6}00", text_of(value))


def text_of(value: Any) -> str:
    """The text of a cell: numbers without a needless ``.0``, dates in ISO 8601, the members of a list a line each.

    Example:
        >>> from patent_mteb.readers.values import text_of
        >>> [text_of(value) for value in (1234.0, None, "  pump ", ["a", "b"])]
        ['1234', '', 'pump', 'a\\nb']
    """
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
    """The value of a field as it is written, trimmed; empty for none.

    Example:
        >>> from patent_mteb.readers.values import text_in
        >>> text_in({"title": " Pump "}, "title"), text_in({}, "title")
        ('Pump', '')
    """
    value = row.get(name)
    return "" if value is None else str(value).strip()


def unpacked(value: Any) -> Any:
    """A list or an object that stands in a cell as its text (JSON, Python or NumPy); any other value as it is.

    Example:
        >>> from patent_mteb.readers.values import unpacked
        >>> unpacked("['A61H 3/04', 'G06F']"), unpacked("['A61H' 'G06F']"), unpacked("[0001] A pump")
        (['A61H 3/04', 'G06F'], ['A61H', 'G06F'], '[0001] A pump')
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text or (text[0], text[-1]) not in (("[", "]"), ("{", "}")):
        return value
    if _QUOTED_WITHOUT_COMMAS.fullmatch(text):
        return re.findall(r"'([^']*)'", text)
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, list | tuple | dict):
            return found
    return value


def flat(row: Any, name: str) -> Iterator[Any]:
    """The values that a name with dots leads to, through objects and lists; None where an object lacks it.

    Example:
        >>> from patent_mteb.readers.values import flat
        >>> list(flat({"ipc": [{"code": "A61H3/04"}, {"code": "G06F1/00"}]}, "ipc.code"))
        ['A61H3/04', 'G06F1/00']
    """
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
    """The texts of a list, given as one or as a text with separators (without any: ``|``, ``;`` and line ends).

    Example:
        >>> from patent_mteb.readers.values import listed
        >>> listed("A61H 3/04;;G06F 1/00"), listed("Wang, L. | Li, M."), listed("1,7", ",")
        (['A61H 3/04', 'G06F 1/00'], ['Wang, L.', 'Li, M.'], ['1', '7'])
    """
    value = unpacked(value)
    if isinstance(value, list | tuple):
        return [text for member in value for text in listed(member, separators)]
    pattern = re.compile("|".join(map(re.escape, separators))) if separators else _SEPARATOR
    return [text.strip() for text in pattern.split(text_of(value)) if text.strip()]


def claim_numbers(text: str) -> tuple[int, ...]:
    """The numbers of claims that a search report names, such as ``1-3,7``.

    Example:
        >>> from patent_mteb.readers.values import claim_numbers
        >>> claim_numbers("1-3, 7")
        (1, 2, 3, 7)
    """
    ranges = [(int(first), int(last or first)) for first, last in _CLAIM_RANGE.findall(text)]
    return tuple(sorted({number for first, last in ranges for number in range(first, min(last, first + 999) + 1)}))
