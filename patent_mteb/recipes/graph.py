"""The citation graph between patent families, which WIPO-AT, DAPFAM and PatenTEB use.

An edge connects the families of the citing and the cited publication. Several citations between two families are one
edge. Citations of unknown publications and citations within a family are dropped.

Sophia needs the category of each citation and PatentMap the publications themselves, so both read the citations
directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, islice
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from patent_mteb.patents.records import Citation
from patent_mteb.patents.tables import links_of
from patent_mteb.patents.text_columns import Keyed, Rows, TextIndex, column

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
    """The citations between families.

    Attributes:
        edges: families ``citing`` and ``cited``, in order, each pair once.
        n_pairs: number of pairs of families with an edge in either direction.
        n_unknown: number of citations of or by an unknown publication.
        n_self: number of families that cite themselves.
    """

    edges: pl.DataFrame
    n_pairs: int
    n_unknown: int
    n_self: int

    @cached_property
    def links(self) -> pl.DataFrame:
        """Each ``family`` with each ``other`` that it cites or that cites it, in order."""
        return in_both_directions(self.edges).unique().sort("family", "other")

    @cached_property
    def _others(self) -> dict[str, frozenset[str]]:
        groups = self.links.group_by("family").agg("other")
        return {family: frozenset(others) for family, others in groups.iter_rows()}

    def linked(self, family: str) -> frozenset[str]:
        """Return the families that the family cites or is cited by."""
        return self._others.get(family, _NONE)

    @property
    def dropped(self) -> str:
        """The citations that are not edges, as a note for a log."""
        return f"{self.n_unknown} name an unknown publication, {self.n_self} families cite themselves"


def in_both_directions(edges: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each end of an edge: that ``family`` and the ``other``."""
    ends = (("citing", "cited"), ("cited", "citing"))
    return pl.concat([edges.select(family=one, other=other) for one, other in ends])


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


def family_graph(citations: Iterable[Citation], publications: pl.DataFrame) -> FamilyGraph:
    """Build the graph from citations between publications, which have a ``number`` and a ``family``."""
    links = links_of(citations)
    known = publications.select("number", "family")
    ends = links.join(known.rename({"number": "citing"}), on="citing").join(
        known.rename({"number": "cited"}), on="cited", suffix="_cited"
    )
    within = pl.col("family") == pl.col("family_cited")
    edges = ends.filter(~within).select(citing="family", cited="family_cited").unique().sort("citing", "cited")
    in_order = edges.select(pl.min_horizontal("citing", "cited"), pl.max_horizontal("citing", "cited").alias("greater"))
    return FamilyGraph(edges, in_order.n_unique(), len(links) - len(ends), ends.filter(within)["family"].n_unique())
