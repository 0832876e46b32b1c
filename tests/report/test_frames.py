"""From results to the tables of the plots: they say what the results say."""

import json

import polars as pl
import pytest
from report_folders import HEADLINE, JURISDICTIONS, add, model_folder, sample_world

from patent_mteb.report import drawing, frames
from patent_mteb.report.collect import collect


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return collect(sample_world(tmp_path_factory.mktemp("world"))).data_sources["sample"]


def value_of(world, task, run, name):
    rows = world.scores.filter(
        (pl.col("task") == f"{task}.sample") & (pl.col("run") == run) & (pl.col("slice") == name) & "main"
    )
    return rows["value"].item()


def test_frames_of_a_benchmark(world):
    view = world.benchmark("WIPO-AT")
    frame = frames.in_out(view)
    assert view.domain_headline.name == f"{HEADLINE}.sample"
    expected = [
        (name, *(value_of(world, HEADLINE, run, part) for part in ("in", "out")))
        for name, run in (("large", "acme/large"), ("small", "acme/small"), ("bm25", "lex/bm25"))
    ]
    assert sorted(frame.rows()) == sorted(expected)
    frame = frames.jurisdictions(view)
    assert set(frame["group"]) == {name.upper() for name in JURISDICTIONS}
    assert frame.filter((pl.col("model") == "small") & (pl.col("group") == "JP"))["value"].item() == value_of(
        world, HEADLINE, "acme/small", "jurisdiction_jp"
    )
    frame = frames.recall(view)
    assert sorted(set(frame["k"])) == [1, 3, 5, 10, 20, 100, 1000]
    frame = frames.sections(view)
    assert set(frame.select("query", "corpus").rows()) == {("TAC", "TAC"), ("TA", "TA"), ("Claim1", "Claim1")}
    assert frame.filter((pl.col("model") == "large") & (pl.col("query") == "TA"))["value"].item() == value_of(
        world, "WIPOATTAToTARetrieval", "acme/large", ""
    )


def test_ranks_are_among_models_that_have_every_group(world):
    frame = frames.ranks(world.benchmark("PatenTEB"))
    assert set(frame["model"]) == {"small", "large"}  # the lexical model has retrieval only
    assert {(row["model"], row["rank"]) for row in frame.iter_rows(named=True)} == {("large", 1.0), ("small", 2.0)}
    assert set(frame["group"]) == {"Retrieval", "Classification", "Paraphrase", "Clustering"}
    assert frames.ranks(world.benchmark("WIPO-AT")).is_empty()


def test_scale_leaves_out_models_of_unknown_size(world):
    frame = frames.scale(world.benchmark("PatenTEB"))
    assert set(frame.select("model", "parameters").rows()) == {("small", 22e6), ("large", 335e6)}
    tasks = world.results.filter(
        (pl.col("run") == "acme/small") & (pl.col("benchmark") == "PatenTEB") & (pl.col("group") == "Retrieval")
    )
    value = frame.filter((pl.col("model") == "small") & (pl.col("group") == "Retrieval"))["value"].item()
    assert value == pytest.approx(tasks["value"].mean())


def test_what_has_no_parameters_is_on_no_axis_of_sizes(tmp_path):
    for model, size in (("mteb/baseline-bm25s", 0), ("acme/a", 22_000_000), ("acme/b", 33_000_000)):
        add(model_folder(tmp_path, model, n_parameters=size), "PatenTEBTitle2Full", 0.4)
    frame = frames.scale(collect(tmp_path).data_sources["sample"].benchmark("PatenTEB"))
    assert set(frame["model"]) == {"a", "b"}
    assert drawing.scale_scatter(frame).axes


def test_ranks_and_sizes_compare_shared_tasks_only(tmp_path):
    for model, shared, alone in (("acme/a", 0.4, 0.9), ("acme/b", 0.5, None)):
        folder = model_folder(tmp_path, model)
        add(folder, "PatenTEBTitle2Full", shared)
        add(folder, "PatenTEBBloom", shared)
        if alone is not None:
            add(folder, "PatenTEBEffect2Full", alone)
    collected = collect(tmp_path)
    assert set(frames.ranks(collected.data_sources["sample"].benchmark("PatenTEB")).select("model", "rank").rows()) == {
        ("a", 2.0),
        ("b", 1.0),
    }
    assert set(
        frames.scale(collected.data_sources["sample"].benchmark("PatenTEB")).select("model", "value").rows()
    ) == {
        ("a", 0.4),
        ("b", 0.5),
    }


def test_truncation_of_a_model_with_its_full_width(tmp_path):
    for dims, value in ((32, 0.1), (128, 0.3)):
        add(model_folder(tmp_path, "acme/small", settings={"dims": dims}, embed_dim=dims), HEADLINE, value)
    add(model_folder(tmp_path, "acme/small", settings={"dims": 32, "prompts": "none"}), HEADLINE, 0.9)
    add(model_folder(tmp_path, "acme/small", embed_dim=None), HEADLINE, 0.4)
    add(model_folder(tmp_path, "acme/large"), HEADLINE, 0.5)
    frame = frames.truncation(collect(tmp_path).data_sources["sample"].benchmark("WIPO-AT"))
    assert frame.rows() == [("small", 32, 0.1, False), ("small", 128, 0.3, False), ("small", None, 0.4, True)]


def test_short_names_keep_models_apart():
    assert frames.model_names(["a/x", "b/x", "b/y"]) == {"a/x": "a/x", "b/x": "b/x", "b/y": "y"}


def test_settings_are_json(world):
    assert all(json.loads(settings) == {} for settings in world.results["settings"])
