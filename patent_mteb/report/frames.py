"""From the results of a benchmark to the tidy table of each plot. A frame without rows means that there is nothing to
plot.

The column ``model`` holds runs by their short names (:func:`model_names`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from patent_mteb.report.view import BenchmarkView
from patent_mteb.report.words import shortened, visible

_SETTINGS = re.compile(r" \(.*\)$")
_NAME = 46
"""Characters of a name in a plot, at most."""


def model_names(runs: Iterable[str]) -> dict[str, str]:
    """Runs by a short name: without the settings, else without the organisation, where the rest is enough to tell them
    apart.
    """
    runs = tuple(dict.fromkeys(runs))
    tails = {run: run.partition("/")[2] or run for run in runs}
    bare = {run: _SETTINGS.sub("", tail) or tail for run, tail in tails.items()}
    counted = [(names, Counter(names.values())) for names in (bare, tails)]
    return brief_names(
        {run: next((names[run] for names, counts in counted if counts[names[run]] == 1), run) for run in runs}
    )


def brief_names(names: Mapping[str, str]) -> dict[str, str]:
    """Names that are too long for a plot cut, and numbered where that makes two the same."""
    brief = {run: shortened(name, _NAME) for run, name in names.items()}
    counts = Counter(brief.values())
    return {
        run: name if counts[name] == 1 else f"{name} #{number}"
        for number, (run, name) in enumerate(brief.items(), start=1)
    }


def named(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose column ``model`` holds runs, with these brought to short names."""
    return frame.with_columns(pl.col("model").replace(model_names(frame["model"])))


def in_out(view: BenchmarkView) -> pl.DataFrame:
    """``model, in, out`` on the headline task with domains."""
    task, values = view.domain_headline, view.slice_scores
    name = task.name if task else ""
    rows = [
        {"model": run, "in": values[name, run, "in"], "out": values[name, run, "out"]}
        for run in view.runs
        if all(math.isfinite(values.get((name, run, side), math.nan)) for side in ("in", "out"))
    ]
    return named(pl.DataFrame(rows, schema={"model": pl.String, "in": pl.Float64, "out": pl.Float64}))


def _headline_scores(view: BenchmarkView) -> pl.DataFrame:
    return view.scores.filter(
        (pl.col("task") == (view.headline.name if view.headline else "")) & pl.col("value").is_finite()
    )


def headline_results(view: BenchmarkView) -> pl.DataFrame:
    """The results of the headline task; none without one."""
    return view.results.filter(pl.col("task") == (view.headline.name if view.headline else ""))


def recall(view: BenchmarkView) -> pl.DataFrame:
    """``model, k, value`` of Recall@k on the headline task."""
    rows = _headline_scores(view).filter((pl.col("slice") == "") & pl.col("measure").str.contains(r"^recall_at_\d+$"))
    k = pl.col("measure").str.strip_prefix("recall_at_").cast(pl.Int64)
    return named(rows.select(model="run", k=k, value="value"))


def inscope(view: BenchmarkView) -> pl.DataFrame:
    """``model, k, level, value``: InScope@k of the headline task at each level of the IPC (Sophia-Bench, Table 4)."""
    found = pl.col("measure").str.extract_groups(r"^inscope_(?<level>section|subclass|subgroup)_at_(?<k>\d+)$").struct
    rows = (
        _headline_scores(view)
        .filter(pl.col("slice") == "")
        .with_columns(level=found.field("level"), k=found.field("k").cast(pl.Int64))
    )
    return named(rows.drop_nulls("level").select(pl.col("run").alias("model"), "k", "level", "value"))


def headline_slices(view: BenchmarkView, prefix: str) -> pl.DataFrame:
    """``model, group, value, n`` of the headline task in the slices of a kind, where there are several (Sophia-Bench
    Fig. 5 and 7).
    """
    rows = _headline_scores(view).filter(pl.col("main") & pl.col("slice").str.starts_with(prefix))
    if rows["slice"].n_unique() < 2:
        rows = rows.clear()
    return named(rows.select(model="run", group=pl.col("slice").str.strip_prefix(prefix), value="value", n="n_queries"))


def jurisdictions(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value, n`` of the headline task by filing jurisdiction, if there are several."""
    return headline_slices(view, "jurisdiction_").with_columns(pl.col("group").str.to_uppercase())


def sections(view: BenchmarkView) -> pl.DataFrame:
    """``model, query, corpus, value`` of the benchmark's grid of text views, for models with at least two of its
    cells.
    """
    grid = [
        {"plain": task, "query": query, "corpus": corpus} for task, (query, corpus) in view.facts.section_grid.items()
    ]
    cells = pl.DataFrame(grid, schema={"plain": pl.String, "query": pl.String, "corpus": pl.String})
    rows = view.results.join(cells, on="plain", maintain_order="left").filter(pl.len().over("run") > 1)
    return named(rows.select("query", "corpus", "value", model="run").select("model", "query", "corpus", "value"))


def section_axes(view: BenchmarkView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The query views and the corpus views of the grid, in the order of the benchmark's record."""
    pairs = view.facts.section_grid.values()
    return tuple(dict.fromkeys(query for query, _ in pairs)), tuple(dict.fromkeys(corpus for _, corpus in pairs))


def _is_width(dims: Any) -> bool:
    return isinstance(dims, int) and 0 < dims < 2**31


def truncation(view: BenchmarkView) -> pl.DataFrame:
    """``model, dims, value, full`` of truncated embeddings on the headline task; ``dims`` of the full width may be
    unknown.
    """
    results = headline_results(view)
    rows: list[dict[str, Any]] = []
    for (model, revision), group in results.group_by("model", "revision", maintain_order=True):
        states = [
            (json.loads(settings), dims, value)
            for settings, dims, value in group.select("settings", "dims", "value").iter_rows()
        ]
        cut = [
            (settings["dims"], value)
            for settings, _, value in states
            if set(settings) == {"dims"} and _is_width(settings["dims"])
        ]
        whole = [(dims, value) for settings, dims, value in states if not settings]
        if cut:
            name = visible(str(model))
            if results.filter(pl.col("model") == model)["revision"].n_unique() > 1:
                name += visible(f" @{str(revision)[:7]}")
            rows += [{"model": name, "dims": dims, "value": value, "full": False} for dims, value in sorted(cut)]
            rows += [{"model": name, "dims": dims, "value": value, "full": True} for dims, value in whole]
    return named(
        pl.DataFrame(rows, schema={"model": pl.String, "dims": pl.Int64, "value": pl.Float64, "full": pl.Boolean})
    )


def group_means(results: pl.DataFrame, runs: Iterable[str]) -> pl.DataFrame:
    """``run, group, value``: means over the tasks of each group that all of the runs have, without those that stand on
    too little; groups without such a task are left out.
    """
    runs = list(runs)
    rows = results.filter(pl.col("run").is_in(runs) & (pl.col("small") == ""))
    shared = rows.filter(pl.col("run").n_unique().over("plain") == len(runs))
    return shared.group_by("run", "group", maintain_order=True).agg(pl.col("value").mean())


def ranks(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, rank``: ranks by the mean over the tasks of a group that all ranked runs have (1 is best, ties
    share).

    Ranked are the runs with the most groups, so that every rank of a plot is among the same models. Without two runs
    and two groups there is nothing to summarise, and no row.
    """
    groups = view.results.group_by("run").agg(pl.col("group").n_unique())
    ranked = groups.filter(pl.col("group") == pl.col("group").max())["run"].to_list()
    means = group_means(view.results, ranked)
    rows = means.select("group", model="run", rank=pl.col("value").rank("average", descending=True).over("group"))
    if len(ranked) < 2 or rows["group"].n_unique() < 2:
        rows = rows.clear()
    return named(rows.select("model", "group", "rank"))


def scale(view: BenchmarkView) -> pl.DataFrame:
    """``model, parameters, group, value``: group means over shared tasks against size, for runs whose size is known and
    above 0 (BM25 has no parameters, and so no place on a logarithmic axis).
    """
    results = view.results.filter(pl.col("parameters") > 0)
    if results["run"].n_unique() < 2:
        results = results.clear()
    sizes = dict(results.select("run", "parameters").iter_rows())
    rows: list[dict[str, Any]] = []
    for (group,), of_group in results.group_by("group", maintain_order=True):
        means = group_means(of_group, of_group["run"].unique()).sort("run")
        rows += [
            {"model": run, "parameters": sizes[run], "group": group, "value": value}
            for run, _, value in means.iter_rows()
        ]
    return named(
        pl.DataFrame(
            rows, schema={"model": pl.String, "parameters": pl.Float64, "group": pl.String, "value": pl.Float64}
        )
    )
