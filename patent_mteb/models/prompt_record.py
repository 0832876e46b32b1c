"""What a model really puts before the texts of a task, asked of the model itself: it is filed with each result.

The same code resolves it that resolves it when a text is encoded: a store has noted what it hashed with the text, and
any other encoder is asked as :mod:`patent_mteb.store.resolve` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.abs_encoder import get_prompt
from mteb.types import PromptType

from patent_mteb.models.registry import PatentEncoder
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.store.resolve import facts_of, resolve

WITHOUT_ROLE = "text"
"""The key of texts that are neither queries nor documents."""


def prompts_put(
    model: Any, task: TaskMetadata, roles: Sequence[PromptType | None], hf_split: str, hf_subset: str
) -> dict[str, Any]:
    """What a model puts before the texts of a task, by role."""
    found: dict[str, dict[str, str | None]] = {}
    for encoder in _encoders(model):
        name = str(encoder.mteb_model_meta.name)
        number = sum(other == name or other.startswith(f"{name} #") for other in found) + 1
        texts = {
            role.value if role else WITHOUT_ROLE: _text(encoder, task, role, hf_split, hf_subset) for role in roles
        }
        found[name if number == 1 else f"{name} #{number}"] = texts
    if len(found) == 1:
        (texts,) = found.values()
        return dict(texts)
    return dict(found)


def _encoders(model: Any) -> Iterator[Any]:
    """The encoders that a model is made of, and that are made of none."""
    seen: set[int] = set()

    def below(one: Any) -> Iterator[Any]:
        if id(one) in seen:
            return
        seen.add(id(one))
        values = getattr(one, "__dict__", {}).values()
        parts = [part for value in values for part in (value if isinstance(value, (list, tuple)) else [value])]
        inside = [] if isinstance(one, StoredEncoder) else [part for part in parts if _is_model(part)]
        for part in inside:
            yield from below(part)
        if not inside and hasattr(one, "encode"):
            yield one

    yield from below(model)


def _is_model(value: Any) -> bool:
    return hasattr(type(value), "mteb_model_meta") or "mteb_model_meta" in getattr(value, "__dict__", {})


def _text(encoder: Any, task: TaskMetadata, role: PromptType | None, hf_split: str, hf_subset: str) -> str | None:
    if isinstance(encoder, StoredEncoder):
        noted = encoder.prompts_used.get((task.name, role.value if role else None))
        if noted is not None or not encoder.loaded:
            return noted
        inside = next(_encoders(encoder.model))
        return _text(inside, task, role, hf_split, hf_subset)
    if isinstance(encoder, PatentEncoder):
        return (encoder.model_prompts or {}).get(encoder.get_prompt_name(task, role) or "", "")
    if isinstance(encoder, LateInteraction):
        return get_prompt(encoder.model_prompts, task, role) or ""
    facts = facts_of(encoder, encoder.mteb_model_meta)
    return None if facts.kind == "unknown" else resolve(encoder, facts, task, role, hf_split, hf_subset).text
