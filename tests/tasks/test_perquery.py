"""Per-query scores and TREC files beside a result: ir-measures reads the files and finds the same scores."""

import json

import ir_measures
import mteb
import numpy as np
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from ir_measures import AP, RR, R, nDCG
from small_data import FixedSearch, HashEncoder, dapfam_tables

from patent_mteb.data import loading
from patent_mteb.errors import DataError
from patent_mteb.search import trec
from patent_mteb.search.bm25 import bm25
from patent_mteb.search.run import Run
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
    monkeypatch.setenv(loading.DATA_VARIABLE, str(tmp_path / "data"))
    monkeypatch.setenv(perquery.VARIABLE, str(tmp_path / "scores"))
    monkeypatch.setenv(perquery.RUNS_VARIABLE, str(tmp_path / "runs"))

    def evaluate(model, name="PatentDAPFAMTACToTARetrieval"):
        task = mteb.get_task(name)
        result = mteb.evaluate(model, task, cache=None, show_progress_bar=False).task_results[0]
        place = f"{model.mteb_model_meta.model_name_as_path()}/{model.mteb_model_meta.revision}/{task.metadata.name}"
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
    assert identity["task"] == f"PatentDAPFAMTACToTARetrieval.{result.dataset_revision}"
    assert identity["model"] == "tests/hash-encoder"
    assert identity["dataset_revision"] == identity["subset"] == result.dataset_revision


def test_ranks_start_at_one_and_ties_fall_as_in_mteb(run):
    _, files = run(FixedSearch({"000-q": ["001-d", "005-d"]}))
    lines = [line.split() for line in files[".run"].read_text().splitlines()]
    assert [(line[0], line[2], line[3]) for line in lines] == [("000-q", "001-d", "1"), ("000-q", "005-d", "2")]
    assert {len(line) for line in lines} == {6}


def test_ids_with_blanks_are_refused(tmp_path):
    for ranked, tag in (
        ({"a query": {"d": 1.0}}, "tag"),
        ({"q": {"a document": 1.0}}, "tag"),
        ({"q": {"d": 1.0}}, "a tag"),
    ):
        with pytest.raises(DataError, match="is not allowed in a TREC file"):
            Run.from_dict(ranked).save(tmp_path / "x.run", tag)
    with pytest.raises(DataError, match="is not allowed in a TREC file"):
        trec.write_qrels(tmp_path / "x.qrels", {"q": {"": 1}})
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- who receives an evaluation


def test_an_evaluation_is_given_to_whoever_receives_it_and_saved_where_nobody_does(run, tmp_path):
    evaluations = []
    with perquery.receiving(evaluations.append):
        result, files = run(HashEncoder())
    assert not any(path.exists() for path in files.values())
    (evaluation,) = evaluations
    run(HashEncoder())
    assert len(evaluations) == 1
    assert pq.read_table(files[".queries.parquet"]).equals(evaluation.table(), check_metadata=True)
    assert files[".run"].read_text().splitlines() == [
        f"{query} Q0 {document} {rank} {score!r} tests/hash-encoder"
        for query, found in evaluation.run.to_dict().items()
        for rank, (document, score) in enumerate(found.items(), start=1)
    ]
    ((scores,),) = result.scores.values()
    assert evaluation.scores.items() <= scores.items()
    assert evaluation.run.task == evaluation.task.name == f"PatentDAPFAMTACToTARetrieval.{result.dataset_revision}"
    assert evaluation.model.name == "tests/hash-encoder"
    assert evaluation.subset == result.dataset_revision
    assert evaluation.by_slice.keys() == evaluation.slices.keys() == {"in", "out"}
    assert {name: set(found.queries) for name, found in evaluation.by_slice.items()} == {
        name: set(part) for name, part in evaluation.slices.items()
    }


def test_the_inner_receiver_gets_what_is_evaluated_inside(run):
    outer, inner = [], []
    with perquery.receiving(outer.append):
        with pytest.raises(RuntimeError, match="stop"), perquery.receiving(inner.append):
            run(HashEncoder())
            raise RuntimeError("stop")
        run(bm25())
    assert [evaluation.model.name for evaluation in inner] == ["tests/hash-encoder"]
    assert [evaluation.model.name for evaluation in outer] == ["patent-mteb/bm25-bm25s"]


def test_values_of_queries_and_slices_are_those_of_a_naive_evaluation(run):
    evaluations = []
    with perquery.receiving(evaluations.append):
        run(HashEncoder())
    (evaluation,) = evaluations
    names = {"ndcg@10": "ndcg_cut_10", "map@1000": "map_cut_1000", "mrr@1000": "recip_rank", "recall@50": "recall_50"}
    wanted = {"ndcg_cut.10", "map_cut.1000", "recip_rank", "recall.50"}
    found = pytrec_eval.RelevanceEvaluator(evaluation.qrels, wanted).evaluate(evaluation.run.to_dict())
    assert set(evaluation.per_query.queries) == {
        query for query, judged in evaluation.qrels.items() if max(judged.values()) > 0
    }
    for name, theirs in names.items():
        expected = [found[query][theirs] for query in evaluation.per_query.queries]
        np.testing.assert_allclose(evaluation.per_query.scores[name], expected, atol=1e-12)
    table = evaluation.table()
    assert table.column_names == ["query", *perquery.MEASURES, "slice:in", "slice:out", "score:in", "score:out"]
    for name in ("in", "out"):
        theirs = pytrec_eval.RelevanceEvaluator(evaluation.slices[name], {"ndcg_cut.100"}).evaluate(
            evaluation.run.to_dict()
        )
        for query, value in zip(table["query"].to_pylist(), table[f"score:{name}"].to_pylist(), strict=True):
            assert value == (
                pytest.approx(theirs[query]["ndcg_cut_100"]) if query in evaluation.by_slice[name].queries else None
            )
        rows = [
            query
            for query, inside in zip(table["query"].to_pylist(), table[f"slice:{name}"].to_pylist(), strict=True)
            if inside
        ]
        assert set(rows) == set(evaluation.slices[name])


def test_files_stand_where_mteb_keeps_the_result_of_these_settings(tmp_path):
    plain, set_ = HashEncoder().mteb_model_meta, bm25("dapfam", k1=0.9).mteb_model_meta
    assert perquery.path_of(tmp_path, plain, "T", ".run") == tmp_path / "tests__hash-encoder" / "r64False" / "T.run"
    place = perquery.path_of(tmp_path, set_, "T", ".queries.parquet")
    beside = mteb.ResultCache(tmp_path).get_task_result_path("T", set_)
    assert place.parent.relative_to(tmp_path) == beside.parent.relative_to(tmp_path / "results")
    assert set_.experiment_name in place.parts
