"""Citations as edges between patent families: what WIPO-AT, DAPFAM and PatenTEB take from the citations of publications.

An edge connects the families of the citing and the cited publication. Several citations between two families are one edge; a
citation of a publication that is not among the patents, and one within a family, is none.

Sophia (:mod:`patent_mteb.recipes.sophia`) needs the category of each citation and PatentMap (:mod:`patent_mteb.recipes.patentmap`) the
publications themselves; they read the citations on their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from patent_mteb.patents.records import Citation

__all__ = ["FamilyGraph", "family_graph"]

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FamilyGraph:
    """Families with citations, by family.

    Attributes:
        cites: families that a family cites.
        cited_by: families that cite it.
        n_edges: directed edges.
        n_unknown: citations of or by a publication that is not among the patents.
        n_self: families with citations within.
    """

    cites: Mapping[str, frozenset[str]]
    cited_by: Mapping[str, frozenset[str]]
    n_edges: int
    n_unknown: int
    n_self: int

    def linked(self, family: str) -> frozenset[str]:
        """Families that cite the family or are cited by it."""
        return self.cites.get(family, _NONE) | self.cited_by.get(family, _NONE)

    @property
    def left_out(self) -> str:
        """What became no edge, in words."""
        return f"{self.n_unknown} name an unknown publication, {self.n_self} families cite themselves"

    @property
    def n_pairs(self) -> int:
        """Pairs of families with an edge in either direction."""
        return self.n_edges - sum(citing in self.cites.get(family, _NONE) for citing, cited in self.cites.items() for family in cited) // 2


def family_graph(citations: Iterable[Citation], family_of: Mapping[str, str]) -> FamilyGraph:
    """The graph of the families of some publications.

    Args:
        family_of: publication number -> family id.

    Example:
        >>> from patent_mteb.patents.records import Citation
        >>> from patent_mteb.recipes.graph import family_graph
        >>> graph = family_graph([Citation("US1A", "EP2B"), Citation("US3A", "EP2B")], {"US1A": "F1", "US3A": "F1", "EP2B": "F2"})
        >>> graph.linked("F2"), graph.n_edges
        (frozenset({'F1'}), 1)
    """
    cites: dict[str, set[str]] = {}
    cited_by: dict[str, set[str]] = {}
    citing_themselves: set[str] = set()
    n_unknown = 0
    for citation in citations:
        citing, cited = family_of.get(citation.citing), family_of.get(citation.cited)
        if citing is None or cited is None:
            n_unknown += 1
        elif citing == cited:
            citing_themselves.add(citing)
        else:
            cites.setdefault(citing, set()).add(cited)
            cited_by.setdefault(cited, set()).add(citing)
    return FamilyGraph(
        {family: frozenset(others) for family, others in cites.items()},
        {family: frozenset(others) for family, others in cited_by.items()},
        sum(map(len, cites.values())),
        n_unknown,
        len(citing_themselves),
    )
