"""What the commands print on a terminal of 80 columns: no line of a table is wider, names are complete, measures have
their words.
"""

import os
import re
import subprocess
import sys

import polars as pl
import pytest
from report_folders import sample_world

from patent_mteb import cli, report
from patent_mteb.cli import common
from patent_mteb.cli.run import show
from patent_mteb.experiments.run import Outcome, Report
from patent_mteb.store.encoder import progress_bar
from patent_mteb.tasks import catalogue

RAW = re.compile(r"\b\w*_at_\d+\b|\bmacro_f1\b|\bv_measure\b")


@pytest.fixture
def printed(monkeypatch, capsys):
    monkeypatch.setattr(common.console, "_width", 80)
    monkeypatch.setenv("COLUMNS", "80")

    def of(*words):
        assert cli.main([*words]) in (0, 1)
        return capsys.readouterr().out

    return of


@pytest.mark.parametrize("what", ["tasks", "benchmarks", "models"])
def test_lists(printed, what):
    text = printed("list", what)
    assert max(map(len, text.splitlines())) <= 80
    assert not RAW.findall(text)
    if what == "tasks":
        assert {task.metadata.name for task in catalogue.tasks()} <= set(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["", *cli.COMMANDS, "data"])
def test_help(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.main([*command.split(), "--help"])
    text, _, _ = capsys.readouterr().out.partition("Examples:")  # these keep their lines, so that they can be copied
    assert text and [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.slow
def test_a_pipe_is_as_wide_as_columns_say():
    words = [sys.executable, "-m", "patent_mteb", "list", "benchmarks"]
    found = {}
    for columns in ("70", ""):
        known = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        printed = subprocess.run(
            words, env=known | ({"COLUMNS": columns} if columns else {}), capture_output=True, text=True, check=True
        )
        found[columns] = max(map(len, printed.stdout.splitlines()))
    assert found["70"] <= 70 < found[""] <= 200


def test_a_column_that_is_empty_in_all_rows_is_not_printed(printed, capsys):
    common.show(("task", "IN", "OUT"), [("a", "", None), ("b", "", 0.5)], right=("IN", "OUT"))
    assert capsys.readouterr().out.split() == ["task", "OUT", "a", "b", "0.5"]
    common.show(("task", "IN"), [])
    assert capsys.readouterr().out.split() == ["task", "IN"], "a table without rows has its titles"


def test_a_broken_line_continues_with_an_indent_and_a_path_is_never_broken(printed, capsys):
    common.say("word " * 20)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("word") and second.startswith("  word") and len(first) <= 80
    common.say("word", "/" + "x" * 80, "word")
    assert capsys.readouterr().out == f"word /{'x' * 80} word\n"


def test_a_bar_has_space_for_counts_and_the_time_left():
    bar = progress_bar("LensExportCitationRetrieval.local-70d7fc86cd88, org/model-with-a-long-name", 206_000, 0, True)
    shown = bar.format_meter(n=103_000, total=206_000, elapsed=60, ncols=80, prefix=bar.desc, unit="text")
    bar.close()
    assert "103000/206000 [01:00<01:00, " in shown and len(shown) <= 80


def test_runs(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(common.console, "_width", 80)
    monkeypatch.setenv("COLUMNS", "80")
    tasks = {
        "PatentCitationRetrieval.local-0123456789ab": "ndcg_at_10",
        "WIPOATRespiratoryClassification.NoDWPI.sample": "macro_f1",
    }
    outcomes = [
        Outcome(task, "scored", main, {"main_score": 0.25, main: 0.25, f"in_{main}": 0.5, "n_queries": 1102}, 12.5)
        for task, main in tasks.items()
    ]
    show(Report("acme/model", tuple(outcomes)), tmp_path)
    text = capsys.readouterr().out
    table = text[: text.index("Tasks named")]
    assert max(map(len, table.splitlines())) <= 80 and not RAW.findall(table)
    assert set(tasks) <= set(table.split()) and "nDCG@10" in table and "macro F1" in table


def test_scores_that_were_there_stand_with_their_day(capsys, tmp_path):
    outcomes = (
        Outcome("A", "scored", "ndcg_at_10", {"main_score": 0.5, "ndcg_at_10": 0.5}, 0.1, cached="2026-03-01"),
        Outcome("B", "scored"),
    )
    show(Report("acme/model", outcomes), tmp_path)
    text = capsys.readouterr().out
    (line,) = [line for line in text.splitlines() if line.startswith("A ")]
    assert line.endswith("of 2026-03-01")
    assert "1 of 2 were there already" in text


def test_files_for_readers_have_words_and_files_for_programs_keys(tmp_path):
    root = sample_world(tmp_path / "world")
    report.run(root, formats=("markdown", "latex", "csv"), out=tmp_path, test="t")
    for name in ("report.md", "tables.tex"):
        assert "nDCG@10" in (tmp_path / name).read_text() and "macro F1" in (tmp_path / name).read_text()
    read = pl.read_csv(tmp_path / "csv" / "sample-patenteb-tasks.csv")
    assert {"ndcg_at_10", "macro_f1", "v_measure"} <= set(read["measure"])
