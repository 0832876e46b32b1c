"""``patent-mteb reproduce``: the papers' numbers beside the measured ones."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from patent_mteb.cli import common

HELP = "set every number that a paper states for a model beside the measured one: OK, OKISH or FAIL"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", metavar="MODEL", help="this model only")
    parser.add_argument("--results", type=Path, required=True, metavar="DIR", help="folder that 'run' wrote its results to")
    parser.add_argument("--json", action="store_true", help="print the lines as JSON")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.report.collect import collect
    from patent_mteb.report.reproduce import reproduce

    found = reproduce(collect(args.results), args.model)
    if args.json:
        print(json.dumps([dataclasses.asdict(line) | {"difference": line.difference} for line in found.lines], indent=1))
    elif found.lines:
        rows = [
            (
                line.run,
                line.tasks[0] + (f" and {len(line.tasks) - 1} more" if len(line.tasks) > 1 else ""),
                line.metric,
                common.number(line.paper),
                common.number(line.here),
                f"{line.difference:+.4f}",
                line.verdict,
                line.source,
            )
            for line in found.lines
        ]
        common.show(("model", "task", "metric", "paper", "here", "difference", "", "source"), rows, right=("paper", "here", "difference"))
        for line in found.lines:
            if line.verdict != "OK":
                common.say(f"{line.verdict} {line.run} {line.tasks[0]} {line.metric}: {'; '.join(line.settings)}")
    for message in found.messages:
        common.warn(f"note: {message}")
    if not args.json:
        common.say(f"{len(found.lines)} numbers compared, {found.failed} FAIL")
    return 1 if found.failed or not found.lines else 0
