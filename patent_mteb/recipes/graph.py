"""The citation graph between patent families, which WIPO-AT, DAPFAM and PatenTEB use.

An edge connects the families of the citing and the cited publication. Several citations between two families are one
edge. Citations of unknown publications and citations within a family are dropped.

Sophia needs the category of each citation and PatentMap the publications themselves, so both read the citations
directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress, islice
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from patent_mteb.patents.records import Citation
from patent_mteb.patents.text_columns import Keyed, Rows, TextIndex, TextMap, by_itself, codes_of, column

_NONE: frozenset[str] = frozenset()
_Array = NDArray[np.integer[Any]]
_Value = TypeVar("_Value")
_AT_ONCE = 10_000


class SparseRows(Mapping[str, _Value]):
    """The links of each key in compressed sparse rows; a value is made of the others of a key on access."""

    def __init__(self, keys: Keyed[Any], ones: _Array, others: _Array, value: Callable[[list[Any]], _Value]) -> None:
        self._keys, self._value = keys, value
        self._others = others[np.argsort(ones, kind="stable")].astype(np.int32)
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(ones, minlength=len(keys)))])

    def others(self, row: int) -> Rows:
        """Return the others of a row of the keys."""
        found: Rows = self._others[self._ends[row] : self._ends[row + 1]]
        return found

    def __getitem__(self, key: str) -> _Value:
        others = self.others(self._keys.row_of(key)).tolist()
        if not others:
            raise KeyError(key)
        return self._value(others)

    def __contains__(self, key: object) -> bool:
        row = self._keys.row(key) if isinstance(key, str) else -1
        return row >= 0 and len(self.others(row)) > 0

    def __iter__(self) -> Iterator[str]:
        return compress(self._keys, np.diff(self._ends) > 0)

    def __len__(self) -> int:
        return int(np.count_nonzero(np.diff(self._ends)))


@dataclass(frozen=True)
class FamilyGraph:
    """The citations between families: numbers of directed edges, and of pairs with an edge in either direction.

    ``citing`` and ``cited`` are the ends of the edges, as numbers of the families.
    """

    cites: Mapping[str, frozenset[str]]
    cited_by: Mapping[str, frozenset[str]]
    citing: Rows
    cited: Rows
    n_pairs: int
    n_unknown: int  # number of citations of or by an unknown publication
    n_self: int  # number of families that cite themselves

    @property
    def n_edges(self) -> int:
        return len(self.citing)

    def linked(self, family: str) -> frozenset[str]:
        """Return the families that cite the family or are cited by it."""
        return self.cites.get(family, _NONE) | self.cited_by.get(family, _NONE)

    @property
    def dropped(self) -> str:
        """The citations that are not edges, as a note for a log."""
        return f"{self.n_unknown} name an unknown publication, {self.n_self} families cite themselves"


def ends_of(citations: Iterable[Citation], publications: TextIndex) -> Iterator[tuple[list[Citation], Rows, Rows]]:
    """Yield blocks of citations with the rows of the citing and the cited publications, -1 for unknown ones."""
    stream = iter(citations)
    while some := list(islice(stream, _AT_ONCE)):
        citing, cited = column(one.citing for one in some), column(one.cited for one in some)
        yield some, publications.rows_of(citing), publications.rows_of(cited)


def each_with_ends(citations: Iterable[Citation], publications: TextIndex) -> Iterator[tuple[Citation, int, int]]:
    """Yield citations with the rows of the citing and the cited publication, -1 for unknown ones."""
    for some, citing, cited in ends_of(citations, publications):
        yield from zip(some, citing.tolist(), cited.tolist(), strict=True)


def are_mutual(citing: Rows, cited: Rows, size: int) -> NDArray[np.bool_]:
    """Whether each of some sorted edges between numbers below ``size`` also exists in the opposite direction."""
    edges, opposite = (one.astype(np.int64) * size + other for one, other in ((citing, cited), (cited, citing)))
    places = np.minimum(edges.searchsorted(opposite), max(len(edges) - 1, 0))
    found: NDArray[np.bool_] = edges[places] == opposite
    return found


def family_graph(citations: Iterable[Citation], family_of: Mapping[str, str]) -> FamilyGraph:
    """Build the graph from citations between publications, whose families are numbered by their first uses."""
    known = TextMap.of(family_of)
    families, names = codes_of(known.coded), known.coded.dictionary
    ends, n_unknown = [np.empty((0, 2), np.int32)], 0
    for _, *rows in ends_of(citations, known.index):
        found = np.minimum(*rows) >= 0
        ends.append(families[np.stack(rows, axis=1)[found]])
        n_unknown += int((~found).sum())
    pairs, size = np.concatenate(ends), max(len(names), 1)
    del ends
    own = pairs[:, 0] == pairs[:, 1]
    n_self = len(np.unique(pairs[own, 0]))
    edges = np.unique(pairs[~own, 0].astype(np.int64) * size + pairs[~own, 1])
    del pairs
    citing, cited = (one.astype(np.int32) for one in np.divmod(edges, size))
    del edges

    def neighbours(others: list[int]) -> frozenset[str]:
        return frozenset(names.take(pa.array(others)).to_pylist())

    keys = by_itself(names)
    return FamilyGraph(
        SparseRows(keys, citing, cited, neighbours),
        SparseRows(keys, cited, citing, neighbours),
        citing,
        cited,
        len(citing) - int(are_mutual(citing, cited, size).sum()) // 2,
        n_unknown,
        n_self,
    )
