"""A list on disk returns its records in any order of reading and leaves no file."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import IO

import polars as pl
import pytest

from patent_mteb import sample
from patent_mteb.errors import DataError
from patent_mteb.patents import corpus, on_disk
from patent_mteb.patents.on_disk import (
    DiskList,
    by_number,
    in_memory_up_to,
    only,
    outline,
    publications,
    stored,
    with_family,
)
from patent_mteb.patents.records import Patent


@pytest.fixture(scope="module")
def patents():
    return sample.load()[0][:300]


def test_records_read_equal_records_written(patents, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    records = DiskList(patents[:200])
    positions = random.Random(0).sample(range(200), 50)
    assert [records[position] for position in positions] == [patents[position] for position in positions]
    for patent in patents[200:]:
        records.append(patent)
    assert list(records) == list(records) == patents
    assert records[-1] == patents[-1]
    assert records[10:20] == patents[10:20]
    with pytest.raises(IndexError):
        records[300]
    assert not list(tmp_path.iterdir())


def test_records_larger_than_a_block_and_none_at_all():
    texts = ["a" * 3_000_000, "", "b" * 10, "c" * 1_500_000]
    assert list(DiskList(texts)) == texts
    assert list(DiskList()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "write", [lambda: list(DiskList(["a" * 100_000] * 3)), lambda: corpus.text_column(["a" * 1000] * 300)]
)
def test_a_full_disk_is_one_message(write, monkeypatch):
    def full(dir: Path | None = None) -> IO[bytes]:
        return Path("/dev/full").open("w+b", buffering=0)

    monkeypatch.setattr(tempfile, "tempdir", "/scratch")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setattr(corpus, "_BYTES_IN_MEMORY", 1000)
    with pytest.raises(
        DataError, match=r"/scratch: temporary files cannot be written \(No space left on device\)"
    ) as caught:
        write()
    assert "TMPDIR=FOLDER" in caught.value.remedy


def test_a_folder_that_is_missing_is_one_message(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="temporary files cannot be written"):
        on_disk.DiskList()


def test_records_go_to_a_file_if_they_exceed_the_limit():
    for limit, kind in ((30, list), (29, DiskList), (0, DiskList)):
        records = in_memory_up_to(limit, iter(["a" * 10, "b" * 10, "c" * 10]), len)
        assert type(records) is kind and list(records) == ["a" * 10, "b" * 10, "c" * 10]
    assert in_memory_up_to(0, [], len) == []


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_rows_sorted_on_disk_are_those_of_a_sort(at_once, monkeypatch):
    monkeypatch.setattr(on_disk, "_SORTED_AT_ONCE", at_once)
    draw = random.Random(at_once)
    rows = [(draw.choice("ab"), draw.choice(["#2", "#10", "", "\ud800"]), place) for place in range(50)]
    assert list(on_disk.sorted_on_disk(iter(rows * 2))) == sorted(rows * 2)
    assert list(on_disk.sorted_on_disk(())) == []


PATENTS = sample.load()[0][:60]


def test_patents_have_a_table():
    for hold in (list, stored):
        assert publications(hold(PATENTS)).rows() == [
            (row, one.publication_number, one.family_id, one.application_number, one.publication_date)
            for row, one in enumerate(PATENTS)
        ]
    one = PATENTS[3]
    bare = replace(outline(one), publication_date=None)
    assert bare == Patent(one.publication_number, one.family_id, application_number=one.application_number)
    assert list(stored(PATENTS)) == PATENTS
    assert stored(PATENTS)[7] == PATENTS[7]


def test_families_and_selections_equal_those_of_a_list():
    def family(patent):
        return patent.family_id if patent.jurisdiction == PATENTS[0].jurisdiction else f"new {patent.family_id}"

    def old(patent):
        return patent.publication_number < PATENTS[20].publication_number

    expected = [replace(patent, family_id=family(patent)) for patent in PATENTS]
    assert len({patent.family_id for patent in expected} & {patent.family_id for patent in PATENTS}) > 0
    for hold in (list, stored):
        moved = with_family(hold(PATENTS), pl.Series(map(family, PATENTS)))
        assert list(moved) == expected
        kept = only(moved, pl.col("number") < PATENTS[20].publication_number)
        assert list(kept) == [patent for patent in expected if old(patent)]
        assert 0 < len(kept) < len(PATENTS)
        assert [kept[place] for place in (0, -1)] == [*kept][:: len(kept) - 1]


def test_sorted_patents_equal_those_of_a_list():
    expected = sorted(PATENTS, key=lambda patent: patent.publication_number)
    patents = PATENTS[::-1]
    for hold in (list, stored):
        found = by_number(hold(patents))
        assert list(found) == expected, "one after the other"
        assert [found[place] for place in range(len(found))] == expected, "each by its place"
        assert publications(found)["number"].to_list() == [one.publication_number for one in expected]
        assert list(with_family(found, pl.Series("F" for _ in found))) == [
            replace(one, family_id="F") for one in expected
        ]
