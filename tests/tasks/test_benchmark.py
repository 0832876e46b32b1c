"""Benchmarks: lazy tasks, groups, macro-average and spread."""

import mteb
import pytest

from patent_mteb.data import sources
from patent_mteb.tasks.benchmark import group_means, summary
from patent_mteb.tasks.catalogue import BENCHMARKS, FAMILIES, TASKS


def test_every_family_has_a_benchmark_of_its_tasks():
    assert [benchmark.name for benchmark in BENCHMARKS] == ["WIPO-AT", "DAPFAM", "PatenTEB", "Sophia", "PatentMap", "PatentMTEB"]
    for module, benchmark in zip(FAMILIES, BENCHMARKS, strict=False):
        names = [task.metadata.name.removesuffix(".sample") for task in benchmark.tasks]
        assert names == [task.metadata.name for task in module.TASKS]
    assert len(mteb.get_benchmark("PatentMTEB").tasks) == len(TASKS)


def test_tasks_follow_the_data_variables(monkeypatch):
    benchmark = mteb.get_benchmark("DAPFAM")
    assert benchmark.tasks[0].metadata.name == "PatentDAPFAMTAToFullTextRetrieval"
    monkeypatch.setenv(sources.SAMPLE_VARIABLE, "1")
    assert benchmark.tasks[0].metadata.name == "PatentDAPFAMTAToFullTextRetrieval.sample"
    (_, grouping) = benchmark.aggregations
    assert grouping.task_to_label["PatentDAPFAMTAToFullTextOutRetrieval.sample"] == "OUT"


def test_the_macro_average_counts_every_family_once():
    total = mteb.get_benchmark("PatentMTEB")
    scores = {task.metadata.name: float(place) for place, module in enumerate(FAMILIES) for task in module.TASKS}
    assert summary(total, scores) == {"Overall": pytest.approx(2.0)}
    assert group_means(total, scores) == {module.FAMILY.name: float(place) for place, module in enumerate(FAMILIES)}
    del scores["PatentMapIPCClassification"]
    assert summary(total, scores) == {"Overall": None}


def test_sophia_reports_its_spread():
    sophia = mteb.get_benchmark("Sophia")
    scores = {f"{task.metadata.name}.sample": 0.1 * place for place, tasks in enumerate(sophia.groups.values()) for task in tasks}
    assert summary(sophia, scores)["Spread"] == pytest.approx(0.1)
    assert set(group_means(sophia, scores)) == {"Structured fields", "Machine summaries"}
