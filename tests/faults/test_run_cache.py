"""Damaged files of the run cache: refused with a warning, never used, never a traceback."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace

import numpy as np
import pytest

from patent_mteb.search.cache import RunCache
from patent_mteb.search.run import FirstStage, Run

DEPTH = 12
DOCS = [f"document {number:03d}" for number in range(40)]


def some_run(seed=0):
    random = np.random.default_rng(seed)
    scores = {
        f"q{query}": {DOCS[number]: float(random.integers(0, 50)) / 7 for number in random.permutation(40)[:DEPTH]}
        for query in range(6)
    }
    run = Run.from_dict(scores, doc_ids=sorted(DOCS, reverse=True))
    return replace(run, parts=np.abs(run.docs) % 3, task="T", first_stage=FirstStage(replace(run, task="T"), DEPTH))


def same(got, whole):
    assert (got.query_ids, got.doc_ids, got.task) == (whole.query_ids, whole.doc_ids, whole.task)
    for one, other in ((got, whole), (got.first_stage.run, whole.first_stage.run)):
        np.testing.assert_array_equal(one.docs, other.docs)
        np.testing.assert_array_equal(one.scores, other.scores)
    np.testing.assert_array_equal(got.parts, whole.parts)
    assert got.first_stage.k == whole.first_stage.k


@pytest.mark.slow
@pytest.mark.parametrize("flips", [300, pytest.param(2000, marks=pytest.mark.long)])
def test_no_flipped_bit_is_used_or_raises(tmp_path, caplog, flips, counted):
    whole = some_run()
    RunCache(tmp_path).put("key", DEPTH, whole)
    path = tmp_path / "key.npz"
    same(RunCache(tmp_path).get("key", DEPTH), whole)
    content = path.read_bytes()
    random = np.random.default_rng(1)
    directory = content.rindex(
        b"PK\x01\x02"
    )  # zip's own records are a small part of the file: they get half of the flips
    refused = used = 0
    for turn in range(flips):
        at = int(random.integers(0, len(content)) if turn % 2 else random.integers(directory - 600, len(content)))
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << int(random.integers(8)))]) + content[at + 1 :])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            got = RunCache(tmp_path).get("key", DEPTH)
        if got is None:
            refused += 1
            assert "computed again" in caplog.text
        else:
            used += 1
            same(got, whole)
    counted("run cache: one bit flipped", flips, wrong=0, lost=0, tracebacks=0, refused=refused)
    assert refused > 100


@pytest.mark.parametrize("length", [0, 1, 10, 500, -1])
def test_a_file_that_was_cut_off_is_refused(tmp_path, caplog, length):
    RunCache(tmp_path).put("key", DEPTH, some_run())
    path = tmp_path / "key.npz"
    path.write_bytes(path.read_bytes()[:length])
    with caplog.at_level(logging.WARNING):
        assert RunCache(tmp_path).get("key", DEPTH) is None
    assert "computed again" in caplog.text


def test_a_file_under_another_key_is_refused(tmp_path):
    RunCache(tmp_path).put("key", DEPTH, some_run())
    shutil.copy(tmp_path / "key.npz", tmp_path / "other.npz")
    assert RunCache(tmp_path).get("other", DEPTH) is None


def test_a_pickle_is_not_opened(tmp_path):
    np.savez(tmp_path / "key.npz", asked=1, ids=np.array([object()]), docs=1, scores=1)
    assert RunCache(tmp_path).get("key", DEPTH) is None


def test_a_folder_that_cannot_be_written_costs_the_file_only(tmp_path, caplog):
    (tmp_path / "file").write_text("x")
    cache = RunCache(tmp_path / "file")
    with caplog.at_level(logging.WARNING):
        cache.put("key", DEPTH, some_run())
    assert "it stays in memory" in caplog.text
    same(cache.get("key", DEPTH), some_run())
