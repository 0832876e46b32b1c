"""Finished checkpoints: saved without head or adapters, with a card and a record, under a name that their content gives."""

from __future__ import annotations

import importlib.metadata
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from patent_mteb.files import read_json, write_json, write_text
from patent_mteb.identity import __version__, content_hash
from patent_mteb.models.trained import RECORD
from patent_mteb.recipes.parameters import written
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.deviations import deviations_of
from patent_mteb.training.preparing import Job, Prepared

__all__ = ["finished", "save_checkpoint"]

_LIBRARIES = ("sentence-transformers", "transformers", "torch", "accelerate", "peft", "datasets")


def finished(job: Job, seed: int) -> Path | None:
    """The checkpoint that a run ended with, None if it did not end."""
    done = read_json(job.out / f"seed-{seed}" / "done.json")
    folder = job.out / "models" / str(done["model"]) if isinstance(done, dict) else None
    return folder if folder is not None and folder.is_dir() else None


def save_checkpoint(
    model: Any, job: Job, corpus: Corpus, prepared: Prepared, seed: int, history: Sequence[Mapping[str, Any]], told: Sequence[str] = ()
) -> Path:
    """Save a trained model below ``OUT/models``, and return its folder: ``RECIPE-BASE-seedN-HASH``, the hash of its weights and settings.

    Args:
        told: where the run differs from its recipe, beside what the job itself says.

    The record and the card hold no time and no place, so that the same run gives the same bytes.
    """
    home = job.out / "models"
    home.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".saving-", dir=home))
    try:
        model.save_pretrained(str(partial / "new"), create_model_card=False)
        base = Path(job.base).resolve().name if Path(job.base).is_dir() else job.base.rpartition("/")[2]
        name = f"{job.recipe.name}-{base}-seed{seed}-{content_hash(partial / 'new', 8)}"
        record = _record(job, corpus, prepared, seed, history, [*deviations_of(job), *told])
        write_json(partial / "new" / RECORD, record)
        write_text(partial / "new" / "README.md", _card(name, job, record))
        target = home / name
        shutil.rmtree(target, ignore_errors=True)
        (partial / "new").rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    write_json(job.out / f"seed-{seed}" / "done.json", {"model": name})
    return target


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"patent-mteb": __version__, **found}


def _record(
    job: Job, corpus: Corpus, prepared: Prepared, seed: int, history: Sequence[Mapping[str, Any]], deviations: Sequence[str]
) -> dict[str, Any]:
    losses = [
        {"step": row["step"], **{key: value for key, value in row.items() if key.startswith("eval_") and key.endswith("loss")}}
        for row in history
        if any(key.startswith("eval_") and key.endswith("loss") for key in row)
    ]
    return {
        **job.identity(corpus),
        "seed": seed,
        "source": job.recipe.source,
        "open": job.recipe.open,
        "deviations": list(deviations),
        "pairs": dict(prepared.counts),
        "left_out": {split: dict(found) for split, found in prepared.left_out.items()},
        "leaks": asdict(prepared.leaks),
        "contamination": prepared.leaks.contamination,
        "validation": losses,
        "versions": _versions(),
    }


def _card(name: str, job: Job, record: Mapping[str, Any]) -> str:
    """The model card: front matter of the hub, then recipe, data, leaks and versions."""
    settings = ", ".join(f"{key}={written(getattr(job.settings, key))}" for key in record["settings"])
    pairs = ", ".join(f"{number} {split}" for split, number in record["pairs"].items())
    deviations = "".join(f"\n* {phrase}" for phrase in record["deviations"]) or "\n* none"
    versions = ", ".join(f"{library} {version}" for library, version in record["versions"].items())
    return (
        "---\nlibrary_name: sentence-transformers\ntags: [sentence-transformers, patents, patent-mteb]\n"
        f"base_model: {record['base']}\n---\n"
        f"# {name}\n\n`{record['base']}` trained with the recipe `{record['recipe']}` ({record['source']}), seed {record['seed']}.\n\n"
        f"* **Data**: {record['data']}, revision {record['data_revision']}; pairs: {pairs}; families: {record['families']}\n"
        f"* **Contamination**: {record['contamination']}\n* **Settings**: {settings}\n"
        f"* **Left open by the paper**: {record['open']}\n* **Versions**: {versions}\n"
        f"\nDifferences from the recipe:{deviations}\n"
    )
