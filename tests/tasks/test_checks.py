"""What a published file may be, and what would make its score wrong."""

from __future__ import annotations

import logging
from pathlib import Path

import mteb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patent_mteb.data import loading
from patent_mteb.data.loading import TRUNCATED_VARIABLE, Source
from patent_mteb.data.releases import is_truncated
from patent_mteb.errors import DataError
from patent_mteb.tasks import dapfam, patenteb
from patent_mteb.tasks.checks import read_unique, refuse_contradictions, refuse_truncated

COMMIT = "161c119f15561d9b6adcde2a759cdf76a17b0a62"


def of_release(spec, folder, rows):
    """The released set at its pinned commit, with a table of so many rows."""
    (folder / "test").mkdir(parents=True, exist_ok=True)
    columns = {
        name: [f"{name} {row}" for row in range(rows)] for name in ("q", "pos", "neg", "q_text", "pos_text", "neg_text")
    }
    pq.write_table(pa.table(columns), folder / "test" / "data.parquet")
    return Source(spec.data, "hub", spec.data.revision, folder)


@pytest.fixture(autouse=True)
def strict(monkeypatch, sizes_of_releases):
    monkeypatch.delenv(TRUNCATED_VARIABLE, raising=False)


@pytest.fixture
def spec():
    return patenteb.RETRIEVAL[0]


def task_on(source):
    (kind,) = (task for task in patenteb.BENCHMARK.task_classes if task.metadata.name == "PatenTEBRetrievalIN")
    return kind(source=source)


def test_a_truncated_release_stops_the_task(spec, tmp_path, monkeypatch):
    with pytest.raises(
        DataError, match=r"data.parquet: the file has 12 rows, its release 15809. Remedy: download it again"
    ):
        task_on(of_release(spec, tmp_path, 12)).load_split()
    monkeypatch.setenv(TRUNCATED_VARIABLE, "1")
    task_on(of_release(spec, tmp_path, 12)).load_split()


def test_a_release_of_the_right_size_loads_and_one_that_grew_is_said(spec, tmp_path, caplog):
    task_on(of_release(spec, tmp_path, 15_809)).load_split()
    assert "its release" not in caplog.text
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        task_on(of_release(spec, tmp_path, 15_810)).load_split()
    assert "the file has 15810 rows, its release 15809" in caplog.text


@pytest.mark.parametrize(("kind", "revision"), [("local", "local-0123456789ab"), ("sample", "sample-1")])
def test_other_data_may_have_any_number_of_rows(spec, kind, revision):
    refuse_truncated(Source(spec.data, kind, revision, Path("mine")), "test/data.parquet", 3)


def test_a_local_copy_that_counts_as_the_release_is_checked_like_it(spec):
    with pytest.raises(DataError, match="its release 15809"):
        refuse_truncated(Source(spec.data, "local", COMMIT, Path("copy")), "test/data.parquet", 3)


@pytest.mark.slow
def test_dapfam_is_checked_file_by_file(tmp_path):
    root = loading.sample_root("dapfam") / "datalyes" / "DAPFAM_patent"
    with pytest.raises(DataError, match=r"corpus.parquet: the file has \d+ rows, its release 45336"):
        dapfam.read_tables(Source(dapfam.DATA, "hub", dapfam.DATA.revision, root))


@pytest.mark.parametrize("kind", [pa.int64(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_keys_of_any_type_are_read_and_repeated_rows_taken_once(tmp_path, kind):
    ids = (
        pa.array(["3", "5", "3"]).cast(kind)
        if not pa.types.is_dictionary(kind)
        else pa.array(["3", "5", "3"]).dictionary_encode()
    )
    pq.write_table(pa.table({"id": ids, "text": ["a", None, "a"], "codes": [["x"], [], ["x"]]}), tmp_path / "t.parquet")
    table, again = read_unique(tmp_path / "t.parquet", {"text": pa.string()}, "id")
    assert (table.to_pylist(), again) == (
        [{"id": "3", "text": "a", "codes": ["x"]}, {"id": "5", "text": None, "codes": []}],
        1,
    )


def test_one_key_of_two_rows_stops(tmp_path):
    pq.write_table(pa.table({"id": ["3", "5", "3"], "text": ["a", "b", "c"]}), tmp_path / "t.parquet")
    with pytest.raises(
        DataError, match=r"t.parquet, row 3: id '3' occurs twice \(first in row 1\), with other content"
    ):
        read_unique(tmp_path / "t.parquet", {"text": pa.string()}, "id")


def test_a_pair_with_two_labels_stops_and_one_given_again_is_counted(caplog):
    keys, path = [("a", "b"), ("c", "d"), ("a", "b")], Path("data.parquet")
    with caplog.at_level(logging.WARNING, "patent_mteb"):
        refuse_contradictions(keys, ["1", "0", "1"], path, "pair")
    assert "1 rows repeat a pair" in caplog.text
    with pytest.raises(DataError, match=r"row 3: the pair 'a, b' is '0' here and '1' in row 1"):
        refuse_contradictions(keys, ["1", "0", "0"], path, "pair")


def test_the_overlap_of_queries_and_corpus_stands_in_the_result():
    task = mteb.get_task("PatentDAPFAMTitleToTARetrieval.sample")
    result = mteb.evaluate(
        mteb.get_model("mteb/baseline-random-encoder"), task, cache=None, co2_tracker=False, show_progress_bar=False
    )
    ((scores,),) = result.task_results[0].scores.values()
    tables = dapfam.read_tables(task.source)
    scored = {
        query
        for query, judged in tables.judged.items()
        if any(gain and query != name for name, (gain, _) in judged.items())
    }
    assert scores["n_queries_in_corpus"] == len(scored & set(tables.corpus["relevant_id"].to_pylist())) > 0


@pytest.mark.parametrize(("rows", "truncated"), [(25_500, False), (25_000, False), (24_900, True), (500, True)])
def test_rows_that_a_paper_states_as_shares_may_differ_a_little(rows, truncated):
    assert is_truncated("ZoeYou/downstream", "IPC-Classification/train_512.csv", rows) == truncated


@pytest.mark.parametrize(("rows", "truncated"), [(48_110, False), (48_109, True)])
def test_rows_that_a_paper_counts_are_complete_or_not(rows, truncated):
    assert is_truncated("ZoeYou/downstream", "perf200/content/documents.json", rows) == truncated
