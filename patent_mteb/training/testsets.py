"""The test sets that are present: what may not be trained on.

* the test split of the data themselves;
* every data set of every registered benchmark that lies in ``PATENT_MTEB_DATA`` (own data too): queries and corpus of a retrieval
  task, rows of a label task's test table. A set that would have to be fetched from the hub is not present, and named as such; so is one
  that cannot be read.

On the sample only its own test split counts: its benchmarks are made of one invented world, so that each holds the training families
of any other. A model that was trained on the sample is measured on the test families of WIPO-AT's sample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from patent_mteb.errors import PatentMTEBError
from patent_mteb.files import read_batches
from patent_mteb.patents.views import VIEWS
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.catalogue import benchmarks, own_benchmarks
from patent_mteb.tasks.retrieval import PatentRetrieval
from patent_mteb.training.corpus import Corpus

__all__ = ["HELD_OUT", "Item", "MeasuredSet", "held_out", "present"]

HELD_OUT = "the test split of the data"

_TEXT_OF = {"q": ("q_text", "text", "text1"), "t": ("t_text", "text2"), "pos": ("pos_text",), "neg": ("neg_text",)}
"""Columns of PatenTEB's tables: id -> its text."""


@dataclass(frozen=True, slots=True)
class Item:
    """A publication (or a family, in benchmarks of families) with its text. ``family`` may be empty."""

    id: str
    family: str
    text: str


@dataclass(frozen=True)
class MeasuredSet:
    """A test set: its name, and a function that reads its items, or says that it cannot (:class:`PatentMTEBError`)."""

    name: str
    items: Callable[[], Iterator[Item]]


def held_out(corpus: Corpus, split: str = "test") -> MeasuredSet:
    """A split of a corpus as a test set.

    Example:
        >>> from patent_mteb.training.corpus import read_corpus
        >>> from patent_mteb.training.testsets import held_out
        >>> len(list(held_out(read_corpus("sample")).items()))
        139
    """

    def items() -> Iterator[Item]:
        return (Item(patent.publication_number, patent.family_id, VIEWS["TAC"](patent)) for patent in corpus.members(split))

    return MeasuredSet(HELD_OUT, items)


def present(corpus: Corpus) -> tuple[list[MeasuredSet], list[str]]:
    """The test sets that training on a corpus is checked against, and the names of those that are not present.

    Example:
        >>> from patent_mteb.training.corpus import read_corpus
        >>> from patent_mteb.training.testsets import present
        >>> found, absent = present(read_corpus("sample"))
        >>> [one.name for one in found]
        ['the test split of the data']
    """
    found = [held_out(corpus)]
    if corpus.name == "sample":
        return found, []
    absent: list[str] = []
    seen: set[tuple[str, str]] = set()
    for benchmark in (*benchmarks(), *own_benchmarks()):
        for key, kinds in _tasks_of_sets(benchmark.task_classes, benchmark.facts.headline).items():
            source = kinds[0]().source
            folder = source.folder
            if folder is None or source.kind != "local" or not folder.is_dir():
                absent.append(key)
            elif (key, str(folder)) not in seen and not (corpus.folder and folder.resolve() == corpus.folder.resolve()):
                seen.add((key, str(folder)))
                found.append(MeasuredSet(key, _reader(kinds, folder)))
    return found, sorted(set(absent))


def _tasks_of_sets(kinds: tuple[type[PatentTask], ...], headline: str) -> dict[str, list[type[PatentTask]]]:
    """The tasks of each data set of a benchmark: its headline first, then retrieval tasks, then the others."""
    chosen: dict[str, list[type[PatentTask]]] = defaultdict(list)
    for kind in sorted(kinds, key=lambda kind: (kind.metadata.name != headline, not issubclass(kind, PatentRetrieval))):
        chosen[kind.data.key].append(kind)
    return chosen


def _reader(kinds: list[type[PatentTask]], folder: Path) -> Callable[[], Iterator[Item]]:
    def items() -> Iterator[Item]:
        families = _families(folder)
        tasks = [kind() for kind in kinds]
        retrieval = [task for task in tasks if isinstance(task, PatentRetrieval)]
        rows = _of_retrieval(retrieval) if retrieval else _of_table(folder / "test" / "data.parquet")
        return (Item(key, families.get(key, key), text) for key, text in rows)

    return items


def _families(folder: Path) -> dict[str, str]:
    path = folder / "metadata.parquet"
    if not path.is_file():
        return {}
    return {row["_id"]: row["family_id"] or row["_id"] for table in read_batches(path, ["_id", "family_id"]) for row in table.to_pylist()}


def _of_retrieval(tasks: list[PatentRetrieval]) -> Iterator[tuple[str, str]]:
    """Queries and corpus of the first task that can be loaded: a data set may lack what another takes.

    Raises:
        PatentMTEBError: none can; of the first.
    """
    problems: list[PatentMTEBError] = []
    for task in tasks:
        try:
            task.load_data()
        except PatentMTEBError as error:
            problems.append(error)
            continue
        yield from task.tables.queries.items()
        yield from task.tables.corpus.items()
        task.unload_data()
        return
    raise problems[0]


def _of_table(path: Path) -> Iterator[tuple[str, str]]:
    for table in read_batches(path):
        for key, columns in _TEXT_OF.items():
            for column in columns:
                if key in table.column_names and column in table.column_names:
                    yield from zip(map(str, table[key].to_pylist()), (text or "" for text in table[column].to_pylist()), strict=True)
