"""``--json`` prints the same document for every command, of its success and of its errors."""

import json

import pytest
from command_arguments import arguments
from paths import ROOT

from patent_mteb import cli
from patent_mteb.cli import common
from patent_mteb.errors import DataError, ModelError
from patent_mteb.identity import version

KEYS = ["command", "version", "ok", "result", "notes", "error"]


def document(capsys, status, *words):
    """The document that a command line prints, alone on standard output, and what it prints to standard error."""
    try:
        found = cli.main([*map(str, words), "--json"])
    except SystemExit as stopped:
        found = stopped.code
    streams = capsys.readouterr()
    printed = json.loads(streams.out)
    assert found == status and list(printed) == KEYS and printed["version"] == version()
    assert printed["ok"] == (status == 0) and all(isinstance(note, str) for note in printed["notes"])
    error = printed["error"]
    assert error is None or not printed["ok"]
    assert error is None or list(error) == ["type", "message", "problem", "path", "row", "remedy"]
    return printed, streams.err


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_the_option_and_prints_usage_errors_as_the_document(capsys, command):
    (option,) = [argument for argument in arguments(command) if "--json" in argument.names]
    assert option.parameter.help == "Print one JSON document instead of text (docs/commands.md)."
    printed, err = document(capsys, 2, *command.split(), "--no-such-option")
    assert (printed["command"], printed["result"], printed["error"]["type"]) == (command, None, "UsageError")
    assert f"see 'patent-mteb {command} --help'" in printed["error"]["message"] in err


def test_the_document_of_the_docs_is_the_printed_one(capsys):
    shown = (ROOT / "docs" / "commands.md").read_text("utf-8").partition("$ patent-mteb list benchmark --json\n")[2]
    printed, _ = document(capsys, 2, "list", "benchmark")
    assert json.loads(shown.partition("\n\n")[0]) == {**printed, "version": "0.1.0"}


def test_a_shell_without_completion_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--print-completion", "ksh"])
    assert stopped.value.code == 2 and "choose from bash" in capsys.readouterr().err


def test_an_unknown_command_is_a_document_too(capsys):
    printed, _ = document(capsys, 2, "rnu")
    assert printed["command"] == "" and 'Did you mean "run"?' in printed["error"]["message"]


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (DataError("it is empty", remedy="fill it"), 2, "it is empty. Remedy: fill it."),
        (ModelError("no encoder"), 2, "no encoder"),
        (RuntimeError("broken"), 1, "store info failed (RuntimeError: broken"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_an_error_after_output_keeps_the_notes(monkeypatch, capsys, error, status, message):
    def stops(function, bound):
        common.say("one of two")
        common.warn("careful")
        raise error

    monkeypatch.setattr(cli, "execute", stops)
    printed, err = document(capsys, status, "store", "info")
    assert printed["notes"] == ["one of two", "careful"] and message in printed["error"]["message"]
    assert printed["error"]["type"] == type(error).__name__ and "careful" in err and "one of two" not in err


def test_tables_are_the_result_of_a_command_without_its_own(monkeypatch, capsys):
    def shows(function, bound):
        common.show(("name", "n"), iter([("a\x1b[31m", 2), ("b", float("nan"))]), right=("n",))
        return 1

    monkeypatch.setattr(cli, "execute", shows)
    printed, _ = document(capsys, 1, "store", "info")
    assert printed["result"] == {"tables": [[{"name": "a\x1b[31m", "n": 2}, {"name": "b", "n": None}]]}
    assert printed["error"] is None and printed["notes"] == []


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["list", "benchmarks"], "WIPO-AT"),
        (["list", "models"], None),
        (["data", "import", "--sources"], None),
        (["data", "build", "dapfam", "--settings"], "earliest_claim"),
        (["runs", "sweep", "dapfam", "--paper", "--list"], "bm25"),
        (["train", "--recipes"], "wipo-r1"),
    ],
)
def test_lists(capsys, words, first):
    result = document(capsys, 0, *words)[0]["result"]
    rows = result if isinstance(result, list) else result["tables"][0]
    assert len(rows) > 2 and all(row.keys() == rows[0].keys() for row in rows)
    assert first is None or first in rows[0].values()
    assert cli.main(words) == 0 and not capsys.readouterr().out.startswith("{"), "the next command prints text again"


def test_a_first_column_map_is_text(tmp_path, capsys):
    (tmp_path / "export.csv").write_text("Publication Number,Title\nUS1234567B2,A cup\n")
    assert cli.main(["data", "import", "--suggest", str(tmp_path / "export.csv")]) == 0
    text = capsys.readouterr().out
    assert document(capsys, 0, "data", "import", "--suggest", tmp_path / "export.csv")[0]["result"] == text


@pytest.mark.slow
def test_a_run_and_what_reads_it(tmp_path, capsys):
    task, out = "PatentMapAbsToAbsRetrieval.sample", tmp_path / "results"
    words = ["run", "-t", task, "-m", "bm25", "--out", out]
    plan = document(capsys, 0, *words, "--dry-run")[0]["result"]
    assert [(row["task"], row["status"]) for row in plan["tasks"]] == [(task, "to do")] and plan["seconds"] is None
    printed, _ = document(capsys, 0, *words)
    (row,) = printed["result"]["tasks"]
    assert (row["task"], row["status"]) == (task, "scored") and printed["result"]["exit_status"] == 0
    assert any("built-in sample" in note for note in printed["notes"])
    found = document(capsys, 0, "report", out)[0]["result"]
    assert [(one["task"], one["value"]) for one in found["results"]] == [(task, row["value"])]
    compared, _ = document(capsys, 1, "reproduce", "--results", out)
    assert compared["result"]["lines"] == [] and compared["error"] is None
    assert [f"note: {message}" for message in compared["result"]["messages"]] == compared["notes"][:-1]
    assert document(capsys, 2, "report", tmp_path / "none")[0]["error"]["type"] == "DataError"


@pytest.mark.slow
def test_findings(without_hook, tmp_path, capsys):
    (tmp_path / "WIPO-AT").mkdir()
    (tmp_path / "WIPO-AT" / "corpus.jsonl").write_text("no table\n")
    printed, _ = document(capsys, 2, "data", "validate", tmp_path)
    assert printed["error"] is None and "error" in {finding["rank"] for finding in printed["result"]}
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "broken.json").write_text("{")
    printed, _ = document(capsys, 1, "doctor", tmp_path / "results", "--store", tmp_path / "store")
    (finding,) = [one for one in printed["result"] if one["place"].endswith("broken.json")]
    assert finding.keys() == {"place", "problem", "remedy", "fixed"} and not finding["fixed"]
