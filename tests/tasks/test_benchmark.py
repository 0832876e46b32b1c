"""Benchmarks: lazy tasks, groups, macro-average and spread."""

import mteb
import pytest

from patent_mteb.data import sources
from patent_mteb.tasks import dapfam, patenteb, patentmap, sophia, wipo_at
from patent_mteb.tasks.benchmark import group_means, summary
from patent_mteb.tasks.catalogue import benchmarks, mteb_benchmarks, tasks

MODULES = (wipo_at, dapfam, patenteb, sophia, patentmap)


def test_every_paper_has_a_benchmark_of_its_tasks():
    papers = benchmarks()[:5]  # whoever registers a benchmark comes behind them
    assert [benchmark.name for benchmark in papers] == ["WIPO-AT", "DAPFAM", "PatenTEB", "Sophia", "PatentMap"]
    assert [benchmark.name for benchmark in mteb_benchmarks()] == [*(benchmark.name for benchmark in benchmarks()), "PatentMTEB"]
    for module, benchmark in zip(MODULES, papers, strict=True):
        assert benchmark is module.BENCHMARK
        assert benchmark.facts is module.FACTS
        names = [task.metadata.name.removesuffix(".sample") for task in benchmark.tasks]
        assert names == [task.metadata.name for task in benchmark.task_classes]
        assert names == [task.metadata.name for group in benchmark.groups.values() for task in group]
        assert all(task.facts is module.FACTS for task in benchmark.task_classes)
    total = mteb.get_benchmark("PatentMTEB")
    assert len(total.tasks) == len(total.task_classes) == sum(len(benchmark.task_classes) for benchmark in papers)
    assert tasks()[: len(total.tasks)] == total.task_classes
    assert len(set(tasks())) == len(tasks())


def test_tasks_follow_the_data_variables(monkeypatch):
    benchmark = mteb.get_benchmark("DAPFAM")
    assert benchmark.tasks[0].metadata.name == "PatentDAPFAMTAToFullTextRetrieval"
    monkeypatch.setenv(sources.SAMPLE_VARIABLE, "1")
    assert benchmark.tasks[0].metadata.name == "PatentDAPFAMTAToFullTextRetrieval.sample"
    (_, grouping) = benchmark.aggregations
    assert grouping.task_to_label["PatentDAPFAMTAToFullTextOutRetrieval.sample"] == "OUT"


def test_the_macro_average_counts_every_benchmark_once():
    total = mteb.get_benchmark("PatentMTEB")
    scores = {task.metadata.name: float(place) for place, module in enumerate(MODULES) for task in module.BENCHMARK.task_classes}
    assert summary(total, scores) == {"Overall": pytest.approx(2.0)}
    assert group_means(total, scores) == {module.FACTS.name: float(place) for place, module in enumerate(MODULES)}
    del scores["PatentMapIPCClassification"]
    assert summary(total, scores) == {"Overall": None}


def test_sophia_reports_its_spread():
    sophia = mteb.get_benchmark("Sophia")
    scores = {f"{task.metadata.name}.sample": 0.1 * place for place, tasks in enumerate(sophia.groups.values()) for task in tasks}
    assert summary(sophia, scores)["Spread"] == pytest.approx(0.1)
    assert set(group_means(sophia, scores)) == {"Structured fields", "Machine summaries"}
