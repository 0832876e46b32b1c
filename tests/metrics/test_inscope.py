"""InScope on a hand-made case and against the equation written as loops."""

import logging

import numpy as np
import pytest

from patent_mteb.metrics import inscope as module
from patent_mteb.metrics.inscope import KS, LEVELS, code_matrices, in_scope, in_scope_at, inscope_scores
from patent_mteb.patents import ipc
from patent_mteb.search.run import Run


def numbered(ranked, queries, documents):
    """The arguments of :func:`inscope_scores` for queries and documents that are known by their position."""
    asked, known = ({str(place): own for place, own in enumerate(codes)} for codes in (queries, documents))
    return np.asarray(ranked), list(asked), list(known), asked, known


def test_hand_made_case():
    """A query in A61F 2/06 and G06Q 10/026; documents share less and less of it."""
    queries = [["A61F 2/06", "G06Q-010/026"]]
    documents = [["A61F0002/06"], ["G06Q 10/10"], ["G01N 1/00", "B01D 3/00"], ["H04L 12/28"], []]
    ranked = [[3, 0, 1, 2, 4, -1]]
    expected = {
        "section": [0, 1 / 2, 2 / 3, 3 / 5, 3 / 10],
        "subclass": [0, 1 / 2, 2 / 3, 2 / 5, 2 / 10],
        "subgroup": [0, 1 / 2, 1 / 3, 1 / 5, 1 / 10],
    }
    scores = inscope_scores(*numbered(ranked, queries, documents))
    for level, values in expected.items():
        cut = [[ipc.codes_at(own, level).codes for own in codes] for codes in (queries, documents)]
        got = in_scope_at(in_scope(ranked, *code_matrices(*cut)), (1, 2, 3, 5, 10))
        assert [got[k][0] for k in (1, 2, 3, 5, 10)] == pytest.approx(values)
        assert [scores[f"inscope_{level}_at_{k}"] for k in (1, 5, 10)] == pytest.approx(
            [values[0], values[3], values[4]]
        )


def world(seed=0, queries=40, documents=150, depth=120):
    rng = np.random.default_rng(seed)

    def codes(most):
        return [
            f"{rng.choice(list('ABCDEFGH'))}{rng.integers(1, 3):02}{rng.choice(['B', 'C'])}"
            f" {rng.integers(1, 4)}/{rng.integers(0, 3):02}"
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
    got = inscope_scores(*numbered(ranked, queries, documents))
    assert set(got) == {
        f"inscope_{level}_{what}" for level in LEVELS for what in ("n_queries", *(f"at_{k}" for k in KS))
    }
    for level in LEVELS:
        cut = CUT[level]
        known = [row for row, own in enumerate(queries) if own]
        assert got[f"inscope_{level}_n_queries"] == len(known) < len(queries)
        for k in KS:
            naive = [
                sum(bool({*map(cut, queries[row])} & {*map(cut, documents[d])}) for d in ranked[row, :k] if d >= 0) / k
                for row in known
            ]
            assert got[f"inscope_{level}_at_{k}"] == pytest.approx(np.mean(naive), abs=1e-15)
    means = [got[f"inscope_{level}_at_10"] for level in LEVELS]
    assert means == sorted(means, reverse=True) and len(set(means)) == 3 and means[-1] > 0


def test_codes_that_repeat_or_that_only_documents_carry():
    query_codes, document_codes = code_matrices([["A", "A"], []], [["A", "B", "B"], ["C"]])
    assert query_codes.shape == (2, 3) and document_codes.sum() == 3
    assert in_scope([[0, 1], [0, 1]], query_codes, document_codes).tolist() == [[True, False], [False, False]]


def test_no_query_has_codes():
    assert in_scope_at(in_scope([[0]], *code_matrices([[]], [[]])), [1]) == {1: [0]}


def test_places_that_a_short_ranking_leaves_empty_are_out_of_scope():
    run = Run.from_dict({"q": {"d1": 1.0}, "r": {}})
    codes = {"d1": ["A61F 2/06"]}
    got = inscope_scores(run.docs, run.query_ids, run.doc_ids, {"q": ["A61F 2/06"], "r": ["A61F 2/06"]}, codes)
    assert run.docs.tolist() == [[0], [-1]]
    assert [got[f"inscope_section_at_{k}"] for k in KS] == pytest.approx([1 / k / 2 for k in KS])


def test_codes_that_cannot_be_read_are_counted_and_logged(caplog):
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        got = inscope_scores(*numbered([[0, 1]], [["A61F 2/06", "abc"]], [["A61F 2/06"], ["xyz", "A61F"]]))
    assert "InScope: 1 IPC codes of queries and 1 of documents give no section" in caplog.text
    assert "InScope: 1 IPC codes of queries and 2 of documents give no subgroup" in caplog.text
    assert got["inscope_subclass_at_5"] == pytest.approx(2 / 5)
    assert got["inscope_subgroup_at_5"] == pytest.approx(1 / 5)


def test_bad_input_is_refused():
    one = code_matrices([["A"]], [["A"]])
    with pytest.raises(ValueError, match=r"must be \[1, depth\]"):
        in_scope([[0], [0]], *one)
    with pytest.raises(ValueError, match="from 0 to 1 of 1 documents"):
        in_scope([[0, 1]], *one)
    with pytest.raises(ValueError, match="same columns"):
        in_scope([[0]], one[0], code_matrices([["A"]], [["A", "B"]])[1])
    with pytest.raises(ValueError, match="at least 1"):
        in_scope_at(np.ones((1, 3), dtype=bool), [0])
