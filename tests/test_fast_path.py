"""Evaluation on arrays and by mteb's machinery: the same results, per-query files and runs, key by key."""

import math

import mteb
import numpy as np
import pyarrow.parquet as pq
import pytest
from mteb.timing import TimingStack
from small_world import Words
from worlds import FixedSearch, HashEncoder, dapfam_tables

from patent_mteb import queryscores
from patent_mteb.errors import ModelError
from patent_mteb.models import Hybrid, bm25
from patent_mteb.models.search import Cached, Run, ranked_ids
from patent_mteb.tasks import fast

SAMPLES = ("PatentCitationRetrieval", "PatentDAPFAMTACToTACRetrieval", "SophiaAbRetrieval", "PatentMapAbsToAbsRetrieval", "PatenTEBRetrievalMIXED")
MODELS = {
    "encoder": Words,
    "bm25": lambda: bm25("dapfam"),
    "hybrid": lambda: Hybrid(bm25("dapfam"), Words(), alpha=0.7, depth=100),
}


def both_ways(monkeypatch, tmp_path, name, model):
    """Scores, per-query table, run and qrels of a task: by mteb's machinery, and on arrays."""
    found = []
    called = []
    evaluate = fast.evaluate
    monkeypatch.setattr(fast, "evaluate", lambda *args, **kwargs: called.append(1) or evaluate(*args, **kwargs))
    for way in ("0", "1"):
        folder = tmp_path / way
        for variable, value in ((fast.VARIABLE, way), (queryscores.VARIABLE, str(folder)), (queryscores.RUNS_VARIABLE, str(folder))):
            monkeypatch.setenv(variable, value)
        task = mteb.get_task(name)
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


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SAMPLES)
def test_both_ways_give_the_same(monkeypatch, tmp_path, name, model):
    (reference, table, run, qrels), (scores, own_table, own_run, own_qrels) = both_ways(
        monkeypatch, tmp_path, f"{name}.sample", MODELS[model]()
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
