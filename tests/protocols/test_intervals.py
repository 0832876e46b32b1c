"""Intervals against scores of scikit-learn without each document, and how often they cover the truth."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score, v_measure_score

from patent_mteb.protocols import (
    effective_rows,
    macro_f1_interval,
    pearson_interval,
    share_interval,
    v_measure_interval,
)
from patent_mteb.protocols.clustering import SEEDS, minibatch_cluster

RNG = np.random.default_rng(3)
N = 150
TRUE = RNG.random((N, 4)) < [0.5, 0.3, 0.1, 0.02]
PREDICTED = TRUE ^ (RNG.random((N, 4)) < 0.15)
CLASSES = RNG.choice(list("abcde"), N)
ASSIGNED = np.where(RNG.random(N) < 0.6, np.searchsorted(list("abcde"), CLASSES), RNG.integers(0, 7, N))
SIMILAR = ASSIGNED + 3 * RNG.random(N)


def macro_f1(rows):
    return f1_score(TRUE[rows], PREDICTED[rows], average="macro", zero_division=0)


def v_measure(rows):
    return v_measure_score(CLASSES[rows], ASSIGNED[rows])


def z_of_pearson(rows):
    return np.arctanh(stats.pearsonr(ASSIGNED[rows], SIMILAR[rows])[0])


def by_definition(score):
    """The jackknife, one document at a time; the degrees of freedom are those of Satterthwaite for a mean of squares."""
    without = np.array([score(np.delete(np.arange(N), row)) for row in range(N)])
    squares = (without - without.mean()) ** 2
    error = np.sqrt((N - 1) / N * squares.sum())
    freedom = min(2 * squares.mean() ** 2 / (squares.var() / N), N - 1)
    return score(np.arange(N)) + stats.t.ppf([0.025, 0.975], freedom) * error


@pytest.mark.parametrize(
    ("score", "found"),
    [
        (macro_f1, macro_f1_interval(TRUE, PREDICTED)),
        (v_measure, v_measure_interval(CLASSES, ASSIGNED)),
        (z_of_pearson, np.arctanh(pearson_interval(ASSIGNED, SIMILAR))),
    ],
)
def test_intervals_are_those_of_the_jackknife(score, found):
    expected = by_definition(score)
    assert found == pytest.approx(expected, abs=1e-9)
    assert 0.02 < np.ptp(expected) < 0.5


@pytest.mark.parametrize("hits", [0, 1, 40, 119, 120])
def test_the_interval_of_a_share_is_wilsons(hits):
    values = np.arange(120) < hits
    expected = stats.binomtest(hits, 120).proportion_ci(method="wilson")
    assert share_interval(values) == pytest.approx((expected.low, expected.high), abs=1e-7)


def test_limits_stay_within_0_and_1_and_a_score_that_no_document_changes_is_not_certain():
    low, high = macro_f1_interval(TRUE[:, :1], TRUE[:, :1] ^ (np.arange(N) == np.argmax(TRUE[:, 0]))[:, None])
    assert 0.9 < low < high == 1.0
    assert macro_f1_interval(TRUE[:, :1], TRUE[:, :1]) == (pytest.approx(0.025 ** (1 / N)), 1.0)
    assert macro_f1_interval(TRUE[:, :1], ~TRUE[:, :1]) == (0.0, pytest.approx(1 - 0.025 ** (1 / N)))
    assert v_measure_interval(["a", "b"] * 20, [1, 0] * 20) == (pytest.approx(0.025 ** (1 / 40)), 1.0)
    assert v_measure_interval(["a"], [3]) == (pytest.approx(0.025), 1.0)
    low, high = v_measure_interval(["a", "b"] * 20, [0] * 40)
    assert low == 0.0 < high < 0.1


def test_the_interval_of_v_measure_holds_the_variation_of_seeds():
    whole = v_measure(np.arange(N))
    seeds = [whole, whole + 0.05, whole - 0.02, whole - 0.04]
    alone = by_definition(v_measure)[1] - whole
    expected = np.hypot(alone, stats.t.ppf(0.975, 3) * np.std(seeds, ddof=1))
    assert v_measure_interval(CLASSES, ASSIGNED, seeds) == pytest.approx((whole - expected, whole + expected))
    assert v_measure_interval(CLASSES, ASSIGNED, [whole] * 5) == pytest.approx((whole - alone, whole + alone))
    assert v_measure_interval(["a", "b"] * 20, [1, 0] * 20, [1.0, 0.0]) == (0.0, 1.0)


def test_the_interval_of_v_measure_covers_what_k_means_of_other_sets_and_starts_find():
    rng, sets, centres = np.random.default_rng(0), 40, np.random.default_rng(6).standard_normal((6, 32))
    found = []
    for _ in range(sets):
        classes = rng.integers(6, size=120)
        points = centres[classes] + 1.5 * rng.standard_normal((120, 32))
        of_seeds = [minibatch_cluster(points, classes, seed=seed) for seed in SEEDS]
        scores = [one.v_measure for one in of_seeds]
        limits = [v_measure_interval(classes, of_seeds[0].assigned, some) for some in ((), scores)]
        found.append((scores[0], *limits[0], *limits[1]))
    score, low, high, low_of_seeds, high_of_seeds = np.transpose(found)
    truth = score.mean()
    assert np.mean((truth < low) | (truth > high)) > 0.2, "of these clusters alone"
    assert np.mean((truth < low_of_seeds) | (truth > high_of_seeds)) <= 0.1


def test_a_correlation_may_be_negative_and_three_pairs_say_nothing():
    assert pearson_interval([0, 1, 2, 3], [3, 2, 1, 0]) == (pytest.approx(-1), pytest.approx(-1))
    assert pearson_interval([0, 1, 1], [0, 1, 0]) == (-1.0, 1.0)
    low, high = pearson_interval([0, 1] * 20, [3.0] * 40)
    assert low < 0 < high


def test_effective_rows():
    assert effective_rows([25] * 4) == pytest.approx(100)
    assert effective_rows([1] * 30) == pytest.approx(30)
    assert effective_rows([1000, 1000, 2]) == pytest.approx(2, abs=0.02), "the rare class decides"
    assert effective_rows([1000, 1000, 0]) == effective_rows([1000, 1000, 1])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="could not be broadcast"):
        pearson_interval([0, 1, 1, 0], [0, 1, 1])
    with pytest.raises(ValueError, match="must have the same shape"):
        v_measure_interval(["a", "b"], [0, 1, 1])
    with pytest.raises(ValueError, match=r"predicted labels must be \[2"):
        macro_f1_interval([[1], [0]], [[1]])
