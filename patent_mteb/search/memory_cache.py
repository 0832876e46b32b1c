"""Caches in memory: values, rankings, and vectors of an encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patent_mteb.patents.corpus import text_dataset
from patent_mteb.search.dense import is_encoder
from patent_mteb.search.vectors import checked_vectors
from patent_mteb.store.encoder import StoredEncoder

if TYPE_CHECKING:
    from mteb.models import MTEBModels


class Remembered:
    """An encoder with a cache in memory; all but ``encode`` is the wrapped model's.

    For a task that searches the same texts twice without an embedding store. New texts are encoded in the batches of
    the unwrapped model.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._vectors: dict[tuple[Any, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def encode(self, inputs: Any, *, prompt_type: Any = None, **kwargs: Any) -> Any:
        """Vectors of the texts; arguments as in mteb's ``EncoderProtocol``."""
        from torch.utils.data import DataLoader

        task = getattr(kwargs.get("task_metadata"), "name", "")

        def encoded(loader: Any, count: int) -> Any:
            vectors = self.model.encode(loader, prompt_type=prompt_type, **kwargs)
            return checked_vectors(vectors, count, f"model {self.mteb_model_meta.name} on task {task}")

        texts = [text for batch in inputs for text in batch["text"]]
        new = [text for text in dict.fromkeys(texts) if (prompt_type, text) not in self._vectors]
        if len(new) == len(set(texts)):
            vectors = encoded(inputs, len(texts))
            if getattr(vectors, "ndim", 0) == 2:
                self._vectors |= {(prompt_type, text): vectors[row] for row, text in enumerate(texts)}
            return vectors
        if new:
            unknown: Any = DataLoader(text_dataset({"text": new}), batch_size=inputs.batch_size or 32)
            vectors = encoded(unknown, len(new))
            self._vectors |= {(prompt_type, text): vectors[row] for row, text in enumerate(new)}
        rows = [self._vectors[prompt_type, text] for text in texts]
        if isinstance(rows[0], np.ndarray):
            return np.stack(rows)
        import torch

        return torch.stack(rows)


def remembering(model: MTEBModels) -> Any:
    """Wrap an encoder without a store in a cache; return other models unchanged."""
    return Remembered(model) if is_encoder(model) and not isinstance(model, StoredEncoder) else model
