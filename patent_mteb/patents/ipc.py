"""Parse IPC and CPC codes, truncate them to a level of the hierarchy, and normalise them.

The two schemes have the same grammar (WIPO Standard ST.8; EPO/USPTO Guide to the CPC)::

    A        61     F         2       / 06
    section  class  subclass  group     subgroup

Sections are A to H, and Y in the CPC. A code may stop at any level. It may be padded with spaces, hyphens or zeros
(``A61F   2/06``, ``G06Q-010/026``, ``A61F0002/06``), have the fourteen characters of ST.8 without a slash
(``A61F0002060000``), and be followed by the qualifiers of a front page or an ST.8 record (``H04L 12/28 (2006.01) I``,
``H04L 12/28 [I,2006.01]``, ``H04L12/28 20060101AFI20051008RMEP``) or by the extension and letter of a Japanese FI
(``G06F 9/00,330@A``). An indexing code of the editions before 2006 has a colon (``A61K 9:08``), STN writes a hyphen
(``A61K0031-505``). Case does not matter. The old form of US grants without a slash (``H01L 21302``,
``C07C24900``) is read up to its subclass only, because the digits do not show where the group ends.

"IPC3" is the papers' term for the first three characters, the class ``A61`` (DAPFAM §3.5, PatenTEB §3, WIPO-AT §3.1.3).
WIPO-AT calls it the subclass level, but defines three characters and shows examples of three characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, chain
from typing import Literal, NamedTuple

Level = Literal["section", "ipc3", "subclass", "group", "subgroup"]
LEVELS: tuple[Level, ...] = ("section", "ipc3", "subclass", "group", "subgroup")
"""The levels of the hierarchy, from coarse to fine."""

_CODE = re.compile(
    r"""
    \s*
    (?P<section>[A-HY])
    (?: \s? (?P<cls>(?!00)\d\d)
        (?: \s? (?P<subclass>[A-Z])
            (?: [\s_-]* (?=\d{1,4}(?!\d)) 0* (?P<group>[1-9]\d*) \s?[/:-]\s? (?P<subgroup>\d{2,6})
              | (?P<fixed_group>(?!0000)\d{4}) (?P<fixed_subgroup>\d{6})
              | (?P<filled_group>0(?!000)\d{3}|2\d{3}(?=\d{4})) (?P<filled_subgroup>\d{2,5})  # Derwent: G06K000701
              | (?: [_-]* (?=\d{1,4}(?!\d)) | \s+ (?=(?:\d{1,2}|0\d{2,3})(?!\d)) ) 0* (?P<group_only>[1-9]\d*)
              | (?: \s+ [1-9]\d{2,6} | [1-9]\d{4,6} )  # old USPTO form, group and subgroup without a slash
            )?
        )?
    )?
    (?(subclass)
        (?: [\s,]* \d{3} (?!\d) )?                # FI: extension, then a letter
        (?: \s* @? [A-Z] (?![A-Z\d]) )?
        (?: \s* \( \s* (?:\d{4} (?:(?:\.\d\d){1,2}|\d{4})?)? (?: [\s-]* [A-Z]{2} )* \s* \) )?  # (2013.01 - EP US)
        (?: \s* \[ [A-Z\d.,*\s]* \] )?           # value, version: [I,2006.01]
        (?: \s+ \d{8} [A-Z\d\s]* )?             # ST.8: version date, level, position, value, action date, ...
        (?: \s+ [A-Z]{1,3} | - [A-Z]{2,3} )?         # level, position, value: A, AFI, I, N; source: -EPO
    )
    [\s.,;]*
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


class CodesAt(NamedTuple):
    """Distinct codes at one level in order of appearance, and the unusable inputs with repeats."""

    codes: tuple[str, ...]
    unusable: tuple[str, ...]


@lru_cache(maxsize=1 << 16)
def parse(code: str) -> tuple[str, ...]:
    """Return an IPC or CPC code at each level that it reaches, from coarse to fine; the last one is its normal form.

    A group has no leading zeros. A subgroup has the digits after the slash as written, at least two; ``00`` is the main
    group itself. A text that is not a code raises ValueError.
    """
    match = _CODE.fullmatch(code)
    if match is None:
        raise ValueError(f"{code!r} is not an IPC or CPC code; expected a form such as 'A61F 2/06', 'A61F' or 'A61'")
    group, subgroup = match["group"] or match["group_only"], match["subgroup"]
    if match["filled_group"]:
        group, subgroup = match["filled_group"].lstrip("0"), match["filled_subgroup"]
    if match["fixed_group"]:
        group, subgroup = match["fixed_group"].lstrip("0"), match["fixed_subgroup"].rstrip("0").ljust(2, "0")
    letters = match["section"], match["cls"], match["subclass"]
    steps = (*(step.upper() for step in letters if step), group, subgroup and f"/{subgroup}")
    return tuple(accumulate(filter(None, steps)))


def at(code: str, level: Level) -> str:
    """Truncate a code, in normal form; raise ValueError for an invalid or coarser code."""
    levels = parse(code)
    if len(levels) <= LEVELS.index(level):
        raise ValueError(f"{code!r} is coarser than a {level}: it stops at the level {LEVELS[len(levels) - 1]}")
    return levels[LEVELS.index(level)]


def codes_at(codes: Iterable[str], level: Level) -> CodesAt:
    """Truncate codes to a level, and collect invalid and coarser ones."""
    if level not in LEVELS:
        raise ValueError(f"unknown level {level!r}; known are {', '.join(LEVELS)}")
    distinct: dict[str, None] = {}
    unusable: list[str] = []
    for code in codes:
        try:
            distinct[at(code, level)] = None
        except ValueError:
            unusable.append(code)
    return CodesAt(tuple(distinct), tuple(unusable))


_BETWEEN = re.compile(
    r"[;|\n\t；、'\"]+|//+|(?P<list>,+)|\s*/\s*(?=[A-HY]\d\d[A-Z])|\s+(?=[A-HY]\d\d[A-Z])", re.IGNORECASE
)
"""Between the codes of a list. A list in one subclass has commas, and the subclass before its first group only."""
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\]|\((?:[A-Z]{2}[, ]*)+\)")  # [I,2006.01] and, of Espacenet, (EP,US)
_TITLE = re.compile(r"\((?=[^()]*(?:[a-z]{3}|[^\W\d_]{5}|[\u3040-\u9fff\uac00-\ud7af]{2}))[^()]*\)")
"""The title of a class in round brackets: ``A61K 31/505 (Medicinal preparations)``."""
_BRACKETS_IN_TITLES = 3  # titles of the IPC have brackets in brackets, but none deeper
_WITH_TITLE = re.compile(
    r"([A-HY]\s?\d\d\s?[A-Z](?:\s*\d{1,4}\s?/\s?\d{2,6})?)\s*(?:[-–—:=]\s*|\s)(?=[^\W\d_]{3}|[A-Za-z]{1,3}\s[a-z])(?!.*/\d\d)"
)
"""A code before its title: ``A61K 31/505 - Medicinal preparations``."""
_BEFORE = re.compile(
    r"\(?(?:\(51\)\s?)?(?<![A-Z\d])(?:INT\w*\W*CL\w*?|IPC[IR]?|CPC|IC[MSAI]|FI)[\s.:-]*\(?[\d.-]*\)?[\s.:]*"
    r"(?=[A-HY]\s?\d\d)",
    re.IGNORECASE,
)
"""Before a code: ``Int.Cl.7``, ``(51) Int. Cl.``, ``(IPC1-7):`` of Espacenet, ``ICM`` of STN."""
_GROUP = re.compile(r"0*[1-9]\d{0,3}\s?[/:]\s?\d{2}.*")
_EXTENSION = re.compile(r"\d{3}\s?@?[A-Z]?|@?[A-Z]", re.IGNORECASE)
_OLD_FORM = re.compile(r"[A-Z]\s?\d\d\s?[A-Z]\s*\d{3,7}", re.IGNORECASE)  # of US grants


_NORMAL_FORM = re.compile(r"[A-HY](?!00)[0-9]{2}[A-Z][1-9][0-9]{0,3}/[0-9]{2,6}")


def is_code(text: str) -> bool:
    if _NORMAL_FORM.fullmatch(text):
        return True
    try:
        return bool(parse(text))
    except ValueError:
        return False


_FILLED_GROUP = re.compile(r"\b[A-HY]\d\d[A-Z]0(?!000)\d{3}\d{2,}\b")
_FULL_GROUP = re.compile(r"\b([A-HY]\d\d[A-Z]2\d{3})(\d{2,3})\b")
"""A group of four digits among those that Derwent fills with zeros: ``H04M225012``. Alone it may be ``H04M22/5012``."""


def read_codes(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct codes of some fields, each of which may have several, in normal form.

    Text that is not a code stays as written, so that :func:`is_code` tells what to count.
    """
    texts = list(texts)
    if any(map(_FILLED_GROUP.search, texts)):
        texts = [_FULL_GROUP.sub(r"\1/\2", text) for text in texts]
    return tuple(dict.fromkeys(code for text in texts for code in _codes_in(text)))


@lru_cache(maxsize=1 << 16)
def _codes_in(text: str) -> tuple[str, ...]:
    text = _BEFORE.sub("; ", re.sub(r"[^\S\n]+", " ", unicodedata.normalize("NFKC", text)))
    for _ in range(_BRACKETS_IN_TITLES if "(" in text else 0):
        text = _TITLE.sub(" ", text)
    text = _IN_BRACKETS.sub(lambda found: found[0].replace(",", " "), text)
    codes: list[str] = []
    subclass, mark, start, in_title = "", "", 0, False
    for between in chain(_BETWEEN.finditer(text), (None,)):
        piece = _without_open_bracket(text[start : between.start() if between else len(text)])
        in_list, mark = mark, between["list"] if between else ""
        start = between.end() if between else start
        if not any(map(str.isalnum, piece)):
            continue
        code = f"{subclass}{piece}" if in_list and subclass and _GROUP.fullmatch(piece) else piece
        if not is_code(code) and (named := _WITH_TITLE.match(code)):
            code, in_title = named[1], True
        elif in_title and not any(map(str.isdigit, code)):
            continue  # the rest of a title, after a comma
        else:
            in_title = False
        if is_code(code):
            levels = parse(code)
            subclass = levels[2] if len(levels) > 2 else ""
            codes.append(code if len(levels) == 3 and _OLD_FORM.fullmatch(code) else levels[-1])
        elif not (in_list and codes and "/" in codes[-1] and _EXTENSION.fullmatch(piece)):
            codes.append(piece)
    return tuple(codes)


def _without_open_bracket(text: str) -> str:
    """Drop a round bracket without its other half (around linked indexing codes), and needless blanks."""
    for mark, other in ("()", ")("):
        if mark in text and other not in text:
            text = text.replace(mark, " ")
    return " ".join(text.split())
