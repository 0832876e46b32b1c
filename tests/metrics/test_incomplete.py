"""Measures of partly judged collections against ir-measures."""

import ir_measures
import numpy as np
import pytest
from ir_measures import Bpref
from ir_measures import Judged as JudgedAt

from patent_mteb.metrics.measures import Judged

DRAW = np.random.default_rng(4)
DOCUMENTS = sorted((f"d{number:02}" for number in range(30)), reverse=True)
QUERIES = [f"q{number}" for number in range(40)]
DEPTHS = DRAW.integers(1, 26, len(QUERIES))
DOCS = np.full((len(QUERIES), 25), -1, np.int32)
for row, depth in enumerate(DEPTHS):
    DOCS[row, :depth] = DRAW.permutation(len(DOCUMENTS))[:depth]
QRELS = {
    query: {str(name): int(DRAW.integers(0, 4)) for name in DRAW.choice(DOCUMENTS, DRAW.integers(1, 14), replace=False)}
    for query in QUERIES
}
RUN = [
    ir_measures.ScoredDoc(query, DOCUMENTS[document], float(100 - place))
    for query, docs in zip(QUERIES, DOCS, strict=True)
    for place, document in enumerate(docs)
    if document >= 0
]
TRUTH = [
    ir_measures.Qrel(query, document, gain) for query, judged in QRELS.items() for document, gain in judged.items()
]


@pytest.mark.parametrize("k", [1, 10, 25])
def test_judged_share(k):
    expected = {one.query_id: one.value for one in ir_measures.iter_calc([JudgedAt @ k], TRUTH, RUN)}
    assert Judged(DOCS, QRELS, QUERIES, DOCUMENTS).judged_share(k).tolist() == pytest.approx(
        [expected[query] for query in QUERIES], abs=1e-12
    )


@pytest.mark.parametrize("least", [1, 2])
def test_bpref(least):
    expected = {one.query_id: one.value for one in ir_measures.iter_calc([Bpref(rel=least)], TRUTH, RUN)}
    found = dict(zip(QUERIES, Judged(DOCS, QRELS, QUERIES, DOCUMENTS).bpref(least).tolist(), strict=True))
    assert len(set(found.values())) > 10
    assert found == pytest.approx({query: expected.get(query, 0.0) for query in QUERIES}, abs=1e-9)


def test_nothing_ranked_and_nothing_judged():
    empty = np.zeros((1, 0), np.int32)
    assert Judged(empty, {"q": {"d": 1}}, ["q"], ["d"]).judged_share(10).tolist() == [0.0]
    assert Judged(empty, {"q": {"d": 1}}, ["q"], ["d"]).bpref().tolist() == [0.0]
    assert Judged(np.array([[0]]), {"q": {"d": 0}}, ["q"], ["d"]).bpref().tolist() == [0.0]
