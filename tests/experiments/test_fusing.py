"""Fusions of stored runs: as the live fusion of the same systems, filed apart, with gains and ratios worked out
again.
"""

import json

import mteb
import polars as pl
import pytest
from small_data import HashEncoder, dapfam_tables, scores_of

import patent_mteb
from patent_mteb.data import loading
from patent_mteb.errors import DataError
from patent_mteb.experiments.rankings import GRID, fuse_runs
from patent_mteb.experiments.run import run as run_tasks
from patent_mteb.search.bm25 import bm25
from patent_mteb.search.fusion import RRF, Hybrid, Linear
from patent_mteb.search.stored import Weighted
from patent_mteb.search.trec import read_run

TASK, OTHER = "PatentDAPFAMTAToTACRetrieval", "PatentDAPFAMTACToFullTextRetrieval"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs as ``patent-mteb run --save-runs`` leaves them: BM25 on one pair of views, an encoder on another; queries in
    the corpus.
    """
    dapfam_tables(tmp_path / "data")
    folder = tmp_path / "data" / "datalyes" / "DAPFAM_patent"
    queries = pl.read_parquet(folder / "queries.parquet").drop("abstract_keywords").rename({"query_id": "relevant_id"})
    pl.concat([pl.read_parquet(folder / "corpus.parquet"), queries]).write_parquet(folder / "corpus.parquet")
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    monkeypatch.setenv("PATENT_MTEB_RUNS", str(tmp_path / "runs"))
    for model, task in ((bm25("dapfam"), TASK), (HashEncoder(), TASK), (HashEncoder(), OTHER)):
        run_tasks(model, [mteb.get_task(task)], tmp_path / "first", show_progress=False)
    monkeypatch.delenv("PATENT_MTEB_RUNS")
    root = tmp_path / "runs"
    found = {(path.relative_to(root).parts[0], loading.plain_name(path.stem)): path for path in root.rglob("*.run")}
    assert len(found) == 3
    return found


def of(runs, model, task=TASK):
    return next(path for (name, stem), path in runs.items() if model in name and stem == task)


@pytest.mark.slow
def test_stored_runs_fuse_to_the_scores_of_the_live_systems(runs, tmp_path):
    table = fuse_runs([of(runs, "bm25"), of(runs, "hash")], TASK, [RRF(30), Linear(0.7)], tmp_path / "results")
    task = mteb.get_task(TASK)
    live = {
        "rrf-30": Hybrid(bm25("dapfam"), HashEncoder(), "rrf", k=30),
        "linear-0.7": Hybrid(bm25("dapfam"), HashEncoder(), alpha=0.7),
    }
    for name, model in live.items():
        found, (row,) = scores_of(task, model), table.filter(name=name).to_dicts()
        for score in ("ndcg_at_100", "in_ndcg_at_100", "out_ndcg_at_100", "recall_at_100", "out_recall_at_100"):
            assert row[score] == found[score]
    single = table.filter(method="").to_dicts()
    assert [row["ndcg_at_100"] for row in single] == [
        scores_of(task, model)["ndcg_at_100"] for model in (bm25("dapfam"), HashEncoder())
    ]


@pytest.mark.slow
def test_gains_and_ratios_are_those_to_the_best_single_run(runs, tmp_path):
    """Tables 13 and 16, from runs of different query and corpus views (Tables 12 and 14)."""
    table = fuse_runs([of(runs, "bm25"), of(runs, "hash", OTHER)], TASK, GRID, tmp_path / "results")
    assert table.height == 2 + 4 + 11
    first, second = table.head(2).to_dicts()
    best = max(first, second, key=lambda row: row["ndcg_at_100"])
    for row in table.tail(15).iter_rows(named=True):
        for score in ("ndcg_at_100", "in_ndcg_at_100", "out_recall_at_100"):
            assert row[f"gain_{score}"] == pytest.approx(row[score] - best[score], abs=1e-5)
        assert row["out_ratio_ndcg_at_100"] == pytest.approx(row["out_ndcg_at_100"] / row["ndcg_at_100"], abs=1e-4)
    assert table["gain_ndcg_at_100"].head(2).null_count() == 2


@pytest.mark.slow
def test_results_are_filed_under_their_own_identity_with_their_queries(runs, tmp_path):
    paths = [of(runs, "bm25"), of(runs, "hash"), of(runs, "hash", OTHER)]
    with pytest.raises(DataError, match="two or more different runs"):
        fuse_runs([paths[0], paths[0]], TASK, [RRF(60)], tmp_path / "results")
    table = fuse_runs(paths, TASK, [RRF(60), Weighted((1, 1, 2))], tmp_path / "results")
    results = sorted((tmp_path / "results").rglob(f"{TASK}.*json"))
    assert len(results) == 2  # single runs are not filed again
    assert len(sorted((tmp_path / "query_scores").rglob(f"fused__*/**/{TASK}.*queries.parquet"))) == 2
    filed = [json.loads(path.read_text())["scores"]["train"][0]["ndcg_at_100"] for path in results]
    assert sorted(filed) == sorted(table["ndcg_at_100"].tail(2))


def test_what_is_no_task_or_of_another_corpus_is_answered(runs, tmp_path):
    paths = [of(runs, "bm25"), of(runs, "hash")]
    with pytest.raises(DataError, match="patent-mteb list"):
        fuse_runs(paths, "NoSuchTask", [RRF(60)], tmp_path / "results")
    with pytest.raises(DataError, match="not a retrieval task"):
        fuse_runs(paths, "WIPOATEmergingClustering", [RRF(60)], tmp_path / "results")
    with pytest.raises(DataError, match="none of the"):
        fuse_runs(paths, "PatentMapAbsToAbsRetrieval.sample", [RRF(60)], tmp_path / "results")
    assert patent_mteb.rank(bm25("dapfam"), TASK).to_dict() == read_run(paths[0])
