"""``patent-mteb run``: the options of ``mteb run``, and those that make one model of several."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from patent_mteb.cli import common, language_models, models, planning
from patent_mteb.errors import ModelError
from patent_mteb.metrics.significance import explained, too_small
from patent_mteb.report.cells import Cell
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

    from patent_mteb.experiments.run import Outcome, Report

HELP = "run a model on tasks or benchmarks"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb run -t PatentCitationRetrieval.sample -m mteb/baseline-bm25s",
    "patent-mteb run -b PatentMTEB -m ORG/NAME --dry-run",
    "patent-mteb run -b 'PatenTEB(retrieval)' -m path/to/checkpoint --limit 100",
    (
        "patent-mteb run -t PatentCitationRetrieval -m NAME --chat-endpoint http://localhost:8000/v1 --candidates DIR"
        " --budget-calls 1000"
    ),
)
_OF_FIRST_STAGE = (
    "passages",
    "stride",
    "fuse",
    "alpha",
    "rrf",
    "rerank",
    "dims",
    "ann",
    "layers",
    "input",
    "section_tags",
)
"""Options that make another first stage, or cut and edit what an encoder reads."""
_OF_LOADING = ("model_revision", "no_prompts", "max_tokens", "server", "backend", "attention")
"""Options of a model that is loaded here."""


def arguments(parser: argparse.ArgumentParser) -> None:
    models.add_model(parser)
    parser.add_argument("-t", "--tasks", nargs="+", metavar="TASK", help="names of tasks")
    parser.add_argument(
        "-b",
        "--benchmarks",
        nargs="+",
        metavar="BENCHMARK",
        help="names of benchmarks; with -t and the filters below, what fits all of them",
    )
    parser.add_argument("--task-types", nargs="+", metavar="TYPE", help="tasks of these types, such as Retrieval")
    parser.add_argument("--categories", nargs="+", metavar="CATEGORY", help="tasks of these categories, such as t2t")
    parser.add_argument(
        "-l", "--languages", nargs="+", metavar="LANGUAGE", help="tasks in these languages, such as eng"
    )
    parser.add_argument(
        "--eval-splits", nargs="+", metavar="SPLIT", help="evaluate on these splits instead of the tasks' own"
    )
    parser.add_argument("--json", action="store_true", help="print the outcome of every task as JSON")
    common.add_out(parser, "results folder, in mteb's structure", "--output-folder", default=Path("results"))
    models.add_server(parser)
    models.add_backend(parser)
    models.add_device(parser)
    models.add_batch_size(parser)
    models.add_batch_tokens(parser)
    models.add_store(parser)
    common.add_memory(parser, "run")
    parser.add_argument("--num-proc", type=int, metavar="N", help="processes that load the data")
    parser.add_argument(
        "--co2-tracker", action=argparse.BooleanOptionalAction, default=False, help="estimate emissions with codecarbon"
    )
    parser.add_argument(
        "--overwrite-strategy",
        default="only-missing",
        choices=("always", "never", "only-missing", "only-cache"),
        help="what to do where there is a result",
    )
    parser.add_argument("--prediction-folder", type=Path, metavar="DIR", help="keep the rankings or predictions there")
    parser.add_argument(
        "--save-runs", type=Path, metavar="DIR", help="write runs and qrels in TREC form there, for 'patent-mteb fuse'"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be done: texts, time, disk, memory, missing data"
    )
    parser.add_argument(
        "--limit",
        type=common.positive,
        metavar="N",
        help="N queries of each retrieval task and a part of its documents, filed as <Task>.limitN",
    )
    wrap = parser.add_argument_group(
        "composition", "applied in this order; each setting is part of the identity of the results"
    )
    wrap.add_argument("--no-prompts", action="store_true", help="load a patent model without its prompts")
    wrap.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help="read no more tokens of a text (papers: 512 for Sophia, 8192 for PatenTEB)",
    )
    wrap.add_argument("--layers", type=int, metavar="N", help="keep the first N transformer layers (PatenTEB Table 9)")
    wrap.add_argument(
        "--input",
        metavar="VARIANT",
        help="edit the texts: noSEP, trim[1], trim[-1], noSEP+trim[1,-1] (PatenTEB Table 10)",
    )
    wrap.add_argument(
        "--section-tags", action="store_true", help="put PatentMap's section tags before the known sections of a text"
    )
    wrap.add_argument("--dims", type=int, metavar="D", help="keep the first D dimensions, renormalised")
    wrap.add_argument(
        "--ann",
        type=common.positive,
        nargs="?",
        const=16,
        metavar="PROBES",
        help=(
            "search approximately (faiss, the extra 'ann'): so many groups of documents a query, 16 without a number;"
            " tells its recall"
        ),
    )
    wrap.add_argument("--passages", type=int, metavar="TOKENS", help="search windows of so many tokens")
    wrap.add_argument(
        "--stride", type=int, metavar="TOKENS", help="tokens between the starts of two windows; without it no overlap"
    )
    wrap.add_argument("--aggregate", default="maxP", metavar="NAME", help="maxP, avg_top3, avgP, sumP or firstP")
    wrap.add_argument("--fuse", metavar="MODEL", help="second system: bm25, bm25-dapfam, or any model as for -m")
    wrap.add_argument("--alpha", type=float, help="linear fusion, weight of -m; 0.5 without this and --rrf")
    wrap.add_argument("--rrf", type=float, metavar="K", help="reciprocal rank fusion with constant K")
    wrap.add_argument(
        "--rerank", metavar="MODEL", help="cross-encoder or late-interaction model that orders the first documents anew"
    )
    wrap.add_argument("--rerank-depth", type=int, default=100, metavar="K", help="how many documents it orders")
    wrap.add_argument(
        "--candidates",
        type=Path,
        metavar="DIR",
        help="of 'patent-mteb candidates': -m is the reranker of what was found before",
    )
    wrap.add_argument(
        "--chat-endpoint", metavar="URL", help="the reranker is the language model of this name behind this address"
    )
    language_models.add_asking(parser)


def main(args: argparse.Namespace) -> int:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from patent_mteb.experiments import plan, run
    from patent_mteb.memory import allowing
    from patent_mteb.tasks.perquery import RUNS_VARIABLE

    if args.save_runs:
        os.environ[RUNS_VARIABLE] = str(args.save_runs)
    tasks = _tasks(args)
    if args.chat_endpoint and not (args.rerank or args.candidates):
        raise ModelError(
            "--chat-endpoint is the address of a reranker. Remedy: name it with --rerank, or with -m beside"
            " --candidates"
        )
    if args.dry_run and (args.candidates or args.chat_endpoint):
        raise ModelError(
            "--dry-run says what is encoded, and rerankers encode nothing. Remedy: try --limit, or a small"
            " --budget-calls"
        )
    if args.dry_run:
        return planning.show(args, tasks)
    with allowing(plan.left_for_blocks(args.memory, "run", plan.folders_of(tasks))):
        report = run.run(
            tasks=tasks,
            model=_model(args),
            output_folder=args.out,
            encode_kwargs=models.encode_kwargs(args),
            overwrite_strategy=args.overwrite_strategy,
            co2_tracker=args.co2_tracker,
            prediction_folder=args.prediction_folder,
            num_proc=args.num_proc,
            show_progress=common.bars(args),
        )
    if args.json:
        common.say(_as_json(report, args.out))
    else:
        show(report, args.out)
    return report.exit_status


def _tasks(args: argparse.Namespace) -> list[AbsTask]:
    from patent_mteb.tasks.selection import choose, limited

    tasks = choose(
        names=args.tasks or (),
        benchmarks=args.benchmarks or (),
        types=args.task_types or (),
        categories=args.categories or (),
        languages=args.languages or (),
        splits=args.eval_splits or (),
    )
    return limited(tasks, args.limit) if args.limit else tasks


def _model(args: argparse.Namespace) -> Any:
    """The model of -m with what the options wrap around it."""
    from patent_mteb.models.composition import compose
    from patent_mteb.models.loading import load

    if args.candidates:
        return _reranker_of_candidates(args)
    try:
        return compose(
            models.load_model(args),
            store=models.store_folder(args),
            section_tags=args.section_tags,
            dims=args.dims,
            ann=args.ann,
            passages=args.passages,
            stride=args.stride,
            aggregate=args.aggregate,
            fuse=load(args.fuse, device=args.device) if args.fuse else None,
            alpha=args.alpha,
            rrf_k=args.rrf,
            rerank=_reranker(args, args.rerank, lambda: load(args.rerank, device=args.device)) if args.rerank else None,
            rerank_depth=args.rerank_depth,
        )
    except ValueError as error:
        raise ModelError(str(error)) from error


def _reranker(args: argparse.Namespace, name: str, load: Callable[[], Any]) -> Any:
    """The language model of this name behind the address that was given, or what is loaded."""
    from patent_mteb.models.judge import Judge

    return Judge(language_models.chat_of(args, args.chat_endpoint, name)) if args.chat_endpoint else load()


def _given(args: argparse.Namespace, names: Sequence[str]) -> str:
    """Those of some options that were given, as they are written."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names if getattr(args, name) not in (None, False))


def _reranker_of_candidates(args: argparse.Namespace) -> Any:
    from patent_mteb.models.composition import in_store
    from patent_mteb.search.candidates import Candidates
    from patent_mteb.search.rerank import Reranked, second_stage

    if others := _given(args, _OF_FIRST_STAGE):
        raise ModelError(
            f"{others} and --candidates exclude each other. Remedy: -m names the reranker, the first stage is done"
        )
    if args.chat_endpoint and (others := _given(args, _OF_LOADING)):
        raise ModelError(f"the model of --chat-endpoint is asked as it is. Remedy: leave out {others}")
    try:
        reranker = second_stage(_reranker(args, args.model, lambda: models.load_model(args)))
        return Reranked(Candidates(args.candidates), in_store(reranker, models.store_folder(args)), k=args.rerank_depth)
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
            seconds = f"of {outcome.cached}" if outcome.cached else common.number(outcome.seconds, 1)
            rows.append((outcome.task, measure_title(outcome.main_score), *scores, queries, seconds))
        numbers = ("value", "IN", "OUT", "queries", "seconds")
        common.show(("task", "main score", *numbers), rows, right=numbers)
        if small:
            common.say(explained())
        for note in _notes(scored):
            common.say(note)
        common.say(f"results in {folder.resolve()}")
    if report.doubt:
        common.warn(Text("The scores of this run cannot be trusted:", style="bold red"), report.doubt)
    unscored = [outcome for outcome in report.outcomes if outcome.status != "scored"]
    if unscored:
        common.warn(Text(f"{len(unscored)} of {len(report.outcomes)} tasks have no score:", style="bold red"))
        for line in common.by_reason((outcome.task, f"{outcome.status}: {outcome.reason}") for outcome in unscored):
            common.warn(f"  {line}")


def _notes(scored: Sequence[Outcome]) -> Iterator[str]:
    """What a reader must know of these scores."""
    if cached := [outcome for outcome in scored if outcome.cached]:
        yield (
            f"{len(cached)} of {len(scored)} were there already, of the day that stands for the seconds; see"
            " --overwrite-strategy."
        )
    if any(".limit" in outcome.task for outcome in scored):
        yield (
            "Tasks named .limit<N> ran on a part of their queries and documents, which makes scores high: for trying"
            " things out only."
        )
    if any(".sample" in outcome.task for outcome in scored):
        yield "Tasks named .sample ran on the built-in sample: their scores say nothing about the published benchmark."
    if any(".local-" in outcome.task for outcome in scored):
        yield "Tasks named .local-<content> ran on local data: their scores say nothing about the published benchmark."


def _as_json(report: Report, folder: Path) -> str:
    """The same for a program."""
    tasks = [
        {
            "task": outcome.task,
            "status": outcome.status,
            "main_score": outcome.main_score,
            "value": outcome.main,
            "in": outcome.scores.get(f"in_{outcome.main_score}"),
            "out": outcome.scores.get(f"out_{outcome.main_score}"),
            "n_queries": outcome.scores.get("n_queries"),
            "seconds": round(outcome.seconds, 3),
            "cached": outcome.cached or None,
            "reason": outcome.reason,
        }
        for outcome in report.outcomes
    ]
    document = {
        "model": report.model,
        "exit_status": report.exit_status,
        "doubt": report.doubt,
        "results": str(folder.resolve()),
    }
    return json.dumps({**document, "tasks": tasks}, indent=2, ensure_ascii=False)
