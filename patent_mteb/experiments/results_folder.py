"""Results folders in mteb's structure, with atomic writes and verification before reads.

The path of a result is ``<folder>/results/<organisation>__<model>/<revision>/[experiments/<settings>/]<Task>.json``.
The model's description, the settings of the runs and the per-query scores are next to it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from mteb.abstasks import AbsTask, AbsTaskClustering, AbsTaskMultilabelClassification
from mteb.cache import ResultCache
from mteb.models.model_meta import ModelMeta
from mteb.results import TaskResult

from patent_mteb.data import hub
from patent_mteb.data.loading import plain_name
from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.files import leftover_files, read_json, replacing, write_parquet, write_text
from patent_mteb.identity import META
from patent_mteb.tasks import perquery
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.catalogue import TasksOnOwnData, suite_tasks
from patent_mteb.tasks.verification import Place, check_entry, check_model, check_queries, evidence_of

logger = logging.getLogger(__name__)
Live = Callable[[], Mapping[str, Any]]
QUARANTINED = ".quarantined"  # suffix of files that are unreadable or fail verification; no command reads them
_SETTINGS = "run_settings.jsonl"
_FIELD = "patent_mteb"


def flaw(path: Path, *, result: bool = False) -> str:
    """Return why a file of a results folder cannot be read; empty if it can."""
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
    """Return why a result fails verification by itself and its per-query scores; empty if it passes."""
    document = read_json(path)
    if not isinstance(document, dict) or not {"task_name", "scores"} <= document.keys():
        return ""
    if document["task_name"] != path.stem:
        return f"it holds a result of {document['task_name']}"
    records = (entry.get("data_set") for split in document["scores"].values() for entry in split)
    record = next(filter(None, records), None)
    task = TasksOnOwnData().task(record) or suite_tasks().get(plain_name(path.stem))
    if task is None:
        return ""
    composed = path.parent.parent.name == "experiments"
    folder = path.parents[2] if composed else path.parent
    described = read_json(path.with_name(META)) or {}
    model, revision = described.get("name") or folder.parent.name, described.get("revision") or folder.name
    where = task.main_score, task.scoring, str(model), str(revision), path.parent.name if composed else ""
    return _first_problem(document["scores"].get(task.split, ()), document, path, where)


def _first_problem(
    entries: Iterable[Mapping[str, Any]],
    document: Mapping[str, Any],
    path: Path,
    where: tuple[str, str, str, str, str],
    queries: Path | None = None,
    live: Live | None = None,
) -> str:
    """Return why entries of a result fail verification; empty if they pass. ``where`` is from :class:`Place`."""
    for entry in entries:
        subset = str(entry.get("hf_subset", "default"))
        data = str(document.get("dataset_revision")) if subset == "default" else subset
        place = Place(path, path.stem, *where, data, subset)
        try:
            check_entry(entry, place)
            check_queries(entry, place, queries)
        except DataError as error:
            return error.problem
        if live is not None and (problem := check_model(evidence_of(entry), live())):
            return problem
    return ""


def quarantine(path: Path) -> Path:
    """Rename a file so that no command reads it; a previous file of the new name is replaced."""
    return path.replace(path.with_name(f"{path.name}{QUARANTINED}"))


class ResultsFolder(ResultCache):
    """mteb's results folder with atomic writes: mteb writes in place and the result first."""

    def __init__(self, folder: Path, encode_kwargs: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder)
        self.encode_kwargs = dict(encode_kwargs or {})
        self.results = Path(self.cache_path) / "results"
        self.query_scores = Path(os.environ.get(perquery.VARIABLE) or self.results)

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
        with tempfile.TemporaryDirectory() as folder:
            temporary = ResultCache(folder)
            made = temporary.get_task_result_path(task_result.task_name, model_name, model_revision)
            made.parent.mkdir(parents=True)
            if (known := place.with_name(_SETTINGS)).exists():
                shutil.copy(known, made.with_name(_SETTINGS))
            temporary.save_to_cache(task_result, model_name, model_revision, encode_kwargs=settings)
            for path in sorted(made.parent.iterdir(), key=lambda path: path == made):
                with replacing(place.with_name(path.name)) as partial:
                    shutil.copyfile(path, partial)

    def result_path(self, meta: ModelMeta, task: AbsTask) -> Path:
        return perquery.path_of(self.results, meta, task.metadata.name, ".json")

    def _queries_path(self, meta: ModelMeta, task: AbsTask) -> Path:
        return perquery.path_of(self.query_scores, meta, task.metadata.name, ".queries.parquet")

    def has(self, meta: ModelMeta, task: AbsTask, live: Live | None = None) -> bool:
        """Return whether a run reuses the stored result: verified, of the present data, and complete."""
        path = self.result_path(meta, task)
        if not path.exists() or flaw(path, result=True) or self.contradiction(meta, task, live):
            return False
        found = TaskResult.from_disk(path)
        same = found.dataset_revision == current_revision(task, str(found.dataset_revision))
        return same and not found.get_missing_evaluations(task) and not self.lacks_scores(meta, task)

    def lacks_scores(self, meta: ModelMeta, task: AbsTask) -> bool:
        """Return whether the stored result lacks scores that only a new evaluation of the whole task gives.

        These are scores that an environment variable requests, and subsets of a task of mteb that draws at random: it
        draws those of one subset after those of the other.
        """
        if isinstance(task, PatentTask):
            return any(map(task.lacks_scores, self._entries(meta, task)))
        path = self.result_path(meta, task)
        draws = isinstance(task, AbsTaskClustering | AbsTaskMultilabelClassification)
        return draws and path.exists() and bool(TaskResult.from_disk(path).get_missing_evaluations(task))

    def _entries(self, meta: ModelMeta, task: PatentTask) -> list[Any]:
        stored = read_json(self.result_path(meta, task)) or {}
        entries = stored.get("scores", {}).get(task.split, ())
        return [entry for entry in entries if entry.get("hf_subset") == task.source.subset]

    def contradiction(self, meta: ModelMeta, task: AbsTask, live: Live | None = None) -> str:
        """Return why the stored result fails verification; empty if it passes, or there is none."""
        if not isinstance(task, PatentTask):
            return ""
        path = self.result_path(meta, task)
        stored = read_json(path)
        if stored is None:
            return ""
        if stored.get("task_name") != task.metadata.name:
            return f"it holds a result of {stored.get('task_name')}"
        identity = str(meta.name), meta.revision or "", meta.experiment_name or ""
        where = task.metadata.main_score, task.scoring, *identity
        return _first_problem(self._entries(meta, task), stored, path, where, self._queries_path(meta, task), live)

    def prepare(self, meta: ModelMeta, task: AbsTask, live: Live | None = None) -> None:
        """Make sure that mteb reads a verified result of a model on a task, or none.

        Files of killed processes are removed, corrupt ones are quarantined, and a result on other data is moved.
        """
        path = self.result_path(meta, task)
        for left in filter(Path.is_file, leftover_files(path.parent)):
            left.unlink(missing_ok=True)
        for file in (path, path.with_name(META)):
            if file.exists() and (reason := flaw(file, result=file == path)):
                renamed = quarantine(file).name
                logger.warning("%s is corrupt (%s); it is renamed to %s and written again", file, reason, renamed)
        if path.exists() and not (described := path.with_name(META)).exists():
            write_text(described, json.dumps(meta.to_dict(), default=str, indent=4))
        self.move_other_revision(meta, task)
        if path.exists() and (problem := self.contradiction(meta, task, live)):
            renamed = quarantine(path).name
            logger.warning("%s: %s; it is renamed to %s, and the task is run again", path, problem, renamed)
            if (queries := self._queries_path(meta, task)).exists():
                quarantine(queries)

    def move_other_revision(self, meta: ModelMeta, task: AbsTask) -> None:
        """Move a result on another commit of published data to the folder of an experiment ``data_revision``.

        mteb has one file per model and task. Tasks on local data and on the sample have other names.
        """
        name, path = task.metadata.name, self.result_path(meta, task)
        if not path.exists():
            return
        revision = json.loads(path.read_text("utf-8")).get("dataset_revision")
        if revision == current_revision(task, str(revision)):
            return
        settings = {**(meta.experiment_kwargs or {}), "data_revision": str(revision)}
        new_meta = meta.model_copy(update={"experiment_kwargs": settings})
        new_path = perquery.path_of(self.results, new_meta, name, ".json")
        new_path.parent.mkdir(parents=True, exist_ok=True)
        write_text(new_path.with_name(META), json.dumps(new_meta.to_dict(), default=str, indent=4))
        queries = self._queries_path(meta, task)
        if queries.exists() and flaw(queries):
            quarantine(queries)
        elif queries.exists():
            table = pq.read_table(queries)
            metadata = dict(table.schema.metadata or {})
            identity = json.loads(metadata.get(_FIELD.encode(), b"{}")) | {"experiment": new_meta.experiment_name}
            moved = table.replace_schema_metadata(metadata | {_FIELD.encode(): json.dumps(identity)})
            write_parquet(self._queries_path(new_meta, task), moved)
        path.replace(new_path)
        queries.unlink(missing_ok=True)
        logger.warning("%s was measured on data revision %s; that result is moved to %s", name, revision, new_path)


def current_revision(task: AbsTask, stored: str) -> str:
    """Return the revision of a task's data; a possible stored one if it is unknown."""
    if isinstance(task, PatentTask):
        with contextlib.suppress(PatentMTEBError):  # load_data raises it
            task.pin_commit()
        if not hub.is_commit(task.metadata.revision) and task.data.holds(stored):
            return stored
    return task.metadata.revision
