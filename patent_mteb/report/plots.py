"""The plots of a report: one function each, from a tidy polars table to a matplotlib figure (extra ``report``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from patent_mteb.metrics.slices import JURISDICTION_GROUPS
from patent_mteb.report.fitting import LINE, end_labels, fitted
from patent_mteb.report.style import (
    COLOURS,
    DIFFERENCES,
    GREY,
    PANELS,
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "in_out_bars",
    "jurisdiction_heatmap",
    "rank_summary",
    "scale_scatter",
    "section_heatmaps",
]

_WIDE = 5
"""Characters of a column's name from which on names are tilted."""
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
    figure = new_figure(6, 2)
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
        axes.text(inside, height + 0.2, f" {inside:.3f}", va="center", fontsize=8, bbox=_BEHIND_TEXT)
        loss = f", {100 * (outside - inside) / inside:+.0f}%".replace("-", "−") if inside else ""
        axes.text(outside, height - 0.2, f" {outside:.3f}{loss}", va="center", fontsize=8, bbox=_BEHIND_TEXT)
    axes.set_yticks(heights, frame["model"].to_list())
    axes.set_xlim(0, 1.25 * max(1e-9, float(np.nanmax(frame.select("in", "out").to_numpy()))))
    axes.set_ylim(-0.6, len(frame) - 0.4)
    axes.set_xlabel(measure)
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=2)
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 4.5, 0.2 + 0.36 * len(frame))


def _heat(axes: Axes, values: np.ndarray, low: float, high: float, *, differences: bool = False) -> Any:
    """A heatmap with its numbers in the colour that can be read on each cell; missing cells are grey and say so. Differences have signs,
    and colours that part at zero."""
    import matplotlib

    palette = matplotlib.colormaps[DIFFERENCES if differences else "cividis"].with_extremes(bad="#eeeeee")
    image = axes.imshow(np.ma.masked_invalid(values), cmap=palette, vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        colour = GREY if np.isnan(value) else readable_on(palette((value - low) / ((high - low) or 1)))
        number = f"{value:+.3f}".replace("-", "−") if differences else f"{value:.3f}"
        cell_text(axes, row, column, "–" if np.isnan(value) else number, colour)
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
    figure = new_figure(4 * columns, 3 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    images = []
    for axes, model in zip(grid.flat, models, strict=False):
        images.append(_heat(axes, _pivot(frame.filter(pl.col("model") == model), "query", "corpus", queries, corpora), low, high))
        axes.set_xticks(range(len(corpora)), corpora, rotation=30, ha="right")
        axes.set_yticks(range(len(queries)), queries)
        axes.set_title(broken(model, 26), fontsize=10)
    for axes in grid.flat[len(models) :]:
        axes.set_visible(False)
    figure.supxlabel("corpus view", fontsize=10)
    figure.supylabel("query section", fontsize=10)
    figure.colorbar(images[0], ax=grid, label=measure, shrink=0.8)
    figure.suptitle(broken(cut_title(title, len(models), frame["model"].n_unique())), fontsize=11)
    return fitted(figure, 0.62 * len(corpora), 0.32 * len(queries))


@styled
def jurisdiction_heatmap(
    frame: pl.DataFrame,
    *,
    measure: str = "score",
    title: str = "",
    groups_are: str = "filing jurisdiction of the query",
    differences: bool = False,
) -> Figure:
    """Models against the filing jurisdiction of the query (WIPO-AT Fig. 9, Sophia-Bench Fig. 5), or against any other groups: tasks
    (PatenTEB Fig. 2), IPC sections (Sophia-Bench Fig. 7), labels (WIPO-AT Fig. 13), data sets (WIPO-AT Fig. 16 and 17).

    Args:
        frame: ``model, group, value``, and ``n``, the queries of a group, where they are known.
        differences: values are gains and losses: colours part at zero.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.plots import jurisdiction_heatmap
        >>> frame = pl.DataFrame({"model": ["m"] * 2, "group": ["EN", "CN"], "value": [0.5, 0.25], "n": [90, 60]})
        >>> [label.get_text() for label in jurisdiction_heatmap(frame).axes[0].get_xticklabels()]
        ['EN\\nn 90', 'CN\\nn 60']
    """
    require(frame, "model", "group", "value")
    models = best_models(frame, frame["model"].n_unique())
    groups = _ordered(frame["group"], [name.upper() for name in JURISDICTION_GROUPS])
    sizes = dict(frame.select("group", "n").iter_rows()) if "n" in frame.columns else {}
    figure = new_figure(5, 3)
    axes = figure.add_subplot()
    low, high = _range(frame)
    if differences:
        low, high = -max(-low, high), max(-low, high)
    image = _heat(axes, _pivot(frame, "model", "group", models, groups), low, high, differences=differences)
    names = [f"{group}\nn {sizes[group]:,}" if sizes.get(group) else str(group) for group in groups]
    tilted = max(map(len, groups)) > _WIDE
    axes.set_xticks(range(len(groups)), names)
    if tilted:
        axes.tick_params(axis="x", labelrotation=60)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(models)), models)
    axes.set_xlabel(groups_are)
    figure.colorbar(image, ax=axes, label=measure)
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, (0.5 if tilted else 0.62) * len(groups), max(1.0, 0.28 * len(models)))


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
    figure = new_figure(6, 3)
    axes = figure.add_subplot()
    height_of = {model: height for height, model in enumerate(models)}
    axes.plot(
        means["rank"].to_numpy(),
        range(len(models)),
        "|",
        color="black",
        markersize=16,
        markeredgewidth=2.5,
        label="average, in numbers behind",
    )
    for height, rank in enumerate(means["rank"]):
        axes.annotate(f"{rank:.1f}", (1.02, height), xycoords=("axes fraction", "data"), va="center", fontsize=9, annotation_clip=False)
    for number, group in enumerate(groups):
        ranks = frame.filter(pl.col("group") == group)
        shift = (number - (len(groups) - 1) / 2) * 0.16
        heights = [height_of[model] - shift for model in ranks["model"]]
        axes.plot(ranks["rank"].to_numpy(), heights, label=group, **(look(number) | {"linestyle": "", "markersize": 6}))
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(-0.6, len(models) - 0.4)
    axes.set_xlim(max(frame["rank"].to_list()) + 0.6, 0.4)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("rank (1 is best)")
    axes.grid(visible=True, axis="y")
    figure.legend(loc="outside lower center", ncols=min(4, len(groups) + 1))
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 4.5, 0.3 + 0.3 * len(models))


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
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    figure = new_figure(5.2 * columns, 3.6 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    height = max(2.6, LINE * max(len(part) for part in frame.partition_by("group")))
    for axes, group in zip(grid.flat, groups, strict=False):
        points = frame.filter(pl.col("group") == group).sort("parameters", "value")
        xs, ys = points["parameters"].to_numpy(), points["value"].to_numpy()
        axes.plot(xs, ys, "o", color=COLOURS[0], markersize=7)
        axes.set_xscale("log")
        axes.margins(x=0.12, y=0.15)
        if len(points) > 2 and np.ptp(np.log10(xs)):
            _fit(axes, xs, ys)
        axes.set_xlabel("parameters")
        axes.set_title(group, loc="left")
        axes.set_xticks(log_ticks(float(xs.min()), float(xs.max())))
        axes.xaxis.set_major_formatter(_size)
        axes.minorticks_off()
        end_labels(axes, [(model, x, y, GREY) for model, x, y in zip(points["model"], xs, ys, strict=True)], height)
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    figure.supylabel("mean main score", fontsize=10)
    figure.suptitle(broken(title), fontsize=11)
    return fitted(figure, 3, height)


def _fit(axes: Axes, xs: np.ndarray, ys: np.ndarray) -> None:
    """A log-linear fit over models of any make, with what it explains: within families of models it says more (WIPO-AT, section 4.1)."""
    slope, base = np.polyfit(np.log10(xs), ys, 1)
    explained = float(np.corrcoef(np.log10(xs), ys)[0, 1] ** 2) if np.ptp(ys) else 0.0
    ends = np.array([xs.min(), xs.max()])
    label = f"log-linear fit, R² {explained:.2f}, n {len(xs)}"
    axes.plot(ends, slope * np.log10(ends) + base, "--", color=GREY, linewidth=1.2, label=label)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.22), borderaxespad=0, fontsize=8)


def _size(value: float, position: int | None = None) -> str:
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:g}"
