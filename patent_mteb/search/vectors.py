"""Checks of encoders' vectors: :func:`checked_vectors` for the suite, :class:`Checked` encoders for mteb itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np
from mteb.models import EncoderProtocol, SearchProtocol
from mteb.models.model_meta import ModelMeta
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.search.timing import phase
from patent_mteb.store.batches import as_matrix, loader_of
from patent_mteb.store.company import check_company

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger(__name__)
_ROWS_AT_ONCE = 4096  # that are checked for NaN at a time
DISTINCT = 10
"""Number of different texts of which two have different vectors: a few may differ after the last token only."""
Texts = Callable[[NDArray[np.int64]], Sequence[str]]
"""Texts by their rows."""


def is_encoder(model: object) -> TypeGuard[EncoderProtocol]:
    """Whether mteb would search with the model's vectors: an encoder without its own search."""
    if isinstance(model, type) or not isinstance(getattr(model, "mteb_model_meta", None), ModelMeta):
        return False
    return isinstance(model, EncoderProtocol) and not isinstance(model, SearchProtocol)


def slices_of(size: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, size)) for start in range(0, size, step))


def parts(vectors: Any) -> Iterator[Any]:
    return (vectors[part] for part in slices_of(len(vectors), _ROWS_AT_ONCE))


def as_tensor(vectors: Any) -> Tensor:
    """A matrix as a float32 tensor on the CPU; shares memory where possible."""
    import torch

    if isinstance(vectors, np.ndarray):
        return torch.from_numpy(np.require(vectors, np.float32, ["C", "W"]))
    return vectors.detach().cpu().float().contiguous()  # type: ignore[no-any-return]


def joined(chunks: list[Any], kind: str, places: NDArray[np.int64] | None = None) -> Tensor:
    """Empty a list of chunks into one float32 tensor, normalised for ``cosine``; ``places`` are the target rows."""
    import torch

    if kind == "dot" and len(chunks) == 1 and places is None:
        return as_tensor(chunks.pop())
    joined = torch.empty(sum(map(len, chunks)), chunks[0].shape[1])
    start = 0
    while chunks:
        for block in map(as_tensor, parts(chunks.pop(0))):
            part = slice(start, start + len(block))
            where = part if places is None else torch.as_tensor(places[part])
            joined[where] = torch.nn.functional.normalize(block, dim=1) if kind == "cosine" else block
            start += len(block)
    return joined


_SHORTEST = 1e-12
"""The length that torch's ``normalize`` divides by where a vector is shorter, so that its cosines are too small."""
_TOO_SHORT = f"vectors that are not zero, but shorter than {_SHORTEST:g}, which have no cosine in single precision,"


def checked_vectors(vectors: Any, count: int, blame: str, texts: Texts | None = None) -> Any:
    """The vectors of ``count`` texts as a matrix, without gradient. Without ``texts`` all of them count as different.

    Raises:
        ModelError: something else, NaN, infinity, too short a vector, or one vector for :data:`DISTINCT` different
            texts. Fewer texts, and zeros for some of the texts, are a warning: a sum of word vectors may be zero.
    """
    vectors = as_matrix(vectors, count, blame)
    with np.errstate(over="ignore"):
        norms = [as_tensor(part).norm(dim=1).numpy() for part in parts(vectors)]
    lengths = np.concatenate([np.ones(0, np.float32), *norms])
    short = np.flatnonzero(lengths < _SHORTEST)
    short = short[[bool((vectors[row] != 0).any()) for row in short]]  # a vector of zeros is one
    for what, rows in (("NaN or infinite vectors", np.flatnonzero(~np.isfinite(lengths))), (_TOO_SHORT, short)):
        if len(rows):
            which = f"{len(rows)} of {count} texts, the first is text {rows[0] + 1}"
            raise ModelError(f"{blame} gave {what} for {which}")
    if count > 1 and all(bool((part == vectors[0]).all()) for part in parts(vectors)):
        problem = f"{blame} gave the same vector for all {count} texts"
        if (count if texts is None else len(set(texts(np.arange(count))))) >= DISTINCT:
            raise ModelError(problem)
        logger.warning("%s: its score is meaningless", problem)
    elif "float" in str(vectors.dtype) and len(zeros := np.flatnonzero(lengths == 0)):  # zeros may be a code
        message = "%s gave vectors of zeros for %d of %d texts, the first is text %d: they are similar to none"
        logger.warning(message, blame, len(zeros), count, zeros[0] + 1)
    return vectors


def encode_checked(model: Any, inputs: Any, count: int, *, task_metadata: Any, **kwargs: Any) -> Any:
    """Encode a loader of ``count`` texts, check the vectors, and encode some of the texts of a large call again."""
    name = model.mteb_model_meta.name
    blame = f"model {name} on task {task_metadata.name}"
    with phase("encode"):
        vectors = model.encode(inputs, task_metadata=task_metadata, **kwargs)
    dataset = getattr(inputs, "dataset", None)
    has_texts = "text" in (getattr(dataset, "column_names", None) or ())

    def texts(rows: NDArray[np.int64]) -> list[str]:
        found: list[str] = dataset.select(rows)["text"][:]  # type: ignore[union-attr]
        return found

    vectors = checked_vectors(vectors, count, blame, texts if has_texts else None)
    if getattr(model, "stores_vectors", False) or not has_texts:
        return vectors  # a store checks what it saves

    def again(rows: NDArray[np.int64]) -> Any:
        loader = loader_of(inputs, [], rows, inputs.batch_size or len(rows), True)
        return model.encode(loader, task_metadata=task_metadata, **kwargs)

    with phase("check"):  # not the time of the model, which a sweep reports
        check_company(vectors, texts, again, blame)
    return vectors


class Checked:
    """An encoder with checked vectors; all but ``encode`` is the wrapped model's."""

    def __init__(self, model: Any, *, single: bool = False) -> None:
        self.model = model
        self.single = single

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """Identity of the wrapped model; declared, so that it is found among the components."""
        return cast("ModelMeta", self.model.mteb_model_meta)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def encode(self, inputs: Any, *, task_metadata: Any, **kwargs: Any) -> Any:
        found = encode_checked(self.model, inputs, len(inputs.dataset), task_metadata=task_metadata, **kwargs)
        return found.float() if self.single and str(found.dtype) == "torch.bfloat16" else found
