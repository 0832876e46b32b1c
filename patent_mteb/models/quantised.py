"""Embeddings in one byte a number, or in one bit: the precision of every dense number of DAPFAM (§5.3).

**Calibration.** ``int8`` and ``uint8`` need a range for each dimension. The papers do not say how theirs was found;
taken from the texts of a task, as mteb's ``CompressionWrapper`` does call by call, vectors of two calls could not be
compared. Here it is fixed: title and abstract of the first 256 publications of the built-in sample, each encoded as a
query and as a document of ``PatentCitationRetrieval``; the range of a dimension is their mean, four standard deviations
to either side. Texts of your own may take their place; repetitions and order do not matter. A digest of the texts is in
the identity. ``binary`` keeps signs and needs none.

**Scores.** What :meth:`Quantised.encode` gives are the values that the bytes stand for
(:mod:`patent_mteb.store.codecs`), and the wrapped model's own similarity compares them: no score depends on which texts
were encoded together, in which order or chunks.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb._mteb import registered
from patent_mteb.errors import ModelError
from patent_mteb.identity import digest
from patent_mteb.patents.views import view_text
from patent_mteb.sample import SAMPLE_VERSION, generate
from patent_mteb.search.vectors import is_encoder
from patent_mteb.store import EmbeddingStore, StoredEncoder, stored
from patent_mteb.store.codecs import Codec, Levels, Signs
from patent_mteb.store.resolve import plain
from patent_mteb.store.settings import NEUTRAL, LiveIdentity

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol
    from torch.utils.data import DataLoader

__all__ = ["VECTOR_PRECISIONS", "Quantised", "calibration_texts"]

VECTOR_PRECISIONS = ("int8", "uint8", "binary")
_TEXTS = 256
_DEVIATIONS = 4
_BATCH = 32
_TASK = "PatentCitationRetrieval"
_NEUTRAL = NEUTRAL | {"hf_split", "hf_subset", "prompt_type"}


def calibration_texts() -> list[str]:
    """What a model is calibrated on unless it is given other texts."""
    return [view_text(patent, "TA") for patent in generate()[0][:_TEXTS]]


class Quantised(LiveIdentity):
    """An encoder whose vectors are kept, and compared, as bytes or bits.

    In front of a store (``stored(Quantised(model, "int8"))``) a number takes a byte of it.

    Args:
        model: an mteb encoder; one with a store keeps its full vectors there.
        precision: "int8", "uint8" or "binary"; see :mod:`patent_mteb.store.codecs`.
        calibration: texts instead of :func:`calibration_texts`.

    Raises:
        ModelError: ``model`` is no encoder or quantised already, the precision is unknown, or there are fewer than two
            texts; on encoding, if the model gives no finite vectors of numbers.

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

    def __init__(
        self, model: EncoderProtocol, precision: str = "int8", calibration: Sequence[str] | None = None
    ) -> None:
        if not is_encoder(model):
            raise ModelError(
                f"{type(model).__name__} is no encoder. Remedy: give an encoder, and put search models around it."
            )
        if isinstance(model, Quantised):
            raise ModelError(f"{model.mteb_model_meta.name} is quantised already. Remedy: give the model itself.")
        if precision not in VECTOR_PRECISIONS:
            raise ModelError(
                f"precision {precision!r} is none of {', '.join(VECTOR_PRECISIONS)}. Remedy: choose one of them."
            )
        self.model = model
        self.precision = precision
        self._texts = None if calibration is None else sorted(set(calibration))
        if self._texts is not None and len(self._texts) < 2:
            raise ModelError(
                "a range cannot be taken from fewer than two texts. Remedy: give more, or none for the built-in ones."
            )
        self._store: EmbeddingStore | None = None
        self._encoders: dict[str, tuple[Codec, StoredEncoder | None]] = {}
        meta = model.mteb_model_meta
        self._dims = (meta.experiment_kwargs or {}).get("dims")
        kwargs = {**(meta.experiment_kwargs or {}), **self.settings}
        self.mteb_model_meta = meta.model_copy(update={"experiment_kwargs": kwargs})

    @property
    def settings(self) -> dict[str, str]:
        """What tells the vectors from others of the model; those cut first from those cut afterwards, too."""
        vectors = self.precision if self._dims is None else f"{self.precision}-of-{self._dims}"
        if self.precision == "binary":
            return {"vectors": vectors}
        name = f"sample-{SAMPLE_VERSION}" if self._texts is None else f"texts-{digest(self._texts)}"
        return {"vectors": vectors, "calibration": name}

    def with_store(self, path: Path | str | EmbeddingStore | None = None, dtype: str = "float32") -> Quantised:
        """The same model, whose codes are kept in a store, a byte a number (:func:`patent_mteb.store.stored` calls
        this).

        Raises:
            ModelError: another type than the store's usual one was asked for.
        """
        if dtype != "float32":
            raise ModelError(f"quantised vectors are kept as bytes, not as {dtype}. Remedy: leave the type out")
        twin = copy.copy(self)
        twin._store = path if isinstance(path, EmbeddingStore) else EmbeddingStore(path)
        twin._encoders = {}
        return twin

    def encode(self, inputs: DataLoader[Any], *, task_metadata: Any, **kwargs: Any) -> NDArray[np.float32]:
        """What the codes of the vectors stand for, [n, width]; arguments as in mteb's ``EncoderProtocol``."""
        codec, keeper = self._encoder(kwargs)
        if keeper is not None:
            kept: NDArray[np.float32] = keeper.encode(inputs, task_metadata=task_metadata, **kwargs)
            return kept
        return codec.value(self.codes(self.model.encode(inputs, task_metadata=task_metadata, **kwargs), codec))

    def codes(self, vectors: Any, codec: Codec | None = None) -> NDArray[np.int8]:
        """The codes of vectors that the wrapped model gave, [n, width], one byte each."""
        return (codec or self._encoder({})[0]).code(self._checked(vectors))

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Similarity of every pair, as the wrapped model computes it."""
        return self.model.similarity(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Similarity of the pairs of equal position, as the wrapped model computes it."""
        return self.model.similarity_pairwise(embeddings1, embeddings2)

    def _encoder(self, kwargs: Mapping[str, Any]) -> tuple[Codec, StoredEncoder | None]:
        """The codec for vectors that are encoded with such arguments, and what keeps their codes if there is a
        store.
        """
        changing = {name: value for name, value in kwargs.items() if name not in _NEUTRAL and value is not None}
        key = digest({name: plain(value) for name, value in changing.items()})
        if key not in self._encoders:
            codec: Codec = Signs(self.settings) if self.precision == "binary" else self._levels(changing)
            keeper = None if self._store is None else StoredEncoder(self.model, self._store, "int8", codec=codec)
            self._encoders[key] = codec, keeper
        return self._encoders[key]

    def _levels(self, kwargs: Mapping[str, Any]) -> Levels:
        from datasets import Dataset
        from torch.utils.data import DataLoader

        texts = calibration_texts() if self._texts is None else self._texts
        encoder = self.model if self._store is None else stored(self.model, self._store)
        arguments: dict[str, Any] = {
            "task_metadata": registered("tasks")[_TASK].metadata,
            "hf_split": "test",
            "hf_subset": "default",
            "batch_size": _BATCH,
            "show_progress_bar": False,
        }
        found = [
            self._checked(
                encoder.encode(
                    DataLoader(Dataset.from_dict({"text": texts}), batch_size=_BATCH),
                    prompt_type=role,
                    **arguments,
                    **kwargs,
                )
            )
            for role in (PromptType.query, PromptType.document)
        ]
        vectors = np.concatenate(found).astype(np.float64)
        middle, reach = vectors.mean(axis=0), _DEVIATIONS * vectors.std(axis=0)
        return Levels((middle - reach).astype(np.float32), (middle + reach).astype(np.float32), self.settings)

    def _checked(self, vectors: Any) -> NDArray[np.float32]:
        if hasattr(vectors, "detach"):
            vectors = vectors.detach().cpu()
            vectors = vectors.float().numpy() if vectors.is_floating_point() else vectors.numpy()
        found = np.asarray(vectors)
        if found.ndim != 2 or not np.issubdtype(found.dtype, np.floating) or not np.isfinite(found).all():
            raise ModelError(
                f"{self.mteb_model_meta.name} gave an array of {found.dtype} {found.shape} that cannot be quantised:"
                " one finite vector a text is. Remedy: run the model without --precision, or look at its input"
            )
        return found.astype(np.float32, copy=False)
