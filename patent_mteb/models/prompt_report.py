"""Which prompt a model put before the texts of a task, in words, from what is stored with a result and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["prompt_used"]

UNKNOWN = "not recorded"


def prompt_used(recorded: Any, meta: Mapping[str, Any], task: str) -> str:
    """What is known about the prompt of a model on a task.

    Args:
        recorded: the ``prompts`` of the result (:func:`patent_mteb.models.prompt_record.prompts_put`), None where it has none.
        meta: the model's ``model_meta.json``, empty if there is none; a result without ``prompts`` says no more than that.
        task: name of the task, as in the result.

    Returns:
        the prompt in double quotes (query and document apart where they differ), ``none``, or what else is known.

    Example:
        >>> from patent_mteb.models.prompt_report import prompt_used
        >>> prompt_used({"query": "query: ", "document": ""}, {}, "PatentCitationRetrieval")
        '"query: " / none'
        >>> prompt_used(None, {}, "PatentCitationRetrieval")
        'not recorded'
    """
    if isinstance(recorded, Mapping):
        return _recorded(recorded)
    if (meta.get("experiment_kwargs") or {}).get("parts"):
        return UNKNOWN  # what is said of a composed model is not said of its parts
    prompts = (meta.get("loader_kwargs") or {}).get("model_prompts") or {}
    keys = [key for key in (f"{task}-query", f"{task}-document", task, "query", "document") if key in prompts]
    if keys:
        return "; ".join(f'{key}: "{prompts[key]}"' for key in keys)
    if meta.get("use_instructions") is False:
        return "none"
    return "the model's own instructions" if meta.get("use_instructions") else UNKNOWN


def _recorded(recorded: Mapping[str, Any]) -> str:
    if any(isinstance(texts, Mapping) for texts in recorded.values()):
        return "; ".join(f"{name}: {_recorded(texts) if isinstance(texts, Mapping) else UNKNOWN}" for name, texts in recorded.items())
    sides = (f'"{text}"' if text else UNKNOWN if text is None else "none" for text in recorded.values())
    return " / ".join(dict.fromkeys(sides)) or "none"
