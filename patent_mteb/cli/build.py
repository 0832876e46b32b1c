"""``patent-mteb build``: a benchmark from anybody's patents."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common

HELP = "make a benchmark's tables from canonical records (your own patents)"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", help="the benchmark, such as WIPO-AT, or the module of a recipe of your own")
    patents = parser.add_argument("patents", type=Path, help="patents.parquet or patents.jsonl (see patent_mteb.patents.records)")
    citations = parser.add_argument("citations", type=Path, help="citations.parquet or citations.jsonl")
    folder = common.add_folder(parser, "directory for PATENT_MTEB_DATA; each benchmark has a folder of its own in it")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting of the recipe; repeatable")
    parser.add_argument(
        "--settings",
        action=common.Instead,
        of=[patents, citations, folder],
        nargs=0,
        help="only list the settings of the recipe, their types and defaults",
    )


def main(args: argparse.Namespace) -> int:
    from patent_mteb import recipes
    from patent_mteb.patents import records

    if args.settings:
        rows = [(setting.name, setting.type, setting.default, setting.description) for setting in recipes.settings(args.benchmark)]
        common.show(("setting", "type", "default", "description"), rows)
        return 0
    recipes.check_settings(args.benchmark, args.set)  # a wrong word shall not wait for the records
    root = common.folder_of(args).resolve()
    patents, citations = records.read_patents(args.patents), records.read_citations(args.citations)
    log = recipes.run(args.benchmark, patents, citations, root, args.set)
    common.show(
        ("step", "in", "out", "note"), [(step.name, step.rows_in, step.rows_out, step.note) for step in log.steps], right=("in", "out")
    )
    common.say(f"{len(log.files)} files in {root}; use it with PATENT_MTEB_DATA={root}")
    return 0
