"""The style of image files: size, colours, series and checks, shared by all figures (extra ``report``).

A figure is as large as its texts need, measured with the renderer that draws them. Colours are those of Okabe and Ito,
which readers with colour vision deficiencies can distinguish. matplotlib is imported when a figure is drawn.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
import polars as pl

from patent_mteb.report.collect import ReportError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


LINE = 0.19  # inches from one label to the next
_ROUNDS = 4
_CLOSE = 0.1  # inches that a panel may lack: each further round of the layout takes as long as the first
_SAME = 0.005  # inches within which an overhang is unchanged: the layout keeps that text at the edge of any figure
_MARGIN = 0.05  # least inches from a text to the edge


def fitted(figure: Figure, width: float, height: float) -> Figure:
    """Make a figure as small as its texts and panels of at least this size (inches) allow; fix its layout."""
    engine = figure.get_layout_engine()
    if engine is None:
        return figure
    before = np.full(2, np.inf)
    for number in range(_ROUNDS):
        engine.execute(figure)  # places all panels, and with them all texts
        size = figure.get_size_inches()
        lacking, found = _panels_lack(figure, size, (width, height)), _overhang(figure, size)
        overhang = np.where(np.abs(found - before) < _SAME, 0, found)
        before = found
        if number == 0:
            figure.set_size_inches(np.maximum(size + lacking + overhang, size / 3))
            continue
        if (lacking < _CLOSE).all() and (overhang < _MARGIN / 2).all():
            break
        figure.set_size_inches(size + np.maximum(np.maximum(lacking, 0), overhang))
    else:
        engine.execute(figure)
    figure.set_layout_engine("none")
    return figure


def _panels_lack(figure: Figure, size: Any, wanted: tuple[float, float]) -> Any:
    """How much the figure has to grow for its smallest panel, in inches; below 0 how much it can shrink."""
    lacking = np.full(2, -np.inf)
    for axes in figure.axes:
        spec = axes.get_subplotspec()
        if spec is None or not axes.get_visible() or axes.get_label() == "<colorbar>":
            continue
        grid = spec.get_gridspec()
        place = axes.get_position()
        short = np.array(wanted) - np.array([place.width, place.height]) * size
        lacking = np.maximum(lacking, short * [grid.ncols, grid.nrows])
    return np.where(np.isfinite(lacking), lacking, 0)


def _overhang(figure: Figure, size: Any) -> Any:
    """How far texts and keys leave the canvas, on both sides together, in inches."""
    drawn = [text for text in shown_texts(figure) if text.get_in_layout()] + figure.legends  # texts of a key move later
    boxes = np.array([artist.get_window_extent().extents for artist in drawn]).reshape(-1, 4) / figure.dpi
    if not len(boxes):
        return np.zeros(2)
    before, behind = _MARGIN - boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0) - size + _MARGIN
    return np.maximum(before, 0) + np.maximum(behind, 0)


def shown_texts(figure: Figure) -> list[Text]:
    """Return the visible texts of a drawn figure: titles, labels, ticks within the axes, annotations, keys."""
    from matplotlib.text import Text as Drawn

    axes = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)]
    ticks = {id(label) for axis in axes for label in axis.get_ticklabels(which="both")}
    hidden = {id(text) for panel in figure.axes if not panel.get_visible() for text in panel.findobj(Drawn)}
    texts = [text for text in figure.findobj(Drawn) if id(text) not in ticks | hidden]
    for axis in axes:
        if axis.axes.get_visible():
            low, high = sorted(axis.get_view_interval())
            texts += [tick.label1 for tick in axis.get_major_ticks() if low - 1e-9 <= tick.get_loc() <= high + 1e-9]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Places of labels near to their values (least squares), at least ``gap`` apart, and within 0 and 1 if they fit."""
    from sklearn.isotonic import isotonic_regression

    if not len(values):
        return []
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(order))
    free = isotonic_regression(np.asarray(values, dtype=np.float64)[order] - steps)
    places = np.empty(len(order))
    places[order] = np.clip(free, 0.0, max(1.0 - steps[-1], 0.0)) + steps
    return [float(place) for place in places]


def end_labels(axes: Axes, points: Sequence[tuple[str, float, float, str]], height: float) -> None:
    """Write names at the right edge of a panel, none over another, each tied to its point by a thin line."""
    from matplotlib.collections import LineCollection

    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    within = axes.transAxes.inverted()
    places = [tuple(map(float, within.transform(axes.transData.transform((x, y))))) for _, x, y, _ in points]
    labels = spread([y for _, y in places], LINE / height)
    ties = [[place, (1.03, label)] for place, label in zip(places, labels, strict=True)]
    look: dict[str, Any] = {"linewidths": 0.6, "alpha": 0.6, "clip_on": False, "zorder": 1}
    drawn = LineCollection(ties, colors=[colour for *_, colour in points], transform=axes.transAxes, **look)
    drawn.set_in_layout(False)
    axes.add_artist(drawn)
    for (name, *_), label in zip(points, labels, strict=True):
        axes.text(1.04, label, name, transform=axes.transAxes, va="center", fontsize=9)


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#767676"
SERIES = 12  # in one plot, at most
PANELS = 8  # in one figure, at most
_LINES = ("-", "--", ":", "-.")
DIFFERENCES = "PuOr"  # colours of signed values: both sides are equally dark, zero is white

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "patent-mteb",
    "svg.fonttype": "none",  # text stays text
    "pdf.fonttype": 42,
    "figure.facecolor": "white",
}

_IGNORED_WARNINGS = ("constrained_layout not applied", "Glyph .* missing from")
"""Warnings on names that are too long for a figure or not in its font: the figure shows them anyway."""

_Arguments = ParamSpec("_Arguments")


def styled(draw: Callable[_Arguments, Any]) -> Callable[_Arguments, Any]:
    """Draw or render in the style of this module, without changing that of the caller."""

    @wraps(draw)
    def under_style(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Any:
        try:
            import matplotlib
        except ImportError as error:
            raise ReportError("plots need matplotlib. Remedy: pip install -e '.[report]'") from error
        with matplotlib.rc_context(_STYLE), warnings.catch_warnings():  # type: ignore[arg-type]
            for message in _IGNORED_WARNINGS:
                warnings.filterwarnings("ignore", message, UserWarning)
            return draw(*args, **kwargs)

    return under_style


def new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def require(frame: pl.DataFrame, *columns: str) -> None:
    """Check that a table has rows and the columns of its figure."""
    if missing := [column for column in columns if column not in frame.columns]:
        lacking, having = ", ".join(missing), ", ".join(frame.columns)
        raise ReportError(f"the table of the plot lacks the columns {lacking}; it has {having}")
    if frame.is_empty():
        raise ReportError("the table of the plot has no rows")


def best_models(frame: pl.DataFrame, limit: int) -> list[str]:
    """Return at most ``limit`` models with the highest mean value, best first."""
    means = frame.group_by("model").agg(pl.col("value").mean()).sort("value", "model", descending=[True, False])
    return means["model"].to_list()[:limit]


def log_ticks(low: float, high: float) -> list[float]:
    """Return the ticks of a logarithmic axis: powers of ten, or both ends and their middle if there is at most one."""
    powers = [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    return powers if len(powers) > 1 else sorted({low, math.sqrt(low * high), high})


def look(series: int) -> dict[str, Any]:
    """Return colour, marker and line of a series by its number, from 0."""
    return {
        "color": COLOURS[series % len(COLOURS)],
        "marker": MARKERS[(series + series // len(COLOURS)) % len(MARKERS)],
        "linestyle": _LINES[(series // len(COLOURS)) % len(_LINES)],
        "markersize": 6,
        "linewidth": 1.6,
    }


def cut_title(title: str, models: Sequence[str], frame: pl.DataFrame) -> str:
    """Extend a title if not all models of a table are shown."""
    total = frame["model"].n_unique()
    return title if len(models) == total else f"{title}\nthe best {len(models)} of {total} models"


def broken(text: str, width: int = 70) -> str:
    """Wrap a title in lines of at most ``width`` characters."""
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, width))


def readable_on(colour: Sequence[float]) -> str:
    """Return black or white, by the higher contrast on a colour (red, green, blue from 0 to 1; WCAG 2)."""
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"
