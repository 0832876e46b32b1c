"""Scores edited by hand, results in the wrong place, data that change under a task: found by arithmetic, never reported
or exported.
"""

from __future__ import annotations

import json
import shutil

import mteb
import pyarrow.parquet as pq
import pytest
from small_data import HashEncoder, dapfam_tables

from patent_mteb.data import loading
from patent_mteb.errors import DataError
from patent_mteb.experiments import run
from patent_mteb.models import bm25
from patent_mteb.report.collect import collect
from patent_mteb.report.export import prepare

RETRIEVAL, CLASSES = "PatentMapAbsToAbsRetrieval.sample", "PatenTEBBloom.sample"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Two results of one model by a run: a retrieval and a classification."""
    root = tmp_path_factory.mktemp("measured")
    report = run.run(HashEncoder(), [mteb.get_task(name) for name in (RETRIEVAL, CLASSES)], root, show_progress=False)
    assert report.exit_status == 0
    assert collect(root).messages == ()
    return root


@pytest.fixture
def results(measured, tmp_path):
    return shutil.copytree(measured, tmp_path / "results")


def edit(root, task, change):
    """Change the entry of a result by hand, and give its path."""
    (path,) = root.rglob(f"{task}.json")
    document = json.loads(path.read_text())
    ((entry,),) = document["scores"].values()
    change(entry)
    path.write_text(json.dumps(document))
    return path


def better(*names):
    return lambda entry: entry.update({name: entry[name] + 0.01 for name in names})


EDITS = {
    "another score": (CLASSES, better("accuracy")),
    "score of a slice": (RETRIEVAL, better("xy_ndcg_at_10")),
    "in the sixth decimal": (CLASSES, lambda entry: entry.update(accuracy=entry["accuracy"] + 1e-6)),
    "a score more": (CLASSES, lambda entry: entry.update(f1_mine=0.5)),
    "a score less": (RETRIEVAL, lambda entry: entry.pop("recall_at_10")),
    "no seal": (CLASSES, lambda entry: entry["evidence"].pop("seal")),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_result_is_left_out_and_not_exported(results, tmp_path, kind):
    task, change = EDITS[kind]
    path = edit(results, task, change)
    found = collect(results)
    assert task not in set(found.results["task"]) and len(found.results) == 1
    (message,) = [message for message in found.messages if str(path) in message]
    assert "the scores are not those that were measured" in message and "Remedy" in message
    refused = {one.task: one.reason for one in prepare(results, tmp_path / "out").refused}
    assert "not those that were measured" in refused[task]


def test_a_result_moved_to_another_model_is_left_out(results):
    (path,) = results.rglob(f"{CLASSES}.json")
    other = path.parents[1].with_name("acme__large") / "r1"
    other.mkdir(parents=True)
    shutil.move(path, other / path.name)
    found = collect(results)
    assert set(found.results["task"]) == {RETRIEVAL}
    assert any("a result of another place (model 'tests__hash-encoder'" in message for message in found.messages)


def test_per_query_scores_of_another_ranking_contradict(results, tmp_path):
    """Their mean may be the same."""
    (path,) = results.rglob("*.queries.parquet")
    table = pq.read_table(path)
    identity = json.loads(table.schema.metadata[b"patent_mteb"])
    pq.write_table(table.replace_schema_metadata({"patent_mteb": json.dumps(identity | {"ranking": "0" * 32})}), path)
    found = collect(results)
    (message,) = [message for message in found.messages if str(path) in message]
    assert "per-query scores of another ranking" in message
    assert found.results.filter(task=RETRIEVAL).is_empty()
    assert list(found.contradictions)


def test_no_table_takes_the_evidence_for_a_measure(measured):
    scores = collect(measured).scores
    assert not [name for name in scores["measure"] if "evidence" in name or "seal" in name]


class TestDataThatChange:
    """A score is filed under the content that was read, or not at all."""

    TASK = "PatentDAPFAMTACToTACRetrieval"

    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
        monkeypatch.setattr(loading, "_MIXED", set())
        dapfam_tables(tmp_path / "data")
        return tmp_path / "data" / "datalyes" / "DAPFAM_patent"

    def judged_otherwise(self, folder):
        path = folder / "qrels_all.parquet"
        pq.write_table(pq.read_table(path)[:-1], path)

    def test_before_they_are_read(self, folder, tmp_path):
        task, other = mteb.get_task(self.TASK), mteb.get_task("PatentDAPFAMTAToTARetrieval")
        task.load_data()
        self.judged_otherwise(folder)
        report = run.run(bm25("dapfam"), [other], tmp_path / "results", show_progress=False)
        (outcome,) = report.outcomes
        assert outcome.status == "skipped"
        assert f"{folder}: the files were changed after the task was made" in outcome.reason
        assert other.source.revision in outcome.reason and "Remedy: make the task again" in outcome.reason
        assert not list((tmp_path / "results").rglob("*.json"))
        again = mteb.get_task(self.TASK)
        assert again.source.revision != other.source.revision
        again.load_data()

    def test_while_they_are_read(self, folder, monkeypatch):
        task = mteb.get_task(self.TASK)
        load, whole = type(task).load_split, (folder / "qrels_all.parquet").read_bytes()

        def then_changed(one):
            found = load(one)
            self.judged_otherwise(folder)
            return found

        with monkeypatch.context() as patched:
            patched.setattr(type(task), "load_split", then_changed)
            with pytest.raises(DataError, match="changed while they were read"):
                task.load_data()
        assert not task.data_loaded and not task.dataset
        (folder / "qrels_all.parquet").write_bytes(whole)
        with pytest.raises(DataError, match="start again"):  # what this process remembers may be of either state
            mteb.get_task(self.TASK).load_data()

    def test_without_the_variable_under_a_living_task(self, folder, monkeypatch):
        task = mteb.get_task(self.TASK)
        revision = task.source.revision
        monkeypatch.delenv(loading.DATA_VARIABLE)
        task.load_data()
        assert (task.metadata.revision, task.source.revision) == (revision, revision)

    def test_a_sample_that_was_edited(self, tmp_path, monkeypatch):
        monkeypatch.setattr(loading, "sample_root", lambda recipe: tmp_path / "sample" / recipe)
        (tmp_path / "sample" / "patentmap").mkdir(parents=True)
        task = mteb.get_task(RETRIEVAL)
        with pytest.raises(DataError, match="they are not those of sample-2"):
            task.load_data()
