"""The charts of the page: one table says what each shows, the browser draws them.

Every chart is a list of rows ``series, x, y`` (and ``facet`` where only one part is shown at a time); a series or a facet that is a run
is its number, so that a chart follows the filter of models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from patent_mteb.report import curves, frames, query_types
from patent_mteb.report.cells import short
from patent_mteb.report.costs import costs
from patent_mteb.report.geometry import NAMES, by_section, on_plane, task_title
from patent_mteb.report.names import visible
from patent_mteb.report.view import BenchmarkView, MeasuredTask
from patent_mteb.report.words import measure_title

__all__ = ["CHARTS", "GEOMETRY_CHARTS", "ChartSpec", "chart", "charts_of"]


@dataclass(frozen=True)
class ChartSpec:
    """One chart.

    Attributes:
        title: what it shows.
        kind: ``bars``, ``lines``, ``points``, ``heat`` or ``plane``.
        frame: from a benchmark, or from its geometries, to the tidy table; without rows there is no chart.
        series, x, y, facet: columns of the table; ``facet`` may be empty.
        further: columns that the kind needs beside these: of a plane the size and the colour of points.
        x_title, y_title: labels of the axes; empty for the name of the measure.
        log: a logarithmic x axis.
        lower: lower is better.
        task: the task that it is about, which ends the title and gives the measure; None if it is about all of them.
        note: what must be known to read it.
    """

    title: str
    kind: str
    frame: Callable[[Any], pl.DataFrame]
    series: str
    x: str
    y: str
    facet: str = ""
    x_title: str = ""
    y_title: str = ""
    log: bool = False
    lower: bool = False
    further: tuple[str, ...] = ()
    task: Callable[[BenchmarkView], MeasuredTask | None] | None = None
    note: str = ""


def _headline(view: BenchmarkView) -> MeasuredTask | None:
    return view.headline


def _domains(view: BenchmarkView) -> MeasuredTask | None:
    return view.domain_headline


def _in_out(view: BenchmarkView) -> pl.DataFrame:
    wide = frames.in_out(view).sort("in", descending=True)
    return wide.unpivot(["in", "out"], index="model", variable_name="side", value_name="value").with_columns(
        pl.col("side").str.to_uppercase()
    )


def _truncated(view: BenchmarkView) -> pl.DataFrame:
    return frames.truncation(view).drop_nulls("dims")


def _retained(view: BenchmarkView) -> pl.DataFrame:
    whole = pl.col("value").filter("full").first().over("model")
    return _truncated(view).with_columns(value=100 * pl.col("value") / whole).drop_nulls("value")


def _query_types(view: BenchmarkView) -> pl.DataFrame:
    types = query_types.by_type(view).select("model", "value", column="type", show="judgements")
    parts = query_types.by_part(view).select("model", "value", column="part", show="kind")
    return pl.concat([types, parts])


CHARTS = (
    ChartSpec("IN and OUT of domain", "bars", _in_out, "model", "side", "value", task=_domains),
    ChartSpec(
        "Ranks in each group of tasks",
        "heat",
        frames.ranks,
        "model",
        "group",
        "rank",
        y_title="rank",
        lower=True,
        note="1 is best, by the mean over the tasks of a group that all ranked models have.",
    ),
    ChartSpec(
        "Query types on common queries",
        "heat",
        _query_types,
        "model",
        "column",
        "value",
        facet="show",
        x_title="representation of the query, or part of the queries",
        task=_headline,
        note="Over the queries that every representation and model has; by part, the mean of all representations.",
    ),
    ChartSpec(
        "InScope@k",
        "lines",
        frames.inscope,
        "model",
        "k",
        "value",
        facet="level",
        x_title="k",
        y_title="InScope@k",
        log=True,
        task=_headline,
    ),
    ChartSpec("Recall@k", "lines", frames.recall, "model", "k", "value", x_title="k", y_title="Recall@k", log=True, task=_headline),
    ChartSpec(
        "Query section and corpus view", "heat", frames.sections, "query", "corpus", "value", facet="model", x_title="corpus", task=None
    ),
    ChartSpec(
        "Size and score",
        "points",
        frames.scale,
        "model",
        "parameters",
        "value",
        facet="group",
        x_title="parameters",
        y_title="mean main score",
        log=True,
        note="Means over the tasks of a group that all these models have. Only models of one series differ in nothing but size.",
    ),
    ChartSpec(
        "Fusion with a lexical system",
        "lines",
        curves.alpha,
        "model",
        "alpha",
        "value",
        x_title="α, weight of the dense system (0: the other system alone, 1: the dense system alone)",
        task=_headline,
    ),
    ChartSpec("Reciprocal rank fusion", "lines", curves.rrf, "model", "k", "value", x_title="k of reciprocal rank fusion", task=_headline),
    ChartSpec("Truncated embeddings", "lines", _truncated, "model", "dims", "value", x_title="dimensions kept", log=True, task=_headline),
    ChartSpec(
        "Truncated embeddings, share of the full width's score",
        "lines",
        _retained,
        "model",
        "dims",
        "value",
        x_title="dimensions kept",
        y_title="% of the full width's score",
        log=True,
        task=_headline,
    ),
    ChartSpec("Passages", "lines", curves.passages, "model", "tokens", "value", x_title="tokens of a passage", log=True, task=_headline),
    ChartSpec(
        "Cost and score",
        "points",
        costs,
        "model",
        "cost",
        "value",
        facet="what",
        x_title="cost",
        log=True,
        task=_headline,
        note="Seconds are those of the whole evaluation on the machine where it ran (what a store held already took none); an index holds "
        "one float32 vector a document.",
    ),
)
"""The charts of a benchmark, in the order of the page."""


def _plane(geometries: pl.DataFrame) -> pl.DataFrame:
    return _by_task(geometries, on_plane)


def _sections(geometries: pl.DataFrame) -> pl.DataFrame:
    def of_task(part: pl.DataFrame) -> pl.DataFrame:
        found = [by_section(part, name).with_columns(measure=pl.lit(title)) for name, title in NAMES.items()]
        return pl.concat(found)

    return _by_task(geometries, of_task).with_columns(measure=pl.format("{}, {}", "measure", "task"))


def _by_task(geometries: pl.DataFrame, of_task: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    parts = geometries.partition_by("benchmark", "plain", maintain_order=True)
    found = [of_task(part).with_columns(task=pl.lit(task_title(*part.select("benchmark", "plain").row(0)))) for part in parts]
    return pl.concat([part for part in found if len(part)] or [pl.DataFrame(schema={"task": pl.String, "measure": pl.String})])


GEOMETRY_CHARTS = (
    ChartSpec(
        "Alignment and uniformity",
        "plane",
        _plane,
        "model",
        "alignment",
        "uniformity",
        facet="task",
        further=("ssd", "score"),
        x_title="alignment (lower: citing and cited are closer)",
        y_title="uniformity (lower: more evenly spread)",
        note="The larger a point, the higher its SSD / log d; the darker or brighter, the higher the main score (PatentMap, Fig. 3).",
    ),
    ChartSpec(
        "Geometry by section",
        "heat",
        _sections,
        "model",
        "group",
        "value",
        facet="measure",
        x_title="section",
        lower=True,
        note="Lower is better (PatentMap, appendices D and E).",
    ),
)
"""The charts of a benchmark's geometries (``patent-mteb geometry``)."""


def charts_of(view: BenchmarkView, numbers: Mapping[str, int], geometries: pl.DataFrame | None = None) -> list[dict[str, Any]]:
    """The charts that the results of a benchmark have data for.

    Args:
        numbers: number of each run.
        geometries: of :func:`patent_mteb.report.geometry.read`, those of the benchmark.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.page_charts import charts_of
        >>> collected = collect(Path("results"))  # of 'patent-mteb run'
        >>> numbers = {run: number for number, run in enumerate(collected.runs)}
        >>> drawn = charts_of(collected.worlds["sample"].benchmark("WIPO-AT"), numbers)
        >>> [(one["title"], one["kind"]) for one in drawn][:2]
        [('IN and OUT of domain: TAC→TAC', 'bars'), ('Recall@k: TAC→TAC', 'lines')]
    """
    short = frames.model_names(view.runs)
    known = {short[run]: numbers[run] for run in view.runs} | {run: numbers[run] for run in view.runs}
    drawn = []
    for spec in CHARTS:
        frame = spec.frame(view)
        task = spec.task(view) if spec.task else None
        measure = measure_title(task.measure) if task else "score"
        if len(frame) > 1:
            drawn.append(chart(spec, frame, known, about=_shown(view, spec, task), measure=measure))
    for spec in GEOMETRY_CHARTS if geometries is not None and len(geometries) else ():
        if len(frame := spec.frame(geometries)):
            drawn.append(chart(spec, frame, known))
    return drawn


def _shown(view: BenchmarkView, spec: ChartSpec, task: MeasuredTask | None) -> str:
    """The task in a title; where IN and OUT are tasks of their own, these."""
    if task is None:
        return ""
    sides = view.facts.domain_tasks.get(task.plain, {}) if spec.task is _domains else {}
    return " and ".join(short(name, view.facts) for name in sides.values()) or task.short


def chart(spec: ChartSpec, frame: pl.DataFrame, known: Mapping[str, int], *, about: str = "", measure: str = "score") -> dict[str, Any]:
    """A chart as the page reads it: its table's rows in their order, the models of a heatmap best first, with numbers in place of runs.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.page_charts import ChartSpec, chart
        >>> spec = ChartSpec("Recall@k", "lines", lambda view: pl.DataFrame(), "model", "k", "value", x_title="k")
        >>> chart(spec, pl.DataFrame({"model": ["a", "b"], "k": [1, 1], "value": [0.25, 0.5]}), {"b": 7})["rows"]
        [['a', 1, 0.25], [7, 1, 0.5]]
    """
    facets = [spec.facet] if spec.facet else []
    columns = [spec.series, spec.x, spec.y, *facets, *spec.further]
    if spec.kind == "heat" and spec.series == "model":
        parts = [pl.col("place").min().over(facets)] if facets else []
        mean = pl.col(spec.y).mean().over("model", *facets)
        order = [False] * len(parts) + [not spec.lower]
        frame = frame.with_row_index("place").sort(*parts, mean, descending=order, maintain_order=True)
    return {
        "title": spec.title + (f": {about}" if about else ""),
        "kind": spec.kind,
        "x": spec.x_title,
        "y": spec.y_title or measure,
        "log": spec.log,
        "lower": spec.lower,
        "facet": spec.facet,
        "note": spec.note,
        "rows": [_row(row, known) for row in frame.select(columns).iter_rows()],
    }


def _row(row: Sequence[Any], known: Mapping[str, int]) -> list[Any]:
    series, x, y, *more = row
    return [
        known.get(series, series),
        _brief(x),
        _brief(y),
        *(known.get(one, one) if isinstance(one, str) else _brief(one) for one in more),
    ]


def _brief(value: Any) -> Any:
    """A number with as many decimals as results have, and a text as it may be shown."""
    if isinstance(value, float):
        return round(value, 6)
    return visible(value) if isinstance(value, str) else value
