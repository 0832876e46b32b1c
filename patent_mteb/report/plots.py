"""The plots of a report: one function each, from a tidy polars table to a matplotlib figure.

Colours are Okabe and Ito's, which readers with colour vision deficiencies can tell apart, and series also differ by marker and
line; heatmaps use cividis and print their numbers. matplotlib (extra ``plots``) is imported when a function is called.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from patent_mteb.report import frames
from patent_mteb.report.cells import short, slug, titled
from patent_mteb.report.collect import Collected, ReportError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Plot",
    "alpha_curve",
    "draw",
    "embedding_map",
    "in_out_bars",
    "jurisdiction_heatmap",
    "project",
    "rank_summary",
    "recall_curves",
    "save",
    "scale_scatter",
    "section_heatmaps",
    "svg",
    "truncation_curves",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
_GREY = "#767676"
_BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
_SERIES = 12
_PANELS = 8
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "patent-mteb",
    "svg.fonttype": "path",
    "figure.facecolor": "white",
}


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ReportError("plots need matplotlib. Remedy: pip install 'patent-mteb[plots]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def _styled(plot: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draw under the house style, without changing the caller's."""
    from functools import wraps

    @wraps(plot)
    def wrapped(*args: Any, **kwargs: Any) -> Figure:
        try:
            import matplotlib
        except ImportError as error:
            raise ReportError("plots need matplotlib. Remedy: pip install 'patent-mteb[plots]'") from error
        with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
            return plot(*args, **kwargs)

    return wrapped


def _need(frame: pl.DataFrame, *columns: str) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ReportError(f"the table of the plot lacks the columns {', '.join(missing)}; it has {', '.join(frame.columns)}")
    if frame.is_empty():
        raise ReportError("the table of the plot has no rows")


def _best(frame: pl.DataFrame, limit: int) -> list[str]:
    """The models with the highest mean value, best first, at most ``limit``."""
    means = frame.group_by("model").agg(pl.col("value").mean()).sort("value", "model", descending=[True, False])
    return means["model"].to_list()[:limit]


def _look(place: int) -> dict[str, Any]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[(place // len(COLOURS)) % len(LINES)],
        "markersize": 6,
        "linewidth": 1.6,
    }


def _cut(title: str, shown: int, total: int) -> str:
    return title if shown == total else f"{title}\nthe best {shown} of {total} models"


@_styled
def in_out_bars(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """IN beside OUT of domain, with the relative loss (WIPO-AT Fig. 2).

    Args:
        frame: ``model, in, out``.
    """
    _need(frame, "model", "in", "out")
    frame = frame.sort("in", "model")
    figure = _figure(8, 1.5 + 0.5 * len(frame))
    axes = figure.add_subplot()
    places = np.arange(len(frame))
    for column, offset, colour, hatch in (("in", 0.2, COLOURS[0], ""), ("out", -0.2, COLOURS[4], "///")):
        axes.barh(
            places + offset,
            frame[column].to_numpy(),
            0.38,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=f"{column.upper()} of domain",
        )
    for place, (inside, outside) in enumerate(frame.select("in", "out").iter_rows()):
        axes.text(inside, place + 0.2, f" {inside:.3f}", va="center", fontsize=9, bbox=_BEHIND)
        loss = f", {100 * (outside - inside) / inside:+.0f}%".replace("-", "−") if inside else ""
        axes.text(outside, place - 0.2, f" {outside:.3f}{loss}", va="center", fontsize=9, bbox=_BEHIND)
    axes.set_yticks(places, frame["model"].to_list())
    axes.set_xlim(0, 1.18 * max(1e-9, float(np.nanmax(frame.select("in", "out").to_numpy()))))
    axes.set_xlabel(measure)
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=2)
    axes.set_title(title, loc="left")
    return figure


@_styled
def alpha_curve(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Fusion against the weight of the dense system, with a star where it stands alone (WIPO-AT Fig. 3).

    Args:
        frame: ``model, alpha, value``; rows at alpha 1 are the dense system alone.
    """
    _need(frame, "model", "alpha", "value")
    models = _best(frame, _SERIES)
    figure = _figure(7.5, 4.6)
    axes = figure.add_subplot()
    for place, model in enumerate(models):
        mine = frame.filter(pl.col("model") == model).sort("alpha")
        fused = mine.filter(pl.col("alpha") < 1)
        look = _look(place)
        axes.plot(fused["alpha"].to_numpy(), fused["value"].to_numpy(), label=model, **look)
        alone = mine.filter(pl.col("alpha") == 1)
        axes.plot(
            alone["alpha"].to_numpy(),
            alone["value"].to_numpy(),
            "*",
            color=look["color"],
            markersize=15,
            markeredgecolor="white",
            clip_on=False,
        )
    axes.plot([], [], "*", color=_GREY, markersize=13, label="dense system alone (α = 1)")
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks(np.arange(0, 1.01, 0.1))
    axes.set_xlabel("α, weight of the dense system (0: the other system alone)")
    axes.set_ylabel(measure)
    axes.set_title(_cut(title, len(models), frame["model"].n_unique()), loc="left")
    figure.legend(loc="outside lower center", ncols=1 + (max(map(len, models)) < 30))
    return figure


def _heat(axes: Axes, values: np.ndarray, low: float, high: float) -> Any:
    """A heatmap with its numbers in the colour that can be read on each cell; missing cells are grey and say so."""
    import matplotlib

    palette = matplotlib.colormaps["cividis"].with_extremes(bad="#eeeeee")
    image = axes.imshow(np.ma.masked_invalid(values), cmap=palette, vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            axes.text(column, row, "–", ha="center", va="center", color=_GREY)
        else:
            colour = _readable_on(palette((value - low) / ((high - low) or 1)))
            axes.text(column, row, f"{value:.3f}", ha="center", va="center", fontsize=8.5, color=colour)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _readable_on(colour: Sequence[float]) -> str:
    """Black or white, whichever has the higher contrast on a colour (relative luminance of WCAG 2)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def _pivot(frame: pl.DataFrame, row: str, column: str, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    cells = {(one, other): value for one, other, value in frame.select(row, column, "value").iter_rows()}
    return np.array([[cells.get((one, other), np.nan) for other in columns] for one in rows], dtype=float)


def _range(frame: pl.DataFrame) -> tuple[float, float]:
    return float(np.nanmin(frame["value"].to_numpy())), float(np.nanmax(frame["value"].to_numpy()))


_QUERY_ORDER = ("TA", "TAC", "Abstract", "Claim1", "Claims")
_CORPUS_ORDER = ("TA", "TAC", "Claim1", "Abstract", "DWPIFull", "DWPITA")


def _ordered(values: pl.Series, order: Sequence[str]) -> list[str]:
    found = set(values)
    return [name for name in order if name in found] + sorted(found - set(order))


@_styled
def section_heatmaps(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Query section against corpus view, one panel a model (WIPO-AT Fig. 4); at most eight models, the best ones.

    Args:
        frame: ``model, query, corpus, value``.
    """
    _need(frame, "model", "query", "corpus", "value")
    models = _best(frame, _PANELS)
    queries, corpora = _ordered(frame["query"], _QUERY_ORDER), _ordered(frame["corpus"], _CORPUS_ORDER)
    low, high = _range(frame)
    columns = min(2, len(models))
    rows = -(-len(models) // columns)
    figure = _figure(1.4 + columns * (0.9 + 0.72 * len(corpora)), 1.3 + rows * (0.9 + 0.42 * len(queries)))
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
    figure.suptitle(_cut(title, len(models), frame["model"].n_unique()), fontsize=11)
    return figure


@_styled
def jurisdiction_heatmap(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Models against the filing jurisdiction of the query (WIPO-AT Fig. 9).

    Args:
        frame: ``model, group, value``.
    """
    _need(frame, "model", "group", "value")
    models = _best(frame, frame["model"].n_unique())
    groups = _ordered(frame["group"], ("EN", "CN", "JP", "DE", "FR", "ES", "RU"))
    figure = _figure(max(6, 2.4 + 0.075 * max(map(len, models)) + 0.75 * len(groups)), 1.5 + 0.42 * len(models))
    axes = figure.add_subplot()
    image = _heat(axes, _pivot(frame, "model", "group", models, groups), *_range(frame))
    axes.set_xticks(range(len(groups)), groups)
    axes.set_yticks(range(len(models)), models)
    axes.set_xlabel("filing jurisdiction of the query")
    figure.colorbar(image, ax=axes, label=measure)
    axes.set_title(title, loc="left")
    return figure


@_styled
def rank_summary(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Rank of each model in each group of tasks and on average, best first (WIPO-AT Fig. 10).

    Args:
        frame: ``model, group, rank``; every model has every group.
    """
    _need(frame, "model", "group", "rank")
    means = frame.group_by("model").agg(pl.col("rank").mean()).sort("rank", "model", descending=True)
    models, groups = means["model"].to_list(), frame["group"].unique(maintain_order=True).to_list()
    figure = _figure(8, 1.7 + 0.36 * len(models))
    axes = figure.add_subplot()
    places = {model: place for place, model in enumerate(models)}
    axes.barh(range(len(models)), means["rank"].to_numpy(), 0.6, color="#d9d9d9", label="average")
    for place, rank in enumerate(means["rank"]):
        axes.text(0.06, place, f"{rank:.1f}", va="center", fontsize=9)
    for number, group in enumerate(groups):
        mine = frame.filter(pl.col("group") == group)
        shift = (number - (len(groups) - 1) / 2) * 0.16
        height = [places[model] - shift for model in mine["model"]]
        axes.plot(mine["rank"].to_numpy(), height, linestyle="", color=COLOURS[number], marker=MARKERS[number], markersize=7, label=group)
    axes.set_yticks(range(len(models)), models)
    axes.set_xlim(0, max(frame["rank"].to_list()) + 0.6)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("rank (1 is best)")
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=min(4, len(groups) + 1))
    axes.set_title(title, loc="left")
    return figure


@_styled
def truncation_curves(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Figure:
    """Score and retained share against the dimensions that are kept; dashed at 90% (WIPO-AT Fig. 11).

    Args:
        frame: ``model, dims, value, full``; the row of the full width has ``full`` set, its ``dims`` may be missing.
    """
    _need(frame, "model", "dims", "value", "full")
    models = _best(frame, _SERIES)
    known = frame["dims"].drop_nulls()
    widest = int(known.max()) if len(known) else 1  # type: ignore[arg-type]
    unknown = frame.filter("full")["dims"].null_count() > 0
    figure = _figure(9.5, 4.4)
    left, right = figure.subplots(1, 2)
    for place, model in enumerate(models):
        mine = frame.filter(pl.col("model") == model).with_columns(pl.col("dims").fill_null(2 * widest)).sort("dims")
        left.plot(mine["dims"].to_numpy(), mine["value"].to_numpy(), label=model, **_look(place))
        full = mine.filter("full")["value"]
        if len(full) and full[0]:
            right.plot(mine["dims"].to_numpy(), 100 * mine["value"].to_numpy() / full[0], **_look(place))
    right.axhline(90, color=_GREY, linestyle="--", linewidth=1)
    right.text(0.99, 90, "90%", transform=right.get_yaxis_transform(), ha="right", va="bottom", color=_GREY, fontsize=9)
    ticks = sorted(set(known.to_list()))
    for axes, label in ((left, measure), (right, "share of the full width's score (%)")):
        axes.set_xscale("log", base=2)
        axes.set_xticks([*ticks, *([2 * widest] if unknown else [])], [*map(str, ticks), *(["full"] if unknown else [])])
        axes.minorticks_off()
        axes.set_xlabel("dimensions")
        axes.set_ylabel(label)
    figure.suptitle(_cut(title, len(models), frame["model"].n_unique()), fontsize=11)
    figure.legend(loc="outside lower center", ncols=min(3, len(models)))
    return figure


@_styled
def recall_curves(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Recall@k against k (Sophia-Bench Fig. 4).

    Args:
        frame: ``model, k, value``.
    """
    _need(frame, "model", "k", "value")
    models = _best(frame, _SERIES)
    ticks = sorted(set(frame["k"]))
    figure = _figure(7.5, 4.8)
    axes = figure.add_subplot()
    for place, model in enumerate(models):
        mine = frame.filter(pl.col("model") == model).sort("k")
        axes.plot(mine["k"].to_numpy(), mine["value"].to_numpy(), label=model, **_look(place))
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("k")
    axes.set_ylabel("Recall@k")
    axes.set_title(_cut(title, len(models), frame["model"].n_unique()), loc="left")
    figure.legend(loc="outside lower center", ncols=2 if max(map(len, models)) < 45 else 1)
    return figure


@_styled
def scale_scatter(frame: pl.DataFrame, *, title: str = "") -> Figure:
    """Score against the number of parameters, one panel a group of tasks, with a log-linear fit from three models on
    (WIPO-AT Fig. 1).

    Args:
        frame: ``model, parameters, group, value``.
    """
    _need(frame, "model", "parameters", "group", "value")
    groups = frame["group"].unique(maintain_order=True).to_list()
    sizes = dict(frame.sort("parameters", "model").select("model", "parameters").iter_rows())
    numbers = {model: number for number, model in enumerate(sizes, start=1)}
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    figure = _figure(5.2 * columns, 0.5 + 3.6 * rows + 0.2 * -(-len(numbers) // (2 * columns)))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, group in zip(grid.flat, groups, strict=False):
        mine = frame.filter(pl.col("group") == group).sort("parameters", "value")
        xs, ys = mine["parameters"].to_numpy(), mine["value"].to_numpy()
        if len(mine) > 2 and np.ptp(np.log10(xs)):
            slope, height = np.polyfit(np.log10(xs), ys, 1)
            ends = np.array([xs.min(), xs.max()])
            axes.plot(ends, slope * np.log10(ends) + height, "--", color=_GREY, linewidth=1.2, label="log-linear fit")
            axes.legend(loc="lower right", fontsize=9)
        axes.plot(xs, ys, "o", color=COLOURS[0], markersize=7)
        for model, x, y in zip(mine["model"], xs, ys, strict=True):
            axes.annotate(str(numbers[model]), (x, y), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=9, bbox=_BEHIND)
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


def project(embeddings: np.ndarray, method: str = "auto", seed: int = 42) -> tuple[np.ndarray, str]:
    """Two coordinates for each embedding, by UMAP if it is installed, else by principal components.

    Args:
        embeddings: [n, d].
        method: ``auto``, ``umap`` or ``pca``.

    Returns:
        array [n, 2] and the name of the method that was used.

    Raises:
        ReportError: ``umap`` was asked for and is not installed, or there are fewer than three embeddings.
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


@_styled
def embedding_map(frame: pl.DataFrame, *, method: str = "", title: str = "") -> Figure:
    """Points of texts, coloured by class, one panel a model (WIPO-AT Fig. 14).

    Args:
        frame: ``model, x, y, label``, the points as of :func:`project`. The six largest classes have a colour, the rest is grey.
    """
    _need(frame, "model", "x", "y", "label")
    models = frame["model"].unique(maintain_order=True).to_list()[:_PANELS]
    sizes = frame.group_by("label").len().sort("len", "label", descending=[True, False])["label"].to_list()
    named = sizes if len(sizes) <= len(COLOURS) else sizes[: len(COLOURS) - 1]
    columns = min(2, len(models))
    rows = -(-len(models) // columns)
    figure = _figure(5 * columns, 1 + 4.2 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, model in zip(grid.flat, models, strict=False):
        mine = frame.filter(pl.col("model") == model)
        rest = mine.filter(~pl.col("label").is_in(named))
        common: dict[str, Any] = {"s": 22, "linewidths": 0.3, "edgecolors": "white"}
        if len(rest):
            axes.scatter(rest["x"].to_numpy(), rest["y"].to_numpy(), color="#bbbbbb", marker=".", label="other classes", **common)
        for place, label in enumerate(named):
            points = mine.filter(pl.col("label") == label)
            axes.scatter(points["x"].to_numpy(), points["y"].to_numpy(), color=COLOURS[place], marker=MARKERS[place], label=label, **common)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(model, fontsize=10)
    for axes in grid.flat[len(models) :]:
        axes.set_visible(False)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2 if max(map(len, labels)) > 25 else 3, markerscale=1.6)
    figure.suptitle(" ".join(filter(None, (title, f"({method})" if method else ""))), fontsize=11)
    return figure


# --- all plots of a report ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plot:
    """A figure with its file name, what it shows in words (for those who do not see it), its world and family."""

    name: str
    title: str
    world: str
    family: str
    figure: Figure


def draw(collected: Collected) -> list[Plot]:
    """Every plot that the results have data for.

    Raises:
        ReportError: matplotlib is missing.
    """
    plots: list[Plot] = []
    for world in collected.worlds:
        part = collected.in_world(world)
        for family in part.families:
            for kind, title, figure in _family_plots(part, family, world):
                plots.append(Plot(slug(world, family, kind), title, world, family, figure))
    return plots


def _pretty(measure: str) -> str:
    name, _, cut = measure.partition("_at_")
    names = {"ndcg": "nDCG", "map": "MAP", "mrr": "MRR", "macro_f1": "macro F1", "v_measure": "V-measure"}
    return names.get(name, name.replace("_", " ").capitalize()) + (f"@{cut}" if cut else "")


def _family_plots(part: Collected, family: str, world: str) -> Sequence[tuple[str, str, Figure]]:
    made: list[tuple[str, str, Figure]] = []

    def add(kind: str, what: str, frame: pl.DataFrame, least: int, plot: Callable[..., Figure], task: str = "", **kwargs: Any) -> None:
        if len(frame) >= least:
            title = titled(world, f"{family}: {what}" + (f", {short(task)}" if task else ""))
            made.append((kind, title, plot(frame, title=title, **kwargs)))

    def measure(task: str) -> str:
        return _pretty(part.results.filter(pl.col("task") == task)["main_score"][0]) if task else ""

    task, frame = frames.in_out(part, family)
    add("in-out", "IN and OUT of domain", frame, 1, in_out_bars, task, measure=measure(task))
    task, frame = frames.alpha(part, family)
    add("alpha", "fusion with a lexical system", frame, 2, alpha_curve, task, measure=measure(task))
    if family == "WIPO-AT":
        add("sections", "query section and corpus view", frames.sections(part), 2, section_heatmaps, measure="nDCG@10")
    task, frame = frames.jurisdictions(part, family)
    add("jurisdictions", "filing jurisdiction", frame, 2, jurisdiction_heatmap, task, measure=measure(task))
    add("ranks", "ranks in each group of tasks", frames.ranks(part, family), 2, rank_summary)
    task, frame = frames.truncation(part, family)
    add("truncation", "truncated embeddings", frame, 2, truncation_curves, task, measure=measure(task))
    task, frame = frames.recall(part, family)
    add("recall", "Recall@k", frame, 2, recall_curves, task)
    add("scale", "model size and score", frames.scale(part, family), 2, scale_scatter)
    return made


def svg(figure: Figure) -> str:
    """A figure as SVG, the same bytes for the same figure."""
    import matplotlib

    out = io.BytesIO()
    with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue().decode()


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``<stem>.png`` (200 dpi) and ``<stem>.svg``."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    png, vector = stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg")
    figure.savefig(png, dpi=200, metadata={"Software": None})
    vector.write_text(svg(figure), encoding="utf-8")
    return [png, vector]
