"""The leaderboard as one self-contained page: everything inline, no network, no library.

The page is the data file ``page.html`` with a JSON payload. Text reaches the document as text nodes only, and a content security
policy forbids every request, so that no model name can do harm.
"""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl

from patent_mteb.data.worlds import World
from patent_mteb.identity import __version__
from patent_mteb.metrics.sizes import explained
from patent_mteb.report.cells import Cell, Table, slug
from patent_mteb.report.collect import Collected
from patent_mteb.report.names import visible
from patent_mteb.report.statistics import Statistics
from patent_mteb.report.view import BenchmarkView, gap_percent

if TYPE_CHECKING:
    from patent_mteb.report.figures import Plot

__all__ = ["page", "payload"]

_TITLE = "Patent embedding leaderboard"
_NOT_MEANS = {"model", "headline", "tasks"}
_DOMAINS = {"headline_in", "headline_out", "headline_gap_percent"}
_PROVENANCE = ("task", "model", "revision", "settings", "data", "data_revision", "prompt", "versions", "date")
_WIDE_INCHES = 9.0


def page(
    collected: Collected,
    statistics: Statistics,
    tables: Sequence[Table],
    published: Sequence[Table] = (),
    plots: Sequence[Plot] = (),
    messages: Sequence[str] = (),
) -> str:
    """The page as HTML text.

    Args:
        tables: of :func:`patent_mteb.report.tables.build`.
        published: of :func:`patent_mteb.report.published.beside`.
        plots: of :func:`patent_mteb.report.figures.draw`.
        messages: shown in a list that can be opened.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.page import page
        >>> from patent_mteb.report.statistics import Statistics
        >>> from patent_mteb.report.tables import build
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> page(collected, Statistics(), build(collected, Statistics()))[:15]
        '<!doctype html>'
    """
    content = json.dumps(payload(collected, statistics, tables, published, plots, messages), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        content = content.replace(character, f"\\u{ord(character):04x}")
    template = files(__package__).joinpath("page.html").read_text("utf-8")
    return template.replace("@@TITLE@@", html.escape(_TITLE)).replace("@@SMALL@@", html.escape(explained())).replace("@@PAYLOAD@@", content)


def payload(
    collected: Collected,
    statistics: Statistics,
    tables: Sequence[Table],
    published: Sequence[Table] = (),
    plots: Sequence[Plot] = (),
    messages: Sequence[str] = (),
) -> dict[str, Any]:
    """What the page shows, as JSON-like values; arguments as of :func:`page`.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.page import payload
        >>> from patent_mteb.report.statistics import Statistics
        >>> from patent_mteb.report.tables import build
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> [tab["label"] for tab in payload(collected, Statistics(), build(collected, Statistics()))["tabs"]]
        ['All benchmarks (sample)', 'WIPO-AT (sample)', 'DAPFAM (sample)']
    """
    by_name = {table.name: table for table in tables}
    provenance: list[dict[str, str]] = []
    tabs: list[dict[str, Any]] = []
    for name, world in collected.worlds.items():
        overall = by_name[slug(name, "overall")]
        tabs.append(_tab(overall, world.world) | {"kind": "table", "table": _table(overall)})
        for view in world.benchmarks:
            summary = by_name[slug(name, view.name)]
            tab = _tab(summary, world.world) | {"kind": "benchmark"} | _scores(view, summary, statistics, provenance)
            if name == "real":
                tab["published"] = [_table(table) for table in published if table.benchmark == view.name]
            tab["plots"] = [_plot(plot) for plot in plots if (plot.world, plot.benchmark) == (name, view.name)]
            tabs.append(tab)
    dates = sorted(date for date in collected.results["date"] if date)
    counts = f"{len(collected.results)} results of {len(collected.runs)} models and settings"
    until = f", the newest of {dates[-1][:10]}" if dates else ""
    return {
        "title": _TITLE,
        "about": f"{counts}{until}. Made by patent-mteb {__version__}.",
        "messages": [visible(message) for message in messages],
        "tabs": tabs,
        "provenance": provenance,
    }


def _tab(table: Table, world: World) -> dict[str, Any]:
    return {"id": table.name, "label": table.title, "banner": world.banner, "notes": list(table.notes), "published": [], "plots": []}


def _finite(value: float | str | None) -> float | str | None:
    """NaN and infinity have no place in JSON; they are shown as missing."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(cell: Cell) -> dict[str, Any]:
    value = visible(cell.value) if isinstance(cell.value, str) else _finite(cell.value)
    shown = {"value": value, "digits": cell.digits, "unit": cell.unit, "letters": cell.letters, "rank": cell.rank}
    return shown | ({"behind": cell.behind, "ranked": cell.ranked} if cell.behind else {})


def _table(table: Table) -> dict[str, Any]:
    blocks = table.blocks or ("",) * len(table.rows)
    return {
        "title": table.title,
        "notes": list(table.notes),
        "columns": [{"title": column.title, "numeric": column.numeric, "marked": column.marked} for column in table.columns],
        "rows": [
            {"cells": [_cell(cell) for cell in row], "block": block, "emphasised": position in table.emphasised}
            for position, (row, block) in enumerate(zip(table.rows, blocks, strict=True))
        ],
    }


def _plot(plot: Plot) -> dict[str, Any]:
    from patent_mteb.report.figures import svg

    source = base64.b64encode(svg(plot.figure).encode()).decode()
    return {"title": plot.title, "source": f"data:image/svg+xml;base64,{source}", "wide": bool(plot.figure.get_figwidth() > _WIDE_INCHES)}


def _scores(view: BenchmarkView, summary: Table, statistics: Statistics, provenance: list[dict[str, str]]) -> dict[str, Any]:
    """A benchmark's tab: main scores by slice, run and task, with intervals and the place of each in ``provenance``."""
    runs = [str(row[0].value) for row in summary.rows]

    def matrix(cells: Mapping[tuple[str, str], Any]) -> list[list[Any]]:
        """Values by run and task as a list of runs, None where there is none."""
        return [[cells.get((run, task.name)) for task in view.tasks] for run in runs]

    where: dict[tuple[str, str], int] = {}
    intervals: dict[tuple[str, str], list[Any]] = {}
    for row in view.results.iter_rows(named=True):
        key = (row["run"], row["task"])
        where[key] = len(provenance)
        provenance.append({name: visible(row[name]) for name in _PROVENANCE})
        if score := statistics.of(view.world.name, row["task"], row["run"]):
            intervals[key] = [score.low, score.high, score.p_holm, score.better]
    small: dict[str, dict[tuple[str, str], Any]] = {}
    for (task, run, part), cell in view.cells.items():
        if cell.small:
            small.setdefault(part, {})[run, task] = [cell.small, cell.behind, cell.interval]
    values: dict[str, dict[tuple[str, str], Any]] = {}
    counts: dict[str, dict[tuple[str, str], Any]] = {}
    for row in view.scores.filter(pl.col("main")).iter_rows(named=True):
        key = (row["run"], row["task"])
        values.setdefault(row["slice"], {})[key] = _finite(row["value"])
        counts.setdefault(row["slice"], {})[key] = row["n_queries"]
    slices = sorted(values, key=lambda name: (name not in ("", "in", "out"), name))
    shown = {name: matrix(values[name]) for name in slices}
    if {"in", "out"} <= values.keys():
        shown["gap"] = matrix({key: _finite(gap_percent(inside, values["out"].get(key))) for key, inside in values["in"].items()})
    return {
        "runs": runs,
        "tasks": [{"name": task.name, "short": task.short, "group": task.group, "measure": task.measure} for task in view.tasks],
        "means": _means(summary, without_domains="gap" in shown),
        "values": shown,
        "counts": {name: matrix(counts[name]) for name in slices},
        "small": {name: matrix(small[name]) for name in slices if name in small},
        "statistics": matrix(intervals),
        "provenance": matrix(where),
        "baseline": statistics.baseline,
    }


def _means(summary: Table, *, without_domains: bool) -> list[dict[str, Any]]:
    """The columns of means of a benchmark's table; IN, OUT and gap have switches of their own where tasks are sliced."""
    left_out = _NOT_MEANS | (_DOMAINS if without_domains else set())
    return [
        {
            "title": column.title,
            "marked": column.marked,
            "digits": summary.rows[0][position].digits,
            "unit": summary.rows[0][position].unit,
            "values": [_finite(row[position].value) for row in summary.rows],
            "behind": [row[position].behind for row in summary.rows],
        }
        for position, column in enumerate(summary.columns)
        if column.key not in left_out
    ]
