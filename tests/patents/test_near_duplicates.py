"""Near-duplicates and sketches, for patents in memory and in a file."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents import near_duplicates
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.families import families_of
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
def test_near_duplicates_are_found_merged_and_dropped(hold):
    collection = Collection(hold(NEAR_DUPLICATES), families=families_of({"US1000002A1": "F2", "US1A": "F2"}))
    groups = near_duplicates.near_duplicates(collection.patents)
    assert groups["group"].n_unique() == 1 and {number[-3] for number in groups["number"]} == {"1", "2", "4", "5"}
    merged = near_duplicates.with_near_duplicates(collection, "merge", groups)
    assert [patent.family_id for patent in merged.patents] == ["F1", "F1", "F1", "F1", "F1", "F4", "F5", "F6"]
    assert dict(merged.families.iter_rows())["US1A"] == "F1"
    dropped = near_duplicates.with_near_duplicates(collection, "drop", groups)
    assert [patent.publication_number[-3] for patent in dropped.patents] == ["2", "3", "6", "7", "8"]
    assert near_duplicates.near_duplicates(merged.patents).is_empty()
    assert near_duplicates.near_duplicates(dropped.patents).is_empty()
    assert near_duplicates.with_near_duplicates(collection, "keep", groups) is collection
    assert (merged.family_definition, dropped.family_definition) == ("given, twins merged", "given, twins left out")
    with pytest.raises(DataError, match="keep, merge, drop"):
        near_duplicates.with_near_duplicates(collection, "delete", groups)


def test_leaking_labels_are_counted():
    split = {"F1": "train", "F2": "test", "F3": "validation"}

    def leaks(patents, split):
        rows = [
            (one.family_id, split[one.family_id], near_duplicates.near_duplicate_key(one) or None) for one in patents
        ]
        names = ["family", "split", "near_duplicate_key"]
        return near_duplicates.leaking_near_duplicates(pl.DataFrame(rows, names, orient="row"))

    in_splits = [patent for patent in NEAR_DUPLICATES if patent.family_id in split]
    assert leaks(in_splits, split) == 2  # one in test, one in validation
    assert leaks(NEAR_DUPLICATES, dict.fromkeys((patent.family_id for patent in NEAR_DUPLICATES), "test")) == 0
