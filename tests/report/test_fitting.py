"""No text of any figure leaves the canvas or overlaps another: with 1, 5 and 25 models of the longest names, and with
three of the shortest.
"""

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from patent_mteb.report import drawing
from patent_mteb.report.drawing import spread
from patent_mteb.report.figures import svg
from patent_mteb.report.series import model_names

vl_convert = pytest.importorskip("vl_convert")

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


def widths(texts):
    """The width of each text in a font of one point, as Vega measures it."""
    text = {"text": {"field": "text"}, "font": {"value": "Liberation Sans"}, "fontSize": {"value": 100}}
    width = {"x": {"signal": "datum.bounds.x2 - datum.bounds.x1"}, "y": {"value": 0}}
    marks = [
        {"type": "text", "name": "drawn", "from": {"data": "texts"}, "encode": {"enter": text}},
        {"type": "symbol", "from": {"data": "drawn"}, "encode": {"enter": width}},
    ]
    data = [{"name": "texts", "values": [{"text": text} for text in texts]}]
    drawn = vl_convert.vega_to_scenegraph({"data": data, "marks": marks})["scenegraph"]["items"][0]["items"]
    return {text: item["x"] / 100 for text, item in zip(texts, drawn[1]["items"], strict=True)}


def texts_of(svg):
    """The size of a canvas, and text, place of its middle line, size, anchor and angle of each line of text."""
    root, found = ElementTree.fromstring(svg), []

    def walk(element, x, y):
        shift = re.search(r"translate\(([^,]+),([^)]+)\)", element.get("transform", ""))
        x, y = (x + float(shift[1]), y + float(shift[2])) if shift else (x, y)
        if element.tag.endswith("text"):
            size, angle = float(element.get("font-size")[:-2]), re.search(r"rotate\((.+?)\)", element.get("transform"))
            lines = [(element.text, 0.0)] if not len(element) else []
            for line in element:
                lines.append((line.text, (lines[-1][1] if lines else 0.0) + float(line.get("dy", 0))))
            anchor, angle = element.get("text-anchor"), float(angle[1]) if angle else 0.0
            found.extend((text, x, y + down - 0.35 * size, size, anchor, angle) for text, down in lines if text)
        for child in element:
            walk(child, x, y)

    walk(root, 0.0, 0.0)
    return float(root.get("width")), float(root.get("height")), found


def boxes_of(lines):
    """The box of each line; of a tilted one, the box of its ends."""
    width = widths(sorted({text for text, *_ in lines}))
    for text, x, y, size, anchor, angle in lines:
        start = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width[text] * size
        ends = [along * np.exp(1j * np.radians(angle)) for along in (-start, width[text] * size - start)]
        across, down = [x + end.real for end in ends], [y + end.imag for end in ends]
        half = 0.36 * size * (1 if angle == 0 else 0)  # from the middle of a line to the top of its capitals
        yield min(across), min(down) - half, max(across), max(down) + half


@pytest.mark.slow
@pytest.mark.parametrize(
    "models",
    [["a", "b", "c"], names(25), *(pytest.param(names(count), marks=pytest.mark.long) for count in (1, 5))],
    ids=["short", "25", "1", "5"],
)
@pytest.mark.parametrize("name", list(FIGURES))
def test_no_text_leaves_the_canvas_or_overlaps_another(name, models):
    width, height, lines = texts_of(svg(FIGURES[name](models)))
    boxes = list(boxes_of(lines))
    assert len(lines) > 5 and all(len(text) <= 80 and not text.endswith("…") for text, *_ in lines)
    for (text, *_), (left, low, right, high) in zip(lines, boxes, strict=True):
        assert left >= 0 and right <= width and low >= 0 and high <= height, text
    straight = [(line[0], box) for line, box in zip(lines, boxes, strict=True) if line[-1] == 0]
    for (first, a), (second, b) in combinations(straight, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (first, second)
    assert max(width, height) / 72 < 30


@pytest.mark.slow
@pytest.mark.parametrize("name", ["heatmap", "section_heatmaps", "differences_heatmap", "rank_correlations"])
def test_numbers_on_a_heatmap_can_be_read(name):
    """By WCAG 2, at any shade; a gain is blue, a loss is red. The marks of a panel are in one order."""
    cells = 0
    for panel in re.split("mark-group role-scope", svg(FIGURES[name](names(25)))):
        shades = re.findall(r'd="[^"]*" fill="rgb\((\d+), (\d+), (\d+)\)"', panel)
        numbers = re.findall(r'fill="(white|black)"[^>]*>([+−]?\d\.\d\d+)<', panel)[: len(shades)]
        for shade, (colour, number) in zip(shades, numbers, strict=True):
            red, green, blue = (int(channel) / 255 for channel in shade)
            linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in (red, green, blue)]
            luminance = np.dot([0.2126, 0.7152, 0.0722], linear) + 0.05
            contrast = {"white": 1.05 / luminance, "black": luminance / 0.05}
            assert contrast[colour] == max(contrast.values()) >= 4.5
            if name == "differences_heatmap" and abs(float(number.replace("−", "-"))) >= 0.003:
                assert (blue > red) == (number[0] == "+"), number
            cells += 1
    assert cells > 90


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
