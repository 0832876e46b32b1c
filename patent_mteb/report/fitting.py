"""Figures as large as their texts need: measured with the renderer that draws them, never guessed from the number of characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = ["LINE", "end_labels", "fitted", "shown_texts", "spread"]

LINE = 0.19
"""Inches from one label to the next."""
_ROUNDS = 4
_CLOSE = 0.1
"""Inches that a panel may be smaller than it should: each further round takes as long as the first."""
_SAME = 0.005
"""Inches within which an overhang is as before: the layout keeps that text at the edge, and a larger figure would not help."""
_MARGIN = 0.05
"""Inches that no text comes nearer to the edge."""


def fitted(figure: Figure, width: float, height: float) -> Figure:
    """Make a figure as small as it can be with panels of at least this size (inches) and no text that leaves the canvas; return it, with
    its layout as it is then: writing it as a file works out none again.

    Example:
        >>> from patent_mteb.report.fitting import fitted
        >>> from patent_mteb.report.style import new_figure
        >>> for figure in (new_figure(1, 1), new_figure(5, 5)):
        ...     axes = figure.add_subplot()
        ...     made = fitted(figure, 3, 2)
        ...     print(bool(3 < made.get_figwidth() < 4), bool(2 < made.get_figheight() < 3))
        True True
        True True
    """
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
    """How much the figure has to grow for its smallest panel; below 0 how much it can shrink."""
    lacking = np.full(2, -np.inf)
    for axes in figure.axes:
        spec = axes.get_subplotspec()
        if spec is None or not axes.get_visible() or _is_bar(axes):
            continue
        grid = spec.get_gridspec()
        place = axes.get_position()
        short = np.array(wanted) - np.array([place.width, place.height]) * size
        lacking = np.maximum(lacking, short * [grid.ncols, grid.nrows])
    return np.where(np.isfinite(lacking), lacking, 0)


def _is_bar(axes: Axes) -> bool:
    return axes.get_label() == "<colorbar>"


def _overhang(figure: Figure, size: Any) -> Any:
    """How far texts leave the canvas, on both sides together."""
    texts = (text for text in shown_texts(figure) if text.get_in_layout())
    boxes = np.array([text.get_window_extent().extents for text in texts]).reshape(-1, 4) / figure.dpi
    if not len(boxes):
        return np.zeros(2)
    before, behind = _MARGIN - boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0) - size + _MARGIN
    return np.maximum(before, 0) + np.maximum(behind, 0)


def shown_texts(figure: Figure) -> list[Text]:
    """The texts of a drawn figure that can be seen: titles, labels, ticks within the axes, annotations, keys.

    Example:
        >>> from patent_mteb.report.fitting import shown_texts
        >>> from patent_mteb.report.style import new_figure
        >>> figure = new_figure(2, 1)
        >>> title = figure.suptitle("A title")
        >>> [text.get_text() for text in shown_texts(figure)]
        ['A title']
    """
    return [text for text in _texts(figure) if text.get_visible() and text.get_text().strip()]


def _texts(figure: Figure) -> Iterator[Text]:
    from matplotlib.text import Text as Drawn

    ticks = {id(label) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels(which="both")}
    hidden = {id(text) for axes in figure.axes if not axes.get_visible() for text in axes.findobj(Drawn)}
    yield from (text for text in figure.findobj(Drawn) if id(text) not in ticks | hidden)
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis) if axes.get_visible() else ():
            low, high = sorted(axis.get_view_interval())
            yield from (tick.label1 for tick in axis.get_major_ticks() if low - 1e-9 <= tick.get_loc() <= high + 1e-9)


def spread(values: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Places for labels beside values: at least ``gap`` apart, within ``low`` and ``high`` where there is room, and otherwise as near to
    the values as can be (least squares).

    Example:
        >>> from patent_mteb.report.fitting import spread
        >>> spread([0.5, 0.5], gap=0.25)
        [0.375, 0.625]
    """
    from sklearn.isotonic import isotonic_regression

    if not len(values):
        return []
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(order))
    free = isotonic_regression(np.asarray(values, dtype=np.float64)[order] - steps)
    room = max(high - low - steps[-1], 0.0)
    places = np.empty(len(order))
    places[order] = np.clip(free, low, low + room) + steps
    return [float(place) for place in places]


def end_labels(axes: Axes, points: Sequence[tuple[str, float, float, str]], height: float) -> None:
    """Names at the right edge of a panel, none over another, each tied to its point by a thin line.

    Args:
        points: name, x, y and colour.
        height: of the panel in inches, at least.

    Example:
        >>> from patent_mteb.report.fitting import end_labels
        >>> from patent_mteb.report.style import new_figure
        >>> axes = new_figure(4, 3).add_subplot()
        >>> end_labels(axes, [("a", 0.5, 0.5, "black"), ("b", 0.5, 0.5, "grey")], 3)
        >>> [text.get_text() for text in axes.texts]
        ['a', 'b']
    """
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    from matplotlib.collections import LineCollection

    within = axes.transAxes.inverted()
    places = [tuple(map(float, within.transform(axes.transData.transform((x, y))))) for _, x, y, _ in points]
    labels = spread([y for _, y in places], LINE / height)
    ties = [[place, (1.03, label)] for place, label in zip(places, labels, strict=True)]
    colours = [colour for *_, colour in points]
    drawn = LineCollection(ties, colors=colours, linewidths=0.6, alpha=0.6, transform=axes.transAxes, clip_on=False, zorder=1)
    drawn.set_in_layout(False)
    axes.add_artist(drawn)
    for (name, *_), label in zip(points, labels, strict=True):
        axes.text(1.04, label, name, transform=axes.transAxes, va="center", fontsize=9)
