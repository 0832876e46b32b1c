"""Hashes under which users' results and stores are filed: they may never change."""

from pathlib import Path

import pytest

from patent_mteb import identity

VALUE = {"b": [1, 2.5, None, "é"], "a": {"x": True}}


def test_hashes_are_those_of_the_first_version():
    assert identity.digest(VALUE) == "ab8af298f8ac"
    assert identity.digest({"p": Path("/x")}, 8) == "315207e8"
    assert identity.json_digest(VALUE) == "cbc4026ca29c2ad938e30238f8a2db5e"
    with pytest.raises(TypeError):
        identity.json_digest({"p": Path("/x")})


def test_the_order_of_keys_does_not_matter_and_everything_else_does():
    turned = dict(reversed(VALUE.items()))
    for hashed in (identity.digest, identity.json_digest):
        assert hashed(turned) == hashed(VALUE)
        assert (
            len({hashed(value) for value in (VALUE, {**VALUE, "c": 1}, [VALUE], {**VALUE, "b": [1, 2.5, None, "e"]})})
            == 4
        )


def test_the_hash_of_a_folder_is_that_of_its_names_and_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a").write_text("x")
    first = identity.content_hash(folder)
    (folder / ".hidden").write_text("y")
    assert identity.content_hash(folder) == first
    (folder / "sub" / "a").rename(folder / "sub" / "b")
    renamed = identity.content_hash(folder)
    (folder / "sub" / "b").write_text("longer")
    assert len({first, renamed, identity.content_hash(folder)}) == 3
    assert identity.content_hash(folder, 20).startswith(identity.content_hash(folder))


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a").write_text("x")
    known = identity.content_hash(folder)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "file" / "cache"))
    assert identity.content_hash(folder) == known
