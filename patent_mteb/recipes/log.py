"""What a recipe did: its steps with counts in and out, where it leaves the paper, and the files that it wrote."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Step:
    """One step of a recipe: how many rows went in, how many came out, and why they differ."""

    name: str
    rows_in: int
    rows_out: int
    note: str = ""


@dataclass
class BuildLog:
    """What a recipe did, step by step, and the files it wrote (relative to the root, sorted).

    ``deviations`` says in phrases where the tables differ from the paper's rules; they end in the description of the
    tasks.
    """

    benchmark: str
    steps: list[Step] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)

    def step(self, name: str, rows_in: int, rows_out: int, note: str = "") -> None:
        """Record a step and log it."""
        self.steps.append(Step(name, rows_in, rows_out, note))
        logger.info("%s: %s: %d -> %d%s", self.benchmark, name, rows_in, rows_out, f" ({note})" if note else "")

    def deviate(self, phrase: str) -> None:
        """Record where the tables leave the paper's rules, and log it."""
        self.deviations.append(phrase)
        logger.info("%s: differs from the paper: %s", self.benchmark, phrase)
