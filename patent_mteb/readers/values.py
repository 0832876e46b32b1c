"""Parse the values of exports and bulk files: dates, numbers, languages, codes, lists, nested values and texts."""

from __future__ import annotations

import ast
import contextlib
import datetime as dt
import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from patent_mteb.patents.categories import split_category
from patent_mteb.patents.numbers import ERA_LETTERS, ERAS, OFFICES, Number, read_application, read_number
from patent_mteb.patents.text import plain_lines

CODES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("codes.toml").read_text("utf-8"))
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


_LONGEST_EXAMPLE = 100  # characters of a value in a message


def cut(text: str) -> str:
    """Return a text as an example in a message: at most 100 characters."""
    return text if len(text) <= _LONGEST_EXAMPLE else text[: _LONGEST_EXAMPLE - 1] + "…"


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


_SERIAL_AND_YEAR = re.compile(r"(\d{5,6})(\d\d)")


def application(text: str, office: str = "", kind: str = "", filed: str = "") -> str:
    """Return the normal form of an application number, or its text without separators if it cannot be read.

    The day on which it was ``filed`` tells DOCDB's form of the United States and Japan before the year 2000 and later,
    a serial and two digits of the year (``8000290``), from a series (``08000290``) or an imperial year.
    """
    if office in ("JP", "US") and (found := _SERIAL_AND_YEAR.fullmatch(text)) and found[2] == filed[2:4]:
        text = f"{filed[:4]}{found[1]:0>6}"
    number = read_application(text, office, kind)
    return number.key if number else _as_written(text, office, "")


def reads(text: str, office: str = "", kind: str = "") -> bool:
    """Whether a publication number can be read."""
    return read_number(text, office, kind) is not None


_LONGEST_NUMBER = 60  # characters of a number as any tool writes it, with office, kind and blanks
_LONGEST_WITH_REMARK = 200  # characters of a number with its remarks: longer cells are texts
_BEFORE_REMARK = re.compile(
    r"\s*[(\[,;:]\s*(?=\D)|\s+[-–—]\s+(?=\D)|\s*\((?=[^()]*\)$)"
    r"|[\s,;:]+[(\[]?(?=(?:\d\d?[./]\d\d?[./]\d{4}|\d{4}[./-]\d\d?[./-]\d\d?|(?:1[89]|20)\d{6}"
    r"|\d\d? [A-Z][a-z]{2,8} \d{4})[)\]]?$)"
)
_NEXT_NUMBER = re.compile(
    r"\s*[,;|\n，；、]\s*(?=[A-Z]{2}[ -]?[\dA-Z])|\s+(?:/|&|and|und|et|or|oder)\s+(?=[A-Z]{2}[ -]?\d)"
    r"|(?<=[A-Z\d)\]])\s+(?=[A-Z]{2}[ -]?\d{4})"
)
_DATE_WITHIN = re.compile(
    r"(?<![^\s(\[])(?:(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:1[89]|20)\d\d|(?:1[89]|20)\d\d-\d\d-\d\d"
    r"|(?:0?[1-9]|[12]\d|3[01])[ -](?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*[ -](?:1[89]|20)\d\d)"
    r"(?=T\d|[\s)\],;]|$)"
)


class Written(NamedTuple):
    """A number in a text, None if it cannot be read.

    ``text`` is the text as written, ``category`` the one with it; ``has_more`` says whether either it or a remark was
    removed.
    """

    text: str
    number: Number | None
    category: str = ""
    has_more: bool = False


def _number_in(text: str, read: Callable[[str], Number | None]) -> Written:
    """Read the number at the start of a text, without a category, a date or another remark (``EP1000000A1 [X]``)."""
    start = text
    if len(text) <= _LONGEST_WITH_REMARK:
        bare, category = split_category(text)
        if category and (number := read(bare)):
            return Written(text, number, category, True)
        if number := read(text):
            return Written(text, number)
    else:
        start = text[:_LONGEST_NUMBER]
    for mark in reversed(list(_BEFORE_REMARK.finditer(start))):
        if mark.start() <= _LONGEST_NUMBER and (number := read(start[: mark.start()])):
            return Written(text, number, "", True)
    return Written(text, None)


def numbers_in(text: str, read: Callable[[str], Number | None]) -> list[Written]:
    """Read the number in a text, or several if it can be split where another number begins."""
    if text.isalnum():
        return [Written(text, read(text))]
    if len(text) > _LONGEST_WITH_REMARK or read(text) is None:
        pieces = _NEXT_NUMBER.split(text)
        several = [_number_in(piece, read) for piece in pieces] if len(pieces) > 1 else []
        if sum(one.number is not None for one in several) > 1:
            return several
    return [_number_in(text, read)]


def unbroken(texts: Sequence[str]) -> list[str]:
    """Join texts that were split within brackets (``US9000001B2 (Smith; 2015)``)."""
    joined: list[str] = []
    depth = 0
    for text in texts:
        if depth > 0:
            joined[-1] += f"; {text}"
        else:
            joined.append(text)
        depth += text.count("(") - text.count(")")
    return joined if depth == 0 else list(texts)


def dates_within(text: str) -> list[str]:
    """Return the dates in a text (``60/225,166 14.08.2000 US``) of which day, month and year are clear."""
    return _DATE_WITHIN.findall(text)


def language(text: str | None) -> str:
    """Return the ISO 639-1 code of a language by its code of two or three letters, or its English name.

    It is empty if the language is unknown, or is "another" in the sense of the EPO (``ol``).
    """
    code = re.split(r"[-_ ]", (text or "").strip().lower())[0]
    return _LANGUAGE_CODES.get(code, code if len(code) == 2 and code.isascii() and code.isalpha() else "")


_LANGUAGE_CODES: dict[str, str] = {
    name: line.split()[0] for line in CODES["languages"].splitlines() for name in line.split()
}
_LANGUAGE_CODES |= dict.fromkeys(CODES["no_language"].split(), "")


_NO_DATE = {"", "0", "00000000", "0000-00-00", "99991231", "9999-12-31"}
_ZERO = {"1899-12-30", "1899-12-31", "1900-01-00", "00.01.1900", "1/0/1900", "0/1/1900"}
"""The day 0 of Excel, an empty cell with the format of a date."""

FIRST_YEAR = 1790
"""The year of the first patent of the United States. Earlier years, and those after the next one, are not dates."""

_DATE = re.compile(
    r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})"
    r"|(?P<y2>\d{4})(?:[-/.] ?(?P<m2>\d{1,2})(?:[-/.] ?(?P<d2>\d{1,2})(?:\.|[T ].*)?)?)?"
    r"|(?P<d3>\d{1,2})\.(?P<m3>\d{1,2})\.(?P<y3>\d{4}|\d\d)"
    r"|(?P<y4>\d{4}) ?[年년] ?(?:(?P<m4>\d{1,2}) ?[月월] ?(?:(?P<d4>\d{1,2}) ?[日일])?)?"
)
_SERIAL = re.compile(r"\d{5}(?:[.,]\d+)?")
_SERIAL_START = dt.date(1899, 12, 30)
_SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4}|\d\d)")
_SIX_DIGITS = re.compile(r"\d{6}")
_FORMS_OF_SIX = ("%Y%m", "%y%m%d", "%d%m%y", "%m%d%y")
_ERA = re.compile(
    r"(?P<era>明治|大正|昭和|平成|令和|民國|民国|[MTSHR])(?P<y>元|\d{1,3})(?:年|[./-])(?:(?P<m>\d{1,2})(?:月|[./-])(?:(?P<d>\d{1,2})日?)?)?"
)
_TAIWAN = 1911  # the year before the first of Taiwan's era
_MONTH = {name: n for n, names in enumerate(CODES["months"].splitlines(), start=1) for name in names.split()}
_WORDED = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(?:"
    r"(?P<d>\d{1,2})(?:\.|er|st|nd|rd|th)?[ /-](?:de )?(?P<m>[^\W\d_]+)\.?,?[ /-](?:de )?(?P<y>\d{4}|\d\d)"
    r"|(?P<y5>\d{4})[ /-](?P<m5>[^\W\d_]{3,})\.?[ /-](?P<d5>\d{1,2})"
    r"|(?P<m2>[^\W\d_]+)\.? (?P<d2>\d{1,2}),? (?P<y2>\d{4})"
    r"|(?P<m3>[^\W\d_]{3,})(?:\.? (?P<y3>\d{4})|[-/](?P<y4>\d{4}|\d\d)))",  # Nov 2018, Nov-18 (Excel)
    re.IGNORECASE,
)
_MILLISECONDS = re.compile(r"-?\d{11,13}")  # a time as pandas writes it to JSON: milliseconds since 1970
_SEPARATOR = re.compile(r"\s*(?:\||;|；|、|\n)\s*")
_CODE = r"(?=[^,\]]*\d)[^\s\[\],'\"]{1,30}(?: [^\s\[\],'\"]{1,30}){0,2}"
_DAY_WITHIN = re.compile(r" (?:1[89]|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d[ \]]")  # a priority: [EP 20120626 12173640.9]
_CODES_WITHOUT_QUOTES = re.compile(rf"\[({_CODE}(?:,\s*{_CODE})*)\]")  # [EP 1000000 A1, F04B 1/00]
_QUOTED_WITHOUT_COMMAS = re.compile(r"\[\s*(?:'[^']*'\s*)+\]")
_CLAIM_RANGE = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")


def read_date(value: Any, forms: Sequence[str] = (), order: str = "") -> dt.date | None:
    """Parse a date of an export; return None for 0 and 9999-12-31, and raise ValueError for invalid dates.

    The forms are ISO 8601 with or without a time, 20190102, 2019-01 and 2019 (their first day), 19980800, 02.01.2019,
    2019年1月2日, eras of Japan and Taiwan, English, German, French and Spanish names of months with or without a day,
    serial numbers of Excel, milliseconds since 1970, and 31/12/2019 or 12/31/2019 if one of the numbers exceeds 12 or
    the order (:func:`day_order`) is ``day`` or ``month``, and six digits of which the order is the form. Years of two
    digits are the last ones up to the next year. Dates before 1790 or after the next year are invalid.
    """
    if isinstance(value, dt.datetime):
        value = value.date()
    text = unicodedata.normalize("NFKC", text_of(value))
    if text in _NO_DATE or text in _ZERO:
        return None
    if isinstance(value, dt.date):
        return _plausible(value)
    if date := _of_form(text, forms):
        return _plausible(date)
    if forms:
        raise ValueError(f"'{text}' is not a date of the form {' or '.join(forms)}")
    if found := _DATE.fullmatch(text):
        part = {name.rstrip("234"): number for name, number in found.groupdict().items() if number}
        return _plausible(dt.date(_year(part["y"]), int(part.get("m") or 0) or 1, int(part.get("d") or 0) or 1))
    if _SIX_DIGITS.fullmatch(text) and (date := _of_form(text, [order] if order in _FORMS_OF_SIX else [])):
        century = 100 * ("%y" in order and date.year > dt.date.today().year + 1)
        return _plausible(date.replace(year=date.year - century))
    if _SIX_DIGITS.fullmatch(text) and not order:
        raise ValueError(f"'{text}' is ambiguous: a map can set its form, such as date = '%y%m%d'")
    if (found := _SLASHED.fullmatch(text)) and (order == "year" or not 0 < int(found[1]) <= 31):
        return _plausible(dt.date(_year(found[1]), int(found[2]), int(found[3])))
    if found:
        first, second, year = int(found[1]), int(found[2]), _year(found[3])
        if first > 12 >= second or first == second or (order == "day" and second <= 12):
            return _plausible(dt.date(year, second, first))
        if second > 12 >= first or (order == "month" and first <= 12):
            return _plausible(dt.date(year, first, second))
        raise ValueError(f"'{text}' is ambiguous: a map can set its form, such as date = '%d/%m/%Y'")
    if found := _ERA.fullmatch(text):
        era = found["era"][0].translate(ERA_LETTERS)
        first = _TAIWAN if era == "民" else ERAS[era][0]
        year = first + (1 if found["y"] == "元" else int(found["y"]))
        return _plausible(dt.date(year, int(found["m"] or 1), int(found["d"] or 1)))
    if found := _WORDED.fullmatch(text):
        part = {name.rstrip("2345"): word for name, word in found.groupdict().items() if word}
        if month := _MONTH.get(part["m"].casefold()):
            return _plausible(dt.date(_year(part["y"]), month, int(part.get("d") or 1)))
    if _MILLISECONDS.fullmatch(text):
        return _plausible((dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=int(text))).date())
    if is_serial(text):
        return _plausible(_SERIAL_START + dt.timedelta(days=int(text[:5])))
    raise ValueError(f"'{text}' is not a date")


def is_serial(value: Any) -> bool:
    """Whether a value is a day as Excel stores it: the days since 1899-12-30, from 1927 on."""
    text = text_of(value)
    return bool(_SERIAL.fullmatch(text)) and int(text[:5]) >= 10000 and not isinstance(value, dt.date)


_SHORT_YEAR = re.compile(r"^(?:\d{1,2}[-/. ].*\D|[^\W\d_]+[-/])\d\d$")


def has_short_year(value: Any, order: str = "") -> bool:
    """Whether a date that :func:`read_date` accepts has a year of two digits."""
    return "%y" in order or (isinstance(value, str) and bool(_SHORT_YEAR.search(value.strip())))


def needs_order(value: Any) -> bool:
    """Whether a value is a date whose order :func:`day_order` may settle."""
    text = text_of(value)
    return bool(_SLASHED.fullmatch(text) or _SIX_DIGITS.fullmatch(text))


def day_order(values: Iterable[Any]) -> str:
    """Return the order of the dates of a column, empty if it is unclear.

    It is ``day``, ``month`` or ``year``, the first with slashes, or the only form that all six digits can have.
    """
    texts = [text for value in values if needs_order(value) for text in [text_of(value)]]
    if six := [text for text in texts if _SIX_DIGITS.fullmatch(text)]:
        forms = [form for form in _FORMS_OF_SIX if all(_of_form(text, [form]) for text in six)]
        return forms[0] if len(forms) == 1 else ""
    found = [match for text in texts if (match := _SLASHED.fullmatch(text))]
    if any(not 0 < int(match[1]) <= 31 for match in found):
        return "year" if all(len(match[3]) == 2 for match in found) else ""
    day, month = (any(int(match[n]) > 12 for match in found) for n in (1, 2))
    return "" if day == month else "day" if day else "month"


def _year(text: str) -> int:
    """The year, in full for one of two digits."""
    if len(text) > 2:
        return int(text)
    century, short = divmod(dt.date.today().year + 1, 100)
    return 100 * (century - (int(text) > short)) + int(text)


def _plausible(date: dt.date) -> dt.date:
    if not FIRST_YEAR <= date.year <= dt.date.today().year + 1:
        raise ValueError(f"the year {date.year:04} of '{date}' is before {FIRST_YEAR} or after the next year")
    return date


def _of_form(text: str, forms: Sequence[str]) -> dt.date | None:
    for form in forms:
        with contextlib.suppress(ValueError):
            return dt.datetime.strptime(text, form).date()
    return None


_DAYLESS = re.compile(
    r"\d{4}(?:[-/.]\d{1,2})?|\d{6}00|\d{4} ?[年년](?: ?\d{1,2} ?[月월])?"
    r"|(?:..|[MTSHR])(?:元|\d{1,3})年(?:\d{1,2}月)?|[^\W\d_]{3,}[. /-]+(?:\d{4}|\d\d)"
)


def has_day(value: Any, order: str = "") -> bool:
    """Whether a value that :func:`read_date` accepts includes the day."""
    if order == "%Y%m":
        return False
    return isinstance(value, dt.date) or not _DAYLESS.fullmatch(text_of(value))


def text_of(value: Any) -> str:
    """Return the text of a cell: whole numbers without ``.0``, dates in ISO 8601, lists with one line per member."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, float):
        return "" if value != value else str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat()
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(text_of, value)))
    return str(value).strip()


_MACHINE = re.compile(r"\s*[\[(]\s*machine[- ]translat[^\])]*[\])]\s*", re.IGNORECASE)
_NUMBER_MARK = re.compile(r"^\([A-Z]{2}[\d/]{5,}[A-Z]?\d?\)\s*\n\s*")
_LANGUAGE_MARK = re.compile(r"^\[[A-Z]{2}\]\s+")
_LANGUAGES = re.compile(r"(?:^|\s+)\[([A-Z]{2})\]\s+")
_APOSTROPHE = re.compile(r"^'(?=\w[^']*$)")
_MISREAD = re.compile("[ÃÂ][\u00a0-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€")
_FORMULA = re.compile(r'=(?:HYPERLINK\((?:.*[,;]\s*)?)?"((?:[^"]|"")*)"\)?', re.IGNORECASE | re.DOTALL)
_WHOLE = re.compile(r"^(\d{5,})\.0$")  # a number or a date that was a cell of numbers
_KIND_BELOW = re.compile(r"^([A-Z]{2}[\d ,./-]*\d)\s*\n\s*([A-Z]\d?)$")
_WHAT = "(?:abstract|title|claims?|description|data|text|information)"
_UNAVAILABLE = re.compile(
    rf"\W*(?:unavailable {_WHAT}|no {_WHAT}(?: (?:is |are )?(?:available|provided|found))?"
    rf"|(?:(?:the )?{_WHAT} )?(?:is |are )?(?:not |un)(?:available|provided))\W*",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff]|_x000D_")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")
LANGUAGES = "texts in several languages: the English one is read, else the first"
MISREAD = "a text looks like UTF-8 that was read as Windows-1252: export it again as UTF-8"
LOST = "characters were lost in an earlier conversion (U+FFFD)"

_PATTERNS = (
    (_NUMBER_MARK, "numbers before a text removed"),
    (_LANGUAGE_MARK, "languages before a text removed"),
    (_APOSTROPHE, "apostrophes before a text removed"),
)


_SHORT = 60  # characters of a text that may be a number, a date, or a phrase for an empty cell


def cleaned(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text without HTML, marks of machine translation and a number before it, and the kinds of cleaning."""
    if text.isalnum() and text.isascii() and not text.isalpha():  # a number or a year
        return text, ()
    found = []
    if text.isascii():
        text = text.replace("_x000D_", "")
    else:
        found = [what for what, there in ((LOST, "\ufffd" in text), (MISREAD, bool(_MISREAD.search(text)))) if there]
        text = _INVISIBLE.sub("", text).replace("\u00a0", " ").replace("\u202f", " ")
    if not text.isprintable():
        text = _CONTROL.sub(" ", text)
    if text[:1] == "=" and (formula := _FORMULA.fullmatch(text)):
        text = formula[1].replace('""', '"')
        found.append("formulas of a text replaced by the text")
    if len(text) < _SHORT:
        if _UNAVAILABLE.fullmatch(text):
            return "", (*found, "texts such as 'No abstract available' are read as empty")
        text = _WHOLE.sub(r"\1", _KIND_BELOW.sub(r"\1 \2", text))
    if ("<" in text or "&" in text) and (plain := "\n".join(plain_lines(text))).split() != text.split():
        text = plain
        text = text.replace("\u00a0", " ").replace("\u202f", " ")
        found.append("HTML tags and entities replaced")
    if "ranslat" in text and _MACHINE.search(text):
        text = _MACHINE.sub(" ", text).strip()
        found.append("marks of machine translation removed")
    if text[:1] == "[" and len(parts := _LANGUAGES.split(text)) > 3 and not parts[0]:
        text = dict(zip(parts[-2::-2], parts[:0:-2], strict=True)).get("EN", parts[2]).strip()
        return text, (*dict.fromkeys(found), LANGUAGES)
    for pattern, what in _PATTERNS:
        if text[:1] in ("(", "[", "'") and pattern.search(text):
            text = pattern.sub("", text).strip()
            found.append(what)
    return text, tuple(dict.fromkeys(found))


def text_in(row: Mapping[str, Any], name: str) -> str:
    """Return the value of a field as trimmed text, empty if it is missing."""
    value = row.get(name)
    return "" if value is None else str(value).strip()


def unpacked(value: Any) -> Any:
    """Parse a cell with a list or an object in JSON, Python or NumPy syntax; return any other value unchanged."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith(("[", "{")):
        return value
    text = value.strip()
    if (text[0], text[-1]) not in (("[", "]"), ("{", "}")):
        return value
    if _QUOTED_WITHOUT_COMMAS.fullmatch(text):
        return re.findall(r"'([^']*)'", text)
    for read in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            if isinstance(found := read(text), list | tuple | dict):
                return found
    if (codes := _CODES_WITHOUT_QUOTES.fullmatch(text)) and not (dates_within(text) or _DAY_WITHIN.search(text)):
        return re.split(r",\s*", codes[1].strip())
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


_COUNTRY = re.compile(r"\s*[\[(]\s*([A-Z]{2})\s*[\])]$")
_ADDRESS = re.compile(r"\s*\([^()]*(?:\.\.\.|…|\*)[^()]*\)$")  # KIPRIS: 홍길동(서울특별시 중구...), with * for digits
_BEHIND_NAME = frozenset(CODES["behind_a_name"].split())


def names_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names of a list, without countries and masked addresses behind them.

    A text that is only a legal form or a degree belongs to the name before it (``Acme Co., Ltd.``, split at commas).
    """
    names: list[str] = []
    for text in texts:
        country = _COUNTRY.search(text)
        name = text[: country.start()] if country and country[1] in OFFICES else _ADDRESS.sub("", text)
        if names and "".join(filter(str.isalnum, name.casefold())) in _BEHIND_NAME:
            names[-1] += f", {name}"
        elif name:
            names.append(name)
    return tuple(dict.fromkeys(names))


def claim_numbers(text: str) -> tuple[int, ...]:
    """Return the claims of a search report, such as ``1-3,7``."""
    ranges = [(int(first), int(last or first)) for first, last in _CLAIM_RANGE.findall(text)]
    return tuple(sorted({number for first, last in ranges for number in range(first, min(last, first + 999) + 1)}))
