"""What a pull request to mteb needs of the suite's tasks, benchmarks and models, as files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patent_mteb.errors import PatentMTEBError
from patent_mteb.experiments.describing import describe
from patent_mteb.files import write_text
from patent_mteb.models.suite import suite_metas
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.sizes import shipped

__all__ = ["Upstream", "prepare"]


@dataclass(frozen=True)
class Upstream:
    """The files, and the tasks whose statistics could not be counted, with the reason."""

    files: tuple[Path, ...]
    missing: dict[str, str]


def prepare(folder: Path, *, count: bool = False) -> Upstream:
    """Write metadata and descriptive statistics for a pull request (``docs/upstream.md`` says where each belongs).

    Args:
        count: read the published data and count them too; without it only the statistics that the package brings along, of the sample.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.report.upstream import prepare
        >>> sorted({path.name for path in prepare(Path("up")).files if path.parent.name == "up"})
        ['benchmarks.json', 'models.json', 'tasks.json']
    """
    statistics, missing = dict(shipped()), dict[str, str]()
    kinds = [*catalogue.tasks(), *catalogue.sample_tasks()]
    for kind in catalogue.tasks() if count else ():
        try:
            statistics |= describe([kind])
        except PatentMTEBError as error:
            missing[kind.metadata.name] = str(error)
    types = {kind.metadata.name: kind.metadata.type for kind in kinds}
    files = [
        _json(folder / "descriptive_stats" / types[name] / f"{name}.json", found) for name, found in statistics.items() if name in types
    ]
    files.append(_json(folder / "tasks.json", [kind.metadata.model_dump(mode="json") for kind in kinds]))
    files.append(_json(folder / "benchmarks.json", list(_benchmarks())))
    files.append(_json(folder / "models.json", [meta.to_dict() for meta in suite_metas()]))
    return Upstream(tuple(files), missing)


def _benchmarks() -> Iterable[dict[str, Any]]:
    for benchmark in catalogue.mteb_benchmarks():
        facts = benchmark.facts
        names = [task.metadata.name for tasks in benchmark.columns.values() for task in tasks]
        yield {
            "name": facts.name,
            "description": facts.description,
            "reference": facts.reference,
            "citation": facts.bibtex,
            "tasks": names,
        }


def _json(path: Path, document: Any) -> Path:
    return write_text(path, json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")
