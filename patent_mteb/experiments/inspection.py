"""Inspection of records before a build: their content, and the benchmarks and tasks that they support.

Each recipe builds its tables in a temporary folder, and its tasks load them. The result is therefore the same as that
of a real build. The ``NEEDS`` of a recipe name the missing fields.
"""

from __future__ import annotations

import logging
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

from patent_mteb import recipes
from patent_mteb.data.loading import Root, Source, plain_name
from patent_mteb.errors import DataError
from patent_mteb.identity import content_hash
from patent_mteb.metrics.significance import SPREAD, smallest_difference
from patent_mteb.patents.categories import strongest
from patent_mteb.patents.collection import Collection, with_families
from patent_mteb.patents.ipc import is_code
from patent_mteb.patents.matching import STEPS, MatchReport, match_by_all
from patent_mteb.patents.near_duplicates import citing_near_duplicates, near_duplicates
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.patents.text import cleaned_once
from patent_mteb.recipes.parameters import written
from patent_mteb.recipes.sampling import random_key
from patent_mteb.recipes.steps import FIELDS
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.benchmark import PRIOR_ART, PatentBenchmark

ENOUGH = 50  # number of queries of the headline task below which a score is unreliable

EXACT_UP_TO = 3_000
"""Greatest number of publications on which benchmarks are tried; of more, a connected subset is used."""

_COMMON = 0.5  # a text stays required if at least this share of the publications has it


@dataclass(frozen=True)
class TaskSize:
    """A task that the records support, with its number of texts by role."""

    name: str
    type: str
    texts: Mapping[str, int]

    @property
    def queries(self) -> int:
        """Number of queries, of test documents of a classification, or of texts."""
        return self.texts.get("query") or self.texts.get("test") or sum(self.texts.values())


@dataclass(frozen=True)
class Attempt:
    """A build with some settings: its problem, or the headline task's queries."""

    settings: tuple[str, ...]
    problem: str = ""
    queries: int = 0


@dataclass(frozen=True)
class Plan:
    """The benchmark that a recipe can make from the records.

    ``attempts`` begin with the paper's settings. ``settings``, ``tasks`` (the headline first) and ``distinct_texts``
    are those of the best one; ``problem`` says why none succeeds. ``lacking`` is the use of each field that no record
    has.
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
        """Queries of the headline task with :attr:`settings`, else rows of the first."""
        return max((attempt.queries for attempt in self.attempts if attempt.settings == self.settings), default=0)

    @property
    def few(self) -> bool:
        return self.queries < ENOUGH

    def queries_for(self, job: str) -> int:
        """Queries of the task that stands for a job of :data:`patent_mteb.tasks.benchmark.JOBS`; 0 without it."""
        task, _ = _benchmark(self.recipe).facts.jobs.get(job, ("", ""))
        return next((size.queries for size in self.tasks if size.name == task), 0)

    @property
    def smallest_difference(self) -> float | None:
        """The difference of two models that the queries show in four of five cases, if it has the spread assumed."""
        queries = self.queries_for(PRIOR_ART)
        return smallest_difference(queries, SPREAD) if queries > 1 else None


def connected_subset(patents: Sequence[Patent], links: Sequence[Citation], most: int) -> list[Patent]:
    """Return at most ``most`` publications in families that cite one another, breadth first from the first by hash."""
    if len(patents) <= most:
        return list(patents)
    family_of = {patent.publication_number: patent.family_id for patent in patents}
    sizes = Counter(family_of.values())
    neighbours = defaultdict[str, list[str]](list)
    for link in links:
        citing, cited = family_of.get(link.citing), family_of.get(link.cited)
        if citing and cited:
            neighbours[citing].append(cited)
            neighbours[cited].append(citing)
    chosen: set[str] = set()
    size = 0
    for family in _breadth_first(sorted(sizes, key=lambda family: random_key(0, family)), neighbours):
        if size + sizes[family] > most:
            break
        chosen.add(family)
        size += sizes[family]
    return [patent for patent in patents if patent.family_id in chosen]


def _breadth_first(starts: Sequence[str], neighbours: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield families breadth first, beginning with those that have neighbours."""
    seen: set[str] = set()
    for start in sorted(starts, key=lambda family: family not in neighbours):
        if start in seen:
            continue
        seen.add(start)
        queue = [start]
        for family in queue:
            yield family
            fresh = [other for other in dict.fromkeys(neighbours.get(family, ())) if other not in seen]
            seen.update(fresh)
            queue += fresh


def plans(patents: Sequence[Patent], links: Sequence[Citation]) -> Iterator[Plan]:
    """Plan each benchmark, with the paper's settings and with suitable ones."""
    share = {name: sum(map(has, patents)) / max(len(patents), 1) for name, has in FIELDS.items()}
    share["citations"] = float(bool(links))
    share["category"] = sum(bool(link.category) for link in links) / max(len(links), 1)
    with cleaned_once():
        yield from (_plan(recipe, patents, links, share) for recipe in recipes.RECIPES)


def _plan(recipe: str, patents: Sequence[Patent], links: Sequence[Citation], share: Mapping[str, float]) -> Plan:
    attempts: list[Attempt] = []
    benchmark = _benchmark(recipe)
    best: tuple[Attempt, tuple[TaskSize, ...], int] | None = None
    most = (False, 0)  # whether the headline task is there, and the queries
    for settings in _candidate_settings(recipe, share):
        try:
            tasks, texts = _dry_build(recipe, patents, links, settings)
        except DataError as error:
            remedy = f". Remedy: {error.remedy}" if error.remedy else ""  # without the path of the temporary folder
            attempts.append(Attempt(settings, f"{error.problem}{remedy}"))
            continue
        attempts.append(Attempt(settings, queries=tasks[0].queries))
        found = tasks[0].name == benchmark.facts.headline, tasks[0].queries
        if found > most:
            best, most = (attempts[-1], tasks, texts), found
        if found >= (True, ENOUGH):
            break
    lacking = {need.field: need.serves for need in recipes.needs(recipe) if not share[need.field]}
    empty = Plan(recipe, benchmark.name, tuple(attempts), all_tasks=len(benchmark.task_classes), lacking=lacking)
    if best is None:
        return replace(empty, problem=attempts[-1].problem)
    attempt, tasks, texts = best
    return replace(empty, settings=attempt.settings, tasks=tasks, distinct_texts=texts)


def _benchmark(recipe: str) -> PatentBenchmark:
    return next(one for one in catalogue.benchmarks() if one.name.lower().replace("-", "_") == recipe)


def _candidate_settings(recipe: str, share: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return the settings to try: the paper's, without texts that most records lack, the sample's, the least counts."""
    small_set = recipes.find(recipe).SAMPLE
    known = {setting.name: setting.default for setting in recipes.settings(recipe) if hasattr(small_set, setting.name)}
    waived: dict[str, str] = {}
    if texts := [name for name in known.get("require", "").split(",") if name]:
        common = [name for name in texts if share.get(name, 1.0) >= _COMMON]
        waived = {"require": ",".join(common)} if common != texts else {}
    sample = {name: getattr(small_set, name) for name in known if name != "require"}
    # an upper limit of the sample only keeps it small
    changed = {name: written(one) for name, one in sample.items() if name.startswith("min_") or type(one) is not int}
    small = {name: value for name, value in changed.items() if value != known[name]}
    least = {
        name: "1" for name in known if name.startswith("min_") and int(known[name]) > 1 and not name.endswith("year")
    }
    steps: tuple[dict[str, str], ...] = ({}, waived, small | waived, small | least | waived)
    return list(dict.fromkeys(tuple(f"{name}={value}" for name, value in step.items()) for step in steps))


def _dry_build(
    recipe: str, patents: Sequence[Patent], links: Sequence[Citation], settings: Sequence[str]
) -> tuple[tuple[TaskSize, ...], int]:
    """Build a benchmark; return its tasks, the headline first, and the number of different texts."""
    with tempfile.TemporaryDirectory() as folder, _quiet():
        params = recipes.check_settings(recipe, settings)
        recipes.find(recipe).build(patents, links, Path(folder), *params)
        texts: set[int] = set()
        tasks = [size for task in _tasks_in(Path(folder), recipe) if (size := _size(task, texts))]
    if not tasks:
        raise DataError("none of its tasks loads the tables", remedy="read the log of the build")
    headline = _benchmark(recipe).facts.headline
    tasks.sort(key=lambda size: size.name != headline)
    return tuple(tasks), len(texts)


def _tasks_in(root: Path, recipe: str) -> Iterator[PatentTask]:
    benchmark = _benchmark(recipe)
    for data in (data for data in benchmark.data_sets if (root / data.key).is_dir()):
        source = Source(data, "local", f"local-{content_hash(root / data.key)}", root / data.key)
        kinds = [kind for kind in benchmark.task_classes if kind.data == data]
        if benchmark.names_in is not None:
            names = benchmark.names_in(Root(root).files(data.key))
            kinds = [kind for name in names if (kind := benchmark.task_named(name))]
        yield from (kind(source=source) for kind in kinds)


def _size(task: PatentTask, texts: set[int]) -> TaskSize | None:
    """Count the texts of a task and add their hashes; None if it does not load."""
    try:
        task.load_data()
    except DataError:
        return None
    split = (task.dataset or {})[task.source.subset][task.split]
    counts: dict[str, int] = {}
    for role, role_texts in (getattr(split, "texts", None) or task.texts_by_role(split)).items():
        hashes = [hash(text) for text in role_texts]
        counts[role] = len(hashes)
        texts.update(hashes)
    kind = task.metadata.type
    task.unload_data()
    return TaskSize(plain_name(task.metadata.name), kind, counts)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence logs and progress bars during an attempt."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with redirect_stderr(StringIO()):
            yield
    finally:
        logging.disable(before)


@dataclass(frozen=True)
class Coverage:
    """Number of publications with a field, and of families with such a publication."""

    what: str
    publications: int
    families: int


@dataclass(frozen=True)
class Landscape:
    """Number of labelled publications of a landscape, and of its different labels."""

    name: str
    publications: int
    coarse: int
    fine: int


@dataclass(frozen=True)
class Twins:
    """Publications of different families with the same title and abstract; ``citing`` of the families cite another."""

    groups: int
    publications: int
    families: int
    citing: int


@dataclass(frozen=True)
class Inspection:
    """The result of :func:`inspect`.

    ``joined_by`` counts the recorded families that each rule of the definition ``joined`` joins to another.
    ``unreadable`` publication numbers match only if written identically, ``unreadable_codes`` are not IPC or CPC codes.
    ``dates`` are the first and last day of each field. ``offices``, ``languages`` (of the abstract, else the title) and
    ``letters`` (categories of citations) are counts, most frequent first, with ``""`` for none. ``step`` is the first
    step that links most citations. Benchmarks were tried on ``tried_on`` publications.
    """

    publications: int
    families: int
    family_definition: str
    joined_by: Mapping[str, int]
    citations: int
    relations: int
    members_without_record: int
    unreadable: int
    unreadable_codes: int
    has: tuple[Coverage, ...]
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

    def best(self, job: str) -> Plan | None:
        """Return the first benchmark with enough queries for a job, else the one with most; None without a query."""
        able = [plan for plan in self.plans if plan.queries_for(job)]
        return max(able, key=lambda plan: min(plan.queries_for(job), ENOUGH), default=None)

    def settings_of(self, plan: Plan) -> list[str]:
        """Return the settings of a build of a benchmark, as on a command line."""
        matched = [f"match={self.step}"] if self.step == "family" else []
        families = [] if self.family_definition == "joined" else [f"families={self.family_definition}"]
        return [*matched, *families, *plan.settings]

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with the properties of plans and tasks."""
        document = asdict(self)
        for entry, plan in zip(document["plans"], self.plans, strict=True):
            entry |= {"possible": plan.possible, "queries": plan.queries, "few": plan.few}
            entry |= {"smallest_difference": plan.smallest_difference}
            entry["tasks"] = [{**asdict(task), "queries": task.queries} for task in plan.tasks]
        return document


def count_categories(citations: Sequence[Citation]) -> dict[str, int]:
    """Count citations by category: ``X``, ``Y``, ``A``, ``other``, or ``""``."""
    return dict(Counter(_category(citation.category) for citation in citations).most_common())


def _category(category: str) -> str:
    if not category.strip():
        return ""
    return strongest(category) or "other"


def _has(patents: Sequence[Patent]) -> tuple[Coverage, ...]:
    found = []
    fields: dict[str, Callable[[Patent], bool]] = {**FIELDS, "cpc": lambda patent: bool(patent.cpc)}
    for name, predicate in fields.items():
        having = [patent.family_id for patent in patents if predicate(patent)]
        found.append(Coverage(name, len(having), len(set(having))))
    return tuple(found)


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
    names = ("application_date", "priority_date", "publication_date")
    days = {name: [day for patent in patents if (day := getattr(patent, name))] for name in names}
    return {name: (min(known).isoformat(), max(known).isoformat()) for name, known in days.items() if known}


def _twins(patents: Sequence[Patent], links: Sequence[Citation]) -> Twins:
    alike = near_duplicates(patents)
    citing, _ = citing_near_duplicates(alike, links, patents)
    return Twins(alike["group"].n_unique(), len(alike), alike["family"].n_unique(), citing)


def inspect(
    collection: Collection, most: int = EXACT_UP_TO, families: str = "joined", *, until: str = ""
) -> Inspection:
    """Describe the records, and plan the benchmarks that at most ``most`` of them support; 0 tries none.

    Citations are matched by :attr:`Inspection.step`, which is the value of the setting ``match``. ``families`` is the
    definition of a patent family. ``until`` is a job: the first benchmark with enough queries for it is the last tried.
    """
    joined, joined_by = with_families(collection, "joined")
    if families != collection.family_definition:
        collection = joined if families == "joined" else with_families(collection, families)[0]
    patents = collection.patents
    matched = match_by_all(collection.citations, collection)
    matching = {name: report for name, (_, report) in matched.items()}
    step = max(STEPS, key=lambda name: matching[name].links)
    records = {patent.publication_number for patent in patents}
    languages = Counter(patent.languages.abstract or patent.languages.title for patent in patents)
    links = matched[step][0]
    found = Inspection(
        publications=len(patents),
        families=len({patent.family_id for patent in patents}),
        family_definition=collection.family_definition,
        joined_by=joined_by,
        citations=len(collection.citations),
        relations=len(collection.relations),
        members_without_record=sum(number not in records for number in collection.families["number"]),
        unreadable=sum(read_number(number) is None for number in records),
        unreadable_codes=sum(not is_code(code) for patent in patents for code in (*patent.ipc, *patent.cpc)),
        has=_has(patents),
        dates=_dates(patents),
        offices=dict(Counter(patent.jurisdiction for patent in patents).most_common()),
        languages=dict(languages.most_common()),
        landscapes=_landscapes(patents),
        letters=count_categories(collection.citations),
        twins=_twins(patents, links),
        matching=matching,
        step=step,
    )
    if most <= 0:
        return found
    subset = connected_subset(patents, links, most)
    made: list[Plan] = []
    for plan in plans(subset, links):
        made.append(plan)
        if until and plan.queries_for(until) >= ENOUGH:
            break
    return replace(found, plans=tuple(made), tried_on=len(subset))
