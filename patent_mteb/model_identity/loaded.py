"""Identity of a loaded model: recorded when the suite loads a model or first sees it, and checked where numbers leave.

The record has the maximum length, number type, truncation, prompts, similarity, and digests of weights, modules and
tokenizer (:mod:`patent_mteb.model_identity.digests`). During a run it is a value, not a computation. :func:`check`
refuses a model that was changed since (``model.model.max_seq_length = 128``, a training step): its scores would be
those of another model under the same name. It compares counters and attributes at each task, and computes the digests
again at the end of a run, or after a hundred times the time that they take. :func:`changed` gives a changed model an
identity of its own.

Arguments of ``encode`` that change vectors enter the identity as a digest, ``experiment_kwargs["settings"]``, as
accepted changes do.
"""

from __future__ import annotations

import copy
import json
import sys
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import ModelError
from patent_mteb.identity import digest, local_name, unambiguous_settings
from patent_mteb.model_identity.digests import (
    modules_digest,
    network_state,
    tokenizer_digest,
    tokenizer_state,
    values_digest,
)
from patent_mteb.model_identity.prompts import facts_of, placed, plain, use_role_prompts

_ABOUT_OUTPUT = {"show_progress_bar", "precision", "convert_to_numpy", "convert_to_tensor"}
NEUTRAL = frozenset({"batch_size", "batch_tokens", "device", "pool", "chunk_size"} | _ABOUT_OUTPUT)
"""Arguments of ``encode`` that do not change vectors; mteb itself separates results by precision."""

_DEFAULTS = {"output_value": "sentence_embedding", "normalize_embeddings": False}
_SETTINGS = "settings"
DIGESTS = ("weights", "modules", "tokenizer")  # names of the digests of a model
_PER_CALL = frozenset({"int8", "uint8", "binary", "ubinary"})
_Model = TypeVar("_Model")
_UNDECLARED: Any = SimpleNamespace(loader_kwargs={}, experiment_kwargs={}, max_tokens=None)
_SHARE = 0.01  # of the time of a run that digests may take, as the issue of this design asks
_PRECISION = "float32_matmul_precision"


@dataclass
class Record:
    """A wrapper or a network as it was when it was loaded, and as it was when it was last checked."""

    settings: dict[str, Any]  # with the digests of a network
    state: Any
    accepted: dict[str, Any] = field(default_factory=dict)  # changes since, under an identity of their own
    behaviour: Any = None  # what it gave for the fixed texts, see models.behaviour
    seconds: float = 0.0  # that its digests take
    digested: float = field(default_factory=time.monotonic)

    @property
    def current(self) -> dict[str, Any]:
        return {**self.settings, **self.accepted}


_RECORDS: dict[int, tuple[weakref.ref[Any], Record]] = {}
"""Records by the id of their object. They are not attributes of the objects, which belong to others."""


def record_of(owner: Any) -> Record | None:
    reference, record = _RECORDS.get(id(owner), (None, None))
    return record if reference is not None and reference() is owner else None


def _keep(owner: Any, record: Record) -> Record:
    key = id(owner)
    _RECORDS[key] = weakref.ref(owner, lambda _: _RECORDS.pop(key, None)), record
    return record


def network_of(model: Any) -> Any:
    """The torch module inside a model, None if there is none. Does not import torch: without it, nothing is one."""
    if (torch := sys.modules.get("torch")) is None:
        return None
    candidates = (getattr(model, "model", None), getattr(getattr(model, "_encoder", None), "model", None), model)
    return next((one for one in candidates if isinstance(one, torch.nn.Module)), None)


def _objects(model: Any, network: Any) -> list[Any]:
    return [model] if network is None or network is model else [model, network]


def _owners(model: Any) -> list[tuple[Any, dict[str, Any]]]:
    """The wrapper of a single model and the network inside, with their settings but for digests."""
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
    objects = _objects(model, network_of(model))
    return [(model, wrapper | core)] if len(objects) == 1 else list(zip(objects, (wrapper, core), strict=True))


def _reachable_prompts(core: Mapping[str, Any], wrapper: Mapping[str, Any]) -> dict[str, Any]:
    """Prompts of a sentence-transformers model that its wrapper does not override."""
    prompts = core["prompts"]
    hidden = wrapper.get("model_prompts") or {}
    roles = {role: prompts[role] for role in ("query", "document", "passage", "corpus") if role in prompts}
    reachable = {role: text for role, text in roles.items() if role not in hidden}
    return {**reachable, "default": prompts.get(core["default_prompt_name"])}


def _tokenizer_of(model: Any, network: Any) -> Any:
    return next(filter(None, (getattr(one, "tokenizer", None) for one in (network, model))), None)


def _digests(model: Any, network: Any) -> dict[str, str]:
    volatile = getattr(getattr(model, "_encoder", None), "volatile", ())  # PyLate sets the length by role
    weights = digest(values_digest(network.named_parameters()))
    found = (weights, modules_digest(network, volatile), tokenizer_digest(_tokenizer_of(model, network)))
    return dict(zip(DIGESTS, found, strict=True))


def _with_digests(model: Any, owner: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of an owner; those of a network with its digests."""
    if owner is not network_of(model):
        return settings
    return {**settings, **{f"{name}_digest": value for name, value in _digests(model, owner).items()}}


def _state(model: Any, owner: Any, settings: dict[str, Any]) -> Any:
    if owner is not network_of(model):
        return settings
    return settings, network_state(owner), tokenizer_state(_tokenizer_of(model, owner))


def _records(model: Any) -> list[Record]:
    """The records of a single model and its network, made now where one is missing."""
    return [record_of(owner) or _recorded(model, owner, settings) for owner, settings in _owners(model)]


def record_for(model: Any) -> Record:
    """The record of a single model, made now if it is missing."""
    return _records(model)[0]


def _recorded(model: Any, owner: Any, settings: dict[str, Any]) -> Record:
    started = time.process_time()
    record = Record(_with_digests(model, owner, settings), _state(model, owner, settings))
    record.seconds = time.process_time() - started
    return _keep(owner, record) if hasattr(owner, "__dict__") else record


def note(model: _Model) -> _Model:
    """Record a newly loaded model as it is, with the prompts of its roles, and return it."""
    for leaf in leaves(model):
        use_role_prompts(leaf)
        for owner, settings in _owners(leaf):
            _recorded(leaf, owner, settings)
        if isinstance(meta := getattr(leaf, "mteb_model_meta", None), ModelMeta) and _digests_of_changes(leaf):
            leaf.mteb_model_meta = _labelled(meta, _digests_of_changes(leaf))
    return model


def _digests_of_changes(model: Any) -> list[str]:
    """What the identity of a single model must contain: digests of accepted changes, and of torch's precision."""
    network = network_of(model)
    changes = [record.accepted for record in map(record_of, _objects(model, network)) if record]
    if network is not None and next(network.parameters(), None) is not None:
        import torch

        if (precision := torch.get_float32_matmul_precision()) != "highest":
            changes.append({_PRECISION: precision})
    return [digest(one) for one in changes if one]


def _labelled(meta: ModelMeta, digests: Sequence[str], instead_of: Sequence[str] = ()) -> ModelMeta:
    experiment = dict(meta.experiment_kwargs or {})
    known = [one for one in str(experiment.pop(_SETTINGS, "")).split("-") if one and one not in instead_of]
    named = "-".join(dict.fromkeys([*known, *digests]))
    if named:
        experiment[_SETTINGS] = named
    return meta.model_copy(update={"experiment_kwargs": experiment or None})


def _touched(model: Any, whole: bool) -> list[str]:
    """Names of the settings and digests of a single model that were changed and are not accepted."""
    names: list[str] = []
    for owner, settings in _owners(model):
        if (record := record_of(owner)) is None:
            _recorded(model, owner, settings)
            continue
        state = _state(model, owner, settings)
        due = record.seconds < _SHARE * (time.monotonic() - record.digested)
        if state == record.state and not (whole or due):
            continue
        now, known = _with_digests(model, owner, settings), record.current
        record.digested = time.monotonic()
        if now == known:
            record.state = state
        names += [name.removesuffix("_digest") for name in known.keys() | now if known.get(name) != now.get(name)]
    return sorted(names)


def check(model: Any, *, whole: bool = False) -> None:
    """Refuse a model, or one with a component, that was changed after it was loaded or after it was wrapped.

    Args:
        model: a loaded model; metadata of a model that is not loaded pass.
        whole: whether to compute the digests of weights, modules and tokenizer whatever the counters say.

    Raises:
        ModelError: names the changed settings and digests.
    """
    if isinstance(model, ModelMeta):
        return
    meta = getattr(model, "mteb_model_meta", None)
    experiment = json.dumps(getattr(meta, "experiment_kwargs", None), default=str)
    for leaf in leaves(model):
        names = _touched(leaf, whole)
        if names or any(one not in experiment for one in _digests_of_changes(leaf)):
            what = ", ".join(names or [name for one in _records(leaf) for name in one.accepted] or [_PRECISION])
            raise ModelError(
                f"{getattr(meta, 'name', None)}: {what} changed after the model was loaded, so its scores would be"
                " taken for those of the model as it was",
                remedy=(
                    "give settings when you load it, as in patent_mteb.models.load(..., max_tokens=128); or call"
                    " patent_mteb.models.changed(model), which gives it an identity of its own, before you wrap it"
                ),
            )


def changed(model: _Model) -> _Model:
    """Give a model that was changed after it was loaded an identity of its own, and return it.

    Its name and revision stay; ``experiment_kwargs["settings"]`` becomes a digest of the changes. A model that is again
    as it was loaded has its first identity again.

    Args:
        model: a loaded model, changed in place. Wrap it (``stored``, ``Passages``, ...) afterwards.

    Raises:
        ModelError: the model contains other models, whose identity is part of its own.

    Example:
        >>> from patent_mteb.models import changed, load
        >>> model = load("path/to/checkpoint")  # doctest: +SKIP
        >>> model.model.max_seq_length = 64  # doctest: +SKIP
        >>> changed(model).mteb_model_meta.experiment_kwargs  # doctest: +SKIP
        {'settings': '6c9f9d1b6a1e'}
    """
    meta: Any = getattr(model, "mteb_model_meta", None)
    if components(model) or meta is None:
        name = getattr(meta, "name", type(model).__name__)
        raise ModelError(f"{name} contains other models", remedy="give changed() the model inside, and wrap it again")
    before = _digests_of_changes(model)
    for owner, settings in _owners(model):
        record = record_of(owner) or _recorded(model, owner, settings)
        now = _with_digests(model, owner, settings)
        names = [name for name in record.settings.keys() | now.keys() if record.settings.get(name) != now.get(name)]
        record.accepted = {name: now.get(name) for name in names}
        record.state, record.behaviour = _state(model, owner, settings), None
    model.mteb_model_meta = _labelled(meta, _digests_of_changes(model), before)  # type: ignore[attr-defined]
    return model


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


class NamedModel:
    """A model of the suite; the first base class. Its metadata never share a result path with other settings."""

    usual_settings: ClassVar[Mapping[str, Any]] = {}  # see identity.unambiguous_settings
    loaded_revision: str | None = None  # of the loaded files, whatever the metadata say; None if unknown

    @property
    def mteb_model_meta(self) -> ModelMeta:
        try:
            given: ModelMeta = vars(self)["_given_meta"]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no mteb_model_meta yet") from None
        return given

    @mteb_model_meta.setter
    def mteb_model_meta(self, meta: ModelMeta) -> None:
        if "output_dtypes" in (meta.experiment_kwargs or {}):
            raise ModelError(
                f"mteb's CompressionWrapper would save the plain scores of {meta.name} as those of its quantised"
                " vectors",
                remedy="patent_mteb.models.Quantised(model, 'int8'), which has an identity of its own",
            )
        apart = unambiguous_settings(meta.experiment_kwargs or {}, self.usual_settings)
        update: dict[str, Any] = {} if apart == (meta.experiment_kwargs or {}) else {"experiment_kwargs": apart}
        if self.loaded_revision not in (None, meta.revision):
            update["revision"] = self.loaded_revision
        vars(self)["_given_meta"] = meta.model_copy(update=update) if update else meta

    def __repr__(self) -> str:
        meta = self.mteb_model_meta
        settings = f" ({meta.experiment_name})" if meta.experiment_name else ""
        return f"{type(self).__name__}({meta.name}{settings} @{str(meta.revision)[:12]})"[:200]


def effective_kwargs(encode_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Arguments of ``encode`` that change vectors and are not defaults."""
    return {
        name: plain(value)
        for name, value in (encode_kwargs or {}).items()
        if name not in NEUTRAL and value is not None and value != _DEFAULTS.get(name)
    }


def with_arguments(model: Any, encode_kwargs: Mapping[str, Any] | None = None) -> Any:
    """Return the model under an identity with the arguments of ``encode`` that change its vectors.

    Raises:
        ModelError: the model was changed after it was loaded.
    """
    effective = effective_kwargs(encode_kwargs)
    if isinstance(model, ModelMeta):
        model = placed(model)
        if not effective:
            return model
        model = note(model.load_model())
    check(model)
    if not effective or getattr(model, "mteb_model_meta", None) is None:
        return model
    renamed = copy.copy(model)
    if (record := record_of(model)) is not None:
        _keep(renamed, copy.copy(record))
    renamed.mteb_model_meta = _labelled(model.mteb_model_meta, [digest({"encode_kwargs": effective})])
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
    content = [record.settings for record in (_recorded(model, *owner) for owner in _owners(model))]
    vars(meta).update(name=local_name(folder), revision=digest(content))  # mteb holds this very object
    return True


def check_identity(model: Any, encode_kwargs: Mapping[str, Any] | None = None) -> None:
    """Refuse a model whose score would be saved under the name of another identity.

    A sentence-transformers model without a name receives one. Metadata of a model that is not loaded pass.
    """
    if isinstance(model, ModelMeta):
        return
    meta: Any = getattr(model, "mteb_model_meta", None)
    if is_nameless(meta) and not name_by_content(model):
        raise ModelError(
            f"{type(model).__name__} has no name, so its score would be mixed up with those of other nameless models",
            remedy="load it with patent_mteb.models.load, or give its mteb_model_meta a name and a revision",
        )
    if (precision := (encode_kwargs or {}).get("precision")) in _PER_CALL:
        raise ModelError(
            f"{meta.name}: with precision={precision!r} among encode_kwargs the vectors of each call get ranges of"
            " their own, and those of two calls cannot be compared",
            remedy="--precision int8, or patent_mteb.models.Quantised(model, 'int8')",
        )
    check(model)
    effective = effective_kwargs(encode_kwargs)
    if effective and digest({"encode_kwargs": effective}) not in json.dumps(meta.experiment_kwargs, default=str):
        raise ModelError(
            f"{meta.name}: its result would be saved among those of other settings, because mteb does not know of"
            f" encode_kwargs {dict(encode_kwargs or {})}",
            remedy=(
                "evaluate patent_mteb.model_identity.loaded.with_arguments(model, encode_kwargs), which has its own"
                " identity, or use patent_mteb.evaluate"
            ),
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
    current = _records(leaf)[-1].current
    digests = {name: current[f"{name}_digest"] for name in DIGESTS}
    return {**known, **digests, "device": device, "dtype": str(weight.dtype)}
