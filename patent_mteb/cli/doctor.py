"""``patent-mteb doctor``: what is wrong with the installation, the caches and a results folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common, models

HELP = "look for what is wrong with the installation, the caches and a results folder"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb doctor results",
    "patent-mteb doctor --fix",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, nargs="?", metavar="RESULTS", help="results folder; without it ./results if it is there")
    parser.add_argument("--fix", action="store_true", help="set aside what cannot be read, and remove what is damaged or left over")
    models.add_store(parser, optional=False)


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments import doctor

    findings = doctor.examine(args.results, args.store, fix=args.fix)
    for finding in findings:
        common.say("mended" if finding.fixed else "error", finding)
    common.say(f"{len(findings)} findings" if findings else "all is well")
    return 1 if findings else 0
