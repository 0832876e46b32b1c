"""Near-duplicates and sketches, for patents in memory and in a file."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from patent_mteb import sample
from patent_mteb.errors import DataError
from patent_mteb.patents import near_duplicates
from patent_mteb.patents.collection import Collection
from patent_mteb.patents.near_duplicates import Sketched, sketch
from patent_mteb.patents.on_disk import stored
from patent_mteb.patents.records import Claim, Description, Patent
from patent_mteb.patents.text import clean_patent
from patent_mteb.patents.text_columns import Digests
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.sampling import stratum
from patent_mteb.recipes.steps import FIELDS

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
    collection = Collection(hold(NEAR_DUPLICATES), families={"US1000002A1": "F2", "US1A": "F2"})
    groups = near_duplicates.near_duplicate_groups(collection.patents)
    assert [{patent.publication_number[-3] for patent in group} for group in groups] == [{"1", "2", "4", "5"}]
    merged = near_duplicates.with_near_duplicates(collection, "merge", groups)
    assert [patent.family_id for patent in merged.patents] == ["F1", "F1", "F1", "F1", "F1", "F4", "F5", "F6"]
    assert merged.families["US1A"] == "F1"
    dropped = near_duplicates.with_near_duplicates(collection, "drop", groups)
    assert [patent.publication_number[-3] for patent in dropped.patents] == ["2", "3", "6", "7", "8"]
    assert not near_duplicates.near_duplicate_groups(merged.patents)
    assert not near_duplicates.near_duplicate_groups(dropped.patents)
    assert near_duplicates.with_near_duplicates(collection, "keep", groups) is collection
    assert (merged.family_definition, dropped.family_definition) == ("given, twins merged", "given, twins left out")
    with pytest.raises(DataError, match="keep, merge, drop"):
        near_duplicates.with_near_duplicates(collection, "delete", groups)


def test_leaking_labels_are_counted():
    split = {"F1": "train", "F2": "test", "F3": "validation"}

    def leaks(patents, split):
        keys = Digests(map(near_duplicates.near_duplicate_key, patents))
        return near_duplicates.leaking_near_duplicates(patents, keys.equal(), split)

    in_splits = [patent for patent in NEAR_DUPLICATES if patent.family_id in split]
    assert leaks(in_splits, split) == {"test": 1, "validation": 1}
    assert leaks(NEAR_DUPLICATES, dict.fromkeys((patent.family_id for patent in NEAR_DUPLICATES), "test")) == {}


PATENTS = sample.load()[0][:80]
BARE = Patent("US1A", "F1")
ODD = [
    BARE,
    replace(BARE, title="  Pump", abstract=" "),
    replace(BARE, claims=(Claim(1, " "), Claim(2, "A pump."))),
    replace(BARE, claims=(Claim(1, ""),)),
    replace(BARE, description=Description(drawings="\n Fig. 1")),
]
LISTS = {"inventors", "labels", "keywords"}


@pytest.mark.parametrize("patent", [*PATENTS, *ODD])
def test_a_sketch_has_what_the_record_has(patent):
    made = sketch(patent)
    assert {name: has(made) for name, has in FIELDS.items() if name not in LISTS} == {
        name: has(patent) for name, has in FIELDS.items() if name not in LISTS
    }
    sections = ("Title", "Abstract", "Claims", "Description")
    assert [bool(VIEWS[name](made).strip()) for name in sections] == [
        bool(VIEWS[name](patent).strip()) for name in sections
    ]
    assert [bool(text) for text in (made.title, made.abstract)] == [
        bool(text) for text in (patent.title, patent.abstract)
    ]
    names = (
        "publication_number",
        "family_id",
        "jurisdiction",
        "kind",
        "filing_jurisdiction",
        "application_number",
        "publication_date",
    )
    assert [getattr(made, name) for name in (*names, "application_date", "priority_date", "ipc")] == [
        getattr(patent, name) for name in (*names, "application_date", "priority_date", "ipc")
    ]
    assert stratum(made) == stratum(patent)
    assert len(repr(made)) < 1500


def test_records_are_returned_in_full_and_in_order():
    held = Sketched(PATENTS)
    assert list(held) == [patent.publication_number for patent in PATENTS]
    assert [held.record(number) for number in held] == list(held.records) == PATENTS
    assert list(Sketched([replace(BARE, title="<b>Pump</b>")], clean_patent).records) == [replace(BARE, title="Pump")]
    assert held[PATENTS[3].publication_number] == sketch(PATENTS[3])
    with pytest.raises(KeyError):
        held.record("US0A")
