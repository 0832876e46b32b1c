"""patent-mteb try: one command from a list to a page, and the commands that it prints do the same."""

from __future__ import annotations

import json
import os
import re
import shlex

import pytest
from marked_list import write_list
from small_bases import write_static

from patent_mteb import cli


@pytest.fixture
def at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
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
    commands = re.findall(r"^  ((?:[A-Z_]+=\S* |[A-Z_]+='[^']*' )?patent-mteb .*)$", said, re.MULTILINE)
    assert len(commands) == 5
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
        words = shlex.split(command)
        before = dict(os.environ)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            os.environ[name] = value
        assert cli.main(words[1:]) == 0, command
        os.environ.clear()
        os.environ.update(before)
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
