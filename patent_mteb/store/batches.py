"""What an mteb loader of batches holds: its texts, the rows that they stand in, and a loader of some of them.

An encoder of mteb is handed a ``DataLoader`` over a table. The store asks for all texts first, encodes those that it
lacks, and gives the encoder a loader of these made as mteb would have made it.

Where a token budget is given (``batch_tokens``), batches are made by tokens: longest first, as many texts as fill the
budget with what they are padded to. Texts in the order of their characters, as sentence-transformers takes them, are
padded much more: of 2,000 real abstracts 22% of what MiniLM computes is padding with 32 a batch, of whole titles,
abstracts and claims 34%; by tokens it is 1% and 3%.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import ModelError
from patent_mteb.patents.corpus import text_dataset
from patent_mteb.store.resolve import plain

_CHARACTERS_A_TOKEN = 16
"""A text of more than so many characters for each token that a model reads fills it; its rest needs no counting."""
_COUNTED_AT_ONCE = 1000
_OTHER_MODALITIES = frozenset({"image", "audio", "video"})


def texts_of(inputs: Any) -> list[str] | None:
    """The texts that an encoder reads from the batches, None if it reads something else."""
    dataset = getattr(inputs, "dataset", None)
    columns = set(getattr(dataset, "column_names", None) or ())
    if columns & _OTHER_MODALITIES or (columns and "text" not in columns):
        return None
    if (column := _column(inputs, dataset)) is not None:
        texts = column
    else:
        texts = []
        for batch in inputs:
            if "text" not in batch or _OTHER_MODALITIES & batch.keys():
                return None
            texts += batch["text"]
    return texts if all(isinstance(text, str) for text in texts) else None


def _column(inputs: Any, dataset: Any) -> list[Any] | None:
    """The texts straight from the table, which is much faster than by batches; None if the batches may hold others."""
    from datasets import Dataset
    from torch.utils.data import SequentialSampler

    if not isinstance(dataset, Dataset) or "text" not in dataset.column_names or not len(dataset):
        return None
    if (
        not isinstance(getattr(inputs, "sampler", None), SequentialSampler)
        or inputs.drop_last
        or dataset.format["type"] is not None
    ):
        return None
    if list(inputs.collate_fn([dataset[0]]).get("text", ())) != [dataset[0]["text"]]:
        return None
    return list(dataset["text"][:])


def rows_of(inputs: Any, texts: list[str]) -> Iterator[str]:
    """Each text with all the columns that an encoder might read beside it."""
    dataset = getattr(inputs, "dataset", None)
    names = sorted(set(getattr(dataset, "column_names", None) or ()) - {"id", "text"})
    if not names:
        yield from texts
        return
    assert dataset is not None
    for text, row in zip(texts, dataset.select_columns(names), strict=True):
        yield json.dumps([text, plain(row)], sort_keys=True)


def loader_of(inputs: Any, texts: list[str], chosen: NDArray[np.int64], batch_size: int, whole_row: bool) -> Any:
    """A loader of some of the texts, as mteb would have made it for them."""
    from datasets import Dataset
    from torch.utils.data import DataLoader

    dataset = getattr(inputs, "dataset", None)
    if whole_row and isinstance(dataset, Dataset):
        return DataLoader(dataset.select(chosen.tolist()), batch_size=batch_size, collate_fn=inputs.collate_fn)
    rows: Any = text_dataset({"text": [texts[i] for i in chosen]})
    return DataLoader(rows, batch_size=batch_size)


def token_lengths(encoder: Any, texts: Sequence[str]) -> NDArray[np.int64]:
    """Tokens that a sentence-transformers model reads of each text."""
    core = getattr(encoder, "model", None)
    tokenizer = getattr(core, "tokenizer", None)
    if not callable(tokenizer):
        raise ModelError(
            f"{encoder.mteb_model_meta.name} has no tokenizer to count by. Remedy: leave out --batch-tokens"
        )
    most = getattr(core, "max_seq_length", None)
    most = int(most) if most and np.isfinite(most) else None
    counts: list[int] = []
    for start in range(0, len(texts), _COUNTED_AT_ONCE):
        some = [
            text if most is None else text[: most * _CHARACTERS_A_TOKEN]
            for text in texts[start : start + _COUNTED_AT_ONCE]
        ]
        counts += map(len, tokenizer(some, truncation=most is not None, max_length=most)["input_ids"])
    return np.array(counts, np.int64)


def within_budget(lengths: NDArray[np.int64], budget: int) -> list[NDArray[np.int64]]:
    """Positions of texts, batch by batch, longest first: each as large as fits into the budget once padded, but at
    least one text.
    """
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, budget // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches
