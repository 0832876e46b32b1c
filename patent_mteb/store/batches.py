"""Texts of an mteb loader, and loaders of some of its texts.

With a token budget (``batch_tokens``), a batch holds as many texts as fill the budget after padding, longest first.
sentence-transformers orders texts by characters, which pads more: 22% of what MiniLM computes for 2,000 real abstracts
with 32 texts a batch is padding, and 1% with a token budget.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.model_identity.prompts import plain
from patent_mteb.patents.corpus import text_dataset

_CHARACTERS_A_TOKEN = 16  # only the first 16 characters a token of the model's limit are counted
_COUNTED_AT_ONCE = 1000  # texts whose tokens are counted together
_OTHER_MODALITIES = frozenset({"image", "audio", "video"})


def texts_of(inputs: Any) -> list[str] | None:
    """Return the texts of a loader, None if it holds anything else (images, sound)."""
    dataset = getattr(inputs, "dataset", None)
    columns = set(getattr(dataset, "column_names", None) or ())
    if columns & _OTHER_MODALITIES or (columns and "text" not in columns):
        return None
    texts = _column(inputs, dataset)
    if texts is None:
        texts = []
        for batch in inputs:
            if "text" not in batch or _OTHER_MODALITIES & batch.keys():
                return None
            texts += batch["text"]
    return texts if all(isinstance(text, str) for text in texts) else None


def _column(inputs: Any, dataset: Any) -> list[Any] | None:
    """Return the texts of the table itself, which is fast; None if the batches may hold other texts."""
    from datasets import Dataset
    from torch.utils.data import SequentialSampler

    if not isinstance(dataset, Dataset) or "text" not in dataset.column_names or not len(dataset):
        return None
    in_order = isinstance(getattr(inputs, "sampler", None), SequentialSampler) and not inputs.drop_last
    if not in_order or dataset.format["type"] is not None:
        return None
    if list(inputs.collate_fn([dataset[0]]).get("text", ())) != [dataset[0]["text"]]:
        return None
    return list(dataset["text"][:])


def rows_of(inputs: Any, texts: list[str]) -> Iterator[str]:
    """Yield each text with all columns that an encoder may read."""
    dataset = getattr(inputs, "dataset", None)
    names = sorted(set(getattr(dataset, "column_names", None) or ()) - {"id", "text"})
    if not names:
        yield from texts
        return
    assert dataset is not None
    for text, row in zip(texts, dataset.select_columns(names), strict=True):
        yield json.dumps([text, plain(row)], sort_keys=True)


def loader_of(inputs: Any, texts: list[str], chosen: NDArray[np.int64], batch_size: int, whole_row: bool) -> Any:
    """Return a loader of some of the texts, made as mteb makes it."""
    from datasets import Dataset
    from torch.utils.data import DataLoader

    dataset = getattr(inputs, "dataset", None)
    if whole_row and isinstance(dataset, Dataset):
        return DataLoader(dataset.select(chosen.tolist()), batch_size=batch_size, collate_fn=inputs.collate_fn)
    return text_loader([texts[i] for i in chosen], batch_size)


def text_loader(texts: list[str], batch_size: int) -> Any:
    from torch.utils.data import DataLoader

    rows: Any = text_dataset({"text": texts})
    return DataLoader(rows, batch_size=batch_size)


def as_array(found: Any) -> NDArray[Any]:
    """Output of a model as a NumPy array, from NumPy or torch in any precision."""
    if hasattr(found, "detach"):
        found = (found.detach().to_dense() if found.is_sparse else found.detach()).cpu()
        found = found.float().numpy() if found.is_floating_point() else found.numpy()
    return np.asarray(found)


def as_matrix(vectors: Any, count: int, blame: str | None) -> Any:
    """Check the output of an encoder. Returns one vector a text, as a NumPy array or a torch tensor of real numbers.

    Raises:
        ModelError: it is sparse, ragged, complex, without values, or has another shape.
    """
    if not hasattr(type(vectors), "shape") and not hasattr(vectors, "__len__"):
        raise ModelError(f"{blame} gave a {type(vectors).__name__} instead of vectors")
    problem = "a SciPy matrix" if scipy.sparse.issparse(vectors) else ""
    try:
        if not problem and not hasattr(vectors, "detach"):
            vectors = _array(vectors)
        if hasattr(vectors, "detach"):
            vectors, problem = vectors.detach(), _unusable_tensor(vectors)
        elif not problem and vectors.dtype.kind not in "fiu":
            problem = f"an array of {vectors.dtype}"
    except (RuntimeError, TypeError, ValueError) as error:
        problem = f"a {type(vectors).__name__} that is not an array ({error})"
    if not problem and vectors.ndim and len(vectors) != count:
        raise ModelError(f"{blame} gave {len(vectors)} vectors for {count} texts")
    if not problem and (vectors.ndim != 2 or not vectors.shape[1]):
        problem = f"an array of shape {tuple(vectors.shape)}"
    if problem:
        remedy = "return one vector of real numbers for each text, as a dense array [texts, dimensions]"
        raise ModelError(f"{blame} gave {problem} for {count} texts", remedy=remedy)
    return vectors


def _array(vectors: Any) -> Any:
    """A list of arrays or tensors as one array or tensor; truth values and objects become numbers."""
    if isinstance(vectors, (list, tuple)) and vectors and all(hasattr(row, "detach") for row in vectors):
        import torch

        return torch.stack(tuple(vectors))
    found = np.asarray(vectors)
    if found.dtype.kind == "f" and found.dtype.itemsize > 8:  # torch has no longdouble
        return found.astype(np.float64)
    return found.astype(np.float32) if found.dtype.kind in "bO" else found


def _unusable_tensor(vectors: Any) -> str:
    """Why a torch tensor is not a matrix of real numbers; empty if it is one."""
    if vectors.is_nested:
        return "a nested tensor"
    if str(vectors.layout) != "torch.strided":
        return f"a tensor of layout {vectors.layout}"
    if vectors.is_meta:
        return "a tensor without values (device meta)"
    return f"a tensor of {vectors.dtype}" if vectors.is_complex() or vectors.is_quantized else ""


def token_lengths(encoder: Any, texts: Sequence[str]) -> NDArray[np.int64]:
    """Number of tokens that a sentence-transformers model reads of each text."""
    core = getattr(encoder, "model", None)
    tokenizer = getattr(core, "tokenizer", None)
    if not callable(tokenizer):
        raise ModelError(
            f"{encoder.mteb_model_meta.name} has no tokenizer to count by", remedy="leave out --batch-tokens"
        )
    most = getattr(core, "max_seq_length", None)
    most = int(most) if most and np.isfinite(most) else None
    limit = None if most is None else most * _CHARACTERS_A_TOKEN
    counts: list[int] = []
    for start in range(0, len(texts), _COUNTED_AT_ONCE):
        some = [text[:limit] for text in texts[start : start + _COUNTED_AT_ONCE]]
        counts += map(len, tokenizer(some, truncation=most is not None, max_length=most)["input_ids"])
    return np.array(counts, np.int64)


def within_budget(lengths: NDArray[np.int64], budget: int) -> list[NDArray[np.int64]]:
    """Return batches of positions, longest text first, of one text at least and within the padded budget."""
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, budget // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches
