"""Write the files that a pull request to mteb needs: task classes, metadata, descriptive statistics and scores.

``python -m patent_mteb.report.upstream`` writes the statistics of the package's own tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.errors import PatentMTEBError
from patent_mteb.files import write_text
from patent_mteb.models.registry import suite_metas
from patent_mteb.report import reproduce
from patent_mteb.report.cells import Cell, Table, number_columns, text_columns
from patent_mteb.report.collect import Collected, collect
from patent_mteb.report.rendering import as_markdown
from patent_mteb.tasks import catalogue, patenteb
from patent_mteb.tasks.base import SHIPPED, PatentTask, shipped, sizes

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta


def describe(tasks: Iterable[type[PatentTask]]) -> dict[str, Any]:
    """Return mteb's descriptive statistics of tasks by name, computed from their present data."""
    found: dict[str, Any] = {}
    for kind in tasks:
        task = kind()
        task.load_data()
        ((subset, splits),) = (task.dataset or {}).items()
        found[task.metadata.name] = {split: task.describe_split(split, hf_subset=subset) for split in splits}
        task.unload_data()
    return found


if __name__ == "__main__":
    lines = [
        f"{json.dumps(name)}:{json.dumps(stats, separators=(',', ':'))}"
        for name, stats in describe(catalogue.sample_tasks()).items()
    ]
    write_text(SHIPPED, "{\n" + ",\n".join(lines) + "\n}\n")


@dataclass(frozen=True)
class Upstream:
    files: tuple[Path, ...]
    missing: dict[str, str]  # why the statistics of tasks could not be computed
    unknown: dict[str, tuple[str, ...]]  # of unknown_fields


_OTHER_DATA = (
    "these are not its published data. Remedy: unset PATENT_MTEB_SAMPLE, and PATENT_MTEB_DATA if it holds others"
)
_FIELDS = "revision release_date n_parameters n_embedding_parameters memory_usage_mb license"


def unknown_fields(metas: Iterable[ModelMeta]) -> dict[str, tuple[str, ...]]:
    """Return the models that lack a field of their metadata, by field.

    mteb's tests require the revision and, for open weights, the embedding parameters; a pull request states the rest.
    """
    metas = tuple(metas)
    return {name: tuple(str(meta.name) for meta in metas if getattr(meta, name) is None) for name in _FIELDS.split()}


_RETRIEVAL, _PARAPHRASE = (patenteb.BENCHMARK.columns[name] for name in ("Retrieval", "Paraphrase"))
TASK_FILES: dict[str, tuple[str, Sequence[Any]]] = {
    "tasks/retrieval/eng/patenteb_retrieval.py": ("_PatenTEBRetrieval", _RETRIEVAL),
    "tasks/sts/eng/patenteb_sts.py": ("_PatenTEBParaphrase", _PARAPHRASE),
}
"""Files of mteb's tree, with the base class and our tasks of each.

These are the tasks on released data whose paper's protocol is one of mteb's. mteb has DAPFAM's already. The other tasks
score frozen embeddings in a way that mteb has not.
"""


def _literal(value: Any) -> str:
    """Return a value as Python with double quotes, as mteb's formatter writes it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | list | dict) else repr(value)


def task_file(path: str) -> str:
    """Return the text of one of :data:`TASK_FILES`: the template in ``mteb_tasks`` with the metadata of our tasks."""
    base, kinds = TASK_FILES[path]
    other = {"text_parts", "bibtex_citation"}
    fields = [kind.metadata.model_dump(exclude=other, exclude_none=True, exclude_defaults=True) for kind in kinds]
    shared = {name: value for name, value in fields[0].items() if all(one.get(name) == value for one in fields)}
    common = [f'    "{name}": {_literal(value)},' for name, value in shared.items()]
    classes = []
    for kind, one in zip(kinds, fields, strict=True):
        own = [f"        {name}={_literal(value)}," for name, value in one.items() if name not in shared]
        columns = [f"    _columns = {_literal((kind.spec.query, kind.spec.document))}"] if kind.spec.query else []
        metadata = ["    metadata = TaskMetadata(", *own, "        **_COMMON,", "    )"]
        classes.append("\n".join(["", f"class {one['name']}({base}):", *columns, *metadata, ""]))
    parts = {
        "BIBTEX": kinds[0].metadata.bibtex_citation,
        "COMMON": "\n".join(["{", *common, '    "bibtex_citation": _BIBTEX,', "}"]),
        "CLASSES": "\n".join(classes),
    }
    text = files(__package__).joinpath("mteb_tasks", f"{Path(path).name}.txt").read_text("utf-8")
    for name, part in parts.items():
        text = text.replace(f"@@{name}@@", part.strip("\n"))
    return text


BASELINES = ("mteb/baseline-random-encoder", "intfloat/multilingual-e5-small")
"""The models whose scores mteb asks for with a new task."""


def scores(collected: Collected) -> str:
    """Return the baselines' scores on published data and the comparison with the papers, as Markdown.

    A score is that of the paper's protocol, as mteb's own classes compute it. Tasks that were not run have a dash.
    """
    plain = collected.results.filter(data_source="real", settings="{}")
    runs = {model: plain.filter(model=model)["run"].to_list() for model in BASELINES}
    of_runs = collected.scores.filter(data_source="real", slice="").select("run", "task", "measure", "value")
    found = {tuple(row[:3]): row[3] for row in of_runs.iter_rows()}
    mains = {kind.metadata.name: kind.metadata.main_score for _, kinds in TASK_FILES.values() for kind in kinds}

    def value(model: str, task: str) -> float | None:
        keys = product(runs[model], [task], [f"paper_{mains[task]}", mains[task]])
        return next((found[key] for key in keys if key in found), None)

    rows = [(Cell(task), *(Cell(value(model, task)) for model in BASELINES)) for task in mains]
    columns = (*text_columns(task="Task"), *number_columns(**dict(zip(("random", "e5"), BASELINES, strict=True))))
    tables = [Table("baselines", "Baselines", columns, tuple(rows)), reproduce.table(reproduce.reproduce(collected))]
    return "\n".join(as_markdown(one) for one in tables if one)


def prepare(folder: Path, *, count: bool = False, results: Path | None = None) -> Upstream:
    """Write the contents of a pull request (``docs/upstream.md`` says where each file belongs)."""
    statistics, missing = dict(shipped()), dict[str, str]()
    tasks, metas = catalogue.tasks(), suite_metas()
    kinds = [*tasks, *catalogue.sample_tasks()]
    for kind in tasks if count else ():
        name = kind.metadata.name
        try:
            if kind().metadata.name == name:
                statistics |= describe([kind])
            else:
                missing[name] = _OTHER_DATA
        except PatentMTEBError as error:
            missing[name] = str(error)
    types = {kind.metadata.name: kind.metadata.type for kind in kinds}
    published = {kind.metadata.name: asdict(sizes(kind)) for kind in tasks}
    documents = {
        f"descriptive_stats/{types[name]}/{name}.json": found for name, found in statistics.items() if name in types
    } | {
        "sizes.json": {name: found for name, found in published.items() if any(found.values())},
        "tasks.json": [kind.metadata.model_dump(mode="json") for kind in kinds],
        "benchmarks.json": [
            {
                "name": benchmark.facts.name,
                "description": benchmark.facts.description,
                "reference": benchmark.facts.reference,
                "citation": benchmark.facts.bibtex,
                "tasks": [task.metadata.name for tasks in benchmark.columns.values() for task in tasks],
            }
            for benchmark in catalogue.mteb_benchmarks()
        ],
        "models.json": [meta.to_dict() for meta in metas],
    }
    texts = {
        name: json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"
        for name, document in documents.items()
    }
    texts |= {name: task_file(name) for name in TASK_FILES}
    if results:
        texts["scores.md"] = scores(collect(results))
    written = tuple(write_text(folder / name, text) for name, text in texts.items())
    return Upstream(written, missing, unknown_fields(metas))
