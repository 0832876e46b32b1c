"""The steps of a build: its log, the fields that it needs, and the filters on them.

The log has counts in and out, deviations from the paper, and files. The table ``NEEDS`` of a recipe lists each field,
its use, and what the recipe drops where it is missing. The filters, their messages, ``patent-mteb data inspect`` and
the table in ``docs/recipes.md`` are made from it. The setting ``require`` names the fields that stay required and
waives the others, except those without which the benchmark has no meaning (``fixed``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.patents import ipc, views
from patent_mteb.patents.records import ExpertSummary, MachineSummaries, Patent
from patent_mteb.recipes.parameters import settings_of, written

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


def counts_note(counts: Mapping[str, int]) -> str:
    """Return the counts above zero as a note: ``2 within a family; 1 without a date``."""
    return "; ".join(f"{number} {what}" for what, number in counts.items() if number)


FIELDS: Mapping[str, Callable[[Patent], bool]] = {
    "title": lambda patent: bool(patent.title.strip()),
    "abstract": lambda patent: bool(patent.abstract.strip()),
    "claims": lambda patent: bool(patent.claims),
    "description": lambda patent: bool(views.VIEWS["Description"](patent)),
    "ipc": lambda patent: bool(ipc.codes_at(patent.ipc, "section").codes),
    "filing_date": lambda patent: bool(patent.application_date or patent.priority_date),
    "publication_date": lambda patent: patent.publication_date is not None,
    "date": lambda patent: bool(patent.application_date or patent.priority_date or patent.publication_date),
    "inventors": lambda patent: bool(patent.inventors),
    "labels": lambda patent: bool(patent.labels),
    "keywords": lambda patent: bool(patent.keywords),
    "expert": lambda patent: patent.expert != ExpertSummary(),
    "summaries": lambda patent: patent.summaries != MachineSummaries(),
}
"""Test for each field of a patent. ``filing_date`` is the application or the priority date, ``date`` any date."""

MATCH_THEM = (
    "add citations between your patents; --set match=kind or --set match=family finds those that name yours in another"
    " form"
)
"""Remedy where no citation connects two patents."""

CATEGORIES = (
    "add citations with categories X, Y or A between your patents; or count every citation, in one grade: "
    "a --set require=... that does not name category"
)
"""Remedy where no citation has a category."""


@dataclass(frozen=True)
class Need:
    """A field of :data:`FIELDS`, ``citations`` or ``category`` that a recipe reads, and what uses it.

    ``drops`` names the items that the recipe drops where the field is missing, if any. A ``fixed`` need cannot be
    waived.
    """

    field: str
    serves: str
    drops: str = ""
    fixed: bool = False


def required(needs: Sequence[Need]) -> tuple[str, ...]:
    """Return the fields that ``require`` can waive, which are its default."""
    return tuple(need.field for need in needs if need.drops and not need.fixed)


def deviations(params: Any, needs: Sequence[Need]) -> list[str]:
    """Return a phrase for each setting that differs from the paper's."""
    phrases = []
    for setting in settings_of(type(params)):
        value = written(getattr(params, setting.name))
        if setting.name != "require":
            if value != setting.default:
                phrases.append(f"{setting.name} is {value or 'empty'} instead of {setting.default or 'empty'}")
            continue
        if less := [field for field in required(needs) if field not in params.require]:
            phrases.append(f"not required: {', '.join(less)}")
        if more := [field for field in params.require if field not in required(needs)]:
            phrases.append(f"required: {', '.join(more)}")
    return phrases


@dataclass(frozen=True)
class Filter:
    """A condition on the rows of a table, with a remedy if nothing passes and the field that it requires."""

    name: str
    keeps: pl.Expr
    remedy: str = ""
    field: str = ""


def filters_of(needs: Sequence[Need], require: Sequence[str], has: Mapping[str, pl.Expr]) -> list[Filter]:
    """Return a filter for each required need that drops something."""
    active = [need for need in needs if need.drops and need.field in has and (need.fixed or need.field in require)]
    return [Filter(f"with {need.field}", has[need.field], field=need.field) for need in active]


class Funnel:
    """A sequence of filters, each a step of the log, which must leave something."""

    def __init__(self, log: BuildLog, what: str, require: Sequence[str] = (), prefix: str = "") -> None:
        self.log, self.what, self.require, self.prefix = log, what, require, prefix
        self.trail: list[str] = []

    def __call__(self, rows: pl.DataFrame, filters: Sequence[Filter]) -> pl.DataFrame:
        """Return the rows that pass all filters."""
        if rows.is_empty():
            raise DataError(f"{self.log.benchmark}: there are no {self.what}", remedy="give records of patents")
        left = rows
        for one in filters:
            before, left = len(left), left.filter(one.keeps)
            self.log.step(self.prefix + one.name, before, len(left))
            self.trail.append(f"{one.name}: {before} -> {len(left)}")
            if left.is_empty():
                problem, remedy = f"0 of {before} {self.what} left are {one.name}", one.remedy
                if one.field:
                    problem, remedy = self._without_field(rows, filters)
                order = "; ".join(self.trail)
                raise DataError(f"{self.log.benchmark}: {problem} (in order: {order})", remedy=remedy)
        return left

    def _without_field(self, rows: pl.DataFrame, filters: Sequence[Filter]) -> tuple[str, str]:
        """Return problem and remedy where the required fields leave nothing."""
        counted = rows.select(one.keeps.sum().alias(one.field) for one in filters if one.field)
        have: dict[str, int] = counted.row(0, named=True)
        fewest = min(have.values())
        lacking = [field for field, number in have.items() if number == fewest]
        counts = ", ".join(f"{number} have {field}" for field, number in have.items())
        problem = f"0 of {len(rows)} {self.what} have all that is required: {counts}"
        remedy = f"add {' and '.join(lacking)}"
        if set(lacking) <= set(self.require):
            rest = ",".join(field for field in self.require if field not in lacking)
            remedy += f", or waive the missing fields in 'data build' with --set require={rest}"
        return problem, remedy


def within(year: pl.Expr, first: int | None, last: int | None) -> pl.Expr:
    """Whether a year lies between two years; None sets no limit, and an unknown year passes."""
    after = pl.lit(True) if first is None else year >= first
    before = pl.lit(True) if last is None else year <= last
    return year.is_null() | (after & before)


def note_ungraded(log: BuildLog, ungraded: int, used: int) -> None:
    """Record a deviation if citations without a category count."""
    if ungraded:
        log.deviate(f"{ungraded} of {used} citations have no category: they are relevant in one grade, 'cited'")
