"""Corpora of more text than 32-bit offsets reach, as DAPFAM's FullText. Opt-in, for it takes memory: PATENT_MTEB_LARGE=1."""

from __future__ import annotations

import os
import resource

import numpy as np
import pytest
from mteb.mocks.mock_tasks.retrieval import MockRetrievalTask
from small_world import Words

from patent_mteb.search import dense
from patent_mteb.search.base import SearchContext
from patent_mteb.search.engine import engine
from patent_mteb.tasks.retrieval import RetrievalTables

large = pytest.mark.skipif(os.environ.get("PATENT_MTEB_LARGE") != "1", reason="set PATENT_MTEB_LARGE=1 to run it")


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


@large
def test_more_than_two_gibibytes_of_text_are_loaded_and_searched():
    """45 documents of 50 MB: 2.1 GiB, where a 32-bit offset ends. Prints the peak of memory."""
    found = ranked(*world("patent ", 7_200_000))
    assert all(len(documents) == 10 for documents in found.values())
    assert [next(iter(found[query])) for query in ("q1", "q7", "q44")] == ["d01", "d07", "d44"]
    print(f"\npeak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")
