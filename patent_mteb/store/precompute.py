"""Encode the texts of tasks before a run, whole or in shares.

The shares, on several machines, consist of the complete batches that a run on an empty store would form, in turn: a
vector depends in its last bits on the padding of its batch. On equal machines the shares of n processes therefore equal
the vectors of one process, bit for bit, also after an interruption.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.parallel import Tell, quiet
from patent_mteb.store.batches import texts_of
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.store.keys import Keys, distinct


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

    def __init__(
        self, encoder: StoredEncoder, share: tuple[int, int] = (1, 1), *, dry: bool = False, tell: Tell = quiet
    ) -> None:
        self.counts = Counts()
        self._encoder = encoder
        self._share = share
        self._dry = dry
        self._tell = tell
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
                f"{arguments['task_metadata'].name} has more than texts, which are not stored. Remedy: run it without"
                " encoding ahead"
            )
        plan = self._encoder.plan(inputs, texts, arguments)
        new = self._new(plan.space.directory.name, plan.keys[plan.first])
        batches = self._encoder.batches(plan, plan.first[new])
        stored = plan.first[plan.stored]
        mine = [batch for batch in self._ours(batches) if not np.isin(batch, stored).all()]
        ours = sum(int((~np.isin(batch, stored)).sum()) for batch in mine)
        self.counts.requested += len(texts)
        self.counts.distinct += int(new.sum())
        self.counts.stored += int((plan.stored & new).sum())
        self.counts.ours += ours
        if mine and not self._dry:
            before = self._encoder.stats.encoded
            self._encoder.encode_batches(plan, mine, stored)
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
        """Mask of the keys that no earlier call requested. A run would find the others in its store."""
        seen = self._seen.get(space, keys[:0])
        every = np.concatenate([seen, keys])
        first = distinct(every)
        self._seen[space] = every[first]
        return np.isin(np.arange(len(seen), len(every)), first)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Refuse: the returned positions are not vectors."""
        raise ModelError("vectors that are encoded ahead are not compared. Remedy: compare those of the encoder itself")

    similarity_pairwise = similarity
