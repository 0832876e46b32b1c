"""The house style of the plots, and what all of them share: matplotlib as an extra, colours, series, checks.

Colours are Okabe and Ito's, which readers with colour vision deficiencies can tell apart, and series also differ by marker and
line; heat maps use cividis and print their numbers. matplotlib (extra ``report``) is imported when a plot is drawn. How large a figure
is comes from its texts (:mod:`patent_mteb.report.fitting`).
"""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import polars as pl

from patent_mteb.report.collect import ReportError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "DIFFERENCES",
    "GREY",
    "MARKERS",
    "PANELS",
    "SERIES",
    "best_models",
    "broken",
    "cell_text",
    "cut_title",
    "log_ticks",
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
DIFFERENCES = "PuOr"
"""Colours of what lies on two sides of zero: both sides as dark, white between them."""

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

_NOT_SAID = ("constrained_layout not applied", "Glyph .* missing from")
"""Warnings on names that are too long for a figure or not in its font: the plot shows it, its reader can do nothing about it."""

_Arguments = ParamSpec("_Arguments")


def styled(draw: Callable[_Arguments, Any]) -> Callable[_Arguments, Any]:
    """Draw or render under the house style, without changing the caller's.

    Raises:
        ReportError: matplotlib is missing.

    Example:
        >>> from patent_mteb.report.style import new_figure, styled
        >>> @styled
        ... def empty():
        ...     return new_figure(2, 1)
        >>> empty().get_facecolor()
        (1.0, 1.0, 1.0, 1.0)
    """

    @wraps(draw)
    def under_style(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Any:
        try:
            import matplotlib
        except ImportError as error:
            raise ReportError("plots need matplotlib. Remedy: pip install 'patent-mteb[report]'") from error
        with matplotlib.rc_context(_STYLE), warnings.catch_warnings():  # type: ignore[arg-type]
            for said in _NOT_SAID:
                warnings.filterwarnings("ignore", said, UserWarning)
            return draw(*args, **kwargs)

    return under_style


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; sizes in inches.

    Example:
        >>> from patent_mteb.report.style import new_figure
        >>> new_figure(8, 4.5).get_size_inches().tolist()
        [8.0, 4.5]
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def require(frame: pl.DataFrame, *columns: str) -> None:
    """Check that a frame can be plotted.

    Raises:
        ReportError: a column is missing, or there are no rows.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.style import require
        >>> require(pl.DataFrame({"model": ["m"]}), "model", "value")
        Traceback (most recent call last):
        patent_mteb.report.collect.ReportError: the table of the plot lacks the columns value; it has model
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ReportError(f"the table of the plot lacks the columns {', '.join(missing)}; it has {', '.join(frame.columns)}")
    if frame.is_empty():
        raise ReportError("the table of the plot has no rows")


def best_models(frame: pl.DataFrame, limit: int) -> list[str]:
    """The models with the highest mean value, best first, at most ``limit``.

    Example:
        >>> import polars as pl
        >>> from patent_mteb.report.style import best_models
        >>> best_models(pl.DataFrame({"model": ["a", "b", "b"], "value": [0.4, 0.3, 0.7]}), 1)
        ['b']
    """
    means = frame.group_by("model").agg(pl.col("value").mean()).sort("value", "model", descending=[True, False])
    return means["model"].to_list()[:limit]


def log_ticks(low: float, high: float) -> list[float]:
    """Where a logarithmic axis has its numbers: at the powers of ten, or at both ends and between them where there is but one.

    Example:
        >>> from patent_mteb.report.style import log_ticks
        >>> log_ticks(2e7, 3e9), log_ticks(2.0, 8.0)
        ([100000000.0, 1000000000.0], [2.0, 4.0, 8.0])
    """
    powers = [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    return powers if len(powers) > 1 else sorted({low, math.sqrt(low * high), high})


def look(series: int) -> dict[str, Any]:
    """Colour, marker and line of a series by its number, from 0.

    Example:
        >>> from patent_mteb.report.style import look
        >>> look(0)["marker"], look(1)["marker"]
        ('o', 's')
    """
    return {
        "color": COLOURS[series % len(COLOURS)],
        "marker": MARKERS[(series + series // len(COLOURS)) % len(MARKERS)],
        "linestyle": _LINES[(series // len(COLOURS)) % len(_LINES)],
        "markersize": 6,
        "linewidth": 1.6,
    }


def cell_text(axes: Axes, row: int, column: int, text: str, colour: str) -> None:
    """The number in a cell of a heatmap. It lies within its panel, and is left out when the panel's room is worked out, which takes most
    of the time of a figure with many cells.

    Example:
        >>> from patent_mteb.report.style import cell_text, new_figure
        >>> axes = new_figure(2, 1).add_subplot()
        >>> cell_text(axes, 0, 1, "0.5", "black")
        >>> [(text.get_text(), text.get_in_layout()) for text in axes.texts]
        [('0.5', False)]
    """
    axes.text(column, row, text, ha="center", va="center", fontsize=8.5, color=colour).set_in_layout(False)


def cut_title(title: str, shown: int, total: int) -> str:
    """A title that says so where not all models are shown.

    Example:
        >>> from patent_mteb.report.style import cut_title
        >>> print(cut_title("Recall@k", 12, 20))
        Recall@k
        the best 12 of 20 models
    """
    return title if shown == total else f"{title}\nthe best {shown} of {total} models"


def broken(text: str, width: int = 70) -> str:
    """A title in lines of at most so many characters.

    Example:
        >>> from patent_mteb.report.style import broken
        >>> print(broken("a title of many words", 12))
        a title of
        many words
    """
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, width))


def readable_on(colour: Sequence[float]) -> str:
    """Black or white, whichever has the higher contrast on a colour (red, green, blue from 0 to 1; relative luminance of WCAG 2).

    Example:
        >>> from patent_mteb.report.style import readable_on
        >>> readable_on((1.0, 1.0, 0.8)), readable_on((0.0, 0.0, 0.4))
        ('black', 'white')
    """
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"
