"""A result on another revision of the data is kept, with its per-query scores, and both are read."""

from __future__ import annotations

import json

import mteb
import pyarrow.parquet as pq
import pytest
from mteb.cache import ResultCache
from worlds import dapfam_tables

from patent_mteb.data import sources
from patent_mteb.experiments import run
from patent_mteb.models import bm25
from patent_mteb.tasks import dapfam

NAME = "PatentDAPFAMTAToTACRetrieval"


@pytest.fixture
def at_revision(tmp_path, monkeypatch):
    """Run the task as if its tables were those of the hub at a revision."""
    dapfam_tables(tmp_path / "data", n_documents=60)
    monkeypatch.setenv(sources.DATA_VARIABLE, str(tmp_path / "data"))
    local = sources.resolve(dapfam.BENCHMARK.data_sets[0])
    monkeypatch.setattr(sources, "_downloaded", lambda folder: local.data.revision)

    def once(revision):
        source = sources.Source(local.data, "local", revision, local.folder)
        task = type(mteb.get_task(NAME))(source=source)
        return run.run(bm25("dapfam"), [task], tmp_path / "results", show_progress=False).outcomes[0]

    return once


def test_both_results_stand_side_by_side(tmp_path, at_revision, caplog):
    pinned = dapfam.BENCHMARK.data_sets[0].revision
    first = at_revision("0" * 40)
    with caplog.at_level("WARNING", logger="patent_mteb"):
        second = at_revision(pinned)
    assert first.status == second.status == "scored"
    files = {json.loads(path.read_text())["dataset_revision"]: path for path in (tmp_path / "results").rglob(f"{NAME}.json")}
    assert set(files) == {pinned, "0" * 40}
    kept = files["0" * 40]
    assert f"is kept as {kept}" in caplog.text
    identity = json.loads(
        pq.read_table(next((tmp_path / "query_scores").rglob(f"{kept.parent.name}/*.parquet"))).schema.metadata[b"patent_mteb"]
    )
    assert identity["experiment"] == kept.parent.name and identity["dataset_revision"] == "0" * 40
    loaded = ResultCache(tmp_path / "results").load_results(load_experiments="match_name")
    assert sorted(result.dataset_revision for model in loaded.model_results for result in model.task_results) == ["0" * 40, pinned]


def test_the_same_revision_is_left_where_it_is(tmp_path, at_revision):
    pinned = dapfam.BENCHMARK.data_sets[0].revision
    at_revision(pinned)
    at_revision(pinned)
    assert len(list((tmp_path / "results").rglob("*.json"))) == 2  # the result and its model


def test_damaged_per_query_scores_do_not_hold_a_result_up(tmp_path, at_revision):
    at_revision("0" * 40)
    (queries,) = (tmp_path / "query_scores").rglob("*.queries.parquet")
    queries.write_bytes(b"torn")
    assert at_revision(dapfam.BENCHMARK.data_sets[0].revision).status == "scored"
    assert len(list((tmp_path / "results").rglob(f"{NAME}.json"))) == 2
    assert queries.with_name(f"{queries.name}.damaged").read_bytes() == b"torn"
