"""``patent-mteb report``: what the results say."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common

HELP = "tables, plots and a static page from a results folder"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb report results --html site",
    "patent-mteb report results --format markdown csv latex --out tables",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, help="folder that 'run' wrote its results to")
    parser.add_argument(
        "--format",
        nargs="+",
        default=["terminal"],
        metavar="FORMAT",
        help="of the tables: terminal, markdown, csv, latex",
    )
    parser.add_argument(
        "--every-table", action="store_true", help="print all tables; a long report prints its summaries only"
    )
    common.add_out(parser, "write tables, and plots with --plots, to this folder")
    parser.add_argument("--html", type=Path, metavar="DIR", help="write a self-contained page to this folder")
    parser.add_argument(
        "--texts", action="store_true", help="let the page show texts of real data, where their licence allows it"
    )
    parser.add_argument(
        "--plots", action="store_true", help="write every plot as PNG, SVG and PDF (needs patent-mteb[report])"
    )
    parser.add_argument("--published", action="store_true", help="set measured rows among the papers' rows")
    parser.add_argument("--baseline", metavar="MODEL", help="letters mark what is significantly better than this model")
    parser.add_argument(
        "--test",
        default="bootstrap",
        metavar="NAME",
        help="of significance: bootstrap (10,000 resamples), t or permutation; default bootstrap",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document of all numbers instead of tables (docs/report.md)"
    )


def main(args: argparse.Namespace) -> int:
    from patent_mteb import report

    outcome = report.run(
        args.results,
        formats=args.format,
        out=args.out,
        html=args.html,
        plots=args.plots,
        published=args.published,
        baseline=args.baseline,
        texts=args.texts,
        test=args.test,
        as_json=args.json,
        every_table=args.every_table,
    )
    if args.json:
        print(*outcome.printed)
    else:
        outcome.print(common.console)
    for path in outcome.files:
        (common.warn if args.json else common.say)(path)
    for message in outcome.messages:
        common.warn(f"note: {message}")
    return 0
