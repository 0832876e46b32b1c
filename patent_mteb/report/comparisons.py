"""Further figures of the papers: dots, differences, distributions, correlations, curves and frontiers, from tidy polars tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from patent_mteb.report.fitting import LINE, end_labels, fitted
from patent_mteb.report.style import (
    COLOURS,
    DIFFERENCES,
    GREY,
    SERIES,
    best_models,
    broken,
    cell_text,
    cut_title,
    log_ticks,
    look,
    new_figure,
    readable_on,
    require,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["curves", "differences", "distributions", "dots", "frequencies", "frontier", "rank_correlations"]

_BINS = 20
_MOST_GROUPS = 50


@styled
def dots(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """One row a model, one mark a series: query sections (WIPO-AT Fig. 5), profiles of models (WIPO-AT Fig. 18), classes and query texts
    (DAPFAM Fig. 5 and 6), families of tasks (PatenTEB Fig. 4), base models beside tuned ones (PatenTEB Fig. 3), degrees of overlap
    (PatenTEB Fig. 5), best scores elsewhere (PatenTEB Fig. 6).

    Args:
        frame: ``model, series, value``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.comparisons import dots
        >>> frame = pl.DataFrame({"model": ["m", "m"], "series": ["IN", "OUT"], "value": [0.5, 0.25]})
        >>> [line.get_label() for line in dots(frame).axes[0].lines]
        ['IN', 'OUT']
    """
    require(frame, "model", "series", "value")
    models = best_models(frame, frame["model"].n_unique())[::-1]
    names = frame["series"].unique(maintain_order=True).to_list()
    height_of = {model: height for height, model in enumerate(models)}
    figure = new_figure(6, 3)
    axes = figure.add_subplot()
    for number, name in enumerate(names):
        part = frame.filter(pl.col("series") == name)
        heights = [height_of[model] for model in part["model"]]
        axes.plot(part["value"].to_numpy(), heights, label=name, **(look(number) | {"linestyle": ""}))
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(-0.6, len(models) - 0.4)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(measure)
    figure.legend(loc="outside lower center", ncols=min(4, len(names)) if max(map(len, names)) < 24 else 1)
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 4.5, max(1.0, 0.28 * len(models)))


@styled
def differences(frame: pl.DataFrame, *, measure: str = "difference", title: str = "") -> Figure:
    """One bar a model from zero, gains and losses in two colours (WIPO-AT Fig. 8).

    Args:
        frame: ``model, value``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.comparisons import differences
        >>> figure = differences(pl.DataFrame({"model": ["a", "b"], "value": [0.01, -0.02]}))
        >>> [float(bar.get_width()) for bar in figure.axes[0].patches]
        [-0.02, 0.01]
    """
    require(frame, "model", "value")
    frame = frame.sort("value", "model")
    values = frame["value"].to_numpy()
    figure = new_figure(6, 3)
    axes = figure.add_subplot()
    axes.barh(range(len(frame)), values, 0.7, color=[COLOURS[2] if value >= 0 else COLOURS[1] for value in values])
    for height, value in enumerate(values):
        text = f"{value:+.4f}".replace("-", "−")
        axes.annotate(text, (1.02, height), xycoords=("axes fraction", "data"), va="center", fontsize=8, annotation_clip=False)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(frame)), frame["model"].to_list())
    axes.set_ylim(-0.6, len(frame) - 0.4)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(measure)
    axes.grid(visible=False, axis="y")
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 4.5, max(1.0, 0.26 * len(frame)))


@styled
def distributions(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """How the scores of single queries are distributed: the share of queries in each twentieth of the range, one row a model, one column a
    part, with the mean (WIPO-AT Fig. 20 and 21).

    Args:
        frame: ``model, part, value``, one row a query, values from 0 to 1.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.comparisons import distributions
        >>> frame = pl.DataFrame({"model": ["m"] * 4, "part": ["IN", "IN", "OUT", "OUT"], "value": [0.0, 1.0, 0.0, 0.5]})
        >>> [axes.get_title() for axes in distributions(frame).axes[:2]]
        ['IN', 'OUT']
    """
    require(frame, "model", "part", "value")
    models, parts = best_models(frame, frame["model"].n_unique()), frame["part"].unique(maintain_order=True).to_list()
    figure = new_figure(4 * len(parts), 3)
    grid = figure.subplots(1, len(parts), squeeze=False, sharey=True)
    scores = {key: rows["value"].to_numpy() for key, rows in frame.partition_by("model", "part", as_dict=True).items()}
    shares = {key: np.histogram(found, bins=_BINS, range=(0, 1))[0] / len(found) for key, found in scores.items()}
    top = max(float(share.max()) for share in shares.values())
    for axes, part in zip(grid.flat, parts, strict=True):
        image = axes.imshow(
            np.stack([shares.get((model, part), np.zeros(_BINS)) for model in models]),
            cmap="cividis",
            vmin=0,
            vmax=top,
            aspect="auto",
            extent=(0, 1, len(models), 0),
        )
        for height, model in enumerate(models):
            if (model, part) in scores:
                text = f"{scores[model, part].mean():.3f}"
                axes.annotate(
                    text, (1.02, height + 0.5), xycoords=("axes fraction", "data"), va="center", fontsize=8, annotation_clip=False
                )
        axes.set_yticks(np.arange(len(models)) + 0.5, models)
        axes.set_title(part, fontsize=10)
        axes.set_xlabel(measure)
        axes.grid(visible=False)
    figure.colorbar(image, ax=grid, label="share of queries", location="bottom", shrink=0.5, pad=0.02)
    figure.suptitle(broken(f"{title}\nbehind each row the mean"), fontsize=11)
    return fitted(figure, 3, max(1.0, 0.26 * len(models)))


@styled
def frequencies(frame: pl.DataFrame, *, groups_are: str, counted: str = "families", title: str = "") -> Figure:
    """How often each group occurs in each series, as shares of the series: IPC domains (DAPFAM Fig. 2) or first claim years (DAPFAM Fig. 3)
    of queries and targets. Numbers are in their order, names by their share, at most the fifty most frequent.

    Args:
        frame: ``series, group, count``.
        groups_are: what the axis shows.
        counted: what was counted.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.comparisons import frequencies
        >>> rows = [("queries", "G06F", 3), ("queries", "A61K", 1), ("targets", "G06F", 5)]
        >>> figure = frequencies(pl.DataFrame(rows, schema=["series", "group", "count"], orient="row"), groups_are="IPC domain")
        >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
        ['G06F', 'A61K']
        >>> [float(bar.get_height()) for bar in figure.axes[0].containers[0]]
        [75.0, 25.0]
    """
    require(frame, "series", "group", "count")
    shares = frame.with_columns(share=100 * pl.col("count") / pl.col("count").sum().over("series"))
    named = frame["group"].dtype == pl.String
    totals = shares.group_by("group", maintain_order=True).agg(pl.col("share").sum()).sort("share", descending=True, maintain_order=True)
    groups = (totals.head(_MOST_GROUPS) if named else totals.sort("group"))["group"].to_list()
    series = frame["series"].unique(maintain_order=True).to_list()
    width = 0.8 / len(series)
    figure = new_figure(6, 3)
    axes = figure.add_subplot()
    for number, name in enumerate(series):
        known = dict(shares.filter(series=name).select("group", "share").iter_rows())
        size = frame.filter(series=name)["count"].sum()
        places = np.arange(len(groups)) + (number - (len(series) - 1) / 2) * width
        heights = [known.get(group, 0.0) for group in groups]
        axes.bar(places, heights, width, color=COLOURS[number % len(COLOURS)], label=f"{name}, n {size:,}")
    axes.set_xticks(range(len(groups)), map(str, groups), rotation=90)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.set_xlabel(groups_are)
    axes.set_ylabel(f"% of {counted}")
    axes.grid(visible=False, axis="x")
    figure.legend(loc="outside lower center", ncols=min(4, len(series)))
    cut = f"\nthe {len(groups)} most frequent of {len(totals)}" if len(groups) < len(totals) else ""
    figure.suptitle(broken(title + cut), fontsize=11)
    return fitted(figure, max(4.0, 0.2 * len(groups)), 2.6)


@styled
def rank_correlations(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Spearman's correlation of the rankings of models by each two groups of tasks, over the models that have both (WIPO-AT Fig. 19).

    Args:
        frame: ``model, group, value``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.comparisons import rank_correlations
        >>> rows = [(m, g, v * (1 if g == "x" else -1)) for m, v in zip("abc", (1, 2, 3)) for g in ("x", "y")]
        >>> figure = rank_correlations(pl.DataFrame(rows, schema=["model", "group", "value"], orient="row"))
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['1.00', '−1.00', '−1.00', '1.00']
    """
    from scipy.stats import spearmanr

    require(frame, "model", "group", "value")
    groups = frame["group"].unique(maintain_order=True).to_list()
    wide = frame.pivot("group", index="model", values="value")
    found = np.full((len(groups), len(groups)), np.nan)
    for row, first in enumerate(groups):
        for column, second in enumerate(groups):
            both = wide.select(a=first, b=second).drop_nulls()
            if len(both) > 2 and both["a"].n_unique() > 1 and both["b"].n_unique() > 1:
                found[row, column] = spearmanr(both["a"], both["b"]).statistic
    figure = new_figure(4, 4)
    axes = figure.add_subplot()
    image = axes.imshow(np.ma.masked_invalid(found), cmap=DIFFERENCES, vmin=-1, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(found):
        text = "–" if np.isnan(value) else f"{value:.2f}".replace("-", "−")
        colour = GREY if np.isnan(value) else readable_on(image.cmap((value + 1) / 2))
        cell_text(axes, row, column, text, colour)
    axes.set_xticks(range(len(groups)), groups, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(groups)), groups)
    axes.grid(visible=False)
    figure.colorbar(image, ax=axes, label="Spearman's ρ")
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 0.5 * len(groups), 0.3 * len(groups))


@styled
def curves(
    frame: pl.DataFrame, *, x: str, measure: str = "score", title: str = "", log: bool = False, ticks: Sequence[float] | None = None
) -> Figure:
    """One line a model against anything: publication years (Sophia-Bench Fig. 6, DAPFAM Fig. 4), lengths of passages (DAPFAM Fig. 7),
    layers that are kept (PatenTEB Fig. 11); at most twelve models, the best ones.

    Args:
        frame: ``model, x, value``.
        x: what the axis shows.
        log: a logarithmic axis.
        ticks: its ticks; those of the table if None and there are few.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.comparisons import curves
        >>> figure = curves(pl.DataFrame({"model": ["m", "m"], "x": [2016, 2017], "value": [0.5, 0.25]}), x="publication year")
        >>> figure.axes[0].lines[0].get_ydata().tolist()
        [0.5, 0.25]
    """
    require(frame, "model", "x", "value")
    models = best_models(frame, SERIES)
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    ends = []
    for series, model in enumerate(models):
        curve = frame.filter(pl.col("model") == model).sort("x")
        axes.plot(curve["x"].to_numpy(), curve["value"].to_numpy(), label=model, **look(series))
        ends.append((model, float(curve["x"][-1]), float(curve["value"][-1]), look(series)["color"]))
    if log:
        axes.set_xscale("log")
        axes.minorticks_off()
    known = sorted(set(frame["x"].to_list())) if ticks is None else list(ticks)
    if len(known) <= SERIES:
        axes.set_xticks(known, [f"{tick:g}" for tick in known], rotation=90)
    axes.set_xlabel(x)
    axes.set_ylabel(measure)
    height = max(3.4, LINE * len(models))
    end_labels(axes, ends, height)
    figure.suptitle(broken(cut_title(title, len(models), frame["model"].n_unique())), fontsize=11)
    return fitted(figure, 5, height)


@styled
def frontier(frame: pl.DataFrame, *, cost: str = "seconds", measure: str = "score", title: str = "") -> Figure:
    """Score against cost, and the line of those that nothing cheaper equals (DAPFAM Fig. 8, PatenTEB Fig. 7).

    Args:
        frame: ``model, cost, value``, costs above 0.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.comparisons import frontier
        >>> figure = frontier(pl.DataFrame({"model": ["a", "b", "c"], "cost": [1.0, 2.0, 3.0], "value": [0.2, 0.5, 0.4]}))
        >>> figure.axes[0].lines[1].get_xdata().tolist()
        [1.0, 2.0]
    """
    require(frame, "model", "cost", "value")
    frame = frame.sort("cost", "value", descending=[False, True])
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    xs, ys = frame["cost"].to_numpy(), frame["value"].to_numpy()
    axes.plot(xs, ys, "o", color=COLOURS[0], markersize=7)
    best = np.r_[-np.inf, np.maximum.accumulate(ys)[:-1]]
    axes.plot(xs[ys > best], ys[ys > best], drawstyle="steps-post", color=COLOURS[1], linewidth=1.2, label="nothing cheaper is as good")
    axes.set_xscale("log")
    axes.margins(x=0.1, y=0.12)
    axes.minorticks_off()
    axes.set_xticks(log_ticks(float(xs.min()), float(xs.max())))
    axes.xaxis.set_major_formatter("{x:.3g}")
    axes.set_xlabel(cost)
    axes.set_ylabel(measure)
    height = max(3.4, LINE * len(frame))
    end_labels(axes, [(model, x, y, GREY) for model, x, y in zip(frame["model"], xs, ys, strict=True)], height)
    figure.legend(loc="outside lower center")
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 5, height)
