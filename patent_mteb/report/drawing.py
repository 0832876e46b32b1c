"""The image files of charts: one function each, from a tidy polars table to a Vega-Lite specification (a plain dict).

``measure`` names the axis or colour bar of the values, ``label`` the x axis. Long tables are cut to the best models or
the most frequent groups, and the title of the figure says so. Vega makes a figure as large as its texts need; only the
places of labels at the right edge are computed here. Lengths are points of 1/72 inch.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from patent_mteb.metrics.significance import MARK
from patent_mteb.metrics.slices import JURISDICTION_GROUPS
from patent_mteb.report.collect import ReportError
from patent_mteb.report.findings import rank_agreements

Spec = dict[str, Any]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # of Okabe and Ito
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
GREY = "#767676"
SERIES = 12  # in one plot, at most
PANELS = 8  # in one figure, at most
ENOUGH = 8  # models below which no fit and no correlation is drawn: they would be of any value by chance
_DASHES = ([1, 0], [6, 3], [2, 2])
_STAR = "M0,-1L.24,-.32L.95,-.31L.38,.12L.59,.81L0,.4L-.59,.81L-.38,.12L-.95,-.31L-.24,-.32Z"
_MOST_GROUPS = 50  # rows of a chart that stay readable
_TILTED = 5  # characters of a column's name from which on names are tilted
_LEVEL = 4  # ticks that fit next to each other without rotation
_BINS = 20  # of 0.05
_LINE = 13  # from one label at the right edge to the next
_TEXTS = {"labelFontSize": 10, "titleFontSize": 10, "titleFontWeight": "normal", "labelLimit": 0, "titleLimit": 0}
_CONFIG = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",  # vl-convert has the first; the next two are as wide
    "axis": {**_TEXTS, "labelFlush": False, "gridColor": "#dddddd", "domainColor": "black", "tickColor": "black"},
    "concat": {"columns": 2, "spacing": 30},
    "legend": {**_TEXTS, "orient": "bottom", "symbolLimit": 0, "symbolSize": 50},
    "mark": {"color": COLOURS[0]},
    "line": {"strokeWidth": 1.6},
    "point": {"filled": True, "opacity": 1, "size": 45},
    "rule": {"color": GREY},
    "text": {"align": "left", "fontSize": 9, "color": "black"},
    "title": {"fontSize": 11, "fontWeight": "normal", "subtitleFontSize": 9, "subtitleColor": GREY},
    "view": {"stroke": None},
}


def require(frame: pl.DataFrame, *columns: str) -> None:
    """Check that a table has rows and the columns of its figure."""
    if missing := [column for column in columns if column not in frame.columns]:
        lacking, having = ", ".join(missing), ", ".join(frame.columns)
        raise ReportError(f"the table of the plot lacks the columns {lacking}; it has {having}")
    if frame.is_empty():
        raise ReportError("the table of the plot has no rows")


def best_models(frame: pl.DataFrame, limit: int | None = None) -> list[str]:
    """Return at most ``limit`` models with the highest mean value, best first."""
    means = frame.group_by("model").agg(pl.col("value").mean()).sort("value", "model", descending=[True, False])
    return means["model"].to_list()[:limit]


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


def _figure(view: Spec, title: str, models: Sequence[str] = (), frame: pl.DataFrame | None = None) -> Spec:
    """A view under its title, which says how many ``models`` of a table are shown if not all are."""
    total = len(models) if frame is None else frame["model"].n_unique()
    cut = [f"the best {len(models)} of {total} models"] if len(models) < total else []
    shown = {"text": _broken(title) + cut, "anchor": "middle", "offset": 12}
    schema = "https://vega.github.io/schema/vega-lite/v6.json"
    return {"$schema": schema, "config": _CONFIG, "background": "white", "padding": 8, "title": shown, **view}


def _broken(text: str, width: int = 70) -> list[str]:
    return [part for line in text.split("\n") for part in textwrap.wrap(line, width)]


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _distinct(values: pl.Series) -> list[Any]:
    return values.unique(maintain_order=True).to_list()


def _range(values: pl.Series, margin: float = 0.0) -> list[float]:
    """Least and greatest value, with a margin at both ends as a share of their difference."""
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    margin = margin * (high - low) if high > low else 0.1 * (abs(high) or 1)
    return [low - margin, high + margin]


def _log_scale(values: pl.Series) -> Spec:
    return {"type": "log", "domain": [10**end for end in _range(values.log10(), 0.08)]}


def _number(field: str, title: Any = None, scale: Spec | None = None, **axis: Any) -> Spec:
    """A quantitative axis that starts where its domain or its values do."""
    scale = {"zero": False, "nice": False} | (scale or {})
    axis = axis if "values" in axis else {"tickCount": 5} | axis  # a count would drop some of the values
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _names(field: str, names: Sequence[Any], title: str | None = None, **axis: Any) -> Spec:
    """A nominal axis in this order."""
    axis = {"ticks": False, "domain": False, "labelPadding": 5} | axis
    return {"field": field, "type": "nominal", "title": title, "scale": {"domain": list(names)}, "axis": axis}


def _series(field: str, names: Sequence[str], *channels: str, legend: bool = True) -> Spec:
    """The colour, shape and dashes of each series."""
    looks = {
        "color": [COLOURS[number % len(COLOURS)] for number in range(len(names))],
        "shape": [SHAPES[(number + number // len(COLOURS)) % len(SHAPES)] for number in range(len(names))],
        "strokeDash": [_DASHES[number // len(COLOURS) % len(_DASHES)] for number in range(len(names))],
    }
    key = {"title": None, "columns": 4 if max(map(len, names)) < 24 else 1} if legend else None
    scales = {channel: {"domain": list(names), "range": looks[channel]} for channel in channels}
    return {channel: {"field": field, "legend": key, "scale": scale} for channel, scale in scales.items()}


def _layer(mark: str, look: Spec | None = None, data: pl.DataFrame | None = None, **encoding: Any) -> Spec:
    """A mark; what it lacks of data and encoding it has from its panel."""
    own = {} if data is None else {"data": _values(data)}
    return own | {"mark": {"type": mark} | (look or {}), "encoding": encoding}


def _values(data: pl.DataFrame) -> Spec:
    return {"values": data.fill_nan(None).to_dicts()}


def _panel(
    data: pl.DataFrame, layers: Sequence[Spec], width: Any, height: Any, name: str = "", **encoding: Any
) -> Spec:
    """Layers on the same axes; an axis of names has a step."""
    title = {"title": _broken(name, 40)} if name else {}
    return {"data": _values(data), "width": width, "height": height, **title, "layer": layers, "encoding": encoding}


def _by_model(
    frame: pl.DataFrame, models: Sequence[str], title: str, x: Spec, *layers: Spec, step: int = 20, **encoding: Any
) -> Spec:
    """A figure with one row a model."""
    y = _names("model", models, grid=True)
    return _figure(_panel(frame, layers, 330, {"step": step, "for": "position"}, x=x, y=y, **encoding), title)


def _behind(data: pl.DataFrame, width: int = 330) -> Spec:
    """The texts of a table behind the rows."""
    return _layer("text", None, data, x={"value": width + 8}, text={"field": "text"})


def _labelled(
    data: pl.DataFrame, ends: pl.DataFrame, layers: Sequence[Spec], width: int, *, x: Spec, y: Spec, **encoding: Any
) -> Spec:
    """A panel with the names of points at its right edge, none over another, each tied to its point by a thin line."""
    height, (low, high) = max(245, _LINE * len(ends)), y["scale"]["domain"]
    places = spread(((ends[y["field"]] - low) / (high - low)).to_list(), _LINE / height)
    ends = ends.with_columns(place=low + (high - low) * pl.Series(places, dtype=pl.Float64))
    at, name = y | {"field": "place"}, {"text": {"field": "model"}, "color": {"value": "black"}}
    ties = _layer("rule", {"strokeWidth": 0.6, "opacity": 0.6}, ends, x2={"value": width + 8}, y2={"field": "place"})
    labels = _layer("text", None, ends, x={"value": width + 10}, y=at, **name)
    return _panel(data, [ties, *layers, labels], width, height, x=x, y=y, **encoding)


def _heat(frame: pl.DataFrame, x: Spec, y: Spec, colour: Spec, number: str = ".3f", name: str = "") -> Spec:
    """A heatmap with the number of each cell in black or white; missing ones and small ones are not coloured."""
    columns, rows = x["scale"]["domain"], y["scale"]["domain"]
    grid = pl.DataFrame({y["field"]: rows}).join(pl.DataFrame({x["field"]: columns}), how="cross")
    known = frame.select(
        *grid.columns, "value", is_small=pl.col("small") if "small" in frame.columns else pl.lit(False)
    )
    cells = grid.join(known, on=grid.columns, how="left", maintain_order="left").fill_nan(None)
    texts = ["–" if value is None else f"{value:{number}}".replace("-", "−") for value in cells["value"]]
    on_cell = "contrast('white', scale('color', datum.value)) > contrast('black', scale('color', datum.value))"
    shades = [{"test": "datum.value === null || datum.is_small", "value": GREY}, {"test": on_cell, "value": "white"}]
    layers = [
        _layer("rect", {"color": "#eeeeee"}),
        _layer("rect", None, cells.drop_nulls().filter(~pl.col("is_small")), color=colour),
        _layer("text", {"align": "center"}, text={"field": "text"}, color={"condition": shades, "value": "black"}),
    ]
    width, height = {"step": 32 if x["axis"]["labelAngle"] else 50}, {"step": 20}
    return _panel(cells.with_columns(text=pl.Series(texts)), layers, width, height, name, x=x, y=y)


def _bar_of_colours(title: str, domain: Sequence[float], scheme: str = "cividis", **legend: Any) -> Spec:
    legend = {"title": title, "orient": "right", "gradientThickness": 12} | legend
    scale = {"domain": list(domain), "scheme": scheme, "reverse": scheme == "purpleorange"}
    return {"field": "value", "type": "quantitative", "scale": scale, "legend": legend}


def _columns(names: Sequence[str], title: str | None = None) -> Spec:
    """The names of columns of a heatmap, tilted if they are long."""
    tilt = {"labelAngle": -60, "labelAlign": "right"} if max(map(len, names)) > _TILTED else {"labelAngle": 0}
    return _names("group", names, title, **tilt)


def in_out_bars(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Spec:
    """IN and OUT of domain with the relative loss (WIPO-AT Fig. 2), and intervals where they are known."""
    require(frame, "model", "group", "value")
    if "low" not in frame.columns:
        frame = frame.with_columns(low=None, high=None)
    wide = frame.pivot("group", index="model", values="value").sort("IN", "model", descending=True)
    inside = dict(wide.select("model", "IN").iter_rows())
    texts = []
    for model, group, value in frame.select("model", "group", "value").iter_rows():
        loss = f", {_signed(100 * (value / inside[model] - 1), 0)}%" if group == "OUT" and inside[model] else ""
        texts.append(f"{value:.3f}{loss}")
    rows = frame.with_columns(
        text=pl.Series(texts), end=pl.coalesce("high", "value"), group=pl.col("group") + " of domain"
    )
    sides = {"domain": ["IN of domain", "OUT of domain"]}
    colour = {"field": "group", "title": None, "scale": sides | {"range": [COLOURS[0], COLOURS[4]]}}
    x = _number("value", measure, {"zero": True})
    layers = [
        _layer("bar", color=colour),
        _layer("rule", {"color": "black"}, rows.drop_nulls("low"), x=x | {"field": "low"}, x2={"field": "high"}),
        _layer("text", {"dx": 4}, x=x | {"field": "end"}, text={"field": "text"}),
    ]
    offset = {"field": "group", "scale": sides}
    return _by_model(rows, wide["model"].to_list(), title, x, *layers, step=32, yOffset=offset)


def section_heatmaps(
    frame: pl.DataFrame,
    *,
    queries: Sequence[str] = (),
    corpora: Sequence[str] = (),
    measure: str = "score",
    title: str = "",
    label: str = "corpus view",
) -> Spec:
    """Query section against corpus view, one panel a model (WIPO-AT Fig. 4); at most eight models, the best ones."""
    require(frame, "model", "query", "corpus", "value")
    models = best_models(frame, PANELS)
    rows = _names("query", _ordered(frame["query"], queries), "query section")
    columns = _columns(_ordered(frame["corpus"], corpora), label) | {"field": "corpus"}
    colour = _bar_of_colours(measure, _range(frame["value"]))
    panels = [_heat(frame.filter(model=model), columns, rows, colour, name=model) for model in models]
    return _figure({"concat": panels}, title, models, frame)


def _ordered(values: pl.Series, order: Sequence[str]) -> list[str]:
    """The distinct values in a given order, then those that it lacks in alphabetical order."""
    distinct = set(values)
    return [name for name in order if name in distinct] + sorted(distinct - set(order))


def heatmap(
    frame: pl.DataFrame,
    *,
    measure: str = "score",
    title: str = "",
    label: str = "",
    lower: bool = False,
    differences: bool = False,
) -> Spec:
    """Models against groups: filing jurisdictions (WIPO-AT Fig. 9, Sophia-Bench Fig. 5), tasks (PatenTEB Fig. 2), IPC
    sections (Sophia-Bench Fig. 7), labels (WIPO-AT Fig. 13), data sets (WIPO-AT Fig. 16 and 17). The best models are on
    top: those with the lowest values with ``lower``. Differences have signs and colours that part at zero. ``small``
    values have no colour; with a column ``measure`` each measure has a panel and a scale of its own.
    """
    require(frame, "model", "group", "value")
    models = best_models(frame)[:: -1 if lower else 1]
    if "small" not in frame.columns:
        frame = frame.with_columns(small=False)
    small = set(frame.filter("small")["group"])
    marks = {group: MARK if group in small else "" for group in _distinct(frame["group"])}
    sizes = dict(frame.select("group", "n").iter_rows()) if "n" in frame.columns else {}
    names = {group: group + own + (f"\nn {sizes[group]:,}" if group in sizes else "") for group, own in marks.items()}
    frame = frame.with_columns(name=pl.col("group").replace(names))
    panels: list[Spec] = []
    for part in frame.partition_by("measure", maintain_order=True) if "measure" in frame.columns else [frame]:
        groups = _ordered(part["group"], [name.upper() for name in JURISDICTION_GROUPS])
        columns = _columns(groups, f"{label} ({MARK}: too few queries)" if any(marks.values()) else label)
        columns["scale"]["domain"] = [names[group] for group in groups]
        columns["axis"]["labelExpr"] = "split(datum.label, '\\n')"
        coloured = part.filter(~pl.col("small"))
        low, high = _range((coloured if len(coloured) else part)["value"])
        most = max(-low, high)
        colours = ([-most, most], "purpleorange") if differences else ([low, high],)
        about = part["measure"][0] if "measure" in part.columns else measure
        rows = _names("model", models, labels=not panels)
        cells, number = part.with_columns(group="name"), "+.3f" if differences else ".3f"
        panels.append(_heat(cells, columns, rows, _bar_of_colours(about, *colours), number))
    if len(panels) == 1:
        return _figure(panels[0], title)
    return _figure({"hconcat": panels, "resolve": {"scale": {"color": "independent"}}}, title)


def rank_summary(frame: pl.DataFrame, *, measure: str = "rank", title: str = "") -> Spec:
    """Rank of each model in each group of tasks and on average, best first (WIPO-AT Fig. 10)."""
    require(frame, "model", "group", "value")
    means = frame.group_by("model").agg(pl.col("value").mean()).sort("value", "model")
    means = means.with_columns(text=pl.Series([f"{rank:.1f}" for rank in means["value"]]))
    groups, last = _distinct(frame["group"]), math.ceil(max(frame["value"]))
    scale = {"domain": [0.4, last + 0.6], "reverse": True}
    x = _number("value", f"{measure} (1 is best; black: average)", scale, values=[*range(1, last + 1, -(-last // 9))])
    offset = {"field": "group", "scale": {"domain": groups, "paddingOuter": 1.5}}
    average = _layer("tick", {"orient": "vertical", "size": 16, "thickness": 2.5, "color": "black"}, means)
    marks = _layer("point", yOffset=offset, **_series("group", groups, "color", "shape"))
    return _by_model(frame, means["model"].to_list(), title, x, average, _behind(means), marks, step=26)


def dots(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Spec:
    """One row a model, one mark a group: query sections (WIPO-AT Fig. 5), profiles of models (WIPO-AT Fig. 18), classes
    and query texts (DAPFAM Fig. 5 and 6), base and tuned models (PatenTEB Fig. 3), groups of tasks (PatenTEB Fig. 4),
    degrees of overlap (PatenTEB Fig. 5), best scores elsewhere (PatenTEB Fig. 6).
    """
    require(frame, "model", "group", "value")
    x = _number("value", measure, {"domain": _range(frame["value"], 0.05)})
    marks = _layer("point", **_series("group", _distinct(frame["group"]), "color", "shape"))
    return _by_model(frame, best_models(frame), title, x, marks)


def differences(frame: pl.DataFrame, *, measure: str = "difference", title: str = "") -> Spec:
    """One bar a model from zero, gains and losses in two colours (WIPO-AT Fig. 8)."""
    require(frame, "model", "value")
    frame = frame.sort("value", "model", descending=True)
    frame = frame.with_columns(text=pl.Series([_signed(value, 4) for value in frame["value"]]))
    colour = {"condition": {"test": "datum.value >= 0", "value": COLOURS[2]}, "value": COLOURS[1]}
    zero = _layer("rule", {"color": "black"}, pl.DataFrame({"value": [0.0]}), y={"value": 0}, y2={"value": "height"})
    x = _number("value", measure, {"zero": True})
    return _by_model(frame, frame["model"].to_list(), title, x, _layer("bar", color=colour), zero, _behind(frame))


def distributions(frame: pl.DataFrame, *, measure: str = "score", title: str = "") -> Spec:
    """The share of queries in each twentieth of the range of scores, one row a model, one panel a part of the queries,
    with the mean (WIPO-AT Fig. 20 and 21).
    """
    require(frame, "model", "part", "value")
    shares, means = [], []
    for (model, part), rows in frame.group_by("model", "part", maintain_order=True):
        counts, edges = np.histogram(rows["value"], bins=_BINS, range=(0, 1))
        bins = {"model": model, "part": part, "low": edges[:-1], "high": edges[1:], "value": counts / len(rows)}
        shares.append(pl.DataFrame(bins))
        means.append((model, part, f"{np.mean(rows['value'].to_numpy()):.3f}"))
    share, mean = pl.concat(shares), pl.DataFrame(means, ["model", "part", "text"], orient="row")
    colour = _bar_of_colours("share of queries", [0, _range(share["value"])[1]], orient="bottom")
    panels: list[Spec] = []
    for part in _distinct(frame["part"]):
        layers = [_layer("rect", None, x2={"field": "high"}, color=colour), _behind(mean.filter(part=part), 216)]
        x, y = _number("low", measure, grid=False), _names("model", best_models(frame), labels=not panels)
        panels.append(_panel(share.filter(part=part), layers, 216, {"step": 20}, part, x=x, y=y))
    return _figure({"hconcat": panels}, f"{title}\nbehind each row the mean")


def frequencies(frame: pl.DataFrame, *, label: str, counted: str = "families", title: str = "") -> Spec:
    """Groups as shares of each series: IPC domains (DAPFAM Fig. 2) or first claim years (DAPFAM Fig. 3) of queries and
    targets. Numbers are in their order, names by their share, at most the fifty most frequent.
    """
    require(frame, "series", "group", "count")
    shares = frame.with_columns(value=100 * pl.col("count") / pl.col("count").sum().over("series"))
    totals = shares.group_by("group", maintain_order=True).agg(pl.col("value").sum())
    if frame["group"].dtype == pl.String:
        kept = totals.sort("value", descending=True, maintain_order=True).head(_MOST_GROUPS)
    else:
        kept = totals.sort("group")
    counts = frame.group_by("series", maintain_order=True).agg(pl.col("count").sum())
    sizes = {name: f"{name}, n {count:,}" for name, count in counts.iter_rows()}
    rows = shares.filter(pl.col("group").is_in(kept["group"].implode())).with_columns(pl.col("series").replace(sizes))
    names = list(sizes.values())
    x = _names("group", kept["group"].to_list(), label, labelAngle=-90)
    offset = {"field": "series", "scale": {"domain": names}}
    bars = [_layer("bar", xOffset=offset, **_series("series", names, "color"))]
    y = _number("value", f"% of {counted}", {"zero": True})
    cut = f"\nthe {len(kept)} most frequent of {len(totals)}" if len(kept) < len(totals) else ""
    width = {"step": max(15, 290 // len(kept)), "for": "position"}
    return _figure(_panel(rows, bars, width, 187, x=x, y=y), title + cut)


def rank_correlations(frame: pl.DataFrame, *, measure: str = "Spearman's ρ", title: str = "") -> Spec:
    """Spearman's correlation of the rankings of models by each two groups of tasks, over the models that have both
    (WIPO-AT Fig. 19).
    """
    require(frame, "model", "group", "value")
    groups, pairs = _distinct(frame["group"]), rank_agreements(frame)
    colour = _bar_of_colours(measure, [-1, 1], "purpleorange")
    return _figure(_heat(pairs, _columns(groups), _names("row", groups), colour, ".2f"), title)


def lines(
    frame: pl.DataFrame,
    *,
    measure: str = "score",
    title: str = "",
    label: str = "",
    log: bool = False,
    top: float | None = None,
    star: str = "",
) -> Spec:
    """One line a model: Recall@k (Sophia-Bench Fig. 4), years (Sophia-Bench Fig. 6, DAPFAM Fig. 4), fusion (WIPO-AT
    Fig. 3), lengths of passages (DAPFAM Fig. 7), layers (PatenTEB Fig. 11); at most twelve models, the best ones.

    ``top`` ends the y axis, which then starts at 0. With ``star`` x is a share from 0 to 1, and the point at 1 is a
    star, which the name of the axis explains with this text.
    """
    require(frame, "model", "x", "value")
    models, ticks = best_models(frame, SERIES), sorted(set(frame["x"]))
    if star:
        x = _number("x", [label, f"star: {star}"], {"domain": [-0.03, 1.03]}, values=[one / 10 for one in range(11)])
    else:
        few = {"values": ticks, "labelAngle": 0 if len(ticks) <= _LEVEL else -90} if len(ticks) <= SERIES else {}
        scale = _log_scale(frame["x"]) if log else {"domain": _range(frame["x"], 0.05)}
        x = _number("x", label, scale, format=",~r" if log else "~r", **few)
    panel = _curves(frame, models, x, measure, [0, top] if top else None, star=bool(star))
    return _figure(panel, title, models, frame)


def _curves(
    frame: pl.DataFrame,
    models: Sequence[str],
    x: Spec,
    measure: str,
    domain: Sequence[float] | None = None,
    width: int = 360,
    more: Sequence[Spec] = (),
    *,
    star: bool = False,
) -> Spec:
    """A panel with one line a model and their names at the right edge."""
    frame = frame.filter(pl.col("model").is_in(models)).sort("x", "model")
    known = frame.drop_nulls("low") if "low" in frame.columns else frame.clear()
    values = pl.concat([frame["value"], *(known[end] for end in ("low", "high") if len(known))])
    y = _number("value", measure, {"domain": domain or _range(values, 0.05)})
    looks = _series("model", models, "color", "shape", "strokeDash", legend=False)
    layers = [*more, _layer("line", strokeDash=looks["strokeDash"]), _layer("point", shape=looks["shape"])]
    if star:
        layers.append(_layer("point", {"shape": _STAR, "size": 90}, frame.filter(x=1)))
    if len(known):
        layers.append(_layer("rule", {"opacity": 0.6}, known, y=y | {"field": "low"}, y2={"field": "high"}))
    curve, ends = frame.filter(pl.col("x") < 1) if star else frame, frame.group_by("model", maintain_order=True).last()
    return _labelled(curve, ends, layers, width, x=x, y=y, color=looks["color"])


def truncation_curves(
    frame: pl.DataFrame, *, measure: str = "score", title: str = "", label: str = "dimensions kept"
) -> Spec:
    """Score and retained share against the dimensions that are kept; dashed at 90% (WIPO-AT Fig. 11)."""
    require(frame, "model", "x", "value", "full")
    models = best_models(frame, SERIES)
    ticks = sorted(set(frame["x"].drop_nulls()))
    beyond = 2 * max(ticks, default=1)  # place of a full width that is unknown
    unknown = frame.filter("full")["x"].null_count() > 0
    frame = frame.with_columns(pl.col("x").fill_null(beyond))
    places = [*ticks, beyond] if unknown else ticks
    names = f"datum.value == {beyond} ? 'full' : format(datum.value, '~r')" if unknown else "format(datum.value, '~r')"
    scale = {"type": "log", "base": 2, "domain": [places[0] / 1.2, places[-1] * 1.2]}
    x = _number("x", label, scale, values=places, labelExpr=names)
    full = pl.col("value").filter("full").first().over("model")
    shares = frame.with_columns(value=100 * pl.col("value") / full).filter(pl.col("value").is_finite())
    ninety = pl.DataFrame({"value": [90.0], "text": ["90%"]})
    width = max(260, 30 * len(places))
    grey = {"color": {"value": GREY}}
    limit = [
        _layer("rule", {"strokeDash": [4, 4]}, ninety, x={"value": 0}, x2={"value": width}, **grey),
        _layer("text", {"align": "right", "dy": -6}, ninety, x={"value": width}, text={"field": "text"}, **grey),
    ]
    domain = _range(pl.concat([shares["value"], ninety["value"]]), 0.05)
    panels = [
        _curves(frame, models, x, measure, width=width),
        _curves(shares, models, x, "% of the full width's score", domain, width, limit),
    ]
    return _figure({"hconcat": panels}, title, models, frame)


_METHODS = {"rrf": "k of reciprocal rank fusion", "linear": "α, weight of the second run"}
_SIDES = {"": "ALL", "in_": "IN", "out_": "OUT"}


def fusion_curves(frame: pl.DataFrame, score: str, *, measure: str = "score", title: str = "") -> Spec:
    """One panel a method of fusion, one line for ALL, IN and OUT each; dashed is the best single run (by ALL)."""
    require(frame, "name", "method", "parameter", score)
    best = frame.filter(method="").sort(score, descending=True).row(0, named=True)
    sides = {shown: f"{side}{score}" for side, shown in _SIDES.items() if f"{side}{score}" in frame.columns}
    drawn = frame.filter(pl.col("parameter").is_not_null()).rename({"parameter": "x"})
    panels = []
    for method, label in _METHODS.items():
        curve = drawn.filter(method=method)
        if curve.is_empty():
            continue
        rows = pl.concat(curve.select("x", model=pl.lit(shown), value=name) for shown, name in sides.items())
        single = pl.DataFrame({"model": list(sides), "value": [best[name] for name in sides.values()]})
        dashed = _layer("rule", {"strokeDash": [4, 4]}, single, x={"value": 0}, x2={"value": 240})
        domain = _range(pl.concat([rows["value"], single["value"]]), 0.05)
        x = _number("x", label, {"domain": _range(rows["x"], 0.05)})
        panels.append(_curves(rows, list(sides), x, measure, domain, 240, [dashed]))
    return _figure({"hconcat": panels}, f"{title}\ndashed: best single run ({best['name']})")


def _log_axis(values: pl.Series, title: Any, **axis: Any) -> Spec:
    """An axis with ticks at powers of ten, or at both ends and their middle if there is at most one."""
    logs = np.log10(values.to_numpy())
    low, high = logs.min(), logs.max()
    powers = list(range(math.ceil(low), math.floor(high) + 1))
    ticks = powers if len(powers) > 1 else sorted({low, (low + high) / 2, high})
    return _number("x", title, _log_scale(values), values=[10**tick for tick in ticks], **axis)


def scale_scatter(
    frame: pl.DataFrame, *, measure: str = "mean main score", title: str = "", label: str = "parameters"
) -> Spec:
    """Score against the number of parameters, one panel a group of tasks, with a log-linear fit for eight models or
    more (WIPO-AT Fig. 1). Within families of models a fit explains more (WIPO-AT, section 4.1).
    """
    require(frame, "model", "x", "value", "group")
    panels = []
    for points in frame.partition_by("group", maintain_order=True):
        points = points.sort("x", "value")
        xs, ys = points["x"].log10(), points["value"]
        x = _log_axis(points["x"], label, labelExpr="replace(format(datum.value, '.3~s'), 'G', 'B')")
        y, name = _number("value", measure, {"domain": _range(ys, 0.12)}), {"text": points["group"][0]}
        layers = [_layer("point", {"size": 60})]
        if len(points) >= ENOUGH and xs.n_unique() > 1:
            slope, base = np.polyfit(xs, ys, 1)
            explained = np.corrcoef(xs, ys)[0, 1] ** 2 if ys.n_unique() > 1 else 0.0
            ends = points[[0, -1]].select("x", value=slope * pl.col("x").log10() + base)
            layers.append(_layer("line", {"strokeDash": [6, 4], "strokeWidth": 1.2, "color": GREY}, ends))
            name["subtitle"] = f"dashed: log-linear fit, R² {explained:.2f}, n {len(xs)}"
        panels.append(_labelled(points, points, layers, 216, x=x, y=y) | {"title": name})
    return _figure({"concat": panels}, title)


def frontier(frame: pl.DataFrame, *, label: str = "seconds", measure: str = "score", title: str = "") -> Spec:
    """Score against cost, and the line of the systems that no cheaper one equals (DAPFAM Fig. 8, PatenTEB Fig. 7)."""
    require(frame, "model", "x", "value")
    frame = frame.sort("x", "value", descending=[False, True])
    best = frame.filter(pl.col("value") > pl.col("value").cum_max().shift(1, fill_value=-math.inf))
    x = _log_axis(frame["x"], [label, "line: nothing cheaper is as good"], format=".3~g")
    y = _number("value", measure, {"domain": _range(frame["value"], 0.1)})
    steps = _layer("line", {"interpolate": "step-after", "strokeWidth": 1.2, "color": COLOURS[1]}, best)
    return _figure(_labelled(frame, frame, [steps, _layer("point", {"size": 60})], 360, x=x, y=y), title)


def plane(frame: pl.DataFrame, *, measure: str = "uniformity", title: str = "", label: str = "alignment") -> Spec:
    """Models by alignment and uniformity; SSD is the size of a point, the main score its colour (PatentMap Fig. 3)."""
    require(frame, "model", "alignment", "uniformity", "ssd", "score")
    rows = frame.sort("model").with_columns(value="score")
    names = [f"{model} (SSD / log d {ssd:.3f})" for model, ssd in rows.select("model", "ssd").iter_rows()]
    x = _number("alignment", label, {"domain": _range(rows["alignment"], 0.15)})
    y = _number("uniformity", measure, {"domain": _range(rows["uniformity"], 0.15)})
    size = {"field": "ssd", "type": "quantitative", "legend": None, "scale": {"domain": [0, 1], "range": [45, 1200]}}
    colour = _bar_of_colours("main score", _range(rows["score"]), orient="bottom")
    rows, points = rows.with_columns(model=pl.Series(names)), _layer("point", size=size, color=colour)
    return _figure(_labelled(rows, rows, [points], 316, x=x, y=y), title)


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


def embedding_map(frame: pl.DataFrame, *, title: str = "") -> Spec:
    """Points of texts, coloured by class, one panel a model (WIPO-AT Fig. 14)."""
    require(frame, "model", "x", "y", "label")
    models = _distinct(frame["model"])[:PANELS]
    sizes = frame.group_by("label").len().sort("len", "label", descending=[True, False])["label"].to_list()
    named = sizes if len(sizes) <= len(COLOURS) else sizes[: len(COLOURS) - 1]
    shown = pl.when(pl.col("label").is_in(named)).then("label").otherwise(pl.lit("other classes"))
    rows = frame.with_columns(label=shown)
    looks = _series("label", named, "color", "shape")
    if len(named) < len(sizes):
        for channel, value in (("color", "#bbbbbb"), ("shape", "circle")):
            looks[channel]["scale"]["domain"].append("other classes")
            looks[channel]["scale"]["range"].append(value)
    marks = [_layer("point", {"size": 30}, **looks)]
    bare = {"labels": False, "ticks": False, "grid": False}
    panels = []
    for model in models:
        points = rows.filter(model=model)
        axes = {name: _number(name, None, {"domain": _range(points[name], 0.05)}, **bare) for name in ("x", "y")}
        panels.append(_panel(points, marks, 260, 230, model, **axes))
    return _figure({"concat": panels}, title)
