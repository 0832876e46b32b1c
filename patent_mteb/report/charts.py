"""The charts of a report: one row of ``charts.toml`` for each, from which the page and the image files are drawn.

Below the class are the functions that make the tidy table of a chart from the results of a benchmark. The column
``model`` holds runs. A table without rows means that there is nothing to draw.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.metrics.significance import too_small
from patent_mteb.report import drawing as draw
from patent_mteb.report import findings, geometries, series
from patent_mteb.report.series import headline_results
from patent_mteb.report.view import JUDGEMENTS, BenchmarkView, read_queries
from patent_mteb.report.words import measure_title, visible
from patent_mteb.tasks.verification import per_query_measure

_COLUMNS = {
    "bars": ("model", "group", "value"),
    "heat": ("model", "group", "value"),
    "lines": ("model", "x", "value"),
    "points": ("model", "x", "value"),
}


@dataclass(frozen=True)
class Chart:
    """A row of ``charts.toml``, which names functions of this module, ``series``, ``geometries`` and ``drawing``."""

    name: str  # part of the names of its image files
    title: str  # follows the name of the benchmark in image files; the page starts it with a capital
    data: Callable[[Any], pl.DataFrame]  # from a benchmark's results, or its geometries, to the tidy table
    finding: Callable[[pl.DataFrame], str]  # from the table to a sentence, which is its title; empty if it says nothing
    kind: str = ""  # bars, lines, points, heat or plane of site/charts.js; empty: not on the page
    draw: Callable[..., draw.Spec] | None = None  # from the table, and what it has parameters for, to a figure
    task: str = "headline"  # in its title, names the y axis: headline, domain_headline or empty
    x: str = ""  # titles of the axes
    y: str = ""
    log: bool = False  # the x axis is logarithmic
    lower: bool = False  # lower is better
    facet: str = ""  # the page shows the rows of one value of this column at a time
    split: bool = False  # every value of the facet has an image file
    columns: Sequence[str] = ()  # series, x, y and further columns that the page reads; empty for those of the kind
    rows: int = 2  # least number of rows of the table
    models: int = 1  # least number of models
    geometry: bool = False  # data takes the geometries of the benchmark
    part: str = ""  # the slice of a row, made from its columns; the 95% interval of its score is drawn
    arguments: Mapping[str, Any] = field(default_factory=dict)  # further ones of draw
    options: Callable[[BenchmarkView], Mapping[str, Any]] | None = None  # further ones that depend on the benchmark
    note: str = ""  # explains the chart on the page

    def shows(self, frame: pl.DataFrame) -> bool:
        """Whether a table has enough rows and models, and values that are not all the same."""
        varies = len(frame) < 2 or "value" not in frame.columns or frame["value"].n_unique() > 1
        return varies and len(frame) >= self.rows and frame["model"].n_unique() >= self.models

    @property
    def page_columns(self) -> list[str]:
        series, x, y, *further = self.columns or _COLUMNS[self.kind]
        ends = ["low", "high"] if self.part else []
        return [series, x, y, *([self.facet] if self.facet else []), *further, *ends]


_KINDS = {"ipc": "IPC section", "jurisdiction": "filing office", "year": "year of publication"}
_STRINGS = dict.fromkeys(("model", "group"), pl.String)
_MOST_TASKS = 20  # tasks side by side, at most
_SIZES = 3  # of models, at least: two points show no relation
_too_few = pl.col("n").map_elements(lambda n: bool(too_small({"n_queries": n})), pl.Boolean).alias("small")


def _headline_scores(view: BenchmarkView) -> pl.DataFrame:
    head = view.headline.name if view.headline else ""
    return view.scores.filter((pl.col("task") == head) & pl.col("value").is_finite())


def in_out(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value`` IN and OUT of domain on the headline task with domains, best first."""
    name = view.domain_headline.name if view.domain_headline else ""
    pairs = {run: [view.slice_scores.get((name, run, side), math.nan) for side in ("in", "out")] for run in view.runs}
    rows = [(run, *pair) for run, pair in pairs.items() if all(map(math.isfinite, pair))]
    wide = pl.DataFrame(rows, schema={"model": pl.String, "IN": pl.Float64, "OUT": pl.Float64}, orient="row")
    return wide.sort("IN", descending=True).unpivot(["IN", "OUT"], index="model", variable_name="group")


def overlap(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value`` of IN, MIXED and OUT where they are tasks (PatenTEB Fig. 5)."""
    task = view.domain_headline
    name = task.name if task and task.plain in view.facts.domain_tasks else ""
    rows = [
        (run, shown, view.slice_scores[name, run, side])
        for side, shown in (("in", "IN"), ("", "MIXED"), ("out", "OUT"))
        for run in view.runs
        if (name, run, side) in view.slice_scores
    ]
    return pl.DataFrame(rows, schema=_STRINGS | {"value": pl.Float64}, orient="row")


def recall(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value`` of Recall@k on the headline task."""
    rows = _headline_scores(view).filter((pl.col("slice") == "") & pl.col("measure").str.contains(r"^recall_at_\d+$"))
    k = pl.col("measure").str.strip_prefix("recall_at_").cast(pl.Int64)
    return rows.select(model="run", x=k, value="value")


def inscope(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value, level`` of InScope@k on the headline task (Sophia-Bench, Table 4)."""
    found = pl.col("measure").str.extract_groups(r"^inscope_(?<level>section|subclass|subgroup)_at_(?<k>\d+)$").struct
    rows = _headline_scores(view).filter(pl.col("slice") == "")
    return rows.select(
        model="run", x=found.field("k").cast(pl.Int64), value="value", level=found.field("level")
    ).drop_nulls("level")


def _slices(view: BenchmarkView, prefix: str) -> pl.DataFrame:
    """``model, group, value, n, small`` of the headline task in the slices of a kind, if there are several."""
    rows = _headline_scores(view).filter(pl.col("main") & pl.col("slice").str.starts_with(prefix))
    if rows["slice"].n_unique() < 2:
        rows = rows.clear()
    group = pl.col("slice").str.strip_prefix(prefix).str.to_uppercase()
    return rows.select(model="run", group=group, value="value", n="n_queries").with_columns(_too_few)


jurisdictions = partial(_slices, prefix="jurisdiction_")
ipc_sections = partial(_slices, prefix="ipc_")


def years(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value, small`` of the headline task by year of publication."""
    rows = _slices(view, "year_").with_columns(x=pl.col("group").cast(pl.Int64, strict=False))
    return rows.drop_nulls("x").select("model", "x", "value", "small")


def types(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value, show, small`` by query type and by slice, on the queries of all types (Sophia-Bench Fig.
    5-7).
    """
    both = pl.concat(frame.select("model", "group", "value", "show", "n") for frame in (by_type(view), by_part(view)))
    return both.with_columns(_too_few).drop("n")


def by_type(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, show, value, n`` of the models with all representations, by representation and judgements."""
    rows = view.complete_queries.filter(pl.col("slice").is_in(list(JUDGEMENTS)))
    order = {task.name: place for place, task in enumerate(view.tasks)}
    rows = rows.sort(pl.col("task").replace_strict(order, default=len(order)), maintain_order=True)
    names = {task.name: task.short for task in view.tasks}
    shown = pl.col("slice").replace(JUDGEMENTS)
    return rows.select(model="run", group=pl.col("task").replace(names), show=shown, value="value", n="n")


def by_part(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, show, value, n``: means over the representations by IPC section, filing office and year."""
    complete = view.complete_queries
    split = complete.with_columns(
        kind=pl.col("slice").str.extract(r"^([a-z]+)_"), part=pl.col("slice").str.extract(r"_(.+)$")
    )
    every = pl.len().over("run", "slice") == complete["task"].n_unique()
    rows = split.filter(pl.col("kind").is_in(list(_KINDS)) & every)
    means = rows.group_by("run", "kind", "part", maintain_order=True).agg(pl.col("value").mean(), pl.col("n").min())
    order = {kind: place for place, kind in enumerate(_KINDS)}
    ordered = means.sort(pl.col("kind").replace_strict(order, return_dtype=pl.Int64), "part", maintain_order=True)
    shown = pl.col("kind").replace_strict(_KINDS, return_dtype=pl.String)
    return ordered.select(model="run", group=pl.col("part").str.to_uppercase(), show=shown, value="value", n="n")


def sections(view: BenchmarkView) -> pl.DataFrame:
    """``model, query, corpus, value`` of the grid of text views, for models with several of its cells."""
    grid = [(task, query, corpus) for task, (query, corpus) in view.facts.section_grid.items()]
    cells = pl.DataFrame(grid, schema=dict.fromkeys(("plain", "query", "corpus"), pl.String), orient="row")
    rows = view.results.join(cells, on="plain", maintain_order="left").filter(pl.len().over("run") > 1)
    return rows.select("query", "corpus", "value", model="run")


def section_options(view: BenchmarkView) -> dict[str, Any]:
    """The query views and corpus views of the grid in their order, and the names of the axes in image files."""
    queries, corpora = zip(*view.facts.section_grid.values(), strict=True)
    measure = next(task.measure for task in view.tasks if task.plain in view.facts.section_grid)
    views = {"queries": tuple(dict.fromkeys(queries)), "corpora": tuple(dict.fromkeys(corpora))}
    return views | {"label": "corpus view", "measure": measure_title(measure)}


def query_sections(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value`` by query view, on the corpus view of the headline task."""
    corpus = view.facts.section_grid.get(view.facts.headline, ("", ""))[1]
    return sections(view).filter(corpus=corpus).select("model", group="query", value="value")


def section_advantage(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: the score on the experts' texts minus that on the public ones, by query view."""
    grid = sections(view)
    expert, public = grid.filter(corpus="DWPIFull"), grid.filter(corpus="TAC")
    both = expert.join(public, on=["model", "query"], suffix="_public", maintain_order="left")
    return both.select("model", group="query", value=pl.col("value") - pl.col("value_public"))


def headline_advantage(view: BenchmarkView) -> pl.DataFrame:
    """``model, value`` of :func:`section_advantage` for the query view of the headline task."""
    query = view.facts.section_grid.get(view.facts.headline, ("", ""))[0]
    return section_advantage(view).filter(group=query).drop("group")


def task_advantage(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: the score of each task minus that of its version without certain texts."""
    ending, names = view.facts.lacking, {task.plain: task.short for task in view.tasks}
    rows = [
        (run, names[task], value - scores[task + ending])
        for run, scores in view.main_scores.items()
        for task, value in scores.items()
        if ending and task + ending in scores
    ]
    return pl.DataFrame(rows, schema=_STRINGS | {"value": pl.Float64}, orient="row")


def by_task(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value, measure``: the main score of each task, if there are 2 to 20."""
    names = {task.plain: task.short for task in view.tasks}
    rows = view.results if 1 < len(names) <= _MOST_TASKS else view.results.clear()
    titles = {task.measure: measure_title(task.measure) for task in view.tasks}
    measure = pl.col("main_score").replace(titles)
    return rows.select(model="run", group=pl.col("plain").replace(names), value="value", measure=measure)


_RUNS_OF_GROUP = pl.col("run").n_unique().over("group")


def _group_means(results: pl.DataFrame, n_runs: pl.Expr = _RUNS_OF_GROUP) -> pl.DataFrame:
    """``model, group, value``: means over the tasks of a group that all of its runs (``n_runs``) have, without scores
    on too little data.
    """
    rows = results.with_columns(n_runs=n_runs).filter(pl.col("small") == "")
    shared = rows.filter(pl.col("run").n_unique().over("plain") == pl.col("n_runs"))
    return shared.group_by(pl.col("run").alias("model"), "group", maintain_order=True).agg(pl.col("value").mean())


def task_groups(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: means over the tasks of each group that all of its models have."""
    means = _group_means(view.results)
    return means if view.results["group"].n_unique() > 1 else means.clear()


def profile(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: :func:`task_groups` as shares of the best model."""
    return task_groups(view).with_columns(value=pl.col("value") / pl.col("value").max().over("group"))


def ranks(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: ranks by :func:`_group_means` (1 is best; ties share the mean rank).

    Only the runs with the most groups are ranked, so that all ranks of a chart are among the same models.
    """
    groups = view.results.group_by("run").agg(pl.col("group").n_unique())
    ranked = groups.filter(pl.col("group") == pl.col("group").max())["run"].to_list()
    means = _group_means(view.results.filter(pl.col("run").is_in(ranked)), pl.lit(len(ranked)))
    rows = means.with_columns(value=pl.col("value").rank("average", descending=True).over("group"))
    return rows.clear() if len(ranked) < 2 or rows["group"].n_unique() < 2 else rows


def scale(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value, group``: :func:`task_groups` against the number of parameters, where this is above 0, for
    groups with models of three sizes or more.
    """
    results = view.results.filter(pl.col("parameters") > 0)  # 0 (BM25) has no place on a logarithmic axis
    sizes = results.select(model="run", x=pl.col("parameters").cast(pl.Float64)).unique()
    rows = _group_means(results).join(sizes, on="model", maintain_order="left")
    order = {group: place for place, group in enumerate(results["group"].unique(maintain_order=True))}
    place = pl.col("group").replace_strict(order, return_dtype=pl.Int64)
    rows = rows.filter(pl.col("x").n_unique().over("group") >= _SIZES)
    return rows.sort(place, "model").select("model", "x", "value", "group")


def labels(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: F1 of each label of the classification task with the most labels."""
    rows = view.scores.filter((pl.col("slice") == "") & pl.col("measure").str.starts_with("f1_"))
    counts = rows.group_by("task").agg(pl.col("measure").n_unique()).sort("measure", "task")
    rows = rows.filter(task=counts["task"][-1]) if len(counts) else rows
    return rows.select(model="run", group=pl.col("measure").str.strip_prefix("f1_"), value="value")


def distribution(view: BenchmarkView) -> pl.DataFrame:
    """``model, part, value``: the main score of each query of the headline task: ALL, and IN and OUT if saved."""
    rows = headline_results(view).filter(pl.col("queries").is_not_null()).sort("value", descending=True)
    found = [pl.DataFrame(schema={"model": pl.String, "part": pl.String, "value": pl.Float64})]
    for run, path, main_score in rows.select("run", "queries", "main_score").iter_rows():
        table = read_queries(Path(path), per_query_measure(main_score))
        for part, shown in (("", "ALL"), ("in", "IN"), ("out", "OUT")):
            values = table.parts.get(part, np.array([]))
            scores = pl.Series("value", values[np.isfinite(values)], pl.Float64)
            found.append(pl.select(model=pl.lit(run), part=pl.lit(shown), value=scores))
    return pl.concat(found).sort("part", maintain_order=True)


def truncation(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value, full`` of truncated embeddings on the headline task, by dimensions.

    The row of the full width has no ``x`` where the width of the model is unknown.
    """
    results = headline_results(view)
    rows: list[tuple[Any, ...]] = []
    for (model, revision), group in results.group_by("model", "revision", maintain_order=True):
        cut, whole = [], []
        for run, text, width, value in group.select("run", "settings", "dims", "value").iter_rows():
            settings = json.loads(text)
            dims = settings.get("dims")
            if not settings:
                whole.append((run, width, value))
            elif set(settings) == {"dims"} and isinstance(dims, int) and 0 < dims < 2**31:
                cut.append((dims, value))
        if cut:
            several = results.filter(pl.col("model") == model)["revision"].n_unique() > 1
            name = visible(str(model) + (f" @{str(revision)[:7]}" if several else ""))
            name = whole[0][0] if whole else series.without_organisation(name)
            rows += [(name, dims, value, False) for dims, value in sorted(cut)]
            rows += [(name, width, value, True) for _, width, value in whole]
    schema = {"model": pl.String, "x": pl.Int64, "value": pl.Float64, "full": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def retained(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value``: :func:`truncation` in percent of the score of the full width."""
    whole = pl.col("value").filter("full").first().over("model")
    return truncation(view).with_columns(value=100 * pl.col("value") / whole).drop_nulls()


_FUNCTIONS: dict[str, Callable[..., Any]] = {**vars(series), **vars(geometries), **globals()}


def _chart(name: str, row: dict[str, Any]) -> Chart:
    functions: dict[str, Any] = {key: _FUNCTIONS[row[key]] for key in ("data", "options") if key in row}
    functions |= {
        key: getattr(module, row[key]) for key, module in (("draw", draw), ("finding", findings)) if key in row
    }
    return Chart(name, **row | functions)


CHARTS = tuple(
    _chart(name, row) for name, row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
)
"""In the order of the page."""
