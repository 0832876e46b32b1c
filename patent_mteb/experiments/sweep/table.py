"""The table of a sweep: one row a run, beside what the paper prints for it.

``model`` (with revision and settings), ``data`` (the revision that was ranked) and the factors make a row the only one of its kind, so
that runs of any models and backends stand in one file. ``printed_<score>`` is the number of Tables 17 to 20 with the same backend,
granularity, views, length and aggregation, ``difference_<score>`` ours minus that: on the released data only, and in the paper's own
protocol where a result has it. Its dense numbers are those of one encoder in int8 (``printed_model``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb import published
from patent_mteb.errors import DataError
from patent_mteb.experiments.sealed import sealed, unbroken
from patent_mteb.experiments.sweep.matrix import Setting
from patent_mteb.files import replacing
from patent_mteb.tasks import dapfam

logger = logging.getLogger(__name__)

__all__ = ["COUNTS", "PHASES", "PRINTED", "SCORES", "SweepTable", "printed_rows", "row_of"]

SCORES = tuple(f"{part}{name}" for part in ("", "in_", "out_") for name in ("ndcg_at_100", "recall_at_100", "ndcg_at_10", "recall_at_10"))
COUNTS = ("n_queries", "in_n_queries", "out_n_queries")
"""What the scores of all queries, IN and OUT stand on."""
PHASES = {"index_seconds": "index", "split_seconds": "split", "encode_seconds": "encode", "seconds": "score"}
"""Columns of times by phase; ``seconds`` is scoring and aggregation (§5.7)."""
PRINTED = {
    "ndcg_all": "ndcg_at_100",
    "ndcg_in": "in_ndcg_at_100",
    "ndcg_out": "out_ndcg_at_100",
    "recall_all": "recall_at_100",
    "recall_in": "in_recall_at_100",
    "recall_out": "out_recall_at_100",
}
"""Columns of Tables 17 to 20 by the score that they print."""
_TABLES = {17: ("bm25", "document"), 18: ("bm25", "passage"), 19: ("dense", "document"), 20: ("dense", "passage")}
_FACTORS = list(Setting.__dataclass_fields__)
_KEYS = ["model", "data", *_FACTORS]
_DIGITS = 5
_PRINTED_DIGITS = 4


@lru_cache
def printed_rows() -> Mapping[Setting, Mapping[str, Any]]:
    """What Tables 17 to 20 print, by run; passages are those of the full text (§5.7).

    Example:
        >>> from patent_mteb.experiments.sweep import Setting, printed_rows
        >>> printed_rows()[Setting("dense", "passage", "TAC", "FullText", 2048, "maxP", tokens="own")]["ndcg_at_100"]
        0.3381
    """
    found: dict[Setting, dict[str, Any]] = {}
    for number, (backend, granularity) in _TABLES.items():
        for row in published.printed("dapfam", number).iter_rows(named=True):
            setting = Setting(backend, granularity, row["query"], row.get("corpus", "FullText"))
            if granularity == "passage":
                setting = replace(setting, length=row["passage_tokens"], aggregate=row["aggregation"], tokens="own")
            found[setting] = {"model": row["model_id"], **{score: row[column] for column, score in PRINTED.items()}}
    return found


def row_of(
    setting: Setting, identity: Mapping[str, str], task: str, scores: Mapping[str, Any], seconds: Mapping[str, float]
) -> dict[str, Any]:
    """A row of the table.

    Args:
        identity: ``model`` and ``data``.
        task: name of the task that was evaluated.
        scores: mteb's scores of the task.
        seconds: by phase.

    Example:
        >>> from patent_mteb.experiments.sweep import Setting
        >>> from patent_mteb.experiments.sweep.table import row_of
        >>> setting = Setting("bm25", "document", "TA", "TAC")
        >>> row = row_of(setting, {"model": "m", "data": "sample-1"}, setting.task, {"ndcg_at_100": 0.5}, {"score": 2.0})
        >>> row["ndcg_at_100"], row["seconds"], row["printed_ndcg_at_100"], row["difference_ndcg_at_100"]
        (0.5, 2.0, 0.2392, None)
    """
    row: dict[str, Any] = {**identity, **asdict(setting), "task": task}
    row |= {name: None if (value := scores.get(name)) is None else round(value, _DIGITS) for name in SCORES}
    row |= {name: None if (value := scores.get(name)) is None else int(value) for name in COUNTS}
    row |= {column: round(seconds.get(phase, 0.0), 3) for column, phase in PHASES.items()}
    if (printed := printed_rows().get(setting)) is not None:
        row["printed_model"] = printed["model"]
        for name in PRINTED.values():
            ours = scores.get(f"paper_{name}", scores.get(name))
            comparable = identity["data"] == dapfam.DATA.revision and ours is not None
            row[f"printed_{name}"] = printed[name]
            row[f"difference_{name}"] = round(ours - printed[name], _PRINTED_DIGITS) if comparable else None
    return row


class SweepTable:
    """A csv that grows; it is written by replacing the file. Each row carries a digest of its values: one that was edited is run again.

    Args:
        path: the file, there or not.
        data: revision of the data of this sweep.

    Raises:
        DataError: the file is no table of a sweep, or one on other data.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.experiments.sweep import Setting
        >>> from patent_mteb.experiments.sweep.table import SweepTable, row_of
        >>> table, setting = SweepTable(Path("sweep.csv"), "sample-1"), Setting("bm25", "document", "TA", "TAC")
        >>> table.add([row_of(setting, {"model": "m", "data": "sample-1"}, setting.task, {"ndcg_at_100": 0.5}, {})])
        >>> SweepTable(Path("sweep.csv"), "sample-1").has("m", setting)
        True
    """

    def __init__(self, path: Path, data: str) -> None:
        self.path = path
        self.frame = _read(path)
        if self.frame.height and set(self.frame["data"]) != {data}:
            raise DataError("the table was made with other data", path=path, remedy="choose another file, or delete it")

    def has(self, model: str, setting: Setting) -> bool:
        """Whether a run stands in the table."""
        if not self.frame.height:
            return False
        wanted = {"model": model, **asdict(setting)}
        return self.frame.filter(pl.all_horizontal(pl.col(name) == value for name, value in wanted.items())).height > 0

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Add rows and write the table; a run that is there already is replaced."""
        fresh = pl.DataFrame(rows, infer_schema_length=None)
        whole = pl.concat([self.frame, fresh], how="diagonal_relaxed") if self.frame.height else fresh
        self.frame = whole.unique(_KEYS, keep="last", maintain_order=True)
        with replacing(self.path) as partial:
            sealed(self.frame).write_csv(partial)


def _read(path: Path) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame()
    texts = dict.fromkeys(("model", "data", "aggregate", "fusion", "tokens", "digest"), pl.String)
    try:
        table = pl.read_csv(path, schema_overrides=texts, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"the table cannot be read ({error})", path=path, remedy="choose another file, or delete it") from error
    if not {*_KEYS, "task"} <= set(table.columns):
        raise DataError("the file is not a table of a sweep", path=path, remedy="choose another file")
    whole = unbroken(table.with_columns(pl.col("aggregate", "fusion", "tokens").fill_null("")))
    if whole.height < table.height:
        logger.warning(
            "%s: %d of %d rows are not as they were written; they are run again", path, table.height - whole.height, table.height
        )
    return whole
