"""An encoder under the papers' settings: a cap on its tokens, fewer layers, edited inputs, each part of its identity.

Caps of the papers: 512 tokens for all models of Sophia-Bench (§4.2) and of DAPFAM's reference scores, 8,192 for PatenTEB. A model that
reads fewer tokens anyway is not changed by a cap, and keeps its identity.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from patent_mteb.errors import ModelError
from patent_mteb.models.robustness import InputVariant, pruned, with_settings
from patent_mteb.search.dense import is_encoder
from patent_mteb.store.settings import note

__all__ = ["AUTOCAST", "adjusted"]

AUTOCAST = "bfloat16-autocast"


def adjusted(
    model: Any, *, max_tokens: int | None = None, layers: int | None = None, input: str | None = None, autocast: bool = False
) -> Any:
    """A loaded encoder under other settings; the given one is changed and must not be used any more.

    Args:
        max_tokens: read no more tokens of a text than these.
        layers: keep this many transformer layers (:func:`~patent_mteb.models.robustness.pruned`, PatenTEB Table 9).
        input: input variant such as ``noSEP+trim[1]`` (:class:`~patent_mteb.models.robustness.InputVariant`, Table 10).
        autocast: multiply matrices in bfloat16, with weights and everything else as they are (``torch.autocast``).

    Raises:
        ModelError: the model has no such setting, or the setting is none.

    Example:
        >>> import mteb
        >>> from patent_mteb.models.adjusted import adjusted
        >>> adjusted(mteb.get_model("mteb/baseline-random-encoder"), input="noSEP").mteb_model_meta.experiment_kwargs
        {'input': 'noSEP'}
    """
    if max_tokens is None and layers is None and input is None and not autocast:
        return model
    encodes: bool = is_encoder(model)
    if not encodes:
        name = model.mteb_model_meta.name
        raise ModelError(f"'{name}' is no encoder of texts. Remedy: leave out --max-tokens, --layers, --input and --precision")
    meta, settings = model.mteb_model_meta, dict[str, Any]()
    if max_tokens is not None and _capped(_owner(model).model, max_tokens, meta.name):
        settings["max_tokens"] = max_tokens
    if layers is not None:
        owner = _owner(model)
        owner.model = pruned(owner.model, layers)
        settings["layers"] = layers
    if autocast:
        network = _owner(model).model
        network.forward = functools.partial(_autocast, network.forward, network.device.type)
        settings["precision"] = AUTOCAST
    if settings:
        model.mteb_model_meta = with_settings(meta, **settings)
    note(model)
    return model if input is None else InputVariant(model, input)


def _autocast(forward: Callable[..., Any], device: str, *arguments: Any, **options: Any) -> Any:
    import torch

    with torch.autocast(device, torch.bfloat16):
        return forward(*arguments, **options)


def _owner(model: Any) -> Any:
    """What holds the sentence-transformers model, the model itself or something inside it."""
    from sentence_transformers import SentenceTransformer

    owner = model
    while owner is not None:
        inner = getattr(owner, "model", None)
        if isinstance(inner, SentenceTransformer):
            return owner
        owner = inner
    name = model.mteb_model_meta.name
    raise ModelError(f"'{name}' is no sentence-transformers model. Remedy: leave out --max-tokens and --layers")


def _capped(network: Any, max_tokens: int, name: str | None) -> bool:
    """Cap the tokens of a text; whether that changes anything."""
    if isinstance(max_tokens, bool) or max_tokens < 1:
        raise ModelError(f"cannot read {max_tokens!r} tokens of a text. Remedy: give a positive whole number")
    length = network.max_seq_length
    if length is None or not math.isfinite(length):
        raise ModelError(f"'{name}' reads every token of a text and cannot be capped. Remedy: leave out --max-tokens")
    if length <= max_tokens:
        return False
    network.max_seq_length = max_tokens
    return True
