"""Fusion against its parameter: the constant of reciprocal rank fusion, and the weight of interpolation (extra ``plots``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from patent_mteb.report.fitting import fitted
from patent_mteb.report.style import GREY, broken, look, new_figure, require, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["fusion_curves"]

_PANELS = {"rrf": "k of reciprocal rank fusion", "linear": "α, weight of the second run"}
_PARTS = {"": "ALL", "in_": "IN", "out_": "OUT"}


@styled
def fusion_curves(frame: pl.DataFrame, score: str, *, measure: str = "score", title: str = "") -> Figure:
    """One panel a method, one curve for ALL, IN and OUT each; dashed is the best single run (by ALL).

    Args:
        frame: of :func:`patent_mteb.experiments.fusing.fuse_runs`.
        score: the column to draw; those of IN and OUT are drawn where they are there.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.fusion_plots import fusion_curves
        >>> columns = {"name": ["a", "b", "x", "y"], "method": ["", "", "rrf", "rrf"], "parameter": [None, None, 10.0, 60.0]}
        >>> len(fusion_curves(pl.DataFrame({**columns, "ndcg_at_100": [0.2, 0.3, 0.31, 0.32]}), "ndcg_at_100").axes)
        1
    """
    require(frame, "name", "method", "parameter", score)
    drawn = frame.filter(pl.col("parameter").is_not_null())
    methods = [method for method in _PANELS if method in drawn["method"]]
    best = frame.filter(method="").sort(score, descending=True).row(0, named=True)
    figure = new_figure(max(len(methods), 1) * 4.0, 3.4)
    for place, method in enumerate(methods):
        axes = figure.add_subplot(1, len(methods), place + 1)
        curve = drawn.filter(method=method).sort("parameter")
        for series, (part, shown) in enumerate((part, shown) for part, shown in _PARTS.items() if f"{part}{score}" in frame.columns):
            line = look(series)
            axes.plot(curve["parameter"].to_numpy(), curve[f"{part}{score}"].to_numpy(), label=shown, **line)
            axes.axhline(best[f"{part}{score}"], color=line["color"], linestyle="--", linewidth=1)
        axes.set_xlabel(_PANELS[method])
        axes.set_ylabel(measure)
    if methods:
        figure.axes[0].plot([], [], "--", color=GREY, label=f"best single run ({best['name']})")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 3.4, 2.8)
