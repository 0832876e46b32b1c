"""``rows.csv``: what became of every row of the first review of faults, and which tests guard it.

``old`` says whether the fault was seen again on the code that was reviewed (commit 88a1c13).
"""

from __future__ import annotations

import ast
import csv
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECTIONS = {
    *("0", "1.1", "1.2", "1.3", "1.4", "2.1", "2.2", "2.3", "3", "3.1", "3.2", "3.3"),
    *("4", "5.1", "5.2", "5.3", "6.1", "6.2", "6.3", "7", "8"),
}
OLD = ("fails", "right", "not tried (", "not reproduced", "not a defect", "see ", "as below")


ITEMS = [f"{letter}{n}" for letter, last in (("A", 6), ("B", 9), ("C", 11), ("D", 9)) for n in range(1, last + 1)] + [
    "E"
]


def rows(name="rows.csv"):
    with Path(__file__).with_name(name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def guards(row):
    return [one for one in row["test"].split("; ") if one]


@cache
def names(file):
    """The tests of a file, those of a class as ``Class::test``."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return found | {
        f"{owner.name}::{node.name}" for owner in classes for node in owner.body if isinstance(node, ast.FunctionDef)
    }


def test_every_test_that_is_named_exists():
    every = rows() + rows("friendliness.csv")
    missing = [
        one for row in every for one in guards(row) if one.partition("::")[2] not in names(one.partition("::")[0])
    ]
    assert not missing


def test_every_row_is_filled():
    assert {row["section"] for row in rows()} == SECTIONS
    for row in rows():
        assert row["row"] and row["old"].startswith(OLD), row
        assert guards(row) or (row["note"] and not row["old"].startswith("fails")), row
    twice = [key for key, number in Counter((row["section"], row["row"]) for row in rows()).items() if number > 1]
    assert not twice


def test_every_item_of_the_review_of_use_has_a_test_or_a_reason():
    """``friendliness.csv``: the items A1 to E of the review that looked at the suite by using it."""
    items = rows("friendliness.csv")
    assert list(dict.fromkeys(row["item"] for row in items)) == ITEMS
    assert all(row["what"] and (guards(row) or row["note"]) for row in items)


def test_the_page_counts_the_rows():
    """docs/faults.md gives the numbers of this table."""
    every = rows()
    counted = (
        f"{len(every)} rows, {len({one for row in every for one in guards(row)})} tests; "
        f"{sum(row['old'] == 'right' for row in every)} rows were right, "
        f"{sum(row['old'] == 'fails' for row in every)} were seen to fail on the reviewed code, "
        f"{sum(row['old'] == 'not reproduced' for row in every)} could not be reproduced"
    )
    assert counted in " ".join((ROOT / "docs" / "faults.md").read_text("utf-8").split())
