"""Write the pages generated from the code: tasks, benchmarks, models, help of every command, and a report page."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from patent_mteb import cli
from patent_mteb.cli import app
from patent_mteb.tasks.base import sizes

REPORTED = ("PatentMap.sample", ("patent-mteb/bm25-dapfam", "patent-mteb/bm25-bm25s"))
"""What the report page of the documentation is made of."""


def everything(folder: Path) -> None:
    """Write all generated files anew."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "extra").mkdir(parents=True)
    for name, text in (
        ("tasks.md", tasks()),
        ("benchmarks.md", benchmarks()),
        ("models.md", models()),
        ("commands.md", commands()),
        ("messy-tables.md", messy_tables()),
    ):
        (folder / name).write_text(text, "utf-8")
    report(folder / "extra" / "report")


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in markdown."""
    cells = [
        titles,
        ["---"] * len(titles),
        *(["" if cell is None else str(cell).replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def tasks() -> str:
    """Every task with what it measures and how large it is, published and on the sample."""
    from patent_mteb.tasks import catalogue

    parts = []
    for benchmark in catalogue.benchmarks():
        rows = []
        for task in benchmark.task_classes:
            real, sample = sizes(task), sizes(task, sample=True)
            meta = task.metadata
            rows.append(
                (
                    f"`{meta.name}`",
                    meta.type,
                    f"`{meta.main_score}`",
                    real.queries,
                    real.texts,
                    sample.queries,
                    sample.texts,
                    meta.description,
                )
            )
        titles = (
            "task",
            "type",
            "main score",
            "queries",
            "texts",
            "queries of the sample",
            "texts of the sample",
            "what it asks for",
        )
        reference = f" [Paper]({benchmark.facts.reference})." if benchmark.facts.reference else ""
        parts.append(f"## {benchmark.name}\n\n{benchmark.facts.description}{reference}\n\n{table(titles, rows)}")
    return "\n".join(parts)


def benchmarks() -> str:
    """Every benchmark that mteb gets to know."""
    from patent_mteb.tasks import catalogue

    rows = [
        (f"`{one.name}`", sum(map(len, one.columns.values())), ", ".join(one.columns), one.facts.description)
        for one in catalogue.mteb_benchmarks()
    ]
    return table(("benchmark", "tasks", "columns", "description"), rows)


def models() -> str:
    """The models of the papers and of the suite."""
    from patent_mteb.models.registry import models as listed

    rows = [(row.model and f"`{row.model}`", row.printed, row.dims, row.max_tokens, row.runs) for row in listed()]
    return table(("model", "name in WIPO-AT", "dimensions", "max tokens", "runs with -m"), rows)


def commands() -> str:
    """The help of every command."""
    helps = ((name, app.help_text(name, width=110)) for name in cli.COMMANDS)
    return "\n".join(f"## {name}\n\n```text\n{text.strip()}\n```\n" for name, text in helps)


def messy_tables() -> str:
    """The cases that tests/readers/test_messy_cases.py imports: what ends how, and what is said."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
    from messy_tables import CASES

    outcomes = {"right": "read", "noted": "read, and said", "refused": "refused"}
    groups = dict.fromkeys(one.group for one in CASES)
    counts = ", ".join(f"{sum(one.outcome == name for one in CASES)} {text}" for name, text in outcomes.items())
    parts = [f"{len(CASES)} cases: {counts}.\n"]
    for group in groups:
        rows = [
            (one.name, outcomes[one.outcome], f"{one.said}. Remedy: {one.remedy}" if one.remedy else one.said)
            for one in CASES
            if one.group == group
        ]
        cells = [[" ".join(text.split()).replace("<", "&lt;") for text in row] for row in rows]
        parts.append(f"### {group}\n\n{table(('case', 'outcome', 'what is said, in part'), cells)}")
    return "\n".join(parts)


def report(folder: Path) -> None:
    """The page of 'patent-mteb report' on two runs over the sample."""
    name, models_run = REPORTED
    with tempfile.TemporaryDirectory() as results, contextlib.redirect_stdout(io.StringIO()):
        for model in models_run:
            cli.main(["run", "-q", "-b", name, "-m", model, "--out", results, "--json"])
        cli.main(["report", results, "-q", "--html", str(folder)])
