"""Results made ready for publication: a folder in mteb's structure, model cards, summaries and a leaderboard for a git repository.

``prepare`` writes below ``out``:

``results/<org>__<model>/<revision>/…``    the result files, as mteb's results repository takes them
``model_cards/<org>__<model>.md``          a section for the model's card, with a ``model-index``
``summaries/<org>__<model>/<revision>/…``  ``summary.json``: main scores by family and task
``leaderboard.md``                         made from all summaries that lie there, so that a repository of summaries grows
                                           model by model and needs no server

What nobody else could compare with or repeat is refused, each result with its reason.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from patent_mteb.report.cells import Cell, Column, Table, slug
from patent_mteb.report.collect import Collected, ReportError, collect
from patent_mteb.report.forms import as_markdown

__all__ = ["Export", "Refusal", "leaderboard", "prepare"]

_NO_REVISION = ("", "None", "no_revision_available")


_COMMIT = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True)
class Refusal:
    """A result that was not exported, and why."""

    run: str
    task: str
    reason: str

    def __str__(self) -> str:
        return f"{self.task} of {self.run}: {self.reason}"


@dataclass(frozen=True)
class Export:
    """What was written, what was refused, and what the results folder itself holds that could not be read."""

    files: tuple[Path, ...]
    exported: int
    refused: tuple[Refusal, ...]
    messages: tuple[str, ...]


def prepare(results: Path, out: Path, model: str | None = None) -> Export:
    """Prepare the results of one model, or of all, for publication.

    Args:
        results: folder of ``patent-mteb run``.
        out: folder to write to; other models' files in it are kept.
        model: a model's name; None takes all.

    Raises:
        DataError: the folder holds no results.
        ReportError: no results of the named model.
    """
    collected = collect(results)
    rows = collected.results if model is None else collected.results.filter(pl.col("model") == model)
    if rows.is_empty():
        known = "; ".join(sorted(set(collected.results["model"]))) or "none"
        raise ReportError(f"no results of '{model}' to export; there are: {known}. Remedy: name one of these")
    known_models = _known_models()
    accepted: list[dict[str, Any]] = []
    refused: list[Refusal] = []
    for row in rows.iter_rows(named=True):
        reason = _reason(row, known_models)
        if reason:
            refused.append(Refusal(row["run"], row["task"], reason))
        else:
            accepted.append(row)
    files = [path for row in accepted for path in _copy(row, results, out)]
    for name in dict.fromkeys(row["model"] for row in accepted):
        mine = [row for row in accepted if row["model"] == name]
        files.append(_write(out / "model_cards" / f"{_folder(name)}.md", model_card(name, mine)))
    for place in dict.fromkeys((row["model"], row["revision"], row["experiment"]) for row in accepted):
        mine = [row for row in accepted if (row["model"], row["revision"], row["experiment"]) == place]
        path = out / "summaries" / _folder(place[0]) / place[1]
        path = path / "experiments" / place[2] if place[2] else path
        files.append(_write(path / "summary.json", json.dumps(_summary(mine), indent=2, ensure_ascii=False) + "\n"))
    if accepted:
        files.append(_write(out / "leaderboard.md", leaderboard(out / "summaries")))
    return Export(tuple(dict.fromkeys(files)), len(accepted), tuple(refused), _of_model(collected, model))


def _of_model(collected: Collected, model: str | None) -> tuple[str, ...]:
    return tuple(message for message in collected.messages if model is None or _folder(model) in message)


def _known_models() -> frozenset[str]:
    import mteb

    return frozenset(str(meta.name) for meta in mteb.get_model_metas())


def _folder(model: str) -> str:
    return model.replace("/", "__").replace(" ", "_")


def _reason(row: dict[str, Any], known: frozenset[str]) -> str:
    """Why a result is not fit for publication, empty if it is."""
    if row["world"] == "sample":
        return "measured on the built-in sample, which is no benchmark. Remedy: run the task on the published data"
    if row["data_revision"].startswith("local-"):
        return (
            f"measured on local data ({row['data_revision']}), which others do not have. "
            "Remedy: run the task on the published data at its pinned revision"
        )
    if not _COMMIT.fullmatch(row["data_revision"]):
        return (
            f"measured on the moving branch '{row['data_revision']}' of its data set, so nobody can tell which state that was. "
            "Remedy: wait until the suite pins a commit"
        )
    if row["model"].startswith(("local/", "no_model_name")):
        return "a local checkpoint, which others do not have. Remedy: publish the model and run it under its hub id"
    if row["revision"] in _NO_REVISION:
        return "the model has no revision, so nobody can tell which weights these were. Remedy: run it with --model-revision"
    if row["model"] not in known:
        return "mteb does not know the model, and its results repository takes known models only. Remedy: have it implemented in mteb first"
    return ""


def _copy(row: dict[str, Any], results: Path, out: Path) -> list[Path]:
    """Copy a result with its model's description; of a file with several subsets only the accepted one."""
    source = Path(row["path"])
    root = results / "results" if (results / "results").is_dir() else results
    target = out / "results" / source.relative_to(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    content = json.loads(source.read_text("utf-8"))
    entries = content["scores"][row["split"]]
    kept = [entry for entry in entries if entry.get("hf_subset", "default") == row["subset"]]
    if len(kept) == len(entries):
        shutil.copyfile(source, target)
    else:
        _write(target, json.dumps({**content, "scores": {row["split"]: kept}}, indent=2))
    meta = source.with_name("model_meta.json")
    if not meta.is_file():
        return [target]
    shutil.copyfile(meta, target.with_name(meta.name))
    return [target, target.with_name(meta.name)]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def model_card(model: str, rows: Sequence[dict[str, Any]]) -> str:
    """YAML front matter (``model-index`` as the hub reads it) and a markdown section with the scores of one model."""
    entries = [
        {
            "task": {"type": row["kind"]},
            "dataset": {
                "type": row["data"],
                "name": row["task"] + (f" ({row['experiment']})" if row["experiment"] else ""),
                "config": row["subset"],
                "split": row["split"],
                "revision": row["data_revision"],
            },
            "metrics": [{"type": row["main_score"], "value": row["value"]}],
        }
        for row in rows
    ]
    front = ["---", *_yaml({"model-index": [{"name": model.partition("/")[2] or model, "results": entries}]}), "---", ""]
    cells = [
        (
            Cell(row["family"]),
            Cell(row["task"]),
            Cell(row["main_score"]),
            Cell(row["value"]),
            Cell(row["experiment"] or "none"),
            Cell(row["prompt"]),
            Cell(row["revision"]),
            Cell(row["data_revision"]),
        )
        for row in rows
    ]
    titles = ("Family", "Task", "Measure", "Score", "Settings", "Prompt", "Model revision", "Data revision")
    columns = tuple(Column(slug(title), title, numeric=title == "Score", marked=False) for title in titles)
    notes = ("Measured with patent-mteb, which runs the patent benchmarks as tasks of mteb.",)
    return "\n".join(front) + as_markdown(Table("model-card", "Patent embedding benchmarks", columns, tuple(cells), notes=notes))


def _yaml(value: Any, indent: str = "") -> list[str]:
    """Block YAML of dictionaries, lists, strings and numbers; strings are quoted as JSON, which YAML reads alike."""
    lines: list[str] = []
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in items:
        head = f"{indent}- " if key is None else f"{indent}{key}: "
        if not isinstance(item, (dict, list)):
            lines.append(head + json.dumps(item, ensure_ascii=False))
        elif key is None:
            nested = _yaml(item, indent + "  ")
            lines += [head + nested[0].removeprefix(indent + "  "), *nested[1:]]
        else:
            lines += [head.rstrip(), *_yaml(item, indent + "  " * isinstance(item, dict))]
    return lines


def _summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = rows[0]
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        scores.setdefault(row["family"], {})[row["task"]] = {row["main_score"]: row["value"]}
    return {
        "model": first["model"],
        "revision": first["revision"],
        "settings": json.loads(first["settings"]),
        "data_revisions": dict(sorted({row["data"]: row["data_revision"] for row in rows}.items())),
        "scores": scores,
    }


def leaderboard(summaries: Path) -> str:
    """A markdown leaderboard from all summaries below a folder: one table over the families and one a family.

    Raises:
        ReportError: a summary is damaged.
    """
    found = [_read(path) for path in sorted(summaries.rglob("summary.json"))]
    from patent_mteb.tasks.catalogue import BENCHMARKS

    total = next(benchmark for benchmark in BENCHMARKS if benchmark.name == "PatentMTEB")
    parts = [_ranking(total, found, "Patent embedding leaderboard")]
    for benchmark in BENCHMARKS:
        if benchmark is not total and any(benchmark.name in summary["scores"] for _, summary in found):
            parts.append(_ranking(benchmark, [entry for entry in found if benchmark.name in entry[1]["scores"]], benchmark.name))
    return "\n".join(as_markdown(table) for table in parts)


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        summary: dict[str, Any] = json.loads(path.read_text("utf-8"))
        settings = ", ".join(f"{key}={value}" for key, value in summary["settings"].items() if key not in ("kind", "parts"))
        label = f"{summary['model']} @{summary['revision'][:12]}" + (f" ({settings})" if settings else "")
        return label, {**summary, "main": dict(_mains(summary["scores"]))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"{path} is no summary of an export ({error!r}). Remedy: delete it and export the model again") from error


def _mains(scores: dict[str, dict[str, dict[str, float]]]) -> Iterable[tuple[str, float]]:
    for tasks in scores.values():
        for task, measures in tasks.items():
            (value,) = measures.values()
            yield task, value


def _ranking(benchmark: Any, found: Sequence[tuple[str, dict[str, Any]]], title: str) -> Table:
    from patent_mteb.tasks.benchmark import group_means, summary

    names = {task.metadata.name for tasks in benchmark.groups.values() for task in tasks}
    rows: list[tuple[Cell, ...]] = []
    for label, entry in found:
        mine = {task: value for task, value in entry["main"].items() if task in names}
        means = group_means(benchmark, mine)
        overall = Cell(summary(benchmark, mine)["Overall"])
        rows.append((Cell(label), overall, *(Cell(means[group]) for group in benchmark.groups), Cell(f"{len(mine)} of {len(names)}")))
    rows.sort(
        key=lambda row: (*((-cell.value if isinstance(cell.value, float) else float("inf")) for cell in row[1:-1]), str(row[0].value))
    )
    columns = (
        Column("model", "Model", numeric=False),
        Column("overall", "Overall"),
        *(Column(slug(group), group) for group in benchmark.groups),
        Column("tasks", "Tasks", numeric=False),
    )
    notes = ("A dash is a mean over tasks of which one or more were not measured.",)
    return Table(slug(title), title, columns, tuple(rows), notes=notes).marked()
