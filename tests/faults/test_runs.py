"""A run that meets torn files, places it cannot write to, scores that are no numbers, and hostile names."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from itertools import product

import mteb
import numpy as np
import pytest
from classes import these_first
from mteb.cache import ResultCache
from small_data import HashEncoder, unmeasured
from small_patents import Words

from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments import run
from patent_mteb.metrics.measures import Judged
from patent_mteb.models import bm25
from patent_mteb.search.run import Run
from patent_mteb.tasks import perquery

TASK = "PatentMapAbsToAbsRetrieval.sample"
FILED = (f"{TASK}.json", "model_meta.json")


def once(tmp_path, model=None, task=TASK):
    return run.run(model or bm25("dapfam"), [mteb.get_task(task)], tmp_path, show_progress=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "left"),
    these_first(
        product(FILED, (b"", b"{", b'{"scores": ', b"\xff\xfe")),
        *product(FILED, (b'{"scores": ',)),
        (FILED[0], b"\xff\xfe"),
    ),
)
def test_a_torn_result_is_set_aside_and_made_again(tmp_path, caplog, left, file):
    whole = once(tmp_path)
    (path,) = tmp_path.rglob(file)
    before = json.loads(path.read_text())
    path.write_bytes(left)
    with caplog.at_level("WARNING", logger="patent_mteb"):
        again = once(tmp_path)
    assert again.exit_status == 0
    assert again.outcomes[0].main == whole.outcomes[0].main
    assert path.with_name(f"{file}.quarantined").read_bytes() == left
    assert f"{file}.quarantined" in caplog.text
    after = json.loads(path.read_text())
    assert unmeasured(after["scores"]) == unmeasured(before["scores"]) if "scores" in before else after == before


def test_what_a_killed_run_left_beside_a_whole_result_is_removed(tmp_path):
    """mteb writes the description of the model again after the result: nobody would write it a third time."""
    once(tmp_path)
    (path,) = tmp_path.rglob("model_meta.json")
    left, young = (path.with_name(f".model_meta.json.4194305.{name}.partial") for name in ("0123abcd", "4567cdef"))
    for one in (left, young):
        one.write_text("{")
    os.utime(left, (0, 0))
    once(tmp_path)
    assert not left.exists()
    assert young.exists(), "it may be another machine's work"


def test_a_score_outlives_a_side_file_that_cannot_be_written(tmp_path, caplog, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("no folder")
    monkeypatch.setenv(perquery.VARIABLE, str(blocked))
    with caplog.at_level("WARNING", logger="patent_mteb"):
        found = once(tmp_path / "results")
    assert found.exit_status == 0 and found.outcomes[0].main > 0
    assert "the score is valid" in caplog.text
    assert list((tmp_path / "results").rglob(f"{TASK}.json"))


def test_plain_mteb_keeps_its_score_too(tmp_path, monkeypatch):
    """Without a folder named for them the per-query scores go to the user cache."""
    (tmp_path / "a file").write_text("no folder")
    monkeypatch.delenv(perquery.VARIABLE)
    task = mteb.get_task(TASK)
    task.load_data()
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "a file"))
    cache = ResultCache(tmp_path / "results")
    found = mteb.evaluate(bm25("dapfam"), task, cache=cache, co2_tracker=False, show_progress_bar=False)
    assert found.task_results[0].get_score() > 0
    assert list((tmp_path / "results").rglob(f"{TASK}.json"))


def with_ids(change):
    """A task whose documents have other ids."""
    task = mteb.get_task(TASK)
    task.load_data()
    (split,) = task.dataset[task.source.subset].values()
    split["corpus"] = split["corpus"].map(lambda row: {**row, "id": change(row["id"])})
    split["relevant_docs"] = {
        query: {change(document): gain for document, gain in judged.items()}
        for query, judged in split["relevant_docs"].items()
    }
    task.tables = replace(task.tables, hidden={})
    return task


class Unused(Words):
    """A model that must not be asked."""

    def encode(self, inputs, **_):
        raise AssertionError("the ids were not checked before")


@pytest.mark.parametrize("white", [" ", "\t", "\n", "\v", "\f", "\r", "\0", "\ufeff"])
def test_an_id_that_a_trec_file_cannot_hold_ends_the_task_before_it_is_computed(tmp_path, monkeypatch, white):
    monkeypatch.setenv(perquery.RUNS_VARIABLE, str(tmp_path / "runs"))
    task = with_ids(lambda name: f"{name[:-1]}{white}{name[-1]}")
    with pytest.raises(DataError, match=r"is not allowed in a TREC file.*run without --save-runs"):
        task.evaluate(Unused(), task.split, encode_kwargs={})
    monkeypatch.delenv(perquery.RUNS_VARIABLE)
    scores = task.evaluate(bm25("dapfam"), task.split, encode_kwargs={})
    assert next(iter(scores.values()))["n_queries"] > 0


def test_an_empty_id_ends_the_task_too(tmp_path, monkeypatch):
    monkeypatch.setenv(perquery.RUNS_VARIABLE, str(tmp_path / "runs"))
    task = mteb.get_task(TASK)
    task.load_data()
    first = next(iter(next(iter(task.dataset[task.source.subset].values()))["corpus"]["id"]))
    task = with_ids(lambda name: "" if name == first else name)
    with pytest.raises(DataError, match="the id '' is not allowed in a TREC file"):
        task.evaluate(Unused(), task.split, encode_kwargs={})


@pytest.mark.parametrize("white", ["\u2028", "\u2029", "\x85", "\xa0", "\x1c", "\x1d", "\x1e", "\x1f", "\u3000"])
def test_other_white_space_in_ids_is_written_and_read_back(tmp_path, monkeypatch, white):
    monkeypatch.setenv(perquery.RUNS_VARIABLE, str(tmp_path / "runs"))
    task = with_ids(lambda name: f"{white}{name[:-1]}{white}{name[-1]}{white}")
    scores = next(iter(task.evaluate(bm25("dapfam"), task.split, encode_kwargs={}).values()))
    (path,) = (tmp_path / "runs").rglob("*.run")
    run = Run.load(path)
    judged = task.dataset[task.source.subset][task.split]["relevant_docs"]
    assert judged.keys() >= set(run.query_ids) and all(white in name for name in run.doc_ids)
    found = Judged(run.docs, judged, run.query_ids, run.doc_ids).scores(["ndcg@10"]).means()["ndcg@10"]
    assert found == pytest.approx(scores["ndcg_at_10"], abs=1e-5)
    assert path.with_suffix(".qrels").is_file()


class Constant(Words):
    """Every text has the same direction: correlations do not exist."""

    def vector(self, text):
        return np.ones(self.dims, np.float32) * 2.0 ** (len(text) % 3)


def test_a_nan_is_never_scored(tmp_path):
    found = once(tmp_path, Constant(), "PatenTEBParaProblem.sample")
    assert found.exit_status == 1
    assert "cosine_pearson of task PatenTEBParaProblem.sample is nan" in found.outcomes[0].reason
    assert not list(tmp_path.rglob("PatenTEBParaProblem.sample.json"))


@pytest.mark.parametrize("revision", ["../../../up", "refs/pr/1", "..", "a\\b", "a\nb"])
def test_a_revision_that_is_a_path_is_refused(tmp_path, revision):
    model = HashEncoder()
    model.mteb_model_meta = model.mteb_model_meta.model_copy(update={"revision": revision})
    with pytest.raises(ModelError, match="cannot be the name of a folder"):
        once(tmp_path / "results", model)
    assert not list(tmp_path.rglob("*.json"))
