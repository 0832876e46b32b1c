"""The charts of a report as one table: which figure of which paper, of which data, drawn how.

From the results of a benchmark to the tidy tables of the further figures of the papers
(:mod:`patent_mteb.report.drawing`); a frame without rows means that there is nothing to draw.

Results that are points of one curve: fusions by their weight or constant, passages by their length, on the headline
task.

A curve is what has the same systems and settings but for that one number. Curves of one name are told apart by the
settings in which they differ.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from patent_mteb.report import drawing, frames
from patent_mteb.report.frames import brief_names, group_means, headline_results, headline_slices, named, sections
from patent_mteb.report.queries import read_queries
from patent_mteb.report.view import BenchmarkView
from patent_mteb.report.words import visible
from patent_mteb.tasks.verification import per_query_measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_TASKS = 20
"""Tasks side by side, at most; of more the means of groups are drawn."""


def by_task(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: the main score of each task (PatenTEB Fig. 2), of at most twenty."""
    names = {task.plain: task.short for task in view.tasks}
    rows = view.results if 1 < len(names) <= _MOST_TASKS else view.results.clear()
    return named(rows.select(model="run", group=pl.col("plain").replace(names), value="value"))


def task_groups(view: BenchmarkView) -> pl.DataFrame:
    """``model, series, value``: the mean of each group of tasks over the tasks that all models of the group have
    (PatenTEB Fig. 4).
    """
    parts = [
        group_means(part, part["run"].unique()) for part in view.results.partition_by("group", maintain_order=True)
    ]
    rows = pl.concat(parts) if len(parts) > 1 else view.results.select("run", "group", "value").clear()
    return named(rows.select(model="run", series="group", value="value"))


def profile(view: BenchmarkView) -> pl.DataFrame:
    """``model, series, value``: the same, each group as a share of its best model (WIPO-AT Fig. 18)."""
    return task_groups(view).with_columns(value=pl.col("value") / pl.col("value").max().over("series"))


def overlap(view: BenchmarkView) -> pl.DataFrame:
    """``model, series, value``: IN, MIXED and OUT, where they are tasks of their own (PatenTEB Fig. 5)."""
    task, values = view.domain_headline, view.slice_scores
    name = task.name if task and task.plain in view.facts.domain_tasks else ""
    series = (("in", "IN"), ("", "MIXED"), ("out", "OUT"))
    rows = [
        (run, shown, values[name, run, part])
        for part, shown in series
        for run in view.runs
        if (name, run, part) in values
    ]
    return named(
        pl.DataFrame(rows, schema={"model": pl.String, "series": pl.String, "value": pl.Float64}, orient="row")
    )


def query_sections(view: BenchmarkView) -> pl.DataFrame:
    """``model, series, value``: the sections that queries are made of, on the corpus view of the headline task (WIPO-AT
    Fig. 5).
    """
    corpus = view.facts.section_grid.get(view.facts.headline, ("", ""))[1]
    return sections(view).filter(corpus=corpus).select("model", series="query", value="value")


def years(view: BenchmarkView) -> pl.DataFrame:
    """``model, x, value`` of the headline task by year of publication (Sophia-Bench Fig. 6)."""
    rows = headline_slices(view, "year_")
    return (
        rows.with_columns(x=pl.col("group").cast(pl.Int64, strict=False)).drop_nulls("x").select("model", "x", "value")
    )


def section_advantage(view: BenchmarkView, expert: str = "DWPIFull", public: str = "TAC") -> pl.DataFrame:
    """``model, group, value``: by query section what one corpus view gives over another (WIPO-AT Fig. 8 for the
    headline's section, Fig. 15 for all).
    """
    grid = sections(view)
    both = grid.filter(corpus=expert).join(
        grid.filter(corpus=public), on=["model", "query"], suffix="_public", maintain_order="left"
    )
    return both.select("model", group="query", value=pl.col("value") - pl.col("value_public"))


def task_advantage(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: each task minus its twin without certain texts (WIPO-AT Fig. 16 and 17)."""
    ending, names = view.facts.lacking, {task.plain: task.short for task in view.tasks}
    rows = [
        (run, names[task], value - scores[task + ending])
        for run, scores in view.main_scores.items()
        for task, value in scores.items()
        if ending and task + ending in scores
    ]
    return named(pl.DataFrame(rows, schema={"model": pl.String, "group": pl.String, "value": pl.Float64}, orient="row"))


def labels(view: BenchmarkView) -> pl.DataFrame:
    """``model, group, value``: F1 of each label of the classification task with the most labels (WIPO-AT Fig. 13)."""
    rows = view.scores.filter((pl.col("slice") == "") & pl.col("measure").str.starts_with("f1_"))
    counts = rows.group_by("task").agg(pl.col("measure").n_unique()).sort("measure", "task")
    rows = rows.filter(task=counts["task"][-1]) if len(counts) else rows
    return named(rows.select(model="run", group=pl.col("measure").str.strip_prefix("f1_"), value="value"))


def distribution(view: BenchmarkView) -> pl.DataFrame:
    """``model, part, value``: the main score of each query of the headline task, of all queries and, where they were
    filed, IN and OUT of domain (WIPO-AT Fig. 20 and 21).
    """
    head = view.headline.name if view.headline else ""
    rows = view.results.filter((pl.col("task") == head) & pl.col("queries").is_not_null()).sort(
        "value", descending=True
    )
    empty = pl.DataFrame(schema={"model": pl.String, "part": pl.String, "value": pl.Float64})
    found = []
    for row in rows.iter_rows(named=True):
        table = read_queries(Path(row["queries"]), per_query_measure(row["main_score"]))
        for part, shown in (("", "ALL"), ("in", "IN"), ("out", "OUT")):
            values = table.parts.get(part, np.array([]))
            values = values[np.isfinite(values)]
            found.append(
                pl.DataFrame(
                    {"model": [row["run"]] * len(values), "part": [shown] * len(values), "value": values},
                    schema=empty.schema,
                )
            )
    return named(pl.concat([empty, *found]).sort(pl.col("part"), maintain_order=True))


_NOT_SETTINGS = ("name", "revision", "embed_dim")

_System = Mapping[str, Any]


@dataclass
class _Curve:
    """Its name before others are known, its systems, all its settings but the one it is drawn by, and its points."""

    name: str
    systems: Sequence[_System]
    settings: dict[str, Any]
    points: dict[float, float] = field(default_factory=dict)

    @property
    def told(self) -> dict[str, str]:
        """What may tell it apart from another of its name."""
        return {key: f"{key}={value}" for key, value in self.settings.items() if key != "parts"} | {
            f"{place}": f"{_tail(system)} @{str(system.get('revision'))[:7]}"
            for place, system in enumerate(self.systems)
        }


def alpha(view: BenchmarkView) -> pl.DataFrame:
    """``model, alpha, value`` of linear fusion on the headline task; ``model`` names the second (dense) system and the
    first.

    The systems alone are the ends of the curve, at 0 and 1, where they were measured.
    """
    results = headline_results(view)
    alone = {(row["model"], row["revision"], row["settings"]): row["value"] for row in results.iter_rows(named=True)}
    curves = _fused(results, "linear", "alpha")
    for curve in curves:
        for end, system in enumerate(curve.systems):
            single = alone.get((system["name"], system.get("revision"), json.dumps(_settings(system), sort_keys=True)))
            if single is not None:
                curve.points.setdefault(float(end), single)
    return _table(curves, "alpha", pl.Float64)


def rrf(view: BenchmarkView) -> pl.DataFrame:
    """``model, k, value`` of reciprocal rank fusion on the headline task (DAPFAM Fig. 9 and 10); ``model`` as of
    :func:`alpha`.
    """
    return _table(_fused(headline_results(view), "rrf", "k"), "k", pl.Float64)


def passages(view: BenchmarkView) -> pl.DataFrame:
    """``model, tokens, value`` of the headline task searched in passages; ``model`` names the model and how passages
    are put together.
    """

    def name(settings: Mapping[str, Any]) -> str:
        return f"{_label(settings['parts'][0])}, {settings.get('aggregate', '')}"

    curves = _curves(headline_results(view), {"kind": "passages"}, 1, "tokens", name, shares=("stride",))
    return _table(curves, "tokens", pl.Int64)


def _fused(results: pl.DataFrame, method: str, parameter: str) -> list[_Curve]:
    def name(settings: Mapping[str, Any]) -> str:
        first, second = settings["parts"]
        return f"{_label(second)} + {_label(first)}"

    return _curves(results, {"kind": "hybrid", "method": method}, 2, parameter, name)


def _curves(
    results: pl.DataFrame,
    wanted: Mapping[str, str],
    n_parts: int,
    parameter: str,
    name: Callable[[Mapping[str, Any]], str],
    shares: Sequence[str] = (),
) -> list[_Curve]:
    """The curves of what has the wanted settings and so many parts; ``shares`` are settings that count as shares of the
    parameter.
    """
    found: dict[str, _Curve] = {}
    for text, value in results.select("settings", "value").iter_rows():
        settings = json.loads(text)
        number, parts = settings.pop(parameter, None), settings.get("parts") or []
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if is_number and len(parts) == n_parts and wanted.items() <= settings.items():
            settings |= {key: round(settings[key] / number, 3) for key in shares if number and key in settings}
            curve = found.setdefault(json.dumps(settings, sort_keys=True), _Curve(name(settings), parts, settings))
            curve.points[number] = value
    return list(found.values())


def _table(curves: Sequence[_Curve], parameter: str, kind: type[pl.DataType]) -> pl.DataFrame:
    names = _told_apart(curves)
    rows = [
        {"model": name, parameter: number, "value": value}
        for name, curve in sorted(zip(names, curves, strict=True), key=lambda pair: pair[0])
        for number, value in sorted(curve.points.items())
    ]
    return pl.DataFrame(rows, schema={"model": pl.String, parameter: kind, "value": pl.Float64})


def _told_apart(curves: Sequence[_Curve]) -> list[str]:
    """The names of curves, those of one name with the settings in which they differ."""
    shared = Counter(curve.name for curve in curves)
    full = []
    for curve in curves:
        others = [other.told for other in curves if other.name == curve.name]
        differing = [text for key, text in curve.told.items() if any(other.get(key) != text for other in others)]
        full.append(f"{curve.name} ({', '.join(differing)})" if shared[curve.name] > 1 and differing else curve.name)
    brief = brief_names({f"{place} {name}": name for place, name in enumerate(full)})
    return list(map(visible, brief.values()))


def _settings(system: _System) -> dict[str, Any]:
    return {key: system[key] for key in sorted(system) if key not in _NOT_SETTINGS}


def _tail(system: _System) -> str:
    return str(system["name"]).partition("/")[2] or str(system["name"])


def _label(system: _System) -> str:
    shown = {key: value for key, value in _settings(system).items() if key != "parts"}
    return _tail(system) + (
        f" ({', '.join(f'{key}={value}' for key, value in shown.items())})" if shown and "kind" not in shown else ""
    )


@dataclass(frozen=True)
class Chart:
    """One row.

    Attributes:
        kind: part of its file name.
        figures: the papers' figures that it is.
        what: its title, before the task.
        data: from a benchmark to the tidy table.
        draw: from the table to the figure; also takes ``title``, and what ``takes`` names.
        task: whose task stands in the title: ``headline``, ``domain_headline``, or empty.
        takes: further arguments of ``draw``: ``measure`` (name of the task's main score), ``grid`` (the order of the
            text views).
        options: arguments as they are.
        least: rows that the table needs.
        models: models that it compares, at least.
    """

    kind: str
    figures: str
    what: str
    data: Callable[[BenchmarkView], pl.DataFrame]
    draw: Callable[..., Figure]
    task: str = "headline"
    takes: tuple[str, ...] = ("measure",)
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    least: int = 2
    models: int = 1

    def shows(self, frame: pl.DataFrame) -> bool:
        """Whether a table has enough in it for the figure to say something."""
        return len(frame) >= self.least and ("model" not in frame.columns or frame["model"].n_unique() >= self.models)


def _of_headline_section(view: BenchmarkView) -> pl.DataFrame:
    section = view.facts.section_grid.get(view.facts.headline, ("", ""))[0]
    return section_advantage(view).filter(group=section).drop("group")


def _ipc_sections(view: BenchmarkView) -> pl.DataFrame:
    return frames.headline_slices(view, "ipc_").with_columns(pl.col("group").str.to_uppercase())


CHARTS = (
    Chart(
        "in-out", "WIPO-AT 2", "IN and OUT of domain", frames.in_out, drawing.in_out_bars, "domain_headline", least=1
    ),
    Chart("alpha", "WIPO-AT 3", "fusion with a lexical system", alpha, drawing.alpha_curve),
    Chart(
        "sections",
        "WIPO-AT 4",
        "query section and corpus view",
        frames.sections,
        drawing.section_heatmaps,
        "",
        ("measure", "grid"),
    ),
    Chart(
        "query-sections",
        "WIPO-AT 5",
        "query sections on the headline's corpus",
        query_sections,
        drawing.dots,
    ),
    Chart("dwpi", "WIPO-AT 8", "what DWPI texts add to the corpus", _of_headline_section, drawing.differences, ""),
    Chart(
        "dwpi-sections",
        "WIPO-AT 15",
        "what DWPI texts add, by query section",
        section_advantage,
        drawing.jurisdiction_heatmap,
        "",
        options={"groups_are": "query section", "differences": True},
    ),
    Chart(
        "dwpi-tasks",
        "WIPO-AT 16, 17",
        "what DWPI texts add, by data set",
        task_advantage,
        drawing.jurisdiction_heatmap,
        "",
        options={"groups_are": "task", "differences": True},
    ),
    Chart(
        "jurisdictions",
        "WIPO-AT 9, Sophia-Bench 5",
        "filing jurisdiction",
        frames.jurisdictions,
        drawing.jurisdiction_heatmap,
    ),
    Chart("ranks", "WIPO-AT 10", "ranks in each group of tasks", frames.ranks, drawing.rank_summary, "", ()),
    Chart(
        "truncation", "WIPO-AT 11, PatenTEB 11a", "truncated embeddings", frames.truncation, drawing.truncation_curves
    ),
    Chart(
        "labels",
        "WIPO-AT 13",
        "F1 of each label, the task with the most",
        labels,
        drawing.jurisdiction_heatmap,
        "",
        options={"groups_are": "label"},
    ),
    Chart(
        "profile",
        "WIPO-AT 18",
        "groups of tasks, share of the best",
        profile,
        drawing.dots,
        "",
        (),
        models=2,
    ),
    Chart(
        "correlations",
        "WIPO-AT 19",
        "agreement of tasks on the models",
        by_task,
        drawing.rank_correlations,
        "",
        (),
        models=3,
    ),
    Chart("distribution", "WIPO-AT 20, 21", "scores of single queries", distribution, drawing.distributions),
    Chart("recall", "Sophia-Bench 4", "Recall@k", frames.recall, drawing.recall_curves, takes=()),
    Chart(
        "years",
        "Sophia-Bench 6",
        "year of publication",
        years,
        drawing.curves,
        options={"x": "year of publication"},
    ),
    Chart(
        "ipc",
        "Sophia-Bench 7",
        "IPC section",
        _ipc_sections,
        drawing.jurisdiction_heatmap,
        options={"groups_are": "IPC section of the query"},
    ),
    Chart(
        "tasks",
        "PatenTEB 2",
        "every task",
        by_task,
        drawing.jurisdiction_heatmap,
        "",
        options={"groups_are": "task"},
    ),
    Chart("groups", "PatenTEB 4", "groups of tasks", task_groups, drawing.dots, "", ()),
    Chart("overlap", "PatenTEB 5", "degrees of overlap", overlap, drawing.dots, "domain_headline"),
    Chart("scale", "WIPO-AT 1", "model size and score", frames.scale, drawing.scale_scatter, "", ()),
)
"""In the order of the report. ``docs/figures.md`` lists them with the figures that other modules draw."""
