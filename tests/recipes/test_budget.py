"""A build that needs more memory than it may take is refused before it starts, by one message."""

from __future__ import annotations

import pytest

from patent_mteb import cli, recipes, sample
from patent_mteb.errors import DataError
from patent_mteb.memory import portion
from patent_mteb.patents.records import Citation, Patent, write_records


def _enough(recipe: str, publications: int) -> float:
    """Return the memory that the remedy of a refusal names."""
    with (
        pytest.raises(
            DataError, match=rf"{publications:,} publications takes about [\d.]+ GB of memory, and 0.1 GB are allowed"
        ) as caught,
        recipes.within_budget(0.1, recipe, publications),
    ):
        pass
    return float(caught.value.remedy.split("--memory ")[1].split(",")[0])


@pytest.mark.parametrize("recipe", ["wipo-at", "dapfam", "patenteb", "sophia", "patentmap", "open-us"])
def test_a_million_publications_fit_into_four_gigabytes(recipe):
    assert _enough(recipe, 1000) < _enough(recipe, 1_000_000) < _enough(recipe, 10_000_000)
    with recipes.within_budget(4, recipe, 1_000_000):
        pass


@pytest.mark.parametrize(("recipe", "measured"), [("wipo-at", 1.01), ("dapfam", 0.99), ("open-us", 1.21)])
def test_320_000_need_what_was_measured(recipe, measured):
    assert measured < _enough(recipe, 320_000) < measured + 0.3


def test_a_budget_that_is_enough_bounds_the_blocks():
    with recipes.within_budget(_enough("wipo_at", 1000), "wipo_at", 1000):
        assert portion(0.1, 10**9) < 10**8
    with recipes.within_budget(None, "wipo_at", 10**12):
        assert portion(0.1, 10**9) == 10**9


@pytest.mark.parametrize(
    "words", [["data", "build", "wipo_at"], ["edition", "build", "open-us", "--window", "2026"]], ids=" ".join
)
def test_the_command_refuses_and_writes_nothing(words, tmp_path, capsys):
    patents, citations = sample.load()
    write_records(tmp_path / "records" / "patents.parquet", Patent, patents[:50])
    write_records(tmp_path / "records" / "citations.parquet", Citation, citations[:50])
    assert cli.main([*words, str(tmp_path / "records"), str(tmp_path / "root"), "--memory", "0.1"]) == 2
    assert "50 publications takes about 0.5 GB of memory, and 0.1 GB are allowed" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not (tmp_path / "root").exists()
