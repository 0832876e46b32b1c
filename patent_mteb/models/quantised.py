"""Embeddings quantised to one byte or one bit per dimension, as for every dense score of DAPFAM (§5.3).

``int8`` and ``uint8`` need a range for each dimension, which the papers do not describe. mteb's ``CompressionWrapper``
takes it from the texts of each call, so that vectors of two calls cannot be compared. Here it is fixed: the mean plus
and minus four standard deviations of title and abstract of 256 publications of the built-in sample, as queries and as
documents of ``PatentCitationRetrieval``. ``binary`` keeps signs and needs no calibration.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb._mteb import registered
from patent_mteb.errors import ModelError
from patent_mteb.identity import digest
from patent_mteb.model_identity.loaded import NEUTRAL
from patent_mteb.model_identity.prompts import plain
from patent_mteb.models.spec import VECTOR_PRECISIONS
from patent_mteb.models.variants import WrappedEncoder, with_settings
from patent_mteb.patents.views import VIEWS
from patent_mteb.sample import SAMPLE_VERSION, load
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store import EmbeddingStore, StoredEncoder, stored
from patent_mteb.store.batches import as_array, as_matrix, text_loader
from patent_mteb.store.codecs import Codec, Levels, Signs

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol

_TEXTS = 256  # of the sample, from which scales are learned
_DEVIATIONS = 4  # from the mean that a scale covers, a choice; what lies outside is clipped
_BATCH = 32  # mteb's default
_TASK = "PatentCitationRetrieval"
_NEUTRAL = NEUTRAL | {"hf_split", "hf_subset", "prompt_type"}


def calibration_texts() -> list[str]:
    return [VIEWS["TA"](patent) for patent in load()[0][:_TEXTS]]


class Quantised(WrappedEncoder):
    """An encoder with quantised vectors.

    In a store (``stored(Quantised(model, "int8"))``) each dimension takes one byte.

    Args:
        model: an mteb encoder; one with a store keeps its full vectors there.
        precision: "int8", "uint8" or "binary"; see :mod:`patent_mteb.store.codecs`.

    Example:
        >>> import mteb
        >>> import patent_mteb
        >>> from patent_mteb.models import Quantised
        >>> model = Quantised(mteb.get_model("mteb/baseline-random-encoder"), "int8")
        >>> model.mteb_model_meta.experiment_kwargs["vectors"]
        'int8'
        >>> len(patent_mteb.rank(model, "PatentMapAbsToAbsRetrieval.sample").query_ids)
        25
    """

    def __init__(self, model: EncoderProtocol, precision: str = "int8") -> None:
        if not is_encoder(model):
            raise ModelError(
                f"{type(model).__name__} is not an encoder", remedy="quantise the encoder, and wrap it in search models"
            )
        if isinstance(model, Quantised):
            raise ModelError(f"{model.mteb_model_meta.name} is already quantised", remedy="pass the model inside it")
        if precision not in VECTOR_PRECISIONS:
            raise ModelError(f"unknown precision {precision!r}", remedy=f"choose one of {', '.join(VECTOR_PRECISIONS)}")
        self.model, self.precision = model, precision
        self._store: EmbeddingStore | None = None
        self._encoders: dict[str, tuple[Codec, StoredEncoder | None]] = {}
        meta = model.mteb_model_meta
        self._dims = (meta.experiment_kwargs or {}).get("dims")
        self.mteb_model_meta = with_settings(meta, **self.settings)

    @property
    def settings(self) -> dict[str, str]:
        """Settings that change vectors. They also state the dimensions of a model that was truncated before."""
        vectors = self.precision if self._dims is None else f"{self.precision}-of-{self._dims}"
        if self.precision == "binary":
            return {"vectors": vectors}
        return {"vectors": vectors, "calibration": f"sample-{SAMPLE_VERSION}"}

    def with_store(self, path: Path | str | EmbeddingStore | None = None, dtype: str = "float32") -> Quantised:
        """Return a copy that keeps its codes in a store (called by :func:`patent_mteb.store.stored`)."""
        if dtype != "float32":
            raise ModelError(f"a store keeps quantised vectors as bytes, not as {dtype}", remedy="leave out the type")
        found = copy.copy(self)
        found._store, found._encoders = path if isinstance(path, EmbeddingStore) else EmbeddingStore(path), {}
        return found

    def encode(self, inputs: Any, *, task_metadata: Any, **kwargs: Any) -> NDArray[np.float32]:
        """Return the values that the codes represent, [n, width]; arguments as in mteb's ``EncoderProtocol``."""
        codec, encoder = self._encoder(kwargs)
        if encoder is not None:
            values: NDArray[np.float32] = encoder.encode(inputs, task_metadata=task_metadata, **kwargs)
            return values
        vectors = self.model.encode(inputs, task_metadata=task_metadata, **kwargs)
        return codec.value(self.codes(as_matrix(vectors, len(inputs.dataset), self.mteb_model_meta.name), codec))

    def codes(self, vectors: Any, codec: Codec | None = None) -> NDArray[np.int8]:
        return (codec or self._encoder({})[0]).code(self._checked(vectors))

    def _encoder(self, kwargs: Mapping[str, Any]) -> tuple[Codec, StoredEncoder | None]:
        """The codec for vectors encoded with these arguments, and the stored encoder if there is a store."""
        effective = {name: value for name, value in kwargs.items() if name not in _NEUTRAL and value is not None}
        key = digest({name: plain(value) for name, value in effective.items()})
        if key not in self._encoders:
            codec: Codec = Signs(self.settings) if self.precision == "binary" else self._levels(effective)
            encoder = None if self._store is None else StoredEncoder(self.model, self._store, "int8", codec=codec)
            self._encoders[key] = codec, encoder
        return self._encoders[key]

    def _levels(self, kwargs: Mapping[str, Any]) -> Levels:
        encoder = self.model if self._store is None else stored(self.model, self._store)
        where = {"task_metadata": registered("tasks")[_TASK].metadata, "hf_split": "test", "hf_subset": "default"}
        arguments: Any = {**where, "batch_size": _BATCH, "show_progress_bar": False, **kwargs}
        blocks = []
        for role in (PromptType.query, PromptType.document):
            texts = calibration_texts()
            found = encoder.encode(text_loader(texts, _BATCH), prompt_type=role, **arguments)
            blocks.append(self._checked(as_matrix(found, len(texts), self.mteb_model_meta.name)))
        vectors = np.concatenate(blocks).astype(np.float64)
        mean, reach = vectors.mean(axis=0), _DEVIATIONS * vectors.std(axis=0)
        return Levels((mean - reach).astype(np.float32), (mean + reach).astype(np.float32), self.settings)

    def _checked(self, vectors: Any) -> NDArray[np.float32]:
        array = as_array(vectors)
        if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating) or not np.isfinite(array).all():
            raise ModelError(
                f"{self.mteb_model_meta.name} returned an array of {array.dtype} {array.shape}, not one finite vector"
                " per text, so it cannot be quantised",
                remedy="run the model without --precision, or check its input",
            )
        return array.astype(np.float32, copy=False)
