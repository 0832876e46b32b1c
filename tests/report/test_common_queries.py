"""Scores on the queries that every task and run has, against a loop over the numbers as they were written."""

import json
from statistics import mean

import pytest
from query_types import RUNS, written
from report_folders import add, attest, model_folder

from patent_mteb.report.collect import collect


def test_means_are_over_the_same_queries_for_all(tmp_path):
    found = written(tmp_path)
    frame = collect(tmp_path).data_sources["sample"].benchmark("Sophia").common_queries
    assert len(frame) == len(found)
    for run, task, part, value, n in frame.iter_rows():
        expected = [score for score in found[run, task, part][:33] if score is not None]
        assert (value, n) == (pytest.approx(mean(expected)), len(expected))


def test_a_query_that_one_run_lacks_is_left_out_for_all(tmp_path):
    found = written(tmp_path)
    add(model_folder(tmp_path, "acme/few"), "SophiaTacdRetrieval", queries=[0.25] * 20)
    frame = collect(tmp_path).data_sources["sample"].benchmark("Sophia").common_queries
    whole = {(run, task): (value, n) for run, task, _, value, n in frame.filter(slice="").iter_rows()}
    assert whole.pop(("acme/few", "SophiaTacdRetrieval.sample")) == (0.25, 20)
    assert whole == {
        (run, task): (pytest.approx(mean(scores[:20])), 20) for (run, task, part), scores in found.items() if not part
    }


def test_a_result_with_a_slice_that_its_per_query_scores_contradict_is_left_out(tmp_path):
    written(tmp_path)
    task = "SophiaAbRetrieval.sample"
    path = tmp_path / "results" / "acme__a" / "r1" / f"{task}.json"
    result = json.loads(path.read_text("utf-8"))
    ((entry,),) = result["scores"].values()
    attest(path, scores={"xy_ndcg_at_10": entry["xy_ndcg_at_10"] + 0.01})
    frame = collect(tmp_path).data_sources["sample"].benchmark("Sophia").common_queries
    parts = {run: set(frame.filter(run=run, task=task)["slice"]) for run in RUNS}
    assert parts["acme/b"] == {"", "a", "xy", "ipc_a", "ipc_h", "year_2020"} and parts["acme/a"] == set()


def test_tasks_of_other_benchmarks_are_no_representations_of_one_query(tmp_path):
    for run in RUNS:
        for task in ("PatentCitationRetrieval", "WIPOATTAToTARetrieval"):
            add(model_folder(tmp_path, run), task, queries=[0.1, 0.2])
    assert collect(tmp_path).data_sources["sample"].benchmark("WIPO-AT").common_queries.is_empty()
