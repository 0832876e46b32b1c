"""``patent-mteb train``: from records to pairs, to a checkpoint, to rows with intervals."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.cli import common, models
from patent_mteb.errors import DataError
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patent_mteb.experiments.run import Report
    from patent_mteb.training.comparing import Change
    from patent_mteb.training.corpus import Corpus
    from patent_mteb.training.jobs import Outcome
    from patent_mteb.training.preparing import Job

HELP = "train an embedding model with a recipe of the papers, checked for leaks, and measure it before and after"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb train --recipes",
    (
        "patent-mteb train wipo-r3 sample -m ORG/NAME --out trained --seeds 42,7,13 --set lr=1e-4 --evaluate"
        " WIPO-AT.sample"
    ),
    "patent-mteb train wipo-r3 records -m ORG/NAME --out trained --drop-leaks --lora",
)
_ROUNDING = 1e-9
_SEEDS = 2**32
"""NumPy takes seeds below it."""


def arguments(parser: argparse.ArgumentParser) -> None:
    recipe = parser.add_argument("recipe", help="a training recipe, such as wipo-r3; --recipes lists them")
    data = parser.add_argument(
        "data", help="'sample', a directory of patent-mteb build wipo_at, or records (patent-mteb import)"
    )
    model = parser.add_argument("-m", "--model", metavar="BASE", required=True, help="the base: hub id or directory")
    out = parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        required=True,
        help="where pairs, checkpoints and results go; the same again resumes",
    )
    parser.add_argument(
        "--seeds", default="42", metavar="N,N", help="one run each; several give mean and standard deviation (42,7,13)"
    )
    parser.add_argument(
        "--split",
        metavar="TRAIN,VALIDATION",
        help="shares of the families of records, the rest is the test split (0.8,0.1)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting of the recipe, such as lr=1e-4; repeatable",
    )
    parser.add_argument("--max-steps", type=common.positive, metavar="N", help="most steps of a run")
    parser.add_argument(
        "--lora",
        type=common.positive,
        nargs="?",
        const=16,
        metavar="RANK",
        help="train adapters of this rank (16) instead of all weights",
    )
    parser.add_argument(
        "--drop-leaks",
        action="store_true",
        help="remove and count pairs that leak into a test set, instead of stopping",
    )
    parser.add_argument("--teacher", default="", metavar="MODEL", help="whose scores colbert-distill learns")
    parser.add_argument(
        "--paraphrases", type=Path, metavar="FILE", help="JSON lines of id and text, for patentmap-paraphrase"
    )
    parser.add_argument(
        "--geometry",
        type=common.positive,
        default=0,
        metavar="N",
        help="SSD, uniformity, alignment and P@1 every N steps",
    )
    parser.add_argument(
        "--evaluate", nargs="+", default=[], metavar="NAME", help="tasks or benchmarks to run before and after"
    )
    models.add_device(parser)
    parser.add_argument(
        "--recipes",
        action=common.Instead,
        of=[recipe, data, model, out],
        nargs=0,
        help="only list the recipes: bases, signal, settings, what is open",
    )


def main(args: argparse.Namespace) -> int:
    from patent_mteb.training.recipes import RECIPES, find_recipe, settings_for

    if args.recipes:
        rows = [(one.name, one.source, one.signal, one.loss, one.bases[0], one.open) for one in RECIPES.values()]
        common.show(("recipe", "source", "signal", "loss", "base", "left open by the paper"), rows)
        return 0
    recipe = find_recipe(args.recipe)
    settings = settings_for(recipe, args.set)
    seeds, shares = _seeds(args.seeds), _shares(args.split)
    tasks = _tasks(args.evaluate)  # a wrong word shall not wait for the training
    from patent_mteb.training.corpus import read_corpus
    from patent_mteb.training.jobs import train
    from patent_mteb.training.preparing import Job

    corpus = read_corpus(args.data, shares)
    job = Job(
        recipe=recipe,
        settings=settings,
        base=args.model,
        out=args.out,
        seeds=seeds,
        max_steps=args.max_steps,
        lora=args.lora,
        drop_leaks=args.drop_leaks,
        device=args.device,
        teacher=args.teacher,
        paraphrases=args.paraphrases,
        geometry=args.geometry,
    )
    outcome = train(job, corpus, quiet=not common.bars(args))
    _tell(outcome)
    reports = _evaluated(job, outcome, tasks, args)
    _show(recipe.name, [*outcome.changes, *_changes(job, corpus, reports, tasks)])
    if len(seeds) > 1:
        _show_printed(recipe.name)
    return max((report.exit_status for report in reports), default=0)


def _seeds(text: str) -> tuple[int, ...]:
    try:
        seeds = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError as error:
        raise DataError(f"'{text}' are no seeds", remedy="write --seeds 42,7,13") from error
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
        raise DataError(f"'{text}' are no shares", remedy=remedy) from error
    if not (train > 0 and validation >= 0 and train + validation < 1 - _ROUNDING):
        raise DataError(f"the shares {text} leave no families to train on, or none to measure", remedy=remedy)
    return train, validation


def _tasks(names: Sequence[str]) -> list[Any]:
    """The tasks of some names of tasks or benchmarks."""
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


def _tell(outcome: Outcome) -> None:
    prepared = outcome.prepared
    common.say("pairs:", ", ".join(f"{number} {split}" for split, number in prepared.counts.items()))
    for split, found in prepared.left_out.items():
        for what, number in found.items():
            common.say(f"  {split}: {number} {what}")
    common.say("leaks:", prepared.leaks.contamination)
    for checkpoint in outcome.checkpoints:
        common.say(checkpoint)


def _evaluated(job: Job, outcome: Outcome, tasks: Sequence[Any], args: argparse.Namespace) -> list[Report]:
    """The tasks of the base and of each checkpoint; what has results already is not run again."""
    if not tasks:
        return []
    from patent_mteb.experiments.run import run
    from patent_mteb.models.loading import load

    reports = []
    for place in (job.base, *map(str, outcome.checkpoints)):
        done = run(load(place, device=job.device), tasks, job.out / "results", show_progress=common.bars(args))
        if done.interrupted:
            raise KeyboardInterrupt
        for line in common.by_reason(
            (one.task, f"{one.status}: {one.reason}") for one in done.outcomes if one.status != "scored"
        ):
            common.warn(f"{done.model}: {line}")
        if done.doubt:
            common.warn(f"{done.model}: the scores cannot be trusted: {done.doubt}")
        reports.append(done)
    return reports


def _changes(job: Job, corpus: Corpus, reports: Sequence[Report], tasks: Sequence[Any]) -> list[Change]:
    """What the tasks say of base and checkpoints."""
    if not reports:
        return []
    from patent_mteb.training.comparing import compare_tasks, test_queries

    base, *others = (report.meta for report in reports if report.meta)
    only = {task.metadata.name: test_queries(corpus) if _is_of(task, corpus.folder) else None for task in tasks}
    return compare_tasks(job.out / "results" / "results", base, others, only)


def _is_of(task: Any, folder: Path | None) -> bool:
    """Whether a task is made of the data in a folder; one of mteb's own, or of the hub, is not."""
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
        interval = f"[{one.low:+.{digits}f}, {one.high:+.{digits}f}]"
        rows.append(
            (
                one.what,
                measure_title(one.measure),
                one.n_queries,
                f"{one.before:.{digits}f}",
                f"{one.after:.{digits}f}{spread}",
                f"{one.difference:+.{digits}f}",
                interval,
                p_text(one.p),
            )
        )
    numbers = ("queries", "R0", recipe, "difference", "95% interval", "p")
    common.show(("what", "measure", *numbers), rows, right=numbers)
    for one in changes:
        if one.mean is not None:
            measure = measure_title(one.measure)
            common.say(f"{one.what}: {measure} {one.mean:.6f} if every text gets the mean of the training targets")


def _show_printed(recipe: str) -> None:
    """The paper's own means over seeds, for other data and models, beside those that were measured."""
    from patent_mteb.training.comparing import printed_of

    rows = []
    for one in printed_of(recipe):
        spread = "" if one.spread is None else f" ± {one.spread:.4f}"
        rows.append(
            (f"WIPO-AT Table {one.table}", one.model, f"{one.slice} {one.measure}".strip(), f"{one.mean:.4f}{spread}")
        )
    if rows:
        common.show(("printed", "model", "measure", recipe), rows, right=(recipe,))
