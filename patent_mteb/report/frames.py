"""From the results of a benchmark to the tidy table of each plot. A frame without rows means that there is nothing to plot.

The column ``model`` holds runs by their short names (:func:`model_names`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from patent_mteb.report.view import BenchmarkView

__all__ = [
    "alpha",
    "in_out",
    "jurisdictions",
    "model_names",
    "ranks",
    "recall",
    "scale",
    "section_axes",
    "sections",
    "truncation",
]


def model_names(runs: Iterable[str]) -> dict[str, str]:
    """Runs by a short name: without the organisation where the rest is enough to tell them apart."""
    runs = tuple(dict.fromkeys(runs))
    tails = {run: run.partition("/")[2] or run for run in runs}
    return {run: tail if list(tails.values()).count(tail) == 1 else run for run, tail in tails.items()}


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose column ``model`` holds runs, with these brought to short names."""
    return frame.with_columns(pl.col("model").replace(model_names(frame["model"])))


def in_out(view: BenchmarkView) -> pl.DataFrame:
    """``model, in, out`` on the headline task with domains."""
    task, values = view.domain_headline, view.slice_scores
    name = task.name if task else ""
    rows = [
        {"model": run, "in": values[name, run, "in"], "out": values[name, run, "out"]}
        for run in view.runs
        if {(name, run, "in"), (name, run, "out")} <= values.keys()
    ]
    return _named(pl.DataFrame(rows, schema={"model": pl.String, "in": pl.Float64, "out": pl.Float64}))


def _headline_scores(view: BenchmarkView) -> pl.DataFrame:
    return view.scores.filter(pl.col("task") == (view.headline.name if view.headline else ""))


def _headline_results(view: BenchmarkView) -> pl.DataFrame:
    return view.results.filter(pl.col("task") == (view.headline.name if view.headline else ""))


def recall(view: BenchmarkView) -> pl.DataFrame:
    """``model, k, value`` of Recall@k on the headline task."""
    rows = _headline_scores(view).filter((pl.col("slice") == "") & pl.col("measure").str.contains(r"^recall_at_\d+$"))
    k = pl.col("measure").str.strip_prefix("recall_at_").cast(pl.Int64)
    return _named(rows.select(model="run", k=k, value="value"))


def jurisdictions(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value`` of the headline task by filing jurisdiction, if there are several."""
    rows = _headline_scores(view).filter(pl.col("main") & pl.col("slice").str.starts_with("jurisdiction_"))
    if rows["slice"].n_unique() < 2:
        rows = rows.clear()
    return _named(rows.select(model="run", group=pl.col("slice").str.strip_prefix("jurisdiction_").str.to_uppercase(), value="value"))


def sections(view: BenchmarkView) -> pl.DataFrame:
    """``model, query, corpus, value`` of the benchmark's grid of text views, for models with at least two of its cells."""
    grid = [{"plain": task, "query": query, "corpus": corpus} for task, (query, corpus) in view.facts.section_grid.items()]
    cells = pl.DataFrame(grid, schema={"plain": pl.String, "query": pl.String, "corpus": pl.String})
    rows = view.results.join(cells, on="plain", maintain_order="left").filter(pl.len().over("run") > 1)
    return _named(rows.select("query", "corpus", "value", model="run").select("model", "query", "corpus", "value"))


def section_axes(view: BenchmarkView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The query views and the corpus views of the grid, in the order of the benchmark's record."""
    pairs = view.facts.section_grid.values()
    return tuple(dict.fromkeys(query for query, _ in pairs)), tuple(dict.fromkeys(corpus for _, corpus in pairs))


_NOT_SETTINGS = ("name", "revision", "embed_dim")


def alpha(view: BenchmarkView) -> pl.DataFrame:
    """``model, alpha, value`` of linear fusion on the headline task; ``model`` names the second (dense) system and the first.

    The systems alone are the ends of the curve, at 0 and 1, where they were measured.
    """
    results = _headline_results(view)
    alone = {(row["model"], row["revision"], row["settings"]): row["value"] for row in results.iter_rows(named=True)}
    values: dict[tuple[str, float], float] = {}
    systems_of: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    for row in results.iter_rows(named=True):
        settings = json.loads(row["settings"])
        parts = settings.get("parts") or []
        if settings.get("kind") != "hybrid" or settings.get("method") != "linear" or len(parts) != 2:
            continue
        first, second = parts
        curve = f"{_label(second)} + {_label(first)}"
        if systems_of.setdefault(curve, (first, second)) != (first, second):
            curve += f" ({row['revision'][:7]})"
            systems_of[curve] = (first, second)
        values[curve, float(settings["alpha"])] = row["value"]
    for curve, systems in systems_of.items():
        for end, system in enumerate(systems):
            single = alone.get((system["name"], system["revision"], _settings(system)))
            if single is not None:
                values.setdefault((curve, float(end)), single)
    rows = [{"model": curve, "alpha": weight, "value": value} for (curve, weight), value in sorted(values.items())]
    return pl.DataFrame(rows, schema={"model": pl.String, "alpha": pl.Float64, "value": pl.Float64})


def _settings(system: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in system.items() if key not in _NOT_SETTINGS}, sort_keys=True)


def _label(system: Mapping[str, Any]) -> str:
    shown = {key: value for key, value in json.loads(_settings(system)).items() if key != "parts"}
    name = str(system["name"]).partition("/")[2] or str(system["name"])
    return name + (f" ({', '.join(f'{key}={value}' for key, value in shown.items())})" if shown and "kind" not in shown else "")


def truncation(view: BenchmarkView) -> pl.DataFrame:
    """``model, dims, value, full`` of truncated embeddings on the headline task; ``dims`` of the full width may be unknown."""
    results = _headline_results(view)
    rows: list[dict[str, Any]] = []
    for (model, revision), group in results.group_by("model", "revision", maintain_order=True):
        states = [(json.loads(settings), dims, value) for settings, dims, value in group.select("settings", "dims", "value").iter_rows()]
        cut = [(settings["dims"], value) for settings, _, value in states if set(settings) == {"dims"}]
        whole = [(dims, value) for settings, dims, value in states if not settings]
        if cut:
            name = str(model)
            if results.filter(pl.col("model") == model)["revision"].n_unique() > 1:
                name += f" @{str(revision)[:7]}"
            rows += [{"model": name, "dims": dims, "value": value, "full": False} for dims, value in sorted(cut)]
            rows += [{"model": name, "dims": dims, "value": value, "full": True} for dims, value in whole]
    return _named(pl.DataFrame(rows, schema={"model": pl.String, "dims": pl.Int64, "value": pl.Float64, "full": pl.Boolean}))


def _group_means(results: pl.DataFrame, runs: Iterable[str]) -> pl.DataFrame:
    """``run, group, value``: means over the tasks of each group that all of the runs have; groups without such a task are left out."""
    runs = list(runs)
    rows = results.filter(pl.col("run").is_in(runs))
    shared = rows.filter(pl.col("run").n_unique().over("plain") == len(runs))
    return shared.group_by("run", "group", maintain_order=True).agg(pl.col("value").mean())


def ranks(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, rank``: ranks by the mean over the tasks of a group that all ranked runs have (1 is best, ties share).

    Ranked are the runs with the most groups, so that every rank of a plot is among the same models. Without two runs and two
    groups there is nothing to summarise, and no row.
    """
    groups = view.results.group_by("run").agg(pl.col("group").n_unique())
    ranked = groups.filter(pl.col("group") == pl.col("group").max())["run"].to_list()
    means = _group_means(view.results, ranked)
    rows = means.select("group", model="run", rank=pl.col("value").rank("average", descending=True).over("group"))
    if len(ranked) < 2 or rows["group"].n_unique() < 2:
        rows = rows.clear()
    return _named(rows.select("model", "group", "rank"))


def scale(view: BenchmarkView) -> pl.DataFrame:
    """``model, parameters, group, value``: group means over shared tasks against size, for runs whose size is known."""
    results = view.results.filter(pl.col("parameters").is_not_null())
    if results["run"].n_unique() < 2:
        results = results.clear()
    sizes = dict(results.select("run", "parameters").iter_rows())
    rows: list[dict[str, Any]] = []
    for (group,), of_group in results.group_by("group", maintain_order=True):
        means = _group_means(of_group, of_group["run"].unique()).sort("run")
        rows += [{"model": run, "parameters": sizes[run], "group": group, "value": value} for run, _, value in means.iter_rows()]
    return _named(pl.DataFrame(rows, schema={"model": pl.String, "parameters": pl.Float64, "group": pl.String, "value": pl.Float64}))
