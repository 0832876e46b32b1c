"""Arguments of the commands: the same option means the same everywhere, every one is explained, parsing loads nothing;
tables.
"""

import logging
import re
import subprocess
import sys

import pytest

import patent_mteb
from patent_mteb import cli
from patent_mteb.cli import common


def options(parser, command):
    """Every spelling of every option of a command."""
    (choices,) = [action.choices for action in parser._actions if isinstance(action.choices, dict)]
    return {option for action in choices[command]._actions for option in action.option_strings}


def test_run_takes_every_option_of_mteb_run():
    from mteb.cli.build_cli import build_cli

    deprecated = {"--overwrite", "--save_predictions"}
    wanted = options(build_cli(), "run") - deprecated
    assert {option.replace("_", "-") for option in wanted} <= options(cli.parser(), "run")


def parsed(monkeypatch, command, *words):
    """The arguments that a command gets."""
    seen = []
    monkeypatch.setattr(cli.COMMANDS[command], "main", lambda args: seen.append(args) or 0)
    assert cli.main([command, *words]) == 0
    return vars(seen[0])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "run",
            (
                "-m x --eval_splits test --batch_size=4 --num_proc 2 --model_revision a_b --output_folder my_results"
                " --co2_tracker"
            ),
        ),
        (
            "run",
            (
                "-m x --task_types Retrieval --overwrite_strategy always --prediction_folder=a_b --no_store"
                " --rerank_depth 5"
            ),
        ),
        ("sweep", "dapfam --model_revision a_b --batch_size 3 --no_store"),
        ("geometry", "-m some_model -t a_task --max_documents 7 --model_revision=a_b"),
        ("store", "prune --older_than 3 --dry_run"),
    ],
)
def test_underscores_do_in_every_option_and_stay_in_values(monkeypatch, command, words):
    with_dashes = re.sub(r"(?<=--)\w+", lambda name: name[0].replace("_", "-"), words)
    assert with_dashes != words
    args = parsed(monkeypatch, command, *words.split())
    assert args == parsed(monkeypatch, command, *with_dashes.split())
    assert "--model_revision" not in words or args["model_revision"] == "a_b"


REQUIRED = {
    "list": [],
    "run": ["-m", "x"],
    "encode": ["-m", "x"],
    "sweep": ["dapfam"],
    "candidates": ["-t", "x", "-m", "y", "--out", "o"],
    "score": ["r", "-t", "x"],
    "fuse": ["r", "s", "-t", "x"],
    "beir": ["x", "d"],
    "report": ["r"],
    "export": ["r", "o"],
    "leaderboard": ["r", "o"],
    "upstream": ["d"],
    "reproduce": ["--results", "r"],
    "geometry": ["-m", "x", "-t", "y"],
    "store": ["info"],
    "import": ["f"],
    "inspect": ["r"],
    "summarise": ["r", "--extractive"],
    "build": ["WIPO-AT", "p", "c", "r"],
    "edition": ["verify", "m", "d"],
    "train": ["wipo-r3", "d", "-m", "x", "--out", "o"],
    "validate": ["d"],
    "doctor": [],
}


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_takes_verbosity(monkeypatch, command):
    assert REQUIRED.keys() == cli.COMMANDS.keys()
    assert parsed(monkeypatch, command, *REQUIRED[command])["verbosity"] == 2
    assert logging.getLogger("patent_mteb").level == logging.INFO
    for word, level in (("0", logging.CRITICAL), ("1", logging.WARNING), ("3", logging.DEBUG)):
        assert parsed(monkeypatch, command, *REQUIRED[command], "-v", word)["verbosity"] == int(word)
        assert logging.getLogger("patent_mteb").level == level


def test_steps_of_an_edition_take_verbosity_before_and_behind_them(monkeypatch):
    words = REQUIRED["edition"]
    for given in (["-q", *words], [*words, "-q"], [words[0], "-q", *words[1:]], [*words, "-v", "0"]):
        args = parsed(monkeypatch, "edition", *given)
        assert (args["verbosity"], args["no_progress"]) == (0, False)
    assert parsed(monkeypatch, "edition", "--no-progress", *words)["no_progress"]
    assert parsed(monkeypatch, "edition", *words, "--no-progress")["no_progress"]


@pytest.mark.parametrize("command", ["run", "sweep", "geometry"])
def test_what_encodes_takes_the_same_options(monkeypatch, command):
    words = ["-m", "org/name", "--model-revision", "r", "--device", "1", "--batch-size", "8"]
    args = parsed(monkeypatch, command, *REQUIRED[command], *words, "--store", "s")
    assert (args["model"], args["model_revision"], args["device"], args["batch_size"]) == ("org/name", "r", "cuda:1", 8)
    assert (str(args["store"]), args["no_store"]) == ("s", False)
    assert parsed(monkeypatch, command, *REQUIRED[command], "--no-store", "--device", "cpu")["device"] == "cpu"
    with pytest.raises(SystemExit) as stopped:
        cli.main([command, *REQUIRED[command], "--no-store", "--store", "s"])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run", "-m x --out there"),
        ("run", "-m x --output-folder there"),
        ("sweep", "dapfam --out there"),
        ("report", "r --out there"),
        ("export", "r --out there"),
        ("export", "--out there r"),
        ("export", "r there"),
        ("export", "r -m x there"),
        ("build", "WIPO-AT p c --out there"),
        ("build", "WIPO-AT --out there p c"),
        ("build", "WIPO-AT p c there"),
        ("build", "WIPO-AT --set seed=7 p c there"),
        ("build", "WIPO-AT records there"),
        ("build", "WIPO-AT records --out there"),
    ],
)
def test_output_is_said_in_one_way(monkeypatch, command, words):
    args = parsed(monkeypatch, command, *words.split())
    assert str(args["out"] or args["folder"]) == "there"


@pytest.mark.parametrize("words", ["export r", "build WIPO-AT p", "build WIPO-AT", "build --settings"])
def test_what_is_needed_is_asked_for(capsys, words):
    with pytest.raises(SystemExit) as stopped:
        cli.main(words.split())
    assert stopped.value.code == 2
    assert "required" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["export r there --out elsewhere", "build WIPO-AT --out elsewhere p c there"])
def test_no_second_output_is_ignored(capsys, words):
    assert cli.main(words.split()) == 2
    assert "two folders to write to, there and elsewhere" in capsys.readouterr().err


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_explains_every_option_and_shows_its_default(monkeypatch, capsys, command):
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit) as stopped:
        cli.main([command, "--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    (choices,) = [action.choices for action in cli.parser()._actions if isinstance(action.choices, dict)]
    for action in choices[command]._actions:
        assert action.help, action.dest
        lines = [line for line in printed.splitlines() if action.help in line]
        assert lines, action.dest
        if action.default not in (None, False, [], "==SUPPRESS=="):
            default = " ".join(map(str, action.default)) if isinstance(action.default, list) else action.default
            assert lines[0].endswith(f"(default: {default})")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], ["report", "--nonsense"]])
def test_what_needs_no_model_loads_neither_mteb_nor_torch(words):
    code = (
        "import sys; sys.argv[0] = 'patent-mteb'\n"
        "from patent_mteb.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(sorted({'mteb', 'torch', 'transformers', 'polars', 'datasets'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "patent_mteb.cli", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"patent-mteb {patent_mteb.__version__}\n"), done.stderr


@pytest.mark.parametrize("width", [20, 60, 200])
def test_tables_never_cut_a_name(monkeypatch, capsys, width):
    monkeypatch.setattr(common.console, "_width", width)
    names = [f"organisation/a-model-with-a-{'very-' * 12}long-name", "PatentDAPFAMTitleAbstractToFullTextRetrieval"]
    common.show(
        ("model", "note", "value"),
        [(name, "several words to break", 0.5) for name in names] + [(None, "", None)],
        right=("value",),
    )
    printed = capsys.readouterr().out
    unbroken = "".join(
        map(str.strip, printed.splitlines())
    )  # a name that is wider than the terminal stands in several lines
    assert all(name in (printed if len(name) <= width else unbroken) for name in names)
    assert "…" not in printed and max(map(len, printed.splitlines())) <= width


def test_tables_print_markup_as_text(capsys):
    common.show(("[bold]title",), [("[red]cell[/]",)])
    common.say("[red]line[/]")
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "[bold]title",
        "[red]cell[/]",
        "[red]line[/]",
    ]
