"""The Office Action Research Dataset in its published columns; its joins against a row-by-row version in the test."""

from __future__ import annotations

import csv
import datetime as dt
from collections import Counter

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation
from patent_mteb.readers import office_actions, recognise
from patent_mteb.readers.items import Note, Skipped

_FLAGS = (
    "uspc_class uspc_subclass header_missing fp_missing rejection_fp_mismatch closing_missing rejection_101"
    " rejection_102 rejection_103 rejection_112 rejection_dp objection allowed_claims cite102_gt1 cite103_gt3"
    " cite103_eq1 cite103_max signature_type"
)
OFFICE_ACTIONS = [
    f"app_id ifw_number document_cd mail_dt art_unit {_FLAGS}".split(),
    ["12345678", "AAA", "CTNF", "2012-03-01", "2853", *["0"] * 18],
    ["12345678", "BBB", "CTFR", "2012-09-01", "2853", *["0"] * 18],
    ["9123456", "CCC", "CTNF", "2009-01-15", "", *["0"] * 18],
]
REJECTIONS = [
    [
        "app_id",
        "ifw_number",
        "action_type",
        "action_subtype",
        "claim_numbers",
        "alice_in",
        "bilski_in",
        "mayo_in",
        "myriad_in",
    ],
    ["12345678", "AAA", "102", "a", "1,2,3", "0", "0", "0", "0"],
    ["12345678", "AAA", "102", "b", "3,7", "0", "0", "0", "0"],
    ["12345678", "AAA", "103", "a", "4,5", "0", "0", "0", "0"],
    ["12345678", "AAA", "112", "2", "9", "0", "0", "0", "0"],
    ["12345678", "BBB", "103", "a", "1", "0", "0", "0", "0"],
    ["9123456", "CCC", "102", "b", "8", "0", "0", "0", "0"],
]
CITATIONS = [
    [
        "app_id",
        "citation_pat_pgpub_id",
        "parsed",
        "ifw_number",
        "action_type",
        "action_subtype",
        "form892",
        "form1449",
        "citation_in_oa",
    ],
    ["12345678", "US 2007/0261094", "20070261094", "AAA", "102", "a", "1", "0", "1"],
    ["12345678", "US 2007/0261094", "20070261094", "AAA", "102", "b", "1", "0", "1"],
    ["12345678", "6,807,434", "6807434", "AAA", "103", "a", "0", "1", "1"],
    ["12345678", "5000001", "5000001", "AAA", "103", "a", "1", "0", "1"],
    ["12345678", "6,807,434", "6807434", "BBB", "103", "a", "0", "1", "1"],
    ["12345678", "5000002", "5000002", "", "", "", "1", "0", "0"],  # listed by the examiner, not applied
    ["12345678", "5000003", "5000003", "", "", "", "0", "1", "0"],  # listed by the applicant
    ["12345678", "5000004", "5000004", "AAA", "dp", "", "0", "0", "1"],  # double patenting
    ["9123456", "EP 1234567", "", "CCC", "102", "b", "1", "0", "1"],
    ["9123456", "5000005", "5000005", "ZZZ", "102", "b", "1", "0", "1"],  # of no known action
    ["9123456", "Doe et al.", "", "", "", "", "1", "0", "0"],
    ["", "5000006", "5000006", "", "", "", "1", "0", "0"],
]
TABLES = {"office_actions": OFFICE_ACTIONS, "rejections": REJECTIONS, "citations": CITATIONS}


def write(place, tables):
    for name, rows in tables.items():
        with (place / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows(rows)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, TABLES)
    return tmp_path


def naive():
    """What each row of the citations gives, by loops over the other tables."""
    actions = {row[1]: row for row in OFFICE_ACTIONS[1:]}
    found = []
    for app, raw, parsed, ifw, section, _, form892, form1449, _ in CITATIONS[1:]:
        if not app or not any(one.isdigit() for one in parsed or raw):
            continue
        action = actions.get(ifw)
        same = {row[1] for row in CITATIONS[1:] if row[3:5] == [ifw, section]}
        claims = set()
        for row in REJECTIONS[1:]:
            if section in ("102", "103") and row[1:3] == [ifw, section] and len(same) == 1:
                claims |= {int(one) for one in row[4].split(",")}
        category = {"102": "X", "103": "Y", "": "A" if form892 == "1" else ""}.get(section, "")
        found.append(
            (
                f"application US{app.zfill(8)}",
                category,
                "examiner" if form892 == "1" else "applicant" if form1449 == "1" else "",
                tuple(sorted(claims)),
                action[2] if action else "examination",
                dt.date.fromisoformat(action[3]) if action else None,
                (section,) if section in ("102", "103") else (),
            )
        )
    return found


def test_each_citation_is_joined_with_its_action_and_its_claims(folder):
    assert recognise(folder / "citations.csv") is office_actions.READER
    items = list(office_actions.READER.read(folder / "citations.csv"))
    found = [one for one in items if isinstance(one, Citation)]
    fields = ["citing", "category", "origin", "claims", "phase", "date", "statutes"]
    assert [tuple(getattr(one, field) for field in fields) for one in found] == naive()
    assert found[0] == Citation(
        *("application US12345678", "US2007261094", "X", "examiner", (1, 2, 3, 7), (), "CTNF", "US"),
        *(dt.date(2012, 3, 1), "2800", ("102",)),
    )
    assert [one.cited for one in found[2:]] == [
        *("US6807434", "US5000001", "US6807434", "US5000002", "US5000003", "US5000004", "EP1234567", "US5000005")
    ]
    assert [one.claims for one in found[2:5]] == [(), (), (1,)]  # two documents under one section: whose claims?
    assert {(one.reason, one.place) for one in items if isinstance(one, Skipped)} == {
        ("a citation without a number", "row 12"),
        ("no application number", "row 13"),
    }
    assert Counter(one.what for one in items if isinstance(one, Note)) == {
        "a citation without claims, because the action cites several documents under the section": 2,
        "a citation of an office action that office_actions.csv does not have, without a date": 1,
    }


def test_a_missing_table_and_another_table_are_one_clear_error(folder):
    (folder / "rejections.csv").unlink()
    with pytest.raises(DataError, match=r"rejections\.csv of the Office Action Research Dataset is missing"):
        list(office_actions.READER.read(folder / "citations.csv"))
    (other := folder / "other.csv").write_text("app_id,cited\n1,2\n")
    assert recognise(other) is not office_actions.READER
    with pytest.raises(DataError, match="not a table of the Office Action Research Dataset"):
        list(office_actions.READER.read(other))
