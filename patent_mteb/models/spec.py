"""Specification of a model: its name, and the settings of loading that change its vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from patent_mteb.errors import ModelError

WEIGHTS = ("float32", "bfloat16", "float16")
AUTOCAST = "bfloat16-autocast"
VECTOR_PRECISIONS = ("int8", "uint8", "binary")
PRECISIONS = (*WEIGHTS, AUTOCAST, *VECTOR_PRECISIONS)
"""Precisions of an encoder's weights, of its products, or of its vectors (:class:`~patent_mteb.models.Quantised`)."""

PATENTMAP = "patentmap"  # prompts of PatentMap's authors for an instruction model

_OPTIONS = {"prompts": "no-prompts", "max_tokens": "max-tokens"}
"""Options of the command line, where they are not named as the setting."""

_ENCODER = frozenset({"prompts", "precision", "max_tokens", "layers", "input", "backend", "attention"})
_MAY_CHANGE: Mapping[str, tuple[str, frozenset[str]]] = {
    "served": ("is set up by its server", frozenset()),
    "dense": ("", _ENCODER),
    "late-interaction": ("has an encoder of tokens, not of texts", frozenset({"prompts", "precision"})),
    "": ("is not an encoder", frozenset({"prompts"})),
}
"""Kind of a model, "" for any other -> why some settings do not apply, and those that do."""


@dataclass(frozen=True)
class ModelSpec:
    """A model as it is asked for. The command line fills it, and :func:`patent_mteb.models.load` opens it.

    Attributes:
        name: a hub id, a registered name, a checkpoint directory, or with ``server`` the model's name there.
        revision: commit on the hub; with ``server``, any text that stands for the state of the model.
        prompts: False leaves out the prompts; ``table11`` gives a patent model those of PatenTEB's Table 11,
            ``patentmap`` an instruction model the one of PatentMap's authors.
        precision: of an encoder's weights, products or vectors, one of :data:`PRECISIONS`; of the token vectors of a
            late-interaction model, int8 only.
        max_tokens: cap on the tokens of a text.
        layers: number of transformer layers to keep, counted from the first.
        input: name of an input variant of PatenTEB's Table 10, such as ``noSEP``.
        server: address of a server in the OpenAI protocol that serves the model.
        backend: library that runs an encoder, one of :data:`~patent_mteb.models.backends.BACKENDS`; ``auto`` for the
            fastest.
        attention: implementation in torch (``eager``, ``sdpa``, ``flash_attention_2``).
    """

    name: str
    revision: str | None = None
    prompts: bool | str = True
    precision: str | None = None
    max_tokens: int | None = None
    layers: int | None = None
    input: str | None = None
    server: str | None = None
    backend: str | None = None
    attention: str | None = None

    def __post_init__(self) -> None:
        if self.precision not in (None, *PRECISIONS):
            raise ModelError(f"unknown precision '{self.precision}'", remedy=f"choose one of {', '.join(PRECISIONS)}")

    @classmethod
    def stated(cls, name: str, settings: Mapping[str, Any]) -> Self:
        """The specification by the settings that a result or a paper states; others are ignored."""
        known = {one.name: settings[one.name] for one in fields(cls)[2:] if one.name in settings}
        if isinstance(prompts := known.pop("prompts", None), str):  # a served model states its prompts themselves
            known["prompts"] = {"none": False, "yes": True}.get(prompts, prompts)
        if "query_instruction" in settings:
            known["prompts"] = settings["query_instruction"]
        if "vectors" in settings:
            known["precision"] = settings["vectors"]
        if "max_tokens" in known:
            known["max_tokens"] = int(known["max_tokens"])
        return cls(name, **known)

    def settings(self) -> list[str]:
        """Names of the settings that differ from a model as it is."""
        unchanged = {"precision": "float32", "backend": "torch"}
        own = (one for one in fields(self)[2:] if one.name != "server")
        return [one.name for one in own if getattr(self, one.name) not in (one.default, unchanged.get(one.name))]

    def refuse_for(self, kinds: set[str]) -> None:
        """Refuse settings that a model of these kinds does not have: mteb's ``model_type``, or ``served``."""
        reason, allowed = _MAY_CHANGE[next((kind for kind in _MAY_CHANGE if kind in kinds), "")]
        refused = [name for name in self.settings() if name not in allowed]
        if "precision" in allowed and reason and self.precision not in (None, "float32", "int8"):
            refused.append("precision")
        if refused:
            options = " and ".join(f"--{_OPTIONS.get(name, name)}" for name in refused)
            problem = f"'{self.name}' {reason}, so it has no {' or '.join(refused)}"
            raise ModelError(problem, remedy=f"leave out {options}")
