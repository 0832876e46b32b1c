"""``patent-mteb list``: what there is."""

from __future__ import annotations

import argparse

from patent_mteb.cli import common

HELP = "tasks, benchmarks or models, and where the data of each would come from"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("tasks", "benchmarks", "models"), nargs="?", default="tasks", help="what to list")


def main(args: argparse.Namespace) -> int:
    {"tasks": _tasks, "benchmarks": _benchmarks, "models": _models}[args.what]()
    return 0


def _tasks() -> None:
    from patent_mteb.data import sources
    from patent_mteb.tasks import catalogue

    rows = []
    for task in catalogue.tasks():
        meta = task.metadata
        rows.append((meta.name, meta.type, meta.main_score, sources.resolve(task.data).place))
    common.show(("task", "type", "main score", "data from"), rows)


def _benchmarks() -> None:
    from patent_mteb.tasks import catalogue

    rows = [
        (benchmark.facts.name, len(benchmark.task_classes), ", ".join(benchmark.groups), benchmark.facts.description)
        for benchmark in catalogue.mteb_benchmarks()
    ]
    common.show(("benchmark", "tasks", "columns", "description"), rows, right=("tasks",))


def _models() -> None:
    from patent_mteb.models.listing import models

    rows = [(row.model, row.printed, row.category, row.dims, row.max_tokens, row.runs) for row in models()]
    columns = ("model", "paper's name", "category", "dims", "max tokens", "runs with -m")
    common.show(columns, rows, right=("dims", "max tokens"))
