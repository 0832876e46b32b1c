"""The charts of results: as the page reads them, and as image files."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from patent_mteb.files import replacing, write_text
from patent_mteb.report.cells import short, slug
from patent_mteb.report.charts import CHARTS, Chart
from patent_mteb.report.collect import Collected, ReportError
from patent_mteb.report.drawing import Spec
from patent_mteb.report.series import model_names, names_in_text
from patent_mteb.report.statistics import Statistics
from patent_mteb.report.view import BenchmarkView, MeasuredTask
from patent_mteb.report.words import measure_title, visible


def _with_data(
    view: BenchmarkView, geometries: pl.DataFrame | None, statistics: Statistics | None, *, page: bool
) -> Iterator[tuple[Chart, pl.DataFrame]]:
    """The charts of the page, or of image files, with their tables, if these have enough rows."""
    if geometries is not None:
        geometries = geometries.filter(data_source=view.data_source.name, benchmark=view.name)
    for chart in CHARTS:
        source = geometries if chart.geometry else view
        if (chart.kind if page else chart.draw) and source is not None and chart.shows(frame := chart.data(source)):
            yield chart, _with_intervals(chart, frame, view, statistics) if chart.part else frame


def _with_intervals(
    chart: Chart, frame: pl.DataFrame, view: BenchmarkView, statistics: Statistics | None
) -> pl.DataFrame:
    """Add the columns ``low`` and ``high``, null where the interval of a score is not known."""
    task: MeasuredTask = getattr(view, chart.task)
    ends = []
    for row in frame.iter_rows(named=True):
        key = view.measured_as(task.name, chart.part.format(**row).lower())
        score = statistics and statistics.of(view.data_source.name, key[0], row["model"], key[1])
        stated = view.intervals.get((key[0], row["model"], key[1]))
        ends.append((score.low, score.high) if score else stated or (None, None))
    return frame.with_columns(
        pl.Series(name, values, pl.Float64)
        for name, values in zip(("low", "high"), zip(*ends, strict=True), strict=True)
    )


def _described(view: BenchmarkView, chart: Chart) -> tuple[str, str]:
    """The task in a title (of IN and OUT the two tasks where they are tasks), and the measure of the values."""
    task: MeasuredTask | None = getattr(view, chart.task) if chart.task else None
    measure = chart.y or (measure_title(task.measure) if task else "main score")
    sides = view.facts.domain_tasks.get(task.plain, {}) if task and chart.name == "in-out" else {}
    return " and ".join(short(name, view.facts) for name in sides.values()) or (task.short if task else ""), measure


def on_page(
    view: BenchmarkView,
    numbers: Mapping[str, int],
    geometries: pl.DataFrame | None = None,
    statistics: Statistics | None = None,
) -> list[dict[str, Any]]:
    """Return the charts of a benchmark as JSON-like values; ``numbers`` are those of the runs on the page."""
    found = []
    names = names_in_text(view.results)
    for chart, frame in _with_data(view, geometries, statistics, page=True):
        about, measure = _described(view, chart)
        title = chart.title[:1].upper() + chart.title[1:] + (f": {about}" if about else "")
        drawn = {name: getattr(chart, name) for name in ("kind", "x", "log", "lower", "facet", "note")}
        drawn |= {"title": title, "y": measure, "rows": page_rows(chart, frame, numbers)}
        found.append(drawn | {"findings": _findings(chart, frame.with_columns(pl.col("model").replace(names)))})
    return found


def _findings(chart: Chart, frame: pl.DataFrame) -> dict[str, str]:
    """Return what a chart shows, by the value of its facet."""
    parts = frame.partition_by(chart.facet, as_dict=True) if chart.facet else {("",): frame}
    return {str(value): visible(said) for (value,), part in parts.items() if (said := chart.finding(part))}


def page_rows(chart: Chart, frame: pl.DataFrame, numbers: Mapping[str, int]) -> list[list[Any]]:
    """The rows of a chart with six decimals, and numbers in place of runs; a heatmap has the best models first."""
    if chart.kind == "heat" and chart.facet != "model":
        facets = [chart.facet] if chart.facet else []
        mean = pl.col("value").mean().over("model", *facets)
        parts = [pl.col("place").min().over(facets)] if facets else []
        order = [False] * len(parts) + [not chart.lower]
        frame = frame.with_row_index("place").sort(*parts, mean, descending=order, maintain_order=True)
    needed = [name for name in chart.page_columns if name not in ("low", "high")]
    rows = frame.select(chart.page_columns).drop_nulls(needed).with_columns(cs.float().round(6)).iter_rows()
    return [[numbers.get(value, visible(value)) if isinstance(value, str) else value for value in row] for row in rows]


@dataclass(frozen=True)
class Plot:
    name: str  # of its files
    figure: Spec


def draw(
    collected: Collected, geometries: pl.DataFrame | None = None, statistics: Statistics | None = None
) -> list[Plot]:
    """Return the image files that the results, and geometries next to them, have data for."""
    views = (view for source in collected.data_sources.values() for view in source.benchmarks)
    return [plot for view in views for plot in _plots(view, geometries, statistics)]


def _plots(view: BenchmarkView, geometries: pl.DataFrame | None, statistics: Statistics | None) -> Iterator[Plot]:
    names = model_names(view.runs)
    for chart, frame in _with_data(view, geometries, statistics, page=False):
        frame = frame.with_columns(pl.col("model").replace(names))
        values = frame[chart.facet].unique(maintain_order=True) if chart.split else [""]
        for value in values:
            part = frame.filter(pl.col(chart.facet) == value) if chart.split else frame
            if chart.shows(part):
                yield _plot(view, chart, part, value)


def _plot(view: BenchmarkView, chart: Chart, frame: pl.DataFrame, value: str) -> Plot:
    """The figure of a chart; ``value`` is that of its facet where each has a figure."""
    draw: Any = chart.draw
    about, measure = _described(view, chart)
    title = view.data_source.titled(f"{view.name}: {', '.join(filter(None, (chart.title, about, value)))}")
    title = "\n".join(filter(None, [title, visible(chart.finding(frame))]))
    label = value if value and chart.facet == "what" else chart.x  # as on the page
    known = {"title": title, "measure": measure, "label": label, "log": chart.log, "lower": chart.lower}
    arguments = {name: known[name] for name in inspect.signature(draw).parameters if name in known}
    name = slug(view.data_source.name, view.name, chart.name, value)
    arguments |= chart.options(view) if chart.options else chart.arguments
    return Plot(name, draw(frame, **arguments))


def converter() -> Any:
    """Return the library that renders figures."""
    try:
        import vl_convert
    except ImportError as error:
        raise ReportError("plots need vl-convert-python", remedy="pip install -e '.[report]'") from error
    return vl_convert


def svg(figure: Spec) -> str:
    """Return a figure as SVG, the same bytes for the same figure."""
    text = converter().vegalite_to_svg(figure)
    return re.sub(r'(id="|"url\(#)gradient_\d+', r"\1colours", text)  # Vega counts the colour bars of a process


def save(figure: Spec, stem: Path) -> list[Path]:
    """Write ``<stem>.png`` (200 dpi), ``<stem>.svg`` and ``<stem>.pdf``; text stays text in the last two."""
    png, pdf = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "pdf"))
    text = svg(figure)
    with replacing(png) as partial:
        partial.write_bytes(converter().svg_to_png(text, ppi=200))
    with replacing(pdf) as partial:
        partial.write_bytes(_RESOURCES.sub(_sorted_lines, converter().svg_to_pdf(text)))
    return [png, write_text(stem.with_name(f"{stem.name}.svg"), text), pdf]


_RESOURCES = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n)+", re.MULTILINE)  # of a PDF, which come in any order


def _sorted_lines(found: re.Match[bytes]) -> bytes:
    return b"".join(sorted(found[0].splitlines(keepends=True)))
