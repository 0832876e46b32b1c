"""The patches in upstream/ apply to the mteb that they were made for, and do what they say."""

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PATCHES = Path(__file__).parents[1] / "upstream"
MADE_FOR = re.search(r"mteb (\d[\d.]*\d)", (PATCHES / "README.md").read_text("utf-8"))[1]
TRIED = """
import mteb
from mteb.external import external_tasks
tasks = mteb.get_tasks(tasks=["SciFact"])
assert "cite{specter2020cohan}" in tasks.to_latex()
assert external_tasks() == {}
"""


@pytest.mark.slow
def test_the_patches_apply_and_work(tmp_path):
    if importlib.metadata.version("mteb") != MADE_FOR:
        pytest.skip(f"the patches are for mteb {MADE_FOR}")
    installed = Path(importlib.util.find_spec("mteb").origin).parent
    shutil.copytree(installed, tmp_path / "mteb", ignore=shutil.ignore_patterns("__pycache__"))
    for patch in sorted(PATCHES.glob("*.patch"), reverse=True):
        command = ["git", "apply", "--include=mteb/*", str(patch)]
        subprocess.run(command, cwd=tmp_path, check=True)
    command = [sys.executable, "-c", TRIED]
    subprocess.run(command, cwd=tmp_path, check=True, env={"PATENT_MTEB_AUTOLOAD": "0", "HF_HUB_OFFLINE": "1"})
