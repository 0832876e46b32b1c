"""A build that is refused, or made over an older one; tests/faults/test_kills.py kills them."""

from __future__ import annotations

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
    offices = [
        f"{side}_{what}" for side in ("query", "ipc") for what in ("offices=", "first_year=None", "last_year=None")
    ]
    recipes.run("patentmap", Collection(*world()), tmp_path, offices)
    assert not stale.exists()
    assert other.read_text() == "older", "another data set of the same organisation is not touched"
    assert not list(tmp_path.glob(".building*"))


def test_two_builds_at_once_do_not_remove_each_other(tmp_path):
    with files.replacing_folders(tmp_path, "one") as first:
        (first / "A").mkdir()
        (first / "A" / "x").write_text("1")
        with files.replacing_folders(tmp_path, "two") as second:
            (second / "B").mkdir()
            (second / "B" / "y").write_text("2")
    assert state(tmp_path) == {"A/x": b"1", "B/y": b"2"}
