"""The store under kills, threads and processes, with places that cannot be written, leftovers and damaged files: never
a wrong vector, nothing lost that was acknowledged.
"""

from __future__ import annotations

import errno
import gc
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mteb
import numpy as np
import pytest
from datasets import Dataset
from forked import in_child
from small_data import HashEncoder
from torch.utils.data import DataLoader

from patent_mteb import cli
from patent_mteb.errors import DataError
from patent_mteb.store import EmbeddingStore, hash_texts, stored

IDENTITY = {"model": "test/model", "revision": "1"}
TASK = mteb.get_task("PatentMapAbsToAbsRetrieval.sample").metadata
WIDTH, BATCH = 16, 10
long = pytest.mark.long
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def keys_of(numbers):
    return hash_texts([str(number) for number in numbers])


def vectors_of(numbers):
    """Vectors that tell which number they belong to."""
    return ((np.asarray(numbers)[:, None] * 31 + np.arange(WIDTH) * 7) % 100_003).astype(np.float32)


def encode(model, texts):
    loader = DataLoader(Dataset.from_dict({"text": texts}), batch_size=4)
    return model.encode(loader, task_metadata=TASK, hf_split="test", hf_subset="default", show_progress_bar=False)


# ---------------------------------------------------------------- threads


def read_while_writing(store, reads, *, ragged):
    """One writer and four readers on one space: (reads, wrong ones, what was raised)."""
    space = store.space(IDENTITY, ragged=ragged)
    written, stop = [0], threading.Event()
    counts, wrong, raised = [0] * 4, [0] * 4, []

    def write():
        while not stop.is_set():
            numbers = np.arange(written[0], written[0] + 16)
            if ragged:
                lengths = numbers % 3
                space.append(keys_of(numbers), np.repeat(vectors_of(numbers), lengths, axis=0), lengths)
            else:
                space.append(keys_of(numbers), vectors_of(numbers))
            written[0] += 16
            time.sleep(0.0002 if written[0] < 5000 else 0.02)

    def read(reader):
        random = np.random.default_rng(reader)
        while sum(counts) < reads:
            if not written[0]:
                continue
            numbers = random.integers(0, written[0], 8)
            if ragged:
                got, offsets = space.gather_ragged(keys_of(numbers))
                right = np.repeat(vectors_of(numbers), numbers % 3, axis=0)
                wrong[reader] += not (np.array_equal(np.diff(offsets), numbers % 3) and np.array_equal(got, right))
            else:
                wrong[reader] += not np.array_equal(space.gather(keys_of(numbers)), vectors_of(numbers))
            counts[reader] += 1

    def guarded(function, *arguments):
        try:
            function(*arguments)
        except Exception as error:
            raised.append(repr(error))
            counts[0] += reads

    readers = [threading.Thread(target=guarded, args=(read, reader)) for reader in range(4)]
    writer = threading.Thread(target=guarded, args=(write,))
    for thread in (writer, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    writer.join()
    return sum(counts), sum(wrong), raised


@pytest.mark.slow
@pytest.mark.parametrize("size", [500, pytest.param(55_000, marks=long)])
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("interval", [1e-6, pytest.param(0.005, marks=long)])
def test_threads_share_a_space(tmp_path, monkeypatch, interval, ragged, size, counted):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    before = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    try:
        reads, wrong, raised = read_while_writing(EmbeddingStore(tmp_path, shard_bytes=20_000), size, ragged=ragged)
    finally:
        sys.setswitchinterval(before)
    kind = f"store: threads, {'ragged' if ragged else 'plain'}, switched every {interval} s, reads"
    counted(kind, reads, wrong=wrong, lost=0, tracebacks=len(raised))
    assert (wrong, raised) == (0, [])


def test_what_one_thread_found_stays_true_when_another_takes_in_more(tmp_path):
    """The moment between finding keys and copying their vectors, without chance: another thread's rows come in just
    then.
    """
    store = EmbeddingStore(tmp_path)
    space = store.space(IDENTITY)
    space.append(keys_of(range(50)), vectors_of(range(50)))
    allocate = store.allocate

    def between(shape, dtype):
        store.allocate = allocate
        other = threading.Thread(
            target=lambda: (
                space.append(keys_of(range(50, 150)), vectors_of(range(50, 150))),
                space.contains(keys_of([60])),
            )
        )
        other.start()
        other.join(20)
        assert not other.is_alive(), "readers that copy do not keep others waiting"
        return allocate(shape, dtype)

    store.allocate = between
    numbers = np.arange(49, -1, -1)
    np.testing.assert_array_equal(space.gather(keys_of(numbers)), vectors_of(numbers))


# ---------------------------------------------------------------- another process prunes

PRUNE = """
import sys
from patent_mteb.store import EmbeddingStore
report = EmbeddingStore(sys.argv[1]).prune(model="test/model", force="--force" in sys.argv)
print(len(report.removed), len(report.kept))
"""


def prune_elsewhere(python, store, *options):
    done = subprocess.run([python, "-c", PRUNE, str(store.path), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_prune_leaves_what_a_running_process_uses(python, tmp_path):
    store = EmbeddingStore(tmp_path)
    space = store.space(IDENTITY)
    space.append(keys_of(range(5)), vectors_of(range(5)))
    assert prune_elsewhere(python, store) == ["0", "1"]
    np.testing.assert_array_equal(space.gather(keys_of(range(5))), vectors_of(range(5)))
    del space, store
    gc.collect()
    assert prune_elsewhere(python, EmbeddingStore(tmp_path)) == ["1", "0"]
    assert EmbeddingStore(tmp_path).info() == []


@pytest.mark.slow
def test_pruned_by_another_process(python, tmp_path, caplog):
    store = EmbeddingStore(tmp_path)
    space = store.space(IDENTITY)
    space.append(keys_of(range(5)), vectors_of(range(5)))
    assert space.contains(keys_of(range(5))).all()
    with caplog.at_level(logging.WARNING):
        assert prune_elsewhere(python, store, "--force") == ["1", "0"]
        assert not space.contains(keys_of(range(5))).any()
    assert caplog.text.count("were removed from") == 1
    with pytest.raises(KeyError, match="5 of 5"):
        space.gather(keys_of(range(5)))
    space.append(keys_of(range(3)), vectors_of(range(3)))
    for reader in (space, EmbeddingStore(tmp_path).space(IDENTITY)):
        assert reader.contains(keys_of(range(5))).tolist() == [True] * 3 + [False] * 2
        np.testing.assert_array_equal(reader.gather(keys_of(range(3))), vectors_of(range(3)))
    assert EmbeddingStore(tmp_path).verify().damages == ()
    assert EmbeddingStore(tmp_path).info()[0].model == "test/model"


@pytest.mark.parametrize("suffix", [".rows", ".index"])
@pytest.mark.parametrize("how", ["removed", "cut off", "emptied"])
def test_files_that_vanish_are_noticed(tmp_path, suffix, how):
    space = EmbeddingStore(tmp_path).space(IDENTITY)
    space.append(keys_of(range(5)), vectors_of(range(5)))
    space.gather(keys_of(range(5)))
    (path,) = space.directory.glob(f"*{suffix}")
    if how == "removed":
        path.unlink()
    else:
        os.truncate(path, 0 if how == "emptied" else path.stat().st_size // 2)
    assert not space.contains(keys_of(range(5))).any()
    made = []

    def encode_again(missing):
        made.extend(missing.tolist())
        space.append(keys_of(missing), vectors_of(missing))

    np.testing.assert_array_equal(space.filled(keys_of(range(5)), encode_again), vectors_of(range(5)))
    assert made == list(range(5))


def test_a_prune_between_encoding_and_reading_costs_encoding_again(tmp_path):
    store = EmbeddingStore(tmp_path)
    space = store.space(IDENTITY)
    calls = []

    def encode_again(missing):
        calls.append(len(missing))
        space.append(keys_of(missing), vectors_of(missing))
        if len(calls) == 1:
            EmbeddingStore(tmp_path).prune(model="test/model", force=True)

    np.testing.assert_array_equal(space.filled(keys_of(range(5)), encode_again), vectors_of(range(5)))
    assert calls == [5, 5]


@forks
def test_a_child_reads_and_writes_although_a_thread_of_its_parent_was_at_it(tmp_path):
    space = EmbeddingStore(tmp_path).space(IDENTITY)
    space.append(keys_of(range(5)), vectors_of(range(5)))
    ready, go = threading.Event(), threading.Event()

    def holding():
        with space._locked():
            ready.set()
            go.wait(30)

    thread = threading.Thread(target=holding)
    thread.start()
    ready.wait(30)
    child = os.fork()
    if child == 0:
        space.append(keys_of([7]), vectors_of([7]))
        os._exit(0 if np.array_equal(space.gather(keys_of([1, 7])), vectors_of([1, 7])) else 3)
    deadline = time.monotonic() + 30
    done, status = 0, -1
    while not done and time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not done:
        os.kill(child, 9)
        os.waitpid(child, 0)
    go.set()
    thread.join()
    assert status == 0
    assert space.contains(keys_of([7])).all()


# ---------------------------------------------------------------- places that cannot be written


def failing(monkeypatch, number, *, room=0):
    """From now on writing below a store fails, after ``room`` bytes."""
    left = [room]
    write, opened = os.write, os.open

    def limited(descriptor, data):
        if descriptor <= 2:
            return write(descriptor, data)
        if not left[0]:
            raise OSError(number, os.strerror(number))
        done = write(descriptor, bytes(data)[: left[0]])
        left[0] -= done
        return done

    def refused(path, flags, *rest, **named):
        if number == errno.EROFS and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, flags, *rest, **named)

    monkeypatch.setattr(os, "write", limited)
    monkeypatch.setattr(os, "open", refused)
    for method in ("write_text", "mkdir"):
        whole = getattr(Path, method)

        def blocked(self, *rest, _whole=whole, **named):
            if str(self).startswith(str(ROOT[0])) and not (self.is_dir() and named.get("exist_ok")):
                raise OSError(number, os.strerror(number), str(self))
            return _whole(self, *rest, **named)

        monkeypatch.setattr(Path, method, blocked)


ROOT = [Path("/nowhere")]


@pytest.mark.parametrize(
    ("number", "room"), [(errno.EROFS, 0), (errno.ENOSPC, 0), (errno.ENOSPC, 300), (errno.ENOSPC, 700)]
)
def test_a_store_that_cannot_be_written_costs_one_warning(tmp_path, monkeypatch, caplog, number, room):
    plain, model = HashEncoder(), stored(HashEncoder(), tmp_path)
    old, new = ["a pump", "a valve"], ["a gear", "a wheel", "a lens"]
    encode(model, old)
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        ROOT[0] = tmp_path
        failing(patched, number, room=room)
        again = stored(HashEncoder(), tmp_path)
        for texts in (old, old + new, ["another one"], new):
            np.testing.assert_array_equal(encode(again, texts), encode(plain, texts))
        assert again.stats.encoded == 4, "what cannot be kept is not encoded twice in one process"
    assert [record.levelname for record in caplog.records].count("WARNING") == 1, caplog.text
    assert "cannot be written" in caplog.text
    assert EmbeddingStore(tmp_path).verify().ok
    later = stored(HashEncoder(), tmp_path)
    np.testing.assert_array_equal(encode(later, old + new), encode(plain, old + new))
    assert later.stats.encoded <= 3
    assert EmbeddingStore(tmp_path).verify().damages == ()


def test_vectors_that_cannot_be_kept_do_not_fill_the_memory(tmp_path, monkeypatch):
    space = EmbeddingStore(tmp_path, memory_limit=1000).space(IDENTITY)
    monkeypatch.setattr(os, "write", lambda descriptor, data: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    for start in range(0, 100, 10):
        numbers = np.arange(start, start + 10)
        got = space.filled(
            keys_of(numbers),
            lambda missing, numbers=numbers: space.append(keys_of(numbers[missing]), vectors_of(numbers[missing])),
        )
        np.testing.assert_array_equal(got, vectors_of(numbers))
        assert space.unwritten_bytes <= 1000 + 10 * WIDTH * 4


def test_a_result_that_the_disk_has_no_room_for_lies_elsewhere(tmp_path, monkeypatch):
    store = EmbeddingStore(tmp_path, memory_limit=100)
    space = store.space(IDENTITY)
    space.append(keys_of(range(50)), vectors_of(range(50)))

    def full(descriptor, offset, length):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    np.testing.assert_array_equal(space.gather(keys_of(range(50))), vectors_of(range(50)))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "store.json"))
    np.testing.assert_array_equal(space.gather(keys_of(range(50))), vectors_of(range(50)))


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_store_path_that_is_a_file_gives_one_message(tmp_path, capsys, below):
    (tmp_path / "file").write_text("x")
    path = tmp_path / "file" / below
    with pytest.raises(DataError, match="--no-store"):
        EmbeddingStore(path)
    for action in ("info", "verify", "prune"):
        assert cli.main(["store", action, "--store", str(path), *(["--damaged"] if action == "prune" else [])]) == 2
        assert "Traceback" not in (error := capsys.readouterr().err) and "store" in error
    assert (tmp_path / "file").read_text() == "x"


def test_an_unwritable_place_gives_one_message(tmp_path, monkeypatch):
    ROOT[0] = tmp_path
    failing(monkeypatch, errno.EACCES)
    with pytest.raises(DataError, match=r"Permission denied.*--no-store"):
        EmbeddingStore(tmp_path / "store")


def test_looking_at_a_store_that_is_not_there_does_not_make_it(tmp_path, capsys):
    for action in ("info", "verify", "prune"):
        options = ["--damaged"] if action == "prune" else []
        assert cli.main(["store", action, "--store", str(tmp_path / "typo"), *options]) == 2
        assert "there is no embedding store" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- leftovers, the marker


def test_a_prune_that_was_killed_leaves_nothing_for_ever(tmp_path, monkeypatch, capsys):
    store = EmbeddingStore(tmp_path)
    store.space(IDENTITY).append(keys_of(range(5)), vectors_of(range(5)))
    store.space({"model": "other", "revision": "1"}).append(keys_of(range(5)), vectors_of(range(5)))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("patent_mteb.store.store.shutil.rmtree", lambda path: (_ for _ in ()).throw(KeyboardInterrupt))
        store.prune(model="test/model")
    (left,) = (tmp_path / "spaces").glob("*.pruned")
    partial = tmp_path / ".store.json.4194305.0123abcd.partial"
    partial.write_text("{")
    os.utime(partial, (0, 0))
    where = ("--store", str(tmp_path))
    for action in ("info", "verify"):
        assert cli.main(["store", action, *where]) == 0
        out = capsys.readouterr().out
        assert left.name in out and partial.name in out
    assert EmbeddingStore(tmp_path).prune(model="nobody", dry_run=True).freed_bytes > 0 and left.exists()
    assert cli.main(["store", "prune", *where, "--model", "nobody"]) == 0
    assert left.name in capsys.readouterr().out
    assert not left.exists() and not partial.exists()
    assert [info.model for info in EmbeddingStore(tmp_path).info()] == ["other"]


@pytest.mark.slow
def test_a_marker_with_a_flipped_bit(tmp_path):
    store = EmbeddingStore(tmp_path)
    store.space(IDENTITY).append(keys_of(range(5)), vectors_of(range(5)))
    marker = tmp_path / "store.json"
    whole = marker.read_bytes()
    mended = refused = 0
    for at in range(len(whole)):
        for bit in range(8):
            marker.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :])
            try:
                space = EmbeddingStore(tmp_path).space(IDENTITY)
                mended += 1
            except DataError as error:
                assert "delete this" not in str(error) and f"delete {marker}, which holds the format only" in str(error)
                refused += 1
                marker.unlink()
                space = EmbeddingStore(tmp_path).space(IDENTITY)
            np.testing.assert_array_equal(space.gather(keys_of(range(5))), vectors_of(range(5)))
            assert json.loads(marker.read_text()) == {"format": 1}
    assert mended > 100 and 0 < refused < 10


def test_whole_blocks_of_a_damaged_shard_are_not_removed_before_they_are_saved(tmp_path, monkeypatch):
    store = EmbeddingStore(tmp_path)
    space = store.space(IDENTITY)
    for start in (0, 5):
        space.append(keys_of(range(start, start + 5)), vectors_of(range(start, start + 5)))
    (path,) = space.directory.glob("*.rows")
    content = bytearray(path.read_bytes())
    content[3] ^= 1
    path.write_bytes(content)
    with monkeypatch.context() as patched, pytest.raises(DataError, match="nothing was removed"):
        patched.setattr(os, "write", lambda descriptor, data: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        EmbeddingStore(tmp_path).prune(damaged=True)
    assert EmbeddingStore(tmp_path).space(IDENTITY).contains(keys_of(range(5, 10))).all()


# ---------------------------------------------------------------- attacks: small here, with -m long at the sizes of docs/faults.md


def space_of(root, **options):
    return EmbeddingStore(root, shard_bytes=20_000, **options).space(IDENTITY)


@pytest.mark.slow
@forks
@pytest.mark.parametrize("kills", [5, pytest.param(60, marks=long)])
def test_a_writer_killed_at_random_moments(tmp_path, kills, counted):
    dice, written, wrong, lost = random.Random(7), 0, 0, 0
    for _ in range(kills):
        reader, writer = os.pipe()

        def write(first=written, to=writer):
            space = space_of(tmp_path)
            for start in range(first, first + 100_000, BATCH):
                numbers = range(start, start + BATCH)
                space.append(keys_of(numbers), vectors_of(numbers))
                os.write(to, start.to_bytes(8, "little"))

        child = in_child(write)
        os.close(writer)
        os.read(reader, 8)
        time.sleep(dice.random() * 0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        acknowledged = written
        while said := os.read(reader, 1 << 16):
            acknowledged = int.from_bytes(said[-8:], "little") + BATCH
        os.close(reader)
        space, numbers = space_of(tmp_path), np.arange(acknowledged + BATCH)
        there = space.contains(keys_of(numbers))
        lost += int((~there[written:acknowledged]).sum())
        wrong += int((space.gather(keys_of(numbers[there])) != vectors_of(numbers[there])).any(axis=1).sum())
        written = acknowledged
    assert EmbeddingStore(tmp_path).verify().ok
    counted("store: writer killed (SIGKILL) at random moments", kills, wrong=wrong, lost=lost, tracebacks=0)
    assert (wrong, lost) == (0, 0) and written > kills * BATCH / 2


@pytest.mark.slow
@forks
@pytest.mark.parametrize(("reads", "texts"), [(60, 400), pytest.param(35_000, 2_000, marks=long)])
def test_four_writers_and_four_readers(tmp_path, monkeypatch, reads, texts, counted):
    """Each reader makes its reads of up to twenty vectors while the writers append; half of a writer's texts are the next
    one's, too.
    """

    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def write(number):
        space = space_of(tmp_path)
        for start in range(0, texts, BATCH):
            numbers = np.arange(start, start + BATCH) + number * texts // 2
            space.append(keys_of(numbers), vectors_of(numbers))

    def read(seed):
        space, dice, done = space_of(tmp_path), np.random.default_rng(seed), 0
        while done < reads:
            numbers = dice.integers(0, texts * 5 // 2, 20)
            numbers = numbers[space.contains(keys_of(numbers))]
            if len(numbers):
                done += 1
                assert (space.gather(keys_of(numbers)) == vectors_of(numbers)).all()

    children = [in_child(lambda number=number: write(number)) for number in range(4)]
    children += [in_child(lambda seed=seed: read(seed)) for seed in range(4)]
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    counted("store: 4 writers and 4 readers, reads", 4 * reads, wrong=failed, lost=0, tracebacks=failed)
    assert not failed
    numbers = np.arange(texts * 5 // 2)
    assert (space_of(tmp_path).gather(keys_of(numbers)) == vectors_of(numbers)).all()
    assert not EmbeddingStore(tmp_path).verify().damages
