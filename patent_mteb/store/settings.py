"""Settings that were changed on a loaded model: what its name and revision do not say, and its scores depend on.

A model is noted when it is loaded by the suite (or when the suite first sees it): maximal length, type, truncation, modules, prompts,
similarity, and a fingerprint of its weights. As long as nothing differs from the note its identity is that of its metadata; whatever was
changed since (``model.model.max_seq_length = 128``, ``.bfloat16()``, a step of training) goes into it as a digest,
``experiment_kwargs["settings"]``, and so do arguments of ``encode`` that change vectors.

Models of this suite say so themselves (:class:`LiveIdentity`), also to the plain ``mteb`` command, and so do mteb's own from their first
task of the suite on. For any other, mteb looks a result up before it calls a task: :func:`settled` gives the model its identity where the
suite is asked first, and :func:`check_identity`, which every task calls, refuses a score that would be filed under other settings' name.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import ModelError
from patent_mteb.identity import digest, told_apart
from patent_mteb.store.resolve import facts_of, kind_of, placed, plain

__all__ = [
    "NEUTRAL",
    "LiveIdentity",
    "check_identity",
    "fingerprint",
    "live_meta",
    "model_facts",
    "note",
    "parts_of",
    "settled",
    "weights_changed",
]

NEUTRAL = frozenset({"batch_size", "batch_tokens", "show_progress_bar", "precision", "device", "pool", "chunk_size"}) | {
    "convert_to_numpy",
    "convert_to_tensor",
}
"""Arguments of ``encode`` that need no digest: they change how vectors are made or handed over, and mteb itself files precision apart."""

_NOTE = "_patent_mteb_at_load"
_SETTINGS = "settings"
_WEIGHTS = "tensors"
_SAMPLE = 4096
_COMPRESSED = "output_dtypes"
_PER_CALL = frozenset({"int8", "uint8", "binary", "ubinary"})
_Model = TypeVar("_Model")
_UNDECLARED: Any = SimpleNamespace(loader_kwargs={}, experiment_kwargs={}, max_tokens=None)


def fingerprint(network: Any) -> str:
    """Hash of the names, types and shapes of a model's weights, and of the bits of small ones and of a sample of large ones.

    The same on every device. A change that touches a few values of a large tensor only may be missed; training is not.

    Example:
        >>> import torch
        >>> from patent_mteb.store.settings import fingerprint
        >>> layer = torch.nn.Linear(2, 2)
        >>> before = fingerprint(layer)
        >>> _ = layer.weight.data.mul_(2)
        >>> fingerprint(layer) == before
        False
    """
    import torch

    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    names: list[Any] = []
    sums: dict[Any, list[Any]] = {}
    for name, weight in network.named_parameters():
        names.append([name, str(weight.dtype), list(weight.shape)])
        kind = kinds.get(weight.element_size())
        if weight.is_meta or kind is None or not weight.numel():
            continue
        try:
            flat = weight.detach().reshape(-1)
            bits = flat[:: -(-len(flat) // _SAMPLE)].contiguous().view(kind)
            sums.setdefault(weight.device, []).append(bits.sum(dtype=torch.int64))
        except (RuntimeError, NotImplementedError):
            continue  # a quantised or distributed tensor: its name, type and shape stand for it
    return digest([names, [value for group in sums.values() for value in torch.stack(group).tolist()]])


def _network(model: Any) -> Any:
    """The torch module inside a model, None if there is none."""
    from torch.nn import Module

    for inner in (getattr(model, "model", None), getattr(getattr(model, "_encoder", None), "model", None), model):
        if isinstance(inner, Module):
            return inner
    return None


def _live(model: Any) -> list[tuple[Any, dict[str, Any]]]:
    """The settings of a model that is made of no other, as they stand: those of the wrapper, and those of what it wraps."""
    facts = facts_of(model, _UNDECLARED)
    own = {name: value for name, value in facts.settings.items() if name not in ("encoder", "loader_kwargs", "experiment_kwargs")}
    inner: dict[str, Any] = dict(own.pop("sentence_transformer", {}))
    if hasattr(model, "own_prompts"):
        own["prompts"] = plain(model.own_prompts)
    else:
        own |= {name: plain(getattr(model, name)) for name in ("model_prompts", "prompts_dict") if getattr(model, name, None)}
    if facts.core is not None:
        inner |= {name: facts.core[name] for name in ("prompts", "default_prompt_name", "similarity")}
    network = _network(model)
    if network is None:
        return [(model, own)]
    inner[_WEIGHTS] = fingerprint(network)
    return [(model, own), (network, inner)] if network is not model else [(model, own | inner)]


def note(model: _Model) -> _Model:
    """Note the settings of a model that was just loaded as those that its name stands for, and return it.

    Example:
        >>> import mteb
        >>> from patent_mteb.store.settings import live_meta, note
        >>> model = note(mteb.get_model("mteb/baseline-random-encoder"))
        >>> live_meta(model) is model.mteb_model_meta
        True
    """
    for leaf in _leaves(model):
        for owner, settings in _live(leaf):
            _write(owner, settings)
    return model


def _write(owner: Any, settings: dict[str, Any]) -> None:
    if hasattr(owner, "__dict__"):
        vars(owner)[_NOTE] = settings


def _changes(model: Any) -> dict[str, Any]:
    """What differs from the note of a model that is made of no other, which is noted now if it was not yet."""
    changed: dict[str, Any] = {}
    for owner, settings in _live(model):
        known = getattr(owner, "__dict__", {}).get(_NOTE)
        if known is None:
            _write(owner, settings)
            continue
        changed |= {name: settings.get(name) for name in known.keys() | settings.keys() if known.get(name) != settings.get(name)}
    return changed


def weights_changed(model: Any) -> str:
    """Fingerprint of a model's weights if they are not those that were loaded, else empty.

    Example:
        >>> import mteb
        >>> from patent_mteb.store.settings import weights_changed
        >>> weights_changed(mteb.get_model("mteb/baseline-random-encoder"))
        ''
    """
    return str(_changes(model).get(_WEIGHTS) or "")


def parts_of(model: Any) -> list[Any]:
    """The models that a model is directly made of, also in lists that begin with one.

    Example:
        >>> from patent_mteb.models import Hybrid, bm25
        >>> from patent_mteb.store.settings import parts_of
        >>> one, other = bm25("dapfam"), bm25("bm25s")
        >>> parts_of(Hybrid(one, other)) == [one, other]
        True
    """
    lists = (value if isinstance(value, (list, tuple)) else [value] for value in getattr(model, "__dict__", {}).values())
    return [part for parts in lists if parts and _is_model(parts[0]) for part in parts if _is_model(part)]


def _leaves(model: Any, unloaded: bool = False) -> Iterator[Any]:
    """The models that a model is made of, and that are made of none; also those whose weights were not read yet if asked for."""
    seen: set[int] = set()

    def below(one: Any) -> Iterator[Any]:
        if id(one) in seen:
            return
        seen.add(id(one))
        if getattr(one, "loaded", True) is False:  # nothing that could have been changed
            if unloaded:
                yield one
            return
        inside = parts_of(one)
        for part in inside:
            yield from below(part)
        if not inside:
            yield one

    yield from below(model)


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
    return _added(meta, [digest(changed) for leaf in _leaves(model) if (changed := _changes(leaf))])


def live_meta(model: Any) -> ModelMeta:
    """Identity of a model with the settings that it, or a model inside it, has now; its own metadata if nothing was changed.

    Example:
        >>> import mteb
        >>> from patent_mteb.store.settings import live_meta
        >>> model = mteb.get_model("mteb/baseline-random-encoder")
        >>> live_meta(model) is model.mteb_model_meta
        True
    """
    return _with_changes(model.mteb_model_meta, model)


class LiveIdentity:
    """A model whose ``mteb_model_meta`` follows its settings; to stand first among the bases.

    Attributes:
        usual_settings: see :func:`~patent_mteb.identity.told_apart`.
        loaded_revision: what the weights were loaded from, whatever the metadata say; None if nobody knows better.
    """

    usual_settings: ClassVar[Mapping[str, Any]] = {}
    loaded_revision: str | None = None

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """What was set, with a digest of whatever was changed since the model was loaded."""
        try:
            given: ModelMeta = vars(self)["_given_meta"]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no mteb_model_meta yet") from None
        return _with_changes(given, self)

    @mteb_model_meta.setter
    def mteb_model_meta(self, meta: ModelMeta) -> None:
        if _COMPRESSED in (meta.experiment_kwargs or {}):
            raise ModelError(
                f"mteb's CompressionWrapper would file the plain scores of {meta.name} as those of its quantised vectors. "
                "Remedy: patent_mteb.models.Quantised(model, 'int8'), which has an identity of its own"
            )
        apart = told_apart(meta.experiment_kwargs or {}, self.usual_settings)
        changed: dict[str, Any] = {} if apart == (meta.experiment_kwargs or {}) else {"experiment_kwargs": apart}
        if self.loaded_revision not in (None, meta.revision):
            changed["revision"] = self.loaded_revision
        vars(self)["_given_meta"] = meta.model_copy(update=changed) if changed else meta


def _followed(model: Any) -> None:
    """Let the identity of one of mteb's own models follow its settings from now on, as that of the suite's models does.

    mteb looks for a result before it asks a task, so a refusal there comes too late for what is changed on a model after its first score.
    The object becomes one of a subclass of its class, which adds what :class:`LiveIdentity` has and nothing else.
    """
    kind = type(model)
    if kind_of(model) == "unknown" or "mteb_model_meta" not in getattr(model, "__dict__", {}):
        return
    added = {name: LiveIdentity.__dict__[name] for name in ("mteb_model_meta", "usual_settings", "loaded_revision")}
    same = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    vars(model)["_given_meta"] = vars(model).pop("mteb_model_meta")
    model.__class__ = type(kind.__name__, (kind,), {**same, **added})


def _effective(encode_kwargs: Mapping[str, Any] | None) -> str:
    """Digest of the arguments of ``encode`` that change vectors, empty without such."""
    chosen = {name: plain(value) for name, value in (encode_kwargs or {}).items() if name not in NEUTRAL and value is not None}
    return digest({"encode_kwargs": chosen}) if chosen else ""


def settled(model: Any, encode_kwargs: Mapping[str, Any] | None = None) -> Any:
    """The model under an identity that holds the settings it has now, and the arguments that it is to encode with.

    Args:
        model: an mteb model, or a ModelMeta, which is loaded if the arguments need an identity of their own.

    Example:
        >>> import mteb
        >>> from patent_mteb.store.settings import settled
        >>> model = mteb.get_model("mteb/baseline-random-encoder")
        >>> settled(model, {"batch_size": 8}) is model
        True
        >>> list(settled(model, {"truncate_dim": 8}).mteb_model_meta.experiment_kwargs)
        ['settings']
    """
    effective = _effective(encode_kwargs)
    if isinstance(model, ModelMeta):
        model = placed(model)
        if not effective:
            return model
        model = note(model.load_model())
    if getattr(model, "mteb_model_meta", None) is None:
        return model
    given = model.mteb_model_meta
    meta = _added(_with_changes(given, model), [effective] if effective else [])
    if meta is given:
        return model
    twin = copy.copy(model)
    twin.mteb_model_meta = meta
    return twin


def check_identity(model: Any, encode_kwargs: Mapping[str, Any] | None = None) -> None:
    """Refuse a model whose score would be filed under the name of another, or of other settings.

    Raises:
        ModelError: it has no name, or was changed since it was loaded or wrapped, or is asked to encode with other settings,
            and its identity does not say so.

    Example:
        >>> from patent_mteb.models import bm25
        >>> from patent_mteb.store.settings import check_identity
        >>> check_identity(bm25("dapfam"), {"truncate_dim": 4})
        Traceback (most recent call last):
        patent_mteb.errors.ModelError: patent-mteb/bm25-dapfam: its result would be filed ...
    """
    meta = getattr(model, "mteb_model_meta", None)
    if meta is None or not meta.name or meta.name.startswith("no_model_name"):
        raise ModelError(
            f"{type(model).__name__} has no name, so its score would be mixed up with those of other nameless models. "
            "Remedy: load it with patent_mteb.models.load, or give its mteb_model_meta a name and a revision"
        )
    for leaf in _leaves(model):
        _followed(leaf)
    if (precision := (encode_kwargs or {}).get("precision")) in _PER_CALL:
        raise ModelError(
            f"{meta.name}: with precision={precision!r} among encode_kwargs the vectors of each call get ranges of their own, and those of "
            "two calls cannot be compared. Remedy: --precision int8, or patent_mteb.models.Quantised(model, 'int8')"
        )
    effective = _effective(encode_kwargs)
    if _added(_with_changes(meta, model), [effective] if effective else []) is not meta:
        changed = sorted({name for leaf in _leaves(model) for name in _changes(leaf)})
        why = (
            f"encode_kwargs {dict(encode_kwargs or {})}" if not changed else f"settings changed since it was loaded ({', '.join(changed)})"
        )
        raise ModelError(
            f"{meta.name}: its result would be filed among those of other settings, for mteb does not know of {why}. Remedy: evaluate "
            "patent_mteb.store.settings.settled(model, encode_kwargs), which has an identity of its own, or use patent_mteb.evaluate"
        )


def model_facts(model: Any) -> dict[str, Any]:
    """Who a model is, with what its scores depend on, and what it computes on.

    Returns:
        ``name`` and ``revision``; ``settings``, a digest of all settings of the model and of those that it is made of; ``weights``, a
        fingerprint of their weights, ``device`` and ``dtype`` of these, ``max_tokens`` that it reads. What does not apply to a model is
        empty, and so are device and type where all vectors came from the store.

    Example:
        >>> from patent_mteb.models import bm25
        >>> from patent_mteb.store.settings import model_facts
        >>> facts = model_facts(bm25("dapfam"))
        >>> facts["name"], len(facts["settings"]), facts["weights"]
        ('patent-mteb/bm25-dapfam', 32, '')
    """
    meta: ModelMeta = model.mteb_model_meta
    found = [_leaf_facts(leaf) for leaf in _leaves(model, unloaded=True)]
    weights = [one["weights"] for one in found if one["weights"] is not None]
    return {
        "name": meta.name,
        "revision": meta.revision,
        "settings": digest([plain(dict(meta.experiment_kwargs or {})), [one["settings"] for one in found]], 32),
        "weights": weights[0] if len(weights) == 1 else digest(weights, 32) if weights and all(weights) else "",
        **{what: ", ".join(dict.fromkeys(filter(None, (one[what] for one in found)))) for what in _COMPUTED},
    }


def _leaf_facts(leaf: Any) -> dict[str, Any]:
    """Settings, weights (None without any, empty if nobody knows), device and type of a model that is made of no other."""
    unloaded = getattr(leaf, "loaded", True) is False
    facts, network = (leaf.facts(), None) if unloaded else (facts_of(leaf, leaf.mteb_model_meta), _network(leaf))
    known = {"settings": asdict(facts), "device": "", "dtype": "", "max_tokens": facts.max_tokens}
    weight = None if network is None else next(network.parameters(), None)
    if network is None or weight is None:
        return {**known, "weights": leaf.weights() if unloaded else None}
    return {**known, "weights": fingerprint(network), "device": _device(weight), "dtype": str(weight.dtype)}


_COMPUTED = ("device", "dtype", "max_tokens")


def _device(weight: Any) -> str:
    """Where a tensor lies, with the name of the card."""
    import torch

    return f"{weight.device} ({torch.cuda.get_device_name(weight.device)})" if weight.device.type == "cuda" else str(weight.device)
