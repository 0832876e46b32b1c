"""What the README prints is so: its import paths exist, its commands are understood, its files are there."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest

from patent_mteb import cli

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
CODE = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
COMMANDS = [line.strip() for line in README.splitlines() if re.match(r" {4}patent-mteb \w", line)]


def test_import_paths_of_the_readme_work():
    imports = [node for node in ast.walk(ast.parse(CODE)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(imports) >= 3
    for node in imports:
        exec(compile(ast.Module([node], []), "README.md", "exec"), {})
    for dotted in set(re.findall(r"`(patent_mteb(?:\.\w+)+)`", README)):
        module, _, name = dotted.rpartition(".")
        assert importlib.util.find_spec(dotted) or hasattr(importlib.import_module(module), name), dotted


def test_the_records_of_the_first_version_are_still_found_under_their_old_path():
    import patent_mteb.records
    from patent_mteb.records import Patent, read_patents

    from patent_mteb.patents import records

    assert Patent is records.Patent and read_patents is records.read_patents
    assert patent_mteb.records.PATENT_SCHEMA is records.PATENT_SCHEMA


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_readme_are_understood(line):
    """Parsed, not run: ``[a|b]`` and ``a|b`` are choices, of which each is tried."""
    command = line.partition("   #")[0].partition(" # ")[0]
    forms = [command]
    for choice in re.findall(r"\[[\w|]+\]|\b\w+(?:\|\w+)+", command):
        forms = [form.replace(choice, one) for form in forms for one in choice.strip("[]").split("|")]
    for form in forms:
        words = shlex.split(form)[1:]
        assert cli.parser().parse_args(words).command == words[0]


def test_files_that_the_readme_names_are_there():
    root = Path(__file__).parents[1]
    named = set(re.findall(r"`((?:examples|docs|benchmarks|patent_mteb)/[\w./]+)`", README))
    assert named >= {"examples/add_a_benchmark.py", "docs/architecture.md"}
    assert not [name for name in named if not (root / name).exists()]
