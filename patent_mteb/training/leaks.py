"""Is anything trained on that is measured on? Every pair against every test set that is present.

A publication leaks into a test set in one of four ways, of which the first that holds is told:

* ``number``: it stands there, under its number in whatever style;
* ``family``: another publication of its patent family does, by the family ids of both, or by the families that the training records know;
* ``application``: another publication of its application does (same office and serial, another kind code);
* ``text``: a publication there has its title, abstract and claims, reworded or not (:mod:`patent_mteb.training.shingles`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.views import VIEWS
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import Pair, read_pairs, write_pairs
from patent_mteb.training.shingles import ShingleIndex, shingles
from patent_mteb.training.testsets import Item, MeasuredSet, present

__all__ = ["WAYS", "Leak", "LeakRecord", "Trained", "by_normal_number", "check_pairs", "examined", "find_leaks", "items_of"]

WAYS = ("number", "family", "application", "text")
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Leak:
    """A publication that is trained on and stands in a test set; ``share`` of its shingles where it was found by its text."""

    publication: str
    test_set: str
    found: str
    way: str
    share: float = 1.0


@dataclass(frozen=True)
class LeakRecord:
    """What the check found; stored with the checkpoint.

    Attributes:
        checked: items of each test set.
        absent: registered test sets that are not on this machine.
        unreadable: test sets that are on it and cannot be read, with the reason; nothing was checked against them.
        publications: distinct publications that were checked.
        pairs: pairs that were checked; leaking: those with a publication that leaks.
        ways: leaking publications by test set and way.
        examples: the first leaks.
        dropped: whether the leaking pairs were removed.
    """

    checked: Mapping[str, int]
    absent: Sequence[str]
    publications: int
    pairs: int
    leaking: int
    ways: Mapping[str, Mapping[str, int]]
    examples: Sequence[Mapping[str, Any]]
    dropped: bool
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @property
    def contamination(self) -> str:
        """The record in a phrase: what the report shows in the model's column."""
        others = {"unreadable": len(self.unreadable), "absent": len(self.absent)}
        checked = ", ".join([f"{len(self.checked)} test sets checked", *(f"{number} {word}" for word, number in others.items() if number)])
        if not self.leaking:
            return f"none found ({checked})"
        told = "; ".join(f"{name}: {sum(ways.values())} publications" for name, ways in self.ways.items())
        return f"{self.leaking} of {self.pairs} pairs {'removed' if self.dropped else 'leak'} ({told}; {checked})"


def _number(text: str) -> tuple[str, str]:
    """The normal form of a number, and its application's part; the text itself where it is no number."""
    number = read_number(text)
    return (number.docdb, number.key) if number else (text.strip(), "")


@dataclass(frozen=True, slots=True)
class Trained:
    """A publication that is trained on, in the forms in which it is looked for."""

    id: str
    family: str
    number: str
    application: str
    shingles: NDArray[np.uint64]


def examined(items: Iterable[Item]) -> list[Trained]:
    """Items in the forms in which they are looked for, worked out once for all test sets.

    Example:
        >>> from patent_mteb.training.leaks import examined
        >>> from patent_mteb.training.testsets import Item
        >>> examined([Item("US 2019/0123456 A1", "F9", "A pump.")])[0].number
        'US2019123456A1'
    """
    return [Trained(item.id, item.family, *_number(item.id), shingles(item.text)) for item in items]


def by_normal_number(families: Mapping[str, str]) -> dict[str, str]:
    """Families by number, as records write them, by its normal form.

    Example:
        >>> from patent_mteb.training.leaks import by_normal_number
        >>> by_normal_number({"US 2019/0123456 A1": "F1"})
        {'US2019123456A1': 'F1'}
    """
    return {_number(number)[0]: family for number, family in families.items()}


def find_leaks(trained: Iterable[Trained], test_set: MeasuredSet, families: Mapping[str, str]) -> tuple[dict[str, Leak], int]:
    """The publications that leak into a test set, by id, and the number of the test set's items.

    Args:
        families: family by publication number in its normal form, as the training records know it, publications without a record too.

    Raises:
        PatentMTEBError: the test set cannot be read.

    Example:
        >>> from patent_mteb.training.leaks import examined, find_leaks
        >>> from patent_mteb.training.testsets import Item, MeasuredSet
        >>> test = MeasuredSet("mine", lambda: iter([Item("US 2019/0123456 A1", "F9", "A pump.")]))
        >>> trained = examined([Item("US2019123456B2", "F1", "A valve."), Item("EP1A1", "F9", "A seal.")])
        >>> [(leak.publication, leak.way) for leak in find_leaks(trained, test, {})[0].values()]
        [('US2019123456B2', 'application'), ('EP1A1', 'family')]
    """
    numbers: dict[str, str] = {}
    applications: dict[str, str] = {}
    homes: dict[str, str] = {}
    count = 0

    def texts() -> Iterator[tuple[str, str]]:
        nonlocal count
        for item in test_set.items():
            count += 1
            number, application = _number(item.id)
            numbers.setdefault(number, item.id)
            if application:
                applications.setdefault(application, item.id)
            for family in (item.family, families.get(number, "")):
                if family:
                    homes.setdefault(family, item.id)
            yield item.id, item.text

    index = ShingleIndex(texts())
    leaks: dict[str, Leak] = {}
    for one in trained:
        found = {"number": numbers.get(one.number), "family": homes.get(one.family), "application": applications.get(one.application)}
        way = next((way for way, place in found.items() if place is not None), "")
        if way:
            leaks[one.id] = Leak(one.id, test_set.name, found[way] or "", way)
        elif like := index.sharing(one.shingles):
            leaks[one.id] = Leak(one.id, test_set.name, like[0], "text", round(like[1], 3))
    return leaks, count


def items_of(paths: Iterable[Path], texts: Mapping[str, str]) -> list[Item]:
    """The distinct publications of tables of pairs, with the text that is compared: the one that is known under their id, that of the
    pair where there is none.

    Example:
        >>> from pathlib import Path
        >>> from patent_mteb.training.leaks import items_of
        >>> from patent_mteb.training.pairs import Pair, write_pairs
        >>> number = write_pairs(Path("pairs.parquet"), [Pair("a pump", "a rotor", "X1", "X1", "F1", "F1", "mine")])
        >>> items_of([Path("pairs.parquet")], {})
        [Item(id='X1', family='F1', text='a pump')]
    """
    found: dict[str, Item] = {}
    for path in paths:
        for pair in read_pairs(path):
            for key, family, text in _ends(pair):
                if key not in found:
                    found[key] = Item(key, family, texts.get(key, text))
    return list(found.values())


def _ends(pair: Pair) -> list[tuple[str, str, str]]:
    ends = [(pair.anchor_id, pair.anchor_family, pair.anchor), (pair.positive_id, pair.positive_family, pair.positive)]
    return [end for end in (*ends, (pair.negative_id, pair.negative_family, pair.negative)) if end[0]]


def check_pairs(
    paths: Sequence[Path],
    corpus: Corpus,
    drop: bool,
    test_sets: Sequence[MeasuredSet] | None = None,
    texts: Mapping[str, str] | None = None,
    absent: Sequence[str] = (),
) -> LeakRecord:
    """Check tables of pairs; with ``drop`` the pairs that leak are removed from the tables.

    Args:
        test_sets: what to check against; those that are present if None.
        texts: by id, what is compared; title, abstract and claims of the corpus if None.
        absent: with ``test_sets``, the names of those that are not present.

    Raises:
        DataError: pairs leak and are not to be dropped; gives counts and examples.

    Example:
        >>> from collections import Counter
        >>> from pathlib import Path
        >>> from patent_mteb.training.corpus import read_corpus
        >>> from patent_mteb.training.leaks import check_pairs
        >>> from patent_mteb.training.pairs import abstract_and_claim, write_pairs
        >>> corpus = read_corpus("sample")
        >>> number = write_pairs(Path("pairs.parquet"), abstract_and_claim(corpus, "train", Counter()))
        >>> check_pairs([Path("pairs.parquet")], corpus, drop=False).contamination
        'none found (1 test sets checked)'
    """
    found, missing = (list(test_sets), list(absent)) if test_sets is not None else present(corpus)
    if texts is None:
        texts = {patent.publication_number: VIEWS["TAC"](patent) for patent in corpus.patents}
    trained = examined(items_of(paths, texts))
    families = by_normal_number(corpus.families)
    checked: dict[str, int] = {}
    unreadable: dict[str, str] = {}
    leaking: dict[str, list[Leak]] = {}
    for test_set in found:
        known = checked.keys() | unreadable.keys()
        name = test_set.name if test_set.name not in known else f"{test_set.name} ({len(known)})"
        try:
            leaks, checked[name] = find_leaks(trained, test_set, families)
        except PatentMTEBError as error:
            unreadable[name] = str(error)
            continue
        for key, leak in leaks.items():
            leaking.setdefault(key, []).append(leak)
    ways: dict[str, Counter[str]] = {}
    for leaks_of in leaking.values():
        for leak in leaks_of:
            ways.setdefault(leak.test_set, Counter())[leak.way] += 1
    total = bad = 0
    for path in paths:
        for pair in read_pairs(path):
            total += 1
            bad += any(key in leaking for key, _, _ in _ends(pair))
    examples = [asdict(leak) for leaks_of in list(leaking.values())[:_EXAMPLES] for leak in leaks_of[:1]]
    told = {name: dict(counts) for name, counts in ways.items()}
    record = LeakRecord(checked, missing, len(trained), total, bad, told, examples, bool(drop and bad), unreadable)
    if bad and not drop:
        raise DataError(_message(record), remedy="--drop-leaks removes and counts these pairs")
    if bad:
        for path in paths:
            write_pairs(path, (pair for pair in read_pairs(path) if not any(key in leaking for key, _, _ in _ends(pair))))
    return record


def _message(record: LeakRecord) -> str:
    by_set = "; ".join(f"{name}: " + ", ".join(f"{number} by {way}" for way, number in ways.items()) for name, ways in record.ways.items())
    shown = ", ".join(f"{one['publication']} is {one['found']} ({one['way']})" for one in record.examples)
    return f"{record.leaking} of {record.pairs} pairs leak into test sets ({by_set}); {shown}"
