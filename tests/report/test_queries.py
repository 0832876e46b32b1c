"""Damaged files of per-query scores: the report names the problem and keeps the result."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from report_folders import HEADLINE, add, attest, model_folder

from patent_mteb.report.collect import collect

KEY = "patent_mteb"
DAMAGES = {
    "no metadata": (lambda table: table.replace_schema_metadata(None), "it does not say which run it is of"),
    "other metadata": (
        lambda table: table.replace_schema_metadata({"pandas": "{}"}),
        "it does not say which run it is of",
    ),
    "null": (lambda table: table.replace_schema_metadata({KEY: "null"}), "it does not say which run it is of"),
    "a list": (lambda table: table.replace_schema_metadata({KEY: "[1]"}), "it does not say which run it is of"),
    "cut JSON": (lambda table: table.replace_schema_metadata({KEY: '{"task'}), "Unterminated string"),
    "deep JSON": (lambda table: table.replace_schema_metadata({KEY: "[" * 100_000}), "recursion"),
    "no queries": (lambda table: table.drop(["query"]), "query"),
}


MISSING = {
    "no column": lambda table: table.drop(["ndcg@10"]),
    "text": lambda table: table.set_column(1, "ndcg@10", pa.array(["0.5"] * len(table))),
    "whole numbers": lambda table: table.set_column(1, "ndcg@10", pa.array([1] * len(table))),
    "twice": lambda table: table.append_column("ndcg@10", table["ndcg@10"]),
}


@pytest.mark.parametrize("change", MISSING)
def test_a_main_score_without_its_column_of_numbers_is_not_reported(tmp_path, change):
    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, queries=np.linspace(0, 1, 40))
    path = folder / f"{HEADLINE}.sample.queries.parquet"
    table = pq.read_table(path)
    pq.write_table(MISSING[change](table).replace_schema_metadata(table.schema.metadata), path)
    collected = collect(tmp_path)
    (message,) = collected.contradictions.values()
    assert "the column 'ndcg@10' is missing, but the result has main_score" in message
    assert collected.results.is_empty()


@pytest.mark.parametrize("size", ["40", None, [40], True, "absent"])
def test_a_result_with_queries_needs_their_number(tmp_path, size):
    folder = model_folder(tmp_path, "acme/small")
    path = add(folder, HEADLINE, queries=np.linspace(0, 1, 40))
    document = json.loads(path.read_text())
    ((entry,),) = document["scores"].values()
    entry |= {"n_queries": size}
    if size == "absent":
        del entry["n_queries"]
    path.write_text(json.dumps(document))
    attest(path)
    collected = collect(tmp_path)
    (message,) = collected.contradictions.values()
    assert (
        "states no number of queries" in message
        if size == "absent"
        else f"n_queries is {size!r}, not a count" in message
    )


def test_the_score_of_a_slice_that_has_no_column_is_not_reported(tmp_path):
    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, queries=np.linspace(0, 1, 40), more={"xy_ndcg_at_10": 0.999})
    (message,) = collect(tmp_path).contradictions.values()
    assert "the column 'score:xy' is missing, but the result has xy_ndcg_at_10" in message


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_wrong_is_said_in_words(tmp_path, damage):
    change, words = DAMAGES[damage]
    folder = model_folder(tmp_path, "acme/small")
    add(folder, HEADLINE, queries=np.linspace(0, 1, 40))
    path = folder / f"{HEADLINE}.sample.queries.parquet"
    table = pq.read_table(path)
    assert json.loads(table.schema.metadata[KEY.encode()])["task"] == f"{HEADLINE}.sample"
    pq.write_table(change(table), path)
    collected = collect(tmp_path)
    (message,) = [one for one in collected.messages if "corrupt per-query scores" in one]
    assert words in message and "delete the file and run the task again" in message
    assert "NoneType" not in message and "subscriptable" not in message
    assert collected.results["value"].to_list() == [0.5]
