"""``patent-mteb build``: a benchmark from anybody's patents."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common

HELP = "make a benchmark's tables from canonical records (your own patents)"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb build wipo_at records ROOT --name Acme",
    "patent-mteb build dapfam --settings",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", help="the benchmark, such as WIPO-AT, or the module of a recipe of your own")
    patents = parser.add_argument(
        "patents",
        type=Path,
        help="a records directory, as patent-mteb import writes it, or patents.parquet or patents.jsonl",
    )
    citations = parser.add_argument(
        "citations",
        type=Path,
        nargs="?",
        help="citations.parquet or citations.jsonl, where the patents are one file; may be left out",
    )
    folder = common.add_folder(parser, "directory for PATENT_MTEB_DATA; each benchmark has a folder of its own in it")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting of the recipe; repeatable"
    )
    common.add_memory(parser, "build")
    parser.add_argument(
        "--name",
        help="name of the data set, which its tasks begin with, such as Acme; without it that of the directory",
    )
    parser.add_argument("--owner", help="whose data they are")
    parser.add_argument("--licence", help="what others may do with them")
    parser.add_argument(
        "--data-version", metavar="VERSION", help="version of the data set; without it 1, or what it was"
    )
    parser.add_argument(
        "--settings",
        action=common.Instead,
        of=[patents, citations, folder],
        nargs=0,
        help="only list the settings of the recipe, their types and defaults",
    )


def main(args: argparse.Namespace) -> int:
    from patent_mteb import recipes
    from patent_mteb.memory import allowing
    from patent_mteb.patents.collection import read_collection
    from patent_mteb.recipes import dataset

    if args.settings:
        rows = [
            (setting.name, setting.type, setting.default, setting.description)
            for setting in recipes.settings(args.benchmark)
        ]
        common.show(("setting", "type", "default", "description"), rows)
        return 0
    if args.out and args.folder and args.citations is None:  # argparse gives the last word to the folder
        args.citations, args.folder = args.folder, None
    recipes.check_settings(args.benchmark, args.set)  # a wrong word shall not wait for the records
    root = common.folder_of(args).resolve()
    identity = dataset.Identity(args.name or "", args.data_version or "", args.owner or "", args.licence or "")
    collection = read_collection(args.patents, args.citations)
    recipes.refuse_beyond_budget(
        args.memory, recipes.find(args.benchmark).__name__.rpartition(".")[2], len(collection.patents)
    )
    with allowing(args.memory):
        log = recipes.run_on(args.benchmark, collection, root, args.set, identity)
    common.show(
        ("step", "in", "out", "note"),
        [(step.name, step.rows_in, step.rows_out, step.note) for step in log.steps],
        right=("in", "out"),
    )
    for phrase in log.deviations:
        common.say(f"differs from the paper: {phrase}")
    common.say(f"{len(log.files)} files in {root}; use it with PATENT_MTEB_DATA={root}")
    return 0
