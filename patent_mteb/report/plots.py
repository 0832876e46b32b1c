"""The plots of a report: one function each, from a tidy polars table to a matplotlib figure (extra ``plots``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from patent_mteb.metrics.slices import JURISDICTION_GROUPS
from patent_mteb.report.style import (
    COLOURS,
    GREY,
    PANELS,
    SERIES,
    best_models,
    cut_title,
    look,
    new_figure,
    readable_on,
    require,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "alpha_curve",
    "in_out_bars",
    "jurisdiction_heatmap",
    "rank_summary",
    "recall_curves",
    "scale_scatter",
    "section_heatmaps",
    "truncation_curves",
]

_BEHIND_TEXT = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}


@styled
def in_out_bars(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """IN beside OUT of domain, with the relative loss (WIPO-AT Fig. 2).

    Args:
        frame: ``model, in, out``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import in_out_bars
        >>> len(in_out_bars(pl.DataFrame({"model": ["m"], "in": [0.5], "out": [0.25]})).axes)
        1
    """
    require(frame, "model", "in", "out")
    frame = frame.sort("in", "model")
    figure = new_figure(8, 1.5 + 0.5 * len(frame))
    axes = figure.add_subplot()
    heights = np.arange(len(frame))
    for column, offset, colour, hatch in (("in", 0.2, COLOURS[0], ""), ("out", -0.2, COLOURS[4], "///")):
        axes.barh(
            heights + offset,
            frame[column].to_numpy(),
            0.38,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=f"{column.upper()} of domain",
        )
    for height, (inside, outside) in enumerate(frame.select("in", "out").iter_rows()):
        axes.text(inside, height + 0.2, f" {inside:.3f}", va="center", fontsize=9, bbox=_BEHIND_TEXT)
        loss = f", {100 * (outside - inside) / inside:+.0f}%".replace("-", "−") if inside else ""
        axes.text(outside, height - 0.2, f" {outside:.3f}{loss}", va="center", fontsize=9, bbox=_BEHIND_TEXT)
    axes.set_yticks(heights, frame["model"].to_list())
    axes.set_xlim(0, 1.18 * max(1e-9, float(np.nanmax(frame.select("in", "out").to_numpy()))))
    axes.set_xlabel(measure)
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=2)
    axes.set_title(title, loc="left")
    return figure


@styled
def alpha_curve(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Fusion against the weight of the dense system, with a star where it stands alone (WIPO-AT Fig. 3).

    Args:
        frame: ``model, alpha, value``; rows at alpha 1 are the dense system alone.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import alpha_curve
        >>> frame = pl.DataFrame({"model": ["m"] * 3, "alpha": [0.0, 0.5, 1.0], "value": [0.3, 0.5, 0.4]})
        >>> len(alpha_curve(frame, measure="nDCG@10").axes)
        1
    """
    require(frame, "model", "alpha", "value")
    models = best_models(frame, SERIES)
    figure = new_figure(7.5, 4.6)
    axes = figure.add_subplot()
    for series, model in enumerate(models):
        curve, line = frame.filter(pl.col("model") == model).sort("alpha"), look(series)
        fused, alone = curve.filter(pl.col("alpha") < 1), curve.filter(pl.col("alpha") == 1)
        star = {"color": line["color"], "markersize": 15, "markeredgecolor": "white", "clip_on": False}
        axes.plot(fused["alpha"].to_numpy(), fused["value"].to_numpy(), label=model, **line)
        axes.plot(alone["alpha"].to_numpy(), alone["value"].to_numpy(), "*", **star)
    axes.plot([], [], "*", color=GREY, markersize=13, label="dense system alone (α = 1)")
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks(np.arange(0, 1.01, 0.1))
    axes.set_xlabel("α, weight of the dense system (0: the other system alone)")
    axes.set_ylabel(measure)
    axes.set_title(cut_title(title, len(models), frame["model"].n_unique()), loc="left")
    figure.legend(loc="outside lower center", ncols=1 + (max(map(len, models)) < 30))
    return figure


def _heat(axes: Axes, values: np.ndarray, low: float, high: float) -> Any:
    """A heatmap with its numbers in the colour that can be read on each cell; missing cells are grey and say so."""
    import matplotlib

    palette = matplotlib.colormaps["cividis"].with_extremes(bad="#eeeeee")
    image = axes.imshow(np.ma.masked_invalid(values), cmap=palette, vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            axes.text(column, row, "–", ha="center", va="center", color=GREY)
        else:
            colour = readable_on(palette((value - low) / ((high - low) or 1)))
            axes.text(column, row, f"{value:.3f}", ha="center", va="center", fontsize=8.5, color=colour)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _pivot(frame: pl.DataFrame, row: str, column: str, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """Values as a matrix of shape (rows, columns), NaN where the frame has none."""
    cells = {(i, j): value for i, j, value in frame.select(row, column, "value").iter_rows()}
    return np.array([[cells.get((i, j), np.nan) for j in columns] for i in rows], dtype=float)


def _range(frame: pl.DataFrame) -> tuple[float, float]:
    return float(np.nanmin(frame["value"].to_numpy())), float(np.nanmax(frame["value"].to_numpy()))


def _ordered(values: pl.Series, order: Sequence[str]) -> list[str]:
    """The distinct values in a given order; those that it does not name follow in alphabetical order."""
    distinct = set(values)
    return [name for name in order if name in distinct] + sorted(distinct - set(order))


@styled
def section_heatmaps(
    frame: pl.DataFrame, *, queries: Sequence[str] = (), corpora: Sequence[str] = (), measure: str = "score", title: str = ""
) -> Figure:
    """Query section against corpus view, one panel a model (WIPO-AT Fig. 4); at most eight models, the best ones.

    Args:
        frame: ``model, query, corpus, value``.
        queries, corpora: the order of the axes; views that they do not name follow in alphabetical order.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import section_heatmaps
        >>> frame = pl.DataFrame({"model": ["m"] * 2, "query": ["TA"] * 2, "corpus": ["TA", "TAC"], "value": [0.25, 0.5]})
        >>> [label.get_text() for label in section_heatmaps(frame).axes[0].get_xticklabels()]
        ['TA', 'TAC']
    """
    require(frame, "model", "query", "corpus", "value")
    models = best_models(frame, PANELS)
    queries, corpora = _ordered(frame["query"], queries), _ordered(frame["corpus"], corpora)
    low, high = _range(frame)
    columns = min(2, len(models))
    rows = -(-len(models) // columns)
    figure = new_figure(1.4 + columns * (0.9 + 0.72 * len(corpora)), 1.3 + rows * (0.9 + 0.42 * len(queries)))
    grid = figure.subplots(rows, columns, squeeze=False)
    images = []
    for axes, model in zip(grid.flat, models, strict=False):
        images.append(_heat(axes, _pivot(frame.filter(pl.col("model") == model), "query", "corpus", queries, corpora), low, high))
        axes.set_xticks(range(len(corpora)), corpora, rotation=30, ha="right")
        axes.set_yticks(range(len(queries)), queries)
        axes.set_title(model, fontsize=10)
    for axes in grid.flat[len(models) :]:
        axes.set_visible(False)
    figure.supxlabel("corpus view", fontsize=10)
    figure.supylabel("query section", fontsize=10)
    figure.colorbar(images[0], ax=grid, label=measure, shrink=0.8)
    figure.suptitle(cut_title(title, len(models), frame["model"].n_unique()), fontsize=11)
    return figure


@styled
def jurisdiction_heatmap(
    frame: pl.DataFrame, *, measure: str = "score", title: str = "", groups_are: str = "filing jurisdiction of the query"
) -> Figure:
    """Models against the filing jurisdiction of the query (WIPO-AT Fig. 9), or against any other groups.

    Args:
        frame: ``model, group, value``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import jurisdiction_heatmap
        >>> frame = pl.DataFrame({"model": ["m"] * 2, "group": ["EN", "CN"], "value": [0.5, 0.25]})
        >>> [label.get_text() for label in jurisdiction_heatmap(frame).axes[0].get_xticklabels()]
        ['EN', 'CN']
    """
    require(frame, "model", "group", "value")
    models = best_models(frame, frame["model"].n_unique())
    groups = _ordered(frame["group"], [name.upper() for name in JURISDICTION_GROUPS])
    figure = new_figure(max(6, 2.4 + 0.075 * max(map(len, models)) + 0.75 * len(groups)), 1.5 + 0.42 * len(models))
    axes = figure.add_subplot()
    image = _heat(axes, _pivot(frame, "model", "group", models, groups), *_range(frame))
    axes.set_xticks(range(len(groups)), groups)
    axes.set_yticks(range(len(models)), models)
    axes.set_xlabel(groups_are)
    figure.colorbar(image, ax=axes, label=measure)
    axes.set_title(title, loc="left")
    return figure


@styled
def rank_summary(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Rank of each model in each group of tasks and on average, best first (WIPO-AT Fig. 10).

    Args:
        frame: ``model, group, rank``; every model has every group.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import rank_summary
        >>> frame = pl.DataFrame({"model": ["a", "a", "b", "b"], "group": ["x", "y"] * 2, "rank": [1.0, 1.0, 2.0, 2.0]})
        >>> len(rank_summary(frame).axes)
        1
    """
    require(frame, "model", "group", "rank")
    means = frame.group_by("model").agg(pl.col("rank").mean()).sort("rank", "model", descending=True)
    models, groups = means["model"].to_list(), frame["group"].unique(maintain_order=True).to_list()
    figure = new_figure(8, 1.7 + 0.36 * len(models))
    axes = figure.add_subplot()
    height_of = {model: height for height, model in enumerate(models)}
    axes.barh(range(len(models)), means["rank"].to_numpy(), 0.6, color="#d9d9d9", label="average")
    for height, rank in enumerate(means["rank"]):
        axes.text(0.06, height, f"{rank:.1f}", va="center", fontsize=9)
    for number, group in enumerate(groups):
        ranks = frame.filter(pl.col("group") == group)
        shift = (number - (len(groups) - 1) / 2) * 0.16
        heights = [height_of[model] - shift for model in ranks["model"]]
        axes.plot(ranks["rank"].to_numpy(), heights, label=group, **(look(number) | {"linestyle": "", "markersize": 7}))
    axes.set_yticks(range(len(models)), models)
    axes.set_xlim(0, max(frame["rank"].to_list()) + 0.6)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("rank (1 is best)")
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=min(4, len(groups) + 1))
    axes.set_title(title, loc="left")
    return figure


@styled
def truncation_curves(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Score and retained share against the dimensions that are kept; dashed at 90% (WIPO-AT Fig. 11).

    Args:
        frame: ``model, dims, value, full``; the row of the full width has ``full`` set, its ``dims`` may be missing.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import truncation_curves
        >>> frame = pl.DataFrame({"model": ["m"] * 2, "dims": [64, 256], "value": [0.25, 0.5], "full": [False, True]})
        >>> len(truncation_curves(frame).axes)
        2
    """
    require(frame, "model", "dims", "value", "full")
    models = best_models(frame, SERIES)
    known = frame["dims"].drop_nulls()
    widest = int(known.max()) if len(known) else 1  # type: ignore[arg-type]
    unknown = frame.filter("full")["dims"].null_count() > 0
    figure = new_figure(9.5, 4.4)
    left, right = figure.subplots(1, 2)
    for series, model in enumerate(models):
        curve = frame.filter(pl.col("model") == model).with_columns(pl.col("dims").fill_null(2 * widest)).sort("dims")
        left.plot(curve["dims"].to_numpy(), curve["value"].to_numpy(), label=model, **look(series))
        full = curve.filter("full")["value"]
        if len(full) and full[0]:
            right.plot(curve["dims"].to_numpy(), 100 * curve["value"].to_numpy() / full[0], **look(series))
    right.axhline(90, color=GREY, linestyle="--", linewidth=1)
    right.text(0.99, 90, "90%", transform=right.get_yaxis_transform(), ha="right", va="bottom", color=GREY, fontsize=9)
    ticks = sorted(set(known.to_list()))
    for axes, label in ((left, measure), (right, "share of the full width's score (%)")):
        axes.set_xscale("log", base=2)
        axes.set_xticks([*ticks, *([2 * widest] if unknown else [])], [*map(str, ticks), *(["full"] if unknown else [])])
        axes.minorticks_off()
        axes.set_xlabel("dimensions")
        axes.set_ylabel(label)
    figure.suptitle(cut_title(title, len(models), frame["model"].n_unique()), fontsize=11)
    figure.legend(loc="outside lower center", ncols=min(3, len(models)))
    return figure


@styled
def recall_curves(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Recall@k against k (Sophia-Bench Fig. 4).

    Args:
        frame: ``model, k, value``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import recall_curves
        >>> len(recall_curves(pl.DataFrame({"model": ["m"] * 2, "k": [1, 10], "value": [0.25, 0.5]})).axes)
        1
    """
    require(frame, "model", "k", "value")
    models = best_models(frame, SERIES)
    ticks = sorted(set(frame["k"]))
    figure = new_figure(7.5, 4.8)
    axes = figure.add_subplot()
    for series, model in enumerate(models):
        curve = frame.filter(pl.col("model") == model).sort("k")
        axes.plot(curve["k"].to_numpy(), curve["value"].to_numpy(), label=model, **look(series))
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("k")
    axes.set_ylabel("Recall@k")
    axes.set_title(cut_title(title, len(models), frame["model"].n_unique()), loc="left")
    figure.legend(loc="outside lower center", ncols=2 if max(map(len, models)) < 45 else 1)
    return figure


@styled
def scale_scatter(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Score against the number of parameters, one panel a group of tasks, with a log-linear fit from three models on
    (WIPO-AT Fig. 1).

    Args:
        frame: ``model, parameters, group, value``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import scale_scatter
        >>> frame = pl.DataFrame({"model": ["a", "b"], "parameters": [2e7, 3e8], "group": ["x"] * 2, "value": [0.25, 0.5]})
        >>> len(scale_scatter(frame).axes)
        1
    """
    require(frame, "model", "parameters", "group", "value")
    groups = frame["group"].unique(maintain_order=True).to_list()
    sizes = dict(frame.sort("parameters", "model").select("model", "parameters").iter_rows())
    numbers = {model: number for number, model in enumerate(sizes, start=1)}
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    figure = new_figure(5.2 * columns, 0.5 + 3.6 * rows + 0.2 * -(-len(numbers) // (2 * columns)))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, group in zip(grid.flat, groups, strict=False):
        points = frame.filter(pl.col("group") == group).sort("parameters", "value")
        xs, ys = points["parameters"].to_numpy(), points["value"].to_numpy()
        if len(points) > 2 and np.ptp(np.log10(xs)):
            slope, height = np.polyfit(np.log10(xs), ys, 1)
            ends = np.array([xs.min(), xs.max()])
            axes.plot(ends, slope * np.log10(ends) + height, "--", color=GREY, linewidth=1.2, label="log-linear fit")
            axes.legend(loc="lower right", fontsize=9)
        axes.plot(xs, ys, "o", color=COLOURS[0], markersize=7)
        for model, x, y in zip(points["model"], xs, ys, strict=True):
            axes.annotate(
                str(numbers[model]), (x, y), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=9, bbox=_BEHIND_TEXT
            )
        axes.set_xscale("log")
        axes.margins(x=0.12, y=0.15)
        axes.set_xlabel("parameters")
        axes.set_title(group, loc="left")
        axes.xaxis.set_major_formatter(_size)
        axes.minorticks_off()
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    handles = [
        grid.flat[0].plot([], [], linestyle="", label=f"{number}  {model} ({_size(sizes[model])})")[0] for model, number in numbers.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 * columns, fontsize=9, handlelength=0, handletextpad=0)
    figure.supylabel("mean main score", fontsize=10)
    figure.suptitle(title, fontsize=11)
    return figure


def _size(value: float, position: int | None = None) -> str:
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:g}"
