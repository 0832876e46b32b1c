"""Files of machine summaries, and how they fill records."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.records import MachineSummaries, Patent
from patent_mteb.patents.summaries import EXTRACT, MODEL, WrittenSummary, read_summaries, source_of, write_summaries
from patent_mteb.recipes.sophia import with_summaries_from
from patent_mteb.recipes.steps import BuildLog

PATENTS = [Patent(f"US{n}A", f"F{n}", title=f"Pump {n}", abstract="A pump.") for n in range(3)]


def row(patent, kind="abstract", text="Short.", how=MODEL, source=""):
    number, source = patent.publication_number, source or source_of(patent)
    return WrittenSummary(number, kind, text, how, "llm-7", "abcd", source, "2026-01-02")


def test_missing_summaries_are_added_and_origins_counted(tmp_path):
    had = replace(PATENTS[1], summaries=MachineSummaries(abstract="Mine."))
    rows = [
        row(PATENTS[0]),
        row(PATENTS[0], "claims", "Claims.", EXTRACT),
        row(had),
        row(PATENTS[2], "features"),
        row(PATENTS[2], "objectives", source="0" * 16),
        row(Patent("EP1A", "F9", title="x")),
    ]
    write_summaries(path := tmp_path / "summaries.jsonl", rows)
    found = with_summaries_from(str(path), [PATENTS[0], had, PATENTS[2]], log := BuildLog("mine"))
    assert [patent.summaries for patent in found] == [
        MachineSummaries(abstract="Short.", claims="Claims."),
        MachineSummaries(abstract="Mine."),
        MachineSummaries(features="Short."),
    ]
    (step,) = log.steps
    assert (step.rows_in, step.rows_out) == (6, 3)
    assert step.note == (
        "1 already in the records; 1 of a text that has changed since; 1 of patents that are not queries"
    )
    assert log.deviations == [
        "the AI queries hold 1 extracts of the patents’ own sentences, no machine summaries (llm-7)",
        "the AI queries hold 2 machine summaries by llm-7 (prompt abcd)",
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
