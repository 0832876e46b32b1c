"""What is kept of the last searches, and what is not."""

import numpy as np

from patent_mteb.search.memory_cache import LRUCache, RankingCache
from patent_mteb.search.run import Run


def test_a_value_that_is_too_large_is_not_kept_and_replaces_none_but_its_own():
    recent = LRUCache(10)
    recent.put("a", 1, size=6)
    recent.put("b", 2, size=11)
    assert (recent.get("a"), recent.get("b")) == (1, None)
    recent.put("a", 3, size=11)
    assert recent.get("a") is None and list(recent) == []


def test_rankings_are_read_only_of_the_same_corpus_texts_and_depth():
    whole = Run.from_dict({"q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7}, "q2": {"d3": 0.5}})
    recent, searches = RankingCache(1 << 20), []

    def ask(corpus, queries, top_k):
        found = recent.get_or_search(
            corpus, list(queries), list(queries.values()), top_k, lambda: searches.append(queries) or whole
        )
        return found, len(searches)

    both = {"q1": "pump", "q2": "lens"}
    assert ask("c", both, 3) == (whole, 1)
    part, count = ask("c", {"q2": "lens"}, 2)
    assert (part.to_dict(), part.docs.shape, count) == ({"q2": {"d3": 0.5}}, (1, 1), 1)
    turned, _ = ask("c", {"q2": "lens", "q1": "pump"}, 2)
    assert turned.query_ids == ["q2", "q1"] and np.array_equal(turned.docs, whole.docs[[1, 0], :2])
    for number, asked in enumerate(
        (("other", both, 3), ("c", {"q1": "pumps"}, 3), ("c", both, 4), ("c", {"q3": "lens"}, 3)), start=2
    ):
        assert ask(*asked)[1] == number
