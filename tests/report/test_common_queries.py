"""Scores on the queries that every task and run has, against a loop over the numbers as they were written."""

from statistics import mean

import numpy as np
import pytest
from report_folders import add, model_folder

from patent_mteb.report.collect import collect

TYPES = {"SophiaTacdRetrieval": 40, "SophiaAbRetrieval": 37, "SophiaAiAbRetrieval": 33}
"""The first so many queries have each representation."""
RUNS = ("acme/a", "acme/b")


def of_slice(name, number):
    return {"xy": number % 2 == 0, "a": number % 3 == 0, "ipc_a": number < 20, "ipc_h": number >= 20, "year_2020": number % 5 == 0}[name]


def written(root, runs=RUNS, types=TYPES):
    """Results of the Sophia sample; by run, task and slice the score of each query."""
    rng = np.random.default_rng(11)
    found = {}
    for run in runs:
        folder = model_folder(root, run)
        for task, n in types.items():
            scores = rng.random(n).round(3).tolist()
            parts = {
                name: [round(score / 2, 4) if of_slice(name, number) else None for number, score in enumerate(scores)]
                for name in ("xy", "a", "ipc_a", "ipc_h", "year_2020")
            }
            add(folder, task, queries=scores, parts=parts)
            found |= {(run, f"{task}.sample", name): values for name, values in ({"": scores} | parts).items()}
    return found


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
