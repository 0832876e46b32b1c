"""Where a run differs from its recipe; the card of a checkpoint says so."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from patent_mteb.training.preparing import Job
from patent_mteb.training.running import optimiser_of, precision_of

__all__ = ["deviations_of"]


def deviations_of(job: Job) -> list[str]:
    """Where a job differs from its recipe, each in a phrase.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.deviations import deviations_of
        >>> from patent_mteb.training.preparing import Job
        >>> from patent_mteb.training.recipes import find_recipe, settings_for
        >>> recipe = find_recipe("wipo-r3")
        >>> deviations_of(Job(recipe, settings_for(recipe, ["lr=0.1"]), "BAAI/bge-m3", Path("run")))
        ['lr=0.1 instead of 2e-05']
    """
    own, asked = asdict(job.recipe.settings), asdict(job.settings)
    told = [f"{name}={asked[name]} instead of {own[name]}" for name in own if own[name] != asked[name]]
    if (precision := precision_of(job)) != job.settings.precision:
        told.append(f"precision {precision}: {job.settings.precision} needs a GPU")
    if (optimiser := optimiser_of(job)) != job.settings.optimiser:
        told.append(f"optimiser {optimiser}: {job.settings.optimiser} needs a GPU")
    if job.max_steps is not None:
        told.append(f"at most {job.max_steps} steps")
    if job.lora:
        told.append(f"LoRA of rank {job.lora} instead of all weights")
    if job.base not in job.recipe.bases:
        told.append(f"base {Path(job.base).name} is none of the paper's ({', '.join(job.recipe.bases)})")
    return told
