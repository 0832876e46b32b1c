"""IPC and CPC codes: parse what sources write, truncate to any level of the hierarchy, one normal form.

The two schemes share one grammar (WIPO Standard ST.8; EPO/USPTO Guide to the CPC)::

    A        61     F         2       / 06
    section  class  subclass  group     subgroup

Sections run from A to H, and Y in the CPC. Read are codes that stop at any level, with blanks, hyphens or zeros as
padding (``A61F   2/06``, ``G06Q-010/026``, ``A61F0002/06``), the fourteen-character form of ST.8 without a slash
(``A61F0002060000``), either case, and with the qualifiers that follow a code on a front page or in an ST.36 record
(``H04L 12/28 (2006.01) I``, ``H04L12/28 20060101AFI20051008RMEP``). The old form of US grants, group and subgroup run
together (``H01L 21302``, ``C07C24900``), is read up to its subclass only, because the digits do not say where the group
ends.

"IPC3" is the papers' word for the first three characters, i.e. the class ``A61`` (DAPFAM §3.5, PatenTEB §3, WIPO-AT
§3.1.3; the last calls it the subclass level, but its definition and its examples are three characters, which is
followed here).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

__all__ = [
    "IPC",
    "LEVELS",
    "CodesAt",
    "Level",
    "codes_at",
    "group",
    "ipc3",
    "normalise",
    "parse",
    "section",
    "subclass",
    "subgroup",
]

Level = Literal["section", "ipc3", "subclass", "group", "subgroup"]

LEVELS: tuple[Level, ...] = ("section", "ipc3", "subclass", "group", "subgroup")
"""The levels of the hierarchy, from coarse to fine."""

_CODE = re.compile(
    r"""
    \s*
    (?P<section>[A-HY])
    (?: \s? (?P<cls>(?!00)\d\d)
        (?: \s? (?P<subclass>[A-Z])
            (?: [\s_-]* (?=\d{1,4}(?!\d)) 0* (?P<group>[1-9]\d*) \s?/\s? (?P<subgroup>\d{2,6})
              | (?P<fixed_group>(?!0000)\d{4}) (?P<fixed_subgroup>\d{6})
              | (?: [_-]* (?=\d{1,4}(?!\d)) | \s+ (?=(?:\d{1,2}|0\d{2,3})(?!\d)) ) 0* (?P<group_only>[1-9]\d*)
              | (?: \s+ [1-9]\d{2,6} | [1-9]\d{4,6} )  # old USPTO form, group and subgroup run together
            )?
        )?
    )?
    (?(subclass)
        (?: \s* \( \s* \d{4} (?:\.\d\d|\d{4})? \s* \) )?  # version of the scheme: (2006.01)
        (?: \s+ \d{8} [A-Z\d]* )?               # ST.36: version date, level, position, value, action date, ...
        (?: \s+ [A-Z]{1,3} )?                             # level, position, value: A, AFI, I, N
    )
    [\s.,;]*
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class IPC:
    """One parsed code. What a code does not reach is ``None``; every part below it is then ``None`` too.

    Attributes:
        section: one letter, ``"A"``.
        cls: two digits of the class, ``"61"``.
        subclass: one letter, ``"F"``.
        group: main group without leading zeros, ``"2"``.
        subgroup: digits after the slash as written, at least two, ``"06"``; ``"00"`` is the main group itself.
    """

    section: str
    cls: str | None = None
    subclass: str | None = None
    group: str | None = None
    subgroup: str | None = None

    def at(self, level: Level) -> str | None:
        """The code cut off after ``level``, in normal form; ``None`` where the code does not reach it."""
        steps = (self.section, self.cls, self.subclass, self.group, self.subgroup)[: LEVELS.index(level) + 1]
        if steps[-1] is None:
            return None
        head = "".join(step for step in steps[:4] if step is not None)
        return f"{head}/{self.subgroup}" if level == "subgroup" else head

    @property
    def level(self) -> Level:
        """The finest level that the code reaches."""
        return next(level for level in reversed(LEVELS) if self.at(level) is not None)

    def __str__(self) -> str:
        return self.at(self.level) or self.section


class CodesAt(NamedTuple):
    """Distinct codes at one level in the order of first sight, and the inputs that gave none (each one, repeats
    too).
    """

    codes: tuple[str, ...]
    unusable: tuple[str, ...]


@lru_cache(maxsize=1 << 16)
def parse(code: str) -> IPC:
    """Parse one IPC or CPC code of any level."""
    match = _CODE.fullmatch(code)
    if match is None:
        raise ValueError(f"{code!r} is no IPC or CPC code; expected a form such as 'A61F 2/06', 'A61F' or 'A61'")
    levels = match.groupdict()
    letters = {name: value.upper() if value else None for name, value in levels.items()}
    main, sub = letters["group"] or letters["group_only"], letters["subgroup"]
    if letters["fixed_group"] and letters["fixed_subgroup"]:
        main = letters["fixed_group"].lstrip("0")
        sub = letters["fixed_subgroup"].rstrip("0").ljust(2, "0")
    return IPC(levels["section"].upper(), letters["cls"], letters["subclass"], main, sub)


def _at(code: str, level: Level) -> str:
    cut = parse(code).at(level)
    if cut is None:
        raise ValueError(f"{code!r} is coarser than a {level}: it stops at the level {parse(code).level}")
    return cut


def section(code: str) -> str:
    """Section of a code: ``"A61F0002/06"`` -> ``"A"``. Raises ValueError for what is no code."""
    return _at(code, "section")


def ipc3(code: str) -> str:
    """Class of a code: ``"A61F0002/06"`` -> ``"A61"``. Raises ValueError for no code and for one that stops before."""
    return _at(code, "ipc3")


def subclass(code: str) -> str:
    """Subclass of a code: ``"A61F0002/06"`` -> ``"A61F"``. Raises ValueError for no code and for one that stops before.
    """
    return _at(code, "subclass")


def group(code: str) -> str:
    """Main group of a code: ``"A61F0002/06"`` -> ``"A61F2"``. Raises ValueError for no code and for one that stops
    before.
    """
    return _at(code, "group")


def subgroup(code: str) -> str:
    """Subgroup of a code: ``"A61F0002/06"`` -> ``"A61F2/06"``. Raises ValueError for no code and for one that stops
    before.
    """
    return _at(code, "subgroup")


def normalise(code: str) -> str:
    """The code at its own level in normal form: ``"h04l 12/28 (2006.01)"`` -> ``"H04L12/28"``. Raises ValueError for no
    code.
    """
    return str(parse(code))


def codes_at(codes: Iterable[str], level: Level, errors: Literal["raise", "skip"] = "raise") -> CodesAt:
    """Cut many codes off at one level."""
    if level not in LEVELS:
        raise ValueError(f"unknown level {level!r}; known are {', '.join(LEVELS)}")
    if errors not in ("raise", "skip"):
        raise ValueError(f"errors={errors!r} is neither 'raise' nor 'skip'")
    distinct: dict[str, None] = {}
    unusable: list[str] = []
    for code in codes:
        try:
            distinct[_at(code, level)] = None
        except ValueError:
            if errors == "raise":
                raise
            unusable.append(code)
    return CodesAt(tuple(distinct), tuple(unusable))
