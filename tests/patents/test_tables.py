"""Frames of records as they come, and who is connected with whom, against plain Python."""

from __future__ import annotations

import random

import polars as pl
import pytest

from patent_mteb.patents import tables
from patent_mteb.patents.records import Citation
from patent_mteb.patents.tables import column_of, first_of_connected, frame_of, links_of


@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 7])
def test_a_frame_has_all_rows_in_order(n_rows, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 3)
    rows = [(f"US{number}A", None if number % 2 else number, ["x"] * number) for number in range(n_rows)]
    schema = {"number": pl.String, "year": pl.Int32, "codes": pl.List(pl.String)}
    found = frame_of(iter(rows), schema)
    assert found.rows() == rows and found.schema == schema
    texts = [None if number == 1 else "\U0001f600" * number for number in range(n_rows)]
    column = column_of(iter(texts))
    assert column.to_list() == texts and column.dtype == pl.String and column.n_chunks() == 1


def test_links_have_every_citation_as_written():
    citations = [Citation("B", "A"), Citation("B", "A"), Citation("A", "")]
    assert links_of(iter(citations)).rows() == [("B", "A"), ("B", "A"), ("A", "")]


def test_the_alphabetically_first_stands_for_all_that_it_is_connected_with():
    groups = [["c", "b"], ["x"], ["d", "c", "e"], ["e", "a"], ["z", "y"]]
    rows = [(number, member) for number, group in enumerate(groups) for member in group]
    found = first_of_connected(pl.DataFrame(rows, ["group", "member"], orient="row"))
    assert dict(found.iter_rows()) == {**dict.fromkeys("abcde", "a"), "x": "x", "y": "y", "z": "y"}
    assert first_of_connected(pl.DataFrame(schema={"group": pl.Binary, "member": pl.String})).is_empty()


@pytest.mark.parametrize("seed", range(5))
def test_connected_are_those_that_merging_sets_finds(seed):
    draw = random.Random(seed)
    rows = [(draw.randrange(15), f"F{draw.randrange(40)}") for _ in range(45)]
    sets: list[set[str]] = []
    for group in range(15):
        merged = {member for number, member in rows if number == group}
        for other in [other for other in sets if other & merged]:
            sets.remove(other)
            merged |= other
        sets.append(merged)
    found = first_of_connected(pl.DataFrame(rows, ["group", "member"], orient="row"))
    assert dict(found.iter_rows()) == {member: min(merged) for merged in sets for member in merged}
