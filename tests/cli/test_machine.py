"""Full disks, exhausted memory, link loops and vanished folders end in a sentence with a remedy and exit status 2."""

from __future__ import annotations

import contextlib
import errno
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from marked_list import write_list

from patent_mteb.cli import main
from patent_mteb.experiments import run as experiments
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
    assert "the memory is not sufficient" in message and "ulimit -v" in message and "()" not in message


def test_a_limit_of_addresses_under_which_libraries_hang_is_refused_at_once():
    words = ("edition", "build", "open-us", "records", "edition", "--window", "2020")
    done = run_command(words, "import resource; resource.setrlimit(resource.RLIMIT_AS, (1_500_000 << 10,) * 2)")
    assert done.returncode == 2
    assert "ulimit -v) is 1.5 GB, too little for the libraries to load. Remedy: allow 3 GB" in " ".join(
        done.stderr.split()
    )


@pytest.mark.parametrize("words", [("list", "--tasks"), ("no", "such", "command")])
def test_an_interrupt_while_python_ends_prints_no_traceback(words):
    at_exit = "import atexit, os, signal; atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))"
    done = run_command(words, at_exit)
    assert "Traceback" not in done.stderr and "KeyboardInterrupt" not in done.stderr


def run_command(words, first):
    """Run a command in its own process, after a line of Python."""
    line = f"import sys; sys.argv[1:] = {list(words)}; {first}; from patent_mteb.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, timeout=60, check=False)


def test_a_full_disk_under_the_cache_fails_the_task_with_a_remedy_and_keeps_the_rest(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATENT_MTEB_CACHE", str(tmp_path / "cache"))
    run_of_bm25 = ["run", "-m", "bm25", "--out", str(tmp_path / "out"), "-q"]
    assert main([*run_of_bm25, "-t", "PatentMapAbsToAbsRetrieval.sample"]) == 0
    capsys.readouterr()
    tasks = ["-t", "PatentMapAbsToAbsRetrieval.sample", "-t", "PatentDAPFAMTitleToTARetrieval.sample"]
    evaluate = experiments.evaluate_into

    def full(cache, model, task, **settings):
        if "DAPFAM" in task.metadata.name:
            raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "cache" / "corpus.parquet"))
        return evaluate(cache, model, task, **settings)

    with monkeypatch.context() as patched:
        patched.setattr(experiments, "evaluate_into", full)
        assert main([*run_of_bm25, *tasks]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"{tmp_path / 'cache' / 'corpus.parquet'}: No space left on device. Remedy: free some disk space" in said
    assert f"PATENT_MTEB_CACHE=FOLDER names another cache than {tmp_path / 'cache'}" in said and "OSError" not in said
    assert [path.stem for path in (tmp_path / "out").rglob("Patent*.json")] == ["PatentMapAbsToAbsRetrieval.sample"]
    assert main([*run_of_bm25, *tasks]) == 0
