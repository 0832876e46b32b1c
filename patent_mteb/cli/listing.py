"""``patent-mteb list``: what there is."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from patent_mteb.cli import common
from patent_mteb.errors import NotThereError

if TYPE_CHECKING:
    from patent_mteb.tasks.base import PatentTask

HELP = "tasks, benchmarks or models, and where the data of each would come from"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("tasks", "benchmarks", "models"), nargs="?", default="tasks", help="what to list")


def main(args: argparse.Namespace) -> int:
    {"tasks": _tasks, "benchmarks": _benchmarks, "models": _models}[args.what]()
    return 0


def _tasks() -> None:
    from patent_mteb.data import roots, sources
    from patent_mteb.tasks import catalogue

    def place(task: type[PatentTask]) -> str:
        try:
            source = sources.resolve(task.data)
        except NotThereError:
            return "not built"
        return f"{source.place} (as a task of {source.own.name})" if source.own and task.own is None else source.place

    roots.data_root()  # a directory that cannot be meant is said before anything is listed
    mine = [task for benchmark in catalogue.own_benchmarks() for task in benchmark.task_classes]
    rows = [(task.metadata.name, task.metadata.type, task.metadata.main_score, place(task)) for task in (*mine, *catalogue.tasks())]
    common.show(("task", "type", "main score", "data from"), rows)


def _benchmarks() -> None:
    from patent_mteb.tasks import catalogue

    rows = [
        (benchmark.facts.name, len(benchmark.task_classes), ", ".join(benchmark.groups), benchmark.facts.description)
        for benchmark in (*catalogue.own_benchmarks(), *catalogue.mteb_benchmarks())
    ]
    common.show(("benchmark", "tasks", "columns", "description"), rows, right=("tasks",))


def _models() -> None:
    from patent_mteb.models.listing import models

    rows = [(row.model, row.printed, row.category, row.dims, row.max_tokens, row.runs) for row in models()]
    columns = ("model", "paper's name", "category", "dims", "max tokens", "runs with -m")
    common.show(columns, rows, right=("dims", "max tokens"))
