"""Machine summaries: the cache, and reports of missing ones."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from patent_mteb.errors import DataError
from patent_mteb.patents.records import Claim, MachineSummaries, Patent
from patent_mteb.patents.summaries import (
    EXTRACT,
    KINDS,
    MODEL,
    Filling,
    SummaryCache,
    SummaryError,
    WrittenSummary,
    read_summaries,
    source_of,
    summarise,
    write_summaries,
)


def patent(number: str, **fields) -> Patent:
    return Patent(
        number,
        f"F{number}",
        title=f"Title {number}",
        abstract=f"Abstract {number}",
        claims=(Claim(1, "A thing."),),
        **fields,
    )


class Recorder:
    """A summariser that records its calls and fails on some texts."""

    def __init__(self, identity: str = "recorder", fails_on: str = "\0", answer: str | None = None) -> None:
        self.identity, self.fails_on, self.answer = identity, fails_on, answer
        self.asked: list[tuple[str, str]] = []

    def __call__(self, kind: str, text: str) -> str:
        self.asked.append((kind, text))
        if self.fails_on in text:
            raise RuntimeError("no luck")
        return f" {kind} of {text[:9]} " if self.answer is None else self.answer


def test_every_summary_is_written_once_and_cached(tmp_path):
    patents = [patent("EP1"), patent("EP2")]
    first, second = Recorder(), Recorder()
    with SummaryCache(tmp_path / "deep" / "cache.sqlite") as cache:
        done = summarise(patents, first, cache)
    assert [p.publication_number for p in done] == ["EP1", "EP2"]
    assert done[1].summaries == MachineSummaries(**{kind: f"{kind} of Title EP2" for kind in KINDS})
    assert len(first.asked) == 10 and {text for _, text in first.asked} == {
        "Title EP1 Abstract EP1 1. A thing.",
        "Title EP2 Abstract EP2 1. A thing.",
    }
    with SummaryCache(tmp_path / "deep" / "cache.sqlite") as cache:
        assert len(cache) == 10
        assert summarise(patents, second, cache) == done
    assert second.asked == []


def test_another_summariser_or_text_is_another_entry(tmp_path):
    with SummaryCache(tmp_path / "cache") as cache:
        summarise([patent("EP1")], Recorder("a"), cache, kinds=["abstract"])
        other = Recorder("b")
        summarise([patent("EP1")], other, cache, kinds=["abstract"])
        changed = Recorder("a")
        summarise([patent("EP1", keywords=("x",))], changed, cache, kinds=["abstract"])
        assert len(other.asked) == 1 and changed.asked == []
        summarise([patent("EP3")], changed, cache, kinds=["abstract"])
        assert len(changed.asked) == 1


def test_summaries_of_the_record_stay(tmp_path):
    have = patent("EP1", summaries=MachineSummaries(abstract="mine"))
    asked = Recorder()
    with SummaryCache(tmp_path / "cache") as cache:
        (done,) = summarise([have], asked, cache, kinds=["abstract", "claims"])
    assert done.summaries.abstract == "mine" and done.summaries.claims.startswith("claims of")
    assert [kind for kind, _ in asked.asked] == ["claims"]


def test_a_failure_is_never_silent_and_the_next_run_continues(tmp_path, caplog):
    patents = [patent("EP1"), patent("EP2"), patent("EP3")]
    with SummaryCache(tmp_path / "cache") as cache:
        with pytest.raises(SummaryError, match=r"1 summaries missing \(2 written.*abstract of EP2: no luck"):
            summarise(patents, Recorder(fails_on="EP2"), cache, kinds=["abstract"])
        again = Recorder(fails_on="EP2")
        done = summarise(patents, again, cache, kinds=["abstract"], allow_missing=True)
    assert [bool(p.summaries.abstract) for p in done] == [True, False, True]
    assert len(again.asked) == 1 and "1 summaries missing" in caplog.text


def test_gives_up_when_the_server_is_down(tmp_path):
    broken = Recorder(fails_on="EP")
    with SummaryCache(tmp_path / "cache") as cache, pytest.raises(SummaryError, match="gave up with 3"):
        summarise([patent(f"EP{i}") for i in range(9)], broken, cache, give_up_after=3, allow_missing=True)
    assert len(broken.asked) == 3


@pytest.mark.parametrize("answer", ["", "  \n"])
def test_an_empty_answer_is_a_failure_and_is_not_kept(tmp_path, answer):
    with SummaryCache(tmp_path / "cache") as cache:
        with pytest.raises(SummaryError, match="returned no text"):
            summarise([patent("EP1")], Recorder(answer=answer), cache, kinds=["claims"])
        assert len(cache) == 0


def test_bad_input(tmp_path):
    with SummaryCache(tmp_path / "cache") as cache:
        with pytest.raises(SummaryError, match="claims of EP9: the patent has no text"):
            summarise([Patent("EP9", "F9")], Recorder(), cache, kinds=["claims"])
        with pytest.raises(ValueError, match="unknown kinds of summary: poem"):
            summarise([], Recorder(), cache, kinds=["poem"])
    (tmp_path / "other").write_text("this is not a database but a text of some length" * 50)
    with pytest.raises(DataError, match="not a cache of summaries"):
        SummaryCache(tmp_path / "other")


def test_two_processes_share_a_cache(tmp_path):
    with SummaryCache(tmp_path / "cache") as one, SummaryCache(tmp_path / "cache") as two:
        one.put("x", "claims", "t", "s")
        assert two.get("x", "claims", "t") == "s" and two.get("x", "abstract", "t") is None


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
