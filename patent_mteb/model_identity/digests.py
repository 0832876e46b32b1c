"""Digests of what a loaded model consists of, and a state that shows at little cost whether it was touched.

No list of settings is complete, so all plain attributes of all modules, all buffers, the whole tokenizer and a sample
of each weight count. Digests of modules and tokenizer differ between versions of transformers and tokenizers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from patent_mteb.identity import digest
from patent_mteb.model_identity.prompts import plain, qualified

_SAMPLE = 4096  # values of a large tensor that a quick check reads
_WHOLE = 1 << 16  # tensors of at most this many elements are read completely
_STRIDE = 2_654_435_761  # prime, so that the sampled positions of a tensor cover all residues
_UNRELATED = frozenset({"training", "name_or_path", "gradient_checkpointing", "loss_type", "is_hpu_graph_enabled"})
"""Attributes that do not change vectors."""

_UNRELATED_CONFIG = frozenset({"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version"})
_GROWING = ("cache", "cached", "seen")  # parts of the names of attributes that modules change while they run
_LEARNT = {"SpladePooling": frozenset({"embedding_dimension"})}
"""Attributes that a module of this class sets at its first forward pass (sentence-transformers 6)."""
_SCALARS = (bool, int, float, str, type(None))
_DYNAMIC_ROPE = ("dynamic", "longrope")  # rotary embeddings that recompute their frequencies for a longer text


def values_digest(tensors: Iterable[tuple[str, Any]]) -> list[Any]:
    """Names, types and shapes of tensors, and one number for the values of each, in one transfer a device.

    Large tensors are sampled. Permuted or transposed weights differ. Changes of a few values of a large tensor may be
    missed; training is not.
    """
    import torch

    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    names: list[Any] = []
    sums: dict[Any, list[Any]] = {}
    for name, tensor in tensors:
        names.append([name, str(tensor.dtype), list(tensor.shape)])
        kind = kinds.get(tensor.element_size())
        if tensor.is_meta or kind is None or not tensor.numel():
            continue
        try:
            flat = tensor.detach().reshape(-1)
            positions, factors = _sampled(len(flat), tensor.device)
            bits = (flat if positions is None else flat[positions]).view(kind).to(torch.int64)
            sums.setdefault(tensor.device, []).append((bits * factors).sum())
        except (RuntimeError, NotImplementedError):
            continue  # a quantised or distributed tensor: its name, type and shape must suffice
    return [names, [value for group in sums.values() for value in torch.stack(group).tolist()]]


@lru_cache(maxsize=256)
def _sampled(size: int, device: Any) -> tuple[Any, Any]:
    """Positions to read (None for all) and an odd factor for each. Products wrap around, as in a hash."""
    import torch

    n = size if size <= _WHOLE else _SAMPLE
    positions = None if n == size else np.sort(np.arange(n, dtype=np.int64) * _STRIDE % size)
    factors = np.random.default_rng(n).integers(-(2**62), 2**62, n) * 2 + 1
    return None if positions is None else torch.from_numpy(positions).to(device), torch.from_numpy(factors).to(device)


def modules_digest(network: Any, ignored: Collection[str] = ()) -> str:
    """Digest of class, attributes, config and buffers of all modules; ``ignored`` are set for every batch."""
    configs: dict[int, Any] = {}
    found: list[Any] = []
    for name, module in network.named_modules():
        attributes = {key: value for key, value in _settings_of(module) if key not in ignored}
        found.append([name, qualified(type(module)), plain(attributes)])
        config = getattr(module, "config", None)
        if hasattr(config, "to_dict"):
            configs.setdefault(id(config), config)
    for config in configs.values():
        settings = config.to_dict()
        found.append(plain({key: value for key, value in settings.items() if key not in _UNRELATED_CONFIG}))
    return digest([found, values_digest(_buffers(network))])


def network_state(network: Any) -> list[Any]:
    """Identities and counters of all tensors, and all plain attributes: unequal if a digest may differ.

    torch counts changes in place, but not those of ``tensor.data`` or of a NumPy view: only digests show these.
    """
    found: list[Any] = []
    owners: dict[int, Any] = {}  # modules, and the configs that several of them share
    for module in network.modules():
        held = vars(module)
        for tensors in (held.get("_parameters"), held.get("_buffers")):
            known = filter(lambda tensor: tensor is not None, (tensors or {}).values())
            found += [(id(tensor), 0 if tensor.is_inference() else tensor._version) for tensor in known]
        owners[id(module)] = module
        if hasattr(config := held.get("config"), "to_dict"):
            owners[id(config)] = config
    for owner in owners.values():  # a list may change in place, its text does not
        found += [(name, value if isinstance(value, _SCALARS) else repr(value)) for name, value in _settings_of(owner)]
    return found


def _settings_of(owner: Any) -> list[tuple[str, Any]]:
    """The plain attributes of a module or a config that are settings, by name."""
    learnt = _LEARNT.get(type(owner).__name__, ())
    return [
        (name, value)
        for name, value in vars(owner).items()
        if _counts(name) and (isinstance(value, _SCALARS) or _is_plain(value)) and name not in learnt
    ]


@lru_cache(maxsize=4096)
def _counts(name: str) -> bool:
    return not name.startswith("_") and name not in _UNRELATED and not any(word in name for word in _GROWING)


def _is_plain(value: Any) -> bool:
    """Whether an attribute is a setting: a number, string, type or function, or a list or tuple of these."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    if isinstance(value, _SCALARS):
        return True
    return type(value).__name__ == "dtype" or (callable(value) and hasattr(value, "__code__"))


def _buffers(network: Any) -> Iterator[tuple[str, Any]]:
    """Constant buffers; computed floats in half precision. Their last bits differ between processors."""
    for name, module in network.named_modules():
        if getattr(module, "rope_type", None) in _DYNAMIC_ROPE:
            continue
        for key, buffer in module.named_buffers(recurse=False):
            if not any(word in key for word in _GROWING):
                yield f"{name}.{key}", buffer.half() if buffer.is_floating_point() else buffer


def tokenizer_digest(tokenizer: Any) -> str:
    """Digest of a tokenizer without padding and truncation, which change from call to call; "" for none."""
    if tokenizer is None:
        return ""
    backend = getattr(tokenizer, "backend_tokenizer", None) or tokenizer
    if not hasattr(backend, "to_str"):
        known = getattr(tokenizer, "init_kwargs", {})
        return digest(
            [type(tokenizer).__qualname__, plain(known), len(tokenizer) if hasattr(tokenizer, "__len__") else 0]
        )
    text = backend.to_str()
    return digest(text[text.index('"added_tokens"') :])  # version, truncation and padding come first


_PROBE = "Ünïcode No. 1,234: the pump (10) comprises [SEP] 一种泵 насос\n"


def tokenizer_state(tokenizer: Any) -> Any:
    """A summary of a tokenizer that takes a hundredth of the time of its digest; None for none."""
    backend = getattr(tokenizer, "backend_tokenizer", None) or tokenizer
    if not hasattr(backend, "to_str"):
        return id(backend)
    parts = (backend.normalizer, backend.pre_tokenizer, backend.post_processor)
    pieces = tuple(None if part is None else part.__getstate__() for part in parts)
    added = tuple(sorted((key, repr(token)) for key, token in backend.get_added_tokens_decoder().items()))
    return pieces, added, backend.get_vocab_size(), tuple(backend.encode(_PROBE).ids)
