"""Patent numbers in one form, from whatever style a source writes them in.

The normal form is that of DOCDB without separators: ``US2007140112A1``, ``EP0680812A1``, ``JPH09508542A``,
``KR20040032451A``. Two things are decided where DOCDB itself has several forms or none:

* a WO publication always has four digits of the year and six of the number (``WO1999012345``, DOCDB: ``WO9912345``), as
  PATENTSCOPE and DOCDB since 2004 write it;
* a PCT application is ``WO2019EP012345W`` (EPODOC's form, the number always with six digits), whatever its source
  writes.

A number that cannot be read, or only in two ways, is None: nothing is guessed, and whoever asks keeps the text and
counts it.

How each office numbers its publications and its applications: from the parts of a written number to one serial.

A written number arrives as its runs of letters and of digits (``H09-508542`` as ``["H", "09", "508542"]``) and its kind
code. A reading gives the serial of the normal form, or ``""`` where the parts say nothing or allow two readings:
nothing is guessed. :mod:`patent_mteb.patents.numbers` finds office, kind and parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Number", "read_application", "read_number"]


Reading = Callable[[Sequence[str], str], str]
"""(runs of letters and digits, kind code) -> serial, or ``""``."""


_CODES = """
AD AE AF AG AI AL AM AN AO AP AR AT AU AW AZ BA BB BD BE BF BG BH BI BJ BM BN BO BR BS BT BW BX BY BZ CA CD CF CG CH CI
CL CM CN CO CR CS CU CV CY CZ DD DE DJ DK DM DO DZ EA EC EE EG EH EM EP ER ES ET FI FJ FK FO FR GA GB GC GD GE GG GH GI
GL GM GN GQ GR GT GW GY HK HN HR HT HU IB ID IE IL IM IN IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB
LC LI LK LR LS LT LU LV LY MA MC MD ME MG MK ML MM MN MO MR MS MT MU MV MW MX MY MZ NA NE NG NI NL NO NP NZ OA OM PA PE
PG PH PK PL PT PW PY QA RO RS RU RW SA SB SC SD SE SG SH SI SK SL SM SN SR ST SU SV SY SZ TD TG TH TJ TM TN TO TR TT TV
TW TZ UA UG US UY UZ VA VC VE VG VN VU WO WS YE YU ZA ZM ZW
"""

OFFICES = frozenset(_CODES.split())
"""Two-letter codes of WIPO standard ST.3, former offices included."""


OWN_LETTERS = frozenset({"BR", "IT", "MX"})
"""Offices whose serials begin with letters that are codes of other offices (``MXPA04001234``, ``BRMU8801234``)."""


CHECK_DIGITS = frozenset({"CN", "DD", "DE", "EP", "GB"})
"""Offices that write a check digit after a point behind an application number (``99203729.2``)."""


_LAST_YEAR = 2099


def _digits(parts: Sequence[str]) -> str:
    """The digits in a row, ``""`` if there are letters among them or nothing but zeros."""
    joined = "".join(parts)
    return joined if joined.isdigit() and joined.strip("0") else ""


def _year_and_number(parts: Sequence[str], first_year: int, width: int) -> str:
    """``2007/0140112`` or ``20070140112`` as four digits of the year and ``width`` of the number, longer ones without
    their zeros.
    """
    digits = _digits(parts)
    if len(parts) > 2 or not digits or (len(parts) == 2 and len(parts[0]) != 4):
        return ""
    number = digits[4:].lstrip("0").zfill(width)
    if (
        not first_year <= int(digits[:4]) <= _LAST_YEAR
        or not number.strip("0")
        or not width - 1 <= len(digits[4:]) <= 7
    ):
        return ""
    return digits[:4] + number


def _running(parts: Sequence[str], longest: int) -> str:
    """A running number without leading zeros: ``8,930,553``, ``08930553``; one in thousands has none (``0 870 827`` is
    European).
    """
    digits = _digits(parts).lstrip("0")
    in_thousands = all(len(part) == 3 for part in parts[1:]) and not (len(parts) > 1 and parts[0].startswith("0"))
    return digits if in_thousands and len(digits) <= longest else ""


def _united_states(parts: Sequence[str], kind: str) -> str:
    """Grants ``8930553``, designs ``D982278``, ``RE49257``, ``PP34694``, ``H2140``, ``T100501``; publications: year and
    six digits.
    """
    if parts[0] in ("D", "RE", "PP", "H", "T", "X", "RX", "AI"):
        number = _running(parts[1:], 8)
        return parts[0] + number if number else ""
    pre_grant = _year_and_number(parts, 2001, 6) if len(parts[-1]) in (7, 10, 11) else ""
    without_year = kind in ("A1", "A2", "A9") and re.match(r"0\d{6}", "".join(parts))
    return pre_grant or ("" if without_year else _running(parts, 8))


def _european(parts: Sequence[str], kind: str) -> str:
    digits = _digits(parts)
    return digits.zfill(7) if digits and len(digits) <= 7 else ""


def _world(parts: Sequence[str], kind: str) -> str:
    """Always four digits of the year and six of the number: ``WO9912345``, ``WO 02/44593`` and ``WO02064032`` are
    written out.

    A year of two digits without a mark behind it is read up to 2003 only, the last year in which WIPO wrote it so.
    """
    digits = _digits(parts)
    if len(parts) == 1 and len(digits) in (7, 8):
        parts = (digits[:2], digits[2:])
        if 4 <= int(digits[:2]) < 78:
            return ""
    if len(parts) == 2 and len(parts[0]) == 2 and digits:
        parts = (_century(parts[0]), parts[1])
    return _year_and_number(parts, 1978, 6)


def _century(year: str) -> str:
    """The year of two digits as one of four, since the first PCT year 1978."""
    return ("19" if int(year) >= 78 else "20") + year


_ERAS = {"M": (1867, 45), "T": (1911, 15), "S": (1925, 64), "H": (1988, 31), "R": (2018, 81)}
"""Imperial era -> the year before its first, its length."""


_UNEXAMINED = frozenset({*range(1, 12), *range(46, 65)})
"""Imperial years of two digits in which Japan published unexamined applications: Heisei 1 to 11, Showa 46 to 64."""


def _japanese(year: int, number: str) -> str:
    """Before 2000 the imperial year and the bare number (``H09508542``, ``H054529``), after it four digits and six."""
    number = number.lstrip("0")
    if not number or len(number) > 6 or not 1868 <= year <= _LAST_YEAR:
        return ""
    if year >= 2000:
        return f"{year}{number:0>6}"
    era = next(era for era in "HSTM" if year > _ERAS[era][0])
    return f"{era}{year - _ERAS[era][0]:02}{number}"


def _japanese_by_era(era: str, parts: Sequence[str]) -> tuple[int, str]:
    before, length = _ERAS[era]
    digits = _digits(parts)
    width = len(parts[0]) if len(parts) == 2 else 2 if digits[:2].isdigit() and 0 < int(digits[:2]) <= length else 1
    year = int(digits[:width] or 0)
    return (before + year, digits[width:]) if digits and 0 < year <= length and len(parts) <= 2 else (0, "")


def _japanese_year(parts: Sequence[str], kind: str) -> tuple[int, str]:
    """Year and number of a Japanese document, (0, "") if there are none.

    A year without its era is Heisei up to 11 (1999) and Showa from 12 to 64; nine digits may begin with the digit of
    the era (``361118513``: 3 is Showa, 4 Heisei). Seven digits of an unexamined document are one digit of the year and
    six or two and five; both readings can be good, then there is none.
    """
    if parts[0] == "P":
        parts = parts[1:]
    if parts and parts[0] in _ERAS:
        return _japanese_by_era(parts[0], parts[1:])
    digits = _digits(parts)
    if not digits or len(parts) > 2:
        return 0, ""
    if len(parts) == 2:
        return (int(parts[0]), parts[1]) if len(parts[0]) == 4 else (_unsaid_era(parts[0]), parts[1])
    if len(digits) >= 9 and digits[:2] in ("18", "19", "20"):
        return int(digits[:4]), digits[4:]
    if len(digits) == 9 and digits[0] in "34":
        return _japanese_by_era({"3": "S", "4": "H"}[digits[0]], [digits[1:]])
    if len(digits) == 8:
        return _unsaid_era(digits[:2]), digits[2:]
    if len(digits) == 7 and kind.startswith("A"):
        short = [(_unsaid_era(digits[0]), digits[1:])] if digits[0] != "0" and int(digits[1:]) < 600_000 else []
        long = [(_unsaid_era(digits[:2]), digits[2:])] if int(digits[:2]) in _UNEXAMINED else []
        return (short + long)[0] if len(short + long) == 1 else (0, "")
    return 0, ""


def _unsaid_era(year: str) -> int:
    number = int(year)
    if not number or len(year) > 2:
        return 0
    return 1988 + number if number <= 11 else 1925 + number if number <= 64 else 1900 + number


def _japan(parts: Sequence[str], kind: str) -> str:
    year, number = _japanese_year(parts, kind)
    if year or kind.startswith("A"):
        return _japanese(year, number)
    return _running(parts, 7)


def _korea(parts: Sequence[str], kind: str) -> str:
    """Unexamined ``20040032451``, granted ``100721515``; of the former without the digits of their type
    (``10-2004-0032451``).
    """
    digits = _digits(parts)
    typed = len(parts) > 1 and parts[0] in ("10", "20")
    if typed or (len(digits) == 13 and digits[:2] in ("10", "20")):
        rest = parts[1:] if typed else [digits[2:]]
        if unexamined := _year_and_number(rest, 1980, 7):
            return unexamined
        return digits if len(digits) == 9 else ""
    if len(digits) in (7, 9) and len(parts) == 1:
        return digits
    return _year_and_number(parts, 1980, 7)


def _german(parts: Sequence[str], kind: str) -> str:
    """``102007056527``, ``19718319``, ``602012050916``; the words of old lists before the number (``OS``, ``G``) are
    left out.
    """
    return _digits(parts[1:] if parts[0] in ("OS", "AS", "PS", "GM", "P", "G") else parts).lstrip("0")


def _plain(parts: Sequence[str], kind: str) -> str:
    """Digits without leading zeros."""
    return _digits(parts).lstrip("0")


def _kept(parts: Sequence[str], kind: str) -> str:
    """Digits as they stand, behind up to two letters (``PI0612345``); India's ``1234DE2004`` as it stands."""
    if re.fullmatch(r"\d{1,6}[A-Z]{2,3}\d{4}", indian := "".join(parts)):
        return indian
    letters = parts[0] if parts[0].isalpha() and len(parts) > 1 else ""
    digits = _digits(parts[1:] if letters else parts)
    return letters + digits if digits and len(letters) <= 2 and len(digits) <= 14 else ""


PUBLICATIONS: dict[str, Reading] = {
    **dict.fromkeys(OFFICES, _kept),
    **dict.fromkeys(("AT", "BE", "CA", "CH", "CN", "DD", "ES", "FR", "GB", "NL", "RU", "SU"), _plain),
    "US": _united_states,
    "EP": _european,
    "WO": _world,
    "JP": _japan,
    "KR": _korea,
    "DE": _german,
}
"""Office -> how its publication numbers are read."""


_SERIES = frozenset({*range(1, 20), 29, 35, *range(60, 70), 90, 95, 96})
"""Series codes of US applications: regular, design, Hague, provisional, re-examination."""


def _us_application(parts: Sequence[str], kind: str) -> str:
    """Series and six digits (``09742144``). DOCDB's older form has the year instead (``20685698``): year and six
    digits.
    """
    digits = _digits(parts)
    if len(digits) == 12 and 1970 <= int(digits[:4]) <= _LAST_YEAR:
        digits = digits[4:]
    if len(digits) == 11:
        return _year_and_number(parts, 1900, 6)
    if len(digits) == 10 and 1900 <= int(digits[:4]) <= _LAST_YEAR:
        return digits
    if len(digits) == 7:
        digits = digits.zfill(8)
    if len(digits) != 8:
        return ""
    if int(digits[:2]) in _SERIES:
        return digits
    return _full_year(digits[6:]) + digits[:6]


def _full_year(year: str) -> str:
    return ("19" if int(year) >= 30 else "20") + year


def _two_digit_year(width: int) -> Reading:
    """Two digits of the year and so many of the number: ``99203729``; EPODOC has four and seven, ``19990203729``,
    others four and five.
    """

    def read(parts: Sequence[str], kind: str) -> str:
        digits = _digits(parts)
        if len(digits) == 11 and digits[:2] in ("19", "20"):
            digits = digits[2:4] + digits[4:].lstrip("0").zfill(width)
        if len(digits) == 9 and width == 5 and digits[:2] in ("19", "20"):
            digits = digits[2:]
        return digits if len(digits) == 2 + width else ""

    return read


def _german_application(parts: Sequence[str], kind: str) -> str:
    """``102006031298``: type, year, number; EPODOC has the year first (``200610031298``). Before 1995 eight digits."""
    digits = _digits(parts[1:] if parts[0] in ("P", "G") else parts)
    if len(digits) == 12 and not 1990 <= int(digits[2:6]) <= _LAST_YEAR and 1990 <= int(digits[:4]) <= _LAST_YEAR:
        digits = digits[4:6] + digits[:4] + digits[6:]
    return digits if len(digits) in (7, 8, 12) else ""


def _japanese_application(parts: Sequence[str], kind: str) -> str:
    """Four digits of the year and six of the number at all times: ``1998123456``."""
    year, number = (0, "") if len(parts) == 1 and len(parts[0]) in (8, 9) else _japanese_year(parts, "A")
    number = number.lstrip("0")
    return f"{year}{number:0>6}" if number and len(number) <= 6 and 1868 <= year <= _LAST_YEAR else ""


def _chinese_application(parts: Sequence[str], kind: str) -> str:
    digits = _digits(parts[1:] if parts[0] == "ZL" else parts)
    if len(digits) in (9, 13):
        digits = digits[:-1]
    return digits if len(digits) in (8, 12) else ""


APPLICATIONS: dict[str, Reading] = {
    **dict.fromkeys(OFFICES, _kept),
    "US": _us_application,
    "EP": _two_digit_year(6),
    "GB": _two_digit_year(5),
    "FR": _two_digit_year(5),
    "DE": _german_application,
    "JP": _japanese_application,
    "KR": _korea,
    "CN": _chinese_application,
}
"""Office -> how its application numbers are read."""


def international(parts: Sequence[str]) -> str:
    """The serial of a PCT application of which office, year and number are given: ``2019EP012345``."""
    if not parts or parts[0] not in OFFICES:
        return ""
    serial = _world(parts[1:], "") if len(parts) > 1 else ""
    return f"{serial[:4]}{parts[0]}{serial[4:]}" if serial else ""


@dataclass(frozen=True, slots=True)
class Number:
    """A number in its normal form: two-letter office, serial, and kind code (empty where none is known)."""

    office: str
    serial: str
    kind: str = ""

    @property
    def docdb(self) -> str:
        """``US2007140112A1``."""
        return self.key + self.kind

    @property
    def key(self) -> str:
        """Office and serial: what publications of one application in one office mostly share (``US2007140112``)."""
        return self.office + self.serial


_REMEMBERED = 1 << 18
"""Numbers that are not read again: records, citations and relations name the same ones."""


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")

_MARKS = re.compile(r"[()\[\]*_\u2010-\u2015\u2212]")

_KIND = re.compile(r"[A-Z][0-9]?")

_KIND_BEHIND = re.compile(r"(?<=[0-9])[\s\-./]*([A-Z][0-9]?)$")

_KIND_BEFORE = re.compile(r"[\s\-]*([ABCEUY][0-9]?)[\s\-]+(?=[0-9DHPRS])")

_SERIAL = re.compile(r"[A-Z0-9\s\-.,/']+")

_PARTS = re.compile(r"[A-Z]+|[0-9]+")

_CHECK_DIGIT = re.compile(r"(?<=[0-9])\.[0-9X](?=\s*[A-Z]?[0-9]?$)")

_PCT = re.compile(r"PCT(?![A-Z]{3})")

_EPODOC_PCT = re.compile(r"WO[\s\-]*((?:19|20)[0-9]{2})[\s\-]*([A-Z]{2})[\s\-]*([0-9]{5,6})[\s\-]*W?")


def read_number(text: str, office: str = "", kind: str = "") -> Number | None:
    """A publication number (or a PCT application, which no publication looks like)."""
    return _publication(text, office, kind)


def read_application(text: str, office: str = "", kind: str = "") -> Number | None:
    """An application number; arguments and result as for :func:`read_number`. Kind ``W`` marks a PCT application
    (DOCDB).

    US applications are series and six digits (``US09742144``); check digits are left out.
    """
    return _filed(text, office, kind)


@lru_cache(maxsize=_REMEMBERED)
def _publication(text: str, office: str, kind: str) -> Number | None:
    return _read(text, office, kind, PUBLICATIONS)


@lru_cache(maxsize=_REMEMBERED)
def _filed(text: str, office: str, kind: str) -> Number | None:
    return _read(text, office, kind, APPLICATIONS)


def _read(text: str, office: str, kind: str, readings: dict[str, Reading]) -> Number | None:
    text = _MARKS.sub(
        " ", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).upper().replace("\u2010", "-")
    ).strip(" .,;:-/\t\n\r")
    if epodoc := _EPODOC_PCT.fullmatch(text):
        return _pct([epodoc[2], epodoc[1], epodoc[3]])
    if _PCT.match(text):
        return _pct(_PARTS.findall(text[3:])) if _SERIAL.fullmatch(text) else None
    office, rest = _office(text, office.strip().upper())
    if office in CHECK_DIGITS and readings is APPLICATIONS:
        rest = _CHECK_DIGIT.sub("", rest)
    rest, kind = _kind(rest, kind.strip().upper())
    parts = _PARTS.findall(rest)
    if office not in OFFICES or not parts or not _SERIAL.fullmatch(rest):
        return None
    if kind == "W" and readings is APPLICATIONS and office != "WO":
        return _pct([office, *parts])
    serial = readings[office](parts, kind)
    return Number(office, serial, kind) if serial else None


def _pct(parts: list[str]) -> Number | None:
    serial = international(parts)
    return Number("WO", serial, "W") if serial else None


def _office(text: str, given: str) -> tuple[str, str]:
    """The office, and the text without it."""
    written = text[:2]
    if written == given or (written in OFFICES and given not in OWN_LETTERS):
        return written, text[2:]
    return given, text


def _kind(text: str, given: str) -> tuple[str, str]:
    """The text without its kind code, and the code: behind the number, else before it (``A-10-100907``), else the one
    given.
    """
    if behind := _KIND_BEHIND.search(text):
        return text[: behind.start()], behind[1]
    before = _KIND_BEFORE.match(text)
    given = given if _KIND.fullmatch(given) else ""
    if before:
        return text[before.end() :], given or before[1]
    return text, given
