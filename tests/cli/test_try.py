"""patent-mteb try: one command from a list to a page, and the commands that it prints do the same."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from marked_list import write_list
from small_bases import write_static

from patent_mteb import cli
from patent_mteb.cli import common


@pytest.fixture
def at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATENT_MTEB_QUERY_SCORES", "")
    return tmp_path


def scores_of(folder):
    """The main score of each model in a results folder."""
    found = {}
    for path in sorted(folder.rglob("*CitationRetrieval*.json")):
        (entries,) = json.loads(path.read_text())["scores"].values()
        found[path.relative_to(folder).as_posix()] = entries[0]["main_score"]
    return found


@pytest.mark.slow
def test_the_printed_commands_give_the_same_scores(at, capsys):
    write_list(at / "my list.csv")
    write_static(at / "model")
    assert cli.main(["try", "my list.csv", "-m", "model"]) == 0
    said, warned = capsys.readouterr()
    assert "are unknown here" not in warned, "the page knows the tasks of the list"
    commands = re.findall(r"^  (patent-mteb .*)$", said, re.MULTILINE)
    assert len(commands) == 6 and commands[-1].startswith("patent-mteb compare bm25-bm25s ")
    page = at / "my list-try" / "page" / "index.html"
    assert f"page: {page} " in said and page.stat().st_size > 100_000
    ours = scores_of(at / "my list-try")
    assert len(ours) == 2 and all(f"{score:.4f}" in said for score in ours.values())
    assert {
        "benchmark: the rules of WIPO-AT; 69 patents with citations are the queries",
        "model model: as given",
    } <= set(map(str.strip, said.splitlines()))
    (at / "my list-try").rename(at / "first")
    for command in commands:
        assert "'" not in command, "cmd knows double quotes only"
        assert cli.main(shlex.split(command)[1:]) == 0, command
    assert scores_of(at / "my list-try") == ours
    assert (at / "my list-try" / "page" / "index.html").exists()


@pytest.mark.slow
def test_a_second_call_keeps_what_is_there_and_a_changed_list_is_named(at, capsys):
    write_list(at / "list.csv")
    assert cli.main(["try", "list.csv", "--out", "here", "-m", "bm25", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    written = {path: path.stat().st_mtime_ns for path in (at / "here" / "data").rglob("*") if path.is_file()}
    assert cli.main(["try", "list.csv", "--out", "here", "-m", "bm25", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert "its choices are kept" in str(second["notes"]) and "its choices are kept" not in str(first["notes"])
    assert second["result"] == first["result"]
    assert {path: path.stat().st_mtime_ns for path in written} == written
    write_list(at / "list.csv", 65)
    assert cli.main(["try", "list.csv", "--out", "here", "-m", "bm25", "--json"]) == 0
    third = json.loads(capsys.readouterr().out)
    assert "list.csv has changed since the last call" in str(third["notes"])
    (row,) = third["result"]["scores"]
    assert (row["n_queries"], first["result"]["scores"][0]["n_queries"]) == (64, 69)
    write_list(at / "other.csv")
    assert cli.main(["try", "other.csv", "--out", "here", "-m", "bm25"]) == 2
    assert "the folder belongs to another list" in capsys.readouterr().err


def test_a_list_without_citations_within_it_says_what_to_export(at, capsys):
    rows = [f"US{8_000_000 + number}B2,Pump {number},A pump.,US{6_000_000 + number % 7}B2\n" for number in range(9)]
    (at / "few.csv").write_text("Publication Number,Title,Abstract,Cited Patents\n" + "".join(rows))
    assert cli.main(["try", "few.csv", "-v", "0"]) == 2
    error = capsys.readouterr().err
    assert "only 0 of 9 citations lead to another patent of the list" in error
    assert "search your database for the 7 numbers in few-try/cited-and-missing.txt" in error
    lacking = (at / "few-try" / "cited-and-missing.txt").read_text().split()
    assert len(lacking) == 7 and set(lacking[:2]) == {"US6000000B2", "US6000001B2"}, "most cited first"
    (at / "none.csv").write_text("Publication Number,Title\nUS8000000B2,Pump\n")
    assert cli.main(["try", "none.csv", "-v", "0"]) == 2
    assert "has no citations" in (error := capsys.readouterr().err) and "export the column of cited patents" in error


def write_without_citations(path, cited=()):
    rows = ["Publication Number,Title,Abstract,IPC,Filing Date,Cited Patents"]
    for number in range(120):
        words = f"pump{number} valve{number % 7} rotor{number % 11}"
        cites = cited[number % len(cited)] if cited else ""
        rows.append(f"US{8_000_000 + number}B2,{words},A {words} of steel.,F04B 1/00,2015-01-02,{cites}")
    path.write_text("\n".join(rows) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("cited", [(), ("US6000000B2", "US6000001B2")], ids=["none", "outside"])
def test_a_search_by_title_is_no_answer_to_the_search_for_cited_patents(at, capsys, cited):
    write_without_citations(at / "list.csv", cited)
    assert cli.main(["try", "list.csv", "-m", "bm25", "-v", "0"]) == 2
    said, error = capsys.readouterr()
    assert "'--task title' measures another search" in error and "nDCG" not in said
    assert cli.main(["try", "list.csv", "-m", "bm25", "--task", "title"]) == 0
    said = capsys.readouterr().out
    assert "search the patent of each title (task ListPatenTEBTitle2Full)" in said
    assert "says nothing about finding prior art" in said and "cites" not in said.partition("3 of 4")[2]
    assert "Find a patent by its title" in shown_on(at / "list-try") and "Find prior art" not in shown_on(
        at / "list-try"
    )


def shown_on(folder):
    """The jobs of the report, as tables in csv."""
    assert cli.main(["report", str(folder / "results"), "--format", "csv", "--out", str(folder / "tables")]) == 0
    return next((folder / "tables" / "csv").glob("*jobs.csv")).read_text()


@pytest.mark.slow
def test_citations_may_come_in_a_file_of_their_own(at, capsys):
    write_without_citations(at / "list.csv")
    pairs = [f"US{8_000_000 + number}B2;US{8_000_000 + (number + 7) % 120}B2;X" for number in range(120)]
    (at / "zitate.csv").write_text("\n".join(["Schrift;Entgegenhaltung;Kategorie", *pairs]) + "\n")
    assert cli.main(["try", "list.csv", "zitate.csv", "-m", "bm25"]) == 0
    said = capsys.readouterr().out
    assert "citations: 120 of 120 are of another patent of the list" in said
    assert "data import list.csv zitate.csv --out list-try/records" in said


def test_printed_commands_are_words_of_every_shell():
    line = common.command_line("run", "my list/data", "a=1,2", ">=2", "plain.csv")
    assert line == 'run "my list/data" "a=1,2" \'>=2\' plain.csv'
    assert shlex.split(line) == ["run", "my list/data", "a=1,2", ">=2", "plain.csv"]


def test_a_wrong_data_folder_is_refused_before_anything_is_read(at, capsys):
    assert cli.main(["run", "-t", "PatentCitationRetrieval", "-m", "bm25", "--data", "nowhere"]) == 2
    assert "nowhere: there is no such folder of data. Remedy: correct --data" in capsys.readouterr().err
    (at / "records").mkdir()
    (at / "records" / "patents.parquet").write_bytes(b"")
    assert cli.main(["report", "results", "--data", "records"]) == 2
    assert "is records, not a benchmark's tables" in capsys.readouterr().err
