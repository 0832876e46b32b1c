"""Damaged files of per-query scores: the report names the problem and keeps the result."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from report_folders import HEADLINE, add, model_folder

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
    "no scores": (lambda table: table.drop(["ndcg@10"]), "ndcg@10"),
    "no queries": (lambda table: table.drop(["query"]), "query"),
    "scores as text": (
        lambda table: table.set_column(1, "ndcg@10", pa.array(["0.5"] * len(table))),
        "column 'ndcg@10' does not hold numbers",
    ),
}


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
