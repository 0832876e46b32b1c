"""Files are written whole or not at all, and read with an error that names the place."""

import datetime as dt
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from patent_mteb import errors, files
from patent_mteb.errors import DataError, refuse_repeat

SCHEMA = pa.schema([("name", pa.string()), ("day", pa.date32()), ("codes", pa.list_(pa.string()))])
ROWS = [
    {"name": "ä", "day": dt.date(2020, 2, 29), "codes": ["A61F"]},
    {"name": None, "day": None, "codes": []},
    {"name": "c", "day": None, "codes": None},
]


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "below" / "x.txt"
    files.write_text(path, "old")

    def lines():
        yield "new"
        raise RuntimeError("cut off")

    for write in (files.write_lines, lambda path, rows: files.write_rows(path, rows, SCHEMA)):
        with pytest.raises(RuntimeError, match="cut off"):
            write(path, lines())
    with pytest.raises(RuntimeError, match="cut off"):
        files.write_rows(path.with_suffix(".parquet"), ({"name": line} for line in lines()), SCHEMA)
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_rows_come_back_one_by_one(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(files, "_MADE_AT_ONCE", 1)
    path = tmp_path / f"rows.{suffix}"
    files.write_rows(path, iter(ROWS), SCHEMA)
    read = list(files.read_rows(path))
    assert [number for number, _ in read] == [1, 2, 3]
    days = [row["day"] and dt.date.fromisoformat(str(row["day"])) for _, row in read]
    assert [{**row, "day": day} for (_, row), day in zip(read, days, strict=True)] == ROWS
    if suffix == "parquet":
        assert pq.ParquetFile(path).num_row_groups == 2 and pq.read_schema(path).equals(SCHEMA)
    files.write_rows(path, [], SCHEMA)
    assert list(files.read_rows(path)) == []


def test_no_more_than_so_many_bytes_of_a_table_are_in_memory(tmp_path, monkeypatch):
    """Neither while it is written, whatever the size of a row, nor of those before while it is read."""
    monkeypatch.setattr(files, "_BYTES_AT_ONCE", 1_000_000)
    monkeypatch.setattr(files, "_MADE_AT_ONCE", 2)
    dice, path, before = random.Random(0), tmp_path / "texts.parquet", pa.total_allocated_bytes()
    most = 0

    def rows():
        nonlocal most
        for number in range(60):
            most = max(most, pa.total_allocated_bytes() - before)
            yield {"name": str(number), "text": dice.randbytes(100_000).hex()}

    schema = pa.schema([("name", pa.string()), ("text", pa.string())])
    files.write_rows(path, rows(), schema)
    parquet = pq.ParquetFile(path)
    assert [parquet.metadata.row_group(number).num_rows for number in range(parquet.num_row_groups)] == [6] * 10
    assert most < 5_000_000 < path.stat().st_size
    most, names = 0, []
    for table in files.read_batches(path, rows=1):
        names += table["name"].to_pylist()
        most = max(most, pa.total_allocated_bytes() - before)
    assert names == [str(number) for number in range(60)]
    assert most < 5_000_000


@pytest.mark.parametrize("read", [lambda path: list(files.read_rows(path)), files.read_parquet, files.read_keyed])
def test_tables_that_are_none(tmp_path, read):
    with pytest.raises(DataError, match=r"t\.parquet: the file is missing"):
        read(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match=r"t\.parquet: not a readable parquet file"):
        read(tmp_path / "t.parquet")


def test_keys_stand_in_one_row(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"_id": ["a", "b", "a"], "key": ["x", "y", "z"]}), path)
    with pytest.raises(DataError, match=r"t\.parquet, row 3: _id 'a' occurs twice \(first in row 1\)") as caught:
        files.read_keyed(path)
    assert caught.value.remedy == "keep one row an id"
    assert files.read_keyed(path, {"_id": pa.string()}, key="key").num_rows == 3
    with pytest.raises(DataError, match="column 'text' is missing"):
        files.read_keyed(path, {"text": pa.string()}, key="key")
    rows = errors.unique([(5, "a"), (6, "b"), (9, "A")], str.lower, path=path, what="", remedy="mend")
    assert [next(rows), next(rows)] == [(5, "a"), (6, "b")]
    with pytest.raises(DataError, match=r"row 9: 'a' occurs twice \(first in row 5\)"):
        next(rows)
    seen = {}
    refuse_repeat(seen, ("q", "d"), 1, path=path, what="the pair", remedy="mend")
    refuse_repeat(seen, ("d", "q"), 2, path=path, what="the pair", remedy="mend")
    with pytest.raises(DataError, match=r"row 3: the pair 'q', 'd' occurs twice \(first in row 1\)"):
        refuse_repeat(seen, ("q", "d"), 3, path=path, what="the pair", remedy="mend")


def test_a_table_in_batches_is_the_table(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "_id": [f"d{number}" for number in range(10)],
            "text": ["x" * number for number in range(10)],
            "other": range(10),
        }
    )
    pq.write_table(table, path, row_group_size=7)
    batches = list(files.read_batches(path, rows=3))
    assert [len(batch) for batch in batches] == [3, 3, 3, 1] and pa.concat_tables(batches).equals(table)
    assert pa.concat_tables(files.read_batches(path, ["text"], rows=4)).equals(table.select(["text"]))
    assert files.parquet_schema(path).names == table.column_names
    ids = files.read_keyed(path, {"text": pa.string()}, without={"text", "other"})
    assert ids.equals(table.select(["_id"]))
    with pytest.raises(DataError, match="column 'text' has type string, expected int64"):
        files.read_parquet(path, {"text": pa.int64()}, without={"text"})


def test_a_batch_names_the_row_of_broken_text(tmp_path):
    path = tmp_path / "t.parquet"
    broken = pa.array([b"fine"] * 5 + [b"\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": broken}), path)
    with pytest.raises(DataError, match=r"t\.parquet, row 6: column 'text' holds text that is not valid UTF-8"):
        list(files.read_batches(path, rows=4))


def test_json_of_a_user_and_of_the_suite(tmp_path):
    path = tmp_path / "x.json"
    assert files.read_json(path) is None
    with pytest.raises(DataError, match="the file is missing"):
        files.load_json(path)
    files.write_json(path, {"b": 1, "a": ["é"]})
    assert files.read_json(path) == files.load_json(path) == {"a": ["é"], "b": 1}
    assert path.read_text().index('"a"') < path.read_text().index('"b"')
    path.write_text('{"a": 1,\n "b": }')
    assert files.read_json(path) is None
    with pytest.raises(DataError, match=r"row 2: malformed JSON \(Expecting value at column 7\)"):
        files.load_json(path)
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(DataError, match="row 1: not valid UTF-8"):
        files.load_json(path)


def test_lines_of_json(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\ufeff" + json.dumps({"a": 1}) + "\r\n\r\n" + json.dumps({"a": [2]}), "utf-8")
    assert list(files.json_lines(path)) == [(1, {"a": 1}), (3, {"a": [2]})]
    path.write_text("{}\n3\n")
    with pytest.raises(DataError, match="row 2: a JSON int where an object is expected"):
        list(files.json_lines(path))


VALUES = {
    "text": ["x", "é\n", None, ""],
    "codes": [["a", "b"], [], None, ["c"]],
    "number": pa.array([1, None, 3, 4], pa.int32()),
    "day": [dt.date(2020, 1, 1), None, dt.date(2021, 1, 1), None],
    "share": [0.5, None, 1.0, float("nan")],
    "nested": [{"x": 1, "y": "u"}, None, {"x": None, "y": "v"}, {"x": 2, "y": None}],
}


def test_the_hash_of_rows_depends_on_no_writer(tmp_path):
    table, path = pa.table(VALUES), tmp_path / "rows.parquet"
    seen = set()
    for change in ({}, {"compression": "zstd", "row_group_size": 1}, {"use_dictionary": False, "version": "1.0"}):
        for text in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
            pq.write_table(table.set_column(0, "text", table["text"].cast(text)), path, **change)
            seen.add(files.rows_hash(path))
    assert len(seen) == 1


def test_the_hash_of_rows_changes_with_every_value_name_and_order(tmp_path):
    table, path = pa.table(VALUES), tmp_path / "rows.parquet"
    others = [
        table,
        table.slice(0, 3),
        table.slice(0, 0),
        table.take([1, 0, 2, 3]),
        table.select([*VALUES][::-1]),
        table.rename_columns(["name", *[*VALUES][1:]]),
        *(
            table.set_column(0, "text", [texts])
            for texts in (["x", "é\n", "", None], ["xé", "\n", None, ""], ["x", "é", None, ""])
        ),
        table.set_column(1, "codes", [[["a"], ["b"], None, ["c"]]]),
        table.set_column(1, "codes", [[["a", "b"], None, [], ["c"]]]),
        table.set_column(2, "number", [[1, 0, 3, 4]]),
        table.set_column(3, "day", [[dt.date(2020, 1, 2), None, dt.date(2021, 1, 1), None]]),
        table.set_column(5, "nested", [[{"x": 1, "y": "u"}, {"x": None, "y": None}, *VALUES["nested"][2:]]]),
    ]
    hashes = []
    for other in others:
        pq.write_table(other, path)
        hashes.append(files.rows_hash(path))
    assert len(set(hashes)) == len(others)
