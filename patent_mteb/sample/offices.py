"""Patent offices of the sample: numbers, kind codes, and styles of IPC codes, abstracts and claims."""

from __future__ import annotations

from dataclasses import dataclass

from patent_mteb.sample.random_choice import RandomGenerator


@dataclass(frozen=True)
class Office:
    """A patent office.

    ``kinds`` are (kind code, share, granted). ``serial`` is a pattern with ``year`` and a running ``n``. ``abstracts``
    are (style, share). ``claims`` and ``codes`` are the styles of claims and IPC codes.
    """

    kinds: tuple[tuple[str, float, bool], ...]
    serial: str
    abstracts: tuple[tuple[str, float], ...] = (("plain", 1.0),)
    claims: str = "ep"
    codes: str = "compact"


_CHINESE = (("plain", 0.6), ("soleff", 0.19), ("sol", 0.21))
_JAPANESE = (("psolve", 0.56), ("purpose", 0.18), ("bracket", 0.18), ("problem", 0.08))
_GERMAN = (("plain", 0.72), ("problem", 0.28))

OFFICES: dict[str, Office] = {
    "US": Office((("A1", 0.55, False), ("B2", 0.45, True)), "{year}{n:07d}", claims="us", codes="compact"),
    "EP": Office((("A1", 0.7, False), ("B1", 0.3, True)), "{n:07d}", codes="version"),
    "WO": Office((("A1", 1.0, False),), "{year}{n:06d}", (("plain", 0.85), ("bracket", 0.15)), codes="version"),
    "GB": Office((("A", 0.8, False), ("B", 0.2, True)), "2{n:06d}"),
    "AU": Office((("A1", 0.7, False), ("B2", 0.3, True)), "{year}2{n:05d}"),
    "CA": Office((("A1", 0.8, False), ("C", 0.2, True)), "2{n:06d}"),
    "CN": Office((("A", 0.6, False), ("B", 0.2, True), ("U", 0.2, False)), "1{n:08d}", _CHINESE, "cn", "padded"),
    "TW": Office((("A", 0.7, False), ("B", 0.3, True)), "{year}{n:05d}", _CHINESE, "cn", "padded"),
    "HK": Office((("A1", 1.0, False),), "1{n:06d}", claims="cn"),
    "JP": Office((("A", 0.75, False), ("B2", 0.25, True)), "{year}{n:06d}", _JAPANESE, "cn", "padded"),
    "KR": Office((("A", 0.7, False), ("B1", 0.3, True)), "10{year}{n:07d}", (("purpose", 0.7), ("plain", 0.3)), "cn"),
    "DE": Office(
        (("A1", 0.7, False), ("B4", 0.15, True), ("U1", 0.15, False)), "10{year}{n:06d}", _GERMAN, codes="version"
    ),
    "AT": Office((("A1", 0.6, False), ("B1", 0.4, True)), "5{n:05d}", _GERMAN),
    "CH": Office((("A2", 0.7, False), ("B1", 0.3, True)), "7{n:05d}", _GERMAN),
    "FR": Office((("A1", 0.9, False), ("B1", 0.1, True)), "3{n:06d}"),
    "ES": Office((("A1", 0.7, False), ("B1", 0.15, True), ("U", 0.15, False)), "2{n:06d}"),
    "RU": Office(
        (("C1", 0.5, False), ("C2", 0.35, True), ("U1", 0.15, False)), "2{n:06d}", (("fse", 1.0),), "ep", "hyphen"
    ),
}
"""The offices of the sample. The serial numbers only resemble real ones."""


@dataclass(frozen=True)
class Region:
    """Origin of inventions: number of families, offices of first filing and of further members with their shares."""

    families: int
    first: tuple[tuple[str, float], ...]
    further: tuple[tuple[str, float], ...]
    multiple: float


REGIONS: dict[str, Region] = {
    "CN": Region(
        430,
        (("CN", 0.93), ("TW", 0.05), ("HK", 0.02)),
        (("WO", 2.5), ("US", 2.5), ("CN", 3), ("TW", 1.5), ("HK", 1.5)),
        0.27,
    ),
    "EN": Region(
        255,
        (("US", 0.72), ("GB", 0.11), ("EP", 0.08), ("AU", 0.05), ("CA", 0.04)),
        (("US", 2), ("EP", 3), ("WO", 3), ("CN", 2.5), ("CA", 1.5), ("AU", 1), ("JP", 1.5), ("GB", 0.7)),
        0.38,
    ),
    "JP": Region(
        160, (("JP", 1.0),), (("US", 2), ("JP", 1), ("EP", 1), ("CN", 2.5), ("WO", 1), ("KR", 0.8), ("TW", 0.7)), 0.34
    ),
    "DE": Region(
        72,
        (("DE", 0.68), ("AT", 0.17), ("CH", 0.15)),
        (("EP", 2), ("DE", 1), ("US", 1), ("CN", 1), ("AT", 0.7), ("WO", 1)),
        0.45,
    ),
    "FR": Region(28, (("FR", 1.0),), (("EP", 2), ("WO", 2), ("US", 1), ("CA", 1)), 0.4),
    "ES": Region(20, (("ES", 1.0),), (("EP", 1), ("WO", 2)), 0.3),
    "RU": Region(66, (("RU", 1.0),), (("WO", 2), ("CN", 1)), 0.06),
    "KR": Region(12, (("KR", 1.0),), (("US", 2), ("CN", 1), ("JP", 1)), 0.5),
}
"""Regions with about the shares of the seven filing-jurisdiction groups of WIPO-AT §3.1.2, and with enough Russian
abstracts for the effect and substance fragments of PatenTEB. The sum of ``families`` is the size of the sample."""


def publication_number(office: str, kind: str, year: int, serial: int) -> str:
    """Return a publication number without spaces. Granted US patents have a running number, applications a year."""
    pattern = "{n:08d}" if office == "US" and kind == "B2" else OFFICES[office].serial
    return f"{office}{pattern.format(year=year, n=serial)}{kind}"


def written_code(code: str, style: str, rng: RandomGenerator) -> str:
    """Write an IPC code such as ``A61G 5/10`` in the style of an office."""
    head, subgroup = code.split("/")
    subclass, group = head.split(" ")
    if style == "padded" and rng.chance(0.3):
        return f"{subclass}{int(group):04d}/{subgroup}"
    if style == "hyphen":
        return f"{subclass}-{int(group):03d}/{subgroup}"
    if style == "version":
        return f"{code} (2006.01)"
    return f"{subclass}{group}/{subgroup}"
