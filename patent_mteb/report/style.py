"""The house style of the plots, and what all of them share: matplotlib as an extra, colours, series, checks.

Colours are Okabe and Ito's, which readers with colour vision deficiencies can tell apart, and series also differ by marker and
line; heat maps use cividis and print their numbers. matplotlib (extra ``plots``) is imported when a plot is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import polars as pl

from patent_mteb.report.collect import ReportError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "GREY",
    "MARKERS",
    "PANELS",
    "SERIES",
    "best_models",
    "cut_title",
    "look",
    "new_figure",
    "readable_on",
    "require",
    "styled",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#767676"
SERIES = 12
"""Series in one plot, at most."""
PANELS = 8
"""Panels in one figure, at most."""

_LINES = ("-", "--", ":", "-.")
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

_Arguments = ParamSpec("_Arguments")


def styled(draw: Callable[_Arguments, Any]) -> Callable[_Arguments, Any]:
    """Draw or render under the house style, without changing the caller's.

    Raises:
        ReportError: matplotlib is missing.
    """

    @wraps(draw)
    def under_style(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Any:
        try:
            import matplotlib
        except ImportError as error:
            raise ReportError("plots need matplotlib. Remedy: pip install 'patent-mteb[plots]'") from error
        with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
            return draw(*args, **kwargs)

    return under_style


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; sizes in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def require(frame: pl.DataFrame, *columns: str) -> None:
    """Check that a frame can be plotted.

    Raises:
        ReportError: a column is missing, or there are no rows.
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ReportError(f"the table of the plot lacks the columns {', '.join(missing)}; it has {', '.join(frame.columns)}")
    if frame.is_empty():
        raise ReportError("the table of the plot has no rows")


def best_models(frame: pl.DataFrame, limit: int) -> list[str]:
    """The models with the highest mean value, best first, at most ``limit``."""
    means = frame.group_by("model").agg(pl.col("value").mean()).sort("value", "model", descending=[True, False])
    return means["model"].to_list()[:limit]


def look(series: int) -> dict[str, Any]:
    """Colour, marker and line of a series by its number, from 0."""
    return {
        "color": COLOURS[series % len(COLOURS)],
        "marker": MARKERS[(series + series // len(COLOURS)) % len(MARKERS)],
        "linestyle": _LINES[(series // len(COLOURS)) % len(_LINES)],
        "markersize": 6,
        "linewidth": 1.6,
    }


def cut_title(title: str, shown: int, total: int) -> str:
    """A title that says so where not all models are shown."""
    return title if shown == total else f"{title}\nthe best {shown} of {total} models"


def readable_on(colour: Sequence[float]) -> str:
    """Black or white, whichever has the higher contrast on a colour (red, green, blue from 0 to 1; relative luminance of WCAG 2)."""
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"
