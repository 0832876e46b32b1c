"""``--include FILE`` registers the benchmarks of a file for any command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from patent_mteb.cli import app, main

EXAMPLE = Path(__file__).parents[2] / "examples" / "add_a_benchmark.py"


def test_the_option_may_be_anywhere_and_is_repeatable():
    assert app.included(["--include", "a.py", "list", "--include=b.py"]) == ([Path("a.py"), Path("b.py")], ["list"])
    assert app.included(["list", "--json"]) == ([], ["list", "--json"])


def test_a_file_that_cannot_be_included_is_one_error(tmp_path, capsys):
    broken = tmp_path / "broken_benchmark.py"
    broken.write_text("1 / 0")
    taken = tmp_path / "json.py"
    taken.write_text("")
    for file, message in [
        (broken, "ZeroDivisionError"),
        (taken, "a name that no other module has"),
        (tmp_path / "none.py", "cannot import"),
    ]:
        assert main(["--include", str(file), "list"]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    sys.modules.pop("broken_benchmark", None)


@pytest.mark.parametrize("words", [["--include"], ["--include", "list"], ["--include", "file.py"]])
def test_an_incomplete_line_is_a_usage_error(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert "--include" in capsys.readouterr().err


@pytest.mark.slow
def test_run_list_and_report_know_the_benchmark_of_a_file(tmp_path, python):
    """In a process of its own, because a registered benchmark stays."""

    def patent_mteb(*words):
        command = [python, "-m", "patent_mteb.cli", "--include", str(EXAMPLE), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    printed = patent_mteb("run", "-t", "KnownAbstractByTitle.sample", "KnownAbstractByKeywords.sample", "-m", "bm25")
    assert (
        "KnownAbstractByTitle.sample" in printed
        and len(list(tmp_path.glob("results/**/KnownAbstract*.sample.json"))) == 2
    )
    rows = json.loads(patent_mteb("list", "tasks", "-b", "KnownAbstract", "--json"))["result"]
    assert [row["task"] for row in rows] == ["KnownAbstractByTitle", "KnownAbstractByKeywords"]
    assert "KnownAbstract" in patent_mteb("report", "results")
