"""``patent-mteb doctor``: what is wrong with the installation, the caches and a results folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common, models

HELP = "look for what is wrong with the installation, the caches and a results folder"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb doctor results",
    "patent-mteb doctor --fix",
    "patent-mteb doctor results --recompute 5%",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", type=Path, nargs="?", metavar="RESULTS", help="results folder; without it ./results if it is there"
    )
    parser.add_argument(
        "--fix", action="store_true", help="set aside what cannot be read, and remove what is damaged or left over"
    )
    parser.add_argument(
        "--recompute",
        type=_share,
        metavar="SHARE",
        help=(
            "rank this share of the queries of each retrieval result again, such as 0.05; the data and the models must"
            " be here"
        ),
    )
    parser.add_argument(
        "-m", "--models", nargs="+", default=[], metavar="MODEL", help="with --recompute: local checkpoints of results"
    )
    models.add_store(parser, optional=False)


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments import doctor

    findings = doctor.examine(args.results, args.store, fix=args.fix)
    for finding in findings:
        common.say("mended" if finding.fixed else "error", finding)
    wrong = len(findings) + (_recompute(args) if args.recompute else 0)
    common.say(f"{wrong} findings" if wrong else "all is well")
    return 1 if wrong else 0


def _share(word: str) -> float:
    """A share, as ``5%`` or ``0.05``."""
    number = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{word} is not a share between 0 and 100%")
    return number


def _recompute(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.doctor import recompute
    from patent_mteb.store import default_path

    wrong = skipped = 0
    for done in recompute(
        args.results or Path("results"), args.recompute, models=args.models, store=args.store or default_path()
    ):
        common.say("error" if done.problem else "note" if done.reason else "right", done)
        wrong += bool(done.problem)
        skipped += bool(done.reason)
    if skipped:
        common.say(f"{skipped} results were not recomputed")
    return wrong
