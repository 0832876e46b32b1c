"""How models' embeddings lie in space, of ``patent-mteb geometry``: tables, and PatentMap's Figures 3, 5 and 6.

A geometry is read from the file next to the task's result and reported with it. The result says on which data it was
measured, and its main score colours Figure 3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from patent_mteb.data.data_source import data_source_named
from patent_mteb.errors import DataError
from patent_mteb.files import json_lines
from patent_mteb.report import drawing
from patent_mteb.report.cells import Cell, Column, Table, short, slug
from patent_mteb.report.collect import Collected
from patent_mteb.report.figures import Plot
from patent_mteb.report.style import GREY, LINE, broken, end_labels, fitted, new_figure, require, styled
from patent_mteb.tasks import catalogue

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SCHEMA: dict[str, Any] = dict.fromkeys(
    ("run", "data_source", "benchmark", "task", "plain", "settings", "measure"), pl.String
) | {
    "value": pl.Float64,
    "score": pl.Float64,
}

_PLANE = ("alignment", "uniformity", "ssd")

NAMES = {"alignment": "Alignment", "uniformity": "Uniformity", "ssd": "SSD / log d", "ida_ratio": "IDA ratio"}
"""How the measures are called; lower is better for each."""

_AGAIN = "measure it again with 'patent-mteb geometry'"


def read(collected: Collected) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The geometries beside the results: one row a number, with the main score of the result; and what was left out."""
    rows: list[dict[str, Any]] = []
    messages: list[str] = []
    for result in collected.results.iter_rows(named=True):
        path = Path(result["path"]).with_name(f"{result['task']}.geometry.jsonl")
        if not path.exists():
            continue
        try:
            found = _of_result(path, result)
        except DataError as error:
            messages.append(str(error))
            continue
        named = {name: result[name] for name in ("run", "data_source", "benchmark", "task", "plain")}
        rows += [
            {
                **named,
                "settings": found["settings"],
                "measure": measure,
                "value": float(value),
                "score": result["value"],
            }
            for measure, value in found["measures"].items()
        ]
    return pl.DataFrame(rows, schema=SCHEMA), tuple(messages)


def _of_result(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """The geometry of the model and the data of a result."""
    wanted = {
        "task": result["task"],
        "model": result["model"],
        "model_revision": result["revision"],
        "dataset_revision": result["data_revision"],
        "subset": result["subset"],
    }
    for row, line in json_lines(path):
        if all((line.get(name) or "no_revision_available") == value for name, value in wanted.items()):
            settings, numbers = line.get("settings"), line.get("measures")
            if (
                not isinstance(settings, dict)
                or not isinstance(numbers, dict)
                or not all(map(_is_number, numbers.values()))
            ):
                raise DataError("damaged (no settings and measures)", path=path, row=row, remedy=_AGAIN)
            return {
                "settings": ", ".join(f"{name} {value}" for name, value in sorted(settings.items())),
                "measures": numbers,
            }
    raise DataError(
        f"no geometry of {result['model']} on data revision {result['data_revision']}; left out",
        path=path,
        remedy=_AGAIN,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def tables(frame: pl.DataFrame) -> list[Table]:
    """One table a data source and task: models by measure. Lower is better for all of them, and nothing is marked."""
    made = []
    for (data_source, benchmark, plain), part in frame.group_by(
        "data_source", "benchmark", "plain", maintain_order=True
    ):
        shown = part.filter(~pl.col("measure").str.starts_with("n_"))
        names = shown["measure"].unique(maintain_order=True).to_list()
        values = {(run, measure): value for run, measure, value in shown.select("run", "measure", "value").iter_rows()}
        settings = part["settings"].unique().to_list()
        note = "Numbers measured with different settings do not compare: " + "; ".join(sorted(settings)) + "."
        made.append(
            Table(
                slug(str(data_source), str(benchmark), "geometry", str(plain)),
                data_source_named(str(data_source)).titled(
                    f"{benchmark}: geometry of the embeddings, {task_title(str(benchmark), str(plain))}"
                ),
                (
                    Column("model", "Model", numeric=False),
                    *(Column(name, name.replace("_", " "), marked=False) for name in names),
                ),
                tuple(
                    (Cell(run), *(Cell(values.get((run, name))) for name in names))
                    for run in shown["run"].unique().sort()
                ),
                banner=data_source_named(str(data_source)).banner,
                notes=("Lower is better (PatentMap, appendices D and E).", *([note] if len(settings) > 1 else [])),
                benchmark=str(benchmark),
            )
        )
    return made


def task_title(benchmark: str, task: str) -> str:
    """How a task of a benchmark is called in titles."""
    known = {one.name: one.facts for one in (*catalogue.benchmarks(), *catalogue.own_benchmarks())}
    return short(task, known[benchmark]) if benchmark in known else task.removeprefix(benchmark)


def draw(frame: pl.DataFrame) -> list[Plot]:
    """The figures that the geometries have numbers for: the plane for each task, and heatmaps where documents have
    sections.
    """
    drawn: list[Plot] = []
    for (data_source, benchmark, plain), part in frame.group_by(
        "data_source", "benchmark", "plain", maintain_order=True
    ):
        view = str(data_source), str(benchmark), task_title(str(benchmark), str(plain))
        figures = [("plane", "alignment and uniformity", plane, on_plane(part))]
        figures += [
            (f"geometry-{slug(name)}", f"{what} by section", _heatmap(what), by_section(part, name))
            for name, what in NAMES.items()
        ]
        drawn += [_plot(*view, kind, what, figure, data) for kind, what, figure, data in figures if len(data)]
    return drawn


def _plot(
    data_source: str, benchmark: str, task: str, kind: str, what: str, figure: Callable[..., Figure], data: pl.DataFrame
) -> Plot:
    title = data_source_named(data_source).titled(f"{benchmark}: {what}, {task}")
    return Plot(slug(data_source, benchmark, kind, task), title, data_source, benchmark, figure(data, title=title))


def on_plane(part: pl.DataFrame) -> pl.DataFrame:
    """``model, alignment, uniformity, ssd, score``: the models that have all three measures of the plane."""
    if not set(_PLANE) <= set(part["measure"]):
        return part.head(0)
    wide = part.filter(pl.col("measure").is_in(_PLANE)).pivot("measure", index=["run", "score"], values="value")
    return wide.drop_nulls().select(pl.col("run").alias("model"), *_PLANE, "score")


def by_section(part: pl.DataFrame, measure: str) -> pl.DataFrame:
    """``model, group, value``: a measure of each section, or of each two."""
    name = pl.col("measure")
    own = part.filter(name.str.starts_with(f"{measure}_") & ~name.str.starts_with(f"{measure}_to_"))
    group = name.str.strip_prefix(f"{measure}_").str.replace_all("_", " – ")
    return own.select(pl.col("run").alias("model"), group.alias("group"), "value")


def _heatmap(measure: str) -> Callable[..., Figure]:
    return partial(
        drawing.jurisdiction_heatmap, measure=f"{measure} (lower is better)", groups_are="section of the patent"
    )


@styled
def plane(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Models by alignment and uniformity; SSD is the size of a point, the main score its colour (PatentMap Fig. 3)."""
    require(frame, "model", "alignment", "uniformity", "ssd", "score")
    frame = frame.sort("model")
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    x, y, sizes, scores = (frame[name].to_numpy() for name in ("alignment", "uniformity", "ssd", "score"))
    points = axes.scatter(x, y, s=60 + 1500 * sizes, c=scores, cmap="cividis", alpha=0.85, edgecolors="white")
    axes.margins(0.15)
    axes.set_xlabel("alignment (lower: citing and cited are closer)")
    axes.set_ylabel("uniformity (lower: more evenly spread)")
    figure.colorbar(points, ax=axes, label="main score", location="left", pad=0.15)
    height = max(3.6, LINE * len(frame))
    names = [f"{model} (SSD / log d {ssd:.3f})" for model, ssd in frame.select("model", "ssd").iter_rows()]
    end_labels(axes, [(name, *place, GREY) for name, *place in zip(names, x, y, strict=True)], height)
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 4.4, height)
