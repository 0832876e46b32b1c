"""nAUC against mteb's own; many measures at once are, to the last digit, what each is alone."""

import numpy as np
import pytest
from mteb._evaluators.retrieval_metrics import nauc as mteb_nauc

from patent_mteb.metrics.measures import confidences, naucs


def nauc(confidence, values):
    return naucs({"": confidence}, {"": values})["nauc__"]


@pytest.mark.parametrize("seed", range(5))
def test_nauc_of_one_measure(seed):
    draw = np.random.default_rng(seed)
    confidence, values = draw.integers(0, 9, 60).astype(float), draw.random(60)
    assert nauc(confidence, values) == pytest.approx(mteb_nauc(confidence, values), abs=1e-12)
    assert nauc(values, values) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="at least one query"):
        nauc(values[:0], values[:0])


@pytest.mark.parametrize("queries", [1, 7, 400, 1043])
def test_all_at_once_are_those_of_each_alone(queries):
    draw = np.random.default_rng(queries)
    by = {"max": draw.random(queries), "std": draw.integers(0, 5, queries).astype(float)}
    of = {f"m{k}": draw.integers(0, 4, queries) / draw.integers(1, 5, queries) for k in range(20)}
    together = naucs(by, of)
    assert list(together) == [f"nauc_{measure}_{name}" for measure in of for name in by]
    np.testing.assert_array_equal(
        list(together.values()), [nauc(by[name], of[measure]) for measure in of for name in by]
    )


def test_confidences_are_those_of_the_scores_of_each_ranking():
    draw = np.random.default_rng(3)
    rows = [np.sort(draw.random(length).astype(np.float32).astype(float))[::-1] for length in (5, 0, 1, 8, 2, 8)]
    docs, scores = np.full((6, 8), -1), np.zeros((6, 8), np.float32)
    for place, row in enumerate(rows):
        docs[place, : len(row)], scores[place, : len(row)] = np.arange(len(row)), row
    found = confidences(docs, scores)
    np.testing.assert_allclose(found["max"], [row[0] if len(row) else 0 for row in rows], atol=1e-12)
    np.testing.assert_allclose(found["std"], [row.std() if len(row) else 0 for row in rows], atol=1e-12)
    np.testing.assert_allclose(found["diff1"], [row[0] - row[1] if len(row) > 1 else 0 for row in rows], atol=1e-12)
