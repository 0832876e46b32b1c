"""Write the files that a pull request to mteb needs: metadata and descriptive statistics.

``python -m patent_mteb.report.upstream`` writes the statistics of the package's own tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patent_mteb.errors import PatentMTEBError
from patent_mteb.files import write_text
from patent_mteb.models.registry import suite_metas
from patent_mteb.tasks import catalogue
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


def prepare(folder: Path, *, count: bool = False) -> Upstream:
    """Write metadata and descriptive statistics for a pull request (``docs/upstream.md`` says where each belongs)."""
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
    files = (
        write_text(folder / name, json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")
        for name, document in documents.items()
    )
    return Upstream(tuple(files), missing, unknown_fields(metas))
