"""Save finished checkpoints with a model card and a training record.

The name of a checkpoint contains a hash of its content. Record and card state how the run differs from its recipe.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from patent_mteb.files import read_json, write_json, write_text
from patent_mteb.identity import content_hash, version
from patent_mteb.models.loading import RECORD
from patent_mteb.models.prompts import TASK_PROMPTS, patenteb_prompts
from patent_mteb.recipes.parameters import written
from patent_mteb.training.bases import check_weights, stored_type
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.preparing import Job, Prepared
from patent_mteb.training.running import Run, optimiser_of, precision_of

_AUTOCAST = {"fp32": "none", "fp16": "float16", "bf16": "bfloat16"}
_PROMPTS = {"none": "none", "table11": "those of PatenTEB Table 11"}
_LIBRARIES = ("sentence-transformers", "transformers", "torch", "accelerate", "peft", "datasets")


def _deviations_of(job: Job) -> list[str]:
    """List the differences of a job from its recipe."""
    default, chosen = asdict(job.recipe.settings), asdict(job.settings)
    found = [f"{name}={chosen[name]} instead of {default[name]}" for name in default if default[name] != chosen[name]]
    if (precision := precision_of(job)) != job.settings.precision:
        found.append(f"precision {precision}: {job.settings.precision} needs a GPU")
    if (optimiser := optimiser_of(job)) != job.settings.optimiser:
        found.append(f"optimiser {optimiser}: {job.settings.optimiser} needs a GPU")
    if job.max_steps is not None:
        found.append(f"at most {job.max_steps} steps")
    if job.lora:
        found.append(f"LoRA of rank {job.lora} instead of all weights")
    if job.base not in job.recipe.bases:
        found.append(f"base {Path(job.base).name} is none of the paper's ({', '.join(job.recipe.bases)})")
    return found


def finished(job: Job, seed: int) -> Path | None:
    """The checkpoint of a finished run, None if the run has not finished."""
    done = read_json(job.out / f"seed-{seed}" / "done.json")
    folder = job.out / "models" / str(done["model"]) if isinstance(done, dict) else None
    return folder if folder is not None and folder.is_dir() else None


def save_checkpoint(
    model: Any, job: Job, corpus: Corpus, prepared: Prepared, seed: int, run: Run, deviations: Sequence[str]
) -> Path:
    """Save a trained model in ``OUT/models/RECIPE-BASE-seedN-HASH``, and return the folder.

    A model that was trained with prompts gets those of PatenTEB's tasks in a flat form, which sentence-transformers and
    mteb read. The record states this, and :func:`patent_mteb.models.load` then applies Table 11 to all tasks. Record
    and card contain neither times nor paths, so that equal runs give equal bytes.
    """
    check_weights(model, "the trained model", "a lower rate (--set lr=VALUE) and another --out")
    prompted = any(one.prompts for one in prepared.sets)
    if prompted:
        model.prompts, model.default_prompt_name = patenteb_prompts(TASK_PROMPTS), None
    models = job.out / "models"
    models.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".saving-", dir=models))
    try:
        model.save_pretrained(str(partial / "new"), create_model_card=False)
        base = Path(job.base).resolve().name if Path(job.base).is_dir() else job.base.rpartition("/")[2]
        name = f"{job.recipe.name}-{base}-seed{seed}-{content_hash(partial / 'new', 8)}"
        record = _record(job, corpus, prepared, seed, run, [*_deviations_of(job), *deviations])
        record["prompts"] = "table11" if prompted else "none"
        write_json(partial / "new" / RECORD, record)
        write_text(partial / "new" / "README.md", _card(name, job, record))
        target = models / name
        shutil.rmtree(target, ignore_errors=True)
        (partial / "new").rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    write_json(job.out / f"seed-{seed}" / "done.json", {"model": name})
    return target


def _record(
    job: Job, corpus: Corpus, prepared: Prepared, seed: int, run: Run, deviations: Sequence[str]
) -> dict[str, Any]:
    losses: list[dict[str, Any]] = []
    for row in run.history:
        found = {key: value for key, value in row.items() if key.startswith("eval_") and key.endswith("loss")}
        losses += [{"step": row["step"], **found}] if found else []
    versions = {"patent-mteb": version()}
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        **job.identity(corpus),
        "seed": seed,
        "source": job.recipe.source,
        "open": job.recipe.open,
        "deviations": list(deviations),
        "warnings": list(run.warnings),
        "steps": run.steps,
        "best_step": run.best,
        "weights": {"stored": stored_type(job.base), "trained": "float32", "autocast": _AUTOCAST[precision_of(job)]},
        "pairs": dict(prepared.counts),
        "left_out": {split: dict(found) for split, found in prepared.left_out.items()},
        "leaks": asdict(prepared.leaks),
        "contamination": prepared.leaks.contamination,
        "validation": losses,
        "versions": versions,
    }


def _card(name: str, job: Job, record: Mapping[str, Any]) -> str:
    """The model card, with front matter for the hub."""
    settings = ", ".join(f"{key}={written(getattr(job.settings, key))}" for key in record["settings"])
    pairs = ", ".join(f"{number} {split}" for split, number in record["pairs"].items())
    versions = ", ".join(f"{library} {version}" for library, version in record["versions"].items())
    weights, base = record["weights"], record["base"]
    best = {None: "the last one", 0: "step 0, before training"}.get(record["best_step"], f"step {record['best_step']}")
    lines = [
        "---",
        "library_name: sentence-transformers",
        "tags: [sentence-transformers, patents, patent-mteb]",
        f"base_model: {base}",
        "---",
        f"# {name}",
        "",
        f"`{base}` trained with the recipe `{record['recipe']}` ({record['source']}), seed {record['seed']}.",
        "",
        f"* **Data**: {record['data']}, revision {record['data_revision']}; pairs: {pairs}; families:"
        f" {record['families']}",
        f"* **Contamination**: {record['contamination']}",
        f"* **Settings**: {settings}",
        f"* **Steps**: {record['steps']}, checkpoint: {best}; prompts: {_PROMPTS[record['prompts']]}",
        f"* **Weights**: the base's are stored in {weights['stored']}, trained in {weights['trained']}, autocast"
        f" {weights['autocast']}",
        f"* **Left open by the paper**: {record['open']}",
        f"* **Versions**: {versions}",
    ]
    for title, phrases in (("Warnings", record["warnings"]), ("Differences from the recipe", record["deviations"])):
        lines += ["", f"{title}:", *(f"* {phrase}" for phrase in phrases or ["none"])]
    return "\n".join(lines) + "\n"
