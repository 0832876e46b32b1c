"""The store under kills, under many processes, and with damaged files: never a wrong vector, nothing lost that was
acknowledged.

Small here; with ``-m long`` at the sizes of docs/faults.md.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import time

import numpy as np
import pytest

from patent_mteb.errors import DataError
from patent_mteb.store import EmbeddingStore, hash_texts

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

IDENTITY = {"model": "test/model", "revision": "1"}
WIDTH, BATCH = 16, 10
long = pytest.mark.long


def keys_of(numbers):
    return hash_texts([f"text {number}" for number in numbers])


def vectors_of(numbers):
    return np.repeat(np.asarray(numbers, np.float32)[:, None], WIDTH, axis=1)


def space_of(root, **options):
    return EmbeddingStore(root, shard_bytes=20_000, **options).space(IDENTITY)


def in_child(action):
    """Run an action in a process of its own; its status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return child


@pytest.mark.slow
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
@pytest.mark.parametrize("reads", [400, pytest.param(35_000, marks=long)])
def test_four_writers_and_four_readers(tmp_path, reads, counted):
    """Each reader makes so many reads of up to twenty vectors while the writers append."""

    def write(number):
        space = space_of(tmp_path)
        for start in range(0, 2_000, BATCH):
            numbers = np.arange(start, start + BATCH) + number * 1_000
            space.append(keys_of(numbers), vectors_of(numbers))

    def read(seed):
        space, dice, done = space_of(tmp_path), np.random.default_rng(seed), 0
        while done < reads:
            numbers = dice.integers(0, 5_000, 20)
            numbers = numbers[space.contains(keys_of(numbers))]
            if len(numbers):
                done += 1
                assert (space.gather(keys_of(numbers)) == vectors_of(numbers)).all()

    children = [in_child(lambda number=number: write(number)) for number in range(4)]
    children += [in_child(lambda seed=seed: read(seed)) for seed in range(4)]
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    counted("store: 4 writers and 4 readers, reads", 4 * reads, wrong=failed, lost=0, tracebacks=failed)
    assert not failed
    numbers = np.arange(5_000)
    assert (space_of(tmp_path).gather(keys_of(numbers)) == vectors_of(numbers)).all()
    assert not EmbeddingStore(tmp_path).verify().damages


def filled(root, ragged):
    space = EmbeddingStore(root).space(IDENTITY, ragged=ragged)
    for start in (0, 30):
        numbers = np.arange(start, start + 30)
        if ragged:
            space.append(keys_of(numbers), vectors_of(np.repeat(numbers, 2)), np.full(30, 2))
        else:
            space.append(keys_of(numbers), vectors_of(numbers))
    return [path for path in root.rglob("*") if path.is_file()]


def damaged(whole, dice, way):
    if way == "flipped":
        at = dice.randrange(len(whole))
        return whole[:at] + bytes([whole[at] ^ (1 << dice.randrange(8))]) + whole[at + 1 :]
    return dice.choice([whole[: dice.randrange(len(whole))], bytes(len(whole)), whole + whole, b""])


@pytest.mark.slow
@pytest.mark.parametrize("ragged", [False, True], ids=["plain", "ragged"])
@pytest.mark.parametrize(
    ("way", "number"),
    [("flipped", 60), ("cut", 30), pytest.param("flipped", 2_400, marks=long), pytest.param("cut", 1_030, marks=long)],
)
def test_damaged_files(tmp_path, way, number, ragged, counted, caplog):
    """Every file in turn: one bit flipped, or cut off, zeroed, doubled, emptied."""
    caplog.set_level(logging.CRITICAL)
    files, dice, wrong, refused, found = filled(tmp_path, ragged), random.Random(3), 0, 0, 0
    numbers = np.arange(60)
    contents = {path: path.read_bytes() for path in files}
    for turn in range(number):
        path = files[turn % len(files)]
        path.write_bytes(damaged(contents[path], dice, way))
        try:
            space = EmbeddingStore(tmp_path).space(IDENTITY, ragged=ragged)
            there = numbers[space.contains(keys_of(numbers))]
            if len(there):
                got = space.gather_ragged(keys_of(there))[0] if ragged else space.gather(keys_of(there))
                wrong += int((np.asarray(got) != vectors_of(np.repeat(there, 2) if ragged else there)).any())
            found += len(there)
        except DataError:
            refused += 1
        for one, content in contents.items():
            if not one.exists() or one.read_bytes() != content:
                one.parent.mkdir(parents=True, exist_ok=True)
                one.write_bytes(content)
        for extra in {path for path in tmp_path.rglob("*") if path.is_file()} - set(files):
            extra.unlink()
    kind = f"store: files {way}, {'ragged' if ragged else 'plain'}"
    counted(kind, number, wrong=wrong, lost=0, tracebacks=0, refused=refused)
    assert wrong == 0 and found > 0 and refused < number / 2
