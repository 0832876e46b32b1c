"""Every released data set in its published layout: from the hub, from the hub's cache, and from a local copy, into
report and export.
"""

from __future__ import annotations

import json
from collections import Counter

import mteb
import pytest
import released_layouts
from huggingface_hub import constants, snapshot_download

from patent_mteb import cli
from patent_mteb.data import hub as asked
from patent_mteb.data import loading
from patent_mteb.experiments.run import run
from patent_mteb.report.collect import collect
from patent_mteb.report.export import prepare
from patent_mteb.tasks import catalogue

RANDOM = "mteb/baseline-random-encoder"
IPC = "PatentMapIPCClassification"
DAPFAM = (
    "PatentDAPFAMTAToTARetrieval",
    "PatentDAPFAMKeywordsToFullTextRetrieval",
    "PatentDAPFAMClaim1ToClaim1OutRetrieval",
)
OTHERS = [
    task.metadata.name
    for name in ("PatenTEB", "PatentMap", "PANORAMA", "NOC4PC", "PatentPhrases", "HUPD")
    for task in catalogue.find(name).task_classes
]
TASKS = [*DAPFAM, *(name for name in OTHERS if name != IPC)]
ONE_OF_EACH = (
    DAPFAM[1],
    "PatenTEBRetrievalIN",
    "PatenTEBBloom",
    "PatentMapAbsToAbsRetrieval",
    "PatentPhraseSimilaritySTS",
)
"""Tasks on hub, cache and copy; the others differ in what they read, not in where it comes from."""
MOVING = "PatenTEBNLIOldNew"
"""A task whose data set has no known commit."""


def data_of(name):
    return {task.metadata.name: task.data for task in catalogue.tasks()}[name]


def scored(folder, names=TASKS, model=None):
    """Runs tasks and returns task -> its result as the file in the folder has it."""
    report = run(model or mteb.get_model(RANDOM), mteb.get_tasks(tasks=list(names)), folder, show_progress=False)
    assert {outcome.task: outcome.reason for outcome in report.outcomes if outcome.status != "scored"} == {}
    return {
        path.stem: json.loads(path.read_text())
        for path in folder.rglob("[HP][Ua]*.json")
        if "data_revision" not in str(path)
    }


def main_scores(results):
    return {
        name: entry["main_score"]
        for name, result in results.items()
        for split in result["scores"].values()
        for entry in split
    }


@pytest.fixture(scope="module")
def fresh(published, tmp_path_factory):
    """The results of a first run, from an empty cache."""
    folder = tmp_path_factory.mktemp("fresh")
    return folder, scored(folder)


def test_every_released_set_is_served_and_no_task_resolves_with_the_network(one_hub, published):
    assert len(published) == 20 and {data_of(name).key for name in TASKS} == set(published)
    asked_before = len(one_hub.log)
    assert len(mteb.get_tasks(tasks=TASKS)) == len(TASKS)
    assert len(one_hub.log) == asked_before


@pytest.mark.slow
def test_a_result_names_the_full_commit_of_its_data(published, fresh):
    _, results = fresh
    assert set(results) == set(TASKS)
    assert {name: result["dataset_revision"] for name, result in results.items()} == {
        name: published[data_of(name).key] for name in TASKS
    }
    for name, result in results.items():
        branch = data_of(name).revision == "main"
        ((entry,),) = result["scores"].values()
        assert entry["hf_subset"] == (result["dataset_revision"] if branch else "default")


@pytest.mark.slow
def test_report_and_export_take_them_as_real_and_say_which_commit(published, fresh, tmp_path, capsys):
    folder, _ = fresh
    collected = collect(folder)
    assert set(collected.results["data_source"]) == {"real"} and set(collected.results["task"]) == set(TASKS)
    assert not [message for message in collected.messages if "left out" in message]
    assert cli.main(["report", str(folder), "--format", "markdown"]) == 0
    page = capsys.readouterr().out.replace("\\_", "_")
    for key, commit in published.items():
        assert f"{key} at {commit[:24]}" in page
    export = prepare(folder, tmp_path / "export")
    assert (export.exported, export.refused) == (len(TASKS), ())
    exported = collect(tmp_path / "export").results
    assert dict(exported.select("data", "data_revision").iter_rows()) == published


@pytest.mark.slow
def test_offline_again_from_the_cache(one_hub, fresh, tmp_path, monkeypatch):
    asked.forget()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    before = len(one_hub.log)
    again = scored(tmp_path, ONE_OF_EACH)
    assert len(one_hub.log) == before
    for name, result in again.items():
        first = fresh[1][name]
        assert result["dataset_revision"] == first["dataset_revision"]
        assert main_scores({name: result}) == main_scores({name: first})


@pytest.mark.slow
def test_a_local_copy_as_the_client_leaves_it_is_the_hub(published, fresh, tmp_path, monkeypatch):
    for key, commit in published.items():
        snapshot_download(key, repo_type="dataset", revision=commit, local_dir=tmp_path / "data" / key)
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    assert {task.source.kind for task in mteb.get_tasks(tasks=TASKS)} == {"local"}
    again = scored(tmp_path / "results", ONE_OF_EACH)
    for name, result in again.items():
        assert result["dataset_revision"] == published[data_of(name).key]
        assert main_scores({name: result}) == main_scores({name: fresh[1][name]})
    assert set(collect(tmp_path / "results").results["data_source"]) == {"real"}


def test_a_changed_copy_is_local_data(published, tmp_path, monkeypatch):
    key = "datalyes/effect2full"
    folder = tmp_path / "data" / key
    snapshot_download(key, repo_type="dataset", local_dir=folder)
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    path = folder / "test" / "data.parquet"
    path.write_bytes(
        released_layouts.patenteb_files("effect2full", test=released_layouts.patenteb("effect2full", seed=1))[
            "test/data.parquet"
        ]
    )
    (task,) = mteb.get_tasks(tasks=["PatenTEBEffect2Full"])
    assert task.source.revision.startswith("local-") and task.source.subset == task.source.revision


def test_classification_reads_the_published_csv_files(published, tmp_path):
    assert set(scored(tmp_path, [IPC])) == {IPC}


class TestASetThatMoves:
    @pytest.fixture
    def moving(self, hub):
        data = data_of(MOVING)
        first = released_layouts.publish(hub, data.key)

        def move():
            asked.forget()  # as a new process would
            files = released_layouts.patenteb_files(
                "class_nli_oldnew", test=released_layouts.patenteb("class_nli_oldnew", seed=1)
            )
            return hub.repositories[data.key].commit(files)

        return first, move

    def test_a_new_commit_is_a_new_score_and_the_report_keeps_the_states_apart(self, moving, tmp_path):
        first, move = moving
        old = scored(tmp_path, [MOVING])[MOVING]
        assert scored(tmp_path, [MOVING])[MOVING] == old  # nothing has moved: the stored score answers
        second = move()
        new = scored(tmp_path, [MOVING])[MOVING]
        assert [old["dataset_revision"], new["dataset_revision"]] == [first, second]
        assert main_scores({MOVING: old}) != main_scores({MOVING: new})
        states = collect(tmp_path).results.select("data_source", "data_revision").rows()
        assert states == [("real", second), ("real-2", first)]

    def test_plain_mteb_sees_it_too(self, moving, tmp_path):
        first, move = moving
        model, cache = mteb.get_model(RANDOM), mteb.ResultCache(tmp_path)

        def revision():
            return (
                mteb.evaluate(model, mteb.get_task(MOVING), cache=cache, show_progress_bar=False)
                .task_results[0]
                .dataset_revision
            )

        assert [revision(), revision()] == [first, first]
        second = move()
        assert [revision(), revision()] == [second, second]

    def test_without_the_hub_the_state_in_the_cache_stands(self, hub, moving, tmp_path, caplog):
        first, move = moving
        scored(tmp_path, [MOVING])
        move()
        hub.status = 503
        assert scored(tmp_path, [MOVING])[MOVING]["dataset_revision"] == first
        assert "is taken from the hub client's cache" in caplog.text

    def test_a_result_stays_in_its_place_while_the_commit_is_unknown(self, hub, moving, tmp_path, monkeypatch):
        released_layouts.publish(hub, "datalyes/effect2full")
        scored(tmp_path, [MOVING, "PatenTEBEffect2Full"])
        before = sorted(path for path in tmp_path.rglob("Paten*.json"))
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "empty"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        report = run(
            mteb.get_model(RANDOM), mteb.get_tasks(tasks=[MOVING, "PatenTEBEffect2Full"]), tmp_path, show_progress=False
        )
        assert [outcome.status for outcome in report.outcomes] == [
            "skipped",
            "scored",
        ]  # a short hash is one commit, a branch may be any
        assert sorted(path for path in tmp_path.rglob("Paten*.json")) == before


@pytest.mark.slow
def test_ninety_tasks_of_a_gated_set_ask_once(hub, monkeypatch, tmp_path):
    further = (released_layouts.PANORAMA, released_layouts.PHRASES, released_layouts.HUPD)
    keys = [key for key in released_layouts.released() if key not in further]
    for key in keys:
        released_layouts.publish(hub, key)
        hub.repositories[key].gated = True
    monkeypatch.setenv("HF_TOKEN", "hf_stranger")
    tasks = [task for benchmark in ("DAPFAM", "PatenTEB", "PatentMap") for task in mteb.get_benchmark(benchmark).tasks]
    report = run(mteb.get_model(RANDOM), tasks, tmp_path, show_progress=False)
    assert len(report.outcomes) == 90 and {outcome.status for outcome in report.outcomes} == {"skipped"}
    assert all("is not granted, it is gated" in outcome.reason for outcome in report.outcomes)
    assert Counter(path.split("/resolve/")[0] for _, path in hub.log) == {f"/datasets/{key}": 1 for key in keys}
