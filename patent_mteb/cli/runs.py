"""``patent-mteb runs``: rankings as files, and a matrix of runs as one table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import (
    AMOUNT,
    MODEL,
    ORDER,
    POSITIVE,
    SEVERAL,
    WHOLE,
    WITH_DATA,
    AllowMissing,
    Order,
    Precision,
    Results,
    SetOrder,
    StoredModel,
    Tasks,
    WithData,
    WithStore,
)
from patent_mteb.cli.run import show
from patent_mteb.errors import DataError, ModelError
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    import polars as pl

    from patent_mteb.experiments.sweep import Matrix
    from patent_mteb.search.stored import StoredRun

_FUSION = Group("Fusion", help="Without these options, reciprocal rank fusion with k = 60.", sort_key=1)


@command(
    "runs candidates",
    "patent-mteb runs candidates -t PatentCitationRetrieval.sample -m bm25-dapfam --top 100 --out candidates",
    "patent-mteb run -t PatentCitationRetrieval.sample -m path/to/cross-encoder --candidates candidates",
)
def candidates(
    *,
    model: StoredModel,
    tasks: Tasks,
    top: Annotated[int, POSITIVE, Parameter(metavar="K")] = 1000,
    limit: Annotated[int | None, POSITIVE] = None,
    out: Annotated[Path, Parameter(metavar="DIR")] = Path("candidates"),
) -> int:
    """Write the best documents of every query, so that 'run --candidates' reranks them without a first stage.

    Args:
        tasks: Names of retrieval tasks.
        top: Documents a query.
        limit: N queries of each task, as for 'patent-mteb run'.
        out: Folder with one file for each system and depth; existing files are kept.
    """
    from patent_mteb.experiments.rankings import candidates
    from patent_mteb.models.composition import compose
    from patent_mteb.tasks.selection import choose, limited

    chosen = choose(names=tasks)
    done = candidates(
        compose(model.load(), store=model.store_folder),
        limited(chosen, limit) if limit else chosen,
        out,
        top,
        encode_kwargs=model.encode_kwargs(),
    )
    recall = f"Recall@{top}"
    rows = [
        (one.task, one.queries, common.number(one.recall), "was there" if one.existing else "")
        for one in done
        if not one.reason
    ]
    common.show(("task", "queries", recall, ""), rows, right=("queries", recall))
    for one in done:
        if one.reason:
            common.warn(f"{one.task}: {one.reason}")
    common.say(f"candidates in {out.resolve()}")
    common.say_content(common.RUNS)
    return 1 if any(one.reason for one in done) else 0


@command(
    "runs score",
    "patent-mteb runs score vendor.run -t PatentDAPFAMTACToTACRetrieval --name 'Vendor 3.1'",
    "patent-mteb runs score hits.xlsx -t PatentDAPFAMTACToTACRetrieval --order none --against bm25.run",
)
def score(
    run: Path,
    /,
    *,
    task: Annotated[str, Parameter(alias="-t")],
    name: str = "",
    allow_missing: AllowMissing = False,
    drop_unknown: bool = False,
    seconds: Annotated[float | None, AMOUNT, Parameter(metavar="S")] = None,
    cost: Annotated[float | None, AMOUNT, Parameter(metavar="C")] = None,
    order: Annotated[
        SetOrder | None, ORDER, Parameter(help=f"{ORDER.help} none: a set, such as the hits of a Boolean search.")
    ] = None,
    against: Annotated[tuple[Path, ...], SEVERAL, Parameter(metavar="RUN...")] = (),
    out: Results = Path("results"),
    session: WithData = WITH_DATA,
) -> int:
    """Score the ranking or the hit list of any system (a search product, an agent, a pipeline) like a model's.

    Args:
        run: TREC run, or a table (CSV, TSV, XLSX) of queries, documents, ranks or scores; numbers in any spelling.
        task: Task that was searched: its corpus, judgements and hidden documents count.
        name: Name of the system, stored as run/NAME; without it the name of the file.
        drop_unknown: Drop and count documents that are not in the task's corpus.
        seconds: Seconds that the system took for all queries of the run together.
        cost: Cost of all queries together, in any currency.
        against: With --order none: rankings of the same task to compare with the sets, or folders of 'run --save-runs'.
    """
    from patent_mteb.experiments.evaluate import retrieval_task
    from patent_mteb.experiments.run import run as run_task
    from patent_mteb.search.stored import StoredRun

    if order == "none":
        if (seconds, cost) != (None, None):
            problem = "--seconds and --cost are stored with the result of a ranking, and a set has none"
            raise DataError(problem, remedy="leave them out")
        read = partial(StoredRun, allow_missing=allow_missing, drop_unknown=drop_unknown)
        return _score_sets(read(run, name, order="none"), task, against, read)
    if against:
        raise DataError("--against compares sets", remedy="add --order none, or compare runs with 'patent-mteb report'")
    effort = {name: value for name, value in (("seconds", seconds), ("cost", cost)) if value is not None}
    system = StoredRun(run, name, allow_missing=allow_missing, drop_unknown=drop_unknown, effort=effort, order=order)
    # effort is not part of an identity: an existing result may state another
    report = run_task(system, [retrieval_task(task)], out, overwrite_strategy="always", show_progress=False)
    show(report, out)
    common.say_content(common.RUNS)
    return report.exit_status


def _score_sets(hits: StoredRun, task: str, against: Sequence[Path], read: Callable[..., StoredRun]) -> int:
    """Print a set of each query next to rankings that are cut at its size."""
    from dataclasses import asdict

    from patent_mteb.experiments.evaluate import retrieval_task
    from patent_mteb.experiments.sets import compare_sets, saved_runs
    from patent_mteb.metrics.significance import MARK, p_text

    found = retrieval_task(task)  # a task on own data has the state of the data in its name
    rankings = {name: read(one) for name, one in saved_runs(against, found.metadata.name).items()}
    sets, ranked = compare_sets(hits, rankings, found)
    common.result({"sets": asdict(sets), "rankings": [asdict(one) for one in ranked]})

    def text(score: Any, digits: int = 4) -> str:
        return f"{score.value:.{digits}f} [{score.low:.{digits}f}, {score.high:.{digits}f}]"

    columns = (
        "system",
        "recall",
        "precision",
        "F1",
        "recall: difference",
        "p",
        "depth of equal recall",
        "fewer",
        "more",
    )
    rows: list[tuple[str, ...]] = [(sets.name, *map(text, (sets.recall, sets.precision, sets.f1)), *[""] * 5)]
    for one in ranked:
        depth = f"not within {one.longest}" if one.depth.value == float("inf") else text(one.depth, 0)
        scores = map(text, (one.recall, one.precision, one.f1, one.difference))
        rows.append((one.name, *scores, p_text(one.p), depth, str(one.fewer), str(one.more)))
    common.show(columns if ranked else columns[:4], [row[: 9 if ranked else 4] for row in rows])
    mark = f" {MARK} {sets.small}: too few to compare" if sets.small else ""
    common.say(f"{sets.queries} queries, {sets.size:.1f} documents in a set, {sets.empty} sets are empty.{mark}")
    if ranked:
        common.say(
            "Rankings are cut at the size of each set. Depth: documents a query at which the mean recall of the ranking"
            " reaches that of the sets. fewer, more: queries for which the ranking needs fewer or more documents than"
            " the set has to find as many relevant ones. In brackets: 95% intervals."
        )
    for one in ranked:
        if one.short:
            common.warn(f"{one.name}: for {one.short} queries the ranking has fewer documents than the set")
    return 0


@command("runs fuse", "patent-mteb runs fuse bm25.run dense.run -t PatentDAPFAMTACToTACRetrieval --grid")
def fuse(
    runs: Annotated[tuple[Path, ...], Parameter(metavar="RUN")],
    /,
    *,
    task: Annotated[str, Parameter(alias="-t")],
    rrf: Annotated[tuple[float, ...], SEVERAL, Parameter(group=_FUSION, metavar="K...")] = (),
    alpha: Annotated[tuple[float, ...], SEVERAL, Parameter(group=_FUSION, metavar="A...")] = (),
    weights: Annotated[tuple[float, ...], SEVERAL, Parameter(group=_FUSION, metavar="W...")] = (),
    grid: Annotated[bool, Parameter(group=_FUSION)] = False,
    depth: Annotated[int, POSITIVE, Parameter(group=_FUSION)] = 1000,
    allow_missing: AllowMissing = False,
    order: Annotated[
        tuple[Order, ...], ORDER, Parameter(help=f"{ORDER.help} Once for all runs, or once for each.")
    ] = (),
    out: Results = Path("results"),
    table: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    plot: Annotated[Path | None, Parameter(metavar="STEM")] = None,
    session: WithData = WITH_DATA,
) -> None:
    """Fuse stored runs of any models, views and lengths, and score the result on a task.

    Args:
        runs: TREC files, as 'run --save-runs DIR' writes them; the lexical one first.
        task: Task whose judgements, slices and hidden documents count.
        rrf: Reciprocal rank fusion with these constants.
        alpha: Interpolation of two runs: weights of the second.
        weights: Interpolation: one weight a run.
        grid: k of 10, 30, 60 and 100, and of two runs all weights in tenths.
        depth: Documents of each run that count.
        table: Write all scores, gains and OUT/ALL ratios as csv.
        plot: Draw the curves as STEM.png, STEM.svg and STEM.pdf.
    """
    from patent_mteb.experiments.rankings import SMALL, fuse_runs
    from patent_mteb.metrics.significance import explained

    settings = _settings(rrf, alpha, weights, len(runs) if grid else 0)
    found = fuse_runs(list(runs), task, settings, out, depth=depth, allow_missing=allow_missing, orders=list(order))
    scores = [name for name in found.columns[3:] if name not in SMALL and not name.startswith(("gain_", "out_ratio_"))]
    _show(found, scores)
    if any(found[name].str.len_chars().sum() for name in SMALL if name in found.columns):
        common.say(explained())
    if table:
        from patent_mteb.files import write_text

        write_text(table, found.write_csv())
        common.say(f"table in {table.resolve()}")
    if plot:
        from patent_mteb.report.drawing import fusion_curves
        from patent_mteb.report.figures import save

        for path in save(fusion_curves(found, scores[0], measure=measure_title(scores[0]), title=task), plot):
            common.say(f"plot in {path.resolve()}")
    common.say(f"results in {out.resolve()}")
    common.say_content(common.RUNS)


def _settings(rrf: Sequence[float], alpha: Sequence[float], weights: Sequence[float], grid_of: int) -> list[Any]:
    """Return the fusions that the options name, and the grid of a number of runs."""
    from patent_mteb.experiments.rankings import GRID
    from patent_mteb.search.fusion import RRF, Linear
    from patent_mteb.search.stored import Weighted

    chosen: list[Any] = [*map(RRF, rrf), *map(Linear, alpha), *([Weighted(tuple(weights))] if weights else [])]
    if grid_of:
        chosen += [setting for setting in GRID if grid_of == 2 or isinstance(setting, RRF)]
    return list(dict.fromkeys(chosen)) or [RRF(60)]


def _mark(row: dict[str, Any], score: str) -> str:
    """Return the mark of a score that too few queries or documents support."""
    from patent_mteb.metrics.significance import MARK

    slice_ = next((slice_ for slice_ in ("in_", "out_") if score.startswith(slice_)), "")
    return MARK if row.get(f"{slice_}small") else ""


def _show(table: pl.DataFrame, scores: list[str]) -> None:
    gain = f"gain_{scores[0]}"
    best = table.filter(table["method"] != "")[scores[0]].max()
    rows = [
        (
            row["name"],
            *(common.number(row[name]) + _mark(row, name) for name in scores),
            common.number(row[gain]),
            "best" if row["method"] and row[scores[0]] == best and table.height > 3 and not row["small"] else "",
        )
        for row in table.iter_rows(named=True)
    ]
    numbers = (*map(measure_title, scores), "gain")
    common.show(("run", *numbers, ""), rows, right=numbers)


_SETTING = ("backend", "granularity", "query", "corpus", "length", "tokens", "aggregate", "fusion")
_SCORES = ("ndcg_at_100", "in_ndcg_at_100", "out_ndcg_at_100", "recall_at_100")
_PRINTED = ("printed_ndcg_at_100", "difference_ndcg_at_100")
_FACTORS = Group("Factors", help="The values of each that are combined; not with --paper.", sort_key=3)
_Names = Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FACTORS, metavar="NAME...")]
_Views = Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FACTORS, metavar="VIEW...")]
_Numbers = Annotated[tuple[float, ...], Parameter(consume_multiple=True)]
_Lengths = tuple[Annotated[int, WHOLE], ...]


@dataclass(frozen=True, kw_only=True)
class Factors:
    """The factors of the matrix, as :class:`patent_mteb.experiments.sweep.Matrix` names them."""

    backends: _Names = ("bm25", "dense")
    """bm25, dense, hybrid."""
    granularities: _Names = ("document",)
    """document, passage."""
    queries: _Views = ("TA", "TAC")
    """Text views of the queries."""
    corpora: _Views = ("TAC", "FullText")
    """Text views of the documents."""
    aggregates: _Names = ("maxP", "avg_top3", "avgP", "sumP")
    """Aggregation of the scores of a document's passages."""
    tokens: _Names = ("own",)
    """Unit of the lengths of passages: own (tokens of each backend), words (the same for all)."""
    lengths: Annotated[_Lengths, SEVERAL, Parameter(group=_FACTORS, metavar="TOKENS...")] = (256, 1024)
    """Lengths of the passages."""
    rrf: Annotated[_Numbers, Parameter(group=_FACTORS, metavar="K")] = (10.0, 30.0, 60.0, 100.0)
    """Hybrid: constants of reciprocal rank fusion."""
    alphas: Annotated[_Numbers, Parameter(group=_FACTORS, metavar="ALPHA")] = ()
    """Hybrid: weights of linear fusion; without it none."""


@dataclass(frozen=True, kw_only=True)
class SweepOptions(Factors, WithStore):
    model: Annotated[str | None, Parameter(alias="-m", metavar="MODEL")] = None
    """Hub id, a name that mteb knows, or a checkpoint directory."""
    model_revision: Annotated[str | None, Parameter(group=MODEL, metavar="REVISION")] = None
    """Commit, tag or branch of a model on the hub."""
    precision: Annotated[tuple[Precision, ...], SEVERAL, Parameter(group=MODEL, metavar="NAME...")] = ()
    """Of weights (float32, bfloat16, float16) or vectors (int8, uint8, binary), each with own rows; default float32."""
    paper: bool = False
    """The 249 runs of the paper's Tables 17 to 20 with their printed numbers, dense ones in int8."""
    count: Annotated[bool, Parameter(name="--list")] = False
    """Count the runs instead of running them."""
    bm25: Annotated[str, Parameter(metavar="SETTING")] = "dapfam"
    """Setting of the lexical backend: dapfam or bm25s."""
    out: Annotated[Path, Parameter(metavar="FILE")] = Path("sweep.csv")
    """The table, csv; runs that it holds are not run again."""


_OPTIONS = SweepOptions()


@command(
    "runs sweep",
    "patent-mteb runs sweep dapfam -m ORG/NAME --out sweep.csv",
    "patent-mteb runs sweep dapfam --paper --list",
)
def sweep(benchmark: Literal["dapfam", "DAPFAM"], /, *, options: SweepOptions = _OPTIONS) -> None:
    """Run DAPFAM's matrix of runs, or a subset of it, into one table, resumable.

    Args:
        benchmark: Benchmark whose matrix is run.
    """
    from patent_mteb.experiments.sweep import sweep
    from patent_mteb.search.bm25 import bm25

    matrices = _matrices(options)
    if options.count:
        _list(matrices)
        return
    try:
        lexical = bm25(options.bm25)
    except ValueError as error:
        raise ModelError(str(error)) from error
    precisions: tuple[Precision, ...] = options.precision or ("int8" if options.paper else "float32",)
    dense = encoders(options, options.model, options.model_revision, precisions)
    table = sweep(matrices, dense, lexical, options.out, encode_kwargs=options.encode_kwargs())
    show_sweep(table, options.out)


def _matrices(options: SweepOptions) -> tuple[Matrix, ...]:
    from patent_mteb.experiments.sweep import PAPER, Matrix

    chosen = {field.name: getattr(options, field.name) for field in fields(Factors)}
    if not options.paper:
        return (Matrix(**{name: list(values) for name, values in chosen.items()}),)
    if changed := [name for name, values in chosen.items() if values != getattr(_OPTIONS, name)]:
        raise DataError(
            f"--paper runs the paper's factors, so --{changed[0]} has no effect", remedy="leave out one of the two"
        )
    return PAPER


def _list(matrices: tuple[Matrix, ...]) -> None:
    settings = [setting for matrix in matrices for setting in matrix.settings()]
    counts = Counter((setting.backend, setting.granularity) for setting in settings)
    common.show(("backend", "granularity", "runs"), [(*kind, count) for kind, count in counts.items()], right=("runs",))
    common.say(f"{len(settings)} runs")


def encoders(options: WithStore, model: str | None, revision: str | None, precisions: Sequence[Precision]) -> list[Any]:
    """Return a model at each precision; stored full vectors serve the quantised ones too."""
    if not model:
        return []
    from patent_mteb.models.quantised import Quantised
    from patent_mteb.models.spec import VECTOR_PRECISIONS

    shared = {field.name: getattr(options, field.name) for field in fields(WithStore)}
    loaded = {
        precision: StoredModel(**shared, model=model, model_revision=revision, precision=precision).load_encoder()
        for precision in precisions
        if precision not in VECTOR_PRECISIONS or "float32" not in precisions
    }
    return [
        loaded[name] if name in loaded else Quantised(loaded["float32"], name) for name in dict.fromkeys(precisions)
    ]


def _sweep_mark(row: dict[str, Any], score: str) -> str:
    """Return the mark of a score that too few queries support; tables without counts have none."""
    from patent_mteb.metrics.significance import MARK, too_small

    slice_ = next((slice_ for slice_ in ("in", "out") if score.startswith(f"{slice_}_")), "")
    known = {name: value for name, value in row.items() if value is not None}
    return MARK if score in known and too_small(known, slice_) else ""


def show_sweep(table: pl.DataFrame, out: Path) -> None:
    from patent_mteb.metrics.significance import explained

    several = ("model",) if table["model"].n_unique() > 1 else ()
    printed = tuple(name for name in _PRINTED if name in table.columns)
    rows = [
        (
            *(row[name] or "" for name in _SETTING),
            *(re.sub(r"@[^ #]*", "", row[name]) for name in several),
            *(common.number(row[name]) + _sweep_mark(row, name) for name in _SCORES),
            *(common.number(row[name]) for name in printed),
            common.number(row["seconds"], 2),
        )
        for row in table.sort("ndcg_at_100", descending=True).iter_rows(named=True)
    ]
    numbers = (*map(measure_title, _SCORES), *(name.partition("_")[0] for name in printed), "seconds")
    common.show((*_SETTING, *several, *numbers), rows, right=numbers)
    if any(_sweep_mark(row, name) for row in table.iter_rows(named=True) for name in _SCORES):
        common.say(explained())
    if any(task.endswith(".sample") for task in table["task"]):
        common.say("These runs are on the built-in sample: their scores say nothing about the published benchmark.")
    common.say(f"{table.height} runs in {out.resolve()}")
