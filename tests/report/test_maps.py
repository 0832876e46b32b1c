"""Maps of embeddings: projections and coloured points."""

import numpy as np
import polars as pl
import pytest

from patent_mteb.report import drawing
from patent_mteb.report.collect import ReportError

pytest.importorskip("matplotlib")


def test_embedding_map_of_two_models():
    rng = np.random.default_rng(0)
    labels = [f"class {number % 9}" for number in range(90)]
    points = drawing.project(rng.random((90, 8)))
    frame = pl.concat(
        [pl.DataFrame({"model": model, "x": points[:, 0], "y": points[:, 1], "label": labels}) for model in ("a", "b")]
    )
    first, second = drawing.embedding_map(frame).axes
    for axes in (first, second):
        counts = {collection.get_label(): len(collection.get_offsets()) for collection in axes.collections}
        assert counts == {"other classes": 30, **{f"class {number}": 10 for number in range(6)}}


def test_projection_is_the_principal_components():
    from sklearn.decomposition import PCA

    vectors = np.random.default_rng(0).random((50, 12)) * np.arange(1, 13)
    points = drawing.project(vectors)
    reference = PCA(2, svd_solver="full").fit_transform(vectors)
    assert np.abs(points) == pytest.approx(np.abs(reference), abs=1e-9)
    assert drawing.project(vectors[:, :1]).shape == (50, 2)


def test_projection_refuses_too_few_embeddings():
    with pytest.raises(ReportError, match="at least three"):
        drawing.project(np.zeros((2, 4)))
