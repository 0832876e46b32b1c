"""Normalise patent numbers in any style.

The normal form is that of DOCDB without separators: ``US2007140112A1``, ``EP0680812A1``, ``JPH09508542A``,
``KR20040032451A``. DOCDB has several forms or none for two kinds of numbers:

* a WO publication has four digits of the year and six of the number (``WO1999012345``, DOCDB: ``WO9912345``), as in
  PATENTSCOPE and in DOCDB since 2004;
* a PCT application is ``WO2019EP012345W``, EPODOC's form with six digits.

A number that is invalid or ambiguous is read as None, never guessed. Callers keep its text and count it.

A written number is split into office, kind code and its runs of letters and digits (``H09-508542`` into
``["H", "09", "508542"]``). :data:`PUBLICATIONS` and :data:`APPLICATIONS` have a function for each office that turns
these parts into the serial of the normal form, or into ``""``.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

Reading = Callable[[Sequence[str], str], str]  # (runs of letters and digits, kind code) -> serial, or `""`

_DATA: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("offices.toml").read_text("utf-8"))
OFFICES = frozenset(_DATA["codes"].split())
_LAST_YEAR = 2099  # four digits above it are a serial, not a year
Forms = Sequence[tuple[re.Pattern[str], str]]  # pattern of the runs joined by "/" -> serial
_FORMS: Mapping[str, Forms] = {
    office: [
        (re.compile(pattern), serial)
        for offices, forms in _DATA["forms"].items()
        if office in offices.split()
        for pattern, serial in forms
    ]
    for office in OFFICES
}


def _digits(parts: Sequence[str]) -> str:
    """Join the digits; return ``""`` if there are letters or only zeros."""
    joined = "".join(parts)
    return joined if joined.isdigit() and joined.strip("0") else ""


def _year_and_number(parts: Sequence[str], first_year: int, width: int) -> str:
    """Return ``2007/0140112`` or ``20070140112`` as four digits of the year and at least ``width`` of the number."""
    digits = _digits(parts)
    if len(parts) > 2 or not digits or (len(parts) == 2 and len(parts[0]) != 4):
        return ""
    number = digits[4:].lstrip("0").zfill(width)
    fits = first_year <= int(digits[:4]) <= _LAST_YEAR and width - 1 <= len(digits[4:]) <= 7
    if not fits or not number.strip("0"):
        return ""
    return digits[:4] + number


def _running(parts: Sequence[str], longest: int) -> str:
    """Return a running number without leading zeros: ``8,930,553``, ``08930553``.

    A number with separators of thousands must not have leading zeros (``0 870 827`` is European).
    """
    digits = _digits(parts).lstrip("0")
    in_thousands = all(len(part) == 3 for part in parts[1:]) and not (len(parts) > 1 and parts[0].startswith("0"))
    return digits if in_thousands and len(digits) <= longest else ""


_US_SERIES = {"E": "RE", "S": "D", "H": "H", "P": "PP"}
"""Letter of a kind code of the USPTO -> the series that only such documents have: ``US49033E1`` is ``USRE49033E1``."""


def _united_states(parts: Sequence[str], kind: str) -> str:
    """Grants ``8930553``, ``D982278``, ``RE49257``, ``PP34694``, ``H2140``, ``T100501``; publications have a year."""
    series = "D" if parts[0] == "DES" else parts[0]
    if series in ("D", "RE", "PP", "H", "T", "X", "RX", "AI"):
        number = _running(parts[1:], 8)
        return series + number if number else ""
    pre_grant = _year_and_number(parts, 2001, 6) if len(parts[-1]) in (7, 10, 11) else ""
    without_year = kind in ("A1", "A2", "A9") and re.match(r"0\d{6}", "".join(parts))
    number = "" if pre_grant or without_year else _running(parts, 8)
    return pre_grant or (_US_SERIES.get(kind[:1], "") + number if number else "")


def _european(parts: Sequence[str], kind: str) -> str:
    digits = _digits(parts)
    digits = digits[1:] if len(digits) == 8 and len(parts) == 1 and digits[0] == "0" else digits
    return digits.zfill(7) if digits and len(digits) <= 7 else ""


def _world(parts: Sequence[str], kind: str) -> str:
    """Complete ``WO9912345``, ``WO 02/44593`` and ``WO02064032`` to four digits of the year and six of the number.

    A year of two digits without a separator is read up to 2003 only, the last year in which WIPO used this form.
    """
    digits = _digits(parts)
    if len(parts) == 1 and len(digits) in (7, 8):
        parts = (digits[:2], digits[2:])
        if 4 <= int(digits[:2]) < 78:
            return ""
    if len(parts) == 2 and len(parts[0]) == 2 and digits:
        parts = (("19" if int(parts[0]) >= 78 else "20") + parts[0], parts[1])  # the first PCT year is 1978
    if len(parts) == 2 and len(parts[1]) in (3, 4):  # clear only after a separator: PCT/US1999/9417
        parts = (parts[0], parts[1].zfill(5))
    return _year_and_number(parts, 1978, 6)


ERAS = {"M": (1867, 45), "T": (1911, 15), "S": (1925, 64), "H": (1988, 31), "R": (2018, 81)}
"""Imperial era -> the year before its first, its length."""

ERA_LETTERS = str.maketrans("平昭大明令", "HSTMR")  # first character of the name of an era -> its letter

_ERA_NAMES = {"HEI": "H", "HEISEI": "H", "SHO": "S", "SHOWA": "S"}

_UNEXAMINED = frozenset({*range(1, 12), *range(46, 65)})
"""Imperial years of unexamined applications in Japan: Heisei 1 to 11, Showa 46 to 64."""

_REGISTERED = {
    "B": (2_500_001, 9_999_999, 200_000),
    "Y": (2_500_001, 2_699_999, 200_000),
    "U": (3_000_001, 3_999_999, 200_000),
    "": (2_500_001, 9_999_999, 450_000),
}
"""Letter of a kind code in Japan -> the first and last number by which grants are published since 1994 (utility models)
and 1996 (patents), and a number that the imperial numbers of no year reach (without a kind: unexamined, too)."""

_Year = tuple[str, int]  # letter of the era, empty for the Christian era, and the year; year 0 is unknown
_UNKNOWN: _Year = ("", 0)


def _japanese(era: str, year: int, number: str) -> str:
    """Before 2000 the imperial year and the number (``H09508542``, ``H054529``), then four digits and six."""
    number = number.lstrip("0")
    if not number or len(number) > 6 or not year:
        return ""
    christian = year + (ERAS[era][0] if era else 0)
    if not 1868 <= christian <= _LAST_YEAR:
        return ""
    if christian >= 2000:
        return f"{christian}{number:0>6}"
    era = era or next(era for era in "HSTM" if christian > ERAS[era][0])
    return f"{era}{christian - ERAS[era][0]:02}{number}"


def _japanese_by_era(era: str, parts: Sequence[str]) -> tuple[_Year, str]:
    length = ERAS[era][1]
    digits = _digits(parts)
    width = len(parts[0]) if len(parts) == 2 else 2 if digits[:2].isdigit() and 0 < int(digits[:2]) <= length else 1
    year = int(digits[:width] or 0)
    return ((era, year), digits[width:]) if digits and 0 < year <= length and len(parts) <= 2 else (_UNKNOWN, "")


def _japanese_year(parts: Sequence[str], kind: str) -> tuple[_Year, str]:
    """Return year and number of a Japanese document, with the year 0 if they are unknown or ambiguous.

    A year without era is Heisei up to 11 (1999) and Showa from 12 to 64. Nine digits may start with a digit for the era
    (``361118513``: 3 is Showa, 4 is Heisei). Seven digits of an unexamined document are a year of one or two digits and
    a number of six or five; if both are possible, the number is ambiguous.
    """
    if parts[0] == "P":
        parts = parts[1:]
    if parts and (era := _ERA_NAMES.get(parts[0], parts[0])) in ERAS:
        return _japanese_by_era(era, parts[1:])
    digits = _digits(parts)
    if not digits or len(parts) > 2:
        return _UNKNOWN, ""
    if len(parts) == 2:
        return ("", int(parts[0])) if len(parts[0]) == 4 else _without_era(parts[0]), parts[1]
    if len(digits) >= 9 and digits[:2] in ("18", "19", "20"):
        return ("", int(digits[:4])), digits[4:]
    if len(digits) == 9 and digits[0] in "34":
        return _japanese_by_era({"3": "S", "4": "H"}[digits[0]], [digits[1:]])
    if len(digits) == 8:
        return _without_era(digits[:2]), digits[2:]
    if len(digits) == 7 and kind.startswith("A"):
        short = [(_without_era(digits[0]), digits[1:])] if digits[0] != "0" and int(digits[1:]) < 600_000 else []
        long = [(_without_era(digits[:2]), digits[2:])] if int(digits[:2]) in _UNEXAMINED else []
        return (short + long)[0] if len(short + long) == 1 else (_UNKNOWN, "")
    return _UNKNOWN, ""


def _without_era(year: str) -> _Year:
    number = int(year)
    if not number or len(year) > 2:
        return _UNKNOWN
    return ("H", number) if number <= 11 else ("S", number) if number <= 64 else ("", 1900 + number)


def _japan(parts: Sequence[str], kind: str) -> str:
    if parts[0] == "WO":  # a PCT application that Japan published again
        world = _world(parts[1:], kind) if len(parts) > 1 else ""
        return f"WO{world}" if world else ""
    if len(parts) == 1 and re.fullmatch("[0-9]{8}", parts[0]) and kind[:1] in _REGISTERED:
        first, last, beyond = _REGISTERED[kind[:1]]
        if first <= int(parts[0]) <= last:  # a grant filled with a zero, or the imperial year 2 to 9
            return parts[0].lstrip("0") if int(parts[0][2:]) >= beyond else ""
    if not kind and len(parts) == 1 and len(parts[0]) == 7 and parts[0][0] == "0":
        return ""  # 0231557: an imperial year, of an application or an examined patent, or a number that is filled
    (era, year), number = _japanese_year(parts, kind)
    if year or kind.startswith("A"):
        return _japanese(era, year, number)
    return _running(parts, 7)


def _korea(parts: Sequence[str], kind: str) -> str:
    """Unexamined ``20040032451`` (without the digits of its type: ``10-2004-0032451``), granted ``100721515``.

    Derwent drops zeros and the type: ``KR832860-B1``, ``KR488013-Y1``, ``KR99085154-A``. DOCDB writes no type for
    grants up to some number from 180,000 to 200,000; between these, the number is ambiguous.

    KIPRIS writes grants as ``10-0721515-0000`` or in 13 digits. These are also the form of a year and a number, of
    which offices give at most some 300,000 a year.
    """
    digits = _digits(parts)
    typed = len(parts) > 1 and parts[0] in ("10", "20")
    if len(digits) == 13 and digits[:2] in ("10", "20") and digits.endswith("0000") and len(parts[-1]) != 7:
        may_be_year = 1980 <= int(digits[2:6]) <= _LAST_YEAR and 0 < int(digits[6:]) < 1_000_000
        if len(parts) == 3 or not may_be_year or kind[:1] in ("B", "Y"):
            return digits[:9]
        if not kind:
            return ""
    if typed or (len(digits) == 13 and digits[:2] in ("10", "20")):
        rest = parts[1:] if typed else [digits[2:]]
        if unexamined := _year_and_number(rest, 1980, 7):
            return unexamined
        return digits if len(digits) == 9 else ""
    number = digits.lstrip("0")
    if len(parts) == 1 and len(digits) == 8 and kind[:1] == "A" and digits[0] in "89":
        return f"19{digits[:2]}0{digits[2:]}"
    if len(parts) == 1 and len(number) in (6, 7) and len(digits) <= 7 and kind[:1] in ("B", "Y", ""):
        if int(number) >= 200_000 and (kind or len(number) == 7):
            return f"{20 if kind[:1] == 'Y' else 10}{number:0>7}"
        return number.zfill(7) if len(digits) == 7 or (kind and int(number) < 180_000) else ""
    if len(digits) in (7, 9) and len(parts) == 1:
        return digits
    return _year_and_number(parts, 1980, 7)


def _german(parts: Sequence[str], kind: str) -> str:
    """``102007056527``, ``19718319``, ``602012050916``, without the prefixes of old lists (``OS``, ``G``)."""
    return _digits(parts[1:] if parts[0] in ("OS", "AS", "PS", "GM", "P", "G") else parts).lstrip("0")


def _without_zeros(parts: Sequence[str], kind: str) -> str:
    return _digits(parts).lstrip("0")


def _british(parts: Sequence[str], kind: str) -> str:
    """A document of kind D has the number of its application, with two digits of the year: ``0612345``.

    Without a kind code a zero in front of seven digits may be of the year, or fill the number of an old patent.
    """
    digits = _digits(parts)
    if kind[:1] == "D" and digits:
        return digits.zfill(7)
    return "" if not kind and len(digits) == 7 and digits[0] == "0" else _without_zeros(parts, kind)


def _austrian(parts: Sequence[str], kind: str) -> str:
    """European patents in Austria have an E: ``E512345``. Utility models (``GM 12345``) have a kind code instead."""
    parts = parts[1:] if parts[0] == "GM" else parts
    if not parts:
        return ""
    return f"E{serial}" if parts[0] == "E" and (serial := _digits(parts[1:])) else _without_zeros(parts, kind)


def _unchanged(parts: Sequence[str], kind: str, forms: Forms = ()) -> str:
    """A form of the office (``[forms]`` of offices.toml), else digits after up to two letters (``PI0612345``).

    Eight digits that begin with 0 are filled, as in old lists (``SE00523007C2``).
    """
    letters = parts[0] if parts[0].isalpha() and len(parts) > 1 else ""
    digits = _digits(parts[1:] if letters else parts)
    digits = digits.lstrip("0") if len(digits) == 8 and not letters else digits
    serial = letters + digits if digits and len(letters) <= 2 and len(digits) <= 15 else ""
    for written in ("/".join(parts), "/".join(_PARTS.findall(serial))):
        for pattern, form in forms:
            if found := pattern.fullmatch(written):
                return form.format(**found.groupdict() | {"n": int(found["n"])}) if form and int(found["n"]) else ""
    return serial


_BY_FORM: dict[str, Reading] = {office: partial(_unchanged, forms=_FORMS[office]) for office in OFFICES}


PUBLICATIONS: dict[str, Reading] = {
    **_BY_FORM,
    **dict.fromkeys(("BE", "CA", "CH", "CN", "DD", "ES", "FR", "NL", "RU", "SU"), _without_zeros),
    "AT": _austrian,
    "GB": _british,
    "US": _united_states,
    "EP": _european,
    "WO": _world,
    "JP": _japan,
    "KR": _korea,
    "DE": _german,
}
"""Office -> reading of its publication numbers."""

_SERIES = frozenset({*range(1, 20), 29, 35, *range(60, 70), 90, 95, 96})
"""Series codes of US applications: regular, design, Hague, provisional, re-examination."""


def _us_application(parts: Sequence[str], kind: str) -> str:
    """Series and six digits (``09742144``), or year and six digits for DOCDB's older form (``20685698``)."""
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
    return ("19" if int(digits[6:]) >= 30 else "20") + digits[6:] + digits[:6]


def _two_digit_year(parts: Sequence[str], kind: str, width: int) -> str:
    """Two digits of the year and ``width`` of the number: ``99203729``.

    EPODOC writes four and seven digits (``19990203729``), other sources four and five.
    """
    digits = _digits(parts)
    if len(digits) == 11 and digits[:2] in ("19", "20"):
        digits = digits[2:4] + digits[4:].lstrip("0").zfill(width)
    if len(digits) == 9 and width == 5 and digits[:2] in ("19", "20"):
        digits = digits[2:]
    return digits if len(digits) == 2 + width else ""


def _german_application(parts: Sequence[str], kind: str) -> str:
    """``102006031298``: type, year, number. EPODOC: year first (``200610031298``). Before 1995 eight digits."""
    digits = _digits(parts[1:] if parts[0] in ("P", "G") else parts)
    if len(digits) == 12 and not 1990 <= int(digits[2:6]) <= _LAST_YEAR and 1990 <= int(digits[:4]) <= _LAST_YEAR:
        digits = digits[4:6] + digits[:4] + digits[6:]
    return digits if len(digits) in (7, 8, 12) else ""


def _japanese_application(parts: Sequence[str], kind: str) -> str:
    """Four digits of the year and six of the number at all times: ``1998123456``."""
    if len(parts) == 1 and len(parts[0]) in (8, 9):
        return ""
    (era, year), number = _japanese_year(parts, "A")
    year += ERAS[era][0] if era and year else 0
    number = number.lstrip("0")
    return f"{year}{number:0>6}" if number and len(number) <= 6 and 1868 <= year <= _LAST_YEAR else ""


def _chinese_application(parts: Sequence[str], kind: str) -> str:
    digits = _digits(parts[1:] if parts[0] == "ZL" else parts)
    if len(digits) in (9, 13):
        digits = digits[:-1]
    return digits if len(digits) in (8, 12) else ""


APPLICATIONS: dict[str, Reading] = {
    **_BY_FORM,
    "US": _us_application,
    "EP": partial(_two_digit_year, width=6),
    "GB": partial(_two_digit_year, width=5),
    "FR": partial(_two_digit_year, width=5),
    "DE": _german_application,
    "JP": _japanese_application,
    "KR": _korea,
    "CN": _chinese_application,
}
"""Office -> reading of its application numbers."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number in normal form: two-letter office, serial, and kind code (empty if unknown)."""

    office: str
    serial: str
    kind: str = ""

    @property
    def docdb(self) -> str:
        """``US2007140112A1``."""
        return self.office + self.serial + self.kind

    @property
    def key(self) -> str:
        """Office and serial, which publications of one application mostly share (``US2007140112``).

        Japan numbered the documents of 1989 in one series, which was printed as Showa 64 and later as Heisei 1: both
        have the same key.
        """
        return self.office + (_JAPAN_1989.sub("H01", self.serial) if self.office == "JP" else self.serial)


_JAPAN_1989 = re.compile("^S64(?=[0-9]+$)")

_CACHED = 1 << 16  # readings that are kept, 500 bytes each: records and citations repeat numbers within some rows

_LONGEST = 60  # characters of a number with its remarks, far above the longest in use
_OWN_FORMS = {office: re.compile(pattern) for office, pattern in _DATA["own_forms"].items()}

_WITHOUT_MARKS = re.compile(r"[A-Z]{2}[0-9]+(?:[A-Z][0-9]?)?")  # US9000001B2, as most numbers are written
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_MARKS = re.compile(r"[()\[\]*_\u2010-\u2015\u2212]")
_KIND = re.compile(r"[A-Z][0-9]?")
_KIND_AFTER = re.compile(r"(?<=[0-9])[\s\-./]*(A(?=A$)|[A-Z][0-9]?$)")  # DEPATISnet writes AA for A of Japan and Korea
_KIND_BEFORE = re.compile(r"[\s\-/]*([ABCEUY][0-9]?)[\s\-/]+(?=[0-9DHPRS])")
_CHECK_LETTER = re.compile(r"[\s\-]*(1[01][\s\-]*(?:19|20)[0-9]{2}[\s\-]*[0-9]{5}[\s\-]*[P-Y])[\s\-./]*([A-Z][0-9]?)?")
_SERIAL = re.compile(r"[A-Z0-9\s\-.,/']+")
_PARTS = re.compile(r"[A-Z]+|[0-9]+")
_CHECK_DIGIT = re.compile(r"(?<=[0-9])\.[0-9X]\s*$")
_CHECK_X = re.compile(r"(?<=[0-9])\.X$")
_JAPANESE = re.compile(
    r"(?:JP[\s\-]*)?(実用新案登録|登録実用新案|[特実][開表公許願登]|再公?表|登録?実)(?:(?<=表)特許)?(?:第|\s)*([平昭大明令]?)(.*)"
)
_WEB_ADDRESS = re.compile(r"(?:HTTPS?://|WWW\.)\S+")
_OFFICE_APART = re.compile(r"[?&]CC=([A-Z]{2})&NR=")
_STEP_OF_ADDRESS = re.compile(r"[/?&=#:]|%3D|%2F|%3A")
_NUMBER_IN_ADDRESS = re.compile(r"([A-Z]{2})[_-]?([A-Z]{0,2}[0-9]{4,})[_-]?([A-Z][0-9]?)?(?:\.HTML?|\.PDF)?")
_ONLY_US = re.compile(
    r"(?:JUSTIA\.COM/PATENT/|FREEPATENTSONLINE\.COM/|USPTO\.GOV/\S*(?:PATENTNUMBER=|Q=))((?:D|RE|PP|H|T)?[0-9]{6,11})(?![0-9])"
)
"""Sites and services of the United States, whose addresses have numbers without the office."""
_NAMED = re.compile(
    r"(?:(U)\.?(S)\b\.?\s*)?(?:(?:PATENT|PAT)\b\.?\s*)?(?:(?:APPLICATION|APPL?)\b\.?\s*(?=PUB))?(?:(?:PUBLICATION|PUBL?)\b\.?\s*)?"
    r"(?:(?:NUMBER|NR|NO)\b\.?\s*)?:?\s*(?=[A-Z]{2}[ \d]|[0-9])"
)
_SERIES_AND_NUMBER = re.compile(r"[0-9]{2}/[0-9]{3},?[0-9]{3}")  # of an application
_DOCUMENT = re.compile(  # US-PS 4 123 456, KR 등록특허 10-1234567, 公开号CN104000123A
    r"^([A-Z]{2})[\s\-]*(?:[POA]S[\s\-]+|(?:등록|공개)[가-힣]*\s*제?\s*)(?=[0-9])"
    r"|^(?:公开|公開|公告|授权公告|专利|專利|등록|공개)[^\x00-\x7f]*[\s:]*(?=[A-Z]{2}\s?[0-9])"
)
_KIND_APART = re.compile(r"(?<=[0-9]) +([A-Z]) ([0-9])$")
_DATE_AFTER = re.compile(  # Lens, Orbit: CN107823639 A  2018-03-23 [CN107823639]
    r"(?<=[\s0-9])([A-Z][0-9]?)\s+(?:(?:VOM|OF|DU|DATED)\s+)?"
    r"(?:(?:1[789]|20)[0-9]{2}(-?)(?:0[1-9]|1[0-2])\2[0-3][0-9]|[0-3]?[0-9]([./])[01]?[0-9]\3(?:1[789]|20)[0-9]{2})"
    r"(?:\s*\[[A-Z0-9\s]+\])?$"
)
_OFFICE_BEHIND = re.compile(  # PATENTSCOPE: 60000000 07.05.2002 US
    r"([0-9][0-9/,.\-]*)\s+(?:[0-3]?[0-9]\.[01]?[0-9]\.[0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s+([A-Z]{2})"
)
# an office in a column of its own, joined with the number: WOPCT/EP02/07746, FR FR2434232
_TWICE = re.compile(r"(?:(?:WO|PCT)[\s\-/]*(?=WO|PCT)|([A-Z]{2})[\s\-/]*(?=\1[\s\-]*[A-Z]{0,2}[0-9]))+")
_PCT = re.compile(r"PCT(?![A-Z]{3})")
_EPODOC_PCT = re.compile(r"WO[\s\-]*((?:19|20)[0-9]{2})[\s\-]*([A-Z]{2})[\s\-]*([0-9]{5,6})[\s\-]*W?")


@lru_cache(maxsize=_CACHED)
def read_number(text: str, office: str = "", kind: str = "") -> Number | None:
    """Read a publication number, or a PCT application, which looks like no publication.

    ``office`` and ``kind`` apply if the text has none. The result is None if the text names no office, does not fit the
    office's numbers, or is ambiguous.
    """
    return _read(text, office, kind, PUBLICATIONS)


def normal_form(text: str) -> str:
    """Return a publication number in normal form, or the text if it cannot be read."""
    return number.docdb if (number := read_number(text)) else text.strip()


def key_of(text: str) -> str:
    """Return office and serial of a publication number, empty if it cannot be read."""
    return number.key if (number := read_number(text)) else ""


@lru_cache(maxsize=_CACHED)
def read_application(text: str, office: str = "", kind: str = "") -> Number | None:
    """Read an application number. Kind ``W`` marks a PCT application (DOCDB).

    US applications are series and six digits (``US09742144``). Check digits are dropped.
    """
    return _read(text, office, kind, APPLICATIONS)


def _read(text: str, office: str, kind: str, readings: dict[str, Reading]) -> Number | None:
    if len(text) > _LONGEST and "://" not in text:
        return None
    if _WITHOUT_MARKS.fullmatch(text):
        return _of_office(text, office, kind, readings)
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).upper().replace("\u2010", "-")
    if not text.isascii():  # Arabic and Persian digits
        text = "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in text)
    if _WEB_ADDRESS.fullmatch(text.strip()):
        text = _in_address(text.strip())
    if text[:1].isdigit() and (behind := _OFFICE_BEHIND.fullmatch(text.strip())):
        text, office = behind[1], behind[2]
    text = _DATE_AFTER.sub(r"\1", text.strip())
    text = _MARKS.sub(" ", text).strip(" .,;:-/\t\n\r'\"")
    text = _KIND_APART.sub(
        r" \1\2", _NAMED.sub(r"\1\2", text, count=1) if text[:2] in ("PA", "PU", "US", "U.") else text
    )
    text = text[twice.end() :] if (twice := _TWICE.match(text)) else text
    if japanese := _JAPANESE.fullmatch(text):
        name, era, rest = japanese.groups()
        if name.endswith("願") is not (readings is APPLICATIONS):
            return None
        office = "JPWO" if name[0] == "再" else "JP"
        rest = re.sub("[号號](?:公報)?", " ", rest).strip().removeprefix("WO")
        kind_of_name = _DATA["japanese_kinds"].get(name, "") if rest[-1:].isdigit() else ""
        text = f"{office}{era.translate(ERA_LETTERS)}{rest}{kind_of_name}"
    text = _DOCUMENT.sub(r"\1 ", text, count=1).removesuffix("호").strip()
    if epodoc := _EPODOC_PCT.fullmatch(text):
        return _pct([epodoc[2], epodoc[1], epodoc[3]])
    if _PCT.match(text):
        return _pct(_PARTS.findall(text[3:])) if _SERIAL.fullmatch(text) else None
    return _of_office(text, office, kind, readings)


def _in_address(address: str) -> str:
    """The publication number in a web address, empty if there is none or the address is of an application."""
    steps = _STEP_OF_ADDRESS.split(_OFFICE_APART.sub(r"/\1", address))
    found = ["".join(filter(None, one.groups())) for step in steps if (one := _NUMBER_IN_ADDRESS.fullmatch(step))]
    if found and "/APPLICATION" not in address:
        return next((one for one in found if one[:2] in OFFICES), "")
    return f"US{only[1]}" if (only := _ONLY_US.search(address)) else ""


def _of_office(text: str, office: str, kind: str, readings: dict[str, Reading]) -> Number | None:
    """Read a number whose office, if it has one, is at its start."""
    office, rest, written = _home(text, office.strip().upper()), text, text[:2]
    if written == office or (written in OFFICES and office not in _DATA["own_letters"]):
        office, rest = written, text[2:]
    rest, kind = _kind(_CHECK_X.sub(".0", rest), kind.strip().upper(), office)
    if (checked := _CHECK_DIGIT.sub("", rest)) != rest:  # of an application, which is also the number of a publication
        if office not in _DATA["check_digits" if readings is APPLICATIONS else "published_as_filed"]:
            return None
        rest = checked
    if readings is PUBLICATIONS and office == "US" and _SERIES_AND_NUMBER.fullmatch(rest.strip()):
        return None
    parts = _PARTS.findall(rest)
    if office not in OFFICES or not parts or not _SERIAL.fullmatch(rest):
        return None
    if kind == "W" and readings is APPLICATIONS and office != "WO":
        return _pct([office, *parts])
    serial = readings[office](_unfilled(parts) if readings is PUBLICATIONS else parts, kind)
    return Number(office, serial, kind) if serial and _home(serial, office) == office else None


def _home(text: str, office: str) -> str:
    """Return the office whose own form begins a text, else the given one."""
    own = () if office in _DATA["like_own_forms"] else _OWN_FORMS.items()
    return next((home for home, pattern in own if pattern.match(text)), office)


def _unfilled(parts: Sequence[str]) -> Sequence[str]:
    """Drop the zeros before a number of twelve characters (DEPATISnet: ``00000S602468``), or before letters."""
    written = "".join(parts)
    bare = written.lstrip("0")
    filled = bare != written and (len(written) == 12 or bare[:1].isalpha())
    return _PARTS.findall(bare) or parts if filled else parts


def _pct(parts: Sequence[str]) -> Number | None:
    """The PCT application of office, year and number: ``WO2019EP012345W``."""
    serial = _world(parts[1:], "") if len(parts) > 1 and parts[0] in OFFICES else ""
    return Number("WO", f"{serial[:4]}{parts[0]}{serial[4:]}", "W") if serial else None


def _kind(text: str, default: str, office: str) -> tuple[str, str]:
    """The text without its kind code, and the code: after the number, before it (``A-10-100907``), or the default."""
    default = "A" if default == "AA" else default if _KIND.fullmatch(default) else ""
    if office == "SG" and (singapore := _CHECK_LETTER.fullmatch(text)):
        return singapore[1], singapore[2] or default
    if after := _KIND_AFTER.search(text):
        return text[: after.start()], after[1]
    before = _KIND_BEFORE.match(text)
    if before and not (before[1] in "EU" and office in _DATA["letters_in_front"]):
        return text[before.end() :], default or before[1]
    return text, default
