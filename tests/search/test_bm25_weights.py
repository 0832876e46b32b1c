"""Weights in blocks, in memory or in a file: the scores and the order are those of all documents at once, to the last
bit.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from datasets import Dataset
from search_calls import METADATA

from patent_mteb.patents.on_disk import DiskList
from patent_mteb.search import bm25
from patent_mteb.search.base import SearchContext
from patent_mteb.search.bm25 import BM25, BM25Index, BM25Settings

PLAIN = BM25Settings(k1=1.2, stemmer=None, stopwords=None)


def texts(n, seed, words=60):
    draw = np.random.default_rng(seed)
    return [" ".join(f"w{word}" for word in draw.zipf(1.4, draw.integers(0, words)) if word < 300) for _ in range(n)]


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of three documents or so, all in a file."""
    _make_small(monkeypatch)


def _make_small(patch):
    patch.setattr(bm25, "_DOCUMENTS_AT_ONCE", 3)
    patch.setattr(bm25, "_IN_MEMORY", 0)
    patch.setattr(bm25, "_AT_ONCE", 600)


def naive(corpus, query):
    """Scores in double precision by the formula of the module, word by word."""
    words = [Counter(re.findall(r"\w\w+", text.lower())) for text in corpus]
    lengths = [sum(counts.values()) for counts in words]
    mean = sum(lengths) / len(lengths)
    scores = np.zeros(len(corpus))
    for term, times in Counter(re.findall(r"\w\w+", query.lower())).items():
        containing = sum(term in counts for counts in words)
        idf = np.log(1 + (len(corpus) - containing + 0.5) / (containing + 0.5))
        for place, counts in enumerate(words):
            scores[place] += times * idf * counts[term] / (counts[term] + 1.2 * (0.25 + 0.75 * lengths[place] / mean))
    return scores


def searched(corpus, queries, top_k, **context):
    model = BM25(PLAIN, threads=2)
    where = {"task_metadata": METADATA, "hf_split": "test", "hf_subset": "default", "encode_kwargs": {}}
    documents = Dataset.from_dict({"id": [f"d{place}" for place in range(len(corpus))], "text": corpus})
    model.index(documents, **where)
    asked = Dataset.from_dict({"id": [f"q{place}" for place in range(len(queries))], "text": queries})
    return model, model.search_run(asked, top_k, SearchContext(METADATA, "test", "default", {}, **context))


@pytest.mark.slow
def test_blocks_in_a_file_rank_as_one_block_in_memory(monkeypatch):
    corpus, queries = texts(150, 1) + ["w1 w2"] * 30 + [""], [*texts(20, 2), "w1", "", "unknown"]
    candidates = {f"q{place}": [f"d{other}" for other in range(place, 150, 3)] for place in range(len(queries))}
    for context in ({}, {"top_ranked": candidates}):
        whole, before = searched(corpus, queries, 25, **context)
        assert len(list(whole._index.weights)) == 1
        with monkeypatch.context() as patch:
            _make_small(patch)
            parts, after = searched(corpus, queries, 25, **context)
        assert len(list(parts._index.weights)) > 10 and isinstance(parts._index.weights._blocks, DiskList)
        assert (after.query_ids, after.doc_ids) == (before.query_ids, before.doc_ids)
        assert np.array_equal(after.docs, before.docs) and np.array_equal(after.scores, before.scores)
        assert after.docs.max() > 100


@pytest.mark.usefixtures("small_blocks")
def test_scores_of_blocks_are_those_of_the_formula_over_the_whole_corpus():
    corpus, queries = texts(50, 3), texts(8, 4)
    index = BM25Index(corpus, PLAIN)
    expected = np.array([naive(corpus, query) for query in queries])
    np.testing.assert_allclose(index.scores(queries).toarray(), expected, rtol=1e-5, atol=1e-6)
    assert expected.max() > 1 and index.weights.n_docs == 50
    blocks = list(index.weights)
    assert [first for first, _ in blocks] == np.cumsum([0, *(block.shape[1] for _, block in blocks)])[:-1].tolist()
    assert index.weights.nbytes == sum(
        part.nbytes for _, block in blocks for part in (block.data, block.indices, block.indptr)
    )
