"""InScope on a hand-made case and against the equation written as loops."""

import numpy as np
import pytest

from patent_mteb.metrics import inscope as module
from patent_mteb.metrics.inscope import KS, LEVELS, code_matrices, in_scope, in_scope_at, inscope, ranked_places


def test_hand_made_case():
    """A query in A61F 2/06 and G06Q 10/026; documents share less and less of it."""
    queries = [["A61F 2/06", "G06Q-010/026"]]
    documents = [["A61F0002/06"], ["G06Q 10/10"], ["G01N 1/00", "B01D 3/00"], ["H04L 12/28"], []]
    got = inscope([[3, 0, 1, 2, 4, -1]], queries, documents, ks=(1, 2, 3, 5, 10))
    expected = {
        "section": [0, 1 / 2, 2 / 3, 3 / 5, 3 / 10],
        "subclass": [0, 1 / 2, 2 / 3, 2 / 5, 2 / 10],
        "subgroup": [0, 1 / 2, 1 / 3, 1 / 5, 1 / 10],
    }
    for level, values in expected.items():
        assert [got[level, k][0] for k in (1, 2, 3, 5, 10)] == pytest.approx(values)


def world(seed=0, queries=40, documents=150, depth=120):
    rng = np.random.default_rng(seed)

    def codes(most):
        return [
            f"{rng.choice(list('ABCDEFGH'))}{rng.integers(1, 3):02}{rng.choice(['B', 'C'])} {rng.integers(1, 4)}/{rng.integers(0, 3):02}"
            for _ in range(rng.integers(0, most))
        ]

    ranked = np.array([rng.permutation(documents)[:depth] for _ in range(queries)])
    for row in range(queries):
        ranked[row, rng.integers(0, depth + 1) :] = -1
    return ranked, [codes(5) for _ in range(queries)], [codes(6) for _ in range(documents)]


CUT = {"section": lambda code: code[0], "subclass": lambda code: code[:4], "subgroup": lambda code: code}


@pytest.mark.parametrize("pairs", [1 << 18, 7])
def test_equals_the_equation_as_loops(monkeypatch, pairs):
    monkeypatch.setattr(module, "_PAIRS", pairs)
    ranked, queries, documents = world()
    got = inscope(ranked, queries, documents)
    assert set(got) == {(level, k) for level in LEVELS for k in KS}
    for (level, k), values in got.items():
        cut = CUT[level]
        naive = [
            sum(bool({*map(cut, own)} & {*map(cut, documents[d])}) for d in row[:k] if d >= 0) / k
            for row, own in zip(ranked, queries, strict=True)
        ]
        np.testing.assert_allclose(values, naive, atol=1e-15)
    means = [got[level, 10].mean() for level in LEVELS]
    assert means == sorted(means, reverse=True) and len(set(means)) == 3 and means[-1] > 0


def test_codes_that_repeat_or_that_only_documents_carry():
    query_codes, document_codes = code_matrices([["A", "A"], []], [["A", "B", "B"], ["C"]])
    assert query_codes.shape == (2, 3) and document_codes.sum() == 3
    assert in_scope([[0, 1], [0, 1]], query_codes, document_codes).tolist() == [[True, False], [False, False]]


def test_nobody_has_codes():
    assert in_scope_at(in_scope([[0]], *code_matrices([[]], [[]])), [1]) == {1: [0]}


def test_ranked_places_follow_trec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(1)
    documents = [f"d{n}" for n in range(50)]
    results = {f"q{q}": {d: float(rng.integers(0, 6)) for d in rng.permutation(documents)[:30].tolist()} for q in range(20)}
    ranked = ranked_places(results, list(results), documents, depth=12)
    for query, row in zip(results, ranked, strict=True):
        for position in (0, 5, 11):
            run = pytrec_eval.RelevanceEvaluator({query: {documents[row[position]]: 1}}, {"recip_rank"}).evaluate({query: results[query]})
            assert run[query]["recip_rank"] == pytest.approx(1 / (position + 1))
    assert ranked_places({"q": {"d1": 1.0}}, ["q", "r"], documents, depth=2).tolist() == [[1, -1], [-1, -1]]


def test_bad_input_is_refused():
    one = code_matrices([["A"]], [["A"]])
    with pytest.raises(ValueError, match=r"must be \[1, depth\]"):
        in_scope([[0], [0]], *one)
    with pytest.raises(ValueError, match="from 0 to 1 of 1 documents"):
        in_scope([[0, 1]], *one)
    with pytest.raises(ValueError, match="same columns"):
        in_scope([[0]], one[0], code_matrices([["A"]], [["A", "B"]])[1])
    with pytest.raises(ValueError, match="document 1: 'xyz'"):
        inscope([[0]], [["A61F 2/06"]], [["A61F 2/06"], ["xyz"]])
    with pytest.raises(ValueError, match="at least 1"):
        in_scope_at(np.ones((1, 3), dtype=bool), [0])
    with pytest.raises(ValueError, match="'q' has 1 scores that are NaN"):
        ranked_places({"q": {"a": float("nan")}}, ["q"], ["a"])
    with pytest.raises(ValueError, match="'b', retrieved for query 'q', is not in the corpus"):
        ranked_places({"q": {"b": 1.0}}, ["q"], ["a"])
