"""From collected results to the tidy table of each plot. A frame without rows means that the results have nothing to plot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from patent_mteb.report.collect import Collected
from patent_mteb.report.tables import domain_scores, headline

__all__ = [
    "alpha",
    "in_out",
    "jurisdictions",
    "model_names",
    "ranks",
    "recall",
    "scale",
    "sections",
    "truncation",
]


def model_names(runs: Iterable[str]) -> dict[str, str]:
    """Runs by a short name: without the organisation where the rest is enough to tell them apart."""
    runs = tuple(dict.fromkeys(runs))
    tails = {run: run.partition("/")[2] or run for run in runs}
    return {run: tail if list(tails.values()).count(tail) == 1 else run for run, tail in tails.items()}


def _family(collected: Collected, family: str) -> Collected:
    return Collected(
        collected.folder, collected.results.filter(pl.col("family") == family), collected.scores.filter(pl.col("family") == family)
    )


def _named(rows: list[tuple[Any, ...]], schema: Mapping[str, Any]) -> pl.DataFrame:
    """A frame whose column ``model`` holds runs, with these brought to short names."""
    frame = pl.DataFrame(rows, schema=dict(schema), orient="row")
    return frame.with_columns(pl.col("model").replace(model_names(frame["model"])))


def in_out(collected: Collected, family: str) -> tuple[str, pl.DataFrame]:
    """The family's headline task and ``model, in, out`` on it."""
    part = _family(collected, family)
    task = headline(part.scores)
    values = domain_scores(part.scores)
    rows = [
        (run, values[task, run, "in"], values[task, run, "out"])
        for run in part.runs
        if {(task, run, "in"), (task, run, "out")} <= values.keys()
    ]
    return task, _named(rows, {"model": pl.String, "in": pl.Float64, "out": pl.Float64})


def recall(collected: Collected, family: str) -> tuple[str, pl.DataFrame]:
    """The family's headline retrieval task and ``model, k, value`` of its Recall@k."""
    part = _family(collected, family)
    task = headline(part.scores, domains=False)
    found = part.scores.filter((pl.col("task") == task) & (pl.col("slice") == "") & pl.col("measure").str.contains(r"^recall_at_\d+$"))
    rows = [(run, int(measure.rpartition("_")[2]), value) for run, measure, value in found.select("run", "measure", "value").iter_rows()]
    return task, _named(rows, {"model": pl.String, "k": pl.Int64, "value": pl.Float64})


def jurisdictions(collected: Collected, family: str) -> tuple[str, pl.DataFrame]:
    """The family's headline task and ``model, group, value`` by filing jurisdiction, if there are several."""
    part = _family(collected, family)
    task = headline(part.scores, domains=False)
    found = part.scores.filter((pl.col("task") == task) & "main" & pl.col("slice").str.starts_with("jurisdiction_"))
    rows = [
        (run, name.removeprefix("jurisdiction_").upper(), value) for run, name, value in found.select("run", "slice", "value").iter_rows()
    ]
    if len({group for _, group, _ in rows}) < 2:
        rows = []
    return task, _named(rows, {"model": pl.String, "group": pl.String, "value": pl.Float64})


def sections(collected: Collected) -> pl.DataFrame:
    """``model, query, corpus, value`` of the section grid of WIPO-AT (§3.4), for models with at least two of its cells."""
    from patent_mteb.tasks.wipo_at import CELLS, CORPUS_VIEWS, QUERY_VIEWS

    cells = {cell.name: (cell.query, cell.corpus) for cell in CELLS if cell.query in QUERY_VIEWS and cell.corpus in CORPUS_VIEWS}
    found = collected.results.filter(pl.col("plain").is_in(list(cells)))
    enough = found.group_by("run").len().filter(pl.col("len") > 1)["run"]
    rows = [(run, *cells[plain], value) for run, plain, value in found.select("run", "plain", "value").iter_rows() if run in set(enough)]
    return _named(rows, {"model": pl.String, "query": pl.String, "corpus": pl.String, "value": pl.Float64})


_NOT_SETTINGS = ("name", "revision", "embed_dim")


def alpha(collected: Collected, family: str) -> tuple[str, pl.DataFrame]:
    """The family's headline task and ``model, alpha, value`` of linear fusion; ``model`` is the second (dense) system.

    The systems alone are the ends of the curve, at 0 and 1, where they were measured.
    """
    part = _family(collected, family)
    task = headline(part.scores, domains=False)
    found = part.results.filter(pl.col("task") == task)
    alone = {(row["model"], row["revision"], row["settings"]): row["value"] for row in found.iter_rows(named=True)}
    values: dict[tuple[str, float], float] = {}
    parts_of: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    for row in found.iter_rows(named=True):
        settings = json.loads(row["settings"])
        parts = settings.get("parts") or []
        if settings.get("kind") != "hybrid" or settings.get("method") != "linear" or len(parts) != 2:
            continue
        first, second = parts
        curve = f"{_part_label(second)} + {_part_label(first)}"
        if parts_of.setdefault(curve, (first, second)) != (first, second):
            curve += f" ({row['revision'][:7]})"
            parts_of[curve] = (first, second)
        values[curve, float(settings["alpha"])] = row["value"]
    for curve, systems in parts_of.items():
        for end, system in enumerate(systems):
            single = alone.get((system["name"], system["revision"], _settings(system)))
            if single is not None:
                values.setdefault((curve, float(end)), single)
    rows = [(curve, weight, value) for (curve, weight), value in sorted(values.items())]
    return task, pl.DataFrame(rows, schema={"model": pl.String, "alpha": pl.Float64, "value": pl.Float64}, orient="row")


def _settings(part: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in part.items() if key not in _NOT_SETTINGS}, sort_keys=True)


def _part_label(part: Mapping[str, Any]) -> str:
    shown = {key: value for key, value in json.loads(_settings(part)).items() if key != "parts"}
    name = str(part["name"]).partition("/")[2] or str(part["name"])
    return name + (f" ({', '.join(f'{key}={value}' for key, value in shown.items())})" if shown and "kind" not in shown else "")


def truncation(collected: Collected, family: str) -> tuple[str, pl.DataFrame]:
    """The family's headline task and ``model, dims, value, full`` of truncated embeddings; ``dims`` of the full width may be unknown."""
    part = _family(collected, family)
    task = headline(part.scores, domains=False)
    found = part.results.filter(pl.col("task") == task)
    rows: list[tuple[Any, ...]] = []
    for (model, revision), group in found.group_by("model", "revision", maintain_order=True):
        states = [(json.loads(settings), dims, value) for settings, dims, value in group.select("settings", "dims", "value").iter_rows()]
        cut = [(settings["dims"], value) for settings, _, value in states if set(settings) == {"dims"}]
        full = [(dims, value) for settings, dims, value in states if not settings]
        if cut:
            name = str(model)
            if found.filter(pl.col("model") == model)["revision"].n_unique() > 1:
                name += f" @{str(revision)[:7]}"
            rows += [(name, dims, value, False) for dims, value in sorted(cut)] + [(name, dims, value, True) for dims, value in full]
    return task, _named(rows, {"model": pl.String, "dims": pl.Int64, "value": pl.Float64, "full": pl.Boolean})


def _shared(results: pl.DataFrame, runs: Iterable[str]) -> dict[str, list[str]]:
    """Tasks by group that all of the runs have; groups without one are left out."""
    runs = set(runs)
    mine = results.filter(pl.col("run").is_in(list(runs)))
    counts = mine.group_by("group", "plain", maintain_order=True).agg(pl.col("run").n_unique().alias("n"))
    shared: dict[str, list[str]] = {}
    for group, plain, n in counts.iter_rows():
        if n == len(runs):
            shared.setdefault(group, []).append(plain)
    return shared


def _group_means(results: pl.DataFrame, runs: Iterable[str]) -> pl.DataFrame:
    """``run, group, value``: means over the tasks of each group that all of the runs have."""
    runs = list(runs)
    shared = [task for tasks in _shared(results, runs).values() for task in tasks]
    mine = results.filter(pl.col("run").is_in(runs) & pl.col("plain").is_in(shared))
    return mine.group_by("run", "group", maintain_order=True).agg(pl.col("value").mean())


def ranks(collected: Collected, family: str) -> pl.DataFrame:
    """``model, group, rank``: ranks by the mean over the tasks of a group that all ranked runs have (1 is best, ties share).

    Ranked are the runs with the most groups, so that every rank of a plot is among the same models. Without two runs and two
    groups there is nothing to summarise, and no row.
    """
    results = collected.results.filter(pl.col("family") == family)
    groups = results.group_by("run").agg(pl.col("group").n_unique().alias("groups"), pl.col("plain").n_unique().alias("tasks"))
    chosen = groups.filter(pl.col("groups") == pl.col("groups").max())["run"].to_list() if len(groups) else []
    means = _group_means(results, chosen)
    ranked = means.with_columns(pl.col("value").rank("average", descending=True).over("group").alias("rank"))
    if len(chosen) < 2 or ranked["group"].n_unique() < 2:
        ranked = ranked.clear()
    return _named(ranked.select("run", "group", "rank").rows(), {"model": pl.String, "group": pl.String, "rank": pl.Float64})


def scale(collected: Collected, family: str) -> pl.DataFrame:
    """``model, parameters, group, value``: group means over shared tasks against size, for runs whose size is known."""
    results = collected.results.filter((pl.col("family") == family) & pl.col("parameters").is_not_null())
    sizes = dict(results.select("run", "parameters").iter_rows())
    rows: list[tuple[Any, ...]] = []
    for group in results["group"].unique(maintain_order=True):
        of_group = results.filter(pl.col("group") == group)
        means = _group_means(of_group, of_group["run"].unique())
        rows += [(run, sizes[run], group, value) for run, _, value in means.sort("run").iter_rows()]
    if len(sizes) < 2:
        rows = []
    return _named(rows, {"model": pl.String, "parameters": pl.Float64, "group": pl.String, "value": pl.Float64})
