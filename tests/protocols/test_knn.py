"""The neighbour table and the votes against scikit-learn and against full sorts."""

from itertools import product

import numpy as np
import pytest
from classes import these_first
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier

from patent_mteb.protocols import knn as module
from patent_mteb.protocols import precision_at
from patent_mteb.protocols.knn import WIPO_AT_KS, class_shares, knn, majority_vote, neighbours


def world(n, seed, classes=5, d=16):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(classes, d))
    labels = rng.random((n, classes)) < np.linspace(0.5, 0.2, classes)
    x = rng.normal(size=(n, d)) + labels @ centres
    return x.astype(np.float32), labels


TRAIN, TEST = world(400, 0), world(120, 2)
NAMES = list("abcde")


def unit(x):
    x = x.astype(np.float64)
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)


def full_sort(train, queries, k):
    """Every cosine as one exact sum a pair, sorted by (-cosine, row)."""
    cosines = np.array([[(a * b).sum() for b in unit(train)] for a in unit(queries)])
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entries", "k"),
    these_first(
        product((1 << 24, 400 * 7, 1), (1, 20, 400)),
        (1 << 24, 20),
        (400 * 7, 1),
        (400 * 7, 20),
        (400 * 7, 400),
        (1, 20),
    ),
)
def test_table_equals_a_full_sort_whatever_the_block(monkeypatch, entries, k):
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", entries)
    np.testing.assert_array_equal(neighbours(TRAIN[0], TEST[0], k), full_sort(TRAIN[0], TEST[0], k))


@pytest.mark.slow
def test_many_columns_use_groups():
    train, queries = world(6000, 5)[0], world(30, 6)[0]
    np.testing.assert_array_equal(neighbours(train, queries, 10), full_sort(train, queries, 10))


def test_copies_are_ordered_by_row_even_across_the_last_place():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(7, 33)).astype(np.float32)
    train = base[rng.integers(0, 7, 900)]
    table = neighbours(train, base, 50)
    for row, found in zip(base, table, strict=True):
        assert found.tolist() == np.flatnonzero((train == row).all(axis=1))[:50].tolist()


def test_rows_that_are_equal_in_single_precision_are_distinguished():
    angles = np.array([3e-5, 1e-5, 2e-5, 0.5])
    train = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert neighbours(train, [[1.0, 0.0]], 3).tolist() == [[1, 2, 0]]
    assert len(set((train[:3].astype(np.float32) @ np.float32([1, 0])).tolist())) == 1


def test_length_does_not_matter_and_a_zero_row_is_orthogonal_to_all():
    train = [[0.0, 0.0], [10.0, 1.0], [-1.0, 0.0], [0.1, 0.0]]
    assert neighbours(train, [[2.0, 0.0], [0.0, 0.0]], 4).tolist() == [[3, 1, 0, 2], [0, 1, 2, 3]]


def test_votes_and_scores_equal_scikit_learn():
    result = knn(TRAIN, TEST, NAMES)
    table = neighbours(TRAIN[0], TEST[0], 20)
    votes = majority_vote(table, TRAIN[1], WIPO_AT_KS)
    scores = class_shares(TRAIN, TEST[0], WIPO_AT_KS)
    for k in WIPO_AT_KS:
        model = KNeighborsClassifier(n_neighbors=k, metric="cosine", algorithm="brute").fit(
            TRAIN[0].astype(float), TRAIN[1].astype(int)
        )
        predicted = model.predict(TEST[0].astype(float))
        np.testing.assert_array_equal(votes[k], predicted)
        assert result.macro_f1[k] == pytest.approx(
            f1_score(TEST[1], predicted, average="macro", zero_division=0), abs=1e-9
        )
        shares = np.array([proba[:, 1] for proba in model.predict_proba(TEST[0].astype(float))]).T
        np.testing.assert_allclose(scores[k], shares, atol=1e-12)
    assert len(set(result.macro_f1.values())) == 5
    assert result.macro_f1[result.best_k] == max(result.macro_f1.values())
    np.testing.assert_array_equal(result.predicted, votes[result.best_k])


def test_half_of_the_neighbours_is_no_majority():
    table = np.array([[0, 1, 2, 3]])
    labels = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]])
    votes = majority_vote(table, labels, [2, 4, 1, 3])
    assert {k: votes[k].tolist() for k in (1, 2, 3, 4)} == {
        1: [[True, True, False]],
        2: [[True, False, False]],
        3: [[True, True, False]],
        4: [[True, False, False]],
    }


def naive_precision(k, cutoff):
    total = 0.0
    for row, true in zip(full_sort(TRAIN[0], TEST[0], k), TEST[1], strict=True):
        means = TRAIN[1][row].mean(axis=0)
        top = sorted(range(5), key=lambda c: (-means[c], c))[:cutoff]
        total += len({*np.flatnonzero(true)} & {*top}) / cutoff
    return total / len(TEST[0])


@pytest.mark.slow
def test_ranked_classes_equal_a_naive_loop():
    for k, shares in class_shares(TRAIN, TEST[0], (10, 3)).items():
        for cutoff in (1, 3, 5):
            found = precision_at(TEST[1], shares, cutoff).mean()
            assert found == pytest.approx(naive_precision(k, cutoff), abs=1e-12)


def test_bad_input_is_refused():
    x, y = TRAIN
    with pytest.raises(
        ValueError, match="test embeddings have NaN or infinite values in 1 of 120 rows, first in row 3"
    ):
        knn(TRAIN, (np.where(np.arange(120)[:, None] == 3, np.inf, TEST[0]), TEST[1]), NAMES)
    with pytest.raises(ValueError, match="query embeddings have 4 dimensions, expected 16"):
        neighbours(x, TEST[0][:, :4], 3)
    with pytest.raises(ValueError, match="k = 401 neighbours of 400 training rows"):
        neighbours(x, TEST[0], 401)
    with pytest.raises(ValueError, match=r"train labels must be \[400"):
        class_shares((x, y[:-1]), TEST[0], (10,))
