"""Read the data files of the sample: fields with problems, principles with voices, phrases and names."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_STUFF = "[at least a portion|a component] of the {device} is made of {material}"
_FIELD_FILES = ("fields_mobility", "fields_environment", "fields_selfcare", "fields_senses", "fields_general")


@dataclass(frozen=True)
class Problem:
    """A technical problem of a field; ``device`` has the names of the device if those of the field are too general."""

    id: str
    device: tuple[str, ...]
    ipc: tuple[str, ...]
    fine: str
    emerging: str
    topic: tuple[str, ...]
    part: tuple[str, ...]
    trouble: tuple[str, ...]
    aim: tuple[str, ...]
    doing: tuple[str, ...]
    benefit: tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """A technical field; ``conventional`` and ``emerging`` are (coarse label, fine label) or empty."""

    id: str
    voice: int
    topic: tuple[str, ...]
    device: tuple[str, ...]
    user: tuple[str, ...]
    part: tuple[str, ...]
    material: tuple[str, ...]
    stuff: str
    setting: tuple[str, ...]
    principles: tuple[str, ...]
    extra: tuple[str, ...]
    conventional: tuple[str, ...]
    emerging: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def coarse(self) -> str:
        return self.conventional[0] if self.conventional else ""


@dataclass(frozen=True)
class Voice:
    """One wording of a principle."""

    name: str
    element: tuple[str, ...]
    how: tuple[str, ...]
    step: tuple[str, ...]
    why: tuple[str, ...]


@dataclass(frozen=True)
class Principle:
    """A principle of operation in several fields.

    ``bloom`` is the time when its patents tend to be cited, ``serves`` the category whose aids work by it.
    """

    id: str
    bloom: str
    section: str
    voices: tuple[Voice, ...]
    serves: str = ""

    @property
    def electronic(self) -> bool:
        return self.computing or self.section == "INSTRUMENTATION AND TESTING"

    @property
    def computing(self) -> bool:
        return self.section in {"COMPUTING AND CONTROL", "ELECTRONICS"}


@dataclass(frozen=True)
class Vocabulary:
    fields: tuple[Field, ...]
    principles: dict[str, Principle]
    phrases: dict[str, Any]
    names: dict[str, dict[str, tuple[str, ...]]]


def read_data(name: str) -> dict[str, Any]:
    """Read a data file of the sample."""
    text = (Path(__file__).parent / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def _field(row: dict[str, Any]) -> Field:
    rows = row.pop("problem")
    values: dict[str, Any] = {"stuff": _STUFF, "conventional": (), "emerging": (), **_tuples(row)}
    defaults = {"device": values["device"], "fine": "", "emerging": ""}
    return Field(**values, problems=tuple(Problem(**{**defaults, **_tuples(problem)}) for problem in rows))


@lru_cache(maxsize=1)
def load() -> Vocabulary:
    """Read the data files."""
    principles = []
    for row in read_data("principles")["principle"]:
        voices = tuple(Voice(**_tuples(voice)) for voice in row.pop("voice"))
        principles.append(Principle(**row, voices=voices))
    return Vocabulary(
        fields=tuple(_field(row) for name in _FIELD_FILES for row in read_data(name)["field"]),
        principles={principle.id: principle for principle in principles},
        phrases=read_data("phrases"),
        names={region: _tuples(names) for region, names in read_data("names").items()},
    )
