"""The charts of the page: one table says what each shows, the browser draws them.

Every chart is a list of rows ``series, x, y`` (and ``facet`` where only one part is shown at a time); a series or a
facet that is a run is its number, so that a chart follows the filter of models.

What a score costs: a tidy table of the headline task, from its results and from what stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.report import charts, frames, query_types
from patent_mteb.report.cells import short
from patent_mteb.report.folders import META, read_document
from patent_mteb.report.geometry_figures import NAMES, by_section, on_plane, task_title
from patent_mteb.report.model_facts import known_of
from patent_mteb.report.records import is_amount
from patent_mteb.report.view import BenchmarkView, MeasuredTask
from patent_mteb.report.words import measure_title, visible
from patent_mteb.tasks.cost import COST
from patent_mteb.tasks.verification import evidence_of

_FLOAT = 4
"""Bytes of a number of a vector."""

_EFFORT = {
    "seconds a query of the second stage": "seconds_per_query",
    "tokens of the second stage": "tokens",
    "cost of the queries": "cost",
}
"""What rerankers and scored runs took, with its column of a result."""


def costs(view: BenchmarkView) -> pl.DataFrame:
    """``model, what, cost, value``: main score of the headline task against what it cost
    (:mod:`patent_mteb.tasks.cost`).

    Seconds of the evaluation, memory of the weights, of the process and of the index; and hours of encoding a million
    texts, from all tasks of the benchmark in which texts reached the model (what came from a store took no time).
    """
    headline = view.headline.name if view.headline else ""
    encoding = {run: list(_per_million(rows)) for (run,), rows in view.results.group_by("run", maintain_order=True)}
    rows = [
        {"model": row["run"], "what": what, "cost": cost, "value": row["value"]}
        for row in view.results.filter(pl.col("task") == headline).iter_rows(named=True)
        for what, cost in [*_of_result(row), *encoding[row["run"]]]
    ]
    frame = pl.DataFrame(rows, schema={"model": pl.String, "what": pl.String, "cost": pl.Float64, "value": pl.Float64})
    return frame.filter(pl.len().over("what") > 1)


def _of_result(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    path = Path(row["path"])
    result, meta = _document(path), _document(path.with_name(META))
    seconds, memory = result.get("evaluation_time"), known_of(meta)["memory"]
    if is_amount(seconds) and seconds:
        yield "seconds of the evaluation", float(seconds)
    if isinstance(memory, float):
        yield "memory of the weights (MB)", memory
    for what, column in _EFFORT.items():
        if row[column]:
            yield what, float(row[column])
    entry = _entry(result, row["split"], row["subset"])
    recorded, documents = _recorded(entry, COST), _recorded(entry, "texts", "document").get("n")
    if is_amount(peak := recorded.get("peak_memory_mb")):
        yield "highest memory of the process (MB)", float(peak)
    if is_amount(index := recorded.get("index_mb")):
        yield "index (MB)", float(index)
    elif is_amount(documents) and documents and row["dims"]:
        yield "index (MB)", documents * row["dims"] * _FLOAT / 1e6


def _per_million(results: pl.DataFrame) -> Iterator[tuple[str, float]]:
    """Hours in which a model encodes a million texts, and a billion of its tokens, by the texts that reached it on one
    kind of device.
    """
    spent: dict[str, np.ndarray] = {}
    for path, split, subset in results.select("path", "split", "subset").unique(maintain_order=True).iter_rows():
        entry = _entry(_document(Path(path)), split, subset)
        recorded = _recorded(entry, COST)
        seconds, texts, tokens = (
            _recorded(entry, COST, "phases").get("encode"),
            recorded.get("encoded"),
            recorded.get("tokens", 0),
        )
        if is_amount(seconds) and is_amount(texts) and is_amount(tokens) and texts:
            device = "GPU" if "cuda" in str(_recorded(entry, "model").get("device")) else "CPU"
            spent[device] = spent.get(device, 0) + np.array([seconds, texts, tokens, seconds * bool(tokens)], float)
    for device, (seconds, texts, tokens, timed) in spent.items():
        yield f"{device}-hours a million texts", float(seconds / texts * 1e6 / 3600)
        if tokens:
            yield f"{device}-hours a billion tokens", float(timed / tokens * 1e9 / 3600)


def _document(path: Path) -> dict[str, Any]:
    """A file beside the results; one that cannot be read is named in the messages of the results already."""
    try:
        return read_document(path)
    except (DataError, FileNotFoundError):
        return {}


def _entry(result: Mapping[str, Any], split: str, subset: str) -> Mapping[str, Any]:
    """The scores of one split and subset."""
    entries = result.get("scores", {}).get(split, [])
    return next((entry for entry in entries if entry.get("hf_subset", "default") == subset), {})


def _recorded(entry: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A part of the evidence of a result; empty where it does not say."""
    found: Any = evidence_of(entry)
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


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
    ChartSpec(
        "Recall@k",
        "lines",
        frames.recall,
        "model",
        "k",
        "value",
        x_title="k",
        y_title="Recall@k",
        log=True,
        task=_headline,
    ),
    ChartSpec(
        "Query section and corpus view",
        "heat",
        frames.sections,
        "query",
        "corpus",
        "value",
        facet="model",
        x_title="corpus",
        task=None,
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
        note=(
            "Means over the tasks of a group that all these models have. Only models of one series differ in nothing"
            " but size."
        ),
    ),
    ChartSpec(
        "Fusion with a lexical system",
        "lines",
        charts.alpha,
        "model",
        "alpha",
        "value",
        x_title="α, weight of the dense system (0: the other system alone, 1: the dense system alone)",
        task=_headline,
    ),
    ChartSpec(
        "Reciprocal rank fusion",
        "lines",
        charts.rrf,
        "model",
        "k",
        "value",
        x_title="k of reciprocal rank fusion",
        task=_headline,
    ),
    ChartSpec(
        "Truncated embeddings",
        "lines",
        _truncated,
        "model",
        "dims",
        "value",
        x_title="dimensions kept",
        log=True,
        task=_headline,
    ),
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
    ChartSpec(
        "Passages",
        "lines",
        charts.passages,
        "model",
        "tokens",
        "value",
        x_title="tokens of a passage",
        log=True,
        task=_headline,
    ),
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
        note=(
            "Seconds are those of the whole evaluation on the machine where it ran (what a store held already took"
            " none); an index holds one float32 vector a document."
        ),
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
    found = [
        of_task(part).with_columns(task=pl.lit(task_title(*part.select("benchmark", "plain").row(0)))) for part in parts
    ]
    return pl.concat(
        [part for part in found if len(part)] or [pl.DataFrame(schema={"task": pl.String, "measure": pl.String})]
    )


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
        note=(
            "The larger a point, the higher its SSD / log d; the darker or brighter, the higher the main score"
            " (PatentMap, Fig. 3)."
        ),
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


def charts_of(
    view: BenchmarkView, numbers: Mapping[str, int], geometries: pl.DataFrame | None = None
) -> list[dict[str, Any]]:
    """The charts that the results of a benchmark have data for."""
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


def chart(
    spec: ChartSpec, frame: pl.DataFrame, known: Mapping[str, int], *, about: str = "", measure: str = "score"
) -> dict[str, Any]:
    """A chart as the page reads it: its table's rows in their order, the models of a heatmap best first, with numbers
    in place of runs.
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
