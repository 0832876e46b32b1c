"""What changes after a first result: settings of a model of mteb's own, weights of late interaction, extras that are
asked for later, an edited table, files that nobody may read, leftovers of killed writers.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import mteb
import numpy as np
import polars as pl
import pytest
import tiny_checkpoints
import torch
from mteb.cache import ResultCache
from mteb.models import SentenceTransformerEncoderWrapper
from sentence_transformers import SentenceTransformer
from small_data import HashEncoder
from tiny_colbert import write_checkpoint

import patent_mteb
from patent_mteb import files, identity
from patent_mteb.errors import ModelError
from patent_mteb.experiments import run, sweep
from patent_mteb.models import bm25, changed
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.search.run import Run

TASK = "PatenTEBEffect2Substance.sample"


# ---------------------------------------------------------------- models


@pytest.mark.slow
def test_a_model_of_mteb_changed_after_its_first_score_does_not_get_it_again(tmp_path):
    """mteb looks for a result by name before it asks the task; the object stays one of mteb's class."""
    folder = tiny_checkpoints.checkpoint(tmp_path / "tiny", 16, "mean")
    model = SentenceTransformerEncoderWrapper(SentenceTransformer(str(folder), device="cpu"))
    model.mteb_model_meta = model.mteb_model_meta.model_copy(update={"name": "test/tiny", "revision": "1"})
    task, cache = mteb.get_task(TASK), ResultCache(tmp_path / "results")

    def score():
        return (
            mteb.evaluate(model, task, cache=cache, co2_tracker=False, show_progress_bar=False)
            .task_results[0]
            .get_score()
        )

    whole = score()
    model.model.max_seq_length = 4
    with pytest.raises(ModelError, match=r"max_seq_length.*changed"):
        score()
    changed(model)
    assert set(model.mteb_model_meta.experiment_kwargs) == {"settings"}
    assert score() != whole
    model.model.max_seq_length = 512
    assert changed(model).mteb_model_meta.experiment_kwargs is None and score() == whole
    assert len(list((tmp_path / "results").rglob(f"{TASK}.json"))) == 2
    assert type(model) is SentenceTransformerEncoderWrapper
    assert not [name for name in (*vars(model), *vars(model.model)) if "patent" in name]


@pytest.fixture
def colbert(tmp_path):
    return LateInteraction(write_checkpoint(tmp_path / "colbert", "pylate"), device="cpu")


def trained(model):
    with torch.no_grad():
        for weight in model._encoder.model.parameters():
            weight.mul_(1.5)


def shorter(model):
    model._encoder.model.max_seq_length = 4


@pytest.mark.parametrize("change", [trained, shorter], ids=lambda change: change.__name__)
def test_late_interaction_changed_after_loading_is_refused_or_another_identity(colbert, change):
    before = colbert.mteb_model_meta
    change(colbert)
    with pytest.raises(ModelError, match="changed after the model was loaded"):
        patent_mteb.rank(colbert, "PatentMapAbsToAbsRetrieval.sample")
    after = changed(colbert).mteb_model_meta
    assert (after.name, after.revision) == (before.name, before.revision)
    assert after.experiment_name != before.experiment_name


def test_token_vectors_of_changed_weights_are_stored_apart(colbert, tmp_path):
    kept, texts = colbert.with_store(tmp_path / "store", "float32"), ["a pump", "a valve of brass"]
    kept.encode_tokens(texts, is_query=True)
    trained(colbert)
    with pytest.raises(ModelError, match="weights changed"):
        kept.encode_tokens(texts, is_query=True)
    again = changed(colbert).with_store(tmp_path / "store", "float32")
    for got, expected in zip(
        again.encode_tokens(texts, is_query=True), colbert.encode_tokens(texts, is_query=True), strict=True
    ):
        np.testing.assert_array_equal(got, expected)


# ---------------------------------------------------------------- extras that are asked for later


def scores_of(folder, task):
    (path,) = folder.rglob(f"{task}.json")
    ((scores,),) = json.loads(path.read_text())["scores"].values()
    return scores


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "task", "prefix"),
    [
        ("PATENT_MTEB_INSCOPE", "PatentCitationRetrieval.sample", "inscope_"),
        ("PATENT_MTEB_SILHOUETTE", "WIPOATEmergingClustering.sample", "silhouette"),
    ],
)
def test_extras_that_are_asked_for_later_are_computed(tmp_path, monkeypatch, variable, task, prefix):
    made = []

    def once():
        report = run.run(HashEncoder(), [mteb.get_task(task)], tmp_path, show_progress=False)
        assert [outcome.status for outcome in report.outcomes] == ["scored"]
        made.append(scores_of(tmp_path, task))
        return {name for name in made[-1] if name.startswith(prefix)}

    assert once() == set()
    monkeypatch.setenv(variable, "true")
    assert once()
    written = next(tmp_path.rglob(f"{task}.json")).stat().st_mtime_ns
    assert once()
    assert next(tmp_path.rglob(f"{task}.json")).stat().st_mtime_ns == written, "once is enough"
    for name in made[0].keys() & made[1].keys() - {"evidence"}:
        assert made[0][name] == made[1][name]


# ---------------------------------------------------------------- tables, runs


@pytest.mark.slow
def test_an_edited_row_of_a_sweep_is_run_again(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("PATENT_MTEB_SAMPLE", "1")
    matrix, out = sweep.Matrix(("bm25",), queries=("TA", "Title"), corpora=("TA",)), tmp_path / "sweep.csv"
    whole = sweep.sweep([matrix], [], bm25("dapfam"), out)
    text = out.read_text()
    assert sweep.sweep([matrix], [], bm25("dapfam"), out).equals(whole) and out.read_text() == text
    score = whole["ndcg_at_100"].to_list()[0]
    out.write_text(text.replace(str(score), "0.99999"))
    assert "0.99999" in out.read_text()
    with caplog.at_level(logging.WARNING, logger="patent_mteb"):
        mended = sweep.sweep([matrix], [], bm25("dapfam"), out)
    assert "1 of 2 rows were edited" in caplog.text
    columns = [name for name in whole.columns if not name.endswith("seconds")]
    assert mended.sort("query").select(columns).equals(whole.sort("query").select(columns))
    assert pl.read_csv(out)["digest"].n_unique() == 2


def test_queries_without_documents_are_said_when_a_run_is_saved(tmp_path, caplog):
    run = Run.from_dict({"q1": {"d": 1.0}, "q2": {}})
    with caplog.at_level(logging.WARNING, logger="patent_mteb"):
        run.save(tmp_path / "x.run")
    assert "1 of 2 queries have no document, the first is 'q2'" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="patent_mteb"):
        Run.load(tmp_path / "x.run").save(tmp_path / "y.run")
    assert not caplog.text


# ---------------------------------------------------------------- files


def test_a_file_that_nobody_may_read_does_not_keep_the_rest_from_a_score(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(identity, "_STABLE_AFTER_NS", 0)
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("needed", "other"):
        (folder / name).write_text(name)
    open_to_all = identity.content_hash(folder)
    whole = Path.open

    def refused(self, *rest, **named):
        if self.name == "other":
            raise PermissionError(13, "Permission denied", str(self))
        return whole(self, *rest, **named)

    (folder / "other").write_text("now closed")
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, logger="patent_mteb"):
        patched.setattr(Path, "open", refused)
        closed = identity.content_hash(folder)
        (folder / "needed").write_text("changed")
        assert len({open_to_all, closed, identity.content_hash(folder)}) == 3
    assert caplog.records[0].message.startswith(f"{folder / 'other'} cannot be read (permission denied)")
    (folder / "needed").write_text("needed")
    assert identity.content_hash(folder) != closed, "what was hashed without a file is not remembered"


def test_two_writers_of_one_number_do_not_share_a_partial_file(tmp_path):
    """Two containers on one folder may each have a process of the same number."""
    path = tmp_path / "scores.json"
    with files.replacing(path) as one, files.replacing(path) as other:
        assert one != other
        other.write_text("second")
        one.write_text("first")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_leftovers_are_removed_by_the_next_writer_of_the_file(tmp_path):
    path = tmp_path / "report[1].md"
    dead = [tmp_path / f".{path.name}.{process}.0123abcd.partial" for process in (4194305, 4194306)]
    living = tmp_path / f".{path.name}.{os.getpid()}.0123abcd.partial"
    other = tmp_path / ".report1.md.4194305.0123abcd.partial"
    for left in (*dead, living, other):
        left.write_text("half")
    for left in (dead[0], living, other):
        os.utime(left, (0, 0))
    files.write_text(path, "whole")
    assert path.read_text() == "whole"
    assert not dead[0].exists(), "left by a process that is gone"
    assert dead[1].exists() and living.exists() and other.exists(), "young, in progress, or of another file"
