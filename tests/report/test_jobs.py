"""The table of jobs, against groups, gaps, intervals and counts that are computed here in the simplest way."""

import csv
import io
import json

import numpy as np
import pytest
from report_folders import HEADLINE, add, attest, model_folder
from scipy.stats import bootstrap as scipy_bootstrap

from patent_mteb.report import jobs
from patent_mteb.report.cells import supported_digits
from patent_mteb.report.collect import collect
from patent_mteb.report.rendering import as_csv
from patent_mteb.report.series import Cost, cost_of_a_million
from patent_mteb.report.statistics import Statistics, statistics
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.benchmark import JOBS, ONE_CLAIM, OTHER_FIELDS, PRIOR_ART, SAME_FIELD, SORTING, SUMMARY

N = 120
BM25 = "patent-mteb/bm25-bm25s"
FIFTH = range(0, N, 5)


def rows_of(root, test="bootstrap"):
    collected = collect(root)
    compared = statistics(collected, test=test)
    (source,) = collected.data_sources.values()
    table = jobs.table(source, jobs.jobs(source, compared), compared)
    return {row["job"]: row for row in csv.DictReader(io.StringIO(as_csv(table)))}, table


def write(root, scores, task=HEADLINE):
    """One result for each model, with all its queries but every fifth IN and every second one OUT."""
    for model, values in scores.items():
        parts = {"in": [None if at in FIFTH else value for at, value in enumerate(values)]}
        parts["out"] = [value if at % 2 else None for at, value in enumerate(values)]
        add(model_folder(root, model), task, queries=values, parts=parts)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A model that is clearly better than BM25, one that is almost as good, and one that is clearly worse."""
    rng = np.random.default_rng(11)
    easy = rng.random(N) * 0.5
    scores = {
        BM25: np.round(easy, 3),
        "acme/good": np.round(np.clip(easy + 0.15 + rng.normal(0, 0.15, N), 0, 1), 3),
        "acme/near": np.round(np.clip(easy + 0.13 + rng.normal(0, 0.15, N), 0, 1), 3),
        "acme/poor": np.round(easy * (rng.random(N) < 0.8) * 0.8, 3),
    }
    for model in ("acme/good", "acme/near"):
        scores[model][:20] = scores[BM25][:20]  # on these queries they are equal
    root = tmp_path_factory.mktemp("jobs")
    write(root, scores)
    return root, scores


def naive_holm(p):
    """Step-down, one hypothesis after the other."""
    order, adjusted, above = np.argsort(p), {}, 0.0
    for step, place in enumerate(order):
        above = max(above, min(1.0, p[place] * (len(p) - step)))
        adjusted[place] = above
    return [adjusted[place] for place in range(len(p))]


MEMBERS = {PRIOR_ART: list(range(N)), SAME_FIELD: [at for at in range(N) if at % 5], OTHER_FIELDS: list(range(1, N, 2))}


@pytest.mark.parametrize("job", MEMBERS)
def test_group_gap_and_counts_are_those_of_a_naive_computation(world, job):
    root, scores = world
    own = {model: values[MEMBERS[job]] for model, values in scores.items()}
    row = rows_of(root)[0][job]
    means = {model: values.mean() for model, values in own.items()}
    order = sorted(means, key=means.get, reverse=True)
    best, *others = order
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, len(own[best]), (4000, len(own[best])))
    p = [((own[other][drawn] - own[best][drawn]).mean(axis=1) >= 0).mean() for other in others]
    group = [best, *(other for other, value in zip(others, naive_holm(np.array(p)), strict=True) if value >= 0.05)]
    assert row["best"].split("; ") == group
    assert float(row["score"]) == pytest.approx(means[best], abs=1e-5)
    first = next(model for model in order if model != BM25)
    difference = own[first] - own[BM25]
    assert row["gap_of"] == first
    assert float(row["gap"]) == pytest.approx(difference.mean(), abs=1e-9)
    assert (int(row["helped"]), int(row["hurt"])) == (sum(difference > 0), sum(difference < 0))
    assert int(row["queries"]) == len(difference) > int(row["helped"]) + int(row["hurt"])  # some are equal
    wanted = scipy_bootstrap((difference,), np.mean, n_resamples=9999, method="percentile", rng=3).confidence_interval
    width = wanted.high - wanted.low
    assert float(row["gap_interval_low"]) == pytest.approx(wanted.low, abs=0.06 * width)
    assert float(row["gap_interval_high"]) == pytest.approx(wanted.high, abs=0.06 * width)
    assert int(row["models"]) == 4


def test_a_slice_with_the_scores_of_the_whole_is_no_job_of_its_own(tmp_path):
    values = list(np.linspace(0, 1, N))
    add(model_folder(tmp_path, "acme/one"), HEADLINE, queries=values, parts={"in": values})
    assert list(rows_of(tmp_path)[0]) == [PRIOR_ART]


def test_a_task_that_stands_for_no_job_has_its_own_name(tmp_path):
    add(model_folder(tmp_path, "acme/one"), "PatenTEBEffect2Full", queries=np.linspace(0, 1, N))
    assert list(rows_of(tmp_path)[0]) == ["PatenTEB: Effect2Full"]


def test_a_fusion_or_reranking_with_bm25_is_not_the_baseline(tmp_path):
    rng = np.random.default_rng(6)
    for model in (BM25, "fused/rrf-60-bm25-bm25s+x", "reranked/10-bm25-bm25s+x", "candidates/100-bm25-bm25s"):
        add(model_folder(tmp_path, model), HEADLINE, queries=0.5 * rng.random(N) + 0.3 * (model != BM25))
    collected = collect(tmp_path)
    (source,) = collected.data_sources.values()
    assert [job.baseline for job in jobs.jobs(source, statistics(collected))] == [BM25]


def test_where_bm25_is_the_best_the_gap_is_that_of_the_best_other_model(tmp_path):
    rng = np.random.default_rng(2)
    lexical = np.round(rng.random(N), 3)
    write(tmp_path, {BM25: lexical, "acme/poor": np.round(lexical * 0.5, 3)})
    row = rows_of(tmp_path)[0][PRIOR_ART]
    assert (row["best"], row["gap_of"]) == (BM25, "acme/poor")
    assert float(row["gap"]) == pytest.approx((lexical * 0.5 - lexical).mean(), abs=1e-3)
    assert (int(row["helped"]), int(row["hurt"])) == (0, int((np.round(lexical * 0.5, 3) < lexical).sum()))


def test_one_model_does_not_win_and_without_scores_by_query_nothing_is_compared(tmp_path):
    write(tmp_path, {"acme/one": np.linspace(0, 1, N)})
    found, table = rows_of(tmp_path)
    assert {row["best"] for row in found.values()} == {""} == {row["gap"] for row in found.values()}
    assert "one (the only model)" in {cell.text for row in table.rows for cell in row}
    assert any(HEADLINE in note and "-m bm25" in note for note in table.notes)
    for model, value in (("acme/one", 0.5), ("acme/two", 0.4)):
        add(model_folder(tmp_path, model), "WIPOATClaim1ToTACRetrieval", value)
    found, table = rows_of(tmp_path)
    assert (found[ONE_CLAIM]["best"], found[ONE_CLAIM]["cheapest"]) == ("", "")
    assert "not compared; highest: one" in {cell.text for row in table.rows for cell in row}
    assert list(found) == [job for job in JOBS if job in found]


def test_few_queries_are_marked_and_never_a_group(tmp_path):
    rng = np.random.default_rng(4)
    write(tmp_path, {BM25: rng.random(25), "acme/one": rng.random(25)})
    found, table = rows_of(tmp_path)
    row = found[PRIOR_ART]
    assert (row["best"], row["gap"], row["score_too_small"]) == ("", "", "25 queries")
    (cell,) = [cell for cell in table.rows[0] if cell.small]
    assert "†" in cell.behind


def test_a_job_is_on_the_benchmark_of_most_models_and_of_several_on_the_first(tmp_path):
    values = np.linspace(0, 1, N)
    for model in ("acme/one", "acme/two"):
        folder = model_folder(tmp_path, model)
        add(folder, "PatenTEBRetrievalMIXED", queries=values)
        add(folder, "SophiaAiAbRetrieval", queries=values)
        add(folder, "PatenTEBText2IPC3", 0.5, more={"n_test": 100, "n_classes": 5})
    add(model_folder(tmp_path, "acme/one"), HEADLINE, queries=values)
    found = rows_of(tmp_path)[0]
    tasks = {job: row["task"].removesuffix(".sample") for job, row in found.items()}
    assert tasks == {PRIOR_ART: "PatenTEBRetrievalMIXED", SUMMARY: "SophiaAiAbRetrieval", SORTING: "PatenTEBText2IPC3"}
    add(model_folder(tmp_path, "acme/two"), HEADLINE, queries=values)
    assert rows_of(tmp_path)[0][PRIOR_ART]["task"] == f"{HEADLINE}.sample"


def test_every_job_of_a_benchmark_is_one_of_its_tasks():
    for benchmark in catalogue.benchmarks():
        names = {task.metadata.name for task in benchmark.task_classes}
        assert {task for task, _ in benchmark.facts.jobs.values()} <= names
        assert set(benchmark.facts.jobs) <= set(JOBS)


@pytest.mark.parametrize(
    ("ends", "digits"),
    [((0.27, 0.31), 2), ((0.2741, 0.2762), 3), ((0.1, 0.6), 1), ((0.28990, 0.28991), 4), (None, 2), ((0.5, 0.5), 2)],
)
def test_digits_end_where_the_interval_does(ends, digits):
    assert supported_digits(ends) == digits


def test_cost_of_a_million_patents(tmp_path):
    """Hours from the texts that were encoded, gigabytes from the index, and both unknown for a composition."""

    def results(cost, texts, settings=None):
        path = add(model_folder(tmp_path, "acme/one", settings=settings), HEADLINE, 0.5)
        attest(path, {"cost": cost, "texts": {"document": {"n": texts}}})
        results = collect(tmp_path).results
        return results, results.filter(settings=json.dumps(settings or {}))["run"][0]

    found = cost_of_a_million(*results({"phases": {"encode": 36.0}, "encoded": 500, "index_mb": 0.2}, 400))
    assert dict(found.hours) == {"CPU": pytest.approx(36 / 500 * 1e6 / 3600)}
    assert found.gigabytes == pytest.approx(0.2 / 400 * 1e6 / 1e3)
    found = cost_of_a_million(*results({"phases": {"index": 9.0}, "index_mb": 4.0}, 400))
    assert dict(found.hours) == {"CPU": pytest.approx(9 / 400 * 1e6 / 3600)}
    found = cost_of_a_million(*results({}, 400))
    assert (dict(found.hours), found.gigabytes) == ({}, pytest.approx(64 * 4 * 1e6 / 1e9))
    for vectors, width in (("int8", 1), ("binary", 1 / 8)):
        assert cost_of_a_million(*results({}, 400, {"vectors": vectors})).gigabytes == pytest.approx(64 * width / 1e3)
    found = cost_of_a_million(*results({"phases": {"encode": 36.0}, "encoded": 500}, 400, {"kind": "passages"}))
    assert (dict(found.hours), found.gigabytes) == ({}, None)


def test_a_fusion_costs_what_its_parts_cost_together(tmp_path):
    bm25 = {"method": "lucene", "k1": 1.5, "b": 0.75, "stemmer": "english"}
    for model, settings, seconds in ((BM25, bm25, 9.0), ("acme/dense", None, 36.0)):
        path = add(model_folder(tmp_path, model, settings=settings), HEADLINE, 0.5)
        attest(
            path,
            {
                "cost": {"phases": {"index" if settings else "encode": seconds}, "encoded": 400, "index_mb": 4.0},
                "texts": {"document": {"n": 400}},
            },
        )
    parts = [
        {"name": "patent-mteb/bm25-auto", "revision": "r", **bm25, "stemmer": "auto"},
        {"name": "acme/dense", "revision": "r1"},
    ]
    for name, own in (
        ("hybrid/rrf-60-x", parts),
        ("hybrid/rrf-60-y", [*parts[:1], {"name": "acme/absent", "revision": "r1"}]),
    ):
        add(model_folder(tmp_path, name, settings={"kind": "hybrid", "parts": own}), HEADLINE, 0.6)
    results = collect(tmp_path).results
    whole, without = (run for run in sorted(results["run"]) if run.startswith("hybrid"))
    found = cost_of_a_million(results, whole)
    assert dict(found.hours) == {"CPU": pytest.approx((9 + 36) / 400 * 1e6 / 3600)}
    assert found.gigabytes == pytest.approx(2 * 4 / 400 * 1e3)
    assert cost_of_a_million(results, without) == Cost()
    add(model_folder(tmp_path, "hybrid/rrf-60-z", settings={"kind": "hybrid", "parts": []}), HEADLINE, 0.6)
    results = collect(tmp_path).results
    (unsaid,) = (run for run in results["run"] if run.startswith("hybrid/rrf-60-z"))
    assert cost_of_a_million(results, unsaid) == Cost(), "not a sum of nothing, 0 GB"


def test_the_cheapest_is_by_time_where_all_were_timed_on_one_device_else_by_memory(world):
    collected = collect(world[0])
    (source,) = collected.data_sources.values()
    job = jobs.jobs(source, statistics(collected))[0]
    assert sorted(job.best) == ["acme/good", "acme/near"]
    cost = jobs.Cost

    def cheapest(good, near):
        return jobs.replace(job, costs={"acme/good": good, "acme/near": near}).cheapest

    assert cheapest(cost({"CPU": 2}, 1), cost({"CPU": 1}, 2)) == ("acme/near", "time")
    assert cheapest(cost({"GPU": 2}, 1), cost({"CPU": 1}, 2)) == ("acme/good", "memory")
    assert cheapest(cost({}, 2), cost({"CPU": 1}, 1)) == ("acme/near", "memory")
    assert cheapest(cost(), cost({"CPU": 1}, 1)) == ("", "")
    assert jobs.jobs(source, Statistics())[0].cheapest == ("", "")
