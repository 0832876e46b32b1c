"""Parse IPC and CPC codes, truncate them to a level of the hierarchy, and normalise them.

The two schemes have the same grammar (WIPO Standard ST.8; EPO/USPTO Guide to the CPC)::

    A        61     F         2       / 06
    section  class  subclass  group     subgroup

Sections are A to H, and Y in the CPC. A code may stop at any level. It may be padded with spaces, hyphens or zeros
(``A61F   2/06``, ``G06Q-010/026``, ``A61F0002/06``), have the fourteen characters of ST.8 without a slash
(``A61F0002060000``), and be followed by the qualifiers of a front page or an ST.36 record (``H04L 12/28 (2006.01) I``,
``H04L12/28 20060101AFI20051008RMEP``). Case does not matter. The old form of US grants without a slash (``H01L 21302``,
``C07C24900``) is read up to its subclass only, because the digits do not show where the group ends.

"IPC3" is the papers' term for the first three characters, the class ``A61`` (DAPFAM §3.5, PatenTEB §3, WIPO-AT §3.1.3).
WIPO-AT calls it the subclass level, but defines three characters and shows examples of three characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
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
            (?: [\s_-]* (?=\d{1,4}(?!\d)) 0* (?P<group>[1-9]\d*) \s?/\s? (?P<subgroup>\d{2,6})
              | (?P<fixed_group>(?!0000)\d{4}) (?P<fixed_subgroup>\d{6})
              | (?: [_-]* (?=\d{1,4}(?!\d)) | \s+ (?=(?:\d{1,2}|0\d{2,3})(?!\d)) ) 0* (?P<group_only>[1-9]\d*)
              | (?: \s+ [1-9]\d{2,6} | [1-9]\d{4,6} )  # old USPTO form, group and subgroup without a slash
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
    parts = {name: (value or "").upper() for name, value in match.groupdict().items()}
    group, subgroup = parts["group"] or parts["group_only"], parts["subgroup"]
    if parts["fixed_group"]:
        group, subgroup = parts["fixed_group"].lstrip("0"), parts["fixed_subgroup"].rstrip("0").ljust(2, "0")
    steps = (parts["section"], parts["cls"], parts["subclass"], group, subgroup and f"/{subgroup}")
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
