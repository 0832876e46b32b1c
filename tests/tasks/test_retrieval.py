"""Evaluation on arrays and by mteb's machinery: the same results, per-query files and runs, key by key."""

import math

import mteb
import numpy as np
import pyarrow.parquet as pq
import pytest
from mteb.timing import TimingStack
from small_world import Words
from worlds import FixedSearch, HashEncoder, dapfam_tables

from patent_mteb.errors import ModelError
from patent_mteb.models import Hybrid, bm25
from patent_mteb.search.cache import Cached
from patent_mteb.search.run import Run, ranked_ids
from patent_mteb.tasks import fast, perquery

SAMPLES = (
    "PatentDAPFAMTACToTACRetrieval",
    "SophiaAbRetrieval",
    "PatentMapAbsToAbsRetrieval",
    "PatenTEBRetrievalMIXED",
)
MODELS = {
    "encoder": Words,
    "bm25": lambda: bm25("dapfam"),
    "hybrid": lambda: Hybrid(bm25("dapfam"), Words(), alpha=0.7, depth=100),
}


def both_ways(monkeypatch, tmp_path, name, model, depth=None):
    """Scores, per-query table, run and qrels of a task: by mteb's machinery, and on arrays."""
    found = []
    called = []
    evaluate = fast.evaluate
    monkeypatch.setattr(fast, "evaluate", lambda *args, **kwargs: called.append(1) or evaluate(*args, **kwargs))
    for way in ("0", "1"):
        folder = tmp_path / way
        settings = {fast.VARIABLE: way, perquery.VARIABLE: str(folder), perquery.RUNS_VARIABLE: str(folder)}
        for variable, value in settings.items():
            monkeypatch.setenv(variable, value)
        task = mteb.get_task(name)
        if depth:
            task.k_values = tuple(k for k in task.k_values if k <= depth)
            task._top_k = depth
        (scores,) = task.evaluate(model, task.split, encode_kwargs={}).values()
        assert len(called) == int(way)
        files = {path.suffixes[-1]: path for path in folder.rglob("*") if path.is_file()}
        found.append((scores, pq.read_table(files[".parquet"]), files[".run"].read_text(), files[".qrels"].read_text()))
    return found


def assert_same_scores(ours, theirs):
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        assert ours[key] == pytest.approx(value, abs=1e-6, nan_ok=True), key


def assert_same_runs(ours, theirs):
    """Line by line, with the scores of single-precision sums."""
    assert ours.count("\n") == theirs.count("\n")
    places = {}
    for line in theirs.splitlines():
        query, _, document, rank, score, _ = line.split()
        places[query, document] = int(rank), float(score)
    for line in ours.splitlines():
        query, _, document, rank, score, _ = line.split()
        assert float(score) == pytest.approx(places[query, document][1], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "model"), [("PatentCitationRetrieval", "encoder"), *((name, model) for name in SAMPLES for model in MODELS)]
)
def test_both_ways_give_the_same(monkeypatch, tmp_path, name, model):
    (reference, table, run, qrels), (scores, own_table, own_run, own_qrels) = both_ways(
        monkeypatch, tmp_path, f"{name}.sample", MODELS[model](), None if name.startswith("PatentMap") else 100
    )
    assert_same_scores(scores, reference)
    assert len(scores) > 100
    assert 0 < scores["main_score"] < 1
    assert own_table.schema == table.schema
    assert own_table.schema.metadata == table.schema.metadata
    for column in table.column_names:
        ours, theirs = own_table[column].to_pylist(), table[column].to_pylist()
        assert ours == (pytest.approx(theirs, abs=1e-9) if isinstance(theirs[0], float) else theirs), column
    assert own_qrels == qrels
    assert_same_runs(own_run, run)


@pytest.fixture
def dapfam(tmp_path, monkeypatch):
    dapfam_tables(tmp_path / "data", n_documents=60)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path / "data"))
    return "PatentDAPFAMTAToTACRetrieval"


class Coarse(HashEncoder):
    """Few different scores, so that most documents are tied with others."""

    def vector(self, text):
        return np.sign(super().vector(text)[:6])


@pytest.mark.parametrize("make", [Coarse, HashEncoder, lambda: Cached(HashEncoder()), lambda: Cached(Coarse())], ids=range(4))
def test_both_ways_with_ties_and_short_corpora(monkeypatch, tmp_path, dapfam, make):
    (reference, *_, run, _), (scores, *_, own_run, _) = both_ways(monkeypatch, tmp_path, dapfam, make())
    assert list(scores) == list(reference)
    for key, value in reference.items():
        if "_std" in key and isinstance(make(), Coarse):
            continue  # which of two deviations is greater depends there on the order of a sum
        assert scores[key] == pytest.approx(value, abs=1e-6, nan_ok=True), key
    assert own_run == run or isinstance(make(), HashEncoder)
    assert_same_runs(own_run, run)


def evaluated(monkeypatch, name, model, **kwargs):
    """Whether arrays were used, and the scores."""
    called = []
    evaluate = fast.evaluate
    monkeypatch.setattr(fast, "evaluate", lambda *args, **more: called.append(1) or evaluate(*args, **more))
    task = mteb.get_task(name)
    (scores,) = task.evaluate(model, task.split, encode_kwargs={}, **kwargs).values()
    return bool(called), scores


def test_what_is_left_to_mteb(monkeypatch, tmp_path, dapfam):
    used, reference = evaluated(monkeypatch, dapfam, Words())
    assert used
    used, scores = evaluated(monkeypatch, dapfam, Words(), prediction_folder=tmp_path / "predictions")
    assert not used
    assert_same_scores(scores, reference)
    assert list((tmp_path / "predictions").iterdir())
    assert not evaluated(monkeypatch, dapfam, FixedSearch({}))[0]
    assert not evaluated(monkeypatch, "PatentMapClmToAllRetrieval.sample", Words())[0]
    assert evaluated(monkeypatch, "PatentMapAbsToAbsRetrieval.sample", Words())[0]


@pytest.mark.parametrize("attribute", ["skip_first_result", "ignore_identical_ids"])
def test_tasks_that_mteb_treats_in_a_special_way_are_left_to_it(monkeypatch, dapfam, attribute):
    kind = mteb.get_task(dapfam)
    assert fast.applies(kind, Words())
    monkeypatch.setattr(kind, attribute, True)
    assert not fast.applies(kind, Words())


def test_the_own_family_is_not_ranked_and_costs_no_depth(monkeypatch, tmp_path):
    task = mteb.get_task("PatentCitationRetrieval.sample")
    task.k_values = (1, 10)
    seen = {}
    monkeypatch.setattr(queryscores, "save", lambda task, model, ranks, qrels, slices, results: seen.update(results))
    task.evaluate(Words(), task.split, encode_kwargs={})
    exclusions = task.tables.exclusions
    assert sum(bool(exclusions.get(query)) for query in seen) > 10
    for query, found in seen.items():
        assert len(found) == 10
        assert not found.keys() & exclusions.get(query, set())


@pytest.mark.parametrize(
    ("make", "phases"),
    [
        (Words, ["Encoding queries", "Encoding corpus", "Computing similarity", "Scoring"]),
        (lambda: bm25("dapfam"), ["Encoding corpus", "Encoding queries", "Scoring"]),
    ],
    ids=["encoder", "bm25"],
)
def test_phases_of_mtebs_timer(dapfam, make, phases):
    task, timer = mteb.get_task(dapfam), TimingStack()
    task.evaluate(make(), task.split, encode_kwargs={}, timer=timer)
    assert [phase["name"] for phase in timer.phases] == phases
    assert all(phase["end"] >= phase["start"] for phase in timer.phases)


def test_a_broken_model_is_named(dapfam):
    class Broken(Words):
        def vector(self, text):
            return np.full(8, math.nan)

    task = mteb.get_task(dapfam)
    with pytest.raises(ModelError, match="test/words on task PatentDAPFAMTAToTACRetrieval gave NaN"):
        task.evaluate(Broken(), task.split, encode_kwargs={})


def test_rankings_are_read_as_dictionaries():
    run = Run(["p", "q"], ranked_ids("abc"), np.array([[2, 0], [-1, -1]], np.int32), np.array([[0.5, 0.25], [0, 0]]))
    rankings = fast.Rankings(run)
    assert dict(rankings) == run.to_dict() == {"p": {"a": 0.5, "c": 0.25}, "q": {}}
    assert (len(rankings), list(rankings), rankings.get("r")) == (2, ["p", "q"], None)
    assert list(rankings["p"]) == ["a", "c"]
