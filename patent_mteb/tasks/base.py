"""What all tasks of the suite share: metadata from facts, resolution of the data, sample twins.

How large a task is: counted where its data can be counted, from its paper where only that says it.

``descriptive_stats.json`` beside this module holds mteb's descriptive statistics of every task on the built-in sample,
the data that is here; ``python -m patent_mteb.report.upstream`` computes them anew.

mteb's metadata of a task, from the facts of its benchmark.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from mteb.abstasks import AbsTask
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.types import PromptType

from patent_mteb._mteb import TaskHooks
from patent_mteb.data import data_source, loading
from patent_mteb.data.hub import rows_of
from patent_mteb.data.roots import DATA_VARIABLE, Own
from patent_mteb.errors import DataError, ModelError, PatentMTEBError
from patent_mteb.files import cache_root, read_json
from patent_mteb.models.prompt_record import prompts_put
from patent_mteb.published import stated
from patent_mteb.store.settings import check_identity
from patent_mteb.tasks.benchmark import Facts
from patent_mteb.tasks.cost import measured
from patent_mteb.tasks.evidence import KEY, data_digest, sealed, texts_record
from patent_mteb.tasks.own_names import owned

if TYPE_CHECKING:
    from mteb.models import MTEBModels

__all__ = ["PatentTask", "PatentTaskMetadata", "class_name", "make_task", "sample_twin", "task_metadata"]

logger = logging.getLogger(__name__)


SHIPPED = Path(__file__).with_name("descriptive_stats.json")


@dataclass(frozen=True)
class Sizes:
    """Queries of a retrieval task, and its texts in all: documents, or the texts of every part of a task of another
    type. None where nobody says it.
    """

    queries: int | None = None
    texts: int | None = None


@cache
def shipped() -> Mapping[str, Any]:
    """Descriptive statistics by the name of the task."""
    found = read_json(SHIPPED)
    return found if isinstance(found, dict) else {}


def sizes(task: type[PatentTask], *, sample: bool = False) -> Sizes:
    """The size of a task: of its sample, or as far as it is known of the published data."""
    if sample or task.force_sample:
        name = task.metadata.name if task.force_sample else f"{task.metadata.name}.sample"
        return _counted(shipped().get(name, {}))
    if task.own is not None:
        return Sizes()
    files = ("queries.parquet", "corpus.parquet")
    queries, documents = (rows_of(task.data.key, file) for file in files)
    rows = [rows for part in ("test", "train") if (rows := rows_of(task.data.key, f"{part}/data.parquet"))]
    paper = stated(task.metadata.name)
    return Sizes(queries or paper.queries, documents or sum(rows) or paper.texts)


def _counted(stats: Mapping[str, Any]) -> Sizes:
    parts: Mapping[str, Any] = next(iter(stats.values()), {})
    documents = parts.get("num_documents")
    return Sizes(parts.get("num_queries"), parts.get("num_samples") if documents is None else documents)


_INSTRUCTIONS = {
    "Classification": "Given a patent, find its class",
    "MultilabelClassification": "Given a patent, find all categories that it belongs to",
    "Clustering": "Identify the technology that the given patent belongs to",
}
"""What an instruction model is told by a task that says nothing of its own, where mteb would tell it nothing."""


SAMPLED = {"sample_creation": "created", "annotations_creators": "derived", "license": "apache-2.0"}
"""What is true of the built-in sample, whose patents are invented with their labels."""


class PatentTaskMetadata(TaskMetadata):
    """mteb's metadata, with descriptive statistics kept in the user cache (mteb would write them into its own
    installation).

    Attributes:
        text_parts: the sections of the texts of a role (``query``, ``document`` or ``text``), in order, where they can
            be told apart: a text of one section, or of several with ``[SEP]`` between them. Section tags and input
            variants read them.
    """

    text_parts: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (pydantic gives each its own)

    @property
    def descriptive_stat_path(self) -> Path:
        return cache_root() / "descriptive_stats" / f"{self.name}.json"

    @property
    def descriptive_stats(self) -> Any:
        """Those that were computed here, else those that the package brings along (:mod:`patent_mteb.tasks.base`)."""
        return super().descriptive_stats or shipped().get(self.name)


def task_metadata(
    facts: Facts, data: loading.DataSet, name: str, kind: str, description: str, main_score: str, **more: Any
) -> PatentTaskMetadata:
    """Complete mteb metadata of one task."""
    fields: dict[str, Any] = {
        "name": name,
        "description": description,
        "reference": facts.reference,
        "dataset": {"path": data.key, "revision": data.revision or "unreleased"},
        "type": kind,
        "prompt": _INSTRUCTIONS.get(kind),
        "category": "t2t" if kind in ("Retrieval", "STS") else "t2c",
        "modalities": ["text"],
        "eval_splits": [facts.split],
        "eval_langs": ["eng-Latn"],
        "main_score": main_score,
        "date": facts.date,
        "domains": ["Engineering", "Legal", "Written"],
        "task_subtypes": ["Patent retrieval"] if kind == "Retrieval" else [],
        "license": facts.license,
        "annotations_creators": facts.annotations,
        "dialect": [],
        "sample_creation": facts.sample_creation,
        "bibtex_citation": facts.bibtex,
    }
    return PatentTaskMetadata(**(fields | more))


@lru_cache(maxsize=64)
def _log_once(task_key: str, place: str) -> None:
    logger.info("%s: data from %s", task_key, place)


class PatentTask(TaskHooks, AbsTask):
    """Resolves the task's data when it is created, without asking the hub; the data itself is read when it is first
    needed.

    A task that was resolved to the sample is named ``<Task>.sample``, one on local data ``<Task>.local-<content>``; its
    data set revision and subset say which data it was (see :mod:`patent_mteb.data.loading`). On a data set with a
    ``dataset.json`` the task is of the class that :func:`patent_mteb.tasks.own_names.owned` makes, whichever was asked
    for: ``own`` says whose the data are, ``root`` where they lie, ``published_as`` whose rules the task follows.

    Args:
        source: the data; without it they are looked for.
        published: the published data or none: neither the sample, nor own data, nor a changed copy.
    """

    data: ClassVar[loading.DataSet]
    facts: ClassVar[Facts]
    force_sample: ClassVar[bool] = False
    own: ClassVar[Own | None] = None
    root: ClassVar[Path | None] = None
    published_as: ClassVar[type[PatentTask] | None] = None
    scoring: ClassVar[str] = ""
    """Name of the way in which scores are computed from the model's output; changed when, and only when, a number would
    differ."""
    limit: int = 0
    _data_digest: str | None = None
    _texts_seen: dict[str, Any] | None = None

    def __new__(
        cls, seed: int = 42, source: loading.Source | None = None, *, published: bool = False, **kwargs: Any
    ) -> Self:
        found = source
        if found is None and cls.own is None and not cls.force_sample and not published:
            with contextlib.suppress(PatentMTEBError, OSError, ValueError):  # __init__ meets it again and keeps it
                found = loading.resolve(cls.data)
        if cls.own is not None or found is None or found.own is None or found.folder is None:
            return super().__new__(cls)
        levels = len(Path(found.data.key).parts)
        return super().__new__(owned(cls, found.own, found.folder.parents[levels - 1]))

    def __init__(
        self, seed: int = 42, source: loading.Source | None = None, *, published: bool = False, **kwargs: Any
    ) -> None:
        self._unresolved: PatentMTEBError | None = None
        self._stand_on(source or self._resolved(published))
        super().__init__(seed, **kwargs)

    def _stand_on(self, source: loading.Source) -> None:
        """Take the data of a source; name, revision and subset say which."""
        known = type(self).metadata
        base = loading.plain_name(known.name)
        languages: Any = known.eval_langs if source.subset == "default" else {source.subset: known.eval_langs}
        self.source = source
        self.metadata = known.model_copy(
            update={
                "name": base + source.task_suffix + (f".limit{self.limit}" if self.limit else ""),
                "dataset": {**known.dataset, "revision": source.revision},
                "eval_langs": languages,
                **(SAMPLED if source.kind == "sample" else {}),
            }
        )

    def _resolved(self, published: bool) -> loading.Source:
        """Where the data are. What keeps them from being found is kept for :meth:`load_data`: other tasks, which mteb
        creates beside this one, have nothing to do with it.
        """
        kind = type(self)
        try:
            if published:
                return data_source.published(kind.data)
            source = loading.resolve(kind.data, True if kind.force_sample else None, kind.root)
            if kind.own is None or (source.own and source.own.name == kind.own.name):
                return source
            now = source.own.name if source.own else "another"
            raise DataError(
                f"the data set {kind.own.name} is {now} now",
                path=kind.root,
                remedy="start anew: its tasks have other names",
            )
        except PatentMTEBError as error:
            self._unresolved = error
        except (OSError, ValueError) as error:
            place = os.environ.get(DATA_VARIABLE)
            self._unresolved = DataError(
                f"the data of {kind.data.key} cannot be looked for ({error})", path=place, remedy="mend the folder"
            )
        return loading.Source(kind.data, "local", "unresolved")

    def settle(self) -> None:
        """Let the task stand on the commit that its data set has today, if the hub must be asked for it.

        Raises:
            DataError: the data cannot be found, or their commit cannot be had.
        """
        if self._unresolved is not None:
            raise self._unresolved
        if self.data_loaded or (source := loading.with_commit(self.source)) == self.source:
            return
        self._stand_on(source)
        self.hf_subsets = [source.subset]

    def before_lookup(self) -> None:
        """A set that is pinned to a branch may have moved: a score of another commit is not a score of this one."""
        with contextlib.suppress(PatentMTEBError):  # load_data raises it
            self.settle()

    @property
    def split(self) -> str:
        """The one split this task is scored on."""
        return type(self).facts.split

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        """Read, check and prepare the data.

        Raises:
            DataError: the data cannot be had or cannot be used.
        """
        if self.data_loaded:
            return
        self.settle()
        _log_once(self.source.data.key, self.source.place)
        self.source.verify()
        read = self.load_split()
        self.source.verify(reading=True)
        self.dataset = {self.source.subset: {self.split: read}}
        self.data_loaded = True

    def unload_data(self) -> None:
        """Let the data go. What the task was resolved to stays: mteb would fall back to the class's metadata here, and
        file the next score on the sample under the name of the real task.
        """
        resolved = self.metadata
        super().unload_data()
        self._data_digest = self._texts_seen = None
        self.metadata = resolved

    def load_split(self) -> Any:
        """The data of the task's split, in the form that :meth:`evaluate_split` takes."""
        raise NotImplementedError

    def texts_for(self, model: MTEBModels, data_split: Any) -> Any:
        """The data of the split with the texts that this model reads; the same for all models unless a task says
        otherwise.
        """
        return data_split

    def admit(self, model: MTEBModels, **arguments: Any) -> None:
        check_identity(model, arguments.get("encode_kwargs"))

    def encode_ahead(self, model: Any, *, encode_kwargs: Mapping[str, Any] | None = None) -> None:
        """Have an encoder encode all that a score of it would need, in the same calls, and score nothing.

        Args:
            model: an encoder that keeps what it encodes (:class:`patent_mteb.store.precompute.Ahead`).

        Raises:
            DataError: the data cannot be had or cannot be used.
        """
        self.load_data()
        where = {"hf_split": self.split, "hf_subset": self.source.subset, "encode_kwargs": dict(encode_kwargs or {})}
        self.encode_split(model, (self.dataset or {})[self.source.subset][self.split], **where)

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        """Have an encoder encode all texts of the split, as :meth:`evaluate_split` would."""
        raise NotImplementedError

    def watched(self, model: MTEBModels, work: Callable[[], Any]) -> Any:
        return measured(model, work)

    def roles(self, data_split: Any) -> tuple[PromptType | None, ...]:
        """The roles that the texts of the split are encoded in."""
        return (None,)

    def prompts(self, model: MTEBModels, data_split: Any, **arguments: Any) -> dict[str, Any]:
        """What the model puts before the texts of each role (:func:`~patent_mteb.models.prompt_record.prompts_put`)."""
        return prompts_put(model, self.metadata, self.roles(data_split), arguments["hf_split"], arguments["hf_subset"])

    def told(self, scores: Any, model: MTEBModels, data_split: Any, **arguments: Any) -> Any:
        given = arguments["encode_kwargs"]
        batch = {"batch_size": given.get("batch_size")} | (
            {"batch_tokens": given["batch_tokens"]} if "batch_tokens" in given else {}
        )
        return {
            **scores,
            **self.whose(),
            "prompts": self.prompts(model, data_split, **arguments),
            KEY: {**scores.get(KEY, {}), **batch},
        }

    def whose(self) -> dict[str, Any]:
        """What a result says of own data, for reports in places where the data are not; empty for any other."""
        own, published = self.own, self.published_as
        if own is None or published is None or self.limit:
            return {}
        known = {"name": own.name, "version": own.version, "owner": own.owner, "licence": own.licence}
        return {"data_set": {**known, "benchmark": published.facts.name, "task": published.metadata.name}}

    def read(self) -> Any:
        """What was read, for its digest; the same for all models."""
        return (self.dataset or {})[self.source.subset][self.split]

    def texts_by_role(self, data_split: Any) -> Mapping[str, Iterable[str]]:
        """The texts of a split that a model is given, by role."""
        return {}

    def texts_to_read(self, model: MTEBModels) -> list[Mapping[str, Iterable[str]]]:
        """All texts that a run gives to a model, by role; the data are loaded. More than one set where a protocol reads
        others.
        """
        return [self.texts_by_role(self.texts_for(model, PatentTask.read(self)))]

    def texts_seen(self, data_split: Any) -> dict[str, Any]:
        """Digests of the texts of a split; those of the split that was loaded are computed once."""
        if data_split is not PatentTask.read(self):
            return texts_record(self.texts_by_role(data_split))
        if self._texts_seen is None:
            self._texts_seen = texts_record(self.texts_by_role(data_split))
        return self._texts_seen

    def checked(self, scores: Any, model: MTEBModels) -> Any:
        """The scores with their evidence, if the main one is a number: a NaN is no score.

        Raises:
            ModelError: it is not.
        """
        name = self.metadata.main_score
        if name in scores and not np.isfinite(scores[name]):
            raise ModelError(
                f"{name} of task {self.metadata.name} is {scores[name]}, not a number. Remedy: look at the model's"
                " vectors (all equal?) and at the data (labels that do not vary?)"
            )
        if self._data_digest is None:
            self._data_digest = data_digest(self.read())
        data = {"task": self.metadata.name, "revision": self.metadata.revision, "digest": self._data_digest}
        return sealed(scores, model, data, self.scoring)

    def lacks(self, scores: Mapping[str, Any]) -> bool:
        """Whether scores that were filed before lack some that the environment asks for now."""
        return False

    def upload(self, *args: Any, **arguments: Any) -> None:
        raise DataError("the suite does not upload data sets", remedy="publish data under their own licence, by hand")


_Task = TypeVar("_Task", bound=PatentTask)


def class_name(task_name: str) -> str:
    """Python class name of a task name."""
    return task_name.replace(".", "_")


def make_task(base: type[_Task], module: str, metadata: TaskMetadata, **attributes: Any) -> type[_Task]:
    """Create the class of one task of a benchmark's table."""
    return type(
        class_name(metadata.name),
        (base,),
        {"__module__": module, "__doc__": metadata.description, "metadata": metadata, **attributes},
    )


def sample_twin(task: type[_Task]) -> type[_Task]:
    """The task's twin that always runs on the built-in sample, under the name ``<Task>.sample``."""
    metadata = task.metadata.model_copy(update={"name": f"{task.metadata.name}.sample", **SAMPLED})
    attributes = {"__module__": task.__module__, "__doc__": task.__doc__, "metadata": metadata, "force_sample": True}
    return type(class_name(metadata.name), (task,), attributes)
