"""Full disks, exhausted memory, link loops and vanished folders end in a sentence with a remedy and exit status 2."""

from __future__ import annotations

import contextlib
import errno
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from marked_list import write_list

from patent_mteb.cli import main
from patent_mteb.files import replacing, write_parquet
from patent_mteb.training import contamination

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and links of Unix")


def refused(words, capsys):
    capsys.readouterr()
    assert main([*map(str, words), "-v", "0"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "Remedy:" in message and "please report it" not in message
    return message


@contextlib.contextmanager
def files_of_at_most(size):
    """A limit on the size of files, which ends a write as a full disk does."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_cannot_be_written_to_its_end_is_named(tmp_path, capsys):
    write_list(tmp_path / "list.csv")
    with files_of_at_most(2_000):
        message = refused(["data", "import", tmp_path / "list.csv", "--out", tmp_path / "records"], capsys)
    assert "File too large" in message and "free some disk space" in message
    with files_of_at_most(2_000), pytest.raises(OSError, match=r"numbers\.parquet") as error:
        write_parquet(tmp_path / "numbers.parquet", pa.table({"n": np.random.default_rng(0).random(10_000)}))
    assert error.value.errno == errno.EFBIG and not list(tmp_path.glob("*.partial"))


def test_a_full_disk_names_the_file(tmp_path):
    problem = pytest.raises(OSError, match=r"No space left.*table\.tsv")
    with problem, replacing(tmp_path / "table.tsv"), Path("/dev/full").open("w") as full:
        full.write("x" * 100_000)


def test_a_link_loop_is_named(tmp_path, capsys):
    write_list(tmp_path / "list.csv")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    message = refused(["data", "import", tmp_path / "list.csv", "--out", tmp_path / "loop"], capsys)
    assert "loop" in message
    refused(["data", "import", tmp_path / "list.csv", "--out", tmp_path / "loop" / "records"], capsys)


def test_a_working_folder_that_was_deleted_is_said(tmp_path, capsys, monkeypatch):
    write_list(tmp_path / "list.csv")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    message = refused(["data", "import", tmp_path / "list.csv", "--out", "records"], capsys)
    assert "the working folder does not exist any more" in message


@pytest.mark.parametrize("error", [MemoryError(), pa.ArrowMemoryError("malloc of size 8 failed")])
def test_exhausted_memory_is_said(tmp_path, capsys, monkeypatch, error):
    def exhausted(folder):
        raise error

    monkeypatch.setattr(contamination, "read_indexes", exhausted)
    message = refused(["contamination", tmp_path, "--index", tmp_path], capsys)
    assert "the memory is not sufficient" in message and "ulimit -v" in message
