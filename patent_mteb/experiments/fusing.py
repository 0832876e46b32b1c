"""Fusing rankings that were written down, under one setting or a grid of them (DAPFAM §5.5, Tables 12 to 16)."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mteb
import polars as pl
from mteb.cache import ResultCache

from patent_mteb.errors import DataError
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.metrics.sizes import too_small
from patent_mteb.search.fusion import RRF, Fusion, Linear
from patent_mteb.search.stored import FusedRuns, StoredRun, Weighted
from patent_mteb.tasks import perquery
from patent_mteb.tasks.retrieval import PatentRetrieval

if TYPE_CHECKING:
    from patent_mteb.search.base import ArraySearch

logger = logging.getLogger(__name__)

__all__ = ["GRID", "SMALL", "fuse_runs"]

GRID: tuple[Fusion, ...] = (*map(RRF, (10, 30, 60, 100)), *(Linear(tenths / 10) for tenths in range(11)))
"""The K of DAPFAM §5.5, and weights of the second run in tenths."""

SMALL = {"small": "", "in_small": "in", "out_small": "out"}
"""Columns that say what the scores of all queries, IN and OUT have too little of (:mod:`patent_mteb.metrics.sizes`)."""


def fuse_runs(
    paths: Sequence[Path],
    task: PatentRetrieval | str,
    settings: Sequence[Fusion | Weighted],
    output_folder: Path,
    *,
    depth: int = 1000,
    allow_missing: bool = False,
) -> pl.DataFrame:
    """Fuse TREC runs, score each fusion as the task scores a model, and file it under an identity of its own.

    Args:
        paths: runs in TREC form, of any query views, corpus views and lengths; the lexical one first, where there is one.
        task: a retrieval task of the suite, or its name: its judgements, slices and hidden documents count.
        settings: how they are fused.
        output_folder: results folder in mteb's structure; per-query scores are written beside the results.
        depth: documents of each run that count.
        allow_missing: queries that a run does not have found nothing; by default they are refused.

    Returns:
        one row a run by itself, then one a setting: ``name``, ``method`` (empty for a run), ``parameter``, the task's main score and
        recall at 100 for all queries and for ``in_`` and ``out_``, ``gain_<score>`` over the run that is best on the main score
        (Tables 13 and 15), and ``out_ratio_<score>``, OUT divided by ALL (Table 16), as far as the task has them; and :data:`SMALL`.

    Raises:
        DataError: a file that cannot be used, fewer than two, or settings that do not fit their number; no retrieval task.

    Example:
        >>> from pathlib import Path
        >>> import patent_mteb
        >>> from patent_mteb.experiments.fusing import fuse_runs
        >>> from patent_mteb.models import bm25
        >>> from patent_mteb.search.fusion import RRF
        >>> task = "PatentMapAbsToAbsRetrieval.sample"
        >>> for setting in ("dapfam", "bm25s"):
        ...     patent_mteb.rank(bm25(setting), task).save(f"{setting}.run")
        >>> table = fuse_runs([Path("dapfam.run"), Path("bm25s.run")], task, [RRF(30)], Path("results"))
        >>> table["name"].to_list()
        ['dapfam', 'bm25s', 'rrf-30']
    """
    found = retrieval_task(task)
    stored = [StoredRun(path, allow_missing=allow_missing) for path in paths]
    if len({run.mteb_model_meta.revision for run in stored}) < max(len(stored), 2):
        raise DataError("a fusion takes two different runs or more", remedy="name each run once")
    cache = ResultCache(output_folder)
    rows = []
    try:
        with perquery.receiving(lambda evaluation: None):
            for name, run in zip(_names(paths), stored, strict=True):
                rows.append({"name": name, "method": "", "parameter": None, **_scores(run, found, None)})
        with perquery.receiving(lambda evaluation: perquery.save(evaluation, Path(cache.cache_path) / "results")):
            for setting in settings:
                logger.info("%s", setting.tag)
                rows.append({"name": setting.tag, **_setting(setting), **_scores(FusedRuns(stored, setting, depth), found, cache)})
    finally:
        if found.data_loaded:
            found.unload_data()
    return _compared(pl.DataFrame(rows, infer_schema_length=None), found.metadata.main_score, len(stored))


def _names(paths: Sequence[Path]) -> list[str]:
    """What tells files apart: their names, else the first folder that differs, as well."""
    folder = Path(os.path.commonpath([path.absolute().parent for path in paths]))
    below = [path.absolute().relative_to(folder) for path in paths]
    for names in ([path.stem for path in paths], [f"{path.parts[0]}/{path.stem}" for path in below]):
        if len(set(names)) == len(names):
            return names
    return [str(path.with_suffix("")) for path in below]


def _setting(setting: Fusion | Weighted) -> dict[str, Any]:
    if isinstance(setting, RRF):
        return {"method": "rrf", "parameter": float(setting.k)}
    return {"method": "linear", "parameter": float(setting.alpha) if isinstance(setting, Linear) else None}


def _scores(model: ArraySearch, task: PatentRetrieval, cache: ResultCache | None) -> dict[str, Any]:
    options: Mapping[str, Any] = {"co2_tracker": False, "encode_kwargs": {}, "show_progress_bar": False}
    result = mteb.evaluate(model, task, cache=cache, **options)
    ((scores,),) = result.task_results[0].scores.values()
    main = task.metadata.main_score
    wanted = dict.fromkeys(f"{part}{name}" for name in (main, "recall_at_100") for part in ("", "in_", "out_"))
    found: dict[str, Any] = {name: float(scores[name]) for name in wanted if name in scores}
    return found | {name: too_small(scores, part) for name, part in SMALL.items() if not part or f"{part}_n_queries" in scores}


def _compared(table: pl.DataFrame, main: str, n_runs: int) -> pl.DataFrame:
    scores = [name for name in table.columns if name not in ("name", "method", "parameter", *SMALL)]
    best = table.head(n_runs).sort(main, descending=True, maintain_order=True).row(0, named=True)
    fused = pl.col("method") != ""
    gains = [pl.when(fused).then((pl.col(name) - pl.lit(best[name], pl.Float64)).round(5)).alias(f"gain_{name}") for name in scores]
    ratios = [
        pl.when(pl.col(name) > 0).then((pl.col(f"out_{name}") / pl.col(name)).round(4)).alias(f"out_ratio_{name}")
        for name in scores
        if f"out_{name}" in scores
    ]
    return table.with_columns(*gains, *ratios)
