"""Arguments of the commands: the same option means the same everywhere, every one is explained, parsing loads nothing;
tables.
"""

import logging
import re
import subprocess
import sys

import pytest
from command_arguments import arguments

import patent_mteb
from patent_mteb import cli
from patent_mteb.cli import app, common
from patent_mteb.cli.options import Session


def test_run_takes_every_option_of_mteb_run():
    from mteb.cli.build_cli import build_cli

    (choices,) = [action.choices for action in build_cli()._actions if isinstance(action.choices, dict)]
    deprecated = {"--overwrite", "--save_predictions"}
    wanted = {option for action in choices["run"]._actions for option in action.option_strings} - deprecated
    options = {option for argument in arguments("run") for option in argument.names} | {"-h", "--help"}
    assert {option.replace("_", "-") for option in wanted} <= options


def parsed(monkeypatch, command, *words):
    """The arguments that a command gets, those of its dataclasses included, and its verbosity."""
    seen = []
    monkeypatch.setattr(cli, "execute", lambda function, bound: seen.append(bound) or 0)
    assert cli.main([*command.split(), *words]) == 0
    seen[0].apply_defaults()
    found = {}
    for name, value in seen[0].arguments.items():
        found |= vars(value) | {"level": value.level} if isinstance(value, Session) else {name: value}
    return found


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run", "-m x --eval_splits test --batch_size=4 --model_revision a_b --output_folder my_results --co2_tracker"),
        ("geometry", "-m some_model -t a_task --max_documents 7 --model_revision=a_b"),
        ("store prune", "--older_than 3 --dry_run"),
    ],
)
def test_underscores_do_in_every_option_and_stay_in_values(monkeypatch, command, words):
    with_dashes = re.sub(r"(?<=--)\w+", lambda name: name[0].replace("_", "-"), words)
    assert with_dashes != words
    args = parsed(monkeypatch, command, *words.split())
    assert args == parsed(monkeypatch, command, *with_dashes.split())
    assert "--model_revision" not in words or args["model_revision"] == "a_b"


REQUIRED = {
    "try": ["f"],
    "list": [],
    "run": ["-m", "x"],
    "report": ["r"],
    "compare": [],
    "reproduce": ["--results", "r"],
    "geometry": ["-m", "x", "-t", "y"],
    "train": ["wipo-r3", "d", "-m", "x", "--out", "o"],
    "doctor": [],
    "data import": ["f"],
    "data inspect": ["r"],
    "data build": ["WIPO-AT", "p", "c", "r"],
    "data validate": ["d"],
    "data forget": [],
    "data summarise": ["r", "--extractive"],
    "runs candidates": ["-t", "x", "-m", "y", "--out", "o"],
    "runs score": ["r", "-t", "x"],
    "runs fuse": ["r", "s", "-t", "x"],
    "runs sweep": ["dapfam"],
    "store encode": ["-m", "x"],
    "store info": [],
    "store verify": [],
    "store prune": ["--damaged"],
    "store merge": ["other"],
    "models verify": ["x"],
    "publish model": ["c", "--name", "o/n"],
    "publish results": ["r", "o"],
    "publish board": ["r", "o"],
    "publish check": ["b"],
    "publish anonymous": ["r", "o"],
    "contamination": ["records"],
    "publish mteb": ["d"],
    "publish beir": ["x", "d"],
    "edition build": ["open-us", "r", "o", "--window", "2026"],
    "edition baselines": ["e"],
    "edition rebuild": ["m", "r", "o"],
    "edition verify": ["m", "d"],
    "edition audit": ["p"],
}


def test_options_may_stand_before_the_command_of_a_group(monkeypatch):
    words = ["verify", *REQUIRED["edition verify"]]
    for given in (["-q", *words], [*words, "-q"], [words[0], "-q", *words[1:]], [*words, "-v", "0"]):
        args = parsed(monkeypatch, "edition", *given)
        assert (args["level"], args["no_progress"]) == (0, False)
    assert parsed(monkeypatch, "edition", "--no-progress", *words)["no_progress"]
    assert parsed(monkeypatch, "edition", *words, "--no-progress")["no_progress"]
    assert str(parsed(monkeypatch, "store", "--store", "s", "verify")["store"]) == "s"


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_explains_its_options_and_takes_verbosity(monkeypatch, command):
    assert REQUIRED.keys() == cli.COMMANDS.keys()
    assert parsed(monkeypatch, command, *REQUIRED[command], "-v", "3")["level"] == 3
    assert logging.getLogger("patent_mteb").level == logging.DEBUG
    assert [argument.name for argument in arguments(command) if not argument.parameter.help] == []


def test_levels_of_verbosity(monkeypatch):
    assert parsed(monkeypatch, "list")["level"] == 2
    for word, level in (("0", logging.CRITICAL), ("1", logging.WARNING), ("2", logging.INFO)):
        assert parsed(monkeypatch, "list", "-v", word)["level"] == int(word)
        assert logging.getLogger("patent_mteb").level == level


@pytest.mark.parametrize("former", app.RENAMED)
def test_former_names_work_with_a_note(monkeypatch, capsys, former):
    name = app.RENAMED[former]
    assert name in cli.COMMANDS and former not in cli.COMMANDS
    words = REQUIRED[name]
    given = parsed(monkeypatch, former, *words)
    assert capsys.readouterr().err == f"note: 'patent-mteb {former}' is now 'patent-mteb {name}'\n"
    assert given == parsed(monkeypatch, name, *words)
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option"), [("run", "--batch-size"), ("runs fuse", "--depth"), ("geometry", "--max-documents")]
)
def test_whole_numbers_are_refused_otherwise(capsys, command, option):
    """A command line that rounds 2.5 measures something else."""
    (argument,) = [one for one in arguments(command) if one.name == option]
    assert "int" in str(argument.hint)
    for value in ("2.5", "99999999999999999999", *(() if command == "geometry" else ("0", "-1"))):
        with pytest.raises(SystemExit) as stopped:
            cli.main([*command.split(), *REQUIRED[command], f"{option}={value}"])
        assert stopped.value.code == 2 and option in capsys.readouterr().err, value


@pytest.mark.parametrize("command", ["run", "runs sweep", "geometry"])
def test_what_encodes_takes_the_same_options(monkeypatch, command):
    words = ["-m", "org/name", "--model-revision", "r", "--device", "1", "--batch-size", "8"]
    args = parsed(monkeypatch, command, *REQUIRED[command], *words, "--store", "s")
    assert (args["model"], args["model_revision"], args["device"], args["batch_size"]) == ("org/name", "r", "cuda:1", 8)
    assert (str(args["store"]), args["no_store"]) == ("s", False)
    assert parsed(monkeypatch, command, *REQUIRED[command], "--no-store", "--device", "cpu")["device"] == "cpu"
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command.split(), *REQUIRED[command], "--no-store", "--store", "s"])
    assert stopped.value.code == 2


@pytest.mark.parametrize("words", ["publish results r", "data build WIPO-AT", "data build --settings", "data import"])
def test_missing_arguments_are_named(capsys, words):
    with pytest.raises(SystemExit) as stopped:
        cli.main(words.split())
    assert stopped.value.code == 2
    assert "requir" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["report", "--nonsense"]])
def test_what_needs_no_model_loads_neither_mteb_nor_torch(words):
    code = (
        "import sys; sys.argv[0] = 'patent-mteb'\n"
        "from patent_mteb.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(sorted({'mteb', 'torch', 'polars', 'scipy', 'datasets'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


@pytest.mark.slow
def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "patent_mteb.cli", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"patent-mteb {patent_mteb.__version__}\n"), done.stderr


def test_tables_print_markup_as_text(capsys):
    common.show(("[bold]title",), [("[red]cell[/]",)])
    common.say("[red]line[/]")
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "[bold]title",
        "[red]cell[/]",
        "[red]line[/]",
    ]
