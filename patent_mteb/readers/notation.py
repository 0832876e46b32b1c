"""Values as the bulk sources write them: days, numbers, languages, codes."""

from __future__ import annotations

import calendar
import datetime as dt
import re

from patent_mteb.patents.numbers import read_application, read_number

__all__ = ["UNREAD", "UNREAD_DAY", "application", "day", "has_digit", "ipc_code", "language", "publication", "reads", "unread_day"]

UNREAD = "a number that cannot be read, kept as it is written"
UNREAD_DAY = "a date that cannot be read, left empty"

_NO_DAY = re.compile(r"[0-]*|9999-?12-?31")
_DAY = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ].*)?")


def day(text: str | int | None) -> dt.date | None:
    """The day in ``YYYYMMDD`` or ``YYYY-MM-DD``. A day or month 00 (USPTO's cited documents) stands for the first.

    ``0``, ``9999-12-31`` and what is no day give None.

    Example:
        >>> from patent_mteb.readers.notation import day
        >>> day("19980800"), day(20190102), day("9999-12-31"), day("00000000")
        (datetime.date(1998, 8, 1), datetime.date(2019, 1, 2), None, None)
    """
    match = _DAY.fullmatch(str(text or "").strip())
    if not match:
        return None
    year, month, number = (int(part) for part in match.groups())
    month, number = month or 1, number or 1
    if not 1700 <= year < 2200 or month > 12 or number > calendar.monthrange(year, month)[1]:
        return None
    return dt.date(year, month, number)


def unread_day(text: str | int | None) -> bool:
    """Whether a text says a day that :func:`day` cannot read.

    Example:
        >>> from patent_mteb.readers.notation import unread_day
        >>> [unread_day(text) for text in ("20150132", "soon", "19980800", "0", "9999-12-31", None)]
        [True, True, False, False, False, False]
    """
    return day(text) is None and not _NO_DAY.fullmatch(str(text or "").strip())


def has_digit(text: str) -> bool:
    """Whether a text can hold a number at all.

    Example:
        >>> from patent_mteb.readers.notation import has_digit
        >>> has_digit("US 7,000,001"), has_digit("none")
        (True, False)
    """
    return any(character.isdigit() for character in text)


def _as_written(text: str, office: str, kind: str) -> str:
    bare = "".join(character for character in text.upper() if character.isalnum())
    if not bare:
        return ""
    return (bare if bare.startswith(office.upper()) else office.upper() + bare) + (kind if kind.isalnum() else "")


def publication(text: str, office: str = "", kind: str = "") -> str:
    """The normal form of a publication number (:mod:`patent_mteb.patents.numbers`); what cannot be read is kept without separators.

    Example:
        >>> from patent_mteb.readers.notation import publication
        >>> publication("2007/0140112", "US", "A1"), publication("?-17", "US")
        ('US2007140112A1', 'US17')
    """
    number = read_number(text, office, kind)
    return number.docdb if number else _as_written(text, office, kind)


def application(text: str, office: str = "", kind: str = "") -> str:
    """The normal form of an application number, without kind; what cannot be read is kept without separators.

    Example:
        >>> from patent_mteb.readers.notation import application
        >>> application("09/742,144", "US"), application("PCT/JP00/02182", "US")
        ('US09742144', 'WO2000JP002182')
    """
    number = read_application(text, office, kind)
    return number.key if number else _as_written(text, office, "")


def reads(text: str, office: str = "", kind: str = "") -> bool:
    """Whether :func:`publication` could read a number.

    Example:
        >>> from patent_mteb.readers.notation import reads
        >>> reads("08930553", "US", "B2"), reads("?-17", "US")
        (True, False)
    """
    return read_number(text, office, kind) is not None


_CODE = re.compile(r"([A-H]\s?\d\d\s?[A-Z])\s*(\d{1,4})\s*/\s*(\d{2,6})")


def ipc_code(text: str) -> str:
    """One IPC or CPC code without the blanks of fixed columns and whatever stands behind it; other text is only trimmed.

    Example:
        >>> from patent_mteb.readers.notation import ipc_code
        >>> ipc_code("B65D  51/18        20060101AFI20191003BHEP"), ipc_code("A41D013/00")
        ('B65D51/18', 'A41D13/00')
    """
    match = _CODE.search(text)
    return f"{match[1].replace(' ', '')}{int(match[2])}/{match[3]}" if match else " ".join(text.split())


def language(text: str | None) -> str:
    """ISO 639-1 of what a source writes (``EN``, ``en``); empty for none (``xx``).

    Example:
        >>> from patent_mteb.readers.notation import language
        >>> language("EN"), language("xx")
        ('en', '')
    """
    code = (text or "").strip().lower()[:2]
    return "" if code == "xx" or not code.isalpha() else code
