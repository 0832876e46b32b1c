"""Encoding ahead: the texts of tasks go into the store before any task is run, whole or in shares on several machines.

What is shared out are the very batches that a run on an empty store would form, one after the other, and a batch is
encoded whole or not at all: a vector depends in its last bits on the texts that it was padded with. So on equal
machines the shares of n processes hold, bit for bit, the vectors of one, and a share that was interrupted goes on to
the same bits; a run that follows finds all its texts. Two processes that were given the same share claim batches from
each other (:mod:`patent_mteb.store.locks`).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.parallel import Tell, quiet
from patent_mteb.store.batches import texts_of
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.store.keys import Keys, halves
from patent_mteb.store.locks import claimed_groups
from patent_mteb.store.space import Table


@dataclass
class Counts:
    """Texts that were planned.

    Attributes:
        asked: those that tasks ask for.
        distinct: those among them that no call before asked for under the same prompt.
        stored: the distinct ones that the store has.
        ours: those that it has not and that are in a batch of this share.
        encoded: those of them that were encoded now; fewer where another process encoded some meanwhile.
    """

    asked: int = 0
    distinct: int = 0
    stored: int = 0
    ours: int = 0
    encoded: int = 0


class Ahead:
    """An encoder that fills a store with its share of what it is given. For vectors it gives the texts' numbers: no
    score is made of it.
    """

    def __init__(
        self, encoder: StoredEncoder, share: tuple[int, int] = (1, 1), *, dry: bool = False, tell: Tell = quiet
    ) -> None:
        self.counts = Counts()
        self._encoder = encoder
        self._share = share
        self._dry = dry
        self._tell = tell
        self._batches = 0
        self._seen: dict[str, Table] = {}

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """That of the encoder."""
        return self._encoder.mteb_model_meta

    def encode(
        self,
        inputs: Any,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        prompt_type: PromptType | None = None,
        **kwargs: Any,
    ) -> NDArray[np.float32]:
        """Encode the share of these texts; arguments as in mteb's ``EncoderProtocol``."""
        texts = texts_of(inputs)
        if texts is None:
            raise ModelError(
                f"{task_metadata.name} has more than texts, which are not stored. Remedy: run it without encoding ahead"
            )
        where = {
            "task_metadata": task_metadata,
            "hf_split": hf_split,
            "hf_subset": hf_subset,
            "prompt_type": prompt_type,
        }
        plan = self._encoder.plan(inputs, texts, where, kwargs)
        new = self._new(plan.space.directory.name, plan.keys[plan.first])
        batches = self._encoder.calls(inputs, texts, plan.first[new], plan, kwargs)
        kept = plan.first[plan.stored]
        mine = [batch for batch in self._ours(batches) if not np.isin(batch, kept).all()]
        ours = sum(int((~np.isin(batch, kept)).sum()) for batch in mine)
        self.counts.asked += len(texts)
        self.counts.distinct += int(new.sum())
        self.counts.stored += int((plan.stored & new).sum())
        self.counts.ours += ours
        if mine and not self._dry:
            before, size = self._encoder.stats.encoded, sum(map(len, mine))
            groups, contains = self._encoder.groups(mine), plan.space.contains
            with contextlib.closing(
                claimed_groups(plan.space.directory, plan.keys, groups, contains, full_batches=True)
            ) as unclaimed:
                self._encoder.encode_groups(inputs, texts, unclaimed, size, plan, where, kwargs, kept)
            self.counts.encoded += self._encoder.stats.encoded - before
            self._tell(ours)
        return np.arange(1, len(texts) + 1, dtype=np.float32)[:, None]

    def _ours(self, batches: list[Any]) -> list[Any]:
        """The batches of this share, counted over all calls."""
        number, shares = self._share
        first = (number - 1 - self._batches) % shares
        self._batches += len(batches)
        return batches[first::shares]

    def _new(self, space: str, keys: Keys) -> NDArray[np.bool_]:
        """Mask of the keys that no call before asked for: a run would find them in its store."""
        seen = self._seen.get(space, Table())
        new = seen.search(keys) < 0
        high, low = (half[new] for half in halves(keys))
        more = Table(
            high, low, np.zeros(len(high), np.int32), np.zeros(len(high), np.uint32), np.zeros(len(high), np.uint32)
        )
        self._seen[space] = Table.joined([seen, more])
        return new

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """None: what this encoder gives is not compared."""
        raise ModelError("vectors that are encoded ahead are not compared. Remedy: compare those of the encoder itself")

    similarity_pairwise = similarity
