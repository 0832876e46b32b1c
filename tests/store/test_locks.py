"""Two processes on one space: every text is encoded once, and what a killed one had claimed is encoded by the other."""

import os
import signal
from collections import Counter

import mteb
import numpy as np
import pytest
from datasets import Dataset
from forked import in_child
from mteb.models.model_meta import ModelMeta
from tiny_checkpoints import checkpoint
from torch.utils.data import DataLoader

from patent_mteb import files
from patent_mteb.experiments.encoding import PrecomputeEncoder
from patent_mteb.models import load
from patent_mteb.store import EmbeddingStore, encoder, hash_texts, stored
from patent_mteb.store.locks import claimed_groups, grouped

pytestmark = pytest.mark.skipif(files.fcntl is None, reason="this system has no locks")
WHERE = {
    "task_metadata": mteb.get_task("STSBenchmark").metadata,
    "hf_split": "test",
    "hf_subset": "default",
    "show_progress_bar": False,
}
TEXTS = [f"text {number}" for number in range(96)]


class Reporting:
    """Writes each text that it encodes into a pipe, and waits for one byte before its first if it is given another
    pipe.
    """

    mteb_model_meta = ModelMeta.create_empty({"name": "test/sink", "revision": "1"})

    def __init__(self, output, gate=None):
        self.output, self.gate = output, gate

    def store_prompt(self, task_metadata, prompt_type):
        return ""

    def encode(self, inputs, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        os.write(self.output, "".join(f"{text}\n" for text in texts).encode())
        if self.gate is not None:
            os.read(self.gate, 1)
        return np.array([[float(text.split()[1]), 1.0] for text in texts], np.float32)

    def similarity(self, first, second):
        return first @ second.T

    def similarity_pairwise(self, first, second):
        return (first * second).sum(axis=1)


def encoded(folder, output, gate=None, way=lambda encoder: encoder):
    loader = DataLoader(Dataset.from_dict({"text": TEXTS}), batch_size=4)
    return way(stored(Reporting(output, gate), folder, chunk_texts=8)).encode(loader, batch_size=4, **WHERE)


def lines(descriptor):
    said = b""
    while part := os.read(descriptor, 1 << 16):
        said += part
    return said.decode().splitlines()


def test_a_claimed_group_comes_last_and_not_at_all_once_its_texts_are_there(tmp_path):
    space = EmbeddingStore(tmp_path).space({"model": "m", "revision": "1"})
    keys = hash_texts(map(str, range(12)))
    groups = grouped(np.split(np.arange(12), 4), 3)
    others = grouped(np.split(np.arange(12), 3), 4)  # other batches: what counts is which texts they hold

    def write(group):
        rows = np.concatenate(group)
        space.append(keys[rows], np.ones((len(rows), 2), np.float32))

    mine, theirs = (
        claimed_groups(space.directory, keys, part, space.contains, wait_seconds=0) for part in (groups, others)
    )
    first = next(mine)
    assert np.concatenate(first).tolist() == [0, 1, 2]
    second = next(theirs)
    assert np.concatenate(second).tolist() == [4, 5, 6, 7]  # 0 to 3 hold claimed texts
    write(first)
    third = next(mine)  # its first claim ends here
    assert np.concatenate(third).tolist() == [9, 10, 11]  # the groups between hold texts that the others have claimed
    write(second)
    fourth = next(theirs)
    assert np.concatenate(fourth).tolist() == [3]
    write(third)
    last = next(mine)
    assert np.concatenate(last).tolist() == [8]  # 3 is claimed, 6 and 7 are there by now
    write(fourth)
    write(last)
    mine.close()
    assert list(theirs) == list(claimed_groups(space.directory, keys, groups, space.contains)) == []
    assert not list((space.directory / "claims").iterdir())


def test_a_claim_is_free_again_when_its_process_gives_up(tmp_path):
    space = EmbeddingStore(tmp_path).space({"model": "m", "revision": "1"})
    keys, groups = hash_texts(["a", "b"]), grouped([np.array([0]), np.array([1])], 1)
    mine, theirs = (claimed_groups(space.directory, keys, groups, space.contains, wait_seconds=0) for _ in range(2))
    assert next(mine)[0] == 0 and next(theirs)[0] == 1
    mine.close()
    assert next(theirs)[0] == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("way", [lambda encoder: encoder, PrecomputeEncoder], ids=["run", "ahead"])
def test_two_processes_share_the_texts_out_and_encode_none_twice(tmp_path, way):
    output, sink = os.pipe()
    waits, opens = os.pipe()
    children = [in_child(lambda: encoded(tmp_path, sink, waits, way)) for _ in range(2)]
    os.write(opens, b"x" * len(TEXTS))
    for number in children:
        assert os.waitpid(number, 0)[1] == 0
    os.close(sink)
    assert Counter(lines(output)) == dict.fromkeys(TEXTS, 1)
    again, writing = os.pipe()
    found = encoded(tmp_path, writing)
    os.close(writing)
    assert lines(again) == [] and found[:, 0].tolist() == list(range(len(TEXTS)))


def test_a_claim_that_is_given_up_while_it_is_looked_at_counts_once_more(tmp_path, monkeypatch):
    space = EmbeddingStore(tmp_path).space({"model": "m", "revision": "1"})
    keys, groups = hash_texts(["a", "b"]), grouped([np.array([0]), np.array([1])], 1)
    mine, theirs = (claimed_groups(space.directory, keys, groups, space.contains, wait_seconds=0) for _ in range(2))
    assert next(mine)[0] == 0
    (claim,) = (space.directory / "claims").iterdir()
    flock = files.fcntl.flock

    def given_up(descriptor, operation):
        if operation & files.fcntl.LOCK_NB:
            claim.unlink(missing_ok=True)
        return flock(descriptor, operation)

    monkeypatch.setattr(files.fcntl, "flock", given_up)
    assert next(theirs)[0] == 1


def test_a_batch_comes_whole_where_its_vectors_depend_on_each_other(tmp_path):
    space = EmbeddingStore(tmp_path).space({"model": "m", "revision": "1"})
    keys, groups = hash_texts(["a", "b", "c", "d"]), [[np.array([0, 1])], [np.array([2, 3])]]
    space.append(keys[[1, 2, 3]], np.ones((3, 2), np.float32))
    assert [
        np.concatenate(group).tolist() for group in claimed_groups(space.directory, keys, groups, space.contains)
    ] == [[0]]
    assert [
        np.concatenate(group).tolist()
        for group in claimed_groups(space.directory, keys, groups, space.contains, full_batches=True)
    ] == [[0, 1]]


def test_a_slow_model_is_written_call_by_call(tmp_path, monkeypatch):
    """A kill during a call leaves the vectors stored at its start."""
    monkeypatch.setattr(encoder, "UNWRITTEN_SECONDS", 0)
    loader = DataLoader(
        Dataset.from_dict({"text": [f"a {word}" for word in ["pump", "lens", "loom", "gear"]]}), batch_size=1
    )
    slow, left = stored(load(str(checkpoint(tmp_path / "tiny", 16, "mean", layers=1))), tmp_path / "store"), []
    whole = slow.model.encode

    def encode(*arguments, **named):
        left.append(sum(len(rows.read_bytes()) for rows in tmp_path.glob("store/spaces/*/*.rows")) // (16 * 4))
        return whole(*arguments, **named)

    monkeypatch.setattr(slow.model, "encode", encode)
    slow.encode(loader, batch_size=1, **WHERE)
    assert left == [0, 1, 2, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_a_killed_process_had_claimed_is_encoded_by_the_next(tmp_path):
    output, sink = os.pipe()
    never, _ = os.pipe()
    first = in_child(lambda: encoded(tmp_path, sink, never))
    begun = os.read(output, 1 << 16).decode().splitlines()  # it holds its claim, and waits
    assert len(list(tmp_path.glob("spaces/*/claims/*"))) == 1
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    found = encoded(tmp_path, sink)
    os.close(sink)
    assert set(lines(output)) == set(TEXTS) and set(begun) < set(TEXTS)
    assert found[:, 0].tolist() == list(range(len(TEXTS))) and not list(tmp_path.glob("spaces/*/claims/*"))
