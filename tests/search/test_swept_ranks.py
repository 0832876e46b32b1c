"""Ranks and scores of a sweep by counting: those of the rankings that are sorted, document by document, also where
scores are equal.
"""

import numpy as np
import pytest

from patent_mteb.errors import ModelError
from patent_mteb.metrics.measures import Judged, Judgements
from patent_mteb.search.fusion import RRF, Linear, sweep, sweep_ranks, sweep_scores
from patent_mteb.search.run import Run, ranked_ids

DOCS = ranked_ids(f"d{i}" for i in range(60))
SETTINGS = [*(Linear(alpha) for alpha in (0, 0.1, 0.5, 0.7, 1)), *(RRF(k) for k in (0, 10, 60))]
MEASURES = ["ndcg@10", "recall@5", "map@1000", "mrr@100"]


def random_run(seed, ties, n_queries=150):
    draw = np.random.default_rng(seed)
    results = {}
    for query in range(n_queries):
        chosen = draw.choice(DOCS, draw.integers(0, 40), replace=False)
        scores = draw.choice([-0.0, 0.0, 1.0, 2.0], len(chosen)) if ties else draw.normal(size=len(chosen))
        results[f"q{query}"] = dict(zip(chosen.tolist(), scores.tolist(), strict=True))
    return Run.from_dict(results, list(results), DOCS)


def random_qrels(seed, queries):
    draw = np.random.default_rng(seed)
    judged = {
        query: draw.choice([*DOCS, "elsewhere"], draw.integers(0, 9), replace=False).tolist() for query in queries
    }
    return {query: {document: int(draw.integers(0, 3)) for document in found} for query, found in judged.items()}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("top_k", [7, 1000])
def test_ranks_and_scores_are_those_of_the_rankings(ties, top_k):
    first, second = random_run(1, ties), random_run(2, ties)
    qrels = random_qrels(3, first.query_ids)
    judged = Judgements.of(qrels, first.query_ids, {document: place for place, document in enumerate(DOCS)})
    shuffled = np.random.default_rng(4).permutation(len(judged.query))
    judged = Judgements(
        judged.n_queries, *(column[shuffled] for column in (judged.query, judged.document, judged.gain))
    )
    ranks = sweep_ranks(first, second, SETTINGS, judged, top_k)
    scores = sweep_scores(first, second, SETTINGS, qrels, MEASURES, top_k)
    assert ranks.shape == (len(SETTINGS), len(judged.query)) and 0 < (ranks > 0).mean() < 1
    for run, found, by_query in zip(sweep(first, second, SETTINGS, top_k), ranks, scores, strict=True):
        rankings = {query: list(ranking) for query, ranking in run.to_dict().items()}
        for query, document, rank in zip(judged.query, judged.document, found, strict=True):
            ranking = rankings[run.query_ids[query]]
            name = DOCS[document] if document >= 0 else "elsewhere"
            assert rank == (ranking.index(name) + 1 if name in ranking else 0)
        expected = Judged(run.docs, qrels, run.query_ids, run.doc_ids).scores(MEASURES)
        assert by_query.queries == expected.queries
        for measure in MEASURES:
            np.testing.assert_array_equal(by_query.scores[measure], expected.scores[measure])


def test_what_cannot_be_fused_is_refused_and_nothing_judged_is_no_error():
    run = random_run(5, True, 3)
    assert [scores.queries for scores in sweep_scores(run, run, [RRF()], {}, MEASURES)] == [()]
    empty = Run.from_dict({"q": {}}, ["q"], DOCS)
    assert sweep_scores(empty, empty, [Linear()], {"q": {"d1": 1}}, ["mrr@10"])[0].means() == {"mrr@10": 0.0}
    with pytest.raises(ModelError, match="same queries"):
        sweep_scores(run, Run(run.query_ids, DOCS[1:], run.docs, run.scores), [RRF()], {}, MEASURES)
