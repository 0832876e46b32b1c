"""Per-query scores and TREC files beside a result: ir-measures reads the files and finds the same scores."""

import json

import ir_measures
import mteb
import numpy as np
import pyarrow.parquet as pq
import pytest
from ir_measures import AP, RR, R, nDCG
from worlds import FixedSearch, HashEncoder, dapfam_tables

from patent_mteb.data import sources
from patent_mteb.errors import DataError
from patent_mteb.search import trec
from patent_mteb.tasks import perquery

MEASURES = {
    "ndcg@10": nDCG @ 10,
    "ndcg@100": nDCG @ 100,
    "map@1000": AP @ 1000,
    "mrr@1000": RR @ 1000,
    "recall@20": R @ 20,
    "recall@100": R @ 100,
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    dapfam_tables(tmp_path / "data")
    monkeypatch.setenv(sources.DATA_VARIABLE, str(tmp_path / "data"))
    monkeypatch.setenv(perquery.VARIABLE, str(tmp_path / "scores"))
    monkeypatch.setenv(perquery.RUNS_VARIABLE, str(tmp_path / "runs"))

    def evaluate(model, name="PatentDAPFAMTACToTARetrieval"):
        result = mteb.evaluate(model, mteb.get_task(name), cache=None, show_progress_bar=False).task_results[0]
        place = f"{model.mteb_model_meta.model_name_as_path()}/{model.mteb_model_meta.revision}/{name}"
        return result, {
            kind: tmp_path / folder / f"{place}{kind}"
            for folder, kind in (("scores", ".queries.parquet"), ("runs", ".run"), ("runs", ".qrels"))
        }

    return evaluate


@pytest.mark.parametrize("fast", ["1", "0"])
def test_ir_measures_agrees_with_the_saved_scores(run, monkeypatch, fast):
    monkeypatch.setenv("PATENT_MTEB_FAST", fast)
    result, files = run(HashEncoder())
    table = pq.read_table(files[".queries.parquet"])
    saved = dict(zip(table["query"].to_pylist(), table.to_pylist(), strict=True))
    qrels = list(ir_measures.read_trec_qrels(str(files[".qrels"])))
    ranked = list(ir_measures.read_trec_run(str(files[".run"])))
    assert len(saved) == 8
    for name, measure in MEASURES.items():
        found = {one.query_id: one.value for one in ir_measures.iter_calc([measure], qrels, ranked)}
        assert found.keys() == saved.keys()
        for query, value in found.items():
            assert saved[query][name] == pytest.approx(value, abs=1e-6), (query, name)
    ((scores,),) = result.scores.values()
    assert np.mean([row["ndcg@100"] for row in saved.values()]) == pytest.approx(scores["main_score"], abs=1e-5)


def test_slices_and_identity_are_kept_with_the_scores(run):
    result, files = run(HashEncoder())
    table = pq.read_table(files[".queries.parquet"])
    ((scores,),) = result.scores.values()
    for name in ("in", "out"):
        assert sum(table[f"slice:{name}"].to_pylist()) == scores[f"{name}_n_queries"]
    identity = json.loads(table.schema.metadata[b"patent_mteb"])
    assert identity["task"] == "PatentDAPFAMTACToTARetrieval"
    assert identity["model"] == "tests/hash-encoder"
    assert identity["dataset_revision"] == identity["subset"] == result.dataset_revision


def test_ranks_start_at_one_and_ties_fall_as_in_mteb(run):
    _, files = run(FixedSearch({"000-q": ["001-d", "005-d"]}))
    lines = [line.split() for line in files[".run"].read_text().splitlines()]
    assert [(line[0], line[2], line[3]) for line in lines] == [("000-q", "001-d", "1"), ("000-q", "005-d", "2")]
    assert {len(line) for line in lines} == {6}


def test_ids_with_blanks_are_refused(tmp_path):
    with pytest.raises(DataError, match="cannot stand in a TREC file"):
        trec.write_run(tmp_path / "x.run", {"a query": {"d": 1.0}}, "tag")
    with pytest.raises(DataError, match="cannot stand in a TREC file"):
        trec.write_qrels(tmp_path / "x.qrels", {"q": {"": 1}})


def test_equal_scores_are_ordered_by_document_descending(tmp_path):
    trec.write_run(tmp_path / "x.run", {"q": {"a": 1.0, "c": 1.0, "b": 2.0}}, "tag")
    assert [line.split()[2] for line in (tmp_path / "x.run").read_text().splitlines()] == ["b", "c", "a"]
