"""The tables of charts hold the numbers of the results."""

import numpy as np
import polars as pl
import pytest
from report_folders import HEADLINE, JURISDICTIONS, add, model_folder
from scipy.stats import bootstrap

from patent_mteb.report import charts, series
from patent_mteb.report.collect import collect
from patent_mteb.report.figures import on_page
from patent_mteb.report.statistics import statistics


def value_of(world, task, run, name):
    rows = world.scores.filter(
        (pl.col("task") == f"{task}.sample") & (pl.col("run") == run) & (pl.col("slice") == name) & "main"
    )
    return rows["value"].item()


def test_frames_of_a_benchmark(world):
    world = collect(world).data_sources["sample"]
    view = world.benchmark("WIPO-AT")
    frame = charts.in_out(view)
    assert view.domain_headline.name == f"{HEADLINE}.sample"
    expected = [
        (run, side.upper(), value_of(world, HEADLINE, run, side))
        for run in ("acme/large", "acme/small", "lex/bm25")
        for side in ("in", "out")
    ]
    assert sorted(frame.rows()) == sorted(expected)
    frame = charts.jurisdictions(view)
    assert set(frame["group"]) == {name.upper() for name in JURISDICTIONS}
    assert frame.filter((pl.col("model") == "acme/small") & (pl.col("group") == "JP"))["value"].item() == value_of(
        world, HEADLINE, "acme/small", "jurisdiction_jp"
    )
    frame = charts.recall(view)
    assert sorted(set(frame["x"])) == [1, 3, 5, 10, 20, 100, 1000]
    frame = charts.sections(view)
    assert set(frame.select("query", "corpus").rows()) == {("TAC", "TAC"), ("TA", "TA"), ("Claim1", "Claim1")}
    assert frame.filter((pl.col("model") == "acme/large") & (pl.col("query") == "TA"))["value"].item() == value_of(
        world, "WIPOATTAToTARetrieval", "acme/large", ""
    )


def test_ranks_are_among_models_that_have_every_group(world):
    world = collect(world).data_sources["sample"]
    frame = charts.ranks(world.benchmark("PatenTEB"))
    assert set(frame["model"]) == {"acme/small", "acme/large"}  # the lexical model has retrieval only
    assert set(frame.select("model", "value").rows()) == {("acme/large", 1.0), ("acme/small", 2.0)}
    assert set(frame["group"]) == {"Retrieval", "Classification", "Paraphrase", "Clustering"}
    assert charts.ranks(world.benchmark("WIPO-AT")).is_empty()


def test_scale_has_three_sizes_or_more(tmp_path, world):
    """Two points are a line whatever the numbers; a model of unknown size is none of them."""
    assert charts.scale(collect(world).data_sources["sample"].benchmark("PatenTEB")).is_empty(), (
        "two sizes, one unknown"
    )
    sizes = {"acme/a": 22_000_000, "acme/b": 33_000_000, "acme/c": 335_000_000, "acme/d": None}
    for place, (model, size) in enumerate(sizes.items()):
        for task in ("PatenTEBTitle2Full", "PatenTEBEffect2Full"):
            add(model_folder(tmp_path, model, n_parameters=size), task, 0.1 + 0.1 * place + 0.2 * ("Title" in task))
    frame = charts.scale(collect(tmp_path).data_sources["sample"].benchmark("PatenTEB"))
    assert set(frame.select("model", "x").rows()) == {(model, size) for model, size in sizes.items() if size}
    assert frame.filter(model="acme/b")["value"].item() == pytest.approx((0.2 + 0.4) / 2)


def test_what_has_no_parameters_is_on_no_axis_of_sizes(tmp_path):
    for model, size in (("mteb/baseline-bm25s", 0), ("acme/a", 22e6), ("acme/b", 33e6), ("acme/c", 44e6)):
        add(model_folder(tmp_path, model, n_parameters=size), "PatenTEBTitle2Full", 0.4)
    frame = charts.scale(collect(tmp_path).data_sources["sample"].benchmark("PatenTEB"))
    assert set(frame["model"]) == {"acme/a", "acme/b", "acme/c"}


def test_ranks_and_sizes_compare_shared_tasks_only(tmp_path):
    for model, shared, alone in (("acme/a", 0.4, 0.9), ("acme/b", 0.5, None), ("acme/c", 0.6, None)):
        folder = model_folder(tmp_path, model, n_parameters=int(1e8 * shared))
        add(folder, "PatenTEBTitle2Full", shared)
        add(folder, "PatenTEBBloom", shared)
        if alone is not None:
            add(folder, "PatenTEBEffect2Full", alone)
    collected = collect(tmp_path)
    assert set(
        charts.ranks(collected.data_sources["sample"].benchmark("PatenTEB")).select("model", "value").rows()
    ) == {("acme/a", 3.0), ("acme/b", 2.0), ("acme/c", 1.0)}
    assert set(
        charts.scale(collected.data_sources["sample"].benchmark("PatenTEB")).select("model", "value").rows()
    ) == {("acme/a", 0.4), ("acme/b", 0.5), ("acme/c", 0.6)}


def test_truncation_of_a_model_with_its_full_width(tmp_path):
    for dims, value in ((32, 0.1), (128, 0.3)):
        add(model_folder(tmp_path, "acme/small", settings={"dims": dims}, embed_dim=dims), HEADLINE, value)
    add(model_folder(tmp_path, "acme/small", settings={"dims": 32, "prompts": "none"}), HEADLINE, 0.9)
    add(model_folder(tmp_path, "acme/small", embed_dim=None), HEADLINE, 0.4)
    add(model_folder(tmp_path, "acme/large"), HEADLINE, 0.5)
    frame = charts.truncation(collect(tmp_path).data_sources["sample"].benchmark("WIPO-AT"))
    assert frame.rows() == [
        ("acme/small", 32, 0.1, False),
        ("acme/small", 128, 0.3, False),
        ("acme/small", None, 0.4, True),
    ]


def test_short_names_keep_models_apart():
    assert series.model_names(["a/x", "b/x", "b/y"]) == {"a/x": "a/x", "b/x": "b/x", "b/y": "y"}


def test_the_page_has_the_numbers_of_a_run_under_that_run(tmp_path):
    """Two runs of one model, of which one alone has IN and OUT: its short name there is the other's elsewhere."""
    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.4)
    add(model_folder(tmp_path, "acme/small", settings={"dims": 32}), HEADLINE, 0.3, slices={"in": 0.3, "out": 0.2})
    view = collect(tmp_path).data_sources["sample"].benchmark("WIPO-AT")
    (bars,) = (
        chart for chart in on_page(view, {run: place for place, run in enumerate(view.runs)}) if chart["kind"] == "bars"
    )
    place = view.runs.index("acme/small (dims=32)")
    assert bars["rows"] == [[place, *side, None, None] for side in (["IN", 0.3], ["OUT", 0.2])]


def test_in_and_out_carry_the_intervals_of_their_queries(tmp_path):
    """Against SciPy's bootstrap; of IN and OUT tasks, those of the tasks; without scores by query there are none."""
    rng = np.random.default_rng(3)
    inside, outside = rng.random(200).round(3), (rng.random(200) / 2).round(3)
    folder = model_folder(tmp_path, "acme/small")
    parts = {"in": list(inside), "out": list(outside)}
    add(folder, HEADLINE, queries=(inside + outside) / 2, parts=parts)
    for task, queries in (("MIXED", (inside + outside) / 2), ("IN", inside), ("OUT", outside)):
        add(folder, f"PatenTEBRetrieval{task}", queries=queries)
    collected = collect(tmp_path)
    compared = statistics(collected)
    for benchmark in ("WIPO-AT", "PatenTEB"):
        view = collected.data_sources["sample"].benchmark(benchmark)
        (bars,) = (one for one in on_page(view, {"acme/small": 0}, None, compared) if one["kind"] == "bars")
        for (_, side, value, low, high), scores in zip(bars["rows"], (inside, outside), strict=True):
            wanted = bootstrap((scores,), np.mean, method="percentile", rng=rng).confidence_interval
            assert value == pytest.approx(scores.mean(), abs=1e-5)
            assert [low, high] == pytest.approx([wanted.low, wanted.high], abs=0.05 * (wanted.high - wanted.low)), side
        (without,) = (one for one in on_page(view, {"acme/small": 0}) if one["kind"] == "bars")
        assert [row[3:] for row in without["rows"]] == [[None, None]] * 2


def test_a_chart_whose_values_are_all_the_same_is_not_shown():
    chart = next(chart for chart in charts.CHARTS if chart.name == "in-out")
    rows = [("a", "IN", 0.5), ("a", "OUT", 0.5)]
    frame = pl.DataFrame(rows, ["model", "group", "value"], orient="row")
    assert not chart.shows(frame) and chart.shows(frame.with_columns(value=pl.Series([0.5, 0.4])))
