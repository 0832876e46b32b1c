"""``patent-mteb upstream``: what a pull request to mteb needs."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common

HELP = "write what a pull request to mteb needs: metadata of tasks, benchmarks and models, descriptive statistics"
EXAMPLES: tuple[str, ...] = ("patent-mteb upstream DIR", "patent-mteb upstream DIR --count")

_FIELDS = {
    "revision": "revision",
    "release_date": "release date",
    "n_parameters": "parameters",
    "n_embedding_parameters": "parameters of the embeddings",
    "memory_usage_mb": "memory",
    "license": "licence",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="folder to write to")
    parser.add_argument(
        "--count", action="store_true", help="read the published data, as far as they can be had, and count them too"
    )


def main(args: argparse.Namespace) -> int:
    from patent_mteb.report.upstream import prepare

    found = prepare(args.folder, count=args.count)
    for line in common.by_reason(found.missing.items()):
        common.warn(f"not counted: {line}")
    for field, models in found.unknown.items():
        if models:
            common.say(f"no source states the {_FIELDS[field]} of {len(models)} models (null in models.json)")
    common.say(f"{len(found.files)} files in {args.folder.resolve()}; docs/upstream.md says where each belongs")
    return 1 if found.missing else 0
