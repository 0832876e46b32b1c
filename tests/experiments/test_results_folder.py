"""The results folder: written whole or not at all, with results on other data kept, and checked before use."""

from __future__ import annotations

import json

import mteb
import pyarrow.parquet as pq
import pytest
from mteb.cache import ResultCache
from small_data import dapfam_tables, unmeasured

from patent_mteb.data import loading
from patent_mteb.experiments import run
from patent_mteb.experiments.results_folder import ResultsFolder, contradiction_in, current_revision
from patent_mteb.models import bm25
from patent_mteb.tasks import dapfam

TASK = "PatentMapAbsToAbsRetrieval.sample"
WHEN = ("evaluation_time", "evaluation_phases", "date")


def evaluated(cache):
    model, task, options = bm25("dapfam"), mteb.get_task(TASK), {"batch_size": 8}
    mteb.evaluate(model, task, cache=cache, encode_kwargs=options, co2_tracker=False, show_progress_bar=False)


def content(path):
    document = (
        [json.loads(line) for line in path.read_text().splitlines()]
        if path.suffix == ".jsonl"
        else json.loads(path.read_text())
    )
    return (
        {name: unmeasured(value) for name, value in document.items() if name not in WHEN}
        if isinstance(document, dict)
        else document
    )


def files(folder):
    return {path.relative_to(folder).as_posix(): content(path) for path in folder.rglob("*.json*")}


def test_the_files_are_those_of_mteb(tmp_path):
    evaluated(ResultCache(tmp_path / "mteb"))
    evaluated(ResultsFolder(tmp_path / "whole", {"batch_size": 8}))
    assert files(tmp_path / "whole") == files(tmp_path / "mteb")
    assert len(files(tmp_path / "whole")) == 3


@pytest.mark.slow
@pytest.mark.parametrize("stop", range(4))
def test_a_result_is_there_with_all_that_belongs_to_it_or_not_at_all(tmp_path, monkeypatch, stop):
    """mteb saves twice, three files and then the result alone: interrupted before each of them."""
    from patent_mteb.experiments import results_folder

    calls, copy = iter(range(4)), results_folder.shutil.copyfile

    def interrupted(*arguments, **named):
        if not named and next(calls) == stop:  # those with names are of shutil.copy
            raise KeyboardInterrupt
        return copy(*arguments, **named)

    monkeypatch.setattr(results_folder.shutil, "copyfile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluated(ResultsFolder(tmp_path, {"batch_size": 8}))
    names = {path.name for path in tmp_path.rglob("*.json*")}
    assert (f"{TASK}.json" in names) == (stop >= 3)
    if stop >= 3:
        assert names == {f"{TASK}.json", "model_meta.json", "run_settings.jsonl"}
        assert [row["encode_kwargs"] for row in content(next(tmp_path.rglob("run_settings.jsonl")))] == [
            {"batch_size": 8}
        ]


def test_a_stored_result_is_reused_if_it_is_whole_true_and_of_the_same_data(tmp_path, monkeypatch):
    model, task = bm25("dapfam"), mteb.get_task(TASK)
    run.run(model, [task], tmp_path, show_progress=False)
    folder, meta = ResultsFolder(tmp_path), model.mteb_model_meta
    path = folder.result_path(meta, task)
    whole = path.read_text()
    assert folder.has(meta, task) and not folder.lacks_scores(meta, task)
    revision, split = json.loads(whole)["dataset_revision"], task.metadata.eval_splits[0]
    higher = json.loads(whole)
    higher["scores"][split][0]["ndcg_at_10"] += 0.1
    changes = {
        "incomplete": whole[: len(whole) // 2],
        "other data": whole.replace(revision, "0" * 40),
        "another score": json.dumps(higher),
        "no score": json.dumps(higher | {"scores": {split: []}}),
    }
    for what, changed in changes.items():
        path.write_text(changed)
        assert not folder.has(meta, task), what
    path.write_text(whole)
    assert folder.has(meta, task)
    with monkeypatch.context() as patch:
        patch.setattr(type(task), "lacks_scores", lambda task, entry: True)
        assert folder.lacks_scores(meta, task) and not folder.has(meta, task)
    path.with_name("model_meta.json").unlink()
    assert contradiction_in(path) == ""
    path.unlink()
    assert not folder.has(meta, task)


@pytest.mark.parametrize(("stored", "current"), [("a" * 40, "a" * 40), ("sample-0123456789ab", "main")])
def test_any_commit_of_a_branch_may_be_the_data_while_the_hub_is_out_of_reach(stored, current):
    assert current_revision(mteb.get_task("PanoramaPAR4PCReranking"), stored) == current


def test_a_commit_is_its_own_revision_whatever_is_stored():
    task = mteb.get_task("PatentDAPFAMTAToTACRetrieval")
    assert current_revision(task, "a" * 40) == task.metadata.revision != "a" * 40


NAME = "PatentDAPFAMTAToTACRetrieval"


@pytest.fixture
def at_revision(tmp_path, monkeypatch):
    """Run the task as if its tables were those of the hub at a revision."""
    dapfam_tables(tmp_path / "data", n_documents=60)
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    local = loading.resolve(dapfam.BENCHMARK.data_sets[0])
    monkeypatch.setattr(loading, "downloaded_commit", lambda folder: local.data.revision)

    def once(revision):
        source = loading.Source(local.data, "local", revision, local.folder)
        task = type(mteb.get_task(NAME))(source=source)
        return run.run(bm25("dapfam"), [task], tmp_path / "results", show_progress=False).outcomes[0]

    return once


def test_both_results_stand_side_by_side(tmp_path, at_revision, caplog):
    pinned = dapfam.BENCHMARK.data_sets[0].revision
    first = at_revision("0" * 40)
    with caplog.at_level("WARNING", logger="patent_mteb"):
        second = at_revision(pinned)
    assert first.status == second.status == "scored"
    files = {
        json.loads(path.read_text())["dataset_revision"]: path for path in (tmp_path / "results").rglob(f"{NAME}.json")
    }
    assert set(files) == {pinned, "0" * 40}
    kept = files["0" * 40]
    assert f"is moved to {kept}" in caplog.text
    identity = json.loads(
        pq.read_table(next((tmp_path / "query_scores").rglob(f"{kept.parent.name}/*.parquet"))).schema.metadata[
            b"patent_mteb"
        ]
    )
    assert identity["experiment"] == kept.parent.name and identity["dataset_revision"] == "0" * 40
    loaded = ResultCache(tmp_path / "results").load_results(load_experiments="match_name")
    assert sorted(result.dataset_revision for model in loaded.model_results for result in model.task_results) == [
        "0" * 40,
        pinned,
    ]


def test_the_same_revision_is_left_where_it_is(tmp_path, at_revision):
    pinned = dapfam.BENCHMARK.data_sets[0].revision
    at_revision(pinned)
    at_revision(pinned)
    assert len(list((tmp_path / "results").rglob("*.json"))) == 2  # the result and its model


def test_damaged_per_query_scores_do_not_hold_a_result_up(tmp_path, at_revision):
    at_revision("0" * 40)
    (queries,) = (tmp_path / "query_scores").rglob("*.queries.parquet")
    queries.write_bytes(b"torn")
    assert at_revision(dapfam.BENCHMARK.data_sets[0].revision).status == "scored"
    assert len(list((tmp_path / "results").rglob(f"{NAME}.json"))) == 2
    assert queries.with_name(f"{queries.name}.quarantined").read_bytes() == b"torn"
