"""Per-query scores beside the results: which query, in which slices, with which scores, for any model.

One parquet file a result, in mteb's own folder structure
(``<folder>/<org>__<model>/<revision>/[experiments/<settings>/]<Task>.queries.parquet``): columns ``query``, the measures of
``MEASURES``, and one boolean column ``slice:<name>`` for each slice of the task; the file's metadata names task, model, revision,
data set revision and subset, so that a report can refuse what does not belong to a result.

The folder is ``$PATENT_MTEB_QUERY_SCORES`` (which ``patent-mteb run`` sets to its results folder), else
``query_scores`` in the user cache: the plain ``mteb`` command does not tell a task where it writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from patent_mteb.build import write_parquet
from patent_mteb.fingerprint import cache_root
from patent_mteb.metrics import ranking
from patent_mteb.slices import Qrels

if TYPE_CHECKING:
    from patent_mteb.tasks.base import PatentRetrieval

__all__ = ["MEASURES", "RUNS_VARIABLE", "VARIABLE", "folder", "path_of", "save"]

VARIABLE = "PATENT_MTEB_QUERY_SCORES"
RUNS_VARIABLE = "PATENT_MTEB_RUNS"
MEASURES = ("ndcg@10", "ndcg@100", "map@1000", "mrr@1000", "recall@10", "recall@20", "recall@50", "recall@100")


def folder() -> Path:
    """The folder that per-query scores are written to."""
    return Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else cache_root() / "query_scores"


def path_of(root: Path, model_meta: Any, task_name: str, suffix: str) -> Path:
    """Path of a file beside the result of a model and a task, in mteb's folder structure."""
    place: Path = root / model_meta.model_name_as_path() / (model_meta.revision or "no_revision_available")
    if model_meta.experiment_name:
        place = place / "experiments" / model_meta.experiment_name
    return place / f"{task_name}{suffix}"


def save(
    task: PatentRetrieval,
    model: Any,
    ranks: ranking.Ranks,
    qrels: Qrels,
    slices: Mapping[str, Set[str]],
    results: Mapping[str, Mapping[str, float]],
) -> Path:
    """Write the per-query scores of one evaluation, and its run and qrels in TREC format if ``$PATENT_MTEB_RUNS`` is set."""
    meta = model.mteb_model_meta
    values = ranking.per_query(ranks, qrels, MEASURES)
    columns: dict[str, Any] = {"query": list(values.queries)}
    columns |= {measure: values.scores[measure].astype(np.float64) for measure in MEASURES}
    columns |= {f"slice:{name}": [query in members for query in values.queries] for name, members in slices.items()}
    identity = {
        "task": task.metadata.name,
        "main_score": task.metadata.main_score,
        "model": meta.name,
        "model_revision": meta.revision,
        "experiment": meta.experiment_name,
        "dataset_revision": task.metadata.revision,
        "subset": task.source.subset,
    }
    table = pa.table(columns).replace_schema_metadata({"patent_mteb": json.dumps(identity)})
    path = path_of(folder(), meta, task.metadata.name, ".queries.parquet")
    partial = path.with_suffix(f".{os.getpid()}")
    write_parquet(partial, table)
    partial.replace(path)
    if os.environ.get(RUNS_VARIABLE):
        from patent_mteb import trec

        root = Path(os.environ[RUNS_VARIABLE])
        trec.write_run(path_of(root, meta, task.metadata.name, ".run"), results, tag=(meta.name or "model").replace(" ", "_"))
        trec.write_qrels(path_of(root, meta, task.metadata.name, ".qrels"), qrels)
    return path
