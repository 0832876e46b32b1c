"""``patent-mteb sweep``: a run matrix into one table."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common
from patent_mteb.errors import ModelError

HELP = "run a part of DAPFAM's run matrix into one table, resumable"

_SETTING = ("backend", "granularity", "query", "corpus", "length", "aggregate", "fusion")
_SCORES = ("ndcg_at_100", "in_ndcg_at_100", "out_ndcg_at_100", "recall_at_100")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", type=str.upper, choices=("DAPFAM",), help="the benchmark whose matrix is run")
    common.add_model(parser, required=False)
    parser.add_argument("--bm25", default="dapfam", metavar="SETTING", help="the lexical backend's setting: dapfam or bm25s")
    common.add_out(parser, "the table, csv; runs that stand in it already are not run again", metavar="FILE", default=Path("sweep.csv"))
    common.add_device(parser)
    common.add_batch_size(parser)
    common.add_store(parser)
    factors = parser.add_argument_group("factors", "the values of each that are combined")
    factors.add_argument("--backends", nargs="+", default=["bm25", "dense"], metavar="NAME", help="bm25, dense, hybrid")
    factors.add_argument("--granularities", nargs="+", default=["document"], metavar="NAME", help="document, passage")
    factors.add_argument("--queries", nargs="+", default=["TA", "TAC"], metavar="VIEW", help="text views of the queries")
    factors.add_argument("--corpora", nargs="+", default=["TAC", "FullText"], metavar="VIEW", help="text views of the documents")
    factors.add_argument(
        "--aggregates",
        nargs="+",
        default=["maxP", "avg_top3", "avgP", "sumP"],
        metavar="NAME",
        help="how the scores of a document's passages become one",
    )
    factors.add_argument("--lengths", nargs="+", type=int, default=[256, 1024], metavar="TOKENS", help="lengths of the passages")
    factors.add_argument(
        "--rrf", nargs="*", type=float, default=[10, 30, 60, 100], metavar="K", help="hybrid: constants of reciprocal rank fusion"
    )
    factors.add_argument(
        "--alphas", nargs="*", type=float, default=[], metavar="ALPHA", help="hybrid: weights of linear fusion; without it none"
    )


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.sweep import Matrix, sweep
    from patent_mteb.search.bm25 import bm25

    matrix = Matrix(args.backends, args.granularities, args.queries, args.corpora, args.aggregates, args.lengths, args.rrf, args.alphas)
    try:
        lexical = bm25(args.bm25)
    except ValueError as error:
        raise ModelError(str(error)) from error
    dense = common.load_encoder(args) if args.model else None
    table = sweep(matrix, dense, lexical, args.out, encode_kwargs=common.encode_kwargs(args))
    rows = [
        (
            *(row[name] or "" for name in _SETTING),
            *(common.number(row[name]) for name in _SCORES),
            common.number(row["seconds"], 2),
        )
        for row in table.sort("ndcg_at_100", descending=True).iter_rows(named=True)
    ]
    common.show((*_SETTING, *_SCORES, "seconds"), rows, right=(*_SCORES, "seconds"))
    common.say(f"{table.height} runs in {args.out.resolve()}")
    return 0
