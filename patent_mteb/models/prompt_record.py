"""Record the prompts that a model applies to a task, for the evidence of each result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.abs_encoder import get_prompt
from mteb.types import PromptType

from patent_mteb.models.registry import PatentEncoder
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.store.canaries import encoders
from patent_mteb.store.encoder import StoredEncoder
from patent_mteb.store.resolve import facts_of, resolve

WITHOUT_ROLE = "text"  # the key of texts that are neither queries nor documents


def prompts_put(
    model: Any, task: TaskMetadata, roles: Sequence[PromptType | None], hf_split: str, hf_subset: str
) -> dict[str, Any]:
    """Return the prompts of a task by role; by encoder and role if the model combines several encoders."""
    prompts: dict[str, dict[str, str | None]] = {}
    for encoder in encoders(model):
        name = str(encoder.mteb_model_meta.name)
        number = sum(other == name or other.startswith(f"{name} #") for other in prompts) + 1
        prompts[name if number == 1 else f"{name} #{number}"] = {
            role.value if role else WITHOUT_ROLE: _prompt(encoder, task, role, hf_split, hf_subset) for role in roles
        }
    if len(prompts) == 1:
        (only,) = prompts.values()
        return dict(only)
    return dict(prompts)


def _prompt(encoder: Any, task: TaskMetadata, role: PromptType | None, hf_split: str, hf_subset: str) -> str | None:
    if isinstance(encoder, StoredEncoder):
        recorded = encoder.prompts_used.get((task.name, role.value if role else None))
        if recorded is not None or not encoder.loaded:
            return recorded
        return _prompt(encoders(encoder.model)[0], task, role, hf_split, hf_subset)
    if isinstance(encoder, PatentEncoder):
        return (encoder.model_prompts or {}).get(encoder.get_prompt_name(task, role) or "", "")
    if isinstance(encoder, LateInteraction):
        return get_prompt(encoder.model_prompts, task, role) or ""
    facts = facts_of(encoder, encoder.mteb_model_meta)
    return None if facts.kind == "unknown" else resolve(encoder, facts, task, role, hf_split, hf_subset).text
