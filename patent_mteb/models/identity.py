"""Identities of composed models: one scheme of names, revisions and settings for every wrapper that combines models.

A composed model ``hybrid`` of ``patent-mteb/bm25-dapfam`` and ``sentence-transformers/all-MiniLM-L6-v2`` with ``tag="linear-0.7"``:

* ``name`` is ``hybrid/linear-0.7-bm25-dapfam+all-MiniLM-L6-v2``: the kind, the settings that a reader looks for, the parts.
  A composed part keeps its kind (``passages-256-maxP-all-MiniLM-L6-v2``). A label above 120 characters is cut and ends with a hash.
* ``experiment_kwargs`` holds the kind, every setting, and the identity of each part with its own settings, nested.
* ``revision`` is a hash of name and ``experiment_kwargs``, so that no two settings and no two revisions of a part ever
  share a result path, also where mteb shortens the settings to a folder name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mteb.models.model_meta import ModelMeta

from patent_mteb.errors import ModelError

__all__ = ["compose_meta", "describe", "digest", "identity_of", "label_of"]

_LABEL_LENGTH = 120


def digest(value: Any, length: int = 12) -> str:
    """Hexadecimal hash of a JSON-like value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:length]


def identity_of(meta: ModelMeta) -> dict[str, Any]:
    """Name, revision, width and settings of a model: what must differ when a score may differ.

    Raises:
        ModelError: the model has no name of its own (a bare local checkpoint), so that two of them could not be told apart.
    """
    if meta.name is None or meta.name.startswith("no_model_name"):
        raise ModelError(
            "a model without a name cannot be composed, its results would be mixed up with those of other nameless models. "
            "Remedy: load it with patent_mteb.models.load, or give its ModelMeta a name and a revision"
        )
    identity: dict[str, Any] = {"name": meta.name, "revision": meta.revision}
    if isinstance(meta.embed_dim, int):
        identity["embed_dim"] = meta.embed_dim
    return {**identity, **(meta.experiment_kwargs or {})}


def label_of(meta: ModelMeta) -> str:
    """Short name of a model as a part of another: without the organisation, but with the kind of a composed model."""
    organisation, _, name = str(meta.name).partition("/")
    composed = "kind" in (meta.experiment_kwargs or {})
    return f"{organisation}-{name}" if composed else name


def compose_meta(
    kind: str,
    parts: Sequence[ModelMeta],
    settings: Mapping[str, Any],
    *,
    tag: str = "",
    model_type: str = "hybrid",
) -> ModelMeta:
    """Identity of a model that is made of other models (see the module's description).

    Args:
        kind: the wrapper, lower case ("hybrid", "passages"); it takes the place of the organisation in the name.
        parts: identities of the wrapped models, in the order in which they are used.
        settings: every setting of the wrapper that can change a score; values must be JSON-like.
        tag: the settings that the name shows.
        model_type: one of mteb's model types.

    Raises:
        ModelError: a part has no name.
    """
    label = "-".join(filter(None, (tag, "+".join(label_of(part) for part in parts)))).replace("/", "-")
    experiment = {"kind": kind, **settings, "parts": [identity_of(part) for part in parts]}
    if len(label) > _LABEL_LENGTH:
        label = f"{label[:_LABEL_LENGTH]}-{digest([label, experiment], 8)}"
    name = f"{kind}/{label}"
    trained_on = [part.training_datasets for part in parts]
    sizes = [part.n_parameters for part in parts]
    return ModelMeta.create_empty(
        overwrites={
            "name": name,
            "revision": digest([name, experiment]),
            "experiment_kwargs": experiment,
            "model_type": [model_type],
            "n_parameters": None if None in sizes else sum(size or 0 for size in sizes),
            "training_datasets": None if None in trained_on else set().union(*(names or () for names in trained_on)),
            "use_instructions": any(part.use_instructions for part in parts),
        }
    )


def describe(meta: ModelMeta) -> str:
    """One line that names a model with all its settings: ``hybrid(bm25-dapfam(k1=1.2), all-MiniLM-L6-v2, alpha=0.7)``."""

    def line(identity: Mapping[str, Any]) -> str:
        parts = [line(part) for part in identity.get("parts", ())]
        hidden = {"name", "revision", "kind", "parts"}
        shown = [f"{key}={value}" for key, value in identity.items() if key not in hidden]
        own = str(identity.get("kind") or str(identity["name"]).partition("/")[2])
        return f"{own}({', '.join(parts + shown)})" if parts or shown else own

    return line(identity_of(meta))
