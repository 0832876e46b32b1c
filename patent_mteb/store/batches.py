"""What an mteb loader of batches holds: its texts, the rows that they stand in, and a loader of some of them.

An encoder of mteb is handed a ``DataLoader`` over a table. The store asks for all texts first, encodes those that it lacks, and
gives the encoder a loader of these made as mteb would have made it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.store.resolve import plain

__all__ = ["loader_of", "rows_of", "texts_of"]

_OTHER_MODALITIES = frozenset({"image", "audio", "video"})


def texts_of(inputs: Any) -> list[str] | None:
    """The texts that an encoder reads from the batches, None if it reads something else.

    Example:
        >>> from datasets import Dataset
        >>> from torch.utils.data import DataLoader
        >>> from patent_mteb.store.batches import texts_of
        >>> texts_of(DataLoader(Dataset.from_dict({"text": ["a", "b", "c"]}), batch_size=2))
        ['a', 'b', 'c']
    """
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
    if not isinstance(getattr(inputs, "sampler", None), SequentialSampler) or inputs.drop_last or dataset.format["type"] is not None:
        return None
    if list(inputs.collate_fn([dataset[0]]).get("text", ())) != [dataset[0]["text"]]:
        return None
    return list(dataset["text"])


def rows_of(inputs: Any, texts: list[str]) -> Iterator[str]:
    """Each text with all the columns that an encoder might read beside it.

    Example:
        >>> from datasets import Dataset
        >>> from torch.utils.data import DataLoader
        >>> from patent_mteb.store.batches import rows_of
        >>> inputs = DataLoader(Dataset.from_dict({"text": ["a"], "title": ["t"]}))
        >>> list(rows_of(inputs, ["a"]))
        ['["a", {"title": "t"}]']
    """
    dataset = getattr(inputs, "dataset", None)
    names = sorted(set(getattr(dataset, "column_names", None) or ()) - {"id", "text"})
    if not names:
        yield from texts
        return
    assert dataset is not None
    for text, row in zip(texts, dataset.select_columns(names), strict=True):
        yield json.dumps([text, plain(row)], sort_keys=True)


def loader_of(inputs: Any, texts: list[str], chosen: NDArray[np.int64], batch_size: int, whole_row: bool) -> Any:
    """A loader of some of the texts, as mteb would have made it for them.

    Example:
        >>> import numpy as np
        >>> from datasets import Dataset
        >>> from torch.utils.data import DataLoader
        >>> from patent_mteb.store.batches import loader_of
        >>> inputs = DataLoader(Dataset.from_dict({"text": ["a", "b", "c"]}), batch_size=2)
        >>> [batch["text"] for batch in loader_of(inputs, ["a", "b", "c"], np.array([0, 2]), 32, whole_row=False)]
        [['a', 'c']]
    """
    from datasets import Dataset
    from torch.utils.data import DataLoader

    dataset = getattr(inputs, "dataset", None)
    if whole_row and isinstance(dataset, Dataset):
        return DataLoader(dataset.select(chosen.tolist()), batch_size=batch_size, collate_fn=inputs.collate_fn)
    return DataLoader(Dataset.from_dict({"text": [texts[i] for i in chosen]}), batch_size=batch_size)
