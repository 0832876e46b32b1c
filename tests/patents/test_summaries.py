"""Files of machine summaries, and how they fill records."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.records import MachineSummaries, Patent
from patent_mteb.patents.summaries import (
    EXTRACT,
    MODEL,
    Filling,
    WrittenSummary,
    read_summaries,
    source_of,
    write_summaries,
)

PATENTS = [Patent(f"US{n}A", f"F{n}", title=f"Pump {n}", abstract="A pump.") for n in range(3)]


def row(patent, kind="abstract", text="Short.", how=MODEL, **more):
    return WrittenSummary(
        patent.publication_number, kind, text, how, "llm-7", "abcd", source_of(patent), "2026-01-02", **more
    )


def test_missing_summaries_are_added_and_origins_counted():
    had = replace(PATENTS[1], summaries=MachineSummaries(abstract="Mine."))
    rows = [
        row(PATENTS[0]),
        row(PATENTS[0], "claims", "Claims.", EXTRACT),
        row(had),
        row(PATENTS[2], "features"),
        replace(row(PATENTS[2]), source="0" * 16),
        row(Patent("EP1A", "F9", title="x")),
    ]
    found = Filling(rows)
    assert [found.fill(patent).summaries for patent in (PATENTS[0], had, PATENTS[2])] == [
        MachineSummaries(abstract="Short.", claims="Claims."),
        MachineSummaries(abstract="Mine."),
        MachineSummaries(features="Short."),
    ]
    assert (found.n, found.kept, found.outdated) == (3, 1, 1)
    assert found.origins == [
        "1 extracts of the patents’ own sentences, no machine summaries (llm-7)",
        "2 machine summaries by llm-7 (prompt abcd)",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "novelty"}, "row 2: kind is 'novelty', none of abstract, features"),
        ({"how": "magic"}, "row 2: how is 'magic', none of model, extract"),
        ({"text": "  "}, "row 2: the summary is empty"),
        ({"day": None}, "row 2: field 'day' is missing"),
        ({"publication_number": "US0A"}, r"row 2: the summary 'US0A', 'abstract' occurs twice \(first in row 1\)"),
    ],
)
def test_a_bad_row_is_refused_with_its_number(tmp_path, change, words):
    write_summaries(path := tmp_path / "summaries.jsonl", [row(PATENTS[0])])
    assert read_summaries(path) == [row(PATENTS[0])]
    with path.open("a") as out:
        out.write(json.dumps({**asdict(row(PATENTS[1])), **change}) + "\n")
    with pytest.raises(DataError, match=words):
        read_summaries(path)
