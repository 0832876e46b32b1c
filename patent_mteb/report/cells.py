"""Tables as values: cells with their statistics, columns, marks, and the short names of tasks."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import floor, inf, log10
from typing import TYPE_CHECKING

from patent_mteb.data.loading import plain_name
from patent_mteb.metrics.significance import MARK, explained

if TYPE_CHECKING:
    from patent_mteb.tasks.benchmark import Facts


@dataclass(frozen=True)
class Score:
    """Statistics of the main score of a run on a task or a slice.

    Probes and clusterings have the 95% interval in the result (``<main score>_low`` and ``_high``); they are not
    compared. p values are two-sided; ``..._joint`` hold for all pairs of runs on the task or slice together.
    """

    low: float
    high: float
    p_baseline: float | None = None  # None without a baseline, or where the run is the baseline
    p_baseline_joint: float | None = None
    better: bool = False  # a higher mean than the baseline's, and p_baseline_joint below 0.05
    n: int | None = None  # queries
    p_best: float | None = None  # against the best run; None for the best run
    p_best_joint: float | None = None
    tied_with_best: bool | None = None  # the best run, or p_best_joint is not below 0.05; None without a comparison
    position: int | None = None  # among the compared runs, by mean, from 1
    tied_with: str | None = None  # positions of the runs that are not significantly different (1–4, 6), of whole tasks
    effect: float | None = None  # difference to the best run in standard deviations of the differences by query


COLUMNS = (
    *("low", "high", "p_best", "p_best_joint", "p_baseline", "p_baseline_joint", "position"),
    *("effect", "tied_with_best", "tied_with", "n"),
)
"""The fields of a score that are columns of files, in this order."""

_DIGITS = 4  # of scores on the page and in the files
MISSING = "–"
TIED = "≈"  # follows a score that is not significantly different from the best of its task
_TIED_NOTE = f"{TIED}: not distinguishable from the best of the task on the same queries (joint p of 0.05 or more)."
UNTESTED = "◦"  # follows a score that was not compared with the best of its task, in a table with compared ones
_UNTESTED_NOTE = f"{UNTESTED}: not compared with the best (no scores by query, or other queries)."


@dataclass(frozen=True)
class Cell:
    value: float | str | None = None  # None if it was not measured
    digits: int = _DIGITS
    unit: str = ""  # follows the number
    mark: str = ""  # best, second or empty
    letters: str = ""  # superscript
    rank: int | None = None  # in parentheses
    small: str = ""  # why the score is small, or the scores that a mean excludes; such a cell has a mark
    interval: tuple[float, float] | None = None  # in brackets
    ranked: bool = True  # whether it can be best or second
    score: Score | None = None
    untested: bool = False  # whether it is marked as not compared with the best
    title: str = ""  # replaces the value in every format except csv

    @property
    def tied(self) -> bool:
        """Whether it is the best of its task, or not significantly different from it; never a small score."""
        return self.score is not None and bool(self.score.tied_with_best) and not self.small

    @property
    def behind(self) -> str:
        """The suffix of a number: marks (small, tied, untested) and the interval."""
        tied = f"\N{NO-BREAK SPACE}{TIED}" if self.tied and self.mark != "best" else ""
        ends = [f"{end:z.{2 if self.digits == _DIGITS else self.digits}f}" for end in self.interval or ()]
        within = f"\N{NO-BREAK SPACE}[{ends[0]},\N{NO-BREAK SPACE}{ends[1]}]" if ends else ""
        return (MARK if self.small else "") + tied + (UNTESTED if self.untested else "") + within

    @property
    def text(self) -> str:
        if self.value is None:
            return self.title or MISSING
        if self.title or isinstance(self.value, str):
            return self.title or str(self.value)
        return f"{self.value:z.{self.digits}f}{self.unit}"  # z: no -0.00


@dataclass(frozen=True)
class Column:
    """A column: ``key`` is its header in csv, ``title`` elsewhere.

    ``marked`` columns show best and second (higher is better). ``further`` are additional columns of csv
    (:data:`patent_mteb.report.rendering.FURTHER`). ``folded`` columns are not on a terminal, which names them.
    """

    key: str
    title: str
    numeric: bool = True
    marked: bool = True
    further: tuple[str, ...] = ()
    folded: bool = False


def text_columns(**titles: str) -> list[Column]:
    return [Column(key, title, numeric=False) for key, title in titles.items()]


def number_columns(**titles: str) -> list[Column]:
    """Return columns of numbers in which nothing is marked, by key and title."""
    return [Column(key, title, marked=False) for key, title in titles.items()]


@dataclass(frozen=True)
class Table:
    """A table; each row has one cell a column."""

    name: str  # of a file
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    banner: str = ""  # a warning above the numbers
    notes: tuple[str, ...] = ()  # below them
    blocks: tuple[str, ...] = ()  # for each row the block within which best and second are marked; empty for one block
    emphasised: frozenset[int] = frozenset()  # positions of rows that stand out
    benchmark: str = ""  # empty for a table over all benchmarks
    at_once: int = 0  # the most columns of numbers next to each other; 0 for all. csv files are never split
    summary: bool = False  # whether a terminal shows it without --every-table

    def parts(self) -> tuple[Table, ...]:
        """Return the table as it is shown: several tables of the same rows if it has too many columns of numbers."""
        leading, size = self.leading, len(self.columns)
        further = size - leading
        if not self.at_once or further <= self.at_once:
            return (self,)
        return tuple(
            self.with_columns(
                (*range(leading), *range(start, min(start + self.at_once, size))),
                f", {start - leading + 1} to {min(start - leading + self.at_once, further)} of {further}",
            )
            for start in range(leading, size, self.at_once)
        )

    def filled(self) -> Table:
        """Return the table without the columns of numbers that have no value in any row."""
        cells = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        empty = [self.rows and not any(cell.value is not None or cell.title for cell in column) for column in cells]
        places = [place for place, column in enumerate(self.columns) if not (column.numeric and empty[place])]
        return replace(self.with_columns(places), at_once=self.at_once)

    @property
    def leading(self) -> int:
        """The number of text columns before the first column of numbers."""
        return next((place for place, column in enumerate(self.columns) if column.numeric), len(self.columns))

    def with_columns(self, places: Sequence[int], which: str = "") -> Table:
        """Some of its columns, with ``which`` behind its title."""
        rows = tuple(tuple(row[place] for place in places) for row in self.rows)
        columns = tuple(self.columns[place] for place in places)
        return replace(self, title=self.title + which, columns=columns, rows=rows, at_once=0)

    def marked(self) -> Table:
        """The same table with best and second marked in each block of every marked column, and a note on each mark.

        Where nothing was compared, no score is marked as not compared.
        """
        rows = [list(row) for row in self.rows]
        if not any(cell.score is not None and cell.score.tied_with_best is not None for row in rows for cell in row):
            rows = [[replace(cell, untested=False) for cell in row] for row in rows]
        blocks = self.blocks or ("",) * len(rows)
        for position, column in enumerate(self.columns):
            for block in dict.fromkeys(blocks) if column.numeric and column.marked else ():
                members = [row for row, name in zip(rows, blocks, strict=True) if name == block]
                for row, name in zip(members, mark([row[position] for row in members]), strict=True):
                    row[position] = replace(row[position], mark=name)
        cells = [cell for row in rows for cell in row]
        needed = {
            _TIED_NOTE: any(cell.tied for cell in cells),
            _UNTESTED_NOTE: any(cell.untested for cell in cells),
            explained(): any(cell.small for cell in cells),
        }
        notes = [note for note, is_needed in needed.items() if is_needed]
        return replace(self, rows=tuple(map(tuple, rows)), notes=(*self.notes, *notes))


def mark(cells: Sequence[Cell]) -> list[str]:
    """``best``, ``second`` or nothing for each cell, by the values as they are shown; equal ones share a mark.

    Nothing is marked where only one cell has a value, and no cell that is not ranked.
    """
    shown = [
        round(cell.value, cell.digits) if isinstance(cell.value, float) and cell.ranked else None for cell in cells
    ]
    known = [value for value in shown if value is not None]
    order = sorted(set(known), reverse=True) if len(known) > 1 else []
    names = dict(zip(order, ("best", "second"), strict=False))
    return ["" if value is None else names.get(value, "") for value in shown]


def supported_digits(interval: tuple[float, float] | None) -> int:
    """Return the decimals that an interval supports: down to the first digit of half its width, 1 to 4."""
    low, high = interval or (0, 0)
    return min(_DIGITS, max(1, -floor(log10((high - low) / 2)))) if 0 < high - low < inf else 2


def mean_cell(value: float | None, tasks: Collection[str], small: Collection[str]) -> Cell:
    """A mean over tasks, and which of them it is without."""
    without = sorted(set(tasks) & set(small))
    return Cell(value, small=f"without {', '.join(without)}" if without and value is not None else "")


def short(task: str, facts: Facts) -> str:
    """A task's name for a narrow place: without the benchmark's prefix and the suffix, ``TA→TAC`` for a pair of
    views.
    """
    plain = plain_name(task)
    if plain in facts.short_names:
        return facts.short_names[plain]
    rest = plain.removeprefix(facts.prefix)
    views = re.fullmatch(r"([A-Z]\w*?)To([A-Z]\w*?)(In|Out)?Retrieval", rest)
    if views:
        return f"{views[1]}→{views[2]}" + (f" {views[3].upper()}" if views[3] else "")
    return rest.removesuffix("Retrieval") or rest or plain


def slug(*names: str) -> str:
    """Names as one name of a file: lower case, words joined by hyphens; empty names are skipped."""
    return "-".join(re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name in names if name)
