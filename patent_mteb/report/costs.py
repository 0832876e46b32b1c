"""What a score costs: a tidy table of the headline task, from its results and from what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.report.evidence import evidence_of
from patent_mteb.report.folders import META, read_document
from patent_mteb.report.model_facts import known_of
from patent_mteb.report.records import is_amount
from patent_mteb.report.view import BenchmarkView
from patent_mteb.tasks.cost import COST

__all__ = ["costs"]

_FLOAT = 4
"""Bytes of a number of a vector."""
_EFFORT = {
    "seconds a query of the second stage": "seconds_per_query",
    "tokens of the second stage": "tokens",
    "cost of the queries": "cost",
}
"""What rerankers and scored runs took, with its column of a result."""


def costs(view: BenchmarkView) -> pl.DataFrame:
    """``model, what, cost, value``: main score of the headline task against what it cost (:mod:`patent_mteb.tasks.cost`).

    Seconds of the evaluation, memory of the weights, of the process and of the index; and hours of encoding a million texts, from all
    tasks of the benchmark in which texts reached the model (what came from a store took no time).

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.costs import costs
        >>> frame = costs(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT"))  # of 'patent-mteb run'
        >>> "seconds of the evaluation" in set(frame["what"])
        True
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
    """Hours in which a model encodes a million texts, and a billion of its tokens, by the texts that reached it on one kind of device."""
    spent: dict[str, np.ndarray] = {}
    for path, split, subset in results.select("path", "split", "subset").unique(maintain_order=True).iter_rows():
        entry = _entry(_document(Path(path)), split, subset)
        recorded = _recorded(entry, COST)
        seconds, texts, tokens = _recorded(entry, COST, "phases").get("encode"), recorded.get("encoded"), recorded.get("tokens", 0)
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
