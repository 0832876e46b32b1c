"""Fusions and passages as curves: what differs in anything but the number along the curve is another curve."""

import json

import pytest
from report_folders import HEADLINE, add, model_folder

from patent_mteb.report import series
from patent_mteb.report.collect import collect
from patent_mteb.tasks.evidence import checksum


def view_of(root):
    return collect(root).data_sources["sample"].benchmark("WIPO-AT")


def hybrid(root, alpha, value, dense, revision="r1", **changed):
    parts = [{"name": "lex/bm25", "revision": "r1"}, {"name": "acme/small", "revision": "r1", **dense}]
    settings = {"kind": "hybrid", "method": "linear", "alpha": alpha, "depth": 1000, "parts": parts} | changed
    add(model_folder(root, f"hybrid/linear-{alpha}-x", revision, settings), HEADLINE, value)


def test_alpha_takes_the_ends_from_the_systems_alone(tmp_path):
    add(model_folder(tmp_path, "lex/bm25"), HEADLINE, 0.2)
    add(model_folder(tmp_path, "acme/small"), HEADLINE, 0.3)
    add(model_folder(tmp_path, "acme/small", settings={"dims": 32}), HEADLINE, 0.1)
    add(model_folder(tmp_path, "acme/small", "r2"), HEADLINE, 0.9)
    for alpha in (0.1, 0.5):
        hybrid(tmp_path, alpha, 0.3 + alpha / 10, {})
        hybrid(tmp_path, alpha, 0.2 + alpha / 10, {"dims": 32}, "r7")
    for k, value in ((60.0, 0.8), (10.0, 0.7)):
        hybrid(tmp_path, 0.6, value, {}, f"r{k:.0f}", method="rrf", k=k)
    view = view_of(tmp_path)
    frame = series.alpha(view)
    assert view.headline.name == f"{HEADLINE}.sample"
    drawn = {
        model: [(alpha, pytest.approx(value)) for _, alpha, value in rows.rows()]
        for (model,), rows in frame.group_by("model")
    }
    assert drawn == {
        "small + bm25": [(0.0, 0.2), (0.1, 0.31), (0.5, 0.35), (1.0, 0.3)],
        "small (dims=32) + bm25": [(0.0, 0.2), (0.1, 0.21), (0.5, 0.25), (1.0, 0.1)],
    }
    assert series.rrf(view).rows() == [("small + bm25", 10.0, 0.7), ("small + bm25", 60.0, 0.8)]


def test_settings_that_differ_make_curves_of_their_own(tmp_path):
    hybrid(tmp_path, 0.5, 0.31, {})
    hybrid(tmp_path, 0.5, 0.32, {}, "r2", depth=100)
    hybrid(tmp_path, 0.5, 0.33, {"revision": "r9"}, "r3", depth=100)
    assert series.alpha(view_of(tmp_path)).rows() == [
        ("small + bm25 (depth=100, small @r1)", 0.5, 0.32),
        ("small + bm25 (depth=100, small @r9)", 0.5, 0.33),
        ("small + bm25 (depth=1000, small @r1)", 0.5, 0.31),
    ]


def test_passages_of_one_overlap_are_a_curve(tmp_path):
    for name, tokens, stride, value in (
        ("a", 64, 64, 0.1),
        ("b", 128, 128, 0.2),
        ("c", 128, 64, 0.3),
        ("d", 256, 128, 0.4),
    ):
        settings = {"kind": "passages", "aggregate": "maxP", "tokens": tokens, "stride": stride, "tokenizer": "words"}
        parts = [{"name": "acme/small", "revision": "r1"}]
        add(model_folder(tmp_path, f"passages/{name}", settings=settings | {"parts": parts}), HEADLINE, value)
    assert series.passages(view_of(tmp_path)).rows() == [
        ("small, maxP (stride=0.5)", 128, 0.3),
        ("small, maxP (stride=0.5)", 256, 0.4),
        ("small, maxP (stride=1.0)", 64, 0.1),
        ("small, maxP (stride=1.0)", 128, 0.2),
    ]


def test_costs_of_queries_are_those_of_rerankers_and_scored_runs(tmp_path):
    """x is the effort of the evidence; an encoder has none, and a cost that one system states is not compared."""
    add(model_folder(tmp_path, "acme/small"), HEADLINE, queries=[0.2] * 100)
    for name, effort, value in (
        ("reranked/5-llm", {"seconds": 40.0, "cost": 0.5, "calls": 7}, 0.30),
        ("reranked/20-llm", {"seconds": 200.0, "cost": 2.5}, 0.40),
        ("run/agent", {"seconds": 900.0, "input_tokens": 12, "output_tokens": 3}, 0.45),
    ):
        path = add(model_folder(tmp_path, name), HEADLINE, queries=[value] * 100)
        result = json.loads(path.read_text())
        ((entry,),) = result["scores"].values()
        entry["evidence"] = {**entry.get("evidence", {}), "effort": effort}
        entry["evidence"]["seal"] = checksum(entry)
        path.write_text(json.dumps(result))
    frame = series.query_costs(view_of(tmp_path)).sort("what", "x")
    assert [(what, model.partition(" ")[0], x, value) for model, what, x, value in frame.rows()] == [
        ("cost of the queries", "reranked/5-llm", 0.5, 0.3),
        ("cost of the queries", "reranked/20-llm", 2.5, 0.4),
        ("seconds a query of the second stage", "reranked/5-llm", 0.4, 0.3),
        ("seconds a query of the second stage", "reranked/20-llm", 2.0, 0.4),
        ("seconds a query of the second stage", "run/agent", 9.0, 0.45),
    ]
