"""Long texts as the mean vector of their spans: ``8x512`` reads up to 8 spans of 512 tokens.

Passages keep a vector a passage and aggregate scores (DAPFAM §5.4). Spans make one vector a text, on both sides of a
search and in every other task, so that the index stays as small as that of whole texts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from patent_mteb.errors import ModelError
from patent_mteb.models.robustness import EditedInput, with_settings
from patent_mteb.search.vectors import is_encoder

if TYPE_CHECKING:
    from mteb.models import EncoderProtocol
    from torch.utils.data import DataLoader

_TEXTS = 4096
"""Texts whose spans are encoded together: with 8 spans of 1,024 dimensions, 130 MB of vectors."""


def parse(name: str) -> tuple[int, int]:
    """Read ``8x512`` as (8, 512): the greatest number of spans, and their tokens."""
    found = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,5})", name)
    if found is None:
        raise ModelError(f"invalid spans '{name}'. Remedy: write their number and their tokens, such as 8x512")
    return int(found[1]), int(found[2])


class Spans(EditedInput):
    """An encoder that reads a text as consecutive spans and returns the mean of their vectors.

    The tokens of a span include special tokens and the longest prompt of the model, so that nothing within a span is
    cut off. Text beyond the last span is not read. The mean is scaled to the mean length of its vectors: a text of one
    span keeps its vector, and unit vectors give a unit vector.

    Args:
        model: an mteb encoder whose tokenizer is known.
        spans: ``<number>x<tokens>``.

    Raises:
        ModelError: ``model`` is not an encoder, already reads spans, or edits the sections of its texts; ``spans`` has
            another form; or a span has no tokens left for text, or more than the model reads.

    Example:
        >>> from patent_mteb.models.spans import parse
        >>> parse("8x512")
        (8, 512)
    """

    def __init__(self, model: EncoderProtocol, spans: str) -> None:
        self.count, self.tokens = parse(spans)
        meta = model.mteb_model_meta
        if not is_encoder(model):
            raise ModelError(f"{meta.name} does not embed texts, so it reads no spans. Remedy: leave out --spans")
        if "spans" in (meta.experiment_kwargs or {}):
            raise ModelError(f"model '{meta.name}' already reads spans. Remedy: give them once")
        super().__init__(model, None, with_settings(meta, spans=spans))

    def _window(self) -> Any:
        from patent_mteb.search.passages import TokenWindows, inner_models, special_tokens, tokenizer_of

        tokenizer = tokenizer_of(self.model)
        chain = list(inner_models(self.model))
        limits = [limit for one in chain if isinstance(limit := getattr(one, "max_seq_length", None), int)]
        name = self.mteb_model_meta.name
        if any(isinstance(one, EditedInput) for one in chain):
            raise ModelError(f"{name} edits the sections of a text, which spans do not show. Remedy: leave out --spans")
        if limits and self.tokens > limits[0]:
            raise ModelError(f"{name} reads {limits[0]} tokens of a text, not {self.tokens}. Remedy: shorten --spans")
        special = max(map(special_tokens, chain))
        known: dict[str, str] = next((found for one in chain if (found := getattr(one, "model_prompts", None))), {})
        left = self.tokens - special - max(map(len, tokenizer.starts(["", *map(str, known.values())])))
        if left < 1:
            problem = f"the special tokens and prompts of {name} fill spans of {self.tokens} tokens"
            raise ModelError(f"{problem}. Remedy: lengthen --spans")
        return TokenWindows(left, tokenizer=tokenizer)

    def encode(self, inputs: DataLoader[Any], *, task_metadata: Any, **kwargs: Any) -> Any:
        """Return vectors [n, dimensions], fp32; arguments as in mteb's ``EncoderProtocol``."""
        from patent_mteb.store.batches import text_loader

        texts = [text for batch in inputs for text in batch["text"]]
        cut = self._window()
        blocks = []
        for start in range(0, len(texts), _TEXTS):
            block = texts[start : start + _TEXTS]
            windows = zip(block, cut([{"text": text} for text in block]), strict=True)
            spans = [[text] if len(found) == 1 else found[: self.count] for text, found in windows]
            loader = text_loader([span for found in spans for span in found], inputs.batch_size or 32)
            vectors: Any = self.model.encode(loader, task_metadata=task_metadata, **kwargs)
            if hasattr(vectors, "detach"):
                vectors = vectors.detach().cpu().float().numpy()
            blocks.append(_means(np.asarray(vectors, np.float32), [len(found) for found in spans]))
        return np.concatenate(blocks) if blocks else np.empty((0, 0), np.float32)


def _means(vectors: Any, counts: list[int]) -> Any:
    """The mean of each group of consecutive vectors, scaled to the mean length of the group."""
    starts = np.cumsum([0, *counts[:-1]])
    sizes = np.array(counts)[:, None]
    means = np.add.reduceat(vectors, starts, axis=0, dtype=np.float64) / sizes
    lengths = np.add.reduceat(np.linalg.norm(vectors, axis=1), starts, dtype=np.float64)[:, None] / sizes
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    scaled = means * np.divide(lengths, norms, out=np.zeros_like(norms), where=norms > 0)
    return np.where(sizes == 1, vectors[starts], scaled).astype(np.float32)
