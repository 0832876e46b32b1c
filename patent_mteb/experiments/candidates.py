"""Candidates of a first stage for rerankers (:mod:`patent_mteb.search.candidates`)."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mteb.abstasks import AbsTask
from mteb.models import MTEBModels

from patent_mteb.errors import DataError, ModelError, PatentMTEBError
from patent_mteb.experiments.evaluate import retrieval_task
from patent_mteb.experiments.run import unable, unloading
from patent_mteb.identity import version
from patent_mteb.metrics.measures import Judged
from patent_mteb.search.candidates import Candidates, data_of, manifest_of, system_of, write_candidates
from patent_mteb.store.settings import with_current_settings
from patent_mteb.tasks.retrieval import PatentRetrieval

logger = logging.getLogger(__name__)


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
    model = with_current_settings(model, encode_kwargs)
    _refuse_others(folder, model, k)
    done = []
    for place, given in enumerate(tasks, start=1):
        name = given if isinstance(given, str) else given.metadata.name
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


def _refuse_others(folder: Path, model: MTEBModels, k: int) -> None:
    if not any(folder.glob("*.json")):
        return
    existing = Candidates(folder)
    manifest = manifest_of(folder, existing.tasks[0]) or {}
    if manifest.get("system") != system_of(model.mteb_model_meta) or existing.k != k:
        raise DataError(
            f"the folder has candidates of another system or depth ({existing.mteb_model_meta.name})",
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
