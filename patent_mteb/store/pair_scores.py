"""A cross-encoder with stored scores: each pair is scored once, across tasks and runs.

A pair is stored like a text whose vector is one number, in a space of the cross-encoder (:mod:`.encoder`). The key
covers name, revision, settings (the length at which pairs are truncated included), changed weights, and both rows with
all columns that a model may read. The scores of mteb's ``CrossEncoderWrapper`` depend on nothing else; for any other
cross-encoder the key also covers the task.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from mteb.models import CrossEncoderProtocol, CrossEncoderWrapper
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.model_identity.loaded import NamedModel
from patent_mteb.model_identity.prompts import qualified
from patent_mteb.store.batches import as_array, text_loader
from patent_mteb.store.encoder import progress_bar, stored

_SETTINGS = "max_seq_length max_length query_prefix passage_prefix prompts default_prompt_name activation_fn dtype"
_AT_ONCE = 4096  # pairs whose keys are in memory together
_Row = dict[str, Any]


def stored_pairs(model: CrossEncoderProtocol, path: Path | str | None = None) -> CrossEncoderProtocol:
    """Wrap a cross-encoder with a store. A language model, which stores its answers itself, is returned unchanged."""
    return model if hasattr(model, "graded") or isinstance(model, StoredPairs) else StoredPairs(model, path)


def one_score(scores: Any, name: str | None) -> NDArray[np.float64]:
    """Convert the output of a cross-encoder to one number a pair."""
    values = np.asarray(as_array(scores), dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ModelError(
            f"{name} gives scores of shape {values.shape} instead of one a pair",
            remedy="use a cross-encoder with one label",
        )
    return values


class StoredPairs(NamedModel):
    """A cross-encoder in front of a store; made by :func:`stored_pairs`."""

    def __init__(self, model: CrossEncoderProtocol, path: Path | str | None = None) -> None:
        self.model = model
        self.mteb_model_meta = model.mteb_model_meta
        encoder_class = _Pairs if getattr(type(model), "predict", None) is CrossEncoderWrapper.predict else _TaskPairs
        encoder = stored(encoder_class(model), path)
        self._encode, self._stats = encoder.encode, encoder.stats
        self._reported = 0

    def effort(self) -> dict[str, float]:
        """Count the pairs since the last call whose score was stored already."""
        before, self._reported = self._reported, self._stats.texts - self._stats.encoded
        found = self._reported - before
        return {"kept_pairs": found} if found else {}

    def predict(
        self, inputs1: Iterable[Mapping[str, Any]], inputs2: Iterable[Mapping[str, Any]], **arguments: Any
    ) -> NDArray[np.float64]:
        """Scores of pairs, as in mteb's ``CrossEncoderProtocol``. Missing ones are computed and stored."""
        if not all(_plain(next(iter(inputs), {})) for inputs in (inputs1, inputs2)):
            predicted = self.model.predict(inputs1, inputs2, **arguments)  # type: ignore[arg-type]
            return one_score(predicted, self.mteb_model_meta.name)
        size = int(getattr(inputs1, "batch_size", None) or 32)
        pairs = zip(*(rows_of(inputs, without="id") for inputs in (inputs1, inputs2)), strict=True)
        total = len(inputs1) * size if isinstance(inputs1, Sized) else None
        shown = bool(arguments.pop("show_progress_bar", True))
        scores = []
        name = f"{arguments['task_metadata'].name}, {self.mteb_model_meta.name}"
        with progress_bar(name, total, 0, shown) as progress:
            while texts := [
                json.dumps(pair, ensure_ascii=False, sort_keys=True) for pair in itertools.islice(pairs, _AT_ONCE)
            ]:
                loader = text_loader(texts, size)
                scores.append(self._encode(loader, **arguments, show_progress_bar=False)[:, 0])
                progress.update(len(texts))
        return np.concatenate(scores).astype(np.float64) if scores else np.zeros(0)


def _plain(batch: Mapping[str, Any]) -> bool:
    """Whether the rows of a batch are JSON values."""
    return all(
        isinstance(value, (str, int, float, list, dict, type(None))) for column in batch.values() for value in column
    )


def rows_of(inputs: Iterable[Mapping[str, Any]], without: str = "") -> Iterator[_Row]:
    """Yield the rows of batches, without one of their columns."""
    for batch in inputs:
        columns = [name for name in batch if name != without]
        yield from (
            dict(zip(columns, row, strict=True)) for row in zip(*(batch[name] for name in columns), strict=True)
        )


def row_loader(rows: list[_Row], batch_size: int) -> Any:
    """Return rows in batches, as mteb passes one side of the pairs to a cross-encoder."""
    from torch.utils.data import DataLoader

    def collated(batch: list[_Row]) -> dict[str, list[Any]]:
        return {name: [row[name] for row in batch] for name in batch[0]}

    return DataLoader(Dataset.from_list(rows), batch_size=batch_size, collate_fn=collated)


class _TaskPairs(AbsEncoder):
    """A cross-encoder as an encoder of pairs; scores may depend on the task."""

    def __init__(self, model: Any) -> None:
        self.cross_encoder = model
        self.model = getattr(model, "model", None)
        self.mteb_model_meta: ModelMeta = model.mteb_model_meta.model_copy(
            update={"model_type": ["dense"], "embed_dim": 1}
        )

    @property
    def store_settings(self) -> dict[str, Any]:
        """Settings of the wrapper and of the model inside that change scores."""
        holders = {"wrapper": self.cross_encoder, "model": self.model}
        found = {
            f"{name} of {of}": str(getattr(one, name))
            for of, one in holders.items()
            for name in _SETTINGS.split()
            if hasattr(one, name)
        }
        return {"of": "pairs", "cross-encoder": qualified(type(self.cross_encoder)), **found}

    def encode(self, inputs: Any, **kwargs: Any) -> NDArray[np.float64]:
        """[n, 1] scores of pairs."""
        pairs = [json.loads(text) for batch in inputs for text in batch["text"]]
        size = kwargs.pop("batch_size", None) or inputs.batch_size
        sides = (row_loader([pair[side] for pair in pairs], size) for side in (0, 1))
        scores = one_score(self.cross_encoder.predict(*sides, batch_size=size, **kwargs), self.mteb_model_meta.name)
        return scores[:, None]


class _Pairs(_TaskPairs):
    """A cross-encoder whose scores depend on the pair and its settings only."""

    def store_prompt(self, task_metadata: Any, prompt_type: Any) -> str:
        return ""
