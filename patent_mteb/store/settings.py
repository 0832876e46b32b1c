"""Identity of a model with its current settings.

A model is recorded when the suite loads it or first sees it: maximum length, number type, truncation, modules, prompts,
similarity, and a fingerprint of its weights. Later changes (``model.model.max_seq_length = 128``, a training step) and
arguments of ``encode`` that change vectors enter its identity as a digest, ``experiment_kwargs["settings"]``.

Models of this suite report their changes themselves (:class:`LiveIdentity`), and so do mteb's own models from their
first task of the suite on. mteb looks up results of any other model before it calls a task:
:func:`with_current_settings` sets the identity before that, and :func:`check_identity` refuses a score that would be
saved under the name of other settings.

No list of settings is complete, so all plain attributes of all modules, all buffers, the whole tokenizer and a sample
of each weight count. Digests of modules and tokenizer differ between versions of transformers and tokenizers.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import numpy as np
from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import ModelError
from patent_mteb.identity import digest, local_name, unambiguous_settings
from patent_mteb.store.resolve import facts_of, kind_of, placed, plain, qualified, use_role_prompts

_SAMPLE = 4096
_WHOLE = 1 << 16  # tensors of at most this many elements are read completely
_STRIDE = 2_654_435_761  # prime, so that the sampled positions of a tensor cover all residues
_UNRELATED = frozenset({"training", "name_or_path", "gradient_checkpointing", "loss_type", "is_hpu_graph_enabled"})
"""Attributes that do not change vectors."""

_UNRELATED_CONFIG = frozenset({"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version"})
_GROWING = ("cache", "cached", "seen")  # parts of the names of attributes that modules change while they run
_DYNAMIC_ROPE = ("dynamic", "longrope")  # rotary embeddings that recompute their frequencies for a longer text


def _values(tensors: Iterable[tuple[str, Any]]) -> list[Any]:
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
        attributes = {
            key: value
            for key, value in vars(module).items()
            if _counts(key) and key not in ignored and _is_plain(value)
        }
        found.append([name, qualified(type(module)), plain(attributes)])
        config = getattr(module, "config", None)
        if hasattr(config, "to_dict"):
            configs.setdefault(id(config), config)
    for config in configs.values():
        settings = config.to_dict()
        found.append(plain({key: value for key, value in settings.items() if key not in _UNRELATED_CONFIG}))
    return digest([found, _values(_buffers(network))])


def _counts(name: str) -> bool:
    return not name.startswith("_") and name not in _UNRELATED and not any(word in name for word in _GROWING)


def _is_plain(value: Any) -> bool:
    """Whether an attribute is a setting: a number, string, type or function, or a list or tuple of these."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    if value is None or isinstance(value, (bool, int, float, str)):
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
    memo: dict[str, tuple[Any, str]] = getattr(tokenizer, "__dict__", {})
    state = _state(backend)
    if memo.get(_MEMO, ("", ""))[0] == state:
        return memo[_MEMO][1]
    text = backend.to_str()
    found = digest(text[text.index('"added_tokens"') :])  # version, truncation and padding come first
    memo[_MEMO] = (state, found)
    return found


_MEMO = "_patent_mteb_digest"
_PROBE = "Ünïcode No. 1,234: the pump (10) comprises [SEP] 一种泵 насос\n"


def _state(backend: Any) -> Any:
    """A cheap summary of a tokenizer: writing a large one takes tens of milliseconds."""
    parts = (backend.normalizer, backend.pre_tokenizer, backend.post_processor)
    pieces = tuple(None if part is None else part.__getstate__() for part in parts)
    added = tuple(sorted((key, repr(token)) for key, token in backend.get_added_tokens_decoder().items()))
    return pieces, added, backend.get_vocab_size(), tuple(backend.encode(_PROBE).ids)


_ABOUT_OUTPUT = {"show_progress_bar", "precision", "convert_to_numpy", "convert_to_tensor"}
NEUTRAL = frozenset({"batch_size", "batch_tokens", "device", "pool", "chunk_size"} | _ABOUT_OUTPUT)
"""Arguments of ``encode`` that do not change vectors; mteb itself separates results by precision."""

_DEFAULTS = {"output_value": "sentence_embedding", "normalize_embeddings": False}
_NOTE = "_patent_mteb_at_load"
_SETTINGS = "settings"
DIGESTS = ("weights", "modules", "tokenizer")  # names of the digests of a model
_PER_CALL = frozenset({"int8", "uint8", "binary", "ubinary"})
_Model = TypeVar("_Model")
_UNDECLARED: Any = SimpleNamespace(loader_kwargs={}, experiment_kwargs={}, max_tokens=None)


def network_of(model: Any) -> Any:
    """The torch module inside a model, None if there is none. Does not import torch: without it, nothing is one."""
    if (torch := sys.modules.get("torch")) is None:
        return None
    candidates = (getattr(model, "model", None), getattr(getattr(model, "_encoder", None), "model", None), model)
    return next((one for one in candidates if isinstance(one, torch.nn.Module)), None)


def _live(model: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Current settings of a single model: of its wrapper, and of the wrapped model."""
    facts = facts_of(model, _UNDECLARED)
    named = ("encoder", "loader_kwargs", "experiment_kwargs")
    wrapper = {name: value for name, value in facts.settings.items() if name not in named}
    core: dict[str, Any] = dict(wrapper.pop("sentence_transformer", {}))
    if hasattr(model, "own_prompts"):
        wrapper["prompts"] = plain(model.own_prompts)
    else:
        given = {name: getattr(model, name, None) for name in ("model_prompts", "prompts_dict")}
        wrapper |= {name: plain(prompts) for name, prompts in given.items() if prompts}
    if facts.core is not None:
        core |= {"prompts": _reachable_prompts(facts.core, wrapper), "similarity": facts.core["similarity"]}
    network = network_of(model)
    if network is None:
        return [(model, wrapper)]
    core |= {f"{name}_digest": value for name, value in _digests(model, network).items()}
    return [(model, wrapper), (network, core)] if network is not model else [(model, wrapper | core)]


def _digests(model: Any, network: Any) -> dict[str, str]:
    tokenizer = next(filter(None, (getattr(one, "tokenizer", None) for one in (network, model))), None)
    volatile = getattr(getattr(model, "_encoder", None), "volatile", ())  # PyLate sets the length by role
    weights = digest(_values(network.named_parameters()))
    found = (weights, modules_digest(network, volatile), tokenizer_digest(tokenizer))
    return dict(zip(DIGESTS, found, strict=True))


def _reachable_prompts(core: Mapping[str, Any], wrapper: Mapping[str, Any]) -> dict[str, Any]:
    """Prompts of a sentence-transformers model that its wrapper does not override."""
    prompts = core["prompts"]
    hidden = wrapper.get("model_prompts") or {}
    roles = {role: prompts[role] for role in ("query", "document", "passage", "corpus") if role in prompts}
    reachable = {role: text for role, text in roles.items() if role not in hidden}
    return {**reachable, "default": prompts.get(core["default_prompt_name"])}


def live_settings(model: Any) -> list[dict[str, Any]]:
    return [settings for _, settings in _live(model)]


def note(model: _Model) -> _Model:
    """Record the settings of a newly loaded model, with the prompts of its roles, and return it."""
    for leaf in leaves(model):
        use_role_prompts(leaf)
        for owner, settings in _live(leaf):
            _write(owner, settings)
    return model


def _write(owner: Any, settings: dict[str, Any]) -> None:
    if hasattr(owner, "__dict__"):
        vars(owner)[_NOTE] = settings


def _changes(model: Any) -> dict[str, Any]:
    """Settings of a single model that differ from its record, made now if missing."""
    changed: dict[str, Any] = {}
    network = network_of(model)
    if network is not None and next(network.parameters(), None) is not None:
        import torch

        if (precision := torch.get_float32_matmul_precision()) != "highest":
            changed["float32_matmul_precision"] = precision
    for owner, settings in _live(model):
        known = getattr(owner, "__dict__", {}).get(_NOTE)
        if known is None:
            _write(owner, settings)
            continue
        names = [name for name in known.keys() | settings.keys() if known.get(name) != settings.get(name)]
        changed |= {name: settings.get(name) for name in names}
    return changed


def unseen_changes(model: Any) -> dict[str, Any]:
    """Changes since loading that the settings of a model do not show, by name."""
    names = {**{f"{name}_digest": name for name in DIGESTS}, "float32_matmul_precision": "float32_matmul_precision"}
    return {names[name]: value for name, value in _changes(model).items() if name in names}


def components(model: Any) -> list[Any]:
    """Models that are direct attributes of a model, also in lists."""
    lists = (
        value if isinstance(value, (list, tuple)) else [value] for value in getattr(model, "__dict__", {}).values()
    )
    return [part for parts in lists if parts and _is_model(parts[0]) for part in parts if _is_model(part)]


def leaves(model: Any, unloaded: bool = False) -> Iterator[Any]:
    """Yield the models inside a model that contain no others, with ``unloaded`` those without weights too."""
    pending, seen = [model], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if getattr(one, "loaded", True) is False:  # nothing to change
            if unloaded:
                yield one
            continue
        inside = components(one)
        pending += reversed(inside)
        if not inside:
            yield one


def _is_model(value: Any) -> bool:
    return hasattr(type(value), "mteb_model_meta") or "mteb_model_meta" in getattr(value, "__dict__", {})


def _added(meta: ModelMeta, digests: list[str]) -> ModelMeta:
    experiment = dict(meta.experiment_kwargs or {})
    known = json.dumps(experiment, default=str)
    missing = [one for one in dict.fromkeys(digests) if one not in known]
    if not missing:
        return meta
    settings = "-".join([*filter(None, [experiment.get(_SETTINGS)]), *missing])
    return meta.model_copy(update={"experiment_kwargs": {**experiment, _SETTINGS: settings}})


def _with_changes(meta: ModelMeta, model: Any) -> ModelMeta:
    return _added(meta, [digest(changed) for leaf in leaves(model) if (changed := _changes(leaf))])


def live_meta(model: Any) -> ModelMeta:
    return _with_changes(model.mteb_model_meta, model)


class LiveIdentity:
    """A model whose ``mteb_model_meta`` follows its settings; the first base class."""

    usual_settings: ClassVar[Mapping[str, Any]] = {}  # see identity.unambiguous_settings
    loaded_revision: str | None = None  # of the loaded files, whatever the metadata say; None if unknown

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """The metadata that were set, with a digest of the changes since loading."""
        try:
            given: ModelMeta = vars(self)["_given_meta"]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no mteb_model_meta yet") from None
        return _with_changes(given, self)

    @mteb_model_meta.setter
    def mteb_model_meta(self, meta: ModelMeta) -> None:
        if "output_dtypes" in (meta.experiment_kwargs or {}):
            raise ModelError(
                f"mteb's CompressionWrapper would save the plain scores of {meta.name} as those of its quantised"
                " vectors. Remedy: patent_mteb.models.Quantised(model, 'int8'), which has an identity of its own"
            )
        apart = unambiguous_settings(meta.experiment_kwargs or {}, self.usual_settings)
        changed: dict[str, Any] = {} if apart == (meta.experiment_kwargs or {}) else {"experiment_kwargs": apart}
        if self.loaded_revision not in (None, meta.revision):
            changed["revision"] = self.loaded_revision
        vars(self)["_given_meta"] = meta.model_copy(update=changed) if changed else meta

    def __repr__(self) -> str:
        meta = self.mteb_model_meta
        settings = f" ({meta.experiment_name})" if meta.experiment_name else ""
        return f"{type(self).__name__}({meta.name}{settings} @{str(meta.revision)[:12]})"[:200]


def _follow_settings(model: Any) -> None:
    """Let the identity of one of mteb's own models follow its settings.

    mteb looks up a result before it calls a task, so a refusal in the task is too late for a change after the first
    score. The object gets a subclass of its class, which adds the members of :class:`LiveIdentity` only.
    """
    kind = type(model)
    if kind_of(model) == "unknown" or "mteb_model_meta" not in getattr(model, "__dict__", {}):
        return
    added = {
        name: LiveIdentity.__dict__[name]
        for name in ("mteb_model_meta", "usual_settings", "loaded_revision", "__repr__")
    }
    same = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    vars(model)["_given_meta"] = vars(model).pop("mteb_model_meta")
    model.__class__ = type(kind.__name__, (kind,), {**same, **added})


def effective_kwargs(encode_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Arguments of ``encode`` that change vectors and are not defaults."""
    return {
        name: plain(value)
        for name, value in (encode_kwargs or {}).items()
        if name not in NEUTRAL and value is not None and value != _DEFAULTS.get(name)
    }


def _current_meta(model: Any, given: ModelMeta, encode_kwargs: Mapping[str, Any] | None) -> ModelMeta:
    """Metadata of a model with its current settings and the arguments of ``encode``; the same object if none counts."""
    meta = _with_changes(given, model)
    effective = effective_kwargs(encode_kwargs)
    return _added(meta, [digest({"encode_kwargs": effective})]) if effective else meta


def with_current_settings(model: Any, encode_kwargs: Mapping[str, Any] | None = None) -> Any:
    """Return the model under an identity with its settings and encode arguments."""
    if isinstance(model, ModelMeta):
        model = placed(model)
        if not effective_kwargs(encode_kwargs):
            return model
        model = note(model.load_model())
    if getattr(model, "mteb_model_meta", None) is None:
        return model
    given = model.mteb_model_meta
    meta = _current_meta(model, given, encode_kwargs)
    if meta is given:
        return model
    renamed = copy.copy(model)
    renamed.mteb_model_meta = meta
    return renamed


def is_nameless(meta: ModelMeta | None) -> bool:
    """Whether results of a model would be mixed up with those of other models without a name."""
    return meta is None or not meta.name or meta.name.startswith("no_model_name")


def name_by_content(model: Any) -> bool:
    """Name a wrapped sentence-transformers model after its folder, with a digest of its content as revision.

    mteb saves the score under the same object of metadata. Return whether the model is one.
    """
    meta, network = getattr(model, "mteb_model_meta", None), network_of(model)
    if meta is None or network is None or not type(network).__module__.startswith("sentence_transformers."):
        return False
    configs = (getattr(module, "config", None) for module in network.modules())
    paths = (Path(path) for config in configs if (path := getattr(config, "_name_or_path", "")))
    folder = next((path for path in paths if path.is_dir()), Path(type(network).__name__))
    vars(meta).update(name=local_name(folder), revision=digest(live_settings(model)))  # mteb holds this very object
    return True


def check_identity(model: Any, encode_kwargs: Mapping[str, Any] | None = None) -> None:
    """Refuse a model whose score would be saved under the name of another identity.

    A sentence-transformers model without a name receives one.
    """
    meta: Any = getattr(model, "mteb_model_meta", None)
    if is_nameless(meta) and not name_by_content(model):
        raise ModelError(
            f"{type(model).__name__} has no name, so its score would be mixed up with those of other nameless models. "
            "Remedy: load it with patent_mteb.models.load, or give its mteb_model_meta a name and a revision"
        )
    for leaf in leaves(model):
        _follow_settings(leaf)
    if (precision := (encode_kwargs or {}).get("precision")) in _PER_CALL:
        raise ModelError(
            f"{meta.name}: with precision={precision!r} among encode_kwargs the vectors of each call get ranges of"
            " their own, and those of two calls cannot be compared. Remedy: --precision int8, or"
            " patent_mteb.models.Quantised(model, 'int8')"
        )
    if _current_meta(model, meta, encode_kwargs) is not meta:
        changed = sorted({name for leaf in leaves(model) for name in _changes(leaf)})
        why = f"settings changed since it was loaded ({', '.join(changed)})"
        if not changed:
            why = f"encode_kwargs {dict(encode_kwargs or {})}"
        raise ModelError(
            f"{meta.name}: its result would be saved among those of other settings, because mteb does not know of"
            f" {why}. Remedy: evaluate patent_mteb.store.settings.with_current_settings(model, encode_kwargs), which"
            " has its own identity, or use patent_mteb.evaluate"
        )


def model_facts(model: Any) -> dict[str, Any]:
    """Name, settings, digests and hardware of a model."""
    meta: ModelMeta = model.mteb_model_meta
    found = [_leaf_facts(leaf) for leaf in leaves(model, unloaded=True)]
    return {
        "name": meta.name,
        "revision": meta.revision,
        "settings": digest([plain(dict(meta.experiment_kwargs or {})), [one["settings"] for one in found]], 32),
        **{name: _combined([one[name] for one in found if one[name] is not None]) for name in DIGESTS},
        **{what: ", ".join(dict.fromkeys(filter(None, (one[what] for one in found)))) for what in _COMPUTED},
    }


def _combined(digests: Sequence[str]) -> str:
    """One digest of the digests of all components, empty if one is unknown."""
    return digests[0] if len(digests) == 1 else digest(digests, 32) if digests and all(digests) else ""


_COMPUTED = ("device", "dtype", "max_tokens")


def _leaf_facts(leaf: Any) -> dict[str, Any]:
    """Settings, device, number type and digests of a model; a digest is None without content, "" if unknown."""
    unloaded = getattr(leaf, "loaded", True) is False
    facts, network = (leaf.facts(), None) if unloaded else (facts_of(leaf, leaf.mteb_model_meta), network_of(leaf))
    known = {"settings": asdict(facts), "device": "", "dtype": "", "max_tokens": facts.max_tokens}
    weight = None if network is None else next(network.parameters(), None)
    if network is None or weight is None:
        digests = {name: str(leaf.noted(name) or "") for name in DIGESTS} if unloaded else dict.fromkeys(DIGESTS)
        return {**known, **digests}
    device = str(weight.device)
    if weight.device.type == "cuda":
        import torch

        device += f" ({torch.cuda.get_device_name(weight.device)})"
    return {**known, **_digests(leaf, network), "device": device, "dtype": str(weight.dtype)}
