"""``patent-mteb list``: tasks, benchmarks and models; ``patent-mteb models``: models against their own files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, WITH_DATA, Benchmarks, Session, WithData
from patent_mteb.errors import NotThereError
from patent_mteb.report.words import measure_title

if TYPE_CHECKING:
    from patent_mteb.tasks.base import PatentTask


@command("list", "patent-mteb list tasks -b WIPO-AT", "patent-mteb list models --json")
def list_(
    what: Literal["tasks", "benchmarks", "models"] = "tasks",
    /,
    *,
    benchmarks: Benchmarks = (),
    session: WithData = WITH_DATA,
) -> None:
    """List tasks, benchmarks or models, and the source of the data of each.

    Args:
        what: What to list.
        benchmarks: Of tasks: those of these benchmarks only.
    """
    listed = {"tasks": lambda: _tasks(benchmarks), "benchmarks": _benchmarks, "models": _models}
    columns, rows, right = listed[what]()
    common.result(rows)
    shown = [[measure_title(row[name]) if name == "main score" else row[name] for name in columns] for row in rows]
    common.show(columns, shown, right=right)


_Listed = tuple[Sequence[str], list[dict[str, Any]], Collection[str]]
"""The printed columns, the complete rows, and the columns of numbers."""


def _tasks(names: Sequence[str]) -> _Listed:
    from patent_mteb.data.loading import data_root
    from patent_mteb.tasks import catalogue

    data_root()  # refuses an invalid directory before anything is listed
    mine = [task for benchmark in catalogue.own_benchmarks() for task in benchmark.task_classes]
    named = [task for name in names for task in catalogue.find(name).task_classes]
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
    from patent_mteb.tasks import catalogue
    from patent_mteb.tasks.own_data import own_data_name

    try:
        source = loading.resolve(task.data, True if task.force_sample else None)
    except NotThereError:
        return "not built"
    if source.own and task.own is None:
        name = own_data_name(task.facts, task.metadata.name, source.own.name)
        built = (one.metadata.name for benchmark in catalogue.own_benchmarks() for one in benchmark.task_classes)
        return f"{source.place} (as {name})" if name in built else "not built"
    gate = ", gated" if source.kind == "hub" and task.data.gated else ""
    return f"{source.place}{gate}"


def _benchmarks() -> _Listed:
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


def _models() -> _Listed:
    from patent_mteb.models.registry import models

    rows = [
        {
            **asdict(row),
            "paper's name": row.printed,
            "paper's category": row.category,
            "dims (paper)": _with_paper(row.dims, row.paper_dims),
            "max tokens (paper)": _with_paper(row.max_tokens, row.paper_max_tokens),
            "runs with -m": row.runs,
            "pinned": row.commit[:7],
        }
        for row in models()
    ]
    numbers = ("dims (paper)", "max tokens (paper)")
    return ("model", "paper's name", "paper's category", *numbers, "runs with -m", "pinned"), rows, numbers


def _with_paper(known: int | None, printed: int | None) -> str:
    """Return the number of mteb's registry, with the paper's in brackets where it differs."""
    known_text = "" if known is None else str(known)
    return known_text if printed in (None, known) else f"{known_text} ({printed})".strip()


@command("models verify", "patent-mteb models verify datalyes/patembed-base")
def models_verify(name: str, /, *, session: Session = SESSION) -> int:
    """Compare what the registry says of a model with the model's own files.

    Args:
        name: Name of a registered model ('patent-mteb list models').
    """
    from patent_mteb.models.verification import verify

    facts = [asdict(fact) for fact in verify(name)]
    common.result(facts)
    common.show(list(facts[0]), [list(fact.values()) for fact in facts])
    return 1 if any(fact["verdict"] == "differs" for fact in facts) else 0
