"""Citations between families against a naive count over the sample."""

from patent_mteb import sample
from patent_mteb.patents.records import Citation
from patent_mteb.recipes.graph import family_graph

FAMILY_OF = {"a1": "A", "a2": "A", "b1": "B", "c1": "C"}


def cites(*pairs):
    return [Citation(citing, cited) for citing, cited in pairs]


def test_publications_of_a_family_are_one_node():
    graph = family_graph(
        cites(("a1", "b1"), ("a2", "b1"), ("b1", "a2"), ("a1", "a2"), ("a2", "a1"), ("c1", "zz"), ("zz", "yy")),
        FAMILY_OF,
    )
    assert graph.cites == {"A": {"B"}, "B": {"A"}} and graph.cited_by == {"B": {"A"}, "A": {"B"}}
    assert (graph.n_edges, graph.n_pairs, graph.n_unknown, graph.n_self) == (2, 1, 2, 1)
    assert "A" in graph.cites and not {"C", "unknown", 3} & graph.cites.keys()
    assert graph.linked("A") == {"B"} and graph.linked("C") == graph.linked("unknown") == set()


def test_the_sample_counted_naively():
    patents, citations = sample.load()
    family_of = {patent.publication_number: patent.family_id for patent in patents[::2]}
    known = [
        (family_of[c.citing], family_of[c.cited]) for c in citations if c.citing in family_of and c.cited in family_of
    ]
    edges = {(citing, cited) for citing, cited in known if citing != cited}
    graph = family_graph(iter(citations), family_of)
    assert {
        (citing, cited) for citing, others in graph.cites.items() for cited in others
    } == edges and graph.n_edges == len(edges) > 100
    assert {(citing, cited) for cited, others in graph.cited_by.items() for citing in others} == edges
    assert graph.n_pairs == len({frozenset(edge) for edge in edges})
    assert graph.n_unknown == len(citations) - len(known)
    assert graph.n_self == len({citing for citing, cited in known if citing == cited})
    for family in set(family_of.values()):
        assert graph.linked(family) == {b for a, b in edges if a == family} | {a for a, b in edges if b == family}
