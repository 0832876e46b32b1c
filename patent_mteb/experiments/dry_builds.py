"""Which benchmarks some records can become: each recipe is run for real into a folder that is thrown away, and its tasks are loaded.

Nothing is kept in a list of its own: whether a benchmark is possible is what its recipe does with the records, which of its tasks are is
what they say when they read its tables, and what would be needed is the recipe's ``NEEDS``.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path

from patent_mteb import recipes
from patent_mteb.data.roots import Root
from patent_mteb.data.sources import Source, plain_name
from patent_mteb.errors import DataError
from patent_mteb.identity import content_hash
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import cleaned_once
from patent_mteb.recipes.needs import FIELDS
from patent_mteb.recipes.parameters import written
from patent_mteb.recipes.sampling import random_key
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.benchmark import PatentBenchmark

__all__ = ["ENOUGH", "Attempt", "Plan", "TaskSize", "connected_part", "plans"]

ENOUGH = 50
"""Queries of the headline task with which an attempt is good enough; a score of fewer says little."""

_COMMON = 0.5
"""Share of the publications that must have a text for it to stay required."""


@dataclass(frozen=True)
class TaskSize:
    """One task that the records make: its name and type, and how many texts it has in each part (``query``, ``document``, ``test`` ...)."""

    name: str
    type: str
    texts: Mapping[str, int]

    @property
    def queries(self) -> int:
        """Queries of a retrieval task, test documents of a classification, texts of any other."""
        return self.texts.get("query") or self.texts.get("test") or sum(self.texts.values())


@dataclass(frozen=True)
class Attempt:
    """A recipe with some settings: what it was refused for, or how many queries its headline task has."""

    settings: tuple[str, ...]
    problem: str = ""
    queries: int = 0


@dataclass(frozen=True)
class Plan:
    """What a benchmark can be made of the records.

    Attributes:
        recipe: its name for ``patent-mteb build``.
        benchmark: its name in mteb.
        attempts: what was tried, the paper's settings first.
        settings: those of the best attempt, ready for ``--set``.
        problem: why there is none, empty if there is one.
        tasks: the tasks of the best attempt, and of how many there are in all.
        all_tasks: number of tasks of the benchmark.
        distinct_texts: different texts that an encoder is given over these tasks.
        lacking: fields that no record has -> what they would serve.
    """

    recipe: str
    benchmark: str
    attempts: tuple[Attempt, ...]
    settings: tuple[str, ...] = ()
    problem: str = ""
    tasks: tuple[TaskSize, ...] = ()
    all_tasks: int = 0
    distinct_texts: int = 0
    lacking: Mapping[str, str] = field(default_factory=dict)

    @property
    def possible(self) -> bool:
        return bool(self.tasks)

    @property
    def queries(self) -> int:
        """Queries of the headline task with :attr:`settings`, or rows of the first task where there is none."""
        return max((attempt.queries for attempt in self.attempts if attempt.settings == self.settings), default=0)

    @property
    def few(self) -> bool:
        """Whether a score of so few queries says little."""
        return self.queries < ENOUGH


def connected_part(patents: Sequence[Patent], links: Sequence[Citation], most: int) -> list[Patent]:
    """Some publications of a large set, by whole families that cite one another; all if there are no more than ``most``.

    The walk begins at the family that comes first by the hash of its name, and goes on there when no citation leads further.

    Example:
        >>> from patent_mteb.experiments.dry_builds import connected_part
        >>> from patent_mteb.patents.records import Citation, Patent
        >>> patents = [Patent(f"US{number}B2", f"F{number}") for number in range(1, 7)]
        >>> len(connected_part(patents, [Citation("US1B2", "US2B2")], 3))
        3
    """
    if len(patents) <= most:
        return list(patents)
    family_of = {patent.publication_number: patent.family_id for patent in patents}
    sizes: dict[str, int] = {}
    for family in family_of.values():
        sizes[family] = sizes.get(family, 0) + 1
    near: dict[str, list[str]] = {}
    for link in links:
        citing, cited = family_of.get(link.citing), family_of.get(link.cited)
        if citing and cited:
            near.setdefault(citing, []).append(cited)
            near.setdefault(cited, []).append(citing)
    chosen: dict[str, None] = {}
    taken = 0
    for family in _walk(sorted(sizes, key=lambda family: random_key(0, family)), near):
        if taken + sizes[family] > most:
            break
        chosen[family] = None
        taken += sizes[family]
    return [patent for patent in patents if patent.family_id in chosen]


def _walk(starts: Sequence[str], near: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Breadth first from each start, those that cite something first."""
    seen: set[str] = set()
    for start in sorted(starts, key=lambda family: family not in near):
        if start in seen:
            continue
        seen.add(start)
        queue = [start]
        for family in queue:
            yield family
            fresh = [other for other in dict.fromkeys(near.get(family, ())) if other not in seen]
            seen.update(fresh)
            queue += fresh


def plans(patents: Sequence[Patent], links: Sequence[Citation]) -> list[Plan]:
    """What each recipe of the package makes of some records, with the paper's settings and with settings that suit them.

    Args:
        links: citations between the patents (:func:`patent_mteb.patents.matching.match`).

    Example:
        >>> from patent_mteb.experiments.dry_builds import plans
        >>> from patent_mteb.patents.records import Citation, Patent
        >>> patents = [Patent("US1B2", "F1", "Pump", "A pump."), Patent("US2B2", "F2", "Valve", "A valve.")]
        >>> [plan.recipe for plan in plans(patents, [Citation("US1B2", "US2B2")]) if plan.possible]
        ['wipo_at', 'sophia', 'patentmap']
    """
    share = {name: sum(map(has, patents)) / max(len(patents), 1) for name, has in FIELDS.items()}
    share |= {"citations": float(bool(links)), "category": sum(bool(link.category) for link in links) / max(len(links), 1)}
    with cleaned_once():
        return [_plan(recipe, patents, links, share) for recipe in recipes.RECIPES]


def _plan(recipe: str, patents: Sequence[Patent], links: Sequence[Citation], share: Mapping[str, float]) -> Plan:
    attempts: list[Attempt] = []
    best: tuple[Attempt, tuple[TaskSize, ...], int] | None = None
    for settings in _ladder(recipe, share):
        try:
            queries, tasks, texts = _dry_build(recipe, patents, links, settings)
        except DataError as error:
            attempts.append(Attempt(settings, _in_one_line(error)))
            continue
        attempts.append(Attempt(settings, queries=queries))
        if best is None or queries > best[0].queries:
            best = attempts[-1], tasks, texts
        if queries >= ENOUGH:
            break
    lacking = {need.field: need.serves for need in recipes.needs(recipe) if not share[need.field]}
    benchmark = _benchmark(recipe)
    empty = Plan(recipe, benchmark.name, tuple(attempts), all_tasks=len(benchmark.task_classes), lacking=lacking)
    if best is None:
        return replace(empty, problem=attempts[-1].problem)
    attempt, tasks, texts = best
    return replace(empty, settings=attempt.settings, tasks=tasks, distinct_texts=texts)


def _benchmark(recipe: str) -> PatentBenchmark:
    return next(one for one in catalogue.benchmarks() if one.name.lower().replace("-", "_") == recipe)


def _ladder(recipe: str, share: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Settings to try, from the paper's on: waive texts that most records lack, then what suits the small sample, then the least counts."""
    small_set = recipes.find(recipe).SAMPLE
    known = {setting.name: setting.default for setting in recipes.settings(recipe) if hasattr(small_set, setting.name)}
    waived: dict[str, str] = {}
    if texts := [name for name in known.get("require", "").split(",") if name]:
        kept = [name for name in texts if share.get(name, 1.0) >= _COMMON]
        waived = {"require": ",".join(kept)} if kept != texts else {}
    sample = {name: getattr(small_set, name) for name in known if name != "require"}
    small = {name: written(value) for name, value in sample.items() if written(value) != known[name] and not _caps(name, value)}
    least = {name: "1" for name in known if name.startswith("min_") and int(known[name]) > 1 and not name.endswith("year")}
    steps: tuple[dict[str, str], ...] = ({}, waived, small | waived, small | least | waived)
    return list(dict.fromkeys(tuple(f"{name}={value}" for name, value in step.items()) for step in steps))


def _caps(name: str, value: object) -> bool:
    """Whether a setting of the sample only keeps it small: a count that is no least one."""
    return isinstance(value, int) and not isinstance(value, bool) and not name.startswith("min_")


def _dry_build(
    recipe: str, patents: Sequence[Patent], links: Sequence[Citation], settings: Sequence[str]
) -> tuple[int, tuple[TaskSize, ...], int]:
    """Queries of the headline task, the tasks that load, and how many different texts they hold."""
    with tempfile.TemporaryDirectory() as folder, _quiet():
        params = recipes.check_settings(recipe, settings)
        recipes.find(recipe).build(patents, links, Path(folder), *params)
        texts: set[int] = set()
        tasks = [size for task in _tasks_in(Path(folder), recipe) if (size := _size(task, texts))]
    if not tasks:
        raise DataError("no task can be made of its tables", remedy="look at what the build says")
    headline = _benchmark(recipe).facts.headline
    first = next((size for size in tasks if size.name == headline), tasks[0])
    return first.queries, tuple(tasks), len(texts)


def _tasks_in(root: Path, recipe: str) -> Iterator[PatentTask]:
    """The tasks of the tables that were built; those of label sets by what their files are called."""
    benchmark = _benchmark(recipe)
    for data in (data for data in benchmark.data_sets if (root / data.key).is_dir()):
        source = Source(data, "local", f"local-{content_hash(root / data.key)}", root / data.key)
        kinds = [kind for kind in benchmark.task_classes if kind.data == data]
        if benchmark.names_in is not None:
            names = benchmark.names_in(Root(root).files(data.key))
            kinds = [kind for name in names if (kind := benchmark.task_named(name))]
        yield from (kind(source=source) for kind in kinds)


def _size(task: PatentTask, texts: set[int]) -> TaskSize | None:
    """How many texts a task holds, None if its tables cannot make it; notes the different texts."""
    try:
        task.load_data()
    except DataError:
        return None
    split = (task.dataset or {})[task.source.subset][task.split]
    counts: dict[str, int] = {}
    for part, held in (getattr(split, "texts", None) or task.texts_by_role(split)).items():
        hashes = [hash(text) for text in held]
        counts[part] = len(hashes)
        texts.update(hashes)
    kind = task.metadata.type
    task.unload_data()
    return TaskSize(plain_name(task.metadata.name), kind, counts)


def _in_one_line(error: DataError) -> str:
    """What the recipe says, without the folder that is thrown away."""
    return error.problem + (f". Remedy: {error.remedy}" if error.remedy else "")


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing of what recipes and tasks tell while they are tried is the user's concern."""
    levels = {name: logging.getLogger(name).level for name in ("patent_mteb", "mteb")}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with redirect_stderr(StringIO()):
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
