"""Which prompt a model put before the texts of a task, in words, from what is stored with a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.models.prompts import prompt_for

__all__ = ["prompt_used"]


def prompt_used(model: str, settings: Mapping[str, Any], meta: Mapping[str, Any], task: str) -> str:
    """What is known about the prompt of a model on a task.

    Args:
        model: its name.
        settings: its ``experiment_kwargs``; the parts of a composed model are described one by one.
        meta: its ``model_meta.json``, empty if there is none.
        task: name of the task, as in the result.

    Returns:
        the prompt in double quotes (query and document apart where they differ), ``none``, or what else is known.

    Example:
        >>> from patent_mteb.models.prompt_report import prompt_used
        >>> prompt_used("datalyes/patembed-base", {}, {}, "PatenTEBText2IPC3")
        '"encode document for ipc classification: "'
        >>> prompt_used("datalyes/patembed-base", {"prompts": "none"}, {}, "PatenTEBText2IPC3")
        'none'
    """
    if parts := settings.get("parts"):
        return "; ".join(f"{part['name']}: {prompt_used(part['name'], part, {}, task)}" for part in parts)
    checkpoint = CHECKPOINTS.get(model)
    if checkpoint is not None:
        row = prompt_for(task) if settings.get("prompts", checkpoint.prompts) in ("table11", True) else None
        if row is None:
            return "none"
        sides = dict.fromkeys((row.side("query"), row.side("document")))
        return " / ".join(f'"{side}"' for side in sides)
    prompts = (meta.get("loader_kwargs") or {}).get("model_prompts") or {}
    keys = [key for key in (f"{task}-query", f"{task}-document", task, "query", "document") if key in prompts]
    if keys:
        return "; ".join(f'{key}: "{prompts[key]}"' for key in keys)
    if meta.get("use_instructions") is False:
        return "none"
    return "the model's own instructions" if meta.get("use_instructions") else "not recorded"
