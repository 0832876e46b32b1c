"""Ranks by a benchmark's own score: equal coverage, ties, intervals by hand and against a naive bootstrap."""

import csv
import io
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from classes import these_first
from hypothesis import given, settings
from hypothesis import strategies as st
from report_folders import HEADLINE, add, built_tables, model_folder
from scipy import stats

from patent_mteb.metrics.significance import bootstrap
from patent_mteb.report import tables
from patent_mteb.report.cells import Cell, Score
from patent_mteb.report.collect import collect
from patent_mteb.report.page import _distinct_digits, payload
from patent_mteb.report.rendering import as_csv
from patent_mteb.report.statistics import RESAMPLES, statistics
from patent_mteb.report.tables import rank_runs
from patent_mteb.tasks import catalogue
from patent_mteb.tasks.catalogue import suite_tasks


def benchmark(groups, macro=True):
    def task(name):
        return SimpleNamespace(metadata=SimpleNamespace(name=name))

    return SimpleNamespace(groups={label: list(map(task, names)) for label, names in groups.items()}, macro=macro)


def compared(runs, scores, queries=0):
    """The comparison by query of a task: [queries, runs] scores."""
    resampled = bootstrap(scores, resamples=RESAMPLES).resampled
    return SimpleNamespace(
        runs=tuple(runs),
        resampled=resampled,
        means=scores.mean(axis=0),
        n=len(scores),
        independent=len(scores),
        queries=int(queries),
    )


GROUPS = {"first": ["x"], "second": ["y1", "y2"], "third": ["z1", "z2", "z3"]}
NAMES = [name for names in GROUPS.values() for name in names]
SCORE = st.sampled_from([0.1, 0.2, 0.25, 0.3, 0.7])
OF_RUN = st.dictionaries(st.sampled_from(NAMES), st.tuples(SCORE, st.booleans()))
RUNS = st.dictionaries(st.sampled_from("abcdefg"), OF_RUN, min_size=1)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(RUNS, st.booleans())
def test_ranks_never_contradict_the_scores_and_only_equal_coverage_is_ranked(drawn, macro):
    scores = {run: {task: value for task, (value, _) in own.items()} for run, own in drawn.items()}
    small = {run: {task for task, (_, few) in own.items() if few} for run, own in drawn.items()}
    usable = {run: set(own) - small[run] for run, own in scores.items()}
    ranked = rank_runs(benchmark(GROUPS, macro), scores, small)
    if not any(usable.values()):
        assert ranked.ranks == {}
        return
    runs = list(ranked.ranks)
    assert max(map(len, usable.values())) == ranked.tasks == len(usable[runs[0]])
    alike = (usable[runs[0]], set(scores[runs[0]]))
    assert set(runs) == {run for run in scores if (usable[run], set(scores[run])) == alike}
    assert ranked.complete == (set(scores[runs[0]]) == set(NAMES))
    for run in runs:
        groups = [[scores[run][task] for task in names if task in usable[run]] for names in GROUPS.values()]
        mean = np.mean([np.mean(group) for group in groups if group]) if macro else np.mean(np.concatenate(groups))
        assert ranked.scores[run] == pytest.approx(mean, abs=1e-12)
    shown = np.round([ranked.scores[run] for run in runs], 9)
    assert [ranked.ranks[run] for run in runs] == stats.rankdata(-shown, method="min").tolist()
    for run, (low, high) in ranked.intervals.items():
        assert 1 <= low <= ranked.ranks[run] <= high <= len(runs)


@pytest.mark.parametrize(("chance", "expected"), [(0.1, (1, 2)), (0.04, (1, 2)), (0.01, (1, 1)), (1e-9, (1, 1))])
def test_the_interval_of_two_runs_on_one_task_by_its_queries(chance, expected):
    """Normal differences: the order is reversed with the chance that their mean and spread give."""
    gaps = stats.norm.ppf((np.arange(400) + 0.5) / 400)
    gaps = gaps / gaps.std() + stats.norm.isf(chance) / 20
    queries = np.column_stack([gaps, np.zeros(400)])
    scores = {"a": {"t": queries[:, 0].mean()}, "b": {"t": 0.0}}
    ranked = rank_runs(benchmark({"all": ["t"]}), scores, {}, {"t": compared("ab", queries)})
    assert ranked.intervals == {"a": expected, "b": (3 - expected[1], 2)}


def test_equal_runs_share_a_rank_and_one_task_without_queries_has_no_interval():
    same = {"t": 0.5, "u": 0.3}
    ranked = rank_runs(benchmark({"all": ["t", "u"]}), {"a": same, "b": same, "c": {"t": 0.1, "u": 0.1}})
    assert ranked.ranks == {"a": 1, "b": 1, "c": 3}
    assert rank_runs(benchmark({"all": ["t"]}), {"a": {"t": 0.5}, "b": {"t": 0.4}}).intervals == {}
    narrow = {name: {"a": Score(0.29, 0.31), "b": Score(0.29, 0.31), "c": Score(0.09, 0.11)} for name in "tu"}
    wide = {name: {"a": Score(0, 0.9), "b": Score(0, 0.9), "c": Score(-0.3, 0.6)} for name in "tu"}
    models = {"a": same, "b": same, "c": {"t": 0.1, "u": 0.1}}
    ranked = rank_runs(benchmark({"all": ["t", "u"]}), models, limits=narrow)
    assert ranked.intervals == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    ranked = rank_runs(benchmark({"all": ["t", "u"]}), models, limits=wide)
    assert ranked.intervals == dict.fromkeys("abc", (1, 3))
    assert rank_runs(benchmark({"all": ["t", "u"]}), {"a": same}, limits=narrow).intervals == {}


def test_the_spread_of_ranks_is_widened_by_the_groups_of_queries_that_were_resampled():
    """Two groups: the variance of their resampled mean lacks a half, however many queries they hold."""
    rng = np.random.default_rng(0)
    by_query = compared("ab", rng.random((2, 2)))
    own = {run: {"t": float(by_query.means[at])} for at, run in enumerate("ab")}
    by_query.n = 500
    ranked = rank_runs(benchmark({"all": ["t"]}), own, {}, {"t": by_query})
    for at, run in enumerate("ab"):
        ends = by_query.means[at] + np.sqrt(2) * np.quantile(
            by_query.resampled[:, at] - by_query.means[at], [0.025, 0.975]
        )
        assert (ranked.ends[run].low, ranked.ends[run].high) == pytest.approx(ends)


def test_the_interval_of_a_single_task_is_the_tasks_own():
    """Percentiles of resamples end too low where few of the queries are found."""
    scores = np.zeros((60, 2))
    scores[:2, 0], scores[:3, 1] = 0.4, 0.3
    by_query, limits = compared("ab", scores), bootstrap(scores).intervals()
    own = {run: {"t": float(by_query.means[at])} for at, run in enumerate("ab")}
    ends = {run: Score(*limits[at]) for at, run in enumerate("ab")}
    ranked = rank_runs(benchmark({"all": ["t"]}), own, {}, {"t": by_query}, {"t": ends})
    assert [(one.low, one.high) for one in ranked.ends.values()] == [tuple(one) for one in limits.tolist()]


def naive_intervals(groups, values, queries, limits, runs, replicates, seed):
    """The same one draw at a time: the queries of each task, once for tasks that share them; then the pairs step down."""
    rng = np.random.default_rng(seed)
    order = list(combinations(range(len(runs)), 2))

    def score(of_task):
        return np.mean([np.mean([of_task(name) for name in names], axis=0) for names in groups.values()], axis=0)

    observed = score(values.__getitem__)
    drawn = []
    for _ in range(replicates):
        shared = rng.integers(60, size=60)
        own = {
            name: found[shared if name in ("x", "y1") else rng.integers(60, size=60)] for name, found in queries.items()
        }
        normal = {name: rng.normal(values[name], (high - low) / 3.92) for name, (low, high) in limits.items()}
        drawn.append(
            score(lambda name, own=own, normal=normal: own[name].mean(axis=0) if name in own else normal[name])
        )
    spread = np.array(drawn) - observed
    order.sort(key=lambda pair: -abs(observed[pair[0]] - observed[pair[1]]))
    better, above = np.zeros((len(runs), len(runs)), bool), 0.0
    for step, (first, second) in enumerate(order):
        largest = np.max([np.abs(spread[:, one] - spread[:, other]) for one, other in order[step:]], axis=0)
        above = max(above, np.mean(largest >= abs(observed[first] - observed[second])))
        if above < 0.05:
            better[first, second], better[second, first] = (ahead := observed[first] > observed[second]), not ahead
    return {run: (1 + better[:, at].sum(), len(runs) - better[at].sum()) for at, run in enumerate(runs)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", these_first(range(4), 0))
def test_intervals_are_those_of_a_naive_bootstrap(seed):
    """Two of the tasks share their queries, one has queries of its own, and the others have an interval only."""
    rng = np.random.default_rng(seed)
    runs = list("abcdefgh")
    queries = {name: rng.normal(0.4 + 0.06 * np.arange(8), 0.3, (60, 8)) for name in ("x", "z2")}
    queries["y1"] = queries["x"] + rng.normal(0, 0.1, (60, 8))
    values = {name: rng.normal(0.4 + 0.06 * np.arange(8), 0.05) for name in NAMES}
    values |= {name: found.mean(axis=0) for name, found in queries.items()}
    limits = {name: (values[name] - 0.1, values[name] + 0.1) for name in NAMES if name not in queries}
    scores = {run: {name: found[place] for name, found in values.items()} for place, run in enumerate(runs)}
    by_query = {name: compared(runs, found, name == "z2") for name, found in queries.items()}
    ends = {
        name: {run: Score(low[at], high[at]) for at, run in enumerate(runs)} for name, (low, high) in limits.items()
    }
    ranked = rank_runs(benchmark(GROUPS), scores, {}, by_query, ends)
    naive = naive_intervals(GROUPS, values, queries, limits, runs, 1500, seed)
    apart = [abs(end - other) for run in runs for end, other in zip(ranked.intervals[run], naive[run], strict=True)]
    assert max(apart) <= 1 and np.mean(apart) < 0.25
    assert 0 < sum(high - low for low, high in naive.values()) < 8 * 7
    assert rank_runs(benchmark(GROUPS), scores, {}, by_query).intervals == {}, "y2 cannot be resampled"


def random_folder(root, seed):
    """Runs with some or all tasks of two benchmarks, equal scores among them, and some on few queries."""
    rng = np.random.default_rng(seed)
    named = ("PatentMap", "PatentOpenUS") if seed % 2 else ("PatentMap", "PatenTEB")
    tasks = [task for task in suite_tasks().values() if task.benchmark in named]
    for number in range(int(rng.integers(2, 6))):
        folder = model_folder(root, f"acme/m{number}", settings={"dims": 8} if number % 2 else None)
        chosen = [task for task in tasks if rng.random() < (1.0 if number < 3 else 0.8)]
        for task in chosen or tasks[:1]:
            value = float(rng.choice([0.2, 0.3, 0.31, 0.4]))
            few = {"n_queries": 25 if rng.random() < 0.02 else 100} if task.kind == "Retrieval" else {}
            add(folder, task.name, value, more=few)
    add(model_folder(root, "acme/queries"), HEADLINE, queries=rng.random(60))
    return root


@pytest.mark.slow
@pytest.mark.parametrize("seed", these_first(range(8), 0, 1))
def test_the_rank_of_a_table_a_csv_and_the_page_never_contradicts_the_mean_next_to_it(tmp_path, seed):
    collected = collect(random_folder(tmp_path, seed))
    found = statistics(collected)
    built = tables.build(collected, found)
    tabs = {tab["id"]: tab for tab in payload(collected, found, built)["tabs"]}
    checked = 0
    for table in (table for table in built if table.name in tabs):
        rows = list(csv.DictReader(io.StringIO(as_csv(table))))
        shown = {mean["key"]: mean["values"] for mean in tabs[table.name]["means"]}
        assert shown["rank"] == [int(row["rank"]) if row["rank"] else None for row in rows]
        by = "score" if "score" in shown else "overall"
        assert [column.key for column in table.columns][1:3] == ["rank", by]
        assert [mean["key"] for mean in tabs[table.name]["means"]][:2] == ["rank", by]
        ranked = [(rank, mean) for rank, mean in zip(shown["rank"], shown[by], strict=True) if rank is not None]
        ranks, means = zip(*ranked, strict=True)
        assert list(ranks) == stats.rankdata(-np.round(means, 9), method="min").tolist()
        assert shown["rank"][len(ranked) :] == [None] * (len(rows) - len(ranked)), "runs without a rank come last"
        counts = [int(row["tasks"].split()[0]) for row in rows]
        unranked = counts[len(ranked) :]
        assert unranked == sorted(unranked, reverse=True)
        checked += len(ranked)
    assert checked >= 4


def test_what_does_not_count_in_the_score_does_not_count_in_the_rank(tmp_path):
    """Better on PatentOpenUS alone is not better on PatentMTEB."""
    for model, own, other in (("acme/first", 0.5, 0.1), ("acme/second", 0.4, 0.9)):
        folder = model_folder(tmp_path, model)
        for task in suite_tasks().values():
            if task.benchmark in ("PatentMap", "PatentOpenUS"):
                add(folder, task.name, own if task.benchmark == "PatentMap" else other)
    table = built_tables(tmp_path)["sample-overall"]
    assert [(row[0].value, row[1].value) for row in table.rows] == [("acme/first", 1), ("acme/second", 2)]
    assert [row[2].value for row in table.rows] == pytest.approx([0.5, 0.4])
    assert "PatentOpenUS" not in catalogue.total().groups


def test_systems_with_other_tasks_are_ranked_by_the_tasks_that_they_share():
    """A search system next to models that classify too; one without the shared task has no rank."""
    scores = {
        "complete": {"x": 0.3, "y1": 0.9, "y2": 0.8, "z1": 0.8, "z2": 0.8, "z3": 0.8},
        "poor": {"x": 0.2, "y1": 0.95, "y2": 0.95, "z1": 0.95, "z2": 0.95, "z3": 0.95},
        "search": {"x": 0.5, "y1": 0.1},
        "other": {"y2": 0.8},
    }
    ranked = rank_runs(benchmark(GROUPS), scores, shared={"x", "y1"}, basis="headlines")
    assert ranked.ranks == {"complete": 1, "poor": 2, "search": 3} and ranked.basis == "headlines"
    assert ranked.scores == pytest.approx({"complete": 0.6, "poor": 0.575, "search": 0.3})
    ranked = rank_runs(benchmark(GROUPS), scores, shared={"x"})
    assert ranked.ranks == {"search": 1, "complete": 2, "poor": 3}
    same = {run: scores[run] for run in ("complete", "poor")}
    assert rank_runs(benchmark(GROUPS), same, shared={"x"}).ranks == {"poor": 1, "complete": 2}, "all tasks are shared"
    few = rank_runs(benchmark(GROUPS), scores, {"search": {"x"}}, shared={"x"})
    assert "search" not in few.ranks


def test_a_search_system_leads_the_page_where_it_leads_the_headlines(tmp_path):
    for model, value in (("acme/dense", 0.2), ("patent-mteb/bm25-bm25s", 0.3), ("acme/none", None)):
        folder = model_folder(tmp_path, model)
        if value:
            add(folder, HEADLINE, queries=np.full(60, value))
        if not model.startswith("patent"):
            add(folder, "WIPOATEmergingClassification", 0.9, more={"n_test": 100, "n_classes": 5})
    table = built_tables(tmp_path)["sample-overall"]
    assert [(row[0].value, row[1].text) for row in table.rows] == [
        ("patent-mteb/bm25-bm25s", "1"),
        ("acme/dense", "2"),
        ("acme/none", "not ranked"),
    ]


def test_different_scores_of_ranks_look_different():
    cells = [Cell(value) for value in (0.49731, 0.49722, 0.31)]
    assert _distinct_digits(cells) == 4
    assert _distinct_digits([Cell(0.42), Cell(0.31), Cell(0.31)]) == 1
