"""Leak check: find training publications in every test set on this machine.

A publication leaks by its number, its patent family, its application (another kind code), or its text: the first that
applies is recorded. Test sets are the test split of the training data, and every dataset of a registered benchmark in
``PATENT_MTEB_DATA``, including own data. For the sample only its own test split counts: all its benchmarks share the
same invented families.

**Near-duplicates** share rare shingles. A shingle is a sequence of two words of :func:`normal_form` without
:data:`BOILERPLATE` and numbers, in scripts without blanks of four characters. A shingle that more families share than
:data:`COMMON` or the square root of their number does not count; families of test and training texts are counted
separately. Let ``n`` be the smaller number of rare shingles of two texts. At least the share ``LEAST + 1/sqrt(n)`` of
them must occur in the other text. A text with fewer than :data:`FEWEST` shingles must be equal, word by word.

Each field (:data:`FIELDS`) is compared with the same field of the other text, or with its whole text if the field is
missing. A query reads the entries of rare shingles only, so its cost hardly depends on the size of the index
(``benchmarks/leaks.py``). An index that is stored (:mod:`patent_mteb.training.contamination`) keeps a sketch of a long
field: its shingles below a bound, which is halved until fewer than twice :data:`SKETCH` are left. A query's shingles
are counted below the same bound. ``docs/training.md`` describes the check for users, with its precision and recall.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from math import ceil, isqrt, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from patent_mteb.errors import DataError, PatentMTEBError
from patent_mteb.files import read_batches
from patent_mteb.patents.numbers import read_number
from patent_mteb.patents.on_disk import DiskList
from patent_mteb.patents.records import Patent
from patent_mteb.patents.scripts import HAS_UNSPACED, UNSPACED, words_and_pieces
from patent_mteb.patents.text import plain_lines
from patent_mteb.patents.views import VIEWS
from patent_mteb.readers.columns import EMPTY
from patent_mteb.recipes.sampling import grouped
from patent_mteb.tasks.base import PatentTask
from patent_mteb.tasks.catalogue import benchmarks, own_benchmarks
from patent_mteb.tasks.retrieval import PatentRetrieval
from patent_mteb.training.corpus import Corpus
from patent_mteb.training.pairs import Pair, read_pairs, write_pairs

FEWEST = 8  # shingles, a choice: shorter texts share them by chance
COMMON = 20  # families that may share a shingle before it counts as boilerplate, a choice
SKETCH = 64  # shingles of a text in the index, a choice
FIELDS = ("title and abstract", "first claim", "whole text")
LEAST = (0.6, 0.6, 0.5)
"""Minimum share by field, before ``1/sqrt(n)`` is added. Among 1,813 US applications, no two without a common inventor
exceed 0.36 (0.27 for whole texts). Families of the sample, whose texts come from a grammar, reach 0.54 (0.45)."""

_WHOLE = len(FIELDS) - 1
_COMPARED = tuple((mine, its) for mine in (2, 0, 1) for its in (2, 0, 1) if mine == its or _WHOLE in (mine, its))
"""Pairs of fields to compare: equal fields, and a field with the whole text of a side without it."""

_BITS = np.uint32(len(FIELDS))
_FEWEST_SHARED = ceil(FEWEST * min(LEAST) + sqrt(FEWEST))
_SHORTEST = 5
"""Minimum words of a compared text: a title such as "Display device" does not identify a patent."""

_GAP = re.compile(rf"(?<=[{UNSPACED}])\W+(?=[{UNSPACED}])")
_WORD = re.compile(r"\w+")
_WORD_OR_RUN = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
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
"""Mean entries per bucket. Reading a bucket is faster than a binary search, which waits for memory at each step."""


def normal_form(text: str) -> str:
    text = " ".join(plain_lines(_LINE_BREAK_HYPHEN.sub("", text)))
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
        text = unicodedata.normalize("NFC", text).casefold()
        text = _LOOKS_LATIN.sub(lambda letter: _LATIN[letter[0]], text)
        if HAS_UNSPACED.search(text):
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
"""Words that do not count: function words, phrases of claims in English, German and French, and placeholders."""


@lru_cache(maxsize=1 << 18)
def _hashed(word: str) -> int:
    """A positive hash of a word, 0 for a word that does not count."""
    if word in BOILERPLATE or word.isdigit() or word[:-1].isdigit():
        return 0
    return int(xxhash.xxh64_intdigest(word.encode("utf-8", "surrogatepass"))) | 1


def _words(text: str) -> list[str]:
    """Split a normal form into words, and scripts without blanks into overlapping pieces of three characters."""
    return words_and_pieces(text, 3, _WORD_OR_RUN) if HAS_UNSPACED.search(text) else _WORD.findall(text)


def is_comparable(text: str) -> bool:
    """Whether a text has enough words, or characters of a script without blanks, to be compared."""
    if len(list(islice(_WORD.finditer(text), _SHORTEST))) == _SHORTEST:
        return True
    return len(HAS_UNSPACED.findall(text)) >= _SHORTEST + 2  # pieces of three characters


def shingles(text: str) -> NDArray[np.uint32]:
    """Return the distinct shingles of a text as sorted hashes. A short text is represented by a digest of its words."""
    words = _words(normal_form(text))
    hashed = np.fromiter(map(_hashed, words), np.uint64, len(words))
    hashed = hashed[hashed > 0]
    if len(words) < _SHORTEST or not len(hashed):
        return np.zeros(0, np.uint32)
    found = np.unique(((hashed[:-1] * _FACTOR + hashed[1:]) >> np.uint64(32)).astype(np.uint32))
    if len(found) < FEWEST:
        digest = xxhash.xxh64_digest(" ".join(words).encode("utf-8", "surrogatepass"))
        return np.unique(np.frombuffer(digest, np.uint32))
    return found


@dataclass(frozen=True, slots=True)
class Shingled:
    """The shingles of a publication's fields."""

    keys: NDArray[np.uint32]  # [n] sorted, distinct
    fields: NDArray[np.uint8]  # [n] the fields that have each, as bits in the order of FIELDS

    @classmethod
    def of(cls, texts: Sequence[str]) -> Shingled:
        """Compute the shingles of the texts of :data:`FIELDS`. Unknown texts are empty."""
        parts = [shingles(text) for text in texts]
        keys = np.unique(np.concatenate(parts))
        fields = np.zeros(len(keys), np.uint8)
        for bit, part in enumerate(parts):
            fields[np.searchsorted(keys, part)] |= np.uint8(1 << bit)
        return cls(keys, fields)

    def without(self, common: NDArray[np.uint32]) -> Shingled:
        if not len(common):
            return self
        positions = np.minimum(np.searchsorted(common, self.keys), len(common) - 1)
        rare = common[positions] != self.keys
        return Shingled(self.keys[rare], self.fields[rare])

    def sizes(self) -> NDArray[np.int64]:
        """[fields] the number of shingles of each field."""
        return np.array([np.count_nonzero(self.fields & (1 << field)) for field in range(len(FIELDS))])


def common_shingles(publications: Iterable[tuple[Shingled, str]]) -> NDArray[np.uint32]:
    """Return the sorted shingles that many families share, from (shingles, family) of each publication."""
    numbers: dict[str, int] = {}
    parts = [_packed(one.keys, numbers.setdefault(family, len(numbers))) for one, family in publications]
    return _common(*_unpacked(parts), len(numbers))


def _packed(keys: NDArray[np.uint32], low: int | NDArray[np.uint32]) -> NDArray[np.uint64]:
    return keys.astype(np.uint64) << np.uint64(32) | np.asarray(low, np.uint64)


def _unpacked(parts: list[NDArray[np.uint64]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return both halves of all numbers in ascending order. The list is emptied to free memory."""
    packed = np.concatenate([np.zeros(0, np.uint64), *parts])
    parts.clear()
    packed.sort()
    return (packed >> np.uint64(32)).astype(np.uint32), packed.astype(np.uint32)


def _common(keys: NDArray[np.uint32], families: NDArray[np.uint32], number: int) -> NDArray[np.uint32]:
    """Return the sorted keys that too many of ``number`` families share."""
    most = max(COMMON, isqrt(number))
    often = keys[most:][keys[most:] == keys[: max(0, len(keys) - most)]]
    candidates = np.isin(keys, often)
    distinct = np.unique(_packed(keys[candidates], families[candidates]))
    found, counts = np.unique((distinct >> np.uint64(32)).astype(np.uint32), return_counts=True)
    return found[counts > most]


@dataclass(frozen=True, slots=True)
class Match:
    """A near-duplicate in the index: its id, the share of shingles, and the field."""

    id: str
    share: float
    field: str


class ShingleIndex:
    """An index of the rare shingles of publications, given as (id, family, shingles)."""

    def __init__(self, items: Iterable[tuple[str, str, Shingled]], common: NDArray[np.uint32] | None = None) -> None:
        self.ids: list[str] = []
        numbers: dict[str, int] = {}
        families: list[int] = []
        sizes: list[NDArray[np.int64]] = []
        parts: list[NDArray[np.uint64]] = []
        for owner, (key, family, one) in enumerate(items):
            self.ids.append(key)
            families.append(numbers.setdefault(family, len(numbers)))
            sizes.append(one.sizes())
            parts.append(_packed(one.keys, np.uint32(owner << len(FIELDS)) | one.fields.astype(np.uint32)))
        keys, entries = _unpacked(parts)
        frequent = _common(keys, np.array(families, np.uint32)[entries >> _BITS], len(numbers))
        self.common = frequent if common is None else np.union1d(frequent, common)  # sorted; they do not count
        size = np.array(sizes, np.int32).reshape(-1, len(FIELDS))
        self._fill(keys, entries, size, np.zeros(size.shape, np.uint8))

    def _fill(
        self,
        keys: NDArray[np.uint32],
        entries: NDArray[np.uint32],
        sizes: NDArray[np.int32],
        halvings: NDArray[np.uint8],
    ) -> None:
        """Set sorted keys with their entries, without the common ones."""
        rare = ~np.isin(keys, self.common)
        self._keys, self._entries = keys[rare], entries[rare]
        bits = max(1, (len(self._keys) // _BUCKET).bit_length())
        self._shift = np.uint32(32 - bits)
        starts = np.searchsorted(self._keys, np.arange(1 << bits, dtype=np.uint32) << self._shift)
        self._starts = np.append(starts, len(self._keys))
        self._sizes, self._halvings = sizes, halvings
        self._deepest = int(halvings.max(initial=0))
        self._rare = np.stack([self._counted(field) for field in range(len(FIELDS))], axis=1)

    def _counted(self, field: int) -> NDArray[np.int32]:
        owners = self._entries[self._entries >> np.uint32(field) & 1 > 0] >> _BITS
        return np.bincount(owners, minlength=len(self.ids)).astype(np.int32)

    def sketched(self) -> pa.Table:
        """Return a row for each text with a sketch of its shingles, in the order of the ids."""
        halvings = np.log2(np.maximum(self._rare / SKETCH, 1)).astype(np.uint8)
        owners, fields = self._entries >> _BITS, self._entries & np.uint32((1 << len(FIELDS)) - 1)
        for bit in range(len(FIELDS)):
            above = self._keys.astype(np.uint64) << halvings[owners, bit] >> np.uint64(32) > 0
            fields[above] &= ~np.uint32(1 << bit)
        order = np.flatnonzero(fields)
        order = order[np.argsort(owners[order], kind="stable")]
        ends = np.searchsorted(owners[order], np.arange(len(self) + 1)).astype(np.int32)
        lists = {"keys": self._keys[order], "fields": fields[order].astype(np.uint8)}
        columns = {name: pa.ListArray.from_arrays(ends, values) for name, values in lists.items()}
        return pa.table({**columns, "sizes": self._sizes.tolist(), "halvings": halvings.tolist()})

    @classmethod
    def of_sketches(cls, table: pa.Table, ids: list[str], common: NDArray[np.uint32]) -> ShingleIndex:
        """Restore an index from the rows of :meth:`sketched`."""
        index = cls((), common)
        index.ids = ids
        lists = {name: table[name].combine_chunks() for name in ("keys", "fields")}
        owners = np.repeat(np.arange(len(table), dtype=np.uint32), lists["keys"].value_lengths().to_numpy())
        keys, fields = (one.flatten().to_numpy() for one in lists.values())
        entries = owners << _BITS | fields
        order = np.argsort(keys, kind="stable")
        sizes, halvings = (np.array(table[name].to_pylist()).reshape(-1, len(FIELDS)) for name in ("sizes", "halvings"))
        index._fill(keys[order], entries[order], sizes.astype(np.int32), halvings.astype(np.uint8))
        return index

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, without the ids."""
        return sum(one.nbytes for one in (self._keys, self._entries, self._starts, self._sizes, self._rare))

    def _entries_of(self, query: Shingled) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """The index entries of the query's shingles, and the query's fields for each entry."""
        buckets = query.keys >> self._shift
        starts = self._starts[buckets]
        lengths = self._starts[buckets + np.uint32(1)] - starts
        positions = np.repeat(starts + lengths - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        number = np.repeat(np.arange(len(query.keys)), lengths)
        same = self._keys[positions] == query.keys[number]
        return self._entries[positions[same]], query.fields[number[same]]

    def match(self, query: Shingled) -> Match | None:
        """Return the indexed publication with the highest share; None if no share is high enough."""
        sizes = query.sizes()
        query = query.without(self.common)
        bounds = np.searchsorted(
            query.keys.astype(np.uint64), np.uint64(1 << 32) >> np.arange(self._deepest + 1, dtype=np.uint64)
        )
        rare = np.stack([np.append(0, np.cumsum(query.fields >> field & 1))[bounds] for field in range(len(FIELDS))], 1)
        entries, fields = self._entries_of(query)
        owners = entries >> _BITS
        least = max(1, min(_FEWEST_SHARED, sizes[_WHOLE]))
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
            if mine > its and sizes[its]:
                continue
            narrow = min(mine, its)
            both = (fields >> mine) & (entries >> its) & 1 > 0
            shared = np.bincount(owners[both], minlength=len(likely))
            fewer = np.minimum(self._rare[likely, its], rare[self._halvings[likely, its], mine])
            alike = (fewer >= FEWEST) & (shared >= fewer * LEAST[narrow] + np.sqrt(fewer))
            if mine < its:
                alike &= self._sizes[likely, mine] == 0
            elif mine == _WHOLE and sizes[mine] < FEWEST:
                alike |= shared == sizes[mine]
            shares = np.where(alike, shared / np.maximum(fewer, 1), 0)
            highest = int(shares.argmax())
            if shares[highest] > best:
                best, found = float(shares[highest]), (int(likely[highest]), narrow)
        return Match(self.ids[found[0]], best, FIELDS[found[1]]) if best else None


_TEXT_OF = {"q": ("q_text", "text", "text1"), "t": ("t_text", "text2"), "pos": ("pos_text",), "neg": ("neg_text",)}
"""Text columns of PatenTEB's tables, by id column."""


@dataclass(frozen=True, slots=True)
class Item:
    """A publication, or a family in benchmarks of families, with its texts. Unknown values are empty."""

    id: str
    family: str
    text: str  # all known text of title, abstract and claims
    title_abstract: str = ""
    claim: str = ""  # the first independent claim

    @classmethod
    def of(cls, patent: Patent) -> Item:
        texts = (VIEWS[view](patent) for view in ("TAC", "TA", "Claim1"))
        return cls(patent.publication_number, patent.family_id, *texts)


def hashed(text: str) -> int:
    """A hash of a normalised identifier."""
    return xxhash.xxh64_intdigest(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class LeakIndex:
    """The items of a test set, by the hashes of their identifiers, and their shingles."""

    numbers: Mapping[int, str]
    applications: Mapping[int, str]
    families: Mapping[int, str]
    texts: ShingleIndex


@dataclass(frozen=True)
class MeasuredSet:
    """A test set: its name, and a function that reads its items or raises :class:`PatentMTEBError`."""

    name: str
    items: Callable[[], Iterator[Item]]

    def index(self, families: Mapping[str, str], common: NDArray[np.uint32] | None = None) -> LeakIndex:
        """Index the items; ``families`` and ``common`` as in :func:`find_leaks`."""
        numbers: dict[int, str] = {}
        applications: dict[int, str] = {}
        test_families: dict[int, str] = {}

        def texts() -> Iterator[tuple[str, str, Shingled]]:
            for one in examined(self.items()):
                numbers.setdefault(hashed(one.number), one.id)
                if one.application:
                    applications.setdefault(hashed(one.application), one.id)
                known = [family for family in (one.family, families.get(one.number, "")) if family]
                for family in known:
                    test_families.setdefault(hashed(family), one.id)
                yield one.id, (*known, one.number)[0], one.shingles

        index = ShingleIndex(texts(), common)
        return LeakIndex(numbers, applications, test_families, index)


def present(corpus: Corpus) -> tuple[list[MeasuredSet], list[str]]:
    """Return the test sets to check a corpus against, and the names of absent ones."""
    own = MeasuredSet("the test split of the data", lambda: map(Item.of, corpus.members("test")))
    if corpus.is_sample:
        return [own], []
    found, absent = registered(corpus.folder)
    return [own, *found], absent


def registered(without: Path | None = None) -> tuple[list[MeasuredSet], list[str]]:
    """Return the test sets of all benchmarks that are on this machine, and the names of absent ones."""
    found: list[MeasuredSet] = []
    absent: list[str] = []
    seen: set[tuple[str, str]] = set()
    for benchmark in (*benchmarks(), *own_benchmarks()):
        headline_first = sorted(benchmark.task_classes, key=lambda kind: kind.metadata.name != benchmark.facts.headline)
        for key, kinds in grouped(headline_first, lambda kind: kind.data.key).items():
            source = kinds[0]().source
            folder = source.folder
            if folder is None or source.kind != "local" or not folder.is_dir():
                absent.append(key)
            elif (key, str(folder)) not in seen and not (without and folder.resolve() == without.resolve()):
                seen.add((key, str(folder)))
                found.append(MeasuredSet(key, partial(_items_of, kinds, folder)))
    return found, sorted(set(absent))


def _items_of(kinds: list[type[PatentTask]], folder: Path) -> Iterator[Item]:
    """Read the items of a dataset. ``metadata.parquet`` holds the families if there is one."""
    path = folder / "metadata.parquet"
    tables = read_batches(path, ["_id", "family_id"]) if path.is_file() else ()
    families = {row["_id"]: row["family_id"] or row["_id"] for table in tables for row in table.to_pylist()}
    retrieval = [kind() for kind in kinds if issubclass(kind, PatentRetrieval)]
    rows = _of_retrieval(retrieval) if retrieval else _of_table(folder / "test" / "data.parquet")
    return (Item(key, families.get(key, key), text) for key, text in rows)


def _of_retrieval(tasks: list[PatentRetrieval]) -> Iterator[tuple[str, str]]:
    """Queries and corpus of the first task that loads: a dataset may lack columns that another task needs."""
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
                if {key, column} <= set(table.column_names):
                    texts = (text or "" for text in table[column].to_pylist())
                    yield from zip(map(str, table[key].to_pylist()), texts, strict=True)


_EXAMPLES = 5  # in a report, a choice
_UNKNOWN = {text.casefold() for text in EMPTY} | {"-1"}


@dataclass(frozen=True, slots=True)
class Leak:
    """A training publication in a test set."""

    publication: str
    test_set: str
    found: str  # the test item
    way: str
    share: float = 1.0  # share and field are for leaks by text
    field: str = ""


@dataclass(frozen=True)
class LeakRecord:
    """The result of a leak check, which is stored with the checkpoint."""

    checked: Mapping[str, int]  # items by test set
    absent: Sequence[str]  # registered test sets that are not on this machine
    publications: int  # distinct publications that were checked
    pairs: int
    leaking: int  # pairs with a leaking publication
    ways: Mapping[str, Mapping[str, int]]  # leaking publications by test set and way
    examples: Sequence[Mapping[str, Any]]  # the first leaks
    dropped: bool  # whether the leaking pairs were removed
    unreadable: Mapping[str, str] = field(default_factory=dict)  # reason by test set that was not checked
    fields: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # leaks by text, by test set and field

    @property
    def contamination(self) -> str:
        """A summary of the record for reports."""
        others = ((len(self.unreadable), "unreadable"), (len(self.absent), "absent"))
        missing = "".join(f", {number} {word}" for number, word in others if number)
        checked = f"{len(self.checked)} test sets checked{missing}"
        if not self.leaking:
            return f"none found ({checked})"
        leaks = "; ".join(f"{name}: {sum(ways.values())} publications" for name, ways in self.ways.items())
        return f"{self.leaking} of {self.pairs} pairs {'removed' if self.dropped else 'leak'} ({leaks}; {checked})"


_WITHIN = re.compile(r"(?:^|[/\\=]|%3D)([A-Z]{2,4}\d{5,14}[A-Z]?\d?)(?=[./?#&]|$)", re.IGNORECASE)
"""A publication number without separators in an address or file name."""


def read_identifiers(text: str) -> tuple[str, str]:
    """Normalise a publication number, and extract the application; the text itself if it is not a valid number."""
    number = read_number(text)
    if number is None and (within := _WITHIN.search(text.strip())):
        number = read_number(within[1])
    return (number.docdb, number.key) if number else (text.strip(), "")


def _family(text: str) -> str:
    """Remove blanks and the ``.0`` of a float from a family id; empty if the id means "unknown"."""
    family = re.sub(r"(?<=\d)\.0+$", "", text.strip())
    return "" if family.casefold() in _UNKNOWN or not family.strip("0") else family


@dataclass(frozen=True, slots=True)
class Examined:
    """A publication of training or test data with its normalised identifiers and shingles."""

    id: str
    family: str
    number: str
    application: str
    shingles: Shingled


def examined(items: Iterable[Item]) -> Iterator[Examined]:
    """Normalise items, those of training once for all test sets."""
    for item in items:
        shingled = Shingled.of((item.title_abstract, item.claim, item.text))
        yield Examined(item.id, _family(item.family), *read_identifiers(item.id), shingled)


def _item_in(corpus: Corpus, number: str) -> Item | None:
    patent = corpus.records.get(number)
    return None if patent is None else Item.of(patent)


def by_normal_number(families: pl.DataFrame) -> dict[str, str]:
    return {read_identifiers(number)[0]: known for number, family in families.iter_rows() if (known := _family(family))}


def find_leaks(
    trained: Iterable[Examined],
    test_set: MeasuredSet,
    families: Mapping[str, str],
    common: NDArray[np.uint32] | None = None,
) -> tuple[dict[str, Leak], int]:
    """Return the leaks into a test set by publication, and the number of the test set's items.

    ``families`` are the known ones by normalised number, ``common`` the common shingles of the training texts.
    """
    index = test_set.index(families, common)
    leaks: dict[str, Leak] = {}
    for one in trained:
        ways = (
            ("number", index.numbers.get(hashed(one.number))),
            ("family", index.families.get(hashed(one.family))),
            ("application", index.applications.get(hashed(one.application))),
        )
        way, found = next(((way, item) for way, item in ways if item is not None), ("", ""))
        if way:
            leaks[one.id] = Leak(one.id, test_set.name, found, way)
        elif match := index.texts.match(one.shingles):
            leaks[one.id] = Leak(one.id, test_set.name, match.id, "text", round(match.share, 3), match.field)
    return leaks, len(index.texts)


def items_of(paths: Iterable[Path], texts: Callable[[str], Item | None]) -> Iterator[Item]:
    """Yield the distinct publications of tables of pairs, with their texts."""
    seen: set[str] = set()
    for path in paths:
        for pair in read_pairs(path):
            for key, family, text in _ends(pair):
                if key not in seen:
                    seen.add(key)
                    yield replace(texts(key) or Item(key, "", text), family=family)


def _ends(pair: Pair) -> list[tuple[str, str, str]]:
    """Return id, family and text of the publications of a pair."""
    ends = (
        (pair.anchor_id, pair.anchor_family, pair.anchor),
        (pair.positive_id, pair.positive_family, pair.positive),
        (pair.negative_id, pair.negative_family, pair.negative),
    )
    return [end for end in ends if end[0]]


def check_pairs(
    paths: Sequence[Path],
    corpus: Corpus,
    drop: bool,
    test_sets: Sequence[MeasuredSet] | None = None,
    texts: Callable[[str], Item | None] | None = None,
    absent: Sequence[str] = (),
) -> LeakRecord:
    """Check tables of pairs. Leaking pairs raise DataError, or are removed from the tables with ``drop``."""
    found, missing = (list(test_sets), list(absent)) if test_sets is not None else present(corpus)
    leaking, record = check_items(
        items_of(paths, texts or partial(_item_in, corpus)), by_normal_number(corpus.families), found, missing
    )

    def leaks_by(pair: Pair) -> bool:
        return any(key in leaking for key, _, _ in _ends(pair))

    verdicts = Counter(leaks_by(pair) for path in paths for pair in read_pairs(path))
    bad, dropped = verdicts[True], bool(drop and verdicts[True])
    record = replace(record, pairs=verdicts.total(), leaking=bad, dropped=dropped)
    if bad and not drop:
        raise DataError(_message(record), remedy="remove and count these pairs with --drop-leaks")
    for path in paths if dropped else ():
        write_pairs(path, (pair for pair in read_pairs(path) if not leaks_by(pair)))
    return record


def check_items(
    items: Iterable[Item], families: Mapping[str, str], test_sets: Iterable[MeasuredSet], absent: Sequence[str] = ()
) -> tuple[dict[str, list[Leak]], LeakRecord]:
    """Check publications. Returns the leaks by publication, and the record, in which each publication is a pair."""
    trained = DiskList(examined(items))
    common = common_shingles((one.shingles, one.family or one.number) for one in trained)
    checked: dict[str, int] = {}
    unreadable: dict[str, str] = {}
    leaking: dict[str, list[Leak]] = {}
    for test_set in test_sets:
        known = checked.keys() | unreadable.keys()
        name = test_set.name if test_set.name not in known else f"{test_set.name} ({len(known)})"
        try:
            leaks, checked[name] = find_leaks(trained, replace(test_set, name=name), families, common)
        except PatentMTEBError as error:
            unreadable[name] = str(error)
            continue
        for key, leak in leaks.items():
            leaking.setdefault(key, []).append(leak)
    every = [leak for leaks_of in leaking.values() for leak in leaks_of]
    ways = _counted((leak.test_set, leak.way) for leak in every)
    fields = _counted((leak.test_set, leak.field) for leak in every if leak.field)
    examples = [asdict(leaks_of[0]) for leaks_of in islice(leaking.values(), _EXAMPLES)]
    number, bad = len(trained), len(leaking)
    return leaking, LeakRecord(checked, absent, number, number, bad, ways, examples, False, unreadable, fields)


def _counted(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for (name, what), number in Counter(pairs).items():
        counts.setdefault(name, {})[what] = number
    return counts


def _message(record: LeakRecord) -> str:
    by_set = "; ".join(
        f"{name}: " + ", ".join(f"{number} by {way}" for way, number in ways.items())
        for name, ways in record.ways.items()
    )
    shown = ", ".join(
        f"{one['publication']} is {one['found']} ({one['field'] or one['way']})" for one in record.examples
    )
    return f"{record.leaking} of {record.pairs} pairs leak into test sets ({by_set}); {shown}"
