"""What a recipe needs of the records, and what it says when a filter leaves nothing.

Each recipe states its needs in one table, ``NEEDS``: the field, what is made of it, and what is left out where it is missing. The filters,
their messages, ``patent-mteb inspect`` and the table in ``docs/recipes.md`` read it. A need that drops records can be waived with the
setting ``require`` of the recipe, which names the fields that stay required, unless the benchmark has no meaning without it (``fixed``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from patent_mteb.errors import DataError
from patent_mteb.patents import ipc, views
from patent_mteb.patents.records import ExpertSummary, MachineSummaries, Patent
from patent_mteb.recipes.log import BuildLog, Step

__all__ = ["CITATION_FIELDS", "FIELDS", "Filter", "Funnel", "Need", "required", "waived"]

_Item = TypeVar("_Item")

FIELDS: Mapping[str, Callable[[Patent], bool]] = {
    "title": lambda patent: bool(patent.title.strip()),
    "abstract": lambda patent: bool(patent.abstract.strip()),
    "claims": lambda patent: bool(patent.claims),
    "description": lambda patent: bool(views.VIEWS["Description"](patent)),
    "ipc": lambda patent: bool(ipc.codes_at(patent.ipc, "section", errors="skip").codes),
    "filing_date": lambda patent: bool(patent.application_date or patent.priority_date),
    "publication_date": lambda patent: patent.publication_date is not None,
    "date": lambda patent: bool(patent.application_date or patent.priority_date or patent.publication_date),
    "inventors": lambda patent: bool(patent.inventors),
    "labels": lambda patent: bool(patent.labels),
    "keywords": lambda patent: bool(patent.keywords),
    "expert": lambda patent: patent.expert != ExpertSummary(),
    "summaries": lambda patent: patent.summaries != MachineSummaries(),
}
"""Field of a patent -> whether one has it. ``filing_date`` is that of the application or of the priority, ``date`` any date."""

CITATION_FIELDS = ("citations", "category")
"""Citations between the patents, and the letter (X, Y, A) that a search report gives them."""


@dataclass(frozen=True)
class Need:
    """One field that a recipe reads.

    Attributes:
        field: one of :data:`FIELDS` or :data:`CITATION_FIELDS`.
        serves: tables or tasks that are made of it.
        drops: what is left out where it is missing; empty: nothing.
        fixed: it cannot be waived.
    """

    field: str
    serves: str
    drops: str = ""
    fixed: bool = False


def required(needs: Sequence[Need]) -> tuple[str, ...]:
    """The fields without which something is left out, and which ``require`` can waive: its default.

    Example:
        >>> from patent_mteb.recipes import dapfam
        >>> from patent_mteb.recipes.needs import required
        >>> required(dapfam.NEEDS)
        ('title', 'abstract', 'claims', 'description', 'filing_date')
    """
    return tuple(need.field for need in needs if need.drops and not need.fixed)


def waived(needs: Sequence[Need], require: Sequence[str]) -> tuple[str, ...]:
    """The fields that the paper requires and the setting ``require`` does not.

    Example:
        >>> from patent_mteb.recipes import dapfam
        >>> from patent_mteb.recipes.needs import waived
        >>> waived(dapfam.NEEDS, ("title", "abstract"))
        ('claims', 'description', 'filing_date')
    """
    return tuple(field for field in required(needs) if field not in require)


@dataclass(frozen=True)
class Filter(Generic[_Item]):
    """One condition: its name in the log, what it keeps, and what to do where it keeps nothing."""

    name: str
    keeps: Callable[[_Item], bool]
    remedy: str

    @classmethod
    def having(cls, field: str, keeps: Callable[[_Item], bool], *, fixed: bool = False) -> Filter[_Item]:
        """The filter of one need."""
        waive = "" if fixed else f", or waive it: a setting require that does not name {field}"
        return cls(f"with {field}", keeps, f"add {field}{waive}")


class Funnel:
    """Filters one after the other, each a step of the log; the one that leaves nothing is named, with what went in and out before it.

    Example:
        >>> from patent_mteb.recipes.log import BuildLog
        >>> from patent_mteb.recipes.needs import Filter, Funnel
        >>> even = Filter("even", lambda number: number % 2 == 0, "add even ones")
        >>> Funnel(BuildLog("mine"), "numbers")({"one": 1, "two": 2}, [even])
        {'two': 2}
        >>> Funnel(BuildLog("mine"), "numbers")({"one": 1, "three": 3}, [even])
        Traceback (most recent call last):
        patent_mteb.errors.DataError: mine: 0 of 2 numbers are even (in order: even: 2 -> 0). Remedy: add even ones
    """

    def __init__(self, log: BuildLog, what: str, prefix: str = "") -> None:
        self.log, self.what, self.prefix = log, what, prefix
        self.trail: list[Step] = []

    def __call__(self, items: Mapping[str, _Item], filters: Sequence[Filter[_Item]]) -> dict[str, _Item]:
        """The items that pass all filters.

        Raises:
            DataError: a filter leaves none, or there is none to begin with.
        """
        left = dict(items)
        if not left:
            raise DataError(f"{self.log.benchmark}: there are no {self.what}", remedy="give records of patents")
        for one in filters:
            kept = {key: item for key, item in left.items() if one.keeps(item)}
            self.log.step(f"{self.prefix}{one.name}", len(left), len(kept), _note(one, left, kept))
            self.trail.append(self.log.steps[-1])
            if not kept:
                raise self.emptied(f"0 of {len(left)} {self.what} are {one.name}", one.remedy)
            left = kept
        return left

    def emptied(self, problem: str, remedy: str) -> DataError:
        """The error that nothing is left, with every filter so far."""
        order = "; ".join(f"{step.name.removeprefix(self.prefix)}: {step.rows_in} -> {step.rows_out}" for step in self.trail)
        return DataError(f"{self.log.benchmark}: {problem} (in order: {order})", remedy=remedy)


def _note(one: Filter[_Item], left: Mapping[str, _Item], kept: Mapping[str, _Item]) -> str:
    gone = len(left) - len(kept)
    return f"{gone} left out" if gone else ""
