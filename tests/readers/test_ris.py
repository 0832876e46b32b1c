"""Lists of patents in RIS, in the forms of Espacenet, Lens and web pages, with invented details."""

from __future__ import annotations

import datetime as dt

import pytest

from patent_mteb.patents.records import Patent
from patent_mteb.readers import recognise, ris
from patent_mteb.readers.items import Note, Skipped

ESPACENET = """TY  - PAT
TI  - Gear with rotor
AU  - LEE ANN
AU  - RAY BO
PB  - ACME INC
M1  - EP3000700 (A1)
PY  - 2016
DA  - 2016/04/13/
AB  - A gear is held by a blade,
 so that a seal turns.
ER  -

TY  - PAT
TI  - Valve
M1  - US9000701 (B2)
Y1  - 2015/04/07/
ER  -
"""
PAGE = """TY  - PAT
T1  - Valve
A1  - Doe, Cy
N2  - A valve.
UR  - https://patents.google.com/patent/US9000711B2/en
ER  -
TY  - JOUR
T1  - On valves
ER  -
TY  - PAT
T1  - A gear without a number
DA  - some day
ER  -
"""
LENS = """TY  - PAT
ID  - 000-000-000-000-001
TI  - Gear
DA  - 2018-10-16
C1  - US 10100720 B2
CY  - US
IS  - 10100720
C2  - B2
UR  - https://lens.org/000-000-000-000-001
ER  - """
COUNTRY = "TY  - PAT\nTI  - Gear\nCY  - US\nIS  - 10100721\nPY  - 2018\nER  -\n"


def read(path, text):
    path.write_text(text, "utf-8")
    assert recognise(path) is ris.READER
    items = list(ris.READER.read(path))
    return [one for one in items if isinstance(one, Patent)], [one for one in items if isinstance(one, Skipped | Note)]


def test_espacenet(tmp_path):
    (gear, valve), others = read(tmp_path / "list.ris", ESPACENET)
    assert (gear.publication_number, gear.title, gear.inventors, gear.applicants) == (
        *("EP3000700A1", "Gear with rotor", ("LEE ANN", "RAY BO"), ("ACME INC",)),
    )
    assert (gear.abstract, gear.publication_date) == (
        "A gear is held by a blade, so that a seal turns.",
        dt.date(2016, 4, 13),
    )
    assert (valve.publication_number, valve.kind, valve.publication_date) == ("US9000701B2", "B2", dt.date(2015, 4, 7))
    assert not [one for one in others if isinstance(one, Skipped)]


def test_numbers_in_web_addresses_and_entries_without_one(tmp_path):
    (valve,), others = read(tmp_path / "list.txt", PAGE)
    assert (valve.publication_number, valve.title, valve.abstract) == ("US9000711B2", "Valve", "A valve.")
    assert [(one.place, one.reason) for one in others if isinstance(one, Skipped)] == [
        ("row 7", "a reference that is not a patent (JOUR)"),
        ("row 10", "no publication number"),
    ]


@pytest.mark.parametrize(("text", "number", "day"), [(LENS, "US10100720B2", 16), (COUNTRY, "US10100721", None)])
def test_lens_and_country_with_number(tmp_path, text, number, day):
    (gear,), _ = read(tmp_path / "list.ris", text)
    assert gear.publication_number == number
    assert gear.publication_date == (dt.date(2018, 10, day) if day else dt.date(2018, 1, 1))
