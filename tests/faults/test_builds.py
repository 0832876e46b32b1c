"""A build that is refused, killed, or made over an older one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from small_patents import world

from patent_mteb import files, recipes
from patent_mteb.errors import DataError
from patent_mteb.patents.collection import Collection


def state(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_refused_build_leaves_what_was_there(tmp_path):
    patents, citations = world()
    recipes.run("sophia", Collection(patents, citations), tmp_path)
    before = state(tmp_path)
    with pytest.raises(DataError) as refused:
        recipes.run("sophia", Collection(patents[:1], ()), tmp_path)
    assert ".building" not in str(refused.value)
    assert state(tmp_path) == before
    with pytest.raises(DataError):
        recipes.run("sophia", Collection(patents[:1], ()), tmp_path / "new")
    assert state(tmp_path / "new") == {}


def test_no_file_of_an_older_build_survives(tmp_path):
    stale = tmp_path / "ZoeYou" / "downstream" / "IPC-Classification" / "validation.parquet"
    other = tmp_path / "ZoeYou" / "another" / "test.parquet"
    for path in (stale, other):
        path.parent.mkdir(parents=True)
        path.write_text("older")
    recipes.run(
        "patentmap",
        Collection(*world()),
        tmp_path,
        [
            "query_offices=",
            "query_first_year=None",
            "query_last_year=None",
            "ipc_offices=",
            "ipc_first_year=None",
            "ipc_last_year=None",
        ],
    )
    assert not stale.exists()
    assert other.read_text() == "older", "another data set of the same organisation is not touched"
    assert not list(tmp_path.glob(".building*"))


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from small_patents import world
from patent_mteb import files, recipes
from patent_mteb.patents.collection import Collection
count = 0
whole = Path.replace
def replace(self, target):
    global count
    count += 1
    if count == {nth}:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(self, target)
Path.replace = replace
recipes.run("sophia", Collection(*world()), Path({root!r}), ["queries=20"])
"""


@pytest.mark.slow
def test_a_build_killed_at_any_of_its_files_leaves_nothing_that_counts(tmp_path, python):
    """Every file is renamed into its place once; the process is killed at each of these moments, then the build is
    repeated.
    """
    patents, citations = world()
    whole = tmp_path / "whole" / "root"
    written = len(recipes.run("sophia", Collection(patents, citations), whole, ["queries=20"]).files) + len(
        ["dataset.json"]
    )
    root = tmp_path / "root"
    for nth in range(1, written + 1):
        code = KILLED.format(tests=str(Path(__file__).parents[1] / "helpers"), nth=nth, root=str(root))
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == -9, done.stderr
        assert not (root / "Sophia").exists() and not (root / "dataset.json").exists(), f"killed at file {nth}"
    recipes.run("sophia", Collection(patents, citations), root, ["queries=20"])
    assert state(root) == state(whole), "the leftovers of the killed ones are gone too"


def test_two_builds_at_once_do_not_remove_each_other(tmp_path):
    with files.replacing_folders(tmp_path, "one") as first:
        (first / "A").mkdir()
        (first / "A" / "x").write_text("1")
        with files.replacing_folders(tmp_path, "two") as second:
            (second / "B").mkdir()
            (second / "B" / "y").write_text("2")
    assert state(tmp_path) == {"A/x": b"1", "B/y": b"2"}
