"""Benchmarks: lazy tasks, groups, macro-average and spread."""

import mteb
import pytest
from mteb.cache import ResultCache
from report_folders import add, model_folder

from patent_mteb.data import loading
from patent_mteb.errors import NotThereError
from patent_mteb.tasks import dapfam, patenteb, patentmap, sophia, wipo_at
from patent_mteb.tasks.benchmark import Facts, PatentBenchmark, group_means, summary
from patent_mteb.tasks.catalogue import benchmarks, get_tasks, mteb_benchmarks, sample_tasks, tasks

MODULES = (wipo_at, dapfam, patenteb, sophia, patentmap)
MODEL = "sentence-transformers/all-MiniLM-L6-v2"  # one that mteb knows: its tables show no other


def test_every_paper_has_a_benchmark_of_its_tasks():
    papers = benchmarks()[:5]  # whoever registers a benchmark comes behind them
    assert [benchmark.name for benchmark in papers] == ["WIPO-AT", "DAPFAM", "PatenTEB", "Sophia", "PatentMap"]
    names = [benchmark.name for benchmark in mteb_benchmarks()]
    assert names[: len(benchmarks()) + 2] == [
        *(benchmark.name for benchmark in benchmarks()),
        "PatentMTEB",
        "PatentMTEB+",
    ]
    assert "DAPFAM(retrieval)" not in names, "all of its tasks are"
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
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "1")
    assert benchmark.tasks[0].metadata.name == "PatentDAPFAMTAToFullTextRetrieval.sample"
    _, grouping = benchmark.aggregations
    assert grouping.task_to_label["PatentDAPFAMTAToFullTextOutRetrieval.sample"] == "OUT (sample)"


def test_the_macro_average_counts_every_benchmark_once():
    total = mteb.get_benchmark("PatentMTEB")
    scores = {
        task.metadata.name: float(place)
        for place, module in enumerate(MODULES)
        for task in module.BENCHMARK.task_classes
    }
    assert summary(total, scores) == {"Overall": pytest.approx(2.0)}
    assert group_means(total, scores) == {module.FACTS.name: float(place) for place, module in enumerate(MODULES)}
    del scores["PatentMapIPCClassification"]
    assert summary(total, scores) == {"Overall": None}


def test_patentmteb_plus_is_patentmteb_and_each_further_public_set_once():
    plus, total = mteb.get_benchmark("PatentMTEB+"), mteb.get_benchmark("PatentMTEB")
    further = ("PANORAMA", "PatentMatch", "PatSnapNovelty", "CLEF-IP-2013", "NOC4PC", "PatentPhrases", "HUPD")
    others = ("BigPatent", "Patent classes", "Swedish CPC")
    assert list(plus.columns) == [*total.groups, *further, *others]
    names = [task.metadata.name for task in plus.tasks]
    assert names[: len(total.tasks)] == [task.metadata.name for task in total.tasks]
    theirs = ["BigPatentClustering.v2", "PatentClassification.v2"]
    theirs += ["SwedishPatentCPCSubclassClassification", "SwedishPatentCPCGroupClassification"]
    assert names[-4:] == theirs
    assert [type(task).__module__.partition(".")[0] for task in plus.tasks[-4:]] == ["mteb"] * 4
    scores = {
        name: float(place)
        for place, group in enumerate(plus.columns.values())
        for name in (one.metadata.name for one in group)
    }
    assert summary(plus, scores) == {"Overall": pytest.approx(7.0)}
    assert summary(plus, {name: score for name, score in scores.items() if name not in theirs}) == {"Overall": None}
    assert group_means(plus, scores)["Swedish CPC"] == 14.0
    labels = {label for aggregation in plus.aggregations for label in aggregation.task_to_label.values()}
    assert labels == set(plus.columns)
    assert all(one.facts.license and one.facts.bibtex and one.facts.reference for one in benchmarks())


def test_sophia_reports_its_spread():
    sophia = mteb.get_benchmark("Sophia")
    scores = {
        f"{task.metadata.name}.sample": 0.1 * place
        for place, tasks in enumerate(sophia.groups.values())
        for task in tasks
    }
    assert summary(sophia, scores)["Spread"] == pytest.approx(0.1)
    assert set(group_means(sophia, scores)) == {"Structured fields", "Machine summaries"}


@pytest.mark.slow
def test_patentmteb_stands_on_published_data_only(monkeypatch):
    monkeypatch.setenv(loading.SAMPLE_VARIABLE, "1")
    total = mteb.get_benchmark("PatentMTEB")
    assert [task.metadata.name for task in total.tasks] == [task.metadata.name for task in total.task_classes]
    assert {task.source.kind for task in total.tasks if task.data.released} == {"hub"}
    assert [task.metadata.name for task in get_tasks("PatentMTEB")] == [task.metadata.name for task in total.tasks]
    (headline,) = [task for task in total.tasks if task.metadata.name == "PatentCitationRetrieval"]
    with pytest.raises(NotThereError, match="WIPO-AT is not released"):
        headline.load_data()
    trial = mteb.get_benchmark("PatentMTEB.sample")
    assert [task.metadata.name for task in trial.tasks] == [f"{task.metadata.name}.sample" for task in total.tasks]


def test_a_copy_counts_as_published_by_its_registered_content_only(monkeypatch, tmp_path):
    folder = tmp_path / "WIPO-AT"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("{}")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path))
    revision = loading.resolve(wipo_at.DATA).revision
    (kind,) = [kind for kind in wipo_at.RETRIEVAL_TASKS if kind.metadata.name == "PatentCitationRetrieval"]
    with pytest.raises(NotThereError, match=f"not the published data .{revision}.*Remedy: unset"):
        kind(published=True).pin_commit()
    monkeypatch.setitem(loading.REGISTERED, "WIPO-AT", frozenset({revision.removeprefix("local-")}))
    task = kind(published=True)
    task.pin_commit()
    assert (task.metadata.name, task.source.folder) == ("PatentCitationRetrieval", folder)


def test_retrieval_only_benchmarks_hold_every_retrieval_task():
    searched = mteb.get_benchmark("PatentMTEB(retrieval)")
    assert set(searched.task_classes) == {
        task
        for task in tasks()
        if task.metadata.type == "Retrieval" and task in mteb.get_benchmark("PatentMTEB").task_classes
    }
    scores = dict.fromkeys((task.metadata.name for task in searched.task_classes), 0.25)
    assert summary(searched, scores) == {"Overall": 0.25}
    assert summary(mteb.get_benchmark("PatentMTEB"), scores) == {"Overall": None}


def _results(root, names):
    """A results folder of one model, and what mteb reads of it."""
    folder = model_folder(root, MODEL, "r1")
    for name, value in names.items():
        kind = "sample" if name.endswith(".sample") else "real"
        add(folder, name, value, kind=kind)
    return ResultCache(root)


def _read(cache, benchmark):
    return cache.load_results(models=[MODEL], tasks=benchmark, require_model_meta=False)


@pytest.mark.slow
def test_no_mean_over_two_worlds_in_mtebs_own_tools(tmp_path, monkeypatch):
    """The review's case: high scores on samples, low ones on real data, all of them filed under one model."""
    monkeypatch.setattr(loading, "REGISTERED", {})
    released = {task.metadata.name: 0.1 for task in tasks() if task.data.released}
    samples = {task.metadata.name: 0.9 for task in sample_tasks()}
    cache = _results(tmp_path, released | samples)
    total, trial = mteb.get_benchmark("PatentMTEB"), mteb.get_benchmark("PatentMTEB.sample")
    assert total.get_score(_read(cache, total))[MODEL]["Overall"] is None
    scores = trial.get_score(_read(cache, trial))[MODEL]
    assert scores["Overall (sample)"] == pytest.approx(0.9) and "Overall" not in scores

    mixed = PatentBenchmark(
        Facts("Mixed", "Two worlds.", None, "", None, ("2000-01-01", "2020-12-31")),
        {"All": (wipo_at.RETRIEVAL_TASKS[0], dapfam.BENCHMARK.task_classes[0])},
    )
    assert {task.metadata.name.partition(".")[2] for task in mixed.tasks} == {"", "sample"}, (
        "unreleased data are the sample here"
    )
    scores = mixed.get_score(_read(cache, mixed))[MODEL]
    assert scores["Overall"] is None and scores["Group::All"] is None
    assert (scores["Group::All (sample)"], "Mean(Task)" in scores) == (pytest.approx(0.9), False)
    (row,) = _read(cache, mixed).get_benchmark_result().to_dict("records")
    means = {name: value for name, value in row.items() if "All" in name}
    assert sorted(means.values()) == [0.1, 0.9] and len(means) == 2, row
    assert not [name for name, value in row.items() if isinstance(value, float) and round(value, 3) == 0.5]


def test_results_on_the_commit_of_a_branch_have_a_score_in_mtebs_tools(tmp_path):
    """Where the hub was never asked, a set that is pinned to a branch does not say its commit; the results do."""
    cache = _results(tmp_path, {})
    folder = model_folder(tmp_path, MODEL, "r1")
    for place, task in enumerate(patentmap.BENCHMARK.task_classes):
        add(folder, task.metadata.name, 0.2 * place, kind="real", revision="d" * 40)
    benchmark = mteb.get_benchmark("PatentMap")
    assert benchmark.get_score(_read(cache, benchmark))[MODEL]["Overall"] == pytest.approx(0.2)


def test_scores_on_few_queries_are_in_no_mean(tmp_path):
    folder = model_folder(tmp_path, MODEL, "r1")
    abstracts, claims, classes = (task.metadata.name for task in patentmap.BENCHMARK.task_classes)
    for name, value, more in (
        (abstracts, 0.2, {"n_queries": 9}),
        (claims, 0.4, {"n_queries": 200}),
        (classes, 0.8, {}),
    ):
        add(folder, name, value, more=more)
    benchmark = mteb.get_benchmark("PatentMap.sample")
    scores = benchmark.get_score(_read(ResultCache(tmp_path), benchmark))[MODEL]
    assert scores["Overall (sample)"] == pytest.approx(0.6)
    assert scores["Group::Retrieval (sample)"] == pytest.approx(0.4)
