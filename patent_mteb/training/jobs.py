"""``train``: from a job and a corpus to checkpoints, measured on the held-out pairs before and after."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import TrainerCallback

from patent_mteb.errors import DataError
from patent_mteb.files import folder_lock, write_json
from patent_mteb.training import distilling, late, multitask
from patent_mteb.training.bases import add_head, add_lora, load_base, without_head
from patent_mteb.training.checkpoints import finished, save_checkpoint
from patent_mteb.training.comparing import Change, Held, changes_of, known_item
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.geometry_log import GeometryWatch
from patent_mteb.training.losses import make_loss
from patent_mteb.training.pairs import read_pairs
from patent_mteb.training.preparing import Job, Prepared, claim_folder, open_folder, prepare
from patent_mteb.training.running import run_seed, set_seeds

__all__ = ["Outcome", "train"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """What a job gave: a checkpoint for each seed, the tables, and the change on the held-out pairs."""

    checkpoints: tuple[Path, ...]
    prepared: Prepared
    changes: tuple[Change, ...]


class _Claim(TrainerCallback):
    """Notes the job in its folder before the first step."""

    def __init__(self, job: Job, corpus: Corpus) -> None:
        self.job, self.corpus = job, corpus

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        claim_folder(self.job, self.corpus)


def train(job: Job, corpus: Corpus, *, callbacks: Sequence[TrainerCallback] = (), quiet: bool = False) -> Outcome:
    """Train what a job asks for. Whatever was finished before is taken as it is, what was cut short goes on.

    Raises:
        DataError: bad input, before a step is trained: options that the recipe does not take, data that lack what it
            takes, leaks, too few pairs, another base; another training in the same folder.
        ModelError: the base cannot be loaded; a weight, loss, gradient or vector is NaN or infinite; vectors are equal.
    """
    _check_options(job)
    with folder_lock(job.out, writer="training"):
        open_folder(job, corpus)
        _check_base(job)
        prepared = multitask.prepare(job, corpus) if job.recipe.loss in ("multitask", "mse") else prepare(job, corpus)
        one_seed = _SEEDS.get(job.recipe.loss, _train_seed)
        measured = _MEASURED.get(job.recipe.loss, _held_out)
        watching = [_Claim(job, corpus), *callbacks]
        before = measured(job, prepared, None) if prepared.test else []
        for one in before:
            logger.info("before the first step: %s, %s %.4f", one.what, one.measure, one.scores.mean())
        checkpoints = [
            finished(job, seed) or one_seed(job, corpus, prepared, seed, watching, quiet) for seed in job.seeds
        ]
        after = [measured(job, prepared, checkpoint) for checkpoint in checkpoints] if before else []
        changes = changes_of(before, after)
        write_json(job.out / "held_out.json", [asdict(one) for one in changes])
    return Outcome(tuple(checkpoints), prepared, changes)


_SEEDS = {"mse": distilling.train_seed, "late": late.train_seed, "late-distillation": late.train_seed}
"""Loss -> what trains one seed with it; the others are trained by :func:`_train_seed`."""


_MEASURED = {"mse": distilling.held_out, "late": late.held_out, "late-distillation": late.held_out}
"""Loss -> what measures the base, or a checkpoint, on held-out data; the others are measured by :func:`_held_out`."""


def _check_options(job: Job) -> None:
    """Refuse what the recipe would not read."""
    recipe = job.recipe
    if recipe.loss in _SEEDS and (job.lora or job.geometry):
        problem = f"{recipe.name} trains no adapters and measures no geometry"
        raise DataError(problem, remedy="leave out --lora and --geometry, or choose another recipe")
    if job.teacher and recipe.loss != "late-distillation":
        problem = f"{recipe.name} asks no other model"
        raise DataError(problem, remedy="leave out --teacher; the base of patembed-distill-* is the teacher")
    if job.paraphrases and recipe.signal != "paraphrase":
        raise DataError(
            f"{recipe.name} reads no paraphrases", remedy="leave out --paraphrases, or train patentmap-paraphrase"
        )
    if not job.settings.lr:
        raise DataError("a learning rate of 0 changes nothing", remedy="--set lr=2e-5, say")


def _check_base(job: Job) -> None:
    """Load the base once before anything is built, so that a wrong one costs nothing."""
    if job.recipe.loss.startswith("late"):
        late.check_base(job)
    else:
        load_base(job.base, job.settings, job.recipe.name, job.device)


def _train_seed(
    job: Job, corpus: Corpus, prepared: Prepared, seed: int, callbacks: Sequence[TrainerCallback], quiet: bool
) -> Path:
    def begin() -> SentenceTransformer:
        set_seeds(seed)
        model = load_base(job.base, job.settings, job.recipe.name, job.device)
        if job.lora:
            add_lora(model, job.lora)
        add_head(model, job.settings)
        return model

    model = begin()
    losses: dict[str, nn.Module] = {
        one.name: make_loss(one.kind, model, job.settings, len(one.labels) or 2) for one in prepared.sets
    }
    watching = list(callbacks)
    if job.geometry:
        watching.append(GeometryWatch(model, corpus, job.out / f"seed-{seed}", job.geometry))
    run = run_seed(job, prepared, seed, model, losses, fresh=begin, callbacks=watching, quiet=quiet)
    own = ", ".join(name for name, text in model.prompts.items() if text)
    unused = bool(own) and not any(one.prompts for one in prepared.sets)
    told = [f"the base's own prompts ({own}) are not put before the texts; the checkpoint keeps them"] if unused else []
    return save_checkpoint(without_head(model), job, corpus, prepared, seed, run, told)


def _held_out(job: Job, prepared: Prepared, checkpoint: Path | None) -> list[Held]:
    """Measure the base (None) or a checkpoint on the held-out pairs; multi-task training by task, with its prompts."""
    if checkpoint is None:
        model, who = load_base(job.base, job.settings, job.recipe.name, job.device), f"the base {job.base}"
    else:
        model, who = SentenceTransformer(str(checkpoint), device=job.device), f"the checkpoint {checkpoint}"
    path = job.out / "pairs" / prepared.test
    pairs = list(read_pairs(path))
    found = []
    for one in prepared.sets:
        own = [pair for pair in pairs if pair.signal == one.name] if job.recipe.loss == "multitask" else pairs
        if own:
            what = f"held-out {one.name}" if job.recipe.loss == "multitask" else "held-out pairs"
            scores = known_item(model, own, who, f"{what}, {path}", one.prompts)
            found += [Held(what, measure, values) for measure, values in scores.items()]
    return found
