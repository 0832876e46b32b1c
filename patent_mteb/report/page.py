"""The leaderboard as one self-contained page: everything inline, no network, no library.

The page is the data file ``page.html`` with a JSON payload. Text reaches the document as text nodes only, and a content security
policy forbids every request, so that no model name can do harm.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl

from patent_mteb import __version__
from patent_mteb.report.cells import Cell, Table, short, slug, titled
from patent_mteb.report.collect import WORLDS, Collected
from patent_mteb.report.statistics import Statistics

if TYPE_CHECKING:
    from patent_mteb.report.plots import Plot

__all__ = ["page", "payload"]

TITLE = "Patent embedding leaderboard"
_NOT_MEANS = {"model", "headline", "tasks"}
_DOMAINS = {"in", "out", "gap_percent"}
_PROVENANCE = ("task", "model", "revision", "settings", "data", "data_revision", "prompt", "versions", "date")


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
        plots: of :func:`patent_mteb.report.plots.draw`.
        messages: shown in a list that can be opened.
    """
    content = json.dumps(payload(collected, statistics, tables, published, plots, messages), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        content = content.replace(character, f"\\u{ord(character):04x}")
    template = files(__package__).joinpath("page.html").read_text("utf-8")
    return template.replace("@@TITLE@@", html.escape(TITLE)).replace("@@PAYLOAD@@", content)


def payload(
    collected: Collected,
    statistics: Statistics,
    tables: Sequence[Table],
    published: Sequence[Table] = (),
    plots: Sequence[Plot] = (),
    messages: Sequence[str] = (),
) -> dict[str, Any]:
    """What the page shows, as JSON-like values."""
    by_name = {table.name: table for table in tables}
    provenance: list[dict[str, str]] = []
    tabs: list[dict[str, Any]] = []
    for world in collected.worlds:
        part = collected.in_world(world)
        overall = by_name[slug(world, "overall")]
        tabs.append(_tab(overall.name, overall.title, world) | {"kind": "table", "table": _table(overall), "notes": list(overall.notes)})
        for family in part.families:
            summary = by_name[slug(world, family)]
            tab = _tab(summary.name, titled(world, family), world) | _scores(part, family, summary, statistics, provenance)
            if world == "real":
                tab["published"] = [_table(table) for table in published if table.title.startswith(f"{family}, Table")]
            tab["plots"] = [_plot(plot) for plot in plots if (plot.world, plot.family) == (world, family)]
            tabs.append(tab)
    dates = sorted(date for date in collected.results["date"] if date)
    counts = f"{len(collected.results)} results of {len(collected.runs)} models and settings"
    until = f", the newest of {dates[-1][:10]}" if dates else ""
    return {
        "title": TITLE,
        "about": f"{counts}{until}. Made by patent-mteb {__version__}.",
        "messages": list(messages),
        "tabs": tabs,
        "provenance": provenance,
    }


def _tab(identity: str, label: str, world: str) -> dict[str, Any]:
    return {"id": identity, "label": label, "banner": WORLDS[world], "published": [], "plots": []}


def _finite(value: float | str | None) -> float | str | None:
    """NaN has no place in JSON; it is shown as missing."""
    return None if isinstance(value, float) and value != value else value


def _cell(cell: Cell) -> dict[str, Any]:
    return {"value": _finite(cell.value), "digits": cell.digits, "unit": cell.unit, "letters": cell.letters, "rank": cell.rank}


def _table(table: Table) -> dict[str, Any]:
    blocks = table.blocks or ("",) * len(table.rows)
    return {
        "title": table.title,
        "notes": list(table.notes),
        "columns": [{"title": column.title, "numeric": column.numeric, "marked": column.marked} for column in table.columns],
        "rows": [
            {"cells": [_cell(cell) for cell in row], "block": blocks[place], "ours": place in table.emphasised}
            for place, row in enumerate(table.rows)
        ],
    }


_WIDE_INCHES = 9.0


def _plot(plot: Plot) -> dict[str, Any]:
    from patent_mteb.report.plots import svg

    source = base64.b64encode(svg(plot.figure).encode()).decode()
    return {"title": plot.title, "source": f"data:image/svg+xml;base64,{source}", "wide": bool(plot.figure.get_figwidth() > _WIDE_INCHES)}


def _scores(part: Collected, family: str, summary: Table, statistics: Statistics, provenance: list[dict[str, str]]) -> dict[str, Any]:
    """A family's tab: main scores by slice, run and task, with intervals and the place of each in ``provenance``."""
    results = part.results.filter(pl.col("family") == family)
    scores = part.scores.filter((pl.col("family") == family) & "main")
    runs = [str(row[0].value) for row in summary.rows]
    tasks = results.select("task", "group", "main_score").unique(maintain_order=True).rows()
    run_at = {run: place for place, run in enumerate(runs)}
    task_at = {task: place for place, (task, *_) in enumerate(tasks)}

    def empty() -> list[list[Any]]:
        return [[None] * len(tasks) for _ in runs]

    where, stats = empty(), empty()
    for row in results.iter_rows(named=True):
        at = run_at[row["run"]], task_at[row["task"]]
        where[at[0]][at[1]] = len(provenance)
        provenance.append({name: row[name] for name in _PROVENANCE})
        if found := statistics.scores.get((row["task"], row["run"])):
            stats[at[0]][at[1]] = [found.low, found.high, found.p_holm, found.better]
    names = sorted(set(scores["slice"]), key=lambda name: (name not in ("", "in", "out"), name))
    values: dict[str, list[list[Any]]] = {name: empty() for name in names}
    counts: dict[str, list[list[Any]]] = {name: empty() for name in names}
    for run, task, name, value, n_queries in scores.select("run", "task", "slice", "value", "n_queries").iter_rows():
        values[name][run_at[run]][task_at[task]] = _finite(value)
        counts[name][run_at[run]][task_at[task]] = n_queries
    if {"in", "out"} <= values.keys():
        values["gap"] = [
            [100 * (inside - outside) / inside if inside and outside is not None else None for inside, outside in zip(*rows, strict=True)]
            for rows in zip(values["in"], values["out"], strict=True)
        ]
    means = [
        {
            "title": column.title,
            "marked": column.marked,
            "digits": summary.rows[0][place].digits,
            "unit": summary.rows[0][place].unit,
            "values": [_finite(row[place].value) for row in summary.rows],
        }
        for place, column in enumerate(summary.columns)
        if column.key not in _NOT_MEANS | (_DOMAINS if "gap" in values else set())
    ]
    return {
        "kind": "family",
        "notes": list(summary.notes),
        "runs": runs,
        "tasks": [{"name": task, "short": short(task), "group": group, "measure": measure} for task, group, measure in tasks],
        "means": means,
        "values": values,
        "counts": counts,
        "statistics": stats,
        "provenance": where,
        "baseline": statistics.baseline,
    }
