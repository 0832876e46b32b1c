"""What a user allows decides how large blocks are, and nothing else does."""

from __future__ import annotations

import mteb
import pytest

from patent_mteb.memory import allowing, portion
from patent_mteb.patents.corpus import text_column
from patent_mteb.search.bm25 import BM25Index, BM25Settings
from patent_mteb.search.dense import DenseSearch


def test_a_portion_is_never_more_than_usual_and_ends_with_its_block():
    assert portion(0.5, 100) == 100
    with allowing(1):
        assert portion(0.5, 1 << 40) == 500_000_000
        assert portion(0.5, 100) == 100
        with allowing(1e308):
            assert portion(0.5, 100) == 100
        with allowing(None):
            assert portion(0.5, 1 << 40) == 1 << 40
    with pytest.raises(KeyError), allowing(1):
        raise KeyError
    assert portion(0.5, 1 << 40) == 1 << 40


def test_less_memory_makes_more_blocks_of_the_same_content():
    texts = [f"pump w{number % 37} w{number % 11} lens" * (1 + number % 3) for number in range(5000)]
    settings = BM25Settings(stemmer=None)
    whole = BM25Index(texts, settings)
    with allowing(0.0004):
        parts, column = BM25Index(texts, settings), text_column(texts)
    assert len(list(parts.weights)) > len(list(whole.weights)) == 1
    assert (parts.scores(["pump w3 w5"]) != whole.scores(["pump w3 w5"])).nnz == 0
    assert whole.scores(["pump w3 w5"]).nnz > 1000
    assert column.to_pylist() == texts and column.equals(text_column(texts))


def test_dense_search_holds_a_third_of_it_at_most():
    model = mteb.get_model("mteb/baseline-random-encoder")
    assert DenseSearch(model).vectors_mb == 2048
    with allowing(0.3):
        assert DenseSearch(model).vectors_mb == pytest.approx(100)
        assert DenseSearch(model, vectors_mb=5).vectors_mb == 5
    with allowing(100):
        assert DenseSearch(model).vectors_mb == 2048
