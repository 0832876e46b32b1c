"""A sketch decides as the record does, and holds none of its texts; the record comes back whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patent_mteb import sample
from patent_mteb.patents.near_duplicates import Sketched, sketch
from patent_mteb.patents.records import Claim, Description, Patent
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.needs import FIELDS
from patent_mteb.recipes.sampling import stratum

PATENTS = sample.generate()[0][:80]
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


def test_parts_are_as_few_as_what_can_be_there_or_not():
    texts = [f"{first}{second}" for first in "abcde" for second in "vwxyz"]
    made = [
        sketch(replace(BARE, description=Description(detailed=text, drawings=text[1:]), claims=(Claim(1, text),)))
        for text in texts
    ]
    assert len({id(one.description) for one in made}) == len({id(one.claims) for one in made}) == 1


def test_records_come_back_whole_in_their_order():
    held = Sketched(iter(PATENTS))
    assert list(held) == [patent.publication_number for patent in PATENTS]
    assert [held.record(number) for number in held] == PATENTS
    assert held[PATENTS[3].publication_number] == sketch(PATENTS[3])
    with pytest.raises(KeyError):
        held.record("US0A")
