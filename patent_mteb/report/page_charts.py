"""The charts of the page: one table says what each shows, the browser draws them.

Every chart is a list of rows ``series, x, y`` (and ``facet`` where only one part is shown at a time); a series or a facet that is a run
is its number, so that a chart follows the filter of models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from patent_mteb.report import frames
from patent_mteb.report.costs import costs, passages
from patent_mteb.report.view import BenchmarkView, MeasuredTask
from patent_mteb.report.words import measure_title

__all__ = ["CHARTS", "ChartSpec", "chart", "charts_of"]


@dataclass(frozen=True)
class ChartSpec:
    """One chart.

    Attributes:
        title: what it shows.
        kind: ``bars``, ``lines``, ``points`` or ``heat``.
        frame: its tidy table; without rows there is no chart.
        series, x, y, facet: columns of the table; ``facet`` may be empty.
        x_title, y_title: labels of the axes; empty for the name of the measure.
        log: a logarithmic x axis.
        task: the task that it is about, which ends the title and gives the measure; None if it is about all of them.
        note: what must be known to read it.
    """

    title: str
    kind: str
    frame: Callable[[BenchmarkView], pl.DataFrame]
    series: str
    x: str
    y: str
    facet: str = ""
    x_title: str = ""
    y_title: str = ""
    log: bool = False
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


def _ranks(view: BenchmarkView) -> pl.DataFrame:
    return frames.ranks(view).sort(pl.col("rank").mean().over("model"), maintain_order=True)


def _truncated(view: BenchmarkView) -> pl.DataFrame:
    return frames.truncation(view).drop_nulls("dims")


def _retained(view: BenchmarkView) -> pl.DataFrame:
    whole = pl.col("value").filter("full").first().over("model")
    return _truncated(view).with_columns(value=100 * pl.col("value") / whole).drop_nulls("value")


CHARTS = (
    ChartSpec("IN and OUT of domain", "bars", _in_out, "model", "side", "value", task=_domains),
    ChartSpec(
        "Ranks in each group of tasks",
        "heat",
        _ranks,
        "model",
        "group",
        "rank",
        y_title="rank",
        note="1 is best, by the mean over the tasks of a group that all ranked models have.",
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
        frames.alpha,
        "model",
        "alpha",
        "value",
        x_title="α, weight of the dense system (0: the other system alone, 1: the dense system alone)",
        task=_headline,
    ),
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
    ChartSpec("Passages", "lines", passages, "model", "tokens", "value", x_title="tokens of a passage", log=True, task=_headline),
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


def charts_of(view: BenchmarkView, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """The charts that the results of a benchmark have data for.

    Args:
        numbers: number of each run.

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
            drawn.append(chart(spec, frame, known, about=task.short if task else "", measure=measure))
    return drawn


def chart(spec: ChartSpec, frame: pl.DataFrame, known: Mapping[str, int], *, about: str = "", measure: str = "score") -> dict[str, Any]:
    """A chart as the page reads it: its table's rows in their order, with numbers in place of runs.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.page_charts import ChartSpec, chart
        >>> spec = ChartSpec("Recall@k", "lines", lambda view: pl.DataFrame(), "model", "k", "value", x_title="k")
        >>> chart(spec, pl.DataFrame({"model": ["a", "b"], "k": [1, 1], "value": [0.25, 0.5]}), {"b": 7})["rows"]
        [['a', 1, 0.25], [7, 1, 0.5]]
    """
    columns = [spec.series, spec.x, spec.y, *([spec.facet] if spec.facet else [])]
    return {
        "title": spec.title + (f": {about}" if about else ""),
        "kind": spec.kind,
        "x": spec.x_title,
        "y": spec.y_title or measure,
        "log": spec.log,
        "facet": spec.facet,
        "note": spec.note,
        "rows": [_row(row, known) for row in frame.select(columns).iter_rows()],
    }


def _row(row: Sequence[Any], known: Mapping[str, int]) -> list[Any]:
    series, x, y, *facet = row
    return [known.get(series, series), x, round(y, 6), *(known.get(one, one) for one in facet)]
