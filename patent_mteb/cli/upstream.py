"""``patent-mteb upstream``: what a pull request to mteb needs."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common

HELP = "write what a pull request to mteb needs: metadata of tasks, benchmarks and models, descriptive statistics"
EXAMPLES: tuple[str, ...] = ("patent-mteb upstream DIR", "patent-mteb upstream DIR --count")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="folder to write to")
    parser.add_argument("--count", action="store_true", help="read the published data, as far as they can be had, and count them too")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.report.upstream import prepare

    found = prepare(args.folder, count=args.count)
    reasons: dict[str, list[str]] = {}
    for task, reason in found.missing.items():
        reasons.setdefault(reason, []).append(task)
    for reason, tasks in reasons.items():
        common.warn(f"not counted: {tasks[0]}{f' and {len(tasks) - 1} more' if len(tasks) > 1 else ''}: {reason}")
    common.say(f"{len(found.files)} files in {args.folder.resolve()}; docs/upstream.md says where each belongs")
    return 1 if found.missing else 0
