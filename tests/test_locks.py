"""Writers of one folder exclude each other, also where the system has no locks of files."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from patent_mteb import files
from patent_mteb.errors import DataError
from patent_mteb.files import folder_lock

WRITER = """
import sys
from pathlib import Path
if "no locks" in sys.argv:
    sys.modules["fcntl"] = None
from patent_mteb import files
from patent_mteb.errors import DataError
from patent_mteb.readers import importing
files._HEARTBEAT_SECONDS = 0.3
read = importing._read_all
def when_told(*arguments):
    print("reads", flush=True)
    sys.stdin.readline()
    return read(*arguments)
importing._read_all = when_told
assert (files.fcntl is None) == ("no locks" in sys.argv)
try:
    importing.import_files([Path(sys.argv[1])], Path(sys.argv[2]))
    print("imported")
except DataError as error:
    print(error)
"""


def writer(file: Path, root: Path, *words: str) -> subprocess.Popen[str]:
    """A process that imports a file, and waits for a line when it has locked the folder."""
    command = [sys.executable, "-c", WRITER, str(file), str(root), *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def content(root: Path) -> dict[str, bytes]:
    """The records of a folder; hidden files are those of the lock."""
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not name.startswith(".") and not name.endswith(".json")}


@pytest.fixture
def lists(tmp_path):
    for name, number in (("one", 7_000_001), ("two", 7_000_002)):
        (tmp_path / f"{name}.csv").write_text(
            f"Publication Number,Title,Abstract,Filing Date\nUS{number}B2,A {name} valve,It has a {name} seal,2015-01-05\n"
        )
    return tmp_path / "one.csv", tmp_path / "two.csv"


@pytest.fixture(params=["locks of the system", "locks by files"])
def locks(request, monkeypatch):
    monkeypatch.setattr(files, "_HEARTBEAT_SECONDS", 0.1)
    if request.param == "locks by files":
        monkeypatch.setattr(files, "fcntl", None)
    elif files.fcntl is None:
        pytest.skip("this system has no locks of files")


def refused(folder: Path, *, shared: bool = False) -> bool:
    try:
        with folder_lock(folder, shared=shared, writer="import"):
            return False
    except DataError as error:
        assert "another import writes here" in str(error)
        return True


@pytest.mark.usefixtures("locks")
def test_one_writer_excludes_all_others_and_shares_exclude_only_whole_imports(tmp_path):
    with folder_lock(tmp_path, writer="import"):
        assert refused(tmp_path) and refused(tmp_path, shared=True)
    with folder_lock(tmp_path, shared=True, writer="import"):
        assert not refused(tmp_path, shared=True) and refused(tmp_path)
    assert not refused(tmp_path)


def test_a_network_disk_without_locks_is_locked_by_files(tmp_path, monkeypatch):
    def unsupported(*arguments, **named):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files, "lock", unsupported)
    monkeypatch.setattr(files, "_HEARTBEAT_SECONDS", 0.1)
    with folder_lock(tmp_path, writer="import"):
        assert refused(tmp_path)
    assert not refused(tmp_path)


def test_a_folder_that_cannot_be_locked_at_all_is_refused(tmp_path, monkeypatch):
    def unsupported(*arguments, **named):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(files, "lock", unsupported)
    monkeypatch.setattr(filelock.SoftReadWriteLock, "acquire_write", unsupported)
    written = []
    with (
        pytest.raises(DataError, match=r"cannot be locked .*Remedy: choose a folder on a local disk"),
        folder_lock(tmp_path, writer="import"),
    ):
        written.append(1)
    assert not written


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("no locks",)], ids=["locks of the system", "locks by files"])
def test_two_imports_into_one_folder_never_mix(tmp_path, lists, words):
    one, two = lists
    alone = tmp_path / "alone"
    assert writer(one, alone, *words).communicate("go\n")[0].split() == ["reads", "imported"]
    root = tmp_path / "root"
    first = writer(one, root, *words)
    assert first.stdout.readline() == "reads\n"
    second, _ = writer(two, root, *words).communicate("go\n")
    assert "another import writes here" in second and "imported" not in second
    assert first.communicate("go\n")[0] == "imported\n"
    assert content(root) == content(alone) != {}
    killed = writer(two, root, *words)
    assert killed.stdout.readline() == "reads\n"
    killed.kill()
    killed.communicate()
    assert "imported" in writer(two, root, *words).communicate("go\n")[0], "the lock of a killed writer ends"
    assert content(root) != content(alone)


def test_a_file_in_use_is_replaced_when_it_is_free_again(tmp_path, monkeypatch):
    """Windows refuses to replace a file that a program reads."""
    path, attempts, replace = tmp_path / "x.txt", [], Path.replace
    path.write_text("old")

    def in_use(self, target):
        attempts.append(target)
        if len(attempts) < 3:
            raise PermissionError(errno.EACCES, "in use")
        return replace(self, target)

    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(Path, "replace", in_use)
    files.write_text(path, "new")
    assert path.read_text() == "new" and len(attempts) == 3
    monkeypatch.setattr(Path, "replace", lambda self, target: in_use(self, attempts.clear() or target))
    with pytest.raises(DataError, match="the file is in use and cannot be replaced"):
        files.write_text(path, "newer")
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_no_process_is_asked_on_windows_whether_it_runs(monkeypatch):
    """There, signal 0 is Ctrl-C."""
    monkeypatch.setattr(files.sys, "platform", "win32")
    monkeypatch.setattr(os, "kill", lambda *arguments: pytest.fail("a signal was sent"))
    assert files.process_runs(1 << 22)
