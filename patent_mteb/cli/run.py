"""``patent-mteb run``: the options of ``mteb run``, and those that make one model of several."""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from patent_mteb.cli import common
from patent_mteb.errors import DataError, ModelError
from patent_mteb.metrics.sizes import explained, too_small
from patent_mteb.report.cells import Cell

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

    from patent_mteb.experiments.run import Outcome, Report

HELP = "run a model on tasks or benchmarks"

logger = logging.getLogger(__name__)

_FILTERS = ("tasks", "task_types", "categories", "languages")


def arguments(parser: argparse.ArgumentParser) -> None:
    common.add_model(parser)
    parser.add_argument("-t", "--tasks", nargs="+", metavar="TASK", help="names of tasks")
    parser.add_argument("-b", "--benchmarks", nargs="+", metavar="BENCHMARK", help="names of benchmarks, instead of tasks")
    parser.add_argument("--task-types", nargs="+", metavar="TYPE", help="tasks of these types, such as Retrieval")
    parser.add_argument("--categories", nargs="+", metavar="CATEGORY", help="tasks of these categories, such as t2t")
    parser.add_argument("-l", "--languages", nargs="+", metavar="LANGUAGE", help="tasks in these languages, such as eng")
    parser.add_argument("--eval-splits", nargs="+", metavar="SPLIT", help="evaluate on these splits instead of the tasks' own")
    common.add_out(parser, "results folder, in mteb's structure", "--output-folder", default=Path("results"))
    common.add_device(parser)
    common.add_batch_size(parser)
    common.add_store(parser)
    parser.add_argument("--num-proc", type=int, metavar="N", help="processes that load the data")
    parser.add_argument("--co2-tracker", action=argparse.BooleanOptionalAction, default=False, help="estimate emissions with codecarbon")
    parser.add_argument(
        "--overwrite-strategy",
        default="only-missing",
        choices=("always", "never", "only-missing", "only-cache"),
        help="what to do where there is a result",
    )
    parser.add_argument("--prediction-folder", type=Path, metavar="DIR", help="keep the rankings or predictions there")
    parser.add_argument("--save-runs", type=Path, metavar="DIR", help="write runs and qrels in TREC form there, for 'patent-mteb fuse'")
    wrap = parser.add_argument_group("composition", "applied in this order; each setting is part of the identity of the results")
    wrap.add_argument("--no-prompts", action="store_true", help="load a patent model without its prompts")
    wrap.add_argument(
        "--max-tokens", type=int, metavar="N", help="read no more tokens of a text (papers: 512 for Sophia, 8192 for PatenTEB)"
    )
    wrap.add_argument("--layers", type=int, metavar="N", help="keep the first N transformer layers (PatenTEB Table 9)")
    wrap.add_argument("--input", metavar="VARIANT", help="edit the texts: noSEP, trim[1], trim[-1], noSEP+trim[1,-1] (PatenTEB Table 10)")
    wrap.add_argument("--section-tags", action="store_true", help="put PatentMap's section tags before the known sections of a text")
    wrap.add_argument("--dims", type=int, metavar="D", help="keep the first D dimensions, renormalised")
    wrap.add_argument("--passages", type=int, metavar="TOKENS", help="search windows of so many tokens")
    wrap.add_argument("--stride", type=int, metavar="TOKENS", help="tokens between the starts of two windows; without it no overlap")
    wrap.add_argument("--aggregate", default="maxP", metavar="NAME", help="maxP, avg_top3, avgP, sumP or firstP")
    wrap.add_argument("--fuse", metavar="MODEL", help="second system: bm25, bm25-dapfam, or any model as for -m")
    wrap.add_argument("--alpha", type=float, help="linear fusion, weight of -m; 0.5 without this and --rrf")
    wrap.add_argument("--rrf", type=float, metavar="K", help="reciprocal rank fusion with constant K")
    wrap.add_argument("--rerank", metavar="MODEL", help="cross-encoder that orders the first documents anew")
    wrap.add_argument("--rerank-depth", type=int, default=100, metavar="K", help="how many documents it orders")


def main(args: argparse.Namespace) -> int:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from patent_mteb.experiments import run
    from patent_mteb.tasks.perquery import RUNS_VARIABLE

    if args.save_runs:
        os.environ[RUNS_VARIABLE] = str(args.save_runs)
    report = run.run(
        tasks=_tasks(args),
        model=_model(args),
        output_folder=args.out,
        encode_kwargs=common.encode_kwargs(args),
        overwrite_strategy=args.overwrite_strategy,
        co2_tracker=args.co2_tracker,
        prediction_folder=args.prediction_folder,
        num_proc=args.num_proc,
        show_progress=args.verbosity >= 2,
    )
    show(report, args.out)
    return report.exit_status


def _tasks(args: argparse.Namespace) -> list[AbsTask]:
    """The chosen tasks; as for mteb, -b is chosen before everything else.

    Raises:
        DataError: none is chosen, or a name is unknown.
    """
    import mteb

    from patent_mteb.tasks import catalogue

    catalogue.enter_own()  # PATENT_MTEB_DATA may have changed since mteb was imported
    filters = {name: getattr(args, name) for name in _FILTERS}
    try:
        if args.benchmarks:
            if idle := [name for name, value in {**filters, "eval_splits": args.eval_splits}.items() if value]:
                logger.warning("-b runs whole benchmarks: --%s has no effect", ", --".join(idle).replace("_", "-"))
            return [task for benchmark in mteb.get_benchmarks(args.benchmarks) for task in benchmark.tasks]
        if not any(filters.values()):
            raise DataError("no task was chosen", remedy="name tasks with -t or a benchmark with -b; see 'patent-mteb list'")
        return list(mteb.get_tasks(**filters, eval_splits=args.eval_splits))
    except KeyError as error:
        raise DataError(str(error.args[0]).removeprefix("KeyError: "), remedy="see 'patent-mteb list' for the names") from error


def _model(args: argparse.Namespace) -> Any:
    """The model of -m with what the options wrap around it.

    Raises:
        ModelError: it cannot be had, or the options do not go together.
    """
    from patent_mteb.models.composition import compose
    from patent_mteb.models.loading import load

    try:
        return compose(
            load(
                args.model,
                args.model_revision,
                args.device,
                prompts=not args.no_prompts,
                precision=args.precision,
                max_tokens=args.max_tokens,
                layers=args.layers,
                input=args.input,
            ),
            store=common.store_folder(args),
            section_tags=args.section_tags,
            dims=args.dims,
            passages=args.passages,
            stride=args.stride,
            aggregate=args.aggregate,
            fuse=load(args.fuse, device=args.device) if args.fuse else None,
            alpha=args.alpha,
            rrf_k=args.rrf,
            rerank=load(args.rerank, device=args.device) if args.rerank else None,
            rerank_depth=args.rerank_depth,
        )
    except ValueError as error:
        raise ModelError(str(error)) from error


def _cell(outcome: Outcome, part: str) -> Cell:
    """The main score of a task or of a slice, with mark and interval where it stands on too little."""
    name = f"{part}_{outcome.main_score}" if part else outcome.main_score
    value, low, high = (outcome.scores.get(f"{name}{end}") for end in ("", "_low", "_high"))
    small = too_small(outcome.scores, part) if value is not None else ""
    return Cell(value, small=small, interval=(low, high) if low is not None and high is not None else None)


def show(report: Report, folder: Path) -> None:
    """Print the scores of a run, and the tasks without one with their reasons."""
    scored = [outcome for outcome in report.outcomes if outcome.status == "scored"]
    if scored:
        common.say(report.model)
        rows, small = [], False
        for outcome in scored:
            cells = [_cell(outcome, name) for name in ("", "in", "out")]
            small = small or any(cell.small for cell in cells)
            scores = ("" if cell.value is None else f"{cell.text}{cell.behind}" for cell in cells)
            queries = common.number(outcome.scores.get("n_queries"), 0)
            rows.append((outcome.task, outcome.main_score, *scores, queries, common.number(outcome.seconds, 1)))
        numbers = ("value", "IN", "OUT", "queries", "seconds")
        common.show(("task", "main score", *numbers), rows, right=numbers)
        if small:
            common.say(explained())
        if any(outcome.task.endswith(".sample") for outcome in scored):
            common.say("Tasks named .sample ran on the built-in sample: their scores say nothing about the published benchmark.")
        if any(".local-" in outcome.task for outcome in scored):
            common.say("Tasks named .local-<content> ran on local data: their scores say nothing about the published benchmark.")
        common.say(f"results in {folder.resolve()}")
    if report.doubt:
        common.warn(Text("The scores of this run cannot be trusted:", style="bold red"), report.doubt)
    unscored = [outcome for outcome in report.outcomes if outcome.status != "scored"]
    if unscored:
        common.warn(Text(f"{len(unscored)} of {len(report.outcomes)} tasks have no score:", style="bold red"))
        for outcome in unscored:
            common.warn(f"  {outcome.task}: {outcome.status}: {outcome.reason}")
