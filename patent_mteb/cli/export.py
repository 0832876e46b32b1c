"""``patent-mteb export``: results for others."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common

HELP = "a results folder, model card section and leaderboard for publication"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, help="folder that 'run' wrote its results to")
    common.add_folder(parser, "folder to write to; other models' files in it are kept")
    parser.add_argument("-m", "--model", metavar="MODEL", help="the results of this model only")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.report.export import prepare

    export = prepare(args.results, common.folder_of(args), args.model)
    for path in export.files:
        common.say(path)
    for refusal in export.refused:
        common.warn(f"refused: {refusal}")
    for message in export.messages:
        common.warn(f"note: {message}")
    common.say(f"{export.exported} results exported, {len(export.refused)} refused")
    return 1 if export.refused or not export.exported else 0
