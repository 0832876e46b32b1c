"""The citation graph between patent families, which WIPO-AT, DAPFAM and PatenTEB use.

An edge connects the families of the citing and the cited publication. Several citations between two families are one
edge. Citations of unknown publications and citations within a family are dropped.

Sophia needs the category of each citation and PatentMap the publications themselves, so both read the citations
directly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from patent_mteb.patents.records import Citation
from patent_mteb.patents.tables import links_of

_NONE: frozenset[str] = frozenset()
_ENDS = ["citing", "cited"]


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


def family_graph(citations: Iterable[Citation], publications: pl.DataFrame) -> FamilyGraph:
    """Build the graph from citations between publications, which have a ``number`` and a ``family``."""
    families = publications["family"].unique().sort()
    known = publications.select("number", place=pl.col("family").rank("dense") - 1).unique("number")
    links = links_of(citations)
    # places in the families take a tenth of the memory of their names, and have the same order
    places = [links.select(number=end).join(known, on="number", how="left", maintain_order="left") for end in _ENDS]
    ends = pl.DataFrame({end: table["place"] for end, table in zip(_ENDS, places, strict=True)}).drop_nulls()
    within = pl.col("citing") == pl.col("cited")
    pairs = ends.filter(~within).unique().sort(_ENDS)
    either = pairs.select(pl.min_horizontal(_ENDS), pl.max_horizontal(_ENDS).alias("greater")).n_unique()
    edges = pairs.select(families.gather(pairs[end]).alias(end) for end in _ENDS)
    return FamilyGraph(edges, either, len(links) - len(ends), ends.filter(within)["citing"].n_unique())
