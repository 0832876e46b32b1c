"""Citations between families against a naive count over the sample."""

import polars as pl

from patent_mteb import sample
from patent_mteb.patents.records import Citation
from patent_mteb.recipes.graph import family_graph

FAMILY_OF = {"a1": "A", "a2": "A", "b1": "B", "c1": "C"}


def publications(family_of):
    return pl.DataFrame({"number": family_of.keys(), "family": family_of.values()})


def cites(*pairs):
    return [Citation(citing, cited) for citing, cited in pairs]


def test_publications_of_a_family_are_one_node():
    graph = family_graph(
        cites(("a1", "b1"), ("a2", "b1"), ("b1", "a2"), ("a1", "a2"), ("a2", "a1"), ("c1", "zz"), ("zz", "yy")),
        publications(FAMILY_OF),
    )
    assert graph.edges.rows() == [("A", "B"), ("B", "A")] and graph.links.rows() == [("A", "B"), ("B", "A")]
    assert (graph.n_pairs, graph.n_unknown, graph.n_self) == (1, 2, 1)
    assert graph.linked("A") == {"B"} and graph.linked("C") == graph.linked("unknown") == set()


def test_the_sample_counted_naively():
    patents, citations = sample.load()
    family_of = {patent.publication_number: patent.family_id for patent in patents[::2]}
    known = [
        (family_of[c.citing], family_of[c.cited]) for c in citations if c.citing in family_of and c.cited in family_of
    ]
    edges = {(citing, cited) for citing, cited in known if citing != cited}
    graph = family_graph(iter(citations), publications(family_of))
    assert graph.edges.rows() == sorted(edges) and len(edges) > 100
    assert graph.n_pairs == len({frozenset(edge) for edge in edges})
    assert graph.n_unknown == len(citations) - len(known)
    assert graph.n_self == len({citing for citing, cited in known if citing == cited})
    for family in set(family_of.values()):
        assert graph.linked(family) == {b for a, b in edges if a == family} | {a for a, b in edges if b == family}
