"""The run: the trainers of sentence-transformers, one run a seed, resumed after a kill with the weights of an unbroken one.

A checkpoint counts only once a mark was written after it, so that one that a kill cut short is removed, not resumed from. It holds the
weights, the optimiser, the schedule, the state of the random numbers and of the loss (a classifier that is trained beside the model).
"""

from __future__ import annotations

import logging
import math
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.sampler import GroupByLabelBatchSampler, NoDuplicatesBatchSampler
from torch import nn
from transformers import TrainerCallback
from transformers.trainer_callback import PrinterCallback

from patent_mteb.errors import DataError
from patent_mteb.files import read_json, write_json, write_text
from patent_mteb.training.losses import GROUPED
from patent_mteb.training.preparing import Job, Prepared, TrainSet

logger = logging.getLogger(__name__)

__all__ = ["MARK", "Steps", "datasets_of", "history_of", "last_whole", "optimiser_of", "precision_of", "run_seed", "set_seeds", "steps_of"]

MARK = "whole"
_LOSS = "loss.pt"


@dataclass(frozen=True)
class Steps:
    """Steps of a run, and between two looks at the validation loss."""

    total: int
    every: int


def steps_of(rows: Sequence[int], job: Job) -> Steps:
    """The steps that the tables and settings of a job give.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.preparing import Job
        >>> from patent_mteb.training.recipes import Settings, find_recipe
        >>> from patent_mteb.training.running import steps_of
        >>> job = Job(find_recipe("wipo-r3"), Settings(epochs=3, batch=10, accumulation=2), "base", Path("run"))
        >>> steps_of([100], job)
        Steps(total=15, every=1)
    """
    batches = sum(math.ceil(number / job.settings.batch) for number in rows)
    total = max(1, math.ceil(math.ceil(batches / job.settings.accumulation) * job.settings.epochs))
    if job.max_steps is not None:
        total = min(total, job.max_steps)
    return Steps(total, max(1, total // job.settings.checks))


def set_seeds(seed: int) -> None:
    """Seed every source of random numbers that training draws from.

    Example:
        >>> import torch
        >>> from patent_mteb.training.running import set_seeds
        >>> set_seeds(7)
        >>> first = torch.rand(1)
        >>> set_seeds(7)
        >>> bool(first == torch.rand(1))
        True
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def precision_of(job: Job) -> str:
    """The type of number that the job can train in here: fp16 needs a GPU, bf16 any device.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.preparing import Job
        >>> from patent_mteb.training.recipes import Settings, find_recipe
        >>> from patent_mteb.training.running import precision_of
        >>> precision_of(Job(find_recipe("wipo-r3"), Settings(precision="bf16"), "base", Path("run"), device="cpu"))
        'bf16'
    """
    wanted = job.settings.precision
    return "fp32" if wanted == "fp16" and _on_cpu(job) else wanted


def optimiser_of(job: Job) -> str:
    """The optimiser that the job can have in here: AdamW where one of 8 bits finds no GPU.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.preparing import Job
        >>> from patent_mteb.training.recipes import find_recipe
        >>> from patent_mteb.training.running import optimiser_of
        >>> recipe = find_recipe("patembed-multitask")
        >>> recipe.settings.optimiser, optimiser_of(Job(recipe, recipe.settings, "base", Path("run"), device="cpu"))
        ('paged_adamw_8bit', 'adamw_torch')
    """
    wanted = job.settings.optimiser
    return "adamw_torch" if wanted.endswith("bit") and _on_cpu(job) else wanted


def _on_cpu(job: Job) -> bool:
    return job.device == "cpu" or not torch.cuda.is_available()


def datasets_of(sets: Sequence[TrainSet], job: Job, split: str) -> dict[str, Dataset]:
    """The tables as memory-mapped data sets, texts first, labels as numbers; each is described by the kind of its loss."""
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


class _Keeper(TrainerCallback):
    """Writes what the trainer's checkpoint lacks, and then the mark."""

    def __init__(self, loss: nn.Module) -> None:
        self.loss = loss

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        torch.save(_own_state(self.loss), folder / _LOSS)
        write_text(folder / MARK, "")


def _own_state(loss: nn.Module) -> dict[str, Any]:
    """The weights of a loss that are not the model's."""
    return {name: value for name, value in loss.state_dict().items() if ".model." not in name}


def last_whole(folder: Path) -> Path | None:
    """The last checkpoint that was written to its end; those that were not are removed.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.files import write_text
        >>> from patent_mteb.training.running import last_whole
        >>> for name in ("checkpoint-5/whole", "checkpoint-10/whole", "checkpoint-15/weights"):
        ...     path = write_text(Path("work") / name, "")
        >>> last_whole(Path("work")).name, Path("work/checkpoint-15").exists()
        ('checkpoint-10', False)
    """
    whole: dict[int, Path] = {}
    for place in folder.glob("checkpoint-*"):
        if (place / MARK).is_file():
            whole[int(place.name.rpartition("-")[2])] = place
        else:
            shutil.rmtree(place, ignore_errors=True)
    return whole[max(whole)] if whole else None


def _batches(dataset: Dataset, **options: Any) -> Any:
    """Batches without a text twice for rankings, with several rows of each label for classes (PatenTEB Table 3)."""
    grouped = dataset.info.description in GROUPED and "label" in dataset.column_names
    return (GroupByLabelBatchSampler if grouped else NoDuplicatesBatchSampler)(dataset, **options)


def run_seed(
    job: Job,
    prepared: Prepared,
    seed: int,
    model: Any,
    losses: Mapping[str, nn.Module],
    *,
    callbacks: Sequence[TrainerCallback] = (),
    trainer_class: type = SentenceTransformerTrainer,
    arguments_class: type = SentenceTransformerTrainingArguments,
    quiet: bool = False,
) -> list[dict[str, Any]]:
    """Train a model on the tables, from its last whole checkpoint if there is one, and leave the best weights in it.

    Args:
        losses: by table.
        trainer_class, arguments_class: those of the multi-vector trainer for late interaction.

    Returns:
        the history: losses by step.

    Raises:
        DataError: the tables give no step, or accelerate is missing.
    """
    work = job.out / f"seed-{seed}"
    settings = job.settings
    train, validation = datasets_of(prepared.sets, job, "train"), datasets_of(prepared.sets, job, "validation")
    steps = steps_of([one.rows for one in prepared.sets], job)
    single = len(train) == 1
    best = _metric(prepared.sets, validation)
    precision = precision_of(job)
    try:
        arguments = arguments_class(
            output_dir=str(work),
            seed=seed,
            data_seed=seed,
            max_steps=steps.total,
            per_device_train_batch_size=settings.batch,
            per_device_eval_batch_size=settings.batch,
            gradient_accumulation_steps=settings.accumulation,
            learning_rate=settings.lr,
            lr_scheduler_type=settings.schedule,
            warmup_steps=settings.warmup if settings.warmup < 1 else 0,
            optim=optimiser_of(job),
            weight_decay=settings.weight_decay,
            max_grad_norm=settings.clip,
            fp16=precision == "fp16",
            bf16=precision == "bf16",
            use_cpu=_on_cpu(job),
            batch_sampler=_batches,
            multi_dataset_batch_sampler=settings.sampling,
            prompts={one.name: dict(one.prompts) for one in prepared.sets if one.prompts} or None,
            eval_strategy="steps" if best else "no",
            eval_steps=steps.every,
            save_strategy="steps",
            save_steps=steps.every,
            save_total_limit=2,
            load_best_model_at_end=bool(best),
            metric_for_best_model=best or None,
            greater_is_better=False if best else None,
            logging_steps=steps.every,
            report_to="none",
            disable_tqdm=quiet,
        )
    except ImportError as error:
        raise DataError(f"training needs accelerate ({error})", remedy="pip install 'patent-mteb[train]'") from error
    loss: Any = next(iter(losses.values())) if single else dict(losses)
    trainer = trainer_class(
        model=model,
        args=arguments,
        train_dataset=next(iter(train.values())) if single else train,
        eval_dataset=(next(iter(validation.values()), None) if single else validation) if best else None,
        loss=loss,
        callbacks=[_Keeper(nn.ModuleDict(losses)), *callbacks],
    )
    trainer.remove_callback(PrinterCallback)
    resumed = last_whole(work)
    if resumed is not None:
        logger.info("resuming %s from %s", work, resumed.name)
        state = torch.load(resumed / _LOSS, weights_only=True)
        nn.ModuleDict(losses).load_state_dict(state, strict=False)
    trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))
    history: list[dict[str, Any]] = list(trainer.state.log_history)
    write_json(work / "history.json", history)
    return history


def _metric(sets: Sequence[TrainSet], validation: Mapping[str, Dataset]) -> str:
    """What the best checkpoint is chosen by: the validation loss, of the first ranking table where there are several; empty without any."""
    if len(sets) == 1:
        return "eval_loss" if validation else ""
    first = next((one.name for one in sets if one.kind == "ranking" and one.name in validation), "")
    return f"eval_{first}_loss" if first else ""


def history_of(work: Path) -> list[dict[str, Any]]:
    """The history that a finished run left.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.running import history_of
        >>> history_of(Path("nothing"))
        []
    """
    found = read_json(work / "history.json")
    return found if isinstance(found, list) else []
