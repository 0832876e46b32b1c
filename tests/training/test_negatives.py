"""Hard negatives against a naive walk over all documents: near, in order, and neither family nor neighbour in the
citation graph.
"""

from __future__ import annotations

from collections import Counter

import bm25s
import numpy as np
import polars as pl
import pytest
import torch

from patent_mteb.patents.records import Citation
from patent_mteb.recipes.graph import family_graph
from patent_mteb.training.pairs import Pair
from patent_mteb.training.preparing import Lexical, mined
from patent_mteb.training.recipes import Settings


def publications(families):
    return pl.DataFrame({"number": families.keys(), "family": families.values()})


class Scores(Lexical):
    """A searcher with given scores."""

    def __init__(self, scores):
        self.scores = torch.from_numpy(scores)

    def similarity(self, anchors, documents):
        return self.scores[np.asarray(anchors)][:, np.asarray(documents)]


@pytest.mark.parametrize(("first", "number"), [(0, 1), (2, 3), (30, 20)])
def test_mined_are_the_nearest_that_are_no_prior_art(first, number):
    rng = np.random.default_rng(first)
    documents = [(f"US{place}A", f"F{place % 17}", f"text {place}") for place in range(60)]
    families = {key: family for key, family, _ in documents}
    citations = [Citation(f"US{citing}A", f"US{cited}A") for citing, cited in rng.integers(0, 60, (25, 2))]
    linked = {family: {family} for family in families.values()}
    for one in citations:
        citing, cited = families[one.citing], families[one.cited]
        linked[citing].add(cited)
        linked[cited].add(citing)
    pairs = [
        Pair("a", "b", f"US{n}A", f"US{m}A", f"F{n % 17}", f"F{m % 17}", "x") for n, m in rng.integers(0, 60, (40, 2))
    ]
    near = rng.permuted(np.tile(np.arange(60, dtype=np.float32), (40, 1)), axis=1)
    expected, fruitless = [], 0
    for pair, row in zip(pairs, near, strict=True):
        allowed = [
            n for n in range(60) if documents[n][1] not in linked[pair.anchor_family] | linked[pair.positive_family]
        ]
        chosen = sorted(allowed, key=lambda n: -row[n])[first : first + number]
        fruitless += not chosen
        expected += [(pair.anchor_id, documents[n][0], documents[n][1]) for n in chosen]
    left_out = Counter()
    settings = Settings(hard_negatives=number, negatives_from=first)
    rows = mined(
        iter(pairs), Scores(near), documents, family_graph(citations, publications(families)), settings, left_out
    )
    assert [(one.anchor_id, one.negative_id, one.negative_family) for one in rows] == expected
    assert +left_out == ({"pairs without a hard negative": fruitless} if fruitless else {})


def test_a_margin_excludes_what_is_nearer_than_the_positive():
    """With a relative margin of 20%, negatives score at most 0.8 of the positive's publication, by another model too."""
    rng = np.random.default_rng(3)
    documents = [(f"US{place}A", f"F{place}", f"text {place}") for place in range(30)]
    pairs = [Pair("a", "b", f"US{n}A", f"US{n + 1}A", f"F{n}", f"F{n + 1}", "x") for n in range(20)]
    near = rng.permuted(np.tile(np.arange(1, 31, dtype=np.float32), (20, 1)), axis=1)
    graph = family_graph([], publications({key: family for key, family, _ in documents}))
    settings = Settings(hard_negatives=2, negatives_from=0, negatives_margin=0.2)

    def chosen(scores, reranker=None):
        found = mined(iter(pairs), Scores(scores), documents, graph, settings, Counter(), reranker)
        return [(one.anchor_id, one.negative_id) for one in found]

    expected = []
    for number, row in enumerate(near):
        least = 0.8 * row[number + 1]
        nearest = np.argsort(-row)[: 10 * 2 + 2 + 1]  # ten candidates a negative, both families, the positive
        allowed = [n for n in nearest if n not in (number, number + 1) and row[n] <= least]
        expected += [(f"US{number}A", f"US{n}A") for n in sorted(allowed, key=lambda n: -row[n])[:2]]
    assert chosen(near) == expected

    class Reranker:
        def predict(self, texts, **options):
            numbers = [int(document.split()[1]) for _, document in texts]
            return torch.tensor([rescored[n] for n in numbers])

    rescored = {n: float(n + 1) for n in range(30)}
    by_reranker = chosen(near, Reranker())
    assert by_reranker and all(int(key[2:-1]) + 1 <= 0.8 * (int(anchor[2:-1]) + 2) for anchor, key in by_reranker)


def test_words_are_searched_as_bm25s_does():
    texts = ["a pump with a rotor", "a valve", "rotor and stator", "the lens"]
    search = Lexical(texts)
    search.anchors = ["rotor of a pump", "the"]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    expected = index.get_scores(["rotor", "pump"])
    found = search.similarity(np.array([0, 1]), [0, 1, 2, 3]).numpy()
    np.testing.assert_allclose(found, [expected, np.zeros(4)])
    np.testing.assert_allclose(search.similarity_pairwise(np.array([0, 0]), [2, 1]).numpy(), expected[[2, 1]])
