"""What is in some records, and what can be made of them, before anything is built.

Which benchmarks some records can become: each recipe is run for real into a folder that is thrown away, and its
tasks are loaded.

Nothing is kept in a list of its own: whether a benchmark is possible is what its recipe does with the records, which of
its tasks are is what they say when they read its tables, and what would be needed is the recipe's ``NEEDS``.
"""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

from patent_mteb import recipes
from patent_mteb.data.loading import Source, plain_name
from patent_mteb.data.roots import Root
from patent_mteb.errors import DataError
from patent_mteb.identity import content_hash
from patent_mteb.patents.categories import strongest
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.matching import STEPS, MatchReport, match_by_all
from patent_mteb.patents.near_duplicates import near_duplicate_groups
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import cleaned_once
from patent_mteb.recipes.needs import FIELDS
from patent_mteb.recipes.parameters import written
from patent_mteb.recipes.sampling import random_key
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.benchmark import PatentBenchmark

ENOUGH = 50
"""Queries of the headline task with which an attempt is good enough; a score of fewer says little."""


_COMMON = 0.5
"""Share of the publications that must have a text for it to stay required."""


@dataclass(frozen=True)
class TaskSize:
    """One task that the records make: its name and type, and how many texts it has in each part (``query``,
    ``document``, ``test`` ...).
    """

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
        recipe: its name for ``patent-mteb data build``.
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
    """Some publications of a large set, by whole families that cite one another; all if there are no more than
    ``most``.

    The walk begins at the family that comes first by the hash of its name, and goes on there when no citation leads
    further.
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
    """What each recipe of the package makes of some records, with the paper's settings and with settings that suit
    them.
    """
    share = {name: sum(map(has, patents)) / max(len(patents), 1) for name, has in FIELDS.items()}
    share |= {
        "citations": float(bool(links)),
        "category": sum(bool(link.category) for link in links) / max(len(links), 1),
    }
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
    """Settings to try, from the paper's on: waive texts that most records lack, then what suits the small sample, then
    the least counts.
    """
    small_set = recipes.find(recipe).SAMPLE
    known = {setting.name: setting.default for setting in recipes.settings(recipe) if hasattr(small_set, setting.name)}
    waived: dict[str, str] = {}
    if texts := [name for name in known.get("require", "").split(",") if name]:
        kept = [name for name in texts if share.get(name, 1.0) >= _COMMON]
        waived = {"require": ",".join(kept)} if kept != texts else {}
    sample = {name: getattr(small_set, name) for name in known if name != "require"}
    small = {
        name: written(value)
        for name, value in sample.items()
        if written(value) != known[name] and not _caps(name, value)
    }
    least = {
        name: "1" for name in known if name.startswith("min_") and int(known[name]) > 1 and not name.endswith("year")
    }
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


EXACT_UP_TO = 3_000
"""Publications up to which benchmarks are tried on all; on more, on a connected part of so many."""


_DATES = ("application_date", "priority_date", "publication_date")


@dataclass(frozen=True)
class Has:
    """How many publications have something, and how many families of which at least one has."""

    what: str
    publications: int
    families: int


@dataclass(frozen=True)
class Landscape:
    """The labels of one landscape: publications with some, different coarse and fine labels."""

    name: str
    publications: int
    coarse: int
    fine: int


@dataclass(frozen=True)
class Twins:
    """Publications of different families with the same title and abstract: groups, publications and families in them,
    and how many of the families' citations a twin takes part in as the citing one.
    """

    groups: int
    publications: int
    families: int
    citing: int


@dataclass(frozen=True)
class Inspection:
    """What :func:`inspect` found.

    Attributes:
        family_definition: what a patent family is here.
        unreadable: publication numbers of records that are no patent numbers; they match only if written the same.
        dates: first and last day of each date.
        offices: publications by office, the most first.
        languages: publications by language of abstract, else title (``""``: not said), the most first.
        letters: citations by category letter as a search report gives it (``""``: none), the most first.
        matching: what matching by each step finds.
        step: the first step than which none links more.
        tried_on: publications on which the benchmarks were tried.
    """

    publications: int
    families: int
    family_definition: str
    citations: int
    relations: int
    members_without_record: int
    unreadable: int
    has: tuple[Has, ...]
    dates: Mapping[str, tuple[str, str]]
    offices: Mapping[str, int]
    languages: Mapping[str, int]
    landscapes: tuple[Landscape, ...]
    letters: Mapping[str, int]
    twins: Twins
    matching: Mapping[str, MatchReport]
    step: str
    plans: tuple[Plan, ...] = ()
    tried_on: int = 0

    def as_json(self) -> dict[str, Any]:
        """The same as plain values; what is computed of a plan or a task is there too."""
        document = asdict(self)
        for entry, plan in zip(document["plans"], self.plans, strict=True):
            entry |= {"possible": plan.possible, "queries": plan.queries, "few": plan.few}
            entry["tasks"] = [{**asdict(task), "queries": task.queries} for task in plan.tasks]
        return document


def letters(citations: Sequence[Citation]) -> dict[str, int]:
    """Citations by what their category says: the strongest of ``X``, ``Y``, ``A``, ``other``, or ``""`` without one."""
    return dict(Counter(_letter(citation.category) for citation in citations).most_common())


def _letter(category: str) -> str:
    if not category.strip():
        return ""
    try:
        return strongest(category) or "other"
    except ValueError:
        return "other"


def best_step(matching: Mapping[str, MatchReport]) -> str:
    """The first step than which none links more."""
    return max(STEPS, key=lambda step: (matching[step].links, -list(STEPS).index(step)))


def _has(patents: Sequence[Patent]) -> tuple[Has, ...]:
    found = []
    for name, predicate in FIELDS.items():
        having = [patent.family_id for patent in patents if predicate(patent)]
        found.append(Has(name, len(having), len(set(having))))
    coded = [patent.family_id for patent in patents if patent.cpc]
    return (*found, Has("cpc", len(coded), len(set(coded))))


def _landscapes(patents: Sequence[Patent]) -> tuple[Landscape, ...]:
    names = dict.fromkeys(label.landscape for patent in patents for label in patent.labels)
    found = []
    for name in names:
        rows = [[label for label in patent.labels if label.landscape == name] for patent in patents]
        coarse = {label.coarse for row in rows for label in row}
        fine = {(label.coarse, label.fine) for row in rows for label in row if label.fine}
        found.append(Landscape(name, sum(map(bool, rows)), len(coarse), len(fine)))
    return tuple(found)


def _dates(patents: Sequence[Patent]) -> dict[str, tuple[str, str]]:
    days = {name: [day for patent in patents if (day := getattr(patent, name))] for name in _DATES}
    return {name: (min(there).isoformat(), max(there).isoformat()) for name, there in days.items() if there}


def _twins(patents: Sequence[Patent], links: Sequence[Citation]) -> Twins:
    groups = near_duplicate_groups(patents)
    families = {patent.family_id for group in groups for patent in group}
    family_of = {patent.publication_number: patent.family_id for patent in patents}
    citing = {family_of[link.citing] for link in links}
    return Twins(len(groups), sum(map(len, groups)), len(families), len(families & citing))


def summary(collection: Collection) -> Inspection:
    """What is in the records; no benchmark is tried."""
    return _summary(collection)[0]


def _summary(collection: Collection) -> tuple[Inspection, Sequence[Citation]]:
    """What is in the records, and their citations as the best step matches them."""
    patents = collection.patents
    matched = match_by_all(collection.citations, collection)
    step = best_step({name: report for name, (_, report) in matched.items()})
    records = {patent.publication_number for patent in patents}
    spoken = Counter(patent.languages.abstract or patent.languages.title for patent in patents)
    found = Inspection(
        publications=len(patents),
        families=len({patent.family_id for patent in patents}),
        family_definition=collection.family_definition,
        citations=len(collection.citations),
        relations=len(collection.relations),
        members_without_record=sum(number not in records for number in collection.families),
        unreadable=sum(read_number(number) is None for number in records),
        has=_has(patents),
        dates=_dates(patents),
        offices=dict(Counter(patent.jurisdiction for patent in patents).most_common()),
        languages=dict(spoken.most_common()),
        landscapes=_landscapes(patents),
        letters=letters(collection.citations),
        twins=_twins(patents, matched[step][0]),
        matching={name: report for name, (_, report) in matched.items()},
        step=step,
    )
    return found, matched[step][0]


def inspect(collection: Collection, most: int = EXACT_UP_TO) -> Inspection:
    """What is in the records, and which benchmarks and tasks they make with which settings.

    Citations are matched by :attr:`Inspection.step`, which is a setting as well.
    """
    found, links = _summary(collection)
    part = connected_part(collection.patents, links, most)
    return replace(found, plans=tuple(plans(part, links)), tried_on=len(part))
