"""``patent-mteb list``: what there is."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from patent_mteb.cli import common
from patent_mteb.errors import NotThereError
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    from patent_mteb.data.roots import Own
    from patent_mteb.tasks.base import PatentTask

HELP = "tasks, benchmarks or models, and where the data of each would come from"
EXAMPLES: tuple[str, ...] = ("patent-mteb list tasks -b WIPO-AT", "patent-mteb list models --json")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", choices=("tasks", "benchmarks", "models"), nargs="?", default="tasks", help="what to list"
    )
    parser.add_argument(
        "-b", "--benchmarks", nargs="+", metavar="BENCHMARK", help="of tasks: those of these benchmarks only"
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON, with all that is known")


def main(args: argparse.Namespace) -> int:
    columns, rows, right = {"tasks": _tasks, "benchmarks": _benchmarks, "models": _models}[args.what](args)
    if args.json:
        common.say(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        common.show(columns, [[_shown(row, column) for column in columns] for row in rows], right=right)
    return 0


def _shown(row: dict[str, Any], column: str) -> Any:
    return measure_title(row[column]) if column == "main score" else row[column]


_Listed = tuple[Sequence[str], list[dict[str, Any]], Collection[str]]
"""The columns that are shown, the rows with all that is known, and the columns of numbers."""


def _tasks(args: argparse.Namespace) -> _Listed:
    from patent_mteb.data import roots
    from patent_mteb.tasks import catalogue

    roots.data_root()  # a directory that cannot be meant is said before anything is listed
    mine = [task for benchmark in catalogue.own_benchmarks() for task in benchmark.task_classes]
    named = [task for name in args.benchmarks or () for task in catalogue.find(name).task_classes]
    rows = [_task(task) for task in named or (*mine, *catalogue.tasks())]
    return ("task", "type", "main score", "queries", "texts", "data from"), rows, ("queries", "texts")


def _task(task: type[PatentTask]) -> dict[str, Any]:
    from patent_mteb.tasks.base import Sizes, sizes

    place = _place(task)
    counted = Sizes() if place.startswith("local") else sizes(task, sample=place.startswith("sample"))
    return {
        "task": task.metadata.name,
        "benchmark": task.facts.name,
        "type": task.metadata.type,
        "main score": task.metadata.main_score,
        "queries": counted.queries,
        "texts": counted.texts,
        "data from": place,
        "data": task.metadata.dataset["path"],
        "revision": task.metadata.dataset["revision"],
        "gated": task.data.gated,
        "licence": task.metadata.license,
        "reference": task.metadata.reference,
        "description": task.metadata.description,
    }


def _place(task: type[PatentTask]) -> str:
    from patent_mteb.data import loading

    try:
        source = loading.resolve(task.data, True if task.force_sample else None)
    except NotThereError:
        return "not built"
    if source.own and task.own is None:
        return f"{source.place} (as {named})" if (named := _own_name(task, source.own)) else "not built"
    gate = ", gated" if source.kind == "hub" and task.data.gated else ""
    return f"{source.place}{gate}"


def _own_name(task: type[PatentTask], own: Own) -> str | None:
    """What a published task is called on own data, None if those have no table for it."""
    from patent_mteb.tasks import catalogue
    from patent_mteb.tasks.own_names import own_name

    built = {one.metadata.name for benchmark in catalogue.own_benchmarks() for one in benchmark.task_classes}
    name = own_name(task.facts, task.metadata.name, own.name)
    return name if name in built else None


def _benchmarks(args: argparse.Namespace) -> _Listed:
    from patent_mteb.tasks import catalogue

    rows = [
        {
            "benchmark": benchmark.facts.name,
            "tasks": sum(map(len, benchmark.columns.values())),
            "columns": ", ".join(benchmark.columns),
            "description": benchmark.facts.description,
            "reference": benchmark.facts.reference,
            "citation": benchmark.facts.bibtex,
        }
        for benchmark in (*catalogue.own_benchmarks(), *catalogue.mteb_benchmarks())
    ]
    return ("benchmark", "tasks", "columns", "description"), rows, ("tasks",)


def _models(args: argparse.Namespace) -> _Listed:
    from patent_mteb.models.registry import models

    rows = [
        {
            **asdict(row),
            "paper's name": row.printed,
            "paper's category": row.category,
            "dims (paper)": _beside(row.dims, row.paper_dims),
            "max tokens (paper)": _beside(row.max_tokens, row.paper_max_tokens),
            "runs with -m": row.runs,
        }
        for row in models()
    ]
    numbers = ("dims (paper)", "max tokens (paper)")
    return ("model", "paper's name", "paper's category", *numbers, "runs with -m"), rows, numbers


def _beside(known: int | None, printed: int | None) -> str:
    """A figure of mteb's registry, and the paper's in brackets where it says another."""
    ours = "" if known is None else str(known)
    return ours if printed in (None, known) else f"{ours} ({printed})".strip()
