"""Patent numbers in one form, from whatever style a source writes them in.

The normal form is that of DOCDB without separators: ``US2007140112A1``, ``EP0680812A1``, ``JPH09508542A``, ``KR20040032451A``.
Two things are decided where DOCDB itself has several forms or none:

* a WO publication always has four digits of the year and six of the number (``WO1999012345``, DOCDB: ``WO9912345``), as
  PATENTSCOPE and DOCDB since 2004 write it;
* a PCT application is ``WO2019EP012345W`` (EPODOC's form, the number always with six digits), whatever its source writes.

A number that cannot be read, or only in two ways, is None: nothing is guessed, and whoever asks keeps the text and counts it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from patent_mteb.patents.numbering import APPLICATIONS, CHECK_DIGITS, OFFICES, OWN_LETTERS, PUBLICATIONS, Reading, international

__all__ = ["Number", "read_application", "read_number"]


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
    """A publication number (or a PCT application, which no publication looks like).

    Args:
        text: the number in any style; an office and a kind code in it go before the arguments.
        office: two-letter office, for sources that keep it in a field of its own or that have one office only.
        kind: kind code; what is none (``00``) is left out.

    Returns:
        None if the text names no office, does not fit the office's numbers, or can be read in two ways.

    Example:
        >>> from patent_mteb.patents.numbers import read_number
        >>> [read_number(text).docdb for text in ("US 2007/0140112 A1", "US-2007140112-A1", "EP 680 812", "WO 99/12345 A1")]
        ['US2007140112A1', 'US2007140112A1', 'EP0680812', 'WO1999012345A1']
        >>> read_number("08930553", office="US", kind="B2").docdb, read_number("JP1997508542A").docdb
        ('US8930553B2', 'JPH09508542A')
        >>> print(read_number("08930553"))
        None
    """
    return _publication(text, office, kind)


def read_application(text: str, office: str = "", kind: str = "") -> Number | None:
    """An application number; arguments and result as for :func:`read_number`. Kind ``W`` marks a PCT application (DOCDB).

    US applications are series and six digits (``US09742144``); check digits are left out.

    Example:
        >>> from patent_mteb.patents.numbers import read_application
        >>> [read_application(text).key for text in ("US 09/742,144", "EP99203729.2", "EP19990203729", "PCT/EP2019/012345")]
        ['US09742144', 'EP99203729', 'EP99203729', 'WO2019EP012345']
    """
    return _filed(text, office, kind)


@lru_cache(maxsize=_REMEMBERED)
def _publication(text: str, office: str, kind: str) -> Number | None:
    return _read(text, office, kind, PUBLICATIONS)


@lru_cache(maxsize=_REMEMBERED)
def _filed(text: str, office: str, kind: str) -> Number | None:
    return _read(text, office, kind, APPLICATIONS)


def _read(text: str, office: str, kind: str, readings: dict[str, Reading]) -> Number | None:
    text = _MARKS.sub(" ", unicodedata.normalize("NFKC", text).upper().replace("\u2010", "-")).strip(" .,;:-/\t\n\r")
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
    """The text without its kind code, and the code: behind the number, else before it (``A-10-100907``), else the one given."""
    if behind := _KIND_BEHIND.search(text):
        return text[: behind.start()], behind[1]
    before = _KIND_BEFORE.match(text)
    given = given if _KIND.fullmatch(given) else ""
    if before:
        return text[before.end() :], given or before[1]
    return text, given
