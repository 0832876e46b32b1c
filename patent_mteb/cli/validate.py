"""``patent-mteb validate``: can a directory be used?"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.text import Text

from patent_mteb.cli import common

_STYLES = {"error": "bold red", "note": "yellow", "ok": "green"}
HELP = "load checks on a local data directory"
EXAMPLES: tuple[str, ...] = ("patent-mteb validate ROOT",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a directory for PATENT_MTEB_DATA, or one benchmark's directory in it")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments import validation

    findings = validation.validate(args.directory, args.debug)
    for finding in findings:
        common.say(Text(finding.rank, _STYLES[finding.rank]), finding.text)
    return 2 if any(finding.fatal for finding in findings) else 0
