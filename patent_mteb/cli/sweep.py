"""``patent-mteb runs sweep``: a matrix of runs as one table."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import FLAT, MODEL, SEVERAL, WHOLE, Precision, StoredModel, WithStore
from patent_mteb.errors import DataError, ModelError
from patent_mteb.metrics.significance import MARK, explained, too_small
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    import polars as pl

    from patent_mteb.experiments.sweep import Matrix

_SETTING = ("backend", "granularity", "query", "corpus", "length", "tokens", "aggregate", "fusion")
_SCORES = ("ndcg_at_100", "in_ndcg_at_100", "out_ndcg_at_100", "recall_at_100")
_PRINTED = ("printed_ndcg_at_100", "difference_ndcg_at_100")
_FACTORS = Group("Factors", help="The values of each that are combined; not with --paper.", sort_key=3)


@dataclass(frozen=True, kw_only=True)
class Factors:
    """The factors of the matrix, as :class:`patent_mteb.experiments.sweep.Matrix` names them."""

    backends: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FACTORS, metavar="NAME...")] = ("bm25", "dense")
    """bm25, dense, hybrid."""
    granularities: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FACTORS, metavar="NAME...")] = ("document",)
    """document, passage."""
    queries: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FACTORS, metavar="VIEW...")] = ("TA", "TAC")
    """Text views of the queries."""
    corpora: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FACTORS, metavar="VIEW...")] = ("TAC", "FullText")
    """Text views of the documents."""
    aggregates: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FACTORS, metavar="NAME...")] = (
        "maxP",
        "avg_top3",
        "avgP",
        "sumP",
    )
    """Aggregation of the scores of a document's passages."""
    tokens: Annotated[tuple[str, ...], SEVERAL, Parameter(group=_FACTORS, metavar="NAME...")] = ("own",)
    """Unit of the lengths of passages: own (tokens of each backend), words (the same for all)."""
    lengths: Annotated[tuple[Annotated[int, WHOLE], ...], SEVERAL, Parameter(group=_FACTORS, metavar="TOKENS...")] = (
        256,
        1024,
    )
    """Lengths of the passages."""
    rrf: Annotated[tuple[float, ...], Parameter(consume_multiple=True, group=_FACTORS, metavar="K")] = (
        10.0,
        30.0,
        60.0,
        100.0,
    )
    """Hybrid: constants of reciprocal rank fusion."""
    alphas: Annotated[tuple[float, ...], Parameter(consume_multiple=True, group=_FACTORS, metavar="ALPHA")] = ()
    """Hybrid: weights of linear fusion; without it none."""


@dataclass(frozen=True, kw_only=True)
class SweepOptions(Factors, WithStore):
    """Options of ``patent-mteb runs sweep``."""

    model: Annotated[str | None, Parameter(alias="-m", metavar="MODEL")] = None
    """Hub id, a name that mteb knows, or a checkpoint directory."""
    model_revision: Annotated[str | None, Parameter(group=MODEL, metavar="REVISION")] = None
    """Commit, tag or branch of a model on the hub."""
    precision: Annotated[
        tuple[Precision, ...],
        SEVERAL,
        Parameter(
            group=MODEL,
            metavar="NAME...",
            help=(
                "Of weights (float32, bfloat16, float16) or vectors (int8, uint8, binary), each with its own rows;"
                " without it float32."
            ),
        ),
    ] = ()
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
def sweep(benchmark: Literal["dapfam", "DAPFAM"], /, *, options: Annotated[SweepOptions, FLAT] = _OPTIONS) -> int:
    """Run DAPFAM's matrix of runs, or a subset of it, into one table, resumable.

    Args:
        benchmark: Benchmark whose matrix is run.
    """
    from patent_mteb.experiments.sweep import sweep
    from patent_mteb.search.bm25 import bm25

    matrices = _matrices(options)
    if options.count:
        _list(matrices)
        return 0
    try:
        lexical = bm25(options.bm25)
    except ValueError as error:
        raise ModelError(str(error)) from error
    table = sweep(matrices, _encoders(options), lexical, options.out, encode_kwargs=options.encode_kwargs())
    _show(table, options.out)
    return 0


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


def _encoders(options: SweepOptions) -> list[Any] | None:
    """Return the model of -m at each precision; stored full vectors serve the quantised ones too."""
    if not options.model:
        return None
    from patent_mteb.models.quantised import VECTOR_PRECISIONS, Quantised

    precisions: tuple[Precision, ...] = options.precision or ("int8" if options.paper else "float32",)
    shared = {field.name: getattr(options, field.name) for field in fields(WithStore)}
    model = StoredModel(**shared, model=options.model, model_revision=options.model_revision)
    loaded = {
        precision: replace(model, precision=precision).load_encoder()
        for precision in precisions
        if precision not in VECTOR_PRECISIONS or "float32" not in precisions
    }
    return [
        loaded[name] if name in loaded else Quantised(loaded["float32"], name) for name in dict.fromkeys(precisions)
    ]


def _mark(row: dict[str, Any], score: str) -> str:
    """Return the mark of a score that too few queries support; tables without counts have none."""
    slice_ = next((slice_ for slice_ in ("in", "out") if score.startswith(f"{slice_}_")), "")
    return (
        MARK
        if row[score] is not None
        and too_small({name: value for name, value in row.items() if value is not None}, slice_)
        else ""
    )


def _show(table: pl.DataFrame, out: Path) -> None:
    several = ("model",) if table["model"].n_unique() > 1 else ()
    printed = tuple(name for name in _PRINTED if name in table.columns)
    rows = [
        (
            *(row[name] or "" for name in _SETTING),
            *(re.sub(r"@[^ #]*", "", row[name]) for name in several),
            *(common.number(row[name]) + _mark(row, name) for name in _SCORES),
            *(common.number(row[name]) for name in printed),
            common.number(row["seconds"], 2),
        )
        for row in table.sort("ndcg_at_100", descending=True).iter_rows(named=True)
    ]
    numbers = (*map(measure_title, _SCORES), *(name.partition("_")[0] for name in printed), "seconds")
    common.show((*_SETTING, *several, *numbers), rows, right=numbers)
    if any(_mark(row, name) for row in table.iter_rows(named=True) for name in _SCORES):
        common.say(explained())
    if any(task.endswith(".sample") for task in table["task"]):
        common.say("These runs are on the built-in sample: their scores say nothing about the published benchmark.")
    common.say(f"{table.height} runs in {out.resolve()}")
