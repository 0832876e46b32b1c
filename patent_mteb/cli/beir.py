"""``patent-mteb beir``: a retrieval task as a BEIR folder."""

from __future__ import annotations

import argparse

from patent_mteb.cli import common

HELP = "write a retrieval task as a BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv"
EXAMPLES: tuple[str, ...] = ("patent-mteb beir PatentDAPFAMTACToTACRetrieval DIR",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", help="a retrieval task of the suite; <Task>.sample for its sample")
    common.add_folder(parser, "folder to write; one that this command wrote before is replaced")


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.beir_folder import EXCLUDED, write_task

    folder = common.folder_of(args)
    note = write_task(args.task, folder)
    common.say(
        f"{note['documents']} documents, {note['queries']} queries, {note['judgements']} judgements of {note['task']}"
        f" in {folder.resolve()}"
    )
    if note["excluded"]:
        common.say(
            f"take the {note['excluded']} pairs of {EXCLUDED} (a query's own patent family) out of rankings before they"
            " are evaluated"
        )
    return 0
