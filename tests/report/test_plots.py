"""The plots show what their tables say."""

import numpy as np
import polars as pl
import pytest

from patent_mteb.report import drawing, style
from patent_mteb.report.collect import ReportError

pytest.importorskip("matplotlib")


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_in_out_bars_and_their_relative_loss():
    figure = drawing.in_out_bars(
        pl.DataFrame({"model": ["b", "a"] * 2, "group": ["IN"] * 2 + ["OUT"] * 2, "value": [0.4, 0.2, 0.1, 0.15]}),
        measure="nDCG@10",
        title="T",
    )
    (axes,) = figure.axes
    inside, outside = axes.containers
    assert [bar.get_width() for bar in inside] == [0.2, 0.4]
    assert [bar.get_width() for bar in outside] == [0.15, 0.1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert texts(axes) == [" 0.200", " 0.150, −25%", " 0.400", " 0.100, −75%"]
    assert axes.get_xlabel() == "nDCG@10"


def test_a_fusion_curve_with_its_star():
    frame = pl.DataFrame({"model": ["m"] * 3, "x": [1.0, 0.1, 0.5], "value": [0.3, 0.1, 0.4]})
    (axes,) = drawing.lines(frame, star="dense system alone").axes
    curve, star, _ = axes.lines
    assert (list(curve.get_xdata()), list(curve.get_ydata())) == ([0.1, 0.5], [0.1, 0.4])
    assert (list(star.get_xdata()), list(star.get_ydata()), star.get_marker()) == ([1.0], [0.3], "*")
    assert star.get_color() == curve.get_color()


def test_section_heatmaps_hold_the_grid():
    rows = [
        ("m", query, corpus, 0.1 + 0.01 * i + 0.1 * j)
        for i, query in enumerate(("TA", "Claims"))
        for j, corpus in enumerate(("TAC", "DWPITA"))
    ]
    rows += [("n", "TA", "TAC", 0.05)]
    frame = pl.DataFrame(rows, schema=["model", "query", "corpus", "value"], orient="row").sample(
        fraction=1, shuffle=True, seed=1
    )
    figure = drawing.section_heatmaps(frame, queries=("TA", "TAC", "Claims"), corpora=("TA", "TAC", "DWPITA"))
    first, second = figure.axes[:2]
    assert first.get_title() == "m"  # the better one comes first
    assert first.images[0].get_array().tolist() == [[0.1, 0.2], [0.11, pytest.approx(0.21)]]
    assert texts(first) == ["0.100", "0.200", "0.110", "0.210"]
    assert texts(second) == ["0.050", "–", "–", "–"]
    assert [label.get_text() for label in first.get_xticklabels()] == ["TAC", "DWPITA"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["TA", "Claims"]
    assert first.images[0].get_clim() == second.images[0].get_clim()


def test_numbers_on_a_heatmap_can_be_read():
    for shade in np.linspace(0, 1, 21):
        linear = shade / 12.92 if shade <= 0.04045 else ((shade + 0.055) / 1.055) ** 2.4
        contrast = {"white": 1.05 / (linear + 0.05), "black": (linear + 0.05) / 0.05}
        assert contrast[style.readable_on((shade, shade, shade, 1))] == max(contrast.values()) >= 4.5


def test_jurisdictions_in_the_order_of_the_papers():
    rows = [
        (model, group, value + step)
        for model, value in (("low", 0.1), ("high", 0.5))
        for step, group in enumerate(("RU", "EN", "JP"))
    ]
    axes, _ = drawing.heatmap(pl.DataFrame(rows, schema=["model", "group", "value"], orient="row")).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["high", "low"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["EN", "JP", "RU"]
    assert axes.images[0].get_array().tolist() == [[1.5, 2.5, 0.5], [1.1, 2.1, 0.1]]


def test_differences_have_signs_and_colours_that_part_at_zero():
    frame = pl.DataFrame({"model": ["m"] * 2, "group": ["a", "b"], "value": [0.01, -0.03]})
    axes, _ = drawing.heatmap(frame, differences=True).axes
    assert axes.images[0].get_clim() == (-0.03, 0.03)
    assert texts(axes) == ["+0.010", "−0.030"]
    gain, none, loss = (np.array(axes.images[0].cmap(axes.images[0].norm(value))[:3]) for value in (0.03, 0.0, -0.03))
    assert none.min() > 0.9, "zero is white"
    assert gain[2] > gain[0] + 0.1 and loss[0] > loss[2] + 0.1, "a gain is blue, a loss is red"


@pytest.mark.slow
def test_every_model_has_its_distribution():
    rows = [(f"m{number:02}", "ALL", value) for number in range(12) for value in (0.01 * number, 1.0)]
    figure = drawing.distributions(pl.DataFrame(rows, schema=["model", "part", "value"], orient="row"))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        f"m{number:02}" for number in range(11, -1, -1)
    ]
    shares = figure.axes[0].images[0].get_array()
    assert shares.shape == (12, 20) and shares.sum(axis=1).tolist() == [1] * 12 and shares[0][2] == 0.5
    assert texts(figure.axes[0])[0] == "0.555"


@pytest.mark.slow
def test_frequencies_are_shares_of_each_series_in_the_order_of_groups():
    years = pl.DataFrame({"series": ["queries"] * 2 + ["targets"], "group": [2001, 1999, 2000], "count": [3, 1, 7]})
    (axes,) = drawing.frequencies(years, label="earliest claim year").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1999", "2000", "2001"]
    assert [[bar.get_height() for bar in bars] for bars in axes.containers] == [[25, 0, 75], [0, 100, 0]]
    many = pl.DataFrame({"series": ["q"] * 60, "group": [f"G{n:02}" for n in range(60)], "count": range(1, 61)})
    figure = drawing.frequencies(many, label="IPC domain", title="T")
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()][:2] == ["G59", "G58"]
    assert figure.get_suptitle() == "T\nthe 50 most frequent of 60"


def test_rank_summary_is_sorted_by_the_mean_rank():
    frame = pl.DataFrame({"model": ["a", "b", "a", "b"], "group": ["R", "R", "C", "C"], "value": [1.0, 2.0, 1.5, 1.5]})
    (axes,) = drawing.rank_summary(frame).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]  # drawn from below: the best is on top
    assert list(axes.lines[0].get_xdata()) == [1.75, 1.25] and texts(axes) == ["1.8", "1.2"]
    assert sorted((line.get_label(), list(line.get_xdata())) for line in axes.lines[1:]) == [
        ("C", [1.5, 1.5]),
        ("R", [1.0, 2.0]),
    ]


def test_truncation_curves_and_the_retained_share():
    frame = pl.DataFrame(
        {"model": ["m"] * 3, "x": [64, None, 32], "value": [0.4, 0.5, 0.3], "full": [False, True, False]}
    )
    left, right = drawing.truncation_curves(frame).axes
    assert list(left.lines[0].get_ydata()) == [0.3, 0.4, 0.5]
    assert list(right.lines[0].get_ydata()) == pytest.approx([60, 80, 100])
    assert [label.get_text() for label in left.get_xticklabels()] == ["32", "64", "full"]
    assert right.lines[1].get_ydata()[0] == 90


def test_lines():
    frame = pl.DataFrame({"model": ["m", "m", "n"], "x": [100, 1, 1], "value": [0.9, 0.2, 0.1]})
    (axes,) = drawing.lines(frame).axes
    assert [(line.get_label(), list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines] == [
        ("m", [1, 100], [0.2, 0.9]),
        ("n", [1], [0.1]),
    ]


def test_scale_scatter_has_a_log_linear_fit_from_eight_models_on():
    sizes = [10.0**power for power in range(2, 10)]
    values = [power / 20 for power in range(2, 10)]
    frame = pl.DataFrame({"model": list("abcdefgh"), "x": sizes, "group": ["R"] * 8, "value": values})
    (axes,) = drawing.scale_scatter(frame).axes
    points, fit = axes.lines
    assert (list(points.get_xdata()), list(points.get_ydata())) == (sizes, values)
    assert list(fit.get_ydata()) == pytest.approx([0.1, 0.45])
    assert texts(axes) == list("abcdefgh")
    assert axes.get_legend().get_texts()[0].get_text() == "log-linear fit, R² 1.00, n 8"
    (axes,) = drawing.scale_scatter(frame[:7]).axes
    assert len(axes.lines) == 1


def test_a_slice_of_few_queries_has_a_dagger_in_a_heatmap():
    groups = {"CN": 400, "DE": 49}
    rows = [(model, group, 0.5, n) for model in ("a", "b") for group, n in groups.items()]
    frame = pl.DataFrame(rows, schema=["model", "group", "value", "n"], orient="row")
    axes = drawing.heatmap(frame, label="filing jurisdiction").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["CN\nn 400", "DE†\nn 49"]
    assert axes.get_xlabel() == "filing jurisdiction (†: too few queries)"


def test_sizes_within_a_power_of_ten_have_ticks_too():
    frame = pl.DataFrame(
        {"model": ["a", "b", "c"], "x": [2e7, 3e7, 3.2e7], "group": ["R"] * 3, "value": [0.1, 0.2, 0.3]}
    )
    (axes,) = drawing.scale_scatter(frame).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["20M", "25.3M", "32M"]


@pytest.mark.slow
def test_many_series_are_cut_and_it_says_so():
    rows = [(f"m{number:02}", k, number / 20) for number in range(15) for k in (1, 10)]
    (axes,) = drawing.lines(pl.DataFrame(rows, schema=["model", "x", "value"], orient="row"), title="T").axes
    assert [line.get_label() for line in axes.lines] == [f"m{number:02}" for number in range(14, 2, -1)]
    assert axes.figure.get_suptitle() == "T\nthe best 12 of 15 models"
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes.lines}
    assert len(looks) == 12


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(ReportError, match="lacks the columns group, value"):
        drawing.in_out_bars(pl.DataFrame({"model": ["a"]}))
    with pytest.raises(ReportError, match="no rows"):
        drawing.lines(pl.DataFrame(schema={"model": pl.String, "x": pl.Int64, "value": pl.Float64}))
