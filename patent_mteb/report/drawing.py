"""Fusion against its parameter: the constant of reciprocal rank fusion, and the weight of interpolation (extra
``plots``).

The plots of a report: one function each, from a tidy polars table to a matplotlib figure (extra ``report``).

Curves of a report: fusion weights, truncated vectors, recall; each line is named at its end (extra ``report``).

Further figures of the papers: dots, differences, distributions, correlations, curves and frontiers, from tidy polars
tables.

Maps of embeddings: texts as points in two dimensions, coloured by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from patent_mteb.metrics.slices import JURISDICTION_GROUPS
from patent_mteb.report.collect import ReportError
from patent_mteb.report.style import (
    COLOURS,
    DIFFERENCES,
    GREY,
    LINE,
    MARKERS,
    PANELS,
    SERIES,
    best_models,
    broken,
    cell_text,
    cut_title,
    end_labels,
    fitted,
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


_WIDE = 5
"""Characters of a column's name from which on names are tilted."""

_BEHIND_TEXT = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}


@styled
def in_out_bars(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """IN beside OUT of domain, with the relative loss (WIPO-AT Fig. 2)."""
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
    """A heatmap with its numbers in the colour that can be read on each cell; missing cells are grey and say so.
    Differences have signs, and colours that part at zero.
    """
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
    frame: pl.DataFrame,
    *,
    queries: Sequence[str] = (),
    corpora: Sequence[str] = (),
    measure: str = "score",
    title: str = "",
) -> Figure:
    """Query section against corpus view, one panel a model (WIPO-AT Fig. 4); at most eight models, the best ones."""
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
        images.append(
            _heat(axes, _pivot(frame.filter(pl.col("model") == model), "query", "corpus", queries, corpora), low, high)
        )
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
    """Models against the filing jurisdiction of the query (WIPO-AT Fig. 9, Sophia-Bench Fig. 5), or against any other
    groups: tasks (PatenTEB Fig. 2), IPC sections (Sophia-Bench Fig. 7), labels (WIPO-AT Fig. 13), data sets (WIPO-AT
    Fig. 16 and 17).
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
    """Rank of each model in each group of tasks and on average, best first (WIPO-AT Fig. 10)."""
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
        axes.annotate(
            f"{rank:.1f}",
            (1.02, height),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=9,
            annotation_clip=False,
        )
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
    """A log-linear fit over models of any make, with what it explains: within families of models it says more (WIPO-AT,
    section 4.1).
    """
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


_LEVEL = 4
"""Ranks that have room beside each other."""


@styled
def alpha_curve(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Fusion against the weight of the dense system, with a star where it stands alone (WIPO-AT Fig. 3)."""
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
    """Score and retained share against the dimensions that are kept; dashed at 90% (WIPO-AT Fig. 11)."""
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
        ends.append(
            (
                model,
                curve["dims"][-1],
                (share or 1.0) * curve["value"][-1],
                look(series)["color"],
                right if share else left,
            )
        )
    right.axhline(90, color=GREY, linestyle="--", linewidth=1)
    right.text(0.99, 90, "90%", transform=right.get_yaxis_transform(), ha="right", va="bottom", color=GREY, fontsize=9)
    ticks = sorted(set(known.to_list()))
    for axes, label in ((left, measure), (right, "share of the full width's score (%)")):
        axes.set_xscale("log", base=2)
        axes.set_xticks(
            [*ticks, *([2 * widest] if unknown else [])], [*map(str, ticks), *(["full"] if unknown else [])]
        )
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
    """Recall@k against k (Sophia-Bench Fig. 4)."""
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


_BINS = 20

_MOST_GROUPS = 50


@styled
def dots(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """One row a model, one mark a series: query sections (WIPO-AT Fig. 5), profiles of models (WIPO-AT Fig. 18),
    classes and query texts (DAPFAM Fig. 5 and 6), families of tasks (PatenTEB Fig. 4), base models beside tuned ones
    (PatenTEB Fig. 3), degrees of overlap (PatenTEB Fig. 5), best scores elsewhere (PatenTEB Fig. 6).
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
    """One bar a model from zero, gains and losses in two colours (WIPO-AT Fig. 8)."""
    require(frame, "model", "value")
    frame = frame.sort("value", "model")
    values = frame["value"].to_numpy()
    figure = new_figure(6, 3)
    axes = figure.add_subplot()
    axes.barh(range(len(frame)), values, 0.7, color=[COLOURS[2] if value >= 0 else COLOURS[1] for value in values])
    for height, value in enumerate(values):
        text = f"{value:+.4f}".replace("-", "−")
        axes.annotate(
            text, (1.02, height), xycoords=("axes fraction", "data"), va="center", fontsize=8, annotation_clip=False
        )
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
    """How the scores of single queries are distributed: the share of queries in each twentieth of the range, one row a
    model, one column a part, with the mean (WIPO-AT Fig. 20 and 21).
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
                    text,
                    (1.02, height + 0.5),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    fontsize=8,
                    annotation_clip=False,
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
    """How often each group occurs in each series, as shares of the series: IPC domains (DAPFAM Fig. 2) or first claim
    years (DAPFAM Fig. 3) of queries and targets. Numbers are in their order, names by their share, at most the fifty
    most frequent.
    """
    require(frame, "series", "group", "count")
    shares = frame.with_columns(share=100 * pl.col("count") / pl.col("count").sum().over("series"))
    named = frame["group"].dtype == pl.String
    totals = (
        shares.group_by("group", maintain_order=True)
        .agg(pl.col("share").sum())
        .sort("share", descending=True, maintain_order=True)
    )
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
    """Spearman's correlation of the rankings of models by each two groups of tasks, over the models that have both
    (WIPO-AT Fig. 19).
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
    frame: pl.DataFrame,
    *,
    x: str,
    measure: str = "score",
    title: str = "",
    log: bool = False,
    ticks: Sequence[float] | None = None,
) -> Figure:
    """One line a model against anything: publication years (Sophia-Bench Fig. 6, DAPFAM Fig. 4), lengths of passages
    (DAPFAM Fig. 7), layers that are kept (PatenTEB Fig. 11); at most twelve models, the best ones.
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
    """Score against cost, and the line of those that nothing cheaper equals (DAPFAM Fig. 8, PatenTEB Fig. 7)."""
    require(frame, "model", "cost", "value")
    frame = frame.sort("cost", "value", descending=[False, True])
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    xs, ys = frame["cost"].to_numpy(), frame["value"].to_numpy()
    axes.plot(xs, ys, "o", color=COLOURS[0], markersize=7)
    best = np.r_[-np.inf, np.maximum.accumulate(ys)[:-1]]
    axes.plot(
        xs[ys > best],
        ys[ys > best],
        drawstyle="steps-post",
        color=COLOURS[1],
        linewidth=1.2,
        label="nothing cheaper is as good",
    )
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


def project(embeddings: np.ndarray, method: str = "auto", seed: int = 42) -> tuple[np.ndarray, str]:
    """Two coordinates for each embedding, by UMAP if it is installed, else by principal components."""
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
    """Points of texts, coloured by class, one panel a model (WIPO-AT Fig. 14)."""
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
            axes.scatter(
                rest["x"].to_numpy(), rest["y"].to_numpy(), color="#bbbbbb", marker=".", label="other classes", **common
            )
        for label, colour, marker in zip(named, COLOURS, MARKERS, strict=False):
            members = points.filter(pl.col("label") == label)
            axes.scatter(
                members["x"].to_numpy(), members["y"].to_numpy(), color=colour, marker=marker, label=label, **common
            )
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(broken(model, 40), fontsize=10)
    for axes in grid.flat[len(models) :]:
        axes.set_visible(False)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=1 if max(map(len, labels)) > 40 else 2, markerscale=1.6
    )
    figure.suptitle(broken(" ".join(filter(None, (title, f"({method})" if method else "")))), fontsize=11)
    return fitted(figure, 3.6, 3.2)


_PANELS = {"rrf": "k of reciprocal rank fusion", "linear": "α, weight of the second run"}

_PARTS = {"": "ALL", "in_": "IN", "out_": "OUT"}


@styled
def fusion_curves(frame: pl.DataFrame, score: str, *, measure: str = "score", title: str = "") -> Figure:
    """One panel a method, one curve for ALL, IN and OUT each; dashed is the best single run (by ALL)."""
    require(frame, "name", "method", "parameter", score)
    drawn = frame.filter(pl.col("parameter").is_not_null())
    methods = [method for method in _PANELS if method in drawn["method"]]
    best = frame.filter(method="").sort(score, descending=True).row(0, named=True)
    figure = new_figure(max(len(methods), 1) * 4.0, 3.4)
    for place, method in enumerate(methods):
        axes = figure.add_subplot(1, len(methods), place + 1)
        curve = drawn.filter(method=method).sort("parameter")
        for series, (part, shown) in enumerate(
            (part, shown) for part, shown in _PARTS.items() if f"{part}{score}" in frame.columns
        ):
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
