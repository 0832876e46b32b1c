"""Embeddings cut to their first dimensions (Matryoshka), as PatenTEB §7.3 and the WIPO-AT paper §4.11 evaluate them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patent_mteb.errors import ModelError
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store.settings import LiveIdentity

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol
    from torch.utils.data import DataLoader

__all__ = ["Truncated"]

_ROWS = 65_536


def _width(model: Any) -> int | None:
    """The width of a loaded sentence-transformers model inside an encoder; None where it is not known without
    encoding.
    """
    inner = model
    while inner is not None and getattr(inner, "loaded", True):
        told = getattr(inner, "get_embedding_dimension", None) or getattr(
            inner, "get_sentence_embedding_dimension", None
        )  # before 5.4
        if told is not None:
            width: int | None = told()
            return width
        inner = getattr(inner, "model", None)
    return None


class Truncated(LiveIdentity):
    """An encoder whose vectors are the first ``dims`` dimensions of another's, brought back to length 1 (L2, in fp32).

    Over an encoder with a store (``Truncated(stored(model), 256)``) any number of widths costs one encoding. A vector
    that is zero in its first dimensions stays zero. Similarity is the wrapped model's.

    Args:
        model: an mteb encoder.
        dims: dimensions to keep.

    Raises:
        ModelError: ``model`` is no encoder, or ``dims`` is not positive or more than there are; on encoding, where that
            shows only then.

    Example:
        >>> import mteb
        >>> from patent_mteb.models import Truncated
        >>> Truncated(mteb.get_model("mteb/baseline-random-encoder"), 8).mteb_model_meta.embed_dim
        8
    """

    def __init__(self, model: EncoderProtocol, dims: int) -> None:
        if not is_encoder(model):
            raise ModelError(
                f"{type(model).__name__} is no encoder. Remedy: give an encoder, and put search models around it."
            )
        if isinstance(dims, bool) or not isinstance(dims, int) or dims < 1:
            raise ModelError(f"cannot keep {dims!r} dimensions. Remedy: give a positive whole number.")
        width = _width(model)
        if width is not None and dims > width:
            raise ModelError(f"cannot keep {dims} of {width} dimensions. Remedy: ask for no more than there are.")
        self.model = model
        self.dims = dims
        meta = model.mteb_model_meta
        kwargs = {**(meta.experiment_kwargs or {}), "dims": dims}
        self.mteb_model_meta = meta.model_copy(update={"experiment_kwargs": kwargs, "embed_dim": dims})

    def encode(self, inputs: DataLoader[Any], *, task_metadata: Any, **kwargs: Any) -> Any:
        """Vectors [n, dims], fp32; arguments as in mteb's ``EncoderProtocol``."""
        vectors: Any = self.model.encode(inputs, task_metadata=task_metadata, **kwargs)
        if hasattr(vectors, "detach"):
            vectors = vectors.detach().cpu().float().numpy() if vectors.is_floating_point() else vectors.cpu().numpy()
        vectors = np.asarray(vectors)
        blame = f"{self.mteb_model_meta.name} on {task_metadata.name}"
        if vectors.ndim != 2 or not np.issubdtype(vectors.dtype, np.floating):
            raise ModelError(
                f"{blame}: an array of {vectors.dtype} {vectors.shape} cannot be truncated to {self.dims} dimensions."
            )
        if vectors.shape[1] < self.dims and len(vectors):
            raise ModelError(
                f"{blame}: cannot keep {self.dims} of {vectors.shape[1]} dimensions. Remedy: ask for no more than there"
                " are."
            )
        kept = np.empty((len(vectors), self.dims), np.float32)
        for start in range(0, len(vectors), _ROWS):
            part = vectors[start : start + _ROWS, : self.dims].astype(np.float32)
            lengths = np.linalg.norm(part, axis=1, keepdims=True)
            kept[start : start + _ROWS] = part / np.where(lengths > 0, lengths, 1)
        return kept

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Similarity of every pair, as the wrapped model computes it."""
        return self.model.similarity(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Similarity of the pairs of equal position, as the wrapped model computes it."""
        return self.model.similarity_pairwise(embeddings1, embeddings2)
