"""The per-query scores beside a result (:mod:`patent_mteb.tasks.perquery`): read, and checked to be the result's own."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from patent_mteb.errors import DataError
from patent_mteb.report.evidence import ContradictionError
from patent_mteb.report.records import Result

__all__ = ["TOLERANCE", "QueryTable", "per_query_measure", "query_ids", "read_queries", "usable_queries"]

TOLERANCE = 1e-5
"""mteb rounds its scores to five decimals."""

_PART = "score:"


def per_query_measure(main_score: str) -> str:
    """Column of the per-query scores that belongs to a main score: ``ndcg_at_10`` -> ``ndcg@10``.

    Example:
        >>> from patent_mteb.report.queries import per_query_measure
        >>> per_query_measure("ndcg_at_10")
        'ndcg@10'
    """
    return main_score.replace("_at_", "@")


@dataclass(frozen=True)
class QueryTable:
    """Query ids in alphabetical order, and by slice (empty for all judgements) their main scores, NaN for queries outside the slice.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.report.queries import QueryTable
        >>> table = QueryTable(("q1", "q2"), {"": np.array([0.5, 0.25]), "in": np.array([0.5, np.nan])})
        >>> table.states("in", 0.5), table.states("in", 0.375), table.states("in", None)
        (True, False, False)
    """

    queries: tuple[str, ...]
    parts: dict[str, NDArray[np.float64]]

    def scored(self, part: str) -> bool:
        """Whether a query of a slice has a score."""
        return bool(np.isfinite(self.parts[part]).any())

    def states(self, part: str, stated: float | None) -> bool:
        """Whether the mean of a slice's scores is what the result states; that of the whole task was checked (:func:`usable_queries`)."""
        if not part:
            return True
        return stated is not None and self.scored(part) and abs(float(np.nanmean(self.parts[part])) - stated) <= TOLERANCE


def read_queries(path: Path, measure: str) -> QueryTable:
    """The per-query scores of a file, of the whole task and of the slices that it has scores of.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.queries import read_queries
        >>> path = next(Path("results").rglob("*.queries.parquet"))  # results of 'patent-mteb run'
        >>> table = read_queries(path, "ndcg@10")
        >>> len(table.queries) == len(table.parts[""])
        True
    """
    with pq.ParquetFile(path) as file:  # by its literal path: polars takes brackets and stars in it for a pattern
        slices = [name for name in file.schema_arrow.names if name.startswith(_PART)]
        table = pl.DataFrame(pl.from_arrow(file.read(columns=["query", measure, *slices]))).sort("query")
    parts = {"": measure} | {name.removeprefix(_PART): name for name in slices}
    return QueryTable(tuple(table["query"]), {part: table[name].cast(pl.Float64).to_numpy() for part, name in parts.items()})


def query_ids(path: Path) -> list[str]:
    """The queries of a file of per-query scores.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.queries import query_ids
        >>> len(query_ids(next(Path("results").rglob("*.queries.parquet")))) > 10  # results of 'patent-mteb run'
        True
    """
    with pq.ParquetFile(path) as file:
        return [str(query) for query in file.read(columns=["query"])["query"].to_pylist()]


def usable_queries(result: Result) -> Path | None:
    """The file of per-query scores beside a result, None if there is none.

    Raises:
        DataError: the file is damaged or another result's.
        ContradictionError: it is incomplete, its mean is not the result's main score, or it was read off another ranking.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.data.worlds import WORLDS
        >>> from patent_mteb.report.queries import usable_queries
        >>> from patent_mteb.report.records import ModelFolder, Result
        >>> from patent_mteb.report.suite import suite_tasks
        >>> task, source = suite_tasks()["PatentCitationRetrieval"], ModelFolder(Path(), "my/model", "1", "", {}, {})
        >>> result = Result(source, task, task.name, WORLDS["sample"], "sample-1", "sample-1", {"main_score": 0.5}, 0, "", Path("my.json"))
        >>> usable_queries(result) is None  # there is no file beside my.json
        True
    """
    path = result.path.with_name(f"{result.name}.queries.parquet")
    if not path.exists() and not path.is_symlink():
        return None
    measure = per_query_measure(result.task.main_score)
    try:
        if not path.is_file():
            raise ValueError("no regular file")
        with pq.ParquetFile(path) as file:
            identity = dict(json.loads(file.schema_arrow.metadata[b"patent_mteb"]))
            if not _is_text(file.schema_arrow.field("query").type):
                raise ValueError("query ids that are no text")
            table = file.read(columns=["query", measure])
        values, queries = table[measure].to_numpy(), table["query"].to_pylist()
        mean = float(values.mean()) if len(values) else math.nan
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"damaged per-query scores ({error}); not used", path=path, remedy="delete the file and run the task again"
        ) from error
    remedy = "delete result and per-query scores and run the task again"
    if problem := _not_its_own(result, identity):
        raise DataError(f"{problem}; not used", path=path, remedy=remedy)
    if problem := _incomplete(result, queries) or _other_mean(result, measure, mean) or _other_ranking(result, identity):
        raise ContradictionError(f"{problem}; not used", path=path, remedy=remedy)
    return path


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


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
    found = identity | {"model_revision": identity.get("model_revision") or "no_revision_available"}
    differing = [f"{key} {found.get(key)!r} instead of {value!r}" for key, value in expected.items() if found.get(key) != value]
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


def _other_ranking(result: Result, identity: dict[str, Any]) -> str:
    ranking = result.evidence.get("ranking")
    ours, theirs = ranking.get("digest") if isinstance(ranking, dict) else None, identity.get("ranking")
    if ours == theirs or None in (ours, theirs):
        return ""
    return f"per-query scores of another ranking ({theirs} instead of {ours})"
