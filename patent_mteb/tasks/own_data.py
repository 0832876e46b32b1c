"""Tasks and benchmarks on own data, under the name that ``dataset.json`` gives.

``PatentCitationRetrieval`` on the data set Acme is ``AcmeCitationRetrieval``, and ``PatentDAPFAMTAToTARetrieval`` is
``AcmeDAPFAMTAToTARetrieval``. Tables, texts, search and scores are the same. What belongs to the paper's data is
absent: reference, published rows and the paper's protocol.

A data set is found in the directory of ``PATENT_MTEB_DATA``, or by the record in its results.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from mteb.types import Licenses

from patent_mteb.data.loading import DataSet, Own, Root, data_root
from patent_mteb.errors import PatentMTEBError
from patent_mteb.models import prompts
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark

if TYPE_CHECKING:
    from patent_mteb.tasks.base import PatentTask

logger = logging.getLogger(__name__)
_Task = TypeVar("_Task", bound="PatentTask")


def own_data_name(facts: Facts, task: str, name: str) -> str:
    """Return the name of a task, or of a benchmark, on the data set ``name``.

    It replaces the first of ``facts.replaced`` that the task's name begins with, or the whole name of the benchmark if
    it begins with that (an edition of it).
    """
    words = (facts.name, *facts.replaced) if name.startswith(facts.name) else facts.replaced
    return name + task.removeprefix(next((word for word in words if task.startswith(word)), ""))


def own_data_set(facts: Facts, data: DataSet, name: str) -> DataSet:
    """Return a benchmark's data set as results and reports name it on own data; it has no published revision."""
    organisation, _, table = data.key.rpartition("/")
    benchmark = own_data_name(facts, facts.name, name)
    return DataSet(f"{benchmark}/{table}" if organisation else benchmark, "")


def _facts(facts: Facts, own: Own) -> Facts:
    def renamed(task: str) -> str:
        return own_data_name(facts, task, own.name)

    return replace(
        facts,
        name=renamed(facts.name),
        description=_origin(own),
        reference=None,
        bibtex="",
        license=_license(own.licence),
        prefix=renamed(facts.prefix),
        headline=renamed(facts.headline) if facts.headline else "",
        jobs={job: (renamed(task), part) for job, (task, part) in facts.jobs.items()},
        short_names={renamed(task): short for task, short in facts.short_names.items()},
        domain_tasks={
            renamed(task): {side: renamed(part) for side, part in sides.items()}
            for task, sides in facts.domain_tasks.items()
        },
        section_grid={renamed(task): cell for task, cell in facts.section_grid.items()},
        prompt_rows=(),
        paper="",
        paper_queries=0,
    )


def _license(text: str) -> Any:
    """Return a licence as mteb spells it, or its address; None for any other."""
    word = text.lower().replace(" ", "-")
    return word if word in get_args(Licenses) else text if text.startswith("https://") else None


@cache
def own_data_task(task: type[_Task], own: Own, root: Path | None) -> type[_Task]:
    """Return the class of a task on own data, the same object for the same arguments."""
    facts = _facts(task.facts, own)
    metadata = _metadata(task, facts, own)
    attributes = {"__module__": __name__, "__doc__": metadata.description, "metadata": metadata, "facts": facts}
    attributes |= {"own": own, "root": root, "published_as": task}
    made = type(metadata.name.replace(".", "_"), (task,), attributes)
    setattr(sys.modules[__name__], made.__name__, made)  # pickle looks the class up here
    prompts.same_row(metadata.name, task.metadata.name)
    return made


def _metadata(task: type[PatentTask], facts: Facts, own: Own) -> Any:
    known, subject = task.metadata, task.facts.subject
    description = f"{known.description.replace(subject, '')} Data: {_origin(own)}"
    prompt: Any = known.prompt
    if isinstance(prompt, Mapping):
        prompt = {role: text.replace(subject, "") for role, text in prompt.items()}
    elif isinstance(prompt, str):
        prompt = prompt.replace(subject, "")
    name = own_data_name(task.facts, known.name, own.name)
    path = own_data_set(task.facts, task.data, own.name).key
    fields = {"name": name, "description": description, "prompt": prompt, "license": facts.license}
    fields |= {"reference": None, "bibtex_citation": "", "adapted_from": None}
    return known.model_copy(update={**fields, "dataset": {"path": path, "revision": "own"}})


def _origin(own: Own) -> str:
    text = f"The data set {own.name}, version {own.version}"
    text += f", of {own.owner.rstrip('.')}" if own.owner else ""
    text += f" (licence: {own.licence})" if own.licence else ""
    changed = f" Unlike the benchmark whose rules they follow: {'; '.join(own.deviations)}." if own.deviations else ""
    return f"{text}.{changed}"


def own_data_root() -> Root | None:
    """Return the directory in ``PATENT_MTEB_DATA``; None without one, or, with a warning, if it is invalid."""
    try:
        return data_root()
    except PatentMTEBError as error:  # registration must not fail; creating a task raises the error
        _warn_once(f"{error} The tasks of this data set are not known to mteb.")
    except OSError as error:
        _warn_once(f"PATENT_MTEB_DATA cannot be read ({error}); the tasks of its data set are not known to mteb")
    return None


@cache
def _warn_once(message: str) -> None:
    logger.warning("%s", message)


def own_data_benchmark(root: Root, benchmark: PatentBenchmark) -> PatentBenchmark | None:
    """Return a benchmark on the data set in a directory, without reading tables; None if its files are not there."""
    present = [data for data in benchmark.data_sets if root.own(data.key) and (root.folder / data.key).is_dir()]
    if not present:
        return None
    if benchmark.names_in is None:
        tasks = [task for task in benchmark.task_classes if task.data in present]
    else:
        named = (benchmark.task_named(name) for data in present for name in benchmark.names_in(root.files(data.key)))
        tasks = [task for task in named if task is not None]
    classes = {task: own_data_task(task, own, root.folder) for task in tasks if (own := root.own(task.data.key))}
    return _grouped(benchmark, classes) if classes else None


def _grouped(benchmark: PatentBenchmark, classes: Mapping[type[PatentTask], type[PatentTask]]) -> PatentBenchmark:
    """Return a benchmark of tasks on own data, in the groups of the published one."""
    groups: dict[str, list[type[PatentTask]]] = {label: [] for label in benchmark.groups}
    for task, on_own_data in classes.items():
        groups.setdefault(benchmark.group_of(task), []).append(on_own_data)
    facts = next(iter(classes.values())).facts
    return PatentBenchmark(facts, {label: tasks for label, tasks in groups.items() if tasks}, macro=benchmark.macro)


def task_of_result(
    record: Any, benchmarks: Iterable[PatentBenchmark]
) -> tuple[type[PatentTask], PatentBenchmark] | None:
    """Return the task on own data of a result and its published benchmark; None without a record or a known task."""
    if not isinstance(record, Mapping):
        return None
    words = {name: str(record.get(name) or "") for name in ("name", "version", "owner", "licence", "benchmark", "task")}
    benchmark = next((one for one in benchmarks if one.facts.name == words["benchmark"]), None)
    task = benchmark.task_named(words["task"]) if benchmark else None
    if benchmark is None or task is None or not words["name"]:
        return None
    changed = record.get("deviations")
    deviations = tuple(map(str, changed)) if isinstance(changed, list) else ()
    own = Own(words["name"], words["version"], words["owner"], words["licence"], deviations)
    return own_data_task(task, own, None), benchmark


def benchmark_of_results(found: Iterable[tuple[type[PatentTask], PatentBenchmark]]) -> PatentBenchmark:
    """Return the benchmark of the tasks of one data set that have results."""
    pairs = list(found)
    published = pairs[0][1]
    order = {task: place for place, task in enumerate(published.task_classes)}
    classes = {task.published_as: task for task, _ in pairs if task.published_as}
    return _grouped(published, dict(sorted(classes.items(), key=lambda pair: order.get(pair[0], len(order)))))
