"""What the page shows, as JSON-like values: models, terms, and a tab for each world's front page and each benchmark.

Every text that many numbers share (a model's revision, the state of the data, prompt, versions of libraries) is said once, in ``texts``;
numbers point to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import polars as pl

from patent_mteb.data.worlds import World
from patent_mteb.identity import __version__
from patent_mteb.metrics.sizes import MARK, explained
from patent_mteb.report.benchmark_tab import Texts, benchmark_tab
from patent_mteb.report.cells import TIED, Cell, Column, Table, slug
from patent_mteb.report.collect import Collected
from patent_mteb.report.explorer import Explorer
from patent_mteb.report.frames import model_names
from patent_mteb.report.front import front
from patent_mteb.report.measures import measures
from patent_mteb.report.model_facts import FACTS, facts_of_runs
from patent_mteb.report.names import visible
from patent_mteb.report.statistics import Statistics
from patent_mteb.report.task_texts import texts_of
from patent_mteb.report.view import BenchmarkView
from patent_mteb.report.words import TERMS, measure_title

__all__ = ["TITLE", "payload"]

TITLE = "Patent embedding leaderboard"
_FURTHER = ("query-types", "statistics", "detectable", "advantage", "geometry")
"""Tables of a benchmark that the page shows as they are."""


def payload(
    collected: Collected,
    statistics: Statistics,
    tables: Sequence[Table],
    published: Sequence[Table] = (),
    messages: Sequence[str] = (),
    *,
    texts: bool = False,
    geometries: pl.DataFrame | None = None,
) -> dict[str, Any]:
    """What the page shows; arguments as of :func:`patent_mteb.report.page.page`.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.payload import payload
        >>> from patent_mteb.report.statistics import Statistics
        >>> from patent_mteb.report.tables import build
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> [tab["label"] for tab in payload(collected, Statistics(), build(collected, Statistics()))["tabs"]]
        ['All benchmarks (sample)', 'WIPO-AT (sample)', 'DAPFAM (sample)']
    """
    by_name = {table.name: table for table in tables}
    numbers = {run: number for number, run in enumerate(collected.runs)}
    facts, seen = facts_of_runs(collected)
    said = Texts()
    views = [view for world in collected.worlds.values() for view in world.benchmarks]
    explorer = Explorer(numbers, partial(texts_of, read_all=texts), views)
    tabs: list[dict[str, Any]] = []
    for name, world in collected.worlds.items():
        overall = by_name[slug(name, "overall")]
        paired = [_table(by_name["reproduction"])] if name == "real" and "reproduction" in by_name else []
        tabs.append(_tab(overall, world.world, "front") | front(world, overall, statistics, numbers) | {"reproduction": paired})
        for view in world.benchmarks:
            summary = by_name[slug(name, view.name)]
            tab = _tab(summary, world.world, "benchmark") | benchmark_tab(
                view, summary, statistics, said, numbers, seen, _of(geometries, view)
            )
            joined = [table for table in published if table.benchmark == view.name and name == "real"]
            further = [table for table in tables if table.name.startswith(tuple(slug(name, view.name, kind) for kind in _FURTHER))]
            tab |= {"explorers": explorer.of(view)}
            tabs.append(tab | {"published": list(map(_table, joined)), "further": list(map(_table, [*measures(view), *further]))})
    dates = sorted(date for date in collected.results["date"] if date)
    many = len(collected.runs) > 1
    counts = f"{len(collected.results)} results of {len(collected.runs)} model{'s' * many}{' and settings' * many}"
    until = f", the newest of {dates[-1][:10]}" if dates else ""
    names = _names(collected)
    short = model_names(names.values())
    return {
        "title": TITLE,
        "about": f"{counts}{until}. Made by patent-mteb {__version__}.",
        "small": explained(),
        "messages": [visible(message) for message in (*messages, *explorer.messages, *_not_explored(explorer.left_out))],
        "facts": [asdict(fact) for fact in FACTS],
        "runs": [_run(run, names[run], short[names[run]], facts[run]) for run in collected.runs],
        "terms": TERMS,
        "baseline": statistics.baseline,
        "tabs": tabs,
        "texts": said.all,
    }


def _of(geometries: pl.DataFrame | None, view: BenchmarkView) -> pl.DataFrame | None:
    return None if geometries is None else geometries.filter(world=view.world.name, benchmark=view.name)


def _names(collected: Collected) -> dict[str, str]:
    """By run the name of its model alone where no other run has it, else the run with its settings."""
    models = dict(collected.results.select("run", "model").unique().iter_rows())
    counts = Counter(models.values())
    return {run: visible(models[run]) if counts[models[run]] == 1 else run for run in collected.runs}


def _run(run: str, name: str, short: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"label": name, "short": short, "run": run, "facts": [facts.get(fact.key) for fact in FACTS]}


def _tab(table: Table, world: World, kind: str) -> dict[str, Any]:
    shown = {"kind": kind, "id": table.name, "label": table.title, "world": world.name, "name": table.benchmark}
    return shown | {"banner": world.banner, "notes": _notes(table.notes)}


def _not_explored(tasks: int) -> list[str]:
    return [f"{tasks} tasks are not shown query by query: the page holds the headlines and as many others as fit."] if tasks else []


def _notes(notes: Sequence[str]) -> list[str]:
    """Notes without those on the marks of scores, which the page has in its footer."""
    return [note for note in notes if not note.startswith((MARK, TIED))]


def _cell(cell: Cell) -> Any:
    """A number or text alone, or a list with rank, what follows it, and whether it is ranked."""
    value = visible(cell.value) if isinstance(cell.value, str) else cell.value
    if isinstance(value, float):
        value = round(value, 6) if math.isfinite(value) else None
    return [value, cell.rank, cell.behind, cell.ranked] if cell.rank or cell.behind or not cell.ranked else value


def _worded(cell: Cell, column: Column) -> Cell:
    """A measure by its name in words."""
    return replace(cell, value=measure_title(cell.value)) if column.key == "measure" and isinstance(cell.value, str) else cell


def _table(table: Table) -> dict[str, Any]:
    digits = [max((row[place].digits for row in table.rows), default=4) for place in range(len(table.columns))]
    shape: Mapping[str, Any] = {"blocks": list(table.blocks)} if any(table.blocks) else {}
    return {
        "title": table.title,
        "notes": _notes(table.notes),
        "columns": [
            {"title": column.title, "numeric": column.numeric, "marked": column.marked, "digits": digits[place]}
            for place, column in enumerate(table.columns)
        ],
        "rows": [[_cell(_worded(cell, column)) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows],
        "emphasised": sorted(table.emphasised),
        **shape,
    }
