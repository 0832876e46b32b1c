"""``patent-mteb geometry``: embeddings as points."""

from __future__ import annotations

import argparse
from pathlib import Path

from patent_mteb.cli import common, models

HELP = "how a model's embeddings of a task's texts lie in space"
EXAMPLES: tuple[str, ...] = ("patent-mteb geometry -m ORG/NAME -t PatentMapClmToAllRetrieval --out results",)


def arguments(parser: argparse.ArgumentParser) -> None:
    models.add_model(parser)
    parser.add_argument("-t", "--tasks", nargs="+", required=True, metavar="TASK", help="retrieval tasks of the suite")
    parser.add_argument(
        "--max-documents", type=int, default=10_000, metavar="N", help="documents drawn from a larger corpus"
    )
    told = "results folder; 'report' shows the numbers beside the task's results"
    common.add_out(parser, told, "--output-folder", default=Path("results"))
    models.add_device(parser)
    models.add_batch_size(parser)
    models.add_store(parser)


def main(args: argparse.Namespace) -> int:
    from patent_mteb.experiments.embedding_geometry import geometry, save
    from patent_mteb.experiments.evaluate import retrieval_task

    model = models.load_encoder(args)
    for name in args.tasks:
        task = retrieval_task(name)
        measures = geometry(model, task, max_documents=args.max_documents, encode_kwargs=models.encode_kwargs(args))
        path = save(measures, model, task, args.out, max_documents=args.max_documents)
        common.say(f"{task.metadata.name}: {model.mteb_model_meta.name}")
        rows = [
            (measure, common.number(value, 0 if measure.startswith("n_") else 4)) for measure, value in measures.items()
        ]
        common.show(("measure", "value"), rows, right=("value",))
        common.say(path)
    return 0
