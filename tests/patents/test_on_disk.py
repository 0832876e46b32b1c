"""Records in a temporary file are the records that were put there, in any order of reading, and leave no file
behind.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import IO

import pytest

from patent_mteb import sample
from patent_mteb.errors import DataError
from patent_mteb.patents import corpus, on_disk
from patent_mteb.patents.on_disk import DiskList, in_memory_up_to


@pytest.fixture(scope="module")
def patents():
    return sample.generate()[0][:300]


def test_what_is_read_is_what_was_written(patents, tmp_path):
    spool = DiskList(patents[:200], tmp_path)
    places = random.Random(0).sample(range(200), 50)
    assert [spool[place] for place in places] == [patents[place] for place in places]
    for patent in patents[200:]:
        spool.append(patent)
    assert spool == patents
    assert list(spool) == list(spool) == patents
    assert spool[-1] == patents[-1]
    assert spool[10:20] == patents[10:20]
    assert spool != patents[:-1]
    with pytest.raises(IndexError):
        spool[300]
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


def test_a_folder_that_is_missing_is_one_message(tmp_path):
    with pytest.raises(DataError, match="temporary files cannot be written"):
        on_disk.DiskList([], tmp_path / "nowhere")


def test_what_is_small_together_stays_in_memory_and_what_is_not_goes_to_a_file_whole():
    for most, kind in ((30, list), (29, DiskList), (0, DiskList)):
        held = in_memory_up_to(most, iter(["a" * 10, "b" * 10, "c" * 10]), len)
        assert type(held) is kind and list(held) == ["a" * 10, "b" * 10, "c" * 10]
    assert in_memory_up_to(0, [], len) == []
