"""Maps of embeddings: texts as points in two dimensions, coloured by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from patent_mteb.report.collect import ReportError
from patent_mteb.report.fitting import fitted
from patent_mteb.report.style import COLOURS, MARKERS, PANELS, broken, new_figure, require, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["embedding_map", "project"]


def project(embeddings: np.ndarray, method: str = "auto", seed: int = 42) -> tuple[np.ndarray, str]:
    """Two coordinates for each embedding, by UMAP if it is installed, else by principal components.

    Args:
        embeddings: [n, d].
        method: ``auto``, ``umap`` or ``pca``.

    Returns:
        array [n, 2] and the name of the method that was used.

    Raises:
        ReportError: ``umap`` was asked for and is not installed, or there are fewer than three embeddings.

    Example:
        >>> import numpy as np
        >>> from patent_mteb.report.maps import project
        >>> points, method = project(np.eye(5), "pca")
        >>> points.shape, method
        ((5, 2), 'PCA')
    """
    vectors = np.asarray(embeddings, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) < 3:
        raise ReportError(f"a map needs at least three embeddings as a matrix, not an array of shape {vectors.shape}")
    if method not in ("auto", "umap", "pca"):
        raise ReportError(f"no projection '{method}'; know auto, umap and pca")
    if method != "pca":
        try:
            import umap
        except ImportError as error:
            if method == "umap":
                raise ReportError("UMAP is not installed. Remedy: pip install umap-learn, or use pca") from error
        else:
            return np.asarray(umap.UMAP(random_state=seed, metric="cosine").fit_transform(vectors)), "UMAP"
    centred = vectors - vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    points = left[:, :2] * singular[:2]
    if points.shape[1] < 2:
        points = np.hstack([points, np.zeros((len(points), 2 - points.shape[1]))])
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    return points * np.where(signs == 0, 1, signs), "PCA"


@styled
def embedding_map(frame: pl.DataFrame, *, method: str = "", title: str = "") -> Figure:
    """Points of texts, coloured by class, one panel a model (WIPO-AT Fig. 14).

    Args:
        frame: ``model, x, y, label``, the points as of :func:`project`. The six largest classes have a colour, the rest is grey.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.maps import embedding_map
        >>> frame = pl.DataFrame({"model": ["m", "m"], "x": [0.0, 1.0], "y": [0.0, 2.0], "label": ["H01", "C02"]})
        >>> len(embedding_map(frame, method="PCA", title="Classes").axes)
        1
    """
    require(frame, "model", "x", "y", "label")
    models = frame["model"].unique(maintain_order=True).to_list()[:PANELS]
    sizes = frame.group_by("label").len().sort("len", "label", descending=[True, False])["label"].to_list()
    named = sizes if len(sizes) <= len(COLOURS) else sizes[: len(COLOURS) - 1]
    columns = min(2, len(models))
    rows = -(-len(models) // columns)
    figure = new_figure(5 * columns, 1 + 4.2 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, model in zip(grid.flat, models, strict=False):
        points = frame.filter(pl.col("model") == model)
        rest = points.filter(~pl.col("label").is_in(named))
        common: dict[str, Any] = {"s": 22, "linewidths": 0.3, "edgecolors": "white"}
        if len(rest):
            axes.scatter(rest["x"].to_numpy(), rest["y"].to_numpy(), color="#bbbbbb", marker=".", label="other classes", **common)
        for label, colour, marker in zip(named, COLOURS, MARKERS, strict=False):
            members = points.filter(pl.col("label") == label)
            axes.scatter(members["x"].to_numpy(), members["y"].to_numpy(), color=colour, marker=marker, label=label, **common)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(broken(model, 40), fontsize=10)
    for axes in grid.flat[len(models) :]:
        axes.set_visible(False)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=1 if max(map(len, labels)) > 40 else 2, markerscale=1.6)
    figure.suptitle(broken(" ".join(filter(None, (title, f"({method})" if method else "")))), fontsize=11)
    return fitted(figure, 3.6, 3.2)
