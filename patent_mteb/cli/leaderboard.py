"""``patent-mteb leaderboard``: a leaderboard for a repository of one's own."""

from __future__ import annotations

import argparse

from patent_mteb.cli import export

HELP = (
    "summaries of results and a leaderboard made of all that lie in a folder; takes own data with a name, and models of"
    " this suite"
)
EXAMPLES: tuple[str, ...] = (
    "patent-mteb leaderboard results BOARD",
    "patent-mteb leaderboard results BOARD --model ORG/NAME",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    export.arguments(parser)


def main(args: argparse.Namespace) -> int:
    return export.prepared(args, upstream=False)
