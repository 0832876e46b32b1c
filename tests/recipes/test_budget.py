"""A build that needs more memory than it may take is refused before it starts, by one message."""

from __future__ import annotations

import pytest

from patent_mteb import cli, recipes, sample
from patent_mteb.errors import DataError
from patent_mteb.patents.records import Citation, Patent, write_records
from patent_mteb.recipes import memory_of, refuse_beyond_budget


def test_more_publications_take_more():
    for recipe in recipes.RECIPES:
        assert memory_of(recipe, 0) < memory_of(recipe, 1000) < memory_of(recipe, 1_000_000)
    refuse_beyond_budget(None, "wipo_at", 10**12)
    for recipe in ("wipo_at", "dapfam", "patenteb", "sophia"):
        refuse_beyond_budget(4, recipe, 1_000_000)
    with pytest.raises(
        DataError, match=r"10,000,000 publications takes about [\d.]+ GB of memory, and 4 GB are allowed"
    ) as caught:
        refuse_beyond_budget(4, "wipo_at", 10_000_000)
    enough = float(caught.value.remedy.split("--memory ")[1].split(",")[0])
    refuse_beyond_budget(enough, "wipo_at", 10_000_000)


def test_the_command_refuses_and_writes_nothing(tmp_path, capsys):
    patents, citations = sample.load()
    write_records(tmp_path / "patents.parquet", Patent, patents[:50])
    write_records(tmp_path / "citations.parquet", Citation, citations[:50])
    words = [
        "data",
        "build",
        "wipo_at",
        str(tmp_path / "patents.parquet"),
        str(tmp_path / "citations.parquet"),
        str(tmp_path / "root"),
    ]
    assert cli.main([*words, "--memory", "0.1"]) == 2
    assert "50 publications takes about 0.5 GB of memory, and 0.1 GB are allowed" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not (tmp_path / "root").exists()
