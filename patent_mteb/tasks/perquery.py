"""Per-query scores: one parquet file ``<Task>.queries.parquet`` next to each retrieval result, in mteb's folders.

The columns are ``query``, the :data:`MEASURES`, and for each slice a boolean ``slice:<name>`` and ``score:<name>``, the
main score against the judgements of the slice (null outside). ``group`` numbers the families of the queries, if one has
several. Where it is known what each query took, columns ``effort:<amount>`` have it (:mod:`patent_mteb.search.trec`).
The metadata of the file name task, model, revisions and subset, and contain digests of the ranking and of the rows. A
report rejects a file that does not belong to its result, or in which values belong to other queries.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import DataError
from patent_mteb.files import cache_root, private_folder, write_parquet
from patent_mteb.identity import NO_REVISION
from patent_mteb.metrics.measures import Judged, QueryScores
from patent_mteb.metrics.slices import Qrels
from patent_mteb.search import trec
from patent_mteb.search.run import Run
from patent_mteb.tasks.evidence import ranking_digest, with_identity

logger = logging.getLogger(__name__)
VARIABLE = "PATENT_MTEB_QUERY_SCORES"
RUNS_VARIABLE = "PATENT_MTEB_RUNS"
EFFORT = "effort:"
MEASURES = ("ndcg@10", "ndcg@100", "map@1000", "mrr@1000", *(f"recall@{k}" for k in (10, 20, 50, 100)), "pres@100")


def query_groups(families: Mapping[str, str], queries: Sequence[str]) -> list[int]:
    """Return the number of each query's family, an own one for a query without; empty if no family has two."""
    named = [families.get(query) or query for query in queries]
    numbers = {family: number for number, family in enumerate(dict.fromkeys(named))}
    return [numbers[family] for family in named] if len(numbers) < len(queries) else []


@dataclass(frozen=True)
class Evaluation:
    task: TaskMetadata
    subset: str
    model: ModelMeta
    run: Run
    qrels: Qrels  # of all queries
    judged: Judged
    slices: Mapping[str, Qrels]
    by_slice: Mapping[str, QueryScores]
    scores: Mapping[str, float]  # of the result that are not mteb's
    prompts: Mapping[str, Any] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)  # of the queries

    @cached_property
    def per_query(self) -> QueryScores:
        main = self.task.main_score.replace("_at_", "@")
        return self.judged.scores(tuple(dict.fromkeys((*MEASURES, main))))

    @cached_property
    def ranking(self) -> str:
        return ranking_digest(self.run)

    def table(self) -> pa.Table:
        values = self.per_query
        columns: dict[str, Any] = {"query": list(values.queries), **values.scores}
        main = self.task.main_score.replace("_at_", "@")
        for name, found in self.by_slice.items():
            members = set(found.queries)
            columns[f"slice:{name}"] = [query in members for query in values.queries]
        for name, found in self.by_slice.items():
            if main in found.scores:
                of_query = dict(zip(found.queries, found.scores[main].tolist(), strict=True))
                columns[f"score:{name}"] = pa.array([of_query.get(query) for query in values.queries], pa.float64())
        if groups := query_groups(self.families, values.queries):
            columns["group"] = pa.array(groups, pa.int32())
        for name in trec.total_effort(self.run.efforts):
            columns[f"{EFFORT}{name}"] = [self.run.efforts.get(query, {}).get(name, 0) for query in values.queries]
        identity = {
            "task": self.task.name,
            "main_score": self.task.main_score,
            "model": self.model.name,
            "model_revision": self.model.revision,
            "experiment": self.model.experiment_name,
            "dataset_revision": self.task.revision,
            "subset": self.subset,
            "ranking": self.ranking,
            "prompts": self.prompts,
        }
        return with_identity(pa.table(columns), identity)


def folder() -> Path:
    return Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else cache_root() / "query_scores"


def _save_in_folder(evaluation: Evaluation) -> None:
    """Save an evaluation of plain mteb; in the cache, only the owner can read its query ids."""
    save(evaluation, folder() if os.environ.get(VARIABLE) else private_folder(folder()))


def path_of(root: Path, model_meta: ModelMeta, task_name: str, suffix: str) -> Path:
    """Return the path of a file next to the result of a model on a task, in mteb's folder structure."""
    place: Path = root / model_meta.model_name_as_path() / (model_meta.revision or NO_REVISION)
    if model_meta.experiment_name:
        place = place / "experiments" / model_meta.experiment_name
    return place / f"{task_name}{suffix}"


def save(evaluation: Evaluation, root: Path) -> None:
    """Write the per-query scores, and to ``$PATENT_MTEB_RUNS`` run, qrels and efforts."""
    meta, name = evaluation.model, evaluation.task.name
    write_parquet(path_of(root, meta, name, ".queries.parquet"), evaluation.table())
    if runs := os.environ.get(RUNS_VARIABLE):
        place = path_of(Path(runs), meta, name, ".run")
        evaluation.run.save(place, tag="_".join((meta.name or "model").split()))
        if evaluation.run.efforts:
            trec.write_efforts(trec.side_file(place), evaluation.run.efforts)
        trec.write_qrels(path_of(Path(runs), meta, name, ".qrels"), evaluation.qrels)


def check_ids(queries: Any, corpus: Any, qrels: Qrels) -> None:
    """Refuse ids that the files of ``$PATENT_MTEB_RUNS`` cannot hold, before anything is computed."""
    if os.environ.get(RUNS_VARIABLE):
        remedy = "use ids without white space of ASCII, or run without --save-runs"
        trec.check_ids(chain(queries["id"], corpus["id"], chain.from_iterable(qrels.values())), remedy)


_RECEIVER: ContextVar[Callable[[Evaluation], object] | None] = ContextVar("patent_mteb_evaluations", default=None)


@contextmanager
def receiving(receiver: Callable[[Evaluation], object]) -> Iterator[None]:
    """Pass the evaluations of a ``with`` block to ``receiver`` instead of saving them in :func:`folder`."""
    token = _RECEIVER.set(receiver)
    try:
        yield
    finally:
        _RECEIVER.reset(token)


def publish(evaluation: Evaluation) -> None:
    """Pass an evaluation to the receiver, or save it in :func:`folder`; if that fails, the score stays valid."""
    receiver = _RECEIVER.get() or _save_in_folder
    try:
        receiver(evaluation)
    except (OSError, DataError) as error:
        problem = "the per-query scores or the run could not be written; the score is valid"
        logger.warning("%s: %s (%s)", evaluation.task.name, problem, error)
