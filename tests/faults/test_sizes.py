"""Corpora of more text than memory has room for twice, as DAPFAM's FullText: loaded and searched with every text held
once.

The full size is opt-in, for it takes memory and minutes: ``PATENT_MTEB_LARGE=1 pytest -n 0 -s
tests/faults/test_sizes.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import mteb
import numpy as np
import pyarrow as pa
import pytest
from large_dapfam import FirstWord, large_tables
from mteb.mocks.mock_tasks.retrieval import MockRetrievalTask
from small_patents import Words

from patent_mteb import files
from patent_mteb.models import bm25
from patent_mteb.patents import corpus
from patent_mteb.search import bm25 as bm25_module
from patent_mteb.search import cache, dense
from patent_mteb.search.base import SearchContext
from patent_mteb.search.engine import engine
from patent_mteb.tasks import dapfam
from patent_mteb.tasks.retrieval import RetrievalTables

large = pytest.mark.skipif(os.environ.get("PATENT_MTEB_LARGE") != "1", reason="set PATENT_MTEB_LARGE=1 to run it")
TASK = "PatentDAPFAMTAToFullTextRetrieval"
POOLS: list[pa.MemoryPool] = []
"""Kept to the end: a buffer may outlive its test, and must not outlive its pool."""
SCRIPT = Path(__file__).parents[1] / "helpers" / "large_dapfam.py"


class Lengths(Words):
    """Vectors from the length of a text alone; keeps no text."""

    def encode(self, inputs, **kwargs):
        return np.stack([np.eye(97, dtype=np.float32)[len(text) % 97] for batch in inputs for text in batch["text"]])


def ranked(documents, queries):
    qrels = {query: {next(iter(documents)): 1} for query in queries}
    split = RetrievalTables(documents, queries, qrels).split()
    system = engine(Lengths())
    context = SearchContext(MockRetrievalTask.metadata, "test", "default", {"batch_size": 2})
    system.ensure_indexed(split["corpus"], context)
    return system.rank(split["queries"], 10, context).to_dict()


def world(unit: str, times: int):
    text = unit * times
    documents = {f"d{number:02}": text + "x" * number for number in range(45)}
    return documents, {f"q{number}": text + "x" * number for number in (1, 7, 44)}


def test_chunks_by_bytes_rank_as_one_chunk(monkeypatch):
    documents, queries = world("patent ", 1000)
    whole = ranked(documents, queries)
    monkeypatch.setattr(dense, "CHUNK_BYTES", 20_000)
    assert ranked(documents, queries) == whole


@pytest.fixture
def small_blocks(monkeypatch):
    """Everything that is held for a moment is small, so that what grows is what is kept."""
    monkeypatch.setattr(corpus, "_CHARACTERS_AT_ONCE", 1 << 20)
    monkeypatch.setattr(bm25_module, "_CHARACTERS_AT_ONCE", 1 << 20)
    monkeypatch.setattr(cache, "_BYTES_AT_ONCE", 1 << 20)
    monkeypatch.setattr(files.read_batches, "__defaults__", (None, 64))


def peaks(folder: Path, n_bytes: int, model, monkeypatch) -> tuple[int, int]:
    """Greatest number of bytes that Arrow and Python (with NumPy) held while a task was loaded and searched."""
    large_tables(folder, n_bytes, n_documents=n_bytes // 8000, n_words=40)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(folder))
    dapfam.read_tables.cache_clear()
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    POOLS.append(pool)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        run = mteb.get_task(TASK).rank(model, encode_kwargs={"batch_size": 32})
        held = pool.max_memory(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    assert all(run.ranking(query)[0][0] == query.replace("q", "d") for query in run.query_ids)
    return held


@pytest.mark.slow
@pytest.mark.parametrize("model", [FirstWord(), bm25("dapfam")], ids=["dense", "bm25"])
def test_a_text_is_held_once(tmp_path, monkeypatch, small_blocks, model):
    """Of 10 MB more text, Arrow holds 10 MB more and Python what an index needs, and not a copy."""
    peaks(tmp_path / "first", 1_000_000, model, monkeypatch)  # what is imported on the way must not count
    small = peaks(tmp_path / "small", 5_000_000, model, monkeypatch)
    larger = peaks(tmp_path / "larger", 15_000_000, model, monkeypatch)
    arrow, python = ((after - before) / 10_000_000 for before, after in zip(small, larger, strict=True))
    assert 0.9 < arrow < 1.2
    assert python < 0.5


def test_a_task_that_is_unloaded_holds_no_text(tmp_path, monkeypatch):
    large_tables(tmp_path, 1_000_000, n_documents=200)
    monkeypatch.setenv("PATENT_MTEB_DATA", str(tmp_path))
    task = mteb.get_task(TASK)
    task.load_data()
    assert len(task.tables.corpus) == 200
    task.unload_data()
    assert not hasattr(task, "tables") and not task.dataset


@large
@pytest.mark.parametrize("system", ["dense", "bm25"])
def test_three_gibibytes_of_text_are_loaded_and_searched_in_six_gigabytes(tmp_path, system):
    """45,336 documents as the published corpus has, in a process of its own; prints its peaks of memory in GB."""
    large_tables(tmp_path, 3 << 30)
    own = {"PATENT_MTEB_DATA": str(tmp_path), "PATENT_MTEB_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), TASK, system], env={**os.environ, **own}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"\n{system}: {found}")
    assert found["text"] >= (3 << 30) / 1e9 and found["n_queries"] == 20 and found["main_score"] == 1
    assert found["search"] < 6
