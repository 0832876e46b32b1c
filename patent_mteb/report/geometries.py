"""Geometries of embeddings (``patent-mteb geometry``) in a report: reading, tables, and the tables of their charts.

A geometry is read from the file next to the result of its task, which gives its data source and the main score. The
history of a training (``patent-mteb train --evaluate``) is in the folder of the model, as :data:`TRAINING`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.data.data_source import data_source_named
from patent_mteb.errors import DataError
from patent_mteb.files import json_lines
from patent_mteb.identity import NO_REVISION
from patent_mteb.report.cells import Cell, Table, number_columns, short, slug, text_columns
from patent_mteb.report.collect import Collected
from patent_mteb.tasks import catalogue

SCHEMA: dict[str, Any] = dict.fromkeys(
    ("run", "data_source", "benchmark", "task", "plain", "settings", "measure"), pl.String
) | {"value": pl.Float64, "score": pl.Float64, "step": pl.Int64}
"""Columns of the numbers; ``step`` is that of a training, null for a geometry."""
TRAINING = "training.csv"
_CURVE_POINTS = 500  # more than a chart has pixels
_PLANE = ("alignment", "uniformity", "ssd")
TITLES = {"alignment": "Alignment", "uniformity": "Uniformity", "ssd": "SSD / log d", "ida_ratio": "IDA ratio"}
"""Measure -> title. Lower is better for each."""

_REMEDY = "measure it again with 'patent-mteb geometry'"


def read(collected: Collected) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Read the geometries of all results: a row for each number, in the columns of :data:`SCHEMA`; and messages."""
    rows: list[dict[str, Any]] = []
    messages: list[str] = []
    trained: set[tuple[str, Path]] = set()
    for result in collected.results.iter_rows(named=True):
        path = Path(result["path"]).with_name(f"{result['task']}.geometry.jsonl")
        known = {name: result[name] for name in ("run", "data_source", "benchmark", "task", "plain")}
        history = path.with_name(TRAINING)
        try:
            if history.exists() and (result["benchmark"], history) not in trained:
                trained.add((result["benchmark"], history))
                rows += [{**known, "settings": "", **row} for row in _losses(history)]
            settings, measures = _of_result(path, result) if path.exists() else ("", {})
        except DataError as error:
            messages.append(str(error))
            continue
        known |= {"settings": settings, "score": result["value"]}
        rows += [{**known, "measure": measure, "value": float(value)} for measure, value in measures.items()]
    return pl.DataFrame(rows, schema=SCHEMA), tuple(messages)


def _losses(path: Path) -> list[dict[str, Any]]:
    """Return the losses of a training by step, those of the training steps averaged to at most 500 points."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        found: dict[str, list[tuple[int, float]]] = {}
        for row in rows:
            for name, text in row.items():
                if text and (name == "loss" or name.startswith("eval_")):
                    found.setdefault(name, []).append((int(row["step"]), float(text)))
    except (OSError, UnicodeDecodeError, KeyError, ValueError, csv.Error) as error:
        raise DataError(f"not a training history ({error})", path=path, remedy="train again, or delete it") from error
    losses = []
    for name, points in found.items():
        size = -(-len(points) // _CURVE_POINTS)
        title = name.replace("eval_", "validation_").replace("_", " ")
        for start in range(0, len(points), size):
            block = points[start : start + size]
            value = float(np.mean([loss for _, loss in block]))
            losses.append({"measure": title, "step": block[-1][0], "value": value})
    return losses


def _of_result(path: Path, result: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """Return settings and measures of the geometry that has the model and the data of a result."""
    wanted = {
        "task": result["task"],
        "model": result["model"],
        "model_revision": result["revision"],
        "dataset_revision": result["data_revision"],
        "subset": result["subset"],
    }
    for row, line in json_lines(path):
        if all((line.get(name) or NO_REVISION) == value for name, value in wanted.items()):
            settings, measures = line.get("settings"), line.get("measures")
            if not (
                isinstance(settings, dict) and isinstance(measures, dict) and all(map(_is_number, measures.values()))
            ):
                raise DataError("damaged (no settings and measures)", path=path, row=row, remedy=_REMEDY)
            return ", ".join(f"{name} {value}" for name, value in sorted(settings.items())), measures
    problem = f"no geometry of {result['model']} on data revision {result['data_revision']}; it is not reported"
    raise DataError(problem, path=path, remedy=_REMEDY)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def tables(geometries: pl.DataFrame) -> list[Table]:
    """Return a table of models by measure for each data source and task. No value is marked: lower is better."""
    made = []
    geometries = geometries.filter(pl.col("step").is_null())
    for key, part in geometries.group_by("data_source", "benchmark", "plain", maintain_order=True):
        name, benchmark, plain = map(str, key)
        source = data_source_named(name)
        shown = part.filter(~pl.col("measure").str.starts_with("n_"))
        names = shown["measure"].unique(maintain_order=True).to_list()
        values = {(run, measure): value for run, measure, value in shown.select("run", "measure", "value").iter_rows()}
        notes = ["Lower is better (PatentMap, appendices D and E)."]
        settings = sorted(part["settings"].unique())
        if len(settings) > 1:
            notes.append("Numbers measured with different settings do not compare: " + "; ".join(settings) + ".")
        title = f"{benchmark}: geometry of the embeddings, {_task_title(benchmark, plain)}"
        columns = (*text_columns(model="Model"), *number_columns(**{one: one.replace("_", " ") for one in names}))
        runs = shown["run"].unique().sort()
        rows = tuple((Cell(run), *(Cell(values.get((run, one))) for one in names)) for run in runs)
        slugged, heading = slug(name, benchmark, "geometry", plain), source.titled(title)
        made.append(Table(slugged, heading, columns, rows, source.banner, tuple(notes), benchmark=benchmark))
    return made


def _task_title(benchmark: str, task: str) -> str:
    facts = {one.name: one.facts for one in (*catalogue.benchmarks(), *catalogue.own_benchmarks())}
    return short(task, facts[benchmark]) if benchmark in facts else task.removeprefix(benchmark)


def learning_curve(geometries: pl.DataFrame) -> pl.DataFrame:
    """``model, x, value, measure``: losses by step of trained models."""
    return geometries.drop_nulls("step").select("measure", "value", model="run", x="step")


def plane(geometries: pl.DataFrame) -> pl.DataFrame:
    """``model, alignment, uniformity, ssd, score, task`` of the models that have these measures."""

    def of_task(part: pl.DataFrame) -> pl.DataFrame:
        if not set(_PLANE) <= set(part["measure"]):
            return part.head(0)
        wide = part.filter(pl.col("measure").is_in(_PLANE)).pivot("measure", index=["run", "score"], values="value")
        return wide.drop_nulls().select(pl.col("run").alias("model"), *_PLANE, "score")

    return _by_task(geometries, of_task)


def by_section(geometries: pl.DataFrame) -> pl.DataFrame:
    """``model, group, value, measure`` by section or pair of sections; ``measure`` includes the task."""

    def of_task(part: pl.DataFrame) -> pl.DataFrame:
        name, found = pl.col("measure"), []
        for measure, title in TITLES.items():
            rows = part.filter(name.str.starts_with(f"{measure}_") & ~name.str.starts_with(f"{measure}_to_"))
            group = name.str.strip_prefix(f"{measure}_").str.replace_all("_", " – ")
            found.append(rows.select(model="run", group=group, value="value", measure=pl.lit(title)))
        return pl.concat(found)

    return _by_task(geometries, of_task).with_columns(measure=pl.format("{}, {}", "measure", "task"))


def _by_task(geometries: pl.DataFrame, of_task: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    found = []
    for (benchmark, plain), part in geometries.group_by("benchmark", "plain", maintain_order=True):
        rows = of_task(part).with_columns(task=pl.lit(_task_title(str(benchmark), str(plain))))
        found += [rows] if len(rows) else []
    return pl.concat(found or [pl.DataFrame(schema={"task": pl.String, "measure": pl.String})])
