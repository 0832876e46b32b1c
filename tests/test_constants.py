"""Each numeric constant of the package says where its value comes from."""

from __future__ import annotations

from pathlib import Path

from bare_constants import all_bare_constants, bare_constants


def test_each_numeric_constant_is_explained():
    assert all_bare_constants() == []


def test_a_constant_without_a_word_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("bare_constants.PACKAGE", tmp_path / "package")
    (tmp_path / "package").mkdir()
    path = Path(tmp_path / "package" / "module.py")
    path.write_text(
        'BARE = 1 << 20\nSAID = 0.95  # of intervals\n# a choice\nBEFORE: float = -1.5\nTOLD = 3\n"""Of a kind."""\nNAME = "n"\n'
    )
    assert [line.split(": ")[1] for line in bare_constants(path)] == ["BARE = 1 << 20"]
