"""The base class of all tasks: metadata, resolution of the data, evidence and sample tasks.

``python -m patent_mteb.report.upstream`` computes ``descriptive_stats.json``: mteb's statistics of every task on the
built-in sample.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from mteb.abstasks import AbsTask
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import MTEBModels
from mteb.models.abs_encoder import get_prompt
from mteb.models.sentence_transformer_wrapper import SparseEncoderWrapper
from mteb.types import PromptType

from patent_mteb._mteb import TaskHooks
from patent_mteb.data import data_source, loading
from patent_mteb.data.loading import DATA_VARIABLE, Own
from patent_mteb.data.releases import rows_of
from patent_mteb.errors import DataError, ModelError, PatentMTEBError
from patent_mteb.files import cache_root, read_json
from patent_mteb.model_identity.loaded import check_identity
from patent_mteb.model_identity.prompts import facts_of, resolve
from patent_mteb.models.behaviour import encoders
from patent_mteb.models.registry import PatentEncoder
from patent_mteb.published import stated
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.sparse import sparse_prompt
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.tasks.benchmark import Facts
from patent_mteb.tasks.evidence import KEY, data_digest, measured, set_record, with_evidence
from patent_mteb.tasks.own_data import own_data_task

logger = logging.getLogger(__name__)
_as_mteb = logging.getLogger("mteb.patent_mteb")  # shown by mteb run, and not by patent-mteb run, which prints a table
SHIPPED = Path(__file__).with_name("descriptive_stats.json")


@dataclass(frozen=True)
class Sizes:
    """The number of queries of a retrieval task, and of its documents or texts; None if unknown."""

    queries: int | None = None
    texts: int | None = None


@cache
def shipped() -> Mapping[str, Any]:
    return read_json(SHIPPED) or {}


def sizes(task: type[PatentTask], *, sample: bool = False) -> Sizes:
    """Return the size of a task on its sample, or on the published data as far as it is known."""
    if sample or task.force_sample:
        name = task.metadata.name if task.force_sample else f"{task.metadata.name}.sample"
        counts: Mapping[str, Any] = next(iter(shipped().get(name, {}).values()), {})
        documents = counts.get("num_documents")
        return Sizes(counts.get("num_queries"), counts.get("num_samples") if documents is None else documents)
    if task.own is not None:
        return Sizes()
    queries, documents = (rows_of(task.data.key, f"{name}.parquet") for name in ("queries", "corpus"))
    rows = sum(rows_of(task.data.key, f"{split}/data.parquet") or 0 for split in ("test", "train"))
    paper = stated(task.metadata.name)
    return Sizes(queries or paper.queries, documents or rows or paper.texts)


_INSTRUCTIONS = {
    "Classification": "Given a patent, find its class",
    "MultilabelClassification": "Given a patent, find all categories that it belongs to",
    "Clustering": "Identify the technology that the given patent belongs to",
}
"""Instructions by task type, for tasks without an instruction of their own; mteb has none for these types."""

SAMPLED = {"sample_creation": "created", "annotations_creators": "derived", "license": "apache-2.0"}
"""Metadata of a task on the built-in sample, whose patents and labels are invented."""


class PatentTaskMetadata(TaskMetadata):
    """mteb's metadata, with descriptive statistics in the user cache; mteb writes them into its own installation.

    ``text_parts`` are the sections of the texts by role (``query``, ``document`` or ``text``). Section tags and input
    variants read them. ``whole`` names the tasks that have all queries and documents of this one, the nearest first.
    """

    text_parts: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (pydantic gives each its own)
    whole: tuple[str, ...] = ()

    @property
    def descriptive_stat_path(self) -> Path:
        return cache_root() / "descriptive_stats" / f"{self.name}.json"

    @property
    def descriptive_stats(self) -> Any:
        """The statistics that were computed here, else those of the package."""
        return super().descriptive_stats or shipped().get(self.name)


def sections_of(known: Mapping[str, tuple[str, ...]], **views: str) -> dict[str, tuple[str, ...]]:
    """Return the sections of the views that have one, by role: the ``text_parts`` of the metadata."""
    return {role: known[view] for role, view in views.items() if view in known}


@lru_cache(maxsize=64)
def _log_once(task_key: str, place: str) -> None:
    logger.info("%s: data from %s", task_key, place)


class PatentTask(TaskHooks, AbsTask):
    """A task that finds its data when it is created and reads them when they are first needed.

    Creating a task makes no request to the hub. A task on the sample is named ``<Task>.sample``, one on a local copy
    ``<Task>.local-<content>``. With ``published``, neither the sample, nor own data, nor a changed copy is accepted.

    On a data set with a ``dataset.json``, the new object is of the class that
    :func:`patent_mteb.tasks.own_data.own_data_task` returns. ``own`` describes that data set, ``root`` is its
    directory, and ``published_as`` is the class that was requested.
    """

    data: ClassVar[loading.DataSet]
    facts: ClassVar[Facts]
    force_sample: ClassVar[bool] = False
    own: ClassVar[Own | None] = None
    root: ClassVar[Path | None] = None
    published_as: ClassVar[type[PatentTask] | None] = None
    scoring: ClassVar[str] = ""
    """Version of the scoring. It changes when, and only when, a score of the same model output changes."""
    limit: int = 0
    _data_digest: str | None = None
    _texts_record: dict[str, Any] | None = None

    def __new__(
        cls, seed: int = 42, source: loading.Source | None = None, *, published: bool = False, **kwargs: Any
    ) -> Self:
        found = source
        if found is None and cls.own is None and not cls.force_sample and not published:
            with contextlib.suppress(PatentMTEBError, OSError, ValueError):  # __init__ stores the same error
                found = loading.resolve(cls.data)
        if cls.own is not None or found is None or found.own is None or found.folder is None:
            return super().__new__(cls)
        levels = len(Path(found.data.key).parts)
        kind: type[Self] = own_data_task(cls, found.own, found.folder.parents[levels - 1])
        return super().__new__(kind)

    def __init__(
        self, seed: int = 42, source: loading.Source | None = None, *, published: bool = False, **kwargs: Any
    ) -> None:
        self._unresolved: PatentMTEBError | None = None
        self._set_source(source or self._resolve(published))
        super().__init__(seed, **kwargs)

    def _set_source(self, source: loading.Source) -> None:
        """Set the data, and the name, revision and subset that identify them."""
        known = type(self).metadata
        base = loading.plain_name(known.name)
        languages: Any = known.eval_langs if source.subset == "default" else {source.subset: known.eval_langs}
        unlimited = base + source.task_suffix
        name, whole = (f"{unlimited}.limit{self.limit}", (unlimited,)) if self.limit else (unlimited, ())
        dataset = {**known.dataset, "revision": source.revision}
        fields = {"name": name, "dataset": dataset, "eval_langs": languages, "whole": whole}
        self.source = source
        self.metadata = known.model_copy(update=fields | (SAMPLED if source.kind == "sample" else {}))

    def _resolve(self, published: bool) -> loading.Source:
        """Find the data; :meth:`load_data` raises an error, because mteb creates many tasks at once."""
        kind = type(self)
        try:
            if published:
                return data_source.published(kind.data)
            source = loading.resolve(kind.data, True if kind.force_sample else None, kind.root)
            if kind.own is None or (source.own and source.own.name == kind.own.name):
                return source
            now = source.own.name if source.own else "another data set"
            remedy = "start Python again: its tasks have other names"
            raise DataError(f"the data set {kind.own.name} is {now} now", path=kind.root, remedy=remedy)
        except PatentMTEBError as error:
            self._unresolved = error
        except (OSError, ValueError) as error:
            problem = f"the data of {kind.data.key} cannot be searched ({error})"
            self._unresolved = DataError(problem, path=os.environ.get(DATA_VARIABLE), remedy="repair the folder")
        return loading.Source(kind.data, "local", "unresolved")

    def pin_commit(self) -> None:
        """Pin a data set on a branch of the hub to its present commit."""
        if self._unresolved is not None:
            raise self._unresolved
        if self.data_loaded or (source := loading.with_commit(self.source)) == self.source:
            return
        self._set_source(source)
        self.hf_subsets = [source.subset]

    def before_lookup(self) -> None:
        """Pin the commit first: a stored score of another commit is not a score of this one."""
        with contextlib.suppress(PatentMTEBError):  # load_data raises it
            self.pin_commit()

    @property
    def split(self) -> str:
        return type(self).facts.split

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        if self.data_loaded:
            return
        self.pin_commit()
        _log_once(self.source.data.key, self.source.place)
        self.source.verify()
        read = self.load_split()
        self.source.verify(reading=True)
        self.dataset = {self.source.subset: {self.split: read}}
        self.data_loaded = True

    def unload_data(self) -> None:
        """Drop the data, and keep the resolved metadata, which mteb resets: a score keeps the name of its data."""
        resolved = self.metadata
        super().unload_data()
        self._data_digest = self._texts_record = None
        self.metadata = resolved

    @property
    def is_unresolved(self) -> bool:
        """Whether no data were found for the task when it was made."""
        return self._unresolved is not None

    def load_split(self) -> Any:
        """Return the data of the split, in the form that :meth:`evaluate_split` accepts."""
        raise NotImplementedError

    @property
    def loaded_split(self) -> Any:
        return (self.dataset or {})[self.source.subset][self.split]

    def texts_for(self, model: MTEBModels, data_split: Any) -> Any:
        """Return the data of the split with the texts that this model reads: by default the same for all models."""
        return data_split

    def check_model(self, model: MTEBModels, **arguments: Any) -> None:
        check_identity(model, arguments.get("encode_kwargs"))

    def precompute(self, model: Any, *, encode_kwargs: Mapping[str, Any] | None = None) -> None:
        """Encode all texts that a score needs, in the same calls, by a model that stores what it encodes."""
        self.load_data()
        where = {"hf_split": self.split, "hf_subset": self.source.subset, "encode_kwargs": dict(encode_kwargs or {})}
        self.encode_split(model, self.loaded_split, **where)

    def encode_split(self, model: Any, data_split: Any, **arguments: Any) -> None:
        raise NotImplementedError

    def with_cost(self, model: MTEBModels, work: Callable[[], Any]) -> Any:
        return measured(model, work)

    def roles(self, data_split: Any) -> tuple[PromptType | None, ...]:
        return (None,)

    def prompts(self, model: MTEBModels, data_split: Any, **arguments: Any) -> dict[str, Any]:
        return prompts_put(model, self.metadata, self.roles(data_split), arguments["hf_split"], arguments["hf_subset"])

    def with_settings(self, scores: Any, model: MTEBModels, data_split: Any, **arguments: Any) -> Any:
        """Add prompts and batch size, and the description of own data, for reports on machines without the data."""
        given, own, published = arguments["encode_kwargs"], self.own, self.published_as
        batch = {"batch_size": given.get("batch_size")}
        if "batch_tokens" in given:
            batch["batch_tokens"] = given["batch_tokens"]
        record: dict[str, Any] = {"prompts": self.prompts(model, data_split, **arguments)}
        if own is not None and published is not None and not self.limit:
            known = {"name": own.name, "version": own.version, "owner": own.owner, "licence": own.licence}
            rules = {"benchmark": published.facts.name, "task": published.metadata.name}
            record["data_set"] = {**known, **rules, "deviations": list(own.deviations)}
        return {**scores, **record, KEY: {**scores.get(KEY, {}), **batch}}

    def statistics(self) -> Mapping[str, Mapping[str, float]]:
        """Return the statistics of the tables that the paper prints (:func:`patent_mteb.published.statistics`)."""
        return {}

    def digested_data(self) -> Any:
        """Return the data whose digest is part of the evidence: the same for all models."""
        return self.loaded_split

    def texts_by_role(self, data_split: Any) -> Mapping[str, Iterable[str]]:
        return {}

    def texts_to_encode(self, model: MTEBModels) -> list[Mapping[str, Iterable[str]]]:
        """Return all texts that a model reads in a run, by role: one mapping for each protocol with its own texts."""
        return [self.texts_by_role(self.texts_for(model, self.loaded_split))]

    def texts_evidence(self, data_split: Any) -> dict[str, Any]:
        """Return the digests of the texts of a split; those of the loaded split are computed once."""
        if self._texts_record is not None and data_split is self.loaded_split:
            return self._texts_record
        record = {role: set_record(texts) for role, texts in self.texts_by_role(data_split).items()}
        if data_split is self.loaded_split:
            self._texts_record = record
        return record

    def with_evidence(self, scores: Any, model: MTEBModels) -> Any:
        """Add the evidence to the scores, whose main score must be a finite number."""
        name = self.metadata.main_score
        if name in scores and not np.isfinite(scores[name]):
            raise ModelError(
                f"{name} of task {self.metadata.name} is {scores[name]}, not a number",
                remedy="check the model's vectors (all equal?) and the data (labels that do not vary?)",
            )
        if self._data_digest is None:
            self._data_digest = data_digest(self.digested_data())
        data = {"task": self.metadata.name, "revision": self.metadata.revision, "digest": self._data_digest}
        if name in scores:
            sample = " on the built-in sample" if self.source.kind == "sample" else ""
            _as_mteb.info("%s: %s %.4f%s", self.metadata.name, name, scores[name], sample)
        return with_evidence(scores, model, data, self.scoring)

    def lacks_scores(self, scores: Mapping[str, Any]) -> bool:
        """Return whether stored scores lack some that an environment variable requests."""
        return False

    def upload(self, *args: Any, **arguments: Any) -> None:
        raise DataError("the suite does not upload data sets", remedy="publish data under their own licence, by hand")


_Task = TypeVar("_Task", bound=PatentTask)


def class_name(task_name: str) -> str:
    return task_name.replace(".", "_")


def make_task(
    base: type[_Task],
    facts: Facts,
    data: loading.DataSet,
    name: str,
    kind: str,
    description: str,
    main_score: str,
    attributes: Mapping[str, Any] = MappingProxyType({}),
    **metadata: Any,
) -> type[_Task]:
    """Create a task class from its attributes, and from the metadata that do not follow from the others."""
    known: dict[str, Any] = {
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
    made = {"__module__": base.__module__, "__doc__": description, "facts": facts, "data": data}
    return type(class_name(name), (base,), {**made, "metadata": PatentTaskMetadata(**known | metadata), **attributes})


def sample_task(task: type[_Task]) -> type[_Task]:
    """Create the task ``<Task>.sample``, which always runs on the built-in sample."""
    metadata = task.metadata.model_copy(update={"name": f"{task.metadata.name}.sample", **SAMPLED})
    attributes = {"__module__": task.__module__, "__doc__": task.__doc__, "metadata": metadata, "force_sample": True}
    return type(class_name(metadata.name), (task,), attributes)


def prompts_put(
    model: Any, task: TaskMetadata, roles: Sequence[PromptType | None], hf_split: str, hf_subset: str
) -> dict[str, Any]:
    """Return the prompts of a task by role; by encoder and role if the model combines several encoders."""
    prompts: dict[str, dict[str, str | None]] = {}
    for encoder in encoders(model):
        name = str(encoder.mteb_model_meta.name)
        number = sum(other == name or other.startswith(f"{name} #") for other in prompts) + 1
        prompts[name if number == 1 else f"{name} #{number}"] = {
            role.value if role else "text": _prompt(encoder, task, role, hf_split, hf_subset) for role in roles
        }
    if len(prompts) == 1:
        (only,) = prompts.values()
        return dict(only)
    return dict(prompts)


def _prompt(encoder: Any, task: TaskMetadata, role: PromptType | None, hf_split: str, hf_subset: str) -> str | None:
    if isinstance(encoder, StoredEncoder):
        recorded = encoder.prompts_used.get((task.name, role.value if role else None))
        if recorded is not None or not encoder.loaded:
            return recorded
        return _prompt(encoders(encoder.model)[0], task, role, hf_split, hf_subset)
    if isinstance(encoder, PatentEncoder):
        return (encoder.model_prompts or {}).get(encoder.get_prompt_name(task, role) or "", "")
    if isinstance(encoder, LateInteraction):
        return get_prompt(encoder.model_prompts, task, role) or ""
    if isinstance(encoder, SparseEncoderWrapper):
        return sparse_prompt(encoder, task, role)
    facts = facts_of(encoder, encoder.mteb_model_meta)
    return None if facts.kind == "unknown" else resolve(encoder, facts, task, role, hf_split, hf_subset).text
