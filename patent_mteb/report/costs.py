"""What a score costs, and what passages give: tidy tables of the headline task, from its results and from what stands beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb.errors import DataError
from patent_mteb.report.evidence import evidence_of
from patent_mteb.report.folders import META, read_document
from patent_mteb.report.model_facts import known_of
from patent_mteb.report.names import visible
from patent_mteb.report.view import BenchmarkView

__all__ = ["costs", "passages"]

_FLOAT = 4
"""Bytes of a number of a vector."""
_EFFORT = {
    "seconds a query of the second stage": "seconds_per_query",
    "tokens of the second stage": "tokens",
    "cost of the queries": "cost",
}
"""What rerankers and scored runs took, with its column of a result."""


def costs(view: BenchmarkView) -> pl.DataFrame:
    """``model, what, cost, value``: main score of the headline task against seconds, memory of the weights and size of the index.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.costs import costs
        >>> frame = costs(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT"))  # of 'patent-mteb run'
        >>> "seconds of the evaluation" in set(frame["what"])
        True
    """
    headline = view.headline.name if view.headline else ""
    rows = [
        {"model": row["run"], "what": what, "cost": cost, "value": row["value"]}
        for row in view.results.filter(pl.col("task") == headline).iter_rows(named=True)
        for what, cost in _of_result(row)
    ]
    frame = pl.DataFrame(rows, schema={"model": pl.String, "what": pl.String, "cost": pl.Float64, "value": pl.Float64})
    return frame.filter(pl.len().over("what") > 1)


def _of_result(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    path = Path(row["path"])
    result, meta = _document(path), _document(path.with_name(META))
    seconds, memory = result.get("evaluation_time"), known_of(meta)["memory"]
    if isinstance(seconds, (int, float)) and seconds > 0:
        yield "seconds of the evaluation", float(seconds)
    if isinstance(memory, float):
        yield "memory of the weights (MB)", memory
    for what, column in _EFFORT.items():
        if row[column]:
            yield what, float(row[column])
    documents = _documents(result, row["split"], row["subset"])
    if documents and row["dims"]:
        yield "index (MB)", documents * row["dims"] * _FLOAT / 1e6


def _document(path: Path) -> dict[str, Any]:
    """A file beside the results; one that cannot be read is named in the messages of the results already."""
    try:
        return read_document(path)
    except (DataError, FileNotFoundError):
        return {}


def _documents(result: Mapping[str, Any], split: str, subset: str) -> int:
    """How many documents were searched, as the evidence of a result has it; 0 where it does not say."""
    for entry in result.get("scores", {}).get(split, []):
        if entry.get("hf_subset", "default") == subset:
            found: Any = evidence_of(entry)
            for key in ("texts", "document", "n"):
                found = found.get(key) if isinstance(found, Mapping) else None
            return found if isinstance(found, int) else 0
    return 0


def passages(view: BenchmarkView) -> pl.DataFrame:
    """``model, tokens, value`` of the headline task searched in passages; ``model`` names the model and how passages are put together.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.collect import collect
        >>> from patent_mteb.report.costs import passages
        >>> passages(collect(Path("results")).worlds["sample"].benchmark("WIPO-AT")).columns  # of 'patent-mteb run'
        ['model', 'tokens', 'value']
    """
    rows = []
    headline = view.headline.name if view.headline else ""
    for settings, value in view.results.filter(pl.col("task") == headline).select("settings", "value").iter_rows():
        known = json.loads(settings)
        tokens, parts = known.get("tokens"), known.get("parts") or []
        if known.get("kind") == "passages" and isinstance(tokens, int) and len(parts) == 1:
            name = visible(f"{parts[0]['name'].rpartition('/')[2]}, {known.get('aggregate', '')}")
            rows.append({"model": name, "tokens": tokens, "value": value})
    return pl.DataFrame(rows, schema={"model": pl.String, "tokens": pl.Int64, "value": pl.Float64}).sort("model", "tokens")
