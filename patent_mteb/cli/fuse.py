"""``patent-mteb fuse``: rankings that were written down, fused and scored."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.cli import common
from patent_mteb.errors import DataError
from patent_mteb.files import replacing
from patent_mteb.metrics.significance import MARK
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    import polars as pl

HELP = "fuse stored runs of any models, views and lengths, and score the result on a task"
EXAMPLES: tuple[str, ...] = ("patent-mteb fuse bm25.run dense.run -t PatentDAPFAMTACToTACRetrieval --grid",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="TREC files, as 'run --save-runs DIR' writes them; the lexical one first",
    )
    parser.add_argument(
        "-t", "--task", required=True, help="the task whose judgements, slices and hidden documents count"
    )
    how = parser.add_argument_group("fusion; without any reciprocal rank fusion with k = 60")
    how.add_argument(
        "--rrf", nargs="+", type=float, default=[], metavar="K", help="reciprocal rank fusion with these constants"
    )
    how.add_argument(
        "--alpha",
        nargs="+",
        type=float,
        default=[],
        metavar="A",
        help="interpolation of two runs: weights of the second",
    )
    how.add_argument("--weights", nargs="+", type=float, metavar="W", help="interpolation: one weight a run")
    how.add_argument(
        "--grid", action="store_true", help="k of 10, 30, 60 and 100, and of two runs all weights in tenths"
    )
    how.add_argument("--depth", type=int, default=1000, metavar="N", help="documents of each run that count")
    parser.add_argument("--allow-missing", action="store_true", help="queries that a run does not have found nothing")
    common.add_order(parser, "; once for all runs, or once for each", action="append", default=[])
    common.add_out(parser, "results folder, in mteb's structure", "--output-folder", default=Path("results"))
    parser.add_argument("--table", type=Path, metavar="FILE", help="write all scores, gains and OUT/ALL ratios as csv")
    parser.add_argument("--plot", type=Path, metavar="STEM", help="draw the curves as STEM.png, STEM.svg and STEM.pdf")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.fusing import SMALL, fuse_runs
    from patent_mteb.metrics.significance import explained

    options = {"depth": args.depth, "allow_missing": args.allow_missing, "orders": args.order}
    table = fuse_runs(args.runs, args.task, _settings(args), args.out, **options)
    scores = [name for name in table.columns[3:] if name not in SMALL and not name.startswith(("gain_", "out_ratio_"))]
    _show(table, scores)
    if any(table[name].str.len_chars().sum() for name in SMALL if name in table.columns):
        common.say(explained())
    if args.table:
        with replacing(args.table) as partial:
            table.write_csv(partial)
        common.say(f"table in {args.table.resolve()}")
    if args.plot:
        from patent_mteb.report.drawing import fusion_curves
        from patent_mteb.report.figures import save

        for path in save(fusion_curves(table, scores[0], measure=measure_title(scores[0]), title=args.task), args.plot):
            common.say(f"plot in {path.resolve()}")
    common.say(f"results in {args.out.resolve()}")
    return 0


def _settings(args: argparse.Namespace) -> list[Any]:
    from patent_mteb.experiments.fusing import GRID
    from patent_mteb.search.fusion import RRF, Linear
    from patent_mteb.search.stored import Weighted

    try:
        chosen: list[Any] = [*map(RRF, args.rrf), *map(Linear, args.alpha)]
        if args.weights:
            chosen.append(Weighted(tuple(args.weights)))
    except ValueError as error:
        raise DataError(str(error), remedy="correct the option") from error
    if args.grid:
        chosen += [setting for setting in GRID if len(args.runs) == 2 or isinstance(setting, RRF)]
    return list(dict.fromkeys(chosen)) or [RRF(60)]


def _mark(row: dict[str, Any], score: str) -> str:
    """The mark of a score on too little."""
    part = next((part for part in ("in_", "out_") if score.startswith(part)), "")
    return MARK if row.get(f"{part}small") else ""


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
