"""No text of any figure leaves the canvas or overlaps another: with 1, 5 and 25 models of the longest names, and with
three of the shortest.
"""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from patent_mteb.report import drawing
from patent_mteb.report.series import model_names
from patent_mteb.report.style import shown_texts, spread

pytest.importorskip("matplotlib")

LONG = "Organisation-of-Long-Names/Instruction-Tuned-Embedding-Model-8B-v2.5"


def names(count):
    return list(model_names([f"{LONG}-{number} (prompts=none, dims=256)" for number in range(count)]).values())


def table(models, **axes):
    """A row for each model and each value of the other columns, with scores that crowd together."""
    frame = pl.DataFrame({"model": models})
    for name, values in axes.items():
        frame = frame.join(pl.DataFrame({name: values}), how="cross")
    rng = np.random.default_rng(3)
    return frame.with_columns(value=pl.Series(0.5 + 0.02 * rng.random(len(frame))))


OFFICES = ["EN", "CN", "JP", "DE", "FR", "ES", "RU"]
GROUPS = ["Retrieval", "Classification", "Clustering", "Paraphrase"]
TITLE = "WIPO-AT (sample): a title that describes at length the content of the figure, its task and its readers"


def fused(models):
    points = [("rrf", k) for k in (10.0, 30.0, 60.0)] + [("linear", a / 10) for a in range(11)]
    rows = [{"name": models[0], "method": "", "parameter": None, "ndcg_at_100": 0.3}]
    rows += [
        {"name": f"{method}-{value}", "method": method, "parameter": value, "ndcg_at_100": 0.31}
        for method, value in points
    ]
    return pl.DataFrame(rows)


def scaled(models, **more):
    return table(models, group=GROUPS, **more).with_columns(
        x=pl.Series([2.2e7 * (1 + i // 4 % 9) for i in range(4 * len(models))])
    )


FIGURES = {
    "in_out_bars": lambda m: drawing.in_out_bars(table(m, group=["IN", "OUT"]), title=TITLE),
    "fusion": lambda m: drawing.lines(table(m, x=[a / 10 for a in range(11)]), star="dense system alone", title=TITLE),
    "section_heatmaps": lambda m: drawing.section_heatmaps(
        table(m, query=["TA", "TAC", "Claims"], corpus=["TA", "TAC", "Claim1", "DWPIFull"]), title=TITLE
    ),
    "heatmap": lambda m: drawing.heatmap(table(m, group=OFFICES).with_columns(n=pl.lit(12_345)), title=TITLE),
    "tasks_heatmap": lambda m: drawing.heatmap(
        table(m, group=[f"RetrievalOfSomething{n}" for n in range(15)]), title=TITLE
    ),
    "rank_summary": lambda m: drawing.rank_summary(
        table(m, group=GROUPS).with_columns(value=pl.col("value").rank().over("group")), title=TITLE
    ),
    "truncation_curves": lambda m: drawing.truncation_curves(
        table(m, x=[32, 64, 128, 256, 512, 1024]).with_columns(full=pl.col("x") == 1024), title=TITLE
    ),
    "recall": lambda m: drawing.lines(table(m, x=[1, 3, 5, 10, 20, 100, 500, 1000]), log=True, top=1.02, title=TITLE),
    "scale_scatter": lambda m: drawing.scale_scatter(scaled(m), title=TITLE),
    "dots": lambda m: drawing.dots(table(m, group=["IN", "MIXED", "OUT"]), title=TITLE),
    "groups": lambda m: drawing.dots(table(m, group=GROUPS), title="T"),
    "differences": lambda m: drawing.differences(table(m).with_columns(value=pl.col("value") - 0.51), title=TITLE),
    "distributions": lambda m: drawing.distributions(table(m, part=["IN", "OUT"], q=range(30)), title=TITLE),
    "differences_heatmap": lambda m: drawing.heatmap(
        table(m, group=[f"Query section {n}" for n in range(5)]).with_columns(value=pl.col("value") - 0.51),
        title=TITLE,
        differences=True,
    ),
    "frequencies": lambda m: drawing.frequencies(
        pl.DataFrame(
            {
                "series": ["queries"] * 60 + ["targets"] * 60,
                "group": [f"H{n:02}" for n in range(60)] * 2,
                "count": range(1200, 1320),
            }
        ),
        label="IPC domain",
        title=TITLE,
    ),
    "rank_correlations": lambda m: drawing.rank_correlations(table(m, group=[*GROUPS, *OFFICES]), title=TITLE),
    "few_correlations": lambda m: drawing.rank_correlations(
        table(m, group=["Abs→Abs", "Clm→All", "IPCClassification"]),
        title="PatentMap: agreement of tasks on the models (sample)",
    ),
    "years": lambda m: drawing.lines(table(m, x=range(2016, 2026)), label="publication year", title=TITLE),
    "frontier": lambda m: drawing.frontier(table(m).with_columns(x=pl.col("value") * 100), title=TITLE),
    "fusion_curves": lambda m: drawing.fusion_curves(fused(m), "ndcg_at_100", title=TITLE),
    "plane": lambda m: drawing.plane(
        table(m).with_columns(alignment="value", uniformity=-pl.col("value"), ssd=pl.lit(0.1), score="value"),
        title=TITLE,
    ),
    "embedding_map": lambda m: drawing.embedding_map(
        table(m, label=[f"Class of a name that is long {n}" for n in range(8)]).with_columns(x="value", y="value"),
        title=TITLE,
    ),
}


def corners(text):
    """The box of a text as it is drawn, a hair smaller. Boxes of tilted texts overlap where their texts do not: they
    are not compared.
    """
    box = text.get_window_extent()
    return box.x0 + 1, box.y0 + 1, box.x1 - 1, box.y1 - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "models",
    [["a", "b", "c"], names(1), pytest.param(names(5), marks=pytest.mark.long), names(25)],
    ids=["short", "1", "5", "25"],
)
@pytest.mark.parametrize("name", list(FIGURES))
def test_no_text_leaves_the_canvas_or_overlaps_another(name, models):
    figure = FIGURES[name](models)
    figure.draw_without_rendering()  # by the engine that draws the files
    width, height = figure.get_size_inches() * figure.dpi
    texts = shown_texts(figure)
    boxes = {index: corners(text) for index, text in enumerate(texts)}
    for index, (left, low, right, high) in boxes.items():
        assert left >= -1 and right <= width + 1 and low >= -1 and high <= height + 1, texts[index].get_text()
    straight = [index for index, text in enumerate(texts) if text.get_rotation() % 90 == 0]
    for place, first in enumerate(straight):
        for second in straight[place + 1 :]:
            a, b = boxes[first], boxes[second]
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, (texts[first].get_text(), texts[second].get_text())
    assert max(width, height) / figure.dpi < 30


def test_labels_are_apart_in_order_and_as_near_as_can_be():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.random(9).tolist()
        places = spread(values, 0.08)
        ranked = [place for _, place in sorted(zip(values, places, strict=True))]
        assert all(second - first >= 0.08 - 1e-12 for first, second in pairwise(ranked))
        assert min(places) >= 0 and max(places) <= 1
    assert spread([0.1, 0.5, 0.9], 0.1) == pytest.approx([0.1, 0.5, 0.9])
    assert spread([], 0.1) == []
