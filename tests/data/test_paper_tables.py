"""``reproduce --paper --table`` on released layouts, from a loopback hub."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tiny_checkpoints import bare

from patent_mteb import cli
from patent_mteb.experiments import sweep
from patent_mteb.experiments.papers import paper_runs
from patent_mteb.published import card, expected, expected_in, tables_to_run

pytestmark = pytest.mark.slow
SCORED = {
    ("dapfam", 17): {"bm25": 16},
    ("dapfam", 19): {"bm25": 9, "model": 9},
    ("patenteb", 16): {"bm25": 6, "model": 6},
    ("patentmap", 2): {"bm25": 2, "model": 3},
}
"""One table of each way to judge and to join it, with the number of tasks that BM25 and an encoder have a score in."""
BM25_PRINTED = {("dapfam", 17), ("patentmap", 2)}
"""Tables that print BM25, whose numbers are judged."""


@pytest.mark.parametrize(("paper", "table"), SCORED)
def test_one_command_runs_a_table_for_bm25_and_an_encoder(published, tmp_path, capsys, paper, table):
    model, results = bare(tmp_path / "model", 16, 1), tmp_path / "results"
    arguments = ["reproduce", "--paper", paper, "--table", str(table), "--results", str(results)]
    status = cli.main([*arguments, "-m", "bm25", str(model), "--store", str(tmp_path / "store")])
    shown = capsys.readouterr()
    judged = (paper, table) in BM25_PRINTED
    assert status == int(judged) and ("FAIL" in shown.out) == judged  # invented data have no score of the paper
    joined = f"Table {table} with measured rows" in shown.out or f"Tables 17 and {table} with" in shown.out
    assert joined == (not judged and paper in ("dapfam", "patenteb") and table != 16)
    files = {path for path in results.rglob("*.json") if "task_name" in json.loads(path.read_text())}
    counts = {
        name: len({path.stem.partition(".")[0] for path in files if (name == "bm25") == ("bm25" in str(path.parent))})
        for name in ("bm25", "model")
    }
    assert {name: count for name, count in counts.items() if count} == SCORED[paper, table], shown.err
    assert "setting" in shown.out and "source" in shown.out
    if (paper, table) == ("patentmap", 2):
        cli.main([*arguments, "-m", "bm25", str(model), "--store", str(tmp_path / "store")])
        assert "were there already" in capsys.readouterr().out


def test_dapfam_passages_are_rows_next_to_the_print_and_not_judged(published, tmp_path, capsys, monkeypatch):
    few = replace(sweep.PAPER[1], queries=("TA",), aggregates=("maxP",), lengths=(256,))
    monkeypatch.setattr(sweep, "PAPER", (sweep.PAPER[0], few, *sweep.PAPER[2:]))
    assert cli.main(["reproduce", "--paper", "dapfam", "--table", "18", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "1 runs in" in shown and "Not judged: passages, whose stride" in shown


def test_a_plan_of_all_tables_counts_and_runs_nothing(published, tmp_path, capsys):
    assert cli.main(["reproduce", "--all", "-m", "bm25", "--dry-run", "--results", str(tmp_path / "r"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]["runs"]
    assert len(found) == sum(map(len, tables_to_run().values())) and not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--paper", "dapfam", "--table", "9"], "Table 9 of dapfam is not run"),
        (["--paper", "patentmarp"], "unknown paper 'patentmarp'"),
        (["--table", "9"], "--table is a table of a paper"),
        (["--all", "--paper", "dapfam"], "exclude each other"),
        (["--dry-run"], "plans the runs"),
    ],
)
def test_what_cannot_be_run_is_one_message(capsys, arguments, message):
    assert cli.main(["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_settings_of_every_run_are_those_of_its_rows():
    for run in paper_runs():
        rows = [row for row in expected_in(run.paper, run.table) if row.model == run.model]
        mine = [row for row in rows if {**row.here, **row.settings} == run.settings and row.not_run == run.problem]
        assert mine and set(run.tasks) == {task for row in mine for task in row.tasks}


def test_every_fact_has_a_source_and_every_stated_setting_is_a_fact_of_its_card():
    for row in expected():
        paper, table, _ = row.cell.split(" ", 2)
        facts = {fact.name: fact for fact in card(paper, int(table), row.model, row.cell.rpartition(":")[2])}
        assert all(fact.value and fact.source for fact in facts.values())
        if not row.model.startswith("patent-mteb/"):  # printed under mteb's name of BM25
            assert {name: facts[name].value for name in row.settings} == row.settings
