"""What a score costs: seconds, memory, index and hours of encoding, from the results of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.report.folders import META, read_document
from patent_mteb.report.model_facts import known_of
from patent_mteb.report.records import is_amount
from patent_mteb.report.view import BenchmarkView
from patent_mteb.tasks.cost import COST
from patent_mteb.tasks.verification import evidence_of

_BYTES_PER_DIMENSION = 4
"""Of a float32 vector."""

_EFFORT = {
    "seconds a query of the second stage": "seconds_per_query",
    "tokens of the second stage": "tokens",
    "cost of the queries": "cost",
}
"""Efforts of rerankers and scored runs, with their columns of a result."""


def costs(view: BenchmarkView) -> pl.DataFrame:
    """``model, what, x, value``: main score of the headline task against cost (:mod:`patent_mteb.tasks.cost`).

    Hours of encoding come from all tasks of the benchmark in which texts reached the model: texts from a store took no
    time. The other costs are those of the headline task.
    """
    headline = view.headline.name if view.headline else ""
    encoding = {run: list(_encoding_hours(rows)) for (run,), rows in view.results.group_by("run", maintain_order=True)}
    rows = [
        {"model": row["run"], "what": what, "x": cost, "value": row["value"]}
        for row in view.results.filter(pl.col("task") == headline).iter_rows(named=True)
        for what, cost in [*_of_result(row), *encoding[row["run"]]]
    ]
    frame = pl.DataFrame(rows, schema={"model": pl.String, "what": pl.String, "x": pl.Float64, "value": pl.Float64})
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
        yield "index (MB)", documents * row["dims"] * _BYTES_PER_DIMENSION / 1e6


def _encoding_hours(results: pl.DataFrame) -> Iterator[tuple[str, float]]:
    """Hours in which a model encodes a million texts, and a billion tokens, by device."""
    spent: dict[str, np.ndarray] = {}
    for path, split, subset in results.select("path", "split", "subset").unique(maintain_order=True).iter_rows():
        entry = _entry(_document(Path(path)), split, subset)
        recorded = _recorded(entry, COST)
        seconds = _recorded(entry, COST, "phases").get("encode")
        texts, tokens = recorded.get("encoded"), recorded.get("tokens", 0)
        if is_amount(seconds) and is_amount(texts) and is_amount(tokens) and texts:
            device = "GPU" if "cuda" in str(_recorded(entry, "model").get("device")) else "CPU"
            spent[device] = spent.get(device, 0) + np.array([seconds, texts, tokens, seconds * bool(tokens)], float)
    for device, (seconds, texts, tokens, timed) in spent.items():
        yield f"{device}-hours a million texts", float(seconds / texts * 1e6 / 3600)
        if tokens:
            yield f"{device}-hours a billion tokens", float(timed / tokens * 1e9 / 3600)


def _document(path: Path) -> dict[str, Any]:
    """Read a JSON file; empty if that fails, which the messages of the results already report."""
    try:
        return read_document(path)
    except (DataError, FileNotFoundError):
        return {}


def _entry(result: Mapping[str, Any], split: str, subset: str) -> Mapping[str, Any]:
    """Return the scores of one split and subset."""
    entries = result.get("scores", {}).get(split, [])
    return next((entry for entry in entries if entry.get("hf_subset", "default") == subset), {})


def _recorded(entry: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a section of the evidence of a result; empty if it is missing."""
    found: Any = evidence_of(entry)
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
