"""Patent offices of the sample: numbers, kind codes, and styles of IPC codes, abstracts and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sample_generator.random_choice import RandomGenerator
from sample_generator.vocabulary import read_data


@dataclass(frozen=True)
class Office:
    """A patent office, as ``data/offices.toml`` describes it."""

    kinds: Sequence[tuple[str, float, bool]]
    serial: str
    abstracts: Mapping[str, float] = field(default_factory=lambda: {"plain": 1.0})
    claims: str = "ep"
    codes: str = "compact"


@dataclass(frozen=True)
class Region:
    """A region of origin of inventions, as ``data/offices.toml`` describes it."""

    families: int
    first: Mapping[str, float]
    further: Mapping[str, float]
    multiple: float


_DATA = read_data("offices")
OFFICES = {name: Office(**row) for name, row in _DATA["office"].items()}
REGIONS = {name: Region(**row) for name, row in _DATA["region"].items()}


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
