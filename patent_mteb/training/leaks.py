"""Is anything trained on that is measured on? Every pair against every test set that is present.

A publication leaks into a test set in one of four ways; the first that holds is recorded:

* ``number``: the test set has its number, in whatever style, as the name of a file or in an address;
* ``family``: the test set has another publication of its patent family, by the family ids of both, or by the families
  that the training records know; ids that mean "unknown" (``0``, ``-1``, ``None``) join nothing;
* ``application``: the test set has another publication of its application (same office and serial, another kind code);
* ``text``: the test set has its title and abstract, its first claim or its whole text, reworded or not
  (:mod:`patent_mteb.training.leaks`); the field is recorded.

Near-duplicate texts by the rare shingles they share; a shingle is a run of two words.

Three rules decide whether one text repeats another:

* **Spelling.** :func:`normal_form` gives all spellings of a text one form: compatibility forms, case, accents, umlauts,
  letters of other scripts that look Latin, markup, invisible characters, words hyphenated at a line break. Where a
  script has no blanks, overlapping pieces of three characters replace words, so that a shingle has four characters.
* **Rarity.** Function words, the formulas of claims and numbers (of claims, of reference signs) are dropped before
  shingles are formed (:data:`BOILERPLATE`). A shingle that many patent families share identifies none of them and does
  not count. Many are more than :data:`COMMON`, or than the square root of the number of families, whichever is greater;
  families of the indexed texts and of the training texts are counted separately.
* **Share.** Of the ``n`` rare shingles of the text with fewer, at least ``LEAST + 1/sqrt(n)`` must occur in the other
  one: the fewer there are, the more must be shared. A text of fewer than :data:`FEWEST` shingles must be equal, word by
  word.

Each field (:data:`FIELDS`) is compared with the same field of the other text. A field that one side lacks is compared
with its whole text. Every shingle of a text counts, and nothing is estimated beyond hashing shingles to 32 bits. A
look-up reads the entries of rare shingles only, so its cost hardly depends on the size of the index
(``benchmarks/leaks.py``).

The test sets that are present: what may not be trained on.

* the test split of the data themselves;
* every data set of every registered benchmark that lies in ``PATENT_MTEB_DATA`` (own data too): queries and corpus of a
  retrieval task, rows of a label task's test table. A set that would have to be fetched from the hub is not present,
  and named as such; so is one that cannot be read.

On the sample only its own test split counts: its benchmarks are made of one invented world, so that each holds the
training families of any other. A model that was trained on the sample is measured on the test families of WIPO-AT's
sample.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from math import ceil, isqrt, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.files import read_batches
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.records import Patent
from patent_mteb.patents.text import plain_lines
from patent_mteb.patents.views import VIEWS
from patent_mteb.readers.columns import EMPTY
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.catalogue import benchmarks, own_benchmarks
from patent_mteb.tasks.retrieval import PatentRetrieval
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import Pair, read_pairs, write_pairs

WIDTH = 2

FEWEST = 8

COMMON = 20

FIELDS = ("title and abstract", "first claim", "whole text")

LEAST = (0.6, 0.6, 0.5)
"""Least share by field, before ``1/sqrt(n)`` is added. Of 1,813 US applications no two without a common inventor reach
more than 0.36 (0.27 for whole texts); families of the sample, whose texts a grammar composes, reach 0.54 (0.45)."""


_WHOLE = len(FIELDS) - 1

_COMPARED = tuple((mine, its) for mine in (2, 0, 1) for its in (2, 0, 1) if mine == its or _WHOLE in (mine, its))
"""Fields that are compared: the same ones, and any with the whole text of a side that lacks it."""

_BITS = np.uint32(len(FIELDS))

_FEWEST_SHARED = ceil(FEWEST * min(LEAST) + sqrt(FEWEST))

_SHORTEST = 5
"""Words of the shortest text that is compared: a title such as "Display device" identifies no patent."""


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"  # kana, Han, Hangul
)

_CHARACTERS = re.compile(f"[{_UNSPACED}]")

_GAP = re.compile(rf"(?<=[{_UNSPACED}])\W+(?=[{_UNSPACED}])")

_WORD = re.compile(r"\w+")

_WORD_OR_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")

_LINE_BREAK_HYPHEN = re.compile(r"[-\u00ad\u2010\u2011](?<=[^\W\d_].)\s+(?=[^\W\d_])")

_MARKS = re.compile("[\u0300-\u036f\u061c\ufe00-\ufe0f]")

# In every word, not only in Latin ones: Cyrillic and Greek texts change alike on both sides.
_LATIN = dict(zip("авеѕіјкмнорстухһԁԛԝαεικνορτυχæøœđłı", "abesijkmhopctyxhdqwaeikvoptuxaoodli", strict=True))

_LOOKS_LATIN = re.compile(f"[{''.join(_LATIN)}]")

_FORMULAS = re.compile(
    "其特征在于|根据权利要求|如权利要求|所述的?|一种|"  # Chinese, Japanese, Korean
    "請求項|請求の範囲|に記載の|を特徴とする|前記|"
    "청구항|있어서|특징으로|상기"
)

_FACTOR = np.uint64(0x9E3779B97F4A7C15)

_BUCKET = 8
"""Entries that are read to find a shingle; a binary search waits for the memory at each of its steps."""


def normal_form(text: str) -> str:
    """Return one form for all spellings of a text, for comparisons."""
    text = " ".join(plain_lines(_LINE_BREAK_HYPHEN.sub("", text)))
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
        text = unicodedata.normalize("NFC", text).casefold()
        text = _LOOKS_LATIN.sub(lambda letter: _LATIN[letter[0]], text)
        if _CHARACTERS.search(text):
            text = _GAP.sub("", _FORMULAS.sub("", text))
    return text.casefold().replace("ae", "a").replace("oe", "o").replace("ue", "u")


BOILERPLATE = frozenset(
    normal_form("""
        a an the said this that these those such each every any some all both either same other another one two three
        first second third least more most and or nor not but if when while then thus so as than in into on onto of off
        to from for with within without by at between among under over through via thereby therein thereof thereto
        wherein whereby where which who whose what its it their they is are was were be been being has have having had
        can may could would should will shall must do does done no yes also further preferably
        comprise comprises comprising comprised include includes including included contain contains containing consist
        consists consisting characterized characterised claim claims claimed according method process system apparatus
        device plurality respectively corresponding present invention disclosure embodiment embodiments aspect provide
        provides provided providing relates configured arranged adapted
        abstract description document title summary available details please see sep
        computer implemented processor processors memory storage storing stored medium media readable non transitory
        instructions executed execute program product cause causes perform performs performing
        der die das dem den des ein eine einer eines einem und oder mit von zu zum zur im in nach bei auf aus für ist
        sind wird werden wobei dadurch gekennzeichnet dass anspruch ansprüche ansprüchen umfassend umfasst aufweist
        verfahren vorrichtung gemäß insbesondere
        le la les un une des du de et ou en au aux dans par pour avec sur est sont qui que dont selon revendication
        revendications caractérisé caractérisée procédé dispositif comprenant comprend ladite ledit
        """).split()
)
"""Words that do not count: function words, the wording of claims in English, German and French, placeholders of
texts."""


@lru_cache(maxsize=1 << 18)
def _hashed(word: str) -> int:
    """A number above 0 for a word that counts, 0 for one that does not."""
    if word in BOILERPLATE or word.isdigit() or word[:-1].isdigit():
        return 0
    return int(xxhash.xxh64_intdigest(word.encode("utf-8", "surrogatepass"))) | 1


def _words(text: str) -> list[str]:
    """The words of a normal form; overlapping pieces of three characters where a script has no blanks."""
    if not _CHARACTERS.search(text):
        return _WORD.findall(text)
    found = _WORD_OR_RUN.findall(text)
    return [piece for run in found for piece in (_pieces(run) if _CHARACTERS.match(run) else (run,))]


def _pieces(run: str) -> list[str]:
    return [run[start : start + 3] for start in range(max(1, len(run) - 2))]


def shingles(text: str) -> NDArray[np.uint32]:
    """[n] the distinct shingles of a text as numbers, sorted; of a short text a digest of all its words."""
    words = _words(normal_form(text))
    hashed = np.fromiter(map(_hashed, words), np.uint64, len(words))
    hashed = hashed[hashed > 0]
    if len(words) < _SHORTEST or not len(hashed):
        return np.zeros(0, np.uint32)
    runs = np.zeros(max(0, len(hashed) - WIDTH + 1), np.uint64)
    with np.errstate(over="ignore"):
        for place in range(WIDTH):
            runs = runs * _FACTOR + hashed[place : place + len(runs)]
    found = np.unique((runs >> np.uint64(32)).astype(np.uint32))
    if len(found) < FEWEST:
        digest = xxhash.xxh64_digest(" ".join(words).encode("utf-8", "surrogatepass"))
        return np.unique(np.frombuffer(digest, np.uint32))
    return found


@dataclass(frozen=True, slots=True)
class Shingled:
    """The shingles of a publication's fields.

    Attributes:
        keys: [n] sorted, distinct.
        fields: [n] the fields that have each, as bits in the order of :data:`FIELDS`.
    """

    keys: NDArray[np.uint32]
    fields: NDArray[np.uint8]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Shingled:
        """The shingles of the texts of :data:`FIELDS`; empty where one is unknown."""
        parts = [shingles(text) for text in texts]
        keys = np.unique(np.concatenate(parts))
        fields = np.zeros(len(keys), np.uint8)
        for bit, part in enumerate(parts):
            fields[np.searchsorted(keys, part)] |= np.uint8(1 << bit)
        return cls(keys, fields)

    def without(self, common: NDArray[np.uint32]) -> Shingled:
        """The shingles that are not among those of a sorted array."""
        if not len(common):
            return self
        places = np.minimum(np.searchsorted(common, self.keys), len(common) - 1)
        rare = common[places] != self.keys
        return Shingled(self.keys[rare], self.fields[rare])

    def sizes(self) -> NDArray[np.int64]:
        """[fields] the number of shingles of each field."""
        return np.array([np.count_nonzero(self.fields & (1 << field)) for field in range(len(FIELDS))])


def common_shingles(owned: Iterable[tuple[Shingled, str]]) -> NDArray[np.uint32]:
    """[n] the shingles that many families share, sorted."""
    numbers: dict[str, int] = {}
    parts = [_packed(one.keys, numbers.setdefault(family, len(numbers))) for one, family in owned]
    return _common(*_unpacked(parts), len(numbers))


def _packed(keys: NDArray[np.uint32], low: int | NDArray[np.uint32]) -> NDArray[np.uint64]:
    return keys.astype(np.uint64) << np.uint64(32) | np.asarray(low, np.uint64)


def _unpacked(parts: list[NDArray[np.uint64]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Both halves of all numbers in ascending order; the list is emptied to free its memory."""
    packed = np.concatenate([np.zeros(0, np.uint64), *parts])
    parts.clear()
    packed.sort()
    return (packed >> np.uint64(32)).astype(np.uint32), packed.astype(np.uint32)


def _common(keys: NDArray[np.uint32], families: NDArray[np.uint32], number: int) -> NDArray[np.uint32]:
    """The sorted keys that occur with too many of ``number`` families."""
    most = max(COMMON, isqrt(number))
    often = keys[most:][keys[most:] == keys[: max(0, len(keys) - most)]]
    candidates = np.isin(keys, often)
    distinct = np.unique(_packed(keys[candidates], families[candidates]))
    found, counts = np.unique((distinct >> np.uint64(32)).astype(np.uint32), return_counts=True)
    return found[counts > most]


@dataclass(frozen=True, slots=True)
class Match:
    """An indexed publication that another text repeats: its id, the share of the shingles, and the field that has
    them.
    """

    id: str
    share: float
    field: str


class ShingleIndex:
    """The rare shingles of publications, to find the one that another text repeats."""

    def __init__(self, items: Iterable[tuple[str, str, Shingled]], common: NDArray[np.uint32] | None = None) -> None:
        self._ids: list[str] = []
        numbers: dict[str, int] = {}
        families: list[int] = []
        sizes: list[NDArray[np.int64]] = []
        parts: list[NDArray[np.uint64]] = []
        for owner, (key, family, one) in enumerate(items):
            self._ids.append(key)
            families.append(numbers.setdefault(family, len(numbers)))
            sizes.append(one.sizes())
            parts.append(_packed(one.keys, np.uint32(owner << len(FIELDS)) | one.fields.astype(np.uint32)))
        keys, entries = _unpacked(parts)
        own = _common(keys, np.array(families, np.uint32)[entries >> _BITS], len(numbers))
        self._common = own if common is None else np.union1d(own, common)
        rare = ~np.isin(keys, self._common)
        self._keys, self._entries = keys[rare], entries[rare]
        bits = max(1, (len(self._keys) // _BUCKET).bit_length())
        self._shift = np.uint32(32 - bits)
        starts = np.searchsorted(self._keys, np.arange(1 << bits, dtype=np.uint32) << self._shift)
        self._starts = np.append(starts, len(self._keys))
        self._sizes = np.array(sizes, np.int32).reshape(-1, len(FIELDS))
        self._rare = np.stack([self._counted(field) for field in range(len(FIELDS))], axis=1)

    def _counted(self, field: int) -> NDArray[np.int32]:
        owners = self._entries[self._entries >> np.uint32(field) & 1 > 0] >> _BITS
        return np.bincount(owners, minlength=len(self._ids)).astype(np.int32)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, without the ids."""
        return sum(one.nbytes for one in (self._keys, self._entries, self._starts, self._sizes, self._rare))

    def _entries_of(self, asked: Shingled) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """[m] the entries of the asked shingles, and [m] the fields that have these there."""
        buckets = asked.keys >> self._shift
        starts = self._starts[buckets]
        lengths = self._starts[buckets + np.uint32(1)] - starts
        places = np.repeat(starts + lengths - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        number = np.repeat(np.arange(len(asked.keys)), lengths)
        same = self._keys[places] == asked.keys[number]
        return self._entries[places[same]], asked.fields[number[same]]

    def match(self, asked: Shingled) -> Match | None:
        """The indexed publication that shares most with another one; None if none shares enough."""
        there = asked.sizes()
        asked = asked.without(self._common)
        rare = asked.sizes()
        entries, fields = self._entries_of(asked)
        owners = entries >> _BITS
        least = max(1, min(_FEWEST_SHARED, there[_WHOLE]))
        ordered = np.sort(owners)
        last = ordered[least - 1 :]
        likely = np.unique(last[last == ordered[: len(last)]])
        if not len(likely):
            return None
        nearest = np.minimum(np.searchsorted(likely, owners), len(likely) - 1)
        of_likely = likely[nearest] == owners
        entries, fields, owners = entries[of_likely], fields[of_likely], nearest[of_likely]
        best, found = 0.0, (0, 0)
        for mine, its in _COMPARED:
            if mine > its and there[its]:
                continue
            narrow = min(mine, its)
            both = (fields >> mine) & (entries >> its) & 1 > 0
            shared = np.bincount(owners[both], minlength=len(likely))
            fewer = np.minimum(self._rare[likely, its], rare[mine])
            alike = (fewer >= FEWEST) & (shared >= fewer * LEAST[narrow] + np.sqrt(fewer))
            if mine < its:
                alike &= self._sizes[likely, mine] == 0
            elif mine == _WHOLE and there[mine] < FEWEST:
                alike |= shared == there[mine]
            shares = np.where(alike, shared / np.maximum(fewer, 1), 0)
            place = int(shares.argmax())
            if shares[place] > best:
                best, found = float(shares[place]), (int(likely[place]), narrow)
        return Match(self._ids[found[0]], best, FIELDS[found[1]]) if best else None


HELD_OUT = "the test split of the data"


_TEXT_OF = {"q": ("q_text", "text", "text1"), "t": ("t_text", "text2"), "pos": ("pos_text",), "neg": ("neg_text",)}
"""Columns of PatenTEB's tables: id -> its text."""


@dataclass(frozen=True, slots=True)
class Item:
    """A publication (or a family, in benchmarks of families) with its texts.

    Attributes:
        family: may be empty.
        text: all that is known of title, abstract and claims.
        title_abstract: empty where the data do not keep it apart.
        claim: the first independent one; empty likewise.
    """

    id: str
    family: str
    text: str
    title_abstract: str = ""
    claim: str = ""

    @classmethod
    def of(cls, patent: Patent) -> Item:
        """The item of a record."""
        texts = (VIEWS[view](patent) for view in ("TAC", "TA", "Claim1"))
        return cls(patent.publication_number, patent.family_id, *texts)


@dataclass(frozen=True)
class MeasuredSet:
    """A test set: its name, and a function that reads its items, or says that it cannot (:class:`PatentMTEBError`)."""

    name: str
    items: Callable[[], Iterator[Item]]


def held_out(corpus: Corpus, split: str = "test") -> MeasuredSet:
    """A split of a corpus as a test set."""

    def items() -> Iterator[Item]:
        return map(Item.of, corpus.members(split))

    return MeasuredSet(HELD_OUT, items)


def present(corpus: Corpus) -> tuple[list[MeasuredSet], list[str]]:
    """The test sets that training on a corpus is checked against, and the names of those that are not present."""
    found = [held_out(corpus)]
    if corpus.is_sample:
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
    return {
        row["_id"]: row["family_id"] or row["_id"]
        for table in read_batches(path, ["_id", "family_id"])
        for row in table.to_pylist()
    }


def _of_retrieval(tasks: list[PatentRetrieval]) -> Iterator[tuple[str, str]]:
    """Queries and corpus of the first task that can be loaded: a data set may lack what another takes."""
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
                    yield from zip(
                        map(str, table[key].to_pylist()),
                        (text or "" for text in table[column].to_pylist()),
                        strict=True,
                    )


WAYS = ("number", "family", "application", "text")

_EXAMPLES = 5

_UNKNOWN = {text.casefold() for text in EMPTY} | {"-1"}


@dataclass(frozen=True, slots=True)
class Leak:
    """A publication of the training data that a test set has; if found by its text, the share of shingles and the
    field.
    """

    publication: str
    test_set: str
    found: str
    way: str
    share: float = 1.0
    field: str = ""


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
        fields: those of the way ``text`` by test set and field.
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
    fields: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def contamination(self) -> str:
        """The record in a phrase: what the report shows in the model's column."""
        others = {"unreadable": len(self.unreadable), "absent": len(self.absent)}
        checked = ", ".join(
            [
                f"{len(self.checked)} test sets checked",
                *(f"{number} {word}" for word, number in others.items() if number),
            ]
        )
        if not self.leaking:
            return f"none found ({checked})"
        told = "; ".join(f"{name}: {sum(ways.values())} publications" for name, ways in self.ways.items())
        return f"{self.leaking} of {self.pairs} pairs {'removed' if self.dropped else 'leak'} ({told}; {checked})"


_WITHIN = re.compile(r"(?:^|[/\\=]|%3D)([A-Z]{2,4}\d{5,14}[A-Z]?\d?)(?=[./?#&]|$)", re.IGNORECASE)
"""A number without separators in an address or as the name of a file."""


def _number(text: str) -> tuple[str, str]:
    """The normal form of a number, and its application's part; the text itself where it cannot be read."""
    number = read_number(text)
    if number is None and (within := _WITHIN.search(text.strip())):
        number = read_number(within[1])
    return (number.docdb, number.key) if number else (text.strip(), "")


def _family(text: str) -> str:
    """A family id without blanks and without the ``.0`` of a float; empty if it means that the family is unknown."""
    family = re.sub(r"(?<=\d)\.0+$", "", text.strip())
    return "" if family.casefold() in _UNKNOWN or not family.strip("0") else family


@dataclass(frozen=True, slots=True)
class Trained:
    """A publication that is trained on, in the forms in which it is looked for."""

    id: str
    family: str
    number: str
    application: str
    shingles: Shingled


def _shingled(item: Item) -> Shingled:
    return Shingled.of((item.title_abstract, item.claim, item.text))


def examined(items: Iterable[Item]) -> list[Trained]:
    """Items in the forms in which they are looked for, worked out once for all test sets."""
    return [Trained(item.id, _family(item.family), *_number(item.id), _shingled(item)) for item in items]


def by_normal_number(families: Mapping[str, str]) -> dict[str, str]:
    """Families by number, as records write them, by its normal form."""
    return {_number(number)[0]: known for number, family in families.items() if (known := _family(family))}


def find_leaks(
    trained: Iterable[Trained],
    test_set: MeasuredSet,
    families: Mapping[str, str],
    common: NDArray[np.uint32] | None = None,
) -> tuple[dict[str, Leak], int]:
    """The publications that leak into a test set, by id, and the number of the test set's items."""
    numbers: dict[str, str] = {}
    applications: dict[str, str] = {}
    homes: dict[str, str] = {}
    count = 0

    def texts() -> Iterator[tuple[str, str, Shingled]]:
        nonlocal count
        for item in test_set.items():
            count += 1
            number, application = _number(item.id)
            numbers.setdefault(number, item.id)
            if application:
                applications.setdefault(application, item.id)
            own = [family for family in (_family(item.family), families.get(number, "")) if family]
            for family in own:
                homes.setdefault(family, item.id)
            yield item.id, next(iter(own), number), _shingled(item)

    index = ShingleIndex(texts(), common)
    leaks: dict[str, Leak] = {}
    for one in trained:
        found = {
            "number": numbers.get(one.number),
            "family": homes.get(one.family),
            "application": applications.get(one.application),
        }
        way = next((way for way, place in found.items() if place is not None), "")
        if way:
            leaks[one.id] = Leak(one.id, test_set.name, found[way] or "", way)
        elif like := index.match(one.shingles):
            leaks[one.id] = Leak(one.id, test_set.name, like.id, "text", round(like.share, 3), like.field)
    return leaks, count


def items_of(paths: Iterable[Path], texts: Callable[[str], Item | None]) -> Iterator[Item]:
    """The distinct publications of tables of pairs, with the texts that are compared."""
    found: set[str] = set()
    for path in paths:
        for pair in read_pairs(path):
            for key, family, text in _ends(pair):
                if key not in found:
                    found.add(key)
                    yield replace(texts(key) or Item(key, "", text), family=family)


def _ends(pair: Pair) -> list[tuple[str, str, str]]:
    ends = [(pair.anchor_id, pair.anchor_family, pair.anchor), (pair.positive_id, pair.positive_family, pair.positive)]
    return [end for end in (*ends, (pair.negative_id, pair.negative_family, pair.negative)) if end[0]]


def check_pairs(
    paths: Sequence[Path],
    corpus: Corpus,
    drop: bool,
    test_sets: Sequence[MeasuredSet] | None = None,
    texts: Callable[[str], Item | None] | None = None,
    absent: Sequence[str] = (),
) -> LeakRecord:
    """Check tables of pairs; with ``drop`` the pairs that leak are removed from the tables."""
    found, missing = (list(test_sets), list(absent)) if test_sets is not None else present(corpus)
    patents = {patent.publication_number: patent for patent in corpus.patents}
    trained = examined(items_of(paths, texts or (lambda key: Item.of(patents[key]) if key in patents else None)))
    common = common_shingles((one.shingles, one.family or one.number) for one in trained)
    families = by_normal_number(corpus.families)
    checked: dict[str, int] = {}
    unreadable: dict[str, str] = {}
    leaking: dict[str, list[Leak]] = {}
    for test_set in found:
        known = checked.keys() | unreadable.keys()
        name = test_set.name if test_set.name not in known else f"{test_set.name} ({len(known)})"
        try:
            leaks, checked[name] = find_leaks(trained, test_set, families, common)
        except PatentMTEBError as error:
            unreadable[name] = str(error)
            continue
        for key, leak in leaks.items():
            leaking.setdefault(key, []).append(leak)
    ways: dict[str, Counter[str]] = {}
    fields: dict[str, Counter[str]] = {}
    for leaks_of in leaking.values():
        for leak in leaks_of:
            ways.setdefault(leak.test_set, Counter())[leak.way] += 1
            if leak.field:
                fields.setdefault(leak.test_set, Counter())[leak.field] += 1
    total = bad = 0
    for path in paths:
        for pair in read_pairs(path):
            total += 1
            bad += any(key in leaking for key, _, _ in _ends(pair))
    examples = [asdict(leak) for leaks_of in list(leaking.values())[:_EXAMPLES] for leak in leaks_of[:1]]
    by_way, by_field = ({name: dict(counts) for name, counts in counted.items()} for counted in (ways, fields))
    record = LeakRecord(
        checked, missing, len(trained), total, bad, by_way, examples, bool(drop and bad), unreadable, by_field
    )
    if bad and not drop:
        raise DataError(_message(record), remedy="--drop-leaks removes and counts these pairs")
    if bad:
        for path in paths:
            write_pairs(
                path, (pair for pair in read_pairs(path) if not any(key in leaking for key, _, _ in _ends(pair)))
            )
    return record


def _message(record: LeakRecord) -> str:
    by_set = "; ".join(
        f"{name}: " + ", ".join(f"{number} by {way}" for way, number in ways.items())
        for name, ways in record.ways.items()
    )
    shown = ", ".join(
        f"{one['publication']} is {one['found']} ({one['field'] or one['way']})" for one in record.examples
    )
    return f"{record.leaking} of {record.pairs} pairs leak into test sets ({by_set}); {shown}"
