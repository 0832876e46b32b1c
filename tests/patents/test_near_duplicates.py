"""Texts that stand in several families, whether the patents are in memory or in a file."""

from __future__ import annotations

import datetime as dt

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents import near_duplicates
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.on_disk import stored
from patent_mteb.patents.records import Patent

NEAR_DUPLICATES = [
    Patent("US1000001A1", "F1", "Pump", "A pump with a valve.", publication_date=dt.date(2001, 1, 1)),
    Patent("US1000002A1", "F2", "PUMP ", "A pump  with\na valve.", publication_date=dt.date(2000, 1, 1)),
    Patent("US1000003A1", "F2", "Pump", "Another."),
    Patent("US1000004A1", "F3", "pump", "a pump with a valve."),
    Patent("US1000005A1", "F1", "Pump", "A pump with a valve."),
    Patent("US1000006A1", "F4", "Pump", ""),
    Patent("US1000007A1", "F5", "Pump", ""),
    Patent("US1000008A1", "F6", "Other", "Another."),
]


@pytest.mark.parametrize("hold", [list, stored])
def test_twins_are_found_merged_and_left_out(hold):
    collection = Collection(hold(NEAR_DUPLICATES), families={"US1000002A1": "F2", "US1A": "F2"})
    assert [
        {patent.publication_number[-3] for patent in group}
        for group in near_duplicates.near_duplicate_groups(NEAR_DUPLICATES)
    ] == [{"1", "2", "4", "5"}]
    merged = near_duplicates.with_near_duplicates(collection, "merge")
    assert [patent.family_id for patent in merged.patents] == ["F1", "F1", "F1", "F1", "F1", "F4", "F5", "F6"]
    assert merged.families["US1A"] == "F1"
    dropped = near_duplicates.with_near_duplicates(collection, "drop")
    assert [patent.publication_number[-3] for patent in dropped.patents] == ["2", "3", "6", "7", "8"]
    assert not near_duplicates.near_duplicate_groups(merged.patents)
    assert not near_duplicates.near_duplicate_groups(dropped.patents)
    assert near_duplicates.with_near_duplicates(collection, "keep") is collection
    assert (merged.family_definition, dropped.family_definition) == ("given, twins merged", "given, twins left out")
    with pytest.raises(DataError, match="keep, merge, drop"):
        near_duplicates.with_near_duplicates(collection, "delete")


def test_labels_that_leak_through_twins_are_counted():
    keyed = [(near_duplicates.near_duplicate_key(patent), patent) for patent in NEAR_DUPLICATES]
    split = {"F1": "train", "F2": "test", "F3": "validation"}
    assert near_duplicates.leaking_near_duplicates([one for one in keyed if one[1].family_id in split], split) == {
        "test": 1,
        "validation": 1,
    }
    assert (
        near_duplicates.leaking_near_duplicates(
            keyed, dict.fromkeys((patent.family_id for patent in NEAR_DUPLICATES), "test")
        )
        == {}
    )
