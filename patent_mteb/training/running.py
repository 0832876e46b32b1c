"""Run the trainers of sentence-transformers, one run per seed.

An interrupted run resumes from its last checkpoint and ends with the same weights as an uninterrupted one. The
validation loss is computed before the first step too: if no checkpoint is better, the base's weights are kept. A
checkpoint is complete once its marker file exists. It contains the trainer's files and the weights of the loss (such as
a classifier that is trained along with the model).

``history.csv`` holds loss, rate and gradient norm of each step, and the validation losses.
"""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import io
import logging
import math
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.sampler import GroupByLabelBatchSampler, NoDuplicatesBatchSampler
from torch import nn
from tqdm import tqdm
from transformers import EarlyStoppingCallback, TrainerCallback
from transformers.trainer_callback import PrinterCallback

from patent_mteb.errors import DataError, ModelError
from patent_mteb.files import write_text
from patent_mteb.training.bases import GROUPED, N_PROCESSES
from patent_mteb.training.preparing import Job, TrainSet

logger = logging.getLogger(__name__)
MARKER = "whole"
"""File that marks a complete checkpoint."""
_LOSS = "loss.pt"
HISTORY = "history.csv"
_SAID_EVERY = 5.0
"""Seconds between two lines of progress, and between two versions of the history."""
_FEW_STEPS = 50  # of training, below which a remedy is named, a choice
_OVERFLOWS = 20
"""Consecutive steps whose gradients may overflow in fp16. Each halves the loss scale, which starts at 65,536."""


IS_MAIN = N_PROCESSES == 1 or os.environ.get("RANK") == "0"
"""Whether this process writes the files. Under torchrun or accelerate, each process has a rank."""


@contextlib.contextmanager
def main_first() -> Iterator[None]:
    """Let the main process run the block before the others do."""
    state = PartialState(cpu=not torch.cuda.is_available(), timeout=dt.timedelta(days=7)) if N_PROCESSES > 1 else None
    with state.main_process_first() if state else contextlib.nullcontext():
        yield
    if state:
        state.wait_for_everyone()


@dataclass(frozen=True)
class Trainee:
    """A model to train on tables, with its losses by table."""

    model: Any
    sets: Sequence[TrainSet]
    losses: Mapping[str, nn.Module]
    fresh: Callable[[], nn.Module]  # makes the untrained model again
    deviations: Sequence[str] = ()  # from the recipe
    callbacks: Sequence[TrainerCallback] = ()
    trainer_class: type = SentenceTransformerTrainer
    arguments_class: type = SentenceTransformerTrainingArguments
    inference: Callable[[Any], Any] = nn.Module.eval  # makes the model to save
    evaluator: Any = None  # of sentence-transformers, whose measure chooses the best checkpoint


@dataclass(frozen=True)
class Run:
    history: list[dict[str, Any]]  # losses by step
    steps: int  # optimiser steps
    best: int | None  # step of the saved weights, 0 for the base's own; None for the last
    warnings: tuple[str, ...]  # for the training record


def _steps_of(batches: int, job: Job) -> int:
    """Compute the optimiser steps of a job from the batches of one pass over its tables."""
    total = max(1, math.ceil(math.ceil(batches / job.settings.accumulation) * job.settings.epochs))
    return total if job.max_steps is None else min(total, job.max_steps)


def _too_few(batches: int, rows: int, job: Job) -> str:
    """A warning for a run with few steps and its remedy, empty for other runs."""
    settings, steps = job.settings, _steps_of(batches, job)
    if steps >= _FEW_STEPS:
        return ""
    unlimited = replace(job, max_steps=None)
    single = _steps_of(batches, replace(unlimited, settings=replace(settings, accumulation=1)))
    if _steps_of(batches, unlimited) >= _FEW_STEPS:
        remedy = "raise --max-steps"
    elif single >= _FEW_STEPS:
        remedy = f"--set accumulation=1, which gives {single}"
    else:
        remedy = "more records, a smaller batch or more epochs (--set batch=N, --set epochs=N)"
    return (
        f"{steps} optimiser steps are too few to learn much (fewer than {_FEW_STEPS}): {rows:,} pairs or texts, "
        f"batch {settings.batch}, accumulation {settings.accumulation}, epochs {settings.epochs:g}. Remedy: {remedy}"
    )


def one_pass(tables: Mapping[str, Dataset], job: Job, seed: int) -> tuple[int, dict[str, int]]:
    """Return the batches of the first pass over tables, and the rows of each table that none of them trains.

    A pass has as many batches as the samplers state. A sampler of classes ends when one class only is left; a sampler
    without duplicates may make more batches than it states, of texts that each earlier batch already has. A pair that
    is alone in its batch has nothing to be compared with: its loss is 0.
    """
    options = {"batch_size": job.settings.batch, "drop_last": False, "valid_label_columns": ["label"], "seed": seed}
    samplers = {name: _batches(one, **options, generator=torch.Generator()) for name, one in tables.items()}
    numbers = {name: len(one) for name, one in samplers.items()}
    if job.settings.sampling == "round_robin":  # the tables take turns until the smallest ends
        numbers = dict.fromkeys(numbers, min(numbers.values()))
    without = {}
    for name, one in samplers.items():
        compared = tables[name].info.description == "ranking" and "negative" not in tables[name].column_names
        kept = (batch for batch in islice(one, numbers[name]) if len(batch) > compared)
        without[name] = len(tables[name]) - len({row for batch in kept for row in batch})
    return sum(numbers.values()), {name: number for name, number in without.items() if number}


def precision_of(job: Job) -> str:
    """The precision on this machine: fp16 needs a GPU, bf16 any device."""
    wanted = job.settings.precision
    return "fp32" if wanted == "fp16" and _on_cpu(job) else wanted


def optimiser_of(job: Job) -> str:
    """The optimiser on this machine: AdamW replaces 8-bit optimisers without a GPU or bitsandbytes."""
    wanted = job.settings.optimiser
    possible = not _on_cpu(job) and find_spec("bitsandbytes")
    return wanted if possible or not wanted.endswith("bit") else "adamw_torch"


def _on_cpu(job: Job) -> bool:
    return job.device == "cpu" or not torch.cuda.is_available()


def _datasets_of(sets: Sequence[TrainSet], job: Job, split: str) -> dict[str, Dataset]:
    """Open the tables as memory-mapped datasets, with labels as numbers. ``info.description`` is the kind of loss."""
    found: dict[str, Dataset] = {}
    for one in sets:
        file, rows = (one.train, one.rows) if split == "train" else (one.validation, one.validation_rows)
        if not file or not rows:
            continue
        columns = [*one.columns, *(["label"] if one.kind != "ranking" else [])]
        data = Dataset.from_parquet(str(job.out / "pairs" / file), columns=columns, cache_dir=str(job.out / "cache"))
        if one.labels:
            numbers = {name: number for number, name in enumerate(one.labels)}
            data = data.map(lambda row, numbers=numbers: {"label": numbers[row["label"]]}, desc=f"labels of {one.name}")
        found[one.name] = data.select_columns(columns)
        found[one.name].info.description = one.kind
    return found


_RANDOM_STATES: tuple[tuple[Any, Any], ...] = (
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (torch.get_rng_state, torch.set_rng_state),
    (torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all),
)


class _StopIfNotFinite(TrainerCallback):
    """Stop a run at the first loss or gradient that is not finite, and count the base as a checkpoint."""

    def __init__(self, job: Job, work: Path, losses: Mapping[str, nn.Module], metric: str) -> None:
        self.job, self.work, self.metric = job, work, metric
        self.overflows = 0
        for loss in losses.values():
            loss.register_forward_hook(self._check_loss)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.state, self.optimizer = state, kwargs["optimizer"]
        self.random = [read() for read, _ in _RANDOM_STATES]

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        value = kwargs["metrics"].get(self.metric)
        if not state.global_step:
            for (_, restore), known in zip(_RANDOM_STATES, self.random, strict=True):
                restore(known)  # keep the weights independent of this evaluation
            if value is not None:
                state.best_metric, state.best_global_step = value, 0
        if value is not None:
            shown = (state.global_step, state.max_steps, measure_name(self.metric), value)
            logger.info("step %d of %d: %s %.4f", *shown)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        gradients = [weight.grad for weight in kwargs["model"].parameters() if weight.grad is not None]
        norms = [one.norm().to(gradients[0].device) for one in gradients]
        finite = not norms or bool(torch.stack(norms).isfinite().all())
        self.overflows = 0 if finite else self.overflows + 1
        if self.overflows > (_OVERFLOWS if args.fp16 else 0):
            self._stop("norm of the gradient", math.nan, state.global_step + 1)

    def _check_loss(self, module: nn.Module, inputs: Any, value: Any) -> None:
        if isinstance(value, dict):  # its parts
            value = torch.stack(list(value.values())).sum()
        if not bool(value.isfinite().all()):
            trained = torch.is_grad_enabled()
            what = "training loss" if trained else "validation loss"
            self._stop(what, float(value.detach()), self.state.global_step + trained)

    def _stop(self, what: str, value: float, step: int) -> None:
        rate, precision = self.optimizer.param_groups[0]["lr"], precision_of(self.job)
        other = {"fp16": " or --set precision=bf16", "bf16": " or --set precision=fp32"}.get(precision, "")
        checkpoint = last_checkpoint(self.work)
        saved = f"{checkpoint} is kept" if checkpoint else "no checkpoint was saved yet"
        raise ModelError(
            f"the {what} is {value} at step {step} of {self.state.max_steps} (learning rate {rate:.3g} of at most"
            f" {self.job.settings.lr:.3g}, {precision}). The run stops; {saved}",
            remedy=f"a lower rate (--set lr=VALUE){other}, and another --out",
        )


class _CompleteCheckpoint(TrainerCallback):
    """Add the weights of the loss to the trainer's checkpoint, and then the marker."""

    def __init__(self, loss: nn.Module) -> None:
        self.loss = loss

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        with main_first():  # each process has written its part before the marker is
            pass
        if not state.is_world_process_zero:
            return
        without_model = {name: value for name, value in self.loss.state_dict().items() if ".model." not in name}
        torch.save(without_model, folder / _LOSS)
        write_text(folder / MARKER, "")


class _Progress(TrainerCallback):
    """Shows step, loss, rate and time left: a bar on a terminal, else a line every few seconds. Writes the history."""

    def __init__(self, path: Path, name: str, bar: bool) -> None:
        self.path, self.name = path, name
        self.bar: Any = tqdm(desc=name, unit="step", disable=not (bar and IS_MAIN), dynamic_ncols=True)
        self.began = self.said = time.monotonic()
        self.first = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.began, self.first = time.monotonic(), state.global_step
        self.bar.reset(state.max_steps)
        self.bar.update(state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        step, now = state.global_step, time.monotonic()
        if "loss" not in logs or not state.is_world_process_zero:
            return
        self.bar.set_postfix(loss=f"{logs['loss']:.4f}", rate=f"{logs['learning_rate']:.2e}", refresh=False)
        self.bar.update(step - self.bar.n)
        if now - self.said < _SAID_EVERY and step not in (self.first + 1, state.max_steps):
            return
        self.said = now
        left = dt.timedelta(seconds=round((now - self.began) / (step - self.first) * (state.max_steps - step)))
        if self.bar.disable:
            shown = (self.name, step, state.max_steps, logs["loss"], logs["learning_rate"], left)
            logger.info("%s, step %d of %d: loss %.4f, rate %.2e, %s left", *shown)
        self._write(state.log_history)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.bar.close()
        if state.is_world_process_zero:
            self._write(state.log_history)

    def _write(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Write one row a step. Evaluations add their losses to the row of their step."""
        rows: dict[int, dict[str, Any]] = {}
        for entry in history:
            rows.setdefault(int(entry["step"]), {}).update(entry)
        further = sorted({name for entry in history for name in entry if is_validation(name)})
        text = io.StringIO()
        table = csv.DictWriter(text, [*_HISTORY_COLUMNS, *further], extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(rows.values())
        write_text(self.path, text.getvalue())


_HISTORY_COLUMNS = ("step", "epoch", "loss", "learning_rate", "grad_norm")


def measure_name(metric: str) -> str:
    """Name the metric for the best checkpoint in a message."""
    return "validation loss" if metric.endswith("_loss") else "nDCG@10 of the validation split"


def is_validation(name: str) -> bool:
    """Whether a value of the history is a validation loss, or a measure of the validation split."""
    return name.startswith("eval_") and not name.endswith(("_runtime", "_per_second", "_total"))


def last_checkpoint(folder: Path) -> Path | None:
    """Return the last complete checkpoint, and remove incomplete ones."""
    complete: dict[int, Path] = {}
    for path in folder.glob("checkpoint-*"):
        if (path / MARKER).is_file():
            complete[int(path.name.rpartition("-")[2])] = path
        elif IS_MAIN:
            shutil.rmtree(path, ignore_errors=True)
    return complete[max(complete)] if complete else None


def _batches(dataset: Dataset, **options: Any) -> Any:
    """Batches without duplicate texts for rankings, with several rows of each label for classes (PatenTEB Table 3)."""
    grouped = dataset.info.description in GROUPED and "label" in dataset.column_names
    return (GroupByLabelBatchSampler if grouped else NoDuplicatesBatchSampler)(dataset, **options)


def run_seed(
    job: Job, seed: int, trainee: Trainee, callbacks: Sequence[TrainerCallback] = (), quiet: bool = False
) -> Run:
    """Train a model in place, from its last complete checkpoint if there is one. It ends with the best weights."""
    work = job.out / f"seed-{seed}"
    settings, sets, losses = job.settings, trainee.sets, trainee.losses
    train, validation = _datasets_of(sets, job, "train"), _datasets_of(sets, job, "validation")
    rows = {name: len(one) for name, one in train.items()}
    batches, without = one_pass(train, job, seed)
    steps, few = _steps_of(batches, job), _too_few(batches, sum(rows.values()), job)
    unused = [
        f"{number:,} of {rows[name]:,} rows of {name} are in no batch of a pass, or alone in one"
        for name, number in without.items()
    ]
    if without == rows:
        raise DataError(f"nothing to train: {'; '.join(unused)}", remedy="give records whose texts differ")
    every = min(steps, settings.check_steps or max(1, steps // settings.checks))
    if few and seed == job.seeds[0]:
        logger.warning(few)
    for phrase in unused:
        logger.warning("seed %d: %s", seed, phrase)
    single = len(train) == 1
    prompts: dict[str, Any] = {one.name: dict(one.prompts) for one in sets if one.prompts}
    evaluator, metric = trainee.evaluator, _metric(sets, validation)
    if evaluator is not None:
        metric = f"eval_{evaluator.name}_{evaluator.primary_metric}"
    chosen = bool(metric) and settings.checkpoint == "best"
    precision = precision_of(job)
    with main_first():
        resumed = last_checkpoint(work)
    arguments = trainee.arguments_class(
        output_dir=str(work),
        seed=seed,
        data_seed=seed,
        max_steps=steps,
        per_device_train_batch_size=settings.batch,
        per_device_eval_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulation,
        learning_rate=settings.lr,
        lr_scheduler_type=settings.schedule,
        warmup_steps=settings.warmup if steps > 1 else 0,  # a share; a warm-up of the only step has a rate of 0
        optim=optimiser_of(job),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        fp16=precision == "fp16",
        bf16=precision == "bf16",
        use_cpu=_on_cpu(job),
        batch_sampler=_batches,
        multi_dataset_batch_sampler=settings.sampling,
        prompts=prompts.get(next(iter(train))) if single else prompts or None,
        eval_strategy="steps" if metric else "no",
        eval_on_start=bool(metric) and resumed is None,
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=2,
        load_best_model_at_end=chosen,
        metric_for_best_model=metric if chosen else None,
        greater_is_better=evaluator is not None if chosen else None,
        logging_steps=1,
        report_to=list(job.trackers) or "none",
        run_name=f"{job.recipe.name}-{seed}",
        disable_tqdm=True,
        **({"gradient_checkpointing": True} if settings.gradient_checkpointing else {}),
        restore_callback_states_from_checkpoint=True,  # the patience that is left
        accelerator_config={"split_batches": True},  # several processes share one batch
    )
    loss: Any = next(iter(losses.values())) if single else dict(losses)
    first, last = _CompleteCheckpoint(nn.ModuleDict(losses)), _StopIfNotFinite(job, work, losses, metric)
    progress = _Progress(work / HISTORY, f"seed {seed}", not quiet)
    without_card = {"add_model_card_callback": lambda self, default: None}  # it reads the data; jobs.py writes the card
    stop = [EarlyStoppingCallback(settings.patience)] if settings.patience and chosen else []
    trainer: Any = type("Trainer", (trainee.trainer_class,), without_card)(
        model=trainee.model,
        args=arguments,
        train_dataset=next(iter(train.values())) if single else train,
        eval_dataset=(next(iter(validation.values()), None) if single else validation) if metric else None,
        loss=loss,
        evaluator=evaluator,
        callbacks=[first, progress, *stop, *callbacks, *trainee.callbacks, last],
    )
    trainer.remove_callback(PrinterCallback)
    if resumed is not None:
        logger.info("resuming %s from %s", work, resumed.name)
        state = torch.load(resumed / _LOSS, weights_only=True)
        nn.ModuleDict(losses).load_state_dict(state, strict=False)
    trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))
    history: list[dict[str, Any]] = list(trainer.state.log_history)
    best: int | None = trainer.state.best_global_step if chosen else None
    warnings = [*([few] if few else []), *unused]
    if best == 0:
        trainee.model.load_state_dict(trainee.fresh().state_dict())
        start = "untrained student" if job.recipe.loss == "mse" else "base"
        first, *later = [row[metric] for row in history if metric in row]
        after = (min if evaluator is None else max)(later, default=math.nan)
        warnings.append(
            f"no checkpoint is better than the {start}: {measure_name(metric)} {first:.4f} before the first step, "
            f"at best {after:.4f} after; the weights are the {start}'s"
        )
        logger.warning("seed %d: %s", seed, warnings[-1])
    return Run(history, trainer.state.global_step, best, tuple(warnings))


def _metric(sets: Sequence[TrainSet], validation: Mapping[str, Dataset]) -> str:
    """The metric for the best checkpoint: the validation loss, of the first ranking table if there are several."""
    if len(sets) == 1:
        return "eval_loss" if validation else ""
    first = next((one.name for one in sets if one.kind == "ranking" and one.name in validation), "")
    return f"eval_{first}_loss" if first else ""
