"""The bootstrap against loops over the same resamples and SciPy, its resamples against their distribution, joint p
values against the text of their papers.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from patent_mteb.metrics import significance as module
from patent_mteb.metrics.significance import (
    TESTS,
    bootstrap,
    bootstraps,
    by_group,
    compare,
    counts,
    difference_interval,
    holm,
    p_text,
)

RNG = np.random.default_rng(0)
BASE = RNG.random(300) ** 2
SCORES = np.stack(
    [np.clip(BASE + RNG.normal(shift, 0.15, 300), 0, 1) for shift in (0.0, 0.01, -0.02, 0.012, 0.1)], axis=1
)
SCORES[RNG.random(SCORES.shape) < 0.3] = 0


def drawn_means(scores, resamples, seed):
    """Mean of each model over each resample, one drawn query at a time, summed without rounding."""
    for block in counts(len(scores), resamples, seed):
        for row in block:
            queries = np.repeat(np.arange(len(scores)), row)
            yield [math.fsum(scores[queries, model]) / len(queries) for model in range(scores.shape[1])]


def test_equal_to_a_naive_loop_with_the_same_resamples():
    result = bootstrap(SCORES, resamples=1500, seed=42)
    naive = np.array(list(drawn_means(SCORES, 1500, 42)))
    np.testing.assert_allclose(result.resampled, naive, atol=1e-12)
    p, observed = result.p_values(), SCORES.mean(axis=0)
    np.testing.assert_allclose(result.means, observed, atol=1e-12)
    apart = (naive - observed) * math.sqrt(300 / 299)
    for first in range(5):
        assert p[first, first] == 1
        for second in range(first):
            high, low = sorted((first, second), key=lambda model: -observed[model])
            gap = observed[high] - observed[low]
            expected = (sum(abs(row[high] - row[low]) >= gap for row in apart.tolist()) + 1) / 1501
            assert p[first, second] == p[second, first] == expected
            expected = (sum(means[low] >= means[high] for means in naive.tolist()) + 1) / 1501
            assert result.paper_p(np.array([first]), np.array([second])) == expected
    assert len(np.unique(p)) == 11


def test_joint_p_values_step_down_from_the_largest_difference():
    """Romano and Wolf 2005, algorithm 4.1, by its text: of the pairs that are left, the largest difference of each
    resample is compared with the largest observed one.
    """
    result, observed = bootstrap(SCORES, resamples=700), SCORES.mean(axis=0)
    apart = (result.resampled - observed) * math.sqrt(300 / 299)
    left = sorted(combinations(range(5), 2), key=lambda pair: -abs(observed[pair[0]] - observed[pair[1]]))
    above, joint = 0.0, result.joint()
    while left:
        first, second = left[0]
        largest = np.max([np.abs(apart[:, one] - apart[:, other]) for one, other in left], axis=0)
        above = max(above, ((largest >= abs(observed[first] - observed[second])).sum() + 1) / 701)
        assert joint[first, second] == joint[second, first] == above
        left.pop(0)
    assert (joint >= result.p_values()).all() and 0.01 < joint[0, 2] < 1


@pytest.mark.parametrize("test", list(TESTS))
def test_equal_models_are_rarely_called_different(test):
    """22 equal models, 300 sets of 60 queries with many zeros: some pair differs in 5% of the sets, not in 40."""
    rng = np.random.default_rng(17)
    wrong = np.zeros(2)
    for _ in range(300):
        easy = rng.random((60, 1))
        scores = np.clip(easy + rng.normal(-0.2, 0.3, (60, 22)), 0, 1)
        result = bootstrap(scores, resamples=400) if test == "bootstrap" else TESTS[test](scores[:, :6])
        wrong += (result.joint() < 0.05).any(), result.p_values()[0, 1] < 0.05
    assert wrong[0] <= 24 and wrong[1] <= 24, wrong  # 15 are expected, and 24 or fewer in 99% of cases


def test_a_model_and_its_copy_with_other_rounding_cannot_be_told_apart():
    """The copy is better on each of the five queries where it differs: a sign test has a p value of 1/16."""
    copy = BASE.copy()
    copy[:5] += 0.01
    result = bootstrap(np.column_stack([BASE, copy, copy + 1e-12]))
    assert result.paper_p(np.array([0]), np.array([1])) < 0.01
    assert result.p_values()[0, 1] == pytest.approx(1 / 16) and result.joint()[0, 1] >= 1 / 16
    assert result.p_values()[1, 2] == 1


def test_tables_of_equally_many_queries_share_resamples_and_change_no_result():
    tables = [SCORES[:, :2], 1e-3 * SCORES[:, 2:], SCORES[:, [4]]]
    for own, table in zip(compare("bootstrap", tables), tables, strict=True):
        alone = bootstrap(table)
        np.testing.assert_array_equal(own.resampled, alone.resampled)
        np.testing.assert_array_equal(own.means, alone.means)
    naive = np.array(list(drawn_means(tables[1], 200, 7)))
    np.testing.assert_allclose(bootstraps(tables, resamples=200, seed=7)[1].resampled, naive, rtol=1e-12)
    for test in ("t", "permutation"):
        for own, table in zip(compare(test, tables), tables, strict=True):
            np.testing.assert_array_equal(own.means, TESTS[test](table).means)


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_intervals_are_scipys_bca_intervals(level):
    few = SCORES[:60] ** 3  # skewed
    wanted = stats.bootstrap((few,), np.mean, n_resamples=40_000, confidence_level=level, method="BCa", rng=3)
    ends = np.stack(wanted.confidence_interval, axis=1)
    found = bootstrap(few, resamples=40_000).intervals(level)
    np.testing.assert_allclose(found, ends, atol=0.0015)  # two draws: the limits vary by a 25th of a standard error
    percentiles = np.percentile(bootstrap(few).resampled, [50 - 50 * level, 50 + 50 * level], axis=0).T
    assert (found - percentiles).min() > 0, "the scores are skewed to the right"


def test_equal_scores_are_their_own_interval():
    assert bootstrap(np.full((60, 1), 0.25)).intervals().tolist() == [[0.25, 0.25]]


def test_the_interval_of_few_scores_above_zero_reaches_to_that_of_their_share():
    """Two hits of .5 among 50: SciPy's exact interval of the share 2/50 ends at .137; with a third hit of 1 the mean of
    hits is 2/3.
    """
    scores = np.zeros((50, 3))
    scores[:2, 0] = 0.5
    scores[:, 2] = -scores[:, 0]
    share = stats.binomtest(2, 50).proportion_ci(0.95, "exact").high
    (low, high), nothing, below = bootstrap(scores).intervals().tolist()
    assert low == pytest.approx(0, abs=0.01) and high == pytest.approx(share * 2 / 3)
    assert nothing == pytest.approx([0, stats.binomtest(0, 50).proportion_ci(0.95, "exact").high])
    assert below[1] <= 0
    families = by_group(scores[:, :1], np.arange(50) // 2)  # rows without a hit are 0 up to rounding
    share = stats.binomtest(1, 25).proportion_ci(0.95, "exact").high
    assert bootstrap(families).intervals()[0, 1] == pytest.approx(share * (0.5 + 1) / 2)


@pytest.mark.parametrize("low", [0.3, 0.1])
def test_an_interval_covers_the_mean_where_few_queries_are_found_and_some_count_for_much_more(low):
    """86% of the queries score 0, four of five others ``low`` and one 1: of 50 queries seven are above zero."""
    rng = np.random.default_rng(8)
    found, full = rng.random((2, 50, 1500)) < np.array([0.14, 0.2])[:, None, None]
    ends = bootstrap(np.where(found, np.where(full, 1, low), 0), resamples=1000).intervals()
    truth = 0.14 * (0.2 + 0.8 * low)
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) > 0.94


def test_the_interval_of_few_scores_below_one_reaches_down_as_far():
    """All of 50 queries perfect: SciPy's exact interval of the share 50/50; the mirror of few scores above zero."""
    scores = np.zeros((50, 2))
    scores[:2, 1] = 0.5
    ends, mirrored = bootstrap(scores).intervals(), bootstrap(1 - scores).intervals()
    np.testing.assert_allclose(mirrored, 1 - ends[:, ::-1], atol=0.003)
    assert mirrored[0].tolist() == [pytest.approx(stats.binomtest(50, 50).proportion_ci(0.95, "exact").low), 1.0]


def test_defaults_are_the_papers():
    assert bootstrap(SCORES).resampled.shape == (10_000, 5)
    np.testing.assert_array_equal(bootstrap(SCORES).resampled, bootstrap(SCORES, resamples=10_000, seed=42).resampled)
    assert not np.array_equal(bootstrap(SCORES).resampled, bootstrap(SCORES, seed=43).resampled)


def test_threads_do_not_matter(monkeypatch):
    kept = bootstrap(SCORES, resamples=420)
    np.testing.assert_array_equal(kept.resampled, bootstrap(SCORES[:, ::-1], resamples=420).resampled[:, ::-1])
    monkeypatch.setattr(module, "_KEPT", 0)
    np.testing.assert_array_equal(kept.resampled, bootstrap(SCORES, resamples=420).resampled)
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 300 * 50)
    one, three = (bootstrap(SCORES, resamples=420, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.resampled, three.resampled)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 400])
def test_every_resample_has_n_draws(n):
    blocks = list(counts(n, 1000, 42))
    assert sum(len(block) for block in blocks) == 1000
    assert all((block.sum(axis=1) == n).all() for block in blocks)


def test_resamples_of_four_are_multinomial():
    """All 35 count vectors of 4 draws from 4 queries, by their probabilities 4! / (prod counts!) / 4^4."""
    rows = np.concatenate(list(counts(4, 40_000, 3)))
    seen = {
        tuple(map(int, vector)): int(times)
        for vector, times in zip(*np.unique(rows, axis=0, return_counts=True), strict=True)
    }
    expected = {
        v: 24 / np.prod([math.factorial(c) for c in v]) / 256 * 40_000 for v in np.ndindex(5, 5, 5, 5) if sum(v) == 4
    }
    assert stats.chisquare([seen.get(v, 0) for v in expected], list(expected.values())).pvalue > 0.001


@pytest.mark.parametrize("n", [10, 50, 2000])
def test_counts_of_one_query_and_of_a_pair_are_those_of_draws_with_replacement(n):
    """Binomial(n, 1/n) for each query; -1/n covariance of two queries; where Poisson counts are drawn (n > 9) as where
    not.
    """
    rows = np.concatenate(list(counts(n, 400_000 // n + 200, 5))).astype(np.int64)
    observed = np.bincount(rows.ravel(), minlength=8)
    expected = stats.binom.pmf(np.arange(5), n, 1 / n) * rows.size
    merged = [*observed[:5], observed[5:].sum()]
    assert stats.chisquare(merged, [*expected, rows.size - expected.sum()]).pvalue > 1e-3
    assert rows[:, : n // 2].sum(axis=1).var() == pytest.approx(n // 2 * (1 - n // 2 / n), rel=0.2)
    assert rows.mean(axis=0) == pytest.approx(np.ones(n), abs=6 / np.sqrt(len(rows)))


def test_models_that_differ_on_one_query_are_not_called_different():
    """B is never above A, but ties with it where the one query is not drawn: (3/4)^4 of the time."""
    scores = np.array([[0.7, 0.2], [0.1, 0.1], [0.3, 0.3], [1 / 3, 1 / 3]])
    assert bootstrap(scores).paper_p(np.array([0]), np.array([1])) == pytest.approx(0.75**4, abs=0.02)
    assert bootstrap(scores).p_values()[0, 1] == 1


def test_no_p_is_below_one_of_the_resamples_and_one():
    apart = np.column_stack([BASE, BASE + 1])
    for resamples in (1, 99, 10_000):
        result = bootstrap(apart, resamples=resamples)
        assert result.p_values()[0, 1] == result.joint()[0, 1] == 1 / (resamples + 1)


def test_means_tie_exactly_where_the_same_scores_are_drawn_for_both():
    scores = np.array([[0.1, 0], [0.7, 0], [1 / 3, 1 / 3], [0, 0.7], [0, 0.1]])
    result = bootstrap(scores, resamples=4000)
    drawn = np.concatenate(list(counts(5, 4000, 42)))
    expected = (drawn[:, 0] == drawn[:, 4]) & (drawn[:, 1] == drawn[:, 3])
    np.testing.assert_array_equal(result.resampled[:, 0] == result.resampled[:, 1], expected)
    assert 0.02 < expected.mean() < 0.5
    np.testing.assert_array_equal(bootstrap(scores[:, ::-1], resamples=4000).resampled, result.resampled[:, ::-1])


@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1e6, 1e100])
def test_scale_does_not_matter(scale):
    scaled, plain = (bootstrap(scores, resamples=400) for scores in (SCORES * scale, SCORES))
    np.testing.assert_array_equal(scaled.p_values(), plain.p_values())
    np.testing.assert_array_equal(scaled.joint(), plain.joint())
    np.testing.assert_allclose(scaled.intervals(), plain.intervals() * scale, rtol=1e-6)


def test_queries_of_one_family_are_drawn_together():
    """60 families of 1 to 7 queries with much in common: SciPy's bootstrap of a ratio over families, and the same mean."""
    rng = np.random.default_rng(8)
    family = np.repeat(np.arange(60), rng.integers(1, 8, 60))
    scores = np.clip(rng.random(60)[family] + rng.normal(0, 0.1, len(family)), 0, 1)
    result = bootstrap(by_group(scores[:, None], rng.permutation(100)[family]))
    assert len(result.scores) == 60 and result.means[0] == pytest.approx(scores.mean(), abs=1e-12)
    sums, sizes = np.bincount(family, scores), np.bincount(family)
    wanted = stats.bootstrap(
        (sums, sizes), lambda total, n, axis: total.sum(axis) / n.sum(axis), paired=True, n_resamples=9999, rng=1
    ).confidence_interval
    width = wanted.high - wanted.low
    assert result.intervals()[0] == pytest.approx([wanted.low, wanted.high], abs=0.06 * width)
    apart = bootstrap(scores[:, None]).intervals()[0]
    assert np.ptp(apart) < 0.7 * width
    assert by_group(SCORES, np.arange(300)) is SCORES


def test_zeros_only():
    assert bootstrap(np.zeros((5, 2)), resamples=10).p_values()[0, 1] == 1


def test_bad_scores_are_refused():
    broken = SCORES.copy()
    broken[7, 2] = np.nan
    with pytest.raises(ValueError, match="1 scores are NaN or infinite, first that of model 2 for query 7"):
        bootstrap(broken)
    with pytest.raises(ValueError, match=r"got shape \(300,\)"):
        bootstrap(BASE)
    with pytest.raises(ValueError, match=r"got shape \(0, 2\)"):
        bootstrap(np.zeros((0, 2)))


def test_corrections():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.03, 0.9])
    np.testing.assert_allclose(holm(p), [0.05, 0.12, 0.12, 0.03, 0.12, 0.9])
    rng = np.random.default_rng(2)
    for _ in range(20):
        p = rng.random(12) ** 3
        naive = [max(min(1, (12 - rank) * q) for rank, q in enumerate(sorted(p)) if q <= own) for own in p]
        np.testing.assert_allclose(holm(p), naive)
    assert len(holm([])) == 0
    np.testing.assert_array_equal(holm([1.0, 0.0]), [1.0, 0.0])
    for bad in ([0.1, np.nan], [1.5], [[0.1]]):
        with pytest.raises(ValueError, match="p values"):
            holm(bad)


def test_a_hundred_models_that_are_far_apart_are_found_different():
    """10,000 resamples know no p below 0.0001, which Holm's correction over all 4,950 pairs would bring to 0.5."""
    apart = np.arange(100.0) + RNG.normal(0, 0.1, (30, 1))
    upper = np.triu_indices(100, 1)
    assert bootstrap(apart).joint()[upper].max() < 0.001
    assert holm(np.full(4950, 1 / 10_001)).min() > 0.05


def test_p_in_print():
    assert [p_text(p) for p in (0, 1 / 10_001)] == ["< 0.0001"] * 2
    assert [p_text(p) for p in (0.0001, 0.04999, 1.0)] == ["0.0001", "0.0500", "1.0000"]


def test_the_interval_of_a_difference_is_that_of_independent_means_and_wider_than_the_paired_one():
    first, second = SCORES[:, 4], SCORES[:, 0]
    limits = bootstrap(np.column_stack([first, second])).intervals()
    found = difference_interval(first.mean(), tuple(limits[0]), second.mean(), tuple(limits[1]))
    rng = np.random.default_rng(3)

    def resampled(values):
        return rng.choice(values, (20_000, len(values))).mean(axis=1)

    independent = np.percentile(resampled(first) - resampled(second), [2.5, 97.5])
    paired = np.percentile(resampled(first - second), [2.5, 97.5])
    assert found == pytest.approx(independent, abs=0.05 * np.ptp(independent))
    assert found[0] < paired[0] and paired[1] < found[1]


def test_the_interval_of_a_difference_by_hand():
    """Zou and Donner 2008: L = a - b - sqrt((a - la)^2 + (ub - b)^2), U = a - b + sqrt((ua - a)^2 + (b - lb)^2); no two
    distances equal.
    """
    first, second = (0.50, (0.47, 0.62)), (0.30, (0.22, 0.36))  # distances 0.03, 0.12 and 0.08, 0.06
    low, high = difference_interval(first[0], first[1], second[0], second[1])
    assert low == pytest.approx(0.20 - math.sqrt(0.03**2 + 0.06**2), abs=1e-12)
    assert high == pytest.approx(0.20 + math.sqrt(0.12**2 + 0.08**2), abs=1e-12)
    back = difference_interval(second[0], second[1], first[0], first[1])
    assert back == pytest.approx((-high, -low), abs=1e-12)
