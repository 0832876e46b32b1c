"""``patent-mteb reproduce``: the papers' numbers beside the measured ones."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from patent_mteb.cli import common

HELP = "set every number that a paper states for a model beside the measured one: OK, OKISH or FAIL"
EXAMPLES: tuple[str, ...] = ("patent-mteb reproduce --results results",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", metavar="MODEL", help="this model only")
    parser.add_argument(
        "--results", type=Path, required=True, metavar="DIR", help="folder that 'run' wrote its results to"
    )
    parser.add_argument("--json", action="store_true", help="print lines and messages as JSON")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.report.collect import collect
    from patent_mteb.report.rendering import as_terminal
    from patent_mteb.report.reproduce import as_json, reproduce, table
    from patent_mteb.report.words import measure_title

    found = reproduce(collect(args.results), args.model)
    shown = table(found)
    if args.json:
        print(json.dumps(as_json(found), indent=1))
    elif shown is not None:
        narrow = replace(shown, columns=shown.columns[:-1], rows=tuple(row[:-1] for row in shown.rows))
        common.console.print(as_terminal(narrow))
        for line in found.lines:
            if line.verdict != "OK":
                common.say(
                    f"{line.verdict} {line.run} {line.tasks[0]} {measure_title(line.metric)}:"
                    f" {'; '.join(line.settings)}"
                )
    for message in found.messages:
        common.warn(f"note: {message}")
    if not args.json:
        common.say(f"{len(found.lines)} numbers compared, {found.failed} FAIL")
    return 1 if found.failed or not found.lines else 0
