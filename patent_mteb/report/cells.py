"""Tables as values: cells, columns, marks, and the short names of tasks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

__all__ = ["Cell", "Column", "Table", "mark", "short", "slug", "titled"]

MISSING = "–"

_PREFIXES = ("WIPOAT", "PatentDAPFAM", "PatenTEB", "Sophia", "PatentMap")


@dataclass(frozen=True)
class Cell:
    """One value. ``mark`` is ``best``, ``second`` or empty; ``rank`` is shown in parentheses."""

    value: float | str | None = None
    digits: int = 4
    unit: str = ""
    mark: str = ""
    letters: str = ""
    rank: int | None = None

    @property
    def text(self) -> str:
        """The value alone, as every form but csv shows it."""
        if self.value is None:
            return MISSING
        return self.value if isinstance(self.value, str) else f"{self.value:.{self.digits}f}{self.unit}"


@dataclass(frozen=True)
class Column:
    """A column: ``key`` heads it in csv, ``title`` elsewhere; ``marked`` columns show best and second (higher is better)."""

    key: str
    title: str
    numeric: bool = True
    marked: bool = True


@dataclass(frozen=True)
class Table:
    """A table. ``name`` is a file name, ``banner`` what must be read before the numbers, ``notes`` what explains them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    banner: str = ""
    notes: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    emphasised: frozenset[int] = frozenset()

    def marked(self) -> Table:
        """The same table with best and second marked in every marked column, apart for each block of rows."""
        rows = [list(row) for row in self.rows]
        blocks = self.blocks or ("",) * len(rows)
        for position, column in enumerate(self.columns):
            if not (column.numeric and column.marked):
                continue
            for block in dict.fromkeys(blocks):
                places = [place for place, name in enumerate(blocks) if name == block]
                for place, found in zip(places, mark([rows[place][position] for place in places]), strict=True):
                    rows[place][position] = replace(rows[place][position], mark=found)
        return replace(self, rows=tuple(tuple(row) for row in rows))


def mark(cells: Sequence[Cell]) -> list[str]:
    """``best``, ``second`` or nothing for each cell, by the values as they are shown; equal ones share a mark.

    Nothing is marked where only one cell has a value.
    """
    shown = [round(cell.value, cell.digits) if isinstance(cell.value, float) else None for cell in cells]
    order = sorted({value for value in shown if value is not None}, reverse=True)
    if sum(value is not None for value in shown) < 2:
        return [""] * len(cells)
    names = dict(zip(order, ("best", "second"), strict=False))
    return [names.get(value, "") if value is not None else "" for value in shown]


def short(task: str) -> str:
    """A task's name for a narrow place: without family and suffix, ``TA→TAC`` for a pair of views."""
    plain = task.removesuffix(".sample")
    if plain == "PatentCitationRetrieval":
        return "TAC→TAC"
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    views = re.fullmatch(r"([A-Z]\w*?)To([A-Z]\w*?)(In|Out)?Retrieval", plain)
    if views:
        return f"{views[1]}→{views[2]}" + (f" {views[3].upper()}" if views[3] else "")
    return plain.removesuffix("Retrieval") or plain


def slug(*parts: str) -> str:
    return "-".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts if part)


def titled(world: str, title: str) -> str:
    return title + {"real": "", "local": " (local copy)", "sample": " (sample)"}[world]
