"""The log of a build: its steps with counts in and out, its deviations from the paper, and its files."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Step:
    """One step of a recipe: the number of rows in and out, and why they differ."""

    name: str
    rows_in: int
    rows_out: int
    note: str = ""


@dataclass
class BuildLog:
    """The steps of a build, its files (relative to the root) and its deviations.

    A deviation is a phrase that says where the tables differ from the paper's rules. The description of the tasks lists
    them.
    """

    benchmark: str
    steps: list[Step] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)

    def step(self, name: str, rows_in: int, rows_out: int, note: str = "") -> None:
        """Record a step and log it."""
        self.steps.append(Step(name, rows_in, rows_out, note))
        logger.info("%s: %s: %d -> %d%s", self.benchmark, name, rows_in, rows_out, f" ({note})" if note else "")

    def record_files(self, root: Path, folder: str) -> None:
        """Record all files of a folder below the root."""
        self.files = sorted(path.relative_to(root).as_posix() for path in (root / folder).rglob("*") if path.is_file())

    def deviate(self, phrase: str) -> None:
        """Record a deviation from the paper's rules and log it."""
        self.deviations.append(phrase)
        logger.info("%s: differs from the paper: %s", self.benchmark, phrase)

    def warn(self, name: str, rows_in: int, rows_out: int, problem: str) -> None:
        """Record a step and log its note as a warning."""
        self.steps.append(Step(name, rows_in, rows_out, problem))
        logger.warning("%s: %s", self.benchmark, problem)


def counts_note(counts: Mapping[str, int], separator: str = "; ") -> str:
    """Return the counts above zero as a note: ``2 within a family; 1 without a date``."""
    return separator.join(f"{number} {what}" for what, number in counts.items() if number)
