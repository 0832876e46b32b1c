"""``patent-mteb train``: from records to pairs, to a checkpoint, to scores with intervals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import POSITIVE, SESSION, SEVERAL, Device, Session, Settings
from patent_mteb.errors import DataError
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patent_mteb.experiments.run import Report
    from patent_mteb.training.comparing import Change
    from patent_mteb.training.corpus import Corpus
    from patent_mteb.training.jobs import Outcome
    from patent_mteb.training.preparing import Job
    from patent_mteb.training.recipes import Recipe

_ROUNDING = 1e-9  # shares such as 0.8 + 0.2 may sum to a little less than 1
_SEEDS = 2**32  # NumPy takes seeds below it


@command(
    "train",
    "patent-mteb train --recipes",
    "patent-mteb train wipo-r3 sample -m ORG/NAME --out trained --seeds 42,7,13 --set lr=1e-4 --evaluate"
    " WIPO-AT.sample",
    "patent-mteb train wipo-r3 records -m ORG/NAME --out trained --drop-leaks --lora",
    requires={"recipe": "RECIPE", "data": "DATA", "model": "--model", "out": "--out"},
    unless=("recipes",),
)
def train(
    recipe: str | None = None,
    data: str | None = None,
    /,
    *,
    model: Annotated[str | None, Parameter(alias="-m", metavar="BASE")] = None,
    out: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    seeds: Annotated[str, Parameter(metavar="N,N")] = "42",
    split: Annotated[str | None, Parameter(metavar="TRAIN,VALIDATION")] = None,
    settings: Settings = (),
    max_steps: Annotated[int | None, POSITIVE] = None,
    lora: Annotated[
        tuple[Annotated[int, POSITIVE], ...] | None, Parameter(consume_multiple=(0, 1), metavar="[RANK]")
    ] = None,
    drop_leaks: bool = False,
    teacher: Annotated[str, Parameter(metavar="MODEL")] = "",
    paraphrases: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    geometry: Annotated[int | None, POSITIVE] = None,
    tracker: Annotated[tuple[str, ...], Parameter(metavar="NAME")] = (),
    evaluate: Annotated[tuple[str, ...], SEVERAL, Parameter(metavar="NAME...")] = (),
    device: Device = None,
    recipes: bool = False,
    session: Session = SESSION,
) -> int:
    """Train an embedding model with a recipe of the papers, check it for leaks, and measure it before and after.

    Args:
        recipe: Training recipe, such as wipo-r3; --recipes lists them.
        data: 'sample', a directory of 'patent-mteb data build wipo_at', or records of 'data import'.
        model: Base model: hub id or directory.
        out: Folder of pairs, checkpoints and results; the same command resumes.
        seeds: One run each; several give mean and standard deviation (42,7,13).
        split: Shares of the families of records, the rest is the test split (0.8,0.1).
        max_steps: Greatest number of steps of a run.
        lora: Train adapters of this rank (16) instead of all weights.
        drop_leaks: Remove and count pairs that leak into a test set, instead of stopping.
        teacher: Teacher of colbert-distill, which learns its scores.
        paraphrases: JSON lines of id and text, for patentmap-paraphrase.
        geometry: Measure SSD, uniformity, alignment and P@1 every N steps.
        tracker: Report to an installed experiment tracker (wandb, trackio, tensorboard, mlflow); repeatable.
        evaluate: Tasks or benchmarks to run before and after.
        recipes: Only list the recipes: base, pairs, learning rate, batch, epochs, steps, open choices.
    """
    from patent_mteb.training.recipes import RECIPES, find_recipe, settings_for

    if recipes:
        _show_recipes(RECIPES.values())
        return 0
    assert recipe is not None and data is not None and model is not None and out is not None
    chosen = find_recipe(recipe)
    changed = settings_for(chosen, list(settings))
    numbers, shares = _seeds(seeds), _shares(split)
    tasks = _tasks(evaluate)  # refuses an invalid name before the training
    from patent_mteb.training import jobs
    from patent_mteb.training.corpus import read_corpus
    from patent_mteb.training.preparing import Job
    from patent_mteb.training.running import IS_MAIN

    corpus = read_corpus(data, shares)
    job = Job(
        recipe=chosen,
        settings=changed,
        base=model,
        out=out,
        seeds=numbers,
        max_steps=max_steps,
        lora=None if lora is None else (*lora, 16)[0],
        drop_leaks=drop_leaks,
        device=device,
        teacher=teacher,
        paraphrases=paraphrases,
        geometry=geometry or 0,
        trackers=tracker,
    )
    outcome = jobs.train(job, corpus, quiet=not session.bars)
    if not IS_MAIN:
        return 0
    _show_outcome(outcome)
    reports = _evaluated(job, outcome, tasks, session)
    changes = [*outcome.changes, *_changes(job, corpus, reports, tasks)]
    jobs.write_scores(outcome.checkpoints, changes)
    _show(chosen.name, changes)
    if len(numbers) > 1:
        _show_printed(chosen.name)
    return max((report.exit_status for report in reports), default=0)


def _show_recipes(recipes: Iterable[Recipe]) -> None:
    """Print the settings of the recipes, and once what each paper leaves open."""
    rows, notes = [], dict[str, int]()
    for one in recipes:
        settings, note = one.settings, notes.setdefault(one.open, len(notes) + 1)
        more = f" x {settings.accumulation}" if settings.accumulation > 1 else ""
        steps = math.ceil(one.pairs / settings.batch) * settings.epochs / settings.accumulation
        described = (one.name, one.source, one.bases[0], one.signal, one.loss, f"{settings.lr:g}")
        rows.append(
            (*described, f"{settings.batch}{more}", f"{settings.epochs:g}", f"{steps:,.0f}" if steps else "", note)
        )
    numbers = ("lr", "batch", "epochs", "steps", "note")
    common.show(("recipe", "source", "base", "signal", "loss", *numbers), rows, right=numbers)
    common.say(
        "steps: those of the paper's pairs. A run with other data, base or settings lists the differences in its card."
    )
    common.show(("note", "left open by the paper"), [(number, text) for text, number in notes.items()], right=("note",))


def _seeds(text: str) -> tuple[int, ...]:
    try:
        seeds = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError as error:
        raise DataError(f"'{text}' is not a list of seeds", remedy="write --seeds 42,7,13") from error
    if strange := [seed for seed in seeds if not 0 <= seed < _SEEDS]:
        raise DataError(f"the seed {strange[0]} is not between 0 and {_SEEDS - 1}", remedy="write --seeds 42,7,13")
    return seeds


def _shares(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    remedy = "write --split 0.8,0.1: two shares, of train and validation, which leave some families to the test split"
    try:
        train, validation = (float(word) for word in text.split(","))
    except ValueError as error:
        raise DataError(f"'{text}' is not a pair of shares", remedy=remedy) from error
    if not (train > 0 and validation >= 0 and train + validation < 1 - _ROUNDING):
        raise DataError(f"the shares {text} leave no families to train on, or none to measure", remedy=remedy)
    return train, validation


def _tasks(names: Sequence[str]) -> list[Any]:
    import mteb

    from patent_mteb.tasks import catalogue

    catalogue.enter_own()
    found: dict[str, Any] = {}
    for name in names:
        try:
            chosen = [mteb.get_task(name)]
        except KeyError:
            chosen = list(catalogue.find(name).tasks)
        found |= {task.metadata.name: task for task in chosen}
    return list(found.values())


def _show_outcome(outcome: Outcome) -> None:
    prepared = outcome.prepared
    common.say("pairs:", ", ".join(f"{number} {split}" for split, number in prepared.counts.items()))
    for split, found in prepared.left_out.items():
        for what, number in found.items():
            common.say(f"  {split}: {number} {what}")
    common.say("leaks:", prepared.leaks.contamination)
    for checkpoint in outcome.checkpoints:
        common.say(checkpoint)


def _evaluated(job: Job, outcome: Outcome, tasks: Sequence[Any], session: Session) -> list[Report]:
    """Run the tasks with the base and with each checkpoint; existing results are not run again."""
    if not tasks:
        return []
    from patent_mteb.experiments.run import run
    from patent_mteb.files import write_text
    from patent_mteb.models.loading import load
    from patent_mteb.report.geometries import TRAINING
    from patent_mteb.tasks.perquery import path_of
    from patent_mteb.training.running import HISTORY

    reports, results = [], job.out / "results"
    histories = [None, *(job.out / f"seed-{seed}" / HISTORY for seed in job.seeds)]
    for place, history in zip((job.base, *map(str, outcome.checkpoints)), histories, strict=True):
        done = run(load(place, device=job.device), tasks, results, show_progress=session.bars)
        if done.interrupted:
            raise KeyboardInterrupt
        unscored = (one for one in done.outcomes if one.status != "scored")
        common.warn_by_reason(f"{done.model}: ", ((one.task, f"{one.status}: {one.reason}") for one in unscored))
        if done.doubt:
            common.warn(f"{done.model}: the scores cannot be trusted: {done.doubt}")
        reports.append(done)
        if history and done.meta and (folder := path_of(results / "results", done.meta, "", "").parent).is_dir():
            write_text(folder / TRAINING, history.read_text("utf-8"))
    return reports


def _changes(job: Job, corpus: Corpus, reports: Sequence[Report], tasks: Sequence[Any]) -> list[Change]:
    if not reports:
        return []
    from patent_mteb.patents.on_disk import publications
    from patent_mteb.training.comparing import compare_tasks

    base, *others = (report.meta for report in reports if report.meta)
    queries = frozenset(publications(corpus.members("test"))["number"])
    only = {task.metadata.name: queries if _is_of(task, corpus.folder) else None for task in tasks}
    return compare_tasks(job.out / "results" / "results", base, others, only)


def _is_of(task: Any, folder: Path | None) -> bool:
    """Whether a task reads the data in a folder; tasks of mteb and of the hub do not."""
    source = getattr(task, "source", None)
    if folder is None or source is None or source.kind == "hub":
        return False
    return bool(source.path().resolve() == folder.resolve())


def _show(recipe: str, changes: Sequence[Change]) -> None:
    from patent_mteb.metrics.significance import p_text

    if not changes:
        return
    rows = []
    for one in changes:
        digits = 6 if one.measure == "mse" else 4
        spread = "" if one.spread is None else f" ± {one.spread:.{digits}f}"
        scores = (f"{one.before:.{digits}f}", f"{one.after:.{digits}f}{spread}", f"{one.difference:+.{digits}f}")
        interval = f"[{one.low:+.{digits}f}, {one.high:+.{digits}f}]"
        rows.append((one.what, measure_title(one.measure), one.n_queries, *scores, interval, p_text(one.p)))
    numbers = ("queries", "R0", recipe, "difference", "95% interval", "p")
    common.show(("what", "measure", *numbers), rows, right=numbers)
    for one in changes:
        if one.mean is not None:
            measure = measure_title(one.measure)
            common.say(f"{one.what}: {measure} {one.mean:.6f} if every text gets the mean of the training targets")


def _show_printed(recipe: str) -> None:
    """Print the paper's means over seeds, for other data and models, next to the measured ones."""
    from patent_mteb.training.comparing import printed_of

    rows = []
    for one in printed_of(recipe):
        spread = "" if one.spread is None else f" ± {one.spread:.4f}"
        measure, score = f"{one.slice} {one.measure}".strip(), f"{one.mean:.4f}{spread}"
        rows.append((f"WIPO-AT Table {one.table}", one.model, measure, score))
    if rows:
        common.show(("printed", "model", "measure", recipe), rows, right=(recipe,))


@command("publish model", "patent-mteb publish model trained/models/CHECKPOINT --name ORG/NAME")
def publish_model(
    checkpoint: Path, /, *, name: Annotated[str, Parameter(metavar="ORG/NAME")], session: Session = SESSION
) -> None:
    """List the files of a trained checkpoint and the command that uploads them to the Hugging Face hub.

    Args:
        checkpoint: Checkpoint of 'patent-mteb train'.
        name: Repository on the hub.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    from patent_mteb.models.folders import RECORD, training_record

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise DataError(f"'{name}' is not the name of a repository", remedy="write --name ORG/NAME") from error
    record = training_record(checkpoint)
    if record is None:
        problem = f"not a checkpoint of 'patent-mteb train' ({RECORD} is missing)"
        raise DataError(problem, path=checkpoint, remedy="name a folder below OUT/models")
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file())
    rows = [(path.relative_to(checkpoint), f"{path.stat().st_size / 1e6:,.2f}") for path in files]
    common.show(("file", "MB"), rows, right=("MB",))
    common.say(f"{RECORD} and README.md name the data ({record['data']}), and up to five leaking publications.")
    for phrase in (*record["warnings"], *record["deviations"]):
        common.say(f"the card says: {phrase}")
    common.say("Nothing was uploaded. This command uploads it:")
    common.say(f"  hf upload {common.command_line(name, checkpoint)} .")
