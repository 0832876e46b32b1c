"""``patent-mteb validate``: can a directory be used?"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.text import Text

from patent_mteb.cli import common

_STYLES = {"error": "bold red", "note": "yellow", "ok": "green"}
HELP = "load checks on a local data directory"
EXAMPLES: tuple[str, ...] = ("patent-mteb validate ROOT", "patent-mteb validate ROOT --memory 4")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", type=Path, help="a directory for PATENT_MTEB_DATA, or one benchmark's directory in it"
    )
    common.add_memory(parser, "validation")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments import plan, validation
    from patent_mteb.memory import allowing

    with allowing(plan.left_for_blocks(args.memory, "validate", [args.directory])):
        findings = validation.validate(args.directory, args.debug)
    for finding in findings:
        common.say(Text(finding.rank, _STYLES[finding.rank]), finding.text)
    return 2 if any(finding.fatal for finding in findings) else 0
