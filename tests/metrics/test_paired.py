"""The paired tests against SciPy's, effect sizes by hand, the detectable difference against the power of the t test."""

import math

import numpy as np
import pytest
from scipy import stats

from patent_mteb.metrics.significance import (
    TESTS,
    bootstrap,
    by_group,
    detectable,
    effect_sizes,
    gap_intervals,
    needed_queries,
    paired_t,
    permutation,
    smallest_difference,
    spread,
)

RNG = np.random.default_rng(4)
BASE = RNG.random(80) ** 2
SCORES = np.column_stack([np.clip(BASE + RNG.normal(shift, 0.15, 80), 0, 1) for shift in (0.0, 0.02, -0.03, 0.1)])


def test_t_is_scipys():
    result = paired_t(SCORES)
    for base in range(4):
        for other in range(4):
            expected = 1.0 if base == other else stats.ttest_rel(SCORES[:, base], SCORES[:, other]).pvalue
            assert result.p_values()[base][other] == pytest.approx(expected, rel=1e-9)
    expected = stats.t.interval(0.95, 79, SCORES.mean(axis=0), stats.sem(SCORES))
    np.testing.assert_allclose(result.intervals().T, expected)


def test_all_permutations_are_scipys_exact_test():
    few = np.round(SCORES[:11], 1)  # ties between queries, and between permutations
    result = permutation(few)
    assert result.exact and len(result.sums) == 2**11
    for base, other in ((0, 1), (0, 2), (3, 0), (2, 3)):
        expected = stats.permutation_test(
            (few[:, base], few[:, other]),
            lambda first, second: np.mean(first) - np.mean(second),
            permutation_type="samples",
            alternative="two-sided",
            n_resamples=math.inf,
        )
        assert result.p_values()[base][other] == pytest.approx(expected.pvalue, abs=1e-12)


def test_drawn_permutations_agree_with_scipys():
    result = permutation(SCORES, resamples=20_000)
    assert not result.exact
    for base, other in ((0, 1), (0, 2), (1, 2)):
        expected = stats.permutation_test(
            (SCORES[:, base], SCORES[:, other]),
            lambda first, second, axis: np.mean(first - second, axis=axis),
            permutation_type="samples",
            alternative="two-sided",
            n_resamples=20_000,
            vectorized=True,
            rng=1,
        ).pvalue
        assert result.p_values()[base][other] == pytest.approx(expected, abs=4 * math.sqrt(expected / 20_000) + 1e-4)
    assert result.p_values()[3].min() > 0
    np.testing.assert_array_equal(result.intervals(), bootstrap(SCORES).intervals())


@pytest.mark.parametrize("name", list(TESTS))
def test_equal_means_have_p_one_and_every_test_finds_a_clear_difference(name):
    scores = np.column_stack([BASE, BASE[::-1], BASE, np.clip(BASE + 0.2, 0, 2)])
    result = TESTS[name](scores)
    assert result.p_values()[0][:3].tolist() == [1, 1, 1]
    assert result.p_values()[0][3] < 1e-3
    np.testing.assert_allclose(result.means, scores.mean(axis=0), atol=1e-12)


def test_one_query_tells_nothing():
    one = np.array([[0.2, 0.7]])
    assert paired_t(one).p_values()[0].tolist() == [1, 1] and np.isinf(paired_t(one).intervals()).all()
    assert permutation(one).p_values()[0].tolist() == [1, 1]
    assert np.isnan(effect_sizes(one, 0)[1]) and detectable(one) is None
    assert needed_queries(one) is None and needed_queries(SCORES[:, :1]) is None
    np.testing.assert_array_equal(effect_sizes([[0.2, 0.7, 0.2]], 0), [0, np.nan, 0])


def test_effect_sizes_by_hand():
    found = effect_sizes(SCORES, 2)
    for model in range(4):
        gap = SCORES[:, model] - SCORES[:, 2]
        expected = 0.0 if model == 2 else gap.mean() / math.sqrt(sum((x - gap.mean()) ** 2 for x in gap) / 79)
        assert found[model] == pytest.approx(expected)
    assert np.isinf(effect_sizes(np.column_stack([np.zeros(3), np.full(3, 0.25)]), 0)[1])


def test_an_effect_size_is_never_made_of_rounding():
    """0.1 more on every query is one and the same difference, although its floats differ in the last place."""
    scores = np.linspace(0.1, 0.9, 50)
    shifted, moved_and_back = scores + 0.1, (scores + 0.3) - 0.3
    assert np.ptp(shifted - scores) > 0 and np.ptp(moved_and_back - scores) > 0
    assert effect_sizes(np.column_stack([scores, shifted, moved_and_back]), 0).tolist() == [0, np.inf, 0]


@pytest.mark.parametrize(("n", "power"), [(80, 0.8), (80, 0.9), (15, 0.8)])
def test_the_detectable_difference_is_found_with_that_power(n, power):
    scores = SCORES[:n]
    found = detectable(scores, power=power)
    spreads = [np.std(scores[:, i] - scores[:, j], ddof=1) for i in range(4) for j in range(i)]
    shift = found / (np.median(spreads) / math.sqrt(n))
    assert stats.nct.sf(stats.t.ppf(0.975, n - 1), n - 1, shift) == pytest.approx(power, abs=0.015)


def test_the_needed_queries_are_the_fewest_that_show_the_difference():
    deviation = spread(SCORES)
    for of in (0.001, 0.01, 0.05, 0.5):
        needed = needed_queries(SCORES, of)
        assert smallest_difference(needed, deviation) <= of < smallest_difference(needed - 1, deviation)
    # the normal quantiles of 97.5% and 80%; a half more is on the safe side of a rounded one
    assert needed_queries(SCORES, 0.001) == pytest.approx(((1.959964 + 0.841621) * deviation / 0.001) ** 2, abs=3)
    assert needed_queries(np.array([[0.1, 0.2], [0.4, 0.5], [0.6, 0.7]]) * 4) is None, "the same difference everywhere"


@pytest.mark.parametrize("members", [1, 4])
def test_that_many_queries_show_the_difference_in_four_of_five_cases(members):
    """Nine of ten queries are equal, as with many zeros, and families share the difficulty of their queries.

    The number comes from one set of 400 queries; sets of that many queries are then tested by the bootstrap.
    """
    rng = np.random.default_rng(5)
    n_families = 100_000 // members
    differs = np.repeat(rng.random(n_families) < 0.1, members)
    gap = np.where(
        differs, rng.choice([0.3, -0.2], len(differs)) + np.repeat(rng.normal(0, 0.2, n_families), members), 0
    )
    gap += 0.02 - gap.mean()
    scores = np.column_stack([gap, np.zeros_like(gap)])

    def rows(families):
        drawn = rng.integers(n_families, size=families)
        return scores[(drawn[:, None] * members + np.arange(members)).ravel()], np.repeat(np.arange(families), members)

    needed = [needed_queries(by_group(*rows(400 // members)), 0.02) for _ in range(40)]
    size = int(np.median(needed))
    found = [bootstrap(by_group(*rows(size)), resamples=1000).p_values()[0, 1] < 0.05 for _ in range(300)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize(("hits", "n"), [(0.04, 50), (0.04, 120), (0.3, 50)])
def test_the_interval_of_a_gap_covers_it_where_two_models_differ_on_few_queries(hits, n):
    """Two equal models find the same queries but for one in ten, and hits differ in what they count for."""
    rng = np.random.default_rng(4)
    ease = np.sqrt(0.9) * rng.standard_normal((2, n, 800))[:1] + np.sqrt(0.1) * rng.standard_normal((2, n, 800))
    found, gain = ease > stats.norm.ppf(1 - hits), np.where(rng.random((n, 800)) < 0.8, 0.2, 1.0)
    low, high = gap_intervals((found[0] * gain) - (found[1] * gain)).T
    assert np.mean((low <= 0) & (high >= 0)) > 0.93
    assert np.mean(high - low) < 0.25


def test_the_interval_of_a_gap_is_that_of_t_where_all_queries_count():
    gaps = SCORES[:, :1] - SCORES[:, 1:3]
    expected = stats.ttest_1samp(gaps, 0).confidence_interval()
    np.testing.assert_allclose(gap_intervals(gaps), np.column_stack([expected.low, expected.high]), rtol=0.05)
    assert gap_intervals(np.zeros((60, 1))).tolist() == [pytest.approx([0.025 ** (1 / 60) - 1, 1 - 0.025 ** (1 / 60)])]
