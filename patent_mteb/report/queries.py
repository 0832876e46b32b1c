"""The per-query scores beside a result (:mod:`patent_mteb.tasks.perquery`): read, and checked to be the result's own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from patent_mteb.errors import DataError
from patent_mteb.report.records import Result

__all__ = ["TOLERANCE", "per_query_measure", "read_queries", "usable_queries"]

TOLERANCE = 1e-5
"""mteb rounds its scores to five decimals."""


def per_query_measure(main_score: str) -> str:
    """Column of the per-query scores that belongs to a main score: ``ndcg_at_10`` -> ``ndcg@10``."""
    return main_score.replace("_at_", "@")


def read_queries(path: Path, measure: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Query ids in alphabetical order and their scores, an array of shape (n queries,)."""
    table = pl.read_parquet(path, columns=["query", measure]).sort("query")
    return tuple(table["query"]), table[measure].to_numpy()


def usable_queries(result: Result) -> Path | None:
    """The file of per-query scores beside a result, None if there is none.

    Raises:
        DataError: the file is damaged, another result's or incomplete, or its mean is not the result's main score.
    """
    path = result.path.with_name(f"{result.name}.queries.parquet")
    if not path.is_file():
        return None
    measure = per_query_measure(result.task.main_score)
    try:
        file = pq.ParquetFile(path)
        identity = dict(json.loads(file.schema_arrow.metadata[b"patent_mteb"]))
        table = file.read(columns=["query", measure])
        values, queries = table[measure].to_numpy(), table["query"].to_pylist()
        mean = float(values.mean()) if len(values) else math.nan
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"damaged per-query scores ({error}); not used", path=path, remedy="delete the file and run the task again"
        ) from error
    if problem := _not_its_own(result, identity) or _incomplete(result, queries) or _other_mean(result, measure, mean):
        raise DataError(f"{problem}; not used", path=path, remedy="delete result and per-query scores and run the task again")
    return path


def _not_its_own(result: Result, identity: dict[str, Any]) -> str:
    expected = {
        "task": result.name,
        "main_score": result.task.main_score,
        "model": result.source.model,
        "model_revision": result.source.revision,
        "experiment": result.source.experiment or None,
        "dataset_revision": result.data_revision,
        "subset": result.subset,
    }
    differing = [f"{key} {identity.get(key)!r} instead of {value!r}" for key, value in expected.items() if identity.get(key) != value]
    return f"per-query scores of another run ({'; '.join(differing)})" if differing else ""


def _incomplete(result: Result, queries: list[str]) -> str:
    expected, distinct = result.scores.get("n_queries", len(queries)), len(set(queries))
    if len(queries) == expected and distinct == expected:
        return ""
    lacking = expected - distinct
    what = f"{lacking:.0f} of {expected:.0f} queries are missing" if lacking > 0 else "queries occur twice or are too many"
    return f"incomplete per-query scores: {what}"


def _other_mean(result: Result, measure: str, mean: float) -> str:
    main = result.scores["main_score"]
    return "" if abs(mean - main) <= TOLERANCE else f"the mean of {measure} is {mean:.6f}, but the result's main score is {main:.6f}"
