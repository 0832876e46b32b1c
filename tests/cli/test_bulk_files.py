"""The main job on real bulk files, in the words of docs/readers.md: import, inspect, build, validate, run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from second_reading import BULK

from patent_mteb import cli

PAGE = (Path(__file__).parents[2] / "docs" / "readers.md").read_text("utf-8")
LINES = re.findall(r"^ {4}(.+)$", PAGE.partition("## From bulk files to a score")[2].partition("## ")[0], re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(not BULK.is_dir(), reason="shared/data/bulk is not here")
def test_real_files_of_the_office_become_a_score(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grants").symlink_to(BULK / "uspto")
    shown = {}
    for line in LINES:
        words = shlex.split(line)
        while "=" in words[0]:
            monkeypatch.setenv(*words.pop(0).split("=", 1))
        assert words.pop(0) == "patent-mteb"
        assert cli.main(words) == 0, line
        shown[words[words[0] == "data"]] = capsys.readouterr().out
    assert list(shown) == ["import", "inspect", "build", "validate", "run"]
    assert re.search(r"patents +33\b", shown["import"]) and re.search(r"citations +653\b", shown["import"])
    assert "patent-mteb data build patenteb" in shown["inspect"] and "653 citations" in shown["inspect"]
    assert "1 tasks load (GrantsPatenTEBTitle2Full)" in shown["validate"]
    (file,) = [
        path for path in (tmp_path / "results").rglob("GrantsPatenTEBTitle2Full*.json") if "queries" not in path.name
    ]
    assert json.loads(file.read_text("utf-8"))["scores"]["test"][0]["main_score"] > 0.5, "a title finds its own patent"
