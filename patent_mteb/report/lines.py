"""Curves of a report: fusion weights, truncated vectors, recall; each line is named at its end (extra ``report``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from patent_mteb.report.fitting import LINE, end_labels, fitted
from patent_mteb.report.style import GREY, SERIES, best_models, broken, cut_title, look, new_figure, require, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["alpha_curve", "recall_curves", "truncation_curves"]

_LEVEL = 4
"""Ranks that have room beside each other."""


@styled
def alpha_curve(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Fusion against the weight of the dense system, with a star where it stands alone (WIPO-AT Fig. 3).

    Args:
        frame: ``model, alpha, value``; rows at alpha 1 are the dense system alone.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.lines import alpha_curve
        >>> frame = pl.DataFrame({"model": ["m"] * 3, "alpha": [0.0, 0.5, 1.0], "value": [0.3, 0.5, 0.4]})
        >>> len(alpha_curve(frame, measure="nDCG@10").axes)
        1
    """
    require(frame, "model", "alpha", "value")
    models = best_models(frame, SERIES)
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    ends = []
    for series, model in enumerate(models):
        curve, line = frame.filter(pl.col("model") == model).sort("alpha"), look(series)
        fused, alone = curve.filter(pl.col("alpha") < 1), curve.filter(pl.col("alpha") == 1)
        star = {"color": line["color"], "markersize": 15, "markeredgecolor": "white", "clip_on": False}
        axes.plot(fused["alpha"].to_numpy(), fused["value"].to_numpy(), label=model, **line)
        axes.plot(alone["alpha"].to_numpy(), alone["value"].to_numpy(), "*", **star)
        ends.append((model, *curve.select("alpha", "value").row(-1), line["color"]))
    (key,) = axes.plot([], [], "*", color=GREY, markersize=13, label="dense system alone (α = 1)")
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks(np.arange(0, 1.01, 0.1))
    axes.set_xlabel("α, weight of the dense system (0: the other system alone)")
    axes.set_ylabel(measure)
    height = max(3.4, LINE * len(models))
    end_labels(axes, ends, height)
    figure.suptitle(broken(cut_title(title, len(models), frame["model"].n_unique())), fontsize=11)
    figure.legend(handles=[key], loc="outside lower center")
    return fitted(figure, 5, height)


@styled
def truncation_curves(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Score and retained share against the dimensions that are kept; dashed at 90% (WIPO-AT Fig. 11).

    Args:
        frame: ``model, dims, value, full``; the row of the full width has ``full`` set, its ``dims`` may be missing.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.lines import truncation_curves
        >>> frame = pl.DataFrame({"model": ["m"] * 2, "dims": [64, 256], "value": [0.25, 0.5], "full": [False, True]})
        >>> len(truncation_curves(frame).axes)
        2
    """
    require(frame, "model", "dims", "value", "full")
    models = best_models(frame, SERIES)
    known = frame["dims"].drop_nulls()
    widest = int(known.max()) if len(known) else 1  # type: ignore[arg-type]
    unknown = frame.filter("full")["dims"].null_count() > 0
    figure = new_figure(9, 4)
    left, right = figure.subplots(1, 2)
    ends = []
    for series, model in enumerate(models):
        curve = frame.filter(pl.col("model") == model).with_columns(pl.col("dims").fill_null(2 * widest)).sort("dims")
        left.plot(curve["dims"].to_numpy(), curve["value"].to_numpy(), label=model, **look(series))
        full = curve.filter("full")["value"]
        share = 100 / full[0] if len(full) and full[0] else 0.0
        if share:
            right.plot(curve["dims"].to_numpy(), share * curve["value"].to_numpy(), **look(series))
        ends.append((model, curve["dims"][-1], (share or 1.0) * curve["value"][-1], look(series)["color"], right if share else left))
    right.axhline(90, color=GREY, linestyle="--", linewidth=1)
    right.text(0.99, 90, "90%", transform=right.get_yaxis_transform(), ha="right", va="bottom", color=GREY, fontsize=9)
    ticks = sorted(set(known.to_list()))
    for axes, label in ((left, measure), (right, "share of the full width's score (%)")):
        axes.set_xscale("log", base=2)
        axes.set_xticks([*ticks, *([2 * widest] if unknown else [])], [*map(str, ticks), *(["full"] if unknown else [])])
        axes.minorticks_off()
        axes.set_xlabel("dimensions")
        axes.set_ylabel(label)
    height = max(3.4, LINE * len(models))
    for axes in (left, right):
        end_labels(axes, [end[:4] for end in ends if end[4] is axes], height)
    figure.suptitle(broken(cut_title(title, len(models), frame["model"].n_unique())), fontsize=11)
    return fitted(figure, max(3.6, 0.4 * (len(ticks) + 1)), height)


@styled
def recall_curves(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Recall@k against k (Sophia-Bench Fig. 4).

    Args:
        frame: ``model, k, value``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.lines import recall_curves
        >>> len(recall_curves(pl.DataFrame({"model": ["m"] * 2, "k": [1, 10], "value": [0.25, 0.5]})).axes)
        1
    """
    require(frame, "model", "k", "value")
    models = best_models(frame, SERIES)
    ticks = sorted(set(frame["k"]))
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    ends = []
    for series, model in enumerate(models):
        curve = frame.filter(pl.col("model") == model).sort("k")
        axes.plot(curve["k"].to_numpy(), curve["value"].to_numpy(), label=model, **look(series))
        ends.append((model, *curve.select("k", "value").row(-1), look(series)["color"]))
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{k:,}" for k in ticks], rotation=0 if len(ticks) <= _LEVEL else 90)
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("k")
    axes.set_ylabel("Recall@k")
    height = max(3.4, LINE * len(models))
    end_labels(axes, ends, height)
    figure.suptitle(broken(cut_title(title, len(models), frame["model"].n_unique())), fontsize=11)
    return fitted(figure, 5, height)
