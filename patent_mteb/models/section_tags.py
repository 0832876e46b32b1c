"""PatentMap's section tags as an input setting: ``[abstract]``, ``[claim]`` and ``[invention]`` before the sections of
a patent.

The authors' models were trained with the tags, the paper's plain baselines read the same texts without them. Which of
the two a model reads is part of its identity: the registered PatentMap checkpoints read tags, every other model reads
none, and :func:`with_section_tags` sets it for any model and writes it into its ``experiment_kwargs``
(``section_tags=True``), so that the two settings never share a result. The authors evaluated one model with tags that
is not theirs, bert-for-patents: for the ``paper_`` scores it reads them too (:func:`reads_section_tags_in_paper`).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeVar

from patent_mteb.errors import ModelError
from patent_mteb.models.checkpoints import CHECKPOINTS

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta


_SETTING = "section_tags"
_Model = TypeVar("_Model")


def _made_for_tags(meta: ModelMeta) -> bool:
    checkpoint = CHECKPOINTS.get(meta.name or "")
    return checkpoint is not None and checkpoint.tagged


def reads_section_tags(meta: ModelMeta) -> bool:
    """Whether a model of this identity is given texts with section tags."""
    setting = (meta.experiment_kwargs or {}).get(_SETTING)
    return _made_for_tags(meta) if setting is None else bool(setting)


def reads_section_tags_in_paper(meta: ModelMeta) -> bool:
    """Whether the PatentMap paper gave a model of this identity texts with section tags."""
    checkpoint = CHECKPOINTS.get(meta.name or "")
    unset = _SETTING not in (meta.experiment_kwargs or {})
    return reads_section_tags(meta) or (unset and checkpoint is not None and checkpoint.tagged_in_paper)


def with_section_tags(model: _Model, tags: bool = True) -> _Model:
    """The model with the setting in its identity; it shares everything else with the given one."""
    meta: ModelMeta = model.mteb_model_meta  # type: ignore[attr-defined]
    if not tags and _made_for_tags(meta):
        raise ModelError(
            f"'{meta.name}' was trained with section tags and its loader puts them in. Remedy: leave the setting alone"
        )
    twin = copy.copy(model)
    settings = {**(meta.experiment_kwargs or {}), _SETTING: tags}
    try:
        twin.mteb_model_meta = meta.model_copy(update={"experiment_kwargs": settings})  # type: ignore[attr-defined]
    except AttributeError as error:
        raise ModelError(
            f"the identity of a {type(model).__name__} cannot be set; set section tags on the model inside it"
        ) from error
    return twin
