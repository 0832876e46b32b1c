"""Hard negatives against a naive walk over all documents: near, in order, and neither family nor neighbour in the
citation graph.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from patent_mteb.patents.records import Citation
from patent_mteb.recipes.graph import family_graph
from patent_mteb.training.pairs import Pair
from patent_mteb.training.preparing import mined
from patent_mteb.training.recipes import Settings


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
    near = rng.integers(0, 6, (40, 60)).astype(np.float32)  # many that are equally near
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
        iter(pairs), lambda anchors: near.copy(), documents, family_graph(citations, families), settings, left_out
    )
    assert [(one.anchor_id, one.negative_id, one.negative_family) for one in rows] == expected
    assert left_out == ({"pairs without a hard negative": fruitless} if fruitless else {})
