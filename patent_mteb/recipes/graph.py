"""The citation graph between patent families, which WIPO-AT, DAPFAM and PatenTEB use.

An edge connects the families of the citing and the cited publication. Several citations between two families are one
edge. Citations of unknown publications and citations within a family are dropped.

Sophia needs the category of each citation and PatentMap the publications themselves, so both read the citations
directly.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from patent_mteb.patents.records import Citation

_NONE: frozenset[str] = frozenset()
_Array = NDArray[np.integer[Any]]
_Value = TypeVar("_Value")


class SparseRows(Mapping[str, _Value]):
    """The links of each family in compressed sparse rows; a value is made of the others of a family on access."""

    def __init__(
        self, numbers: Mapping[str, int], ones: _Array, others: _Array, value: Callable[[list[Any]], _Value]
    ) -> None:
        self._numbers, self._names, self._value = numbers, list(numbers), value
        self._others = others[np.argsort(ones, kind="stable")].astype(np.int32)
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(ones, minlength=len(numbers)))])

    def __getitem__(self, family: str) -> _Value:
        number = self._numbers[family]
        others = self._others[self._ends[number] : self._ends[number + 1]].tolist()
        if not others:
            raise KeyError(family)
        return self._value(others)

    def __iter__(self) -> Iterator[str]:
        return (self._names[number] for number in np.flatnonzero(np.diff(self._ends)).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(np.diff(self._ends)))


@dataclass(frozen=True)
class FamilyGraph:
    """The citations between families: numbers of directed edges, and of pairs with an edge in either direction."""

    cites: Mapping[str, frozenset[str]]
    cited_by: Mapping[str, frozenset[str]]
    n_edges: int
    n_pairs: int
    n_unknown: int  # number of citations of or by an unknown publication
    n_self: int  # number of families that cite themselves

    def linked(self, family: str) -> frozenset[str]:
        """Return the families that cite the family or are cited by it."""
        return self.cites.get(family, _NONE) | self.cited_by.get(family, _NONE)

    @property
    def dropped(self) -> str:
        """The citations that are not edges, as a note for a log."""
        return f"{self.n_unknown} name an unknown publication, {self.n_self} families cite themselves"


def family_graph(citations: Iterable[Citation], family_of: Mapping[str, str]) -> FamilyGraph:
    """Build the graph from citations between publications."""
    numbers: dict[str, int] = {}
    ends = array("q"), array("q")
    n_unknown = 0
    for citation in citations:
        citing, cited = family_of.get(citation.citing), family_of.get(citation.cited)
        if citing is None or cited is None:
            n_unknown += 1
            continue
        for end, family in zip(ends, (citing, cited), strict=True):
            end.append(numbers.setdefault(family, len(numbers)))
    size = max(len(numbers), 1)
    all_citing, all_cited = (np.asarray(end, np.int64) for end in ends)
    within = all_citing == all_cited
    edges = np.unique(all_citing[~within] * size + all_cited[~within])
    citing_families, cited_families = np.divmod(edges, size)
    both_ways = int(np.isin(cited_families * size + citing_families, edges).sum())
    names = list(numbers)

    def neighbours(others: list[int]) -> frozenset[str]:
        return frozenset([names[other] for other in others])

    return FamilyGraph(
        SparseRows(numbers, citing_families, cited_families, neighbours),
        SparseRows(numbers, cited_families, citing_families, neighbours),
        len(edges),
        len(edges) - both_ways // 2,
        n_unknown,
        len(np.unique(all_citing[within])),
    )
