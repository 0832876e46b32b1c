"""A results folder in mteb's structure: written whole or not at all, and read only after a check.

Results lie in ``<folder>/results/<organisation>__<model>/<revision>/[experiments/<settings>/]<Task>.json``, next to the
model's description, the settings of the runs and the per-query scores.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from mteb.abstasks import AbsTask
from mteb.cache import ResultCache
from mteb.models.model_meta import ModelMeta
from mteb.results import TaskResult

from patent_mteb.data import hub
from patent_mteb.data.loading import plain_name
from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.files import leftover_files, read_json, replacing, write_parquet, write_text
from patent_mteb.tasks import perquery
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.suite import TasksOnOwnData, suite_tasks
from patent_mteb.tasks.verification import Place, check_entry, check_model, check_queries, evidence_of

logger = logging.getLogger(__name__)


Live = Callable[[], Mapping[str, Any]]

QUARANTINED = ".quarantined"
"""Suffix of a file that cannot be read or whose numbers cannot be trusted: nothing reads it any more."""
_META = "model_meta.json"
_SETTINGS = "run_settings.jsonl"
_FIELD = "patent_mteb"


def flaw(path: Path, *, result: bool = False) -> str:
    """Why a file of a results folder cannot be read, empty if it can."""
    try:
        if path.suffix == ".parquet":
            pq.read_table(path)
        elif path.suffix == ".json":
            document = json.loads(path.read_text("utf-8"))
            if not isinstance(document, dict):
                return f"a JSON {type(document).__name__} where an object is expected"
            if result or document.keys() & {"task_name", "scores"}:
                TaskResult.from_disk(path)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError, pa.ArrowException) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def contradiction_in(path: Path) -> str:
    """Why the numbers in a readable file of results cannot be trusted, by themselves and the per-query scores next to
    it; "" for none.
    """
    document = read_json(path)
    if not isinstance(document, dict) or not {"task_name", "scores"} <= document.keys():
        return ""
    if document["task_name"] != path.stem:
        return f"it holds a result of {document['task_name']}"
    entries = [entry for split in document["scores"].values() for entry in split]
    record = next((entry["data_set"] for entry in entries if entry.get("data_set")), None)
    task = TasksOnOwnData().task(record) or suite_tasks().get(plain_name(path.stem))
    if task is None:
        return ""
    composed = path.parent.parent.name == "experiments"
    folder = path.parents[2] if composed else path.parent
    described = read_json(path.with_name(_META)) or {}
    model, revision = described.get("name") or folder.parent.name, described.get("revision") or folder.name
    where = (str(model), str(revision), path.parent.name if composed else "")
    for entry in document["scores"].get(task.split, ()):
        subset = str(entry.get("hf_subset", "default"))
        data = str(document.get("dataset_revision")) if subset == "default" else subset
        place = Place(path, path.stem, task.main_score, task.scoring, *where, data, subset)
        try:
            check_entry(entry, place)
            check_queries(entry, place)
        except DataError as error:
            return error.problem
    return ""


def quarantine(path: Path) -> Path:
    """Rename a file so that nothing reads it any more; an earlier one of this name is replaced."""
    place = path.with_name(f"{path.name}{QUARANTINED}")
    path.replace(place)
    return place


class ResultsFolder(ResultCache):
    """mteb's folder of results, in which a result is there with all that belongs to it, or not at all.

    mteb writes the result in place, then the model's description, then the settings of the run, and all of it again
    after the last split: a process that ends in between leaves incomplete files, or a result that is taken for done and
    whose settings are missing for ever. Here each file is written next to its place and renamed, and the result, which
    stands for all of them, comes last. Description and settings are written once (mteb reads the versions of five
    packages for them each time).
    """

    def __init__(self, folder: Path, encode_kwargs: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder)
        self.encode_kwargs = dict(encode_kwargs or {})
        self.results = Path(self.cache_path) / "results"
        self.query_scores = Path(os.environ.get(perquery.VARIABLE) or self.results)
        self._beside: tuple[Any, ...] = ()

    def save_to_cache(
        self,
        task_result: TaskResult,
        model_name: str | ModelMeta,
        model_revision: str | None = None,
        *,
        encode_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        place = self.get_task_result_path(task_result.task_name, model_name, model_revision)
        settings = self.encode_kwargs if encode_kwargs is None else dict(encode_kwargs)
        parts = {
            split: sorted(entry["hf_subset"] for entry in entries) for split, entries in task_result.scores.items()
        }
        beside = (place, model_name, settings, parts)
        with tempfile.TemporaryDirectory() as elsewhere:
            aside = ResultCache(elsewhere)
            made = aside.get_task_result_path(task_result.task_name, model_name, model_revision)
            made.parent.mkdir(parents=True)
            if beside == self._beside:
                task_result.to_disk(made)
            else:
                if (known := place.with_name(_SETTINGS)).exists():
                    shutil.copy(known, made.with_name(_SETTINGS))
                aside.save_to_cache(task_result, model_name, model_revision, encode_kwargs=settings)
            for path in sorted(made.parent.iterdir(), key=lambda path: path == made):
                with replacing(place.with_name(path.name)) as partial:
                    shutil.copyfile(path, partial)
        self._beside = beside

    def result_path(self, meta: ModelMeta, task: AbsTask) -> Path:
        """Where the result of a model on a task is, or would be."""
        return perquery.path_of(self.results, meta, task.metadata.name, ".json")

    def has(self, meta: ModelMeta, task: AbsTask, live: Live | None = None) -> bool:
        """Whether a run would take the result that is there: readable, trusted, of the present data, with every score
        asked for.
        """
        path = self.result_path(meta, task)
        if not path.exists() or flaw(path, result=True) or self.contradiction(meta, task, live):
            return False
        found = TaskResult.from_disk(path)
        same = found.dataset_revision == current_revision(task, str(found.dataset_revision))
        return same and not found.get_missing_evaluations(task) and not self.lacks_scores(meta, task)

    def lacks(self, meta: ModelMeta, task: AbsTask) -> bool:
        """Whether the result that is there lacks scores that are asked for now."""
        return isinstance(task, PatentTask) and any(map(task.lacks, self._entries(meta, task)))

    def _entries(self, meta: ModelMeta, task: PatentTask) -> list[Any]:
        stored = read_json(self.result_path(meta, task)) or {}
        return [
            entry
            for entry in stored.get("scores", {}).get(task.split, ())
            if entry.get("hf_subset") == task.source.subset
        ]

    def contradiction(self, meta: ModelMeta, task: AbsTask, live: Live | None = None) -> str:
        """Why the numbers of the result that is there are not handed out, empty where nothing speaks against it."""
        if not isinstance(task, PatentTask):
            return ""
        path = self.result_path(meta, task)
        stored = read_json(path)
        if stored is None:
            return ""
        if stored.get("task_name") != task.metadata.name:
            return f"it holds a result of {stored.get('task_name')}"
        subset = task.source.subset
        revision = str(stored.get("dataset_revision")) if subset == "default" else subset
        where = (str(meta.name), meta.revision or "", meta.experiment_name or "", revision, subset)
        place = Place(path, task.metadata.name, task.metadata.main_score, task.scoring, *where)
        queries = perquery.path_of(self.query_scores, meta, task.metadata.name, ".queries.parquet")
        try:
            for entry in self._entries(meta, task):
                check_entry(entry, place)
                check_queries(entry, place, queries)
                if live is not None and (problem := check_model(evidence_of(entry), live())):
                    return problem
        except DataError as error:
            return error.problem
        return ""

    def prepare(self, meta: ModelMeta, task: AbsTask, live: Live | None = None) -> None:
        """Leave no result of a model on a task in mteb's way but one that can be handed out.

        What a stopped process left is removed, what cannot be read or trusted is quarantined, a result on other data is
        moved.
        """
        path = self.result_path(meta, task)
        for left in filter(Path.is_file, leftover_files(path.parent)):
            left.unlink(missing_ok=True)
        for file in (path, path.with_name(_META)):
            if file.exists() and (reason := flaw(file, result=file == path)):
                logger.warning(
                    "%s is corrupt (%s); it is kept as %s and written again", file, reason, quarantine(file).name
                )
        if path.exists() and not (described := path.with_name(_META)).exists():
            write_text(described, json.dumps(meta.to_dict(), default=str, indent=4))
        self.move_other_revision(meta, task)
        if path.exists() and (problem := self.contradiction(meta, task, live)):
            logger.warning("%s: %s; it is kept as %s, and the task is run again", path, problem, quarantine(path).name)
            queries = perquery.path_of(self.query_scores, meta, task.metadata.name, ".queries.parquet")
            if queries.exists():
                quarantine(queries)

    def move_other_revision(self, meta: ModelMeta, task: AbsTask) -> Path | None:
        """Move a result that was measured on another revision of the data: mteb has one file a model and task.

        Local data and the sample have task names of their own (:mod:`patent_mteb.data.loading`). What is left is a
        released data set at another commit: its result, and the per-query scores next to it, move to the folder of an
        experiment ``data_revision``.
        """
        name, path = task.metadata.name, self.result_path(meta, task)
        if not path.exists():
            return None
        revision = json.loads(path.read_text("utf-8")).get("dataset_revision")
        if revision == current_revision(task, str(revision)):
            return None
        settings = {**(meta.experiment_kwargs or {}), "data_revision": str(revision)}
        kept_meta = meta.model_copy(update={"experiment_kwargs": settings})
        kept = perquery.path_of(self.results, kept_meta, name, ".json")
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept.with_name(_META), json.dumps(kept_meta.to_dict(), default=str, indent=4))
        queries = perquery.path_of(self.query_scores, meta, name, ".queries.parquet")
        if queries.exists() and flaw(queries):
            quarantine(queries)
        elif queries.exists():
            table = pq.read_table(queries)
            metadata = dict(table.schema.metadata or {})
            identity = json.loads(metadata.get(_FIELD.encode(), b"{}")) | {"experiment": kept_meta.experiment_name}
            place = perquery.path_of(self.query_scores, kept_meta, name, ".queries.parquet")
            write_parquet(place, table.replace_schema_metadata(metadata | {_FIELD.encode(): json.dumps(identity)}))
        path.replace(kept)
        queries.unlink(missing_ok=True)
        logger.warning("%s was measured on data revision %s; that result is kept as %s", name, revision, kept)
        return kept


def current_revision(task: AbsTask, stored: str) -> str:
    """The revision of a task's data; where it cannot be known today, the stored one, if it may be."""
    if isinstance(task, PatentTask):
        with contextlib.suppress(PatentMTEBError):  # loading the data says it
            task.pin_commit()
        if not hub.is_commit(task.metadata.revision) and task.data.holds(stored):
            return stored
    return task.metadata.revision
