"""Embeddings truncated to their first dimensions (Matryoshka), as in PatenTEB §7.3 and the WIPO-AT paper §4.11."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patent_mteb.errors import ModelError
from patent_mteb.models.variants import WrappedEncoder
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store.batches import as_array

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol
    from torch.utils.data import DataLoader

_ROWS = 65_536


def _width(model: Any) -> int | None:
    """Dimensions of the sentence-transformers model inside an encoder; None if only encoding would tell."""
    inner = model
    while inner is not None and getattr(inner, "loaded", True):
        for name in ("get_embedding_dimension", "get_sentence_embedding_dimension"):  # second: before version 5.4
            if (method := getattr(inner, name, None)) is not None:
                width: int | None = method()
                return width
        inner = getattr(inner, "model", None)
    return None


class Truncated(WrappedEncoder):
    """An encoder that keeps the first ``dims`` dimensions of another's vectors, normalised to length 1 (L2, fp32).

    With a stored encoder (``Truncated(stored(model), 256)``), all choices of ``dims`` share one encoding. A vector
    whose first dimensions are zero stays zero.

    Example:
        >>> import mteb
        >>> from patent_mteb.models import Truncated
        >>> Truncated(mteb.get_model("mteb/baseline-random-encoder"), 8).mteb_model_meta.embed_dim
        8
    """

    def __init__(self, model: EncoderProtocol, dims: int) -> None:
        if not is_encoder(model):
            raise ModelError(
                f"{type(model).__name__} is not an encoder. Remedy: truncate the encoder, and wrap it in search models."
            )
        if isinstance(dims, bool) or not isinstance(dims, int) or dims < 1:
            raise ModelError(f"cannot keep {dims!r} dimensions. Remedy: give a positive whole number.")
        width = _width(model)
        if width is not None and dims > width:
            raise ModelError(f"cannot keep {dims} of {width} dimensions. Remedy: choose at most {width}.")
        self.model = model
        self.dims = dims
        meta = model.mteb_model_meta
        kwargs = {**(meta.experiment_kwargs or {}), "dims": dims}
        self.mteb_model_meta = meta.model_copy(update={"experiment_kwargs": kwargs, "embed_dim": dims})

    def encode(self, inputs: DataLoader[Any], *, task_metadata: Any, **kwargs: Any) -> Any:
        """Return vectors [n, dims], fp32; arguments as in mteb's ``EncoderProtocol``."""
        vectors = self.model.encode(inputs, task_metadata=task_metadata, **kwargs)
        vectors = as_array(vectors)
        where = f"{self.mteb_model_meta.name} on {task_metadata.name}"
        if vectors.ndim != 2 or not np.issubdtype(vectors.dtype, np.floating):
            raise ModelError(
                f"{where}: an array of {vectors.dtype} {vectors.shape} cannot be truncated to {self.dims} dimensions."
            )
        if vectors.shape[1] < self.dims and len(vectors):
            raise ModelError(
                f"{where}: cannot keep {self.dims} of {vectors.shape[1]} dimensions. Remedy: choose at most"
                f" {vectors.shape[1]}."
            )
        truncated = np.empty((len(vectors), self.dims), np.float32)
        for start in range(0, len(vectors), _ROWS):
            rows = vectors[start : start + _ROWS, : self.dims].astype(np.float32)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            truncated[start : start + _ROWS] = rows / np.where(lengths > 0, lengths, 1)
        return truncated
