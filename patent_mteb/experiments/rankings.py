"""Rankings as files: fusion of saved runs (DAPFAM §5.5, Tables 12 to 16), and candidates for rerankers."""

from __future__ import annotations

import datetime as dt
import logging
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from mteb.abstasks import AbsTask
from mteb.models import MTEBModels

from patent_mteb.errors import DataError, ModelError, PatentMTEBError
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.experiments.results_folder import ResultsFolder
from patent_mteb.experiments.run import evaluate_into, evaluate_with_mteb, scores_of, unable, unloading
from patent_mteb.identity import version
from patent_mteb.metrics.measures import Judged
from patent_mteb.metrics.significance import too_small
from patent_mteb.model_identity.loaded import with_arguments
from patent_mteb.search.candidates import Candidates, data_of, is_limited, manifest_of, system_of, write_candidates
from patent_mteb.search.fusion import RRF, Fusion, Linear
from patent_mteb.search.stored import FusedRuns, StoredRun, Weighted
from patent_mteb.search.trec import Order
from patent_mteb.tasks import perquery
from patent_mteb.tasks.retrieval import PatentRetrieval

if TYPE_CHECKING:
    from patent_mteb.search.base import ArraySearch


logger = logging.getLogger(__name__)
GRID: tuple[Fusion, ...] = (*map(RRF, (10, 30, 60, 100)), *(Linear(tenths / 10) for tenths in range(11)))
"""The K of DAPFAM §5.5, and weights of the second run in steps of 0.1."""

SMALL = {"small": "", "in_small": "in", "out_small": "out"}
"""Columns for scores of all queries, IN and OUT that have too few items (:mod:`patent_mteb.metrics.significance`)."""


def fuse_runs(
    paths: Sequence[Path],
    task: PatentRetrieval | str,
    settings: Sequence[Fusion | Weighted],
    output_folder: Path,
    *,
    depth: int = 1000,
    allow_missing: bool = False,
    orders: Sequence[Order] = (),
) -> pl.DataFrame:
    """Fuse TREC runs, score each fusion like a model, and write its result under its own identity."""
    found = retrieval_task(task)
    if len(orders) not in (0, 1, len(paths)):
        problem = f"there are {len(orders)} orders for {len(paths)} runs"
        raise DataError(problem, remedy="give one for all, or one for each")
    by_run = zip(paths, orders if len(orders) == len(paths) else [*orders, None][:1] * len(paths), strict=True)
    stored = [StoredRun(path, allow_missing=allow_missing, order=order) for path, order in by_run]
    if len({run.mteb_model_meta.revision for run in stored}) < max(len(stored), 2):
        raise DataError("a fusion needs two or more different runs", remedy="name each run once")
    cache = ResultsFolder(output_folder)
    rows = []
    with unloading(found):
        with perquery.receiving(lambda evaluation: None):
            for name, run in zip(_names(paths), stored, strict=True):
                rows.append({"name": name, "method": "", "parameter": None, **_scores(run, found, None)})
        with perquery.receiving(lambda evaluation: perquery.save(evaluation, cache.query_scores)):
            for setting in settings:
                logger.info("%s", setting.tag)
                scores = _scores(FusedRuns(stored, setting, depth), found, cache)
                rows.append({"name": setting.tag, **_setting(setting), **scores})
    return _compared(pl.DataFrame(rows, infer_schema_length=None), found.metadata.main_score, len(stored))


def _names(paths: Sequence[Path]) -> list[str]:
    """Return distinct names of files: their stems, if need be with the first differing folder."""
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


def _scores(model: ArraySearch, task: PatentRetrieval, cache: ResultsFolder | None) -> dict[str, Any]:
    options: Mapping[str, Any] = {"co2_tracker": False, "encode_kwargs": {}, "show_progress_bar": False}
    if cache is None:
        result = evaluate_with_mteb(model, task, cache=None, **options)
    else:
        result = evaluate_into(cache, model, task, **options)
    scores = scores_of(result, task)
    names = (f"{part}{name}" for name in (task.metadata.main_score, "recall_at_100") for part in ("", "in_", "out_"))
    found: dict[str, Any] = {name: float(scores[name]) for name in names if name in scores}
    small = {name: part for name, part in SMALL.items() if not part or f"{part}_n_queries" in scores}
    return found | {name: too_small(scores, part) for name, part in small.items()}


def _compared(table: pl.DataFrame, main: str, n_runs: int) -> pl.DataFrame:
    """Add the gain of each fusion over the best single run, and the ratios of OUT to ALL."""
    scores = [name for name in table.columns if name not in ("name", "method", "parameter", *SMALL)]
    best = table.head(n_runs).sort(main, descending=True, maintain_order=True).row(0, named=True)
    added = {}
    for name in scores:
        gain = (pl.col(name) - pl.lit(best[name], pl.Float64)).round(5)
        added[f"gain_{name}"] = pl.when(pl.col("method") != "").then(gain)
    for name in (name for name in scores if f"out_{name}" in scores):
        ratio = (pl.col(f"out_{name}") / pl.col(name)).round(4)
        added[f"out_ratio_{name}"] = pl.when(pl.col(name) > 0).then(ratio)
    return table.with_columns(**added)


@dataclass(frozen=True)
class Written:
    """The outcome of one task: the recall of its candidates bounds that of a reranker; a reason if there are none."""

    task: str
    queries: int = 0
    recall: float | None = None
    existing: bool = False
    reason: str = ""


def candidates(
    model: MTEBModels,
    tasks: Sequence[AbsTask | str],
    folder: Path,
    k: int = 1000,
    *,
    encode_kwargs: Mapping[str, Any] | None = None,
) -> list[Written]:
    """Write the best k documents of every query of retrieval tasks.

    Existing candidates of the same system, depth and data are kept. Two processes may write to the same folder.
    """
    if k < 1:
        raise DataError(f"the number of candidates is {k}", remedy="give a positive number")
    model = with_arguments(model, encode_kwargs)
    names = [task if isinstance(task, str) else task.metadata.name for task in tasks]
    _refuse_others(folder, model, k, {is_limited(name) for name in names})
    done = []
    for place, (name, given) in enumerate(zip(names, tasks, strict=True), start=1):
        logger.info("[%d/%d] %s", place, len(tasks), name)
        try:
            task = retrieval_task(given)
            if reason := unable(model, task):
                raise ModelError(reason)
            with unloading(task):
                done.append(_of_task(model, task, folder, k, encode_kwargs))
        except PatentMTEBError as error:
            done.append(Written(name, reason=str(error)))
    return done


def _refuse_others(folder: Path, model: MTEBModels, k: int, limited: Set[bool]) -> None:
    if not any(folder.glob("*.json")):
        return
    existing = Candidates(folder)
    manifest = manifest_of(folder, existing.tasks[0]) or {}
    if (manifest.get("system"), existing.k, {existing.limited}) != (system_of(model.mteb_model_meta), k, limited):
        raise DataError(
            f"the folder has candidates of another system, depth or --limit ({existing.mteb_model_meta.name})",
            path=folder,
            remedy="name another folder",
        )


def _of_task(
    model: MTEBModels, task: PatentRetrieval, folder: Path, k: int, encode_kwargs: Mapping[str, Any] | None
) -> Written:
    name = task.metadata.name
    system, queries, context = task.searching(model, encode_kwargs)
    query_ids = list(queries["id"])
    data = data_of(query_ids, system.doc_ids, context)
    manifest = manifest_of(folder, name) or {}
    if manifest.get("data") == data and all((folder / one["name"]).is_file() for one in manifest["files"].values()):
        return Written(name, len(query_ids), manifest.get("recall"), existing=True)
    run, unfiltered = system.rank_both(queries, k, context)
    measure = f"recall@{k}"
    judged = Judged(run.docs, task.tables.qrels, run.query_ids, run.doc_ids)
    recall = float(judged.scores([measure]).means()[measure])
    facts = {"recall": recall, "version": version(), "made": dt.datetime.now(dt.UTC).date().isoformat()}
    write_candidates(folder, name, model.mteb_model_meta, k, data, (run, unfiltered if context.hidden else run), facts)
    return Written(name, len(query_ids), recall)
