"""Run a training job: prepare the pairs, train every seed, and evaluate held-out pairs before and after."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from transformers import TrainerCallback

from patent_mteb.errors import DataError
from patent_mteb.files import folder_lock, write_json
from patent_mteb.training import distilling, late, multitask
from patent_mteb.training.bases import add_head, add_lora, load_base, make_loss, without_head
from patent_mteb.training.checkpoints import finished, save_checkpoint
from patent_mteb.training.comparing import Change, HeldOutScores, changes_of, known_item
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.geometry_log import GeometryLog
from patent_mteb.training.pairs import read_pairs
from patent_mteb.training.preparing import Job, Prepared, open_folder, prepare, read_prepared, record_job
from patent_mteb.training.running import Trainee, run_seed, set_seeds

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """The result of a job: a checkpoint per seed, the tables of pairs, and the changes on held-out pairs."""

    checkpoints: tuple[Path, ...]
    prepared: Prepared
    changes: tuple[Change, ...]


class _RecordJob(TrainerCallback):
    """Records the job in its folder before the first step."""

    def __init__(self, job: Job, corpus: Corpus) -> None:
        self.job, self.corpus = job, corpus

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        record_job(self.job, self.corpus)


def train(job: Job, corpus: Corpus, *, callbacks: Sequence[TrainerCallback] = (), quiet: bool = False) -> Outcome:
    """Train all seeds of a job. Finished seeds are not trained again, interrupted ones are resumed.

    Raises:
        DataError: before training, if options, data, base or folder do not fit the recipe, or if pairs leak.
        ModelError: the base cannot be loaded; a weight, loss, gradient or vector is NaN or infinite; vectors are equal.
    """
    _check_options(job)
    with folder_lock(job.out, writer="training"):
        open_folder(job, corpus)
        if job.recipe.loss.startswith("late"):  # an unsuitable base fails before the tables are built
            late.check_base(job)
        else:
            load_base(job.base, job.settings, job.recipe.name, job.device)
        complete = job.out / "pairs" / "pairs.json"  # is written last
        prepared = read_prepared(complete)
        if prepared is None:
            by_task = job.recipe.loss in ("multitask", "mse")
            prepared = multitask.prepare(job, corpus) if by_task else prepare(job, corpus)
            write_json(complete, asdict(prepared))
        _, evaluate = _METHODS.get(job.recipe.loss, (_trainee, _held_out))
        all_callbacks = [_RecordJob(job, corpus), *callbacks]
        before = evaluate(job, prepared, None) if prepared.test else []
        for one in before:
            logger.info("before the first step: %s, %s %.4f", one.what, one.measure, one.scores.mean())
        checkpoints = [
            finished(job, seed) or _train_seed(job, corpus, prepared, seed, all_callbacks, quiet) for seed in job.seeds
        ]
        after = [evaluate(job, prepared, checkpoint) for checkpoint in checkpoints] if before else []
        changes = changes_of(before, after)
        write_json(job.out / "held_out.json", [asdict(one) for one in changes])
    return Outcome(tuple(checkpoints), prepared, changes)


def _check_options(job: Job) -> None:
    """Refuse options that the recipe would ignore."""
    recipe = job.recipe
    if recipe.loss in _METHODS and (job.lora or job.geometry):
        problem = f"{recipe.name} supports neither adapters nor geometry"
        raise DataError(problem, remedy="leave out --lora and --geometry, or choose another recipe")
    if job.teacher and recipe.loss != "late-distillation":
        problem = f"{recipe.name} has no separate teacher"
        raise DataError(problem, remedy="leave out --teacher; the base of patembed-distill-* is the teacher")
    if job.paraphrases and recipe.signal != "paraphrase":
        raise DataError(
            f"{recipe.name} does not use paraphrases", remedy="leave out --paraphrases, or train patentmap-paraphrase"
        )
    if not job.settings.lr:
        raise DataError("a learning rate of 0 changes nothing", remedy="set a positive one, such as --set lr=2e-5")


def _train_seed(
    job: Job, corpus: Corpus, prepared: Prepared, seed: int, callbacks: Sequence[TrainerCallback], quiet: bool
) -> Path:
    """Train and save a model with one seed."""
    trainee_of, _ = _METHODS.get(job.recipe.loss, (_trainee, _held_out))
    trainee = trainee_of(job, corpus, prepared, seed)
    run = run_seed(job, seed, trainee, callbacks, quiet)
    model = trainee.inference(trainee.model)
    return save_checkpoint(model, job, corpus, prepared, seed, run, trainee.deviations)


def _trainee(job: Job, corpus: Corpus, prepared: Prepared, seed: int) -> Trainee:
    def fresh() -> SentenceTransformer:
        set_seeds(seed)
        model = load_base(job.base, job.settings, job.recipe.name, job.device)
        if job.lora:
            add_lora(model, job.lora)
        add_head(model, job.settings)
        return model

    model = fresh()
    losses = {one.name: make_loss(one.kind, model, job.settings, len(one.labels) or 2) for one in prepared.sets}
    geometry = [GeometryLog(model, corpus, job.out / f"seed-{seed}", job.geometry)] if job.geometry else []
    prompts = ", ".join(name for name, text in model.prompts.items() if text)
    deviations = []
    if prompts and not any(one.prompts for one in prepared.sets):
        deviations.append(f"training does not use the base's own prompts ({prompts}); the checkpoint keeps them")
    return Trainee(model, prepared.sets, losses, fresh, deviations, geometry, inference=without_head)


def _held_out(job: Job, prepared: Prepared, checkpoint: Path | None) -> list[HeldOutScores]:
    """Evaluate the base (None) or a checkpoint on the held-out pairs; multi-task training by task, with prompts."""
    if checkpoint is None:
        model, who = load_base(job.base, job.settings, job.recipe.name, job.device), f"the base {job.base}"
    else:
        model, who = SentenceTransformer(str(checkpoint), device=job.device), f"the checkpoint {checkpoint}"
    path = job.out / "pairs" / prepared.test
    pairs, by_task = list(read_pairs(path)), job.recipe.loss == "multitask"
    found = []
    for one in prepared.sets:
        chosen = [pair for pair in pairs if pair.signal == one.name or not by_task]
        if chosen:
            what = f"held-out {one.name}" if by_task else "held-out pairs"
            scores = known_item(model, chosen, who, f"{what}, {path}", one.prompts)
            found += [HeldOutScores(what, measure, values) for measure, values in scores.items()]
    return found


_METHODS = {
    "mse": (distilling.trainee, distilling.held_out),
    "late": (late.trainee, late.held_out),
    "late-distillation": (late.trainee, late.held_out),
}
"""Functions that make the model to train, and that evaluate base or checkpoint on held-out data, by loss."""
