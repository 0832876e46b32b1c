"""Measures against pytrec_eval, on rankings with ties, graded, zero and negative gains, and missing documents."""

import random

import numpy as np
import pytest
import pytrec_eval

from patent_mteb.metrics.ranking import judged_ranks, per_query

TREC = {"ndcg": "ndcg_cut", "recall": "recall", "precision": "P", "map": "map_cut"}
MEASURES = [f"{name}@{k}" for name in TREC for k in (1, 5, 10, 100)]


def world(seed, n_queries=60, n_documents=150):
    draw = random.Random(seed)
    documents = [f"d{i:03}" for i in range(n_documents)]
    results, qrels = {}, {}
    for i in range(n_queries):
        found = draw.sample(documents, draw.randint(1, n_documents))
        results[f"q{i}"] = {document: round(draw.random(), draw.choice((1, 2, 9))) for document in found}
        qrels[f"q{i}"] = {document: draw.choice((-1, 0, 1, 1, 2, 3)) for document in draw.sample(documents, draw.randint(1, 20))}
    return results, qrels


@pytest.mark.parametrize("seed", range(4))
def test_equals_pytrec_eval(seed):
    results, qrels = world(seed)
    cuts = {f"{TREC[m.split('@')[0]]}.{m.split('@')[1]}" for m in MEASURES}
    reference = pytrec_eval.RelevanceEvaluator(qrels, cuts).evaluate(results)
    ours = per_query(judged_ranks(results, qrels), qrels, MEASURES)
    assert ours.queries == tuple(q for q in qrels if max(qrels[q].values()) > 0)
    for measure in MEASURES:
        name, k = measure.split("@")
        theirs = [reference[query][f"{TREC[name]}_{k}"] for query in ours.queries]
        np.testing.assert_allclose(ours.scores[measure], theirs, atol=1e-12, err_msg=measure)


def test_reciprocal_rank_equals_pytrec_eval():
    results, qrels = world(9)
    reference = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(results)
    ours = per_query(judged_ranks(results, qrels), qrels, ["mrr@1000"])
    np.testing.assert_allclose(ours.scores["mrr@1000"], [reference[q]["recip_rank"] for q in ours.queries], atol=1e-12)


def test_a_slice_keeps_the_places_of_documents_it_does_not_judge():
    results = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    ranks = judged_ranks(results, {"q": {"a": 1, "c": 1}})
    assert ranks == {"q": {"a": 1, "c": 3}}
    part = per_query(ranks, {"q": {"c": 1}}, ["ndcg@10", "mrr@10", "mrr@2"])
    assert part.scores["ndcg@10"][0] == pytest.approx(1 / np.log2(4))
    assert part.scores["mrr@10"][0] == pytest.approx(1 / 3)
    assert part.scores["mrr@2"][0] == 0


def test_queries_without_results_score_zero_and_queries_without_positives_are_left_out():
    qrels = {"silent": {"a": 1}, "hopeless": {"a": 0}}
    scores = per_query(judged_ranks({}, qrels), qrels, ["ndcg@10"])
    assert scores.queries == ("silent",)
    assert scores.scores["ndcg@10"].tolist() == [0.0]


@pytest.mark.parametrize("measure", ["ndcg", "ndcg@x", "err@10", "ndcg@0"])
def test_unknown_measures_are_refused(measure):
    with pytest.raises(ValueError, match="unknown measure"):
        per_query({"q": {"a": 1}}, {"q": {"a": 1}}, [measure])
