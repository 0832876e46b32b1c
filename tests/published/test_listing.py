"""The page of published tables is what the data say, and each table that is not joined says why."""

import csv
from pathlib import Path

from patent_mteb import published
from patent_mteb.published import not_joined, scores_page

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_from_the_data():
    assert (ROOT / "docs/published.md").read_text("utf-8") == scores_page(), (
        "python -m patent_mteb.published scores > docs/published.md"
    )


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
