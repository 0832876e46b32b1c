"""Croissant metadata names every file with its hash and every column with its type."""

from __future__ import annotations

import hashlib
import json

import pyarrow.parquet as pq
import pytest

from patent_mteb.data.loading import sample_root
from patent_mteb.experiments.datasheet import croissant

ABOUT = {"name": "sample", "license": "Apache-2.0", "version": "2.0.0"}


@pytest.mark.parametrize("recipe", ["wipo_at", "dapfam"])
def test_the_metadata_describe_the_tables(recipe):
    root = sample_root(recipe)
    found = json.loads(json.dumps(croissant(root, ABOUT)))
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    assert {one["@id"]: one["sha256"] for one in found["distribution"]} == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()
    }
    tables = {one["@id"].removesuffix("#rows"): one["field"] for one in found["recordSet"]}
    assert tables.keys() == {name for name in files if not name.endswith(".json")}
    for name, fields in tables.items():
        columns = [field["source"]["extract"]["column"] for field in fields]
        if name.endswith(".parquet"):
            first = pq.read_table(files[name]).slice(0, 1).to_pylist()[0]
            assert columns == list(first)
            assert [field.get("repeated", False) for field in fields] == [
                isinstance(value, list) for value in first.values()
            ]
        else:
            head = files[name].read_text("utf-8").splitlines()[0]
            assert columns == (list(json.loads(head)) if name.endswith(".jsonl") else head.split("\t"))
    assert found["name"] == "sample" and found["version"] == "2.0.0"
