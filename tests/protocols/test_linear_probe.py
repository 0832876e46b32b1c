"""The probe against scikit-learn solved to convergence, on frozen random matrices."""

import warnings
from itertools import product

import numpy as np
import pytest
from classes import these_first
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from patent_mteb.protocols import f1_per_label, label_matrix, multi_hot, precision_at
from patent_mteb.protocols import linear_probe as module
from patent_mteb.protocols.linear_probe import C_GRID, fit_logistic, linear_probe, logistic_regression_f1

GRID = (0.01, 1.0, 100.0)


def world(n, d=24, classes=6, seed=0, dtype=np.float32):
    """Unit-length embeddings that carry overlapping labels from frequent to rare, with noise."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(classes, d))
    labels = rng.random((n, classes)) < np.geomspace(0.4, 0.04, classes)
    x = rng.normal(size=(n, d)) * 1.5 + labels @ centres + 0.5
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype), labels


SPLITS = [world(n, seed=seed) for seed, n in enumerate((500, 300, 300))]
NAMES = list("abcdef")


def reference(x, y, c):
    return LogisticRegression(C=c, tol=1e-10, max_iter=100_000, solver="newton-cholesky").fit(x.astype(np.float64), y)


def naive_probe(train, validation, test, grid):
    """One scikit-learn fit a label and C; labels that cannot be fitted predict what they saw."""

    def predict(c, x):
        columns = []
        for y in train[1].T:
            columns.append(
                np.full(len(x), y[0])
                if y.all() or not y.any()
                else reference(train[0], y, c).predict(x.astype(np.float64))
            )
        return np.array(columns).T

    def score(c, split):
        return f1_score(split[1], predict(c, split[0]), average="macro", zero_division=0)

    best = max(sorted(grid), key=lambda c: score(c, validation))
    return best, score(best, test), predict(best, test[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("c", "dtype"),
    these_first(
        product(C_GRID, (np.float32, np.float64)), *product(C_GRID[::2], (np.float32,)), (C_GRID[3], np.float64)
    ),
)
def test_decisions_are_those_of_a_converged_solver(dtype, c):
    x, labels = world(400, dtype=dtype)
    fits = fit_logistic(x, labels, c)
    assert fits.converged.all() and fits.residuals.max() <= 1e-6
    held = world(100, seed=7, dtype=dtype)[0]
    for place, y in enumerate(labels.T):
        np.testing.assert_allclose(
            fits.decide(held)[:, place], reference(x, y, c).decision_function(held.astype(np.float64)), atol=3e-6
        )


@pytest.mark.parametrize(
    ("n", "scale", "offset", "c"), [(20, 1, 0, 10.0), (200, 30, 0, 10.0), (200, 1, 5, 1.0), (200, 10, 0, 10_000.0)]
)
def test_few_rows_long_rows_shifted_rows_and_a_weak_penalty(n, scale, offset, c):
    x, labels = world(n, d=40, classes=3, seed=3)
    x = x * np.float32(scale) + np.float32(offset)
    fits = fit_logistic(x, labels, c)
    assert fits.converged.all()
    for place, y in enumerate(labels.T):
        expected = reference(x, y, c).decision_function(x.astype(np.float64))
        np.testing.assert_allclose(fits.decide(x)[:, place], expected, atol=2e-5 * scale)


def test_separable_labels_under_almost_no_penalty_reach_the_lowest_objective():
    rng = np.random.default_rng(0)
    x = world(800, d=32)[0] * np.float32(10)
    labels = x @ rng.normal(size=(32, 4)) > 0.3
    fits = fit_logistic(x, labels, 1e4)
    assert fits.converged.all()

    def objective(weights, intercept, y):
        margin = np.where(y, 1, -1) * (x.astype(np.float64) @ weights + intercept)
        return 1e4 * np.logaddexp(0, -margin).sum() + weights @ weights / 2

    for place, y in enumerate(labels.T):
        other = reference(x, y, 1e4)
        ours = objective(fits.weights[:-1, place], fits.weights[-1, place], y)
        assert ours <= objective(other.coef_[0], other.intercept_[0], y) * (1 + 1e-9)


def test_a_start_changes_nothing_but_the_way():
    x, labels = SPLITS[0]
    cold = fit_logistic(x, labels, 10.0)
    warm = fit_logistic(x, labels, 10.0, start=fit_logistic(x, labels, 9.9))
    assert warm.iterations < cold.iterations
    np.testing.assert_allclose(cold.decide(x), warm.decide(x), atol=3e-6)


def test_probe_equals_a_naive_script():
    probe = linear_probe(*SPLITS, NAMES, grid=GRID)
    c, macro, predicted = naive_probe(*SPLITS, GRID)
    assert probe.c == c
    assert probe.macro_f1 == pytest.approx(macro, abs=1e-9)
    np.testing.assert_array_equal(probe.predicted, predicted)
    np.testing.assert_allclose(list(probe.f1.values()), f1_score(SPLITS[2][1], predicted, average=None), atol=1e-9)
    assert set(probe.validation_f1) == set(GRID) and len(set(probe.validation_f1.values())) > 1
    assert (probe.untrained, probe.untested, probe.unconverged) == ((), (), ())


def test_labels_that_cannot_be_trained_or_tested_are_reported_and_counted():
    train, validation, test = ((x, y.copy()) for x, y in SPLITS)
    train[1][:, 2] = False
    train[1][:, 3] = True
    test[1][:, 4] = False
    probe = linear_probe(train, validation, test, NAMES, grid=(1.0,))
    assert probe.untrained == ("c",) and probe.untested == ("e",)
    assert probe.f1["c"] == 0 and not probe.predicted[:, 2].any() and probe.predicted[:, 3].all()
    assert probe.macro_f1 == pytest.approx(naive_probe(train, validation, test, (1.0,))[1], abs=1e-9)


def test_equal_scores_take_the_smallest_c():
    x, y = SPLITS[0]
    one = (x, np.ones_like(y))
    assert linear_probe(one, one, one, NAMES, grid=(10.0, 0.1, 1.0)).c == 0.1


def test_fits_that_stop_short_are_reported(monkeypatch):
    monkeypatch.setattr(module, "MAX_ITERATIONS", 1)
    probe = linear_probe(*SPLITS, NAMES, grid=(1.0,))
    assert {name for _, name, _ in probe.unconverged} == set(NAMES)
    assert all(c == 1.0 and residual > 1e-6 for c, _, residual in probe.unconverged)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: (s[0], s[1], (np.where(np.arange(24) == 3, np.nan, s[2][0]), s[2][1])),
            "test embeddings have NaN.* 300 of 300 rows",
        ),
        (lambda s: (s[0], (s[1][0][:, :20], s[1][1]), s[2]), "validation embeddings have 20 dimensions, expected 24"),
        (lambda s: ((s[0][0], s[0][1][:-1]), s[1], s[2]), r"train labels must be \[500, classes\]"),
        (lambda s: ((s[0][0], s[0][1][:, :5]), s[1], s[2]), "train labels have 5 classes, expected 6"),
        (lambda s: ((s[0][0], s[0][1] * 2), s[1], s[2]), "only 0 and 1"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        linear_probe(*change(SPLITS), NAMES)


@pytest.mark.parametrize("c", [0, -1, np.nan])
def test_c_must_be_positive(c):
    with pytest.raises(ValueError, match="C must be a positive number"):
        fit_logistic(*SPLITS[0], c)


def single_label(split):
    return [NAMES[row.argmax()] if row.any() else "none" for row in split[1]]


def test_single_label_probe_is_scikit_learns():
    train, _, test = SPLITS
    got = logistic_regression_f1(train[0], single_label(train), test[0], single_label(test))
    model = LogisticRegression(C=1.0, max_iter=10_000, random_state=0).fit(train[0], single_label(train))
    predicted = model.predict(test[0])
    assert got.macro_f1 == pytest.approx(f1_score(single_label(test), predicted, average="macro"), abs=1e-9)
    assert 0 < got.macro_f1 < 1 and got.solver == "lbfgs" and got.converged
    assert got.f1["a"] == pytest.approx(
        f1_score(single_label(test), predicted, labels=["a"], average="macro"), abs=1e-9
    )


def test_single_label_probe_falls_back_to_saga_and_says_so():
    train, _, test = SPLITS
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        got = logistic_regression_f1(train[0], single_label(train), test[0], single_label(test), max_iter=2)
    assert (got.solver, got.converged) == ("saga", False)


def test_single_label_probe_refuses_bad_input():
    x, y = SPLITS[0][0], single_label(SPLITS[0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        logistic_regression_f1(x, y[:-1], x, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        logistic_regression_f1(x, ["a"] * 500, x, y)


def test_label_helpers():
    labels = multi_hot([{"b"}, set(), ["a", "b"]], ["a", "b"])
    assert labels.tolist() == [[False, True], [False, False], [True, True]]
    with pytest.raises(ValueError, match="label 'z' of document 1 is not among the 2 classes"):
        multi_hot([{"a"}, {"z"}], ["a", "b"])
    assert label_matrix([[0, 1]], rows=1).dtype == bool
    rng = np.random.default_rng(0)
    true, predicted = rng.random((2, 50, 8)) < 0.3
    true[:, 7] = predicted[:, 7] = False
    np.testing.assert_allclose(
        f1_per_label(true, predicted), f1_score(true, predicted, average=None, zero_division=0), atol=1e-12
    )


def test_precision_at_takes_ties_by_class():
    true = np.array([[True, False, True, False], [False, False, False, True]])
    scores = np.array([[0.9, 0.5, 0.5, 0.1], [0.2, 0.2, 0.2, 0.2]])
    assert precision_at(true, scores, 1).tolist() == [1, 0]
    assert precision_at(true, scores, 3).tolist() == [2 / 3, 0]
    assert precision_at(true, scores, 5).tolist() == [2 / 5, 1 / 5]


def test_a_best_c_inside_the_grid_is_not_at_its_edge():
    """Two labels that a threshold on one number separates best with a middle penalty: too strong and nothing is
    predicted.
    """
    split = [[-1.0], [-0.9], [0.9], [1.0]], [[0], [0], [1], [1]]
    probe = linear_probe(split, split, split, ["G"], grid=(1e-6, 1.0, 10.0))
    assert (probe.c, probe.at_edge) == (1e-6, True)
    assert not linear_probe(split, split, split, ["G"], grid=(1.0,)).at_edge
    held = [[-1.0], [-0.9], [0.9], [1.0]], [[0], [0], [1], [1]]
    rare = [[-1.0], [-1.0], [-1.0], [1.0]], [[0], [0], [0], [1]]
    probe = linear_probe(rare, held, held, ["G"], grid=(1e-6, 10.0, 100.0))
    assert (probe.c, probe.at_edge) == (10.0, False)
