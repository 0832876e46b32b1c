"""Geometries in a report: those of the model and the data of a result are read, tabled and drawn, the others skipped
with a reason.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from report_folders import add, data_revision, model_folder, payload_of

from patent_mteb import report
from patent_mteb.report import figures, geometries
from patent_mteb.report.collect import collect

TASK = "PatentMapClmToAllRetrieval.sample"
MEASURES = {
    "alignment": 1.0,
    "uniformity": -2.5,
    "ssd": 0.25,
    "n_pairs": 9.0,
    "alignment_claim": 1.0,
    "alignment_to_claim": 1.25,
    "alignment_abstract": 1.5,
    "ida_ratio": 0.5,
    "ida_ratio_abstract_claim": 0.75,
}


def put(folder, **changed):
    """A geometry in the folder of a model, with its identity."""
    meta = json.loads((folder / "model_meta.json").read_text())
    line = {
        "task": TASK,
        "model": meta["name"],
        "model_revision": meta["revision"],
        "experiment": None,
        "dataset_revision": data_revision(TASK, "sample"),
        "subset": data_revision(TASK, "sample"),
        "settings": {"max_documents": 10},
        "measures": MEASURES,
    }
    path = folder / f"{TASK}.geometry.jsonl"
    path.write_text(json.dumps({**line, **changed}) + "\n")
    return path


@pytest.fixture
def two(tmp_path):
    """Two models with a result and a geometry each."""
    for name, score, scale in (("org/first", 0.5, 1.0), ("org/second", 0.25, 0.5)):
        folder = model_folder(tmp_path, name)
        add(folder, TASK, score)
        put(folder, measures={measure: value * scale for measure, value in MEASURES.items()})
    return tmp_path


def test_geometries_are_read_next_to_their_results(two):
    frame, messages = geometries.read(collect(two))
    assert (
        not messages
        and set(frame["data_source"]) == {"sample"}
        and set(frame["plain"]) == {"PatentMapClmToAllRetrieval"}
    )
    found = {
        (run, measure): (value, score)
        for run, measure, value, score in frame.select("run", "measure", "value", "score").iter_rows()
    }
    assert found == {
        (run, measure): (value * scale, score)
        for run, scale, score in (("org/first", 1.0, 0.5), ("org/second", 0.5, 0.25))
        for measure, value in MEASURES.items()
    }


def test_what_belongs_to_no_result_is_left_out_and_said(two, tmp_path):
    first, second = sorted((two / "results").iterdir())
    put(first / "r1", dataset_revision="sample-0")
    put(second / "r1", measures={"ssd": "high"})
    frame, messages = geometries.read(collect(two))
    assert len(frame) == 0 and len(messages) == 2
    assert (
        "no geometry of org/first on data revision" in messages[0]
        and "damaged (no settings and measures)" in messages[1]
    )
    put(second / "r1", model="org/first")
    assert "no geometry of org/second" in geometries.read(collect(two))[1][1]


def test_the_table(two):
    (table,) = geometries.tables(geometries.read(collect(two))[0])
    assert [column.key for column in table.columns] == ["model", *(name for name in MEASURES if name != "n_pairs")]
    assert [[cell.text for cell in row][:4] for row in table.rows] == [
        ["org/first", "1.0000", "-2.5000", "0.2500"],
        ["org/second", "0.5000", "-1.2500", "0.1250"],
    ]
    assert table.title.endswith("(sample)") and table.banner and table.benchmark == "PatentMap"
    put(two / "results" / "org__first" / "r1", settings={"max_documents": 20})
    (table,) = geometries.tables(geometries.read(collect(two))[0])
    assert "max_documents 10; max_documents 20" in table.notes[1]


def drawn_of(folder, frame):
    plots = {plot.name.split("-patentmap-")[1]: plot.figure for plot in figures.draw(collect(folder), frame)}
    return {name: figure for name, figure in plots.items() if name.startswith(("plane", "geometry"))}


@pytest.mark.slow
def test_the_figures(two):
    frame, _ = geometries.read(collect(two))
    drawn = drawn_of(two, frame)
    assert list(drawn) == ["plane-clm-all", "geometry-alignment-clm-all", "geometry-ida-ratio-clm-all"]
    plane, alignment, cohesion = drawn.values()
    points = [(row["alignment"], row["uniformity"], row["score"], row["ssd"]) for row in plane["data"]["values"]]
    assert [point[:3] for point in points] == [(1.0, -2.5, 0.5), (0.5, -1.25, 0.25)] and points[0][3] > points[1][3]
    assert alignment["encoding"]["x"]["scale"]["domain"] == ["abstract", "claim"]
    assert cohesion["encoding"]["x"]["scale"]["domain"] == ["abstract – claim"]
    assert alignment["encoding"]["x"]["title"] == "section of the patent"
    assert alignment["encoding"]["y"]["scale"]["domain"] == ["second", "first"]  # lower is better
    whole = pl.DataFrame([row for row in frame.iter_rows() if row[6] == "ssd"], schema=geometries.SCHEMA, orient="row")
    assert drawn_of(two, whole) == {}


@pytest.mark.slow
def test_a_report_shows_them(two, tmp_path):
    outcome = report.run(two, formats=["markdown"], out=tmp_path / "out", plots=True, html=tmp_path / "page")
    assert "geometry of the embeddings" in (tmp_path / "out" / "report.md").read_text()
    assert any("plane" in path.name and path.suffix == ".svg" for path in outcome.files)
    tabs = payload_of((tmp_path / "page" / "index.html").read_text())["tabs"]
    assert any("geometry of the embeddings" in table["title"] for tab in tabs for table in tab.get("further", ()))
    assert not [message for message in outcome.messages if "geometry" in message]


def test_the_learning_curve_of_a_trained_model(tmp_path):
    """Losses of each step are averaged in blocks of three here (1,203 steps, at most 500 points)."""
    folder = model_folder(tmp_path, "local/trained")
    add(folder, TASK, 0.5)
    losses = np.linspace(3, 1, 1203)
    rows = [f"{step},{step / 100},{loss:.6f},," for step, loss in enumerate(losses, start=1)]
    rows[600] += "2.25"
    (folder / geometries.TRAINING).write_text("\n".join(["step,epoch,loss,grad_norm,eval_loss", *rows]))
    frame, messages = geometries.read(collect(tmp_path))
    curve = geometries.learning_curve(frame)
    training = curve.filter(measure="loss")
    assert training["x"].to_list() == list(range(3, 1204, 3)) and not messages
    assert np.allclose(training["value"], losses.reshape(-1, 3).mean(axis=1), atol=1e-6)
    assert curve.filter(measure="validation loss").rows() == [("validation loss", 2.25, "local/trained", 601)]
    assert not geometries.tables(frame), "losses are not geometries"
    drawn = [plot for plot in figures.draw(collect(tmp_path), frame) if "learning-curve" in plot.name]
    assert [len(plot.figure["data"]["values"]) for plot in drawn] == [401], "a curve needs two points"
    (folder / geometries.TRAINING).write_text("step,loss\none,2\n")
    assert "not a training history" in geometries.read(collect(tmp_path))[1][0]
