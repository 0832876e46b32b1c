"""The specifications of the figures hold the numbers of their tables, in order."""

import numpy as np
import polars as pl
import pytest

from patent_mteb.report import drawing
from patent_mteb.report.collect import ReportError


def table(*rows, columns="model group value"):
    return pl.DataFrame(rows, columns.split(), orient="row")


def rows(view, *columns):
    return [tuple(row[column] for column in columns) for row in view["data"]["values"]]


def layer(panel, mark, number=0):
    return [one for one in panel["layer"] if one["mark"]["type"] == mark][number]


def order(panel, channel="y"):
    return panel["encoding"][channel]["scale"]["domain"]


def test_in_out_bars_with_relative_loss_and_intervals():
    frame = table(
        ("b", "IN", 0.4), ("a", "IN", 0.2), ("b", "OUT", 0.1), ("a", "OUT", 0.15), ("c", "IN", 0.1), ("c", "OUT", 0.1)
    )
    figure = drawing.in_out_bars(frame, measure="nDCG@10", title="T")
    assert order(figure) == ["b", "a", "c"] and figure["title"]["text"] == ["T"]
    texts = dict(zip(rows(figure, "model", "group"), rows(figure, "text"), strict=True))
    assert [texts["a", f"{side} of domain"] for side in ("IN", "OUT")] == [("0.200",), ("0.150, −25%",)]
    assert texts["b", "OUT of domain"] == ("0.100, −75%",) and texts["c", "OUT of domain"] == ("0.100, +0%",)
    assert figure["encoding"]["x"]["title"] == "nDCG@10" and not layer(figure, "rule")["data"]["values"]
    known = frame.with_columns(low=pl.when(model=pl.lit("b")).then(0.05), high=pl.when(model=pl.lit("b")).then(0.5))
    figure = drawing.in_out_bars(known)
    assert rows(layer(figure, "rule"), "model", "low", "high") == [("b", 0.05, 0.5)] * 2
    assert rows(figure, "model", "end")[:2] == [("b", 0.5), ("a", 0.2)], "a text is behind its interval"


def test_a_fusion_curve_with_its_star():
    frame = table(("m", 1.0, 0.3), ("m", 0.1, 0.1), ("m", 0.5, 0.4), columns="model x value")
    figure = drawing.lines(frame, label="α", star="dense system alone")
    assert rows(figure, "x", "value") == [(0.1, 0.1), (0.5, 0.4)]
    assert rows(layer(figure, "point", 1), "x", "value") == [(1.0, 0.3)]
    assert figure["encoding"]["x"]["title"] == ["α", "star: dense system alone"]


def test_lines_with_intervals_where_they_are_known():
    frame = table(("m", 100, 0.9), ("m", 1, 0.2), ("n", 1, 0.1), columns="model x value")
    figure = drawing.lines(frame, top=1.02)
    assert rows(figure, "model", "x", "value") == [("m", 1, 0.2), ("n", 1, 0.1), ("m", 100, 0.9)]
    assert rows(layer(figure, "text"), "model", "x", "value") == [("m", 100, 0.9), ("n", 1, 0.1)], "the ends have names"
    assert order(figure) == [0, 1.02] and len(figure["layer"]) == 4
    figure = drawing.lines(frame.with_columns(low=pl.Series([0.8, None, 0.0]), high=pl.Series([1.0, None, 0.2])))
    assert rows(layer(figure, "rule", 1), "model", "low", "high") == [("n", 0.0, 0.2), ("m", 0.8, 1.0)]
    assert order(figure)[0] < 0.0 and order(figure)[1] > 1.0


def test_many_series_are_cut_and_it_says_so():
    cells = [(f"m{number:02}", k, number / 20) for number in range(15) for k in (1, 10)]
    figure = drawing.lines(table(*cells, columns="model x value"), title="T")
    assert figure["title"]["text"] == ["T", "the best 12 of 15 models"]
    assert order(figure, "color") == [f"m{number:02}" for number in range(14, 2, -1)]
    looks = [
        figure["encoding"]["color"],
        layer(figure, "point")["encoding"]["shape"],
        layer(figure, "line")["encoding"]["strokeDash"],
    ]
    assert len(set(zip(*(map(str, look["scale"]["range"]) for look in looks), strict=True))) == 12


def test_section_heatmaps_hold_the_grid():
    cells = [
        ("m", query, corpus, 0.1 + 0.01 * i + 0.1 * j)
        for i, query in enumerate(("TA", "Claims"))
        for j, corpus in enumerate(("TAC", "DWPITA"))
    ]
    frame = table(*cells[::-1], ("n", "TA", "TAC", 0.05), columns="model query corpus value")
    figure = drawing.section_heatmaps(frame, queries=("TA", "TAC", "Claims"), corpora=("TA", "TAC", "DWPITA"))
    first, second = figure["concat"]
    assert first["title"] == ["m"], "the better one comes first"
    assert rows(first, "value") == [(pytest.approx(value),) for value in (0.1, 0.2, 0.11, 0.21)]
    assert rows(first, "text") == [("0.100",), ("0.200",), ("0.110",), ("0.210",)]
    assert rows(second, "text") == [("0.050",), ("–",), ("–",), ("–",)]
    assert (order(first, "x"), order(first, "y")) == (["TAC", "DWPITA"], ["TA", "Claims"])
    assert layer(first, "rect", 1)["encoding"]["color"] == layer(second, "rect", 1)["encoding"]["color"]


def test_jurisdictions_in_the_order_of_the_papers():
    cells = [
        (model, group, value + step)
        for model, value in (("low", 0.1), ("high", 0.5))
        for step, group in enumerate(("RU", "EN", "CN"))
    ]
    figure = drawing.heatmap(table(*cells))
    assert (order(figure, "y"), order(figure, "x")) == (["high", "low"], ["EN", "CN", "RU"])
    assert rows(figure, "value") == [(1.5,), (2.5,), (0.5,), (1.1,), (2.1,), (0.1,)]
    assert order(drawing.heatmap(table(*cells), lower=True), "y") == ["low", "high"]


def test_differences_have_signs_and_colours_that_part_at_zero():
    figure = drawing.heatmap(table(("m", "a", 0.01), ("m", "b", -0.03)), differences=True)
    assert rows(figure, "text") == [("+0.010",), ("−0.030",)]
    assert layer(figure, "rect", 1)["encoding"]["color"]["scale"]["domain"] == [-0.03, 0.03]
    figure = drawing.differences(table(("a", -0.2), ("b", 0.1), columns="model value"))
    assert rows(figure, "model", "text") == [("b", "+0.1000"), ("a", "−0.2000")] and order(figure) == ["b", "a"]


def test_a_slice_of_few_queries_has_a_dagger_in_a_heatmap():
    cells = [
        ("a", "CN", 0.5, 400, False),
        ("b", "CN", 0.4, 400, False),
        *((model, "DE", 0.9, 49, True) for model in "ab"),
    ]
    figure = drawing.heatmap(table(*cells, columns="model group value n small"), label="filing jurisdiction")
    assert order(figure, "x") == ["CN\nn 400", "DE†\nn 49"]
    assert figure["encoding"]["x"]["title"] == "filing jurisdiction (†: too few queries)"
    coloured = layer(figure, "rect", 1)
    assert set(rows(coloured, "group")) == {("CN\nn 400",)}, "what has the dagger has no colour, and is on no scale"
    assert coloured["encoding"]["color"]["scale"]["domain"] == [0.4, 0.5]
    assert sorted(rows(figure, "text")) == [("0.400",), ("0.500",), ("0.900",), ("0.900",)]


def test_each_measure_has_a_scale_of_colours():
    cells = [("a", "x", 0.2, "nDCG@10"), ("b", "x", 0.1, "nDCG@10"), ("a", "y", 0.8, "F1"), ("b", "y", 0.7, "F1")]
    figure = drawing.heatmap(table(*cells, columns="model group value measure"))
    colours = [layer(panel, "rect", 1)["encoding"]["color"] for panel in figure["hconcat"]]
    assert [(one["legend"]["title"], one["scale"]["domain"]) for one in colours] == [
        ("nDCG@10", [0.1, 0.2]),
        ("F1", [0.7, 0.8]),
    ]
    assert [order(panel, "x") for panel in figure["hconcat"]] == [["x"], ["y"]]
    assert figure["resolve"] == {"scale": {"color": "independent"}}


def test_every_model_has_its_distribution():
    cells = [(f"m{number:02}", "ALL", value) for number in range(12) for value in (0.01 * number, 1.0)]
    (panel,) = drawing.distributions(table(*cells, columns="model part value"))["hconcat"]
    assert order(panel) == [f"m{number:02}" for number in range(11, -1, -1)]
    shares = {}
    for model, low, share in rows(panel, "model", "low", "value"):
        shares.setdefault(model, {})[round(20 * low)] = share
    assert all(len(bins) == 20 and sum(bins.values()) == 1 for bins in shares.values())
    assert shares["m11"][2] == shares["m11"][19] == 0.5
    assert dict(rows(layer(panel, "text"), "model", "text"))["m11"] == "0.555"


def test_frequencies_are_shares_of_each_series_in_the_order_of_groups():
    years = table(("queries", 2001, 3), ("queries", 1999, 1), ("targets", 2000, 7), columns="series group count")
    figure = drawing.frequencies(years, label="earliest claim year")
    assert order(figure, "x") == [1999, 2000, 2001]
    assert rows(figure, "series", "group", "value") == [
        ("queries, n 4", 2001, 75),
        ("queries, n 4", 1999, 25),
        ("targets, n 7", 2000, 100),
    ]
    many = pl.DataFrame({"series": ["q"] * 60, "group": [f"G{n:02}" for n in range(60)], "count": range(1, 61)})
    figure = drawing.frequencies(many, label="IPC domain", title="T")
    assert order(figure, "x")[:2] == ["G59", "G58"] and len(rows(figure, "group")) == 50
    assert figure["title"]["text"] == ["T", "the 50 most frequent of 60"]


def test_rank_summary_is_sorted_by_the_mean_rank():
    frame = table(("a", "R", 1.0), ("b", "R", 2.0), ("a", "C", 1.5), ("b", "C", 1.5))
    figure = drawing.rank_summary(frame)
    assert order(figure) == ["a", "b"]
    assert rows(layer(figure, "tick"), "model", "value", "text") == [("a", 1.25, "1.2"), ("b", 1.75, "1.8")]
    assert rows(figure, "model", "group", "value") == frame.rows() and figure["encoding"]["x"]["scale"]["reverse"]


def test_rank_correlations_are_those_of_scipy():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    one, other = rng.random(9), rng.random(9)
    cells = [
        (f"m{at}", group, value) for group, values in (("R", one), ("C", other)) for at, value in enumerate(values)
    ]
    figure = drawing.rank_correlations(table(*cells, ("m0", "lonely", 0.5)))
    values = dict(zip(rows(figure, "row", "group"), rows(figure, "value", "text"), strict=True))
    expected = spearmanr(one, other).statistic
    assert values["R", "C"] == values["C", "R"] == (pytest.approx(expected), f"{expected:.2f}".replace("-", "−"))
    assert values["R", "lonely"] == (None, "–") and values["R", "R"] == (1.0, "1.00")


def test_truncation_curves_and_the_retained_share():
    frame = table(("m", 64, 0.4, False), ("m", None, 0.5, True), ("m", 32, 0.3, False), columns="model x value full")
    left, right = drawing.truncation_curves(frame)["hconcat"]
    assert rows(left, "x", "value") == [(32, 0.3), (64, 0.4), (128, 0.5)]
    assert [value for (value,) in rows(right, "value")] == pytest.approx([60, 80, 100])
    assert left["encoding"]["x"]["axis"]["values"] == [32, 64, 128]
    assert "datum.value == 128 ? 'full'" in left["encoding"]["x"]["axis"]["labelExpr"]
    assert rows(layer(right, "rule", 1), "value") == [(90,)] and order(right)[0] < 60


def test_scale_scatter_has_a_log_linear_fit_from_eight_models_on():
    cells = [("abcdefgh"[at], 10.0 ** (at + 2), "R", (at + 2) / 20) for at in range(8)]
    frame = table(*cells, columns="model x group value")
    (panel,) = drawing.scale_scatter(frame)["concat"]
    assert rows(panel, "model", "x", "group", "value") == cells
    assert [value for (value,) in rows(layer(panel, "line"), "value")] == pytest.approx([0.1, 0.45])
    assert panel["title"] == {"text": "R", "subtitle": "dashed: log-linear fit, R² 1.00, n 8"}
    assert panel["encoding"]["x"]["axis"]["values"] == [10**power for power in range(2, 10)]
    (panel,) = drawing.scale_scatter(frame[:7])["concat"]
    assert "line" not in [one["mark"]["type"] for one in panel["layer"]] and panel["title"] == {"text": "R"}


def test_the_frontier_has_what_no_cheaper_one_equals():
    frame = table(("a", 1.0, 0.5), ("b", 2.0, 0.5), ("c", 3.0, 0.6), ("d", 3.0, 0.4), columns="model x value")
    figure = drawing.frontier(frame[::-1])
    assert rows(layer(figure, "line"), "model") == [("a",), ("c",)] and len(rows(figure, "model")) == 4


FUSED = pl.DataFrame(
    {
        "name": ["bm25", "dense", "rrf-10", "rrf-60", "linear-0", "linear-0.5"],
        "method": ["", "", "rrf", "rrf", "linear", "linear"],
        "parameter": [None, None, 10.0, 60.0, 0.0, 0.5],
        "ndcg_at_100": [0.2, 0.3, 0.31, 0.32, 0.2, 0.33],
        "in_ndcg_at_100": [0.25, 0.35, 0.36, 0.37, 0.25, 0.38],
    }
)


def test_fusion_has_a_panel_a_method_and_a_curve_a_part():
    figure = drawing.fusion_curves(FUSED, "ndcg_at_100", title="task")
    first, second = figure["hconcat"]
    assert [panel["encoding"]["x"]["title"][:2] for panel in (first, second)] == ["k ", "α,"]
    assert sorted(rows(second, "model", "x", "value")) == [
        *(("ALL", 0.0, 0.2), ("ALL", 0.5, 0.33)),
        *(("IN", 0.0, 0.25), ("IN", 0.5, 0.38)),
    ]
    assert rows(layer(first, "rule", 1), "model", "value") == [("ALL", 0.3), ("IN", 0.35)], "the dense run, best by ALL"
    assert figure["title"]["text"] == ["task", "dashed: best single run (dense)"]
    weights = FUSED.head(2).vstack(FUSED.head(1).with_columns(name=pl.lit("linear-1-1-1"), method=pl.lit("linear")))
    assert not drawing.fusion_curves(weights, "ndcg_at_100")["hconcat"], "weights of three runs have no axis"


def test_embedding_map_of_two_models():
    points = drawing.project(np.random.default_rng(0).random((90, 8)))
    place = {"x": points[:, 0], "y": points[:, 1], "label": [f"class {number % 9}" for number in range(90)]}
    frame = pl.concat([pl.DataFrame({"model": model, **place}) for model in ("a", "b")])
    for panel in drawing.embedding_map(frame)["concat"]:
        labels = [label for (label,) in rows(panel, "label")]
        expected = {**{f"class {number}": 10 for number in range(6)}, "other classes": 30}
        assert {label: labels.count(label) for label in labels} == expected
        assert order(layer(panel, "point"), "color") == list(expected)


def test_projection_is_the_principal_components():
    from sklearn.decomposition import PCA

    vectors = np.random.default_rng(0).random((50, 12)) * np.arange(1, 13)
    points = drawing.project(vectors)
    reference = PCA(2, svd_solver="full").fit_transform(vectors)
    assert np.abs(points) == pytest.approx(np.abs(reference), abs=1e-9)
    assert drawing.project(vectors[:, :1]).shape == (50, 2)
    with pytest.raises(ReportError, match="at least three"):
        drawing.project(np.zeros((2, 4)))


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(ReportError, match="lacks the columns group, value"):
        drawing.in_out_bars(pl.DataFrame({"model": ["a"]}))
    with pytest.raises(ReportError, match="no rows"):
        drawing.lines(pl.DataFrame(schema={"model": pl.String, "x": pl.Int64, "value": pl.Float64}))
