"""``patent-mteb run``: the options of ``mteb run``, and those that compose models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from rich.text import Text

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import (
    POSITIVE,
    SEVERAL,
    WHOLE,
    Benchmarks,
    LanguageModel,
    Loading,
    Memory,
    Named,
    Results,
    Tasks,
    WithStore,
)
from patent_mteb.errors import ModelError
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

    from patent_mteb.experiments.plan import Plan
    from patent_mteb.experiments.run import Outcome, Report
    from patent_mteb.report.cells import Cell

_FILTERS = Group("Task filters", help="With -t and -b, only tasks that fit all of them.", sort_key=1)
_COMPOSITION = Group(
    "Composition", help="Applied in this order; each setting is part of the identity of the results.", sort_key=3
)
_RERANKING = Group("Reranking", sort_key=4)
_RESULTS = Group("Results", sort_key=6)
_RESOURCES = Group("Resources", sort_key=7)
Overwriting = Literal["always", "never", "only-missing", "only-cache"]
_OF_LOADING = ("model_revision", "no_prompts", "max_tokens", "server", "backend", "attention")
"""Options of a model that is loaded here."""
_CAVEATS = {
    ".limit": ".limit<N> ran on some of their queries and documents, which makes scores high: for trying things out"
    " only.",
    ".sample": ".sample ran on the built-in sample: their scores say nothing about the published benchmark.",
    ".local-": ".local-<content> ran on local data: their scores say nothing about the published benchmark.",
}
"""Caveats of scores by a part of the task's name."""


@dataclass(frozen=True, kw_only=True)
class _Usual(Named):
    tasks: Tasks = ()
    """Names of tasks."""
    benchmarks: Benchmarks = ()
    """Names of benchmarks."""
    out: Results = Path("results")
    limit: Annotated[int | None, POSITIVE] = None
    """N queries of each retrieval task and some of its documents, stored as <Task>.limitN."""
    dry_run: bool = False
    """Only print the plan: texts, time, disk, memory, missing data; with --server also tokens and price."""


@dataclass(frozen=True, kw_only=True)
class _Composition:
    """Options that make another first stage, in the order in which they apply."""

    section_tags: Annotated[bool, Parameter(group=_COMPOSITION)] = False
    """Put PatentMap's section tags before the known sections of a text."""
    spans: Annotated[str | None, Parameter(group=_COMPOSITION, metavar="NxTOKENS")] = None
    """Read a text as up to N spans of this length, such as 8x512, and average their vectors."""
    dims: Annotated[int | None, WHOLE, Parameter(group=_COMPOSITION, metavar="D")] = None
    """Keep the first D dimensions, renormalised."""
    ann: Annotated[
        tuple[Annotated[int, POSITIVE], ...] | None,
        Parameter(consume_multiple=(0, 1), group=_COMPOSITION, metavar="[PROBES]"),
    ] = None
    """Search approximately (faiss, the extra 'ann') in N document groups a query, 16 without N; prints its recall."""
    passages: Annotated[int | None, WHOLE, Parameter(group=_COMPOSITION, metavar="TOKENS")] = None
    """Search windows of this length."""
    stride: Annotated[int | None, WHOLE, Parameter(group=_COMPOSITION, metavar="TOKENS")] = None
    """Tokens between the starts of two windows; without it no overlap."""
    aggregate: Annotated[str, Parameter(group=_COMPOSITION, metavar="NAME")] = "maxP"
    """maxP, avg_top3, avgP, sumP or firstP."""
    fuse: Annotated[str | None, Parameter(group=_COMPOSITION, metavar="MODEL")] = None
    """Second system: bm25, bm25-dapfam, or any model as for -m."""
    alpha: Annotated[float | None, Parameter(group=_COMPOSITION)] = None
    """Linear fusion, weight of -m; 0.5 without this and --rrf."""
    rrf: Annotated[float | None, Parameter(group=_COMPOSITION, metavar="K")] = None
    """Reciprocal rank fusion with the constant K."""
    rerank: Annotated[str | None, Parameter(group=_RERANKING, metavar="MODEL")] = None
    """Cross-encoder or late-interaction model that reorders the first documents."""


@dataclass(frozen=True, kw_only=True)
class RunOptions(LanguageModel, _Composition, WithStore, Loading, _Usual):
    task_types: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FILTERS, metavar="TYPE...")] = ()
    """Tasks of these types, such as Retrieval."""
    categories: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FILTERS, metavar="CATEGORY...")] = ()
    """Tasks of these categories, such as t2t."""
    languages: Annotated[tuple[str, ...], SEVERAL, Parameter(alias="-l", group=_FILTERS, metavar="LANGUAGE...")] = ()
    """Tasks in these languages, such as eng."""
    eval_splits: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FILTERS, metavar="SPLIT...")] = ()
    """Evaluate on these splits instead of the tasks' own."""
    rerank_depth: Annotated[int, WHOLE, Parameter(group=_RERANKING, metavar="K")] = 100
    """Number of documents that it orders."""
    rerank_chunks: Annotated[int | None, WHOLE, Parameter(group=_RERANKING, metavar="TOKENS")] = None
    """It reads documents in chunks of this length, of which the best counts; without it their beginnings."""
    candidates: Annotated[Path | None, Parameter(group=_RERANKING, metavar="DIR")] = None
    """Candidates of 'patent-mteb runs candidates'; -m is the reranker of them."""
    chat_endpoint: Annotated[str | None, Parameter(group=_RERANKING, metavar="URL")] = None
    """The reranker is the language model of this name at this address."""
    chat_method: Annotated[Literal["pointwise", "listwise", "setwise"], Parameter(group=_RERANKING)] = "pointwise"
    """It grades each document, orders windows of documents (RankGPT), or names the best of a set."""
    window: Annotated[int | None, WHOLE, Parameter(group=_RERANKING)] = None
    """Documents of a question: 20 listwise, 4 setwise."""
    characters: Annotated[int | None, WHOLE, Parameter(group=_RERANKING)] = None
    """Characters of a document that the language model reads: 8,000 pointwise, else 2,000."""
    overwrite_strategy: Annotated[Overwriting, Parameter(group=_RESULTS)] = "only-missing"
    """Action where a result exists."""
    prediction_folder: Annotated[Path | None, Parameter(group=_RESULTS, metavar="DIR")] = None
    """Store the rankings or predictions there."""
    save_runs: Annotated[Path | None, Parameter(group=_RESULTS, metavar="DIR")] = None
    """Write runs and qrels in TREC form there, for 'patent-mteb runs fuse'."""
    memory: Annotated[Memory, Parameter(group=_RESOURCES)] = None
    num_proc: Annotated[int | None, POSITIVE, Parameter(group=_RESOURCES)] = None
    """Processes that load the data."""
    co2_tracker: Annotated[bool, Parameter(negative="--no-co2-tracker", group=_RESOURCES)] = False
    """Estimate emissions with codecarbon."""


@command(
    "run",
    "patent-mteb run -t PatentCitationRetrieval.sample -m mteb/baseline-bm25s",
    "patent-mteb run -b PatentMTEB -m ORG/NAME --dry-run",
    "patent-mteb run -b 'PatenTEB(retrieval)' -m path/to/checkpoint --limit 100",
    "patent-mteb run -t PatentCitationRetrieval -m NAME --chat-endpoint http://localhost:8000/v1 --candidates DIR"
    " --budget-calls 1000",
)
def run_tasks(options: RunOptions) -> int:
    """Run a model on tasks or benchmarks."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from patent_mteb.experiments import plan, run
    from patent_mteb.memory import allowing
    from patent_mteb.tasks.perquery import RUNS_VARIABLE

    runs = {RUNS_VARIABLE: options.save_runs} if options.save_runs else {}
    tasks = _tasks(options)
    if options.chat_endpoint and not (options.rerank or options.candidates):
        raise ModelError(
            "--chat-endpoint is the address of a reranker", remedy="name it with --rerank, or with -m and --candidates"
        )
    if not options.chat_endpoint and (others := _changed(options, ("chat_method", "window", "characters"))):
        raise ModelError(f"{', '.join(others)}: only for a language model", remedy="name its --chat-endpoint")
    if options.chat_method == "pointwise" and options.window is not None:
        raise ModelError("--window is for --chat-method listwise and setwise", remedy="name one of them")
    if options.dry_run and (options.candidates or options.chat_endpoint):
        raise ModelError(
            "--dry-run counts texts to encode, and rerankers encode none",
            remedy="try --limit, or a small --budget-calls",
        )
    if options.dry_run:
        return _plan(options, tasks)
    with common.set_environment(runs), allowing(plan.left_for_blocks(options.memory, "run", plan.folders_of(tasks))):
        report = run.run(
            tasks=tasks,
            model=_model(options),
            output_folder=options.out,
            encode_kwargs=options.encode_kwargs(),
            overwrite_strategy=options.overwrite_strategy,
            co2_tracker=options.co2_tracker,
            prediction_folder=options.prediction_folder,
            num_proc=options.num_proc,
            show_progress=options.bars,
        )
        show(report, options.out)
    if options.save_runs:
        common.say_content(common.RUNS)
    return report.exit_status


def _tasks(options: RunOptions) -> list[AbsTask]:
    from patent_mteb.tasks.selection import choose, limited

    tasks = choose(
        names=options.tasks,
        benchmarks=options.benchmarks,
        types=options.task_types,
        categories=options.categories,
        languages=options.languages,
        splits=options.eval_splits,
    )
    return limited(tasks, options.limit) if options.limit else tasks


def _model(options: RunOptions) -> Any:
    """Return the model of -m with everything that the options wrap around it."""
    from patent_mteb.models.composition import compose
    from patent_mteb.models.loading import load

    def load_other(name: str) -> Any:
        return load(name, device=options.device)

    try:
        if options.candidates:
            return _reranker_of_candidates(options, options.candidates)
        return compose(
            options.load(),
            store=options.store_folder,
            section_tags=options.section_tags,
            spans=options.spans,
            dims=options.dims,
            ann=None if options.ann is None else (*options.ann, 16)[0],
            passages=options.passages,
            stride=options.stride,
            aggregate=options.aggregate,
            fuse=load_other(options.fuse) if options.fuse else None,
            alpha=options.alpha,
            rrf_k=options.rrf,
            rerank=_reranker(options, options.rerank, load_other) if options.rerank else None,
            rerank_depth=options.rerank_depth,
            rerank_chunks=options.rerank_chunks,
        )
    except ValueError as error:
        raise ModelError(str(error)) from error


def _reranker(options: RunOptions, name: str, load: Callable[[str], Any]) -> Any:
    """Return the language model of this name at the address of the options, or load the model."""
    from patent_mteb.models.judge import Judge, ListJudge

    if not options.chat_endpoint:
        return load(name)
    chat, method = options.chat(options.chat_endpoint, name), options.chat_method
    length = {} if options.characters is None else {"characters": options.characters}
    return Judge(chat, **length) if method == "pointwise" else ListJudge(chat, method, window=options.window, **length)


def _changed(options: RunOptions, names: Sequence[str]) -> list[str]:
    """Return those of some options that differ from their defaults, as a command line writes them."""
    return [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) != getattr(RunOptions, name)]


def _first_stage(options: RunOptions) -> list[str]:
    """Return the changed options that make another first stage, or edit the texts that an encoder reads."""
    return _changed(options, [*(field.name for field in fields(_Composition)), "layers", "input"])


def _reranker_of_candidates(options: RunOptions, folder: Path) -> Any:
    from patent_mteb.models.composition import in_store
    from patent_mteb.search.candidates import Candidates
    from patent_mteb.search.rerank import Reranked, second_stage

    if others := _first_stage(options):
        raise ModelError(
            f"{', '.join(others)} and --candidates exclude each other",
            remedy="-m names the reranker, the first stage is done",
        )
    if options.chat_endpoint and (others := _changed(options, _OF_LOADING)):
        raise ModelError(
            f"{', '.join(others)} cannot change the model of --chat-endpoint", remedy=f"leave out {', '.join(others)}"
        )
    reranker = second_stage(_reranker(options, options.model, lambda _: options.load()))
    second = in_store(reranker, options.store_folder)
    return Reranked(Candidates(folder), second, k=options.rerank_depth, chunk_tokens=options.rerank_chunks)


def _plan(options: RunOptions, tasks: Sequence[AbsTask]) -> int:
    """Print the plan of a run and return the exit status: 1 where data are missing."""
    from patent_mteb.experiments.plan import plan
    from patent_mteb.models.composition import in_store

    model = in_store(options.load(layers=None, input=None), options.store_folder)
    found = plan(model, tasks, options.out, encode_kwargs=options.encode_kwargs())
    common.result(asdict(found))
    _show_plan(found, _first_stage(options), options.price_input)
    return int(any(task.status == "missing" for task in found.tasks))


def _show_plan(plan: Plan, ignored: Sequence[str], price: float) -> None:
    common.say(plan.model)
    rows = [(row.task, row.status, row.texts, row.new) for row in plan.tasks if not row.reason]
    if rows:
        common.show(("task", "plan", "texts", "new"), rows, right=("texts", "new"))
    new = plan.distinct - plan.stored
    common.say(f"{plan.distinct} distinct texts, {plan.stored} of them in the store, {new} to encode")
    if plan.seconds is not None:
        common.say(f"about {plan.seconds / 60:.1f} min of encoding, by a probe")
    if plan.tokens is not None:
        cost = f", {plan.tokens / 1e6 * price:,.2f} at {price:g} a million" if price else ""
        common.say(f"about {plan.tokens:,} tokens, as the server counts those of the probe{cost}")
    if plan.disk:
        free = "" if plan.disk_free is None else f" ({plan.disk_free / 1e9:.1f} GB are free there)"
        common.say(f"{plan.disk / 1e6:.1f} MB on disk for the store{free}")
    common.say(f"at least {plan.memory / 1e6:.1f} MB of memory for the texts and vectors of the largest task")
    if ignored:
        common.say(f"Counted for -m alone on whole texts, without {', '.join(ignored)}.")
    common.warn_by_reason("  ", ((row.task, row.reason) for row in plan.tasks if row.reason))


def _cell(outcome: Outcome, slice_: str) -> Cell:
    """Return the main score of a task or slice, marked where it has too few queries or documents."""
    from patent_mteb.metrics.significance import too_small
    from patent_mteb.report.cells import Cell

    name = f"{slice_}_{outcome.main_score}" if slice_ else outcome.main_score
    value, low, high = (outcome.scores.get(f"{name}{end}") for end in ("", "_low", "_high"))
    small = too_small(outcome.scores, slice_) if value is not None else ""
    return Cell(value, small=small, interval=(low, high) if low is not None and high is not None else None)


def show(report: Report, folder: Path) -> None:
    """Print the scores of a run, and the tasks without one with their reasons."""
    from patent_mteb.metrics.significance import explained

    common.result(_document(report, folder))
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
        common.warn_by_reason("  ", ((outcome.task, f"{outcome.status}: {outcome.reason}") for outcome in unscored))


def _notes(scored: Sequence[Outcome]) -> Iterator[str]:
    from patent_mteb.tasks.perquery import RUNS_VARIABLE

    if cached := [outcome for outcome in scored if outcome.cached]:
        yield (
            f"{len(cached)} of {len(scored)} were there already, computed on the day in the column of seconds; see"
            " --overwrite-strategy."
        )
        if os.environ.get(RUNS_VARIABLE):
            yield "Their rankings are not written: that takes --overwrite-strategy always."
    own = (one.scores.get("data_set") or {} for one in scored)
    for name, version in dict.fromkeys((record["name"], record["version"]) for record in own if record):
        yield f"Data: {name}, version {version}."
    for part, caveat in _CAVEATS.items():
        if any(part in outcome.task for outcome in scored):
            yield f"Tasks named {caveat}"


def _document(report: Report, folder: Path) -> dict[str, Any]:
    """Return the outcomes as the result of ``--json`` (docs/commands.md)."""
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
    return {
        "model": report.model,
        "exit_status": report.exit_status,
        "doubt": report.doubt,
        "results": str(folder.resolve()),
        "tasks": tasks,
    }
