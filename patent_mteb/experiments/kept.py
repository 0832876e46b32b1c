"""A result on other data is kept: mteb has one file a model and task, and would write over it.

Local data and the sample have task names of their own (:mod:`patent_mteb.data.sources`). What is left is a released data set at
another commit: its result, and the per-query scores beside it, move to the folder of an experiment ``data_revision``.
"""

from __future__ import annotations

import contextlib
import json
import logging
from pathlib import Path

import pyarrow.parquet as pq
from mteb.abstasks import AbsTask
from mteb.models.model_meta import ModelMeta

from patent_mteb.data import hub
from patent_mteb.errors import PatentMTEBError
from patent_mteb.experiments import torn
from patent_mteb.files import write_parquet, write_text
from patent_mteb.tasks import perquery
from patent_mteb.tasks.base import PatentTask

logger = logging.getLogger(__name__)

__all__ = ["keep_other_revision", "revision_now"]

_FIELD = "patent_mteb"


def keep_other_revision(results: Path, query_scores: Path, meta: ModelMeta, task: AbsTask) -> Path | None:
    """Move the result of a model on a task aside if it was measured on another revision of the data.

    Args:
        results: the folder that holds the models' folders.
        query_scores: the same for the per-query scores.

    Returns:
        where the result is now; None if there was none of another revision.

    Example:
        >>> from pathlib import Path
        >>> import mteb
        >>> from patent_mteb.experiments.kept import keep_other_revision
        >>> from patent_mteb.models import bm25
        >>> results = Path("results")
        >>> keep_other_revision(results, results, bm25("dapfam").mteb_model_meta, mteb.get_task("PatenTEBBloom.sample")) is None
        True
    """
    name = task.metadata.name
    path = perquery.path_of(results, meta, name, ".json")
    if not path.exists():
        return None
    revision = json.loads(path.read_text("utf-8")).get("dataset_revision")
    if revision == revision_now(task, str(revision)):
        return None
    settings = {**(meta.experiment_kwargs or {}), "data_revision": str(revision)}
    kept_meta = meta.model_copy(update={"experiment_kwargs": settings})
    kept = perquery.path_of(results, kept_meta, name, ".json")
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_text(kept.with_name("model_meta.json"), json.dumps(kept_meta.to_dict(), default=str, indent=4))
    queries = perquery.path_of(query_scores, meta, name, ".queries.parquet")
    if queries.exists() and torn.flaw(queries):
        torn.set_aside(queries)
    elif queries.exists():
        table = pq.read_table(queries)
        metadata = dict(table.schema.metadata or {})
        identity = json.loads(metadata.get(_FIELD.encode(), b"{}")) | {"experiment": kept_meta.experiment_name}
        place = perquery.path_of(query_scores, kept_meta, name, ".queries.parquet")
        write_parquet(place, table.replace_schema_metadata(metadata | {_FIELD.encode(): json.dumps(identity)}))
    path.replace(kept)
    queries.unlink(missing_ok=True)
    logger.warning("%s was measured on data revision %s; that result is kept as %s", name, revision, kept)
    return kept


def revision_now(task: AbsTask, filed: str) -> str:
    """The revision of a task's data; where nobody can say it today, the one that was filed, if it may be.

    Example:
        >>> import mteb
        >>> from patent_mteb.experiments.kept import revision_now
        >>> revision_now(mteb.get_task("PatenTEBBloom.sample"), "").partition("-")[0]
        'sample'
    """
    if isinstance(task, PatentTask):
        with contextlib.suppress(PatentMTEBError):  # loading the data says it
            task.settle()
        if not hub.is_commit(task.metadata.revision) and task.data.holds(filed):
            return filed
    return task.metadata.revision
