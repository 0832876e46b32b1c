"""Distillation: its projection is that of scikit-learn and of NumPy. test_held_out.py trains a student."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from patent_mteb.errors import DataError
from patent_mteb.training.distilling import projection_of, sampled, student_layers
from patent_mteb.training.recipes import LAYERS


def test_layers_are_those_of_the_paper():
    assert LAYERS == {
        12: (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22),
        8: (0, 3, 6, 9, 12, 15, 18, 21),
        6: (0, 4, 8, 12, 16, 20),
        4: (0, 6, 12, 18),
        2: (0, 12),
    }
    with pytest.raises(DataError, match="2 layers at regular distances cannot be chosen from a teacher of 7 layers"):
        student_layers(7, (0, 12))


def test_projection_spans_the_principal_components():
    """In blocks of any size: against the exact components (scikit-learn) and the eigenvectors of the covariance
    (NumPy).
    """
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(403, 6)) * [9, 7, 5, 0.2, 0.1, 0.1] @ rng.normal(size=(6, 20)) + 3).astype(np.float32)
    found = projection_of(iter(np.array_split(rows, 7)), 3, 64)
    exact = PCA(3).fit(rows).components_
    vectors = np.linalg.eigh(np.cov(rows.T))[1][:, -3:]
    assert found.shape == (3, 20)
    np.testing.assert_allclose(found.T @ found, exact.T @ exact, atol=0.01)
    np.testing.assert_allclose(found.T @ found, vectors @ vectors.T, atol=0.01)
    with pytest.raises(DataError, match="2 texts are too few for a projection to 3 dimensions"):
        projection_of(iter([rows[:2]]), 3, 64)


def test_the_sample_of_the_projection_is_of_all_texts():
    drawn = list(sampled(lambda: iter(range(1000)), 300))
    assert len(drawn) == len(set(drawn)) == 300 and drawn == sorted(drawn)
    assert 430 < np.mean(drawn) < 570, "the paper samples; it does not take the first"
    assert (
        drawn == list(sampled(lambda: iter(range(1000)), 300)) != list(sampled(lambda: iter(range(1000)), 300, seed=7))
    )
