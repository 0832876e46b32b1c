"""Intervals against a naive bootstrap that draws documents one by one and scores each draw with scikit-learn."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import f1_score, v_measure_score

from patent_mteb import protocols
from patent_mteb.protocols import macro_f1_interval, mean_interval, pearson_interval, v_measure_interval

RNG = np.random.default_rng(3)
N = 150
TRUE = RNG.random((N, 4)) < [0.5, 0.3, 0.1, 0.02]
PREDICTED = TRUE ^ (RNG.random((N, 4)) < 0.15)
CLASSES = RNG.choice(list("abcde"), N)
ASSIGNED = np.where(RNG.random(N) < 0.6, np.searchsorted(list("abcde"), CLASSES), RNG.integers(0, 7, N))


def macro_f1(rows):
    return f1_score(TRUE[rows], PREDICTED[rows], average="macro", zero_division=0)


def v_measure(rows):
    return v_measure_score(CLASSES[rows], ASSIGNED[rows])


SIMILAR = ASSIGNED + 3 * RNG.random(N)


def mean(rows):
    return TRUE[rows, 0].mean()


def pearson(rows):
    return pearsonr(ASSIGNED[rows], SIMILAR[rows])[0]


def naive(score, resamples):
    rng = np.random.default_rng(11)
    values = np.array([score(rng.integers(0, N, N)) for _ in range(resamples)])
    observed = score(np.arange(N))
    return observed, observed + np.percentile(values - values.mean(), [2.5, 97.5])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "resamples", "interval"),
    [
        (mean, 3_000, lambda **more: mean_interval(TRUE[:, 0], **more)),
        (pearson, 3_000, lambda **more: pearson_interval(ASSIGNED, SIMILAR, **more)),
    ],
)
def test_intervals_equal_a_naive_bootstrap(score, resamples, interval):
    observed, expected = naive(score, resamples)
    width = expected[1] - expected[0]
    assert interval(resamples=20_000) == pytest.approx(expected, abs=0.04 * width)
    assert interval() == pytest.approx(expected, abs=0.12 * width)
    low, high = interval()
    assert low < observed < high and 0.02 < width < 0.4
    assert interval() == interval() != interval(seed=1)


def test_draws_are_scored_as_scikit_learn_scores_the_repeated_documents(monkeypatch):
    """With one draw, both limits are the observed score; with given draws they are what scikit-learn says of them."""

    drawn = np.stack([np.bincount(RNG.integers(0, N, N), minlength=N) for _ in range(5)]).astype(np.uint8)
    monkeypatch.setattr(protocols, "counts", lambda n, resamples, seed: iter([drawn[:2], drawn[2:]]))
    for score, found in (
        (macro_f1, macro_f1_interval(TRUE, PREDICTED)),
        (v_measure, v_measure_interval(CLASSES, ASSIGNED)),
    ):
        values = np.array([score(np.repeat(np.arange(N), row)) for row in drawn])
        assert found == pytest.approx(
            score(np.arange(N)) + np.percentile(values - values.mean(), [2.5, 97.5]), abs=1e-9
        )


def test_limits_stay_within_0_and_1_and_one_cluster_of_one_class_is_right():
    low, high = macro_f1_interval(TRUE[:, :1], TRUE[:, :1] ^ (np.arange(N) == np.argmax(TRUE[:, 0]))[:, None])
    assert 0.95 < low < high == 1.0
    assert v_measure_interval(["a", "a"], [3, 3]) == (1.0, 1.0)
    assert v_measure_interval(["a", "b"] * 20, [0] * 40) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_a_correlation_may_be_negative_and_a_draw_without_spread_counts_as_0():
    assert pearson_interval([0, 1, 2, 3], [3, 2, 1, 0])[0] == -1.0
    low, high = pearson_interval([0, 1], [0, 1])
    assert low == pytest.approx(0.5, abs=0.05) and high == 1.0  # half of the draws have both pairs


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="could not be broadcast"):
        pearson_interval([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="must have the same shape"):
        v_measure_interval(["a", "b"], [0, 1, 1])
    with pytest.raises(ValueError, match=r"predicted labels must be \[2"):
        macro_f1_interval([[1], [0]], [[1]])
