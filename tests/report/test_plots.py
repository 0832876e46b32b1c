"""The plots show what their tables say, and the tables what the results say."""

import json
import sys

import numpy as np
import polars as pl
import pytest
from report_folders import HEADLINE, JURISDICTIONS, add, place, sample_world

from patent_mteb import report
from patent_mteb.report import frames, plots
from patent_mteb.report.collect import ReportError, collect

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return collect(sample_world(tmp_path_factory.mktemp("world")))


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_in_out_bars_and_their_relative_loss():
    figure = plots.in_out_bars(pl.DataFrame({"model": ["b", "a"], "in": [0.4, 0.2], "out": [0.1, 0.15]}), measure="nDCG@10", title="T")
    (axes,) = figure.axes
    inside, outside = axes.containers
    assert [bar.get_width() for bar in inside] == [0.2, 0.4]
    assert [bar.get_width() for bar in outside] == [0.15, 0.1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert texts(axes) == [" 0.200", " 0.150, −25%", " 0.400", " 0.100, −75%"]
    assert axes.get_xlabel() == "nDCG@10"


def test_alpha_curve_with_its_star():
    frame = pl.DataFrame({"model": ["m"] * 3, "alpha": [1.0, 0.1, 0.5], "value": [0.3, 0.1, 0.4]})
    (axes,) = plots.alpha_curve(frame).axes
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
    frame = pl.DataFrame(rows, schema=["model", "query", "corpus", "value"], orient="row").sample(fraction=1, shuffle=True, seed=1)
    figure = plots.section_heatmaps(frame)
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
        assert contrast[plots._readable_on((shade, shade, shade, 1))] == max(contrast.values()) >= 4.5


def test_jurisdiction_heatmap_in_the_papers_order():
    rows = [(model, group, value + step) for model, value in (("low", 0.1), ("high", 0.5)) for step, group in enumerate(("RU", "EN", "JP"))]
    (axes, _) = plots.jurisdiction_heatmap(pl.DataFrame(rows, schema=["model", "group", "value"], orient="row")).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["high", "low"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["EN", "JP", "RU"]
    assert axes.images[0].get_array().tolist() == [[1.5, 2.5, 0.5], [1.1, 2.1, 0.1]]


def test_rank_summary_is_sorted_by_the_mean_rank():
    frame = pl.DataFrame({"model": ["a", "b", "a", "b"], "group": ["R", "R", "C", "C"], "rank": [1.0, 2.0, 1.5, 1.5]})
    (axes,) = plots.rank_summary(frame).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]  # drawn from below: the best is on top
    assert [bar.get_width() for bar in axes.patches] == [1.75, 1.25]
    assert sorted((line.get_label(), list(line.get_xdata())) for line in axes.lines) == [("C", [1.5, 1.5]), ("R", [1.0, 2.0])]


def test_truncation_curves_and_the_retained_share():
    frame = pl.DataFrame({"model": ["m"] * 3, "dims": [64, None, 32], "value": [0.4, 0.5, 0.3], "full": [False, True, False]})
    left, right = plots.truncation_curves(frame).axes
    assert list(left.lines[0].get_ydata()) == [0.3, 0.4, 0.5]
    assert list(right.lines[0].get_ydata()) == pytest.approx([60, 80, 100])
    assert [label.get_text() for label in left.get_xticklabels()] == ["32", "64", "full"]
    assert right.lines[1].get_ydata()[0] == 90


def test_recall_curves():
    frame = pl.DataFrame({"model": ["m", "m", "n"], "k": [100, 1, 1], "value": [0.9, 0.2, 0.1]})
    (axes,) = plots.recall_curves(frame).axes
    assert [(line.get_label(), list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines] == [
        ("m", [1, 100], [0.2, 0.9]),
        ("n", [1], [0.1]),
    ]


def test_scale_scatter_with_a_log_linear_fit():
    sizes = [1e7, 1e8, 1e9]
    frame = pl.DataFrame({"model": ["a", "b", "c"], "parameters": sizes, "group": ["R"] * 3, "value": [0.1, 0.2, 0.3]})
    (axes,) = plots.scale_scatter(frame).axes
    fit, points = axes.lines[:2]
    assert (list(points.get_xdata()), list(points.get_ydata())) == (sizes, [0.1, 0.2, 0.3])
    assert list(fit.get_ydata()) == pytest.approx([0.1, 0.3])
    assert texts(axes) == ["1", "2", "3"]


def test_many_series_are_cut_and_it_says_so():
    rows = [(f"m{number:02}", k, number / 20) for number in range(15) for k in (1, 10)]
    (axes,) = plots.recall_curves(pl.DataFrame(rows, schema=["model", "k", "value"], orient="row"), title="T").axes
    assert [line.get_label() for line in axes.lines] == [f"m{number:02}" for number in range(14, 2, -1)]
    assert axes.get_title(loc="left") == "T\nthe best 12 of 15 models"
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes.lines}
    assert len(looks) == 12


def test_embedding_map_of_two_models():
    rng = np.random.default_rng(0)
    labels = [f"class {number % 9}" for number in range(90)]
    points, method = plots.project(rng.random((90, 8)), "pca")
    frame = pl.concat([pl.DataFrame({"model": model, "x": points[:, 0], "y": points[:, 1], "label": labels}) for model in ("a", "b")])
    first, second = plots.embedding_map(frame, method=method).axes
    for axes in (first, second):
        counts = {collection.get_label(): len(collection.get_offsets()) for collection in axes.collections}
        assert counts == {"other classes": 30, **{f"class {number}": 10 for number in range(6)}}


def test_projection_is_the_principal_components():
    from sklearn.decomposition import PCA

    vectors = np.random.default_rng(0).random((50, 12)) * np.arange(1, 13)
    points, method = plots.project(vectors, "pca")
    reference = PCA(2, svd_solver="full").fit_transform(vectors)
    assert method == "PCA"
    assert np.abs(points) == pytest.approx(np.abs(reference), abs=1e-9)
    assert plots.project(vectors[:, :1], "pca")[0].shape == (50, 2)


def test_projection_refuses_what_it_cannot_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    vectors = np.random.default_rng(0).random((10, 4))
    assert plots.project(vectors)[1] == "PCA"
    with pytest.raises(ReportError, match="pip install umap-learn"):
        plots.project(vectors, "umap")
    with pytest.raises(ReportError, match="no projection 'tsne'"):
        plots.project(vectors, "tsne")
    with pytest.raises(ReportError, match="at least three"):
        plots.project(vectors[:2])


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(ReportError, match="lacks the columns in, out"):
        plots.in_out_bars(pl.DataFrame({"model": ["a"]}))
    with pytest.raises(ReportError, match="no rows"):
        plots.recall_curves(pl.DataFrame(schema={"model": pl.String, "k": pl.Int64, "value": pl.Float64}))


def test_matplotlib_is_an_extra(world, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ReportError, match=r"pip install 'patent-mteb\[plots\]'"):
        plots.recall_curves(pl.DataFrame({"model": ["m"], "k": [1], "value": [0.1]}))
    with pytest.raises(ReportError, match="matplotlib"):
        report.run(world.folder, out=tmp_path, plots=True)
    outcome = report.run(world.folder, out=tmp_path, html=True)
    assert (tmp_path / "index.html").is_file()
    assert any(message.startswith("The page has no plots") for message in outcome.messages)


def test_files_are_the_same_for_the_same_numbers(tmp_path):
    frame = pl.DataFrame({"model": ["m", "m"], "k": [1, 10], "value": [0.2, 0.9]})
    first, second = (plots.save(plots.recall_curves(frame, title="T"), tmp_path / name / "recall.2") for name in ("a", "b"))
    assert [path.name for path in first] == ["recall.2.png", "recall.2.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in first[1].read_text()


# --- from results to tables --------------------------------------------------------------------------------------------------


def value_of(world, task, run, name):
    rows = world.scores.filter((pl.col("task") == f"{task}.sample") & (pl.col("run") == run) & (pl.col("slice") == name) & "main")
    return rows["value"].item()


def test_frames_of_a_family(world):
    task, frame = frames.in_out(world, "WIPO-AT")
    assert task == f"{HEADLINE}.sample"
    expected = [
        (name, *(value_of(world, HEADLINE, run, part) for part in ("in", "out")))
        for name, run in (("large", "acme/large"), ("small", "acme/small"), ("bm25", "lex/bm25"))
    ]
    assert sorted(frame.rows()) == sorted(expected)
    _, frame = frames.jurisdictions(world, "WIPO-AT")
    assert set(frame["group"]) == {name.upper() for name in JURISDICTIONS}
    assert frame.filter((pl.col("model") == "small") & (pl.col("group") == "JP"))["value"].item() == value_of(
        world, HEADLINE, "acme/small", "jurisdiction_jp"
    )
    _, frame = frames.recall(world, "WIPO-AT")
    assert sorted(set(frame["k"])) == [1, 3, 5, 10, 20, 100, 1000]
    frame = frames.sections(world)
    assert set(frame.select("query", "corpus").rows()) == {("TAC", "TAC"), ("TA", "TA"), ("Claim1", "Claim1")}
    assert frame.filter((pl.col("model") == "large") & (pl.col("query") == "TA"))["value"].item() == value_of(
        world, "WIPOATTAToTARetrieval", "acme/large", ""
    )


def test_ranks_are_among_models_that_have_every_group(world):
    frame = frames.ranks(world, "PatenTEB")
    assert set(frame["model"]) == {"small", "large"}  # the lexical model has retrieval only
    assert {(row["model"], row["rank"]) for row in frame.iter_rows(named=True)} == {("large", 1.0), ("small", 2.0)}
    assert set(frame["group"]) == {"Retrieval", "Classification", "Paraphrase", "Clustering"}
    assert frames.ranks(world, "WIPO-AT").is_empty()


def test_scale_leaves_out_models_of_unknown_size(world):
    frame = frames.scale(world, "PatenTEB")
    assert set(frame.select("model", "parameters").rows()) == {("small", 22e6), ("large", 335e6)}
    tasks = world.results.filter((pl.col("run") == "acme/small") & (pl.col("family") == "PatenTEB") & (pl.col("group") == "Retrieval"))
    found = frame.filter((pl.col("model") == "small") & (pl.col("group") == "Retrieval"))["value"].item()
    assert found == pytest.approx(tasks["value"].mean())


def test_ranks_and_sizes_compare_shared_tasks_only(tmp_path):
    for model, shared, alone in (("acme/a", 0.4, 0.9), ("acme/b", 0.5, None)):
        folder = place(tmp_path, model)
        add(folder, "PatenTEBTitle2Full", shared)
        add(folder, "PatenTEBBloom", shared)
        if alone is not None:
            add(folder, "PatenTEBEffect2Full", alone)
    collected = collect(tmp_path)
    assert set(frames.ranks(collected, "PatenTEB").select("model", "rank").rows()) == {("a", 2.0), ("b", 1.0)}
    assert set(frames.scale(collected, "PatenTEB").select("model", "value").rows()) == {("a", 0.4), ("b", 0.5)}


def hybrid(root, alpha, value, dense, revision="r1", **changed):
    parts = [{"name": "lex/bm25", "revision": "r1"}, {"name": "acme/small", "revision": "r1", **dense}]
    settings = {"kind": "hybrid", "method": "linear", "alpha": alpha, "depth": 1000, "parts": parts} | changed
    add(place(root, f"hybrid/linear-{alpha}-x", revision, settings), HEADLINE, value)


def test_alpha_takes_the_ends_from_the_systems_alone(tmp_path):
    add(place(tmp_path, "lex/bm25"), HEADLINE, 0.2)
    add(place(tmp_path, "acme/small"), HEADLINE, 0.3)
    add(place(tmp_path, "acme/small", settings={"dims": 32}), HEADLINE, 0.1)
    add(place(tmp_path, "acme/small", "r2"), HEADLINE, 0.9)
    for alpha in (0.1, 0.5):
        hybrid(tmp_path, alpha, 0.3 + alpha / 10, {})
        hybrid(tmp_path, alpha, 0.2 + alpha / 10, {"dims": 32}, "r7")
    hybrid(tmp_path, 0.6, 0.8, {}, "r8", method="rrf")
    task, frame = frames.alpha(collect(tmp_path), "WIPO-AT")
    assert task == f"{HEADLINE}.sample"
    curves = {model: [(alpha, pytest.approx(value)) for _, alpha, value in rows.rows()] for (model,), rows in frame.group_by("model")}
    assert curves == {
        "small + bm25": [(0.0, 0.2), (0.1, 0.31), (0.5, 0.35), (1.0, 0.3)],
        "small (dims=32) + bm25": [(0.0, 0.2), (0.1, 0.21), (0.5, 0.25), (1.0, 0.1)],
    }


def test_truncation_of_a_model_with_its_full_width(tmp_path):
    for dims, value in ((32, 0.1), (128, 0.3)):
        add(place(tmp_path, "acme/small", settings={"dims": dims}, embed_dim=dims), HEADLINE, value)
    add(place(tmp_path, "acme/small", settings={"dims": 32, "prompts": "none"}), HEADLINE, 0.9)
    add(place(tmp_path, "acme/small", embed_dim=None), HEADLINE, 0.4)
    add(place(tmp_path, "acme/large"), HEADLINE, 0.5)
    _, frame = frames.truncation(collect(tmp_path), "WIPO-AT")
    assert frame.rows() == [("small", 32, 0.1, False), ("small", 128, 0.3, False), ("small", None, 0.4, True)]


def test_every_plot_that_there_is_data_for_and_no_other(world):
    drawn = {plot.name: plot for plot in plots.draw(world)}
    assert set(drawn) == {
        *(f"sample-wipo-at-{kind}" for kind in ("in-out", "sections", "jurisdictions", "recall", "scale")),
        *(f"sample-patenteb-{kind}" for kind in ("in-out", "ranks", "scale")),
    }
    assert all("(sample)" in plot.title for plot in drawn.values())


def test_worlds_are_never_in_one_plot(tmp_path):
    add(place(tmp_path, "acme/small"), HEADLINE, 0.1, slices={"in": 0.2, "out": 0.1})
    add(place(tmp_path, "acme/large"), HEADLINE, 0.1, kind="real", slices={"in": 0.3, "out": 0.2})
    drawn = {plot.name: plot.figure for plot in plots.draw(collect(tmp_path))}
    bars = {name: [label.get_text() for label in figure.axes[0].get_yticklabels()] for name, figure in drawn.items()}
    assert bars == {"sample-wipo-at-in-out": ["small"], "real-wipo-at-in-out": ["large"]}


def test_short_names_keep_models_apart():
    assert frames.model_names(["a/x", "b/x", "b/y"]) == {"a/x": "a/x", "b/x": "b/x", "b/y": "y"}


def test_settings_are_json(world):
    assert all(json.loads(settings) == {} for settings in world.results["settings"])
