"""``train``: from a job and a corpus to checkpoints, measured on the held-out pairs before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import TrainerCallback

from patent_mteb.errors import DataError
from patent_mteb.files import write_json
from patent_mteb.readers.guard import guarded
from patent_mteb.training import distilling, late, multitask
from patent_mteb.training.bases import add_head, add_lora, load_base, without_head
from patent_mteb.training.checkpoints import finished, save_checkpoint
from patent_mteb.training.comparing import Change, change, known_item
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.geometry import GeometryWatch
from patent_mteb.training.losses import make_loss
from patent_mteb.training.preparing import Job, Prepared, claim_folder, open_folder, prepare
from patent_mteb.training.running import run_seed, set_seeds

__all__ = ["Outcome", "train"]


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
        DataError: bad input, before a step is trained: options that the recipe does not take, data that lack what it takes, leaks, too few
            pairs, another base; another training in the same folder.
        ModelError: the base cannot be loaded.
    """
    _check_options(job)
    with guarded(job.out, what="training"):
        open_folder(job, corpus)
        _check_base(job)
        prepared = multitask.prepare(job, corpus) if job.recipe.loss in ("multitask", "mse") else prepare(job, corpus)
        one_seed = _SEEDS.get(job.recipe.loss, _train_seed)
        watching = [_Claim(job, corpus), *callbacks]
        checkpoints = [finished(job, seed) or one_seed(job, corpus, prepared, seed, watching, quiet) for seed in job.seeds]
        changes = _held_out(job, prepared, checkpoints) if prepared.test and not job.recipe.loss.startswith("late") else ()
        write_json(job.out / "held_out.json", [asdict(one) for one in changes])
    return Outcome(tuple(checkpoints), prepared, changes)


_SEEDS = {"mse": distilling.train_seed, "late": late.train_seed, "late-distillation": late.train_seed}
"""Loss -> what trains one seed with it; the others are trained by :func:`_train_seed`."""


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
        raise DataError(f"{recipe.name} reads no paraphrases", remedy="leave out --paraphrases, or train patentmap-paraphrase")
    if not job.settings.lr:
        raise DataError("a learning rate of 0 changes nothing", remedy="--set lr=2e-5, say")


def _check_base(job: Job) -> None:
    """Load the base once before anything is built, so that a wrong one costs nothing."""
    if job.recipe.loss.startswith("late"):
        late.check_base(job)
    else:
        load_base(job.base, job.settings, job.recipe.name, job.device)


def _train_seed(job: Job, corpus: Corpus, prepared: Prepared, seed: int, callbacks: Sequence[TrainerCallback], quiet: bool) -> Path:
    set_seeds(seed)
    model = load_base(job.base, job.settings, job.recipe.name, job.device)
    if job.lora:
        add_lora(model, job.lora)
    add_head(model, job.settings)
    losses: dict[str, nn.Module] = {one.name: make_loss(one.kind, model, job.settings, len(one.labels) or 2) for one in prepared.sets}
    watching = list(callbacks)
    if job.geometry:
        watching.append(GeometryWatch(model, corpus, job.out / f"seed-{seed}", job.geometry))
    history = run_seed(job, prepared, seed, model, losses, callbacks=watching, quiet=quiet)
    return save_checkpoint(without_head(model), job, corpus, prepared, seed, history)


def _held_out(job: Job, prepared: Prepared, checkpoints: Sequence[Path]) -> tuple[Change, ...]:
    path = job.out / "pairs" / prepared.test
    before = known_item(load_base(job.base, job.settings, job.recipe.name, job.device), path)
    after = [known_item(SentenceTransformer(str(checkpoint), device=job.device), path) for checkpoint in checkpoints]
    return tuple(change("held-out pairs", name, before[name], [one[name] for one in after]) for name in before)
