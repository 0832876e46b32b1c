"""The image files of charts (extra ``report``): one function each, from a tidy polars table to a matplotlib figure.

``measure`` names the axis or colour bar of the values, ``label`` the x axis. Long tables are cut to the best models or
the most frequent groups, and the title of the figure says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from patent_mteb.metrics.significance import MARK, too_small
from patent_mteb.metrics.slices import JURISDICTION_GROUPS
from patent_mteb.report import style
from patent_mteb.report.collect import ReportError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TILTED = 5  # characters of a column's name from which on names are tilted
_LEVEL = 4  # ticks that fit next to each other without rotation
_BINS = 20
ENOUGH = 8  # models below which no fit and no correlation is drawn: they would be of any value by chance
_MOST_GROUPS = 50
_IN_CELL: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.5}
_BEHIND_TEXT = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}


def _one_panel(width: float, height: float) -> tuple[Figure, Axes]:
    figure = style.new_figure(width, height)
    return figure, figure.add_subplot()


def _panels(count: int, width: float, height: float, more: float = 0) -> tuple[Figure, Any]:
    """A figure with a grid of panels in at most two columns; the last one is hidden if the count is odd."""
    columns = min(2, count)
    rows = -(-count // columns)
    figure = style.new_figure(width * columns, more + height * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_visible(False)
    return figure, grid


def _finished(figure: Figure, title: str, width: float, height: float) -> Figure:
    figure.suptitle(style.broken(title), fontsize=11)
    return style.fitted(figure, width, height)


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)


def _right_of(axes: Axes, texts: Iterable[str], offset: float = 0, size: float = 8) -> None:
    """Write texts at the right edge of the rows of a panel, from row 0."""
    for row, text in enumerate(texts):
        at = (1.02, row + offset)
        axes.annotate(text, at, xycoords=("axes fraction", "data"), va="center", fontsize=size, annotation_clip=False)


def _xy(frame: pl.DataFrame, x: str = "x", y: str = "value") -> tuple[np.ndarray, np.ndarray]:
    return frame[x].to_numpy(), frame[y].to_numpy()


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


@style.styled
def in_out_bars(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """IN and OUT of domain with the relative loss (WIPO-AT Fig. 2), and intervals where they are known."""
    style.require(frame, "model", "group", "value")
    known = frame.drop_nulls("low") if "low" in frame.columns else frame.clear().with_columns(low=None, high=None)
    ends = {tuple(row[:2]): row[2:] for row in known.select("model", "group", "low", "high").iter_rows()}
    frame = frame.pivot("group", index="model", values="value").sort("IN", "model")
    figure, axes = _one_panel(6, 2)
    heights = np.arange(len(frame))
    for side, offset, colour, hatch in (("IN", 0.2, style.COLOURS[0], ""), ("OUT", -0.2, style.COLOURS[4], "///")):
        form: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "label": f"{side} of domain"}
        axes.barh(heights + offset, frame[side].to_numpy(), 0.38, **form)
    for height, (model, inside, outside) in enumerate(frame.select("model", "IN", "OUT").iter_rows()):
        loss = f", {_signed(100 * (outside - inside) / inside, 0)}%" if inside else ""
        for side, value, at, more in (("IN", inside, height + 0.2, ""), ("OUT", outside, height - 0.2, loss)):
            low, high = ends.get((model, side), (value, value))
            axes.plot([low, high], [at, at], color="black", linewidth=1)
            axes.text(high, at, f" {value:.3f}{more}", va="center", fontsize=8, bbox=_BEHIND_TEXT)
    _name_rows(axes, frame["model"].to_list())
    longest = max([1e-9, *(high for _, high in ends.values()), float(np.nanmax(frame.select("IN", "OUT").to_numpy()))])
    axes.set(xlim=(0, 1.25 * longest), xlabel=measure)
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=2)
    return _finished(figure, title, 4.5, 0.2 + 0.36 * len(frame))


def _heat(
    axes: Axes,
    values: np.ndarray,
    limits: tuple[float, float],
    palette: str = "cividis",
    number: Callable[[float], str] = "{:.3f}".format,
) -> Any:
    """Draw a heatmap with the number of each cell in black or white; missing cells are grey."""
    import matplotlib

    low, high = limits
    colours = matplotlib.colormaps[palette].with_extremes(bad="#eeeeee")
    image = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        colour = style.GREY if np.isnan(value) else style.readable_on(colours((value - low) / ((high - low) or 1)))
        text = axes.text(column, row, "–" if np.isnan(value) else number(value), color=colour, **_IN_CELL)
        text.set_in_layout(False)  # saves most of the time of many cells
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _pivot(frame: pl.DataFrame, row: str, column: str, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    cells = {(i, j): value for i, j, value in frame.select(row, column, "value").iter_rows()}
    return np.array([[cells.get((i, j), np.nan) for j in columns] for i in rows], dtype=float)


def _range(frame: pl.DataFrame) -> tuple[float, float]:
    return float(np.nanmin(frame["value"].to_numpy())), float(np.nanmax(frame["value"].to_numpy()))


def _ordered(values: pl.Series, order: Sequence[str]) -> list[str]:
    """The distinct values in a given order, then those that it lacks in alphabetical order."""
    distinct = set(values)
    return [name for name in order if name in distinct] + sorted(distinct - set(order))


def _tilt(axes: Axes, names: Sequence[str]) -> None:
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")


@style.styled
def section_heatmaps(
    frame: pl.DataFrame,
    *,
    queries: Sequence[str] = (),
    corpora: Sequence[str] = (),
    measure: str = "score",
    title: str = "",
    label: str = "corpus view",
) -> Figure:
    """Query section against corpus view, one panel a model (WIPO-AT Fig. 4); at most eight models, the best ones."""
    style.require(frame, "model", "query", "corpus", "value")
    models = style.best_models(frame, style.PANELS)
    queries, corpora = _ordered(frame["query"], queries), _ordered(frame["corpus"], corpora)
    figure, grid = _panels(len(models), 4, 3)
    for axes, model in zip(grid.flat, models, strict=False):
        values = _pivot(frame.filter(pl.col("model") == model), "query", "corpus", queries, corpora)
        image = _heat(axes, values, _range(frame))
        axes.set_xticks(range(len(corpora)), corpora, rotation=30, ha="right")
        axes.set_yticks(range(len(queries)), queries)
        axes.set_title(style.broken(model, 26), fontsize=10)
    figure.supxlabel(label, fontsize=10)
    figure.supylabel("query section", fontsize=10)
    figure.colorbar(image, ax=grid, label=measure, shrink=0.8)
    return _finished(figure, style.cut_title(title, models, frame), 0.62 * len(corpora), 0.32 * len(queries))


@style.styled
def heatmap(
    frame: pl.DataFrame,
    *,
    measure: str = "score",
    title: str = "",
    label: str = "",
    lower: bool = False,
    differences: bool = False,
) -> Figure:
    """Models against groups: filing jurisdictions (WIPO-AT Fig. 9, Sophia-Bench Fig. 5), tasks (PatenTEB Fig. 2), IPC
    sections (Sophia-Bench Fig. 7), labels (WIPO-AT Fig. 13), data sets (WIPO-AT Fig. 16 and 17). The best models are on
    top: those with the lowest values with ``lower``. Differences have signs and colours that part at zero.
    """
    style.require(frame, "model", "group", "value")
    models = style.best_models(frame, frame["model"].n_unique())[:: -1 if lower else 1]
    groups = _ordered(frame["group"], [name.upper() for name in JURISDICTION_GROUPS])
    sizes = dict(frame.select("group", "n").iter_rows()) if "n" in frame.columns else {}
    figure, axes = _one_panel(5, 3)
    values, limits = _pivot(frame, "model", "group", models, groups), _range(frame)
    if differences:
        most = max(-limits[0], limits[1])
        image = _heat(axes, values, (-most, most), style.DIFFERENCES, lambda value: _signed(value, 3))
    else:
        image = _heat(axes, values, limits)
    marks = {group: MARK if too_small({"n_queries": n}) else "" for group, n in sizes.items()}
    names = [f"{group}{marks[group]}\nn {sizes[group]:,}" if sizes.get(group) else str(group) for group in groups]
    tilted = max(map(len, groups)) > _TILTED
    if tilted:
        _tilt(axes, names)
    else:
        axes.set_xticks(range(len(groups)), names)
    axes.set_yticks(range(len(models)), models)
    axes.set_xlabel(f"{label} ({MARK}: too few queries)" if any(marks.values()) else label)
    figure.colorbar(image, ax=axes, label=measure)
    return _finished(figure, title, (0.5 if tilted else 0.62) * len(groups), max(1.0, 0.28 * len(models)))


@style.styled
def rank_summary(frame: pl.DataFrame, *, measure: str = "rank", title: str = "") -> Figure:
    """Rank of each model in each group of tasks and on average, best first (WIPO-AT Fig. 10)."""
    style.require(frame, "model", "group", "value")
    means = frame.group_by("model").agg(pl.col("value").mean()).sort("value", "model", descending=True)
    models, groups = means["model"].to_list(), frame["group"].unique(maintain_order=True).to_list()
    figure, axes = _one_panel(6, 3)
    average: dict[str, Any] = {"color": "black", "markersize": 16, "markeredgewidth": 2.5}
    axes.plot(means["value"].to_numpy(), range(len(models)), "|", label="average, in numbers behind", **average)
    _right_of(axes, (f"{rank:.1f}" for rank in means["value"]), size=9)
    for number, group in enumerate(groups):
        rows = frame.filter(pl.col("group") == group)
        shift = (number - (len(groups) - 1) / 2) * 0.16
        heights = [models.index(model) - shift for model in rows["model"]]
        axes.plot(
            rows["value"].to_numpy(), heights, label=group, **(style.look(number) | {"linestyle": "", "markersize": 6})
        )
    _name_rows(axes, models)
    axes.set_xlim(max(frame["value"].to_list()) + 0.6, 0.4)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel(f"{measure} (1 is best)")
    axes.grid(visible=True, axis="y")
    figure.legend(loc="outside lower center", ncols=min(4, len(groups) + 1))
    return _finished(figure, title, 4.5, 0.3 + 0.3 * len(models))


@style.styled
def scale_scatter(
    frame: pl.DataFrame, *, measure: str = "mean main score", title: str = "", label: str = "parameters"
) -> Figure:
    """Score against the number of parameters, one panel a group of tasks, with a log-linear fit for eight models or
    more (WIPO-AT Fig. 1). Within families of models a fit explains more (WIPO-AT, section 4.1).
    """
    style.require(frame, "model", "x", "value", "group")
    groups = frame.partition_by("group", maintain_order=True)
    figure, grid = _panels(len(groups), 5.2, 3.6)
    height = max(2.6, style.LINE * max(map(len, groups)))
    for axes, points in zip(grid.flat, groups, strict=False):
        points = points.sort("x", "value")
        xs, ys = _xy(points)
        axes.plot(xs, ys, "o", color=style.COLOURS[0], markersize=7)
        axes.margins(x=0.12, y=0.15)
        if len(points) >= ENOUGH and np.ptp(np.log10(xs)):
            slope, base = np.polyfit(np.log10(xs), ys, 1)
            explained = float(np.corrcoef(np.log10(xs), ys)[0, 1] ** 2) if np.ptp(ys) else 0.0
            ends = np.array([xs.min(), xs.max()])
            name = f"log-linear fit, R² {explained:.2f}, n {len(xs)}"
            axes.plot(ends, slope * np.log10(ends) + base, "--", color=style.GREY, linewidth=1.2, label=name)
            axes.legend(loc="upper left", bbox_to_anchor=(0, -0.22), borderaxespad=0, fontsize=8)
        axes.set_xlabel(label)
        axes.set_title(points["group"][0], loc="left")
        _name_points(axes, points["model"], xs, ys, _size, height)
    figure.supylabel(measure, fontsize=10)
    return _finished(figure, title, 3, height)


def _name_points(axes: Axes, names: Iterable[str], xs: np.ndarray, ys: np.ndarray, ticks: Any, height: float) -> None:
    """Make the x axis logarithmic, and write the names of the points at the right edge."""
    axes.set(xscale="log", xticks=style.log_ticks(float(xs.min()), float(xs.max())))
    axes.xaxis.set_major_formatter(ticks)
    axes.minorticks_off()
    style.end_labels(axes, [(name, x, y, style.GREY) for name, x, y in zip(names, xs, ys, strict=True)], height)


def _size(value: float, position: int | None = None) -> str:
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:g}"


@style.styled
def lines(
    frame: pl.DataFrame,
    *,
    measure: str = "score",
    title: str = "",
    label: str = "",
    log: bool = False,
    top: float | None = None,
    star: str = "",
) -> Figure:
    """One line a model: Recall@k (Sophia-Bench Fig. 4), years (Sophia-Bench Fig. 6, DAPFAM Fig. 4), fusion (WIPO-AT
    Fig. 3), lengths of passages (DAPFAM Fig. 7), layers (PatenTEB Fig. 11); at most twelve models, the best ones.

    ``top`` ends the y axis, which then starts at 0. With ``star`` x is a share from 0 to 1, and the point at 1 is a
    star, which the legend explains with this text.
    """
    style.require(frame, "model", "x", "value")
    models = style.best_models(frame, style.SERIES)
    figure, axes = _one_panel(6, 4)
    ends = []
    for series, model in enumerate(models):
        curve, line = frame.filter(pl.col("model") == model).sort("x"), style.look(series)
        axes.plot(*_xy(curve.filter(pl.col("x") < 1) if star else curve), label=model, **line)
        if star:
            form = {"color": line["color"], "markersize": 15, "markeredgecolor": "white", "clip_on": False}
            axes.plot(*_xy(curve.filter(pl.col("x") == 1)), "*", **form)
        if "low" in curve.columns:
            axes.vlines(*curve.select("x", "low", "high").to_numpy().T, color=line["color"], linewidth=1, alpha=0.6)
        ends.append((model, *curve.select("x", "value").row(-1), line["color"]))
    ticks = sorted(set(frame["x"]))
    if star:
        axes.set(xlim=(-0.03, 1.03), xticks=np.arange(0, 1.01, 0.1))
        (key,) = axes.plot([], [], "*", color=style.GREY, markersize=13, label=star)
        figure.legend(handles=[key], loc="outside lower center")
    elif log:
        axes.set_xscale("log")
        axes.minorticks_off()
    if not star and len(ticks) <= style.SERIES:
        names = [f"{tick:,.10g}" if log else f"{tick:.10g}" for tick in ticks]
        axes.set_xticks(ticks, names, rotation=0 if len(ticks) <= _LEVEL else 90)
    if top is not None:
        axes.set_ylim(0, top)
    axes.set(xlabel=label, ylabel=measure)
    height = max(3.4, style.LINE * len(models))
    style.end_labels(axes, ends, height)
    return _finished(figure, style.cut_title(title, models, frame), 5, height)


@style.styled
def truncation_curves(
    frame: pl.DataFrame, *, measure: str = "score", title: str = "", label: str = "dimensions kept"
) -> Figure:
    """Score and retained share against the dimensions that are kept; dashed at 90% (WIPO-AT Fig. 11)."""
    style.require(frame, "model", "x", "value", "full")
    models = style.best_models(frame, style.SERIES)
    ticks = sorted(set(frame["x"].drop_nulls()))
    beyond = 2 * max(ticks, default=1)  # place of a full width that is unknown
    figure = style.new_figure(9, 4)
    left, right = figure.subplots(1, 2)
    ends: dict[Axes, list[tuple[str, float, float, str]]] = {left: [], right: []}
    for series, model in enumerate(models):
        curve = frame.filter(pl.col("model") == model).with_columns(pl.col("x").fill_null(beyond)).sort("x")
        full, line = curve.filter("full")["value"], style.look(series)
        share = 100 / full[0] if len(full) and full[0] else 0.0
        xs, ys = _xy(curve)
        left.plot(xs, ys, label=model, **line)
        if share:
            right.plot(xs, share * ys, label=model, **line)
        ends[right if share else left].append((model, xs[-1], (share or 1.0) * ys[-1], line["color"]))
    right.axhline(90, color=style.GREY, linestyle="--", linewidth=1)
    right.text(
        0.99, 90, "90%", transform=right.get_yaxis_transform(), ha="right", va="bottom", color=style.GREY, fontsize=9
    )
    names = [str(tick) for tick in ticks]
    if frame.filter("full")["x"].null_count():
        ticks, names = [*ticks, beyond], [*names, "full"]
    height = max(3.4, style.LINE * len(models))
    for axes, name in ((left, measure), (right, "% of the full width's score")):
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, names)
        axes.minorticks_off()
        axes.set(xlabel=label, ylabel=name)
        style.end_labels(axes, ends[axes], height)
    return _finished(figure, style.cut_title(title, models, frame), max(3.6, 0.4 * (len(ticks) + 1)), height)


@style.styled
def dots(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """One row a model, one mark a group: query sections (WIPO-AT Fig. 5), profiles of models (WIPO-AT Fig. 18), classes
    and query texts (DAPFAM Fig. 5 and 6), base and tuned models (PatenTEB Fig. 3), groups of tasks (PatenTEB Fig. 4),
    degrees of overlap (PatenTEB Fig. 5), best scores elsewhere (PatenTEB Fig. 6).
    """
    style.require(frame, "model", "group", "value")
    models = style.best_models(frame, frame["model"].n_unique())[::-1]
    names = frame["group"].unique(maintain_order=True).to_list()
    figure, axes = _one_panel(6, 3)
    for number, name in enumerate(names):
        part = frame.filter(pl.col("group") == name)
        heights = [models.index(model) for model in part["model"]]
        axes.plot(part["value"].to_numpy(), heights, label=name, **(style.look(number) | {"linestyle": ""}))
    _name_rows(axes, models)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(measure)
    figure.legend(loc="outside lower center", ncols=min(4, len(names)) if max(map(len, names)) < 24 else 1)
    return _finished(figure, title, 4.5, max(1.0, 0.28 * len(models)))


@style.styled
def differences(frame: pl.DataFrame, *, measure: str = "difference", title: str = "") -> Figure:
    """One bar a model from zero, gains and losses in two colours (WIPO-AT Fig. 8)."""
    style.require(frame, "model", "value")
    frame = frame.sort("value", "model")
    values = frame["value"].to_numpy()
    figure, axes = _one_panel(6, 3)
    axes.barh(
        range(len(frame)), values, 0.7, color=[style.COLOURS[2] if value >= 0 else style.COLOURS[1] for value in values]
    )
    _right_of(axes, (_signed(value, 4) for value in values))
    axes.axvline(0, color="black", linewidth=0.8)
    _name_rows(axes, frame["model"].to_list())
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(measure)
    axes.grid(visible=False, axis="y")
    return _finished(figure, title, 4.5, max(1.0, 0.26 * len(frame)))


@style.styled
def distributions(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """The share of queries in each twentieth of the range of scores, one row a model, one panel a part of the queries,
    with the mean (WIPO-AT Fig. 20 and 21).
    """
    style.require(frame, "model", "part", "value")
    models, parts = (
        style.best_models(frame, frame["model"].n_unique()),
        frame["part"].unique(maintain_order=True).to_list(),
    )
    figure = style.new_figure(4 * len(parts), 3)
    grid = figure.subplots(1, len(parts), squeeze=False, sharey=True)
    scores = {key: rows["value"].to_numpy() for key, rows in frame.partition_by("model", "part", as_dict=True).items()}
    shares = {key: np.histogram(found, bins=_BINS, range=(0, 1))[0] / len(found) for key, found in scores.items()}
    top = max(float(share.max()) for share in shares.values())
    for axes, part in zip(grid.flat, parts, strict=True):
        values = np.stack([shares.get((model, part), np.zeros(_BINS)) for model in models])
        extent = (0, 1, len(models), 0)
        image = axes.imshow(values, cmap="cividis", vmin=0, vmax=top, aspect="auto", extent=extent)
        means = (f"{scores[model, part].mean():.3f}" if (model, part) in scores else "" for model in models)
        _right_of(axes, means, 0.5)
        axes.set_yticks(np.arange(len(models)) + 0.5, models)
        axes.set_title(part, fontsize=10)
        axes.set_xlabel(measure)
        axes.grid(visible=False)
    figure.colorbar(image, ax=grid, label="share of queries", location="bottom", shrink=0.5, pad=0.02)
    return _finished(figure, f"{title}\nbehind each row the mean", 3, max(1.0, 0.26 * len(models)))


@style.styled
def frequencies(frame: pl.DataFrame, *, label: str, counted: str = "families", title: str = "") -> Figure:
    """Groups as shares of each series: IPC domains (DAPFAM Fig. 2) or first claim years (DAPFAM Fig. 3) of queries and
    targets. Numbers are in their order, names by their share, at most the fifty most frequent.
    """
    style.require(frame, "series", "group", "count")
    shares = frame.with_columns(share=100 * pl.col("count") / pl.col("count").sum().over("series"))
    totals = shares.group_by("group", maintain_order=True).agg(pl.col("share").sum())
    if frame["group"].dtype == pl.String:
        kept = totals.sort("share", descending=True, maintain_order=True).head(_MOST_GROUPS)
    else:
        kept = totals.sort("group")
    groups = kept["group"].to_list()
    series = frame["series"].unique(maintain_order=True).to_list()
    width = 0.8 / len(series)
    figure, axes = _one_panel(6, 3)
    for number, name in enumerate(series):
        known = dict(shares.filter(series=name).select("group", "share").iter_rows())
        size = frame.filter(series=name)["count"].sum()
        places = np.arange(len(groups)) + (number - (len(series) - 1) / 2) * width
        heights = [known.get(group, 0.0) for group in groups]
        axes.bar(places, heights, width, color=style.COLOURS[number % len(style.COLOURS)], label=f"{name}, n {size:,}")
    axes.set_xticks(range(len(groups)), map(str, groups), rotation=90)
    axes.set(xlim=(-0.6, len(groups) - 0.4), xlabel=label, ylabel=f"% of {counted}")
    axes.grid(visible=False, axis="x")
    figure.legend(loc="outside lower center", ncols=min(4, len(series)))
    cut = f"\nthe {len(groups)} most frequent of {len(totals)}" if len(groups) < len(totals) else ""
    return _finished(figure, title + cut, max(4.0, 0.2 * len(groups)), 2.6)


@style.styled
def rank_correlations(frame: pl.DataFrame, *, measure: str = "Spearman's ρ", title: str = "") -> Figure:
    """Spearman's correlation of the rankings of models by each two groups of tasks, over the models that have both
    (WIPO-AT Fig. 19).
    """
    from scipy.stats import spearmanr

    style.require(frame, "model", "group", "value")
    groups = frame["group"].unique(maintain_order=True).to_list()
    wide = frame.pivot("group", index="model", values="value")
    found = np.full((len(groups), len(groups)), np.nan)
    for row, first in enumerate(groups):
        for column, second in enumerate(groups):
            both = wide.select(a=first, b=second).drop_nulls()
            if len(both) > 2 and both["a"].n_unique() > 1 and both["b"].n_unique() > 1:
                found[row, column] = spearmanr(both["a"], both["b"]).statistic
    figure, axes = _one_panel(4, 4)
    image = _heat(axes, found, (-1, 1), style.DIFFERENCES, lambda value: f"{value:.2f}".replace("-", "−"))
    _tilt(axes, groups)
    axes.set_yticks(range(len(groups)), groups)
    figure.colorbar(image, ax=axes, label=measure)
    return _finished(figure, title, 0.5 * len(groups), 0.3 * len(groups))


@style.styled
def frontier(frame: pl.DataFrame, *, label: str = "seconds", measure: str = "score", title: str = "") -> Figure:
    """Score against cost, and the line of the systems that no cheaper one equals (DAPFAM Fig. 8, PatenTEB Fig. 7)."""
    style.require(frame, "model", "x", "value")
    frame = frame.sort("x", "value", descending=[False, True])
    figure, axes = _one_panel(6, 4)
    xs, ys = _xy(frame)
    axes.plot(xs, ys, "o", color=style.COLOURS[0], markersize=7)
    best = ys > np.r_[-np.inf, np.maximum.accumulate(ys)[:-1]]
    form: dict[str, Any] = {"drawstyle": "steps-post", "color": style.COLOURS[1], "linewidth": 1.2}
    axes.plot(xs[best], ys[best], label="nothing cheaper is as good", **form)
    axes.margins(x=0.1, y=0.12)
    axes.set(xlabel=label, ylabel=measure)
    height = max(3.4, style.LINE * len(frame))
    _name_points(axes, frame["model"], xs, ys, "{x:.3g}", height)
    figure.legend(loc="outside lower center")
    return _finished(figure, title, 5, height)


@style.styled
def plane(frame: pl.DataFrame, *, measure: str = "uniformity", title: str = "", label: str = "alignment") -> Figure:
    """Models by alignment and uniformity; SSD is the size of a point, the main score its colour (PatentMap Fig. 3)."""
    style.require(frame, "model", "alignment", "uniformity", "ssd", "score")
    frame = frame.sort("model")
    figure, axes = _one_panel(7, 4)
    x, y, sizes, scores = (frame[name].to_numpy() for name in ("alignment", "uniformity", "ssd", "score"))
    points = axes.scatter(x, y, s=60 + 1500 * sizes, c=scores, cmap="cividis", alpha=0.85, edgecolors="white")
    axes.margins(0.15)
    axes.set(xlabel=label, ylabel=measure)
    figure.colorbar(points, ax=axes, label="main score", location="left", pad=0.15)
    height = max(3.6, style.LINE * len(frame))
    names = [f"{model} (SSD / log d {ssd:.3f})" for model, ssd in frame.select("model", "ssd").iter_rows()]
    style.end_labels(axes, [(name, *place, style.GREY) for name, *place in zip(names, x, y, strict=True)], height)
    return _finished(figure, title, 4.4, height)


def project(embeddings: np.ndarray) -> np.ndarray:
    """The first two principal components of each embedding."""
    vectors = np.asarray(embeddings, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) < 3:
        raise ReportError(f"a map needs at least three embeddings as a matrix, not an array of shape {vectors.shape}")
    left, singular, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    points = left[:, :2] * singular[:2]
    points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    return np.asarray(points * np.where(signs == 0, 1, signs))


@style.styled
def embedding_map(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Points of texts, coloured by class, one panel a model (WIPO-AT Fig. 14)."""
    style.require(frame, "model", "x", "y", "label")
    models = frame["model"].unique(maintain_order=True).to_list()[: style.PANELS]
    sizes = frame.group_by("label").len().sort("len", "label", descending=[True, False])["label"].to_list()
    named = sizes if len(sizes) <= len(style.COLOURS) else sizes[: len(style.COLOURS) - 1]
    figure, grid = _panels(len(models), 5, 4.2, 1)
    common: dict[str, Any] = {"s": 22, "linewidths": 0.3, "edgecolors": "white"}
    for axes, model in zip(grid.flat, models, strict=False):
        points = frame.filter(pl.col("model") == model)
        rest = points.filter(~pl.col("label").is_in(named))
        if len(rest):
            axes.scatter(*_xy(rest, "x", "y"), color="#bbbbbb", marker=".", label="other classes", **common)
        for label, colour, marker in zip(named, style.COLOURS, style.MARKERS, strict=False):
            members = points.filter(pl.col("label") == label)
            axes.scatter(*_xy(members, "x", "y"), color=colour, marker=marker, label=label, **common)
        axes.set(xticks=[], yticks=[])
        axes.set_title(style.broken(model, 40), fontsize=10)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    columns = 1 if max(map(len, labels)) > 40 else 2
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, markerscale=1.6)
    return _finished(figure, title, 3.6, 3.2)


_METHODS = {"rrf": "k of reciprocal rank fusion", "linear": "α, weight of the second run"}
_SIDES = {"": "ALL", "in_": "IN", "out_": "OUT"}


@style.styled
def fusion_curves(frame: pl.DataFrame, score: str, *, measure: str = "score", title: str = "") -> Figure:
    """One panel a method of fusion, one line for ALL, IN and OUT each; dashed is the best single run (by ALL)."""
    style.require(frame, "name", "method", "parameter", score)
    drawn = frame.filter(pl.col("parameter").is_not_null())
    methods = [method for method in _METHODS if method in drawn["method"]]
    sides = {side: shown for side, shown in _SIDES.items() if f"{side}{score}" in frame.columns}
    best = frame.filter(method="").sort(score, descending=True).row(0, named=True)
    figure = style.new_figure(max(len(methods), 1) * 4.0, 3.4)
    for place, method in enumerate(methods):
        axes = figure.add_subplot(1, len(methods), place + 1)
        curve = drawn.filter(method=method).sort("parameter")
        for series, (side, shown) in enumerate(sides.items()):
            line = style.look(series)
            axes.plot(*_xy(curve, "parameter", f"{side}{score}"), label=shown, **line)
            axes.axhline(best[f"{side}{score}"], color=line["color"], linestyle="--", linewidth=1)
        axes.set(xlabel=_METHODS[method], ylabel=measure)
    if methods:
        figure.axes[0].plot([], [], "--", color=style.GREY, label=f"best single run ({best['name']})")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return _finished(figure, title, 3.4, 2.8)
