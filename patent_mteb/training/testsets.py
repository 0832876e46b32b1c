"""The test sets that are present: what may not be trained on.

* the test split of the data themselves;
* every data set of every registered benchmark that lies in ``PATENT_MTEB_DATA`` (own data too): queries and corpus of a retrieval
  task, rows of a label task's test table. A set that would have to be fetched from the hub is not present, and named as such.

On the sample only its own test split counts: its benchmarks are made of one invented world, so that each holds the training families
of any other. A model that was trained on the sample is measured on the test families of WIPO-AT's sample.
"""

from __future__ import annotations

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
    """A test set: its name, and a function that reads its items."""

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
        for kind in _one_task_a_set(benchmark.task_classes, benchmark.facts.headline):
            task = kind()
            folder = task.source.folder
            if folder is None or task.source.kind != "local":
                absent.append(kind.data.key)
            elif (kind.data.key, str(folder)) not in seen and not (corpus.folder and folder.resolve() == corpus.folder.resolve()):
                seen.add((kind.data.key, str(folder)))
                found.append(MeasuredSet(kind.data.key, _reader(task, folder)))
    return found, sorted(set(absent))


def _one_task_a_set(kinds: tuple[type[PatentTask], ...], headline: str) -> list[type[PatentTask]]:
    """A task for each data set of a benchmark: its headline, else a retrieval task, else any."""

    def rank(kind: type[PatentTask]) -> tuple[bool, bool]:
        return kind.metadata.name == headline, issubclass(kind, PatentRetrieval)

    chosen: dict[str, type[PatentTask]] = {}
    for kind in kinds:
        best = chosen.setdefault(kind.data.key, kind)
        if rank(kind) > rank(best):
            chosen[kind.data.key] = kind
    return list(chosen.values())


def _reader(task: PatentTask, folder: Path) -> Callable[[], Iterator[Item]]:
    def items() -> Iterator[Item]:
        families = _families(folder)
        rows = _of_retrieval(task) if isinstance(task, PatentRetrieval) else _of_table(folder / "test" / "data.parquet")
        return (Item(key, families.get(key, key), text) for key, text in rows)

    return items


def _families(folder: Path) -> dict[str, str]:
    path = folder / "metadata.parquet"
    if not path.is_file():
        return {}
    return {row["_id"]: row["family_id"] or row["_id"] for table in read_batches(path, ["_id", "family_id"]) for row in table.to_pylist()}


def _of_retrieval(task: PatentRetrieval) -> Iterator[tuple[str, str]]:
    try:
        task.load_data()
    except PatentMTEBError:
        return  # a part that this data set does not have cannot be leaked
    yield from task.tables.queries.items()
    yield from task.tables.corpus.items()
    task.unload_data()


def _of_table(path: Path) -> Iterator[tuple[str, str]]:
    if not path.is_file():
        return
    for table in read_batches(path):
        for key, columns in _TEXT_OF.items():
            for column in columns:
                if key in table.column_names and column in table.column_names:
                    yield from zip(map(str, table[key].to_pylist()), (text or "" for text in table[column].to_pylist()), strict=True)
