"""Scores on the queries that every task and run has, against a loop over the numbers as they were written."""

from statistics import mean

import pytest
from query_types import RUNS, written
from report_folders import add, model_folder

from patent_mteb.report.collect import collect


def test_means_are_over_the_same_queries_for_all(tmp_path):
    found = written(tmp_path)
    frame = collect(tmp_path).worlds["sample"].benchmark("Sophia").common_queries
    assert len(frame) == len(found)
    for run, task, part, value, n in frame.iter_rows():
        expected = [score for score in found[run, task, part][:33] if score is not None]
        assert (value, n) == (pytest.approx(mean(expected)), len(expected))


def test_tasks_of_other_benchmarks_are_no_representations_of_one_query(tmp_path):
    for run in RUNS:
        for task in ("PatentCitationRetrieval", "WIPOATTAToTARetrieval"):
            add(model_folder(tmp_path, run), task, queries=[0.1, 0.2])
    assert collect(tmp_path).worlds["sample"].benchmark("WIPO-AT").common_queries.is_empty()
