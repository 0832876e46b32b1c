"""``patent-mteb score``: a ranking that any system wrote down, scored like a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common
from patent_mteb.cli.run import show

HELP = "score the ranking of any system (a TREC run of a search product, an agent, a pipeline) like a model's"
EXAMPLES: tuple[str, ...] = ("patent-mteb score vendor.run -t PatentDAPFAMTACToTACRetrieval --name 'Vendor 3.1'",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="TREC run: query Q0 document rank score tag")
    parser.add_argument(
        "-t",
        "--task",
        required=True,
        help="the task that was searched: its corpus, judgements and hidden documents count",
    )
    parser.add_argument(
        "--name", default="", help="what the system is called; it is filed as run/NAME. Without it the name of the file"
    )
    parser.add_argument("--allow-missing", action="store_true", help="queries that the run does not have found nothing")
    parser.add_argument(
        "--drop-unknown",
        action="store_true",
        help="leave out documents that are not in the task's corpus, with their number",
    )
    parser.add_argument(
        "--seconds", type=common.amount, metavar="S", help="what the system took for all queries of the run together"
    )
    parser.add_argument("--cost", type=common.amount, metavar="C", help="what they cost together, in any currency")
    common.add_order(parser)
    common.add_out(parser, "results folder, in mteb's structure", "--output-folder", default=Path("results"))


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.evaluate import retrieval_task
    from patent_mteb.experiments.run import run
    from patent_mteb.search.stored import StoredRun

    effort = {name: value for name, value in (("seconds", args.seconds), ("cost", args.cost)) if value is not None}
    lenient = {"allow_missing": args.allow_missing, "drop_unknown": args.drop_unknown}
    system = StoredRun(args.run, args.name, **lenient, effort=effort, order=args.order)
    # what the system took is in no identity: a result that is there may say otherwise
    report = run(system, [retrieval_task(args.task)], args.out, overwrite_strategy="always", show_progress=False)
    show(report, args.out)
    return report.exit_status
