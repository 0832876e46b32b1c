"""The page of contradictions is the data, and the data is what the tables hold."""

import csv
from importlib.resources import files
from pathlib import Path

import pytest
from published_pages import contradictions, contradictions_page

CELLS = [
    (row.paper, cell, value)
    for row in contradictions()
    for cell, value in ((row.first_cell, row.first_value), (row.second_cell, row.second_value))
    if cell
]


@pytest.mark.parametrize(("paper", "cell", "value"), CELLS)
def test_what_a_place_says_is_what_its_table_holds(paper, cell, value):
    number, model, column = cell.split(":")
    path = files("patent_mteb.published") / paper / f"table_{int(number):02d}.csv"
    (row,) = [row for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()) if row["model"] == model]
    assert row[column] == value


def test_the_two_places_differ_unless_equality_is_the_contradiction():
    assert [row.subject[:4] for row in contradictions() if row.first_value == row.second_value] == ["BM25"]


def test_the_page_is_made_from_the_data():
    stored = (Path(__file__).resolve().parents[2] / "docs" / "contradictions.md").read_text(encoding="utf-8")
    assert stored == contradictions_page(), "python docs/published_pages.py"
