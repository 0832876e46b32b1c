"""``patent-mteb export``: results for others."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common

HELP = "results and model cards for publication, as mteb's results repository takes them"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb export results OUT",
    "patent-mteb export results OUT --model ORG/NAME",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, help="folder that 'run' wrote its results to")
    common.add_folder(parser, "folder to write to; other models' files in it are kept")
    parser.add_argument("-m", "--model", metavar="MODEL", help="the results of this model only")


def main(args: argparse.Namespace) -> int:
    status = prepared(args, upstream=True)
    common.say(
        "mteb has none of these tasks yet, and shows results of tasks that it has only: docs/upstream.md says what to"
        " do first."
    )
    return status


def prepared(args: argparse.Namespace, *, upstream: bool) -> int:
    """Prepare results for one destination, say what came of it, and return the exit status."""
    from patent_mteb.report.export import prepare

    export = prepare(args.results, common.folder_of(args), args.model, upstream=upstream)
    for path in export.files:
        common.say(path)
    for line in common.by_reason((f"{refusal.task} of {refusal.run}", refusal.reason) for refusal in export.refused):
        common.warn(f"refused: {line}")
    for message in export.messages:
        common.warn(f"note: {message}")
    common.say(f"{export.exported} results exported, {len(export.refused)} refused")
    return 1 if export.refused or not export.exported else 0
