"""Geometry on hand-made cases and against the formulas written as loops."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cosine, pdist
from scipy.stats import entropy

from patent_mteb.metrics import embedding_geometry as module
from patent_mteb.metrics.embedding_geometry import (
    alignment,
    ida_ratio,
    intra_document_distances,
    random_pair_distance,
    spectrum_divergence,
    uniformity,
)

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(60, 8)) * np.linspace(3, 0.2, 8) + 0.5).astype(np.float32)
UNIT = X.astype(float) / np.linalg.norm(X.astype(float), axis=1, keepdims=True)
OWNERS = np.array([f"d{n}" for n in np.sort(RNG.integers(0, 25, 60))])


def test_alignment_by_hand_and_as_a_loop():
    assert alignment([[1, 0], [0, 2]], [[3, 0], [0, -1]]) == pytest.approx((0 + 4) / 2)
    assert alignment([[1, 0]], [[0, 5]]) == pytest.approx(2)
    naive = np.mean([np.linalg.norm(a - b) ** 2 for a, b in zip(UNIT[:30], UNIT[30:], strict=True)])
    assert alignment(X[:30], X[30:]) == pytest.approx(naive, abs=1e-12)


@pytest.mark.parametrize("block", [1024, 7])
def test_uniformity_over_all_pairs_equals_scipy(monkeypatch, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    assert uniformity(X, pairs=None) == pytest.approx(
        np.log(np.mean(np.exp(-2 * pdist(UNIT, "sqeuclidean")))), abs=1e-12
    )


def test_uniformity_of_drawn_pairs():
    everything = uniformity(X, pairs=None)
    drawn = uniformity(X)
    assert drawn == uniformity(X) != uniformity(X, seed=1)
    assert drawn == pytest.approx(everything, abs=0.05)
    assert uniformity(X, pairs=400_000) == pytest.approx(everything, abs=0.01)


def test_spectrum_by_hand():
    """Points at +-e1, +-e2 have two equal singular values; in d = 2 the divergence is 0, in d = 4 it is half of log
    4.
    """
    square = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    assert spectrum_divergence(square) == pytest.approx(0, abs=1e-12)
    assert spectrum_divergence(np.pad(square, ((0, 0), (0, 2)))) == pytest.approx(0.5)
    assert spectrum_divergence([[1, 0, 0], [-7, 0, 0]]) == pytest.approx(1)


@pytest.mark.parametrize("rows", [60, 5])
def test_spectrum_equals_the_divergence_from_uniform(rows):
    centred = UNIT[:rows] - UNIT[:rows].mean(axis=0)
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(centred.T @ centred), 0))
    shares = values / values.sum()
    assert spectrum_divergence(X[:rows]) == pytest.approx(entropy(shares, np.full(8, 1 / 8)) / np.log(8), abs=1e-6)


def test_ida_by_hand():
    """Document a: two sections at right angles, distance 1; b: two sections in one direction, distance 0; c: one
    section.
    """
    sections = [[1, 0], [0, 1], [2, 0], [3, 0], [0, -1]]
    got = ida_ratio(sections, ["a", "a", "b", "b", "c"], pairs=None)
    across = [0, 0, 1, 1, 1, 2, 1, 1]  # a1 b1, a1 b2, a2 b1, a2 b2, a1 c, a2 c, b1 c, b2 c
    assert (got.intra, got.documents, got.excluded) == (pytest.approx(0.5), 2, 1)
    assert got.random == pytest.approx(np.mean(across))
    assert got.ratio == pytest.approx(0.5 / np.mean(across))


def test_ida_equals_loops():
    names, distances = intra_document_distances(X, OWNERS)
    naive = {}
    for name in np.unique(OWNERS):
        rows = np.flatnonzero(name == OWNERS)
        if len(rows) > 1:
            naive[name] = np.mean([cosine(UNIT[i], UNIT[j]) for i, j in combinations(rows, 2)])
    assert names.tolist() == list(naive)
    np.testing.assert_allclose(distances, list(naive.values()), atol=1e-12)
    across = np.mean([cosine(UNIT[i], UNIT[j]) for i, j in combinations(range(60), 2) if OWNERS[i] != OWNERS[j]])
    got = ida_ratio(X, OWNERS, pairs=None)
    assert got.random == pytest.approx(across, abs=1e-12)
    assert got.ratio == pytest.approx(np.mean(list(naive.values())) / across, abs=1e-12)
    assert got.excluded == len(np.unique(OWNERS)) - len(naive)


def test_random_pairs_never_join_one_document():
    """Two documents that oppose each other: any pair within one has distance 0, any across has 2."""
    x = [[1, 0]] * 9 + [[-1, 0]]
    assert random_pair_distance(x, ["a"] * 9 + ["b"]) == pytest.approx(2)
    drawn = random_pair_distance(X, OWNERS)
    assert drawn == random_pair_distance(X, OWNERS) != random_pair_distance(X, OWNERS, seed=1)
    assert drawn == pytest.approx(random_pair_distance(X, OWNERS, pairs=None), abs=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alignment([[1.0, np.nan]], [[1, 0]]), "first embeddings have NaN or infinite values in 1 of 1 rows"),
        (lambda: alignment([[1, 0]], [[1, 0, 0]]), "second embeddings have 3 dimensions, expected 2"),
        (lambda: alignment([[1, 0]], [[1, 0], [0, 1]]), "1 first and 2 second"),
        (lambda: uniformity([[1, 0], [0, 0]]), "1 rows of zeros, which have no direction; first row 1"),
        (lambda: uniformity([[1, 0]]), "at least two"),
        (lambda: spectrum_divergence([[1], [2]]), "two dimensions"),
        (lambda: spectrum_divergence([[1, 2], [2, 4], [3, 6]]), "same direction"),
        (lambda: ida_ratio([[1, 0], [0, 1]], ["a"]), r"got shape \(1,\)"),
        (lambda: ida_ratio([[1, 0], [0, 1]], ["a", "b"]), "no document has two sections"),
        (lambda: ida_ratio([[1, 0], [0, 1]], ["a", "a"]), "at least two documents"),
        (lambda: ida_ratio([[1, 0], [1, 0], [2, 0]], ["a", "a", "b"]), "the ratio is undefined"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
