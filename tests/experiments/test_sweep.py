"""The DAPFAM sweep: every row equals its own evaluation, and an interrupted sweep goes on where it stopped."""

import mteb
import polars as pl
import pytest
from worlds import HashEncoder, dapfam_tables, scores_of

from patent_mteb.data import sources
from patent_mteb.errors import DataError, ModelError
from patent_mteb.experiments import sweep
from patent_mteb.search.bm25 import bm25
from patent_mteb.search.engine import FAST_VARIABLE
from patent_mteb.search.fusion import Hybrid
from patent_mteb.search.passages import Passages
from patent_mteb.search.splitting import TokenWindows, WordTokenizer
from patent_mteb.tasks import retrieval
from patent_mteb.tasks.perquery import receiving

MATRIX = sweep.Matrix(
    backends=("bm25", "dense", "hybrid"),
    granularities=("document",),
    queries=("TA",),
    corpora=("TA", "TAC"),
    rrf=(60,),
    alphas=(0.7,),
)


@pytest.fixture(autouse=True)
def local(tmp_path_factory, monkeypatch):
    root = tmp_path_factory.mktemp("dapfam")
    dapfam_tables(root)
    monkeypatch.setenv(sources.DATA_VARIABLE, str(root))
    return root / "datalyes" / "DAPFAM_patent"


def without_seconds(table):
    return table.drop("seconds").sort(pl.all())


def test_rows_equal_their_own_evaluations(tmp_path):
    table = sweep.sweep(MATRIX, HashEncoder(), bm25("dapfam"), tmp_path / "t.csv")
    models = {
        ("bm25", ""): bm25("dapfam"),
        ("dense", ""): HashEncoder(),
        ("hybrid", "rrf-60"): Hybrid(bm25("dapfam"), HashEncoder(), "rrf", k=60),
        ("hybrid", "linear-0.7"): Hybrid(bm25("dapfam"), HashEncoder(), alpha=0.7),
    }
    assert table.height == 2 * len(models)
    for row in table.iter_rows(named=True):
        found = scores_of(mteb.get_task(row["task"]), models[row["backend"], row["fusion"]])
        for name in ("ndcg_at_100", "in_ndcg_at_100", "out_ndcg_at_100", "recall_at_100", "in_recall_at_10"):
            assert row[name] == pytest.approx(found[name], abs=1e-5), (row, name)
        assert row["seconds"] > 0


def test_every_evaluation_is_on_arrays_and_hides_what_a_query_must_not_see(local, tmp_path, monkeypatch):
    """Review A3: no evaluation of a sweep was on arrays, for its timer hid what a model can do. Every query is in its own corpus."""
    queries = pl.read_parquet(local / "queries.parquet").drop("abstract_keywords").rename({"query_id": "relevant_id"})
    pl.concat([pl.read_parquet(local / "corpus.parquet"), queries]).write_parquet(local / "corpus.parquet")
    scored, evaluations = [], []
    real = retrieval.retrieval_scores
    monkeypatch.setattr(retrieval, "retrieval_scores", lambda docs, *rest: scored.append(len(docs)) or real(docs, *rest))
    with receiving(evaluations.append):
        table = sweep.sweep(MATRIX, HashEncoder(), bm25("dapfam"), tmp_path / "t.csv")
    assert scored == [8] * table.height
    assert len(evaluations) == table.height
    for evaluation in evaluations:
        found = evaluation.run.to_dict()
        assert len(evaluation.run.doc_ids) == 48
        assert not any(query in documents for query, documents in found.items())
    monkeypatch.setenv(FAST_VARIABLE, "0")
    other = sweep.sweep(MATRIX, HashEncoder(), bm25("dapfam"), tmp_path / "by mteb.csv")
    assert len(scored) == table.height
    assert without_seconds(other).equals(without_seconds(table))


def test_aggregations_share_one_pass(tmp_path):
    matrix = sweep.Matrix(("bm25",), ("passage",), ("TA",), ("TAC",), ("maxP", "avgP"), (8, 16))
    table = sweep.sweep(matrix, None, bm25("dapfam"), tmp_path / "t.csv")
    assert table.height == 4
    assert table.group_by("length").agg(pl.col("seconds").n_unique())["seconds"].to_list() == [1, 1]
    for row in table.iter_rows(named=True):
        model = Passages(bm25("dapfam"), aggregate=row["aggregate"], splitter=TokenWindows(row["length"], None, WordTokenizer()))
        found = scores_of(mteb.get_task(row["task"]), model)
        assert row["ndcg_at_100"] == pytest.approx(found["ndcg_at_100"], abs=1e-5)


def test_an_interrupted_sweep_repeats_nothing_and_gives_the_same_table(tmp_path, monkeypatch):
    whole = sweep.sweep(MATRIX, HashEncoder(), bm25("dapfam"), tmp_path / "whole.csv")
    real, ran = sweep._run, []

    def stopping(group, *args):
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(group)
        return real(group, *args)

    monkeypatch.setattr(sweep, "_run", stopping)
    out = tmp_path / "part.csv"
    with pytest.raises(KeyboardInterrupt):
        sweep.sweep(MATRIX, HashEncoder(), bm25("dapfam"), out)
    assert 0 < pl.read_csv(out).height < whole.height
    first = list(ran)
    ran.clear()
    monkeypatch.setattr(sweep, "_run", lambda group, *args: ran.append(group) or real(group, *args))
    finished = sweep.sweep(MATRIX, HashEncoder(), bm25("dapfam"), out)
    assert not [group for group in ran if group in first]
    assert len(ran) + len(first) == 6
    assert without_seconds(finished).equals(without_seconds(whole))
    ran.clear()
    again = sweep.sweep(MATRIX, HashEncoder(), bm25("dapfam"), out)
    assert not ran
    assert without_seconds(again).equals(without_seconds(whole))


def test_a_table_of_other_models_is_not_continued(tmp_path):
    out = tmp_path / "t.csv"
    matrix = sweep.Matrix(("bm25",), queries=("TA",), corpora=("TA",))
    sweep.sweep(matrix, None, bm25("dapfam"), out)
    with pytest.raises(DataError, match="other models or other data"):
        sweep.sweep(matrix, None, bm25("bm25s"), out)
    out.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"cannot be read|not a table of a sweep"):
        sweep.sweep(matrix, None, bm25("dapfam"), out)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"backends": ("bm52",)}, "backend 'bm52' is unknown"),
        ({"aggregates": ("max",)}, "aggregate 'max' is unknown"),
        ({"queries": ("Claims",)}, "query 'Claims' is unknown"),
        ({"queries": ("Title",), "corpora": ("Abstract",)}, "no chosen pair"),
    ],
)
def test_unknown_factors_are_named(chosen, message):
    with pytest.raises(DataError, match=message):
        sweep.Matrix(**chosen)


def test_a_dense_backend_needs_a_model(tmp_path):
    with pytest.raises(ModelError, match="needs an encoder"):
        sweep.sweep(sweep.Matrix(("dense",)), None, bm25("dapfam"), tmp_path / "t.csv")
