"""``patent-mteb sweep``: a run matrix into one table."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.cli import common, models
from patent_mteb.errors import DataError, ModelError
from patent_mteb.metrics.significance import MARK, explained, too_small
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    import polars as pl

    from patent_mteb.experiments.sweep import Matrix

HELP = "run DAPFAM's run matrix, or a part of it, into one table, resumable"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb sweep dapfam -m ORG/NAME --out sweep.csv",
    "patent-mteb sweep dapfam --paper --list",
)

_SETTING = ("backend", "granularity", "query", "corpus", "length", "tokens", "aggregate", "fusion")
_SCORES = ("ndcg_at_100", "in_ndcg_at_100", "out_ndcg_at_100", "recall_at_100")
_PRINTED = ("printed_ndcg_at_100", "difference_ndcg_at_100")
_FACTORS: dict[str, Any] = {
    "backends": ["bm25", "dense"],
    "granularities": ["document"],
    "queries": ["TA", "TAC"],
    "corpora": ["TAC", "FullText"],
    "aggregates": ["maxP", "avg_top3", "avgP", "sumP"],
    "lengths": [256, 1024],
    "rrf": [10.0, 30.0, 60.0, 100.0],
    "alphas": [],
    "tokens": ["own"],
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", type=str.upper, choices=("DAPFAM",), help="the benchmark whose matrix is run")
    parser.add_argument(
        "--paper",
        action="store_true",
        help="the 249 runs of the paper's Tables 17 to 20 beside their printed numbers, dense ones in int8",
    )
    parser.add_argument("--list", action="store_true", dest="listed", help="count the runs instead of running them")
    parser.add_argument("-m", "--model", help="hub id, a name that mteb knows, or a checkpoint directory")
    parser.add_argument("--model-revision", metavar="REVISION", help="commit, tag or branch of a model on the hub")
    parser.add_argument(
        "--precision",
        nargs="+",
        choices=models.PRECISIONS,
        metavar="NAME",
        help=(
            "of weights (float32, bfloat16, float16) or vectors (int8, uint8, binary), each with rows of its own;"
            " without it float32"
        ),
    )
    parser.add_argument(
        "--bm25", default="dapfam", metavar="SETTING", help="the lexical backend's setting: dapfam or bm25s"
    )
    common.add_out(
        parser,
        "the table, csv; runs that stand in it already are not run again",
        metavar="FILE",
        default=Path("sweep.csv"),
    )
    models.add_device(parser)
    models.add_batch_size(parser)
    models.add_store(parser)
    factors = parser.add_argument_group("factors", "the values of each that are combined; not with --paper")
    for name, shown, text in (
        ("backends", "NAME", "bm25, dense, hybrid"),
        ("granularities", "NAME", "document, passage"),
        ("queries", "VIEW", "text views of the queries"),
        ("corpora", "VIEW", "text views of the documents"),
        ("aggregates", "NAME", "how the scores of a document's passages become one"),
        (
            "tokens",
            "NAME",
            "what lengths of passages are measured in: own (those of each backend), words (the same for all)",
        ),
    ):
        factors.add_argument(f"--{name}", nargs="+", default=_FACTORS[name], metavar=shown, help=text)
    factors.add_argument(
        "--lengths", nargs="+", type=int, default=_FACTORS["lengths"], metavar="TOKENS", help="lengths of the passages"
    )
    factors.add_argument(
        "--rrf",
        nargs="*",
        type=float,
        default=_FACTORS["rrf"],
        metavar="K",
        help="hybrid: constants of reciprocal rank fusion",
    )
    factors.add_argument(
        "--alphas",
        nargs="*",
        type=float,
        default=_FACTORS["alphas"],
        metavar="ALPHA",
        help="hybrid: weights of linear fusion; without it none",
    )


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.sweep import sweep
    from patent_mteb.search.bm25 import bm25

    matrices = _matrices(args)
    if args.listed:
        _list(matrices)
        return 0
    try:
        lexical = bm25(args.bm25)
    except ValueError as error:
        raise ModelError(str(error)) from error
    table = sweep(matrices, _encoders(args), lexical, args.out, encode_kwargs=models.encode_kwargs(args))
    _show(table, args.out)
    return 0


def _matrices(args: argparse.Namespace) -> tuple[Matrix, ...]:
    from patent_mteb.experiments.sweep import PAPER, Matrix

    chosen = {name: getattr(args, name) for name in _FACTORS}
    if not args.paper:
        return (Matrix(**chosen),)
    if changed := [name for name, value in chosen.items() if value != _FACTORS[name]]:
        raise DataError(
            f"--paper runs the paper's factors, so --{changed[0]} has no effect", remedy="leave out one of the two"
        )
    return PAPER


def _list(matrices: tuple[Matrix, ...]) -> None:
    settings = [setting for matrix in matrices for setting in matrix.settings()]
    counts = Counter((setting.backend, setting.granularity) for setting in settings)
    common.show(("backend", "granularity", "runs"), [(*kind, count) for kind, count in counts.items()], right=("runs",))
    common.say(f"{len(settings)} runs")


def _encoders(args: argparse.Namespace) -> list[Any] | None:
    """The model of -m at each precision; full vectors that are kept serve the quantised ones too."""
    if not args.model:
        return None
    from patent_mteb.models.quantised import VECTOR_PRECISIONS, Quantised

    precisions = args.precision or (["int8"] if args.paper else ["float32"])
    loaded = {
        precision: models.load_encoder(argparse.Namespace(**{**vars(args), "precision": precision}))
        for precision in precisions
        if precision not in VECTOR_PRECISIONS or "float32" not in precisions
    }
    return [
        loaded[name] if name in loaded else Quantised(loaded["float32"], name) for name in dict.fromkeys(precisions)
    ]


def _mark(row: dict[str, Any], score: str) -> str:
    """The mark of a score on too little; a table of before queries were counted has none."""
    part = next((part for part in ("in", "out") if score.startswith(f"{part}_")), "")
    return (
        MARK
        if row[score] is not None and too_small({name: value for name, value in row.items() if value is not None}, part)
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
