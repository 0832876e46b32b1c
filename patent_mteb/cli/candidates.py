"""``patent-mteb candidates``: the best documents of every query, written down for rerankers."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common, models

HELP = "write the best documents of every query, so that rerankers need no encoding of the corpus ('run --candidates')"
EXAMPLES: tuple[str, ...] = (
    "patent-mteb candidates -t PatentCitationRetrieval.sample -m bm25-dapfam --top 100 --out candidates",
    "patent-mteb run -t PatentCitationRetrieval.sample -m path/to/cross-encoder --candidates candidates",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-t", "--tasks", nargs="+", required=True, metavar="TASK", help="names of retrieval tasks")
    models.add_model(parser)
    parser.add_argument("--top", type=common.positive, default=1000, metavar="K", help="documents a query")
    parser.add_argument("--limit", type=common.positive, metavar="N", help="N queries of each task, as for run")
    models.add_device(parser)
    models.add_batch_size(parser)
    models.add_store(parser)
    common.add_out(
        parser,
        "folder of the candidates, one for a system and depth; what is there is kept",
        default=Path("candidates"),
    )


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.candidates import candidates
    from patent_mteb.models.composition import compose
    from patent_mteb.tasks.selection import choose, limited

    tasks = choose(names=args.tasks)
    done = candidates(
        compose(models.load_model(args), store=models.store_folder(args)),
        limited(tasks, args.limit) if args.limit else tasks,
        args.out,
        args.top,
        encode_kwargs=models.encode_kwargs(args),
    )
    recall = f"Recall@{args.top}"
    rows = [
        (one.task, one.queries, common.number(one.recall), "was there" if one.existing else "")
        for one in done
        if not one.reason
    ]
    common.show(("task", "queries", recall, ""), rows, right=("queries", recall))
    for one in done:
        if one.reason:
            common.warn(f"{one.task}: {one.reason}")
    common.say(f"candidates in {args.out.resolve()}")
    return 1 if any(one.reason for one in done) else 0
