"""The command ``patent-mteb``: parse, call, print."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.logging import RichHandler
from rich.table import Table

from patent_mteb import __version__
from patent_mteb.errors import DataError, ModelError, PatentMTEBError

__all__ = ["main"]

out = Console(width=None if sys.stdout.isatty() else 200)
err = Console(stderr=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point. Returns the exit status: 0 all done, 1 something was skipped or failed, 2 unusable arguments or data."""
    parser = _parser()
    args = parser.parse_args(argv)
    _logging(getattr(args, "verbosity", 2))
    command: Callable[[argparse.Namespace], int] = args.command
    try:
        return command(args)
    except PatentMTEBError as error:
        err.print(f"[bold red]patent-mteb:[/] {_plain(str(error))}", highlight=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        err.print("interrupted", style="bold red")
        return 130


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def _logging(verbosity: int) -> None:
    level = {0: logging.CRITICAL, 1: logging.WARNING, 2: logging.INFO}.get(verbosity, logging.DEBUG)
    handler = RichHandler(console=err, show_path=False, log_time_format="[%X]")
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[handler], force=True)
    logging.getLogger("patent_mteb").setLevel(level)
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    logging.getLogger("mteb").setLevel(logging.WARNING if verbosity <= 2 else logging.DEBUG)
    if verbosity <= 2:
        import warnings

        warnings.filterwarnings("ignore", category=FutureWarning, module="mteb")
        warnings.filterwarnings("ignore", category=UserWarning, module="mteb")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="patent-mteb", description="Patent embedding benchmarks as ordinary mteb tasks.")
    parser.add_argument("--version", action="version", version=f"patent-mteb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="tasks, benchmarks or models, and where the data of each would come from")
    listing.add_argument("what", choices=("tasks", "benchmarks", "models"), nargs="?", default="tasks")
    listing.set_defaults(command=_list)

    run = commands.add_parser("run", help="run a model on tasks or benchmarks")
    run.add_argument("-m", "--model", required=True, help="hub id, a name that mteb knows, or a checkpoint directory")
    run.add_argument("-t", "--tasks", nargs="+", metavar="TASK")
    run.add_argument("-b", "--benchmarks", nargs="+", metavar="BENCHMARK")
    run.add_argument("--task-types", nargs="+", metavar="TYPE")
    run.add_argument("--categories", nargs="+", metavar="CATEGORY")
    run.add_argument("-l", "--languages", nargs="+", metavar="LANGUAGE")
    run.add_argument("--eval-splits", "--eval_splits", nargs="+", metavar="SPLIT")
    run.add_argument("--device", help="torch device such as cpu, cuda:0 or 0; the default is a GPU if there is one")
    run.add_argument("--output-folder", "--output_folder", type=Path, default=Path("results"))
    run.add_argument("-v", "--verbosity", type=int, default=2, choices=range(4))
    run.add_argument("--co2-tracker", action=argparse.BooleanOptionalAction, default=False)
    run.add_argument("--model-revision", "--model_revision")
    run.add_argument("--batch-size", "--batch_size", type=int)
    run.add_argument("--num-proc", "--num_proc", type=int)
    run.add_argument("--overwrite-strategy", default="only-missing", choices=("always", "never", "only-missing", "only-cache"))
    run.add_argument("--prediction-folder", type=Path)
    store = run.add_mutually_exclusive_group()
    store.add_argument("--store", type=Path, metavar="DIR", help="embedding store; the default lies in the user cache")
    store.add_argument("--no-store", action="store_true", help="encode every text anew")
    wrap = run.add_argument_group("composition", "applied in this order; each setting is part of the identity of the results")
    wrap.add_argument("--no-prompts", action="store_true", help="load a patent model without its prompts")
    wrap.add_argument("--section-tags", action="store_true", help="PatentMap: put section tags into the texts")
    wrap.add_argument("--dims", type=int, metavar="D", help="keep the first D dimensions, renormalised")
    wrap.add_argument("--passages", type=int, metavar="TOKENS", help="search windows of so many tokens")
    wrap.add_argument("--stride", type=int, metavar="TOKENS", help="tokens between the starts of two windows")
    wrap.add_argument("--aggregate", default="maxP", metavar="NAME", help="maxP, avg_top3, avgP, sumP or firstP")
    wrap.add_argument("--fuse", metavar="MODEL", help="second system: bm25, bm25-dapfam, or any model as for -m")
    wrap.add_argument("--alpha", type=float, help="linear fusion, weight of -m (default 0.5)")
    wrap.add_argument("--rrf", type=float, metavar="K", help="reciprocal rank fusion with constant K")
    wrap.add_argument("--rerank", metavar="MODEL", help="cross-encoder that orders the first documents anew")
    wrap.add_argument("--rerank-depth", type=int, default=100, metavar="K")
    run.set_defaults(command=_run)

    sweep = commands.add_parser("sweep", help="run a part of DAPFAM's run matrix into one table, resumable")
    sweep.add_argument("family", choices=("dapfam",))
    sweep.add_argument("-m", "--model", help="the dense backend, as for 'run'")
    sweep.add_argument("--model-revision")
    sweep.add_argument("--bm25", default="dapfam", metavar="SETTING", help="the lexical backend's setting: dapfam or bm25s")
    sweep.add_argument("--out", type=Path, default=Path("sweep.csv"))
    sweep.add_argument("--backends", nargs="+", default=["bm25", "dense"], metavar="NAME", help="bm25, dense, hybrid")
    sweep.add_argument("--granularities", nargs="+", default=["document"], metavar="NAME", help="document, passage")
    sweep.add_argument("--queries", nargs="+", default=["TA", "TAC"], metavar="VIEW")
    sweep.add_argument("--corpora", nargs="+", default=["TAC", "FullText"], metavar="VIEW")
    sweep.add_argument("--aggregates", nargs="+", default=["maxP", "avg_top3", "avgP", "sumP"], metavar="NAME")
    sweep.add_argument("--lengths", nargs="+", type=int, default=[256, 1024], metavar="TOKENS")
    sweep.add_argument("--rrf", nargs="*", type=float, default=[10, 30, 60, 100], metavar="K")
    sweep.add_argument("--alphas", nargs="*", type=float, default=[], metavar="ALPHA")
    sweep.add_argument("--store", type=Path, metavar="DIR")
    sweep.add_argument("--device")
    sweep.add_argument("-v", "--verbosity", type=int, default=2, choices=range(4))
    sweep.set_defaults(command=_sweep)

    report = commands.add_parser("report", help="tables, plots and a static page from a results folder")
    report.add_argument("results", type=Path)
    report.add_argument("--format", nargs="+", default=["terminal"], metavar="FORMAT", help="terminal, markdown, csv, latex")
    report.add_argument("--out", type=Path, metavar="DIR", help="write tables, and plots with --plots, to this folder")
    report.add_argument("--html", type=Path, metavar="DIR", help="write a self-contained page to this folder")
    report.add_argument("--plots", action="store_true", help="write every plot as PNG and SVG (needs patent-mteb[plots])")
    report.add_argument("--published", action="store_true", help="set measured rows among the papers' rows")
    report.add_argument("--baseline", metavar="MODEL", help="letters mark what is significantly better than this model")
    report.set_defaults(command=_report)

    export = commands.add_parser("export", help="a results folder, model card section and leaderboard for publication")
    export.add_argument("results", type=Path)
    export.add_argument("out", type=Path)
    export.add_argument("-m", "--model", metavar="MODEL", help="this model only")
    export.set_defaults(command=_export)

    geometry = commands.add_parser("geometry", help="how a model's embeddings of a task's texts lie in space")
    geometry.add_argument("-m", "--model", required=True)
    geometry.add_argument("-t", "--tasks", nargs="+", required=True, metavar="TASK", help="retrieval tasks of the suite")
    geometry.add_argument("--max-documents", type=int, default=10_000)
    geometry.add_argument("--batch-size", type=int, default=32)
    geometry.add_argument("--device")
    geometry.add_argument("--store", type=Path, metavar="DIR")
    geometry.set_defaults(command=_geometry)

    stores = commands.add_parser("store", help="look at the embedding store, check it, or free space")
    stores.add_argument("action", choices=("info", "verify", "prune"))
    stores.add_argument("--store", type=Path, metavar="DIR", help="the default lies in the user cache")
    stores.add_argument("--model", help="prune: remove the embeddings of this model")
    stores.add_argument("--older-than", type=float, metavar="DAYS", help="prune: remove what nobody has used for so many days")
    stores.add_argument("--damaged", action="store_true", help="prune: remove damaged shards, keeping what is whole in them")
    stores.add_argument("--dry-run", action="store_true", help="prune: only say what would be removed")
    stores.set_defaults(command=_store)

    build = commands.add_parser("build", help="make a family's tables from canonical records (your own patents)")
    build.add_argument("family", help="wipo_at, dapfam, patenteb, sophia or patentmap")
    build.add_argument("patents", type=Path, help="patents.parquet or patents.jsonl (see patent_mteb.patents.records)")
    build.add_argument("citations", type=Path, help="citations.parquet or citations.jsonl")
    build.add_argument("root", type=Path, help="directory for PATENT_MTEB_DATA")
    build.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the recipe; repeatable")
    build.set_defaults(command=_build)

    validate = commands.add_parser("validate", help="load checks on a local data directory")
    validate.add_argument("directory", type=Path, help="a directory for PATENT_MTEB_DATA, or one family's directory in it")
    validate.add_argument("-v", "--verbosity", type=int, default=2, choices=range(4))
    validate.set_defaults(command=_validate)
    return parser


def _list(args: argparse.Namespace) -> int:
    import mteb

    from patent_mteb.data import sources
    from patent_mteb.tasks.catalogue import BENCHMARKS, TASKS

    table = Table(box=None, pad_edge=False)
    if args.what == "tasks":
        for title in ("task", "type", "main score", "data from"):
            table.add_column(title, no_wrap=title == "task")
        for task in TASKS:
            meta = task.metadata
            table.add_row(meta.name, meta.type, meta.main_score, sources.resolve(task.data).place)
    elif args.what == "benchmarks":
        for title in ("benchmark", "tasks", "columns", "description"):
            table.add_column(title)
        for benchmark in BENCHMARKS:
            table.add_row(benchmark.name, str(len(benchmark)), ", ".join(benchmark.groups), benchmark.description)
    else:
        from patent_mteb import published
        from patent_mteb.models.registry import METAS

        for title in ("model", "paper's name", "category", "dims", "max tokens", "runs with -m"):
            table.add_column(title)
        known = {meta.name: meta for meta in mteb.get_model_metas()}
        shown = set()
        for row in published.printed("wipo_at", 3).iter_rows(named=True):
            shown.add(row["model_id"])
            runs = "yes" if row["model_id"] in known else "by hub id" if row["model_id"] else "no: not released"
            table.add_row(row["model_id"], row["model"], row["category"], _cell(row["dim"]), _cell(row["max_tokens"]), runs)
        for model in METAS:
            if model.name not in shown:
                table.add_row(model.name, "", "Patent-specialized", _cell(model.embed_dim), _cell(model.max_tokens), "yes")
    out.print(table)
    return 0


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.0f}" if isinstance(value, float) else str(value)


def _select(args: argparse.Namespace) -> list[Any]:
    import mteb

    try:
        if args.benchmarks:
            return [task for benchmark in mteb.get_benchmarks(args.benchmarks) for task in benchmark.tasks]
        if not (args.tasks or args.task_types or args.categories or args.languages):
            raise DataError("no task was chosen", remedy="name tasks with -t or a benchmark with -b; see 'patent-mteb list'")
        return list(
            mteb.get_tasks(
                tasks=args.tasks,
                task_types=args.task_types,
                categories=args.categories,
                languages=args.languages,
                eval_splits=args.eval_splits,
            )
        )
    except KeyError as error:
        raise DataError(str(error.args[0]).removeprefix("KeyError: "), remedy="see 'patent-mteb list' for the names") from error


def _run(args: argparse.Namespace) -> int:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from patent_mteb.experiments import run

    tasks = _select(args)
    model = _model(args)
    report = run.run(
        model,
        tasks,
        args.output_folder,
        encode_kwargs={"batch_size": args.batch_size} if args.batch_size else None,
        overwrite_strategy=args.overwrite_strategy,
        co2_tracker=args.co2_tracker,
        prediction_folder=args.prediction_folder,
        num_proc=args.num_proc,
        show_progress=args.verbosity >= 2,
    )
    _print_report(report, args.output_folder)
    return report.exit_status


def _model(args: argparse.Namespace) -> Any:
    from patent_mteb.models.composition import compose
    from patent_mteb.models.loading import load
    from patent_mteb.store import default_path

    device = _device(args.device)
    try:
        return compose(
            load(args.model, args.model_revision, device, prompts=not args.no_prompts),
            store=None if args.no_store else args.store or default_path(),
            section_tags=args.section_tags,
            dims=args.dims,
            passages=args.passages,
            stride=args.stride,
            aggregate=args.aggregate,
            fuse=load(args.fuse, device=device) if args.fuse else None,
            alpha=args.alpha,
            rrf_k=args.rrf,
            rerank=load(args.rerank, device=device) if args.rerank else None,
            rerank_depth=args.rerank_depth,
        )
    except ValueError as error:
        raise ModelError(str(error)) from error


def _device(name: str | None) -> str | None:
    return f"cuda:{name}" if name is not None and name.isdigit() else name


def _print_report(report: Any, folder: Path) -> None:
    scored = [outcome for outcome in report.outcomes if outcome.status == "scored"]
    if scored:
        out.print(report.model, soft_wrap=True, highlight=False, markup=False)
        table = Table(box=None, pad_edge=False)
        for title in ("task", "main score", "value", "IN", "OUT", "queries", "seconds"):
            table.add_column(title, justify="left" if title in ("task", "main score") else "right")
        for outcome in scored:
            sliced = [outcome.scores.get(f"{name}_{outcome.main_score}") for name in ("in", "out")]
            table.add_row(
                outcome.task,
                outcome.main_score,
                *("" if value is None else f"{value:.4f}" for value in (outcome.main, *sliced)),
                f"{outcome.scores['n_queries']:.0f}" if "n_queries" in outcome.scores else "",
                f"{outcome.seconds:.1f}",
            )
        out.print(table)
        if any(outcome.task.endswith(".sample") for outcome in scored):
            out.print("Tasks named .sample ran on the built-in sample: their scores say nothing about the published benchmark.")
        out.print(f"results in {folder.resolve()}", soft_wrap=True, highlight=False)
    left_out = [outcome for outcome in report.outcomes if outcome.status != "scored"]
    if left_out:
        err.print(f"{len(left_out)} of {len(report.outcomes)} tasks have no score:", style="bold red")
        for outcome in left_out:
            err.print(f"  {outcome.task}: {outcome.status}: {_plain(outcome.reason)}", highlight=False, soft_wrap=True)


def _validate(args: argparse.Namespace) -> int:
    from patent_mteb.experiments import validation

    findings = validation.validate(args.directory)
    for finding in findings:
        mark = "[bold red]error[/]" if finding.fatal else "[yellow]note[/]" if finding.odd else "[green]ok[/]"
        out.print(f"{mark} {_plain(finding.text)}", highlight=False, soft_wrap=True)
    return 2 if any(finding.fatal for finding in findings) else 0


def _sweep(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.sweep import Matrix, sweep
    from patent_mteb.models.loading import load
    from patent_mteb.search.bm25 import bm25
    from patent_mteb.store import stored

    matrix = Matrix(args.backends, args.granularities, args.queries, args.corpora, args.aggregates, args.lengths, args.rrf, args.alphas)
    try:
        lexical = bm25(args.bm25)
    except ValueError as error:
        raise ModelError(str(error)) from error
    dense = stored(load(args.model, args.model_revision, _device(args.device)), args.store) if args.model else None
    table = sweep(matrix, dense, lexical, args.out)
    shown = ("backend", "granularity", "query", "corpus", "length", "aggregate", "fusion")
    scores = ("ndcg_at_100", "in_ndcg_at_100", "out_ndcg_at_100", "recall_at_100")
    printed = Table(box=None, pad_edge=False)
    for title in (*shown, *scores, "seconds"):
        printed.add_column(title, justify="right" if title in (*scores, "seconds") else "left")
    for row in table.sort("ndcg_at_100", descending=True).iter_rows(named=True):
        values = (f"{row[name]:.4f}" if row[name] is not None else "" for name in scores)
        printed.add_row(*(str(row[name] or "") for name in shown), *values, f"{row['seconds']:.2f}")
    out.print(printed)
    out.print(f"{table.height} runs in {args.out.resolve()}", soft_wrap=True, highlight=False)
    return 0


def _report(args: argparse.Namespace) -> int:
    from patent_mteb import report

    outcome = report.run(
        args.results,
        formats=args.format,
        out=args.html or args.out,
        html=args.html is not None,
        plots=args.plots,
        published=args.published,
        baseline=args.baseline,
    )
    outcome.print(out)
    for path in outcome.files:
        out.print(str(path), soft_wrap=True, highlight=False, markup=False)
    for message in outcome.messages:
        err.print(f"note: {message}", soft_wrap=True, highlight=False, markup=False)
    return 0


def _export(args: argparse.Namespace) -> int:
    from patent_mteb.report.export import prepare

    export = prepare(args.results, args.out, args.model)
    for path in export.files:
        out.print(str(path), soft_wrap=True, highlight=False, markup=False)
    for refusal in export.refused:
        err.print(f"refused: {refusal}", soft_wrap=True, highlight=False, markup=False)
    for message in export.messages:
        err.print(f"note: {message}", soft_wrap=True, highlight=False, markup=False)
    out.print(f"{export.exported} results exported, {len(export.refused)} refused")
    return 1 if export.refused or not export.exported else 0


def _geometry(args: argparse.Namespace) -> int:
    import mteb

    from patent_mteb.experiments.geometry import geometry
    from patent_mteb.models.loading import load
    from patent_mteb.store import stored
    from patent_mteb.tasks.base import PatentRetrieval

    model = stored(load(args.model, device=_device(args.device)), args.store)
    for name in args.tasks:
        task = mteb.get_task(name)
        if not isinstance(task, PatentRetrieval):
            raise DataError(f"'{name}' is no retrieval task of the suite", remedy="see 'patent-mteb list'")
        found = geometry(model, task, max_documents=args.max_documents, encode_kwargs={"batch_size": args.batch_size})
        out.print(f"{task.metadata.name}: {model.mteb_model_meta.name}", soft_wrap=True, highlight=False, markup=False)
        table = Table(box=None, pad_edge=False)
        for title in ("measure", "value"):
            table.add_column(title, justify="right" if title == "value" else "left")
        for measure, value in found.items():
            table.add_row(measure, f"{value:.0f}" if measure.startswith("n_") else f"{value:.4f}")
        out.print(table)
    return 0


def _store(args: argparse.Namespace) -> int:
    from patent_mteb.store import EmbeddingStore

    store = EmbeddingStore(args.store)
    if args.action == "info":
        out.print(f"store in {store.path}", soft_wrap=True, highlight=False)
        table = Table(box=None, pad_edge=False)
        for title in ("model", "revision", "vectors", "texts", "MB"):
            table.add_column(title, justify="right" if title in ("texts", "MB") else "left")
        for space in store.info():
            vectors = f"{space.dtype}{', one a token' if space.ragged else ''}"
            table.add_row(space.model, space.revision, vectors, str(space.texts), f"{space.nbytes / 1e6:.1f}")
        out.print(table)
        return 0
    if args.action == "verify":
        report = store.verify()
        for damage in report.damages:
            out.print(f"{'error' if damage.fatal else 'note'} {damage}", soft_wrap=True, highlight=False, markup=False)
        out.print(f"{report.texts} texts in {report.spaces} spaces ({report.nbytes / 1e6:.1f} MB): {'ok' if report.ok else 'damaged'}")
        return 0 if report.ok else 1
    try:
        pruned = store.prune(model=args.model, older_than_days=args.older_than, damaged=args.damaged, dry_run=args.dry_run)
    except ValueError as error:
        raise DataError(str(error), remedy="say what to remove: --model, --older-than or --damaged") from error
    for line in pruned.removed:
        out.print(line, soft_wrap=True, highlight=False, markup=False)
    out.print(f"{'would free' if args.dry_run else 'freed'} {pruned.freed_bytes / 1e6:.1f} MB")
    return 0


def _build(args: argparse.Namespace) -> int:
    from patent_mteb import recipes
    from patent_mteb.patents import records

    log = recipes.run(args.family, records.read_patents(args.patents), records.read_citations(args.citations), args.root, args.set)
    table = Table(box=None, pad_edge=False)
    for title in ("step", "in", "out", "note"):
        table.add_column(title, justify="right" if title in ("in", "out") else "left")
    for step in log.steps:
        table.add_row(step.name, str(step.rows_in), str(step.rows_out), step.note)
    out.print(table)
    out.print(f"{len(log.files)} files in {args.root.resolve()}; use it with PATENT_MTEB_DATA={args.root.resolve()}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
