"""Run a training job: prepare the pairs, train and save every seed, and evaluate held-out pairs before and after.

The name of a checkpoint contains a hash of its content. Record and card state how the run differs from its recipe.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import logging
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
from transformers import TrainerCallback, set_seed

from patent_mteb.errors import DataError
from patent_mteb.files import folder_lock, read_json, write_json, write_text
from patent_mteb.identity import content_hash, version
from patent_mteb.models.folders import RECORD
from patent_mteb.models.prompts import TASK_PROMPTS, patenteb_prompts
from patent_mteb.recipes.parameters import written
from patent_mteb.training import distilling, model_kinds, multitask
from patent_mteb.training.bases import (
    GROUPED,
    LIKE,
    N_PROCESSES,
    add_head,
    add_lora,
    add_tokens,
    check_weights,
    headless,
    load_base,
    make_loss,
    stored_type,
    without_head,
)
from patent_mteb.training.comparing import Change, HeldOutScores, changes_of, known_item
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.development import development_evaluator
from patent_mteb.training.geometry_log import GeometryLog
from patent_mteb.training.pairs import read_pairs
from patent_mteb.training.preparing import Job, Prepared, open_folder, prepare, read_prepared, record_job
from patent_mteb.training.running import (
    IS_MAIN,
    Run,
    Trainee,
    is_validation,
    main_first,
    optimiser_of,
    precision_of,
    run_seed,
)

logger = logging.getLogger(__name__)
_AUTOCAST = {"fp32": "none", "fp16": "float16", "bf16": "bfloat16"}
_PROMPTS = {"none": "none", "table11": "those of PatenTEB Table 11"}
TRACKERS = ("wandb", "trackio", "tensorboard", "mlflow")
_SMALLEST_GROUPED = 4
"""Rows of the smallest batch of GroupByLabelBatchSampler of sentence-transformers: two of each of two labels."""
_LIBRARIES = ("sentence-transformers", "transformers", "torch", "accelerate", "peft", "datasets")


@dataclass(frozen=True)
class Outcome:
    """The result of a job: a checkpoint per seed, the tables of pairs, and the changes on held-out pairs."""

    checkpoints: tuple[Path, ...]
    prepared: Prepared
    changes: tuple[Change, ...]


class _WithoutHead(SentenceEvaluator):
    """An evaluator for a model in training, without its projection."""

    def __init__(self, evaluator: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.evaluator, self.name, self.primary_metric = evaluator, evaluator.name, "cosine_ndcg@10"

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        with headless(model):
            scores: dict[str, float] = self.evaluator(model, None, epoch, steps)
        return scores


class _RecordJob(TrainerCallback):
    def __init__(self, job: Job, corpus: Corpus) -> None:
        self.job, self.corpus = job, corpus

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if IS_MAIN:
            record_job(self.job, self.corpus)


def train(job: Job, corpus: Corpus, *, callbacks: Sequence[TrainerCallback] = (), quiet: bool = False) -> Outcome:
    """Train all seeds of a job. Finished seeds are not trained again, interrupted ones are resumed."""
    _check_options(job)
    with folder_lock(job.out, writer="training") if IS_MAIN else contextlib.nullcontext():
        with main_first():
            prepared = _prepared(job, corpus)
        _, evaluate = _METHODS.get(job.recipe.loss, (_trainee, _held_out))
        all_callbacks = [_RecordJob(job, corpus), *callbacks]
        for phrase in _deviations_of(job) if IS_MAIN else ():
            logger.info("differs from the recipe: %s", phrase)
        before = evaluate(job, prepared, None) if prepared.test and IS_MAIN else []
        for one in before:
            logger.info("before the first step: %s, %s %.4f", one.what, one.measure, one.scores.mean())
        checkpoints = [
            _finished(job, seed) or _train_seed(job, corpus, prepared, seed, all_callbacks, quiet) for seed in job.seeds
        ]
        if not IS_MAIN:
            return Outcome(tuple(checkpoints), prepared, ())
        after = [evaluate(job, prepared, checkpoint) for checkpoint in checkpoints] if before else []
        changes = changes_of(before, after)
        write_json(job.out / "held_out.json", [asdict(one) for one in changes])
        write_scores(checkpoints, changes)
    return Outcome(tuple(checkpoints), prepared, changes)


def _prepared(job: Job, corpus: Corpus) -> Prepared:
    """Check the base, and make the tables of pairs, or read them if they are complete."""
    complete = job.out / "pairs" / "pairs.json"  # is written last
    if IS_MAIN:
        open_folder(job, corpus)
        if job.recipe.loss in model_kinds.KINDS:  # an unsuitable base fails before the tables are built
            model_kinds.check_base(job)
        else:
            load_base(job.base, job.settings, job.recipe.name, job.device)
    prepared = read_prepared(complete)
    if prepared is None:
        by_task = job.recipe.loss in ("multitask", "mse")
        prepared = multitask.prepare(job, corpus) if by_task else prepare(job, corpus)
        write_json(complete, asdict(prepared))
    return prepared


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
        problem = f"{recipe.name} does not use paraphrases"
        raise DataError(problem, remedy="leave out --paraphrases, or train patentmap-paraphrase")
    _check_negatives(job)
    kinds = (
        {multitask.TASKS[task][0] for task in multitask.tasks_of(job.settings)} if recipe.loss == "multitask" else ()
    )
    batch = job.settings.batch
    if set(kinds) & set(GROUPED) and (batch < _SMALLEST_GROUPED or batch % 2):
        problem = (
            f"{recipe.name} trains tasks with labels, whose batches have pairs of rows of several labels, not {batch}"
        )
        raise DataError(problem, remedy=f"--set batch={max(_SMALLEST_GROUPED, batch + batch % 2)}")
    if batch == 1 and recipe.loss in ("ranking", "multitask") and not job.settings.hard_negatives:
        problem = f"{recipe.name} compares the pairs of a batch with each other, and a batch of one pair has no other"
        raise DataError(problem, remedy="--set batch=32")
    for name in job.trackers:
        if name not in TRACKERS or importlib.util.find_spec(name) is None:
            problem = f"the experiment tracker {name} is unknown or not installed"
            raise DataError(problem, remedy=f"install one of {', '.join(TRACKERS)}, or leave out --tracker")
    if not job.settings.lr:
        raise DataError("a learning rate of 0 changes nothing", remedy="set a positive one, such as --set lr=2e-5")
    if not job.settings.epochs:
        raise DataError("no epoch trains nothing", remedy="set a positive number, such as --set epochs=1")


def _check_negatives(job: Job) -> None:
    """Refuse settings of hard negatives that change nothing."""
    settings = job.settings
    given = [name for name in ("negatives_margin", "negatives_reranker", "negatives_faiss") if getattr(settings, name)]
    if given and (not settings.hard_negatives or job.recipe.loss in ("multitask", "mse")):
        problem = f"{given[0]} changes nothing: {job.recipe.name} mines no hard negatives with these settings"
        raise DataError(problem, remedy=f"add --set hard_negatives=1, or leave out {given[0]}")
    if settings.negatives_reranker and settings.negatives_margin is None:  # the library asks it for a margin only
        problem = "negatives_reranker changes nothing without negatives_margin"
        raise DataError(problem, remedy="add --set negatives_margin=0.05, or leave out negatives_reranker")


def _train_seed(
    job: Job, corpus: Corpus, prepared: Prepared, seed: int, callbacks: Sequence[TrainerCallback], quiet: bool
) -> Path:
    trainee_of, _ = _METHODS.get(job.recipe.loss, (_trainee, _held_out))
    with main_first():  # writes the tables that a method adds
        trainee = trainee_of(job, corpus, prepared, seed)
    run = run_seed(job, seed, trainee, callbacks, quiet)
    with main_first():
        if IS_MAIN:
            _save_checkpoint(job, corpus, prepared, seed, trainee, run)
    done = _finished(job, seed)
    assert done is not None
    return done


def _trainee(job: Job, corpus: Corpus, prepared: Prepared, seed: int) -> Trainee:
    def fresh() -> SentenceTransformer:
        set_seed(seed)
        model = load_base(job.base, job.settings, job.recipe.name, job.device)
        added.extend(add_tokens(model, job.settings))
        if job.lora:
            add_lora(model, job.lora)
        add_head(model, job.settings)
        return model

    added: list[str] = []
    model = fresh()
    losses = {one.name: make_loss(one.kind, model, job.settings, len(one.labels) or 2) for one in prepared.sets}
    geometry = [GeometryLog(model, corpus, job.out / f"seed-{seed}", job.geometry)] if job.geometry else []
    prompts = ", ".join(name for name, text in model.prompts.items() if text)
    deviations = []
    if LIKE in added or (added and LIKE not in model.tokenizer.get_vocab()):
        deviations.append(f"section tokens start as the mean of their pieces, as the base has no {LIKE}")
    if prompts and not any(one.prompts for one in prepared.sets):
        deviations.append(f"training does not use the base's own prompts ({prompts}); the checkpoint keeps them")
    evaluator = None
    if job.settings.criterion == "retrieval":
        try:
            evaluator = _WithoutHead(development_evaluator(corpus))
        except DataError as error:
            deviations.append(f"the best checkpoint has the lowest validation loss: {error}")
    return Trainee(
        model, prepared.sets, losses, fresh, deviations, geometry, inference=without_head, evaluator=evaluator
    )


def _deviations_of(job: Job) -> list[str]:
    default, chosen = asdict(job.recipe.settings), asdict(job.settings)
    found = [f"{name}={chosen[name]} instead of {default[name]}" for name in default if default[name] != chosen[name]]
    if (precision := precision_of(job)) != job.settings.precision:
        found.append(f"precision {precision}: {job.settings.precision} needs a GPU")
    if (optimiser := optimiser_of(job)) != job.settings.optimiser:
        found.append(f"optimiser {optimiser}: {job.settings.optimiser} needs a GPU and bitsandbytes")
    if N_PROCESSES > 1 and job.recipe.loss != "ranking":
        found.append(f"{N_PROCESSES} processes: a loss compares the rows of each process only")
    if job.max_steps is not None:
        found.append(f"at most {job.max_steps} steps")
    if job.lora:
        found.append(f"LoRA of rank {job.lora} instead of all weights")
    if job.base not in job.recipe.bases:
        found.append(f"base {Path(job.base).name} is none of the paper's ({', '.join(job.recipe.bases)})")
    return found


def _finished(job: Job, seed: int) -> Path | None:
    """The checkpoint of a finished run, None if the run has not finished."""
    done = read_json(job.out / f"seed-{seed}" / "done.json")
    folder = job.out / "models" / str(done["model"]) if isinstance(done, dict) else None
    return folder if folder is not None and folder.is_dir() else None


def _save_checkpoint(job: Job, corpus: Corpus, prepared: Prepared, seed: int, trainee: Trainee, run: Run) -> None:
    """Save a trained model in ``OUT/models/RECIPE-BASE-seedN-HASH``.

    A model that was trained with prompts gets those of PatenTEB's tasks in a flat form, which sentence-transformers and
    mteb read. The record states this, and :func:`patent_mteb.models.load` then applies Table 11 to all tasks. Record
    and card contain neither times nor paths, so that equal runs give equal bytes.
    """
    model = trainee.inference(trainee.model)
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
        record = _record(job, corpus, prepared, seed, run, [*_deviations_of(job), *trainee.deviations])
        record["prompts"] = "table11" if prompted else "none"
        write_json(partial / "new" / RECORD, record)
        write_text(partial / "new" / "README.md", _card(name, job, record))
        target = models / name
        shutil.rmtree(target, ignore_errors=True)
        (partial / "new").rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    write_json(job.out / f"seed-{seed}" / "done.json", {"model": name})


def _record(
    job: Job, corpus: Corpus, prepared: Prepared, seed: int, run: Run, deviations: Sequence[str]
) -> dict[str, Any]:
    losses: list[dict[str, Any]] = []
    for row in run.history:
        found = {key: value for key, value in row.items() if is_validation(key)}
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


_SCORES = "\n## Scores\n"


def write_scores(checkpoints: Sequence[Path], changes: Sequence[Change]) -> None:
    """Write the scores of each checkpoint, and of its base, to the end of its model card."""
    for number, checkpoint in enumerate(checkpoints):
        path = checkpoint / "README.md"
        rows = [
            f"| {one.what} | {one.measure} | {one.n_queries} | {one.before:.4f} | {one.seeds[number]:.4f} |"
            f" {one.difference:+.4f} [{one.low:+.4f}, {one.high:+.4f}] |"
            for one in changes
        ]
        head = [
            "| data | measure | queries | base | this checkpoint | difference, mean of the seeds |",
            "|---" * 6 + "|",
        ]
        card = path.read_text("utf-8").partition(_SCORES)[0]
        write_text(path, card + "\n".join([_SCORES, *head, *rows, ""]) if rows else card)


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
    **dict.fromkeys(model_kinds.KINDS, (model_kinds.trainee, model_kinds.held_out)),
}
"""Functions that make the model to train, and that evaluate base or checkpoint on held-out data, by loss."""
