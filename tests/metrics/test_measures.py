"""Measures on arrays against pytrec_eval, mteb's own evaluator and loops, with ties, gaps, graded and negative gains,
short rankings.
"""

import math
import random

import numpy as np
import pytest
import pytrec_eval
from classes import these_first
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores, make_score_dict

from patent_mteb.metrics import measures
from patent_mteb.metrics.measures import Judged, JudgedRanks, Judgements, ranks_of, retrieval_scores
from patent_mteb.search.run import Run, ranked_ids

TREC = {"ndcg": "ndcg_cut", "recall": "recall", "precision": "P", "map": "map_cut"}
MEASURES = [f"{name}@{k}" for name in TREC for k in (1, 5, 10, 100)]
KS = (1, 3, 10, 50)


def judged_by(run, qrels):
    return Judged(run.docs, qrels, run.query_ids, run.doc_ids)


# ---------------------------------------------------------------- of each query, and of slices


def graded_world(seed, n_queries=60, n_documents=150):
    draw = random.Random(seed)
    documents = [f"d{i:03}" for i in range(n_documents)]
    results, qrels = {}, {}
    for i in range(n_queries):
        found = draw.sample(documents, draw.randint(1, n_documents))
        results[f"q{i}"] = {document: round(draw.random(), draw.choice((1, 2, 9))) for document in found}
        qrels[f"q{i}"] = {
            document: draw.choice((-1, 0, 1, 1, 2, 3)) for document in draw.sample(documents, draw.randint(1, 20))
        }
    return results, qrels


@pytest.mark.parametrize("seed", range(4))
def test_equals_pytrec_eval(seed):
    results, qrels = graded_world(seed)
    cuts = {f"{TREC[m.split('@')[0]]}.{m.split('@')[1]}" for m in MEASURES}
    reference = pytrec_eval.RelevanceEvaluator(qrels, cuts).evaluate(results)
    ours = judged_by(Run.from_dict(results), qrels).scores(MEASURES)
    assert ours.queries == tuple(q for q in qrels if max(qrels[q].values()) > 0)
    for measure in MEASURES:
        name, k = measure.split("@")
        theirs = [reference[query][f"{TREC[name]}_{k}"] for query in ours.queries]
        np.testing.assert_allclose(ours.scores[measure], theirs, atol=1e-12, err_msg=measure)
        assert ours.means()[measure] == pytest.approx(np.mean(theirs), abs=1e-12)


def test_reciprocal_rank_equals_pytrec_eval():
    results, qrels = graded_world(9)
    reference = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(results)
    ours = judged_by(Run.from_dict(results), qrels).scores(["mrr@1000"])
    np.testing.assert_allclose(ours.scores["mrr@1000"], [reference[q]["recip_rank"] for q in ours.queries], atol=1e-12)


def test_a_slice_keeps_the_places_of_documents_it_does_not_judge():
    run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    judged = judged_by(run, {"q": {"a": 1, "c": 1}})
    assert judged.ranks.tolist() == [1, 3]
    part = judged.scores(["ndcg@10", "mrr@10", "mrr@2"], {"q": {"c": 1}})
    assert part.scores["ndcg@10"][0] == pytest.approx(1 / np.log2(4))
    assert part.scores["mrr@10"][0] == pytest.approx(1 / 3)
    assert part.scores["mrr@2"][0] == 0


def test_queries_without_results_score_zero_and_queries_without_positives_are_left_out():
    qrels = {"silent": {"a": 1}, "hopeless": {"a": 0}}
    judged = judged_by(Run.from_dict({"silent": {}, "hopeless": {}}, doc_ids=["a"]), qrels)
    for part in (None, qrels):
        scores = judged.scores(["ndcg@10"], part)
        assert scores.queries == ("silent",)
        assert scores.scores["ndcg@10"].tolist() == [0.0]
    assert judged.scores(["ndcg@10"], {"silent": {"a": 0}}).means() == {}


@pytest.mark.parametrize("measure", ["ndcg", "ndcg@x", "err@10", "ndcg@0"])
def test_unknown_measures_are_refused(measure):
    judged = judged_by(Run.from_dict({"q": {"a": 1.0}}), {"q": {"a": 1}})
    for part in (None, {"q": {"a": 1}}):
        with pytest.raises(ValueError, match="unknown measure"):
            judged.scores([measure], part)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("judged_too", [True, False], ids=["of the judgements", "of other pairs"])
def test_a_slice_equals_pytrec_eval_on_its_judgements(seed, judged_too):
    """Whether the slice is a part of the judgements (with other gains) or judges pairs that these do not know."""
    results, qrels = graded_world(seed)
    draw = random.Random(seed + 100)
    pools = {query: list(qrels[query] if judged_too else results[query]) for query in draw.sample(list(qrels), 40)}
    part = {
        query: {d: draw.choice((-1, 0, 1, 2, 5)) for d in draw.sample(pool, min(len(pool), 7))}
        for query, pool in pools.items()
    }
    ours = judged_by(Run.from_dict(results), qrels).scores(MEASURES, part)
    assert ours.queries == tuple(query for query, judged in part.items() if max(judged.values()) > 0)
    assert len(ours.queries) > 20
    cuts = {f"{TREC[m.split('@')[0]]}.{m.split('@')[1]}" for m in MEASURES}
    reference = pytrec_eval.RelevanceEvaluator(part, cuts).evaluate(results)
    for measure in MEASURES:
        name, k = measure.split("@")
        theirs = [reference[query][f"{TREC[name]}_{k}"] for query in ours.queries]
        np.testing.assert_allclose(ours.scores[measure], theirs, atol=1e-12, err_msg=measure)


def test_a_slice_may_name_queries_and_documents_that_the_run_lacks():
    run = Run.from_dict({"p": {"a": 2.0, "b": 1.0}, "q": {"a": 1.0}})
    judged = judged_by(run, {"p": {"a": 1, "elsewhere": 1}, "q": {"b": 1}})
    assert judged.scores(["recall@10"]).scores["recall@10"].tolist() == [0.5, 0.0]
    found = judged.scores(["recall@10"], {"stranger": {"a": 1}, "q": {"a": 1, "nowhere": 1}, "p": {"nowhere": 1}})
    assert found.queries == ("q", "p")
    assert found.scores["recall@10"].tolist() == [0.5, 0.0]


# ---------------------------------------------------------------- all scores of a task


def mteb_scores(results, qrels, ks=KS):
    found = calculate_retrieval_scores(results, qrels, list(ks))
    return make_score_dict(
        ndcg=found.ndcg,
        _map=found.map,
        recall=found.recall,
        precision=found.precision,
        mrr=found.mrr,
        naucs=found.naucs,
        naucs_mrr=found.naucs_mrr,
        hit_rate=found.hit_rate,
        task_scores={},
    )


def world(seed, n_queries=40, n_docs=120, levels=None, gains=(0, 1), shortest=0, per_query=8):
    """A run and judgements; with ``levels`` scores have few values, so that many are tied."""
    draw = np.random.default_rng(seed)
    docs = [f"d{number}" for number in range(n_docs)]
    results, qrels = {}, {}
    for number in draw.permutation(n_queries):
        query = f"q{number}"
        size = int(draw.integers(shortest, 60))
        chosen = draw.choice(docs, size, replace=False)
        values = draw.integers(0, levels, size) / 7 if levels else draw.standard_normal(size)
        results[query] = dict(zip(chosen.tolist(), values.tolist(), strict=True))
        judged = [*draw.choice(docs, per_query, replace=False).tolist(), "absent"]
        qrels[query] = {document: int(draw.choice(gains)) for document in judged}
        near = [document for document in results[query] if draw.random() < 0.1]
        qrels[query] |= dict.fromkeys(near, max(gains))
    return results, qrels, Run.from_dict(results, list(results), ranked_ids(docs))


def scores_of(run, qrels, ks=KS):
    return retrieval_scores(run.docs, run.scores, judged_by(run, qrels).all, ks)


def assert_same(ours, theirs):
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@pytest.mark.slow
@pytest.mark.parametrize("seed", these_first(range(6), 0, 1))
@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"levels": 3},
        {"gains": (0, 1, 2, 5)},
        {"gains": (-1, 0, 1)},
        {"levels": 6, "gains": (0, 1, 3), "shortest": 20},
        {"n_queries": 1, "shortest": 5},
        {"per_query": 1, "levels": 2},
        {"shortest": 59, "n_queries": 300},
    ],
    ids=str,
)
def test_every_score_is_mtebs(kind, seed):
    _, qrels, run = world(seed, **kind)
    ours = scores_of(run, qrels)
    # In the order of the run: a standard deviation depends in its last bit on the order, and nAUC on which deviations
    # are equal.
    assert_same(ours, mteb_scores(run.to_dict(), qrels))
    assert len(ours) == 6 * len(KS) + 1 + 5 * 3 * len(KS)


def test_scores_that_differ_only_in_double_precision_are_tied_in_every_measure():
    """trec_eval reads scores in single precision, mteb's MRR in double: there a hit at rank 1 need not be one for
    MRR@1. A run has single precision throughout, and then both agree.
    """
    results = {
        "q": {"a": 1.0 + 2e-9, "b": 1.0 + 1e-9, "c": 1.0, "z": 0.5},
        "p": {"a": 1e-9, "c": 0.0},
        "o": {"a": 0.1, "b": 0.2},
    }
    qrels = {"q": {"a": 1}, "p": {"c": 2, "a": 1}, "o": {"a": 1}}
    run = Run.from_dict(results, list(results), ranked_ids("abcz"))
    ours, in_double = scores_of(run, qrels), mteb_scores(results, qrels)
    assert in_double["hit_rate_at_1"] != pytest.approx(in_double["mrr_at_1"], abs=1e-3)
    assert ours["hit_rate_at_1"] == pytest.approx(ours["mrr_at_1"], abs=1e-5)
    assert_same(ours, mteb_scores(run.to_dict(), qrels))
    by_trec_eval = [name for name in ours if name.startswith(("ndcg", "map", "recall", "precision", "hit_rate"))]
    assert len(by_trec_eval) == 5 * len(KS)
    for name in by_trec_eval:
        assert ours[name] == in_double[name]


@pytest.mark.slow
def test_the_border_between_two_roundings_falls_as_in_mteb():
    """Precision at 10 of 32 queries: a mean is a multiple of 1 / 320 = 0.003125, for odd multiples the half of a fifth
    decimal.
    """
    draw = np.random.default_rng(0)
    otherwise = 0
    for _ in range(16):
        hits = draw.integers(0, 11, 32)
        results = {f"q{i}": {f"d{j}": 1.0 - j / 16 for j in range(10)} for i in range(32)}
        qrels = {f"q{i}": {f"d{j}": 1 for j in range(count)} | {"absent": 1} for i, count in enumerate(hits)}
        run = Run.from_dict(results, list(results), ranked_ids(f"d{j}" for j in range(10)))
        ours = scores_of(run, qrels)
        assert_same(ours, mteb_scores(results, qrels))
        otherwise += ours["precision_at_10"] != round(float((hits / 10).mean()), 5)
    assert otherwise


@pytest.mark.parametrize("all_found", [True, False])
def test_nauc_is_undefined_where_every_query_is_equal(all_found):
    results = {f"q{i}": {"a": 1.0 + i, "b": 0.5} for i in range(7)}
    qrels = {query: {"a" if all_found else "nowhere": 1} for query in results}
    run = Run.from_dict(results, list(results), ranked_ids("ab"))
    ours = scores_of(run, qrels)
    assert math.isnan(ours["nauc_ndcg_at_10_max"])
    assert ours["ndcg_at_10"] == float(all_found)
    assert_same(ours, mteb_scores(results, qrels))


def test_all_judgements_and_a_slice_that_holds_all_of_them_score_the_same():
    _, qrels, run = world(5, gains=(0, 1, 2))
    judged = judged_by(run, qrels)
    everything, part = judged.scores(MEASURES), judged.scores(MEASURES, qrels)
    assert everything.queries == part.queries
    whole = judged.all
    assert isinstance(whole, JudgedRanks)
    rows = [run.query_ids.index(query) for query in part.queries]
    for measure in MEASURES:
        np.testing.assert_array_equal(everything.scores[measure], part.scores[measure])
        np.testing.assert_array_equal(whole.score(measure)[rows], part.scores[measure])
        assert whole.score(measure).sum() == pytest.approx(
            part.scores[measure].sum(), abs=1e-12
        )  # the others count as 0


def test_ranks_of_judged_documents():
    docs = np.array([[2, 0, -1], [1, 2, 0], [-1, -1, -1]])
    judgements = Judgements(3, np.array([0, 0, 0, 1, 2]), np.array([0, 1, -1, 0, 0]), np.ones(5, int))
    assert ranks_of(docs, judgements).tolist() == [2, 0, 0, 3, 0]
    assert ranks_of(docs[:, :0], judgements).tolist() == [0] * 5


def test_many_judgements_are_looked_up_in_parts(monkeypatch):
    _, qrels, run = world(6)
    judgements = judged_by(run, qrels).judgements
    whole = ranks_of(run.docs, judgements)
    monkeypatch.setattr(measures, "_PAIRS", 7)
    np.testing.assert_array_equal(ranks_of(run.docs, judgements), whole)


def test_what_cannot_be_scored():
    _, qrels, run = world(0)
    with pytest.raises(ValueError, match="at rank 1"):
        scores_of(run, qrels, (3, 10))
    with pytest.raises(ValueError, match="at least one query"):
        retrieval_scores(run.docs[:0], run.scores[:0], Judged(run.docs[:0], {}, [], run.doc_ids).all, KS)


def pres_by_areas(ranking, relevant, depth):
    """PRES as the area between the actual and the worst curve, over that between the best and the worst (Magdy & Jones
    2010, Fig. 2).
    """
    found = [rank for rank, document in enumerate(ranking[:depth], start=1) if document in relevant]
    actual = found + [depth + number for number in range(len(found) + 1, len(relevant) + 1)]
    best = list(range(1, len(relevant) + 1))
    worst = [depth + number for number in best]
    return (sum(worst) - sum(actual)) / (sum(worst) - sum(best))


@pytest.mark.parametrize(
    ("ranks", "relevant", "depth", "expected"),
    [
        ([1], 1, 100, 1.0),
        ([100], 1, 100, 0.01),  # the last place that is read
        ([101], 1, 100, 0.0),
        ([1, 2, 3], 3, 10, 1.0),
        ([], 4, 10, 0.0),
        ([1], 2, 10, 0.5),  # the other one counts at rank 12: 1 - ((1 + 12) / 2 - 1.5) / 10
        ([10, 9, 8, 7], 4, 10, 0.4),  # all found, at the very end: the number of them over the depth
        ([2, 5], 3, 10, 1 - (20 / 3 - 2) / 10),  # the third at 13
    ],
)
def test_pres_of_cases_worked_by_hand(ranks, relevant, depth, expected):
    docs = np.array([range(200)])
    positive = [f"d{rank - 1}" for rank in ranks] + [f"absent{number}" for number in range(relevant - len(ranks))]
    judged = Judged(docs, {"q": dict.fromkeys(positive, 1)}, ["q"], [f"d{number}" for number in range(200)])
    assert judged.scores([f"pres@{depth}"]).scores[f"pres@{depth}"].tolist() == pytest.approx([expected])


@pytest.mark.parametrize("seed", range(3))
def test_pres_is_the_share_of_the_area_and_lies_between_its_bounds(seed):
    results, qrels = graded_world(seed)
    run = Run.from_dict(results)
    for depth in (5, 20, 100):
        found = judged_by(run, qrels).scores([f"pres@{depth}", f"recall@{depth}", f"hit_rate@{depth}"])
        for query, pres, recall, hit in zip(found.queries, *found.scores.values(), strict=True):
            relevant = {document for document, gain in qrels[query].items() if gain > 0}
            ranking = [document for document, _ in run.ranking(query)]
            assert pres == pytest.approx(pres_by_areas(ranking, relevant, depth))
            assert len(relevant) * recall**2 / depth - 1e-12 <= pres <= recall + 1e-12, "from n R^2 / Nmax to R"
            assert hit == float(any(document in relevant for document in ranking[:depth]))
