"""The page of published tables is what the data say, and each table that is not joined says why."""

import csv
from pathlib import Path

import pytest
from published_pages import coverage, independent_table, scores_page

from patent_mteb import published
from patent_mteb.published import not_joined

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_from_the_data():
    assert (ROOT / "docs/published.md").read_text("utf-8") == scores_page(), "python docs/published_pages.py"


def test_every_table_that_is_not_joined_is_named_with_its_reason():
    with (ROOT / "patent_mteb/published/tables.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = {(row["paper"], int(row["table"]), row["not_joined"]) for row in rows if row["not_joined"]}
    found = {
        (p.paper, number, why)
        for p in published.papers()
        for why, numbers in not_joined(p.paper).items()
        for number in numbers
    }
    assert found == expected and len(expected) > 10
    assert all(f"| no: {why} |" in scores_page() for _, _, why in expected)


@pytest.mark.slow
def test_the_tables_of_the_page_on_reproduction_are_made_from_the_data():
    page = (ROOT / "docs/reproduce.md").read_text("utf-8")
    for name, made in (("coverage", coverage()), ("independent", independent_table())):
        assert f"\n\n{made}\n\n" in page, f"python docs/published_pages.py {name}, into docs/reproduce.md"


def test_what_can_be_compared_by_count():
    """1,166 numbers, 6 of PatentMap's BM25, 12 of its PatentBERT and a second reading of 96; written by hand."""
    counts = dict(line.strip("| ").split(" | ") for line in coverage().splitlines()[2:])
    assert list(map(int, (count.replace(",", "") for count in counts.values()))) == [1280, 1262, 12, 6, 20, 3]
    assert 1166 + 6 + 96 + 12 == 1280 == 1262 + 12 + 6
