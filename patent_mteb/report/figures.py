"""Every plot of a report: which ones the results have data for, and the files they become."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from patent_mteb.files import replacing, write_text
from patent_mteb.report import frames
from patent_mteb.report.cells import short, slug
from patent_mteb.report.charts import CHARTS, Chart
from patent_mteb.report.collect import Collected
from patent_mteb.report.style import styled
from patent_mteb.report.view import BenchmarkView, MeasuredTask
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plot:
    """A figure, its file name, what it shows in words (for screen readers), its data source and its benchmark."""

    name: str
    title: str
    data_source: str
    benchmark: str
    figure: Figure


def draw(collected: Collected) -> list[Plot]:
    """Every plot that the results have data for."""
    return [
        plot for source in collected.data_sources.values() for view in source.benchmarks for plot in _of_benchmark(view)
    ]


def _of_benchmark(view: BenchmarkView) -> list[Plot]:
    return [_plot(view, chart, frame) for chart in CHARTS if chart.shows(frame := chart.data(view))]


def _plot(view: BenchmarkView, chart: Chart, frame: pl.DataFrame) -> Plot:
    task: MeasuredTask | None = getattr(view, chart.task) if chart.task else None
    in_grid = next((one for one in view.tasks if one.plain in view.facts.section_grid), None)
    queries, corpora = frames.section_axes(view)
    measured = in_grid if "grid" in chart.takes else task
    given: dict[str, dict[str, Any]] = {
        "measure": {"measure": measure_title(measured.measure) if measured else "main score"},
        "grid": {"queries": queries, "corpora": corpora},
    }
    options: dict[str, Any] = dict(chart.options)
    for name in chart.takes:
        options |= given[name]
    title = view.data_source.titled(f"{view.name}: {chart.what}" + (f", {_shown(view, chart, task)}" if task else ""))
    return Plot(
        slug(view.data_source.name, view.name, chart.kind),
        title,
        view.data_source.name,
        view.name,
        chart.draw(frame, title=title, **options),
    )


def _shown(view: BenchmarkView, chart: Chart, task: MeasuredTask) -> str:
    """The task in a title; where IN and OUT are tasks of their own, these."""
    sides = view.facts.domain_tasks.get(task.plain, {})
    return (
        " and ".join(short(name, view.facts) for name in sides.values())
        if sides and chart.kind == "in-out"
        else task.short
    )


@styled
def svg(figure: Figure) -> str:
    """A figure as SVG, the same bytes for the same figure."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue().decode()


@styled
def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``<stem>.png`` (200 dpi), ``<stem>.svg`` and ``<stem>.pdf``, text as text in both, and return their
    paths.
    """
    png = stem.with_name(f"{stem.name}.png")
    with replacing(png) as partial:
        figure.savefig(partial, format="png", dpi=200, metadata={"Software": None})
    pdf = stem.with_name(f"{stem.name}.pdf")
    with replacing(pdf) as partial:
        figure.savefig(partial, format="pdf", metadata={"CreationDate": None})
    return [png, write_text(stem.with_name(f"{stem.name}.svg"), svg(figure)), pdf]
