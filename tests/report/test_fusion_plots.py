"""The curves show the numbers of their table."""

import polars as pl

from patent_mteb.report.drawing import fusion_curves

FRAME = pl.DataFrame(
    {
        "name": ["bm25", "dense", "rrf-10", "rrf-60", "linear-0", "linear-0.5"],
        "method": ["", "", "rrf", "rrf", "linear", "linear"],
        "parameter": [None, None, 10.0, 60.0, 0.0, 0.5],
        "ndcg_at_100": [0.2, 0.3, 0.31, 0.32, 0.2, 0.33],
        "in_ndcg_at_100": [0.25, 0.35, 0.36, 0.37, 0.25, 0.38],
    }
)


def test_a_panel_a_method_and_a_curve_a_part():
    figure = fusion_curves(FRAME, "ndcg_at_100", measure="nDCG@100", title="task")
    assert [axes.get_xlabel()[:2] for axes in figure.axes] == ["k ", "α,"]
    curves = {
        line.get_label(): (line.get_xdata().tolist(), line.get_ydata().tolist())
        for line in figure.axes[1].get_lines()[::2]
    }
    assert curves["ALL"] == ([0.0, 0.5], [0.2, 0.33]) and curves["IN"] == ([0.0, 0.5], [0.25, 0.38])
    dashed = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "--" and len(line.get_ydata())]
    assert [line.get_ydata()[0] for line in dashed] == [0.3, 0.35]  # the dense run, best by ALL


def test_weights_of_three_runs_have_no_axis():
    frame = FRAME.head(2).vstack(FRAME.head(1).with_columns(name=pl.lit("linear-1-1-1"), method=pl.lit("linear")))
    assert not fusion_curves(frame, "ndcg_at_100").axes
