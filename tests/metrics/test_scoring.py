"""Scores from arrays: equal to mteb's own functions on random worlds with ties, gaps, gains and short rankings."""

import math

import numpy as np
import pytest
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores, make_score_dict
from mteb._evaluators.retrieval_metrics import nauc as mteb_nauc

from patent_mteb.metrics import ranking, scoring
from patent_mteb.search.run import Run, ranked_ids

KS = (1, 3, 10, 50)


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
    """A run and judgements; with ``levels`` scores are drawn from so many values, so that many are tied."""
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


def judged_by(run, qrels):
    return scoring.Judgements.of(qrels, run.query_ids, run.doc_ids)


def assert_same(ours, theirs):
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("seed", range(6))
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
    ours = scoring.retrieval_scores(run.docs, run.scores, judged_by(run, qrels), KS)
    # In the order of the run: a standard deviation depends in its last bit on the order, and nAUC on which deviations are equal.
    assert_same(ours, mteb_scores(run.to_dict(), qrels))
    assert len(ours) == 6 * len(KS) + 1 + 5 * 3 * len(KS)


def test_scores_that_differ_only_in_double_precision_are_tied_for_trec_eval_and_not_for_mrr():
    results = {"q": {"a": 1.0 + 2e-9, "b": 1.0 + 1e-9, "c": 1.0, "z": 0.5}, "p": {"a": 1e-9, "c": 0.0}, "o": {"a": 0.1, "b": 0.2}}
    qrels = {"q": {"a": 1}, "p": {"c": 2, "a": 1}, "o": {"a": 1}}
    run = Run.from_dict(results, list(results), ranked_ids("abcz"))
    ours = scoring.retrieval_scores(run.docs, run.scores, judged_by(run, qrels), KS)
    theirs = mteb_scores(results, qrels)
    assert theirs["hit_rate_at_1"] != pytest.approx(theirs["mrr_at_1"], abs=1e-3)
    assert_same(ours, theirs)


def test_the_border_between_two_roundings_falls_as_in_mteb():
    """Precision at 10 of 32 queries: a mean is a multiple of 1 / 320 = 0.003125, for odd multiples the half of a fifth decimal."""
    draw = np.random.default_rng(0)
    otherwise = 0
    for _ in range(40):
        hits = draw.integers(0, 11, 32)
        results = {f"q{i}": {f"d{j}": 1.0 - j / 16 for j in range(10)} for i in range(32)}
        qrels = {f"q{i}": {f"d{j}": 1 for j in range(count)} | {"absent": 1} for i, count in enumerate(hits)}
        run = Run.from_dict(results, list(results), ranked_ids(f"d{j}" for j in range(10)))
        ours = scoring.retrieval_scores(run.docs, run.scores, judged_by(run, qrels), KS)
        assert_same(ours, mteb_scores(results, qrels))
        otherwise += ours["precision_at_10"] != round(float((hits / 10).mean()), 5)
    assert otherwise


@pytest.mark.parametrize("all_found", [True, False])
def test_nauc_is_undefined_where_every_query_is_equal(all_found):
    results = {f"q{i}": {"a": 1.0 + i, "b": 0.5} for i in range(7)}
    qrels = {query: {"a" if all_found else "nowhere": 1} for query in results}
    run = Run.from_dict(results, list(results), ranked_ids("ab"))
    ours = scoring.retrieval_scores(run.docs, run.scores, judged_by(run, qrels), KS)
    assert math.isnan(ours["nauc_ndcg_at_10_max"])
    assert ours["ndcg_at_10"] == float(all_found)
    assert_same(ours, mteb_scores(results, qrels))


@pytest.mark.parametrize("seed", range(5))
def test_nauc_of_one_measure(seed):
    draw = np.random.default_rng(seed)
    confidence, values = draw.integers(0, 9, 60).astype(float), draw.random(60)
    assert scoring.nauc(confidence, values) == pytest.approx(mteb_nauc(confidence, values), abs=1e-12)
    assert scoring.nauc(values, values) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="at least one query"):
        scoring.nauc(values[:0], values[:0])


@pytest.mark.parametrize("seed", range(4))
def test_per_query_values_of_a_slice_are_those_of_dictionaries(seed):
    results, qrels, run = world(seed, levels=5, gains=(0, 1, 2))
    part = {query: {document: gain for document, gain in judged.items() if len(document) % 2} for query, judged in qrels.items()}
    measures = ("ndcg@10", "recall@3", "precision@3", "map@50", "mrr@10")
    reference = ranking.per_query(ranking.judged_ranks(results, qrels), part, measures)
    values = scoring.per_query(run.docs, run.scores, judged_by(run, part), measures)
    place = {query: row for row, query in enumerate(run.query_ids)}
    assert len(reference.queries) > 10
    for measure in measures:
        expected = np.zeros(len(run.query_ids))
        expected[[place[query] for query in reference.queries]] = reference.scores[measure]
        np.testing.assert_allclose(values[measure], expected, atol=1e-12)
    with pytest.raises(ValueError, match="unknown measure"):
        scoring.per_query(run.docs, run.scores, judged_by(run, part), ("bpref@10",))


def test_ranks_of_judged_documents():
    docs = np.array([[2, 0, -1], [1, 2, 0], [-1, -1, -1]])
    judgements = scoring.Judgements(3, np.array([0, 0, 0, 1, 2]), np.array([0, 1, -1, 0, 0]), np.ones(5, int))
    assert scoring.ranks_of(docs, judgements).tolist() == [2, 0, 0, 3, 0]
    assert scoring.ranks_of(docs[:, :0], judgements).tolist() == [0] * 5


def test_what_cannot_be_scored():
    _, qrels, run = world(0)
    with pytest.raises(ValueError, match="at rank 1"):
        scoring.retrieval_scores(run.docs, run.scores, judged_by(run, qrels), (3, 10))
    with pytest.raises(ValueError, match="at least one query"):
        scoring.retrieval_scores(run.docs[:0], run.scores[:0], scoring.Judgements.of({}, [], run.doc_ids), KS)
