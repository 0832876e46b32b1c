"""Rows that carry a digest of their values."""

import polars as pl
import pytest

from patent_mteb.experiments.sweep import unedited_rows, with_digests

TABLE = pl.DataFrame(
    {
        "task": ["a", "b", "c"],
        "k": [1, 2, 3],
        "score": [0.1 + 0.2, None, 1.0],
        "note": ["", "x", ""],
        "seconds": [1.0, 2.0, 3.0],
    }
)


def through_csv(table, path):
    table.write_csv(path)
    return pl.read_csv(path, schema_overrides={"digest": pl.String})


def test_rows_survive_a_csv_file(tmp_path):
    again = unedited_rows(through_csv(with_digests(TABLE), tmp_path / "t.csv"))
    assert again.drop("note").equals(TABLE.drop("note"))
    assert with_digests(with_digests(TABLE)).equals(with_digests(TABLE))


@pytest.mark.parametrize(("column", "value"), [("task", "z"), ("k", 9), ("score", 0.3), ("score", None), ("note", "y")])
def test_an_edited_row_is_left_out(tmp_path, column, value):
    kept = through_csv(with_digests(TABLE), tmp_path / "t.csv")
    values = [value, *kept[column].to_list()[1:]]
    edited = kept.with_columns(pl.Series(column, values, kept.schema[column]))
    assert unedited_rows(edited)["task"].to_list() == ["b", "c"]


def test_time_is_free_and_a_table_without_digests_is_not_believed():
    assert unedited_rows(with_digests(TABLE).with_columns(seconds=pl.lit(0.0))).height == 3
    assert unedited_rows(TABLE).is_empty() and unedited_rows(TABLE).columns == TABLE.columns
