"""What each reader of bulk files gives of each real file, against counts by other code, field by field."""

from __future__ import annotations

import json

import pytest
from bulk_counts import BULK, FAMILY_FILE, SEARCH_FILE, expected, found, kinds, plain, squeezed

from patent_mteb.patents.records import Patent, Relation
from patent_mteb.readers import recognise
from patent_mteb.readers.items import Skipped

pytestmark = pytest.mark.skipif(not BULK.is_dir(), reason="shared/data/bulk is not here")
NOT_PUBLICATIONS = {
    "adjustment.json", "assignment.json", "attorney.json", "documents.json", "transactions.json",
    "ep1000000_description_result.xml",
}  # fmt: skip
"""Files that no reader recognises: adjustments, assignments, attorneys and events of applications."""
PEDS = "app_1_input.json"  # test_recorded_json.py compares each of its fields
FILES = sorted(path for path in BULK.rglob("*") if path.is_file() and path.name not in NOT_PUBLICATIONS | {PEDS})
PARTS = ("country", "doc-number", "kind")
SLOW = 100_000
"""Bytes from which on a file takes longer than a fast test may."""


def case(path):
    marks = [pytest.mark.slow] if path.stat().st_size > SLOW else []
    return pytest.param(path, id=f"{path.parent.name}/{path.name}", marks=marks)


@pytest.mark.parametrize("path", [case(path) for path in FILES])
def test_a_file_gives_what_other_code_counts(path, compared):
    items = list(recognise(path).read(path))
    if path.name == FAMILY_FILE:
        members = plain(path.read_bytes()).xpath("//*[local-name()='family-member']")
        numbers = {tuple(squeezed(one.find(f"*/*/{{*}}{part}")) for part in PARTS) for one in members}
        assert all(isinstance(item, Relation) for item in items)
        assert {item.related for item in items if item.kind == "member"} == {"".join(number) for number in numbers} - {
            items[0].number
        }
        return
    if path.name == SEARCH_FILE:
        results = json.loads(path.read_text("utf-8"))["results"]
        records = [(item.publication_number, item.family_id) for item in items if isinstance(item, Patent)]
        assert [one[1] for one in records] == [one["family_id"] for one in results]
        return
    wanted = expected(path)
    given = [{name: one[name] for name in other} for one, other in zip(found(items).values(), wanted, strict=True)]
    pairs = [(mine[name], value) for mine, one in zip(given, wanted, strict=True) for name, value in one.items()]
    compared(str(path.relative_to(BULK.parent)), len(given), len(pairs), sum(mine == value for mine, value in pairs))
    assert given == wanted


@pytest.mark.parametrize("path", [case(path) for path in FILES if path.parent.name == "uspto"])
def test_documents_of_the_uspto_are_read_or_counted_as_other_kinds(path):
    items = list(recognise(path).read(path))
    others = [item for item in items if isinstance(item, Skipped) and item.reason.startswith("not a utility patent")]
    assert (sum(isinstance(item, Patent) for item in items), len(others)) == (kinds(path)[True], kinds(path)[False])


@pytest.mark.parametrize("name", sorted(NOT_PUBLICATIONS))
def test_files_without_publications_are_not_recognised(name):
    (path,) = BULK.rglob(name)
    assert recognise(path) is None
