"""Encoding of tasks' texts into a store before a run, in shares or on Ray.

The shares, on several machines, consist of the complete batches that a run on an empty store would form, in turn: a
vector depends in its last bits on the padding of its batch. On equal machines the shares of n processes therefore equal
the vectors of one process, bit for bit, also after an interruption.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from mteb.abstasks import AbsTask
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.data.loading import DATA_VARIABLE
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments.run import unable, unloading
from patent_mteb.model_identity.loaded import with_arguments
from patent_mteb.models.behaviour import Canaries
from patent_mteb.models.composition import compose
from patent_mteb.models.loading import load
from patent_mteb.models.spec import ModelSpec
from patent_mteb.parallel import each, ray_slots
from patent_mteb.store.batches import texts_of
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.store.keys import Keys, distinct
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.selection import choose, task_named

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """The model and tasks of an encoding, by name, so that any machine can do a share."""

    model: str | ModelSpec
    store: Path | str
    data: Path | str | None = None  # a built directory, used as ``PATENT_MTEB_DATA``
    tasks: Sequence[str] = ()  # without tasks and benchmarks, all tasks of the data
    benchmarks: Sequence[str] = ()
    encode_kwargs: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None

    def chosen(self) -> list[AbsTask]:
        """Return the tasks in the order of their names in the job."""
        if self.data is not None:
            if not Path(self.data).is_dir():
                raise DataError(
                    "there is no such directory", path=self.data, remedy="name one that patent-mteb data build made"
                )
            os.environ[DATA_VARIABLE] = str(self.data)
        catalogue.enter_own()
        found = [*(choose(benchmarks=self.benchmarks) if self.benchmarks else ()), *map(task_named, self.tasks)]
        if not (self.tasks or self.benchmarks):
            found = [task() for benchmark in catalogue.own_benchmarks() for task in benchmark.task_classes]
        if not found:
            raise DataError(
                "no task was chosen, and there is no dataset.json to name the tasks",
                path=self.data,
                remedy="name tasks with -t or a benchmark with -b; see 'patent-mteb list'",
            )
        return list({task.metadata.name: task for task in found}.values())

    def encoder(self) -> StoredEncoder:
        made: Any = with_arguments(compose(load(self.model, device=self.device), store=self.store), self.encode_kwargs)
        if not isinstance(made, StoredEncoder):
            raise ModelError(
                f"{made.mteb_model_meta.name} has no single vector per text, so its texts cannot be precomputed",
                remedy="run it",
            )
        return made


@dataclass
class Counts:
    """Numbers of texts."""

    requested: int = 0  # by tasks
    distinct: int = 0  # of these, not requested before under the same prompt
    stored: int = 0  # of the distinct ones, found in the store
    ours: int = 0  # of the missing ones, in a batch of this share
    encoded: int = 0  # of these, encoded now; fewer where another process encoded some meanwhile


class PrecomputeEncoder:
    """An encoder that encodes its share of the texts into a store; no score is computed from its result."""

    stores_vectors = True

    def __init__(self, encoder: StoredEncoder, share: tuple[int, int] = (1, 1), *, dry: bool = False) -> None:
        self.counts = Counts()
        self._encoder = encoder
        self._share = share
        self._dry = dry
        self._batches = 0
        self._seen: dict[str, Keys] = {}

    @property
    def mteb_model_meta(self) -> ModelMeta:
        return self._encoder.mteb_model_meta

    def encode(self, inputs: Any, **arguments: Any) -> NDArray[np.float32]:
        """Encode the share of these texts; arguments as in mteb's ``EncoderProtocol``."""
        texts = texts_of(inputs)
        if texts is None:
            raise ModelError(
                f"{arguments['task_metadata'].name} has more than texts, which are not stored",
                remedy="run it without encoding ahead",
            )
        plan = self._encoder.plan(inputs, texts, arguments)
        new = self._new(plan.space.directory.name, plan.keys[plan.first])
        batches = self._encoder.batches(plan, plan.first[new])
        stored = plan.first[plan.stored]
        mine = [batch for batch in self._ours(batches) if not np.isin(batch, stored).all()]
        self.counts.requested += len(texts)
        self.counts.distinct += int(new.sum())
        self.counts.stored += int((plan.stored & new).sum())
        self.counts.ours += sum(int((~np.isin(batch, stored)).sum()) for batch in mine)
        if mine and not self._dry:
            before = self._encoder.stats.encoded
            self._encoder.encode_batches(plan, mine, stored)
            self.counts.encoded += self._encoder.stats.encoded - before
        return np.arange(1, len(texts) + 1, dtype=np.float32)[:, None]

    def _ours(self, batches: list[Any]) -> list[Any]:
        """The batches of this share, counted over all calls."""
        number, shares = self._share
        first = (number - 1 - self._batches) % shares
        self._batches += len(batches)
        return batches[first::shares]

    def _new(self, space: str, keys: Keys) -> NDArray[np.bool_]:
        """Mask of the keys that no earlier call requested. A run would find the others in its store."""
        seen = self._seen.get(space, keys[:0])
        every = np.concatenate([seen, keys])
        first = distinct(every)
        self._seen[space] = every[first]
        return np.isin(np.arange(len(seen), len(every)), first)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Refuse: the returned positions are not vectors."""
        raise ModelError(
            "vectors that are encoded ahead are not compared", remedy="compare those of the encoder itself"
        )

    similarity_pairwise = similarity


@dataclass(frozen=True)
class Encoded:
    """The outcome of a share: counts by task, and skipped tasks with their reasons."""

    share: tuple[int, int]
    counts: Mapping[str, Counts]
    skipped: Mapping[str, str]

    @property
    def total(self) -> Counts:
        return Counts(*map(sum, zip(*map(astuple, [Counts(), *self.counts.values()]), strict=True)))


def encode_share(job: Job, share: tuple[int, int] = (1, 1), *, dry: bool = False) -> Encoded:
    """Encode a share of the texts of a job that are not in the store."""
    encoder, counts, skipped = job.encoder(), {}, {}
    options = {"batch_size": 32, **job.encode_kwargs}  # the same default as in a run
    ahead = PrecomputeEncoder(encoder, share, dry=dry)
    canaries = None if dry else Canaries(encoder, job.encode_kwargs)
    if canaries is not None:
        canaries.look()
    for task in job.chosen():
        name, ahead.counts = task.metadata.name, Counts()
        if not isinstance(task, PatentTask):
            skipped[name] = "it is not a task of this suite, so its texts are unknown before a run"
            continue
        if reason := unable(encoder, task):
            skipped[name] = reason
            continue
        logger.info("%s: %s", name, "counting" if dry else f"share {share[0]} of {share[1]}")
        try:
            with unloading(task):
                task.precompute(ahead, encode_kwargs=options)
            counts[name] = ahead.counts
        except DataError as error:
            skipped[name] = str(error)
    if canaries is not None:
        canaries.look()
    return Encoded(share, counts, skipped)


def encode_on_ray(job: Job, shares: int | None = None) -> list[Encoded]:
    count = ray_slots() if shares is None else shares
    every = [(number, count) for number in range(1, count + 1)]
    done = dict(each(lambda share, _: encode_share(job, share), every, engine="ray", gpus=True))
    return [done[share] for share in every]
